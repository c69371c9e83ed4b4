/* Descriptor tables: what a process that stands still has open.
 *
 * A table is listed in /proc, which makes an entry and an inode for each descriptor that is looked at: 24 to 36 us for
 * three of them, and their end again when the process is reaped. Nearly every program begins and ends with the numbers
 * that its parent's last child had. So these are tried first: the kernel says how many descriptors there are (the size
 * of the folder, since Linux 6.2; 3 us), and if each of as many numbers is one, those are all. What is behind them is
 * told by a descriptor of our own that pidfd_getfd gives (2 us each) and that is closed at once. That is the table as
 * it is now and no guess; whatever does not fit leads to the list, and so does a table that may change meanwhile.
 *
 * A close has an effect of its own for some: file systems that are served elsewhere are told of it, and drivers. So
 * nothing is taken where such a file was met in the run (sup->far). What is on this machine does not notice. */
#include "base/io.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/paths/far.h"
#include "capture/supervisor/procs_int.h"
#include "capture/supervisor/super.h"
#include "capture/supervisor/table_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_MAJOR 1 /* null, zero, random and their like (devices.txt) */

bool descriptor_is_near(const struct statx *st, const char *type)
{
	static const char *const types[] = {"ext2",  "ext3", "ext4",  "xfs",      "btrfs",  "tmpfs",
	                                    "ramfs", "proc", "sysfs", "devtmpfs", "cgroup", "cgroup2"};
	switch (st->stx_mode & S_IFMT) {
	case S_IFIFO:
	case S_IFSOCK:
		return true;
	case S_IFCHR:
		return st->stx_rdev_major == MEMORY_MAJOR || file_is_terminal(st);
	case S_IFREG:
	case S_IFDIR:
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (!strcmp(type, types[i]))
				return true;
		return false;
	default:
		return false;
	}
}

bool descriptor_is_known_near(const struct statx *st)
{
	unsigned type = st->stx_mode & S_IFMT;
	const struct fs_domain *d = type == S_IFREG || type == S_IFDIR ? fileid_domain_known(fileid_dev(st)) : NULL;
	return descriptor_is_near(st, d ? d->type : "");
}

/* One that cannot be read may be handed on: then what it leads to is a possible input, and the exec says so. */
static bool is_cloexec(struct proc *p, int number)
{
	int closed = table_is_cloexec(p->pid, number);
	if (closed < 0)
		p->handed_error = -closed;
	return closed > 0;
}

struct gathered {
	struct held *v;
	size_t n, cap;
};

/* Is it of a kind that is recorded? */
static bool is_recorded_type(const struct statx *st)
{
	unsigned type = st->stx_mode & S_IFMT;
	return type == S_IFREG || type == S_IFIFO || type == S_IFSOCK || file_is_terminal(st);
}

/* The file of a descriptor that was looked at. Where the process may have closed it since, and have used its number
 * again, a new file is not named by that number: nothing else than what was seen is told of it. */
static struct file *file_of_descriptor(struct sup *s, const struct proc *p, int fd, const struct statx *st)
{
	struct where w;
	where_fd(p->pid, fd, &w);
	struct file *f =
	    file_known(s, st) || where_hold_fd(&w, st) ? file_get(s, &w, true, st) : file_emitted(s, st, false, 0, NULL);
	where_release(&w);
	return f;
}

/* Appends the descriptor's file to g and pins it until held_free; a pseudo file is passed over. False: no memory. */
static bool gather_descriptor(struct sup *s, const struct proc *p, int fd, unsigned mode, const struct statx *st,
                              struct gathered *g)
{
	struct file *f = file_of_descriptor(s, p, fd, st);
	if (!f || f->kind == TERM_kind_pseudo)
		return true;
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 8;
		struct held *more = realloc(g->v, g->cap * sizeof(*g->v));
		if (!more)
			return false;
		g->v = more;
	}
	f->pins++; /* until held_free */
	g->v[g->n++] = (struct held){.file = f,
	                             .mode = mode,
	                             .fd = fd,
	                             .print = f->kind == TERM_kind_regular ? fingerprint_of(st) : (struct fingerprint){0}};
	return true;
}

