/* find.c - places to start from: identities, paths, public ids, runs. */
#include "store/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

int store_file_by_identity(struct store *s, struct str domain, uint64_t ino, uint64_t gen, store_id *ret)
{
	struct reader *r = store_reader(s);
	struct key_cursor c = {0};
	size_t at, n;
	if (!r)
		return -ENOMEM;
	buf_reset(&r->identity);
	identity_file(&r->identity, domain, ino, gen);
	int rc = keys_find(s, &c, KEY_FILE, (uint32_t)(identity_hash(&r->identity).hi >> 32), NULL, &at, &n), found = 0;
	for (size_t i = at; rc == 0 && i < at + n && !found; i++) {
		rc = read_stored_file(s, c.v.v[i].id, &r->file);
		const struct sdomain *d = rc == 1 && r->file.domain ? store_domain(s, r->file.domain) : NULL;
		rc = rc < 0 ? rc : 0;
		if (d && r->file.ino == ino && r->file.gen == gen && str_eq(str_n(d->name, d->name_n), domain)) {
			*ret = c.v.v[i].id;
			found = 1;
		}
	}
	key_cursor_release(&c);
	return rc < 0 ? rc : found;
}

struct holder {
	uint64_t file;
	int64_t from, to;
};
struct holders {
	struct holder *v;
	size_t n, cap;
	size_t max; /* so many are asked for */
};

/* Are there enough that had the name after t? Those that are read come later in no case. */
static bool enough_holders(void *arg, int64_t t)
{
	const struct holders *h = arg;
	size_t later = 0;
	for (size_t i = 0; i < h->n; i++)
		later += h->v[i].to > t;
	return later >= h->max;
}

/* Called for each name of a path: adds who had the path, with when it had it last. arg: a struct holders. 0, -ENOMEM.
 */
static int add_holder(void *arg, const struct pname *n)
{
	struct holders *h = arg;
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].file == n->file) {
			if (n->to > h->v[i].to || (n->to == h->v[i].to && n->from > h->v[i].from)) {
				h->v[i].from = n->from;
				h->v[i].to = n->to;
			}
			return 0;
		}
	struct holder *p = vec_add(h);
	if (!p)
		return -ENOMEM;
	*p = (struct holder){n->file, n->from, n->to};
	return 0;
}

/* Who had the name last comes first. */
static int holder_cmp(const void *pa, const void *pb)
{
	const struct holder *a = pa, *b = pb;
	if (a->to != b->to)
		return a->to > b->to ? -1 : 1;
	if (a->from != b->from)
		return a->from > b->from ? -1 : 1;
	return (a->file > b->file) - (a->file < b->file);
}

/* The absent file of that path, if it was looked for. 1, 0, -errno. */
static int absent_file(struct store *s, struct str path, store_id *ret)
{
	struct reader *r = store_reader(s);
	struct key_cursor c = {0};
	size_t at, n;
	uint64_t row;
	int rc = read_path_id(s, path, &row), found = 0;
	if (rc <= 0)
		return rc;
	buf_reset(&r->identity);
	identity_absent(&r->identity, path);
	rc = keys_find(s, &c, KEY_FILE, (uint32_t)(identity_hash(&r->identity).hi >> 32), NULL, &at, &n);
	for (size_t i = at; rc == 0 && i < at + n && !found; i++) {
		rc = read_stored_file(s, c.v.v[i].id, &r->file);
		if (rc == 1 && !r->file.domain && r->file.path == row) {
			*ret = c.v.v[i].id;
			found = 1;
		}
		rc = rc < 0 ? rc : 0;
	}
	key_cursor_release(&c);
	return rc < 0 ? rc : found;
}

