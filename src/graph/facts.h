/* facts.h - events to facts: what each event of a session says of files, processes and accesses (doc/graph.md, Facts).
 *
 * One reader reads one session at a time, its events in seq order. Numbers are the session's own; what refers to a
 * number not given before is counted in graph.unknown_refs and dropped. Strings are copied. */
#ifndef STEMMA_GRAPH_FACTS_H
#define STEMMA_GRAPH_FACTS_H

#include "graph/graph.h"

struct facts {
	struct graph *g;
	uint32_t session;                             /* index in g, VEC_NONE between sessions */
	uint64_t seq;                                 /* of the last event */
	struct dense domains, files, procs, accesses; /* number -> domain; file; pnums; access */
	struct dense apps;                            /* seq -> word: the run of a program that told of itself */
	VEC(struct facts_proc) pnums;
	struct map execs; /* process << 20 | n of those that the session told of -> execution */
	struct buf scratch;
};
struct facts_proc {
	uint32_t proc, exec; /* the execution that is current in the session's view */
	uint32_t run;        /* word */
};

void facts_begin(struct facts *f, struct graph *g, uint64_t session);
/* Events with a seq at or below the last one's are repeats and change nothing. */
void facts_event(struct facts *f, const struct event *ev);
void facts_end(struct facts *f);
void facts_release(struct facts *f);

#endif
