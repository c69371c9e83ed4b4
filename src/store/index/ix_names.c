/* ix_names.c - names of files (B6): the paths that new facts speak of, and those that renamed directories drag along,
 * are replayed from all their facts; a path of which only one file was ever seen needs no replay. */
#include "store/index/ix_names.h"

#include "graph/names.h"
#include "store/read.h"

#include <errno.h>
#include <stdlib.h>

/* Rename is none of them: it ends a name, too. */
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

/* The word of its host's name. */
static uint32_t session_host(const struct ix *x, uint32_t session)
{
	return x->g.hosts.v[x->g.sessions.v[session].host].name;
}

/* The one name that a plain path of the store has. *ret false: it is not known, all its facts are beside it. */
static int stored_plain_name(struct ix *x, const struct ix_loaded_path *p, bool *ret, struct plain *ret_name)
{
	struct cur c = cur_of(buf_view(p->names.n ? &p->names : &p->facts));
	uint64_t file, host;
	*ret = false;
	if (p->names.n) {
		struct pname was;
		if (pname_next(x->s, &c, &was) != 1)
			return -ENOTRECOVERABLE;
		file = was.file;
		host = was.host;
		ret_name->from = was.from;
		ret_name->linked = was.linked;
	} else {
		struct pname_fact f;
		if (pname_fact_next(x->s, &c, &f) != 1)
			return 0;
		const struct ssession *s = store_session(x->s, f.session);
		file = f.file;
		host = s ? s->host : 0;
		ret_name->from = f.time;
		ret_name->linked = f.op == TERM_nameop_link;
	}
	int rc = ix_file_of(x, file, &ret_name->file);
	if (rc < 0)
		return rc;
	ret_name->host = intern_add(&x->g.words, store_interned(x->s, host));
	*ret = true;
	return 0;
}

/* Can the name, if it is known, be that of e's, too? Then *name is the earlier of the two. */
static bool joins_plain(const struct ix *x, const struct gname_event *e, bool known, struct plain *name)
{
	struct plain its = {e->file, session_host(x, e->session), e->key.time, e->op == TERM_nameop_link};
	if (!op_begins_name(e->op))
		return false;
	if (!known) {
		*name = its;
		return true;
	}
	if (its.file != name->file || its.host != name->host)
		return false;
	if (its.from == name->from)
		name->linked &= its.linked;
	if (its.from < name->from) {
		name->from = its.from;
		name->linked = its.linked;
	}
	return true;
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
		int rc = stored_plain_name(x, p, &known, &name);
		if (rc < 0 || !known)
			return rc;
	}
	for (size_t i = 0; i < n; i++, known = true)
		if (!joins_plain(x, v[i], known, &name))
			return 0;
	*ret = known;
	*ret_name = name;
	return 0;
}

/* `changed`: the store does not have the name so. A name that path `at` has now, to those that are written. 0, -ENOMEM,
 * reported. */
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

/* The names that the store has of a path, sorted. */
struct had {
	VEC(struct pname) v;
};

/* Order of qsort: by file and time. */
static int compare_had(const void *pa, const void *pb)
{
	const struct pname *a = pa, *b = pb;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->linked - b->linked;
}

/* Called for each name of a path: collects it. 0, -ENOMEM. arg: a struct had, which gets a copy. */
static int add_had(void *arg, const struct pname *n)
{
	struct had *h = arg;
	struct pname *slot = vec_add(&h->v);
	if (!slot)
		return -ENOMEM;
	*slot = *n;
	return 0;
}

/* Of an appended path those of its row: others have ended, and are not found again. Sorted. 0, -errno with a sentence.
 * */
static int load_had(struct ix *x, const struct ix_loaded_path *p, struct had *h)
{
	struct buf facts = {0};
	int rc = 0;
	h->v.n = 0;
	if (x->nodes.v[p->node].is_new)
		return 0;
	if (p->appended)
		rc = path_names(x->s, buf_view(&facts), buf_view(&p->names), add_had, h);
	else
		rc = read_names(x->s, x->nodes.v[p->node].id, add_had, h, x->err);
	if (h->v.n)
		qsort(h->v.v, h->v.n, sizeof(*h->v.v), compare_had);
	return rc == -ENOMEM ? ix_oom(x) : rc < 0 ? rc : 0;
}

