/* serve_problem.h - errors as JSON (RFC 9457): status, title, detail, and a hint where there is one. */
#ifndef STEMMA_SERVE_SERVE_PROBLEM_H
#define STEMMA_SERVE_SERVE_PROBLEM_H

#include "base/buf.h"

#define SERVE_PROBLEM_TYPE "application/problem+json"

/* Appends it. detail, hint: any bytes; hint "": none. */
void serve_problem(unsigned status, const char *detail, const char *hint, struct buf *ret);

#endif
