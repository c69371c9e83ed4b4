/* The trust of a claim: eq. 8 of the paper, what it says of the paper's own cases and of those where its letter fails,
 * and claims as people write them. */
#include "trust/claim.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

static void read_into(const char *text, struct claim *ret)
{
	struct err err = {0};
	if (claim_read(text, strlen(text), &err, ret) < 0)
		fail_msg("%s: %s", text, err.text);
}

static struct trust measure_with(const char *seen, const char *claim, const char *tolerance)
{
	struct claim s, c;
	struct trust t;
	struct err err = {0};
	read_into(seen, &s);
	read_into(claim, &c);
	if (trust_measure(&s.side, &c.side, tolerance, &err, &t) < 0)
		fail_msg("%s", err.text);
	claim_release(&s);
	claim_release(&c);
	return t;
}

static struct trust measure(const char *seen, const char *claim)
{
	return measure_with(seen, claim, NULL);
}

/* The paper, section 5: of ECLAT the support is changed from 0.0075 to 0.0080; T is less than 1. */
#define ECLAT                                                                                                          \
	"{\"format\": 1, \"inputs\": {\"transactions\": \"d1\"}, \"parameters\": {\"support\": 0.0075, \"threads\": 1},"   \
	" \"results\": {\"itemsets\": 42, \"longest\": 5}}"

static void paper(void **state)
{
	(void)state;
	struct trust t = measure(ECLAT, ECLAT);
	NEAR(t.t, 1);
	NEAR(t.literal, 1);
	assert_true(t.reproducible && t.judged && t.n == 0);
	trust_release(&t);

	t = measure(ECLAT, "{\"format\": 1, \"inputs\": {\"transactions\": \"d1\"}, \"parameters\": {\"support\": 0.0080,"
	                   " \"threads\": 1}, \"results\": {\"itemsets\": 42, \"longest\": 5}}");
	NEAR(t.t, 1 - 1.0 / 3);       /* of three elements of the input one differs */
	NEAR(t.literal, 1 - 2.0 / 3); /* by the letter: one each */
	assert_false(t.reproducible);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.v[0].part, TRUST_PARAMETERS);
	trust_release(&t);

	/* A result changed: one of two. */
	t = measure(ECLAT, "{\"format\": 1, \"inputs\": {\"transactions\": \"d1\"}, \"parameters\": {\"support\": 0.0075,"
	                   " \"threads\": 1}, \"results\": {\"itemsets\": 43, \"longest\": 5}}");
	NEAR(t.t, 0.5);
	NEAR(t.literal, 0);
	trust_release(&t);

	/* An input that the claim does not name: one of three. And one that was not seen. */
	t = measure(ECLAT, "{\"format\": 1, \"parameters\": {\"support\": 0.0075, \"threads\": 1},"
	                   " \"results\": {\"itemsets\": 42, \"longest\": 5}}");
	NEAR(t.t, 1 - 1.0 / 3);
	NEAR(t.literal, 1 - 1.0 / 3);
	assert_int_equal(t.v[0].kind, TRUST_NOT_CLAIMED);
	trust_release(&t);
	t = measure(ECLAT, "{\"format\": 1, \"inputs\": {\"transactions\": \"d1\", \"prices\": \"d2\"}, \"parameters\":"
	                   " {\"support\": 0.0075, \"threads\": 1}, \"results\": {\"itemsets\": 42, \"longest\": 5}}");
	NEAR(t.t, 0.75);
	assert_int_equal(t.v[0].kind, TRUST_NOT_SEEN);
	trust_release(&t);

	/* Both factors count: a wrong version of the input, and both results. */
	t = measure(ECLAT, "{\"format\": 1, \"inputs\": {\"transactions\": \"d0\"}, \"parameters\": {\"support\": 0.0075,"
	                   " \"threads\": 1}, \"results\": {\"itemsets\": 1, \"longest\": 2}}");
	NEAR(t.t, 0);
	assert_int_equal(t.n, 3);
	trust_release(&t);
}

/* Where the letter of the formula says the opposite of what is meant. */
static void letter(void **state)
{
	(void)state;
	struct trust t = measure("{\"format\": 1, \"inputs\": {\"a\": 1}, \"results\": {\"x\": 1}}",
	                         "{\"format\": 1, \"inputs\": {\"b\": 1}, \"results\": {\"y\": 1}}");
	NEAR(t.t, 0);
	NEAR(t.literal, 1); /* (1 - 2)(1 - 2) */
	assert_false(t.reproducible);
	trust_release(&t);

	t = measure("{\"format\": 1, \"results\": {}}", "{\"format\": 1, \"results\": {}}");
	NEAR(t.t, 1);
	assert_true(isnan(t.literal)); /* 0/0 */
	trust_release(&t);

	t = measure("{\"format\": 1, \"results\": {\"x\": 1}}", "{\"format\": 1, \"results\": {}}");
	NEAR(t.t, 0);
	trust_release(&t);
}

