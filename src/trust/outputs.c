#include "trust/outputs.h"

#include "base/os/system.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "trust/content.h"

#include <errno.h>
#include <stdlib.h>

/* Static. */
const char *output_by_name(enum output_by by)
{
	static const char *const words[] = {"digest", "bytes", "printed", "size", "name"};
	return words[by];
}

struct finding {
	struct store *s;
	const struct witness_options *o;
	struct outputs *out;
	char *cwd;
	int64_t end; /* of the run; TIME_NONE not known */
	struct idmap by_file;
	struct idmap last; /* file -> what number its last version has in made */
	VEC(store_id) made;
};

/* Named below the folder of the run if it lies there. 0, -ENOMEM; what was added may then lack a text. */
static int append_output(struct finding *f, struct str path, struct output **ret)
{
	struct outputs *o = f->out;
	size_t n = strlen(f->cwd);
	bool below = path.n > n + 1 && !memcmp(path.p, f->cwd, n) && path.p[n] == '/';
	struct str name = below ? str_n(path.p + n + 1, path.n - n - 1) : path;
	if (!vec_has_room(o->v, o->n, o->cap))
		return -ENOMEM;
	struct output *x = &o->v[o->n++];
	*x = (struct output){.name = strndup(name.p ? name.p : "", name.n),
	                     .path = strndup(path.p ? path.p : "", path.n),
	                     .by = OUTPUT_BY_NAME};
	*ret = x;
	return x->name && x->path ? 0 : -ENOMEM;
}

/* The last output is of this file. 0, -ENOMEM. */
static int number_output(struct finding *f, store_id file)
{
	bool fresh;
	return idmap_add(&f->by_file, file, (uint32_t)(f->out->n - 1), &fresh) ? 0 : -ENOMEM;
}

/* The output that the digest is of. 0, -ENOMEM, -errno. */
static int append_told(struct finding *f, const struct event_digest *d)
{
	struct output *x;
	int rc = append_output(f, d->path, &x);
	if (rc < 0)
		return rc;
	x->told = x->sure = true;
	if (d->digest.n && d->digest.n < DIGEST_TEXT) {
		memcpy(x->digest, d->digest.p, d->digest.n);
		x->by = OUTPUT_BY_DIGEST;
		x->size = d->size;
	}
	if (store_file_by_identity(f->s, d->domain, d->ino, d->gen, &x->file) != 1)
		x->file = 0;
	return x->file ? number_output(f, x->file) : 0;
}

/* Outputs of which a digest was recorded. 0, -errno. */
static int find_told(struct finding *f, store_id run)
{
	struct reported_list l;
	int rc = store_reported(f->s, run, EVENT_digest, &l);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		if (l.v[i].ev.digest.usage == TERM_usage_output)
			rc = append_told(f, &l.v[i].ev.digest);
	reported_list_release(&l);
	return rc;
}

/* Which kinds of versions of the store are of files that count. */
static bool is_of_user_file(const struct finding *f, const struct version_sort *v)
{
	return v->kind == TERM_kind_regular && !v->within && v->path.n && v->path.p[0] == '/' &&
	       system_path(v->path, f->o->system_extra) == SYSTEM_NO;
}

/* The execution generated the version: which of the outputs is that? gens: room. 0 or -errno. */
static int add_generated(struct finding *f, store_id exec, const struct edge *e, struct edges *gens)
{
	struct version_sort v;
	int rc = store_version_sort(f->s, e->to, &v);
	if (rc != 1)
		return rc;
	uint32_t *at = idmap_find(&f->by_file, v.file);
	struct output *x = at ? &f->out->v[*at] : NULL;
	if (!x) {
		if (!is_of_user_file(f, &v))
			return 0;
		rc = append_output(f, v.path, &x);
		if (rc == 0)
			rc = number_output(f, v.file);
		if (rc < 0)
			return rc;
		x->file = v.file;
	}
	store_id *slot = vec_add(&f->made);
	if (!slot)
		return -ENOMEM;
	*slot = e->to;
	x->sure |= e->sure;
	rc = store_gens(f->s, e->to, gens);
	for (size_t g = 0; rc >= 0 && g < gens->n; g++)
		if (gens->v[g].to == exec) {
			x->written = true;
			x->opened |= gens->v[g].api != TERM_api_inherit;
		}
	return rc < 0 ? rc : 0;
}

/* Files that executions of the run made. 0, -errno. */
static int find_seen(struct finding *f, store_id run)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges out = {0}, gens = {0};
	int rc = store_run_execs(f->s, run, &execs, &n);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		rc = store_outputs(f->s, execs[i], &out);
		for (size_t k = 0; rc >= 0 && k < out.n; k++)
			rc = add_generated(f, execs[i], &out.v[k], &gens);
	}
	free(execs);
	edges_release(&out);
	edges_release(&gens);
	return rc < 0 ? rc : 0;
}

