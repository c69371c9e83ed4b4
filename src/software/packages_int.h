/* packages_int.h - what the parts of packages share: packages.c asks in turn, packages_ask.c dpkg and rpm,
 * packages_folders.c reads what pip and conda left, packages_paths.c goes by paths. */
#ifndef STEMMA_SOFTWARE_PACKAGES_INT_H
#define STEMMA_SOFTWARE_PACKAGES_INT_H

#include "base/str.h"
#include "software/packages.h"

/* One question: paths[i] whose at[i] is VEC_NONE is still to be found. */
struct packages_asked {
	const char *const *paths;
	uint32_t *at;
	size_t n;
};

/* Each sets `at` of those that it knows. 0 or -ENOMEM; what fails otherwise is as if nothing were known. */
int packages_ask_dpkg(struct packages *p, const struct packages_asked *a);
int packages_ask_rpm(struct packages *p, const struct packages_asked *a);
int packages_read_folders(struct packages *p, const struct packages_asked *a);
int packages_read_paths(struct packages *p, const struct packages_asked *a);

/* The place of the package that has manager, name, version and arch of `like`; a new one, with copies of its texts,
 * where there is none. VEC_NONE: no memory. NULL texts count as "". */
uint32_t packages_add(struct packages *p, const struct package *like);
/* A copy that lives as long as p, without what is no UTF-8 and without control characters. NULL without memory. */
const char *packages_text(struct packages *p, struct str s);

#endif
