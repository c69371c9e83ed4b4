#include "graph/collect.h"

#include "graph/facts.h"

#include <errno.h>
#include <string.h>

/* Takes over s.path, without memory, too. 0, -ENOMEM. */
static int append_segment_slot(struct collect *w, struct collect_segment s, uint32_t *ret)
{
	struct collect_segment *slot = vec_add(&w->segments);
	if (!slot) {
		free(s.path);
		return -ENOMEM;
	}
	*slot = s;
	*ret = (uint32_t)(w->segments.n - 1);
	return 0;
}

int collect_path(struct collect *w, const char *path, uint32_t *ret)
{
	char *copy = strdup(path);
	return copy ? append_segment_slot(w, (struct collect_segment){.path = copy}, ret) : -ENOMEM;
}

/* p is not copied, and must outlive w. 0, -ENOMEM. */
int collect_memory(struct collect *w, const void *p, size_t n, uint32_t *ret)
{
	return append_segment_slot(w, (struct collect_segment){.p = p, .n = n}, ret);
}

/* The reader that is open, if one is; its damage is added up first. */
static void close_segment(struct collect *w)
{
	if (w->reader) /* events are decoded only once, by feed */
		w->damage.bad_events += log_reader_damage(w->reader)->bad_events;
	log_reader_close(w->reader);
	w->reader = NULL;
}

/* The reader stands at this segment afterwards; the one before is closed. 0, or -errno with a sentence. */
static int open_segment(struct collect *w, uint32_t segment, struct err *err)
{
	if (w->reader && w->at == segment)
		return 0;
	close_segment(w);
	const struct collect_segment *s = &w->segments.v[segment];
	w->at = segment;
	return s->path ? log_reader_open(s->path, err, &w->reader) : log_reader_memopen(s->p, s->n, &w->reader);
}

/* Splits what was passed over into the frames that it held, as far as their headers can still be read. 0, -errno. */
static int add_holes(struct collect *w, uint32_t segment, uint64_t from, uint64_t to)
{
	while (from < to) {
		struct collect_hole *slot = vec_add(&w->holes);
		struct log_frame h;
		if (!slot)
			return -ENOMEM;
		*slot = (struct collect_hole){.from = from, .to = to, .segment = segment};
		int rc = log_reader_header(w->reader, from, &h);
		if (rc < 0)
			return rc;
		if (rc == 1 && h.size <= to - from - sizeof(h)) {
			slot->session = h.session;
			slot->number = h.number;
			slot->to = from + sizeof(h) + h.size;
		}
		from = slot->to;
	}
	return 0;
}

/* What is no whole frame at the end may still be written: then it is the beginning of a header, or bytes are missing
 * behind one. Else it is damaged. 0, -errno. */
static int add_tail(struct collect *w, uint32_t segment, uint64_t from, uint64_t n)
{
	struct log_frame h;
	int rc = n < sizeof(h) ? 0 : log_reader_header(w->reader, from, &h);
	if (rc < 0)
		return rc;
	struct collect_hole *slot = vec_add(&w->holes);
	if (!slot)
		return -ENOMEM;
	*slot = (struct collect_hole){.from = from, .to = from + n, .segment = segment, .tail = true};
	slot->begun = n < sizeof(h) || (rc == 1 && n < sizeof(h) + h.size);
	if (rc == 1 && !slot->begun) {
		slot->session = h.session;
		slot->number = h.number;
	}
	return 0;
}

int collect_scan(struct collect *w, uint32_t segment, uint64_t from, uint64_t to, struct err *err, uint64_t *ret_end)
{
	close_segment(w); /* a fresh reader: its damage is this scan's */
	int rc = open_segment(w, segment, err);
	if (rc < 0)
		return rc;
	uint64_t end = from;
	struct log_frame_info f;
	log_reader_seek(w->reader, from);
	while (!collect_is_full(w) && (rc = log_reader_skim(w->reader, &f)) == 1 && f.offset < to) {
		struct collect_frame *slot = vec_add(&w->frames);
		if (!slot)
			return -ENOMEM;
		*slot = (struct collect_frame){f.session, f.seq, f.offset, f.end, f.sum, segment, f.count, f.number};
		/* What a newer version wrote is not known either. */
		if (f.offset > end && (rc = add_holes(w, segment, end, f.offset)) < 0)
			break;
		end = f.end;
		w->scanned += f.count;
	}
	if (rc < 0)
		return err_set(err, -rc, "cannot read '%s'",
		               w->segments.v[segment].path ? w->segments.v[segment].path : "memory");
	const struct log_damage *d = log_reader_damage(w->reader);
	w->damage.skipped += d->skipped;
	w->damage.torn += d->torn;
	w->damage.newer += d->newer;
	if (d->torn && to == UINT64_MAX && !collect_is_full(w) && (rc = add_tail(w, segment, end, d->torn)) < 0)
		return rc;
	if (ret_end)
		*ret_end = end;
	return 0;
}

