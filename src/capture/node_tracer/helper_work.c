/* helper_work.c - what the helper does. Everything that comes is taken for hostile: whoever takes over the daemon's
 * other process is to have no more than this. */
#include "capture/node_tracer/helper_int.h"

#include "base/os/soon.h"
#include "base/os/unasked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000 };

#define MASK                                                                                                           \
	(FAN_OPEN | FAN_OPEN_EXEC | FAN_CLOSE_WRITE | FAN_CLOSE_NOWRITE | FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM |       \
	 FAN_MOVED_TO | FAN_RENAME | FAN_ONDIR)

struct helper_work {
	int watch;
	char *mount[HELPER_PLACES]; /* NULL: free */
	uint64_t dev[HELPER_PLACES];
	DIR *proc;     /* while they are gone through */
	uint64_t root; /* the device of /, where this process stands; 0: it may stand anywhere */
	struct helper_question q;
	struct helper_answer a;
};

/* 0 and *ret to be freed; -ENOMEM. */
int helper_work_new(struct helper_work **ret)
{
	struct helper_work *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->watch = -1;
	*ret = w;
	return 0;
}

/* NULL is no error. */
void helper_work_free(struct helper_work *w)
{
	if (!w)
		return;
	if (w->watch >= 0)
		close(w->watch);
	if (w->proc)
		closedir(w->proc);
	for (size_t i = 0; i < HELPER_PLACES; i++)
		free(w->mount[i]);
	free(w);
}

/* Copies what is known of a file system; texts are cut to their room. */
static void fill_domain(const struct fs_domain *d, struct helper_domain *ret)
{
	*ret = (struct helper_domain){.dev = d->dev,
	                              .mtime_step = d->mtime_step,
	                              .network = d->network,
	                              .birth_changes = d->birth_changes,
	                              .pseudo = d->pseudo,
	                              .known = d->index != 0};
	snprintf(ret->name, sizeof(ret->name), "%s", d->name);
	snprintf(ret->type, sizeof(ret->type), "%s", d->type);
}

/* Fills the identity of a file into the helper's answer. r: what looking gave; negative: id is not read, and ret
 * says only that. */
static void fill_identity(int r, const struct fileid *id, struct helper_id *ret)
{
	*ret = (struct helper_id){.r = r};
	if (r < 0)
		return;
	ret->ino = id->ino;
	ret->gen = id->gen;
	ret->st = id->st;
	fill_domain(id->domain, &ret->domain);
}

/* ---- file systems ---- */

