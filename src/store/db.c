/* db.c - the SQLite file: opening, statements, and the tables that are kept in memory. */
#include "base/late/late.h"
#include "store/elsewhere/source.h"
#include "store/pages.h"
#include "store/schema.h"
#include "store/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERNED_CACHE 4096
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)

static const char *const sql_text[] = {
#define SQL(name, text) text,
#include "store/views/sql.def"
};

const char *store_hint_anew(const struct store *s)
{
	return s->source ? "to write the index again, run stemma site load --questions on the machine that has the record"
	                 : "stemma index --rebuild rebuilds it from the logs";
}

/* The errno for an error of SQLite. code: SQLite's. As errno, positive. */
static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_NOMEM:
		return ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return EACCES;
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_CANTOPEN:
		return ENOENT;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return ENOTRECOVERABLE;
	default:
		return EIO;
	}
}

int store_db_error(struct store *s, struct err *err, const char *what)
{
	int code = sqlite3_errcode(s->db), num = errno_of(code);
	int system = sqlite3_system_errno(s->db);
	if ((num == EIO || num == ENOENT) && system)
		num = system;
	if (num == ENOTRECOVERABLE) {
		s->damaged = true;
		pages_damaged();
		err_set(err, 0, "the index '%s' is damaged: %s", s->index, sqlite3_errmsg(s->db));
		err_hint(err, "%s", store_hint_anew(s));
		return -num;
	}
	if (s->source && s->source->failed.text[0]) {
		err_set(err, 0, "%s '%s': %s", what, s->index, s->source->failed.text);
		err_hint(err, "%s", s->source->failed.hint);
		return -num;
	}
	if (num == EBUSY)
		err_set(err, 0, "the index '%s' is busy: another process holds it", s->index);
	else
		err_set(err, 0, "%s '%s': %s", what, s->index, num == ENOSPC ? strerror(ENOSPC) : sqlite3_errmsg(s->db));
	return -num;
}

sqlite3_stmt *store_stmt(struct store *s, enum store_sql which, struct err *err)
{
	if (!s->stmt[which] &&
	    sqlite3_prepare_v3(s->db, sql_text[which], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[which], NULL) != SQLITE_OK)
		store_db_error(s, err, "cannot ask the index");
	return s->stmt[which];
}

static _Atomic uint64_t reads_failed;

uint64_t store_reads_failed(void)
{
	return reads_failed;
}

uint64_t store_reads_failed_in(const struct store *s)
{
	return s->reads_failed;
}

int store_step(struct store *s, sqlite3_stmt *st, struct err *err)
{
	int code = sqlite3_step(st);
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	int rc = store_db_error(s, err, "cannot use the index");
	/* Of damage of a file whoever asked learns otherwise: the index is made anew, and the question asked again. */
	if (!err && (rc != -ENOTRECOVERABLE || s->source)) {
		reads_failed++;
		s->reads_failed++;
	}
	return rc;
}

int store_run_stmt(struct store *s, sqlite3_stmt *st, struct err *err)
{
	int rc = store_step(s, st, err);
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

int store_column(struct store *s, sqlite3_stmt *st, struct ids *out)
{
	int rc;
	while ((rc = store_step(s, st, NULL)) == 1)
		if (ids_add(out, (uint64_t)sqlite3_column_int64(st, 0)) < 0) {
			rc = -ENOMEM;
			break;
		}
	sqlite3_reset(st);
	return rc;
}

int store_meta_get(struct store *s, const char *key, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_meta_get, err);
	if (!st)
		return -EIO;
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	int rc = store_step(s, st, err);
	if (rc == 1)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc;
}

int store_meta_set(struct store *s, const char *key, int64_t value, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_meta_set, err);
	if (!st)
		return -EIO;
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, value);
	return store_run_stmt(s, st, err);
}

int store_max(struct store *s, enum store_sql which, uint64_t *ret, struct err *err)
{
	if (which == SQL_file_last || which == SQL_process_last)
		return block_last(s, which == SQL_file_last ? BLOCK_FILE : BLOCK_PROCESS, ret, err);
	sqlite3_stmt *st = store_stmt(s, which, err);
	if (!st)
		return -EIO;
	int rc = store_step(s, st, err);
	if (rc == 1)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* ---- opening ---- */

/* Executes a statement without rows. 0, or -errno with a sentence. */
static int exec_sql(struct store *s, const char *sql, struct err *err)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return store_db_error(s, err, "cannot use the index");
	return 0;
}

