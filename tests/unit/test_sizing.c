/* test_sizing.c - first allocations, Kaplan and Meier's estimate, the line on input, against answers that are known or
 * found by trying every candidate; and what the history says to stemma run. */
#include "archive/auto.h"
#include "archive/sizing.h"
#include "archive/stats.h"
#include "archive/submit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LENGTH(v) (sizeof(v) / sizeof(*(v)))

/* A small generator of our own: the same numbers everywhere. */
static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(*state >> 8) * below >> 24);
}

static struct sizing *made_of(const struct sizing_task *v, size_t n, double q)
{
	struct sizing *s = sizing_new(q);
	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sizing_add(s, &v[i]), 0);
	assert_int_equal(sizing_fit(s), 0);
	return s;
}

/* ---- tasks that all ended by themselves: every candidate is tried ---- */

static double wasted(const struct sizing_task *v, size_t n, double most, double a)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += a * v[i].time + (v[i].need > a ? most * v[i].time : 0);
	return sum;
}

static double rate(const struct sizing_task *v, size_t n, double most, double a)
{
	double done = 0, times = 0;
	for (size_t i = 0; i < n; i++) {
		done += v[i].need <= a ? most / a : 1;
		times += v[i].time * (v[i].need <= a ? 1 : 2);
	}
	return done / times;
}

static void test_first_allocations(void **state)
{
	(void)state;
	uint32_t seed = 5;
	for (unsigned turn = 0; turn < 300; turn++) {
		struct sizing_task v[60];
		size_t n = 1 + draw(&seed, LENGTH(v));
		uint32_t spread = 2 + draw(&seed, 50);
		double most = 0, least = INFINITY, best = 0, answer;
		for (size_t i = 0; i < n; i++) {
			uint32_t need = 1 + draw(&seed, spread);
			v[i] =
			    (struct sizing_task){need * (draw(&seed, 4) ? 1.0 : need), 1 + draw(&seed, 9), SIZING_NO_INPUT, false};
			most = fmax(most, v[i].need);
		}
		struct sizing *s = made_of(v, n, 0.9);
		for (size_t i = 0; i < n; i++) {
			least = fmin(least, wasted(v, n, most, v[i].need));
			best = fmax(best, rate(v, n, most, v[i].need));
		}
		assert_true(sizing_ask(s, METHOD_waste, -1, &answer, NULL));
		assert_true(wasted(v, n, most, answer) <= least * (1 + 1e-9));
		assert_true(sizing_ask(s, METHOD_throughput, -1, &answer, NULL));
		assert_true(rate(v, n, most, answer) >= best * (1 - 1e-9));
		assert_true(sizing_ask(s, METHOD_quantile, -1, &answer, NULL));
		size_t enough = 0, less = 0;
		for (size_t i = 0; i < n; i++) {
			enough += v[i].need <= answer;
			less += v[i].need < answer;
		}
		assert_true((double)enough >= 0.9 * (double)n - 1e-6 && (double)less < 0.9 * (double)n);
		assert_true(sizing_ask(s, METHOD_maximum, -1, &answer, NULL));
		assert_true(fabs(answer - 1.2 * most) < 1e-9 * most);
		assert_false(sizing_ask(s, METHOD_regression, 5, &answer, NULL));
		sizing_free(s);
	}
}

/* ---- killed tasks ---- */

/* Freireich and others, 1963: weeks of remission; the estimate is in every textbook. */
static const struct {
	double weeks;
	bool censored;
} trial[] = {{6, 0},  {6, 0},  {6, 0},  {6, 1},  {7, 0},  {9, 1},  {10, 0}, {10, 1}, {11, 1}, {13, 0}, {16, 0},
             {17, 1}, {19, 1}, {20, 1}, {22, 0}, {23, 0}, {25, 1}, {32, 1}, {32, 1}, {34, 1}, {35, 1}};
static const struct {
	double weeks, stays;
} textbook[] = {{6, 0.857}, {7, 0.807}, {10, 0.753}, {13, 0.690}, {16, 0.627}, {22, 0.538}, {23, 0.448}};

