/* The format and its reader: what is whole comes back as it was written, whatever surrounds it. */
#include "log_common.h"

#include "base/buf.h"
#include "base/io.h"
#include "event/log_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A segment in memory, with the places of its frames. */
#define FRAMES_MAX 64
struct sample {
	char *p;
	size_t n, frames;
	struct log_frame_info frame[FRAMES_MAX];
	uint64_t events;
};

/* Frames of per_frame events, or as the writer makes them (0). */
static struct sample sample_make(uint64_t events, unsigned per_frame)
{
	struct sample s = {.events = events};
	struct log_writer *w = writer_on(in_dir("sample.stl"), 0);
	for (uint64_t i = 1; i <= events; i++) {
		add(w, i, i + 1);
		if (per_frame && i % per_frame == 0)
			log_writer_flush(w);
	}
	assert_int_equal(log_writer_close(w), 0);
	s.p = slurp(in_dir("sample.stl"), &s.n);
	struct log_reader *r;
	assert_int_equal(log_reader_memopen(s.p, s.n, &r), 0);
	while (log_reader_frame(r, &s.frame[s.frames]) == 1)
		assert_true(++s.frames < FRAMES_MAX);
	log_reader_close(r);
	assert_true(s.frames >= 3);
	assert_int_equal(s.frame[s.frames - 1].end, s.n);
	return s;
}

/* Damage. */

static void test_truncated(void **state)
{
	(void)state;
	struct sample s = sample_make(120, 16);
	for (size_t n = 0; n <= s.n; n++) {
		struct log_reader *r;
		struct tally t = {0};
		size_t whole = 0;
		uint64_t events = 0;
		while (whole < s.frames && s.frame[whole].end <= n)
			events += s.frame[whole++].count;
		char *copy = malloc(n + 1); /* of its own, so that the sanitizer sees a step outside */
		memcpy(copy, s.p, n);
		assert_int_equal(log_reader_memopen(copy, n, &r), 0);
		read_all(r, &t);
		assert_int_equal(t.frames, whole);
		assert_int_equal(t.events, events);
		assert_int_equal(log_reader_damage(r)->torn, n - (whole ? s.frame[whole - 1].end : 0));
		assert_int_equal(log_reader_damage(r)->skipped, 0);
		log_reader_close(r);
		free(copy);
	}
	free(s.p);
}

/* A flipped bit costs its own frame and no other, and what it costs is told. */
static void test_flipped(void **state)
{
	(void)state;
	struct sample s = sample_make(64, 16);
	uint64_t newer = 0;
	for (size_t i = 0; i < s.n; i++) {
		size_t hit = 0;
		while (s.frame[hit].end <= i)
			hit++;
		uint64_t length = s.frame[hit].end - s.frame[hit].offset;
		for (int bit = 0; bit < 8; bit++) {
			struct log_reader *r;
			struct tally t = {0};
			s.p[i] ^= (char)(1 << bit);
			assert_int_equal(log_reader_memopen(s.p, s.n, &r), 0);
			read_all(r, &t);
			const struct log_damage *d = log_reader_damage(r);
			assert_int_equal(t.frames, s.frames - 1);
			assert_int_equal(t.events, s.events - s.frame[hit].count);
			assert_int_equal(d->bad_events, 0);
			/* 3, 5 and 9 differ from 1 by a bit, 3 and 6 from 2: such a frame looks like one from the future */
			if (d->newer) {
				assert_int_equal(i, s.frame[hit].offset + 3);
				assert_int_equal(d->newer, 1);
				assert_int_equal(d->skipped + d->torn, 0);
				newer++;
			} else if (hit == s.frames - 1) {
				assert_int_equal(d->torn, length);
				assert_int_equal(d->skipped, 0);
			} else {
				assert_int_equal(d->skipped, length);
				assert_int_equal(d->torn, 0);
			}
			log_reader_close(r);
			s.p[i] ^= (char)(1 << bit);
		}
	}
	for (size_t k = 0; k < s.frames; k++)
		newer -= s.p[s.frame[k].offset + 3] == '1' ? 3 : 2;
	assert_int_equal(newer, 0);
	free(s.p);
}