/* *ret is left as it is where there is no answer. 0, or -errno with a sentence. */
static int pragma_int(struct store *s, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
		return store_db_error(s, err, "cannot read the index");
	int rc = store_step(s, st, err);
	if (rc == 1)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc < 0 ? rc : 0;
}

/* Makes the tables, unless another process, which came here at once, has done so meanwhile. 0, -errno with a sentence.
 * */
static int make_schema(struct store *s, struct err *err)
{
	int64_t application = 0;
	int rc = exec_sql(s, "BEGIN IMMEDIATE", err);
	if (rc < 0)
		return rc;
	rc = pragma_int(s, "PRAGMA application_id", &application, err);
	if (rc == 0 && application == 0) {
		rc = exec_sql(s, store_schema, err);
		if (rc == 0)
			rc = exec_sql(s, "PRAGMA application_id = 1398033729; PRAGMA user_version = " STRING(STORE_VERSION) ";",
			              err);
	}
	if (rc < 0) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return rc;
	}
	return exec_sql(s, "COMMIT", err);
}

/* Is the file an index that this program can use? 0, else with a sentence: -ENOENT if it is empty, -ESTALE of an older
 * version, -EPROTO of a newer one and of another's file, -ENOTRECOVERABLE if its checksums are gone. */
static int check_format(struct store *s, int64_t application, int64_t version, struct err *err)
{
	if (application == 0 && version == 0) {
		err_set(err, 0, "the index '%s' is empty", s->index);
		return -ENOENT;
	}
	if (application != STORE_APPLICATION) {
		err_set(err, 0, "'%s' is not an index of stemma", s->index);
		err_hint(err, "%s", store_hint_anew(s));
		return -EPROTO;
	}
	if (version != STORE_VERSION) {
		err_set(err, 0, "the index '%s' was made by %s version of stemma (format %lld, this one knows %d)", s->index,
		        version > STORE_VERSION ? "a newer" : "an older", (long long)version, STORE_VERSION);
		err_hint(err, "%s",
		         s->source ? "use that version, or load the record again with this one: stemma site load --questions"
		                   : "use that version, or make the index again with stemma index --rebuild");
		return version > STORE_VERSION ? -EPROTO : -ESTALE;
	}
	int plain = 0;
	if (sqlite3_file_control(s->db, "main", PAGES_IS_PLAIN, &plain) == SQLITE_OK && plain) {
		err_set(err, 0, "the index '%s' is damaged: it has no checksums", s->index);
		err_hint(err, "%s", store_hint_anew(s));
		return -ENOTRECOVERABLE;
	}
	return 0;
}

/* The schema, or a refusal. Several processes may come here at once on an empty file. 0, -errno with a sentence. */
static int check_schema(struct store *s, bool write, struct err *err)
{
	int64_t application = 0, version = 0;
	int rc = pragma_int(s, "PRAGMA application_id", &application, err);
	if (rc == 0)
		rc = pragma_int(s, "PRAGMA user_version", &version, err);
	if (rc < 0)
		return rc;
	if (application == 0 && version == 0 && write)
		rc = make_schema(s, err);
	else
		rc = check_format(s, application, version, err);
	return rc < 0 ? rc : store_check_tables(s, err);
}

/* The moment that times in the index are told from, if there is one yet. 0 or -errno. */
static int read_time_base(struct store *s, struct err *err)
{
	int rc = store_meta_get(s, "base", &s->base, err);
	s->has_base = rc == 1;
	return rc < 0 ? rc : 0;
}

/* While others begin to use a new file, SQLite gives up this change at once, whatever the busy timeout is. Sleeps
 * STORE_PATIENCE_MS at most. 0, -errno with a sentence. */
static int use_wal(struct store *s, struct err *err)
{
	int code = SQLITE_BUSY;
	for (int ms = 0; code == SQLITE_BUSY && ms < STORE_PATIENCE_MS; ms += 5) {
		if (ms)
			sqlite3_sleep(5);
		code = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) & 0xff;
	}
	return code == SQLITE_OK ? 0 : store_db_error(s, err, "cannot use the index");
}

/* The index is a file. In a record that somebody else made it may be a link, through which another file would be
 * written, or a FIFO, whose other end an open waits for. 0: it is one, or none is there; -errno with a sentence. */
static int check_is_file(const char *path, struct err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "cannot open the index '%s'", path);
	if (S_ISREG(st.st_mode))
		return 0;
	err_set(err, 0, "the index '%s' is not a regular file", path);
	err_hint(err, "stemma index --rebuild puts one there, made from the logs");
	return -ENOTRECOVERABLE;
}

/* The path, without links on the way to its folder: so SQLite can be told to follow none. ret: size bytes. 0, -errno
 * with a sentence. */
