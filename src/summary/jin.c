#include "summary/jin.h"

#include "summary/decimal.h"

#include <errno.h>
#include <stdio.h>

/* The text with every number in quotes. What begins like a number and is none stays, for jansson to refuse. */
static void quote_numbers(const char *p, size_t n, struct buf *out)
{
	bool quoted = false;
	size_t from = 0;
	for (size_t i = 0, k; i < n; i += k) {
		k = 1;
		if (quoted) {
			if (p[i] == '\\')
				k = i + 1 < n ? 2 : 1;
			else if (p[i] == '"')
				quoted = false;
		} else if (p[i] == '"') {
			quoted = true;
		} else if (p[i] == '-' || (p[i] >= '0' && p[i] <= '9')) {
			if ((k = decimal_length(p + i, n - i))) {
				buf_add(out, p + from, i - from);
				buf_char(out, '"');
				buf_add(out, p + i, k);
				buf_char(out, '"');
				from = i + k;
			} else {
				k = 1;
			}
		}
	}
	buf_add(out, p + from, n - from);
}

/* 0 and it is to be released; -ENOMEM. */
int jin_open(struct jin *in, const char *text, size_t n)
{
	*in = (struct jin){.line = 1};
	quote_numbers(text, n, &in->text);
	if (!in->text.failed)
		return 0;
	jin_release(in);
	return -ENOMEM;
}

/* It may be released twice. */
void jin_release(struct jin *in)
{
	buf_release(&in->text);
}

/* Is it white space of JSON? */
static bool is_json_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int jin_next(struct jin *in, json_t **ret, char ret_why[200])
{
	json_error_t e;
	while (in->at < in->text.n && is_json_space(in->text.p[in->at]))
		in->line += in->text.p[in->at++] == '\n';
	if (in->at == in->text.n)
		return 0;
	json_t *v = json_loadb(in->text.p + in->at, in->text.n - in->at, JSON_DISABLE_EOF_CHECK, &e);
	if (!v) {
		snprintf(ret_why, 200, "line %u: %s", in->line + (e.line > 0 ? (unsigned)e.line - 1 : 0), e.text);
		return -EBADMSG;
	}
	for (size_t end = in->at + (size_t)e.position; in->at < end && in->at < in->text.n;)
		in->line += in->text.p[in->at++] == '\n';
	*ret = v;
	return 1;
}

bool jin_base64(struct str s, struct buf *ret)
{
	static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (s.n % 4)
		return false;
	for (size_t i = 0; i < s.n; i += 4) {
		size_t pad = i + 4 < s.n || s.p[i + 3] != '=' ? 0 : s.p[i + 2] != '=' ? 1 : 2;
		uint32_t v = 0;
		for (size_t k = 0; k < 4; k++) {
			const char *d = k >= 4 - pad ? digits64 : s.p[i + k] ? strchr(digits64, s.p[i + k]) : NULL;
			if (!d)
				return false;
			v = v << 6 | (uint32_t)(d - digits64);
		}
		char three[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
		buf_add(ret, three, 3 - pad);
	}
	return !ret->failed;
}
