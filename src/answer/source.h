/* source.h - what an answer is made from: the record, and the settings that the rules of answers obey. */
#ifndef STEMMA_ANSWER_SOURCE_H
#define STEMMA_ANSWER_SOURCE_H

#include "store/store.h"

struct live_runs;

struct answer_source {
	struct store *store;
	int64_t skew;             /* ns by which clocks of two hosts may differ (doc/graph.md, B4) */
	const char *system_extra; /* see system_path; not owned */
	struct live_runs *live;   /* runs that go on (answer/live.h); NULL: nobody looks for them */
};

#endif
