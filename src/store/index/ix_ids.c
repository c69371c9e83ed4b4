/* ix_ids.c - rows for what the new sessions speak of: found in the store, or given. */
#include "base/hash.h"
#include "store/index/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
	uint32_t hash, index;
};

/* Order of qsort: by hash, then as they came. */
static int asked_cmp(const void *pa, const void *pb)
{
	const struct asked *a = pa, *b = pb;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

int ix_sync(struct ix *x)
{
#define GROW(to, from, init)                                                                                           \
	if (!vec_room(&x->to, x->g.from.n - (x->to.n < x->g.from.n ? x->to.n : x->g.from.n)))                              \
		return ix_oom(x);                                                                                              \
	while (x->to.n < x->g.from.n)                                                                                      \
	x->to.v[x->to.n++] = init
	GROW(sessions, sessions, ((struct ix_session){0}));
	GROW(files, files, ((struct ix_file){.row = VEC_NONE}));
	GROW(procs, procs, 0);
	GROW(loaded_of, procs, VEC_NONE);
	GROW(domains, domains, 0);
	GROW(words, words.list, 0);
	GROW(nodes, paths.list, ((struct ix_path){.loaded = VEC_NONE}));
#undef GROW
	return 0;
}

int ix_add_key(struct ix *x, enum key_kind kind, uint32_t hash, uint64_t id)
{
	struct key_entry *e = vec_add(&x->new_keys[kind]);
	if (!e)
		return ix_oom(x);
	*e = (struct key_entry){hash, id};
	return 0;
}

/* ---- words ---- */

/* The row of a word that the store has, 0 none. */
static int find_word(struct ix *x, struct str text, uint32_t hash, uint64_t *ret)
{
	struct key_cursor c = {0};
	size_t at, n;
	*ret = 0;
	int rc = keys_find(x->s, &c, KEY_WORD, hash, x->err, &at, &n);
	for (size_t i = at; rc == 0 && i < at + n && !*ret; i++)
		if (str_eq(store_interned(x->s, c.v.v[i].id), text))
			*ret = c.v.v[i].id;
	key_cursor_release(&c);
	return rc;
}

/* Gives the text the next number, *ret, and a key. 0, or -errno with a sentence. */
static int add_word(struct ix *x, struct str text, uint32_t hash, uint64_t *ret)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_dict_add, x->err);
	if (!st)
		return -EIO;
	*ret = x->next_dict++;
	sqlite3_bind_int64(st, 1, (int64_t)*ret);
	bind_str(st, 2, text);
	int rc = store_run_stmt(x->s, st, x->err);
	return rc < 0 ? rc : ix_add_key(x, KEY_WORD, hash, *ret);
}

int ix_interned(struct ix *x, uint32_t word, uint64_t *ret)
{
	*ret = 0;
	if (!word || word == VEC_NONE)
		return 0;
	if (x->words.n <= word && ix_sync(x) < 0)
		return -ENOMEM;
	if ((*ret = x->words.v[word]))
		return 0;
	struct str text = intern_get(&x->g.words, word);
	uint32_t hash = hash_fold(hash_str(text));
	int rc = x->fresh ? 0 : find_word(x, text, hash, ret);
	if (rc == 0 && !*ret)
		rc = add_word(x, text, hash, ret);
	if (rc == 0)
		x->words.v[word] = *ret;
	return rc;
}

/* ---- domains ---- */

/* Writes a file system. 0, -errno with a sentence. */
static int write_domain(struct ix *x, uint64_t id, const struct gdomain *d)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_domain_put, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	bind_str(st, 2, intern_get(&x->g.words, d->name));
	bind_str(st, 3, intern_get(&x->g.words, d->type));
	sqlite3_bind_int(st, 4, d->network);
	return store_run_stmt(x->s, st, x->err);
}

