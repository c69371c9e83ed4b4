#include "graph/graph.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

/* By time, then by session and number: as strcmp. */
int gkey_cmp(const struct gkey *a, const struct gkey *b)
{
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

bool gkind_has_names(unsigned kind)
{
	return kind == TERM_kind_regular || kind == TERM_kind_directory || kind == TERM_kind_symlink ||
	       gkind_is_object(kind);
}

bool gkind_has_versions(unsigned kind)
{
	return kind == TERM_kind_regular || (kind >= TERM_kind_group && kind <= TERM_kind_datatype) ||
	       kind == TERM_kind_xattr;
}

bool gkind_is_stream(unsigned kind)
{
	return kind == TERM_kind_fifo || kind == TERM_kind_pipe || kind == TERM_kind_socket || kind == TERM_kind_shm ||
	       kind == TERM_kind_terminal;
}

/* g is empty then. */
void graph_release(struct graph *g)
{
	intern_release(&g->words);
	paths_release(&g->paths);
	vec_release(&g->hosts);
	vec_release(&g->sessions);
	vec_release(&g->domains);
	vec_release(&g->files);
	vec_release(&g->procs);
	vec_release(&g->execs);
	vec_release(&g->pfacts);
	vec_release(&g->xfacts);
	vec_release(&g->exits);
	vec_release(&g->links);
	vec_release(&g->accesses);
	vec_release(&g->more);
	vec_release(&g->ios);
	vec_release(&g->fps);
	vec_release(&g->name_events);
	vec_release(&g->open_names);
	vec_release(&g->runs);
	vec_release(&g->run_ends);
	vec_release(&g->gaps);
	vec_release(&g->notes);
	vec_release(&g->summaries);
	vec_release(&g->reported);
	vec_release(&g->builds);
	vec_release(&g->tombs);
	free(g->by_file);
	free(g->by_exec);
	vec_release(&g->versions);
	vec_release(&g->gens);
	vec_release(&g->ders);
	vec_release(&g->uses);
	vec_release(&g->names);
	vec_release(&g->caches);
	table_release(&g->host_table);
	table_release(&g->domain_table);
	table_release(&g->file_table);
	table_release(&g->proc_table);
	table_release(&g->exec_table);
	map_release(&g->session_map);
	*g = (struct graph){0};
}

void graph_expect(struct graph *g, uint64_t events)
{
	if (events < 4096 || events > VEC_NONE / 2)
		return;
	/* Memory that is not used is not touched, and costs nothing. */
	(void)(vec_room(&g->accesses, events / 2) && vec_room(&g->fps, events / 4) &&
	       vec_room(&g->name_events, events / 8) && vec_room(&g->files, events / 8) &&
	       vec_room(&g->pfacts, events / 12) && vec_room(&g->xfacts, events / 12) && vec_room(&g->exits, events / 12) &&
	       vec_room(&g->procs, events / 12) && vec_room(&g->execs, events / 6));
}

/* Files the last element of a vector under hash; takes it back when the table cannot grow. */
#define FILED(g, vec, tab, hash)                                                                                       \
	(table_add(&(g)->tab, hash, (uint32_t)((g)->vec.n - 1)) ? (uint32_t)((g)->vec.n - 1)                               \
	                                                        : ((g)->vec.n--, (g)->failed = true, VEC_NONE))

/* The number of the host, made if need be. VEC_NONE: no memory, and g->failed; so in the four below, too. */
uint32_t graph_host(struct graph *g, uint32_t name, uint32_t boot)
{
	uint32_t id, hash = hash_fold(hash_mix(name, boot));
	for (size_t pos = TABLE_START; (id = table_next(&g->host_table, hash, &pos)) != VEC_NONE;)
		if (g->hosts.v[id].name == name && g->hosts.v[id].boot == boot)
			return id;
	struct ghost *h = vec_add(&g->hosts);
	if (!h) {
		g->failed = true;
		return VEC_NONE;
	}
	*h = (struct ghost){name, boot};
	return FILED(g, hosts, host_table, hash);
}

/* Made with a host without a name, until its session event comes. */
uint32_t graph_session(struct graph *g, uint64_t number)
{
	uint32_t id = map_get(&g->session_map, number);
	if (id != VEC_NONE)
		return id;
	uint32_t empty = intern_add(&g->words, str_of(""));
	uint32_t host = graph_host(g, empty, empty);
	struct gsession *s = vec_add(&g->sessions);
	if (!s || !map_set(&g->session_map, number, (uint32_t)(g->sessions.n - 1))) {
		if (s)
			g->sessions.n--;
		g->failed = true;
		return VEC_NONE;
	}
	*s = (struct gsession){.number = number, .host = host, .began = TIME_NONE};
	return (uint32_t)(g->sessions.n - 1);
}

/* The name is an interned string. */
uint32_t graph_domain(struct graph *g, uint32_t name)
{
	uint32_t id, hash = hash_fold(hash_mix(name, 1));
	for (size_t pos = TABLE_START; (id = table_next(&g->domain_table, hash, &pos)) != VEC_NONE;)
		if (g->domains.v[id].name == name)
			return id;
	struct gdomain *d = vec_add(&g->domains);
	if (!d) {
		g->failed = true;
		return VEC_NONE;
	}
	*d = (struct gdomain){.name = name};
	return FILED(g, domains, domain_table, hash);
}

uint32_t graph_file(struct graph *g, uint32_t domain, uint64_t ino, uint64_t gen, uint32_t path, bool *ret_new)
{
	if (domain == VEC_NONE) {
		ino = path;
		gen = 0;
	}
	uint32_t id, hash = hash_fold(hash_mix(hash_mix(ino, gen), domain));
	for (size_t pos = TABLE_START; (id = table_next(&g->file_table, hash, &pos)) != VEC_NONE;) {
		const struct gfile *f = &g->files.v[id];
		if (f->domain == domain && (domain == VEC_NONE ? f->path == path : f->ino == ino && f->gen == gen)) {
			if (ret_new)
				*ret_new = false;
			return id;
		}
	}
	struct gfile *f = vec_add(&g->files);
	if (!f) {
		g->failed = true;
		return VEC_NONE;
	}
	*f = (struct gfile){.domain = domain,
	                    .ino = ino,
	                    .gen = gen,
	                    .path = path,
	                    .kind_key = {INT64_MAX, UINT64_MAX, UINT64_MAX},
	                    .group = VEC_NONE,
	                    .within = VEC_NONE,
	                    .path_key = {INT64_MIN, 0, 0},
	                    .group_key = {INT64_MAX, UINT64_MAX, UINT64_MAX},
	                    .state_session = VEC_NONE,
	                    .state_fp = VEC_NONE};
	if (ret_new)
		*ret_new = true;
	return FILED(g, files, file_table, hash);
}

/* Made where it is new. VEC_NONE: no memory, and g->failed. */
uint32_t graph_exec(struct graph *g, uint32_t proc, uint32_t n)
{
	uint32_t id, hash = hash_fold(hash_mix(proc, n));
	for (size_t pos = TABLE_START; (id = table_next(&g->exec_table, hash, &pos)) != VEC_NONE;)
		if (g->execs.v[id].proc == proc && g->execs.v[id].n == n)
			return id;
	struct gexec *x = vec_add(&g->execs);
	if (!x) {
		g->failed = true;
		return VEC_NONE;
	}
	*x = (struct gexec){.proc = proc, .n = n, .next = VEC_NONE, .fact = VEC_NONE};
	id = FILED(g, execs, exec_table, hash);
	if (id == VEC_NONE)
		return id;
	struct gproc *p = &g->procs.v[proc];
	if (p->first_exec == VEC_NONE) {
		p->first_exec = p->last_exec = id;
	} else if (g->execs.v[p->last_exec].n < n) {
		g->execs.v[p->last_exec].next = id;
		p->last_exec = id;
	} else { /* an earlier one, which another session or a late frame tells of; 0 is always the first */
		uint32_t at = p->first_exec;
		while (g->execs.v[g->execs.v[at].next].n < n)
			at = g->execs.v[at].next;
		x->next = g->execs.v[at].next;
		g->execs.v[at].next = id;
	}
	return id;
}

uint32_t graph_proc(struct graph *g, uint32_t boot, uint64_t pidns, uint64_t pid, int64_t started, bool *ret_new)
{
	uint32_t id, hash = hash_fold(hash_mix(hash_mix(pid, (uint64_t)started), hash_mix(pidns, boot)));
	for (size_t pos = TABLE_START; (id = table_next(&g->proc_table, hash, &pos)) != VEC_NONE;) {
		const struct gproc *p = &g->procs.v[id];
		if (p->pid == pid && p->started == started && p->pidns == pidns && p->boot == boot) {
			if (ret_new)
				*ret_new = false;
			return id;
		}
	}
	struct gproc *p = vec_add(&g->procs);
	if (!p) {
		g->failed = true;
		return VEC_NONE;
	}
	*p = (struct gproc){.boot = boot,
	                    .pidns = pidns,
	                    .pid = pid,
	                    .started = started,
	                    .first_exec = VEC_NONE,
	                    .last_exec = VEC_NONE,
	                    .fact = VEC_NONE,
	                    .exit = VEC_NONE};
	id = FILED(g, procs, proc_table, hash);
	if (id == VEC_NONE || graph_exec(g, id, 0) == VEC_NONE)
		return VEC_NONE;
	if (ret_new)
		*ret_new = true;
	return id;
}

/* ---- settling ---- */

uint32_t graph_exec_at(const struct graph *g, uint32_t proc, int64_t t)
{
	uint32_t best = g->procs.v[proc].first_exec;
	bool found = false;
	for (uint32_t x = best; x != VEC_NONE; x = g->execs.v[x].next) {
		int64_t start = g->execs.v[x].start;
		if (start <= t && (!found || start >= g->execs.v[best].start)) {
			best = x;
			found = true;
		}
	}
	return best;
}

/* Decides what holds of each process. Of what was told of a process or execution several times the earliest holds
 * (gkey_cmp), whatever log came first. */
static void settle_processes(struct graph *g)
{
	for (size_t i = 0; i < g->pfacts.n; i++) {
		uint32_t *best = &g->procs.v[g->pfacts.v[i].proc].fact;
		if (*best == VEC_NONE || gkey_cmp(&g->pfacts.v[i].key, &g->pfacts.v[*best].key) < 0)
			*best = (uint32_t)i;
	}
	for (size_t i = 0; i < g->xfacts.n; i++) {
		uint32_t *best = &g->execs.v[g->xfacts.v[i].exec].fact;
		if (*best == VEC_NONE || gkey_cmp(&g->xfacts.v[i].key, &g->xfacts.v[*best].key) < 0)
			*best = (uint32_t)i;
	}
	for (size_t i = 0; i < g->exits.n; i++) {
		uint32_t *best = &g->procs.v[g->exits.v[i].proc].exit;
		if (*best == VEC_NONE || gkey_cmp(&g->exits.v[i].key, &g->exits.v[*best].key) < 0)
			*best = (uint32_t)i;
	}
	for (size_t i = 0; i < g->procs.n; i++) {
		const struct gproc *p = &g->procs.v[i];
		for (uint32_t x = p->first_exec; x != VEC_NONE; x = g->execs.v[x].next) {
			struct gexec *e = &g->execs.v[x];
			if (e->fact != VEC_NONE)
				e->start = g->xfacts.v[e->fact].key.time;
			else if (p->fact == VEC_NONE)
				e->start = TIME_NONE; /* cannot happen with facts from events */
			else if (g->pfacts.v[p->fact].forked != TIME_NONE)
				e->start = g->pfacts.v[p->fact].forked;
			else
				e->start = g->pfacts.v[p->fact].key.time;
		}
		for (uint32_t x = p->first_exec; x != VEC_NONE; x = g->execs.v[x].next) {
			struct gexec *e = &g->execs.v[x];
			if (e->next != VEC_NONE)
				e->end = g->execs.v[e->next].start;
			else
				e->end = p->exit != VEC_NONE ? g->exits.v[p->exit].key.time : TIME_NEVER;
		}
	}
}

/* Whether an access's own bytes say when it took place: what is mapped is read and written without a call. */
static bool is_exact(const struct graph *g, const struct gaccess *a)
{
	return a->flags & GACCESS_EXACT && gkind_has_versions(g->files.v[a->file].kind) &&
	       !(a->mode & (ACCESS_MAPPED | ACCESS_PROGRAM));
}

/* From the first to the last of the calls that moved bytes, where both are known, else from begin to end; one that
 * appends, creates or truncates begins at its open. gaccess_span_exact: never empty. */
struct gspan gaccess_span_exact(const struct graph *g, const struct gaccess *a)
{
	struct gspan s = {a->start, a->end};
	int64_t first = is_exact(g, a) ? g->more.v[a->more].first : TIME_NONE;
	if (first == TIME_NONE)
		return s;
	int64_t last = g->more.v[a->more].last;
	bool from_open =
	    a->flags & GACCESS_WRITES && (a->mode & ACCESS_APPEND || a->flags & (GACCESS_CREATES | GACCESS_TRUNCS));
	if (!from_open && first > s.from)
		s.from = first < s.to ? first : s.to - 1;
	if (last != TIME_NONE && last < s.to)
		s.to = last > s.from ? last : s.from + 1;
	return s;
}

bool gaccess_names_edge(unsigned via, unsigned api, unsigned other_via, unsigned other_api)
{
	if (via != other_via)
		return via < other_via;
	if ((api == TERM_api_connect) != (other_api == TERM_api_connect))
		return other_api == TERM_api_connect;
	return api < other_api;
}

int64_t gaccess_over(const struct graph *g, const struct gaccess *a)
{
	int64_t end = gaccess_span(g, a).to, last = a->flags & GACCESS_EARLY ? g->more.v[a->more].last : TIME_NONE;
	if (last == TIME_NONE || last >= end)
		return end;
	return last > a->start ? last : a->start;
}

/* Did it only set the file's times? */
static bool sets_times(const struct graph *g, const struct gaccess *a)
{
	const unsigned other = ACCESS_READ | ACCESS_WRITE | ACCESS_CREATE | ACCESS_TRUNC | ACCESS_MAPPED | ACCESS_PROGRAM;
	return a->via == TERM_via_data && (a->mode & ACCESS_STATE) && !(a->mode & other) && a->fps != VEC_NONE &&
	       a->fpe != VEC_NONE && g->fps.v[a->fps].size == g->fps.v[a->fpe].size && !(a->flags & GACCESS_ALIAS);
}

/* What of an access counts: as it was asked for at first, and less as more is known of it. */
struct settled {
	bool reads, writes;
	bool kept; /* it counts at all */
	bool seen; /* that it read was seen */
};

/* Notes that the access read nothing. Nothing was read; where nothing was written, nothing of the access is left. */
static void drop_reading(struct settled *s)
{
	s->reads = false;
	s->kept = s->writes;
}

/* What shows that it wrote, where it was not seen by its bytes: its end, or its beginning if that makes a file. */
static void settle_evidence(struct gaccess *a)
{
	const unsigned makes = ACCESS_CREATE | ACCESS_TRUNC | ACCESS_MAPPED;
	if (!(a->flags & GACCESS_ENDED) || a->evidence > TERM_evidence_must)
		a->evidence = TERM_evidence_may;
	if ((a->mode & makes) && a->via == TERM_via_data)
		a->evidence = TERM_evidence_must;
}

/* Decides what was done through a descriptor. Of a descriptor that was handed on: the bytes that were moved say
 * whether it was used. */
static void settle_descriptor(struct gaccess *a, struct settled *s)
{
	const bool mapped = a->mode & ACCESS_MAPPED;
	if ((a->flags & GACCESS_WRITTEN_BYTES) && a->bytes_written)
		a->evidence = TERM_evidence_must;
	else if ((a->flags & GACCESS_WRITTEN_BYTES) && !mapped && a->evidence == TERM_evidence_may)
		a->evidence = TERM_evidence_none;
	if (a->evidence == TERM_evidence_must)
		a->sure = 1;
	if (!(a->flags & GACCESS_READ_BYTES))
		return;
	s->seen = a->bytes_read;
	if (s->seen)
		a->sure = 1;
	else if (s->reads && !mapped)
		drop_reading(s);
}

/* Is it proved that nothing was read by what the access opened itself? */
static bool read_nothing(const struct gaccess *a)
{
	const bool tells = a->via == TERM_via_data || a->api == TERM_api_connect;
	return tells && (a->flags & GACCESS_READ_BYTES) && !a->bytes_read && !(a->mode & (ACCESS_MAPPED | ACCESS_PROGRAM));
}

/* Did it make or empty the file and write no byte of it? */
static bool only_opened(const struct gaccess *a, const struct settled *s)
{
	return s->writes && a->via == TERM_via_data && (a->mode & (ACCESS_CREATE | ACCESS_TRUNC)) &&
	       !(a->mode & ACCESS_MAPPED) && (a->flags & GACCESS_WRITTEN_BYTES) && !a->bytes_written;
}

/* The GACCESS_* bits that follow from all that was told of the access. */
static uint32_t settled_flags(const struct graph *g, const struct gaccess *a, const struct settled *s)
{
	uint32_t flags = (s->reads ? GACCESS_READS : 0) | (s->writes ? GACCESS_WRITES : 0) | (s->kept ? GACCESS_KEPT : 0) |
	                 (sets_times(g, a) ? GACCESS_TIMES : 0) | (only_opened(a, s) ? GACCESS_OPENED : 0);
	if (a->via == TERM_via_data && !(a->flags & GACCESS_ALIAS))
		flags |= (a->mode & ACCESS_CREATE ? GACCESS_CREATES : 0) | (a->mode & ACCESS_TRUNC ? GACCESS_TRUNCS : 0);
	return flags;
}

/* Which parts of an access count, and how surely (doc/graph.md, Facts). Idempotent. */
static void settle_access(const struct graph *g, struct gaccess *a)
{
	struct settled s = {.reads = a->mode & ACCESS_READ, .writes = a->mode & ACCESS_WRITE};
	const bool idle = is_exact(g, a) && g->more.v[a->more].first == TIME_NONE; /* it moved nothing */
	s.kept = s.reads || s.writes;
	settle_evidence(a);
	if (a->via == TERM_via_descriptor)
		settle_descriptor(a, &s);
	if (idle || read_nothing(a))
		drop_reading(&s);
	if (s.writes && (a->evidence == TERM_evidence_none || (idle && a->evidence == TERM_evidence_may))) {
		s.writes = false;
		if (s.reads)
			a->sure = s.seen;
		else
			s.kept = false;
	}
	a->flags &= ~(uint32_t)(GACCESS_READS | GACCESS_WRITES | GACCESS_KEPT | GACCESS_CREATES | GACCESS_TRUNCS |
	                        GACCESS_OPENED | GACCESS_TIMES);
	if (!(a->flags & GACCESS_TWIN))
		a->flags |= settled_flags(g, a, &s);
}

struct order {
	int64_t start;
	uint64_t session, seq;
	uint32_t access;
};

/* Compares two things that began by start, then by session and seq, so that it is the same in all indexes. */
static int compare_start_order(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Logs are nearly in time order, so most files' accesses are sorted when they come. 0; -1: no memory. */
static int sort_files(struct graph *g)
{
	VEC(struct order) o = {0};
	for (size_t i = 0; i < g->files.n; i++) {
		const struct gfile *f = &g->files.v[i];
		if (f->naccess < 2)
			continue;
		o.n = 0;
		if (!vec_room(&o, f->naccess)) {
			vec_release(&o);
			return -1;
		}
		bool sorted = true;
		uint32_t *at = g->by_file + f->first_access;
		for (size_t k = 0; k < f->naccess; k++) {
			const struct gaccess *a = &g->accesses.v[at[k]];
			o.v[k] = (struct order){a->start, gaccess_session(g, a), gaccess_seq(g, a), at[k]};
			sorted = sorted && (!k || compare_start_order(&o.v[k - 1], &o.v[k]) <= 0);
		}
		if (sorted)
			continue;
		qsort(o.v, f->naccess, sizeof *o.v, compare_start_order);
		for (size_t k = 0; k < f->naccess; k++)
			at[k] = o.v[k].access;
	}
	vec_release(&o);
	return 0;
}

struct duplicate {
	uint64_t session, seq; /* key */
	bool told;
	int64_t start;
	uint64_t own_session, own_seq;
	uint32_t access;
};

/* What is the same access, next to each other, the original before those that told of it. */
static int compare_duplicates(const void *pa, const void *pb)
{
	const struct duplicate *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->told != b->told)
		return a->told ? 1 : -1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->own_session != b->own_session)
		return a->own_session < b->own_session ? -1 : 1;
	return (a->own_seq > b->own_seq) - (a->own_seq < b->own_seq);
}

