/* stage_cells.h - parts of a program's work, as it told them (include/stemma/app.h): cells of a notebook, activities of
 * a script. Each is a stage of its own in a lineage by stages.
 *
 * Only parts that are within no other part count, and of one image at a time: what lies in another thread's part
 * at the same time is of the one that began first. A program's word gives a name and a time, and no edge: what a part
 * read and made is what the program was seen to read and make meanwhile. */
#ifndef STEMMA_ANSWER_STAGES_STAGE_CELLS_H
#define STEMMA_ANSWER_STAGES_STAGE_CELLS_H

#include "base/vec.h"
#include "query/idmap.h"
#include "query/lineage/lineage.h"

struct stage_cell {
	store_id exec; /* whose part it is */
	int64_t start, end;
	uint64_t n; /* its number in the image */
	char *name;
	bool between; /* what follows a part that the program told of, up to the next one: name and n are of that part */
};
struct stage_cells {
	VEC(struct stage_cell) v; /* by execution and start; each begins where the one before it ends */
	struct idmap runs;        /* that were looked at */
	struct idmap first;       /* execution -> place of its first one + 1 */
};
#define STAGE_NO_CELL UINT32_MAX

/* Finds the cells of notebooks of all executions of the walk; one question for each of its runs. 0 or -errno.
 * Release ret in any case. */
int stage_cells_load(struct store *s, const struct lineage *l, struct stage_cells *ret);
void stage_cells_release(struct stage_cells *c);
/* Has the execution told any? */
bool stage_cells_has(const struct stage_cells *c, store_id exec);
/* The part of the execution in which the moment is; STAGE_NO_CELL: it is before the first, or of another execution. */
uint32_t stage_cells_at(const struct stage_cells *c, store_id exec, int64_t time);

#endif
