/* An index that lies elsewhere (store/elsewhere/source.h), here in memory: the copy of a store answers as the store, of
 * the state that was copied; with any page changed, missing or at another's place it answers the same or fails. */
#include "history_all.h"

#include "base/vec.h"
#include "graph/canon.h"
#include "store/dump.h"
#include "store/elsewhere/source.h"
#include "store/pages.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files in memory ---- */

struct kept_page {
	char file[SOURCE_NAME];
	uint64_t n;
	size_t size;
	unsigned char bytes[SOURCE_PAGE];
};
static VEC(struct kept_page *) kept;
static unsigned reads, closed;
static int refuse_page; /* store_copy's page number so many is refused; 0: none is */

static int keep_page(void *arg, const char *file, uint64_t n, const void *page, size_t size)
{
	(void)arg;
	if (refuse_page && --refuse_page == 0)
		return -ENOSPC;
	struct kept_page **p = vec_add(&kept);
	assert_non_null(p);
	*p = calloc(1, sizeof(**p));
	assert_non_null(*p);
	snprintf((*p)->file, sizeof((*p)->file), "%s", file);
	(*p)->n = n;
	(*p)->size = size;
	assert_true(size && size <= SOURCE_PAGE);
	memcpy((*p)->bytes, page, size);
	return 0;
}

static void drop_pages(void)
{
	for (size_t i = 0; i < kept.n; i++)
		free(kept.v[i]);
	kept.n = 0;
}

static struct kept_page *page_of(const char *file, uint64_t n)
{
	for (size_t i = 0; i < kept.n; i++)
		if (kept.v[i]->n == n && !strcmp(kept.v[i]->file, file))
			return kept.v[i];
	return NULL;
}

static int memory_size(struct store_source *s, const char *file, uint64_t *ret)
{
	(void)s;
	bool there = false;
	*ret = 0;
	for (size_t i = 0; i < kept.n; i++)
		if (!strcmp(kept.v[i]->file, file)) {
			const uint64_t end = kept.v[i]->n * SOURCE_PAGE + kept.v[i]->size;
			there = true;
			*ret = end > *ret ? end : *ret;
		}
	return there ? 0 : -ENOENT;
}

static int memory_read(struct store_source *s, const char *file, uint64_t at, void *to, size_t n)
{
	(void)s;
	for (size_t done = 0; done < n; done++) {
		const struct kept_page *p = page_of(file, (at + done) / SOURCE_PAGE);
		const size_t in = (size_t)((at + done) % SOURCE_PAGE), have = p && p->size > in ? p->size - in : 0;
		const size_t take = have < n - done ? have : n - done;
		if (!take)
			return -EBADMSG;
		memcpy((char *)to + done, p->bytes + in, take);
		done += take - 1;
	}
	reads++;
	return 0;
}

static void memory_rest(struct store_source *s)
{
	(void)s;
}
static int memory_renew(struct store_source *s, struct err *err)
{
	(void)s, (void)err;
	return 0;
}
static void memory_close(struct store_source *s)
{
	closed++;
	free(s);
}

static int open_copy(struct store **ret)
{
	struct store_source *s = calloc(1, sizeof(*s));
	struct err err = {0};
	assert_non_null(s);
	*s = (struct store_source){"memory", memory_read, memory_size, memory_rest, memory_renew, memory_close, {"", ""}};
	int rc = store_open_source(s, &err, ret);
	assert_true(rc == 0 || err.text[0]);
	return rc;
}

/* ---- what is compared ---- */

