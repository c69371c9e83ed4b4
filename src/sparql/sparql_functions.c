/* sparql_functions.c - the functions (SPARQL 1.1, 17.4). */
#include "sparql/sparql_functions.h"

#include "base/buf.h"
#include "base/hex.h"
#include "sparql/sparql_eval_int.h"
#include "sparql/sparql_iri.h"
#include "sparql/sparql_lex.h"
#include "sparql/sparql_regex.h"
#include "sparql/sparql_value.h"

#include <locale.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <wctype.h>

/* A call with its arguments' values; errors are 0. */
struct call {
	struct evaluation *e;
	struct rdf *r;
	const struct sparql_expr *x;
	const rdf_id *row;
	rdf_id g;
	rdf_id a, b, c; /* the first three; 0 where there are none */
};

/* The term with that number. */
static const struct rdf_term *term_of(const struct call *c, rdf_id id)
{
	return rdf_term(c->r, id);
}

/* A string literal: simple, or with a language. */
static bool is_string(const struct call *c, rdf_id id)
{
	const struct rdf_term *t = term_of(c, id);
	return t->kind == RDF_LITERAL && (t->type == c->r->xsd_string || t->lang.n);
}

/* A plain string, without a language. */
static bool is_simple(const struct call *c, rdf_id id)
{
	return term_of(c, id)->kind == RDF_LITERAL && term_of(c, id)->type == c->r->xsd_string;
}

/* A plain string; its number, 0 without memory. */
static rdf_id make_text(const struct call *c, struct str s)
{
	return rdf_literal(c->r, s, 0, str_n("", 0));
}

/* A text of the same kind as another one. */
static rdf_id make_like(const struct call *c, struct str s, rdf_id like)
{
	return rdf_literal(c->r, s, 0, term_of(c, like)->lang);
}

/* Frees b. like: the text gets its language or type; 0: a plain one. 0: no memory. */
static rdf_id make_buf(const struct call *c, struct buf *b, rdf_id like)
{
	const rdf_id id = b->failed ? 0 : like ? make_like(c, buf_view(b), like) : make_text(c, buf_view(b));
	buf_release(b);
	return id;
}

/* ---- about terms ---- */

/* STR: the text of an IRI or literal; 0 for a blank node. */
static rdf_id call_str(const struct call *c)
{
	const struct rdf_term *t = term_of(c, c->a);
	return t->kind == RDF_IRI || t->kind == RDF_LITERAL ? make_text(c, t->text) : 0;
}

/* LANG: "" for a literal without a language; 0 for what is no literal. */
static rdf_id call_lang(const struct call *c)
{
	const struct rdf_term *t = term_of(c, c->a);
	return t->kind == RDF_LITERAL ? make_text(c, t->lang) : 0;
}

/* SPARQL's langMatches; 0: an error. */
static rdf_id call_langmatches(const struct call *c)
{
	const struct str tag = term_of(c, c->a)->text, range = term_of(c, c->b)->text;
	if (!is_simple(c, c->a) || !is_simple(c, c->b))
		return 0;
	if (str_is(range, "*"))
		return eval_bool(c->e, tag.n != 0);
	const bool is = tag.n >= range.n && range.n && !strncasecmp(tag.p, range.p, range.n) &&
	                (tag.n == range.n || tag.p[range.n] == '-');
	return eval_bool(c->e, is);
}

/* DATATYPE: 0 for what is no literal. */
static rdf_id call_datatype(const struct call *c)
{
	return term_of(c, c->a)->kind == RDF_LITERAL ? term_of(c, c->a)->type : 0;
}

/* IRI: an IRI of a text, relative to the query's base. 0: an error. So all call_ functions. */
static rdf_id call_iri(const struct call *c)
{
	const struct rdf_term *t = term_of(c, c->a);
	struct buf b = {0};
	if (t->kind == RDF_IRI)
		return c->a;
	if (!is_simple(c, c->a))
		return 0;
	sparql_iri_resolve(c->e->q->base, t->text, &b);
	const rdf_id id = b.failed ? 0 : rdf_iri(c->r, buf_view(&b));
	buf_release(&b);
	return id;
}

