#include "sparql/sparql_value.h"

#include "base/buf.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCALE_MAX = 18 };

/* ---- lexical forms ---- */

/* XML's blanks at both ends. Points into s. */
static struct str trim(struct str s)
{
	while (s.n && strchr(" \t\n\r", s.p[0]))
		s = str_n(s.p + 1, s.n - 1);
	while (s.n && strchr(" \t\n\r", s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Digits with a point; integer: without. */
static bool parse_decimal(struct str s, bool integer, struct sparql_value *v)
{
	size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+'), digits = 0;
	bool point = false;
	v->m = 0;
	v->scale = 0;
	for (; i < s.n; i++) {
		if (s.p[i] == '.' && !point && !integer) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)s.p[i]))
			return false;
		digits++;
		if (point && v->scale == SCALE_MAX)
			continue; /* digits that nobody keeps */
		if (__builtin_mul_overflow(v->m, 10, &v->m) || __builtin_add_overflow(v->m, s.p[i] - '0', &v->m))
			return false;
		v->scale += point;
	}
	if (s.n && s.p[0] == '-')
		v->m = -v->m;
	while (v->scale && v->m % 10 == 0) {
		v->m /= 10;
		v->scale--;
	}
	return digits != 0;
}

/* Reads a number in floating point. false: none, as XSD writes it. */
static bool parse_double(struct str s, double *ret)
{
	char text[128], *end;
	if (!s.n || s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	if (!strcmp(text, "INF") || !strcmp(text, "-INF") || !strcmp(text, "NaN") || !strcmp(text, "+INF")) {
		*ret = text[0] == 'N' ? NAN : text[0] == '-' ? -INFINITY : INFINITY;
		return true;
	}
	if (strspn(text, "0123456789+-.eE") != s.n)
		return false;
	*ret = strtod(text, &end);
	return *end == '\0';
}

/* So many digits, at most `most`; false: fewer than `least`. */
static bool take_digits(struct str *s, unsigned least, unsigned most, int64_t *ret)
{
	unsigned n = 0;
	*ret = 0;
	for (; n < most && n < s->n && isdigit((unsigned char)s->p[n]); n++)
		*ret = *ret * 10 + (s->p[n] - '0');
	*s = str_n(s->p + n, s->n - n);
	return n >= least;
}

/* Moves s on only if it is there. */
static bool take_char(struct str *s, char c)
{
	const bool is = s->n && s->p[0] == c;
	if (is)
		*s = str_n(s->p + 1, s->n - 1);
	return is;
}

/* Days since 1970-01-01 of the Gregorian calendar (Howard Hinnant's days_from_civil, in words of our own). */
static int64_t days_of(int64_t year, int month, int day)
{
	const int64_t y = month <= 2 ? year - 1 : year;
	const int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
	const int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Reads a time zone. false: it begins as one and is none; no zone is true, too. Moves *s behind it. */
static bool parse_zone(struct str *s, struct sparql_value *v)
{
	int64_t h, m;
	if (take_char(s, 'Z')) {
		v->has_zone = true;
		return true;
	}
	const bool minus = s->n && s->p[0] == '-';
	if (!minus && !(s->n && s->p[0] == '+'))
		return true;
	*s = str_n(s->p + 1, s->n - 1);
	if (!take_digits(s, 2, 2, &h) || !take_char(s, ':') || !take_digits(s, 2, 2, &m) || h > 14 || m > 59)
		return false;
	v->has_zone = true;
	v->zone = (int)(minus ? -(h * 60 + m) : h * 60 + m);
	return true;
}

/* Reads a time of day: hh:mm:ss with a fraction. Moves *s behind it. */
static bool parse_clock(struct str *s, struct sparql_value *v)
{
	int64_t h, m, sec;
	if (!take_digits(s, 2, 2, &h) || !take_char(s, ':') || !take_digits(s, 2, 2, &m) || !take_char(s, ':') ||
	    !take_digits(s, 2, 2, &sec) || h > 24 || m > 59 || sec > 59)
		return false;
	v->hour = (int)h;
	v->minute = (int)m;
	v->second = (int)sec;
	if (!take_char(s, '.'))
		return true;
	unsigned n = 0;
	for (; s->n && isdigit((unsigned char)s->p[0]); n++) {
		if (n < SCALE_MAX)
			v->fraction = v->fraction * 10 + (s->p[0] - '0');
		*s = str_n(s->p + 1, s->n - 1);
	}
	for (unsigned i = n; i < SCALE_MAX; i++)
		v->fraction *= 10;
	return n != 0;
}

/* A date, or a date and a time; all of s. false: it is none. */
static bool parse_moment(struct str s, bool date, struct sparql_value *v)
{
	int64_t y, m, d;
	const bool minus = take_char(&s, '-');
	if (!take_digits(&s, 4, 9, &y) || !take_char(&s, '-') || !take_digits(&s, 2, 2, &m) || !take_char(&s, '-') ||
	    !take_digits(&s, 2, 2, &d) || m < 1 || m > 12 || d < 1 || d > 31)
		return false;
	v->year = (int)(minus ? -y : y);
	v->month = (int)m;
	v->day = (int)d;
	if (!date && (!take_char(&s, 'T') || !parse_clock(&s, v)))
		return false;
	if (!parse_zone(&s, v) || s.n)
		return false;
	v->seconds =
	    days_of(v->year, v->month, v->day) * 86400 + v->hour * 3600 + v->minute * 60 + v->second - v->zone * 60;
	return true;
}

/* Is it a type of whole numbers: xsd:integer, or a type derived from it. */
static bool is_integer_type(const struct rdf *r, rdf_id type)
{
	static const char *const names[] = {"int",
	                                    "long",
	                                    "short",
	                                    "byte",
	                                    "nonNegativeInteger",
	                                    "positiveInteger",
	                                    "nonPositiveInteger",
	                                    "negativeInteger",
	                                    "unsignedLong",
	                                    "unsignedInt",
	                                    "unsignedShort",
	                                    "unsignedByte"};
	const struct str iri = rdf_term(r, type)->text, space = str_of(XSD_NS);
	if (type == r->xsd_integer)
		return true;
	if (!str_starts(iri, space))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_is(str_n(iri.p + space.n, iri.n - space.n), names[i]))
			return true;
	return false;
}

/* The value of a literal with a datatype. KIND_ERROR: the text is none of its type. KIND_OTHER: of a type that is
 * not known. */
static struct sparql_value typed_value(const struct rdf *r, const struct rdf_term *t)
{
	struct sparql_value v = {.kind = KIND_OTHER};
	const struct str s = trim(t->text);
	bool good = true;
	if (is_integer_type(r, t->type)) {
		v.kind = KIND_INTEGER;
		good = parse_decimal(s, true, &v);
	} else if (t->type == r->xsd_decimal) {
		v.kind = KIND_DECIMAL;
		good = parse_decimal(s, false, &v);
	} else if (t->type == r->xsd_double || t->type == r->xsd_float) {
		v.kind = t->type == r->xsd_double ? KIND_DOUBLE : KIND_FLOAT;
		good = parse_double(s, &v.d);
	} else if (t->type == r->xsd_boolean) {
		v.kind = KIND_BOOLEAN;
		v.truth = str_is(s, "true") || str_is(s, "1");
		good = v.truth || str_is(s, "false") || str_is(s, "0");
	} else if (t->type == r->xsd_datetime || t->type == r->xsd_date) {
		v.kind = t->type == r->xsd_date ? KIND_DATE : KIND_DATETIME;
		good = parse_moment(s, t->type == r->xsd_date, &v);
	}
	if (!good)
		v.kind = KIND_ERROR;
	return v;
}

/* KIND_ERROR for a typed literal whose text is no such value. */
struct sparql_value sparql_value_of(const struct rdf *r, rdf_id id)
{
	const struct rdf_term *t = rdf_term(r, id);
	struct sparql_value v = {0};
	if (t->kind == RDF_IRI)
		v.kind = KIND_IRI;
	else if (t->kind == RDF_BLANK)
		v.kind = KIND_BLANK;
	else if (t->kind == RDF_LITERAL && t->type == r->xsd_string)
		v.kind = KIND_STRING;
	else if (t->kind == RDF_LITERAL && t->lang.n)
		v.kind = KIND_LANG;
	else if (t->kind == RDF_LITERAL)
		v = typed_value(r, t);
	return v;
}

/* ---- comparing ---- */

/* Of a decimal or integer: m divided by ten scale times. v must be a number. */
static double as_double(const struct sparql_value *v)
{
	if (v->kind == KIND_DOUBLE || v->kind == KIND_FLOAT)
		return v->d;
	long double d = (long double)v->m;
	for (unsigned i = 0; i < v->scale; i++)
		d /= 10;
	return (double)d;
}

/* Brings two decimals to one scale; false: too large for it. */
static bool align(struct sparql_value *a, struct sparql_value *b)
{
	while (a->scale < b->scale) {
		if (__builtin_mul_overflow(a->m, 10, &a->m))
			return false;
		a->scale++;
	}
	while (b->scale < a->scale) {
		if (__builtin_mul_overflow(b->m, 10, &b->m))
			return false;
		b->scale++;
	}
	return true;
}

/* -1, 0, 1, or SPARQL_UNKNOWN if one is no number (NaN). As double, where one is; as float else. */
static int compare_numbers(struct sparql_value a, struct sparql_value b)
{
	if (a.kind <= KIND_DECIMAL && b.kind <= KIND_DECIMAL && align(&a, &b))
		return (a.m > b.m) - (a.m < b.m);
	double x = as_double(&a), y = as_double(&b);
	if (a.kind != KIND_DOUBLE && b.kind != KIND_DOUBLE) {
		x = (float)x;
		y = (float)y;
	}
	return isnan(x) || isnan(y) ? SPARQL_UNKNOWN : (x > y) - (x < y);
}

/* -1, 0, 1, or SPARQL_UNKNOWN: only one has a zone, and they are not 14 hours apart. */
static int compare_moments(const struct sparql_value *a, const struct sparql_value *b)
{
	enum { FOURTEEN_HOURS = 14 * 3600 };
	if (a->has_zone != b->has_zone && llabs(a->seconds - b->seconds) <= FOURTEEN_HOURS)
		return SPARQL_UNKNOWN;
	if (a->seconds != b->seconds)
		return a->seconds < b->seconds ? -1 : 1;
	return (a->fraction > b->fraction) - (a->fraction < b->fraction);
}

int sparql_compare(const struct rdf *r, rdf_id a, rdf_id b)
{
	const struct sparql_value x = sparql_value_of(r, a), y = sparql_value_of(r, b);
	if (sparql_is_number(&x) && sparql_is_number(&y))
		return compare_numbers(x, y);
	if (x.kind != y.kind)
		return SPARQL_UNKNOWN;
	if (x.kind == KIND_STRING) {
		const int c = str_cmp(rdf_term(r, a)->text, rdf_term(r, b)->text);
		return (c > 0) - (c < 0);
	}
	if (x.kind == KIND_BOOLEAN)
		return x.truth - y.truth;
	if (x.kind == KIND_DATETIME || x.kind == KIND_DATE)
		return compare_moments(&x, &y);
	return SPARQL_UNKNOWN;
}

/* Is it the number NaN? */
static bool is_not_a_number(const struct sparql_value *v)
{
	return (v->kind == KIND_DOUBLE || v->kind == KIND_FLOAT) && isnan(v->d);
}

/* Is it a literal? */
static bool is_literal_kind(const struct sparql_value *v)
{
	return v->kind != KIND_IRI && v->kind != KIND_BLANK;
}

/* Two literals that are not the same term. 1, 0, -1: it cannot be told. */
static int equal_literals(const struct rdf *r, rdf_id a, rdf_id b, const struct sparql_value *x,
                          const struct sparql_value *y)
{
	if (sparql_is_number(x) && sparql_is_number(y))
		return compare_numbers(*x, *y) == 0;
	if (x->kind == KIND_LANG || y->kind == KIND_LANG)
		return 0; /* whatever the other is, it has no language, or another one, or another text */
	if (x->kind == KIND_ERROR || y->kind == KIND_ERROR || x->kind == KIND_OTHER || y->kind == KIND_OTHER)
		return -1;
	if (x->kind != y->kind || x->kind == KIND_STRING)
		return 0; /* strings that are not the same, and values of types that have none in common */
	const int c = sparql_compare(r, a, b);
	return c == SPARQL_UNKNOWN ? -1 : c == 0;
}

int sparql_equal(const struct rdf *r, rdf_id a, rdf_id b)
{
	if (!a || !b)
		return -1;
	const struct sparql_value x = sparql_value_of(r, a), y = sparql_value_of(r, b);
	if (a == b)
		return !is_not_a_number(&x);
	return is_literal_kind(&x) && is_literal_kind(&y) ? equal_literals(r, a, b, &x, &y) : 0;
}

int sparql_truth(const struct rdf *r, rdf_id id)
{
	const struct rdf_term *t = rdf_term(r, id);
	const struct sparql_value v = sparql_value_of(r, id);
	switch (v.kind) {
	case KIND_BOOLEAN:
		return v.truth;
	case KIND_STRING:
		return t->text.n != 0;
	case KIND_LANG:
		return t->text.n != 0;
	case KIND_INTEGER:
	case KIND_DECIMAL:
		return v.m != 0;
	case KIND_FLOAT:
	case KIND_DOUBLE:
		return v.d != 0 && !isnan(v.d);
	case KIND_ERROR: /* a number or a boolean that is written wrongly */
		return t->kind == RDF_LITERAL && t->type != r->xsd_datetime && t->type != r->xsd_date ? 0 : -1;
	default:
		return -1;
	}
}

int sparql_order(const struct rdf *r, rdf_id a, rdf_id b)
{
	const struct rdf_term *x = rdf_term(r, a), *y = rdf_term(r, b);
	static const int rank[] = {[RDF_NONE] = 0, [RDF_BLANK] = 1, [RDF_IRI] = 2, [RDF_LITERAL] = 3};
	if (x->kind != y->kind)
		return rank[x->kind] < rank[y->kind] ? -1 : 1;
	if (x->kind == RDF_LITERAL) {
		const int c = sparql_compare(r, a, b);
		if (c != SPARQL_UNKNOWN && c)
			return c;
		const struct sparql_value v = sparql_value_of(r, a), w = sparql_value_of(r, b);
		if (v.kind != w.kind && !(sparql_is_number(&v) && sparql_is_number(&w)))
			return v.kind < w.kind ? -1 : 1;
	}
	const int c = str_cmp(x->text, y->text);
	return c ? c : str_cmp(x->lang, y->lang);
}

/* ---- making ---- */

rdf_id sparql_integer(struct rdf *r, int64_t n)
{
	char text[24];
	const int k = snprintf(text, sizeof(text), "%lld", (long long)n);
	return rdf_literal(r, str_n(text, (size_t)k), r->xsd_integer, str_n("", 0));
}

/* m / 10^scale, as XSD writes it canonically; 0: no memory. */
static rdf_id make_decimal(struct rdf *r, sparql_wide m, unsigned scale, rdf_id type)
{
	char text[64];
	size_t at = sizeof(text);
	const bool minus = m < 0;
	unsigned digits = 0;
	unsigned __int128 u = minus ? -(unsigned __int128)m : (unsigned __int128)m;
	if (type == r->xsd_decimal && !scale) {
		text[--at] = '0';
		text[--at] = '.';
	}
	do {
		if (scale && digits == scale)
			text[--at] = '.';
		text[--at] = (char)('0' + (int)(u % 10));
		u /= 10;
		digits++;
	} while (u || digits <= scale);
	if (minus)
		text[--at] = '-';
	return rdf_literal(r, str_n(text + at, sizeof(text) - at), type, str_n("", 0));
}

/* XSD's canonical form, with as many digits as it takes. */
static rdf_id make_double(struct rdf *r, double d, rdf_id type)
{
	char text[64], out[80];
	if (isnan(d) || isinf(d))
		return rdf_literal(r, str_of(isnan(d) ? "NaN" : d < 0 ? "-INF" : "INF"), type, str_n("", 0));
	for (int digits = 0; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits, d);
		const double back = strtod(text, NULL);
		if (type == r->xsd_float ? (float)back == (float)d : back == d)
			break;
	}
	char *e = strchr(text, 'e');
	const int exponent = atoi(e + 1);
	*e = '\0';
	snprintf(out, sizeof(out), "%s%sE%d", text, strchr(text, '.') ? "" : ".0", exponent);
	return rdf_literal(r, str_of(out), type, str_n("", 0));
}

