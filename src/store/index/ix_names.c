/* ix_names.c - names of files (B6): the paths that new facts speak of, and those that renamed directories drag along,
 * are replayed from all their facts; a path of which only one file was ever seen needs no replay. */
#include "graph/names.h"
#include "store/index/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Facts of a path beyond this many bytes go to rows of their own, one per session: what every run sees again
 * (libraries) must not make its row grow. */
#define FACTS_INLINE 256

static int pair_cmp(const void *pa, const void *pb)
{
	const struct ix_pair *a = pa, *b = pb;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

void ix_pairs_sort(struct ix_pairs *v)
{
	bool sorted = true;
	for (size_t i = 1; i < v->n; i++)
		sorted = sorted && pair_cmp(&v->v[i - 1], &v->v[i]) < 0;
	if (sorted)
		return;
	qsort(v->v, v->n, sizeof(*v->v), pair_cmp);
	size_t kept = 1;
	for (size_t i = 1; i < v->n; i++)
		if (pair_cmp(&v->v[i], &v->v[kept - 1]))
			v->v[kept++] = v->v[i];
	v->n = kept;
}

int ix_pairs_add(struct ix *x, struct ix_pairs *v, uint64_t a, uint64_t b)
{
	struct ix_pair *p = vec_add(v);
	if (!p)
		return ix_oom(x);
	*p = (struct ix_pair){a, b};
	return 0;
}

/* The path's row, loaded. */
static int load_path(struct ix *x, uint32_t node, uint32_t *ret)
{
	*ret = x->nodes.v[node].loaded;
	if (*ret != VEC_NONE)
		return 0;
	struct ix_loaded_path *p = vec_add(&x->paths);
	if (!p)
		return ix_oom(x);
	*p = (struct ix_loaded_path){.node = node};
	*ret = x->nodes.v[node].loaded = (uint32_t)(x->paths.n - 1);
	if (x->nodes.v[node].is_new)
		return 0;
	sqlite3_stmt *st = store_stmt(x->s, SQL_path_get, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)x->nodes.v[node].id);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 2));
		p->flags = c.p < c.end ? cur_u(&c) : 0;
		p->facts = ix_keep(x, str_n((const char *)c.p, (size_t)(c.end - c.p)));
		p->names = ix_keep(x, column_str(st, 3));
		rc = p->facts.failed || p->names.failed ? ix_oom(x) : 0;
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* ---- facts ---- */

/* Calls say for every fact of the path but those of sessions that were read again. */
static int each_old_name_fact(struct ix *x, const struct ix_loaded_path *p,
                              int (*say)(struct ix *, uint32_t node, const struct pname_fact *))
{
	uint32_t node = p->node;
	struct cur c = cur_of(buf_view(&p->facts));
	struct pname_fact f;
	int rc;
	uint64_t flags = p->flags;
	while ((rc = pname_fact_next(x->s, &c, &f)) == 1) {
		uint32_t i = map_get(&x->session_rows, f.session);
		if ((i == VEC_NONE || i >= x->n_new) && (rc = say(x, node, &f)) < 0)
			return rc;
	}
	if (rc < 0 || !(flags & PPATH_SPILLED))
		return rc;
	/* The rows first: say may ask the store, too. */
	struct buf all = {0};
	sqlite3_stmt *st = store_stmt(x->s, SQL_path_fact_all, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)x->nodes.v[node].id);
	while ((rc = store_step(x->s, st, x->err)) == 1) {
		uint32_t i = map_get(&x->session_rows, (uint64_t)sqlite3_column_int64(st, 0));
		if (i == VEC_NONE || i >= x->n_new)
			buf_str(&all, column_str(st, 1));
	}
	sqlite3_reset(st);
	c = cur_of(buf_view(&all));
	while (rc == 0 && (rc = pname_fact_next(x->s, &c, &f)) == 1)
		rc = say(x, node, &f);
	if (all.failed)
		rc = ix_oom(x);
	buf_release(&all);
	return rc;
}

