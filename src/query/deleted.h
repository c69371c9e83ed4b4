/* deleted.h - objects of HDF5 files that are there no more (doc/hdf5.md, "What was deleted"): by their own name, with
 * the group or the object that they lay in, or with all that was in the file when that was made anew. */
#ifndef STEMMA_QUERY_DELETED_H
#define STEMMA_QUERY_DELETED_H

#include "query/objects.h"
#include "store/store.h"

struct deletion {
	int64_t time;
	store_id by;      /* the execution that did it; 0: not known */
	store_id version; /* what the object was until then; 0: nothing is known of that */
	uint64_t n;       /* the version's number */
};

/* Is the object deleted that was called `inner` in its file (//group/dataset, //group@attribute)? 1, 0 or -errno.
 * Bounded by the versions of the file since it was deleted. */
int deleted_object(struct store *s, store_id object, struct str inner, struct deletion *ret);

/* Had a group of the file lost its name to another one when this version of the file was made? What lies in the group
 * has other names then, and no version of it tells by whom. Remembered in o. Bounded by 4096 versions of the file. 1,
 * 0, -errno. */
int deleted_group_name(struct objects *o, store_id version, store_id file);

#endif
