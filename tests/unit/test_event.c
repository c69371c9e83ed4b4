/* The codec: every kind of events.def comes back as it went in, and no bytes make the decoder step outside them. */
#include "event/event.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state = 1;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Values for the fields of an event. Each `set` is another corner; from SETS on they are random. */
enum { ZERO, ONE, LARGEST, SMALLEST, SETS };
#define RANDOM_SETS 20

static char bytes[70000];

static uint64_t fill_u64(int set)
{
	static const uint64_t corner[] = {0, 1, UINT64_MAX, 1ULL << 63};
	return set < SETS ? corner[set] : random_u64() >> (random_u64() & 63);
}

static int64_t fill_time(int set)
{
	static const int64_t corner[] = {0, 1, INT64_MAX, TIME_NONE};
	return set < SETS ? corner[set] : (int64_t)random_u64() >> (random_u64() & 63);
}

static struct str fill_str(int set)
{
	static const size_t corner[] = {0, 1, sizeof(bytes), 128};
	size_t n = set < SETS ? corner[set] : random_u64() % 300;
	return str_n(bytes + (n < sizeof(bytes) ? random_u64() % (sizeof(bytes) - n) : 0), n);
}

static struct str fill_id(int set)
{
	return event_plain_id(fill_str(set));
}

static int64_t fill_i64(int set)
{
	return (int64_t)fill_u64(set);
}

static struct strlist fill_list(int set)
{
	static struct str items[4][300];
	static int which;
	static const size_t corner[] = {0, 1, 3, 300};
	struct str *l = items[which++ % 4]; /* no kind has more lists */
	size_t n = set < SETS ? corner[set] : random_u64() % 20;
	for (size_t i = 0; i < n; i++)
		l[i] = fill_str(set == SMALLEST ? ZERO : set);
	return (struct strlist){.items = n ? l : NULL, .count = n};
}

static void same_u64(const char *what, uint64_t a, uint64_t b)
{
	if (a != b)
		fail_msg("%s: %llx is not %llx", what, (unsigned long long)a, (unsigned long long)b);
}

static void same_i64(const char *what, int64_t a, int64_t b)
{
	same_u64(what, (uint64_t)a, (uint64_t)b);
}

static void same_time(const char *what, int64_t a, int64_t b)
{
	same_u64(what, (uint64_t)a, (uint64_t)b);
}

static void same_str(const char *what, struct str a, struct str b)
{
	if (!str_eq(a, b))
		fail_msg("%s: strings of %zu and %zu bytes differ", what, a.n, b.n);
}

static void same_id(const char *what, struct str a, struct str b)
{
	same_str(what, a, b);
}

static void same_list(const char *what, struct strlist a, struct strlist b)
{
	size_t i = 0, j = 0, n = 0;
	struct str s, t;
	assert_int_equal(a.count, b.count);
	for (; strlist_next(&a, &i, &s); n++) {
		assert_true(strlist_next(&b, &j, &t));
		same_str(what, s, t);
	}
	assert_int_equal(n, a.count);
	assert_false(strlist_next(&b, &j, &t));
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

static void fill(struct event *ev, uint64_t kind, int set)
{
	*ev = (struct event){.kind = kind, .proc = fill_u64(set), .time = fill_time(set)};
	switch (kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		struct event_##name *e = &ev->name;                                                                            \
		(void)e;
#define FIELD(event, type, name, meaning) e->name = fill_##type(set);
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	}
}

/* What a field that is not there is read as. */
static uint64_t none_u64(void)
{
	return 0;
}

static int64_t none_time(void)
{
	return TIME_NONE;
}

static void same(const struct event *a, const struct event *b)
{
	assert_int_equal(a->kind, b->kind);
	same_time("time", a->time, b->time);
	same_u64("proc", a->proc, b->proc);
	switch (a->kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		const struct event_##name *x = &a->name, *y = &b->name;                                                        \
		(void)x, (void)y;
#define FIELD(event, type, name, meaning) same_##type(#event "." #name, x->name, y->name);
#define TAIL(event, type, name, when, meaning)                                                                         \
	same_##type(#event "." #name, x->when ? x->name : none_##type(), y->name);
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	}
}

/* Decodes n bytes from a heap copy of just that size, so that the sanitizer sees a step outside. */
static int decode_copy(const void *p, size_t n, int64_t before, struct event *ret, unsigned char **ret_copy,
                       size_t *ret_used)
{
	unsigned char *copy = malloc(n ? n : 1);
	assert_non_null(copy);
	memcpy(copy, p, n);
	const unsigned char *at = copy;
	int r = event_decode(&at, copy + n, before, ret);
	*ret_used = (size_t)(at - copy);
	*ret_copy = copy;
	return r;
}

static void test_roundtrip(void **state)
{
	static const int64_t befores[] = {0, 1732190000000000000, INT64_MAX, INT64_MIN, -1};
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		for (int set = 0; set < SETS + RANDOM_SETS; set++) {
			struct event in, out;
			struct buf b = {0}, again = {0};
			unsigned char *copy;
			size_t used;
			int64_t before = befores[(size_t)set % 5];
			fill(&in, kinds[k], set);
			buf_char(&b, 'x'); /* appended to what is there */
			assert_int_equal(event_encode(&b, &in, before), 0);
			assert_int_equal(decode_copy(b.p + 1, b.n - 1, before, &out, &copy, &used), 0);
			assert_int_equal(used, b.n - 1);
			same(&in, &out);
			/* what was decoded can be encoded: same bytes */
			buf_char(&again, 'x');
			assert_int_equal(event_encode(&again, &out, before), 0);
			assert_true(str_eq(buf_view(&b), buf_view(&again)));
			free(copy);
			buf_release(&b);
			buf_release(&again);
		}
	}
}

