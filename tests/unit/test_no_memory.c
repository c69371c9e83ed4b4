/* What asks for memory gives it back. And each place that asks is refused once: nothing crashes, and when there is
 * memory again the answer is what it was. (What is left out meanwhile the program tells at its end: base/memory.h.) The
 * same for rows of the store: then there is the right answer, or an error, or store_reads_failed says that one was met.
 * A place is where a call stands, and who called that. */
#include "history_all.h"

#include "export/export.h"
#include "graph/canon.h"
#include "query/diff.h"
#include "query/find/expr.h"
#include "query/find/select.h"
#include "query/idset.h"
#include "query/submit/submit.h"
#include "query/target.h"
#include "store/dump.h"

#include <errno.h>
#include <execinfo.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- memory that is refused ---- */

#define PLACES 16384
#define CALLERS 3
#define HELD (1 << 20)
#define GONE UINTPTR_MAX

static struct {
	uint64_t seen[PLACES]; /* places that were refused; 0 free */
	size_t n;
	uintptr_t held[HELD]; /* what was asked for and not given back, by address; 0 free, GONE free again */
	size_t n_held;
	bool armed, refused, reads; /* reads: it is not memory that is refused, but rows of the store */
} M;

static size_t first_place(const void *p)
{
	return ((uintptr_t)p >> 4) * 2654435761u % HELD;
}

static void *hold(void *p)
{
	if (p) {
		size_t slot = first_place(p);
		assert_true(M.n_held++ < HELD / 4);
		while (M.held[slot] && M.held[slot] != GONE)
			slot = (slot + 1) % HELD;
		M.held[slot] = (uintptr_t)p;
	}
	return p;
}

/* What others asked for is not looked at. */
static void give_back(const void *p)
{
	size_t slot = first_place(p);
	while (p && M.held[slot] && M.held[slot] != (uintptr_t)p)
		slot = (slot + 1) % HELD;
	if (p && M.held[slot]) {
		M.held[slot] = GONE; /* there may be others behind it */
		M.n_held--;
	}
}

/* Is this call to be refused? */
static bool refuse(bool read)
{
	void *at[CALLERS + 2];
	if (!M.armed || M.refused || M.reads != read)
		return false;
	M.armed = false; /* backtrace may ask for memory */
	int n = backtrace(at, CALLERS + 2);
	M.armed = true;
	uint64_t key = 14695981039346656037u;
	for (int i = 2; i < n; i++)
		key = (key ^ (uintptr_t)at[i]) * 1099511628211u;
	size_t slot = key % PLACES;
	for (; M.seen[slot]; slot = (slot + 1) % PLACES)
		if (M.seen[slot] == key)
			return false;
	assert_true(M.n++ < PLACES / 2);
	M.seen[slot] = key;
	M.refused = true;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
int __real_sqlite3_step(sqlite3_stmt *st);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);
int __wrap_sqlite3_step(sqlite3_stmt *st);

void *__wrap_malloc(size_t n)
{
	return refuse(false) ? NULL : hold(__real_malloc(n));
}
void *__wrap_calloc(size_t n, size_t size)
{
	return refuse(false) ? NULL : hold(__real_calloc(n, size));
}
void *__wrap_realloc(void *p, size_t n)
{
	if (refuse(false))
		return NULL;
	give_back(p);
	return hold(__real_realloc(p, n));
}
char *__wrap_strdup(const char *s)
{
	return refuse(false) ? NULL : hold(__real_strdup(s));
}
char *__wrap_strndup(const char *s, size_t n)
{
	return refuse(false) ? NULL : hold(__real_strndup(s, n));
}
void __wrap_free(void *p)
{
	give_back(p);
	__real_free(p);
}
int __wrap_sqlite3_step(sqlite3_stmt *st)
{
	return refuse(true) ? SQLITE_IOERR : __real_sqlite3_step(st);
}

/* Runs work until no place of it is left that was not refused yet; then its answer must be what it was before. work: 0
 * and an answer, or -errno. */
static void refuse_everywhere(const char *what, int (*work)(struct buf *answer))
{
	struct buf want = {0}, got = {0};
	assert_int_equal(work(&want), 0);
	assert_true(want.n > 0);
	do {
		buf_release(&got);
		size_t held = M.n_held;
		uint64_t failed = store_reads_failed();
		M.refused = false;
		M.armed = true;
		int r = work(&got);
		M.armed = false;
		assert_true(r == 0 || M.refused);
		/* For want of memory something may be left out. */
		if (M.reads && r == 0 && store_reads_failed() == failed && !str_eq(buf_view(&got), buf_view(&want)))
			fail_msg("%s: another answer after %zu refusals:\n%.2000s\n-- and not:\n%.2000s", what, M.n, buf_cstr(&got),
			         buf_cstr(&want));
		if (M.n_held != held + (got.p != NULL))
			fail_msg("%s: %ld pieces of memory are not given back", what, (long)(M.n_held - held - (got.p != NULL)));
	} while (M.refused);
	if (!str_eq(buf_view(&got), buf_view(&want)))
		fail_msg("%s: another answer:\n%.2000s\n-- and not:\n%.2000s", what, buf_cstr(&got), buf_cstr(&want));
	buf_release(&got);
	buf_release(&want);
}

/* ---- what is done ---- */

