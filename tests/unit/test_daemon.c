/* test_daemon.c - parts of the daemon that need no daemon: whose a user id is. */
#include "daemon/accounts.h"
#include "daemon/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void read_text(const char *text)
{
	char path[] = "/tmp/stemma-test.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *f = fdopen(fd, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	accounts_read(path);
	unlink(path);
}

static void subordinate(void **state)
{
	(void)state;
	read_text("# users\n1000:100000:65536\n1001:165536:65536\nno-such-user-here:300000:65536\n1002:0:65536\n"
	          "1003:4294900000:999999\n1004:400000:0\nroot:500000:10\nbroken\n");
	assert_int_equal(accounts_of(1000), 1000);
	assert_int_equal(accounts_of(99999), 99999);
	assert_int_equal(accounts_of(100000), 1000);
	assert_int_equal(accounts_of(165535), 1000);
	assert_int_equal(accounts_of(165536), 1001);
	assert_int_equal(accounts_of(231072), 231072);
	assert_int_equal(accounts_of(300001), 300001);
	assert_int_equal(accounts_of(500), 500); /* a range from 0 on would be everybody */
	assert_int_equal(accounts_of(4294900001u), 4294900001u);
	assert_int_equal(accounts_of(400000), 400000);
	assert_int_equal(accounts_of(500009), 0);
	read_text("");
	assert_int_equal(accounts_of(100000), 100000);
}

/* What is no value of a setting is said, and what would have been is named. */
static void words_of_settings(void **state)
{
	static const struct {
		const char *line, *says; /* NULL: it is taken */
	} rows[] = {
	    {"keep = all", NULL},
	    {"keep=representative", NULL},
	    {"keep = al", "one of: representative, all"},
	    {"keep = All", "one of: representative, all"},
	    {"keep =", "one of: representative, all"},
	    {"network = yes", NULL},
	    {"network = on", "one of: no, yes"},
	    {"base = /var/lib/x", NULL},
	    {"base = var/lib/x", "absolute path"},
	    {"run =", "absolute path"},
	    {"rule =", "not a valid value of 'rule'"},
	    {"max_size = 4 G", "not a valid value of 'max_size'"},
	    {"max_size = -1", "not a valid value of 'max_size'"},
	    {"max_size = nan", "not a valid value of 'max_size'"},
	    {"max_size = 2d", "not a valid value of 'max_size'"},
	    {"max_age = 2d", NULL},
	    {"max_cpu = 10%", NULL},
	    {"max_cpu = 10%%", "not a valid value of 'max_cpu'"},
	    {"user_rate = 1M", NULL},
	    {"answer_time = 1x", "not a valid value of 'answer_time'"},
	    {"keeep = all", "unknown setting 'keeep'"},
	    {"keep", "not KEY = VALUE"},
	};
	struct settings s = {0};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		int r = settings_set(&s, rows[i].line, &err);
		assert_true(rows[i].says ? r < 0 : r == 0);
		if (rows[i].says && !strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].line, err.text);
	}
	assert_string_equal(settings_text(&s, SETTING_keep), "representative");
	assert_string_equal(settings_text(&s, SETTING_base), "/var/lib/x");
	settings_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(subordinate), cmocka_unit_test(words_of_settings)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