int store_files_by_path(struct store *s, struct str path, store_id *ret, size_t max)
{
	struct holders h = {.max = max};
	struct name_reader reader = {add_holder, enough_holders, &h};
	uint64_t row;
	if (!store_reader(s))
		return -ENOMEM;
	int rc = read_path_id(s, path, &row);
	if (rc == 1)
		rc = read_names_since(s, row, INT64_MIN, &reader, NULL);
	if (h.n)
		qsort(h.v, h.n, sizeof(*h.v), holder_cmp);
	int n = 0;
	for (size_t i = 0; rc >= 0 && i < h.n && (size_t)n < max; i++)
		ret[n++] = h.v[i].file;
	free(h.v);
	if (rc >= 0 && (size_t)n < max) {
		store_id absent = 0;
		rc = absent_file(s, path, &absent);
		if (rc == 1)
			ret[n++] = absent;
	}
	return rc < 0 ? rc : n;
}

int store_files_showing(struct store *s, struct str path, store_id **ret, size_t *ret_n)
{
	struct ids v = {0};
	struct buf shown = {0};
	uint64_t row;
	store_id absent = 0;
	size_t kept = 0;
	int rc = store_reader(s) ? read_path_id(s, path, &row) : -ENOMEM;
	if (rc == 1)
		rc = read_files_told_at(s, row, &v);
	if (rc >= 0 && (rc = absent_file(s, path, &absent)) == 1)
		rc = ids_add(&v, absent);
	ids_sort(&v);
	for (size_t i = 0; rc >= 0 && i < v.n; i++) {
		bool named;
		buf_reset(&shown);
		rc = read_stored_file(s, v.v[i], &s->reader->file);
		if (rc == 1)
			rc = read_file_path(s, &s->reader->file, &shown, &named);
		if (rc >= 0 && str_eq(buf_view(&shown), path))
			v.v[kept++] = v.v[i];
	}
	buf_release(&shown);
	if (rc < 0) {
		free(v.v);
		return rc;
	}
	*ret = v.v;
	*ret_n = kept;
	return 0;
}

int store_has_objects(struct store *s)
{
	int64_t v = 0;
	int rc = store_meta_get(s, "objects", &v, NULL);
	return rc < 0 ? rc : rc == 1 && v;
}

/* The rows of all paths that the file was ever named by, appended. 1, 0: there is no such file, -errno. */
static int paths_of_file(struct store *s, store_id file, struct ids *out)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_stored_file(s, file, &r->file) : -ENOMEM;
	for (size_t i = 0; rc == 1 && i < r->file.paths.n; i++)
		if (ids_add(out, r->file.paths.v[i]) < 0)
			rc = -ENOMEM;
	return rc;
}

/* Adds the objects of `file` that were ever named `path`, each once, to ret[0..*n), which has room for max. Raises *n.
 * 0, -errno. */
static int add_objects_at(struct store *s, store_id file, struct str path, store_id *ret, int *n, size_t max)
{
	store_id found[64];
	struct pfile *f = &s->reader->file;
	int rc = store_files_by_path(s, path, found, 64);
	for (int k = 0; k < rc && (size_t)*n < max; k++) {
		bool had = false;
		for (int j = 0; j < *n; j++)
			had |= ret[j] == found[k];
		int got = had ? 0 : read_stored_file(s, found[k], f);
		if (got < 0)
			return got;
		if (got == 1 && f->within == file)
			ret[(*n)++] = found[k];
	}
	return rc < 0 ? rc : 0;
}

int store_objects_by_name(struct store *s, store_id file, struct str inner, store_id *ret, size_t max)
{
	struct ids paths = {0};
	struct buf path = {0};
	int rc = paths_of_file(s, file, &paths), n = 0;
	/* Under the latest of its names first. */
	for (size_t i = paths.n; rc >= 0 && i-- && (size_t)n < max;) {
		buf_reset(&path);
		store_path(s, paths.v[i], &path);
		buf_str(&path, inner);
		rc = path.failed ? -ENOMEM : add_objects_at(s, file, buf_view(&path), ret, &n, max);
	}
	free(paths.v);
	buf_release(&path);
	return rc < 0 ? rc : n;
}

struct span {
	int64_t from, to;
	bool asked;
};
struct spans {
	store_id file;
	bool asked; /* of the path at hand */
	VEC(struct span) list;
};

