/* app_format.h - what a program that tells of itself and the recorder share: files in the run's folder, written by the
 * program through a mapping, read by the recorder when the program is over.
 *
 * A process (an image of it: a fork and an exec begin another) has windows: files FOLDER/a-PID-IMAGE-SERIAL, one page
 * of header and then chunks. A thread claims chunks by adding to `used`, and appends entries to its own: room first,
 * bytes, then the size, so that a kill leaves a hole at the end of one thread's chunk and nowhere else. An entry that
 * is larger than a chunk has several to itself. Nothing is moved, nobody waits, and all of the room is there before it
 * is written to (fallocate), so that a full disk cannot end the program.
 *
 * The file is the user's: the recorder believes nothing in it (app_read.c). Times are CLOCK_BOOTTIME, ns. */
#ifndef STEMMA_CAPTURE_APP_FORMAT_H
#define STEMMA_CAPTURE_APP_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define APP_ENV "STEMMA_APP" /* FOLDER:ULID of the run */
/* Where the libraries are by which Python and Java write here: set for the run, unless the user has set them. */
#define APP_LIBRARY_ENV "STEMMA_APP_LIBRARY"
#define APP_JAVA_LIBRARY_ENV "STEMMA_APP_JAVA_LIBRARY"
/* An empty file FOLDER/no-library-LANGUAGE: a program had something to say, and no library to say it by. */
#define APP_UNFOUND_PYTHON "no-library-python"
#define APP_UNFOUND_JAVA "no-library-java"
#define APP_MAGIC 0x3170706161746553u /* of this layout */
#define APP_CHUNK_MAGIC 0x6b6e6863u
#define APP_HEAD 4096
#define APP_CHUNK 8192
#define APP_WINDOW_FIRST (APP_HEAD + 2 * APP_CHUNK) /* most programs say little */
#define APP_WINDOW_MAX (512u << 10)
#define APP_ROOM (64u << 20) /* of all windows of a process: 800,000 metrics */
#define APP_NAME_MAX 1024    /* bytes of a name or a version; what is longer is cut, and that is said */
#define APP_VALUE_MAX 65536  /* of a value */
#define APP_CLAIM_MAX 9      /* chunks at once: for the largest entry */

struct app_head {
	uint64_t magic;
	uint64_t size;    /* of the file */
	uint64_t used;    /* bytes claimed, or more */
	uint64_t dropped; /* entries that found no room */
	uint64_t image;   /* random */
	uint64_t pidns;   /* inode of the pid namespace that pid is of */
	int64_t started;  /* of the process, ns since boot, as the kernel tells it */
	int64_t born;     /* time of the image's first word */
	uint32_t pid, serial;
	char run[32];
	char tool[64];
};

struct app_chunk {
	uint32_t magic, chunks; /* how many, this one and those behind it */
	uint64_t at;            /* offset in the file */
	uint32_t tid, pad;
};
static_assert(sizeof(struct app_chunk) == 24, "layout");

enum app_kind {
	APP_TYPE = 1,
	APP_CONFIG,
	APP_METRIC,
	APP_BEGIN,
	APP_END,
	APP_USED,
	APP_GENERATED,
	APP_TAG,
	APP_RANK,   /* MPI told its rank; number: rank, step: size, id: level of threads; value: library */
	APP_MPIIO,  /* one kind of MPI-IO calls on one file, see struct app_mpiio */
	APP_MPIMSG, /* calls that moved data between ranks, see struct app_mpimsg */
	APP_KINDS
};
#define APP_HAS_STEP 1u
#define APP_RANK_UNKNOWN 1u /* a library that is not known: neither rank nor files are told */

struct app_entry {
	uint32_t size; /* of all of it, a multiple of 8; written last */
	uint16_t kind, flags;
	int64_t time;
	uint64_t id;       /* of the activity that begins or ends: lower half of image, and a number */
	uint64_t activity; /* that it was said in; 0 none */
	int64_t step;
	uint64_t number;                    /* bits of a double */
	uint32_t name, version, value, pad; /* bytes of each, which follow in this order */
	uint64_t whole;                     /* bytes that the value had */
};
static_assert(sizeof(struct app_entry) == 72, "layout");

/* The value of APP_MPIIO. */
struct app_mpiio {
	uint32_t op, collective;
	uint64_t calls, failed, bytes, spent; /* bytes: asked for */
	int64_t first, last;
	uint64_t mode; /* MPI_MODE_* as a number of that library */
	uint64_t ranks;
};
static_assert(sizeof(struct app_mpiio) == 72, "layout");

/* The value of APP_MPIMSG: what one rank sent to another one, or got of it; or a collective call of some ranks. */
enum {
	APP_MSG_PEER,      /* from, to */
	APP_MSG_FROM_ROOT, /* from: the root's data went to all of them */
	APP_MSG_TO_ROOT,   /* to: all of theirs went to the root */
	APP_MSG_AMONG,     /* all to all */
	APP_MSG_UNTOLD     /* between which ranks is not known */
};
#define APP_MSG_WRITES 1u  /* this rank gave data */
#define APP_MSG_READS 2u   /* it got data */
#define APP_MSG_MAY 4u     /* perhaps */
#define APP_MSG_GOES_ON 8u /* when it was over was not seen */
struct app_mpimsg {
	uint32_t op, how;
	int32_t from, to;      /* ranks in MPI_COMM_WORLD; -1: does not apply, or (from, of a receive) whoever */
	uint32_t ranks, pad;   /* of the communicator; of a peer, of MPI_COMM_WORLD */
	uint64_t members, job; /* hash of its ranks, 0 all of MPI_COMM_WORLD; of the launcher's words, 0 none */
	uint64_t calls, bytes; /* bytes: that were given */
	int64_t first, last;   /* the first call began, the last one ended */
};
static_assert(sizeof(struct app_mpimsg) == 72, "layout");

static_assert(sizeof(struct app_head) <= APP_HEAD, "layout");
static_assert(APP_CLAIM_MAX * APP_CHUNK >=
                  sizeof(struct app_chunk) + sizeof(struct app_entry) + 2 * APP_NAME_MAX + APP_VALUE_MAX + 8,
              "the largest entry fits");

#endif