/* Puts an old fact into the graph. */
static int restore_name_fact(struct ix *x, uint32_t node, const struct pname_fact *f)
{
	uint32_t session, file, other = VEC_NONE;
	int rc = ix_session_of(x, f->session, &session);
	if (rc == 0)
		rc = ix_file_of(x, f->file, &file);
	if (rc == 0 && f->op == TERM_nameop_rename && f->other)
		rc = ix_node_of(x, f->other, &other);
	if (rc < 0)
		return rc;
	struct gname_event *e = vec_add(&x->g.name_events);
	if (!e)
		return ix_oom(x);
	*e = (struct gname_event){.key = {f->time, x->g.sessions.v[session].number, f->seq},
	                          .session = session,
	                          .file = file,
	                          .path = f->is_old ? other : node,
	                          .old = f->op != TERM_nameop_rename ? VEC_NONE
	                                 : f->is_old                 ? node
	                                                             : other,
	                          .op = (uint8_t)f->op};
	return 0;
}

/* The facts that the new sessions add, packed for each path. */
static int new_fact(struct ix *x, uint32_t node, const struct gname_event *e, bool is_old)
{
	uint32_t at;
	int rc = load_path(x, node, &at);
	if (rc < 0)
		return rc;
	struct pname_fact f = {.session = x->sessions.v[e->session].id,
	                       .seq = e->key.seq,
	                       .time = e->key.time,
	                       .op = e->op,
	                       .file = x->files.v[e->file].id,
	                       .is_old = is_old};
	if (e->op == TERM_nameop_rename)
		f.other = is_old ? x->nodes.v[e->path].id : e->old == VEC_NONE ? 0 : x->nodes.v[e->old].id;
	buf_reset(&x->b1);
	pname_fact_put(x->s, &x->b1, &f);
	x->paths.v[at].write = true;
	if (x->b1.failed || !ix_append(x, &x->paths.v[at].new_facts, buf_view(&x->b1)))
		return ix_oom(x);
	if (!gkind_has_names(x->g.files.v[e->file].kind)) { /* should its kind change, its paths must be found */
		rc = ix_pairs_add(x, &x->named, e->file, x->nodes.v[node].id);
		if (rc < 0)
			return rc;
	}
	return ix_pairs_add(x, &x->reported_paths, e->session, x->nodes.v[node].id);
}

/* ---- which paths must be replayed ---- */

static bool op_begins_name(unsigned op)
{
	return op == TERM_nameop_create || op == TERM_nameop_link || op == TERM_nameop_seen;
}

/* What is known of a path that is plain so far, while new facts come. */
struct plain {
	uint32_t file, host;
	int64_t from;
	bool linked;
};

static uint32_t session_host(const struct ix *x, uint32_t session)
{
	return x->g.hosts.v[x->g.sessions.v[session].host].name;
}

/* Can the path stay plain with the new events v[0..n)? Then its name is *ret. */
static int stays_plain(struct ix *x, const struct ix_loaded_path *p, const struct gname_event *const *v, size_t n,
                       bool *ret, struct plain *ret_name)
{
	bool is_new = x->nodes.v[p->node].is_new, known = false;
	struct plain name = {0};
	*ret = false;
	if (!is_new && p->facts.n + p->names.n && !(p->flags & PPATH_PLAIN))
		return 0;
	if (!is_new && (p->flags & PPATH_PLAIN)) {
		struct cur c = cur_of(buf_view(p->names.n ? &p->names : &p->facts));
		uint64_t file, host;
		if (p->names.n) {
			struct pname was;
			if (pname_next(x->s, &c, &was) != 1)
				return -ENOTRECOVERABLE;
			file = was.file;
			host = was.host;
			name.from = was.from;
			name.linked = was.linked;
		} else {
			struct pname_fact f;
			if (pname_fact_next(x->s, &c, &f) != 1)
				return 0; /* all its facts are beside it */
			const struct ssession *s = store_session(x->s, f.session);
			file = f.file;
			host = s ? s->host : 0;
			name.from = f.time;
			name.linked = f.op == TERM_nameop_link;
		}
		int rc = ix_file_of(x, file, &name.file);
		if (rc < 0)
			return rc;
		name.host = intern_add(&x->g.words, store_interned(x->s, host));
		known = true;
	}
	for (size_t i = 0; i < n; i++) {
		bool linked = v[i]->op == TERM_nameop_link;
		if (!op_begins_name(v[i]->op))
			return 0;
		if (!known) {
			name = (struct plain){v[i]->file, session_host(x, v[i]->session), v[i]->key.time, linked};
			known = true;
		}
		if (v[i]->file != name.file || session_host(x, v[i]->session) != name.host)
			return 0;
		if (v[i]->key.time == name.from)
			name.linked &= linked;
		if (v[i]->key.time < name.from) {
			name.from = v[i]->key.time;
			name.linked = linked;
		}
	}
	*ret = known;
	*ret_name = name;
	return 0;
}

