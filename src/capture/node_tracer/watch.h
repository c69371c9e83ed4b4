/* watch.h - fanotify on all file systems: marks, new mounts, reading.
 *
 * Notification only; no event waits for an answer. The queue is the kernel's usual 16,384 events (sysctl
 * fs.fanotify.max_queued_events), so that memory is bounded; when it runs over the kernel says so. Equal events of one
 * process and one file are merged in the queue, so an event says what was done, not how often. One thread. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_WATCH_H
#define STEMMA_CAPTURE_NODE_TRACER_WATCH_H

#include "capture/node_tracer/handles.h"

struct watch;

struct watch_options {
	uint32_t ops;              /* enum tracer_op; 0: all */
	const char *const *mounts; /* NULL: all */
	bool network;
	struct places *places; /* filled by it */
	struct helper *helper;
	/* Told of each file system that is watched, is not, or no longer. */
	void (*told)(void *arg, const struct place *place, const char *mount, const char *type, bool watched,
	             const char *why);
	void *arg;
};

/* Begins to watch the files of mounts. ret is to be closed. 0; -ENOTSUP: the kernel is too old; -errno; with a
 * sentence. */
int watch_open(const struct watch_options *options, struct watch **ret, struct err *err);

void watch_close(struct watch *w);
int watch_fd(const struct watch *w); /* readable where there are events */
/* Turns ready for exceptional things (EPOLLPRI) when something was mounted here. */
int watch_mounts_fd(const struct watch *w);
/* Looks at the mounts again. */
void watch_mounts(struct watch *w);
/* ... at those of the mount namespace that a process is in. False: it is gone. */
bool watch_mounts_of(struct watch *w, pid_t pid, uint32_t ns);
/* Reads what fits; bytes, 0 if there is nothing, or -errno. *ret_empty: nothing was left when it had read. */
ssize_t watch_read(struct watch *w, void *to, size_t room, bool *ret_empty);
/* Which kinds of operations a mask of fanotify's events means. As enum tracer_op. */
uint32_t watch_ops(uint64_t mask);
bool watch_renames(const struct watch *w); /* both names in one event (5.17) */

#endif
