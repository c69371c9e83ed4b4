/* again_load.c - the executions of a run, and what the versions held that they read and made. */
#include "trust/again/again_parts.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

/* The caller frees it; "" where it is not known, NULL without memory. */
static char *copy_file_path(struct store *s, store_id file)
{
	struct file_info f;
	return file && store_file(s, file, &f) == 1 ? again_text(f.path) : strdup("");
}

/* Order of qsort: by version, then by the step that made it. */
static int compare_by_version_made(const void *x, const void *y)
{
	const struct again_maker *a = x, *b = y;
	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Loads an execution. *ret_parent: its parent's id, 0. 0, or -errno with a sentence. */
static int load_one(struct again_planning *p, struct again_loaded *s, store_id id, struct again_exec *ret,
                    store_id *ret_parent)
{
	struct exec_info x;
	*ret = (struct again_exec){.id = id, .parent = AGAIN_NONE, .pair = AGAIN_NONE};
	if (store_exec(p->s, id, &x) != 1)
		return err_set(p->err, EIO, "cannot read the record");
	ret->pid = x.pid;
	ret->n = x.n;
	ret->ending = x.ending;
	ret->code = x.code;
	ret->start = x.start;
	ret->cwd = again_text(x.cwd);
	ret->argv = strlist_copy(&x.argv);
	ret->env = strlist_copy(&x.env);
	s->redacted |= rerun_has_redacted(&x.argv);
	*ret_parent = x.parent;
	store_id exe = x.exe, script = x.script;
	ret->exe = copy_file_path(p->s, exe);
	ret->script = copy_file_path(p->s, script);
	if (!ret->cwd || !ret->argv || !ret->env || !ret->exe || !ret->script)
		return again_oom(p);
	int r = store_uses(p->s, id, &ret->uses);
	return r < 0 ? r : store_outputs(p->s, id, &ret->gens);
}

/* Which execution started which. parents: of each, as the store has it. 0, -ENOMEM. */
static int link_parents(struct again_planning *p, struct again_loaded *s, const store_id *parents)
{
	struct map by_id = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->n; i++)
		if (!map_set(&by_id, s->v[i].id, (uint32_t)i))
			r = again_oom(p);
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		uint32_t j = parents[i] ? map_get(&by_id, parents[i]) : VEC_NONE;
		if (j != VEC_NONE && j != i)
			s->v[i].parent = j;
	}
	map_release(&by_id);
	return r;
}

/* Who made which version, for bsearch. 0 or -errno. */
static int list_makers(struct again_planning *p, struct again_loaded *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < s->v[i].gens.n; j++) {
			struct again_maker *m = vec_add(&s->makers);
			if (!m)
				return again_oom(p);
			*m = (struct again_maker){s->v[i].gens.v[j].to, i, s->v[i].gens.v[j].api == TERM_api_inherit};
		}
	if (s->makers.n)
		qsort(s->makers.v, s->makers.n, sizeof(*s->makers.v), compare_by_version_made);
	return 0;
}

int again_load(struct again_planning *p, int k, store_id run)
{
	struct again_loaded *s = &p->side[k];
	struct run_info info;
	store_id *ids = NULL, *parents = NULL;
	s->out = &p->a->side[k];
	s->out->run = run;
	if (store_run(p->s, run, &info) != 1)
		return err_set(p->err, EIO, "cannot read the run");
	s->out->ulid = again_text(info.ulid);
	s->out->cwd = again_text(info.cwd);
	int r = s->out->ulid && s->out->cwd ? store_run_execs(p->s, run, &ids, &s->n) : again_oom(p);
	if (r >= 0) {
		s->v = calloc(s->n + 1, sizeof(*s->v));
		parents = calloc(s->n + 1, sizeof(*parents));
		r = s->v && parents ? 0 : again_oom(p);
	}
	for (size_t i = 0; r >= 0 && i < s->n; i++)
		r = load_one(p, s, ids[i], &s->v[i], &parents[i]);
	if (r >= 0)
		r = link_parents(p, s, parents);
	if (r >= 0)
		r = list_makers(p, s);
	free(ids);
	free(parents);
	return r < 0 ? r : 0;
}

const struct again_maker *again_maker_of(const struct again_loaded *s, store_id version)
{
	size_t lo = 0, hi = s->makers.n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->makers.v[mid].version < version)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->makers.n && s->makers.v[lo].version == version ? &s->makers.v[lo] : NULL;
}

/* A parent's number may stand behind its child's; rings there are none in a record that is whole. */
bool again_has_ancestor(const struct again_loaded *s, size_t at, size_t top)
{
	for (size_t guard = 0; at != AGAIN_NONE && guard <= s->n; guard++, at = s->v[at].parent)
		if (at == top)
			return true;
	return false;
}

/* NULL: it is none of them. */
struct again_exec *again_find_exec(struct again_loaded *s, store_id exec)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].id == exec)
			return &s->v[i];
	return NULL;
}

/* The digest that the record has of the version; "" none. NULL without memory. */
static char *digest_of(struct again_planning *p, const struct version_info *v, const struct file_info *f)
{
	struct event_digest like = {.domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	struct reported_list l = {0};
	char *found = NULL;
	if (v->has_size && store_digests(p->s, &like, &l) == 0)
		for (size_t i = 0; !found && i < l.n; i++) {
			const struct event_digest *d = &l.v[i].ev.digest;
			if (d->digest.n && d->ino == like.ino && d->gen == like.gen && d->size == like.size &&
			    d->mtime == like.mtime && str_eq(d->domain, like.domain))
				found = again_text(d->digest);
		}
	reported_list_release(&l);
	return found ? found : strdup("");
}

int again_read_content(struct again_planning *p, store_id version, struct again_content *ret)
{
	struct file_info f;
	*ret = (struct again_content){0};
	if (store_version(p->s, version, &ret->v) != 1 || store_file(p->s, ret->v.file, &f) != 1)
		return err_set(p->err, EIO, "cannot read the record");
	ret->regular = f.kind == TERM_kind_regular && f.path.n;
	ret->named = f.named;
	ret->path = again_text(f.path);
	if (ret->path && ret->regular)
		ret->digest = digest_of(p, &ret->v, &f);
	return ret->path && (ret->digest || !ret->regular) ? 0 : again_oom(p);
}

/* x itself may not be used afterwards. */
void again_content_release(struct again_content *x)
{
	free(x->path);
	free(x->digest);
}
