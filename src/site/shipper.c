#include "site/shipper.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/map.h"
#include "event/log_place.h"
#include "event/log_reader.h"
#include "site/collector.h"
#include "site/segment_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKS_HEAD "stemma-ship 1"
enum { MARKS_MAX = 256 << 20, PENDING = 64 };

struct mark {
	char *path;
	uint64_t dev, ino;
	uint64_t sent;  /* up to here the collector has all */
	uint64_t batch; /* ... and the batch at hand */
};
struct shipper {
	char *home, *file, *temporary;
	int lock;
	bool collected;            /* what was collected is sent */
	char id[COLLECTOR_ID + 1]; /* the collector's; "": it has never answered */
	char pending[PENDING];     /* the batch that is not answered yet */
	size_t head;               /* bytes of the batch before its first frame */
	VEC(struct mark) marks;
	struct map by_path; /* hash of a path -> its mark; a clash costs only that a segment is sent again */
	struct buf batch;
};

/* NULL is no error. */
void shipper_close(struct shipper *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->marks.n; i++)
		free(s->marks.v[i].path);
	vec_release(&s->marks);
	map_release(&s->by_path);
	buf_release(&s->batch);
	if (s->lock >= 0)
		close(s->lock);
	free(s->home);
	free(s->file);
	free(s->temporary);
	free(s);
}

/* The mark of how much of a segment was sent. NULL: nothing is known of that path. */
static struct mark *find_mark(const struct shipper *s, const char *path)
{
	const uint32_t at = map_get(&s->by_path, hash_str(str_of(path)));
	return at != VEC_NONE && !strcmp(s->marks.v[at].path, path) ? &s->marks.v[at] : NULL;
}

/* Copies path. NULL: no memory. */
static struct mark *add_mark(struct shipper *s, const char *path)
{
	char *copy = strdup(path);
	struct mark *m = copy ? vec_add(&s->marks) : NULL;
	if (!m || !map_set(&s->by_path, hash_str(str_of(path)), (uint32_t)(s->marks.n - 1))) {
		if (m)
			s->marks.n--;
		free(copy);
		return NULL;
	}
	*m = (struct mark){.path = copy};
	return m;
}

/* ---- the marks on disk ---- */

/* What it cannot read is left out, and sent again. 0, -ENOMEM. */
static int parse_marks(struct shipper *s, char *text)
{
	char *save = NULL, *line = strtok_r(text, "\n", &save);
	if (!line || strcmp(line, MARKS_HEAD) != 0)
		return 0;
	while ((line = strtok_r(NULL, "\n", &save))) {
		unsigned long long dev, ino, sent, batch;
		int at = 0;
		if (sscanf(line, "collector %26s", s->id) == 1 || sscanf(line, "pending %63s", s->pending) == 1)
			continue;
		if (sscanf(line, "%llu %llu %llu %llu %n", &dev, &ino, &sent, &batch, &at) != 4 || !line[at])
			return 0; /* what cannot be read is sent again */
		struct mark *m = add_mark(s, line + at);
		if (!m)
			return -ENOMEM;
		m->dev = dev;
		m->ino = ino;
		m->sent = sent;
		m->batch = batch;
	}
	return 0;
}

/* Reads how much of each segment was sent. 0 also where there is no file; -errno, reported. */
static int read_marks(struct shipper *s, struct err *err)
{
	struct buf text = {0};
	int rc = io_read_file(s->file, MARKS_MAX, &text);
	if (rc == 0 && text.n)
		rc = buf_cstr(&text) && !text.failed ? parse_marks(s, text.p) : -ENOMEM;
	buf_release(&text);
	return rc < 0 && rc != -ENOENT ? err_set(err, -rc, "cannot read '%s'", s->file) : 0;
}

/* In one step: the old file stays on an error. -errno, reported. */
static int write_marks(struct shipper *s, struct err *err)
{
	struct buf out = {0};
	buf_printf(&out, MARKS_HEAD "\n");
	if (s->id[0])
		buf_printf(&out, "collector %s\n", s->id);
	if (s->pending[0])
		buf_printf(&out, "pending %s\n", s->pending);
	for (size_t i = 0; i < s->marks.n; i++) {
		const struct mark *m = &s->marks.v[i];
		if (m->batch && !strchr(m->path, '\n'))
			buf_printf(&out, "%llu %llu %llu %llu %s\n", (unsigned long long)m->dev, (unsigned long long)m->ino,
			           (unsigned long long)m->sent, (unsigned long long)m->batch, m->path);
	}
	int fd = open(s->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc = fd < 0 ? -errno : out.failed ? -ENOMEM : io_write(fd, out.p, out.n, NULL);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc == 0 && rename(s->temporary, s->file) < 0)
		rc = -errno;
	buf_release(&out);
	return rc < 0 ? err_set(err, -rc, "cannot write '%s'", s->file) : 0;
}