/* Has the store this name already? */
static bool is_had(const struct ix *x, const struct had *h, const struct gname *n)
{
	struct pname key = {.file = x->files.v[n->file].id, .from = n->from, .to = n->to, .linked = n->linked};
	return h->v.n && bsearch(&key, h->v.v, h->v.n, sizeof(key), compare_had);
}

/* Order of qsort: by path and time. */
static int name_cmp(const void *pa, const void *pb)
{
	const struct gname *a = pa, *b = pb;
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Do all new facts of the path come after those that the store has, so that its open names say enough of them? */
static bool can_append(const struct ix *x, const struct ix_loaded_path *p)
{
	bool move_end = p->node < x->move_end.n && x->move_end.v[p->node];
	return !p->full && !x->nodes.v[p->node].is_new && p->flags & PPATH_LAST && p->first_new > p->last && !move_end &&
	       !ix_below_move(x, p->node);
}

/* Names that are in force still go into the graph, so that the replay goes on from them. 0 or -errno. */
static int restore_open_names(struct ix *x, const struct ix_loaded_path *p)
{
	struct cur c = cur_of(buf_view(&p->names));
	uint32_t node = p->node;
	struct pname n;
	int rc;
	while ((rc = pname_next(x->s, &c, &n)) == 1) {
		uint32_t file, host;
		if (n.to != TIME_NEVER)
			continue;
		if ((rc = ix_file_of(x, n.file, &file)) < 0)
			return rc;
		host = intern_add(&x->g.words, store_interned(x->s, n.host));
		struct gname *slot = host == VEC_NONE ? NULL : vec_add(&x->g.open_names);
		if (!slot)
			return ix_oom(x);
		*slot = (struct gname){host, node, file, n.from, TIME_NEVER, n.linked};
	}
	return rc;
}

/* It is to be replayed from all its facts after all. */
static void take_back_open_names(struct ix *x, struct ix_loaded_path *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < x->g.open_names.n; i++)
		if (x->g.open_names.v[i].path != p->node)
			x->g.open_names.v[kept++] = x->g.open_names.v[i];
	x->g.open_names.n = kept;
	p->appended = p->taken = false;
}

/* Where all that is new lies behind what is there the path's facts are not replayed again. i: index in x->paths, which
 * may move. 0 or -errno. */
static int restore_path(struct ix *x, size_t i)
{
	struct ix_loaded_path *p = &x->paths.v[i];
	p->taken = true;
	p->appended = can_append(x, p);
	if (p->appended)
		return restore_open_names(x, p);
	p->last = TIME_NONE;
	struct ix_loaded_path copy = *p; /* the loaded paths may move */
	return x->nodes.v[p->node].is_new ? 0 : ix_path_old_facts(x, &copy, ix_path_restore_fact);
}

/* The old facts of dirty paths go into the graph, each path's once; or, where that is enough, their open names. 0,
 * -errno with a sentence. */
static int restore_dirty_facts(struct ix *x)
{
	int rc = 0;
	for (bool again = true; rc == 0 && again;) {
		again = false;
		for (size_t i = 0; rc == 0 && i < x->paths.n; i++) {
			struct ix_loaded_path *p = &x->paths.v[i];
			if (p->appended && p->full)
				take_back_open_names(x, p);
			if (!p->dirty || p->taken)
				continue;
			rc = restore_path(x, i);
			again = true;
		}
	}
	return rc;
}

/* Makes dirty what a directory rename has put a name at, though nothing was known there. *ret: there was such. 0,
 * -errno with a sentence. */
static int dirty_moved_names(struct ix *x, struct ix_nodes *queue, bool *ret)
{
	int rc = 0;
	*ret = false;
	for (size_t i = 0; rc == 0 && i < x->g.names.n; i++) {
		uint32_t node = x->g.names.v[i].path, at = x->nodes.v[node].loaded;
		if ((at == VEC_NONE || !x->paths.v[at].dirty) && ix_below_move(x, node)) {
			rc = ix_make_dirty(x, node, queue);
			*ret = true;
		}
	}
	return rc;
}

