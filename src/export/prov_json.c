/* prov_json.c - PROV-JSON: an object of sections, one a kind of statement, each an object of identifiers. One walk a
 * section, so that nothing is held. */
#include "export/export.h"

struct json {
	struct out *out;
	bool any;        /* the section has something */
	uint64_t number; /* relations have blank identifiers */
};

static void key(struct json *j, bool *first, const char *prefix, const char *name)
{
	if (!*first)
		out_text(j->out, ", ");
	*first = false;
	out_char(j->out, '"');
	out_text(j->out, prefix);
	out_text(j->out, name);
	out_text(j->out, "\": ");
}

static void text(struct json *j, const char *prefix, struct str s, bool *ret_exact)
{
	out_char(j->out, '"');
	out_text(j->out, prefix);
	out_escaped(j->out, s, ret_exact);
	out_char(j->out, '"');
}

/* {"$": ..., "type": ...} */
static void typed_open(struct json *j)
{
	out_text(j->out, "{\"$\": \"");
}

static void typed_close(struct json *j, const char *type)
{
	out_text(j->out, "\", \"type\": \"");
	out_text(j->out, type);
	out_text(j->out, "\"}");
}

/* A JSON array within a JSON string. */
static void array(struct json *j, const struct strlist *l, bool base64, bool *ret_exact)
{
	struct out *o = j->out;
	struct str s;
	out_text(o, "\"[");
	for (size_t i = 0, pos = 0; l->items ? i < l->count : strlist_next(l, &pos, &s); i++) {
		if (l->items)
			s = l->items[i];
		out_text(o, i ? ",\\\"" : "\\\"");
		if (base64)
			out_base64(o, s);
		for (size_t k = 0; !base64 && k < s.n;) {
			size_t end = k;
			bool ok;
			while (end < s.n && (unsigned char)s.p[end] >= 0x20 && s.p[end] != '"' && s.p[end] != '\\' && s.p[end] != 0x7f)
				end++;
			out_escaped(o, str_n(s.p + k, end - k), &ok);
			*ret_exact &= ok;
			if (end < s.n) {
				static const char hex[] = "0123456789abcdef";
				char u[] = {'\\', '\\', 'u', '0', '0', hex[(unsigned char)s.p[end] >> 4], hex[s.p[end] & 15]};
				out_bytes(o, u, sizeof(u));
			}
			k = end + 1;
		}
		out_text(o, "\\\"");
	}
	out_text(o, "]\"");
}

static void attribute(struct json *j, bool *first, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	bool exact = true;
	key(j, first, "stemma:", w->name);
	switch (w->type) {
	case TYPE_text:
		text(j, "", v->text, &exact);
		break;
	case TYPE_list:
		array(j, &v->list, false, &exact);
		break;
	case TYPE_count:
		typed_open(j);
		out_count(j->out, v->count);
		typed_close(j, "xsd:integer");
		break;
	case TYPE_time:
		typed_open(j);
		out_time(j->out, v->time);
		typed_close(j, "xsd:dateTime");
		break;
	case TYPE_flag:
		out_text(j->out, v->count ? "true" : "false");
		break;
	case TYPE_name:
		typed_open(j);
		out_text(j->out, "id:");
		out_str(j->out, v->text);
		typed_close(j, "prov:QUALIFIED_NAME");
		break;
	}
	if (exact)
		return;
	if (!*first)
		out_text(j->out, ", ");
	out_text(j->out, "\"stemma:");
	out_text(j->out, w->name);
	out_text(j->out, "Base64\": ");
	if (w->type == TYPE_text) {
		out_char(j->out, '"');
		out_base64(j->out, v->text);
		out_char(j->out, '"');
	} else
		array(j, &v->list, true, &exact);
}

static void time_key(struct json *j, bool *first, const char *name, int64_t t)
{
	if (t == TIME_NONE)
		return;
	key(j, first, "prov:", name);
	out_char(j->out, '"');
	out_time(j->out, t);
	out_char(j->out, '"');
}

static void reference(struct json *j, bool *first, const char *name, struct str id)
{
	if (!id.n)
		return;
	key(j, first, "prov:", name);
	text(j, "id:", id, NULL);
}

static int statement(void *arg, const struct prov_statement *st)
{
	static const struct {
		const char *subject, *object, *third;
	} role[PROV_KINDS] = {
	    [PROV_wasGeneratedBy] = {"entity", "activity", NULL},
	    [PROV_used] = {"activity", "entity", NULL},
	    [PROV_wasDerivedFrom] = {"generatedEntity", "usedEntity", NULL},
	    [PROV_wasInformedBy] = {"informed", "informant", NULL},
	    [PROV_wasAssociatedWith] = {"activity", "agent", NULL},
	    [PROV_actedOnBehalfOf] = {"delegate", "responsible", "activity"},
	    [PROV_specializationOf] = {"specificEntity", "generalEntity", NULL},
	};
	struct json *j = arg;
	struct out *o = j->out;
	bool first = true;
	out_text(o, j->any ? ",\n    \"" : "\n    \"");
	j->any = true;
	if (st->kind <= PROV_activity) {
		out_text(o, "id:");
		out_str(o, st->id);
	} else {
		out_text(o, "_:r");
		out_count(o, ++j->number);
	}
	out_text(o, "\": {");
	if (st->kind <= PROV_activity) {
		if (st->kind == PROV_activity) {
			time_key(j, &first, "startTime", st->start);
			time_key(j, &first, "endTime", st->end);
		}
		if (st->type) {
			key(j, &first, "prov:", "type");
			const char *agent = st->kind != PROV_agent ? NULL : strcmp(st->type, "User") == 0 ? "Person" : "SoftwareAgent";
			if (agent) {
				out_text(o, "[{\"$\": \"prov:");
				out_text(o, agent);
				out_text(o, "\", \"type\": \"prov:QUALIFIED_NAME\"}, ");
			}
			out_text(o, "{\"$\": \"stemma:");
			out_text(o, st->type);
			out_text(o, "\", \"type\": \"prov:QUALIFIED_NAME\"}");
			if (agent)
				out_char(o, ']');
		}
		if (st->label.n) {
			key(j, &first, "prov:", "label");
			text(j, "", st->label, NULL);
		}
	} else {
		reference(j, &first, role[st->kind].subject, st->subject);
		reference(j, &first, role[st->kind].object, st->object);
		if (role[st->kind].third)
			reference(j, &first, role[st->kind].third, st->third);
		time_key(j, &first, "time", st->start);
	}
	for (size_t i = 0; i < st->n; i++)
		attribute(j, &first, &st->v[i]);
	out_char(o, '}');
	return o->error ? -o->error : 0;
}

int export_prov_json(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct json j = {.out = out};
	(void)o;
	out_text(out, "{\n  \"prefix\": {\n    \"stemma\": \"" STEMMA_NS "\",\n    \"id\": \"" STEMMA_ID "\"\n  }");
	for (int kind = 0; kind < PROV_KINDS; kind++) {
		out_text(out, ",\n  \"");
		out_text(out, prov_kind_name[kind]);
		out_text(out, "\": {");
		j.any = false;
		int rc = prov_walk(p, PROV_BIT(kind), statement, &j);
		if (rc != 0)
			return rc < 0 && !out->error ? err_set(err, -rc, "cannot read the record") : rc;
		out_text(out, j.any ? "\n  }" : "}");
	}
	out_text(out, "\n}\n");
	return 0;
}
