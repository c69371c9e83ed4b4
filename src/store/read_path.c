/* read_path.c - paths: a row's text, the row of a text, and the path that a file shows. */
#include "store/read.h"

#include "base/hash.h"

#include <errno.h>

/* Texts of directories beyond this many bytes are forgotten. */
#define DIRS_MAX (16u << 20)

/* Reads the row of a path: its directory's row, and its last component at the end of out. 1, 0, -errno. */
static int path_row(struct store *s, uint64_t id, uint64_t *ret_dir, struct buf *out)
{
	sqlite3_stmt *st = store_stmt(s, SQL_path_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		*ret_dir = (uint64_t)sqlite3_column_int64(st, 0);
		buf_str(out, column_str(st, 1));
	}
	sqlite3_reset(st);
	return rc;
}

/* The whole path of a directory, in s->reader->dirs. */
static bool dir_text(struct store *s, uint64_t id, unsigned depth, struct dir_text *ret)
{
	struct reader *r = s->reader;
	uint32_t at = map_get(&r->dir_map, id);
	if (at != VEC_NONE) {
		*ret = r->dir_list.v[at];
		return !r->dirs.failed; /* then it may not be there */
	}
	struct buf base = {0};
	uint64_t up = 0;
	struct dir_text above = {0};
	bool ok =
	    path_row(s, id, &up, &base) == 1 && !base.failed && depth < 5000 && (!up || dir_text(s, up, depth + 1, &above));
	struct dir_text *slot = ok ? vec_add(&r->dir_list) : NULL;
	if (slot && map_set(&r->dir_map, id, (uint32_t)(r->dir_list.n - 1))) {
		*slot = (struct dir_text){id, (uint32_t)r->dirs.n, (uint32_t)(above.n + (up != 0) + base.n)};
		if (buf_room(&r->dirs, slot->n)) {
			buf_add(&r->dirs, r->dirs.p + above.at, up ? above.n : 0);
			if (up)
				buf_char(&r->dirs, '/');
			buf_str(&r->dirs, buf_view(&base));
		}
		*ret = *slot;
	} else {
		ok = false;
	}
	buf_release(&base);
	return ok && !r->dirs.failed;
}

void store_path(struct store *s, uint64_t id, struct buf *out)
{
	uint64_t dir = 0;
	struct dir_text text;
	if (!id || !store_reader(s))
		return;
	if (s->reader->dirs.n > DIRS_MAX) {
		buf_reset(&s->reader->dirs);
		s->reader->dir_list.n = 0;
		map_clear(&s->reader->dir_map);
	}
	/* The directory goes in front of the component, which comes with its number. */
	size_t at = out->n;
	if (path_row(s, id, &dir, out) != 1 || !dir || !dir_text(s, dir, 0, &text) || !buf_room(out, text.n + 1))
		return;
	memmove(out->p + at + text.n + 1, out->p + at, out->n - at);
	if (text.n)
		memcpy(out->p + at, s->reader->dirs.p + text.at, text.n);
	out->p[at + text.n] = '/';
	out->n += text.n + 1;
}

