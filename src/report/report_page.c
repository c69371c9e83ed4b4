#include "report/report_page.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"

static const char page_head[] = {
#include "report_head.inc"
};
static const char page_tail[] = {
#include "report_tail.inc"
};
static const char served_head[] = {
#include "report_served_head.inc"
};
static const char served_tail[] = {
#include "report_served_tail.inc"
};
static const char page_script[] = {
#include "report_script.inc"
};
static const char page_style[] = {
#include "report_style.inc"
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

void report_page(struct str data, bool served, struct buf *ret)
{
	buf_str(ret, served ? str_n(served_head, sizeof(served_head)) : str_n(page_head, sizeof(page_head)));
	report_page_data(data, ret);
	buf_str(ret, served ? str_n(served_tail, sizeof(served_tail)) : str_n(page_tail, sizeof(page_tail)));
}

struct str report_page_script(void)
{
	return str_n(page_script, sizeof(page_script));
}

/* Static. */
struct str report_page_style(void)
{
	return str_n(page_style, sizeof(page_style));
}
