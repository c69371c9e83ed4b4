/* stemma trust: how far a claim agrees with what provenance saw; what varied from run to run; the chain of seals. */
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/trust/trust_view.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The claim; "-": from standard input. 0; -errno with a sentence. */
static int load_claim(const char *path, struct err *err, struct claim *ret)
{
	struct buf b = {0};
	int rc = strcmp(path, "-") ? io_read_file(path, CLAIM_BYTES, &b) : io_read_rest(STDIN_FILENO, CLAIM_BYTES, &b);
	/* What is too large for a claim is told of as such. */
	if (rc < 0 && rc != -EFBIG)
		err_set(err, -rc, "cannot read '%s'", path);
	else
		rc = claim_read(b.p ? b.p : "", b.n, err, ret);
	buf_release(&b);
	return rc;
}

/* What the options ask for: the claim that would agree, JSON or text. A status. */
static int print_judged(struct judged *j, const struct opts_trust *o)
{
	struct buf b = {0};
	if (!o->report) {
		if (o->json)
			return js_print(judged_json(j), false);
		trust_view_text(j);
		return STATUS_OK;
	}
	int r = judged_claim(j, &b);
	if (r == 0)
		fwrite(b.p, 1, b.n, stdout);
	buf_release(&b);
	return r < 0 ? STATUS_SELF : STATUS_OK;
}

/* Where the digests of files are kept; NULL: nowhere. */
static struct digest_cache *open_digests(const struct cmd *c)
{
	struct err ignored = {0};
	char *index = NULL;
	if (store_places(cmd_home(c), &ignored, NULL, &index) == 0 && strrchr(index, '/'))
		*strrchr(index, '/') = '\0';
	struct digest_cache *ret = index ? digest_cache_open(index) : NULL;
	free(index);
	return ret;
}

/* Judges runs as a benchmark, and a claim by them. claim: NULL: none. STATUS_NOTHING: it does not agree. A status,
 * reported. */
static int judge(struct cmd *c, const struct opts_trust *o, struct claim *claim)
{
	struct err err = {0};
	struct judged j;
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	struct digest_cache *cache = open_digests(c);
	int r = judged_make(cmd_source(c), c->operands, (size_t)c->n_operands, claim, o->tolerance, cache, &err, &j);
	digest_cache_close(cache);
	if (r <= 0)
		return report_err(&err, r == -EINVAL ? STATUS_USAGE : cmd_target_status(r));
	status = print_judged(&j, o);
	if (status == STATUS_OK && claim && !judged_agrees(&j))
		status = STATUS_NOTHING;
	judged_release(&j);
	return status;
}

/* A status, reported. */
static int judge_runs(struct cmd *c, const struct opts_trust *o)
{
	struct err err = {0};
	struct claim claim = {0};
	if (!o->claim)
		return judge(c, o, NULL);
	if (load_claim(o->claim, &err, &claim) < 0)
		return report_err(&err, STATUS_USAGE);
	int status = judge(c, o, &claim);
	claim_release(&claim);
	return status;
}

struct misuse {
	bool is;
	const char *sentence;
};

/* The sentence of the first that is; NULL: none. */
static const char *first_misuse(const struct misuse *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].is)
			return rules[i].sentence;
	return NULL;
}

/* Do the options of a claim go together? NULL: the options go together; else what is wrong. */
static const char *claim_misuse(const struct opts_trust *o)
{
	const struct misuse rules[] = {
	    {(o->verify || o->seal) && (o->claim || o->report || o->tolerance),
	     "--seal and --verify cannot be combined with --claim, --report or --tolerance"},
	    {o->tolerance && !o->claim, "--tolerance needs --claim"},
	    {o->claim && o->report, "--report cannot be combined with --claim"},
	};
	return first_misuse(rules, sizeof(rules) / sizeof(*rules));
}

/* A sentence; NULL: all is well. */
static const char *chain_misuse(const struct cmd *c, const struct opts_trust *o)
{
	const struct misuse rules[] = {
	    {o->seal && o->verify, "--seal or --verify, not both"},
	    {o->key && !o->seal && !o->witness,
	     "--key requires --seal or --witness; check signatures with --verify --signers FILE"},
	    {o->signers && !o->verify, "--signers requires --verify"},
	    {o->start_key && !o->seal && !o->verify, "--start-key requires --seal or --verify"},
	    {o->identity && !o->signers, "--identity requires --verify --signers"},
	    {o->seal && c->n_operands, "--seal seals the whole record and takes no runs"},
	};
	return first_misuse(rules, sizeof(rules) / sizeof(*rules));
}

/* A sentence; NULL: all is well. */
static const char *witness_misuse(const struct cmd *c, const struct opts_trust *o)
{
	const bool others = o->seal || o->verify || o->claim || o->report;
	const struct misuse rules[] = {
	    {o->witness && !o->key, "--witness needs --key"},
	    {o->witness && (o->head || others || c->n_operands),
	     "--witness reads the head from standard input and takes no other operands"},
	    {o->head && (others || c->n_operands), "--head cannot be combined with other options"},
	    {o->witnessed && !o->signers, "--witnessed requires --verify --signers"},
	};
	return first_misuse(rules, sizeof(rules) / sizeof(*rules));
}

/* Gives the exit status. */
int cmd_trust(struct cmd *c, const struct opts_trust *o)
{
	const char *mistake = claim_misuse(o);
	if (!mistake)
		mistake = chain_misuse(c, o);
	if (!mistake)
		mistake = witness_misuse(c, o);
	if (mistake)
		return report_usage(c, "%s", mistake);
	if (o->witness)
		return trust_be_witness(o);
	if (o->head)
		return trust_head(c);
	return o->seal ? trust_seal(c, o) : o->verify ? trust_verify(c, o) : judge_runs(c, o);
}
