/* check.h - did the jobs of a workflow, or targets of make and ninja, read files that their rules do not declare?
 * (doc/stages.md, Undeclared inputs)
 *
 * What a rule declares is from what the engine wrote down of the job, and is hostile: it gives nothing but paths to
 * compare with. A job of which it is not known is counted, and never taken for one that declares all.
 *
 * Cost: a look at each execution of the run and at what it used: about 10 us an execution. */
#ifndef STEMMA_ANSWER_CHECK_CHECK_H
#define STEMMA_ANSWER_CHECK_CHECK_H

#include "answer/js.h"
#include "answer/source.h"
#include "base/buf.h"
#include "base/vec.h"
#include "query/stages/stages.h"

/* A file that programs of a job read, which the job's rule does not declare. */
struct check_input {
	uint32_t stage; /* of stages_get */
	store_id version, reader;
	bool script; /* a script, module or program text */
	bool sure;   /* surely opened; else it may have been */
};
/* Why it is not known what a job declares. */
enum check_why {
	CHECK_FAILED,     /* Snakemake's log says that it failed */
	CHECK_UNFINISHED, /* its metadata say that it was not complete, or are of another form */
	CHECK_NO_METADATA,
	CHECK_NO_DATABASE,   /* of a target of make: its database was not given */
	CHECK_NO_BUILD_FILE, /* of a target of ninja: build.ninja is not as the run left it */
	CHECK_NO_RULE,       /* no rule there makes what it made */
};
struct check_unknown {
	uint32_t stage;
	enum check_why why;
};
struct check {
	struct store *s;
	struct stages *st;
	VEC(struct check_input) inputs;    /* by stage, then as the programs used them; each file of a job once */
	VEC(struct check_unknown) unknown; /* jobs whose declared inputs are not known */
	size_t n_jobs;                     /* all jobs of rules of the run */
	size_t n_undeclared;               /* jobs with a sure one of inputs */
	uint64_t gaps;                     /* of the run: what could not be seen, as bits of reasons */
};

/* Checks the jobs of a run: those of rules of Snakemake; in a run without them the targets of make and ninja.
 * make_database: what `make -p` printed, NULL: it was not given. 0 or -errno; release ret in any case. */
int check_run(const struct answer_source *a, store_id run, const struct buf *make_database, struct check *ret);
void check_release(struct check *c);
/* Is it sure that each job read only what its rule declares? False also where there is no job. */
bool check_is_clean(const struct check *c);
/* In words, static: "it failed". */
const char *check_why_words(enum check_why why);
/* {"format": 1, "run": ULID, "jobs": N, "unknown": [...], "undeclared": [...]}; a new reference. 0 or -errno. */
int check_json(const struct check *c, store_id run, json_t **ret);

#endif