/* Puts id into each field of the type, or compares those with it; gives how many there are. */
static int set_ids(struct event *ev, struct str id)
{
	int n = 0;
#define SET_IF_id(field) field = id, n++;
#define SET_IF_str(field)
#define SET_IF_u64(field)
#define SET_IF_i64(field)
#define SET_IF_time(field)
#define SET_IF_list(field)
	switch (ev->kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		struct event_##name *e = &ev->name;                                                                            \
		(void)e;
#define FIELD(event, type, name, meaning) SET_IF_##type(e->name)
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	}
	return n;
}

static void check_ids(const struct event *ev, const char *id)
{
#define CHECK_IF_id(what, field)                                                                                       \
	if (!str_is(field, id))                                                                                            \
		fail_msg("%s is %.*s", what, (int)field.n, field.p);
#define CHECK_IF_str(what, field)
#define CHECK_IF_u64(what, field)
#define CHECK_IF_i64(what, field)
#define CHECK_IF_time(what, field)
#define CHECK_IF_list(what, field)
	switch (ev->kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		const struct event_##name *e = &ev->name;                                                                      \
		(void)e;
#define FIELD(event, type, name, meaning) CHECK_IF_##type(#event "." #name, e->name)
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	}
}

static void test_ids_are_plain(void **state)
{
	static const struct {
		const char *id, *read;
	} rows[] = {{"01JD8W3B6ZQ4N7T5V2X9Y0M1K3", "01JD8W3B6ZQ4N7T5V2X9Y0M1K3"},
	            {"", ""},
	            {"a-run_1", "a-run_1"},
	            {"01JD8W3B6ZQ4N7T5V2X9Y0M1K33", EVENT_NO_RUN},
	            {"01JD8W3B6ZQ4N7T5V2X9\033[31mX", EVENT_NO_RUN},
	            {"../../../../../../../../..", EVENT_NO_RUN},
	            {"01JD8W3B6ZQ4N7T5V2X9Y0M1\xe2\x80\xae", EVENT_NO_RUN},
	            {"01JD8W3B6ZQ4N7T5V2X9Y0M1 .", EVENT_NO_RUN}};
	int ids = 0;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < KINDS; k++) {
			struct buf b = {0};
			struct event in = {.kind = kinds[k]}, out;
			ids += set_ids(&in, str_of(rows[i].id));
			assert_int_equal(event_encode(&b, &in, 0), 0);
			const unsigned char *p = (const unsigned char *)b.p;
			assert_int_equal(event_decode(&p, p + b.n, 0, &out), 0);
			check_ids(&out, rows[i].read);
			buf_release(&b);
		}
	assert_true(ids / (int)(sizeof(rows) / sizeof(rows[0])) >= 18);
}