/* All that a store says; "" where it failed. */
static struct buf whole(struct store *s)
{
	struct canon c = {0};
	struct buf all = {0};
	sqlite3_stmt *st = NULL;
	const uint64_t failed = store_reads_failed_in(s);
	bool good = store_view_begin(s, VIEW_WALK) == 0;
	good = good && store_canon(s, &c) == 0 && canon_finish(&c, &all) == 0;
	canon_release(&c);
	good = good && sqlite3_prepare_v2(store_sqlite(s), "SELECT * FROM access", -1, &st, NULL) == SQLITE_OK;
	int code = SQLITE_DONE;
	while (good && (code = sqlite3_step(st)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++)
			buf_printf(&all, "%s\t", sqlite3_column_text(st, i) ? (const char *)sqlite3_column_text(st, i) : "");
	sqlite3_finalize(st);
	store_view_end(s);
	good = good && code == SQLITE_DONE && store_reads_failed_in(s) == failed && !store_is_damaged(s) && !all.failed;
	if (!good)
		buf_reset(&all);
	return all;
}

static void make_record(void)
{
	history_all_a();
	history_all_b();
	history_all_build();
}

static void copy_store(struct store *s)
{
	struct err err = {0};
	drop_pages();
	assert_int_equal(store_copy(s, &(struct store_copy){keep_page, NULL}, &err), 0);
	assert_true(kept.n > 10);
}

/* ---- tests ---- */

static void a_copy_answers_the_same(void **state)
{
	struct store *s = NULL;
	(void)state;
	setenv("STEMMA_ADJACENCY", "all", 1);
	make_record();
	struct store *here = history_store();
	struct buf right = whole(here);
	assert_true(right.n > 1000);
	copy_store(here);
	assert_non_null(page_of("index", 0));
	closed = reads = 0;
	assert_int_equal(open_copy(&s), 0);
	assert_string_equal(store_index_path(s), "memory");
	assert_non_null(store_source_of(s));
	assert_null(store_source_of(here));
	struct buf got = whole(s);
	assert_true(reads > 5);
	assert_int_equal(got.n, right.n);
	assert_memory_equal(got.p, right.p, right.n);
	struct err err = {0};
	struct store_index_stats stats;
	assert_true(store_index(s, &(struct store_index_options){0}, &err, &stats) < 0);
	store_close(s);
	assert_int_equal(closed, 1);
	buf_release(&right);
	buf_release(&got);
	drop_pages();
}

static void it_is_of_one_state(void **state)
{
	struct store *s = NULL;
	struct history h;
	(void)state;
	make_record();
	struct store *here = history_store();
	struct buf before = whole(here);
	struct err err = {0};
	struct store_index_stats stats;
	struct store *other = NULL;
	assert_int_equal(store_view_begin(here, VIEW_WALK), 0);
	/* From the first read on the view has its state. */
	assert_int_equal(sqlite3_exec(store_sqlite(here), "SELECT count(*) FROM file", NULL, NULL, NULL), SQLITE_OK);
	history_begin(&h, "01CCCCCCCCCCCCCCCCCCCCCCCC", "later", 5000);
	history_end(&h, history_process(&h, 0));
	assert_int_equal(store_open(history_home, STORE_WRITE, &err, &other), 0);
	assert_int_equal(store_index(other, &(struct store_index_options){0}, &err, &stats), 0);
	store_close(other);
	copy_store(here);
	store_view_end(here);
	assert_int_equal(open_copy(&s), 0);
	struct buf got = whole(s);
	assert_int_equal(got.n, before.n);
	assert_memory_equal(got.p, before.p, before.n);
	buf_release(&got);
	buf_release(&before);
	store_close(s);
	drop_pages();
}

static void a_failure_ends_a_copy(void **state)
{
	struct err err = {0};
	(void)state;
	make_record();
	struct store *here = history_store();
	for (int n = 1; n < 6; n++) {
		refuse_page = n;
		err_clear(&err);
		assert_int_equal(store_copy(here, &(struct store_copy){keep_page, NULL}, &err), -ENOSPC);
		assert_true(err.text[0]);
	}
	refuse_page = 0;
	struct store *memory = NULL; /* has no checksums */
	err_clear(&err);
	assert_int_equal(store_open(history_home, STORE_WRITE | STORE_MEMORY, &err, &memory), 0);
	assert_int_equal(store_copy(memory, &(struct store_copy){keep_page, NULL}, &err), -EPROTO);
	assert_non_null(strstr(err.text, "checksums"));
	store_close(memory);
	drop_pages();
}

/* It answers as it should, or not at all. True: it did not. */
static bool right_or_nothing(const struct buf *right)
{
	struct store *s = NULL;
	bool failed = true;
	if (open_copy(&s) == 0) {
		struct buf got = whole(s);
		failed = !got.n;
		if (got.n) {
			assert_int_equal(got.n, right->n);
			assert_memory_equal(got.p, right->p, right->n);
		}
		buf_release(&got);
		store_close(s);
	}
	return failed;
}

static void what_is_damaged_is_noticed(void **state)
{
	unsigned failed = 0, changed = 0;
	(void)state;
	setenv("STEMMA_ADJACENCY", "all", 1);
	make_record();
	struct store *here = history_store();
	struct buf right = whole(here);
	copy_store(here);
	assert_false(right_or_nothing(&right));
	for (size_t i = 0; i < kept.n; i++) {
		struct kept_page *p = kept.v[i];
		const size_t at = (i * 7919) % p->size;
		p->bytes[at] ^= 1;
		failed += right_or_nothing(&right);
		p->bytes[at] ^= 1;
		const size_t size = p->size;
		p->size = size / 2; /* shorter */
		failed += right_or_nothing(&right);
		p->size = size;
		const uint64_t n = p->n; /* not there; the last one: the file is shorter */
		p->n += 1000000;
		failed += right_or_nothing(&right);
		p->n = n;
		changed += 3;
	}
	for (size_t i = 1; i < kept.n; i++) { /* whole pages at the place of others */
		const uint64_t n = kept.v[i]->n;
		kept.v[i]->n = kept.v[i - 1]->n;
		kept.v[i - 1]->n = n;
		failed += right_or_nothing(&right);
		kept.v[i - 1]->n = kept.v[i]->n;
		kept.v[i]->n = n;
		changed++;
	}
	assert_true(failed > 20 && failed <= changed);
	assert_false(right_or_nothing(&right));
	buf_release(&right);
	drop_pages();
	assert_true(right_or_nothing(&right)); /* nothing is there at all */
}

/* Changes the file of the index by these statements, each page with its checksum. */
static void change_index(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, pages_vfs()), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close_v2(db);
}

