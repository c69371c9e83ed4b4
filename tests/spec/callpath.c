/* stemma-callpath PROGRAM TRACE - which path of the program's specification has the calls of the trace, for tests: a
 * line for each call, `NAME LINE FUNCTION<FUNCTION...` (of the node that made it, and who called that), `NAME - -`
 * where it was made by none. Before them a line
 *
 *   #found ways 3, certain up to 17 of 40 | #none | #too large
 *
 * With -m the search takes many stacks for one at once, with -s each by itself only. */
#include "spec/path/path_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 65536 };

int main(int argc, char **argv)
{
	static uint32_t stack[DEPTH];
	struct err err = {0};
	struct spec *s;
	struct calls c[2];
	struct called_steps steps;
	struct call_path_found f;
	uint32_t depth = 0;
	enum call_path_by by = CALL_PATH_BEST;
	if (argc > 1 && (!strcmp(argv[1], "-m") || !strcmp(argv[1], "-s"))) {
		by = argv[1][1] == 'm' ? CALL_PATH_MERGED : CALL_PATH_SINGLY;
		argv++;
		argc--;
	}
	if (argc != 3 || spec_load(argv[1], &err, &s) < 0 || calls_load(argv[2], &err, &c[0]) < 0) {
		fprintf(stderr, "%s\n", argc == 3 ? err.text : "stemma-callpath PROGRAM TRACE");
		return 2;
	}
	c[1] = c[0];
	int r = call_path_search(s, c, by, &steps, &f);
	if (r < 0)
		return 2;
	if (!f.found)
		puts(f.too_large ? "#too large" : "#none");
	else
		printf("#found ways %llu, certain up to %u of %u%s%s%s\n", (unsigned long long)f.ways[0], f.apart, c[0].n,
		       f.loose ? ", loose" : "", f.deep ? ", deep" : "", f.merged ? ", merged" : "");
	for (size_t i = 0; f.found && i < steps.steps[0].n; i++) {
		const struct symbol *x = &steps.symbols.v[steps.steps[0].v[i]];
		bool last = i + 1 == steps.steps[0].n || steps.call[0][i + 1] != steps.call[0][i];
		if (x->kind == STEP_ENTER && depth < DEPTH)
			stack[depth++] = x->of;
		else if (x->kind == STEP_LEAVE && depth)
			depth--;
		if (x->kind != STEP_AT || !last)
			continue;
		printf("%s ", calls_text_of(&c[0], c[0].v[steps.call[0][i]].name));
		if (x->of == SPEC_NONE) {
			puts("- -");
			continue;
		}
		printf("%u ", spec_node(s, x->of, x->node)->line);
		for (uint32_t d = depth; d-- > 0;)
			printf("%s%s", s->functions[stack[d]].name, d ? "<" : "\n");
	}
	free(f.decisions);
	called_steps_release(&steps);
	calls_release(&c[0]);
	spec_free(s);
	return 0;
}
