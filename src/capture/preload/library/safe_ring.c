/* The region: chunks are claimed, events put into them. */
#include "capture/preload/library/safe.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define FULL_WAIT_NS 200000 /* between two looks for a free chunk when all are taken */
#define FULL_WAITS 50       /* such looks, 10 ms in all: on a busy machine the worker waits for a processor as long */

static struct safe_region *region;
static uint32_t nchunks;
static size_t room;    /* bytes of the mapping */
static uint32_t user;  /* who owns the region */
static char place[64]; /* its path */

long safe_peeks(const struct iovec *here, const struct iovec *there, long n)
{
	uint32_t pid = safe_vforked ? safe_vforked : safe_self->pid;
	return raw6(SYS_process_vm_readv, pid ? pid : raw0(SYS_getpid), (long)here, 1, (long)there, n, 0);
}

bool safe_peek(const void *from, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
	long got = safe_peeks(&here, &there, 1);
	if (got == -ENOSYS || got == -EPERM) {
		memcpy(to, from, n);
		return true;
	}
	return got == (long)n;
}

/* CLOCK_BOOTTIME, ns. */
int64_t safe_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Maps it at that address, 0: anywhere. The path is looked at before it is opened: the process that had it may be gone,
 * and the number another's, whose pipe or terminal may lie there now. */
static void *map_at(uintptr_t at, size_t *ret_size)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	const size_t most = (size_t)(SAFE_CHUNKS_MAX + 1) * SAFE_PAGE;
	struct stat st;
	long map = -1, fixed = at ? MAP_FIXED : 0;
	if (raw6(SYS_newfstatat, AT_FDCWD, (long)place, (long)&st, 0, 0, 0) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	long fd = raw6(SYS_openat, AT_FDCWD, (long)place, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0, 0, 0);
	if (fd < 0)
		return NULL;
	if (raw3(SYS_fstat, fd, (long)&st, 0) == 0 && S_ISREG(st.st_mode) && st.st_size >= 2 * SAFE_PAGE &&
	    (size_t)st.st_size <= most && st.st_uid == (uid_t)raw0(SYS_geteuid) &&
	    (raw3(SYS_fcntl, fd, F_GET_SEALS, 0) & (seals | ~INT_MAX)) == seals)
		map = raw6(SYS_mmap, (long)at, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, 0);
	raw1(SYS_close, fd);
	if (map < 0 && map > -4096)
		return NULL;
	user = st.st_uid;
	*ret_size = (size_t)st.st_size;
	return (void *)map;
}

bool safe_map(const char *value)
{
	size_t n = 0;
	while (value[n] && value[n] != ':')
		n++;
	if (n >= sizeof(place) || text_len(value + n, SAFE_TOKEN + 2) != SAFE_TOKEN + 1)
		return false;
	memcpy(place, value, n);
	place[n] = '\0';
	struct safe_region *r = map_at(0, &room);
	if (!r)
		return false;
	region = r;
	nchunks = (uint32_t)(room / SAFE_PAGE) - 1;
	if (r->magic == SAFE_MAGIC && r->nchunks == nchunks && !memcmp(r->token, value + n + 1, SAFE_TOKEN))
		return true;
	raw3(SYS_munmap, (long)r, (long)room, 0);
	region = NULL;
	return false;
}

void safe_let_go(void)
{
	const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	if (region && !safe_gone)
		raw6(SYS_mmap, (long)region, (long)room, PROT_READ | PROT_WRITE, flags, -1, 0);
	safe_gone = true;
}

/* Takes the region back; false: that cannot be. */
bool safe_regain(void)
{
	size_t size;
	safe_gone = !region || !map_at((uintptr_t)region, &size);
	return !safe_gone;
}

bool safe_same_user(void)
{
	uint32_t r, e, s;
	return raw3(SYS_getresuid, (long)&r, (long)&e, (long)&s) == 0 && r == user && e == user && s == user;
}

/* i is not checked. */
static struct safe_chunk *ring_chunk(uint32_t i)
{
	return (struct safe_chunk *)((unsigned char *)region + SAFE_PAGE) + i;
}

/* Wakes the reader, which may sleep on it. */
static void ring_bell(void)
{
	__atomic_add_fetch(&region->bell, 1, __ATOMIC_RELEASE);
	raw3(SYS_futex, (long)&region->bell, FUTEX_WAKE, 1);
}

