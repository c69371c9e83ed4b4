#include "base/fileid.h"
#include "capture/supervisor/paths/far.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/paths/where_int.h"
#include "capture/supervisor/super.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads memory of a process: by the file, where a filter around the run refuses the call: three calls for one. Bytes
 * that came, in order; -EPERM, -EFAULT, -errno where none did. */
static ssize_t read_mem(pid_t tid, const struct iovec *here, const struct iovec *there, size_t n)
{
	char name[48];
	ssize_t have = 0;
	snprintf(name, sizeof(name), "/proc/%d/mem", tid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	for (size_t i = 0; i < n; i++) {
		ssize_t got = pread(fd, here[i].iov_base, here[i].iov_len, (off_t)(uintptr_t)there[i].iov_base);
		if (got < 0 && !have)
			have = errno == EIO ? -EFAULT : -errno;
		if (got > 0)
			have += got;
		if (got != (ssize_t)here[i].iov_len)
			break;
	}
	close(fd);
	return have;
}

ssize_t remote_readv(pid_t tid, const struct iovec *here, const struct iovec *there, size_t n)
{
	ssize_t got = process_vm_readv(tid, here, n, there, n, 0);
	if (got >= 0)
		return got;
	return errno == EPERM || errno == ENOSYS ? read_mem(tid, here, there, n) : -errno;
}

/* Bytes read, maybe fewer than n; -errno. */
ssize_t remote_read(pid_t tid, uint64_t addr, void *ret, size_t n)
{
	struct iovec here = {ret, n}, there = {(void *)(uintptr_t)addr, n};
	return remote_readv(tid, &here, &there, 1);
}

ssize_t remote_string(pid_t tid, uint64_t addr, char *ret, size_t n)
{
	size_t have = 0;
	while (have < n) {
		/* Never across a page that may not be there: most paths fit what is left of the first. */
		size_t page = 4096 - ((addr + have) & 4095), want = page < 256 ? page : 256;
		if (have)
			want = page;
		if (want > n - have)
			want = n - have;
		ssize_t got = remote_read(tid, addr + have, ret + have, want);
		if (got <= 0)
			return got < 0 ? got : -EFAULT;
		char *end = memchr(ret + have, '\0', (size_t)got);
		if (end)
			return end - ret;
		have += (size_t)got;
	}
	return -ENAMETOOLONG;
}

/* ---- what is being looked at ---- */

/* Written by whoever looks, and read by another thread while that one is held up: in words, with a number that is odd
 * while they change. */
#define LOOKS_WORDS (LOOKS_AT / 8)
struct looks {
	uint64_t words[LOOKS_WORDS];
	unsigned turn;
};
static struct looks first_looks, *shown = &first_looks;
static _Thread_local struct looks *own_looks; /* NULL: the first ones */

void where_looks_own(void)
{
	own_looks = calloc(1, sizeof(*own_looks));
}

/* What this thread looks at is what where_looking tells from now on. */
void where_looks_shown(void)
{
	__atomic_store_n(&shown, own_looks ? own_looks : &first_looks, __ATOMIC_RELEASE);
}

/* Longer paths are cut; "": nothing. */
void where_looks(const char *path)
{
	struct looks *l = own_looks ? own_looks : &first_looks;
	uint64_t words[LOOKS_WORDS];
	size_t n = strlen(path), length = n < LOOKS_AT ? n : LOOKS_AT - 1;
	memset(words, 0, sizeof(words));
	memcpy(words, path, length);
	__atomic_fetch_add(&l->turn, 1, __ATOMIC_ACQ_REL);
	for (size_t i = 0; i <= length / 8; i++)
		__atomic_store_n(&l->words[i], words[i], __ATOMIC_RELEASE);
	__atomic_fetch_add(&l->turn, 1, __ATOMIC_RELEASE);
}

/* "" where nothing is looked at, or it changes just now. */
void where_looking(char ret[LOOKS_AT])
{
	uint64_t words[LOOKS_WORDS];
	const struct looks *l = __atomic_load_n(&shown, __ATOMIC_ACQUIRE);
	unsigned turn = __atomic_load_n(&l->turn, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < LOOKS_WORDS; i++)
		words[i] = __atomic_load_n(&l->words[i], __ATOMIC_ACQUIRE);
	memcpy(ret, words, sizeof(words));
	ret[LOOKS_AT - 1] = '\0';
	if ((turn & 1) || turn != __atomic_load_n(&l->turn, __ATOMIC_ACQUIRE))
		ret[0] = '\0'; /* it has gone on meanwhile */
}

/* ---- paths ---- */

/* Begins with a place of which nothing is known. Nothing is held then: what w held before is not given back. */
static void where_clear(struct where *w, pid_t tid, int atfd)
{
	w->dirfd = AT_FDCWD;
	w->hold = w->object = -1;
	w->allowed = false;
	w->foreign = w->fleeting = w->direct = w->held = w->copied = false;
	w->in_turn = NULL;
	w->dir.ino = 0;
	w->ns = 0;
	w->tid = tid;
	w->atfd = atfd;
	w->path[0] = '\0';
}

/* Finds the parent directory as a process with another root would, and holds it. jail: that root is the directory atfd.
 * 0; -ELOOP, -ENAMETOOLONG, -errno. */
static int where_jailed(struct where *w, bool jail, bool follow)
{
	char path[4096 + 1], dir[4096 + 1], target[4096];
	memcpy(path, w->given, strlen(w->given) + 1);
	for (int links = 0; links < 20; links++) {
		char *slash = strrchr(path, '/');
		const char *base = slash ? slash + 1 : path;
		size_t ndir = slash ? (size_t)(slash - path) + 1 : 0;
		memcpy(dir, path, ndir);
		memcpy(dir + ndir, ".", 2);
		char start[64];
		bool rooted = jail || path[0] == '/';
		where_start_directory(w, rooted && !jail, start, sizeof(start));
		int top = open(start, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (top < 0)
			return -errno;
		struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = rooted ? RESOLVE_IN_ROOT : 0};
		int fd = (int)syscall(SYS_openat2, top, dir, &how, sizeof(how)), e = errno;
		close(top);
		if (fd < 0)
			return -e;
		ssize_t n = follow && *base ? readlinkat(fd, base, target, sizeof(target) - 1) : -1;
		if (n <= 0) {
			w->hold = w->dirfd = fd;
			const char *last = *base ? base : ".";
			memcpy(w->path, last, strlen(last) + 1);
			return 0;
		}
		close(fd);
		target[n] = '\0';
		if (!jail && links_translate(target, w->tid, true, w->path, sizeof(w->path))) {
			w->fleeting = true;
			return 0;
		}
		/* A link is followed below the same root. */
		if (target[0] == '/')
			ndir = 0;
		if (ndir + (size_t)n > 4096)
			return -ENAMETOOLONG;
		memmove(path + ndir, target, (size_t)n + 1);
	}
	return -ELOOP;
}

int where_path(struct rooted r, pid_t tid, int atfd, const char *path, bool follow, struct where *w)
{
	where_clear(w, tid, atfd);
	size_t n = strlen(path);
	if (n >= sizeof(w->given))
		return -ENAMETOOLONG;
	memmove(w->given, path, n + 1);
	where_looks(w->given);
	if (!n)
		return -ENOENT;
	if (path[0] == '/' && (path[1] == 'p' || path[1] == 'd') &&
	    links_translate(w->given, tid, r.foreign, w->path, sizeof(w->path))) {
		w->fleeting = true;
		return 0;
	}
	if (r.foreign) {
		w->foreign = true;
		w->ns = r.ns;
		return where_jailed(w, false, follow);
	}
	if (w->given[0] == '/') {
		memcpy(w->path, w->given, n + 1);
		if (r.in_turn)
			where_hold_in_turn(w);
		return 0;
	}
	if (r.near && where_hold_start(r, w)) {
		memcpy(w->path, w->given, n + 1);
		return 0;
	}
	where_start_directory(w, false, w->path, sizeof(w->path));
	size_t k = strlen(w->path);
	if (k + 1 + n < 4096) {
		w->path[k] = '/';
		memcpy(w->path + k + 1, w->given, n + 1);
		return 0;
	}
	/* Prefix and path together are longer than a path may be. */
	w->hold = open(w->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->hold < 0)
		return -errno;
	w->dirfd = w->hold;
	memcpy(w->path, w->given, n + 1);
	return 0;
}

int where_init(struct rooted r, pid_t tid, int atfd, uint64_t addr, bool follow, struct where *w)
{
	where_clear(w, tid, atfd);
	ssize_t n = remote_string(tid, addr, w->given, sizeof(w->given));
	if (n < 0)
		return (int)n;
	return where_path(r, tid, atfd, w->given, follow, w);
}

int where_in_root(struct rooted r, pid_t tid, int atfd, uint64_t addr, bool follow, struct where *w)
{
	where_clear(w, tid, atfd);
	ssize_t n = remote_string(tid, addr, w->given, sizeof(w->given));
	if (n <= 0)
		return n < 0 ? (int)n : -ENOENT;
	where_looks(w->given);
	w->foreign = true;
	w->ns = r.ns;
	return where_jailed(w, true, follow);
}

void where_pin(struct where *w)
{
	char dir[sizeof(w->path)];
	if (w->held)
		where_pin_held(w);
	char *slash = strrchr(w->path, '/');
	if (w->hold >= 0 || !slash || !slash[1] || slash == w->path)
		return;
	size_t n = (size_t)(slash - w->path);
	memcpy(dir, w->path, n);
	dir[n] = '\0';
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	w->hold = w->dirfd = fd;
	w->dir.ino = 0;
	w->held = !w->foreign;
	w->direct = false;
	memmove(w->path, slash + 1, strlen(slash + 1) + 1);
}

void where_fd(pid_t tid, int fd, struct where *w)
{
	where_clear(w, tid, AT_FDCWD);
	snprintf(w->path, sizeof(w->path), "/proc/%d/fd/%d", tid, fd);
	memcpy(w->given, w->path, strlen(w->path) + 1);
}

bool where_hold_fd(struct where *w, const struct statx *st)
{
	struct statx now;
	int fd = openat(w->dirfd, w->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	w->hold = fd;
	snprintf(w->path, sizeof(w->path), "/proc/self/fd/%d", fd);
	return far_descriptor(fd, "", AT_EMPTY_PATH, &now) == 0 && now.stx_ino == st->stx_ino &&
	       fileid_dev(&now) == fileid_dev(st);
}

void where_none(struct where *w)
{
	where_clear(w, 0, AT_FDCWD);
	w->given[0] = '\0';
}

bool where_is_ours(const struct where *w)
{
	return w->given[1] == '.' && !strncmp(w->given, "/.stemma/", 9);
}

/* It may be released twice. */
void where_release(struct where *w)
{
	if (w->hold >= 0)
		close(w->hold);
	if (w->object >= 0)
		close(w->object);
	w->hold = w->object = -1;
}

void where_hold(struct where *w, bool follow, const struct statx *st, int amode)
{
	struct statx now;
	const struct fs_domain *d = fileid_domain_known(fileid_dev(st));
	if (d && !fileid_type_waits(d->type))
		return;
	int fd = openat(w->dirfd, w->path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return;
	if (fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_INO, &now) < 0 || now.stx_ino != st->stx_ino ||
	    fileid_dev(&now) != fileid_dev(st) || !fileid_type_waits(fileid_domain(fd, "", fileid_dev(st))->type)) {
		close(fd);
		return;
	}
	w->allowed = amode && faccessat(w->dirfd, w->path, amode, AT_EACCESS) == 0;
	w->object = fd;
}

/* Of what was looked up. 0, -errno. */
int where_statx(const struct where *w, bool follow, struct statx *st)
{
	int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
	return statx(w->dirfd, w->path, flags, FILEID_STATX, st) < 0 ? -errno : 0;
}

static _Thread_local bool *put_off;

void where_careful(bool *ret_put_off)
{
	put_off = ret_put_off;
}

/* May who looks at an object of that device be kept waiting? Whatever nothing is known of may do that. */
static bool may_object_stall(const struct statx *st)
{
	char type[64];
	const struct fs_domain *d = fileid_domain_known(fileid_dev(st));
	bool known = d || fileid_type_in("/proc/self/mountinfo", fileid_dev(st), type);
	return !known || fileid_type_waits(d ? d->type : type) || !strcmp(d ? d->type : type, "autofs");
}

/* Is that, or as much of it as the kernel knows, on a file system that may keep us waiting? None is asked. */
static bool is_far(int dirfd, char *path, bool follow)
{
	enum { TRIES = 16 };
	struct statx st;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follow ? 0u : O_NOFOLLOW), .resolve = RESOLVE_CACHED};
	for (int tries = 0;;) {
		int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how)), e = errno;
		if (fd < 0 && e == EAGAIN && ++tries < TRIES)
			continue; /* somebody mounted or renamed something just then, anywhere */
		tries = 0;
		if (fd >= 0) {
			bool far = fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_INO, &st) < 0 || may_object_stall(&st);
			close(fd);
			return far;
		}
		char *slash = strrchr(path, '/');
		if (e != EAGAIN)
			return e == EINVAL; /* before Linux 5.12 the kernel cannot be asked so */
		if (!strcmp(path, "/") || !strcmp(path, "."))
			return true;
		if (!slash)
			memcpy(path, ".", 2);
		else
			slash[slash == path] = '\0';
		how.flags &= ~(uint64_t)O_NOFOLLOW;
	}
}