/* Opens fanotify. In *ret_fd a second descriptor of it, for the daemon. 0, -errno. */
static int open_fanotify(struct helper_work *w, bool targets, int *ret_fd)
{
	unsigned flags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK;
	unsigned report = targets ? FAN_REPORT_DFID_NAME_TARGET : FAN_REPORT_DFID_NAME | FAN_REPORT_FID;
	int fd = fanotify_init(flags | report, O_RDONLY | O_CLOEXEC | O_LARGEFILE);
	if (fd < 0)
		return -errno;
	*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (*ret_fd < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	if (w->watch >= 0)
		close(w->watch);
	w->watch = fd;
	return 0;
}

struct asked {
	char at[PATH_MAX];
	bool answers;
};

/* Looks whether the mount answers at all. Run in a thread, since it may hang. */
static void stat_mount(void *arg)
{
	struct asked *a = arg;
	struct statfs sf;
	struct statx st;
	statx(AT_FDCWD, a->at, AT_NO_AUTOMOUNT, STATX_TYPE, &st);
	statfs(a->at, &sf);
	a->answers = true; /* be it an error */
}

/* A place for the file system that is mounted there. waits: it may not answer. 0; -ETIMEDOUT; -ENODEV: it is another
 * one; -EBUSY: no place is left; -errno. */
static int answer_look(struct helper_work *w, const char *mount, uint64_t dev, bool waits)
{
	struct helper_place *p = &w->a.look.place;
	struct statfs sf;
	struct statx st;
	struct asked q = {0};
	size_t slot = 0;
	snprintf(q.at, sizeof(q.at), "%s", mount);
	if (waits && soon_do(&q, sizeof(q), stat_mount, PATIENCE_MS) < 0)
		return -ETIMEDOUT;
	if (statx(AT_FDCWD, mount, AT_NO_AUTOMOUNT, FILEID_STATX, &st) < 0 || fileid_dev(&st) != dev ||
	    !S_ISDIR(st.stx_mode))
		return -ENODEV;
	if (statfs(mount, &sf) < 0)
		return -errno;
	while (slot < HELPER_PLACES && w->mount[slot])
		slot++;
	if (slot == HELPER_PLACES)
		return -EBUSY;
	*p = (struct helper_place){.slot = (uint32_t)slot, .dev = dev};
	memcpy(&p->fsid, &sf.f_fsid, sizeof(p->fsid));
	fill_domain(fileid_domain(AT_FDCWD, mount, dev), &w->a.look.domain);
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	int id;
	if (name_to_handle_at(AT_FDCWD, mount, &u.h, &id, 0) == 0) {
		struct handle h = {
		    .type = u.h.handle_type, .bytes = u.h.handle_bytes, .p = (const unsigned char *)u.h.f_handle};
		p->handles = true;
		p->decodes = handle_inode(&h) == st.stx_ino;
		p->type = h.type;
		p->bytes = h.bytes;
	}
	w->mount[slot] = strdup(mount);
	w->dev[slot] = dev;
	return w->mount[slot] ? 0 : -ENOMEM;
}

/* Does what a question asks for: watches a mount for these events of fanotify. 0; -EPROTO: the question makes no
 * sense; -ENODEV: another one is mounted there; -errno. */
static int answer_mark(const struct helper_work *w, uint32_t slot, uint64_t mask)
{
	struct statx st;
	if (slot >= HELPER_PLACES || !w->mount[slot] || w->watch < 0 || !mask || mask & ~(uint64_t)MASK)
		return -EPROTO;
	int fd = open(w->mount[slot], O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;
	if (fd < 0)
		return -errno;
	/* Something else may have been mounted there since it was looked at. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 || fileid_dev(&st) != w->dev[slot])
		r = -ENODEV;
	else if (fanotify_mark(w->watch, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, fd, ".") < 0)
		r = -errno;
	close(fd);
	return r;
}

/* The process that asks closes a mount's place. A slot that is none is passed over: the other side may be anybody. */
static void answer_forget(struct helper_work *w, uint32_t slot)
{
	if (slot >= HELPER_PLACES)
		return;
	free(w->mount[slot]);
	w->mount[slot] = NULL;
}

/* ---- handles ---- */

/* Directories of the file systems that a question is about, opened when first needed. An open one keeps it from being
 * unmounted, so none is kept beyond the question. */
struct mount_fds {
	struct {
		uint32_t slot;
		int fd;
	} at[8];
	unsigned n;
};

/* w is empty then. */
static void close_mount_fds(struct mount_fds *w)
{
	while (w->n)
		close(w->at[--w->n].fd);
}

/* Finds a descriptor of the mount. *ret stays the mounts'. 0; -ENOTDIR: it is gone; -errno. */
static int mount_fd_of(const struct helper_work *w, uint32_t slot, struct mount_fds *mounts, int *ret)
{
	if (w->root && w->dev[slot] == w->root && !strcmp(w->mount[slot], "/")) {
		*ret = AT_FDCWD; /* nothing has to be opened, nor kept from being unmounted that is not anyway */
		return 0;
	}
	for (unsigned i = 0; i < mounts->n; i++)
		if (mounts->at[i].slot == slot) {
			*ret = mounts->at[i].fd;
			return 0;
		}
	if (mounts->n == sizeof(mounts->at) / sizeof(mounts->at[0]))
		close_mount_fds(mounts);
	int fd = open(w->mount[slot], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? -ENOTDIR : -errno;
	/* What leads through a process may lead through another one with that number by now. */
	struct statx st;
	if (!strncmp(w->mount[slot], "/proc/", 6) &&
	    (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 || fileid_dev(&st) != w->dev[slot])) {
		close(fd);
		return -ENOTDIR;
	}
	mounts->at[mounts->n].slot = slot;
	mounts->at[mounts->n++].fd = fd;
	*ret = fd;
	return 0;
}

/* A descriptor (O_PATH), the caller's; -EPROTO: the question makes no sense; -errno. */
static int open_handle(const struct helper_work *w, const struct helper_handle *h, struct mount_fds *mounts)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} u = {.h = {.handle_bytes = h->bytes, .handle_type = h->type}};
	if (h->slot >= HELPER_PLACES || !w->mount[h->slot] || !h->bytes || h->bytes > HANDLE_MAX)
		return -EPROTO;
	memcpy(u.h.f_handle, h->p, h->bytes);
	int at = -1, r = mount_fd_of(w, h->slot, mounts, &at);
	if (r < 0)
		return r;
	int fd = open_by_handle_at(at, &u.h, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Answers the states of files: of each its own r: 0, -errno. */
static void answer_states(struct helper_work *w, unsigned n)
{
	struct mount_fds mounts = {.n = 0};
	for (unsigned i = 0; i < n; i++) {
		struct helper_state *s = &w->a.state[i];
		struct statx st;
		int fd = open_handle(w, &w->q.handle[i], &mounts);
		*s = (struct helper_state){.r = fd < 0 ? fd : 0};
		if (fd < 0)
			continue;
		if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, FILEID_STATX, &st) < 0)
			s->r = -errno;
		else
			*s = (struct helper_state){.mode = st.stx_mode,
			                           .ino = st.stx_ino,
			                           .size = st.stx_size,
			                           .mtime = fileid_time(&st.stx_mtime),
			                           .birth = st.stx_mask & STATX_BTIME ? fileid_time(&st.stx_btime) : 0};
		close(fd);
	}
	close_mount_fds(&mounts);
}

/* The path of a directory in w->a.path. 0; -ESTALE: it was removed; -ENAMETOOLONG; -ENOTDIR: it cannot be reached;
 * -errno. */
static int answer_path(struct helper_work *w)
{
	static const char gone[] = " (deleted)";
	char link[40];
	struct stat st;
	struct mount_fds mounts = {.n = 0};
	int fd = open_handle(w, &w->q.handle[0], &mounts), r = 0;
	close_mount_fds(&mounts);
	if (fd < 0)
		return fd == -ENOENT ? -ESTALE : fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, w->a.path, sizeof(w->a.path) - 1);
	if (n <= 0 || w->a.path[0] != '/') {
		r = n == (ssize_t)sizeof(w->a.path) - 1 ? -ENAMETOOLONG : -ENOTDIR;
		n = 0;
	}
	w->a.path[n] = '\0';
	/* A name may end so; a removed one has no link. */
	if (n > (ssize_t)sizeof(gone) && !strcmp(w->a.path + n - (sizeof(gone) - 1), gone) && fstat(fd, &st) == 0 &&
	    st.st_nlink == 0)
		r = -ESTALE;
	close(fd);
	return r;
}

/* ---- processes ---- */

/* The length of the path in w->a.found; -EPROTO: the question makes no sense; -errno. with_id: and what it is, with an
 * r of its own. */
static int answer_link(struct helper_work *w, int32_t pid, uint32_t which, uint64_t number, bool with_id)
{
	static const char *const names[HELPER_LINKS] = {"exe", "cwd", "fd", "ns/mnt", "ns/pid"};
	char name[64];
	struct fileid id;
	if (pid <= 0 || which >= HELPER_LINKS || number > INT_MAX)
		return -EPROTO;
	if (which == HELPER_FD)
		snprintf(name, sizeof(name), "/proc/%d/fd/%u", pid, (unsigned)number);
	else
		snprintf(name, sizeof(name), "/proc/%d/%s", pid, names[which]);
	ssize_t n = readlink(name, w->a.found.path, sizeof(w->a.found.path) - 1);
	if (n < 0)
		return -errno;
	w->a.found.path[n] = '\0';
	fill_identity(-ENODATA, NULL, &w->a.found.id);
	if (with_id) {
		int r = unasked_get(name, true, &id);
		fill_identity(r, &id, &w->a.found.id);
	}
	return (int)n;
}

/* A file of /proc/PID. 0; -EPROTO: the question makes no sense; -errno. */
static int open_file(int32_t pid, uint32_t which, int *ret_fd)
{
	static const char *const names[HELPER_FILES] = {"stat", "status", "cmdline", "environ", "mountinfo", "statm"};
	char name[64];
	if (pid <= 0 || which >= HELPER_FILES)
		return -EPROTO;
	snprintf(name, sizeof(name), "/proc/%d/%s", pid, names[which]);
	*ret_fd = open(name, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

/* How many are in w->a.pid; fewer than HELPER_PIDS: that was all. -errno. */
static int answer_pids(struct helper_work *w, bool first)
{
	struct dirent *e;
	unsigned n = 0;
	if (first) {
		if (w->proc)
			closedir(w->proc);
		w->proc = opendir("/proc");
	}
	if (!w->proc)
		return first ? -errno : 0;
	while (n < HELPER_PIDS && (e = readdir(w->proc))) {
		int pid = atoi(e->d_name);
		if (pid > 0)
			w->a.pid[n++] = pid;
	}
	if (n < HELPER_PIDS) {
		closedir(w->proc);
		w->proc = NULL;
	}
	return (int)n;
}

/* ---- paths ---- */

struct real {
	char path[PATH_MAX], real[PATH_MAX];
	int r;
};

/* Run in a thread, since it may hang. r->r: 0, -errno. */
static void find_real(void *arg)
{
	struct real *r = arg;
	r->r = unasked_real(r->path, r->real);
}

/* Does what a question asks for: identifies the file at a path. follow: to where the path really leads. 0;
 * -ETIMEDOUT; -errno, which is in w->a.found.id.r, too. */
static int answer_find(struct helper_work *w, bool follow)
{
	struct real found = {0};
	struct fileid id;
	snprintf(found.path, sizeof(found.path), "%s", w->q.path);
	w->a.found.path[0] = '\0';
	if (!follow) {
		fill_identity(fileid_get(AT_FDCWD, found.path, false, &id), &id, &w->a.found.id);
		return w->a.found.id.r;
	}
	/* It may lead through a file system that does not answer. */
	int r = soon_do(&found, sizeof(found), find_real, PATIENCE_MS);
	r = r < 0 ? r : found.r;
	if (r < 0)
		return r;
	memcpy(w->a.found.path, found.real, sizeof(found.real));
	fill_identity(unasked_get(found.real, true, &id), &id, &w->a.found.id);
	return w->a.found.id.r;
}

/* The answer is w's until the next question; *ret_fd: a descriptor that goes with it, -1 none. */
const struct helper_answer *helper_work_do(struct helper_work *w, const void *question, size_t n, size_t *ret_n,
                                           int *ret_fd)
{
	struct helper_question *q = &w->q;
	struct helper_answer *a = &w->a;
	*ret_n = HELPER_ANSWER_HEAD;
	*ret_fd = -1;
	a->r = -EPROTO;
	a->n = 0;
	if (n < HELPER_QUESTION_HEAD || n > sizeof(*q))
		return a;
	memcpy(q, question, n);
	if (helper_size(q->op, q->n) != n)
		return a;
	if ((q->op == HELPER_OP_LOOK || q->op == HELPER_OP_FIND) &&
	    (q->path[0] != '/' || !memchr(q->path, '\0', sizeof(q->path))))
		return a;
	switch (q->op) {
	case HELPER_OP_WATCH:
		a->r = open_fanotify(w, q->number, ret_fd);
		break;
	case HELPER_OP_UNWATCH:
		if (w->watch >= 0)
			close(w->watch);
		w->watch = -1;
		a->r = 0;
		break;
	case HELPER_OP_LOOK:
		a->r = answer_look(w, q->path, q->number, q->n);
		*ret_n += a->r < 0 ? 0 : sizeof(a->look);
		break;
	case HELPER_OP_MARK:
		a->r = answer_mark(w, q->slot, q->number);
		break;
	case HELPER_OP_FORGET:
		answer_forget(w, q->slot);
		a->r = 0;
		break;
	case HELPER_OP_STATES:
		answer_states(w, q->n);
		a->r = 0;
		*ret_n += q->n * sizeof(a->state[0]);
		break;
	case HELPER_OP_PATH:
		a->r = answer_path(w);
		*ret_n += a->r < 0 ? 0 : strlen(a->path) + 1;
		break;
	case HELPER_OP_LINK:
		a->r = answer_link(w, q->pid, q->slot, q->number, q->n);
		*ret_n += a->r < 0 ? 0 : sizeof(a->found.id) + (size_t)a->r + 1;
		break;
	case HELPER_OP_OPEN:
		a->r = open_file(q->pid, q->slot, ret_fd);
		break;
	case HELPER_OP_PIDS:
		a->r = answer_pids(w, q->n);
		a->n = w->proc != NULL;
		*ret_n += a->r < 0 ? 0 : (size_t)a->r * sizeof(a->pid[0]);
		break;
	case HELPER_OP_FIND:
		a->r = answer_find(w, q->n);
		*ret_n += a->r < 0 ? 0 : sizeof(a->found.id) + strlen(a->found.path) + 1;
		break;
	default:
		break;
	}
	return a;
}

/* Sends a descriptor with one byte. False: there was no room, or the other end is closed. */
static bool send_descriptor(int sock, int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t n;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

void helper_serve(struct helper_work *w, struct helper_shared *shared, int from, int to, int sock)
{
	struct statx st;
	if (chdir("/") == 0 && statx(AT_FDCWD, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0)
		w->root = fileid_dev(&st);
	for (;;) {
		uint32_t size;
		size_t n;
		int fd;
		ssize_t got = read(from, &size, sizeof(size));
		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(size))
			return;
		const struct helper_answer *a = helper_work_do(w, &shared->q, size, &n, &fd);
		memcpy(&shared->a, a, n);
		size = (uint32_t)n;
		if (fd >= 0) {
			bool sent = send_descriptor(sock, fd);
			close(fd);
			if (!sent)
				return;
			size |= HELPER_HAS_FD;
		}
		do
			got = write(to, &size, sizeof(size));
		while (got < 0 && errno == EINTR);
		if (got != sizeof(size))
			return;
	}
}
