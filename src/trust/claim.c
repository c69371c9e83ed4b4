#include "trust/claim.h"

#include "base/hex.h"
#include "summary/decimal.h"
#include "summary/jin.h"
#include "summary/jout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct reader {
	struct err *err;
	size_t left; /* elements */
};

/* Reports why it is no claim. -EBADMSG with a sentence. */
static int refuse_claim(struct reader *r, const char *what)
{
	return (err_set(r->err, 0, "the claim is malformed: %s", what), -EBADMSG);
}

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int claim_oom(struct reader *r)
{
	return err_set(r->err, ENOMEM, "cannot read the claim");
}

/* A number (which is a string here), a text, true or false. */
static bool json_scalar(const json_t *j, struct str *ret)
{
	if (json_is_string(j))
		*ret = str_n(json_string_value(j), json_string_length(j));
	else if (json_is_boolean(j))
		*ret = str_of(json_is_true(j) ? "true" : "false");
	else
		return false;
	return true;
}

/* Reads the values of an element. -EBADMSG, -ENOMEM, with a sentence. */
static int values(struct reader *r, struct element *x, const json_t *j)
{
	struct str s;
	size_t i;
	json_t *item;
	if (json_is_null(j))
		return 0;
	if (json_scalar(j, &s))
		return element_put(x, s) ? 0 : claim_oom(r);
	if (!json_is_array(j))
		return refuse_claim(r, "a value is a text, a number, true, false, null, or a list of these");
	if (json_array_size(j) > r->left)
		return refuse_claim(r, "it has too many values");
	r->left -= json_array_size(j);
	json_array_foreach(j, i, item)
	{
		if (!json_scalar(item, &s))
			return refuse_claim(r, "a list may contain strings, numbers, true and false only");
		if (!element_put(x, s))
			return claim_oom(r);
	}
	return 0;
}

/* Reads a text of an element. -EBADMSG, -ENOMEM, with a sentence. */
static int read_text_member(struct reader *r, const json_t *o, const char *key, char **ret)
{
	struct str s;
	const json_t *j = json_object_get(o, key);
	if (!j || json_is_null(j))
		return 0;
	if (!json_scalar(j, &s))
		return refuse_claim(r, "a tolerance and a statistic are texts");
	return element_text(ret, s) ? 0 : claim_oom(r);
}

