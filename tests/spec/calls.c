/* Makes the calls that its arguments name, and says itself which they were and what came of each: the truth for traces
 * of calls. One line a call, `NAME FD RESULT`, FD `-` where there is none, a result -errno; gathered in memory and
 * appended at the end to the file TRUTH of the environment, a descriptor for which is there from the beginning and is
 * written by pwrite last, so that the lines can name that call, too. Each thread has lines of its own, behind its name.
 *
 *   open PATH | creat PATH | read FD N | write FD N | close FD | mmap FD | dup FD | pipe | rename A B | unlink A | stat
 * A anon          what is not in a trace: anonymous memory, fstat, the time alarm         reads a pipe in which a byte
 * comes only after a signal: one call thread OP.. . another thread makes them, and is waited for fork OP.. .   a child
 * makes them and ends, and is waited for exec          becomes /bin/true */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct log {
	char name[64];
	char text[8192];
	size_t n;
	unsigned made;
	char **next; /* words that are still to be done */
};
static int truth;
static int ends[2];

static long say(struct log *l, const char *name, long fd, long result)
{
	char is[24];
	snprintf(is, sizeof(is), "%ld", fd);
	if (result < 0)
		result = -errno;
	l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s %s %s %ld\n", l->name, name, fd < 0 ? "-" : is,
	                         result);
	return result;
}

static void tell(struct log *l)
{
	static long at;
	/* The line of this write itself: its length counts, too. */
	size_t more = 0;
	char line[128];
	for (int i = 0; i < 3; i++)
		more = (size_t)snprintf(line, sizeof(line), "%s pwrite64 %d %zu\n", l->name, truth, l->n + more);
	memcpy(l->text + l->n, line, more);
	l->n += more;
	struct stat st;
	at = fstat(truth, &st) == 0 ? st.st_size : 0;
	if (pwrite(truth, l->text, l->n, at) != (ssize_t)l->n)
		_exit(99);
	l->n = 0;
}

static void on_alarm(int sig)
{
	(void)sig;
	/* No call of its own that a trace has: the other end of the pipe is written to by a child. */
}

static void run(struct log *l);

static void *body(void *arg)
{
	struct log *l = arg;
	run(l);
	tell(l);
	return NULL;
}

static void one(struct log *l, const char *op)
{
	char buf[4096] = "";
	char **a = l->next;
	if (!strcmp(op, "open")) {
		say(l, "openat", -1, open(a[0], O_RDONLY));
		l->next++;
	} else if (!strcmp(op, "creat")) {
		say(l, "openat", -1, open(a[0], O_RDWR | O_CREAT | O_TRUNC, 0666));
		l->next++;
	} else if (!strcmp(op, "read") || !strcmp(op, "write")) {
		int fd = atoi(a[0]);
		size_t n = (size_t)atoi(a[1]);
		say(l, op, fd, *op == 'r' ? read(fd, buf, n) : write(fd, buf, n));
		l->next += 2;
	} else if (!strcmp(op, "close")) {
		say(l, "close", atoi(a[0]), close(atoi(a[0])));
		l->next++;
	} else if (!strcmp(op, "mmap")) {
		void *p = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, atoi(a[0]), 0);
		say(l, "mmap", atoi(a[0]), p == MAP_FAILED ? -1 : 1);
		l->next++;
	} else if (!strcmp(op, "dup")) {
		say(l, "dup", atoi(a[0]), dup(atoi(a[0])));
		l->next++;
	} else if (!strcmp(op, "pipe")) {
		say(l, "pipe2", -1, pipe2(ends, O_CLOEXEC));
	} else if (!strcmp(op, "rename")) {
		say(l, "rename", -1, rename(a[0], a[1]));
		l->next += 2;
	} else if (!strcmp(op, "unlink")) {
		say(l, "unlink", -1, unlink(a[0]));
		l->next++;
	} else if (!strcmp(op, "stat")) {
		struct stat st;
		say(l, "newfstatat", -1, stat(a[0], &st));
		l->next++;
	} else if (!strcmp(op, "anon")) {
		struct stat st;
		struct timespec ts;
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 1 << 20);
		fstat(0, &st);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		getppid();
	} else if (!strcmp(op, "alarm")) {
		struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
		int both[2];
		sigaction(SIGUSR1, &act, NULL);
		say(l, "pipe2", -1, pipe2(both, O_CLOEXEC));
		pid_t me = getpid();
		pid_t child = (pid_t)syscall(SYS_fork);
		if (child == 0) {
			/* Signals while the other waits in its read, and only then the byte. */
			for (int i = 0; i < 5; i++) {
				usleep(5000);
				kill(me, SIGUSR1);
			}
			usleep(5000);
			_exit(write(both[1], "x", 1) != 1);
		}
		say(l, "fork", -1, 1);
		say(l, "read", both[0], read(both[0], buf, 10));
		int status;
		say(l, "wait4", -1, waitpid(child, &status, 0) > 0 ? 1 : -1);
		say(l, "close", both[0], close(both[0]));
		say(l, "close", both[1], close(both[1]));
		struct log other = {.name = "child"};
		say(&other, "write", both[1], 1);
		say(&other, "exit_group", -1, 0);
		memcpy(l->text + l->n, other.text, other.n);
		l->n += other.n;
	} else if (!strcmp(op, "thread")) {
		static struct log logs[16];
		static unsigned n;
		struct log *t = &logs[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED)];
		pthread_t id;
		*t = (struct log){.next = l->next};
		snprintf(t->name, sizeof(t->name), "%.50s.%u", l->name, l->made++);
		if (pthread_create(&id, NULL, body, t) != 0)
			_exit(98);
		say(l, "clone", -1, 1);
		pthread_join(id, NULL);
		l->next = t->next;
	} else if (!strcmp(op, "fork")) {
		pid_t child = (pid_t)syscall(SYS_fork);
		if (child == 0) {
			struct log mine = {.name = "child", .next = l->next};
			run(&mine);
			say(&mine, "exit_group", -1, 0);
			tell(&mine);
			_exit(0);
		}
		say(l, "fork", -1, 1);
		int status, deep = 1;
		say(l, "wait4", -1, waitpid(child, &status, 0) > 0 ? 1 : -1);
		for (; deep; l->next++)
			deep += !strcmp(*l->next, "fork") || !strcmp(*l->next, "thread") ? 1 : !strcmp(*l->next, ".") ? -1 : 0;
	} else if (!strcmp(op, "exec")) {
		char *argv[] = {"true", NULL};
		l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s execve - 0\n", l->name);
		tell(l);
		execv("/bin/true", argv);
	} else {
		_exit(97);
	}
}

static void run(struct log *l)
{
	while (*l->next && strcmp(*l->next, ".") != 0)
		one(l, *l->next++);
	l->next += *l->next != NULL;
}

int main(int argc, char **argv)
{
	static struct log l = {.name = "0"};
	(void)argc;
	truth = open(getenv("TRUTH"), O_WRONLY | O_CREAT, 0666);
	say(&l, "openat", -1, truth);
	l.next = argv + 1;
	run(&l);
	l.n += (size_t)snprintf(l.text + l.n, sizeof(l.text) - l.n, "%s exit_group - 7\n", l.name);
	tell(&l);
	_exit(7);
}
