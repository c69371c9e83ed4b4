/* summary_read.h - a summary from a value of JSON whose numbers are strings (see jin.h). */
#ifndef STEMMA_SUMMARY_SUMMARY_READ_H
#define STEMMA_SUMMARY_SUMMARY_READ_H

#include "summary/jin.h"
#include "summary/summary.h"

/* Reads a summary in stemma's own form. 0 or -errno with a sentence; *ret is to be released by the caller on success
 * only. */
int summary_from_json(json_t *value, struct err *err, struct summary *ret);

#endif
