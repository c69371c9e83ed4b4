/* Events packed and unpacked are the same bytes, whatever they are; what is no packed frame is refused. */
#include "base/buf.h"
#include "event/event.h"
#include "event/log_frame.h"
#include "event/log_pack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW 1732190000000000000

static uint64_t random_state = 1;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Values that come again, as in a log, and some that do not. */
static uint64_t fill_u64(void)
{
	static const uint64_t often[] = {0, 0, 1, 7, 127, 128, 100000, UINT64_MAX};
	return random_u64() % 4 ? often[random_u64() % 8] : random_u64() >> (random_u64() & 63);
}

static int64_t fill_i64(void)
{
	return (int64_t)fill_u64();
}

static int64_t fill_time(void)
{
	static const int64_t often[] = {NOW, NOW, TIME_NONE, TIME_NONE, INT64_MAX, 0, -1, NOW + 1000};
	return random_u64() % 4 ? often[random_u64() % 8] : (int64_t)(NOW + (random_u64() >> (random_u64() & 63)));
}

static struct str fill_str(void)
{
	static const char text[] = "/usr/lib/x86_64-linux-gnu/libc.so.6\0/usr/lib/x86_64-linux-gnu/libm.so.6\0/usr/share/a";
	size_t from = random_u64() % 4 ? random_u64() % 3 * 36 : random_u64() % sizeof(text);
	size_t n = sizeof(text) - from;
	return str_n(text + from, random_u64() % 4 ? (n < 35 ? n : 35) : random_u64() % (n + 1));
}

static struct str fill_id(void)
{
	return fill_str();
}

static struct strlist fill_list(void)
{
	static struct str items[4][8];
	static unsigned which;
	struct str *v = items[which++ % 4];
	size_t n = random_u64() % 8;
	for (size_t i = 0; i < n; i++)
		v[i] = fill_str();
	return (struct strlist){.items = v, .count = n};
}

static const uint64_t kinds[] = {
#define EVENT(number, name, meaning) number,
#define FIELD(event, type, name, meaning)
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void fill(struct event *ev, uint64_t kind)
{
	*ev = (struct event){.kind = kind, .proc = random_u64() % 4, .time = fill_time()};
	switch (kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		struct event_##name *e = &ev->name;                                                                            \
		(void)e;
#define FIELD(event, type, name, meaning) e->name = fill_##type();
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	}
}

static void add(struct buf *b, const struct event *ev, int64_t *before)
{
	assert_int_equal(event_encode(b, ev, *before), 0);
	*before = ev->time;
}

/* Packs, and unpacks: the same. Bytes packed; 0: it was refused. */
static size_t both_ways(const struct buf *plain, uint32_t count, uint64_t seq, int64_t time)
{
	struct buf packed = {0}, again = {0};
	buf_char(&packed, 'x'); /* appended to what is there */
	int r = log_pack(plain->p, plain->n, count, seq, time, &packed);
	if (r < 0) {
		assert_int_equal(r, -EMSGSIZE);
		assert_int_equal(packed.n, 1);
		buf_release(&packed);
		return 0;
	}
	size_t n = packed.n - 1;
	assert_true(n < plain->n);
	buf_char(&again, 'y'); /* replaced */
	assert_int_equal(log_unpack(packed.p + 1, n, plain->n, count, seq, time, &again), 0);
	assert_true(str_eq(buf_view(plain), buf_view(&again)));
	/* of another length or number of events it is none */
	assert_int_equal(log_unpack(packed.p + 1, n, plain->n - 1, count, seq, time, &again), -EBADMSG);
	assert_int_equal(log_unpack(packed.p + 1, n, plain->n + 1, count, seq, time, &again), -EBADMSG);
	assert_int_equal(log_unpack(packed.p + 1, n, plain->n, count + 1, seq, time, &again), -EBADMSG);
	if (count)
		assert_int_equal(log_unpack(packed.p + 1, n, plain->n, count - 1, seq, time, &again), -EBADMSG);
	buf_release(&packed);
	buf_release(&again);
	return n;
}

static void test_same_bytes(void **state)
{
	(void)state;
	size_t whole = 0, packed = 0;
	for (int round = 0; round < 2000; round++) {
		struct buf plain = {0};
		int64_t before = NOW;
		uint32_t count = (uint32_t)(random_u64() % 60);
		size_t few = 1 + random_u64() % KINDS;
		for (uint32_t i = 0; i < count; i++) {
			struct event ev;
			fill(&ev, kinds[random_u64() % few]);
			add(&plain, &ev, &before);
		}
		size_t n = both_ways(&plain, count, 1 + random_u64() % 100000, NOW);
		packed += n ? n : plain.n;
		whole += plain.n;
		buf_release(&plain);
	}
	assert_true(packed < whole);
}

/* An event that is as the one before takes two bytes at most, of every kind, none stands as it is by mistake; but where
 * the distance to the event that it is about is another each time. */
static void test_every_kind(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		for (int round = 0; round < 50; round++) {
			struct buf plain = {0}, packed = {0};
			int64_t before = NOW;
			struct event ev;
			fill(&ev, kinds[k]);
			ev.time = NOW;
			for (int i = 0; i < 101; i++)
				add(&plain, &ev, &before);
			if (log_pack(plain.p, plain.n, 101, 9, NOW, &packed) == 0) {
				size_t once = plain.n / 101 + 30;
				bool refers = kinds[k] == EVENT_access_end || kinds[k] == EVENT_io || kinds[k] == EVENT_app_word ||
				              kinds[k] == EVENT_app_metric || kinds[k] == EVENT_app_activity ||
				              kinds[k] == EVENT_mpi_rank || kinds[k] == EVENT_mpi_io;
				if (packed.n > once + 100 * (refers ? 12 : 2))
					fail_msg("%s: %zu bytes", event_kind_name(kinds[k]), packed.n);
			} else if (plain.n / 101 > 12 && kinds[k] != EVENT_plan && kinds[k] != EVENT_seal &&
			           kinds[k] != EVENT_h5_copy) {
				/* these, or some of their fields, came after the packing, and stand as they are */
				fail_msg("%s: %zu bytes are not packed", event_kind_name(kinds[k]), plain.n);
			}
			both_ways(&plain, 101, 9, NOW);
			buf_release(&plain);
			buf_release(&packed);
		}
	}
}

