/* safe.h - the library of --capture=safe (libstemma-safe.so): code inside user programs. Internal to it.
 *
 * The dynamic linker loads it first. It stands before functions of the C library, calls the real one, and writes down
 * what came of it. Rules: no malloc, no stdio, no lock, no descriptor kept; errno and results stay the program's; it
 * may be called in signal handlers, after fork and vfork, and before its own constructor. Nothing that goes wrong here
 * is ever shown to the program: what cannot be written is dropped and counted.
 *
 * It needs no library by name and only functions that every C library has, so that it does no harm where another one
 * than glibc loads it. */
#ifndef STEMMA_CAPTURE_PRELOAD_LIBRARY_SAFE_H
#define STEMMA_CAPTURE_PRELOAD_LIBRARY_SAFE_H

#include "capture/interpose/raw.h"
#include "capture/interpose/symbols.h"
#include "capture/preload/safe_format.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
/* The real function: all are looked up by the constructor; what is called before that, at its first call. */
#define REAL_OF(name) static struct symbol real_##name __attribute__((section("safe_reals"), used)) = {NULL, #name}
#define REAL(name) ((__typeof__(&name))(real_##name.f ? real_##name.f : safe_look_up(&real_##name)))

/* The C library's function of that name, behind this library; one that fails with ENOSYS where there is none. */
void *safe_next(const char *name);
void *safe_look_up(struct symbol *r); /* never NULL; kept in *r */

/* State of this address space and its own descriptor table; emptied by the kernel in a child (MADV_WIPEONFORK). */
struct self {
	uint32_t pid, image;
	struct safe_chunk *current;
	struct safe_chunk *counters[64];
	uint32_t next_oid;
	uint32_t epoch;            /* entries of another one are an ancestor's */
	bool born;                 /* by fork: its descriptors have not been looked at */
	bool uncounted;            /* bytes were moved that have no row */
	uint64_t moved[2];         /* bytes that the kernel's totals have, too */
	uint64_t rows[2];          /* bytes in rows */
	uint64_t base[2];          /* those totals when the program began; UINT64_MAX not known */
	uint64_t opened[2];        /* bytes read by the kernel's total and by ours when the first file was opened */
	bool opening;              /* that was noted */
	uint32_t streams;          /* stdio streams that were opened and not closed */
	unsigned long long loaded; /* objects that the dynamic linker had loaded */
};

extern struct self *safe_self;
/* The program has a filter of its own for system calls, or a child of it: none is made that is not its own any more. */
extern bool safe_quiet;
/* The program, or its parent, has let go of the region: nothing is told any more. */
extern bool safe_gone;
extern char safe_library[1024]; /* its own path */
extern __thread uint32_t safe_vforked __attribute__((tls_model("initial-exec")));

/* Is there a recorder? In a child it also begins the child's own state. */
bool safe_on(void);
/* mmap before the real one can be looked up: an allocator that starts. */
void *safe_early_mmap(void *at, size_t n, int prot, int flags, int fd, int64_t off);
int64_t safe_now(void); /* ns of CLOCK_BOOTTIME */

/* ---- events (safe_ring.c) ---- */

/* A free chunk of the region, for events or counters, which is this process's now. NULL: there is none. */
struct safe_chunk *safe_claim(uint32_t kind);
struct safe_out {
	struct safe_event e;
	struct safe_stat stat[2];
	const void *more; /* what the kind has */
	size_t nmore;
	const char *str[2];
	size_t len[2];
};
/* Copies the event into the ring. Too long strings are said in pieces before; without room the event is lost, which is
 * counted. */
void safe_emit(struct safe_out *o);
/* Sets kind, time and whose it is. */
void safe_begin(struct safe_out *o, enum safe_kind kind);
void safe_string(struct safe_out *o, const char *text);
/* Maps the region that the variable's value tells of: false if it is none, not sealed, or another user's. */
bool safe_map(const char *value);
/* Puts empty memory of this process's own in its place: other threads may be about to write there. safe_regain takes it
 * back. */
void safe_let_go(void);
bool safe_regain(void);
/* Has this process the user who owns the region, and no other? */
bool safe_same_user(void);

/* ---- open files (safe_table.c) ---- */

#define ENTRY_WRITE 1u  /* a regular file that may be written */
#define ENTRY_OTHER 2u  /* of a kind that is not recorded */
#define ENTRY_STREAM 4u /* has a stdio stream */