/* Is an access that was told without a key one of those that the record itself has? at: n accesses by start. */
static bool is_recorded_access(const struct graph *g, const uint32_t *at, uint32_t n, const struct gaccess *a)
{
	uint32_t lo = 0, hi = n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (g->accesses.v[at[mid]].start < a->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n && g->accesses.v[at[lo]].start == a->start; lo++) {
		const struct gaccess *own = &g->accesses.v[at[lo]];
		unsigned does = a->mode & (a->mode & ACCESS_WRITE ? ACCESS_WRITE : ACCESS_READ);
		if (!(own->flags & GACCESS_TOLD) && own->exec == a->exec && (own->mode & does) == does)
			return true;
	}
	return false;
}

/* Removes accesses that were recorded twice. Of a file's accesses with one key one counts: that which is not told,
 * else the first. Of what was told without a key none counts that the record itself has. The others go to the end.
 * 0; -1: no memory. */
static int drop_duplicates(struct graph *g, struct gfile *f)
{
	uint32_t *at = g->by_file + f->first_access, n = f->naccess;
	VEC(struct duplicate) v = {0};
	VEC(uint32_t) gone = {0};
	if (!vec_room(&v, n) || !vec_room(&gone, n)) {
		vec_release(&v);
		vec_release(&gone);
		return -1;
	}
	for (uint32_t k = 0; k < n; k++) {
		const struct gaccess *a = &g->accesses.v[at[k]];
		v.v[k] = (struct duplicate){.session = gaccess_session(g, a),
		                            .seq = gaccess_seq(g, a),
		                            .told = a->flags & GACCESS_TOLD,
		                            .start = a->start,
		                            .own_session = g->sessions.v[a->session].number,
		                            .own_seq = a->seq,
		                            .access = at[k]};
	}
	qsort(v.v, n, sizeof *v.v, compare_duplicates);
	for (uint32_t k = 0; k < n; k++) {
		struct gaccess *a = &g->accesses.v[v.v[k].access];
		bool again = k && v.v[k].session == v.v[k - 1].session && v.v[k].seq == v.v[k - 1].seq;
		if (!again && !(v.v[k].told && v.v[k].session == TOLD_WITHOUT_KEY && is_recorded_access(g, at, n, a)))
			continue;
		f->kept -= (a->flags & GACCESS_KEPT) != 0;
		a->flags |= GACCESS_TWIN;
		settle_access(g, a);
	}
	uint32_t kept = 0;
	for (uint32_t k = 0; k < n; k++)
		if (g->accesses.v[at[k]].flags & GACCESS_TWIN)
			gone.v[gone.n++] = at[k];
		else
			at[kept++] = at[k];
	for (uint32_t k = 0; k < gone.n; k++)
		at[kept + k] = gone.v[k];
	f->twins = (uint32_t)gone.n;
	vec_release(&v);
	vec_release(&gone);
	return 0;
}