/* Called for each name of a path: adds when its file had that name. arg: a struct spans. 0, -ENOMEM. */
static int add_span(void *arg, const struct pname *n)
{
	struct spans *l = arg;
	struct span *p = n->file == l->file ? vec_add(&l->list) : NULL;
	if (p)
		*p = (struct span){n->from, n->to, l->asked};
	return n->file == l->file && !p ? -ENOMEM : 0;
}

/* When the object was named by each of the paths; asked: of those that end so. 0, -errno. */
static int spans_of_object(struct store *s, const struct ids *paths, struct str inner, struct spans *l)
{
	struct buf path = {0};
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < paths->n; i++) {
		buf_reset(&path);
		store_path(s, paths->v[i], &path);
		l->asked = str_ends(buf_view(&path), inner);
		rc = path.failed ? -ENOMEM : read_names(s, paths->v[i], add_span, l, NULL);
	}
	buf_release(&path);
	return rc < 0 ? rc : 0;
}

/* The last of those that were asked for, NULL none. */
static const struct span *last_asked(const struct spans *l)
{
	const struct span *last = NULL;
	for (size_t i = 0; i < l->list.n; i++) {
		const struct span *p = &l->list.v[i];
		if (p->asked && (!last || p->from > last->from || (p->from == last->from && p->to > last->to)))
			last = p;
	}
	return last;
}

/* Had it another name when the span ended, or has it one beside it now? */
static bool has_other_name(const struct spans *l, const struct span *last)
{
	for (size_t i = 0; i < l->list.n; i++) {
		const struct span *p = &l->list.v[i];
		bool goes_on = last->to == TIME_NEVER && p->to == TIME_NEVER;
		if (!p->asked && (goes_on || (p->to > last->to && p->from <= last->to)))
			return true;
	}
	return false;
}

int store_object_named_until(struct store *s, store_id object, struct str inner, int64_t *ret, bool *ret_other)
{
	struct spans l = {.file = object};
	struct ids paths = {0};
	int rc = paths_of_file(s, object, &paths);
	if (rc >= 0)
		rc = spans_of_object(s, &paths, inner, &l);
	const struct span *last = last_asked(&l);
	*ret_other = rc >= 0 && last && has_other_name(&l, last);
	if (last)
		*ret = last->to;
	rc = rc < 0 ? rc : last != NULL;
	vec_release(&l.list);
	free(paths.v);
	return rc;
}

int store_object_first_name(struct store *s, store_id object, struct buf *ret)
{
	struct ids paths = {0};
	struct buf path = {0};
	int64_t first = INT64_MAX;
	int rc = paths_of_file(s, object, &paths), found = 0;
	for (size_t i = 0; rc >= 0 && i < paths.n; i++) {
		struct spans l = {.file = object};
		buf_reset(&path);
		store_path(s, paths.v[i], &path);
		const char *inner = path.failed ? NULL : strstr(buf_cstr(&path), "//");
		rc = path.failed ? -ENOMEM : inner ? read_names(s, paths.v[i], add_span, &l, NULL) : 0;
		for (size_t k = 0; rc >= 0 && inner && k < l.list.n; k++) {
			if (found && l.list.v[k].from >= first)
				continue;
			first = l.list.v[k].from;
			found = 1;
			buf_reset(ret);
			buf_str(ret, str_of(inner));
		}
		vec_release(&l.list);
	}
	rc = rc >= 0 && ret->failed ? -ENOMEM : rc;
	free(paths.v);
	buf_release(&path);
	return rc < 0 ? rc : found;
}

/* When the link, at the path of that row, began to be there; *latest is raised to the last such time. 1 if it was. 1:
 * it was raised; 0; -errno. */
static int raise_latest_name(struct store *s, store_id link, uint64_t path, int64_t *latest)
{
	struct spans l = {.file = link};
	int rc = read_names(s, path, add_span, &l, NULL), found = 0;
	for (size_t k = 0; rc >= 0 && k < l.list.n; k++) {
		if (l.list.v[k].from < *latest)
			continue;
		*latest = l.list.v[k].from;
		found = 1;
	}
	vec_release(&l.list);
	return rc < 0 ? rc : found;
}

