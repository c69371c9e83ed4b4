#include "trust/again/again_parts.h"

#include "base/buf.h"
#include "base/strv.h"

#include <errno.h>
#include <stdlib.h>

/* -ENOMEM with a sentence. */
int again_oom(struct again_planning *p)
{
	return err_set(p->err, ENOMEM, "cannot plan what to run again");
}

/* The caller frees it; NULL without memory. */
char *again_text(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

/* Points into path. */
const char *again_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool again_is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	return n > 1 && !strncmp(path, folder, n) && path[n] == '/';
}

bool again_is_stream(uint64_t kind)
{
	return kind == TERM_kind_fifo || kind == TERM_kind_pipe || kind == TERM_kind_socket || kind == TERM_kind_shm;
}

int again_set_reason(struct again_planning *p, char **ret, const char *one, const char *words, const char *other)
{
	struct buf b = {0};
	if (*ret)
		return 0;
	buf_printf(&b, "%s%s%s", one, words, other);
	*ret = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return *ret ? 0 : again_oom(p);
}

/* What was read, whichever step did. 0, -ENOMEM with a sentence. */
static int add_reads(struct again_planning *p, struct again_loaded *s)
{
	struct again_side *o = s->out;
	size_t room = 0;
	for (size_t i = 0; i < s->n; i++)
		room += s->v[i].uses.n;
	o->reads = calloc(room + 1, sizeof(*o->reads));
	if (!o->reads)
		return again_oom(p);
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].uses.n; k++) {
			struct version_sort v;
			if (store_version_sort(p->s, s->v[i].uses.v[k].to, &v) == 1 &&
			    (v.kind == TERM_kind_regular || v.kind == TERM_kind_directory) && rerun_is_path(v.path, false) &&
			    !(o->reads[o->n_reads++] = again_text(v.path)))
				return again_oom(p);
		}
	return 0;
}

/* What the side read, and why it cannot be run again, if so. 0 or -errno. */
static int finish_side(struct again_planning *p, struct again_loaded *s)
{
	struct again_side *o = s->out;
	int r = add_reads(p, s);
	if (s->redacted)
		r = again_set_reason(p, &o->refused, "an argument was redacted as a secret", "", "");
	if (r == 0 && strlen(o->cwd) < 2)
		r = again_set_reason(p, &o->refused, "its working directory is the root directory", "", "");
	for (size_t i = 0; i < o->n; i++)
		for (size_t k = 0; k < o->v[i].n_files; k++) {
			struct again_file *f = &o->files[o->v[i].files[k]];
			o->missing += rerun_lacks(&f->f);
		}
	return r;
}

/* Releases what was loaded of a side. Release of a side that failed halfway is no error. */
static void release_loaded(struct again_loaded *s)
{
	for (size_t i = 0; i < s->n && s->v; i++) {
		struct again_exec *x = &s->v[i];
		edges_release(&x->uses);
		edges_release(&x->gens);
		free(x->exe);
		free(x->script);
		free(x->cwd);
		strv_free(x->argv);
		strv_free(x->env);
	}
	free(s->v);
	vec_release(&s->makers);
}

/* Both sides as whole commands: traces of single programs and of a whole command are not easily paired. 0, -errno with
 * a sentence. */
static int plan_both_whole(struct again_planning *p)
{
	int r = 0;
	for (int k = 0; r == 0 && k < 2; k++) {
		struct again_side *o = &p->a->side[k];
		const char *why = p->a->side[!k].whole ? "as the other side" : "as requested";
		r = again_set_reason(p, &o->whole, why, "", "");
		if (r == 0)
			r = again_plan_whole(p, &p->side[k]);
	}
	return r;
}

/* Plans what both sides run again. whole: both sides are run as wholes. 0 or -errno. */
static int plan_sides(struct again_planning *p, bool whole)
{
	int r = 0;
	for (int k = 0; r == 0 && !whole && k < 2; k++)
		r = again_plan_alone(p, &p->side[k]);
	bool any = whole || p->a->side[0].whole || p->a->side[1].whole;
	return r == 0 && any ? plan_both_whole(p) : r;
}

/* A record that was never used for traces has no such folder. 0 or -errno. */
static int find_traces_folder(struct again_planning *p)
{
	struct buf path = {0};
	buf_printf(&path, "%s/trace", p->home);
	if (path.failed) {
		buf_release(&path);
		return again_oom(p);
	}
	p->traces = realpath(buf_cstr(&path), NULL);
	buf_release(&path);
	return p->traces || errno != ENOMEM ? 0 : again_oom(p);
}

int again_plan(struct store *s, const struct diff *d, const struct witness_options *o, const char *home,
               const char *dir, bool whole, struct err *err, struct again *ret)
{
	struct again_planning p = {.s = s, .o = o, .home = home, .dir = dir, .err = err, .a = ret};
	*ret = (struct again){0};
	int r = find_traces_folder(&p);
	for (int k = 0; r == 0 && k < 2; k++)
		r = again_load(&p, k, d->side[k].id);
	if (r == 0)
		r = again_find_pairs(&p, d);
	if (r == 0 && (ret->pairs || whole))
		r = plan_sides(&p, whole);
	for (int k = 0; r == 0 && k < 2; k++)
		r = finish_side(&p, &p.side[k]);
	release_loaded(&p.side[0]);
	release_loaded(&p.side[1]);
	free(p.traces);
	return r < 0 ? err_set(err, -r, "cannot plan what to run again") : 0;
}

/* a is empty then. Files that were brought back stay. */
void again_release(struct again *a)
{
	for (int k = 0; k < 2; k++) {
		struct again_side *o = &a->side[k];
		again_drop_steps(o);
		free(o->ulid);
		free(o->cwd);
		free(o->whole);
		free(o->refused);
		for (size_t i = 0; i < o->n_reads; i++)
			free(o->reads[i]);
		free(o->reads);
	}
	strv_free(a->programs);
	free(a->first_untraced);
	*a = (struct again){0};
}