static void tolerance(void **state)
{
	(void)state;
	struct trust t = measure_with("{\"format\": 1, \"results\": {\"time\": 10.0, \"sse\": 3}}",
	                              "{\"format\": 1, \"results\": {\"time\": 10.4, \"sse\": 3}}", "5%");
	NEAR(t.t, 0.5);
	NEAR(t.t_eps, 1);
	assert_false(t.reproducible);
	assert_true(t.v[0].within);
	trust_release(&t);

	t = measure_with("{\"format\": 1, \"results\": {\"time\": 10.0}}", "{\"format\": 1, \"results\": {\"time\": 10.6}}",
	                 "5%");
	NEAR(t.t_eps, 0);
	trust_release(&t);

	/* Its own comes first; absolute; a parameter has none but its own. */
	t = measure_with("{\"format\": 1, \"results\": {\"time\": 10.0}, \"parameters\": {\"k\": 100}}",
	                 "{\"format\": 1, \"results\": {\"time\": {\"value\": 12, \"tolerance\": 2}}, \"parameters\":"
	                 " {\"k\": 101}}",
	                 "5%");
	NEAR(t.results.value_eps, 1);
	NEAR(t.inputs.value_eps, 0);
	trust_release(&t);

	/* Lists, in whatever order. */
	t = measure("{\"format\": 1, \"results\": {\"sets\": [\"a b\", \"c\", \"d\"]}}",
	            "{\"format\": 1, \"results\": {\"sets\": [\"d\", \"a b\", \"c\"]}}");
	NEAR(t.t, 0);
	NEAR(t.t_eps, 1);
	trust_release(&t);
	t = measure("{\"format\": 1, \"results\": {\"sets\": [\"a\", \"a\", \"d\"]}}",
	            "{\"format\": 1, \"results\": {\"sets\": [\"a\", \"d\", \"d\"]}}");
	NEAR(t.t_eps, 0);
	trust_release(&t);
	t = measure_with("{\"format\": 1, \"results\": {\"v\": [1, 2, 30]}}",
	                 "{\"format\": 1, \"results\": {\"v\": [30.1, 1, 2.01]}}", "1%");
	NEAR(t.t_eps, 1);
	trust_release(&t);
}

