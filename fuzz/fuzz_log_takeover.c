/* The worker's log after the worker was killed: what another process finds in their memory it goes on with, and all
 * that was accepted is in the log, once, in order.
 *
 * An input is steps of two bytes: what is done, and how much. The bytes that a killed worker leaves where nothing is
 * valid (behind what has gathered, in the state that does not hold) are the input's, too. */
#include "event/log_reader.h"
#include "event/log_writer_int.h" /* what only its own parts know */
#include "fuzz_file.h"

enum { EVENTS_MAX = 500 };

static uint64_t add_events(struct log_writer *w, uint64_t seq, unsigned n)
{
	static char text[9000];
	memset(text, 'x', sizeof(text));
	for (unsigned i = 0; i < n; i++) {
		struct event ev = {
		    .kind = EVENT_note,
		    .time = 1000 + (int64_t)seq,
		    .note = {.file = seq + 1, .text = str_n(text, seq % 311 ? seq % 13 : seq * 31 % sizeof(text))}};
		must(log_writer_add(w, &ev) == ++seq);
	}
	return seq;
}

/* What a SIGKILL in the middle of a step leaves: the state as it was, and anything elsewhere. */
static void scribble(struct log_writer *w, const uint8_t *p, size_t n)
{
	struct log_shared *sh = w->sh;
	struct log_state *other = &sh->state[!atomic_load(&sh->which)];
	const struct log_state *s = log_writer_current(w);
	memset(other, n ? p[0] : 0xff, sizeof(*other));
	memcpy(other, p, n < sizeof(*other) ? n : sizeof(*other));
	size_t at = sizeof(struct log_frame) + s->len, room = sizeof(sh->frame) - at;
	memcpy(sh->frame + at, p, n < room ? n : room);
	memcpy(sh->frame, p, n < sizeof(struct log_frame) ? n : sizeof(struct log_frame)); /* made when it is written */
	if (sh->queues) { /* a frame was being put in, and nobody was told of it yet */
		size_t from = s->head % LOG_QUEUE;
		memcpy(sh->queue.at + from, p, n < LOG_QUEUE - from ? n : LOG_QUEUE - from);
	}
}

static void read_back(int fd, uint64_t last)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *p = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	uint64_t seq = 0;
	must(p != MAP_FAILED);
	if (!p) {
		must(last == 0);
		return;
	}
	must(log_reader_memopen(p, (size_t)size, &r) == 0);
	while (log_reader_frame(r, &f) == 1) {
		must(f.seq <= seq + 1); /* a frame may come twice */
		while (log_reader_event(r, &ev)) {
			seq += ev.seq == seq + 1;
			must(ev.kind == EVENT_note && ev.note.file == ev.seq && ev.time == 1000 + (int64_t)ev.seq - 1);
		}
	}
	const struct log_damage *d = log_reader_damage(r);
	must(seq == last && !d->skipped && !d->torn && !d->bad_events);
	log_reader_close(r);
	munmap(p, (size_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct log_writer *w = NULL;
	uint64_t seq = 0;
	if (size < 2)
		return 0;
	int fd = memfd_create("log", MFD_CLOEXEC), copy = dup(fd);
	must(fd >= 0 && copy >= 0 && log_writer_fdopen(fd, 1, &err, &w) == 0);
	if (*data++ & 1)
		log_writer_behind(w);
	log_writer_quiet(w, true);
	for (size--; size >= 2 && seq < EVENTS_MAX; data += 2, size -= 2) {
		switch (data[0] % 8) {
		case 0:
		case 1:
			seq = add_events(w, seq, data[1] * (data[0] & 8 ? 4u : 1u));
			break;
		case 2:
			must(log_writer_flush(w) == 0);
			break;
		case 3:
			must(log_writer_seal(w) == 0);
			break;
		case 4:
			log_writer_write(w);
			break;
		case 5: /* killed by a write that went out, before it was said so */
			if (log_queue_waiting(&w->sh->queue)) {
				size_t n;
				const void *p = log_queue_next(&w->sh->queue, &n);
				must(write(copy, p, n) == (ssize_t)n);
			}
			break;
		default:
			scribble(w, data, size < data[1] ? size : data[1]);
			must(log_writer_takeover(w) == 0);
		}
	}
	must(log_writer_lost(w) == 0 && log_writer_close(w) == 0);
	read_back(copy, seq);
	close(copy);
	return 0;
}
