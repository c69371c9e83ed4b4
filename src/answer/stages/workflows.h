/* workflows.h - which workflow made what another one used, over all runs of the record (doc/stages.md).
 *
 * Cost: a look at every execution, and at the readers of all that it made: about 10 us an execution. */
#ifndef STEMMA_ANSWER_STAGES_WORKFLOWS_H
#define STEMMA_ANSWER_STAGES_WORKFLOWS_H

#include "answer/js.h"
#include "answer/source.h"
#include "query/idmap.h"
#include "query/stages/stages.h"

struct workflow {
	store_id engine; /* its execution; 0: it is what a run did without one */
	store_id run;    /* 0: of no run */
	int64_t start;
	size_t stages;
};
struct workflow_use {
	uint32_t workflow; /* place in v */
	bool sure;
};
/* A version, who made it and who used it. */
struct workflow_shared {
	store_id version;
	struct workflow_use *makers, *users; /* none: from outside; each workflow once */
	size_t n_makers, cap_makers, n_users, cap_users;
};
struct workflows {
	struct store *s;
	const char *system_extra;
	struct stages *st;
	struct workflow *v;
	size_t n, cap;
	struct workflow_shared *shared; /* by maker, then as they were made */
	size_t n_shared, cap_shared;
	struct idmap known, versions;
};
/* file 0: what one workflow made and another one used; else all versions of the file. 0 or -errno; release ret in any
 * case. */
int workflows_find(const struct answer_source *a, store_id file, struct workflows *ret);
void workflows_release(struct workflows *w);
/* {"format": 1, "workflows": [...], "shared": [...], "entities": [...]}; a new reference. 0 or -errno. */
int workflows_json(const struct workflows *w, json_t **ret);
/* What started it: the engine's arguments, else the run's command. 1, 0, -errno. */
int workflow_argv(const struct workflows *w, uint32_t i, struct strlist *ret, struct str *ret_ulid);

#endif
