/* why_json.c - who made a version, from what, as JSON. */
#include "answer/peers.h"
#include "answer/why/why_int.h"

#include <errno.h>
#include <stdlib.h>

/* Of each node: is there a sure edge to it? NULL without memory. */
static bool *find_sure(const struct lineage *l)
{
	bool *sure = calloc(l->n_nodes + 1, sizeof(*sure));
	for (size_t k = 0; k < l->n_edges && sure; k++)
		sure[l->edges[k].to] |= l->edges[k].e.sure;
	return sure;
}

/* Of each node: who used it; 0 nobody. NULL without memory. */
static store_id *find_users(const struct lineage *l)
{
	store_id *user = calloc(l->n_nodes + 1, sizeof(*user));
	for (size_t k = l->n_edges; k-- && user;)
		if (l->edges[k].type == LINEAGE_USED)
			user[l->edges[k].to] = l->nodes[l->edges[k].from].id;
	return user;
}

/* Appends the nodes of a why: executions or versions, with certainty and how they were used. n_seen: how many of
 * them may be certain, as `certain` has it of each node. 0, -errno. */
static int node_list_json(const struct answer_source *a, const struct why *n, const uint32_t *nodes, size_t count,
                          size_t n_seen, const bool *certain, const store_id *user, json_t *list)
{
	for (size_t i = 0; i < count; i++) {
		json_t *one = NULL;
		store_id id = n->l.nodes[nodes[i]].id;
		int r;
		if (n->l.nodes[nodes[i]].exec) {
			struct exec_info x;
			r = store_exec(a->store, id, &x);
			if (r > 0)
				r = exec_json(a->store, &x, &one);
			if (r >= 0 && one)
				r = representative_json(a->store, id, one);
		} else {
			struct version_info v;
			struct file_info f;
			r = store_version(a->store, id, &v);
			if (r > 0)
				r = store_file(a->store, v.file, &f);
			if (r > 0) {
				one = entity_json(&v, &f);
				r = peer_json(a->store, &v, &f, one);
			}
			if (r >= 0 && one && user[nodes[i]])
				r = opened_name_json(a->store, one, user[nodes[i]], v.file);
		}
		if (r < 0)
			return r;
		js_text(one, "certainty", i < n_seen && certain[nodes[i]] ? "must" : "may");
		if (!n->l.nodes[nodes[i]].exec && n->sort[nodes[i]] == ENTITY_DATA)
			js_text(one, "role", why_role_word((enum why_role)n->role[nodes[i]], false));
		js_add(list, one);
	}
	return 0;
}

int why_json(const struct answer_source *a, const struct file_target *t, const struct why *n, json_t **ret)
{
	static const char *const disk[] = {"same", "changed", "replaced", "gone", "file-written", "deleted"};
	struct version_info version, *v = &version;
	struct file_info f;
	json_t *o = json_object(), *makers = json_array(), *inputs = json_array(), *openers = json_array(),
	       *before = json_array(), *helpers = json_array();
	bool *sure = find_sure(&n->l); /* of an opener and what it used an edge says so, of the rest the whole way */
	store_id *user = find_users(&n->l);
	int r = sure && user ? store_version(a->store, t->version, v) : -ENOMEM;
	if (r > 0)
		r = store_file(a->store, v->file, &f);
	if (r > 0) {
		json_t *entity = entity_json(v, &f);
		r = notes_json(a->store, entity, NOTES_FILE, v->file, v->n);
		js_put(o, "entity", entity);
		if (r >= 0)
			r = node_list_json(a, n, n->makers, n->n_makers, n->n_makers, n->certain, user, makers);
	}
	if (r >= 0)
		r = node_list_json(a, n, n->helpers, n->n_helpers, n->n_helpers, n->certain, user, helpers);
	if (r >= 0)
		r = node_list_json(a, n, n->inputs, n->n_inputs, n->n_seen, n->certain, user, inputs);
	if (r >= 0 && n->opener != UINT32_MAX)
		r = node_list_json(a, n, &n->opener, 1, 1, sure, user, openers);
	if (r >= 0)
		r = node_list_json(a, n, n->opener_inputs, n->n_opener_inputs, n->n_opener_inputs, sure, user, before);
	free(sure);
	free(user);
	js_num(o, "makers_direct", n->n_direct);
	js_put(o, "makers", makers);
	js_put(o, "helpers", helpers);
	js_put(o, "inputs", inputs);
	js_put(o, "openers", openers);
	js_put(o, "opener_inputs", before);
	js_text(o, "disk", disk[t->disk]);
	if (r >= 0 && t->disk == DISK_DELETED)
		r = deleted_json(a->store, &t->deleted, o);
	if (r < 0)
		json_decref(o);
	else
		*ret = o;
	return r < 0 ? r : 0;
}
