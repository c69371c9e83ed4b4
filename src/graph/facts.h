/* facts.h - events to facts: what each event of a session says of files, processes and accesses (doc/graph.md, Facts).
 *
 * One reader reads one session at a time, its events in seq order. Numbers are the session's own; what refers to a
 * number not given before is counted in graph.unknown_refs and dropped. Strings are copied. */
#ifndef STEMMA_GRAPH_FACTS_H
#define STEMMA_GRAPH_FACTS_H

#include "graph/graph.h"

/* What numbers of the log are given to. */
enum facts_kind { FACTS_DOMAIN, FACTS_FILE, FACTS_PROCESS, FACTS_ACCESS };
struct facts;
/* Where a session is not read from its beginning: asks for what its earlier events told. Each adds what it finds to f's
 * graph; VEC_NONE where nothing is known. */
struct facts_earlier {
	void *arg;
	/* Index of a domain, file, pnums element or access. */
	uint32_t (*find)(void *arg, struct facts *f, enum facts_kind kind, uint64_t number);
	/* The last state that was told of the file, among the graph's fingerprints. */
	uint32_t (*state)(void *arg, struct facts *f, uint32_t file);
	/* The n-th execution of the process, if the session told of it. */
	uint32_t (*exec)(void *arg, struct facts *f, uint32_t proc, uint32_t n);
	/* An event refers to what is not kept: the session has to be read from its beginning. */
	void (*lacks)(void *arg, const struct facts *f);
};

struct facts {
	struct graph *g;
	const struct facts_earlier *earlier;          /* NULL: from its beginning */
	uint32_t session;                             /* index in g, VEC_NONE between sessions */
	uint64_t seq;                                 /* of the last event */
	struct dense domains, files, procs, accesses; /* number -> domain; file; pnums; access */
	struct dense apps;                            /* seq -> word: the run of a program that told of itself */
	VEC(struct facts_proc) pnums;
	struct map execs; /* process << 20 | n of those that the session told of -> execution */
	struct buf scratch;
	bool in_build; /* a build was told of, which files may belong to */
};
struct facts_proc {
	uint32_t proc, exec; /* the execution that is current in the session's view */
	uint32_t run;        /* word */
};

void facts_begin(struct facts *f, struct graph *g, uint64_t session);
/* Between facts_begin and the first event: what is read goes on behind the event `seq`. The session's own facts (host,
 * pid namespace, run) are the caller's to set. earlier stays the caller's, until facts_end. */
void facts_go_on(struct facts *f, uint64_t seq, const struct facts_earlier *earlier);
/* Events with a seq at or below the last one's are repeats and change nothing. */
void facts_event(struct facts *f, const struct event *ev);
void facts_end(struct facts *f);
void facts_release(struct facts *f);

#endif