int store_link_target(struct store *s, store_id link, struct buf *ret)
{
	static const char external[] = "external:";
	struct ids paths = {0};
	struct buf path = {0};
	int64_t latest = INT64_MIN;
	int rc = paths_of_file(s, link, &paths), found = 0;
	if (rc == 1 && s->reader->file.kind != TERM_kind_softlink)
		paths.n = 0;
	for (size_t i = 0; rc >= 0 && i < paths.n; i++) {
		buf_reset(&path);
		store_path(s, paths.v[i], &path);
		if (!str_starts(buf_view(&path), str_of(external)))
			continue;
		rc = raise_latest_name(s, link, paths.v[i], &latest);
		if (rc == 1) {
			found = 1;
			buf_reset(ret);
			buf_add(ret, path.p + sizeof(external) - 1, path.n - sizeof(external) + 1);
		}
	}
	rc = rc >= 0 && (path.failed || ret->failed) ? -ENOMEM : rc;
	free(paths.v);
	buf_release(&path);
	return rc < 0 ? rc : found;
}

int store_version_of(struct store *s, store_id file, uint64_t n, store_id *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_stored_file(s, file, &r->file) : -ENOMEM;
	if (rc <= 0)
		return rc;
	if (!n)
		n = r->file.nversion;
	if (!n || n > r->file.nversion)
		return 0;
	*ret = version_id(file, n);
	return 1;
}

/* The hash of the thing with a row: kind is the letter of its public ids. 1, 0: there is none, -errno. */
static int hash_of_kind(struct store *s, char kind, uint64_t id, struct id_hash *ret)
{
	if (kind == 'f')
		return hash_of_file(s, id, NULL, ret);
	return kind == 'x' ? hash_of_exec(s, id, ret) : hash_of_version(s, id, ret);
}

/* The hashes that begin with the n digits. */
static void hash_range(const char *digits, size_t n, uint32_t *ret_lo, uint32_t *ret_hi)
{
	char hex[9] = "00000000";
	memcpy(hex, digits, n < 8 ? n : 8);
	*ret_lo = *ret_hi = (uint32_t)strtoul(hex, NULL, 16);
	if (n < 8)
		*ret_hi |= (uint32_t)((1u << (4 * (8 - n))) - 1);
}

int store_by_pubid(struct store *s, const char *text, char *ret_kind, store_id *ret)
{
	static const char letters[] = "fxv";
	static const enum key_kind kinds[] = {KEY_FILE, KEY_EXEC, KEY_VERSION};
	const char *which = text[0] ? strchr(letters, text[0]) : NULL;
	size_t n = which ? strlen(text + 1) : 0;
	if (!which || n < 4 || n > 24 || strspn(text + 1, "0123456789abcdef") != n)
		return 0;
	uint32_t lo, hi;
	hash_range(text + 1, n, &lo, &hi);
	struct key_cursor c = {0};
	int rc = keys_range(s, &c, kinds[which - letters], lo, hi, NULL), found = 0;
	for (size_t i = 0; rc == 0 && i < c.v.n; i++) {
		struct id_hash h;
		struct pubid p;
		uint64_t id = c.v.v[i].id;
		rc = hash_of_kind(s, text[0], id, &h);
		if (rc <= 0)
			continue;
		rc = 0;
		identity_text(text[0], h, &p);
		if (strncmp(p.text, text, n + 1) || (found && *ret == id))
			continue; /* keys may be older than the rows */
		if (found)
			rc = -ENOTUNIQ;
		found = 1;
		*ret = id;
		*ret_kind = text[0];
	}
	key_cursor_release(&c);
	return rc < 0 ? rc : found;
}

