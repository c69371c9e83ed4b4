#include "base/os/procfs.h"

#include "base/io.h"
#include "base/os/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* All figures are unknown then. */
void procfs_clear(struct procfs *p)
{
	memset(p, 0xff, sizeof(*p)); /* every figure PROCFS_UNKNOWN */
	p->state = 0;
	p->ppid = 0;
	p->terminal = 0;
	p->exit_code = 0;
	p->ignores_children = false;
	p->io_whole = false;
}

ssize_t procfs_read(pid_t pid, const char *file, char *ret, size_t size)
{
	char name[80];
	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	return io_read_text(name, ret, size);
}

bool procfs_id_mapped(pid_t pid, const char *map, unsigned id)
{
	char text[4096];
	if (procfs_read(pid, map, text, sizeof(text)) <= 0)
		return true;
	/* A line: the first number there, the first here, how many. */
	for (char *line = text, *next; line && *line; line = next) {
		unsigned long there, here, n;
		if ((next = strchr(line, '\n')))
			next++;
		if (sscanf(line, "%lu %lu %lu", &there, &here, &n) == 3 && id >= here && id - here < n)
			return true;
	}
	return false;
}

/* What has nothing in its file has ended. 0, -errno; -ESRCH then. */
static int read_figures(pid_t pid, const char *file, char *ret, size_t size)
{
	ssize_t n = procfs_read(pid, file, ret, size);
	return n < 0 ? (int)n : n ? 0 : -ESRCH;
}

/* The length of a tick of the times in /proc. */
static uint64_t tick_ns(void)
{
	static uint64_t tick; /* the same for whoever comes first */
	uint64_t t = __atomic_load_n(&tick, __ATOMIC_RELAXED);
	if (!t) {
		long hz = sysconf(_SC_CLK_TCK);
		t = 1000000000u / (hz > 0 ? (unsigned long)hz : 100u);
		__atomic_store_n(&tick, t, __ATOMIC_RELAXED);
	}
	return t;
}

int procfs_parse_stat(const char *text, struct procfs *p)
{
	/* The name may hold anything, parentheses too; behind its last one there are numbers only. */
	const char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || !at[2])
		return -EINVAL;
	unsigned long long f[53] = {0};
	char state = at[2];
	char *end = (char *)at + 3;
	for (int i = 4; i <= 52 && *end; i++)
		f[i] = strtoull(end, &end, 10); /* negative ones wrap, and the casts below turn them back */
	uint64_t tick = tick_ns();
	p->state = state;
	p->ppid = (pid_t)f[4];
	p->terminal = (int)f[7];
	p->minor = f[10];
	p->waited_minor = f[11];
	p->major = f[12];
	p->waited_major = f[13];
	p->user = f[14] * tick;
	p->system = f[15] * tick;
	p->waited_cpu = (f[16] + f[17]) * tick;
	p->threads = f[20];
	p->started = f[22] * tick;
	p->virtual = f[23];
	p->resident = f[24] * (uint64_t)sysconf(_SC_PAGESIZE);
	p->exit_code = (int)f[52];
	return 0;
}

/* A figure of a "name: value" file. */
static bool parse_named_value(const char *text, const char *name, unsigned unit, uint64_t *ret)
{
	const char *at = strstr(text, name);
	if (!at)
		return false;
	*ret = strtoull(at + strlen(name), NULL, 10) * unit;
	return true;
}

/* From the text of /proc/PID/status. What it does not have stays as it was. */
void procfs_parse_status(const char *text, struct procfs *p)
{
	enum { CHILD_BIT = 16 }; /* SIGCHLD is 17 */
	parse_named_value(text, "\nThreads:", 1, &p->threads);
	parse_named_value(text, "\nVmPeak:", 1024, &p->virtual_peak);
	parse_named_value(text, "\nVmHWM:", 1024, &p->resident_peak);
	parse_named_value(text, "\nRssAnon:", 1024, &p->anonymous);
	parse_named_value(text, "\nRssFile:", 1024, &p->file);
	parse_named_value(text, "\nRssShmem:", 1024, &p->shared);
	parse_named_value(text, "\nVmSwap:", 1024, &p->swap);
	parse_named_value(text, "\nHugetlbPages:", 1024, &p->huge);
	const char *at = strstr(text, "\nSigIgn:");
	if (at)
		p->ignores_children = strtoull(at + 8, NULL, 16) >> CHILD_BIT & 1;
}