static int add_move(struct ix *x, uint32_t old, uint32_t to)
{
	struct ix_move *m = vec_add(&x->moves);
	if (!m || !vec_room(&x->move_end, x->nodes.n - (x->move_end.n < x->nodes.n ? x->move_end.n : x->nodes.n)))
		return ix_oom(x);
	*m = (struct ix_move){old, to};
	while (x->move_end.n < x->nodes.n)
		x->move_end.v[x->move_end.n++] = false;
	x->move_end.v[old] = x->move_end.v[to] = true;
	return 0;
}

static int load_moves(struct ix *x)
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

static int note_move(struct ix *x, const struct gname_event *e)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_move_add, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)x->nodes.v[e->old].id);
	sqlite3_bind_int64(st, 2, (int64_t)x->nodes.v[e->path].id);
	int rc = store_run_stmt(x->s, st, x->err);
	return rc < 0 ? rc : add_move(x, e->old, e->path);
}

/* Whether some directory above the path was ever renamed, or is what one was renamed to. */
static bool below_move(const struct ix *x, uint32_t node)
{
	for (uint32_t p = x->g.paths.list.v[node].parent; x->moves.n && p != VEC_NONE; p = x->g.paths.list.v[p].parent)
		if (p < x->move_end.n && x->move_end.v[p])
			return true;
	return false;
}

static int make_dirty(struct ix *x, uint32_t node, struct ix_nodes *queue)
{
	uint32_t at;
	int rc = load_path(x, node, &at);
	if (rc < 0 || x->paths.v[at].dirty)
		return rc;
	x->paths.v[at].dirty = x->paths.v[at].write = true;
	uint32_t *q = vec_add(queue);
	if (!q)
		return ix_oom(x);
	*q = node;
	return 0;
}

/* All paths of the store below a directory are made dirty: those that are new are in the graph already. */
static int dirty_below(struct ix *x, uint32_t node, struct ix_nodes *queue)
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
				rc = make_dirty(x, child, queue);
		}
	}
	free(todo.v);
	VEC(uint32_t) stack = {0};
	uint32_t *p = vec_add(&stack);
	if (p)
		*p = node;
	while (rc == 0 && p && stack.n) {
		uint32_t dir = stack.v[--stack.n];
		for (uint32_t c = x->g.paths.list.v[dir].child; rc == 0 && p && c != VEC_NONE;
		     c = x->g.paths.list.v[c].sibling) {
			rc = make_dirty(x, c, queue);
			if ((p = vec_add(&stack)))
				*p = c;
		}
	}
	vec_release(&stack);
	return rc < 0 ? rc : p ? 0 : ix_oom(x);
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

/* Directory renames join the paths below their two ends: what a dirty path can have come from or gone to is dirty. */
static int close_over_moves(struct ix *x, struct ix_nodes *queue)
{
	int rc = 0;
	while (rc == 0 && queue->n) {
		uint32_t node = queue->v[--queue->n];
		if (!below_move(x, node))
			continue;
		for (size_t m = 0; rc == 0 && m < 2 * x->moves.n; m++) {
			struct ix_move v = x->moves.v[m / 2];
			uint32_t other;
			bool below;
			rc = find_moved_node(x, node, m & 1 ? v.to : v.old, m & 1 ? v.old : v.to, &below, &other);
			if (rc == 0 && below) /* the rename itself is a fact of its two paths */
				rc = make_dirty(x, v.old, queue);
			if (rc == 0 && below)
				rc = make_dirty(x, v.to, queue);
			if (rc == 0 && other != VEC_NONE)
				rc = make_dirty(x, other, queue);
		}
	}
	return rc;
}

/* ---- results ---- */

