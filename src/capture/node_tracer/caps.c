/* stemma-node-caps [--measure] - what the node's tracer could do here: for `stemma doctor`, which does without libbpf.
 * A line each: name, yes or no, ns a time (-1 not measured), how or why not; with tabs between. */
#include "capture/node_tracer/tracer.h"

#include <stdio.h>

/* Prints what works here: name, yes or no, cost (ns), reason; a tab between. */
int main(int argc, char **argv)
{
	struct tracer_caps caps;
	tracer_probe(argc > 1 && !strcmp(argv[1], "--measure"), &caps);
	for (unsigned i = 0; i < caps.n; i++)
		printf("%s\t%s\t%.0f\t%s\n", caps.cap[i].name, caps.cap[i].works ? "yes" : "no", caps.cap[i].cost,
		       caps.cap[i].text);
	return 0;
}
