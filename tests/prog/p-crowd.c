/* p-crowd CASE: moves bytes in several threads, and says on descriptor 9, a line a file: CASE PATH READ WRITTEN, "?"
 * where it cannot tell. The figures are the sums of what the calls returned to this program. Stands in an empty folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY 8

extern char **environ;
static const char *name;
static char data[65536];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static long must(ssize_t n, const char *what)
{
	if (n < 0)
		die(what);
	return n;
}

static void tell(const char *path, long r, long w)
{
	char rt[24], wt[24];
	snprintf(rt, sizeof(rt), r < 0 ? "?" : "%ld", r);
	snprintf(wt, sizeof(wt), w < 0 ? "?" : "%ld", w);
	dprintf(9, "%s %s %s %s\n", name, path, rt, wt);
}

static int make(const char *path, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) < 0)
		die(path);
	return fd;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static pthread_t begin(void *(*f)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, NULL, f, arg))
		die("pthread_create");
	return t;
}

struct work {
	int i, fd, out;
	long r, w, rounds;
};

/* Each its own files, over and over, by all calls that have a second way in programs with threads. */
static void *own_files(void *arg)
{
	struct work *k = arg;
	char in[16], out[16], buffer[900];
	struct iovec v[2] = {{buffer, 100}, {buffer + 100, 150}};
	snprintf(in, sizeof(in), "in%d", k->i);
	snprintf(out, sizeof(out), "out%d", k->i);
	for (long i = 0; i < k->rounds; i++) {
		int a = open(in, O_RDONLY), b = openat(AT_FDCWD, out, O_WRONLY | O_CREAT, 0644);
		if (a < 0 || b < 0)
			die(in);
		k->r += must(read(a, buffer, 777), "read");
		k->r += must(pread(a, buffer, 50, i), "pread");
		k->r += must(readv(a, v, 2), "readv");
		k->r += must(preadv(a, v, 2, 5), "preadv");
		k->w += must(write(b, buffer, (size_t)(300 + k->i)), "write");
		k->w += must(pwrite(b, buffer, 20, 0), "pwrite");
		k->w += must(writev(b, v, 1), "writev");
		k->w += must(pwritev(b, v, 2, 0), "pwritev");
		long n = must(sendfile(b, a, NULL, 333), "sendfile");
		k->r += n;
		k->w += n;
		(void)!read(-1, buffer, 1);
		close(a);
		close(b);
	}
	return NULL;
}

static void crowd(long rounds, bool again)
{
	struct work k[MANY] = {0};
	pthread_t t[MANY];
	for (int i = 0; i < MANY; i++) {
		char in[16];
		snprintf(in, sizeof(in), "in%d", i);
		int fd = open(in, O_WRONLY | O_CREAT, 0644);
		must(write(fd, data, 3000), "write");
		close(fd);
		k[i] = (struct work){.i = i, .rounds = rounds};
	}
	for (int n = 0; n < (again ? 10 : 1); n++) {
		for (int i = 0; i < MANY; i++)
			t[i] = begin(own_files, &k[i]);
		for (int i = 0; i < MANY; i++)
			pthread_join(t[i], NULL);
	}
	for (int i = 0; i < MANY; i++) {
		char in[16], out[16];
		snprintf(in, sizeof(in), "in%d", i);
		snprintf(out, sizeof(out), "out%d", i);
		tell(in, k[i].r, 3000);
		tell(out, 0, k[i].w);
	}
}

static void own(void)
{
	crowd(40, false);
}

static void churn(void) /* threads come and go */
{
	crowd(3, true);
}

/* All through the same descriptors. */
static void *same_files(void *arg)
{
	struct work *k = arg;
	char buffer[512];
	for (long i = 0; i < k->rounds; i++) {
		k->r += must(pread(k->fd, buffer, 1 + (size_t)(i % 300), i % 2000), "pread");
		k->w += must(write(k->out, buffer, 1 + (size_t)(i % 17)), "write");
	}
	return NULL;
}

static void shared(void)
{
	struct work k[MANY];
	pthread_t t[MANY];
	int a = make("in", 3000), b = open("out", O_WRONLY | O_CREAT | O_APPEND, 0644);
	long r = 0, w = 0;
	for (int i = 0; i < MANY; i++) {
		k[i] = (struct work){.fd = a, .out = b, .rounds = 5000};
		t[i] = begin(same_files, &k[i]);
	}
	for (int i = 0; i < MANY; i++) {
		pthread_join(t[i], NULL);
		r += k[i].r;
		w += k[i].w;
	}
	tell("in", r, 3000);
	tell("out", 0, w);
}

/* stdio. */
static void *lines(void *arg)
{
	struct work *k = arg;
	char in[16], *line = NULL;
	size_t room = 0;
	ssize_t n;
	snprintf(in, sizeof(in), "in%d", k->i);
	FILE *f = fopen(in, "r");
	if (!f)
		die(in);
	while ((n = getline(&line, &room, f)) > 0)
		k->r += n;
	free(line);
	fclose(f);
	return NULL;
}

