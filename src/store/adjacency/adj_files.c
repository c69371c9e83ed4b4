/* adj_files.c - the rows of segments that are files: their versions, and what made and used each.
 *
 * Written by adj_put_file, of the index; read by the rest, which check every length and number: a segment may have come
 * with a record that somebody else made. */
#include "store/adjacency/adjacency.h"

#include <errno.h>
#include <stdlib.h>

enum { FILE_KIND = 0, FILE_CLASS = 5, FILE_READERS = 8 };
enum { ADJV_ORIGIN = 0, ADJV_HOLLOW = 2, ADJV_GENS = 3, ADJV_DERS = 4, ADJV_READERS = 5 };

/* What a file's versions were derived from. A derivation holds as long as the version was written. */
static void adj_put_derived(struct buf *out, int64_t base, uint64_t file, const struct pver *v)
{
	buf_zigzag(out, time_sub(v->start, base));
	buf_zigzag(out, time_sub(v->end, v->start));
	buf_varint(out, v->ders.n);
	for (size_t i = 0; i < v->ders.n; i++) {
		const struct pder *d = &v->ders.v[i];
		buf_varint(out, (uint64_t)d->via << 1 | d->must);
		buf_zigzag(out, time_sub((int64_t)version_file(d->version), (int64_t)file));
		buf_varint(out, version_n(d->version));
	}
}

/* A row that is being written. */
struct adj_file_put {
	struct store *s;
	uint64_t id;
	const struct ids *readers; /* exec, n; NULL: they are not told */
	struct buf *out, one, part;
	struct edges edges;
	bool fits;
};

/* Who used version n. */
static void adj_put_readers(struct adj_file_put *p, uint32_t n)
{
	uint64_t count = 0, before = 0;
	for (size_t i = 0; i < p->readers->n; i += 2)
		count += p->readers->v[i + 1] == n;
	buf_varint(&p->part, count);
	for (size_t i = 0; i < p->readers->n; i += 2)
		if (p->readers->v[i + 1] == n) {
			buf_varint(&p->part, exec_process(p->readers->v[i]) - before);
			buf_varint(&p->part, exec_n(p->readers->v[i]));
			before = exec_process(p->readers->v[i]);
		}
}

/* Has version n a reader, among those of p? */
static bool adj_is_read(const struct adj_file_put *p, uint32_t n)
{
	for (size_t i = 0; p->readers && i < p->readers->n; i += 2)
		if (p->readers->v[i + 1] == n)
			return true;
	return false;
}

/* Edges that made it, as store_gens gives them. 0, -ENOMEM. p->fits becomes false where a segment cannot hold them. */
static int adj_put_gens(struct adj_file_put *p, const struct pver *v)
{
	p->edges.n = 0;
	for (size_t i = 0; i < v->gens.n; i++) {
		const struct pgen *g = &v->gens.v[i];
		struct edge e = edge_of_gen(g);
		int rc = edges_add(&p->edges, &e);
		if (rc < 0)
			return rc;
	}
	buf_reset(&p->part);
	p->fits = p->fits && adj_put_edges(&p->part, ADJ_GENS, p->s->base, &p->edges);
	adj_put_part(&p->one, &p->part);
	return 0;
}

/* Called for each version: appends what walks ask of it to p. 0 or -errno. */
static int adj_put_version(void *arg, uint32_t n, const struct pver *v)
{
	struct adj_file_put *p = arg;
	const bool hollow = v->flags >> PVER_HOLLOW & 1, read = adj_is_read(p, n);
	int rc = 0;
	buf_reset(&p->one);
	buf_varint(&p->one, (uint64_t)pver_known_origin(v) << ADJV_ORIGIN | (uint64_t)hollow << ADJV_HOLLOW |
	                        (uint64_t)(v->gens.n > 0) << ADJV_GENS | (uint64_t)(v->ders.n > 0) << ADJV_DERS |
	                        (uint64_t)read << ADJV_READERS);
	if (hollow)
		buf_zigzag(&p->one, time_sub(v->end, p->s->base));
	if (v->gens.n)
		rc = adj_put_gens(p, v);
	if (v->ders.n) {
		buf_reset(&p->part);
		adj_put_derived(&p->part, p->s->base, p->id, v);
		adj_put_part(&p->one, &p->part);
	}
	if (read) {
		buf_reset(&p->part);
		adj_put_readers(p, n);
		adj_put_part(&p->one, &p->part);
	}
	adj_put_part(p->out, &p->one);
	return rc < 0 ? rc : p->one.failed || p->part.failed ? -ENOMEM : 0;
}

