/* Histories of any events (fuzz_frames.h): the graph made in one go is the graph in the store, in whatever order the
 * logs are indexed. What a tombstone names does not count, by a plain rule here. */
#include "fuzz_frames.h"
#include "graph/canon.h"
#include "graph/collect.h"
#include "graph/names.h"
#include "graph/resolve.h"
#include "store/dump.h"

#ifdef FUZZ_REPLAY
#define FUZZ_ORDERS 2
#else
#define FUZZ_ORDERS 1
#endif

struct segment {
	struct buf bytes;
	char path[64];
};

static bool is_dead(const struct graph *g, uint64_t session)
{
	for (size_t i = 0; i < g->tombs.n; i++)
		if (g->tombs.v[i].number && g->tombs.v[i].number >> 1 == session >> 1)
			return true;
	return false;
}

/* False: a forgotten session forgets others. Whether that counts depends on who is read first; `stemma forget` writes
 * its tombstones into sessions that are nobody's run. */
static bool in_one_go(const struct segment *in, struct buf *out, bool *ret_tombs)
{
	struct graph g = {0}, all = {0};
	struct collect w = {0};
	struct canon c = {0};
	for (int i = 0; i < 2; i++) {
		uint32_t at;
		must(collect_memory(&w, in[i].bytes.p, in[i].bytes.n, &at) == 0);
		must(collect_scan(&w, at, 0, UINT64_MAX, NULL, NULL) == 0);
	}
	must(collect_feed(&w, &all, NULL) == 0);
	bool sane = true;
	*ret_tombs = all.tombs.n > 0;
	for (size_t i = 0; i < all.tombs.n; i++)
		sane = sane && !is_dead(&all, all.sessions.v[all.tombs.v[i].session].number);
	size_t kept = 0;
	for (size_t i = 0; i < w.frames.n; i++)
		if (!is_dead(&all, w.frames.v[i].session))
			w.frames.v[kept++] = w.frames.v[i];
	w.frames.n = kept;
	graph_release(&all);
	must(collect_feed(&w, &g, NULL) == 0);
	must(graph_finish(&g) == 0);
	must(names_replay(&g) == 0);
	for (size_t i = 0; i < g.files.n; i++)
		g.files.v[i].flags |= GFILE_DIRTY;
	must(graph_resolve(&g) == 0);
	canon_graph(&c, &g);
	must(canon_finish(&c, out) == 0);
	canon_release(&c);
	collect_release(&w);
	graph_release(&g);
	return sane;
}

static void one_by_one(const struct segment *first, const struct segment *second, bool tombs, struct buf *out)
{
	struct store *s;
	struct canon c = {0};
	struct err err = {0};
	const struct segment *order[2] = {first, second};
	if (store_open("/nonexistent", STORE_MEMORY, &err, &s) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	/* Twice where the second may forget what the first told: the index is made anew then, of what it was asked for. */
	for (int i = 0; i < (tombs ? 4 : 2); i++)
		if (store_index(s, &(struct store_index_options){.only_segment = order[i & 1]->path}, &err, NULL) < 0) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
	must(store_canon(s, &c) == 0);
	must(canon_finish(&c, out) == 0);
	canon_release(&c);
	store_close(s);
}

static void compare(const struct buf *a, const struct buf *b, const char *what)
{
	if (str_eq(buf_view(a), buf_view(b)))
		return;
	fprintf(stderr, "in one go:\n%.*s\n%s:\n%.*s\n", (int)a->n, a->p, what, (int)b->n, b->p);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment in[2] = {0};
	struct buf whole = {0}, stored = {0}, bytes[2] = {0};
	bool tombs, swapped = false;
	frames_cut(data, size, bytes);
	for (int i = 0; i < 2; i++) {
		in[i].bytes = bytes[i];
		strcpy(in[i].path, "/dev/shm/stemma-fuzz.XXXXXX");
		int fd = mkstemp(in[i].path);
		must(fd >= 0 && write(fd, in[i].bytes.p, in[i].bytes.n) == (ssize_t)in[i].bytes.n);
		close(fd);
	}
	/* To make an empty index is most of the time: one of the two orders is tried, and the replay tries both. */
	for (size_t i = 0; i < size; i++)
		swapped ^= data[i] & 1;
	bool sane = in_one_go(in, &whole, &tombs);
	for (int i = 0; i < FUZZ_ORDERS; i++, swapped = !swapped) {
		buf_reset(&stored);
		one_by_one(&in[swapped], &in[!swapped], tombs, &stored);
		if (sane)
			compare(&whole, &stored, swapped ? "second, first" : "first, second");
	}
	for (int i = 0; i < 2; i++) {
		unlink(in[i].path);
		buf_release(&in[i].bytes);
	}
	buf_release(&whole);
	buf_release(&stored);
	return 0;
}
