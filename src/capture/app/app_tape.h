/* app_tape.h - the writing side of app_format.h: in the user's programs. No malloc, no stdio, no lock, no descriptor
 * kept; errno is the program's. Any thread; after fork and vfork; from a signal handler. Each library that has it has
 * one of its own, with its own state. */
#ifndef STEMMA_CAPTURE_APP_TAPE_H
#define STEMMA_CAPTURE_APP_TAPE_H

#include "capture/app/app_format.h"

#include <stdbool.h>
#include <stddef.h>

struct app_words {
	const char *name, *version, *value;
	size_t nname, nversion, nvalue;
};
/* 0: not looked yet, 1: somebody records, 2: nobody does. Read it by app_tape_on. */
extern int app_tape_state;
int app_tape_look(void);
/* Does anybody record what the program says of itself? */
static inline bool app_tape_on(void)
{
	int is = __atomic_load_n(&app_tape_state, __ATOMIC_RELAXED);
	return is == 1 || (__builtin_expect(is == 0, 0) && app_tape_look() == 1);
}
/* The run, valid where app_tape_on. */
extern char app_tape_run[32];
extern char app_tape_tool[64];

/* Appends an entry. Of e: kind, flags, id, step, number; the rest is filled in, the activity unless it is given. */
void app_tape_put(const struct app_entry *e, const struct app_words *w);
/* An entry whose value, of so many bytes and zero, may be written to at any time from then on: counters. It never
 * moves. NULL: there is no room, which is counted. */
void *app_tape_reserve(unsigned kind, uint32_t size);
/* Numbers of activities, and the thread's own stack of them. */
uint64_t app_tape_begin(void);
void app_tape_enter(uint64_t id);
void app_tape_end(uint64_t id);
int64_t app_tape_now(void);

#endif
