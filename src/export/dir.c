/* dir.c - see dir.h. */
#include "export/dir.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* It is closed then; what was written stays. */
static void export_dir_release(struct export_dir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	free(d->path);
	free(d->temporary);
	*d = (struct export_dir){.fd = -1};
}

int export_dir_open(const char *path, struct err *err, struct export_dir *ret)
{
	struct export_dir d = {.fd = -1, .path = strdup(path)};
	*ret = (struct export_dir){.fd = -1};
	if (!d.path)
		return err_set(err, ENOMEM, "cannot create '%s'", path);
	for (size_t n = strlen(d.path); n > 1 && d.path[n - 1] == '/'; n--)
		d.path[n - 1] = '\0';
	/* What is in the way is known before the work: an empty directory would give way in the end, and is put back. */
	struct stat st;
	if (lstat(d.path, &st) == 0) {
		if (!S_ISDIR(st.st_mode) || rmdir(d.path) < 0) {
			export_dir_release(&d);
			return err_set(err, EEXIST, "cannot create '%s'", path);
		}
		mkdir(d.path, st.st_mode & 07777);
	}
	mode_t mask = umask(0);
	umask(mask);
	if (asprintf(&d.temporary, "%s.XXXXXX", d.path) < 0)
		d.temporary = NULL;
	if (!d.temporary || !mkdtemp(d.temporary)) {
		int e = d.temporary ? errno : ENOMEM;
		export_dir_release(&d);
		return err_set(err, e, "cannot create '%s'", path);
	}
	chmod(d.temporary, 0777 & ~mask);
	d.fd = open(d.temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d.fd < 0) {
		int e = errno;
		rmdir(d.temporary);
		export_dir_release(&d);
		return err_set(err, e, "cannot create '%s'", path);
	}
	*ret = d;
	return 0;
}

int export_dir_close(struct export_dir *d, int r, struct err *err)
{
	if (d->fd < 0)
		return r;
	if (r == 0 && rename(d->temporary, d->path) < 0)
		r = err_set(err, errno, "cannot create '%s'", d->path);
	if (r < 0)
		io_remove_all(d->temporary);
	export_dir_release(d);
	return r;
}

int export_dir_file(struct export_dir *d, const char *name, struct err *err, int *ret)
{
	char *copy = strdup(name);
	int fd = -1, at = dup(d->fd);
	const char *part = copy;
	/* One component at a time: a path of a file may be longer than one call takes. */
	for (char *slash; copy && at >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		*slash = '\0';
		if (!*part)
			continue;
		mkdirat(at, part, 0777);
		int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int e = errno;
		close(at);
		errno = e;
		at = next;
	}
	if (copy && at >= 0)
		fd = openat(at, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	int e = copy ? errno : ENOMEM;
	if (at >= 0)
		close(at);
	free(copy);
	if (fd < 0)
		return err_set(err, e, "cannot create '%s/%s'", d->path, name);
	*ret = fd;
	return 0;
}