static int resolve_folder(const char *path, char *ret, size_t size, struct err *err)
{
	char dir[PATH_MAX], real[PATH_MAX];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int n = snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	if (n < 0 || (size_t)n >= sizeof(dir) || !realpath(dir, real))
		return err_set(err, errno, "cannot open the index '%s'", path);
	if (snprintf(ret, size, "%s/%s", strcmp(real, "/") ? real : "", name) >= (int)size)
		return err_set(err, ENAMETOOLONG, "cannot open the index '%s'", path);
	return 0;
}

/* SQLite would make the file 0644; the -wal and -shm beside it take its mode. One that is there is not opened: closing
 * it would give up the POSIX locks of another connection that this process has to it. fresh: one that is there is a
 * failure. 0, -errno with a sentence. */
static int make_private_file(const char *path, bool fresh, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_EXCL, 0600);
	if (fd >= 0)
		close(fd);
	else if (fresh || errno != EEXIST || access(path, R_OK | W_OK) < 0)
		return err_set(err, errno, "cannot open the index '%s'", path);
	return 0;
}

/* Finds out whether the index can be opened as one that does not change. May nobody of this user's change the index?
 * Where its directory cannot be written, SQLite could not make the files beside it that readers share. 0, -errno
 * with a sentence. */
static int check_immutable(const char *path, bool *ret, struct err *err)
{
	char dir[4096];
	snprintf(dir, sizeof(dir), "%s", path);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (access(path, R_OK) < 0)
		return err_set(err, errno, "cannot open the index '%s'", path);
	*ret = access(slash ? (dir[0] ? dir : "/") : ".", W_OK) < 0 || access(path, W_OK) < 0;
	return 0;
}

/* Writes the URI by which SQLite opens the index. immutable: nobody writes it, and nothing is locked. */
static void format_uri(const char *path, bool immutable, char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "file:");
	for (const char *p = path; *p && n + 4 < size; p++)
		n += (size_t)snprintf(ret + n, size - n, *p == '%' || *p == '?' || *p == '#' ? "%%%02x" : "%c", *p);
	if (immutable)
		snprintf(ret + n, size - n, "?immutable=1");
}

