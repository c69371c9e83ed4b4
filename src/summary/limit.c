#include "summary/limit.h"

#include "base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_SIZE_MAX (64 * 1024)
#define VALUE_MAX 64 /* characters; the longest that means anything is far shorter */
#define NS 1000000000LL

enum kind { TIME, SIZE, COUNT, THOUSANDTHS };

static const struct row {
	const char *word, *meaning;
	enum kind kind;
	enum figure_name figure;
	int64_t least;
} rows[LIMITS] = {
#define LIMIT(id, word, kind, figure, least, meaning) {word, meaning, kind, FIGURE_##figure, least},
#define ALIAS(word, id, unit)
#include "summary/limit.def"
};

static const struct alias {
	const char *word;
	enum limit_name limit;
	const char *unit; /* what a bare number means there */
} aliases[] = {
#define LIMIT(id, word, kind, figure, least, meaning)
#define ALIAS(word, id, unit) {word, LIMIT_##id, unit},
#include "summary/limit.def"
};

#define ALIASES (sizeof(aliases) / sizeof(aliases[0]))

struct unit {
	const char *word;
	int64_t factor;
};

static const struct unit times[] = {
    {"ns", 1},         {"us", 1000},          {"ms", 1000000},  {"s", NS},
    {"sec", NS},       {"m", 60 * NS},        {"min", 60 * NS}, {"h", 3600 * NS},
    {"d", 86400 * NS}, {"w", 7 * 86400 * NS}, {NULL, 0},
};

#define KI(n) (1LL << (10 * (n)))
static const struct unit sizes[] = {
    {"B", 1},
    {"K", KI(1)},
    {"M", KI(2)},
    {"G", KI(3)},
    {"T", KI(4)},
    {"P", KI(5)},
    {"E", KI(6)},
    {"KiB", KI(1)},
    {"MiB", KI(2)},
    {"GiB", KI(3)},
    {"TiB", KI(4)},
    {"PiB", KI(5)},
    {"EiB", KI(6)},
    {"KB", 1000LL},
    {"MB", 1000000LL},
    {"GB", 1000000000LL},
    {"TB", 1000000000000LL},
    {"PB", 1000000000000000LL},
    {"EB", 1000000000000000000LL},
    {NULL, 0},
};

static const struct unit counts[] = {{"k", 1000}, {"M", 1000000}, {NULL, 0}};

/* A list that ends with a NULL name. */
static const struct unit *units_of(enum kind kind)
{
	static const struct unit none[] = {{NULL, 0}};
	return kind == TIME ? times : kind == SIZE ? sizes : kind == COUNT ? counts : none;
}

/* For a person, in a sentence. Static. */
static const char *units_text(enum kind kind)
{
	return kind == TIME   ? "ns, us, ms, s, m, h, d, w, or hours:minutes:seconds"
	       : kind == SIZE ? "K, M, G, T, KiB, MB and the like"
	                      : "k and M";
}

/* ---- numbers ---- */

/* The factor of the unit that is n letters at p; 0: there is none such. Case tells nothing apart here but "M" and "m"
 * of times, where there is no "M". */
static int64_t factor_of(const struct unit *units, const char *p, size_t n)
{
	const struct unit *u = units;
	while (u->word && (strlen(u->word) != n || strncasecmp(u->word, p, n)))
		u++;
	return !u->word || (units == times && strncmp(u->word, p, n)) ? 0 : u->factor;
}

/* A number of whole digits and part ones behind a point, times factor, cut to a whole one. 0 or -ERANGE. */
static int scale_number(const char *digits, size_t whole, size_t part, int64_t factor, int64_t *ret)
{
	__int128 sum = 0;
	for (size_t i = 0; i < whole; i++) {
		sum = sum * 10 + (digits[i] - '0');
		if (sum > INT64_MAX)
			return -ERANGE;
	}
	sum *= factor;
	/* Digits behind the point, as long as they count. */
	__int128 scale = factor;
	__int128 rest = 0, ten = 1;
	for (size_t i = 0; i < part && ten < 1000000000000000000LL; i++) {
		rest = rest * 10 + (digits[whole + 1 + i] - '0');
		ten *= 10;
	}
	sum += rest * scale / ten;
	if (sum > INT64_MAX)
		return -ERANGE;
	*ret = (int64_t)sum;
	return 0;
}