rdf_id sparql_number(struct rdf *r, const struct sparql_value *v)
{
	struct sparql_value x = *v;
	while (x.scale && x.m % 10 == 0) {
		x.m /= 10;
		x.scale--;
	}
	switch (v->kind) {
	case KIND_INTEGER:
		return make_decimal(r, x.m, 0, r->xsd_integer);
	case KIND_DECIMAL:
		return make_decimal(r, x.m, x.scale, r->xsd_decimal);
	case KIND_FLOAT:
		return make_double(r, (float)v->d, r->xsd_float);
	case KIND_DOUBLE:
		return make_double(r, v->d, r->xsd_double);
	default:
		return 0;
	}
}

/* ---- arithmetic ---- */

/* Multiplies decimals. Into a. false: too large. Digits beyond SCALE_MAX are cut off. */
static bool multiply(struct sparql_value *a, const struct sparql_value *b)
{
	if (__builtin_mul_overflow(a->m, b->m, &a->m))
		return false;
	a->scale += b->scale;
	while (a->scale > SCALE_MAX) {
		a->m /= 10;
		a->scale--;
	}
	return true;
}

/* Divides decimals. False: by 0. To 18 digits behind the point, or as many as there is room for. */
static bool divide(struct sparql_value *a, const struct sparql_value *b)
{
	if (b->m == 0)
		return false;
	sparql_wide q = a->m / b->m, rest = a->m % b->m;
	int scale = (int)a->scale - (int)b->scale;
	while (rest && scale < SCALE_MAX) {
		sparql_wide more;
		if (__builtin_mul_overflow(rest, 10, &more) || __builtin_mul_overflow(q, 10, &q))
			break;
		q += more / b->m;
		rest = more % b->m;
		scale++;
	}
	for (; scale < 0; scale++)
		if (__builtin_mul_overflow(q, 10, &q))
			return false;
	a->m = q;
	a->scale = (unsigned)scale;
	return true;
}

