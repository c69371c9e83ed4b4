/* ix_files.c - what is known of a file, joined with what is new; and which files the new accesses leave as they are.
 *
 * Most files of a run were read before (libraries, programs, inputs) and gain only readers: those are `fast`, their
 * versions stand, and the new reads' uses follow from the versions' rows. All others are `slow`: all their accesses are
 * loaded and resolved again. */
#include "graph/names.h"
#include "store/index/index.h"
#include "store/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The file's group is what the earliest event says, whether that is in the index or came now. 0 or -errno. */
static int merge_group(struct ix *x, uint32_t i)
{
	const struct pfile *p = &x->rows.v[x->files.v[i].row].f;
	uint32_t had = VEC_NONE, now = x->g.files.v[i].group;
	struct gkey key;
	uint64_t row = p->group;
	struct pkey pkey = p->group_key;
	if (row) {
		int rc = ix_file_of(x, row, &had);
		if (rc == 0)
			rc = ix_gkey(x, &pkey, &key);
		if (rc < 0)
			return rc;
		struct gfile *g = &x->g.files.v[i];
		if (now == VEC_NONE || gkey_cmp(&key, &g->group_key) < 0) {
			g->group = now = had;
			g->group_key = key;
		}
	}
	if (had != now) {
		x->files.v[i].slow = true;
		if (had != VEC_NONE)
			x->files.v[had].slow = true;
		if (now != VEC_NONE)
			x->files.v[now].slow = true;
	}
	return 0;
}

/* What the store knows of file i, whose row is loaded, joined with what the new sessions say. 0, -errno with a
 * sentence. */
static int merge_file(struct ix *x, uint32_t i)
{
	struct gkey key, path_key;
	const struct pfile *p = &x->rows.v[x->files.v[i].row].f;
	uint32_t path = VEC_NONE;
	int rc = ix_gkey(x, &p->kind_key, &key);
	p = &x->rows.v[x->files.v[i].row].f;
	if (rc == 0 && p->domain && p->path) {
		rc = ix_gkey(x, &p->path_key, &path_key);
		if (rc == 0)
			rc = ix_node_of(x, x->rows.v[x->files.v[i].row].f.path, &path);
	}
	if (rc < 0)
		return rc;
	p = &x->rows.v[x->files.v[i].row].f;
	struct gfile *g = &x->g.files.v[i];
	if (p->kind != g->kind && g->kind_key.time != INT64_MAX) /* else nothing told of it now */
		g->flags |= GFILE_MIXED;
	if (gkey_cmp(&key, &g->kind_key) < 0) {
		g->kind_key = key;
		g->kind = (uint8_t)p->kind;
	}
	if (path != VEC_NONE && gkey_cmp(&path_key, &g->path_key) > 0) {
		g->path_key = path_key;
		g->path = path;
	}
	g->flags |= (uint16_t)(p->flags & (GFILE_BY_NAME | PFILE_MIXED));
	x->files.v[i].kind_changed = g->kind != p->kind;
	x->files.v[i].slow |= g->kind != p->kind;
	return merge_group(x, i);
}

int ix_merge_files(struct ix *x)
{
	int rc = 0;
	x->event_files = x->g.files.n;
	for (uint32_t i = 0; rc == 0 && i < x->event_files; i++)
		if (x->files.v[i].row != VEC_NONE)
			rc = merge_file(x, i);
	/* A new alias of a file that is there changes what that one's accesses are. */
	for (uint32_t i = 0; rc == 0 && i < x->event_files; i++)
		if (x->files.v[i].row == VEC_NONE && x->g.files.v[i].group != VEC_NONE)
			x->files.v[x->g.files.v[i].group].slow = true;
	return rc;
}

/* ---- fast files ---- */

struct versions {
	VEC(struct pver) v;
};

/* All that were ever made in it, not only those in use. */
static void versions_release(struct versions *v)
{
	for (size_t i = 0; i < v->v.cap; i++)
		pver_release(&v->v.v[i]);
	vec_release(&v->v);
}

/* Unpacks the versions that stand in the row of the file id. 0 or -errno. */
static int unpack_versions(struct ix *x, const struct ix_row *row, uint64_t id, struct versions *ret)
{
	struct cur c = cur_of(buf_view(&row->ver));
	int64_t t = x->s->base;
	int rc = 1;
	ret->v.n = 0; /* elements up to cap keep their arrays, to be used again */
	while (rc == 1) {
		size_t cap = ret->v.cap;
		struct pver *v = vec_add(&ret->v);
		if (!v)
			return ix_oom(x);
		if (ret->v.cap != cap)
			memset(ret->v.v + cap, 0, (ret->v.cap - cap) * sizeof(*v));
		rc = pver_next(&c, id, &t, v);
		ret->v.n -= rc != 1;
	}
	return rc;
}

