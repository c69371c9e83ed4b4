#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS 32

char history_home[] = "/tmp/stemma-test-history.XXXXXX";
static struct store *opened;
bool history_stepwise;

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void make_folder(const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", history_home, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

int history_setup(void **state)
{
	(void)state;
	memcpy(history_home + sizeof(history_home) - 7, "XXXXXX", 6);
	if (!mkdtemp(history_home) || setenv("XDG_RUNTIME_DIR", history_home, 1) < 0)
		return 1;
	setenv("TZ", "UTC", 1);
	make_folder("logs");
	make_folder("logs/h1");
	make_folder("logs/h1/2026-01-01");
	return 0;
}

int history_teardown(void **state)
{
	(void)state;
	store_close(opened);
	opened = NULL;
	history_stepwise = false;
	return nftw(history_home, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The words of a command; they point into `text`, of which it takes a copy that lives until the next call. */
static struct strlist words_of(const char *text)
{
	static char copy[4096];
	static struct str word[WORDS];
	struct strlist l = {.items = word};
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *save, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(l.count < WORDS);
		word[l.count++] = str_of(w);
	}
	return l;
}

uint64_t history_event(struct history *h, struct event ev)
{
	h->now += HISTORY_SECOND;
	ev.time = h->now;
	uint64_t seq = log_writer_add(h->w, &ev);
	assert_true(seq > 0);
	if (history_stepwise) {
		assert_int_equal(log_writer_flush(h->w), 0);
		history_store();
	}
	return seq;
}

void history_begin(struct history *h, const char *run, const char *command, int64_t at)
{
	history_begin_in(h, run, command, at, "/w");
}

void history_begin_in(struct history *h, const char *run, const char *command, int64_t at, const char *cwd)
{
	char path[PATH_MAX];
	struct err err = {0};
	snprintf(path, sizeof(path), "%s/logs/h1/2026-01-01/%lld.stl", history_home, (long long)at);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	*h = (struct history){.run = run, .now = HISTORY_BEGIN + at * HISTORY_SECOND, .pids = (uint64_t)at + 100};
	assert_int_equal(log_writer_fdopen(fd, 0xabc0 + (uint64_t)at, &err, &h->w), 0);
	history_event(h, (struct event){.kind = EVENT_session,
	                                .session = {.run = str_of(run),
	                                            .host = str_of("h1"),
	                                            .boot = str_of("b1"),
	                                            .pidns = 1,
	                                            .tool = str_of("test"),
	                                            .mode = str_of("complete/test")}});
	history_event(h, (struct event){.kind = EVENT_domain,
	                                .domain = {.num = 1, .name = str_of("uuid:test"), .type = str_of("ext4")}});
	if (*run)
		history_event(h, (struct event){.kind = EVENT_run,
		                                .run = {.id = str_of(run),
		                                        .argv = words_of(command),
		                                        .cwd = str_of(cwd),
		                                        .user = str_of("ann"),
		                                        .group = str_of("lab"),
		                                        .uid = 1000,
		                                        .gid = 1000}});
}

uint64_t history_process(struct history *h, uint64_t parent)
{
	uint64_t p = ++h->processes;
	assert_true(p < HISTORY_PROCESSES);
	history_event(
	    h, (struct event){.kind = EVENT_process,
	                      .proc = p,
	                      .process = {.pid = h->pids + p, .started = h->now, .parent = parent, .forked = h->now}});
	return p;
}

void history_exec(struct history *h, uint64_t p, const char *command, uint64_t exe, uint64_t script)
{
	history_event(h, (struct event){.kind = EVENT_exec,
	                                .proc = p,
	                                .exec = {.n = ++h->execs[p],
	                                         .exe = exe,
	                                         .script = script,
	                                         .argv = words_of(command),
	                                         .cwd = str_of("/w"),
	                                         .uid = 1000,
	                                         .gid = 1000}});
	const uint64_t programs[] = {exe, script};
	for (size_t i = 0; i < 2; i++)
		if (programs[i])
			history_access(
			    h, p,
			    (struct event_access){
			        .file = programs[i], .mode = ACCESS_READ | ACCESS_PROGRAM, .sure = 1, .api = TERM_api_exec},
			    h->now + 2ll * HISTORY_SECOND);
}

uint64_t history_file(struct history *h, unsigned kind, const char *path, uint64_t ino)
{
	bool absent = kind == TERM_kind_absent;
	history_event(h, (struct event){.kind = EVENT_file,
	                                .file = {.num = ++h->files,
	                                         .kind = kind,
	                                         .domain = absent ? 0 : 1,
	                                         .ino = absent ? 0 : ino,
	                                         .path = str_of(path)}});
	return h->files;
}

uint64_t history_access(struct history *h, uint64_t p, struct event_access a, int64_t until)
{
	uint64_t seq = history_event(h, (struct event){.kind = EVENT_access, .proc = p, .access = a});
	struct event_access_end end = {.access = seq, .until = until, .first = TIME_NONE, .last = TIME_NONE};
	if (a.mode & ACCESS_WRITE)
		end.evidence = TERM_evidence_must;
	history_event(h, (struct event){.kind = EVENT_access_end, .proc = p, .access_end = end});
	return seq;
}

uint64_t history_read(struct history *h, uint64_t p, uint64_t file)
{
	return history_access(h, p,
	                      (struct event_access){.file = file, .mode = ACCESS_READ, .sure = 1, .api = TERM_api_open},
	                      h->now + 2 * HISTORY_SECOND);
}

uint64_t history_write(struct history *h, uint64_t p, uint64_t file, uint64_t size)
{
	struct event_access a = {.file = file, .mode = ACCESS_WRITE | ACCESS_CREATE, .sure = 1, .api = TERM_api_open};
	uint64_t seq = history_event(h, (struct event){.kind = EVENT_access, .proc = p, .access = a});
	history_event(h, (struct event){.kind = EVENT_state, .state = {.file = file, .size = size, .mtime = h->now}});
	history_event(h, (struct event){.kind = EVENT_access_end,
	                                .proc = p,
	                                .access_end = {.access = seq,
	                                               .until = h->now,
	                                               .evidence = TERM_evidence_must,
	                                               .state = 1,
	                                               .first = TIME_NONE,
	                                               .last = TIME_NONE}});
	return seq;
}

void history_name(struct history *h, unsigned op, uint64_t file, const char *path, const char *old)
{
	history_event(h, (struct event){.kind = EVENT_name,
	                                .name = {.op = op, .file = file, .path = str_of(path), .old = str_of(old)}});
}

void history_exit(struct history *h, uint64_t p, unsigned ending, uint64_t code)
{
	history_event(h, (struct event){.kind = EVENT_exit,
	                                .proc = p,
	                                .exit = {.ending = ending, .code = code, .cpu = 5000000, .known = 2}});
}

void history_end(struct history *h, uint64_t p)
{
	if (*h->run)
		history_event(
		    h, (struct event){
		           .kind = EVENT_run_end,
		           .proc = p,
		           .run_end = {.id = str_of(h->run), .ending = TERM_ending_exited, .cpu = 1000000, .traps = 10}});
	history_event(h, (struct event){.kind = EVENT_session_end});
	assert_int_equal(log_writer_flush(h->w), 0);
	log_writer_close(h->w);
	h->w = NULL;
}

void history_rebuild(void)
{
	struct err err = {0};
	store_close(opened);
	if (store_open(history_home, STORE_WRITE | STORE_REBUILD, &err, &opened) < 0)
		fail_msg("%s", err.text);
}

struct store *history_store(void)
{
	struct err err = {0};
	if (!opened && store_open(history_home, STORE_WRITE, &err, &opened) < 0)
		fail_msg("%s", err.text);
	if (store_index(opened, &(struct store_index_options){0}, &err, NULL) < 0)
		fail_msg("%s", err.text);
	return opened;
}

store_id history_file_id(const char *path)
{
	store_id found[2];
	assert_int_equal(store_files_by_path(history_store(), str_of(path), found, 2), 1);
	return found[0];
}

store_id history_version_id(const char *path, uint64_t n)
{
	store_id v;
	assert_int_equal(store_version_of(history_store(), history_file_id(path), n, &v), 1);
	return v;
}

store_id history_exec_id(const char *argv0)
{
	store_id *runs, *execs, found = 0;
	size_t n_runs, n_execs;
	assert_int_equal(store_runs(history_store(), 100, &runs, &n_runs), 0);
	for (size_t i = 0; i < n_runs; i++) {
		assert_int_equal(store_run_execs(opened, runs[i], &execs, &n_execs), 0);
		for (size_t k = 0; k < n_execs; k++) {
			struct exec_info x;
			struct str first;
			size_t pos = 0;
			assert_int_equal(store_exec(opened, execs[k], &x), 1);
			if (strlist_next(&x.argv, &pos, &first) && str_is(first, argv0)) {
				assert_int_equal(found, 0);
				found = execs[k];
			}
		}
		free(execs);
	}
	free(runs);
	assert_true(found > 0);
	return found;
}
