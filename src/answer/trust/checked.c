#include "answer/trust/checked.h"

#include "base/digest.h"
#include "base/hex.h"
#include "base/io.h"
#include "trust/chain/chain_key.h"
#include "trust/chain/chain_witness.h"
#include "trust/chain/sign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct checking {
	struct checked *k;
	const char *allowed, *identity;
	uint64_t behind; /* seals of the chain at hand behind its last right signature */
	char name[256];
	struct err *err;
};

/* A sink of chain_problem and the like: keeps a copy. */
static void append_problem(void *arg, const char *line)
{
	struct checking *x = arg;
	js_add(x->k->problems, js_string(str_of(line)));
}

/* A signature stands for all seals before it, too: each holds the hash of the one before. 0; -errno with a sentence.
 * Counts into x->k, and adds a problem where a signature does not fit. */
static int check_signature(void *arg, const char *name, const char *hash, const char *signature)
{
	struct checking *x = arg;
	struct err why = {0};
	char line[700];
	if (strcmp(x->name, name) != 0) {
		x->k->open += x->behind;
		x->behind = 0;
		snprintf(x->name, sizeof(x->name), "%s", name);
	}
	if (!*signature) {
		x->behind++;
		return 0;
	}
	int rc = sign_check(SIGN_SEAL, x->allowed, x->identity, hash, signature, &why);
	if (rc < 0)
		return err_set(x->err, 0, "%s", why.text), rc;
	x->behind = rc == 1 ? 0 : x->behind + 1;
	x->k->good += rc == 1;
	x->k->bad += rc == 0;
	if (rc == 0) {
		snprintf(line, sizeof(line), "seal %.16s...: %s", hash, why.text);
		append_problem(x, line);
	}
	return 0;
}

/* Checks that the chain's seals were made with the keys that follow from the start key at path. 0, or -errno with a
 * sentence: the file is no start key. */
static int check_keys(struct checking *x, struct chain *c, const char *path)
{
	struct chain_start start;
	int rc = chain_start_read(path, x->err, &start);
	if (rc == 0)
		x->k->keys_good = chain_verify_key(c, &start, append_problem, x, &x->k->report);
	x->k->keyed = true;
	chain_key_erase(&start.key);
	return rc;
}

/* Is the statement signed by a witness, and what it saw there? *ret: so. 0 or -errno. */
static int check_statement(struct checking *x, struct chain *c, const struct witnessed *w, bool *ret)
{
	struct err why = {0};
	struct buf text = {0}, signature = {0};
	char line[900];
	buf_str(&text, w->text);
	buf_str(&signature, w->signature);
	int rc = text.failed || signature.failed ? err_set(x->err, ENOMEM, "cannot check a statement") : 0;
	if (rc == 0)
		rc = sign_check(WITNESS_SPACE, x->allowed, x->identity, buf_cstr(&text), buf_cstr(&signature), &why);
	buf_release(&text);
	buf_release(&signature);
	*ret = false;
	if (rc < 0)
		return err_set(x->err, 0, "%s", why.text), rc;
	if (rc == 0) {
		snprintf(line, sizeof(line), "the statement on seal %llu of %s: %s", (unsigned long long)w->number, w->chain,
		         why.text);
		append_problem(x, line);
		return 0;
	}
	int there = witness_compare(c, w, append_problem, x, &x->k->report);
	if (there < 0)
		append_problem(x, "a statement belongs to another chain");
	*ret = there == 1;
	return 0;
}

/* Adds what a witness signed, and counts it as right or wrong. */
static void append_statement(struct checking *x, const struct witnessed *w, bool right)
{
	json_t *o = json_object();
	js_text(o, "chain", w->chain);
	js_num(o, "number", w->number);
	js_time(o, "time", w->time);
	js_bool(o, "right", right);
	js_add(x->k->witnessed, o);
	x->k->seen_good += right;
	x->k->seen_bad += !right;
}

/* Is there a right statement on a later seal of the chain of statement `one`? */
static bool is_superseded(json_t *all, json_t *one)
{
	size_t i;
	json_t *other;
	json_array_foreach(all, i, other)
	{
		bool same = !strcmp(json_string_value(json_object_get(other, "chain")),
		                    json_string_value(json_object_get(one, "chain")));
		if (same && json_is_true(json_object_get(other, "right")) &&
		    json_integer_value(json_object_get(other, "number")) > json_integer_value(json_object_get(one, "number")))
			return true;
	}
	return false;
}

/* Seals behind the last right statement of each chain. */
static void count_unwitnessed(struct checking *x, struct chain *c)
{
	size_t i;
	json_t *one;
	json_array_foreach(x->k->witnessed, i, one)
	{
		if (!json_is_true(json_object_get(one, "right")) || is_superseded(x->k->witnessed, one))
			continue;
		x->k->seen_behind += witness_behind(c, json_string_value(json_object_get(one, "chain")),
		                                    (uint64_t)json_integer_value(json_object_get(one, "number")));
	}
}

