/* ix_moves.c - renamed directories drag the paths below them along: which those are. */
#include "store/index/ix_names.h"

#include <stdlib.h>

/* A folder was renamed: noted once for each pair of paths. 0, -ENOMEM. */
static int add_move(struct ix *x, uint32_t old, uint32_t to)
{
	const uint64_t pair = (uint64_t)old << 32 | to;
	if (map_get(&x->move_pairs, pair) != VEC_NONE)
		return 0;
	struct ix_move *m = vec_add(&x->moves);
	if (!m || !vec_room(&x->move_end, x->nodes.n - (x->move_end.n < x->nodes.n ? x->move_end.n : x->nodes.n)) ||
	    !map_set(&x->move_pairs, pair, (uint32_t)(x->moves.n - 1)))
		return ix_oom(x);
	while (x->move_end.n < x->nodes.n)
		x->move_end.v[x->move_end.n++] = 0;
	*m = (struct ix_move){.old = old, .to = to};
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t *first = &x->move_end.v[side ? to : old];
		m->next[side] = *first;
		*first = (uint32_t)(2 * (x->moves.n - 1)) + side + 1;
	}
	return 0;
}

int ix_moves_load(struct ix *x)
{
	struct ix_pairs rows = {0};
	sqlite3_stmt *st = store_stmt(x->s, SQL_move_all, x->err);
	if (!st)
		return -EIO;
	int rc;
	while ((rc = store_step(x->s, st, x->err)) == 1)
		if (ix_pairs_add(x, &rows, (uint64_t)sqlite3_column_int64(st, 0), (uint64_t)sqlite3_column_int64(st, 1)) < 0)
			break;
	sqlite3_reset(st);
	for (size_t i = 0; rc == 0 && i < rows.n; i++) {
		uint32_t old, to;
		rc = ix_node_of(x, rows.v[i].a, &old);
		if (rc == 0)
			rc = ix_node_of(x, rows.v[i].b, &to);
		if (rc == 0)
			rc = add_move(x, old, to);
	}
	free(rows.v);
	return rc < 0 ? rc : 0;
}

int ix_moves_note(struct ix *x, const struct gname_event *e)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_move_add, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)x->nodes.v[e->old].id);
	sqlite3_bind_int64(st, 2, (int64_t)x->nodes.v[e->path].id);
	int rc = store_run_stmt(x->s, st, x->err);
	return rc < 0 ? rc : add_move(x, e->old, e->path);
}

bool ix_below_move(const struct ix *x, uint32_t node)
{
	for (uint32_t p = x->g.paths.list.v[node].parent; x->moves.n && p != VEC_NONE; p = x->g.paths.list.v[p].parent)
		if (p < x->move_end.n && x->move_end.v[p])
			return true;
	return false;
}

int ix_make_dirty(struct ix *x, uint32_t node, struct ix_nodes *queue)
{
	uint32_t at;
	int rc = ix_path_load(x, node, &at);
	if (rc < 0 || x->paths.v[at].dirty)
		return rc;
	x->paths.v[at].dirty = x->paths.v[at].write = true;
	uint32_t *q = vec_add(queue);
	if (!q)
		return ix_oom(x);
	*q = node;
	return 0;
}

/* All paths of the store below the directory; those that are new are not in it. 0, -errno with a sentence. */
static int dirty_stored_below(struct ix *x, uint32_t node, struct ix_nodes *queue)
{
	struct ids todo = {0};
	int rc = x->nodes.v[node].is_new ? 0 : ids_add(&todo, x->nodes.v[node].id);
	while (rc == 0 && todo.n) {
		uint64_t dir = todo.v[--todo.n];
		size_t from = todo.n;
		rc = lists_get(x->s, list_key(LIST_DIR, dir), &todo);
		for (size_t i = from; rc == 0 && i < todo.n; i++) {
			uint32_t child;
			rc = ix_node_of(x, todo.v[i], &child);
			if (rc == 0)
				rc = ix_make_dirty(x, child, queue);
		}
	}
	free(todo.v);
	return rc < 0 ? rc : 0;
}

