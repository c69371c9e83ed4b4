/* chain_seal.c - makes seals: of what is new, and of what forget and gc have taken something out of. */
#include "trust/chain/chain_parts.h"

#include "base/hex.h"
#include "capture/launch/run.h"
#include "keep/write.h"
#include "trust/chain/chain_head.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS_MAX 10000 /* entries of one seal: half a megabyte */

/* A visitor: whether the last event ends the session. Always 0. */
static int last_event(void *arg, const struct event *ev)
{
	*(bool *)arg = ev->kind == EVENT_session_end;
	return 0;
}

/* Is it over? Else its last frame may still be written again by a keeper, with more in it. */
static int is_session_over(struct chain *c, const struct chain_part *p, bool *ret)
{
	struct chain_frames f = {.p = p};
	const struct collect_frame *g, *last = NULL;
	*ret = false;
	while ((g = chain_next_frame(c, &f)))
		last = g;
	return last ? chain_each_event(c, last, last_event, ret) : 0;
}

/* 8 bytes, little-endian. */
static void put_little(char *p, uint64_t v)
{
	for (int k = 0; k < 8; k++)
		p[k] = (char)(v >> 8 * k);
}

struct sealing {
	struct chain *c; /* that what is sealed is read from */
	struct log_writer *log;
	const char *home;
	const char *name;
	uint64_t number;
	struct digest before;
	bool first;
	int64_t time;                  /* of the seal before; TIME_NONE: it is not known */
	const struct chain_step *step; /* NULL: it is none of a plan's */
	bool keyed;
	struct digest start;  /* keyed: the name of the start key */
	struct chain_key key; /* ... the key of the next seal */
	struct buf bytes;
	size_t n;
	int (*sign)(void *arg, const char *hash, char **ret_signature, char **ret_key, struct err *err);
	void *arg;
	struct err *err;
};

