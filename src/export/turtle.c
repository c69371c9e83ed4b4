/* turtle.c - PROV-O in Turtle and N-Triples.
 *
 * A relation is its direct triple (ex:a prov:used ex:e) and a qualified one, a blank node that holds time and
 * stemma's attributes. One pass; nothing is kept between statements. */
#include "export/export.h"

#include "base/utf8.h"

#include <errno.h>

/* Which predicates are written. */
struct wanted {
	bool type, label, started, ended, at_time, activity;
	bool direct[PROV_KINDS], qualified[PROV_KINDS], object[PROV_KINDS];
	bool attr[ATTR_COUNT], base64[ATTR_COUNT];
};

struct rdf {
	struct wanted wanted;
	struct out *out;
	bool nt;         /* N-Triples: whole IRIs, one triple a line */
	uint64_t blanks; /* blank nodes so far */
	struct buf list; /* of the attribute that is written */
	bool open;       /* Turtle: a subject is open, the next triple follows a semicolon */
};

static const struct {
	const char *direct, *qualified, *class, *object;
} relation[PROV_KINDS] = {
    [PROV_wasGeneratedBy] = {"wasGeneratedBy", "qualifiedGeneration", "Generation", "activity"},
    [PROV_used] = {"used", "qualifiedUsage", "Usage", "entity"},
    [PROV_wasDerivedFrom] = {"wasDerivedFrom", "qualifiedDerivation", "Derivation", "entity"},
    [PROV_wasInformedBy] = {"wasInformedBy", "qualifiedCommunication", "Communication", "activity"},
    [PROV_wasAssociatedWith] = {"wasAssociatedWith", "qualifiedAssociation", "Association", "agent"},
    [PROV_actedOnBehalfOf] = {"actedOnBehalfOf", "qualifiedDelegation", "Delegation", "agent"},
    [PROV_specializationOf] = {"specializationOf", NULL, NULL, NULL},
};

/* ---- what is wanted ---- */

#define PROV_NS "http://www.w3.org/ns/prov#"

static bool is_wanted(const struct export_options *o, const char *ns, const char *name)
{
	return !o->wants || o->wants(o->wants_arg, ns, name);
}

/* name: in PROV's namespace; NULL: there is no such predicate. */
static bool is_prov_wanted(const struct export_options *o, const char *name)
{
	return name && is_wanted(o, PROV_NS, name);
}

