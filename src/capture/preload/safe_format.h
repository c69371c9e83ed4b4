/* safe_format.h - what the library of --capture=safe and the worker of `stemma run` share: memory of a fixed size,
 * mapped by both. The library writes, the worker reads; a process may be killed at any instruction, and may scribble on
 * all of it.
 *
 * Programs find it by a variable: /proc/PID/fd/N:TOKEN, a descriptor of the worker's. Only a process with the worker's
 * user can open that path. The memory is sealed against shrinking, so no program can take it away from another one.
 *
 * Behind a header of one page lie chunks of one page. A process claims a chunk by putting its number into `owner`, and
 * appends events: it reserves room by adding to `head`, fills it, and writes the event's size last. The worker reads
 * events in order up to the first without a size, and gives a chunk back when it has been filled and read. There is no
 * lock that somebody who was killed could hold. An event says by itself whose it is, so that one written late, to a
 * chunk that has become another's, does no harm. The other kind of chunk holds counters, of 18 open files each, which
 * the worker reads when the process has ended.
 *
 * Times are those of CLOCK_BOOTTIME, in ns. */
#ifndef STEMMA_CAPTURE_PRELOAD_SAFE_FORMAT_H
#define STEMMA_CAPTURE_PRELOAD_SAFE_FORMAT_H

#include "event/sizes.h"

#include <assert.h>
#include <stdint.h>

#define SAFE_MAGIC 0x3153616d6d657453u /* "StemmaS1" */
#define SAFE_ENV "STEMMA_SAFE"
#define SAFE_TOKEN 16 /* hexadecimal digits behind the path, which differ in each run */
#define SAFE_PAGE 4096
#define SAFE_ROOM 4032
#define SAFE_CHUNKS_MAX 16384
#define SAFE_HANDLES 18
#define SAFE_END UINT32_MAX  /* instead of an event's size: the rest of the chunk stays empty */
#define SAFE_STRING_MAX 3000 /* of a piece of text */
#define SAFE_PATH_MAX 4200

struct safe_region {
	uint64_t magic;
	uint32_t nchunks;
	uint32_t bell;    /* a futex: rung when chunks get few */
	uint64_t dropped; /* events that found no room */
	uint32_t pid;     /* the worker's */
	uint32_t hint;    /* where a free chunk was found last */
	char token[SAFE_TOKEN];
	unsigned char rest[SAFE_PAGE - 32 - SAFE_TOKEN];
};

enum safe_chunk_kind { SAFE_EVENTS, SAFE_COUNTERS };

struct safe_chunk {
	uint32_t owner; /* process number; 0: free */
	uint32_t head;  /* bytes reserved, more than SAFE_ROOM once it was filled */
	uint32_t kind;
	uint32_t image;
	unsigned char rest[48];
	unsigned char room[SAFE_ROOM];
};

enum safe_kind {
	SAFE_BORN =
	    1,       /* a process began by fork; a: its parent, b: the parent's image, fd: 1 by vfork; struct safe_birth */
	SAFE_IMAGE,  /* a program began; a: parent, b: start in ticks; two strings: its path, its directory; stats: it, root
	              */
	SAFE_TEXT,   /* a piece of a list; a: enum safe_list, b: 1 last piece of its string */
	SAFE_READY,  /* all that a program found when it began has been said */
	SAFE_OPEN,   /* a: flags, b: SAFE_WAS_*; fd, oid; stats: after, before */
	SAFE_ABSENT, /* a path was not there; a: 1 asked for by an exec */
	SAFE_HELD,   /* a descriptor that was found; a: flags of the open file */
	SAFE_LIBRARY,  /* a file that the dynamic linker mapped */
	SAFE_DUP,      /* fd is now what oid is */
	SAFE_CLOSE,    /* fd is closed; a: enum safe_close; stat: the file then, where it could be written */
	SAFE_IO,       /* a row of counters of oid follows */
	SAFE_MAP,      /* oid is mapped; a: 1 shared and writable, b: length */
	SAFE_ALTER,    /* the length of oid was changed */
	SAFE_NAME,     /* a: enum safe_name; strings: old or only path, new path; stats: the file, what was there before */
	SAFE_TRUNCATE, /* a path; a: length; stats: after, before */
	SAFE_SOCKET,   /* a: 0 connect, 1 bind, 2 accept; string: the address as the kernel has it */
	SAFE_PAIR,     /* sockets with these inodes are the ends of one pair */
	SAFE_SHM,      /* a: id, b: flags of shmat */
	SAFE_EXEC,     /* about to exec: string: path; a: 1 the library does not go along; b: SAFE_PROVED_*; its texts came
	                  before */
	SAFE_EXEC_NOT, /* which failed */
	SAFE_SPAWN,    /* a: the new process; else as SAFE_EXEC */
	SAFE_SUMS,     /* bytes in all rows of this program, a: read, b: written: what is to have come before its end */
	SAFE_NOTE,     /* a: enum safe_note */
	SAFE_EXIT,     /* a: status, b: SAFE_PROVED_* bits; figures follow */
	SAFE_WAITED,   /* process a, a child, had ended with wait status b */
	SAFE_KINDS
};

