/* What may never come back is left behind, and what does is brought back. */
#include "base/os/soon.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#define LONG_MS 60000

struct job {
	int from, to;
	char got;
};

static void wait_for_it(void *arg)
{
	struct job *j = arg;
	if (read(j->from, &j->got, 1) == 1)
		(void)!write(j->to, "!", 1);
}

static void in_time(void **state)
{
	int pair[2], back[2];
	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(pipe(back), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	struct job j = {.from = pair[0], .to = back[1]};
	assert_int_equal(soon_do(&j, sizeof(j), wait_for_it, LONG_MS), 0);
	assert_int_equal(j.got, 'x');
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(back[i]);
	}
}

static void too_late(void **state)
{
	int pair[2], back[2];
	char c;
	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(pipe(back), 0);
	struct job j = {.from = pair[0], .to = back[1]};
	for (int i = 0; i < SOON_STUCK; i++)
		assert_int_equal(soon_do(&j, sizeof(j), wait_for_it, 10), -ETIMEDOUT);
	assert_int_equal(soon_do(&j, sizeof(j), wait_for_it, 10), -EAGAIN);
	assert_int_equal(j.got, 0);
	/* They come back, and there is room again. */
	for (int i = 0; i < SOON_STUCK; i++)
		assert_int_equal(write(pair[1], "y", 1), 1);
	for (int i = 0; i < SOON_STUCK; i++)
		assert_int_equal(read(back[0], &c, 1), 1);
	assert_int_equal(j.got, 0);
	assert_int_equal(write(pair[1], "z", 1), 1);
	int r;
	while ((r = soon_do(&j, sizeof(j), wait_for_it, LONG_MS)) == -EAGAIN)
		usleep(1000);
	/* One that was about to leave may have counted still, and shortened the wait. */
	if (r == 0)
		assert_int_equal(j.got, 'z');
	else
		assert_int_equal(r, -ETIMEDOUT);
	assert_int_equal(read(back[0], &c, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_time), cmocka_unit_test(too_late)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