/* Numbers of the index for the graph's domains from `from` on; new ones are written. 0 or -errno. */
static int find_domains(struct ix *x, size_t from)
{
	for (size_t i = from; i < x->g.domains.n; i++) {
		struct gdomain *d = &x->g.domains.v[i];
		struct str name = intern_get(&x->g.words, d->name);
		uint64_t id = 0;
		const struct sdomain *known;
		for (uint64_t k = 1; (known = store_domain(x->s, k)); k++)
			if (str_eq(str_n(known->name, known->name_n), name)) {
				id = k;
				break;
			}
		int rc = 0;
		if (!id) {
			for (id = 1; store_domain(x->s, id); id++)
				;
			rc = write_domain(x, id, d);
			(void)store_domain(x->s, id);
		} else if (known->network != d->network) {
			d->network |= known->network;
			if (!known->network) {
				rc = write_domain(x, id, d);
				x->s->domains.v[id - 1].network = true;
			}
		}
		if (rc < 0)
			return rc;
		x->domains.v[i] = id;
	}
	return 0;
}

/* ---- paths ---- */

/* The hash by which a path is found. dir: the folder's number. */
static uint32_t path_hash(uint64_t dir, struct str base)
{
	return hash_fold(hash_mix(hash_str(base), dir));
}

/* Of the rows with that hash, the one that is (dir, base); 0 none. */
static int match_path(struct ix *x, const struct key_cursor *c, size_t at, size_t n, uint64_t dir, struct str base,
                      uint64_t *ret)
{
	*ret = 0;
	for (size_t i = at; i < at + n && !*ret; i++) {
		sqlite3_stmt *st = store_stmt(x->s, SQL_path_get, x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)c->v.v[i].id);
		int rc = store_step(x->s, st, x->err);
		if (rc == 1 && (uint64_t)sqlite3_column_int64(st, 0) == dir && str_eq(column_str(st, 1), base))
			*ret = c->v.v[i].id;
		sqlite3_reset(st);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The path has that row. 0, -ENOMEM. */
static int set_node(struct ix *x, uint32_t node, uint64_t id, bool is_new)
{
	x->nodes.v[node].id = id;
	x->nodes.v[node].is_new = is_new;
	return map_set(&x->node_rows, id, node) ? 0 : ix_oom(x);
}

/* A new path: its row is written with its names. Takes the next row number. 0, -ENOMEM. */
static int new_node(struct ix *x, uint32_t node, uint64_t dir)
{
	uint64_t id = x->next_path++;
	int rc = set_node(x, node, id, true);
	return rc < 0 ? rc
	              : ix_add_key(x, KEY_PATH, path_hash(dir, intern_get(&x->g.words, x->g.paths.list.v[node].base)), id);
}

/* Row of the path's folder, 0 for none. */
static uint64_t dir_row(const struct ix *x, uint32_t node)
{
	uint32_t up = x->g.paths.list.v[node].parent;
	return up == VEC_NONE ? 0 : x->nodes.v[up].id;
}

struct asked_list {
	struct asked *v;
	size_t n, cap;
};

/* The paths that have no row yet and whose directories have one, into ask; those in new directories are new. *ret_more:
 * others have to wait for their directories. 0, -ENOMEM. */
static int ask_for_nodes(struct ix *x, size_t n, struct asked_list *ask, bool *ret_more)
{
	int rc = 0;
	*ret_more = false;
	ask->n = 0;
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		uint32_t up = x->g.paths.list.v[i].parent;
		if (x->nodes.v[i].id)
			continue;
		if (up != VEC_NONE && !x->nodes.v[up].id) {
			*ret_more = true;
			continue;
		}
		if (up != VEC_NONE && x->nodes.v[up].is_new) {
			rc = new_node(x, i, x->nodes.v[up].id);
			continue;
		}
		struct asked *a = vec_add(ask);
		if (!a)
			return ix_oom(x);
		*a = (struct asked){path_hash(dir_row(x, i), intern_get(&x->g.words, x->g.paths.list.v[i].base)), i};
	}
	return rc;
}

/* The row of a path whose directory has one: found in the store, or given. 0, -errno. */
static int find_node_row(struct ix *x, const struct asked *a)
{
	size_t at, found;
	uint64_t id = 0, dir = dir_row(x, a->index);
	int rc = keys_find(x->s, &x->cursor, KEY_PATH, a->hash, x->err, &at, &found);
	if (rc == 0)
		rc = match_path(x, &x->cursor, at, found, dir, intern_get(&x->g.words, x->g.paths.list.v[a->index].base), &id);
	if (rc < 0)
		return rc;
	return id ? set_node(x, a->index, id, false) : new_node(x, a->index, dir);
}