/* Those of one label are one node within a solution. */
static rdf_id call_bnode(const struct call *c)
{
	if (!c->x->n)
		return rdf_new_blank(c->r);
	if (!c->a || !is_simple(c, c->a))
		return 0;
	for (size_t i = 0; i < c->e->blanks.n; i++)
		if (c->e->blanks.v[i].label == c->a)
			return c->e->blanks.v[i].node;
	struct rows_blank *slot = vec_add(&c->e->blanks);
	if (slot)
		*slot = (struct rows_blank){c->a, rdf_new_blank(c->r)};
	return slot ? slot->node : 0;
}

/* STRLANG: both must be plain strings, else 0. */
static rdf_id call_strlang(const struct call *c)
{
	if (!is_simple(c, c->a) || !is_simple(c, c->b))
		return 0;
	return rdf_literal(c->r, term_of(c, c->a)->text, 0, term_of(c, c->b)->text);
}

/* STRDT: a plain string and an IRI, else 0. */
static rdf_id call_strdt(const struct call *c)
{
	if (!is_simple(c, c->a) || term_of(c, c->b)->kind != RDF_IRI)
		return 0;
	return rdf_literal(c->r, term_of(c, c->a)->text, c->b, str_n("", 0));
}

/* isIRI, isBlank and isLiteral. */
static rdf_id call_is(const struct call *c, enum rdf_kind kind)
{
	return eval_bool(c->e, term_of(c, c->a)->kind == kind);
}

/* A number by its type and its text: "x"^^xsd:integer is none. */
static rdf_id call_isnumeric(const struct call *c)
{
	const struct sparql_value v = sparql_value_of(c->r, c->a);
	return eval_bool(c->e, sparql_is_number(&v));
}

/* ---- strings ---- */

/* Two strings that go together: the second is simple, or has the language of the first. */
static bool go_together(const struct call *c)
{
	return is_string(c, c->a) && is_string(c, c->b) &&
	       (is_simple(c, c->b) || str_eq(term_of(c, c->a)->lang, term_of(c, c->b)->lang));
}

/* The place of `what` in s; SIZE_MAX: not in it. */
static size_t find_in(struct str s, struct str what)
{
	const char *at = what.n ? memmem(s.p, s.n, what.p, what.n) : s.p;
	return at ? (size_t)(at - s.p) : SIZE_MAX;
}

/* CONTAINS, STRSTARTS or STRENDS; 0: an error, as of arguments that do not go together. */
static rdf_id call_compare(const struct call *c, unsigned f)
{
	const struct str s = term_of(c, c->a)->text, t = term_of(c, c->b)->text;
	if (!go_together(c))
		return 0;
	return eval_bool(c->e, f == FUNCTION_contains    ? find_in(s, t) != SIZE_MAX
	                       : f == FUNCTION_strstarts ? str_starts(s, t)
	                                                 : str_ends(s, t));
}

/* STRBEFORE or STRAFTER; a plain empty text where b is not in a. 0: an error. */
static rdf_id call_cut(const struct call *c, bool before)
{
	const struct str s = term_of(c, c->a)->text, t = term_of(c, c->b)->text;
	if (!go_together(c))
		return 0;
	const size_t at = find_in(s, t);
	if (at == SIZE_MAX)
		return make_text(c, str_n("", 0));
	return make_like(c, before ? str_n(s.p, at) : str_n(s.p + at + t.n, s.n - at - t.n), c->a);
}

/* A byte within a character of UTF-8, not its first. */
static bool is_continued(char ch)
{
	return ((unsigned char)ch & 0xc0) == 0x80;
}