/* Puts changed versions back into the row. 0, -ENOMEM. */
static int versions_put(struct ix *x, struct ix_row *row, uint64_t id, const struct versions *v)
{
	int64_t t = x->s->base;
	buf_reset(&x->b2);
	for (size_t i = 0; i < v->v.n; i++)
		pver_put(&x->b2, id, &t, &v->v.v[i]);
	row->ver = ix_keep(x, buf_view(&x->b2));
	return x->b2.failed || row->ver.failed ? ix_oom(x) : 0;
}

/* The fingerprint of a file with that number. index: from 1. NULL: it has none. */
static const struct pfp *fp_of(const struct ix_row *row, uint32_t index)
{
	return index && index <= row->f.fps.n ? &row->f.fps.v[index - 1] : NULL;
}

/* Its content is not of a write that was seen. */
static bool is_unobserved(const struct pver *v)
{
	return v->flags >> PVER_UNOBSERVED & 1;
}

/* The uses of a read by rule 7, from the versions' rows. false: it must be resolved. */
static bool use_versions(struct ix *x, struct gaccess *a, const struct versions *v, size_t cur)
{
	uint32_t first = (uint32_t)x->g.uses.n, n = 0;
	for (size_t i = 0; i < v->v.n; i++) {
		const struct pver *w = &v->v.v[i];
		bool over = w->end > a->start && w->start < a->end;
		if (is_unobserved(w))
			over = a->start < w->start && w->start < a->end;
		else if (over && w->flags >> PVER_RANGE & 1)
			return false; /* it may split the range */
		if (!over && i != cur)
			continue;
		struct guse *u = vec_add(&x->g.uses);
		if (!u) {
			x->g.failed = true;
			return false;
		}
		*u = (struct guse){(uint32_t)i + 1, i == cur ? a->via : TERM_via_overlap};
		n++;
	}
	a->nuse = n;
	a->use = first;
	if (n == 1) {
		a->use = x->g.uses.v[first].version;
		a->use_via = x->g.uses.v[first].via;
		x->g.uses.n = first;
		if (a->sure)
			a->flags |= GACCESS_USE_MUST;
	}
	return true;
}

/* Is what a read found what a row says, or unknown to both? */
static bool same_fp(const struct pfp *was, const struct gfp *is)
{
	return (was != NULL) == (is != NULL) && (!was || (was->size == is->size && was->mtime == is->mtime));
}

/* The last version that had ended at t, SIZE_MAX none. *ret_live: another was being written. */
static size_t ended_version(const struct versions *v, int64_t t, bool *ret_live)
{
	size_t cur = SIZE_MAX;
	*ret_live = false;
	for (size_t i = 0; i < v->v.n; i++) {
		const struct pver *w = &v->v.v[i];
		*ret_live |= !is_unobserved(w) && w->start <= t && w->end > t;
		if (w->end <= t)
			cur = i;
	}
	return cur;
}

/* A read before all others of the file: fine if it sees what the first saw. Then that version begins with it. */
static bool sees_first_version(const struct ix_row *row, struct versions *v, int64_t t, const struct gfp *is)
{
	struct pver *u = &v->v.v[0];
	if (v->v.n != 1 || !is_unobserved(u) || pver_origin(u) != ORIGIN_EXTERNAL || !same_fp(fp_of(row, u->fp), is))
		return false;
	u->start = u->end = t;
	return true;
}

/* Does a read that found `is` find version v as it was left? A time that is not known does not speak against it. */
static bool finds_as_left(const struct ix_row *row, const struct pver *v, const struct gfp *is)
{
	const struct pfp *was = fp_of(row, pver_print(v));
	if (v->flags >> PVER_RANGE & 1)
		return false; /* the last write's own fingerprint is not in its row */
	return !was ||
	       (was->size == is->size && (was->mtime == is->mtime || was->mtime == TIME_NONE || is->mtime == TIME_NONE));
}

/* At the moment of an unseen change a read could be the one that showed it: fine if it shows the same. */
static bool disputes_change(const struct ix_row *row, const struct pver *last, int64_t t, const struct gfp *is)
{
	return last && is_unobserved(last) && last->start == t && !same_fp(fp_of(row, last->fp), is);
}

