/* stages_called.h - stages by their names, for expressions. */
#ifndef STEMMA_QUERY_STAGES_STAGES_CALLED_H
#define STEMMA_QUERY_STAGES_STAGES_CALLED_H

#include "query/idset.h"
#include "query/stages/stages.h"

/* Does the pattern fit the stage's name, or NAME:WILDCARD=VALUE,...? Of what is not called anything: no. */
bool stages_is_called(const struct stage *g, const char *glob);
/* Adds the executions of all stages of the record that are called so. Looks at all runs. 0 or -errno. */
int stages_called(struct stages *st, const char *glob, struct idset *execs);

#endif
