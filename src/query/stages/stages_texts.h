/* stages_texts.h - reads what the engines of workflows leave in files: Snakemake's log and metadata, ninja's log,
 * Nextflow's script. The texts are hostile: what does not fit is passed over. Nothing is asked of the store. */
#ifndef STEMMA_QUERY_STAGES_STAGES_TEXTS_H
#define STEMMA_QUERY_STAGES_STAGES_TEXTS_H

#include "base/buf.h"
#include "query/idmap.h"

#define NOT_THERE UINT32_MAX

struct stages_job {
	struct str name, number, wildcards, made[2]; /* of the log's text; made: output, log */
	struct str command;                          /* of one that failed: its shell command, in lines; "" not told */
	bool failed;                                 /* the log says so */
	uint32_t stage;
};

/* What the log of one Snakemake says. */
struct stages_plan {
	struct buf text;
	struct str folder; /* in which it worked */
	struct stages_job *jobs;
	size_t n, cap;
	struct idmap by_file; /* hash of a path -> job + 1 */
};

/* Reads p->text, whose files lie in p->folder. 0 or -ENOMEM. */
int stages_plan_parse(struct stages_plan *p);
/* The job that a file, or a folder above it, was made for; NULL none. path: absolute. */
struct stages_job *stages_plan_job(struct stages_plan *p, struct str path);
/* A job that failed, has no stage yet, and whose shell command is this, whatever blanks and line ends are in it; NULL
 * none. */
struct stages_job *stages_plan_failed(struct stages_plan *p, struct str command);
void stages_plan_release(struct stages_plan *p);
/* The rule in the metadata of an output, within text; empty: none. */
struct str stages_metadata_rule(struct str text);

/* What ninja's log says: of each output the first one that its command has. */
struct stages_ninja {
	struct buf text; /* path, NUL, first output, NUL */
	struct idmap at; /* hash of a path -> its place in text */
};
/* folder: in which relative ones lie, with a slash at its end. 0 or -ENOMEM. */
int stages_ninja_parse(struct stages_ninja *l, struct str folder, struct str text);
/* The first output of the edge that made a path, by ninja's log. NULL: the log does not have it. */
const char *stages_ninja_first(const struct stages_ninja *l, struct str path);
void stages_ninja_release(struct stages_ninja *l);

/* The name of a task in the text of .command.run, within text; empty: none. */
struct str stages_task_name(struct str text);
/* A hash of a path that is never 0. */
uint64_t stages_path_hash(uint64_t h, struct str path);

#endif
