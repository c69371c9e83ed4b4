/* canon.h - the canonical form of doc/graph.md: how the graph is printed for tests.
 *
 * The words of each line are made here, so that the graph in memory and the store print alike. */
#ifndef STEMMA_GRAPH_CANON_H
#define STEMMA_GRAPH_CANON_H

#include "graph/graph.h"

/* Lines, to be sorted by bytes and printed once each. */
struct canon {
	struct buf bytes;  /* each line ends in '\0' */
	VEC(size_t) lines; /* offsets */
	bool failed;
};

void canon_begin(struct canon *c); /* a new line */
void canon_end(struct canon *c);
void canon_token(struct canon *c, const char *s); /* as it is, after a blank where the line has something */
void canon_str(struct canon *c, struct str s);    /* escaped, directly after what stands there */
void canon_time(struct canon *c, int64_t t);      /* a word; '-' for none and never */
void canon_file(struct canon *c, struct str domain, uint64_t ino, uint64_t gen);
/* Appends a path that was looked for and not found to a canonical text. */
void canon_absent(struct canon *c, struct str path);
/* Directly after a file. */
void canon_version(struct canon *c, uint64_t session, uint64_t seq);
void canon_unobserved(struct canon *c, bool has_size, uint64_t size, int64_t mtime, uint64_t k);
void canon_exec(struct canon *c, struct str boot, uint64_t pidns, uint64_t pid, int64_t started, uint64_t n);
/* A whole line: how an access moved bytes. figures: as in struct gio. */
/* Of an edge: which part of the execution it is of, where it is not the execution's own. */
void canon_part(struct canon *c, uint64_t part);
void canon_io(struct canon *c, uint64_t session, uint64_t seq, unsigned api, bool write, int64_t first, int64_t last,
              const uint64_t *figures);

/* Sorts and gives all lines, each with a newline. 0 or -ENOMEM. */
int canon_finish(struct canon *c, struct buf *out);
void canon_release(struct canon *c);

/* All lines of a graph after graph_resolve. */
void canon_graph(struct canon *c, const struct graph *g);

#endif
