/* ix_write.c - the rows of files: versions, readers, fingerprints. */
#include "store/index/index.h"
#include "store/read.h"

#include "base/os/system.h"

#include <errno.h>
#include <stdlib.h>

/* A file's readers beyond this many bytes move to list: a library that every run reads must not have a growing row. */
#define READERS_INLINE 512

/* What a version is known by, as doc/graph.md has it: its first event, or what was found. */
struct known {
	bool unobserved, has_fp;
	uint64_t a, b; /* session row and seq, or how many before it were alike, and the size */
	int64_t mtime;
};

struct file_writer {
	struct ix *x;
	struct pfile f;
	struct pver v;
	struct buf info, ver, rd, one;
	VEC(struct prd) readers;
	VEC(struct known) known; /* the versions that the file had, sorted */
	struct ids spill;
	struct block_writer rows;
};

/* By execution, then by version. */
static int prd_cmp(const void *pa, const void *pb)
{
	const struct prd *a = pa, *b = pb;
	if (a->exec != b->exec)
		return a->exec < b->exec ? -1 : 1;
	return (a->n > b->n) - (a->n < b->n);
}

/* Order of qsort: by version, then by execution. */
static int compare_by_version(const void *pa, const void *pb)
{
	const struct prd *a = pa, *b = pb;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return (a->exec > b->exec) - (a->exec < b->exec);
}

/* Its id in the store. */
static uint64_t reader_execution_row(const struct ix *x, uint32_t exec)
{
	return exec_id(x->procs.v[x->g.execs.v[exec].proc], x->g.execs.v[exec].n);
}

/* Adds a reader: 0, -errno. Version n of the file was used by exec. */
static int add_reader(struct file_writer *w, uint64_t exec, uint32_t n)
{
	struct prd *r = vec_add(&w->readers);
	if (!r)
		return ix_oom(w->x);
	*r = (struct prd){exec, n};
	return 0;
}

/* Is it known, from the touched processes' rows, that the execution used the version? */
static bool is_attached(const struct ix *x, uint64_t exec, uint64_t version)
{
	size_t at = ix_pairs_from(x->attached.v, x->attached.n, exec);
	while (at < x->attached.n && x->attached.v[at].a == exec && x->attached.v[at].b < version)
		at++;
	return at < x->attached.n && x->attached.v[at].a == exec && x->attached.v[at].b == version;
}

/* The entries that one access makes: one for each version that it used, or one that tells of none. 0, -ENOMEM,
 * reported. */
static int add_access_readers(struct file_writer *w, uint32_t file, const struct gaccess *a, bool only_new)
{
	struct ix *x = w->x;
	uint64_t exec = reader_execution_row(x, a->exec);
	int rc = 0;
	for (uint32_t u = 0; rc == 0 && (u < a->nuse || (!a->nuse && !u)); u++) {
		uint32_t n = !a->nuse ? 0 : a->nuse == 1 ? a->use : x->g.uses.v[a->use + u].version;
		if (!only_new || !is_attached(x, exec, version_id(x->files.v[file].id, n)))
			rc = add_reader(w, exec, n);
	}
	return rc;
}

/* The entries that the file's accesses in the graph make; those known already are passed over. 0, -ENOMEM, reported. */
static int collect_readers(struct file_writer *w, uint32_t file, bool only_new)
{
	struct ix *x = w->x;
	const struct gfile *g = &x->g.files.v[file];
	int rc = 0;
	for (uint32_t k = 0; rc == 0 && k < g->naccess; k++) {
		const struct gaccess *a = &x->g.accesses.v[x->g.by_file[g->first_access + k]];
		if (!only_new || !(a->flags & GACCESS_OLD))
			rc = add_access_readers(w, file, a, only_new);
	}
	return rc;
}

/* By execution, each once. */
static void sort_readers(struct file_writer *w)
{
	bool sorted = true;
	for (size_t i = 1; i < w->readers.n; i++)
		sorted = sorted && prd_cmp(&w->readers.v[i - 1], &w->readers.v[i]) < 0;
	if (sorted)
		return;
	qsort(w->readers.v, w->readers.n, sizeof(*w->readers.v), prd_cmp);
	size_t kept = 1;
	for (size_t i = 1; i < w->readers.n; i++)
		if (prd_cmp(&w->readers.v[i], &w->readers.v[kept - 1]))
			w->readers.v[kept++] = w->readers.v[i];
	w->readers.n = kept;
}

