/* stemma why: one line for a file: what made it, from what, who, when, where. */
#include "cmd/things.h"
#include "query/lineage.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

#define PIPELINE_MAX 6 /* commands of a pipeline that are named */

/* What stands near a version in its lineage of depth 1: streams are passed through. */
struct near {
	struct lineage l;
	uint32_t *makers, *inputs; /* nodes */
	size_t n_makers, n_inputs;
	bool maker_sure, derived; /* derived: its own earlier version is among the inputs */
	uint64_t gaps;
};

static void near_release(struct near *n)
{
	lineage_release(&n->l);
	free(n->makers);
	free(n->inputs);
}

/* The executions that generated it, the last writer of the pipe before the one that read it, ...: makers[0] made it.
 * The inputs: all files that these used, in the order of first use. */
static int near_get(struct cmd *c, store_id version, struct near *ret)
{
	struct lineage_options o = {
	    .depth = 1,
	    .skew = config_duration(&c->config, CONFIG_skew),
	    .system_extra = config_get(&c->config, CONFIG_system),
	};
	struct err err = {0};
	struct near n = {.maker_sure = true};
	int r = lineage_walk(c->store, &version, 1, &o, &err, &n.l);
	if (r < 0)
		return r;
	n.makers = calloc(n.l.n_nodes + 1, sizeof(*n.makers));
	n.inputs = calloc(n.l.n_nodes + 1, sizeof(*n.inputs));
	if (!n.makers || !n.inputs) {
		near_release(&n);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < n.l.n_nodes; i++) {
		const struct lineage_node *node = &n.l.nodes[i];
		if (node->exec) {
			struct exec_info x;
			n.makers[n.n_makers++] = i;
			if (store_exec(c->store, node->id, &x) > 0)
				n.gaps |= x.gaps;
		} else if (!node->stream) {
			n.inputs[n.n_inputs++] = i;
		}
	}
	const struct lineage_node *root = &n.l.nodes[0];
	for (uint32_t k = 0; k < root->n; k++) {
		const struct lineage_edge *e = &n.l.edges[root->first + k];
		n.maker_sure &= e->type != LINEAGE_GENERATED || e->e.sure;
		n.derived |= e->type == LINEAGE_DERIVED;
	}
	*ret = n;
	return 0;
}

/* Is there a sure edge to node i? */
static bool is_sure(const struct lineage *l, uint32_t i)
{
	for (size_t k = 0; k < l->n_edges; k++)
		if (l->edges[k].to == i && l->edges[k].e.sure)
			return true;
	return false;
}

/* How many executions generated the version itself: they come first among the makers. */
static size_t direct_makers(const struct near *n)
{
	size_t count = 0;
	for (uint32_t k = 0; k < n->l.nodes[0].n; k++)
		count += n->l.edges[n->l.nodes[0].first + k].type == LINEAGE_GENERATED;
	return count;
}

/* "sort x | uniq -c": the makers as a pipeline, each about max columns. */
static int fmt_makers(struct cmd *c, const struct near *n, size_t max, struct buf *b)
{
	size_t direct = direct_makers(n), shown = n->n_makers < PIPELINE_MAX ? n->n_makers : PIPELINE_MAX;
	/* Only one that wrote the file itself: those behind it stand upstream of it, the farthest last in the walk. */
	bool pipeline = direct == 1 && shown > 1;
	int r = 0;
	for (size_t k = 0; k < shown && r >= 0; k++) {
		size_t i = pipeline ? shown - 1 - k : k, from = b->n;
		if (k && pipeline)
			buf_printf(b, " | ");
		else if (k)
			buf_printf(b, k < direct ? " and " : ", ");
		from = b->n;
		r = exec_name(c->store, n->l.nodes[n->makers[i]].id, true, max * 4, b);
		fmt_fit(b, from, max, c->out.utf8);
	}
	if (n->n_makers > shown)
		buf_printf(b, ", +%zu", n->n_makers - shown);
	if (!n->maker_sure)
		buf_printf(b, " ?");
	return r < 0 ? r : 0;
}

