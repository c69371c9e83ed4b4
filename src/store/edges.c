/* edges.c - what an execution used and made, what a version came from, and the reverse. */
#include "store/adjacency/adjacency.h"

#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>

bool edge_is_client(const struct edge *e)
{
	return e->via == TERM_via_socket && e->api == TERM_api_connect;
}

/* e is empty then. */
void edges_release(struct edges *e)
{
	free(e->v);
	*e = (struct edges){0};
}

int edges_add(struct edges *e, const struct edge *one)
{
	struct edge *p = vec_add(e);
	if (!p)
		return -ENOMEM;
	*p = *one;
	return 0;
}

/* Appends an edge to be filled in. NULL without memory; valid until the next is appended. */
static struct edge *edges_append_empty(struct edges *e)
{
	struct edge *p = vec_add(e);
	if (p)
		*p = (struct edge){.count = 1};
	return p;
}

/* By what it leads to. */
static int edge_cmp(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	return (a->to > b->to) - (a->to < b->to);
}

void edge_fold(struct edge *to, const struct edge *from)
{
	if (gaccess_names_edge(from->via, from->api, to->via, to->api)) {
		to->via = from->via;
		to->api = from->api;
	}
	to->sure |= from->sure;
	to->folded &= from->folded;
	to->bears &= from->bears;
	to->part = to->part == from->part ? to->part : 0;
	to->mode |= from->mode;
	to->reading = from->reading > to->reading ? from->reading : to->reading;
	to->lo = from->lo < to->lo ? from->lo : to->lo;
	to->hi = from->hi > to->hi ? from->hi : to->hi;
	to->over = from->over > to->over ? from->over : to->over;
	to->count += from->count;
	to->bytes += from->bytes;
	to->has_bytes &= from->has_bytes; /* what is known of a part is not known of the whole */
}

/* By what it leads to, and by which process of the execution. */
static int compare_edges_by_part(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	return a->to != b->to ? edge_cmp(a, b) : (a->part > b->part) - (a->part < b->part);
}

/* Does any of them tell which process of an execution it was? */
static bool have_parts(const struct edges *e)
{
	size_t i = 0;
	while (i < e->n && !e->v[i].part)
		i++;
	return i < e->n;
}

/* Where there are parts, and they are asked for, each has an edge of its own. False: there are none. */
static bool fold_edges_by_part(struct edges *e)
{
	size_t kept = 1;
	if (!e->parts || !have_parts(e))
		return false;
	qsort(e->v, e->n, sizeof(*e->v), compare_edges_by_part);
	for (size_t i = 1; i < e->n; i++) {
		if (!compare_edges_by_part(&e->v[i], &e->v[kept - 1]))
			edge_fold(&e->v[kept - 1], &e->v[i]);
		else
			e->v[kept++] = e->v[i];
	}
	e->n = kept;
	return true;
}

/* Several edges to one thing are one (doc/graph.md, rules 5 and 7). */
static void fold_edges_by_target(struct edges *e)
{
	if (fold_edges_by_part(e))
		return;
	bool sorted = true;
	for (size_t i = 1; i < e->n; i++)
		sorted = sorted && e->v[i - 1].to < e->v[i].to;
	if (sorted)
		return;
	if (e->n <= 24) { /* few, and seldom the same: sorting would cost more than looking */
		size_t kept = 1;
		for (size_t i = 1; i < e->n; i++) {
			size_t k = 0;
			while (k < kept && e->v[k].to != e->v[i].to)
				k++;
			if (k < kept)
				edge_fold(&e->v[k], &e->v[i]);
			else if (kept++ != i)
				e->v[k] = e->v[i];
		}
		e->n = kept;
		return;
	}
	qsort(e->v, e->n, sizeof(*e->v), edge_cmp);
	size_t kept = 1;
	for (size_t i = 1; i < e->n; i++) {
		if (e->v[i].to == e->v[kept - 1].to)
			edge_fold(&e->v[kept - 1], &e->v[i]);
		else
			e->v[kept++] = e->v[i];
	}
	e->n = kept;
}

/* ---- accesses ---- */

/* Of a stream, an inherited descriptor's access is sure only where it is known that it read (doc/graph.md, "Facts"). A
 * regular file (STATE) is sure to be a program's standard input, and whether the program read it nobody saw. */
