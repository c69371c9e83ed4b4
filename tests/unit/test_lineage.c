/* The walk over a graph that is made here: this file is the store. */
#include "base/os/system.h"
#include "query/lineage/lineage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX 64

struct link {
	store_id from, to; /* from the later to the earlier thing */
	struct edge e;
};
struct store {
	struct link gens[1024], uses[1024], derived[1024], informed[1024];
	size_t n_gens, n_uses, n_derived, n_informed;
	const char *path[MAX]; /* of version i; its file has the same id */
	uint64_t kind[MAX];
	enum origin origin[MAX];
	store_id script[MAX]; /* of execution i */
	const char *host[MAX];
	struct str argv; /* of all */
};

static int fill(const struct link *l, size_t n, store_id id, bool reverse, struct edges *e)
{
	e->n = 0;
	for (size_t i = 0; i < n; i++) {
		if ((reverse ? l[i].to : l[i].from) != id)
			continue;
		if (e->n == e->cap) {
			e->cap = e->cap ? e->cap * 2 : 8;
			e->v = realloc(e->v, e->cap * sizeof(*e->v));
			assert_non_null(e->v);
		}
		e->v[e->n] = l[i].e;
		e->v[e->n++].to = reverse ? l[i].from : l[i].to;
	}
	return 0;
}

int store_gens(struct store *s, store_id id, struct edges *e)
{
	return fill(s->gens, s->n_gens, id, false, e);
}
int store_outputs(struct store *s, store_id id, struct edges *e)
{
	return fill(s->gens, s->n_gens, id, true, e);
}
int store_uses(struct store *s, store_id id, struct edges *e)
{
	return fill(s->uses, s->n_uses, id, false, e);
}
int store_io(struct store *s, store_id exec, struct ios *ret)
{
	(void)s, (void)exec, (void)ret; /* nothing was counted */
	return 0;
}

void ios_release(struct ios *l)
{
	(void)l;
}

int store_readers(struct store *s, store_id id, struct edges *e)
{
	return fill(s->uses, s->n_uses, id, true, e);
}
int store_derived(struct store *s, store_id id, struct edges *e)
{
	return fill(s->derived, s->n_derived, id, false, e);
}
int store_derivatives(struct store *s, store_id id, struct edges *e)
{
	return fill(s->derived, s->n_derived, id, true, e);
}
int store_informed(struct store *s, store_id id, struct edges *e)
{
	return fill(s->informed, s->n_informed, id, false, e);
}
int store_informs(struct store *s, store_id id, struct edges *e)
{
	return fill(s->informed, s->n_informed, id, true, e);
}

int store_version(struct store *s, store_id id, struct version_info *ret)
{
	*ret = (struct version_info){.id = id, .file = id, .n = 1, .origin = s->origin[id]};
	return 1;
}

int store_file(struct store *s, store_id id, struct file_info *ret)
{
	*ret = (struct file_info){.id = id, .path = str_of(s->path[id] ? s->path[id] : "/home/u/x")};
	ret->kind = s->kind[id] ? s->kind[id] : TERM_kind_regular;
	return 1;
}

int store_has_objects(struct store *s)
{
	(void)s;
	return 0;
}

int store_objects_by_name(struct store *s, store_id file, struct str inner, store_id *ret, size_t max)
{
	(void)s, (void)file, (void)inner, (void)ret, (void)max;
	return 0;
}

int store_object_named_until(struct store *s, store_id object, struct str inner, int64_t *ret, bool *ret_other)
{
	(void)s, (void)object, (void)inner, (void)ret, (void)ret_other;
	return 0;
}

/* What only records with objects are asked for. */
int store_named_at(struct store *s, store_id file, struct str path, int64_t t)
{
	(void)s, (void)file, (void)path, (void)t;
	return 0; /* what folding asks of memory that has no name any more */
}

int store_version_file(struct store *s, store_id id, store_id *ret)
{
	(void)s, (void)id, (void)ret;
	return 0;
}

int store_exec_brief(struct store *s, store_id id, struct exec_brief *ret)
{
	(void)s, (void)id, (void)ret;
	return 0;
}

