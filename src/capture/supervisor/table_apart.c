#include "capture/supervisor/table_apart.h"

#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/supervisor/paths/far.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTS_MOST 4 /* of a process, and of ancestors that have many, too */

struct list {
	pid_t pid;
	uint64_t num;
	bool handed; /* it says what an exec closes */
	struct listed *v;
	size_t n, cap;
};

/* Of the stop that this thread is at. */
static _Thread_local struct {
	pid_t counted;
	uint64_t count;
	struct list list[LISTS_MOST];
	unsigned n;
} here;

int table_is_cloexec(pid_t pid, int fd)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	errno = 0;
	bool read = io_text(path, text, sizeof(text));
	if (!read)
		return errno ? -errno : 0;
	const char *at = strstr(text, "flags:");
	return at && (strtoul(at + 6, NULL, 8) & O_CLOEXEC);
}

/* How many descriptors a process has open; 0 before Linux 6.2, or if it cannot be asked. */
static uint64_t ask_count(pid_t pid)
{
	char name[48];
	struct statx st;
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	return statx(AT_FDCWD, name, 0, STATX_SIZE, &st) == 0 ? st.stx_size : 0;
}

uint64_t table_count(struct sup *s, const struct proc *p)
{
	if (!s->current || s->current->proc != p)
		return ask_count(p->pid);
	if (here.counted != p->pid) {
		here.counted = p->pid;
		here.count = ask_count(p->pid);
	}
	return here.count;
}

void table_drop(void)
{
	here.counted = 0;
	while (here.n)
		free(here.list[--here.n].v);
}

const struct listed *table_listed(const struct proc *p, bool handed, size_t *ret_n)
{
	for (unsigned i = 0; i < here.n; i++)
		if (here.list[i].pid == p->pid && here.list[i].num == p->num && (here.list[i].handed || !handed)) {
			*ret_n = here.list[i].n;
			return here.list[i].v;
		}
	return NULL;
}

/* ---- listing, without the lock ---- */

/* Adds one descriptor of a process to the list. False: no memory, or too many. */
static bool list_add(struct list *l, const struct procfs_fds *fds, const char *name)
{
	struct stat link;
	struct listed one = {.fd = atoi(name)};
	if (far_descriptor(fds->dir, name, 0, &one.st) < 0)
		return true;
	if (l->n == l->cap) {
		struct listed *more = l->n >= TABLE_MOST ? NULL : realloc(l->v, (2 * l->cap + TABLE_MANY) * sizeof(*more));
		if (!more)
			return false;
		l->v = more;
		l->cap = 2 * l->cap + TABLE_MANY;
	}
	const unsigned type = one.st.stx_mode & S_IFMT;
	if ((type == S_IFREG || type == S_IFIFO || type == S_IFSOCK || type == S_IFCHR) &&
	    fstatat(fds->dir, name, &link, AT_SYMLINK_NOFOLLOW) == 0) {
		one.mode =
		    (uint8_t)((link.st_mode & S_IRUSR ? ACCESS_READ : 0u) | (link.st_mode & S_IWUSR ? ACCESS_WRITE : 0u));
		int closed = l->handed && one.fd > 2 ? table_is_cloexec(l->pid, one.fd) : 0;
		one.cloexec = closed > 0;
		one.handed_error = closed < 0 ? -closed : 0;
	}
	l->v[l->n++] = one;
	return true;
}

/* What is listed is whole, or there is no list. */
static void list_table(struct list *l)
{
	struct procfs_fds fds;
	bool whole = procfs_fds_open(l->pid, &fds) == 0;
	if (!whole)
		return;
	for (const char *name; whole && (name = procfs_fds_next(&fds));)
		whole = list_add(l, &fds, name);
	procfs_fds_close(&fds);
	if (!whole) {
		free(l->v);
		l->v = NULL;
	}
}

/* Remembers to list the process's table of descriptors. If too many are, it is left out. */
static void will_list(const struct proc *p, bool handed)
{
	if (here.n < LISTS_MOST)
		here.list[here.n++] = (struct list){.pid = p->pid, .num = p->num, .handed = handed};
}

bool table_list_apart(struct sup *s, struct proc *p, bool handed, bool *ret_left)
{
	struct left left;
	*ret_left = false;
	if (!s->leave || s->tree_only)
		return true;
	if (table_count(s, p) >= TABLE_MANY) {
		p->many = true;
		will_list(p, handed);
	}
	unsigned up = 0;
	for (struct proc *q = handed ? proc_parent(s, p) : NULL; q && up < 64; q = proc_parent(s, q), up++)
		if (q->many)
			will_list(q, false);
	if (!here.n)
		return true;
	s->leaves_long = true;
	sup_leave(s, &left);
	for (unsigned i = 0; i < here.n; i++)
		list_table(&here.list[i]);
	*ret_left = true;
	bool back = sup_back(s, &left);
	unsigned kept = 0;
	for (unsigned i = 0; i < here.n; i++)
		if (here.list[i].v)
			here.list[kept++] = here.list[i];
	here.n = kept;
	return back;
}
