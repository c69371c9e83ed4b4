/* pages.h - a checksum in each page of the index, checked when the page is first read.
 *
 * SQLite finds damage only where it breaks the structure of a page. This layer below it (a VFS) keeps XXH3-64 of each
 * page and its number in the last 8 bytes, which SQLite leaves alone (SQLITE_FCNTL_RESERVE_BYTES), writes it whenever a
 * page of the database file is written, and answers SQLITE_CORRUPT for a page that does not fit it; for the first page,
 * which is read before there is a lock, if it does not for a second. Mapped pages are
 * checked once a connection. Pages in the write-ahead log have SQLite's own checksums.
 *
 * Cost: about 1 us for each page that a process touches. */
#ifndef STEMMA_STORE_PAGES_H
#define STEMMA_STORE_PAGES_H

#include <sqlite3.h>

#define PAGE_BYTES 16384
#define PAGE_RESERVED 8

/* The name of the VFS, for sqlite3_open_v2; registers it. NULL without memory. */
const char *pages_vfs(void);
/* Fills ret, a VFS to be registered as name: it adds checksums to the files of real. It copies neither name nor real,
 * and frees nothing: the caller keeps both until ret is unregistered. */
void pages_over(sqlite3_vfs *ret, const char *name, sqlite3_vfs *real);
/* Writes the checksum into the page that stands there in its file. */
void pages_seal(unsigned char *page, sqlite3_int64 at);
/* Remembers that damage was met and calls who wants to know (store_on_damage); returns SQLITE_CORRUPT. */
int pages_damaged(void);
/* Checks all pages of an open database, which others may write. It reads through the connection: POSIX locks belong to
 * the process and the file, so opening and closing the file here would give up those of every connection of the
 * process. 1 all fit, 0 one does not, -errno. */
int pages_check(sqlite3 *db);
/* For sqlite3_file_control: is it a file without checksums? into an int. */
#define PAGES_IS_PLAIN 0x53544d50
/* Was a page of the file met that does not fit its checksum? into an int. */
#define PAGES_ARE_DAMAGED 0x53544d51

#endif