/* Of UTF-8: bytes that begin one. */
static size_t count_characters(struct str s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		n += !is_continued(s.p[i]);
	return n;
}

/* STRLEN: in characters; 0 (an error) for what is no string. */
static rdf_id call_strlen(const struct call *c)
{
	return is_string(c, c->a) ? sparql_integer(c->r, (int64_t)count_characters(term_of(c, c->a)->text)) : 0;
}

/* A number rounded to a whole one. */
static bool to_whole(const struct call *c, rdf_id id, double *ret)
{
	const rdf_id rounded = sparql_round(c->r, id, 'r');
	const struct sparql_value v = sparql_value_of(c->r, rounded);
	*ret = v.kind >= KIND_FLOAT ? v.d : (double)v.m;
	return rounded != 0;
}

/* By characters, from 1, rounded as XPath says. */
static rdf_id call_substr(const struct call *c)
{
	double from, length = 1e18;
	if (!is_string(c, c->a) || !to_whole(c, c->b, &from) || (c->x->n == 3 && !to_whole(c, c->c, &length)))
		return 0;
	const struct str s = term_of(c, c->a)->text;
	struct buf b = {0};
	double at = 0;
	for (size_t i = 0; i < s.n; i++) {
		at += !is_continued(s.p[i]);
		if (at >= from && at < from + length)
			buf_char(&b, s.p[i]);
	}
	return make_buf(c, &b, c->a);
}

/* The character at *at, and moves *at behind it. Text that is no UTF-8 gives some number. */
static uint32_t take_character(struct str s, size_t *at)
{
	const unsigned char lead = (unsigned char)s.p[*at];
	const size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	uint32_t ch = n == 1 ? lead : lead & (0x7fu >> n);
	for (size_t i = 1; i < n && *at + i < s.n; i++)
		ch = ch << 6 | ((unsigned char)s.p[*at + i] & 0x3f);
	*at += n;
	return ch;
}

/* UCASE and LCASE. The language stays; 0 (an error) for what is no string. */
static rdf_id call_case(const struct call *c, bool upper)
{
	if (!is_string(c, c->a))
		return 0;
	/* Whatever the user's locale is; where there is no other, of ASCII's letters alone. */
	const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	const locale_t usual = unicode ? uselocale(unicode) : (locale_t)0;
	const struct str s = term_of(c, c->a)->text;
	struct buf b = {0};
	char utf8[4];
	for (size_t at = 0; at < s.n;) {
		const uint32_t ch = take_character(s, &at);
		buf_add(&b, utf8, sparql_utf8_put(utf8, (uint32_t)(upper ? towupper((wint_t)ch) : towlower((wint_t)ch))));
	}
	if (unicode) {
		uselocale(usual);
		freelocale(unicode);
	}
	return make_buf(c, &b, c->a);
}

/* ENCODE_FOR_URI; 0 (an error) for what is no string. */
static rdf_id call_encode(const struct call *c)
{
	if (!is_string(c, c->a))
		return 0;
	const struct str s = term_of(c, c->a)->text;
	struct buf b = {0};
	for (size_t i = 0; i < s.n; i++) {
		const char ch = s.p[i];
		if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
		    (ch && strchr("-_.~", ch)))
			buf_char(&b, ch);
		else
			buf_printf(&b, "%%%02X", (unsigned)(unsigned char)ch);
	}
	return make_buf(c, &b, 0);
}

/* CONCAT: the language stays where all have the same. 0 (an error) if one is no string. */
static rdf_id call_concat(const struct call *c)
{
	struct buf b = {0};
	rdf_id like = 0;
	bool same = true;
	for (size_t i = 0; i < c->x->n; i++) {
		const rdf_id id = eval_expr(c->e, c->x->args[i], c->row, c->g);
		if (!id || !is_string(c, id)) {
			buf_release(&b);
			return 0;
		}
		same &= !i || str_eq(term_of(c, id)->lang, term_of(c, like)->lang);
		like = id;
		buf_str(&b, term_of(c, id)->text);
	}
	return make_buf(c, &b, same ? like : 0);
}

