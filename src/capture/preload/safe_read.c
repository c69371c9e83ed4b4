#include "capture/preload/safe_read.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define READ_MAX 262144 /* events that may wait; more stay where they are */

struct waiting {
	int64_t time;
	uint64_t order;
	struct safe_event *e; /* malloc'ed: the whole event */
};

struct safe_reader {
	struct safe_region *region;
	uint32_t n;
	uint16_t *at;  /* of each chunk, how far it was read */
	uint8_t *over; /* ... its owner was gone at the last sweep: what it said may still wait */
	struct waiting *v;
	size_t nv, cap, next, sorted;
	uint64_t order, dropped, bad;
	int64_t now; /* the clock when it was last asked */
	struct safe_event *out;
};

/* i is not checked. */
static struct safe_chunk *reader_chunk(const struct safe_reader *r, uint32_t i)
{
	return (struct safe_chunk *)(void *)((unsigned char *)r->region + SAFE_PAGE) + i;
}

struct safe_reader *safe_reader_new(void *map, size_t size)
{
	if (size < 2 * SAFE_PAGE || size / SAFE_PAGE - 1 > SAFE_CHUNKS_MAX)
		return NULL;
	struct safe_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->region = map;
	r->n = (uint32_t)(size / SAFE_PAGE) - 1;
	r->at = calloc(r->n, sizeof(*r->at));
	r->over = calloc(r->n, sizeof(*r->over));
	if (!r->at || !r->over) {
		free(r->at);
		free(r->over);
		free(r);
		return NULL;
	}
	return r;
}

/* NULL is no error. */
void safe_reader_free(struct safe_reader *r)
{
	if (!r)
		return;
	for (size_t i = r->next; i < r->nv; i++)
		free(r->v[i].e);
	free(r->out);
	free(r->v);
	free(r->at);
	free(r->over);
	free(r);
}

/* Gives a chunk back, empty. Whoever still writes to it writes whole events that say whose they are. */
static void release_chunk(struct safe_reader *r, uint32_t i)
{
	struct safe_chunk *c = reader_chunk(r, i);
	memset(c->room, 0, sizeof(c->room));
	r->at[i] = 0;
	r->over[i] = 0;
	__atomic_store_n(&c->image, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->kind, SAFE_EVENTS, __ATOMIC_RELAXED);
	__atomic_store_n(&c->head, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&c->owner, 0, __ATOMIC_RELEASE);
}

/* A copy, with its time set within what is possible: not before `since`, not after now. False: no memory. */
static bool keep_event(struct safe_reader *r, const unsigned char *from, uint32_t size, int64_t since,
                       int64_t (*clock)(void))
{
	if (r->nv == r->cap) {
		size_t cap = r->cap ? 2 * r->cap : 256;
		struct waiting *v = realloc(r->v, cap * sizeof(*v));
		if (!v)
			return false;
		r->v = v;
		r->cap = cap;
	}
	struct safe_event *e = malloc(size);
	if (!e)
		return false;
	memcpy(e, from, size);
	e->size = size;
	/* What was written since the reading began is no lie: set back, it would come before what others have said before
	 * it, a parent's wait before its child's last words. */
	if (e->time > r->now)
		r->now = clock();
	if (e->time > r->now)
		e->time = r->now;
	if (e->time < since)
		e->time = since;
	r->v[r->nv++] = (struct waiting){e->time, r->order++, e};
	return true;
}

/* Order of qsort: by time; of the same time as they came. */
static int compare_waiting(const void *pa, const void *pb)
{
	const struct waiting *a = pa, *b = pb;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Reads the events of one chunk. False: there is no room for more. */
static bool read_ring_chunk(struct safe_reader *r, uint32_t i, int64_t since, int64_t (*clock)(void))
{
	struct safe_chunk *c = reader_chunk(r, i);
	uint32_t head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) == SAFE_COUNTERS || !head)
		return true;
	uint32_t at = r->at[i];
	bool spent = false;
	while (at < SAFE_ROOM && at < head) {
		uint32_t size = __atomic_load_n((uint32_t *)(void *)(c->room + at), __ATOMIC_ACQUIRE);
		if (!size)
			break;
		if (size == SAFE_END) {
			spent = true;
			break;
		}
		if (size < sizeof(struct safe_event) || size % 8 || size > SAFE_ROOM - at) {
			r->bad++; /* not written by the library: nothing behind it can be read */
			spent = true;
			break;
		}
		if (r->nv >= READ_MAX || !keep_event(r, c->room + at, size, since, clock))
			return false;
		at += size;
		r->at[i] = (uint16_t)at;
	}
	if (spent || at >= SAFE_ROOM)
		release_chunk(r, i);
	return true;
}

size_t safe_reader_gather(struct safe_reader *r, int64_t since, int64_t (*clock)(void))
{
	if (r->next) {
		memmove(r->v, r->v + r->next, (r->nv - r->next) * sizeof(*r->v));
		r->nv -= r->next;
		r->next = 0;
	}
	for (uint32_t i = 0; i < r->n; i++)
		if (!read_ring_chunk(r, i, since, clock))
			break;
	if (r->nv)
		qsort(r->v, r->nv, sizeof(*r->v), compare_waiting);
	return r->nv;
}

/* Bytes that a kind has between its stats and its strings. */
static size_t extra_bytes_of_kind(unsigned kind)
{
	switch (kind) {
	case SAFE_IO:
		return sizeof(struct safe_row);
	case SAFE_BORN:
		return sizeof(struct safe_birth);
	case SAFE_IMAGE:
		return 4 * sizeof(uint64_t);
	case SAFE_EXIT:
		return sizeof(struct safe_figures);
	default:
		return 0;
	}
}

