/* lineage_json.c - the public JSON of a lineage: entities, executions, agents, activities and the edges between them.
 */
#include "answer/lineage_json.h"
#include "answer/entities.h"
#include "answer/peers.h"

#include <errno.h>
#include <stdlib.h>

/* Agents and jobs are few; each is written once, found again by its id. */
struct once {
	json_t *list; /* what was written */
	json_t *seen; /* set of ids and of edges */
};

struct out {
	struct store *s;
	json_t *edges;
	struct once agents, activities;
	json_t *told; /* edges among agents and activities */
};

/* "user:ann", without what is empty. False if all is empty. */
static bool id_of(struct buf *b, const char *kind, const struct str *parts, size_t n)
{
	bool any = false;
	buf_reset(b);
	buf_printf(b, "%s", kind);
	for (size_t i = 0; i < n; i++) {
		buf_char(b, i ? '/' : ':');
		buf_str(b, parts[i]);
		any |= parts[i].n > 0;
	}
	return any && parts[n - 1].n;
}

static bool add_once(struct once *o, const char *id, const char *kind, struct str name, struct str host)
{
	json_t *key = js_string(str_of(id)); /* a name may be no UTF-8 */
	bool is_new = key && !json_object_get(o->seen, json_string_value(key));
	if (is_new) {
		json_t *one = json_object();
		js_text(one, "id", id);
		js_text(one, "kind", kind);
		js_str(one, "name", name);
		js_str_if(one, "host", host);
		js_add(o->list, one);
		js_put(o->seen, json_string_value(key), json_true());
	}
	json_decref(key);
	return is_new;
}

/* An edge that is no dependency, once. */
static void append_edge_once(struct out *o, const char *type, struct str from, struct str to)
{
	struct buf key = {0};
	buf_printf(&key, "%s ", type);
	buf_str(&key, from);
	buf_char(&key, ' ');
	buf_str(&key, to);
	json_t *k = js_string(buf_view(&key));
	if (k && !json_object_get(o->told, json_string_value(k))) {
		json_t *e = json_object();
		js_text(e, "type", type);
		js_str(e, "from", from);
		js_str(e, "to", to);
		js_text(e, "certainty", "must");
		js_add(o->edges, e);
		js_put(o->told, json_string_value(k), json_true());
	}
	json_decref(k);
	buf_release(&key);
}

/* Who ran it, with what program, for which job. */
static int add_agents(struct out *o, const struct exec_info *x)
{
	struct str none = str_of(""), me = str_n(x->pub.text, strnlen(x->pub.text, sizeof(x->pub.text)));
	struct buf user = {0}, group = {0}, program = {0}, rank = {0}, job = {0}, step = {0};
	struct file_info exe;
	int r = x->exe ? store_file(o->s, x->exe, &exe) : 0;

	bool has_user = id_of(&user, "user", &x->user, 1);
	if (has_user) {
		add_once(&o->agents, buf_cstr(&user), "user", x->user, none);
		append_edge_once(o, "wasAssociatedWith", me, buf_view(&user));
		if (id_of(&group, "group", &x->group, 1)) {
			add_once(&o->agents, buf_cstr(&group), "group", x->group, none);
			append_edge_once(o, "hadMember", buf_view(&group), buf_view(&user));
		}
	}
	if (r > 0 && id_of(&program, "program", &exe.path, 1)) {
		add_once(&o->agents, buf_cstr(&program), "program", exe.path, none);
		append_edge_once(o, "wasAssociatedWith", me, buf_view(&program));
		if (has_user)
			append_edge_once(o, "actedOnBehalfOf", buf_view(&program), buf_view(&user));
	}
	if (id_of(&rank, "rank", (struct str[]){x->job, x->step, x->rank}, 3)) {
		add_once(&o->agents, buf_cstr(&rank), "rank", x->rank, none);
		append_edge_once(o, "wasAssociatedWith", me, buf_view(&rank));
	}
	bool has_job = id_of(&job, "job", &x->job, 1);
	bool has_step = id_of(&step, "step", (struct str[]){x->job, x->step}, 2);
	if (has_job)
		add_once(&o->activities, buf_cstr(&job), "job", x->job, x->host);
	if (has_step) {
		add_once(&o->activities, buf_cstr(&step), "step", x->step, x->host);
		if (has_job)
			append_edge_once(o, "hadMember", buf_view(&job), buf_view(&step));
		append_edge_once(o, "hadMember", buf_view(&step), me);
	} else if (has_job) {
		append_edge_once(o, "hadMember", buf_view(&job), me);
	}
	buf_release(&user);
	buf_release(&group);
	buf_release(&program);
	buf_release(&rank);
	buf_release(&job);
	buf_release(&step);
	return r < 0 ? r : 0;
}

