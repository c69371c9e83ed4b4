/* What differs between two runs (doc/diff.md), one difference at a time. */
#include "history.h"

#include "query/diff.h"

#include <stdio.h>
#include <stdlib.h>

#define RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define RUN_B "01BBBBBBBBBBBBBBBBBBBBBBBB"

/* A run of `fit`, which reads in.csv and set.ini and writes out.csv; and what of it may differ. */
struct work {
	const char *argv, *env, *cwd, *program;
	uint64_t in_size, ini_size, out_size;
	const char *more;           /* a program that it starts, which makes more.csv; NULL none */
	uint64_t inodes, cpu, code; /* inodes: where those of its files begin */
	bool absent;                /* more.dat is looked for, and not there */
	const char *also;           /* another file that it reads; NULL none */
};
static const struct work usual = {"fit -n 3 in.csv", "LANG=C", "/w", "/opt/fit", 100, 10, 50, NULL, 0,
                                  1000000000,        0,        false};

static void open_known(struct history *h, uint64_t p, uint64_t file, uint64_t size, unsigned mode)
{
	history_event(
	    h,
	    (struct event){.kind = EVENT_state,
	                   .state = {.file = file, .size = size, .mtime = HISTORY_BEGIN - (int64_t)size * HISTORY_SECOND}});
	history_access(
	    h, p,
	    (struct event_access){.file = file, .mode = ACCESS_READ | ACCESS_STATE | mode, .sure = 1, .api = TERM_api_open},
	    h->now + 2ll * HISTORY_SECOND);
}

static void tell(const char *run, int64_t at, const struct work *w)
{
	struct history h;
	char path[128];
	struct str env = str_of(w->env);
	history_begin_in(&h, run, w->argv, at, w->cwd);
	uint64_t p = history_process(&h, 0);
	uint64_t exe = history_file(&h, TERM_kind_regular, w->program, strcmp(w->program, usual.program) == 0 ? 21 : 22);
	struct str words[8];
	char copy[128];
	struct strlist argv = {.items = words};
	snprintf(copy, sizeof(copy), "%s", w->argv);
	for (char *save, *t = strtok_r(copy, " ", &save); t && argv.count < 8; t = strtok_r(NULL, " ", &save))
		words[argv.count++] = str_of(t);
	history_event(&h, (struct event){.kind = EVENT_exec,
	                                 .proc = p,
	                                 .exec = {.n = 1,
	                                          .exe = exe,
	                                          .argv = argv,
	                                          .cwd = str_of(w->cwd),
	                                          .env = {.items = &env, .count = 1},
	                                          .uid = 1000,
	                                          .gid = 1000}});
	open_known(&h, p, exe, 900, ACCESS_PROGRAM);
	snprintf(path, sizeof(path), "%s/in.csv", w->cwd);
	open_known(&h, p, history_file(&h, TERM_kind_regular, path, 11 + w->inodes), w->in_size, 0);
	snprintf(path, sizeof(path), "%s/set.ini", w->cwd);
	open_known(&h, p, history_file(&h, TERM_kind_regular, path, 12 + w->inodes), w->ini_size, 0);
	if (w->also)
		open_known(&h, p, history_file(&h, TERM_kind_regular, w->also, 41), 77, 0);
	if (w->absent)
		history_read(&h, p, history_file(&h, TERM_kind_absent, "/w/more.dat", 0));
	if (w->more) {
		uint64_t q = history_process(&h, p);
		history_exec(&h, q, w->more, history_file(&h, TERM_kind_regular, "/opt/extra", 23), 0);
		history_write(&h, q, history_file(&h, TERM_kind_regular, "/w/more.csv", 32), 5);
		history_exit(&h, q, TERM_ending_exited, 0);
	}
	snprintf(path, sizeof(path), "%s/out.csv", w->cwd);
	history_write(&h, p, history_file(&h, TERM_kind_regular, path, 31 + w->inodes), w->out_size);
	history_event(&h,
	              (struct event){.kind = EVENT_exit,
	                             .proc = p,
	                             .exit = {.ending = TERM_ending_exited, .code = w->code, .cpu = w->cpu, .known = 2}});
	history_event(&h, (struct event){.kind = EVENT_run_end,
	                                 .proc = p,
	                                 .run_end = {.id = str_of(run), .ending = TERM_ending_exited, .code = w->code}});
	history_end(&h, p);
}

