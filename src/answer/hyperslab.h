/* hyperslab.h - who wrote some elements of a dataset in an HDF5 file: FILE//DATASET[0:10,3], by the boxes that programs
 * were seen writing (events h5_part), from the version that is asked for back along the versions that it was made of.
 *
 * Bounds: HYPERSLAB_VERSIONS versions, 32 dimensions. An execution tells 16 boxes of a dataset apart; of more, the last
 * one holds the rest. */
#ifndef STEMMA_ANSWER_HYPERSLAB_H
#define STEMMA_ANSWER_HYPERSLAB_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "query/target.h"

#define HYPERSLAB_RANK 32
#define HYPERSLAB_VERSIONS 1000

/* Of each dimension from..to, without to. */
struct hyperslab_box {
	uint64_t from[HYPERSLAB_RANK], to[HYPERSLAB_RANK];
};
/* Elements that came with one version. */
struct hyperslab_part {
	store_id version;
	bool sure;                /* all of the box were written then */
	struct hyperslab_box box; /* of those that are asked for, what lies around those that were written */
};
struct hyperslab {
	struct file_target target; /* the dataset */
	unsigned rank;
	struct hyperslab_box asked;
	VEC(struct hyperslab_part) parts; /* the latest version first */
};
/* Finds the dataset that text, FILE//PATH[SELECTION], names, and who wrote the selected elements. 1; 0: text is no
 * selection of a dataset that is recorded; -EINVAL with a sentence: what stands in the brackets does not fit;
 * -errno. hyperslab_release in all cases. No parts: nobody was seen writing these elements. */
int hyperslab_find(struct store *s, const char *text, struct err *err, struct hyperslab *ret);
void hyperslab_release(struct hyperslab *h);
/* "[0:10,3:4]" */
void hyperslab_text(const struct hyperslab *h, const struct hyperslab_box *box, struct buf *b);

#endif
