/* Objects of HDF5 files in walks, in names and when they are gone (doc/hdf5.md). */
#include "history.h"

#include "graph/graph.h"
#include "query/carried.h"
#include "query/deleted.h"
#include "query/lineage/lineage.h"
#include "query/objects.h"
#include "query/target.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define B "01BBBBBBBBBBBBBBBBBBBBBBBB"
#define C "01CCCCCCCCCCCCCCCCCCCCCCCC"
#define D "01DDDDDDDDDDDDDDDDDDDDDDDD"

/* An object of a file that has been given its number in this session; gen tells objects of one file apart. */
static uint64_t object(struct history *h, unsigned kind, uint64_t within, uint64_t ino, uint64_t gen, const char *path,
                       unsigned op)
{
	history_event(
	    h, (struct event){
	           .kind = EVENT_file,
	           .file = {.num = ++h->files, .kind = kind, .domain = 1, .ino = ino, .gen = gen, .within = within}});
	history_name(h, op, h->files, path, "");
	return h->files;
}

/* By a function of HDF5, for one second. */
static void moves(struct history *h, uint64_t p, uint64_t file, unsigned mode)
{
	struct event_access a = {.file = file, .mode = mode, .sure = 1, .api = TERM_api_hdf5};
	uint64_t seq = history_event(h, (struct event){.kind = EVENT_access, .proc = p, .access = a});
	history_event(
	    h, (struct event){.kind = EVENT_access_end,
	                      .proc = p,
	                      .access_end = {.access = seq,
	                                     .until = h->now + HISTORY_SECOND,
	                                     .evidence = mode & ACCESS_WRITE ? TERM_evidence_must : TERM_evidence_none,
	                                     .exact = 1,
	                                     .first = h->now,
	                                     .last = h->now + HISTORY_SECOND,
	                                     .known = mode & ACCESS_WRITE ? 2 : 1,
	                                     .bytes_read = 8,
	                                     .bytes_written = 8}});
}

static uint64_t begin_run(struct history *h, const char *run, const char *argv0, int64_t at)
{
	history_begin(h, run, argv0, at);
	uint64_t p = history_process(h, 0);
	history_exec(h, p, argv0, 0, 0);
	return p;
}

