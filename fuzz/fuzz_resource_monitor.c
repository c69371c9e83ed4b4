/* Summaries of resource_monitor in lines, as its old versions wrote them, one after the other: each takes some of the
 * text, and what is written of it as JSON is theirs too and says the same. */
#include "fuzz_file.h"
#include "summary/resource_monitor.h"

#include <errno.h>

static bool read_json(struct str text, struct summary *ret)
{
	struct jin in;
	json_t *v = NULL;
	struct err err = {0};
	char why[200];
	must(jin_open(&in, text.p, text.n) == 0);
	bool is = jin_next(&in, &v, why) == 1 && resource_monitor_is(v) && resource_monitor_read(v, &err, ret) == 0;
	json_decref(v);
	jin_release(&in);
	return is;
}

static void there_and_back(const struct summary *s)
{
	struct summary back, again;
	struct buf one = {0}, two = {0};
	must(resource_monitor_write(s, &one) == 0);
	/* A summary in which nothing is known has no field of theirs. */
	if (read_json(buf_view(&one), &back)) {
		must(resource_monitor_write(&back, &two) == 0);
		must(read_json(buf_view(&two), &again));
		buf_reset(&one);
		must(resource_monitor_write(&again, &one) == 0 && str_eq(buf_view(&one), buf_view(&two)));
		summary_release(&back);
		summary_release(&again);
	}
	buf_release(&one);
	buf_release(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* so that a sanitizer sees its end */
	must(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	struct str text = str_n(copy, size);
	resource_monitor_is_text(text);
	for (int i = 0; i < 8; i++) {
		struct summary s;
		struct err err = {0};
		size_t n = 0;
		int r = resource_monitor_read_lines(text, &err, &s, &n);
		must(r == 0 || r == -ENODATA || err.text[0]);
		if (r < 0)
			break;
		must(n > 0 && n <= text.n);
		there_and_back(&s);
		summary_release(&s);
		text = str_n(text.p + n, text.n - n);
	}
	free(copy);
	return 0;
}