/* No field that is called like an id is of another type: who adds a kind does not have to think of it. */
static void test_ids_have_the_type(void **state)
{
	static const struct {
		const char *type, *name;
	} fields[] = {
#define EVENT(number, name, meaning)
#define FIELD(event, type, name, meaning) {#type, #event "." #name},
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	};
	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct str s = str_of(fields[i].name);
		bool named = str_ends(s, str_of(".run")) || str_ends(s, str_of(".id")) || str_ends(s, str_of(".plan"));
		if (named && !strcmp(fields[i].type, "str") && !str_is(s, "build_file.id")) /* which is bytes */
			fail_msg("%s may hold any byte: its type is to be id", fields[i].name);
	}
}

/* A stream of events is decoded one after the other, and ends where the bytes end. */
static void test_sequence(void **state)
{
	(void)state;
	struct buf b = {0};
	struct event in, out;
	int64_t before = 0;
	uint64_t start = random_state;
	for (int i = 0; i < 200; i++) {
		fill(&in, kinds[random_u64() % KINDS], SETS);
		assert_int_equal(event_encode(&b, &in, before), 0);
		before = in.time;
	}
	random_state = start;
	before = 0;
	const unsigned char *p = (const unsigned char *)b.p, *end = p + b.n;
	for (int i = 0; i < 200; i++) {
		fill(&in, kinds[random_u64() % KINDS], SETS);
		assert_int_equal(event_decode(&p, end, before, &out), 0);
		same(&in, &out);
		before = out.time;
	}
	assert_ptr_equal(p, end);
	assert_int_equal(event_decode(&p, end, before, &out), -EBADMSG);
	buf_release(&b);
}

/* The bytes of the documented format, so that a change of the codec that is its own inverse is seen. */
static void test_bytes(void **state)
{
	(void)state;
	struct buf b = {0};
	struct event ev = {.kind = EVENT_access, .time = 1005, .proc = 3};
	ev.access = (struct event_access){.file = 300, .mode = ACCESS_READ | ACCESS_STATE, .sure = 1, .api = TERM_api_open};
	assert_int_equal(event_encode(&b, &ev, 1000), 0);
	static const unsigned char want[] = {9, 11, 10, 3, 0xac, 2, 0x41, 0, 1, 1};
	assert_int_equal(b.n, sizeof(want));
	assert_memory_equal(b.p, want, sizeof(want));
	buf_reset(&b);

	ev = (struct event){.kind = EVENT_name, .time = -1};
	ev.name = (struct event_name){.op = TERM_nameop_rename, .file = 1, .path = str_of("/a"), .old = str_of("")};
	assert_int_equal(event_encode(&b, &ev, 0), 0);
	static const unsigned char name[] = {8, 13, 1, 0, 3, 1, 2, '/', 'a'};
	assert_int_equal(b.n, sizeof(name));
	assert_memory_equal(b.p, name, sizeof(name));
	buf_reset(&b);
	/* Older writers wrote what is empty at the end, too. */
	static const unsigned char whole[] = {9, 13, 1, 0, 3, 1, 2, '/', 'a', 0};
	struct event out;
	unsigned char *copy;
	size_t used;
	assert_int_equal(decode_copy(whole, sizeof(whole), 0, &out, &copy, &used), 0);
	same(&ev, &out);
	free(copy);

	struct str env[] = {str_of("A=1"), str_of("")};
	ev = (struct event){.kind = EVENT_exec};
	ev.exec.env = (struct strlist){.items = env, .count = 2};
	assert_int_equal(event_encode(&b, &ev, 0), 0);
	static const unsigned char exec[] = {14, 9, 0, 0, 0, 0, 0, 0, 0, 2, 3, 'A', '=', '1', 0};
	assert_int_equal(b.n, sizeof(exec));
	assert_memory_equal(b.p, exec, sizeof(exec));
	buf_release(&b);
}

/* Access events with everyday numbers stay within what the format's page promises. */
static void test_small(void **state)
{
	(void)state;
	struct buf b = {0};
	struct event ev = {.kind = EVENT_access, .time = 1732190000000150000, .proc = 900};
	ev.access = (struct event_access){.file = 9000, .mode = ACCESS_READ, .sure = 1, .api = TERM_api_open};
	assert_int_equal(event_encode(&b, &ev, ev.time - 150000), 0);
	assert_in_range(b.n, 6, 14);
	buf_release(&b);
}

