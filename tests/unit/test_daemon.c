/* test_daemon.c - parts of the daemon that need no daemon: whose a user id is. */
#include "daemon/accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(subordinate)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