/* REGEX: does the pattern match? 0: an error, as of a pattern that cannot be read, or if the time is up. */
static rdf_id call_regex(const struct call *c)
{
	const struct str flags = c->x->n == 3 ? term_of(c, c->c)->text : str_n("", 0);
	if (!is_string(c, c->a) || !is_simple(c, c->b) || (c->x->n == 3 && !is_simple(c, c->c)))
		return 0;
	if (!evaluation_has_time(c->e))
		return 0;
	return eval_bool(c->e, sparql_regex_matches(term_of(c, c->a)->text, term_of(c, c->b)->text, flags));
}

/* REPLACE: the text with all matches of the pattern replaced. 0: an error, as of a pattern that cannot be read, or
 * if the time is up. */
static rdf_id call_replace(const struct call *c)
{
	struct buf b = {0};
	const rdf_id f = c->x->n == 4 ? eval_expr(c->e, c->x->args[3], c->row, c->g) : 0;
	if (!is_string(c, c->a) || !is_simple(c, c->b) || !is_simple(c, c->c) || (c->x->n == 4 && (!f || !is_simple(c, f))))
		return 0;
	const struct str flags = f ? term_of(c, f)->text : str_n("", 0);
	if (!evaluation_has_time(c->e))
		return 0;
	if (sparql_regex_replace(term_of(c, c->a)->text, term_of(c, c->b)->text, term_of(c, c->c)->text, flags, &b) < 0) {
		buf_release(&b);
		return 0;
	}
	return make_buf(c, &b, c->a);
}

/* MD5, SHA1 and their like, in hexadecimal. 0 (an error) for what is no plain string. */
static rdf_id call_digest(const struct call *c, unsigned f)
{
	unsigned char sum[64];
	char text[129];
	if (!is_simple(c, c->a))
		return 0;
	const struct str s = term_of(c, c->a)->text;
	size_t n = 64;
	/* Step by step: the functions that do it at once take all of libcrypto along, and what it compresses by. */
#define DIGEST(name, of, bytes)                                                                                        \
	do {                                                                                                               \
		of##_CTX state;                                                                                                \
		name##_Init(&state);                                                                                           \
		name##_Update(&state, s.p, s.n);                                                                               \
		name##_Final(sum, &state);                                                                                     \
		n = (bytes);                                                                                                   \
	} while (0)
	if (f == FUNCTION_sha1)
		DIGEST(SHA1, SHA, 20);
	else if (f == FUNCTION_sha256)
		DIGEST(SHA256, SHA256, 32);
	else if (f == FUNCTION_sha384)
		DIGEST(SHA384, SHA512, 48);
	else if (f == FUNCTION_sha512)
		DIGEST(SHA512, SHA512, 64);
	else
		DIGEST(MD5, MD5, 16);
#undef DIGEST
	return make_text(c, str_of(hex_text(sum, n, text)));
}

/* ---- times, numbers, chance ---- */

/* YEAR, MONTH, DAY, HOURS, MINUTES or SECONDS of a time. 0: it is no time, or a date, which has no time of day. */
static rdf_id call_part(const struct call *c, unsigned f)
{
	struct sparql_value v = sparql_value_of(c->r, c->a);
	if (v.kind != KIND_DATETIME && !(v.kind == KIND_DATE && f <= FUNCTION_day))
		return 0;
	if (f == FUNCTION_seconds) {
		v.kind = KIND_DECIMAL;
		v.m = v.second * (sparql_wide)1000000000000000000 + v.fraction;
		v.scale = 18;
		return sparql_number(c->r, &v);
	}
	const int parts[] = {v.year, v.month, v.day, v.hour, v.minute};
	return sparql_integer(c->r, parts[f - FUNCTION_year]);
}

