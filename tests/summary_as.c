/* stemma-summary-as FORM - reads summaries of any form from standard input and writes them in that form, for tests:
 * what comes out is held against readers that are not ours. Ends with 1, and the sentence, where they cannot be read.
 */
#include "summary/read_any.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct buf text = {0}, out = {0};
	struct summary_list list;
	struct err err = {0};
	char part[65536];
	int form = argc == 2 ? summary_form_by_name(argv[1]) : -1;
	if (form < 0) {
		fprintf(stderr, "usage: stemma-summary-as stemma|resource-monitor|kickstart <FILE\n");
		return 2;
	}
	for (size_t n; (n = fread(part, 1, sizeof(part), stdin)) > 0;)
		buf_add(&text, part, n);
	if (summary_read_any(text.p ? text.p : "", text.n, &err, &list) < 0) {
		fprintf(stderr, "%s\n", err.text);
		buf_release(&text);
		return 1;
	}
	for (size_t i = 0; i < list.n; i++)
		if (summary_write_as((enum summary_form)form, &list.v[i].summary, true, &out) < 0)
			return 1;
	fwrite(out.p, 1, out.n, stdout);
	summary_list_release(&list);
	buf_release(&text);
	buf_release(&out);
	return 0;
}
