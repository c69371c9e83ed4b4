/* helper.h - the small process that keeps what is dangerous, and does these few things for the daemon: marks file
 * systems for fanotify, looks at handles with O_PATH, looks at others' /proc. It reads no text and no file, writes
 * nothing, and makes no permission event, whatever it is asked.
 *
 * One question at a time, each kind of one size (a batch's goes with its count). It lies in memory that both have, and
 * is copied before it is looked at; what does not hold together is answered with -EPROTO and nothing is done. Two pipes
 * say that there is one (a round trip takes half of what it takes with a socket, 20 us for 40), a socket brings open
 * files. The helper ends when the other ends of the pipes are gone. Without a process of its own (helper_direct) the
 * same code does the same in the asker's process.
 *
 * Bounds: HELPER_PLACES file systems, HELPER_BATCH handles a message. One thread on either side. Functions return 0 or
 * -errno; -ECONNRESET: the helper is gone, now and for ever. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_HELPER_H
#define STEMMA_CAPTURE_NODE_TRACER_HELPER_H

#include "base/err.h"
#include "base/fileid.h"
#include "capture/node_tracer/decode.h"

#include <limits.h>
#include <sys/types.h>

enum { HELPER_PLACES = 256, HELPER_BATCH = 256, HELPER_PIDS = 1024 };

struct helper;

/* The caller ignores SIGPIPE. A process that starts with all that the caller may, and keeps CAP_SYS_ADMIN,
 * CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE of it. Before there are threads. 0; -errno with a sentence. */
int helper_start(struct err *err, struct helper **ret);
/* Makes a helper without a process: no process: for tools and tests. 0, -errno. */
int helper_direct(struct helper **ret);
/* Waits for its end. */
void helper_close(struct helper *h);
pid_t helper_pid(const struct helper *h); /* 0: none */
int helper_fd(const struct helper *h);    /* readable when it is gone; -1: none */
bool helper_gone(const struct helper *h);

/* A group of fanotify: notifications of names and handles, nothing else. The one before is let go of. targets: also
 * what an event is about (5.17); else -EINVAL there. */
int helper_watch(struct helper *h, bool targets, int *ret_fd);
void helper_unwatch(struct helper *h);

struct helper_place {
	uint32_t slot; /* what it is called from now on */
	uint64_t fsid, dev;
	const struct fs_domain *domain;
	bool handles, decodes; /* as in struct place */
	int32_t type;
	uint32_t bytes;
};
/* A mounted file system of that device; slot and place in one. -ENODEV: that is not mounted there, or no directory.
 * -EBUSY: no more room. -ETIMEDOUT: waits, and it does not answer in two seconds. */
int helper_look(struct helper *h, const char *mount, uint64_t dev, bool waits, struct helper_place *ret);
int helper_mark(struct helper *h, uint32_t slot, uint64_t mask);
void helper_forget(struct helper *h, uint32_t slot);

struct helper_handle {
	uint32_t slot, bytes;
	int32_t type;
	unsigned char p[HANDLE_MAX];
};
struct helper_state {
	int32_t r; /* -errno: nothing else is filled in */
	uint32_t mode;
	uint64_t ino, size;
	int64_t mtime, birth; /* ns; birth: 0 unknown */
};
/* Asks for the states of at most HELPER_BATCH files. 0; -EINVAL; -errno of the question; of each file its own r. */
int helper_states(struct helper *h, const struct helper_handle *of, unsigned n, struct helper_state *ret);
/* What it was last looked up by. -ESTALE: removed; -ENOTDIR: in no directory that can be reached; -ENAMETOOLONG. */
int helper_handle_path(struct helper *h, const struct helper_handle *of, char ret[PATH_MAX]);

/* Links of /proc/PID. */
enum helper_link { HELPER_EXE, HELPER_CWD, HELPER_FD, HELPER_MNT, HELPER_PIDNS, HELPER_LINKS };
/* What it says, and (id not NULL) what it leads to, as unasked_get does. The length, or -errno. *ret_id: 0 or -errno.
 */
ssize_t helper_link(struct helper *h, pid_t pid, enum helper_link link, unsigned fd, char ret[PATH_MAX], int *ret_id,
                    struct fileid *id);
/* Files of /proc/PID, opened for reading. */
enum helper_file {
	HELPER_STAT,
	HELPER_STATUS,
	HELPER_CMDLINE,
	HELPER_ENVIRON,
	HELPER_MOUNTINFO,
	HELPER_STATM,
	HELPER_FILES
};
/* Lets the helper open a file of a process in /proc. */
int helper_open(struct helper *h, pid_t pid, enum helper_file file, int *ret_fd);
/* Processes that there are, in pieces: the count of this one, at most HELPER_PIDS. first: begin anew. -errno. */
int helper_pids(struct helper *h, bool first, int32_t *ret, bool *ret_more);
/* Identity of a path; real not NULL: what it leads to (unasked_real), within two seconds. Else a last link is not
 * followed. */
int helper_find(struct helper *h, const char *path, char real[PATH_MAX], struct fileid *ret);

/* For tests: a question as it comes from the socket, done; the size of the answer in *ret_n. helper_work_free: NULL is
 * none. helper_work_do: -EPROTO where the question makes no sense. The answer is w's, until the next question; *ret_fd:
 * a descriptor that goes with it, -1 none. */
struct helper_answer;
struct helper_work;
int helper_work_new(struct helper_work **ret);
void helper_work_free(struct helper_work *w);
const struct helper_answer *helper_work_do(struct helper_work *w, const void *question, size_t n, size_t *ret_n,
                                           int *ret_fd);

#endif
