/* SPARQL queries of any text, over a small graph: they are parsed, run within small bounds, and their results written
 * in all forms. */
#include "fuzz_file.h"
#include "sparql/sparql.h"
#include "sparql/sparql_record.h"

static const char graph[] =
    "@prefix : <http://e/> . :a :p :b , :c ; :q 1 , 2.5 , 1e3 , \"x\"@en , true . :b :p :a . :c :p _:n . _:n "
    ":q \"2026-01-01T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> , () .";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const forms[] = {"json", "xml", "csv", "tsv", "turtle"};
	const struct sparql_bounds bounds = {.rows = 2000, .bytes = 4 << 20, .ns = 200000000};
	struct rdf r;
	struct sparql q;
	struct sparql_result x;
	struct err err = {0};
	if (!sparql_is_there())
		return 0;
	must(rdf_init(&r) == 0 && rdf_read(&r, str_of(graph), "http://e/", 0, &err) == 0 && rdf_ready(&r) == 0);
	if (sparql_parse(&r, str_n((const char *)data, size), "http://e/", sparql_record_prefixes, sparql_record_n_prefixes,
	                 &err, &q) == 0) {
		if (sparql_run(&r, &q, &bounds, &err, &x) == 0) {
			for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
				struct buf out = {0};
				sparql_write(&r, &q, &x, forms[i], &out);
				buf_release(&out);
			}
			sparql_result_release(&x);
		} else {
			must(err.text[0]);
		}
		sparql_release(&q);
	} else {
		must(err.text[0]);
	}
	rdf_release(&r);
	return 0;
}
