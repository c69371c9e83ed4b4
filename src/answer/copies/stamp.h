/* stamp.h - a stamp in a file: which recorded program says that it saved the file, wherever the file lies now.
 *
 * A program of a run puts the text "stemma-stamp:RUN:TOKEN" into what it saves (a picture's metadata, an attribute), or
 * into a file beside it, FILE.stemma, and annotates its run with the tag "stamp:TOKEN", whose value is the path
 * (doc/stamps.md). RUN is the run's id, TOKEN 32 hexadecimal digits. The text says nothing of path, user or command.
 *
 * A stamp proves nothing: whoever has a file can put its stamp into another one. What it leads to is possible, never
 * sure. Cost: up to 4 MiB of the file, and what the run's programs told of themselves. */
#ifndef STEMMA_ANSWER_COPIES_STAMP_H
#define STEMMA_ANSWER_COPIES_STAMP_H

#include "base/str.h"
#include "store/store.h"

#define STAMP_SIDE ".stemma" /* the end of the name of the file beside */
#define STAMP_TOKEN 32

struct stamp {
	char run[27];
	char token[STAMP_TOKEN + 1];
};
/* The one stamp that is in these bytes. False: there is none, or there are different ones. */
bool stamp_find(struct str bytes, struct stamp *ret);
/* The stamp of a regular file, or of the file beside it. False: as stamp_find, or it cannot be read. */
bool stamp_read(const char *path, struct stamp *ret);
/* The version that was saved with this stamp. 1; 0: the record does not know the stamp, or not what was saved then;
 * -errno. */
int stamp_version(struct store *s, const struct stamp *stamp, store_id *ret);

#endif
