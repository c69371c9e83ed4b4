/* provio_call.h - what PROV-IO and HDF5 call the calls that were counted. */
#ifndef STEMMA_EXPORT_PROVIO_CALL_H
#define STEMMA_EXPORT_PROVIO_CALL_H

#include "store/store.h"

enum provio_act { PROVIO_CREATE, PROVIO_OPEN, PROVIO_READ, PROVIO_WRITE, PROVIO_FSYNC, PROVIO_RENAME, PROVIO_ACTS };
/* The class of an act, and how an object stands to it. */
extern const struct provio_act_words {
	const char *class, *relation;
} provio_acts[PROVIO_ACTS];

/* What PROV-IO calls an act. api: a term of the set ioapi. */
enum provio_act provio_act_of(unsigned api, bool write);
/* The function that makes such calls on the file or object. */
const char *provio_call_name(const struct file_info *f, unsigned api, bool write);

#endif
