/* read_json.c - PROV-JSON (W3C member submission, 2013) to a document; PROV-JSONLD, which is JSON, too, is handed on.
 *
 * The JSON is held by jansson, which bounds its depth; names are made whole IRIs by the document's prefixes. Everything
 * that is not as the submission has it is an error at its place: a name's JSON pointer, or line and column where it is
 * no JSON. */
#include "import/read/read_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- errors, with the place ---- */

size_t json_descend_key(struct json_reader *r, const char *key)
{
	size_t at = r->path.n;
	buf_char(&r->path, '/');
	for (; *key; key++)
		if (*key == '~' || *key == '/')
			buf_str(&r->path, str_of(*key == '~' ? "~0" : "~1"));
		else
			buf_char(&r->path, *key);
	return at;
}

/* Gives where to go back to (path.n). */
size_t json_descend_index(struct json_reader *r, size_t i)
{
	char text[24];
	snprintf(text, sizeof(text), "%zu", i);
	return json_descend_key(r, text);
}

int json_report_bad(struct json_reader *r, const char *what, const char *word)
{
	return err_set(r->err, 0, "%s: %.200s: %s%s%.100s%s", r->name, r->path.n ? buf_cstr(&r->path) : "/", what,
	               word ? " '" : "", word ? word : "", word ? "'" : ""),
	       -EBADMSG;
}

/* -EFBIG where a limit is met, else -ENOMEM; with a sentence. */
int json_report_full(struct json_reader *r)
{
	const struct doc *d = r->d;
	bool limit = d->st.n >= d->limits.statements || d->attrs.n >= d->limits.attributes;
	return err_set(r->err, limit ? 0 : ENOMEM, "%s: %.200s: %s", r->name, buf_cstr(&r->path),
	               limit ? "the document is too large" : "cannot read the document"),
	       limit ? -EFBIG : -ENOMEM;
}

/* ---- names ---- */

/* The namespace of a prefix. prefix: n bytes. Scopes from the innermost; prov and xsd need not be declared. NULL: it
 * is not declared. */
static const char *find_json_namespace(const struct json_scope *s, const char *prefix, size_t n)
{
	for (; s; s = s->outer) {
		json_t *ns = s->prefixes ? json_object_getn(s->prefixes, prefix, n) : NULL;
		if (ns)
			return json_string_value(ns);
	}
	return n == 4 && memcmp(prefix, "prov", 4) == 0 ? PROV_NS : n == 3 && memcmp(prefix, "xsd", 3) == 0 ? XSD_NS : NULL;
}

int json_expand_name(struct json_reader *r, const struct json_scope *s, const char *name, uint32_t *ret)
{
	const char *colon = strchr(name, ':');
	const char *ns = NULL, *local = name;
	if (!*name)
		return json_report_bad(r, "an empty name", NULL);
	if (colon && colon == name + 1 && *name == '_') {
		if (!colon[1])
			return json_report_bad(r, "a blank name without a label", NULL);
	} else if (colon) {
		ns = find_json_namespace(s, name, (size_t)(colon - name));
		local = colon + 1;
		if (!ns && strncmp(local, "//", 2) != 0 && strncmp(name, "urn:", 4) != 0)
			return json_report_bad(r, "the prefix is not declared:", name);
		if (!ns)
			local = name; /* an IRI as it is */
	} else if (!(ns = find_json_namespace(s, "default", 7)))
		return json_report_bad(r, "a name without a prefix, and no default namespace:", name);
	buf_reset(&r->iri);
	buf_str(&r->iri, str_of(ns ? ns : ""));
	buf_str(&r->iri, str_of(local));
	*ret = r->iri.failed ? VEC_NONE : doc_intern(r->d, buf_view(&r->iri));
	return *ret == VEC_NONE ? json_report_full(r) : 0;
}

