/* why.h - who made a version, from what: what `stemma why` answers, as text or as JSON.
 *
 * Cost: a walk of depth 1 (of depth 8 where helpers stand between a program and its data), and a few questions to the
 * store for each node near the version.
 * All of it is linear in the nodes and edges met, however many wrote the version: 7 µs and 1.1 KB a writer. */
#ifndef STEMMA_ANSWER_WHY_H
#define STEMMA_ANSWER_WHY_H

#include "answer/entities.h"
#include "answer/source.h"
#include "query/lineage/lineage.h"
#include "query/target.h"

/* What an input is to those who made the version (doc/why.md), in the order in which they are named. */
enum why_role {
#define ROLE(role, word, many) WHY_ROLE_##role,
#include "answer/why/why_roles.def"
#undef ROLE
	WHY_ROLES
};
/* "index", "indexes" */
const char *why_role_word(enum why_role role, bool many);

enum why_is {
	WHY_IS_MAKER = 1,
	WHY_IS_DIRECT = 2,
	WHY_IS_HELPER = 4,
	WHY_IS_PRIVATE = 8,   /* a file that only those who took part knew */
	WHY_IS_DOUBTFUL = 16, /* an opener that may have written too */
};

/* Who made a version, from what: its lineage of depth 1, where streams are passed through. */
struct why {
	struct lineage l;
	uint32_t *makers; /* nodes: who wrote it, then who wrote to the pipe that they read, and so on backwards */
	size_t n_makers, n_direct;
	uint32_t *stage;   /* of each node that is a maker: how many makers its data pass on their way to the version */
	uint32_t *helpers; /* nodes of those that took part and are not named */
	size_t n_helpers;
	store_id *reps;          /* beside makers: to which execution each counts */
	uint32_t *times;         /* beside makers: for how many processes of one command it stands; 0 or 1: for itself */
	uint32_t opener;         /* node of the shell that opened it for them, UINT32_MAX none */
	store_id within;         /* what is named as where it was done, 0 nothing */
	uint32_t *inputs;        /* nodes of files, in the order of doc/why.md; then those of the doubtful */
	size_t n_inputs, n_seen; /* inputs[n_seen..) are those of the doubtful only */
	uint32_t *opener_inputs; /* what the opener used, where it only opened */
	size_t n_opener_inputs;
	uint8_t *sort; /* of each node that is an input: enum entity_sort */
	bool all;      /* WHY_ALL: all inputs are to be named */
	bool ranked;   /* another rank of the first maker's job took part */
	uint8_t *role; /* of each node that is an input: enum why_role */
	bool sure;     /* that the makers made it */
	bool *certain; /* of each node: a way to it is sure all along */
	uint8_t *is;   /* of each node: bits of enum why_is; who is shown as another one stays what it was */
	uint64_t gaps;
};

/* WHY_ALL: who took part is a maker, and each program stands for itself. WHY_UNFOLDED: each program stands for itself.
 */
enum why_flags {
	WHY_ALL = 1,
	WHY_UNFOLDED = 2,
	WHY_SERVERS = 4, /* also what other clients may have told a server that nobody saw */
};
/* Finds who made a version, from what, and who else may have. flags: of enum why_flags. 0, and *ret is to be
 * released; or -errno. */
int why_find(const struct answer_source *a, store_id version, unsigned flags, struct why *ret);
void why_release(struct why *n);
/* Decides in which order the first n_shown makers are told: their places in makers, room for n_shown. In a pipeline
 * (one wrote the version) those come first from which the data came first. */
void why_order_makers(const struct why *n, size_t n_shown, uint32_t *ret);
/* What stands before the k-th of them: nothing, " | " where the data pass from one to the next, else ", ", " and " or
 * " after ". */
const char *why_word_between(const struct why *n, const uint32_t *order, size_t k, size_t n_shown);
/* Is that input, by its place in inputs, sure all along the way? */
bool why_is_certain(const struct why *n, size_t input);
/* Who used that input, by its place in inputs; 0: nobody did. Goes through all edges. */
store_id why_input_user(const struct why *n, size_t input);
/* One of the answers of `stemma why --json`, for the target that n was found for; a new reference. 0 or -errno. */
int why_json(const struct answer_source *a, const struct file_target *t, const struct why *n, json_t **ret);

#endif
