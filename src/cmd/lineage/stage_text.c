#include "cmd/lineage/stage_text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ARGV_MAX 200 /* bytes of a command line */

/* Appends "name=value" of the job, each after blanks. */
static void put_wildcards(const struct stage *g, struct buf *b)
{
	for (size_t i = 0; i < g->wildcards_n; i += strlen(g->wildcards + i) + 1) {
		buf_printf(b, i ? " " : "  ");
		fmt_name(b, str_of(g->wildcards + i));
	}
}

void stage_title(const struct stage *g, bool whole, struct buf *b)
{
	buf_printf(b, "%s ", g->kind == STAGE_TASK ? "process" : stage_kind_name(g->kind));
	if (g->name)
		fmt_name(b, str_of(g->name));
	else
		buf_char(b, '?');
	if (whole)
		put_wildcards(g, b);
}

/* "rule sort  sample=A", "rule ?" */
static void put_stage(const struct stage *g, struct buf *b)
{
	stage_title(g, true, b);
}

/* "cell 3 of notebook fit.ipynb", "train of python3 train.py"; between two parts "python3 train.py behind train". 1,
 * -errno. */
static int put_cell(const struct stage_view *w, const struct stage_cell *c, struct buf *b)
{
	const struct stage *notebook = stage_view_notebook(w, c);
	int r = 1;
	if (!c->between)
		fmt_name(b, str_of(c->name));
	buf_printf(b, c->between ? "" : " of ");
	if (notebook)
		put_stage(notebook, b);
	else
		r = exec_name(w->s, c->exec, true, ARGV_MAX, b);
	if (c->between) {
		buf_printf(b, " behind ");
		fmt_name(b, str_of(c->name));
	}
	return r < 0 ? r : 1;
}

/* Appends the name of the node's stage, cell, step or engine to b. 1; 0: the record has none; -errno. */
static int put_stage_name(const struct stage_view *w, uint32_t node, struct buf *b)
{
	const struct stage *g = stage_view_stage(w, node);
	const struct stage_group *group = stage_view_group(w, node);
	struct exec_info x;
	if (g) {
		put_stage(g, b);
		return 1;
	}
	if (group->kind == GROUP_CELL)
		return put_cell(w, stage_view_cell(w, node), b);
	store_id id = group->kind == GROUP_ENGINE ? group->key : w->l.nodes[node].id;
	int r = store_exec(w->s, id, &x);
	if (r > 0 && group->kind == GROUP_STEP) {
		buf_printf(b, "step ");
		fmt_name(b, x.job);
		buf_char(b, '.');
		fmt_name(b, x.step);
	} else if (r > 0) {
		r = exec_name(w->s, id, true, ARGV_MAX, b);
		buf_printf(b, "  [workflow]");
		r = r < 0 ? r : 1;
	}
	return r;
}

/* Appends when it began, how long it took, its job, and how many programs it ran or failed. g may be NULL. */
static void put_note(const struct stage *g, const struct stage_cost *c, struct buf *b)
{
	if (c->start != TIME_NONE) {
		fmt_time(b, c->start, true);
		buf_printf(b, ", ");
		fmt_span(b, c->start, c->end);
		buf_printf(b, ", ");
	}
	if (g && g->job) {
		buf_printf(b, g->kind == STAGE_RULE ? "job " : "");
		fmt_name(b, str_of(g->job));
		buf_printf(b, ", ");
	}
	if (c->programs)
		buf_printf(b, "%llu program%s", (unsigned long long)c->programs, str_plural(c->programs));
	else
		buf_printf(b, "made by the workflow itself");
	if (c->failed)
		buf_printf(b, ", %llu failed", (unsigned long long)c->failed);
}

int stage_describe(const struct stage_view *w, uint32_t node, struct buf *name, struct buf *note)
{
	struct stage_cost c;
	store_id *execs = NULL;
	size_t n;
	if (!stage_view_group(w, node))
		return 0;
	int r = put_stage_name(w, node, name);
	if (r > 0)
		r = stage_view_execs(w, node, &execs, &n);
	if (r == 0)
		r = stage_view_cost(w, node, execs, n, &c);
	if (r == 0)
		put_note(stage_view_stage(w, node), &c, note);
	free(execs);
	return r < 0 ? r : 1;
}

int stage_print_programs(const struct stage_view *w, uint32_t node, const struct screen *out, const struct buf *indent,
                         uint64_t *ret_lines)
{
	store_id *execs = NULL;
	struct buf b = {0};
	size_t n;
	if (!stage_view_group(w, node))
		return 0;
	int r = stage_view_execs(w, node, &execs, &n);
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(w->s, execs[i], &x);
		if (r <= 0 || !x.n)
			continue;
		int64_t start = x.start, end = x.end;
		buf_reset(&b);
		buf_str(&b, buf_view(indent));
		buf_printf(&b, "%s ", out->utf8 ? "·" : "-");
		r = exec_name(w->s, execs[i], true, ARGV_MAX, &b);
		buf_printf(&b, "  (");
		fmt_span(&b, start, end);
		buf_char(&b, ')');
		if (out->tty)
			fmt_fit(&b, 0, (size_t)out->width, out->utf8);
		printf("%s%s%s\n", style_on(out, STYLE_DIM), buf_cstr(&b), style_off(out));
		++*ret_lines;
	}
	free(execs);
	buf_release(&b);
	return r < 0 ? r : 0;
}

/* Is there a stage shown whose name is not known, or is that of an output where the engine's log would have had it? */
static bool lacks_names(const struct stage_view *w)
{
	for (size_t i = 0; i < w->n_groups; i++) {
		const struct stage *g = w->groups[i].kind == GROUP_STAGE ? stage_view_stage(w, w->groups[i].node) : NULL;
		if (g && (!g->name || (g->engine == ENGINE_NINJA && g->named != NAMED_LOG)))
			return true;
	}
	return false;
}

void stage_print_rest(const struct stage_view *w)
{
	struct buf b = {0};
	if (w->inside)
		buf_printf(&b, "%llu within one stage", (unsigned long long)w->inside);
	if (w->own)
		buf_printf(&b, "%s%llu of the workflow's own", b.n ? ", " : "", (unsigned long long)w->own);
	if (b.n)
		printf("+ files: %s (shown without --stages)\n", buf_cstr(&b));
	for (size_t i = 0; lacks_names(w) && i < stages_missed(w->st); i++) {
		const char *path = stages_missed_path(w->st, i);
		buf_reset(&b);
		fmt_path(&b, str_of(path));
		printf("some names are unknown: %s %s\n", buf_cstr(&b),
		       access(path, F_OK) < 0 && errno == ENOENT ? "no longer exists" : "has changed since it was recorded");
	}
	buf_release(&b);
}