/* make: a.h5//g/d of in.txt; and a.h5//g/e. */
static void tell_make(void)
{
	struct history h;
	uint64_t p = begin_run(&h, A, "make", 0);
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/in.txt", 5));
	uint64_t file = history_file(&h, TERM_kind_regular, "/w/a.h5", 1);
	int64_t far = h.now + 30ll * HISTORY_SECOND;
	history_access(
	    &h, p,
	    (struct event_access){.file = file, .mode = ACCESS_WRITE | ACCESS_CREATE, .sure = 1, .api = TERM_api_open},
	    far);
	moves(&h, p, object(&h, TERM_kind_group, file, 1, 69, "/w/a.h5//", TERM_nameop_create),
	      ACCESS_WRITE | ACCESS_CREATE);
	object(&h, TERM_kind_group, file, 1, 70, "/w/a.h5//g", TERM_nameop_create);
	moves(&h, p, object(&h, TERM_kind_dataset, file, 1, 71, "/w/a.h5//g/d", TERM_nameop_create),
	      ACCESS_WRITE | ACCESS_CREATE);
	moves(&h, p, object(&h, TERM_kind_dataset, file, 1, 72, "/w/a.h5//g/e", TERM_nameop_create),
	      ACCESS_WRITE | ACCESS_CREATE);
	h.now = far;
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* scale: b.h5//r of a.h5//g/d. gap: not all of what it did with HDF5 was seen. */
static void tell_scale(bool gap)
{
	struct history h;
	uint64_t p = begin_run(&h, B, "scale", 1000);
	uint64_t from = history_file(&h, TERM_kind_regular, "/w/a.h5", 1),
	         to = history_file(&h, TERM_kind_regular, "/w/b.h5", 2);
	int64_t far = h.now + 30ll * HISTORY_SECOND;
	history_access(&h, p, (struct event_access){.file = from, .mode = ACCESS_READ, .sure = 1, .api = TERM_api_open},
	               far);
	history_access(
	    &h, p, (struct event_access){.file = to, .mode = ACCESS_WRITE | ACCESS_CREATE, .sure = 1, .api = TERM_api_open},
	    far);
	moves(&h, p, object(&h, TERM_kind_dataset, from, 1, 71, "/w/a.h5//g/d", TERM_nameop_seen), ACCESS_READ);
	moves(&h, p, object(&h, TERM_kind_dataset, to, 2, 80, "/w/b.h5//r", TERM_nameop_create),
	      ACCESS_WRITE | ACCESS_CREATE);
	if (gap)
		history_event(
		    &h, (struct event){.kind = EVENT_gap, .proc = p, .gap = {.reason = TERM_gap_hdf5, .from = TIME_NONE}});
	h.now = far;
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* edit: writes a.h5 without a word on objects. */
static void tell_edit(int64_t at)
{
	struct history h;
	uint64_t p = begin_run(&h, C, "edit", at);
	uint64_t file = history_file(&h, TERM_kind_regular, "/w/a.h5", 1);
	history_access(&h, p, (struct event_access){.file = file, .mode = ACCESS_WRITE, .sure = 1, .api = TERM_api_open},
	               h.now + 3ll * HISTORY_SECOND);
	h.now += 5ll * HISTORY_SECOND;
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

static store_id object_of(const char *file, const char *inner)
{
	store_id ids[2];
	assert_int_equal(store_objects_by_name(history_store(), history_file_id(file), str_of(inner), ids, 2), 1);
	return ids[0];
}

static store_id latest(store_id file)
{
	store_id v;
	assert_int_equal(store_version_of(history_store(), file, 0, &v), 1);
	return v;
}

static struct lineage L;

static bool reaches(store_id version)
{
	for (size_t i = 0; i < L.n_nodes; i++)
		if (!L.nodes[i].exec && L.nodes[i].id == version)
			return true;
	return false;
}

static void walk(store_id version, bool all, enum lineage_direction direction)
{
	struct err err = {0};
	lineage_release(&L);
	assert_int_equal(lineage_walk(history_store(), &version, 1,
	                              &(struct lineage_options){.all = all, .direction = direction}, &err, &L),
	                 0);
}

static int teardown(void **state)
{
	lineage_release(&L);
	return history_teardown(state);
}

/* ---- kinds ---- */

/* What event/terms.def says of them: an object lies in an HDF5 file, or is an extended attribute. */
static void kinds(void **state)
{
	(void)state;
	static const unsigned objects[] = {TERM_kind_group,    TERM_kind_dataset,  TERM_kind_attribute,
	                                   TERM_kind_datatype, TERM_kind_softlink, TERM_kind_xattr};
	for (unsigned kind = 0; kind <= TERM_kind_xattr + 1; kind++) {
		bool object = false;
		for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
			object |= objects[i] == kind;
		assert_int_equal(gkind_is_object(kind), object);
		assert_int_equal(gkind_has_names_below(kind), kind == TERM_kind_directory || kind == TERM_kind_group);
	}
}

/* ---- walks ---- */

/* Along what is known of objects, whatever is asked for. */
static void each_along_its_own(void **state)
{
	(void)state;
	tell_make();
	tell_scale(false);
	store_id d = latest(object_of("/w/a.h5", "//g/d")), e = latest(object_of("/w/a.h5", "//g/e")),
	         r = latest(object_of("/w/b.h5", "//r"));
	store_id a = history_version_id("/w/a.h5", 1), b = history_version_id("/w/b.h5", 1),
	         in = history_version_id("/w/in.txt", 1);
	walk(r, false, LINEAGE_UP);
	assert_true(reaches(d) && reaches(in));
	assert_false(reaches(a) || reaches(e));
	assert_true(L.omitted[OMIT_container] > 0);
	assert_int_equal(L.omitted[OMIT_object], 0);
	walk(b, false, LINEAGE_UP); /* of a file the same is known */
	assert_true(reaches(d) && reaches(in));
	assert_false(reaches(a) || reaches(e));
	assert_true(L.omitted[OMIT_container] > 0);
	walk(r, true, LINEAGE_UP);
	assert_true(reaches(a) && reaches(d));
	walk(d, false, LINEAGE_DOWN);
	assert_true(reaches(r));
	assert_false(reaches(b));
	walk(e, false, LINEAGE_DOWN);
	assert_false(reaches(r));
	walk(a, false, LINEAGE_DOWN);
	assert_true(reaches(b));
	walk(in, false, LINEAGE_DOWN); /* nothing came of e, so its file stands for it */
	assert_true(reaches(a) && reaches(d) && reaches(b));
	assert_false(reaches(e));
	assert_true(L.omitted[OMIT_object] > 0);
	bool told;
	assert_int_equal(objects_are_reported(history_store(), d, &told), 0);
	assert_true(told);
	store_id who;
	assert_int_equal(objects_unobserved_by(history_store(), history_file_id("/w/a.h5"), &who), 0);
	assert_int_equal(who, 0);
}

/* Where the file was written since by who did not tell which objects, the file stays in the walk. */
static void a_file_written_by_others(void **state)
{
	(void)state;
	tell_make();
	tell_edit(500);
	tell_scale(false);
	store_id d = latest(object_of("/w/a.h5", "//g/d")), r = latest(object_of("/w/b.h5", "//r"));
	store_id a = latest(history_file_id("/w/a.h5"));
	walk(r, false, LINEAGE_UP);
	assert_true(reaches(d) && reaches(a));
	bool told = true;
	assert_int_equal(objects_are_reported(history_store(), d, &told), 0);
	assert_false(told);
}

/* What was written after the object was read is no matter of the walk, but of the object as it is now. */
static void a_file_written_later(void **state)
{
	(void)state;
	tell_make();
	tell_scale(false);
	tell_edit(2000);
	store_id d = latest(object_of("/w/a.h5", "//g/d")), r = latest(object_of("/w/b.h5", "//r"));
	walk(r, false, LINEAGE_UP);
	assert_true(reaches(d));
	assert_false(reaches(history_version_id("/w/a.h5", 1)));
	bool told = true;
	assert_int_equal(objects_are_reported(history_store(), d, &told), 0);
	assert_false(told);
}

static void not_all_was_seen(void **state)
{
	(void)state;
	tell_make();
	tell_scale(true);
	walk(latest(object_of("/w/b.h5", "//r")), false, LINEAGE_UP);
	assert_true(reaches(history_version_id("/w/a.h5", 1)));
	store_id who;
	assert_int_equal(objects_unobserved_by(history_store(), history_file_id("/w/b.h5"), &who), 0);
	assert_int_equal(who, history_exec_id("scale"));
	assert_int_equal(objects_unobserved_by(history_store(), history_file_id("/w/a.h5"), &who), 0);
	assert_int_equal(who, 0);
}

/* ---- names ---- */

static void names_of_objects(void **state)
{
	(void)state;
	struct err err = {0};
	struct file_target t;
	struct file_info f;
	tell_make();
	struct store *s = history_store();
	assert_int_equal(store_has_objects(s), 1);
	store_id d = object_of("/w/a.h5", "//g/d");
	assert_int_equal(store_file(s, d, &f), 1);
	assert_true(objects_is_object(f.kind));
	assert_true(str_is(f.path, "/w/a.h5//g/d") && f.named);
	assert_int_equal(f.within, history_file_id("/w/a.h5"));
	assert_int_equal(target_file(s, "/w/a.h5//g/d", &err, &t), 1);
	assert_int_equal(t.file, d);
	assert_int_equal(t.name, NAME_SHOWN);
	assert_int_equal(target_file(s, "/w/a.h5///g//d/", &err, &t), 1);
	assert_int_equal(t.file, d);
	assert_int_equal(target_file(s, "/w/a.h5//g/d@{1}", &err, &t), 1);
	assert_int_equal(t.n, 1);
	assert_int_equal(target_file(s, "/w/a.h5//g/none", &err, &t), 0);
	assert_int_equal(target_file(s, "/w/none.h5//g/d", &err, &t), 0);
	store_id ids[2];
	assert_int_equal(store_objects_by_name(s, history_file_id("/w/a.h5"), str_of("//d"), ids, 2), 0);
	assert_int_equal(store_objects_by_name(s, history_file_id("/w/in.txt"), str_of("//g/d"), ids, 2), 0);
	for (uint64_t kind = TERM_kind_regular; kind <= TERM_kind_xattr; kind++)
		assert_int_equal(objects_is_object(kind), kind >= TERM_kind_group && kind != TERM_kind_xattr);
}

static void no_objects(void **state)
{
	(void)state;
	tell_edit(0);
	assert_int_equal(store_has_objects(history_store()), 0);
}

/* tidy: deletes g/d, or the group that it lies in, or renames it. */
static void tell_tidy(const char *what, const char *renamed)
{
	struct history h;
	uint64_t p = begin_run(&h, D, "tidy", 3000);
	uint64_t file = history_file(&h, TERM_kind_regular, "/w/a.h5", 1);
	bool group = strcmp(what, "/w/a.h5//g") == 0;
	int64_t far = h.now + 30ll * HISTORY_SECOND;
	history_access(
	    &h, p, (struct event_access){.file = file, .mode = ACCESS_READ | ACCESS_WRITE, .sure = 1, .api = TERM_api_open},
	    far);
	history_event(&h, (struct event){.kind = EVENT_file,
	                                 .file = {.num = ++h.files,
	                                          .kind = group ? TERM_kind_group : TERM_kind_dataset,
	                                          .domain = 1,
	                                          .ino = 1,
	                                          .gen = group ? 70 : 71,
	                                          .within = file}});
	uint64_t num = h.files;
	history_event(&h, (struct event){.kind = EVENT_name,
	                                 .proc = p,
	                                 .name = {.op = renamed ? TERM_nameop_rename : TERM_nameop_unlink,
	                                          .file = num,
	                                          .path = str_of(renamed ? renamed : what),
	                                          .old = str_of(renamed ? what : "")}});
	/* by a call that is counted, and moves no bytes */
	uint64_t seq = history_event(
	    &h, (struct event){.kind = EVENT_access,
	                       .proc = p,
	                       .access = {.file = num, .mode = ACCESS_READ, .sure = 1, .api = TERM_api_hdf5}});
	history_event(
	    &h, (struct event){
	            .kind = EVENT_access_end,
	            .proc = p,
	            .access_end = {.access = seq, .until = h.now, .exact = 1, .first = TIME_NONE, .last = TIME_NONE}});
	history_event(&h, (struct event){.kind = EVENT_io,
	                                 .proc = p,
	                                 .io = {.access = seq,
	                                        .api = renamed ? TERM_ioapi_rename : TERM_ioapi_delete,
	                                        .write = 1,
	                                        .calls = 1,
	                                        .first = h.now - 3ll * HISTORY_SECOND,
	                                        .last = h.now - 3ll * HISTORY_SECOND}});
	h.now = far;
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

static void deleted_with(const char *what)
{
	struct deletion del;
	struct err err = {0};
	struct file_target t;
	tell_make();
	tell_scale(false);
	store_id d = object_of("/w/a.h5", "//g/d"), was = latest(d);
	assert_int_equal(deleted_object(history_store(), d, str_of("//g/d"), &del), 0);
	tell_tidy(what, NULL);
	assert_int_equal(deleted_object(history_store(), d, str_of("//g/d"), &del), 1);
	assert_int_equal(del.by, history_exec_id("tidy"));
	assert_int_equal(del.version, was);
	assert_int_equal(del.n, 1);
	assert_true(del.time > HISTORY_BEGIN + 3000ll * HISTORY_SECOND &&
	            del.time < HISTORY_BEGIN + 3030ll * HISTORY_SECOND);
	assert_int_equal(target_file(history_store(), "/w/a.h5//g/d", &err, &t), 1);
	assert_int_equal(t.disk, DISK_DELETED);
	assert_int_equal(t.version, was);
	assert_int_equal(t.deleted.by, del.by);
	/* what was made of it is there */
	assert_int_equal(target_file(history_store(), "/w/b.h5//r", &err, &t), 1);
	assert_int_not_equal(t.disk, DISK_DELETED);
	/* and what else lies in the file */
	assert_int_equal(deleted_object(history_store(), object_of("/w/a.h5", "//g/e"), str_of("//g/e"), &del),
	                 strcmp(what, "/w/a.h5//g") == 0);
}

static void deleted_itself(void **state)
{
	(void)state;
	deleted_with("/w/a.h5//g/d");
}

static void deleted_with_its_group(void **state)
{
	(void)state;
	deleted_with("/w/a.h5//g");
}

/* The file is made anew: all that was in it is gone, and who did that is told. */
static void deleted_with_the_file(void **state)
{
	(void)state;
	struct history h;
	struct deletion del;
	tell_make();
	store_id d = object_of("/w/a.h5", "//g/d"), was = latest(d);
	uint64_t p = begin_run(&h, D, "again", 3000);
	uint64_t file = history_file(&h, TERM_kind_regular, "/w/a.h5", 1);
	int64_t far = h.now + 30ll * HISTORY_SECOND;
	history_access(
	    &h, p,
	    (struct event_access){
	        .file = file, .mode = ACCESS_WRITE | ACCESS_CREATE | ACCESS_TRUNC, .sure = 1, .api = TERM_api_open},
	    far);
	moves(&h, p, object(&h, TERM_kind_group, file, 1, 69, "/w/a.h5//", TERM_nameop_seen), ACCESS_WRITE | ACCESS_CREATE);
	h.now = far;
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	assert_int_equal(deleted_object(history_store(), d, str_of("//g/d"), &del), 1);
	assert_int_equal(del.by, history_exec_id("again"));
	assert_int_equal(del.version, was);
	assert_int_equal(deleted_object(history_store(), object_of("/w/a.h5", "//"), str_of("//"), &del), 0);
	assert_int_equal(deleted_object(history_store(), history_file_id("/w/a.h5"), str_of("//g/d"), &del), 0);
}

static void renamed_is_not_deleted(void **state)
{
	(void)state;
	struct deletion del;
	struct err err = {0};
	struct file_target t;
	int64_t until;
	bool other;
	tell_make();
	tell_tidy("/w/a.h5//g/d", "/w/a.h5//new");
	struct store *s = history_store();
	store_id d = object_of("/w/a.h5", "//new");
	assert_int_equal(object_of("/w/a.h5", "//g/d"), d);
	assert_int_equal(deleted_object(s, d, str_of("//g/d"), &del), 0);
	assert_int_equal(store_object_named_until(s, d, str_of("//g/d"), &until, &other), 1);
	assert_true(until > HISTORY_BEGIN + 3000ll * HISTORY_SECOND && until < TIME_NEVER);
	assert_true(other); /* since then */
	assert_int_equal(store_object_named_until(s, d, str_of("//new"), &until, &other), 1);
	assert_int_equal(until, TIME_NEVER);
	assert_false(other);
	assert_int_equal(store_object_named_until(s, d, str_of("//none"), &until, &other), 0);
	assert_int_equal(target_file(s, "/w/a.h5//g/d", &err, &t), 1);
	assert_int_equal(t.name, NAME_OLD);
	assert_int_equal(target_file(s, "/w/a.h5//new", &err, &t), 1);
	assert_int_equal(t.name, NAME_SHOWN);
	assert_int_equal(t.file, d);
}

/* A link of one file leads to an object of another. */
static void links_between_files(void **state)
{
	(void)state;
	struct history h;
	struct err err = {0};
	struct file_target t;
	struct buf to = {0};
	tell_make();
	uint64_t p = begin_run(&h, D, "link", 3000);
	uint64_t file = history_file(&h, TERM_kind_regular, "/w/c.h5", 3);
	history_write(&h, p, file, 10);
	uint64_t link = object(&h, TERM_kind_softlink, file, 3, 90, "/w/c.h5//l", TERM_nameop_create);
	history_name(&h, TERM_nameop_create, link, "external:/w/a.h5//g", "");
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	struct store *s = history_store();
	store_id l = object_of("/w/c.h5", "//l");
	assert_int_equal(store_link_target(s, l, &to), 1);
	assert_string_equal(buf_cstr(&to), "/w/a.h5//g");
	assert_int_equal(store_link_target(s, object_of("/w/a.h5", "//g/d"), &to), 0);
	assert_int_equal(target_file(s, "/w/c.h5//l/d", &err, &t), 1);
	assert_int_equal(t.file, object_of("/w/a.h5", "//g/d"));
	assert_int_equal(t.name, NAME_LINK);
	assert_int_equal(target_file(s, "/w/c.h5//l/none", &err, &t), 0);
	buf_release(&to);
}

/* ---- rows that cannot be read ---- */

static size_t steps_left; /* until one row cannot be read; 0: all can */

int __real_sqlite3_step(sqlite3_stmt *st);
int __wrap_sqlite3_step(sqlite3_stmt *st);
int __wrap_sqlite3_step(sqlite3_stmt *st)
{
	return steps_left && !--steps_left ? SQLITE_IOERR : __real_sqlite3_step(st);
}

/* make; a copy of a.h5, whose size nobody knows, so that it is not known to be one; a copy of that copy; and a program
 * that reads //g/d of both. */
static void tell_copies(void)
{
	static const char *const copies[][2] = {{"/w/a.h5", "/w/b.h5"}, {"/w/b.h5", "/w/c.h5"}};
	struct history h;
	tell_make();
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t p = begin_run(&h, i ? C : B, i ? "cp b c" : "cp a b", 100 + 100 * (int64_t)i);
		uint64_t from = history_file(&h, TERM_kind_regular, copies[i][0], 1 + i);
		history_read(&h, p, from);
		history_write(&h, p, history_file(&h, TERM_kind_regular, copies[i][1], 2 + i), 5000);
		history_exit(&h, p, TERM_ending_exited, 0);
		history_end(&h, p);
	}
	uint64_t p = begin_run(&h, D, "use", 400);
	for (uint64_t ino = 2; ino <= 3; ino++) {
		const char *path = ino == 2 ? "/w/b.h5" : "/w/c.h5";
		char inner[32];
		uint64_t file = history_file(&h, TERM_kind_regular, path, ino);
		history_read(&h, p, file);
		snprintf(inner, sizeof(inner), "%s//g/d", path);
		moves(&h, p, object(&h, TERM_kind_dataset, file, ino, 70 + ino, inner, TERM_nameop_seen), ACCESS_READ);
	}
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* What was carried, as numbers. 0 or -errno. */
static int ask_carried(struct objects *o, const store_id *objects, struct buf *ret)
{
	struct edges e = {0};
	int r = 0;
	buf_reset(ret);
	for (size_t i = 0; i < 3 && r >= 0; i++) {
		struct carried_pair pair = {.from = {.to = 0}};
		r = carried_pair(o, objects[i], &pair);
		buf_printf(ret, "%d %llu; ", r, (unsigned long long)(r > 0 ? pair.from.to : 0));
	}
	for (size_t i = 0; i < 3 && r >= 0; i++) {
		e.n = 0;
		r = carried_copies(o, objects[i], &e);
		for (size_t k = 0; k < e.n; k++)
			buf_printf(ret, "%llu ", (unsigned long long)e.v[k].to);
		buf_printf(ret, "; ");
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* A row that cannot be read is an error, and what is asked again has its right answer: nothing is remembered of it. */
static void errors_are_not_remembered(void **state)
{
	(void)state;
	tell_copies();
	struct store *s = history_store();
	const store_id objects[] = {latest(object_of("/w/a.h5", "//g/d")), latest(object_of("/w/b.h5", "//g/d")),
	                            latest(object_of("/w/c.h5", "//g/d"))};
	struct buf want = {0}, got = {0};
	struct objects o;
	size_t refused = 0;
	assert_int_equal(objects_begin(&o, s, OBJECTS_OBJECTS), 0);
	assert_int_equal(ask_carried(&o, objects, &want), 0);
	objects_end(&o);
	assert_true(str_starts(buf_view(&want), str_of("0 0; 0 0; 1 ")));
	for (size_t at = 1;; at++, refused++) {
		assert_int_equal(objects_begin(&o, s, OBJECTS_OBJECTS), 0);
		uint64_t failed = store_reads_failed();
		steps_left = at;
		int r = ask_carried(&o, objects, &got);
		bool met = !steps_left;
		steps_left = 0;
		if (met)
			assert_true(r < 0 || store_reads_failed() > failed || str_eq(buf_view(&got), buf_view(&want)));
		assert_int_equal(ask_carried(&o, objects, &got), 0);
		assert_string_equal(buf_cstr(&got), buf_cstr(&want));
		objects_end(&o);
		if (!met)
			break;
	}
	assert_true(refused > 20);
	buf_release(&want);
	buf_release(&got);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, history_setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(kinds),
	    TEST(each_along_its_own),
	    TEST(a_file_written_by_others),
	    TEST(a_file_written_later),
	    TEST(not_all_was_seen),
	    TEST(names_of_objects),
	    TEST(no_objects),
	    TEST(deleted_itself),
	    TEST(deleted_with_its_group),
	    TEST(deleted_with_the_file),
	    TEST(renamed_is_not_deleted),
	    TEST(links_between_files),
	    TEST(errors_are_not_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
