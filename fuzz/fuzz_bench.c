/* Benchmark files, and extractors over texts: the first line of the input is which, the rest the text. */
#include "fuzz_file.h"
#include "trust/bench/benchfile.h"
#include "trust/extract.h"

#include <stdlib.h>
#include <string.h>

static void extract(enum extract_how how, const char *pattern, bool all, bool unordered, const char *text, size_t n)
{
	struct extractor x = {.name = (char *)"x",
	                      .from = (char *)"stdout",
	                      .how = how,
	                      .pattern = (char *)pattern,
	                      .all = all,
	                      .unordered = unordered};
	struct elements values = {0}, missing = {0};
	if (how == EXTRACT_GUESS)
		x.name = NULL;
	extract_text(&x, text, n, &values, &missing);
	/* Never a value that was not there once, and never silence. */
	must(values.failed || missing.failed || values.n || missing.n);
	if (!all && how != EXTRACT_GUESS && how != EXTRACT_POINTER)
		must(values.n + missing.n == 1 && (!values.n || values.v[0].n == 1));
	elements_release(&values);
	elements_release(&missing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct benchfile b;
	struct err err = {0};
	char *text = malloc(size + 1);
	must(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (benchfile_read(text, size, "file", &err, &b) < 0)
		must(err.text[0]);
	benchfile_release(&b);

	const char *line = size ? memchr(text, '\n', size) : NULL;
	size_t at = line ? (size_t)(line + 1 - text) : 0;
	if (line) {
		text[at - 1] = '\0';
		extract(EXTRACT_POINTER, text, false, false, text + at, size - at);
		extract(EXTRACT_COLUMN, text, false, false, text + at, size - at);
		extract(EXTRACT_COLUMN, text, true, false, text + at, size - at);
	}
	extract(EXTRACT_GUESS, NULL, false, false, text + at, size - at);
	extract(EXTRACT_DIGEST, NULL, false, true, text + at, size - at);
	extract(EXTRACT_REGEX, "([a-z]+): *([0-9.]+)", false, false, text + at, size - at);
	free(text);
	return 0;
}
