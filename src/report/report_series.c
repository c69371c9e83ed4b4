#include "report/report_series.h"

#include "answer/js.h"
#include "base/io.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (64u << 20)
#define MOST_COLUMNS 40
#define NAME 32
#define MINUTE 60.0

struct samples {
	const char *path;
	char name[MOST_COLUMNS][NAME];
	size_t columns;
	VEC(double) v; /* row by row; NAN not known */
	size_t rows;
};

/* Adds a column of the series. false: no name of a column, or too many. */
static bool add_series_column(struct samples *s, const char *name, size_t n)
{
	if (s->columns == MOST_COLUMNS || !n || n >= NAME || strspn(name, "abcdefghijklmnopqrstuvwxyz_") < n)
		return false;
	memcpy(s->name[s->columns], name, n);
	s->name[s->columns++][n] = '\0';
	return true;
}

/* s->columns: none of that name. */
static size_t find_column(const struct samples *s, const char *name)
{
	size_t i = 0;
	while (i < s->columns && strcmp(s->name[i], name) != 0)
		i++;
	return i;
}

/* All of it not known. false: no memory. */
static bool add_row(struct samples *s)
{
	if (!vec_room(&s->v, s->columns))
		return false;
	for (size_t i = 0; i < s->columns; i++)
		s->v.v[s->v.n++] = NAN;
	s->rows++;
	return true;
}

/* A line of values between tabs; the first line is the names. 0, -EBADMSG, -ENOMEM. */
static int read_tab_line(struct samples *s, char *line, bool head)
{
	double *row = NULL;
	if (!head && !add_row(s))
		return -ENOMEM;
	if (!head)
		row = &s->v.v[s->v.n - s->columns];
	size_t i = 0;
	for (char *field = line, *next; field; field = next, i++) {
		next = strchr(field, '\t');
		if (next)
			*next++ = '\0';
		char *end = field;
		double v = *field ? strtod(field, &end) : NAN;
		if (head ? !add_series_column(s, field, strlen(field)) : i >= s->columns || *end || isinf(v))
			return -EBADMSG;
		if (!head)
			row[i] = v;
	}
	return 0;
}

/* A line of JSON: names and numbers. The first one says which columns there are. 0, -EBADMSG, -ENOMEM. */
static int read_json_line(struct samples *s, const char *line)
{
	json_error_t e;
	const char *key;
	json_t *value, *o = json_loadb(line, strlen(line), 0, &e);
	int rc = json_is_object(o) ? 0 : -EBADMSG;
	if (rc == 0 && !s->columns)
		json_object_foreach(o, key, value) if (!add_series_column(s, key, strlen(key))) rc = -EBADMSG;
	if (rc == 0 && !s->columns) /* else later lines would have more columns than rows have room for */
		rc = -EBADMSG;
	if (rc == 0 && !add_row(s))
		rc = -ENOMEM;
	for (size_t i = 0; i < s->columns && rc == 0; i++) {
		value = json_object_get(o, s->name[i]);
		if (json_is_integer(value))
			s->v.v[s->v.n - s->columns + i] = (double)json_integer_value(value);
		else if (json_is_real(value))
			s->v.v[s->v.n - s->columns + i] = json_real_value(value);
	}
	json_decref(o);
	return rc;
}

/* text is cut into lines. 0, -EBADMSG, -ENOMEM. */
static int read_lines(struct samples *s, char *text)
{
	bool json = *text == '{';
	int rc = 0;
	size_t n = 0;
	for (char *line = text, *next; line && *line && rc == 0; line = next, n++) {
		next = strchr(line, '\n');
		if (!next) /* it is being written */
			break;
		*next++ = '\0';
		rc = json ? read_json_line(s, line) : read_tab_line(s, line, n == 0);
	}
	return rc;
}

/* null where there is no number, or a too large one. */
static void write_sample(struct buf *b, double v)
{
	if (isnan(v) || v > 9e15 || v < -9e15)
		buf_str(b, str_of("null"));
	else if ((double)(int64_t)v == v)
		buf_printf(b, "%lld", (long long)v);
	else
		buf_printf(b, "%.4f", v);
}

/* The greatest of a stretch of rows. */
static double greatest(const struct samples *s, size_t column, size_t from, size_t to)
{
	double most = NAN;
	for (size_t i = from; i < to; i++) {
		double v = s->v.v[i * s->columns + column];
		if (isnan(most) || v > most)
			most = v;
	}
	return most;
}

/* At most REPORT_POINTS of each column: of each piece the greatest. */
static void write_samples(const struct samples *s, struct buf *b)
{
	size_t points = s->rows < REPORT_POINTS ? s->rows : REPORT_POINTS;
	buf_printf(b, "{\"samples\":%zu,\"columns\":{", s->rows);
	for (size_t c = 0; c < s->columns; c++) {
		buf_printf(b, "%s\"%s\":[", c ? ",\n" : "", s->name[c]);
		for (size_t p = 0; p < points; p++) {
			if (p)
				buf_char(b, ',');
			write_sample(b, greatest(s, c, p * s->rows / points, (p + 1) * s->rows / points));
		}
		buf_char(b, ']');
	}
	buf_str(b, str_of("}}"));
}

/* Is it of the run that began then? 0, or -EINVAL with a sentence. */
static int check_samples(const struct samples *s, int64_t of, struct err *err)
{
	size_t time = find_column(s, "time"), since = find_column(s, "since");
	if (!s->rows || time == s->columns || since == s->columns)
		return err_set(err, 0, "'%s' is not what stemma run --series writes", s->path), -EINVAL;
	double began = s->v.v[time] - s->v.v[since], start = (double)of / 1e9;
	if (of != TIME_NONE && !(began > start - MINUTE && began < start + MINUTE))
		return err_set(err, 0, "'%s' is of another run", s->path), -EINVAL;
	return 0;
}

int report_series_text(const char *path, char *text, int64_t of, struct err *err, struct buf *b)
{
	struct samples s = {.path = path};
	int rc = read_lines(&s, text);
	if (rc == -EBADMSG)
		err_set(err, 0, "'%s' is not what stemma run --series writes", path);
	if (rc == 0)
		rc = check_samples(&s, of, err);
	if (rc == 0)
		write_samples(&s, b);
	vec_release(&s.v);
	return rc;
}

int report_series(const char *path, int64_t of, struct err *err, struct buf *b)
{
	struct buf text = {0};
	int rc = io_read_file(path, MOST_BYTES, &text);
	if (rc < 0)
		err_set(err, -rc, "cannot read '%s'", path);
	buf_char(&text, '\0');
	if (rc == 0)
		rc = text.failed ? -ENOMEM : report_series_text(path, text.p, of, err, b);
	buf_release(&text);
	return rc;
}