/* One new read. 1: done; 0: the file must be resolved. */
static int fast_read(struct ix *x, const struct ix_row *row, struct versions *v, struct gaccess *a, bool *changed)
{
	if ((a->mode & ACCESS_WRITE) || (a->flags & (GACCESS_ALIAS | GACCESS_CREATES | GACCESS_TRUNCS | GACCESS_EXACT)))
		return 0;
	if (a->flags & GACCESS_TIMES)
		return 0;
	if (!(a->flags & GACCESS_KEPT))
		return 1;
	const struct gfp *is = a->fps == VEC_NONE ? NULL : &x->g.fps.v[a->fps];
	bool live;
	size_t cur = ended_version(v, a->start, &live);
	const struct pver *last = cur == SIZE_MAX ? NULL : &v->v.v[cur];
	if (disputes_change(row, last, a->start, is))
		return 0;
	if (!live && !last) {
		if (!sees_first_version(row, v, a->start, is))
			return 0;
		*changed = true;
		cur = 0;
	} else if (!live && is && !finds_as_left(row, last, is)) {
		return 0;
	}
	return !(a->flags & GACCESS_READS) || use_versions(x, a, v, cur);
}

/* A file that is outside or not there has one version, whoever looks. 1: done; 0: it must go the slow way. *changed:
 * the version did. */
static int fast_outside(struct versions *v, struct gaccess *a, bool absent, bool *changed)
{
	if (!(a->flags & GACCESS_KEPT))
		return 1;
	if (a->flags & GACCESS_ALIAS)
		return 0;
	struct pver *u = &v->v.v[0];
	if (a->start < u->start) {
		u->start = u->end = a->start;
		*changed = true;
	}
	if ((a->flags & GACCESS_READS) || absent) {
		a->nuse = 1;
		a->use = 1;
		a->use_via = a->via;
		if (a->sure || absent)
			a->flags |= GACCESS_USE_MUST;
	}
	return 1;
}

/* What the file's accesses are thought to have used is forgotten, before it is resolved anew. */
static void undo(struct ix *x, uint32_t file)
{
	const struct gfile *g = &x->g.files.v[file];
	for (uint32_t k = 0; k < g->naccess; k++) {
		struct gaccess *a = &x->g.accesses.v[x->g.by_file[g->first_access + k]];
		a->nuse = a->use = 0;
		a->flags &= ~(uint32_t)GACCESS_USE_MUST;
	}
}

/* May new accesses leave the file's versions as they are, by what is known of the file? */
static bool may_be_fast(const struct ix *x, uint32_t file, bool outside)
{
	const struct gfile *g = &x->g.files.v[file];
	const struct ix_file *f = &x->files.v[file];
	const struct pfile *had = &x->rows.v[f->row].f;
	bool only_read = !(had->flags & PFILE_WRITTEN) && had->nversion == 1;
	if (had->nversion == 0 || (g->flags & GFILE_TOLD) ||
	    (had->flags & (PFILE_MORE | PFILE_HIDDEN | PFILE_MIXED | PFILE_REPORTED | PFILE_EXACT)))
		return false;
	if (outside)
		return had->nversion == 1;
	return gkind_has_versions(g->kind) && !(g->flags & GFILE_BY_NAME) && !x->g.lps && (!f->old_touched || only_read) &&
	       !(x->g.skew && x->g.domains.v[g->domain].network);
}

/* Tries to leave a file's versions as they are. 1: the file stays as it is, and its new accesses have their uses; 0:
 * it must be resolved. */
static int try_fast(struct ix *x, uint32_t file, struct versions *v)
{
	const struct gfile *g = &x->g.files.v[file];
	struct ix_file *f = &x->files.v[file];
	struct ix_row *row = &x->rows.v[f->row];
	bool outside = g->kind == TERM_kind_pseudo || g->kind == TERM_kind_absent;
	if (!may_be_fast(x, file, outside))
		return 0;
	bool changed = false;
	int rc = unpack_versions(x, row, f->id, v);
	size_t had_uses = x->g.uses.n;
	rc = rc < 0 ? rc : 1;
	for (uint32_t k = 0; rc == 1 && k < g->naccess; k++) {
		struct gaccess *a = &x->g.accesses.v[x->g.by_file[g->first_access + k]];
		rc = outside ? fast_outside(v, a, g->kind == TERM_kind_absent, &changed) : fast_read(x, row, v, a, &changed);
	}
	if (rc == 0) {
		undo(x, file);
		x->g.uses.n = had_uses;
	}
	if (rc == 1 && changed && versions_put(x, row, f->id, v) < 0)
		rc = -ENOMEM;
	if (rc == 1)
		f->version_changed = changed;
	return rc;
}

