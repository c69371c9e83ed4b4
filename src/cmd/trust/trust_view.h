/* trust_view.h - how `stemma trust` shows what it found, as text and as JSON. */
#ifndef STEMMA_CMD_TRUST_TRUST_VIEW_H
#define STEMMA_CMD_TRUST_TRUST_VIEW_H

#include "cmd/cmd.h"
#include "trust/measure.h"
#include "trust/witness.h"

/* t NULL: there was no claim; what varied is shown. */
void trust_view_text(const struct witness *x, const struct trust *t);
int trust_view_json(const struct witness *x, const struct trust *t); /* exit status */
/* --seal and --verify (trust_chain.c): the exit status. */
int trust_seal(struct cmd *c, const struct opts_trust *o);
int trust_verify(struct cmd *c, const struct opts_trust *o);
/* Puts the median in the place of several numbers; what is none stays. */
void trust_view_median(struct element *x);

#endif