int graph_finish(struct graph *g)
{
	if (g->failed)
		return -ENOMEM;
	settle_processes(g);
	size_t n = g->accesses.n;
	free(g->by_file);
	free(g->by_exec);
	g->by_file = malloc((n + 1) * sizeof *g->by_file);
	g->by_exec = malloc((n + 1) * sizeof *g->by_exec);
	if (!g->by_file || !g->by_exec)
		return -ENOMEM;
	for (size_t i = 0; i < g->files.n; i++) {
		struct gfile *f = &g->files.v[i];
		f->naccess = f->kept = f->twins = 0;
		if ((f->flags & GFILE_TOLD) && f->group != VEC_NONE)
			g->files.v[f->group].flags |= GFILE_TOLD; /* an alias's accesses are the other's */
	}
	for (size_t i = 0; i < g->execs.n; i++)
		g->execs.v[i].naccess = 0;
	for (size_t i = 0; i < n; i++) {
		struct gaccess *a = &g->accesses.v[i];
		if (!(a->flags & GACCESS_UNTIL))
			a->end = g->execs.v[a->exec].end;
		if (a->end <= a->start)
			a->end = a->start < INT64_MAX ? a->start + 1 : INT64_MAX;
		uint32_t group = g->files.v[a->self].group;
		a->file = group == VEC_NONE ? a->self : group;
		a->flags = (a->flags & ~(uint32_t)GACCESS_ALIAS) | (group == VEC_NONE ? 0 : GACCESS_ALIAS);
		if (g->files.v[a->file].flags & GFILE_TOLD)
			a->flags &= ~(uint32_t)GACCESS_TWIN; /* found anew */
		settle_access(g, a);
		g->files.v[a->file].naccess++;
		g->files.v[a->file].kept += (a->flags & GACCESS_KEPT) != 0;
		g->execs.v[a->exec].naccess++;
	}
	uint32_t at = 0;
	for (size_t i = 0; i < g->files.n; i++) {
		g->files.v[i].first_access = at;
		at += g->files.v[i].naccess;
		g->files.v[i].naccess = 0;
	}
	at = 0;
	for (size_t i = 0; i < g->execs.n; i++) {
		g->execs.v[i].first_access = at;
		at += g->execs.v[i].naccess;
		g->execs.v[i].naccess = 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct gaccess *a = &g->accesses.v[i];
		struct gfile *f = &g->files.v[a->file];
		struct gexec *x = &g->execs.v[a->exec];
		g->by_file[f->first_access + f->naccess++] = (uint32_t)i;
		g->by_exec[x->first_access + x->naccess++] = (uint32_t)i;
	}
	if (sort_files(g) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < g->files.n; i++)
		if ((g->files.v[i].flags & GFILE_TOLD) && g->files.v[i].naccess > 1 && drop_duplicates(g, &g->files.v[i]) < 0)
			return -ENOMEM;
	return 0;
}

uint64_t graph_digest_key(const struct event_digest *d)
{
	const uint64_t numbers[4] = {d->ino, d->gen, d->size, (uint64_t)d->mtime};
	uint64_t h = hash_more(hash_bytes(d->domain.p, d->domain.n), numbers, sizeof(numbers));
	return h ? h : 1;
}
