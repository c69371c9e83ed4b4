/* ix_paths.c - rows of paths: loaded with their facts, and written with what new sessions add. */
#include "store/index/ix_names.h"

/* Facts of a path beyond this many bytes go to rows of their own, one per session: what every run sees again
 * (libraries) must not make its row grow. */
#define FACTS_INLINE 256

int ix_path_load(struct ix *x, uint32_t node, uint32_t *ret)
{
	*ret = x->nodes.v[node].loaded;
	if (*ret != VEC_NONE)
		return 0;
	struct ix_loaded_path *p = vec_add(&x->paths);
	if (!p)
		return ix_oom(x);
	*p = (struct ix_loaded_path){.node = node, .last = TIME_NONE, .first_new = TIME_NEVER, .last_new = TIME_NONE};
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
		p->flags = path_facts_begin(x->s, &c, &p->last);
		p->facts = ix_keep(x, str_n((const char *)c.p, (size_t)(c.end - c.p)));
		p->names = ix_keep(x, column_str(st, 3));
		rc = p->facts.failed || p->names.failed ? ix_oom(x) : 0;
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

int ix_path_old_facts(struct ix *x, const struct ix_loaded_path *p,
                      int (*say)(struct ix *, uint32_t node, const struct pname_fact *))
{
	uint32_t node = p->node;
	struct cur c = cur_of(buf_view(&p->facts));
	struct pname_fact f;
	int rc;
	uint64_t flags = p->flags;
	while ((rc = pname_fact_next(x->s, &c, &f)) == 1) {
		if (!ix_is_reloaded(x, f.session) && (rc = say(x, node, &f)) < 0)
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
	while ((rc = store_step(x->s, st, x->err)) == 1)
		if (!ix_is_reloaded(x, (uint64_t)sqlite3_column_int64(st, 0)))
			buf_str(&all, column_str(st, 1));
	sqlite3_reset(st);
	c = cur_of(buf_view(&all));
	while (rc == 0 && (rc = pname_fact_next(x->s, &c, &f)) == 1)
		rc = say(x, node, &f);
	if (all.failed)
		rc = ix_oom(x);
	buf_release(&all);
	return rc;
}

int ix_path_restore_fact(struct ix *x, uint32_t node, const struct pname_fact *f)
{
	uint32_t session, file, other = VEC_NONE;
	int rc = ix_session_of(x, f->session, &session);
	if (rc == 0)
		rc = ix_file_of(x, f->file, &file);
	if (rc == 0 && f->op == TERM_nameop_rename && f->other)
		rc = ix_node_of(x, f->other, &other);
	if (rc < 0)
		return rc;
	/* What is replayed from all facts tells of the other side, too, before its open names began. */
	if (other != VEC_NONE && x->nodes.v[other].loaded != VEC_NONE)
		x->paths.v[x->nodes.v[other].loaded].full = true;
	struct ix_loaded_path *p = &x->paths.v[x->nodes.v[node].loaded];
	p->last = f->time > p->last ? f->time : p->last;
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

int ix_path_new_fact(struct ix *x, uint32_t node, const struct gname_event *e, bool is_old)
{
	uint32_t at;
	int rc = ix_path_load(x, node, &at);
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
	struct ix_loaded_path *p = &x->paths.v[at];
	p->write = true;
	p->first_new = f.time < p->first_new ? f.time : p->first_new;
	p->last_new = f.time > p->last_new ? f.time : p->last_new;
	if (x->b1.failed || !ix_append(x, &x->paths.v[at].new_facts, buf_view(&x->b1)))
		return ix_oom(x);
	if (!gkind_has_names(x->g.files.v[e->file].kind)) { /* should its kind change, its paths must be found */
		rc = ix_pairs_add(x, &x->named, e->file, x->nodes.v[node].id);
		if (rc < 0)
			return rc;
	}
	return ix_pairs_add(x, &x->reported_paths, e->session, x->nodes.v[node].id);
}

/* ---- writing ---- */

/* Splits packed facts into those that are kept beside new ones of the same session: in place, those of sessions read
 * again go. */
static int kept_facts(struct ix *x, const struct buf *facts, struct buf *out)
{
	struct cur c = cur_of(buf_view(facts));
	struct pname_fact f;
	int rc;
	for (const unsigned char *from = c.p; (rc = pname_fact_next(x->s, &c, &f)) == 1; from = c.p)
		if (!ix_is_reloaded(x, f.session))
			buf_add(out, from, (size_t)(c.p - from));
	return rc;
}

/* Facts of a path that are many go into rows of their own, one a session. 0, or -errno with a sentence. */
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
			sqlite3_stmt *st = store_stmt(x->s, SQL_path_fact_get, x->err);
			struct buf all = {0};
			if (!st)
				return -EIO;
			sqlite3_bind_int64(st, 1, (int64_t)path);
			sqlite3_bind_int64(st, 2, (int64_t)session);
			int got = store_step(x->s, st, x->err);
			if (got == 1)
				buf_str(&all, column_str(st, 0));
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

/* The path's facts that stand beside its row: those of sessions that were read again go. 0, -errno with a sentence. */
static int clear_reloaded_facts(struct ix *x, uint64_t path)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_new; i++) {
		if (!x->sessions.v[i].reloaded)
			continue;
		sqlite3_stmt *st = store_stmt(x->s, SQL_path_fact_clear, x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)path);
		sqlite3_bind_int64(st, 2, (int64_t)x->sessions.v[i].id);
		rc = store_run_stmt(x->s, st, x->err);
	}
	return rc;
}

