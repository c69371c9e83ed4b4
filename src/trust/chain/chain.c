#include "trust/chain/chain_parts.h"

#include "base/hash.h"
#include "base/hex.h"
#include "base/io.h"
#include "capture/launch/run.h"
#include "event/log_frame.h"
#include "event/log_lease.h"
#include "event/log_place.h"
#include "trust/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW (4u << 20) /* bytes read at once: frames of a session stand close together */
#define SKIP 16           /* bytes of a frame that are not hashed: magic, size and checksum say nothing more */
#define WAIT_MS 5000

/* -ENOMEM with a sentence. */
int chain_oom(struct err *err)
{
	return err_set(err, ENOMEM, "cannot read the logs");
}

/* ---- reading ---- */

/* The n bytes at offset of a segment; valid until the next call. NULL: they cannot be read. */
static const char *segment_bytes_at(struct chain *c, uint32_t segment, uint64_t offset, size_t n)
{
	if (c->fd < 0 || c->segment != segment) {
		if (c->fd >= 0)
			close(c->fd);
		c->fd = open(c->w.segments.v[segment].path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		c->segment = segment;
		c->have = 0;
		if (c->fd < 0)
			return NULL;
	}
	if (offset < c->base || offset - c->base > c->have || c->have - (offset - c->base) < n) {
		if (n > WINDOW)
			return NULL;
		ssize_t k = io_pread(c->fd, c->room, WINDOW, offset);
		c->base = offset;
		c->have = k > 0 ? (size_t)k : 0;
		if (c->have < n)
			return NULL;
	}
	return c->room + (offset - c->base);
}

const struct collect_frame *chain_next_frame(struct chain *c, struct chain_frames *f)
{
	while (f->i < f->p->n) {
		const struct collect_frame *g = &c->w.frames.v[f->p->first + f->i++];
		if (g->count && g->seq + g->count - 1 <= f->seq)
			continue;
		f->seq = g->seq + g->count - (g->count > 0);
		return g;
	}
	return NULL;
}

int chain_each_event(struct chain *c, const struct collect_frame *f, int (*say)(void *arg, const struct event *ev),
                     void *arg)
{
	size_t n = (size_t)(f->end - f->offset);
	const char *at = segment_bytes_at(c, f->segment, f->offset, n);
	if (!at)
		return -EIO;
	struct log_frame h = log_frame_header(at);
	struct buf room = {0};
	struct str events;
	int rc = log_frame_events(at, &h, &room, &events);
	const unsigned char *p = (const unsigned char *)events.p, *end = p + events.n;
	int64_t time = h.time;
	struct event ev;
	rc = rc == -EBADMSG ? 0 : rc; /* what it says is not known */
	for (uint32_t i = 0; rc == 0 && i < f->count && event_decode(&p, end, time, &ev) == 0; i++) {
		time = ev.time;
		ev.writer = f->session;
		ev.seq = f->seq + i;
		rc = say(arg, &ev);
	}
	buf_release(&room);
	return rc;
}

/* The caller frees it; NULL without memory. */
static char *copy_event_text(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

void chain_hash_seal(const struct event_seal *s, int64_t time, struct digest *ret)
{
	struct digest_sum sum;
	unsigned char number[8];
	struct str item;
	const uint64_t words[] = {s->chain.n, s->number, s->before.n,   (uint64_t)time, s->why,    s->sessions.count,
	                          s->plan.n,  s->step,   s->repetition, s->run.n,       s->start.n};
	/* One that is no step and has no key says what seals said before there were any. */
	bool more = s->plan.n || s->step || s->repetition || s->run.n || s->start.n;
	size_t n_words = sizeof(words) / sizeof(*words) - (more ? 0 : 5);
	digest_begin(&sum);
	digest_add(&sum, more ? "stemma seal 2\n" : "stemma seal 1\n", 14);
	for (size_t i = 0; i < n_words; i++) {
		for (int k = 0; k < 8; k++)
			number[k] = (unsigned char)(words[i] >> 8 * k);
		digest_add(&sum, number, 8);
	}
	digest_add(&sum, s->chain.p, s->chain.n);
	digest_add(&sum, s->before.p, s->before.n);
	digest_add(&sum, s->plan.p, s->plan.n);
	digest_add(&sum, s->run.p, s->run.n);
	digest_add(&sum, s->start.p, s->start.n);
	for (size_t pos = 0; strlist_next(&s->sessions, &pos, &item);)
		digest_add(&sum, item.p, item.n);
	digest_end(&sum, ret);
}

/* The number that eight bytes are, eight bytes, the least significant first. */
static uint64_t little(const char *p)
{
	uint64_t v = 0;
	for (int k = 7; k >= 0; k--)
		v = v << 8 | (unsigned char)p[k];
	return v;
}

/* The sessions that a seal lists; one that is none makes it unsound. 0, -ENOMEM. */
static int take_entries(struct chain *c, const struct event_seal *e, struct chain_link *s)
{
	struct str item;
	for (size_t pos = 0; strlist_next(&e->sessions, &pos, &item);) {
		struct chain_entry *x = item.n == CHAIN_SESSION ? vec_add(&c->entries) : NULL;
		if (item.n != CHAIN_SESSION) {
			s->sound = false;
			continue;
		}
		if (!x)
			return -ENOMEM;
		x->session = little(item.p);
		x->bytes = little(item.p + 8);
		memcpy(x->digest.b, item.p + 16, DIGEST_BYTES);
	}
	s->n = c->entries.n - s->from;
	return 0;
}

/* Whether it is sound by itself goes into its sound; what does not fit is cut. 0, -ENOMEM. */
static int take_seal(struct chain *c, const struct event *ev)
{
	const struct event_seal *e = &ev->seal;
	struct chain_link *s = vec_add(&c->seals);
	struct digest hash;
	if (!s)
		return -ENOMEM;
	*s = (struct chain_link){.chain = copy_event_text(e->chain),
	                         .key = copy_event_text(e->key),
	                         .signature = copy_event_text(e->signature),
	                         .number = e->number,
	                         .why = e->why,
	                         .time = ev->time,
	                         .first = e->before.n == 0,
	                         .from = c->entries.n,
	                         .step = e->step <= CHAIN_STEP_END ? (enum chain_step_kind)e->step : CHAIN_STEP_NONE,
	                         .repetition = e->repetition};
	snprintf(s->plan, sizeof(s->plan), "%.*s", (int)e->plan.n, e->plan.p ? e->plan.p : "");
	snprintf(s->run, sizeof(s->run), "%.*s", (int)e->run.n, e->run.p ? e->run.p : "");
	if (!s->chain || !s->key || !s->signature)
		return -ENOMEM;
	chain_hash_seal(e, ev->time, &hash);
	s->sound = e->hash.n == DIGEST_BYTES && !memcmp(e->hash.p, hash.b, DIGEST_BYTES) &&
	           (e->before.n == DIGEST_BYTES || !e->before.n);
	if (e->hash.n == DIGEST_BYTES)
		memcpy(s->hash.b, e->hash.p, DIGEST_BYTES);
	s->keyed = e->start.n == DIGEST_BYTES && e->mac.n == DIGEST_BYTES;
	if (s->keyed) {
		memcpy(s->start.b, e->start.p, DIGEST_BYTES);
		memcpy(s->mac.b, e->mac.p, DIGEST_BYTES);
	}
	if (e->before.n == DIGEST_BYTES)
		memcpy(s->before, e->before.p, DIGEST_BYTES);
	return take_entries(c, e, s);
}

struct look {
	struct chain *c;
	struct chain_part *p;
	unsigned seen; /* events */
};

/* The id of the benchmark that made the run, by its label. 1: enough was read of the session; -ENOMEM. */
static int take_label(struct look *l, const struct event *ev)
{
	struct str label;
	for (size_t pos = 0; strlist_next(&ev->run.label, &pos, &label);) {
		if (!str_starts(label, str_of("bench=")) || label.n != 6 + 26)
			continue;
		struct chain_labelled *x = vec_add(&l->c->labelled);
		if (!x)
			return -ENOMEM;
		struct str bench = event_plain_id(str_n(label.p + 6, 26));
		snprintf(x->bench, sizeof(x->bench), "%.*s", (int)bench.n, bench.p);
		snprintf(x->run, sizeof(x->run), "%.*s", (int)ev->run.id.n, ev->run.id.p ? ev->run.id.p : "");
		x->part = (size_t)(l->p - l->c->parts.v);
		break;
	}
	return 1;
}

/* The session's own event, and the one behind it, which tells of its run if it has one. */
static int first_events(void *arg, const struct event *ev)
{
	struct look *l = arg;
	if (ev->kind == EVENT_run)
		return take_label(l, ev);
	if (l->seen++)
		return 1;
	l->p->began = ev->time;
	l->p->keeping = ev->kind == EVENT_session && str_is(ev->session.mode, "keeping");
	return l->p->keeping;
}

/* Notes a plan. 0, -ENOMEM. ev: a plan event. */
static int take_plan(struct chain *c, const struct event *ev)
{
	struct chain_planned *x = vec_add(&c->planned);
	if (!x)
		return -ENOMEM;
	*x = (struct chain_planned){.runs = ev->plan.runs, .time = ev->time};
	snprintf(x->id, sizeof(x->id), "%.*s", (int)ev->plan.id.n, ev->plan.id.p ? ev->plan.id.p : "");
	return 0;
}

/* Notes what was forgotten: a session or a run. 0, -ENOMEM. */
static int take_tombstone(struct chain *c, const struct event_tombstone *t)
{
	bool ok = !t->dead || map_set(&c->dead, t->dead, 1);
	ok &= !t->run.n || map_set(&c->dead_runs, hash_bytes(t->run.p, t->run.n), 1);
	return ok ? 0 : -ENOMEM;
}

/* A callback over the events of a session in which stemma keeps house. 0, -ENOMEM. */
static int keeping_event(void *arg, const struct event *ev)
{
	struct look *l = arg;
	if (ev->kind == EVENT_seal) {
		l->p->seals = true;
		return take_seal(l->c, ev);
	}
	if (ev->kind == EVENT_plan)
		return take_plan(l->c, ev);
	return ev->kind == EVENT_tombstone ? take_tombstone(l->c, &ev->tombstone) : 0;
}

/* Order of qsort: as they lie in the files. */
static int part_cmp(const void *pa, const void *pb)
{
	const struct chain_part *a = pa, *b = pb;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Order of qsort: by chain and number. */
static int seal_cmp(const void *pa, const void *pb)
{
	const struct chain_link *a = pa, *b = pb;
	int order = strcmp(a->chain, b->chain);
	if (order)
		return order;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return memcmp(a->hash.b, b->hash.b, DIGEST_BYTES);
}

/* Which frames each session has. 0, -ENOMEM, reported. */
static int list_sessions(struct chain *c, struct err *err)
{
	if (c->w.frames.n)
		qsort(c->w.frames.v, c->w.frames.n, sizeof(*c->w.frames.v), collect_compare_frames);
	for (size_t i = 0, k; i < c->w.frames.n; i = k) {
		const struct collect_frame *v = c->w.frames.v;
		struct chain_part *p = vec_add(&c->parts);
		if (!p)
			return chain_oom(err);
		for (k = i; k < c->w.frames.n && v[k].session == v[i].session; k++)
			;
		*p = (struct chain_part){.number = v[i].session,
		                         .first = i,
		                         .n = k - i,
		                         .segment = v[i].segment,
		                         .offset = v[i].offset,
		                         .began = TIME_NONE};
	}
	if (c->parts.n)
		qsort(c->parts.v, c->parts.n, sizeof(*c->parts.v), part_cmp);
	return 0;
}

/* What a keeper's session says: seals and tombstones. -ENOMEM; what cannot be read is met again by those who check. */
static int read_session(struct chain *c, struct chain_part *p)
{
	struct look l = {.c = c, .p = p};
	struct chain_frames f = {.p = p};
	const struct collect_frame *g = chain_next_frame(c, &f);
	int rc = g ? chain_each_event(c, g, first_events, &l) : 0;
	for (f = (struct chain_frames){.p = p}; rc >= 0 && p->keeping && (g = chain_next_frame(c, &f));)
		rc = chain_each_event(c, g, keeping_event, &l);
	return rc;
}

/* What each session has for the chain: seals, plans, runs. 0, -ENOMEM, reported. */
static int read_sessions(struct chain *c, struct err *err)
{
	int rc = list_sessions(c, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < c->parts.n; i++)
		if (read_session(c, &c->parts.v[i]) == -ENOMEM || !map_set(&c->by_number, c->parts.v[i].number, (uint32_t)i))
			return chain_oom(err);
	if (c->seals.n)
		qsort(c->seals.v, c->seals.n, sizeof(*c->seals.v), seal_cmp);
	for (size_t i = 0; i < c->seals.n; i++)
		for (size_t k = 0; k < c->seals.v[i].n; k++)
			c->entries.v[c->seals.v[i].from + k].seal = i;
	return 0;
}

/* All segments below, depth folders deep by now. 0, -errno, reported. */
static int gather_logs(struct chain *c, const char *dir, unsigned depth, struct err *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return err_set(err, errno, "cannot read the logs in '%s'", dir);
	int rc = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		char *path;
		struct stat st;
		uint32_t at;
		size_t n = strlen(e->d_name);
		if (log_place_hidden(e->d_name, depth))
			continue;
		if (asprintf(&path, "%s/%s", dir, e->d_name) < 0) {
			rc = chain_oom(err);
			break;
		}
		if (lstat(path, &st) < 0)
			;
		else if (S_ISDIR(st.st_mode) && depth < 4)
			rc = gather_logs(c, path, depth + 1, err);
		else if (S_ISREG(st.st_mode) && n > 4 && !strcmp(e->d_name + n - 4, ".stl"))
			rc =
			    collect_path(&c->w, path, &at) < 0 ? chain_oom(err) : collect_scan(&c->w, at, 0, UINT64_MAX, err, NULL);
		free(path);
	}
	closedir(d);
	return rc;
}

/* A chain that has read nothing yet. NULL: no memory, or no such folder; with a sentence. */
static struct chain *chain_new(const char *home, struct err *err)
{
	struct chain *c = calloc(1, sizeof(*c));
	if (!c) {
		chain_oom(err);
		return NULL;
	}
	c->fd = c->lock = -1;
	c->room = malloc(WINDOW);
	c->home = realpath(home, NULL);
	if (c->room && c->home)
		return c;
	if (c->room)
		err_set(err, errno, "cannot open the record '%s'", home);
	else
		chain_oom(err);
	chain_close(c);
	return NULL;
}

int chain_lock(const char *home, struct err *err, int *ret)
{
	int rc = log_lease_slot(home, "", "keeping", 0, WAIT_MS, ret);
	if (rc < 0)
		err_set(err, rc == -EWOULDBLOCK ? 0 : -rc, "another stemma forget, gc or trust is at work on '%s'", home);
	return rc;
}

/* The session's frames: in the segment that it began in, and in those that followed it. 0, -errno, reported. */
static int scan_place(struct chain *c, const struct run_place *p, struct err *err)
{
	char *path = p->segment ? strdup(p->segment) : NULL;
	uint64_t from = p->from;
	int rc = path || !p->segment ? 0 : chain_oom(err);
	while (rc == 0 && path) {
		uint32_t at;
		rc = collect_path(&c->w, path, &at) < 0 ? chain_oom(err) : collect_scan(&c->w, at, from, UINT64_MAX, err, NULL);
		char *next = rc == 0 ? session_next_roll(path) : NULL;
		free(path);
		path = next;
		from = 0;
	}
	free(path);
	return rc;
}

int chain_open_places(const char *home, const struct run_place *places, size_t n, struct err *err, struct chain **ret)
{
	struct chain *c = chain_new(home, err);
	int rc = c ? 0 : -EIO;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = scan_place(c, &places[i], err);
	if (rc == 0)
		rc = list_sessions(c, err);
	for (size_t i = 0; rc == 0 && i < c->parts.n; i++)
		if (!map_set(&c->by_number, c->parts.v[i].number, (uint32_t)i))
			rc = chain_oom(err);
	if (rc < 0)
		chain_close(c);
	else
		*ret = c;
	return rc;
}

int chain_open(const char *home, bool locked, struct err *err, struct chain **ret)
{
	struct chain *c = chain_new(home, err);
	char *logs = NULL;
	int rc = 0;
	if (!c)
		return -EIO;
	if (asprintf(&logs, "%s/logs", c->home) < 0) {
		logs = NULL;
		rc = chain_oom(err);
		goto out;
	}
	int dir = open(logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		rc = err_set(err, errno, "cannot open '%s'", logs);
		goto out;
	}
	c->shared = !io_is_local(dir);
	close(dir);
	if (!locked)
		rc = chain_lock(c->home, err, &c->lock);
	if (rc == 0)
		rc = gather_logs(c, logs, 0, err);
	if (rc == 0)
		rc = read_sessions(c, err);
out:
	free(logs);
	if (rc < 0)
		chain_close(c);
	else
		*ret = c;
	return rc;
}

/* NULL is no error. */
void chain_close(struct chain *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->seals.n; i++) {
		free(c->seals.v[i].chain);
		free(c->seals.v[i].key);
		free(c->seals.v[i].signature);
	}
	if (c->fd >= 0)
		close(c->fd);
	if (c->lock >= 0)
		close(c->lock);
	vec_release(&c->parts);
	vec_release(&c->seals);
	vec_release(&c->entries);
	vec_release(&c->labelled);
	vec_release(&c->planned);
	map_release(&c->by_number);
	map_release(&c->dead);
	map_release(&c->dead_runs);
	collect_release(&c->w);
	free(c->room);
	free(c->home);
	free(c);
}

/* ---- hashing ---- */

int chain_hash_to(struct chain *c, struct chain_hashing *h, uint64_t bytes)
{
	while (h->bytes < bytes) {
		const struct collect_frame *g = chain_next_frame(c, &h->f);
		if (!g)
			return 0;
		size_t n = (size_t)(g->end - g->offset);
		const char *p = segment_bytes_at(c, g->segment, g->offset, n);
		if (!p)
			return -EIO;
		digest_add(&h->sum, p + SKIP, n - SKIP);
		h->bytes += n - SKIP;
	}
	return 0;
}

uint64_t chain_length_of(struct chain *c, const struct chain_part *p)
{
	struct chain_frames f = {.p = p};
	uint64_t n = 0;
	for (const struct collect_frame *g; (g = chain_next_frame(c, &f));)
		n += g->end - g->offset - SKIP;
	return n;
}

int chain_each(struct chain *c, int (*each)(void *arg, const char *name, const char *hash, const char *signature),
               void *arg)
{
	char hex[65];
	for (size_t i = 0; i < c->seals.n; i++) {
		const struct chain_link *s = &c->seals.v[i];
		hex_text(s->hash.b, DIGEST_BYTES, hex);
		int rc = each(arg, s->chain, hex, s->signature);
		if (rc != 0)
			return rc;
	}
	return 0;
}