static uint8_t access_reading(const struct pacc *a)
{
	unsigned mode = layout_get(a->bits, LAYOUT_MODE, 8);
	if (layout_get(a->bits, LAYOUT_READ_BYTES, 1) && a->bytes_read)
		return TERM_reading_counted;
	unsigned api = (unsigned)layout_get(a->bits, LAYOUT_API, 4);
	if (mode & ACCESS_PROGRAM || api == TERM_api_hdf5 || api == TERM_api_mpi)
		return TERM_reading_read;
	if (layout_get(a->bits, LAYOUT_VIA, 3) == TERM_via_descriptor && layout_get(a->bits, LAYOUT_SURE, 1) &&
	    !(mode & (ACCESS_WRITE | ACCESS_STATE)))
		return TERM_reading_read;
	return mode & ACCESS_MAPPED ? TERM_reading_mapped : TERM_reading_opened;
}

/* When the access ended at the latest, ns. As gaccess_over. */
static int64_t access_over(const struct pacc *a)
{
	if (!layout_get(a->bits, LAYOUT_EARLY, 1) || a->last == TIME_NONE || a->last >= a->to)
		return a->to;
	return a->last > a->start ? a->last : a->start;
}

/* Appends the edges of an access. uses: an edge for each version that it may have read, else the one that it made.
 * 0, -ENOMEM. */
static int append_access_edges(struct edges *e, const struct pacc *a, bool uses, const struct ids *many)
{
	struct edge edge = {.part = a->part,
	                    .api = (uint8_t)layout_get(a->bits, LAYOUT_API, 4),
	                    .mode = (uint16_t)layout_get(a->bits, LAYOUT_MODE, 8),
	                    .lo = a->from,
	                    .hi = a->to,
	                    .count = a->count};
	if (!uses) {
		if (!a->gen)
			return 0;
		edge.to = version_id(a->file, a->gen);
		edge.over = access_over(a);
		if (!(layout_get(a->bits, LAYOUT_FLAGS, 12) &
		      GACCESS_KEPT)) { /* it had an empty version open, until it ended */
			edge.lo = a->start;
			edge.hi = edge.over = TIME_NEVER;
		}
		edge.via = (uint8_t)layout_get(a->bits, LAYOUT_GEN_VIA, 3);
		edge.sure = layout_get(a->bits, LAYOUT_FLAGS, 12) & GACCESS_GEN_MUST;
		edge.bytes = a->bytes_written;
		edge.has_bytes = layout_get(a->bits, LAYOUT_WRITTEN_BYTES, 1);
		struct edge *p = edges_append_empty(e);
		if (!p)
			return -ENOMEM;
		*p = edge;
		return 0;
	}
	edge.reading = access_reading(a);
	edge.bytes = a->bytes_read;
	edge.has_bytes = layout_get(a->bits, LAYOUT_READ_BYTES, 1);
	edge.via = (uint8_t)layout_get(a->bits, LAYOUT_USE_VIA, 3);
	edge.sure = a->nuse == 1 && (layout_get(a->bits, LAYOUT_FLAGS, 12) & GACCESS_USE_MUST);
	for (uint32_t k = 0; k < a->nuse; k++) {
		struct edge *p = edges_append_empty(e);
		if (!p)
			return -ENOMEM;
		edge.to = version_id(a->file, a->nuse == 1 ? a->use : many->v[a->use + k] >> 3);
		if (a->nuse > 1)
			edge.via = many->v[a->use + k] & 7;
		*p = edge;
	}
	return 0;
}

/* All edges of an execution, one for each version, into e, from its beginning. 0 or -errno. */
static int read_accesses(struct store *s, store_id exec, struct edges *e, bool uses)
{
	struct access_reader r;
	struct pacc a;
	e->n = 0;
	int rc = access_reader_begin(&r, s, exec);
	while (rc == 1 && (rc = access_reader_next(&r, &a)) == 1)
		if (append_access_edges(e, &a, uses, &s->reader->uses) < 0)
			rc = -ENOMEM;
	fold_edges_by_target(e);
	return rc;
}

/* The versions that it used. 0, -errno. */
int store_uses(struct store *s, store_id exec, struct edges *e)
{
	int rc = store_reader(s) ? adj_exec_edges(s, exec, ADJ_USES, e) : -ENOMEM;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return read_accesses(s, exec, e, true);
}

