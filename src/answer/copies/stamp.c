#include "answer/copies/stamp.h"

#include "base/io.h"
#include "base/ulid.h"
#include "query/app_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAMP_PREFIX "stemma-stamp:"
#define STAMP_PART (2u << 20) /* bytes at the beginning and at the end of a file that are looked at */

enum { PREFIX_N = sizeof(STAMP_PREFIX) - 1, RUN_N = 26, WHOLE_N = PREFIX_N + RUN_N + 1 + STAMP_TOKEN };

/* Reads a stamp at p. p has WHOLE_N bytes. */
static bool parse_stamp(const char *p, struct stamp *ret)
{
	const char *run = p + PREFIX_N, *token = run + RUN_N + 1;
	if (run[RUN_N] != ':' || !ulid_is(run, RUN_N))
		return false;
	for (size_t i = 0; i < STAMP_TOKEN; i++)
		if (!memchr("0123456789abcdef", token[i], 16))
			return false;
	snprintf(ret->run, sizeof(ret->run), "%.*s", RUN_N, run);
	snprintf(ret->token, sizeof(ret->token), "%.*s", STAMP_TOKEN, token);
	return true;
}

bool stamp_find(struct str bytes, struct stamp *ret)
{
	size_t found = 0;
	for (struct str left = bytes; left.n >= WHOLE_N;) {
		struct stamp one;
		const char *at = memmem(left.p, left.n, STAMP_PREFIX, PREFIX_N);
		if (!at || left.n - (size_t)(at - left.p) < WHOLE_N)
			break;
		left.n -= (size_t)(at - left.p) + PREFIX_N;
		left.p = at + PREFIX_N;
		if (!parse_stamp(at, &one))
			continue;
		if (found && memcmp(&one, ret, sizeof(one)) != 0)
			return false;
		*ret = one;
		found++;
	}
	return found > 0;
}

/* Reads up to STAMP_PART bytes from offset on to p. How many. */
static size_t read_part(int fd, off_t offset, char *p)
{
	size_t n = 0;
	while (n < STAMP_PART) {
		ssize_t k = pread(fd, p + n, STAMP_PART - n, offset + (off_t)n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		n += (size_t)k;
	}
	return n;
}

/* Finds a stamp in the first and the last part of a regular file; a copy elsewhere is not asked for. False: none, two
 * that differ, or the file cannot be read. */
static bool read_stamp_of(const char *path, struct stamp *ret)
{
	struct stat st;
	bool found = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *p = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? malloc(2 * (size_t)STAMP_PART) : NULL;
	if (p) {
		/* Both parts together: what would be two different stamps is none. */
		size_t n = read_part(fd, 0, p);
		if (n == STAMP_PART && st.st_size > (off_t)STAMP_PART) {
			const off_t last = st.st_size - (off_t)STAMP_PART;
			n += read_part(fd, last > (off_t)STAMP_PART ? last : (off_t)STAMP_PART, p + n);
		}
		memset(ret, 0, sizeof(*ret));
		found = stamp_find(str_n(p, n), ret);
	}
	free(p);
	if (fd >= 0)
		close(fd);
	return found;
}

bool stamp_read(const char *path, struct stamp *ret)
{
	char beside[4096];
	return read_stamp_of(path, ret) || (snprintf(beside, sizeof(beside), "%s" STAMP_SIDE, path) < (int)sizeof(beside) &&
	                                    read_stamp_of(beside, ret));
}

/* Finds the version that was saved: of the versions that the execution made at that path, the first that was not
 * over at t, else the last one. 1, 0, -errno. */
static int version_saved(struct store *s, store_id exec, struct str path, int64_t t, store_id *ret)
{
	struct edges made = {0};
	struct version_info best = {0}, v;
	int r = store_outputs(s, exec, &made);
	for (size_t i = 0; r >= 0 && i < made.n; i++) {
		struct file_info f;
		r = store_version(s, made.v[i].to, &v);
		if (r > 0)
			r = store_file(s, v.file, &f);
		if (r <= 0 || f.kind != TERM_kind_regular ||
		    (!str_eq(f.path, path) && store_named_at(s, v.file, path, v.end) <= 0))
			continue;
		const bool ahead = v.end >= t, best_ahead = best.id && best.end >= t;
		if (!best.id || (ahead != best_ahead ? ahead : ahead ? v.end < best.end : v.end > best.end))
			best = v;
	}
	edges_release(&made);
	*ret = best.id;
	return r < 0 ? r : best.id != 0;
}

int stamp_version(struct store *s, const struct stamp *stamp, store_id *ret)
{
	struct app_log told;
	store_id run, exec;
	char name[STAMP_TOKEN + 8];
	int r = store_find_run(s, stamp->run, &run);
	if (r <= 0)
		return r == -ENOTUNIQ ? 0 : r;
	snprintf(name, sizeof(name), "stamp:%s", stamp->token);
	r = app_log_load(s, run, &told);
	bool found = false;
	for (size_t i = 0; r >= 0 && !found && i < told.words.n; i++) {
		const struct reported_event *t = &told.words.v[i];
		const struct event_app_word *w = &t->ev.app_word;
		if (w->said != TERM_said_tag || !str_eq(w->name, str_of(name)))
			continue;
		const struct app_log_image *by = app_log_image_of(&told, t, w->app);
		r = by ? app_log_exec(&told, by, t->ev.time, &exec) : 0;
		if (r > 0)
			r = version_saved(s, exec, w->value, t->ev.time, ret);
		found = r > 0;
	}
	app_log_release(&told);
	return r < 0 ? r : found;
}