/* `changed`: the store does not have the name so. */
static int name_found(struct ix *x, uint32_t at, const struct gname *n, bool changed)
{
	struct gname *slot = vec_add(&x->path_names);
	if (!slot)
		return ix_oom(x);
	*slot = *n;
	x->paths.v[at].nname++;
	uint64_t row = x->nodes.v[x->paths.v[at].node].id;
	int rc = ix_pairs_add(x, &x->named_paths, row, n->file);
	if (rc == 0 && changed)
		rc = ix_pairs_add(x, &x->named, n->file, row);
	x->g.files.v[n->file].flags |= (uint16_t)names_flags(&x->g, n->path);
	x->files.v[n->file].named |= changed;
	return rc;
}

struct had {
	struct ix *x;
	const struct gname *n;
	bool found;
};

static int match_stored_name(void *arg, const struct pname *n)
{
	struct had *h = arg;
	h->found |= n->file == h->x->files.v[h->n->file].id && n->from == h->n->from && n->to == h->n->to &&
	            n->linked == h->n->linked;
	return 0;
}

/* Has the path's row this name already? */
static int had_name(struct ix *x, const struct ix_loaded_path *p, const struct gname *n, bool *ret)
{
	struct had h = {x, n, false};
	struct buf *facts = &x->b2;
	int rc = 0;
	if (!x->nodes.v[p->node].is_new) {
		buf_reset(facts);
		buf_varint(facts, p->flags);
		buf_str(facts, buf_view(&p->facts));
		rc = facts->failed ? ix_oom(x) : path_names(x->s, buf_view(facts), buf_view(&p->names), match_stored_name, &h);
	}
	*ret = h.found;
	return rc;
}

static int name_cmp(const void *pa, const void *pb)
{
	const struct gname *a = pa, *b = pb;
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Replays; a directory rename may put names where nothing was known before: those paths join, and it begins again. */
static int replay(struct ix *x, struct ix_nodes *queue)
{
	int rc = 0;
	for (bool again = true; rc == 0 && again;) {
		again = false;
		rc = close_over_moves(x, queue);
		for (size_t i = 0; rc == 0 && i < x->paths.n; i++) {
			struct ix_loaded_path *p = &x->paths.v[i];
			if (!p->dirty || p->taken)
				continue;
			p->taken = true;
			if (!x->nodes.v[p->node].is_new)
				rc = each_old_name_fact(x, p, restore_name_fact);
		}
		if (rc == 0)
			rc = names_replay_events(&x->g);
		if (rc == 0)
			rc = ix_new_nodes(x);
		for (size_t i = 0; rc == 0 && i < x->g.names.n; i++) {
			uint32_t node = x->g.names.v[i].path, at = x->nodes.v[node].loaded;
			if ((at == VEC_NONE || !x->paths.v[at].dirty) && below_move(x, node)) {
				rc = make_dirty(x, node, queue);
				again = true;
			}
		}
	}
	if (rc < 0)
		return rc;
	if (x->g.names.n)
		qsort(x->g.names.v, x->g.names.n, sizeof(*x->g.names.v), name_cmp);
	for (size_t i = 0, k; rc == 0 && i < x->g.names.n; i = k) {
		uint32_t at = x->nodes.v[x->g.names.v[i].path].loaded;
		bool wanted = at != VEC_NONE && x->paths.v[at].dirty;
		if (wanted)
			x->paths.v[at].first_name = x->path_names.n;
		for (k = i; rc == 0 && k < x->g.names.n && x->g.names.v[k].path == x->g.names.v[i].path; k++)
			if (wanted) {
				bool had;
				rc = had_name(x, &x->paths.v[at], &x->g.names.v[k], &had);
				if (rc == 0)
					rc = name_found(x, at, &x->g.names.v[k], !had);
			}
	}
	return rc;
}

static int compare_name_events(const void *pa, const void *pb)
{
	const struct gname_event *const *a = pa, *const *b = pb;
	if ((*a)->path != (*b)->path)
		return (*a)->path < (*b)->path ? -1 : 1;
	return gkey_cmp(&(*a)->key, &(*b)->key);
}

/* Session by session, what was said of a path before may be gone with a session that was read again. */
static int dirty_reloaded(struct ix *x, struct ix_nodes *queue)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		for (size_t k = 0; rc == 0 && k < x->sessions.v[i].paths.n; k++) {
			uint32_t node, at;
			rc = ix_node_of(x, x->sessions.v[i].paths.v[k], &node);
			if (rc == 0)
				rc = load_path(x, node, &at);
			/* Plain stays plain: what began still does, for a session only gains events at its end, unless it had
			 * holes. */
			if (rc == 0 && (x->sessions.v[i].holes || !(x->paths.v[at].flags & PPATH_PLAIN)))
				rc = make_dirty(x, node, queue);
			if (rc == 0)
				x->paths.v[at].write = true;
		}
	return rc;
}

