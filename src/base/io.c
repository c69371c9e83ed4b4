#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int io_write(int fd, const void *p, size_t n, size_t *ret_done)
{
	size_t done = 0;
	int r = 0;
	while (done < n) {
		ssize_t k = write(fd, (const char *)p + done, n - done);
		if (k > 0) {
			done += (size_t)k;
		} else if (k == 0 || errno != EINTR) {
			r = k == 0 ? -EIO : -errno; /* 0 would repeat for ever */
			break;
		}
	}
	if (ret_done)
		*ret_done = done;
	return r;
}

/* Reads n bytes, or fewer at the end of the file. offset -1: from where fd stands, which moves on. -errno. */
static ssize_t read_from(int fd, void *p, size_t n, off_t offset)
{
	size_t done = 0;
	while (done < n) {
		char *to = (char *)p + done;
		ssize_t k = offset < 0 ? read(fd, to, n - done) : pread(fd, to, n - done, offset + (off_t)done);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		done += (size_t)k;
	}
	return (ssize_t)done;
}

ssize_t io_pread(int fd, void *p, size_t n, uint64_t offset)
{
	return offset > INT64_MAX - n ? 0 : read_from(fd, p, n, (off_t)offset);
}

ssize_t io_read(int fd, void *p, size_t n)
{
	return read_from(fd, p, n, -1);
}

int io_read_rest(int fd, size_t most, struct buf *ret)
{
	const size_t from = ret->n;
	struct stat st;
	most -= most == SIZE_MAX;
	/* Room for all of it and one byte more, which says that there was no more; what has no size comes in pieces. */
	size_t piece = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : 65536;
	for (;;) {
		size_t left = most + 1 - (ret->n - from), n = piece < left ? piece : left;
		if (!buf_room(ret, n))
			return -ENOMEM;
		ssize_t k = io_read(fd, ret->p + ret->n, n);
		if (k < 0)
			return (int)k;
		ret->n += (size_t)k;
		if (ret->n - from > most)
			return -EFBIG;
		if ((size_t)k < n)
			return 0;
		piece = 65536;
	}
}

int io_read_file(const char *path, size_t most, struct buf *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int rc = io_read_rest(fd, most, ret);
	close(fd);
	return rc;
}

ssize_t io_read_text(const char *path, char *ret, size_t size)
{
	/* The kernel makes such a file as it is read, a page at most at a time, in whole lines: these are shorter than half
	 * a page, so that what a read gives less than that was the last. */
	enum { LAST = 2048 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : 0;
	size_t have = 0;
	if (fd >= 0)
		do {
			n = read(fd, ret + have, size - 1 - have);
			have += n > 0 ? (size_t)n : 0;
		} while (n >= LAST && have < size - 1);
	int e = errno;
	if (fd >= 0)
		close(fd);
	have = n < 0 ? 0 : have;
	ret[have] = '\0';
	return n < 0 ? -e : (ssize_t)have;
}

size_t io_text(const char *path, char *ret, size_t size)
{
	ssize_t n = io_read_text(path, ret, size);
	errno = n < 0 ? (int)-n : errno;
	return n > 0 ? (size_t)n : 0;
}

bool io_own(const char *built, const char *installed, char *ret, size_t size)
{
	const char *const places[] = {built, installed};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(exe, '/');
	for (size_t i = 0; slash && i < 2; i++)
		if (snprintf(ret, size, "%.*s/%s", (int)(slash - exe), exe, places[i]) < (int)size && access(ret, R_OK) == 0)
			return true;
	return false;
}

/* Makes a directory. 0, also where it is there already; -ENOTDIR: as something else; -errno. */
static int make_directory(const char *path, mode_t mode)
{
	struct stat st;
	if (mkdir(path, mode) == 0)
		return 0;
	int e = errno;
	/* mkdir of an existing directory may also say EROFS, EACCES or EPERM */
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return -e;
}

int io_mkdirs(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	if (n == 0)
		return -ENOENT;
	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	int r = make_directory(path, mode);
	if (r != -ENOENT)
		return r;
	memcpy(part, path, n + 1);
	for (char *s = part + 1; *s; s++) {
		if (*s != '/' || s[-1] == '/')
			continue;
		*s = '\0';
		r = make_directory(part, mode);
		*s = '/';
		if (r < 0)
			return r;
	}
	return make_directory(path, mode);
}

/* A folder of that name, made readable and writable if it is not. Its descriptor, -errno. */
static int open_folder(int dir, const char *name)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	struct stat st;
	int fd = openat(dir, name, FLAGS);
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dir, name, FLAGS);
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		fchmod(fd, S_IRWXU); /* or what is in it stays */
	return fd < 0 ? -errno : fd;
}

static int remove_below(int dir, unsigned depth);

/* A file or a folder with all in it. 0, also where it is not there; -ELOOP: deeper than IO_DEPTH; -errno. */
static int remove_one(int dir, const char *name, unsigned depth)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth == IO_DEPTH)
		return -ELOOP;
	int fd = open_folder(dir, name);
	if (fd < 0)
		return fd;
	int r = remove_below(fd, depth);
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : r < 0 ? r : -errno;
}

/* Takes dir. Goes on after an error. 0; the first -errno. */
static int remove_below(int dir, unsigned depth)
{
	DIR *d = fdopendir(dir);
	int r = d ? 0 : -errno;
	if (!d)
		close(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		int one = strcmp(e->d_name, ".") && strcmp(e->d_name, "..") ? remove_one(dirfd(d), e->d_name, depth + 1) : 0;
		r = r < 0 ? r : one;
	}
	if (d)
		closedir(d);
	return r;
}

int io_remove_all(const char *path)
{
	return remove_one(AT_FDCWD, path, 0);
}

int io_above_std(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int e = errno;
	close(fd);
	return high < 0 ? -e : high;
}

bool io_is_local(int fd)
{
	static const uint32_t shared[] = {
	    0x6969,     /* nfs */
	    0x517b,     /* smb */
	    0xff534d42, /* cifs */
	    0xfe534d42, /* smb2 */
	    0x0bd00bd0, /* lustre */
	    0x47504653, /* gpfs */
	    0x5346414f, /* afs */
	    0x6b414653, /* kafs */
	    0x73757245, /* coda */
	    0x00c36400, /* ceph */
	    0x65735546, /* fuse: sshfs, glusterfs, ... */
	    0xaad7aaea, /* panfs */
	    0x19830326, /* beegfs */
	    0x01021997, /* 9p */
	    0x20030528, /* orangefs */
	    0x7461636f, /* ocfs2 */
	    0x01161970, /* gfs2 */
	};
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if ((uint32_t)fs.f_type == shared[i])
			return false;
	return true;
}

unsigned long io_outer_uid(void)
{
	unsigned long uid = geteuid(), inside, outside, count, found = uid;
	FILE *f = fopen("/proc/self/uid_map", "re");
	while (f && fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
		if (uid >= inside && uid - inside < count)
			found = outside + (uid - inside);
	if (f)
		fclose(f);
	return found;
}
