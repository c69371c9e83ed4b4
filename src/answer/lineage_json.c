/* lineage_json.c - the public JSON of a lineage: entities, executions, agents, activities and the edges between them,
 * piece by piece.
 *
 * The text is the one that json_dumps with JSON_INDENT(1) makes of the whole: nodes and agents are made by jansson one
 * by one, edges, of which there are most, are written directly. What is kept of a node is its public id, and of an
 * execution the numbers of its agents. */
#include "answer/lineage_json.h"
#include "answer/entities.h"
#include "answer/peers.h"
#include "base/hash.h"
#include "base/map.h"
#include "query/fold.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE 65536 /* bytes that are given away at once: more would not be cheaper, and fit no cache */
#define NONE UINT32_MAX

/* The id of an agent or activity as JSON: `"from": "user:ann"`, without what stands before the colon. */
struct agent {
	char *text, *exact; /* exact: in base64, where it is no UTF-8; else NULL */
	struct buf id;      /* as it is */
};

/* The agents and activities of an execution: places in out.agents, or NONE. */
struct agents_of {
	uint32_t user, group, program, rank, job, step;
};

struct out {
	struct store *s;
	const struct lineage *l;
	lineage_json_sink *sink;
	void *arg;
	struct buf b;
	bool failed; /* jansson had no memory */
	int r;       /* of the sink */
	bool any;    /* something stands in the list */
	struct pubid *ids;
	struct agents_of *of; /* beside nodes */
	VEC(struct agent) agents;
	struct idmap agent_at; /* hash of the id -> place */
	struct fold_memo folds;
	char *text; /* of one value, as jansson makes it */
	size_t room;
	json_t *agent_list, *activity_list;
	json_t *written; /* set of ids and of edges among agents: of texts, for of two that are no UTF-8 one is enough */
};

/* ---- pieces ---- */

/* Hands on what was written, if it is at least that many bytes, and empties the buffer. o->r gets what the sink gives;
 * nothing after it failed. */
static void give_piece(struct out *o, size_t least)
{
	if (o->b.n < least || o->b.failed || o->r < 0)
		return;
	o->r = o->sink(o->arg, buf_view(&o->b));
	buf_reset(&o->b);
}

/* Appends text, which is laid out, with `depth` spaces behind each end of a line: those of texts are escaped. */
static void append_within(struct buf *b, const char *text, size_t n, unsigned depth)
{
	for (size_t i = 0; i < n;) {
		const char *end = memchr(text + i, '\n', n - i);
		size_t part = end ? (size_t)(end - text) + 1 - i : n - i;
		buf_add(b, text + i, part);
		for (unsigned k = 0; end && k < depth; k++)
			buf_char(b, ' ');
		i += part;
	}
}

/* Appends the value, depth levels indented. Does not take v; NULL or no memory: o->failed. */
static void write_value(struct out *o, const json_t *v, unsigned depth)
{
	const size_t flags = JSON_INDENT(1) | JSON_ENCODE_ANY;
	size_t n = v ? json_dumpb(v, o->text, o->room, flags) : 0;
	if (n > o->room) { /* it says how many it takes */
		char *text = realloc(o->text, n + n / 2);
		if (text) {
			o->text = text;
			o->room = n + n / 2;
		}
		n = text ? json_dumpb(v, o->text, o->room, flags) : 0;
	}
	if (n)
		append_within(&o->b, o->text, n, depth);
	else
		o->failed = true;
}

/* Opens a list in the object that is being written; it is not the object's first member. */
static void begin_list(struct out *o, const char *key)
{
	buf_printf(&o->b, ",\n \"%s\": [", key);
	o->any = false;
}

/* Puts what separates two elements, and hands on what is written where it is enough for a piece. */
static void next_of_list(struct out *o)
{
	buf_str(&o->b, str_of(o->any ? ",\n  " : "\n  "));
	o->any = true;
	give_piece(o, PIECE);
}

/* next_of_list separates the elements before. */
static void end_list(struct out *o)
{
	buf_printf(&o->b, o->any ? "\n ]" : "]");
}

/* Writes v as the next element of a list. Releases the value. */
static void write_of_list(struct out *o, json_t *v)
{
	next_of_list(o);
	write_value(o, v, 2);
	json_decref(v);
}