/* The host that a session's own row names, NULL where the session is not known; *ret_rc: -errno, else 0. */
static const struct ssession *session_of_number(struct store *s, uint64_t number, int *ret_rc)
{
	sqlite3_stmt *st = store_stmt(s, SQL_session_by_number, NULL);
	if (!st) {
		*ret_rc = -EIO;
		return NULL;
	}
	sqlite3_bind_int64(st, 1, (int64_t)number);
	int rc = store_step(s, st, NULL);
	uint64_t row = rc == 1 ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
	sqlite3_reset(st);
	*ret_rc = rc < 0 ? rc : 0;
	return rc == 1 ? store_session(s, row) : NULL;
}

int store_exec_at(struct store *s, uint64_t session, uint64_t pid, int64_t started, int64_t t, store_id *ret)
{
	struct buf id = {0}, boot = {0};
	struct pubid pub;
	char kind;
	store_id first = 0;
	int rc = 0;
	const struct ssession *from = pid ? session_of_number(s, session, &rc) : NULL;
	if (!from)
		return rc;
	buf_str(&boot, store_interned(s, from->boot));
	/* Its image before any exec is always there. */
	identity_exec(&id, buf_view(&boot), from->pidns, pid, started, 0);
	rc = id.failed || boot.failed ? -ENOMEM : 0;
	if (rc == 0) {
		identity_text('x', identity_hash(&id), &pub);
		rc = store_by_pubid(s, pub.text, &kind, &first);
	}
	buf_release(&id);
	buf_release(&boot);
	struct reader *r = rc == 1 ? store_reader(s) : NULL;
	if (rc == 1)
		rc = r ? read_process(s, exec_process(first), &r->a) : -ENOMEM;
	if (rc == 1)
		*ret = exec_id(r->a.id, view_exec_at(&r->a, t)->n);
	return rc;
}

/* ---- runs ---- */

/* The run so many before the latest. back: 0 the latest, 1 the one before. 1, 0: there is none, -errno. */
static int run_at(struct store *s, int64_t back, store_id *ret)
{
	sqlite3_stmt *st = store_stmt(s, SQL_run_latest, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, 1);
	sqlite3_bind_int64(st, 2, back);
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		*ret = (store_id)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc;
}

/* The one row of a statement that gives at most two. 1, 0, -ENOTUNIQ: there are two; -errno. */
static int only_row(struct store *s, sqlite3_stmt *st, store_id *ret)
{
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		store_id id = (store_id)sqlite3_column_int64(st, 0);
		rc = store_step(s, st, NULL);
		if (rc == 0)
			*ret = id;
		rc = rc == 0 ? 1 : rc == 1 ? -ENOTUNIQ : rc;
	}
	sqlite3_reset(st);
	return rc;
}

/* "@" is the latest run, "@~N" the one N before it. 1, 0: no such run, or another text; -errno. */
static int find_recent_run(struct store *s, const char *text, store_id *ret)
{
	char *end;
	if (!text[1])
		return run_at(s, 0, ret);
	if (text[1] != '~' || text[2] < '0' || text[2] > '9')
		return 0;
	errno = 0;
	long long back = strtoll(text + 2, &end, 10);
	return *end || errno ? 0 : run_at(s, back, ret);
}

