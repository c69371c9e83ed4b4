/* Signals of the program to itself: what they carry, whether they are held back, who handles them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static volatile sig_atomic_t got, seen, late, ticks;
static void carried(int s, siginfo_t *info, void *context)
{
	(void)s;
	(void)context;
	got = info->si_value.sival_int;
}
static void count(int s)
{
	(void)s;
	seen++;
}
static void note(int s)
{
	(void)s;
	late = 1;
}
static void tick(int s)
{
	(void)s;
	ticks++;
	write(1, "t", 1); /* OUT tick */
}
int main(int argc, char **argv)
{
	struct sigaction act;
	sigset_t set;
	union sigval v;
	(void)argc;
	/* -- */
	memset(&act, 0, sizeof(act));
	act.sa_sigaction = carried;
	act.sa_flags = SA_SIGINFO;
	sigaction(SIGRTMIN, &act, NULL);
	v.sival_int = atoi(argv[1]);
	sigqueue(getpid(), SIGRTMIN, v);
	printf("%d\n", got); /* OUT carried */
	/* -- */
	signal(SIGUSR1, atoi(argv[2]) ? count : SIG_IGN);
	raise(SIGUSR1);
	printf("%d\n", seen); /* OUT handled */
	/* -- */
	signal(SIGUSR2, note);
	sigemptyset(&set);
	if (atoi(argv[3]))
		sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR2);
	printf("%d\n", late); /* OUT held */
	/* -- */
	signal(SIGALRM, tick);
	alarm((unsigned)atoi(argv[4]));
	sleep(2);
	printf("%d\n", ticks); /* OUT ticks */
	/* -- */
	signal(SIGTERM, SIG_DFL);
	if (atoi(argv[5]))
		kill(getpid(), SIGTERM);
	fputs("alive\n", stderr); /* OUT alive */
	return 0;
}