/* ---- agents ---- */

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

/* Adds the key to what was written. true: it was not there. Fails o without memory. */
static bool write_once(struct out *o, struct str key)
{
	json_t *k = js_string(key); /* a name may be no UTF-8 */
	bool is_new = k && !json_object_get(o->written, json_string_value(k));
	if (is_new)
		js_put(o->written, json_string_value(k), json_true());
	o->failed |= !k;
	json_decref(k);
	return is_new;
}

/* Appends agent `id` to the texts that edges are written of. False: no memory, o->failed. */
static bool new_agent(struct out *o, struct str id)
{
	json_t *one = json_object();
	struct agent *a = vec_add(&o->agents);
	if (a) {
		js_str(one, "id", id);
		const json_t *text = json_object_get(one, "id"), *exact = json_object_get(one, "id_base64");
		*a = (struct agent){.text = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL,
		                    .exact = exact ? json_dumps(exact, JSON_ENCODE_ANY) : NULL};
		buf_str(&a->id, id);
		if (!a->text || (exact && !a->exact) || a->id.failed)
			o->failed = true;
	}
	json_decref(one);
	return a && !o->failed;
}

/* The place of the agent or activity with that id, which is listed when it is first met. host: shown of those that have
 * one. NONE without memory. */
static uint32_t agent_of(struct out *o, json_t *list, struct str id, const char *kind, struct str name, struct str host)
{
	bool is_new = false;
	uint64_t hash = hash_str(id) | 1;
	uint32_t *at = idmap_add(&o->agent_at, hash, (uint32_t)o->agents.n, &is_new);
	while (at && !is_new && !str_eq(buf_view(&o->agents.v[*at].id), id)) { /* another one of the same hash */
		hash = hash_mix(hash, 1) | 1;
		at = idmap_add(&o->agent_at, hash, (uint32_t)o->agents.n, &is_new);
	}
	if (!at || (is_new && !new_agent(o, id))) {
		o->failed = true;
		return NONE;
	}
	uint32_t place = *at;
	if (is_new && write_once(o, id)) {
		json_t *one = json_object();
		js_str(one, "id", id);
		js_text(one, "kind", kind);
		js_str(one, "name", name);
		js_str_if(one, "host", host);
		js_add(list, one);
	}
	return place;
}

/* Who ran it, with what program, for which job. 0 or -errno. */
static int find_agents(struct out *o, const struct exec_info *x, struct agents_of *ret)
{
	struct str none = str_of("");
	struct buf id = {0};
	struct file_info exe;
	json_t *agents = o->agent_list, *activities = o->activity_list;
	int r = x->exe ? store_file(o->s, x->exe, &exe) : 0;
	*ret = (struct agents_of){NONE, NONE, NONE, NONE, NONE, NONE};
	if (id_of(&id, "user", &x->user, 1)) {
		ret->user = agent_of(o, agents, buf_view(&id), "user", x->user, none);
		if (id_of(&id, "group", &x->group, 1))
			ret->group = agent_of(o, agents, buf_view(&id), "group", x->group, none);
	}
	if (r > 0 && id_of(&id, "program", &exe.path, 1))
		ret->program = agent_of(o, agents, buf_view(&id), "program", exe.path, none);
	if (id_of(&id, "rank", (struct str[]){x->job, x->step, x->rank}, 3))
		ret->rank = agent_of(o, agents, buf_view(&id), "rank", x->rank, none);
	if (id_of(&id, "job", &x->job, 1))
		ret->job = agent_of(o, activities, buf_view(&id), "job", x->job, x->host);
	if (id_of(&id, "step", (struct str[]){x->job, x->step}, 2))
		ret->step = agent_of(o, activities, buf_view(&id), "step", x->step, x->host);
	bool failed = id.failed || o->failed;
	buf_release(&id);
	return r < 0 ? r : failed ? -ENOMEM : 0;
}

/* ---- edges ---- */

/* Appends a member to an object that has one already. The text must need no escapes. */
static void write_text(struct out *o, const char *key, const char *text)
{
	struct buf *b = &o->b;
	buf_add(b, ",\n   \"", 6);
	buf_str(b, str_of(key));
	buf_add(b, "\": \"", 4);
	buf_str(b, str_of(text));
	buf_char(b, '"');
}

