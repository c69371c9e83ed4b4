#include "store/pages.h"

#include "base/hash.h"
#include "store/store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RESERVED_AT 20 /* in the file's header: how many bytes of each page SQLite leaves alone */
#define HEADER_MAGIC "SQLite format 3"

struct pages_file {
	sqlite3_file base;
	sqlite3_file *real;     /* just behind this */
	unsigned char *room;    /* a page */
	unsigned char *checked; /* bits of the mapped pages that were checked */
	uint64_t n_checked;     /* pages that it has bits for */
	bool damaged;           /* a page did not fit its checksum */
	bool plain;             /* an older index without checksums, or another program's file: not checked */
	bool looked;
};

static void (*on_damage)(void);
static bool met; /* by any store of the process; of different threads, too */

void store_on_damage(void (*found)(void))
{
	on_damage = found;
}

bool store_met_damage(void)
{
	return __atomic_load_n(&met, __ATOMIC_RELAXED);
}

int pages_damaged(void)
{
	__atomic_store_n(&met, true, __ATOMIC_RELAXED);
	if (on_damage)
		on_damage();
	return SQLITE_CORRUPT;
}

/* SQLite's own VFS, to which what is not done here is handed. */
static sqlite3_vfs *real_vfs(const sqlite3_vfs *v)
{
	return v->pAppData;
}

/* The file as what it is: SQLite's file is its first member. */
static struct pages_file *of(sqlite3_file *f)
{
	return (struct pages_file *)f;
}

/* Notes it, and gives SQLite's code for a damaged file. */
static int file_is_damaged(struct pages_file *p)
{
	p->damaged = true;
	return pages_damaged();
}

/* Of the page without its last bytes, and of where it stands. */
static uint64_t page_checksum(const unsigned char *page, sqlite3_int64 offset)
{
	return hash_bytes(page, PAGE_BYTES - PAGE_RESERVED) ^ hash_bytes(&offset, sizeof(offset));
}

void pages_seal(unsigned char *page, sqlite3_int64 at)
{
	const uint64_t sum = page_checksum(page, at);
	memcpy(page + PAGE_BYTES - PAGE_RESERVED, &sum, sizeof(sum));
}

/* Is the checksum of a page right? offset: where the page stands, which counts as well. */
static bool is_page_intact(const unsigned char *page, sqlite3_int64 offset)
{
	uint64_t sum;
	memcpy(&sum, page + PAGE_BYTES - PAGE_RESERVED, sizeof(sum));
	return sum == page_checksum(page, offset);
}

/* A file whose header is sound and reserves nothing has no checksums: the index of an older version, which is refused
 * by its version later. SQLite's code. */
static int read_page_header(struct pages_file *p)
{
	unsigned char header[RESERVED_AT + 1];
	if (p->looked)
		return SQLITE_OK;
	int code = p->real->pMethods->xRead(p->real, header, sizeof(header), 0);
	if (code == SQLITE_IOERR_SHORT_READ)
		return SQLITE_OK; /* it is new */
	if (code != SQLITE_OK)
		return code;
	p->looked = true;
	p->plain = memcmp(header, HEADER_MAGIC, sizeof(HEADER_MAGIC)) == 0 && header[RESERVED_AT] != PAGE_RESERVED;
	return SQLITE_OK;
}

enum { TORN_TRIES = 40, TORN_WAIT = 25 }; /* ms: a second in all, for a writer that had to wait for a processor */

/* Reads a page that is to fit its checksum. With `again`, one that does not fit is read again for a second: it may be
 * one that another process folds in from the write-ahead log at this moment. */
static int read_whole_page(struct pages_file *p, unsigned char *into, sqlite3_int64 page, bool again)
{
	int code = p->real->pMethods->xRead(p->real, into, PAGE_BYTES, page);
	for (int i = 0; i < TORN_TRIES && again && code == SQLITE_OK && !is_page_intact(into, page); i++) {
		nanosleep(&(struct timespec){.tv_nsec = TORN_WAIT * 1000000L}, NULL);
		code = p->real->pMethods->xRead(p->real, into, PAGE_BYTES, page);
	}
	return code;
}

