/* bench_history.h - `stemma bench history`: what a benchmark gave over time, where that changed (trust/changes.h), and
 * what else changed there: program, library, compiler's command, commit, input, parameter, machine. */
#ifndef STEMMA_CMD_BENCH_BENCH_HISTORY_H
#define STEMMA_CMD_BENCH_BENCH_HISTORY_H

#include "cmd/cmd.h"
#include "trust/changes.h"
#include "trust/witness.h"

/* One `stemma bench run`. */
struct past_bench {
	char *id;       /* ULID */
	int64_t start;  /* of its first run, ns since 1970 */
	store_id *runs; /* that ended well, in the order in which they began */
	size_t n;
	double *wall;     /* s, of each; NAN: not known */
	struct witness w; /* of all of them */
};
struct past {
	char *title;          /* the benchmark's name, or its command */
	struct past_bench *v; /* the earliest first */
	size_t n, cap;
};
/* The values of one name. */
struct past_series {
	const char *name;
	size_t *bench; /* index of the benchmark of each group */
	size_t n;      /* groups */
	double spread; /* how far the medians of the groups lie from that of their part: half of them less; a share */
	struct change_point *changes;
	size_t n_changes;
};
/* What was one thing in both benchmarks before a change, and another in both after it. */
struct past_difference {
	const char *of; /* input, parameter, invariant, build */
	char *name;
	char *before, *after; /* "" it was not there */
};

/* bench_history_find.c: all benchmarks of the record that are of the one that a word (bench:ID; bench: the last) means.
 * STATUS_OK, or the status to end with, and it was said. */
int past_find(struct cmd *c, const char *word, struct past *ret);
void past_release(struct past *p);
/* bench_history_differ.c: between the groups at - 1 and at of a series. 0 or -ENOMEM, -EIO. */
int past_differ(struct store *s, const struct past *p, const struct past_series *x, size_t at,
                struct past_difference **ret, size_t *ret_n);

int bench_history(struct cmd *c, const struct opts_bench *o);

#endif