static struct diff D;

static void compare(const struct work *a, const struct work *b)
{
	struct err err = {0};
	store_id runs[2];
	tell(RUN_A, 0, a);
	tell(RUN_B, 1000, b);
	assert_int_equal(store_find_run(history_store(), RUN_A, &runs[0]), 1);
	assert_int_equal(store_find_run(history_store(), RUN_B, &runs[1]), 1);
	if (diff_make(history_store(), DIFF_RUN, runs, &(struct diff_options){0}, &err, &D) < 0)
		fail_msg("%s", err.text);
}

/* The items as text, a line each: category, kind, subject, before, after. */
static void items_are(const char *want)
{
	static const char *const kinds[] = {"changed", "rewritten", "added", "removed"};
	struct buf b = {0};
	for (size_t i = 0; i < D.n_items; i++) {
		const struct diff_item *t = &D.items[i];
		buf_printf(&b, "%s %s %.*s|%.*s|%.*s\n", diff_category_words[t->category].name, kinds[t->kind],
		           (int)t->subject.n, t->subject.p, (int)t->before.n, t->before.p, (int)t->after.n, t->after.p);
	}
	assert_string_equal(buf_cstr(&b), want);
	buf_release(&b);
}

static const struct diff_item *first_cause(void)
{
	return D.first == SIZE_MAX ? NULL : &D.items[D.first];
}

static int teardown(void **state)
{
	diff_release(&D);
	D = (struct diff){{{0}}};
	return history_teardown(state);
}

/* ---- the tests ---- */

static void nothing(void **state)
{
	(void)state;
	compare(&usual, &usual);
	items_are("outputs rewritten /w/out.csv||\n"); /* of the same size; what it holds is not recorded */
	assert_int_equal(D.paired, 2);
	assert_int_equal(D.first, SIZE_MAX);
	assert_int_equal(D.files_compared, 3);
	assert_int_equal(D.same_files, 3);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(D.side[k].executions, 2); /* what started it, and it */
		assert_int_equal(D.side[k].outputs, 1);
		assert_int_equal(D.side[k].what, DIFF_RUN);
		assert_int_equal(D.side[k].gaps, 0);
		assert_int_equal(D.side[k].cpu, 1000000000);
	}
}

static void input_changed(void **state)
{
	(void)state;
	struct work b = usual;
	b.in_size = 101;
	b.out_size = 51;
	compare(&usual, &b);
	items_are("outputs changed /w/out.csv||\ninputs changed /w/in.csv||\n");
	const struct diff_item *t = first_cause();
	assert_non_null(t);
	assert_int_equal(t->category, DIFF_inputs);
	assert_true(t->rooted && t->unseen);
	assert_int_equal(t->reaches, 1);
	assert_int_equal(t->reaches_differing, 1);
	assert_int_equal(t->changes, 1);
	assert_int_equal(t->a, history_version_id("/w/in.csv", 1));
	assert_int_equal(t->b, history_version_id("/w/in.csv", 2));
	assert_int_equal(t->changed_by, 0);
	assert_int_equal(D.items[0].changed_by, t->exec_b);
	assert_false(D.items[0].unseen);
}

static void options_and_variables(void **state)
{
	(void)state;
	struct work b = usual;
	b.argv = "fit -n 4 in.csv";
	b.env = "LANG=de";
	compare(&usual, &b);
	items_are("outputs rewritten /w/out.csv||\noptions changed fit|-n 3|-n 4\nenvironment changed LANG|C|de\n");
	assert_int_equal(first_cause()->category, DIFF_options);
	assert_true(D.items[1].rooted && D.items[2].rooted);
	assert_int_equal(D.items[1].count, 1);
}

