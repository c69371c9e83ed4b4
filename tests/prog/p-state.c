/* p-state.c - a program that looks at all that it was given: with and without a recorder it must see the same. */
#include "truth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

static void descriptors(FILE *f)
{
	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);
		struct stat st;
		if (flags < 0 || fstat(fd, &st) < 0 || fd == TRUTH_FD || fd == fileno(f))
			continue;
		fprintf(f, "fd %d: type %o cloexec %d flags %o pos %lld\n", fd, st.st_mode & S_IFMT, flags, fcntl(fd, F_GETFL),
		        (long long)lseek(fd, 0, SEEK_CUR));
	}
}

/* The descriptors alone, into the file "fds", for runs whose standard streams are closed. */
CASE(c_fds)
{
	int fd = (int)must(open(in_dir("fds"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
	int high = (int)must(fcntl(fd, F_DUPFD_CLOEXEC, 500));
	close(fd);
	FILE *f = fdopen(high, "w");
	check(f != NULL);
	descriptors(f);
	fclose(f);
}

CASE(c_all)
{
	FILE *f = stdout;
	descriptors(f);
	for (char **e = environ; *e; e++)
		fprintf(f, "env %s\n", *e);
	mode_t mask = umask(0);
	fprintf(f, "umask %o\n", mask);
	umask(mask);
	for (int r = 0; r < RLIM_NLIMITS; r++) {
		struct rlimit l;
		if (getrlimit((__rlimit_resource_t)r, &l) == 0)
			fprintf(f, "limit %d %llu %llu\n", r, (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
	}
	sigset_t blocked;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int s = 1; s < 65; s++) {
		struct sigaction sa;
		if (sigismember(&blocked, s) == 1)
			fprintf(f, "blocked %d\n", s);
		if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			fprintf(f, "ignored %d\n", s);
	}
	fprintf(f, "nice %d policy %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		fprintf(f, "cpus %d\n", CPU_COUNT(&cpus));
	int v = -1;
	prctl(PR_GET_CHILD_SUBREAPER, &v);
	fprintf(f, "subreaper %d\n", v);
	prctl(PR_GET_PDEATHSIG, &v);
	fprintf(f, "pdeathsig %d\n", v);
	fprintf(f, "dumpable %d keepcaps %d timerslack %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS),
	        prctl(PR_GET_TIMERSLACK));
	fprintf(f, "ids %d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
	for (int i = 0; i < 3; i++)
		fprintf(f, "tty %d: %d %s\n", i, isatty(i), isatty(i) ? ttyname(i) : "-");
	int tty = open("/dev/tty", O_RDWR);
	fprintf(f, "controlling terminal: %d\n", tty >= 0);
	if (tty >= 0)
		fprintf(f, "foreground %d\n", tcgetpgrp(tty) == getpgrp());
	struct itimerval it;
	getitimer(ITIMER_REAL, &it);
	fprintf(f, "alarm %ld\n", (long)it.it_value.tv_sec);
	char cwd[PATH_MAX];
	fprintf(f, "cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : strerror(errno));
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	while (d && readdir(d))
		n++;
	fprintf(f, "tasks %d\n", n - 2);
	fprintf(f, "children %d\n", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 1);
	FILE *s = fopen("/proc/self/status", "r");
	char line[256];
	while (s && fgets(line, sizeof(line), s))
		if (strncmp(line, "Cap", 3) == 0 || strncmp(line, "TracerPid", 9) == 0)
			fputs(line, f);
	FILE *o = fopen("/proc/self/oom_score_adj", "r");
	if (o && fgets(line, sizeof(line), o))
		fprintf(f, "oom %s", line);
	fflush(f);
	for (int i = 0; i < argc; i++)
		fprintf(f, "argument %s\n", argv[i]);
	fflush(f);
}

/* Arguments: how many, how long, and a sum of their bytes. */
CASE(c_args)
{
	unsigned long sum = 5381, bytes = 0;
	for (int i = 0; i < argc; i++)
		for (const unsigned char *p = (unsigned char *)argv[i];; p++) {
			sum = sum * 33 + *p;
			bytes++;
			if (!*p)
				break;
		}
	printf("%d arguments, %lu bytes, sum %lx\n", argc, bytes, sum);
	fflush(stdout);
}

/* ---- signals --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t seen[65];

static void count(int sig)
{
	seen[sig]++;
}

/* Says "ready", and which signals came and how often until half a second after the first; ends with status 3. */
CASE(c_signals)
{
	static const int watched[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGWINCH, SIGALRM};
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		struct sigaction sa = {.sa_handler = count};
		sigaction(watched[i], &sa, NULL);
	}
	puts("ready");
	fflush(stdout);
	for (int i = 0, left = 50; i < 2000 && left; i++) {
		usleep(10000);
		int any = 0;
		for (int s = 1; s < 65; s++)
			any += seen[s];
		if (any)
			left--;
	}
	for (int s = 1; s < 65; s++)
		if (seen[s])
			printf("signal %d: %d\n", s, seen[s]);
	fflush(stdout);
	leave(3);
}

/* Waits to be ended by whatever comes. */
CASE(c_wait)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Says "tick" now and then, and "continued" when it was stopped. */
CASE(c_tick)
{
	struct sigaction sa = {.sa_handler = count};
	sigaction(SIGCONT, &sa, NULL);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 1000; i++) {
		usleep(20000);
		if (seen[SIGCONT]) {
			seen[SIGCONT] = 0;
			puts("continued");
			fflush(stdout);
			char b[16];
			/* A line from the terminal, which only the foreground gets. */
			if (argc && fgets(b, sizeof(b), stdin))
				printf("got %s", b);
			fflush(stdout);
			leave(0);
		}
	}
	leave(4);
}

const struct tcase cases[] = {
    {"all", c_all},
    {"fds", c_fds},
    {"args", c_args},
    {"+signals", c_signals},
    {"+wait", c_wait},
    {"+tick", c_tick},
    {0},
};
