/* package.h - which package a system file belongs to. */
#ifndef STEMMA_EXPORT_PACKAGE_H
#define STEMMA_EXPORT_PACKAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The version of the package that the file at the path is of, as dpkg knows it. False: it is of none, its name is one
 * that dpkg takes for a pattern, or there is no dpkg. Two programs are started, each for ten seconds at most. */
bool package_version(struct str path, char *ret, size_t n);

#endif