/* ---- by the numbers that are expected ---- */

/* What is behind the number, and, of a kind that is recorded, how it was opened. False: it is none. */
static bool read_descriptor(const struct proc *p, int number, struct statx *st, unsigned *ret_mode)
{
	int fd = (int)syscall(SYS_pidfd_getfd, p->pidfd, number, 0);
	*ret_mode = 0;
	if (fd < 0)
		return false;
	bool ok = far_descriptor(fd, "", AT_EMPTY_PATH, st) == 0;
	int flags = ok && is_recorded_type(st) ? fcntl(fd, F_GETFL) : O_PATH;
	close(fd);
	int how = flags & O_ACCMODE;
	if (!(flags & O_PATH))
		*ret_mode = (how == O_RDONLY || how == O_RDWR ? ACCESS_READ : 0u) |
		            (how == O_WRONLY || how == O_RDWR ? ACCESS_WRITE : 0u);
	return ok;
}

/* Gathers the descriptors with these numbers. False, with nothing gathered: one of them cannot be read, so the caller
 * must list all. Without memory g lacks some, and it is true. */
static bool read_known_descriptors(struct sup *s, struct proc *p, const struct numbers *known, bool skip_cloexec,
                                   struct gathered *g)
{
	struct statx st[NUMBERS_MAX];
	unsigned mode[NUMBERS_MAX];
	for (unsigned i = 0; i < known->n; i++)
		if (!read_descriptor(p, known->fd[i], &st[i], &mode[i]))
			return false;
	for (unsigned i = 0; i < known->n; i++) {
		int fd = known->fd[i];
		sup_serves(s, file_is_fuse(&st[i]));
		if (!mode[i] || (skip_cloexec && fd > 2 && is_cloexec(p, fd)))
			continue;
		if (!gather_descriptor(s, p, fd, mode[i], &st[i], g))
			break;
	}
	return true;
}

/* May the table change while it is looked at? Then one number may come where another is meanwhile, so that they are as
 * many as were expected, each is there when it is looked at, and one is missed that was there all the time. The list
 * does not miss that. It may where the process is not the one that is stopped, and has more threads than the one that
 * is; who shares a table and is no thread is known when it, or its child, is looked at itself (2 us). An exec gives it
 * a table of its own, so that with a parent it shares none from then on. How many threads it has was often asked at
 * this very stop. */
static bool may_change(struct sup *s, struct proc *p, struct proc *parent)
{
	if (!s->current || s->current->proc != p)
		return true;
	if (parent && !p->execn && syscall(SYS_kcmp, p->pid, parent->pid, KCMP_FILES, 0, 0) == 0)
		p->shares_table = parent->shares_table = true;
	return p->shares_table || !openings_has_one_thread(s, p);
}

/* The child that ended or began last in its place had the same, nearly always. False: the numbers are not known or may
 * have changed, and g is as it was. */
static bool walk_known(struct sup *s, struct proc *p, bool skip_cloexec, struct gathered *g)
{
	struct proc *parent = proc_parent(s, p);
	const struct numbers *known[] = {&p->numbers, parent ? &parent->begun : NULL, parent ? &parent->ended : NULL};
	bool any = false;
	for (size_t i = 0; i < 3; i++)
		any |= known[i] && known[i]->n;
	if (!any || s->far || p->pidfd < 0 || may_change(s, p, parent))
		return false;
	uint64_t count = table_count(s, p);
	for (size_t i = 0; i < 3; i++)
		if (known[i] && known[i]->n && known[i]->n == count && read_known_descriptors(s, p, known[i], skip_cloexec, g))
			return true;
	return false;
}

bool proc_known_files(struct sup *s, struct proc *p, struct mapped ret[NUMBERS_MAX], size_t *ret_n)
{
	const struct numbers *k = &p->numbers;
	if (!k->n || s->far || p->pidfd < 0 || may_change(s, p, proc_parent(s, p)) || table_count(s, p) != k->n)
		return false;
	for (unsigned i = 0; i < k->n; i++) {
		struct statx st;
		unsigned mode;
		if (!read_descriptor(p, k->fd[i], &st, &mode))
			return false;
		ret[i] = (struct mapped){fileid_dev(&st), st.stx_ino};
	}
	*ret_n = k->n;
	return true;
}

