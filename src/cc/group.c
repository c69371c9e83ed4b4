#include "cc/group.h"

#include "base/io.h"
#include "capture/interpose/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK 16384
#define WAIT_MS 10 /* the kernel hands it to all of a group within microseconds */

/* It shares errno with us, so it makes its calls past the C library. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/* Waits for the group's signals and counts them. Ends when the parent has. */
__attribute__((no_sanitize("address")))
#endif
#endif
static int
listen_on(void *arg)
{
	struct group_ear *e = arg;
	raw6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	if (raw0(SYS_getppid) != e->parent) /* gone before that was said */
		return 0;
	for (;;) {
		long sig = raw6(SYS_rt_sigtimedwait, (long)&e->wanted, 0, 0, 8, 0, 0);
		if (sig > 0 && sig < GROUP_SIGNALS)
			__atomic_add_fetch(&e->heard[sig], 1, __ATOMIC_RELEASE);
		else if (sig != -EINTR)
			return 0;
	}
}

void group_listen(struct group_ear *e, const int *signals, size_t n)
{
	*e = (struct group_ear){.parent = getpid()};
	sigemptyset(&e->wanted);
	for (size_t i = 0; i < n; i++)
		sigaddset(&e->wanted, signals[i]);
	void *p = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (p == MAP_FAILED)
		return;
	/* No signal of its end: nobody but group_end waits for it. */
	int pid = clone(listen_on, (char *)p + STACK, CLONE_VM | CLONE_FILES | CLONE_FS, e);
	if (pid < 0) {
		munmap(p, STACK);
		return;
	}
	e->pid = pid;
	e->stack = p;
}

/* Has the ear got it, and not been given a processor since? */
static bool is_signal_pending(pid_t pid, int sig)
{
	char path[32], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	io_text(path, text, sizeof(text));
	const char *p = strstr(text, "\nShdPnd:");
	return p && strtoull(p + 8, NULL, 16) >> (sig - 1) & 1;
}

bool group_received(struct group_ear *e, int sig)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	if (!e->pid || sig <= 0 || sig >= GROUP_SIGNALS)
		return false;
	e->mine[sig]++;
	for (int i = 0;; i++) {
		unsigned heard = __atomic_load_n(&e->heard[sig], __ATOMIC_ACQUIRE);
		bool told = heard >= e->mine[sig], soon = !told && is_signal_pending(e->pid, sig);
		if (told || soon || i == WAIT_MS) {
			e->mine[sig] = heard + soon;
			return told || soon;
		}
		nanosleep(&ms, NULL);
	}
}

/* Ends the ear and waits for it. It may be called twice. */
void group_end(struct group_ear *e)
{
	if (!e->pid)
		return;
	kill(e->pid, SIGKILL);
	while (waitpid(e->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	munmap(e->stack, STACK);
	e->pid = 0;
}
