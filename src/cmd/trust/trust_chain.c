/* trust_chain.c - stemma trust --seal and --verify. */
#include "base/digest.h"
#include "base/hex.h"
#include "cmd/trust/trust_view.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "trust/chain.h"
#include "trust/sign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int sign(void *arg, const char *hash, char **ret_signature, char **ret_key, struct err *err)
{
	const char *key = arg;
	const char *base = strrchr(key, '/');
	int rc = sign_text(key, hash, err, ret_signature);
	if (rc == 0 && !(*ret_key = strdup(base ? base + 1 : key)))
		rc = -ENOMEM;
	return rc;
}

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

int trust_seal(struct cmd *c, const struct opts_trust *o)
{
	struct err err = {0};
	struct chain *chain;
	struct chain_seal_result r;
	int status = open_chain(c, &chain);
	if (status != STATUS_OK)
		return status;
	int rc = chain_seal(chain, o->key ? sign : NULL, (void *)o->key, &err, &r);
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
		printf("%llu session%s still going on\n", (unsigned long long)r.waiting, r.waiting == 1 ? " is" : "s are");
	if (*r.head)
		printf("head %s\n", r.head);
	return STATUS_OK;
}

struct checking {
	struct json_t *problems;
	const char *allowed, *identity;
	uint64_t good, bad, behind, open; /* seals behind the last right signature: of the chain at hand, of all */
	char name[256];
	struct err *err;
};

static void append_problem(void *arg, const char *line)
{
	struct checking *x = arg;
	js_add(x->problems, js_string(str_of(line)));
}

/* A signature stands for all seals before it, too: each holds the hash of the one before. */
static int check_signature(void *arg, const char *name, const char *hash, const char *signature)
{
	struct checking *x = arg;
	struct err why = {0};
	char line[700];
	if (strcmp(x->name, name) != 0) {
		x->open += x->behind;
		x->behind = 0;
		snprintf(x->name, sizeof(x->name), "%s", name);
	}
	if (!*signature) {
		x->behind++;
		return 0;
	}
	int rc = sign_check(x->allowed, x->identity, hash, signature, &why);
	if (rc < 0)
		return err_set(x->err, 0, "%s", why.text), rc;
	x->behind = rc == 1 ? 0 : x->behind + 1;
	x->good += rc == 1;
	x->bad += rc == 0;
	if (rc == 0) {
		snprintf(line, sizeof(line), "seal %.16s...: %s", hash, why.text);
		append_problem(x, line);
	}
	return 0;
}

/* What --verify found of a chain. */
struct checked {
	const struct checking *x;
	const struct chain_report *r;
	bool sound;
};

static int print_checked_json(const struct opts_trust *o, const struct checked *k, bool expect)
{
	json_t *j = json_object();
	js_num(j, "format", 1);
	js_bool(j, "sound", k->sound);
	js_num(j, "seals", k->r->seals);
	js_num(j, "chains", k->r->hosts);
	js_num(j, "sessions", k->r->sessions);
	js_num(j, "forgotten", k->r->forgotten);
	js_num(j, "rewritten", k->r->rewritten);
	js_num(j, "unsealed", k->r->unsealed);
	js_num(j, "signed", k->r->with_signature);
	if (o->signers)
		js_num(j, "signatures_good", k->x->good);
	if (expect)
		js_bool(j, "expected", k->r->expected);
	js_put(j, "problems", json_incref(k->x->problems));
	return js_print(j, false);
}

static void print_checked_text(const struct opts_trust *o, const struct checked *k)
{
	const struct chain_report *r = k->r;
	size_t i;
	json_t *line;
	struct buf b = {0};
	json_array_foreach(k->x->problems, i, line)
	{
		buf_reset(&b);
		fmt_name(&b, str_of(json_string_value(line)));
		printf("%s\n", buf_cstr(&b));
	}
	buf_release(&b);
	if (!r->seals)
		printf("nothing is sealed (stemma trust --seal)\n");
	else
		printf("%s: %llu seal%s of %llu session%s, %llu forgotten, %llu sealed again by forget or gc, %llu not sealed "
		       "yet\n",
		       k->sound ? "sound" : "NOT SOUND", (unsigned long long)r->seals, str_plural(r->seals),
		       (unsigned long long)r->sessions, str_plural(r->sessions), (unsigned long long)r->forgotten,
		       (unsigned long long)r->rewritten, (unsigned long long)r->unsealed);
	if (o->signers)
		printf("%llu signature%s right, %llu wrong; %llu seal%s behind the last right one\n",
		       (unsigned long long)k->x->good, k->x->good == 1 ? " is" : "s are", (unsigned long long)k->x->bad,
		       (unsigned long long)k->x->open, k->x->open == 1 ? " stands" : "s stand");
}

int trust_verify(struct cmd *c, const struct opts_trust *o)
{
	struct err err = {0};
	struct chain *chain;
	struct chain_report r;
	struct digest hash;
	const char *expect = c->n_operands ? c->operands[0] : NULL;
	if (c->n_operands > 1 || (expect && !hex_parse(str_of(expect), hash.b, sizeof(hash.b))))
		return report_usage(c, "--verify takes one hash of 64 hexadecimal digits, the head that is expected");
	int status = open_chain(c, &chain);
	if (status != STATUS_OK)
		return status;
	struct checking x = {.problems = json_array(), .allowed = o->signers, .identity = o->identity, .err = &err};
	int rc = chain_verify(chain, expect, append_problem, &x, &err, &r);
	if (rc == 0 && o->signers)
		rc = chain_each(chain, check_signature, &x);
	chain_close(chain);
	if (rc < 0) {
		json_decref(x.problems);
		return report_err(&err, STATUS_SELF);
	}
	if (expect && !r.expected)
		append_problem(&x, "the hash that is expected is none of the chain's");
	x.open += x.behind;
	if (o->signers && x.open)
		append_problem(&x, "the latest seals are not signed");
	struct checked all = {.x = &x, .r = &r, .sound = !json_array_size(x.problems) && r.seals};
	if (o->json)
		status = print_checked_json(o, &all, expect != NULL);
	else
		print_checked_text(o, &all);
	json_decref(x.problems);
	return status == STATUS_OK && !all.sound ? STATUS_NOTHING : status;
}
