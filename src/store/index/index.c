/* index.c - store_index: one transaction from new frames to changed rows. */
#include "store/index/index.h"

#include "store/adjacency/adjacency.h"

#include "base/memory.h"
#include "graph/names.h"
#include "graph/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* All that an update holds in memory; the store stays. */
static void ix_release(struct ix *x)
{
	graph_release(&x->g);
	collect_release(&x->w);
	for (size_t i = 0; i < x->segments.n; i++)
		free(x->segments.v[i].path);
	for (size_t i = 0; i < x->sessions.n; i++) {
		free(x->sessions.v[i].processes.v);
		free(x->sessions.v[i].paths.v);
		vec_release(&x->sessions.v[i].places);
	}
	ix_open_release(x);
	arena_release(&x->arena);
	vec_release(&x->sections_read);
	for (size_t i = 0; i <= KEY_VERSION; i++)
		vec_release(&x->new_keys[i]);
	vec_release(&x->segments);
	vec_release(&x->sessions);
	map_release(&x->session_rows);
	vec_release(&x->files);
	vec_release(&x->rows);
	map_release(&x->file_rows);
	vec_release(&x->procs);
	vec_release(&x->loaded_of);
	vec_release(&x->loaded);
	map_release(&x->loaded_rows);
	vec_release(&x->paccs);
	free(x->old_uses.v);
	vec_release(&x->domains);
	vec_release(&x->words);
	vec_release(&x->nodes);
	map_release(&x->node_rows);
	vec_release(&x->paths);
	vec_release(&x->moves);
	vec_release(&x->move_end);
	map_release(&x->move_pairs);
	free(x->named.v);
	free(x->named_paths.v);
	free(x->reported_paths.v);
	free(x->attached.v);
	vec_release(&x->path_names);
	key_cursor_release(&x->cursor);
	block_cursor_release(&x->file_blocks);
	block_cursor_release(&x->process_blocks);
	map_release(&x->run_words);
	free(x->void_runs.v);
	free(x->void_sessions.v);
	free(x->void_processes.v);
	free(x->met_runs.v);
	free(x->run_list.v);
	free(x->child_list.v);
	free(x->derived_list.v);
	free(x->note_list.v);
	vec_release(&x->element_counts);
	vec_release(&x->fp_index);
	table_release(&x->fp_table);
	vec_release(&x->fp_count);
	vec_release(&x->fp_next);
	vec_release(&x->fp_first);
	vec_release(&x->fp_last);
	vec_release(&x->fp_file);
	buf_release(&x->b1);
	buf_release(&x->b2);
	buf_release(&x->b3);
}

/* From which numbers new rows go on. 0, or -errno with a sentence. */
static int next_rows(struct ix *x)
{
	static const enum store_sql which[] = {SQL_max_session,  SQL_max_run,  SQL_file_last,  SQL_max_path,
	                                       SQL_process_last, SQL_max_dict, SQL_max_segment};
	uint64_t *const to[] = {&x->next_session, &x->next_run,  &x->next_file,   &x->next_path,
	                        &x->next_process, &x->next_dict, &x->next_segment};
	for (size_t i = 0; i < sizeof(which) / sizeof(*which); i++) {
		int rc = store_max(x->s, which[i], to[i], x->err);
		if (rc < 0)
			return rc;
		++*to[i];
	}
	x->fresh = x->next_session == 1;
	return 0;
}

/* All times are stored as differences to the first ever met. Does nothing if there is a base. 0, -errno with a
 * sentence. */
static int set_base(struct ix *x)
{
	if (x->s->has_base)
		return 0;
	int64_t base = TIME_NEVER;
	for (size_t i = 0; i < x->g.sessions.n; i++)
		if (x->g.sessions.v[i].began < base && x->g.sessions.v[i].began != TIME_NONE)
			base = x->g.sessions.v[i].began;
	x->s->base = base == TIME_NEVER ? 0 : base;
	x->s->has_base = true;
	return store_meta_set(x->s, "base", x->s->base, x->err);
}

/* Has the index a row of the session? 0, or -errno with a sentence. */
static int is_indexed(struct ix *x, uint64_t session, bool *ret)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	int rc = store_step(x->s, st, x->err);
	*ret = rc == 1;
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* Sessions that were forgotten. What is indexed already cannot be taken back: then all is made anew without them. 0;
 * IX_ANEW; -errno. */
