/* stage_json.c - the public JSON of a lineage by stages; stemma-lineage(1) documents the fields. */
#include "answer/entities.h"
#include "answer/peers.h"
#include "answer/stages/stage_view.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

struct out {
	const struct stage_view *w;
	struct pubid *ids; /* of each node */
	json_t *stages, *entities, *edges, *workflows, *seen;
	json_t **inputs, **outputs; /* of each node that is a stage; borrowed */
	bool up;
};

/* Sets o[name], null where it is not known. *ret_whole becomes false unless the figure is known and whole. */
static void put_figure(json_t *o, const char *name, const struct stage_figure *f, bool *ret_whole)
{
	if (f->known)
		js_num(o, name, f->value);
	else
		js_put(o, name, json_null());
	*ret_whole &= f->whole && f->known;
}

/* A figure that is not known is null, and `complete` false. The caller's. */
static json_t *cost_json(const struct stage_cost *c)
{
	json_t *o = json_object();
	bool whole = true;
	bool timed = c->start != TIME_NONE && c->end != TIME_NONE && c->end != TIME_NEVER;
	if (timed)
		js_num(o, "wall_time", (uint64_t)(c->end > c->start ? c->end - c->start : 0));
	else
		js_put(o, "wall_time", json_null());
	put_figure(o, "cpu_time", &c->cpu, &whole);
	put_figure(o, "memory", &c->rss, &whole);
	put_figure(o, "read", &c->read_bytes, &whole);
	put_figure(o, "written", &c->write_bytes, &whole);
	js_bool(o, "complete", whole && timed);
	return o;
}

/* The wildcards of a rule's job, NAME=VALUE. As an object. A name that is no UTF-8 is left out. */
static json_t *wildcards_json(const struct stage *g)
{
	json_t *o = json_object();
	for (size_t i = 0; i < g->wildcards_n;) {
		const char *one = g->wildcards + i, *equals = strchr(one, '=');
		char *key = strndup(one, equals ? (size_t)(equals - one) : strlen(one));
		json_t *name = key ? js_string(str_of(key)) : NULL; /* it may be no UTF-8 */
		if (name)
			js_str(o, json_string_value(name), str_of(equals ? equals + 1 : ""));
		json_decref(name);
		free(key);
		i += strlen(one) + 1;
	}
	return o;
}

/* Sets o[key]; null for NULL. */
static void put_text(json_t *o, const char *key, const char *text)
{
	if (text)
		js_str(o, key, str_of(text));
	else
		js_put(o, key, json_null());
}

void stage_put_names(const struct stage *g, json_t *one)
{
	js_text(one, "kind", stage_kind_name(g->kind));
	js_text(one, "engine", stage_engine_name(g->engine));
	put_text(one, "name", g->name);
	put_text(one, "named_by", stage_named_name(g->named));
	put_text(one, "job", g->job);
	js_put(one, "wildcards", wildcards_json(g));
}

/* The engine's execution, once. `workflow` of the stage is its id, or null. 0 or more; -errno. */
static int add_workflow(struct out *o, store_id engine, json_t *stage)
{
	struct exec_info x;
	enum stage_engine e;
	char id[sizeof(x.pub.text) + 1];
	int r = engine ? store_exec(o->w->s, engine, &x) : 0;
	if (r <= 0) {
		js_put(stage, "workflow", json_null());
		return r;
	}
	snprintf(id, sizeof(id), "%.*s", (int)sizeof(x.pub.text), x.pub.text);
	js_text(stage, "workflow", id);
	if (json_object_get(o->seen, id))
		return 0;
	js_put(o->seen, id, json_true());
	json_t *one = json_object();
	js_text(one, "id", id);
	js_list(one, "argv", &x.argv);
	js_str(one, "cwd", x.cwd);
	js_time(one, "start", x.start);
	js_time(one, "end", x.end);
	js_ending(one, "exit", x.ending, x.code);
	r = stages_engine(o->w->s, engine, &e);
	if (r > 0)
		js_text(one, "engine", stage_engine_name(e));
	js_add(o->workflows, one);
	return r < 0 ? r : 0;
}