/* Is the row a path's whose directory and last component are these? 1, 0, -errno. */
static int is_path_row(struct store *s, uint64_t id, uint64_t dir, struct str base)
{
	sqlite3_stmt *st = store_stmt(s, SQL_path_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		rc = (uint64_t)sqlite3_column_int64(st, 0) == dir && str_eq(column_str(st, 1), base);
	sqlite3_reset(st);
	return rc;
}

/* The row of a component below a directory (0: of the first one). 1, 0, -errno. */
static int find_component(struct store *s, struct key_cursor *c, uint64_t dir, struct str base, uint64_t *ret)
{
	size_t at, n;
	int rc = keys_find(s, c, KEY_PATH, hash_fold(hash_mix(hash_str(base), dir)), NULL, &at, &n);
	for (size_t i = at; rc == 0 && i < at + n; i++) {
		*ret = c->v.v[i].id;
		rc = is_path_row(s, *ret, dir, base);
	}
	return rc;
}

int read_path_id(struct store *s, struct str path, uint64_t *ret)
{
	struct key_cursor c = {0};
	uint64_t id = 0;
	const char *from = path.p, *end = path.p + path.n;
	bool whole = path.n > 4096;
	int rc;
	for (;;) {
		const char *next = whole || from >= end ? NULL : memchr(from, '/', (size_t)(end - from));
		struct str base = {from, (size_t)((next ? next : end) - from)};
		rc = find_component(s, &c, id, base, &id);
		if (rc != 1 || !next)
			break;
		from = next + 1;
	}
	key_cursor_release(&c);
	*ret = rc == 1 ? id : 0;
	return rc < 0 ? rc : *ret != 0;
}

/* The names that ended and lie beside the path's row, those that ended last first: as long as some ended at `since` or
 * later, and enough (may be NULL) does not say that they are. */
static int read_ended_names(struct store *s, uint64_t path, int64_t since, const struct name_reader *to,
                            struct err *err)
{
	struct buf pack = {0};
	sqlite3_stmt *st = store_stmt(s, SQL_path_name_all, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	int rc = 0, stop = 0;
	while (!stop && (rc = store_step(s, st, err)) == 1) {
		int64_t till = sqlite3_column_int64(st, 0);
		if (till < since || (to->enough && to->enough(to->arg, till)))
			break;
		buf_reset(&pack); /* say may ask the store, but not for names */
		buf_str(&pack, column_str(st, 1));
		stop = pack.failed ? -ENOMEM : path_names(s, str_of(""), buf_view(&pack), to->say, to->arg);
	}
	sqlite3_reset(st);
	buf_release(&pack);
	return stop ? stop : rc < 0 ? rc : 0;
}

int read_names_since(struct store *s, uint64_t path, int64_t since, const struct name_reader *to, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_path_get, err);
	if (!st)
		return -EIO;
	struct buf facts = {0}, names = {0};
	int64_t last;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	int rc = store_step(s, st, err);
	if (rc == 1) {
		buf_str(&facts, column_str(st, 2));
		buf_str(&names, column_str(st, 3));
	}
	sqlite3_reset(st);
	if (rc == 1 && (facts.failed || names.failed))
		rc = -ENOMEM;
	struct cur c = cur_of(buf_view(&facts));
	uint64_t flags = path_facts_begin(s, &c, &last);
	if (rc == 1)
		rc = path_names(s, buf_view(&facts), buf_view(&names), to->say, to->arg);
	if (rc == 0 && flags & PPATH_ENDED)
		rc = read_ended_names(s, path, since, to, err);
	buf_release(&facts);
	buf_release(&names);
	return rc;
}

int read_names(struct store *s, uint64_t path, int (*say)(void *arg, const struct pname *n), void *arg, struct err *err)
{
	return read_names_since(s, path, INT64_MIN, &(struct name_reader){.say = say, .arg = arg}, err);
}

/* A visitor of names. 0, -ENOMEM. */
static int add_named_file(void *arg, const struct pname *n)
{
	return ids_add(arg, n->file);
}

/* Adds the files that the facts are of. 0, -ENOMEM, PACK_DAMAGED. */
static int add_fact_files(struct store *s, struct str facts, struct ids *out)
{
	struct cur c = cur_of(facts);
	struct pname_fact f;
	int rc;
	while ((rc = pname_fact_next(s, &c, &f)) == 1)
		if (ids_add(out, f.file) < 0)
			return -ENOMEM;
	return rc;
}

/* The files of the facts that lie beside the path's row. 0, -errno. */
static int add_spilled_files(struct store *s, uint64_t path, struct ids *out)
{
	sqlite3_stmt *st = store_stmt(s, SQL_path_fact_all, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	int rc;
	while ((rc = store_step(s, st, NULL)) == 1)
		if ((rc = add_fact_files(s, column_str(st, 1), out)) < 0)
			break;
	sqlite3_reset(st);
	return rc;
}

int read_files_told_at(struct store *s, uint64_t path, struct ids *out)
{
	int rc = read_names(s, path, add_named_file, out, NULL);
	sqlite3_stmt *st = rc < 0 ? NULL : store_stmt(s, SQL_path_get, NULL);
	if (!st)
		return rc < 0 ? rc : -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	uint64_t flags = PPATH_PLAIN;
	rc = store_step(s, st, NULL);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 2));
		int64_t last;
		flags = path_facts_begin(s, &c, &last);
		/* The name of a plain path is that of all its facts. */
		if (!(flags & PPATH_PLAIN) || flags & PPATH_MUTE)
			rc = add_fact_files(s, str_n((const char *)c.p, (size_t)(c.end - c.p)), out);
	}
	sqlite3_reset(st);
	return rc >= 0 && !(flags & PPATH_PLAIN) && flags & PPATH_SPILLED ? add_spilled_files(s, path, out)
	       : rc < 0                                                   ? rc
	                                                                  : 0;
}

/* An object of an HDF5 file is called by the name that the file has now, whatever it was called when the object was
 * met: what stands before the first // is the file's. 0, -ENOMEM, -errno. */
static int read_outer_path(struct store *s, uint64_t file, struct buf *out, size_t from)
{
	struct str part[FILE_PARTS];
	struct pfile_brief f;
	struct buf inner = {0};
	const char *at = memmem(out->p + from, out->n - from, "//", 2);
	int rc = at ? read_file_row(s, file, part) : 0;
	if (rc <= 0)
		return rc;
	buf_add(&inner, at, out->n - (size_t)(at - out->p));
	size_t before = (size_t)(at - out->p);
	rc = pfile_brief(part[FILE_INFO], &f);
	f.within = 0;
	if (rc == 0) {
		out->n = from;
		rc = read_brief_path(s, &f, out);
		if (rc == 0 && out->n == from) /* the file shows no name */
			out->n = before;
		buf_str(out, buf_view(&inner));
	}
	rc = rc < 0 || (!inner.failed && !out->failed) ? rc : -ENOMEM;
	buf_release(&inner);
	return rc;
}

int read_brief_path(struct store *s, const struct pfile_brief *f, struct buf *out)
{
	struct dir_text text;
	uint64_t within = f->within;
	size_t from = out->n;
	if (!f->shown.n && !f->shown_dir) { /* its names do not count, or there is none */
		store_path(s, f->path, out);
	} else {
		if (f->shown_dir && store_reader(s) && dir_text(s, f->shown_dir, 0, &text)) {
			buf_add(out, s->reader->dirs.p + text.at, text.n);
			buf_char(out, '/');
		}
		buf_str(out, f->shown);
	}
	return out->failed ? -ENOMEM : within ? read_outer_path(s, within, out, from) : 0;
}

int read_file_path(struct store *s, const struct pfile *f, struct buf *out, bool *ret_named)
{
	const struct pfile_brief brief = {f->kind, f->path, f->shown_dir, f->within, buf_view(&f->shown)};
	bool counts = f->shown.n || f->shown_dir;
	*ret_named = counts ? f->named : f->path && f->domain;
	return read_brief_path(s, &brief, out);
}
