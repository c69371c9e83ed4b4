/* The space that folders take: who is asked for the processes is asked no more when it is freed. */
#include "monitor/footprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/stemma-footprint.XXXXXX";

/* Who is asked. What is gone stays here, for the thread may outlive the test. */
struct asked {
	atomic_int inside, times, gone, after;
	useconds_t takes;
};

static int living(void *arg, pid_t **ret, size_t *ret_n)
{
	struct asked *a = arg;
	atomic_fetch_add(&a->times, 1);
	atomic_store(&a->inside, 1);
	usleep(a->takes);
	if (atomic_load(&a->gone))
		atomic_fetch_add(&a->after, 1);
	atomic_store(&a->inside, 0);
	*ret = NULL;
	*ret_n = 0;
	return 0;
}

static struct footprint *started(struct asked *a)
{
	const char *const watch[] = {folder, NULL};
	struct footprint *f;
	struct err err = {0};
	assert_int_equal(footprint_new(NULL, watch, &err, &f), 0);
	assert_int_equal(footprint_start(f, living, a), 0);
	return f;
}

/* It is freed in the midst of the asking. */
static void test_while_asked(void **state)
{
	(void)state;
	static struct asked a = {.takes = 200000};
	struct footprint *f = started(&a);
	for (int i = 0; i < 60000 && !atomic_load(&a.inside); i++)
		usleep(1000);
	assert_true(atomic_load(&a.inside));
	footprint_free(f);
	atomic_store(&a.gone, 1);
	usleep(300000);
	assert_int_equal(atomic_load(&a.after), 0);
}

/* And at any other time, with a walk about to begin. */
static void test_at_any_time(void **state)
{
	(void)state;
	enum { ROUNDS = 40 };
	static struct asked a[ROUNDS];
	int asked = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct footprint *f = started(&a[i]);
		usleep(19000 + (useconds_t)i * 150); /* the first walk begins after 20 ms */
		footprint_free(f);
		atomic_store(&a[i].gone, 1);
	}
	usleep(100000);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(atomic_load(&a[i].after), 0);
		asked += atomic_load(&a[i].times);
	}
	print_message("# asked %d times in %d rounds\n", asked, ROUNDS);
}

/* What it tells: blocks, files and folders; a hard link is no other file. */
static void test_figures(void **state)
{
	(void)state;
	static struct asked a;
	char path[2][64];
	struct footprint_sum now, peak;
	const char *why;
	snprintf(path[0], sizeof(path[0]), "%s/a", folder);
	snprintf(path[1], sizeof(path[1]), "%s/b", folder);
	FILE *out = fopen(path[0], "w");
	assert_non_null(out);
	for (int i = 0; i < 10000; i++)
		fputc('x', out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(link(path[0], path[1]), 0);
	struct footprint *f = started(&a);
	assert_true(footprint_last(f, 60000));
	assert_true(footprint_now(f, &now, &peak, &why));
	assert_int_equal(now.files, 1);
	assert_int_equal(now.directories, 1);
	assert_in_range(now.bytes, 10000, 10000 + 65536);
	assert_true(atomic_load(&a.times) > 0);
	footprint_free(f);
	unlink(path[0]);
	unlink(path[1]);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_while_asked),
	    cmocka_unit_test(test_at_any_time),
	    cmocka_unit_test(test_figures),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
