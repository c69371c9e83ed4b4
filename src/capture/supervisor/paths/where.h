/* where.h - memory and paths of the traced: read from the process, and resolved as it would (where.c). Internal to
 * capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_WHERE_H
#define STEMMA_CAPTURE_SUPERVISOR_WHERE_H

#include "capture/supervisor/paths/dirs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct iovec;
struct statx;

/* Result of a path argument: (dirfd, path) that this process can use, and how to name it. */
struct where {
	int dirfd;     /* AT_FDCWD, or hold */
	int hold;      /* descriptor to close, or -1 */
	int object;    /* the object itself, where its file system may keep us waiting (where_hold), or -1; to close */
	bool allowed;  /* ... may be opened so by us, as far as was asked */
	bool foreign;  /* the process has another root or mount namespace */
	bool fleeting; /* it goes by what the process has just now: /proc/self/fd/N */
	bool direct;   /* its last component is no link, as where_look saw */
	bool held;   /* hold is the directory that path begins in, or, once it was looked at, that of its last component */
	bool copied; /* ... and shares all with the process's own descriptor: not to be kept beyond the stop */
	struct dir_id dir;        /* of hold, where that is a directory; once it was asked for */
	struct dir_held *in_turn; /* dirfd is its, and there is no hold; NULL */
	uint64_t ns;              /* that mount namespace's inode if it is another, else 0 */
	char path[4096 + 64];
	char given[4096 + 1]; /* as the program gave it */
	pid_t tid;            /* whose cwd and root it is relative to */
	int atfd;             /* the program's dirfd */
};

/* Reads a NUL-terminated string of at most n bytes with its NUL. Length, or -errno (-ENAMETOOLONG, -EFAULT, -EPERM). */
ssize_t remote_string(pid_t tid, uint64_t addr, char *ret, size_t n);
ssize_t remote_read(pid_t tid, uint64_t addr, void *ret, size_t n);
/* Several pieces at once, as process_vm_readv; -errno. */
ssize_t remote_readv(pid_t tid, const struct iovec *here, const struct iovec *there, size_t n);
/* Whether the process has another root or mount namespace, and that namespace's inode if it is another, else 0. near:
 * the directory that a relative path begins in may be held for the time of a stop, and its process's own descriptor be
 * copied from the table of that pidfd (-1: it may not). in_turn: an absolute path is one of many (dirs_turn_begin). */
struct rooted {
	bool foreign, near, in_turn;
	pid_t pid;
	int table;
	uint64_t ns;
};
/* Prepares a path argument; follow: a last component that is a link is followed by the call. 0 or -errno; release with
 * where_release. Reads the string from the process. */
int where_init(struct rooted r, pid_t tid, int atfd, uint64_t addr, bool follow, struct where *w);
/* Resolves a path of a process that is here already. 0; -ENOENT: it is empty; -ENAMETOOLONG; -errno. Release w in
 * any case. */
int where_path(struct rooted r, pid_t tid, int atfd, const char *path, bool follow, struct where *w);
/* Resolves a path of a process with the directory atfd as root (openat2's RESOLVE_IN_ROOT). 0, -errno. Release w in
 * any case. */
int where_in_root(struct rooted r, pid_t tid, int atfd, uint64_t addr, bool follow, struct where *w);
/* Makes w independent of what its path means later: holds the directory that the last component is in. */
void where_pin(struct where *w);
/* Where w leads to if the file system may keep whoever asks waiting, with st as where_look found it: from then on
 * nobody is asked by file_get and its like. amode: for access(2), 0 not asked. To be called outside of the lock, where
 * s->slow_fs says that there may be such. */
void where_hold(struct where *w, bool follow, const struct statx *st, int amode);
/* The object of a descriptor of the process. */
void where_fd(pid_t tid, int fd, struct where *w);
/* Makes w, as where_fd left it, independent of what the process does with the number. False: another object than that
 * of st is behind the number by now, or none, or it cannot be told. */
bool where_hold_fd(struct where *w, const struct statx *st);
void where_release(struct where *w);
/* Leads nowhere: for where_release. */
void where_none(struct where *w);
/* A path that only stemma opens (nested.c). */
bool where_is_ours(const struct where *w);
/* The path that is being looked at, for who is asked why that takes so long: said by whoever looks (where_path and
 * where_in_root do), "" none; asked for by any thread, as far as it fits, "" if it cannot be told. */
#define LOOKS_AT 256
/* What this thread looks at is told apart from now on; it is what is asked for from now on. where_looks: longer paths
 * are cut. where_looking: "" where it changes just now. */
void where_looks_own(void);
void where_looks_shown(void);
void where_looks(const char *path);
void where_looking(char ret[LOOKS_AT]);
/* Whether this thread may not wait for others: where_look is -EAGAIN then, and *ret_put_off says so, where the kernel
 * does not know the path and a file system that may keep us waiting does. NULL: it may. */
void where_careful(bool *ret_put_off);
int where_statx(const struct where *w, bool follow, struct statx *st);
/* The same before a call of w's process, to which /proc/self may mean another process than to us, and links that lead
 * there (links.h): w->path is what it means to us from then on. 0; -EAGAIN: it leads to a file system that may wait,
 * and is put off; -errno. */
int where_look(struct where *w, bool follow, struct statx *st);
/* The canonical absolute name of an existing object, of which st is what where_look has just seen; malloc'ed, NULL if
 * it cannot be told. */
char *where_real_of(struct where *w, bool follow, const struct statx *st);
/* An absolute name for an object that need not exist: real directory and last component. */
char *where_name(struct where *w);

#endif
