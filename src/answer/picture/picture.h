/* picture.h - a lineage as a picture that people can read: boxes, links between them, and where they stand.
 *
 * What is drawn is what the tree of the lineage shows (answer/shape.h). Then
 *  - a stream with one writer and one reader is a link between these;
 *  - programs of one stage stand in one frame, with the files that only they used;
 *  - PICTURE_ALIKE boxes or more that are alike are one: of the same kind, the same program or rule, files with the
 * same folder and ending, and with links from and to boxes that are alike, all the way through the picture. So 16
 * samples that go through the same four steps are one column, and a sample that differs in one step has its own;
 *  - files that the same programs made and used are one box with a list.
 * Nothing that is merged is lost: the box says how many it stands for, and members has all of them.
 *
 * No text is needed for a picture: boxes have one width, and whoever draws it cuts names to PICTURE_COLUMNS of a font
 * of fixed width. Cost: about 10 us a node, and the layout (layout.h). */
#ifndef STEMMA_ANSWER_PICTURE_PICTURE_H
#define STEMMA_ANSWER_PICTURE_PICTURE_H

#include "answer/picture/layout.h"
#include "answer/shape.h"
#include "answer/stages/stage_view.h"
#include "query/stages/stages.h"

enum {
	PICTURE_ALIKE = 4,    /* so many boxes that are alike are one */
	PICTURE_LISTED = 3,   /* so many files that the same programs made and used are one */
	PICTURE_NAMES = 5,    /* names in such a list */
	PICTURE_COLUMNS = 30, /* characters of a line of a box */
	PICTURE_BOXES = 2000  /* more boxes are no picture that anybody reads */
};

enum picture_kind { PICTURE_FILE, PICTURE_SOURCE, PICTURE_STREAM, PICTURE_PROGRAM, PICTURE_STAGE, PICTURE_FRAME };

struct picture_box {
	enum picture_kind kind;
	uint32_t frame;    /* place of the frame that it stands in; VEC_NONE: in none */
	uint32_t stage;    /* of a frame: for stages_get */
	uint32_t first, n; /* what it stands for: members[first .. first + n): nodes of the lineage; of a frame stages */
	uint32_t lines;    /* names in it: 1, or 2 of alike boxes (the first and the last), or a list */
	bool alike;        /* several that are alike, not a list of files */
	bool root;         /* one of them is the one version that was asked for */
	double x, y, w, h;
};
struct picture_link {
	uint32_t from, to; /* boxes: as data flowed */
	bool sure;
	bool pipe;         /* through a stream that has no box */
	uint32_t first, n; /* its points */
};
struct picture {
	VEC(struct picture_box) boxes; /* frames after the boxes in them */
	VEC(struct picture_link) links;
	VEC(uint32_t) members;
	VEC(struct layout_point) points;
	double w, h;
	size_t nodes; /* of the lineage that it stands for */
};

struct picture_of {
	struct store *s;
	const struct lineage *l;
	const struct shape *shape;
	bool down;                     /* the walk was to what came from the roots */
	bool all;                      /* nothing is merged */
	struct stages *stages;         /* frames by these; NULL: no frames */
	const struct stage_view *view; /* the lineage is one by stages; NULL: by programs */
	uint32_t most;                 /* nodes beyond that number are left out; 0: none are */
};
/* 0; -E2BIG: more than PICTURE_BOXES boxes, and ret->boxes.n says how many; -ENOMEM, -errno. Release ret in any case.
 */
int picture_make(const struct picture_of *of, struct picture *ret);
void picture_release(struct picture *p);

/* ---- picture_svg.c ---- */

/* The name of a member of a box, and what stands small below it, for a terminal (fmt.h); arg: the caller's. 0, -errno.
 */
typedef int picture_text(void *arg, const struct picture *p, const struct picture_box *b, uint32_t member,
                         struct buf *name, struct buf *note);
/* Appends the picture as SVG: light, and dark where the viewer asks for that, with a legend. title is for those who do
 * not see it. 0 or -errno. */
int picture_svg(const struct picture *p, picture_text *text, void *arg, const char *title, struct buf *ret);

#endif