/* Checks the statements of witnesses in the file at path against the chain. 0, -EBADMSG: there is something else in
 * the file; or -errno, with a sentence. */
static int check_statements(struct checking *x, struct chain *c, const char *path)
{
	struct buf text = {0};
	struct witnessed w;
	int rc = io_read_file(path, WITNESS_BYTES, &text);
	x->k->witnessed = json_array();
	if (rc < 0)
		rc = err_set(x->err, -rc, "cannot read '%s'", path);
	for (size_t at = 0; rc == 0 && (rc = witness_next(buf_view(&text), &at, x->err, &w)) == 1;) {
		bool right;
		rc = check_statement(x, c, &w, &right);
		if (rc == 0)
			append_statement(x, &w, right);
	}
	count_unwitnessed(x, c);
	if (rc == 0 && !json_array_size(x->k->witnessed))
		append_problem(x, "there is no statement of a witness");
	buf_release(&text);
	return rc;
}

/* Checks the chain by what somebody else has: the start key, statements of witnesses, or the keys of those who sign.
 * 0 or -errno. */
static int check_by_others(struct checking *x, struct chain *c, const struct checked_options *o)
{
	int r = o->start_key ? check_keys(x, c, o->start_key) : 0;
	if (r == 0 && o->witnessed)
		return check_statements(x, c, o->witnessed);
	return r == 0 && o->signers ? chain_each(c, check_signature, x) : r;
}

int checked_make(struct chain *c, const struct checked_options *o, struct err *err, struct checked *ret)
{
	struct digest hash;
	*ret = (struct checked){.expects = o->expect, .checks = o->signers && !o->witnessed};
	if (o->expect && !hex_parse(str_of(o->expect), hash.b, sizeof(hash.b)))
		return (err_set(err, 0, "the expected hash must have 64 hexadecimal digits"), -EINVAL);
	ret->problems = json_array();
	struct checking x = {.k = ret, .allowed = o->signers, .identity = o->identity, .err = err};
	int r = chain_verify(c, o->expect, append_problem, &x, err, &ret->report);
	if (r == 0)
		r = check_by_others(&x, c, o);
	if (r < 0) {
		checked_release(ret);
		return r;
	}
	if (o->expect && !ret->report.expected) {
		ret->report.cut |= !ret->report.seals;
		append_problem(&x, ret->report.seals ? "the expected hash is not in the chain"
		                                     : "the record is cut: the expected seal is missing");
	}
	ret->open += x.behind;
	if (o->signers && !o->witnessed && ret->open)
		append_problem(&x, "the latest seals are not signed");
	ret->sound = !json_array_size(ret->problems) && ret->report.seals;
	return 0;
}

/* k is empty then. */
void checked_release(struct checked *k)
{
	json_decref(k->problems);
	json_decref(k->witnessed);
	chain_report_release(&k->report);
	*k = (struct checked){0};
}

/* `planned` is null where the plan is not known. The caller's. */
static json_t *plans_json(const struct chain_report *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < r->n_plans; i++) {
		const struct chain_plan *p = &r->plans[i];
		json_t *o = json_object();
		js_text(o, "bench", p->id);
		js_put(o, "planned", p->known ? json_integer((json_int_t)p->planned) : json_null());
		js_num(o, "made", p->made);
		js_num(o, "there", p->there);
		js_num(o, "forgotten", p->forgotten);
		js_bool(o, "over", p->over);
		js_add(a, o);
	}
	return a;
}

json_t *checked_json(const struct checked *k)
{
	json_t *j = json_object();
	js_num(j, "format", 1);
	js_bool(j, "sound", k->sound);
	js_bool(j, "cut", k->report.cut);
	js_num(j, "seals", k->report.seals);
	js_num(j, "chains", k->report.hosts);
	js_num(j, "sessions", k->report.sessions);
	js_num(j, "forgotten", k->report.forgotten);
	js_num(j, "rewritten", k->report.rewritten);
	js_num(j, "unsealed", k->report.unsealed);
	js_num(j, "signed", k->report.with_signature);
	if (k->keyed)
		js_num(j, "keys_good", k->keys_good);
	if (k->witnessed) {
		js_put(j, "witnessed", json_incref(k->witnessed));
		js_num(j, "witnessed_behind", k->seen_behind);
	}
	if (k->checks)
		js_num(j, "signatures_good", k->good);
	if (k->expects)
		js_bool(j, "expected", k->report.expected);
	js_put(j, "plans", plans_json(&k->report));
	js_put(j, "problems", json_incref(k->problems));
	return j;
}
