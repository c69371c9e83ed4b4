/* What the tests of the log share: a folder to work in, events that are known from their number, reading with checks.
 */
#ifndef STEMMA_TESTS_LOG_COMMON_H
#define STEMMA_TESTS_LOG_COMMON_H

#include "event/log_reader.h"
#include "event/log_writer.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BASE 1732190000000000000 /* ns */
#define SESSION 0x1122334455667788u

extern char dir[]; /* made by dir_make, with XDG_RUNTIME_DIR in it */
int dir_make(void);
void dir_remove(void);
/* A path in dir; the latest four stay valid. */
const char *in_dir(const char *name);
/* A file's bytes; free them. */
char *slurp(const char *path, size_t *ret_n);
void spill(const char *path, const void *p, size_t n);

/* The i-th event of every test: what must come back is known from its seq alone. path_len > 0: a file event with a path
 * of that length. */
void event_of(uint64_t i, size_t path_len, struct event *ret);
/* A writer on a new file, opened with flags besides. */
struct log_writer *writer_on(const char *path, int flags);
/* Adds the events of event_of, which must get these numbers. */
void add(struct log_writer *w, uint64_t from, uint64_t to);

struct log_reader *reader_on(const char *path);
/* Reads all; events other than gap and note must be those of event_of. Counts them in seen[seq], of `max`. */
struct tally {
	uint64_t frames, events, gap_lost, gaps;
	uint8_t *seen;
	uint64_t max;
};
void read_all(struct log_reader *r, struct tally *t);
void no_damage(struct log_reader *r);

/* A writer in the store dir/home, for host h. */
struct log_writer *lease(const char *day);
/* The path of a segment of its slot 0. */
const char *rolled_path(const char *day, unsigned roll);
/* Reads all segments of slot 0. */
void read_dir(const char *day, struct tally *t, unsigned *ret_files);

/* Runs part() in a child, since it changes what cannot be changed back. Its assertions print and end it. */
void in_child(void (*part)(void));
/* Moves to a mount namespace of our own: NULL, or why not. */
const char *own_mounts(void);
/* Whether own_mounts will do; prints why a test is skipped. */
bool can_mount(const char *test);

#endif
