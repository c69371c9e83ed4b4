/* names.h - which path named which file from when to when (doc/graph.md, Names). */
#ifndef STEMMA_GRAPH_NAMES_H
#define STEMMA_GRAPH_NAMES_H

#include "graph/graph.h"

/* Replays graph.name_events in (host, time, session, seq) order into graph.names, and sets the files' flags that come
 * from names (GFILE_CACHE, GFILE_LOCK), and graph.caches. 0 or -ENOMEM. */
int names_replay(struct graph *g);
/* Only graph.names. 0, -ENOMEM. */
int names_replay_events(struct graph *g);

/* GFILE_CACHE and GFILE_LOCK as the path says. */
unsigned names_flags(const struct graph *g, uint32_t path);

#endif
