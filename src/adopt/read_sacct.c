/* read_sacct.c - what `sacct -P` printed of Slurm's jobs (*.sacct): a line with the names of the columns, then one a
 * job, with bars between. Slurm knows no files but those of the standard streams: StdOut, StdErr and StdIn, from 24.05
 * on. Its times have no zone: they are taken for those of this machine. Steps (4711.batch) are passed over. */
#include "adopt/readers.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum column {
	COL_ID,
	COL_NAME,
	COL_STATE,
	COL_EXIT,
	COL_START,
	COL_END,
	COL_FOLDER,
	COL_LINE,
	COL_OUT,
	COL_ERR,
	COL_IN,
	COL_USER,
	COLUMNS
};
static const char *const names[COLUMNS] = {"JobID",   "JobName",    "State",  "ExitCode", "Start", "End",
                                           "WorkDir", "SubmitLine", "StdOut", "StdErr",   "StdIn", "User"};
#define FIELDS_MOST 128

/* Cuts a line at its bars; the number of its fields, of which ret has the first FIELDS_MOST. */
static size_t split_line(struct str line, struct str ret[FIELDS_MOST])
{
	for (size_t n = 0;; n++) {
		const char *bar = line.n ? memchr(line.p, '|', line.n) : NULL;
		if (n < FIELDS_MOST)
			ret[n] = str_n(line.p, bar ? (size_t)(bar - line.p) : line.n);
		if (!bar)
			return n + 1;
		line = str_n(bar + 1, line.n - (size_t)(bar - line.p) - 1);
	}
}

/* 2026-11-28T12:13:05 here, in ns; TIME_NONE: Unknown, None. */
static int64_t local_time(struct str s)
{
	struct tm tm = {.tm_isdst = -1};
	char text[24];
	if (s.n != 19)
		return TIME_NONE;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t t = end && !*end ? mktime(&tm) : -1;
	return t > 0 && t <= INT64_MAX / 2 / 1000000000 ? (int64_t)t * 1000000000 : TIME_NONE;
}

/* A name of a stream with its patterns replaced: %j, %A (the job), %a (its place in an array), %x (its name), %u (the
 * user), %%. False: it has others, or none, or is /dev/null. */
static bool expand_name(struct str name, const struct str field[COLUMNS], struct buf *ret)
{
	struct str id = field[COL_ID];
	const char *under = id.n ? memchr(id.p, '_', id.n) : NULL;
	struct str master = str_n(id.p, under ? (size_t)(under - id.p) : id.n);
	struct str place = under ? str_n(under + 1, (size_t)(id.p + id.n - under) - 1) : str_n(NULL, 0);
	buf_reset(ret);
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] != '%') {
			buf_char(ret, name.p[i]);
			continue;
		}
		char c = ++i < name.n ? name.p[i] : '\0';
		struct str value = c == 'j' || c == 'A' ? master
		                   : c == 'a'           ? place
		                   : c == 'x'           ? field[COL_NAME]
		                   : c == 'u'           ? field[COL_USER]
		                   : c == '%'           ? str_of("%")
		                                        : str_n(NULL, 0);
		if (!value.n)
			return false;
		buf_str(ret, value);
	}
	return ret->n && !ret->failed && !str_is(buf_view(ret), "/dev/null");
}

