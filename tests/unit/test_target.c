/* What somebody means by a word: a file as it is called now or was, a version, a run, an execution; and to what an
 * execution counts where people read. */
#include "history.h"

#include "base/fileid.h"
#include "query/app_log.h"
#include "query/fold.h"
#include "query/submit/submit.h"
#include "query/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define RUN_B "01BBBBBBBBBBBBBBBBBBBBBBAA"

/* ---- words ---- */

static void versions_are_split_off(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t length;
		uint64_t n;
	} rows[] = {
	    {"a@{1}", 1, 1},      {"a@{12}", 1, 12},
	    {"/w/a b@{3}", 6, 3}, {"a@{0}", 5, 0},
	    {"a@{}", 4, 0},       {"@{1}", 4, 0},
	    {"a@{1", 4, 0},       {"a@1", 3, 0},
	    {"a@{1}b", 6, 0},     {"a@{x}", 5, 0},
	    {"a@{-1}", 6, 0},     {"a@{1}@{2}", 5, 2},
	    {"a@{+1}", 6, 0},     {"a@{99999999999999999999}", 24, 0},
	    {"", 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t n = 77;
		size_t length = target_split(rows[i].text, &n);
		if (length != rows[i].length || n != rows[i].n)
			fail_msg("'%s': %zu bytes and %llu", rows[i].text, length, (unsigned long long)n);
	}
}

static void paths_are_absolute(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"/nowhere/a", "/nowhere/a"},
	    {"/nowhere/a/", "/nowhere/a"},
	    {"/nowhere/./a", "/nowhere/a"},
	    {"/nowhere/b/../a", "/nowhere/a"},
	    {"/nowhere/../../a", "/a"},
	    {"/", "/"},
	    {"/nowhere/f.h5//g/d", "/nowhere/f.h5//g/d"},
	    {"/nowhere/f.h5//g//d/", "/nowhere/f.h5//g/d"},
	    {"/nowhere/f.h5//", "/nowhere/f.h5//"},
	    {"/nowhere/f.h5//./g", "/nowhere/f.h5//g"},
	    {"/nowhere/f.h5//g@.", "/nowhere/f.h5//g@."},
	    {"/nowhere/x/../f.h5//d", "/nowhere/f.h5//d"},
	};
	struct buf b = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		target_path(rows[i].text, &b);
		assert_string_equal(buf_cstr(&b), rows[i].want);
	}
	/* relative to where one stands, without symbolic links */
	char link[PATH_MAX], want[PATH_MAX];
	snprintf(link, sizeof(link), "%s/link", history_home);
	assert_int_equal(symlink("logs", link), 0);
	assert_int_equal(chdir(history_home), 0);
	snprintf(want, sizeof(want), "%s/logs/new/x", history_home);
	target_path("link/new/../new/x", &b);
	assert_string_equal(buf_cstr(&b), want);
	snprintf(want, sizeof(want), "%s/gone", history_home);
	target_path("gone", &b);
	assert_string_equal(buf_cstr(&b), want);
	assert_int_equal(target_object("logs//x"), 0); /* the first part is a folder */
	assert_int_equal(target_object("gone//x"), 4);
	assert_int_equal(target_object("//x"), 0);
	assert_int_equal(target_object("gone/x"), 0);
	assert_int_equal(chdir("/"), 0);
	buf_release(&b);
}

/* ---- files on disk ---- */

static const char *in_home(const char *name)
{
	static char path[4][PATH_MAX];
	static int which;
	char *p = path[which++ % 4];
	snprintf(p, PATH_MAX, "%s/%s", history_home, name);
	return p;
}

