#include "summary/jout.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "summary/decimal.h"

#include <stdio.h>

/* Before a value, where one stands before it. */
static void write_jout_separator(struct jout *j)
{
	if (j->comma)
		buf_str(j->b, str_of(j->indent ? ", " : ","));
	j->comma = false;
}

/* A comma stands before it where one is due; none before its first member. */
void jout_open(struct jout *j, char bracket)
{
	write_jout_separator(j);
	buf_char(j->b, bracket);
}

/* A comma stands before what comes next. */
void jout_close(struct jout *j, char bracket)
{
	buf_char(j->b, bracket);
	j->comma = true;
}

/* A new line, indented; nothing where all stands on one line. */
void jout_line(struct jout *j, unsigned depth)
{
	if (!j->indent)
		return;
	if (j->comma)
		buf_char(j->b, ',');
	j->comma = false;
	buf_char(j->b, '\n');
	for (unsigned i = 0; i < depth; i++)
		buf_str(j->b, str_of("  "));
}

void jout_text(struct jout *j, struct str s)
{
	write_jout_separator(j);
	buf_char(j->b, '"');
	for (size_t i = 0, k; i < s.n; i += k) {
		const unsigned char *p = (const unsigned char *)s.p + i;
		uint32_t c;
		k = utf8_char(s.p + i, s.n - i, &c);
		if (!k) {
			k = 1;
			buf_str(j->b, str_of("\xef\xbf\xbd"));
		} else if (*p == '"' || *p == '\\') {
			buf_char(j->b, '\\');
			buf_char(j->b, (char)*p);
		} else if (*p == '\n' || *p == '\t') {
			buf_str(j->b, str_of(*p == '\n' ? "\\n" : "\\t"));
		} else if (*p < 0x20 || *p == 0x7f) {
			buf_printf(j->b, "\\u%04x", *p);
		} else {
			buf_add(j->b, p, k);
		}
	}
	buf_char(j->b, '"');
	j->comma = true;
}

void jout_base64(struct jout *j, struct str s)
{
	write_jout_separator(j);
	buf_char(j->b, '"');
	base64_append(j->b, s);
	buf_char(j->b, '"');
	j->comma = true;
}

/* A value must come next. */
void jout_key(struct jout *j, const char *name)
{
	jout_text(j, str_of(name));
	j->comma = false;
	buf_str(j->b, str_of(j->indent ? ": " : ":"));
}

void jout_null(struct jout *j)
{
	write_jout_separator(j);
	buf_str(j->b, str_of("null"));
	j->comma = true;
}

/* value: without its decimals. */
void jout_decimal(struct jout *j, int64_t value, unsigned decimals)
{
	write_jout_separator(j);
	decimal_add(j->b, value, decimals);
	j->comma = true;
}

/* As a member. */
void jout_bool(struct jout *j, const char *name, bool value)
{
	jout_key(j, name);
	buf_str(j->b, str_of(value ? "true" : "false"));
	j->comma = true;
}

/* As a member; value: without its decimals. */
void jout_number(struct jout *j, const char *name, int64_t value, unsigned decimals)
{
	jout_key(j, name);
	jout_decimal(j, value, decimals);
}

void jout_string_pair(struct jout *j, const char *name, const char *text)
{
	jout_key(j, name);
	if (!text) {
		jout_null(j);
		return;
	}
	jout_text(j, str_of(text));
	if (!utf8_is_valid(str_of(text))) {
		char twin[64];
		snprintf(twin, sizeof(twin), "%s_base64", name);
		jout_key(j, twin);
		jout_base64(j, str_of(text));
	}
}
