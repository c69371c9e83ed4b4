/* chain_verify_key.c - were the seals made with the keys of a start key, one after the other? */
#include "trust/chain/chain_head.h"
#include "trust/chain/chain_key.h"
#include "trust/chain/chain_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct checking_keys {
	struct chain *c;
	const struct chain_start *start;
	struct digest name;
	struct chain_key key; /* of seal `number` */
	uint64_t number;
	uint64_t right;
	void (*say)(void *arg, const char *line);
	void *arg;
	struct chain_report *r;
};

/* Counts and tells a problem. As printf. */
static __attribute__((format(printf, 2, 3))) void key_problem(struct checking_keys *x, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	chain_problem(x->r, x->say, x->arg, fmt, ap);
	va_end(ap);
}

/* Checks one seal of the chain, from the start key's on. False: nothing behind it can be checked. */
static bool check_mac(struct checking_keys *x, const struct chain_link *s)
{
	struct digest mac;
	unsigned long long n = s->number;
	if (s->number < x->number)
		return true; /* a second one of its number, which is said elsewhere */
	if (!chain_key_forward(&x->key, s->number - x->number)) {
		key_problem(x, "seal %llu of %s is too far after seal %llu", n, s->chain, (unsigned long long)x->number);
		return false;
	}
	x->number = s->number;
	if (!s->keyed) {
		key_problem(x, "seal %llu of %s has no key: it was rewritten, or the host lost its key", n, s->chain);
		return true;
	}
	if (!digest_eq(&s->start, &x->name)) {
		key_problem(x, "seal %llu of %s has another start key: it and later ones are not checked", n, s->chain);
		return false;
	}
	chain_key_mac(&x->key, &s->hash, &mac);
	if (digest_eq(&mac, &s->mac))
		x->right++;
	else
		key_problem(x, "seal %llu of %s was not made with its key: it was rewritten", n, s->chain);
	return true;
}

/* The host's own next key must be the one behind the last seal: who cuts the chain has no earlier key to put there. */
static void check_next_key(struct checking_keys *x)
{
	struct chain_head h;
	int rc = chain_head_read(x->c->home, x->start->chain, &h);
	if (rc != 1 || !h.keyed) {
		key_problem(x, "the host's next key (seals/%s) is missing: whether the chain was cut is unknown",
		            x->start->chain);
	} else if (h.number + 1 >= x->number && chain_key_forward(&x->key, h.number + 1 - x->number)) {
		if (memcmp(h.key.b, x->key.b, sizeof(h.key.b)) != 0)
			key_problem(x, "the host's next key is not that of seal %llu: the chain was cut or rewritten",
			            (unsigned long long)h.number + 1);
	} else {
		key_problem(x, "the host has no seal after %llu", (unsigned long long)h.number);
	}
	chain_key_erase(&h.key);
}

uint64_t chain_verify_key(struct chain *c, const struct chain_start *start, void (*say)(void *arg, const char *line),
                          void *arg, struct chain_report *r)
{
	struct checking_keys x = {
	    .c = c, .start = start, .key = start->key, .number = start->number, .say = say, .arg = arg, .r = r};
	bool goes_on = true;
	chain_key_name(&start->key, &x.name);
	for (size_t i = 0; goes_on && i < c->seals.n; i++) {
		const struct chain_link *s = &c->seals.v[i];
		if (strcmp(s->chain, start->chain) != 0)
			continue;
		if (s->number < start->number)
			continue;
		goes_on = check_mac(&x, s);
	}
	if (goes_on)
		check_next_key(&x);
	chain_key_erase(&x.key);
	return x.right;
}