/* What a newer writer, or a wrong one, would put there: unknown kinds and fields, numbers longer than they need to be.
 */
static void test_odd(void **state)
{
	(void)state;
	struct event ev = {.kind = EVENT_name, .time = NOW};
	ev.name.path = str_of("/somewhere/or/other/in/a/long/path");
	struct buf plain = {0};
	int64_t before = NOW;
	for (int i = 0; i < 20; i++)
		add(&plain, &ev, &before);
	static const unsigned char odd[] = {
	    5,    99, 2, 0, 0xff, 0xff,             /* unknown kind */
	    6,    14, 0, 0, 1,    2,    3,          /* link with */
	    9,    14, 0, 0, 1,    2,    3, 4, 5, 6, /* fields that came later */
	    0x83, 0,  4, 0, 0,                      /* a length in two bytes */
	    5,    14, 0, 0, 0x81, 0,                /* a number in two bytes */
	    5,    13, 0, 0, 1,    0x80,             /* that does not end */
	    6,    13, 0, 0, 1,    1,    9,          /* a string past the end */
	};
	buf_add(&plain, odd, sizeof(odd));
	assert_int_not_equal(both_ways(&plain, 27, 5, NOW), 0);
	/* bytes left over; an event past the end */
	assert_int_equal(both_ways(&plain, 26, 5, NOW), 0);
	assert_int_equal(both_ways(&plain, 28, 5, NOW), 0);
	plain.n--;
	assert_int_equal(both_ways(&plain, 27, 5, NOW), 0);
	buf_release(&plain);
}

/* Bytes changed, cut, or not packed at all: refused, or as many bytes as were asked for. */
static void test_hostile(void **state)
{
	(void)state;
	struct buf out = {0};
	for (int round = 0; round < 20000; round++) {
		struct buf plain = {0}, packed = {0};
		int64_t before = NOW;
		uint32_t count = 1 + (uint32_t)(random_u64() % 30);
		for (uint32_t i = 0; i < count; i++) {
			struct event ev;
			fill(&ev, kinds[random_u64() % 12]);
			add(&plain, &ev, &before);
		}
		if (log_pack(plain.p, plain.n, count, 1, NOW, &packed) < 0)
			buf_str(&packed, buf_view(&plain));
		for (unsigned hits = 1 + random_u64() % 3; hits; hits--)
			packed.p[random_u64() % packed.n] = (char)random_u64();
		size_t n = random_u64() % 4 ? packed.n : random_u64() % packed.n;
		char *copy = malloc(n ? n : 1); /* so that a sanitizer sees its end */
		assert_non_null(copy);
		memcpy(copy, packed.p, n);
		int r = log_unpack(copy, n, plain.n, count, 1, NOW, &out);
		assert_true(r == -EBADMSG || (r == 0 && out.n == plain.n));
		free(copy);
		buf_release(&plain);
		buf_release(&packed);
	}
	buf_release(&out);
}

/* A frame is packed where that is shorter, and gives back its events. */
static void test_frame(void **state)
{
	(void)state;
	struct event ev = {.kind = EVENT_session_end, .time = NOW};
	for (int n = 1; n < 300; n += 298) {
		struct buf plain = {0}, frame = {0}, room = {0};
		int64_t before = NOW;
		struct str events;
		for (int i = 0; i < n; i++)
			add(&plain, &ev, &before);
		struct log_frame h = {.size = (uint32_t)plain.n, .session = 5, .count = (uint32_t)n, .seq = 3, .time = NOW};
		assert_int_equal(log_frame_add(&frame, &h, plain.p), 0);
		struct log_frame got = log_frame_header(frame.p);
		assert_true(log_frame_plausible(&got) && log_frame_intact(frame.p, &got));
		assert_int_equal(got.magic, n == 1 ? LOG_MAGIC : LOG_MAGIC_PACKED);
		assert_int_equal(frame.n, sizeof(h) + got.size);
		assert_int_equal(log_frame_events(frame.p, &got, &room, &events), 0);
		assert_true(str_eq(events, buf_view(&plain)));
		/* a digit that is another version's */
		got.magic = n == 1 ? LOG_MAGIC_PACKED : LOG_MAGIC;
		assert_false(log_frame_plausible(&got));
		buf_release(&plain);
		buf_release(&frame);
		buf_release(&room);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_every_kind), cmocka_unit_test(test_odd),
	    cmocka_unit_test(test_hostile),    cmocka_unit_test(test_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
