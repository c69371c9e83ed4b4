/* Digests against the published test vectors of SHA-256, and what the cache keeps and does not. */
#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

static char dir[64];

static void vectors(void **state)
{
	(void)state;
	static const struct {
		const char *text, *digest;
	} v[] = {
	    {"", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	    {"abc", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	     "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	for (unsigned i = 0; i < 3; i++) {
		struct digest d, back;
		char text[DIGEST_TEXT];
		digest_bytes(v[i].text, strlen(v[i].text), &d);
		digest_text(&d, text);
		assert_string_equal(text, v[i].digest);
		assert_true(digest_parse(str_of(text), &back));
		assert_true(digest_eq(&d, &back));
	}
	struct digest d;
	assert_false(digest_parse(str_of("sha256:12"), &d));
	assert_false(digest_parse(str_of("sha512:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), &d));
	assert_false(digest_parse(str_of("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ag"), &d));
}

/* RFC 4231: cases 1, 2, 3 and 6, whose key is longer than a block. */
static void hmac(void **state)
{
	(void)state;
	char ones[20], many[131], dd[50], aa[20], text[DIGEST_TEXT];
	memset(ones, 0x0b, sizeof(ones));
	memset(aa, 0xaa, sizeof(aa));
	memset(dd, 0xdd, sizeof(dd));
	memset(many, 0xaa, sizeof(many));
	const char *want = "what do ya want for nothing?",
	           *first = "Test Using Larger Than Block-Size Key - Hash Key First";
	const struct {
		const char *key;
		size_t n_key;
		const char *p;
		size_t n;
		const char *mac;
	} v[] = {
	    {ones, 20, "Hi There", 8, "sha256:b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
	    {"Jefe", 4, want, 28, "sha256:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
	    {aa, 20, dd, 50, "sha256:773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
	    {many, 131, first, 54, "sha256:60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
	};
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct digest d;
		digest_hmac(v[i].key, v[i].n_key, v[i].p, v[i].n, &d);
		digest_text(&d, text);
		assert_string_equal(text, v[i].mac);
	}
}

static void make(const char *name, size_t n, int byte, char *ret, size_t room)
{
	snprintf(ret, room, "%s/%s", dir, name);
	FILE *f = fopen(ret, "w");
	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		putc(byte, f);
	assert_int_equal(fclose(f), 0);
}

/* A million letters a, as the standard has it, by the ways for small and large files. */
static void files(void **state)
{
	(void)state;
	char path[128], text[DIGEST_TEXT];
	struct digest d, whole;
	make("million", 1000000, 'a', path, sizeof(path));
	assert_int_equal(digest_file(NULL, AT_FDCWD, path, &d, NULL), 0);
	digest_text(&d, text);
	assert_string_equal(text, "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	for (size_t n = (1u << 20) - 1; n <= (1u << 20) + 262145; n += 131073) {
		char *p = malloc(n);
		memset(p, 'x', n);
		digest_bytes(p, n, &whole);
		make("large", n, 'x', path, sizeof(path));
		assert_int_equal(digest_file(NULL, AT_FDCWD, path, &d, NULL), 0);
		assert_true(digest_eq(&d, &whole));
		free(p);
	}
	assert_int_equal(digest_file(NULL, AT_FDCWD, dir, &d, NULL), -EINVAL);
	assert_int_equal(digest_file(NULL, AT_FDCWD, "/dev/null", &d, NULL), -EINVAL);
	assert_int_equal(digest_file(NULL, AT_FDCWD, "/no/such/file", &d, NULL), -ENOENT);
}

static void age(const char *path, time_t mtime)
{
	struct utimbuf t = {mtime, mtime};
	assert_int_equal(utime(path, &t), 0);
}

/* The digest's own calls come through here (-Wl,--wrap): the file is cut short just before it is read. */
void *__real_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from);
ssize_t __real_pread64(int fd, void *to, size_t n, off_t from);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t from);

static const char *cut; /* which file, NULL: none */
static off_t cut_to;
static unsigned cuts;

static void cut_short(void)
{
	if (!cut)
		return;
	assert_int_equal(truncate(cut, cut_to), 0);
	cuts++;
}

void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	void *ret = __real_mmap64(at, n, prot, flags, fd, from);
	cut_short();
	return ret;
}

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t from)
{
	cut_short();
	return __real_pread64(fd, to, n, from);
}

/* A file that is cut short while it is read must not end the program: neither a mapped one, to nothing or by some
 * pages, nor one that is copied. */
static void shrinks(void **state)
{
	(void)state;
	static const off_t size[] = {64 << 20, 64 << 20, 100000}, to[] = {0, 4096, 99};
	char path[128];
	struct digest d, whole;
	for (unsigned i = 0; i < 3; i++) {
		make("shrinks", 1, 's', path, sizeof(path));
		assert_int_equal(truncate(path, size[i]), 0);
		assert_int_equal(digest_file(NULL, AT_FDCWD, path, &whole, NULL), 0);
		cut = path;
		cut_to = to[i];
		cuts = 0;
		int rc = digest_file(NULL, AT_FDCWD, path, &d, NULL);
		cut = NULL;
		assert_true(cuts > 0);
		assert_int_equal(rc, -ESTALE);
		/* And whoever comes later is served again. */
		assert_int_equal(truncate(path, size[i]), 0);
		assert_int_equal(digest_file(NULL, AT_FDCWD, path, &d, NULL), 0);
		assert_int_equal(digest_eq(&d, &whole), to[i] > 0);
	}
}

/* Spoils what the cache says of the file, to see whether it was asked. */
static bool from_cache(struct digest_cache *c, const char *path)
{
	struct digest real, told;
	assert_int_equal(digest_file(NULL, AT_FDCWD, path, &real, NULL), 0);
	assert_int_equal(digest_file(c, AT_FDCWD, path, &told, NULL), 0);
	return digest_eq(&real, &told);
}

static void cache(void **state)
{
	(void)state;
	char path[128], kept[256], at[128];
	struct digest first, d;
	snprintf(at, sizeof(at), "%s/cache", dir);
	struct digest_cache *c = digest_cache_open(at);
	assert_non_null(c);
	snprintf(kept, sizeof(kept), "%s/digests-1", at);
	/* Just made: it may yet change without a trace. Again if this process had no turn while it was young. */
	struct stat st;
	struct timespec from, now;
	do {
		assert_int_equal(truncate(kept, 0), 0);
		clock_gettime(CLOCK_REALTIME, &from);
		make("kept", 100, 'k', path, sizeof(path));
		assert_int_equal(digest_file(c, AT_FDCWD, path, &first, NULL), 0);
		clock_gettime(CLOCK_REALTIME, &now);
		assert_int_equal(stat(kept, &st), 0);
	} while (now.tv_sec - from.tv_sec > 1 ||
	         (now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec > 80000000);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* After a while it is kept. */
	do {
		usleep(50000);
		assert_int_equal(digest_file(c, AT_FDCWD, path, &first, NULL), 0);
		stat(kept, &st);
	} while (st.st_size == 0);
	assert_true(from_cache(c, path));
	/* Other bytes of the same length: another ctime, so another file to the cache. */
	make("kept", 100, 'j', path, sizeof(path));
	age(path, 1000000000);
	assert_int_equal(digest_file(c, AT_FDCWD, path, &d, NULL), 0);
	assert_false(digest_eq(&d, &first));
	digest_cache_close(c);
	/* Bytes in the cache that are not ours are no entries. */
	int fd = open(kept, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	char *all = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, all, (size_t)st.st_size, 0), st.st_size);
	for (off_t i = 0; i < st.st_size; i++)
		all[i] ^= all[i] ? 0x10 : 0;
	assert_int_equal(pwrite(fd, all, (size_t)st.st_size, 0), st.st_size);
	free(all);
	close(fd);
	c = digest_cache_open(at);
	assert_true(from_cache(c, path));
	digest_cache_close(c);
	/* Not a place of ours. */
	assert_null(digest_cache_open("/proc/self"));
	digest_cache_close(NULL);
}

/* Small holes are read like zeros; who has more of them than anybody would wait for has no digest, wherever data lies
 * between. */
static void holes(void **state)
{
	(void)state;
	static char zeros[1 << 20];
	char path[128];
	struct digest d, want;
	snprintf(path, sizeof(path), "%s/holes", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(zeros)), 0);
	digest_bytes(zeros, sizeof(zeros), &want);
	assert_int_equal(digest_fd(NULL, fd, &d, NULL), 0);
	assert_true(digest_eq(&d, &want));
	const off_t large = (off_t)(DIGEST_HOLES + DIGEST_HOLES / 2);
	if (ftruncate(fd, large) == 0 && lseek(fd, 0, SEEK_HOLE) == 0) {
		assert_int_equal(pwrite(fd, "middle", 6, large / 2), 6);
		assert_int_equal(pwrite(fd, "end", 3, large - 3), 3);
		assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
		assert_int_equal(digest_fd(NULL, fd, &d, NULL), -EFBIG);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
		assert_int_equal(digest_file(NULL, AT_FDCWD, path, &d, NULL), -EFBIG);
	} else {
		print_message("the file system has no such files, or tells of no holes\n");
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(hmac),    cmocka_unit_test(files),
	                                   cmocka_unit_test(holes),   cmocka_unit_test(shrinks), cmocka_unit_test(cache)};
	snprintf(dir, sizeof(dir), "/tmp/stemma-digest-XXXXXX");
	if (!mkdtemp(dir))
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	char line[128];
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line) == 0 ? r : 1;
}