static void test_kaplan_meier(void **state)
{
	(void)state;
	struct sizing_task v[LENGTH(trial)];
	for (size_t i = 0; i < LENGTH(trial); i++)
		v[(i * 8) % LENGTH(trial)] = (struct sizing_task){trial[i].weeks, 1, SIZING_NO_INPUT, trial[i].censored};
	for (size_t i = 0; i < LENGTH(textbook); i++) {
		double answer;
		bool open;
		/* Just under what the estimate reaches there, and just over. */
		struct sizing *s = made_of(v, LENGTH(v), 1 - textbook[i].stays - 0.001);
		assert_true(sizing_ask(s, METHOD_quantile, -1, &answer, &open));
		assert_true(answer == textbook[i].weeks && !open);
		assert_int_equal(sizing_censored(s), 12);
		sizing_free(s);
		s = made_of(v, LENGTH(v), 1 - textbook[i].stays + 0.001);
		assert_true(sizing_ask(s, METHOD_quantile, -1, &answer, &open));
		assert_true(i + 1 < LENGTH(textbook) ? answer == textbook[i + 1].weeks : answer == 70 && open);
		sizing_free(s);
	}
}

static void test_all_killed(void **state)
{
	(void)state;
	struct sizing_task v[] = {{5, 1, 1, true}, {9, 1, 2, true}, {7, 1, 3, true}};
	struct sizing *s = made_of(v, LENGTH(v), 0.5);
	double a;
	bool open;
	for (int m = 0; m < METHOD_regression; m++) {
		assert_true(sizing_ask(s, (enum method)m, 2, &a, &open));
		assert_true(fabs(a - (m == METHOD_maximum ? 10.8 : 18)) < 1e-9);
		assert_true(open == (m == METHOD_quantile));
	}
	for (int m = METHOD_regression; m < METHODS; m++)
		assert_false(sizing_ask(s, (enum method)m, 2, &a, NULL));
	sizing_free(s);
}

/* ---- the line ---- */

static void test_line(void **state)
{
	(void)state;
	struct sizing_task v[100];
	double offset, slope, r2, a;
	/* 1000 + 3 input, and from 0 to 99 more, in an order that has nothing to do with the input. */
	for (int i = 0; i < 100; i++) {
		double x = 1e12 + 1e9 * (i % 10);
		v[i] = (struct sizing_task){1000 + 3 * x + (i * 37) % 100, 1, x, false};
	}
	struct sizing *s = made_of(v, LENGTH(v), 0.9);
	assert_true(sizing_line(s, &offset, &slope, &r2));
	assert_true(fabs(slope - 3) < 1e-6 && r2 > 0.999999);
	assert_true(sizing_ask(s, METHOD_regression, 1e12 + 5e9, &a, NULL));
	size_t below = 0;
	for (size_t i = 0; i < LENGTH(v); i++) {
		double b;
		assert_true(sizing_ask(s, METHOD_regression, v[i].input, &b, NULL));
		below += v[i].need <= b + 1;
	}
	assert_in_range(below, 90, 93);
	assert_false(sizing_ask(s, METHOD_regression, SIZING_NO_INPUT, &a, NULL));
	sizing_free(s);
	/* Needs that fall with the input, or inputs that are all one, make no line. */
	for (int i = 0; i < 100; i++)
		v[i].need = 5e12 - v[i].input;
	s = made_of(v, LENGTH(v), 0.9);
	assert_false(sizing_line(s, &offset, &slope, &r2));
	sizing_free(s);
	for (int i = 0; i < 100; i++)
		v[i].input = 7;
	s = made_of(v, LENGTH(v), 0.9);
	assert_false(sizing_line(s, &offset, &slope, &r2));
	sizing_free(s);
}

/* Adding in pieces gives what adding at once gives. */
static void test_pieces(void **state)
{
	(void)state;
	uint32_t seed = 9;
	struct sizing *pieces = sizing_new(0.95), *whole = sizing_new(0.95);
	for (unsigned i = 0; i < 500; i++) {
		struct sizing_task t = {1 + draw(&seed, 40), 1 + draw(&seed, 5), draw(&seed, 100), draw(&seed, 9) == 0};
		assert_int_equal(sizing_add(pieces, &t), 0);
		assert_int_equal(sizing_add(whole, &t), 0);
		if (draw(&seed, 20) == 0)
			assert_int_equal(sizing_fit(pieces), 0);
	}
	assert_int_equal(sizing_fit(pieces), 0);
	assert_int_equal(sizing_fit(whole), 0);
	assert_int_equal(sizing_tasks(pieces), 500);
	for (int m = 0; m < METHODS; m++) {
		double a = 0, b = 0;
		assert_int_equal(sizing_ask(pieces, (enum method)m, 50, &a, NULL),
		                 sizing_ask(whole, (enum method)m, 50, &b, NULL));
		assert_true(fabs(a - b) <= 1e-9 * fabs(b));
	}
	sizing_free(pieces);
	sizing_free(whole);
	sizing_free(NULL);
}

