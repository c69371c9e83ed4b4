/* open_code.h - code that opens a file to read and writes down what it did, so that the call need not be stopped
 * (doc/opens.md). x86-64 only.
 *
 * Budget of an open: 60 ns beside the call and the filter: a locked increment, a reading of the time-stamp counter, a
 * copy of the path. No lock, no call of its own, 200 bytes of stack. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_OPEN_CODE_H
#define STEMMA_CAPTURE_INLINE_OPEN_OPEN_CODE_H

#include "capture/inject/sites.h"
#include "capture/seccomp/unstopped.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPENS_SLOTS 16 /* programs of a run with a log at a time */
#define OPENS_CELLS 2048
#define OPENS_CELL 64
#define OPENS_PATH 4096 /* with its NUL */
#define OPENS_ENTRY_CELLS ((24 + OPENS_PATH + OPENS_CELL - 1) / OPENS_CELL)

/* Begins in a cell; the path, with its NUL, follows and may fill further ones. */
struct opens_entry {
	uint64_t tsc;  /* before the call */
	int32_t value; /* the descriptor, or -errno: only those after which the path has been read */
	uint32_t flags;
	uint32_t length; /* of the path, with its NUL */
	uint32_t cells;
};

struct opens_slot {
	uint32_t pos;   /* cells ever written; the program's */
	uint32_t taken; /* ... read; the recorder's */
	uint32_t gate;  /* the recorder's: not 0: opens are to stop */
	int32_t busy;   /* the program's: an open is under way */
	uint32_t lost;  /* the program's: entries for which there was no room */
	uint32_t most;  /* the recorder's: with more cells than that to be read, opens stop */
	unsigned char room[40];
	unsigned char
	    cell[(OPENS_CELLS + OPENS_ENTRY_CELLS) * OPENS_CELL]; /* the last entry of a round goes on behind it */
};

/* Cells that may wait to be read: there is room then for one more. Of a program that counts (sites.h) fewer, since each
 * open and close is an entry in that log, too. */
#define OPENS_MOST (OPENS_CELLS - 4 * OPENS_ENTRY_CELLS)
#define OPENS_MOST_COUNTED (COUNTED_LOG / 8)

/* The entry at cell number from, of those up to pos, copied; its path lies behind it in the log (*ret_path), and may
 * change at any time, as all of the log may. Its cells; -EBADMSG: it is none. */
int opens_entry_read(const struct opens_slot *log, uint32_t from, uint32_t pos, struct opens_entry *ret,
                     const unsigned char **ret_path);

#define OPENS_LOG_SIZE ((sizeof(struct opens_slot) + 4095) & ~(size_t)4095)

/* The page behind the log: the program's own, wiped in a child with memory of its own. */
struct opens_own {
	uint64_t slot; /* address of its log in its memory; 0: opens stop */
	uint64_t pid;
	uint64_t missed; /* opens that went into no log: the handler of a signal had forked in the middle of one */
};
/* Where things lie. The code and this page are private memory of the process. Its log is memory that it shares with the
 * recorder and nobody else; a forked child does not get it (MADV_DONTFORK). The code may run in such a child, if the
 * handler of a signal has forked in the middle of it. Then it would meet a hole where its parent has the log. So the
 * page above the log is one that grows downwards, and the kernel fills that hole with memory of the child's own; for
 * this there must be nothing within a megabyte below the log. */
#define OPENS_OWN (OPENS_PAGE + 0x400000ull)
#define OPENS_LOG (OPENS_OWN - OPENS_LOG_SIZE)
/* The same for the table of a program that counts its bytes, where it is shared (sites.h): the page above it. */
#define OPENS_ABOVE_TABLE (OPENS_PAGE + 0x800000ull)

/* The code for OPENS_PAGE, and its size; 0: there is none for this architecture. */
size_t opens_code(const void **ret);

/* Is it a site that is jumped from? Then from here, by the five bytes that load the call's number, which the stub does
 * instead. The call itself stays where it is: a handler that interrupted it can return behind it. */
bool opens_wants(const struct site *s);
uint64_t opens_from(const struct site *s);
/* Of an open: what stands there until it is jumped from. */
void opens_before(const struct site *s, unsigned char ret[LOAD_BYTES]);
/* Makes the stubs for a library loaded at base, to lie at code. Sites that are not wanted have at 0. counted: the stubs
 * at counted_code that count, which come after these; NULL: there are none. 0, or -ERANGE. */
int opens_stubs(const struct sites *s, uint64_t base, uint64_t code, const struct stubs *counted, uint64_t counted_code,
                struct stubs *ret);

#endif
