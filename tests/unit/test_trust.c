/* The trust of a claim: eq. 8 of the paper, what it says of the paper's own cases and of those where its letter fails,
 * and claims as people write them. And what digests that are
 * made afterwards may take and cost. */
#include "trust/claim.h"
#include "trust/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Which files are digested lazily: what is small, was made, is there, and is of no other host. */
static void lazy_files(void **state)
{
	(void)state;
	static const struct session_file good = {
	    .path = (char *)"/w/a", .domain = (char *)"uuid:1", .has_state = true, .size = LAZY_FILE, .made = true};
	struct lazy_sum sum = {0};
	assert_true(lazy_takes(&good, &sum));
	assert_int_equal(sum.files, 1);
	assert_int_equal(sum.bytes, LAZY_FILE);
	struct session_file bad[7];
	for (size_t i = 0; i < 7; i++)
		bad[i] = good;
	bad[0].size = LAZY_FILE + 1;
	bad[1].made = false;
	bad[2].gone = true;
	bad[3].system = true;
	bad[4].has_state = false;
	bad[5].domain = (char *)"net:server:/export#1";
	bad[6].path = (char *)"";
	for (size_t i = 0; i < 7; i++)
		assert_false(lazy_takes(&bad[i], &sum));
	assert_int_equal(sum.files, 1);
	while (lazy_takes(&good, &sum))
		;
	assert_int_equal(sum.bytes, LAZY_ALL);
	struct session_file small = good;
	small.size = 1;
	sum = (struct lazy_sum){0};
	while (lazy_takes(&small, &sum))
		;
	assert_int_equal(sum.files, LAZY_FILES);
}

/* In a child: exit status 0 if the process is what lazy_withdraw promises. */
static int withdrawn(void)
{
	char link[64] = "";
	if (lazy_withdraw() < 0)
		return 1;
	if (syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) >> IOPRIO_CLASS_SHIFT != IOPRIO_CLASS_IDLE)
		return 2;
	if (sched_getscheduler(0) != SCHED_IDLE)
		return 3;
	if (getsid(0) != getpid())
		return 4;
	if (readlink("/proc/self/fd/1", link, sizeof(link) - 1) < 0 || strcmp(link, "/dev/null") != 0)
		return 5;
	if (fcntl(3, F_GETFD) >= 0)
		return 6;
	return alarm(0) == 0 ? 7 : 0;
}

static void lazy_process(void **state)
{
	(void)state;
	int status, fd = dup(0);
	assert_true(fd >= 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(withdrawn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(fd);
}

static void lazy_job(void **state)
{
	(void)state;
	static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "SGE_TASK_ID"};
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		char *was = getenv(variables[i]);
		was = was ? strdup(was) : NULL;
		setenv(variables[i], "1", 1);
		assert_true(lazy_in_batch_job());
		if (was)
			setenv(variables[i], was, 1);
		else
			unsetenv(variables[i]);
		free(was);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paper),      cmocka_unit_test(letter),       cmocka_unit_test(tolerance),
	    cmocka_unit_test(numbers),    cmocka_unit_test(unknown),      cmocka_unit_test(several_runs),
	    cmocka_unit_test(invariants), cmocka_unit_test(refused),      cmocka_unit_test(written),
	    cmocka_unit_test(lazy_files), cmocka_unit_test(lazy_process), cmocka_unit_test(lazy_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
