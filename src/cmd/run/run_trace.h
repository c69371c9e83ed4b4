/* run_trace.h - `stemma run --trace`: function traces of the programs that stemma cc --trace linked, collected into
 * trace/RUN beside the record; --trace-calls, where the recorder writes what any program calls, and who called with
 * --trace-stacks; and --trace-functions (run_functions.h). A failure is said and changes no status. */
#ifndef STEMMA_CMD_RUN_RUN_TRACE_H
#define STEMMA_CMD_RUN_RUN_TRACE_H

#include "cmd/cmd.h"

struct run_trace {
	char *folder;   /* NULL: there are no traces */
	char *calls_of; /* programs whose calls are traced, separated by colons; NULL: all */
	int stacks;     /* the socket to the unwinder (capture/call_trace/stacks); 0: there is none */
	const char *home;
	bool quiet, functions, calls, probes; /* what was asked for */
};

/* Before the run: makes the folder, and tells the programs of it, by variables of the environment. */
void run_trace_begin(struct run_trace *t, const struct opts_run *o, const char *home);
/* After it. run: its ULID, "" it is not recorded: then nothing is kept. */
void run_trace_finish(struct run_trace *t, const char *run);

#endif