/* Variables that name a job never count. */
static void job_variables(void **state)
{
	(void)state;
	struct work a = usual, b = usual;
	a.env = "SLURM_JOB_ID=1";
	b.env = "SLURM_JOB_ID=2";
	compare(&a, &b);
	items_are("outputs rewritten /w/out.csv||\n");
}

static void a_variable_more(void **state)
{
	(void)state;
	struct work a = usual, b = usual;
	a.env = "TZ=UTC";
	b.env = "LANG=C";
	compare(&a, &b);
	items_are("outputs rewritten /w/out.csv||\nenvironment added LANG||C\nenvironment removed TZ|UTC|\n");
}

static void settings(void **state)
{
	(void)state;
	struct work b = usual;
	b.ini_size = 11;
	compare(&usual, &b);
	items_are("outputs rewritten /w/out.csv||\nconfiguration changed /w/set.ini||\n");
	assert_int_equal(first_cause()->category, DIFF_configuration);
}

static void program(void **state)
{
	(void)state;
	struct work b = usual;
	b.program = "/opt/new/fit";
	compare(&usual, &b);
	assert_int_equal(D.paired, 2);
	items_are("outputs rewritten /w/out.csv||\nprograms removed /opt/fit||\nprograms added /opt/new/fit||\n");
}

static void more_programs(void **state)
{
	(void)state;
	struct work a = usual, b = usual;
	b.more = "extra x";
	a.absent = b.absent = true;
	compare(&a, &b);
	items_are("outputs rewritten /w/out.csv||\noutputs added /w/more.csv||\nprograms added /opt/extra||\nexecutions "
	          "added extra||\n");
	assert_int_equal(D.side[0].only, 0);
	assert_int_equal(D.side[1].only, 2);
	assert_int_equal(D.side[1].outputs, 2);
}

static void ending_and_resources(void **state)
{
	(void)state;
	struct work b = usual;
	b.code = 3;
	b.cpu = 2500000000;
	compare(&usual, &b);
	assert_int_equal(D.items[0].category, DIFF_outcome);
	assert_int_equal(D.items[D.n_items - 1].category, DIFF_resources);
	assert_int_equal(first_cause()->category, DIFF_outcome); /* that it failed; resources are no cause */
}

static void resources_alone(void **state)
{
	(void)state;
	struct work b = usual;
	b.cpu = 2500000000;
	compare(&usual, &b);
	assert_int_equal(D.first, SIZE_MAX);
}

/* A program that failed is the first cause, unless what differs reached it before. */
static void failure_explained(void **state)
{
	(void)state;
	struct work b = usual;
	b.code = 1;
	b.ini_size = 11;
	compare(&usual, &b);
	assert_int_equal(first_cause()->category, DIFF_configuration);
}

static void failure_of_the_first(void **state)
{
	(void)state;
	struct work a = usual;
	a.code = 1;
	compare(&a, &usual);
	assert_int_equal(first_cause()->category, DIFF_outcome);
}

/* What the other side alone read, since it did not fail, is no cause of the failure. */
static void failure_kept_it_from_reading(void **state)
{
	(void)state;
	struct work a = usual, b = usual;
	a.also = "/w/later.csv";
	b.code = 1;
	compare(&a, &b);
	assert_int_equal(first_cause()->category, DIFF_outcome);
	teardown(state);
	history_setup(state);
	compare(&b, &a);
	assert_int_equal(first_cause()->category, DIFF_outcome);
}

static void failure_of_both(void **state)
{
	(void)state;
	struct work a = usual, b = usual;
	a.code = b.code = 1;
	b.ini_size = 11;
	compare(&a, &b);
	assert_int_equal(first_cause()->category, DIFF_configuration);
}