static void test_nothing(void **state)
{
	(void)state;
	struct sizing *s = sizing_new(0.99);
	struct backtest test[METHODS];
	double a;
	assert_int_equal(sizing_fit(s), 0);
	for (int m = 0; m < METHODS; m++) {
		assert_false(sizing_ask(s, (enum method)m, 1, &a, NULL));
		assert_int_equal(method_by_name(method_name((enum method)m)), m);
	}
	assert_int_equal(method_by_name("none"), -1);
	sizing_free(s);
	assert_int_equal(backtest_run(NULL, 0, 10, 0.99, test), 0);
	assert_int_equal(test[METHOD_maximum].tasks, 0);
}

static void test_times_since_1970(void **state)
{
	(void)state;
	int64_t v[] = {1767225600000000003, 1767225600000000001, 1767225600000000002};
	struct stats s;
	stats_of(v, 3, &s);
	assert_true(s.min == 1767225600000000001 && s.max == 1767225600000000003);
	assert_true(fabs(s.std_dev - 1) < 1e-9 && fabs(s.skewness) < 1e-9 && fabs(s.kurtosis + 1.5) < 1e-9);
}

/* ---- stemma run ---- */

static char home[] = "/tmp/stemma-unit.XXXXXX";

static void record(const char *text)
{
	struct err err = {0};
	struct store *s = NULL;
	struct submit *u;
	struct submit_report r;
	int rc = store_open(home, STORE_WRITE, &err, &s);
	if (rc == 0)
		rc = store_index(s, NULL, &err, NULL);
	assert_int_equal(rc, 0);
	assert_int_equal(submit_open(home, s, "", &err, &u), 0);
	assert_int_equal(submit_text(u, text, strlen(text), &err, &r), 0);
	assert_int_equal(submit_close(u, &err), 0);
	store_close(s);
	assert_int_equal(r.added, r.read);
}

static void record_tasks(const char *program, size_t n)
{
	struct buf text = {0};
	for (size_t i = 0; i < n; i++)
		buf_printf(&text,
		           "{\"format\":1,\"command\":[\"%s\",\"-f\",\"in%zu\"],\"exit_type\":\"normal\",\"exit_status\":0,"
		           "\"wall_time\":{\"value\":%zu,\"unit\":\"s\",\"method\":\"m\",\"complete\":true},"
		           "\"memory_resident_peak\":{\"value\":%zu,\"unit\":\"B\",\"method\":\"m\",\"complete\":true}}\n",
		           program, i, 100 + i, (size_t)200000000 + i * 1000000);
	record(buf_cstr(&text));
	buf_release(&text);
}

static void test_limits(void **state)
{
	(void)state;
	char prog[] = "/usr/bin/prog", option[] = "-f", in[] = "in", other[] = "few", unknown[] = "none";
	char *argv[] = {prog, option, in, NULL}, *few[] = {other, NULL}, *none[] = {unknown, NULL};
	struct err err = {0};
	struct buf words = {0};
	size_t n;
	assert_int_equal(archive_limits(home, argv, NULL, &err, &words, &n), 0);
	assert_true(err.text[0] && !words.n);
	record_tasks("prog", 30);
	record_tasks("few", 3);
	/* The most is 229,000,000 bytes and 129 s; a fifth more, and half of that more. */
	assert_int_equal(archive_limits(home, argv, NULL, &err, &words, &n), 1);
	assert_string_equal(buf_cstr(&words), "memory=394M,wall=240s");
	assert_int_equal(n, 30);
	buf_reset(&words);
	err_clear(&err);
	assert_int_equal(archive_limits(home, few, NULL, &err, &words, &n), 0);
	assert_true(n == 3 && !words.n && strstr(err.text, "3 similar earlier runs"));
	err_clear(&err);
	assert_int_equal(archive_limits(home, none, NULL, &err, &words, &n), 0);
	assert_true(!words.n && err.text[0]);
	buf_release(&words);
}

