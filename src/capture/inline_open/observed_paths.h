/* observed_paths.h - the paths that processes have opened by themselves (inline_open.h), and what these led to. A path
 * is looked up once for all of its opens that are read together; and one that is opened again and again less and less
 * often, as long as nothing of the run stops (doc/opens.md, When files are looked at). Internal to capture; under the
 * big lock.
 *
 * At most OBSERVED_MAX paths, of a quarter of a kilobyte each with what belongs to it. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_OBSERVED_PATHS_H
#define STEMMA_CAPTURE_INLINE_OPEN_OBSERVED_PATHS_H

#include "base/buf.h"
#include "capture/supervisor/calls_logged.h"

#define OBSERVED_MAX 4096 /* more than the entries of one log */
#define OBSERVED_PROBES 8 /* places of the table that a path may be in */

/* A path of a process, and what it led to. */
struct observed {
	struct proc *proc;
	size_t path;     /* in text */
	uint32_t length; /* with its NUL */
	bool nofollow;
	bool kept;               /* beyond the reading in which it was looked at */
	struct logged_file what; /* its file pinned */
	/* The look, by the processor's counter and the record's clock (ns); and, of what is kept, by when it is to be
	 * looked at again if it was opened, and what was opened since. */
	uint64_t tsc;
	int64_t time, wait;
	uint64_t first, last; /* counter */
	unsigned opens;
};

struct observed_table {
	uint64_t hash[OBSERVED_MAX + OBSERVED_PROBES]; /* of each; 0: it holds nothing */
	struct observed observed[OBSERVED_MAX + OBSERVED_PROBES];
	uint16_t used[OBSERVED_MAX + OBSERVED_PROBES]; /* those that hold something */
	size_t nused;
	struct buf text;
};

/* The hash */
uint64_t observed_hash(const struct proc *p, const char *path, uint32_t length, bool nofollow);
/* Finds what is known of a path that the process opened before. NULL: it is not known. */
struct observed *observed_find(struct observed_table *t, const struct proc *p, const char *path, uint32_t length,
                               bool nofollow, uint64_t hash);
/* Remembers it. NULL: there is no room for it. */
struct observed *observed_add(struct observed_table *t, const struct observed *m, const char *path, uint64_t hash);
/* The path as the process gave it; valid until the table changes. */
static inline const char *observed_path(const struct observed_table *t, const struct observed *m)
{
	return (const char *)t->text.p + m->path;
}
/* Forgets what is not kept; or all. Nothing that was opened may wait for a look then. */
void observed_forget(struct sup *s, struct observed_table *t, bool all);

#endif
