/* What the kernel gives the node's tracer: records and fanotify's buffers of any bytes are taken or refused, and
 * nothing beyond them is read. The first byte says which. */
#include "capture/node_tracer/decode.h"
#include "fuzz_file.h"

#include <stdint.h>
#include <stdlib.h>

static bool within(struct str s, const void *p, size_t n)
{
	return s.n == 0 || (s.p >= (const char *)p && s.p + s.n <= (const char *)p + n);
}

static void notices(const unsigned char *p, size_t n)
{
	struct notice x;
	size_t at = 0, before = 0;
	bool broken;
	while (notice_next(p, n, &at, &x, &broken)) {
		must(at > before && at <= n);
		before = at;
		must(within(x.name, p, n) && within(x.old_name, p, n));
		must(x.object.bytes <= HANDLE_MAX && x.dir.bytes <= HANDLE_MAX && x.old_dir.bytes <= HANDLE_MAX);
		must(within(str_n((const char *)x.object.p, x.object.bytes), p, n));
		must(within(str_n((const char *)x.dir.p, x.dir.bytes), p, n));
	}
	must(broken || at == n);
}

static void record(const void *p, size_t n)
{
	char path[300];
	struct exec_strings s;
	size_t k;
	if (!record_is_sound(p, n) || record_head(p)->kind != REC_EXEC)
		return;
	exec_strings(p, &s);
	must(within(s.name, p, n) && within(s.exe, p, n) && within(s.cwd, p, n) && within(s.args, p, n) &&
	     within(s.env, p, n));
	if (path_of_parts(s.exe, path, sizeof(path), &k))
		must(k < sizeof(path) && path[0] == '/' && path[k] == '\0');
	if (path_of_parts(s.cwd, path, sizeof(path), &k))
		must(k < sizeof(path) && path[0] == '/' && path[k] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	/* Of their own size and place, so that a byte too many is seen. */
	void *copy = malloc(size > 1 ? size - 1 : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		notices(copy, size - 1);
	else
		record(copy, size - 1);
	free(copy);
	return 0;
}
