/* dump.h - the store in the canonical form of doc/graph.md, for tests and fsck. */
#ifndef STEMMA_STORE_DUMP_H
#define STEMMA_STORE_DUMP_H

#include "graph/canon.h"
#include "store/store.h"

/* Adds all lines. 0 or -errno. */
int store_canon(struct store *s, struct canon *c);

#endif
