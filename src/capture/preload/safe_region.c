/* The region that programs and recorder share. */
#include "base/os/memfile.h"
#include "capture/preload/preload_library.h"
#include "capture/preload/safe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "stemma-safe"
#define CORES_MAX 16 /* 1 MiB for each */

/* The path of the library that is preloaded, into ret[n]. False: there is none that can be read. */
static bool safe_library_path(char *ret, size_t n)
{
	return preload_library_path("../capture/preload/library", "libstemma-safe.so", ret, n);
}

/* The lower digits of word in hexadecimal, without a NUL. */
static void token_make(char ret[SAFE_TOKEN], uint64_t word)
{
	for (int i = 0; i < SAFE_TOKEN; i++)
		ret[i] = "0123456789abcdef"[word >> 4 * i & 15];
}

/* /proc may show the processes of another namespace, under other numbers. */
static bool path_make(int fd, char *ret, size_t n)
{
	char self[24];
	ssize_t k = readlink("/proc/self", self, sizeof(self) - 1);
	self[k > 0 ? k : 0] = '\0';
	return k > 0 && snprintf(ret, n, "/proc/%s/fd/%d", self, fd) < (int)n && access(ret, R_OK | W_OK) == 0;
}

int safe_place_make(struct safe_place *ret, struct err *err)
{
	char path[64];
	uint64_t word;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t size = (size_t)(cores < 1 ? 1 : cores > CORES_MAX ? CORES_MAX : cores) << 20;
	*ret = (struct safe_place){.fd = -1, .size = size};
	if (!safe_library_path(ret->library, sizeof(ret->library)))
		return err_set(err, ENOENT, "the library of --capture=safe was not found");
	int rc = ret->fd = memfile_sealed(NAME, size);
	/* All of its room now: a program must never meet a page that there is no room for. */
	if (rc >= 0)
		rc = fchmod(ret->fd, 0600) < 0 ? -errno : -posix_fallocate(ret->fd, 0, (off_t)size);
	if (rc == 0)
		rc = !path_make(ret->fd, path, sizeof(path))                      ? -ENOENT
		     : getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word) ? -EIO
		                                                                  : 0;
	if (rc == 0) {
		ret->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
		rc = ret->map == MAP_FAILED ? -errno : 0;
	}
	if (rc < 0) {
		ret->map = NULL;
		safe_place_release(ret);
		return err_set(err, -rc,
		               rc == -ENOENT ? "programs cannot reach the recorder: there is no /proc"
		                             : "no memory for the events of programs");
	}
	struct safe_region *r = ret->map;
	r->nchunks = (uint32_t)(size / SAFE_PAGE) - 1;
	r->pid = (uint32_t)getpid();
	token_make(r->token, word);
	r->magic = SAFE_MAGIC;
	return 0;
}

void safe_place_enter(const struct safe_place *p, const char *command)
{
	char path[64], value[64 + 1 + SAFE_TOKEN + 1];
	const struct safe_region *r = p->map;
	if (!r || !path_make(p->fd, path, sizeof(path)) || !preload_library_enter(p->library, command))
		return;
	snprintf(value, sizeof(value), "%s:%.*s", path, SAFE_TOKEN, r->token);
	setenv(SAFE_ENV, value, 1);
}

/* Unmaps and closes; it may be called twice. */
void safe_place_release(struct safe_place *p)
{
	if (p->map)
		munmap(p->map, p->size);
	if (p->fd >= 0)
		close(p->fd);
	p->map = NULL;
	p->fd = -1;
}

int safe_probe(struct err *err)
{
	struct safe_place p;
	int rc = safe_place_make(&p, err);
	if (rc == 0)
		safe_place_release(&p);
	return rc;
}
