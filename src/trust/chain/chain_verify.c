/* chain_verify.c - are the logs as they were when they were sealed? */
#include "trust/chain/chain_parts.h"

#include "base/hex.h"
#include "keep/write.h"
#include "trust/chain/chain_head.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The digest of a prefix leaves the sum as it is for what follows. -errno. */
static int match_entry(struct chain *c, struct chain_hashing *h, const struct chain_entry *e, enum chain_match *ret)
{
	struct digest d;
	int rc = chain_hash_to(c, h, e->bytes);
	if (rc < 0)
		return rc;
	if (h->bytes < e->bytes) {
		*ret = CHAIN_SHORTER;
		return 0;
	}
	struct digest_sum copy = h->sum;
	digest_end(&copy, &d);
	*ret = h->bytes == e->bytes && digest_eq(&d, &e->digest) ? CHAIN_MATCHES : CHAIN_CHANGED;
	return 0;
}

/* Entries by session, then as the chain has them, the shorter first among those of one seal's kind. */
static const struct chain *sorting;
/* Order of qsort, of numbers of entries: by session, then by seal. sorting must be set. */
static int compare_chain_entries(const void *pa, const void *pb)
{
	const struct chain_entry *a = &sorting->entries.v[*(const uint32_t *)pa],
	                         *b = &sorting->entries.v[*(const uint32_t *)pb];
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seal > b->seal) - (a->seal < b->seal);
}

