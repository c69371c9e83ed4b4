/* resolve.c - files that are not regular, and what is decided after all files: caches and locks (B14). */
#include "graph/resolve_int.h"

#include <errno.h>
#include <stdlib.h>

struct gversion *resolve_version(struct resolver *r)
{
	struct gfile *f = &r->g->files.v[r->file];
	struct gversion *v = vec_add(&r->g->versions);
	if (!v)
		return NULL;
	*v = (struct gversion){.file = r->file,
	                       .n = ++f->nversion,
	                       .mtime = TIME_NONE,
	                       .first_gen = (uint32_t)r->g->gens.n,
	                       .first_der = (uint32_t)r->g->ders.n};
	return v;
}

/* Compares two generations by execution, and by which of its processes. */
static int compare_gens_by_exec(const void *pa, const void *pb)
{
	const struct ggen *a = pa, *b = pb;
	if (a->exec != b->exec)
		return a->exec < b->exec ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

int resolve_gens(struct resolver *r, struct gversion *v, const uint32_t *acc, size_t n)
{
	struct graph *g = r->g;
	v->first_gen = (uint32_t)g->gens.n;
	if (!vec_room(&g->gens, n))
		return -ENOMEM;
	struct ggen *out = g->gens.v + g->gens.n;
	size_t m = 0;
	for (size_t i = 0; i < n; i++) {
		const struct gaccess *a = &g->accesses.v[acc[i]];
		if (a->gen != v->n)
			continue;
		const bool held = !(a->flags & GACCESS_KEPT); /* it wrote nothing, all the time that there was */
		struct gspan span = held ? (struct gspan){a->start, TIME_NEVER} : gaccess_span(g, a);
		out[m++] = (struct ggen){.exec = a->exec,
		                         .part = a->part,
		                         .via = a->gen_via,
		                         .api = a->api,
		                         .must = a->flags & GACCESS_GEN_MUST,
		                         .has_bytes = a->flags & GACCESS_WRITTEN_BYTES,
		                         .mode = a->mode,
		                         .lo = span.from,
		                         .hi = span.to,
		                         .over = held ? TIME_NEVER : gaccess_over(g, a),
		                         .count = a->count,
		                         .bytes = a->bytes_written};
	}
	size_t kept = 0;
	if (m > 1)
		qsort(out, m, sizeof *out, compare_gens_by_exec);
	for (size_t i = 0; i < m; i++) {
		struct ggen *to = &out[kept - (kept > 0)];
		if (!kept || to->exec != out[i].exec || to->part != out[i].part) {
			out[kept++] = out[i];
			continue;
		}
		if (gaccess_names_edge(out[i].via, out[i].api, to->via, to->api)) {
			to->via = out[i].via;
			to->api = out[i].api;
		}
		to->must |= out[i].must;
		to->mode |= out[i].mode;
		to->lo = out[i].lo < to->lo ? out[i].lo : to->lo;
		to->hi = out[i].hi > to->hi ? out[i].hi : to->hi;
		to->over = out[i].over > to->over ? out[i].over : to->over;
		to->count += out[i].count;
		to->bytes += out[i].bytes;
		to->has_bytes &= out[i].has_bytes; /* what is known of a part is not known of the whole */
	}
	g->gens.n += kept;
	v->ngen = (uint32_t)kept;
	return 0;
}

/* Whether an execution reads, of these accesses, what no other one writes. */
static bool reads_unobserved_peer(const struct resolver *r, size_t from, size_t to)
{
	uint32_t writer = VEC_NONE;
	bool many = false;
	for (size_t k = from; k < to; k++) {
		const struct gaccess *a = &r->g->accesses.v[r->acc[k]];
		if (!(a->flags & GACCESS_WRITES))
			continue;
		many |= writer != VEC_NONE && writer != a->exec;
		writer = a->exec;
	}
	for (size_t k = from; !many && k < to; k++) {
		const struct gaccess *a = &r->g->accesses.v[r->acc[k]];
		if ((a->flags & GACCESS_READS) && (writer == VEC_NONE || writer == a->exec))
			return true;
	}
	return false;
}

/* What is outside, or is not there: one version without content. Of a terminal that is what was typed. 0, -ENOMEM. */
static int resolve_external(struct resolver *r, unsigned kind)
{
	struct gversion *v = NULL;
	bool absent = kind == TERM_kind_absent;
	for (size_t k = 0; k < r->nacc; k++) {
		struct gaccess *a = &r->g->accesses.v[r->acc[k]];
		if (!(a->flags & GACCESS_KEPT) || (kind == TERM_kind_terminal && !(a->flags & GACCESS_READS)))
			continue;
		if (!v) {
			if (!(v = resolve_version(r)))
				return -ENOMEM;
			v->origin = GORIGIN_EXTERNAL;
			v->unobserved = true;
			v->start = v->end = a->start;
		}
		if ((a->flags & GACCESS_READS) || absent) {
			a->nuse = 1;
			a->use = v->n;
			a->use_via = a->via;
			if (a->sure || absent)
				a->flags |= GACCESS_USE_MUST;
		}
	}
	return 0;
}

/* Does access a count in a stream? What is shown on a terminal is not what is typed there: its reads do not see its
 * writes. */
static bool counts_in_stream(const struct gaccess *a, bool terminal)
{
	return (a->flags & GACCESS_KEPT) && (!terminal || a->flags & GACCESS_WRITES);
}

/* The end of the component that begins with the i-th access. *ret_alone: all of them only connected to a server that
 * nobody saw, each for itself. */
static size_t component_end(const struct resolver *r, size_t i, unsigned kind, bool *ret_alone)
{
	bool terminal = kind == TERM_kind_terminal, splits = kind == TERM_kind_fifo || terminal;
	bool socket = kind == TERM_kind_socket, any = false;
	bool served = false; /* somebody bound the address: it is not the next server's */
	int64_t end = INT64_MIN;
	*ret_alone = socket;
	for (; i < r->nacc; i++) {
		const struct gaccess *a = &r->g->accesses.v[r->acc[i]];
		if (!counts_in_stream(a, terminal))
			continue;
		bool binds = socket && a->api == TERM_api_bind;
		if (any && (splits || served || binds) && a->start >= end)
			break;
		any = true;
		served |= binds;
		*ret_alone &= a->api == TERM_api_connect;
		end = a->end > end ? a->end : end;
	}
	return i;
}

/* One version of the accesses from the from-th on. `to` is not among them. 0, -ENOMEM. */
static int resolve_component(struct resolver *r, size_t from, size_t to, unsigned kind)
{
	bool terminal = kind == TERM_kind_terminal;
	struct gversion *v = NULL;
	for (size_t k = from; k < to; k++) {
		struct gaccess *a = &r->g->accesses.v[r->acc[k]];
		if (!counts_in_stream(a, terminal))
			continue;
		if (!v) {
			if (!(v = resolve_version(r)))
				return -ENOMEM;
			v->origin = GORIGIN_EXTERNAL;
			v->session = gaccess_session(r->g, a);
			v->seq = gaccess_seq(r->g, a);
			v->told = a->flags & GACCESS_TOLD;
			v->start = a->start;
			v->end = a->end;
		}
		if (a->end > v->end)
			v->end = a->end;
		if (a->flags & GACCESS_WRITES) {
			v->origin = GORIGIN_OBSERVED;
			a->gen = v->n;
			a->gen_via = a->via;
			if (a->sure && a->evidence == TERM_evidence_must)
				a->flags |= GACCESS_GEN_MUST;
		}
		if (a->flags & GACCESS_READS && !terminal) {
			a->nuse = 1;
			a->use = v->n;
			a->use_via = a->via;
			if (a->sure)
				a->flags |= GACCESS_USE_MUST;
		}
	}
	int rc = v ? resolve_gens(r, v, r->acc + from, to - from) : 0;
	if (v && kind == TERM_kind_socket && reads_unobserved_peer(r, from, to))
		v->origin = GORIGIN_EXTERNAL;
	return rc;
}

/* Pipes, sockets, shared memory, FIFOs, terminals (B8). 0, -ENOMEM. */
static int resolve_stream(struct resolver *r, unsigned kind)
{
	int rc = kind == TERM_kind_terminal ? resolve_external(r, kind) : 0;
	for (size_t i = 0; i < r->nacc && rc == 0;) {
		bool alone;
		size_t end = component_end(r, i, kind, &alone);
		for (size_t k = i; alone && k < end && rc == 0; k++)
			rc = resolve_component(r, k, k + 1, kind);
		if (!alone)
			rc = resolve_component(r, i, end, kind);
		i = end;
	}
	return rc;
}

/* ---- after all files ---- */

/* Compares two derivations by file and version. */
static int der_cmp(const void *pa, const void *pb)
{
	const struct gder *a = pa, *b = pb;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->n > b->n) - (a->n < b->n);
}

