/* graphdump.c - stemma-graphdump: the graph of some segments, in the canonical form of doc/graph.md.
 *
 *   stemma-graphdump [--skew NS] [--lps] [--memory] [--events N] [--store DIR] SEGMENT...
 *   stemma-graphdump [--skew NS] [--lps] [--memory] --batch FILE
 *
 * The segments are indexed one after the other, each in a transaction of its own, into the store at DIR, else into a
 * fresh one in memory; the store is printed. FILE has one history a line, segment paths between blanks; the answers are
 * separated by a line "--". Without a segment all logs of the store at DIR are indexed, sessions with N events
 * together. With --memory the graph is computed in one go, without a store; a read that counts and has no version
 * behind it is an error then. */
#include "graph/canon.h"
#include "graph/collect.h"
#include "graph/names.h"
#include "graph/resolve.h"
#include "store/dump.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	int64_t skew;
	bool lps, memory;
	uint64_t events;
	const char *store;
};

/* Each read that counts is of something. */
static int check_reads(const struct graph *g, struct err *err)
{
	uint32_t first;
	size_t n = graph_count_unbacked(g, &first);
	if (!n)
		return 0;
	return err_set(err, EPROTO, "%zu reads have no version behind them; the first is access %016" PRIx64 ".%" PRIu64, n,
	               gaccess_session(g, &g->accesses.v[first]), gaccess_seq(g, &g->accesses.v[first]));
}

static int from_memory(const struct options *o, char **segment, size_t n, struct err *err, struct buf *out)
{
	struct graph g = {.skew = o->skew, .lps = o->lps};
	struct collect w = {0};
	struct canon c = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		uint32_t at;
		rc = collect_path(&w, segment[i], &at);
		if (rc == 0)
			rc = collect_scan(&w, at, 0, UINT64_MAX, err, NULL);
	}
	if (rc == 0)
		rc = collect_feed(&w, &g, err);
	if (rc == 0)
		rc = graph_finish(&g);
	if (rc == 0)
		rc = names_replay(&g);
	for (size_t i = 0; i < g.files.n; i++)
		g.files.v[i].flags |= GFILE_DIRTY;
	if (rc == 0)
		rc = graph_resolve(&g);
	if (rc == 0)
		rc = check_reads(&g, err);
	if (rc == 0) {
		canon_graph(&c, &g);
		rc = canon_finish(&c, out);
	}
	canon_release(&c);
	collect_release(&w);
	graph_release(&g);
	return rc;
}

/* Where the answers are looked at. */
static void say_finding(void *arg, const char *line)
{
	(void)arg;
	puts(line);
}

static int from_store(const struct options *o, char **segment, size_t n, struct err *err, struct buf *out)
{
	struct store *s = NULL;
	struct canon c = {0};
	int rc = store_open(o->store ? o->store : "/nonexistent", o->store ? STORE_WRITE : STORE_MEMORY, err, &s);
	for (size_t i = 0; rc == 0 && (i < n || !n); i++) {
		rc =
		    store_index(s, &(struct store_index_options){o->skew, o->lps, n ? segment[i] : NULL, o->events}, err, NULL);
		if (!n)
			break;
	}
	int wrong = rc == 0 ? store_check_counts(s, say_finding, NULL) : 0;
	rc = wrong < 0 ? wrong : rc;
	if (rc == 0)
		rc = store_canon(s, &c);
	if (rc == 0)
		rc = canon_finish(&c, out);
	canon_release(&c);
	store_close(s);
	return rc;
}

static int dump(const struct options *o, char **segment, size_t n)
{
	struct err err = {0};
	struct buf out = {0};
	int rc = (o->memory ? from_memory : from_store)(o, segment, n, &err, &out);
	if (rc < 0)
		fprintf(stderr, "stemma-graphdump: %s\n", err.text[0] ? err.text : strerror(-rc));
	else if (out.n)
		fwrite(out.p, 1, out.n, stdout);
	buf_release(&out);
	return rc;
}

static int batch(const struct options *o, const char *path)
{
	FILE *f = fopen(path, "re");
	if (!f) {
		fprintf(stderr, "stemma-graphdump: cannot open '%s': %s\n", path, strerror(errno));
		return -errno;
	}
	char *line = NULL;
	size_t cap = 0;
	ssize_t got;
	int rc = 0;
	for (bool first = true; rc == 0 && (got = getline(&line, &cap, f)) >= 0; first = false) {
		VEC(char *) segment = {0};
		for (char *save, *word = strtok_r(line, " \t\n", &save); word && rc == 0;
		     word = strtok_r(NULL, " \t\n", &save)) {
			char **slot = vec_add(&segment);
			if (slot)
				*slot = word;
			else
				rc = -ENOMEM;
		}
		if (!first)
			puts("--");
		if (rc == 0)
			rc = dump(o, segment.v, segment.n);
		vec_release(&segment);
	}
	free(line);
	fclose(f);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	const char *batch_path = NULL;
	int i = 1;
	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--skew") && i + 1 < argc)
			o.skew = strtoll(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--lps"))
			o.lps = true;
		else if (!strcmp(argv[i], "--memory"))
			o.memory = true;
		else if (!strcmp(argv[i], "--events") && i + 1 < argc)
			o.events = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--store") && i + 1 < argc)
			o.store = argv[++i];
		else if (!strcmp(argv[i], "--batch") && i + 1 < argc)
			batch_path = argv[++i];
		else
			break;
	}
	if (i < argc && !strncmp(argv[i], "--", 2)) {
		fprintf(stderr, "usage: stemma-graphdump [--skew NS] [--lps] [--memory] [--events N] [--store DIR] SEGMENT... "
		                "| --batch FILE\n");
		return 2;
	}
	return (batch_path ? batch(&o, batch_path) : dump(&o, argv + i, (size_t)(argc - i))) < 0;
}