static void find_wanted(const struct export_options *o, struct wanted *ret)
{
	ret->type = is_wanted(o, "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "type");
	ret->label = is_wanted(o, "http://www.w3.org/2000/01/rdf-schema#", "label");
	ret->started = is_prov_wanted(o, "startedAtTime");
	ret->ended = is_prov_wanted(o, "endedAtTime");
	ret->at_time = is_prov_wanted(o, "atTime");
	ret->activity = is_prov_wanted(o, "hadActivity");
	for (int k = 0; k < PROV_KINDS; k++) {
		ret->direct[k] = is_prov_wanted(o, relation[k].direct);
		ret->qualified[k] = is_prov_wanted(o, relation[k].qualified);
		ret->object[k] = is_prov_wanted(o, relation[k].object);
	}
	for (int a = 0; a < ATTR_COUNT; a++) {
		ret->attr[a] = is_wanted(o, STEMMA_NS, attr_words[a].name);
		ret->base64[a] = is_wanted(o, STEMMA_NS, attr_words[a].base64);
	}
}

/* Does a statement of that kind have something that is wanted? Builds have all kinds. */
static bool is_kind_wanted(const struct wanted *w, enum prov_kind kind)
{
	const bool element = kind <= PROV_activity;
	bool any = element ? w->type || w->label || (kind == PROV_activity && (w->started || w->ended))
	                   : w->direct[kind] || (relation[kind].qualified && (w->qualified[kind] || w->object[kind] ||
	                                                                      w->type || w->at_time || w->activity));
	for (int a = 0; a < ATTR_COUNT && !any; a++)
		any = w->attr[a] || w->base64[a];
	return any;
}

/* Bits of PROV_. */
static unsigned wanted_kinds(const struct wanted *w)
{
	unsigned kinds = 0;
	for (int k = 0; k < PROV_KINDS; k++)
		if (is_kind_wanted(w, (enum prov_kind)k))
			kinds |= PROV_BIT(k);
	return kinds ? kinds | PROV_BUILDS : 0;
}

/* ---- terms ---- */

/* Writes an IRI. In N-Triples the whole IRI, in Turtle with a prefix. The name must need no escapes. */
static void write_iri(struct rdf *r, const char *prefix, const char *ns, const char *name, size_t n)
{
	if (r->nt) {
		out_char(r->out, '<');
		out_text(r->out, ns);
		out_bytes(r->out, name, n);
		out_char(r->out, '>');
	} else {
		out_text(r->out, prefix);
		out_bytes(r->out, name, n);
	}
}

/* Writes a name of PROV's as an IRI. */
static void write_prov_iri(struct rdf *r, const char *name)
{
	write_iri(r, "prov:", PROV_NS, name, strlen(name));
}

/* Writes a name of stemma's vocabulary as an IRI. */
static void write_stemma_iri(struct rdf *r, const char *name)
{
	write_iri(r, "stemma:", STEMMA_NS, name, strlen(name));
}

/* Writes the identifier of something recorded as an IRI. */
static void write_id_iri(struct rdf *r, struct str name)
{
	write_iri(r, "id:", STEMMA_ID, name.p, name.n);
}

/* Writes blank node n. */
static void write_blank_node(struct rdf *r, uint64_t n)
{
	out_text(r->out, "_:b");
	out_count(r->out, n);
}

/* Writes the datatype of a literal, of XML Schema. */
static void write_datatype(struct rdf *r, const char *name)
{
	out_text(r->out, "^^");
	write_iri(r, "xsd:", "http://www.w3.org/2001/XMLSchema#", name, strlen(name));
}

/* A subject that is a thing, or (id.n 0) the last blank node. */
static void write_rdf_subject(struct rdf *r, struct str id)
{
	if (r->nt)
		return; /* each triple has its own */
	if (id.n)
		write_id_iri(r, id);
	else
		write_blank_node(r, r->blanks);
	r->open = false;
}

/* Begins a triple of the subject; id: "" the blank node. In Turtle the subject stands already. */
static void write_rdf_predicate(struct rdf *r, struct str id)
{
	if (!r->nt) {
		out_text(r->out, r->open ? " ;\n  " : " ");
		r->open = true;
		return;
	}
	if (id.n)
		write_id_iri(r, id);
	else
		write_blank_node(r, r->blanks);
	out_char(r->out, ' ');
}

/* Ends a triple. In Turtle the subject goes on. */
static void triple_end(struct rdf *r)
{
	if (r->nt)
		out_text(r->out, " .\n");
}

/* Ends the statements about a subject. In N-Triples each statement has ended already. */
static void subject_end(struct rdf *r)
{
	if (!r->nt)
		out_text(r->out, " .\n");
}

/* Writes the type of a thing. is_own: a class of stemma's, not of PROV's. */
static void write_rdf_type(struct rdf *r, struct str id, const char *class, bool is_own)
{
	if (!r->wanted.type)
		return;
	write_rdf_predicate(r, id);
	if (r->nt)
		out_text(r->out, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>");
	else
		out_char(r->out, 'a');
	out_char(r->out, ' ');
	(is_own ? write_stemma_iri : write_prov_iri)(r, class);
	triple_end(r);
}

/* Writes a statement about a time. Nothing for TIME_NONE. */
static void time_triple(struct rdf *r, struct str id, const char *name, bool wanted, int64_t t)
{
	if (t == TIME_NONE || !wanted)
		return;
	write_rdf_predicate(r, id);
	write_prov_iri(r, name);
	out_text(r->out, " \"");
	out_time(r->out, t);
	out_char(r->out, '"');
	write_datatype(r, "dateTime");
	triple_end(r);
}

/* The bytes of a value that is no UTF-8. */
static void base64_triple(struct rdf *r, struct str id, const struct prov_value *v)
{
	write_rdf_predicate(r, id);
	write_stemma_iri(r, attr_words[v->attr].base64);
	out_text(r->out, " \"");
	if (attr_words[v->attr].type == TYPE_text)
		out_base64(r->out, v->text);
	else
		out_escaped(r->out, out_list_text(&r->list, &v->list, true, NULL), NULL);
	out_char(r->out, '"');
	triple_end(r);
}

/* Of a value that is not wanted as a text: its bytes, if these are, and it has such. */
static void write_rdf_bytes(struct rdf *r, struct str id, const struct prov_value *v)
{
	const enum attr_type type = attr_words[v->attr].type;
	bool exact = true;
	if (!r->wanted.base64[v->attr])
		return;
	if (type == TYPE_text)
		exact = utf8_is_valid(v->text);
	else if (type == TYPE_list)
		out_list_text(&r->list, &v->list, false, &exact);
	if (!exact)
		base64_triple(r, id, v);
}

/* A value by its type, and in base64 too where it is not exact. */
static void write_rdf_attribute(struct rdf *r, struct str id, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	struct out *o = r->out;
	bool exact = true;
	if (!r->wanted.attr[v->attr])
		return write_rdf_bytes(r, id, v);
	write_rdf_predicate(r, id);
	write_stemma_iri(r, w->name);
	out_char(o, ' ');
	switch (w->type) {
	case TYPE_text:
		out_char(o, '"');
		out_escaped(o, v->text, &exact);
		out_char(o, '"');
		break;
	case TYPE_list:
		out_char(o, '"');
		out_escaped(o, out_list_text(&r->list, &v->list, false, &exact), NULL);
		out_char(o, '"');
		break;
	case TYPE_count:
		if (r->nt) {
			out_char(o, '"');
			out_count(o, v->count);
			out_char(o, '"');
			write_datatype(r, "integer");
		} else
			out_count(o, v->count); /* Turtle's short form of an xsd:integer */
		break;
	case TYPE_time:
		out_char(o, '"');
		out_time(o, v->time);
		out_char(o, '"');
		write_datatype(r, "dateTime");
		break;
	case TYPE_flag:
		out_text(o, r->nt ? (v->count ? "\"true\"" : "\"false\"") : v->count ? "true" : "false");
		if (r->nt)
			write_datatype(r, "boolean");
		break;
	case TYPE_name:
		write_id_iri(r, v->text);
		break;
	}
	triple_end(r);
	if (!exact && r->wanted.base64[v->attr])
		base64_triple(r, id, v);
}

/* Writes the label of a thing. Nothing for an empty one. */
static void write_rdf_label(struct rdf *r, struct str id, struct str text)
{
	if (!text.n || !r->wanted.label)
		return;
	write_rdf_predicate(r, id);
	write_iri(r, "rdfs:", "http://www.w3.org/2000/01/rdf-schema#", "label", 5);
	out_text(r->out, " \"");
	out_escaped(r->out, text, NULL);
	out_char(r->out, '"');
	triple_end(r);
}

/* ---- statements ---- */

/* What an agent, entity or activity is, and its attributes. */
static void write_rdf_element(struct rdf *r, const struct prov_statement *st)
{
	static const char *const class[] = {[PROV_agent] = "Agent", [PROV_entity] = "Entity", [PROV_activity] = "Activity"};
	write_rdf_subject(r, st->id);
	write_rdf_type(r, st->id, class[st->kind], false);
	if (st->kind == PROV_agent)
		write_rdf_type(r, st->id, prov_agent_class(st), false);
	if (st->type)
		write_rdf_type(r, st->id, st->type, true);
	write_rdf_label(r, st->id, st->label);
	time_triple(r, st->id, "startedAtTime", r->wanted.started, st->start);
	time_triple(r, st->id, "endedAtTime", r->wanted.ended, st->end);
	for (size_t i = 0; i < st->n; i++)
		write_rdf_attribute(r, st->id, &st->v[i]);
	subject_end(r);
}

/* Does the node of a relation have anything that is wanted? */
static bool is_node_wanted(const struct rdf *r, const struct prov_statement *st)
{
	const struct wanted *w = &r->wanted;
	bool any = w->qualified[st->kind] || w->object[st->kind] || w->type || w->at_time || w->activity;
	for (size_t i = 0; i < st->n && !any; i++)
		any = w->attr[st->v[i].attr] || w->base64[st->v[i].attr];
	return any;
}

/* The relation, and a node of its own where more is to be said of it. */
static void write_rdf_relation(struct rdf *r, const struct prov_statement *st)
{
	const struct str none = {0};
	const bool qualified = relation[st->kind].qualified && (st->n || st->start != TIME_NONE || st->third.n);
	r->blanks += qualified;
	write_rdf_subject(r, st->subject);
	if (r->wanted.direct[st->kind]) {
		write_rdf_predicate(r, st->subject);
		write_prov_iri(r, relation[st->kind].direct);
		out_char(r->out, ' ');
		write_id_iri(r, st->object);
		triple_end(r);
	}
	if (qualified && r->wanted.qualified[st->kind]) {
		write_rdf_predicate(r, st->subject);
		write_prov_iri(r, relation[st->kind].qualified);
		out_char(r->out, ' ');
		write_blank_node(r, r->blanks);
		triple_end(r);
	}
	subject_end(r);
	if (!qualified || !is_node_wanted(r, st))
		return;
	write_rdf_subject(r, none);
	write_rdf_type(r, none, relation[st->kind].class, false);
	if (r->wanted.object[st->kind]) {
		write_rdf_predicate(r, none);
		write_prov_iri(r, relation[st->kind].object);
		out_char(r->out, ' ');
		write_id_iri(r, st->object);
		triple_end(r);
	}
	if (st->third.n && r->wanted.activity) {
		write_rdf_predicate(r, none);
		write_prov_iri(r, "hadActivity");
		out_char(r->out, ' ');
		write_id_iri(r, st->third);
		triple_end(r);
	}
	time_triple(r, none, "atTime", r->wanted.at_time, st->start);
	for (size_t i = 0; i < st->n; i++)
		write_rdf_attribute(r, none, &st->v[i]);
	subject_end(r);
}

/* Writes a statement of PROV as triples. 0, -errno. arg: a struct rdf. */
static int write_rdf_statement(void *arg, const struct prov_statement *st)
{
	struct rdf *r = arg;
	if (st->kind <= PROV_activity)
		write_rdf_element(r, st);
	else
		write_rdf_relation(r, st);
	return r->list.failed ? -ENOMEM : -r->out->error;
}

/* Writes the selection as Turtle, or N-Triples. nt: N-Triples, of what o wants. 0; -errno, with a sentence but for
 * out->error. */
static int write_rdf(struct prov_source *p, struct out *out, bool nt, const struct export_options *o, struct err *err)
{
	struct rdf r = {.out = out, .nt = nt};
	find_wanted(nt ? o : &(struct export_options){0}, &r.wanted);
	if (!nt)
		out_text(out, "@prefix prov: <http://www.w3.org/ns/prov#> .\n"
		              "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
		              "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
		              "@prefix stemma: <" STEMMA_NS "> .\n"
		              "@prefix id: <" STEMMA_ID "> .\n\n");
	int rc = prov_walk(p, wanted_kinds(&r.wanted), write_rdf_statement, &r);
	buf_release(&r.list);
	return rc < 0 && !out->error ? err_set(err, -rc, "cannot read the record") : rc;
}

/* Writes the selection as Turtle. 0, -errno with a sentence. */
int export_turtle(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	return write_rdf(p, out, false, o, err);
}

/* Writes the selection as N-Triples. 0, -errno with a sentence. */
int export_ntriples(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	return write_rdf(p, out, true, o, err);
}