static int apply_tombstones(struct ix *x)
{
	const struct graph *g = &x->g;
	bool anew = false;
	if (!g->tombs.n)
		return 0;
	for (size_t i = 0; i < g->tombs.n; i++) {
		uint64_t dead = g->tombs.v[i].number;
		bool known = dead && tombstones_has(x->tombstones, dead), there = false;
		int rc = dead && x->continues && !known ? is_indexed(x, dead, &there) : 0;
		if (rc < 0)
			return rc;
		/* Where the index is still being made from these logs it cannot have more of a file than they have. */
		anew |= !x->fresh && !known && (there || !x->continues);
		anew |= dead && map_get(&g->session_map, dead) != VEC_NONE;
		if (dead && tombstones_add(x->tombstones, dead) < 0)
			return ix_oom(x);
	}
	ids_sort(x->tombstones);
	return anew ? IX_ANEW : tombstones_put(x->s, x->tombstones, x->err);
}

/* What the new sessions say, into the graph. Behind it the graph holds more than that. */
static int feed_graph(struct ix *x)
{
	struct graph *g = &x->g;
	g->skew = x->o->skew;
	g->lps = x->o->lps;
	ix_open_begin(x);
	int rc = collect_feed(&x->w, g, x->err);
	if (rc == 0)
		rc = ix_open_read(x);
	if (rc == 0)
		rc = apply_tombstones(x);
	if (rc < 0)
		return rc;
	x->stats.events = g->events;
	x->stats.unknown_refs = g->unknown_refs;
	x->stats.bad_frames = x->w.damage.bad_events;
	x->new_pfacts = g->pfacts.n;
	x->new_xfacts = g->xfacts.n;
	x->new_exits = g->exits.n;
	x->new_links = g->links.n;
	x->new_gaps = g->gaps.n;
	return set_base(x);
}

/* What the store knows of all that the new sessions speak of, joined with that. 0, -errno. */
static int join_store(struct ix *x)
{
	int rc = ix_ids(x);
	if (rc == 0)
		rc = ix_merge_files(x);
	if (rc == 0 && !x->fresh)
		rc = ix_load_touched(x);
	if (rc == 0)
		rc = ix_names(x);
	return rc < 0 ? rc : graph_finish(&x->g);
}

/* The old accesses of the files that have to be resolved again, and the sources of caches. 0, -errno. */
static int load_slow_files(struct ix *x)
{
	int rc = x->fresh ? 0 : ix_choose(x);
	size_t had = x->g.accesses.n;
	if (rc == 0)
		rc = x->fresh ? ix_add_caches(x) : ix_load_slow(x);
	return rc == 0 && x->g.accesses.n != had ? graph_finish(&x->g) : rc;
}

/* Only files that are new, or whose versions have to be found anew, are looked at. 0 or -errno. */
static int resolve_dirty_files(struct ix *x)
{
	for (size_t i = 0; i < x->files.n; i++)
		if (x->files.v[i].row == VEC_NONE || x->files.v[i].slow)
			x->g.files.v[i].flags |= GFILE_DIRTY;
	return graph_resolve(&x->g);
}

/* One part: read, join with what is there, resolve, write. 0, or -errno with a sentence. */
static int update(struct ix *x)
{
	int rc = feed_graph(x);
	if (rc == 0)
		rc = join_store(x);
	if (rc == 0)
		rc = load_slow_files(x);
	if (rc == 0)
		rc = resolve_dirty_files(x);
	if (rc == 0)
		rc = ix_write(x);
	if (rc == -ENOMEM)
		ix_oom(x);
	return rc;
}

/* Begins, ends or takes back one, as `which` says. 0, or -errno with a sentence. */
static int transaction(struct store *s, enum store_sql which, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, which, err);
	return st ? store_run_stmt(s, st, err) : -EIO;
}

/* The options by which the index is made stay with it. 0, -errno with a sentence. */
static int set_options(struct ix *x)
{
	int rc = store_meta_set(x->s, "skew", x->o->skew, x->err);
	return rc < 0 ? rc : store_meta_set(x->s, "lps", x->o->lps, x->err);
}

