/* Limits, on a command line and in a file: nothing is accepted that makes no sense, and what is refused says why and
 * changes nothing. */
#include "fuzz_file.h"
#include "summary/limit.h"

#include <stdlib.h>
#include <string.h>

static void sound(const struct limits *limits)
{
	for (int i = 0; i < LIMITS; i++) {
		must(limits->value[i] >= 0);
		must(limits->given[i] || limits->value[i] == 0);
		struct buf b = {0};
		limit_show(&b, (enum limit_name)i, limits->value[i]);
		must(b.n > 0);
		buf_release(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct limits limits = {0}, before = {0};
	struct err err = {0};
	if (limits_parse_file(&limits, (const char *)data, size, "file", &err) < 0)
		must(err.text[0] && !memcmp(&limits, &before, sizeof(before)));
	sound(&limits);
	before = limits;

	char *text = malloc(size + 1);
	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	err = (struct err){0};
	if (limits_parse(&limits, text, &err) < 0)
		must(err.text[0] && !memcmp(&limits, &before, sizeof(before)));
	else
		must(limits_any(&limits));
	sound(&limits);
	int64_t t = -1;
	err = (struct err){0};
	if (limits_parse_time(text, &err, &t) == 0)
		must(t >= 0);
	else
		must(t == -1 && err.text[0]);
	free(text);
	return 0;
}