/* Order of qsort. */
static int compare_adj_readers(const void *pa, const void *pb)
{
	const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return (a > b) - (a < b);
}

/* Those who used its versions, execution and number, by execution. 1, 0 they are told elsewhere, -errno. */
static int adj_readers_of(struct str rd, uint64_t flags, struct ids *ret)
{
	struct cur c = cur_of(rd);
	struct prd last = {0}, r;
	int rc = 0;
	ret->n = 0;
	if (flags & PFILE_SPILLED)
		return 0;
	while ((rc = prd_next(&c, &last, &r)) == 1) {
		if (r.n && (ids_add(ret, r.exec) < 0 || ids_add(ret, r.n) < 0))
			return -ENOMEM;
	}
	if (rc == 0 && ret->n)
		qsort(ret->v, ret->n / 2, 2 * sizeof(*ret->v), compare_adj_readers);
	for (size_t i = 2; i < ret->n; i += 2) /* each once, as read_attached has it */
		if (ret->v[i] == ret->v[i - 2] && ret->v[i + 1] == ret->v[i - 1])
			return 0;
	return rc < 0 ? rc : 1;
}

/* The file's own part. 1, 0 it does not fit, -errno. */
static int adj_put_file_head(struct store *s, uint64_t id, struct buf *out, struct ids *readers, bool *ret_readers)
{
	struct str row[FILE_PARTS];
	struct pfile identity;
	struct pfile_brief brief;
	struct buf path = {0};
	int rc = read_file_row(s, id, row);
	if (rc <= 0)
		return rc;
	rc = pfile_identity(row[FILE_INFO], &identity);
	if (rc == 0)
		rc = pfile_brief(row[FILE_INFO], &brief);
	if (rc < 0 || identity.flags & PFILE_MORE || brief.within || brief.kind > 31)
		return rc;
	rc = adj_readers_of(row[FILE_RD], identity.flags, readers);
	*ret_readers = rc == 1;
	if (rc >= 0)
		rc = read_brief_path(s, &brief, &path);
	if (rc >= 0)
		buf_varint(out, brief.kind << FILE_KIND |
		                    (uint64_t)store_version_class(brief.kind, buf_view(&path), NULL) << FILE_CLASS |
		                    (uint64_t)*ret_readers << FILE_READERS);
	buf_release(&path);
	return rc < 0 ? rc : 1;
}

int adj_put_file(struct store *s, uint64_t id, struct buf *out)
{
	struct ids readers = {0};
	struct pver v = {0};
	const size_t from = out->n;
	bool has_readers = false;
	int rc = adj_put_file_head(s, id, out, &readers, &has_readers);
	struct adj_file_put p = {.s = s, .id = id, .readers = has_readers ? &readers : NULL, .out = out, .fits = true};
	if (rc == 1)
		rc = read_versions(s, id, &v, adj_put_version, &p);
	if (rc < 0 || !p.fits || out->n == from)
		out->n = from;
	free(readers.v);
	pver_release(&v);
	buf_release(&p.one);
	buf_release(&p.part);
	edges_release(&p.edges);
	return rc < 0 ? rc : out->failed ? -ENOMEM : 0;
}

/* A version, as its file's row tells of it. */
struct adj_version {
	uint64_t kind; /* of the file */
	enum version_class class;
	bool has_readers; /* who used the file's versions is told */
	enum origin origin;
	bool hollow;
	int64_t end;                       /* where hollow */
	struct str gens, derived, readers; /* empty: none */
};

/* Finds the edges of a version in the files beside the index. 1; 0: the file's edges do not lie beside the index,
 * ask the rows; -errno. ret points into the mapped file. */