/* The caller ends it with end_edge. */
static void begin_edge(struct out *o, const char *type)
{
	next_of_list(o);
	buf_str(&o->b, str_of("{\n   \"type\": \""));
	buf_str(&o->b, str_of(type));
	buf_char(&o->b, '"');
}

/* Writes the end of an edge's object. */
static void end_edge(struct out *o)
{
	buf_str(&o->b, str_of("\n  }"));
}

/* The end of an edge: an execution, or an agent where that is not NONE. */
struct end_of_edge {
	uint32_t agent, node;
};

/* Writes which node or agent the edge ends at. An agent's text is JSON already; a twin in base64 where it was no UTF-8.
 * */
static void write_end(struct out *o, const char *key, struct end_of_edge end)
{
	if (end.agent == NONE) {
		write_text(o, key, o->ids[end.node].text);
		return;
	}
	const struct agent *a = &o->agents.v[end.agent];
	buf_printf(&o->b, ",\n   \"%s\": ", key);
	buf_str(&o->b, str_of(a->text));
	if (a->exact) {
		buf_printf(&o->b, ",\n   \"%s_base64\": ", key);
		buf_str(&o->b, str_of(a->exact));
	}
}

/* An edge that is no dependency. */
static void write_agent_edge(struct out *o, const char *type, struct end_of_edge from, struct end_of_edge to)
{
	begin_edge(o, type);
	write_end(o, "from", from);
	write_end(o, "to", to);
	write_text(o, "certainty", "must");
	end_edge(o);
}

/* Writes an edge between two agents as write_agent_edge does, where it was not written yet. The same between two
 * agents, where it was not written yet. */
static void write_agent_edge_once(struct out *o, const char *type, uint32_t from, uint32_t to)
{
	struct buf key = {0};
	buf_printf(&key, "%s %s %s", type, o->agents.v[from].text, o->agents.v[to].text);
	if (write_once(o, buf_view(&key)))
		write_agent_edge(o, type, (struct end_of_edge){from, 0}, (struct end_of_edge){to, 0});
	o->failed |= key.failed;
	buf_release(&key);
}

/* Who it was associated with: user, group, program, rank, step and job, as far as they are known. */
static void write_agent_edges(struct out *o, uint32_t node)
{
	static const char of[] = "wasAssociatedWith", part[] = "hadMember";
	const struct agents_of *a = &o->of[node];
	struct end_of_edge me = {NONE, node};
	if (a->user != NONE) {
		write_agent_edge(o, of, me, (struct end_of_edge){a->user, 0});
		if (a->group != NONE)
			write_agent_edge_once(o, part, a->group, a->user);
	}
	if (a->program != NONE) {
		write_agent_edge(o, of, me, (struct end_of_edge){a->program, 0});
		if (a->user != NONE)
			write_agent_edge_once(o, "actedOnBehalfOf", a->program, a->user);
	}
	if (a->rank != NONE)
		write_agent_edge(o, of, me, (struct end_of_edge){a->rank, 0});
	if (a->step != NONE && a->job != NONE)
		write_agent_edge_once(o, part, a->job, a->step);
	if (a->step != NONE || a->job != NONE)
		write_agent_edge(o, part, (struct end_of_edge){a->step != NONE ? a->step : a->job, 0}, me);
}

/* What is above INT64_MAX is written as that, as jansson has no more. */
static void write_number(struct out *o, const char *key, uint64_t n)
{
	char digits[24];
	size_t at = sizeof(digits);
	n = n > INT64_MAX ? INT64_MAX : n;
	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	buf_add(&o->b, ",\n   \"", 6);
	buf_str(&o->b, str_of(key));
	buf_add(&o->b, "\": ", 3);
	buf_add(&o->b, digits + at, sizeof(digits) - at);
}

/* Writes the time (ns) as JSON has it, null where there is none. */
static void write_time(struct out *o, int64_t ns)
{
	char text[JS_TIME_MAX];
	size_t n = js_time_text(ns, text);
	if (!n) {
		buf_add(&o->b, "    null", 8);
		return;
	}
	buf_add(&o->b, "    \"", 5);
	buf_add(&o->b, text, n);
	buf_char(&o->b, '"');
}

