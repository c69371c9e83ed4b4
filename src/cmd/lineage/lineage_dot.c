/* lineage_dot.c - a lineage as a graph for Graphviz. Time runs downwards. */
#include "answer/peers.h"
#include "answer/zarr/zarr.h"
#include "cmd/lineage/lineage_view.h"
#include "cmd/lineage/stage_text.h"
#include "cmd/ui/markup.h"
#include "cmd/ui/notes_print.h"

#include <string.h>

#define LABEL_MAX 60 /* columns */

/* Gives the number of the digits that it begins with. */
static uint64_t decimal_of(struct str s)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s.n && i < 18 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(s.p[i] - '0');
	return n;
}

void lineage_ranks(const struct shape *shape_of, size_t node, const struct exec_info *x, struct buf *b)
{
	const uint64_t n = shape_of->ranks[node];
	const bool some = decimal_of(x->ranks) > n;
	if (!n)
		return;
	buf_printf(b, "%llu%s", (unsigned long long)n, some ? " of " : "");
	if (some)
		fmt_name(b, x->ranks);
	buf_printf(b, " ranks");
}

int lineage_words(const struct lineage_view *v, const struct shape *shape_of, uint32_t i, struct buf *name,
                  struct buf *note, const char **ret_shape)
{
	const struct lineage_node *n = &v->l->nodes[i];
	struct buf since = {0};
	int r;
	*ret_shape = "box";
	if (n->exec && v->stages && stage_view_group(v->stages, i)) {
		r = stage_describe(v->stages, i, name, note);
	} else if (n->exec) {
		struct exec_info x;
		store_id id = shape_of->rep[i] ? shape_of->rep[i] : n->id;
		r = exec_name(v->s, id, true, 200, name);
		if (r >= 0)
			r = store_exec(v->s, id, &x);
		if (r > 0) {
			lineage_ranks(shape_of, i, &x, note);
			buf_printf(note, shape_of->ranks[i] ? ", " : "");
			fmt_time(note, x.start, true);
			buf_printf(note, ", ");
			r = exec_who(v->s, id, note) < 0 ? -1 : 1;
		}
	} else if (shape_is_array(shape_of, i)) {
		r = zarr_text(shape_of->zarr, shape_of->array[i] - 1, &shape_of->parts[i], name);
		*ret_shape = "box3d";
	} else {
		struct version_info ver;
		struct file_info f;
		r = store_version(v->s, n->id, &ver);
		if (r > 0)
			r = store_file(v->s, ver.file, &f);
		if (r > 0) {
			version_name(name, &ver, &f);
			version_note(note, &ver, &f, v->bytes);
			*ret_shape = kind_is_stream(f.kind) ? "cds" : "note";
			r = peer_is_unobserved(v->s, &ver, &f);
			buf_printf(note, r > 0 ? "the other end was not observed" : "");
			r = r < 0 ? r : 1;
			if (r > 0 && v->options->direction == LINEAGE_DOWN) {
				r = version_since(v->s, &ver, &f, &since);
				buf_printf(note, "%s%s", note->n && since.n ? ", " : "", buf_cstr(&since));
			}
		}
	}
	buf_release(&since);
	return r < 0 ? r : 0;
}

/* 0, -errno. Node 0 is drawn thicker. */
static int put_node(const struct lineage_view *v, const struct shape *shape_of, uint32_t i, FILE *to)
{
	struct buf name = {0}, note = {0};
	const char *shape;
	const int r = lineage_words(v, shape_of, i, &name, &note, &shape);
	fmt_fit(&name, 0, LABEL_MAX, true);
	fprintf(to, "\tn%u [shape=%s%s label=\"", i, shape, i == 0 ? " penwidth=2" : "");
	print_dot_quoted(to, buf_cstr(&name));
	fputs("\\n", to);
	print_dot_quoted(to, buf_cstr(&note));
	fprintf(to, "\"%s]\n", v->l->nodes[i].exec ? " style=\"filled,rounded\" fillcolor=\"#e8f0fe\"" : "");
	buf_release(&name);
	buf_release(&note);
	return r;
}

/* Writes the edge from a node to one that the tree shows below it. From the earlier thing to the later one, as data
 * flowed. */
static void put_branch(const struct lineage_view *v, uint32_t node, const struct branch *b, FILE *to)
{
	bool up = v->options->direction == LINEAGE_UP;
	fprintf(to, "\tn%u -> n%u [style=%s", up ? b->child : node, up ? node : b->child, b->sure ? "solid" : "dashed");
	const char *blank = strchr(b->words, ' '); /* only the verb */
	if (*b->words || !b->sure)
		fprintf(to, " label=\"%.*s%s\"", (int)(blank ? blank - b->words : 0), b->words, b->sure ? "" : "?");
	fputs("]\n", to);
}

/* STATUS_OK, or a status, and it was said. */
int lineage_dot(const struct lineage_view *v, FILE *to)
{
	const struct lineage *l = v->l;
	struct shape shape = {0};
	int r = lineage_shape(v, &shape);
	if (r == 0)
		fputs("digraph lineage {\n"
		      "\tgraph [rankdir=TB fontname=\"Helvetica\"]\n"
		      "\tnode [fontname=\"Helvetica\" fontsize=10]\n"
		      "\tedge [fontname=\"Helvetica\" fontsize=8]\n",
		      to);
	for (uint32_t i = 0; i < l->n_nodes && r == 0; i++)
		r = shape.shown[i] ? put_node(v, &shape, i, to) : 0;
	if (r < 0) {
		lineage_shape_release(v, &shape);
		return cmd_report_unread(v->s, "describe the lineage");
	}
	for (uint32_t i = 0; i < l->n_nodes; i++)
		for (size_t k = shape.first[i]; shape.shown[i] && k < shape.first[i + 1]; k++)
			put_branch(v, i, &shape.branches[k], to);
	fputs("}\n", to);
	lineage_shape_release(v, &shape);
	return STATUS_OK;
}
