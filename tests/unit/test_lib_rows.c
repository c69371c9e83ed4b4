/* libstemma where a row of the index cannot be read: each step of each question fails once. Then there is the right
 * answer, or an error with a sentence; never another answer. */
#include "history_all.h"

#include "stemma/stemma.h"

#include <sqlite3.h>
#include <stdlib.h>

static struct {
	uint64_t steps, fails_at; /* of one question, from 1; 0: none fails */
} S;

int __real_sqlite3_step(sqlite3_stmt *st);
int __wrap_sqlite3_step(sqlite3_stmt *st);
int __wrap_sqlite3_step(sqlite3_stmt *st)
{
	return ++S.steps == S.fails_at ? SQLITE_IOERR : __real_sqlite3_step(st);
}

static int ask_why(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_why(r, "/w/out", 0, ret, err);
}

static int ask_lineage(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_lineage(r, "/w/out", STEMMA_ALL, 0, ret, err);
}

static int ask_runs(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_runs(r, 0, 0, ret, err);
}

static int ask_find(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_find(r, "used /w/in", 0, ret, err);
}

static int ask_show(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_show(r, "@~1", 0, ret, err);
}

static int ask_stat(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_stat(r, "@~1", 0, 0, ret, err);
}

static int ask_diff(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_diff(r, "@~1", "@", ret, err);
}

static int ask_nothing(struct stemma_record *r, char **ret, struct stemma_error *err)
{
	return stemma_why(r, "/w/nobody/knows", 0, ret, err);
}

static const struct question {
	const char *name;
	int (*ask)(struct stemma_record *r, char **ret, struct stemma_error *err);
	int status;
} questions[] = {{"why", ask_why, 0},   {"lineage", ask_lineage, 0},
                 {"runs", ask_runs, 0}, {"find", ask_find, 0},
                 {"show", ask_show, 0}, {"stat", ask_stat, 0},
                 {"diff", ask_diff, 0}, {"nothing", ask_nothing, STEMMA_NOTHING}};

/* In a record of its own: what a question read the store keeps. */
static int ask_anew(const struct question *q, uint64_t fails_at, char **ret, struct stemma_error *err)
{
	struct stemma_record *r;
	*err = (struct stemma_error){"", ""};
	S.fails_at = 0;
	assert_int_equal(stemma_open(history_home, STEMMA_READ_ONLY, &r, err), 0);
	S.steps = 0;
	S.fails_at = fails_at;
	int rc = q->ask(r, ret, err);
	S.fails_at = 0;
	stemma_close(r);
	return rc;
}

static void each_row_fails(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		const struct question *q = &questions[i];
		struct stemma_error err;
		char *want, *got;
		size_t failed = 0;
		assert_int_equal(ask_anew(q, 0, &want, &err), q->status);
		const uint64_t steps = S.steps;
		assert_true(steps > 3);
		for (uint64_t n = 1; n <= steps; n++) {
			int rc = ask_anew(q, n, &got, &err);
			failed += rc < 0;
			if (rc < 0 ? got != NULL || !err.text[0] : rc != q->status || (want && strcmp(want, got) != 0))
				fail_msg("%s, step %llu of %llu: %d, %s\n%.3000s", q->name, (unsigned long long)n,
				         (unsigned long long)steps, rc, err.text, got ? got : "");
			stemma_free(got);
		}
		assert_true(failed > 0);
		stemma_free(want);
	}
}

static int three_sessions(void **state)
{
	int r = history_setup(state);
	history_all_a();
	history_all_b();
	history_all_build();
	history_store();
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(each_row_fails, three_sessions, history_teardown)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
