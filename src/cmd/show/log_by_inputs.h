/* log_by_inputs.h - stemma log --by-inputs. */
#ifndef STEMMA_CMD_SHOW_LOG_BY_INPUTS_H
#define STEMMA_CMD_SHOW_LOG_BY_INPUTS_H

#include "cmd/cmd.h"
#include "query/idset.h"

/* Prints the groups of the command's runs among only (NULL: all), as text or JSON. The status. */
int log_by_inputs(struct cmd *c, const struct opts_log *o, const struct idset *only);

#endif
