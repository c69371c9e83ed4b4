/* read_provn.c - PROV-N (W3C recommendation, 2013) to a document.
 *
 * One pass over the text, one statement at a time; nothing nests but the statements of a bundle in it, so no depth is
 * to be bounded. Memory: the prefixes besides the document. Everything that is not as the recommendation has it is an
 * error at its line. Extensions (a statement with a prefix) are not taken. */
#include "base/hash.h"
#include "import/doc.h"

#include <errno.h>
#include <stdio.h>

#define INTEGER_MAX 64 /* digits of a number without quotes */

struct provn_prefix {
	uint32_t name, iri; /* words */
	uint32_t bundle;    /* where it was declared */
};

struct provn {
	struct doc *d;
	const char *name;
	struct err *err;
	const char *p, *end;
	uint32_t line;
	uint32_t bundle;
	struct map by_name; /* hash of bundle and prefix -> prefixes */
	VEC(struct provn_prefix) prefixes;
	struct buf text, iri; /* what was read last */
	uint32_t w_qualified;
};

/* ---- errors ---- */

/* Reports what is wrong with the document. -EBADMSG, with the line and up to 40 characters of what stands there. */
static int report_bad_provn(struct provn *n, const char *what)
{
	const char *line = memchr(n->p, '\n', (size_t)(n->end - n->p));
	size_t rest = (size_t)((line ? line : n->end) - n->p);
	return err_set(n->err, 0, "%s:%u: %s%s%.*s%s", n->name, n->line, what, rest ? ", at '" : ", at the end",
	               (int)(rest < 40 ? rest : 40), n->p, rest ? "'" : ""),
	       -EBADMSG;
}

/* Reports that the document is too large, or that there is no memory. -EFBIG where a limit is met, else -ENOMEM. */
static int report_provn_full(struct provn *n)
{
	const struct doc *d = n->d;
	bool limit = d->st.n >= d->limits.statements || d->attrs.n >= d->limits.attributes;
	return err_set(n->err, limit ? 0 : ENOMEM, "%s:%u: %s", n->name, n->line,
	               limit ? "the document is too large" : "cannot read the document"),
	       limit ? -EFBIG : -ENOMEM;
}

/* ---- words ---- */

/* Is it white space? */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Counts the line. There must be a character. */
static void step_over(struct provn *n)
{
	n->line += *n->p == '\n';
	n->p++;
}

/* Does what is left begin so? Also false where less is left. */
static bool begins_with(const struct provn *n, const char *what)
{
	size_t k = strlen(what);
	return (size_t)(n->end - n->p) >= k && memcmp(n->p, what, k) == 0;
}

/* Blanks and comments. */
static void skip_space(struct provn *n)
{
	while (n->p < n->end) {
		if (is_blank(*n->p)) {
			step_over(n);
		} else if (begins_with(n, "//")) {
			while (n->p < n->end && *n->p != '\n')
				n->p++;
		} else if (begins_with(n, "/*")) {
			for (n->p += 2; n->p < n->end && !begins_with(n, "*/");)
				step_over(n);
			n->p += n->p < n->end ? 2 : 0;
		} else {
			return;
		}
	}
}

/* Steps over spaces and the mark; false: another stands there, and only spaces are passed. */
static bool accept_mark(struct provn *n, char c)
{
	skip_space(n);
	if (n->p == n->end || *n->p != c)
		return false;
	n->p++;
	return true;
}

/* Reads a mark, such as a comma. 0, -EBADMSG with a sentence. */
static int expect_mark(struct provn *n, char c)
{
	char what[16];
	snprintf(what, sizeof(what), "no '%c'", c);
	return accept_mark(n, c) ? 0 : report_bad_provn(n, what);
}

/* A word of the notation itself, that ends there. */
static bool accept_word(struct provn *n, const char *word)
{
	skip_space(n);
	const char *after = n->p + strlen(word);
	if (!begins_with(n, word) || (after < n->end && !is_blank(*after) && !strchr("(</", *after)))
		return false;
	n->p = after;
	return true;
}