/* Numbers of the entries in their order; the caller frees it, NULL without memory. */
static uint32_t *sorted_entries(struct chain *c)
{
	uint32_t *v = malloc((c->entries.n + 1) * sizeof(*v));
	for (size_t i = 0; v && i < c->entries.n; i++)
		v[i] = (uint32_t)i;
	sorting = c;
	if (v && c->entries.n)
		qsort(v, c->entries.n, sizeof(*v), compare_chain_entries);
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

struct groups {
	struct group *v;
	size_t n, cap;
};

/* Order of qsort: by part. */
static int compare_groups_by_part(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;
	return (a->part > b->part) - (a->part < b->part);
}

/* One group for each session that is sealed, by the place where it lies. False: no memory. */
static bool group_entries(struct chain *c, const uint32_t *order, struct groups *ret)
{
	for (size_t i = 0, k; i < c->entries.n; i = k) {
		uint64_t session = c->entries.v[order[i]].session;
		for (k = i; k < c->entries.n && c->entries.v[order[k]].session == session; k++)
			;
		struct group *g = vec_add(ret);
		if (!g)
			return false;
		*g = (struct group){i, k - i, map_get(&c->by_number, session)};
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_groups_by_part);
	return true;
}

/* Holds the session against the n entries that hold, until one does not match. 0, -EIO. */
static int match_group(struct chain *c, const struct chain_part *p, const uint32_t *entries, size_t n,
                       enum chain_match *ret)
{
	struct chain_hashing h = {.f = {.p = p}};
	int rc = 0;
	digest_begin(&h.sum);
	for (size_t k = 0; rc == 0 && k < n && *ret == CHAIN_MATCHES; k++)
		rc = match_entry(c, &h, &c->entries.v[entries[k]], ret);
	return rc;
}

int chain_each_session(struct chain *c,
                       int (*say)(void *arg, const struct chain_part *p, uint64_t session, enum chain_match m, bool cut,
                                  uint64_t sealed),
                       void *arg, struct err *err)
{
	uint32_t *order = sorted_entries(c);
	struct groups groups = {0};
	int rc = order && group_entries(c, order, &groups) ? 0 : chain_oom(err);
	for (size_t i = 0; rc == 0 && i < groups.n; i++) {
		const struct group *g = &groups.v[i];
		const uint32_t *v = order + g->from;
		size_t first = first_valid(c, v, g->n);
		const struct chain_part *p = g->part == VEC_NONE ? NULL : &c->parts.v[g->part];
		enum chain_match m = CHAIN_MATCHES;
		if (p)
			rc = match_group(c, p, v + first, g->n - first, &m);
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

void chain_problem(struct chain_report *r, void (*say)(void *arg, const char *line), void *arg, const char *fmt,
                   va_list ap)
{
	char line[400];
	vsnprintf(line, sizeof(line), fmt, ap);
	r->problems++;
	say(arg, line);
}

/* Counts and tells a problem. As printf. */
static __attribute__((format(printf, 2, 3))) void problem(struct verifying *v, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	chain_problem(v->r, v->say, v->arg, fmt, ap);
	va_end(ap);
}

/* Points into the part's path. */
static const char *path_below_logs(const struct verifying *v, const struct chain_part *p)
{
	const char *path = v->c->w.segments.v[p->segment].path, *logs = strstr(path, "/logs/");
	return logs ? logs + 6 : path;
}

/* A chain_each_session callback: counts, and tells what is wrong. 0, -ENOMEM. */
static int check_session(void *arg, const struct chain_part *p, uint64_t session, enum chain_match m, bool cut,
                         uint64_t sealed)
{
	struct verifying *v = arg;
	v->r->sessions++;
	v->r->rewritten += cut && p && m == CHAIN_MATCHES;
	if (!p && map_get(&v->c->dead, session) != VEC_NONE)
		v->r->forgotten++;
	else if (!p)
		problem(v, "session %016llx is sealed and missing", (unsigned long long)session);
	else if (m == CHAIN_CHANGED)
		problem(v, "session %016llx was changed (%s)", (unsigned long long)session, path_below_logs(v, p));
	else if (m == CHAIN_SHORTER)
		problem(v, "session %016llx has lost a part (%s)", (unsigned long long)session, path_below_logs(v, p));
	else
		v->r->bytes += sealed;
	if (p && m == CHAIN_MATCHES && chain_length_of(v->c, p) > sealed)
		v->r->unsealed++;
	return p && !map_set(&v->sealed, (uint64_t)(p - v->c->parts.v), 1) ? -ENOMEM : 0;
}

/* The first seal that is there of its chain. */
static void check_first_link(struct verifying *v, const struct chain_link *s)
{
	if (s->number != 1)
		problem(v, "the first %llu seal%s of %s %s missing", (unsigned long long)s->number - 1,
		        str_plural(s->number - 1), s->chain, s->number == 2 ? "is" : "are");
	else if (!s->first)
		problem(v, "seal 1 of %s follows another one, which is missing", s->chain);
}

/* A seal, and the one before it in the order of numbers of its chain. */
static void check_next_link(struct verifying *v, const struct chain_link *s, const struct chain_link *before)
{
	if (s->number == before->number)
		problem(v, "there are two seals %llu of %s", (unsigned long long)s->number, s->chain);
	else if (s->number != before->number + 1)
		problem(v, "seals %llu to %llu of %s are missing", (unsigned long long)before->number + 1,
		        (unsigned long long)s->number - 1, s->chain);
	else if (s->first || memcmp(s->before, before->hash.b, DIGEST_BYTES) != 0)
		problem(v, "seal %llu of %s does not follow seal %llu", (unsigned long long)s->number, s->chain,
		        (unsigned long long)before->number);
	else if (s->time < before->time)
		problem(v, "seal %llu of %s says that it is older than seal %llu", (unsigned long long)s->number, s->chain,
		        (unsigned long long)before->number);
}

/* Is the newest seal that this host knows of there? */
static void check_head(struct verifying *v)
{
	char host[256], hex[65];
	struct chain_head h;
	uint64_t last = 0;
	keep_host(host, sizeof(host));
	int rc = chain_head_read(v->c->home, host, &h);
	if (rc < 0)
		problem(v, "this host's note of its last seal cannot be read, or was changed");
	if (rc != 1)
		return;
	for (size_t i = 0; i < v->c->seals.n; i++) {
		const struct chain_link *s = &v->c->seals.v[i];
		if (strcmp(s->chain, host) != 0)
			continue;
		last = s->number;
		if (s->number == h.number && !digest_eq(&s->hash, &h.hash))
			problem(v, "seal %llu of %s is not the one that was made here", (unsigned long long)s->number, host);
	}
	if (last >= h.number)
		return;
	v->r->cut = true;
	hex_text(h.hash.b, DIGEST_BYTES, hex);
	problem(v, "the record is cut: seal %llu of %s (%s) was made here, but the last one present is %llu",
	        (unsigned long long)h.number, host, hex, (unsigned long long)last);
}

/* Checks that each seal follows from the one before. expect: a hash that one of the seals must have; NULL: none. */
static void check_links(struct verifying *v, const char *expect)
{
	struct chain *c = v->c;
	char hex[65];
	for (size_t i = 0; i < c->seals.n; i++) {
		const struct chain_link *s = &c->seals.v[i], *b = i ? &c->seals.v[i - 1] : NULL;
		bool begins = !b || strcmp(b->chain, s->chain) != 0;
		hex_text(s->hash.b, DIGEST_BYTES, hex);
		v->r->seals++;
		v->r->hosts += begins;
		v->r->with_signature += *s->signature != '\0';
		v->r->expected |= expect && !strcasecmp(expect, hex) && s->sound;
		if (!s->sound)
			problem(v, "seal %llu of %s was changed", (unsigned long long)s->number, s->chain);
		if (begins)
			check_first_link(v, s);
		else
			check_next_link(v, s, b);
	}
}

int chain_verify(struct chain *c, const char *expect, void (*say)(void *arg, const char *line), void *arg,
                 struct err *err, struct chain_report *ret)
{
	*ret = (struct chain_report){0};
	struct verifying v = {.c = c, .r = ret, .say = say, .arg = arg};
	check_links(&v, expect);
	check_head(&v);
	int rc = chain_check_plans(c, say, arg, ret) < 0 ? chain_oom(err) : 0;
	if (rc == 0)
		rc = chain_each_session(c, check_session, &v, err);
	for (size_t i = 0; rc == 0 && i < c->parts.n; i++)
		ret->unsealed += !c->parts.v[i].seals && map_get(&v.sealed, i) == VEC_NONE;
	if (c->w.damage.skipped)
		problem(&v, "%llu byte%s of the logs cannot be read", (unsigned long long)c->w.damage.skipped,
		        str_plural(c->w.damage.skipped));
	map_release(&v.sealed);
	return rc;
}
