/* What a process has mapped, and whether it still has a file. */
#include "base/fileid.h"
#include "capture/supervisor/super.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool proc_maps(struct proc *p, struct mapped **ret, size_t *ret_n)
{
	char name[48];
	*ret = NULL;
	*ret_n = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", p->pid);
	FILE *maps = fopen(name, "re");
	if (!maps)
		return errno == ENOENT || errno == ESRCH;
	char *line = NULL;
	size_t room = 0, cap = 0, n = 0;
	struct mapped *v = NULL;
	bool ok = true;
	while (ok && getline(&line, &room, maps) > 0) {
		unsigned maj, min;
		unsigned long long ino;
		if (sscanf(line, "%*s %*s %*s %x:%x %llu", &maj, &min, &ino) != 3 || !ino)
			continue;
		uint64_t dev = (uint64_t)maj << 32 | min;
		if (n && v[n - 1].ino == ino && v[n - 1].dev == dev)
			continue; /* the next segment of the same file */
		if (n == cap) {
			cap = cap ? 2 * cap : 32;
			struct mapped *more = realloc(v, cap * sizeof(*v));
			if (!more) {
				ok = false;
				break;
			}
			v = more;
		}
		v[n++] = (struct mapped){dev, ino};
	}
	free(line);
	fclose(maps);
	*ret = v;
	*ret_n = n;
	return ok;
}

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
