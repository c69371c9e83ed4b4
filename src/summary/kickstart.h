/* kickstart.h - the invocation records of pegasus-kickstart 5: YAML, by which Pegasus knows how a job went.
 *
 * Read by lines, not by a library for YAML: kickstart prints its records with fixed indents and does not quote what it
 * should, so that many are no YAML (of -z, XML stands in the middle of them), and they come between other output of a
 * job. What is no "key: value" of a place that is known is passed over. Written with every string quoted. */
#ifndef STEMMA_SUMMARY_KICKSTART_H
#define STEMMA_SUMMARY_KICKSTART_H

#include "summary/summary.h"

bool kickstart_is(struct str text);
/* Reads the first record of the text and sets *ret_n to what it took of the text. 0 or -errno with a sentence,
 * -ENODATA: there is none; *ret is released by the caller on success only. */
int kickstart_read(struct str text, struct err *err, struct summary *ret, size_t *ret_n);

/* Appends s as a record. Labels transformation, derivation, resource, wf-label and wf-stamp stand where Pegasus looks
 * for them. 0 or -ENOMEM. */
int kickstart_write(const struct summary *s, struct buf *ret);

#endif