struct entry {
	uint32_t oid, epoch, flags, pad;
	struct safe_handle *handle;
};

/* What is known of a descriptor. NULL: too high a number. make: room for it is made. */
struct entry *entry_at(int fd, bool make);
bool entry_live(const struct entry *e);
/* Puts a new open file into the table and returns its oid. */
uint32_t entry_put(int fd, uint32_t flags);
/* The entry of fd, which is found out about if it is not known. NULL: nothing is to be recorded. entry_dup: where
 * `from` is not known, `to` is found out about when it is used. */
struct entry *entry_learn(int fd);
void entry_dup(int from, int to);
/* Tells that a descriptor is closed. Before fd is closed. */
void entry_close(int fd);
/* Takes what is known of fd out of the table, when fd is closed: *ret is a copy of it. False: fd has nothing,
 * somebody else took it, or it is of a kind that is not recorded. */
bool entry_take(int fd, struct entry *ret);
/* Says that a descriptor was closed that entry_take has taken out, and what the descriptor `look` shows of its file;
 * -1: nothing shows it. */
void entry_emit_close(const struct entry *e, int fd, int look, enum safe_close how);
/* The files that may be written, as they are now; ending: stdio's buffer of the descriptor `pending` holds bytes.
 * entry_close_range: both bounds are among them. */
void entry_snapshots(bool ending, int pending);
void entry_close_range(unsigned first, unsigned last);
/* Adds what is not said yet of the file behind fd: its generation, and its path (in `path`) as the event's string;
 * given: what was opened, relative to dirfd, NULL not known. */
struct words;
void entry_identify(struct safe_out *o, int fd, int dirfd, const char *given, struct words *path);
/* Tells of all descriptors there are, as SAFE_HELD. */
void entry_walk(void);
/* r bytes, or a failure, of a call that began at t0. */
void entry_count(int fd, bool write, unsigned api, int64_t t0, int64_t r, bool total);

/* Identifies the file at a path. As statx; false: ret->flags say that there is nothing. */
bool stat_path(int dirfd, const char *path, int flags, struct safe_stat *ret);

/* Adds the generation, if the file system has handles. */
void stat_gen(int dirfd, const char *path, int flags, struct safe_stat *st);
/* A path. Signal handlers and threads have small stacks: what is long goes into memory of its own until words_end. */
struct words {
	char small[480];
	char *p; /* NUL-terminated; empty if it cannot be told */
	size_t n, room;
};
void words_begin(struct words *w);
void words_end(struct words *w);
/* Absolute path of an open file; of what a path leads to; and of a path whose last component need not exist or is not
 * followed. words_add_path: nothing is added where the path cannot be read. */
void words_of_fd(struct words *w, int fd);
void words_real(struct words *w, int dirfd, const char *path);
void words_add_path(struct words *w, int dirfd, const char *path);
/* Memory of its own; NULL: there is none. */
void *raw_map(size_t n);

/* ---- programs (safe_exec.c, safe_start.c) ---- */

void safe_figures(struct safe_figures *ret, uint64_t *ret_proved);
/* The first file is about to be opened. */
void safe_opening(void);
/* The process ends with this status. */
void safe_exit(int status);
/* A filter for system calls is about to be set: the region is let go. True: safe_quiet was set for it. Behind the call,
 * which set it or failed: safe_filter_ends. safe_filter_ends: set: the call succeeded. errno stays. */
bool safe_filter_begins(void);
void safe_filter_ends(bool set);
/* Takes the region out of the program's environment. */
void safe_env_leave(void);
/* The process has another user, or has confined itself: says so and lets go of the region. */
void safe_leave(enum safe_note why);
/* What an exec in a vfork's child has taken. */
void safe_exec_room_free(void);
/* Libraries that were loaded since. safe_born: when: its time, 0 now. */
void safe_libraries(void);
void safe_born(uint32_t parent, uint32_t image, bool vforked, int64_t when);

/* Reads memory of this process that may not be there. False: it is not. Where that cannot be asked, true. */
bool safe_peek(const void *from, void *to, size_t n);
struct iovec;
/* Reads memory of this process by the kernel, so that a bad address is no crash: n pieces of `there` into `here`.
 * Bytes, or -errno. */
long safe_peeks(const struct iovec *here, const struct iovec *there, long n);

/* The length of s, at most max. */
static inline size_t text_len(const char *s, size_t max)
{
	size_t n = 0;
	while (n < max && s[n])
		n++;
	return n;
}

#endif
