/* The region of --capture=safe belongs to programs: whatever lies in it, the reader gives whole events or none. */
#include "capture/preload/safe_read.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CHUNKS 8

struct made {
	unsigned char *map;
	struct safe_reader *r;
};

static struct safe_chunk *chunk(const struct made *m, int i)
{
	return (struct safe_chunk *)(void *)(m->map + SAFE_PAGE) + i;
}

static struct made make(void)
{
	struct made m = {.map = aligned_alloc(SAFE_PAGE, (CHUNKS + 1) * SAFE_PAGE)};
	memset(m.map, 0, (CHUNKS + 1) * SAFE_PAGE);
	struct safe_region *region = (struct safe_region *)(void *)m.map;
	region->magic = SAFE_MAGIC;
	region->nchunks = CHUNKS;
	m.r = safe_reader_new(m.map, (CHUNKS + 1) * SAFE_PAGE);
	assert_non_null(m.r);
	return m;
}

static void drop(struct made *m)
{
	safe_reader_free(m->r);
	free(m->map);
}

/* As the library does it: an event with one string. */
static void put(struct made *m, int c, uint32_t pid, int64_t time, const char *text)
{
	uint16_t n = (uint16_t)strlen(text);
	uint32_t size = (uint32_t)((sizeof(struct safe_event) + 2 + n + 7) & ~7u);
	struct safe_chunk *k = chunk(m, c);
	struct safe_event e = {.size = size, .kind = SAFE_ABSENT, .nstr = 1, .pid = pid, .image = 7, .time = time};
	unsigned char *at = k->room + k->head;
	memcpy(at, &e, sizeof(e));
	memcpy(at + sizeof(e), &n, 2);
	memcpy(at + sizeof(e) + 2, text, n);
	k->head += size;
	k->owner = pid;
	k->image = 7;
}

static int64_t given, step;

static int64_t tell(void)
{
	int64_t now = given;
	given += step;
	return now;
}

static size_t gather(struct safe_reader *r, int64_t since, int64_t now)
{
	given = now;
	step = 0;
	return safe_reader_gather(r, since, tell);
}

/* What is said while the reading goes on keeps its time: a parent's wait does not come before its child's last words,
 * which are read the next time. */
static void test_meanwhile(void **state)
{
	struct made m = make();
	struct safe_seen x;
	put(&m, 1, 12, 500, "child");
	put(&m, 2, 11, 1500, "parent");
	given = step = 1000;
	assert_int_equal(safe_reader_gather(m.r, 0, tell), 2);
	assert_true(safe_reader_next(m.r, 1000, &x));
	assert_true(str_is(x.str[0], "child"));
	assert_false(safe_reader_next(m.r, 1000, &x));
	put(&m, 1, 12, 1400, "last");
	assert_int_equal(safe_reader_gather(m.r, 0, tell), 2);
	assert_true(safe_reader_next(m.r, 3000, &x));
	assert_true(str_is(x.str[0], "last"));
	assert_true(safe_reader_next(m.r, 3000, &x));
	assert_true(str_is(x.str[0], "parent"));
	drop(&m);
	(void)state;
}

static void test_order(void **state)
{
	struct made m = make();
	struct safe_seen x;
	put(&m, 3, 11, 300, "third");
	put(&m, 1, 12, 100, "first");
	put(&m, 1, 12, 200, "second");
	put(&m, 0, 13, 900, "late");
	assert_int_equal(gather(m.r, 0, 1000), 4);
	const char *const want[] = {"first", "second", "third"};
	for (int i = 0; i < 3; i++) {
		assert_true(safe_reader_next(m.r, 500, &x));
		assert_true(str_is(x.str[0], want[i]));
	}
	assert_false(safe_reader_next(m.r, 500, &x));
	/* What was left waits; what is new comes to it. */
	put(&m, 3, 11, 600, "new");
	assert_int_equal(gather(m.r, 0, 1000), 2);
	assert_true(safe_reader_next(m.r, 2000, &x));
	assert_true(str_is(x.str[0], "new"));
	assert_true(safe_reader_next(m.r, 2000, &x));
	assert_true(str_is(x.str[0], "late"));
	assert_int_equal(safe_reader_lost(m.r), 0);
	drop(&m);
	(void)state;
}

/* A filled chunk goes back, empty; one that a killed process left unfinished does when that is known to be over. */
static void test_chunks(void **state)
{
	struct made m = make();
	struct safe_seen x;
	put(&m, 2, 21, 1, "a");
	*(uint32_t *)(void *)(chunk(&m, 2)->room + chunk(&m, 2)->head) = SAFE_END;
	chunk(&m, 2)->head = SAFE_ROOM + 100;
	put(&m, 4, 22, 2, "b");
	chunk(&m, 4)->head += 64; /* reserved, and never written */
	assert_int_equal(safe_reader_used(m.r), 2);
	assert_int_equal(gather(m.r, 0, 10), 2);
	assert_int_equal(safe_reader_used(m.r), 1);
	assert_int_equal(chunk(&m, 2)->head, 0);
	assert_int_equal(chunk(&m, 2)->room[0], 0);
	while (safe_reader_next(m.r, 10, &x))
		;
	assert_int_equal(safe_reader_end(m.r, 22, 8, NULL, NULL), 0); /* another image's is not touched */
	assert_int_equal(safe_reader_used(m.r), 1);
	assert_int_equal(safe_reader_end(m.r, 22, 7, NULL, NULL), 1);
	assert_int_equal(safe_reader_used(m.r), 0);
	drop(&m);
	(void)state;
}

