#include "import/doc.h"

#include <ctype.h>
#include <errno.h>

const struct doc_kind_words doc_kinds[DOC_KINDS] = {
#define ARG(role, property, type)                                                                                      \
	{                                                                                                                  \
		role, property, type                                                                                           \
	}
#define KIND(name, need, time, a, b, c, d, e, direct, qualified)                                                       \
	{#name, need, time, {a, b, c, d, e}, direct, qualified},
#include "import/kinds.def"
#undef KIND
#undef ARG
};

/* What is taken from anybody. */
static const struct doc_limits doc_limits = {.bytes = 1ull << 30, .statements = 20000000, .attributes = 100000000};

/* Release with doc_release. Word 0 is the empty text. */
void doc_init(struct doc *d)
{
	*d = (struct doc){.limits = doc_limits};
	doc_intern(d, str_of("")); /* word 0 */
}

/* d is empty then. */
void doc_release(struct doc *d)
{
	intern_release(&d->words);
	vec_release(&d->st);
	vec_release(&d->attrs);
	*d = (struct doc){.pointers = false};
}

/* The word's number, which stays the same; VEC_NONE without memory. */
uint32_t doc_intern(struct doc *d, struct str s)
{
	return intern_add(&d->words, s);
}

struct doc_statement *doc_add(struct doc *d, enum doc_kind kind, uint32_t place)
{
	if (d->st.n >= d->limits.statements)
		return NULL;
	struct doc_statement *st = vec_add(&d->st);
	if (st)
		*st = (struct doc_statement){
		    .kind = kind, .start = TIME_NONE, .end = TIME_NONE, .place = place, .first_attr = (uint32_t)d->attrs.n};
	return st;
}

/* Of the last statement. False: no memory, or a limit is met. */
bool doc_attr(struct doc *d, uint32_t name, uint32_t value, uint32_t type)
{
	if (d->attrs.n >= d->limits.attributes || name == VEC_NONE || value == VEC_NONE || type == VEC_NONE)
		return false;
	struct doc_attr *a = vec_add(&d->attrs);
	if (!a)
		return false;
	*a = (struct doc_attr){name, value, type};
	d->st.v[d->st.n - 1].n_attr++;
	return true;
}

void doc_place(const struct doc *d, const struct doc_statement *st, struct buf *out)
{
	if (d->pointers)
		buf_str(out, doc_str(d, st->place));
	else if (st->place)
		buf_printf(out, "line %u", st->place);
}

/* What stands behind the last separator, for people; the whole where nothing does. */
static struct str short_name(struct str s)
{
	for (size_t i = s.n; i-- > 0;)
		if ((s.p[i] == '#' || s.p[i] == '/' || s.p[i] == ':') && i + 1 < s.n)
			return str_n(s.p + i + 1, s.n - i - 1);
	return s;
}

void doc_print(const struct doc *d, const struct doc_statement *st, struct buf *out)
{
	unsigned last = 0;
	bool any = false;
	buf_printf(out, "%s(", doc_kinds[st->kind].name);
	if (st->id && doc_str(d, st->id).p[0] != '_') {
		buf_str(out, short_name(doc_str(d, st->id)));
		any = true;
	}
	for (unsigned i = 0; i < DOC_ARGS; i++)
		if (st->arg[i])
			last = i + 1;
	for (unsigned i = 0; i < last; i++, any = true) {
		buf_str(out, str_of(!any ? "" : i ? ", " : "; "));
		buf_str(out, st->arg[i] ? short_name(doc_str(d, st->arg[i])) : str_of("-"));
	}
	buf_char(out, ')');
}

/* ---- times ---- */

/* So many digits at *p; it moves past them. -1 where they are not there. */
static int parse_fixed_digits(const char **p, const char *end, unsigned n)
{
	int v = 0;
	if ((size_t)(end - *p) < n)
		return -1;
	for (unsigned i = 0; i < n; i++, ++*p) {
		if (!isdigit((unsigned char)**p))
			return -1;
		v = v * 10 + (**p - '0');
	}
	return v;
}

/* Steps over c if it comes next. */
static bool accept_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	++*p;
	return true;
}

/* Days since 1970 of the proleptic Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date algorithms").
 */
static int64_t days_since_1970(int64_t y, int m, int d)
{
	y -= m <= 2;
	int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
	int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1, doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
	return era * 146097 + doe - 719468;
}

/* Whether there is such a day; month and day from 1 on. */
static bool is_day(int year, int month, int day)
{
	static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 || year % 400 == 0);
	return month >= 1 && month <= 12 && day >= 1 && day <= length[month - 1] + (month == 2 && leap);
}

