#include "monitor/apart.h"

#include "base/fileid.h"
#include "base/os/memfile.h"
#include "base/os/procfs.h"
#include "base/vec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Bytes of shared memory in the whole machine. false: not known. */
static bool machine_shared(uint64_t *ret)
{
	struct sysinfo si;
	if (sysinfo(&si) < 0)
		return false;
	*ret = (uint64_t)si.sharedram * (si.mem_unit ? si.mem_unit : 1);
	return true;
}

/* Notes how the machine is shared before the command begins. */
void apart_begin(struct apart *a)
{
	a->known = machine_shared(&a->base);
}

void apart_look(struct apart *a, uint64_t mapped)
{
	uint64_t v;
	if (!a->known || !machine_shared(&v))
		return;
	a->now = v > a->base ? v - a->base : 0;
	if (mapped == PROCFS_UNKNOWN)
		mapped = 0;
	if (a->now > mapped && a->now - mapped > a->most)
		a->most = a->now - mapped;
}

bool apart_asks(const struct apart *a)
{
	return a->now >= APART_MUCH && (a->used || !a->told);
}

/* Returns the device of memory files. Of which device are memfds and segments? */
static uint64_t memfd_device(void)
{
	struct stat st = {0};
	int fd = memfile_new("stemma-device");
	if (fd < 0)
		return 0;
	int rc = fstat(fd, &st);
	close(fd);
	return rc < 0 ? 0 : st.st_dev;
}

/* Is a file of that device held in memory? No file system is asked: it may be one that does not answer. One that
 * nobody here has met yet is not known. */
static bool is_in_memory(const struct apart_held *h, uint64_t dev)
{
	const struct fs_domain *d = h->memfds == dev ? NULL : fileid_domain_known(dev);
	return dev && (h->memfds == dev || (d && (!strcmp(d->type, "tmpfs") || !strcmp(d->type, "ramfs"))));
}

/* Notes it; false: it is known already, or there is no memory. */
static bool is_new_file(struct apart_held *h, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->file[i].dev == dev && h->file[i].ino == ino)
			return false;
	if (!vec_has_room(h->file, h->n, h->cap))
		return false;
	h->file[h->n++] = (struct apart_file){dev, ino};
	return true;
}

void apart_held_add(struct apart_held *h, pid_t pid)
{
	const unsigned wanted = STATX_TYPE | STATX_INO | STATX_BLOCKS;
	struct procfs_fds f;
	struct statx st;
	if (!h->memfds)
		h->memfds = memfd_device();
	if (procfs_fds_open(pid, &f) < 0)
		return;
	for (const char *fd; (fd = procfs_fds_next(&f));) {
		/* The link leads to the file, which needs no name. */
		if (statx(f.dir, fd, AT_STATX_DONT_SYNC, wanted, &st) < 0 || !S_ISREG(st.stx_mode))
			continue;
		uint64_t dev = makedev(st.stx_dev_major, st.stx_dev_minor), bytes = st.stx_blocks * 512;
		if (bytes >= APART_MUCH / 16 && is_in_memory(h, dev) && is_new_file(h, dev, st.stx_ino))
			h->bytes += bytes;
	}
	procfs_fds_close(&f);
}

uint64_t apart_held_take(struct apart *a, struct apart_held *h, uint64_t mapped)
{
	uint64_t held = h->bytes < a->now ? h->bytes : a->now;
	free(h->file);
	*h = (struct apart_held){0};
	if (held > mapped && held - mapped > a->held)
		a->held = held - mapped;
	return held;
}

uint64_t apart_bound(const struct apart *a, uint64_t written, uint64_t mapped)
{
	if (a->told)
		return a->used ? a->most : 0;
	/* Others on the machine have such files, too. Pages come to a file by being written or by being mapped. */
	bool some = a->held >= APART_MUCH || mapped >= APART_MUCH;
	return some || a->most < written ? a->most : written;
}
