/* Command lines, variables, texts and names of files of any bytes. What comes out is redacted again and stays as it is
 * where nothing was found the first time. */
#include "redact/redact.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct count {
	size_t n;
};

static void found(void *arg, const char *family, struct str secret)
{
	struct count *c = arg;
	(void)family;
	(void)secret;
	c->n++;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct count count = {0};
	struct redact_watch watch = {found, &count};
	struct redact r = {.watch = &watch};
	struct buf out = {0};
	struct str all = str_n((const char *)data, size);
	/* Arguments end with a newline: NUL is a byte like any other here. */
	for (size_t at = 0; at < size;) {
		const char *end = memchr(all.p + at, '\n', size - at);
		size_t n = end ? (size_t)(end - all.p) - at : size - at;
		redact_arg(&r, &out, str_n(all.p + at, n));
		at += n + 1;
	}
	buf_reset(&out);
	redact_env_watched(&watch, &out, all);
	buf_reset(&out);
	count.n = 0;
	redact_text_watched(&watch, &out, all);
	if (!count.n && !str_eq(buf_view(&out), all))
		abort();
	buf_reset(&out);
	count.n = 0;
	redact_path_watched(&watch, &out, all);
	if (!count.n && !str_eq(buf_view(&out), all))
		abort();
	buf_release(&out);
	return 0;
}
