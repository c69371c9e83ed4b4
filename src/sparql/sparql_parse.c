/* sparql_parse.c - words, terms, triples and paths of a query; the prologue and the forms. */
#include "sparql/sparql_parse_int.h"

#include "sparql/sparql_iri.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- errors, memory, words ---- */

/* The line and column of a place. Both from 1; at and columns in bytes. */
static void line_of(struct str text, size_t at, unsigned *ret_line, unsigned *ret_column)
{
	*ret_line = *ret_column = 1;
	for (size_t i = 0; i < at && i < text.n; i++) {
		const bool end = text.p[i] == '\n';
		*ret_line += end;
		*ret_column = end ? 1 : *ret_column + 1;
	}
}

void parse_fail(struct parser *p, int rc, const char *fmt, ...)
{
	char text[256];
	unsigned line, column;
	va_list ap;
	if (p->rc == 0) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		line_of(p->lexer.text, p->t.at, &line, &column);
		p->rc = rc;
		err_set(p->err, 0, "line %u, column %u: %s", line, column, text);
	}
	p->lexer.at = p->lexer.text.n;
	p->t = p->after = (struct sparql_token){.kind = TOKEN_END, .at = p->t.at};
}

void *parse_room(struct parser *p, size_t n)
{
	static _Thread_local char nowhere[4096];
	void *room = arena_take(&p->out->arena, n);
	if (!room) {
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
		room = nowhere;
		n = n < sizeof(nowhere) ? n : sizeof(nowhere);
	}
	memset(room, 0, n);
	return room;
}

void *parse_keep(struct parser *p, void *v, size_t bytes, size_t n, size_t *ret_n)
{
	void *kept = bytes ? arena_take(&p->out->arena, bytes) : NULL;
	if (bytes && !kept)
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
	if (kept)
		memcpy(kept, v, bytes);
	free(v);
	*ret_n = kept ? n : 0;
	return kept;
}

/* The parser looks one token ahead: p->after. After an error it stays where it is. */
void parse_next(struct parser *p)
{
	p->t = p->after;
	if (p->rc == 0 && p->t.kind != TOKEN_END)
		sparql_lex(&p->lexer, &p->after);
	if (p->t.kind == TOKEN_BAD)
		parse_fail(p, -EINVAL, "%s", p->lexer.bad ? p->lexer.bad : "no word of SPARQL");
}

/* Does not step over it. */
bool parse_is_sign(const struct parser *p, const char *sign)
{
	return p->t.kind == TOKEN_SIGN && str_is(p->t.text, sign);
}

/* Keywords are of any case. */
bool parse_is_word(const struct parser *p, const char *word)
{
	return p->t.kind == TOKEN_WORD && p->t.text.n == strlen(word) && !strncasecmp(p->t.text.p, word, p->t.text.n);
}

/* Steps over it if it stands there. */
bool parse_take_sign(struct parser *p, const char *sign)
{
	const bool is = parse_is_sign(p, sign);
	if (is)
		parse_next(p);
	return is;
}

/* Steps over it if it stands there. */
bool parse_take_word(struct parser *p, const char *word)
{
	const bool is = parse_is_word(p, word);
	if (is)
		parse_next(p);
	return is;
}

/* Fails: something else is expected here. wanted: with an article or in quotes. */
static void fail_at_word(struct parser *p, const char *wanted)
{
	if (p->t.kind == TOKEN_END)
		parse_fail(p, -EINVAL, "the query ends where %s is expected", wanted);
	else
		parse_fail(p, -EINVAL, "'%.*s' stands where %s is expected",
		           (int)(p->t.end - p->t.at < 40 ? p->t.end - p->t.at : 40), p->lexer.text.p + p->t.at, wanted);
}

/* Steps over it, or fails. */
void parse_want_sign(struct parser *p, const char *sign)
{
	char quoted[8];
	snprintf(quoted, sizeof(quoted), "'%s'", sign);
	if (!parse_take_sign(p, sign))
		fail_at_word(p, quoted);
}

/* Steps over it, or fails. */
void parse_want_word(struct parser *p, const char *word)
{
	if (!parse_take_word(p, word))
		fail_at_word(p, word);
}

bool parse_enter(struct parser *p)
{
	if (++p->depth <= PARSE_DEPTH)
		return true;
	parse_fail(p, -EINVAL, "more than %d levels inside each other", PARSE_DEPTH);
	return false;
}

/* Fails where the query has too many parts. */
void parse_count_node(struct parser *p)
{
	if (++p->nodes > PARSE_NODES)
		parse_fail(p, -EINVAL, "the query has more than %d parts", PARSE_NODES);
}