/* Writes a seal of what was gathered, if there is anything. 0, -errno with a sentence. */
static int put_seal(struct sealing *s, uint64_t why)
{
	if (!s->n && !s->step)
		return 0;
	struct str *items = calloc(s->n + 1, sizeof(*items));
	char hex[65], *signature = NULL, *key = NULL;
	struct digest hash, mac;
	if (!items || s->bytes.failed) {
		free(items);
		return chain_oom(s->err);
	}
	for (size_t i = 0; i < s->n; i++)
		items[i] = str_n(s->bytes.p + i * CHAIN_SESSION, CHAIN_SESSION);
	/* No seal is older than the one before it, though the clock was set back. */
	int64_t now = keep_now();
	s->time = s->time != TIME_NONE && s->time > now ? s->time : now;
	struct event ev = {.kind = EVENT_seal,
	                   .time = s->time,
	                   .seal = {.chain = str_of(s->name),
	                            .number = ++s->number,
	                            .before = str_n((const char *)s->before.b, s->first ? 0 : DIGEST_BYTES),
	                            .why = why,
	                            .sessions = {.items = items, .count = s->n}}};
	if (s->step) {
		ev.seal.plan = str_of(s->step->plan);
		ev.seal.step = s->step->kind;
		ev.seal.repetition = s->step->repetition;
		ev.seal.run = str_of(s->step->run);
	}
	if (s->keyed)
		ev.seal.start = str_n((const char *)s->start.b, DIGEST_BYTES);
	chain_hash_seal(&ev.seal, ev.time, &hash);
	hex_text(hash.b, DIGEST_BYTES, hex);
	int rc = s->sign ? s->sign(s->arg, hex, &signature, &key, s->err) : 0;
	if (rc == 0) {
		ev.seal.hash = str_n((const char *)hash.b, DIGEST_BYTES);
		ev.seal.signature = str_of(signature);
		ev.seal.key = str_of(key);
		if (s->keyed) {
			chain_key_mac(&s->key, &hash, &mac);
			chain_key_forward(&s->key, 1);
			ev.seal.mac = str_n((const char *)mac.b, DIGEST_BYTES);
		}
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

/* Hashes the session's log up to `length`, and seals once there are SESSIONS_MAX. 0, -errno with a sentence. */
static int add_entry(struct sealing *s, const struct chain_part *p, uint64_t length, uint64_t why)
{
	struct chain_hashing h = {.f = {.p = p}};
	struct digest d;
	char numbers[16];
	digest_begin(&h.sum);
	int rc = chain_hash_to(s->c, &h, length);
	if (rc < 0)
		return err_set(s->err, -rc, "cannot read the logs");
	digest_end(&h.sum, &d);
	put_little(numbers, p->number);
	put_little(numbers + 8, length);
	buf_add(&s->bytes, numbers, sizeof(numbers));
	buf_add(&s->bytes, d.b, DIGEST_BYTES);
	return ++s->n == SESSIONS_MAX ? put_seal(s, why) : 0;
}

/* Takes over what the host knows of the end of its chain. Where the log has more, which a seal that was cut off leaves,
 * the key goes on to behind it. */
static void take_known_end(struct sealing *s, const struct chain_head *h)
{
	uint64_t more = !s->first && s->number > h->number ? s->number - h->number : 0;
	s->keyed = h->keyed;
	s->start = h->start;
	s->key = h->key;
	if (s->keyed && !chain_key_forward(&s->key, more))
		s->keyed = false;
	if (more)
		return;
	s->number = h->number;
	s->before = h->hash;
	s->time = h->time;
	s->first = h->number == 0;
}

/* Where the chain of this host ends, by what the host knows. 1; 0: it knows of none; or -errno. */
static int find_known_end(struct sealing *s)
{
	struct chain_head h;
	int rc = chain_head_read(s->home, s->name, &h);
	if (rc == 1)
		take_known_end(s, &h);
	chain_key_erase(&h.key);
	return rc;
}

/* home is not copied; name gets the host's. */
static void begin_sealing(struct sealing *s, const char *home, char name[256])
{
	keep_host(name, 256);
	s->home = home;
	s->name = name;
	s->first = true;
	s->time = TIME_NONE;
}

/* Where the chain of this host ends, by the log. Where that has lost its end it goes on behind what was there, so that
 * what is missing stays missing. */
static void find_chain_end(struct sealing *s, char name[256])
{
	begin_sealing(s, s->c->home, name);
	for (size_t i = 0; i < s->c->seals.n; i++) {
		const struct chain_link *x = &s->c->seals.v[i];
		if (strcmp(x->chain, name) != 0)
			continue;
		s->number = x->number;
		s->before = x->hash;
		s->first = false;
		s->time = x->time;
	}
	find_known_end(s); /* a damaged one is made anew */
	chain_head_open(s->home, s->name);
}

/* The key is erased from the copy. 0, -errno with a sentence. */
static int write_head(struct sealing *s)
{
	struct chain_head h = {
	    .number = s->number, .time = s->time, .hash = s->before, .keyed = s->keyed, .start = s->start, .key = s->key};
	int rc = chain_head_write(s->home, s->name, &h, s->err);
	chain_key_erase(&h.key);
	return rc;
}

/* The seals are on the disk, and then the host knows of them. 0 or -errno with a sentence. */
static int end_sealing(struct sealing *s, int rc)
{
	int ended = s->log ? keep_end_durable(s->log, s->err) : 0;
	rc = rc < 0 ? rc : ended;
	if (rc == 0 && s->log && !s->first)
		rc = write_head(s);
	if (rc == 0)
		chain_head_done(s->home, s->name);
	chain_key_erase(&s->key);
	return rc;
}

struct known {
	struct map bytes; /* index of a part -> 1 + index in lengths */
	VEC(uint64_t) lengths;
	struct chain *c;
};

/* A chain_each_session callback. 0, -ENOMEM. */
static int record_sealed_length(void *arg, const struct chain_part *p, uint64_t session, enum chain_match m, bool cut,
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

/* How much of each session is sealed; without hashing anything. 0, -ENOMEM. */
static int sealed_lengths(struct chain *c, struct known *k)
{
	for (size_t i = 0; i < c->entries.n; i++) {
		const struct chain_entry *e = &c->entries.v[i];
		uint32_t part = map_get(&c->by_number, e->session);
		uint32_t at = part == VEC_NONE ? VEC_NONE : map_get(&k->bytes, part);
		if (part == VEC_NONE)
			continue;
		if (at == VEC_NONE) {
			int rc = record_sealed_length(k, &c->parts.v[part], e->session, CHAIN_MATCHES, false, e->bytes);
			if (rc < 0)
				return rc;
		} else if (k->lengths.v[at] < e->bytes) {
			k->lengths.v[at] = e->bytes;
		}
	}
	return 0;
}

/* All are, if the home is not shared between hosts. */
static bool is_log_of_host(const struct chain *c, const struct chain_part *p, const char *host)
{
	const char *path = c->w.segments.v[p->segment].path + strlen(c->home);
	size_t n = strlen(host);
	return !c->shared || (!strncmp(path, "/logs/", 6) && !strncmp(path + 6, host, n) && path[6 + n] == '/');
}

/* Adds to the seal what the session has beyond the bytes that are sealed, if it is this host's and over. 0 or -errno
 * with a sentence. */
static int seal_session(struct sealing *s, const struct chain_part *p, uint64_t sealed, struct chain_seal_result *ret)
{
	uint64_t length = chain_length_of(s->c, p);
	if (p->seals || length <= sealed || !is_log_of_host(s->c, p, s->name))
		return 0;
	bool over;
	int rc = is_session_over(s->c, p, &over);
	if (rc < 0)
		return err_set(s->err, -rc, "cannot read the logs");
	if (!over) {
		ret->waiting++;
		return 0;
	}
	if (!s->log)
		rc = keep_begin(s->c->home, s->err, &s->log);
	if (rc == 0)
		rc = add_entry(s, p, length, 0);
	ret->sessions++;
	ret->bytes += length - sealed;
	return rc;
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
		uint32_t at = map_get(&known.bytes, i);
		rc = seal_session(&s, &c->parts.v[i], at == VEC_NONE ? 0 : known.lengths.v[at], ret);
	}
	if (rc == 0)
		rc = put_seal(&s, 0);
	rc = end_sealing(&s, rc);
	ret->seals = s.number - from;
	if (!s.first)
		hex_text(s.before.b, DIGEST_BYTES, ret->head);
	vec_release(&known.lengths);
	map_release(&known.bytes);
	buf_release(&s.bytes);
	return rc;
}

int chain_start_key(struct chain *c, const char *path, struct err *err)
{
	struct sealing s = {.c = c, .err = err};
	struct chain_start start;
	char name[256];
	find_chain_end(&s, name);
	int rc = chain_start_new(name, s.number + 1, err, &start);
	if (rc == 0)
		rc = chain_start_write(path, &start, err);
	if (rc == 0) {
		s.keyed = true;
		s.key = start.key;
		chain_key_name(&start.key, &s.start);
		rc = write_head(&s);
	}
	chain_key_erase(&start.key);
	chain_key_erase(&s.key);
	if (rc == 0)
		chain_head_done(s.home, s.name);
	return rc;
}

/* ---- a step of a plan ---- */

/* What of the places is over, and as a whole. step->sealed: which are. 0, -errno with a sentence. */
static int add_places(struct sealing *s, const struct chain_step *step, struct chain_seal_result *ret)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < step->n_places; i++) {
		uint32_t at = map_get(&s->c->by_number, step->places[i].session);
		bool over = false;
		if (step->sealed)
			step->sealed[i] = at == VEC_NONE;
		if (at == VEC_NONE)
			continue;
		const struct chain_part *p = &s->c->parts.v[at];
		rc = is_session_over(s->c, p, &over);
		uint64_t length = chain_length_of(s->c, p);
		if (rc < 0)
			err_set(s->err, -rc, "cannot read the logs");
		else if (over)
			rc = add_entry(s, p, length, 2);
		if (step->sealed)
			step->sealed[i] = over;
		ret->sessions += over;
		ret->waiting += !over;
		ret->bytes += over ? length : 0;
	}
	return rc;
}