/* What stands behind the first fact, which stays in the row: it names the file of a plain path. */
static bool behind_first_fact(struct ix *x, const struct buf *facts, struct buf *ret)
{
	struct cur c = cur_of(buf_view(facts));
	struct pname_fact f;
	bool any = pname_fact_next(x->s, &c, &f) == 1;
	*ret = (struct buf){.p = (char *)c.p, .n = (size_t)(c.end - c.p)};
	return any;
}

/* Is the packed text one fact? */
static bool is_one_fact(struct ix *x, const struct buf *facts)
{
	struct cur c = cur_of(buf_view(facts));
	struct pname_fact f;
	return pname_fact_next(x->s, &c, &f) == 1 && !cur_more(&c);
}

/* ---- names ---- */

/* Names of a path beyond this many bytes go to rows of their own, when they have ended: what is replaced again and
 * again must not make its row grow. */
#define NAMES_INLINE 512

struct names {
	VEC(struct pname) v;
};

/* Called for each name of a path: collects it. 0, -ENOMEM. arg: a struct names, which gets a copy. */
static int add_stored_name(void *arg, const struct pname *n)
{
	struct names *to = arg;
	struct pname *slot = vec_add(&to->v);
	if (!slot)
		return -ENOMEM;
	*slot = *n;
	return 0;
}

/* Appends the names that have ended in the row of an appended path to `to`; those that have not are found anew
 * (add_found_names). 0, -errno. */
static int add_row_names(struct ix *x, const struct ix_loaded_path *p, struct names *to)
{
	struct cur c = cur_of(buf_view(&p->names));
	struct pname n;
	int rc;
	while ((rc = pname_next(x->s, &c, &n)) == 1)
		if (n.to != TIME_NEVER && add_stored_name(to, &n) < 0)
			return ix_oom(x);
	return rc;
}

/* Appends the names of the path that the replay found to `to`, with the index's numbers for file and host. 0 or
 * -errno. */
static int add_found_names(struct ix *x, const struct ix_loaded_path *p, struct names *to)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->nname; i++) {
		const struct gname *n = &x->path_names.v[p->first_name + i];
		struct pname name = {.file = x->files.v[n->file].id, .from = n->from, .to = n->to, .linked = n->linked};
		rc = ix_interned(x, n->host, &name.host);
		if (rc == 0 && add_stored_name(to, &name) < 0)
			rc = ix_oom(x);
	}
	return rc;
}

/* By when they ended, then by when they began. */
static int compare_by_end(const void *pa, const void *pb)
{
	const struct pname *a = pa, *b = pb;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Names that have ended, n-th piece, till when the last of them held. 0, or -errno with a sentence. */
static int put_ended_row(struct ix *x, uint64_t path, uint64_t n, int64_t till, const struct buf *pack)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_path_name_put, x->err);
	if (!st || pack->failed)
		return ix_oom(x);
	sqlite3_bind_int64(st, 1, (int64_t)path);
	sqlite3_bind_int64(st, 2, (int64_t)n);
	sqlite3_bind_int64(st, 3, till);
	bind_str(st, 4, buf_view(pack));
	return store_run_stmt(x->s, st, x->err);
}

/* The number of the last row of ended names, 0 none. */
static int last_ended_row(struct ix *x, uint64_t path, uint64_t *ret)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_path_name_last, x->err);
	*ret = 0;
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* The names that have ended, sorted by that, to rows behind those that are there. 0, -errno with a sentence. */
static int spill_ended(struct ix *x, uint64_t path, const struct names *v)
{
	struct buf pack = {0};
	uint64_t n;
	int rc = last_ended_row(x, path, &n);
	for (size_t i = 0; rc == 0 && i < v->v.n && v->v.v[i].to != TIME_NEVER; i++) {
		bool last = i + 1 == v->v.n || v->v.v[i + 1].to == TIME_NEVER;
		pname_put(x->s, &pack, &v->v.v[i]);
		if (pack.n < NAMES_INLINE && !last)
			continue;
		rc = put_ended_row(x, path, ++n, v->v.v[i].to, &pack);
		buf_reset(&pack);
	}
	buf_release(&pack);
	return rc;
}

/* The names of the path that have ended and lie beside its row. 0, -errno with a sentence. */
static int clear_ended(struct ix *x, uint64_t path)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_path_name_clear, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	return store_run_stmt(x->s, st, x->err);
}

/* The names that were found of the path, packed, into out; ended ones beside the row where they are many. *flags says
 * whether any are there. */
