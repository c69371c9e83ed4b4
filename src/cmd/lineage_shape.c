#include "cmd/lineage_view.h"
#include "cmd/makers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *edge_words(bool up, enum lineage_edge_type type)
{
	switch (type) {
	case LINEAGE_DERIVED:
		return up ? "derived from " : "became ";
	case LINEAGE_INFORMED:
		return up ? "informed by " : "informed ";
	case LINEAGE_USED:
	case LINEAGE_GENERATED:
		break;
	}
	return "";
}

/* 1 the edge is shown, 0 not, -errno. *ret_held: where not, it is because it was only held. */
static int branch_of(const struct lineage_view *v, struct makers *m, uint32_t node, const struct lineage_edge *e,
                     struct branch *ret, bool *ret_held)
{
	const struct lineage *l = v->l;
	bool up = v->options->direction == LINEAGE_UP;
	*ret_held = false;
	*ret = (struct branch){up ? e->to : e->from, edge_words(up, e->type), e};
	if (v->options->all)
		return 1;
	if (!up) /* a stream that may have been written to, and that nobody read, is somebody's terminal or log */
		return e->e.sure || !l->nodes[ret->child].stream || l->nodes[ret->child].n;
	if (e->type == LINEAGE_USED) {
		int r = maker_own(m, e);
		*ret_held = r == 0;
		if (r == 0)
			r = maker_held(m, e);
		return r < 0 ? r : !r;
	}
	int r = e->type == LINEAGE_GENERATED ? maker_role(m, node, e) : MAKER_WRITER;
	if (r == MAKER_WRITER || r < 0)
		return r < 0 ? r : 1;
	if (!e->e.sure && e->e.via == TERM_via_descriptor)
		return 0; /* it only held the descriptor on its way to the program */
	uint32_t from = maker_forked_from(m, ret->child);
	ret->child = from != UINT32_MAX ? from : ret->child;
	ret->words = "opened by ";
	return 1;
}

/* Follows the branches from the root. */
static int mark_shown(const struct lineage *l, struct shape *s)
{
	uint32_t *queue = malloc((l->n_nodes + 1) * sizeof(*queue));
	size_t n = 0;
	if (!queue)
		return -ENOMEM;
	queue[n++] = 0;
	s->shown[0] = true;
	for (size_t i = 0; i < n; i++)
		for (size_t k = s->first[queue[i]]; k < s->first[queue[i] + 1]; k++) {
			uint32_t child = s->branches[k].child;
			if (!s->shown[child])
				queue[n++] = child;
			s->shown[child] = true;
		}
	free(queue);
	return 0;
}

int shape_make(const struct lineage_view *v, struct shape *ret)
{
	const struct lineage *l = v->l;
	struct shape s = {
	    .branches = calloc(l->n_edges + 1, sizeof(*s.branches)),
	    .first = calloc(l->n_nodes + 1, sizeof(*s.first)),
	    .shown = calloc(l->n_nodes + 1, sizeof(*s.shown)),
	};
	struct makers m = {0};
	int r = s.branches && s.first && s.shown ? makers_init(&m, v->s, l) : -ENOMEM;
	size_t n = 0;
	for (uint32_t i = 0; i < l->n_nodes && r >= 0; i++) {
		s.first[i] = n;
		for (uint32_t k = 0; k < l->nodes[i].n && r >= 0; k++) {
			struct branch b;
			const struct lineage_edge *e = &l->edges[l->nodes[i].first + k];
			bool held;
			r = branch_of(v, &m, i, e, &b, &held);
			s.held += r == 0 && held;
			for (size_t j = s.first[i]; j < n && r > 0; j++)
				r = s.branches[j].child != b.child || strcmp(s.branches[j].words, b.words) != 0;
			if (r > 0)
				s.branches[n++] = b;
		}
	}
	if (r >= 0) {
		s.first[l->n_nodes] = n;
		r = mark_shown(l, &s);
	}
	makers_release(&m);
	if (r < 0)
		shape_release(&s);
	else
		*ret = s;
	return r < 0 ? r : 0;
}

void shape_release(struct shape *s)
{
	free(s->branches);
	free(s->first);
	free(s->shown);
	*s = (struct shape){0};
}
