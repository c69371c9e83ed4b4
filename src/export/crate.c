/* crate.c - see crate.h. */
#include "export/crate.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#endif

struct crate {
	struct export_dir dir;
	struct archive *zip; /* NULL: a directory */
	char *path, *temporary;
	int fd;
};

/* Also what is temporary; the file at its path stays. */
static void crate_free(struct crate *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->path);
	free(c->temporary);
	free(c);
}

/* Always -ENOTSUP, with a sentence. */
static int no_zip(struct crate *c, struct err *err, const char *why)
{
	err_set(err, 0, "cannot make '%s': %s", c->path, why);
	err_hint(err, "a name without .zip makes a directory");
	return -ENOTSUP;
}

#ifdef HAVE_LIBARCHIVE
/* Loaded when an archive is made: with what it needs itself (libxml2, ICU, C++) each start of stemma would take 2.5 ms
 * longer. */
#define CALLS(CALL)                                                                                                    \
	CALL(archive_write_new)                                                                                            \
	CALL(archive_write_set_format_zip)                                                                                 \
	CALL(archive_write_set_options)                                                                                    \
	CALL(archive_write_open_fd)                                                                                        \
	CALL(archive_write_header)                                                                                         \
	CALL(archive_write_data)                                                                                           \
	CALL(archive_write_close)                                                                                          \
	CALL(archive_write_free)                                                                                           \
	CALL(archive_errno)                                                                                                \
	CALL(archive_entry_new)                                                                                            \
	CALL(archive_entry_free)                                                                                           \
	CALL(archive_entry_set_pathname_utf8)                                                                              \
	CALL(archive_entry_set_size)                                                                                       \
	CALL(archive_entry_set_filetype)                                                                                   \
	CALL(archive_entry_set_perm)                                                                                       \
	CALL(archive_entry_set_mtime)
static struct {
#define CALL(name) __typeof__(&name) name;
	CALLS(CALL)
#undef CALL
} lib;

/* Loads it at the first call; it is never unloaded. */
bool crate_can_zip(void)
{
	static void *handle;
	if (!handle)
		handle = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
	bool all = handle != NULL;
#define CALL(name) all = all && (*(void **)&lib.name = dlsym(handle, #name)) != NULL;
	CALLS(CALL)
#undef CALL
	return all;
}

/* The archive's last error with a sentence: -errno, -EIO if it gave none. */
static int zip_error(struct crate *c, struct err *err)
{
	int e = lib.archive_errno(c->zip);
	return err_set(err, e > 0 ? e : EIO, "cannot write '%s'", c->path);
}

/* 0; -errno with a sentence. */
static int zip_open(struct crate *c, struct err *err)
{
	if (!crate_can_zip())
		return no_zip(c, err, "libarchive is not installed");
	if (asprintf(&c->temporary, "%s.XXXXXX", c->path) < 0) {
		c->temporary = NULL;
		return err_set(err, ENOMEM, "cannot create '%s'", c->path);
	}
	mode_t mask = umask(0);
	umask(mask);
	c->fd = mkostemp(c->temporary, O_CLOEXEC);
	if (c->fd < 0)
		return err_set(err, errno, "cannot create '%s'", c->path);
	fchmod(c->fd, 0666 & ~mask);
	c->zip = lib.archive_write_new();
	if (!c->zip)
		return err_set(err, ENOMEM, "cannot create '%s'", c->path);
	if (lib.archive_write_set_format_zip(c->zip) != ARCHIVE_OK ||
	    lib.archive_write_set_options(c->zip, "zip:hdrcharset=UTF-8") != ARCHIVE_OK ||
	    lib.archive_write_open_fd(c->zip, c->fd) != ARCHIVE_OK)
		return zip_error(c, err);
	return 0;
}

