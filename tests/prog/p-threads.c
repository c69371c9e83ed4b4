/* p-threads CASE FOLDER: threads that open files to read, and are cancelled, forked, moved and confined meanwhile. Says
 * on descriptor 9, a line a file: `+ PATH` it was opened, `? PATH` an open of it was begun, `- PATH` it was looked for
 * and is not there. Ends with 1, and says why on standard error, if something is not as it is without a recorder.
 *
 * p-threads make FOLDER makes the files. calm: of all kinds. crowd: more threads than have logs. pass: threads that
 * come and go. cancel, async: threads are cancelled, unwound, and others take their places. fifo: a thread is cancelled
 * that waits for a FIFO. spawn: with children. exec: a thread becomes another program. chdir: a thread changes the
 * working directory. signal: a handler opens files. sleep: threads that wait are not woken. confine: a thread confines
 * itself. killed: the recorder is killed, and the threads are cancelled then. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 4000
#define SOME 300 /* opens before the code is there, and a few */

static const char *folder;
static unsigned char state[FILES]; /* 1 an open was begun, 2 it has come back with a descriptor */
static unsigned char absent[FILES];
static bool over;

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static void path_of(char *ret, size_t size, const char *sub, int i)
{
	snprintf(ret, size, "%s/%sf%d", folder, sub, i);
}

static void reads(int fd, int i)
{
	char data[16];
	if (fd < 0 || read(fd, data, sizeof(data)) < 0)
		fail("open");
	__atomic_store_n(&state[i], 2, __ATOMIC_RELAXED);
}

static void begins(int i)
{
	unsigned char none = 0;
	__atomic_compare_exchange_n(&state[i], &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void open_one(int i)
{
	char path[4096];
	path_of(path, sizeof(path), "", i);
	begins(i);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	reads(fd, i);
	close(fd);
}

/* Whatever file name is asked for: by a name below the folder, which is the working directory. */
static void open_some_way(int i)
{
	char name[64];
	FILE *f;
	DIR *d;
	int fd;
	snprintf(name, sizeof(name), "f%d", i);
	switch (i % 5) {
	case 0:
		open_one(i);
		break;
	case 1:
		begins(i);
		fd = openat(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW);
		reads(fd, i);
		close(fd);
		break;
	case 2:
		begins(i);
		if (!(f = fopen(name, "re")))
			fail("fopen");
		reads(fileno(f), i);
		fclose(f);
		break;
	case 3:
		if (i % 50 == 3) {
			if (!(d = opendir("sub")) || !readdir(d))
				fail("opendir");
			closedir(d);
		}
		open_one(i);
		break;
	default:
		snprintf(name, sizeof(name), "none%d", i);
		errno = 0;
		if (open(name, O_RDONLY) != -1 || errno != ENOENT)
			fail("an absent file was opened");
		absent[i] = 1;
		errno = 0;
		if (open((const char *)(uintptr_t)8, O_RDONLY) != -1 || errno != EFAULT)
			fail("a path that is not there");
	}
}

static void say_all(void)
{
	static char text[FILES * 300];
	size_t n = 0;
	for (int i = 0; i < FILES; i++) {
		char path[200];
		path_of(path, sizeof(path), "", i);
		if (state[i])
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%c %s\n", state[i] == 2 ? '+' : '?', path);
		if (absent[i])
			n += (size_t)snprintf(text + n, sizeof(text) - n, "- %s/none%d\n", folder, i);
	}
	if (write(9, text, n) != (ssize_t)n)
		fail("descriptor 9");
}

static pthread_t start(void *(*f)(void *), long arg)
{
	pthread_t t;
	errno = pthread_create(&t, NULL, f, (void *)arg);
	if (errno)
		fail("pthread_create");
	return t;
}

static void *wait_for(pthread_t t)
{
	void *ret;
	errno = pthread_join(t, &ret);
	if (errno)
		fail("pthread_join");
	return ret;
}

/* ---- threads that open ---- */

static int nthreads;

static void *work(void *arg)
{
	const int from = (int)(long)arg, share = FILES / nthreads;
	for (int i = from * share; i < (from + 1) * share; i++)
		open_some_way(i);
	return NULL;
}

static void run_threads(int n)
{
	pthread_t t[64];
	nthreads = n;
	for (int i = 0; i < n; i++)
		t[i] = start(work, i);
	for (int i = 0; i < n; i++)
		wait_for(t[i]);
}

static void run_passing(void)
{
	pthread_t t[4];
	nthreads = FILES / 20;
	for (int i = 0; i < nthreads; i++) {
		if (i >= 4)
			wait_for(t[i % 4]);
		t[i % 4] = start(work, i);
	}
	for (int i = 0; i < 4; i++)
		wait_for(t[i]);
}

/* ---- cancelling ---- */

static int unwound; /* threads that were, step by step */

struct guard {
	int held;
};

static void release(struct guard *g)
{
	(void)g;
	__atomic_add_fetch(&unwound, 1, __ATOMIC_RELAXED);
}

static void __attribute__((noinline)) open_until_cancelled(int from)
{
	__attribute__((cleanup(release), unused)) struct guard guard = {1};
	for (unsigned k = 0;; k++)
		open_one(from + (int)(k % 20));
}

static void *cancelled(void *arg)
{
	open_until_cancelled((int)(long)arg);
	return NULL;
}

/* May be cancelled anywhere: so it does nothing that takes a lock. */
static void *cancelled_anywhere(void *arg)
{
	const int from = (int)(long)arg;
	char path[20][256], data[16];
	for (int i = 0; i < 20; i++)
		path_of(path[i], sizeof(path[i]), "", from + i);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (unsigned k = 0;; k++) {
		begins(from + (int)(k % 20));
		int fd = open(path[k % 20], O_RDONLY);
		if (fd < 0 || read(fd, data, sizeof(data)) < 0)
			_exit(1);
		state[from + k % 20] = 2;
		close(fd);
	}
	return NULL;
}

static void doze(unsigned *x)
{
	*x = *x * 1103515245 + 12345;
	usleep(100 + (*x >> 16) % 3000);
}

static void cancel_storm(void *(*f)(void *), int rounds, bool counts)
{
	unsigned x = 1;
	pthread_t t[4];
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 4; k++)
			t[k] = start(f, (i % (FILES / 80)) * 80 + k * 20);
		doze(&x);
		for (int k = 3; k >= 0; k--)
			pthread_cancel(t[k]);
		for (int k = 0; k < 4; k++)
			if (wait_for(t[k]) != PTHREAD_CANCELED)
				fail("a thread was not cancelled");
	}
	if (counts && unwound != 4 * rounds) {
		fprintf(stderr, "%d of %d cancelled threads were unwound\n", unwound, 4 * rounds);
		_exit(1);
	}
	/* Descriptors that a cancelled open leaves behind are left without a recorder, too; not these. */
	for (int i = 0; i < SOME; i++)
		open_one(i);
}