/* A decimal number at *at, times the factor of its unit, cut to a whole one. The unit stands behind the digits: what it
 * is has to be known first. *at moves behind digits and unit. 0, -EINVAL (no number, or no such unit), -ERANGE. */
static int parse_quantity(const char **at, const struct unit *units, int64_t bare, bool *ret_bare, int64_t *ret)
{
	const char *p = *at, *digits = p;
	size_t whole = strspn(p, "0123456789"), part = 0;
	p += whole;
	if (*p == '.') {
		part = strspn(p + 1, "0123456789");
		p += 1 + part;
	}
	if (whole + part == 0)
		return -EINVAL;
	while (*p == ' ' || *p == '\t')
		p++;
	size_t n = 0;
	while (isalpha((unsigned char)p[n]))
		n++;
	*ret_bare = n == 0;
	int64_t factor = n ? factor_of(units, p, n) : bare;
	if (n && !factor)
		return -EINVAL;
	int rc = scale_number(digits, whole, part, factor, ret);
	if (rc == 0)
		*at = p + n;
	return rc;
}

/* One to three numbers of at most six digits with colons between. How many, or -EINVAL. */
static int colon_numbers(const char *at, int64_t v[3])
{
	for (int n = 0; n < 3;) {
		char *end;
		size_t digits = strspn(at, "0123456789");
		if (digits == 0 || digits > 6)
			return -EINVAL;
		v[n++] = strtoll(at, &end, 10);
		if (!*end)
			return n;
		if (*end != ':')
			return -EINVAL;
		at = end + 1;
	}
	return -EINVAL;
}

/* Reads a time: minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]], as Slurm has them. ns.
 * -EINVAL: none of these. */
static int clock_time(const char *text, int64_t *ret)
{
	int64_t v[3] = {0}, days = 0;
	const char *at = text, *dash = strchr(text, '-');
	if (dash) {
		if (!isdigit((unsigned char)*at) || strspn(at, "0123456789") != (size_t)(dash - at) || dash - at > 6)
			return -EINVAL;
		days = strtoll(at, NULL, 10);
		at = dash + 1;
	}
	int n = colon_numbers(at, v);
	if (n < 0 || (!dash && n < 2))
		return -EINVAL;
	if (!dash && n == 2) { /* no hours */
		if (v[1] > 59)
			return -EINVAL;
		v[2] = v[1];
		v[1] = v[0];
		v[0] = 0;
	} else if (v[1] > 59 || v[2] > 59) {
		return -EINVAL;
	}
	int64_t seconds = ((days * 24 + v[0]) * 60 + v[1]) * 60 + v[2]; /* of six digits each: far from the brim */
	if (seconds > INT64_MAX / NS)
		return -ERANGE;
	*ret = seconds * NS;
	return 0;
}

/* What a number without a unit is of: unit, or (NULL, "" or one that is not known) seconds, bytes, things. */
static int64_t bare_factor(enum kind kind, const char *unit)
{
	int64_t factor = kind == TIME ? NS : kind == THOUSANDTHS ? 1000 : 1;
	for (const struct unit *u = units_of(kind); unit && *unit && u->word; u++)
		if (!strcmp(u->word, unit))
			factor = u->factor;
	return factor;
}

/* The factor of the unit that stands as a whole from p to end, 0 none. */
static int64_t written_factor(enum kind kind, const char *p, const char *end)
{
	int64_t factor = 0;
	for (const struct unit *u = units_of(kind); u->word; u++)
		if ((size_t)(end - p) == strlen(u->word) && !strncmp(p, u->word, strlen(u->word)))
			factor = u->factor;
	return factor;
}

/* Reads the value of a limit with its unit. unit: what a number without one means; NULL or "": seconds, bytes,
 * things. */
