#include "daemon/world.h"

#include "base/ulid.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t world_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* When the machine was started: CLOCK_REALTIME, ns. */
int64_t world_boot(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return world_now() - (ts.tv_sec * 1000000000LL + ts.tv_nsec);
}

/* ---- files ---- */

static struct helper *helper; /* who looks */

/* The kind of a file, a term of the set kind. path: as the kernel gives it: pipes and memory have no real one. */
static unsigned kind_of_statx(const struct statx *st, const struct fs_domain *d, const char *path)
{
	switch (st->stx_mode & S_IFMT) {
	case S_IFDIR:
		return TERM_kind_directory;
	case S_IFLNK:
		return TERM_kind_symlink;
	case S_IFIFO:
		return path[0] == '/' ? TERM_kind_fifo : TERM_kind_pipe;
	case S_IFSOCK:
		return TERM_kind_socket;
	case S_IFCHR: {
		unsigned maj = st->stx_rdev_major;
		bool master = maj == 5 && st->stx_rdev_minor == 2;
		return !master && (maj == 4 || maj == 5 || (maj >= 136 && maj <= 143)) ? TERM_kind_terminal : TERM_kind_pseudo;
	}
	case S_IFREG:
		if (!strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5))
			return TERM_kind_shm;
		return d->pseudo ? TERM_kind_pseudo : TERM_kind_regular;
	default:
		return TERM_kind_pseudo;
	}
}

/* Fills in what was found out of a file. Nothing is filled if it is another file by now. */
static void fill_found(const struct fileid *f, const struct tracer_fileid *id, const char *path, struct node_found *ret)
{
	if (id && id->ino && (f->ino != id->ino || (id->dev && fileid_dev(&f->st) != id->dev)))
		return;
	*ret = (struct node_found){.dev = fileid_dev(&f->st), .ino = f->ino, .gen = f->gen, .domain = f->domain};
	ret->kind = kind_of_statx(&f->st, f->domain, path);
	if (ret->kind == TERM_kind_regular && (f->st.stx_mask & STATX_SIZE)) {
		ret->has_state = true;
		ret->size = f->st.stx_size;
		ret->mtime = fileid_time(&f->st.stx_mtime);
	}
	/* A file without a name has only one that it had. */
	if (f->st.stx_nlink || ret->kind != TERM_kind_regular)
		snprintf(ret->path, sizeof(ret->path), "%s", path);
}

/* What has no name anywhere: pipes and sockets of the kernel's own file systems. Their number is all that there is to
 * know of them, so that nobody's /proc has to be looked at, and it does not matter if the process is gone. */
static struct nameless {
	const char *word;
	unsigned type, kind; /* S_IFMT; term kind */
	uint64_t dev;        /* 0: this kernel gives them a generation */
	const struct fs_domain *domain;
} nameless[] = {{"pipe", S_IFIFO, TERM_kind_pipe, 0, NULL}, {"socket", S_IFSOCK, TERM_kind_socket, 0, NULL}};

/* What pipes and sockets look like here, for is_nameless. */
static void learn_nameless(void)
{
	int fd[2][2] = {{-1, -1}, {-1, -1}};
	if (pipe2(fd[0], O_CLOEXEC) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd[1]) < 0)
		fd[1][0] = -1;
	for (int i = 0; i < 2 && fd[1][0] >= 0; i++) {
		char name[64];
		struct fileid id;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd[i][0]);
		if (fileid_get(AT_FDCWD, name, true, &id) == 0 && !id.gen) {
			nameless[i].dev = fileid_dev(&id.st);
			nameless[i].domain = id.domain;
		}
	}
	for (int i = 0; i < 4; i++)
		if (fd[i / 2][i % 2] >= 0)
			close(fd[i / 2][i % 2]);
}

/* A pipe or socket, which no path leads to. False: it is none. */
static bool is_nameless(const struct tracer_fileid *id, struct node_found *ret)
{
	for (size_t i = 0; i < 2; i++) {
		const struct nameless *w = &nameless[i];
		if (!w->dev || id->dev != w->dev || (id->mode & S_IFMT) != w->type)
			continue;
		*ret = (struct node_found){.dev = id->dev, .ino = id->ino, .kind = w->kind, .domain = w->domain};
		snprintf(ret->path, sizeof(ret->path), "%s:[%llu]", w->word, (unsigned long long)id->ino);
		return true;
	}
	return false;
}

/* What a process has open as fd. Pipes and sockets are known by id alone; else the helper looks, since it may hang. ret
 * stays as it is where that is another file by now. */