static void put(const char *name, const char *text)
{
	int fd = open(in_home(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* The file as it is on disk now, written by p. */
static void write_real(struct history *h, uint64_t p, const char *name)
{
	struct fileid id;
	assert_int_equal(fileid_get(AT_FDCWD, in_home(name), true, &id), 0);
	history_event(h, (struct event){.kind = EVENT_domain,
	                                .domain = {.num = 2, .name = str_of(id.domain->name), .type = str_of("x")}});
	history_event(h, (struct event){.kind = EVENT_file,
	                                .file = {.num = ++h->files,
	                                         .kind = TERM_kind_regular,
	                                         .domain = 2,
	                                         .ino = id.ino,
	                                         .gen = id.gen,
	                                         .path = str_of(in_home(name))}});
	struct event_access a = {.file = h->files, .mode = ACCESS_WRITE | ACCESS_CREATE, .sure = 1, .api = TERM_api_open};
	uint64_t seq = history_event(h, (struct event){.kind = EVENT_access, .proc = p, .access = a});
	history_event(
	    h, (struct event){.kind = EVENT_state,
	                      .state = {.file = h->files, .size = id.st.stx_size, .mtime = fileid_time(&id.st.stx_mtime)}});
	history_event(h, (struct event){.kind = EVENT_access_end,
	                                .proc = p,
	                                .access_end = {.access = seq,
	                                               .until = h->now,
	                                               .evidence = TERM_evidence_must,
	                                               .state = 1,
	                                               .first = TIME_NONE,
	                                               .last = TIME_NONE}});
}

static int look(const char *text, struct file_target *ret, struct err *err)
{
	*err = (struct err){0};
	return target_file(history_store(), text, err, ret);
}

static void is_found(const char *name, uint64_t version, enum disk_state disk, enum name_state called)
{
	struct file_target t;
	struct version_info v;
	struct err err;
	if (look(in_home(name), &t, &err) != 1)
		fail_msg("%s: %s", name, err.text);
	assert_int_equal(t.disk, disk);
	assert_int_equal(t.name, called);
	assert_int_equal(store_version(history_store(), t.version, &v), 1);
	assert_int_equal(v.n, version);
	assert_int_equal(v.file, t.file);
}

static void files_on_disk(void **state)
{
	(void)state;
	struct history h;
	struct file_target t;
	struct err err;
	put("a", "12345");
	put("b", "1");
	put("new", "1");
	history_begin(&h, RUN_A, "x", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "x", 0, 0);
	write_real(&h, p, "a");
	write_real(&h, p, "b");
	history_end(&h, p);
	is_found("a", 1, DISK_SAME, NAME_SHOWN);
	store_id *ids;
	size_t n;
	uint64_t version;
	assert_int_equal(target_files(history_store(), in_home("a"), &err, &ids, &n, &version), 1);
	assert_int_equal(n, 1); /* by its identity and by its name it is one */
	free(ids);
	is_found("a@{1}", 1, DISK_SAME, NAME_SHOWN);
	is_found("a@1", 1, DISK_SAME, NAME_SHOWN);
	put("a", "123456"); /* another size */
	is_found("a", 1, DISK_CHANGED, NAME_SHOWN);
	assert_int_equal(rename(in_home("b"), in_home("c")), 0);
	is_found("c", 1, DISK_SAME, NAME_NEW); /* nobody recorded that it is called so */
	is_found("b", 1, DISK_GONE, NAME_SHOWN);
	put("d", "1");
	assert_int_equal(rename(in_home("d"), in_home("a")), 0); /* another file has the name */
	is_found("a", 1, DISK_REPLACED, NAME_SHOWN);
	assert_int_equal(unlink(in_home("a")), 0);
	is_found("a", 1, DISK_GONE, NAME_SHOWN);
	assert_int_equal(look(in_home("a@{2}"), &t, &err), -ENOENT);
	assert_non_null(strstr(err.text, "1 to 1"));
	assert_int_equal(look(in_home("new"), &t, &err), 0);
	assert_non_null(strstr(err.text, "nothing is recorded"));
	assert_null(strstr(err.text, "does not exist"));
	assert_int_equal(look(in_home("none"), &t, &err), 0);
	assert_non_null(strstr(err.text, "does not exist"));
	assert_int_equal(look(in_home("logs"), &t, &err), -EISDIR);
	assert_int_equal(look("", &t, &err), 0);
}

/* ---- names over time ---- */

/* /w/a becomes /w/b, another file takes /w/a; /w/c has two versions. */
static void tell_names(void)
{
	struct history h;
	history_begin(&h, RUN_A, "x", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "x", 0, 0);
	uint64_t first = history_file(&h, TERM_kind_regular, "/w/a", 1);
	history_write(&h, p, first, 1);
	history_name(&h, TERM_nameop_rename, first, "/w/b", "/w/a");
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/a", 2), 2);
	uint64_t twice = history_file(&h, TERM_kind_regular, "/w/c", 3);
	history_write(&h, p, twice, 3);
	history_read(&h, p, twice);
	history_write(&h, p, twice, 4);
	history_end(&h, p);
	history_begin(&h, RUN_B, "y", 1000);
	p = history_process(&h, 0);
	history_exec(&h, p, "y", 0, 0);
	history_end(&h, p);
}

static void names_over_time(void **state)
{
	(void)state;
	store_id ids[4], a, b, v;
	int64_t since;
	tell_names();
	struct store *s = history_store();
	assert_int_equal(store_files_by_path(s, str_of("/w/a"), ids, 4), 2);
	a = ids[0];
	b = ids[1];
	struct file_info f;
	assert_int_equal(store_file(s, a, &f), 1);
	assert_int_equal(f.ino, 2); /* the present holder first */
	assert_true(str_is(f.path, "/w/a") && f.named);
	assert_int_equal(store_file(s, b, &f), 1);
	assert_true(str_is(f.path, "/w/b") && f.named && f.ino == 1);
	assert_int_equal(store_files_by_path(s, str_of("/w/a"), ids, 1), 1);
	assert_int_equal(store_files_by_path(s, str_of("/w/b"), ids, 4), 1);
	assert_int_equal(ids[0], b);
	assert_int_equal(store_files_by_path(s, str_of("/w"), ids, 4), 0);
	assert_int_equal(store_files_by_path(s, str_of("/w/none"), ids, 4), 0);
	assert_int_equal(store_file_by_identity(s, str_of("uuid:test"), 2, 0, &ids[0]), 1);
	assert_int_equal(ids[0], a);
	assert_int_equal(store_file_by_identity(s, str_of("uuid:test"), 9, 0, &ids[0]), 0);
	assert_int_equal(store_file_by_identity(s, str_of("uuid:test"), 2, 1, &ids[0]), 0);
	assert_int_equal(store_file_by_identity(s, str_of("uuid:tesu"), 2, 0, &ids[0]), 0);
	/* the file got /w/a at 6 s, /w/b at 10 s, and the other one /w/a at 11 s */
	int64_t renamed = HISTORY_BEGIN + 10ll * HISTORY_SECOND;
	assert_int_equal(store_named_at(s, b, str_of("/w/a"), renamed - 1), 1);
	assert_int_equal(store_named_at(s, b, str_of("/w/a"), renamed), 0);
	assert_int_equal(store_named_at(s, b, str_of("/w/b"), renamed), 1);
	assert_int_equal(store_named_at(s, b, str_of("/w/b"), renamed - 1), 0);
	assert_int_equal(store_named_at(s, a, str_of("/w/a"), renamed + HISTORY_SECOND), 1);
	assert_int_equal(store_named_at(s, a, str_of("/w/x"), renamed), 0);
	assert_int_equal(store_named_since(s, b, str_of("/w/b"), &since), 1);
	assert_int_equal(since, renamed);
	assert_int_equal(store_named_since(s, a, str_of("/w/a"), &since), 0); /* in the place of no other */
	assert_int_equal(store_named_since(s, b, str_of("/w/c"), &since), 0);
	/* versions */
	store_id c = history_file_id("/w/c");
	assert_int_equal(store_version_of(s, c, 0, &v), 1);
	assert_int_equal(v, history_version_id("/w/c", 2));
	assert_int_equal(store_version_of(s, c, 3, &v), 0);
	struct err err = {0};
	store_id *files;
	size_t n;
	uint64_t version;
	assert_int_equal(target_files(s, "/w/a", &err, &files, &n, &version), 1);
	assert_int_equal(n, 2);
	assert_int_equal(version, 0);
	free(files);
	assert_int_equal(target_files(s, "/w/a@{1}", &err, &files, &n, &version), 1);
	assert_int_equal(n, 1);
	assert_int_equal(version, 1);
	assert_int_equal(files[0], a);
	free(files);
	struct file_target t;
	assert_int_equal(target_file(s, "/w/b", &err, &t), 1);
	assert_int_equal(t.file, b);
	assert_int_equal(t.disk, DISK_GONE);
	assert_int_equal(t.name, NAME_SHOWN);
	assert_int_equal(t.name_n, 4);
}

/* ---- ids ---- */

static void ids_and_runs(void **state)
{
	(void)state;
	struct err err = {0};
	struct target t;
	struct version_info v;
	struct exec_info x;
	char kind, text[32];
	store_id id, run;
	tell_names();
	struct store *s = history_store();
	assert_int_equal(store_version(s, history_version_id("/w/c", 2), &v), 1);
	assert_int_equal(v.pub.text[0], 'v');
	assert_int_equal(strlen(v.pub.text), 25);
	for (int length = 25; length >= 3; length--) {
		snprintf(text, sizeof(text), "%.*s", length, v.pub.text);
		int r = store_by_pubid(s, text, &kind, &id);
		assert_int_equal(r, length >= 5); /* 4 digits at least */
		assert_true(r == 0 || (kind == 'v' && id == v.id));
	}
	struct file_target f;
	snprintf(text, sizeof(text), "%.9s", v.pub.text);
	assert_int_equal(target_file(s, text, &err, &f), 1);
	assert_int_equal(f.version, v.id);
	assert_int_equal(f.n, 2);
	assert_int_equal(store_exec(s, history_exec_id("x"), &x), 1);
	snprintf(text, sizeof(text), "%.9s", x.pub.text);
	assert_int_equal(target_any(s, text, false, &err, &t), 1);
	assert_int_equal(t.kind, TARGET_EXEC);
	assert_int_equal(t.id, history_exec_id("x"));
	assert_int_equal(target_any(s, text, true, &err, &t), 0); /* behind --: a file */
	assert_int_equal(store_by_pubid(s, "x0000000000000000000000zz", &kind, &id), 0);
	assert_int_equal(store_by_pubid(s, "", &kind, &id), 0);

	static const struct {
		const char *text;
		const char *ulid; /* NULL none */
		int r;
	} runs[] = {
	    {"@", RUN_B, 1},      {"@~0", RUN_B, 1},  {"@~1", RUN_A, 1}, {"@~2", NULL, 0},
	    {"@~", NULL, 0},      {"@~x", NULL, 0},   {RUN_A, RUN_A, 1}, {"01AAAA", RUN_A, 1},
	    {"01aaaa", RUN_A, 1}, {"01BB", RUN_B, 1}, {"01B", NULL, 0},  {"BBAA", RUN_B, 1},
	    {"AAAA", RUN_A, 1},   {"01CC", NULL, 0},  {"@~-1", NULL, 0}, {"01AAAAAAAAAAAAAAAAAAAAAAAAA", NULL, 0},
	};
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct run_info info;
		int r = store_find_run(s, runs[i].text, &run);
		if (r != runs[i].r || (r == 1 && (store_run(s, run, &info) != 1 || !str_is(info.ulid, runs[i].ulid))))
			fail_msg("run '%s': %d", runs[i].text, r);
	}
	assert_int_equal(target_any(s, "@~1", false, &err, &t), 1);
	assert_int_equal(t.kind, TARGET_RUN);
	assert_int_equal(target_any(s, "01AAAA", false, &err, &t), 1);
	assert_int_equal(t.kind, TARGET_RUN);
	assert_int_equal(target_any(s, "@~9", false, &err, &t), 0);
	assert_int_equal(target_any(s, "/w/c", false, &err, &t), 1);
	assert_int_equal(t.kind, TARGET_FILE);
	store_id *all;
	size_t n;
	assert_int_equal(store_runs(s, 1, &all, &n), 0);
	assert_int_equal(n, 1);
	free(all);
	assert_int_equal(store_runs(s, 0, &all, &n), 0);
	assert_int_equal(n, 2); /* the latest first */
	assert_int_equal(store_find_run(s, "@", &run), 1);
	assert_int_equal(all[0], run);
	free(all);
}

/* A word that two runs begin with. */
static void words_of_two(void **state)
{
	(void)state;
	struct history h;
	struct err err = {0};
	struct target t;
	store_id run;
	history_begin(&h, "01AAAAAAAAAAAAAAAAAAAAAAAA", "x", 0);
	history_end(&h, history_process(&h, 0));
	history_begin(&h, "01AAAAAAAAAAAAAAAAAAAAAAAB", "x", 1000);
	history_end(&h, history_process(&h, 0));
	assert_int_equal(store_find_run(history_store(), "01AA", &run), -ENOTUNIQ);
	assert_int_equal(store_find_run(history_store(), "AAAB", &run), 1);
	assert_int_equal(target_any(history_store(), "01AA", false, &err, &t), -ENOTUNIQ);
	assert_non_null(strstr(err.text, "is ambiguous"));
}

/* Two sessions tell of one process, its exec and its end: the first in order of time holds, whatever came first here.
 */
static void tell_one_process(const char *run, const char *argv0, int64_t at, uint64_t code)
{
	struct history h;
	history_begin(&h, run, argv0, at);
	history_event(&h, (struct event){.kind = EVENT_process,
	                                 .proc = 1,
	                                 .process = {.pid = 7, .started = HISTORY_BEGIN, .forked = TIME_NONE}});
	history_exec(&h, 1, argv0, 0, 0);
	history_exit(&h, 1, TERM_ending_exited, code);
	history_end(&h, 1);
}

static void one_process_of_two_sessions(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		for (int i = 0; i < 2; i++) {
			if (i == order)
				tell_one_process(RUN_A, "first", 0, 3);
			else
				tell_one_process(RUN_B, "second", 100, 4);
			history_store();
		}
		struct store *s = history_store();
		store_id a, b, image;
		struct exec_info x;
		assert_int_equal(store_find_run(s, RUN_A, &a), 1);
		assert_int_equal(store_find_run(s, RUN_B, &b), 1);
		assert_int_equal(store_exec_at(s, 0xabc0, 7, HISTORY_BEGIN, HISTORY_BEGIN + 4ll * HISTORY_SECOND, &image), 1);
		assert_int_equal(store_exec(s, image, &x), 1);
		assert_int_equal(x.n, 0);
		assert_int_equal(x.run, a);
		assert_int_equal(x.start, HISTORY_BEGIN + 4ll * HISTORY_SECOND);
		assert_int_equal(store_exec(s, history_exec_id("first"), &x), 1);
		assert_int_equal(x.n, 1);
		assert_int_equal(x.run, a);
		assert_int_equal(x.code, 3);
		assert_int_equal(x.start, HISTORY_BEGIN + 5ll * HISTORY_SECOND);
		assert_int_equal(x.end, HISTORY_BEGIN + 6ll * HISTORY_SECOND);
		store_id *execs;
		size_t n;
		assert_int_equal(store_run_execs(s, b, &execs, &n), 0);
		assert_int_equal(n, 0); /* it is the same one */
		free(execs);
		assert_int_equal(history_teardown(state), 0);
		assert_int_equal(history_setup(state), 0);
	}
}

/* ---- folding ---- */

static void classes(void **state)
{
	(void)state;
	static const struct {
		const char *command, *exe;
		enum fold_class want;
	} rows[] = {
	    {"sort a", "/usr/bin/sort", FOLD_program},
	    {"sh run.sh", "/usr/bin/dash", FOLD_shell},
	    {"-bash", "/opt/x", FOLD_shell}, /* a login shell */
	    {"sh -c sort", "/usr/bin/dash", FOLD_command},
	    {"sh -ec sort", "/usr/bin/dash", FOLD_command},
	    {"sh -e +x -c sort", "/usr/bin/dash", FOLD_command},
	    {"sh run.sh -c", "/usr/bin/dash", FOLD_shell},
	    {"bash --norc", "/usr/bin/bash", FOLD_shell},
	    {"env A=1 sort", "/usr/bin/env", FOLD_wrapper},
	    {"make all", "/usr/bin/make", FOLD_launcher},
	    {"gcc a.c", "/usr/bin/gcc", FOLD_driver},
	    {"gcc a.c", "/usr/bin/x86_64-linux-gnu-gcc-12", FOLD_driver},
	    {"gcc a.c", "/usr/bin/gcc-12", FOLD_driver},
	    {"xgcc a.c", "/usr/bin/xgcc", FOLD_program},
	    {"gcc-12x a.c", "/usr/bin/gcc-12x", FOLD_program},
	};
	struct history h;
	history_begin(&h, RUN_A, "x", 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		history_exec(&h, history_process(&h, 0), rows[i].command,
		             history_file(&h, TERM_kind_regular, rows[i].exe, 50 + i), 0);
	history_end(&h, 1);
	store_id run, *execs;
	size_t n, k = 0;
	assert_int_equal(store_find_run(history_store(), "@", &run), 1);
	assert_int_equal(store_run_execs(history_store(), run, &execs, &n), 0);
	for (size_t i = 0; i < n; i++) {
		struct exec_info x;
		enum fold_class c;
		assert_int_equal(store_exec(history_store(), execs[i], &x), 1);
		if (!x.n)
			continue;
		assert_int_equal(fold_class(history_store(), execs[i], &c), 1);
		if (c != rows[k].want)
			fail_msg("%s of %s is %d", rows[k].command, rows[k].exe, c);
		k++;
	}
	assert_int_equal(k, sizeof(rows) / sizeof(*rows));
	free(execs);
}

static void representative_is(const char *of, const char *want)
{
	store_id rep;
	assert_int_equal(fold_representative(history_store(), history_exec_id(of), &rep), 1);
	assert_int_equal(rep, history_exec_id(want));
}

/* make starts sh, which starts gcc, which starts cc1, which starts sh -c, which starts tool; and python forks. */
static void representatives(void **state)
{
	(void)state;
	static const char *const chain[][2] = {{"make", "/usr/bin/make"},  {"sh", "/bin/dash"},
	                                       {"gcc", "/usr/bin/gcc"},    {"cc1", "/usr/lib/cc1"},
	                                       {"dash -c x", "/bin/dash"}, {"tool", "/opt/tool"}};
	struct history h;
	uint64_t p = 0;
	history_begin(&h, RUN_A, "make", 0);
	for (size_t i = 0; i < sizeof(chain) / sizeof(*chain); i++) {
		p = history_process(&h, p);
		history_exec(&h, p, chain[i][0], history_file(&h, TERM_kind_regular, chain[i][1], 50 + i), 0);
	}
	uint64_t python = history_process(&h, 0), fork, pipe = history_file(&h, TERM_kind_pipe, "", 90),
	         other = history_file(&h, TERM_kind_pipe, "", 91);
	history_exec(&h, python, "python3", history_file(&h, TERM_kind_regular, "/usr/bin/python3", 80), 0);
	fork = history_process(&h, python);
	history_access(&h, python, (struct event_access){.file = pipe, .mode = ACCESS_WRITE, .sure = 1},
	               h.now + 20ll * HISTORY_SECOND);
	history_access(&h, fork, (struct event_access){.file = pipe, .mode = ACCESS_READ, .sure = 1},
	               h.now + 20ll * HISTORY_SECOND);
	history_access(&h, fork, (struct event_access){.file = other, .mode = ACCESS_WRITE, .sure = 1},
	               h.now + 20ll * HISTORY_SECOND);
	history_access(&h, p, (struct event_access){.file = other, .mode = ACCESS_READ, .sure = 1},
	               h.now + 20ll * HISTORY_SECOND);
	history_end(&h, 1);
	representative_is("cc1", "gcc");
	representative_is("gcc", "gcc");
	representative_is("tool", "tool");
	representative_is("dash", "dash");
	representative_is("sh", "sh");
	representative_is("make", "make");
	struct edges e = {0};
	store_id py = history_exec_id("python3"), rep;
	assert_int_equal(store_informs(history_store(), py, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(fold_representative(history_store(), e.v[0].to, &rep), 1);
	assert_int_equal(rep, py);
	store_id forked = e.v[0].to;
	assert_int_equal(store_outputs(history_store(), py, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(fold_private(history_store(), e.v[0].to, py), 1);
	assert_int_equal(fold_private(history_store(), e.v[0].to, history_exec_id("gcc")), 0);
	assert_int_equal(store_outputs(history_store(), forked, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(fold_private(history_store(), e.v[0].to, py), 0); /* tool reads it, too */
	edges_release(&e);
}

/* ---- jobs ---- */

static void exec_in(struct history *h, uint64_t p, const char *argv0, const char *option, const char *cwd,
                    const struct str *env, size_t n)
{
	const struct str argv[] = {str_of(argv0), str_of("-J"), str_of(option)};
	history_event(h, (struct event){.kind = EVENT_exec,
	                                .proc = p,
	                                .exec = {.n = ++h->execs[p],
	                                         .argv = {.items = argv, .count = *option ? 3 : 1},
	                                         .cwd = str_of(cwd),
	                                         .env = {.items = env, .count = n},
	                                         .uid = 1000,
	                                         .gid = 1000}});
}

/* sbatch is called four times: with the job's name, without it, in another directory, and after the job began. */
static void submissions(void **state)
{
	(void)state;
	struct history h;
	const struct str env[] = {str_of("SLURM_JOB_ID=77"), str_of("SLURM_SUBMIT_DIR=/w"), str_of("SLURM_SUBMIT_HOST=h1"),
	                          str_of("SLURM_JOB_NAME=fit")};
	history_begin(&h, RUN_A, "x", 0);
	exec_in(&h, history_process(&h, 0), "sbatch", "fit", "/w", NULL, 0);
	exec_in(&h, history_process(&h, 0), "/usr/bin/sbatch", "", "/w", NULL, 0);
	exec_in(&h, history_process(&h, 0), "qsub", "fit", "/v", NULL, 0);
	exec_in(&h, history_process(&h, 0), "sbatchx", "fit", "/w", NULL, 0);
	history_end(&h, 1);
	history_begin(&h, RUN_B, "x", 1000);
	uint64_t job = history_process(&h, 0);
	exec_in(&h, job, "work", "", "/w", env, 4);
	exec_in(&h, history_process(&h, job), "srun", "fit", "/w", NULL, 0);
	history_end(&h, 1);
	struct store *s = history_store();
	store_id work = history_exec_id("work"), first = history_exec_id("sbatch"),
	         second = history_exec_id("/usr/bin/sbatch");
	struct submit_edges *edges;
	assert_int_equal(submit_edges_new(s, 0, &edges), 0);
	for (int again = 0; again < 2; again++) { /* what is known from before, too */
		assert_int_equal(submit_edges_is(edges, first), 1);
		assert_int_equal(submit_edges_is(edges, second), 1);
		assert_int_equal(submit_edges_is(edges, history_exec_id("qsub")), 1);
		assert_int_equal(submit_edges_is(edges, history_exec_id("sbatchx")), 0);
		assert_int_equal(submit_edges_is(edges, work), 0);
	}
	submit_edges_free(edges);
	struct submissions l;
	assert_int_equal(submit_of(s, work, 0, &l), 0);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.v[0].exec, first); /* whose name agrees comes first */
	assert_true(l.v[0].named && !l.v[0].sure);
	assert_int_equal(l.v[1].exec, second);
	assert_false(l.v[1].named || l.v[1].sure);
	submissions_release(&l);
	assert_int_equal(submit_of(s, first, 0, &l), 0); /* it is of no job */
	assert_int_equal(l.n, 0);
	submissions_release(&l);
	assert_int_equal(submit_jobs(s, first, 0, &l), 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.v[0].exec, work);
	assert_string_equal(l.v[0].job, "77");
	assert_true(l.v[0].named);
	submissions_release(&l);
	assert_int_equal(submit_jobs(s, history_exec_id("qsub"), 0, &l), 0);
	assert_int_equal(l.n, 0);
	submissions_release(&l);
	struct submit_edges *x;
	struct edges e = {0};
	assert_int_equal(submit_edges_new(s, 0, &x), 0);
	assert_int_equal(submit_edges_add(x, work, false, &e), 0);
	assert_int_equal(e.n, 2);
	for (size_t i = 0; i < e.n; i++) {
		assert_true(e.v[i].to == first || e.v[i].to == second);
		assert_int_equal(e.v[i].via, TERM_via_submit);
		assert_false(e.v[i].sure);
	}
	e.n = 0;
	assert_int_equal(submit_edges_add(x, second, true, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.v[0].to, work);
	edges_release(&e);
	submit_edges_free(x);
}

/* Ways to name a job in its submission: an option, or the script where none does. */
static void names_of_jobs(void **state)
{
	static const struct {
		const char *words[2];
		bool named;
	} rows[] = {{{"-J", "fit"}, true},
	            {{"-Jfit", ""}, true},
	            {{"--job-name=fit", ""}, true},
	            {{"--job-name", "fit"}, true},
	            {{"fit", ""}, true},
	            {{"/w/scripts/fit", "x"}, true},
	            {{"-J", "other"}, false},
	            {{"-Jother", "fit"}, false},
	            {{"--job-name=other", "fit"}, false},
	            {{"xJother", "fit"}, true}, /* no option */
	            {{"xJfit", ""}, false},
	            {{"--job-name", ""}, false},
	            {{"-J", ""}, false},
	            {{"fitx", ""}, false},
	            {{"", ""}, false}};
	const struct str env[] = {str_of("SLURM_JOB_ID=77"), str_of("SLURM_SUBMIT_DIR=/w"), str_of("SLURM_SUBMIT_HOST=h1"),
	                          str_of("SLURM_JOB_NAME=fit")};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct history h;
		struct submissions l;
		assert_true(i == 0 || (history_teardown(state) == 0 && history_setup(state) == 0));
		history_begin(&h, RUN_A, "x", 0);
		uint64_t p = history_process(&h, 0);
		const struct str argv[] = {str_of("sbatch"), str_of(rows[i].words[0]), str_of(rows[i].words[1])};
		size_t n = !*rows[i].words[0] ? 1 : !*rows[i].words[1] ? 2 : 3;
		history_event(&h, (struct event){.kind = EVENT_exec,
		                                 .proc = p,
		                                 .exec = {.n = ++h.execs[p],
		                                          .argv = {.items = argv, .count = n},
		                                          .cwd = str_of("/w"),
		                                          .uid = 1000,
		                                          .gid = 1000}});
		history_end(&h, 1);
		history_begin(&h, RUN_B, "x", 1000);
		exec_in(&h, history_process(&h, 0), "work", "", "/w", env, 4);
		history_end(&h, 1);
		assert_int_equal(submit_of(history_store(), history_exec_id("work"), 0, &l), 0);
		assert_int_equal(l.n, 1);
		if (l.v[0].named != rows[i].named)
			fail_msg("sbatch %s %s", rows[i].words[0], rows[i].words[1]);
		submissions_release(&l);
	}
}

/* An index that was opened to be read is not brought up to date. */
static void read_only(void **state)
{
	(void)state;
	struct history h;
	struct err err = {0};
	struct store *s;
	history_begin(&h, RUN_A, "x", 0);
	history_end(&h, 0);
	history_store();
	assert_int_equal(store_open(history_home, STORE_READ, &err, &s), 0);
	assert_int_equal(store_index(s, &(struct store_index_options){0}, &err, NULL), -EROFS);
	store_close(s);
}

/* ---- what programs said ---- */

static void told(struct history *h, uint64_t app, const char *name, double value, int64_t step)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	history_event(
	    h, (struct event){
	           .kind = EVENT_app_metric,
	           .app_metric = {.app = app, .name = str_of(name), .number = bits, .stepped = step >= 0, .step = step}});
}

static void figures_of_a_run(void **state)
{
	(void)state;
	struct history h;
	history_begin(&h, RUN_A, "x", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "x", 0, 0);
	uint64_t app = history_event(
	    &h,
	    (struct event){
	        .kind = EVENT_app,
	        .proc = p,
	        .app = {.run = str_of(RUN_A), .pid = 101, .started = HISTORY_BEGIN + 3ll * HISTORY_SECOND, .image = 1}});
	struct event word = {
	    .kind = EVENT_app_word,
	    .app_word = {.app = app, .said = TERM_said_config, .name = str_of("rate"), .value = str_of("1")}};
	history_event(&h, word);
	word.app_word.value = str_of("2");
	history_event(&h, word);
	word.app_word = (struct event_app_word){.app = app, .said = TERM_said_type, .name = str_of("training")};
	history_event(&h, word);
	told(&h, app, "loss", 5, 0);
	told(&h, app, "loss", 1, 1);
	told(&h, app, "loss", 9, 2);
	told(&h, app, "loss", 3, 3);
	told(&h, app, "other", -1, -1);
	history_end(&h, p);
	struct app_log d;
	struct app_log_run *v;
	size_t n;
	assert_int_equal(app_log_load(history_store(), 0, &d), 0);
	assert_false(app_log_is_empty(&d));
	assert_int_equal(app_log_runs(&d, &v, &n), 0);
	assert_int_equal(n, 1);
	assert_true(str_is(v[0].type, "training"));
	const struct app_log_config *c = app_log_config_of(&v[0], str_of("rate"));
	assert_non_null(c);
	assert_true(str_is(c->value, "2")); /* what was told last counts */
	assert_int_equal(c->values, 2);
	assert_null(app_log_config_of(&v[0], str_of("loss")));
	const struct app_log_metric *m = app_log_metric_of(&v[0], str_of("loss"));
	assert_non_null(m);
	assert_int_equal(m->n, 4);
	assert_true(m->first == 5 && m->last == 3 && m->least == 1 && m->most == 9 && m->sum == 18);
	assert_true(m->stepped && m->last_step == 3 && m->least_step == 1 && m->most_step == 2);
	m = app_log_metric_of(&v[0], str_of("other"));
	assert_true(m && m->n == 1 && m->first == -1 && m->most == -1 && !m->stepped);
	assert_null(app_log_metric_of(&v[0], str_of("none")));
	store_id exec;
	const struct app_log_image *by = app_log_image_of(&d, &d.metrics.v[0], app);
	assert_non_null(by);
	assert_int_equal(app_log_exec(&d, by, d.metrics.v[0].ev.time, &exec), 1);
	assert_int_equal(exec, history_exec_id("x"));
	assert_null(app_log_image_of(&d, &d.metrics.v[0], app + 1));
	app_log_runs_free(v, n);
	app_log_release(&d);
	/* an execution is current from its very start */
	const int64_t began = HISTORY_BEGIN + 3ll * HISTORY_SECOND, exec_began = HISTORY_BEGIN + 5ll * HISTORY_SECOND;
	struct exec_info x;
	assert_int_equal(store_exec_at(history_store(), 0xabc0, 101, began, exec_began, &exec), 1);
	assert_int_equal(exec, history_exec_id("x"));
	assert_int_equal(store_exec_at(history_store(), 0xabc0, 101, began, exec_began - 1, &exec), 1);
	assert_int_equal(store_exec(history_store(), exec, &x), 1);
	assert_int_equal(x.n, 0);
	assert_int_equal(store_exec_at(history_store(), 0xabc0, 101, began + 1, exec_began, &exec),
	                 0); /* another process */
	assert_int_equal(store_exec_at(history_store(), 0xabc0, 102, began, exec_began, &exec), 0);
	assert_int_equal(store_exec_at(history_store(), 0xabc1, 101, began, exec_began, &exec), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, history_setup, history_teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions_are_split_off),
	    TEST(paths_are_absolute),
	    TEST(files_on_disk),
	    TEST(names_over_time),
	    TEST(ids_and_runs),
	    TEST(words_of_two),
	    TEST(one_process_of_two_sessions),
	    TEST(classes),
	    TEST(representatives),
	    TEST(submissions),
	    TEST(names_of_jobs),
	    TEST(read_only),
	    TEST(figures_of_a_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
