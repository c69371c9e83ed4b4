/* A window of what programs tell of themselves: whatever it holds, entries lie in it, and each at most once. */
#include "capture/app/app_read.h"

#include <stdlib.h>

struct seen {
	const uint8_t *p;
	size_t n;
	uint64_t bytes, sum;
};

static int each(void *arg, const struct app_said *said)
{
	struct seen *s = arg;
	const struct str texts[] = {said->name, said->version, said->value};
	s->bytes += sizeof(struct app_entry);
	for (size_t i = 0; i < 3; i++) {
		const uint8_t *at = (const uint8_t *)texts[i].p;
		if (at < s->p || texts[i].n > s->n || at > s->p + s->n - texts[i].n)
			abort();
		for (size_t k = 0; k < texts[i].n; k++)
			s->sum += at[k];
		s->bytes += texts[i].n;
	}
	if (said->name.n > APP_NAME_MAX || said->version.n > APP_NAME_MAX || said->value.n > APP_VALUE_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct app_told head;
	uint8_t *copy = malloc(size ? size : 1); /* so that a sanitizer sees its end */
	struct seen s = {copy, size, 0, 0};
	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (app_read_head(copy, size, &head) && (strnlen(head.run, sizeof(head.run)) == sizeof(head.run) ||
	                                         strnlen(head.tool, sizeof(head.tool)) == sizeof(head.tool)))
		abort();
	app_read_entries(copy, size, each, &s);
	if (s.bytes > size)
		abort();
	free(copy);
	return 0;
}