static int open_index(struct store **ret)
{
	struct err err = {0};
	return store_open(history_home, STORE_READ, &err, ret);
}

static int index_anew(struct buf *answer)
{
	struct err err = {0};
	struct store *s = NULL;
	struct canon c = {0};
	int r = store_open(history_home, STORE_MEMORY, &err, &s);
	if (r == 0)
		r = store_index(s, &(struct store_index_options){0}, &err, NULL);
	if (r == 0)
		r = store_canon(s, &c);
	if (r == 0)
		r = canon_finish(&c, answer);
	canon_release(&c);
	store_close(s);
	return r;
}

static const struct export_format *format;

static int write_format(struct buf *answer)
{
	struct prov_select all = {.lineage = {.all = true, .fork = true}, .since = TIME_NONE, .until = TIME_NONE};
	struct export_options o = {.target = NULL};
	struct prov_source *p = NULL;
	struct out out = out_into(answer);
	struct err err = {0};
	struct store *s = NULL;
	int r = open_index(&s);
	if (r == 0)
		r = prov_open(s, &all, &err, &p);
	if (r == 0)
		r = format->write(p, &out, &o, &err);
	prov_close(p);
	store_close(s);
	return r;
}

static int compare_runs(struct buf *answer)
{
	store_id runs[2];
	struct diff d = {{{0}}};
	struct err err = {0};
	struct store *s = NULL;
	int r = open_index(&s);
	if (r == 0)
		r = store_find_run(s, "@~1", &runs[0]);
	if (r > 0)
		r = store_find_run(s, "@", &runs[1]);
	r = r > 0 ? diff_make(s, DIFF_RUN, runs, &(struct diff_options){0}, &err, &d) : r < 0 ? r : -EIO;
	for (size_t i = 0; r == 0 && i < d.n_items; i++)
		buf_printf(answer, "%d %d %.*s %.*s %.*s %u\n", d.items[i].category, d.items[i].kind, (int)d.items[i].subject.n,
		           d.items[i].subject.p, (int)d.items[i].before.n, d.items[i].before.p, (int)d.items[i].after.n,
		           d.items[i].after.p, d.items[i].count);
	diff_release(&d);
	store_close(s);
	return r;
}

static int find_things(struct buf *answer)
{
	static const char *const questions[] = {"used /w/in or into /w/e/x",
	                                        "exe a and arg two and label sample and user ann",
	                                        "path /w/* and not made /w/also", "run 01BB or from /w/in"};
	struct err err = {0};
	struct store *s = NULL;
	int r = open_index(&s);
	for (size_t i = 0; r == 0 && i < 4; i++)
		for (enum expr_kind kind = EXPR_FILES; r == 0 && kind <= EXPR_EXECS; kind++) {
			struct expr *e = NULL;
			enum expr_kind said;
			struct idset set = {0};
			char copy[128], *word = copy;
			snprintf(copy, sizeof(copy), "%s", questions[i]);
			r = expr_parse(&word, 1, &err, &e, &said);
			if (r == 0)
				r = select_eval(s, e, kind, &(struct select_options){.now = HISTORY_BEGIN}, &err, &set);
			for (size_t k = 0; r == 0 && k < set.n; k++)
				buf_printf(answer, "%zu %d %llu\n", i, kind, (unsigned long long)set.v[k]);
			idset_release(&set);
			expr_free(e);
		}
	store_close(s);
	return r;
}

static int look_up(struct buf *answer)
{
	static const char *const words[] = {"/w/in",   "/w/in@{1}", "/w/out", "/w/e/x",
	                                    "/w/none", "@~1",       "01BB",   "/w/not/there"};
	struct err err = {0};
	struct store *s = NULL;
	int r = open_index(&s);
	for (size_t i = 0; r >= 0 && i < sizeof(words) / sizeof(*words); i++) {
		struct target t = {.kind = TARGET_FILE};
		r = target_any(s, words[i], false, &err, &t);
		if (r >= 0)
			buf_printf(answer, "%s %d %d %llu %llu %d %d\n", words[i], r, t.kind, (unsigned long long)t.id,
			           (unsigned long long)t.file.version, t.file.disk, t.file.name);
	}
	store_close(s);
	return r < 0 ? r : 0;
}

/* ---- the tests ---- */

static int three_sessions(void **state)
{
	int r = history_setup(state);
	history_all_a();
	history_all_b();
	history_all_build();
	history_store();
	return r;
}

static void everything(void)
{
	memset(&M, 0, offsetof(__typeof__(M), held));
	refuse_everywhere("index", index_anew);
	for (size_t i = 0; i < export_n_formats; i++) {
		format = &export_formats[i];
		/* svg is drawn by another program, from dot; two are of one run */
		if (format->target == TARGET_STREAM && !strstr(" svg datalad-run in-toto ", format->name))
			refuse_everywhere(format->name, write_format);
	}
	refuse_everywhere("diff", compare_runs);
	refuse_everywhere("find", find_things);
	refuse_everywhere("target", look_up);
	assert_true(M.n >= 40); /* 50 rows under a sanitizer, whose stacks are shorter */
}

static void no_memory(void **state)
{
	(void)state;
	M.reads = false;
	everything();
}

static void no_rows(void **state)
{
	(void)state;
	M.reads = true;
	everything();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, three_sessions, history_teardown)
	const struct CMUnitTest tests[] = {TEST(no_memory), TEST(no_rows)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
