/* workflows_print.h - which workflow made what another one used. */
#ifndef STEMMA_CMD_LINEAGE_WORKFLOWS_PRINT_H
#define STEMMA_CMD_LINEAGE_WORKFLOWS_PRINT_H

#include "cmd/cmd.h"

/* file 0: of all files. The status. */
int workflows_print(struct cmd *c, store_id file, bool json);

#endif
