/* prov_n.c - PROV-N, the notation for people (W3C recommendation, 2013). One pass; nothing is kept between statements.
 */
#include "export/export.h"

#include <errno.h>

struct notation {
	struct out *out;
	struct buf list;
};

/* PROV-N's strings are SPARQL's without \u, so what may not stand in a text as it is cannot be said there. */
static void write_provn_string(struct notation *n, struct str s, bool *ret_exact)
{
	out_char(n->out, '"');
	out_escaped_least(n->out, s, ret_exact);
	out_char(n->out, '"');
}

/* Writes an identifier. */
static void write_provn_id(struct notation *n, struct str name)
{
	out_text(n->out, "id:");
	out_str(n->out, name);
}

/* Begins a quoted literal; close_typed_provn ends it. */
static void open_typed_provn(struct notation *n)
{
	out_char(n->out, '"');
}

/* Ends what open_typed_provn began. type: without its prefix, which is xsd:. */
static void close_typed_provn(struct notation *n, const char *type)
{
	out_text(n->out, "\" %% xsd:");
	out_text(n->out, type);
}

/* Opens the list at the first one. The caller closes it. */
static void attribute_name(struct notation *n, bool *first, const char *prefix, const char *name)
{
	out_text(n->out, *first ? "[" : ", ");
	*first = false;
	out_text(n->out, prefix);
	out_text(n->out, name);
	out_char(n->out, '=');
}

/* What is no UTF-8 is written as base64, too. */
static void write_provn_attribute(struct notation *n, bool *first, const struct prov_value *v)
{
	const struct attr_words *w = &attr_words[v->attr];
	bool exact = true;
	attribute_name(n, first, "stemma:", w->name);
	switch (w->type) {
	case TYPE_text:
		write_provn_string(n, v->text, &exact);
		break;
	case TYPE_list:
		write_provn_string(n, out_list_text(&n->list, &v->list, false, &exact), NULL);
		break;
	case TYPE_count:
		open_typed_provn(n);
		out_count(n->out, v->count);
		close_typed_provn(n, "integer");
		break;
	case TYPE_time:
		open_typed_provn(n);
		out_time(n->out, v->time);
		close_typed_provn(n, "dateTime");
		break;
	case TYPE_flag:
		open_typed_provn(n);
		out_text(n->out, v->count ? "true" : "false");
		close_typed_provn(n, "boolean");
		break;
	case TYPE_name:
		out_char(n->out, '\'');
		write_provn_id(n, v->text);
		out_char(n->out, '\'');
		break;
	}
	if (exact)
		return;
	attribute_name(n, first, "stemma:", w->base64);
	if (w->type == TYPE_text) {
		open_typed_provn(n);
		out_base64(n->out, v->text);
		out_char(n->out, '"');
	} else
		write_provn_string(n, out_list_text(&n->list, &v->list, true, NULL), NULL);
}

/* Writes a type as an attribute. *first: none was written before. */
static void write_provn_type(struct notation *n, bool *first, const char *prefix, const char *name)
{
	attribute_name(n, first, "prov:", "type");
	out_char(n->out, '\'');
	out_text(n->out, prefix);
	out_text(n->out, name);
	out_char(n->out, '\'');
}

/* "-" for TIME_NONE. */
static void time_or_marker(struct notation *n, int64_t t)
{
	out_text(n->out, ", ");
	if (t == TIME_NONE)
		out_char(n->out, '-');
	else
		out_time(n->out, t);
}

/* Writes a statement. 0, -errno. For prov's callback; arg: a struct notation. */
static int write_provn_statement(void *arg, const struct prov_statement *st)
{
	struct notation *n = arg;
	bool first = true;
	out_text(n->out, "  ");
	out_text(n->out, prov_kind_name[st->kind]);
	out_char(n->out, '(');
	if (st->kind <= PROV_activity) {
		write_provn_id(n, st->id);
		if (st->kind == PROV_activity) {
			time_or_marker(n, st->start);
			time_or_marker(n, st->end);
		}
	} else {
		write_provn_id(n, st->subject);
		out_text(n->out, ", ");
		write_provn_id(n, st->object);
		if (st->kind == PROV_used || st->kind == PROV_wasGeneratedBy)
			time_or_marker(n, st->start);
		if (st->kind == PROV_wasAssociatedWith)
			out_text(n->out, ", -");
		if (st->third.n) {
			out_text(n->out, ", ");
			write_provn_id(n, st->third);
		}
	}
	if (st->n || st->type || st->label.n)
		out_text(n->out, ", ");
	if (st->kind == PROV_agent)
		write_provn_type(n, &first, "prov:", prov_agent_class(st));
	if (st->type)
		write_provn_type(n, &first, "stemma:", st->type);
	if (st->label.n) {
		attribute_name(n, &first, "prov:", "label");
		write_provn_string(n, st->label, NULL);
	}
	for (size_t i = 0; i < st->n; i++)
		write_provn_attribute(n, &first, &st->v[i]);
	out_text(n->out, first ? ")\n" : "])\n");
	return n->list.failed ? -ENOMEM : -n->out->error;
}

/* Writes the selection as PROV-N. 0, -errno with a sentence. */
int export_prov_n(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct notation n = {.out = out};
	(void)o;
	out_text(out, "document\n  prefix stemma <" STEMMA_NS ">\n  prefix id <" STEMMA_ID ">\n\n");
	int r = prov_walk(p, PROV_ALL | PROV_BUILDS, write_provn_statement, &n);
	out_text(out, "endDocument\n");
	buf_release(&n.list);
	return r < 0 && !out->error ? err_set(err, -r, "cannot read the record") : r;
}
