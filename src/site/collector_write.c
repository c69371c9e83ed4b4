/* collector_write.c - where frames go: logs/HOST/collected-SENDER/0.stl and its rolls, a slot like those of writers,
 * leased while something is appended, so that `forget` and `gc` can put another segment in its place in between. */
#include "site/collector_int.h"

#include "base/io.h"
#include "event/log_format.h"
#include "event/log_lease.h"
#include "site/segment_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LEASE_WAIT_MS = 60000 };

/* Makes the names above path durable: day, host, logs. */
static void sync_folders(const char *path)
{
	char *dir = strdup(path), *slash = dir;
	for (int i = 0; i < 4 && slash && (slash = strrchr(dir, '/')) && slash != dir; i++) {
		*slash = '\0';
		int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0) {
			fsync(fd);
			close(fd);
		}
	}
	free(dir);
}

/* The segment that is appended to now: the last roll of the folder, or a new one where that is full. malloc'ed. *ret is
 * the caller's. -errno, reported. */
static int find_segment(const char *dir, struct err *err, char **ret)
{
	struct segment_list list;
	struct stat st;
	unsigned roll = 0;
	int rc = segment_list_read(dir, err, &list);
	if (rc < 0)
		return rc;
	const char *last = list.paths.n ? list.paths.v[list.paths.n - 1] : NULL;
	const char *name = last ? strrchr(last, '/') : NULL;
	if (name && sscanf(name, "/0.%u.stl", &roll) != 1)
		roll = 0;
	if (last && stat(last, &st) == 0 && st.st_size >= (off_t)LOG_SEGMENT_MAX)
		roll++;
	rc = roll ? asprintf(ret, "%s/0.%u.stl", dir, roll) : asprintf(ret, "%s/0.stl", dir);
	segment_list_release(&list);
	return rc < 0 ? err_set(err, ENOMEM, "cannot collect") : 0;
}

/* Durable; nothing is appended on an error. -errno, reported. */
static int append_to(const char *path, const struct buf *bytes, struct err *err)
{
	struct stat st;
	bool made = false;
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		made = fd >= 0;
	}
	if ((fd = fd < 0 ? -errno : io_above_std(fd)) < 0 || fstat(fd, &st) < 0) {
		const int e = fd < 0 ? -fd : errno;
		if (fd >= 0)
			close(fd);
		return err_set(err, e, "cannot open '%s'", path);
	}
	int rc = io_write(fd, bytes->p, bytes->n, NULL);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (rc < 0 && ftruncate(fd, st.st_size) < 0)
		rc = rc == -ENOSPC ? -EIO : rc; /* what is left there is cut off when the collector is opened again */
	close(fd);
	if (rc < 0)
		return err_set(err, -rc, "cannot write '%s'", path);
	if (made)
		sync_folders(path);
	return 0;
}

/* Holds the lease of the sender's slot meanwhile. -errno, reported. */
static int append_out(const struct collector *c, const struct collector_out *o, const char *sender, struct err *err)
{
	char day[sizeof(COLLECTED_DAY) + COLLECTOR_NAME];
	const char *host = c->hosts.v[o->host].name;
	char *dir = NULL, *path = NULL;
	int lease[LOG_LEASE_PLACES];
	snprintf(day, sizeof(day), COLLECTED_DAY "%s", sender);
	if (asprintf(&dir, "%s/logs/%s/%s", c->home, host, day) < 0)
		return err_set(err, ENOMEM, "cannot collect");
	int rc = io_mkdirs(dir, 0700);
	if (rc < 0)
		err_set(err, -rc, "cannot make the folder '%s'", dir);
	if (rc == 0 && (rc = log_lease_hold(c->home, host, day, 0, LEASE_WAIT_MS, lease)) < 0)
		err_set(err, -rc, "cannot append to the segments in '%s'", dir);
	if (rc == 0) {
		rc = find_segment(dir, err, &path);
		rc = rc < 0 ? rc : append_to(path, &o->bytes, err);
		for (unsigned i = 0; i < LOG_LEASE_PLACES; i++)
			if (lease[i] >= 0)
				close(lease[i]);
	}
	free(path);
	free(dir);
	return rc;
}

int collector_append(struct collector *c, const char *sender, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->out.n; i++)
		rc = c->out.v[i].bytes.failed ? err_set(err, ENOMEM, "cannot collect")
		     : c->out.v[i].bytes.n    ? append_out(c, &c->out.v[i], sender, err)
		                              : 0;
	return rc;
}

int collector_cut_tail(const struct collector *c, const char *path, const char *host, const char *day, uint64_t whole,
                       struct err *err)
{
	int lease[LOG_LEASE_PLACES];
	int rc = log_lease_hold(c->home, host, day, 0, LEASE_WAIT_MS, lease);
	if (rc < 0)
		return err_set(err, -rc, "cannot cut the torn end of '%s'", path);
	rc = truncate(path, (off_t)whole) < 0 ? err_set(err, errno, "cannot mend '%s'", path) : 0;
	for (unsigned i = 0; i < LOG_LEASE_PLACES; i++)
		if (lease[i] >= 0)
			close(lease[i]);
	return rc;
}
