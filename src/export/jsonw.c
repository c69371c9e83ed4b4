/* jsonw.c - see jsonw.h. */
#include "export/jsonw.h"

#include <errno.h>

/* Only what it collects; out stays. */
void jsonw_release(struct jsonw *j)
{
	buf_release(&j->list);
}

/* Writes the comma before each member but the first. */
static void write_comma(struct jsonw *j)
{
	if (j->comma)
		out_text(j->out, ", ");
	j->comma = true;
}

void jsonw_open(struct jsonw *j, char bracket)
{
	write_comma(j);
	out_char(j->out, bracket);
	j->comma = false;
}

/* As jsonw_open; '}' or ']'. */
void jsonw_close(struct jsonw *j, char bracket)
{
	out_char(j->out, bracket);
	j->comma = true;
}

void jsonw_line(struct jsonw *j, unsigned indent)
{
	out_text(j->out, j->comma ? ",\n" : "\n");
	while (indent--)
		out_char(j->out, ' ');
	j->comma = false;
}

/* The key is prefix and name, which need no escapes. A value must come next. */
void jsonw_key(struct jsonw *j, const char *prefix, const char *name)
{
	write_comma(j);
	out_char(j->out, '"');
	out_text(j->out, prefix);
	out_text(j->out, name);
	out_text(j->out, "\": ");
	j->comma = false;
}

void jsonw_text(struct jsonw *j, const char *words, struct str s, bool *ret_exact)
{
	write_comma(j);
	out_char(j->out, '"');
	out_text(j->out, words);
	out_escaped(j->out, s, ret_exact);
	out_char(j->out, '"');
}

/* As they are: they need no escapes. */
void jsonw_cstr(struct jsonw *j, const char *words)
{
	jsonw_text(j, words, str_of(""), NULL);
}

/* A number. */
void jsonw_count(struct jsonw *j, uint64_t n)
{
	write_comma(j);
	out_count(j->out, n);
}

/* A number as a text, since readers of JSON lose digits of large ones. */
void jsonw_count_text(struct jsonw *j, uint64_t n)
{
	write_comma(j);
	out_char(j->out, '"');
	out_count(j->out, n);
	out_char(j->out, '"');
}

/* The value null. */
void jsonw_null(struct jsonw *j)
{
	write_comma(j);
	out_text(j->out, "null");
}

/* true or false. */
void jsonw_flag(struct jsonw *j, bool value)
{
	write_comma(j);
	out_text(j->out, value ? "true" : "false");
}

/* t in ns; it must be known. */
void jsonw_time(struct jsonw *j, int64_t t)
{
	write_comma(j);
	out_char(j->out, '"');
	out_time(j->out, t);
	out_char(j->out, '"');
}

void jsonw_list(struct jsonw *j, const struct strlist *l)
{
	write_comma(j);
	out_list(j->out, l, false, NULL);
}

/* As one text. base64: the items so; *ret_exact: false if something was replaced. */
void jsonw_list_text(struct jsonw *j, const struct strlist *l, bool base64, bool *ret_exact)
{
	jsonw_text(j, "", out_list_text(&j->list, l, base64, ret_exact), NULL);
}

/* As a text. */
void jsonw_base64(struct jsonw *j, struct str s)
{
	write_comma(j);
	out_char(j->out, '"');
	out_base64(j->out, s);
	out_char(j->out, '"');
}

void jsonw_pair(struct jsonw *j, const char *name, const char *words, struct str s)
{
	jsonw_key(j, "", name);
	jsonw_text(j, words, s, NULL);
}

/* words need no escapes. */
void jsonw_pair_cstr(struct jsonw *j, const char *name, const char *words)
{
	jsonw_pair(j, name, words, str_of(""));
}

int jsonw_error(const struct jsonw *j)
{
	return j->list.failed ? -ENOMEM : -j->out->error;
}