/* Checks a document's prefixes. Each must be a text. -EBADMSG, reported. */
static int check_prefixes(struct json_reader *r, json_t *prefixes)
{
	const char *key;
	json_t *value;
	if (!json_is_object(prefixes))
		return json_report_bad(r, "is not an object", NULL);
	json_object_foreach(prefixes, key, value) if (!json_is_string(value))
	{
		json_descend_key(r, key);
		return json_report_bad(r, "is no namespace", NULL);
	}
	return 0;
}

/* ---- attributes ---- */

int json_add_attribute(struct json_reader *r, uint32_t name, struct str text, uint32_t type)
{
	return doc_attr(r->d, name, doc_intern(r->d, text), type) ? 0 : json_report_full(r);
}

bool json_print_scalar(const json_t *j, char *ret, size_t n)
{
	if (json_is_integer(j))
		snprintf(ret, n, "%lld", (long long)json_integer_value(j));
	else if (json_is_real(j))
		snprintf(ret, n, "%.17g", json_real_value(j));
	else if (json_is_boolean(j))
		snprintf(ret, n, "%s", json_is_true(j) ? "true" : "false");
	return json_is_integer(j) || json_is_real(j) || json_is_boolean(j);
}

/* {"$": value, "type": name} or {"$": value, "lang": tag}. Added as an attribute of the last statement. -EBADMSG,
 * -ENOMEM, -EFBIG, reported. */
static int read_typed_value(struct json_reader *r, const struct json_scope *s, uint32_t name, json_t *v)
{
	json_t *text = json_object_get(v, "$"), *type = json_object_get(v, "type"), *lang = json_object_get(v, "lang");
	uint32_t t = 0, value;
	char number[40];
	if (json_object_size(v) > 1 + (size_t)(type != NULL) + (size_t)(lang != NULL) || (type && !json_is_string(type)))
		return json_report_bad(r, "is not a value of PROV-JSON", NULL);
	if (!json_is_string(text) && !json_print_scalar(text, number, sizeof(number)))
		return json_report_bad(r, "has no value '$'", NULL);
	if (type) {
		int rc = json_expand_name(r, s, json_string_value(type), &t);
		if (rc < 0)
			return rc;
		/* Both names are about: the submission's, and that of XML Schema. */
		struct str iri = doc_str(r->d, t);
		if (json_is_string(text) && (str_is(iri, PROV_NS "QUALIFIED_NAME") || str_is(iri, XSD_NS "QName"))) {
			rc = json_expand_name(r, s, json_string_value(text), &value);
			return rc < 0 ? rc : doc_attr(r->d, name, value, r->w_qualified) ? 0 : json_report_full(r);
		}
		if (str_is(iri, XSD_NS "string"))
			t = 0;
	}
	if (json_is_string(text))
		return json_add_attribute(r, name, str_n(json_string_value(text), json_string_length(text)), t);
	return json_add_attribute(r, name, str_of(number), t);
}

/* Numbers and truth values get XSD's types. -EBADMSG, reported: a list or null. */
static int read_attribute_value(struct json_reader *r, const struct json_scope *s, uint32_t name, json_t *v)
{
	char number[40];
	const char *type = NULL;
	switch (json_typeof(v)) {
	case JSON_STRING:
		return json_add_attribute(r, name, str_n(json_string_value(v), json_string_length(v)), 0);
	case JSON_OBJECT:
		return read_typed_value(r, s, name, v);
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(v));
		type = XSD_NS "integer";
		break;
	case JSON_REAL:
		snprintf(number, sizeof(number), "%.17g", json_real_value(v));
		type = XSD_NS "double";
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		snprintf(number, sizeof(number), "%s", json_is_true(v) ? "true" : "false");
		type = XSD_NS "boolean";
		break;
	default:
		return json_report_bad(r, "is not a value of PROV-JSON", NULL);
	}
	return json_add_attribute(r, name, str_of(number), doc_intern(r->d, str_of(type)));
}

