/* bench_show.h - `stemma bench show`: what several runs were made with and gave, together or run by run. */
#ifndef STEMMA_CMD_BENCH_BENCH_SHOW_H
#define STEMMA_CMD_BENCH_BENCH_SHOW_H

#include "answer/js.h"
#include "answer/reach.h"
#include "cmd/cmd.h"
#include "trust/witness.h"

struct bench_show_run {
	char *ulid, *command, *host;
	char **argv; /* owned; NULL-terminated, argc words */
	size_t argc;
	int64_t start;
	uint64_t ending, code;
	double wall, cpu; /* s; NAN: not known */
	struct witness w; /* of this run alone */
};
struct bench_shown {
	struct bench_show_run *v;
	size_t n;
	size_t counted; /* ended well: the figures are of them; where none did, of all */
	bool all;
	struct reach_slices slices;
	char **files; /* that the runs were found by; NULL-terminated, NULL: none */
};

/* One of the sets of a run. programs: what was run, from its invariants. */
enum bench_show_part { SHOW_INPUTS, SHOW_PROGRAMS, SHOW_PARAMETERS, SHOW_RESULTS, SHOW_PARTS };
/* The element of that name of run i; NULL: it has none. */
const struct element *bench_show_find(const struct bench_shown *x, size_t i, enum bench_show_part p, const char *name);
/* Names of a part, of all runs, each once and in order; malloc'ed, the strings are the runs'. NULL: no memory. */
const char **bench_show_names(const struct bench_shown *x, enum bench_show_part p, size_t *ret_n);
/* The values that the runs have of it, each once with how many runs have it: "4", "4 (9 runs), 5 (1 run)". */
void bench_show_values(const struct bench_shown *x, enum bench_show_part p, const char *name, struct buf *out);
/* Appends what is known of one element of a benchmark. As it is shown: digests by their beginnings. "-" for NULL. */
void bench_show_value(const struct element *e, struct buf *out);
/* Can the parameter reach what the programs output? The least that is known of all runs (bench_reach.c). */
enum reach bench_reach(struct bench_shown *x, const char *name);
/* "may" or "cannot", by the name of each parameter of which that is known. */
json_t *bench_reach_json(struct bench_shown *x);
/* "10 runs of ./fit -k 4" */
void bench_show_title(const struct bench_shown *x, struct buf *out);

/* When the command's own program began (what starting it took is not its), and the CPU time of all in s; NAN: not
 * known.
 */
double bench_show_cpu(struct store *s, store_id run, int64_t *ret_began);

int bench_show(struct cmd *c, const struct opts_bench *o);
/* bench_dot.c */
void bench_dot(const struct bench_shown *x, bool by_run);

#endif
