#include "keep/rewrite.h"

#include "base/io.h"
#include "event/log_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_MAX (1u << 20) /* gathered before a write */

/* ---- edits ---- */

int edits_add(struct edits *e, uint64_t session, uint64_t seq, const struct event *ev)
{
	struct edit *slot = vec_add(e);
	if (!slot)
		return -ENOMEM;
	*slot = (struct edit){session, seq, e->bytes.n, 0};
	if (ev && event_encode(&e->bytes, ev, ev->time) < 0)
		return -ENOMEM;
	slot->n = e->bytes.n - slot->at;
	return 0;
}

void edits_whole(struct edits *e, size_t first, uint64_t session)
{
	uint64_t *slot = vec_add(&e->wholes);
	if (slot) { /* else it goes event by event */
		*slot = session;
		e->n = first;
	}
}

/* Order of qsort: as the events lie in the session. */
static int edit_cmp(const void *pa, const void *pb)
{
	const struct edit *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* The order of numbers, for qsort. */
static int number_cmp(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return (a > b) - (a < b);
}

int edits_ready(struct edits *e)
{
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), edit_cmp);
	if (e->wholes.n)
		qsort(e->wholes.v, e->wholes.n, sizeof(*e->wholes.v), number_cmp);
	return e->bytes.failed ? -ENOMEM : 0;
}

/* e itself may not be used afterwards. */
void edits_release(struct edits *e)
{
	vec_release(e);
	vec_release(&e->wholes);
	buf_release(&e->bytes);
}

