/* stemma-spectrace PROGRAM TRACE... - function traces as lines, for tests: one event a line, indented by its frame, in
 * the words of the program's specification; then how it ended, and whether it fits.
 *
 *   #thread 0 lazy
 *   main(
 *    12 call puts
 *    13 decide true
 *   )main
 *   #end exit, fits
 *
 * With -q only the lines that begin with #; with -w a tab and the source's words behind each decision. */
#include "spec/trace/trace.h"

#include <stdio.h>
#include <string.h>

static void operands(const struct trace_event *e)
{
	switch (e->type) {
	case TRACE_NO_OPERANDS:
		break;
	case TRACE_REAL:
		printf(" (%g, %g)", e->a.d, e->b.d);
		break;
	case TRACE_UNSIGNED:
		printf(" (%llu, %llu)", (unsigned long long)e->a.u, (unsigned long long)e->b.u);
		break;
	default:
		printf(" (%lld, %lld)", (long long)e->a.i, (long long)e->b.i);
	}
}

static int one(const struct spec *s, const char *path, int quiet, int words)
{
	static const char *const ends[] = {"cut", "exit", "thread", "stopped"};
	static uint32_t stack[1 << 20];
	uint32_t depth = 0;
	uint64_t events = 0, enters = 0, silent = 0;
	struct err err = {0};
	struct trace *t;
	struct trace_event e;
	int rc = trace_open(path, &err, &t);
	if (rc < 0) {
		printf("#bad %s\n", err.text);
		return 1;
	}
	printf("#thread %s %s%s\n", trace_info(t)->thread, trace_info(t)->lazy ? "lazy" : "full",
	       trace_info(t)->operands ? " operands" : "");
	while ((rc = trace_next(t, &err, &e)) == 1) {
		const struct spec_node *n = NULL;
		events++;
		enters += e.kind == TRACE_ENTER;
		silent += e.kind == TRACE_SILENT;
		if (depth && (e.kind == TRACE_CALL || e.kind == TRACE_DECIDE) && stack[depth - 1] < s->n_functions &&
		    e.node < s->functions[stack[depth - 1]].n_nodes)
			n = spec_node(s, stack[depth - 1], e.node);
		if (e.kind == TRACE_LEAVE && depth)
			depth--;
		if (!quiet && e.kind != TRACE_GAP)
			printf("%*s", (int)depth, "");
		switch (e.kind) {
		case TRACE_ENTER:
			if (!quiet)
				printf("%s(\n", e.function < s->n_functions ? s->functions[e.function].name : "?");
			if (depth < sizeof(stack) / sizeof(stack[0]))
				stack[depth++] = e.function;
			break;
		case TRACE_LEAVE:
			if (!quiet)
				printf(")%s\n", stack[depth] < s->n_functions ? s->functions[stack[depth]].name : "?");
			break;
		case TRACE_CALL:
			if (!quiet)
				printf("%u call %s\n", n ? n->line : 0, n ? *n->name ? n->name : "*" : "?");
			break;
		case TRACE_DECIDE:
			if (!quiet) {
				const struct spec_edge *edge = n ? spec_outcome(s, n, e.outcome) : NULL;
				printf("%u decide %s", n ? n->line : 0, edge ? edge->label : "nothing");
				operands(&e);
				if (words)
					printf("\t%s", n ? n->words : "");
				putchar('\n');
			}
			break;
		case TRACE_SILENT:
			if (!quiet)
				printf("silent %llu\n", (unsigned long long)e.words);
			break;
		case TRACE_BACK:
			if (!quiet)
				printf("back %u\n", e.depth);
			if (e.depth <= depth)
				depth = e.depth;
			break;
		case TRACE_MESSAGE:
			if (!quiet)
				printf("message %u %d of %d, %d tag %d, %llu B, %u\n", e.message.kind, e.message.rank, e.message.size,
				       e.message.peer, e.message.tag, (unsigned long long)e.message.bytes, e.message.flags);
			break;
		case TRACE_GAP:
			printf("#gap %u\n", e.why);
			break;
		}
	}
	printf("#events %llu enters %llu silent %llu words %llu\n", (unsigned long long)events, (unsigned long long)enters,
	       (unsigned long long)silent, (unsigned long long)trace_position(t));
	if (rc < 0)
		printf("#bad %s\n", err.text);
	struct err misfit = {0};
	int fits = trace_fits(t, s, &misfit);
	printf("#end %s, %s\n", ends[trace_info(t)->end], fits < 0 ? misfit.text : "fits");
	trace_close(t);
	return rc < 0 || fits < 0;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	struct spec *s;
	int quiet = argc > 1 && strcmp(argv[1], "-q") == 0, words = argc > 1 && strcmp(argv[1], "-w") == 0, rc = 0;
	int first = 1 + (quiet || words);
	if (argc <= first)
		return 2;
	if (spec_load(argv[first], &err, &s) < 0) {
		printf("#bad %s\n", err.text);
		return 1;
	}
	for (int i = first + 1; i < argc; i++)
		rc |= one(s, argv[i], quiet, words);
	spec_free(s);
	return rc;
}
