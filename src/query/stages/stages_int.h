/* stages_int.h - what the parts of stages share: units, which the tree of processes gives (stages.c), and who names
 * those of one engine.
 *
 * A unit is what an engine started as one process, with all below it. Units of one job, or of one target, become one
 * stage. */
#ifndef STEMMA_QUERY_STAGES_STAGES_INT_H
#define STEMMA_QUERY_STAGES_STAGES_INT_H

#include "base/vec.h"
#include "query/idmap.h"
#include "query/stages/stages.h"
#include "query/stages/stages_texts.h"

/* An execution of a run, as stages.c looks at it. */
struct stage_exec {
	store_id id;
	uint32_t parent; /* its place in the run; NOT_THERE: none */
	uint8_t engine;  /* enum stage_engine that it is */
	bool itself;     /* it is the program of one stage of that engine */
	bool image;      /* an exec, and no fork */
	uint8_t state;   /* of the search: 0 not looked at, 1 is being looked at, 2 done */
	uint8_t kind;    /* enum stage_engine below which it is */
	uint32_t under;  /* the engine that it is, or is below; NOT_THERE */
	uint32_t top;    /* the engine above it that no other engine is above; NOT_THERE */
	uint32_t unit;   /* the first execution of its unit; NOT_THERE: it is in none */
};

/* A run while it is looked at. */
struct stage_run {
	struct stages *st;
	store_id id;
	struct stage_exec *x;
	size_t n;
	uint32_t *head;  /* of the first execution of each unit: the one that started first */
	uint32_t *next;  /* of the executions of one unit, the next one; NOT_THERE */
	uint32_t *stage; /* of the first execution of each unit: its stage; NOT_THERE */
};

struct stages {
	struct store *s;
	struct arena text;
	struct stage *v;
	size_t n, cap;
	struct idmap runs;    /* that were looked at */
	struct idmap of;      /* execution -> stage + 1 */
	struct idmap engines; /* execution -> place in engine_ids + 1 */
	store_id *engine_ids;
	size_t n_engines, cap_engines;
	struct idmap made; /* hash of an engine and a version that it made for a stage -> stage + 1 */
	const char **missed;
	size_t n_missed, cap_missed;
	bool owners;        /* they are wanted */
	struct idmap owner; /* execution -> place in engine_ids + 1, of its workflow */
	bool no_memory;
};

/* Ends with NUL, and lives as long as st. NULL: no memory, which st remembers. */
char *stages_keep(struct stages *st, struct str text);
/* A new stage. NULL without memory. *ret its number. */
struct stage *stages_add(struct stages *st, uint32_t *ret);
/* The unit whose first execution is x[u] is (a part of) the stage. 0 or -ENOMEM. */
int stages_join(struct stage_run *r, uint32_t u, uint32_t stage);
/* Reads a version of a file, if that is still on disk what the record has. 1; 0 it is not, which is noted in
 * st->missed; -errno. */
int stages_read(struct stages *st, store_id version, struct buf *ret);
/* Calls each for the regular files that an execution made: their versions and paths. 0, what each returned, -errno. */
typedef int stages_output(void *arg, store_id exec, store_id version, struct str path);
int stages_outputs(struct stages *st, store_id exec, stages_output *each, void *arg);

/* Names the units of the engine x[e]. 0 or -errno. */
int stages_name_snakemake(struct stage_run *r, uint32_t e);
/* Names the stages of all units below make and ninja by their targets. 0, -errno. */
int stages_name_targets(struct stage_run *r);
/* Names a unit that says by itself what it is of: `itself` is set, x[u] its first execution. 0 or -errno. */
int stages_name_job(struct stage_run *r, uint32_t u);
/* Names the stage of a task of Nextflow by its script. 0 also where the script cannot be read: the task has no name
 * then. -errno. */
int stages_name_task(struct stage_run *r, uint32_t u);

/* Its name is the .ipynb among its arguments; it may have none. -errno, or 0. */
int stages_name_notebook(struct stage_run *r, uint32_t u);

/* Arguments say that it runs jobs of a workflow that another Snakemake has planned. */
bool stages_is_job(const struct strlist *argv);

#endif
