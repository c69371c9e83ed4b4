/* resolve.h - a file's accesses to its versions and edges: the rules of doc/graph.md, for one file at a time.
 *
 * A function of the file's accesses alone (and of the graph's skew and lps): the results are appended to the graph's
 * versions, gens, ders and uses, and each access is told what it generated and used.
 *
 * Cost: n log n for n accesses of a file, plus the number of edges. Many overlapping writes with many readers have
 * that many edges. */
#ifndef STEMMA_GRAPH_RESOLVE_H
#define STEMMA_GRAPH_RESOLVE_H

#include "graph/graph.h"

/* Resolves every file with GFILE_DIRTY, then the derivations of cache files (B14), which need the uses of others.
 * After graph_finish and names_replay. 0 or -ENOMEM. */
int graph_resolve(struct graph *g);
/* How many reads that count, of files with versions that were resolved, have no version behind them: none that they
 * use, and none that their own execution was writing. There is none unless a rule is wrong (doc/graph.md, rule 7); for
 * tests. *ret_first: the first of them, in accesses. */
size_t graph_count_unbacked(const struct graph *g, uint32_t *ret_first);

#endif
