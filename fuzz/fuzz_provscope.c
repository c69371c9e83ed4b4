/* ProvScope's formats: any bytes as a specification, and as two traces of functions that are searched in it and
 * compared. The input is a specification, and after each line that is `%` alone the next of the traces. */
#include "fuzz_parts.h"
#include "spec/align/align_traces.h"
#include "spec/path/path.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *part[3];
	size_t size[3];
	struct err err = {0};
	struct spec *spec = NULL;
	struct call_events e[2] = {0};
	fuzz_parts(data, n, 3, part, size);
	int r = provscope_spec_read(part[0], size[0], &err, &spec);
	if (r < 0 && !*err.text)
		abort(); /* no reason was given */
	for (int i = 0; r == 0 && i < 2; i++)
		r = provscope_trace_read(part[i + 1], size[i + 1], &err, &e[i]);
	if (r == 0) {
		struct symbols symbols = {0};
		struct path_found found;
		struct compared c = {0};
		struct atlas m;
		struct steps steps[2] = {0};
		struct compare_options o = {.greedy = n % 2};
		if (atlas_make(spec, spec, &m) == 0) {
			r = path_search(spec, e, &symbols, steps, &found);
			for (int s = 0; s < 2; s++)
				c.thread[s].steps = steps[s];
			if (r == 0 && compare_steps(&m, &symbols, &o, &err, &c) == 0 && c.equal != (c.result.total == 0))
				abort();
			compared_release(&c);
			path_found_release(&found);
			atlas_release(&m);
		}
		symbols_release(&symbols);
	}
	for (int i = 0; i < 2; i++)
		call_events_release(&e[i]);
	spec_free(spec);
	return 0;
}
