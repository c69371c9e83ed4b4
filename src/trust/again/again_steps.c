/* again_steps.c - what is to be run of a side, in which order, and what each step needs. */
#include "trust/again/again_parts.h"

#include "base/buf.h"
#include "base/os/system.h"
#include "base/strv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Says why the program at top cannot be run alone. 0, -ENOMEM. */
static int refuse_alone(struct again_planning *p, struct again_loaded *s, size_t top, const char *words)
{
	return again_set_reason(p, &s->out->whole, again_last_part(s->v[top].exe), words, "");
}

/* Refuses to run the step alone, by s->out->whole, if the execution read a stream that another program wrote, or got a
 * file that another had opened. 0, -errno. */
static int look_uses_alone(struct again_planning *p, struct again_loaded *s, const struct again_exec *x, size_t top)
{
	int r = 0;
	for (size_t i = 0; r == 0 && !s->out->whole && i < x->uses.n; i++) {
		const struct edge *e = &x->uses.v[i];
		struct version_sort v;
		if (store_version_sort(p->s, e->to, &v) != 1)
			return err_set(p->err, EIO, "cannot read the record");
		const struct again_maker *m = again_maker_of(s, e->to);
		bool inherited = e->api == TERM_api_inherit && e->mode & ACCESS_READ && !(e->mode & ACCESS_WRITE);
		if (again_is_stream(v.kind) && m && !again_has_ancestor(s, m->at, top))
			r = refuse_alone(p, s, top, " reads what another program sent it");
		else if (v.kind == TERM_kind_regular && inherited)
			r = refuse_alone(p, s, top, " inherited an open file");
	}
	return r;
}

/* Is the execution of the run, and top or started by it? */
static bool is_inner(const struct again_loaded *s, store_id exec, size_t top)
{
	for (size_t j = 0; j < s->n; j++)
		if (s->v[j].id == exec && again_has_ancestor(s, j, top))
			return true;
	return false;
}

/* Is what this execution did all to be seen in files that it opened itself? If not, s->out->whole says why. 0, -errno.
 * */
static int look_alone(struct again_planning *p, struct again_loaded *s, size_t at, size_t top)
{
	struct again_exec *x = &s->v[at];
	struct edges informed = {0};
	int r = look_uses_alone(p, s, x, top);
	if (r == 0)
		r = store_informed(p->s, x->id, &informed);
	for (size_t i = 0; r == 0 && !s->out->whole && i < informed.n; i++) {
		const struct edge *e = &informed.v[i];
		if (!is_inner(s, e->to, top) && (e->via == TERM_via_shm || e->via == TERM_via_socket))
			r = refuse_alone(p, s, top, " talks to another program");
	}
	edges_release(&informed);
	return r;
}

/* Adds a step of what is run again. NULL without memory. Valid until the next. */
static struct again_step *add_step(struct again_loaded *s, size_t top)
{
	struct again_step *v = realloc(s->out->v, (s->out->n + 1) * sizeof(*v));
	struct again_exec *x = &s->v[top];
	struct buf b = {0};
	if (!v)
		return NULL;
	s->out->v = v;
	struct again_step *t = &v[s->out->n++];
	*t = (struct again_step){.exec = x->id, .pair = x->pair, .pid = x->pid, .ending = x->ending, .code = x->code};
	t->start = x->start;
	t->program = strdup(*x->script ? x->script : x->exe);
	t->argv = strv_copy(x->argv);
	t->env = strv_copy(x->env);
	t->cwd = strdup(x->cwd);
	for (size_t i = 0; x->argv[i]; i++)
		buf_printf(&b, "%s%s", i ? " " : "", x->argv[i]);
	t->shown = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return t->program && t->argv && t->env && t->cwd && t->shown ? t : NULL;
}

/* The topmost execution from `at` upwards that began with a program: what a child of fork did, its parent's program
 * did. */
static size_t program_ancestor(const struct again_loaded *s, size_t at)
{
	for (size_t guard = 0; guard <= s->n && at != AGAIN_NONE && !s->v[at].n; guard++)
		at = s->v[at].parent;
	return at;
}

/* The place of the step's execution in s->v. */
static size_t step_top(struct again_loaded *s, size_t step)
{
	return (size_t)(again_find_exec(s, s->out->v[step].exec) - s->v);
}

/* Is the execution below one that is a step? */
static bool is_of_a_step(struct again_loaded *s, size_t at)
{
	for (size_t i = 0; i < s->out->n; i++)
		if (again_has_ancestor(s, at, step_top(s, i)))
			return true;
	return false;
}

static int want_file(struct again_planning *p, struct again_loaded *s, struct again_step *t, const char *reader,
                     struct again_content *x, bool program, bool *ret_lacks);