/* Stretches of noise, and of pieces of frames, between frames. */
static void test_noise(void **state)
{
	(void)state;
	struct sample s = sample_make(600, 0);
	unsigned seed = 7;
	for (int round = 0; round < 300; round++) {
		struct buf b = {0};
		struct log_reader *r;
		struct tally t = {0};
		uint64_t skipped = 0, torn = 0;
		for (size_t i = 0; i <= s.frames; i++) {
			size_t n = (size_t)rand_r(&seed) % 300;
			torn = n;
			if (i < s.frames)
				skipped += n;
			for (size_t k = 0; k < n; k++)
				buf_char(&b, (char)rand_r(&seed));
			/* the beginning of a frame that was never finished */
			if (round % 2) {
				n = (size_t)rand_r(&seed) % (s.frame[0].end - 1);
				buf_add(&b, s.p, n);
				torn += n;
				if (i < s.frames)
					skipped += n;
			}
			if (i < s.frames)
				buf_add(&b, s.p + s.frame[i].offset, s.frame[i].end - s.frame[i].offset);
		}
		spill(in_dir("noise.stl"), b.p, b.n);
		r = reader_on(in_dir("noise.stl"));
		read_all(r, &t);
		assert_int_equal(t.frames, s.frames);
		assert_int_equal(t.events, s.events);
		assert_int_equal(log_reader_damage(r)->skipped, skipped);
		assert_int_equal(log_reader_damage(r)->torn, torn);
		log_reader_close(r);
		buf_release(&b);
	}
	free(s.p);
}

