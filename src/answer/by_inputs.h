/* by_inputs.h - all runs of one command, grouped by the versions of what they read and by their settings: which of them
 * can be compared, and which is the odd one (`stemma log --by-inputs`).
 *
 * A command is named by its program or script, and perhaps the arguments that follow: "ior", "fit.py", "ior -t 1m".
 * Runs of which it is the command count; if there are none, runs in which it was executed, with what it and its
 * children read. Runs that stemma rerun made are left out, unless runs are chosen: their files are copies. Inputs are
 * regular files that were read and that nobody of these wrote, without the machine's own and without what a workflow
 * system keeps of what it did. Two versions are the same input if they are one version, or have one digest
 * (trust/content.h). Settings are the command line, the recorded variables but those of a job, and the host. What is
 * another one in each of three and more runs is told and groups nothing.
 *
 * Cost: 5 us an access of the runs; memory: 4 bytes for each run and input. */
#ifndef STEMMA_ANSWER_BY_INPUTS_H
#define STEMMA_ANSWER_BY_INPUTS_H

#include "answer/source.h"
#include "base/vec.h"
#include "query/idset.h"

#include <jansson.h>

#define BY_INPUTS_MOST 10000 /* runs */

enum by_kind { BY_INPUT, BY_COMMAND, BY_VARIABLE, BY_HOST };
struct by_value {
	char *key, *text; /* key: what makes it the same; text: for people */
	store_id version; /* of an input */
};
struct by_aspect {
	enum by_kind kind;
	char *name;
	VEC(struct by_value) values;
	bool varies; /* another one in each run */
};
struct by_run {
	store_id id;
	char ulid[27];
	int64_t start;
	uint64_t ending, code;
	uint32_t group;
	uint32_t *value; /* by aspect: 1 + the value's place; 0 it has none. n_value of them, the rest have none, too */
	size_t n_value;
};
struct by_group {
	size_t n;
	uint32_t first; /* its latest run */
};
struct by_inputs {
	VEC(struct by_run) runs; /* the latest first */
	VEC(struct by_aspect) aspects;
	VEC(struct by_group) groups; /* the usual one first, then by their latest run */
	size_t reruns;               /* runs that stemma rerun made, which are left out */
	bool inside;                 /* the command was executed in the runs, and is not theirs */
};

/* Finds the inputs with which the command was run in the past, and the runs of each set of them. words: of the
 * command, n > 0. only: among these runs, NULL all. most: runs, 0 as many as there may be. 0 or -errno. Release ret
 * in any case. */
int by_inputs_find(const struct answer_source *a, const char *const *words, size_t n, const struct idset *only,
                   uint64_t most, struct by_inputs *ret);
void by_inputs_release(struct by_inputs *b);
/* What the run has of an aspect; NULL nothing. */
const struct by_value *by_inputs_value(const struct by_inputs *b, size_t run, size_t aspect);
/* Has the run another value of it than the usual group, where that counts? */
bool by_inputs_is_odd(const struct by_inputs *b, size_t run, size_t aspect);
/* The answer of --json; a new reference. 0 or -errno. */
int by_inputs_json(const struct answer_source *a, const struct by_inputs *b, json_t **ret);
/* Of an input of the usual group and another's: who made the later one, ": changed by emacs x.conf, 2026-..."; or that
 * nobody was recorded who did; nothing where one of them is not known. 0 or -errno. */
int by_inputs_change(const struct answer_source *a, const struct by_value *usual, const struct by_value *other,
                     struct buf *out);

#endif
