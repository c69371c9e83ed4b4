/* Lists of strings: a copy has all of them, or there is none. */
#include "base/strv.h"
#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static int left; /* strings until there is no memory */

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);

char *__wrap_strdup(const char *s)
{
	return left-- > 0 ? __real_strdup(s) : NULL;
}

char *__wrap_strndup(const char *s, size_t n)
{
	return left-- > 0 ? __real_strndup(s, n) : NULL;
}

static const char *const words[] = {"rm", "-r", "--", "old", "", "folder"};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static void same(char **copy)
{
	assert_non_null(copy);
	for (int i = 0; i < WORDS; i++)
		assert_string_equal(copy[i], words[i]);
	assert_null(copy[WORDS]);
	strv_free(copy);
}

static void copies(void **state)
{
	(void)state;
	char *v[WORDS + 1] = {0};
	for (int i = 0; i < WORDS; i++)
		v[i] = (char *)words[i];
	for (left = 0; left < WORDS; left++) {
		int n = left;
		assert_null(strv_copy(v));
		left = n;
	}
	left = WORDS;
	same(strv_copy(v));
	v[0] = NULL;
	char **none = strv_copy(v);
	assert_non_null(none);
	assert_null(none[0]);
	strv_free(none);
	strv_free(NULL);
}

static void copies_of_lists(void **state)
{
	(void)state;
	struct str items[WORDS];
	for (int i = 0; i < WORDS; i++)
		items[i] = str_of(words[i]);
	struct strlist l = {.items = items, .count = WORDS};
	for (left = 0; left < WORDS; left++) {
		int n = left;
		assert_null(strlist_copy(&l));
		left = n;
	}
	left = WORDS;
	same(strlist_copy(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies),
	    cmocka_unit_test(copies_of_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