static void stdio(void)
{
	struct work k[MANY] = {0};
	pthread_t t[MANY];
	for (int i = 0; i < MANY; i++) {
		char in[16];
		snprintf(in, sizeof(in), "in%d", i);
		FILE *f = fopen(in, "w");
		for (int n = 0; f && n < 2000; n++)
			k[i].w += fprintf(f, "line %d of %d\n", n, i);
		if (!f || fclose(f))
			die(in);
	}
	for (int i = 0; i < MANY; i++) {
		k[i].i = i;
		t[i] = begin(lines, &k[i]);
	}
	for (int i = 0; i < MANY; i++) {
		char in[16];
		snprintf(in, sizeof(in), "in%d", i);
		pthread_join(t[i], NULL);
		tell(in, k[i].r, k[i].w);
	}
}

/* Cancelled in a read and in an open that wait: what is to be undone is undone, up to the thread's first function. */
static int waits[2];
static atomic_int undone;

static void undo(void *arg)
{
	(void)arg;
	undone++;
}

static void undo_block(int *arg)
{
	(void)arg;
	undone++;
}

static __attribute__((noinline)) long reads_a_pipe(void)
{
	int guard __attribute__((cleanup(undo_block))) = 0;
	char c;
	(void)guard;
	return read(waits[0], &c, 1);
}

static void *is_cancelled(void *arg)
{
	(void)arg;
	pthread_cleanup_push(undo, NULL);
	reads_a_pipe();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *opens_a_fifo(void *arg)
{
	int guard __attribute__((cleanup(undo_block))) = 0;
	pthread_cleanup_push(undo, NULL);
	open("fifo", O_RDONLY);
	pthread_cleanup_pop(0);
	(void)arg, (void)guard;
	return NULL;
}

static void cancelled(bool fifo)
{
	int a = make("in", 9000);
	long r = 0;
	void *end;
	if (pipe(waits) < 0)
		die("pipe");
	for (int i = 0; i < 20; i++) {
		undone = 0;
		pthread_t t = begin(fifo ? opens_a_fifo : is_cancelled, NULL);
		r += must(read(a, data, 100), "read");
		if (i % 2)
			nap(2000000);
		pthread_cancel(t);
		pthread_join(t, &end);
		if (end != PTHREAD_CANCELED || undone > 2 || (i % 2 && undone != 2)) {
			fprintf(stderr, "undone: %d\n", undone);
			exit(1);
		}
		r += must(read(a, data, 100), "read");
	}
	tell("in", r, 9000);
}

static void cancel(void)
{
	cancelled(false);
}

static void cancel_open(void)
{
	if (mknod("fifo", S_IFIFO | 0600, 0) < 0)
		die("fifo");
	cancelled(true);
}

/* Its descriptor is closed while a thread reads it, and its number another file's, before that read returns. */
static void *reads_late(void *arg)
{
	long *n = arg;
	char buffer[64];
	*n = must(read(waits[0], buffer, sizeof(buffer)), "read");
	return NULL;
}

static void reuse(void)
{
	long late = 0;
	char buffer[500];
	close(make("in", 5000));
	if (pipe(waits) < 0)
		die("pipe");
	int keep = dup(waits[0]);
	pthread_t t = begin(reads_late, &late);
	nap(20000000);
	close(waits[0]);
	int fd = open("in", O_RDONLY);
	if (fd != waits[0])
		die("another number");
	long r = must(read(fd, buffer, sizeof(buffer)), "read");
	must(write(waits[1], buffer, 33), "write");
	pthread_join(t, NULL);
	close(keep);
	tell("in", r, 5000);
}

/* Another file under the same number, while others write there. */
static atomic_int done;

static void *writes_log(void *arg)
{
	struct work *k = arg;
	while (!done)
		k->w += must(write(k->fd, data, 10), "write");
	return NULL;
}

static void redirect(void)
{
	struct work k[4] = {0};
	pthread_t t[4];
	int a = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644), b = open("log2", O_WRONLY | O_CREAT | O_APPEND, 0644);
	for (int i = 0; i < 4; i++) {
		k[i].fd = a;
		t[i] = begin(writes_log, &k[i]);
	}
	nap(10000000);
	dup2(b, a);
	nap(10000000);
	done = 1;
	long w = 0;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		w += k[i].w;
	}
	off_t second = lseek(b, 0, SEEK_END);
	tell("log", 0, w - second);
	tell("log2", 0, second);
}

