/* p-signal.c - signals that come while calls are stopped, to handlers without SA_RESTART. Calls that no local file
 * system interrupts are not to be interrupted by the recorder; calls that a signal is meant to end must still end. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals, told;

static void on_signal(int sig)
{
	signals++;
	told |= sig == SIGUSR1;
}

static void handle(int sig)
{
	struct sigaction sa = {.sa_handler = on_signal};
	must(sigaction(sig, &sa, NULL));
}

/* Every so many microseconds; 0: no more. */
static void timer(int first, int every)
{
	struct itimerval it = {{0, every}, {0, first}};
	must(setitimer(ITIMER_REAL, &it, NULL));
}

static void open_and_close(void)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	must(close(fd));
	check(open(in_dir("none"), O_RDONLY) < 0 && errno == ENOENT);
}

CASE(timer_storm)
{
	truth("read", in_dir("in"));
	truth("absent", in_dir("none"));
	handle(SIGALRM);
	timer(200, 200);
	for (int i = 0; i < 20000 || signals < 200; i++)
		open_and_close();
	timer(0, 0);
}

/* Names, too, each call where it has an effect. */
CASE(timer_names)
{
	truth("create", in_dir("out"));
	truth("maybe-write", in_dir("out"));
	truth("maybe-write", in_dir("out2"));
	handle(SIGUSR1);
	handle(SIGALRM);
	timer(200, 200);
	for (int i = 0; i < 2000 || signals < 100; i++) {
		must(close((int)must(open(in_dir("out"), O_WRONLY | O_CREAT | O_EXCL, 0644))));
		must(rename(in_dir("out"), in_dir("out2")));
		must(chdir(in_dir("sub")));
		must(link(in_dir("out2"), in_dir("out")));
		must(unlink(in_dir("out2")));
		must(chdir(dir));
		must(unlink(in_dir("out")));
	}
	timer(0, 0);
	truth("no-name", in_dir("out"));
}

/* Children that end at any moment. */
CASE(child_storm)
{
	truth("read", in_dir("in"));
	truth("absent", in_dir("none"));
	handle(SIGCHLD);
	for (int i = 0; i < 400; i++) {
		pid_t pid = (pid_t)must(fork());
		if (!pid)
			_exit(0);
		for (int k = 0; k < 20; k++) {
			open_and_close();
			must(chdir(k % 2 ? dir : in_dir("sub")));
		}
		while (waitpid(pid, NULL, 0) < 0)
			check(errno == EINTR);
	}
	check(signals > 100);
}

static void *opener(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5000; i++)
		open_and_close();
	return NULL;
}

/* Threads that there were before the handler, and that come later. */
CASE(thread_storm)
{
	pthread_t t[4];
	truth("read", in_dir("in"));
	truth("absent", in_dir("none"));
	must(-pthread_create(&t[0], NULL, opener, NULL));
	must(-pthread_create(&t[1], NULL, opener, NULL));
	handle(SIGALRM);
	timer(200, 200);
	must(-pthread_create(&t[2], NULL, opener, NULL));
	must(-pthread_create(&t[3], NULL, opener, NULL));
	for (int i = 0; i < 4; i++)
		must(-pthread_join(t[i], NULL));
	check(signals > 20);
	_exit(0); /* under the storm, too */
}

static void *many(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A process with threads that ends under the storm must end: an interrupted exit_group ends one thread only. */
CASE(exit_storm)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = (pid_t)must(fork());
		if (!pid) {
			pthread_t t;
			handle(SIGALRM);
			must(-pthread_create(&t, NULL, many, NULL));
			timer(50, 50);
			for (volatile int k = 0; k < 20000 + i * 131; k++)
				;
			_exit(7);
		}
		int st;
		while (waitpid(pid, &st, 0) < 0)
			check(errno == EINTR);
		check(WIFEXITED(st) && WEXITSTATUS(st) == 7);
	}
}

