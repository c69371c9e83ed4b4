/* objects.h - files and the objects in them, in walks over the graph (doc/hdf5.md, "Files and objects together").
 *
 * An HDF5 file and the objects in it are written and read together. Of what an execution used, the objects stand for
 * the file, where they are known to tell all that it used of it. Of what it made, a walk from an object leaves out the
 * file, and any other leaves out the objects of which nothing came: the file stands for them. Nothing else is left out,
 * and how many were is told. Without objects in the store each call costs one comparison. */
#ifndef STEMMA_QUERY_OBJECTS_H
#define STEMMA_QUERY_OBJECTS_H

#include "query/idmap.h"
#include "store/store.h"

enum objects_view { OBJECTS_FILES, OBJECTS_OBJECTS }; /* of what a walk began at */

struct objects {
	struct store *s;
	enum objects_view view;
	bool any;                /* the store has objects */
	struct idmap tells;      /* hash of execution, version of a file -> what the objects tell of it */
	struct idmap whole;      /* files that were asked for as they are: whoever used something of them is of interest */
	struct idmap regrouped;  /* file -> number of the first version for which a group was moved, 0 none */
	struct idmap containers; /* file -> 1 it has objects, 0 none are known */
	struct carried *carried; /* of query/carried.h, NULL: nothing was asked there */
	struct objects_calls *calls; /* of the execution that was asked for last, NULL none */
	store_id writer;             /* the execution of which it was asked last what it made, 0 none */
	struct idmap written;        /* files of which it made objects */
	store_id reader;             /* the execution of which it was asked last what it used, 0 none */
	struct edges uses;           /* that */
	struct look *looks;          /* beside them */
	struct edges edges, more;
};

/* Begins to look at objects in HDF5 files. */
int objects_begin(struct objects *o, struct store *s, enum objects_view view);
void objects_end(struct objects *o);
/* The walk begins at this file. 0 or -ENOMEM. */
int objects_ask_whole(struct objects *o, store_id file);

/* How many were left out. */
struct objects_hidden {
	uint64_t objects, files;
};
/* Takes those out of e, what an execution used or (outputs) made, that the others stand for; adds to *hidden. A file
 * whose objects tell what was used of it, and not all that these came from, stays, and its edge bears them. 0 or
 * -errno. */
int objects_choose(struct objects *o, store_id exec, bool outputs, struct edges *e, struct objects_hidden *hidden);
/* Of e, the readers of a version: takes those out that are known to have used objects of it, and nothing else. Not of a
 * file that was asked for. -errno, or 0; e gets shorter. */
int objects_readers(struct objects *o, store_id version, struct edges *e);
/* The versions of the file that an object lies in which have carried this version of it: in place of e, as versions
 * derived from it. Only where somebody read them who did not tell which objects. -errno, or 0; they are added to e. */
int objects_carriers(struct objects *o, store_id version, struct edges *e);

/* Since this version of an object was made, was the file that it lies in written only by executions that told which
 * objects they wrote? Where not, the object may have been written, too. *ret: true of what is no object, too. 0,
 * -errno. */
int objects_are_reported(struct store *s, store_id version, bool *ret);

/* Of those who made the latest version of a file, one that did something with objects of HDF5 files that is not known:
 * a program with HDF5 inside itself, classes that were left out. 0: there is none. 0 or -errno. */
int objects_unobserved_by(struct store *s, store_id file, store_id *ret_exec);

/* Was the version of a file made by executions of which it is known what they did to each object of it, and by nobody
 * else? 0, -errno. */
int objects_made_so(struct objects *o, store_id version, store_id file, bool *ret);
/* Of query/carried.h: releases what objects_end finds there. NULL is no error. */
void carried_free(struct carried *c);

/* Is it an attribute, by its kind and path, by which HDF5 or netCDF keep a file in order (housekeeping.def)? */
bool objects_is_housekeeping(uint64_t kind, struct str path);
/* Is it an object of an HDF5 file? */
bool objects_is_object(uint64_t kind);

#endif
