/* objects.h - files and the objects in them, in walks over the graph (doc/hdf5.md, "Files and objects together").
 *
 * An HDF5 file and the objects in it are written and read together. A walk along files leaves out the objects of a file
 * that an execution used or made; a walk along objects leaves out the file, where the objects are known to tell all of
 * what was used of it. Nothing else is left out, and how many were is told. Without objects in the store each call
 * costs one comparison. */
#ifndef STEMMA_QUERY_OBJECTS_H
#define STEMMA_QUERY_OBJECTS_H

#include "query/idmap.h"
#include "store/store.h"

enum objects_view { OBJECTS_FILES, OBJECTS_OBJECTS };

struct objects {
	struct store *s;
	enum objects_view view;
	bool any;            /* the store has objects */
	struct idmap covers; /* hash of execution, version of a file -> 1 covered, 2 not */
	struct edges edges, more;
};

int objects_begin(struct objects *o, struct store *s, enum objects_view view);
void objects_end(struct objects *o);

/* Takes those out of e, what an execution used or (outputs) made, that the others stand for; adds to *hidden. 0 or
 * -errno. */
int objects_choose(struct objects *o, store_id exec, bool outputs, struct edges *e, uint64_t *hidden);
/* Of e, the readers of a version: takes those out that are known to have used objects of it, and nothing else. */
int objects_readers(struct objects *o, store_id version, struct edges *e, uint64_t *hidden);
/* The versions of the file that an object lies in which have carried this version of it: in place of e, as versions
 * derived from it. Only where somebody read them who did not tell which objects. */
int objects_carriers(struct objects *o, store_id version, struct edges *e);

/* Since this version of an object was made, was the file that it lies in written only by executions that told which
 * objects they wrote? Where not, the object may have been written, too. */
int objects_are_reported(struct store *s, store_id version, bool *ret);

/* Of those who made the latest version of a file, one that did something with objects of HDF5 files that is not known:
 * a program with HDF5 inside itself, classes that were left out. 0: there is none. 0 or -errno. */
int objects_unobserved_by(struct store *s, store_id file, store_id *ret_exec);

/* Is it an object of an HDF5 file? */
bool objects_is_object(uint64_t kind);

#endif
