#include "spec/trace/provscope.h"

#include "base/hash.h"
#include "spec/trace/reserve.h"
#include "spec/trace/vocabulary.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)256 << 20)
#define NAME_MAX_BYTES 4096

/* ---- specification ---- */

struct maker {
	struct spec *s;
	uint32_t cap_nodes, cap_edges;
	struct vocabulary names;  /* of functions: their numbers are the functions' */
	struct vocabulary labels; /* all strings */
	uint32_t *node_label;     /* by node: label + 1, 0 none */
	struct err *err;
};

/* Reports what is wrong with a function of the specification. -EBADMSG with a sentence. */
static int report_bad_function(struct maker *m, const char *function, const char *what)
{
	err_set(m->err, 0, "the specification's function '%.200s' %s", function, what);
	return -EBADMSG;
}

/* Versions name the member otherwise. Belongs to f; NULL: it has none. */
static const char *function_name(const json_t *f)
{
	static const char *const keys[] = {"function name", "function_name", "functionName", "name"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (json_string_value(json_object_get(f, keys[i])))
			return json_string_value(json_object_get(f, keys[i]));
	return NULL;
}

/* An id, which may be a number or a text, as text. */
static const char *id_text(const json_t *id, char *number, size_t n)
{
	if (json_is_string(id))
		return json_string_value(id);
	if (!json_is_integer(id))
		return NULL;
	snprintf(number, n, "%lld", (long long)json_integer_value(id));
	return number;
}

/* Adds a node of ProvScope's specification. -EBADMSG with a sentence, -ENOMEM. */
static int add_node(struct maker *m, const char *function, const json_t *node)
{
	const char *type = json_string_value(json_object_get(node, "type"));
	const char *label = json_string_value(json_object_get(node, "label"));
	struct spec *s = m->s;
	uint32_t cap = m->cap_nodes, number;
	int r = reserve_one_more(&s->nodes, &cap, s->n_nodes, sizeof(*s->nodes));
	if (r == 0 && cap != m->cap_nodes) {
		uint32_t *p = realloc(m->node_label, cap * sizeof(*p));
		if (p)
			m->node_label = p;
		r = p ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	m->cap_nodes = cap;
	struct spec_node n = {.file = SPEC_NONE, .name = "", .condition = ""};
	if (type && !strcmp(type, "ePoint"))
		n.kind = SPEC_ENTRY;
	else if (type && !strcmp(type, "retCall"))
		n.kind = SPEC_RETURN;
	else if (type && !strcmp(type, "funcCall"))
		n.kind = SPEC_CALL;
	else
		return report_bad_function(m, function, "has a node whose type is none of ePoint, retCall, funcCall");
	m->node_label[s->n_nodes] = 0;
	if (n.kind == SPEC_CALL && label && *label) {
		if (strlen(label) > NAME_MAX_BYTES)
			return report_bad_function(m, function, "has a label that is too long");
		r = vocabulary_number(&m->names, label, strlen(label), &number);
		m->node_label[s->n_nodes] = number + 1;
	} else if (n.kind == SPEC_CALL) {
		n.flags = SPEC_INDIRECT | SPEC_UNKNOWN;
	}
	s->nodes[s->n_nodes++] = n;
	return r;
}

/* Order of qsort: by both ends. */
static int by_edge(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;
	return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Of the function that was added last. ids: of its nodes, whose places are in `place`. -EBADMSG with a sentence,
 * -ENOMEM. */
static int append_spec_edges(struct maker *m, const char *function, const json_t *list, struct vocabulary *ids,
                             const uint32_t *place)
{
	struct spec *s = m->s;
	const struct spec_function *f = &s->functions[s->n_functions - 1];
	size_t n = json_array_size(list), k = 0;
	uint32_t(*e)[2] = malloc((n + 1) * sizeof(*e));
	int r = e ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		static const char *const ends[] = {"src", "dst"};
		for (int d = 0; r == 0 && d < 2; d++) {
			char number[24];
			const char *id = id_text(json_object_get(json_array_get(list, i), ends[d]), number, sizeof(number));
			uint32_t known = ids->n, at;
			r = id ? vocabulary_number(ids, id, strlen(id), &at)
			       : report_bad_function(m, function, "has an edge without src or dst");
			if (r == 0 && at >= known)
				r = report_bad_function(m, function, "has an edge from or to a node that it has not");
			if (r == 0)
				e[i][d] = place[at];
		}
	}
	if (r == 0)
		qsort(e, n, sizeof(*e), by_edge);
	for (uint32_t node = 0; r == 0 && node < f->n_nodes; node++) {
		struct spec_node *x = &s->nodes[f->first_node + node];
		x->first_edge = s->n_edges;
		for (; r == 0 && k < n && e[k][0] == node; k++) {
			if (k && e[k][0] == e[k - 1][0] && e[k][1] == e[k - 1][1])
				continue;
			r = reserve_one_more(&s->edges, &m->cap_edges, s->n_edges, sizeof(*s->edges));
			if (r == 0) {
				s->edges[s->n_edges++] = (struct spec_edge){e[k][1], 0, ""};
				x->n_edges++;
			}
		}
	}
	free(e);
	return r;
}

/* Adds a function of ProvScope's specification. -EBADMSG with a sentence, -ENOMEM. */
static int add_function(struct maker *m, const json_t *json)
{
	struct spec *s = m->s;
	const char *name = function_name(json);
	const json_t *nodes = json_object_get(json, "nodes"), *edges = json_object_get(json, "edges");
	struct vocabulary ids = {0};
	size_t n = json_array_size(nodes), entry = SIZE_MAX;
	uint32_t *place = NULL;
	int r = 0;
	if (!name || !json_is_array(nodes) || (edges && !json_is_array(edges))) {
		err_set(m->err, 0, "the specification has a function without a name, or without nodes");
		return -EBADMSG;
	}
	if (n == 0 || n > SPEC_NODES_MAX)
		return report_bad_function(m, name, n ? "has more nodes than are taken" : "has no nodes");
	struct spec_function *f = &s->functions[s->n_functions++];
	*f = (struct spec_function){.file = SPEC_NONE, .first_node = s->n_nodes, .n_nodes = (uint32_t)n};
	place = malloc(n * sizeof(*place));
	if (!place)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const json_t *node = json_array_get(nodes, i);
		const char *type = json_string_value(json_object_get(node, "type"));
		char number[24];
		uint32_t at;
		const char *id = id_text(json_object_get(node, "id"), number, sizeof(number));
		r = id ? vocabulary_number(&ids, id, strlen(id), &at)
		       : report_bad_function(m, name, "has a node without an id");
		if (r == 0 && at != i)
			r = report_bad_function(m, name, "has two nodes of one id");
		if (r == 0 && type && !strcmp(type, "ePoint")) {
			if (entry != SIZE_MAX)
				r = report_bad_function(m, name, "has two entry points");
			entry = i;
		}
	}
	if (r == 0 && entry == SIZE_MAX)
		r = report_bad_function(m, name, "has no entry point");
	/* The entry is node 0; the others keep their order. */
	for (size_t i = 0; r == 0 && i < n; i++)
		place[i] = i == entry ? 0 : i < entry ? (uint32_t)i + 1 : (uint32_t)i;
	if (r == 0)
		r = add_node(m, name, json_array_get(nodes, entry));
	for (size_t i = 0; r == 0 && i < n; i++)
		if (i != entry)
			r = add_node(m, name, json_array_get(nodes, i));
	if (r == 0)
		r = append_spec_edges(m, name, edges, &ids, place);
	vocabulary_release(&ids);
	free(place);
	return r;
}

/* Labels that name no function of the list become functions of one node; then all names are known and can be put. 0,
 * -ENOMEM. */
static int finish_provscope(struct maker *m)
{
	struct spec *s = m->s;
	size_t bytes = 1, at = 1;
	uint32_t listed = s->n_functions, cap = m->cap_nodes;
	struct spec_function *f = realloc(s->functions, (m->names.n + 1) * sizeof(*f));
	uint32_t *offset = malloc((m->names.n + 1) * sizeof(*offset));
	s->targets = malloc((s->n_nodes + 1) * sizeof(*s->targets));
	if (f)
		s->functions = f;
	for (uint32_t i = 0; i < m->names.n; i++)
		bytes += strlen(m->names.v[i]) + 1;
	s->strings = malloc(bytes);
	if (!f || !offset || !s->targets || !s->strings) {
		free(offset);
		return -ENOMEM;
	}
	s->strings[0] = 0;
	for (uint32_t i = 0; i < m->names.n; i++) {
		size_t n = strlen(m->names.v[i]) + 1;
		memcpy(s->strings + at, m->names.v[i], n);
		offset[i] = (uint32_t)at;
		at += n;
	}
	uint32_t n_nodes = s->n_nodes;
	for (uint32_t i = listed; i < m->names.n; i++) {
		if (reserve_one_more(&s->nodes, &cap, s->n_nodes, sizeof(*s->nodes)) < 0) {
			free(offset);
			return -ENOMEM;
		}
		s->functions[i] = (struct spec_function){.file = SPEC_NONE, .first_node = s->n_nodes, .n_nodes = 1};
		s->nodes[s->n_nodes++] = (struct spec_node){.kind = SPEC_ENTRY, .file = SPEC_NONE, .name = "", .condition = ""};
	}
	s->n_functions = m->names.n;
	for (uint32_t i = 0; i < s->n_functions; i++)
		s->functions[i].name = s->strings + offset[i];
	for (uint32_t i = 0; i < n_nodes; i++)
		if (m->node_label[i]) {
			s->nodes[i].name = s->strings + offset[m->node_label[i] - 1];
			s->nodes[i].first_target = s->n_targets;
			s->nodes[i].n_targets = 1;
			s->targets[s->n_targets++] = m->node_label[i] - 1;
		}
	s->main = SPEC_NONE;
	for (uint32_t i = 0; i < listed; i++)
		if (!strcmp(s->functions[i].name, "main"))
			s->main = i;
	free(offset);
	return 0;
}

int provscope_spec_read(const char *text, size_t n, struct err *err, struct spec **ret)
{
	struct maker m = {.err = err};
	json_error_t where;
	if (n > BYTES_MAX)
		return err_set(err, EFBIG, "cannot read the specification");
	json_t *list = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
	int r = 0;
	if (!list || !json_is_array(list) || !json_array_size(list)) {
		err_set(err, 0,
		        list ? "the file is not a list of functions, as ProvScope writes it" : "it is not JSON, line %d: %s",
		        where.line, where.text);
		json_decref(list);
		return -EBADMSG;
	}
	m.s = calloc(1, sizeof(*m.s));
	if (m.s) {
		m.s->functions = calloc(json_array_size(list) + 1, sizeof(*m.s->functions));
		m.s->producer = strdup("ProvScope");
		m.s->id = hash_bytes(text, n);
	}
	if (!m.s || !m.s->functions || !m.s->producer)
		r = -ENOMEM;
	/* Names of all functions first, so that theirs are the numbers of the list. */
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const char *name = function_name(json_array_get(list, i));
		uint32_t number = 0;
		if (name && strlen(name) <= NAME_MAX_BYTES)
			r = vocabulary_number(&m.names, name, strlen(name), &number);
		if (r == 0 && (!name || strlen(name) > NAME_MAX_BYTES || number != i)) {
			err_set(err, 0,
			        name ? "the specification has two functions '%.200s'"
			             : "the specification has a function without a name%s",
			        name ? name : "");
			r = -EBADMSG;
		}
	}
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
		r = add_function(&m, json_array_get(list, i));
	if (r == 0)
		r = finish_provscope(&m);
	json_decref(list);
	vocabulary_release(&m.names);
	free(m.node_label);
	if (r < 0) {
		spec_free(m.s);
		return r == -EBADMSG ? r : err_set(err, -r, "cannot read the specification");
	}
	*ret = m.s;
	return 0;
}

