/* dates_only: what is a date, and what is another difference. */
#include "trust/dates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool only(const char *a, const char *b)
{
	return dates_only(str_of(a), str_of(b)) && dates_only(str_of(b), str_of(a));
}

static void test_dates_are_the_only_difference(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {"2026-11-28", "2026-11-29"},
	    {"on 2026-11-28T22:30:01Z.", "on 2026-12-01T01:00:59.25+01:00."},
	    {"##fileDate=20261128\n", "##fileDate=20261129\n"},
	    {"Date=Sat Nov 28 22:30:01 2026\n", "Date=Sun Nov 29 02:03:04 2026\n"},
	    {"Sat Nov  7 22:30:01 UTC 2026", "Sun Nov 29 02:03:04 UTC 2026"},
	    {"Sat, 28 Nov 2026 22:30:01 +0000", "Sun, 29 Nov 2026 02:03:04 +0000"},
	    {"/CreationDate (D:20261128223001)", "/CreationDate (D:20261129020304)"},
	    {"took 22:30:01", "took 02:03:04"},
	    {"20261128T223001Z x", "20261129T020304Z x"},
	    {"2026/11/28 22:30", "2026/11/29 02:03"},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_true(only(pairs[i][0], pairs[i][1]));
}

static void test_other_differences(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {"2026-11-28 a", "2026-11-29 b"},
	    {"2026-11-28", "2026-11-28"}, /* the same */
	    {"2026-13-28", "2026-14-28"}, /* no month */
	    {"12345678", "12345679"},     /* no year */
	    {"1795911930", "1795911931"}, /* a number like any other */
	    {"20261128", "none"},
	    {"2026-11-28 ", "2026-11-29"},
	    {"id20261128", "id20261129"}, /* part of a word */
	    {"May be 3", "May be 4"},
	    {"1.22:30", "1.22:31"}, /* hours and minutes alone are no time */
	    {"", "2026-11-28"},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_false(only(pairs[i][0], pairs[i][1]));
}

static void test_bytes_between(void **state)
{
	(void)state;
	static const char a[] = "\0\xff"
	                        "2026-11-28\0x",
	                  b[] = "\0\xff"
	                        "2026-11-29\0x",
	                  c[] = "\0\xfe"
	                        "2026-11-29\0x";
	assert_true(dates_only(str_n(a, sizeof(a)), str_n(b, sizeof(b))));
	assert_false(dates_only(str_n(a, sizeof(a)), str_n(c, sizeof(c))));
	/* cut within a date: nothing behind the end is looked at */
	for (size_t n = 0; n < sizeof(a); n++)
		dates_only(str_n(a, n), str_n(b, n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dates_are_the_only_difference),
	    cmocka_unit_test(test_other_differences),
	    cmocka_unit_test(test_bytes_between),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
