/* ix_scan.c - what is new in the logs: segments that have grown, and all frames of the sessions that they tell of. */
#include "base/clock.h"
#include "base/io.h"
#include "event/log_frame.h"
#include "event/log_place.h"
#include "store/index/index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the index knows of segments, by path. 0, or -errno with a sentence. */
static int load_segments(struct ix *x)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_segment_all, x->err);
	if (!st)
		return -EIO;
	int rc;
	while ((rc = store_step(x->s, st, x->err)) == 1) {
		struct str path = column_str(st, 1);
		struct ix_segment *s = vec_add(&x->segments);
		if (!s) {
			rc = ix_oom(x);
			break;
		}
		uint64_t done = (uint64_t)sqlite3_column_int64(st, 2);
		*s = (struct ix_segment){.id = (uint64_t)sqlite3_column_int64(st, 0),
		                         .path = strndup(path.p, path.n),
		                         .done = done,
		                         .from = done,
		                         .mark = {.head = (uint64_t)sqlite3_column_int64(st, 3),
		                                  .tail = (uint64_t)sqlite3_column_int64(st, 4),
		                                  .sum = (uint64_t)sqlite3_column_int64(st, 5),
		                                  .ino = (uint64_t)sqlite3_column_int64(st, 6),
		                                  .changed = sqlite3_column_int64(st, 7)}};
		if (!s->path) {
			rc = ix_oom(x);
			break;
		}
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* Below home/logs by its path there, else by the path given. */
static int full_path(const struct ix *x, const char *path, char *out, size_t size)
{
	int n = path[0] == '/' ? snprintf(out, size, "%s", path) : snprintf(out, size, "%s/logs/%s", x->s->home, path);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Order of qsort: by path. */
static int segment_cmp(const void *pa, const void *pb)
{
	const struct ix_segment *a = pa, *b = pb;
	return strcmp(a->path, b->path);
}

/* The file as stat found it: before it is read, so that what changes meanwhile is looked at again. */
static void set_file(struct ix_segment *s, const struct stat *st)
{
	const int64_t second = 1000000000;
	uint64_t ino = (uint64_t)st->st_ino;
	int64_t changed = (int64_t)st->st_ctim.tv_sec * second + st->st_ctim.tv_nsec;
	s->size = (uint64_t)st->st_size;
	s->touched = s->is_new || ino != s->mark.ino || changed != s->mark.changed;
	s->changed = s->touched || s->size != s->done;
	s->mark.ino = ino;
	s->mark.changed = changed;
	s->written = (int64_t)st->st_mtim.tv_sec * second + st->st_mtim.tv_nsec;
}

/* Notes a segment that is there. known: how many were in the index, which are sorted. What of the file is new is
 * seen by its size and marks. 0 or -errno. */
static int register_segment(struct ix *x, const char *path, size_t known, const struct stat *st)
{
	size_t lo = 0, hi = known; /* those that were known are sorted */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (strcmp(x->segments.v[mid].path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < known && !strcmp(x->segments.v[lo].path, path)) {
		set_file(&x->segments.v[lo], st);
		return 0;
	}
	struct ix_segment *s = vec_add(&x->segments);
	if (!s)
		return ix_oom(x);
	*s = (struct ix_segment){.path = strdup(path), .is_new = true};
	set_file(s, st);
	return s->path ? 0 : ix_oom(x);
}

static int scan_log_folder(struct ix *x, const char *below, unsigned depth, size_t known);

/* What lies at `below`/name: a segment, or a folder that may hold some; anything else is passed over. */
static int scan_log_entry(struct ix *x, const char *below, const char *name, unsigned depth, size_t known)
{
	char path[4096], full[4096];
	struct stat st;
	size_t n = strlen(name);
	if (snprintf(path, sizeof(path), "%s%s%s", below, below[0] ? "/" : "", name) >= (int)sizeof(path) ||
	    full_path(x, path, full, sizeof(full)) < 0 || stat(full, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return depth < 4 ? scan_log_folder(x, path, depth + 1, known) : 0;
	if (S_ISREG(st.st_mode) && n > 4 && !strcmp(name + n - 4, ".stl"))
		return register_segment(x, path, known, &st);
	return 0;
}

/* Finds the segments below logs: <host>/<day>/<slot>.stl, of any depth up to 4. 0, -errno with a sentence. */
static int scan_log_folder(struct ix *x, const char *below, unsigned depth, size_t known)
{
	char dir[4096];
	if (full_path(x, below, dir, sizeof(dir)) < 0)
		return 0;
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_set(x->err, errno, "cannot read the logs in '%s'", dir);
	int rc = 0;
	struct dirent *e;
	while (rc == 0 && (e = readdir(d)))
		if (!log_place_hidden(e->d_name, depth))
			rc = scan_log_entry(x, below, e->d_name, depth, known);
	closedir(d);
	return rc;
}

/* ---- is it the file that it was? ---- */

enum { MARK_BYTES = offsetof(struct log_frame, session) }; /* magic, size and checksum of a frame */

/* Does a frame with the checksum begin there, whether or not all of it is there? 1, 0, -errno. */
static int frame_begins_at(const char *path, uint64_t offset, uint64_t sum)
{
	struct log_frame h;
	char head[sizeof(h)] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ssize_t n = io_pread(fd, head, MARK_BYTES, offset);
	close(fd);
	if (n < 0)
		return (int)n;
	h = log_frame_header(head);
	return n == MARK_BYTES && (h.magic & LOG_MAGIC_MASK) == (LOG_MAGIC & LOG_MAGIC_MASK) && h.sum == sum;
}

/* A file that is shorter and begins as before was cut. What the index knows of it is not doubted; what was appended
 * since is found from the beginning. s->done and s->from become 0. 0; IX_REPLACED; -errno. */
static int look_at_short(struct ix_segment *s, const char *full)
{
	if (s->size >= s->done)
		return 0;
	int rc = s->size < MARK_BYTES ? 1 : s->mark.head ? frame_begins_at(full, 0, s->mark.head) : 0;
	s->done = s->from = 0;
	s->mark.sum = 0;
	return rc < 0 ? rc : rc ? 0 : IX_REPLACED;
}

/* After it was scanned: had it been replaced just before, that would show now; just after, it shows the next time. 0;
 * IX_REPLACED; -errno. */
static int look_at_end(const struct ix_segment *s, const char *full, const struct ix_mark *was)
{
	if (!s->touched || s->is_new || !was->sum)
		return 0;
	int rc = frame_begins_at(full, was->tail, was->sum);
	return rc < 0 ? rc : rc ? 0 : IX_REPLACED;
}

/* What the segment began and ended with when it was read: by that it is known again. */
static void set_ends(struct ix *x, struct ix_segment *s, size_t first_frame)
{
	if (first_frame == x->w.frames.n)
		return;
	const struct collect_frame *a = &x->w.frames.v[first_frame], *z = &x->w.frames.v[x->w.frames.n - 1];
	if (!a->offset)
		s->mark.head = a->sum;
	s->mark.tail = z->offset;
	s->mark.sum = z->sum;
}

int ix_put_segment(struct ix *x, const struct ix_segment *s)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_segment_put, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)s->id);
	bind_str(st, 2, str_of(s->path));
	sqlite3_bind_int64(st, 3, (int64_t)s->done);
	sqlite3_bind_int64(st, 4, (int64_t)s->mark.head);
	sqlite3_bind_int64(st, 5, (int64_t)s->mark.tail);
	sqlite3_bind_int64(st, 6, (int64_t)s->mark.sum);
	sqlite3_bind_int64(st, 7, (int64_t)s->mark.ino);
	sqlite3_bind_int64(st, 8, s->mark.changed);
	return store_run_stmt(x->s, st, x->err);
}

/* A frame is one write. Who has not gone on with it for so long was killed in the middle, or bytes were cut off behind.
 */
#define WRITE_NS (60 * (int64_t)1000000000)

/* Leaves out, of the places without a whole frame that were found last, that which somebody may just be writing. */
static void leave_begun(struct ix *x, const struct ix_segment *s, size_t first_hole)
{
	int64_t now = clock_now_ns(CLOCK_REALTIME);
	if (x->w.holes.n > first_hole && x->w.holes.v[x->w.holes.n - 1].begun && now - s->written < WRITE_NS)
		x->w.holes.n--;
}

/* Scans the new part of a segment. at: the segment in the gather. Taken away meanwhile, or another user's: it counts
 * as not changed. */
static int scan_segment(struct ix *x, struct ix_segment *s, uint32_t at, const char *full)
{
	struct err unread = {0};
	struct ix_mark was = s->mark;
	size_t first = x->w.frames.n, first_hole = x->w.holes.n;
	int rc = look_at_short(s, full);
	if (s->mark.sum != was.sum) /* from its beginning */
		was.sum = 0;
	if (rc == 0 && s->size != s->done)
		rc = collect_scan(&x->w, at, s->done, UINT64_MAX, &unread, &s->done);
	leave_begun(x, s, first_hole);
	if (rc == 0)
		rc = look_at_end(s, full, &was);
	if (rc == -ENOENT || rc == -EACCES) {
		s->changed = false;
		return 0;
	}
	if (rc == IX_REPLACED)
		return rc;
	if (rc < 0)
		return err_set(x->err, 0, "%s", unread.text[0] ? unread.text : strerror(-rc)), rc;
	x->stats.segments += s->size != s->from || s->is_new;
	set_ends(x, s, first);
	/* What is new is written with what it tells. */
	return s->touched && !s->is_new && s->done == s->from ? ix_put_segment(x, s) : 0;
}

/* The one segment that was asked for: below the record's logs by its path there. */
static int register_only_segment(struct ix *x, const char *given, size_t known)
{
	struct stat st;
	if (stat(given, &st) < 0)
		return err_set(x->err, errno, "cannot open '%s'", given);
	char *path = realpath(given, NULL), logs[4096];
	int n = snprintf(logs, sizeof(logs), "%s/logs/", x->s->home);
	bool below = path && n > 0 && (size_t)n < sizeof(logs) && !strncmp(path, logs, (size_t)n);
	int rc = path ? register_segment(x, below ? path + n : path, known, &st) : -errno;
	free(path);
	return rc;
}

/* The segments that were known, sorted, and those that are there now, sorted among themselves. */
static int find_segments(struct ix *x)
{
	int rc = load_segments(x);
	if (rc < 0)
		return rc;
	if (x->segments.n)
		qsort(x->segments.v, x->segments.n, sizeof(*x->segments.v), segment_cmp);
	size_t known = x->segments.n;
	rc = x->o->only_segment ? register_only_segment(x, x->o->only_segment, known) : scan_log_folder(x, "", 0, known);
	if (rc == 0 && x->segments.n > known)
		qsort(x->segments.v + known, x->segments.n - known, sizeof(*x->segments.v), segment_cmp);
	return rc;
}

/* The frames of those that have changed. */
static int scan_segments(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->segments.n; i++) {
		struct ix_segment *s = &x->segments.v[i];
		if (!s->id)
			s->id = x->next_segment++;
		char full[4096];
		uint32_t at;
		if (full_path(x, s->path, full, sizeof(full)) < 0)
			full[0] = '\0';
		if (collect_path(&x->w, full, &at) < 0)
			return ix_oom(x);
		if (!s->changed)
			continue;
		if (collect_is_full(&x->w))
			s->changed = false; /* it is left for the next part */
		else
			rc = scan_segment(x, s, at, full);
	}
	x->parts->more |= collect_is_full(&x->w);
	x->w.most = 0; /* what is wanted beside these is read wherever it is */
	return rc;
}

int ix_is_current(struct ix *x)
{
	int rc = find_segments(x);
	for (size_t i = 0; rc == 0 && i < x->segments.n; i++)
		if (x->segments.v[i].changed)
			return 0;
	return rc < 0 ? rc : 1;
}

int ix_scan(struct ix *x)
{
	int rc = find_segments(x);
	x->w.most = ix_part_events(x);
	if (rc == 0)
		rc = scan_segments(x);
	if (rc < 0)
		return rc;
	x->stats.frames = x->w.frames.n;
	x->stats.skipped_bytes = x->w.damage.skipped;
	x->stats.torn_bytes = x->w.damage.torn;
	x->stats.newer_frames = x->w.damage.newer;
	rc = ix_take_part(x);
	if (rc < 0)
		return rc;
	bool moved = false;
	for (size_t i = 0; i < x->segments.n; i++)
		moved |= x->segments.v[i].changed && x->segments.v[i].done != x->segments.v[i].from;
	return x->w.frames.n || moved || x->continues || ix_damage_is_new(x);
}
