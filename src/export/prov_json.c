/* prov_json.c - PROV-JSON: an object of sections, one a kind of statement, each an object of identifiers. One walk a
 * section, so that nothing is held. */
#include "export/export.h"
#include "export/jsonw.h"

struct document {
	struct jsonw j;
	uint64_t relations; /* they have blank identifiers */
};

/* {"$": ..., "type": ...} around what is written between the two. */
static void open_typed_json(struct jsonw *j)
{
	jsonw_open(j, '{');
	jsonw_key(j, "", "$");
}

/* Ends a typed value. type: with its prefix. */
static void close_typed_json(struct jsonw *j, const char *type)
{
	jsonw_pair_cstr(j, "type", type);
	jsonw_close(j, '}');
}

/* Writes a qualified name as a typed value. */
static void write_json_name(struct jsonw *j, const char *prefix, struct str local)
{
	open_typed_json(j);
	jsonw_text(j, prefix, local, NULL);
	close_typed_json(j, "prov:QUALIFIED_NAME");
}

/* What is no UTF-8 is written as base64, too. */
static void write_json_attribute(struct jsonw *j, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	bool exact = true;
	jsonw_key(j, "stemma:", w->name);
	switch (w->type) {
	case TYPE_text:
		jsonw_text(j, "", v->text, &exact);
		break;
	case TYPE_list:
		jsonw_list_text(j, &v->list, false, &exact);
		break;
	case TYPE_count:
		open_typed_json(j);
		jsonw_count_text(j, v->count);
		close_typed_json(j, "xsd:integer");
		break;
	case TYPE_time:
		open_typed_json(j);
		jsonw_time(j, v->time);
		close_typed_json(j, "xsd:dateTime");
		break;
	case TYPE_flag:
		jsonw_flag(j, v->count);
		break;
	case TYPE_name:
		write_json_name(j, "id:", v->text);
		break;
	}
	if (exact)
		return;
	jsonw_key(j, "stemma:", w->base64);
	if (w->type == TYPE_text)
		jsonw_base64(j, v->text);
	else
		jsonw_list_text(j, &v->list, true, NULL);
}

/* Writes a time as a member. Nothing for TIME_NONE. */
static void write_json_time(struct jsonw *j, const char *key, int64_t t)
{
	if (t == TIME_NONE)
		return;
	jsonw_key(j, "prov:", key);
	jsonw_time(j, t);
}

/* The members of an element: its times, types and label. */
static void write_json_element(struct jsonw *j, const struct prov_statement *st)
{
	if (st->kind == PROV_activity) {
		write_json_time(j, "startTime", st->start);
		write_json_time(j, "endTime", st->end);
	}
	jsonw_key(j, "prov:", "type");
	if (st->kind == PROV_agent) {
		jsonw_open(j, '[');
		write_json_name(j, "prov:", str_of(prov_agent_class(st)));
	}
	write_json_name(j, "stemma:", str_of(st->type));
	if (st->kind == PROV_agent)
		jsonw_close(j, ']');
	if (st->label.n) {
		jsonw_key(j, "prov:", "label");
		jsonw_text(j, "", st->label, NULL);
	}
}

/* The members of a relation: its ends and its time; what it lacks is left out. */
static void write_json_relation(struct jsonw *j, const struct prov_statement *st)
{
	const struct prov_roles *role = &prov_roles[st->kind];
	const struct {
		const char *name;
		struct str id;
	} ends[] = {{role->subject, st->subject}, {role->object, st->object}, {role->third, st->third}};
	for (unsigned i = 0; i < 3; i++)
		if (ends[i].name && ends[i].id.n) {
			jsonw_key(j, "prov:", ends[i].name);
			jsonw_text(j, "id:", ends[i].id, NULL);
		}
	write_json_time(j, "time", st->start);
}

/* Writes a statement. 0, -errno. For prov's callback; arg: a struct document. */
static int write_json_statement(void *arg, const struct prov_statement *st)
{
	struct document *d = arg;
	struct jsonw *j = &d->j;
	jsonw_line(j, 4);
	if (st->kind <= PROV_activity) {
		jsonw_text(j, "id:", st->id, NULL);
	} else {
		out_text(j->out, "\"_:r");
		out_count(j->out, ++d->relations);
		out_char(j->out, '"');
	}
	out_text(j->out, ": ");
	j->comma = false;
	jsonw_open(j, '{');
	(st->kind <= PROV_activity ? write_json_element : write_json_relation)(j, st);
	for (size_t i = 0; i < st->n; i++)
		write_json_attribute(j, &st->v[i]);
	jsonw_close(j, '}');
	return jsonw_error(j);
}

/* Writes the selection as PROV-JSON. 0, -errno with a sentence. */
int export_prov_json(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct document d = {.j = {.out = out}};
	int r = 0;
	(void)o;
	out_text(out, "{\n  \"prefix\": {\n    \"stemma\": \"" STEMMA_NS "\",\n    \"id\": \"" STEMMA_ID "\"\n  }");
	for (int kind = 0; r == 0 && kind < PROV_KINDS; kind++) {
		d.j.comma = true;
		jsonw_line(&d.j, 2);
		jsonw_key(&d.j, "", prov_kind_name[kind]);
		jsonw_open(&d.j, '{');
		r = prov_walk(p, PROV_BIT(kind) | PROV_BUILDS, write_json_statement, &d);
		jsonw_close(&d.j, '}');
	}
	out_text(out, "\n}\n");
	jsonw_release(&d.j);
	return r < 0 && !out->error ? err_set(err, -r, "cannot read the record") : r;
}
