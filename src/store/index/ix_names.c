/* ix_names.c - names of files (B6): the paths that new facts speak of, and those that renamed directories drag along,
 * are replayed from all their facts; a path of which only one file was ever seen needs no replay. */
#include "store/index/ix_names.h"

#include "graph/names.h"

#include <errno.h>
#include <stdlib.h>

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
		rc = ix_close_over_moves(x, queue);
		for (size_t i = 0; rc == 0 && i < x->paths.n; i++) {
			struct ix_loaded_path *p = &x->paths.v[i];
			if (!p->dirty || p->taken)
				continue;
			p->taken = true;
			if (!x->nodes.v[p->node].is_new)
				rc = ix_path_old_facts(x, p, ix_path_restore_fact);
		}
		if (rc == 0)
			rc = names_replay_events(&x->g);
		if (rc == 0)
			rc = ix_new_nodes(x);
		for (size_t i = 0; rc == 0 && i < x->g.names.n; i++) {
			uint32_t node = x->g.names.v[i].path, at = x->nodes.v[node].loaded;
			if ((at == VEC_NONE || !x->paths.v[at].dirty) && ix_below_move(x, node)) {
				rc = ix_make_dirty(x, node, queue);
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
				rc = ix_path_load(x, node, &at);
			/* Plain stays plain: what began still does, for a session only gains events at its end, unless it had
			 * holes. */
			if (rc == 0 && (x->sessions.v[i].holes || !(x->paths.v[at].flags & PPATH_PLAIN)))
				rc = ix_make_dirty(x, node, queue);
			if (rc == 0)
				x->paths.v[at].write = true;
		}
	return rc;
}

int ix_names(struct ix *x)
{
	VEC(const struct gname_event *) v = {0};
	struct ix_nodes queue = {0};
	int rc = x->fresh ? 0 : ix_moves_load(x);
	size_t kept = x->g.name_events.n;
	bool moves = false;
	for (size_t i = 0; rc == 0 && i < kept; i++) {
		const struct gname_event *e = &x->g.name_events.v[i];
		rc = ix_path_new_fact(x, e->path, e, false);
		if (rc == 0 && e->op == TERM_nameop_rename && e->old != VEC_NONE && e->old != e->path)
			rc = ix_path_new_fact(x, e->old, e, true);
		if (rc == 0 && e->op == TERM_nameop_rename && e->old != VEC_NONE && e->old != e->path &&
		    gkind_has_names_below(x->g.files.v[e->file].kind)) {
			moves = true;
			rc = ix_moves_note(x, e);
			uint32_t at;
			if (rc == 0)
				rc = ix_path_load(x, e->old, &at);
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
				rc = ix_make_dirty(x, node, &queue);
		}
	for (size_t i = 0; rc == 0 && moves && i < kept; i++) {
		struct gname_event e = x->g.name_events.v[i];
		if (e.op != TERM_nameop_rename || e.old == VEC_NONE || e.old == e.path ||
		    !gkind_has_names_below(x->g.files.v[e.file].kind))
			continue;
		rc = ix_dirty_below(x, e.old, &queue);
		if (rc == 0)
			rc = ix_dirty_below(x, e.path, &queue);
	}
	/* Events by path; a rename's old path is dirty in any case. */
	if (rc == 0 && !vec_room(&v, kept))
		rc = ix_oom(x);
	for (size_t i = 0; rc == 0 && i < kept; i++) {
		const struct gname_event *e = &x->g.name_events.v[i];
		v.v[v.n++] = e;
		if (e->op == TERM_nameop_rename && e->old != VEC_NONE)
			rc = ix_make_dirty(x, e->old, &queue);
	}
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), compare_name_events);
	for (size_t i = 0, k; rc == 0 && i < v.n; i = k) {
		for (k = i; k < v.n && v.v[k]->path == v.v[i]->path; k++)
			;
		uint32_t at;
		bool plain = false;
		struct plain name;
		rc = ix_path_load(x, v.v[i]->path, &at);
		if (rc == 0 && !x->paths.v[at].dirty)
			rc = stays_plain(x, &x->paths.v[at], v.v + i, k - i, &plain, &name);
		if (rc < 0)
			break;
		plain = plain && !ix_below_move(x, v.v[i]->path); /* there it takes part in the replay */
		if (rc == 0 && !plain) {
			rc = ix_make_dirty(x, v.v[i]->path, &queue);
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
		rc = ix_close_over_moves(x, &queue);
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