/* The versions that it made. 0, -errno. */
int store_outputs(struct store *s, store_id exec, struct edges *e)
{
	int rc = store_reader(s) ? adj_exec_edges(s, exec, ADJ_OUTPUTS, e) : -ENOMEM;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return read_accesses(s, exec, e, false);
}

/* ---- versions ---- */

struct edge edge_of_gen(const struct pgen *g)
{
	return (struct edge){.to = g->exec,
	                     .part = g->part,
	                     .sure = g->must,
	                     .has_bytes = g->has_bytes,
	                     .via = g->via,
	                     .api = g->api,
	                     .mode = g->mode,
	                     .lo = g->lo,
	                     .hi = g->hi,
	                     .over = g->over,
	                     .count = g->count,
	                     .bytes = g->bytes};
}

int store_gens(struct store *s, store_id version, struct edges *e)
{
	struct reader *r = store_reader(s);
	e->n = 0;
	int rc = r ? adj_version_gens(s, version, e) : -ENOMEM;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = read_version(s, version, &r->ver, NULL);
	for (size_t i = 0; rc == 1 && i < r->ver.gens.n; i++) {
		const struct pgen *g = &r->ver.gens.v[i];
		struct edge *p = edges_append_empty(e);
		if (!p)
			return -ENOMEM;
		*p = edge_of_gen(g);
	}
	if (have_parts(e))
		fold_edges_by_target(e);
	return rc < 0 ? rc : 0;
}

/* A derivation happened while the version was written. 0, -ENOMEM. */
static int add_derived(struct edges *e, uint64_t to, const struct pder *d, const struct pver *v)
{
	struct edge *p = edges_append_empty(e);
	if (!p)
		return -ENOMEM;
	p->to = to;
	p->sure = d->must;
	p->via = d->via;
	p->lo = v->start;
	p->hi = v->end;
	return 0;
}

/* The versions from which it came. 0, -errno. */
int store_derived(struct store *s, store_id version, struct edges *e)
{
	struct reader *r = store_reader(s);
	e->n = 0;
	int rc = r ? adj_version_derived(s, version, e) : -ENOMEM;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = read_version(s, version, &r->ver, NULL);
	for (size_t i = 0; rc == 1 && i < r->ver.ders.n; i++)
		if (add_derived(e, r->ver.ders.v[i].version, &r->ver.ders.v[i], &r->ver) < 0)
			return -ENOMEM;
	return rc < 0 ? rc : 0;
}

struct from {
	uint64_t of, file;
	struct edges *e;
};

/* Called for each version of a file: appends edges to versions that were derived from f->of. arg:
 * a struct from. 0, -ENOMEM. */
static int add_if_from(void *arg, uint32_t n, const struct pver *v)
{
	struct from *f = arg;
	for (size_t i = 0; i < v->ders.n; i++)
		if (v->ders.v[i].version == f->of && add_derived(f->e, version_id(f->file, n), &v->ders.v[i], v) < 0)
			return -ENOMEM;
	return 0;
}

/* Of its own file they are found by looking at that file's versions; of others they are listed. */
int store_derivatives(struct store *s, store_id version, struct edges *e)
{
	struct reader *r = store_reader(s);
	e->n = 0;
	if (!r)
		return -ENOMEM;
	struct from f = {version, version_file(version), e};
	int rc = read_versions(s, f.file, &r->ver, add_if_from, &f);
	r->ids.n = 0;
	if (rc >= 0)
		rc = lists_get(s, list_key(LIST_DERIVED, version), &r->ids);
	ids_sort(&r->ids);
	for (size_t i = 0; rc >= 0 && i < r->ids.n; i++) {
		f.file = version_file(r->ids.v[i]);
		rc = read_version(s, r->ids.v[i], &r->ver, NULL);
		if (rc == 1) /* the list may be older than the row */
			rc = add_if_from(&f, version_n(r->ids.v[i]), &r->ver);
	}
	return rc < 0 ? rc : 0;
}

