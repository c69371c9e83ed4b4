/* views_int.h - what the two halves of the documented tables share: a cursor, and who makes its lines. */
#ifndef STEMMA_STORE_VIEWS_VIEWS_INT_H
#define STEMMA_STORE_VIEWS_VIEWS_INT_H

#include "store/read.h"

enum view_id {
#define VIEW(name) VIEW_##name,
#define COLUMN(view, name, type)
#define END_VIEW(name)
#include "store/views/views.def"
	VIEW_COUNT
};
/* C_run_id = 0, C_run_ulid, ...: the columns of each view. */
#define VIEW(view)                                                                                                     \
	enum columns_of_##view                                                                                             \
	{
#define COLUMN(view, name, type) C_##view##_##name,
#define END_VIEW(view)                                                                                                 \
	COLUMNS_##view                                                                                                     \
	}                                                                                                                  \
	;
#include "store/views/views.def"

struct cell {
	enum { CELL_NULL, CELL_INT, CELL_TEXT, CELL_REAL } type;
	int64_t i; /* or where the text is, or the bits of a binary64 */
	size_t n;
};
/* As many of them as the view has columns stand one after the other. */
#define COLUMNS_MAX 63 /* SQLite's mask of columns asked for has a bit for each */
struct line {
	struct cell v[COLUMNS_MAX];
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct store *s;
	enum view_id view;
	uint64_t wanted;     /* bit per column */
	uint64_t unit, last; /* the unit at hand; the last one */
	unsigned phase;      /* of views that have several kinds of units */
	bool looked_up;      /* only the units found, for each phase */
	struct ids found[2];
	size_t found_at;
	uint64_t to; /* of edges looked up by where they go to: that, 0 not so */
	VEC(struct cell) cells;
	size_t n_lines, columns;
	size_t at;
	uint64_t rowid;
	struct buf text;
	struct reader *reader;
	struct edges edges;
	struct ios ios;
	bool failed;
};

/* ---- views_rows.c and the other files of the folder: the lines of the unit at hand, appended; c->failed where that
 * went wrong ---- */

/* The row of run c->unit; none where only a note or a summary tells of it. */
void views_runs(struct cursor *c);

/* A row for each execution of process c->unit. */
void views_executions(struct cursor *c);

/* The row of file c->unit. */
void views_files(struct cursor *c);

/* A row for each version of file c->unit. */
void views_versions(struct cursor *c);

void views_accesses(struct cursor *c);
void views_edges(struct cursor *c);
void views_inputs(struct cursor *c);
void views_attributes(struct cursor *c);
void views_names(struct cursor *c);
void views_gaps(struct cursor *c);
void views_properties(struct cursor *c);
void views_results(struct cursor *c);
void views_annotations(struct cursor *c);
void views_ranks(struct cursor *c);
void views_mpiio(struct cursor *c);
/* The row of c->unit, if it is of that kind; so all views_ functions: what fails sets c->failed. */
void views_hdf5_objects(struct cursor *c);

void views_hdf5_parts(struct cursor *c);
void views_summaries(struct cursor *c);
void views_figures(struct cursor *c);
void views_builds(struct cursor *c);
void views_build_inputs(struct cursor *c);
void views_build_outputs(struct cursor *c);

/* The i-th row of the cursor. */
static inline struct line *line_at(const struct cursor *c, size_t i)
{
	return (struct line *)(c->cells.v + i * c->columns);
}

#endif