/* Adds what execution x used of file `source`, begun by `until`, to ders. 0, -ENOMEM. */
static int cache_sources(struct graph *g, uint32_t x, uint32_t source, int64_t until)
{
	const struct gexec *e = &g->execs.v[x];
	for (uint32_t k = 0; k < e->naccess; k++) {
		const struct gaccess *a = &g->accesses.v[g->by_exec[e->first_access + k]];
		for (uint32_t u = 0; a->file == source && gaccess_span(g, a).from <= until && u < a->nuse; u++) {
			struct gder *d = vec_add(&g->ders);
			if (!d)
				return -ENOMEM;
			*d = (struct gder){source, a->nuse == 1 ? a->use : g->uses.v[a->use + u].version, TERM_via_cache, true};
		}
	}
	return 0;
}

/* A file that is made on the way (.pyc): its versions come from the source alone, and its accesses are via `cache`. 0,
 * -ENOMEM. */
static int resolve_cache(struct graph *g, uint32_t file)
{
	const struct gfile *f = &g->files.v[file];
	for (uint32_t k = 0; k < f->naccess; k++)
		g->accesses.v[g->by_file[f->first_access + k]].gen_via = TERM_via_cache;
	size_t lo = 0, hi = g->caches.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (g->caches.v[mid].cache < file)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = 0; i < f->nversion; i++) {
		struct gversion *v = &g->versions.v[f->first_version + i];
		uint32_t first = (uint32_t)g->ders.n;
		for (uint32_t k = 0; k < v->ngen; k++) {
			struct ggen *gen = &g->gens.v[v->first_gen + k];
			gen->via = TERM_via_cache;
			for (size_t c = lo; c < g->caches.n && g->caches.v[c].cache == file; c++)
				if (g->caches.v[c].source != file && cache_sources(g, gen->exec, g->caches.v[c].source, gen->hi) < 0)
					return -ENOMEM;
		}
		size_t n = g->ders.n - first, kept = n > 0;
		if (!n)
			continue;
		struct gder *d = g->ders.v + first;
		qsort(d, n, sizeof *d, der_cmp);
		for (size_t k = 1; k < n; k++)
			if (der_cmp(&d[k], &d[kept - 1]))
				d[kept++] = d[k];
		g->ders.n = first + kept;
		v->first_der = first;
		v->nder = (uint32_t)kept;
	}
	return 0;
}

