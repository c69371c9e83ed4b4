/* stemma/stemma.h - ask a record where files came from: the reading half of stemma as a library.
 *
 *     struct stemma_record *r;
 *     struct stemma_error err;
 *     char *json;
 *     if (stemma_open(NULL, 0, &r, &err) == 0) {
 *         if (stemma_why(r, "results/a.vcf", 0, &json, &err) == 0)
 *             puts(json);
 *         stemma_free(json);
 *     }
 *     stemma_close(r);
 *
 * Link with -lstemma (pkg-config stemma). Answers are JSON, the same as the commands print with --json; the manual page
 * of each command documents the fields. Fields are added, never renamed. "format" is 1.
 *
 * Every call returns 0; STEMMA_NOTHING if the record has no answer, with a sentence in err; or -errno with a sentence.
 * err may be NULL. Outputs are set on success, and NULL otherwise; the caller owns them, and gives texts to
 * stemma_free. Texts are UTF-8 and end with NUL. The library prints nothing, changes no signal handler and never exits.
 *
 * A record is used by one thread at a time; different records by different threads; a child after fork opens its own,
 * and leaves its parent's alone. Sentences in err have names byte by byte, as they were asked: escape them before they
 * are shown on a terminal. An answer is that of the record as it was indexed last: stemma_open does it, and
 * stemma_update again.
 *
 * The interface is not stable yet: STEMMA_ABI is 0 until calls for many files at once are part of it. */
#ifndef STEMMA_STEMMA_H
#define STEMMA_STEMMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEMMA_ABI 0
#define STEMMA_NOTHING 1

struct stemma_record;

/* What went wrong, and what can be done about it; "" where there is nothing to say. */
struct stemma_error {
	char text[512], hint[256];
};

/* ---- the record ---- */

enum stemma_open_flags {
	STEMMA_READ_ONLY = 1, /* the index is not brought up to date, and nothing is written; without an index: -ENOENT */
	STEMMA_IN_MEMORY = 2, /* the index is made in memory from the logs, and nothing is written */
};

/* Opens the record in the folder `store`; NULL: where `stemma` would look, by the user's settings. Brings the index up
 * to date: about 2.5 s for a million accesses; those that were indexed before are not read again. STEMMA_NOTHING:
 * nothing was recorded there.
 *
 * A page of the index is checked when a question first reads it. If it is damaged, the index is made again from the
 * logs, which takes as long as the first time, and the question is asked again; with STEMMA_READ_ONLY it returns
 * -ENOTRECOVERABLE. Where a row of the index cannot be read for another reason, the question is not answered: -EIO, or
 * what the system said.
 *
 * `store` may also be postgresql://HOST/DATABASE, a database that `stemma site load --questions` filled. Each question
 * is then asked of the latest state that is there, and reads one state; the flags mean nothing. -EACCES: the role may
 * not read the whole record; -ENOENT: no index is there; -EHOSTUNREACH: nor is the server. */
int stemma_open(const char *store, unsigned flags, struct stemma_record **ret, struct stemma_error *err);
/* Indexes what was recorded since. -EROFS for a record that is only read. */
int stemma_update(struct stemma_record *r, struct stemma_error *err);
/* NULL is fine. */
void stemma_close(struct stemma_record *r);

/* Is part of the logs missing? Then each answer may be incomplete. Places of the logs that cannot be read, and
 * recordings that lack a part. */
int stemma_damage(struct stemma_record *r, uint64_t *ret_places, uint64_t *ret_recordings, struct stemma_error *err);

/* ---- names ---- */

enum stemma_kind { STEMMA_RUN, STEMMA_FILE, STEMMA_EXECUTION };

/* How the file on disk stands to the latest recorded version. */
enum stemma_disk {
	STEMMA_DISK_SAME,
	STEMMA_DISK_CHANGED,  /* size or time of modification differ */
	STEMMA_DISK_REPLACED, /* another file has the name now */
	STEMMA_DISK_GONE,
	STEMMA_DISK_AROUND,  /* an object of a file that was written since, and it is not known whether the object was */
	STEMMA_DISK_DELETED, /* an object of a file, whose deletion is recorded */
};

struct stemma_target {
	enum stemma_kind kind;
	char id[40];           /* of the run (a ULID), execution (x...), or version (v..., of a file); "" no version */
	uint64_t version;      /* of a file: its number, 0 none is recorded */
	enum stemma_disk disk; /* of a file */
};

/* What a word on the command line means: FILE, FILE@{N}, FILE//OBJECT, @, @~1, the last characters of a run's id, an
 * id. Relative paths are relative to the working directory. */
int stemma_resolve(struct stemma_record *r, const char *text, struct stemma_target *ret, struct stemma_error *err);

/* ---- answers: JSON ---- */

