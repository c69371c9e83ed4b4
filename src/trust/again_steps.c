/* again_steps.c - what is to be run of a side, in which order, and what each step needs. */
#include "trust/again_parts.h"

#include "base/buf.h"
#include "base/strv.h"
#include "query/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Is what this execution did all to be seen in files that it opened itself? If not, out->whole says why. 0 or -errno.
 */
static int look_alone(struct again_planning *p, struct again_loaded *s, size_t at, size_t top)
{
	struct again_exec *x = &s->v[at];
	struct edges informed = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && !s->out->whole && i < x->uses.n; i++) {
		const struct edge *e = &x->uses.v[i];
		struct version_sort v;
		if (store_version_sort(p->s, e->to, &v) != 1)
			return err_set(p->err, EIO, "cannot read the record");
		const struct again_maker *m = again_maker_of(s, e->to);
		if (again_is_stream(v.kind) && m && !again_has_ancestor(s, m->at, top))
			r = again_set_reason(p, &s->out->whole, again_last_part(s->v[top].exe),
			                     " reads what another program sent it", "");
		else if (v.kind == TERM_kind_regular && e->api == TERM_api_inherit && e->mode & ACCESS_READ &&
		         !(e->mode & ACCESS_WRITE))
			r = again_set_reason(p, &s->out->whole, again_last_part(s->v[top].exe), " inherited an open file", "");
	}
	if (r == 0)
		r = store_informed(p->s, x->id, &informed);
	for (size_t i = 0; r == 0 && !s->out->whole && i < informed.n; i++) {
		const struct edge *e = &informed.v[i];
		bool inner = false;
		for (size_t j = 0; !inner && j < s->n; j++)
			inner = s->v[j].id == e->to && again_has_ancestor(s, j, top);
		if (!inner && (e->via == TERM_via_shm || e->via == TERM_via_socket))
			r = again_set_reason(p, &s->out->whole, again_last_part(s->v[top].exe), " talks to another program", "");
	}
	edges_release(&informed);
	return r;
}

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

static bool is_of_a_step(struct again_loaded *s, size_t at)
{
	for (size_t i = 0; i < s->out->n; i++)
		if (again_has_ancestor(s, at, (size_t)(again_find_exec(s, s->out->v[i].exec) - s->v)))
			return true;
	return false;
}

static int want_file(struct again_planning *p, struct again_loaded *s, struct again_step *t, const char *reader,
                     struct again_content *x, bool program, bool *ret_lacks);

/* What one execution of a step read: each to be had, or made by a step. 0 or -errno; out->whole may be said. */
static int look_inputs(struct again_planning *p, struct again_loaded *s, size_t at, size_t top, size_t step)
{
	struct again_exec *x = &s->v[at];
	int r = 0;
	for (size_t i = 0; r == 0 && !s->out->whole && i < x->uses.n; i++) {
		const struct edge *e = &x->uses.v[i];
		const struct again_maker *m = again_maker_of(s, e->to);
		struct again_content seen;
		if (e->via == TERM_via_sync || (m && again_has_ancestor(s, m->at, top)))
			continue;
		r = again_read_content(p, e->to, &seen);
		size_t before = s->out->v[step].n_files, maker = m ? program_ancestor(s, m->at) : AGAIN_NONE;
		bool lacks = false;
		if (r == 0 && seen.regular)
			r = want_file(p, s, &s->out->v[step], again_last_part(s->v[top].exe), &seen,
			              (e->mode & ACCESS_PROGRAM) != 0, &lacks);
		if (r == 0 && lacks && m && (m->inherited || maker == AGAIN_NONE))
			r = again_set_reason(p, &s->out->whole, again_last_part(seen.path),
			                     " was written through a descriptor that another had opened", "");
		else if (r == 0 && lacks && m && !is_of_a_step(s, maker))
			r = add_step(s, maker) ? 0 : again_oom(p);
		/* What a step makes is not put there. */
		if (r == 0 && maker != AGAIN_NONE && is_of_a_step(s, maker))
			s->out->v[step].n_files = before;
		again_content_release(&seen);
	}
	return r;
}

