/* consumed.h - what was there before a run and that the run moved, linked or removed without reading it: `mv a b` needs
 * a, though no version of it was used. Read from the run's own events in the logs, since the index does not say which
 * process changed a name.
 *
 * Beside that, which files the run itself opened to write.
 *
 * A file that the run made or emptied before is none, nor is what another run did meanwhile. Costs the reading of the
 * run's frames, about 100 ns an event. No printing. */
#ifndef STEMMA_TRUST_RERUN_CONSUMED_H
#define STEMMA_TRUST_RERUN_CONSUMED_H

#include "base/err.h"
#include "base/vec.h"
#include "store/store.h"

#define CONSUMED_MOST 10000 /* of one run; a run with more has its first ones, and `more` */

enum consumed_how {
	CONSUMED_MOVED,    /* it got another name */
	CONSUMED_LINKED,   /* it got a second name */
	CONSUMED_REMOVED,  /* its name was taken from it */
	CONSUMED_REPLACED, /* its name was given to another file */
};
struct consumed_file {
	char *path;   /* absolute: as it was called before */
	char *became; /* of what was moved or linked: its new name, absolute; else NULL */
	char *domain;
	uint64_t ino, gen;
	bool folder;
	enum consumed_how how;
	int64_t time; /* of the event */
};
/* A file's identity; domain: XXH3 of its name. */
struct consumed_id {
	uint64_t domain, ino, gen;
};
struct consumed {
	struct consumed_file *v; /* of each file the first, in order of the events */
	size_t n, cap;
	VEC(struct consumed_id) opened; /* files that a process of the run opened to write, sorted */
	bool more;                      /* the run moved, linked or removed others, too */
};

/* Did a process of the run open it to write? Else what it wrote there went through what its caller had opened. */
bool consumed_opened(const struct consumed *c, struct str domain, uint64_t ino, uint64_t gen);
/* Finds what the run moved, removed and replaced. 0; -errno with a sentence. Release ret in any case. */
int consumed_read(struct store *s, store_id run, struct err *err, struct consumed *ret);
void consumed_release(struct consumed *c);

#endif