static void see(const struct safe_handle *h, void *arg)
{
	*(uint64_t *)arg += h->row[0].bytes;
}

static void test_counters(void **state)
{
	struct made m = make();
	uint64_t sum = 0;
	struct safe_chunk *k = chunk(&m, 5);
	struct safe_handle *h = (struct safe_handle *)(void *)k->room;
	k->owner = 31;
	k->image = 7;
	k->kind = SAFE_COUNTERS;
	h[0] = (struct safe_handle){.oid = 1, .pid = 31, .image = 7, .row = {{.bytes = 5}}};
	h[1] = (struct safe_handle){.oid = 2, .pid = 99, .image = 7, .row = {{.bytes = 50}}};
	h[SAFE_HANDLES - 1] = (struct safe_handle){.oid = 3, .pid = 31, .image = 7, .row = {{.bytes = 500}}};
	gather(m.r, 0, 10);
	assert_int_equal(safe_reader_end(m.r, 31, 7, see, &sum), 0);
	assert_int_equal(sum, 505);
	assert_int_equal(safe_reader_used(m.r), 0);
	drop(&m);
	(void)state;
}

static bool nobody(uint32_t pid, uint32_t image, void *arg)
{
	(void)pid, (void)image, (void)arg;
	return false;
}

/* Whatever programs scribble: no event that points outside itself, and times within bounds. */
static void test_scribble(void **state)
{
	struct made m = make();
	uint64_t seed = 88172645463325252u, events = 0, lost = 0;
	for (int round = 0; round < 4000; round++) {
		for (int n = 0; n < 60; n++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			struct safe_chunk *k = chunk(&m, (int)(seed % CHUNKS));
			uint32_t at = (uint32_t)(seed >> 8) % (SAFE_ROOM / 8) * 8;
			switch (seed >> 32 & 7) {
			case 0:
				k->head = (uint32_t)(seed >> 40);
				break;
			case 1:
				k->owner = (uint32_t)(seed >> 50);
				k->kind = (uint32_t)(seed >> 48) & 3;
				break;
			case 2:
				*(uint64_t *)(void *)(k->room + at) = seed;
				break;
			case 3: /* nearly an event */
				*(struct safe_event *)(void *)(k->room + (at < SAFE_ROOM - 200 ? at : 0)) =
				    (struct safe_event){.size = (uint32_t)(seed >> 45) & 0xff8,
				                        .kind = (uint16_t)(seed >> 50 & 31),
				                        .nstat = (uint8_t)(seed >> 52 & 3),
				                        .nstr = (uint8_t)(seed >> 54 & 3),
				                        .pid = 1 + (uint32_t)(seed >> 60),
				                        .time = (int64_t)seed};
				break;
			default:
				if (k->head < 2000)
					put(&m, (int)(seed % CHUNKS), 1 + (uint32_t)(seed >> 60), (int64_t)(seed >> 40), "x");
			}
		}
		gather(m.r, 5, 1000000);
		struct safe_seen x;
		while (safe_reader_next(m.r, 1000000, &x)) {
			events++;
			assert_in_range(x.e.time, 5, 1000000);
			assert_in_range(x.e.kind, 1, SAFE_KINDS - 1);
			assert_true(x.e.size >= sizeof(x.e) && x.e.size <= SAFE_ROOM);
			for (int i = 0; i < 2; i++)
				for (size_t k = 0; k < x.str[i].n; k++)
					lost += x.str[i].p[k] == '~'; /* each byte can be read */
			assert_true(x.str[0].n + x.str[1].n < x.e.size);
		}
		lost += safe_reader_lost(m.r);
		safe_reader_sweep(m.r, nobody, NULL);
	}
	assert_true(events > 1000);
	assert_true(lost > 100);
	drop(&m);
	(void)state;
}

/* Memory that goes away under the reader: it ends with what it had, and says that something is missing. */
static void test_cut(void **state)
{
	const size_t size = (CHUNKS + 1) * SAFE_PAGE;
	for (int left = 0; left <= CHUNKS; left++) {
		int fd = memfd_create("test", MFD_CLOEXEC);
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		struct made m = {.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};
		assert_ptr_not_equal(m.map, MAP_FAILED);
		m.r = safe_reader_new(m.map, size);
		safe_reader_protect(m.r);
		for (int i = 0; i < CHUNKS; i++)
			put(&m, i, 7, 100 + i, "x");
		assert_int_equal(ftruncate(fd, left * SAFE_PAGE), 0);
		gather(m.r, 5, 1000000);
		struct safe_seen x;
		int n = 0;
		while (safe_reader_next(m.r, 1000000, &x))
			n++;
		safe_reader_sweep(m.r, nobody, NULL);
		assert_int_equal(n, left ? left - 1 : 0);
		assert_true(safe_reader_lost(m.r) > 0);
		safe_reader_free(m.r);
		munmap(m.map, size);
		close(fd);
	}
	signal(SIGBUS, SIG_DFL);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_meanwhile), cmocka_unit_test(test_order),
	                                   cmocka_unit_test(test_chunks),    cmocka_unit_test(test_counters),
	                                   cmocka_unit_test(test_scribble),  cmocka_unit_test(test_cut)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