/* The same work in two folders compares; where it was done is the machine's category. */
static void two_folders(void **state)
{
	(void)state;
	struct work b = usual;
	b.cwd = "/v";
	b.inodes = 100;
	compare(&usual, &b);
	items_are("outputs rewritten /v/out.csv||\nmachine changed directory|/w|/v\n");
	assert_int_equal(D.paired, 2);
}

/* A file that one side only read is explained where an argument of that side names it, or its folder; else it is not.
 */
static void named_by_an_argument(void **state)
{
	static const struct {
		const char *argv, *path;
		bool rooted;
		const char *env; /* NULL: the usual one */
	} rows[] = {
	    {"fit -n 3 in.csv more/x.dat", "/w/more/x.dat", false},
	    {"fit -n 3 in.csv --with=x.dat", "/w/more/x.dat", false},
	    {"fit -n 3 in.csv other", "/w/more/x.dat", true},
	    {"fit -n 3 in.csv dat", "/w/more/x.dat", true},
	    {"fit -n 3 in.csv", "/w/more/x.dat", false, "P=/w/more"},
	    {"fit -n 3 in.csv", "/w/more/x.dat", false, "P=/v:/w/more/"},
	    {"fit -n 3 in.csv", "/w/more/x.dat", true, "P=/w/mor"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct work b = usual;
		b.argv = rows[i].argv;
		b.also = rows[i].path;
		b.env = rows[i].env ? rows[i].env : usual.env;
		compare(&usual, &b);
		const struct diff_item *t = NULL;
		for (size_t k = 0; k < D.n_items; k++)
			if (D.items[k].category == DIFF_inputs)
				t = &D.items[k];
		assert_non_null(t);
		assert_int_equal(t->kind, DIFF_ADDED);
		if (t->rooted != rows[i].rooted)
			fail_msg("%s: %s explained", rows[i].argv, t->rooted ? "not" : "");
		assert_int_equal(teardown(state), 0);
		assert_int_equal(history_setup(state), 0);
	}
}

/* What others add stands behind those of its category. */
static void added_by_others(void **state)
{
	(void)state;
	struct work b = usual;
	b.argv = "fit -n 4 in.csv";
	b.env = "LANG=de";
	compare(&usual, &b);
	size_t n = D.n_items;
	struct diff_item like = {.category = DIFF_options,
	                         .kind = DIFF_ADDED,
	                         .subject = str_of("other"),
	                         .before = str_of("x"),
	                         .after = str_of("y")};
	struct diff_item *got = diff_add(&D, &like);
	assert_non_null(got);
	assert_int_equal(D.n_items, n + 1);
	assert_true(str_is(got->subject, "other") && got->subject.p != like.subject.p); /* a copy */
	items_are("outputs rewritten /w/out.csv||\noptions changed fit|-n 3|-n 4\noptions added other|x|y\nenvironment "
	          "changed LANG|C|de\n");
	like.category = DIFF_resources;
	assert_non_null(diff_add(&D, &like));
	assert_int_equal(D.items[n + 1].category, DIFF_resources);
	like.category = DIFF_outcome;
	assert_non_null(diff_add(&D, &like));
	assert_int_equal(D.items[0].category, DIFF_outcome);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, history_setup, teardown)
	const struct CMUnitTest tests[] = {TEST(nothing),
	                                   TEST(input_changed),
	                                   TEST(options_and_variables),
	                                   TEST(job_variables),
	                                   TEST(a_variable_more),
	                                   TEST(settings),
	                                   TEST(program),
	                                   TEST(more_programs),
	                                   TEST(ending_and_resources),
	                                   TEST(resources_alone),
	                                   TEST(failure_explained),
	                                   TEST(failure_of_the_first),
	                                   TEST(failure_of_both),
	                                   TEST(failure_kept_it_from_reading),
	                                   TEST(two_folders),
	                                   TEST(named_by_an_argument),
	                                   TEST(added_by_others)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
