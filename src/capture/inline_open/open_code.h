/* open_code.h - code that opens a file to read and writes down what it did, so that the call need not be stopped
 * (doc/opens.md). x86-64 only.
 *
 * Budget of an open: 60 ns beside the call and the filter: a locked increment, a reading of the time-stamp counter, a
 * copy of the path. No lock, 200 bytes of stack. By a folder's descriptor, and of a folder, one fstat more, 0.15 us. */
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
	uint16_t cells;
	uint16_t folder; /* 1 + the row of opens_slot.folder that a relative path begins in; 0: the working directory */
};
#define OPENS_MADE                                                                                                     \
	0x8000u /* with folder: it is one itself, and has what it is (struct opens_folder_row) before its path */

/* A folder that the recorder knows by its name, or will know when it has read the log (opens_folders.h). ino 0: none.
 */
#define OPENS_FOLDERS 64
struct opens_folder_row {
	uint64_t dev, ino; /* st_dev and st_ino */
};

struct opens_slot {
	uint32_t pos;   /* cells ever written; the program's */
	uint32_t taken; /* ... read; the recorder's */
	uint32_t gate;  /* the recorder's: not 0: opens are to stop */
	int32_t busy;   /* the program's: an open is under way */
	uint32_t lost;  /* the program's: entries for which there was no room */
	uint32_t most;  /* the recorder's: with more cells than that to be read, opens stop */
	uint32_t notes; /* the recorder's: folders that are opened are to be put into the table */
	unsigned char room[36];
	unsigned char stat[144]; /* the program's: what fstat says of a folder */
	unsigned char room2[48];
	/* Of both: by the last bits of ino. An open by the descriptor of another folder stops. */
	struct opens_folder_row folder[OPENS_FOLDERS];
	unsigned char
	    cell[(OPENS_CELLS + OPENS_ENTRY_CELLS) * OPENS_CELL]; /* the last entry of a round goes on behind it */
};

/* Cells that may wait to be read: there is room then for one more. Of a program that counts (sites.h) fewer, since each
 * open and close is an entry in that log, too. */
#define OPENS_MOST (OPENS_CELLS - 4 * OPENS_ENTRY_CELLS)
#define OPENS_MOST_COUNTED (COUNTED_LOG / 8)

/* The entry at cell number from, of those up to pos, copied, and which folder it is (ino 0: none; ret->folder is
 * without OPENS_MADE); its path lies behind it in the log (*ret_path), and may change at any time, as all of the log
 * may. Its cells; -EBADMSG: it is none. */
int opens_entry_read(const struct opens_slot *log, uint32_t from, uint32_t pos, struct opens_entry *ret,
                     struct opens_folder_row *ret_made, const unsigned char **ret_path);

/* The log of one thread of a program with several. Its entries have what fstat says of the descriptor, for others could
 * change the path while the kernel read it. An entry may be begun and never counted: the thread was cancelled. */
#define OPENS_THREADS 16 /* threads of a program with a log at a time */
#define OPENS_THREAD_CELLS 512
struct opens_thread_entry {
	struct opens_entry e;
	uint64_t dev, ino; /* st_dev and st_ino; both 0: fstat failed, or there is no file */
};
#define OPENS_THREAD_ENTRY_CELLS ((sizeof(struct opens_thread_entry) + OPENS_PATH + OPENS_CELL - 1) / OPENS_CELL)
struct opens_thread {
	uint32_t pos, taken, gate; /* as above; gate: not 0: opens are to stop */
	int32_t busy;
	uint32_t lost, most;
	uint32_t tid;   /* the program's, as all that follows: who is busy; */
	uint32_t shut;  /* it is about to make a child, which may have its memory and its pointer */
	uint64_t frame; /* of the open that is under way, */
	uint64_t path;  /* ... its path's address, counter and flags */
	uint64_t tsc;
	uint32_t flags, unused;
	unsigned char stat[144];
	unsigned char room[48];
	unsigned char cell[(OPENS_THREAD_CELLS + OPENS_THREAD_ENTRY_CELLS) * OPENS_CELL];
};
#define OPENS_THREAD_MOST (OPENS_THREAD_CELLS - 2 * OPENS_THREAD_ENTRY_CELLS)
#define OPENS_THREAD_SIZE ((sizeof(struct opens_thread) + 4095) & ~(size_t)4095)