/* Frames that begin anywhere near the end of the reader's buffer. */
static void test_buffer_edge(void **state)
{
	(void)state;
	struct sample s = sample_make(600, 0);
	const size_t piece = 2 * (LOG_PAYLOAD_MAX + sizeof(struct log_frame));
	char *zero = calloc(1, piece + 100);
	for (size_t n = piece - 70; n<piece + 10; n += n> piece - 62 && n < piece - 8 ? 9 : 1) {
		struct tally t = {0};
		int fd = open(in_dir("edge.stl"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_true(fd >= 0);
		zero[n - 1] = 'S'; /* looks like the magic's beginning */
		assert_int_equal(io_write(fd, zero, n, NULL), 0);
		assert_int_equal(io_write(fd, s.p, s.n, NULL), 0);
		zero[n - 1] = 0;
		close(fd);
		struct log_reader *r = reader_on(in_dir("edge.stl"));
		read_all(r, &t);
		assert_int_equal(t.frames, s.frames);
		assert_int_equal(log_reader_damage(r)->skipped, n);
		assert_int_equal(log_reader_damage(r)->torn, 0);
		log_reader_close(r);
	}
	free(zero);
	free(s.p);
}

/* Frames of a newer version are passed over by their size and told; what only looks so does not hide others. */
static void test_newer_version(void **state)
{
	(void)state;
	struct sample s = sample_make(600, 0);
	struct log_reader *r;
	struct tally t = {0};
	s.p[s.frame[1].offset + 3] = '3';
	s.p[s.frame[s.frames - 1].offset + 3] = '7';
	assert_int_equal(log_reader_memopen(s.p, s.n, &r), 0);
	read_all(r, &t);
	assert_int_equal(t.frames, s.frames - 2);
	assert_int_equal(log_reader_damage(r)->newer, 2);
	assert_int_equal(log_reader_damage(r)->skipped, 0);
	assert_int_equal(log_reader_damage(r)->torn, 0);
	log_reader_close(r);
	/* the same through a file, and larger than this version's largest frame */
	struct buf b = {0};
	uint32_t size = 3 * LOG_PAYLOAD_MAX;
	char *big = calloc(1, sizeof(struct log_frame) + size);
	memcpy(big, "STL4", 4);
	memcpy(big + 4, &size, 4);
	buf_add(&b, s.p, s.frame[0].end);
	buf_add(&b, big, sizeof(struct log_frame) + size);
	buf_add(&b, s.p, s.frame[0].end);
	spill(in_dir("newer.stl"), b.p, b.n);
	r = reader_on(in_dir("newer.stl"));
	t = (struct tally){0};
	read_all(r, &t);
	assert_int_equal(t.frames, 2);
	assert_int_equal(log_reader_damage(r)->newer, 1);
	assert_int_equal(log_reader_damage(r)->skipped, 0);
	log_reader_close(r);
	/* a size that leads nowhere */
	size -= 5;
	memcpy(b.p + s.frame[0].end + 4, &size, 4);
	spill(in_dir("newer.stl"), b.p, b.n);
	r = reader_on(in_dir("newer.stl"));
	t = (struct tally){0};
	read_all(r, &t);
	assert_int_equal(t.frames, 2);
	assert_int_equal(log_reader_damage(r)->newer, 0);
	assert_int_equal(log_reader_damage(r)->skipped, sizeof(struct log_frame) + size + 5);
	log_reader_close(r);
	free(big);
	buf_release(&b);
	free(s.p);
}

/* Whole frames whose events are nonsense: the writer was wrong, or is newer. */
static void test_bad_events(void **state)
{
	(void)state;
	static const unsigned char good[] = {4, 14, 0, 0, 1}, future[] = {5, 99, 2, 0, 0xff, 0xff};
	static const struct {
		const char *what;
		unsigned char bytes[16];
		size_t n;
		uint32_t count, events;
		uint64_t bad;
	} rows[] = {
	    {"an event past the frame", {9, 14, 0, 0, 1}, 5, 1, 0, 1},
	    {"fewer events than counted", {3, 4, 0, 0, 3, 4, 0, 0}, 8, 2, 2, 0},
	    {"bytes left over", {3, 4, 0, 0, 3, 4, 0, 0}, 8, 1, 1, 1},
	    {"no events", {0}, 0, 0, 0, 0},
	    {"a short one in the middle", {3, 4, 0, 0, 1, 4, 0, 0, 3, 4, 0, 0}, 12, 3, 1, 1},
	};
	char frame[sizeof(struct log_frame) + 64];
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		memcpy(frame + sizeof(struct log_frame), rows[i].bytes, rows[i].n);
		size_t n = log_frame_build(
		    frame, &(struct log_frame){.size = (uint32_t)rows[i].n, .session = 1, .count = rows[i].count, .seq = 1});
		assert_int_equal(log_reader_memopen(frame, n, &r), 0);
		assert_int_equal(log_reader_frame(r, &f), 1);
		uint32_t events = 0;
		while (log_reader_event(r, &ev))
			events++;
		assert_int_equal(log_reader_event(r, &ev), 0);
		assert_int_equal(log_reader_frame(r, &f), 0);
		if (events != rows[i].events || log_reader_damage(r)->bad_events != rows[i].bad)
			fail_msg("%s: %u events", rows[i].what, events);
		log_reader_close(r);
		/* who wants no events is told of none, and of nothing that is wrong with them */
		struct log_frame_info skimmed;
		assert_int_equal(log_reader_memopen(frame, n, &r), 0);
		assert_int_equal(log_reader_skim(r, &skimmed), 1);
		assert_true(skimmed.offset == 0 && skimmed.end == n && skimmed.count == rows[i].count && skimmed.seq == 1);
		assert_int_equal(log_reader_event(r, &ev), 0);
		assert_int_equal(log_reader_skim(r, &skimmed), 0);
		no_damage(r);
		log_reader_close(r);
	}
	/* an unknown kind is an event with a number, and the one after it is whole */
	memcpy(frame + sizeof(struct log_frame), future, sizeof(future));
	memcpy(frame + sizeof(struct log_frame) + 6, good, sizeof(good));
	size_t n = log_frame_build(frame, &(struct log_frame){.size = 11, .session = 1, .count = 2, .seq = 8, .time = 100});
	assert_int_equal(log_reader_memopen(frame, n, &r), 0);
	assert_int_equal(log_reader_frame(r, &f), 1);
	assert_int_equal(log_reader_event(r, &ev), 1);
	assert_int_equal(ev.kind, 99);
	assert_int_equal(ev.seq, 8);
	assert_int_equal(ev.time, 101);
	assert_int_equal(log_reader_event(r, &ev), 1);
	assert_int_equal(ev.kind, EVENT_link);
	assert_int_equal(ev.seq, 9);
	assert_int_equal(ev.time, 101);
	assert_int_equal(log_reader_event(r, &ev), 0);
	no_damage(r);
	log_reader_close(r);
	/* headers no writer makes */
	static const struct log_frame odd[] = {
	    {.size = 5, .session = 0, .count = 1, .seq = 1},
	    {.size = 5, .session = 1, .count = 1, .seq = 0},
	    {.size = 5, .session = 1, .count = 2, .seq = 1},
	    {.size = 5, .session = 1, .count = 1, .seq = UINT64_MAX},
	};
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		memcpy(frame + sizeof(struct log_frame), good, sizeof(good));
		n = log_frame_build(frame, &odd[i]);
		assert_int_equal(log_reader_memopen(frame, n, &r), 0);
		assert_int_equal(log_reader_frame(r, &f), 0);
		assert_int_equal(log_reader_damage(r)->torn, n);
		log_reader_close(r);
	}
}