/* A part of the execution `of`. Always 0. */
static int put_cell(struct out *o, const struct stage_cell *cell, const struct pubid *of, json_t *one)
{
	js_text(one, "kind", stage_view_notebook(o->w, cell) ? "cell" : "activity");
	put_text(one, "name", cell->between ? NULL : cell->name);
	if (cell->between)
		js_str(one, "behind", str_of(cell->name));
	js_text(one, "named_by", "program");
	js_pub(one, "of", of);
	return 0;
}

/* What kind of node it is, and its name. 0; -ENOENT: the record does not have it; -errno. */
static int put_name(struct out *o, uint32_t node, json_t *one)
{
	const struct stage *g = stage_view_stage(o->w, node);
	const struct stage_group *group = stage_view_group(o->w, node);
	struct exec_info x;
	const struct stage_cell *cell = stage_view_cell(o->w, node);
	store_id id = cell ? cell->exec : o->w->shape.rep[node] ? o->w->shape.rep[node] : o->w->l.nodes[node].id;
	int r = store_exec(o->w->s, id, &x);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	struct buf name = {0};
	if (cell)
		return put_cell(o, cell, &x.pub, one);
	if (g) {
		stage_put_names(g, one);
		return add_workflow(o, g->workflow, one);
	}
	if (group && group->kind == GROUP_STEP) {
		js_text(one, "kind", "step");
		buf_str(&name, x.job);
		buf_char(&name, '.');
		buf_str(&name, x.step);
	} else {
		js_text(one, "kind", group ? "workflow" : o->w->shape.ranks[node] ? "mpi" : "program");
		r = exec_name(o->w->s, id, true, 4000, &name);
	}
	js_str(one, "name", buf_view(&name));
	if (o->w->shape.ranks[node])
		js_num(one, "ranks", o->w->shape.ranks[node]);
	buf_release(&name);
	return r < 0 ? r : 0;
}

/* s and the digits of its first execution; of a part of one, of that and its number. */
static void set_stage_id(struct out *o, uint32_t node, const struct pubid *first)
{
	const struct stage_cell *cell = stage_view_cell(o->w, node);
	uint64_t number = cell ? cell->n * 2 + cell->between : 0;
	o->ids[node] = *first;
	if (cell)
		snprintf(o->ids[node].text, sizeof(o->ids[node].text), "s%016llx",
		         (unsigned long long)hash_more(hash_bytes(first->text, sizeof(first->text)), &number, sizeof(number)));
	o->ids[node].text[0] = 's';
}

/* Sets o->ids[node] by the first execution, or sNUMBER where an engine did it by itself. 0, -errno. */
static int put_executions(struct out *o, uint32_t node, json_t *one)
{
	store_id *execs;
	size_t n;
	struct stage_cost cost;
	json_t *list = json_array();
	int r = stage_view_execs(o->w, node, &execs, &n);
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(o->w->s, execs[i], &x);
		if (r > 0)
			js_add(list, js_string(str_n(x.pub.text, strnlen(x.pub.text, sizeof(x.pub.text)))));
		if (r > 0 && i == 0) {
			set_stage_id(o, node, &x.pub);
		}
	}
	if (r >= 0 && n == 0) { /* an engine did it by itself: no program is of it */
		const struct stage *g = stage_view_stage(o->w, node);
		snprintf(o->ids[node].text, sizeof(o->ids[node].text), "s%llu",
		         g ? (unsigned long long)(g - stages_get(o->w->st, 0)) : 0);
	}
	if (r >= 0)
		r = stage_view_cost(o->w, node, execs, n, &cost);
	js_put(one, "executions", list);
	if (r >= 0) {
		js_time(one, "start", cost.start);
		js_time(one, "end", cost.end);
		js_num(one, "failed", cost.failed);
		js_gaps(one, "completeness", cost.gaps);
		js_put(one, "cost", cost_json(&cost));
	}
	free(execs);
	return r < 0 ? r : 0;
}

/* Adds the node with its lists of inputs and outputs, which add_edge fills. 0, -errno. */
static int add_stage(struct out *o, uint32_t node)
{
	json_t *one = json_object();
	int r = put_executions(o, node, one);
	if (r == 0) {
		js_pub(one, "id", &o->ids[node]);
		r = put_name(o, node, one);
	}
	o->inputs[node] = json_array();
	o->outputs[node] = json_array();
	js_put(one, "inputs", o->inputs[node]);
	js_put(one, "outputs", o->outputs[node]);
	js_add(o->stages, one);
	return r;
}