/* What can stand in a qualified name as it is; other characters have a backslash before them. */
static bool is_provn_name_char(char c)
{
	return !is_blank(c) && !strchr("()[]{}<>,;='\"\\", c);
}

/* A name as it stands there, in n->text; false: there is none. */
static bool read_bare_name(struct provn *n)
{
	buf_reset(&n->text);
	skip_space(n);
	while (n->p < n->end && *n->p && (is_provn_name_char(*n->p) || (*n->p == '\\' && n->end - n->p > 1))) {
		n->p += *n->p == '\\';
		buf_char(&n->text, *n->p);
		step_over(n);
	}
	return n->text.n != 0;
}

/* ---- names ---- */

/* Prefixes hold in their bundle only. */
static uint64_t prefix_key(uint32_t bundle, struct str name)
{
	return hash_mix(hash_str(name), bundle);
}

/* Finds a prefix that the bundle declares. NULL: the bundle does not declare it. */
static const struct provn_prefix *find_provn_prefix(const struct provn *n, uint32_t bundle, struct str name)
{
	uint32_t i = map_get(&n->by_name, prefix_key(bundle, name));
	const struct provn_prefix *p = i == VEC_NONE ? NULL : &n->prefixes.v[i];
	return p && p->bundle == bundle && str_eq(doc_str(n->d, p->name), name) ? p : NULL;
}

/* The namespace of a prefix ("": the default one), a bundle's own before the document's. p NULL: there is none. */
static struct str find_namespace(const struct provn *n, struct str name)
{
	const struct provn_prefix *p = find_provn_prefix(n, n->bundle, name);
	if (!p && n->bundle)
		p = find_provn_prefix(n, 0, name);
	if (p)
		return doc_str(n->d, p->iri);
	return str_is(name, "prov") ? str_of(PROV_NS) : str_is(name, "xsd") ? str_of(XSD_NS) : (struct str){NULL, 0};
}

/* A qualified name, as it stands in n->text, as a whole IRI. Also n->iri. -EBADMSG, reported, for a prefix that is not
 * declared in this bundle or around it. */
static int expand_provn_name(struct provn *n, uint32_t *ret)
{
	struct str text = buf_view(&n->text);
	const char *colon = memchr(text.p, ':', text.n);
	struct str prefix = str_n(text.p, colon ? (size_t)(colon - text.p) : 0),
	           local = str_n(text.p + (colon ? prefix.n + 1 : 0), text.n - (colon ? prefix.n + 1 : 0));
	buf_reset(&n->iri);
	if (colon && str_is(prefix, "_")) {
		buf_str(&n->iri, text);
	} else {
		struct str ns = find_namespace(n, prefix);
		if (!ns.p)
			return report_bad_provn(n, colon ? "a name whose prefix is not declared"
			                                 : "a name without a prefix, and no default namespace");
		buf_str(&n->iri, ns);
		buf_str(&n->iri, local);
	}
	*ret = n->iri.failed || n->text.failed ? VEC_NONE : doc_intern(n->d, buf_view(&n->iri));
	return *ret == VEC_NONE ? report_provn_full(n) : 0;
}

/* Reads a name and expands its prefix. 0, negative with a sentence. */
static int read_provn_name(struct provn *n, uint32_t *ret)
{
	return read_bare_name(n) ? expand_provn_name(n, ret) : report_bad_provn(n, "no name");
}

/* <...>, in n->iri. 0, -errno with a sentence. */
static int read_provn_iri(struct provn *n)
{
	int rc = expect_mark(n, '<');
	buf_reset(&n->iri);
	while (rc == 0 && n->p < n->end && *n->p != '>' && !is_blank(*n->p))
		buf_char(&n->iri, *n->p++);
	return rc < 0 ? rc : expect_mark(n, '>');
}

