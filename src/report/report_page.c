#include "report/report_page.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"

static const char page_head[] = {
#include "report_head.inc"
};
static const char page_tail[] = {
#include "report_tail.inc"
};

void report_page_data(struct str data, struct buf *ret)
{
	size_t from = 0, n; /* what stands in [from, i) goes as it is */
	uint32_t c;
	for (size_t i = 0; i < data.n; i += n) {
		n = utf8_char(data.p + i, data.n - i, &c);
		bool text = n > 0, plain = text && c != '<' && c != '>' && c != '&' && (c == '\n' || !unsafe_char(c));
		n = text ? n : 1;
		if (plain)
			continue;
		buf_add(ret, data.p + from, i - from);
		buf_printf(ret, "\\u%04x", text ? (unsigned)c : 0xfffdu);
		from = i + n;
	}
	buf_add(ret, data.p + from, data.n - from);
}

void report_page(struct str data, struct buf *ret)
{
	buf_add(ret, page_head, sizeof(page_head));
	report_page_data(data, ret);
	buf_add(ret, page_tail, sizeof(page_tail));
}
