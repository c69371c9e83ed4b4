/* items.h - versions that an execution or a run used or made, and which of them are somebody's data. */
#ifndef STEMMA_ANSWER_ITEMS_H
#define STEMMA_ANSWER_ITEMS_H

#include "answer/source.h"

struct item {
	store_id version;
	struct edge e; /* its edge; of a run, the strongest of its edges */
};
struct items {
	struct item *v;
	size_t n, cap;
};
void items_release(struct items *l);

/* All return 0 or -errno. */
/* Appends what the edges lead to. 0, -ENOMEM. */
int items_add(const struct edges *e, struct items *l);
/* What these executions, a run's, used and did not make, and what they made; each version once. */
int items_of_run(struct store *s, const store_id *execs, size_t n, struct items *used, struct items *made);
/* How many versions a run used and made that are data, as `show` lists them. Looks at all its executions: about 1 us
 * for each of their edges. */
int items_count(const struct answer_source *a, store_id run, uint64_t *ret_used, uint64_t *ret_made);

/* Is the version, as it was used over e, data of somebody's: of a regular file (a script is data), none of the
 * machine's files, and more than coordination? */
bool item_is_data(const struct answer_source *a, const struct edge *e, const struct version_info *v,
                  const struct file_info *f);

#endif