/* Of the destination, in the record's ship/; takes the lock there. -EBUSY, reported: another process ships there. */
static int make_paths(struct shipper *s, const char *home, const char *destination, struct err *err)
{
	char *dir = NULL, *lock = NULL;
	const unsigned long long h = hash_str(str_of(destination)) ^ (s->collected ? hash_str(str_of("collected")) : 0);
	if (!(s->home = realpath(home, NULL)))
		return err_set(err, errno, "cannot open the record '%s'", home);
	if (asprintf(&dir, "%s/ship", s->home) < 0 || asprintf(&s->file, "%s/%016llx", dir, h) < 0 ||
	    asprintf(&s->temporary, "%s/%016llx.new", dir, h) < 0 || asprintf(&lock, "%s/%016llx.lock", dir, h) < 0) {
		free(dir);
		return err_set(err, ENOMEM, "cannot ship");
	}
	int rc = io_mkdirs(dir, 0700);
	int fd = rc < 0 ? rc : open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	fd = fd < 0 ? (rc < 0 ? rc : -errno) : io_above_std(fd);
	s->lock = fd;
	if (fd < 0) {
		rc = err_set(err, -fd, "cannot open '%s'", lock);
	} else if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
		err_set(err, 0, "another stemma ship is sending this record to '%s'", destination);
		err_hint(err, "wait until it has ended, or stop it");
	}
	free(dir);
	free(lock);
	return rc;
}

