/* Records of pegasus-kickstart between any other output, read one after the other: each takes some of the text, and is
 * written as a record that says the same. */
#include "fuzz_records.h"
#include "summary/kickstart.h"

/* A record leaves out what another part of it tells: the reader fills that in, so a few rounds pass before nothing is
 * new. */
static void there_and_back(const struct summary *first)
{
	struct buf before = {0}, now = {0};
	struct err err = {0};
	size_t n;
	must(kickstart_write(first, &before) == 0 && kickstart_is(buf_view(&before)));
	for (int rounds = 0;; rounds++) {
		struct summary s;
		must(kickstart_read(buf_view(&before), &err, &s, &n) == 0 && n <= before.n);
		buf_reset(&now);
		must(kickstart_write(&s, &now) == 0);
		summary_release(&s);
		if (str_eq(buf_view(&before), buf_view(&now)))
			break;
		must(rounds < 4);
		buf_reset(&before);
		buf_str(&before, buf_view(&now));
	}
	buf_release(&before);
	buf_release(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_records(data, size, kickstart_read, there_and_back);
	return 0;
}
