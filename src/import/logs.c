#include "import/logs.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/map.h"
#include "event/log_frame.h"
#include "import/forgotten.h"
#include "import/place.h"
#include "import/segments.h"
#include "import/tombs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct segment {
	char *path;
	uint64_t hash; /* of what it adds */
	uint64_t kept;
	struct place place;
};

/* A whole frame of a source, or of the record. */
struct frame {
	uint64_t session, seq, offset, end, sum;
	uint32_t count, segment;
	uint32_t tomb; /* its first tombstone; VEC_NONE: it has none, or is of the record */
	bool own;      /* of the record */
	bool keep;
};

struct session {
	uint64_t number;
	struct str host; /* in import.words */
	bool known;      /* its session event was met */
};

struct import {
	const char *home;
	struct err *err;
	VEC(struct segment) segments; /* the sources, then the record's */
	size_t n_sources;
	VEC(struct frame) frames;
	VEC(struct session) sessions;
	struct map numbers; /* session -> index in sessions */
	struct forgotten gone;
	struct tombs tombs;
	struct arena words;
	struct {
		char *p; /* room for a frame */
		int fd;
		uint32_t segment; /* that fd is of */
	} bytes[2];
	struct import_logs_report report;
};

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int import_oom(struct import *x)
{
	return err_set(x->err, ENOMEM, "cannot import");
}

/* Takes a copy of path; called for each segment of the sources. -ENOMEM, reported. */
static int append_source_segment(void *arg, const char *path)
{
	struct import *x = arg;
	struct segment *s = vec_add(&x->segments);
	if (!s)
		return import_oom(x);
	*s = (struct segment){.path = strdup(path), .place.fd = -1};
	return s->path ? 0 : import_oom(x);
}

/* ---- reading ---- */

/* Finds or adds a session of the log. NULL: no memory. Valid until the next is added. */
static struct session *find_or_add_session(struct import *x, uint64_t number)
{
	uint32_t i = map_get(&x->numbers, number);
	if (i != VEC_NONE)
		return &x->sessions.v[i];
	struct session *s = vec_add(&x->sessions);
	if (!s || !map_set(&x->numbers, number, (uint32_t)(x->sessions.n - 1)))
		return NULL;
	*s = (struct session){.number = number};
	return s;
}

/* A session begins with the event that names its host. Copies the name; does nothing for other events and once the host
 * is known. 0, -ENOMEM with a sentence. */
static int take_host(struct import *x, struct session *s, const struct event *ev)
{
	if (s->known || ev->kind != EVENT_session)
		return 0;
	s->known = true;
	char *p = arena_take(&x->words, ev->session.host.n + 1);
	if (!p)
		return import_oom(x);
	if (ev->session.host.n)
		memcpy(p, ev->session.host.p, ev->session.host.n);
	s->host = str_n(p, ev->session.host.n);
	return 0;
}

/* What a frame of a source says of its session and of what was forgotten. Reads all events of the frame. 0, -ENOMEM. */
static int take_frame_events(struct import *x, uint64_t session, struct log_reader *r, struct frame *slot)
{
	struct event ev;
	int rc = 0;
	for (bool first = slot->seq == 1; rc == 0 && log_reader_event(r, &ev) == 1; first = false) {
		struct session *of = first ? find_or_add_session(x, session) : NULL;
		rc = first ? !of ? import_oom(x) : take_host(x, of, &ev) : 0;
		if (rc == 0 && tombs_take(&x->tombs, &ev, &slot->tomb) < 0)
			rc = import_oom(x);
	}
	return rc;
}

/* A segment of the sources that was read, and how many frames it had. */
static void report_source(struct import *x, size_t frames, const struct log_damage *d)
{
	x->report.blocks += frames;
	x->report.empty += frames == 0;
	x->report.damage.skipped += d->skipped;
	x->report.damage.torn += d->torn;
	x->report.damage.newer += d->newer;
}

/* Takes in the frames of a segment. own: of the record itself, which gives only frames of sessions that sources have,
 * and what it has forgotten. 0, -errno with a sentence. */
