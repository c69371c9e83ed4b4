/* read_reprozip.c - ReproZip's .reprozip-trace/trace.sqlite3: processes, programs and opened files, in the order of
 * their times. These are ns since the machine started; when that was is taken from the time of the database's last
 * change, which is the end of the trace, so a copy must keep it (cp -p). What a process opened for writing just before
 * it made another one may have been written by that one (traced.h).
 *
 * The database is hostile: it is opened for reading, with functions, views and triggers that it brings not trusted, and
 * only ordinary tables are read. */
#include "adopt/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define ROWS_MOST 20000000

enum { MODE_READ = 1, MODE_WRITE = 2, MODE_DIRECTORY = 4, MODE_STAT = 8, MODE_LINK = 16 };

struct reprozip {
	struct traced t;
	sqlite3 *db;
	int64_t offset; /* ns from the trace's times to 1970's */
};

/* For sqlite3_set_authorizer: nothing but to read tables. */
static int allow_reading(void *arg, int action, const char *a, const char *b, const char *database, const char *by)
{
	static const char *const functions[] = {"count", "max", "like"};
	(void)arg;
	(void)a;
	(void)database;
	if (by) /* a view or trigger wants it */
		return SQLITE_DENY;
	for (size_t i = 0; action == SQLITE_FUNCTION && i < 3; i++)
		if (b && strcmp(b, functions[i]) == 0)
			return SQLITE_OK;
	return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

/* The text of the row's column i, valid until the next step; empty for NULL. */
static struct str column(sqlite3_stmt *q, int i)
{
	const char *p = (const char *)sqlite3_column_text(q, i);
	return p ? str_n(p, (size_t)sqlite3_column_bytes(q, i)) : str_n(NULL, 0);
}

/* ns since 1970. */
static int64_t time_of(const struct reprozip *z, int64_t ns)
{
	return ns > 0 && ns < INT64_MAX / 4 ? ns + z->offset : TIME_NONE;
}

/* Notes that a process opened the file. mode: the bits of ReproZip's trace; folders and files that were only looked
 * at are passed over. */
static void take_file(struct reprozip *z, uint64_t process, struct str path, int64_t mode, int64_t time)
{
	if (mode & (MODE_DIRECTORY | MODE_STAT | MODE_LINK))
		return;
	if (mode & MODE_READ)
		traced_access(&z->t, process, path, TRACED_READ, time);
	if (mode & MODE_WRITE)
		traced_access(&z->t, process, path, TRACED_OPENED, time);
}

/* Notes that a process became the program at path, in that folder. argv: words with a NUL behind each. */
static void take_program(struct reprozip *z, uint64_t process, struct str path, struct str words, struct str folder,
                         int64_t time)
{
	traced_chdir(&z->t, process, folder);
	traced_exec(&z->t, process, time);
	traced_chdir(&z->t, process, folder);
	for (size_t i = 0; i < words.n;) {
		size_t n = strnlen(words.p + i, words.n - i);
		traced_word(&z->t, process, str_n(words.p + i, n));
		i += n + 1;
	}
	traced_access(&z->t, process, path, TRACED_READ, time);
}

/* Takes all rows by time. 0; -EINVAL with the reason said; -ENOMEM. */
static int take_rows(struct reprozip *z)
{
	static const char sql[] =
	    "SELECT 0, timestamp, id, parent, is_thread, NULL, NULL, NULL, id AS n FROM main.processes"
	    " UNION ALL SELECT 1, timestamp, process, NULL, NULL, name, CAST(argv AS BLOB), workingdir, id FROM "
	    "main.executed_files"
	    " UNION ALL SELECT 2, timestamp, process, mode, is_directory, name, NULL, NULL, id FROM main.opened_files"
	    " ORDER BY 2, 1, n";
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(z->db, sql, -1, &q, NULL), step = SQLITE_DONE;
	uint64_t rows = 0;
	while (rc == SQLITE_OK && !z->t.error && rows++ < ROWS_MOST && (step = sqlite3_step(q)) == SQLITE_ROW) {
		int64_t time = time_of(z, sqlite3_column_int64(q, 1));
		uint64_t process = (uint64_t)sqlite3_column_int64(q, 2);
		switch (sqlite3_column_int(q, 0)) {
		case 0:
			if (sqlite3_column_type(q, 3) == SQLITE_INTEGER)
				traced_fork(&z->t, (uint64_t)sqlite3_column_int64(q, 3), process, sqlite3_column_int(q, 4), time);
			break;
		case 1:
			take_program(z, process, column(q, 5), str_n(sqlite3_column_blob(q, 6), (size_t)sqlite3_column_bytes(q, 6)),
			             column(q, 7), time);
			break;
		default:
			if (!sqlite3_column_int(q, 4))
				take_file(z, process, column(q, 5), sqlite3_column_int64(q, 3), time);
		}
	}
	sqlite3_finalize(q);
	return rc == SQLITE_NOMEM || step == SQLITE_NOMEM                       ? -ENOMEM
	       : rc != SQLITE_OK || (step != SQLITE_DONE && step != SQLITE_ROW) ? -EINVAL
	                                                                        : 0;
}

/* How each process ended. What lacks is not known. */
static void take_ends(struct reprozip *z)
{
	sqlite3_stmt *q = NULL;
	if (sqlite3_prepare_v2(z->db, "SELECT id, exitcode FROM main.processes WHERE is_thread = 0", -1, &q, NULL) ==
	    SQLITE_OK)
		while (sqlite3_step(q) == SQLITE_ROW) {
			int64_t code = sqlite3_column_int64(q, 1);
			traced_exit(&z->t, (uint64_t)sqlite3_column_int64(q, 0),
			            sqlite3_column_type(q, 1) == SQLITE_INTEGER && code >= 0 && code < 256, (int)(code & 255),
			            TIME_NONE);
		}
	sqlite3_finalize(q);
}

/* Are the three of them ordinary tables? Then the last time of them; -1: they are not. */
static int64_t last_time(sqlite3 *db)
{
	static const char sql[] =
	    "SELECT max(t) FROM (SELECT max(timestamp) AS t FROM main.processes UNION ALL SELECT max(timestamp) FROM "
	    "main.opened_files"
	    " UNION ALL SELECT max(timestamp) FROM main.executed_files) WHERE (SELECT count(*) FROM main.sqlite_master "
	    "WHERE type = 'table'"
	    " AND name IN ('processes', 'opened_files', 'executed_files') AND sql NOT LIKE '%VIRTUAL%') = 3";
	sqlite3_stmt *q = NULL;
	int64_t t = -1;
	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW &&
	    sqlite3_column_type(q, 0) == SQLITE_INTEGER)
		t = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return t;
}

