/* why_hyperslab.h - stemma why FILE//DATASET[FROM:TO,...]. */
#ifndef STEMMA_CMD_WHY_HYPERSLAB_H
#define STEMMA_CMD_WHY_HYPERSLAB_H

#include "answer/js.h"
#include "cmd/cmd.h"

/* Prints, or adds to list, what made these elements of a dataset: a line for each version that they came with. The
 * status; -1: text is no selection of a dataset. how: of enum why_flags. */
int why_explain_hyperslab(struct cmd *c, const char *text, unsigned how, json_t *list);

#endif
