/* report_table.h - tables of numbers, written column by column: what the data of a report mostly consists of.
 *
 * A column most of whose values are one is written as {"else": VALUE, "at": [ROW, ...], "values": [...]}, each row as
 * the distance from the one before, any other as an array. Zero a table; report_table_release at the end. No memory:
 * `failed` is set. */
#ifndef STEMMA_REPORT_REPORT_TABLE_H
#define STEMMA_REPORT_REPORT_TABLE_H

#include "base/buf.h"
#include "base/vec.h"

#define REPORT_UNKNOWN INT64_MIN /* null */

enum report_column {
#define COLUMN(table, name, meaning) REPORT_##table##_##name,
#include "report/report_columns.def"
#undef COLUMN
	REPORT_COLUMNS
};
enum report_table_kind {
	REPORT_FILE,
	REPORT_EXECUTION,
	REPORT_EDGE,
	REPORT_BRANCH,
	REPORT_RUN,
	REPORT_STAGE,
	REPORT_TABLES
};

struct report_table {
	enum report_table_kind kind;
	VEC(int64_t) v; /* row by row */
	size_t rows;
	bool failed;
};

/* A new row, all of it null. What follows sets values of the last row. */
void report_table_add(struct report_table *t);
void report_table_set(struct report_table *t, enum report_column column, int64_t value);
/* Appends "name": {"rows": n, "COLUMN": ..., ...}. */
void report_table_write(const struct report_table *t, struct buf *b);
void report_table_release(struct report_table *t);

/* Appends a number; in quotes where JavaScript has no such number; null for REPORT_UNKNOWN. */
void report_number(struct buf *b, int64_t v);

#endif
