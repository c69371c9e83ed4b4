/* ix_parts.c - which of the frames that were found an indexing takes: sessions that it knows already are left out; what
 * would be too much waits for the next part; of sessions that cannot be gone on with all earlier frames are added. */
#include "store/index/index.h"

#include <errno.h>
#include <string.h>

/* What the index has of a session whose frames were met. */
struct known_session {
	uint64_t row, last; /* row: 0, it has none */
	bool ended, holes;
};

/* ret is empty where the store has no such session. 0, -errno. */
static int find_known(struct ix *x, uint64_t number, struct known_session *ret)
{
	*ret = (struct known_session){0};
	if (x->fresh)
		return 0;
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)number);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 1));
		for (int i = 0; i < 6; i++)
			cur_u(&c);
		uint64_t last = cur_u(&c), flags = cur_u(&c);
		*ret = (struct known_session){(uint64_t)sqlite3_column_int64(st, 0), last, flags & 1, c.bad || flags & 2};
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* Order of qsort: as the events lie in the session. */
static int frame_cmp(const void *pa, const void *pb)
{
	const struct collect_frame *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

struct place_list {
	struct ix_place *v;
	size_t n, cap;
};

/* Appends the places where the session's frames were met before. */
static int add_old_places(struct ix *x, uint64_t session, struct place_list *out)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	struct ix_session info = {0};
	int rc = store_step(x->s, st, x->err);
	if (rc == 1)
		rc = ix_session_info(x, column_str(st, 1), NULL, &info);
	sqlite3_reset(st);
	for (size_t p = 0; rc == 0 && p < info.places.n; p++) {
		struct ix_place *slot = vec_add(out);
		if (slot)
			*slot = info.places.v[p];
		else
			rc = ix_oom(x);
	}
	vec_release(&info.places);
	return rc;
}

/* Reads the frames of a place. A segment that was taken away is passed over. Only -ENOMEM is a failure. */
static int scan_place(struct ix *x, const struct ix_place *p)
{
	struct err gone = {0};
	uint32_t i = 0;
	while (i < x->segments.n && x->segments.v[i].id != p->segment)
		i++;
	int rc = i < x->segments.n ? collect_scan(&x->w, i, p->from, p->to, &gone, NULL) : 0;
	return rc == -ENOMEM ? rc : rc < 0 ? 0 : rc;
}

/* The last event that the frames hold. 0: none of the frames has an event. */
static uint64_t last_seq_of(const struct collect_frame *v, size_t n)
{
	uint64_t last = 0;
	for (size_t i = 0; i < n; i++)
		if (v[i].count && v[i].seq + v[i].count - 1 > last)
			last = v[i].seq + v[i].count - 1;
	return last;
}

/* The frames of one session among those that were met. */
struct met_session {
	size_t first, n;
	uint64_t session, last_seq, events, offset;
	uint32_t segment; /* where the first of them lies */
	bool goes_on;     /* they follow on what the index has of it */
	bool may_split;   /* the first of them can be taken alone */
	bool take, split;
};
struct met_sessions {
	struct met_session *v;
	size_t n, cap;
};

/* Was it read in this call, as far as it goes now? */
static bool is_read(const struct ix *x, const struct met_session *m)
{
	const struct ix_pairs *read = &x->parts->read;
	size_t i = ix_pairs_from(read->v, read->n, m->session);
	for (; i < read->n && read->v[i].a == m->session; i++)
		if (read->v[i].b >= m->last_seq)
			return true;
	return false;
}

/* The place and the events of the frames from m->first on. */
static void sum_frames(struct met_session *m, const struct collect_frame *f)
{
	m->segment = UINT32_MAX;
	m->events = 0;
	for (size_t i = m->first; i < m->first + m->n; i++) {
		m->events += f[i].count;
		if (f[i].segment < m->segment || (f[i].segment == m->segment && f[i].offset < m->offset)) {
			m->segment = f[i].segment;
			m->offset = f[i].offset;
		}
	}
}

/* Can the frames, which are sorted, be read behind what the index has? Those that it has are left out then. */
static int look_whether_it_goes_on(struct ix *x, struct met_session *m, const struct known_session *known)
{
	const struct collect_frame *f = x->w.frames.v;
	size_t first = m->first, end = m->first + m->n;
	int rc = 0;
	if (known->row && !known->ended && !known->holes)
		rc = ix_can_go_on(x, m->session, known->row, &m->goes_on);
	if (rc < 0)
		return rc;
	while (m->goes_on && first < end && f[first].seq + f[first].count <= known->last + 1)
		first++;
	m->goes_on = m->goes_on && first < end && f[first].seq <= known->last + 1;
	if (m->goes_on) {
		m->n = end - first;
		m->first = first;
	}
	m->may_split = m->goes_on || (!known->row && !ix_must_be_whole(x, m->session));
	return 0;
}

