/* zarr_list.h - of a list of versions, those that are parts of one Zarr array as one. */
#ifndef STEMMA_ANSWER_ZARR_ZARR_LIST_H
#define STEMMA_ANSWER_ZARR_ZARR_LIST_H

#include "answer/zarr/zarr.h"

struct zarr_list {
	size_t n, n_shown;        /* n_shown: how many there are if each array is one */
	uint32_t *node;           /* ZARR_NO: it is no part of an array */
	uint32_t *first;          /* the place of the first part of the same array; of others their own */
	struct zarr_count *count; /* at the first: of all parts of it */
};
/* Groups versions by the arrays of which they are parts. 0 or -errno; zarr_list_release in both cases. */
int zarr_list_make(struct zarr *z, const store_id *versions, size_t n, struct zarr_list *ret);
void zarr_list_release(struct zarr_list *l);

#endif
