/* The encoder of a report's data: whatever the JSON is, no character that HTML or a reader's eye gives a meaning comes
 * out, and it is the same JSON. */
#include "base/unsafe_char.h"
#include "base/utf8.h"
#include "fuzz_file.h"
#include "report/report_page.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = {0};
	json_error_t e;
	uint32_t c;
	report_page_data(str_n((const char *)data, size), &b);
	for (size_t i = 0, n; i < b.n; i += n) {
		must((n = utf8_char(b.p + i, b.n - i, &c)) > 0);
		must(c != '<' && c != '>' && c != '&' && (c == '\n' || !unsafe_char(c)));
	}
	json_t *one = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e), *two;
	if (one && !memchr(data, '\t', size) && !memchr(data, '\r', size) &&
	    !memchr(data, '\0', size)) { /* which JSON may have between its words */
		must((two = json_loadb(b.p, b.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e)) != NULL);
		char *mine = json_dumps(two, JSON_ENCODE_ANY | JSON_SORT_KEYS);
		char *theirs = json_dumps(one, JSON_ENCODE_ANY | JSON_SORT_KEYS);
		must(mine && theirs && !strcmp(mine, theirs));
		free(mine);
		free(theirs);
		json_decref(two);
	}
	json_decref(one);
	buf_release(&b);
	return 0;
}