static void test_unlike(void **state)
{
	(void)state;
	char prog[] = "prog", option[] = "-f", in[] = "other";
	char *argv[] = {prog, option, in, NULL};
	struct summary m;
	struct buf said = {0};
	summary_init(&m);
	m.argv = argv;
	m.exit_type = EXIT_TYPE_NORMAL;
	m.exit_status = 0;
	assert_int_equal(summary_set(&m, FIGURE_wall_time, 115000000000, "m", true), 0);
	assert_int_equal(summary_set(&m, FIGURE_memory_resident_peak, 215000000, "m", true), 0);
	assert_int_equal(archive_unlike(home, &m, &said), 0);
	assert_int_equal(said.n, 0);
	/* Beyond all seen, but within what 99 in 100 may have: nothing to say. */
	assert_int_equal(summary_set(&m, FIGURE_memory_resident_peak, 230000000, "m", true), 0);
	assert_int_equal(archive_unlike(home, &m, &said), 0);
	assert_int_equal(summary_set(&m, FIGURE_memory_resident_peak, 2150000000, "m", true), 0);
	assert_int_equal(archive_unlike(home, &m, &said), 1);
	assert_string_equal(buf_cstr(&said),
	                    "memory_resident_peak is 2.0 GiB; 30 similar tasks had 190.7 MiB to 218.4 MiB");
	/* What failed says nothing of what is usual. */
	buf_reset(&said);
	m.exit_status = 1;
	assert_int_equal(archive_unlike(home, &m, &said), 0);
	m.argv = NULL;
	summary_release(&m);
	buf_release(&said);
}

static int make_home(void **state)
{
	(void)state;
	return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", home);
	return system(command);
}

/* Two of a hundred tasks need five times as much as the line says: who asks for them, too, asks all for it. */
static void test_shares_of_line(void **state)
{
	(void)state;
	enum { N = 400 };
	struct sizing_task v[N];
	struct backtest b[METHODS];
	for (int i = 0; i < N; i++) {
		double x = 1e6 * (1 + (i * 17) % 50), need = 1e6 + 3 * x + 1000 * ((i * 37) % 100);
		bool much = i % 50 == 7;
		v[i] = (struct sizing_task){much ? 5 * need : need, 10, x, false};
	}
	struct sizing *s = made_of(v, N, 0.99);
	const enum method lines[] = {METHOD_regression95, METHOD_regression97, METHOD_regression};
	double before = 0;
	for (size_t k = 0; k < LENGTH(lines); k++) {
		double a;
		size_t below = 0;
		assert_true(sizing_ask(s, lines[k], 2e7, &a, NULL));
		assert_true(a >= before);
		before = a;
		for (int i = 0; i < N; i++)
			below += sizing_ask(s, lines[k], v[i].input, &a, NULL) && v[i].need <= a + 1;
		assert_in_range(below, (size_t)(N * (k == 0 ? 0.95 : k == 1 ? 0.97 : 0.99)), N);
	}
	sizing_free(s);
	assert_int_equal(backtest_run(v, N, 20, 0.99, b), 0);
	double wasted = 1 - b[METHOD_regression].used / b[METHOD_regression].allocated;
	double less = 1 - b[METHOD_regression97].used / b[METHOD_regression97].allocated;
	assert_true(less < wasted - 0.05);
	assert_true(b[METHOD_regression97].failed <= b[METHOD_regression97].tasks / 20);
	assert_true(b[METHOD_regression95].failed >= b[METHOD_regression97].failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_first_allocations),
	    cmocka_unit_test(test_kaplan_meier),
	    cmocka_unit_test(test_all_killed),
	    cmocka_unit_test(test_line),
	    cmocka_unit_test(test_shares_of_line),
	    cmocka_unit_test(test_pieces),
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_times_since_1970),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_unlike),
	};
	return cmocka_run_group_tests(tests, make_home, remove_home);
}