static int scan_frames(struct import *x, uint32_t at, bool own)
{
	struct segment *s = &x->segments.v[at];
	struct log_reader *r;
	struct log_frame_info f;
	int rc = log_reader_open(s->path, x->err, &r);
	if (rc < 0)
		return rc;
	size_t before = x->frames.n;
	while (rc == 0 && (rc = log_reader_frame(r, &f)) == 1) {
		rc = own ? tombs_meet(&x->tombs, s->path, r, &f) : 0;
		rc = rc == 0 && own ? forgotten_take(&x->gone, r, &f) : rc;
		if (rc < 0 || (own && map_get(&x->numbers, f.session) == VEC_NONE))
			continue;
		struct session *of = own ? NULL : find_or_add_session(x, f.session);
		struct frame *slot = own || of ? vec_add(&x->frames) : NULL;
		if (!slot) {
			rc = import_oom(x);
			break;
		}
		*slot = (struct frame){.session = f.session,
		                       .seq = f.seq,
		                       .offset = f.offset,
		                       .end = f.end,
		                       .sum = f.sum,
		                       .count = f.count,
		                       .segment = at,
		                       .tomb = VEC_NONE,
		                       .own = own};
		if (!own)
			rc = take_frame_events(x, f.session, r, slot);
	}
	if (rc < 0)
		err_set(x->err, -rc, "cannot read '%s'", s->path);
	if (!own)
		report_source(x, x->frames.n - before, log_reader_damage(r));
	log_reader_close(r);
	return rc;
}

