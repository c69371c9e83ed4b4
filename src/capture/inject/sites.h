/* sites.h - where the C library makes the calls that move bytes or change descriptors, and the code that is put there.
 *
 * A site is the eight bytes `syscall; cmp $-4096,%rax` of a call wrapper (or the five of `mov $NR,%eax` before a call
 * that makes a process). They have room for a jump to a stub, which makes the call, counts its result by descriptor and
 * jumps back. A wrapper that looks otherwise is left alone.
 *
 * Where a thread can be cancelled the wrapper has a second way, which only a program with threads takes. There the call
 * stays where it is, for the thread that is cancelled in it is unwound from there, and a stub has nothing that an
 * unwinder could go by. What changes is before and after the time in which that can happen: the call of the function
 * that begins it, and what follows the one that ends it. The descriptor is kept meanwhile in four bytes of the
 * wrapper's own frame that it does not use, which is known because each of its instructions there is (sites_threads.c).
 *
 * A stub is 30 to 180 bytes, uses the registers that a call destroys anyway (rcx, r11; on the second way all of them),
 * the result's where that is known, and makes no call of its own: 2 ns; where threads may meet, locked additions: 15
 * ns. x86-64 only. */
#ifndef STEMMA_CAPTURE_INJECT_SITES_H
#define STEMMA_CAPTURE_INJECT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SITES_MAX 96
#define SITE_BYTES 8
#define SITES_STAYS 4

enum site_kind {
	SITE_MOVE, /* moves bytes */
	SITE_OPEN, /* gives a descriptor for a path */
	SITE_CLOSE,
	SITE_DUP2,  /* the new descriptor is given */
	SITE_DUP,   /* it is the result */
	SITE_RANGE, /* closes many */
	SITE_MAP,
	SITE_MARK,   /* before a child that may share the memory */
	SITE_LOGGED, /* of entries only: an open that was made and written down elsewhere (inline_open.h) */
	/* On the way of programs with threads; their entries are those of OPEN and CLOSE. */
	SITE_BEGIN,  /* before a call that moves bytes */
	SITE_DONE,   /* behind it */
	SITE_SHUT,   /* before a close */
	SITE_OPENED, /* behind an open */
	/* Descriptors that are no path's. */
	SITE_MADE,   /* a socket, or what counts events: no file */
	SITE_PIPE,   /* two ends of a pipe */
	SITE_PAIR,   /* two sockets */
	SITE_SPLICE, /* moves bytes that the kernel's totals do not have: logged, not counted */
	SITE_FCNTL,  /* of stubs only: a duplicate is logged as that of DUP */
	SITE_ANY,    /* of stubs only: syscall(2), which makes any call */
	/* Of stubs only, and of musl (sites_musl.c): */
	SITE_SOME,   /* makes a call whose number is not known: those that standard I/O and fcntl make */
	SITE_CANCEL, /* a jump to the function that makes every call in which a thread can be cancelled */
};

struct site {
	uint64_t offset; /* from where the library is loaded: of the first byte that changes */
	int nr;
	uint8_t kind;
	uint8_t from, to;   /* of MOVE: number of the register with the descriptor; SITE_NONE */
	uint8_t positional; /* of MOVE: counted apart from read and write */
	uint8_t taken;      /* bytes that change: 8, or 5 of a mark; of musl 5 to 8 */
	/* The call's number is loaded (LOAD_BYTES) right before it. Of musl's open: SITES_LARGE is right before it. Of
	 * CANCEL: it is known how to see whether a thread is to be cancelled. */
	uint8_t loaded;
	uint8_t single;  /* programs with threads do not pass here */
	uint8_t guessed; /* nr is what it seems to be: the stub looks whether it is */
	uint8_t before;  /* of a mark: its bytes are not the load of the number, but come before the call */
	/* Of the way of threads: where in the frame the descriptor is kept, the frame's size; where the call or jump that
	 * is replaced went, 0 if it is the frame's end; and the system call. Of CANCEL: slot is
	 * where it says behind the thread's pointer that it is to be cancelled, 0 if nobody ever is; where the jump went.
	 */
	uint8_t slot, frame;
	uint64_t target, call;
	unsigned char bytes[SITE_BYTES];
};
#define SITE_NONE 0xff
#define LOAD_BYTES 5                                 /* mov $NR,%eax */
#define SITES_LARGE "\x81\xce\0\x80\0\0\x48\x63\xf6" /* or $O_LARGEFILE,%esi; movslq %esi,%rsi */
#define LARGE_BYTES (sizeof(SITES_LARGE) - 1)