static int value_parse(enum kind kind, const char *text, const char *unit, int64_t *ret)
{
	const char *at = text;
	int64_t sum = 0, last = INT64_MAX, of_bare = bare_factor(kind, unit);
	if (kind == TIME && strpbrk(text, ":-"))
		return clock_time(text, ret);
	for (int i = 0; i == 0 || *at; i++) {
		int64_t v;
		bool bare;
		const char *from = at;
		int rc = parse_quantity(&at, units_of(kind), of_bare, &bare, &v);
		if (rc < 0)
			return rc;
		/* Only times have parts, each with a unit, from the longest to the shortest: 2h30m. */
		int64_t factor = written_factor(kind, from + strspn(from, "0123456789. \t"), at);
		if (i > 0 && (kind != TIME || bare || factor >= last))
			return -EINVAL;
		if (*at && bare)
			return -EINVAL;
		last = factor;
		if (v > INT64_MAX - sum)
			return -ERANGE;
		sum += v;
		while (kind == TIME && *at == ' ')
			at++;
	}
	*ret = sum;
	return 0;
}

/* ---- names ---- */

/* How many letters would have to be put in, left out or changed; at most `most` + 1. */
static size_t letters_apart(const char *a, const char *b, size_t most)
{
	size_t row[32], nb = strlen(b), na = strlen(a);
	if (nb >= 32 || na >= 32)
		return most + 1;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[nb];
}

/* The limit that was probably meant: by another word for it, an alias, or a few letters. NULL: no idea. */
static const char *nearest_name(const char *name)
{
	static const struct {
		const char *word;
		enum limit_name limit;
	} others[] = {{"mem", LIMIT_memory},     {"rss", LIMIT_memory},      {"ram", LIMIT_memory},
	              {"time", LIMIT_wall},      {"walltime", LIMIT_wall},   {"vmem", LIMIT_virtual},
	              {"disk", LIMIT_footprint}, {"procs", LIMIT_processes}, {"nofile", LIMIT_open_files},
	              {"cputime", LIMIT_cpu}};
	const char *near = NULL;
	size_t least = 3;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcasecmp(name, others[i].word))
			return rows[others[i].limit].word;
	for (size_t i = 0; i < ALIASES; i++)
		if (!strcmp(name, aliases[i].word))
			return rows[aliases[i].limit].word;
	for (int i = 0; i < LIMITS; i++) {
		size_t d = letters_apart(name, rows[i].word, least);
		if (d < least && d < strlen(name) / 2 + 1) {
			least = d;
			near = rows[i].word;
		}
	}
	return near;
}

