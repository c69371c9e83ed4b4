#include "trust/chain.h"

#include "base/hex.h"
#include "base/io.h"
#include "event/log_frame.h"
#include "event/log_lease.h"
#include "event/log_place.h"
#include "graph/collect.h"
#include "keep/write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW (4u << 20)  /* bytes read at once: frames of a session stand close together */
#define SESSIONS_MAX 10000 /* entries of one seal: half a megabyte */
#define SKIP 16            /* bytes of a frame that are not hashed: magic, size and checksum say nothing more */
#define WAIT_MS 5000

struct part {
	uint64_t number; /* session */
	size_t first, n; /* frames */
	uint32_t segment;
	uint64_t offset;
	bool keeping, seals; /* written by a keeper; holds seals */
};
struct entry {
	uint64_t session, bytes;
	struct digest digest;
	size_t seal; /* index, in the order of chains */
};
struct seal {
	char *chain, *key, *signature;
	uint64_t number, why;
	int64_t time;
	unsigned char before[DIGEST_BYTES];
	bool first; /* it has no hash before it */
	struct digest hash;
	bool sound;     /* the hash is that of what it says */
	size_t from, n; /* entries */
};

struct chain {
	char *home;
	int lock;
	bool shared;
	struct collect w;
	VEC(struct part) parts; /* as they lie in the segments */
	struct map by_number;   /* session -> index in parts */
	VEC(struct seal) seals; /* by chain and number */
	VEC(struct entry) entries;
	struct map dead; /* session that a tombstone tells of -> 1 */
	/* the window */
	int fd;
	uint32_t segment;
	char *room;
	uint64_t base;
	size_t have;
};

static int chain_oom(struct err *err)
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

/* Frames of a session that count, one after the other: what is met again is passed over. NULL at the end. */
struct frames {
	const struct part *p;
	size_t i;
	uint64_t seq;
};
static const struct collect_frame *next_frame(struct chain *c, struct frames *f)
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