/* What waits for others is ended by a signal, each time: the same call, from the same place. */
CASE(waits)
{
	int p[2], s = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char c;
	truth("maybe-read", in_dir("fifo"));
	must(mkfifo(in_dir("fifo"), 0600));
	must(pipe(p));
	snprintf(a.sun_path, sizeof(a.sun_path), "sub/s");
	must(bind(s, (struct sockaddr *)&a, sizeof(a)));
	must(listen(s, 1));
	handle(SIGALRM);
	for (int i = 0; i < 10; i++) {
		timer(30000, 0);
		check(open(in_dir("fifo"), O_RDONLY) < 0 && errno == EINTR);
		timer(30000, 0);
		check(accept(s, NULL, NULL) < 0 && errno == EINTR);
		timer(30000, 0);
		check(read(p[0], &c, 1) < 0 && errno == EINTR);
		timer(30000, 0);
		check(pause() < 0 && errno == EINTR);
		struct timespec t = {1, 0};
		timer(30000, 0);
		check(nanosleep(&t, NULL) < 0 && errno == EINTR);
	}
	check(signals == 50);
	must(unlink(in_dir("fifo")));
}

/* connect to a full backlog waits, and a signal ends it. */
CASE(connect_waits)
{
	int s = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof(a.sun_path), "sub/s");
	must(bind(s, (struct sockaddr *)&a, sizeof(a)));
	must(listen(s, 0));
	must(connect((int)must(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&a, sizeof(a)));
	int c = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
	handle(SIGALRM);
	for (int i = 0; i < 10; i++) {
		timer(30000, 0);
		check(connect(c, (struct sockaddr *)&a, sizeof(a)) < 0 && errno == EINTR);
	}
}

/* An exec takes the handlers along, and whatever was done about them. */
CASE(exec)
{
	handle(SIGALRM);
	handle(SIGUSR2);
	pid_t pid = spawn();
	if (!pid)
		become("+traced", "x");
	check(await(pid) == 0);
}

CASE(traced)
{
	char line[200];
	FILE *f = fopen("/proc/self/status", "re");
	check(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "TracerPid:", 10))
			check(atoi(line + 10) == 0);
	fclose(f);
	leave(0);
}

/* A debugger of its own, as leak checkers and crash handlers have: it must be let in. */
CASE(attach)
{
	int p[2];
	char c = 0;
	must(pipe(p));
	handle(SIGALRM);
	timer(200, 200);
	pid_t parent = getpid(), pid = (pid_t)must(fork());
	if (!pid) {
		must(read(p[0], &c, 1));
		must(ptrace(PTRACE_ATTACH, parent, NULL, NULL));
		int st;
		check(waitpid(parent, &st, 0) == parent && WIFSTOPPED(st));
		must(ptrace(PTRACE_DETACH, parent, NULL, NULL));
		_exit(0);
	}
	prctl(PR_SET_PTRACER, pid, 0, 0, 0);
	timer(0, 0);
	must(write(p[1], &c, 1));
	check(await(pid) == 0);
}

/* Stopped and continued while it is watched. */
CASE(stop)
{
	pid_t pid = (pid_t)must(fork());
	if (!pid) {
		truth("read", in_dir("in"));
		truth("absent", in_dir("none"));
		handle(SIGALRM);
		handle(SIGUSR1);
		timer(500, 500);
		while (!told)
			open_and_close();
		_exit(3);
	}
	int st;
	for (int i = 0; i < 20; i++) {
		struct timespec t = {0, 2000000};
		nanosleep(&t, NULL);
		must(kill(pid, SIGSTOP));
		check(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
		nanosleep(&t, NULL);
		check(waitpid(pid, &st, WUNTRACED | WNOHANG) == 0);
		must(kill(pid, SIGCONT));
		check(waitpid(pid, &st, WCONTINUED) == pid && WIFCONTINUED(st));
	}
	must(kill(pid, SIGUSR1));
	check(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 3);
}

const struct tcase cases[] = {
    {"timer-storm", timer_storm},
    {"timer-names", timer_names},
    {"child-storm", child_storm},
    {"thread-storm", thread_storm},
    {"exit-storm", exit_storm},
    {"waits", waits},
    {"connect-waits", connect_waits},
    {"exec", exec},
    {"+traced", traced},
    {"attach", attach},
    {"stop", stop},
    {0},
};
