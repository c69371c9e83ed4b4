/* carried.h - objects of HDF5 files that nobody was seen making: they came with the bytes of their file, by a program
 * that told of no objects, as cp (doc/graph.md, "What was carried"; doc/hdf5.md). All need objects_begin.
 *
 * Bounds: CARRIED_VERSIONS of one file are looked at, a chain of CARRIED_COPIES copies. Without objects in the store
 * each call costs one comparison. */
#ifndef STEMMA_QUERY_CARRIED_H
#define STEMMA_QUERY_CARRIED_H

#include "query/objects.h"

#define CARRIED_VERSIONS 1000 /* of one file: more were written by nobody who copies files */
#define CARRIED_COPIES 8      /* copies of copies that are followed to find an object */

/* The version of its file that carries this version of an object: nobody was seen making the object, and this is the
 * last version, until the object was met, whose makers did not tell what they did to each object. 1; 0: there is none,
 * or it is no object; -errno. */
int carried_by(struct objects *o, store_id version, store_id *ret);

/* What a carried object was copied from. */
struct carried_pair {
	struct edge gen;  /* to the execution that copied the file, which holds the object */
	struct edge from; /* to the version of the object at the same place in the file that was copied */
};
/* Where the version of the file that carries this version of an object is a copy, as a whole, of another file in which
 * the same object is known. Sure where both files are known to have the same digest; possible where a program that
 * copies files read the one and wrote the other, and both are of one size. 1; 0: nothing is known of that; -errno. */
int carried_pair(struct objects *o, store_id version, struct carried_pair *ret);

/* Adds to e, as derived, the versions of objects that this version of a file carries and that somebody used, where
 * nothing is known of what they were copied from; paired: also where it is. 0 or -errno. */
int carried_objects(struct objects *o, store_id version, bool paired, struct edges *e);
/* Adds to e, as derived, the versions of objects that came with a copy of the whole file from this version of an
 * object. 0 or -errno. */
int carried_copies(struct objects *o, store_id version, struct edges *e);

/* A version of a file that is a copy of another file as a whole: who copied, and what (gen, from: its edges to the
 * file's version that it made, and used). As carried_pair, of files. 1, 0, -errno. */
int carried_whole_copy(struct objects *o, store_id version, struct carried_pair *ret);
/* The latest version of a file, or the last before it, whose makers did not tell what they did to each object: what
 * they wrote may be anywhere in it. 1, 0, -errno. */
int carried_latest(struct objects *o, store_id file, store_id *ret);

#endif
