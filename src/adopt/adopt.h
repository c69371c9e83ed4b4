/* adopt.h - what other tools wrote down of the files in a folder, taken into the record (doc/adopt.md).
 *
 * adopt_find looks through a folder and reads what workflow systems and recorders left there (ADOPT_TOOLS) into
 * jobs: who made what, from what, when. adopt_write puts those jobs into the record that it does not know better: a job
 * all of whose outputs were recorded while they were made is left alone. What is adopted is told, not observed: each
 * edge is possible (`may`), and each execution has the gap `reported` with the name of the tool.
 *
 * What is read is hostile. Every reader is bounded: bytes of a file, files of a folder, depth, words of a job. A file
 * that a reader makes no sense of is counted with a sentence, and the others go on. Paths are names only: nothing is
 * opened but what is below the folder, and no link is followed there. One thread. */
#ifndef STEMMA_ADOPT_ADOPT_H
#define STEMMA_ADOPT_ADOPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "event/event.h"

#include <sys/types.h>

/* name, what people call it */
#define ADOPT_TOOLS(X)                                                                                                 \
	X(snakemake, "Snakemake")                                                                                          \
	X(nextflow, "Nextflow")                                                                                            \
	X(ro_crate, "RO-Crate")                                                                                            \
	X(openlineage, "OpenLineage")                                                                                      \
	X(strace, "strace")                                                                                                \
	X(dvc, "DVC")                                                                                                      \
	X(datalad, "DataLad")                                                                                              \
	X(mlflow, "MLflow")                                                                                                \
	X(ninja, "ninja")                                                                                                  \
	X(compile_commands, "compile_commands.json")                                                                       \
	X(darshan, "Darshan")                                                                                              \
	X(audit, "audit log")                                                                                              \
	X(reprozip, "ReproZip")                                                                                            \
	X(slurm, "Slurm")
enum adopt_tool {
#define X(name, title) ADOPT_##name,
	ADOPT_TOOLS(X)
#undef X
	    ADOPT_TOOL_COUNT
};
const char *adopt_tool_name(enum adopt_tool t); /* "snakemake" */
/* The name of a workflow system. */
const char *adopt_tool_title(enum adopt_tool t);

/* All text is the list's, in one arena, and ends with NUL. */
struct adopt_job {
	enum adopt_tool tool;
	const char *source;        /* file that tells of it */
	const char *name;          /* rule, process, stage; "" none */
	const char *cwd;           /* "" not told */
	int64_t start, end;        /* ns since 1970; TIME_NONE not told */
	bool ended;                /* code is known */
	int code;                  /* exit status */
	VEC(const char *) argv;    /* none: not told */
	VEC(const char *) in, out; /* absolute paths, as they were told, without . and ..; or pipe:[...] */
	/* When each was first used, ns; none: when the job began. TIME_NONE is the same. */
	VEC(int64_t) in_at, out_at;
};
struct adopt_jobs {
	VEC(struct adopt_job) v;
	struct arena text;
	VEC(const char *) passed; /* sentences: what could not be read, and why */
	uint64_t sources[ADOPT_TOOL_COUNT];
	bool full;          /* there are more jobs than are taken */
	const char *folder; /* that was looked through, absolute */
	uid_t owner;        /* of that folder: whose work it is taken for */
};

/* Reads what lies in the folder. 0; -ENOMEM, or -errno of the folder with a sentence. */
int adopt_find(const char *folder, struct adopt_jobs *ret, struct err *err);
void adopt_release(struct adopt_jobs *jobs);

struct store;
struct adopt_report {
	uint64_t jobs[ADOPT_TOOL_COUNT];     /* written */
	uint64_t recorded[ADOPT_TOOL_COUNT]; /* left alone: recorded while they ran */
	uint64_t empty[ADOPT_TOOL_COUNT];    /* they name no output */
	uint64_t changed; /* files that were written since, so that they are not what a job left or read */
	uint64_t gone;    /* files that are not there any more */
	bool added;       /* false: nothing new */
};
/* Puts the jobs into the record at home; s is its open index, or NULL where there is none yet. dry: only the report.
 * 0, or -errno with a sentence, and then nothing was added. */
int adopt_write(const struct adopt_jobs *jobs, struct store *s, const char *home, bool dry, struct err *err,
                struct adopt_report *ret);

#endif