/* Reports that no limit is called so. -EINVAL, with the sentence and a hint. */
static int unknown_name(const char *name, struct err *err)
{
	const char *best = nearest_name(name);
	char list[256];
	size_t n = 0;
	for (int i = 0; i < LIMITS && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", rows[i].word);
	err_set(err, 0, "no limit is called '%.40s'", name);
	if (best)
		err_hint(err, "did you mean '%s'?", best);
	else
		err_hint(err, "limits are %s", list);
	return -EINVAL;
}

int limit_by_name(const char *name)
{
	for (int i = 0; i < LIMITS; i++)
		if (!strcmp(rows[i].word, name))
			return i;
	return -ENOENT;
}

/* Sets a limit from its text. unit: of a value that has none, NULL: the limit's own. 0; -EINVAL with a sentence. */
static int set_limit_value(struct limits *limits, enum limit_name l, const char *value, const char *unit,
                           struct err *err)
{
	const struct row *r = &rows[l];
	int64_t v = 0;
	if (!*value)
		return err_set(err, 0, "the limit '%s' has no value", r->word), -EINVAL;
	int rc = strlen(value) > VALUE_MAX ? -EINVAL : value_parse(r->kind, value, unit, &v);
	if (rc == -ERANGE) {
		err_set(err, 0, "the limit %s=%.64s is too large", r->word, value);
		return -EINVAL;
	}
	if (rc < 0) {
		err_set(err, 0, "'%.64s' is not a %s", value,
		        r->kind == TIME    ? "time"
		        : r->kind == SIZE  ? "size"
		        : r->kind == COUNT ? "number"
		                           : "number of processors");
		if (r->kind == THOUSANDTHS)
			err_hint(err, "write %s=4 or %s=2.5", r->word, r->word);
		else
			err_hint(err, "units of '%s' are %s", r->word, units_text(r->kind));
		return -EINVAL;
	}
	if (v < r->least) {
		err_set(err, 0, "no command could keep the limit %s=%.64s", r->word, value);
		return -EINVAL;
	}
	if (limits->given[l] && limits->value[l] != v) {
		struct buf old = {0};
		limit_show(&old, l, limits->value[l]);
		err_set(err, 0, "the limit '%s' is given twice: %.64s and %.64s", r->word, buf_cstr(&old), value);
		buf_release(&old);
		return -EINVAL;
	}
	limits->given[l] = true;
	limits->value[l] = v;
	return 0;
}

/* The limit of that name. 0; -EINVAL, reported. */
static int limits_set(struct limits *limits, const char *name, const char *value, struct err *err)
{
	int l = limit_by_name(name);
	return l < 0 ? unknown_name(name, err) : set_limit_value(limits, (enum limit_name)l, value, NULL, err);
}

/* Without the blanks around it; at most n - 1 characters. False: it is longer. */
static bool copy_trimmed(const char *from, size_t len, char *ret, size_t n)
{
	while (len && isspace((unsigned char)*from)) {
		from++;
		len--;
	}
	while (len && isspace((unsigned char)from[len - 1]))
		len--;
	if (len >= n)
		return false;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return true;
}

int limits_parse(struct limits *limits, const char *text, struct err *err)
{
	struct limits all = *limits;
	char name[48], value[VALUE_MAX + 2];
	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");
		const char *is = memchr(at, '=', n);
		if (!is) {
			err_set(err, 0, "limit '%.*s' is not NAME=VALUE", (int)(n < 64 ? n : 64), at);
			return -EINVAL;
		}
		if (!copy_trimmed(at, (size_t)(is - at), name, sizeof(name)) ||
		    !copy_trimmed(is + 1, n - (size_t)(is + 1 - at), value, sizeof(value))) {
			err_set(err, 0, "limit '%.*s...' is too long", 40, at);
			return -EINVAL;
		}
		int rc = limits_set(&all, name, value, err);
		if (rc < 0)
			return rc;
		at += n;
		if (!*at)
			break;
	}
	*limits = all;
	return 0;
}

/* Reads a line of a file of limits. 0; -EINVAL with a sentence. */
static int parse_line(struct limits *limits, const char *line, size_t n, struct err *err)
{
	char name[48], value[VALUE_MAX + 2];
	size_t mark = 0;
	while (mark < n && line[mark] != '=' && line[mark] != ':')
		mark++;
	if (mark == n) {
		err_set(err, 0, "'%.*s' is not NAME = VALUE", (int)(n < 64 ? n : 64), line);
		return -EINVAL;
	}
	if (!copy_trimmed(line, mark, name, sizeof(name)) ||
	    !copy_trimmed(line + mark + 1, n - mark - 1, value, sizeof(value))) {
		err_set(err, 0, "the line is too long");
		return -EINVAL;
	}
	/* Our names with our units behind "="; resource_monitor's with its units, and behind ":" they come first. */
	int l = line[mark] == '=' ? limit_by_name(name) : -ENOENT;
	for (size_t i = 0; l < 0 && i < ALIASES; i++)
		if (!strcmp(aliases[i].word, name))
			return set_limit_value(limits, aliases[i].limit, value, aliases[i].unit, err);
	return limits_set(limits, name, value, err);
}

