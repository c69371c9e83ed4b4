/* What handles mean: the helper is a false one, which has files and directories of its own, and counts the questions.
 */
#include "capture/node_tracer/handles.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { FILES = 6000 };
static const int64_t second = 1000000000;

/* The world: a file is its number, and what became of it; a directory has a name, by its number. */
static struct {
	uint64_t size;
	bool gone;
} world[FILES];
static char names[FILES][32];
static unsigned questions, looks, paths;
static bool dead;

static uint32_t number_of(const struct helper_handle *h)
{
	uint32_t n;
	memcpy(&n, h->p, sizeof(n));
	return n;
}

int helper_states(struct helper *h, const struct helper_handle *of, unsigned n, struct helper_state *ret)
{
	(void)h;
	assert_in_range(n, 1, HELPER_BATCH);
	if (dead)
		return -ECONNRESET;
	questions++;
	looks += n;
	for (unsigned i = 0; i < n; i++) {
		uint32_t f = number_of(&of[i]);
		ret[i] = (struct helper_state){.mode = S_IFREG | 0644, .ino = f, .size = world[f].size, .mtime = f + 1};
		if (world[f].gone)
			ret[i] = (struct helper_state){.r = -ESTALE};
	}
	return 0;
}

int helper_handle_path(struct helper *h, const struct helper_handle *of, char ret[PATH_MAX])
{
	(void)h;
	paths++;
	if (dead || !names[number_of(of)][0])
		return dead ? -ECONNRESET : -ESTALE;
	snprintf(ret, PATH_MAX, "%s", names[number_of(of)]);
	return 0;
}

void helper_forget(struct helper *h, uint32_t slot)
{
	(void)h;
	(void)slot;
}

static struct place *begin(struct places **ret)
{
	static const struct fs_domain domain = {.name = "d", .type = "tmpfs"};
	const struct helper_place seen = {
	    .slot = 1, .fsid = 7, .dev = 8, .domain = &domain, .handles = true, .decodes = true, .type = 1, .bytes = 8};
	memset(world, 0, sizeof(world));
	memset(names, 0, sizeof(names));
	questions = looks = paths = 0;
	dead = false;
	assert_int_equal(places_new(NULL, ret), 0);
	struct place *at = places_add(*ret, &seen, "/d", false);
	assert_non_null(at);
	return at;
}

static struct handle handle_of(uint32_t n)
{
	static unsigned char room[64][8];
	static unsigned turn;
	unsigned char *p = room[turn++ % 64];
	memcpy(p, (uint32_t[]){n, n ^ 0x5a5a}, 8);
	return (struct handle){.fsid = 7, .type = 1, .bytes = 8, .p = p};
}

static void want(struct places *p, struct place *at, uint32_t n, bool fresh, int64_t now)
{
	struct handle h = handle_of(n);
	places_want(p, at, &h, fresh, now);
}

/* Its size; -1: gone. */
static int64_t size_of(struct places *p, struct place *at, uint32_t n, bool fresh, int64_t now)
{
	struct place_state s;
	struct handle h = handle_of(n);
	if (!places_state(p, at, &h, fresh, now, &s))
		return -1;
	assert_true(s.id.ino == n && s.id.dev == 8 && s.mtime == n + 1 && s.looked > 0);
	return (int64_t)s.size;
}

/* As many files as a read can hold, in three orders: some again and again, some gone. */
static void test_round(void **state)
{
	enum { N = 1700 };
	struct places *p;
	struct place *at = begin(&p);
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		int64_t now = (round + 1) * second / 20;
		unsigned before = questions;
		for (unsigned i = 0; i < FILES; i++) {
			world[i].size = 1000 * round + i;
			world[i].gone = (i + round) % 5 == 0;
		}
		uint32_t first = round * 97 % (FILES - N);
		places_round(p);
		for (unsigned k = 0; k < 3; k++)
			for (unsigned i = 0; i < N; i++)
				want(p, at, first + i * (k == 1 ? 1 : 7) % N, true, now);
		places_wanted(p, now);
		for (unsigned i = 0; i < N; i++) {
			uint32_t n = first + i;
			assert_int_equal(size_of(p, at, n, true, now), world[n].gone ? -1 : (int64_t)world[n].size);
		}
		/* What does not fit into the table is asked for one by one: few of them. */
		assert_in_range(questions - before, N / HELPER_BATCH, N / HELPER_BATCH + 1 + N / 20);
	}
	places_free(p);
}