/* For SQLite: a page whose checksum is wrong is an error. */
static int pages_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	struct pages_file *p = of(f);
	int code = read_page_header(p);
	if (code != SQLITE_OK)
		return code;
	if (p->plain)
		return p->real->pMethods->xRead(p->real, to, n, at);
	sqlite3_int64 page = at - at % PAGE_BYTES;
	bool whole = n == PAGE_BYTES && page == at;
	unsigned char *into = whole ? to : p->room;
	if (at + n > page + PAGE_BYTES)
		return file_is_damaged(p);
	/* The first page is read before SQLite holds a lock that keeps others from folding the log in. */
	code = read_whole_page(p, into, page, page == 0);
	if (code == SQLITE_IOERR_SHORT_READ && !p->looked) {
		memset(to, 0, (size_t)n);
		return code;
	}
	if (code != SQLITE_OK)
		return code == SQLITE_IOERR_SHORT_READ ? file_is_damaged(p) : code;
	if (!is_page_intact(into, page))
		return file_is_damaged(p);
	if (!whole)
		memcpy(to, into + (at - page), (size_t)n);
	return SQLITE_OK;
}

/* For SQLite: whole pages get their checksum. */
static int pages_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	struct pages_file *p = of(f);
	if (!p->plain && n == PAGE_BYTES && at % PAGE_BYTES == 0) {
		memcpy(p->room, from, PAGE_BYTES - PAGE_RESERVED);
		pages_seal(p->room, at);
		from = p->room;
	}
	return p->real->pMethods->xWrite(p->real, from, n, at);
}

/* Whether it was found intact since the file was opened. */
static bool is_page_checked(struct pages_file *p, uint64_t page)
{
	return page < p->n_checked && p->checked[page / 8] >> page % 8 & 1;
}

/* Without memory the page is checked again the next time. */
static void mark_page_checked(struct pages_file *p, uint64_t page)
{
	if (page >= p->n_checked) {
		uint64_t n = (page + 1) * 2 + 512;
		unsigned char *more = realloc(p->checked, n / 8 + 1);
		if (!more)
			return;
		memset(more + (p->n_checked + 7) / 8, 0, n / 8 + 1 - (p->n_checked + 7) / 8);
		p->checked = more;
		p->n_checked = n / 8 * 8;
	}
	p->checked[page / 8] |= (unsigned char)(1 << page % 8);
}

/* For SQLite: a page in memory, whose checksum is looked at once. */
static int pages_fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **ret)
{
	struct pages_file *p = of(f);
	int code = read_page_header(p);
	*ret = NULL;
	if (code == SQLITE_OK)
		code = p->real->pMethods->xFetch(p->real, at, n, ret);
	if (code != SQLITE_OK || !*ret || p->plain)
		return code;
	uint64_t page = (uint64_t)at / PAGE_BYTES;
	if (n == PAGE_BYTES && at % PAGE_BYTES == 0) {
		if (is_page_checked(p, page))
			return SQLITE_OK;
		if (is_page_intact(*ret, at)) {
			mark_page_checked(p, page);
			return SQLITE_OK;
		}
	}
	p->real->pMethods->xUnfetch(p->real, at, *ret);
	*ret = NULL;
	return file_is_damaged(p);
}

/* Called by SQLite; the real file does it. */
static int pages_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
	return of(f)->real->pMethods->xUnfetch(of(f)->real, at, p);
}

/* The room is freed in any case. Gives SQLite's code. */
static int pages_close(sqlite3_file *f)
{
	struct pages_file *p = of(f);
	int code = p->real->pMethods->xClose(p->real);
	free(p->room);
	free(p->checked);
	return code;
}

int pages_check(sqlite3 *db)
{
	sqlite3_file *f = NULL;
	sqlite3_int64 size = 0;
	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f) != SQLITE_OK || !f || !f->pMethods)
		return -EIO;
	struct pages_file *p = of(f);
	if (p->real->pMethods->xFileSize(p->real, &size) != SQLITE_OK)
		return -EIO;
	unsigned char *page = malloc(PAGE_BYTES);
	int rc = page ? 1 : -ENOMEM;
	for (sqlite3_int64 at = 0; rc == 1 && at < size; at += PAGE_BYTES) {
		int code = read_whole_page(p, page, at, true);
		if (code == SQLITE_NOMEM)
			rc = -ENOMEM;
		else if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
			rc = -EIO;
		else
			rc = code == SQLITE_OK && is_page_intact(page, at);
	}
	free(page);
	return rc;
}