int store_run_told(struct store *s, store_id id, struct run_info *ret)
{
	(void)s, (void)id, (void)ret;
	return 0;
}

int store_exec_at(struct store *s, uint64_t session, uint64_t pid, int64_t started, int64_t t, store_id *ret)
{
	(void)s, (void)session, (void)pid, (void)started, (void)t, (void)ret;
	return 0;
}

int store_file_by_identity(struct store *s, struct str domain, uint64_t ino, uint64_t gen, store_id *ret)
{
	(void)s, (void)domain, (void)ino, (void)gen, (void)ret;
	return 0;
}

int store_reported(struct store *s, store_id run, uint64_t kind, struct reported_list *ret)
{
	(void)s, (void)run, (void)kind, (void)ret;
	return 0;
}

int store_digests(struct store *s, const struct event_digest *like, struct reported_list *ret)
{
	(void)s, (void)like, (void)ret;
	return 0;
}

int store_object_first_name(struct store *s, store_id object, struct buf *ret)
{
	(void)s, (void)object, (void)ret;
	return 0;
}

void reported_list_release(struct reported_list *l)
{
	(void)l;
}

int store_version_of(struct store *s, store_id file, uint64_t n, store_id *ret)
{
	(void)s, (void)file, (void)n, (void)ret;
	return 0;
}

void edge_fold(struct edge *to, const struct edge *from)
{
	to->sure |= from->sure;
	to->folded &= from->folded;
	to->lo = from->lo < to->lo ? from->lo : to->lo;
	to->hi = from->hi > to->hi ? from->hi : to->hi;
	to->over = from->over > to->over ? from->over : to->over;
}

int edges_add(struct edges *e, const struct edge *one)
{
	(void)e, (void)one;
	return -ENOMEM;
}

int store_version_sort(struct store *s, store_id id, struct version_sort *ret)
{
	struct file_info f;
	store_file(s, id, &f);
	*ret = (struct version_sort){.file = id, .origin = s->origin[id], .kind = f.kind, .path = f.path};
	return 1;
}

int store_version_judged(struct store *s, store_id id, const char *extra, struct version_judged *ret)
{
	struct version_sort v;
	store_version_sort(s, id, &v);
	*ret = (struct version_judged){
	    .file = v.file, .origin = v.origin, .kind = v.kind, .class = store_version_class(v.kind, v.path, extra)};
	return 1;
}

int store_exec_script(struct store *s, store_id id, store_id *ret)
{
	struct exec_info x;
	int r = store_exec(s, id, &x);
	if (r > 0)
		*ret = x.script;
	return r;
}

void store_expect(struct store *s, store_id id, bool exec, bool next)
{
	(void)s, (void)id, (void)exec, (void)next;
}

int store_view_begin(struct store *s, unsigned blocks)
{
	(void)s, (void)blocks;
	return 0;
}

void store_view_end(struct store *s)
{
	(void)s;
}

int store_exec(struct store *s, store_id id, struct exec_info *ret)
{
	*ret = (struct exec_info){.id = id, .script = s->script[id], .host = str_of(s->host[id])};
	ret->argv = (struct strlist){.items = &s->argv, .count = s->argv.n ? 1 : 0};
	return 1;
}

/* All are called `fit`, which submits nothing, and none is of a job. */
int store_exec_sort(struct store *s, store_id id, struct exec_sort *ret)
{
	(void)s, (void)id;
	*ret = (struct exec_sort){.n = 1, .command = 5};
	return 1;
}

int store_command(struct store *s, const struct exec_sort *x, struct str *ret)
{
	(void)s, (void)x;
	*ret = str_of("fit");
	return 0;
}

/* Who submitted a job is found by going through all executions; there is no job here. */
struct sqlite3 *store_sqlite(struct store *s)
{
	(void)s;
	fail_msg("no execution is of a job");
	return NULL;
}

/* Here lists are arrays. */
bool strlist_next(const struct strlist *l, size_t *pos, struct str *ret)
{
	if (*pos >= l->count)
		return false;
	*ret = l->items[(*pos)++];
	return true;
}

void edges_release(struct edges *e)
{
	free(e->v);
	*e = (struct edges){0};
}