/* Adds the file to those that the step needs, looked for and, where it is not as it was, brought back. */
static int want_file(struct again_planning *p, struct again_loaded *s, struct again_step *t, const char *reader,
                     struct again_content *x, bool program, bool *ret_lacks)
{
	bool inner = again_is_below(x->path, s->out->cwd);
	struct file_info f;
	size_t at = 0;
	if (!inner && system_path(str_of(x->path), p->o->system_extra) != SYSTEM_NO)
		return 0;
	while (at < s->out->n_files && s->out->files[at].version != x->v.id)
		at++;
	if (at == s->out->n_files) {
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
		if (inner && *y->want && (y->state == RERUN_DIFFERS || y->state == RERUN_GONE)) {
			char *to = NULL;
			if (asprintf(&to, "%s/%zu", p->dir, p->fetched++) < 0)
				return again_oom(p);
			int r = rerun_bring(y, p->home, to);
			if (r < 0 || (y->state != RERUN_KEPT && y->state != RERUN_GIT)) {
				free(to);
				if (r < 0)
					return err_set(p->err, -r, "cannot bring '%s' back", y->name);
			} else {
				v[at].fetched = to;
			}
		}
	}
	size_t *files = realloc(t->files, (t->n_files + 1) * sizeof(*files));
	if (!files)
		return again_oom(p);
	t->files = files;
	files[t->n_files++] = at;
	*ret_lacks = rerun_lacks(&s->out->files[at].f);
	return 0;
}

static int add_made(struct again_planning *p, struct again_loaded *s, struct again_step *t, const struct again_exec *x)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < x->gens.n; i++) {
		struct again_content y;
		r = again_read_content(p, x->gens.v[i].to, &y);
		if (r == 0 && y.regular && x->gens.v[i].sure && x->gens.v[i].api != TERM_api_inherit) {
			if (!again_is_below(y.path, s->out->cwd) && y.named) /* what was there for a time only is no result */
				r = again_set_reason(p, &s->out->refused, y.path, " was written, outside the working directory", "");
			struct again_made *v = NULL;
			size_t at = 0;
			while (at < t->n_made && strcmp(t->made[at].path, y.path) != 0)
				at++;
			if (at == t->n_made) {
				v = realloc(t->made, (at + 1) * sizeof(*v));
				if (v) {
					t->made = v;
					v[t->n_made++] = (struct again_made){.path = strdup(y.path), .digest = strdup("")};
				}
			}
			if (at == t->n_made || !t->made[at].path)
				r = again_oom(p);
			/* The last version stands for the file. */
			if (r == 0 && (!t->made[at].has_size || y.v.mtime >= t->made[at].mtime)) {
				free(t->made[at].digest);
				t->made[at].digest = strdup(y.digest);
				t->made[at].has_size = y.v.has_size;
				t->made[at].size = y.v.size;
				t->made[at].mtime = y.v.mtime;
			}
		}
		again_content_release(&y);
	}
	return r;
}

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