/* Level by level, for a path is looked up by its directory's row; each level in order of hashes, which is that of the
 * keys. 0, -errno with a sentence. */
int ix_new_nodes(struct ix *x)
{
	int rc = ix_sync(x);
	size_t n = x->g.paths.list.n;
	if (x->fresh) {
		for (uint32_t i = 0; rc == 0 && i < n; i++) /* directories come first */
			if (!x->nodes.v[i].id)
				rc = new_node(x, i, dir_row(x, i));
		return rc;
	}
	struct asked_list ask = {0};
	for (bool more = true; rc == 0 && more;) {
		rc = ask_for_nodes(x, n, &ask, &more);
		if (ask.n)
			qsort(ask.v, ask.n, sizeof(*ask.v), asked_cmp);
		for (size_t k = 0; rc == 0 && k < ask.n; k++)
			rc = find_node_row(x, &ask.v[k]);
	}
	free(ask.v);
	return rc;
}

int ix_node_of(struct ix *x, uint64_t row, uint32_t *ret)
{
	*ret = map_get(&x->node_rows, row);
	if (*ret != VEC_NONE)
		return 0;
	/* Up to a directory that is known, then down. */
	VEC(struct ix_pair) chain = {0}; /* row, word */
	uint32_t node = VEC_NONE;
	int rc = 0;
	for (uint64_t id = row; rc == 0 && id && (node = map_get(&x->node_rows, id)) == VEC_NONE;) {
		sqlite3_stmt *st = store_stmt(x->s, SQL_path_get, x->err);
		struct ix_pair *p = vec_add(&chain);
		if (!st || !p || chain.n > 2 * PATH_SPLIT_MAX) {
			rc = ix_oom(x);
			break;
		}
		sqlite3_bind_int64(st, 1, (int64_t)id);
		rc = store_step(x->s, st, x->err);
		if (rc == 1) {
			uint32_t word = intern_add(&x->g.words, column_str(st, 1));
			*p = (struct ix_pair){id, word};
			id = (uint64_t)sqlite3_column_int64(st, 0);
			rc = word == VEC_NONE ? ix_oom(x) : 0;
		} else if (rc == 0) {
			err_set(x->err, 0, "the index is damaged: a path is missing");
			rc = -ENOTRECOVERABLE;
		}
		sqlite3_reset(st);
	}
	while (rc == 0 && chain.n) {
		struct ix_pair p = chain.v[--chain.n];
		node = paths_child(&x->g.paths, &x->g.words, node, (uint32_t)p.b);
		rc = node == VEC_NONE ? ix_oom(x) : ix_sync(x);
		if (rc == 0)
			rc = set_node(x, node, p.a, false);
	}
	vec_release(&chain);
	*ret = node;
	return rc;
}

int ix_node_find(struct ix *x, uint32_t parent, struct str base, uint32_t *ret)
{
	*ret = VEC_NONE;
	uint32_t word = intern_find(&x->g.words, base);
	if (word != VEC_NONE && (*ret = paths_find_child(&x->g.paths, parent, word)) != VEC_NONE)
		return 0;
	if (x->fresh || x->nodes.v[parent].is_new)
		return 0;
	struct key_cursor c = {0};
	size_t at, n;
	uint64_t id = 0, dir = x->nodes.v[parent].id;
	int rc = keys_find(x->s, &c, KEY_PATH, path_hash(dir, base), x->err, &at, &n);
	if (rc == 0)
		rc = match_path(x, &c, at, n, dir, base, &id);
	key_cursor_release(&c);
	return rc == 0 && id ? ix_node_of(x, id, ret) : rc;
}

/* ---- files ---- */

struct id_hash ix_file_hash(struct ix *x, uint32_t file, struct buf *b)
{
	const struct gfile *f = &x->g.files.v[file];
	if (f->domain == VEC_NONE) {
		struct buf path = {0};
		paths_get(&x->g.paths, &x->g.words, f->path, &path);
		identity_absent(b, buf_view(&path));
		buf_release(&path);
	} else {
		identity_file(b, intern_get(&x->g.words, x->g.domains.v[f->domain].name), f->ino, f->gen);
	}
	return identity_hash(b);
}

