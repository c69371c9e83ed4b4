/* spec_join.h - the specifications of a program and of the libraries that it loads, as one. */
#ifndef STEMMA_SPEC_SPEC_JOIN_H
#define STEMMA_SPEC_SPEC_JOIN_H

#include "spec/spec.h"

/* A specification with the functions of all parts, those of each behind those of the one before. Its id is made of
 * theirs; `main` is that of the first part that has one. Names belong to the parts, which must outlive it; release it
 * by spec_free. 0, -E2BIG or -ENOMEM. */
int spec_join(const struct spec *const *parts, size_t n, struct spec **ret);

#endif