/* Is the word in the list, which ends with NULL? */
static bool is_one_of(const char *word, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

/* An element in braces: its values, and how they are to be compared. -EBADMSG, -ENOMEM, with a sentence. */
static int read_detailed(struct reader *r, struct element *x, const json_t *j, bool input)
{
	static const char *const statistics[] = {"median", "mean", "min", "max", "all", NULL};
	double unused;
	const json_t *value = json_object_get(j, input ? "digest" : "value");
	int rc = value ? values(r, x, value) : 0;
	if (!value && !input)
		return refuse_claim(r, "an element in braces needs \"value\"");
	if (rc == 0)
		rc = read_text_member(r, j, "tolerance", &x->tolerance);
	if (rc == 0)
		rc = read_text_member(r, j, "statistic", &x->statistic);
	if (rc == 0 && x->tolerance && !tolerance_read(x->tolerance, &unused, &unused))
		rc = refuse_claim(r, "a tolerance is a number or a percentage, and not negative");
	if (rc == 0 && x->statistic && !is_one_of(x->statistic, statistics))
		rc = refuse_claim(r, "a statistic is one of median, mean, min, max, all");
	return rc;
}

/* Reads an element. -EBADMSG, -ENOMEM, with a sentence. */
static int read_element(struct reader *r, struct elements *e, const char *name, const json_t *j, bool input)
{
	struct str key = str_of(name);
	if (!r->left--)
		return refuse_claim(r, "it has too many elements");
	while (input && key.n > 2 && key.p[0] == '.' && key.p[1] == '/')
		key = str_n(key.p + 2, key.n - 2);
	if (!key.n)
		return refuse_claim(r, "a name is empty");
	if (elements_find(e, key))
		return refuse_claim(r, "a name is repeated");
	struct element *x = elements_at(e, key);
	if (!x)
		return claim_oom(r);
	return json_is_object(j) ? read_detailed(r, x, j, input) : values(r, x, j);
}

/* {"name": value, ...}, of inputs also ["name", ...]. 0 also where there is none; -EBADMSG, -ENOMEM, with a sentence.
 * */
static int read_part(struct reader *r, const json_t *root, const char *key, enum trust_part which, struct claim *c)
{
	json_t *j = json_object_get(root, key), *item;
	const char *name;
	size_t i;
	int rc = 0;
	if (!j || json_is_null(j))
		return 0;
	if (which == TRUST_INPUTS && json_is_array(j)) {
		json_array_foreach(j, i, item)
		{
			if (!json_is_string(item))
				return refuse_claim(r, "a list of inputs holds names");
			rc = read_element(r, &c->side.part[which], json_string_value(item), json_null(), true);
			if (rc < 0)
				return rc;
		}
		return 0;
	}
	if (!json_is_object(j))
		return refuse_claim(r, "inputs, parameters, results and invariants are objects");
	json_object_foreach(j, name, item)
	{
		rc = read_element(r, &c->side.part[which], name, item, which == TRUST_INPUTS);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Reads the runs that a claim is about. 0 also where there are none; -EBADMSG, -ENOMEM, with a sentence. */
static int read_runs(struct reader *r, const json_t *root, struct claim *c)
{
	json_t *j = json_object_get(root, "runs"), *item;
	size_t i;
	if (!j || json_is_null(j))
		return 0;
	if (!json_is_array(j) || json_array_size(j) > r->left)
		return refuse_claim(r, "\"runs\" is a list of ids");
	c->runs = calloc(json_array_size(j) + 1, sizeof(*c->runs));
	if (!c->runs)
		return claim_oom(r);
	json_array_foreach(j, i, item)
	{
		if (!json_is_string(item))
			return refuse_claim(r, "\"runs\" is a list of ids");
		c->runs[i] = strdup(json_string_value(item));
		if (!c->runs[i])
			return claim_oom(r);
	}
	return 0;
}

/* [{"bench": ULID, "seal": 64 digits}, ...]. 0 also where there are none; -EBADMSG, -ENOMEM, with a sentence. */
static int read_plans(struct reader *r, const json_t *root, struct claim *c)
{
	json_t *j = json_object_get(root, "plans"), *item;
	unsigned char hash[32];
	size_t i, n = json_array_size(j);
	if (!j || json_is_null(j))
		return 0;
	if (!json_is_array(j) || n > r->left)
		return refuse_claim(r, "\"plans\" is a list of objects");
	c->plans = calloc(n + 1, sizeof(*c->plans));
	c->seals = calloc(n + 1, sizeof(*c->seals));
	if (!c->plans || !c->seals)
		return claim_oom(r);
	json_array_foreach(j, i, item)
	{
		const char *bench = json_string_value(json_object_get(item, "bench"));
		const char *seal = json_string_value(json_object_get(item, "seal"));
		if (!bench || !seal || json_object_size(item) != 2 || !hex_parse(str_of(seal), hash, sizeof(hash)))
			return refuse_claim(r, "a plan has a \"bench\", and a \"seal\" of 64 hexadecimal digits");
		c->plans[i] = strdup(bench);
		c->seals[i] = strdup(seal);
		if (!c->plans[i] || !c->seals[i])
			return claim_oom(r);
	}
	return 0;
}

/* Is every member known, and does it claim anything? 0, -EBADMSG with a sentence. */
static int check_members(struct reader *r, const json_t *root)
{
	static const char *const known[] = {"format",  "benchmark",  "runs",  "inputs", "parameters",
	                                    "results", "invariants", "plans", NULL};
	static const char *const claims[] = {"inputs", "parameters", "results", NULL};
	const char *key;
	json_t *item;
	bool any = false;
	json_object_foreach((json_t *)root, key, item)
	{
		/* A misspelt "result" must not pass for a claim of none. */
		if (!is_one_of(key, known) && strncmp(key, "x-", 2) != 0)
			return (err_set(r->err, 0,
			                "the claim is malformed: '%.60s' is not one of format, benchmark, runs, inputs, "
			                "parameters, results, invariants, plans or x-NAME",
			                key),
			        -EBADMSG);
		any |= is_one_of(key, claims);
	}
	return any ? 0 : refuse_claim(r, "it claims neither inputs nor parameters nor results");
}

/* Reads the whole claim. -EBADMSG, -ENOMEM, with a sentence. */
static int document(struct reader *r, const json_t *root, struct claim *c)
{
	int64_t format = 0;
	if (!json_is_object(root))
		return refuse_claim(r, "it is not a JSON object");
	const json_t *f = json_object_get(root, "format");
	if (!json_is_string(f) || decimal_read(str_of(json_string_value(f)), 0, &format) < 0 || format < 1)
		return refuse_claim(r, "\"format\": 1 is missing");
	if (format > CLAIM_FORMAT)
		return refuse_claim(r, "its format is newer than this program");
	int rc = check_members(r, root);
	if (rc == 0)
		rc = read_part(r, root, "inputs", TRUST_INPUTS, c);
	if (rc == 0)
		rc = read_part(r, root, "parameters", TRUST_PARAMETERS, c);
	if (rc == 0)
		rc = read_part(r, root, "results", TRUST_RESULTS, c);
	if (rc == 0)
		rc = read_part(r, root, "invariants", TRUST_INVARIANTS, c);
	if (rc == 0)
		rc = read_runs(r, root, c);
	if (rc == 0)
		rc = read_plans(r, root, c);
	const json_t *b = json_object_get(root, "benchmark");
	if (rc == 0 && json_is_string(b) && !(c->benchmark = strdup(json_string_value(b))))
		rc = claim_oom(r);
	return rc;
}

int claim_read(const char *text, size_t n, struct err *err, struct claim *ret)
{
	struct reader r = {.err = err, .left = CLAIM_ELEMENTS};
	struct jin in;
	struct claim c = {0};
	json_error_t e;
	char why[300];
	if (n > CLAIM_BYTES)
		return (err_set(err, 0, "the claim is larger than %u MiB", CLAIM_BYTES >> 20), -EBADMSG);
	if (jin_open(&in, text, n) < 0)
		return claim_oom(&r);
	/* Of a name that stands there twice the last would silently win. */
	json_t *root = json_loadb(in.text.p ? in.text.p : "", in.text.n, JSON_REJECT_DUPLICATES, &e);
	int rc = 0;
	if (!root) {
		snprintf(why, sizeof(why), "line %d: %s", e.line, e.text);
		rc = refuse_claim(&r, n ? why : "it is empty");
	} else {
		rc = document(&r, root, &c);
	}
	json_decref(root);
	jin_release(&in);
	if (rc < 0)
		claim_release(&c);
	else
		*ret = c;
	return rc;
}

/* c is empty then. */
void claim_release(struct claim *c)
{
	trust_side_release(&c->side);
	for (size_t i = 0; c->runs && c->runs[i]; i++)
		free(c->runs[i]);
	for (size_t i = 0; c->plans && c->seals && (c->plans[i] || c->seals[i]); i++) {
		free(c->plans[i]);
		free(c->seals[i]);
	}
	free(c->plans);
	free(c->seals);
	free(c->runs);
	free(c->benchmark);
	*c = (struct claim){0};
}

/* ---- writing ---- */

/* Writes a value: A number as it stands, or a string. */
static void value(struct jout *j, const char *text)
{
	size_t n = strlen(text);
	if (n && n < 32 && decimal_length(text, n) == n) {
		if (j->comma)
			buf_char(j->b, ',');
		buf_add(j->b, text, n);
		j->comma = true;
	} else {
		jout_text(j, str_of(text));
	}
}

/* null without a value, a list for several. */
static void put_part(struct jout *j, const char *key, const struct elements *e)
{
	jout_line(j, 1);
	jout_key(j, key);
	jout_open(j, '{');
	for (size_t i = 0; i < e->n; i++) {
		const struct element *x = &e->v[i];
		jout_line(j, 2);
		jout_key(j, x->name);
		if (x->n == 0) {
			jout_null(j);
		} else if (x->n == 1) {
			value(j, x->value[0]);
		} else {
			jout_open(j, '[');
			for (size_t k = 0; k < x->n; k++)
				value(j, x->value[k]);
			jout_close(j, ']');
		}
	}
	if (e->n) {
		j->comma = false;
		jout_line(j, 1);
	}
	jout_close(j, '}');
}

/* Of those plans that were sealed before their first run. */
static void put_plans(struct jout *j, const struct claim *c)
{
	jout_line(j, 1);
	jout_key(j, "plans");
	jout_open(j, '[');
	for (size_t i = 0; c->plans[i]; i++) {
		if (!*c->seals[i])
			continue;
		jout_open(j, '{');
		jout_key(j, "bench");
		jout_text(j, str_of(c->plans[i]));
		jout_key(j, "seal");
		jout_text(j, str_of(c->seals[i]));
		jout_close(j, '}');
	}
	jout_close(j, ']');
}

int claim_write(const struct claim *c, struct buf *ret)
{
	static const char *const parts[] = {"inputs", "parameters", "results", "invariants"};
	struct jout j = {.b = ret, .indent = true};
	jout_open(&j, '{');
	jout_line(&j, 1);
	jout_number(&j, "format", CLAIM_FORMAT, 0);
	if (c->benchmark) {
		jout_line(&j, 1);
		jout_key(&j, "benchmark");
		jout_text(&j, str_of(c->benchmark));
	}
	if (c->runs) {
		jout_line(&j, 1);
		jout_key(&j, "runs");
		jout_open(&j, '[');
		for (size_t i = 0; c->runs[i]; i++)
			jout_text(&j, str_of(c->runs[i]));
		jout_close(&j, ']');
	}
	if (c->plans && c->plans[0])
		put_plans(&j, c);
	for (int i = 0; i < TRUST_PARTS; i++)
		put_part(&j, parts[i], &c->side.part[i]);
	j.comma = false;
	jout_line(&j, 0);
	jout_close(&j, '}');
	buf_char(ret, '\n');
	return ret->failed ? -ENOMEM : 0;
}