/* Reads an attribute. Each value of a list becomes an attribute of its own. 0, -errno with a sentence. */
static int read_json_attribute(struct json_reader *r, const struct json_scope *s, const char *key, json_t *v)
{
	uint32_t name;
	int rc = json_expand_name(r, s, key, &name);
	if (rc < 0 || !json_is_array(v))
		return rc < 0 ? rc : read_attribute_value(r, s, name, v);
	for (size_t i = 0; rc == 0 && i < json_array_size(v); i++) {
		size_t at = json_descend_index(r, i);
		rc = read_attribute_value(r, s, name, json_array_get(v, i));
		if (rc == 0)
			r->path.n = at;
	}
	return rc;
}

/* ---- statements ---- */

/* 0 and *ret in ns; -EBADMSG with a sentence. */
int json_read_time(struct json_reader *r, json_t *v, int64_t *ret)
{
	if (!json_is_string(v) || !doc_time(str_n(json_string_value(v), json_string_length(v)), ret))
		return json_report_bad(r, "is not a time:", json_is_string(v) ? json_string_value(v) : NULL);
	return 0;
}

/* The role that a key of a relation is, DOC_ARGS none. */
static unsigned find_role(enum doc_kind kind, const char *key)
{
	unsigned i = 0;
	if (strncmp(key, "prov:", 5) != 0)
		return DOC_ARGS;
	while (i < DOC_ARGS && (!doc_kinds[kind].arg[i].role || strcmp(doc_kinds[kind].arg[i].role, key + 5) != 0))
		i++;
	return i;
}

/* The name becomes argument `role` of statement st. -EBADMSG, reported: it is no text. */
static int read_argument(struct json_reader *r, const struct json_scope *s, size_t st, unsigned role, json_t *v)
{
	uint32_t word;
	if (!json_is_string(v))
		return json_report_bad(r, "is not a name", NULL);
	int rc = json_expand_name(r, s, json_string_value(v), &word);
	if (rc == 0)
		r->d->st.v[st].arg[role] = word;
	return rc;
}

/* Adds a statement with all that stands in body. -EBADMSG, reported, where a needed argument is missing; r->path says
 * where. */
static int read_json_statement(struct json_reader *r, const struct json_scope *s, enum doc_kind kind, uint32_t id,
                               json_t *body)
{
	const struct doc_kind_words *k = &doc_kinds[kind];
	const char *key;
	json_t *v;
	if (!json_is_object(body))
		return json_report_bad(r, "is not an object", NULL);
	uint32_t place = doc_intern(r->d, buf_view(&r->path));
	if (place == VEC_NONE || !doc_add(r->d, kind, place))
		return json_report_full(r);
	size_t st = r->d->st.n - 1;
	r->d->st.v[st].id = id;
	r->d->st.v[st].bundle = s->bundle;
	json_object_foreach(body, key, v)
	{
		size_t at = json_descend_key(r, key);
		unsigned role = find_role(kind, key);
		int rc;
		if (role < DOC_ARGS)
			rc = read_argument(r, s, st, role, v);
		else if ((k->times == 1 && strcmp(key, "prov:time") == 0) ||
		         (k->times == 2 && strcmp(key, "prov:startTime") == 0))
			rc = json_read_time(r, v, &r->d->st.v[st].start);
		else if (k->times == 2 && strcmp(key, "prov:endTime") == 0)
			rc = json_read_time(r, v, &r->d->st.v[st].end);
		else
			rc = read_json_attribute(r, s, key, v);
		if (rc < 0)
			return rc;
		r->path.n = at;
	}
	for (unsigned i = 0; i < k->need; i++)
		if (!r->d->st.v[st].arg[i])
			return json_report_bad(r, "lacks prov:", k->arg[i].role);
	return 0;
}

/* Reads all statements of one kind. all: an object of statements by their names; one name may have a list of them.
 * 0, -errno with a sentence. */