/* The readers of each version to a list. 0, -errno with a sentence. */
static int spill_readers(struct file_writer *w, uint32_t file)
{
	struct ix *x = w->x;
	int rc = 0;
	w->f.flags |= PFILE_SPILLED;
	qsort(w->readers.v, w->readers.n, sizeof(*w->readers.v), compare_by_version);
	for (size_t i = 0, k; rc == 0 && i < w->readers.n; i = k) {
		w->spill.n = 0;
		for (k = i; rc == 0 && k < w->readers.n && w->readers.v[k].n == w->readers.v[i].n; k++)
			rc = ids_add(&w->spill, w->readers.v[k].exec);
		if (rc == 0)
			rc = lists_add(x->s, list_key(LIST_READER, version_id(x->files.v[file].id, w->readers.v[i].n)), w->spill.v,
			               w->spill.n, x->err);
	}
	return rc;
}

/* Into w->rd; too many for the row go into rows of their own, and w->rd is empty. 0, or -errno. */
static int put_readers(struct file_writer *w, uint32_t file)
{
	struct prd last = {0};
	sort_readers(w);
	buf_reset(&w->rd);
	for (size_t i = 0; i < w->readers.n; i++)
		prd_put(&w->rd, &last, &w->readers.v[i]);
	if (w->rd.n <= READERS_INLINE)
		return w->rd.failed ? ix_oom(w->x) : 0;
	buf_reset(&w->rd);
	return spill_readers(w, file);
}

/* ---- versions ---- */