/* By its number in the log. NULL: it is not among the accesses in memory. */
static const struct gaccess *find_access(const struct ix *x, uint32_t session, uint64_t seq)
{
	size_t lo = 0, hi = x->g.accesses.n; /* read session by session, each by seq */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct gaccess *a = &x->g.accesses.v[mid];
		if (a->session < session || (a->session == session && a->seq < seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct gaccess *a = lo < x->g.accesses.n ? &x->g.accesses.v[lo] : NULL;
	return a && a->session == session && a->seq == seq ? a : NULL;
}

/* What an access counted for before its end was told, against what it counts for now. */
static bool counts_otherwise(const struct ix *x, const struct ix_section *sec, const struct pacc *p)
{
	const uint32_t counts = GACCESS_KEPT | GACCESS_READS | GACCESS_WRITES;
	const struct gaccess *now = &x->g.accesses.v[ix_reopened(x, map_get(&x->session_rows, sec->session), p->seq)];
	return (layout_get(p->bits, LAYOUT_FLAGS, 12) ^ now->flags) & counts;
}

/* An access that counted, and does not any more, now that its session is known further, takes with it what followed
 * from it. */
static void check_dropped(struct ix *x)
{
	for (size_t i = 0; i < x->loaded.n; i++)
		for (size_t k = 0; k < x->loaded.v[i].sections.n; k++) {
			const struct ix_section *sec = &x->loaded.v[i].sections.v[k];
			for (uint32_t a = sec->first; a < sec->first + sec->count; a++) {
				const struct pacc *p = &x->paccs.v[a];
				if (p->reopened && counts_otherwise(x, sec, p))
					x->files.v[map_get(&x->file_rows, p->file)].slow = true;
				if (!sec->replaced)
					continue;
				if (!(layout_get(p->bits, LAYOUT_FLAGS, 12) & GACCESS_KEPT))
					continue;
				const struct gaccess *now = find_access(x, map_get(&x->session_rows, sec->session), p->seq);
				uint32_t file = map_get(&x->file_rows, p->file);
				if ((!now || !(now->flags & GACCESS_KEPT)) && file != VEC_NONE)
					x->files.v[file].slow = true;
			}
		}
}

/* ---- names that are gone ---- */

struct lost {
	struct ix *x;
	const struct ix_loaded_path *p;
	uint64_t file; /* row */
	bool found;
	struct ids kept; /* files that the path still names, some time */
};

static int compare_rows(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return (a > b) - (a < b);
}

/* Called for each name of a path: is it still a name of that file? arg: a struct lost. Always 0. */
static int match_lost_name(void *arg, const struct pname *n)
{
	struct lost *l = arg;
	l->found |= n->file == l->file;
	return 0;
}

/* Does some name at the path, as it is now, name the file? 0, -errno. */
int ix_names_file(struct ix *x, uint32_t node, uint32_t file, bool *ret)
{
	uint32_t at = x->nodes.v[node].loaded;
	const struct ix_loaded_path *p = at == VEC_NONE ? NULL : &x->paths.v[at];
	*ret = false;
	if (p && (p->dirty || p->nname)) {
		for (size_t i = 0; i < p->nname; i++)
			*ret |= x->path_names.v[p->first_name + i].file == file;
		if (*ret || !p->appended)
			return 0;
	}
	struct lost l = {x, NULL, x->files.v[file].id, false};
	int rc = read_names(x->s, x->nodes.v[node].id, match_lost_name, &l, x->err);
	*ret = l.found;
	return rc < 0 ? rc : 0;
}

/* What the names that the file has now say of it: those of its row, and those found now. 0, -errno. */
static int flags_of_names(struct ix *x, uint32_t file, unsigned *ret)
{
	const struct ix_row *row = x->files.v[file].row == VEC_NONE ? NULL : &x->rows.v[x->files.v[file].row];
	size_t known = row ? row->f.paths.n : 0, first = ix_pairs_from(x->named.v, x->named.n, file), end = first;
	*ret = 0;
	while (end < x->named.n && x->named.v[end].a == file)
		end++;
	for (size_t i = 0; i < known + (end - first); i++) {
		uint32_t at;
		bool named = false;
		int rc = ix_node_of(
		    x, i < known ? x->rows.v[x->files.v[file].row].f.paths.v[i] : x->named.v[first + i - known].b, &at);
		if (rc == 0)
			rc = ix_names_file(x, at, file, &named);
		if (rc < 0)
			return rc;
		*ret |= named ? names_flags(&x->g, at) : 0;
	}
	return 0;
}

struct old_names {
	VEC(struct pname) v;
};

/* Called for each name of a path: collects it. 0, -ENOMEM. arg: a struct old_names, which gets a copy. */
static int add_old_name(void *arg, const struct pname *n)
{
	struct old_names *to = arg;
	struct pname *slot = vec_add(&to->v);
	if (!slot)
		return -ENOMEM;
	*slot = *n;
	return 0;
}

/* For a name n that the store had: if the replay left its file without a name at this path, marks the file so that
 * another name of it is shown, and makes its flags anew. 0, -errno. */
static int remove_late_name(const struct lost *l, const struct pname *n)
{
	struct ix *x = l->x;
	uint32_t file, node = l->p->node;
	unsigned flags;
	if (l->kept.n && bsearch(&n->file, l->kept.v, l->kept.n, sizeof(n->file), compare_rows))
		return 0;
	int rc = ix_file_of(x, n->file, &file);
	if (rc < 0)
		return rc;
	x->files.v[file].named = true; /* the name it shows may be another */
	if ((names_flags(&x->g, node) & GFILE_CACHE) ||
	    str_ends(intern_get(&x->g.words, x->g.paths.list.v[node].base), str_of(".py")))
		x->files.v[file].slow = true;
	rc = flags_of_names(x, file, &flags);
	if (rc < 0)
		return rc;
	uint16_t *had = &x->g.files.v[file].flags;
	x->files.v[file].slow |= (*had & GFILE_BY_NAME) != flags;
	*had = (uint16_t)((*had & ~GFILE_BY_NAME) | flags);
	return 0;
}

/* Calls remove_late_name for each name that the store has of a path, which was replayed from all its facts. names:
 * room, which has the store's names then. 0, -errno with a sentence. */
static int check_lost_names(struct ix *x, const struct ix_loaded_path *p, struct old_names *names)
{
	struct lost l = {.x = x, .p = p};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->nname; i++)
		rc = ids_add(&l.kept, x->files.v[x->path_names.v[p->first_name + i].file].id);
	ids_sort(&l.kept);
	names->v.n = 0;
	if (rc == 0)
		rc = read_names(x->s, x->nodes.v[p->node].id, add_old_name, names, x->err);
	for (size_t i = 0; rc == 0 && i < names->v.n; i++)
		rc = remove_late_name(&l, &names->v.v[i]);
	free(l.kept.v);
	return rc == -ENOMEM ? ix_oom(x) : rc;
}

/* Checks the paths that are read anew for names that are lost; what is appended to a path takes none back. 0, -errno
 * with a sentence. */
static int check_lost(struct ix *x)
{
	struct old_names names = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->paths.n; i++) {
		struct ix_loaded_path copy = x->paths.v[i]; /* the loaded paths may move */
		if (copy.dirty && !copy.appended && !x->nodes.v[copy.node].is_new)
			rc = check_lost_names(x, &copy, &names);
	}
	vec_release(&names.v);
	return rc;
}

