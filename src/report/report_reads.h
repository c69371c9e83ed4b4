/* report_reads.h - who reads what: how many programs of each kind used each file of a page, as a table and as a
 * picture.
 *
 * A kind is a program and the word that says what it does (samtools sort). Of more than READS_ROWS files those of one
 * folder with one ending are one row. At most READS_ROWS rows and READS_COLUMNS columns are there, those with the most
 * readers first; how many others there are is told. */
#ifndef STEMMA_REPORT_REPORT_READS_H
#define STEMMA_REPORT_REPORT_READS_H

#include "report/report_int.h"

enum { READS_ROWS = 40, READS_COLUMNS = 24 };

struct reads_line {
	char *name;       /* for a terminal (fmt.h) */
	char *only;       /* of a row of one file its own name; else NULL */
	uint64_t members; /* of a row files, of a column programs */
	uint64_t total;   /* readers of all its cells */
	uint32_t place;   /* in order of total; VEC_NONE: it has none */
};
struct reads_lines {
	struct reads_line *v;
	size_t n, cap;
};
struct reads_cell {
	uint32_t row, column; /* in rows, columns */
	uint64_t readers;     /* executions */
	bool sure;            /* one of them surely */
};
struct report_reads {
	struct reads_lines rows, columns;
	VEC(struct reads_cell) cells;
	uint64_t most;                  /* readers of one cell that has a place */
	size_t left_rows, left_columns; /* without a place */
};

/* Of a report whose nodes and edges are there. Release ret in any case. 0 or -errno. */
int report_reads_make(struct report *r, struct report_reads *ret);
void report_reads_release(struct report_reads *x);
/* Appends "reads": ... to a JSON object. */
void report_reads_write(const struct report_reads *x, struct buf *b);
/* Appends the picture as SVG. */
void report_reads_svg(const struct report_reads *x, const char *title, struct buf *b);

#endif
