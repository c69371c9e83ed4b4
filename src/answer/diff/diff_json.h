/* diff_json.h - a diff as JSON; stemma-diff(1) documents the fields. */
#ifndef STEMMA_ANSWER_DIFF_DIFF_JSON_H
#define STEMMA_ANSWER_DIFF_DIFF_JSON_H

#include "answer/entities.h"
#include "answer/source.h"
#include "query/diff.h"

/* Whether something differs that is more than time and use of resources. */
bool diff_matters(const struct diff *d);
/* The answer of `stemma diff --json`; a new reference. 0 or -errno. */
int diff_json(const struct answer_source *a, const struct diff *d, json_t **ret);

#endif
