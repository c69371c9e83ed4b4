/* Frames that two senders ship to one collector: the input's first segment (fuzz_frames.h) comes from one, the second
 * from the other. Whatever they are: no frame of one becomes the other's, nothing is taken twice, and who opens the
 * record again finds what was there. */
#include "fuzz_home.h"
#include "site/collector.h"

#include <errno.h>

static uint64_t total(const struct collector *c, uint64_t *ret_sessions)
{
	const struct collector_state *v;
	size_t n;
	uint64_t bytes = 0;
	*ret_sessions = 0;
	must(collector_states(c, &v, &n) == 0);
	for (size_t i = 0; i < n; i++) {
		bytes += v[i].bytes;
		*ret_sessions += v[i].sessions;
	}
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct collector_sender a = {.name = "a", .any_user = true}, b = {.name = "b", .host = "h", .uid = 7};
	struct buf in[2] = {0};
	struct err err = {0};
	struct collected first, second, again;
	struct collector *c;
	uint64_t sessions, same;
	frames_cut(data, size, in);
	if (size && data[0] & 128 && in[1].n)
		in[1].p[in[1].n / 2] ^= 4;
	fuzz_home_folder("logs");
	must(collector_open(fuzz_home, 0, &err, &c) == 0);
	must(collector_take(c, &a, in[0].p, in[0].n, &err, &first) == 0);
	must(collector_take(c, &b, in[1].p, in[1].n, &err, &second) == 0);
	must(first.bytes <= in[0].n && second.bytes <= in[1].n);
	const uint64_t bytes = total(c, &sessions);
	must(bytes == first.bytes + second.bytes);
	must(collector_take(c, &a, in[0].p, in[0].n, &err, &again) == 0);
	must(again.taken == 0 && total(c, &same) == bytes && same == sessions);
	must(collector_take(c, &b, in[0].p, in[0].n, &err, &again) == 0);
	must(again.taken == 0 || second.refused == 0 || total(c, &same) >= bytes);
	const uint64_t before = total(c, &sessions);
	collector_close(c);
	must(collector_open(fuzz_home, 0, &err, &c) == 0);
	must(total(c, &same) <= before && same <= sessions); /* what a tombstone told of may be gone */
	collector_close(c);
	buf_release(&in[0]);
	buf_release(&in[1]);
	return 0;
}