/* 0 and *ret to be freed; -EBADMSG with a sentence; -errno. */
int provscope_spec_load(const char *path, struct err *err, struct spec **ret)
{
	char *text;
	size_t n;
	struct err why = {0};
	int r = vocabulary_load_text(path, BYTES_MAX, err, &text, &n);
	if (r < 0)
		return r;
	r = provscope_spec_read(text, n, &why, ret);
	free(text);
	return vocabulary_report_text(r, path, &why, err);
}

/* ---- traces ---- */

/* e is empty then. */
void call_events_release(struct call_events *e)
{
	for (uint32_t i = 0; i < e->n_names; i++)
		free(e->names[i]);
	free(e->names);
	free(e->v);
	*e = (struct call_events){0};
}

struct events {
	struct call_event *v;
	uint32_t n, cap;
	uint32_t *open, n_open, cap_open; /* ENTER events that were not left */
};

/* A leave gets its partner from those that are open, of which there must be one. 0, -ENOMEM. */
static int push_event(struct events *e, struct call_event x)
{
	int r = reserve_one_more(&e->v, &e->cap, e->n, sizeof(*e->v));
	if (r == 0 && !x.leave) {
		r = reserve_one_more(&e->open, &e->cap_open, e->n_open, sizeof(*e->open));
		if (r == 0)
			e->open[e->n_open++] = e->n;
	}
	if (r == 0 && x.leave) {
		x.other = e->open[--e->n_open];
		e->v[x.other].other = e->n;
		x.name = e->v[x.other].name;
	}
	if (r == 0)
		e->v[e->n++] = x;
	return r;
}