/* Valid in the bundle that is being read. Uses n->text and n->iri. 0, -errno with a sentence. */
static int declare_prefix(struct provn *n, bool is_default)
{
	struct provn_prefix p = {.bundle = n->bundle};
	if (!is_default && !read_bare_name(n))
		return report_bad_provn(n, "no prefix");
	if (is_default)
		buf_reset(&n->text);
	p.name = n->text.failed ? VEC_NONE : doc_intern(n->d, buf_view(&n->text));
	int rc = read_provn_iri(n);
	if (rc < 0)
		return rc;
	p.iri = n->iri.failed ? VEC_NONE : doc_intern(n->d, buf_view(&n->iri));
	struct provn_prefix *to = p.name == VEC_NONE || p.iri == VEC_NONE ? NULL : vec_add(&n->prefixes);
	if (!to || !map_set(&n->by_name, prefix_key(n->bundle, doc_str(n->d, p.name)), (uint32_t)(n->prefixes.n - 1)))
		return report_provn_full(n);
	*to = p;
	return 0;
}

/* Prefixes, until something else comes. 0, -errno with a sentence. */
static int read_declarations(struct provn *n)
{
	int rc = 0;
	while (rc == 0) {
		if (accept_word(n, "prefix"))
			rc = declare_prefix(n, false);
		else if (accept_word(n, "default"))
			rc = declare_prefix(n, true);
		else
			break;
	}
	return rc;
}

/* ---- attributes ---- */

/* Appends what an escape stands for. False: there is no such escape. */
static bool put_escape(struct buf *b, char c)
{
	static const char from[] = "tbnrf\"'\\", to[] = "\t\b\n\r\f\"'\\";
	const char *at = c ? strchr(from, c) : NULL;
	if (at)
		buf_char(b, to[at - from]);
	return at != NULL;
}

/* "..." or """...""", without what stands around it, in n->text. 0, -errno with a sentence. */
static int read_provn_string(struct provn *n)
{
	const bool is_long = begins_with(n, "\"\"\"");
	buf_reset(&n->text);
	for (n->p += is_long ? 3 : 1; n->p < n->end && !(is_long ? begins_with(n, "\"\"\"") : *n->p == '"');) {
		if (*n->p == '\n' && !is_long)
			return report_bad_provn(n, "a string that does not end on its line");
		if (*n->p != '\\') {
			buf_char(&n->text, *n->p);
		} else if (n->end - n->p < 2 || !put_escape(&n->text, n->p[1])) {
			return report_bad_provn(n, "an escape that PROV-N does not know");
		} else {
			n->p++;
		}
		step_over(n);
	}
	if (n->p == n->end)
		return report_bad_provn(n, "a string without an end");
	n->p += is_long ? 3 : 1;
	return 0;
}

/* value and type are words; type 0: none. 0, negative with a sentence. */
static int add_provn_attribute(struct provn *n, uint32_t name, uint32_t value, uint32_t type)
{
	return doc_attr(n->d, name, value, type) ? 0 : report_provn_full(n);
}

/* 'name'. 0, -errno with a sentence. */
static int read_quoted_name(struct provn *n, uint32_t name)
{
	uint32_t value;
	n->p++;
	int rc = read_provn_name(n, &value);
	if (rc == 0)
		rc = expect_mark(n, '\'');
	return rc < 0 ? rc : add_provn_attribute(n, name, value, n->w_qualified);
}

/* Reads the type of a literal behind a string: its type. *ret: 0 it is a text; *ret_name: its value is a name. 0,
 * negative with a sentence. */
static int read_literal_type(struct provn *n, uint32_t *ret, bool *ret_name)
{
	struct buf kept = n->text; /* the value; the type's name takes its place for a moment */
	*ret = 0;
	*ret_name = false;
	skip_space(n);
	if (begins_with(n, "@")) { /* a language */
		while (n->p < n->end && !is_blank(*n->p) && *n->p != ',' && *n->p != ']')
			n->p++;
		return 0;
	}
	if (!begins_with(n, "%%"))
		return 0;
	n->p += 2;
	n->text = (struct buf){0};
	int rc = read_provn_name(n, ret);
	buf_release(&n->text);
	n->text = kept;
	if (rc < 0)
		return rc;
	struct str type = doc_str(n->d, *ret);
	*ret_name = str_is(type, PROV_NS "QUALIFIED_NAME") || str_is(type, XSD_NS "QName");
	if (str_is(type, XSD_NS "string"))
		*ret = 0;
	return 0;
}

