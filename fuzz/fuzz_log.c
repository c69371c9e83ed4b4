/* Segments of any bytes: the reader accounts for every byte, and what it gives can be written again. */
#include "base/buf.h"
#include "event/log_frame.h"
#include "event/log_pack.h"
#include "event/log_reader.h"
#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

static void use_event(const struct event *ev, int64_t before)
{
	struct buf a = {0}, b = {0};
	struct event again;
	must(ev->seq != 0 && ev->writer != 0);
	if (event_encode(&a, ev, before) == 0) {
		const unsigned char *p = (const unsigned char *)a.p;
		must(event_decode(&p, p + a.n, before, &again) == 0);
		must(p == (const unsigned char *)a.p + a.n);
		must(event_encode(&b, &again, before) == 0);
		must(str_eq(buf_view(&a), buf_view(&b)));
	}
	buf_release(&a);
	buf_release(&b);
	struct str s;
	size_t pos = 0, n = 0;
	if (ev->kind == EVENT_exec) {
		while (strlist_next(&ev->exec.argv, &pos, &s))
			n++;
		must(n == ev->exec.argv.count);
	}
}

static void read_all(const void *p, size_t n)
{
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	uint64_t whole = 0, end = 0;
	if (log_reader_memopen(p, n, &r) < 0)
		return;
	while (log_reader_frame(r, &f) == 1) {
		uint32_t events = 0;
		must(f.offset >= end && f.end > f.offset && f.end <= n);
		whole += f.end - f.offset;
		end = f.end;
		int64_t before = f.time;
		while (log_reader_event(r, &ev)) {
			must(ev.seq == f.seq + events++);
			use_event(&ev, before);
			before = ev.time;
		}
		must(events <= f.count);
	}
	const struct log_damage *d = log_reader_damage(r);
	must(whole + d->skipped + d->torn <= n);
	must(d->newer || whole + d->skipped + d->torn == n);
	log_reader_close(r);
}

/* What can be packed comes back as it was. */
static void both_ways(const uint8_t *data, size_t size, uint32_t count)
{
	struct buf packed = {0}, again = {0};
	if (log_pack(data, size, count, 1, 1000, &packed) == 0) {
		must(packed.n < size);
		must(log_unpack(packed.p, packed.n, size, count, 1, 1000, &again) == 0);
		must(again.n == size && !memcmp(again.p, data, size));
	}
	buf_release(&packed);
	buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_all(data, size);
	/* No mutation gets past the checksum: the same bytes as the events of a frame. */
	if (size > 0 && size <= 65536) {
		char *frame = malloc(sizeof(struct log_frame) + size);
		if (!frame)
			return 0;
		memcpy(frame + sizeof(struct log_frame), data, size);
		uint32_t count = (uint32_t)(size / 4);
		size_t n =
		    log_frame_build(frame, &(struct log_frame){.size = (uint32_t)size, .session = 1, .count = count, .seq = 1});
		read_all(frame, n);
		/* ... and as packed ones */
		uint64_t plain = size + 1 + data[0] * 16;
		n = log_frame_build(
		    frame, &(struct log_frame){
		               .size = (uint32_t)size, .session = 1, .count = data[size - 1], .seq = 1, .plain = plain});
		read_all(frame, n);
		free(frame);
		both_ways(data, size, data[0] % 64);
	}
	return 0;
}