/* What is missing and was made by the program at `maker` of the run: that one is a step, too, if it can be. 0, also
 * where it cannot be and the reason is set; -ENOMEM. */
static int make_again(struct again_planning *p, struct again_loaded *s, const struct again_maker *m, size_t maker,
                      const char *path)
{
	if (m->inherited || maker == AGAIN_NONE)
		return again_set_reason(p, &s->out->whole, again_last_part(path),
		                        " was written through a descriptor that another had opened", "");
	return is_of_a_step(s, maker) || add_step(s, maker) ? 0 : again_oom(p);
}

/* What an execution of a step read: is it to be had, or made by a step? s->out->whole may be said. 0, -errno. */
static int look_input(struct again_planning *p, struct again_loaded *s, const struct edge *e, size_t top, size_t step)
{
	const struct again_maker *m = again_maker_of(s, e->to);
	struct again_content seen;
	if (e->via == TERM_via_sync || (m && again_has_ancestor(s, m->at, top)))
		return 0;
	int r = again_read_content(p, e->to, &seen);
	size_t before = s->out->v[step].n_files, maker = m ? program_ancestor(s, m->at) : AGAIN_NONE;
	bool lacks = false;
	if (r == 0 && seen.regular)
		r = want_file(p, s, &s->out->v[step], again_last_part(s->v[top].exe), &seen, (e->mode & ACCESS_PROGRAM) != 0,
		              &lacks);
	if (r == 0 && lacks && m)
		r = make_again(p, s, m, maker, seen.path);
	/* What a step makes is not put there. */
	if (r == 0 && maker != AGAIN_NONE && is_of_a_step(s, maker))
		s->out->v[step].n_files = before;
	again_content_release(&seen);
	return r;
}

/* All that one execution of a step read. */
static int look_inputs(struct again_planning *p, struct again_loaded *s, size_t at, size_t top, size_t step)
{
	struct again_exec *x = &s->v[at];
	int r = 0;
	for (size_t i = 0; r == 0 && !s->out->whole && i < x->uses.n; i++)
		r = look_input(p, s, &x->uses.v[i], top, step);
	return r;
}

/* Brings a file back that is not there as it was, into a file of its own; without success it stays missing. -errno with
 * a sentence. */
static int bring_back(struct again_planning *p, struct again_file *x)
{
	struct rerun_file *y = &x->f;
	char *to = NULL;
	if (asprintf(&to, "%s/%zu", p->dir, p->fetched++) < 0)
		return again_oom(p);
	int r = rerun_bring(y, p->home, to);
	if (r == 0 && (y->state == RERUN_KEPT || y->state == RERUN_GIT)) {
		x->fetched = to;
		return 0;
	}
	free(to);
	return r < 0 ? err_set(p->err, -r, "cannot restore '%s'", y->name) : 0;
}

/* A file of the side: looked for and, where it is not as it was, brought back. 0, -errno with a sentence. */
static int add_step_file(struct again_planning *p, struct again_loaded *s, const char *reader,
                         const struct again_content *x, bool inner, bool program)
{
	struct file_info f;
	size_t at = s->out->n_files;
	struct again_file *v = realloc(s->out->files, (at + 1) * sizeof(*v));
	if (!v)
		return again_oom(p);
	s->out->files = v;
	v[at] = (struct again_file){.version = x->v.id, .reader = strdup(reader)};
	s->out->n_files++;
	struct rerun_file *y = &v[at].f;
	*y = (struct rerun_file){.path = strdup(x->path),
	                         .name = strdup(inner ? x->path + strlen(s->out->cwd) + 1 : x->path),
	                         .want = strdup(x->digest),
	                         .below = inner,
	                         .program = program,
	                         .mode = program ? 0755 : 0644};
	if (!v[at].reader || !y->path || !y->name || !y->want || store_file(p->s, x->v.file, &f) != 1)
		return again_oom(p);
	rerun_look(y, p->o, &f, &x->v);
	return inner && *y->want && (y->state == RERUN_DIFFERS || y->state == RERUN_GONE) ? bring_back(p, &v[at]) : 0;
}

/* Adds the file to those that the step needs. *ret_lacks: it is not there as it was. 0, -errno with a sentence. */
static int want_file(struct again_planning *p, struct again_loaded *s, struct again_step *t, const char *reader,
                     struct again_content *x, bool program, bool *ret_lacks)
{
	bool inner = again_is_below(x->path, s->out->cwd);
	size_t at = 0;
	if (!inner && system_path(str_of(x->path), p->o->system_extra) != SYSTEM_NO)
		return 0;
	while (at < s->out->n_files && s->out->files[at].version != x->v.id)
		at++;
	int r = at == s->out->n_files ? add_step_file(p, s, reader, x, inner, program) : 0;
	if (r < 0)
		return r;
	size_t *files = realloc(t->files, (t->n_files + 1) * sizeof(*files));
	if (!files)
		return again_oom(p);
	t->files = files;
	files[t->n_files++] = at;
	*ret_lacks = rerun_lacks(&s->out->files[at].f);
	return 0;
}