int ix_names(struct ix *x)
{
	VEC(const struct gname_event *) v = {0};
	struct ix_nodes queue = {0};
	int rc = x->fresh ? 0 : load_moves(x);
	size_t kept = x->g.name_events.n;
	bool moves = false;
	for (size_t i = 0; rc == 0 && i < kept; i++) {
		const struct gname_event *e = &x->g.name_events.v[i];
		rc = new_fact(x, e->path, e, false);
		if (rc == 0 && e->op == TERM_nameop_rename && e->old != VEC_NONE && e->old != e->path)
			rc = new_fact(x, e->old, e, true);
		if (rc == 0 && e->op == TERM_nameop_rename && e->old != VEC_NONE && e->old != e->path &&
		    gkind_has_names_below(x->g.files.v[e->file].kind)) {
			moves = true;
			rc = note_move(x, e);
			uint32_t at;
			if (rc == 0)
				rc = load_path(x, e->old, &at);
		}
	}
	if (rc == 0)
		rc = dirty_reloaded(x, &queue);
	/* A file whose kind is another now may gain or lose all its names. */
	for (size_t i = 0; rc == 0 && i < x->event_files; i++)
		for (size_t k = 0; rc == 0 && x->files.v[i].kind_changed && k < x->rows.v[x->files.v[i].row].f.paths.n; k++) {
			uint32_t node;
			rc = ix_node_of(x, x->rows.v[x->files.v[i].row].f.paths.v[k], &node);
			if (rc == 0)
				rc = make_dirty(x, node, &queue);
		}
	for (size_t i = 0; rc == 0 && moves && i < kept; i++) {
		struct gname_event e = x->g.name_events.v[i];
		if (e.op != TERM_nameop_rename || e.old == VEC_NONE || e.old == e.path ||
		    !gkind_has_names_below(x->g.files.v[e.file].kind))
			continue;
		rc = dirty_below(x, e.old, &queue);
		if (rc == 0)
			rc = dirty_below(x, e.path, &queue);
	}
	/* Events by path; a rename's old path is dirty in any case. */
	if (rc == 0 && !vec_room(&v, kept))
		rc = ix_oom(x);
	for (size_t i = 0; rc == 0 && i < kept; i++) {
		const struct gname_event *e = &x->g.name_events.v[i];
		v.v[v.n++] = e;
		if (e->op == TERM_nameop_rename && e->old != VEC_NONE)
			rc = make_dirty(x, e->old, &queue);
	}
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), compare_name_events);
	for (size_t i = 0, k; rc == 0 && i < v.n; i = k) {
		for (k = i; k < v.n && v.v[k]->path == v.v[i]->path; k++)
			;
		uint32_t at;
		bool plain = false;
		struct plain name;
		rc = load_path(x, v.v[i]->path, &at);
		if (rc == 0 && !x->paths.v[at].dirty)
			rc = stays_plain(x, &x->paths.v[at], v.v + i, k - i, &plain, &name);
		if (rc < 0)
			break;
		plain = plain && !below_move(x, v.v[i]->path); /* there it takes part in the replay */
		if (rc == 0 && !plain) {
			rc = make_dirty(x, v.v[i]->path, &queue);
		} else if (rc == 0) {
			struct gname n = {name.host, v.v[i]->path, name.file, name.from, TIME_NEVER, name.linked};
			bool had;
			rc = had_name(x, &x->paths.v[at], &n, &had);
			x->paths.v[at].flags |= PPATH_PLAIN;
			x->paths.v[at].first_name = x->path_names.n;
			if (!gkind_has_names(x->g.files.v[name.file].kind))
				x->paths.v[at].flags |= PPATH_MUTE;
			else if (rc == 0)
				rc = name_found(x, at, &n, !had);
		}
	}
	/* The plain ones' events need no replay. */
	bool any = false;
	if (rc == 0)
		rc = close_over_moves(x, &queue);
	for (size_t i = 0; i < x->paths.n; i++)
		any |= x->paths.v[i].dirty;
	kept = 0;
	for (size_t i = 0; rc == 0 && i < x->g.name_events.n; i++) {
		struct gname_event e = x->g.name_events.v[i];
		uint32_t a = x->nodes.v[e.path].loaded, b = e.old == VEC_NONE ? VEC_NONE : x->nodes.v[e.old].loaded;
		if ((a != VEC_NONE && x->paths.v[a].dirty) || (b != VEC_NONE && x->paths.v[b].dirty))
			x->g.name_events.v[kept++] = e;
	}
	if (rc == 0) {
		x->g.name_events.n = kept;
		if (any)
			rc = replay(x, &queue);
	}
	ix_pairs_sort(&x->named);
	ix_pairs_sort(&x->named_paths);
	vec_release(&v);
	free(queue.v);
	return rc;
}