struct safe_chunk *safe_claim(uint32_t kind)
{
	uint32_t from = __atomic_load_n(&region->hint, __ATOMIC_RELAXED) % nchunks;
	for (uint32_t n = 0; n < nchunks; n++) {
		uint32_t i = from + n < nchunks ? from + n : from + n - nchunks, none = 0;
		struct safe_chunk *c = ring_chunk(i);
		if (__atomic_load_n(&c->owner, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&c->owner, &none, safe_self->pid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		if (kind == SAFE_COUNTERS && __atomic_load_n(&c->head, __ATOMIC_RELAXED)) {
			/* Somebody slow has put an event there since it was given back: it stays one of events. */
			__atomic_store_n(&c->owner, 0, __ATOMIC_RELEASE);
			continue;
		}
		__atomic_store_n(&c->image, safe_self->image, __ATOMIC_RELAXED);
		__atomic_store_n(&c->kind, kind, __ATOMIC_RELEASE);
		__atomic_store_n(&region->hint, i + 1, __ATOMIC_RELAXED);
		if (n > nchunks / 8) /* they get few: the worker is to come before its time */
			ring_bell();
		return c;
	}
	return NULL;
}

/* Claims a chunk of the shared memory for events. As safe_claim() for events. If all chunks are taken, it gives the
 * worker up to 10 ms to empty some. A worker that does not come in that time is not waited for again until it has
 * emptied one: a program is held up once. */
static struct safe_chunk *claim_or_wait(void)
{
	static uint32_t gave_up; /* 1: the last wait was in vain */
	const struct timespec nap = {0, FULL_WAIT_NS};
	struct safe_chunk *c = safe_claim(SAFE_EVENTS);
	for (int i = 0; !c && i < FULL_WAITS && !__atomic_load_n(&gave_up, __ATOMIC_RELAXED); i++) {
		ring_bell();
		/* By futex, as the bell: one call the fewer that a program's own filter may not know. */
		raw6(SYS_futex, (long)&region->bell, FUTEX_WAIT, __atomic_load_n(&region->bell, __ATOMIC_RELAXED), (long)&nap,
		     0, 0);
		c = safe_claim(SAFE_EVENTS);
	}
	__atomic_store_n(&gave_up, c == NULL, __ATOMIC_RELAXED);
	return c;
}

/* Room for n bytes. Safe against signals, other threads and a kill: what is reserved and never filled ends what can be
 * read of this one chunk. */
static unsigned char *ring_reserve(uint32_t n)
{
	struct self *s = safe_self;
	for (int tries = 0; tries < 64; tries++) {
		struct safe_chunk *c = __atomic_load_n(&s->current, __ATOMIC_ACQUIRE);
		if (c) {
			uint32_t at = __atomic_load_n(&c->head, __ATOMIC_RELAXED);
			if (at < SAFE_ROOM)
				at = __atomic_fetch_add(&c->head, n, __ATOMIC_ACQ_REL);
			if (at < SAFE_ROOM && n <= SAFE_ROOM - at)
				return c->room + at;
			if (at < SAFE_ROOM)
				__atomic_store_n((uint32_t *)(void *)(c->room + at), SAFE_END, __ATOMIC_RELEASE);
		}
		struct safe_chunk *fresh = claim_or_wait();
		if (!fresh)
			break;
		if (!__atomic_compare_exchange_n(&s->current, &c, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			__atomic_store_n(&fresh->owner, 0, __ATOMIC_RELEASE);
	}
	__atomic_add_fetch(&region->dropped, 1, __ATOMIC_RELAXED);
	return NULL;
}

void safe_begin(struct safe_out *o, enum safe_kind kind)
{
	o->e = (struct safe_event){.kind = (uint16_t)kind, .pid = safe_self->pid, .image = safe_self->image, .fd = -1};
	if (safe_vforked) { /* on its parent's memory, with descriptors of its own */
		o->e.pid = safe_vforked;
		o->e.image = safe_self->image ^ safe_vforked;
	}
	o->e.time = safe_now();
	o->more = NULL;
	o->nmore = 0;
}

/* At most two texts; NULL is "". text must live until the entry is written. */
void safe_string(struct safe_out *o, const char *text)
{
	if (o->e.nstr >= 2)
		return;
	o->str[o->e.nstr] = text ? text : "";
	o->len[o->e.nstr] = text ? text_len(text, SAFE_PATH_MAX) : 0;
	o->e.nstr++;
}

/* Gives the end. p must have room. */
static unsigned char *append_bytes(unsigned char *p, const void *from, size_t n)
{
	memcpy(p, from, n);
	return p + n;
}

/* Emits the head of a long text: of a string that is too long for one event the beginning goes ahead. */
static void emit_head(struct safe_out *o, int i, size_t most)
{
	struct safe_out head = {.e = o->e, .len = {o->len[i] - most}, .str = {o->str[i]}};
	head.e.kind = SAFE_TEXT;
	head.e.nstat = 0;
	head.e.nstr = 1;
	head.e.a = SAFE_HEAD + (unsigned)i;
	head.e.b = 0;
	o->str[i] += head.len[0];
	o->len[i] = most;
	safe_emit(&head);
}

void safe_emit(struct safe_out *o)
{
	size_t fixed = sizeof(o->e) + o->e.nstat * sizeof(o->stat[0]) + o->nmore, n = fixed;
	for (int i = 0; i < o->e.nstr; i++) {
		size_t most = (SAFE_ROOM - fixed - 8) / o->e.nstr - 2;
		if (o->len[i] > most)
			emit_head(o, i, most);
		n += 2 + o->len[i];
	}
	n = (n + 7) & ~(size_t)7;
	unsigned char *at = n <= SAFE_ROOM ? ring_reserve((uint32_t)n) : NULL;
	if (!at)
		return;
	o->e.size = 0;
	unsigned char *p = append_bytes(at, &o->e, sizeof(o->e));
	p = append_bytes(p, o->stat, o->e.nstat * sizeof(o->stat[0]));
	p = append_bytes(p, o->more, o->nmore);
	for (int i = 0; i < o->e.nstr; i++) {
		uint16_t len = (uint16_t)o->len[i];
		p = append_bytes(p, &len, sizeof(len));
		p = append_bytes(p, o->str[i], len);
	}
	__atomic_store_n((uint32_t *)(void *)at, (uint32_t)n, __ATOMIC_RELEASE);
}
