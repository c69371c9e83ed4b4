/* sign.h - signatures of seals, by OpenSSH (`ssh-keygen -Y`; a namespace for what is signed: SIGN_SEAL): keys that
 * people have already, and no cryptography of our own. Starts a process each; no printing, its words go into the
 * sentence. */
#ifndef STEMMA_TRUST_CHAIN_SIGN_H
#define STEMMA_TRUST_CHAIN_SIGN_H

#include "base/err.h"

#define SIGN_SEAL "stemma"

/* Signs text with a private key (or a public one whose private half an agent has). malloc'ed. 0 or -errno. */
int sign_text(const char *space, const char *key, const char *text, struct err *err, char **ret);
/* Is it the signature of text by one who may sign as `identity` (a file of allowed signers, ssh-keygen(1))? identity
 * NULL: by anybody of the file. 1, 0: no, with a sentence; -errno. */
int sign_check(const char *space, const char *allowed, const char *identity, const char *text, const char *signature,
               struct err *err);

#endif
