/* stages.h - which programs belong together, as the author of a workflow named them: a job of a rule, a task, a target,
 * a notebook (doc/stages.md).
 *
 * Which programs belong together is from the tree of processes. What a stage is called is from arguments, and from
 * files of the workflow's engine that the record has and that are still as recorded; what is in them is hostile, and
 * gives nothing but names.
 *
 * A run is looked at whole when the first of its executions is asked for: about 5 us an execution. One thread; the
 * store may not change meanwhile. Strings and arrays belong to struct stages and live as long as it does. */
#ifndef STEMMA_QUERY_STAGES_STAGES_H
#define STEMMA_QUERY_STAGES_STAGES_H

#include "base/buf.h"
#include "base/os/engine_paths.h"
#include "store/store.h"

enum stage_kind { STAGE_RULE, STAGE_TASK, STAGE_TARGET, STAGE_NOTEBOOK };
/* What a workflow is run by. */
enum stage_engine { ENGINE_NONE, ENGINE_SNAKEMAKE, ENGINE_NEXTFLOW, ENGINE_MAKE, ENGINE_NINJA, ENGINE_JUPYTER };
/* What the name is from. */
enum stage_named { NAMED_NOT, NAMED_ARGUMENTS, NAMED_LOG, NAMED_SCRIPT, NAMED_METADATA, NAMED_OUTPUT };

struct stage {
	enum stage_kind kind;
	enum stage_engine engine;
	enum stage_named named;
	const char *name;      /* NULL: not known */
	const char *job;       /* number of Snakemake's job, folder of Nextflow's task; NULL: not known */
	const char *wildcards; /* NAME=VALUE, each with NUL behind it; NULL: none are known */
	size_t wildcards_n;    /* bytes of them */
	bool failed;           /* the engine's log says so, or the exit of the job's own Snakemake */
	store_id workflow;     /* the execution of the engine; 0: it is not in the record */
	store_id run;          /* 0: of no run */
	store_id *execs;       /* its executions, in order of start */
	size_t n_execs, cap_execs;
};

struct stages;
/* *ret is the caller's: stages_free. -ENOMEM. */
int stages_new(struct store *s, struct stages **ret);

void stages_free(struct stages *st);

/* The stage that an execution belongs to: 1; 0 it belongs to none, or -errno. *ret: for stages_get. */
int stages_find(struct stages *st, store_id exec, uint32_t *ret);
/* Is it an engine (or a fork of one) that belongs to no stage? 1 and *ret its execution; 0, -errno. */
int stages_is_engine(struct stages *st, store_id exec, store_id *ret);
/* The stage for which an engine made a version by itself, as a job that only touches its output: 1; 0 none, -errno. */
int stages_made_for(struct stages *st, store_id engine, store_id version, uint32_t *ret);
/* Is the file one that an engine keeps for itself? */
static inline bool stages_bookkeeping(struct str path)
{
	return engine_bookkeeping(path);
}
const struct stage *stages_get(const struct stages *st, uint32_t i);
/* What Snakemake wrote down of a job, as JSON, and the folder that paths in it begin from: the metadata of one of its
 * outputs, if the file is still as the run left it. 1; 0 it is not known, or the stage is none of Snakemake's; -errno.
 */
int stages_metadata(struct stages *st, uint32_t stage, struct buf *ret_text, struct buf *ret_folder);
/* Looks at all executions of a run, so that stages_count has its stages. 0 or -errno. */
int stages_look(struct stages *st, store_id run);
size_t stages_count(const struct stages *st);
/* The workflow of an execution: the engine above it that no other engine is above. 1; 0 there is none, -errno. Only
 * with stages_want_owners before the first question. */
int stages_owner(struct stages *st, store_id exec, store_id *ret);
void stages_want_owners(struct stages *st);
/* The engine that an execution is, from what it was started with: ENGINE_NONE where it is none. 1, -errno. */
int stages_engine(struct store *s, store_id exec, enum stage_engine *ret);

/* A file from which names would have come, and that is not as recorded any more. */
size_t stages_missed(const struct stages *st);
const char *stages_missed_path(const struct stages *st, size_t i);

/* "rule", "task", ...; "snakemake", ...; "arguments", ..., NULL of NAMED_NOT. */
const char *stage_kind_name(enum stage_kind k);
const char *stage_engine_name(enum stage_engine e);
const char *stage_named_name(enum stage_named n);

#endif