int shipper_open(const char *home, const char *destination, bool collected, struct err *err, struct shipper **ret)
{
	struct shipper *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, ENOMEM, "cannot ship");
	s->lock = -1;
	s->collected = collected;
	int rc = make_paths(s, home, destination, err);
	rc = rc < 0 ? rc : read_marks(s, err);
	if (rc < 0) {
		shipper_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* ---- frames ---- */

/* The name of the sender from whom a segment was collected, up to the next '/'; NULL: it was recorded here. Only names
 * below the record's folder count. */
static const char *collected_from(const struct shipper *s, const char *path)
{
	const char *day = strstr(path + strlen(s->home), "/" LOG_PLACE_COLLECTED);
	return day ? day + 1 + strlen(LOG_PLACE_COLLECTED) : NULL;
}

/* What others recorded is theirs to send, unless this shipper is to pass it on. */
static bool is_to_send(const struct shipper *s, const char *path)
{
	return s->collected ? collected_from(s, path) != NULL
	                    : !strstr(path + strlen(s->home), "/import/") && !collected_from(s, path);
}

/* The line that says of which sender the batch is, before its first frame. False: the batch is of another sender. */
static bool begin_relayed(struct shipper *s, const char *path)
{
	const char *name = collected_from(s, path);
	const size_t head = strlen(COLLECTOR_RELAYED), n = strcspn(name, "/");
	if (s->batch.n > s->head)
		return s->batch.n > head + n && !memcmp(s->batch.p + head, name, n) && s->batch.p[head + n] == '\n';
	buf_reset(&s->batch); /* of a segment that had no whole frame */
	buf_printf(&s->batch, COLLECTOR_RELAYED "%.*s\n", (int)n, name);
	s->head = s->batch.n;
	return true;
}

/* Does the path lie below another host's folder than `of`, the one before (NULL: none)? */
static bool is_next_host(const struct shipper *s, const char *path, const char *of)
{
	const char *host = path + strlen(s->home), *slash = NULL;
	for (unsigned i = 0; i < 3 && (slash = strchr(slash ? slash + 1 : host, '/')); i++)
		;
	return !of || !slash || strncmp(path, of, (size_t)(slash + 1 - path)) != 0;
}

/* Frames of one segment behind its mark, until the batch is full. *ret_full: it is. -errno, reported; 0 also where the
 * segment is gone. *frames grows. */
static int gather_segment(struct shipper *s, struct mark *m, struct err *err, uint64_t *frames, bool *ret_full)
{
	struct log_reader *r;
	struct log_frame_info f;
	int fd = io_above_std(open(m->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "cannot read '%s'", m->path);
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int rc = copy < 0 ? -errno : log_reader_fdopen(copy, err, &r);
	if (rc < 0) {
		if (copy >= 0)
			close(copy);
		close(fd);
		return err_set(err, -rc, "cannot read '%s'", m->path);
	}
	log_reader_seek(r, m->sent);
	while ((rc = log_reader_frame(r, &f)) == 1) {
		const size_t n = (size_t)(f.end - f.offset);
		if (s->batch.n > s->head && s->batch.n + n > (s->collected ? SHIPPER_RELAYED : SHIPPER_BATCH)) {
			*ret_full = true;
			break;
		}
		if (!buf_room(&s->batch, n)) {
			rc = -ENOMEM;
			break;
		}
		if (io_pread(fd, s->batch.p + s->batch.n, n, f.offset) != (ssize_t)n)
			break; /* it was rewritten just now: the next call sees */
		s->batch.n += n;
		m->batch = f.end;
		++*frames;
	}
	log_reader_close(r);
	close(fd);
	return rc < 0 ? err_set(err, -rc, "cannot read '%s'", m->path) : 0;
}

/* The mark of a segment as it is now; NULL without memory. */
static struct mark *mark_of(struct shipper *s, const char *path, const struct stat *st)
{
	struct mark *m = find_mark(s, path);
	if (!m)
		m = add_mark(s, path);
	if (m && (m->dev != st->st_dev || m->ino != st->st_ino || m->sent > (uint64_t)st->st_size)) {
		m->dev = st->st_dev;
		m->ino = st->st_ino;
		m->sent = 0;
	}
	if (m)
		m->batch = m->sent;
	return m;
}

/* Lists the segments of the record. 0, -errno with a sentence. Release ret. */
static int list_segments(const struct shipper *s, struct err *err, struct segment_list *ret)
{
	return segment_list_read(s->home, err, ret);
}

int shipper_batch(struct shipper *s, struct err *err, struct str *ret, uint64_t *ret_frames)
{
	struct segment_list list;
	struct stat st;
	bool full = false;
	const char *last = NULL;
	unsigned hosts = 0;
	buf_reset(&s->batch);
	s->head = 0;
	*ret_frames = 0;
	int rc = list_segments(s, err, &list);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < s->marks.n; i++)
		s->marks.v[i].batch = s->marks.v[i].sent;
	for (size_t i = 0; rc == 0 && !full && i < list.paths.n; i++) {
		const char *path = list.paths.v[i];
		if (!is_to_send(s, path) || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		struct mark *m = mark_of(s, path, &st);
		if (!m)
			rc = err_set(err, ENOMEM, "cannot ship");
		else if (m->sent >= (uint64_t)st.st_size)
			continue;
		else if (is_next_host(s, path, last) && ++hosts > COLLECTOR_BATCH_HOSTS)
			break;
		else if (s->collected && !begin_relayed(s, path))
			break;
		else
			rc = gather_segment(s, m, err, ret_frames, &full);
		last = path;
	}
	segment_list_release(&list);
	*ret = buf_view(&s->batch);
	return rc < 0 ? rc : s->batch.n > s->head;
}

int shipper_sent(struct shipper *s, struct err *err)
{
	for (size_t i = 0; i < s->marks.n; i++)
		s->marks.v[i].sent = s->marks.v[i].batch;
	s->pending[0] = '\0';
	return write_marks(s, err);
}

int shipper_left(struct shipper *s, const char *name, struct err *err)
{
	snprintf(s->pending, sizeof(s->pending), "%s", name);
	return write_marks(s, err);
}

const char *shipper_pending(const struct shipper *s)
{
	return s->pending;
}

/* What is pending is to be sent again. */
void shipper_lost(struct shipper *s)
{
	s->pending[0] = '\0';
}

bool shipper_is_other(struct shipper *s, const char *id)
{
	const bool other = s->id[0] && strcmp(s->id, id) != 0;
	snprintf(s->id, sizeof(s->id), "%s", id);
	for (size_t i = 0; other && i < s->marks.n; i++)
		s->marks.v[i].sent = s->marks.v[i].batch = 0;
	return other;
}

int shipper_waiting(struct shipper *s, struct err *err, uint64_t *ret)
{
	struct segment_list list;
	struct stat st;
	*ret = 0;
	int rc = list_segments(s, err, &list);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list.paths.n; i++) {
		const char *path = list.paths.v[i];
		if (!is_to_send(s, path) || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		const struct mark *m = find_mark(s, path);
		const bool same = m && m->dev == st.st_dev && m->ino == st.st_ino && m->sent <= (uint64_t)st.st_size;
		*ret += (uint64_t)st.st_size - (same ? m->sent : 0);
	}
	segment_list_release(&list);
	return 0;
}