/* From the text of /proc/PID/io; nothing where one of its numbers lacks. */
void procfs_parse_io(const char *text, struct procfs *p)
{
	struct procfs q;
	procfs_clear(&q);
	/* All or nothing: they are compared with each other. */
	if (parse_named_value(text, "rchar: ", 1, &q.rchar) && parse_named_value(text, "\nwchar: ", 1, &q.wchar) &&
	    parse_named_value(text, "\nsyscr: ", 1, &q.syscr) && parse_named_value(text, "\nsyscw: ", 1, &q.syscw) &&
	    parse_named_value(text, "\nread_bytes: ", 1, &q.read_bytes) &&
	    parse_named_value(text, "\nwrite_bytes: ", 1, &q.write_bytes)) {
		p->rchar = q.rchar;
		p->wchar = q.wchar;
		p->syscr = q.syscr;
		p->syscw = q.syscw;
		p->read_bytes = q.read_bytes;
		p->write_bytes = q.write_bytes;
	}
}

int procfs_stat(pid_t pid, struct procfs *p)
{
	char text[1024];
	int rc = read_figures(pid, "stat", text, sizeof(text));
	return rc < 0 ? rc : procfs_parse_stat(text, p);
}

/* Threads and memory (bytes). 0, -errno. */
int procfs_status(pid_t pid, struct procfs *p)
{
	char text[4096];
	int rc = read_figures(pid, "status", text, sizeof(text));
	if (rc < 0)
		return rc;
	procfs_parse_status(text, p);
	return 0;
}

/* Processor time of all threads, ns. 0, -errno. */
int procfs_cpu(pid_t pid, struct procfs *p)
{
	struct timespec ts;
	clockid_t clock = (clockid_t)((~(unsigned)pid << 3) | 2); /* as clock_getcpuclockid makes it */
	if (clock_gettime(clock, &ts) < 0)
		return -errno;
	p->cpu = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return 0;
}

/* Bytes and calls. first_thread: of that one alone. 0, -errno. */
int procfs_io(pid_t pid, bool first_thread, struct procfs *p)
{
	char file[32] = "io", text[512];
	if (first_thread)
		snprintf(file, sizeof(file), "task/%d/io", pid);
	int rc = read_figures(pid, file, text, sizeof(text));
	if (rc < 0)
		return rc;
	procfs_parse_io(text, p);
	p->io_whole = !first_thread;
	return 0;
}

int procfs_pss(pid_t pid, uint64_t *ret_pss, uint64_t *ret_anonymous)
{
	char text[2048];
	uint64_t pss, anonymous;
	int rc = read_figures(pid, "smaps_rollup", text, sizeof(text));
	if (rc < 0)
		return rc;
	if (!parse_named_value(text, "\nPss:", 1024, &pss))
		return -ENODATA;
	if (!parse_named_value(text, "\nPss_Anon:", 1024, &anonymous)) /* before Linux 5.9 */
		anonymous = PROCFS_UNKNOWN;
	*ret_pss = pss;
	*ret_anonymous = anonymous;
	return 0;
}

/* From Linux 6.15's pidfd.h: how a reaped process ended. */
struct pidfd_exit_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define PIDFD_GET_EXIT _IOWR(0xFF, 11, struct pidfd_exit_info)
#define PIDFD_EXIT_KNOWN (1u << 3)

int procfs_ended(int pidfd, int *ret_status)
{
	struct pidfd_exit_info info = {.mask = PIDFD_EXIT_KNOWN};
	if (ioctl(pidfd, PIDFD_GET_EXIT, &info) < 0)
		return -errno;
	if (!(info.mask & PIDFD_EXIT_KNOWN))
		return -ENODATA;
	*ret_status = info.exit_code;
	return 0;
}

/* The numbers that a folder of /proc has as names: calls each for every one. 0, -errno of the folder. */
static int numbers(const char *folder, int (*each)(void *arg, pid_t n), void *arg)
{
	DIR *d = opendir(folder);
	if (!d)
		return -errno;
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			each(arg, (pid_t)atoi(e->d_name));
	closedir(d);
	return 0;
}

