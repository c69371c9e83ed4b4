/* What is said of an access at its end: the rules one by one, each by what decides it, and that nothing before it does.
 */
#include "base/fileid.h"
#include "event/access_ending.h"
#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND 1000000000
#define NOW (1732190000ll * SECOND)

static unsigned asked_alone, asked_silent;

static bool say_alone(void *arg)
{
	asked_alone++;
	return *(const bool *)arg;
}

static bool say_silent(void *arg)
{
	asked_silent++;
	return *(const bool *)arg;
}

static bool yes = true, no = false;

/* A regular file of 7 bytes, written an hour ago, opened to be written now, and unchanged since. */
static struct access_ending unchanged(bool *answer)
{
	const struct access_print print = {true, 7, NOW - 3600ll * SECOND, NOW - 3600ll * SECOND};
	asked_alone = asked_silent = 0;
	return (struct access_ending){.regular = true,
	                              .via = TERM_via_data,
	                              .before = print,
	                              .after = print,
	                              .stamp = NOW,
	                              .is_alone = say_alone,
	                              .is_silent = say_silent,
	                              .arg = answer};
}

static void counted_bytes_decide(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.written = ACCESS_BYTES_SOME;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_must);
	e.written = ACCESS_BYTES_NONE;
	e.made = true;
	e.after.size = 8;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	assert_int_equal(asked_alone + asked_silent, 0);
}

static void who_made_the_file_wrote_it(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.made = true;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_must);
}

static void a_stream_tells_nothing_but_silence(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.regular = false;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e.arg = &yes;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	assert_int_equal(asked_silent, 2);
	e.is_silent = NULL;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
}

static void a_mapping_wrote_if_it_was_its_own(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.mapped = true;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_must);
	e.via = TERM_via_descriptor;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
}

static void a_new_file_that_is_still_empty_was_not_written(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.before.known = false;
	e.fresh = true;
	e.after.size = 0;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	e.after.size = 1;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e.after = (struct access_print){0};
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
}

static void set_times_are_no_bytes(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.timed = true;
	e.after.mtime++;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e.arg = &yes;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	assert_int_equal(asked_alone, 0);
	e.after.size++;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_must);
	assert_int_equal(asked_alone, 1);
}

static void unknown_prints_prove_nothing(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&yes);
	e.before.known = false;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e = unchanged(&yes);
	e.after.known = false;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	assert_int_equal(asked_alone + asked_silent, 0);
}

static void a_change_is_the_only_writers(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&yes);
	e.after.size = 8;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_must);
	e = unchanged(&no);
	e.after.mtime++;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	assert_int_equal(asked_alone, 1);
	e.is_alone = NULL;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	/* The old time was put back, perhaps. */
	e = unchanged(&yes);
	e.after.ctime++;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	assert_int_equal(asked_alone, 0);
}

static void unchanged_is_proof_where_a_write_would_show(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	/* The clock of file times had not passed the file's. */
	e.before.ctime = e.after.ctime = e.before.mtime = e.after.mtime = NOW;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	assert_int_equal(asked_silent, 1);
	e.stamp = NOW + SECOND;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	e.slack = SECOND;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e.slack = 0;
	e.stamp = INT64_MIN;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e.appends = true;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	e.appends = false;
	e.arg = &yes;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
}

static void what_nobody_read_of_an_empty_file_is_not_there(void **state)
{
	(void)state;
	struct access_ending e = unchanged(&no);
	e.stamp = INT64_MIN;
	e.unread = true;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
	e.before.size = e.after.size = 0;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_none);
	e.unread = false;
	assert_int_equal(access_ending_evidence(&e), TERM_evidence_may);
}

static void the_file_time_narrows_the_end(void **state)
{
	(void)state;
	assert_int_equal(access_ending_until(10, 100, 50), 50);
	assert_int_equal(access_ending_until(10, TIME_NEVER, 50), 50);
	assert_int_equal(access_ending_until(10, 100, 10), 11); /* no access ends as it begins */
	assert_int_equal(access_ending_until(10, 100, 9), 100); /* of a write before it */
	assert_int_equal(access_ending_until(10, 100, 100), 100);
	assert_int_equal(access_ending_until(10, 100, 101), 100);
	assert_int_equal(access_ending_until(10, 100, TIME_NONE), 100);
	assert_int_equal(access_ending_until(-10, 100, TIME_NEVER), 100);
	assert_int_equal(access_ending_until(INT64_MIN, 100, TIME_NONE), 100);
}

static void a_servers_clock_is_another(void **state)
{
	(void)state;
	struct fs_domain d = {.type = "ext4"};
	assert_true(access_ending_has_clock(&d));
	d.network = true;
	assert_false(access_ending_has_clock(&d));
	d = (struct fs_domain){.type = "fuse.sshfs"};
	assert_false(access_ending_has_clock(&d));
	assert_false(access_ending_has_clock(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counted_bytes_decide),
	    cmocka_unit_test(who_made_the_file_wrote_it),
	    cmocka_unit_test(a_stream_tells_nothing_but_silence),
	    cmocka_unit_test(a_mapping_wrote_if_it_was_its_own),
	    cmocka_unit_test(a_new_file_that_is_still_empty_was_not_written),
	    cmocka_unit_test(set_times_are_no_bytes),
	    cmocka_unit_test(unknown_prints_prove_nothing),
	    cmocka_unit_test(a_change_is_the_only_writers),
	    cmocka_unit_test(unchanged_is_proof_where_a_write_would_show),
	    cmocka_unit_test(what_nobody_read_of_an_empty_file_is_not_there),
	    cmocka_unit_test(the_file_time_narrows_the_end),
	    cmocka_unit_test(a_servers_clock_is_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
