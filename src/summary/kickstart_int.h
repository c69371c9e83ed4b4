/* kickstart_int.h - between the reader of kickstart's records and what is made of one. */
#ifndef STEMMA_SUMMARY_KICKSTART_INT_H
#define STEMMA_SUMMARY_KICKSTART_INT_H

#include "summary/kickstart.h"

#define KICKSTART_METHOD "kickstart"
#define DEPTH 5 /* of the keys that are known */

struct level {
	size_t indent;
	struct str key;
};

struct kickstart_reader {
	struct str text;
	size_t at;
	struct summary *s;
	struct err *err;
	struct level level[DEPTH]; /* where we are: the keys above, and this one */
	size_t depth;
	size_t deep;      /* keys below what is kept */
	bool mainjob, ok; /* ok: false without memory */
	int64_t start, duration, raw, pid;
	char *program;
	size_t cap_process, cap_argv, argc;
};

/* Makes the figures that follow from what was read; -1 is not told. `ok` is false without memory. */
void kickstart_settle(struct kickstart_reader *r);

#endif