/* What is new in the logs, into the tables. */
static int scan_and_update(struct ix *x)
{
	int rc = next_rows(x);
	int64_t part = 0;
	if (rc == 0 && !x->fresh)
		rc = tombstones_get(x->s, x->tombstones);
	if (rc == 0)
		rc = store_meta_get(x->s, "part", &part, x->err);
	x->continues = rc == 1 && part;
	if (rc >= 0)
		rc = ix_scan(x);
	if (rc == 1) {
		rc = update(x);
		if (rc == 0 && x->parts->more != x->continues)
			rc = store_meta_set(x->s, "part", x->parts->more, x->err);
		return rc < 0 ? rc : set_options(x);
	}
	return rc == 0 && x->before && x->before->n ? ix_write_damage(x) : rc;
}

/* What the store keeps in memory may be of rows that are not there. */
static void forget_cached_rows(struct store *s)
{
	s->has_base = false;
	damage_forget(s);
	s->layouts.n = 0;
	map_clear(&s->layout_map);
	while (s->domains.n) {
		s->domains.n--;
		free(s->domains.v[s->domains.n].name);
		free(s->domains.v[s->domains.n].type);
	}
	for (size_t i = 0; i < s->interned.n; i++)
		s->interned.v[i].id = 0;
}

/* What was read before may be otherwise now: a session that was read again may tell of another host. */
static void forget_answers(struct store *s)
{
	s->sessions.n = 0;
	map_clear(&s->session_map);
	if (s->reader)
		store_reader_free(s);
}

/* Each part meets what is left of the logs, and reads some of it. */
static void add_stats(struct store_index_stats *to, const struct store_index_stats *one)
{
	uint64_t *const met[] = {&to->segments, &to->frames, &to->skipped_bytes, &to->torn_bytes, &to->newer_frames};
	const uint64_t met_now[] = {one->segments, one->frames, one->skipped_bytes, one->torn_bytes, one->newer_frames};
	for (size_t i = 0; i < sizeof(met) / sizeof(*met); i++)
		*met[i] = met_now[i] > *met[i] ? met_now[i] : *met[i];
	to->events += one->events;
	to->new_executions += one->new_executions;
	to->new_versions += one->new_versions;
	to->bad_frames += one->bad_frames;
	to->unknown_refs += one->unknown_refs;
}

/* One transaction on the database that is open. */
static int index_part_once(struct store *s, const struct store_index_options *o, struct ids *tombstones,
                           const struct damage_rows *before, struct ix_parts *parts, struct err *err,
                           struct store_index_stats *ret)
{
	struct ix x = {.s = s,
	               .parts = parts,
	               .err = err,
	               .o = o,
	               .tombstones = tombstones,
	               .before = before,
	               .file_blocks.table = BLOCK_FILE,
	               .process_blocks.table = BLOCK_PROCESS};
	const unsigned lacks = memory_lacks();
	int rc = transaction(s, SQL_begin, err);
	if (rc < 0)
		return rc;
	s->counted.runs.n = s->counted.bytes.n = 0; /* it may not hold any more */
	if (!s->has_base && (rc = store_meta_get(s, "base", &s->base, err)) == 1)
		s->has_base = true;
	rc = rc < 0 ? rc : scan_and_update(&x);
	/* What there was no memory for may be missing, wherever that was: such an index is not kept. */
	if (rc == 0 && memory_lacks() != lacks)
		rc = err_set(err, ENOMEM, "out of memory: the index was not changed");
	if (rc == 0)
		rc = adj_keep_written(s, err);
	if (rc == 0)
		rc = transaction(s, SQL_commit, err);
	if (rc < 0) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		forget_cached_rows(s);
	} else if (ret) {
		add_stats(ret, &x.stats);
	}
	forget_answers(s);
	ix_release(&x);
	return rc;
}

/* Adds a part of the logs to the index; where a session turns out to need reading from its beginning, once more. 0,
 * -errno with a sentence. */
