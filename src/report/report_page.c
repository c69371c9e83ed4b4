/* report_page.c - the page around the data, and the one encoder through which all data goes. */
#include "base/unsafe_char.h"
#include "base/utf8.h"
#include "report/report_int.h"

static const char page_head[] = {
#include "report_head.inc"
};
static const char page_tail[] = {
#include "report_tail.inc"
};

/* JSON as it may stand in a script element of HTML: outside of texts it has none of these characters, and in texts an
 * escape stands for the same. So no tag, no end of the element and no character that changes how a page is read can be
 * in it, whatever the data is. */
static void write_data(struct str s, struct buf *ret)
{
	size_t from = 0, n;
	uint32_t c;
	for (size_t i = 0; i < s.n; i += n) {
		n = utf8_char(s.p + i, s.n - i, &c);
		bool text = n > 0, plain = text && c != '<' && c != '>' && c != '&' && (c == '\n' || !unsafe_char(c));
		n = text ? n : 1;
		if (plain)
			continue;
		buf_add(ret, s.p + from, i - from);
		buf_printf(ret, "\\u%04x", text ? (unsigned)c : 0xfffdu);
		from = i + n;
	}
	buf_add(ret, s.p + from, s.n - from);
}

void report_page(struct str data, struct buf *ret)
{
	buf_add(ret, page_head, sizeof(page_head));
	write_data(data, ret);
	buf_add(ret, page_tail, sizeof(page_tail));
}
