/* sparql_value.h - what a term stands for: numbers, times, booleans; and how values compare (SPARQL 1.1, 17.3
 * and 17.4).
 *
 * Integers and decimals have 128 bits and are exact; what does not fit is an error. A result that cannot be told is -1
 * where a function compares, and 0 where it makes a term. */
#ifndef STEMMA_SPARQL_SPARQL_VALUE_H
#define STEMMA_SPARQL_SPARQL_VALUE_H

#include "sparql/rdf.h"

#define SPARQL_UNKNOWN (-2) /* of sparql_compare: they have no order */

enum sparql_kind {
	KIND_ERROR, /* unbound, or a lexical form that its type does not have */
	KIND_IRI,
	KIND_BLANK,
	KIND_STRING,
	KIND_LANG,
	KIND_BOOLEAN,
	KIND_INTEGER,
	KIND_DECIMAL,
	KIND_FLOAT,
	KIND_DOUBLE,
	KIND_DATETIME,
	KIND_DATE,
	KIND_OTHER /* of a type that is not known */
};
typedef __int128 sparql_wide;
struct sparql_value {
	enum sparql_kind kind;
	bool truth;
	sparql_wide m; /* integer; decimal: m / 10^scale */
	unsigned scale;
	double d;
	/* dateTime and date: as it stands, and on the time line (without a zone: as if in UTC) */
	int64_t seconds;
	sparql_wide fraction; /* of a second, 10^-18 */
	int year, month, day, hour, minute;
	int second;
	bool has_zone;
	int zone; /* minutes */
};

struct sparql_value sparql_value_of(const struct rdf *r, rdf_id id);
/* Is it a number? */
static inline bool sparql_is_number(const struct sparql_value *v)
{
	return v->kind >= KIND_INTEGER && v->kind <= KIND_DOUBLE;
}
/* The effective boolean value: 1, 0, -1 error. */
int sparql_truth(const struct rdf *r, rdf_id id);
/* = of SPARQL: 1, 0, -1 error. */
int sparql_equal(const struct rdf *r, rdf_id a, rdf_id b);
/* < of SPARQL: -1, 0, 1, or SPARQL_UNKNOWN. */
int sparql_compare(const struct rdf *r, rdf_id a, rdf_id b);
/* The order of ORDER BY, which is total: none, blank nodes, IRIs, literals. Negative, 0, positive. */
int sparql_order(const struct rdf *r, rdf_id a, rdf_id b);
/* A number as a term; 0: it does not fit. */
rdf_id sparql_number(struct rdf *r, const struct sparql_value *v);
enum sparql_arithmetic { ARITHMETIC_ADD, ARITHMETIC_SUB, ARITHMETIC_MUL, ARITHMETIC_DIV };
/* The result of + - * / of two terms. 0 also where one of them is no number. */
rdf_id sparql_calculate(struct rdf *r, enum sparql_arithmetic op, rdf_id a, rdf_id b);
/* xsd:TYPE(x). 0: an error. */
rdf_id sparql_cast(struct rdf *r, rdf_id type, rdf_id id);
/* ABS, CEIL, FLOOR, ROUND: how is 'a', 'c', 'f', 'r'. */
rdf_id sparql_round(struct rdf *r, rdf_id id, char how);
/* An integer as a term. */
rdf_id sparql_integer(struct rdf *r, int64_t n);

#endif
