/* What programs tell under --capture=safe is theirs to write: whatever lies in the region, a log comes of it that is
 * whole, nobody is believed about what was before the run or is not yet, and nothing is left of it but the log.
 *
 * An input is pieces: what (1 byte), length (1), so many bytes. An event of those bytes, of a process of the run; or
 * bytes anywhere in a chunk; or the end of a program. */
#include "capture/app/images.h"
#include "capture/preload/safe_int.h"
#include "event/log_reader.h"
#include "fuzz_file.h"

#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { CHUNKS = 4, PIDS = 4, PID = 0x7ffffff0 }; /* more than the kernel gives out */

static int64_t boot_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The log is whole, and what was done lies between the run's begin and now. */
static void check(const void *p, size_t n, int64_t from, int64_t to)
{
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	must(log_reader_memopen(p, n, &r) == 0);
	while (log_reader_frame(r, &f) == 1)
		while (log_reader_event(r, &ev)) {
			if (ev.kind == EVENT_access || ev.kind == EVENT_name || ev.kind == EVENT_exec)
				must(ev.time >= from && ev.time <= to);
			if (ev.kind == EVENT_io)
				must(ev.io.first <= ev.io.last && ev.io.last <= to);
		}
	const struct log_damage *d = log_reader_damage(r);
	must(!d->skipped && !d->torn && !d->newer && !d->bad_events);
	log_reader_close(r);
}

static struct safe_chunk *chunk(unsigned char *map, unsigned i)
{
	return (struct safe_chunk *)(void *)(map + SAFE_PAGE) + i % CHUNKS;
}

/* As the library does it. */
static void put(struct safe_chunk *c, const uint8_t *p, size_t n)
{
	struct safe_event e = {0};
	size_t size = (sizeof(e) + n + 7) & ~(size_t)7;
	if (c->head + size > SAFE_ROOM)
		return;
	memcpy(&e.kind, p, n < sizeof(e) - 4 ? n : sizeof(e) - 4);
	e.kind %= SAFE_KINDS + 1;
	e.pid = PID + e.pid % PIDS;
	e.image %= 4;
	if (e.kind == SAFE_BORN || e.kind == SAFE_SPAWN || e.kind == SAFE_WAITED || e.kind == SAFE_IMAGE)
		e.a = PID + e.a % PIDS;
	e.size = (uint32_t)size;
	memset(c->room + c->head, 0, size);
	memcpy(c->room + c->head, &e, sizeof(e));
	if (n > sizeof(e) - 4)
		memcpy(c->room + c->head + sizeof(e), p + sizeof(e) - 4, n - (sizeof(e) - 4));
	c->owner = e.pid;
	c->image = e.image;
	c->head += (uint32_t)size;
}

static bool alive(uint32_t pid, uint32_t image, void *arg)
{
	return safe_lives(arg, pid, image);
}

static void read_all(struct safe *f, int64_t since)
{
	struct safe_seen x;
	safe_reader_gather(f->reader, since, boot_ns);
	while (safe_reader_next(f->reader, INT64_MAX, &x))
		safe_handle_event(f, &x);
	f->lost += safe_reader_lost(f->reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sup s; /* files and domains that were met stay: as in a run */
	static struct known known;
	static char arg[] = "true", *argv[] = {arg, NULL};
	static _Alignas(SAFE_PAGE) unsigned char map[(CHUNKS + 1) * SAFE_PAGE];
	struct safe f = {.s = &s};
	struct err err = {0};
	if (!s.hz) {
		sup_init(&s);
		s.known = &known;
		s.preloads = true;
		s.argv = argv;
		must((s.images = images_new()) != NULL);
	}
	memset(map, 0, sizeof(map));
	must((f.reader = safe_reader_new(map, sizeof(map))) != NULL);
	f.epoll = epoll_create1(EPOLL_CLOEXEC);
	f.pidns = 1;
	int fd = memfd_create("log", MFD_CLOEXEC), again = fd < 0 ? -1 : dup(fd);
	must(again >= 0 && f.epoll >= 0 && log_writer_fdopen(fd, 1, &err, &s.log) == 0);
	int64_t since = boot_ns() - 1000000000;
	f.since = since;
	safe_emit_root(&f, PID, since + s.clock_offset, "/");
	for (unsigned k = 0; size > 2 && k < 64; k++) {
		size_t n = data[1] < size - 2 ? data[1] : size - 2;
		struct safe_chunk *c = chunk(map, data[0] >> 4);
		if (data[0] & 8)
			n = n * 8 < size - 2 ? n * 8 : size - 2;
		switch (data[0] % 8) {
		case 0: /* anything, anywhere */
			memcpy((unsigned char *)c + (n > 1 ? data[2] * 8 : 0), data + 2, n < 256 ? n : 256);
			break;
		case 1:
			read_all(&f, since);
			safe_reader_sweep(f.reader, alive, &f);
			break;
		default:
			put(c, data + 2, n);
		}
		data += 2 + n;
		size -= 2 + n;
	}
	read_all(&f, since);
	safe_emit_end(&f);
	must(s.nprocs == 0 || s.nprocs < SIZE_MAX / 2);
	for (unsigned i = 0; i < HASH_SIZE; i++)
		must(f.procs[i] == NULL);
	safe_reader_free(f.reader);
	must(log_writer_close(s.log) == 0);
	off_t end = lseek(again, 0, SEEK_END);
	void *log = end > 0 ? mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, again, 0) : MAP_FAILED;
	must(log != MAP_FAILED);
	check(log, (size_t)end, since + s.clock_offset - 1000000000, sup_now(&s));
	munmap(log, (size_t)end);
	close(again);
	close(f.epoll);
	return 0;
}
