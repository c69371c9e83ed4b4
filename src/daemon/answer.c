#include "daemon/answer.h"

#include "base/io.h"
#include "base/late/late.h"
#include "daemon/confine.h"
#include "daemon/disk.h"
#include "daemon/request.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A copy is there for as long as the asker keeps it open, and many of them would fill the disk that everybody's record
 * needs: none is made where too little would be left, which is more than the floor of the logs. 0; -ENOSPC with a
 * sentence. */
static int has_disk_room(const char *path, uint64_t floor, struct err *err)
{
	struct statvfs fs;
	struct stat st;
	if (statvfs(path, &fs) < 0 || stat(path, &st) < 0)
		return 0; /* what follows fails, or does not */
	uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (left >= (uint64_t)st.st_size + DISK_COPIES * disk_floor(&fs, floor))
		return 0;
	return err_set(err, ENOSPC, "the disk of the node's record is nearly full: ask an administrator of this node");
}

/* A copy without a name, readable by whoever holds it. -errno. */
static int copy_unnamed(const char *path)
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

/* ---- limits ---- */

/* Lowers a limit of this process; one that is lower stays. */
static void set_limit(int what, uint64_t value)
{
	struct rlimit r;
	if (getrlimit(what, &r) < 0 || (r.rlim_max != RLIM_INFINITY && r.rlim_max <= value))
		return;
	r.rlim_cur = r.rlim_max = value;
	setrlimit(what, &r);
}

/* Limits the memory of the process. Of data; the address space has room for the files that are mapped, too. */
static void limit_memory(uint64_t memory)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they take the address space for themselves */
	const uint64_t mapped = 2ull << 30;
	if (memory) {
		set_limit(RLIMIT_DATA, memory);
		set_limit(RLIMIT_AS, memory + mapped);
	}
#else
	(void)memory;
#endif
}

/* The index grows no further than to the floor of the disk. */
static void limit_index(const char *home, uint64_t floor)
{
	char name[4096 + 32];
	struct statvfs fs;
	struct stat st;
	if (statvfs(home, &fs) < 0)
		return;
	uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize, had = 0;
	floor = disk_floor(&fs, floor);
	snprintf(name, sizeof(name), "%s/index.db", home);
	if (stat(name, &st) == 0)
		had = (uint64_t)st.st_size;
	signal(SIGXFSZ, SIG_IGN);
	set_limit(RLIMIT_FSIZE, had + (left > floor ? left - floor : 0));
}

/* The folder of the index, made where it is missing, with a link to the logs beside it: so the one can be written to
 * where the other is read alone. A store that lies where it was kept before is made anew. 0; -errno with a sentence. */
static int make_home(const char *user, const char *home, struct err *err)
{
	static const char *const old[] = {"index.db", "index.db-wal", "index.db-shm", "index.db.lock"};
	char name[4096 + 32];
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", user, old[i]);
		unlink(name);
	}
	snprintf(name, sizeof(name), "%s/index.db.edges", user);
	io_remove_all(name);
	int r = io_mkdirs(home, 0700);
	snprintf(name, sizeof(name), "%s/logs", home);
	if (r == 0 && symlink("../logs", name) < 0 && errno != EEXIST)
		r = -errno;
	return r < 0 ? err_set(err, -r, "cannot make the index") : 0;
}

/* Confines the process. From here on the process reads `logs`, writes `home`, and makes few calls; where the kernel
 * cannot confine, the modes of files alone hold. 0, or -errno with a sentence. */
static int confine_answer(const char *logs, const char *home, struct err *err)
{
	int r = late_load(&late_sqlite, err);
	r = r < 0 ? r : late_load(&late_math, err);
	if (r < 0)
		return r;
	r = confine_files((const char *const[]){logs, NULL}, (const char *const[]){home, NULL}, err);
	if (r == 0 || r == -ENOSYS) { /* a kernel without it has the modes of the files, and what follows */
		r = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		r = confine_calls(err);
		r = r == -ENOSYS ? 0 : r;
#endif
	}
	return r;
}

/* ---- the answer ---- */

/* Brings the index up to date and copies it into a file without a name: a descriptor. floor: bytes that the disk must
 * keep free. -errno with a sentence. */
static int answer_fd(const char *home, uint64_t floor, struct err *err)
{
	struct store *s = NULL;
	struct store_index_stats stats;
	struct store_index_options o = {0};
	int r = store_open(home, STORE_WRITE, err, &s);
	if (r == 0)
		r = store_index(s, &o, err, &stats);
	char *path = r == 0 ? strdup(store_index_path(s)) : NULL;
	store_close(s); /* all of it is in the file then */
	if (r == 0)
		r = path ? has_disk_room(path, floor, err) : -ENOMEM;
	if (r == 0)
		r = copy_unnamed(path);
	free(path);
	return r;
}

/* This process ends with the daemon, and before it where memory ends; it has no more time and memory than it may. */
static void limit_process(const struct answer_limits *limits)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "stemmad-answer");
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) {
		io_write(score, "500", 3, NULL);
		close(score);
	}
	set_limit(RLIMIT_CORE, 0);
	set_limit(RLIMIT_CPU, limits->seconds);
	set_limit(RLIMIT_NOFILE, 256);
	limit_memory(limits->memory);
	errno = 0;
	if (nice(5) < 0 && errno)
		errno = 0; /* it may go on as it is */
}

int answer_store(const char *base, const char *who, const struct answer_limits *limits, int sock)
{
	bool all = !strcmp(who, "all");
	char user[4096], home[4096 + 16], logs[4096 + 16], line[REQUEST_MAX];
	struct err err = {0};
	struct stat st;
	limit_process(limits);
	snprintf(user, sizeof(user), all ? "%s/all" : "%s/users/%s", base, who);
	snprintf(home, sizeof(home), all ? "%s" : "%s/index", user);
	snprintf(logs, sizeof(logs), "%s/logs", user);
	int r = stat(logs, &st) < 0 ? -ENOENT : 0;
	if (r < 0)
		err_set(&err, 0, "the record of this node has nothing of yours yet");
	if (r == 0 && !all)
		r = make_home(user, home, &err);
	if (r == 0) {
		setenv("STEMMA_HOME", home, 1);
		limit_index(home, limits->floor);
		if (all)
			snprintf(logs, sizeof(logs), "%s/users", base);
		r = confine_answer(logs, home, &err);
	}
	int fd = r == 0 ? answer_fd(home, limits->floor, &err) : r;
	if (fd == -ENOMEM)
		err_set(&err, 0, "the answer needs more memory than the setting answer_memory allows (%" PRIu64 " MiB)",
		        limits->memory >> 20);
	int n = fd >= 0 ? snprintf(line, sizeof(line), "ok")
	                : snprintf(line, sizeof(line), "no %s", err.text[0] ? err.text : strerror(-fd));
	r = request_reply(sock, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1, fd);
	return r < 0 || fd < 0;
}