static json_t *edge_json(const struct lineage_edge *e, const struct pubid *ids)
{
	static const char *const types[] = {"used", "wasGeneratedBy", "wasDerivedFrom", "wasInformedBy"};
	json_t *o = json_object();
	js_text(o, "type", types[e->type]);
	js_pub(o, "from", &ids[e->from]);
	js_pub(o, "to", &ids[e->to]);
	if (e->e.has_bytes)
		js_num(o, "bytes", e->e.bytes);
	if (e->e.count)
		js_num(o, "count", e->e.count);
	if (e->type != LINEAGE_DERIVED)
		js_times(o, "time", e->e.lo, e->e.hi);
	js_text(o, "certainty", e->e.sure ? "must" : "may");
	if (e->type == LINEAGE_USED)
		js_text(o, "evidence", term_name(SET_reading, e->e.reading));
	js_text(o, "via", term_name(SET_via, e->e.via));
	return o;
}

int lineage_json(struct store *s, const struct lineage *l, json_t **ret)
{
	struct out o = {.s = s, .edges = json_array(), .told = json_object()};
	o.agents = (struct once){json_array(), json_object()};
	o.activities = (struct once){json_array(), json_object()};
	json_t *entities = json_array(), *executions = json_array(), *omitted = json_object();
	struct pubid *ids = calloc(l->n_nodes + 1, sizeof(*ids));
	int r = ids ? 1 : -ENOMEM;

	for (size_t i = 0; i < l->n_nodes && r > 0; i++) {
		if (l->nodes[i].exec) {
			struct exec_info x;
			json_t *one = NULL;
			r = store_exec(s, l->nodes[i].id, &x);
			if (r > 0) {
				ids[i] = x.pub;
				r = add_agents(&o, &x);
				if (r == 0)
					r = exec_json(s, &x, &one);
				if (r == 0)
					r = representative_json(s, l->nodes[i].id, one);
				r = r < 0 ? r : 1;
				js_add(executions, one);
			}
		} else {
			struct version_info ver;
			struct file_info f;
			r = store_version(s, l->nodes[i].id, &ver);
			if (r > 0)
				r = store_file(s, ver.file, &f);
			if (r > 0) {
				ids[i] = ver.pub;
				json_t *one = entity_json(&ver, &f);
				r = peer_json(s, &ver, &f, one);
				if (r >= 0)
					r = notes_json(s, one, NOTES_FILE, ver.file, ver.n);
				r = r < 0 ? r : 1;
				js_add(entities, one);
			}
		}
	}
	if (r <= 0) {
		json_decref(entities);
		json_decref(executions);
		json_decref(omitted);
		json_decref(o.agents.list);
		json_decref(o.activities.list);
		json_decref(o.edges);
		goto out;
	}
	for (size_t k = 0; k < l->n_edges; k++)
		js_add(o.edges, edge_json(&l->edges[k], ids));
	for (int k = 0; k < OMIT_COUNT; k++)
		js_num(omitted, lineage_omit_name[k], l->omitted[k]);

	json_t *all = json_object();
	js_num(all, "format", 1);
	js_pub(all, "root", &ids[0]);
	js_put(all, "entities", entities);
	js_put(all, "executions", executions);
	js_put(all, "agents", o.agents.list);
	js_put(all, "activities", o.activities.list);
	js_put(all, "edges", o.edges);
	js_put(all, "omitted", omitted);
	js_bool(all, "cut", l->cut);
	*ret = all;
out:
	free(ids);
	json_decref(o.agents.seen);
	json_decref(o.activities.seen);
	json_decref(o.told);
	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}
