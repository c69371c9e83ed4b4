/* Traces of calls: any bytes as a specification in ProvScope's form and two traces, which are searched in it and
 * compared. The input is the specification, and after each line that is `%` alone the next of the traces, then the
 * names of the addresses of both. */
#include "fuzz_parts.h"
#include "spec/path/path_calls.h"
#include "spec/trace/provscope.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *part[4];
	size_t size[4];
	struct err err = {0};
	struct spec *spec = NULL;
	struct calls c[2] = {0};
	fuzz_parts(data, n, 4, part, size);
	int r = 0;
	for (int i = 0; r == 0 && i < 2; i++) {
		r = calls_read(part[i + 1], size[i + 1], &err, &c[i]);
		if (r < 0 && !*err.text)
			abort(); /* no reason was given */
		if (r == 0)
			r = calls_name(&c[i], part[3], size[3]);
	}
	/* A search may take seconds; what it reads need not be long to be anything. */
	bool search = r == 0 && c[0].n < 100 && c[1].n < 100 && provscope_spec_read(part[0], size[0], &err, &spec) == 0;
	for (int way = 0; r == 0 && way < 1 + 3 * search; way++) {
		struct called_steps steps = {0};
		struct call_path_found found = {.found = true};
		struct compare_options o = {.greedy = n % 2};
		struct compared x = {0};
		struct atlas m;
		r = way ? call_path_search(spec, c, (enum call_path_by)(way - 1), &steps, &found)
		        : called_steps_make(c, &steps);
		const struct spec *of = way ? spec : steps.spec;
		if (r == 0 && found.found && atlas_make(of, of, &m) == 0) {
			if (compare_calls(&m, c, &steps, &o, &err, &x) == 0 && x.equal != (x.result.total == 0))
				abort();
			compared_release(&x);
			atlas_release(&m);
		}
		free(found.decisions);
		called_steps_release(&steps);
	}
	for (int i = 0; i < 2; i++)
		calls_release(&c[i]);
	spec_free(spec);
	return 0;
}