/* ---- writing ---- */

/* Splits packed facts into those that are kept beside new ones of the same session: in place, those of sessions read
 * again go. */
static int kept_facts(struct ix *x, const struct buf *facts, struct buf *out)
{
	struct cur c = cur_of(buf_view(facts));
	struct pname_fact f;
	int rc;
	for (const unsigned char *from = c.p; (rc = pname_fact_next(x->s, &c, &f)) == 1; from = c.p) {
		uint32_t i = map_get(&x->session_rows, f.session);
		if (i == VEC_NONE || i >= x->n_new)
			buf_add(out, from, (size_t)(c.p - from));
	}
	return rc;
}

static int spill(struct ix *x, uint64_t path, const struct buf *facts)
{
	struct cur c = cur_of(buf_view(facts));
	struct pname_fact f;
	int rc = 0;
	const unsigned char *from, *start = c.p;
	uint64_t session = 0;
	for (bool more = true; more && rc >= 0;) {
		from = c.p;
		rc = pname_fact_next(x->s, &c, &f);
		more = rc == 1;
		if (session && (!more || f.session != session)) {
			/* A session's facts may come in several pieces: what is there goes in front. */
			sqlite3_stmt *st = store_stmt(x->s, SQL_path_fact_all, x->err);
			struct buf all = {0};
			if (!st)
				return -EIO;
			sqlite3_bind_int64(st, 1, (int64_t)path);
			int got;
			while ((got = store_step(x->s, st, x->err)) == 1)
				if ((uint64_t)sqlite3_column_int64(st, 0) == session)
					buf_str(&all, column_str(st, 1));
			sqlite3_reset(st);
			buf_add(&all, start, (size_t)(from - start));
			st = store_stmt(x->s, SQL_path_fact_put, x->err);
			if (!st || got < 0 || all.failed)
				return ix_oom(x);
			sqlite3_bind_int64(st, 1, (int64_t)path);
			sqlite3_bind_int64(st, 2, (int64_t)session);
			bind_str(st, 3, buf_view(&all));
			got = store_run_stmt(x->s, st, x->err);
			buf_release(&all);
			if (got < 0)
				return got;
			start = from;
		}
		session = more ? f.session : 0;
	}
	return rc;
}