/* After a parse_enter that was true. */
void parse_leave(struct parser *p)
{
	p->depth--;
}

/* ---- variables and terms ---- */

uint32_t parse_var(struct parser *p, struct str name)
{
	for (size_t i = 0; i < p->out->vars.n; i++)
		if (name.n && str_eq(p->out->vars.v[i], name))
			return (uint32_t)i;
	struct str *slot = vec_add(&p->out->vars);
	if (!slot) {
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
		return 0;
	}
	*slot = name;
	return (uint32_t)(p->out->vars.n - 1);
}

/* A variable that the query cannot name; its number. */
uint32_t parse_hidden(struct parser *p)
{
	return parse_var(p, str_n("", 0));
}

/* A slot that is this term, no variable. */
static struct sparql_slot slot_term(rdf_id id)
{
	return (struct sparql_slot){.term = id};
}

/* A slot that is this variable. */
static struct sparql_slot slot_var(uint32_t var)
{
	return (struct sparql_slot){.is_var = true, .var = var};
}

/* Does not step over it. A prefixed name is one, too. */
bool parse_is_iri(const struct parser *p)
{
	return p->t.kind == TOKEN_IRI || p->t.kind == TOKEN_NAME;
}

/* Resolves an IRI relative to the query's base. In the arena. Empty if parsing failed. */
static struct str resolve(struct parser *p, struct str iri)
{
	struct buf b = {0};
	sparql_iri_resolve(p->base, iri, &b);
	char *room = parse_room(p, b.n + 1);
	const size_t n = p->rc ? 0 : b.n;
	if (n)
		memcpy(room, b.p, n);
	buf_release(&b);
	return str_n(room, n);
}

/* The last one that was declared. Empty, and parsing fails, if there is none. */
static struct str prefix_iri(struct parser *p, struct str name)
{
	for (size_t i = p->out->prefixes.n; i >= 2; i -= 2)
		if (str_eq(p->out->prefixes.v[i - 2], name))
			return p->out->prefixes.v[i - 1];
	parse_fail(p, -EINVAL, "the prefix '%.*s:' is not declared", (int)(name.n < 80 ? name.n : 80), name.p);
	return str_n("", 0);
}

rdf_id parse_iri(struct parser *p)
{
	struct str iri = {0};
	if (p->t.kind == TOKEN_IRI) {
		iri = resolve(p, p->t.text);
	} else if (p->t.kind == TOKEN_NAME) {
		const struct str space = prefix_iri(p, p->t.text);
		char *room = parse_room(p, space.n + p->t.more.n + 1);
		if (p->rc)
			return 0;
		memcpy(room, space.p, space.n);
		if (p->t.more.n)
			memcpy(room + space.n, p->t.more.p, p->t.more.n);
		iri = str_n(room, space.n + p->t.more.n);
	} else {
		fail_at_word(p, "an IRI");
		return 0;
	}
	const rdf_id id = rdf_iri(p->r, iri);
	parse_next(p);
	return id;
}

/* Is the token a number? */
static bool is_number(const struct sparql_token *t)
{
	return t->kind == TOKEN_INTEGER || t->kind == TOKEN_DECIMAL || t->kind == TOKEN_DOUBLE;
}

/* A sign, and a number directly behind it. */
static bool is_signed_number(const struct parser *p)
{
	return p->t.kind == TOKEN_SIGN && (str_is(p->t.text, "+") || str_is(p->t.text, "-")) && is_number(&p->after) &&
	       p->after.at == p->t.end;
}

/* Does not step over it. Signed numbers and true and false are some, too. */
bool parse_is_literal(const struct parser *p)
{
	return p->t.kind == TOKEN_STRING || is_number(&p->t) || is_signed_number(p) || parse_is_word(p, "true") ||
	       parse_is_word(p, "false");
}

/* With its sign. */
static rdf_id parse_number(struct parser *p)
{
	const size_t at = p->t.at;
	if (p->t.kind == TOKEN_SIGN)
		parse_next(p);
	const rdf_id type = p->t.kind == TOKEN_INTEGER   ? p->r->xsd_integer
	                    : p->t.kind == TOKEN_DECIMAL ? p->r->xsd_decimal
	                                                 : p->r->xsd_double;
	const rdf_id id = rdf_literal(p->r, str_n(p->lexer.text.p + at, p->t.end - at), type, str_n("", 0));
	parse_next(p);
	return id;
}