/* Into a. false: too large, or a division by 0. */
static bool calculate_exact(enum sparql_arithmetic op, struct sparql_value *a, struct sparql_value *b)
{
	switch (op) {
	case ARITHMETIC_ADD:
		return align(a, b) && !__builtin_add_overflow(a->m, b->m, &a->m);
	case ARITHMETIC_SUB:
		return align(a, b) && !__builtin_sub_overflow(a->m, b->m, &a->m);
	case ARITHMETIC_MUL:
		return multiply(a, b);
	default:
		return divide(a, b);
	}
}

rdf_id sparql_calculate(struct rdf *r, enum sparql_arithmetic op, rdf_id ia, rdf_id ib)
{
	struct sparql_value a = sparql_value_of(r, ia), b = sparql_value_of(r, ib);
	if (!sparql_is_number(&a) || !sparql_is_number(&b))
		return 0;
	const enum sparql_kind kind = a.kind > b.kind ? a.kind : b.kind;
	if (kind <= KIND_DECIMAL) {
		if (!calculate_exact(op, &a, &b))
			return 0;
		a.kind = op == ARITHMETIC_DIV ? KIND_DECIMAL : kind;
		return sparql_number(r, &a);
	}
	const double x = as_double(&a), y = as_double(&b);
	a.kind = kind;
	a.scale = 0;
	a.d = op == ARITHMETIC_ADD ? x + y : op == ARITHMETIC_SUB ? x - y : op == ARITHMETIC_MUL ? x * y : x / y;
	return sparql_number(r, &a);
}