enum stemma_answer_flags {
	STEMMA_ALL = 1,      /* nothing is folded or left out */
	STEMMA_CERTAIN = 2,  /* lineage: only what is certain */
	STEMMA_DOWN = 4,     /* lineage: what came from the file, not what it came from */
	STEMMA_FORKS = 8,    /* lineage: also what may be through fork, exec and shared memory */
	STEMMA_OBJECTS = 16, /* stat: objects of HDF5 files, and no files */
	STEMMA_TIMES = 32,   /* stat: also how the calls lie over time */
	STEMMA_READ = 128,   /* lineage: of what was used, only what is known to have been read; with STEMMA_CERTAIN */
	STEMMA_STAGES = 256, /* lineage: by rules, tasks, targets, notebooks (doc/stages.md); not with STEMMA_ALL */
	STEMMA_SOURCES = 64, /* show: of what was built, whether the sources are still what they were */
};

/* Who made the file, and from what (stemma-why(1)). */
int stemma_why(struct stemma_record *r, const char *file, unsigned flags, char **ret, struct stemma_error *err);
/* All that it came from, or that came from it (stemma-lineage(1)). depth: executions away, 0 no limit. */
int stemma_lineage(struct stemma_record *r, const char *file, unsigned flags, unsigned depth, char **ret,
                   struct stemma_error *err);
/* The runs, newest first, at most `count` (0: all) (stemma-log(1)). */
int stemma_runs(struct stemma_record *r, unsigned flags, uint64_t count, char **ret, struct stemma_error *err);
/* The files, runs or executions that an expression describes (stemma-find(1)). -EINVAL: it is none. */
int stemma_find(struct stemma_record *r, const char *expression, unsigned flags, char **ret, struct stemma_error *err);
/* What differs between two runs, executions or versions (stemma-diff(1)). -EINVAL: they are of different kinds. */
int stemma_diff(struct stemma_record *r, const char *a, const char *b, char **ret, struct stemma_error *err);
/* At which line programs took different ways (stemma diff --trace): a and b are each a trace, a folder of traces, a run
 * or an execution. At most 20 differences of a pair of threads, with STEMMA_ALL 10,000. Nothing is run again:
 * STEMMA_NOTHING, a side has no trace; -EINVAL, -EBADMSG: they cannot be compared. */
int stemma_diff_trace(struct stemma_record *r, const char *a, const char *b, unsigned flags, char **ret,
                      struct stemma_error *err);
/* All that is known of a run, file, execution or build (stemma-show(1)): {"format": 1, "things": [...]}. Of a program
 * or library that lies on disk and has no record of its build, the file itself and dpkg are asked. STEMMA_ALL: also
 * system files and absent paths. */
int stemma_show(struct stemma_record *r, const char *target, unsigned flags, char **ret, struct stemma_error *err);
/* What was read and written in a run, by an execution or of a file (stemma-stat(1)): counts, bytes, and times in ns. At
 * most `count` executions and as many files, the most used first (0: all). STEMMA_ALL: also system files and
 * absent paths. */
int stemma_stat(struct stemma_record *r, const char *target, unsigned flags, uint64_t count, char **ret,
                struct stemma_error *err);
/* Which of its calls were under way at a time, in ns since 1970 (stemma stat --at): maybe none. */
int stemma_stat_at(struct stemma_record *r, const char *target, unsigned flags, int64_t at, char **ret,
                   struct stemma_error *err);
/* What the record shows of runs, and how far a claim agrees with it (stemma-trust(1)). runs: words, each a run,
 * RUN..RUN or bench:ID, the last one NULL; NULL: those that the claim names, else the last one. claim: its text
 * (doc/format/claim.md), NULL none. tolerance, of numbers among the results: "5%" or "0.01"; NULL none. Digests that no
 * record has are taken of the files. -EINVAL: the tolerance makes no sense; -EBADMSG: the claim is none. */
int stemma_trust(struct stemma_record *r, const char *const *runs, const char *claim, const char *tolerance, char **ret,
                 struct stemma_error *err);
/* The claim that the record would agree with (stemma trust --report). */
int stemma_claim(struct stemma_record *r, const char *const *runs, char **ret, struct stemma_error *err);
/* Is the chain of seals sound (stemma trust --verify)? Reads all logs. expect: a hash of 64 hexadecimal digits that
 * must be one of the chain's, NULL none; -EINVAL: it is no hash. Signatures are not checked. */
int stemma_verify(struct stemma_record *r, const char *expect, char **ret, struct stemma_error *err);
/* What the tasks of a run used: {"format": 1, "summaries": [...]}, each as in doc/format/summary.md without processes
 * and files. run: as for stemma_resolve; NULL: all summaries of the record. STEMMA_NOTHING: there is none. */
int stemma_summaries(struct stemma_record *r, const char *run, char **ret, struct stemma_error *err);

void stemma_free(char *text);
/* "0.1.0" */
const char *stemma_version(void);

#ifdef __cplusplus
}
#endif

#endif