/* Into w->v, without its writers. 0 or -errno. */
static int fill_version(struct file_writer *w, uint32_t file, const struct gversion *v)
{
	struct ix *x = w->x;
	struct pver *p = &w->v;
	p->gens.n = p->ders.n = 0;
	p->flags = (uint64_t)v->origin << PVER_ORIGIN | (uint64_t)v->unobserved << PVER_UNOBSERVED |
	           (uint64_t)v->range << PVER_RANGE | (uint64_t)(v->has_size && !v->size && !v->unobserved) << PVER_HOLLOW;
	p->k = v->k;
	p->flags |= (uint64_t)v->told << PVER_REPORTED;
	p->session = v->unobserved ? 0 : v->told ? v->session : ix_session_row(x, v->session);
	p->seq = v->seq;
	p->start = v->start;
	p->end = v->end;
	p->fp = p->now = 0;
	if (v->has_size) {
		const int64_t mtime = v->unobserved ? v->found : v->mtime;
		int rc = ix_fp_index(x, file, &(struct gfp){v->size, mtime}, &p->fp);
		if (rc == 0 && mtime != v->mtime)
			rc = ix_fp_index(x, file, &(struct gfp){v->size, v->mtime}, &p->now);
		if (rc < 0)
			return rc;
	}
	if (!vec_room(&p->gens, v->ngen) || !vec_room(&p->ders, v->nder))
		return ix_oom(x);
	for (uint32_t i = 0; i < v->ngen; i++) {
		const struct ggen *g = &x->g.gens.v[v->first_gen + i];
		p->gens.v[p->gens.n++] = (struct pgen){.exec = reader_execution_row(x, g->exec),
		                                       .must = g->must,
		                                       .has_bytes = g->has_bytes,
		                                       .via = g->via,
		                                       .api = g->api,
		                                       .mode = g->mode,
		                                       .lo = g->lo,
		                                       .hi = g->hi,
		                                       .over = g->over,
		                                       .part = g->part,
		                                       .count = g->count,
		                                       .bytes = g->bytes};
	}
	for (uint32_t i = 0; i < v->nder; i++) {
		const struct gder *d = &x->g.ders.v[v->first_der + i];
		uint64_t from = version_id(x->files.v[d->file].id, d->n);
		p->ders.v[p->ders.n++] = (struct pder){from, d->must, d->via};
		if (d->file != file && ix_pairs_add(x, &x->derived_list, from, version_id(x->files.v[file].id, v->n)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Public id to version. 0, -ENOMEM. */
static int version_key(struct file_writer *w, uint32_t file, const struct gversion *v)
{
	struct ix *x = w->x;
	buf_reset(&w->one);
	ix_file_hash(x, file, &w->one);
	if (v->unobserved)
		identity_unobserved(&w->one, v->has_size, v->size, v->found, v->k);
	else
		identity_version(&w->one, v->session, v->seq);
	if (w->one.failed)
		return ix_oom(x);
	return ix_add_key(x, KEY_VERSION, (uint32_t)(identity_hash(&w->one).hi >> 32),
	                  version_id(x->files.v[file].id, v->n));
}

/* By what a version is known again when the file is resolved anew. */
static struct known known_version_of(const struct pver *v, const struct pfp *fp)
{
	struct known k = {.unobserved = v->flags >> PVER_UNOBSERVED & 1};
	if (!k.unobserved) {
		k.a = v->session;
		k.b = v->seq;
		return k;
	}
	k.a = v->k;
	k.has_fp = fp != NULL;
	k.b = fp ? fp->size : 0;
	k.mtime = fp ? fp->mtime : 0;
	return k;
}

/* Order of qsort: equal ones next to each other, those that were seen first. */
static int known_cmp(const void *pa, const void *pb)
{
	const struct known *a = pa, *b = pb;
	if (a->unobserved != b->unobserved)
		return a->unobserved - b->unobserved;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	if (a->has_fp != b->has_fp)
		return a->has_fp - b->has_fp;
	if (a->b != b->b)
		return a->b < b->b ? -1 : 1;
	return (a->mtime > b->mtime) - (a->mtime < b->mtime);
}

/* What the row had, into w->known. 0 or -errno. */
static int add_known_versions(struct file_writer *w, const struct ix_row *row, uint64_t id, struct str pack)
{
	struct cur c = cur_of(pack);
	int64_t t = w->x->s->base;
	int rc;
	while ((rc = pver_next(&c, id, &t, &w->v)) == 1) {
		struct known *k = vec_add(&w->known);
		if (!k)
			return ix_oom(w->x);
		*k = known_version_of(&w->v, w->v.fp && w->v.fp <= row->f.fps.n ? &row->f.fps.v[w->v.fp - 1] : NULL);
	}
	return rc;
}

/* Which versions the file had: those that are resolved again are not new. 0, -errno with a sentence. */
static int known_versions(struct file_writer *w, const struct ix_row *row, uint64_t id)
{
	w->known.n = 0;
	if (!row)
		return 0;
	int rc = add_known_versions(w, row, id, buf_view(&row->ver));
	if (rc == 0 && row->f.flags & PFILE_MORE) {
		sqlite3_stmt *st = store_stmt(w->x->s, SQL_more_range, w->x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)version_id(id, 0));
		sqlite3_bind_int64(st, 2, (int64_t)version_id(id + 1, 0));
		while (rc == 0 && (rc = store_step(w->x->s, st, w->x->err)) == 1)
			rc = add_known_versions(w, row, id, column_str(st, 1));
		sqlite3_reset(st);
	}
	if (rc == 0 && w->known.n > 1)
		qsort(w->known.v, w->known.n, sizeof(*w->known.v), known_cmp);
	return rc;
}

/* Is the version that stands in w->v, of v, none that the file had? */
static bool is_new_version(const struct file_writer *w, const struct gversion *v)
{
	struct known k =
	    known_version_of(&w->v, v->has_size ? &(struct pfp){v->size, v->unobserved ? v->found : v->mtime} : NULL);
	return !w->known.n || !bsearch(&k, w->known.v, w->known.n, sizeof(k), known_cmp);
}

/* A row of more: packed versions, the last of which is number i (from 0) of the file. */
static int put_more_versions(struct ix *x, uint64_t id, uint32_t i, const struct buf *packed)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_more_put, x->err);
	if (!st || packed->failed)
		return ix_oom(x);
	sqlite3_bind_int64(st, 1, (int64_t)version_id(id, i / VERSIONS_INLINE * VERSIONS_INLINE + 1));
	bind_str(st, 2, buf_view(packed));
	return store_run_stmt(x->s, st, x->err);
}

/* The first versions into w->ver, further ones to rows of more. 0, -errno with a sentence. */
static int pack_file_versions(struct file_writer *w, uint32_t file)
{
	struct ix *x = w->x;
	const struct gfile *g = &x->g.files.v[file];
	uint64_t id = x->files.v[file].id;
	int64_t t = x->s->base;
	int rc = 0;
	uint32_t n = g->nversion < VERSION_MAX ? g->nversion : VERSION_MAX;
	x->stats.unknown_refs += g->nversion - n;
	buf_reset(&w->ver);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		const struct gversion *v = &x->g.versions.v[g->first_version + i];
		bool more = i >= VERSIONS_INLINE;
		rc = fill_version(w, file, v);
		if (rc == 0)
			rc = version_key(w, file, v);
		if (rc < 0)
			break;
		x->stats.new_versions += is_new_version(w, v);
		if (more && i % VERSIONS_INLINE == 0) {
			buf_reset(&w->info);
			t = x->s->base;
		}
		pver_put(more ? &w->info : &w->ver, id, &t, &w->v);
		if (more && (i % VERSIONS_INLINE == VERSIONS_INLINE - 1 || i + 1 == n)) {
			w->f.flags |= PFILE_MORE;
			rc = put_more_versions(x, id, i, &w->info);
		}
	}
	w->f.nversion = n;
	return rc;
}

