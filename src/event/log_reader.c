#include "event/log_reader.h"

#include "base/io.h"
#include "event/log_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file is not mapped: it may be truncated while it is read, and a mapping would then kill the reader. Twice the
 * largest frame, so that moving the rest of a piece to the front is rare. */
#define PIECE (2 * ((size_t)LOG_PAYLOAD_MAX + sizeof(struct log_frame)))
#define MAGIC_LEN 3 /* without the version digit */

struct log_reader {
	int fd;           /* -1: memory */
	char *piece;      /* of PIECE bytes; NULL: memory */
	const char *data; /* what is at hand: n bytes of the file from offset `base` */
	uint64_t base;
	size_t n;
	uint64_t pos; /* all before is dealt with */
	struct log_damage damage;
	/* the current frame */
	const unsigned char *p, *end; /* events not yet given */
	struct buf unpacked;          /* where they are, of a packed one */
	uint32_t left;                /* how many of them */
	uint64_t session, seq;
	int64_t time; /* of the event before */
};

/* Makes a reader. 0, -ENOMEM. */
static int reader_new(struct log_reader **ret)
{
	struct log_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->fd = -1;
	*ret = r;
	return 0;
}

int log_reader_memopen(const void *p, size_t n, struct log_reader **ret)
{
	struct log_reader *r;
	if (reader_new(&r) < 0)
		return -ENOMEM;
	r->data = p;
	r->n = n;
	*ret = r;
	return 0;
}

int log_reader_fdopen(int fd, struct err *err, struct log_reader **ret)
{
	struct log_reader *r;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "cannot read the log");
	if (!S_ISREG(st.st_mode))
		return err_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "the log is not a regular file");
	if (reader_new(&r) < 0)
		return err_set(err, ENOMEM, "cannot read the log");
	r->piece = malloc(PIECE);
	if (!r->piece) {
		free(r);
		return err_set(err, ENOMEM, "cannot read the log");
	}
	r->data = r->piece;
	r->fd = fd;
	*ret = r;
	return 0;
}

int log_reader_open(const char *path, struct err *err, struct log_reader **ret)
{
	/* O_NONBLOCK: a fifo must not hang us before it is refused. */
	int fd = io_above_std(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	if (fd < 0)
		return err_set(err, errno, "cannot open the log %s", path);
	struct err why = {0};
	int r = log_reader_fdopen(fd, &why, ret);
	if (r < 0) {
		close(fd);
		err_set(err, 0, "%s: %s", path, why.text);
	}
	return r;
}

/* NULL is no error. */
void log_reader_close(struct log_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r->piece);
	buf_release(&r->unpacked);
	free(r);
}

void log_reader_seek(struct log_reader *r, uint64_t offset)
{
	r->pos = offset;
	r->p = r->end = NULL;
	r->left = 0;
}

/* It lives as long as r, and grows as r reads. */
const struct log_damage *log_reader_damage(const struct log_reader *r)
{
	return &r->damage;
}

/* Makes the n bytes (at most half a PIECE) at offset at hand: 1, 0 if the file ends before, -errno. */
static int have(struct log_reader *r, uint64_t offset, size_t n)
{
	if (offset >= r->base && offset - r->base <= r->n && r->n - (offset - r->base) >= n)
		return 1;
	if (!r->piece)
		return 0;
	size_t keep = 0;
	if (offset >= r->base && offset - r->base < r->n) {
		keep = r->n - (size_t)(offset - r->base);
		memmove(r->piece, r->piece + (offset - r->base), keep);
	}
	r->base = offset;
	r->n = keep;
	ssize_t k = io_pread(r->fd, r->piece + keep, PIECE - keep, offset + keep);
	if (k < 0)
		return (int)k;
	r->n += (size_t)k;
	return r->n >= n;
}

/* The bytes at this offset of the file; the caller has made sure that they are in the window. */
static const char *bytes_in_window(const struct log_reader *r, uint64_t offset)
{
	return r->data + (offset - r->base);
}

/* The first place at or after offset where the letters of the magic are: 1, 0 if there is none, -errno. */
static int find_magic(struct log_reader *r, uint64_t offset, uint64_t *ret)
{
	for (;;) {
		int k = have(r, offset, MAGIC_LEN);
		if (k <= 0)
			return k;
		size_t n = r->n - (size_t)(offset - r->base);
		const char *from = bytes_in_window(r, offset), *hit = memmem(from, n, "STL", MAGIC_LEN);
		if (hit) {
			*ret = offset + (uint64_t)(hit - from);
			return 1;
		}
		offset += n - (MAGIC_LEN - 1); /* the magic may begin in the last two bytes */
	}
}

/* Does a frame, of whatever version, or the end of the file follow at offset? Looks without moving what is at hand. 1,
 * 0, -errno. */