rdf_id parse_literal(struct parser *p)
{
	if (p->t.kind == TOKEN_WORD) {
		const rdf_id id =
		    rdf_literal(p->r, str_of(parse_is_word(p, "true") ? "true" : "false"), p->r->xsd_boolean, str_n("", 0));
		parse_next(p);
		return id;
	}
	if (p->t.kind != TOKEN_STRING)
		return parse_number(p);
	const struct str text = p->t.text;
	parse_next(p);
	if (p->t.kind == TOKEN_LANG) {
		const struct str lang = p->t.text;
		parse_next(p);
		return rdf_literal(p->r, text, 0, lang);
	}
	const rdf_id type = parse_take_sign(p, "^^") ? parse_iri(p) : 0;
	return rdf_literal(p->r, text, type, str_n("", 0));
}

struct sparql_slot parse_var_or_iri(struct parser *p)
{
	if (p->t.kind != TOKEN_VAR)
		return slot_term(parse_iri(p));
	const struct sparql_slot s = slot_var(parse_var(p, p->t.text));
	parse_next(p);
	return s;
}

/* ---- triples ---- */

/* A blank node of a pattern is a variable that nobody sees; of a template, a variable that is bound anew each time. */
static struct sparql_slot parse_blank(struct parser *p)
{
	const struct str name = p->t.text;
	for (size_t i = 0; i < p->labels.n; i++) {
		if (!str_eq(p->labels.v[i].name, name))
			continue;
		if (p->labels.v[i].scope != p->scope)
			parse_fail(p, -EINVAL, "the blank node '_:%.*s' is used in two groups of triples",
			           (int)(name.n < 80 ? name.n : 80), name.p);
		parse_next(p);
		return slot_var(p->labels.v[i].var);
	}
	struct parse_label *l = vec_add(&p->labels);
	const uint32_t var = parse_hidden(p);
	if (l)
		*l = (struct parse_label){name, var, p->scope};
	else
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
	parse_next(p);
	return slot_var(var);
}

/* path NULL: verb is the predicate. Without memory the parser fails. */
static void add_triple(struct parser *p, struct triple_list *v, struct sparql_slot s, struct sparql_slot verb,
                       const struct sparql_path *path, struct sparql_slot o)
{
	struct sparql_triple *t = vec_add(&v->v);
	if (t)
		*t = (struct sparql_triple){s, verb, o, path};
	else
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
}

static struct sparql_slot parse_node(struct parser *p, struct triple_list *v);
static bool parse_properties(struct parser *p, struct triple_list *v, struct sparql_slot s);

/* Behind its bracket: the triples of a list go to v. */
static struct sparql_slot parse_collection(struct parser *p, struct triple_list *v)
{
	if (parse_take_sign(p, ")"))
		return slot_term(p->r->rdf_nil);
	const struct sparql_slot first = slot_var(parse_hidden(p));
	struct sparql_slot at = first;
	for (;;) {
		const struct sparql_slot item = parse_node(p, v);
		add_triple(p, v, at, slot_term(p->r->rdf_first), NULL, item);
		if (p->rc || parse_is_sign(p, ")"))
			break;
		const struct sparql_slot next = slot_var(parse_hidden(p));
		add_triple(p, v, at, slot_term(p->r->rdf_rest), NULL, next);
		at = next;
	}
	add_triple(p, v, at, slot_term(p->r->rdf_rest), NULL, slot_term(p->r->rdf_nil));
	parse_want_sign(p, ")");
	return first;
}

/* Can a term begin here: a variable, IRI, literal or blank node? */
static bool is_term(const struct parser *p)
{
	return p->t.kind == TOKEN_VAR || p->t.kind == TOKEN_BLANK || parse_is_iri(p) || parse_is_literal(p);
}

/* A literal, a blank node, a variable or an IRI, else the parser fails. */
static struct sparql_slot parse_term(struct parser *p)
{
	if (p->t.kind == TOKEN_BLANK)
		return parse_blank(p);
	if (parse_is_literal(p))
		return slot_term(parse_literal(p));
	return parse_var_or_iri(p);
}

/* "[]", which needs the token after this one. */
static bool is_anonymous(const struct parser *p)
{
	return parse_is_sign(p, "[") && p->after.kind == TOKEN_SIGN && str_is(p->after.text, "]");
}

/* A term, a collection, or [ properties ]. */
static struct sparql_slot parse_node(struct parser *p, struct triple_list *v)
{
	struct sparql_slot s = {0};
	if (!parse_enter(p))
		return s;
	if (is_term(p)) {
		s = parse_term(p);
	} else if (parse_take_sign(p, "(")) {
		s = parse_collection(p, v);
	} else if (is_anonymous(p)) {
		parse_next(p);
		parse_next(p);
		s = slot_var(parse_hidden(p));
	} else if (parse_take_sign(p, "[")) {
		s = slot_var(parse_hidden(p));
		if (!parse_properties(p, v, s))
			fail_at_word(p, "a property");
		parse_want_sign(p, "]");
	} else {
		fail_at_word(p, "a term");
	}
	parse_leave(p);
	return s;
}

