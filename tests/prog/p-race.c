/* p-race CASE FOLDER N: opens N paths while something turns each of them to another file, and says on standard output,
 * a line an open, which file it has got: the numbers of fstat decide. Makes its files: FOLDER/a0, FOLDER/b0, ...
 *
 * close, hold: another thread turns one byte of the path; the file is closed at once, or at the end. shared: another
 * process does, in memory that both have. folder: as close, and b0, b1, ... are folders. memory: a process in the same
 * memory that is no thread does. write, cut: as close, of files that are opened to write, without and with O_TRUNC.
 * calm: THREADS threads open files of their own and common ones, and nobody turns anything. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define COMMON 16

static struct shared {
	char path[4096];
	size_t at;
	bool over;
} * shared;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void name_of(char *ret, size_t size, const char *folder, char kind, int i)
{
	snprintf(ret, size, "%s/%c%d", folder, kind, i);
}

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, "data\n", 5) != 5)
		die(path);
	close(fd);
}

/* A turn lasts from nothing to some microseconds, so that all moments are met. */
static void *turn(void *arg)
{
	(void)arg;
	unsigned x = 1;
	while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) {
		char *byte = &shared->path[__atomic_load_n(&shared->at, __ATOMIC_ACQUIRE)];
		__atomic_store_n(byte, *byte == 'a' ? 'b' : 'a', __ATOMIC_RELEASE);
		x = x * 1103515245 + 12345;
		for (unsigned i = 0; i < (x >> 16) % 2048; i++)
			__asm__ volatile("");
	}
	return NULL;
}

static int turn_process(void *arg)
{
	turn(arg);
	_exit(0);
}

static void say(const char *folder, int i, const struct stat *st)
{
	char path[4096];
	struct stat of;
	for (char kind = 'a'; kind <= 'b'; kind++) {
		name_of(path, sizeof(path), folder, kind, i);
		if (stat(path, &of) == 0 && of.st_ino == st->st_ino && S_ISREG(of.st_mode))
			printf("%s\n", path);
	}
}

static void race(const char *folder, int n, int flags, bool hold)
{
	for (int i = 0; i < n; i++) {
		char path[4096], data[16];
		struct stat st;
		size_t at = strlen(folder) + 1;
		name_of(path, sizeof(path), folder, 'a', i);
		/* Behind the byte that is turned; that one is in its place already, or is put there now. Put there now and
		 * then: on a busy machine whoever turns it may get no processor all the time, and all would be the same. */
		memcpy(shared->path, path, at);
		if (i % 8 == 0)
			shared->path[at] = 'a';
		memcpy(shared->path + at + 1, path + at + 1, strlen(path + at + 1) + 1);
		__atomic_store_n(&shared->at, at, __ATOMIC_RELEASE);
		int fd = open(shared->path, flags);
		if (fd < 0 || fstat(fd, &st) < 0)
			die(shared->path);
		if ((flags & O_ACCMODE) == O_RDONLY && read(fd, data, sizeof(data)) < 0 && !S_ISDIR(st.st_mode))
			die("read");
		if ((flags & O_ACCMODE) == O_WRONLY && write(fd, "written\n", 8) != 8)
			die("write");
		if (!hold)
			close(fd);
		say(folder, i, &st);
	}
}

struct work {
	const char *folder;
	int thread, n;
};

static void *calm(void *arg)
{
	const struct work *w = arg;
	char path[4096], data[16];
	for (int i = 0; i < w->n; i++) {
		name_of(path, sizeof(path), w->folder, i % 3 ? 'a' : 'b', i % 3 ? w->thread * w->n + i : i % COMMON);
		int fd = open(path, O_RDONLY);
		if (fd < 0 || read(fd, data, sizeof(data)) < 0)
			die(path);
		close(fd);
	}
	return NULL;
}

static void all_calm(const char *folder, int n)
{
	pthread_t t[THREADS];
	struct work w[THREADS];
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct work){folder, i, n / THREADS};
		if (pthread_create(&t[i], NULL, calm, &w[i]))
			die("pthread_create");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int k = 0; k < THREADS; k++)
		for (int i = 0; i < n / THREADS; i++)
			if (i % 3)
				printf("%s/a%d\n", folder, k * (n / THREADS) + i);
	for (int i = 0; i < n / THREADS && i < 3 * COMMON; i += 3)
		printf("%s/b%d\n", folder, i % COMMON);
}

/* Outside of the record: the files are made by another process. */
static void make_all(const char *folder, int n, bool folders)
{
	char path[4096];
	for (int i = 0; i < n; i++)
		for (char kind = 'a'; kind <= 'b'; kind++) {
			name_of(path, sizeof(path), folder, kind, i);
			if (kind == 'a' || !folders)
				make(path);
			else if (mkdir(path, 0755) < 0)
				die(path);
		}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const char *name = argv[1], *folder = argv[2];
	int n = atoi(argv[3]);
	if (!strcmp(name, "make")) {
		make_all(folder, n, getenv("FOLDERS") != NULL);
		return 0;
	}
	if (!strcmp(name, "calm")) {
		all_calm(folder, n);
		return 0;
	}
	static struct shared own; /* what only threads have */
	pthread_t t;
	pid_t pid = 0;
	int flags = !strcmp(name, "write") ? O_WRONLY : !strcmp(name, "cut") ? O_WRONLY | O_TRUNC : O_RDONLY;
	shared = &own;
	if (!strcmp(name, "shared"))
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	shared->at = sizeof(shared->path) - 1; /* no byte of the first path is turned before that is whole */
	if (!strcmp(name, "shared")) {
		pid = fork();
		if (!pid)
			turn_process(NULL);
	} else if (!strcmp(name, "memory")) {
		char *stack = malloc(65536);
		pid = stack ? clone(turn_process, stack + 65536, CLONE_VM | SIGCHLD, NULL) : -1;
	} else if (pthread_create(&t, NULL, turn, NULL)) {
		die("pthread_create");
	}
	if (pid < 0)
		die("fork");
	race(folder, n, flags, !strcmp(name, "hold"));
	__atomic_store_n(&shared->over, true, __ATOMIC_RELEASE);
	if (pid)
		waitpid(pid, NULL, 0);
	else
		pthread_join(t, NULL);
	return 0;
}
