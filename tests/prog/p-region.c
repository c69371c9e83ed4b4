/* p-region CASE FOLDER: what a program of a run can do to the memory that --capture=safe shares with it, and whether it
 * still has it. Prints what it found out, in words that are compared by t/t0246-safe-region.sh; status 0 where it could
 * be tried, 77 where this system has no such thing (the reason on standard error).
 *
 * Attacks find the memory by the variable STEMMA_SAFE, as any program could. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

static const char *path(void)
{
	static char text[256];
	const char *env = getenv("STEMMA_SAFE");
	snprintf(text, sizeof(text), "%.*s", env ? (int)strcspn(env, ":") : 0, env ? env : "");
	return text;
}

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd >= 0 && write(fd, "word\n", 5) != 5)
		abort();
	close(fd);
}

/* Is it in this process's memory? */
static const char *mapped(void)
{
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "re");
	bool found = false;
	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, "memfd:stemma-safe") != NULL;
	if (f)
		fclose(f);
	return f ? found ? "mapped" : "not mapped" : "?";
}

static void say(const char *what, long r)
{
	printf("%s: %s\n", what, r < 0 ? strerror(errno) : "done");
}

static int skip(const char *why)
{
	fprintf(stderr, "skip: %s\n", why);
	return 77;
}

static int resize(void)
{
	int fd = open(path(), O_RDWR | O_CLOEXEC);
	struct stat st;
	say("open", fd);
	if (fd < 0)
		return 0;
	fstat(fd, &st);
	printf("mode: %o\n", st.st_mode & 07777);
	say("truncate", truncate(path(), 0));
	say("shrink", ftruncate(fd, 4096));
	say("grow", ftruncate(fd, st.st_size * 2));
	say("open and truncate", open(path(), O_RDWR | O_TRUNC | O_CLOEXEC));
	say("extend", fallocate(fd, 0, st.st_size, 4096));
	say("unseal", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	touch("after");
	return 0;
}

static unsigned char *map(size_t *ret_n)
{
	struct stat st;
	int fd = open(path(), O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	*ret_n = (size_t)st.st_size;
	return p == MAP_FAILED ? NULL : p;
}

static int holes(void)
{
	int fd = open(path(), O_RDWR | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return 1;
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, st.st_size);
	touch("after");
	return 0;
}

/* Every byte, many times, from a seed. */
static int scribble(unsigned seed)
{
	size_t n;
	unsigned char *p = map(&n);
	if (!p)
		return 1;
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; i < n; i += sizeof(int)) {
			int v = round % 4 == 0 ? -1 : round % 4 == 1 ? 0 : (int)(seed = seed * 1103515245u + 12345u);
			memcpy(p + i, &v, sizeof(v));
		}
		touch("during");
		if (system("exit 3") != 3 << 8)
			return 2;
	}
	touch("after");
	return 0;
}

/* ---- what a process gives up ---- */

static volatile bool stop;
static void *writes(void *arg)
{
	char name[32];
	snprintf(name, sizeof(name), "thread%d", (int)(intptr_t)arg);
	while (!stop)
		touch(name);
	return NULL;
}

static int changes(const char *how)
{
	pthread_t t[4];
	if (geteuid() != 0)
		return skip("only root can become another user");
	touch("before");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, writes, (void *)(intptr_t)i);
	usleep(20000);
	int r = !strcmp(how, "setuid")      ? setuid(65534)
	        : !strcmp(how, "seteuid")   ? seteuid(65534)
	        : !strcmp(how, "setreuid")  ? setreuid(65534, 65534)
	        : !strcmp(how, "setresuid") ? setresuid(65534, 65534, 0)
	                                    : (int)syscall(SYS_setresuid, 65534, 65534, 65534);
	usleep(20000);
	stop = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	say(how, r);
	if (strcmp(how, "raw") == 0 && seteuid(65534) < 0)
		return 1;
	printf("%s\n", mapped());
	say("open", open(path(), O_RDWR | O_CLOEXEC));
	touch("unseen");
	fflush(stdout);
	return system("cat /proc/self/maps | grep -c memfd:stemma-safe; exit 5") == 5 << 8 ? 0 : 2;
}

/* The user stays the same. */
static int keeps(void)
{
	if (setuid(getuid()) < 0 || seteuid(geteuid()) < 0 || setreuid((uid_t)-1, (uid_t)-1) < 0)
		return 1;
	printf("%s\n", mapped());
	touch("after");
	return 0;
}

static int filters(bool good)
{
	struct sock_filter code[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
	struct sock_fprog prog = {1, good ? code : NULL};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	touch("before");
	say("filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
	printf("%s\n", mapped());
	touch("after");
	return 0;
}

static int landlock(void)
{
	struct {
		uint64_t fs;
	} attr = {1 << 1}; /* files are not written, but for those that are allowed: none */
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (fd < 0)
		return skip("no Landlock here");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	touch("before");
	say("restrict", syscall(SYS_landlock_restrict_self, fd, 0));
	printf("%s\n", mapped());
	say("open", open(path(), O_RDWR | O_CLOEXEC));
	fflush(stdout);
	return system("cat /proc/self/maps | grep -c memfd:stemma-safe; exit 5") == 5 << 8 ? 0 : 2;
}

/* The number in the path is another process's by now, whose descriptor is a pipe or a file. */
static int stale(const char *self)
{
	char text[128];
	int fds[2], status;
	if (pipe(fds) < 0)
		return 1;
	snprintf(text, sizeof(text), "/proc/%d/fd/%d:%s", getpid(), fds[0], "0123456789abcdef");
	setenv("STEMMA_SAFE", text, 1);
	if (system("true") != 0)
		return 2;
	close(fds[1]);
	/* A reader that somebody else had opened for writing would wait for ever. */
	char c;
	printf("end of pipe: %zd\n", read(fds[0], &c, 1));
	int fd = open(self, O_RDONLY);
	snprintf(text, sizeof(text), "/proc/%d/fd/%d:%s", getpid(), fd, "0123456789abcdef");
	setenv("STEMMA_SAFE", text, 1);
	status = system("exit 4");
	printf("status: %d\n", WEXITSTATUS(status));
	return 0;
}

int main(int argc, char **argv)
{
	const char *c = argc > 1 ? argv[1] : "";
	if (!*path() && strcmp(c, "stale") != 0)
		return skip("there is no shared memory");
	if (!strcmp(c, "resize"))
		return resize();
	if (!strcmp(c, "holes"))
		return holes();
	if (!strcmp(c, "scribble"))
		return scribble(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	if (!strcmp(c, "keeps"))
		return keeps();
	if (!strcmp(c, "filter") || !strcmp(c, "filter-fails"))
		return filters(!strcmp(c, "filter"));
	if (!strcmp(c, "landlock"))
		return landlock();
	if (!strcmp(c, "stale"))
		return stale(argv[0]);
	return changes(c);
}
