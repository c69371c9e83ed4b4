/* What the kernel gives, byte by byte: whole, cut short, and lying about its lengths. */
#include "capture/node_tracer/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/fanotify.h>

#include <cmocka.h>

/* An event with room behind it. */
struct bytes {
	unsigned char p[1024];
	size_t n;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	assert_true(b->n + n <= sizeof(b->p));
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void put_info(struct bytes *b, unsigned char type, const char *handle, uint32_t bytes, const char *name)
{
	uint16_t len = (uint16_t)(4 + 8 + 8 + bytes + (name ? strlen(name) + 1 : 0));
	uint16_t padded = (uint16_t)((len + 3) & ~3);
	unsigned char head[4] = {type, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
	uint64_t fsid = 77;
	int32_t htype = 1;
	put(b, head, 4);
	put(b, &fsid, 8);
	put(b, &bytes, 4);
	put(b, &htype, 4);
	put(b, handle, bytes);
	if (name)
		put(b, name, strlen(name) + 1);
	put(b, "\0\0\0", (size_t)(padded - len));
}

static void begin(struct bytes *b, uint64_t mask, int32_t pid)
{
	struct fanotify_event_metadata m = {
	    .vers = FANOTIFY_METADATA_VERSION, .metadata_len = sizeof(m), .mask = mask, .fd = -1, .pid = pid};
	put(b, &m, sizeof(m));
}

static void end(struct bytes *b, size_t from)
{
	uint32_t len = (uint32_t)(b->n - from);
	memcpy(b->p + from, &len, 4);
}

static void test_notices(void **state)
{
	struct bytes b = {0};
	struct notice n;
	size_t at = 0, second;
	bool broken;
	(void)state;
	begin(&b, FAN_OPEN | FAN_CLOSE_WRITE, 42);
	put_info(&b, FAN_EVENT_INFO_TYPE_DFID_NAME, "dirdirdi", 8, "name");
	put_info(&b, FAN_EVENT_INFO_TYPE_FID, "filefile", 8, NULL);
	end(&b, 0);
	second = b.n;
	begin(&b, FAN_RENAME, 43);
	put_info(&b, FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, "olddir--", 8, "old");
	put_info(&b, FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, "newdir--", 8, "new");
	put_info(&b, 99, "unknown!", 8, NULL); /* of a later kernel */
	end(&b, second);

	assert_true(notice_next(b.p, b.n, &at, &n, &broken));
	assert_int_equal(n.pid, 42);
	assert_int_equal(n.mask, FAN_OPEN | FAN_CLOSE_WRITE);
	assert_true(str_is(n.name, "name"));
	assert_memory_equal(n.dir.p, "dirdirdi", 8);
	assert_memory_equal(n.object.p, "filefile", 8);
	assert_int_equal(n.object.fsid, 77);
	assert_int_equal(at, second);
	assert_true(notice_next(b.p, b.n, &at, &n, &broken));
	assert_true(str_is(n.name, "new") && str_is(n.old_name, "old"));
	assert_memory_equal(n.old_dir.p, "olddir--", 8);
	assert_int_equal(n.object.bytes, 0);
	assert_false(notice_next(b.p, b.n, &at, &n, &broken));
	assert_false(broken);

	/* Every shorter buffer gives whole events or none. */
	for (size_t cut = 1; cut < b.n; cut++) {
		unsigned char *copy = malloc(cut); /* so that a sanitizer sees one byte too many */
		size_t k = 0, whole = 0;
		assert_non_null(copy);
		memcpy(copy, b.p, cut);
		while (notice_next(copy, cut, &k, &n, &broken))
			whole++;
		assert_int_equal(whole, cut >= second ? 1 : 0);
		assert_int_equal(broken, cut != second);
		free(copy);
	}
}

static void test_lying_notices(void **state)
{
	struct bytes b = {0};
	struct notice n;
	bool broken;
	(void)state;
	begin(&b, FAN_OPEN, 42);
	put_info(&b, FAN_EVENT_INFO_TYPE_DFID_NAME, "dirdirdi", 8, "name");
	end(&b, 0);
	/* Any byte wrong: nothing is read beyond the buffer. */
	for (size_t i = 0; i < b.n; i++)
		for (unsigned v = 0; v < 256; v += 15) {
			unsigned char *copy = malloc(b.n);
			size_t at = 0;
			assert_non_null(copy);
			memcpy(copy, b.p, b.n);
			copy[i] = (unsigned char)v;
			while (notice_next(copy, b.n, &at, &n, &broken))
				assert_true(n.name.n < 64 && n.dir.bytes <= HANDLE_MAX && at <= b.n);
			free(copy);
		}
}

static void test_records(void **state)
{
	(void)state;
	struct {
		struct rec_exec r;
		char text[64];
	} x = {.r = {.head = {.kind = REC_EXEC}, .name = 4, .exe = 8, .cwd = 4, .args = 5, .env = 3}};
	static const char text[4 + 8 + 4 + 5 + 3 + 1] = "/sh\0dash\0bi\0tmp\0sh\0-\0A=";
	struct exec_strings s;
	char path[64];
	size_t n;
	memcpy(x.text, text, sizeof(text));
	assert_true(record_is_sound(&x, sizeof(x.r) + 24));
	assert_false(record_is_sound(&x, sizeof(x.r) + 23));
	assert_false(record_is_sound(&x, sizeof(x.r) - 1));
	exec_strings(&x.r, &s);
	assert_true(str_is(s.name, "/sh"));
	assert_true(str_eq(s.args, str_n("sh\0-\0", 5)));
	assert_true(str_eq(s.env, str_n("A=\0", 3)) || s.env.n == 3);
	assert_true(path_of_parts(s.exe, path, sizeof(path), &n));
	assert_string_equal(path, "/bi/dash");
	assert_int_equal(n, 8);
	assert_true(path_of_parts(s.cwd, path, sizeof(path), &n));
	assert_string_equal(path, "/tmp");
	assert_true(path_of_parts(str_n("", 0), path, sizeof(path), &n));
	assert_string_equal(path, "/");
	assert_false(path_of_parts(s.exe, path, 8, &n));
	assert_true(path_of_parts(s.exe, path, 10, &n));

	struct rec_fds fds = {.head = {.kind = REC_FDS}, .n = REC_FDS_MAX + 1};
	assert_false(record_is_sound(&fds, sizeof(fds)));
	fds.n = 1;
	assert_false(record_is_sound(&fds, sizeof(fds)));
	fds.n = 0;
	assert_true(record_is_sound(&fds, sizeof(fds)));
	fds.head.kind = 200;
	assert_false(record_is_sound(&fds, sizeof(fds)));
	assert_int_equal(dev_of_kernel(0xfe00003), 0xfe00000003ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_notices),
	    cmocka_unit_test(test_lying_notices),
	    cmocka_unit_test(test_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
