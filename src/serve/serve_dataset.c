#include "serve/serve_dataset.h"

#include "base/hash.h"
#include "lib/record.h"
#include "serve/serve_accept.h"
#include "serve/serve_problem.h"
#include "sparql/sparql_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { GROWN = 64 << 20 }; /* bytes of new terms, behind which the dataset is made anew */

/* ---- the dataset ---- */

/* Differs where the index does: of its file, and of what was not yet taken into it. */
static uint64_t index_stamp(const char *path)
{
	char wal[4096];
	uint64_t stamp = 0;
	const char *const both[] = {path, wal};
	snprintf(wal, sizeof(wal), "%s-wal", path);
	for (size_t i = 0; i < 2; i++) {
		struct stat st;
		if (stat(both[i], &st) < 0)
			memset(&st, 0, sizeof(st));
		const int64_t parts[] = {(int64_t)st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
		stamp = hash_more(stamp, parts, sizeof(parts));
	}
	return stamp;
}

/* d is empty then. */
static void serve_dataset_release(struct serve_dataset *d)
{
	rdf_release(&d->rdf);
	d->loaded = false;
}

/* Adds the predicates that a query needs to those that are wanted. 1: one is new; 0; -ENOMEM. */
static int want_predicates(struct serve_dataset *d, const struct rdf *r, const struct sparql_needs *needs)
{
	int found = needs->all && !d->all;
	d->all |= needs->all;
	for (size_t i = 0; i < needs->predicates.n; i++) {
		const struct str iri = rdf_term(r, needs->predicates.v[i])->text;
		size_t k = 0;
		while (k < d->wanted.n && !str_is(iri, d->wanted.v[k]))
			k++;
		if (k < d->wanted.n)
			continue;
		char *copy = vec_room(&d->wanted, 1) ? strndup(iri.p, iri.n) : NULL;
		if (!copy)
			return -ENOMEM;
		d->wanted.v[d->wanted.n++] = copy;
		found = 1;
	}
	return found;
}

/* The same of a query's text; what cannot be parsed needs nothing, and is told later. */
static int want_query(struct serve_dataset *d, const char *text)
{
	struct rdf r;
	struct sparql query = {0};
	struct sparql_needs needs = {0};
	struct err err = {0};
	int rc = rdf_init(&r), found = 0;
	if (rc == 0)
		rc = sparql_parse(&r, str_of(text), "", sparql_record_prefixes, sparql_record_n_prefixes, &err, &query);
	if (rc == 0)
		rc = sparql_needs_find(query.query, &needs);
	if (rc == 0)
		found = want_predicates(d, &r, &needs);
	sparql_needs_release(&needs);
	sparql_release(&query);
	rdf_release(&r);
	return rc == -ENOMEM ? rc : found;
}

/* What is wanted of the record, into d->rdf, which is empty. 0, -errno with a sentence. */
static int load_wanted(struct serve_dataset *d, struct store *s, struct err *err)
{
	struct sparql_needs needs = {.all = d->all};
	int rc = 0;
	for (size_t i = 0; i < d->wanted.n && rc == 0; i++) {
		rdf_id *slot = vec_add(&needs.predicates);
		if (slot)
			*slot = rdf_iri(&d->rdf, str_of(d->wanted.v[i]));
		else
			rc = err_set(err, ENOMEM, "the record does not fit into memory");
	}
	if (rc == 0)
		rc = sparql_record(&d->rdf, s, &needs, err);
	sparql_needs_release(&needs);
	return rc;
}

/* A record_question: the record as RDF, in place of what d has. 0; -ENOMEM, -ENOSYS with err's sentence. */
static int ask_dataset(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct serve_dataset *d = q->arg;
	struct err e = {0};
	serve_dataset_release(d);
	int rc = rdf_init(&d->rdf);
	if (rc == 0)
		rc = load_wanted(d, r->source.store, &e);
	if (rc == 0)
		rc = rdf_ready(&d->rdf);
	if (rc == -ENOSYS)
		return record_fail(rc, &e, "", err);
	return rc < 0 ? record_fail(-ENOMEM, &e, "the record does not fit into memory", err) : 0;
}

/* The dataset of the index as it is now, with what the query needs and others before it needed. The same as long as the
 * index is not changed and it has not grown by GROWN bytes. 0, or a code with err's sentence. */
static int make_dataset(struct serve_answerer *a, struct serve_dataset *d, const char *query, struct stemma_error *err)
{
	int rc = serve_answerer_open(a, err);
	if (rc)
		return rc;
	const int more = want_query(d, query);
	if (more < 0)
		return record_fail(-ENOMEM, NULL, "the record does not fit into memory", err);
	const uint64_t stamp = index_stamp(store_index_path(a->record->source.store));
	if (d->loaded && !more && stamp == d->stamp && d->rdf.bytes - d->bytes < GROWN)
		return 0;
	rc = record_ask(a->record, &(struct record_question){.ask = ask_dataset, .arg = d}, err);
	d->loaded = rc == 0;
	d->stamp = stamp;
	d->bytes = d->rdf.bytes;
	return rc;
}

/* ---- results ---- */

struct form {
	const char *type, *name; /* of HTTP; of sparql_write */
};
static const struct form row_forms[] = {
    {"application/sparql-results+json", "json"},
    {"application/sparql-results+xml", "xml"},
    {"text/csv", "csv"},
    {"text/tab-separated-values", "tsv"},
    {"application/json", "json"},
    {"application/xml", "xml"},
    {"text/xml", "xml"},
};
static const struct form ask_forms[] = {
    {"application/sparql-results+json", "json"},
    {"application/sparql-results+xml", "xml"},
    {"application/json", "json"},
    {"application/xml", "xml"},
    {"text/xml", "xml"},
};
/* What is written is N-Triples, which is Turtle. */
static const struct form triple_forms[] = {
    {"text/turtle", "turtle"}, {"application/n-triples", "turtle"}, {"text/plain", "turtle"}};

/* The form that `accept`, a header's value, likes best; NULL: none of them will do. */
static const struct form *choose_form(const char *accept, const struct form *forms, size_t n)
{
	const char *types[sizeof(row_forms) / sizeof(row_forms[0])];
	for (size_t i = 0; i < n; i++)
		types[i] = forms[i].type;
	const size_t k = serve_accept(accept, types, n);
	return k < n ? &forms[k] : NULL;
}

/* The form in which the answer to a query is given. NULL: accept allows none of those that this form of query has. */
static const struct form *form_of(enum sparql_form form, const char *accept)
{
#define CHOOSE(forms) choose_form(accept, forms, sizeof(forms) / sizeof((forms)[0]))
	return form == FORM_SELECT ? CHOOSE(row_forms) : form == FORM_ASK ? CHOOSE(ask_forms) : CHOOSE(triple_forms);
#undef CHOOSE
}

/* 406 if accept does not allow it. */
static void describe_service(const char *accept, struct serve_answered *ret)
{
	static const char text[] =
	    "@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .\n"
	    "@prefix formats: <http://www.w3.org/ns/formats/> .\n"
	    "[] a sd:Service ;\n"
	    "    sd:endpoint <> ;\n"
	    "    sd:supportedLanguage sd:SPARQL11Query ;\n"
	    "    sd:resultFormat formats:SPARQL_Results_JSON, formats:SPARQL_Results_XML, formats:SPARQL_Results_CSV,\n"
	    "        formats:SPARQL_Results_TSV, formats:Turtle, formats:N-Triples ;\n"
	    "    sd:defaultDataset [ a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] ] .\n";
	static const char *const types[] = {"text/turtle"};
	if (serve_accept(accept, types, 1) == 1) {
		serve_answer_problem(ret, 406, "the service is described as text/turtle only", "");
		return;
	}
	ret->status = 200;
	ret->type = types[0];
	buf_str(&ret->body, str_of(text));
}

/* The status of HTTP for what sparql_run returns. */
static unsigned status_of_query(int rc)
{
	switch (rc) {
	case -EINVAL:
		return 400;
	case -ETIME:
		return 504;
	case -ENOSYS:
		return 501;
	case -E2BIG:
	case -ENOMEM:
		return 507;
	default:
		return 500;
	}
}

/* Answers that a query failed. rc: -errno of the query. */
static void fail_query(int rc, const struct err *err, struct serve_answered *ret)
{
	serve_answer_problem(ret, status_of_query(rc), err->text[0] ? err->text : "the query could not be answered",
	                     err->hint);
}

/* Fills ret with the result or a problem. */
static void run_query(struct serve_dataset *d, struct sparql *query, const char *accept,
                      const struct sparql_bounds *bounds, struct serve_answered *ret)
{
	struct sparql_result x = {0};
	struct err err = {0};
	int rc = sparql_run(&d->rdf, query, bounds, &err, &x);
	const struct form *form = rc == 0 ? form_of(x.form, accept) : NULL;
	if (rc == 0 && form)
		rc = sparql_write(&d->rdf, query, &x, form->name, &ret->body);
	if (rc < 0) {
		fail_query(rc, &err, ret);
	} else if (!form) {
		serve_answer_problem(ret, 406, "the result of this query has none of the types that are accepted", "");
	} else {
		ret->status = 200;
		ret->type = form->type;
	}
	sparql_result_release(&x);
}

void serve_dataset_answer(struct serve_answerer *a, struct serve_dataset *d, const struct serve_request *q,
                          const char *accept, int64_t ns, uint64_t memory, struct serve_answered *ret)
{
	const struct sparql_bounds bounds = {.rows = SERVE_ROWS_MOST, .bytes = memory, .ns = ns};
	struct stemma_error e = {0};
	struct err err = {0};
	struct sparql query = {0};
	*ret = (struct serve_answered){0};
	if (q->text[SERVE_P_default_graph] || q->text[SERVE_P_named_graph]) {
		serve_answer_problem(ret, 400, "the record is the only dataset", "");
		return;
	}
	if (!q->text[SERVE_P_query]) {
		describe_service(accept, ret);
		return;
	}
	int rc = make_dataset(a, d, q->text[SERVE_P_query], &e);
	if (rc) {
		serve_answer_problem(ret, rc == -ENOMEM ? 507 : rc == -ENOSYS ? 501 : 503, e.text, e.hint);
		ret->retry_after = ret->status == 503;
		return;
	}
	rc = sparql_parse(&d->rdf, str_of(q->text[SERVE_P_query]), "", sparql_record_prefixes, sparql_record_n_prefixes,
	                  &err, &query);
	if (rc < 0)
		fail_query(rc, &err, ret);
	else
		run_query(d, &query, accept, &bounds, ret);
	ret->damaged = a->damaged;
	sparql_release(&query);
}
