/* turtle.c - PROV-O in Turtle and N-Triples.
 *
 * A relation is its direct triple (ex:a prov:used ex:e) and a qualified one, a blank node that holds time and
 * stemma's attributes. One pass; nothing is kept between statements. */
#include "export/export.h"

#include <errno.h>

struct rdf {
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

/* ---- terms ---- */

static void iri(struct rdf *r, const char *prefix, const char *ns, const char *name, size_t n)
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

static void prov(struct rdf *r, const char *name)
{
	iri(r, "prov:", "http://www.w3.org/ns/prov#", name, strlen(name));
}

static void own(struct rdf *r, const char *name)
{
	iri(r, "stemma:", STEMMA_NS, name, strlen(name));
}

static void thing(struct rdf *r, struct str name)
{
	iri(r, "id:", STEMMA_ID, name.p, name.n);
}

static void blank(struct rdf *r, uint64_t n)
{
	out_text(r->out, "_:b");
	out_count(r->out, n);
}

static void datatype(struct rdf *r, const char *name)
{
	out_text(r->out, "^^");
	iri(r, "xsd:", "http://www.w3.org/2001/XMLSchema#", name, strlen(name));
}

/* A subject that is a thing, or (id.n 0) the last blank node. */
static void subject(struct rdf *r, struct str id)
{
	if (r->nt)
		return; /* each triple has its own */
	if (id.n)
		thing(r, id);
	else
		blank(r, r->blanks);
	r->open = false;
}

static void predicate(struct rdf *r, struct str id)
{
	if (!r->nt) {
		out_text(r->out, r->open ? " ;\n  " : " ");
		r->open = true;
		return;
	}
	if (id.n)
		thing(r, id);
	else
		blank(r, r->blanks);
	out_char(r->out, ' ');
}

static void triple_end(struct rdf *r)
{
	if (r->nt)
		out_text(r->out, " .\n");
}

static void subject_end(struct rdf *r)
{
	if (!r->nt)
		out_text(r->out, " .\n");
}

static void a(struct rdf *r, struct str id, const char *class, bool is_own)
{
	predicate(r, id);
	if (r->nt)
		out_text(r->out, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>");
	else
		out_char(r->out, 'a');
	out_char(r->out, ' ');
	(is_own ? own : prov)(r, class);
	triple_end(r);
}

static void time_triple(struct rdf *r, struct str id, const char *name, int64_t t)
{
	if (t == TIME_NONE)
		return;
	predicate(r, id);
	prov(r, name);
	out_text(r->out, " \"");
	out_time(r->out, t);
	out_char(r->out, '"');
	datatype(r, "dateTime");
	triple_end(r);
}

static void base64_triple(struct rdf *r, struct str id, const struct prov_value *v)
{
	predicate(r, id);
	own(r, attr_words[v->attr].base64);
	out_text(r->out, " \"");
	if (attr_words[v->attr].type == TYPE_text)
		out_base64(r->out, v->text);
	else
		out_escaped(r->out, list_text(&r->list, &v->list, true, NULL), NULL);
	out_char(r->out, '"');
	triple_end(r);
}

static void attribute(struct rdf *r, struct str id, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	struct out *o = r->out;
	bool exact = true;
	predicate(r, id);
	own(r, w->name);
	out_char(o, ' ');
	switch (w->type) {
	case TYPE_text:
		out_char(o, '"');
		out_escaped(o, v->text, &exact);
		out_char(o, '"');
		break;
	case TYPE_list:
		out_char(o, '"');
		out_escaped(o, list_text(&r->list, &v->list, false, &exact), NULL);
		out_char(o, '"');
		break;
	case TYPE_count:
		if (r->nt) {
			out_char(o, '"');
			out_count(o, v->count);
			out_char(o, '"');
			datatype(r, "integer");
		} else
			out_count(o, v->count); /* Turtle's short form of an xsd:integer */
		break;
	case TYPE_time:
		out_char(o, '"');
		out_time(o, v->time);
		out_char(o, '"');
		datatype(r, "dateTime");
		break;
	case TYPE_flag:
		out_text(o, r->nt ? (v->count ? "\"true\"" : "\"false\"") : v->count ? "true" : "false");
		if (r->nt)
			datatype(r, "boolean");
		break;
	case TYPE_name:
		thing(r, v->text);
		break;
	}
	triple_end(r);
	if (!exact)
		base64_triple(r, id, v);
}

static void label(struct rdf *r, struct str id, struct str text)
{
	if (!text.n)
		return;
	predicate(r, id);
	iri(r, "rdfs:", "http://www.w3.org/2000/01/rdf-schema#", "label", 5);
	out_text(r->out, " \"");
	out_escaped(r->out, text, NULL);
	out_char(r->out, '"');
	triple_end(r);
}

/* ---- statements ---- */

static void node(struct rdf *r, const struct prov_statement *st)
{
	static const char *const class[] = {[PROV_agent] = "Agent", [PROV_entity] = "Entity", [PROV_activity] = "Activity"};
	subject(r, st->id);
	a(r, st->id, class[st->kind], false);
	if (st->kind == PROV_agent)
		a(r, st->id, prov_agent_class(st), false);
	if (st->type)
		a(r, st->id, st->type, true);
	label(r, st->id, st->label);
	time_triple(r, st->id, "startedAtTime", st->start);
	time_triple(r, st->id, "endedAtTime", st->end);
	for (size_t i = 0; i < st->n; i++)
		attribute(r, st->id, &st->v[i]);
	subject_end(r);
}

static void edge(struct rdf *r, const struct prov_statement *st)
{
	const struct str none = {0};
	subject(r, st->subject);
	predicate(r, st->subject);
	prov(r, relation[st->kind].direct);
	out_char(r->out, ' ');
	thing(r, st->object);
	triple_end(r);
	bool qualified = relation[st->kind].qualified && (st->n || st->start != TIME_NONE || st->third.n);
	if (qualified) {
		r->blanks++;
		predicate(r, st->subject);
		prov(r, relation[st->kind].qualified);
		out_char(r->out, ' ');
		blank(r, r->blanks);
		triple_end(r);
	}
	subject_end(r);
	if (!qualified)
		return;
	subject(r, none);
	a(r, none, relation[st->kind].class, false);
	predicate(r, none);
	prov(r, relation[st->kind].object);
	out_char(r->out, ' ');
	thing(r, st->object);
	triple_end(r);
	if (st->third.n) {
		predicate(r, none);
		prov(r, "hadActivity");
		out_char(r->out, ' ');
		thing(r, st->third);
		triple_end(r);
	}
	time_triple(r, none, "atTime", st->start);
	for (size_t i = 0; i < st->n; i++)
		attribute(r, none, &st->v[i]);
	subject_end(r);
}

static int statement(void *arg, const struct prov_statement *st)
{
	struct rdf *r = arg;
	if (st->kind <= PROV_activity)
		node(r, st);
	else
		edge(r, st);
	return r->list.failed ? -ENOMEM : -r->out->error;
}

static int write_rdf(struct prov_source *p, struct out *out, bool nt, struct err *err)
{
	struct rdf r = {.out = out, .nt = nt};
	if (!nt)
		out_text(out, "@prefix prov: <http://www.w3.org/ns/prov#> .\n"
		              "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
		              "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
		              "@prefix stemma: <" STEMMA_NS "> .\n"
		              "@prefix id: <" STEMMA_ID "> .\n\n");
	int rc = prov_walk(p, PROV_ALL | PROV_BUILDS, statement, &r);
	buf_release(&r.list);
	return rc < 0 && !out->error ? err_set(err, -rc, "cannot read the record") : rc;
}

int export_turtle(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	(void)o;
	return write_rdf(p, out, false, err);
}

int export_ntriples(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	(void)o;
	return write_rdf(p, out, true, err);
}
