/* Summaries of any bytes in any form: what is read can be written in each form, and each of those is read as one. */
#include "fuzz_file.h"
#include "summary/read_any.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct summary_list l, back;
	struct err err = {0};
	struct buf b = {0}, again = {0};
	if (summary_read_any((const char *)data, size, &err, &l) < 0) {
		must(err.text[0]);
		return 0;
	}
	must(l.n > 0);
	for (size_t i = 0; i < l.n; i++)
		for (int f = 0; f < SUMMARY_FORMS; f++) {
			buf_reset(&b);
			must(summary_write_as((enum summary_form)f, &l.v[i].summary, true, &b) == 0);
			/* A summary in which nothing is known has no field of theirs. */
			if (summary_read_any(b.p, b.n, &err, &back) < 0) {
				must(f == SUMMARY_RESOURCE_MONITOR);
				continue;
			}
			must(back.n == 1);
			if (f == SUMMARY_STEMMA) {
				buf_reset(&again);
				must(summary_write_as(SUMMARY_STEMMA, &back.v[0].summary, true, &again) == 0);
				must(str_eq(buf_view(&b), buf_view(&again)));
			}
			summary_list_release(&back);
		}
	summary_list_release(&l);
	buf_release(&b);
	buf_release(&again);
	return 0;
}
