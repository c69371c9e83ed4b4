/* copy.c - the pages of a store, for whoever keeps them elsewhere: SQLite's own copy of a database, to a file that is
 * none, and the segments that count. */
#include "base/io.h"
#include "store/adjacency/adjacency.h"
#include "store/elsewhere/source.h"
#include "store/pages.h"
#include "store/store_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(SOURCE_PAGE == PAGE_BYTES, "a page of the index is one of a source");
enum { WRITE_VERSION = 18, READ_VERSION = 19, RESERVED_AT = 20 }; /* in the first page of the index */

struct copying {
	const struct store_copy *to;
	struct err *err;
	int failed; /* what a call returned */
	unsigned char page[PAGE_BYTES];
};
struct copy_file {
	sqlite3_file base;
	struct copying *c;
};

/* The file as what it is: SQLite's is its first member. */
static struct copy_file *copy_of(sqlite3_file *f)
{
	return (struct copy_file *)f;
}

/* ---- for SQLite: a new file, of which only what is written is taken ---- */

/* What is written is not kept: there is nothing. */
static int copy_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	(void)f, (void)at;
	memset(to, 0, (size_t)n);
	return SQLITE_IOERR_SHORT_READ;
}

/* A page. The log beside the index, which the copy does not have, is no longer named in it. */
static int copy_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	struct copying *c = copy_of(f)->c;
	if (n != PAGE_BYTES || at % PAGE_BYTES != 0 ||
	    (at == 0 && ((const unsigned char *)from)[RESERVED_AT] != PAGE_RESERVED)) {
		err_set(c->err, 0, "the index has no checksums, so it cannot be copied");
		err_hint(c->err, "make the folder of the index writable, or run stemma index --rebuild");
		c->failed = -EPROTO;
		return SQLITE_IOERR_WRITE;
	}
	memcpy(c->page, from, PAGE_BYTES);
	if (at == 0)
		c->page[WRITE_VERSION] = c->page[READ_VERSION] = 1;
	pages_seal(c->page, at);
	c->failed = c->to->page(c->to->arg, SOURCE_INDEX, (uint64_t)at / PAGE_BYTES, c->page, PAGE_BYTES);
	return c->failed < 0 ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

/* Called by SQLite: the size of the copy, which is empty at first. */
static int copy_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}
/* Called by SQLite to sync, lock or unlock: nothing is to be done. */
static int copy_nothing(sqlite3_file *f, int how)
{
	(void)f, (void)how;
	return SQLITE_OK;
}
/* Called by SQLite: nothing is cut off. */
static int copy_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	(void)f, (void)n;
	return SQLITE_OK;
}
/* Called by SQLite: nobody has the copy reserved. */
static int copy_reserved(sqlite3_file *f, int *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}
/* Called by SQLite: no request is known. */
static int copy_control(sqlite3_file *f, int what, void *arg)
{
	(void)f, (void)what, (void)arg;
	return SQLITE_NOTFOUND;
}
/* Called by SQLite: the unit in which the copy is written, bytes. */
static int copy_sector(sqlite3_file *f)
{
	(void)f;
	return PAGE_BYTES;
}
/* Called by SQLite: the copy has no special abilities. */
static int copy_device(sqlite3_file *f)
{
	(void)f;
	return 0;
}
static int copy_close(sqlite3_file *f)
{
	(void)f;
	return SQLITE_OK;
}

static const sqlite3_io_methods copy_methods = {
    .iVersion = 1,
    .xClose = copy_close,
    .xRead = copy_read,
    .xWrite = copy_write,
    .xTruncate = copy_truncate,
    .xSync = copy_nothing,
    .xFileSize = copy_size,
    .xLock = copy_nothing,
    .xUnlock = copy_nothing,
    .xCheckReservedLock = copy_reserved,
    .xFileControl = copy_control,
    .xSectorSize = copy_sector,
    .xDeviceCharacteristics = copy_device,
};

