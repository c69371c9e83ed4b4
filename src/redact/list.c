/* list.c - many arguments or variables at once. */
#include "redact/redact.h"

size_t redact_argv(struct buf *out, char *const *argv)
{
	struct redact r = {0};
	size_t n = 0;
	for (; argv[n] && out->n < (256u << 10); n++) {
		redact_arg(&r, out, str_of(argv[n]));
		buf_char(out, '\0');
	}
	return n;
}

struct buf redact_strings(struct str strings, bool env)
{
	struct buf out = {0};
	struct redact r = {0};
	for (size_t at = 0; at < strings.n;) {
		struct str s = str_of(strings.p + at);
		if (env)
			redact_env(&out, s);
		else
			redact_arg(&r, &out, s);
		buf_char(&out, '\0');
		at += s.n + 1;
	}
	return out;
}
