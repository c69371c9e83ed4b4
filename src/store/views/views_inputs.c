/* views_inputs.c - the view `input`: what a version's makers had used when they made it, one step of a lineage. */
#include "store/views/views_line.h"

#include <stdlib.h>

struct asked {
	struct edges gens, uses; /* both by parts: those of one other end stand one behind the other */
};

/* All uses of one version (uses[0..nuses-1]), and all generations by one execution. */
struct step {
	const struct edge *gens, *uses;
	size_t ngens, nuses;
};

/* How many edges from from on lead to the same. */
static size_t run_length(const struct edges *e, size_t from)
{
	size_t n = 1;
	while (from + n < e->n && e->v[from + n].to == e->v[from].to)
		n++;
	return n;
}

/* Had the use begun by the time at which the generation may have ended? Surely? */
static bool is_in_time(const struct edge *gen, const struct edge *use)
{
	return gen->hi == TIME_NONE || use->lo <= gen->hi;
}
/* Whether what was used certainly went into what was made. */
static bool is_sure(const struct edge *gen, const struct edge *use)
{
	return gen->sure && use->sure && gen->part == use->part && (gen->over == TIME_NONE || use->lo <= gen->over);
}

/* A line where an execution used one version in time to make another: all its uses in one edge. */
static void append_input(struct cursor *c, uint64_t version, const struct step *st)
{
	bool any = false, sure = false, own = false;
	struct edge sum;
	for (size_t i = 0; i < st->nuses; i++) {
		const struct edge *u = &st->uses[i];
		bool counts = false, made = false;
		for (size_t k = 0; k < st->ngens; k++) {
			const struct edge *g = &st->gens[k];
			counts |= is_in_time(g, u);
			sure |= is_in_time(g, u) && is_sure(g, u);
			made |= g->part == u->part; /* at whatever time (doc/graph.md, "Parts") */
		}
		if (counts && any)
			edge_fold(&sum, u);
		else if (counts)
			sum = *u;
		any |= counts;
		own |= counts && made;
	}
	struct line *l = any ? lines_append(c) : NULL;
	if (!l)
		return;
	line_set_id(l, C_input_version, version);
	line_set_id(l, C_input_execution, st->gens[0].to);
	line_set_id(l, C_input_used, st->uses[0].to);
	line_set_cstr(c, l, C_input_certainty, sure ? "must" : "may");
	line_set_int(l, C_input_folded, !own);
	line_set_cstr(c, l, C_input_evidence, term_name(SET_reading, sum.reading));
	line_set_cstr(c, l, C_input_via, term_name(SET_via, sum.via));
}

/* The lines of all inputs of a version: what each of its makers used. */
static void append_inputs(struct cursor *c, struct asked *a, uint64_t version)
{
	c->failed |= store_gens(c->s, version, &a->gens) < 0;
	for (size_t i = 0; i < a->gens.n && !c->failed;) {
		struct step st = {.gens = &a->gens.v[i], .ngens = run_length(&a->gens, i)};
		c->failed |= store_uses(c->s, st.gens->to, &a->uses) < 0;
		for (size_t k = 0; k < a->uses.n && !c->failed; k += st.nuses) {
			st.uses = &a->uses.v[k];
			st.nuses = run_length(&a->uses, k);
			append_input(c, version, &st);
		}
		i += st.ngens;
	}
}

/* The inputs of all versions of one file. */
void views_inputs(struct cursor *c)
{
	struct asked a = {.gens = {.parts = true}, .uses = {.parts = true}};
	int rc = read_stored_file(c->s, c->unit, &c->reader->file);
	const uint64_t n = rc == 1 ? c->reader->file.nversion : 0;
	c->failed |= rc < 0;
	for (uint64_t k = 1; k <= n && !c->failed; k++)
		append_inputs(c, &a, version_id(c->unit, k));
	edges_release(&a.gens);
	edges_release(&a.uses);
}
