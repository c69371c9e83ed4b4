/* What the kernel says that a process has moved, and which call it waits in (count/totals.h). */
#include "capture/count/totals.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { IN_READ, IN_POLL, IN_SLEEP, IN_WAIT, IN_PAUSE, WITH_THREAD, BUSY_THREAD, LEFT_THREAD };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int ready[2], nothing[2];

static void tell_ready(void)
{
	if (write(ready[1], "", 1) != 1)
		_exit(1);
}

/* Moves 100 bytes in and 7 out. */
static void move_some(void)
{
	char bytes[100];
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	if (read(zero, bytes, 100) != 100 || write(null, bytes, 7) != 7)
		_exit(1);
}

static void *thread(void *how)
{
	move_some();
	tell_ready();
	if (*(int *)how == LEFT_THREAD)
		return NULL;
	if (*(int *)how == BUSY_THREAD)
		for (;;)
			pause();
	pthread_mutex_lock(&held);
	return NULL;
}

static void be(int how)
{
	pthread_t t;
	char byte;
	struct pollfd p = {.fd = nothing[0], .events = POLLIN};
	move_some();
	if (how >= WITH_THREAD) {
		pthread_mutex_lock(&held);
		pthread_create(&t, NULL, thread, &how);
		if (how == LEFT_THREAD)
			pthread_join(t, NULL);
	} else {
		tell_ready();
	}
	switch (how) {
	case IN_READ:
		(void)!read(nothing[0], &byte, 1);
		break;
	case IN_POLL:
		poll(&p, 1, -1);
		break;
	case IN_SLEEP:
		sleep(1000);
		break;
	case IN_WAIT:
		if (fork() == 0)
			for (;;)
				pause();
		wait(NULL);
		break;
	default:
		for (;;)
			pause();
	}
	_exit(0);
}

static pid_t start(int how)
{
	char byte;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(nothing), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		be(how);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	return pid;
}

static void stop(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(nothing[i]);
	}
}

/* Asks again until it is so, for it takes a moment until a process waits; at most two seconds. */
static bool soon(bool (*holds)(pid_t pid), pid_t pid)
{
	for (int i = 0; i < 2000; i++) {
		if (holds(pid))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return false;
}

static bool sleeps(pid_t pid)
{
	char path[64], text[256];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	char *end = strrchr(text, ')');
	return end && end[2] == 'S';
}

/* Has it one thread? One that was waited for goes a moment later. */
static bool is_alone(pid_t pid)
{
	uint64_t r, w;
	return totals_of_threads(pid, 1, &r, &w);
}

static void what_was_moved(void **state)
{
	(void)state;
	uint64_t r, w;
	pid_t pid = start(IN_PAUSE);
	assert_true(soon(sleeps, pid));
	assert_true(totals_of(pid, true, &r, &w));
	assert_int_equal(r, 100);
	assert_int_equal(w, 8); /* with the byte that says that it is ready */
	assert_true(totals_of(pid, false, &r, &w));
	assert_int_equal(r, 100);
	assert_int_equal(w, 8);
	assert_true(totals_of_threads(pid, 1, &r, &w));
	assert_int_equal(r, 100);
	assert_int_equal(w, 8);
	assert_false(totals_of_threads(pid, 2, &r, &w));
	stop(pid);
	assert_false(totals_of(pid, true, &r, &w));
	assert_false(totals_of_threads(pid, 1, &r, &w));
}

static void of_threads(void **state)
{
	(void)state;
	uint64_t r, w;
	pid_t pid = start(WITH_THREAD);
	assert_true(soon(sleeps, pid));
	assert_true(totals_of(pid, true, &r, &w));
	assert_int_equal(w, 7);
	assert_true(totals_of(pid, false, &r, &w));
	assert_int_equal(w, 15);
	assert_true(totals_of_threads(pid, 2, &r, &w));
	assert_int_equal(w, 15);
	assert_true(r >= 200);
	assert_false(totals_of_threads(pid, 1, &r, &w));
	stop(pid);
	pid = start(LEFT_THREAD);
	assert_true(soon(is_alone, pid));
	assert_true(totals_of(pid, false, &r, &w));
	assert_int_equal(w, 15); /* with those of the thread that has ended */
	assert_true(totals_of_threads(pid, 1, &r, &w));
	assert_int_equal(w, 7);
	stop(pid);
}

#ifdef __x86_64__
static bool can_see_calls(void)
{
	char text[8];
	int fd = open("/proc/self/syscall", O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		print_message("# skipped: the kernel does not tell in which call a process is\n");
	return n > 0;
}

static void what_it_waits_in(void **state)
{
	(void)state;
	if (!can_see_calls())
		return;
	for (int how = IN_READ; how <= IN_WAIT; how++) {
		pid_t pid = start(how);
		if (!soon(totals_waits, pid))
			fail_msg("it waits in call %d", how);
		stop(pid);
	}
	pid_t pid = start(IN_PAUSE); /* nobody knows what comes after it */
	assert_true(soon(sleeps, pid));
	assert_false(totals_waits(pid));
	stop(pid);
	assert_false(totals_waits(pid)); /* it is over */
}

static void who_stands(void **state)
{
	(void)state;
	if (!can_see_calls())
		return;
	pid_t pid = start(WITH_THREAD);
	assert_true(soon(sleeps, pid));
	bool stands = false;
	for (int i = 0; i < 100 && !stands; i++)
		stands = totals_stand(pid, pid); /* its thread waits for a lock that the first one holds */
	assert_true(stands);
	assert_false(totals_stand(pid, 1)); /* the first one waits for a signal */
	stop(pid);
	pid = start(BUSY_THREAD);
	assert_true(soon(sleeps, pid));
	assert_false(totals_stand(pid, pid));
	stop(pid);
}
#endif

#ifdef __SANITIZE_THREAD__
static void no_count_of_threads(void **state)
{
	(void)state;
	(void)what_was_moved, (void)of_threads;
#ifdef __x86_64__
	(void)who_stands;
#endif
	print_message("# skipped: what is asked of processes with one thread, for here each has another one\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __SANITIZE_THREAD__ /* which has a thread of its own */
	    cmocka_unit_test(no_count_of_threads),
#else
	    cmocka_unit_test(what_was_moved),
	    cmocka_unit_test(of_threads),
#ifdef __x86_64__
	    cmocka_unit_test(who_stands),
#endif
#endif
#ifdef __x86_64__
	    cmocka_unit_test(what_it_waits_in),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
