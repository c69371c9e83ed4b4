/* What a process has mapped, and whether it still has a file. */
#include "base/fileid.h"
#include "capture/supervisor/super.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* From Linux 6.11's fs.h: the mapping at an address or the next one behind it, without the text of it. */
struct mapping_query {
	uint64_t size, flags, address, start, end, access, page_size, offset, ino;
	uint32_t major, minor, name_size, id_size;
	uint64_t name, id;
};
#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)
#define MAPPING_NEXT 0x10u
#define MAPPING_OF_FILE 0x20u

struct mappings {
	struct mapped *v;
	size_t n, cap;
};

/* Adds the file of a mapping, once for segments that follow each other. False: no memory. */
static bool add_mapping(struct mappings *m, uint64_t dev, uint64_t ino)
{
	if (!ino || (m->n && m->v[m->n - 1].ino == ino && m->v[m->n - 1].dev == dev))
		return true; /* of no file, or the next segment of the same */
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 32;
		struct mapped *more = realloc(m->v, cap * sizeof(*more));
		if (!more)
			return false;
		m->v = more;
		m->cap = cap;
	}
	m->v[m->n++] = (struct mapped){dev, ino};
	return true;
}

/* Asks the kernel which files a process has mapped. 0.4 us a mapping, where the text takes 1. 0; -ENOTTY: this
 * kernel is not to be asked so; another -errno. */
static int query_mappings(int fd, struct mappings *m)
{
	for (uint64_t at = 0;;) {
		struct mapping_query q = {.size = sizeof(q), .flags = MAPPING_NEXT | MAPPING_OF_FILE, .address = at};
		if (ioctl(fd, MAPPING_QUERY, &q) < 0)
			return errno == ENOENT || errno == ESRCH ? 0 : -errno;
		if (!add_mapping(m, (uint64_t)q.major << 32 | q.minor, q.ino))
			return -ENOMEM;
		at = q.end;
	}
}

/* Takes fd. False: it cannot be read to its end. */
static bool read_mappings(int fd, struct mappings *m)
{
	FILE *maps = fdopen(fd, "re");
	char *line = NULL;
	size_t room = 0;
	bool ok = maps != NULL;
	if (!maps)
		close(fd);
	while (ok && getline(&line, &room, maps) > 0) {
		unsigned maj, min;
		unsigned long long ino;
		if (sscanf(line, "%*s %*s %*s %x:%x %llu", &maj, &min, &ino) == 3)
			ok = add_mapping(m, (uint64_t)maj << 32 | min, ino);
	}
	free(line);
	if (maps)
		fclose(maps);
	return ok;
}

/* *ret: malloc'ed. False: it cannot be told; true and none where the process has gone. */
bool proc_maps(struct proc *p, struct mapped **ret, size_t *ret_n)
{
	char name[48];
	struct mappings m = {0};
	snprintf(name, sizeof(name), "/proc/%d/maps", p->pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	*ret = NULL;
	*ret_n = 0;
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	int rc = query_mappings(fd, &m);
	bool ok = rc == 0;
	if (!ok && rc != -ENOMEM) {
		m.n = 0;
		ok = read_mappings(fd, &m);
	} else {
		close(fd);
	}
	*ret = m.v;
	*ret_n = m.n;
	return ok;
}

/* Has the process mapped the file? */
bool mapped_has(const struct mapped *v, size_t n, const struct file *f)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].ino == f->ino && v[i].dev == f->dev)
			return true;
	return false;
}

/* Whether a name in /proc/PID/fd, or below dir, is that file. */
static bool is_it(int dir, const char *name, const struct file *f)
{
	struct statx st;
	return fileid_statx_cached(dir, name, 0, STATX_INO, &st) == 0 && st.stx_ino == f->ino && fileid_dev(&st) == f->dev;
}

bool proc_holds(struct proc *p, struct file *f)
{
	char name[48];
	/* Where it was the last time: of a process with thousands of descriptors not all are looked at for each open. */
	if (f->held_at) {
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", p->pid, f->held_at - 1);
		if (is_it(AT_FDCWD, name, f))
			return true;
	}
	snprintf(name, sizeof(name), "/proc/%d/fd", p->pid);
	DIR *d = opendir(name);
	if (!d)
		return errno != ENOENT && errno != ESRCH;
	bool found = false;
	for (struct dirent *e; !found && (e = readdir(d));)
		if (e->d_name[0] != '.' && is_it(dirfd(d), e->d_name, f)) {
			found = true;
			f->held_at = atoi(e->d_name) + 1;
		}
	closedir(d);
	if (found)
		return true;
	struct mapped *v;
	size_t n;
	found = !proc_maps(p, &v, &n) || mapped_has(v, n, f);
	free(v);
	return found;
}
