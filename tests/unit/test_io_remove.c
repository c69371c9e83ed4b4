/* test_io_remove.c - a folder is removed while somebody exchanges what is in it for links to elsewhere. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static char top[64], before_removing[16], before_opening[16];

/* top/work/folder <-> top/link, which leads to top/outside. Once. */
static void exchange(char *when, const char *name)
{
	char a[96], b[96];
	if (!*when || strcmp(when, name) != 0)
		return;
	snprintf(a, sizeof(a), "%s/work/folder", top);
	snprintf(b, sizeof(b), "%s/link", top);
	assert_int_equal(syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */), 0);
	*when = '\0';
}

int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags)
{
	exchange(before_removing, name);
	return __real_unlinkat(dir, name, flags);
}

int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...)
{
	exchange(before_opening, name);
	return (int)syscall(SYS_openat, dir, name, flags, 0);
}

int __wrap_openat64(int dir, const char *name, int flags, ...);
int __wrap_openat64(int dir, const char *name, int flags, ...)
{
	return __wrap_openat(dir, name, flags);
}

static const char *in(const char *name)
{
	static char path[160];
	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void make_file(const char *name)
{
	int fd = open(in(name), O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/stemma-test-remove.XXXXXX");
	assert_non_null(mkdtemp(top));
	*before_removing = *before_opening = '\0';
	assert_int_equal(mkdir(in("outside"), 0700), 0);
	assert_int_equal(mkdir(in("work"), 0700), 0);
	assert_int_equal(mkdir(in("work/folder"), 0700), 0);
	assert_int_equal(symlink("outside", in("link")), 0);
	make_file("outside/precious");
	make_file("work/folder/precious");
	assert_int_equal(symlink("../outside", in("work/link")), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(access(in("outside/precious"), F_OK), 0);
	assert_int_equal(io_remove_all(top), 0);
	assert_int_equal(access(top, F_OK), -1);
	return 0;
}

static void test_links_stay_links(void **state)
{
	(void)state;
	assert_int_equal(io_remove_all(in("work")), 0);
	assert_int_equal(access(in("work"), F_OK), -1);
	assert_int_equal(symlink("outside", in("work")), 0);
	assert_int_equal(io_remove_all(in("work")), 0);
	assert_int_equal(io_remove_all(in("work")), 0); /* is not there */
}

static void test_exchanged_while_emptied(void **state)
{
	(void)state;
	strcpy(before_removing, "precious");
	io_remove_all(in("work"));
	assert_int_equal(*before_removing, 0);
}

static void test_exchanged_before_opened(void **state)
{
	(void)state;
	strcpy(before_opening, "folder");
	io_remove_all(in("work"));
	assert_int_equal(*before_opening, 0);
}

static void test_modes(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in("work/folder/none"), 0700), 0);
	make_file("work/folder/none/file");
	assert_int_equal(chmod(in("work/folder/none"), 0), 0);
	assert_int_equal(chmod(in("work/folder"), 0500), 0);
	assert_int_equal(io_remove_all(in("work")), 0);
	assert_int_equal(access(in("work"), F_OK), -1);
}

static void test_deep(void **state)
{
	(void)state;
	char deepest[4 * IO_DEPTH] = "";
	int dir = open(in("work"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < IO_DEPTH + 8; i++) {
		assert_int_equal(mkdirat(dir, "d", 0700), 0);
		int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(dir);
		dir = next;
	}
	close(dir);
	assert_int_equal(io_remove_all(in("work")), -ELOOP);
	snprintf(deepest, sizeof(deepest), "%s/work", top);
	for (int i = 0; i < 16; i++)
		strcat(deepest, "/d");
	assert_int_equal(io_remove_all(deepest), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_links_stay_links, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_exchanged_while_emptied, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_exchanged_before_opened, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_modes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