/* By which of its names the file was opened, where that is not the one that is shown. */
static void write_opened_name(struct out *o, const struct lineage_edge *e)
{
	json_t *one = json_object(), *value;
	const char *key;
	store_id file;
	int r = one ? store_version_file(o->s, o->l->nodes[e->to].id, &file) : -ENOMEM;
	if (r > 0)
		r = opened_name_json(o->s, one, o->l->nodes[e->from].id, file);
	json_object_foreach(one, key, value)
	{
		char *text = json_dumps(value, JSON_ENCODE_ANY);
		o->failed |= !text;
		buf_printf(&o->b, ",\n   \"%s\": %s", key, text ? text : "");
		free(text);
	}
	if (r < 0)
		o->r = r;
	json_decref(one);
}

/* Writes one edge with what is known of it: bytes, count and times only where there are any. */
static void write_edge(struct out *o, const struct lineage_edge *e)
{
	static const char *const types[] = {"used", "wasGeneratedBy", "wasDerivedFrom", "wasInformedBy"};
	begin_edge(o, types[e->type]);
	write_text(o, "from", o->ids[e->from].text);
	write_text(o, "to", o->ids[e->to].text);
	if (e->e.has_bytes)
		write_number(o, "bytes", e->e.bytes);
	if (e->e.count)
		write_number(o, "count", e->e.count);
	if (e->type != LINEAGE_DERIVED) {
		buf_str(&o->b, str_of(",\n   \"time\": [\n"));
		write_time(o, e->e.lo);
		buf_add(&o->b, ",\n", 2);
		write_time(o, e->e.hi);
		buf_str(&o->b, str_of("\n   ]"));
	}
	write_text(o, "certainty", e->e.sure ? "must" : "may");
	if (e->e.computed && !e->e.sure)
		buf_str(&o->b, str_of(",\n   \"computed\": true"));
	if (e->e.folded)
		buf_str(&o->b, str_of(",\n   \"folded\": true"));
	if (e->type == LINEAGE_USED)
		write_text(o, "evidence", term_name(SET_reading, e->e.reading));
	if (e->type == LINEAGE_USED)
		write_opened_name(o, e);
	write_text(o, "via", term_name(SET_via, e->e.via));
	end_edge(o);
}

/* ---- nodes ---- */

/* Sets o->ids[node] and writes the entity with its notes. 0; -ENOENT: the record does not have it; -errno. */
static int write_entity(struct out *o, uint32_t node)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(o->s, o->l->nodes[node].id, &v);
	if (r > 0)
		r = store_file(o->s, v.file, &f);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	o->ids[node] = v.pub;
	json_t *one = entity_json(&v, &f);
	r = peer_json(o->s, &v, &f, one);
	if (r >= 0)
		r = notes_json(o->s, one, NOTES_FILE, v.file, v.n);
	write_of_list(o, one);
	return r < 0 ? r : 0;
}

/* As representative_json; each program is looked at once. */
static int add_representative(struct out *o, store_id exec, json_t *one)
{
	store_id rep;
	struct pubid pub;
	int r = fold_representative_of(o->s, &o->folds, exec, &rep);
	if (r <= 0 || rep == exec)
		return r < 0 ? r : 0;
	r = store_exec_pub(o->s, rep, &pub);
	if (r > 0)
		js_pub(one, "representative", &pub);
	return r < 0 ? r : 0;
}

/* Sets o->ids[node] and the agents of the node, and writes the execution. 0; -ENOENT: the record does not have it;
 * -errno. */
static int write_execution(struct out *o, uint32_t node)
{
	struct exec_info x;
	store_id id = o->l->nodes[node].id;
	json_t *one = NULL;
	int r = store_exec(o->s, id, &x);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	o->ids[node] = x.pub;
	r = find_agents(o, &x, &o->of[node]);
	if (r == 0)
		r = exec_json(o->s, &x, &one);
	if (r == 0)
		r = add_representative(o, id, one);
	if (one)
		write_of_list(o, one);
	return r < 0 ? r : 0;
}

/* Writes the nodes of one kind, executions or entities, as a list. 0, -errno. o->r is what the reader of the pieces
 * returned; it ends the list. */