/* TIMEZONE: the zone of a time as a duration. 0: an error, as of a time without a zone. */
static rdf_id call_timezone(const struct call *c)
{
	struct buf b = {0};
	const struct sparql_value v = sparql_value_of(c->r, c->a);
	if (v.kind != KIND_DATETIME || !v.has_zone)
		return 0;
	const int m = abs(v.zone);
	buf_printf(&b, "%sPT", v.zone < 0 ? "-" : "");
	if (m / 60)
		buf_printf(&b, "%dH", m / 60);
	if (m % 60)
		buf_printf(&b, "%dM", m % 60);
	if (!m)
		buf_printf(&b, "0S");
	const rdf_id id = rdf_literal(c->r, buf_view(&b), c->r->xsd_daytime_duration, str_n("", 0));
	buf_release(&b);
	return id;
}

/* TZ: "" without a time zone; 0 (an error) for what is no time. */
static rdf_id call_tz(const struct call *c)
{
	const struct sparql_value v = sparql_value_of(c->r, c->a);
	const struct str s = term_of(c, c->a)->text;
	if (v.kind != KIND_DATETIME)
		return 0;
	if (!v.has_zone)
		return make_text(c, str_n("", 0));
	return make_text(c, s.p[s.n - 1] == 'Z' ? str_of("Z") : str_n(s.p + s.n - 6, 6));
}

/* The time of the query, the same each time. */
static rdf_id call_now(const struct call *c)
{
	struct tm tm;
	char text[64];
	gmtime_r(&c->e->now.tv_sec, &tm);
	size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(text + n, sizeof(text) - n, ".%03ldZ", c->e->now.tv_nsec / 1000000);
	return rdf_literal(c->r, str_n(text, n), c->r->xsd_datetime, str_n("", 0));
}

/* RAND: from 0 up to but not 1; 0 (an error) without random bytes. */
static rdf_id call_rand(const struct call *c)
{
	uint64_t bits = 0;
	struct sparql_value v = {.kind = KIND_DOUBLE};
	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		return 0;
	v.d = (double)(bits >> 11) / 9007199254740992.0;
	return sparql_number(c->r, &v);
}

/* Random, of version 4. */
static rdf_id call_uuid(const struct call *c, bool iri)
{
	unsigned char b[16];
	char hex[33], text[64];
	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return 0;
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	hex_text(b, sizeof(b), hex);
	const int n = snprintf(text, sizeof(text), "%s%.8s-%.4s-%.4s-%.4s-%.12s", iri ? "urn:uuid:" : "", hex, hex + 8,
	                       hex + 12, hex + 16, hex + 20);
	return iri ? rdf_iri(c->r, str_n(text, (size_t)n)) : make_text(c, str_n(text, (size_t)n));
}

/* ---- forms: their arguments may be errors ---- */

/* The functions that do not want all their arguments. *ret_is: it is one of these. */
static rdf_id eval_form(const struct call *c, bool *ret_is)
{
	const struct sparql_expr *x = c->x;
	*ret_is = true;
	switch (x->function) {
	case FUNCTION_bound:
		return eval_bool(c->e, c->row[x->args[0]->var] != 0);
	case FUNCTION_coalesce:
		for (size_t i = 0; i < x->n; i++) {
			const rdf_id id = eval_expr(c->e, x->args[i], c->row, c->g);
			if (id)
				return id;
		}
		return 0;
	case FUNCTION_if: {
		const rdf_id id = eval_expr(c->e, x->args[0], c->row, c->g);
		const int t = id ? sparql_truth(c->r, id) : -1;
		return t < 0 ? 0 : eval_expr(c->e, x->args[t ? 1 : 2], c->row, c->g);
	}
	case FUNCTION_concat:
		return call_concat(c);
	default:
		*ret_is = false;
		return 0;
	}
}

