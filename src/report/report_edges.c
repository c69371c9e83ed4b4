/* report_edges.c - the tables of edges and of branches. */
#include "report/report_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The place of how the edge is among those that were met; -ENOMEM. */
static int64_t place_of_how(struct report *r, const struct report_edge *e)
{
	struct report_how how;
	size_t i = 0;
	memset(&how, 0, sizeof(how));
	how.type = (uint8_t)e->type;
	how.via = e->e.via;
	how.reading = e->type == LINEAGE_USED ? e->e.reading : 0;
	how.sure = e->e.sure;
	how.folded = e->e.folded;
	how.walked = e->walked;
	while (i < r->n_hows && memcmp(&r->hows[i], &how, sizeof(how)) != 0)
		i++;
	if (i == r->n_hows && !vec_has_room(r->hows, r->n_hows, r->cap_hows))
		return -ENOMEM;
	if (i == r->n_hows)
		r->hows[r->n_hows++] = how;
	return (int64_t)i;
}

void report_write_hows(const struct report *r, struct buf *b)
{
	static const char *const types[] = {"used", "wasGeneratedBy", "wasDerivedFrom", "wasInformedBy"};
	buf_str(b, str_of("\"hows\":["));
	for (size_t i = 0; i < r->n_hows; i++) {
		const struct report_how *h = &r->hows[i];
		buf_printf(b, "%s{\"type\":\"%s\",\"via\":\"%s\",\"sure\":%s,\"lineage\":%s", i ? ",\n" : "", types[h->type],
		           term_name(SET_via, h->via), h->sure ? "true" : "false", h->walked ? "true" : "false");
		if (h->type == LINEAGE_USED)
			buf_printf(b, ",\"evidence\":\"%s\"", term_name(SET_reading, h->reading));
		buf_str(b, str_of(h->folded ? ",\"folded\":true}" : "}"));
	}
	buf_char(b, ']');
}

/* Order of qsort: by both ends. */
static int compare_edges(const void *pa, const void *pb)
{
	const struct report_edge *a = pa, *b = pb;
	return a->from != b->from ? (a->from > b->from) - (a->from < b->from) : (a->to > b->to) - (a->to < b->to);
}

/* Is the node of that number an execution whose start is known? Then *ret is that. */
static bool start_of(const struct report *r, uint32_t number, int64_t *ret)
{
	*ret = number >= r->n_files ? r->nodes[r->order[number]].start : TIME_NONE;
	return *ret != TIME_NONE;
}

/* A row of the edges; `last`: the source of the row before, from which this one counts. -errno, or 0. */
static int fill_edge(struct report *r, const struct report_edge *e, uint32_t last)
{
	struct report_table *t = &r->t[REPORT_EDGE];
	int64_t how = place_of_how(r, e), start;
	if (how < 0)
		return (int)how;
	report_table_add(t);
	report_table_set(t, REPORT_edge_from, e->from - last);
	report_table_set(t, REPORT_edge_to, e->to);
	report_table_set(t, REPORT_edge_how, how);
	if (e->type != LINEAGE_DERIVED && (start_of(r, e->from, &start) || start_of(r, e->to, &start))) {
		int64_t lo = report_span(start, e->e.lo);
		/* What began before the execution is told by minus its distance less 1, for -1 is what goes on. */
		if (lo == REPORT_UNKNOWN && e->e.lo != TIME_NONE && e->e.lo < start)
			lo = -2 - report_span(e->e.lo, start);
		report_table_set(t, REPORT_edge_lo, lo);
		report_table_set(t, REPORT_edge_hi, report_span(e->e.lo, e->e.hi));
	}
	if (e->e.count != 1)
		report_table_set(t, REPORT_edge_count, e->e.count ? (int64_t)e->e.count : REPORT_UNKNOWN);
	if (e->e.has_bytes)
		report_table_set(t, REPORT_edge_bytes, (int64_t)e->e.bytes);
	return 0;
}

/* The branches of a node, which is shown. rows: of the lineage's edges. */
static void fill_branches_of(struct report *r, uint32_t place, const uint32_t *rows, uint32_t *last)
{
	struct report_table *t = &r->t[REPORT_BRANCH];
	for (size_t k = r->shape.first[place]; k < r->shape.first[place + 1]; k++) {
		const struct branch *b = &r->shape.branches[k];
		uint32_t row = rows[b->e - r->l.edges];
		if (b->child >= r->lineage_nodes || row == VEC_NONE)
			continue;
		report_table_add(t);
		report_table_set(t, REPORT_branch_edge, (int64_t)row - *last);
		if (r->nodes[place].number != r->edges[row].from)
			report_table_set(t, REPORT_branch_from, r->nodes[place].number);
		if (r->nodes[b->child].number != r->edges[row].to)
			report_table_set(t, REPORT_branch_to, r->nodes[b->child].number);
		report_table_set(t, REPORT_branch_words, report_words_text_if(&r->words, str_of(b->words)));
		report_table_set(t, REPORT_branch_sure, b->sure ? REPORT_UNKNOWN : 0);
		*last = row;
	}
}

/* The branches of the lineage as it is shown, of nodes that the page has. 0 or -ENOMEM. */
static int fill_branches(struct report *r)
{
	uint32_t *rows = malloc((r->l.n_edges + 1) * sizeof(*rows)), last = 0;
	if (!rows)
		return -ENOMEM;
	for (size_t k = 0; k < r->l.n_edges; k++)
		rows[k] = VEC_NONE;
	for (size_t k = 0; k < r->n_edges; k++)
		if (r->edges[k].walked)
			rows[r->edges[k].at] = (uint32_t)k;
	for (size_t i = 0; i < r->n_nodes; i++)
		if (r->order[i] < r->lineage_nodes && r->shape.shown[r->order[i]])
			fill_branches_of(r, r->order[i], rows, &last);
	free(rows);
	return 0;
}

int report_fill_edges(struct report *r)
{
	uint32_t last = 0;
	int rc = 0;
	if (r->n_edges)
		qsort(r->edges, r->n_edges, sizeof(*r->edges), compare_edges);
	for (size_t k = 0; k < r->n_edges && rc == 0; k++) {
		rc = fill_edge(r, &r->edges[k], last);
		last = r->edges[k].from;
	}
	return rc == 0 && r->lineage_nodes ? fill_branches(r) : rc;
}
