/* Stamps in bytes: what is one, what is none, and where there are several. */
#include "answer/copies/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUN "01M8J9SXBGBQR35QSXZQPV6A9T"
#define TOKEN "0123456789abcdef0123456789abcdef"

/* In memory of exactly its size, so that a sanitizer sees what is read behind it. */
static bool find(const char *text, struct stamp *ret)
{
	size_t n = strlen(text);
	char *p = malloc(n ? n : 1);
	memcpy(p, text, n);
	memset(ret, 0, sizeof(*ret));
	bool found = stamp_find(str_n(p, n), ret);
	free(p);
	return found;
}

static void test_found(void **state)
{
	(void)state;
	struct stamp s;
	assert_true(find("stemma-stamp:" RUN ":" TOKEN, &s));
	assert_string_equal(s.run, RUN);
	assert_string_equal(s.token, TOKEN);
	assert_true(find("stemma-stamp:stemma-stamp:" RUN ":" TOKEN "f", &s));
	assert_true(find("stemma-stamp:" RUN ":" TOKEN " stemma-stamp:" RUN ":" TOKEN "\n", &s));
}

static void test_none(void **state)
{
	(void)state;
	struct stamp s;
	assert_false(find("", &s));
	assert_false(find("stemma-stamp:", &s));
	assert_false(find("stemma-stamp:" RUN ":0123456789abcdef0123456789abcde", &s));
	assert_false(find("stemma-stamp:" RUN ":0123456789ABCDEF0123456789abcdef", &s));
	assert_false(find("stemma-stamp:" RUN "-" TOKEN, &s));
	assert_false(find("stemma-stamp:01M8J9SXBGBQR35QSXZQPV6A9-:" TOKEN, &s));
	assert_false(find("stemma-stamp:" RUN ":" TOKEN "stemma-stamp:" RUN ":ffff456789abcdef0123456789abcdef", &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_found),
	    cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
