/* trust_chain.c - stemma trust --seal and --verify. */
#include "answer/trust/checked.h"
#include "base/digest.h"
#include "base/hex.h"
#include "base/io.h"
#include "cmd/trust/trust_view.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "trust/chain/chain.h"
#include "trust/chain/chain_witness.h"
#include "trust/chain/sign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A chain's signer; arg: the key's path, of which the last part is *ret_key. Both are the caller's. 0; -errno with a
 * sentence. */
static int sign(void *arg, const char *hash, char **ret_signature, char **ret_key, struct err *err)
{
	const char *key = arg;
	const char *base = strrchr(key, '/');
	int rc = sign_text(SIGN_SEAL, key, hash, err, ret_signature);
	if (rc == 0 && !(*ret_key = strdup(base ? base + 1 : key)))
		rc = -ENOMEM;
	return rc;
}

/* A status, reported; *ret is set where it is STATUS_OK. */
static int open_chain(struct cmd *c, struct chain **ret)
{
	struct err err = {0};
	char *home = NULL;
	int status = cmd_store_exists(c);
	if (status != STATUS_OK)
		return status;
	int rc = store_places(cmd_home(c), &err, &home, NULL);
	if (rc == 0)
		rc = chain_open(home, false, &err, ret);
	free(home);
	return rc < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

int trust_head(struct cmd *c)
{
	struct chain *chain;
	struct buf text = {0};
	int status = open_chain(c, &chain);
	if (status != STATUS_OK)
		return status;
	int rc = witness_head(chain, &text);
	chain_close(chain);
	if (rc == 1)
		fwrite(text.p, 1, text.n, stdout);
	else if (rc == 0)
		report("nothing is sealed (stemma trust --seal)");
	buf_release(&text);
	return rc < 0 ? STATUS_SELF : rc == 1 ? STATUS_OK : STATUS_NOTHING;
}

/* Needs no record: the witness may be another machine. STATUS_NOTHING: it does not sign that head. A status, reported.
 * */
int trust_be_witness(const struct opts_trust *o)
{
	struct err err = {0};
	struct buf head = {0}, statement = {0};
	int rc = io_read_rest(STDIN_FILENO, WITNESS_BYTES, &head);
	if (rc < 0)
		rc = err_set(&err, -rc, "cannot read the head from standard input");
	else
		rc = witness_sign(buf_view(&head), o->witness, o->key, &err, &statement);
	if (rc == 1)
		fwrite(statement.p, 1, statement.n, stdout);
	buf_release(&head);
	buf_release(&statement);
	return rc == 1 ? STATUS_OK : report_err(&err, rc == 0 ? STATUS_NOTHING : STATUS_SELF);
}

/* Seals what is not sealed yet. Gives the exit status. */
int trust_seal(struct cmd *c, const struct opts_trust *o)
{
	struct err err = {0};
	struct chain *chain;
	struct chain_seal_result r;
	int status = open_chain(c, &chain);
	if (status != STATUS_OK)
		return status;
	int rc = o->start_key ? chain_start_key(chain, o->start_key, &err) : 0;
	if (rc == 0)
		rc = chain_seal(chain, o->key ? sign : NULL, (void *)o->key, &err, &r);
	chain_close(chain);
	if (rc < 0)
		return report_err(&err, STATUS_SELF);
	if (o->json) {
		json_t *j = json_object();
		js_num(j, "format", 1);
		js_num(j, "sessions", r.sessions);
		js_num(j, "bytes", r.bytes);
		js_num(j, "seals", r.seals);
		js_num(j, "waiting", r.waiting);
		js_put(j, "head", *r.head ? json_string(r.head) : json_null());
		return js_print(j, false);
	}
	if (r.sessions)
		printf("sealed %llu session%s\n", (unsigned long long)r.sessions, r.sessions == 1 ? "" : "s");
	else
		printf("nothing new to seal\n");
	if (r.waiting)
		printf("%llu session%s still running\n", (unsigned long long)r.waiting, r.waiting == 1 ? " is" : "s are");
	if (o->start_key)
		printf("start key in %s: keep it on another machine, and remove it here\n", o->start_key);
	if (*r.head)
		printf("head %s\n", r.head);
	return STATUS_OK;
}

/* Prints the plans of repetitions. Of each plan how many repetitions there are: what was forgotten leaves its
 * number. */
static void print_plans(const struct chain_report *r)
{
	for (size_t i = 0; i < r->n_plans; i++) {
		const struct chain_plan *p = &r->plans[i];
		size_t n = strlen(p->id);
		printf("bench:%s: ", n > 8 ? p->id + n - 8 : p->id);
		if (p->known)
			printf("%llu run%s planned, ", (unsigned long long)p->planned, str_plural(p->planned));
		printf("%llu made, %llu present, %llu forgotten%s\n", (unsigned long long)p->made, (unsigned long long)p->there,
		       (unsigned long long)p->forgotten,
		       p->over ? "" : "; it has no end: it continues, was killed, or the record was cut");
	}
}

/* Prints the problems, then one line on all seals. */
static void print_checked(const struct checked *k)
{
	const struct chain_report *r = &k->report;
	size_t i;
	json_t *line;
	struct buf b = {0};
	json_array_foreach(k->problems, i, line)
	{
		buf_reset(&b);
		fmt_name(&b, str_of(json_string_value(line)));
		printf("%s\n", buf_cstr(&b));
	}
	buf_release(&b);
	print_plans(r);
	if (!r->seals && r->cut)
		printf("CUT: this host sealed records, but all seals are missing; restore the record from a backup\n");
	else if (!r->seals)
		printf("nothing is sealed (stemma trust --seal)\n");
	else
		printf(
		    "%s: %llu seal%s of %llu session%s, %llu forgotten, %llu resealed by forget or gc, %llu not sealed yet\n",
		    k->sound ? "sound"
		    : r->cut ? "CUT"
		             : "NOT SOUND",
		    (unsigned long long)r->seals, str_plural(r->seals), (unsigned long long)r->sessions,
		    str_plural(r->sessions), (unsigned long long)r->forgotten, (unsigned long long)r->rewritten,
		    (unsigned long long)r->unsealed);
	if (k->keyed)
		printf("%llu seal%s made with the correct key\n", (unsigned long long)k->keys_good,
		       k->keys_good == 1 ? " was" : "s were");
	if (k->witnessed)
		printf("%llu statement%s of a witness %s valid, %llu %s invalid; %llu seal%s after the last one\n",
		       (unsigned long long)k->seen_good, str_plural(k->seen_good), k->seen_good == 1 ? "is" : "are",
		       (unsigned long long)k->seen_bad, k->seen_bad == 1 ? "is" : "are", (unsigned long long)k->seen_behind,
		       str_plural(k->seen_behind));
	if (k->checks)
		printf("%llu signature%s valid, %llu invalid; %llu seal%s after the last valid one\n",
		       (unsigned long long)k->good, k->good == 1 ? " is" : "s are", (unsigned long long)k->bad,
		       (unsigned long long)k->open, str_plural(k->open));
}

/* Checks the chain. Gives the exit status. */
int trust_verify(struct cmd *c, const struct opts_trust *o)
{
	struct err err = {0};
	struct chain *chain;
	struct checked k;
	struct digest hash;
	struct checked_options options = {.expect = c->n_operands ? c->operands[0] : NULL,
	                                  .signers = o->signers,
	                                  .identity = o->identity,
	                                  .start_key = o->start_key,
	                                  .witnessed = o->witnessed};
	if (c->n_operands > 1 || (options.expect && !hex_parse(str_of(options.expect), hash.b, sizeof(hash.b))))
		return report_usage(c, "--verify takes one hash of 64 hexadecimal digits, the expected head");
	int status = open_chain(c, &chain);
	if (status != STATUS_OK)
		return status;
	int r = checked_make(chain, &options, &err, &k);
	chain_close(chain);
	if (r < 0)
		return report_err(&err, STATUS_SELF);
	if (o->json)
		status = js_print(checked_json(&k), false);
	else
		print_checked(&k);
	if (status == STATUS_OK && !k.sound)
		status = STATUS_NOTHING;
	checked_release(&k);
	return status;
}