static int fmt_inputs(struct cmd *c, const struct near *n, size_t max, struct buf *b)
{
	for (size_t i = 0; i < n->n_inputs && i < max; i++) {
		struct version_info v;
		struct file_info f;
		int r = store_version(c->store, n->l.nodes[n->inputs[i]].id, &v);
		if (r > 0)
			r = store_file(c->store, v.file, &f);
		if (r < 0)
			return r;
		buf_printf(b, i ? ", " : "");
		version_name(b, &v, &f);
		if (!is_sure(&n->l, n->inputs[i]))
			buf_char(b, '?');
	}
	if (n->n_inputs > max)
		buf_printf(b, "%s+%zu", max ? ", " : "", n->n_inputs - max);
	return 0;
}

static const char *disk_words(const struct file_target *t)
{
	if (t->n)
		return "";
	switch (t->disk) {
	case DISK_CHANGED:
		return "; CHANGED on disk since";
	case DISK_REPLACED:
		return "; ANOTHER file has the name now";
	case DISK_GONE:
	case DISK_SAME:
		break;
	}
	return "";
}

/* The line of a version that somebody was seen making: as much of the command and the inputs as the width takes. */
static int made_line(struct cmd *c, const struct file_target *t, const struct version_info *v, const struct near *n,
                     struct buf *line)
{
	static const struct {
		size_t argv, inputs;
	} tries[] = {{400, 6}, {160, 4}, {100, 3}, {60, 3}, {40, 2}, {28, 1}, {16, 1}, {12, 0}};
	struct buf name = {0}, who = {0};
	struct file_info f;
	struct exec_info x;
	size_t width = c->out.tty || getenv("COLUMNS") ? (size_t)c->out.width : 200;
	int r = store_file(c->store, v->file, &f);
	if (r > 0)
		version_name(&name, v, &f);
	if (r > 0)
		r = store_exec(c->store, n->l.nodes[n->makers[0]].id, &x);
	if (r > 0) {
		buf_printf(&who, " by ");
		fmt_who(&who, x.user, x.host);
		buf_printf(&who, ", ");
		fmt_time(&who, v->end != TIME_NEVER && v->end != TIME_NONE ? v->end : v->start, false);
	}
	for (size_t k = 0; k < sizeof(tries) / sizeof(tries[0]) && r >= 0; k++) {
		buf_reset(line);
		buf_printf(line, "%s: made by ", buf_cstr(&name));
		r = fmt_makers(c, n, tries[k].argv, line);
		if (n->n_inputs) {
			buf_printf(line, " from ");
			if (!tries[k].inputs)
				buf_printf(line, "%zu file%s", n->n_inputs, n->n_inputs == 1 ? "" : "s");
			else if (r >= 0)
				r = fmt_inputs(c, n, tries[k].inputs, line);
		}
		buf_printf(line, "%s%s%s", buf_cstr(&who), n->gaps ? "; part unseen" : "", disk_words(t));
		if (fmt_columns(buf_view(line)) <= width)
			break;
	}
	buf_release(&name);
	buf_release(&who);
	return r < 0 ? r : 0;
}

/* The line of a version that nobody was seen making. */
static int found_line(struct cmd *c, const struct file_target *t, const struct version_info *v, struct buf *line)
{
	struct file_info f;
	int r = store_file(c->store, v->file, &f);
	if (r <= 0)
		return r;
	version_name(line, v, &f);
	if (v->origin == ORIGIN_OBSERVED) {
		buf_printf(line, ": what made it was not seen");
	} else if (v->origin == ORIGIN_UNOBSERVED) {
		buf_printf(line, ": changed where nobody recorded it, before ");
		fmt_time(line, v->start, false);
	} else {
		buf_printf(line, ": not made under stemma; first seen ");
		fmt_time(line, v->start, false);
	}
	struct edges readers = {0};
	r = store_readers(c->store, v->id, &readers);
	if (r >= 0 && readers.n)
		buf_printf(line, ", used by %zu execution%s", readers.n, readers.n == 1 ? "" : "s");
	edges_release(&readers);
	buf_printf(line, "%s", disk_words(t));
	return r < 0 ? r : 0;
}

