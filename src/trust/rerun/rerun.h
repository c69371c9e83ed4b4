/* rerun.h - what a run needs to be made again: its files, found as they were, or brought back; its command line and
 * environment as the record has them.
 *
 * Files below the run's working directory that it used and did not make are brought into another folder; those outside
 * (but not the machine's own) are compared where they are. A file is compared by what the record has: digest, build-id,
 * else identity, size and time. What is not as it was is taken from kept copies (kept.h), else from the git repository
 * that it lies in: the latest commits in which its path changed. */
#ifndef STEMMA_TRUST_RERUN_RERUN_H
#define STEMMA_TRUST_RERUN_RERUN_H

#include "trust/witness.h"

#define RERUN_OUTSIDE 100
enum rerun_state {
	RERUN_SAME,    /* it is as it was */
	RERUN_KEPT,    /* ... brought back from a kept copy */
	RERUN_GIT,     /* ... from git */
	RERUN_REBUILT, /* ... built again with the recorded command */
	RERUN_DIFFERS, /* it is another one now, and not to be had */
	RERUN_GONE,
	RERUN_CHANGED,  /* it does not look as it was; the record has no digest, so its bytes may be the same */
	RERUN_UNKNOWN,  /* the record does not say enough */
	RERUN_REPLACED, /* the run put another one in its place, and only may have read it: it is not needed */
	RERUN_ENGINE,   /* it is not as it was, and a file in which a workflow system keeps what it did: it is not needed */
};
const char *rerun_state_name(enum rerun_state s);

struct rerun_file {
	char *path, *name; /* absolute; as shown: relative to the working directory where it lies below it */
	char *want;        /* digest or build-id; "" not known */
	char *commit;      /* of RERUN_GIT */
	bool below, program, library;
	bool fingerprint_same; /* identity, size and time are those of the record */
	unsigned mode;
	uint64_t size; /* 0 also: not known */
	enum rerun_state state;
	const char *how;  /* of RERUN_CHANGED: by what that shows, in words; NULL else */
	bool sure;        /* it was surely opened to be read, or what the run made was made from it */
	const char *lost; /* what the run itself did to it, in words: "changed", "moved", "removed"; NULL nothing */
};
/* What the run removed, or put another file in the place of, without reading it: only that it was there is needed. */
struct rerun_removed {
	char *name;            /* relative to the working directory */
	bool folder, has_size; /* has_size: it is known */
	uint64_t size;
	int64_t mtime; /* TIME_NONE not known */
};
struct rerun {
	struct rerun_file *v;
	size_t n;
	char **argv, **env; /* NULL-terminated; env: what the record has of the environment, NAME=value */
	char *cwd, *ulid;
	char *user, *host; /* who recorded it, as the record has it; "" not known */
	bool redacted;     /* an argument was */
	bool own;          /* this user recorded it, on this machine */
	char **reads;      /* all files and folders that the run used, by path; NULL-terminated. Of an own run only */
	size_t n_reads;
	char **made; /* names relative to cwd of the files that the run made below it, sorted; NULL-terminated */
	size_t n_made;
	struct rerun_removed *removed;
	size_t n_removed;
	bool more_removed; /* the run moved, linked or removed more than CONSUMED_MOST: the rest is not looked at */
	/* Files outside of the working directory and of folders for temporary files that the run wrote, moved or removed:
	 * a confined command may not. Absolute; NULL-terminated, NULL none. RERUN_OUTSIDE of them at most; all: how many.
	 */
	char **outside;
	size_t n_outside, all_outside;
	int64_t began; /* TIME_NONE not known */
};

/* Finds out; changes nothing. home: of the record. from: where the files below its working directory are looked for if
 * it was received; absolute; NULL nowhere. 0 or -errno with a sentence. Release ret in any case. */
int rerun_plan(struct store *s, store_id run, const char *home, const char *from, const struct witness_options *o,
               struct err *err, struct rerun *ret);
/* Did this user record the run, on this machine? 1, 0, -errno. */
int rerun_is_own(struct store *s, store_id run, const char *home);
/* An absolute path, or with `relative` one below a folder, without empty components, "." and "..". */
bool rerun_is_path(struct str path, bool relative);
/* Is one of these words not what it was, since a secret was taken out of it? */
bool rerun_has_redacted(const struct strlist *l);
/* The environment that a command of the record is given: NULL-terminated, malloc'ed; the strings belong to env and to
 * environ. Of the record nothing that makes programs load or run something else (event/env.h), nothing redacted. Own:
 * over the caller's own environment; received: in place of it. left_out (may be NULL): names of what was not taken and
 * has another value now, malloc'ed, ", " between them, "" none. NULL without memory. */
char **rerun_environment(char *const *env, bool own, char **left_out);
/* Brings the files below the working directory into dir, which is there and empty. 0 or -errno. */
int rerun_fill(struct rerun *r, const char *home, const char *dir, struct err *err);
void rerun_release(struct rerun *r);

/* One file, of which path, want and mode are known: is what lies there what is wanted? Without `want`, is it the
 * version v of f? Sets state, and mode where it is there. */
void rerun_look(struct rerun_file *x, const struct witness_options *o, const struct file_info *f,
                const struct version_info *v);
/* Copies it to a new file `to`: as it lies there, or from a kept copy, or from git; sets state. 0, also where it is not
 * to be had (which its state says), or -errno. */
int rerun_bring(struct rerun_file *x, const char *home, const char *to);
/* It is needed, and is not to be had as it was. */
static inline bool rerun_lacks(const struct rerun_file *x)
{
	return x->state == RERUN_DIFFERS || x->state == RERUN_GONE || x->state == RERUN_CHANGED ||
	       x->state == RERUN_UNKNOWN;
}
/* Its strings. */
void rerun_file_release(struct rerun_file *x);

#endif