/* The result of a function without arguments. 0: an error, of any other function. */
static rdf_id call_without_arguments(const struct call *c)
{
	switch (c->x->function) {
	case FUNCTION_bnode:
		return call_bnode(c);
	case FUNCTION_rand:
		return call_rand(c);
	case FUNCTION_now:
		return call_now(c);
	case FUNCTION_uuid:
		return call_uuid(c, true);
	case FUNCTION_struuid:
		return call_uuid(c, false);
	default:
		return 0;
	}
}

/* Functions on terms; the value's number, 0: an error. */
static rdf_id call_about_term(const struct call *c)
{
	switch (c->x->function) {
	case FUNCTION_str:
		return call_str(c);
	case FUNCTION_lang:
		return call_lang(c);
	case FUNCTION_langmatches:
		return call_langmatches(c);
	case FUNCTION_datatype:
		return call_datatype(c);
	case FUNCTION_iri:
	case FUNCTION_uri:
		return call_iri(c);
	case FUNCTION_strlang:
		return call_strlang(c);
	case FUNCTION_strdt:
		return call_strdt(c);
	case FUNCTION_sameterm:
		return eval_bool(c->e, c->a == c->b);
	case FUNCTION_isiri:
	case FUNCTION_isuri:
		return call_is(c, RDF_IRI);
	case FUNCTION_isblank:
		return call_is(c, RDF_BLANK);
	case FUNCTION_isliteral:
		return call_is(c, RDF_LITERAL);
	case FUNCTION_isnumeric:
		return call_isnumeric(c);
	default:
		return 0;
	}
}

/* Functions on texts, else as call_about_term. */
static rdf_id call_about_text(const struct call *c)
{
	switch (c->x->function) {
	case FUNCTION_strlen:
		return call_strlen(c);
	case FUNCTION_ucase:
		return call_case(c, true);
	case FUNCTION_lcase:
		return call_case(c, false);
	case FUNCTION_encode_for_uri:
		return call_encode(c);
	case FUNCTION_contains:
	case FUNCTION_strstarts:
	case FUNCTION_strends:
		return call_compare(c, c->x->function);
	case FUNCTION_strbefore:
		return call_cut(c, true);
	case FUNCTION_strafter:
		return call_cut(c, false);
	case FUNCTION_regex:
		return call_regex(c);
	case FUNCTION_substr:
		return call_substr(c);
	case FUNCTION_replace:
		return call_replace(c);
	default:
		return call_about_term(c);
	}
}

/* Functions on numbers and times, else as call_about_text. */
static rdf_id call_about_value(const struct call *c)
{
	switch (c->x->function) {
	case FUNCTION_abs:
		return sparql_round(c->r, c->a, 'a');
	case FUNCTION_ceil:
		return sparql_round(c->r, c->a, 'c');
	case FUNCTION_floor:
		return sparql_round(c->r, c->a, 'f');
	case FUNCTION_round:
		return sparql_round(c->r, c->a, 'r');
	case FUNCTION_timezone:
		return call_timezone(c);
	case FUNCTION_tz:
		return call_tz(c);
	default:
		if (c->x->function >= FUNCTION_year && c->x->function <= FUNCTION_seconds)
			return call_part(c, c->x->function);
		if (c->x->function >= FUNCTION_md5 && c->x->function <= FUNCTION_sha512)
			return call_digest(c, c->x->function);
		return call_about_text(c);
	}
}

rdf_id eval_function(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	struct call c = {.e = e, .r = e->r, .x = x, .row = row, .g = g};
	rdf_id *const places[] = {&c.a, &c.b, &c.c};
	bool is_form;
	const rdf_id id = eval_form(&c, &is_form);
	if (is_form)
		return id;
	for (size_t i = 0; i < x->n && i < 3; i++)
		if (!(*places[i] = eval_expr(e, x->args[i], row, g)))
			return 0;
	const bool no_arguments = x->n == 0 || x->function == FUNCTION_bnode;
	return no_arguments ? call_without_arguments(&c) : call_about_value(&c);
}