/* All pages of the file, as a source gives them. */
static void keep_file(const char *path)
{
	unsigned char page[SOURCE_PAGE];
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	drop_pages();
	for (uint64_t n = 0; fread(page, 1, sizeof(page), f) == sizeof(page); n++)
		keep_page(NULL, "index", n, page, sizeof(page));
	fclose(f);
}

static void a_schema_of_somebody_else_is_refused(void **state)
{
	static const char *const changes[] = {
	    "ALTER TABLE runs RENAME TO was; CREATE VIEW runs(id, ulid, began, info, counts) AS WITH RECURSIVE c(x) AS"
	    " (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, 'r' || x, x, x'', NULL FROM c",
	    "CREATE TRIGGER more_meta AFTER INSERT ON meta BEGIN DELETE FROM runs; END",
	    "CREATE VIEW other AS SELECT 1",
	    "CREATE TABLE other(x)",
	    "CREATE INDEX other ON runs(ulid, hex(info))",
	    "DROP INDEX run_began",
	    "DROP TABLE build_key",
	    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view' WHERE name = 'runs'",
	    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = sql || ' --' WHERE name = 'runs'",
	};
	struct err err = {0};
	(void)state;
	make_record();
	struct store *here = NULL;
	struct store_index_stats stats;
	char path[4096];
	assert_int_equal(store_open(history_home, STORE_WRITE, &err, &here), 0);
	assert_int_equal(store_index(here, &(struct store_index_options){0}, &err, &stats), 0);
	snprintf(path, sizeof(path), "%s", store_index_path(here));
	store_close(here);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct store *s = NULL;
		change_index(path, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
		change_index(path, changes[i]);
		keep_file(path);
		err_clear(&err);
		assert_int_equal(store_open(history_home, 0, &err, &s), -ENOTRECOVERABLE);
		assert_non_null(strstr(err.text, "damaged"));
		assert_true(open_copy(&s) < 0);
		err_clear(&err);
		assert_int_equal(store_open(history_home, STORE_WRITE | STORE_MEND, &err, &s), 0); /* made anew */
		store_close(s);
		err_clear(&err);
		assert_int_equal(store_open(history_home, 0, &err, &s), 0);
		store_close(s);
	}
	drop_pages();
}

static int teardown(void **state)
{
	unsetenv("STEMMA_ADJACENCY");
	drop_pages();
	vec_release(&kept);
	return history_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_copy_answers_the_same, history_setup, teardown),
	    cmocka_unit_test_setup_teardown(it_is_of_one_state, history_setup, teardown),
	    cmocka_unit_test_setup_teardown(a_failure_ends_a_copy, history_setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_damaged_is_noticed, history_setup, teardown),
	    cmocka_unit_test_setup_teardown(a_schema_of_somebody_else_is_refused, history_setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