/* Reads a frame again, whole, into x->bytes[which]. Its length, or -errno. */
static ssize_t read_frame_again(struct import *x, const struct frame *f, int which)
{
	const char *path = x->segments.v[f->segment].path;
	size_t n = (size_t)(f->end - f->offset);
	if (!x->bytes[which].p && !(x->bytes[which].p = malloc(sizeof(struct log_frame) + LOG_PAYLOAD_MAX)))
		return import_oom(x);
	int *fd = &x->bytes[which].fd;
	if (*fd < 0 || x->bytes[which].segment != f->segment) {
		if (*fd >= 0)
			close(*fd);
		*fd = io_above_std(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
		x->bytes[which].segment = f->segment;
	}
	ssize_t k = *fd < 0 ? -errno : io_pread(*fd, x->bytes[which].p, n, f->offset);
	if (k < 0)
		return err_set(x->err, (int)-k, "cannot read '%s'", path);
	struct log_frame h = {0};
	if (k == (ssize_t)n)
		h = log_frame_header(x->bytes[which].p);
	if (h.sum != f->sum || h.size + sizeof(h) != n || !log_frame_intact(x->bytes[which].p, &h)) {
		err_set(x->err, 0, "'%s' changed while it was read", path);
		return -EAGAIN;
	}
	return k;
}

/* ---- what is new ---- */

/* The number of its last event; of an empty frame that of the next. */
static uint64_t frame_last_seq(const struct frame *f)
{
	return f->seq + (f->count ? f->count - 1 : 0);
}

/* Compares two frames by session and event; the record's own first, then those with more events. */
static int compare_frames_by_event(const void *pa, const void *pb)
{
	const struct frame *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->own != b->own)
		return a->own ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Do two frames that begin with the same event tell the same as far as both go? 1, 0, -errno. A frame is written again
 * only with more events behind the same bytes. */
static int frames_agree(struct import *x, const struct frame *a, const struct frame *b)
{
	if (a->count == b->count)
		return a->sum == b->sum;
	ssize_t n = read_frame_again(x, a, 0), m = n < 0 ? n : read_frame_again(x, b, 1);
	if (m < 0)
		return (int)m;
	struct log_frame ha = log_frame_header(x->bytes[0].p), hb = log_frame_header(x->bytes[1].p);
	struct buf room[2] = {{0}, {0}};
	struct str sa, sb;
	int rc = log_frame_events(x->bytes[0].p, &ha, &room[0], &sa);
	rc = rc < 0 ? rc : log_frame_events(x->bytes[1].p, &hb, &room[1], &sb);
	if (rc == 0)
		rc = ha.time == hb.time && memcmp(sa.p, sb.p, sa.n < sb.n ? sa.n : sb.n) == 0;
	buf_release(&room[0]);
	buf_release(&room[1]);
	return rc == -ENOMEM ? import_oom(x) : rc < 0 ? 0 : rc; /* what cannot be read says nothing alike */
}

/* Finds what the record has already. For each frame the next event that the record has of the session in a frame
 * behind; UINT64_MAX none. NULL: no memory. */
static uint64_t *next_recorded(const struct frame *v, size_t n)
{
	uint64_t *after = malloc((n + 1) * sizeof(*after));
	for (size_t i = after ? n : 0; i-- > 0;) {
		bool same = i + 1 < n && v[i + 1].session == v[i].session;
		after[i] = !same ? UINT64_MAX : v[i + 1].own && v[i + 1].seq != v[i].seq ? v[i + 1].seq : after[i + 1];
	}
	return after;
}

/* What is known of the frames before the current one, of its session. */
struct seen {
	uint64_t reach;           /* the last event of those that begin before it */
	const struct frame *base; /* the longest that begins with the same event; NULL */
};

/* Frames must come in their order: notes how far those before this one reach. */
static void see_frame(struct seen *s, const struct frame *f)
{
	if (!s->base || s->base->session != f->session) {
		*s = (struct seen){0};
	} else if (s->base->seq != f->seq) {
		if (frame_last_seq(s->base) > s->reach)
			s->reach = frame_last_seq(s->base);
		s->base = NULL;
	}
}

/* Decides for a frame of the sources. after: the next event that the record has behind it. Sets f->keep where it adds
 * something. 0 also for clashing and forgotten ones, which are counted; -errno: frames cannot be read. */
static int choose_frame(struct import *x, struct frame *f, struct seen *s, uint64_t after)
{
	int rc = 0;
	if (forgotten_session(&x->gone, f->session)) {
		x->report.forgotten++;
		return 0;
	}
	const struct session *of = f->tomb == VEC_NONE ? NULL : find_or_add_session(x, f->session);
	if (of && !tombs_may(&x->tombs, f->tomb, of->host)) {
		x->report.forgetting++;
		return 0;
	}
	bool clash = f->count && (f->seq <= s->reach || frame_last_seq(f) >= after);
	if (!clash && s->base) {
		rc = frames_agree(x, f, s->base);
		clash = rc == 0;
		rc = rc < 0 ? rc : 0;
	}
	if (rc == 0 && !clash && (!s->base || f->count > s->base->count)) {
		f->keep = true;
		s->base = f;
	}
	x->report.clashing += clash;
	return rc;
}

/* Decides for each frame of the sources, in the order of their events, whether it adds something. */
static int choose_frames(struct import *x)
{
	size_t n = x->frames.n;
	struct frame *v = x->frames.v;
	if (n)
		qsort(v, n, sizeof(*v), compare_frames_by_event);
	uint64_t *after = next_recorded(v, n);
	struct seen s = {0};
	int rc = after ? 0 : import_oom(x);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		see_frame(&s, &v[i]);
		if (!v[i].own)
			rc = choose_frame(x, &v[i], &s, after[i]);
		else if (!s.base || v[i].count > s.base->count)
			s.base = &v[i];
	}
	free(after);
	return rc;
}

/* ---- writing ---- */

/* Order of qsort: as they lie in the files. */
static int compare_frames_by_place(const void *pa, const void *pb)
{
	const struct frame *a = pa, *b = pb;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* The host that the first of the frames comes from, as its session says, wherever that stands. */
static struct str find_frames_host(struct import *x, const struct frame *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct session *s = f[i].keep ? find_or_add_session(x, f[i].session) : NULL;
		if (s && s->known)
			return s->host;
	}
	return str_of("");
}

/* What a source adds, as a file that is whole and has no name yet. f: the n frames of one segment. 0 and no file where
 * none is kept, or where that file was taken in before. -errno, reported. */