int store_find_run(struct store *s, const char *text, store_id *ret)
{
	char upper[32], above[32];
	size_t n = strlen(text);
	if (text[0] == '@')
		return find_recent_run(s, text, ret);
	if (n < 4 || n > 26)
		return 0;
	for (size_t i = 0; i <= n; i++) /* ULIDs are upper case; people are not */
		upper[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
	memcpy(above, upper, n + 1);
	above[n] = '~'; /* above every letter */
	above[n + 1] = '\0';
	sqlite3_stmt *st = store_stmt(s, SQL_run_range, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_text(st, 1, upper, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, above, -1, SQLITE_STATIC);
	int rc = only_row(s, st, ret);
	if (rc != 0)
		return rc;
	st = store_stmt(s, SQL_run_suffix, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_text(st, 1, upper, -1, SQLITE_STATIC);
	return only_row(s, st, ret);
}

int store_runs(struct store *s, uint64_t max, store_id **ret, size_t *ret_n)
{
	struct ids v = {0};
	sqlite3_stmt *st = store_stmt(s, SQL_run_latest, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, max > INT64_MAX || !max ? -1 : (int64_t)max);
	sqlite3_bind_int64(st, 2, 0);
	int rc = store_column(s, st, &v);
	if (rc < 0) {
		free(v.v);
		return rc;
	}
	*ret = v.v;
	*ret_n = v.n;
	return 0;
}

struct started {
	int64_t start;
	store_id id;
};

/* By start, then by id. */
static int started_cmp(const void *pa, const void *pb)
{
	const struct started *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

int store_run_execs(struct store *s, store_id run, store_id **ret, size_t *ret_n)
{
	struct reader *r = store_reader(s);
	struct ids processes = {0};
	VEC(struct started) v = {0};
	int rc = r ? lists_get(s, list_key(LIST_RUN, run), &processes) : -ENOMEM;
	ids_sort(&processes);
	for (size_t i = 0; rc >= 0 && i < processes.n; i++) {
		rc = read_process(s, processes.v[i], &r->a);
		for (size_t x = 0; rc == 1 && x < r->a.execs.n; x++) {
			const struct view_exec *e = &r->a.execs.v[x];
			if (view_run(&r->a, e) != run)
				continue; /* the list may be older than the row */
			struct started *slot = vec_add(&v);
			if (slot)
				*slot = (struct started){e->start, exec_id(processes.v[i], e->n)};
			else
				rc = -ENOMEM;
		}
	}
	free(processes.v);
	store_id *ids = rc >= 0 ? malloc((v.n + 1) * sizeof(*ids)) : NULL;
	size_t sorted = 1; /* a run that was recorded alone is in its order */
	while (sorted < v.n && started_cmp(&v.v[sorted - 1], &v.v[sorted]) < 0)
		sorted++;
	if (sorted < v.n)
		qsort(v.v, v.n, sizeof(*v.v), started_cmp);
	for (size_t i = 0; ids && i < v.n; i++)
		ids[i] = v.v[i].id;
	size_t n = v.n;
	vec_release(&v);
	if (!ids)
		return rc < 0 ? rc : -ENOMEM;
	*ret = ids;
	*ret_n = n;
	return 0;
}

struct named_at {
	store_id file;
	int64_t t;
};

/* Had the file the name at a->t? */
static int named_then(void *arg, const struct pname *n)
{
	const struct named_at *a = arg;
	return n->file == a->file && n->from <= a->t && a->t < n->to;
}

int store_named_at(struct store *s, store_id file, struct str path, int64_t t)
{
	struct named_at a = {file, t};
	uint64_t id;
	int r = read_path_id(s, path, &id);
	return r > 0 ? read_names(s, id, named_then, &a, NULL) : r;
}

/* a->t becomes the last moment at which it got the name. Always 0. */
static int named_since(void *arg, const struct pname *n)
{
	struct named_at *a = arg;
	if (n->file == a->file && (a->t == TIME_NONE || n->from > a->t))
		a->t = n->from;
	return 0;
}

/* Had it got the name before a->t? */
static int named_before(void *arg, const struct pname *n)
{
	const struct named_at *a = arg;
	return n->file == a->file && n->from < a->t;
}

int store_named_since(struct store *s, store_id file, struct str path, int64_t *ret)
{
	struct named_at a = {file, TIME_NONE};
	struct ids paths = {0};
	uint64_t id;
	int r = store_reader(s) ? read_path_id(s, path, &id) : -ENOMEM;
	r = r > 0 ? read_names(s, id, named_since, &a, NULL) : r;
	if (r >= 0 && a.t != TIME_NONE)
		r = paths_of_file(s, file, &paths);
	bool before = false;
	for (size_t i = 0; r >= 0 && !before && i < paths.n; i++) {
		int found = paths.v[i] == id ? 0 : read_names(s, paths.v[i], named_before, &a, NULL);
		r = found < 0 ? found : r;
		before = found > 0;
	}
	free(paths.v);
	*ret = a.t;
	return r < 0 ? r : before;
}