struct switches {
	pid_t pid;
	uint64_t voluntary, involuntary;
};

/* A thread's; arg is a struct switches. Always 0: one that has ended is passed over. */
static int add_switches(void *arg, pid_t tid)
{
	struct switches *s = arg;
	char file[32], text[4096];
	uint64_t v, n;
	snprintf(file, sizeof(file), "task/%d/status", tid);
	if (read_figures(s->pid, file, text, sizeof(text)) == 0 &&
	    parse_named_value(text, "\nvoluntary_ctxt_switches:", 1, &v) &&
	    parse_named_value(text, "\nnonvoluntary_ctxt_switches:", 1, &n)) {
		s->voluntary += v;
		s->involuntary += n;
	}
	return 0;
}

int procfs_switches(pid_t pid, uint64_t *ret_voluntary, uint64_t *ret_involuntary)
{
	struct switches s = {.pid = pid};
	char folder[48];
	snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
	int rc = numbers(folder, add_switches, &s);
	if (rc == 0) {
		*ret_voluntary = s.voluntary;
		*ret_involuntary = s.involuntary;
	}
	return rc;
}

struct children {
	pid_t pid;
	void (*each)(void *arg, pid_t child);
	void *arg;
	int rc;
};

/* Tells c->each of each child. Always 0; what goes wrong is in c->rc, but not that the thread has ended. */
static int children_of_thread(void *arg, pid_t tid)
{
	struct children *c = arg;
	char name[64], *text = NULL;
	size_t n = 0, size = 0;
	ssize_t got = -1;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/children", c->pid, tid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		c->rc = -errno;
	/* Not on the stack: who walks a tree is here once a generation. To its end, piece by piece: a process may have
	 * thousands. */
	while (fd >= 0) {
		if (size - n < 2048) {
			char *more = realloc(text, size = size ? 4 * size : 4096);
			if (!more) {
				c->rc = -ENOMEM;
				break;
			}
			text = more;
		}
		got = read(fd, text + n, size - n - 1);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (fd >= 0 && got < 0 && c->rc == 0 && errno != ESRCH)
		c->rc = -errno;
	if (fd >= 0)
		close(fd);
	if (text)
		text[n] = '\0';
	for (char *at = text, *end; n > 0 && *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		if (end == at)
			break;
		c->each(c->arg, pid);
	}
	free(text);
	return 0;
}

int procfs_children(pid_t pid, bool one_thread, void (*each)(void *arg, pid_t child), void *arg)
{
	struct children c = {.pid = pid, .each = each, .arg = arg};
	char folder[48];
	if (one_thread) {
		children_of_thread(&c, pid);
		return c.rc;
	}
	snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
	int rc = numbers(folder, children_of_thread, &c);
	return rc < 0 ? rc : c.rc;
}

/* Opens the folder. 0, -errno. */
int procfs_fds_open(pid_t pid, struct procfs_fds *ret)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	ret->at = ret->have = 0;
	ret->dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->dir < 0 ? -errno : 0;
}

/* The next number as text, valid until the next call; NULL at the end. */
const char *procfs_fds_next(struct procfs_fds *f)
{
	for (;;) {
		if (f->at >= f->have) {
			ssize_t n = getdents64(f->dir, f->room, sizeof(f->room));
			if (n <= 0)
				return NULL;
			f->have = (size_t)n;
			f->at = 0;
		}
		const struct dirent64 *e = (const struct dirent64 *)(f->room + f->at);
		f->at += e->d_reclen;
		if (e->d_name[0] != '.')
			return e->d_name;
	}
}

/* Once, after procfs_fds_open gave 0. */
void procfs_fds_close(struct procfs_fds *f)
{
	close(f->dir);
}

uint64_t procfs_resident_slack(void)
{
	long page = sysconf(_SC_PAGESIZE);
	uint64_t cores = (uint64_t)host_processors(), batch = 2 * cores > 32 ? 2 * cores : 32;
	return 3 * cores * batch * (page > 0 ? (uint64_t)page : 4096);
}
