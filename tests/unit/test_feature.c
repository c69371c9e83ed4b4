/* The hooks of features: in which order they are called, and that who has none is passed over. */
#include "capture/supervisor/super.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct sup s; /* large */
static char called[64];

static void note(const char *what)
{
	strncat(called, what, sizeof(called) - strlen(called) - 1);
}

static void begin(const struct feature *const *v, size_t n)
{
	s.nfeatures = 0;
	s.bytes = NULL;
	s.pipes = NULL;
	for (size_t i = 0; i < n; i++)
		feature_add(&s, v[i]);
	called[0] = '\0';
}

/* Two features, each noting its letter; the one between them has no hooks. */
#define PROC(letter)                                                                                                   \
	static void proc_##letter(struct sup *x, struct proc *p)                                                           \
	{                                                                                                                  \
		(void)x, (void)p;                                                                                              \
		note(#letter);                                                                                                 \
	}                                                                                                                  \
	static void stop_##letter(struct sup *x, struct proc *p, const struct trap *t)                                     \
	{                                                                                                                  \
		(void)x, (void)p, (void)t;                                                                                     \
		note(#letter);                                                                                                 \
	}                                                                                                                  \
	static void sup_##letter(struct sup *x)                                                                            \
	{                                                                                                                  \
		(void)x;                                                                                                       \
		note(#letter);                                                                                                 \
	}                                                                                                                  \
	static bool passes_##letter(struct sup *x, const struct trap *t)                                                   \
	{                                                                                                                  \
		(void)x, (void)t;                                                                                              \
		note(#letter);                                                                                                 \
		return true;                                                                                                   \
	}
PROC(a)
PROC(c)

static bool is_busy, owns;

static bool says_busy(const struct sup *x)
{
	(void)x;
	return is_busy;
}

static bool has_path(const struct sup *x, const char *path)
{
	(void)x;
	return owns && !strcmp(path, "/own");
}

static bool says_all(struct sup *x, struct proc *p)
{
	(void)x, (void)p;
	return true;
}

static const struct byte_counter counter = {.all = says_all};
static const struct feature first = {.name = "first",
                                     .before = stop_a,
                                     .handle = stop_a,
                                     .after = stop_a,
                                     .confine = proc_a,
                                     .over = proc_a,
                                     .end = proc_a,
                                     .adopted = proc_a,
                                     .unbar = sup_a,
                                     .passed = sup_a,
                                     .passes = passes_a,
                                     .tick = sup_a};
static const struct feature none = {.name = "none", .bytes = &counter};
static const struct feature last = {.name = "last",
                                    .before = stop_c,
                                    .handle = stop_c,
                                    .after = stop_c,
                                    .confine = proc_c,
                                    .over = proc_c,
                                    .end = proc_c,
                                    .adopted = proc_c,
                                    .unbar = sup_c,
                                    .passed = sup_c,
                                    .passes = passes_c,
                                    .busy = says_busy,
                                    .owns = has_path,
                                    .tick = sup_c};
static const struct feature *const all[] = {&first, &none, &last};

static void hooks_come_in_the_order_of_the_list(void **state)
{
	(void)state;
	void (*const stops[])(struct sup *, struct proc *, const struct trap *) = {feature_before, feature_handle};
	void (*const procs[])(struct sup *, struct proc *) = {feature_confine, feature_over, feature_adopted};
	for (size_t i = 0; i < 2; i++) {
		begin(all, 3);
		stops[i](&s, NULL, NULL);
		assert_string_equal(called, "ac");
	}
	for (size_t i = 0; i < 3; i++) {
		begin(all, 3);
		procs[i](&s, NULL);
		assert_string_equal(called, "ac");
	}
	begin(all, 3);
	feature_unbar(&s);
	feature_passed(&s);
	assert_string_equal(called, "acac");
}

static void after_and_end_come_in_the_opposite_one(void **state)
{
	(void)state;
	begin(all, 3);
	feature_after(&s, NULL, NULL);
	feature_end(&s, NULL);
	assert_string_equal(called, "caca");
}

static void who_lets_a_stop_pass_is_the_only_one_asked(void **state)
{
	(void)state;
	begin(all, 3);
	assert_true(feature_passes(&s, NULL));
	assert_string_equal(called, "a");
	begin(&all[1], 1);
	assert_false(feature_passes(&s, NULL));
}

static void ticks_come_to_who_is_busy(void **state)
{
	(void)state;
	begin(all, 3);
	is_busy = false;
	assert_false(feature_is_busy(&s));
	feature_tick(&s);
	assert_string_equal(called, "");
	is_busy = true;
	assert_true(feature_is_busy(&s));
	feature_tick(&s);
	assert_string_equal(called, "c"); /* the first never says that it is */
}

static void a_path_is_owned_by_any(void **state)
{
	(void)state;
	begin(all, 3);
	owns = false;
	assert_false(feature_owns(&s, "/own"));
	owns = true;
	assert_true(feature_owns(&s, "/own"));
	assert_false(feature_owns(&s, "/other"));
}

static void without_a_byte_counter_nothing_is_known(void **state)
{
	(void)state;
	begin(all, 1);
	feature_bytes_update(&s, NULL);
	assert_false(feature_bytes_all(&s, NULL));
	assert_false(feature_bytes_none(&s, NULL, ACCESS_READ));
	assert_false(feature_bytes_wait(&s, NULL));
	assert_int_equal(feature_bytes_unsaid(&s, NULL), 0);
	begin(all, 2);
	assert_true(feature_bytes_all(&s, NULL));
}

static void note_pipe(struct sup *x, struct proc *p, struct file *f, int fd)
{
	(void)x, (void)p, (void)f;
	note(fd == 3 ? "+" : "?");
}

static void note_file(struct file *f)
{
	(void)f;
	note("-");
}

static bool asks(struct file *f, const struct proc *q)
{
	(void)f, (void)q;
	return true;
}

static void the_pipe_watcher_is_told(void **state)
{
	(void)state;
	static const struct pipe_watcher watcher = {.arm = note_pipe, .asks = asks, .forget = note_file, .listen = sup_c};
	static const struct feature pipes = {.name = "pipes", .pipes = &watcher};
	const struct feature *const with[] = {&first, &pipes};
	begin(all, 3);
	feature_pipe_arm(&s, NULL, NULL, 3);
	feature_pipe_met(&s, NULL, NULL);
	feature_pipe_begun(&s, NULL);
	feature_pipe_ends(&s, NULL, NULL);
	feature_pipe_leaves(&s, NULL);
	feature_pipe_listen(&s);
	feature_pipe_finish(&s);
	feature_pipe_forget(&s, NULL);
	assert_false(feature_pipe_asks(&s, NULL, NULL));
	assert_false(feature_pipe_concerns(&s, NULL));
	assert_string_equal(called, "");
	begin(with, 2);
	feature_pipe_arm(&s, NULL, NULL, 3);
	feature_pipe_listen(&s);
	feature_pipe_forget(&s, NULL);
	assert_true(feature_pipe_asks(&s, NULL, NULL));
	assert_string_equal(called, "+c-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hooks_come_in_the_order_of_the_list),
	    cmocka_unit_test(after_and_end_come_in_the_opposite_one),
	    cmocka_unit_test(who_lets_a_stop_pass_is_the_only_one_asked),
	    cmocka_unit_test(ticks_come_to_who_is_busy),
	    cmocka_unit_test(a_path_is_owned_by_any),
	    cmocka_unit_test(without_a_byte_counter_nothing_is_known),
	    cmocka_unit_test(the_pipe_watcher_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
