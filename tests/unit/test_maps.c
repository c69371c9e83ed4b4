/* test_maps.c - tables of numbers against plain arrays of what was put in: dense, which begins anew where numbers go
 * on, and idmap, in which neighbours lie together. And varints where a buffer has no room for the longest. */
#include "base/buf.h"
#include "base/map.h"
#include "query/idmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define KEYS 6000

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* The n keys, each with its place as value, some of them twice: what came last counts. */
static void check_dense(const uint64_t *keys, uint32_t n)
{
	struct dense d = {0};
	for (uint32_t i = 0; i < n; i++)
		assert_true(dense_set(&d, keys[i], i));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t got = dense_get(&d, keys[i]);
		assert_true(got != VEC_NONE && got >= i && keys[got] == keys[i]);
		assert_int_equal(dense_get(&d, keys[i] + 1000000000), VEC_NONE);
	}
	assert_true(d.cap <= 16 * ((size_t)n + 1024)); /* whatever the keys */
	dense_clear(&d);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(dense_get(&d, keys[i]), VEC_NONE);
	assert_true(dense_set(&d, 1, 7));
	assert_int_equal(dense_get(&d, 1), 7);
	dense_release(&d);
}

static void test_dense(void **state)
{
	(void)state;
	static uint64_t keys[KEYS];
	uint64_t random = 1;
	for (uint32_t i = 0; i < KEYS; i++)
		keys[i] = i + 1;
	check_dense(keys, KEYS);
	for (uint32_t i = 100; i < KEYS; i++) /* old numbers, then new ones far behind them, with gaps */
		keys[i] = 5000000 + 3 * (uint64_t)i;
	check_dense(keys, KEYS);
	for (uint32_t i = 200; i < KEYS; i += 7) /* in between old ones again */
		keys[i] = i % 100 + 1;
	check_dense(keys, KEYS);
	for (uint32_t i = 0; i < KEYS; i++) /* downwards, and to the end of all numbers */
		keys[i] = UINT64_MAX - 1000000000 - i;
	check_dense(keys, KEYS);
	for (uint32_t i = 0; i < KEYS; i++)
		keys[i] = draw(&random) << (i % 30);
	check_dense(keys, KEYS);
}

/* Gone on with, new numbers are in the array, not in the map. */
static void test_dense_goes_on(void **state)
{
	(void)state;
	struct dense d = {0};
	assert_true(dense_set(&d, 1, 1));
	for (uint32_t i = 0; i < KEYS; i++)
		assert_true(dense_set(&d, 1000000 + i, i));
	assert_int_equal(d.rest.n, 1);
	assert_int_equal(dense_get(&d, 1), 1);
	dense_release(&d);
}

/* Adds the keys, finds them, and not others. However they lie, a key is in a short run of slots that are taken,
 * on average: nobody looks beyond its end. */
static void check_idmap(unsigned near, const uint64_t *keys, uint32_t n)
{
	struct idmap m = {.near = near};
	bool is_new;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *at = idmap_add(&m, keys[i], i, &is_new);
		assert_non_null(at);
		assert_int_equal(*at, i);
		assert_true(is_new);
		assert_true(idmap_add(&m, keys[i], n, &is_new) && !is_new);
	}
	size_t run = 0, squares = 0;
	for (size_t i = 0; i < m.cap; i++) {
		run = m.slots[i].key ? run + 1 : 0;
		squares += run ? 2 * run - 1 : 0; /* of a run of n: n^2 */
	}
	assert_in_range(squares / n, 1, 200);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(*idmap_find(&m, keys[i]) == i);
		assert_null(idmap_find(&m, keys[i] + (UINT64_C(1) << 50)));
	}
	idmap_release(&m);
}

static void test_idmap(void **state)
{
	(void)state;
	static uint64_t keys[64 * KEYS];
	const unsigned near[] = {0, IDMAP_FILES, IDMAP_EXECS, IDMAP_VERSIONS};
	for (unsigned k = 0; k < 4; k++) {
		const uint32_t n = 64 * KEYS;
		const unsigned shift = near[k] > 1 ? near[k] : 0;
		for (uint32_t i = 0; i < n; i++) /* one of each row */
			keys[i] = ((uint64_t)i + 1) << shift | (shift != 0);
		check_idmap(near[k], keys, n);
		for (uint32_t i = 0; i < n; i++) /* every 16th row */
			keys[i] = ((uint64_t)i + 1) << (shift + 4);
		check_idmap(near[k], keys, n);
		if (!shift)
			continue;
		for (uint32_t i = 0; i < n; i++) /* two of each row, then 25 of each, then all of one */
			keys[i] = ((uint64_t)i / 2 + 1) << shift | (i & 1);
		check_idmap(near[k], keys, n);
		for (uint32_t i = 0; i < n; i++)
			keys[i] = ((uint64_t)i / 25 + 1) << shift | i % 25;
		check_idmap(near[k], keys, n);
		for (uint32_t i = 0; i < n; i++)
			keys[i] = UINT64_C(1) << shift | i;
		check_idmap(near[k], keys, n);
	}
}

/* In buffers of every size that is left, each length of a varint. */
static void test_varint_at_the_end(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++)
		for (size_t left = 0; left < 12; left++) {
			struct buf b = {0};
			uint64_t got = 0, v = UINT64_C(1) << bits;
			assert_true(buf_room(&b, 256));
			while (b.cap - b.n > left)
				buf_char(&b, 'x');
			size_t at = b.n;
			buf_varint(&b, v);
			const unsigned char *p = (const unsigned char *)b.p + at, *end = (const unsigned char *)b.p + b.n;
			assert_true(!b.failed && b.n <= b.cap);
			assert_true(varint_get(&p, end, &got) && p == end && got == v);
			b.failed = true;
			buf_varint(&b, v);
			buf_add(&b, "x", 1);
			assert_true(b.n == at + (size_t)(end - ((const unsigned char *)b.p + at)));
			buf_release(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dense),
	    cmocka_unit_test(test_dense_goes_on),
	    cmocka_unit_test(test_idmap),
	    cmocka_unit_test(test_varint_at_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