static void test_age(void **state)
{
	struct places *p;
	struct place *at = begin(&p);
	int64_t now = 100 * second;
	(void)state;
	world[3].size = 5;
	places_round(p);
	want(p, at, 3, false, now);
	want(p, at, 3, true, now);
	places_wanted(p, now);
	assert_int_equal(looks, 1);
	world[3].size = 6;
	assert_int_equal(size_of(p, at, 3, true, now), 5); /* of this round: looked at after all that it tells of */
	places_round(p);
	assert_int_equal(size_of(p, at, 3, false, now + second / 2), 5);
	assert_int_equal(looks, 1);
	assert_int_equal(size_of(p, at, 3, true, now + second / 2), 6);
	world[3].size = 7;
	places_round(p);
	assert_int_equal(size_of(p, at, 3, false, now + 2 * second), 7);
	/* The clock is set back by an hour: what was seen then is as old as before. */
	world[3].size = 8;
	places_round(p);
	now -= 3600 * second;
	want(p, at, 3, false, now);
	places_wanted(p, now);
	assert_int_equal(size_of(p, at, 3, false, now), 8);
	/* Gone is gone for one round only: the inode's number may be another file's, with the same handle on some. */
	world[3].gone = true;
	places_round(p);
	assert_int_equal(size_of(p, at, 3, true, now), -1);
	world[3].gone = false;
	places_round(p);
	assert_int_equal(size_of(p, at, 3, false, now), 8);
	places_free(p);
}

static void test_dead(void **state)
{
	struct places *p;
	struct place *at = begin(&p);
	(void)state;
	places_round(p);
	for (uint32_t i = 0; i < 500; i++) /* some are asked for at once, some are wanted when it dies, some after */
		want(p, at, i, true, 1);
	dead = true;
	for (uint32_t i = 500; i < 1000; i++)
		want(p, at, i, true, 1);
	places_wanted(p, 1);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(size_of(p, at, i, true, 1), i < HELPER_BATCH ? 0 : -1);
	dead = false;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(size_of(p, at, i, true, 1), 0);
	/* A file system that goes while something of it is wanted. */
	places_round(p);
	want(p, at, 2000, true, 2);
	places_remove(p, at);
	unsigned before = looks;
	places_wanted(p, 2);
	assert_int_equal(looks, before);
	places_free(p);
}

static bool dir_is(struct places *p, struct place *at, uint32_t n, const char *path)
{
	struct str s;
	const char *why = NULL;
	struct handle h = handle_of(n);
	if (!places_dir(p, at, &h, &s, &why))
		return !path && why;
	return path && str_is(s, path);
}

static void test_directories(void **state)
{
	struct places *p;
	struct place *at = begin(&p);
	char path[32];
	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		snprintf(names[i], sizeof(names[i]), "/d/a/n%u", i);
	for (unsigned again = 0; again < 2; again++)
		for (uint32_t i = 0; i < 3000; i++) {
			snprintf(path, sizeof(path), "/d/a/n%u", i);
			assert_true(dir_is(p, at, i, path));
		}
	assert_in_range(paths, 3000, 3900); /* a seventh of 3,000 in 4,096 places, four to choose from, found no room */
	/* They are called otherwise now, and nobody said so yet: what follows in the queue is from before. */
	for (uint32_t i = 0; i < 3000; i++)
		snprintf(names[i], sizeof(names[i]), "/d/b/n%u", i);
	assert_true(dir_is(p, at, 2999, "/d/a/n2999"));
	struct handle h = handle_of(4000);
	places_learn(p, at, &h, str_of("/d/a/made"));
	h = handle_of(4001);
	places_learn(p, at, &h, str_of("/d/ab"));
	places_renamed(p, str_of("/d/a"), str_of("/d/b"));
	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "/d/b/n%u", i);
		assert_true(dir_is(p, at, i, path));
	}
	assert_true(dir_is(p, at, 4000, "/d/b/made")); /* gone since, perhaps: nobody is asked */
	assert_true(dir_is(p, at, 4001, "/d/ab"));
	/* Where from is not known, whatever was learned may be below it. */
	places_renamed(p, (struct str){0}, str_of("/d/c"));
	assert_true(dir_is(p, at, 4001, NULL));
	places_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_round), cmocka_unit_test(test_age),
	                                   cmocka_unit_test(test_dead), cmocka_unit_test(test_directories)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