/* ---- the row ---- */

/* What did not fit into the row. 0, or -errno with a sentence. */
static int clear_rest(struct ix *x, uint64_t id, uint64_t flags)
{
	int rc = 0;
	if (flags & PFILE_SPILLED)
		rc = lists_clear(x->s, list_key(LIST_READER, version_id(id, 0)), list_key(LIST_READER, version_id(id + 1, 0)),
		                 x->err);
	if (rc == 0 && (flags & PFILE_MORE)) {
		sqlite3_stmt *st = store_stmt(x->s, SQL_more_clear, x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)version_id(id, 0));
		sqlite3_bind_int64(st, 2, (int64_t)version_id(id + 1, 0));
		rc = store_run_stmt(x->s, st, x->err);
	}
	return rc;
}

/* PFILE_* bits that the file has because of the access. */
static uint64_t access_flags(const struct gaccess *a)
{
	uint64_t flags = a->mode & ACCESS_WRITE ? PFILE_WRITTEN : 0;
	if (((a->mode & ACCESS_WRITE) && !(a->flags & GACCESS_WRITES)) || (a->flags & GACCESS_ALIAS))
		flags |= PFILE_HIDDEN;
	if (a->flags & GACCESS_TOLD)
		flags |= PFILE_REPORTED;
	if (a->flags & GACCESS_EXACT && a->mode & ACCESS_WRITE)
		flags |= PFILE_EXACT;
	return flags | (a->flags & GACCESS_KEPT ? PFILE_KEPT : 0);
}

/* All paths that the file was ever named by, and its fingerprints. 0, -ENOMEM. */
static int fill_file_lists(struct file_writer *w, uint32_t file, const struct ix_row *row)
{
	struct ix *x = w->x;
	struct pfile *f = &w->f;
	int rc = 0;
	f->paths.n = f->fps.n = 0;
	for (size_t i = 0; rc == 0 && row && i < row->f.paths.n; i++)
		rc = ids_add(&f->paths, row->f.paths.v[i]);
	for (size_t i = ix_pairs_from(x->named.v, x->named.n, file); rc == 0 && i < x->named.n && x->named.v[i].a == file;
	     i++)
		rc = ids_add(&f->paths, x->named.v[i].b);
	ids_sort(&f->paths);
	for (uint32_t i = x->fp_first.v[file]; rc == 0 && i != VEC_NONE; i = x->fp_next.v[i]) {
		struct pfp *fp = vec_add(&f->fps);
		if (!fp)
			return ix_oom(x);
		*fp = (struct pfp){x->g.fps.v[i].size, x->g.fps.v[i].mtime};
	}
	return rc;
}

