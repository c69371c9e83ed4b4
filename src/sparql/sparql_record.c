#include "sparql/sparql_record.h"

#include "base/buf.h"
#include "export/export.h"

#include <errno.h>

const char *const sparql_record_prefixes[][2] = {
    {"prov", "http://www.w3.org/ns/prov#"},
    {"rdf", RDF_NS},
    {"rdfs", "http://www.w3.org/2000/01/rdf-schema#"},
    {"xsd", XSD_NS},
    {"stemma", STEMMA_NS},
    {"id", STEMMA_ID},
};
const size_t sparql_record_n_prefixes = sizeof(sparql_record_prefixes) / sizeof(sparql_record_prefixes[0]);

struct wanting {
	struct rdf *r;
	const struct sparql_needs *needs;
};

/* For export_options. */
static bool wants_predicate(void *arg, const char *ns, const char *name)
{
	const struct wanting *w = arg;
	struct buf iri = {0};
	buf_str(&iri, str_of(ns));
	buf_str(&iri, str_of(name));
	const bool wanted = iri.failed || sparql_needs_has(w->needs, rdf_iri(w->r, buf_view(&iri)));
	buf_release(&iri);
	return wanted;
}

int sparql_record(struct rdf *r, struct store *s, const struct sparql_needs *needs, struct err *err)
{
	struct wanting w = {r, needs};
	const bool some = needs && !needs->all;

	struct prov_source *p;
	struct buf text = {0};
	struct out out = out_into(&text);
	const struct prov_select all = {.since = TIME_NONE, .until = TIME_NONE};
	const struct export_options what = {.wants = some ? wants_predicate : NULL, .wants_arg = &w};
	int rc = prov_open(s, &all, err, &p);
	if (rc < 0)
		return rc;
	rc = (some ? export_ntriples : export_turtle)(p, &out, &what, err);
	prov_close(p);
	if (rc == 0 && text.failed)
		rc = err_set(err, ENOMEM, "the record does not fit into memory");
	rc = rc < 0 ? rc : rdf_read(r, buf_view(&text), STEMMA_ID, 0, err);
	buf_release(&text);
	return rc;
}

bool sparql_is_there(void)
{
	return true;
}