rdf_id sparql_round(struct rdf *r, rdf_id id, char how)
{
	struct sparql_value v = sparql_value_of(r, id);
	if (!sparql_is_number(&v))
		return 0;
	if (v.kind >= KIND_FLOAT) {
		v.d = how == 'a' ? fabs(v.d) : how == 'c' ? ceil(v.d) : how == 'f' ? floor(v.d) : floor(v.d + 0.5);
		return sparql_number(r, &v);
	}
	if (how == 'a') {
		v.m = v.m < 0 ? -v.m : v.m;
		return sparql_number(r, &v);
	}
	sparql_wide unit = 1;
	for (unsigned i = 0; i < v.scale; i++)
		unit *= 10;
	const sparql_wide up = how == 'c' ? unit - 1 : how == 'f' ? 0 : unit / 2;
	sparql_wide m = v.m + up, q = m / unit;
	if (m % unit < 0)
		q--;
	v.m = q;
	v.scale = 0;
	return sparql_number(r, &v);
}

/* ---- casts ---- */

/* Casts a value to a type of numbers. 0: it has no value of that type. */
static rdf_id cast_to_number(struct rdf *r, rdf_id type, const struct sparql_value *v)
{
	struct sparql_value x = *v;
	if (v->kind == KIND_BOOLEAN) {
		x.m = v->truth;
		x.scale = 0;
		x.d = v->truth;
		x.kind = KIND_INTEGER;
	}
	if (type == r->xsd_double || type == r->xsd_float) {
		x.d = as_double(&x);
		x.kind = type == r->xsd_double ? KIND_DOUBLE : KIND_FLOAT;
		return sparql_number(r, &x);
	}
	if (x.kind >= KIND_FLOAT) {
		char text[400];
		if (isnan(x.d) || isinf(x.d) || fabs(x.d) > 1e20)
			return 0;
		snprintf(text, sizeof(text), "%.*f", fabs(x.d) > 1e15 ? 0 : 12, x.d);
		if (!parse_decimal(str_of(text), false, &x))
			return 0;
	}
	if (type == r->xsd_integer)
		while (x.scale) {
			x.m /= 10;
			x.scale--;
		}
	x.kind = type == r->xsd_integer ? KIND_INTEGER : KIND_DECIMAL;
	return sparql_number(r, &x);
}