static int node_list_json(struct cmd *c, const struct near *n, const uint32_t *nodes, size_t count, json_t *list)
{
	for (size_t i = 0; i < count; i++) {
		json_t *one = NULL;
		store_id id = n->l.nodes[nodes[i]].id;
		int r;
		if (n->l.nodes[nodes[i]].exec) {
			struct exec_info x;
			r = store_exec(c->store, id, &x);
			if (r > 0)
				r = exec_json(c->store, &x, &one);
		} else {
			struct version_info v;
			struct file_info f;
			r = store_version(c->store, id, &v);
			if (r > 0)
				r = store_file(c->store, v.file, &f);
			if (r > 0)
				one = entity_json(&v, &f);
		}
		if (r < 0)
			return r;
		js_text(one, "certainty", is_sure(&n->l, nodes[i]) ? "must" : "may");
		js_add(list, one);
	}
	return 0;
}

static int why_json(struct cmd *c, const struct file_target *t, const struct version_info *v, const struct near *n,
                    json_t *list)
{
	static const char *const disk[] = {"same", "changed", "replaced", "gone"};
	struct file_info f;
	json_t *o = json_object(), *makers = json_array(), *inputs = json_array();
	int r = store_file(c->store, v->file, &f);
	if (r > 0) {
		js_put(o, "entity", entity_json(v, &f));
		r = node_list_json(c, n, n->makers, n->n_makers, makers);
	}
	if (r >= 0)
		r = node_list_json(c, n, n->inputs, n->n_inputs, inputs);
	js_num(o, "makers_direct", direct_makers(n));
	js_put(o, "makers", makers);
	js_put(o, "inputs", inputs);
	js_text(o, "disk", disk[t->disk]);
	js_add(list, o);
	return r;
}

/* One file. The status. */
static int why(struct cmd *c, const char *text, json_t *list)
{
	struct err err = {0};
	struct file_target t;
	int r = target_file(c->store, text, &err, &t);
	if (r <= 0)
		return say_err(&err, cmd_target_status(r));
	if (!t.version) {
		say("'%s' is known by name only; no content of it is recorded", text);
		return STATUS_NOTHING;
	}
	struct version_info v;
	struct near n = {0};
	struct buf line = {0};
	bool made = false;
	r = store_version(c->store, t.version, &v);
	if (r > 0)
		r = near_get(c, t.version, &n);
	if (r >= 0) {
		made = direct_makers(&n) > 0;
		if (list)
			r = why_json(c, &t, &v, &n, list);
		else
			r = made ? made_line(c, &t, &v, &n, &line) : found_line(c, &t, &v, &line);
	}
	if (r < 0)
		say("cannot say why '%s' is there", text);
	else if (!list)
		puts(buf_cstr(&line));
	buf_release(&line);
	near_release(&n);
	return r < 0 ? STATUS_SELF : made ? STATUS_OK : STATUS_NOTHING;
}

int cmd_why(struct cmd *c, const struct opts_why *o)
{
	if (!c->n_operands)
		return say_usage(c, "why needs a file");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	json_t *list = o->json ? json_array() : NULL;
	for (int i = 0; i < c->n_operands && status != STATUS_SELF; i++) {
		int one = why(c, c->operands[i], list);
		status = one > status ? one : status;
	}
	if (o->json && status != STATUS_SELF) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "answers", list);
		int printed = js_print(all, false);
		status = printed != STATUS_OK ? printed : status;
	} else {
		json_decref(list);
	}
	return status;
}