/* An open of a program with threads, in the frame of its wrapper (sites_threads.c): where its arguments are while the
 * call is under way. The call stays where it is. What may change are two jumps: the call of the function that begins
 * the time in which the thread can be cancelled, and the jump behind the call of the one that ends it. Offsets. */
struct framed_place {
	uint8_t reg; /* number of a register that calls preserve, or SITE_NONE: */
	uint8_t at;  /* ... in the frame */
};
struct framed_open {
	uint64_t begin, begins; /* the one call, and what it calls */
	uint64_t call;
	uint64_t end, back; /* the jump, and where it goes */
	uint64_t error;     /* of the word that says where errno is behind the thread pointer */
	struct framed_place path, flags, folder;
	bool here;               /* AT_FDCWD, and no folder */
	uint8_t mode;            /* in the frame */
	unsigned char was[2][5]; /* bytes at begin and end */
};
#define SITES_FRAMED 2

struct sites {
	/* Two places that stay as they are: `syscall; cmp $-4095,%rax; jae; ret`, and what returns from a signal's handler.
	 */
	uint64_t gadget, sigreturn;
	/* A static program that handles no signal has not the latter, 0. Then this is `pop %rax; ret`, by which the number
	 * is loaded, and the gadget makes the call. */
	uint64_t pop;
	bool alone;    /* a static program: it is its own library, and lies where its file says */
	bool moves;    /* ... but that one may lie anywhere (static-pie) */
	bool unmarked; /* it can make a child in the same memory by a call that is no site */
	bool musl;
	/* Of musl: calls that are made for CANCEL and stay where they are; 0: no more. */
	uint64_t stays[SITES_STAYS];
	uint64_t start; /* of the call that it makes when it has been loaded: prlimit; 0 not known */
	/* Where a thread's number stands behind its thread pointer. 0: that is not known, or the ways of programs with
	 * threads are not: what these do cannot be counted. */
	uint32_t tid;
	/* Opens of programs with threads; and where behind its pointer a thread says whether it can be cancelled anywhere
	 * (bit 1), and is to be cancelled (bit 3). */
	size_t nframed;
	struct framed_open framed[SITES_FRAMED];
	uint32_t cancel;
	size_t n;
	struct site site[SITES_MAX];
};

/* Reads the sites of an x86-64 ELF library, or of a static program (sites_bare.c: a stripped one). Nothing it says is
 * trusted. 0; -ENOEXEC: it has none, or not enough of them to count by; or -errno. Reads the whole file (0.4 ms for a C
 * library of 2 MB). */
int sites_read(int fd, struct sites *ret);

/* Reads the sites of the dynamic loader, by which it reads and maps what is loaded while the program runs (dlopen).
 * Only of these few calls, found by their bytes: it names none of them. The number of threads' place is not known of it
 * (tid). As sites_read. -ENOEXEC: it does not look as loaders do. */
int sites_read_loader(int fd, struct sites *ret);

/* Is what lies at this offset right behind a call that stays where it is? */
bool sites_stay(const struct sites *s, uint64_t offset);
/* Is it the place of an open call that a program with threads takes, whose stack frame is known? The same of an open
 * of a program with threads. */
bool sites_is_framed(const struct sites *s, uint64_t offset);

/* The way of threads through the function at addr, whose first one makes the call nr: its sites are added to s, all or
 * none of them. False: it is not understood. Of the first such function the two it calls are learned (ret_ends:
 * offsets), which are the same in all. */
