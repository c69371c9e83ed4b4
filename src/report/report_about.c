/* report_about.c - what a page says of the whole: what was asked for, and what is missing. */
#include "answer/show/show.h"
#include "answer/why/why.h"
#include "report/report_int.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_TOLD 500 /* annotations of a kind; of more it is said how many there are */

void report_shorten(json_t *o, size_t most)
{
	const char *key;
	json_t *value, *left = NULL;
	json_object_foreach(o, key, value)
	{
		size_t n = json_array_size(value);
		if (json_is_object(value))
			report_shorten(value, most);
		if (n <= most)
			continue;
		left = left ? left : json_object();
		js_num(left, key, n - most);
		for (size_t i = n; i > most; i--)
			json_array_remove(value, i - 1);
	}
	if (left)
		js_put(o, "left_out", left);
}

/* All that is known of the run itself. 1, 0 (there is no such run), -errno. */
static int run_about(struct report *r, json_t *o)
{
	struct run_info run;
	int rc = store_run(r->a->store, r->run, &run);
	if (rc <= 0)
		return rc;
	json_t *one = run_json(r->a, &run);
	if (!one)
		return -EIO;
	rc = store_run(r->a->store, r->run, &run);
	if (rc > 0) {
		js_str(one, "group", run.group);
		js_str_if(one, "outer", run.outer);
		js_pairs(one, "machine", &run.hostinfo);
		js_str(one, "mode", run.mode);
		js_num(one, "calls_stopped", run.traps);
		js_num(one, "executions_total", run.executions);
		rc = notes_json(r->a->store, one, NOTES_RUN, r->run, 0);
	}
	if (rc == 0)
		rc = app_log_json(r->a->store, r->run, one);
	report_shorten(one, MOST_TOLD);
	js_put(o, "run", one);
	return rc;
}

/* ---- who made the file ---- */

/* Adds a node of a why to the list. Nothing for a node that the report left out. input: with its role. */
static void add_why_node(const struct report *r, const struct why *w, uint32_t node, json_t *list, bool input)
{
	uint32_t at = report_find_node(r, w->l.nodes[node].id, w->l.nodes[node].exec);
	if (at == VEC_NONE) /* beyond the bound */
		return;
	json_t *one = json_object();
	js_num(one, "node", r->nodes[at].number);
	js_bool(one, "sure", w->certain[node]);
	if (input && w->sort[node] == ENTITY_DATA)
		js_text(one, "role", why_role_word((enum why_role)w->role[node], false));
	js_add(list, one);
}

/* "why" of the file that the page is of. -errno, or 0. */
static int why_about(struct report *r, json_t *o)
{
	struct why w;
	int rc = why_find(r->a, r->q->target.file.version, WHY_UNFOLDED, &w);
	if (rc < 0)
		return rc;
	json_t *one = json_object(), *makers = json_array(), *inputs = json_array();
	for (size_t i = 0; i < w.n_makers; i++)
		add_why_node(r, &w, w.makers[i], makers, false);
	for (size_t i = 0; i < w.n_inputs; i++)
		add_why_node(r, &w, w.inputs[i], inputs, true);
	js_bool(one, "sure", w.sure);
	js_put(one, "makers", makers);
	js_num(one, "makers_total", w.n_makers);
	js_put(one, "inputs", inputs);
	js_num(one, "inputs_total", w.n_inputs);
	js_put(o, "why", one);
	why_release(&w);
	return 0;
}

/* ---- what is missing ---- */

/* Which gaps executions have, and the sets of them; *ret_any is set where there is one. */
static void gaps_about(struct report *r, json_t *o, bool *ret_any)
{
	json_t *list = json_array(), *sets = json_array();
	for (unsigned i = 0; i < 64; i++) {
		if (!r->gaps[i].executions && !(r->run_gaps >> i & 1))
			continue;
		const char *meaning = term_meaning(SET_gap, i);
		json_t *one = json_object();
		js_text(one, "reason", term_name(SET_gap, i));
		js_text(one, "meaning", *meaning ? meaning : "something that requires a newer version of stemma");
		js_num(one, "executions", r->gaps[i].executions);
		if (r->gaps[i].executions)
			js_num(one, "first", r->nodes[r->gaps[i].first].number);
		js_add(list, one);
		*ret_any = true;
	}
	for (size_t i = 0; i < r->n_gap_sets; i++) {
		json_t *set = json_object();
		js_gaps(set, "gaps", r->gap_sets[i]);
		js_add(sets, json_incref(json_object_get(set, "gaps")));
		json_decref(set);
	}
	js_put(o, "gaps", list);
	js_put(o, "gap_sets", sets);
}

/* What is missing or damaged, and whether nothing is. -errno, or 0. */
static int complete_about(struct report *r, json_t *o)
{
	struct store_damage d;
	bool any = false;
	int rc = store_damage(r->a->store, &d);
	if (rc < 0)
		return rc;
	gaps_about(r, o, &any);
	json_t *record = json_object();
	js_num(record, "places", d.places);
	js_num(record, "recordings", d.sessions);
	js_put(o, "damage", record);
	js_num(o, "left_out", r->left_out);
	js_bool(o, "complete", !any && !d.places && !d.sessions && !r->left_out);
	return 0;
}

int report_about(struct report *r, json_t *o)
{
	bool run = r->q->target.kind == TARGET_RUN;
	json_t *subject = json_object(), *roots = json_array();
	js_text(subject, "kind", run ? "run" : "file");
	js_text(subject, "asked", r->q->name);
	for (size_t i = 0; i < r->l.n_roots && i < r->lineage_nodes; i++)
		js_add(roots, json_integer(r->nodes[i].number));
	js_put(subject, "roots", roots);
	js_put(o, "subject", subject);
	int rc = r->run ? run_about(r, subject) : 0;
	if (rc == 0 && !run)
		rc = why_about(r, o);
	if (rc == 0)
		rc = complete_about(r, o);
	return rc;
}
