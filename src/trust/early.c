#include "trust/early.h"

#include "base/io.h"
#include "trust/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* arg: struct early, in the worker's copy of it. What cannot be copied is passed over: rerun says what is not kept. */
static void keep_early(void *arg, uint64_t number, int folder, const char *path, uint64_t ino)
{
	const struct early *e = arg;
	char to[4200];
	struct stat st;
	int n = snprintf(to, sizeof(to), "%s/%llu", e->folder, (unsigned long long)number);
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && n > 0 && (size_t)n < sizeof(to) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == ino)
		kept_copy(fd, to, 0400);
	if (fd >= 0)
		close(fd);
}

int early_begin(const char *home, struct err *err, struct early *ret)
{
	struct timespec now;
	char *kept = NULL;
	*ret = (struct early){0};
	int rc = asprintf(&kept, "%s/kept", home) < 0 || asprintf(&ret->folder, "%s/.early.XXXXXX", kept) < 0
	             ? -ENOMEM
	             : io_mkdirs(kept, 0700);
	if (rc == 0 && !mkdtemp(ret->folder))
		rc = -errno;
	free(kept);
	if (rc < 0) {
		free(ret->folder);
		ret->folder = NULL;
		return err_set(err, -rc, "cannot make a folder for copies of inputs in '%s'", home);
	}
	/* The clock of file times: what is not earlier by it may have changed since. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ret->keeper = (struct run_keeper){
	    .arg = ret, .began = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, .most = EARLY_MOST, .keep = keep_early};
	return 0;
}

int early_open(const char *folder, uint64_t number)
{
	char path[4200];
	int n = snprintf(path, sizeof(path), "%s/%llu", folder, (unsigned long long)number);
	int fd = n > 0 && (size_t)n < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	return fd >= 0 ? fd : n > 0 ? -errno : -EINVAL;
}

void early_end(struct early *e)
{
	if (e->folder)
		io_remove_all(e->folder);
	free(e->folder);
	*e = (struct early){0};
}
