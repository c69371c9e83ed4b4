/* chain_witness.h - what somebody else saw of a chain. The host tells its head; a witness, on another machine or under
 * another user, signs it with the time, and keeps what it has signed in a ledger of its own. It signs no second head of
 * a number, and none before the last one that it was shown. So the owner of a record cannot make it anew unseen: what
 * the witness signed must be there.
 *
 * A head, and what the witness makes of it (a statement), are texts; doc/format/event-log.md describes them. Whoever
 * brings one may be anybody: at most WITNESS_BYTES are read. Signatures are OpenSSH's (sign.h), under the name
 * "stemma-witness", so that none can stand for that of a seal. No printing. */
#ifndef STEMMA_TRUST_CHAIN_CHAIN_WITNESS_H
#define STEMMA_TRUST_CHAIN_CHAIN_WITNESS_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

#include <stdint.h>

#define WITNESS_SPACE "stemma-witness"
#define WITNESS_BYTES (1u << 20)

struct chain;
struct chain_report;

/* That seal `number` of the chain was `hash`; of a statement also when it was seen, and by whose signature. */
struct witnessed {
	char chain[256];
	uint64_t number;
	struct digest hash;
	int64_t time;         /* ns since 1970 */
	struct str text;      /* of a statement: what is signed, in the text that was read */
	struct str signature; /* ... */
};

/* Appends the head of this host's chain, as the log has it. 1; 0: nothing is sealed; -ENOMEM. */
int witness_head(const struct chain *c, struct buf *ret);
/* Appends that seal `number` of a chain is `hash`, as a head. */
void witness_put_head(const char *chain, uint64_t number, const struct digest *hash, struct buf *ret);
/* The next statement of a text, from *at on. 1; 0: there is none behind; -EBADMSG, with a sentence: what stands there
 * is none. */
int witness_next(struct str text, size_t *at, struct err *err, struct witnessed *ret);

/* Signs the head in a text with an OpenSSH key, and appends the statement to the ledger, a file that is made where
 * there is none, and to ret. 1; 0: refused, with a sentence: the ledger has another head of that number, or a later
 * one; -EBADMSG: the text is no head, or the ledger is none; -errno, with a sentence. */
int witness_sign(struct str head, const char *ledger, const char *key, struct err *err, struct buf *ret);

/* Is what was seen there? 1; 0: it is not, and that is said and counted; -1: the record has no such chain. */
int witness_compare(const struct chain *c, const struct witnessed *w, void (*say)(void *arg, const char *line),
                    void *arg, struct chain_report *r);
/* Seals of a chain behind `number`. */
uint64_t witness_behind(const struct chain *c, const char *chain, uint64_t number);

#endif