/* ---- paths ---- */

static struct sparql_path *parse_path(struct parser *p);

/* Lives as long as the query. a and b may be NULL. */
static struct sparql_path *new_path(struct parser *p, enum sparql_path_kind kind, const struct sparql_path *a,
                                    const struct sparql_path *b)
{
	struct sparql_path *x = parse_room(p, sizeof(*x));
	parse_count_node(p);
	x->kind = kind;
	x->a = a;
	x->b = b;
	return x;
}

/* "a" stands for rdf:type. Else as parse_iri. */
static rdf_id parse_iri_or_a(struct parser *p)
{
	if (p->t.kind == TOKEN_WORD && str_is(p->t.text, "a")) {
		parse_next(p);
		return p->r->rdf_type;
	}
	return parse_iri(p);
}

/* Behind !: one IRI, with or without ^, or several in brackets. */
static struct sparql_path *parse_negated(struct parser *p)
{
	VEC(rdf_id) v[2] = {{0}, {0}};
	struct sparql_path *x = new_path(p, PATH_NOT, NULL, NULL);
	const bool several = parse_take_sign(p, "(");
	bool any[2] = {several && parse_is_sign(p, ")"), false};
	while (!p->rc && !(several && parse_is_sign(p, ")"))) {
		const bool inverse = parse_take_sign(p, "^");
		const rdf_id id = parse_iri_or_a(p);
		rdf_id *slot = vec_add(&v[inverse]);
		any[inverse] = true;
		if (slot)
			*slot = id;
		if (!several || !parse_take_sign(p, "|"))
			break;
	}
	if (several)
		parse_want_sign(p, ")");
	x->any_forward = any[0];
	x->any_backward = any[1];
	x->not_forward = PARSE_KEEP(p, &v[0], &x->n_forward);
	x->not_backward = PARSE_KEEP(p, &v[1], &x->n_backward);
	return x;
}

/* One step of a path with what may stand behind it: *, +, ?. */
static struct sparql_path *parse_path_element(struct parser *p)
{
	struct sparql_path *x;
	if (parse_take_sign(p, "!")) {
		x = parse_negated(p);
	} else if (parse_take_sign(p, "(")) {
		x = parse_path(p);
		parse_want_sign(p, ")");
	} else {
		x = new_path(p, PATH_IRI, NULL, NULL);
		x->iri = parse_iri_or_a(p);
	}
	if (parse_take_sign(p, "*"))
		return new_path(p, PATH_STAR, x, NULL);
	if (parse_take_sign(p, "+"))
		return new_path(p, PATH_PLUS, x, NULL);
	return parse_take_sign(p, "?") ? new_path(p, PATH_OPTIONAL, x, NULL) : x;
}

/* Steps with "/" between, "^" before one that is taken backwards. */
static struct sparql_path *parse_path_sequence(struct parser *p)
{
	struct sparql_path *x = NULL;
	do {
		const bool inverse = parse_take_sign(p, "^");
		struct sparql_path *e = parse_path_element(p);
		e = inverse ? new_path(p, PATH_INVERSE, e, NULL) : e;
		x = x ? new_path(p, PATH_SEQUENCE, x, e) : e;
	} while (parse_take_sign(p, "/"));
	return x;
}

/* Parses a property path. Also if parsing failed; never NULL. */
static struct sparql_path *parse_path(struct parser *p)
{
	struct sparql_path *x = NULL;
	if (!parse_enter(p))
		return new_path(p, PATH_IRI, NULL, NULL);
	do {
		struct sparql_path *e = parse_path_sequence(p);
		x = x ? new_path(p, PATH_ALTERNATIVE, x, e) : e;
	} while (parse_take_sign(p, "|"));
	parse_leave(p);
	return x;
}

/* In a template no paths. */
static bool is_verb(const struct parser *p)
{
	if (p->t.kind == TOKEN_VAR || parse_is_iri(p) || (p->t.kind == TOKEN_WORD && str_is(p->t.text, "a")))
		return true;
	return !p->in_template && (parse_is_sign(p, "^") || parse_is_sign(p, "!") || parse_is_sign(p, "("));
}