/* The first edit of the session with at least that seq. */
static size_t first_edit(const struct edits *e, uint64_t session, uint64_t seq)
{
	size_t lo = 0, hi = e->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct edit *m = &e->v[mid];
		if (m->session < session || (m->session == session && m->seq < seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Whether the session goes as a whole. wholes must be sorted. */
static bool is_whole_session(const struct edits *e, uint64_t session)
{
	return e->wholes.n && bsearch(&session, e->wholes.v, e->wholes.n, sizeof(session), number_cmp);
}

/* Does an edit concern a frame? Of the frame whose first event is seq, with `count` events. */
static bool is_frame_touched(const struct edits *e, uint64_t session, uint64_t seq, uint32_t count)
{
	size_t i = first_edit(e, session, seq);
	return i < e->n && e->v[i].session == session && e->v[i].seq < seq + count;
}

/* Does anything of the frame go or change? After edits_ready. */
static bool edits_touch(const struct edits *e, const struct collect_frame *f)
{
	return is_whole_session(e, f->session) || is_frame_touched(e, f->session, f->seq, f->count);
}

/* ---- frames ---- */

struct output {
	int fd;
	struct buf bytes;
	uint64_t size;
	/* the frame being made */
	struct buf events;
	struct log_frame head;
	int64_t last; /* time of the latest event in it */
};

/* Writes what has gathered to the new file. 0, -errno; what was held is dropped in either case. */
static int flush_output(struct output *o)
{
	int rc = o->bytes.failed ? -ENOMEM : io_write(o->fd, o->bytes.p, o->bytes.n, NULL);
	o->size += o->bytes.n;
	o->bytes.n = 0;
	return rc;
}

/* Ends the frame that is being written. 0 without any event. -ENOMEM, -errno of a write. */
static int end_frame(struct output *o)
{
	if (!o->head.count)
		return 0;
	o->head.size = (uint32_t)o->events.n;
	if (o->events.failed || log_frame_add(&o->bytes, &o->head, o->events.p) < 0)
		return -ENOMEM;
	o->head.count = 0;
	buf_reset(&o->events);
	return o->bytes.n >= OUT_MAX ? flush_output(o) : 0;
}

/* An event as bytes: everything but its time is copied, so that fields of a newer stemma stay. */
struct raw {
	uint64_t kind, proc;
	int64_t time;
	struct str rest;
};

/* Decodes an event's head, and steps over all of it. false: it is cut off. before: the time of the event before it. */
static bool raw_next(const unsigned char **p, const unsigned char *end, int64_t before, struct raw *ret)
{
	uint64_t length, delta;
	if (!varint_get(p, end, &length) || length > (size_t)(end - *p))
		return false;
	const unsigned char *stop = *p + length;
	if (!varint_get(p, stop, &ret->kind) || !varint_get(p, stop, &delta) || !varint_get(p, stop, &ret->proc))
		return false;
	ret->time = (int64_t)((uint64_t)before + (uint64_t)unzigzag(delta));
	ret->rest = str_n((const char *)*p, (size_t)(stop - *p));
	*p = stop;
	return true;
}

/* Writes an event as it was. Into the frame at hand, or a new one where the event does not follow. -ENOMEM, -errno
 * of a write. */
static int put_raw(struct output *o, const struct log_frame *of, uint64_t seq, const struct raw *e)
{
	/* A frame states the seq of its first event only: after a gap another begins. */
	if (o->head.count &&
	    (o->head.seq + o->head.count != seq || o->events.n + e->rest.n + 4 * VARINT_MAX > LOG_PAYLOAD_MAX)) {
		int rc = end_frame(o);
		if (rc < 0)
			return rc;
	}
	if (!o->head.count) {
		o->head = (struct log_frame){.session = of->session, .number = of->number, .seq = seq, .time = e->time};
		o->last = e->time;
	}
	unsigned char head[3 * VARINT_MAX];
	size_t n = varint_put(head, e->kind);
	n += varint_put(head + n, zigzag((int64_t)((uint64_t)e->time - (uint64_t)o->last)));
	n += varint_put(head + n, e->proc);
	buf_varint(&o->events, n + e->rest.n);
	buf_add(&o->events, head, n);
	buf_str(&o->events, e->rest);
	o->head.count++;
	o->last = e->time;
	return o->events.failed ? -ENOMEM : 0;
}

/* A frame that lost all its events stays as an empty one, so that its number does not look as if it had been lost. 0,
 * -errno. */
static int end_empty(struct output *o, const struct log_frame *of, bool any)
{
	if (any)
		return 0;
	o->head = (struct log_frame){.session = of->session, .number = of->number, .seq = of->seq, .time = of->time};
	buf_reset(&o->events);
	return log_frame_add(&o->bytes, &o->head, "") < 0 ? -ENOMEM : o->bytes.n >= OUT_MAX ? flush_output(o) : 0;
}

/* The event with that seq, as the edits have it; any: something of the frame is left. at: the place in the edits, which
 * goes on. raw: the event as it was. 0, -errno. */
static int put_edited_event(struct output *o, const struct edits *e, const struct log_frame *h, size_t *at,
                            uint64_t seq, const struct raw *raw, bool *any)
{
	struct raw other;
	while (*at < e->n && e->v[*at].session == h->session && e->v[*at].seq < seq)
		++*at;
	const struct edit *edit = *at < e->n && e->v[*at].session == h->session && e->v[*at].seq == seq ? &e->v[*at] : NULL;
	*any |= !edit || edit->n;
	if (!edit)
		return put_raw(o, h, seq, raw);
	const unsigned char *q = (const unsigned char *)e->bytes.p + edit->at;
	if (edit->n && raw_next(&q, q + edit->n, raw->time, &other))
		return put_raw(o, h, seq, &other);
	return 0;
}

/* A frame of which some events go or change. What of it cannot be decoded goes. damaged grows by the bytes that went
 * for that. -errno. */
static int put_edited(struct output *o, const struct edits *e, const char *frame, uint64_t *damaged)
{
	struct log_frame h = log_frame_header(frame);
	struct buf room = {0};
	struct str events;
	int rc = log_frame_events(frame, &h, &room, &events);
	if (rc == -EBADMSG) {
		*damaged += h.size;
		rc = 0;
	}
	const unsigned char *p = (const unsigned char *)events.p, *end = p + events.n;
	size_t at = first_edit(e, h.session, h.seq);
	int64_t time = h.time;
	bool any = false;
	for (uint64_t seq = h.seq; rc == 0 && seq < h.seq + h.count; seq++) {
		struct raw raw;
		if (!raw_next(&p, end, time, &raw)) {
			*damaged += (uint64_t)(end - p);
			break;
		}
		time = raw.time;
		rc = put_edited_event(o, e, &h, &at, seq, &raw, &any);
	}
	buf_release(&room);
	return rc < 0 ? rc : o->head.count ? end_frame(o) : end_empty(o, &h, any);
}

/* The bytes from offset to end, unchanged. -EAGAIN: the file is shorter by now. */
static int copy_frame_bytes(struct output *o, int from, uint64_t offset, uint64_t end, struct buf *room)
{
	buf_reset(room);
	if (!buf_room(room, end - offset))
		return -ENOMEM;
	ssize_t k = io_pread(from, room->p, end - offset, offset);
	if (k < 0 || (uint64_t)k != end - offset)
		return k < 0 ? (int)k : -EAGAIN;
	buf_add(&o->bytes, room->p, (size_t)k);
	return o->bytes.n >= OUT_MAX ? flush_output(o) : 0;
}

/* Frames of a newer format between two places: their sizes lead through. Bytes between them that are of no frame go,
 * and are counted in *damaged. 0, -errno. */
static int copy_newer(struct output *o, int from, uint64_t offset, uint64_t end, struct buf *room, uint64_t *damaged)
{
	while (offset < end) {
		struct log_frame h;
		char head[sizeof(h)];
		bool newer = end - offset >= sizeof(h) && io_pread(from, head, sizeof(head), offset) == (ssize_t)sizeof(head);
		if (newer) {
			h = log_frame_header(head);
			newer = (h.magic & LOG_MAGIC_MASK) == (LOG_MAGIC & LOG_MAGIC_MASK) &&
			        h.magic >> 24 > LOG_MAGIC_PACKED >> 24 && h.magic >> 24 <= '9' &&
			        sizeof(h) + h.size <= end - offset;
		}
		if (!newer) { /* on to where one may be */
			(*damaged)++;
			offset++;
			continue;
		}
		int rc = copy_frame_bytes(o, from, offset, offset + sizeof(h) + h.size, room);
		if (rc < 0)
			return rc;
		offset += sizeof(h) + h.size;
	}
	return 0;
}

/* A frame that was read: it goes with its session, or is written as the edits have it. room: a buffer to use. -EAGAIN:
 * the file is shorter by now; -errno. */
static int rewrite_frame(const struct edits *e, int from, const struct log_frame_info *f, struct output *o,
                         struct buf *room, uint64_t *damaged)
{
	uint64_t n = f->end - f->offset;
	if (is_whole_session(e, f->session))
		return 0;
	if (!is_frame_touched(e, f->session, f->seq, f->count))
		return copy_frame_bytes(o, from, f->offset, f->end, room);
	buf_reset(room);
	if (!buf_room(room, n))
		return -ENOMEM;
	if (io_pread(from, room->p, n, f->offset) != (ssize_t)n)
		return -EAGAIN;
	return put_edited(o, e, room->p, damaged);
}

/* All frames of the segment into o, with the edits; ret gets what was damaged or newer. `from` stays open. -errno. */
static int write_rewritten(const struct keep_segment *s, const struct edits *e, int from, struct output *o,
                           struct rewritten *ret, struct err *err)
{
	struct log_reader *r;
	struct log_frame_info f;
	struct buf room = {0};
	uint64_t at = 0;
	int copy_fd = fcntl(from, F_DUPFD_CLOEXEC, 3);
	int rc = copy_fd < 0 ? -errno : log_reader_fdopen(copy_fd, err, &r);
	if (rc < 0) {
		if (copy_fd >= 0)
			close(copy_fd);
		return rc;
	}
	for (bool more = true; rc == 0 && more;) {
		uint64_t newer = log_reader_damage(r)->newer;
		rc = log_reader_frame(r, &f);
		if (rc < 0)
			break;
		more = rc == 1;
		rc = 0;
		uint64_t to = more ? f.offset : s->size;
		if (log_reader_damage(r)->newer != newer)
			rc = copy_newer(o, from, at, to, &room, &ret->damaged);
		else
			ret->damaged += to - at;
		if (rc < 0 || !more)
			break;
		at = f.end;
		rc = rewrite_frame(e, from, &f, o, &room, &ret->damaged);
	}
	ret->newer = log_reader_damage(r)->newer;
	log_reader_close(r);
	buf_release(&room);
	return rc < 0 ? rc : flush_output(o);
}

/* ---- files ---- */

/* A file in dir that has no name yet, where the file system can do that; else *ret_named is set and it has `temporary`.
 */
static int open_new(int dir, const char *temporary, bool *ret_named)
{
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	*ret_named = fd < 0;
	if (fd >= 0)
		return io_above_std(fd);
	unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : io_above_std(fd);
}

/* Gives a file without a name that one; another of that name goes. -errno. */
static int give_name(int dir, int fd, const char *temporary)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (unlinkat(dir, temporary, 0) < 0 && errno != ENOENT)
		return -errno;
	return linkat(AT_FDCWD, link, dir, temporary, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* A segment that is being written anew. */
struct rewriting {
	const struct keep_segment *s;
	char *dir_path, *name, *temporary; /* name lies in dir_path */
	int dir, from;
	struct stat was; /* of the old file */
	struct output o;
	bool named; /* the new one has the name `temporary` */
};

/* Begins to write a segment anew. -errno: rewriting_end is due then, too. The new file has a name only where the
 * file system has none without. */
static int rewriting_begin(struct rewriting *w, const struct keep_segment *s)
{
	*w = (struct rewriting){.s = s, .dir_path = strdup(s->path), .dir = -1, .from = -1, .o = {.fd = -1}};
	char *slash = w->dir_path ? strrchr(w->dir_path, '/') : NULL;
	if (!slash || asprintf(&w->temporary, "%s.new", slash + 1) < 0) {
		w->temporary = NULL;
		return -ENOMEM;
	}
	*slash = '\0';
	w->name = slash + 1;
	w->dir = io_above_std(open(w->dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	w->from = w->dir < 0 ? -1 : io_above_std(openat(w->dir, w->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
	if (w->from < 0 || fstat(w->from, &w->was) < 0)
		return -errno;
	w->o.fd = open_new(w->dir, w->temporary, &w->named);
	return w->o.fd < 0 ? w->o.fd : 0;
}

/* Removes the new file if it has a name still. */
static void rewriting_end(struct rewriting *w)
{
	if (w->named && w->dir >= 0)
		unlinkat(w->dir, w->temporary, 0);
	if (w->o.fd >= 0)
		close(w->o.fd);
	if (w->from >= 0)
		close(w->from);
	if (w->dir >= 0)
		close(w->dir);
	buf_release(&w->o.bytes);
	buf_release(&w->o.events);
	free(w->dir_path);
	free(w->temporary);
}

/* The new file is as the old one was, and on the disk; nobody wrote to the old one meanwhile. -EAGAIN, reported:
 * somebody wrote to it. r->size: its bytes. */
static int finish_new_file(struct rewriting *w, struct err *err, struct rewritten *r)
{
	struct stat now;
	if (fstat(w->o.fd, &now) == 0)
		r->size = (uint64_t)now.st_size;
	/* The owner's log stays the owner's. What cannot be done is not needed: it is our own file then. */
	if (w->was.st_uid != geteuid() && fchown(w->o.fd, w->was.st_uid, w->was.st_gid) < 0)
		return -errno;
	if (fsync(w->o.fd) < 0)
		return -errno;
	if (fstat(w->from, &now) == 0 && (uint64_t)now.st_size != w->s->size)
		return err_set(err, EAGAIN, "'%s' was written to meanwhile", w->s->path);
	return 0;
}

/* The new file takes the old one's place; an empty one does not, and the old one goes. -errno: the old one is still
 * there. */
static int take_place(struct rewriting *w, bool empty)
{
	int rc = 0;
	if (empty) {
		rc = unlinkat(w->dir, w->name, 0) < 0 ? -errno : 0;
	} else {
		rc = w->named ? 0 : give_name(w->dir, w->o.fd, w->temporary);
		w->named |= rc == 0;
		if (rc == 0 && renameat(w->dir, w->temporary, w->dir, w->name) < 0)
			rc = -errno;
		w->named &= rc < 0;
	}
	if (rc == 0)
		fsync(w->dir);
	return rc;
}

/* Writes s anew and puts that in its place; s is held. more: as in rewrite_touched. 0 or -errno, and the old one is
 * still there. */
static int rewrite_segment(const struct keep_segment *s, const struct edits *e,
                           int (*more)(void *arg, int fd, struct err *err), void *arg, struct err *err,
                           struct rewritten *ret)
{
	struct rewriting w;
	struct rewritten r = {0};
	int rc = rewriting_begin(&w, s);
	if (rc == 0)
		rc = write_rewritten(s, e, w.from, &w.o, &r, err);
	if (rc == 0 && more) {
		int fd = fcntl(w.o.fd, F_DUPFD_CLOEXEC, 3);
		rc = fd < 0 ? -errno : more(arg, fd, err);
	}
	if (rc == 0)
		rc = finish_new_file(&w, err, &r);
	if (rc == 0)
		rc = take_place(&w, !r.size);
	if (rc == 0)
		*ret = r;
	rewriting_end(&w);
	if (rc < 0)
		err_set(err, -rc, "cannot write '%s' anew", s->path);
	return rc;
}

int rewrite_touched(struct keep_logs *l, const struct edits *e, bool dry_run,
                    int (*more)(void *arg, int fd, struct err *err), void *arg, struct err *err, struct rewritten *ret)
{
	bool *touched = calloc(l->segments.n + 1, sizeof(*touched)), written = false;
	int rc = touched ? 0 : err_set(err, ENOMEM, "cannot write the log anew");
	for (size_t i = 0; rc == 0 && i < l->w.frames.n; i++)
		if (edits_touch(e, &l->w.frames.v[i]))
			touched[l->w.frames.v[i].segment] = true;
	/* All are held before the first is changed. */
	for (size_t i = 0; rc == 0 && !dry_run && i < l->segments.n; i++)
		if (touched[i])
			rc = keep_logs_hold(l, &l->segments.v[i], err);
	for (size_t i = 0; rc == 0 && i < l->segments.n; i++) {
		struct rewritten r = {0};
		if (!touched[i])
			continue;
		ret->segments++;
		ret->before += l->segments.v[i].size;
		if (dry_run)
			continue;
		rc = rewrite_segment(&l->segments.v[i], e, written ? NULL : more, arg, err, &r);
		written = true;
		ret->size += r.size;
		ret->damaged += r.damaged;
		ret->newer += r.newer;
	}
	free(touched);
	return rc;
}
