/* why_folder.h - stemma why of a folder. */
#ifndef STEMMA_CMD_LINEAGE_WHY_FOLDER_H
#define STEMMA_CMD_LINEAGE_WHY_FOLDER_H

#include "answer/folder.h"
#include "cmd/cmd.h"

/* Is it a folder on disk? */
bool why_is_folder(const char *text);
/* Says on standard error what of a folder was not looked at. */
void why_report_folder(const char *text, const struct folder *f);
/* Prints what made its files. The status. */
int why_print_folder(struct cmd *c, const char *text, unsigned flags);

#endif