static int adj_version(struct store *s, store_id id, struct adj_version *ret)
{
	struct str row, one = {0};
	uint32_t n = version_n(id);
	int rc = n && n <= VERSIONS_INLINE ? adj_row(s, BLOCK_FILE, version_file(id), &row) : 0;
	if (rc <= 0)
		return rc;
	struct cur c = cur_of(row);
	const uint64_t head = cur_u(&c);
	for (; n && cur_more(&c); n--)
		one = cur_str(&c);
	if (c.bad || head >> (FILE_READERS + 1) || (head >> FILE_CLASS & 7) >= VERSION_CLASSES)
		return adj_drop(s, BLOCK_FILE, version_file(id));
	if (n) /* the file has no such version */
		return 0;
	c = cur_of(one);
	const uint64_t f = cur_u(&c);
	*ret = (struct adj_version){.kind = head >> FILE_KIND & 31,
	                            .class = (enum version_class)(head >> FILE_CLASS & 7),
	                            .has_readers = head >> FILE_READERS & 1,
	                            .origin = (enum origin)(f >> ADJV_ORIGIN & 3),
	                            .hollow = f >> ADJV_HOLLOW & 1};
	if (ret->hollow)
		ret->end = time_add(s->base, cur_z(&c));
	if (f >> ADJV_GENS & 1)
		ret->gens = cur_str(&c);
	if (f >> ADJV_DERS & 1)
		ret->derived = cur_str(&c);
	if (f >> ADJV_READERS & 1)
		ret->readers = cur_str(&c);
	if (c.bad || c.p != c.end || f >> (ADJV_READERS + 1) || ret->origin > ORIGIN_EXTERNAL)
		return adj_drop(s, BLOCK_FILE, version_file(id));
	return 1;
}

int adj_version_judged(struct store *s, store_id id, struct version_judged *ret)
{
	struct adj_version v;
	int rc = adj_version(s, id, &v);
	if (rc == 1)
		*ret = (struct version_judged){version_file(id), v.origin, v.kind, v.class, v.hollow, v.end};
	return rc;
}

int adj_version_gens(struct store *s, store_id id, struct edges *ret)
{
	struct adj_version v;
	int rc = adj_version(s, id, &v);
	if (rc == 1 && (rc = adj_get_edges(v.gens, ADJ_GENS, s->base, ret)) == 0)
		return adj_drop(s, BLOCK_FILE, version_file(id));
	return rc;
}

int adj_version_derived(struct store *s, store_id id, struct edges *ret)
{
	struct adj_version v;
	int rc = adj_version(s, id, &v);
	ret->n = 0;
	if (rc <= 0 || !v.derived.n)
		return rc;
	struct cur c = cur_of(v.derived);
	const int64_t start = time_add(s->base, cur_z(&c)), end = time_add(start, cur_z(&c));
	for (uint64_t n = cur_u(&c); n && !c.bad; n--) {
		const uint64_t f = cur_u(&c);
		const uint64_t file = (uint64_t)time_add((int64_t)version_file(id), cur_z(&c));
		const struct edge e = {.to = version_id(file, cur_u(&c) & VERSION_MAX),
		                       .sure = f & 1,
		                       .via = f >> 1 & 7,
		                       .lo = start,
		                       .hi = end,
		                       .count = 1};
		if (!c.bad && edges_add(ret, &e) < 0)
			return -ENOMEM;
	}
	if (!c.bad && c.p == c.end)
		return 1;
	ret->n = 0;
	return adj_drop(s, BLOCK_FILE, version_file(id));
}

int adj_version_readers(struct store *s, store_id id, struct ids *ret)
{
	struct adj_version v;
	int rc = adj_version(s, id, &v);
	ret->n = 0;
	if (rc <= 0 || !v.has_readers || !v.readers.n)
		return rc <= 0 ? rc : v.has_readers;
	struct cur c = cur_of(v.readers);
	uint64_t process = 0;
	for (uint64_t n = cur_u(&c); n && !c.bad; n--) {
		process += cur_u(&c);
		if (ids_add(ret, exec_id(process, cur_u(&c) & ((1u << EXEC_BITS) - 1))) < 0)
			return -ENOMEM;
	}
	if (!c.bad && c.p == c.end)
		return 1;
	ret->n = 0;
	return adj_drop(s, BLOCK_FILE, version_file(id));
}
