/* Paths are resolved as realpath resolves them, and FUSE is not asked. With arguments: test_unasked LINK PATH, where
 * LINK is /proc/PID/fd/N and leads to FUSE (in any mount namespace), and PATH leads into FUSE in this one, or is "". */
#include "base/os/unasked.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/stemma-unasked.XXXXXX";

static void as_realpath(void **state)
{
	static const struct {
		const char *name, *to; /* to: NULL a file, "" a folder, else a symbolic link */
	} made[] = {
	    {"a", ""},        {"a/b", ""},          {"a/file", NULL},    {"up", "a/b/.."},     {"abs", "/"},
	    {"loop", "loop"}, {"a/b/l", "../file"}, {"gone", "nowhere"}, {"a/again", "../up"}, {"dot", "."},
	};
	static const char *const asked[] = {
	    "",           "/",
	    "/.",         "/a/../a//b/",
	    "/up/file",   "/up/b/l",
	    "/up/b/l/",   "/loop",
	    "/gone",      "/nothing/x",
	    "/a/file/x",  "/a/file/",
	    "/abs/proc",  "/abs/../tmp/.",
	    "/dot/dot/a", "/a/again/b/l",
	    "/a/b/../..", "/../../../../..",
	    "/a/file/..", "/a/again/again",
	};
	char path[PATH_MAX], want[PATH_MAX], got[PATH_MAX];
	size_t good = 0;
	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, made[i].name);
		if (!made[i].to)
			assert_return_code(close(open(path, O_WRONLY | O_CREAT, 0600)), errno);
		else
			assert_return_code(*made[i].to ? symlink(made[i].to, path) : mkdir(path, 0700), errno);
	}
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, asked[i]);
		errno = 0;
		int wants = realpath(path, want) ? 0 : -errno, gets = unasked_real(path, got);
		if (wants != gets || (!wants && strcmp(want, got) != 0))
			fail_msg("%s: %d %s, and not %d %s", path, gets, got, wants, want);
		good += !wants;
	}
	assert_true(good > 5);
	assert_int_equal(unasked_real("a", got), -EINVAL);
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(unasked_real(path, got), 0);
	assert_string_equal(got, "/");
	for (size_t i = sizeof(made) / sizeof(made[0]); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", dir, made[i].name);
		assert_return_code(remove(path), errno);
	}
	assert_return_code(rmdir(dir), errno);
}

static void of_what_is_open(void **state)
{
	struct fileid want, got;
	char name[64];
	(void)state;
	int fd = open("/proc/self/exe", O_RDONLY);
	assert_return_code(fd, errno);
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), fd);
	assert_int_equal(fileid_get(AT_FDCWD, name, true, &want), 0);
	assert_int_equal(unasked_get(name, true, &got), 0);
	assert_int_equal(got.ino, want.ino);
	assert_int_equal(got.gen, want.gen);
	assert_ptr_equal(got.domain, want.domain);
	assert_int_equal(got.st.stx_size, want.st.stx_size);
	close(fd);
	assert_int_equal(unasked_get(name, true, &got), -ENOENT);
}

static int fuse(const char *link, const char *path)
{
	struct fileid id;
	char real[PATH_MAX];
	/* As the daemon knows it when it met another file there, of a mount namespace that is not its own. */
	struct statx st;
	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, FILEID_STATX, &st) < 0)
		return 1;
	fileid_domain(-1, "", fileid_dev(&st));
	if (unasked_get(link, true, &id) < 0 || id.ino != st.stx_ino || (id.st.stx_mask & STATX_SIZE))
		return 2;
	return *path && unasked_real(path, real) != -EREMOTE ? 3 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_realpath), cmocka_unit_test(of_what_is_open)};
	return argc == 3 ? fuse(argv[1], argv[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}