/* An older writer gave fewer fields. */
static void test_missing_fields(void **state)
{
	(void)state;
	static const unsigned char access[] = {4, 11, 2, 5, 7}, end[] = {4, 12, 0, 0, 9}, exec[] = {4, 9, 0, 1, 2};
	struct event ev;
	unsigned char *copy;
	size_t used;
	assert_int_equal(decode_copy(access, sizeof(access), 10, &ev, &copy, &used), 0);
	assert_int_equal(used, sizeof(access));
	assert_int_equal(ev.time, 11);
	assert_int_equal(ev.proc, 5);
	assert_int_equal(ev.access.file, 7);
	assert_int_equal(ev.access.mode | ev.access.via | ev.access.sure | ev.access.api, 0);
	free(copy);
	assert_int_equal(decode_copy(end, sizeof(end), 10, &ev, &copy, &used), 0);
	assert_int_equal(ev.access_end.access, 9);
	assert_true(ev.access_end.until == TIME_NONE);
	assert_int_equal(ev.access_end.known, 0);
	free(copy);
	memset(&ev, 0xff, sizeof(ev));
	assert_int_equal(decode_copy(exec, sizeof(exec), 10, &ev, &copy, &used), 0);
	assert_int_equal(ev.exec.n, 2);
	assert_int_equal(ev.exec.argv.count, 0);
	assert_int_equal(ev.exec.cwd.n, 0);
	struct str s;
	size_t pos = 0;
	assert_false(strlist_next(&ev.exec.argv, &pos, &s));
	free(copy);
}

/* A newer writer gave more: further fields, and kinds this reader does not know. */
static void test_newer(void **state)
{
	(void)state;
	static const unsigned char more[] = {8, 14, 0, 1, 2, 3, 1, 0xff, 0xff, 5};
	static const unsigned char kind[] = {6, 0xe8, 7, 4, 9, 0xff, 0xff, 1};
	struct event ev;
	unsigned char *copy;
	size_t used;
	assert_int_equal(decode_copy(more, sizeof(more), 0, &ev, &copy, &used), 0);
	assert_int_equal(used, 9);
	assert_int_equal(ev.link.other, 2);
	assert_int_equal(ev.link.via, 3);
	assert_int_equal(ev.link.sure, 1);
	free(copy);
	assert_int_equal(decode_copy(kind, sizeof(kind), 5, &ev, &copy, &used), 0);
	assert_int_equal(used, 7);
	assert_int_equal(ev.kind, 1000);
	assert_int_equal(ev.time, 7);
	assert_int_equal(ev.proc, 9);
	assert_string_equal(event_kind_name(ev.kind), "?");
	free(copy);
}

static void test_not_in_table(void **state)
{
	(void)state;
	struct buf b = {0};
	struct event ev = {.kind = 1000};
	buf_char(&b, 'x');
	assert_int_equal(event_encode(&b, &ev, 0), -EINVAL);
	assert_int_equal(b.n, 1);
	assert_false(b.failed);
	ev.kind = 0;
	assert_int_equal(event_encode(&b, &ev, 0), -EINVAL);
	buf_release(&b);
}