/* Casts a text to a type. 0: the text is no value of the type. */
static rdf_id cast_text(struct rdf *r, rdf_id type, struct str text)
{
	const rdf_id id = rdf_literal(r, trim(text), type, str_n("", 0));
	const struct sparql_value v = sparql_value_of(r, id);
	if (v.kind == KIND_ERROR)
		return 0;
	if (v.kind == KIND_BOOLEAN)
		return rdf_literal(r, str_of(v.truth ? "true" : "false"), type, str_n("", 0));
	return id;
}

/* A number as xsd:string has it (XPath and XQuery Functions and Operators, 19.1.2): without a point or an exponent
 * where it needs none. */
static rdf_id number_text(struct rdf *r, const struct sparql_value *v)
{
	char text[64];
	const double size = fabs(v->d);
	if (v->kind == KIND_DECIMAL)
		return make_decimal(r, v->m, v->scale, r->xsd_string);
	if (v->d == 0)
		return rdf_literal(r, str_of(signbit(v->d) ? "-0" : "0"), 0, str_n("", 0));
	if (!(size >= 1e-6 && size < 1e6))
		return make_double(r, v->d, r->xsd_string);
	for (int digits = 0; digits < 24; digits++) {
		snprintf(text, sizeof(text), "%.*f", digits, v->d);
		const double back = strtod(text, NULL);
		if (v->kind == KIND_FLOAT ? (float)back == (float)v->d : back == v->d)
			break;
	}
	return rdf_literal(r, str_of(text), 0, str_n("", 0));
}

