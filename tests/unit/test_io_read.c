/* Whole files and pipes, and texts of /proc. */
#include "base/io.h"
#include "base/os/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/stemma-io-read-XXXXXX";

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	char bytes[100000];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 31 >> 3);
	int rc = io_write(fd, bytes, sizeof(bytes), NULL);
	close(fd);
	return rc;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void whole_files(void **state)
{
	(void)state;
	struct buf b = {0};
	buf_str(&b, str_of("kept"));
	assert_int_equal(io_read_file(path, 100000, &b), 0); /* exactly as much as it may have */
	assert_int_equal(b.n, 100004);
	assert_memory_equal(b.p, "kept", 4);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(b.p[i + 4], (char)(i * 31 >> 3));
	buf_release(&b);
	assert_int_equal(io_read_file(path, 99999, &b), -EFBIG);
	buf_release(&b);
	assert_int_equal(io_read_file(path, SIZE_MAX, &b), 0);
	assert_int_equal(b.n, 100000);
	buf_release(&b);
	assert_int_equal(io_read_file("/dev/null", 0, &b), 0);
	assert_int_equal(b.n, 0);
	assert_int_equal(io_read_file("/nonexistent/file", 10, &b), -ENOENT);
	assert_int_equal(io_read_file("/", 10, &b), -EISDIR);
	buf_release(&b);
}

/* A file that says it has no bytes, and has. */
static void files_without_size(void **state)
{
	(void)state;
	struct buf b = {0};
	assert_int_equal(io_read_file("/proc/self/status", 65536, &b), 0);
	assert_non_null(strstr(buf_cstr(&b), "\nPid:"));
	buf_release(&b);
	assert_int_equal(io_read_file("/proc/self/status", 10, &b), -EFBIG);
	buf_release(&b);
}

/* A pipe gives itself in pieces. */
static void pipes(void **state)
{
	(void)state;
	struct buf b = {0};
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(ends[1], "0123456789", 10), 10);
	char first[15];
	assert_int_equal(io_read(ends[0], first, sizeof(first)), 15);
	close(ends[1]);
	assert_int_equal(io_read_rest(ends[0], 985, &b), 0);
	assert_int_equal(b.n, 985);
	assert_memory_equal(b.p, "5678901234", 10);
	assert_int_equal(io_read(ends[0], first, sizeof(first)), 0);
	close(ends[0]);
	buf_release(&b);
	assert_int_equal(io_read_rest(-1, 10, &b), -EBADF);
	buf_release(&b);
}

static void texts(void **state)
{
	(void)state;
	char text[64], all[70000], part[50001];
	assert_int_equal(io_read_text("/nonexistent", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(io_text("/nonexistent", text, sizeof(text)), 0);
	assert_int_equal(errno, ENOENT);
	ssize_t n = procfs_read(getpid(), "comm", text, sizeof(text));
	assert_true(n > 1);
	assert_int_equal(strlen(text), n);
	assert_int_equal(text[n - 1], '\n');
	assert_int_equal(io_read_text(path, part, sizeof(part)), 50000); /* what there is room for */
	/* More than a page, which the kernel gives a page at a time. */
	FILE *f = fopen("/proc/kallsyms", "r");
	if (f) {
		size_t k = fread(all, 1, sizeof(all) - 1, f);
		fclose(f);
		char *same = malloc(sizeof(all));
		assert_int_equal(io_read_text("/proc/kallsyms", same, sizeof(all)), k);
		free(same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whole_files),
	    cmocka_unit_test(files_without_size),
	    cmocka_unit_test(pipes),
	    cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
