/* trust_view.h - how `stemma trust` shows what it found. */
#ifndef STEMMA_CMD_TRUST_TRUST_VIEW_H
#define STEMMA_CMD_TRUST_TRUST_VIEW_H

#include "answer/trust/judged.h"
#include "cmd/cmd.h"

void trust_view_text(const struct judged *j);
/* --head, --witness, --seal and --verify (trust_chain.c): the exit status. */
int trust_head(struct cmd *c);
int trust_be_witness(const struct opts_trust *o);
int trust_seal(struct cmd *c, const struct opts_trust *o);
int trust_verify(struct cmd *c, const struct opts_trust *o);

#endif