/* The names that the replay gave to dirty paths. 0, -errno with a sentence. */
static int take_replayed_names(struct ix *x)
{
	struct gname *v = x->g.names.v;
	size_t n = x->g.names.n;
	struct had had = {0};
	int rc = 0;
	if (n)
		qsort(v, n, sizeof(*v), name_cmp);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		uint32_t at = x->nodes.v[v[i].path].loaded;
		if (at == VEC_NONE || !x->paths.v[at].dirty)
			continue;
		if (i == 0 || v[i - 1].path != v[i].path) {
			x->paths.v[at].first_name = x->path_names.n;
			rc = load_had(x, &x->paths.v[at], &had);
		}
		if (rc == 0)
			rc = name_found(x, at, &v[i], !is_had(x, &had, &v[i]));
	}
	vec_release(&had.v);
	return rc;
}

/* Finds which names files had when, by what was told: replays; a directory rename may put names where nothing was
 * known before: those paths join, and it begins again. 0, -errno with a sentence. */
static int replay(struct ix *x, struct ix_nodes *queue)
{
	int rc = 0;
	for (bool again = true; rc == 0 && again;) {
		rc = ix_close_over_moves(x, queue);
		if (rc == 0)
			rc = restore_dirty_facts(x);
		if (rc == 0)
			rc = names_replay_events(&x->g);
		if (rc == 0)
			rc = ix_new_nodes(x);
		if (rc == 0)
			rc = dirty_moved_names(x, queue, &again);
	}
	return rc < 0 ? rc : take_replayed_names(x);
}

/* Order of qsort: by path, then by time. */
static int compare_name_events(const void *pa, const void *pb)
{
	const struct gname_event *const *a = pa, *const *b = pb;
	if ((*a)->path != (*b)->path)
		return (*a)->path < (*b)->path ? -1 : 1;
	return gkey_cmp(&(*a)->key, &(*b)->key);
}

/* Session by session, what was said of a path before may be gone with a session that was read again. 0, -errno with a
 * sentence. */
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
				x->paths.v[at].write = x->paths.v[at].full = true;
		}
	return rc;
}

/* Whether it takes the old path away. */
static bool renames_path(const struct gname_event *e)
{
	return e->op == TERM_nameop_rename && e->old != VEC_NONE && e->old != e->path;
}

/* Does it move the names of all that lies below? */
static bool renames_directory(const struct ix *x, const struct gname_event *e)
{
	return renames_path(e) && gkind_has_names_below(x->g.files.v[e->file].kind);
}

/* What the new sessions say of names goes to the paths that it concerns. 0, -errno with a sentence. */
static int note_new_facts(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->g.name_events.n; i++) {
		const struct gname_event *e = &x->g.name_events.v[i];
		uint32_t at;
		rc = ix_path_new_fact(x, e->path, e, false);
		if (rc == 0 && renames_path(e))
			rc = ix_path_new_fact(x, e->old, e, true);
		if (rc < 0 || !renames_directory(x, e))
			continue;
		rc = ix_moves_note(x, e);
		if (rc == 0)
			rc = ix_path_load(x, e->old, &at);
	}
	return rc;
}

/* A file whose kind is another now may gain or lose all its names. 0, -errno with a sentence. */
static int dirty_changed_kinds(struct ix *x, struct ix_nodes *queue)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->event_files; i++) {
		if (!x->files.v[i].kind_changed)
			continue;
		for (size_t k = 0; rc == 0 && k < x->rows.v[x->files.v[i].row].f.paths.n; k++) {
			uint32_t node;
			rc = ix_node_of(x, x->rows.v[x->files.v[i].row].f.paths.v[k], &node);
			if (rc == 0)
				rc = ix_make_dirty(x, node, queue);
			if (rc == 0)
				x->paths.v[x->nodes.v[node].loaded].full = true;
		}
	}
	return rc;
}

/* All that lies below the two ends of the first n events, where they rename directories. 0, -errno with a sentence. */
static int dirty_new_moves(struct ix *x, size_t n, struct ix_nodes *queue)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct gname_event e = x->g.name_events.v[i];
		if (!renames_directory(x, &e))
			continue;
		rc = ix_dirty_below(x, e.old, queue);
		if (rc == 0)
			rc = ix_dirty_below(x, e.path, queue);
	}
	return rc;
}

