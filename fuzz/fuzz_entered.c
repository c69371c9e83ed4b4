/* Traces of functions by probes: any bytes as a specification in ProvScope's form and two traces, whose paths are
 * searched in it and compared. The input is the specification, and after each line that is `%` alone the next of the
 * traces. */
#include "fuzz_parts.h"
#include "spec/align/align_traces.h"
#include "spec/path/path.h"
#include "spec/trace/entered.h"

#include <stdlib.h>
#include <string.h>

/* Every enter has its leave behind it, or none; they are nested. */
static void is_nested(const struct call_events *e)
{
	uint32_t *open = malloc(((size_t)e->n + 1) * sizeof(*open)), n = 0;
	for (uint32_t i = 0; open && i < e->n; i++) {
		if (e->v[i].name >= e->n_names)
			abort();
		if (!e->v[i].leave)
			open[n++] = i;
		else if (!n || open[--n] != e->v[i].other || e->v[open[n]].other != i)
			abort();
	}
	while (open && n)
		if (e->v[open[--n]].other != e->n)
			abort();
	free(open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *part[3];
	size_t size[3];
	struct err err = {0};
	struct spec *spec = NULL;
	struct entered e[2] = {0};
	fuzz_parts(data, n, 3, part, size);
	int r = 0;
	for (int i = 0; r == 0 && i < 2; i++) {
		r = entered_read(part[i + 1], size[i + 1], &err, &e[i]);
		if (r < 0 && !*err.text)
			abort(); /* no reason was given */
		if (r == 0)
			is_nested(&e[i].events);
	}
	if (r == 0 && provscope_spec_read(part[0], size[0], &err, &spec) == 0) {
		struct call_events v[2] = {e[0].events, e[1].events};
		struct symbols symbols = {0};
		struct compared c = {0};
		struct steps steps[2] = {0};
		struct path_found found = {0};
		struct compare_options o = {.greedy = n % 2};
		struct atlas m;
		if (path_search(spec, v, &symbols, steps, &found) == 0 && atlas_make(spec, spec, &m) == 0) {
			for (int s = 0; s < 2; s++)
				c.thread[s].steps = steps[s];
			if (compare_steps(&m, &symbols, &o, &err, &c) == 0 && c.equal != (c.result.total == 0))
				abort();
			compared_release(&c);
			atlas_release(&m);
		} else {
			steps_release(&steps[0]);
			steps_release(&steps[1]);
		}
		path_found_release(&found);
		symbols_release(&symbols);
	}
	for (int i = 0; i < 2; i++)
		entered_release(&e[i]);
	spec_free(spec);
	return 0;
}
