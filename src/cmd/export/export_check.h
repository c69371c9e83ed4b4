/* export_check.h - export --check: a document, or what would be exported, against PROV-CONSTRAINTS. */
#ifndef STEMMA_CMD_EXPORT_EXPORT_CHECK_H
#define STEMMA_CMD_EXPORT_EXPORT_CHECK_H

#include "cmd/cmd.h"
#include "prov/prov.h"

/* All operands as documents; "-" is standard input. STATUS_OK valid, STATUS_NOTHING violations (printed), STATUS_SELF.
 */
int export_check_documents(const struct cmd *c);
int export_check_source(struct prov_source *p);

#endif