/* The sessions of the frames, which are sorted, but for those of which nothing is new. */
static int list_sessions(struct ix *x, struct met_sessions *out)
{
	const struct collect_frame *f = x->w.frames.v;
	int rc = 0;
	for (size_t i = 0, k; rc == 0 && i < x->w.frames.n; i = k) {
		for (k = i; k < x->w.frames.n && f[k].session == f[i].session; k++)
			;
		struct met_session m = {.first = i, .n = k - i, .session = f[i].session, .last_seq = last_seq_of(&f[i], k - i)};
		struct known_session known;
		if (is_read(x, &m))
			continue;
		rc = find_known(x, m.session, &known);
		if (rc < 0 || (known.row && !known.holes && m.last_seq <= known.last))
			continue;
		rc = look_whether_it_goes_on(x, &m, &known);
		sum_frames(&m, f);
		struct met_session *slot = rc < 0 ? NULL : vec_add(out);
		if (slot)
			*slot = m;
		else if (rc == 0)
			rc = ix_oom(x);
	}
	return rc;
}

/* By where their first frame lies. */
static int compare_by_place(const void *pa, const void *pb)
{
	const struct met_session *a = pa, *b = pb;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Order of qsort: by the first event. */
static int compare_by_first(const void *pa, const void *pb)
{
	const struct met_session *a = pa, *b = pb;
	return (a->first > b->first) - (a->first < b->first);
}

/* The segment is read up to there only: what follows is left for the next part. */
static void leave_from(struct ix_segment *s, uint64_t offset)
{
	if (offset < s->done)
		s->done = offset;
}

uint64_t ix_part_events(const struct ix *x)
{
	return x->o->events ? x->o->events : INDEX_EVENTS;
}

/* Leaves the frames from `from` on for the next part. */
static void leave_frames(struct ix *x, size_t from, size_t end)
{
	x->parts->more = true;
	for (size_t k = from; k < end; k++)
		leave_from(&x->segments.v[x->w.frames.v[k].segment], x->w.frames.v[k].offset);
}

/* Takes no more of a session than fits, one frame at least. */
static void split_session(struct ix *x, struct met_session *m, uint64_t most)
{
	const struct collect_frame *f = &x->w.frames.v[m->first];
	uint64_t events = f[0].count;
	size_t n = 1;
	while (n < m->n && events + f[n].count <= most)
		events += f[n++].count;
	if (n == m->n)
		return;
	leave_frames(x, m->first + n, m->first + m->n);
	m->split = true;
	m->n = n;
	m->events = events;
	m->last_seq = last_seq_of(f, n);
}

/* Which of them this part takes: in the order in which they lie, as long as it does not become too much. */
static int choose_part(struct ix *x, struct met_sessions *v)
{
	const uint64_t most = ix_part_events(x);
	uint64_t events = 0;
	int rc = 0;
	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), compare_by_place);
	for (size_t i = 0; rc == 0 && i < v->n; i++) {
		struct met_session *m = &v->v[i];
		if (i == 0 && m->events > most && m->may_split)
			split_session(x, m, most);
		/* What was scanned may be one frame more than what was asked for. */
		m->take = i == 0 || events + m->events <= most + most / 8;
		events = m->take && !m->split ? events + m->events : most; /* what follows waits, too */
		if (!m->take) {
			leave_frames(x, m->first, m->first + m->n);
			continue;
		}
		rc = ix_pairs_add(x, &x->parts->read, m->session, m->last_seq);
		if (rc == 0 && m->goes_on && ids_add(&x->open.going_on, m->session) < 0)
			rc = ix_oom(x);
	}
	ix_pairs_sort(&x->parts->read);
	ids_sort(&x->open.going_on);
	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), compare_by_first);
	return rc;
}

/* Finds what is taken of a session. NULL: the session is none of this part. */
static const struct met_session *find_taken(const struct met_sessions *v, uint64_t session)
{
	size_t lo = 0, hi = v->n; /* they are in the order of their frames, by session */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (v->v[mid].session < session)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->n && v->v[lo].session == session && v->v[lo].take ? &v->v[lo] : NULL;
}

/* A place goes from a session's first frame in a segment to its last. Of what others wrote between, that is only a
 * part: they would count as sessions that lack the rest. */
static void leave_others(struct ix *x, const struct met_sessions *v)
{
	size_t kept = 0;
	for (size_t i = 0; i < x->w.frames.n; i++) {
		const struct collect_frame *f = &x->w.frames.v[i];
		const struct met_session *m = find_taken(v, f->session);
		if (m && (!m->split || last_seq_of(f, 1) <= m->last_seq))
			x->w.frames.v[kept++] = *f;
	}
	x->w.frames.n = kept;
}

int ix_take_part(struct ix *x)
{
	struct met_sessions met = {0};
	struct place_list old = {0};
	size_t kept = 0;
	tombstones_filter(x->tombstones, &x->w);
	if (x->w.frames.n)
		qsort(x->w.frames.v, x->w.frames.n, sizeof(*x->w.frames.v), frame_cmp);
	int rc = list_sessions(x, &met);
	if (rc == 0)
		rc = choose_part(x, &met);
	for (size_t i = 0; rc == 0 && i < met.n; i++) {
		const struct met_session *m = &met.v[i];
		if (!m->take)
			continue;
		memmove(&x->w.frames.v[kept], &x->w.frames.v[m->first], m->n * sizeof(*x->w.frames.v));
		kept += m->n;
		if (!x->fresh && !m->goes_on)
			rc = add_old_places(x, m->session, &old);
	}
	x->w.frames.n = kept;
	for (size_t p = 0; rc == 0 && p < old.n; p++)
		rc = scan_place(x, &old.v[p]);
	leave_others(x, &met);
	free(old.v);
	free(met.v);
	tombstones_filter(x->tombstones, &x->w); /* what lies between those */
	return rc;
}