static void numbers(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {{"1", "1", true},
	            {"1", "+01", true},
	            {"1.50", "15e-1", true},
	            {"-0", "0", true},
	            {"0.0075", "7.5e-3", true},
	            {"0.0075", "0.0080", false},
	            {"9007199254740993", "9007199254740992", false}, /* one double */
	            {"1", "1x", false},
	            {"nan", "nan", true},
	            {"0x10", "16", false},
	            {"inf", "1e999", false},
	            {"", "0", false},
	            {"a", "b", false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (value_same(rows[i].a, rows[i].b) != rows[i].same || value_same(rows[i].b, rows[i].a) != rows[i].same)
			fail_msg("'%s' and '%s'", rows[i].a, rows[i].b);
}

/* What provenance cannot tell is neither agreement nor difference. */
static void unknown(void **state)
{
	(void)state;
	struct claim s, c;
	struct trust t;
	struct err err = {0};
	read_into(ECLAT, &s);
	read_into(ECLAT, &c);
	struct element *x = elements_find(&s.side.part[TRUST_INPUTS], str_of("transactions"));
	element_text(&x->unknown, str_of("it was not digested"));
	assert_int_equal(trust_measure(&s.side, &c.side, NULL, &err, &t), 0);
	assert_false(t.judged || t.reproducible);
	assert_true(isnan(t.t));
	NEAR(t.low, 1 - 1.0 / 3);
	NEAR(t.high, 1);
	assert_int_equal(t.v[0].kind, TRUST_UNKNOWN);
	assert_string_equal(t.v[0].why, "it was not digested");
	trust_release(&t);

	/* A part of which nothing is known. */
	s.side.absent[TRUST_RESULTS] = strdup("no results were taken");
	assert_int_equal(trust_measure(&s.side, &c.side, NULL, &err, &t), 0);
	assert_false(t.judged);
	NEAR(t.low, 0);
	trust_release(&t);
	claim_release(&s);
	claim_release(&c);
}

static void several_runs(void **state)
{
	(void)state;
	static const struct {
		const char *claim;
		double t;
	} rows[] = {{"3", 1},
	            {"4", 0},
	            {"{\"value\": 3, \"statistic\": \"median\"}", 1},
	            {"{\"value\": 4, \"statistic\": \"mean\"}", 1},
	            {"{\"value\": 1, \"statistic\": \"min\"}", 1},
	            {"{\"value\": 8, \"statistic\": \"max\"}", 1},
	            {"{\"value\": 3, \"statistic\": \"all\"}", 0},
	            {"[1, 3, 8]", 1}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct claim s, c;
		struct trust t;
		struct err err = {0};
		char text[200];
		snprintf(text, sizeof(text), "{\"format\": 1, \"results\": {\"time\": %s}}", rows[i].claim);
		read_into("{\"format\": 1, \"results\": {\"time\": [1, 3, 8]}}", &s);
		read_into(text, &c);
		elements_find(&s.side.part[TRUST_RESULTS], str_of("time"))->varied = true;
		assert_int_equal(trust_measure(&s.side, &c.side, NULL, &err, &t), 0);
		if (fabs(t.t - rows[i].t) > 1e-12)
			fail_msg("%s: T is %g", rows[i].claim, t.t);
		trust_release(&t);
		claim_release(&s);
		claim_release(&c);
	}
}

/* They stand beside T. */
static void invariants(void **state)
{
	(void)state;
	struct trust t = measure("{\"format\": 1, \"results\": {\"x\": 1}, \"invariants\": {\"compiler\": \"gcc 12\","
	                         " \"kernel\": \"6.1\"}}",
	                         "{\"format\": 1, \"results\": {\"x\": 1}, \"invariants\": {\"compiler\": \"gcc 13\"}}");
	NEAR(t.t, 1);
	assert_false(t.reproducible);
	assert_int_equal(t.invariants_differ, 1);
	assert_int_equal(t.n, 1);
	trust_release(&t);
}

static void refused(void **state)
{
	(void)state;
	static const char *const rows[] = {
	    "",
	    "nonsense",
	    "[]",
	    "{}",
	    "{\"format\": 1}",
	    "{\"format\": 2, \"results\": {}}",
	    "{\"format\": 0, \"results\": {}}",
	    "{\"format\": 1, \"results\": 3}",
	    "{\"format\": 1, \"result\": {\"x\": 1}}",
	    "{\"format\": 1, \"results\": {\"x\": {\"y\": 1}}}",
	    "{\"format\": 1, \"results\": {\"x\": [[1]]}}",
	    "{\"format\": 1, \"results\": {\"\": 1}}",
	    "{\"format\": 1, \"results\": {\"x\": {\"value\": 1, \"tolerance\": \"-1%\"}}}",
	    "{\"format\": 1, \"results\": {\"x\": {\"value\": 1, \"tolerance\": \"much\"}}}",
	    "{\"format\": 1, \"results\": {\"x\": {\"value\": 1, \"statistic\": \"best\"}}}",
	    "{\"format\": 1, \"inputs\": [1, {}]}",
	    "{\"format\": 1, \"inputs\": {\"a\": 1, \"./a\": 2}}",
	    "{\"format\": 1, \"results\": {}, \"runs\": 3}",
	    "{\"format\": 1, \"results\": {}} {}",
	    "{\"format\": 1, \"results\": {\"x\": 1, \"x\": 2}}",
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct claim c;
		struct err err = {0};
		if (claim_read(rows[i], strlen(rows[i]), &err, &c) != -EBADMSG || !err.text[0])
			fail_msg("taken: %s", rows[i]);
	}
	/* Too many. */
	struct buf b = {0};
	struct claim c;
	struct err err = {0};
	buf_printf(&b, "{\"format\": 1, \"results\": {\"x\": [0");
	for (int i = 0; i < CLAIM_ELEMENTS; i++)
		buf_printf(&b, ",%d", i);
	buf_printf(&b, "]}}");
	assert_int_equal(claim_read(b.p, b.n, &err, &c), -EBADMSG);
	buf_release(&b);
}

static void written(void **state)
{
	(void)state;
	struct claim a, b;
	struct buf out = {0}, again = {0};
	struct err err = {0};
	read_into(
	    "{\"format\": 1, \"benchmark\": \"k \\\"m\\\"\", \"runs\": [\"01A\"], \"inputs\": {\"a\": \"sha256:1\", \"b\":"
	    " null}, \"results\": {\"x\": [1, \"two\"], \"y\": -1.5e3}}",
	    &a);
	assert_int_equal(claim_write(&a, &out), 0);
	if (claim_read(out.p, out.n, &err, &b) < 0)
		fail_msg("%s\n%s", err.text, buf_cstr(&out));
	assert_int_equal(claim_write(&b, &again), 0);
	assert_true(str_eq(buf_view(&out), buf_view(&again)));
	assert_string_equal(b.runs[0], "01A");
	assert_non_null(strstr(buf_cstr(&out), "-1.5e3"));
	buf_release(&out);
	buf_release(&again);
	claim_release(&a);
	claim_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paper),      cmocka_unit_test(letter),  cmocka_unit_test(tolerance),
	    cmocka_unit_test(numbers),    cmocka_unit_test(unknown), cmocka_unit_test(several_runs),
	    cmocka_unit_test(invariants), cmocka_unit_test(refused), cmocka_unit_test(written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
