/* Records of pegasus-kickstart between any other output, read one after the other: each takes some of the text, and is
 * written as a record that says the same. */
#include "fuzz_file.h"
#include "summary/kickstart.h"

#include <errno.h>

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
	char *copy = malloc(size ? size : 1); /* so that a sanitizer sees its end */
	must(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	struct str text = str_n(copy, size);
	for (int i = 0; i < 8; i++) {
		struct summary s;
		struct err err = {0};
		size_t n = 0;
		int r = kickstart_read(text, &err, &s, &n);
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