/* Reads the file's row into x->rows. 0, or -errno with a sentence. */
static int load_row(struct ix *x, uint32_t file, uint64_t id)
{
	struct ix_row *r = vec_add(&x->rows);
	if (!r)
		return ix_oom(x);
	*r = (struct ix_row){.first_fp = VEC_NONE};
	struct str pack;
	int rc = block_row(x->s, &x->file_blocks, id, x->err, &pack);
	if (rc == 1) {
		struct str part[FILE_PARTS];
		rc = pack_split(pack, FILE_PARTS, part) ? pfile_get(x->s, part[FILE_INFO], &r->f, &x->arena) : -ENOTRECOVERABLE;
		if (rc == 0) {
			r->ver = ix_keep(x, part[FILE_VER]);
			r->rd = ix_keep(x, part[FILE_RD]);
		}
		if (rc == 0 && (r->ver.failed || r->rd.failed))
			rc = ix_oom(x);
	} else if (rc == 0) {
		rc = -ENOTRECOVERABLE;
	}
	if (rc == -ENOTRECOVERABLE)
		err_set(x->err, 0, "the index is damaged: file %llu", (unsigned long long)id);
	if (rc == 0 && file != VEC_NONE) {
		x->files.v[file].row = (uint32_t)(x->rows.n - 1);
		x->files.v[file].id = id;
		rc = map_set(&x->file_rows, id, file) ? 0 : ix_oom(x);
	}
	return rc;
}

/* Is that row the file's? A hash alone may be another one's. 0 or -errno. */
static int match_file(struct ix *x, uint32_t file, uint64_t id, bool *ret)
{
	const struct gfile *f = &x->g.files.v[file];
	struct pfile p = {0};
	*ret = false;
	struct str pack, part[FILE_PARTS];
	int rc = block_row(x->s, &x->file_blocks, id, x->err, &pack);
	if (rc == 1)
		rc = pack_split(pack, FILE_PARTS, part) ? 1 : -ENOTRECOVERABLE;
	if (rc == 1 && (rc = pfile_identity(part[FILE_INFO], &p)) == 0) {
		if (f->domain == VEC_NONE)
			*ret = !p.domain && p.path == x->nodes.v[f->path].id;
		else
			*ret = p.domain == x->domains.v[f->domain] && p.ino == f->ino && p.gen == f->gen;
	}
	return rc < 0 ? rc : 0;
}

/* Loads the rows of those files that the store has; ask is sorted. 0, -errno with a sentence. */
static int find_known_files(struct ix *x, const struct asked *ask, size_t n_ask)
{
	struct ix_pairs maybe = {0};
	int rc = 0;
	for (size_t k = 0; rc == 0 && k < n_ask; k++) {
		size_t at, n;
		rc = keys_find(x->s, &x->cursor, KEY_FILE, ask[k].hash, x->err, &at, &n);
		for (size_t c = at; rc == 0 && c < at + n; c++)
			rc = ix_pairs_add(x, &maybe, x->cursor.v.v[c].id, ask[k].index);
	}
	ix_pairs_sort(&maybe); /* by row: each block is read once */
	for (size_t k = 0; rc == 0 && k < maybe.n; k++) {
		bool same;
		rc = match_file(x, (uint32_t)maybe.v[k].b, maybe.v[k].a, &same);
		if (rc == 0 && same)
			rc = load_row(x, (uint32_t)maybe.v[k].b, maybe.v[k].a);
	}
	free(maybe.v);
	return rc;
}

/* Rows for the files that have none, hash[i] of each, in the order in which the log speaks of them: what is used
 * together lies together. 0, -errno with a sentence. */
static int give_file_rows(struct ix *x, const uint32_t *hash)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < x->g.files.n; i++) {
		struct ix_file *f = &x->files.v[i];
		if (f->id)
			continue;
		f->id = x->next_file++;
		rc = map_set(&x->file_rows, f->id, i) ? ix_add_key(x, KEY_FILE, hash[i], f->id) : ix_oom(x);
	}
	return rc;
}