/* A reader at the end goes on when the file grows; what it saw there of an unfinished frame is not held against it. */
static void test_follow(void **state)
{
	(void)state;
	struct sample s = sample_make(600, 0);
	struct log_reader *r;
	struct log_frame_info f;
	int fd = open(in_dir("grow.stl"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	r = reader_on(in_dir("grow.stl"));
	assert_int_equal(log_reader_frame(r, &f), 0);
	for (size_t i = 0; i < s.frames; i++) {
		size_t length = s.frame[i].end - s.frame[i].offset, part = i ? length * (i + 1) / (s.frames + 1) : 2;
		off_t at = lseek(fd, 0, SEEK_CUR);
		/* a part of a frame, taken back; another that only looks like the one that then comes */
		assert_int_equal(io_write(fd, s.p + s.frame[i].offset, part, NULL), 0);
		assert_int_equal(log_reader_frame(r, &f), 0);
		assert_int_equal(log_reader_damage(r)->torn, part);
		assert_int_equal(ftruncate(fd, at), 0);
		assert_int_equal(lseek(fd, at, SEEK_SET), at);
		assert_int_equal(log_reader_frame(r, &f), 0);
		assert_int_equal(log_reader_damage(r)->torn, 0);
		s.p[s.frame[i].offset + part - 1] ^= 1;
		assert_int_equal(io_write(fd, s.p + s.frame[i].offset, part, NULL), 0);
		s.p[s.frame[i].offset + part - 1] ^= 1;
		assert_int_equal(log_reader_frame(r, &f), 0);
		assert_int_equal(log_reader_damage(r)->torn, part);
		assert_int_equal(lseek(fd, at, SEEK_SET), at);
		assert_int_equal(ftruncate(fd, at), 0);
		assert_int_equal(io_write(fd, s.p + s.frame[i].offset, length, NULL), 0);
		assert_int_equal(log_reader_frame(r, &f), 1);
		assert_int_equal(f.seq, s.frame[i].seq);
		assert_int_equal(f.offset, (uint64_t)at);
	}
	assert_int_equal(log_reader_frame(r, &f), 0);
	no_damage(r);
	log_reader_seek(r, s.frame[1].end);
	assert_int_equal(log_reader_frame(r, &f), 1);
	assert_int_equal(f.offset, s.frame[2].offset);
	log_reader_seek(r, 1ULL << 62);
	assert_int_equal(log_reader_frame(r, &f), 0);
	assert_int_equal(log_reader_damage(r)->torn, 0);
	log_reader_seek(r, UINT64_MAX);
	assert_int_equal(log_reader_frame(r, &f), 0);
	log_reader_close(r);
	close(fd);
	free(s.p);
}

static void test_reader_open(void **state)
{
	(void)state;
	struct log_reader *r;
	struct log_frame_info f;
	struct err err = {0};
	assert_int_equal(log_reader_open(in_dir("none.stl"), &err, &r), -ENOENT);
	assert_non_null(strstr(err.text, in_dir("none.stl")));
	err_clear(&err);
	assert_int_equal(log_reader_open(dir, &err, &r), -EISDIR);
	assert_non_null(strstr(err.text, dir));
	err_clear(&err);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(log_reader_open(in_dir("fifo"), &err, &r), -EINVAL);
	assert_non_null(strstr(err.text, "regular"));
	assert_int_equal(log_reader_open(in_dir("none.stl"), NULL, &r), -ENOENT);
	spill(in_dir("empty.stl"), "", 0);
	r = reader_on(in_dir("empty.stl"));
	assert_int_equal(log_reader_frame(r, &f), 0);
	no_damage(r);
	log_reader_close(r);
	log_reader_close(NULL);
}

int main(void)
{
	if (dir_make() != 0)
		return 1;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_truncated),   cmocka_unit_test(test_flipped),       cmocka_unit_test(test_noise),
	    cmocka_unit_test(test_buffer_edge), cmocka_unit_test(test_newer_version), cmocka_unit_test(test_bad_events),
	    cmocka_unit_test(test_follow),      cmocka_unit_test(test_reader_open),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	dir_remove();
	return failed;
}
