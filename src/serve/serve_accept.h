/* serve_accept.h - which type of answer a client would have: Accept, RFC 9110, section 12.5.1. */
#ifndef STEMMA_SERVE_SERVE_ACCEPT_H
#define STEMMA_SERVE_SERVE_ACCEPT_H

#include <stddef.h>

/* The one of n types ("text/csv") that is wanted most, the first of several; accept NULL or "": the first. n: none is
 * acceptable. What is no media range counts as absent. */
size_t serve_accept(const char *accept, const char *const *types, size_t n);

#endif
