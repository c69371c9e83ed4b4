/* still.h: is a file what was recorded of it? What is right stands in the header. */
#include "base/os/still.h"

#include "base/fileid.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/stemma-still.XXXXXX", file[64], other[64];
static char content[DIGEST_TEXT]; /* of the file */

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	struct digest d;
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	put(file, "some bytes");
	digest_bytes("some bytes", 10, &d);
	digest_text(&d, content);
	return chmod(file, 0640);
}

static int teardown(void **state)
{
	(void)state;
	unlink(file);
	unlink(other);
	int r = rmdir(dir);
	memcpy(strrchr(dir, '.') + 1, "XXXXXX", 6);
	return r;
}

static struct still_print print_of(const char *path)
{
	struct fileid id;
	assert_int_equal(fileid_get(AT_FDCWD, path, true, &id), 0);
	return (struct still_print){.domain = str_of(id.domain->name),
	                            .ino = id.ino,
	                            .gen = id.gen,
	                            .size = id.st.stx_size,
	                            .mtime = fileid_time(&id.st.stx_mtime)};
}

/* With the content known, the looks say nothing; a size that differs makes reading needless. */
static void by_content(void **state)
{
	(void)state;
	struct still_seen seen;
	struct still_print print = print_of(file);
	struct still_was was = {.content = content, .has_size = true, .size = 10, .print = &print};
	assert_int_equal(still_look(NULL, file, &was, &seen), STILL_SAME);
	assert_true(seen.print_same);
	assert_int_equal(seen.mode, 0640);
	put(other, "some bytes"); /* the same bytes in another file */
	assert_int_equal(still_look(NULL, other, &was, &seen), STILL_SAME);
	assert_false(seen.print_same);
	put(other, "same bytes"); /* of the same length */
	assert_int_equal(still_look(NULL, other, &was, NULL), STILL_OTHER);
	was.size = 11;
	assert_int_equal(still_look(NULL, file, &was, NULL), STILL_OTHER);
	was.has_size = false;
	assert_int_equal(still_look(NULL, file, &was, NULL), STILL_SAME);
	was.content = "sha256:0";
	assert_int_equal(still_look(NULL, file, &was, NULL), STILL_OTHER);
	was.content = "build-id:00"; /* it is no ELF file */
	assert_int_equal(still_look(NULL, file, &was, NULL), STILL_OTHER);
}

/* Each of the things that a file system says must be as it was. */
static void by_looks(void **state)
{
	(void)state;
	const struct still_print right = print_of(file);
	struct still_seen seen;
	for (int i = 0; i < 6; i++) {
		struct still_print print = right;
		print.ino += i == 1;
		print.gen += i == 2;
		print.size += i == 3;
		print.mtime += i == 4;
		print.domain = i == 5 ? str_of("uuid:another") : print.domain;
		struct still_was was = {.content = "", .print = &print};
		assert_int_equal(still_look(NULL, file, &was, &seen), i ? STILL_UNKNOWN : STILL_SAME);
		assert_int_equal(seen.print_same, i == 0);
		assert_int_equal(still_looks_so(file, &print), i == 0);
	}
	assert_false(still_looks_so(other, &right)); /* it is not there */
}

static void not_there(void **state)
{
	(void)state;
	char below[80];
	struct still_seen seen = {true, 7};
	struct still_was known = {.content = content}, unknown = {.content = ""};
	assert_int_equal(still_look(NULL, other, &known, &seen), STILL_GONE);
	assert_int_equal(seen.mode, 0);
	assert_false(seen.print_same);
	snprintf(below, sizeof(below), "%s/x", file); /* below what is no folder */
	assert_int_equal(still_look(NULL, below, &known, NULL), STILL_GONE);
	assert_int_equal(still_look(NULL, file, &unknown, NULL), STILL_UNKNOWN);
	assert_int_equal(still_look(NULL, dir, &known, NULL), STILL_OTHER);
	assert_int_equal(still_look(NULL, dir, &unknown, NULL), STILL_UNKNOWN);
	assert_int_equal(symlink(other, other), 0); /* what leads to itself */
	assert_int_equal(still_look(NULL, other, &known, NULL), STILL_UNKNOWN);
}

static void of_an_open_file(void **state)
{
	(void)state;
	int fd = open(file, O_RDONLY | O_CLOEXEC), w = open(file, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0 && w >= 0);
	assert_int_equal(still_holds(NULL, fd, content), 1);
	assert_int_equal(still_holds(NULL, fd, "sha256:"), 0);
	assert_true(still_holds(NULL, w, content) < 0);
	assert_true(still_holds(NULL, w, "build-id:00") < 0);
	close(fd);
	close(w);
}

/* The program that runs here was linked with that one. */
static void by_build_id(void **state)
{
	(void)state;
	struct still_was was = {.content = "build-id:" BUILD_ID};
	assert_int_equal(still_look(NULL, "/proc/self/exe", &was, NULL), STILL_SAME);
	was.content = "build-id:" BUILD_ID "00";
	assert_int_equal(still_look(NULL, "/proc/self/exe", &was, NULL), STILL_OTHER);
	was.content = "build-id:";
	assert_int_equal(still_look(NULL, "/proc/self/exe", &was, NULL), STILL_OTHER);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(by_content), TEST(by_looks), TEST(not_there), TEST(of_an_open_file),
	                                   TEST(by_build_id)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
