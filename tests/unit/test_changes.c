/* Change points: found where they are, and not where there is only noise. The series come from fixed seeds. */
#include "trust/changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define GROUPS 30
#define VALUES 5

static uint64_t seed = 1;
static double values[CHANGES_GROUPS * VALUES];
static struct change_group groups[CHANGES_GROUPS + 1];

static double uniform(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)((seed * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

/* About normal, with a deviation of 1. */
static double gauss(void)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

static double flat(size_t i)
{
	(void)i;
	return 1;
}
static double step(size_t i)
{
	return i < 12 ? 1 : 1.05;
}
static double spike(size_t i)
{
	return i == 9 ? 1.5 : 1;
}
static double back_again(size_t i)
{
	return i < 10 ? 1 : i < 20 ? 1.1 : 1.03;
}
static double late(size_t i)
{
	return i < 27 ? 1 : 1.1;
}

/* Groups of values around f, which differ by 2 % in themselves, and by `between` from group to group. */
static void make(double (*f)(size_t i), size_t n, double between)
{
	for (size_t i = 0; i < n; i++) {
		double offset = between * gauss();
		for (size_t k = 0; k < VALUES; k++)
			values[i * VALUES + k] = f(i) + offset + 0.02 * gauss();
		groups[i] = (struct change_group){values + i * VALUES, VALUES};
	}
}

/* Of 50 series how many have exactly these changes, and (ret_any) how many any. */
static size_t found(double (*f)(size_t i), size_t n, double between, const size_t *at, size_t n_at, size_t *ret_any)
{
	size_t right = 0;
	*ret_any = 0;
	for (int t = 0; t < 50; t++) {
		struct change_point *p;
		size_t m;
		make(f, n, between);
		assert_int_equal(changes_find(groups, n, &p, &m), 0);
		bool same = m == n_at;
		for (size_t i = 0; same && i < m; i++)
			same = p[i].at == at[i] && p[i].p < 0.01;
		right += same;
		*ret_any += m > 0;
		free(p);
	}
	return right;
}

/* Noise within a group and from group to group, and one group alone. */
static void test_noise(void **state)
{
	(void)state;
	size_t any;
	for (int between = 0; between < 2; between++) {
		found(flat, GROUPS, between * 0.02, NULL, 0, &any);
		assert_true(any <= 3);
		found(flat, CHANGES_LEAST, between * 0.02, NULL, 0, &any);
		assert_true(any <= 3);
		found(spike, GROUPS, between * 0.02, NULL, 0, &any);
		assert_true(any <= 3);
	}
}

static void test_changes(void **state)
{
	(void)state;
	const size_t one[] = {12}, two[] = {10, 20}, last[] = {27};
	size_t any;
	assert_true(found(step, GROUPS, 0, one, 1, &any) >= 45);
	assert_true(found(back_again, GROUPS, 0, two, 2, &any) >= 45);
	assert_true(found(late, GROUPS, 0, last, 1, &any) >= 45);
	/* A step of 5 % among noise of 2 % from group to group: found, if not always to the group. */
	assert_true(found(step, GROUPS, 0.02, one, 1, &any) >= 25);
	assert_true(any >= 40);
}

static void test_medians(void **state)
{
	(void)state;
	struct change_point *p;
	size_t n;
	for (size_t i = 0; i < 20; i++) {
		values[i] = i < 10 ? 3 : 4;
		groups[i] = (struct change_group){values + i, 1};
	}
	assert_int_equal(changes_find(groups, 20, &p, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(p[0].at, 10);
	assert_true(p[0].before == 3 && p[0].after == 4);
	free(p);
}

/* A change of spread alone, with the same middle. */
static void test_spread(void **state)
{
	(void)state;
	struct change_point *p;
	size_t n;
	for (size_t i = 0; i < 24; i++) {
		for (size_t k = 0; k < VALUES; k++)
			values[i * VALUES + k] = 1 + ((double)k - 2) * (i < 12 ? 0.001 : 0.1) + 0.0001 * gauss();
		groups[i] = (struct change_group){values + i * VALUES, VALUES};
	}
	assert_int_equal(changes_find(groups, 24, &p, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(p[0].at, 12);
	free(p);
}

static void test_few_and_many(void **state)
{
	(void)state;
	struct change_point *p;
	size_t n;
	assert_int_equal(changes_find(groups, 0, &p, &n), 0);
	assert_int_equal(n, 0);
	for (size_t i = 0; i < CHANGES_LEAST - 1; i++) {
		values[i] = i < 4 ? 1 : 100;
		groups[i] = (struct change_group){values + i, 1};
	}
	assert_int_equal(changes_find(groups, CHANGES_LEAST - 1, &p, &n), 0);
	assert_int_equal(n, 0);
	assert_true(changes_find(groups, CHANGES_GROUPS + 1, &p, &n) < 0);
	make(step, CHANGES_GROUPS, 0.02);
	assert_int_equal(changes_find(groups, CHANGES_GROUPS, &p, &n), 0);
	assert_true(n >= 1);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise), cmocka_unit_test(test_changes),
	                                   cmocka_unit_test(test_medians), cmocka_unit_test(test_spread),
	                                   cmocka_unit_test(test_few_and_many)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
