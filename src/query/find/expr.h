/* expr.h - the expressions of `stemma find`.
 *
 *   expression = and { "or" and }          and = not { ["and"] not }       not = "not" not | "(" expression ")" |
 * condition condition  = used FILE | made FILE | from FILE | into FILE | exe NAME | arg TEXT | user NAME | host NAME |
 *                exit (N | failed | ok | SIGNAL) | since TIME | before TIME | run RUN | path GLOB
 *
 * It comes as the words of a command line, or as one of them with blanks in it; there quotes and backslashes hold a
 * word together as in a shell. It may begin with what is looked for: "runs that used run.ini@{2}". The rows of expr.def
 * are the conditions. Bounds: 64 KiB of text, 256 conditions, 64 levels. The tree owns its words. */
#ifndef STEMMA_QUERY_FIND_EXPR_H
#define STEMMA_QUERY_FIND_EXPR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum expr_op {
	EXPR_OR,
	EXPR_AND,
	EXPR_NOT,
#define CONDITION(name, argument, meaning) EXPR_##name,
#include "query/find/expr.def"
#undef CONDITION
	EXPR_OPS
};

struct expr {
	enum expr_op op;
	struct expr *a, *b; /* of or, and, not (a only) */
	char *value;        /* of a condition */
};

enum expr_kind { EXPR_ANY, EXPR_FILES, EXPR_RUNS, EXPR_EXECS };

/* Parses an expression of `find`. 0; -EINVAL with a sentence that shows where. ret_kind: what the expression says it
 * looks for. */
int expr_parse(char *const *words, size_t n, struct err *err, struct expr **ret, enum expr_kind *ret_kind);
void expr_free(struct expr *e);
/* "used", ... */
const char *expr_name(enum expr_op op);

#endif