static int boundary(struct log_reader *r, uint64_t offset)
{
	char b[1 + MAGIC_LEN]; /* the byte before, to know that the file reaches there */
	ssize_t k;
	if (r->piece) {
		k = io_pread(r->fd, b, sizeof(b), offset - 1);
		if (k < 0)
			return (int)k;
	} else {
		uint64_t left = offset - 1 < r->n ? r->n - (offset - 1) : 0;
		k = left < sizeof(b) ? (ssize_t)left : (ssize_t)sizeof(b);
		if (k > 0)
			memcpy(b, r->data + offset - 1, (size_t)k);
	}
	return k > 0 && memcmp(b + 1, "STL", (size_t)k - 1) == 0;
}

/* What begins at offset, where the magic's letters are: 1 a whole frame; 2 a newer one; 0 nothing; -errno. */
static int read_frame_header(struct log_reader *r, uint64_t offset, struct log_frame *ret)
{
	int k = have(r, offset, sizeof(*ret));
	if (k <= 0)
		return k;
	*ret = log_frame_header(bytes_in_window(r, offset));
	uint32_t digit = ret->magic >> 24;
	if (digit > LOG_MAGIC_PACKED >> 24 && digit <= '9') {
		/* Nothing but its size is known of it, and a damaged digit looks the same: what it leads to must fit. */
		k = boundary(r, offset + sizeof(*ret) + ret->size);
		return k > 0 ? 2 : k;
	}
	if (!log_frame_plausible(ret))
		return 0;
	k = have(r, offset, sizeof(*ret) + ret->size);
	return k > 0 ? log_frame_intact(bytes_in_window(r, offset), ret) : k;
}

/* The next whole frame, of which *ret_header is the header. As log_reader_frame, but its events are not at hand. */
static int find_frame(struct log_reader *r, struct log_frame_info *ret, struct log_frame *ret_header)
{
	uint64_t at = r->pos;
	struct log_frame h;
	int k;
	log_reader_seek(r, r->pos);
	for (;;) {
		k = find_magic(r, at, &at);
		if (k <= 0)
			break;
		k = read_frame_header(r, at, &h);
		if (k < 0)
			return k;
		if (k == 0) {
			at++;
			continue;
		}
		r->damage.skipped += at - r->pos;
		r->pos = at + sizeof(h) + h.size;
		if (k == 1)
			break;
		r->damage.newer++;
		at = r->pos;
	}
	if (k < 0)
		return k;
	/* What lies behind pos at the end is not dealt with: the rest of it may still be written. */
	uint64_t end = r->base + r->n;
	r->damage.torn = k == 0 && end > r->pos ? end - r->pos : 0;
	if (k == 0) {
		if (r->piece)
			r->n = 0; /* ... or written again otherwise */
		return 0;
	}
	*ret_header = h;
	*ret = (struct log_frame_info){
	    .offset = at,
	    .end = r->pos,
	    .session = h.session,
	    .number = h.number,
	    .count = h.count,
	    .seq = h.seq,
	    .time = h.time,
	    .sum = h.sum,
	};
	return 1;
}

int log_reader_skim(struct log_reader *r, struct log_frame_info *ret)
{
	struct log_frame h;
	return find_frame(r, ret, &h);
}

int log_reader_frame(struct log_reader *r, struct log_frame_info *ret)
{
	struct log_frame h;
	struct str events;
	int k = find_frame(r, ret, &h);
	if (k <= 0)
		return k;
	k = log_frame_events(bytes_in_window(r, ret->offset), &h, &r->unpacked, &events);
	if (k == -ENOMEM)
		return k;
	r->damage.bad_events += k < 0;
	r->p = (const unsigned char *)events.p;
	r->end = r->p + events.n;
	r->left = k < 0 ? 0 : h.count;
	r->session = h.session;
	r->seq = h.seq;
	r->time = h.time;
	return 1;
}

int log_reader_header(struct log_reader *r, uint64_t offset, struct log_frame *ret)
{
	int k = have(r, offset, sizeof(*ret));
	r->p = r->end = NULL;
	r->left = 0;
	if (k <= 0)
		return k;
	*ret = log_frame_header(bytes_in_window(r, offset));
	return log_frame_plausible(ret);
}

int log_reader_event(struct log_reader *r, struct event *ret)
{
	if (!r->left) {
		if (r->p != r->end)
			r->damage.bad_events++; /* more bytes than events */
		r->p = r->end;
		return 0;
	}
	if (event_decode(&r->p, r->end, r->time, ret) < 0) {
		r->damage.bad_events++;
		r->p = r->end;
		r->left = 0;
		return 0;
	}
	ret->writer = r->session;
	ret->seq = r->seq++;
	r->time = ret->time;
	r->left--;
	return 1;
}