/* Where the chain ends: what the host knows, or else what the whole record says. 0, -errno with a sentence. */
static int find_end_quickly(struct sealing *s, const char *home, char name[256])
{
	begin_sealing(s, home, name);
	if (chain_head_open(home, name) == 0 && find_known_end(s) == 1)
		return 0;
	struct chain *all;
	int rc = chain_open(home, true, s->err, &all);
	if (rc < 0)
		return rc;
	s->c = all;
	find_chain_end(s, name);
	s->home = home;
	s->c = NULL;
	chain_close(all);
	return 0;
}

int chain_step(const char *home, const struct chain_step *step, struct err *err, struct chain_seal_result *ret)
{
	struct sealing s = {.step = step, .err = err};
	char name[256];
	int lock = -1;
	*ret = (struct chain_seal_result){0};
	int rc = chain_lock(home, err, &lock);
	if (rc == 0)
		rc = find_end_quickly(&s, home, name);
	if (rc == 0)
		rc = chain_open_places(home, step->places, step->n_places, err, &s.c);
	if (rc == 0)
		rc = keep_begin(home, err, &s.log);
	if (rc == 0)
		rc = add_places(&s, step, ret);
	if (rc == 0)
		rc = put_seal(&s, 2);
	rc = end_sealing(&s, rc);
	if (rc == 0) {
		ret->seals = 1;
		hex_text(s.before.b, DIGEST_BYTES, ret->head);
	}
	chain_close(s.c);
	buf_release(&s.bytes);
	if (lock >= 0)
		close(lock);
	return rc;
}