/* A string with its type, added as an attribute. -EBADMSG, reported. */
static int read_literal(struct provn *n, uint32_t name)
{
	uint32_t type = 0, value;
	bool is_name = false;
	int rc = read_provn_string(n);
	if (rc == 0)
		rc = read_literal_type(n, &type, &is_name);
	if (rc < 0)
		return rc;
	if (is_name) {
		rc = expand_provn_name(n, &value);
		return rc < 0 ? rc : add_provn_attribute(n, name, value, n->w_qualified);
	}
	value = n->text.failed ? VEC_NONE : doc_intern(n->d, buf_view(&n->text));
	return add_provn_attribute(n, name, value, type);
}

/* An integer, added as an attribute. -EBADMSG, reported: no digit. */
static int read_provn_number(struct provn *n, uint32_t name)
{
	const char *from = n->p;
	n->p += *n->p == '-';
	while (n->p < n->end && *n->p >= '0' && *n->p <= '9' && n->p - from < INTEGER_MAX)
		n->p++;
	if (n->p == from || n->p[-1] == '-')
		return report_bad_provn(n, "no value");
	uint32_t value = doc_intern(n->d, str_n(from, (size_t)(n->p - from)));
	return add_provn_attribute(n, name, value, doc_intern(n->d, str_of(XSD_NS "integer")));
}

/* [name=value, ...], behind its bracket. 0, -errno with a sentence. */
static int read_attributes(struct provn *n)
{
	if (accept_mark(n, ']'))
		return 0;
	for (;;) {
		uint32_t name;
		int rc = read_provn_name(n, &name);
		if (rc == 0)
			rc = expect_mark(n, '=');
		if (rc < 0)
			return rc;
		skip_space(n);
		if (begins_with(n, "\""))
			rc = read_literal(n, name);
		else
			rc = begins_with(n, "'") ? read_quoted_name(n, name)
			     : n->p < n->end     ? read_provn_number(n, name)
			                         : report_bad_provn(n, "no value");
		if (rc < 0)
			return rc;
		if (accept_mark(n, ']'))
			return 0;
		if ((rc = expect_mark(n, ',')) < 0)
			return rc;
	}
}

/* ---- statements ---- */

/* The kind of statement of that name. DOC_KINDS: it is none. */
static enum doc_kind find_provn_kind(struct str word)
{
	for (unsigned k = 0; k < DOC_KINDS; k++)
		if (str_is(word, doc_kinds[k].name))
			return k;
	return DOC_KINDS;
}

/* How many arguments a statement of the kind can have. */
static unsigned count_arguments(enum doc_kind kind)
{
	unsigned i = 0;
	while (i < DOC_ARGS && doc_kinds[kind].arg[i].role)
		i++;
	return i;
}

/* The nth thing between the brackets: a name, a time, or - for none. -EBADMSG, reported, where there are too many, or a
 * time is none. */
static int take_argument(struct provn *n, size_t st, unsigned nth)
{
	const enum doc_kind kind = n->d->st.v[st].kind;
	const unsigned names = count_arguments(kind), times = doc_kinds[kind].times;
	uint32_t word;
	if (nth >= names + times)
		return report_bad_provn(n, "more than the statement has room for");
	if (!read_bare_name(n))
		return report_bad_provn(n, "no name");
	if (str_is(buf_view(&n->text), "-"))
		return 0;
	if (nth >= names) {
		struct doc_statement *to = &n->d->st.v[st];
		return doc_time(buf_view(&n->text), nth == names ? &to->start : &to->end)
		           ? 0
		           : report_bad_provn(n, "no time before this");
	}
	int rc = expand_provn_name(n, &word);
	if (rc == 0)
		n->d->st.v[st].arg[nth] = word;
	return rc;
}

/* The name of the statement: an element's comes first; a relation's may, and a semicolon stands behind it. *ret_more:
 * an argument may follow at once, without a comma. Goes back to where it was where the relation has no name. 0, -errno
 * with a sentence. */