/* Appends the entity of a node, a version of a file. As write_entity of a lineage. 0; -ENOENT: the record does not
 * have it; -errno. */
static int add_entity(struct out *o, uint32_t node)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(o->w->s, o->w->l.nodes[node].id, &v);
	if (r > 0)
		r = store_file(o->w->s, v.file, &f);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	o->ids[node] = v.pub;
	json_t *one = entity_json(&v, &f);
	r = peer_json(o->w->s, &v, &f, one);
	if (r >= 0)
		r = notes_json(o->w->s, one, NOTES_FILE, v.file, v.n);
	js_add(o->entities, one);
	return r < 0 ? r : 0;
}

/* Adds an edge, from the later thing to the earlier one. */
static void add_edge(struct out *o, uint32_t node, const struct branch *b)
{
	static const char *const types[2][2] = {{"wasDerivedFrom", "wasGeneratedBy"}, {"used", "wasInformedBy"}};
	uint32_t later = o->up ? node : b->child, earlier = o->up ? b->child : node;
	const struct lineage_node *nodes = o->w->l.nodes;
	json_t *e = json_object();
	js_text(e, "type", types[nodes[later].exec][nodes[earlier].exec]);
	js_pub(e, "from", &o->ids[later]);
	js_pub(e, "to", &o->ids[earlier]);
	js_text(e, "certainty", b->sure ? "must" : "may");
	js_add(o->edges, e);
	json_t *to = nodes[later].exec ? o->inputs[later] : o->outputs[earlier];
	if (to && nodes[later].exec != nodes[earlier].exec) {
		uint32_t version = nodes[later].exec ? earlier : later;
		js_add(to, js_string(str_n(o->ids[version].text, strnlen(o->ids[version].text, sizeof(o->ids[version].text)))));
	}
}

/* Adds all nodes that are shown, then all edges. 0, -errno. */
static int add_all(struct out *o)
{
	const struct stage_view *w = o->w;
	int r = 0;
	for (uint32_t i = 0; i < w->l.n_nodes && r == 0; i++)
		if (w->shape.shown[i])
			r = w->l.nodes[i].exec ? add_stage(o, i) : add_entity(o, i);
	for (uint32_t i = 0; i < w->l.n_nodes && r == 0; i++)
		for (size_t k = w->shape.first[i]; w->shape.shown[i] && k < w->shape.first[i + 1]; k++)
			add_edge(o, i, &w->shape.branches[k]);
	return r;
}

int stage_view_json(const struct stage_view *w, bool up, json_t **ret)
{
	size_t n = w->l.n_nodes + 1;
	struct out o = {.w = w,
	                .up = up,
	                .ids = calloc(n, sizeof(*o.ids)),
	                .inputs = calloc(n, sizeof(json_t *)),
	                .outputs = calloc(n, sizeof(json_t *)),
	                .stages = json_array(),
	                .entities = json_array(),
	                .edges = json_array(),
	                .workflows = json_array(),
	                .seen = json_object()};
	json_t *all = json_object(), *omitted = json_object(), *missed = json_array();
	int r = o.ids && o.inputs && o.outputs ? add_all(&o) : -ENOMEM;
	js_num(all, "format", 1);
	if (o.ids)
		js_pub(all, "root", &o.ids[0]);
	for (int k = 0; k < OMIT_COUNT; k++)
		js_num(omitted, lineage_omit_name[k], w->l.omitted[k]);
	js_num(omitted, "within", w->inside);
	js_num(omitted, "engine", w->own); /* with what the walk left out of them */
	for (size_t i = 0; i < stages_missed(w->st); i++)
		js_add(missed, js_string(str_of(stages_missed_path(w->st, i))));
	js_put(all, "stages", o.stages);
	js_put(all, "workflows", o.workflows);
	js_put(all, "entities", o.entities);
	js_put(all, "edges", o.edges);
	js_put(all, "omitted", omitted);
	js_put(all, "unnamed_for", missed);
	js_bool(all, "cut", w->l.cut);
	json_decref(o.seen);
	free(o.ids);
	free(o.inputs);
	free(o.outputs);
	if (r < 0)
		json_decref(all);
	else
		*ret = all;
	return r;
}
