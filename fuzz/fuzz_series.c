/* Series of a run: what is accepted is JSON of equally long columns of numbers; what is refused says why. */
#include "event/event.h"
#include "fuzz_file.h"
#include "report/report_series.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct buf b = {0};
	char *text = malloc(size + 1);
	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (report_series_text("file", text, TIME_NONE, &err, &b) < 0) {
		must(err.text[0]);
		free(text);
		buf_release(&b);
		return 0;
	}
	json_error_t e;
	json_t *o = json_loadb(b.p, b.n, 0, &e), *column;
	must(o);
	const char *name;
	size_t n = SIZE_MAX;
	json_object_foreach(json_object_get(o, "columns"), name, column)
	{
		must(strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name));
		must(n == SIZE_MAX || n == json_array_size(column));
		n = json_array_size(column);
		for (size_t i = 0; i < n; i++)
			must(json_is_number(json_array_get(column, i)) || json_is_null(json_array_get(column, i)));
	}
	must(n <= REPORT_POINTS && n <= (size_t)json_integer_value(json_object_get(o, "samples")));
	json_decref(o);
	free(text);
	buf_release(&b);
	return 0;
}