/* The row of what the step left at the path, made if there is none. NULL: no memory. */
static struct again_made *find_or_add_made(struct again_step *t, const char *path)
{
	for (size_t i = 0; i < t->n_made; i++)
		if (!strcmp(t->made[i].path, path))
			return &t->made[i];
	struct again_made *v = realloc(t->made, (t->n_made + 1) * sizeof(*v));
	char *own = strdup(path), *digest = strdup("");
	if (v)
		t->made = v;
	if (!v || !own || !digest) {
		free(own);
		free(digest);
		return NULL;
	}
	v[t->n_made] = (struct again_made){.path = own, .digest = digest};
	return &v[t->n_made++];
}

/* One version that the step left, in a file that was opened by name. 0, -ENOMEM. */
static int add_made_version(struct again_planning *p, struct again_loaded *s, struct again_step *t,
                            const struct again_content *y)
{
	if (p->traces && again_is_below(y->path, p->traces)) /* the record's, not the program's */
		return 0;
	if (!again_is_below(y->path, s->out->cwd) && y->named) { /* what was there for a time only is no result */
		int r = again_set_reason(p, &s->out->refused, y->path, " was written, outside the working directory", "");
		if (r < 0)
			return r;
	}
	struct again_made *m = find_or_add_made(t, y->path);
	if (!m)
		return again_oom(p);
	/* The last version stands for the file. */
	if (!m->has_size || y->v.mtime >= m->mtime) {
		free(m->digest);
		m->digest = strdup(y->digest);
		m->has_size = y->v.has_size;
		m->size = y->v.size;
		m->mtime = y->v.mtime;
	}
	return 0;
}

/* What the execution surely made itself. 0, -errno. */
static int add_made(struct again_planning *p, struct again_loaded *s, struct again_step *t, const struct again_exec *x)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < x->gens.n; i++) {
		struct again_content y;
		r = again_read_content(p, x->gens.v[i].to, &y);
		if (r == 0 && y.regular && x->gens.v[i].sure && x->gens.v[i].api != TERM_api_inherit)
			r = add_made_version(p, s, t, &y);
		again_content_release(&y);
	}
	return r;
}

/* Order of qsort: by time. */
static int by_start(const void *x, const void *y)
{
	const struct again_step *a = x, *b = y;
	return (a->start > b->start) - (a->start < b->start);
}

void again_drop_steps(struct again_side *o)
{
	for (size_t i = 0; i < o->n; i++) {
		struct again_step *t = &o->v[i];
		for (size_t k = 0; k < t->n_made; k++) {
			free(t->made[k].path);
			free(t->made[k].digest);
		}
		free(t->made);
		free(t->files);
		free(t->program);
		free(t->shown);
		strv_free(t->argv);
		strv_free(t->env);
		free(t->cwd);
		free(t->standard_input);
	}
	free(o->v);
	o->v = NULL;
	o->n = 0;
	for (size_t i = 0; i < o->n_files; i++) {
		rerun_file_release(&o->files[i].f);
		free(o->files[i].fetched);
		free(o->files[i].reader);
	}
	free(o->files);
	o->files = NULL;
	o->n_files = 0;
}

/* The last step that the execution at belongs to; AGAIN_NONE. */
static size_t last_step_of(struct again_loaded *s, size_t at)
{
	size_t found = AGAIN_NONE;
	for (size_t q = 0; q < s->out->n; q++)
		if (again_has_ancestor(s, at, step_top(s, q)))
			found = q;
	return found;
}

/* Whether the step made a file of this path. */
static bool step_made(const struct again_step *t, const char *path)
{
	for (size_t z = 0; z < t->n_made; z++)
		if (!strcmp(t->made[z].path, path))
			return true;
	return false;
}

/* A version that step i read: will it find it if the steps are run one after the other? If not, that is the plan's
 * reason to run all of it as a whole. 0 or -errno. */
static int check_read_order(struct again_planning *p, struct again_loaded *s, store_id version, size_t i)
{
	struct again_side *o = s->out;
	const struct again_maker *m = again_maker_of(s, version);
	size_t top = m ? program_ancestor(s, m->at) : AGAIN_NONE;
	size_t from = top != AGAIN_NONE ? last_step_of(s, m->at) : AGAIN_NONE;
	if (from == AGAIN_NONE || from == i)
		return 0;
	struct again_content y;
	int r = again_read_content(p, version, &y);
	for (size_t q = from + 1; r == 0 && y.regular && q < i; q++)
		if (step_made(&o->v[q], y.path))
			r = again_set_reason(p, &o->whole, y.path, " was written by several programs", "");
	if (r == 0 && y.regular && from > i)
		r = again_set_reason(p, &o->whole, y.path, " was read while it was written", "");
	again_content_release(&y);
	return r;
}