static struct store *S;

static struct link *join(struct link *l, size_t *n, store_id from, store_id to, int64_t lo, int64_t hi)
{
	assert_true(*n < 1024);
	l[*n] = (struct link){from, to, {.sure = true, .lo = lo, .hi = hi, .over = hi}};
	return &l[(*n)++];
}
static struct link *gen(store_id v, store_id x, int64_t lo, int64_t hi)
{
	return join(S->gens, &S->n_gens, v, x, lo, hi);
}
static struct link *use(store_id x, store_id v, int64_t lo)
{
	return join(S->uses, &S->n_uses, x, v, lo, lo + 1);
}
static struct link *derive(store_id v, store_id from)
{
	return join(S->derived, &S->n_derived, v, from, 0, 0);
}
static struct link *inform(store_id x, store_id by, int64_t lo, int64_t hi)
{
	return join(S->informed, &S->n_informed, x, by, lo, hi);
}

static struct lineage L;

static void walk(store_id root, struct lineage_options o)
{
	struct err err = {0};
	struct lineage only = {0};
	lineage_release(&L);
	assert_int_equal(lineage_walk(S, &root, 1, &o, &err, &L), 0);
	/* Who asks for the nodes alone gets the same ones. */
	o.nodes = true;
	assert_int_equal(lineage_walk(S, &root, 1, &o, &err, &only), 0);
	assert_int_equal(only.n_nodes, L.n_nodes);
	assert_int_equal(only.n_edges, 0);
	assert_int_equal(only.cut, L.cut);
	assert_memory_equal(only.omitted, L.omitted, sizeof(L.omitted));
	for (size_t i = 0; i < L.n_nodes; i++) {
		assert_int_equal(only.nodes[i].id, L.nodes[i].id);
		assert_int_equal(only.nodes[i].exec, L.nodes[i].exec);
		assert_int_equal(only.nodes[i].depth, L.nodes[i].depth);
		assert_int_equal(only.nodes[i].n, 0);
	}
	lineage_release(&only);
}

static const struct lineage_node *node(store_id id, bool exec)
{
	const struct lineage_node *found = NULL;
	for (size_t i = 0; i < L.n_nodes; i++)
		if (L.nodes[i].id == id && L.nodes[i].exec == exec) {
			assert_null(found);
			found = &L.nodes[i];
		}
	return found;
}

static int setup(void **state)
{
	(void)state;
	S = calloc(1, sizeof(*S));
	return !S;
}

static int teardown(void **state)
{
	(void)state;
	lineage_release(&L);
	free(S);
	return 0;
}

/* ---- what is followed ---- */