/* The store says that it has objects of HDF5 files, from the first on. 0, -errno with a sentence. */
static int note_objects(struct ix *x, unsigned kind)
{
	if (!gkind_is_object(kind) || x->has_objects)
		return 0;
	int rc = store_meta_set(x->s, "objects", 1, x->err);
	x->has_objects = rc >= 0;
	return rc < 0 ? rc : 0;
}

/* Into w->f. row: what it was, or NULL; whole: its versions are all found anew. 0 or -errno. */
static int fill_file(struct file_writer *w, uint32_t file, const struct ix_row *row, bool whole)
{
	struct ix *x = w->x;
	const struct gfile *g = &x->g.files.v[file];
	struct pfile *f = &w->f;
	int rc = note_objects(x, g->kind);
	if (rc < 0)
		return rc;
	f->kind = g->kind;
	f->flags = g->flags & (GFILE_BY_NAME | GFILE_MIXED);
	if (row && !whole)
		f->flags |= row->f.flags & ~(uint64_t)(GFILE_BY_NAME | GFILE_MIXED);
	f->domain = g->domain == VEC_NONE ? 0 : x->domains.v[g->domain];
	f->ino = g->ino;
	f->gen = g->gen;
	f->path = 0;
	if (g->path != VEC_NONE && (g->domain == VEC_NONE || !gkind_has_names(g->kind)))
		f->path = x->nodes.v[g->path].id;
	f->path_key = ix_pkey(x, &g->path_key);
	f->kind_key = ix_pkey(x, &g->kind_key);
	f->group = g->group == VEC_NONE ? 0 : x->files.v[g->group].id;
	f->group_key = ix_pkey(x, &g->group_key);
	f->within = g->within != VEC_NONE ? x->files.v[g->within].id : row ? row->f.within : 0;
	f->nversion = row ? row->f.nversion : 0;
	for (uint32_t k = 0; k < g->naccess; k++)
		f->flags |= access_flags(&x->g.accesses.v[x->g.by_file[g->first_access + k]]);
	return fill_file_lists(w, file, row);
}

/* Looks for the name to show: of those that are open one that no link made, which links made since do not change, and
 * of several the last, for nobody may have seen that the others ended; of links the first. Else the one that ended
 * last. */
struct shown {
	struct ix *x;
	uint64_t file, at, path; /* rows */
	struct pname name;
};

/* Is a the name that people should see: one that holds, else the last; first names before links? */
static bool shows_better(const struct pname *a, const struct pname *b)
{
	if (a->to != b->to)
		return a->to > b->to;
	if (a->to == TIME_NEVER && a->linked != b->linked)
		return b->linked;
	return a->to == TIME_NEVER && a->linked ? a->from < b->from : a->from > b->from;
}

/* Called for each name of a path: keeps the name that the file shows, the better of two in
 * whatever order they are met. arg: a struct shown. Always 0. */
static int choose_shown_name(void *arg, const struct pname *n)
{
	struct shown *b = arg;
	if (n->file != b->file)
		return 0;
	bool tie = b->path && !shows_better(n, &b->name) && !shows_better(&b->name, n);
	if (!b->path || shows_better(n, &b->name) || (tie && b->at < b->path)) { /* in whatever order they are met */
		b->path = b->at;
		b->name = *n;
	}
	return 0;
}

/* Finds what was loaded of a path. NULL: it was not loaded. */
static const struct ix_loaded_path *loaded_path(const struct ix *x, uint64_t row)
{
	uint32_t node = map_get(&x->node_rows, row), at = node == VEC_NONE ? VEC_NONE : x->nodes.v[node].loaded;
	return at == VEC_NONE ? NULL : &x->paths.v[at];
}