/* Does the path lead to a file system that may keep us waiting? As is_far; of a relative path from its folder on,
 * which is opened for that. */
static bool leads_far(const struct where *w, bool follow)
{
	char path[sizeof(w->path)], start[64];
	size_t n = strlen(w->path), given = strlen(w->given);
	/* What stands before a relative path leads through a process, which the kernel does not do so. */
	bool relative = w->given[0] != '/' && w->dirfd == AT_FDCWD && w->path[0] == '/' && given < n &&
	                n - given < sizeof(start) && !strcmp(w->path + n - given, w->given);
	memcpy(path, relative ? w->given : w->path, (relative ? given : n) + 1);
	if (!relative)
		return is_far(w->dirfd, path, follow);
	memcpy(start, w->path, n - given - 1);
	start[n - given - 1] = '\0';
	int top = open(start, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool far = top < 0 || is_far(top, path, follow);
	if (top >= 0)
		close(top);
	return far;
}

int where_look(struct where *w, bool follow, struct statx *st)
{
	if (put_off && leads_far(w, follow)) {
		*put_off = true;
		return -EAGAIN;
	}
	int rc;
	if (w->held && where_look_held(w, follow, st, &rc))
		return rc;
	w->direct = false;
	if (w->held && !where_let_go(w))
		return where_statx(w, follow, st);
	bool other = false;
	size_t n = strlen(w->path);
	if (w->foreign || w->dirfd != AT_FDCWD || w->path[0] != '/' || n >= LINKS_PATH)
		return where_statx(w, follow, st);
	/* A path that does not begin at the root stands behind the directory that it begins in. */
	size_t given = strlen(w->given), skip = 0;
	if (w->given[0] != '/' && given < n && !strcmp(w->path + n - given, w->given))
		skip = n - given - 1;
	rc = links_look(w->path, skip, w->tid, follow, st, &other, &w->direct);
	w->fleeting |= other;
	return rc;
}

struct mount {
	unsigned maj, min;
	char root[4096], point[4096];
};

/* Calls each mount of a mountinfo file, in order, until `see` says true. Paths with blanks are escaped there: left as
 * they are. */
static bool each_mount(const char *file, bool (*see)(const struct mount *m, void *arg), void *arg)
{
	FILE *f = fopen(file, "re");
	struct mount *m = malloc(sizeof(*m));
	char *line = NULL;
	size_t cap = 0;
	bool found = false;
	while (f && m && !found && getline(&line, &cap, f) > 0)
		found = sscanf(line, "%*d %*d %u:%u %4095s %4095s", &m->maj, &m->min, m->root, m->point) == 4 && see(m, arg);
	free(line);
	free(m);
	if (f)
		fclose(f);
	return found;
}

/* Is `path` below `top`? Then what follows it, beginning with "/" or empty. */
static const char *path_below(const char *path, const char *top)
{
	size_t n = strlen(top);
	if (n == 1)
		return path;
	return !strncmp(path, top, n) && (path[n] == '/' || !path[n]) ? path + n : NULL;
}

struct search {
	const char *path; /* in: in the other namespace; then within the file system */
	unsigned maj, min;
	size_t best;
	char inside[4096 * 2], here[4096 * 2];
};

/* Goes on to the last: the mount that the path lies on, as the process sees it, and the path within. */
static bool see_theirs(const struct mount *m, void *arg)
{
	struct search *x = arg;
	const char *rest = path_below(x->path, m->point);
	if (rest && strlen(m->point) >= x->best) { /* a later mount on the same point covers the earlier */
		x->best = strlen(m->point);
		x->maj = m->maj;
		x->min = m->min;
		snprintf(x->inside, sizeof(x->inside), "%s%s", m->root[1] ? m->root : "", strcmp(rest, "/") ? rest : "");
	}
	return false;
}

/* Goes on to the last: where that mount lies for us, and the path here. */
static bool see_ours(const struct mount *m, void *arg)
{
	struct search *x = arg;
	const char *rest = m->maj == x->maj && m->min == x->min ? path_below(x->inside, m->root) : NULL;
	if (rest && strlen(m->root) >= x->best) {
		x->best = strlen(m->root);
		snprintf(x->here, sizeof(x->here), "%s%s", m->point[1] ? m->point : "", rest);
	}
	return false;
}

/* A path of another mount namespace, as it is called in ours: by what the two have mounted. What only the other has
 * mounted keeps its name there, and says whose it is, so that it is not taken for one of ours. */
static char *in_namespace(const struct where *w, int fd, char *name)
{
	char *ret, file[48];
	struct statx here, there;
	if (!name || !w->ns)
		return name;
	if (statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_INO, &here) == 0 &&
	    statx(fd, "", AT_EMPTY_PATH, STATX_INO, &there) == 0 && here.stx_ino == there.stx_ino &&
	    fileid_dev(&here) == fileid_dev(&there))
		return name; /* the same in both, as most of a container's files of the user are */
	struct search *x = calloc(1, sizeof(*x));
	snprintf(file, sizeof(file), "/proc/%d/mountinfo", w->tid);
	if (x) {
		x->path = name;
		each_mount(file, see_theirs, x);
		x->best = 0;
		if (x->maj || x->min)
			each_mount("/proc/self/mountinfo", see_ours, x);
		ret = x->here[0] ? strdup(x->here) : NULL;
		free(x);
		if (ret) {
			free(name);
			return ret;
		}
	}
	if (asprintf(&ret, "mnt:[%llu]:%s", (unsigned long long)w->ns, name) < 0)
		ret = NULL;
	free(name);
	return ret;
}

