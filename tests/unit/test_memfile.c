/* test_memfile.c - memory whose size nobody can change, under every value of vm.memfd_noexec. */
#include "base/os/memfile.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE 8192

static void test_size_stays(void **state)
{
	(void)state;
	int fd = memfile_sealed("test", SIZE);
	struct stat st;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, SIZE);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 2 * SIZE), -1);
	assert_int_equal(fallocate(fd, 0, 0, 2 * SIZE), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(st.st_mode & 0111, 0);
	char *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	map[SIZE - 1] = 1;
	munmap(map, SIZE);
	close(fd);
}

/* Ends with 0: it can be made; 1: it cannot; 2: the setting cannot be tried here. */
static int under_setting(const char *value)
{
	pid_t outer = fork();
	if (outer == 0) {
		if (unshare(CLONE_NEWPID) < 0)
			_exit(2);
		pid_t inner = fork();
		if (inner == 0) {
			FILE *f = fopen("/proc/sys/vm/memfd_noexec", "w");
			if (!f || fputs(value, f) < 0 || fclose(f) != 0)
				_exit(2);
			_exit(memfile_sealed("test", SIZE) < 0);
		}
		int status = 0;
		_exit(inner < 0 || waitpid(inner, &status, 0) < 0 ? 2 : WEXITSTATUS(status));
	}
	int status = 0;
	assert_true(outer > 0 && waitpid(outer, &status, 0) == outer);
	return WEXITSTATUS(status);
}

static void test_every_setting(void **state)
{
	(void)state;
	const char *const values[] = {"0", "1", "2"};
	for (size_t i = 0; i < 3; i++) {
		int rc = under_setting(values[i]);
		if (rc == 2) {
			print_message("# skipped: test_every_setting: vm.memfd_noexec cannot be set here\n");
			skip();
		}
		assert_int_equal(rc, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_size_stays), cmocka_unit_test(test_every_setting)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