static void *cancelled_at_fifo(void *arg)
{
	__attribute__((cleanup(release), unused)) struct guard guard = {1};
	char path[4096];
	(void)arg;
	for (int i = 0; i < SOME; i++)
		open_one(i);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	open(path, O_RDONLY);
	return NULL;
}

static void cancel_at_fifo(void)
{
	for (int i = 0; i < 5; i++) {
		pthread_t t = start(cancelled_at_fifo, 0);
		usleep(100000);
		pthread_cancel(t);
		if (wait_for(t) != PTHREAD_CANCELED || unwound != i + 1)
			fail("a thread that waits for a FIFO was not cancelled and unwound");
	}
}

/* The recorder is the parent: nobody else's is killed. */
static void kill_recorder(void)
{
	char name[64], text[64] = "";
	snprintf(name, sizeof(name), "/proc/%d/comm", getppid());
	FILE *f = fopen(name, "re");
	if (f && fgets(text, sizeof(text), f) && !strncmp(text, "stemma-worker", 13))
		kill(getppid(), SIGKILL);
	if (f)
		fclose(f);
}

static void cancel_after_kill(void)
{
	pthread_t t[4], fifo = start(cancelled_at_fifo, 0);
	for (int k = 0; k < 4; k++)
		t[k] = start(cancelled, k * 20);
	usleep(200000);
	kill_recorder();
	usleep(50000);
	for (int k = 0; k < 4; k++)
		pthread_cancel(t[k]);
	pthread_cancel(fifo);
	for (int k = 0; k < 4; k++)
		wait_for(t[k]);
	wait_for(fifo);
	if (unwound != 5)
		fail("a thread was not unwound after the recorder was killed");
}

/* ---- what others do meanwhile ---- */

static void *work_on(void *arg)
{
	const int from = (int)(long)arg;
	for (unsigned k = 0; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); k++)
		open_one(from + (int)(k % 100));
	return NULL;
}

