/* trap.h - a stopped system call, whichever transport stopped it. */
#ifndef STEMMA_CAPTURE_SECCOMP_TRAP_H
#define STEMMA_CAPTURE_SECCOMP_TRAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One word per handler; several system calls may share one. */
enum call {
	CALL_none,
	CALL_execve,
	CALL_execveat,
	CALL_exit,
	CALL_open,
	CALL_openat,
	CALL_openat2,
	CALL_creat,
	CALL_open_handle,
	CALL_rename,
	CALL_renameat,
	CALL_renameat2,
	CALL_link,
	CALL_linkat,
	CALL_symlink,
	CALL_symlinkat,
	CALL_unlink,
	CALL_unlinkat,
	CALL_rmdir,
	CALL_mkdir,
	CALL_mkdirat,
	CALL_mknod,
	CALL_mknodat,
	CALL_truncate,
	CALL_ftruncate,
	CALL_times,      /* directory, path or none, times, flags */
	CALL_times_at,   /* the same without flags */
	CALL_times_path, /* path, times */
	CALL_chdir,
	CALL_root,
	CALL_mount,
	CALL_setuid,
	CALL_confine, /* it gives up privileges */
	CALL_connect,
	CALL_bind,
	CALL_shmat,
	CALL_memory, /* a file in memory is made */
	CALL_process_vm,
	CALL_io_uring,
	CALL_ring_enter, /* ring, how many, how many to wait for, flags */
	CALL_ring_register,
	CALL_aio,
	CALL_mmap,
	CALL_seccomp,
	CALL_forbid, /* a filter by prctl */
	CALL_settle,
	CALL_splice,
	CALL_sigaction,
	CALL_ptrace,
	CALL_share,  /* another process in its memory; under TRAP_FORKS any process, by clone */
	CALL_fork,   /* another process */
	CALL_clone3, /* ... or a thread */
	CALL_start,
	CALL_setxattr,
	CALL_lsetxattr,
	CALL_fsetxattr,
	CALL_getxattr,
	CALL_lgetxattr,
	CALL_fgetxattr,
	CALL_removexattr,
	CALL_lremovexattr,
	CALL_fremovexattr,
	CALL_x32, /* any call of the x32 interface of x86-64, which has other numbers */
};

struct trap {
	uint64_t id; /* the listener's cookie */
	pid_t tid;
	enum call call;
	int nr;
	uint64_t ip, args[6]; /* ip: behind the call's instruction */
	bool compat;          /* the foreign (32-bit) interface of this architecture */
};

/* TRAP_INJECT: opens from the injected code's page go on (unstopped.h). */
enum trap_set {
	TRAP_TREE = 1,
	TRAP_FILE = 2,
	TRAP_COUNT = 4,
	TRAP_INJECT = 8,
	TRAP_XATTR = 16,
	TRAP_FORKS = 32,
	TRAP_RINGS = 64
};

/* ---- the filter (filter.c) ---- */

struct sock_fprog;
/* Whether calls that a signal interrupts can be repaired here (shield.h): the calls that only serves are stopped then.
 */
#if defined(__x86_64__)
#define TRAP_SHIELDED 1
#else
#define TRAP_SHIELDED 0
#endif
/* Builds the filter for the sets (enum trap_set bits) with the action SECCOMP_RET_USER_NOTIF or SECCOMP_RET_TRACE. The
 * program decides on the call number first, so that the kernel's bitmap of always-allowed calls applies. Unknown
 * architectures are allowed. ret->filter is malloc'ed. 0 or -errno. */
int trap_filter(unsigned sets, bool notify, struct err *err, struct sock_fprog *ret);
/* The word for a call number of an architecture (AUDIT_ARCH_*); CALL_none if it is not one of ours. *ret_compat: it is
 * a 32-bit one. */
enum call trap_call(uint32_t arch, int nr, bool *ret_compat);
enum call trap_call_native(int nr);

/* Installs a filter whose action is SECCOMP_RET_TRACE on the calling thread, which must have a tracer. 0 or -errno. */
int trace_install(const struct sock_fprog *prog);

/* ---- user notification (notify.c) ---- */

/* Installs the filter on the calling thread and makes it a listener: the descriptor, or -errno (-EBUSY: there is one
 * already). Tries the wait-killable flag first (5.19). */
int notify_install(const struct sock_fprog *prog);
/* Can a stopped call be let go on? (5.5) */
bool notify_can_continue(int listener);
/* Asks the kernel to switch straight to the other side (6.6): saves an idle wake-up of 40 µs a stop. */
void notify_tune(int listener);

/* What worker, keeper and standby share: the request that each has received and not yet answered. Lies in a MAP_SHARED
 * page. One server receives, and one stands in for it: a second server on the listener measured 30 % more a
 * stop, because the kernel's direct switch then finds the wrong thread (doc/decisions/transport.md). From SLOT_MORE on:
 * servers that receive while others are held up by a file system, with what they have received. */
enum { SLOT_SERVER, SLOT_STAND_IN, SLOT_KEEPER, SLOT_STANDBY, SLOT_MORE, NOTIFY_SLOTS = 256 };
struct notify_slot {
	_Alignas(64) uint64_t id; /* where the kernel puts the cookie of struct seccomp_notif */
	uint32_t pid;
	uint32_t flags;
	struct {
		int32_t nr;
		uint32_t arch;
		uint64_t ip;
		uint64_t args[6];
	} data;
};
#define NOTIFY_PARKED 4096
struct notify_page {
	struct notify_slot slot[NOTIFY_SLOTS];
	uint64_t parked[NOTIFY_PARKED]; /* ids of what was received and put off; 0 none */
	unsigned stop;                  /* somebody asked that the recording ends (`stemma stop`) */
};
/* Receives one request into the slot: 0, -EINTR, -ENOENT (nobody left, or the caller was killed), ... */
int notify_recv(int listener, struct notify_slot *slot, struct trap *ret);
/* Lets the call go on; it runs as if it had never been stopped. */
int notify_continue(int listener, struct notify_slot *slot);
/* Gives the caller a descriptor of ours, under this number and closed at an exec, while its call stands. 0 or -errno
 * (before 5.9: -EINVAL or -ENOTTY). */
int notify_give(int listener, const struct notify_slot *slot, int fd, int number);
/* The call is not made: its result is a copy of the descriptor fd, at the lowest free number, closed at an exec. Frees
 * the slot and ends the stop where it succeeds, and only then. 0; -EINVAL: this kernel cannot do that (before Linux
 * 5.14); another -errno. */
int notify_open_as(int listener, struct notify_slot *slot, int fd);
/* Makes the call fail with -error without running it (only stemma's own marker calls). */
int notify_refuse(int listener, struct notify_slot *slot, int error);
/* Still waiting? False once the thread is gone, and then its /proc entries may be another's. */
bool notify_valid(int listener, const struct notify_slot *slot);
/* Lets go on what was received and not answered. */
void notify_release(int listener, struct notify_page *page);
/* ... of that what was put off. */
void notify_release_parked(int listener, struct notify_page *page);
/* The keeper's whole job after the worker's death: answers what was received, then everything that comes, until nobody
 * is left or `more` says false (asked every 100 ms). */
void notify_keep(int listener, struct notify_page *page, bool (*more)(void *arg), void *arg);

#endif
