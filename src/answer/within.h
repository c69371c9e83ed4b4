/* within.h - the version of an HDF5 file that an object came with: for objects that nobody was seen making, because a
 * program copied or wrote the file as a whole (query/carried.h). */
#ifndef STEMMA_ANSWER_WITHIN_H
#define STEMMA_ANSWER_WITHIN_H

#include "base/buf.h"
#include "store/store.h"

/* The version of the file that carries this version of an object. 1; 0: there is none; -errno. */
int within_of_version(struct store *s, store_id version, store_id *ret);

/* What is known of FILE//PATH, an object that the record does not have. */
struct within_name {
	store_id version; /* of the file: the last whose makers did not tell of objects */
	struct buf path;  /* FILE//PATH, as the record would have it */
	struct buf same;  /* the object at the same place in the file that it is a copy of; empty: none is recorded */
};
/* Is the text a FILE//PATH whose file has objects? Only where FILE is recorded, and is an HDF5 or netCDF file by its
 * first bytes. 1; 0; -errno. within_name_release in all cases. */
int within_of_name(struct store *s, const char *text, struct within_name *ret);
/* Releases what within_of_name has found. */
void within_name_release(struct within_name *n);

#endif
