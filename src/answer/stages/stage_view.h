/* stage_view.h - a lineage with each stage as one node (doc/stages.md): the same struct shape as a lineage of programs
 * has, so that trees and pictures show both alike. */
#ifndef STEMMA_ANSWER_STAGES_STAGE_VIEW_H
#define STEMMA_ANSWER_STAGES_STAGE_VIEW_H

#include "answer/js.h"
#include "answer/shape.h"
#include "answer/stages/stage_cells.h"
#include "query/stages/stages.h"

enum stage_group_kind { GROUP_STAGE, GROUP_STEP, GROUP_ENGINE, GROUP_CELL };
/* Nodes that are one. */
struct stage_group {
	enum stage_group_kind kind;
	uint64_t
	    key; /* of a stage its number, of an engine its execution, of a step a hash, of a part its place in cells */
	uint32_t node; /* the node that stands for all: branches are those of it */
	uint32_t last; /* the last of its nodes */
	bool makes;    /* a program of it that tells of no parts made a version that is shown */
};
struct stage_view {
	struct store *s;
	struct stages *st; /* not owned */
	/* The walk's nodes, and behind them one for each stage of which no program is in the walk, and for each part of a
	 * program that has an edge; the edges are the walk's. */
	struct lineage l;
	struct stage_cells cells;
	struct lineage_edge *links; /* from one part of a program to the next: of branches that are no edge of the walk */
	struct shape shape;
	struct stage_group *groups;
	size_t n_groups, cap_groups;
	uint32_t *group; /* of each node: its group + 1; 0: it stands for itself */
	uint64_t inside; /* versions that are within one stage */
	uint64_t own;    /* versions that are an engine's own */
};
/* Makes the view of a walk. 0 or -errno; release ret in any case. v must outlive it. */
int stage_view_make(const struct shape_of *v, struct stages *st, struct stage_view *ret);
void stage_view_release(struct stage_view *w);
/* The group that a node stands for; NULL: it is none. */
const struct stage_group *stage_view_group(const struct stage_view *w, uint32_t node);
/* The stage that a node stands for; NULL: it is none of a workflow. */
const struct stage *stage_view_stage(const struct stage_view *w, uint32_t node);
/* The part of a program that a node stands for; NULL: it is none. */
const struct stage_cell *stage_view_cell(const struct stage_view *w, uint32_t node);
/* Is it a cell of a notebook, and what is the stage? NULL: of a script. */
const struct stage *stage_view_notebook(const struct stage_view *w, const struct stage_cell *cell);
/* The executions that a shown execution node stands for: all of the stage, or those of the walk; of a part of a program
 * that first, and what it started; malloc'ed. 0 or -errno. */
int stage_view_execs(const struct stage_view *w, uint32_t node, store_id **ret, size_t *ret_n);

/* A figure of several executions; whole: it is known of all. */
struct stage_figure {
	bool known, whole;
	uint64_t value;
};
/* What executions cost together. */
struct stage_cost {
	int64_t start, end;                                    /* TIME_NONE: not known; end TIME_NEVER: one goes on */
	uint64_t programs;                                     /* executions but forks */
	uint64_t failed;                                       /* executions that did not end with 0 */
	uint64_t gaps;                                         /* bits as in exec_info */
	struct stage_figure cpu, rss, read_bytes, write_bytes; /* ns; bytes, the most of one; bytes of storage */
};
/* Adds up the cost of a shown execution node: of the programs that it stands for; of a part of a program only the
 * time, and what it started. 0 or -errno. */
int stage_view_cost(const struct stage_view *w, uint32_t node, const store_id *execs, size_t n, struct stage_cost *ret);
/* Adds up what the executions cost: times, processor time (ns), memory and bytes. 0 or -errno. */
int stage_cost(struct store *s, const store_id *execs, size_t n, struct stage_cost *ret);

/* What a stage is called, in JSON: kind, engine, name, named_by, job, wildcards. */
void stage_put_names(const struct stage *g, json_t *one);
/* The answer of `stemma lineage --stages --json`; a new reference. 0 or -errno. */
int stage_view_json(const struct stage_view *w, bool up, json_t **ret);

#endif