/* Does version n (from 1) only coordinate: has it no bytes, or is the file a semaphore? */
static bool is_sync(const struct graph *g, const struct gfile *f, uint32_t n)
{
	const struct gversion *v = &g->versions.v[f->first_version + n - 1];
	return f->flags & GFILE_SEMAPHORE || (v->has_size && v->size == 0);
}

/* Edges of versions that only coordinate (is_sync: no bytes, or of a semaphore, whatever its size) are via `sync`. */
static void resolve_lock(struct graph *g, uint32_t file)
{
	const struct gfile *f = &g->files.v[file];
	for (uint32_t i = 0; i < f->nversion; i++) {
		const struct gversion *v = &g->versions.v[f->first_version + i];
		for (uint32_t k = 0; is_sync(g, f, i + 1) && k < v->ngen; k++)
			g->gens.v[v->first_gen + k].via = TERM_via_sync;
	}
	for (uint32_t k = 0; k < f->naccess; k++) {
		struct gaccess *a = &g->accesses.v[g->by_file[f->first_access + k]];
		if (a->gen && is_sync(g, f, a->gen))
			a->gen_via = TERM_via_sync;
		if (a->nuse == 1 && is_sync(g, f, a->use))
			a->use_via = TERM_via_sync;
		for (uint32_t u = 0; a->nuse > 1 && u < a->nuse; u++)
			if (is_sync(g, f, g->uses.v[a->use + u].version))
				g->uses.v[a->use + u].via = TERM_via_sync;
	}
}

