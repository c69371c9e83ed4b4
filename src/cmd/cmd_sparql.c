/* stemma sparql: the record, or RDF documents, asked in SPARQL. */
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "sparql/sparql.h"
#include "sparql/sparql_record.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY_MAX = 1 << 20 };
static const struct sparql_bounds usual = {.rows = 20000000, .bytes = 2ull << 30, .ns = 60000000000};

struct asking {
	struct cmd *c;
	const struct opts_sparql *o;
	struct rdf rdf;
	struct sparql query;
	struct sparql_result result;
	struct sparql_bounds bounds;
	struct buf text;
};

/* file:///... of a path, as documents and graphs are named. */
static void file_uri(const char *path, struct buf *ret)
{
	char real[PATH_MAX];
	const char *p = realpath(path, real) ? real : path;
	buf_str(ret, str_of("file://"));
	for (; *p; p++)
		if (strchr("/-_.~+,:@", *p) || (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z'))
			buf_char(ret, *p);
		else
			buf_printf(ret, "%%%02X", (unsigned)(unsigned char)*p);
}

/* Reads a document of RDF into the graph. path: FILE, or IRI=FILE. A status, reported. */
static int read_document(struct asking *x, const char *path, bool named)
{
	struct err err = {0};
	struct buf text = {0}, uri = {0};
	const char *equals = strstr(path, "://") ? strrchr(path, '=') : NULL;
	const struct str name = str_n(path, equals ? (size_t)(equals - path) : 0);
	path = equals ? equals + 1 : path;
	int rc = io_read_file(path, SIZE_MAX / 2, &text);
	if (rc < 0) {
		err_set(&err, -rc, "cannot read '%s'", path);
	} else {
		if (name.n)
			buf_str(&uri, name);
		else
			file_uri(path, &uri);
		const rdf_id g = named ? rdf_iri(&x->rdf, buf_view(&uri)) : 0;
		rc = rdf_read(&x->rdf, buf_view(&text), buf_cstr(&uri), g, &err);
		if (rc < 0) {
			struct err said = err;
			err = (struct err){0};
			err_set(&err, 0, "'%s': %s", path, said.text);
		}
	}
	buf_release(&text);
	buf_release(&uri);
	return rc < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* The record, or the documents that were named in its place. A status, reported. */
static int load(struct asking *x)
{
	struct err err = {0};
	int status = STATUS_OK;
	if (!x->o->data.n && !x->o->named.n) {
		status = cmd_store(x->c, x->o->no_index);
		if (status != STATUS_OK)
			return status;
		struct sparql_needs needs;
		int rc = sparql_needs_find(x->query.query, &needs);
		rc = rc < 0 ? err_set(&err, -rc, "cannot read the query") : sparql_record(&x->rdf, x->c->store, &needs, &err);
		sparql_needs_release(&needs);
		if (rc < 0)
			return report_err(&err, STATUS_SELF);
	}
	for (size_t i = 0; status == STATUS_OK && i < x->o->data.n; i++)
		status = read_document(x, x->o->data.v[i], false);
	for (size_t i = 0; status == STATUS_OK && i < x->o->named.n; i++)
		status = read_document(x, x->o->named.v[i], true);
	if (status == STATUS_OK && rdf_ready(&x->rdf) < 0) {
		report("the statements of the record do not fit into memory");
		report_hint("stemma sql and stemma find read the index and need less");
		return STATUS_SELF;
	}
	return status;
}

/* A status, reported. */
static int read_query(struct asking *x)
{
	struct err err = {0};
	if ((x->o->file != NULL) + (x->c->n_operands > 0) != 1 || x->c->n_operands > 1)
		return report_usage(x->c, "sparql needs one query: as an argument or with --file FILE");
	if (!x->o->file) {
		buf_str(&x->text, str_of(x->c->operands[0]));
		return STATUS_OK;
	}
	int rc = strcmp(x->o->file, "-") == 0 ? io_read_rest(0, QUERY_MAX, &x->text)
	                                      : io_read_file(x->o->file, QUERY_MAX, &x->text);
	if (rc < 0)
		err_set(&err, -rc, "cannot read '%s'", x->o->file);
	return rc < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* Parses the query. STATUS_USAGE: it is no query. Reported. */
static int parse(struct asking *x)
{
	struct err err = {0};
	struct buf base = {0};
	if (x->o->base)
		buf_str(&base, str_of(x->o->base));
	else if (x->o->file && strcmp(x->o->file, "-") != 0)
		file_uri(x->o->file, &base);
	int rc = sparql_parse(&x->rdf, buf_view(&x->text), buf_cstr(&base), sparql_record_prefixes,
	                      sparql_record_n_prefixes, &err, &x->query);
	buf_release(&base);
	return rc < 0 ? report_err(&err, rc == -EINVAL ? STATUS_USAGE : STATUS_SELF) : STATUS_OK;
}

/* ---- tables for people ---- */

/* The prefix that shortens an IRI. *ret_cut: how many bytes of the IRI it stands for. NULL: none. */
static const char *short_prefix(struct str iri, size_t *ret_cut)
{
	for (size_t i = 0; i < sparql_record_n_prefixes; i++) {
		const struct str ns = str_of(sparql_record_prefixes[i][1]);
		if (str_starts(iri, ns) && iri.n > ns.n) {
			*ret_cut = ns.n;
			return sparql_record_prefixes[i][0];
		}
	}
	return NULL;
}

/* IRIs by their prefixes, shown for a terminal. */
static void table_term(struct table *t, const struct rdf *r, rdf_id id)
{
	const struct rdf_term *x = rdf_term(r, id);
	struct buf raw = {0}, shown = {0};
	size_t cut;
	const char *prefix = x->kind == RDF_IRI ? short_prefix(x->text, &cut) : NULL;
	if (prefix)
		buf_printf(&raw, "%s:%.*s", prefix, (int)(x->text.n - cut), x->text.p + cut);
	else if (x->kind == RDF_BLANK)
		buf_printf(&raw, "_:%.*s", (int)x->text.n, x->text.p);
	else
		buf_str(&raw, x->text);
	fmt_name(&shown, buf_view(&raw));
	table_cellf(t, "%s", buf_cstr(&shown));
	buf_release(&raw);
	buf_release(&shown);
}

/* Prints the solutions as a table. STATUS_NOTHING: no row. A status, reported. */
static int print_table(struct asking *x)
{
	const struct sparql_result *r = &x->result;
	const char **heads = calloc(r->n_vars + 1, sizeof(*heads));
	char *align = calloc(r->n_vars + 1, 1);
	struct table t = {.heads = heads, .align = align, .n_columns = r->n_vars};
	for (size_t k = 0; heads && align && k < r->n_vars; k++) {
		const struct str name = x->query.vars.v[r->vars[k]];
		heads[k] = strndup(name.p, name.n);
		align[k] = 'l';
	}
	if (!heads || !align)
		return report_lack(STATUS_SELF);
	for (size_t i = 0; i < r->n_rows; i++)
		for (size_t k = 0; k < r->n_vars; k++)
			table_term(&t, &x->rdf, r->terms[i * r->n_vars + k]);
	if (r->n_rows)
		table_print(&t, &x->c->out, 0);
	for (size_t k = 0; k < r->n_vars; k++)
		free((char *)(uintptr_t)heads[k]);
	free(heads);
	free(align);
	return r->n_rows ? STATUS_OK : STATUS_NOTHING;
}

/* Of ASK the status is the answer, too: STATUS_NOTHING for no. A status, reported. */
static int print_result(struct asking *x)
{
	const struct sparql_result *r = &x->result;
	struct buf out = {0};
	const bool triples = r->form == FORM_CONSTRUCT || r->form == FORM_DESCRIBE;
	const char *format = x->o->format ? x->o->format : triples ? "turtle" : "table";
	if (!strcmp(format, "table") && r->form == FORM_ASK) {
		printf("%s\n", r->answer ? "yes" : "no");
		return r->answer ? STATUS_OK : STATUS_NOTHING;
	}
	if (!strcmp(format, "table") && !triples)
		return print_table(x);
	int rc = sparql_write(&x->rdf, &x->query, r, format, &out);
	if (rc == -EINVAL)
		return report_usage(
		    x->c, "the result of this query cannot be written as %s; man stemma-sparql lists the formats", format);
	if (rc == 0)
		fwrite(out.p, 1, out.n, stdout);
	buf_release(&out);
	return rc < 0 ? report_lack(STATUS_SELF) : STATUS_OK;
}

/* Reads the query, loads what it asks, and answers it. With --check only the query is looked at. A status, reported.
 */
static int ask(struct asking *x)
{
	struct err err = {0};
	int status = read_query(x);
	if (status == STATUS_OK && rdf_init(&x->rdf) < 0)
		return report_lack(STATUS_SELF);
	status = status == STATUS_OK ? parse(x) : status;
	if (status != STATUS_OK || x->o->check)
		return status;
	status = load(x);
	if (status != STATUS_OK)
		return status;
	if (sparql_run(&x->rdf, &x->query, &x->bounds, &err, &x->result) < 0)
		return report_err(&err, STATUS_SELF);
	return print_result(x);
}

/* Gives the exit status. */
int cmd_sparql(struct cmd *c, const struct opts_sparql *o)
{
	struct asking x = {.c = c, .o = o, .bounds = usual};
	if (o->timeout && (config_parse_duration(o->timeout, &x.bounds.ns) < 0 || x.bounds.ns <= 0))
		return report_usage(c, "--timeout: '%s' is not a time such as 500ms or 60s", o->timeout);
	int status = ask(&x);
	sparql_result_release(&x.result);
	sparql_release(&x.query);
	rdf_release(&x.rdf);
	buf_release(&x.text);
	return status;
}
