/* checked.h - whether the chain of seals is sound: what `stemma trust --verify` answers. */
#ifndef STEMMA_ANSWER_TRUST_CHECKED_H
#define STEMMA_ANSWER_TRUST_CHECKED_H

#include "answer/js.h"
#include "base/err.h"
#include "trust/chain/chain.h"

struct checked {
	struct chain_report report;
	bool sound;           /* something is sealed, and there is no problem */
	json_t *problems;     /* an array of sentences, as they are: names in them byte by byte */
	bool expects, checks; /* a hash was expected; signatures were checked */
	bool keyed;           /* keys were checked, and so many seals are right: */
	uint64_t keys_good;
	json_t *witnessed;                         /* statements of witnesses were checked: an array of them; else NULL */
	uint64_t seen_good, seen_bad, seen_behind; /* ... right, and not; seals behind the last right one of its chain */
	uint64_t good, bad, open; /* signatures that are right, and wrong; seals behind the last right one of their chain */
};
struct checked_options {
	const char *expect;    /* a hash of 64 hexadecimal digits that must be one of the chain's; NULL none */
	const char *signers;   /* OpenSSH's file of allowed signers; NULL: signatures are not checked */
	const char *start_key; /* the file of a start key (trust/chain/chain_key.h); NULL: keys are not checked */
	const char *witnessed; /* a file of statements of witnesses, who must be among the signers; NULL: none is checked */
	const char *identity;  /* whose signature it is to be; NULL: any of them */
};
/* Checks the chain of seals of a record, and notes each problem. 0, -EINVAL: what is expected is no hash; or -errno,
 * with a sentence. */
int checked_make(struct chain *c, const struct checked_options *o, struct err *err, struct checked *ret);
void checked_release(struct checked *k);
/* A new reference. */
json_t *checked_json(const struct checked *k);

#endif