/* For SQLite: only a database, no file beside it. */
static int copy_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct copy_file *p = copy_of(f);
	(void)name;
	*p = (struct copy_file){.c = v->pAppData};
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	if (ret_flags)
		*ret_flags = flags;
	p->base.pMethods = &copy_methods;
	return SQLITE_OK;
}
/* Called by SQLite: no file is there. */
static int copy_access(sqlite3_vfs *v, const char *name, int how, int *ret)
{
	(void)v, (void)name, (void)how;
	*ret = 0;
	return SQLITE_OK;
}
/* Called by SQLite: the name as it is. */
static int copy_full_path(sqlite3_vfs *v, const char *name, int n, char *ret)
{
	(void)v;
	return snprintf(ret, (size_t)n, "%s", name) < n ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* ---- the index ---- */

/* Sends all pages of s through that database. SQLite's code. */
static int copy_pages(struct store *s, sqlite3 *to)
{
	/* No journal, which would be another file; and no more memory than that. */
	int code = sqlite3_exec(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2048;", NULL,
	                        NULL, NULL);
	sqlite3_backup *b = code == SQLITE_OK ? sqlite3_backup_init(to, "main", s->db, "main") : NULL;
	if (!b)
		return code == SQLITE_OK ? sqlite3_errcode(to) : code;
	code = sqlite3_backup_step(b, -1);
	const int end = sqlite3_backup_finish(b);
	return code == SQLITE_DONE ? end : code;
}

/* Copies the index. 0, or -errno with a sentence. */
static int copy_index(struct store *s, struct copying *c)
{
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL), vfs;
	sqlite3 *to = NULL;
	char name[48];
	if (!usual)
		return err_set(c->err, ENOMEM, "cannot copy the index");
	snprintf(name, sizeof(name), "stemma-copy-%p", (void *)c);
	vfs = *usual;
	vfs.pNext = NULL;
	vfs.zName = name;
	vfs.szOsFile = (int)sizeof(struct copy_file);
	vfs.pAppData = c;
	vfs.xOpen = copy_open;
	vfs.xAccess = copy_access;
	vfs.xFullPathname = copy_full_path;
	int code = sqlite3_vfs_register(&vfs, 0);
	if (code == SQLITE_OK) {
		code = sqlite3_open_v2("copy", &to, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, name);
		if (code == SQLITE_OK)
			code = copy_pages(s, to);
		sqlite3_close_v2(to);
		sqlite3_vfs_unregister(&vfs);
	}
	if (c->failed < 0)
		return err_set(c->err, 0, "cannot copy the index"), c->failed;
	return code == SQLITE_OK ? 0 : store_db_error(s, c->err, "cannot copy the index");
}

/* ---- segments ---- */

/* The pages of a segment; one that cannot be opened is left out. 0, or -errno with a sentence. */
static int copy_segment(struct store *s, struct copying *c, const struct adj_name *n)
{
	char name[96], file[SOURCE_NAME];
	const int fd = adj_open(s, n);
	ssize_t got = 1;
	int rc = 0;
	if (fd < 0)
		return 0;
	adj_file_name(n, name);
	snprintf(file, sizeof(file), SOURCE_EDGES "%s", name);
	for (uint64_t k = 0; rc == 0 && (got = io_pread(fd, c->page, SOURCE_PAGE, k * SOURCE_PAGE)) > 0; k++)
		rc = c->to->page(c->to->arg, file, k, c->page, (size_t)got);
	close(fd);
	return got < 0 ? err_set(c->err, (int)-got, "cannot read the index's file '%s'", name) : rc;
}

/* Those of files, then those of processes. 0, or -errno with a sentence. */
static int copy_segments(struct store *s, struct copying *c)
{
	static const enum store_sql last_of[] = {[BLOCK_FILE] = SQL_file_last, [BLOCK_PROCESS] = SQL_process_last};
	int rc = 0;
	for (unsigned t = 0; rc == 0 && t < BLOCK_TABLES; t++) {
		uint64_t last = 0;
		rc = store_max(s, last_of[t], &last, c->err);
		for (uint64_t range = 0; rc == 0 && range <= last >> ADJ_RANGE_BITS && range < ADJ_RANGES_MAX; range++) {
			struct adj_changed changed;
			struct adj_name n;
			rc = adj_named(s, t, range, &n, &changed);
			if (rc == 1)
				rc = copy_segment(s, c, &n);
			else if (rc < 0)
				rc = err_set(c->err, -rc, "cannot read the index");
		}
	}
	return rc;
}

int store_copy(struct store *s, const struct store_copy *to, struct err *err)
{
	struct copying *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, ENOMEM, "cannot copy the index");
	c->to = to;
	c->err = err;
	int rc = copy_index(s, c);
	if (rc == 0 && store_has_file(s))
		rc = copy_segments(s, c);
	free(c);
	return rc;
}
