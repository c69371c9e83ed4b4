/* found.h - what an expression describes, as rows in the order in which they are shown: what `stemma find` answers.
 *
 * Cost: two evaluations of the expression (query/select.h), and a few questions to the store for each row. */
#ifndef STEMMA_ANSWER_FOUND_H
#define STEMMA_ANSWER_FOUND_H

#include "answer/entities.h"
#include "answer/source.h"
#include "base/err.h"
#include "query/find/expr.h"

struct found_row {
	store_id id; /* of a version, run or execution */
	bool sure;   /* else it is only possible */
	char *key;   /* a version: its path, by which rows are sorted; else NULL */
	int64_t time;
	uint64_t n;
	uint64_t gaps; /* of the run or the execution; of a version those of who made it */
};

/* The expression's FILE@{N} was taken of the file that has the name now, or had it last; another file has or had the
 * name, and a version N of its own. */
struct found_namesake {
	char *text; /* FILE@{N} */
	store_id version;
};

struct found {
	enum expr_kind kind;
	struct found_row *rows; /* versions by path and number; runs and executions by start */
	size_t n;
	uint64_t forks;  /* possible edges through fork, exec and shared memory, which were not followed */
	uint64_t unseen; /* times that a file changed later where nobody recorded it: what came from that is not counted */
	struct found_namesake *namesakes;
	size_t n_namesakes;
	uint64_t left_out[ENTITY_SORTS]; /* without `all`: versions of segments and of a workflow system's own files */
	size_t unended;                  /* rows whose recording has no end: it goes on still, or was cut off */
};

/* Finds what the expression selects, in the order in which it is shown. kind: EXPR_FILES, EXPR_RUNS or EXPR_EXECS.
 * all: also streams, absent and system files. 0, and *ret is to be released; -EINVAL or -ENOENT with a sentence, as
 * select_eval; -errno. */
int found_make(const struct answer_source *a, const struct expr *e, enum expr_kind kind, bool all, struct err *err,
               struct found *ret);
void found_rows_release(struct found *f);
/* Row i as an entity, run or execution, with its certainty; a new reference. 0 or -errno. */
int found_row_json(const struct answer_source *a, const struct found *f, size_t i, json_t **ret);
/* The answer of `stemma find --json`; a new reference. 0 or -errno. */
int found_json(const struct answer_source *a, const struct found *f, json_t **ret);
/* A page of it: the count rows (1 or more) that come after the one with the id `after`, as the answer has it (NULL:
 * from the first on). "next" is the id to go on after, and is there only if there are more. -ESTALE: `after` is in no
 * row. */
int found_page_json(const struct answer_source *a, const struct found *f, const char *after, uint64_t count,
                    json_t **ret);

#endif