/* ---- what forget and gc do ---- */

struct matching {
	VEC(uint64_t) v;
};

/* The sessions whose log is as it was sealed. 0, -ENOMEM. */
static int append_matching(void *arg, const struct chain_part *p, uint64_t session, enum chain_match m, bool cut,
                           uint64_t sealed)
{
	struct matching *x = arg;
	(void)cut, (void)sealed;
	uint64_t *slot = p && m == CHAIN_MATCHES ? vec_add(&x->v) : NULL;
	if (p && m == CHAIN_MATCHES && !slot)
		return -ENOMEM;
	if (slot)
		*slot = session;
	return 0;
}

int chain_matching(struct chain *c, struct err *err, uint64_t **ret, size_t *ret_n)
{
	struct matching m = {0};
	int rc = chain_each_session(c, append_matching, &m, err);
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

/* A chain_each_session callback: notes those that matched before and do not now. 0, -ENOMEM. */
static int cut_one(void *arg, const struct chain_part *p, uint64_t session, enum chain_match m, bool cut,
                   uint64_t sealed)
{
	struct cutting *x = arg;
	(void)cut, (void)sealed;
	if (!p || m == CHAIN_MATCHES || map_get(&x->matched, session) == VEC_NONE)
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
		rc = chain_each_session(c, cut_one, &x, err);
	find_chain_end(&s, name);
	if (rc == 0 && x.again.n)
		rc = keep_begin(c->home, err, &s.log);
	for (size_t i = 0; rc == 0 && i < x.again.n; i++) {
		const struct chain_part *p = &c->parts.v[x.again.v[i]];
		rc = add_entry(&s, p, chain_length_of(c, p), 1);
	}
	if (rc == 0)
		rc = put_seal(&s, 1);
	rc = end_sealing(&s, rc);
	vec_release(&x.again);
	map_release(&x.matched);
	buf_release(&s.bytes);
	return rc;
}