static int index_part(struct store *s, const struct store_index_options *o, struct ids *tombstones,
                      const struct damage_rows *before, struct ix_parts *parts, struct err *err,
                      struct store_index_stats *ret)
{
	size_t whole;
	int rc;
	do {
		const size_t bytes = parts->read.n * sizeof(*parts->read.v);
		struct ix_pair *read = bytes ? malloc(bytes) : NULL;
		size_t n = parts->read.n;
		if (bytes && !read)
			return err_set(err, ENOMEM, "cannot index");
		if (bytes)
			memcpy(read, parts->read.v, bytes);
		whole = parts->whole.n;
		rc = index_part_once(s, o, tombstones, before, parts, err, ret);
		if (rc == IX_WHOLE) { /* nothing of it was read */
			parts->read.n = n;
			if (bytes)
				memcpy(parts->read.v, read, bytes);
			parts->more = false;
		}
		free(read);
	} while (rc == IX_WHOLE && parts->whole.n > whole);
	return rc == IX_WHOLE ? err_set(err, EIO, "cannot index the logs") : rc;
}

/* Part after part. *parts: what was indexed in this call. */
static int index_now(struct store *s, const struct store_index_options *o, struct ids *tombstones,
                     struct ix_parts *parts, struct err *err, struct store_index_stats *ret)
{
	int rc;
	do {
		parts->more = false;
		rc = index_part(s, o, tombstones, NULL, parts, err, ret);
		if (rc == 0 && parts->more)
			store_unmap(s);
	} while (rc == 0 && parts->more);
	return rc;
}

/* Is the index made with other rules than asked for? Then every file would have to be resolved again: it is made anew.
 * 1, 0, negative with a sentence. */
static int other_options(struct store *s, const struct store_index_options *o, struct err *err)
{
	int64_t skew = o->skew, lps = o->lps;
	int rc = store_meta_get(s, "skew", &skew, err);
	if (rc >= 0)
		rc = store_meta_get(s, "lps", &lps, err);
	return rc < 0 ? rc : skew != o->skew || lps != o->lps;
}

/* Fills a new file at path, which is open then. before: what the old index knew of the sessions. */
static int fill_fresh(struct store *s, const char *path, const struct store_index_options *o, struct ids *tombstones,
                      const struct damage_rows *before, struct ix_parts *parts, struct err *err,
                      struct store_index_stats *ret)
{
	int rc = IX_ANEW;
	/* Again where a session was met before what says that it was forgotten. */
	for (size_t known = SIZE_MAX; rc == IX_ANEW && known != tombstones->n;) {
		known = tombstones->n;
		unlink(path);
		store_db_close(s);
		rc = store_db_open(s, path, true, true, err);
		parts->read.n = 0;
		/* Where the old index knew something, it stays until the new one has all. */
		for (bool more = true; rc == 0 && more; more = parts->more && before->n) {
			parts->more = false;
			rc = index_part(s, o, tombstones, before, parts, err, ret);
		}
	}
	if (rc == 0 && sqlite3_exec(s->db, "PRAGMA locking_mode = NORMAL", NULL, NULL, NULL) != SQLITE_OK)
		rc = store_db_error(s, err, "cannot make the index");
	return rc;
}

/* Puts the file at path, closed and on the disk, in the index's place. 0, -errno with a sentence. */
static int put_in_place(struct store *s, const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), rc = 0;
	if (fd < 0 || fsync(fd) < 0)
		rc = err_set(err, errno, "cannot make the index '%s'", s->index);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? rc : store_replace(s, path, err);
}

/* Makes a new file beside the index and puts it in its place; where there was nothing before, as soon as it has the
 * first part of what the logs hold. */
static int index_fresh(struct store *s, const struct store_index_options *o, struct ids *tombstones, bool forgot,
                       struct ix_parts *parts, struct err *err, struct store_index_stats *ret)
{
	struct damage_rows before = {0};
	struct err unread = {0};
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s.%ld.new", s->index, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, ENAMETOOLONG, "cannot make the index '%s'", s->index);
	/* What the logs have lost since, if the old index can still say so. */
	if (ix_damage_before(s, !forgot, &before, &unread) < 0)
		before.n = 0;
	int rc = fill_fresh(s, path, o, tombstones, &before, parts, err, ret);
	vec_release(&before);
	store_db_close(s);
	if (rc == 0)
		rc = put_in_place(s, path, err);
	if (rc < 0)
		unlink(path);
	struct err again = {0};
	int opened = store_db_open(s, s->index, true, false, rc < 0 ? &again : err);
	return rc < 0 ? rc : opened;
}

/* The database may have been replaced by another process's rebuild since it was opened. Then opens the new one. 0,
 * -errno with a sentence. */