/* Casts a term to a string: xsd:string(x). */
static rdf_id cast_to_string(struct rdf *r, const struct rdf_term *t, const struct sparql_value *v)
{
	if (v->kind == KIND_BOOLEAN)
		return rdf_literal(r, str_of(v->truth ? "true" : "false"), 0, str_n("", 0));
	if (v->kind >= KIND_DECIMAL && v->kind <= KIND_DOUBLE)
		return number_text(r, v);
	return t->kind == RDF_IRI || t->kind == RDF_LITERAL ? rdf_literal(r, t->text, 0, str_n("", 0)) : 0;
}

/* Casts a term to a truth value. 0: it has no truth value. */
static rdf_id cast_to_boolean(struct rdf *r, rdf_id id, const struct sparql_value *v)
{
	if (v->kind != KIND_BOOLEAN && !sparql_is_number(v))
		return 0;
	return rdf_literal(r, str_of(sparql_truth(r, id) == 1 ? "true" : "false"), r->xsd_boolean, str_n("", 0));
}

/* A literal that is no text, of another type. */
static rdf_id cast_value(struct rdf *r, rdf_id type, rdf_id id, const struct rdf_term *t, const struct sparql_value *v)
{
	if (type == r->xsd_boolean)
		return cast_to_boolean(r, id, v);
	if (t->type == type)
		return id;
	if (type == r->xsd_date && v->kind == KIND_DATETIME)
		return cast_text(r, type, str_n(t->text.p, t->text.n < 10 ? t->text.n : 10));
	const bool number =
	    type == r->xsd_integer || type == r->xsd_decimal || type == r->xsd_double || type == r->xsd_float;
	return number && (sparql_is_number(v) || v->kind == KIND_BOOLEAN) ? cast_to_number(r, type, v) : 0;
}

rdf_id sparql_cast(struct rdf *r, rdf_id type, rdf_id id)
{
	const rdf_id known[] = {r->xsd_integer, r->xsd_decimal,  r->xsd_double, r->xsd_float,
	                        r->xsd_boolean, r->xsd_datetime, r->xsd_date};
	const struct rdf_term t = *rdf_term(r, id);
	const struct sparql_value v = sparql_value_of(r, id);
	if (type == r->xsd_string)
		return cast_to_string(r, &t, &v);
	bool is_known = false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		is_known |= known[i] == type;
	if (!is_known || t.kind != RDF_LITERAL || v.kind == KIND_ERROR)
		return 0;
	return v.kind == KIND_STRING ? cast_text(r, type, t.text) : cast_value(r, type, id, &t, &v);
}