/* Every cut of every kind: fewer bytes than the length says is an error; a shorter length that ends inside a field too,
 * and between fields it is an event with fields missing. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++) {
		struct buf b = {0};
		struct event ev;
		unsigned char *copy;
		size_t used;
		fill(&ev, kinds[k], SETS);
		assert_int_equal(event_encode(&b, &ev, 0), 0);
		for (size_t n = 0; n < b.n; n++) {
			const unsigned char *p = (const unsigned char *)b.p;
			uint64_t length = 0;
			assert_int_equal(decode_copy(b.p, n, 0, &ev, &copy, &used), -EBADMSG);
			assert_int_equal(used, 0);
			free(copy);
			assert_true(varint_get(&p, p + b.n, &length));
			if (n > length)
				continue;
			struct buf shorter = {0};
			buf_varint(&shorter, n);
			buf_add(&shorter, p, n);
			int r = decode_copy(shorter.p, shorter.n, 0, &ev, &copy, &used);
			assert_true(r == 0 || r == -EBADMSG);
			assert_int_equal(used, r == 0 ? shorter.n : 0);
			free(copy);
			buf_release(&shorter);
		}
		buf_release(&b);
	}
}

/* Counts and lengths that promise more than there is, varints that do not end or go past 64 bits. */
static void test_bad_bytes(void **state)
{
	(void)state;
	static const struct {
		unsigned char n, b[24];
	} bad[] = {
	    {1, {0}},                                                                  /* no kind */
	    {2, {1, 1}},                                                               /* no time */
	    {3, {2, 4, 0}},                                                            /* no process */
	    {4, {200, 4, 0, 0}},                                                       /* longer than the bytes */
	    {5, {0x80, 0x80, 0x80, 0x80, 0x80}},                                       /* length without end */
	    {12, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 4, 0}},  /* past 64 bits */
	    {5, {4, 1, 0, 0, 2}},                                                      /* str: session.run */
	    {13, {12, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}}, /* str: nearly all of memory */
	    {8, {7, 2, 0, 0, 0, 0, 3, 0}},                                             /* list: three strings, one there */
	    {8, {7, 2, 0, 0, 0, 0, 1, 4}},                                             /* list: a string that is too long */
	    {15, {14, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}}, /* list: nearly all of memory */
	    {6, {5, 11, 0, 0, 1, 0x80}},                                                  /* u64 without end */
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct event ev;
		unsigned char *copy;
		size_t used;
		int r = decode_copy(bad[i].b, bad[i].n, 0, &ev, &copy, &used);
		if (r != -EBADMSG)
			fail_msg("row %zu: %d", i, r);
		free(copy);
	}
}

/* Bytes changed at random: an event or an error, never a step outside. The lists that come out are walked. */
static void test_noise(void **state)
{
	(void)state;
	size_t good = 0, refused = 0;
	for (int round = 0; round < 20000; round++) {
		struct buf b = {0};
		struct event ev;
		unsigned char *copy;
		size_t used;
		fill(&ev, kinds[random_u64() % KINDS], SETS);
		assert_int_equal(event_encode(&b, &ev, 0), 0);
		for (int i = 0; i < 3; i++)
			b.p[random_u64() % (b.n < 40 ? b.n : 40)] = (char)random_u64();
		if (decode_copy(b.p, b.n, 0, &ev, &copy, &used) == 0) {
			struct buf again = {0};
			good++;
			assert_in_range(used, 4, b.n);
			if (strcmp(event_kind_name(ev.kind), "?") != 0)
				assert_int_equal(event_encode(&again, &ev, 0), 0);
			buf_release(&again);
		} else {
			refused++;
		}
		free(copy);
		buf_release(&b);
	}
	assert_in_range(good, 100, 19900);
	assert_in_range(refused, 100, 19900);
}

static void test_words(void **state)
{
	(void)state;
	assert_string_equal(event_kind_name(EVENT_access_end), "access_end");
	assert_string_equal(event_kind_name(0), "?");
	assert_string_equal(term_name(SET_via, TERM_via_data), "data");
	assert_string_equal(term_name(SET_gap, TERM_gap_limit), "limit");
	assert_string_equal(term_name(SET_gap, 1000), "?");
	assert_string_equal(term_meaning(SET_gap, 1000), "");
	assert_string_equal(term_meaning(SET_nameop, TERM_nameop_rename), "old became path");
	/* numbers and names are unique */
	for (size_t i = 0; i < KINDS; i++)
		for (size_t j = 0; j < i; j++) {
			assert_int_not_equal(kinds[i], kinds[j]);
			assert_string_not_equal(event_kind_name(kinds[i]), event_kind_name(kinds[j]));
		}
}

int main(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)random_u64();
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_roundtrip),      cmocka_unit_test(test_sequence),
	    cmocka_unit_test(test_ids_are_plain),  cmocka_unit_test(test_ids_have_the_type),
	    cmocka_unit_test(test_bytes),          cmocka_unit_test(test_small),
	    cmocka_unit_test(test_missing_fields), cmocka_unit_test(test_newer),
	    cmocka_unit_test(test_not_in_table),   cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_bad_bytes),      cmocka_unit_test(test_noise),
	    cmocka_unit_test(test_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