static int write_nodes(struct out *o, bool execs)
{
	int r = 0;
	begin_list(o, execs ? "executions" : "entities");
	for (size_t i = 0; i < o->l->n_nodes && r == 0 && o->r == 0; i++)
		if (o->l->nodes[i].exec == execs)
			r = execs ? write_execution(o, (uint32_t)i) : write_entity(o, (uint32_t)i);
	end_list(o);
	return r;
}

/* Takes nothing over: list stays the caller's. */
static void write_list(struct out *o, const char *key, const json_t *list)
{
	buf_printf(&o->b, ",\n \"%s\": ", key);
	write_value(o, list, 1);
}

/* Edges to agents first, then those of the lineage. */
static void write_edges(struct out *o)
{
	begin_list(o, "edges");
	for (size_t i = 0; i < o->l->n_nodes; i++)
		if (o->l->nodes[i].exec)
			write_agent_edges(o, (uint32_t)i);
	for (size_t k = 0; k < o->l->n_edges; k++)
		write_edge(o, &o->l->edges[k]);
	end_list(o);
}

/* What was left out, whether it was cut, the record's gaps; then the last brace. */
static void write_rest(struct out *o, uint64_t record)
{
	json_t *omitted = json_object(), *list = json_object();
	for (int k = 0; k < OMIT_COUNT; k++)
		js_num(omitted, lineage_omit_name[k], o->l->omitted[k]);
	write_list(o, "omitted", omitted);
	buf_printf(&o->b, ",\n \"cut\": %s", o->l->cut ? "true" : "false");
	js_gaps(list, "record", record);
	if (record)
		write_list(o, "record", json_object_get(list, "record"));
	buf_str(&o->b, str_of("\n}"));
	json_decref(omitted);
	json_decref(list);
}

/* All roots, where there are several: of a Zarr array the versions of its chunks. 0, -errno; -ENOENT: the store lacks
 * one. */
static int write_roots(struct out *o)
{
	struct version_info v;
	int r = 1;
	for (size_t i = 0; i < o->l->n_roots && o->l->n_roots > 1 && r > 0; i++) {
		r = store_version(o->s, o->l->nodes[i].id, &v);
		buf_printf(&o->b, "%s\"%s\"", i ? ", " : ",\n \"roots\": [", v.pub.text);
	}
	if (o->l->n_roots > 1)
		buf_char(&o->b, ']');
	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

/* Writes the whole document. 0; -ENOENT, -ENOMEM, -errno, or what the reader of the pieces returned below 0. */
static int write_all(struct out *o, uint64_t record)
{
	struct version_info root;
	int r = store_version(o->s, o->l->nodes[0].id, &root);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	buf_printf(&o->b, "{\n \"format\": 1,\n \"root\": \"%s\"", root.pub.text);
	r = write_roots(o);
	if (r == 0)
		r = write_nodes(o, false);
	if (r == 0)
		r = write_nodes(o, true);
	if (r < 0 || o->r < 0)
		return r;
	write_list(o, "agents", o->agent_list);
	write_list(o, "activities", o->activity_list);
	write_edges(o);
	write_rest(o, record);
	give_piece(o, 1);
	return o->failed || o->b.failed ? -ENOMEM : 0;
}

int lineage_json(struct store *s, const struct lineage *l, uint64_t record, lineage_json_sink *sink, void *arg)
{
	struct out o = {.s = s,
	                .l = l,
	                .sink = sink,
	                .arg = arg,
	                .ids = calloc(l->n_nodes + 1, sizeof(*o.ids)),
	                .of = calloc(l->n_nodes + 1, sizeof(*o.of)),
	                .agent_list = json_array(),
	                .activity_list = json_array(),
	                .written = json_object()};
	int r = o.ids && o.of && o.agent_list && o.activity_list && o.written ? write_all(&o, record) : -ENOMEM;
	for (size_t i = 0; i < o.agents.n; i++) {
		free(o.agents.v[i].text);
		free(o.agents.v[i].exact);
		buf_release(&o.agents.v[i].id);
	}
	vec_release(&o.agents);
	idmap_release(&o.agent_at);
	fold_memo_release(&o.folds);
	free(o.text);
	json_decref(o.agent_list);
	json_decref(o.activity_list);
	json_decref(o.written);
	free(o.ids);
	free(o.of);
	buf_release(&o.b);
	return r < 0 ? r : o.r;
}
