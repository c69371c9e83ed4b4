/* prov_jsonld.c - PROV-JSONLD (W3C member submission, 2024): an object a statement, under a context that makes PROV-O
 * of it. The context stands in the document, reduced to the kinds of statement that occur, so that it is read without a
 * network.
 *
 * A relation is PROV-O's qualified one. Its direct triple stands on its subject, in an object of its own, so that who
 * asks for prov:used finds it without PROV-O's rules. One pass; between statements the objects of one subject's
 * relations of one kind are kept, some 40 bytes each. */
#include "export/export.h"
#include "export/jsonw.h"

#include <errno.h>

static const struct {
	const char *class;
	const char *subject, *object, *third; /* properties; of the subject the one that leads to the relation */
	enum prov_kind of;                    /* of a relation: what its subject is */
} mapping[PROV_KINDS] = {
    [PROV_agent] = {"Agent", NULL, NULL, NULL},
    [PROV_entity] = {"Entity", NULL, NULL, NULL},
    [PROV_activity] = {"Activity", NULL, NULL, NULL},
    [PROV_wasGeneratedBy] = {"Generation", "prov:qualifiedGeneration", "prov:activity", NULL, PROV_entity},
    [PROV_used] = {"Usage", "prov:qualifiedUsage", "prov:entity", NULL, PROV_activity},
    [PROV_wasDerivedFrom] = {"Derivation", "prov:qualifiedDerivation", "prov:entity", NULL, PROV_entity},
    [PROV_wasInformedBy] = {"Communication", "prov:qualifiedCommunication", "prov:activity", NULL, PROV_activity},
    [PROV_wasAssociatedWith] = {"Association", "prov:qualifiedAssociation", "prov:agent", NULL, PROV_activity},
    [PROV_actedOnBehalfOf] = {"Delegation", "prov:qualifiedDelegation", "prov:agent", "prov:hadActivity", PROV_agent},
    [PROV_specializationOf] = {"Specialization", "provext:qualifiedSpecialization", "provext:generalEntity", NULL,
                               PROV_entity},
};

/* Defines a term of the context. */
static void write_context_term(struct jsonw *j, const char *name, const char *key, const char *property,
                               const char *type)
{
	jsonw_key(j, "", name);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, key, property);
	jsonw_pair_cstr(j, "@type", type);
	jsonw_close(j, '}');
}

/* Writes the context, which says what the terms mean. */
static void write_context(struct jsonw *j)
{
	jsonw_key(j, "", "@context");
	jsonw_open(j, '[');
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "stemma", STEMMA_NS);
	jsonw_pair_cstr(j, "id", STEMMA_ID);
	jsonw_close(j, '}');
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_key(j, "", "@version");
	out_text(j->out, "1.1");
	j->comma = true;
	jsonw_pair_cstr(j, "prov", "http://www.w3.org/ns/prov#");
	jsonw_pair_cstr(j, "provext", "https://openprovenance.org/ns/provext#");
	jsonw_pair_cstr(j, "rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#");
	jsonw_pair_cstr(j, "rdfs", "http://www.w3.org/2000/01/rdf-schema#");
	jsonw_pair_cstr(j, "xsd", "http://www.w3.org/2001/XMLSchema#");
	write_context_term(j, "type", "@id", "rdf:type", "@id");
	jsonw_key(j, "", "label");
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "@id", "rdfs:label");
	jsonw_close(j, '}');
	for (int kind = 0; kind < PROV_KINDS; kind++) {
		const struct prov_roles *role = &prov_roles[kind];
		jsonw_line(j, 2);
		jsonw_key(j, "", mapping[kind].class);
		jsonw_open(j, '{');
		jsonw_pair(j, "@id", kind == PROV_specializationOf ? "provext:" : "prov:", str_of(mapping[kind].class));
		if (kind >= PROV_activity) {
			jsonw_key(j, "", "@context");
			jsonw_open(j, '{');
			if (kind == PROV_activity) {
				write_context_term(j, "startTime", "@id", "prov:startedAtTime", "xsd:dateTime");
				write_context_term(j, "endTime", "@id", "prov:endedAtTime", "xsd:dateTime");
			} else {
				write_context_term(j, role->subject, "@reverse", mapping[kind].subject, "@id");
				write_context_term(j, role->object, "@id", mapping[kind].object, "@id");
				if (role->third)
					write_context_term(j, role->third, "@id", mapping[kind].third, "@id");
				if (kind == PROV_used || kind == PROV_wasGeneratedBy)
					write_context_term(j, "time", "@id", "prov:atTime", "xsd:dateTime");
			}
			jsonw_close(j, '}');
		}
		jsonw_close(j, '}');
	}
	jsonw_close(j, '}');
	jsonw_close(j, ']');
}

