/* fuzz_where.c - the conditions of `stemma archive --where`, and what they are asked of: any command line. The text is
 * the condition up to its first NUL, then the words of a command, each with its NUL. */
#include "archive/where.h"
#include "summary/summary.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct summary_figure figure[FIGURES] = {0};
	struct buf words = {0}, value = {0};
	struct summary_info m = {.figure = figure, .status = -1, .signal = -1, .exit_type = n % 5};
	struct where *w = NULL;
	struct err err = {0};
	char *text = malloc(n + 1);
	if (!text)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	for (size_t at = strlen(text) + 1; at < n; at += strlen(text + at) + 1) {
		struct str word = str_of(text + at);
		buf_varint(&words, word.n);
		buf_str(&words, word);
		m.argv.count++;
	}
	m.argv.raw = m.labels.raw = m.host.raw = buf_view(&words);
	m.labels.count = m.host.count = m.argv.count;
	for (unsigned i = 0; i < FIGURES; i++)
		figure[i] = (struct summary_figure){.known = i % 2, .complete = true, .value = (int64_t)i << i};
	int rc = where_parse(text, 1767225600000000000, &err, &w);
	if (rc == 0) {
		int held = where_holds(w, NULL, &m);
		if (held != 0 && held != 1)
			abort();
	} else if (!err.text[0]) {
		abort(); /* a refusal says why */
	}
	where_free(w);
	for (int k = 0; k < TASK_KEYS; k++) {
		struct key key = {.key = (enum task_key)k};
		buf_reset(&value);
		if (task_value(NULL, &m, &key, &value) < 0)
			abort();
	}
	buf_release(&value);
	buf_release(&words);
	free(text);
	return 0;
}