/* The canonical absolute name of an existing object; malloc'ed, NULL if it cannot be told. */
static char *where_real(const struct where *w, bool follow)
{
	if (w->object >= 0)
		return in_namespace(w, w->object, links_fd_name(w->object));
	int fd = openat(w->dirfd, w->path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return NULL;
	char *name = in_namespace(w, fd, links_fd_name(fd));
	close(fd);
	return name;
}

char *where_real_of(struct where *w, bool follow, const struct statx *st)
{
	bool direct = w->direct && !S_ISLNK(st->stx_mode) && w->object < 0;
	char *name = NULL;
	if (w->held && w->object < 0)
		name = where_name_held(w, st);
	else if (direct)
		name = links_name(w->path, st);
	if (name)
		return name;
	name = where_real(w, follow);
	/* A link to its folder may lead to another one by now: then it keeps the name that led to it. */
	struct statx there;
	if (name && direct && w->given[0] == '/' && !strcmp(w->given, w->path) &&
	    (statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_INO, &there) < 0 || there.stx_ino != st->stx_ino ||
	     fileid_dev(&there) != fileid_dev(st))) {
		free(name);
		name = strdup(w->path);
	}
	return name;
}

/* Not even the directory is there: the words as given, after the directory they start from. */
static char *name_as_given(const struct where *w)
{
	char start[64], top[4096], *ret = NULL;
	const bool absolute = w->given[0] == '/';
	if (absolute && !w->foreign)
		return strdup(w->given);
	where_start_directory(w, absolute, start, sizeof(start));
	ssize_t k = readlink(start, top, sizeof(top) - 1);
	if (k <= 0)
		return NULL;
	top[k] = '\0';
	return asprintf(&ret, "%s%s%s", strcmp(top, "/") ? top : "", absolute ? "" : "/", w->given) < 0 ? NULL : ret;
}