/* [{"@value": what value writes, "@type": type}]; type NULL for a plain text */
static void value_open(struct jsonw *j, const char *name, const char *type)
{
	jsonw_key(j, "stemma:", name);
	jsonw_open(j, '[');
	jsonw_open(j, '{');
	if (type)
		jsonw_pair_cstr(j, "@type", type);
	jsonw_key(j, "", "@value");
}

/* Closes the object and the list around it. */
static void value_close(struct jsonw *j)
{
	jsonw_close(j, '}');
	jsonw_close(j, ']');
}

/* What is no UTF-8 is written as base64, too. */
static void write_jsonld_attribute(struct jsonw *j, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	bool exact = true;
	switch (w->type) {
	case TYPE_text:
		value_open(j, w->name, NULL);
		jsonw_text(j, "", v->text, &exact);
		break;
	case TYPE_list:
		value_open(j, w->name, NULL);
		jsonw_list_text(j, &v->list, false, &exact);
		break;
	case TYPE_count:
		value_open(j, w->name, "xsd:integer");
		jsonw_count_text(j, v->count);
		break;
	case TYPE_time:
		value_open(j, w->name, "xsd:dateTime");
		jsonw_time(j, v->time);
		break;
	case TYPE_flag:
		value_open(j, w->name, "xsd:boolean");
		jsonw_cstr(j, v->count ? "true" : "false");
		break;
	case TYPE_name:
		jsonw_key(j, "stemma:", w->name);
		jsonw_open(j, '[');
		jsonw_open(j, '{');
		jsonw_pair(j, "@id", "id:", v->text);
		break;
	}
	value_close(j);
	if (exact)
		return;
	value_open(j, w->base64, NULL);
	if (w->type == TYPE_text)
		jsonw_base64(j, v->text);
	else
		jsonw_list_text(j, &v->list, true, NULL);
	value_close(j);
}

/* Writes a time as a member. Nothing for TIME_NONE. */
static void write_jsonld_time(struct jsonw *j, const char *name, int64_t t)
{
	if (t == TIME_NONE)
		return;
	jsonw_key(j, "", name);
	jsonw_time(j, t);
}

/* The members of an element: its id, times, types and label. */
static void write_jsonld_element(struct jsonw *j, const struct prov_statement *st)
{
	jsonw_pair(j, "@id", "id:", st->id);
	write_jsonld_time(j, "startTime", st->start);
	write_jsonld_time(j, "endTime", st->end);
	jsonw_key(j, "", "type");
	jsonw_open(j, '[');
	if (st->kind == PROV_agent)
		jsonw_text(j, "prov:", str_of(prov_agent_class(st)), NULL);
	jsonw_text(j, "stemma:", str_of(st->type), NULL);
	jsonw_close(j, ']');
	if (st->label.n) {
		jsonw_key(j, "", "label");
		jsonw_open(j, '[');
		jsonw_open(j, '{');
		jsonw_pair(j, "@value", "", st->label);
		value_close(j);
	}
}