static void find_fd(void *arg, pid_t pid, unsigned fd, const struct tracer_fileid *id, struct node_found *ret)
{
	char path[PATH_MAX];
	struct fileid f;
	int r;
	(void)arg;
	if (!is_nameless(id, ret) && pid && helper_link(helper, pid, HELPER_FD, fd, path, &r, &f) > 0 && r == 0)
		fill_found(&f, id, path, ret);
}

/* What lies at a path, if that is the file of id; else ret stays as it is. The helper looks, since it may hang. */
static void find_path(void *arg, const char *path, const struct tracer_fileid *id, struct node_found *ret)
{
	char real[PATH_MAX];
	struct fileid f;
	(void)arg;
	if (*path == '/' && helper_find(helper, path, real, &f) == 0)
		fill_found(&f, id, real, ret);
}

/* The domain of a device has to be asked for by a path on it, where there is one. */
static const struct fs_domain *find_domain(void *arg, uint64_t dev)
{
	char line[4096], point[1024] = "";
	unsigned maj, min;
	const struct fs_domain *known = fileid_domain_known(dev);
	(void)arg;
	if (known) /* to read the mounts takes 50 us, and every pipe of the node asks */
		return known;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		char at[1024];
		if (sscanf(line, "%*d %*d %u:%u %*s %1023s", &maj, &min, at) == 3 && ((uint64_t)maj << 32 | min) == dev) {
			snprintf(point, sizeof(point), "%s", at);
			break;
		}
	}
	if (f)
		fclose(f);
	return fileid_domain(AT_FDCWD, point, dev);
}

/* ---- names ---- */

/* The files alone: a name service may ask another machine, and wait. False: there is none. */
static bool find_passwd_entry(uint32_t uid, const char *name, struct passwd *ret)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw = NULL;
	while (f && (pw = fgetpwent(f)) && (name ? strcmp(pw->pw_name, name) != 0 : pw->pw_uid != uid))
		;
	if (pw)
		*ret = *pw; /* its strings live until the next fgetpwent */
	if (f)
		fclose(f);
	return pw;
}

/* "#uid" where the files do not have it. */
static void world_user(uint32_t uid, char *ret, size_t size)
{
	struct passwd pw;
	if (find_passwd_entry(uid, NULL, &pw))
		snprintf(ret, size, "%s", pw.pw_name);
	else
		snprintf(ret, size, "#%u", uid);
}

bool world_uid(const char *name, uint32_t *ret)
{
	struct passwd pw;
	char *end;
	unsigned long n = strtoul(name, &end, 10);
	if (*name && !*end && n < UINT32_MAX) {
		*ret = (uint32_t)n;
		return true;
	}
	if (!find_passwd_entry(0, name, &pw))
		return false;
	*ret = pw.pw_uid;
	return true;
}

bool world_is_member(uint32_t uid, uint32_t gid, const char *group)
{
	char user[256];
	bool yes = false;
	struct group *gr;
	if (!*group)
		return false;
	world_user(uid, user, sizeof(user));
	FILE *f = fopen("/etc/group", "re");
	while (f && !yes && (gr = fgetgrent(f))) {
		if (strcmp(gr->gr_name, group) != 0)
			continue;
		yes = gr->gr_gid == gid;
		for (char **m = gr->gr_mem; !yes && *m; m++)
			yes = !strcmp(*m, user);
	}
	if (f)
		fclose(f);
	return yes;
}

bool world_has_group(const char *group)
{
	struct group *gr = NULL;
	FILE *f = fopen("/etc/group", "re");
	while (f && (gr = fgetgrent(f)) && strcmp(gr->gr_name, group) != 0)
		;
	if (f)
		fclose(f);
	return gr;
}

/* Looks up names. For the node: names of user and group, or #NUMBER. */
static void group_names_user(void *arg, uint32_t uid, uint32_t gid, char *user, char *group, size_t size)
{
	(void)arg;
	struct group *gr = NULL;
	world_user(uid, user, size);
	FILE *f = fopen("/etc/group", "re");
	while (f && (gr = fgetgrent(f)) && gr->gr_gid != gid)
		;
	if (gr)
		snprintf(group, size, "%s", gr->gr_name);
	else
		snprintf(group, size, "#%u", gid);
	if (f)
		fclose(f);
}

/* A new ULID, or "". */
static void run_id(void *arg, char ret[27])
{
	(void)arg;
	if (ulid_new(ret) < 0)
		ret[0] = '\0';
}

void world_init(struct node_world *w, struct helper *by)
{
	helper = by;
	learn_nameless();
	w->find_fd = find_fd;
	w->find_path = find_path;
	w->domain = find_domain;
	w->run_id = run_id;
	w->names = group_names_user;
}
