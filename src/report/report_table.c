#include "report/report_table.h"

#include <string.h>

static const struct {
	const char *table, *name;
} report_columns[] = {
#define COLUMN(table, name, meaning) {#table, #name},
#include "report/report_columns.def"
#undef COLUMN
};

static const char *const report_tables[REPORT_TABLES][2] = {
    /* as in the column table; as in the JSON */
    [REPORT_FILE] = {"file", "files"}, [REPORT_EXECUTION] = {"execution", "executions"},
    [REPORT_EDGE] = {"edge", "edges"}, [REPORT_BRANCH] = {"branch", "branches"},
    [REPORT_RUN] = {"run", "runs"},    [REPORT_STAGE] = {"stage", "stages"},
};

/* The first column of a table, and how many it has. */
static enum report_column report_table_first(enum report_table_kind kind, size_t *ret_n)
{
	size_t first = 0, n = 0;
	while (first < REPORT_COLUMNS && strcmp(report_columns[first].table, report_tables[kind][0]) != 0)
		first++;
	while (first + n < REPORT_COLUMNS && strcmp(report_columns[first + n].table, report_tables[kind][0]) == 0)
		n++;
	*ret_n = n;
	return (enum report_column)first;
}

void report_table_add(struct report_table *t)
{
	size_t n;
	report_table_first(t->kind, &n);
	if (!vec_room(&t->v, n)) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		t->v.v[t->v.n++] = REPORT_UNKNOWN;
	t->rows++;
}

/* Of the last row. Nothing if the table has failed. */
void report_table_set(struct report_table *t, enum report_column column, int64_t value)
{
	size_t n;
	enum report_column first = report_table_first(t->kind, &n);
	if (t->rows && !t->failed)
		t->v.v[(t->rows - 1) * n + (column - first)] = value;
}

void report_number(struct buf *b, int64_t v)
{
	const int64_t most = 1ll << 53;
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;
	if (v == REPORT_UNKNOWN) {
		buf_add(b, "null", 4);
		return;
	}
	bool quoted = v > most || v < -most;
	if (quoted)
		digits[--at] = '"';
	do
		digits[--at] = (char)('0' + left % 10);
	while (left /= 10);
	if (v < 0)
		digits[--at] = '-';
	if (quoted)
		digits[--at] = '"';
	buf_add(b, digits + at, sizeof(digits) - at);
}

/* The value that more than half of the rows have, if there is such a one; *ret_n: how many have what is returned. */
static int64_t find_usual_value(const int64_t *v, size_t rows, size_t step, size_t *ret_n)
{
	int64_t usual = REPORT_UNKNOWN;
	size_t votes = 0;
	for (size_t i = 0; i < rows; i++) {
		if (!votes)
			usual = v[i * step];
		votes += v[i * step] == usual ? 1 : (size_t)-1;
	}
	*ret_n = 0;
	for (size_t i = 0; i < rows; i++)
		*ret_n += v[i * step] == usual;
	return usual;
}

/* How many characters the number takes in the report. */
static size_t number_length(int64_t v)
{
	struct buf b = {0};
	report_number(&b, v);
	size_t n = b.n;
	buf_release(&b);
	return n;
}

/* Writes a column of a table, all values. step: from one row's value to the next's. */
static void write_dense(const int64_t *v, size_t rows, size_t step, struct buf *b)
{
	buf_char(b, '[');
	for (size_t i = 0; i < rows; i++) {
		if (i)
			buf_char(b, ',');
		report_number(b, v[i * step]);
	}
	buf_char(b, ']');
}

/* Only the rows that have another value than the usual one, each by its distance to the last. */
static void write_sparse(const int64_t *v, size_t rows, size_t step, int64_t usual, struct buf *b)
{
	size_t last = 0;
	buf_str(b, str_of("{\"else\":"));
	report_number(b, usual);
	for (int values = 0; values < 2; values++) {
		bool any = false;
		buf_str(b, str_of(values ? ",\"values\":[" : ",\"at\":["));
		for (size_t i = 0; i < rows; i++) {
			if (v[i * step] == usual)
				continue;
			if (any)
				buf_char(b, ',');
			report_number(b, values ? v[i * step] : (int64_t)(i - last));
			any = true;
			last = i;
		}
		buf_char(b, ']');
	}
	buf_char(b, '}');
}

/* In whichever form is shorter. */
static void write_column(const int64_t *v, size_t rows, size_t step, struct buf *b)
{
	size_t n;
	int64_t usual = find_usual_value(v, rows, step, &n);
	/* Of the others the distance stands there as well: mostly one digit and a comma. */
	if (rows && 2 * (rows - n) < n * (number_length(usual) + 1))
		write_sparse(v, rows, step, usual, b);
	else
		write_dense(v, rows, step, b);
}

void report_table_write(const struct report_table *t, struct buf *b)
{
	size_t n;
	enum report_column first = report_table_first(t->kind, &n);
	buf_printf(b, "\"%s\":{\"rows\":%zu", report_tables[t->kind][1], t->rows);
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, ",\n\"%s\":", report_columns[first + i].name);
		write_column(t->v.v + i, t->rows, n, b);
	}
	buf_char(b, '}');
	b->failed |= t->failed;
}

/* t itself may not be used afterwards. */
void report_table_release(struct report_table *t)
{
	vec_release(&t->v);
}
