/* calls_logged.h - opens that were not stopped: their process logged them by itself (capture/inline_open), and the
 * supervisor is told of them later. All of it under sup->lock. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_CALLS_LOGGED_H
#define STEMMA_CAPTURE_SUPERVISOR_CALLS_LOGGED_H

#include "capture/supervisor/super.h"

struct opened_id { /* ino 0: not known */
	uint64_t dev, ino;
};
struct logged_file {
	struct file *file;        /* NULL: not one that is recorded */
	struct opened_id id;      /* of what the path led to */
	struct fingerprint print; /* now */
	bool sure;                /* it was that one */
};
enum logged {
	LOGGED_ABSENT,  /* there was none */
	LOGGED_LATE,    /* names changed meanwhile */
	LOGGED_STOPPED, /* it did stop, and was let go on unseen */
	LOGGED_MADE
};
/* Tells of an open: p has opened a file to read, by an absolute path without a stop, at that time. 0, or -errno: it
 * cannot be found (any more). */
int calls_open_logged(struct sup *s, struct proc *p, const char *path, unsigned flags, enum logged how, int64_t time,
                      struct logged_file *ret);
/* Tells of an open where it is known which file the kernel has opened (how: LOGGED_MADE or LOGGED_LATE). 0; -ESTALE:
 * the path does not lead to that one; -errno. */
int calls_open_known(struct sup *s, struct proc *p, const char *path, unsigned flags, enum logged how, int64_t time,
                     const struct opened_id *id, struct logged_file *ret);
/* Tells of an open by the descriptor that it gave, if that still has the file `id`. 0, -ESTALE: it has another one;
 * -errno. */
int calls_open_descriptor(struct sup *s, struct proc *p, int fd, unsigned flags, int64_t time,
                          const struct opened_id *id);
/* Tells of a possible open: p may have opened that, as its own path says, at that time. 0 or -errno. */
int calls_open_possible(struct sup *s, struct proc *p, const char *path, unsigned flags, int64_t time);
/* Tells that the process opened the same file again, n times from `time` on, as the file was when it was looked at.
 */
void calls_open_again(struct sup *s, struct proc *p, const struct logged_file *what, int64_t time, unsigned n);
/* Does the path still lead there, and is that as it was? */
bool calls_open_is_same(struct sup *s, struct proc *p, const char *path, unsigned flags, const struct logged_file *was);
/* If not: opened since it was looked at. 0 or -errno as open_logged. */
struct opened_since {
	int64_t looked, first, last; /* times */
	unsigned n;
};
int calls_open_changed(struct sup *s, struct proc *p, const char *path, unsigned flags, const struct logged_file *was,
                       const struct opened_since *o);

#endif
