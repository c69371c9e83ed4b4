#include "import/place.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST_LEN 64 /* of a host's folder: HOST_NAME_MAX */

/* A folder's name for a host: letters, digits, '.', '-' and '_'; not hidden. */
static void host_folder(struct str host, char ret[HOST_LEN + 1])
{
	size_t n = 0;
	for (size_t i = 0; i < host.n && n < HOST_LEN; i++) {
		char c = host.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
		             c == '_' || (c == '.' && n);
		ret[n++] = plain ? c : '_';
	}
	if (!n)
		ret[n++] = '_';
	ret[n] = '\0';
}

int place_open(const char *home, struct str host, uint64_t name, struct err *err, struct place *ret)
{
	char folder[HOST_LEN + 1], *dir = NULL;
	struct place p = {.fd = -1};
	struct stat st;
	int r;
	host_folder(host, folder);
	if (asprintf(&dir, "%s/logs/%s/import", home, folder) < 0)
		return err_set(err, ENOMEM, "cannot import");
	if (asprintf(&p.path, "%s/%016llx.stl", dir, (unsigned long long)name) < 0 ||
	    asprintf(&p.temporary, "%s/.%016llx.XXXXXX", dir, (unsigned long long)name) < 0) {
		r = err_set(err, ENOMEM, "cannot import");
	} else if (lstat(p.path, &st) == 0) {
		r = 0;
	} else if ((r = io_mkdirs(dir, 0700)) < 0) {
		err_set(err, -r, "cannot make the folder '%s'", dir);
	} else if ((p.fd = mkostemp(p.temporary, O_CLOEXEC)) < 0) { /* 0600 */
		r = err_set(err, errno, "cannot create a file in '%s'", dir);
	} else
		r = 1;
	free(dir);
	if (r > 0) {
		*ret = p;
		return 1;
	}
	free(p.path);
	free(p.temporary);
	return r;
}

/* 0, -errno with a sentence. */
int place_write(struct place *p, const void *bytes, size_t n, struct err *err)
{
	int r = io_write(p->fd, bytes, n, NULL);
	return r < 0 ? err_set(err, -r, "cannot write '%s'", p->path) : 0;
}

int place_sync(struct place *p, struct err *err)
{
	int r = fsync(p->fd) < 0 ? err_set(err, errno, "cannot write '%s'", p->path) : 0;
	if (close(p->fd) < 0 && r == 0)
		r = err_set(err, errno, "cannot write '%s'", p->path);
	p->fd = -1;
	return r;
}

int place_show(struct place *p, struct err *err)
{
	if (rename(p->temporary, p->path) < 0)
		return err_set(err, errno, "cannot create '%s'", p->path);
	free(p->temporary);
	p->temporary = NULL;
	/* The name, and those of the folders above it that may be new: import, host, logs. */
	char *dir = strdup(p->path), *slash = dir;
	for (int i = 0; i < 4 && slash && (slash = strrchr(dir, '/')) && slash != dir; i++) {
		*slash = '\0';
		int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			fsync(fd);
			close(fd);
		}
	}
	free(dir);
	return 0;
}

void place_drop(struct place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->temporary)
		unlink(p->temporary);
	free(p->temporary);
	free(p->path);
	*p = (struct place){.fd = -1};
}
