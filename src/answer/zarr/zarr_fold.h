/* zarr_fold.h - chunks of one array in a lineage as one node: those that the same programs made and the same ones
 * used, as far as they are shown, so that none is named as a source of what it was not used for. Memory: 32 bytes a
 * node. */
#ifndef STEMMA_ANSWER_ZARR_ZARR_FOLD_H
#define STEMMA_ANSWER_ZARR_ZARR_FOLD_H

#include "answer/shape.h"
#include "answer/zarr/zarr.h"

#define ZARR_MEMBER UINT32_MAX

/* leader, next: of each node as in shape.c: what it is shown as (UINT32_MAX: as none) and the next of those with the
 * same leader, which this adds to. ret's zarr, array and parts are filled in. 0 or -errno. */
int zarr_fold(struct store *s, const struct lineage *l, const struct shape *from, uint32_t *leader, uint32_t *next,
              struct shape *ret);

#endif