static int reopen_if_replaced(struct store *s, struct err *err)
{
	struct stat st;
	if (stat(s->index, &st) == 0 && st.st_ino == s->inode)
		return 0;
	store_db_close(s);
	return store_db_open(s, s->index, true, false, err);
}

/* Of a store in memory: where what is there does not hold any more it is made again. */
static int index_memory(struct store *s, const struct store_index_options *o, struct ids *tombstones,
                        struct ix_parts *parts, struct err *err, struct store_index_stats *ret)
{
	int rc = index_now(s, o, tombstones, parts, err, ret);
	for (size_t known = SIZE_MAX; (rc == IX_ANEW && known != tombstones->n) || rc == IX_REPLACED;) {
		known = tombstones->n;
		store_db_close(s);
		parts->read.n = 0;
		if (ret)
			*ret = (struct store_index_stats){0};
		rc = store_db_open(s, s->index, true, false, err);
		if (rc == 0)
			rc = index_now(s, o, tombstones, parts, err, ret);
	}
	return rc;
}

/* Is the index to be made anew, before anything is looked for? 1, 0, -errno. */
static int must_be_fresh(struct store *s, const struct store_index_options *o, struct err *err)
{
	int64_t base;
	int rc = s->flags & STORE_REBUILD ? 1 : other_options(s, o, err);
	if (rc != 0)
		return rc;
	rc = store_meta_get(s, "base", &base, err);
	return rc < 0 ? rc : !rc; /* nothing in it yet: the fast way */
}

/* Of a store in a file, whose lock is held. */
static int index_file(struct store *s, const struct store_index_options *o, struct ids *tombstones,
                      struct ix_parts *parts, struct err *err, struct store_index_stats *ret)
{
	bool forgot = false;
	int rc = reopen_if_replaced(s, err);
	if (rc == 0)
		rc = must_be_fresh(s, o, err);
	for (size_t known = SIZE_MAX; rc >= 0;) {
		if (rc == 1) {
			parts->read.n = 0;
			parts->more = false;
			if (ret)
				*ret = (struct store_index_stats){0};
			rc = index_fresh(s, o, tombstones, forgot, parts, err, ret);
			s->flags &= ~(unsigned)STORE_REBUILD;
			if (rc < 0 || !parts->more)
				return rc;
		}
		rc = index_now(s, o, tombstones, parts, err, ret);
		/* A part may tell that sessions of one before it were forgotten: again, without those. */
		forgot = rc == IX_ANEW;
		if (!(forgot && known != tombstones->n) && rc != IX_REPLACED)
			break;
		known = tombstones->n;
		rc = 1;
	}
	return rc;
}

/* Is there nothing to do, as far as the index that is open can say? Then nobody is waited for, and nothing locked. */
static bool is_current(struct store *s, const struct store_index_options *o)
{
	struct err unsaid = {0};
	struct ix x = {.s = s, .err = &unsaid, .o = o};
	struct stat st;
	if (s->flags & STORE_REBUILD || stat(s->index, &st) < 0 || st.st_ino != s->inode ||
	    transaction(s, SQL_begin_read, &unsaid) < 0)
		return false;
	int rc = must_be_fresh(s, o, &unsaid) == 0 ? ix_is_current(&x) : 0;
	sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	ix_release(&x);
	return rc == 1;
}

int store_index(struct store *s, const struct store_index_options *o, struct err *err, struct store_index_stats *ret)
{
	static const struct store_index_options none = {0};
	struct ids tombstones = {0};
	struct ix_parts parts = {0};
	int rc;
	o = o ? o : &none;
	if (ret)
		*ret = (struct store_index_stats){0};
	view_end_all(s);
	if (s->memory) {
		rc = index_memory(s, o, &tombstones, &parts, err, ret);
	} else {
		if (!(s->flags & STORE_WRITE))
			return err_set(err, EROFS, "the index '%s' was opened for reading", s->index);
		if (is_current(s, o)) {
			forget_answers(s);
			damage_forget(s);
			return 0;
		}
		int lock = store_lock(s, err);
		if (lock < 0)
			return lock;
		rc = index_file(s, o, &tombstones, &parts, err, ret);
		if (rc == 0)
			adj_bring(s);
		close(lock);
	}
	free(tombstones.v);
	free(parts.read.v);
	free(parts.whole.v);
	return rc;
}