/* HEAD and HEAD2: the beginning of the next event's first or second string, which has the rest. */
enum safe_list { SAFE_ARG, SAFE_VAR, SAFE_EXEC_ARG, SAFE_HEAD, SAFE_HEAD2, SAFE_LISTS };
enum safe_name { SAFE_RENAME, SAFE_EXCHANGE, SAFE_LINK, SAFE_UNLINK, SAFE_MAKE };
/* SNAPSHOT: only looked at, before an exec or the end; FLUSHES: so much is certain to be written yet; MAY_FLUSH:
 * perhaps. */
enum safe_close { SAFE_CLOSED, SAFE_SNAPSHOT, SAFE_FLUSHES, SAFE_MAY_FLUSH };
/* ROOT: its paths begin at another place, the string; MOUNTS: it is in the mount namespace b, or has changed what is
 * mounted. */
enum safe_note {
	SAFE_NOTE_URING,
	SAFE_NOTE_HANDLE,
	SAFE_NOTE_ROOT,
	SAFE_NOTE_MOUNTS,
	SAFE_NOTE_FILTER,
	SAFE_NOTE_USER,    /* it has another user now, and says no more */
	SAFE_NOTE_CONFINED /* the same: it has confined itself (Landlock) */
};
/* Of an open: the file was not there before; whether it was is not known. */
#define SAFE_CREATED 1u
#define SAFE_TMPFILE 2u

/* The kernel's totals are what was counted here: of bytes read, of bytes written, of bytes read since the first file
 * was opened (the C library reads files of its own before that). */
#define SAFE_PROVED_READ 1u
#define SAFE_PROVED_WRITE 2u
#define SAFE_PROVED_OPENED 4u
#define SAFE_PROVED_ALL (SAFE_PROVED_WRITE | SAFE_PROVED_OPENED)

struct safe_event {
	uint32_t size; /* of all of it, a multiple of 8; written last */
	uint16_t kind;
	uint8_t nstat, nstr;
	uint32_t pid, image;
	int64_t time;
	int32_t fd;
	uint32_t oid;
	uint64_t a, b;
	/* struct safe_stat[nstat]; then what the kind has; then strings, each a uint16_t and so many bytes */
};
static_assert(sizeof(struct safe_event) == 48, "layout");

#define SAFE_HAS_BTIME 1u
#define SAFE_HAS_GEN 2u
#define SAFE_HAS_NOT 4u /* there was no such file */

struct safe_stat {
	uint64_t ino, gen, size;
	int64_t btime, mtime, ctime;
	uint32_t major, minor, mode, nlink, rmajor, rminor, flags, uid;
};
static_assert(sizeof(struct safe_stat) == 80, "layout");

struct safe_row {
	uint8_t api, write; /* term ioapi */
	uint16_t pad;
	uint32_t failed;
	uint64_t calls, bytes, largest, spent;
	int64_t first, last; /* first 0: none yet */
	uint32_t sizes[SIZE_CLASSES];
};
static_assert(sizeof(struct safe_row) == 96, "layout");

struct safe_handle {
	uint32_t oid; /* 0: free */
	uint32_t pid, image, pad;
	struct safe_row row[2]; /* read, written */
};
static_assert(sizeof(struct safe_handle) == 208 && sizeof(struct safe_handle) * SAFE_HANDLES <= SAFE_ROOM, "layout");

/* With SAFE_BORN. */
struct safe_birth {
	int64_t since; /* the fork began */
	uint64_t pidns;
};

/* With SAFE_EXIT. */
struct safe_figures {
	uint64_t user, system, rss;                     /* ns, ns, bytes */
	uint64_t rchar, wchar, read_bytes, write_bytes; /* of /proc/PID/io; UINT64_MAX not known */
};

static_assert(sizeof(struct safe_region) == SAFE_PAGE && sizeof(struct safe_chunk) == SAFE_PAGE, "layout");

#endif
