/* select.h - the versions, runs or executions that an expression describes.
 *
 * Each condition is asked of the thing looked for as a whole, and the answers are sets that and, or, not combine: of
 * runs "exe sort and arg -n" has a sort and has an argument -n, not necessarily the same one's. What is said of an
 * execution holds for a run if it holds for one of its executions, and for a version if it holds for one that generated
 * it; but exit, user, host, since and before are asked of a run itself, and since and before of a version itself.
 *
 * Cost: used, made, from, into, run, path: what they lead to; the others: a look at every execution, about 2 µs each.
 */
#ifndef STEMMA_QUERY_FIND_SELECT_H
#define STEMMA_QUERY_FIND_SELECT_H

#include "query/find/expr.h"
#include "store/store.h"

struct idset {
	store_id *v; /* ascending, each once */
	size_t n, cap;
};
void idset_release(struct idset *s);

struct select_options {
	int64_t now; /* ns, for "2h ago" */
	int64_t skew;
	const char *system_extra;
	bool all; /* versions: also streams, absent and system files */
	/* Only what is sure: each edge that a condition follows is, and what is under a `not` is not even possible. Else
	 * all that is possible: what is under a `not` is left out only where it is sure. */
	bool sure;
	/* Out, if not NULL: `from FILE@{N}` does not go on to a later version that nobody was seen writing, and counts it
	 * here. */
	uint64_t *ret_unseen;
	uint64_t *ret_forks; /* added to: possible edges through fork, exec and shared memory, which are not followed */
	/* Called, if not NULL, where a condition's FILE@{N} was taken of one of several files that have or had the name:
	 * text is what the condition says, version the N of another one of these. 0 or -errno, which select_eval returns.
	 */
	int (*namesake)(void *arg, const char *text, store_id version);
	void *arg;
};

/* Finds what the expression describes: ret has the ids of versions (kind EXPR_FILES or EXPR_ANY), runs or executions.
 * The caller releases it; what it had before is not freed, and an error leaves it as it was. 0; -EINVAL with a
 * sentence for a value that does not make sense; -ENOENT for a file or run that is not recorded; -errno. */
int select_eval(struct store *s, const struct expr *e, enum expr_kind kind, const struct select_options *o,
                struct err *err, struct idset *ret);

#endif
