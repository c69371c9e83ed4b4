/* system.h - tell the machine's own files from somebody's work, by path (the table is system.def). */
#ifndef STEMMA_BASE_OS_SYSTEM_H
#define STEMMA_BASE_OS_SYSTEM_H

#include "base/str.h"

enum system_class {
	SYSTEM_NO,
	SYSTEM_YES,
	SYSTEM_UNLESS_NAMED, /* data if the execution that used it was given it by name */
};

/* Is the path one of the system's, and so left out of answers? extra: the user's own prefixes separated by spaces,
 * commas or colons, "!" before one that is never folded; may be NULL. */
enum system_class system_path(struct str path, const char *extra);
/* A number that changes when the table does: for whoever keeps what system_path said. */
uint64_t system_rules(void);

#endif
