/* stages_called.h - stages by their names, for expressions. */
#ifndef STEMMA_QUERY_STAGES_STAGES_CALLED_H
#define STEMMA_QUERY_STAGES_STAGES_CALLED_H

#include "query/idset.h"
#include "query/stages/stages.h"

/* Adds the executions of all stages of the record that are called so. Looks at all runs. 0 or -errno. */
int stages_called(struct stages *st, const char *glob, struct idset *execs);

#endif
