/* io.h - the few file operations that everybody needs done right: whole writes, whole reads, directories. */
#ifndef STEMMA_BASE_IO_H
#define STEMMA_BASE_IO_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes n bytes, going on after short writes and signals. 0 or -errno; *ret_done (may be NULL) is set in both cases to
 * the bytes that were written. */
int io_write(int fd, const void *p, size_t n, size_t *ret_done);
/* Reads up to n bytes at offset, fewer only at the end of the file. Bytes read, or -errno. */
ssize_t io_pread(int fd, void *p, size_t n, uint64_t offset);
/* Reads up to n bytes from where fd stands, fewer only at the end. Bytes read, or -errno. */
ssize_t io_read(int fd, void *p, size_t n);
/* Appends what is left of fd, a file or a pipe. 0 or -errno: -EFBIG where that is more than `most` bytes. */
int io_read_rest(int fd, size_t most, struct buf *ret);
/* Appends a whole file likewise; "-" is a name like others. */
int io_read_file(const char *path, size_t most, struct buf *ret);
/* A small text, as the files of /proc are: as much as ret has room for, and a NUL behind it. Bytes, or -errno with ""
 * in ret. */
ssize_t io_read_text(const char *path, char *ret, size_t size);
/* Reads a text into ret for who does not ask for the reason of a failure: 0 where it cannot be read, with errno.
 * Else its length. */
size_t io_text(const char *path, char *ret, size_t size);
/* Something of stemma's own, by its path from the folder of the program that runs: where it was built, else where it
 * was installed. False: it is at neither, or cannot be read. */
bool io_own(const char *built, const char *installed, char *ret, size_t size);
/* Makes a directory and those above it that are missing, each with mode. 0 or -errno; an existing directory is fine. */
int io_mkdirs(const char *path, mode_t mode);
/* Removes a file, a link, or a folder with all that is in it, also where modes forbid it. Every step goes by the
 * descriptor of the folder that it is in, so no link is followed: who can write there, even while this goes on, can
 * lead it nowhere else. 0, or -errno of the first that stays; what lies IO_DEPTH folders deep stays. */
int io_remove_all(const char *path);
enum { IO_DEPTH = 256 };
/* Gives the file a descriptor above the standard streams (fd is
 * closed when it moved). -errno on failure. */
int io_above_std(int fd);
/* The user's number outside the user namespace that this process may be in: what its files belong to, seen from there,
 * and what a place that all users share is to be named by. */
unsigned long io_outer_uid(void);
/* True unless fd is on a file system that other machines may write (network, cluster, FUSE): only on local ones are
 * locks kept on. */
bool io_is_local(int fd);

#endif