/* 24:00:00 is one; leap seconds are not. */
static bool is_time_of_day(int hour, int minute, int second)
{
	if (hour < 0 || hour > 24 || minute < 0 || minute > 59 || second < 0 || second > 59)
		return false;
	return hour < 24 || (!minute && !second);
}

struct clock_time {
	int year, month, day, hour, minute, second;
};

/* YYYY-MM-DDTHH:MM:SS, with fields that there are: 24:00:00 is the day's end. It moves *p past it. False: it is none.
 * */
static bool parse_clock_time(const char **p, const char *end, struct clock_time *ret)
{
	int year = parse_fixed_digits(p, end, 4);
	int month = accept_char(p, end, '-') ? parse_fixed_digits(p, end, 2) : -1;
	int day = accept_char(p, end, '-') ? parse_fixed_digits(p, end, 2) : -1;
	int hour = accept_char(p, end, 'T') ? parse_fixed_digits(p, end, 2) : -1;
	int minute = accept_char(p, end, ':') ? parse_fixed_digits(p, end, 2) : -1;
	int second = accept_char(p, end, ':') ? parse_fixed_digits(p, end, 2) : -1;
	*ret = (struct clock_time){year, month, day, hour, minute, second};
	if (year < 0 || !is_day(year, month, day))
		return false;
	return is_time_of_day(hour, minute, second);
}

/* A fraction of a second, in ns: what is finer is cut off. 0 where there is none. */
static bool parse_fraction(const char **p, const char *end, int64_t *ret)
{
	*ret = 0;
	if (!accept_char(p, end, '.'))
		return true;
	if (*p == end || !isdigit((unsigned char)**p))
		return false;
	for (int64_t unit = 100000000; *p < end && isdigit((unsigned char)**p); ++*p, unit /= 10)
		*ret += (**p - '0') * unit;
	return true;
}

/* Z, +HH:MM, -HH:MM, or nothing: seconds before UTC. It moves *p past it. False: it is none. */
static bool parse_import_zone(const char **p, const char *end, int64_t *ret)
{
	*ret = 0;
	if (*p == end || (**p != '+' && **p != '-')) {
		accept_char(p, end, 'Z');
		return true;
	}
	int sign = *(*p)++ == '-' ? -1 : 1, h = parse_fixed_digits(p, end, 2),
	    m = accept_char(p, end, ':') ? parse_fixed_digits(p, end, 2) : -1;
	if (h < 0 || h > 14 || m < 0 || m > 59)
		return false;
	*ret = sign * (h * 60 + m) * (int64_t)60;
	return true;
}

bool doc_time(struct str s, int64_t *ret)
{
	const char *p = s.p, *end = s.p + s.n;
	struct clock_time c;
	int64_t ns, zone;
	if (!parse_clock_time(&p, end, &c) || !parse_fraction(&p, end, &ns) || !parse_import_zone(&p, end, &zone) ||
	    p != end)
		return false;
	int64_t t = ((days_since_1970(c.year, c.month, c.day) * 24 + c.hour) * 60 + c.minute) * 60 + c.second - zone;
	return !__builtin_mul_overflow(t, (int64_t)1000000000, &t) && !__builtin_add_overflow(t, ns, ret);
}

/* ---- which format ---- */

/* The first character from p on that is no white space; end: there is none. */
static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p;
}

/* What no reader takes, said before one of them stumbles over its first character. NULL: it may be one of theirs. */
static const char *describe_unreadable(const char *first, const char *end)
{
	static const size_t look = 4096;
	size_t n = (size_t)(end - first);
	const char *c = skip_blanks(first, end);
	if (c == end)
		return "is empty";
	if (memchr(first, '\0', n < look ? n : look))
		return "is not text";
	/* A bracket begins a node without a name in Turtle, too: what follows tells. */
	if (*c != '[')
		return NULL;
	c = skip_blanks(c + 1, end);
	return c < end && (*c == '{' || *c == '"' || *c == '[') ? "is a JSON array" : NULL;
}

int doc_read(struct doc *d, const char *name, const void *p, size_t n, struct err *err)
{
	const char *first = p, *end = first + n;
	if (n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0)
		first += 3;
	const char *c = first, *odd = describe_unreadable(first, end);
	if (odd) {
		err_set(err, 0, "%s %s: neither an event log nor PROV-N, PROV-JSON, PROV-JSONLD, Turtle or N-Triples", name,
		        odd);
		return -EINVAL;
	}
	while (c < end && (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n'))
		c++;
	size_t rest = (size_t)(end - first);
	if (doc_is_provn(first, rest))
		return doc_read_provn(d, name, first, rest, err);
	return c < end && *c == '{' ? doc_read_json(d, name, first, rest, err) : doc_read_rdf(d, name, first, rest, err);
}
