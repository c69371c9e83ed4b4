/* history.h - logs for unit tests: who ran what when, as a few calls, and the store that they make.
 *
 * Time begins at 2026-01-01T00:00:00Z and goes on by a second with each call, so that everything is determined. The
 * first call of a test that does not hold fails the test. */
#ifndef STEMMA_TESTS_HISTORY_H
#define STEMMA_TESTS_HISTORY_H

#include "base/buf.h"
#include "event/log_writer.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HISTORY_BEGIN 1767225600000000000 /* ns */
#define HISTORY_SECOND 1000000000
#define HISTORY_PROCESSES 32

/* One session with one run. */
struct history {
	struct log_writer *w;
	const char *run; /* its ULID, "" a session without a run */
	int64_t now;
	uint64_t files, processes;
	uint64_t pids;                     /* process p has pids + p */
	uint64_t execs[HISTORY_PROCESSES]; /* number of the last execution of each process */
};

/* The folder of the record; empty before each test. */
extern char history_home[];
int history_setup(void **state);    /* for cmocka */
int history_teardown(void **state); /* for cmocka: removes the folder, closes the store */
/* Each event is written and indexed before the next one; false again after each test. */
extern bool history_stepwise;

/* Begins a session of host h1, and in it (run not "") a run of the command, which is split at blanks, by ann. at:
 * seconds since HISTORY_BEGIN, another for each; the session's number is 0xabc0 + at, whatever came before. */
void history_begin(struct history *h, const char *run, const char *command, int64_t at);
/* The same, of a run that is started elsewhere than in /w. */
void history_begin_in(struct history *h, const char *run, const char *command, int64_t at, const char *cwd);
/* An event a second later; its seq. The time of ev is not looked at. */
uint64_t history_event(struct history *h, struct event ev);
/* Numbers, for the calls below. parent 0: not recorded. */
uint64_t history_process(struct history *h, uint64_t parent);
/* exe, script: files, 0 none. command as in history_begin. */
void history_exec(struct history *h, uint64_t p, const char *command, uint64_t exe, uint64_t script);
/* A file that has the path; ino is its identity, of all sessions. */
uint64_t history_file(struct history *h, unsigned kind, const char *path, uint64_t ino);
/* p has the file open for one second; the access's seq. */
uint64_t history_read(struct history *h, uint64_t p, uint64_t file);
/* The same, creating; size: of the file when it is closed. */
uint64_t history_write(struct history *h, uint64_t p, uint64_t file, uint64_t size);
/* An access of any kind, from now to `until`: its mode, via and whether it is sure. */
uint64_t history_access(struct history *h, uint64_t p, struct event_access a, int64_t until);
void history_name(struct history *h, unsigned op, uint64_t file, const char *path, const char *old);
void history_exit(struct history *h, uint64_t p, unsigned ending, uint64_t code);
/* Ends run (p: its first process) and session, and closes the log. */
void history_end(struct history *h, uint64_t p);

/* The store of all logs that were ended, indexed; history_teardown closes it. */
struct store *history_store(void);
/* From here on the store is one that is made anew. */
void history_rebuild(void);

/* ---- asking ---- */

store_id history_file_id(const char *path);                /* the one file that has the path */
store_id history_version_id(const char *path, uint64_t n); /* its version n */
store_id history_exec_id(const char *argv0);               /* the one execution with that first argument */

#endif
