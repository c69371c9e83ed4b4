/* Sets of processes alive together: the largest sums of their peaks, against all moments tried one by one. And what
 * /proc's texts hold, whatever a program calls itself. */
#include "base/os/procfs.h"
#include "monitor/sets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMBERS 40

struct life {
	int64_t start, end;
	uint64_t height;
};

/* The definition: at each moment, the sum of the peaks of those alive. */
static void naive(const struct life *v, size_t n, uint64_t *ret_sum, uint64_t *ret_count)
{
	*ret_sum = *ret_count = 0;
	for (size_t i = 0; i < n; i++) { /* a maximum begins with somebody's start */
		uint64_t sum = 0, count = 0;
		for (size_t k = 0; k < n; k++)
			if (v[k].start <= v[i].start && v[i].start < v[k].end) {
				sum += v[k].height;
				count++;
			}
		*ret_sum = sum > *ret_sum ? sum : *ret_sum;
		*ret_count = count > *ret_count ? count : *ret_count;
	}
}

static void play(struct sets *s, const struct life *v, size_t n, int64_t until)
{
	for (int64_t t = 0; t <= until; t++) {
		for (size_t i = 0; i < n; i++)
			if (v[i].end == t)
				sets_end(s, i + 1, t);
		for (size_t i = 0; i < n; i++)
			if (v[i].start == t) {
				const uint64_t h[SET_HEIGHTS] = {[SET_COUNT] = 1, [SET_RESIDENT] = v[i].height};
				assert_int_equal(sets_begin(s, i + 1, t), 0);
				sets_raise(s, i + 1, h);
			}
	}
}

static void test_against_definition(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 2000; round++) {
		struct life v[MEMBERS];
		struct sets s = {0};
		size_t n = 1 + (size_t)(rand() % MEMBERS);
		for (size_t i = 0; i < n; i++) {
			/* Starts differ, as those of two processes that were told one after the other do. */
			v[i].start = (int64_t)i * 5 + rand() % 5;
			v[i].end = v[i].start + 1 + rand() % 60;
			v[i].height = (uint64_t)(rand() % 1000);
		}
		uint64_t sum, count, peak[SET_HEIGHTS];
		naive(v, n, &sum, &count);
		play(&s, v, n, 1000);
		sets_peak(&s, peak);
		assert_int_equal(peak[SET_COUNT], count);
		assert_int_equal(peak[SET_RESIDENT], sum);
		assert_int_equal(s.n, 0);
		sets_release(&s);
	}
}

/* While they live, what is known is what they have had so far. */
static void test_living(void **state)
{
	(void)state;
	struct sets s = {0};
	uint64_t peak[SET_HEIGHTS];
	const uint64_t ten[SET_HEIGHTS] = {1, 10}, three[SET_HEIGHTS] = {1, 3}, seven[SET_HEIGHTS] = {1, 7};
	sets_begin(&s, 1, 0);
	sets_raise(&s, 1, three);
	sets_begin(&s, 2, 5);
	sets_raise(&s, 2, ten);
	sets_end(&s, 2, 8);
	sets_peak(&s, peak);
	assert_int_equal(peak[SET_RESIDENT], 13);
	sets_raise(&s, 1, seven); /* it counts for the whole of its life */
	sets_peak(&s, peak);
	assert_int_equal(peak[SET_RESIDENT], 17);
	sets_raise(&s, 1, three); /* and never goes down */
	sets_begin(&s, 3, 9);
	sets_raise(&s, 3, seven);
	sets_peak(&s, peak);
	assert_int_equal(peak[SET_RESIDENT], 17);
	assert_int_equal(peak[SET_COUNT], 2);
	sets_release(&s);
}

/* Met late: what ended meanwhile lived with it, or may have. */
static void test_late(void **state)
{
	(void)state;
	struct sets s = {0};
	uint64_t peak[SET_HEIGHTS];
	const uint64_t ten[SET_HEIGHTS] = {1, 10};
	sets_begin(&s, 1, 0);
	sets_raise(&s, 1, ten);
	sets_begin(&s, 2, 5);
	sets_raise(&s, 2, ten);
	sets_end(&s, 2, 8);
	sets_begin(&s, 3, 6);
	sets_raise(&s, 3, ten);
	sets_peak(&s, peak);
	assert_int_equal(peak[SET_RESIDENT], 30);
	sets_end(&s, 9, 9); /* nobody of that number */
	sets_release(&s);
}

static void test_stat(void **state)
{
	(void)state;
	struct procfs p;
	procfs_clear(&p);
	assert_int_equal(
	    procfs_parse_stat("12 (a) R 1 (x) S 7 8 9 1025 8 4194304 11 12 13 14 100 200 300 400 20 0 5 0 6000 "
	                      "4096000 25 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 "
	                      "0 0 9",
	                      &p),
	    0);
	assert_int_equal(p.state, 'S');
	assert_int_equal(p.ppid, 7);
	assert_int_equal(p.terminal, 1025);
	assert_int_equal(p.minor, 11);
	assert_int_equal(p.major, 13);
	assert_int_equal(p.waited_major, 14);
	assert_int_equal(p.threads, 5);
	assert_int_equal(p.virtual, 4096000);
	assert_int_equal(p.exit_code, 9);
	assert_true(p.user * 2 == p.system);
	static const char *const bad[] = {"", "12", "12 (a", "12 (a)", "12 (a) ", ")"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(procfs_parse_stat(bad[i], &p) < 0);
	assert_int_equal(procfs_parse_stat("1 (a) R", &p), 0); /* what is not there is 0 */
}

static void test_status(void **state)
{
	(void)state;
	struct procfs p;
	procfs_clear(&p);
	procfs_parse_status(
	    "Name:\tVmHWM: 7\nVmPeak:\t    3060 kB\nVmHWM:\t1716 kB\nThreads:\t3\nSigIgn:\t0000000000010000\n", &p);
	assert_int_equal(p.resident_peak, 1716 * 1024);
	assert_int_equal(p.virtual_peak, 3060 * 1024);
	assert_int_equal(p.threads, 3);
	assert_true(p.ignores_children);
	assert_true(p.swap == PROCFS_UNKNOWN);
	procfs_clear(&p);
	procfs_parse_io("rchar: 1\nwchar: 2\nsyscr: 3\n", &p);
	assert_true(p.rchar == PROCFS_UNKNOWN); /* cut short: none of it */
	procfs_parse_io("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n", &p);
	assert_int_equal(p.rchar, 1);
	assert_int_equal(p.write_bytes, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_against_definition),
	    cmocka_unit_test(test_living),
	    cmocka_unit_test(test_late),
	    cmocka_unit_test(test_stat),
	    cmocka_unit_test(test_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
