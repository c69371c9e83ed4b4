/* sparql_write.c - results: SPARQL 1.1 Query Results JSON, XML, CSV and TSV; triples as N-Triples. */
#include "sparql/sparql.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

struct writing {
	const struct rdf *r;
	const struct sparql *q;
	const struct sparql_result *x;
	struct buf *out;
};

/* Appends a text. */
static void put(struct buf *b, const char *s)
{
	buf_str(b, str_of(s));
}

/* Literals are as hostile as their document: what a terminal acts on is not written as it is. The bytes of the
 * character at place i that is so, and which it is; 0: it may be written. Ends of lines and tabs may. */
static size_t unsafe_at(struct str s, size_t i, uint32_t *ret)
{
	const size_t n = utf8_char(s.p + i, s.n - i, ret);
	return n && unsafe_char(*ret) && *ret != '\n' && *ret != '\r' && *ret != '\t' ? n : 0;
}

/* In quotes; what a document may not hold is escaped. */
static void put_json(struct buf *b, struct str s)
{
	uint32_t u;
	size_t n;
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	buf_char(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		const char c = s.p[i], *at = c ? strchr(from, c) : NULL;
		if (at)
			buf_printf(b, "\\%c", to[at - from]);
		else if ((n = unsafe_at(s, i, &u))) {
			buf_printf(b, "\\u%04x", (unsigned)u); /* all of these have four digits */
			i += n - 1;
		} else
			buf_char(b, c);
	}
	buf_char(b, '"');
}

/* What XML cannot hold at all becomes the replacement character. */
static void put_xml(struct buf *b, struct str s)
{
	uint32_t u;
	size_t n;
	for (size_t i = 0; i < s.n; i++) {
		const char c = s.p[i];
		if (c == '<')
			put(b, "&lt;");
		else if (c == '>')
			put(b, "&gt;");
		else if (c == '&')
			put(b, "&amp;");
		else if (c == '"')
			put(b, "&quot;");
		else if (c == '\r')
			put(b, "&#13;");
		else if ((n = unsafe_at(s, i, &u))) {
			put(b, REPLACEMENT);
			i += n - 1;
		} else
			buf_char(b, c);
	}
}

/* Appends a term as in N-Triples, Turtle and TSV. */
static void put_term(struct buf *b, const struct rdf *r, rdf_id id)
{
	const struct rdf_term *t = rdf_term(r, id);
	if (t->kind == RDF_IRI) {
		buf_char(b, '<');
		for (size_t i = 0; i < t->text.n; i++)
			if ((unsigned char)t->text.p[i] <= 0x20 || strchr("<>\"{}|^`\\", t->text.p[i]))
				buf_printf(b, "\\u%04X", (unsigned)(unsigned char)t->text.p[i]);
			else
				buf_char(b, t->text.p[i]);
		buf_char(b, '>');
		return;
	}
	if (t->kind == RDF_BLANK) {
		put(b, "_:");
		buf_str(b, t->text);
		return;
	}
	put_json(b, t->text);
	if (t->lang.n) {
		buf_char(b, '@');
		buf_str(b, t->lang);
	} else if (t->type != r->xsd_string) {
		put(b, "^^");
		put_term(b, r, t->type);
	}
}

/* The name of column k of the result. */
static struct str var_name(const struct writing *w, size_t k)
{
	return w->q->vars.v[w->x->vars[k]];
}

/* The term in a row and column of the result. 0: not bound. */
static rdf_id cell(const struct writing *w, size_t row, size_t k)
{
	return w->x->terms[row * w->x->n_vars + k];
}

/* ---- JSON ---- */

/* A term as SPARQL's results in JSON have it. */
static void json_term(const struct writing *w, rdf_id id)
{
	const struct rdf_term *t = rdf_term(w->r, id);
	static const char *const types[] = {
	    [RDF_NONE] = "", [RDF_IRI] = "uri", [RDF_BLANK] = "bnode", [RDF_LITERAL] = "literal"};
	buf_printf(w->out, "{\"type\":\"%s\",\"value\":", types[t->kind]);
	put_json(w->out, t->text);
	if (t->lang.n) {
		put(w->out, ",\"xml:lang\":");
		put_json(w->out, t->lang);
	} else if (t->kind == RDF_LITERAL && t->type != w->r->xsd_string) {
		put(w->out, ",\"datatype\":");
		put_json(w->out, rdf_term(w->r, t->type)->text);
	}
	buf_char(w->out, '}');
}

/* Rows leave out what is not bound. */
static void write_json(const struct writing *w)
{
	put(w->out, "{\"head\":{");
	if (w->x->form == FORM_ASK) {
		buf_printf(w->out, "},\"boolean\":%s}\n", w->x->answer ? "true" : "false");
		return;
	}
	put(w->out, "\"vars\":[");
	for (size_t k = 0; k < w->x->n_vars; k++) {
		put(w->out, k ? "," : "");
		put_json(w->out, var_name(w, k));
	}
	put(w->out, "]},\"results\":{\"bindings\":[");
	for (size_t i = 0; i < w->x->n_rows; i++) {
		put(w->out, i ? ",\n{" : "\n{");
		bool any = false;
		for (size_t k = 0; k < w->x->n_vars; k++) {
			if (!cell(w, i, k))
				continue;
			put(w->out, any ? "," : "");
			put_json(w->out, var_name(w, k));
			buf_char(w->out, ':');
			json_term(w, cell(w, i, k));
			any = true;
		}
		buf_char(w->out, '}');
	}
	put(w->out, "\n]}}\n");
}

