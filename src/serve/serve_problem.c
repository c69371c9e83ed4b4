#include "serve/serve_problem.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"

/* "Error" for one that it does not know. */
static const char *status_title(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {
	    {400, "Bad Request"},
	    {401, "Unauthorized"},
	    {403, "Forbidden"},
	    {404, "Not Found"},
	    {405, "Method Not Allowed"},
	    {406, "Not Acceptable"},
	    {410, "Gone"},
	    {413, "Content Too Large"},
	    {414, "URI Too Long"},
	    {415, "Unsupported Media Type"},
	    {500, "Internal Server Error"},
	    {501, "Not Implemented"},
	    {503, "Service Unavailable"},
	    {504, "Gateway Timeout"},
	    {507, "Insufficient Storage"},
	};
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

/* What is no UTF-8 becomes U+FFFD, and what acts on a terminal an escape. */
static void put_string(struct buf *b, const char *text)
{
	const struct str s = str_of(text);
	size_t n;
	uint32_t c;
	buf_char(b, '"');
	for (size_t i = 0; i < s.n; i += n) {
		n = utf8_char(s.p + i, s.n - i, &c);
		if (!n) {
			n = 1;
			buf_str(b, str_of("\xef\xbf\xbd"));
		} else if (c == '"' || c == '\\') {
			buf_char(b, '\\');
			buf_char(b, (char)c);
		} else if (c < 0x10000 && unsafe_char(c)) {
			buf_printf(b, "\\u%04x", (unsigned)c);
		} else {
			buf_add(b, s.p + i, n);
		}
	}
	buf_char(b, '"');
}

void serve_problem(unsigned status, const char *detail, const char *hint, struct buf *ret)
{
	buf_printf(ret, "{\"status\":%u,\"title\":\"%s\",\"detail\":", status, status_title(status));
	put_string(ret, detail);
	if (hint && *hint) {
		buf_str(ret, str_of(",\"hint\":"));
		put_string(ret, hint);
	}
	buf_str(ret, str_of("}\n"));
}