/* Opens the database that fd is, whose folder nobody looks into. 0, -EINVAL, -ENOMEM. */
static int open_trace(struct reprozip *z, int fd)
{
	char name[64];
	snprintf(name, sizeof(name), "file:/proc/self/fd/%d?mode=ro&immutable=1", fd);
	int rc = sqlite3_open_v2(name, &z->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_PRIVATECACHE, NULL);
	if (rc != SQLITE_OK)
		return rc == SQLITE_NOMEM ? -ENOMEM : -EINVAL;
	sqlite3_exec(z->db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;", NULL, NULL,
	             NULL);
	sqlite3_set_authorizer(z->db, allow_reading, NULL);
	return 0;
}

/* name: trace.sqlite3. 0, -ENOMEM. */
int adopt_read_reprozip(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct reprozip z = {.db = NULL};
	struct buf source = {0};
	struct stat st;
	uint64_t jobs = 0;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	buf_printf(&source, "%s/%s", path, name);
	const char *from = regular ? adopt_text(l, buf_view(&source)) : NULL;
	int rc = !regular ? 0 : from ? open_trace(&z, fd) : -ENOMEM;
	int64_t last = regular && rc == 0 ? last_time(z.db) : -1;
	if (regular && rc == 0 && last > 0) {
		z.offset = st.st_mtim.tv_sec * SECOND + st.st_mtim.tv_nsec - last;
		traced_begin(&z.t, l, ADOPT_reprozip, from);
		z.t.inherit = z.t.coarse = true;
		rc = take_rows(&z);
		take_ends(&z);
		int finished = traced_finish(&z.t, &jobs);
		rc = finished < 0 ? finished : rc;
		l->sources[ADOPT_reprozip] += rc == 0;
	}
	if (regular && (rc == -EINVAL || (rc == 0 && last <= 0)))
		rc = adopt_pass(l, from, "it is not a trace of ReproZip, or it is damaged");
	sqlite3_close_v2(z.db);
	if (fd >= 0)
		close(fd);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}
