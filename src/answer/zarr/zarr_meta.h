/* zarr_meta.h - what a Zarr array says of itself: .zarray of version 2, zarr.json of version 3. Hostile: whoever can
 * write into the folder wrote it.
 *
 * Bounds: ZARR_META_MAX bytes, ZARR_RANK_MAX dimensions, ZARR_TYPE_MAX bytes of the element's type. */
#ifndef STEMMA_ANSWER_ZARR_ZARR_META_H
#define STEMMA_ANSWER_ZARR_ZARR_META_H

#include "base/str.h"

#define ZARR_META_MAX (1u << 20)
#define ZARR_RANK_MAX 32
#define ZARR_TYPE_MAX 48

enum zarr_kind { ZARR_NONE, ZARR_GROUP, ZARR_ARRAY };

struct zarr_meta {
	enum zarr_kind kind;
	unsigned version;                                    /* 2 or 3; 0: no metadata was read */
	unsigned rank;                                       /* of an array */
	uint64_t shape[ZARR_RANK_MAX], chunk[ZARR_RANK_MAX]; /* elements; a chunk's are above 0 */
	char separator;                                      /* between the indexes of a chunk's name: '.' or '/' */
	bool prefixed;                                       /* "c" and the separator stand before them */
	char type[ZARR_TYPE_MAX]; /* as it is written, perhaps cut; not for a terminal as it is */
};

/* Reads the text of .zgroup, .zarray (version 2) or zarr.json (version 3). 0; -EINVAL: it is none; -ENOMEM. */
int zarr_meta_read(struct str text, unsigned version, struct zarr_meta *ret);
/* How many chunks the array has at most, written or not; 0: it has none, or too many to count in 64 bits. */
uint64_t zarr_meta_chunks(const struct zarr_meta *m);
/* The indexes of the chunk with that name, a path below the array's folder. False: it is none of this array's, or lies
 * outside of its shape. */
bool zarr_meta_index(const struct zarr_meta *m, struct str name, uint64_t ret[ZARR_RANK_MAX]);

#endif
