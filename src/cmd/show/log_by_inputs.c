#include "cmd/show/log_by_inputs.h"

#include "answer/by_inputs.h"
#include "answer/fmt.h"
#include "base/strv.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_SHOWN 8   /* of a group, by their ids */
#define INPUTS_SHOWN 6 /* of the usual group */

/* "01HX…: 6 runs, 2026-11-21T14:02 to 2026-11-21T15:10" */
static void print_group_head(const struct by_inputs *b, uint32_t group)
{
	const struct by_group *g = &b->groups.v[group];
	int64_t last = b->runs.v[g->first].start, first = last;
	size_t failed = 0, shown = 0;
	struct buf t = {0};
	for (size_t i = 0; i < b->runs.n; i++) {
		const struct by_run *r = &b->runs.v[i];
		if (r->group != group)
			continue;
		first = r->start;
		failed += r->ending != TERM_ending_exited || r->code != 0;
	}
	fmt_time(&t, first, true);
	if (g->n > 1) {
		buf_printf(&t, " to ");
		fmt_time(&t, last, true);
	}
	printf("%s  %zu run%s, %s", group ? "odd  " : "usual", g->n, str_plural(g->n), buf_cstr(&t));
	printf(failed ? ", %zu failed\n" : "\n", failed);
	printf("       ");
	for (size_t i = 0; i < b->runs.n; i++)
		if (b->runs.v[i].group == group && shown++ < RUNS_SHOWN) {
			struct str id = fmt_run(str_of(b->runs.v[i].ulid));
			printf("%s%.*s", shown > 1 ? " " : "", (int)id.n, id.p);
		}
	if (shown > RUNS_SHOWN)
		printf(" and %zu more", shown - RUNS_SHOWN);
	putchar('\n');
	buf_release(&t);
}

/* What the usual runs read. */
static void print_usual(const struct by_inputs *b)
{
	size_t shown = 0, all = 0;
	for (size_t k = 0; k < b->aspects.n; k++) {
		const struct by_value *v = by_inputs_value(b, b->groups.v[0].first, k);
		if (b->aspects.v[k].kind != BY_INPUT || b->aspects.v[k].varies || !v)
			continue;
		all++;
		if (shown < INPUTS_SHOWN)
			printf("%s%s", shown++ ? ", " : "       from ", v->text);
	}
	if (all > shown)
		printf(", %zu more", all - shown);
	if (all)
		putchar('\n');
}

/* One thing that a group has otherwise. 0 or -errno. */
static int print_odd_one(struct cmd *c, const struct by_aspect *x, const struct by_value *usual,
                         const struct by_value *v)
{
	static const char *const kinds[] = {"input", "command", "variable ", "host"};
	struct buf b = {0};
	int r = 0;
	if (x->kind == BY_INPUT) {
		bool twins = usual && v && !strcmp(usual->text, v->text);
		buf_printf(&b, "input %s", v ? v->text : "");
		if (!v)
			buf_printf(&b, "%s was not read", usual->text);
		else if (!usual)
			buf_printf(&b, ", which the usual runs did not read");
		else
			buf_printf(&b, ", not %s%s", usual->text, twins ? " (another file of the name)" : "");
		r = by_inputs_change(cmd_source(c), usual, v, &b);
	} else {
		buf_printf(&b, v ? "%s%s " : "no %s%s, which is ", kinds[x->kind], x->kind == BY_VARIABLE ? x->name : "");
		fmt_name(&b, str_of(v ? v->text : usual->text));
		buf_printf(&b, !v ? " in the usual runs" : usual ? ", not " : ", which the usual runs do not have");
		if (v && usual)
			fmt_name(&b, str_of(usual->text));
	}
	printf("       %s\n", buf_cstr(&b));
	buf_release(&b);
	return r;
}

/* What the group has otherwise than the usual one. 0, -errno. */
static int print_odd(struct cmd *c, const struct by_inputs *b, uint32_t group)
{
	uint32_t first = b->groups.v[group].first, usual = b->groups.v[0].first;
	int r = 0;
	for (size_t k = 0; r == 0 && k < b->aspects.n; k++)
		if (by_inputs_is_odd(b, first, k))
			r = print_odd_one(c, &b->aspects.v[k], by_inputs_value(b, usual, k), by_inputs_value(b, first, k));
	return r;
}

/* Prints how many runs are usual and odd, each group with what differs, and what varies in each run. b has a run at
 * least. 0, -errno. */
static int print_groups(struct cmd *c, const char *command, const struct by_inputs *b)
{
	size_t odd = b->runs.n - b->groups.v[0].n, varying = 0;
	struct buf name = {0};
	int r = 0;
	fmt_name(&name, str_of(command));
	printf("%zu run%s %s %s", b->runs.n, str_plural(b->runs.n), b->inside ? "that executed" : "of", buf_cstr(&name));
	printf(odd ? ": %zu usual (the most common inputs and settings), %zu odd\n"
	           : ": all with the same inputs and settings\n",
	       b->groups.v[0].n, odd);
	if (b->reruns)
		printf("left out: %zu run%s of stemma rerun, which used copies of the files\n", b->reruns,
		       str_plural(b->reruns));
	for (uint32_t g = 0; r == 0 && g < b->groups.n; g++) {
		print_group_head(b, g);
		if (g)
			r = print_odd(c, b, g);
		else
			print_usual(b);
	}
	for (size_t k = 0; k < b->aspects.n; k++)
		if (b->aspects.v[k].varies) {
			buf_reset(&name);
			fmt_name(&name, str_of(b->aspects.v[k].name));
			printf("%s%s", varying++ ? ", " : "different in each run: ", buf_cstr(&name));
		}
	if (varying)
		putchar('\n');
	buf_release(&name);
	return r;
}

/* The command's words; NULL without memory. */
static char **split_words(const char *text)
{
	char *copy = strdup(text), **v = copy ? calloc(strlen(text) / 2 + 2, sizeof(*v)) : NULL, *save = NULL;
	size_t n = 0;
	for (char *w = v ? strtok_r(copy, " \t", &save) : NULL; w; w = strtok_r(NULL, " \t", &save))
		if (!(v[n] = strdup(w))) {
			strv_free(v);
			v = NULL;
			break;
		} else {
			n++;
		}
	free(copy);
	return v;
}

/* What was found, as text or JSON. The status; -errno. */
static int print_found(struct cmd *c, const struct opts_log *o, const struct by_inputs *b)
{
	json_t *all = NULL;
	int status = STATUS_OK, r = 0;
	if (o->json && (r = by_inputs_json(cmd_source(c), b, &all)) == 0)
		status = js_print(all, false);
	else if (!o->json && b->runs.n)
		r = print_groups(c, o->by_inputs, b);
	if (r == 0 && !b->runs.n)
		report("no run of '%s' is recorded", o->by_inputs);
	return r < 0 ? r : status != STATUS_OK ? status : b->runs.n ? STATUS_OK : STATUS_NOTHING;
}

int log_by_inputs(struct cmd *c, const struct opts_log *o, const struct idset *only)
{
	struct by_inputs b = {0};
	char **words = split_words(o->by_inputs);
	size_t n = 0;
	while (words && words[n])
		n++;
	if (words && !n) {
		strv_free(words);
		return report_usage(c, "--by-inputs needs a command");
	}
	int r = !words ? -1 : by_inputs_find(cmd_source(c), (const char *const *)words, n, only, o->count, &b);
	if (r == 0)
		r = print_found(c, o, &b);
	by_inputs_release(&b);
	strv_free(words);
	return r < 0 ? cmd_report_unread(c->store, "compare the inputs of the runs") : r;
}
