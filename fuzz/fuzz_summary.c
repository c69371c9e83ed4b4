/* Summaries of any bytes: what is read is written so that it reads as the same, and what is not has a sentence. */
#include "fuzz_file.h"
#include "summary/summary.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct summary s, t;
	struct err err = {0};
	struct buf first = {0}, again = {0};
	if (summary_read((const char *)data, size, &err, &s) < 0) {
		must(err.text[0]);
		return 0;
	}
	must(summary_json(&s, true, size & 1, &first) == 0);
	must(summary_read(first.p, first.n, &err, &t) == 0);
	must(summary_json(&t, true, size & 1, &again) == 0);
	must(str_eq(buf_view(&first), buf_view(&again)));
	summary_release(&s);
	summary_release(&t);
	buf_release(&first);
	buf_release(&again);
	return 0;
}