/* A job. 0, -ENOMEM. */
static int take_job(struct adopt_jobs *l, const char *path, const char *source, const struct str field[COLUMNS])
{
	struct buf name = {0};
	struct adopt_job *j = adopt_job_new(l, ADOPT_slurm, source);
	const char *folder = field[COL_FOLDER].n && *field[COL_FOLDER].p == '/' ? adopt_text(l, field[COL_FOLDER]) : path;
	int rc = j && folder ? 0 : -ENOMEM;
	if (rc < 0)
		return rc;
	j->cwd = folder == path ? "" : folder;
	j->name = adopt_text(l, field[COL_NAME].n ? field[COL_NAME] : field[COL_ID]);
	j->start = local_time(field[COL_START]);
	j->end = local_time(field[COL_END]);
	/* "3:0": status and signal */
	j->ended = field[COL_EXIT].n >= 3 && field[COL_EXIT].p[field[COL_EXIT].n - 1] == '0' &&
	           field[COL_EXIT].p[field[COL_EXIT].n - 2] == ':';
	for (size_t i = 0; j->ended && i + 2 < field[COL_EXIT].n; i++)
		j->code = (j->code * 10 + field[COL_EXIT].p[i] - '0') & 255;
	if (!j->name)
		return -ENOMEM;
	if (field[COL_LINE].n)
		rc = adopt_shell(l, j, field[COL_LINE]);
	if (rc == 0 && expand_name(field[COL_OUT], field, &name))
		rc = adopt_output(l, j, folder, buf_view(&name));
	if (rc == 0 && !str_eq(field[COL_ERR], field[COL_OUT]) && expand_name(field[COL_ERR], field, &name))
		rc = adopt_output(l, j, folder, buf_view(&name));
	if (rc == 0 && expand_name(field[COL_IN], field, &name))
		rc = adopt_input(l, j, folder, buf_view(&name));
	buf_release(&name);
	return rc;
}

/* Where the columns stand in the line with their names; SIZE_MAX where one is not there. */
static void find_columns(const struct str *part, size_t n, size_t ret[COLUMNS])
{
	for (int c = 0; c < COLUMNS; c++) {
		ret[c] = SIZE_MAX;
		for (size_t i = n; i--;)
			if (str_is(part[i], names[c]))
				ret[c] = i;
	}
}

/* The fields of a line of n, of which the line with the names has `head`. A text may have bars in it, which sacct does
 * not mark: of a line with another number of fields, what stands before the first text is known, and no more. */
static void take_fields(const struct str *part, size_t n, size_t head, const size_t at_column[COLUMNS],
                        struct str ret[COLUMNS])
{
	static const enum column texts[] = {COL_NAME, COL_FOLDER, COL_LINE, COL_OUT, COL_ERR, COL_IN};
	size_t known = n;
	for (size_t i = 0; n != head && i < sizeof(texts) / sizeof(*texts); i++)
		known = at_column[texts[i]] < known ? at_column[texts[i]] : known;
	for (int c = 0; c < COLUMNS; c++)
		ret[c] = at_column[c] < known ? part[at_column[c]] : str_n(NULL, 0);
}

/* Adds a job for each line below the one with the names of the columns; steps (JOB.STEP) are passed over. Adds the
 * number of jobs to *ret_n. 0, -ENOMEM. */
static int take_lines(struct adopt_jobs *l, const char *path, const char *source, struct str text, uint64_t *ret_n)
{
	struct str part[FIELDS_MOST], field[COLUMNS];
	size_t at_column[COLUMNS];
	size_t head = 0; /* how many columns there are; 0 before the line with their names */
	int rc = 0;
	for (size_t at = 0; at < text.n && rc == 0;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		struct str line = str_n(text.p + at, end ? (size_t)(end - text.p) - at : text.n - at);
		size_t n = split_line(line, part);
		at += line.n + 1;
		if (!head) {
			find_columns(part, n < FIELDS_MOST ? n : FIELDS_MOST, at_column);
			head = n <= FIELDS_MOST && at_column[COL_ID] != SIZE_MAX ? n : 0;
			continue;
		}
		take_fields(part, n, head, at_column, field);
		if (!field[COL_ID].n || memchr(field[COL_ID].p, '.', field[COL_ID].n))
			continue;
		rc = take_job(l, path, source, field);
		++*ret_n;
	}
	return rc;
}

/* name: *.sacct. 0, -ENOMEM. */
int adopt_read_sacct(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	uint64_t n = 0;
	buf_printf(&source, "%s/%s", path, name);
	int rc = adopt_file(folder, name, &text);
	rc = rc < 0 ? rc : take_lines(l, path, buf_cstr(&source), buf_view(&text), &n);
	if (rc == 0 && !n)
		rc = adopt_pass(l, buf_cstr(&source),
		                "it contains no job, or lacks the line with the names of the columns, which sacct -P prints");
	l->sources[ADOPT_slurm] += rc == 0 && n > 0;
	buf_release(&text);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}
