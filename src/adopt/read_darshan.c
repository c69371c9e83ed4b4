/* read_darshan.c - what darshan-parser prints of a log of Darshan: the job's program, times, and of each file the
 * counters of POSIX, MPI-IO and STDIO. A file of which bytes or calls were read is an input, one that was written an
 * output. All ranks are one job. A log in Darshan's own form is not read: darshan-parser LOG > LOG.darshan.txt. */
#include "adopt/readers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define HEAD 4096 /* bytes in which it must be known */

/* The rest of a line "# NAME: REST" at `line`. False: it is another one. */
static bool take_darshan_head(struct str line, const char *name, struct str *ret)
{
	size_t n = strlen(name);
	if (line.n < n + 4 || memcmp(line.p, "# ", 2) != 0 || memcmp(line.p + 2, name, n) != 0 || line.p[n + 2] != ':')
		return false;
	*ret = str_n(line.p + n + 3, line.n - n - 3);
	while (ret->n && *ret->p == ' ')
		*ret = str_n(ret->p + 1, ret->n - 1);
	return true;
}

/* Seconds, perhaps with a fraction, in ns. */
static int64_t time_of_seconds(struct str s)
{
	char text[32];
	if (!s.n || s.n >= sizeof(text))
		return TIME_NONE;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	double v = strtod(text, NULL);
	return v > 0 && v < 9e9 ? (int64_t)v * 1000000000 + (int64_t)((v - (double)(int64_t)v) * 1e9) : TIME_NONE;
}

/* The words of the command line, at blanks: Darshan does not quote. 0, -ENOMEM. */
static int take_darshan_words(struct adopt_jobs *l, struct adopt_job *j, struct str line)
{
	for (size_t i = 0; i < line.n && j->argv.n < ADOPT_WORDS_MOST;) {
		size_t from = i;
		while (i < line.n && line.p[i] != ' ')
			i++;
		if (i > from) {
			const char *text = adopt_text(l, str_n(line.p + from, i - from)), **slot = text ? vec_add(&j->argv) : NULL;
			if (!slot)
				return -ENOMEM;
			*slot = text;
		}
		i++;
	}
	return 0;
}

/* Is the counter one that says that the file was read (or written)? Its value is more than 0. */
static bool is_counter(struct str name, bool write)
{
	static const char *const words[2][8] = {
	    {"POSIX_READS", "POSIX_BYTES_READ", "STDIO_READS", "STDIO_BYTES_READ", "MPIIO_BYTES_READ", "MPIIO_INDEP_READS",
	     "MPIIO_COLL_READS", "H5D_BYTES_READ"},
	    {"POSIX_WRITES", "POSIX_BYTES_WRITTEN", "STDIO_WRITES", "STDIO_BYTES_WRITTEN", "MPIIO_BYTES_WRITTEN",
	     "MPIIO_INDEP_WRITES", "MPIIO_COLL_WRITES", "H5D_BYTES_WRITTEN"}};
	for (size_t i = 0; i < 8; i++)
		if (str_is(name, words[write][i]))
			return true;
	return false;
}

/* Is the path the last that was added there? The counters of a file stand together. */
static bool is_last(const struct adopt_job *j, bool out, struct str path)
{
	size_t n = out ? j->out.n : j->in.n;
	return n && str_is(path, out ? j->out.v[n - 1] : j->in.v[n - 1]);
}

/* "POSIX	-1	HASH	POSIX_READS	2	/path	/mount	ext4" 0, -ENOMEM. */
static int take_counter(struct adopt_jobs *l, struct adopt_job *j, struct str line)
{
	struct str column[6];
	size_t n = 0;
	for (size_t at = 0; n < 6 && at <= line.n; n++) {
		const char *tab = at < line.n ? memchr(line.p + at, '\t', line.n - at) : NULL;
		size_t end = tab ? (size_t)(tab - line.p) : line.n;
		column[n] = str_n(line.p + at, end - at);
		at = end + 1;
	}
	if (n < 6 || !column[4].n || *column[4].p == '-' || str_is(column[4], "0") || !column[5].n || *column[5].p != '/')
		return 0;
	bool read = is_counter(column[3], false), write = is_counter(column[3], true);
	if (read && !is_last(j, false, column[5]))
		return adopt_input(l, j, "/", column[5]);
	return write && !is_last(j, true, column[5]) ? adopt_output(l, j, "/", column[5]) : 0;
}

/* Takes one line of darshan's head into the job: its program, its times or its number; other lines are passed over.
 * 0, -ENOMEM. */
static int take_darshan_line(struct adopt_jobs *l, struct adopt_job *j, struct str line)
{
	struct str rest;
	if (take_darshan_head(line, "exe", &rest))
		return take_darshan_words(l, j, rest);
	if (take_darshan_head(line, "start_time", &rest))
		j->start = time_of_seconds(rest);
	else if (take_darshan_head(line, "end_time", &rest))
		j->end = time_of_seconds(rest);
	else if (take_darshan_head(line, "jobid", &rest) && !(j->name = adopt_text(l, rest)))
		return -ENOMEM;
	else if (line.n && *line.p != '#')
		return take_counter(l, j, line);
	return 0;
}

int adopt_read_darshan(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	int rc = adopt_file(folder, name, &text);
	buf_printf(&source, "%s/%s", path, name);
	bool known = rc == 0 && text.n && memmem(text.p, text.n < HEAD ? text.n : HEAD, "# darshan log version:", 22);
	struct adopt_job *j = known ? adopt_job_new(l, ADOPT_darshan, buf_cstr(&source)) : NULL;
	if (known && !j)
		rc = -ENOMEM;
	for (size_t at = 0; j && at < text.n && rc == 0;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
		rc = take_darshan_line(l, j, str_n(text.p + at, n));
		at += n + 1;
	}
	if (j && j->start != TIME_NONE && j->end != TIME_NONE && j->end % 1000000000 == 0)
		j->end += 999999999; /* it is told in whole seconds */
	l->sources[ADOPT_darshan] += j && rc == 0;
	buf_release(&text);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}