/* Finds the rows of all files of the graph, those asked by hash in one go; new files get rows. 0 or -errno. */
static int find_files(struct ix *x)
{
	VEC(struct asked) ask = {0};
	VEC(uint32_t) hash = {0};
	struct buf b = {0};
	int rc = vec_room(&ask, x->g.files.n) && vec_room(&hash, x->g.files.n) ? 0 : ix_oom(x);
	for (uint32_t i = 0; rc == 0 && i < x->g.files.n; i++) {
		buf_reset(&b);
		hash.v[hash.n++] = (uint32_t)(ix_file_hash(x, i, &b).hi >> 32);
		ask.v[ask.n++] = (struct asked){hash.v[i], i};
	}
	if (rc == 0 && !x->fresh && ask.n) {
		qsort(ask.v, ask.n, sizeof(*ask.v), asked_cmp);
		rc = find_known_files(x, ask.v, ask.n);
	}
	if (rc == 0)
		rc = give_file_rows(x, hash.v);
	vec_release(&hash);
	vec_release(&ask);
	buf_release(&b);
	return rc;
}

/* The domain of that row, in the graph. 0, -ENOMEM, reported. */
static int find_stored_domain(struct ix *x, uint64_t row, uint32_t *ret)
{
	const struct sdomain *d = store_domain(x->s, row);
	uint32_t word = d ? intern_add(&x->g.words, str_n(d->name, d->name_n)) : VEC_NONE;
	bool network = d && d->network;
	uint32_t type = d ? intern_add(&x->g.words, str_of(d->type)) : 0;
	if (word == VEC_NONE || (*ret = graph_domain(&x->g, word)) == VEC_NONE)
		return ix_oom(x);
	x->g.domains.v[*ret].network |= network;
	if (!x->g.domains.v[*ret].type && type != VEC_NONE)
		x->g.domains.v[*ret].type = type;
	return 0;
}

/* What the row at x->rows.v[at] says of the file; facts read now have been merged already, for they came first. path:
 * its latest one, VEC_NONE none. */
static int restore_file(struct ix *x, uint32_t file, uint32_t at, uint32_t path)
{
	struct gfile *g = &x->g.files.v[file];
	const struct pfile *p = &x->rows.v[at].f;
	g->kind = (uint8_t)p->kind;
	g->flags |= (uint16_t)(p->flags & (GFILE_BY_NAME | PFILE_MIXED));
	int rc = ix_gkey(x, &p->kind_key, &g->kind_key);
	p = &x->rows.v[at].f;
	if (rc == 0 && path != VEC_NONE) {
		g = &x->g.files.v[file];
		g->path = path;
		rc = ix_gkey(x, &p->path_key, &g->path_key);
	}
	p = &x->rows.v[at].f;
	if (rc == 0 && p->group) {
		uint32_t group;
		struct pkey key = p->group_key;
		rc = ix_file_of(x, p->group, &group);
		if (rc == 0)
			rc = ix_gkey(x, &key, &x->g.files.v[file].group_key);
		if (rc == 0)
			x->g.files.v[file].group = group;
	}
	return rc;
}

int ix_file_of(struct ix *x, uint64_t row, uint32_t *ret)
{
	*ret = map_get(&x->file_rows, row);
	if (*ret != VEC_NONE)
		return 0;
	int rc = load_row(x, VEC_NONE, row);
	if (rc < 0)
		return rc;
	uint32_t at = (uint32_t)(x->rows.n - 1), domain = VEC_NONE, path = VEC_NONE;
	const struct pfile *p = &x->rows.v[at].f;
	uint64_t ino = p->ino, gen = p->gen, domain_row = p->domain;
	if (p->path)
		rc = ix_node_of(x, p->path, &path);
	if (rc == 0 && domain_row)
		rc = find_stored_domain(x, domain_row, &domain);
	if (rc < 0)
		return rc;
	*ret = graph_file(&x->g, domain, ino, gen, domain == VEC_NONE ? path : VEC_NONE, NULL);
	if (*ret == VEC_NONE || ix_sync(x) < 0)
		return ix_oom(x);
	if (domain != VEC_NONE)
		x->domains.v[domain] = domain_row;
	struct ix_file *f = &x->files.v[*ret];
	f->id = row;
	f->row = at;
	if (!map_set(&x->file_rows, row, *ret))
		return ix_oom(x);
	return restore_file(x, *ret, at, domain == VEC_NONE ? VEC_NONE : path);
}

