/* why_folder.h - stemma why of a folder. */
#ifndef STEMMA_CMD_LINEAGE_WHY_FOLDER_H
#define STEMMA_CMD_LINEAGE_WHY_FOLDER_H

#include "cmd/cmd.h"

/* Is it a folder on disk? */
bool why_is_folder(const char *text);
/* Prints what made its files. The status. */
int why_print_folder(struct cmd *c, const char *text, unsigned flags);

#endif