static void chain(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	use(1, 2, 5);
	gen(2, 2, 1, 4);
	use(2, 3, 0);
	walk(1, (struct lineage_options){0});
	assert_int_equal(L.n_nodes, 5);
	assert_int_equal(L.n_edges, 4);
	assert_int_equal(L.nodes[0].id, 1);
	assert_int_equal(node(3, false)->depth, 2);
	for (size_t i = 0; i < L.n_nodes; i++)
		for (uint32_t k = 0; k < L.nodes[i].n; k++) {
			const struct lineage_edge *e = &L.edges[L.nodes[i].first + k];
			assert_int_equal(e->from, i);
			assert_int_equal(e->type, L.nodes[i].exec ? LINEAGE_USED : LINEAGE_GENERATED);
		}
	walk(3, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_int_equal(L.n_nodes, 5);
	assert_non_null(node(1, false));
	assert_int_equal(L.edges[L.nodes[0].first].to, 0);
}

/* What is sure from one of the roots is sure, whichever it is. */
static void many_roots(void **state)
{
	struct lineage_options o = {0};
	struct err err = {0};
	const store_id roots[] = {1, 2, 1};
	bool sure[MAX];
	(void)state;
	gen(1, 1, 10, 20);
	use(1, 3, 5)->e.sure = false;
	gen(2, 2, 10, 20);
	use(2, 4, 5);
	assert_int_equal(lineage_walk(S, roots, 3, &o, &err, &L), 0);
	assert_int_equal(L.n_roots, 2);
	assert_int_equal(L.n_nodes, 6);
	assert_int_equal(lineage_certain(S, &L, &o, &err, sure), 0);
	for (size_t i = 0; i < L.n_nodes; i++)
		assert_int_equal(sure[i], L.nodes[i].exec || L.nodes[i].id != 3);
}

static void input_read_after_the_last_write_is_no_input(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	use(1, 2, 20);
	use(1, 3, 21);
	walk(1, (struct lineage_options){0});
	assert_non_null(node(2, false));
	assert_null(node(3, false));
	walk(3, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_null(node(1, false));
	walk(2, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_non_null(node(1, false));
}

static void bound_goes_back_through_a_log_file(void **state)
{
	(void)state;
	/* 2 is appended to for long; what went in after 1 was written did not reach 1. */
	gen(1, 1, 10, 20);
	use(1, 2, 15);
	gen(2, 2, 1, 100);
	use(2, 3, 12);
	use(2, 4, 50);
	walk(1, (struct lineage_options){0});
	assert_non_null(node(3, false));
	assert_null(node(4, false));
	walk(4, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_non_null(node(2, false));
	assert_null(node(1, false));
}

static void later_arrival_looks_again(void **state)
{
	(void)state;
	/* 5 is reached soon with an early bound, and on a longer way with a late one, which alone allows 6. */
	gen(1, 1, 90, 100);
	use(1, 2, 80);
	gen(2, 2, 1, 10);
	use(2, 5, 5);
	use(1, 3, 80);
	gen(3, 3, 60, 70);
	use(3, 4, 50);
	derive(4, 5);
	gen(5, 5, 1, 65);
	use(5, 6, 40);
	walk(1, (struct lineage_options){0});
	assert_non_null(node(6, false));
	size_t edges = 0;
	for (size_t i = 0; i < L.n_nodes; i++)
		edges += L.nodes[i].n;
	assert_int_equal(edges, L.n_edges);
	assert_int_equal(L.n_edges, 10);
}

static void other_clock_is_given_the_skew(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	use(1, 2, 15);
	gen(2, 2, 22, 30);
	use(2, 3, 24);
	use(2, 4, 25);
	S->host[1] = "a";
	S->host[2] = "b";
	walk(1, (struct lineage_options){0});
	assert_null(node(2, true));
	walk(1, (struct lineage_options){.skew = 2});
	assert_non_null(node(2, true));
	assert_non_null(node(3, false));
	assert_null(node(4, false));
	walk(3, (struct lineage_options){.skew = 2, .direction = LINEAGE_DOWN});
	assert_non_null(node(1, false));
	walk(4, (struct lineage_options){.skew = 2, .direction = LINEAGE_DOWN});
	assert_null(node(1, false));
	S->host[2] = "a";
	walk(1, (struct lineage_options){.skew = 2});
	assert_null(node(2, true));
}

static void depth_counts_executions_and_passes_streams(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	use(1, 2, 5);
	S->kind[2] = TERM_kind_pipe;
	gen(2, 2, 4, 19);
	use(2, 3, 3);
	gen(3, 3, 0, 1);
	walk(1, (struct lineage_options){.depth = 1});
	assert_non_null(node(3, false));
	assert_null(node(3, true));
	assert_true(L.cut);
	assert_int_equal(node(3, false)->depth, 1);
	walk(1, (struct lineage_options){.depth = 2});
	assert_non_null(node(3, true));
	assert_false(L.cut);
}

static void only_possible_fork_and_shm_wait_to_be_asked_for(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	inform(1, 2, 9, 9)->e.via = TERM_via_fork;
	S->informed[0].e.sure = false;
	use(2, 2, 8);
	use(2, 3, 10);
	struct link *l = use(1, 4, 9);
	l->e.via = TERM_via_shm;
	l->e.sure = false;
	walk(1, (struct lineage_options){0});
	assert_int_equal(L.n_nodes, 2);
	assert_int_equal(L.omitted[OMIT_fork], 1);
	assert_int_equal(L.omitted[OMIT_shm], 1);
	walk(1, (struct lineage_options){.fork = true});
	assert_non_null(node(2, false));
	assert_null(node(3, false)); /* read after the fork */
	assert_non_null(node(4, false));
	S->informed[0].e.sure = true; /* forked without exec */
	walk(1, (struct lineage_options){0});
	assert_non_null(node(2, false));
	walk(1, (struct lineage_options){.certain = true, .fork = true});
	assert_null(node(4, false));
	assert_int_equal(L.omitted[OMIT_uncertain], 1);
}

static void coordination_is_left_out(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	use(1, 2, 5)->e.via = TERM_via_sync;
	walk(1, (struct lineage_options){0});
	assert_null(node(2, false));
	assert_int_equal(L.omitted[OMIT_sync], 1);
	walk(1, (struct lineage_options){.all = true});
	assert_non_null(node(2, false));
}

static void cache_leads_to_its_source_alone(void **state)
{
	(void)state;
	S->path[2] = "/home/u/__pycache__/m.pyc";
	gen(1, 1, 10, 20);
	use(1, 2, 5);
	gen(2, 2, 1, 2)->e.via = TERM_via_cache;
	derive(2, 3)->e.via = TERM_via_cache;
	use(2, 3, 0);
	use(2, 4, 0);
	walk(1, (struct lineage_options){0});
	assert_non_null(node(3, false));
	assert_non_null(node(2, true));
	assert_null(node(4, false));
	assert_int_equal(L.omitted[OMIT_cache], 1);
	walk(4, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_null(node(1, false));
	walk(3, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_non_null(node(1, false));
	walk(1, (struct lineage_options){.all = true});
	assert_non_null(node(4, false));
}

static void machine_and_program_text_are_folded(void **state)
{
	(void)state;
	gen(1, 1, 10, 20);
	const char *paths[] = {[2] = "/usr/lib/libc.so.6",   [3] = "/etc/passwd",
	                       [4] = "/home/u/in",           [5] = "/home/u/prog",
	                       [6] = "/home/u/built",        [7] = "/home/u/script.sh",
	                       [8] = "/usr/share/ref/hg.fa", [9] = "/usr/share/locale/x",
	                       [10] = "/home/u/gone",        [11] = "/dev/null"};
	for (store_id v = 2; v <= 11; v++) {
		S->path[v] = paths[v];
		S->origin[v] = ORIGIN_EXTERNAL;
		use(1, v, 5)->e.mode = v >= 5 && v <= 7 ? ACCESS_PROGRAM : 0;
	}
	use(1, 2, 6); /* twice: one version */
	S->origin[6] = ORIGIN_OBSERVED;
	S->script[1] = 7;
	S->kind[10] = TERM_kind_absent;
	S->kind[11] = TERM_kind_pseudo;
	S->argv = str_of("--ref=/usr/share/ref/hg.fa");
	walk(1, (struct lineage_options){0});
	assert_null(node(2, false));
	assert_null(node(3, false));
	assert_non_null(node(4, false));
	assert_null(node(5, false));
	assert_non_null(node(6, false));
	assert_non_null(node(7, false));
	assert_non_null(node(8, false));
	assert_null(node(9, false));
	assert_null(node(10, false));
	assert_int_equal(L.omitted[OMIT_system], 5);
	assert_int_equal(L.omitted[OMIT_absent], 1);
	walk(1, (struct lineage_options){.system_extra = "/home/u/in, !/etc/"});
	assert_null(node(4, false));
	assert_non_null(node(3, false));
	walk(1, (struct lineage_options){.all = true});
	assert_int_equal(L.n_nodes, 12);
	assert_int_equal(L.omitted[OMIT_system], 0);
	walk(2, (struct lineage_options){.direction = LINEAGE_DOWN});
	assert_non_null(node(1, false)); /* a start is never folded */
}

static void paths_of_the_machine(void **state)
{
	(void)state;
	assert_int_equal(system_path(str_of("/usr/bin/cat"), NULL), SYSTEM_YES);
	assert_int_equal(system_path(str_of("/usrdata/x"), NULL), SYSTEM_NO);
	assert_int_equal(system_path(str_of("/dev/shm/x"), NULL), SYSTEM_NO);
	assert_int_equal(system_path(str_of("/dev/null"), NULL), SYSTEM_YES);
	assert_int_equal(system_path(str_of("/home/u/lib/libx.so"), NULL), SYSTEM_YES);
	assert_int_equal(system_path(str_of("/home/u/lib/libx.so.1.2"), NULL), SYSTEM_YES);
	assert_int_equal(system_path(str_of("/home/u/x.sorted"), NULL), SYSTEM_NO);
	assert_int_equal(system_path(str_of(""), "/"), SYSTEM_NO);
}

/* ---- against the rule as it is written, on graphs made at random ---- */

static uint32_t seed;
static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* Every way from V, each with its own bound: no visited set at all. */
static void every_way(store_id id, bool exec, int64_t b, unsigned left, bool v[MAX], bool x[MAX])
{
	(exec ? x : v)[id] = true;
	if (!left)
		return;
	if (!exec) {
		for (size_t i = 0; i < S->n_gens; i++)
			if (S->gens[i].from == id && S->gens[i].e.lo <= b)
				every_way(S->gens[i].to, true, S->gens[i].e.hi < b ? S->gens[i].e.hi : b, left - 1, v, x);
		for (size_t i = 0; i < S->n_derived; i++)
			if (S->derived[i].from == id)
				every_way(S->derived[i].to, false, b, left - 1, v, x);
	} else {
		for (size_t i = 0; i < S->n_uses; i++)
			if (S->uses[i].from == id && S->uses[i].e.lo <= b)
				every_way(S->uses[i].to, false, b, left - 1, v, x);
		for (size_t i = 0; i < S->n_informed; i++)
			if (S->informed[i].from == id)
				every_way(S->informed[i].to, true, S->informed[i].e.hi < b ? S->informed[i].e.hi : b, left - 1, v, x);
	}
}

static void agrees_with_every_way(void **state)
{
	(void)state;
	size_t reached = 0;
	for (uint32_t round = 0; round < 400; round++) {
		seed = round;
		memset(S, 0, sizeof(*S));
		const store_id n = 7;
		for (int k = 0; k < 9; k++) {
			int64_t t = dice(30);
			gen(1 + dice(n), 1 + dice(n), t, t + dice(12));
			use(1 + dice(n), 1 + dice(n), dice(30));
		}
		for (int k = 0; k < 2; k++) {
			derive(1 + dice(n), 1 + dice(n));
			int64_t t = dice(30);
			inform(1 + dice(n), 1 + dice(n), t, t + dice(9));
		}
		bool up[MAX][MAX];
		for (store_id root = 1; root <= n; root++) {
			bool v[MAX] = {0}, x[MAX] = {0};
			every_way(root, false, INT64_MAX, 11, v, x);
			walk(root, (struct lineage_options){.all = true});
			for (store_id i = 1; i <= n; i++) {
				up[root][i] = node(i, false) != NULL;
				reached += up[root][i];
				if (v[i] != up[root][i] || x[i] != (node(i, true) != NULL))
					fail_msg("seed %u: from %u to %u", round, (unsigned)root, (unsigned)i);
			}
		}
		for (store_id root = 1; root <= n; root++) {
			walk(root, (struct lineage_options){.all = true, .direction = LINEAGE_DOWN});
			for (store_id i = 1; i <= n; i++)
				if (up[i][root] != (node(i, false) != NULL))
					fail_msg("seed %u: down from %u to %u", round, (unsigned)root, (unsigned)i);
		}
	}
	assert_true(reached > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	    T(chain),
	    T(many_roots),
	    T(input_read_after_the_last_write_is_no_input),
	    T(bound_goes_back_through_a_log_file),
	    T(later_arrival_looks_again),
	    T(other_clock_is_given_the_skew),
	    T(depth_counts_executions_and_passes_streams),
	    T(only_possible_fork_and_shm_wait_to_be_asked_for),
	    T(coordination_is_left_out),
	    T(cache_leads_to_its_source_alone),
	    T(machine_and_program_text_are_folded),
	    T(paths_of_the_machine),
	    T(agrees_with_every_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
