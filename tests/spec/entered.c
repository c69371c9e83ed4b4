/* entered TRUTH WHAT... - calls functions f_* in many ways, and notes each at its beginning, with how many others are
 * open, in TRUTH.THREAD: what a trace of functions has to say of it. The result of it all on standard output. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))
#define IN                                                                                                             \
	enter(__func__);                                                                                                   \
	int here __attribute__((cleanup(leave), unused)) = 0

static const char *truth;
static long sum;
static __thread FILE *notes;
static __thread const char *open_now[4096];
static __thread int depth;
static __thread char thread_name[64] = "0";
static __thread int made;

static void note(const char *name)
{
	char path[4096];
	if (!notes) {
		snprintf(path, sizeof(path), "%s.%s", truth, thread_name);
		notes = fopen(path, "w");
		if (!notes)
			abort();
		setvbuf(notes, NULL, _IOLBF, 0);
	}
	fprintf(notes, "%d %s\n", depth, name);
}

static void enter(const char *name)
{
	note(name);
	open_now[depth++] = name;
}

static void leave(int *here)
{
	(void)here;
	depth--;
}

OWN static long f_leaf(long x)
{
	IN;
	return x + 1;
}

OWN static long f_mid(long x)
{
	IN;
	return f_leaf(x) + f_leaf(x + 1);
}

OWN static long f_fact(long n)
{
	IN;
	return n < 2 ? 1 : n * f_fact(n - 1);
}

static long f_odd(long n);
OWN static long f_even(long n)
{
	IN;
	return n ? f_odd(n - 1) : 1;
}

OWN static long f_odd(long n)
{
	IN;
	return n ? f_even(n - 1) : 0;
}

OWN static int f_compare(const void *a, const void *b)
{
	IN;
	return (int)(f_leaf(*(const int *)a) - f_leaf(*(const int *)b));
}

OWN static void f_sort(void)
{
	IN;
	int v[] = {5, 2, 9, 1, 7};
	qsort(v, 5, sizeof(*v), f_compare);
	sum += v[2];
}

static jmp_buf back;
OWN static void f_deep(int n)
{
	IN;
	if (n == 0)
		longjmp(back, 1);
	f_deep(n - 1);
}

OWN static void f_jump(void)
{
	IN;
	volatile int before = depth;
	if (setjmp(back) == 0)
		f_deep(5);
	depth = before;
	sum += f_leaf(1);
}

OWN static void f_handler(int sig)
{
	IN;
	sum += f_leaf(sig);
}

OWN static void f_signal(int flags)
{
	IN;
	struct sigaction act = {.sa_handler = f_handler, .sa_flags = flags};
	stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &act, NULL);
	f_leaf(1);
	raise(SIGUSR1);
	f_leaf(2);
	raise(SIGUSR1);
}

struct start {
	char name[64];
	int n;
};
OWN static void *f_thread(void *arg)
{
	struct start *s = arg;
	strcpy(thread_name, s->name);
	IN;
	for (int i = 0; i < s->n; i++)
		__atomic_fetch_add(&sum, f_mid(i), __ATOMIC_RELAXED);
	return NULL;
}

OWN static void f_threads(int n)
{
	IN;
	pthread_t t[8];
	struct start s[8];
	for (int i = 0; i < n; i++) {
		snprintf(s[i].name, sizeof(s[i].name), "%.40s.%d", thread_name, made++);
		s[i].n = 50 * (i + 1);
		pthread_create(&t[i], NULL, f_thread, &s[i]);
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

OWN static void f_fork(void)
{
	IN;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int n = depth;
		notes = NULL;
		strcpy(thread_name, "child");
		for (depth = 0; depth < n; depth++)
			note(open_now[depth]);
		f_mid(7);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static ucontext_t one, other;
OWN static void f_other(void)
{
	IN;
	f_leaf(1);
	swapcontext(&other, &one);
	f_leaf(2);
}

OWN static void f_swap(void)
{
	IN;
	getcontext(&other);
	other.uc_stack.ss_size = 1 << 20;
	other.uc_stack.ss_sp = malloc(1 << 20);
	other.uc_link = &one;
	makecontext(&other, f_other, 0);
	swapcontext(&one, &other);
	f_leaf(3);
	swapcontext(&one, &other);
}

int main(int argc, char **argv)
{
	truth = argv[1];
	for (int i = 2; i < argc; i++) {
		const char *what = argv[i];
		if (!strcmp(what, "calls"))
			for (int k = 0; k < 20; k++)
				sum += f_mid(k);
		else if (!strcmp(what, "recursion"))
			sum += f_fact(12) + f_even(9) + f_odd(9);
		else if (!strcmp(what, "sort"))
			f_sort();
		else if (!strcmp(what, "jump"))
			f_jump();
		else if (!strcmp(what, "signal"))
			f_signal(0);
		else if (!strcmp(what, "altstack"))
			f_signal(SA_ONSTACK);
		else if (!strcmp(what, "threads"))
			f_threads(3);
		else if (!strcmp(what, "fork"))
			f_fork();
		else if (!strcmp(what, "swap"))
			f_swap();
		else if (!strcmp(what, "many"))
			for (int k = 0; k < 3000; k++)
				sum += f_mid(k);
		else if (!strcmp(what, "exec"))
			execl("/proc/self/exe", argv[0], "again", "calls", "jump", (char *)NULL);
		else if (!strcmp(what, "kill"))
			raise(SIGKILL);
	}
	printf("%ld\n", sum);
	return (int)(sum & 63);
}