static int pack_found_names(struct ix *x, const struct ix_loaded_path *p, struct buf *out, uint64_t *flags)
{
	struct names v = {0};
	uint64_t path = x->nodes.v[p->node].id;
	int rc = 0;
	if (p->appended)
		rc = add_row_names(x, p, &v);
	else if (p->flags & PPATH_ENDED)
		rc = clear_ended(x, path);
	*flags |= p->appended ? p->flags & PPATH_ENDED : 0;
	if (rc == 0)
		rc = add_found_names(x, p, &v);
	if (v.v.n)
		qsort(v.v.v, v.v.n, sizeof(*v.v.v), compare_by_end);
	for (size_t i = 0; rc == 0 && i < v.v.n; i++)
		pname_put(x->s, out, &v.v.v[i]);
	if (rc == 0 && out->n > NAMES_INLINE && v.v.v[0].to != TIME_NEVER) {
		*flags |= PPATH_ENDED;
		rc = spill_ended(x, path, &v);
		buf_reset(out);
		for (size_t i = 0; i < v.v.n; i++)
			if (v.v.v[i].to == TIME_NEVER)
				pname_put(x->s, out, &v.v.v[i]);
	}
	vec_release(&v.v);
	return rc;
}

/* Adds or changes it. 0, -errno with a sentence. */
static int put_path_row(struct ix *x, uint32_t node, const struct buf *facts, const struct buf *names)
{
	const struct ix_path *path = &x->nodes.v[node];
	sqlite3_stmt *st = store_stmt(x->s, path->is_new ? SQL_path_add : SQL_path_set, x->err);
	int i = 2;
	if (!st || facts->failed || names->failed)
		return ix_oom(x);
	sqlite3_bind_int64(st, 1, (int64_t)path->id);
	if (path->is_new) {
		uint32_t up = x->g.paths.list.v[node].parent;
		sqlite3_bind_int64(st, i++, up == VEC_NONE ? 0 : (int64_t)x->nodes.v[up].id);
		bind_str(st, i++, intern_get(&x->g.words, x->g.paths.list.v[node].base));
	}
	bind_str(st, i++, buf_view(facts));
	bind_str(st, i, buf_view(names));
	return store_run_stmt(x->s, st, x->err);
}

/* The path's facts as they will be, into *facts: the flags, what is kept of its old ones, and the new ones, unless they
 * go beside the row. flags: enum ppath_flags. 0, -errno with a sentence. */
static int pack_path_facts(struct ix *x, const struct ix_loaded_path *p, struct buf *facts, struct buf *old,
                           uint64_t flags)
{
	uint64_t path = x->nodes.v[p->node].id;
	int rc = 0;
	if (flags & PPATH_SPILLED)
		rc = clear_reloaded_facts(x, path);
	if (rc == 0)
		rc = kept_facts(x, &p->facts, old);
	if (rc == 0)
		buf_str(old, buf_view(&p->new_facts));
	struct buf rest = {0};
	if (rc == 0 && old->n > FACTS_INLINE && behind_first_fact(x, old, &rest) && rest.n) {
		flags |= PPATH_SPILLED;
		old->n -= rest.n;
		rc = spill(x, path, &rest);
	}
	if (p->dirty || p->flags & PPATH_LAST)
		flags |= PPATH_LAST;
	buf_varint(facts, flags);
	if (flags & PPATH_LAST)
		buf_zigzag(facts, time_sub(p->last > p->last_new ? p->last : p->last_new, x->s->base));
	buf_str(facts, buf_view(old));
	return rc;
}

/* The path's row, and its ended names where they changed. 0, or -errno with a sentence. */
static int write_path(struct ix *x, struct ix_loaded_path *p)
{
	struct buf facts = x->b1, names = x->b2, old = x->b3; /* their memory, used again */
	uint64_t flags = p->flags & PPATH_SPILLED;
	int rc = 0;
	buf_reset(&facts);
	buf_reset(&names);
	buf_reset(&old);
	if (!p->dirty && p->flags & PPATH_PLAIN)
		flags |= p->flags & (PPATH_PLAIN | PPATH_MUTE);
	/* The one name of a plain path with one fact is that fact. */
	bool same = (flags & (PPATH_PLAIN | PPATH_MUTE | PPATH_SPILLED)) == PPATH_PLAIN && p->nname == 1 && !p->facts.n &&
	            is_one_fact(x, &p->new_facts);
	if (!p->nname && !p->dirty) {
		buf_str(&names, buf_view(&p->names));
		flags |= p->flags & PPATH_ENDED;
	} else if (!same) {
		rc = pack_found_names(x, p, &names, &flags);
	}
	if (rc == 0)
		rc = pack_path_facts(x, p, &facts, &old, flags);
	if (rc == 0)
		rc = put_path_row(x, p->node, &facts, &names);
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
	if (rc == 0)
		rc = ix_pairs_write(x, &dirs, LIST_DIR);
	free(dirs.v);
	free(order.v);
	return rc;
}
