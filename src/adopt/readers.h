/* readers.h - what the readers of src/adopt share: a job being made, its texts, and files of bounded size. */
#ifndef STEMMA_ADOPT_READERS_H
#define STEMMA_ADOPT_READERS_H

#include "adopt/adopt.h"

#include <jansson.h>

#define ADOPT_FILE_MOST ((size_t)64 << 20) /* bytes of one document */
#define ADOPT_JOBS_MOST 1000000
#define ADOPT_WORDS_MOST 100000 /* arguments or files of one job */

/* A new job, the last of the list. NULL: no memory, or there are too many, which is then said. */
struct adopt_job *adopt_job_new(struct adopt_jobs *l, enum adopt_tool tool, const char *source);
/* A copy that lives as long as the list; a NUL in it ends it. NULL without memory. */
const char *adopt_text(struct adopt_jobs *l, struct str s);
/* The command is a line of shell. */
int adopt_shell(struct adopt_jobs *l, struct adopt_job *j, struct str line);
/* Adds an input or output, as told from `base`. file:// before it is taken away; an address of another kind, an empty
 * path and one that is too long are left out. */
int adopt_input(struct adopt_jobs *l, struct adopt_job *j, const char *base, struct str path);
int adopt_output(struct adopt_jobs *l, struct adopt_job *j, const char *base, struct str path);
/* Adds a file that the job read (in) or wrote, by a path that is the list's own text, with the time of its first use
 * (ns). A job has either all times or none. 0; -ENOMEM. */
int adopt_edge_at(struct adopt_job *j, bool in, const char *path, int64_t time);
/* A sentence on what could not be read: "FILE: WHY". 0, -ENOMEM. */
int adopt_pass(struct adopt_jobs *l, const char *file, const char *why);

/* A JSON document below the folder fd. NULL: it cannot be read, which is then said, or there is no memory (*rc). */
json_t *adopt_json(struct adopt_jobs *l, int fd, const char *name, const char *path, int *rc);
/* A folder below the folder fd, of which no part is a link: a descriptor of the caller's, or -errno. */
int adopt_folder(int fd, const char *path);
/* A whole file; a link, something not a regular file, or more than ADOPT_FILE_MOST bytes is none: -errno. */
int adopt_file(int fd, const char *name, struct buf *ret);
/* A string of an object, or nothing. */
struct str adopt_member(const json_t *o, const char *name);
/* A number of seconds since 1970, with fractions, in ns; TIME_NONE. */
int64_t adopt_seconds(const json_t *number);
/* xsd:dateTime, in ns since 1970; TIME_NONE. */
int64_t adopt_date(struct str s);

/* The readers. Each: the folder as a descriptor and as an absolute path, a name in it. 0, -ENOMEM. */
int adopt_read_snakemake(struct adopt_jobs *l, int folder, const char *path); /* folder: of .snakemake */
int adopt_read_nextflow(struct adopt_jobs *l, int folder, const char *path, const char *name); /* folder: of a task */
int adopt_read_ro_crate(struct adopt_jobs *l, int folder, const char *path, const char *name); /* of its metadata */
int adopt_read_dvc(struct adopt_jobs *l, int folder, const char *path, const char *name);      /* dvc.lock */
int adopt_read_datalad(struct adopt_jobs *l, int folder, const char *path, const char *name);  /* of git log */
int adopt_read_datalad_sidecar(struct adopt_jobs *l, int folder, const char *path, const char *name); /* of runinfo */
int adopt_read_mlflow(struct adopt_jobs *l, int folder, const char *path, const char *name);          /* meta.yaml */
int adopt_read_ninja(struct adopt_jobs *l, int folder, const char *path, const char *name);           /* .ninja_log */
/* Reads compilation commands as jobs. */
int adopt_read_compile_commands(struct adopt_jobs *l, int folder, const char *path, const char *name);
int adopt_read_darshan(struct adopt_jobs *l, int folder, const char *path, const char *name); /* as text */
int adopt_read_audit(struct adopt_jobs *l, int folder, const char *path, const char *name);   /* audit.log */
/* Reads the jobs that sacct printed, columns by the names in its first line. */
int adopt_read_sacct(struct adopt_jobs *l, int folder, const char *path, const char *name);
int adopt_read_reprozip(struct adopt_jobs *l, int folder, const char *path, const char *name); /* trace.sqlite3 */
int adopt_read_strace(struct adopt_jobs *l, int folder, const char *path, const char *name);   /* a log */
/* Reads OpenLineage's events, one a line or as a list, as jobs. */
int adopt_read_openlineage(struct adopt_jobs *l, int folder, const char *path, const char *name);

#endif
