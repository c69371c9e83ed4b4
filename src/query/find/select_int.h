/* select_int.h - what the parts of a selection share: select.c walks, select_ask.c knows what a condition asks. Not for
 * others. */
#ifndef STEMMA_QUERY_FIND_SELECT_INT_H
#define STEMMA_QUERY_FIND_SELECT_INT_H

#include "query/find/select.h"
#include "query/idset.h"

struct select {
	struct store *s;
	const struct select_options *o;
	struct err *err;
	enum expr_kind kind;
	bool sure;             /* follow sure edges only */
	struct idset *objects; /* objects of HDF5 files that something came from, or went into: all that are shown */
};

struct ask {
	enum expr_op op;
	const char *text;
	int64_t time;    /* since, before */
	bool failed, ok; /* exit */
	uint64_t ending, code;
	char folder[4096]; /* in: absolute, without a slash at its end */
};

/* Reads the value of a condition once. 0, or -EINVAL with a sentence. */
int select_ask_prepare(const struct select *w, const struct expr *e, struct ask *ret);
/* Is it true of an execution? tmp: room. 1, 0 or -errno. */
int select_ask_exec(const struct select *w, const struct ask *a, const struct exec_info *x, struct buf *tmp);
/* Conditions that are of runs as a whole; all others are false. 1 or 0. */
int select_ask_run(const struct ask *a, const struct run_info *r, struct buf *tmp);
/* Before the time that is asked for, or at it and later; what goes on still is later. */
bool select_ask_time(const struct ask *a, int64_t start, int64_t end);
bool select_glob_is(const char *glob, struct str s, struct buf *tmp);
bool select_path_matches(const char *glob, struct str path, struct buf *tmp);

#endif
