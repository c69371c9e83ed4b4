/* path_know.c - what a program's graph says of what may be called first, before any trace (path_search.h). */
#include "spec/path/library_calls.h"
#include "spec/path/path_search.h"

#include <string.h>

/* From name 63 on all share a bit: a set bit means maybe. */
static uint64_t bit_of(uint32_t name)
{
	return 1ull << (name < 63 ? name : 63);
}

/* The bits of all names in the list. */
static uint64_t bits_of(const struct search *x, const char *calls)
{
	uint64_t bits = 0;
	for (uint32_t i = 0; i < x->names.n; i++)
		if (library_in_list(calls, x->names.v[i], strlen(x->names.v[i])))
			bits |= bit_of(i);
	return bits;
}

bool search_makes_thread(const struct spec_node *n)
{
	char base[64];
	const struct library_calls *l = library_calls(n->name, base);
	return l && l->flags & LIBRARY_THREAD;
}

/* May the node end in a library function, or in one that is not known? */
static bool may_be_library(const struct spec_node *n)
{
	return n->kind == SPEC_SYSCALL || (n->kind == SPEC_CALL && !(n->flags & SPEC_CALLBACK) &&
	                                   (n->flags & SPEC_UNKNOWN || (n->flags & SPEC_INDIRECT && !n->n_targets)));
}

/* A call that does not return, of a function of that name. */
bool search_is_longjmp(const struct spec_node *n)
{
	return n->flags & SPEC_NORETURN && strstr(n->name, "longjmp");
}

/* Which calls it may be, and whether one may pass it without any. */
static void know_node(struct search *x, uint32_t at)
{
	const struct spec_node *n = &x->s->nodes[at];
	char base[64];
	const struct library_calls *l = *n->name ? library_calls(n->name, base) : NULL;
	x->pass[at] = n->kind != SPEC_CALL || n->flags & SPEC_CALLBACK; /* else as its targets do */
	/* setjmp calls nothing; where longjmp goes is found when it is come to. */
	if (!may_be_library(n) || (!l && (search_is_longjmp(n) || n->flags & SPEC_TWICE)))
		return;
	x->one[at] = l && l->flags & LIBRARY_ONE;
	x->pass[at] = !x->one[at] && !(n->flags & SPEC_NORETURN);
	if (!l || (x->loose && !x->one[at]))
		x->accepts[at] = ANY;
	else if (l->calls)
		x->accepts[at] = bits_of(x, l->calls);
	for (uint32_t i = 0; l && !l->calls && i < x->names.n; i++) {
		size_t k = strlen(base);
		if (!strncmp(x->names.v[i], base, k) && (!x->names.v[i][k] || !strcmp(x->names.v[i] + k, "64")))
			x->accepts[at] |= bit_of(i);
	}
}

/* What can come first from each node on, and from each function's entry, and whether the end can be come to silently:
 * the least sets that hold all that follows from the edges. */
void search_know(struct search *x)
{
	const struct spec *s = x->s;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		know_node(x, i);
	x->at_exit =
	    bits_of(x, "write lseek close fsync unlink exit_group"); /* streams are written, what is temporary goes */
	for (bool more = true; more;) {
		more = false;
		for (uint32_t f = s->n_functions; f-- > 0;) {
			const struct spec_function *is = &s->functions[f];
			for (uint32_t k = is->n_nodes; k-- > 0;) {
				uint32_t at = is->first_node + k;
				const struct spec_node *n = &s->nodes[at];
				uint64_t first = x->first[at] | x->accepts[at];
				bool pass = x->pass[at], ends = x->ends[at] | (n->kind == SPEC_RETURN);
				if (search_is_longjmp(n))
					first = ANY;
				if (!search_makes_thread(n))
					for (uint32_t t = 0; t < n->n_targets; t++) {
						first |= x->function_first[s->targets[n->first_target + t]];
						pass |= x->function_ends[s->targets[n->first_target + t]];
					}
				x->pass[at] = pass;
				for (uint32_t e = 0; pass && e < n->n_edges; e++) {
					first |= x->first[is->first_node + spec_edge(s, n, e)->to];
					ends |= x->ends[is->first_node + spec_edge(s, n, e)->to];
				}
				more |= first != x->first[at] || ends != x->ends[at];
				x->first[at] = first;
				x->ends[at] = ends;
			}
			more |= x->function_first[f] != x->first[is->first_node] || x->function_ends[f] != x->ends[is->first_node];
			x->function_first[f] = x->first[is->first_node];
			x->function_ends[f] = x->ends[is->first_node];
		}
	}
}
