/* trust_answers.c - how far a claim agrees with the record, and whether its chain of seals is sound. */
#include "lib/record.h"

#include "answer/trust/checked.h"
#include "answer/trust/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Judges runs as a benchmark. a: the text of a claim, NULL none; b: a tolerance, NULL none. */
static int judge(struct stemma_record *r, const struct record_question *q, struct judged *ret, struct stemma_error *err)
{
	struct err e = {0};
	struct claim claim = {0};
	size_t n = 0;
	int rc = q->a ? claim_read(q->a, strlen(q->a), &e, &claim) : 0;
	if (rc < 0)
		return record_fail(rc, &e, "it is not a claim", err);
	while (q->words && q->words[n])
		n++;
	rc = judged_make(&r->source, (char *const *)q->words, n, q->a ? &claim : NULL, q->b, NULL, &e, ret);
	claim_release(&claim);
	if (rc == -EINVAL)
		return record_fail(rc, &e, "the claim or the tolerance is invalid", err);
	return rc == 1 ? 0 : record_fail_to_resolve(rc, &e, err);
}

/* Answers stemma_trust. 0; else what record_fail gives, with a sentence. */
static int ask_trust(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct judged j;
	int rc = judge(r, q, &j, err);
	if (rc)
		return rc;
	json_t *o = judged_json(&j);
	judged_release(&j);
	return record_give_json(o, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_trust(struct stemma_record *r, const char *const *runs, const char *claim, const char *tolerance,
                          char **ret, struct stemma_error *err)
{
	return record_ask(
	    r, &(struct record_question){.ask = ask_trust, .words = runs, .a = claim, .b = tolerance, .ret = ret}, err);
}

/* Answers stemma_claim. 0; else what record_fail gives, with a sentence. */
static int ask_claim(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct judged j;
	struct buf b = {0};
	int rc = judge(r, q, &j, err);
	if (rc)
		return rc;
	rc = judged_claim(&j, &b);
	judged_release(&j);
	*q->ret = rc == 0 && !b.failed ? strdup(buf_cstr(&b)) : NULL;
	buf_release(&b);
	return *q->ret ? 0 : record_fail(-ENOMEM, NULL, "cannot write the claim", err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_claim(struct stemma_record *r, const char *const *runs, char **ret, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_claim, .words = runs, .ret = ret}, err);
}

/* Answers stemma_verify. 0; else what record_fail gives, with a sentence. */
static int ask_verify(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct chain *chain = NULL;
	struct checked k;
	struct checked_options options = {.expect = q->a};
	int rc = chain_open(store_home(r->source.store), false, &e, &chain);
	if (rc < 0)
		return record_fail(rc, &e, "cannot read the chain of seals", err);
	rc = checked_make(chain, &options, &e, &k);
	chain_close(chain);
	if (rc < 0)
		return record_fail(rc, &e, "cannot read the chain of seals", err);
	json_t *o = checked_json(&k);
	checked_release(&k);
	return record_give_json(o, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_verify(struct stemma_record *r, const char *expect, char **ret, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_verify, .a = expect, .ret = ret}, err);
}
