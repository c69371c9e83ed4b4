/* cut_int.h - what the parts of taking out share: the state of it, and the calls between cut.c (sessions and segments),
 * cut_belongs.c (in which tombstone an event goes) and cut_clean.c (what an event that stays must not tell). */
#ifndef STEMMA_KEEP_CUT_INT_H
#define STEMMA_KEEP_CUT_INT_H

#include "base/map.h"
#include "keep/cut.h"
#include "keep/rewrite.h"

#include <errno.h>
#include <xxhash.h>

/* A run or the files, as a tombstone will tell of it. */
struct cut_tombstone {
	struct str run; /* empty: the files */
	XXH3_state_t *hash;
	uint64_t count;
	bool already;
};
struct cut_whole {
	uint64_t session;
	size_t tombstone;
};

struct cut {
	struct keep_logs *l;
	const struct keep_cut_options *o;
	struct err *err;
	struct keep_cut_stats stats;
	VEC(struct cut_tombstone) tombstones; /* runs as in o, then the files', then that of builds by themselves */
	struct map builds;                    /* session -> its tombstone */
	VEC(struct cut_whole) wholes;
	struct edits edits; /* of all sessions */

	/* of the session at hand */
	uint64_t session;
	unsigned pass;      /* 0: what stays, and what it refers to; 1: what goes */
	uint32_t own;       /* tombstone of the session's run, VEC_NONE none */
	struct map procs;   /* number -> tombstone of its run + 1; 0: it stays */
	struct map gone;    /* seq of an access that went -> 1 */
	struct map apps;    /* seq of an app event that went -> its tombstone */
	struct map files;   /* number -> 1: forgotten */
	struct map used;    /* number -> 1: what stays refers to it */
	struct map domains; /* number -> index in words */
	struct map hidden;  /* number of a process that went altogether -> 1 */
	struct map needed;  /* number of a process that something which stays is about -> 1 */
	VEC(struct str) words;
	struct arena arena;
	bool mixed; /* some of it goes and some stays */
	uint64_t stay, go;
	size_t last; /* tombstone of what went last */
	struct buf scratch;
	VEC(struct str) list;
};

/* Reports that there is no memory. -ENOMEM. */
static inline int cut_no_memory(struct cut *c)
{
	return err_set(c->err, ENOMEM, "cannot forget");
}

/* Is the key in the map, which may be empty? */
static inline bool cut_map_has(const struct map *m, uint64_t key)
{
	return m->n && map_get(m, key) != VEC_NONE;
}

/* ---- cut_belongs.c ---- */

/* The tombstone of the run with that id; VEC_NONE: it stays. */
uint32_t cut_tombstone_of(const struct cut *c, struct str run);
/* In which tombstone the event goes, VEC_NONE: it stays. *ret_neutral: it tells of a thing that several runs may use.
 * What later events refer to is remembered in c. 0 or -errno. */
int cut_event_tombstone(struct cut *c, const struct event *ev, uint32_t *ret, bool *ret_neutral);

/* ---- cut_clean.c ---- */

/* An event that stays, without what it tells of things that go and of the words: an edit in c->edits where there is
 * such. 0 or -errno. */
int cut_clean_event(struct cut *c, const struct event *ev);

#endif
