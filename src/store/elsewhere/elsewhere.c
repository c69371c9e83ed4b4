/* elsewhere.c - a store of a source (source.h): for SQLite its index is a file that is only read and never changes,
 * below the layer that checks pages. */
#include "store/elsewhere/source.h"
#include "store/pages.h"
#include "store/store_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A store's own two layers, by names of their own: SQLite knows them while the store is open. */
struct elsewhere {
	sqlite3_vfs files, pages;
	char file_name[40], page_name[40];
};
struct elsewhere_file {
	sqlite3_file base;
	struct store_source *source;
	uint64_t size;
};

/* As what it is: SQLite's file is its first member. */
static struct elsewhere_file *elsewhere_of(sqlite3_file *f)
{
	return (struct elsewhere_file *)f;
}

/* For SQLite: what is behind the end is told as such, and is 0. */
static int elsewhere_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	struct elsewhere_file *e = elsewhere_of(f);
	const uint64_t from = (uint64_t)at, left = from < e->size ? e->size - from : 0;
	const size_t have = left < (uint64_t)n ? (size_t)left : (size_t)n;
	int rc = have ? e->source->read(e->source, SOURCE_INDEX, from, to, have) : 0;
	if (rc < 0)
		return rc == -ENOMEM ? SQLITE_IOERR_NOMEM : rc == -EBADMSG ? pages_damaged() : SQLITE_IOERR_READ;
	memset((char *)to + have, 0, (size_t)n - have);
	return have < (size_t)n ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

/* Called by SQLite: the size of the file, bytes. */
static int elsewhere_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)elsewhere_of(f)->size;
	return SQLITE_OK;
}

/* Called by SQLite to write: nothing is written. */
static int elsewhere_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	(void)f, (void)from, (void)n, (void)at;
	return SQLITE_READONLY;
}
/* For SQLite: the file cannot be cut, and never is. Always SQLITE_READONLY. */
static int elsewhere_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	(void)f, (void)n;
	return SQLITE_READONLY;
}
/* Called by SQLite to lock or unlock: nothing is locked: who reads has one state. */
static int elsewhere_lock(sqlite3_file *f, int how)
{
	(void)f, (void)how;
	return SQLITE_OK;
}
/* Called by SQLite: nobody has the file reserved. */
static int elsewhere_reserved(sqlite3_file *f, int *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}
/* Called by SQLite: no request is known. */
static int elsewhere_control(sqlite3_file *f, int what, void *arg)
{
	(void)f, (void)what, (void)arg;
	return SQLITE_NOTFOUND;
}
/* Called by SQLite: the unit in which a disk would write, bytes. */
static int elsewhere_sector(sqlite3_file *f)
{
	(void)f;
	return PAGE_BYTES;
}
/* Called by SQLite: the file does not change. */
static int elsewhere_device(sqlite3_file *f)
{
	(void)f;
	return SQLITE_IOCAP_IMMUTABLE;
}
static int elsewhere_close(sqlite3_file *f)
{
	(void)f;
	return SQLITE_OK;
}
/* Called by SQLite: nothing of it lies in memory that SQLite could use as it is. */
static int elsewhere_fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **ret)
{
	(void)f, (void)at, (void)n;
	*ret = NULL;
	return SQLITE_OK;
}
/* Called by SQLite: nothing was lent. */
static int elsewhere_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
	(void)f, (void)at, (void)p;
	return SQLITE_OK;
}

static const sqlite3_io_methods elsewhere_methods = {
    .iVersion = 3,
    .xClose = elsewhere_close,
    .xRead = elsewhere_read,
    .xWrite = elsewhere_write,
    .xTruncate = elsewhere_truncate,
    .xSync = elsewhere_lock,
    .xFileSize = elsewhere_size,
    .xLock = elsewhere_lock,
    .xUnlock = elsewhere_lock,
    .xCheckReservedLock = elsewhere_reserved,
    .xFileControl = elsewhere_control,
    .xSectorSize = elsewhere_sector,
    .xDeviceCharacteristics = elsewhere_device,
    .xFetch = elsewhere_fetch,
    .xUnfetch = elsewhere_unfetch,
};

/* For SQLite. */
static int elsewhere_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct elsewhere_file *e = elsewhere_of(f);
	(void)name;
	*e = (struct elsewhere_file){.source = v->pAppData};
	if (!(flags & SQLITE_OPEN_MAIN_DB) || e->source->size(e->source, SOURCE_INDEX, &e->size) < 0 ||
	    e->size > INT64_MAX / 2)
		return SQLITE_CANTOPEN;
	if (ret_flags)
		*ret_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	e->base.pMethods = &elsewhere_methods;
	return SQLITE_OK;
}

/* There is no file beside it. */
static int elsewhere_access(sqlite3_vfs *v, const char *name, int how, int *ret)
{
	(void)v, (void)name, (void)how;
	*ret = 0;
	return SQLITE_OK;
}
/* Called by SQLite to remove a file: nothing is removed. */
static int elsewhere_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v, (void)name, (void)sync;
	return SQLITE_OK;
}
/* The name stays as it is. */
static int elsewhere_full_path(sqlite3_vfs *v, const char *name, int n, char *ret)
{
	(void)v;
	return snprintf(ret, (size_t)n, "%s", name) < n ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Two layers for this source, registered; NULL without memory. */
static struct elsewhere *elsewhere_make(struct store_source *source)
{
	struct elsewhere *e = calloc(1, sizeof(*e));
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	if (!e || !usual) {
		free(e);
		return NULL;
	}
	snprintf(e->file_name, sizeof(e->file_name), "stemma-elsewhere-%p", (void *)e);
	snprintf(e->page_name, sizeof(e->page_name), "stemma-elsewhere-pages-%p", (void *)e);
	e->files = *usual;
	e->files.pNext = NULL;
	e->files.zName = e->file_name;
	e->files.szOsFile = (int)sizeof(struct elsewhere_file);
	e->files.pAppData = source;
	e->files.xOpen = elsewhere_open;
	e->files.xAccess = elsewhere_access;
	e->files.xDelete = elsewhere_delete;
	e->files.xFullPathname = elsewhere_full_path;
	pages_over(&e->pages, e->page_name, &e->files);
	if (sqlite3_vfs_register(&e->pages, 0) == SQLITE_OK)
		return e;
	free(e);
	return NULL;
}

const char *store_source_vfs(struct store *s)
{
	if (!s->elsewhere)
		s->elsewhere = elsewhere_make(s->source);
	return s->elsewhere ? s->elsewhere->page_name : NULL;
}

void store_source_release(struct store *s)
{
	if (s->elsewhere)
		sqlite3_vfs_unregister(&s->elsewhere->pages);
	free(s->elsewhere);
	s->elsewhere = NULL;
	if (s->source)
		s->source->close(s->source);
	s->source = NULL;
}

struct store_source *store_source_of(const struct store *s)
{
	return s->source;
}

int store_open_source(struct store_source *source, struct err *err, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));
	if (!s) {
		source->close(source);
		return err_set(err, ENOMEM, "cannot open the record");
	}
	s->source = source;
	s->home = strdup("/dev/null"); /* nothing lies there, whoever makes a folder of whatever name */
	s->index = strdup(source->name);
	int rc = s->home && s->index ? store_db_open(s, s->index, false, false, err) : -ENOMEM;
	if (rc < 0) {
		store_close(s);
		return err_set(err, -rc, "cannot open the record");
	}
	*ret = s;
	return 0;
}
