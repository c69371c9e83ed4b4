/* why_folder.h - stemma why of a folder. */
#ifndef STEMMA_CMD_LINEAGE_WHY_FOLDER_H
#define STEMMA_CMD_LINEAGE_WHY_FOLDER_H

#include "answer/folder.h"
#include "answer/zarr/zarr.h"
#include "cmd/cmd.h"

/* Is it a folder on disk? */
bool why_is_folder(const char *text);
/* Says on standard error what of a folder was not looked at. */
void why_report_folder(const char *text, const struct folder *f);
/* Prints what made the chunks of an array in the box. brackets: the selection as it was asked for, NULL none. The
 * status. */
int why_print_array(struct cmd *c, struct zarr *z, uint32_t node, const struct zarr_box *box, const char *brackets,
                    unsigned flags);
/* The files of an array that are meant: its chunks in the box. For folder_find. */
struct why_chunks {
	struct zarr *z;
	uint32_t node;
	struct zarr_box box;
};
/* Is the file a chunk that was asked about? chunks: a struct why_chunks. */
int why_wants_chunk(void *chunks, struct str path);
/* Prints what made its files. The status. STATUS_NOTHING: there is no file with a known maker. */
int why_print_folder(struct cmd *c, const char *text, unsigned flags);

#endif
