#include "capture/inject/site_text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_MASK (~(uint64_t)4095)
#define ROOM (SITES_MAX * 1024) /* of all spans; what is beyond it is read and written by itself */

/* From the first site on a page to the last. */
struct span {
	uint64_t at; /* in the process */
	size_t room; /* where its bytes are */
	size_t size;
};

struct site_text {
	const struct sites *sites;
	uint64_t base;
	size_t nspans;
	struct span span[SITES_MAX];
	size_t where[SITES_MAX]; /* in room, of each site */
	unsigned char room[ROOM];
};

/* The sites' numbers by their addresses. */
static void sort_sites(const struct sites *s, uint8_t order[SITES_MAX])
{
	static_assert(SITES_MAX <= UINT8_MAX, "numbers of sites");
	for (size_t i = 0; i < s->n; i++) {
		size_t at = i;
		for (; at && s->site[order[at - 1]].offset > s->site[i].offset; at--)
			order[at] = order[at - 1];
		order[at] = (uint8_t)i;
	}
}

/* Neighbouring sites are read in one piece, within a page. */
static void make_spans(struct site_text *t)
{
	uint8_t order[SITES_MAX];
	size_t used = 0;
	const struct sites *s = t->sites;
	sort_sites(s, order);
	for (size_t i = 0; i < s->n; i++) {
		const struct site *site = &s->site[order[i]];
		const uint64_t at = t->base + site->offset, end = at + site->taken;
		const size_t left = (s->n - i) * SITE_BYTES; /* for those that come, one by one */
		struct span *last = t->nspans ? &t->span[t->nspans - 1] : NULL;
		if (last && ((last->at ^ at) & PAGE_MASK) == 0 && last->room + (end - last->at) + left <= ROOM) {
			if (end > last->at + last->size)
				last->size = end - last->at;
		} else {
			last = &t->span[t->nspans++];
			*last = (struct span){.at = at, .room = used, .size = site->taken};
		}
		t->where[order[i]] = last->room + (at - last->at);
		used = last->room + last->size;
	}
}

struct site_text *site_text_read(pid_t pid, const struct sites *s, uint64_t base)
{
	struct iovec here[SITES_MAX], there[SITES_MAX];
	struct site_text *t = malloc(sizeof(*t));
	size_t want = 0;
	if (!t)
		return NULL;
	t->sites = s;
	t->base = base;
	t->nspans = 0;
	make_spans(t);
	for (size_t i = 0; i < t->nspans; i++) {
		const struct span *p = &t->span[i];
		here[i] = (struct iovec){t->room + p->room, p->size};
		there[i] = (struct iovec){(void *)(uintptr_t)p->at, p->size};
		want += p->size;
	}
	if (process_vm_readv(pid, here, t->nspans, there, t->nspans, 0) == (ssize_t)want)
		return t;
	free(t);
	return NULL;
}

bool site_text_is(const struct site_text *t, const struct stubs *stubs, uint64_t code)
{
	for (size_t i = 0; i < t->sites->n; i++) {
		const struct site *site = &t->sites->site[i];
		unsigned char jump[SITE_BYTES];
		if (stubs)
			stubs_jump(site, t->base, code, stubs->at[i], jump);
		if (memcmp(t->room + t->where[i], stubs ? jump : site->bytes, site->taken))
			return false;
	}
	return true;
}

int site_text_jump(struct site_text *t, int mem, const struct stubs *stubs, uint64_t code, bool *ret_changed)
{
	*ret_changed = false;
	for (size_t i = 0; i < t->sites->n; i++) {
		const struct site *site = &t->sites->site[i];
		unsigned char jump[SITE_BYTES];
		stubs_jump(site, t->base, code, stubs->at[i], jump);
		memcpy(t->room + t->where[i], jump, site->taken);
	}
	for (size_t i = 0; i < t->nspans; i++) {
		const struct span *p = &t->span[i];
		if (pwrite(mem, t->room + p->room, p->size, (off_t)p->at) != (ssize_t)p->size)
			return -EIO;
		*ret_changed = true;
	}
	return 0;
}

/* NULL is no error. */
void site_text_free(struct site_text *t)
{
	free(t);
}

/* ---- stubs ---- */

#define KEPT                                                                                                           \
	6 /* two a program, the library's and the loader's: of programs that are linked with more or fewer libraries */

struct kept {
	struct sites sites;
	uint64_t code, table; /* where they lie to the library */
	struct stubs stubs;
};

const struct stubs *site_stubs(const struct sites *s, uint64_t base, uint64_t code, uint64_t table)
{
	static struct kept *kept[KEPT];
	static unsigned next;
	struct kept *k = NULL;
	for (unsigned i = 0; i < KEPT && kept[i]; i++)
		if (kept[i]->code == code - base && kept[i]->table == table - base &&
		    memcmp(&kept[i]->sites, s, sizeof(*s)) == 0)
			k = kept[i];
	if (k) {
		stubs_move(&k->stubs, table);
		return &k->stubs;
	}
	struct kept **slot = &kept[next++ % KEPT];
	if (!*slot)
		*slot = malloc(sizeof(**slot));
	k = *slot;
	if (!k)
		return NULL;
	k->sites = *s;
	k->code = code - base;
	k->table = table - base;
	if (stubs_make(s, base, code, table, &k->stubs) == 0)
		return &k->stubs;
	k->sites.n = SITES_MAX + 1; /* like none */
	return NULL;
}
