/* sparql_stub.c - a stemma that was built without serd or PCRE2: every query is refused with the reason. */
#include "sparql/sparql.h"
#include "sparql/sparql_record.h"

#include <errno.h>

const char *const sparql_record_prefixes[][2] = {{"", ""}};
const size_t sparql_record_n_prefixes = 0;

bool sparql_is_there(void)
{
	return false;
}

/* Says that there is no SPARQL in this stemma. -ENOSYS with a sentence. */
static int refuse(struct err *err)
{
	return err_set(err, ENOSYS, "stemma was built without serd and PCRE2, which SPARQL needs");
}

int rdf_init(struct rdf *r)
{
	*r = (struct rdf){0};
	return 0;
}

/* There is nothing to release. */
void rdf_release(struct rdf *r)
{
	(void)r;
}

int rdf_ready(struct rdf *r)
{
	(void)r;
	return 0;
}

/* There is nothing without serd: always 0. */
rdf_id rdf_iri(struct rdf *r, struct str iri)
{
	(void)r, (void)iri;
	return 0;
}

int rdf_read(struct rdf *r, struct str text, const char *base, rdf_id g, struct err *err)
{
	(void)r, (void)text, (void)base, (void)g;
	return refuse(err);
}

int sparql_record(struct rdf *r, struct store *s, const struct sparql_needs *needs, struct err *err)
{
	(void)needs;
	(void)r, (void)s;
	return refuse(err);
}

int sparql_parse(struct rdf *r, struct str text, const char *base, const char *const (*prefixes)[2], size_t n_prefixes,
                 struct err *err, struct sparql *ret)
{
	(void)r, (void)text, (void)base, (void)prefixes, (void)n_prefixes;
	*ret = (struct sparql){0};
	return refuse(err);
}

/* There is nothing to release. */
void sparql_release(struct sparql *q)
{
	(void)q;
}

int sparql_run(struct rdf *r, struct sparql *q, const struct sparql_bounds *b, struct err *err,
               struct sparql_result *ret)
{
	(void)r, (void)q, (void)b;
	*ret = (struct sparql_result){0};
	return refuse(err);
}

/* There is nothing to release. */
void sparql_result_release(struct sparql_result *r)
{
	(void)r;
}

int sparql_write(const struct rdf *r, const struct sparql *q, const struct sparql_result *x, const char *form,
                 struct buf *ret)
{
	(void)r, (void)q, (void)x, (void)form, (void)ret;
	return -ENOSYS;
}

/* Always 0: all of it. */
int sparql_needs_find(const struct sparql_query *q, struct sparql_needs *ret)
{
	(void)q;
	*ret = (struct sparql_needs){.all = true};
	return 0;
}

void sparql_needs_release(struct sparql_needs *n)
{
	(void)n;
}