/* ---- by the list ---- */

/* Remembered for the next that may have these: of a child that is about to exec, and of one that ends. */
static void remember_numbers(struct sup *s, struct proc *p, const struct numbers *now, bool before_exec)
{
	struct proc *parent = proc_parent(s, p);
	p->numbers = *now;
	if (parent)
		*(before_exec ? &parent->begun : &parent->ended) = *now;
}

/* What was listed at this stop already, before anybody was kept waiting. False: nothing was. */
static bool walk_listed(struct sup *s, struct proc *p, bool skip_cloexec, struct gathered *g)
{
	size_t n;
	const struct listed *v = table_listed(p, skip_cloexec, &n);
	for (size_t i = 0; v && i < n; i++) {
		const bool asked = skip_cloexec && v[i].fd > 2;
		if (i % 64 == 0)
			sup_goes_on(s);
		sup_serves(s, file_is_fuse(&v[i].st));
		if (asked && v[i].handed_error)
			p->handed_error = v[i].handed_error;
		if (is_recorded_type(&v[i].st) && !(asked && v[i].cloexec) && v[i].mode &&
		    !gather_descriptor(s, p, v[i].fd, v[i].mode, &v[i].st, g))
			break;
	}
	return v;
}

/* The descriptors by /proc/PID/fd. *ret: their numbers, n is 0 where these may not be used again. False: they cannot be
 * read. */
static bool walk_list(struct sup *s, struct proc *p, bool skip_cloexec, struct gathered *g, struct numbers *ret)
{
	struct procfs_fds fds;
	*ret = (struct numbers){0};
	if (walk_listed(s, p, skip_cloexec, g))
		return true;
	int rc = procfs_fds_open(p->pid, &fds);
	if (rc < 0) {
		s->few |= rc == -EMFILE || rc == -ENFILE;
		return false;
	}
	size_t looked = 0;
	bool near = !s->far;
	for (const char *name; (name = procfs_fds_next(&fds));) {
		/* Thousands of descriptors take a while (20 µs each), and are no file system that hangs. */
		if (++looked % 64 == 0)
			sup_goes_on(s);
		int fd = atoi(name);
		struct statx st;
		if (far_descriptor(fds.dir, name, 0, &st) < 0)
			continue;
		sup_serves(s, file_is_fuse(&st)); /* it was given it by who mounts for it */
		if (looked <= NUMBERS_MAX && fd <= UINT16_MAX)
			ret->fd[ret->n++] = (uint16_t)fd;
		struct stat link;
		if (is_recorded_type(&st) && !(skip_cloexec && fd > 2 && is_cloexec(p, fd)) &&
		    fstatat(fds.dir, name, &link, AT_SYMLINK_NOFOLLOW) == 0) {
			unsigned mode = (link.st_mode & S_IRUSR ? ACCESS_READ : 0u) | (link.st_mode & S_IWUSR ? ACCESS_WRITE : 0u);
			/* None: O_PATH. */
			if (mode && !gather_descriptor(s, p, fd, mode, &st, g))
				break;
		}
		near = near && descriptor_is_known_near(&st); /* its file system is known by now */
	}
	procfs_fds_close(&fds);
	p->many |= looked >= TABLE_MANY;
	if (looked != ret->n || !near)
		ret->n = 0;
	return true;
}

size_t proc_walk(struct sup *s, struct proc *p, bool skip_cloexec, struct held **ret)
{
	struct gathered g = {0};
	struct numbers now;
	where_looks(""); /* what descriptors lead to has no name yet */
	if (!walk_known(s, p, skip_cloexec, &g) && walk_list(s, p, skip_cloexec, &g, &now))
		remember_numbers(s, p, &now, skip_cloexec);
	*ret = g.v;
	return g.n;
}

/* The files are not held any more. */
void held_free(struct held *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].file->pins--;
	free(v);
}
