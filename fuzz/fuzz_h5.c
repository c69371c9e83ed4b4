/* What a program tells of HDF5 objects is the program's to write: whatever it is, a log comes of it that is whole, and
 * what was done lies between the program's birth and now.
 *
 * The input is entries: kind, two bytes of length (little endian), so many bytes of value; they are put into a window.
 */
#include "capture/app/app_read.h"
#include "capture/app/channel.h"
#include "capture/app/images.h"
#include "capture/hdf5/h5_format.h"
#include "capture/supervisor/super.h"
#include "capture/supervisor/worker.h"
#include "event/log_reader.h"
#include "fuzz_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PID 7
#define ENTRIES_MAX 512

static char *window_of(const uint8_t *data, size_t size, size_t *ret_n)
{
	size_t n = APP_HEAD, entries = 0;
	char *w = NULL;
	for (size_t at = 0; at + 3 <= size && entries < ENTRIES_MAX; entries++) {
		size_t len = data[at + 1] | (size_t)data[at + 2] << 8;
		len = len < size - at - 3 ? len : size - at - 3;
		size_t need = sizeof(struct app_chunk) + sizeof(struct app_entry) + len + 8;
		size_t room = (need + APP_CHUNK - 1) / APP_CHUNK * APP_CHUNK;
		char *more = realloc(w, n + room);
		must(more != NULL);
		w = more;
		memset(w + n, 0, room);
		struct app_chunk c = {.magic = APP_CHUNK_MAGIC, .chunks = (uint32_t)(room / APP_CHUNK), .at = n};
		struct app_entry e = {.size = (uint32_t)(sizeof(e) + (len + 7) / 8 * 8),
		                      .kind = data[at] % (H5_KINDS + 1),
		                      .time = 1000,
		                      .value = (uint32_t)len};
		memcpy(w + n, &c, sizeof(c));
		memcpy(w + n + sizeof(c), &e, sizeof(e));
		memcpy(w + n + sizeof(c) + sizeof(e), data + at + 3, len);
		n += room;
		at += 3 + len;
	}
	*ret_n = w ? n : 0;
	return w;
}

/* The log is whole, and what was done lies between the program's birth and now. */
static void check(const void *p, size_t n, int64_t from, int64_t to)
{
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	must(log_reader_memopen(p, n, &r) == 0);
	while (log_reader_frame(r, &f) == 1) {
		uint32_t events = 0;
		for (; log_reader_event(r, &ev); events++) {
			if (ev.kind == EVENT_io)
				must((ev.io.first == TIME_NONE && ev.io.last == TIME_NONE) ||
				     (ev.io.first >= from && ev.io.last >= ev.io.first && ev.io.last <= to));
			if (ev.kind == EVENT_access || ev.kind == EVENT_name)
				must(ev.time >= from && ev.time <= to);
			if (ev.kind == EVENT_access_end && ev.access_end.until != TIME_NONE)
				must(ev.access_end.until >= from && ev.access_end.until <= to);
		}
		must(events == f.count);
	}
	const struct log_damage *d = log_reader_damage(r);
	must(!d->skipped && !d->torn && !d->newer && !d->bad_events);
	log_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sup s; /* files and domains that were met stay: as in a run */
	static struct known known;
	static int64_t born;
	struct err err = {0};
	size_t n;
	if (!born) {
		sup_init(&s);
		s.known = &known;
		must((s.images = images_new()) != NULL);
		born = sup_now(&s) - s.clock_offset;
	}
	char *w = window_of(data, size, &n);
	if (!w)
		return 0;
	int fd = memfd_create("log", MFD_CLOEXEC), again = fd < 0 ? -1 : dup(fd);
	must(again >= 0 && log_writer_fdopen(fd, 1, &err, &s.log) == 0);
	struct event process = {.process = {.pid = PID, .started = 1, .forked = TIME_NONE}};
	struct proc p = {.pid = PID, .num = ++s.known->procs};
	sup_event(&s, EVENT_process, sup_now(&s), &p, &process);
	struct channel_window window = {.p = w, .n = n};
	struct channel_image image = {.windows = &window, .n = 1};
	image.head = (struct app_told){.pid = PID, .started = 1, .born = born, .run = "01ARZ3NDEKTSV4RRFFQ69G5FAV"};
	channel_emit_h5(&s, &image);
	must(log_writer_close(s.log) == 0);
	off_t end = lseek(again, 0, SEEK_END);
	void *log = end > 0 ? mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, again, 0) : MAP_FAILED;
	must(log != MAP_FAILED);
	check(log, (size_t)end, born + s.clock_offset, sup_now(&s));
	munmap(log, (size_t)end);
	close(again);
	free(w);
	return 0;
}
