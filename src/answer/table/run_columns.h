/* run_columns.h - settings and metrics as the columns of a table, and its rows as `stemma table --json` has them. */
#ifndef STEMMA_ANSWER_TABLE_RUN_COLUMNS_H
#define STEMMA_ANSWER_TABLE_RUN_COLUMNS_H

#include "answer/js.h"
#include "answer/table/over_runs.h"

struct run_column {
	struct str name; /* of the runs, which must outlive it */
	bool metric;
	bool same; /* a setting that all runs have, with one value */
};
struct run_columns {
	struct run_column *v; /* the settings, then the metrics, by name */
	size_t n, cap;
};

/* Those of all runs; with names, only these. Release ret in any case. 0 or -ENOMEM. */
int run_columns_find(const struct over_runs *r, char *const *names, size_t n_names, struct run_columns *ret);
void run_columns_release(struct run_columns *c);
/* Is it a setting that all runs, two at least, have with one value? */
bool run_column_is_same(const struct over_runs *r, struct str name);
/* Appends the row of the i-th run to rows. 0 or -errno. */
int run_row_json(struct store *s, const struct over_runs *r, const struct run_columns *c, size_t i, json_t *rows);
/* The answer of `stemma table --json`; a new reference. As over_runs_load. */
int run_table_json(const struct answer_source *a, const struct over_runs_question *q, struct err *err, json_t **ret);

#endif
