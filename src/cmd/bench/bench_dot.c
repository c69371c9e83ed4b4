/* bench_dot.c - runs as the provenance graph of a benchmark: what they were made with, the runs, what they gave and the
 * files they wrote. Together (one node stands for all runs; a value that varied is said with all its values), or with a
 * node for each run and each value, where runs that had the same share it. Data flows downwards. */
#include "cmd/bench/bench_show.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/markup.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_MAX 80 /* columns */

/* Cuts b to what a node may show. */
static void print_label(struct buf *b)
{
	fmt_fit(b, 0, LABEL_MAX, true);
	print_dot_quoted(stdout, buf_cstr(b));
}

/* second may be NULL; both are empty at the end. */
static void node(const char *kind, size_t number, const char *shape, struct buf *first, struct buf *second)
{
	printf("\t%s%zu [shape=%s label=\"", kind, number, shape);
	print_label(first);
	if (second && second->n) {
		printf("\\n");
		print_label(second);
	}
	printf("\"]\n");
	buf_reset(first);
	if (second)
		buf_reset(second);
}

/* A node for each run, or one for all. */
static void put_runs(const struct bench_shown *x, bool by_run)
{
	struct buf a = {0}, b = {0};
	const char *const shape = "box style=\"filled,rounded\" fillcolor=\"#e8f0fe\"";
	if (!by_run) {
		bench_show_title(x, &a);
		node("r", 0, shape, &a, NULL);
	}
	for (size_t i = 0; by_run && i < x->n; i++) {
		buf_str(&a, str_of(x->v[i].command));
		buf_str(&b, fmt_run(str_of(x->v[i].ulid)));
		buf_str(&b, str_of(", "));
		fmt_time(&b, x->v[i].start, true);
		node("r", i, shape, &a, &b);
	}
	buf_release(&a);
	buf_release(&b);
}

/* From what a run used to it, and from it to its results. */
static void print_value_edge(enum bench_show_part p, size_t run, size_t value)
{
	if (p == SHOW_RESULTS)
		printf("\tr%zu -> v%zu\n", run, value);
	else
		printf("\tv%zu -> r%zu\n", value, run);
}

/* The nodes and edges of one name. */
static void print_element_nodes(const struct bench_shown *x, bool by_run, enum bench_show_part p, const char *name,
                                size_t *number)
{
	static const char *const shapes[] = {"note", "component", "ellipse", "hexagon"};
	struct buf a = {0}, b = {0};
	struct buf *text = calloc(x->n + 1, sizeof(*text));
	size_t first = *number;
	for (size_t i = 0; text && by_run && i < x->n; i++) {
		const struct element *e = bench_show_find(x, i, p, name);
		size_t k = 0;
		if (!e)
			continue;
		for (size_t v = 0; v < e->n; v++) { /* whole: digests are cut for the eye only */
			buf_str(&text[i], str_of(e->value[v]));
			buf_char(&text[i], '\n');
		}
		if (!e->n) /* what is not known is nobody else's */
			buf_printf(&text[i], "run %zu", i);
		while (k < i && !str_eq(buf_view(&text[k]), buf_view(&text[i])))
			k++;
		if (k == i) {
			fmt_name(&a, str_of(name));
			bench_show_value(e, &b);
			node("v", first + i, shapes[p], &a, &b);
		}
		print_value_edge(p, i, first + k);
	}
	if (!by_run) {
		fmt_name(&a, str_of(name));
		bench_show_values(x, p, name, &b);
		node("v", first, shapes[p], &a, &b);
		print_value_edge(p, 0, first);
	}
	*number = first + (by_run ? x->n : 1);
	for (size_t i = 0; text && i < x->n; i++)
		buf_release(&text[i]);
	free(text);
	buf_release(&a);
	buf_release(&b);
}

void bench_dot(const struct bench_shown *x, bool by_run)
{
	struct buf a = {0};
	size_t number = 0;
	printf("digraph bench {\n\tnode [fontname=\"Helvetica\"]\n");
	put_runs(x, by_run);
	for (int p = 0; p < SHOW_PARTS; p++) {
		size_t n;
		const char **names = bench_show_names(x, (enum bench_show_part)p, &n);
		for (size_t i = 0; names && i < n; i++)
			print_element_nodes(x, by_run, (enum bench_show_part)p, names[i], &number);
		free(names);
	}
	for (size_t i = 0; x->files && x->files[i]; i++) {
		fmt_name(&a, str_of(x->files[i]));
		node("f", i, "note", &a, NULL);
		for (size_t k = 0; k < (by_run ? x->n : 1); k++)
			printf("\tr%zu -> f%zu\n", k, i);
	}
	printf("}\n");
	buf_release(&a);
}
