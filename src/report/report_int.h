/* report_int.h - what the parts of a report share: report_gather.c (which nodes and edges), report_nodes.c and
 * report_edges.c (their tables), report_about.c (what is said of the whole). */
#ifndef STEMMA_REPORT_REPORT_INT_H
#define STEMMA_REPORT_REPORT_INT_H

#include "answer/js.h"
#include "answer/shape.h"
#include "query/fold.h"
#include "query/stages/stages.h"
#include "report/report.h"
#include "report/report_table.h"
#include "report/report_words.h"

struct report_node {
	store_id id;
	bool exec;
	bool sure;       /* a way from a root to it is sure all along */
	uint32_t number; /* in the page: files first, then executions */
	int64_t start;   /* of an execution, once its row is made */
};
struct report_edge {
	uint32_t from, to; /* places in nodes; numbers of the page, once these are given */
	enum lineage_edge_type type;
	uint32_t at; /* place in the lineage's edges */
	bool walked; /* the lineage has it; else it is of a run's execution that nothing in the lineage came from */
	struct edge e;
};
/* How an edge is: what many have in common. */
struct report_how {
	uint8_t type, via, reading;
	bool sure, folded, walked;
};

struct report {
	const struct answer_source *a;
	const struct report_request *q;
	store_id run;              /* that the page is of, or that made the file; 0: not known */
	struct report_words words; /* texts of all tables */
	struct report_table t[REPORT_TABLES];

	struct lineage l; /* as walked; empty where the run made nothing */
	struct lineage_options options;
	struct shape shape;
	size_t lineage_nodes; /* nodes[0..) of the lineage, up to the bound */
	size_t left_out;      /* of the lineage, for the bound */
	struct report_node *nodes;
	size_t n_nodes, cap_nodes, n_files;
	uint32_t *order; /* places in nodes by number */
	struct idmap at; /* id << 1 | exec -> place in nodes */
	struct report_edge *edges;
	size_t n_edges, cap_edges;

	struct fold_memo folds;
	struct stages *stages;
	struct idmap stage_at, run_at, gaps_at; /* number, id, bits -> place in the page's list */
	struct report_how *hows;
	size_t n_hows, cap_hows;
	uint64_t *gap_sets;
	size_t n_gap_sets, cap_gap_sets;
	struct {
		uint64_t executions;
		uint32_t first; /* place in nodes */
	} gaps[64];
	uint64_t run_gaps;  /* of the run, whichever of its executions they are of */
	json_t *node_notes; /* number of a node -> notes */
	int64_t base;       /* ns; times count from it */
};

/* ---- report_gather.c ---- */

/* Finds nodes and edges. 0 or -errno. */
int report_gather(struct report *r, struct err *err);
/* The place of a node; VEC_NONE: it is not in the page. */
uint32_t report_find_node(const struct report *r, store_id id, bool exec);

/* ---- report_nodes.c ---- */

/* Fills the tables of files and executions, runs and stages. 0 or -errno. */
int report_fill_nodes(struct report *r);
/* In microseconds; -1: it is not over; REPORT_UNKNOWN. */
int64_t report_span(int64_t from, int64_t to);

/* ---- report_edges.c ---- */

/* Fills the tables of edges and branches. 0 or -errno. */
int report_fill_edges(struct report *r);
/* Appends "hows": [...]. */
void report_write_hows(const struct report *r, struct buf *b);

/* ---- report_draw.c ---- */

/* The lineage as a picture: "picture" into o, null where it would be too large. 0 or -errno. */
int report_lineage_picture(const struct report *r, json_t *o);
/* Appends the picture that is asked for. 0; -EINVAL, -EBADMSG, -errno with a sentence. */
int report_draw(struct report *r, struct err *err, struct buf *ret);

/* ---- report_about.c ---- */

/* Leaves the first `most` of each list in o and in the objects in it; "left_out" says of how many it left any. */
void report_shorten(json_t *o, size_t most);
/* What was asked for, and what is not known of it: "subject", "why", "complete", "gaps", "record" into o. 0 or -errno.
 */
int report_about(struct report *r, json_t *o);

/* ---- report_against.c ---- */

/* What differs from what it is compared with: "against" into o, null where that is nothing. 0, or -errno with a
 * sentence. */
int report_against(const struct report *r, struct err *err, json_t *o);

/* ---- report_resources.c ---- */

/* What the run used: appends "resources": ..., "limits": ..., "series": .... 0, or -errno with a sentence. */
int report_resources(const struct report *r, struct err *err, struct buf *b);

#endif