bool sites_threads(const unsigned char *code, size_t n, uint64_t addr, const struct site *first, struct sites *s,
                   uint64_t ret_ends[2]);

/* The open of a program with threads in the function at addr. False: there is none, or it is not understood. */
bool sites_framed_open(const unsigned char *code, size_t n, uint64_t addr, struct framed_open *ret);
/* Where behind its pointer a thread says whether it is to be cancelled, as the function that begins the time has it;
 * 0: that is another function. */
uint32_t sites_cancel(const unsigned char *code, size_t n);

/* ---- the injected code and its table ---- */

#define COUNTED_FDS 1024 /* descriptors with counts of their own; those above share one row */
#define COUNTED_LOG 1024 /* entries, a ring */

/* Counts of one descriptor, ever. */
struct counted_row {
	uint64_t read_calls, read_bytes, write_calls, write_bytes; /* read and write */
	uint64_t other_read_calls, other_read_bytes, other_write_calls, other_write_bytes;
};

struct counted_entry {
	uint32_t seq; /* its number + 1, written last; anything else: it is not whole */
	uint32_t scratch;
	uint32_t kind; /* enum site_kind */
	int32_t fd;    /* CLOSE: which; DUP: the old one; MAP: of what; SPLICE: from which */
	int64_t value; /* OPEN, LOGGED, DUP, MADE: the result; MAP, SPLICE: bytes; MARK: flags of clone; PIPE, PAIR: both */
	struct counted_row row; /* then: CLOSE, DUP2: of the descriptor that is closed; OPEN, LOGGED: of the new one */
	/* Only once there were threads: */
	uint32_t tid;    /* who made it; of a child of vfork the thread that waits for it */
	uint32_t flying; /* CLOSE, DUP2, OPEN: calls that move bytes of that descriptor and were under way */
	int32_t to;      /* SPLICE: the other descriptor */
	unsigned char room[28];
};

struct counted_table {
	uint32_t owner; /* pid whose table it is; 0: of a child that began with a copy of the code and an empty table */
	uint32_t pos;   /* entries ever */
	/* From this table to the one whose rows and entries are used, which outlives the process; 0: it is this one, as in
	 * a child that began with an empty table. */
	uint64_t delta;
	uint32_t threads; /* not 0: a thread was made */
	unsigned char room[44];
	struct counted_row row[COUNTED_FDS + 1];
	unsigned char fill[64];
	struct counted_entry entry[COUNTED_LOG];
	uint32_t flying[COUNTED_FDS + 1]; /* calls under way, of programs with threads */
};

#define STUBS_SIZE 20480
#define LOADER_SIZE 4096 /* of the stubs for the dynamic loader, right behind them */
#define CODE_SIZE (STUBS_SIZE + LOADER_SIZE)

struct stubs {
	unsigned char code[STUBS_SIZE];
	size_t n;
	uint16_t at[SITES_MAX];    /* where each site's stub begins */
	uint16_t call[SITES_MAX];  /* of an open: where it is made */
	uint16_t after[SITES_MAX]; /* where what it counts has been counted; 0 in a mark */
	/* Where who has made an open goes on, as behind the call, to have it in the log; 0 for all but opens. */
	uint16_t logged[SITES_MAX];
	/* Of the code that opens: before and behind each framed open; 0 none. */
	uint16_t framed[SITES_FRAMED][2];
};

/* Makes the code for a library loaded at base, to lie at code with its table at table. 0, or -ERANGE: too far apart. */
int stubs_make(const struct sites *s, uint64_t base, uint64_t code, uint64_t table, struct stubs *ret);
/* Stubs that were made for another place, all distances being the same: they are those of a table that lies there. */
void stubs_move(struct stubs *stubs, uint64_t table);
/* The bytes that replace the site's. */
void stubs_jump(const struct site *site, uint64_t base, uint64_t code, uint16_t at, unsigned char ret[SITE_BYTES]);

#endif
