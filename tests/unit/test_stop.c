/* The end of a whole tree: whatever its processes do, none is left, and nobody beside it is hit. */
#include "monitor/stop.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOGETHER 300 /* processes of a bomb, about */
#define ENOUGH 1000  /* that it has made when it is stopped */
#define TOO_MANY 19000
#define PATIENCE 20000

/* Shared by all processes of a test: who was there. */
static struct board {
	int n, ready, termed, stop;
	pid_t pid[20000];
} * board;

static void sign_in(void)
{
	int i = __atomic_fetch_add(&board->n, 1, __ATOMIC_SEQ_CST);
	if (i < 20000)
		board->pid[i] = getpid();
}

static int setup(void **state)
{
	(void)state;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return board == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(board, sizeof(*board));
}

/* A process that all of a tree stay below, and that waits for those that end. */
static pid_t top(void (*tree)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (fork() == 0) {
		tree();
		_exit(0);
	}
	while (!board->stop)
		if (wait(NULL) < 0)
			usleep(1000);
	_exit(0);
}

static void until(const int *value, int n)
{
	for (int i = 0; i < 60000 && __atomic_load_n(value, __ATOMIC_SEQ_CST) < n; i++)
		usleep(1000);
	assert_true(__atomic_load_n(value, __ATOMIC_SEQ_CST) >= n);
}

/* Its state as the kernel has it, X if it is not there. */
static char state_of(pid_t pid)
{
	char name[64], text[512];
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *at = strrchr(text, ')');
	return at && at[1] ? at[2] : 'X';
}

static bool is_alive(pid_t pid)
{
	char state = state_of(pid);
	return state != 'Z' && state != 'X';
}

static int signed_in(void)
{
	return board->n < 20000 ? board->n : 20000;
}

static void all_gone(pid_t boss)
{
	int n = signed_in();
	for (int i = 0; i < n; i++)
		if (is_alive(board->pid[i]))
			fail_msg("%d of %d is alive", board->pid[i], n);
	assert_true(is_alive(boss));
	board->stop = 1;
	kill(boss, SIGKILL);
	assert_int_equal(waitpid(boss, NULL, 0), boss);
}

static void linger(void)
{
	sign_in();
	__atomic_fetch_add(&board->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* A daemon by the book, a child that ignores what can be ignored, one that is stopped, one below a chain of others. */
static void family(void)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			linger();
		_exit(0);
	}
	if (fork() == 0) {
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_IGN);
		linger();
	}
	if (fork() == 0) {
		sign_in();
		__atomic_fetch_add(&board->ready, 1, __ATOMIC_SEQ_CST);
		raise(SIGSTOP);
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (child != 0) {
			sign_in();
			waitpid(child, NULL, 0);
			_exit(0);
		}
	}
	linger();
}

static void families_end(void **state)
{
	(void)state;
	struct stop_count n;
	pid_t bystander = fork();
	if (bystander == 0) {
		for (;;)
			pause();
	}
	pid_t boss = top(family);
	until(&board->ready, 4);
	/* A daemon is met once its parent has ended. */
	for (int i = 0; i < 5000 && stop_signal(boss, 0, &n) == 0 && n.alive != 24; i++)
		usleep(1000);
	assert_int_equal(n.alive, 24);
	assert_int_equal(stop_kill(boss, PATIENCE, &n), 0);
	assert_int_equal(n.alive, 0);
	all_gone(boss);
	assert_true(is_alive(bystander));
	kill(bystander, SIGKILL);
	waitpid(bystander, NULL, 0);
}

/* Hundreds that make others as fast as they can, up to a number alive together, as where a user's processes are
 * limited; most end at once, some leave orphans. */
static void bomb(void)
{
	setsid();
	for (unsigned seed = (unsigned)getpid();;) {
		sign_in();
		if (__atomic_load_n(&board->n, __ATOMIC_SEQ_CST) > TOO_MANY)
			linger(); /* the machine is others' too */
		if (__atomic_add_fetch(&board->ready, 1, __ATOMIC_SEQ_CST) < TOGETHER && fork() == 0) {
			seed = (unsigned)getpid();
			continue;
		}
		usleep(3000);
		if (rand_r(&seed) % 4 == 0) {
			__atomic_sub_fetch(&board->ready, 1, __ATOMIC_SEQ_CST);
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void bombs_end(void **state)
{
	(void)state;
	struct stop_count n;
	pid_t boss = top(bomb);
	until(&board->n, ENOUGH);
	assert_int_equal(stop_kill(boss, PATIENCE, &n), 0);
	int before = board->n;
	usleep(100000);
	assert_int_equal(board->n, before); /* nobody is born any more */
	all_gone(boss);
}

static void on_term(int sig)
{
	(void)sig;
	__atomic_fetch_add(&board->termed, 1, __ATOMIC_SEQ_CST);
	_exit(0);
}

static void obedient(void)
{
	signal(SIGTERM, on_term);
	if (fork() == 0) {
		sign_in();
		__atomic_fetch_add(&board->ready, 1, __ATOMIC_SEQ_CST);
		for (;;)
			raise(SIGSTOP);
	}
	while (!__atomic_load_n(&board->ready, __ATOMIC_SEQ_CST)) /* it is the first on the board */
		usleep(1000);
	if (fork() == 0)
		setsid();
	linger();
}

/* SIGTERM reaches those that are stopped as well. */
static void asked_first(void **state)
{
	(void)state;
	struct stop_count n;
	pid_t boss = top(obedient);
	until(&board->ready, 3);
	for (int i = 0; i < PATIENCE && state_of(board->pid[0]) != 'T'; i++)
		usleep(1000);
	assert_int_equal(state_of(board->pid[0]), 'T');
	assert_int_equal(stop_signal(boss, SIGTERM, &n), 0);
	until(&board->termed, 3);
	/* Each has still to end, which takes long where a sanitizer's memory is to be given back. */
	for (int i = 0; i < signed_in(); i++)
		for (int k = 0; k < PATIENCE && is_alive(board->pid[i]); k++)
			usleep(1000);
	all_gone(boss);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(families_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(bombs_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(asked_first, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