/* Looks at the names of the path at row b->at that were found now. */
static void look_at_found(struct ix *x, struct shown *b)
{
	const struct ix_loaded_path *p = loaded_path(x, b->at);
	for (size_t k = 0; p && (p->dirty || p->nname) && k < p->nname; k++) {
		const struct gname *n = &x->path_names.v[p->first_name + k];
		choose_shown_name(
		    b, &(struct pname){.file = x->files.v[n->file].id, .from = n->from, .to = n->to, .linked = n->linked});
	}
}

/* A visitor of names: passes over those that still hold. */
static int choose_ended_name(void *arg, const struct pname *n)
{
	return n->to == TIME_NEVER ? 0 : choose_shown_name(arg, n); /* the open ones were found now */
}

/* And at those that are in the store and were not; of an appended path at those that ended no earlier than the best so
 * far. */
static int look_at_stored(struct ix *x, struct shown *b)
{
	uint32_t node = map_get(&x->node_rows, b->at);
	const struct ix_loaded_path *p = loaded_path(x, b->at);
	struct name_reader ended = {.say = choose_ended_name, .arg = b};
	if (p && p->appended)
		return read_names_since(x->s, b->at, b->path ? b->name.to : INT64_MIN, &ended, x->err);
	if ((p && (p->dirty || p->nname)) || (node != VEC_NONE && x->nodes.v[node].is_new))
		return 0;
	return read_names(x->s, b->at, choose_shown_name, b, x->err);
}

/* Into w->f: the name that is shown, and where. 0 or -errno. */
static int find_shown(struct file_writer *w, uint32_t file)
{
	struct ix *x = w->x;
	struct shown b = {.x = x, .file = x->files.v[file].id};
	int rc = 0;
	for (size_t i = 0; i < w->f.paths.n; i++) {
		b.at = w->f.paths.v[i];
		look_at_found(x, &b);
	}
	for (size_t i = 0; rc == 0 && i < w->f.paths.n; i++) {
		b.at = w->f.paths.v[i];
		rc = look_at_stored(x, &b);
	}
	w->f.shown_dir = 0;
	w->f.named = b.path && b.name.to == TIME_NEVER;
	buf_reset(&w->f.shown);
	uint32_t node;
	if (rc == 0 && b.path && (rc = ix_node_of(x, b.path, &node)) == 0) {
		uint32_t up = x->g.paths.list.v[node].parent;
		w->f.shown_dir = up == VEC_NONE ? 0 : x->nodes.v[up].id;
		buf_str(&w->f.shown, intern_get(&x->g.words, x->g.paths.list.v[node].base));
	}
	return rc;
}

/* Copies what names the file had, so that the row can go. */
static void keep_shown(struct file_writer *w, const struct ix_row *row)
{
	w->f.shown_dir = row->f.shown_dir;
	w->f.named = row->f.named;
	buf_reset(&w->f.shown);
	buf_str(&w->f.shown, buf_view(&row->f.shown));
}

/* The readers that the row had, which stays otherwise as it is. */
static int keep_readers(struct file_writer *w, const struct ix_row *row)
{
	struct cur c = cur_of(buf_view(&row->rd));
	struct prd last = {0}, r;
	int rc;
	while ((rc = prd_next(&c, &last, &r)) == 1)
		if ((rc = add_reader(w, r.exec, r.n)) < 0)
			break;
	return rc;
}

/* Readers and versions of a file all of whose accesses are in the graph; row: what it had, NULL for a new one. */
static int fill_whole_file(struct file_writer *w, uint32_t file, const struct ix_row *row)
{
	uint64_t id = w->x->files.v[file].id;
	int rc = known_versions(w, row, id);
	if (rc == 0 && row)
		rc = clear_rest(w->x, id, row->f.flags);
	if (rc == 0)
		rc = collect_readers(w, file, false);
	if (rc == 0)
		rc = put_readers(w, file);
	return rc < 0 ? rc : pack_file_versions(w, file);
}

/* Readers of a file that gained some; its versions stand. */
static int fill_gained_file(struct file_writer *w, uint32_t file, const struct ix_row *row)
{
	int rc = keep_readers(w, row);
	if (rc == 0)
		rc = collect_readers(w, file, true);
	if (rc == 0)
		rc = put_readers(w, file);
	buf_reset(&w->ver);
	buf_str(&w->ver, buf_view(&row->ver));
	return rc;
}

