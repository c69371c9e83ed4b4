#include "import/read/turtle_blocks.h"

#include "prov/out.h"

#include <ctype.h>
#include <string.h>

#define LITERAL_NAME "urn:stemma:literal:"

/* ---- what stands in a document: each moves past it ---- */

/* What begins with < ends at >; a name has neither blanks nor ends of lines. */
static const char *skip_name(const char *p, const char *end)
{
	for (p++; p < end && *p != '>' && !isspace((unsigned char)*p);)
		p++;
	return p < end && *p == '>' ? p + 1 : p;
}

/* Steps over a string to the closing quote, or the end of the line where there is none on it. */
static const char *skip_short_string(const char *p, const char *end)
{
	const char quote = *p;
	for (p++; p < end && *p != quote && *p != '\n'; p++)
		if (*p == '\\' && p + 1 < end && p[1] != '\n')
			p++;
	return p < end && *p == quote ? p + 1 : p;
}

/* Steps over a long string to the three closing quotes, or the end of the document. */
static const char *skip_long_string(const char *p, const char *end)
{
	const char quote = *p;
	for (p += 3; p < end; p++) {
		if (end - p >= 3 && p[0] == quote && p[1] == quote && p[2] == quote)
			return p + 3;
		if (*p == '\\' && p + 1 < end)
			p++;
	}
	return end;
}

/* Steps over a string. Returns what is behind the string that begins at p with its quote, or the end. */
static const char *skip_string(const char *p, const char *end)
{
	bool is_long = end - p >= 3 && p[1] == *p && p[2] == *p;
	return is_long ? skip_long_string(p, end) : skip_short_string(p, end);
}

/* The end of its line, or of the text. */
static const char *skip_comment(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));
	return newline ? newline : end;
}

/* Steps over one thing. Returns what is behind the name, string or comment that begins here, else behind one character;
 * never beyond end. */
static const char *skip_one(const char *p, const char *end)
{
	switch (*p) {
	case '<':
		return skip_name(p, end);
	case '"':
	case '\'':
		return skip_string(p, end);
	case '#':
		return skip_comment(p, end);
	default:
		return p + 1;
	}
}

/* ---- blocks ---- */

/* Can a subject or a directive begin so? A word could be a verb as well, but not where a statement has just ended. */
static bool begins_block(char c, bool ended)
{
	return memchr("<\"@[_:", c, 6) || (ended && isalpha((unsigned char)c));
}

/* How many line ends there are in [p, end). */
static uint32_t count_lines(const char *p, const char *end)
{
	uint32_t n = 0;
	for (; (p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL); p++)
		n++;
	return n;
}

bool turtle_blocks_next(struct turtle_blocks *b, struct turtle_block *ret)
{
	const char *p = b->p;
	bool ended = true, column = false; /* a dot was the last thing; p is in the first column of a later line */
	if (p == b->end)
		return false;
	while (p < b->end && !(column && begins_block(*p, ended))) {
		const char *from = p;
		p = skip_one(p, b->end);
		if (*from != '#' && !isspace((unsigned char)*from))
			ended = *from == '.';
		column = p[-1] == '\n';
	}
	*ret = (struct turtle_block){b->p, p, b->line};
	b->line += count_lines(b->p, p);
	b->p = p;
	return true;
}

bool turtle_block_literal_subject(struct turtle_block *b, struct buf *ret)
{
	if (b->p == b->end || *b->p != '"')
		return false;
	const char *p = skip_string(b->p, b->end);
	const size_t quotes = b->end - b->p >= 6 && b->p[1] == '"' && b->p[2] == '"' ? 3 : 1;
	if ((size_t)(p - b->p) < 2 * quotes || p[-1] != '"')
		return false;
	struct out o = out_into(ret);
	out_text(&o, "<" LITERAL_NAME);
	out_uri(&o, str_n(b->p + quotes, (size_t)(p - b->p) - 2 * quotes));
	out_text(&o, ">");
	b->line += count_lines(b->p, p);
	/* Its language or type. */
	if (b->end - p >= 3 && p[0] == '^' && p[1] == '^' && p[2] == '<')
		p = skip_name(p + 2, b->end);
	else if (p < b->end && (*p == '@' || *p == '^'))
		while (p < b->end && !isspace((unsigned char)*p))
			p++;
	b->p = p;
	return true;
}