/* Of each file the version of the greatest number, in f->last. 0, -ENOMEM, -errno. */
static int find_last_versions(struct finding *f)
{
	struct version_info v, w;
	for (size_t i = 0; i < f->made.n; i++) {
		bool fresh = false;
		int rc = store_version(f->s, f->made.v[i], &v);
		uint32_t *at = rc == 1 ? idmap_add(&f->last, v.file, (uint32_t)i, &fresh) : NULL;
		if (rc == 1 && !at)
			return -ENOMEM;
		if (rc == 1 && !fresh && store_version(f->s, f->made.v[*at], &w) == 1 && w.n < v.n)
			*at = (uint32_t)i;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Had the file its name when the run had ended? It is no output else, unless it is called otherwise since then. 1, 0 or
 * -errno. */
static int was_left(const struct finding *f, const struct file_info *info, struct output *x)
{
	bool ended = f->end != TIME_NONE && f->end != TIME_NEVER;
	int rc = ended ? store_named_at(f->s, x->file, info->path, f->end) : info->named;
	x->renamed = rc == 0 && info->named;
	x->sure &= !x->renamed;
	return x->renamed ? 1 : rc;
}

/* What is known of the bytes of an output that the run told nothing of. 1; 0: it is none; -errno. */
static int learn_content(const struct finding *f, struct output *x)
{
	struct version_info v;
	struct file_info info;
	const uint32_t *at = idmap_find(&f->last, x->file);
	int rc = at ? store_version(f->s, f->made.v[*at], &v) : 0;
	if (rc == 1)
		rc = store_file(f->s, x->file, &info);
	if (rc == 1 && !x->told)
		rc = was_left(f, &info, x);
	if (rc != 1)
		return rc < 0 ? rc : x->told;
	rc = digest_told(f->s, &v, &info, x->digest);
	if (rc < 0)
		return rc;
	if (rc)
		x->by = OUTPUT_BY_DIGEST;
	else if (content_now(f->o->cache, &v, &info, 0, x->digest))
		x->by = OUTPUT_BY_BYTES;
	else if (v.has_size)
		x->by = OUTPUT_BY_SIZE;
	x->size = v.has_size ? v.size : 0;
	return 1;
}

static void output_release(struct output *x)
{
	free(x->name);
	free(x->path);
}

/* Digests of those that have none; outputs that count for nothing go. 0, -errno. */
static int learn_contents(const struct finding *f)
{
	struct outputs *o = f->out;
	size_t kept = 0;
	int rc = 0;
	for (size_t i = 0; i < o->n; i++) {
		struct output *x = &o->v[i];
		int r = rc < 0 || *x->digest ? 1 : learn_content(f, x);
		if (r < 0)
			rc = r;
		if (r == 0)
			output_release(x);
		else
			o->v[kept++] = *x;
	}
	o->n = kept;
	return rc;
}

int outputs_of(struct store *s, store_id run, const struct witness_options *o, struct outputs *ret)
{
	struct finding f = {.s = s, .o = o, .out = ret};
	struct run_info info;
	*ret = (struct outputs){0};
	int rc = store_run(s, run, &info);
	if (rc != 1)
		return rc < 0 ? rc : -ENOENT;
	f.cwd = strndup(info.cwd.p ? info.cwd.p : "", info.cwd.n);
	f.end = info.end;
	ret->seen = str_starts(info.mode, str_of("complete")) || str_starts(info.mode, str_of("safe"));
	rc = f.cwd ? find_told(&f, run) : -ENOMEM;
	if (rc == 0)
		rc = find_seen(&f, run);
	if (rc == 0)
		rc = find_last_versions(&f);
	if (rc == 0)
		rc = learn_contents(&f);
	idmap_release(&f.by_file);
	idmap_release(&f.last);
	vec_release(&f.made);
	free(f.cwd);
	return rc;
}

/* o is empty then. */
void outputs_release(struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		output_release(&o->v[i]);
	free(o->v);
	*o = (struct outputs){0};
}

const struct output *outputs_find(const struct outputs *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->v[i].name, name))
			return &o->v[i];
	return NULL;
}

const struct output *outputs_find_renamed(const struct outputs *o, const struct output *like)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct output *x = &o->v[i];
		if (x->renamed && *x->digest && !strcmp(x->digest, like->digest))
			return x;
	}
	return NULL;
}

bool output_is_handed(const struct output *x)
{
	return x->written && !x->opened;
}
