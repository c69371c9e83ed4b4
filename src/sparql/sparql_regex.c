#include "sparql/sparql_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>

enum { MATCH_LIMIT = 1000000 };

struct regex {
	pcre2_code *code;
	pcre2_match_data *found;
	pcre2_match_context *bounds;
};

/* For PCRE2, of XPath's flags. false: an unknown one. */
static bool options_of(struct str flags, uint32_t *ret)
{
	*ret = PCRE2_UTF | PCRE2_UCP;
	for (size_t i = 0; i < flags.n; i++)
		switch (flags.p[i]) {
		case 'i':
			*ret |= PCRE2_CASELESS;
			break;
		case 's':
			*ret |= PCRE2_DOTALL;
			break;
		case 'm':
			*ret |= PCRE2_MULTILINE;
			break;
		case 'x':
			*ret |= PCRE2_EXTENDED;
			break;
		case 'q':
			*ret = (*ret & PCRE2_CASELESS) | PCRE2_UTF | PCRE2_LITERAL;
			break;
		default:
			return false;
		}
	return true;
}

/* x was opened; NULLs in it are no error. */
static void regex_close(struct regex *x)
{
	pcre2_match_data_free(x->found);
	pcre2_match_context_free(x->bounds);
	pcre2_code_free(x->code);
}

/* Compiles a regular expression. false: it is none, or no memory; nothing is to be closed then. */
static bool regex_open(struct regex *x, struct str pattern, struct str flags)
{
	uint32_t options;
	int error;
	size_t at;
	*x = (struct regex){0};
	if (!options_of(flags, &options))
		return false;
	x->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &error, &at, NULL);
	if (!x->code)
		return false;
	x->found = pcre2_match_data_create_from_pattern(x->code, NULL);
	x->bounds = pcre2_match_context_create(NULL);
	if (!x->found || !x->bounds) {
		regex_close(x);
		return false;
	}
	pcre2_set_match_limit(x->bounds, MATCH_LIMIT);
	return true;
}

int sparql_regex_matches(struct str text, struct str pattern, struct str flags)
{
	struct regex x;
	if (!regex_open(&x, pattern, flags))
		return -1;
	const int n = pcre2_match(x.code, (PCRE2_SPTR)text.p, text.n, 0, 0, x.found, x.bounds);
	regex_close(&x);
	return n >= 0 ? 1 : n == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

/* What stands in the place of a match. */
static bool put_replacement(struct buf *out, struct str text, struct str with, const size_t *at, int groups)
{
	for (size_t i = 0; i < with.n; i++) {
		const char c = with.p[i], next = i + 1 < with.n ? with.p[i + 1] : '\0';
		if (c == '\\' && (next == '$' || next == '\\')) {
			buf_char(out, next);
			i++;
		} else if (c == '$' && next >= '0' && next <= '9') {
			const int k = next - '0';
			if (k < groups && at[2 * k] != PCRE2_UNSET)
				buf_add(out, text.p + at[2 * k], at[2 * k + 1] - at[2 * k]);
			i++;
		} else if (c == '$' || c == '\\') {
			return false;
		} else {
			buf_char(out, c);
		}
	}
	return true;
}

int sparql_regex_replace(struct str text, struct str pattern, struct str with, struct str flags, struct buf *ret)
{
	struct regex x;
	size_t from = 0;
	int rc = 0;
	if (!regex_open(&x, pattern, flags))
		return -1;
	while (rc == 0) {
		const int n = pcre2_match(x.code, (PCRE2_SPTR)text.p, text.n, from, 0, x.found, x.bounds);
		const size_t *at = pcre2_get_ovector_pointer(x.found);
		if (n == PCRE2_ERROR_NOMATCH)
			break;
		if (n < 0 || at[0] == at[1] || at[0] < from) {
			rc = -1;
			break;
		}
		buf_add(ret, text.p + from, at[0] - from);
		rc = put_replacement(ret, text, with, at, n) ? 0 : -1;
		from = at[1];
	}
	buf_add(ret, text.p + from, text.n - from);
	regex_close(&x);
	return rc;
}
