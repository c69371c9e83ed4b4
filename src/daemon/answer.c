#include "daemon/answer.h"

#include "daemon/request.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A copy is there for as long as the asker keeps it open, and many of them would fill the disk that everybody's record
 * needs: none is made where too little would be left. */
static int has_room(const char *path, struct err *err)
{
	const uint64_t most = 1u << 30;
	struct statvfs fs;
	struct stat st;
	if (statvfs(path, &fs) < 0 || stat(path, &st) < 0)
		return 0; /* what follows fails, or does not */
	uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize, part = (uint64_t)fs.f_blocks * fs.f_frsize / 20;
	if (left >= (uint64_t)st.st_size + (part < most ? part : most))
		return 0;
	return err_set(err, ENOSPC, "the disk of the node's record is nearly full");
}

/* A copy without a name, readable by whoever holds it. -errno. */
static int copy_of(const char *path)
{
	char dir[4096], name[48];
	snprintf(dir, sizeof(dir), "%s", path);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	int from = open(path, O_RDONLY | O_CLOEXEC), to = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0444), r = 0;
	if (from < 0 || to < 0) {
		r = -errno;
		goto out;
	}
	if (ioctl(to, FICLONE, from) < 0) {
		ssize_t n;
		do
			n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0);
		while (n > 0);
		r = n < 0 ? -errno : 0;
	}
	fchmod(to, 0444);
	if (r == 0) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", to);
		r = open(name, O_RDONLY | O_CLOEXEC);
		r = r < 0 ? -errno : r;
	}
out:
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return r;
}

int answer_store(const char *home, int sock)
{
	struct rlimit cpu = {600, 600};
	struct store *s = NULL;
	struct err err = {0};
	struct store_index_stats stats;
	struct store_index_options o = {0};
	char line[REQUEST_MAX];
	int fd = -1;
	setrlimit(RLIMIT_CPU, &cpu);
	errno = 0;
	if (nice(5) < 0 && errno)
		errno = 0; /* it may go on as it is */
	setenv("STEMMA_HOME", home, 1);
	char logs[4096];
	struct stat st;
	snprintf(logs, sizeof(logs), "%s/logs", home);
	int r = stat(logs, &st) < 0 ? -ENOENT : store_open(home, STORE_WRITE, &err, &s);
	if (r == -ENOENT && !err.text[0])
		err_set(&err, 0, "nothing of yours has been recorded on this node yet");
	if (r == 0)
		r = store_index(s, &o, &err, &stats);
	if (r == 0) {
		char *path = strdup(store_index_path(s));
		store_close(s); /* all of it is in the file then */
		s = NULL;
		fd = path ? has_room(path, &err) : -ENOMEM;
		fd = fd < 0 ? fd : copy_of(path);
		free(path);
		r = fd < 0 ? fd : 0;
	}
	store_close(s);
	int n = r == 0 ? snprintf(line, sizeof(line), "ok")
	               : snprintf(line, sizeof(line), "no %s", err.text[0] ? err.text : strerror(-r));
	r = request_reply(sock, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1, fd);
	if (fd >= 0)
		close(fd);
	return r < 0;
}