static void spawn_children(void)
{
	extern char **environ;
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		t[i] = start(work_on, i * 100);
	for (int i = 0; i < 30; i++) {
		char name[] = "true";
		char *const argv[] = {name, NULL};
		pid_t pid = i % 3 ? fork() : vfork();
		int status;
		if (pid == 0 && i % 3)
			for (int k = 0; k < 60; k++)
				open_one(1000 + i * 60 + k);
		if (pid == 0)
			_exit(7);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			fail("a child");
		for (int k = 0; i % 3 && k < 60; k++)
			state[1000 + i * 60 + k] = 2;
		errno = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);
		if (errno || waitpid(pid, &status, 0) != pid || status)
			fail("posix_spawn");
		open_one(3000 + i);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		wait_for(t[i]);
}

/* Has this process memory of the recorder's, or a descriptor of it? */
static bool has_memory(void)
{
	char line[4096], name[64];
	bool has = false;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof(line), f))
		has |= strstr(line, "/memfd:stemma") != NULL;
	if (f)
		fclose(f);
	for (int fd = 0; fd < 1024; fd++) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(name, line, sizeof(line) - 1);
		line[n > 0 ? n : 0] = '\0';
		has |= !strncmp(line, "/memfd:stemma", 13);
	}
	return has;
}

/* Children are made all the time while the others are given the code and the logs. */
static void *fork_on(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		int status;
		pid_t pid = fork();
		if (pid == 0)
			_exit(has_memory());
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fail("a child has memory that its parent shares with the recorder");
	}
	return NULL;
}

static void inherit_nothing(void)
{
	pthread_t t[4];
	t[0] = start(fork_on, 0);
	for (int i = 1; i < 4; i++)
		t[i] = start(work_on, i * 100);
	sleep(1);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		wait_for(t[i]);
}

static void *becomes_another(void *arg)
{
	char name[] = "p-threads", nothing[] = "nothing";
	char *const argv[] = {name, nothing, name, NULL};
	(void)arg;
	for (int i = 0; i < SOME; i++)
		open_one(1000 + i);
	say_all();
	execv("/proc/self/exe", argv);
	fail("exec");
	return NULL;
}

static void exec_by_thread(void)
{
	for (int i = 0; i < 300; i++) /* which of them have been by the time of the exec nobody can say */
		begins(i);
	for (int i = 0; i < 3; i++)
		start(work_on, i * 100);
	wait_for(start(becomes_another, 0));
}

/* Files of the same names in two folders: what was opened its number tells. */
static void *open_relative(void *arg)
{
	static ino_t number[2][100];
	const int from = (int)(long)arg;
	for (int s = 0; s < 2; s++)
		for (int i = from; i < from + 50; i++) {
			char path[4096];
			struct stat st;
			path_of(path, sizeof(path), s ? "two/" : "one/", i);
			if (stat(path, &st) < 0)
				fail(path);
			number[s][i] = st.st_ino;
		}
	for (unsigned k = 0; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); k++) {
		const int i = from + (int)(k % 50);
		char name[32];
		struct stat st;
		snprintf(name, sizeof(name), "f%d", i);
		int fd = open(name, O_RDONLY);
		if (fd < 0 || fstat(fd, &st) < 0)
			fail(name);
		close(fd);
		state[(st.st_ino == number[1][i] ? 100 : 0) + i] = 2;
	}
	return NULL;
}

static void change_folder(void)
{
	char path[2][4096], text[8192];
	unsigned x = 1;
	pthread_t t[2];
	for (int s = 0; s < 2; s++)
		snprintf(path[s], sizeof(path[s]), "%s/%s", folder, s ? "two" : "one");
	if (chdir(path[0]) < 0)
		fail("chdir");
	for (int i = 0; i < 2; i++)
		t[i] = start(open_relative, i * 50);
	for (int i = 0; i < 100; i++) {
		doze(&x);
		if (i % 10 == 9)
			usleep(50000);
		if (chdir(path[(i + 1) % 2]) < 0)
			fail("chdir");
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		wait_for(t[i]);
	for (int i = 0; i < 200; i++) {
		int n = snprintf(text, sizeof(text), "+ %s/f%d\n", path[i / 100], i % 100);
		if (state[i] && write(9, text, (size_t)n) != n)
			fail("descriptor 9");
		state[i] = 0;
	}
}

static int interrupts;

static void on_alarm(int sig)
{
	const int kept = errno;
	(void)sig;
	const int i = __atomic_fetch_add(&interrupts, 1, __ATOMIC_RELAXED);
	if (i < 500) {
		char path[512];
		path_of(path, sizeof(path), "", 2000 + i);
		int fd = open(path, O_RDONLY);
		if (fd >= 0)
			state[2000 + i] = 2;
		close(fd);
	}
	errno = kept;
}

static void interrupt(void)
{
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &act, NULL);
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		t[i] = start(work_on, i * 100);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 300; i++)
		usleep(1000);
	setitimer(ITIMER_REAL, &never, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		wait_for(t[i]);
}