/* Opens the database; path: without links on the way, NULL for one in memory. On failure nothing is open. */
static int connect_db(struct store *s, const char *path, bool write, bool immutable, struct err *err)
{
	char uri[3 * 4096 + 64];
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, rc = 0;
	format_uri(path ? path : ":memory:", immutable, uri, sizeof(uri));
	flags |= write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	flags |= path && !s->source ? SQLITE_OPEN_NOFOLLOW : 0;
	const char *vfs = s->source ? store_source_vfs(s) : path ? pages_vfs() : NULL;
	if (s->source && !vfs)
		rc = -ENOMEM;
	else if (sqlite3_open_v2(uri, &s->db, flags, vfs) != SQLITE_OK)
		rc = s->db ? store_db_error(s, err, "cannot open the index") : -ENOMEM;
	else if (s->handed && sqlite3_deserialize(s->db, "main", s->handed, (sqlite3_int64)s->handed_size,
	                                          (sqlite3_int64)s->handed_size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		rc = store_db_error(s, err, "cannot open the index");
	if (rc < 0)
		store_db_close(s);
	return rc;
}

#define MAPPED "268435456" /* bytes of the index that may be mapped */

/* How SQLite is to use the database that is open. 0, -errno with a sentence. */
static int configure_db(struct store *s, bool write, bool fresh, struct err *err)
{
	int reserved = PAGE_RESERVED; /* of a new file; an older one stays as it is */
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, STORE_PATIENCE_MS);
	int rc = exec_sql(
	    s, "PRAGMA page_size = " STRING(PAGE_BYTES) "; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;", err);
	/* No view or trigger is there (store_check_tables); should one be, it calls nothing that has effects. A fresh file
	 * is made without a journal, which the second refuses. */
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	if (!(write && fresh))
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	if (rc < 0)
		return rc;
	if (write && store_has_file(s) && pages_vfs())
		sqlite3_file_control(s->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	if (write && fresh)
		/* Nobody else sees the file before it is whole. */
		return exec_sql(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;",
		                err);
	if (!write || s->memory)
		return exec_sql(s, "PRAGMA mmap_size = " MAPPED, err);
	rc = use_wal(s, err);
	return rc < 0 ? rc : exec_sql(s, "PRAGMA synchronous = NORMAL; PRAGMA mmap_size = " MAPPED, err);
}

void store_unmap(struct store *s)
{
	if (!s->memory)
		sqlite3_exec(s->db, "PRAGMA mmap_size = 0; PRAGMA mmap_size = " MAPPED, NULL, NULL, NULL);
}

int store_keep_small(struct store *s, unsigned kib, struct err *err)
{
	char sql[80];
	snprintf(sql, sizeof(sql), "PRAGMA mmap_size = 0; PRAGMA cache_size = -%u;", kib);
	return exec_sql(s, sql, err);
}

/* Looks at the index's file before SQLite does: real[PATH_MAX] is its path without links on the way. *ret_immutable is
 * set only where write is false. 0, -errno with a sentence. */
static int prepare_file(const char *path, bool write, bool fresh, char *real, bool *ret_immutable, struct err *err)
{
	int rc = check_is_file(path, err);
	if (rc == 0)
		rc = resolve_folder(path, real, PATH_MAX, err);
	if (rc == 0)
		rc = write ? make_private_file(path, fresh, err) : check_immutable(path, ret_immutable, err);
	return rc;
}

/* Opens the index. fresh: an index that is there is emptied. 0, or -errno with a sentence; s->damaged says whether
 * making it anew would help. */
static int open_db(struct store *s, const char *path, bool write, bool fresh, struct err *err)
{
	char real[PATH_MAX];
	bool immutable = false, in_file = store_has_file(s);
	int rc = late_load(&late_sqlite, err);
	s->damaged = false;
	if (rc == 0 && in_file)
		rc = prepare_file(path, write, fresh, real, &immutable, err);
	if (rc == 0)
		rc = connect_db(s, in_file ? real : s->source ? SOURCE_INDEX : NULL, write, immutable, err);
	if (rc < 0)
		return rc;
	rc = configure_db(s, write, fresh, err);
	if (rc == 0)
		rc = check_schema(s, write, err);
	if (rc == 0)
		rc = read_time_base(s, err);
	if (rc == 0 && !fresh)
		rc = store_views(s, err);
	struct stat st;
	s->inode = in_file && stat(path, &st) == 0 ? st.st_ino : 0;
	if (rc < 0)
		store_db_close(s);
	return rc;
}

int store_db_open(struct store *s, const char *path, bool write, bool fresh, struct err *err)
{
	/* Nobody may put another file there until this one's log is: SQLite finds the log by the name alone. */
	int turn = fresh ? -1 : store_turn(s, false);
	int rc = open_db(s, path, write, fresh, err);
	if (turn >= 0)
		close(turn);
	return rc;
}

/* Nothing of the handle may be used afterwards. */
void store_db_close(struct store *s)
{
	store_reader_free(s);
	s->viewing = false;
	s->views = 0;
	for (size_t i = 0; i < SQL_COUNT; i++) {
		sqlite3_finalize(s->stmt[i]);
		s->stmt[i] = NULL;
	}
	sqlite3_close_v2(s->db);
	s->db = NULL;
	for (size_t i = 0; i < s->domains.n; i++) {
		free(s->domains.v[i].name);
		free(s->domains.v[i].type);
	}
	for (size_t i = 0; i < s->interned.n; i++)
		free(s->interned.v[i].p);
	vec_release(&s->domains);
	vec_release(&s->interned);
	vec_release(&s->layouts);
	vec_release(&s->sessions);
	map_release(&s->layout_map);
	map_release(&s->session_map);
	damage_forget(s);
	s->has_base = false;
	s->base = 0;
}

/* ---- small tables ---- */

struct str store_interned(struct store *s, uint64_t id)
{
	struct str none = {"", 0};
	if (!id)
		return none;
	if (!s->interned.n) {
		if (!vec_room(&s->interned, INTERNED_CACHE))
			return none;
		memset(s->interned.v, 0, INTERNED_CACHE * sizeof(*s->interned.v));
		s->interned.n = INTERNED_CACHE;
	}
	struct interned_slot *w = &s->interned.v[id % INTERNED_CACHE];
	if (w->id == id)
		return str_n(w->p, w->n);
	sqlite3_stmt *st = store_stmt(s, SQL_dict_get, NULL);
	if (!st)
		return none;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	if (store_step(s, st, NULL) == 1) {
		struct str text = column_str(st, 0);
		char *p = malloc(text.n + 1);
		if (p) {
			if (text.n)
				memcpy(p, text.p, text.n);
			free(w->p);
			*w = (struct interned_slot){id, p, text.n};
		}
	}
	sqlite3_reset(st);
	return w->id == id ? str_n(w->p, w->n) : none;
}

/* The layouts that have come into the index since, behind those in memory. 0 or -errno. */
static int load_layouts(struct store *s)
{
	sqlite3_stmt *st = store_stmt(s, SQL_shape_all, NULL);
	int rc;
	if (!st)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, (int64_t)s->layouts.n);
	while ((rc = store_step(s, st, NULL)) == 1) {
		uint64_t *p = vec_add(&s->layouts);
		if (!p) {
			rc = -ENOMEM;
			break;
		}
		*p = (uint64_t)sqlite3_column_int64(st, 0);
		map_set(&s->layout_map, *p, (uint32_t)(s->layouts.n - 1));
	}
	sqlite3_reset(st);
	return rc;
}

int store_layout(struct store *s, uint64_t id, uint64_t *ret)
{
	int rc = id >= s->layouts.n ? load_layouts(s) : 0; /* another process may have added some */
	if (rc < 0)
		return rc;
	if (id >= s->layouts.n)
		return 0;
	*ret = s->layouts.v[id];
	return 1;
}

int store_layout_id(struct store *s, uint64_t bits, uint64_t *ret, struct err *err)
{
	int loaded = s->layouts.n ? 0 : load_layouts(s);
	if (loaded < 0)
		return loaded;
	uint32_t id = map_get(&s->layout_map, bits);
	if (id == VEC_NONE) {
		uint64_t *p = vec_add(&s->layouts);
		sqlite3_stmt *st = store_stmt(s, SQL_shape_add, err);
		if (!p || !st)
			return -ENOMEM;
		*p = bits;
		id = (uint32_t)(s->layouts.n - 1);
		if (!map_set(&s->layout_map, bits, id))
			return -ENOMEM;
		sqlite3_bind_int64(st, 1, id);
		sqlite3_bind_int64(st, 2, (int64_t)bits);
		int rc = store_run_stmt(s, st, err);
		if (rc < 0)
			return rc;
	}
	*ret = id;
	return 0;
}

/* For free(); a NUL within stays. NULL without memory. */
static char *dup_str(struct str t)
{
	char *p = malloc(t.n + 1);
	if (p) {
		if (t.n)
			memcpy(p, t.p, t.n);
		p[t.n] = '\0';
	}
	return p;
}

const struct sdomain *store_domain(struct store *s, uint64_t id)
{
	if (id > s->domains.n) {
		sqlite3_stmt *st = store_stmt(s, SQL_domain_all, NULL);
		if (!st)
			return NULL;
		sqlite3_bind_int64(st, 1, (int64_t)s->domains.n);
		while (store_step(s, st, NULL) == 1 && (uint64_t)sqlite3_column_int64(st, 0) == s->domains.n + 1) {
			struct sdomain *d = vec_add(&s->domains);
			if (!d)
				break;
			struct str name = column_str(st, 1);
			*d = (struct sdomain){dup_str(name), dup_str(column_str(st, 2)), name.n, sqlite3_column_int(st, 3)};
		}
		sqlite3_reset(st);
	}
	return id && id <= s->domains.n && s->domains.v[id - 1].name ? &s->domains.v[id - 1] : NULL;
}

/* The row's column info: host, boot, pidns, run, tool, mode, last, flags. */
static bool decode_session(struct store *s, struct str info, struct ssession *v)
{
	const unsigned char *p = (const unsigned char *)info.p, *end = p + info.n;
	uint64_t last, flags = 0;
	uint64_t *const to[] = {&v->host, &v->boot, &v->pidns, &v->run, &v->tool, &v->mode, &last, &flags};
	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++)
		if (!varint_get(&p, end, to[i]))
			return false;
	v->gaps = flags & 4;
	v->damaged = damage_concerns(s, v->number, flags & 1, info);
	v->unended = !(flags & 1) && !str_starts(store_interned(s, v->mode), str_of("node/"));
	return true;
}

const struct ssession *store_session(struct store *s, uint64_t id)
{
	uint32_t i = map_get(&s->session_map, id);
	if (i != VEC_NONE)
		return &s->sessions.v[i];
	sqlite3_stmt *st = store_stmt(s, SQL_session_get, NULL);
	if (!st)
		return NULL;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	if (store_step(s, st, NULL) == 1) {
		struct ssession v = {.number = (uint64_t)sqlite3_column_int64(st, 0)}, *slot;
		if (decode_session(s, column_str(st, 1), &v) && (slot = vec_add(&s->sessions))) {
			*slot = v;
			i = (uint32_t)(s->sessions.n - 1);
			if (!map_set(&s->session_map, id, i)) {
				s->sessions.n--;
				i = VEC_NONE;
			}
		}
	}
	sqlite3_reset(st);
	return i == VEC_NONE ? NULL : &s->sessions.v[i];
}