int ix_choose(struct ix *x)
{
	int lost = check_lost(x);
	if (lost < 0)
		return lost;
	check_dropped(x);
	struct versions versions = {0};
	for (uint32_t i = 0; i < x->files.n; i++) {
		struct ix_file *f = &x->files.v[i];
		const struct gfile *g = &x->g.files.v[i];
		if (f->row == VEC_NONE)
			continue;
		uint64_t was = x->rows.v[f->row].f.flags & GFILE_BY_NAME;
		f->slow |= (g->flags & GFILE_BY_NAME & ~was) != 0;
		if (g->naccess == 0 && !f->old_touched)
			continue;
		if (f->slow)
			continue;
		int rc = try_fast(x, i, &versions);
		if (rc < 0) {
			versions_release(&versions);
			return rc;
		}
		x->files.v[i].fast = rc == 1;
		x->files.v[i].slow = rc == 0;
	}
	versions_release(&versions);
	/* A name that makes it a source, or a name of a cache, can change derivations. */
	for (size_t i = 0; i < x->named.n; i++) {
		struct ix_file *f = &x->files.v[x->named.v[i].a];
		uint32_t node = map_get(&x->node_rows, x->named.v[i].b);
		struct str base = intern_get(&x->g.words, x->g.paths.list.v[node].base);
		if (f->row == VEC_NONE || f->slow)
			continue;
		bool known = false;
		const struct ids *paths = &x->rows.v[f->row].f.paths;
		for (size_t k = 0; k < paths->n; k++)
			known |= paths->v[k] == x->named.v[i].b;
		if (!known && (str_ends(base, str_of(".py")) || (names_flags(&x->g, node) & GFILE_CACHE))) {
			undo(x, (uint32_t)x->named.v[i].a);
			f->slow = true;
			f->fast = false;
		}
	}
	return 0;
}
