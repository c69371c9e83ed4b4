/* bench_row.h - what several runs gave under one name: a line of the tables of stemma bench, and its JSON. */
#ifndef STEMMA_CMD_BENCH_BENCH_ROW_H
#define STEMMA_CMD_BENCH_BENCH_ROW_H

#include "cmd/ui/js_print.h"
#include "trust/elements.h"

struct bench_row {
	const char *name;
	bool number, time; /* time: in s */
	size_t n;
	bool same;
	const char *text; /* of one value */
	size_t each;      /* values a run, where that is a list; else 0 */
	double median, low, high, min, max;
};

/* Of the values of all runs, in their order. The strings stay x's. */
void bench_row_values(const struct element *x, size_t runs, struct bench_row *ret);
/* Of times in s; those that are NAN are not known. Sorts v. */
void bench_row_times(const char *name, double *v, size_t n, struct bench_row *ret);

void bench_row_head(void);
void bench_row_print(const struct bench_row *r);
json_t *bench_row_json(const struct bench_row *r);

#endif