int limits_parse_file(struct limits *limits, const char *text, size_t n, const char *file, struct err *err)
{
	struct limits all = *limits, here = {0};
	unsigned number = 1;
	for (size_t at = 0, next; at < n; at = next + 1, number++) {
		const char *end = memchr(text + at, '\n', n - at);
		next = end ? (size_t)(end - text) : n;
		const char *hash = memchr(text + at, '#', next - at);
		size_t len = hash ? (size_t)(hash - text) - at : next - at, blank = 0;
		while (blank < len && isspace((unsigned char)text[at + blank]))
			blank++;
		while (len > blank && isspace((unsigned char)text[at + len - 1]))
			len--;
		if (blank == len)
			continue;
		struct err why = {0};
		int rc = memchr(text + at, '\0', len) ? -EINVAL : parse_line(&here, text + at + blank, len - blank, &why);
		if (rc < 0) {
			err_set(err, 0, "%.150s, line %u: %s", file, number, *why.text ? why.text : "not text");
			if (*why.hint)
				err_hint(err, "%s", why.hint);
			return -EINVAL;
		}
	}
	limits_override(&all, &here);
	*limits = all;
	return 0;
}

int limits_read_file(struct limits *limits, const char *file, struct err *err)
{
	struct buf text = {0};
	int rc = io_read_file(file, FILE_SIZE_MAX, &text);
	if (rc == 0)
		rc = limits_parse_file(limits, text.p ? text.p : "", text.n, file, err);
	else if (rc == -EFBIG)
		err_set(err, EFBIG, "'%.150s' is not a file of limits", file);
	else
		err_set(err, -rc, "cannot read the limits in '%.150s'", file);
	buf_release(&text);
	return rc;
}

void limits_override(struct limits *limits, const struct limits *over)
{
	for (int i = 0; i < LIMITS; i++)
		if (over->given[i]) {
			limits->given[i] = true;
			limits->value[i] = over->value[i];
		}
}

/* Whether one is set. */
bool limits_any(const struct limits *limits)
{
	for (int i = 0; i < LIMITS; i++)
		if (limits->given[i])
			return true;
	return false;
}

int limits_parse_time(const char *text, struct err *err, int64_t *ret)
{
	if (strlen(text) <= VALUE_MAX && value_parse(TIME, text, NULL, ret) == 0)
		return 0;
	err_set(err, 0, "'%.64s' is not a time", text);
	err_hint(err, "units are %s", units_text(TIME));
	return -EINVAL;
}

/* ---- words ---- */

/* Static. */
const char *limit_key(enum limit_name l)
{
	return rows[l].word;
}

/* Static. */
const char *limit_meaning(enum limit_name l)
{
	return rows[l].meaning;
}

/* The figure that it bounds. */
enum figure_name limit_figure(enum limit_name l)
{
	return rows[l].figure;
}

/* Days, hours and minutes, or seconds; ns. */
static void show_time(struct buf *out, int64_t ns)
{
	int64_t s = ns / NS;
	if (s >= 86400)
		buf_printf(out, "%lld d ", (long long)(s / 86400));
	if (s >= 3600)
		buf_printf(out, "%lld h %lld min", (long long)(s / 3600 % 24), (long long)(s / 60 % 60));
	else if (s >= 60)
		buf_printf(out, "%lld min", (long long)(s / 60));
	if (s >= 60 && s % 60)
		buf_printf(out, " %lld s", (long long)(s % 60));
	if (s < 60)
		buf_printf(out, "%.*f s", ns % NS ? 3 : 0, (double)ns / 1e9);
}

void limit_show(struct buf *out, enum limit_name l, int64_t value)
{
	static const char *const words[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)value;
	int i = 0;
	switch (rows[l].kind) {
	case TIME:
		show_time(out, value);
		break;
	case SIZE:
		for (; i < 6 && v >= 1024; i++)
			v /= 1024;
		buf_printf(out, "%.*f %s", i && v != (double)(int64_t)v ? 1 : 0, v, words[i]);
		break;
	case COUNT:
		buf_printf(out, "%lld", (long long)value);
		break;
	case THOUSANDTHS:
		buf_printf(out, "%g", v / 1000);
		break;
	}
}