/* Takes an event apart that a program has written into the shared memory. False: it makes no sense; the program may
 * have written anything. */
static bool parse_safe_event(const struct safe_event *e, struct safe_seen *ret)
{
	const unsigned char *p = (const unsigned char *)(e + 1), *end = (const unsigned char *)e + e->size;
	memset(ret, 0, sizeof(*ret));
	ret->e = *e;
	ret->stat[0].flags = ret->stat[1].flags = SAFE_HAS_NOT;
	if (!e->kind || e->kind >= SAFE_KINDS || e->nstat > 2 || e->nstr > 2 || !e->pid ||
	    (size_t)(end - p) < e->nstat * sizeof(ret->stat[0]))
		return false;
	memcpy(ret->stat, p, e->nstat * sizeof(ret->stat[0]));
	p += e->nstat * sizeof(ret->stat[0]);
	size_t more = extra_bytes_of_kind(e->kind);
	if ((size_t)(end - p) < more)
		return false;
	ret->more = more ? p : NULL;
	p += more;
	for (int i = 0; i < e->nstr; i++) {
		uint16_t n;
		if ((size_t)(end - p) < sizeof(n))
			return false;
		memcpy(&n, p, sizeof(n));
		p += sizeof(n);
		if ((size_t)(end - p) < n)
			return false;
		ret->str[i] = str_n((const char *)p, n);
		p += n;
	}
	return true;
}

bool safe_reader_next(struct safe_reader *r, int64_t until, struct safe_seen *ret)
{
	while (r->next < r->nv && r->v[r->next].time <= until) {
		free(r->out);
		r->out = r->v[r->next++].e;
		if (parse_safe_event(r->out, ret))
			return true;
		r->bad++;
	}
	return false;
}

unsigned safe_reader_end(struct safe_reader *r, uint32_t pid, uint32_t image,
                         void (*see)(const struct safe_handle *h, void *arg), void *arg)
{
	unsigned cut = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		struct safe_chunk *c = reader_chunk(r, i);
		if (__atomic_load_n(&c->owner, __ATOMIC_ACQUIRE) != pid ||
		    __atomic_load_n(&c->image, __ATOMIC_RELAXED) != image)
			continue;
		if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) == SAFE_COUNTERS) {
			for (int k = 0; k < SAFE_HANDLES; k++) {
				struct safe_handle h;
				memcpy(&h, c->room + k * sizeof(h), sizeof(h));
				if (h.oid && h.pid == pid && h.image == image)
					see(&h, arg);
			}
		} else {
			uint32_t head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE), at = r->at[i];
			uint32_t next = at < SAFE_ROOM ? *(uint32_t *)(void *)(c->room + at) : SAFE_END;
			if (head > at && next && next != SAFE_END)
				continue; /* it has more to say, and is swept later */
			cut += head > at && next != SAFE_END;
		}
		release_chunk(r, i);
	}
	return cut;
}

void safe_reader_sweep(struct safe_reader *r, bool (*alive)(uint32_t pid, uint32_t image, void *arg), void *arg)
{
	for (uint32_t i = 0; i < r->n; i++) {
		struct safe_chunk *c = reader_chunk(r, i);
		uint32_t owner = __atomic_load_n(&c->owner, __ATOMIC_ACQUIRE),
		         head = __atomic_load_n(&c->head, __ATOMIC_ACQUIRE);
		if (!owner || alive(owner, __atomic_load_n(&c->image, __ATOMIC_RELAXED), arg)) {
			r->over[i] = 0;
			continue;
		}
		if (!r->over[i]++)
			continue;
		uint32_t at = r->at[i], next = at < SAFE_ROOM ? *(uint32_t *)(void *)(c->room + at) : SAFE_END;
		if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) != SAFE_COUNTERS && head > at && next && next != SAFE_END)
			continue;
		release_chunk(r, i);
	}
}

static struct {
	uintptr_t from, to;
	unsigned failed;
} guarded;

/* A process cut the region shorter: a page of zeros takes the place of the one that is missing. Other signals end this
 * process. */
static void replace_missing_page(int sig, siginfo_t *si, void *context)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	uintptr_t at = (uintptr_t)si->si_addr & ~(uintptr_t)(SAFE_PAGE - 1);
	(void)context;
	if (at >= guarded.from && at < guarded.to &&
	    mmap((void *)at, SAFE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
		__atomic_add_fetch(&guarded.failed, 1, __ATOMIC_RELAXED);
	else
		signal(sig, SIG_DFL); /* it comes again, and ends the process */
}

void safe_reader_protect(struct safe_reader *r)
{
	struct sigaction sa = {.sa_sigaction = replace_missing_page, .sa_flags = SA_SIGINFO};
	guarded.from = (uintptr_t)r->region;
	guarded.to = guarded.from + (r->n + 1) * (uintptr_t)SAFE_PAGE;
	sigaction(SIGBUS, &sa, NULL);
}

uint64_t safe_reader_lost(struct safe_reader *r)
{
	uint64_t dropped = __atomic_load_n(&r->region->dropped, __ATOMIC_RELAXED), n = r->bad;
	if (guarded.from == (uintptr_t)r->region)
		n += __atomic_exchange_n(&guarded.failed, 0, __ATOMIC_RELAXED);
	if (dropped > r->dropped)
		n += dropped - r->dropped;
	r->dropped = dropped;
	r->bad = 0;
	return n;
}

unsigned safe_reader_used(const struct safe_reader *r)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < r->n; i++)
		n += __atomic_load_n(&reader_chunk(r, i)->owner, __ATOMIC_RELAXED) != 0;
	return n;
}