/* Programs started from several threads, which go on reading. */
static void *starts(void *arg)
{
	struct work *k = arg;
	char buffer[200];
	for (long i = 0; i < k->rounds; i++) {
		posix_spawn_file_actions_t acts;
		char program[] = "true", *argv[] = {program, NULL};
		pid_t pid;
		int status;
		posix_spawn_file_actions_init(&acts);
		posix_spawn_file_actions_addopen(&acts, 5, "in", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&acts, 5, 6);
		posix_spawn_file_actions_addclose(&acts, 5);
		int fd = open("in", O_RDONLY);
		k->r += must(read(fd, buffer, sizeof(buffer)), "read");
		if (posix_spawn(&pid, "/bin/true", &acts, NULL, argv, environ) || waitpid(pid, &status, 0) != pid || status)
			die("true");
		k->r += must(read(fd, buffer, sizeof(buffer)), "read");
		close(fd);
		posix_spawn_file_actions_destroy(&acts);
	}
	return NULL;
}

static void spawn(void)
{
	struct work k[4];
	pthread_t t[4];
	long r = 0;
	close(make("in", 3000));
	for (int i = 0; i < 4; i++) {
		k[i] = (struct work){.rounds = 6};
		t[i] = begin(starts, &k[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		r += k[i].r;
	}
	tell("in", r, 3000);
}

/* It ends while others wait, or write on. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *sleeps(void *arg)
{
	struct work *k = arg;
	char buffer[100];
	k->r = must(pread(k->fd, buffer, sizeof(buffer), 0), "pread");
	pthread_mutex_lock(&lock);
	done++;
	for (;;)
		pthread_cond_wait(&never, &lock);
	return NULL;
}

static void pool(void)
{
	struct work k[4] = {0};
	int a = make("in", 4000);
	long r = 0;
	for (int i = 0; i < 4; i++) {
		k[i].fd = a;
		begin(sleeps, &k[i]);
	}
	while (done < 4)
		nap(1000000);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 4; i++)
		r += k[i].r;
	pthread_mutex_unlock(&lock);
	tell("in", r, 4000);
}

static void *writes_on(void *arg)
{
	struct work *k = arg;
	for (;;)
		k->w += must(write(k->fd, data, 10), "write");
	return NULL;
}

static void busy(void)
{
	static struct work k;
	int a = make("in", 4000);
	k.fd = open("out", O_WRONLY | O_CREAT | O_APPEND, 0644);
	begin(writes_on, &k);
	long r = must(read(a, data, 1000), "read");
	nap(5000000);
	tell("in", r, 4000);
	tell("out", 0, -1);
}

/* Signals whose handler writes. */
static struct work handled;

static void handler(int sig)
{
	int was = errno;
	(void)sig;
	ssize_t n = write(handled.fd, data, 7);
	if (n > 0)
		handled.w += n;
	errno = was;
}

static void *is_interrupted(void *arg)
{
	struct work *k = arg;
	char buffer[64];
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!done)
		k->r += must(pread(k->fd, buffer, sizeof(buffer), 0), "pread");
	return NULL;
}

static void signals(void)
{
	struct work k[2] = {0};
	pthread_t t[2];
	sigset_t set;
	int a = make("in", 4000);
	handled.fd = open("out", O_WRONLY | O_CREAT | O_APPEND, 0644);
	signal(SIGUSR1, handler);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	k[0].fd = k[1].fd = a;
	t[0] = begin(is_interrupted, &k[0]);
	for (int i = 0; i < 2000; i++)
		pthread_kill(t[0], SIGUSR1);
	nap(1000000);
	done = 1;
	pthread_join(t[0], NULL);
	tell("in", k[0].r, 4000);
	tell("out", 0, handled.w);
}

/* A child of a program with threads moves bytes itself. */
static void *forks(void *arg)
{
	struct work *k = arg;
	char buffer[100];
	int status;
	for (int i = 0; i < 3; i++) {
		k->r += must(pread(k->fd, buffer, sizeof(buffer), 0), "pread");
		pid_t pid = fork();
		if (pid == 0) {
			int fd = open("in", O_RDONLY);
			_exit(read(fd, buffer, 10) == 10 && close(fd) == 0 ? 0 : 1);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			die("the child");
	}
	return NULL;
}

static void forked(void)
{
	struct work k[2] = {0};
	pthread_t t[2];
	int a = make("in", 4000);
	for (int i = 0; i < 2; i++) {
		k[i].fd = a;
		t[i] = begin(forks, &k[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	tell("in", k[0].r + k[1].r, 4000);
}

/* Calls past the C library, in one of them. */
static void *raw_thread(void *arg)
{
	struct work *k = arg;
	char buffer[100];
	k->r += must(syscall(SYS_pread64, k->fd, buffer, 100L, 0L), "pread");
	return NULL;
}

static void raw(void)
{
	struct work k = {.fd = make("in", 4000)};
	pthread_join(begin(raw_thread, &k), NULL);
	tell("in", k.r, 4000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"own", own},       {"churn", churn},
	             {"shared", shared}, {"stdio", stdio},
	             {"cancel", cancel}, {"cancel-open", cancel_open},
	             {"reuse", reuse},   {"redirect", redirect},
	             {"spawn", spawn},   {"pool", pool},
	             {"busy", busy},     {"signals", signals},
	             {"forked", forked}, {"raw", raw}};
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			name = argv[1];
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		puts(cases[i].name);
	return argc > 1;
}