/* The real name of the directory dir, or of the one that w holds (NULL); malloc'ed. NULL: it is not there. */
static char *name_of_directory(struct where *w, const char *dir)
{
	const char *known = dir ? NULL : where_held_dir(w);
	if (known)
		return strdup(known);
	int fd = dir            ? openat(w->dirfd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC)
	         : w->hold >= 0 ? fcntl(w->hold, F_DUPFD_CLOEXEC, 3)
	                        : -1;
	char *name = fd < 0 ? NULL : in_namespace(w, fd, links_fd_name(fd));
	if (fd >= 0)
		close(fd);
	return name;
}

char *where_name(struct where *w)
{
	char dir[sizeof(w->path)], base[sizeof(w->path)];
	size_t n = strlen(w->path);
	memcpy(dir, w->path, n + 1);
	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = '\0';
	char *slash = strrchr(dir, '/');
	const char *last = slash ? slash + 1 : dir;
	memcpy(base, last, strlen(last) + 1);
	if (!strcmp(base, ".") || !strcmp(base, ".."))
		return where_real(w, true);
	if (slash)
		slash[slash == dir] = '\0';
	char *parent = name_of_directory(w, slash ? dir : NULL), *ret = NULL;
	if (!parent)
		return name_as_given(w);
	if (asprintf(&ret, "%s/%s", strcmp(parent, "/") ? parent : "", base) < 0)
		ret = NULL;
	free(parent);
	return ret;
}