/* All paths of the graph below the directory. 0, -errno with a sentence. */
static int dirty_met_below(struct ix *x, uint32_t node, struct ix_nodes *queue)
{
	struct ix_nodes stack = {0};
	int rc = 0;
	uint32_t *p = vec_add(&stack);
	if (p)
		*p = node;
	while (rc == 0 && p && stack.n) {
		uint32_t dir = stack.v[--stack.n];
		for (uint32_t c = x->g.paths.list.v[dir].child; rc == 0 && p && c != VEC_NONE;
		     c = x->g.paths.list.v[c].sibling) {
			rc = ix_make_dirty(x, c, queue);
			if ((p = vec_add(&stack)))
				*p = c;
		}
	}
	free(stack.v);
	return rc < 0 ? rc : p ? 0 : ix_oom(x);
}

int ix_dirty_below(struct ix *x, uint32_t node, struct ix_nodes *queue)
{
	int rc = dirty_stored_below(x, node, queue);
	return rc < 0 ? rc : dirty_met_below(x, node, queue);
}

/* Where `node` lies below `from`, the path that lies so below `to`, if it is known; else VEC_NONE. */
static int find_moved_node(struct ix *x, uint32_t node, uint32_t from, uint32_t to, bool *ret_below, uint32_t *ret)
{
	struct ix_nodes words = {0};
	uint32_t p = node;
	int rc = 0;
	*ret = VEC_NONE;
	for (; p != VEC_NONE && p != from; p = x->g.paths.list.v[p].parent) {
		uint32_t *b = vec_add(&words);
		if (!b)
			return ix_oom(x);
		*b = x->g.paths.list.v[p].base;
	}
	*ret_below = p == from && words.n;
	if (*ret_below) {
		while (rc == 0 && words.n && to != VEC_NONE)
			rc = ix_node_find(x, to, intern_get(&x->g.words, words.v[--words.n]), &to);
		*ret = words.n ? VEC_NONE : to;
	}
	free(words.v);
	return rc;
}

static int compare_ends(const void *pa, const void *pb)
{
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	return (a > b) - (a < b);
}

/* The ends of moves that the node lies below, in the order of the moves. 0, -ENOMEM, reported. */
static int ends_above(const struct ix *x, uint32_t node, struct ix_nodes *ret)
{
	ret->n = 0;
	for (uint32_t p = x->g.paths.list.v[node].parent; p != VEC_NONE; p = x->g.paths.list.v[p].parent)
		for (uint32_t end = p < x->move_end.n ? x->move_end.v[p] : 0; end;
		     end = x->moves.v[(end - 1) / 2].next[(end - 1) & 1]) {
			uint32_t *slot = vec_add(ret);
			if (!slot)
				return ix_oom((struct ix *)(uintptr_t)x);
			*slot = end - 1;
		}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_ends);
	return 0;
}

/* Directory renames join the paths below their two ends: what a dirty path can have come from or gone to is dirty. 0,
 * -errno with a sentence. */
int ix_close_over_moves(struct ix *x, struct ix_nodes *queue)
{
	struct ix_nodes ends = {0};
	int rc = 0;
	while (rc == 0 && queue->n) {
		uint32_t node = queue->v[--queue->n];
		rc = ends_above(x, node, &ends);
		for (size_t i = 0; rc == 0 && i < ends.n; i++) {
			const uint32_t side = ends.v[i] & 1;
			const struct ix_move v = x->moves.v[ends.v[i] / 2];
			uint32_t other;
			bool below;
			rc = find_moved_node(x, node, side ? v.to : v.old, side ? v.old : v.to, &below, &other);
			if (rc == 0 && below) /* the rename itself is a fact of its two paths */
				rc = ix_make_dirty(x, v.old, queue);
			if (rc == 0 && below)
				rc = ix_make_dirty(x, v.to, queue);
			if (rc == 0 && other != VEC_NONE)
				rc = ix_make_dirty(x, other, queue);
		}
	}
	free(ends.v);
	return rc;
}
