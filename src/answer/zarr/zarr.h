/* zarr.h - Zarr arrays by paths alone (doc/formats.md, "Zarr"): which array a file of the record is a chunk of, and
 * what an array is called. Nothing of this is recorded; it is found when it is asked for, from the metadata that lies
 * in the array's folder now. Where that is not there any more, from the record that it was there.
 *
 * Cost: three opens for each folder with files that are called like chunks, at most ZARR_FOLDERS of them. */
#ifndef STEMMA_ANSWER_ZARR_ZARR_H
#define STEMMA_ANSWER_ZARR_ZARR_H

#include "answer/zarr/zarr_meta.h"
#include "base/err.h"
#include "store/store.h"

#define ZARR_FOLDERS 20000 /* are looked at */
#define ZARR_NO UINT32_MAX

struct zarr;
/* Begins to recognise parts of Zarr arrays by their paths. 0 or -ENOMEM; s is used as long as it lives */
int zarr_new(struct store *s, struct zarr **ret);

void zarr_free(struct zarr *z);
struct store *zarr_store(const struct zarr *z);

/* What a file is to an array or a group. */
struct zarr_part {
	uint32_t node;                 /* see zarr_node_meta */
	bool chunk;                    /* else it is metadata */
	bool inside;                   /* of a chunk: it lies in the array's shape as that is now */
	uint64_t key;                  /* of a chunk: the same for equal chunks of one array */
	uint64_t index[ZARR_RANK_MAX]; /* of one that lies inside */
};
/* Which array the path is a part of: its metadata or one chunk. path: absolute. 1; 0: it is no part of a Zarr array;
 * -errno. */
int zarr_part_of(struct zarr *z, struct str path, struct zarr_part *ret);
/* Which array the file of a version is a part of; as zarr_part_of. */
int zarr_part_of_version(struct zarr *z, store_id version, struct zarr_part *ret);

/* The array or group of a folder, absolute: its number in *ret. 1, 0, -errno. */
int zarr_node(struct zarr *z, struct str folder, uint32_t *ret);
const struct zarr_meta *zarr_node_meta(const struct zarr *z, uint32_t node);
struct str zarr_node_path(const struct zarr *z, uint32_t node);

/* How many different parts of one array there are. */
struct zarr_count {
	uint64_t chunks;
	bool outside;          /* one of them is not within the array as it is now */
	uint64_t of;           /* chunks that are asked for; 0: all of the array */
	const char *selection; /* in brackets, as it was asked for; NULL: none */
};
/* "raw.zarr//temperature (5 of 25 chunks)", "raw.zarr//temperature (metadata)": STORE//ARRAY, where the store is the
 * highest folder above the array that is a Zarr group without a gap. */
int zarr_text(struct zarr *z, uint32_t node, const struct zarr_count *n, struct buf *b);

/* Elements of an array that somebody asks for: of each dimension from..to, without to. */
struct zarr_box {
	bool any; /* false: all of it */
	uint64_t from[ZARR_RANK_MAX], to[ZARR_RANK_MAX];
};
/* What FOLDER//ARRAY[SELECTION] leads to, on disk. 1; 0: it is no Zarr array or group; -EINVAL with a sentence: what
 * stands in the brackets does not fit the array; -errno. */
int zarr_target(struct zarr *z, const char *text, struct err *err, uint32_t *ret, struct zarr_box *ret_box);
#define ZARR_FILES 200000 /* below an array's folder are looked at */
/* The versions of the chunks in the box that lie on disk and are as the record has them; *ret is malloc'ed. *ret_other:
 * how many are there and are not, or beyond ZARR_FILES. 0 or -errno. */
int zarr_versions(struct zarr *z, uint32_t node, const struct zarr_box *box, store_id **ret, size_t *ret_n,
                  size_t *ret_other);
/* Arrays in the folder of a node, and how many chunks of each are on disk; *ret is malloc'ed. *ret_left: files that
 * were not looked at, beyond ZARR_FILES. 0 or -errno. */
struct zarr_on_disk {
	uint32_t node;
	uint64_t chunks;
};
/* Finds the arrays below a group as they lie on disk. */
int zarr_arrays(struct zarr *z, uint32_t node, struct zarr_on_disk **ret, size_t *ret_n, size_t *ret_left);
/* How many chunks, written or not, have elements in the box; 0: they are too many to count. */
uint64_t zarr_box_chunks(const struct zarr *z, uint32_t node, const struct zarr_box *box);
/* Is the part a chunk of that array with elements in the box? */
bool zarr_box_has(const struct zarr *z, uint32_t node, const struct zarr_box *box, const struct zarr_part *p);

#endif
