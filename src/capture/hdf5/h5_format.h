/* h5_format.h - what the library in a program tells of HDF5: entries in a window of the run's folder
 * (capture/app/app_format.h), with prefix h.
 *
 * H5_OBJECT and H5_PART are reserved once and changed in place for as long as the program runs: their counters are what
 * is known when it ends, however it ends. The rest is written once. Everything is the user's to write: the reader
 * (capture/hdf5/h5_events.c) checks every number. Times are CLOCK_BOOTTIME, ns; 0: never; H5_SOME_TIME: no clock was
 * looked at, as asked for. That an object was met is an entry, and has a time in any case. */
#ifndef STEMMA_CAPTURE_HDF5_H5_FORMAT_H
#define STEMMA_CAPTURE_HDF5_H5_FORMAT_H

#include "capture/preload/safe_format.h"

#include <assert.h>
#include <stdint.h>

#define H5_RANK_MAX 32
#define H5_NAME_MAX 4096 /* of a path in a file, and of a file's */

#define H5_SOME_TIME 1

enum h5_kind {
	H5_START = 1, /* value: version of the library; id: major << 32 | minor << 16 | release */
	H5_FILE,      /* a file was opened: struct h5_file and its path */
	H5_OBJECT,    /* struct h5_object and its path in the file */
	H5_SHAPE,     /* struct h5_shape of a dataset or an attribute */
	H5_PART,      /* struct h5_part and, of a compound type, its members, NUL-separated */
	H5_NAME,      /* a link was moved, made or deleted: struct h5_name, the new path, NUL, the old one */
	H5_GAP,       /* value: what was not seen */
	H5_COPY,      /* an object, or an attribute, was made as a copy of another: struct h5_copy */
	H5_MOVED,     /* values that were read of one object were written to the other as they were: struct h5_copy */
	H5_KINDS
};

struct h5_file {
	uint64_t num; /* from 1, in this image */
	struct safe_stat st;
};

/* A thing that was done several times. */
struct h5_row {
	uint64_t begun; /* more than calls and failed: the last one did not come back */
	uint64_t calls, failed, bytes, largest, spent;
	int64_t first, last;
};
static_assert(sizeof(struct h5_row) == 64, "layout");

/* The same where no data moves. */
struct h5_few {
	uint32_t calls, failed;
	uint64_t spent;
	int64_t first, last;
};
static_assert(sizeof(struct h5_few) == 32, "layout");
enum h5_few_op { H5_CREATE, H5_OPEN, H5_FLUSH, H5_RENAME, H5_EXTENT, H5_DELETE, H5_FEW };

#define H5_WHOLE 1u        /* its first write was of all elements, and it had not been read */
#define H5_MORE_SOURCES 8u /* H5_MOVED was not told of each */
#define H5_UNSIZED 2u      /* of some calls that read it the bytes are not known; << 1: that wrote it */

struct h5_object {
	uint32_t ready; /* 0: the rest is not there yet */
	uint16_t kind;  /* term kind: group, dataset, attribute, datatype */
	uint16_t flags;
	uint64_t num;          /* from 1, in this image */
	uint64_t file;         /* num */
	uint64_t addr;         /* of the object in the file; of an attribute the object's that it belongs to */
	uint32_t nname, nattr; /* bytes of the path, and of the attribute's name behind it */
	struct h5_row row[2];  /* read, written */
	struct h5_few few[H5_FEW];
	uint64_t moved; /* writes of memory that held what reads had put there, and nothing else */
};
static_assert(sizeof(struct h5_object) == 368, "layout");

struct h5_shape {
	uint64_t object;
	uint32_t class, rank;
	uint64_t size; /* bytes of an element */
	               /* then rank extents, rank greatest extents; UINT64_MAX: no limit */
};

struct h5_part {
	uint64_t object;
	uint32_t ready, write, rank, nfields; /* nfields: bytes */
	uint64_t calls, elements;
	/* then rank pairs: least and greatest index; then the members */
};
static_assert(sizeof(struct h5_part) == 40, "layout");

struct h5_copy {
	uint64_t to, from; /* objects' num */
};

/* Of kind softlink it is a link to another file: addr is the num of that, then the old path is the object's in it; or
 * 0, then that is what the link says: file, //, path; or H5_LINK_SOFT: it is a soft link within its file, and there is
 * no old path. */
#define H5_LINK_SOFT UINT64_MAX
struct h5_name {
	uint64_t file, addr;
	uint32_t op, kind; /* terms nameop, kind */
	uint32_t npath, nold;
};

#endif