int graph_resolve(struct graph *g)
{
	struct resolver r = {.g = g};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->files.n; i++) {
		struct gfile *f = &g->files.v[i];
		if (!(f->flags & GFILE_DIRTY))
			continue;
		f->first_version = (uint32_t)g->versions.n;
		f->nversion = 0;
		if (!f->kept)
			continue;
		r.file = (uint32_t)i;
		r.acc = g->by_file + f->first_access;
		r.nacc = f->naccess - f->twins;
		r.slack = f->domain != VEC_NONE && g->domains.v[f->domain].network && g->skew > 0
		              ? (g->skew > INT64_MAX / 2 ? INT64_MAX : 2 * g->skew)
		              : 0;
		if (gkind_has_versions(f->kind))
			rc = resolve_regular(&r);
		else if (gkind_is_stream(f->kind))
			rc = resolve_stream(&r, f->kind);
		else if (f->kind == TERM_kind_pseudo || f->kind == TERM_kind_absent)
			rc = resolve_external(&r, f->kind);
	}
	const unsigned cache = GFILE_DIRTY | GFILE_CACHE, lock = GFILE_LOCK | GFILE_SEMAPHORE;
	for (size_t i = 0; rc == 0 && i < g->files.n; i++) {
		const struct gfile *f = &g->files.v[i];
		if (f->kind != TERM_kind_regular)
			continue;
		if ((f->flags & cache) == cache)
			rc = resolve_cache(g, (uint32_t)i);
		if (f->flags & GFILE_DIRTY && f->flags & lock)
			resolve_lock(g, (uint32_t)i);
	}
	vec_release(&r.writes);
	vec_release(&r.reads);
	vec_release(&r.unobserved);
	table_release(&r.unobserved_table);
	vec_release(&r.versions);
	vec_release(&r.times);
	vec_release(&r.chain.found);
	table_release(&r.chain.table);
	vec_release(&r.starts);
	vec_release(&r.active);
	vec_release(&r.found);
	vec_release(&r.emptied);
	vec_release(&r.holders);
	vec_release(&r.holding);
	vec_release(&r.spans);
	vec_release(&r.groups);
	return rc;
}

/* Is there a version behind the read: one that it uses, or one that its own execution was writing meanwhile? */
static bool is_backed(const struct graph *g, const struct gfile *f, const struct gaccess *a)
{
	struct gspan at = gaccess_span(g, a);
	if (a->nuse)
		return true;
	for (uint32_t k = 0; k < f->naccess; k++) {
		const struct gaccess *w = &g->accesses.v[g->by_file[f->first_access + k]];
		struct gspan wt = gaccess_span(g, w);
		if (w->exec == a->exec && w->gen && wt.from < at.to && at.from < wt.to)
			return true;
	}
	return false;
}

size_t graph_count_unbacked(const struct graph *g, uint32_t *ret_first)
{
	size_t n = 0;
	for (size_t i = 0; i < g->files.n; i++) {
		const struct gfile *f = &g->files.v[i];
		for (uint32_t k = 0; gkind_has_versions(f->kind) && f->flags & GFILE_DIRTY && k < f->naccess; k++) {
			uint32_t at = g->by_file[f->first_access + k];
			const struct gaccess *a = &g->accesses.v[at];
			if (!(a->flags & GACCESS_READS) || is_backed(g, f, a))
				continue;
			*ret_first = n++ ? *ret_first : at;
		}
	}
	return n;
}