int collect_compare_frames(const void *pa, const void *pb)
{
	const struct collect_frame *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return (a->count < b->count) - (a->count > b->count);
}

struct group {
	uint32_t segment; /* of its first frame */
	uint64_t offset;
	size_t first, n;
};

/* Sessions in the order in which they lie in the segments: what is read together was written together. */
static int compare_groups_by_place(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* All events of a session into f, frame by frame in their order; frames and events that were met before are left out.
 * 0, or -errno with a sentence. */
static int feed_session(struct collect *w, struct facts *f, const struct group *s, struct err *err)
{
	bool missing = false, behind = f->earlier; /* what was read before is still to be passed over */
	uint64_t next = 0;                         /* number of the next frame, if none is missing */
	for (size_t i = s->first; i < s->first + s->n; i++) {
		const struct collect_frame *frame = &w->frames.v[i];
		if (behind && frame->seq + frame->count <= f->seq + 1)
			continue;
		if (behind)
			next = frame->number;
		behind = false;
		missing |= frame->number > next;
		next = frame->number >= next ? frame->number + (uint64_t)1 : next;
		if (frame->count && frame->seq + frame->count - 1 <= f->seq)
			continue; /* met already */
		int rc = open_segment(w, frame->segment, err);
		if (rc < 0)
			return rc;
		struct log_frame_info info;
		log_reader_seek(w->reader, frame->offset);
		rc = log_reader_frame(w->reader, &info);
		if (rc < 0)
			return err_set(err, -rc, "cannot read '%s'", w->segments.v[frame->segment].path);
		if (rc == 0 || info.offset != frame->offset || info.session != frame->session)
			continue; /* the segment changed under us: what is gone is gone */
		uint64_t unread = log_reader_damage(w->reader)->bad_events;
		struct event ev;
		while (log_reader_event(w->reader, &ev) == 1)
			facts_event(f, &ev);
		missing |= log_reader_damage(w->reader)->bad_events != unread;
		if (missing && f->session != VEC_NONE)
			f->g->sessions.v[f->session].missing = true;
	}
	return 0;
}

/* How many events the frames can hold: an event is at least 4 bytes, whatever a frame says. */
static uint64_t expected_events(const struct collect *w)
{
	uint64_t n = 0;
	for (size_t i = 0; i < w->frames.n; i++) {
		uint64_t most = (w->frames.v[i].end - w->frames.v[i].offset) / 4;
		n += w->frames.v[i].count < most ? w->frames.v[i].count : most;
	}
	return n;
}

int collect_feed(struct collect *w, struct graph *g, struct err *err)
{
	VEC(struct group) groups = {0};
	struct facts facts = {0};
	int rc = 0;
	if (w->frames.n)
		qsort(w->frames.v, w->frames.n, sizeof *w->frames.v, collect_compare_frames);
	graph_expect(g, expected_events(w));
	for (size_t i = 0; i < w->frames.n; i++) {
		const struct collect_frame *f = &w->frames.v[i];
		if (!i || f->session != w->frames.v[i - 1].session) {
			struct group *slot = vec_add(&groups);
			if (!slot) {
				rc = -ENOMEM;
				goto out;
			}
			*slot = (struct group){f->segment, f->offset, i, 0};
		}
		groups.v[groups.n - 1].n++;
	}
	if (groups.n)
		qsort(groups.v, groups.n, sizeof *groups.v, compare_groups_by_place);
	for (size_t i = 0; rc == 0 && i < groups.n; i++) {
		uint64_t session = w->frames.v[groups.v[i].first].session;
		facts_begin(&facts, g, session);
		if (w->sessions)
			rc = w->sessions->begin(w->sessions->arg, &facts, session);
		if (rc == 0)
			rc = feed_session(w, &facts, &groups.v[i], err);
		if (rc == 0 && w->sessions)
			rc = w->sessions->end(w->sessions->arg, &facts);
		facts_end(&facts);
	}
	if (rc == 0 && g->failed)
		rc = -ENOMEM;
out:
	close_segment(w);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM, "cannot read the logs");
	facts_release(&facts);
	vec_release(&groups);
	return rc;
}

/* Closes the segment that is open, too; w is empty then. */
void collect_release(struct collect *w)
{
	close_segment(w);
	for (size_t i = 0; i < w->segments.n; i++)
		free(w->segments.v[i].path);
	vec_release(&w->segments);
	vec_release(&w->frames);
	vec_release(&w->holes);
	*w = (struct collect){0};
}