/* The rest is passed on. */
#define REAL(f) of(f)->real->pMethods
/* Called by SQLite; the real file does it. */
static int pages_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return REAL(f)->xTruncate(of(f)->real, n);
}
/* Called by SQLite; the real file does it. */
static int pages_sync(sqlite3_file *f, int flags)
{
	return REAL(f)->xSync(of(f)->real, flags);
}
/* Called by SQLite; the real file does it. */
static int pages_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return REAL(f)->xFileSize(of(f)->real, ret);
}
/* Called by SQLite; the real file does it. */
static int pages_lock(sqlite3_file *f, int how)
{
	return REAL(f)->xLock(of(f)->real, how);
}
/* Called by SQLite; the real file does it. */
static int pages_unlock(sqlite3_file *f, int how)
{
	return REAL(f)->xUnlock(of(f)->real, how);
}
/* Called by SQLite; the real file does it. */
static int pages_reserved(sqlite3_file *f, int *ret)
{
	return REAL(f)->xCheckReservedLock(of(f)->real, ret);
}
/* For SQLite: our own questions, and all others on. */
static int pages_control(sqlite3_file *f, int what, void *arg)
{
	if (what == PAGES_IS_PLAIN) {
		*(int *)arg = of(f)->plain;
		return SQLITE_OK;
	}
	if (what == PAGES_ARE_DAMAGED) {
		*(int *)arg = of(f)->damaged;
		return SQLITE_OK;
	}
	return REAL(f)->xFileControl(of(f)->real, what, arg);
}
/* Called by SQLite; the real file does it. */
static int pages_sector(sqlite3_file *f)
{
	return REAL(f)->xSectorSize(of(f)->real);
}
/* Called by SQLite; the real file does it. */
static int pages_device(sqlite3_file *f)
{
	return REAL(f)->xDeviceCharacteristics(of(f)->real);
}
/* Called by SQLite; the real file does it. */
static int pages_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return REAL(f)->xShmMap(of(f)->real, page, size, extend, ret);
}
/* Called by SQLite; the real file does it. */
static int pages_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return REAL(f)->xShmLock(of(f)->real, at, n, flags);
}
/* Called by SQLite; the real file does it. */
static void pages_shm_barrier(sqlite3_file *f)
{
	REAL(f)->xShmBarrier(of(f)->real);
}
/* Called by SQLite; the real file does it. */
static int pages_shm_unmap(sqlite3_file *f, int and_delete)
{
	return REAL(f)->xShmUnmap(of(f)->real, and_delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = pages_close,
    .xRead = pages_read,
    .xWrite = pages_write,
    .xTruncate = pages_truncate,
    .xSync = pages_sync,
    .xFileSize = pages_size,
    .xLock = pages_lock,
    .xUnlock = pages_unlock,
    .xCheckReservedLock = pages_reserved,
    .xFileControl = pages_control,
    .xSectorSize = pages_sector,
    .xDeviceCharacteristics = pages_device,
    .xShmMap = pages_shm_map,
    .xShmLock = pages_shm_lock,
    .xShmBarrier = pages_shm_barrier,
    .xShmUnmap = pages_shm_unmap,
    .xFetch = pages_fetch,
    .xUnfetch = pages_unfetch,
};

/* For SQLite: only the main database gets checksums. */
static int pages_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	sqlite3_vfs *real = real_vfs(v);
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return real->xOpen(real, name, f, flags, ret_flags);
	struct pages_file *p = of(f);
	*p = (struct pages_file){.real = (sqlite3_file *)(p + 1)};
	int code = real->xOpen(real, name, p->real, flags, ret_flags);
	if (code != SQLITE_OK)
		return code;
	p->room = malloc(PAGE_BYTES);
	if (!p->room || p->real->pMethods->iVersion < 3) {
		code = p->room ? SQLITE_ERROR : SQLITE_NOMEM;
		p->real->pMethods->xClose(p->real);
		free(p->room);
		return code;
	}
	p->base.pMethods = &methods;
	return SQLITE_OK;
}

void pages_over(sqlite3_vfs *ret, const char *name, sqlite3_vfs *real)
{
	*ret = *real;
	ret->pNext = NULL;
	ret->zName = name;
	ret->szOsFile = (int)sizeof(struct pages_file) + real->szOsFile;
	ret->pAppData = real;
	ret->xOpen = pages_open;
}

const char *pages_vfs(void)
{
	static sqlite3_vfs vfs; /* a copy of the default one, whose functions get its data by real_vfs only in ours */
	static const char name[] = "stemma-pages";
	if (sqlite3_vfs_find(name))
		return name;
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);
	if (!real)
		return NULL;
	pages_over(&vfs, name, real);
	return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? name : NULL;
}