/* Would a step find what a later one left, or the other way round? Then the order of single programs is not enough. */
static int look_order(struct again_planning *p, struct again_loaded *s)
{
	struct again_side *o = s->out;
	int r = 0;
	for (size_t i = 0; r == 0 && i < o->n; i++)
		for (size_t k = 0; r == 0 && k < s->n; k++) {
			struct again_exec *x = &s->v[k];
			if (!again_has_ancestor(s, k, (size_t)(again_find_exec(s, o->v[i].exec) - s->v)))
				continue;
			for (size_t j = 0; r == 0 && j < x->uses.n; j++) {
				const struct again_maker *m = again_maker_of(s, x->uses.v[j].to);
				size_t top = m ? program_ancestor(s, m->at) : AGAIN_NONE, from = AGAIN_NONE;
				for (size_t q = 0; top != AGAIN_NONE && q < o->n; q++)
					if (again_has_ancestor(s, m->at, (size_t)(again_find_exec(s, o->v[q].exec) - s->v)))
						from = q;
				if (from == AGAIN_NONE || from == i)
					continue;
				struct again_content y;
				r = again_read_content(p, x->uses.v[j].to, &y);
				for (size_t q = from + 1; r == 0 && y.regular && q < i; q++)
					for (size_t z = 0; z < o->v[q].n_made; z++)
						if (!strcmp(o->v[q].made[z].path, y.path))
							r = again_set_reason(p, &o->whole, y.path, " was written by several programs", "");
				if (r == 0 && y.regular && from > i)
					r = again_set_reason(p, &o->whole, y.path, " was read while it was written", "");
				again_content_release(&y);
			}
		}
	return r;
}

int again_plan_alone(struct again_planning *p, struct again_loaded *s)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		if (s->v[i].pair == AGAIN_NONE)
			continue;
		bool inner = false; /* one that another one started is run with it */
		for (size_t k = 0; k < s->n; k++)
			inner |= k != i && s->v[k].pair != AGAIN_NONE && again_has_ancestor(s, i, k);
		if (inner)
			continue;
		r = add_step(s, i) ? 0 : again_oom(p);
	}
	/* Steps are added behind while they are looked at. */
	for (size_t i = 0; r == 0 && !s->out->whole && i < s->out->n; i++) {
		size_t top = (size_t)(again_find_exec(s, s->out->v[i].exec) - s->v);
		for (size_t k = 0; r == 0 && !s->out->whole && k < s->n; k++) {
			if (!again_has_ancestor(s, k, top))
				continue;
			r = look_alone(p, s, k, top);
			if (r == 0 && !s->out->whole)
				r = look_inputs(p, s, k, top, i);
			if (r == 0)
				r = add_made(p, s, &s->out->v[i], &s->v[k]);
		}
	}
	if (r == 0 && s->out->n)
		qsort(s->out->v, s->out->n, sizeof(*s->out->v), by_start);
	return r == 0 && !s->out->whole ? look_order(p, s) : r;
}

int again_plan_whole(struct again_planning *p, struct again_loaded *s)
{
	struct again_side *o = s->out;
	size_t top = 0;
	int r = 0;
	again_drop_steps(o);
	while (top < s->n && !s->v[top].n)
		top++;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].n && s->v[i].start < s->v[top].start)
			top = i;
	if (top == s->n)
		return again_set_reason(p, &o->refused, "the record has no program of the run", "", "");
	struct again_step *t = add_step(s, top);
	if (!t)
		return again_oom(p);
	t->pair = AGAIN_NONE;
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		for (size_t k = 0; r == 0 && k < s->v[i].uses.n; k++) {
			const struct edge *e = &s->v[i].uses.v[k];
			struct again_content seen;
			bool lacks;
			if (e->via == TERM_via_sync || again_maker_of(s, e->to))
				continue;
			r = again_read_content(p, e->to, &seen);
			if (r == 0 && seen.regular)
				r = want_file(p, s, t, again_last_part(*s->v[i].exe ? s->v[i].exe : s->v[top].exe), &seen,
				              (e->mode & ACCESS_PROGRAM) != 0, &lacks);
			/* The caller's file, which the first program had as it began. */
			if (r == 0 && seen.regular && i == top && e->api == TERM_api_inherit && e->mode & ACCESS_READ &&
			    !(e->mode & ACCESS_WRITE) && !t->standard_input)
				t->standard_input = strdup(seen.path);
			again_content_release(&seen);
		}
		if (r == 0)
			r = add_made(p, s, t, &s->v[i]);
	}
	return r;
}
