/* Records of pegasus-kickstart between any other output, read one after the other: each takes some of the text, and is
 * written as a record that says the same. */
#include "fuzz_file.h"
#include "summary/kickstart.h"

#include <errno.h>

static void there_and_back(const struct summary *s)
{
	struct summary back, again;
	struct err err = {0};
	struct buf one = {0}, two = {0}, three = {0};
	size_t n;
	must(kickstart_write(s, &one) == 0);
	must(kickstart_is(buf_view(&one)) && kickstart_read(buf_view(&one), &err, &back, &n) == 0 && n <= one.n);
	must(kickstart_write(&back, &two) == 0);
	must(kickstart_read(buf_view(&two), &err, &again, &n) == 0);
	must(kickstart_write(&again, &three) == 0);
	/* What the first one could not say of s is gone by now. */
	must(str_eq(buf_view(&two), buf_view(&three)));
	summary_release(&back);
	summary_release(&again);
	buf_release(&one);
	buf_release(&two);
	buf_release(&three);
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