/* ---- XML ---- */

/* A term as SPARQL's results in XML have it. */
static void xml_term(const struct writing *w, rdf_id id)
{
	const struct rdf_term *t = rdf_term(w->r, id);
	static const char *const names[] = {
	    [RDF_NONE] = "", [RDF_IRI] = "uri", [RDF_BLANK] = "bnode", [RDF_LITERAL] = "literal"};
	buf_printf(w->out, "<%s", names[t->kind]);
	if (t->lang.n) {
		put(w->out, " xml:lang=\"");
		put_xml(w->out, t->lang);
		buf_char(w->out, '"');
	} else if (t->kind == RDF_LITERAL && t->type != w->r->xsd_string) {
		put(w->out, " datatype=\"");
		put_xml(w->out, rdf_term(w->r, t->type)->text);
		buf_char(w->out, '"');
	}
	buf_char(w->out, '>');
	put_xml(w->out, t->text);
	buf_printf(w->out, "</%s>", names[t->kind]);
}

/* Rows leave out what is not bound. */
static void write_xml(const struct writing *w)
{
	put(w->out, "<?xml version=\"1.0\"?>\n<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\">\n <head>");
	for (size_t k = 0; w->x->form == FORM_SELECT && k < w->x->n_vars; k++) {
		put(w->out, "<variable name=\"");
		put_xml(w->out, var_name(w, k));
		put(w->out, "\"/>");
	}
	put(w->out, "</head>\n");
	if (w->x->form == FORM_ASK)
		buf_printf(w->out, " <boolean>%s</boolean>\n", w->x->answer ? "true" : "false");
	else
		put(w->out, " <results>\n");
	for (size_t i = 0; w->x->form == FORM_SELECT && i < w->x->n_rows; i++) {
		put(w->out, "  <result>");
		for (size_t k = 0; k < w->x->n_vars; k++) {
			if (!cell(w, i, k))
				continue;
			put(w->out, "<binding name=\"");
			put_xml(w->out, var_name(w, k));
			put(w->out, "\">");
			xml_term(w, cell(w, i, k));
			put(w->out, "</binding>");
		}
		put(w->out, "</result>\n");
	}
	put(w->out, w->x->form == FORM_ASK ? "</sparql>\n" : " </results>\n</sparql>\n");
}

/* ---- CSV and TSV ---- */

/* What a spreadsheet would take for a formula is quoted with an apostrophe. */
static void csv_field(struct buf *b, struct str s)
{
	bool quote = false;
	uint32_t u;
	for (size_t i = 0; i < s.n; i++)
		quote |= s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r';
	if (quote)
		buf_char(b, '"');
	if (unsafe_formula(s))
		buf_char(b, '\'');
	for (size_t i = 0, n; i < s.n; i++) {
		if ((n = unsafe_at(s, i, &u))) {
			put(b, REPLACEMENT);
			i += n - 1;
			continue;
		}
		if (quote && s.p[i] == '"')
			buf_char(b, '"');
		buf_char(b, s.p[i]);
	}
	if (quote)
		buf_char(b, '"');
}

/* Only the text: CSV has no types. */
static void csv_term(const struct writing *w, rdf_id id)
{
	const struct rdf_term *t = rdf_term(w->r, id);
	if (t->kind == RDF_BLANK)
		put(w->out, "_:");
	csv_field(w->out, t->text);
}

/* TSV writes terms as Turtle has them; what is not bound is empty. */
static void write_separated(const struct writing *w, bool tabs)
{
	for (size_t k = 0; k < w->x->n_vars; k++) {
		put(w->out, k ? (tabs ? "\t" : ",") : "");
		put(w->out, tabs ? "?" : "");
		buf_str(w->out, var_name(w, k));
	}
	put(w->out, tabs ? "\n" : "\r\n");
	for (size_t i = 0; i < w->x->n_rows; i++) {
		for (size_t k = 0; k < w->x->n_vars; k++) {
			put(w->out, k ? (tabs ? "\t" : ",") : "");
			if (cell(w, i, k) && tabs)
				put_term(w->out, w->r, cell(w, i, k));
			else if (cell(w, i, k))
				csv_term(w, cell(w, i, k));
		}
		put(w->out, tabs ? "\n" : "\r\n");
	}
}

/* Writes the triples of the result as N-Triples has them. */
static void write_triples(const struct writing *w)
{
	for (size_t i = 0; i < w->x->n_quads; i++) {
		const struct rdf_quad *q = &w->x->quads[i];
		put_term(w->out, w->r, q->s);
		buf_char(w->out, ' ');
		put_term(w->out, w->r, q->p);
		buf_char(w->out, ' ');
		put_term(w->out, w->r, q->o);
		put(w->out, " .\n");
	}
}

int sparql_write(const struct rdf *r, const struct sparql *q, const struct sparql_result *x, const char *form,
                 struct buf *ret)
{
	const struct writing w = {r, q, x, ret};
	const bool rows = x->form == FORM_SELECT, table = rows || x->form == FORM_ASK;
	if (!strcmp(form, "json") && table)
		write_json(&w);
	else if (!strcmp(form, "xml") && table)
		write_xml(&w);
	else if (!strcmp(form, "csv") && rows)
		write_separated(&w, false);
	else if (!strcmp(form, "tsv") && rows)
		write_separated(&w, true);
	else if (!strcmp(form, "turtle") && !table)
		write_triples(&w);
	else
		return -EINVAL;
	return ret->failed ? -ENOMEM : 0;
}
