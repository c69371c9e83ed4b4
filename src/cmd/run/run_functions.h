/* run_functions.h - `stemma run --trace-functions`: has a program of its own (stemma-trace-functions) watch where
 * functions are entered, while the command runs. What cannot be had is said before the command starts, which then does
 * not start. */
#ifndef STEMMA_CMD_RUN_RUN_FUNCTIONS_H
#define STEMMA_CMD_RUN_RUN_FUNCTIONS_H

#include "cmd/cmd.h"

struct run_functions {
	int to, from; /* it ends when `to` is closed; what it says then */
	bool runs, quiet;
};

/* Starts the tracer of function entries beside the command. folder: for the traces; NULL: there is none. STATUS_OK;
 * or a status, and it was said. */
int run_functions_begin(struct run_functions *f, const struct opts_run *o, const char *folder);
/* After the command, before its traces are looked at. */
void run_functions_end(struct run_functions *f);

/* Can it be had here? A word of what, or of why not, which stays until the next call. Takes some tenths of a second. */
bool run_functions_works(const char **ret_what);

#endif
