/* Where the region lies, and where the library is. */
#include "capture/run/run.h"
#include "capture/run/safe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define NAME "stemma-safe-"
#define CORES_MAX 16 /* 1 MiB for each */

static bool usable(const char *path)
{
	return !path[strcspn(path, ": ")] && access(path, R_OK) == 0;
}

bool safe_library_path(char *ret, size_t n)
{
	char exe[4096];
	ssize_t k = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[k > 0 ? k : 0] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	/* Of the tree that this program was built in or installed to, before that which the build was meant for. */
	static const char *const tails[] = {"../capture/inject/libstemma-safe.so",
	                                    "../" STEMMA_LIBDIR "/stemma/libstemma-safe.so"};
	for (size_t i = 0; slash && i < sizeof(tails) / sizeof(tails[0]); i++) {
		char *real, path[4096 + 64];
		snprintf(path, sizeof(path), "%s/%s", exe, tails[i]);
		real = realpath(path, NULL);
		bool found = real && usable(real) && snprintf(ret, n, "%s", real) < (int)n;
		free(real);
		if (found)
			return true;
	}
	return usable(STEMMA_PREFIX "/" STEMMA_LIBDIR "/stemma/libstemma-safe.so") &&
	       snprintf(ret, n, "%s", STEMMA_PREFIX "/" STEMMA_LIBDIR "/stemma/libstemma-safe.so") < (int)n;
}

static void remove_at(const char *dir)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Those of runs whose keeper and worker were both killed: nobody holds their lock any more. */
static void clean(const char *top)
{
	char own[64], path[4096 + 300];
	struct stat st;
	snprintf(own, sizeof(own), NAME "%u-", (unsigned)geteuid());
	DIR *d = opendir(top);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, own, strlen(own)) ||
		    snprintf(path, sizeof(path), "%s/%s", top, e->d_name) >= (int)sizeof(path))
			continue;
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_at(path);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

static int make_in(struct safe_place *p, const char *top, size_t size)
{
	uint64_t word[2];
	char dir[280];
	if (access(top, W_OK | X_OK) < 0)
		return -errno;
	if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
		return -EIO;
	clean(top);
	if (snprintf(dir, sizeof(dir), "%s/" NAME "%u-%016llx", top, (unsigned)geteuid(), (unsigned long long)word[0]) >=
	    200)
		return -ENAMETOOLONG;
	if (mkdir(dir, 0711) < 0)
		return -errno;
	p->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->lock >= 0) {
		flock(p->lock, LOCK_EX | LOCK_NB);
		fchmod(p->lock, 0711);
	}
	/* Whoever knows the name may write: of root's run programs may be another user's. Only they are told it. */
	snprintf(p->path, sizeof(p->path), "%s/%016llx", dir, (unsigned long long)word[1]);
	int fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), rc = fd < 0 ? -errno : 0;
	if (fd >= 0 && geteuid() == 0)
		fchmod(fd, 0666);
	/* All of its room now: a program must never meet a page that there is no room for. */
	if (rc == 0)
		rc = -posix_fallocate(fd, 0, (off_t)size);
	if (rc == 0) {
		p->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = p->map == MAP_FAILED ? -errno : 0;
	}
	if (fd >= 0)
		close(fd);
	if (rc < 0) {
		remove_at(dir);
		if (p->lock >= 0)
			close(p->lock);
		p->lock = -1;
		p->path[0] = '\0';
		p->map = NULL;
		return rc;
	}
	p->size = size;
	return 0;
}

int safe_place_make(struct safe_place *ret, struct err *err)
{
	static const char *const tops[] = {"/dev/shm", "/tmp", "/var/tmp"};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t size = (size_t)(cores < 1 ? 1 : cores > CORES_MAX ? CORES_MAX : cores) << 20;
	*ret = (struct safe_place){.lock = -1};
	if (!safe_library_path(ret->library, sizeof(ret->library)))
		return err_set(err, ENOENT, "the library of --capture=safe was not found");
	int rc = -ENOENT;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]) && rc < 0; i++)
		rc = make_in(ret, tops[i], size);
	if (rc < 0)
		return err_set(err, -rc, "no room for what programs have to say");
	struct safe_region *r = ret->map;
	r->nchunks = (uint32_t)(size / SAFE_PAGE) - 1;
	r->pid = (uint32_t)getpid();
	r->magic = SAFE_MAGIC;
	return 0;
}

void safe_place_enter(const struct safe_place *p)
{
	const char *old = getenv("LD_PRELOAD");
	char *both = NULL;
	if (!p->map)
		return;
	if (old && *old && asprintf(&both, "%s:%s", p->library, old) < 0)
		return;
	setenv("LD_PRELOAD", both ? both : p->library, 1);
	setenv(SAFE_ENV, p->path, 1);
	free(both);
}

void safe_place_remove(struct safe_place *p)
{
	if (!p->path[0])
		return;
	char *slash = strrchr(p->path, '/');
	*slash = '\0';
	remove_at(p->path);
	p->path[0] = '\0';
}

int capture_probe_safe(struct err *err)
{
	struct safe_place p;
	int rc = safe_place_make(&p, err);
	if (rc < 0)
		return rc;
	munmap(p.map, p.size);
	safe_place_remove(&p);
	close(p.lock);
	return 0;
}