static int read_statement_id(struct provn *n, size_t st, bool element, bool *ret_more)
{
	const char *p = n->p;
	const uint32_t line = n->line;
	uint32_t id = 0;
	*ret_more = true;
	bool named = read_bare_name(n);
	bool none = named && str_is(buf_view(&n->text), "-");
	if (element) {
		int rc = named && !none ? expand_provn_name(n, &n->d->st.v[st].id) : report_bad_provn(n, "no name");
		*ret_more = false;
		return rc;
	}
	if (!named || !accept_mark(n, ';')) {
		n->p = p;
		n->line = line;
		return 0;
	}
	int rc = none ? 0 : expand_provn_name(n, &id);
	n->d->st.v[st].id = id;
	return rc;
}

/* Reads a statement behind its name: everything between the brackets. Adds the statement; -EBADMSG, reported, where
 * a needed argument is missing. */
static int read_provn_statement(struct provn *n, enum doc_kind kind, uint32_t line)
{
	bool first;
	int rc = expect_mark(n, '(');
	if (rc < 0)
		return rc;
	if (!doc_add(n->d, kind, line))
		return report_provn_full(n);
	const size_t st = n->d->st.n - 1;
	n->d->st.v[st].bundle = n->bundle;
	rc = read_statement_id(n, st, kind <= DOC_agent, &first);
	for (unsigned nth = 0; rc == 0 && !accept_mark(n, ')'); first = false) {
		if (!first && (rc = expect_mark(n, ',')) < 0)
			return rc;
		if (accept_mark(n, '[')) {
			rc = read_attributes(n);
			rc = rc < 0 ? rc : expect_mark(n, ')');
			break;
		}
		rc = take_argument(n, st, nth++);
	}
	for (unsigned i = 0; rc == 0 && i < doc_kinds[kind].need; i++)
		if (!n->d->st.v[st].arg[i])
			rc = report_bad_provn(n, "the statement before this lacks a name");
	return rc;
}

/* Reads statements. All statements up to that word. 0, -errno with a sentence. */
static int read_statements(struct provn *n, const char *last)
{
	int rc = 0;
	while (rc == 0 && !accept_word(n, last)) {
		if (!n->bundle && accept_word(n, "bundle")) {
			uint32_t bundle;
			rc = read_provn_name(n, &bundle);
			n->bundle = rc == 0 ? bundle : 0;
			rc = rc < 0 ? rc : read_declarations(n);
			rc = rc < 0 ? rc : read_statements(n, "endBundle"); /* which holds no bundle */
			n->bundle = 0;
			continue;
		}
		skip_space(n);
		const uint32_t line = n->line;
		enum doc_kind kind = read_bare_name(n) ? find_provn_kind(buf_view(&n->text)) : DOC_KINDS;
		rc = kind == DOC_KINDS ? report_bad_provn(n, "no statement of PROV") : read_provn_statement(n, kind, line);
	}
	return rc;
}

bool doc_is_provn(const void *p, size_t size)
{
	struct provn n = {.p = p, .end = (const char *)p + size};
	return accept_word(&n, "document");
}

int doc_read_provn(struct doc *d, const char *name, const void *p, size_t size, struct err *err)
{
	struct provn n = {.d = d, .name = name, .err = err, .p = p, .end = (const char *)p + size, .line = 1};
	if (size > d->limits.bytes)
		return err_set(err, 0, "%s: the document is too large", name), -EFBIG;
	n.w_qualified = doc_intern(d, str_of(PROV_NS "QUALIFIED_NAME"));
	int rc = accept_word(&n, "document") ? read_declarations(&n) : report_bad_provn(&n, "no document of PROV-N");
	if (rc == 0)
		rc = read_statements(&n, "endDocument");
	skip_space(&n);
	if (rc == 0 && n.p != n.end)
		rc = report_bad_provn(&n, "something behind the document");
	map_release(&n.by_name);
	vec_release(&n.prefixes);
	buf_release(&n.text);
	buf_release(&n.iri);
	return rc;
}