/* The new events v[0..n) of one path: its name, where that needs no replay; else it is made dirty. */
static int settle_path(struct ix *x, const struct gname_event *const *v, size_t n, struct ix_nodes *queue)
{
	uint32_t at, path = v[0]->path;
	bool plain = false;
	struct had had = {0};
	struct plain name;
	int rc = ix_path_load(x, path, &at);
	if (rc == 0 && !x->paths.v[at].dirty)
		rc = stays_plain(x, &x->paths.v[at], v, n, &plain, &name);
	if (rc < 0)
		return rc;
	if (!plain || ix_below_move(x, path)) /* there it takes part in the replay */
		return ix_make_dirty(x, path, queue);
	struct gname found = {name.host, path, name.file, name.from, TIME_NEVER, name.linked};
	rc = load_had(x, &x->paths.v[at], &had);
	x->paths.v[at].flags |= PPATH_PLAIN;
	x->paths.v[at].first_name = x->path_names.n;
	if (!gkind_has_names(x->g.files.v[name.file].kind))
		x->paths.v[at].flags |= PPATH_MUTE;
	else if (rc == 0)
		rc = name_found(x, at, &found, !is_had(x, &had, &found));
	vec_release(&had.v);
	return rc;
}

/* The first n events by path; a rename's old path is dirty in any case. 0, -errno with a sentence. */
static int settle_paths(struct ix *x, size_t n, struct ix_nodes *queue)
{
	VEC(const struct gname_event *) v = {0};
	int rc = vec_room(&v, n) ? 0 : ix_oom(x);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct gname_event *e = &x->g.name_events.v[i];
		v.v[v.n++] = e;
		if (e->op == TERM_nameop_rename && e->old != VEC_NONE)
			rc = ix_make_dirty(x, e->old, queue);
	}
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), compare_name_events);
	for (size_t i = 0, k; rc == 0 && i < v.n; i = k) {
		for (k = i; k < v.n && v.v[k]->path == v.v[i]->path; k++)
			;
		rc = settle_path(x, v.v + i, k - i, queue);
	}
	vec_release(&v);
	return rc;
}

/* VEC_NONE is none. Has the path to be replayed anew? */
static bool is_dirty_path(const struct ix *x, uint32_t node)
{
	uint32_t at = node == VEC_NONE ? VEC_NONE : x->nodes.v[node].loaded;
	return at != VEC_NONE && x->paths.v[at].dirty;
}

/* Leaves only the events that the replay needs: not those of plain paths. *ret: some path is dirty. */
static void drop_plain_events(struct ix *x, bool *ret)
{
	size_t kept = 0;
	*ret = false;
	for (size_t i = 0; i < x->paths.n; i++)
		*ret |= x->paths.v[i].dirty;
	for (size_t i = 0; i < x->g.name_events.n; i++) {
		struct gname_event e = x->g.name_events.v[i];
		if (is_dirty_path(x, e.path) || is_dirty_path(x, e.old))
			x->g.name_events.v[kept++] = e;
	}
	x->g.name_events.n = kept;
}

int ix_names(struct ix *x)
{
	struct ix_nodes queue = {0};
	const size_t n = x->g.name_events.n;
	bool any = false;
	int rc = x->fresh ? 0 : ix_moves_load(x);
	if (rc == 0)
		rc = note_new_facts(x);
	if (rc == 0)
		rc = dirty_reloaded(x, &queue);
	if (rc == 0)
		rc = dirty_changed_kinds(x, &queue);
	if (rc == 0)
		rc = dirty_new_moves(x, n, &queue);
	if (rc == 0)
		rc = settle_paths(x, n, &queue);
	if (rc == 0)
		rc = ix_close_over_moves(x, &queue);
	if (rc == 0)
		drop_plain_events(x, &any);
	if (rc == 0 && any)
		rc = replay(x, &queue);
	ix_pairs_sort(&x->named);
	ix_pairs_sort(&x->named_paths);
	free(queue.v);
	return rc;
}