/* 0; -EBUSY: the file became shorter; -errno; with a sentence. */
static int zip_put(struct crate *c, const char *name, int fd, uint64_t size, struct err *err)
{
	struct archive_entry *e = lib.archive_entry_new();
	struct stat st;
	if (!e || fstat(fd, &st) < 0) {
		lib.archive_entry_free(e);
		return err_set(err, e ? errno : ENOMEM, "cannot write '%s'", c->path);
	}
	lib.archive_entry_set_pathname_utf8(e, name);
	lib.archive_entry_set_size(e, (int64_t)size);
	lib.archive_entry_set_filetype(e, AE_IFREG);
	lib.archive_entry_set_perm(e, 0644);
	lib.archive_entry_set_mtime(e, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	int r = lib.archive_write_header(c->zip, e) == ARCHIVE_OK ? 0 : zip_error(c, err);
	lib.archive_entry_free(e);
	char piece[1 << 16];
	uint64_t done = 0;
	while (r == 0 && done < size) {
		ssize_t n = pread(fd, piece, size - done < sizeof(piece) ? size - done : sizeof(piece), (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = err_set(err, errno, "cannot read '%s'", name);
		else if (n == 0)
			r = err_set(err, EBUSY, "'%s' became shorter while it was copied", name);
		else if (lib.archive_write_data(c->zip, piece, (size_t)n) != n)
			r = zip_error(c, err);
		done += n > 0 ? (uint64_t)n : 0;
	}
	return r;
}

/* r: 0: the archive gets its name. r, or -errno with a sentence. */
static int zip_close(struct crate *c, int r, struct err *err)
{
	if (c->zip) {
		if (r == 0 && lib.archive_write_close(c->zip) != ARCHIVE_OK)
			r = zip_error(c, err);
		lib.archive_write_free(c->zip);
	}
	if (r == 0 && rename(c->temporary, c->path) < 0)
		r = err_set(err, errno, "cannot create '%s'", c->path);
	if (r < 0 && c->fd >= 0)
		unlink(c->temporary);
	return r;
}
#else
/* Built without: never. */
bool crate_can_zip(void)
{
	return false;
}

/* Always an error, with a sentence. */
static int zip_open(struct crate *c, struct err *err)
{
	return no_zip(c, err, "built without libarchive");
}

/* Always -ENOTSUP: there is no zip in this build. */
static int zip_put(struct crate *c, const char *name, int fd, uint64_t size, struct err *err)
{
	(void)name;
	(void)fd;
	(void)size;
	return err_set(err, ENOTSUP, "cannot write '%s'", c->path);
}

/* Without libarchive: gives r. */
static int zip_close(struct crate *c, int r, struct err *err)
{
	(void)c;
	(void)err;
	return r;
}
#endif

int crate_open(const char *path, struct err *err, struct crate **ret)
{
	struct crate *c = calloc(1, sizeof(*c));
	if (!c || !(c->path = strdup(path))) {
		free(c);
		return err_set(err, ENOMEM, "cannot create '%s'", path);
	}
	c->fd = c->dir.fd = -1;
	bool zip = str_ends(str_of(path), str_of(".zip"));
	int r = zip ? zip_open(c, err) : export_dir_open(path, err, &c->dir);
	if (r < 0) {
		if (zip)
			zip_close(c, r, err);
		crate_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* Copies a file into the folder. As zip_put. 0, -errno with a sentence. */
static int dir_put(struct crate *c, const char *name, int fd, uint64_t size, struct err *err)
{
	int to, r = export_dir_file(&c->dir, name, err, &to);
	if (r < 0)
		return r;
	off_t at = 0;
	char piece[1 << 16];
	while (r == 0 && (uint64_t)at < size) {
		/* Where both lie in one file system that can, the blocks are shared. */
		ssize_t n = copy_file_range(fd, &at, to, NULL, size - (uint64_t)at, 0);
		if (n < 0 && errno != EINTR) {
			n = pread(fd, piece, sizeof(piece) < size - (uint64_t)at ? sizeof(piece) : size - (uint64_t)at, at);
			if (n > 0)
				n = write(to, piece, (size_t)n);
			at += n > 0 ? n : 0;
			if (n < 0 && errno != EINTR)
				r = err_set(err, errno, "cannot copy '%s'", name);
		}
		if (n == 0)
			r = err_set(err, EBUSY, "'%s' became shorter while it was copied", name);
	}
	if (close(to) < 0 && r == 0)
		r = err_set(err, errno, "cannot copy '%s'", name);
	return r;
}

int crate_put(struct crate *c, const char *name, int fd, uint64_t size, struct err *err)
{
	return (c->zip ? zip_put : dir_put)(c, name, fd, size, err);
}

int crate_close(struct crate *c, int r, struct err *err)
{
	r = c->zip ? zip_close(c, r, err) : export_dir_close(&c->dir, r, err);
	crate_free(c);
	return r;
}