/* ---- threads that wait ---- */

static int event, semaphore;

static void *sleep_at_epoll(void *arg)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	(void)arg;
	epoll_ctl(fd, EPOLL_CTL_ADD, event, &e);
	if (epoll_wait(fd, &e, 1, -1) != 1)
		fail("epoll_wait");
	return NULL;
}

static void *sleep_at_semaphore(void *arg)
{
	struct sembuf take = {.sem_num = 0, .sem_op = -1};
	(void)arg;
	if (semop(semaphore, &take, 1) < 0)
		fail("semop");
	return NULL;
}

static void sleep_on(void)
{
	struct sembuf give = {.sem_num = 0, .sem_op = 1};
	event = eventfd(0, 0);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	if (event < 0 || semaphore < 0)
		fail("semget");
	pthread_t a = start(sleep_at_epoll, 0), b = start(sleep_at_semaphore, 0);
	usleep(50000);
	run_threads(4);
	eventfd_write(event, 1);
	semop(semaphore, &give, 1);
	wait_for(a);
	wait_for(b);
	semctl(semaphore, 0, IPC_RMID);
}

static void *confine(void *arg)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog prog = {1, &all};
	(void)arg;
	for (int i = 0; i < SOME; i++)
		open_one(1000 + i);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		fail("seccomp");
	for (int i = 0; i < SOME; i++)
		open_one(2000 + i);
	return NULL;
}

static void confine_one(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		t[i] = start(work_on, i * 100);
	wait_for(start(confine, 0));
	for (int i = 0; i < SOME; i++)
		open_one(3000 + i);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		wait_for(t[i]);
}

/* ---- */

static void make_file(const char *sub, int i)
{
	char path[4096];
	path_of(path, sizeof(path), sub, i);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, "data\n", 5) != 5)
		fail(path);
	close(fd);
}

static void make_all(void)
{
	static const char *const subs[] = {"sub", "one", "two"};
	char path[4096];
	for (int s = 0; s < 3; s++) {
		snprintf(path, sizeof(path), "%s/%s", folder, subs[s]);
		if (mkdir(path, 0755) < 0)
			fail(path);
	}
	for (int i = 0; i < FILES; i++)
		make_file("", i);
	for (int i = 0; i < 100; i++) {
		make_file("one/", i);
		make_file("two/", i);
	}
	snprintf(path, sizeof(path), "%s/fifo", folder);
	if (mkfifo(path, 0644) < 0)
		fail(path);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const char *c = argv[1];
	folder = argv[2];
	if (!strcmp(c, "nothing"))
		return 0;
	if (!strcmp(c, "make")) {
		make_all();
		return 0;
	}
	if (chdir(folder) < 0)
		fail(folder);
	if (!strcmp(c, "calm"))
		run_threads(8);
	else if (!strcmp(c, "crowd"))
		run_threads(40);
	else if (!strcmp(c, "pass"))
		run_passing();
	else if (!strcmp(c, "cancel"))
		cancel_storm(cancelled, 150, true);
	else if (!strcmp(c, "async"))
		cancel_storm(cancelled_anywhere, 150, false);
	else if (!strcmp(c, "fifo"))
		cancel_at_fifo();
	else if (!strcmp(c, "spawn"))
		spawn_children();
	else if (!strcmp(c, "inherit"))
		inherit_nothing();
	else if (!strcmp(c, "exec"))
		exec_by_thread();
	else if (!strcmp(c, "chdir"))
		change_folder();
	else if (!strcmp(c, "signal"))
		interrupt();
	else if (!strcmp(c, "sleep"))
		sleep_on();
	else if (!strcmp(c, "confine"))
		confine_one();
	else if (!strcmp(c, "killed"))
		cancel_after_kill();
	else
		return 2;
	say_all();
	return 0;
}