/* The entry at cell number from, as opens_entry_read. */
int opens_thread_entry_read(const struct opens_thread *log, uint32_t from, uint32_t pos, struct opens_thread_entry *ret,
                            const unsigned char **ret_path);

/* The memory of a program's logs: those of its threads, and behind them its own. */
#define OPENS_SLOT_SIZE ((sizeof(struct opens_slot) + 4095) & ~(size_t)4095)
#define OPENS_SLOT_AT (OPENS_THREADS * OPENS_THREAD_SIZE)
#define OPENS_LOG_SIZE (OPENS_SLOT_AT + OPENS_SLOT_SIZE)

/* The page behind the logs: the program's own, wiped in a child with memory of its own. */
struct opens_own {
	uint64_t slot; /* address of its log in its memory; 0: opens stop */
	uint64_t pid;
	uint64_t missed; /* opens that went into no log: the handler of a signal had forked in the middle of one */
	/* Behind a thread's pointer: where it says whether it is to be cancelled (sites.h), where its number is. 0: its
	 * threads' opens stop. */
	uint32_t cancel, tid;
	uint32_t threads; /* not 0: some thread has, or had, a log */
	uint32_t unused[7];
	/* Whose log is whose: the thread's pointer, 0: nobody's; the log's address. Written by the recorder alone. */
	struct opens_table {
		uint64_t pointer, log;
	} table[OPENS_THREADS];
	/* Threads that have found no log, by the last bits of their numbers. */
	struct opens_want {
		uint64_t pointer, tid;
	} want[OPENS_THREADS];
};
/* Where things lie. The code and this page are private memory of the process. Its log is memory that it shares with the
 * recorder and nobody else; a forked child does not get it (MADV_DONTFORK). The code may run in such a child, if the
 * handler of a signal has forked in the middle of it. Then it would meet a hole where its parent has the log. So the
 * page above the log is one that grows downwards, and the kernel fills that hole with memory of the child's own; for
 * this there must be nothing within a megabyte below the log. */
#define OPENS_OWN (OPENS_PAGE + 0x400000ull)
#define OPENS_LOG (OPENS_OWN - OPENS_LOG_SIZE)
#define OPENS_SLOT (OPENS_LOG + OPENS_SLOT_AT)

/* The code for OPENS_PAGE, and its size; 0: there is none for this architecture. */
size_t opens_code(const void **ret);
/* Where its parts lie, in a program (open_code.c says what each is for). */
enum opens_routine { OPENS_CODE, OPENS_PREPARE, OPENS_DONE, OPENS_SHUT, OPENS_THREAD, OPENS_ROUTINES };
uint64_t opens_routine_at(enum opens_routine which);

/* Is it a site that is jumped from? Then from here, by the five bytes that load the call's number, which the stub does
 * instead. The call itself stays where it is: a handler that interrupted it can return behind it. */
bool opens_wants(const struct site *s);
uint64_t opens_from(const struct site *s);
/* Of an open: what stands there until it is jumped from. */
void opens_before(const struct site *s, unsigned char ret[LOAD_BYTES]);
/* Makes the stubs for a library loaded at base, to lie at code. Sites that are not wanted have at 0. counted: the stubs
 * at counted_code that count, which come after these; NULL: there are none. Without those, the stubs of framed opens
 * are made, too. 0, or -ERANGE. */
int opens_stubs(const struct sites *s, uint64_t base, uint64_t code, const struct stubs *counted, uint64_t counted_code,
                struct stubs *ret);

#endif