static int read_statement_section(struct json_reader *r, const struct json_scope *s, enum doc_kind kind, json_t *all)
{
	const char *key;
	json_t *body;
	if (!json_is_object(all))
		return json_report_bad(r, "is not an object", NULL);
	json_object_foreach(all, key, body)
	{
		uint32_t id;
		size_t at = json_descend_key(r, key);
		int rc = json_expand_name(r, s, key, &id);
		if (rc == 0 && !json_is_array(body))
			rc = read_json_statement(r, s, kind, id, body);
		for (size_t i = 0; rc == 0 && json_is_array(body) && i < json_array_size(body); i++) {
			size_t here = json_descend_index(r, i);
			rc = read_json_statement(r, s, kind, id, json_array_get(body, i));
			if (rc == 0)
				r->path.n = here;
		}
		if (rc < 0)
			return rc;
		r->path.n = at;
	}
	return 0;
}

static int read_json_document(struct json_reader *r, struct json_scope *s, json_t *all);

/* Reads the bundles of the document. 0, -errno with where in the document it is wrong. Bundles do not nest. */
static int read_bundles(struct json_reader *r, struct json_scope *s, json_t *all)
{
	const char *key;
	json_t *body;
	if (s->outer)
		return json_report_bad(r, "a bundle holds no bundles", NULL);
	if (!json_is_object(all))
		return json_report_bad(r, "is not an object", NULL);
	json_object_foreach(all, key, body)
	{
		struct json_scope inner = {.outer = s};
		size_t at = json_descend_key(r, key);
		int rc = json_expand_name(r, s, key, &inner.bundle);
		if (rc == 0)
			rc = read_json_document(r, &inner, body);
		if (rc < 0)
			return rc;
		r->path.n = at;
	}
	return 0;
}

/* s gets its prefixes. -EBADMSG, reported, for a section that PROV-JSON does not know; r->path says where. */
static int read_json_document(struct json_reader *r, struct json_scope *s, json_t *all)
{
	const char *key;
	json_t *v;
	int rc = 0;
	if (!json_is_object(all))
		return json_report_bad(r, "is not an object", NULL);
	if ((v = json_object_get(all, "prefix"))) {
		size_t at = json_descend_key(r, "prefix");
		if ((rc = check_prefixes(r, v)) < 0)
			return rc;
		r->path.n = at;
		s->prefixes = v;
	}
	json_object_foreach(all, key, v)
	{
		unsigned kind = 0;
		if (strcmp(key, "prefix") == 0)
			continue;
		size_t at = json_descend_key(r, key);
		while (kind < DOC_KINDS && strcmp(doc_kinds[kind].name, key) != 0)
			kind++;
		if (kind < DOC_KINDS)
			rc = read_statement_section(r, s, kind, v);
		else
			rc = strcmp(key, "bundle") == 0 ? read_bundles(r, s, v)
			                                : json_report_bad(r, "is not a section of PROV-JSON", NULL);
		if (rc < 0)
			return rc;
		r->path.n = at;
	}
	return 0;
}

int doc_read_json(struct doc *d, const char *name, const void *p, size_t n, struct err *err)
{
	struct json_reader r = {.d = d, .name = name, .err = err};
	json_error_t why;
	if (n > d->limits.bytes)
		return err_set(err, 0, "%s: the document is too large", name), -EFBIG;
	json_t *all = json_loadb(p, n, JSON_REJECT_DUPLICATES, &why);
	if (!all) {
		if (json_error_code(&why) == json_error_out_of_memory)
			return err_set(err, ENOMEM, "%s: cannot read the document", name);
		return err_set(err, 0, "%s:%d:%d: %s", name, why.line, why.column, why.text), -EBADMSG;
	}
	struct json_scope s = {.outer = NULL};
	d->pointers = true;
	r.w_qualified = doc_intern(d, str_of(PROV_NS "QUALIFIED_NAME"));
	bool linked = json_object_get(all, "@context") || json_object_get(all, "@graph");
	int rc = linked ? jsonld_read(&r, all) : read_json_document(&r, &s, all);
	json_decref(all);
	buf_release(&r.path);
	buf_release(&r.iri);
	return rc;
}