static int write_segment(struct import *x, const struct frame *f, size_t n)
{
	struct segment *s = &x->segments.v[f->segment];
	for (size_t i = 0; i < n; i++)
		if (f[i].keep) {
			const uint64_t id[] = {f[i].session, f[i].seq, f[i].count, f[i].sum};
			s->hash = hash_more(s->hash, id, sizeof(id));
			s->kept++;
		}
	if (!s->kept)
		return 0;
	int rc = place_open(x->home, find_frames_host(x, f, n), s->hash, x->err, &s->place);
	if (rc <= 0)
		return rc;
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		if (!f[i].keep)
			continue;
		ssize_t k = read_frame_again(x, &f[i], 0);
		rc = k < 0 ? (int)k : place_write(&s->place, x->bytes[0].p, (size_t)k, x->err);
		x->report.new_bytes += rc < 0 ? 0 : (uint64_t)k;
	}
	x->report.new_blocks += s->kept;
	x->report.new_segments++;
	return rc < 0 ? rc : place_sync(&s->place, x->err);
}

/* Writes the frames that were chosen. All files are whole before the first gets its name. Sorts x->frames. -errno,
 * reported. */
static int write_chosen_frames(struct import *x)
{
	struct frame *v = x->frames.v;
	size_t n = x->frames.n;
	int rc = 0;
	if (n)
		qsort(v, n, sizeof(*v), compare_frames_by_place);
	for (size_t i = 0, k; rc == 0 && i < n; i = k) {
		for (k = i; k < n && v[k].segment == v[i].segment;)
			k++;
		if (!v[i].own)
			rc = write_segment(x, v + i, k - i);
	}
	for (size_t i = 0; rc == 0 && i < x->n_sources; i++)
		if (x->segments.v[i].place.temporary)
			rc = place_show(&x->segments.v[i].place, x->err);
	return rc;
}

static void import_release(struct import *x)
{
	for (size_t i = 0; i < x->segments.n; i++) {
		free(x->segments.v[i].path);
		place_drop(&x->segments.v[i].place);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (x->bytes[i].fd >= 0)
			close(x->bytes[i].fd);
		free(x->bytes[i].p);
	}
	vec_release(&x->segments);
	vec_release(&x->frames);
	vec_release(&x->sessions);
	map_release(&x->numbers);
	forgotten_release(&x->gone);
	tombs_release(&x->tombs);
	arena_release(&x->words);
}

/* The record's own segments; it need not have any yet. 0, -errno with a sentence. */
static int walk_own(struct import *x)
{
	char *logs = NULL;
	struct stat st;
	uint64_t passed = 0;
	if (asprintf(&logs, "%s/logs", x->home) < 0)
		return import_oom(x);
	int rc =
	    stat(logs, &st) < 0 && errno == ENOENT ? 0 : segments_walk(logs, append_source_segment, x, &passed, x->err);
	free(logs);
	return rc;
}

int import_logs(const char *home, const char *path, struct err *err, struct import_logs_report *ret)
{
	struct import x = {.home = home, .err = err, .bytes = {{.fd = -1}, {.fd = -1}}};
	struct stat st;
	int rc = stat(path, &st) < 0   ? err_set(err, errno, "cannot open '%s'", path)
	         : S_ISDIR(st.st_mode) ? segments_walk(path, append_source_segment, &x, &x.report.passed, err)
	                               : append_source_segment(&x, path);
	x.n_sources = x.report.segments = x.segments.n;
	for (size_t i = 0; rc == 0 && i < x.n_sources; i++)
		rc = scan_frames(&x, (uint32_t)i, false);
	x.report.sessions = x.sessions.n;
	if (rc == 0 && x.frames.n)
		rc = walk_own(&x);
	for (size_t i = x.n_sources; rc == 0 && i < x.segments.n; i++)
		rc = scan_frames(&x, (uint32_t)i, true);
	if (rc == 0)
		rc = choose_frames(&x);
	if (rc == 0)
		rc = write_chosen_frames(&x);
	if (rc == 0)
		*ret = x.report;
	import_release(&x);
	return rc;
}

int import_segment(const char *home, struct str host, uint64_t name, const void *p, size_t n, struct err *err)
{
	struct place place;
	int rc = place_open(home, host, name, err, &place);
	if (rc <= 0)
		return rc;
	rc = place_write(&place, p, n, err);
	if (rc == 0)
		rc = place_sync(&place, err);
	if (rc == 0)
		rc = place_show(&place, err);
	place_drop(&place);
	return rc < 0 ? rc : 1;
}
