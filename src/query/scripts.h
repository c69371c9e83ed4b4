/* scripts.h - tell a script or a module from data, by who read it (the table is scripts.def). */
#ifndef STEMMA_QUERY_SCRIPTS_H
#define STEMMA_QUERY_SCRIPTS_H

#include "base/str.h"

/* Is a file a script of this program, by both their names? program: a path. */
bool script_is(struct str program, struct str path);
/* Could it be one of any program? Cheap. */
bool script_may_be(struct str path);

#endif