int provscope_trace_read(const char *text, size_t n, struct err *err, struct call_events *ret)
{
	struct events e = {0};
	struct vocabulary names = {0};
	bool damaged = false;
	unsigned line = 0;
	int r = 0;
	for (const char *p = text, *stop = text + n; r == 0 && !damaged && p < stop;) {
		const char *end = memchr(p, '\n', (size_t)(stop - p));
		size_t k = (size_t)((end ? end : stop) - p);
		const char *word = p;
		uint32_t name;
		line++;
		p = end ? end + 1 : stop;
		while (k && (word[k - 1] == '\r' || word[k - 1] == ' ' || word[k - 1] == '\t'))
			k--;
		while (k && (*word == ' ' || *word == '\t'))
			word++, k--;
		if (!k)
			continue;
		bool leave = *word == '/';
		word += leave;
		k -= leave;
		damaged = !k || k > NAME_MAX_BYTES || memchr(word, 0, k);
		if (damaged)
			break;
		r = vocabulary_number(&names, word, k, &name);
		if (r < 0)
			break;
		if (!leave) {
			r = push_event(&e, (struct call_event){.name = name});
			continue;
		}
		uint32_t at = e.n_open;
		while (at && e.v[e.open[at - 1]].name != name)
			at--;
		damaged = !at;
		while (r == 0 && at && e.n_open >= at)
			r = push_event(&e, (struct call_event){.leave = true, .jump = e.n_open > at});
	}
	for (uint32_t i = 0; i < e.n_open; i++)
		e.v[e.open[i]].other = e.n;
	free(e.open);
	free(names.slot);
	*ret = (struct call_events){
	    .v = e.v, .n = e.n, .names = names.v, .n_names = names.n, .damaged = damaged, .line = line};
	if (r == 0 && damaged && !e.n) {
		call_events_release(ret);
		err_set(err, 0, "the file is not a function trace: line %u neither enters nor leaves a function", line);
		return -EBADMSG;
	}
	if (r < 0) {
		call_events_release(ret);
		return err_set(err, -r, "cannot read the trace");
	}
	return 0;
}

int provscope_trace_load(const char *path, struct err *err, struct call_events *ret)
{
	char *text;
	size_t n;
	struct err why = {0};
	int r = vocabulary_load_text(path, BYTES_MAX, err, &text, &n);
	if (r < 0)
		return r;
	r = provscope_trace_read(text, n, &why, ret);
	free(text);
	return vocabulary_report_text(r, path, &why, err);
}
