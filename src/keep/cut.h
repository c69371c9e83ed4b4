/* cut.h - take runs and files out of the logs, for good.
 *
 * A segment that holds events of theirs is written anew without them, beside itself, and renamed over itself while its
 * slot is held, so that at every moment the old or the new one is there. The events that stay keep session and seq, and
 * so all ids made of those. What is left of a forgotten run is a tombstone: its id, how much it was, and a hash; where
 * a whole session went, its frames do not count any more wherever they are met (a copy of the log that comes later).
 *
 * Builds go by their sessions: those that were made in a run that goes, and those that the caller names.
 *
 * Of a session that holds another run, too (nested runs), that one's events stay, and the files it used. Of a file go
 * all events that are about it, by identity, not by name; what tells of its name in arguments stays unless it is asked
 * for. Bytes that are no whole frame, in a segment that is written anew, go as well: what they hold cannot be told.
 *
 * Cost: every event of the record is read once. Memory: 40 bytes a frame and what is changed. */
#ifndef STEMMA_KEEP_CUT_H
#define STEMMA_KEEP_CUT_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct keep_logs;
/* Reads all segments of home through. While they are open no other keeper of this host changes them. 0 or -errno. */
int keep_logs_open(const char *home, struct err *err, struct keep_logs **ret);
void keep_logs_close(struct keep_logs *l); /* NULL is fine */
/* How long to wait where a run is being recorded, before -EBUSY: 5000 ms unless it is said. */
void keep_logs_patience(struct keep_logs *l, unsigned ms);

struct keep_file {
	struct str domain, path; /* path: of what was absent, which has no other identity */
	uint64_t ino, gen;
	bool absent;
};
/* A session that tells of a build and of nothing else. */
struct keep_whole {
	uint64_t session;
	size_t run; /* index of the run that it goes with; n_runs: it goes by itself */
};
struct keep_cut_options {
	const struct str *runs; /* ULIDs */
	size_t n_runs;
	const struct keep_file *files;
	size_t n_files;
	const struct keep_whole *builds;
	size_t n_builds;
	const struct str *words; /* arguments and variables that mention one become ***: paths, names of files */
	size_t n_words;
	bool dry_run;
};
struct keep_cut_stats {
	uint64_t events, sessions; /* taken out; sessions that are gone whole */
	uint64_t changed;          /* events that stay, without what they told of it */
	uint64_t segments;         /* written anew, or removed */
	uint64_t before, after;    /* bytes of those */
	uint64_t damaged, newer;   /* bytes that could not be read and are gone; frames of a newer stemma, which stay */
	uint64_t already;          /* of the runs: those that a tombstone tells of */
};
/* Finds out what of l belongs to them and, unless it is a dry run, takes it out. 0, or -errno: -EBUSY where somebody
 * writes, -EAGAIN where somebody wrote meanwhile; nothing was changed then, or (of several segments) the first ones
 * only, and doing it again does the rest. */
int keep_cut(struct keep_logs *l, const struct keep_cut_options *o, struct err *err, struct keep_cut_stats *ret);

/* The one run that was forgotten with an id that ends or begins with text. 1, 0, -ENOTUNIQ, -errno. */
int keep_forgotten(struct keep_logs *l, struct str text, char ret_ulid[27], int64_t *ret_when, struct err *err);

#endif