/* What the execution used, in the reader. Kept as long as the view. 0, -errno. */
static int load_used(struct store *s, struct reader *r, store_id exec, bool parts)
{
	struct edges *e = &r->used.edges;
	if (s->viewing && r->used.exec == exec && e->parts == parts)
		return 0;
	r->used.exec = 0;
	e->parts = parts;
	int rc = store_uses(s, exec, e);
	if (rc < 0)
		return rc;
	r->used.exec = exec;
	r->used.sorted = true;
	for (size_t i = 1; i < e->n && r->used.sorted; i++)
		r->used.sorted = e->v[i - 1].to <= e->v[i].to;
	return 0;
}

/* Where those of the version may begin. */
static size_t first_used(const struct reader *r, store_id version)
{
	size_t lo = 0, hi = r->used.sorted ? r->used.edges.n : 0;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (r->used.edges.v[mid].to < version)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The executions that used it. 0, -errno. */
int store_readers(struct store *s, store_id version, struct edges *e)
{
	struct reader *r = store_reader(s);
	e->n = 0;
	if (!r)
		return -ENOMEM;
	int rc = adj_version_readers(s, version, &r->ids);
	if (rc == 0)
		rc = read_attached(s, version_file(version), version_n(version), &r->ids);
	for (size_t i = 0; rc >= 0 && i < r->ids.n; i++) {
		rc = load_used(s, r, r->ids.v[i], e->parts);
		for (size_t k = rc < 0 ? r->used.edges.n : first_used(r, version); k < r->used.edges.n; k++) {
			const struct edge *from = &r->used.edges.v[k];
			if (from->to != version && r->used.sorted)
				break;
			if (from->to != version)
				continue;
			struct edge *p = edges_append_empty(e);
			if (!p)
				return -ENOMEM;
			*p = *from;
			p->to = r->ids.v[i];
		}
	}
	return rc < 0 ? rc : 0;
}

/* ---- executions ---- */

#define INFORMED_MANY 24 /* from so many on they are looked up: a look-up costs as much as looking at so many */

/* Those that are added to e, which is empty at first. */
struct informed {
	struct edges *e;
	struct map at; /* target and via -> place, of all of them where they are many */
};

/* Pair and via as one number of a map. */
static uint64_t informed_key(uint64_t to, unsigned via)
{
	return to << 3 | via;
}

/* The place of the edge to that target by that via, VEC_NONE: there is none. */
static uint32_t find_informed(const struct informed *x, uint64_t to, unsigned via)
{
	if (x->e->n >= INFORMED_MANY)
		return map_get(&x->at, informed_key(to, via));
	for (size_t i = 0; i < x->e->n; i++)
		if (x->e->v[i].to == to && x->e->v[i].via == via)
			return (uint32_t)i;
	return VEC_NONE;
}

/* One edge for each pair and via, however often it is told. 0, -ENOMEM. */
static int add_informed(struct informed *x, uint64_t to, bool sure, unsigned via, int64_t lo, int64_t hi)
{
	struct edges *e = x->e;
	struct edge one = {.to = to, .sure = sure, .via = (uint8_t)via, .lo = lo, .hi = hi, .count = 1};
	uint32_t at = find_informed(x, to, via);
	if (at != VEC_NONE) { /* several of one pair and via are one */
		one.count = 0;
		edge_fold(&e->v[at], &one);
		return 0;
	}
	if (edges_add(e, &one) < 0)
		return -ENOMEM;
	for (size_t i = e->n == INFORMED_MANY ? 0 : e->n - 1; e->n >= INFORMED_MANY && i < e->n; i++)
		if (!map_set(&x->at, informed_key(e->v[i].to, e->v[i].via), (uint32_t)i))
			return -ENOMEM;
	return 0;
}

/* The earliest moment of the fork, where it is known. ns. */
static int64_t forked_at(const struct pproc_fork *f)
{
	return f->forked != TIME_NONE ? f->forked : f->time;
}

/* Links go both ways. 0, -errno. Adds to e what execution n is linked with; `other` is read over. */
static int add_links(struct store *s, const struct process_view *v, uint32_t n, struct process_view *other,
                     struct informed *e)
{
	const struct view_exec *own = view_exec(v, n);
	for (size_t i = 0; own && i < v->links.n; i++) {
		const struct pproc_link *l = &v->links.v[i];
		if (l->n != n)
			continue;
		int64_t hi = own->end;
		int rc = exec_process(l->other) == v->id ? 1 : read_process_edges(s, exec_process(l->other), other);
		const struct view_exec *x =
		    rc == 1 ? view_exec(exec_process(l->other) == v->id ? v : other, exec_n(l->other)) : NULL;
		if (x && x->end < hi)
			hi = x->end;
		if (hi < l->time)
			hi = l->time;
		if (rc < 0 || (rc = add_informed(e, l->other, l->sure, (unsigned)l->via, l->time, hi)) < 0)
			return rc;
	}
	return 0;
}

/* The image of the same process that was exchanged for execution n by an exec, or (later) that took its place. Adds it
 * to e, if there is one. 0, -ENOMEM. */
static int add_next_image(const struct process_view *v, uint32_t n, bool later, struct informed *e)
{
	for (size_t i = 1; i < v->execs.n; i++) {
		const struct view_exec *before = &v->execs.v[i - 1], *after = &v->execs.v[i];
		const struct view_exec *own = later ? before : after, *other = later ? after : before;
		if (own->n == n)
			return add_informed(e, exec_id(v->id, other->n), false, TERM_via_fork, after->start, after->start);
	}
	return 0;
}

/* The executions that forked the process r->told_a. 0, -errno. */
static int add_parents(struct store *s, struct reader *r, struct informed *e)
{
	for (size_t i = 0; i < r->told_a.forks.n; i++) {
		const struct pproc_fork *f = &r->told_a.forks.v[i].fact;
		if (!f->parent)
			continue;
		bool self = f->parent == r->told_a.id;
		int rc = self ? 1 : read_process_edges(s, f->parent, &r->told_b);
		uint64_t from = rc == 1 ? exec_id(f->parent, view_exec_at(self ? &r->told_a : &r->told_b, f->time)->n) : 0;
		if (from && from != exec_id(r->told_a.id, 0))
			rc = add_informed(e, from, true, TERM_via_fork, forked_at(f), f->time);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What execution n of r->a forked. 0, -errno. */
static int add_children(struct store *s, struct reader *r, uint32_t n, struct informed *e)
{
	r->ids.n = 0;
	int rc = lists_get(s, list_key(LIST_CHILD, r->told_a.id), &r->ids);
	ids_sort(&r->ids);
	for (size_t i = 0; rc >= 0 && i < r->ids.n; i++) {
		bool self = r->ids.v[i] == r->told_a.id;
		rc = self ? 1 : read_process_edges(s, r->ids.v[i], &r->told_b);
		const struct process_view *child = self ? &r->told_a : &r->told_b;
		for (size_t k = 0; rc == 1 && k < child->forks.n; k++) {
			const struct pproc_fork *f = &child->forks.v[k].fact;
			if (f->parent != r->told_a.id || view_exec_at(&r->told_a, f->time)->n != n || (self && n == 0))
				continue;
			if (add_informed(e, exec_id(child->id, 0), true, TERM_via_fork, forked_at(f), f->time) < 0)
				rc = -ENOMEM;
		}
	}
	return rc < 0 ? rc : 0;
}

/* The executions that informed it. 0, -errno. */
int store_informed(struct store *s, store_id exec, struct edges *e)
{
	struct reader *r = store_reader(s);
	struct informed x = {.e = e};
	e->n = 0;
	int rc = r ? read_process_edges(s, exec_process(exec), &r->told_a) : -ENOMEM;
	if (rc <= 0)
		return rc;
	rc = exec_n(exec) == 0 ? add_parents(s, r, &x) : 0;
	if (rc == 0)
		rc = add_next_image(&r->told_a, exec_n(exec), false, &x);
	if (rc == 0)
		rc = add_links(s, &r->told_a, exec_n(exec), &r->told_b, &x);
	map_release(&x.at);
	return rc;
}

/* The executions that it informed. 0, -errno. */
int store_informs(struct store *s, store_id exec, struct edges *e)
{
	struct reader *r = store_reader(s);
	struct informed x = {.e = e};
	e->n = 0;
	int rc = r ? read_process_edges(s, exec_process(exec), &r->told_a) : -ENOMEM;
	if (rc <= 0)
		return rc;
	rc = add_next_image(&r->told_a, exec_n(exec), true, &x);
	if (rc == 0)
		rc = add_links(s, &r->told_a, exec_n(exec), &r->told_b, &x);
	if (rc == 0)
		rc = add_children(s, r, exec_n(exec), &x);
	map_release(&x.at);
	return rc;
}
