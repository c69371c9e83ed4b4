/* Summaries of resource_monitor in lines, as its old versions wrote them, one after the other: each takes some of the
 * text, and what is written of it as JSON is theirs too and says the same. */
#include "fuzz_records.h"
#include "summary/resource_monitor.h"

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

static int read_lines(struct str text, struct err *err, struct summary *ret, size_t *ret_n)
{
	resource_monitor_is_text(text);
	return resource_monitor_read_lines(text, err, ret, ret_n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_records(data, size, read_lines, there_and_back);
	return 0;
}