/* Checks the order of all that the steps read: would one find what a later one left, or the other way round? Then
 * the order of single programs is not enough. 0, -errno. */
static int check_all_read_orders(struct again_planning *p, struct again_loaded *s)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->out->n; i++)
		for (size_t k = 0; r == 0 && k < s->n; k++) {
			struct again_exec *x = &s->v[k];
			if (!again_has_ancestor(s, k, step_top(s, i)))
				continue;
			for (size_t j = 0; r == 0 && j < x->uses.n; j++)
				r = check_read_order(p, s, x->uses.v[j].to, i);
		}
	return r;
}

/* A step for each execution of a pair, but for one that another one started: that is run with it. 0, -ENOMEM. */
static int add_pairs(struct again_planning *p, struct again_loaded *s)
{
	for (size_t i = 0; i < s->n; i++) {
		bool inner = s->v[i].pair == AGAIN_NONE;
		for (size_t k = 0; !inner && k < s->n; k++)
			inner = k != i && s->v[k].pair != AGAIN_NONE && again_has_ancestor(s, i, k);
		if (!inner && !add_step(s, i))
			return again_oom(p);
	}
	return 0;
}

/* What a step needs and makes; it may add further steps behind. 0, -errno with a sentence. */
static int look_step(struct again_planning *p, struct again_loaded *s, size_t step)
{
	size_t top = step_top(s, step);
	int r = 0;
	for (size_t k = 0; r == 0 && !s->out->whole && k < s->n; k++) {
		if (!again_has_ancestor(s, k, top))
			continue;
		r = look_alone(p, s, k, top);
		if (r == 0 && !s->out->whole)
			r = look_inputs(p, s, k, top, step);
		if (r == 0)
			r = add_made(p, s, &s->out->v[step], &s->v[k]);
	}
	return r;
}

int again_plan_alone(struct again_planning *p, struct again_loaded *s)
{
	int r = add_pairs(p, s);
	for (size_t i = 0; r == 0 && !s->out->whole && i < s->out->n; i++)
		r = look_step(p, s, i);
	if (r == 0 && s->out->n)
		qsort(s->out->v, s->out->n, sizeof(*s->out->v), by_start);
	return r == 0 && !s->out->whole ? check_all_read_orders(p, s) : r;
}

/* The execution that began first with a program; s->n: there is none. */
static size_t first_program(const struct again_loaded *s)
{
	size_t top = 0;
	while (top < s->n && !s->v[top].n)
		top++;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].n && s->v[i].start < s->v[top].start)
			top = i;
	return top;
}

/* What execution i of the run used and no other of it made. 0, -errno with a sentence. */
static int want_from_outside(struct again_planning *p, struct again_loaded *s, struct again_step *t,
                             const struct edge *e, size_t i, size_t top)
{
	struct again_content seen;
	bool lacks;
	if (e->via == TERM_via_sync || again_maker_of(s, e->to))
		return 0;
	int r = again_read_content(p, e->to, &seen);
	if (r == 0 && seen.regular)
		r = want_file(p, s, t, again_last_part(*s->v[i].exe ? s->v[i].exe : s->v[top].exe), &seen,
		              (e->mode & ACCESS_PROGRAM) != 0, &lacks);
	/* The caller's file, which the first program had as it began. */
	bool inherited = e->api == TERM_api_inherit && e->mode & ACCESS_READ && !(e->mode & ACCESS_WRITE);
	if (r == 0 && seen.regular && i == top && inherited && !t->standard_input)
		t->standard_input = strdup(seen.path);
	again_content_release(&seen);
	return r;
}

int again_plan_whole(struct again_planning *p, struct again_loaded *s)
{
	struct again_side *o = s->out;
	size_t top = first_program(s);
	int r = 0;
	again_drop_steps(o);
	if (top == s->n)
		return again_set_reason(p, &o->refused, "the record has no program of the run", "", "");
	struct again_step *t = add_step(s, top);
	if (!t)
		return again_oom(p);
	t->pair = AGAIN_NONE;
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		for (size_t k = 0; r == 0 && k < s->v[i].uses.n; k++)
			r = want_from_outside(p, s, t, &s->v[i].uses.v[k], i, top);
		if (r == 0)
			r = add_made(p, s, t, &s->v[i]);
	}
	return r;
}