/* ---- processes ---- */

/* Appends the identity to b and gives its hash. */
struct id_hash ix_exec_hash(struct ix *x, uint32_t exec, struct buf *b)
{
	const struct gexec *e = &x->g.execs.v[exec];
	const struct gproc *p = &x->g.procs.v[e->proc];
	identity_exec(b, intern_get(&x->g.words, p->boot), p->pidns, p->pid, p->started, e->n);
	return identity_hash(b);
}

/* Is that row the process's? 0 or -errno. */
static int match_process(struct ix *x, uint32_t proc, uint64_t id, bool *ret)
{
	const struct gproc *p = &x->g.procs.v[proc];
	struct pproc was;
	uint64_t boot = 0;
	*ret = false;
	int rc = ix_interned(x, p->boot, &boot);
	if (rc < 0)
		return rc;
	char ns[24];
	snprintf(ns, sizeof(ns), "%llu", (unsigned long long)p->pidns);
	struct str pack, part[PROCESS_PARTS];
	rc = block_row(x->s, &x->process_blocks, id, x->err, &pack);
	if (rc == 1)
		rc = pack_split(pack, PROCESS_PARTS, part) ? 1 : -ENOTRECOVERABLE;
	if (rc == 1) {
		struct cur c = cur_of(part[PROCESS_INFO]);
		rc = pproc_get(x->s, &c, &was);
		*ret = rc == 0 && was.boot == boot && was.pid == p->pid && was.started == p->started &&
		       str_is(store_interned(x->s, was.pidns), ns);
	}
	return rc < 0 ? rc : 0;
}

/* The rows of those processes that the store has. 0, -errno with a sentence. */
static int find_known_processes(struct ix *x)
{
	VEC(struct asked) ask = {0};
	struct ix_pairs maybe = {0};
	struct buf b = {0};
	int rc = 0;
	if (!vec_room(&ask, x->g.procs.n))
		return ix_oom(x);
	for (uint32_t i = 0; i < x->g.procs.n; i++) {
		buf_reset(&b);
		ask.v[ask.n++] = (struct asked){(uint32_t)(ix_exec_hash(x, x->g.procs.v[i].first_exec, &b).hi >> 32), i};
	}
	if (ask.n)
		qsort(ask.v, ask.n, sizeof(*ask.v), asked_cmp);
	for (size_t k = 0; rc == 0 && k < ask.n; k++) {
		size_t at, n;
		rc = keys_find(x->s, &x->cursor, KEY_EXEC, ask.v[k].hash, x->err, &at, &n);
		for (size_t c = at; rc == 0 && c < at + n; c++)
			if (!exec_n(x->cursor.v.v[c].id))
				rc = ix_pairs_add(x, &maybe, exec_process(x->cursor.v.v[c].id), ask.v[k].index);
	}
	ix_pairs_sort(&maybe);
	for (size_t k = 0; rc == 0 && k < maybe.n; k++) {
		bool same;
		rc = match_process(x, (uint32_t)maybe.v[k].b, maybe.v[k].a, &same);
		if (rc == 0 && same)
			x->procs.v[maybe.v[k].b] = maybe.v[k].a;
	}
	free(maybe.v);
	vec_release(&ask);
	buf_release(&b);
	return rc;
}

/* Those that are not in the index get new rows, from x->first_new_process on. 0 or -errno. */
static int find_processes(struct ix *x)
{
	int rc = x->fresh ? 0 : find_known_processes(x);
	x->first_new_process = x->next_process;
	for (uint32_t i = 0; rc == 0 && i < x->g.procs.n; i++)
		if (!x->procs.v[i])
			x->procs.v[i] = x->next_process++;
	return rc;
}

int ix_ids(struct ix *x)
{
	x->n_new = x->g.sessions.n;
	key_cursor_release(&x->cursor);
	int rc = ix_sync(x);
	if (rc == 0)
		rc = ix_find_sessions(x);
	if (rc == 0)
		rc = find_domains(x, 0);
	if (rc == 0)
		rc = ix_new_nodes(x);
	if (rc == 0)
		rc = find_files(x);
	if (rc == 0)
		rc = find_processes(x);
	return rc;
}