/* Is the file one of the machine's own by the name that it shows: by the default table, and by the user's own list,
 * too? Directories may be new, and have no rows yet. *ret: what system_path says of the default table, and in bits 4
 * and up of the user's list. 0, -errno. */
static int class_of_shown(struct ix *x, const struct pfile *f, unsigned *ret)
{
	struct buf path = {0};
	uint32_t dir;
	int rc = f->kind == TERM_kind_regular && f->shown_dir ? ix_node_of(x, f->shown_dir, &dir) : 0;
	*ret = 0;
	if (rc == 0 && f->kind == TERM_kind_regular && f->shown_dir) {
		paths_get(&x->g.paths, &x->g.words, dir, &path);
		buf_char(&path, '/');
	}
	buf_str(&path, buf_view(&f->shown));
	if (rc == 0 && path.n)
		*ret = (unsigned)(system_path(buf_view(&path), NULL) | system_path(buf_view(&path), x->o->system_extra) << 4);
	rc = rc == 0 && path.failed ? ix_oom(x) : rc;
	buf_release(&path);
	return rc;
}

/* The runs that used or made the file count it, or do not, by the name that it shows. */
static int check_shown(struct file_writer *w, uint32_t file, const struct ix_row *row)
{
	struct ix *x = w->x;
	unsigned was = 0, is = 0;
	int rc = class_of_shown(x, &row->f, &was);
	if (rc == 0)
		rc = class_of_shown(x, &w->f, &is);
	if (rc < 0 || was == is)
		return rc;
	return ix_void_readers(x, x->files.v[file].id, buf_view(&row->rd), row->f.flags & PFILE_SPILLED, row->f.nversion);
}

/* Writes the row of a file. 0, or -errno with a sentence. */
static int write_file_row(struct file_writer *w, uint32_t file)
{
	struct ix *x = w->x;
	struct ix_file *f = &x->files.v[file];
	struct ix_row *row = f->row == VEC_NONE ? NULL : &x->rows.v[f->row];
	bool whole = !row || f->slow;
	int rc = fill_file(w, file, row, whole);
	if (rc == 0 && (!row || f->named))
		rc = find_shown(w, file);
	else if (rc == 0)
		keep_shown(w, row);
	if (rc == 0 && row && (f->named || f->kind_changed))
		rc = check_shown(w, file, row);
	w->readers.n = 0;
	if (rc == 0)
		rc = whole ? fill_whole_file(w, file, row) : fill_gained_file(w, file, row);
	if (rc < 0)
		return rc;
	buf_reset(&w->info);
	pfile_put(x->s, &w->info, &w->f);
	const struct str part[FILE_PARTS] = {buf_view(&w->info), buf_view(&w->ver), buf_view(&w->rd)};
	struct buf *out;
	if (w->info.failed || w->ver.failed)
		return ix_oom(x);
	rc = block_put(&w->rows, f->id, x->err, &out);
	if (rc == 0)
		pack_join(out, part, FILE_PARTS);
	return rc;
}

int ix_write_files(struct ix *x)
{
	struct file_writer w = {.x = x, .rows = {.s = x->s, .table = BLOCK_FILE, .fresh = x->fresh}};
	struct ix_pairs order = {0};
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < x->files.n; i++)
		if (i < x->event_files || x->files.v[i].slow || x->files.v[i].named)
			rc = ix_pairs_add(x, &order, x->files.v[i].id, i);
	ix_pairs_sort(&order);
	for (size_t i = 0; rc == 0 && i < order.n; i++)
		rc = write_file_row(&w, (uint32_t)order.v[i].b);
	if (rc == 0)
		rc = block_flush(&w.rows, x->err);
	block_writer_release(&w.rows);
	free(order.v);
	pfile_release(&w.f);
	pver_release(&w.v);
	buf_release(&w.info);
	buf_release(&w.ver);
	buf_release(&w.rd);
	buf_release(&w.one);
	vec_release(&w.readers);
	vec_release(&w.known);
	free(w.spill.v);
	return rc;
}