static int each_event(struct chain *c, const struct collect_frame *f, int (*say)(void *arg, const struct event *ev),
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

static char *copy_event_text(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

/* SHA-256 of what the seal says, as its event has it but for the hash, the key and the signature. */
static void hash_seal(const struct event_seal *s, int64_t time, struct digest *ret)
{
	struct digest_sum sum;
	unsigned char number[8];
	struct str item;
	const uint64_t words[] = {s->chain.n, s->number, s->before.n, (uint64_t)time, s->why, s->sessions.count};
	digest_begin(&sum);
	digest_add(&sum, "stemma seal 1\n", 14);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (int k = 0; k < 8; k++)
			number[k] = (unsigned char)(words[i] >> 8 * k);
		digest_add(&sum, number, 8);
	}
	digest_add(&sum, s->chain.p, s->chain.n);
	digest_add(&sum, s->before.p, s->before.n);
	for (size_t pos = 0; strlist_next(&s->sessions, &pos, &item);)
		digest_add(&sum, item.p, item.n);
	digest_end(&sum, ret);
}

static uint64_t little(const char *p)
{
	uint64_t v = 0;
	for (int k = 7; k >= 0; k--)
		v = v << 8 | (unsigned char)p[k];
	return v;
}

static int take_seal(struct chain *c, const struct event *ev)
{
	const struct event_seal *e = &ev->seal;
	struct seal *s = vec_add(&c->seals);
	struct digest hash;
	struct str item;
	if (!s)
		return -ENOMEM;
	*s = (struct seal){.chain = copy_event_text(e->chain),
	                   .key = copy_event_text(e->key),
	                   .signature = copy_event_text(e->signature),
	                   .number = e->number,
	                   .why = e->why,
	                   .time = ev->time,
	                   .first = e->before.n == 0,
	                   .from = c->entries.n};
	if (!s->chain || !s->key || !s->signature)
		return -ENOMEM;
	hash_seal(e, ev->time, &hash);
	s->sound = e->hash.n == DIGEST_BYTES && !memcmp(e->hash.p, hash.b, DIGEST_BYTES) &&
	           (e->before.n == DIGEST_BYTES || !e->before.n);
	if (e->hash.n == DIGEST_BYTES)
		memcpy(s->hash.b, e->hash.p, DIGEST_BYTES);
	if (e->before.n == DIGEST_BYTES)
		memcpy(s->before, e->before.p, DIGEST_BYTES);
	for (size_t pos = 0; strlist_next(&e->sessions, &pos, &item);) {
		struct entry *x = item.n == CHAIN_SESSION ? vec_add(&c->entries) : NULL;
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

struct look {
	struct chain *c;
	struct part *p;
};

static int first_event(void *arg, const struct event *ev)
{
	struct look *l = arg;
	l->p->keeping = ev->kind == EVENT_session && str_is(ev->session.mode, "keeping");
	return 1;
}

static int keeping_event(void *arg, const struct event *ev)
{
	struct look *l = arg;
	if (ev->kind == EVENT_seal) {
		l->p->seals = true;
		return take_seal(l->c, ev);
	}
	if (ev->kind == EVENT_tombstone && ev->tombstone.dead)
		return map_set(&l->c->dead, ev->tombstone.dead, 1) ? 0 : -ENOMEM;
	return 0;
}

static int part_cmp(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int seal_cmp(const void *pa, const void *pb)
{
	const struct seal *a = pa, *b = pb;
	int order = strcmp(a->chain, b->chain);
	if (order)
		return order;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return memcmp(a->hash.b, b->hash.b, DIGEST_BYTES);
}

static int read_sessions(struct chain *c, struct err *err)
{
	if (c->w.frames.n)
		qsort(c->w.frames.v, c->w.frames.n, sizeof(*c->w.frames.v), collect_compare_frames);
	for (size_t i = 0, k; i < c->w.frames.n; i = k) {
		const struct collect_frame *v = c->w.frames.v;
		struct part *p = vec_add(&c->parts);
		if (!p)
			return chain_oom(err);
		for (k = i; k < c->w.frames.n && v[k].session == v[i].session; k++)
			;
		*p = (struct part){
		    .number = v[i].session, .first = i, .n = k - i, .segment = v[i].segment, .offset = v[i].offset};
	}
	if (c->parts.n)
		qsort(c->parts.v, c->parts.n, sizeof(*c->parts.v), part_cmp);
	for (size_t i = 0; i < c->parts.n; i++) {
		struct part *p = &c->parts.v[i];
		struct look l = {c, p};
		struct frames f = {.p = p};
		const struct collect_frame *g = next_frame(c, &f);
		int rc = g ? each_event(c, g, first_event, &l) : 0;
		for (f = (struct frames){.p = p}; rc >= 0 && p->keeping && (g = next_frame(c, &f));)
			rc = each_event(c, g, keeping_event, &l);
		if (rc == -ENOMEM || !map_set(&c->by_number, p->number, (uint32_t)i))
			return chain_oom(err);
	}
	if (c->seals.n)
		qsort(c->seals.v, c->seals.n, sizeof(*c->seals.v), seal_cmp);
	for (size_t i = 0; i < c->seals.n; i++)
		for (size_t k = 0; k < c->seals.v[i].n; k++)
			c->entries.v[c->seals.v[i].from + k].seal = i;
	return 0;
}

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

int chain_open(const char *home, bool locked, struct err *err, struct chain **ret)
{
	struct chain *c = calloc(1, sizeof(*c));
	char *logs = NULL;
	int rc = 0;
	if (!c)
		return chain_oom(err);
	c->fd = c->lock = -1;
	c->room = malloc(WINDOW);
	c->home = realpath(home, NULL);
	if (!c->room || !c->home || asprintf(&logs, "%s/logs", c->home) < 0) {
		logs = NULL;
		rc = c->room && !c->home ? err_set(err, errno, "cannot open the record '%s'", home) : chain_oom(err);
		goto out;
	}
	int dir = open(logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		rc = err_set(err, errno, "cannot open '%s'", logs);
		goto out;
	}
	c->shared = !io_is_local(dir);
	close(dir);
	if (!locked) {
		rc = log_lease_slot(c->home, "", "keeping", 0, WAIT_MS, &c->lock);
		if (rc < 0) {
			err_set(err, rc == -EWOULDBLOCK ? 0 : -rc, "another stemma forget, gc or trust is at work on '%s'",
			        c->home);
			goto out;
		}
	}
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
	map_release(&c->by_number);
	map_release(&c->dead);
	collect_release(&c->w);
	free(c->room);
	free(c->home);
	free(c);
}

/* ---- checking ---- */

/* Hashes a session's frames; the digest of its first `bytes` where a frame ends there. */
struct hashing {
	struct digest_sum sum;
	struct frames f;
	uint64_t bytes;
};

static int hash_to(struct chain *c, struct hashing *h, uint64_t bytes)
{
	while (h->bytes < bytes) {
		const struct collect_frame *g = next_frame(c, &h->f);
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

static uint64_t length_of(struct chain *c, const struct part *p)
{
	struct frames f = {.p = p};
	uint64_t n = 0;
	for (const struct collect_frame *g; (g = next_frame(c, &f));)
		n += g->end - g->offset - SKIP;
	return n;
}

enum match { MATCHES, CHANGED, SHORTER };

/* The digest of a prefix leaves the sum as it is for what follows. */
static int match_entry(struct chain *c, struct hashing *h, const struct entry *e, enum match *ret)
{
	struct digest d;
	int rc = hash_to(c, h, e->bytes);
	if (rc < 0)
		return rc;
	if (h->bytes < e->bytes) {
		*ret = SHORTER;
		return 0;
	}
	struct digest_sum copy = h->sum;
	digest_end(&copy, &d);
	*ret = h->bytes == e->bytes && digest_eq(&d, &e->digest) ? MATCHES : CHANGED;
	return 0;
}

/* Entries by session, then as the chain has them, the shorter first among those of one seal's kind. */
static const struct chain *sorting;
static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = &sorting->entries.v[*(const uint32_t *)pa], *b = &sorting->entries.v[*(const uint32_t *)pb];
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seal > b->seal) - (a->seal < b->seal);
}

static uint32_t *sorted_entries(struct chain *c)
{
	uint32_t *v = malloc((c->entries.n + 1) * sizeof(*v));
	for (size_t i = 0; v && i < c->entries.n; i++)
		v[i] = (uint32_t)i;
	sorting = c;
	if (v && c->entries.n)
		qsort(v, c->entries.n, sizeof(*v), compare_entries);
	return v;
}

/* Of one session's entries those that hold: from the last one that forget or gc left on. */
static size_t first_valid(const struct chain *c, const uint32_t *v, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (c->seals.v[c->entries.v[v[i]].seal].why == 1)
			return i;
	return 0;
}

struct group {
	size_t from, n; /* in the sorted entries */
	uint32_t part;  /* VEC_NONE: the session is not there */
};

static int compare_groups_by_part(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;
	return (a->part > b->part) - (a->part < b->part);
}

/* Calls say for each sealed session, in the order in which they lie in the logs: so each segment is read once. */
static int each_session(struct chain *c,
                        int (*say)(void *arg, const struct part *p, uint64_t session, enum match m, bool cut,
                                   uint64_t sealed),
                        void *arg, struct err *err)
{
	uint32_t *order = sorted_entries(c);
	VEC(struct group) groups = {0};
	int rc = order ? 0 : chain_oom(err);
	for (size_t i = 0, k; rc == 0 && i < c->entries.n; i = k) {
		uint64_t session = c->entries.v[order[i]].session;
		for (k = i; k < c->entries.n && c->entries.v[order[k]].session == session; k++)
			;
		struct group *g = vec_add(&groups);
		if (!g) {
			rc = chain_oom(err);
			break;
		}
		*g = (struct group){i, k - i, map_get(&c->by_number, session)};
	}
	if (groups.n)
		qsort(groups.v, groups.n, sizeof(*groups.v), compare_groups_by_part);
	for (size_t i = 0; rc == 0 && i < groups.n; i++) {
		const struct group *g = &groups.v[i];
		const uint32_t *v = order + g->from;
		size_t first = first_valid(c, v, g->n);
		const struct part *p = g->part == VEC_NONE ? NULL : &c->parts.v[g->part];
		struct hashing h = {.f = {.p = p}};
		enum match m = MATCHES;
		digest_begin(&h.sum);
		for (size_t k = first; p && rc == 0 && k < g->n && m == MATCHES; k++)
			rc = match_entry(c, &h, &c->entries.v[v[k]], &m);
		bool cut = c->seals.v[c->entries.v[v[first]].seal].why == 1;
		if (rc == 0)
			rc = say(arg, p, c->entries.v[v[0]].session, m, cut, c->entries.v[v[g->n - 1]].bytes);
	}
	vec_release(&groups);
	free(order);
	return rc < 0 && rc != -ENOMEM ? err_set(err, -rc, "cannot read the logs") : rc;
}

struct verifying {
	struct chain *c;
	struct chain_report *r;
	void (*say)(void *arg, const char *line);
	void *arg;
	struct map sealed; /* index of a part -> 1 */
};

static __attribute__((format(printf, 2, 3))) void problem(struct verifying *v, const char *fmt, ...)
{
	char line[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	v->r->problems++;
	v->say(v->arg, line);
}

static const char *path_below_logs(const struct verifying *v, const struct part *p)
{
	const char *path = v->c->w.segments.v[p->segment].path, *logs = strstr(path, "/logs/");
	return logs ? logs + 6 : path;
}

static int check_session(void *arg, const struct part *p, uint64_t session, enum match m, bool cut, uint64_t sealed)
{
	struct verifying *v = arg;
	v->r->sessions++;
	v->r->rewritten += cut && p && m == MATCHES;
	if (!p && map_get(&v->c->dead, session) != VEC_NONE)
		v->r->forgotten++;
	else if (!p)
		problem(v, "session %016llx is sealed and not there any more", (unsigned long long)session);
	else if (m == CHANGED)
		problem(v, "session %016llx was changed (%s)", (unsigned long long)session, path_below_logs(v, p));
	else if (m == SHORTER)
		problem(v, "session %016llx has lost its end, or something in it (%s)", (unsigned long long)session,
		        path_below_logs(v, p));
	else
		v->r->bytes += sealed;
	if (p && m == MATCHES && length_of(v->c, p) > sealed)
		v->r->unsealed++;
	return p && !map_set(&v->sealed, (uint64_t)(p - v->c->parts.v), 1) ? -ENOMEM : 0;
}

static void check_links(struct verifying *v, const char *expect)
{
	struct chain *c = v->c;
	char hex[65];
	for (size_t i = 0; i < c->seals.n; i++) {
		const struct seal *s = &c->seals.v[i], *b = i ? &c->seals.v[i - 1] : NULL;
		bool begins = !b || strcmp(b->chain, s->chain) != 0;
		hex_text(s->hash.b, DIGEST_BYTES, hex);
		v->r->seals++;
		v->r->hosts += begins;
		v->r->with_signature += *s->signature != '\0';
		v->r->expected |= expect && !strcasecmp(expect, hex) && s->sound;
		if (!s->sound)
			problem(v, "seal %llu of %s was changed", (unsigned long long)s->number, s->chain);
		if (begins && s->number != 1)
			problem(v, "the first %llu seals of %s are not there", (unsigned long long)s->number - 1, s->chain);
		else if (begins && !s->first)
			problem(v, "seal 1 of %s follows another one, which is not there", s->chain);
		else if (!begins && s->number == b->number)
			problem(v, "there are two seals %llu of %s", (unsigned long long)s->number, s->chain);
		else if (!begins && s->number != b->number + 1)
			problem(v, "seals %llu to %llu of %s are not there", (unsigned long long)b->number + 1,
			        (unsigned long long)s->number - 1, s->chain);
		else if (!begins && (s->first || memcmp(s->before, b->hash.b, DIGEST_BYTES) != 0))
			problem(v, "seal %llu of %s does not follow seal %llu", (unsigned long long)s->number, s->chain,
			        (unsigned long long)b->number);
	}
}

int chain_verify(struct chain *c, const char *expect, void (*say)(void *arg, const char *line), void *arg,
                 struct err *err, struct chain_report *ret)
{
	*ret = (struct chain_report){0};
	struct verifying v = {.c = c, .r = ret, .say = say, .arg = arg};
	check_links(&v, expect);
	int rc = each_session(c, check_session, &v, err);
	for (size_t i = 0; rc == 0 && i < c->parts.n; i++)
		ret->unsealed += !c->parts.v[i].seals && map_get(&v.sealed, i) == VEC_NONE;
	if (c->w.damage.skipped)
		problem(&v, "%llu bytes of the logs cannot be read", (unsigned long long)c->w.damage.skipped);
	map_release(&v.sealed);
	return rc;
}

/* ---- sealing ---- */

static int last_event(void *arg, const struct event *ev)
{
	*(bool *)arg = ev->kind == EVENT_session_end;
	return 0;
}

/* Is it over? Else its last frame may still be written again by a keeper, with more in it. */
static int is_session_over(struct chain *c, const struct part *p, bool *ret)
{
	struct frames f = {.p = p};
	const struct collect_frame *g, *last = NULL;
	*ret = false;
	while ((g = next_frame(c, &f)))
		last = g;
	return last ? each_event(c, last, last_event, ret) : 0;
}

static void put_little(char *p, uint64_t v)
{
	for (int k = 0; k < 8; k++)
		p[k] = (char)(v >> 8 * k);
}

struct sealing {
	struct chain *c;
	struct log_writer *log;
	const char *name;
	uint64_t number;
	struct digest before;
	bool first;
	struct buf bytes;
	size_t n;
	int (*sign)(void *arg, const char *hash, char **ret_signature, char **ret_key, struct err *err);
	void *arg;
	struct err *err;
};

static int put_seal(struct sealing *s, uint64_t why)
{
	if (!s->n)
		return 0;
	struct str *items = calloc(s->n, sizeof(*items));
	char hex[65], *signature = NULL, *key = NULL;
	struct digest hash;
	if (!items || s->bytes.failed) {
		free(items);
		return chain_oom(s->err);
	}
	for (size_t i = 0; i < s->n; i++)
		items[i] = str_n(s->bytes.p + i * CHAIN_SESSION, CHAIN_SESSION);
	struct event ev = {.kind = EVENT_seal,
	                   .time = keep_now(),
	                   .seal = {.chain = str_of(s->name),
	                            .number = ++s->number,
	                            .before = str_n((const char *)s->before.b, s->first ? 0 : DIGEST_BYTES),
	                            .why = why,
	                            .sessions = {.items = items, .count = s->n}}};
	hash_seal(&ev.seal, ev.time, &hash);
	hex_text(hash.b, DIGEST_BYTES, hex);
	int rc = s->sign ? s->sign(s->arg, hex, &signature, &key, s->err) : 0;
	if (rc == 0) {
		ev.seal.hash = str_n((const char *)hash.b, DIGEST_BYTES);
		ev.seal.signature = str_of(signature);
		ev.seal.key = str_of(key);
		if (!log_writer_add(s->log, &ev))
			rc = err_set(s->err, EIO, "cannot write to the store");
	}
	s->before = hash;
	s->first = false;
	s->n = 0;
	buf_reset(&s->bytes);
	free(signature);
	free(key);
	free(items);
	return rc;
}

static int add_entry(struct sealing *s, const struct part *p, uint64_t length, uint64_t why)
{
	struct hashing h = {.f = {.p = p}};
	struct digest d;
	char numbers[16];
	digest_begin(&h.sum);
	int rc = hash_to(s->c, &h, length);
	if (rc < 0)
		return err_set(s->err, -rc, "cannot read the logs");
	digest_end(&h.sum, &d);
	put_little(numbers, p->number);
	put_little(numbers + 8, length);
	buf_add(&s->bytes, numbers, sizeof(numbers));
	buf_add(&s->bytes, d.b, DIGEST_BYTES);
	return ++s->n == SESSIONS_MAX ? put_seal(s, why) : 0;
}

/* Where the chain of this host ends. */
static int find_chain_end(struct sealing *s, char name[256])
{
	keep_host(name, 256);
	s->name = name;
	s->first = true;
	for (size_t i = 0; i < s->c->seals.n; i++) {
		const struct seal *x = &s->c->seals.v[i];
		if (strcmp(x->chain, name) != 0)
			continue;
		s->number = x->number;
		s->before = x->hash;
		s->first = false;
	}
	return 0;
}

struct known {
	struct map bytes; /* index of a part -> 1 + index in lengths */
	VEC(uint64_t) lengths;
	struct chain *c;
};

static int record_sealed_length(void *arg, const struct part *p, uint64_t session, enum match m, bool cut,
                                uint64_t sealed)
{
	struct known *k = arg;
	(void)session, (void)cut, (void)m;
	if (!p)
		return 0;
	uint64_t *slot = vec_add(&k->lengths);
	if (!slot)
		return -ENOMEM;
	*slot = sealed;
	return map_set(&k->bytes, (uint64_t)(p - k->c->parts.v), (uint32_t)(k->lengths.n - 1)) ? 0 : -ENOMEM;
}

/* How much of each session is sealed; without hashing anything. */
static int sealed_lengths(struct chain *c, struct known *k)
{
	for (size_t i = 0; i < c->entries.n; i++) {
		const struct entry *e = &c->entries.v[i];
		uint32_t part = map_get(&c->by_number, e->session);
		uint32_t at = part == VEC_NONE ? VEC_NONE : map_get(&k->bytes, part);
		if (part == VEC_NONE)
			continue;
		if (at == VEC_NONE) {
			int rc = record_sealed_length(k, &c->parts.v[part], e->session, MATCHES, false, e->bytes);
			if (rc < 0)
				return rc;
		} else if (k->lengths.v[at] < e->bytes) {
			k->lengths.v[at] = e->bytes;
		}
	}
	return 0;
}

static bool is_log_of_host(const struct chain *c, const struct part *p, const char *host)
{
	const char *path = c->w.segments.v[p->segment].path + strlen(c->home);
	size_t n = strlen(host);
	return !c->shared || (!strncmp(path, "/logs/", 6) && !strncmp(path + 6, host, n) && path[6 + n] == '/');
}

int chain_seal(struct chain *c,
               int (*sign)(void *arg, const char *hash, char **ret_signature, char **ret_key, struct err *err),
               void *arg, struct err *err, struct chain_seal_result *ret)
{
	struct sealing s = {.c = c, .sign = sign, .arg = arg, .err = err};
	struct known known = {.c = c};
	char name[256];
	*ret = (struct chain_seal_result){0};
	find_chain_end(&s, name);
	int rc = sealed_lengths(c, &known) < 0 ? chain_oom(err) : 0;
	uint64_t from = s.number;
	for (size_t i = 0; rc == 0 && i < c->parts.n; i++) {
		const struct part *p = &c->parts.v[i];
		uint32_t at = map_get(&known.bytes, i);
		uint64_t length = length_of(c, p), old = at == VEC_NONE ? 0 : known.lengths.v[at];
		if (p->seals || length <= old || !is_log_of_host(c, p, name))
			continue;
		bool over;
		rc = is_session_over(c, p, &over);
		if (rc < 0) {
			err_set(err, -rc, "cannot read the logs");
			break;
		}
		if (!over) {
			ret->waiting++;
			continue;
		}
		if (!s.log)
			rc = keep_begin(c->home, err, &s.log);
		if (rc == 0)
			rc = add_entry(&s, p, length, 0);
		ret->sessions++;
		ret->bytes += length - old;
	}
	if (rc == 0)
		rc = put_seal(&s, 0);
	if (s.log) {
		int ended = keep_end_durable(s.log, err);
		rc = rc < 0 ? rc : ended;
	}
	ret->seals = s.number - from;
	if (!s.first)
		hex_text(s.before.b, DIGEST_BYTES, ret->head);
	vec_release(&known.lengths);
	map_release(&known.bytes);
	buf_release(&s.bytes);
	return rc;
}

/* ---- what forget and gc do ---- */

struct matching {
	VEC(uint64_t) v;
};

static int append_matching(void *arg, const struct part *p, uint64_t session, enum match m, bool cut, uint64_t sealed)
{
	struct matching *x = arg;
	(void)cut, (void)sealed;
	uint64_t *slot = p && m == MATCHES ? vec_add(&x->v) : NULL;
	if (p && m == MATCHES && !slot)
		return -ENOMEM;
	if (slot)
		*slot = session;
	return 0;
}

int chain_matching(struct chain *c, struct err *err, uint64_t **ret, size_t *ret_n)
{
	struct matching m = {0};
	int rc = each_session(c, append_matching, &m, err);
	if (rc < 0) {
		vec_release(&m.v);
		return rc;
	}
	*ret = m.v.v;
	*ret_n = m.v.n;
	return 0;
}

struct cutting {
	struct chain *c;
	struct map matched;
	VEC(uint32_t) again; /* parts */
};

static int cut_one(void *arg, const struct part *p, uint64_t session, enum match m, bool cut, uint64_t sealed)
{
	struct cutting *x = arg;
	(void)cut, (void)sealed;
	if (!p || m == MATCHES || map_get(&x->matched, session) == VEC_NONE)
		return 0;
	uint32_t *slot = vec_add(&x->again);
	if (!slot)
		return -ENOMEM;
	*slot = (uint32_t)(p - x->c->parts.v);
	return 0;
}

int chain_cut(struct chain *c, const uint64_t *matched, size_t n, struct err *err)
{
	struct cutting x = {.c = c};
	struct sealing s = {.c = c, .err = err};
	char name[256];
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = map_set(&x.matched, matched[i], 1) ? 0 : chain_oom(err);
	if (rc == 0)
		rc = each_session(c, cut_one, &x, err);
	find_chain_end(&s, name);
	if (rc == 0 && x.again.n)
		rc = keep_begin(c->home, err, &s.log);
	for (size_t i = 0; rc == 0 && i < x.again.n; i++) {
		const struct part *p = &c->parts.v[x.again.v[i]];
		rc = add_entry(&s, p, length_of(c, p), 1);
	}
	if (rc == 0)
		rc = put_seal(&s, 1);
	if (s.log) {
		int ended = keep_end_durable(s.log, err);
		rc = rc < 0 ? rc : ended;
	}
	vec_release(&x.again);
	map_release(&x.matched);
	buf_release(&s.bytes);
	return rc;
}

int chain_each(struct chain *c, int (*each)(void *arg, const char *name, const char *hash, const char *signature),
               void *arg)
{
	char hex[65];
	for (size_t i = 0; i < c->seals.n; i++) {
		const struct seal *s = &c->seals.v[i];
		hex_text(s->hash.b, DIGEST_BYTES, hex);
		int rc = each(arg, s->chain, hex, s->signature);
		if (rc != 0)
			return rc;
	}
	return 0;
}