/* Parses what stands for a predicate. *ret_path: a path that is no single IRI; NULL: the slot is what is returned. */
static struct sparql_slot parse_verb(struct parser *p, const struct sparql_path **ret_path)
{
	*ret_path = NULL;
	if (p->t.kind == TOKEN_VAR)
		return parse_var_or_iri(p);
	if (p->in_template)
		return slot_term(parse_iri_or_a(p));
	const struct sparql_path *path = parse_path(p);
	if (path->kind == PATH_IRI)
		return slot_term(path->iri);
	*ret_path = path;
	return (struct sparql_slot){0};
}

/* Verbs and objects of one subject. False: there are none. */
static bool parse_properties(struct parser *p, struct triple_list *v, struct sparql_slot s)
{
	if (!is_verb(p))
		return false;
	do {
		const struct sparql_path *path;
		if (!is_verb(p)) /* ; may stand twice, and at the end */
			continue;
		const struct sparql_slot verb = parse_verb(p, &path);
		do
			add_triple(p, v, s, verb, path, parse_node(p, v));
		while (parse_take_sign(p, ","));
	} while (parse_take_sign(p, ";"));
	return true;
}

/* What a triple can begin with, "(...)" and "[...]" too. */
static bool is_subject(const struct parser *p)
{
	return is_term(p) || parse_is_sign(p, "(") || parse_is_sign(p, "[");
}

void parse_triples(struct parser *p, struct triple_list *v)
{
	while (!p->rc && is_subject(p)) {
		const bool plain = is_term(p) || is_anonymous(p) ||
		                   (parse_is_sign(p, "(") && p->after.kind == TOKEN_SIGN && str_is(p->after.text, ")"));
		const struct sparql_slot s = parse_node(p, v);
		if (!parse_properties(p, v, s) && plain)
			fail_at_word(p, "a property");
		if (!parse_take_sign(p, "."))
			break;
	}
}

/* They live as long as the query. */
struct sparql_triple *parse_keep_triples(struct parser *p, struct triple_list *v, size_t *ret_n)
{
	return PARSE_KEEP(p, &v->v, ret_n);
}

/* ---- the whole ---- */

/* Points into the query. */
static void add_prefix(struct parser *p, struct str name, struct str iri)
{
	if (!vec_room(&p->out->prefixes, 2)) {
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
		return;
	}
	p->out->prefixes.v[p->out->prefixes.n++] = name;
	p->out->prefixes.v[p->out->prefixes.n++] = iri;
}

/* BASE and PREFIX, as many as there are. */
static void parse_prologue(struct parser *p)
{
	while (!p->rc) {
		const bool base = parse_take_word(p, "BASE");
		if (!base && !parse_take_word(p, "PREFIX"))
			return;
		struct str name = p->t.text;
		if (!base && (p->t.kind != TOKEN_NAME || p->t.more.n))
			parse_fail(p, -EINVAL, "a prefix is declared as NAME: <IRI>");
		if (!base)
			parse_next(p);
		if (p->t.kind != TOKEN_IRI)
			fail_at_word(p, "an IRI");
		const struct str iri = resolve(p, p->t.text);
		parse_next(p);
		if (base)
			p->base = iri;
		else
			add_prefix(p, name, iri);
	}
}

int sparql_parse(struct rdf *r, struct str text, const char *base, const char *const (*prefixes)[2], size_t n_prefixes,
                 struct err *err, struct sparql *ret)
{
	*ret = (struct sparql){0};
	struct parser p = {.r = r, .out = ret, .err = err, .base = str_of(base)};
	p.lexer.arena = &ret->arena;
	if (!sparql_unescape_unicode(&ret->arena, text, &p.lexer.text))
		parse_fail(&p, -EINVAL, "an escape is not a character");
	for (size_t i = 0; i < n_prefixes; i++)
		add_prefix(&p, str_of(prefixes[i][0]), str_of(prefixes[i][1]));
	if (!p.rc) {
		sparql_lex(&p.lexer, &p.after);
		parse_next(&p);
	}
	parse_prologue(&p);
	ret->query = parse_form(&p);
	char *kept = parse_room(&p, p.base.n + 1); /* the caller's may not live as long */
	if (!p.rc && p.base.n)
		memcpy(kept, p.base.p, p.base.n);
	ret->base = str_n(kept, p.rc ? 0 : p.base.n);
	if (!p.rc && p.t.kind != TOKEN_END)
		fail_at_word(&p, "the end of the query");
	vec_release(&p.labels);
	if (!p.rc && r->failed)
		p.rc = -ENOMEM;
	if (p.rc)
		sparql_release(ret);
	return p.rc;
}

/* q is empty then. What it made of terms stays. */
void sparql_release(struct sparql *q)
{
	arena_release(&q->arena);
	vec_release(&q->vars);
	vec_release(&q->prefixes);
	*q = (struct sparql){0};
}