static int write_path(struct ix *x, struct ix_loaded_path *p)
{
	const struct ix_path *node = &x->nodes.v[p->node];
	struct buf facts = x->b1, names = x->b2, old = x->b3; /* their memory, used again */
	int rc = 0;
	buf_reset(&facts);
	buf_reset(&names);
	buf_reset(&old);
	bool plain = (p->flags & PPATH_PLAIN) && !p->dirty;
	uint64_t flags = p->flags & PPATH_SPILLED;
	if (plain)
		flags |= p->flags & (PPATH_PLAIN | PPATH_MUTE);
	if (flags & PPATH_SPILLED)
		for (size_t i = 0; rc == 0 && i < x->n_new; i++) {
			if (!x->sessions.v[i].reloaded)
				continue;
			sqlite3_stmt *st = store_stmt(x->s, SQL_path_fact_clear, x->err);
			if (!st)
				return -EIO;
			sqlite3_bind_int64(st, 1, (int64_t)node->id);
			sqlite3_bind_int64(st, 2, (int64_t)x->sessions.v[i].id);
			rc = store_run_stmt(x->s, st, x->err);
		}
	if (rc == 0)
		rc = kept_facts(x, &p->facts, &old);
	bool spills = old.n + p->new_facts.n > FACTS_INLINE && p->new_facts.n && old.n;
	if (rc == 0 && spills) {
		flags |= PPATH_SPILLED;
		rc = spill(x, node->id, &p->new_facts);
	}
	buf_varint(&facts, flags);
	buf_str(&facts, buf_view(&old));
	if (!spills)
		buf_str(&facts, buf_view(&p->new_facts));
	/* The one name of a plain path with one fact is that fact. */
	bool same = plain && !(flags & PPATH_MUTE) && p->nname == 1 && !(flags & PPATH_SPILLED) && !p->facts.n;
	if (same) {
		struct cur c = cur_of(buf_view(&p->new_facts));
		struct pname_fact f;
		same = pname_fact_next(x->s, &c, &f) == 1 && !cur_more(&c);
	}
	if (p->nname || p->dirty) {
		for (size_t i = 0; rc == 0 && !same && i < p->nname; i++) {
			const struct gname *n = &x->path_names.v[p->first_name + i];
			struct pname out = {.file = x->files.v[n->file].id, .from = n->from, .to = n->to, .linked = n->linked};
			rc = ix_interned(x, n->host, &out.host);
			pname_put(x->s, &names, &out);
		}
	} else {
		buf_str(&names, buf_view(&p->names));
	}
	sqlite3_stmt *st = store_stmt(x->s, node->is_new ? SQL_path_add : SQL_path_set, x->err);
	if (rc == 0 && (!st || facts.failed || names.failed))
		rc = ix_oom(x);
	if (rc == 0) {
		sqlite3_bind_int64(st, 1, (int64_t)node->id);
		int i = 2;
		if (node->is_new) {
			uint32_t up = x->g.paths.list.v[p->node].parent;
			sqlite3_bind_int64(st, i++, up == VEC_NONE ? 0 : (int64_t)x->nodes.v[up].id);
			bind_str(st, i++, intern_get(&x->g.words, x->g.paths.list.v[p->node].base));
		}
		bind_str(st, i++, buf_view(&facts));
		bind_str(st, i, buf_view(&names));
		rc = store_run_stmt(x->s, st, x->err);
	}
	x->b1 = facts;
	x->b2 = names;
	x->b3 = old;
	return rc;
}

int ix_write_names(struct ix *x)
{
	int rc = 0;
	struct ix_pairs dirs = {0}, order = {0}; /* in order of rows: new ones are appended */
	for (uint32_t i = 0; rc == 0 && i < x->nodes.n; i++) {
		const struct ix_path *n = &x->nodes.v[i];
		if (n->is_new || (n->loaded != VEC_NONE && x->paths.v[n->loaded].write))
			rc = ix_pairs_add(x, &order, n->id, i);
		uint32_t up = x->g.paths.list.v[i].parent;
		if (rc == 0 && n->is_new && up != VEC_NONE)
			rc = ix_pairs_add(x, &dirs, x->nodes.v[up].id, n->id);
	}
	ix_pairs_sort(&order);
	for (size_t i = 0; rc == 0 && i < order.n; i++) {
		uint32_t at = x->nodes.v[order.v[i].b].loaded;
		struct ix_loaded_path none = {.node = (uint32_t)order.v[i].b};
		rc = write_path(x, at == VEC_NONE ? &none : &x->paths.v[at]);
	}
	ix_pairs_sort(&dirs);
	struct ids values = {0};
	for (size_t i = 0, k; rc == 0 && i < dirs.n; i = k) {
		values.n = 0;
		for (k = i; rc == 0 && k < dirs.n && dirs.v[k].a == dirs.v[i].a; k++)
			rc = ids_add(&values, dirs.v[k].b);
		if (rc == 0)
			rc = lists_add(x->s, list_key(LIST_DIR, dirs.v[i].a), values.v, values.n, x->err);
	}
	free(values.v);
	free(dirs.v);
	free(order.v);
	return rc;
}