struct jsonld {
	struct jsonw j;
	enum prov_kind kind; /* of the relations whose objects are kept */
	struct buf subject;  /* theirs; empty: there are none */
	struct buf objects;  /* each with a NUL behind it */
};

/* What was kept: {"@type": "Activity", "@id": subject, "prov:used": [{"@id": ...}, ...]} */
static void write_direct_relations(struct jsonld *d)
{
	struct jsonw *j = &d->j;
	if (!d->subject.n)
		return;
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "@type", mapping[mapping[d->kind].of].class);
	jsonw_pair(j, "@id", "id:", buf_view(&d->subject));
	jsonw_key(j, "prov:", prov_kind_name[d->kind]);
	jsonw_open(j, '[');
	for (size_t at = 0; at < d->objects.n;) {
		struct str one = str_of(d->objects.p + at);
		jsonw_open(j, '{');
		jsonw_pair(j, "@id", "id:", one);
		jsonw_close(j, '}');
		at += one.n + 1;
	}
	jsonw_close(j, ']');
	jsonw_close(j, '}');
	buf_reset(&d->subject);
	buf_reset(&d->objects);
}

/* Kept until the subject or the kind changes; the same object once, if it comes again at once. */
static void keep_direct_relation(struct jsonld *d, const struct prov_statement *st)
{
	const size_t n = st->object.n + 1;
	if (d->subject.n && d->objects.n >= n && memcmp(d->objects.p + d->objects.n - n, st->object.p, n - 1) == 0 &&
	    (d->objects.n == n || !d->objects.p[d->objects.n - n - 1]))
		return; /* the same in two ways */
	d->kind = st->kind;
	buf_reset(&d->subject);
	buf_str(&d->subject, st->subject);
	buf_str(&d->objects, st->object);
	buf_char(&d->objects, '\0');
}

/* Writes a statement. 0, -errno. For prov's callback; arg: a struct jsonld. */
static int write_jsonld_statement(void *arg, const struct prov_statement *st)
{
	struct jsonld *d = arg;
	struct jsonw *j = &d->j;
	const struct prov_roles *role = &prov_roles[st->kind];
	if (st->kind != d->kind || !str_eq(st->subject, buf_view(&d->subject)))
		write_direct_relations(d);
	jsonw_line(j, 2);
	jsonw_open(j, '{');
	jsonw_pair_cstr(j, "@type", mapping[st->kind].class);
	if (st->kind <= PROV_activity) {
		write_jsonld_element(j, st);
	} else {
		jsonw_pair(j, role->subject, "id:", st->subject);
		jsonw_pair(j, role->object, "id:", st->object);
		if (st->third.n)
			jsonw_pair(j, role->third, "id:", st->third);
		write_jsonld_time(j, "time", st->start);
		keep_direct_relation(d, st);
	}
	for (size_t i = 0; i < st->n; i++)
		write_jsonld_attribute(j, &st->v[i]);
	jsonw_close(j, '}');
	return d->subject.failed || d->objects.failed ? -ENOMEM : jsonw_error(j);
}

/* Writes the selection as PROV-JSONLD. 0, -errno with a sentence. */
int export_prov_jsonld(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct jsonld d = {.j = {.out = out}};
	(void)o;
	jsonw_open(&d.j, '{');
	write_context(&d.j);
	jsonw_line(&d.j, 1);
	jsonw_key(&d.j, "", "@graph");
	jsonw_open(&d.j, '[');
	int r = prov_walk(p, PROV_ALL | PROV_BUILDS, write_jsonld_statement, &d);
	write_direct_relations(&d);
	jsonw_close(&d.j, ']');
	jsonw_close(&d.j, '}');
	out_char(out, '\n');
	jsonw_release(&d.j);
	buf_release(&d.subject);
	buf_release(&d.objects);
	return r < 0 && !out->error ? err_set(err, -r, "cannot read the record") : r;
}
