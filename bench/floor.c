/* floor - the least that any recorder of this kind costs: floor COMMAND [ARGUMENT...].
 *
 * The calls that `stemma run` stops are stopped by the same filter, and each is let go on at once; nothing is looked
 * at and nothing written. Ends as the command does; 125 where calls cannot be stopped so. */
#include "capture/seccomp/trap.h"

#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int install(const struct sock_fprog *prog)
{
	int fd = notify_install(prog);
	if (fd != -EACCES)
		return fd;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return notify_install(prog);
}

static void serve(int listener)
{
	struct notify_slot slot;
	struct trap t;
	notify_tune(listener);
	for (;;) {
		int rc = notify_recv(listener, &slot, &t);
		struct pollfd p = {.fd = listener};
		if (rc == 0)
			notify_continue(listener, &slot);
		else if (rc == -ENOENT && poll(&p, 1, 0) == 1 && (p.revents & POLLHUP))
			return;
	}
}

int main(int argc, char **argv)
{
	struct sock_fprog prog;
	struct err err = {0};
	int status, *listener = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || listener == MAP_FAILED || trap_filter(TRAP_TREE | TRAP_FILE, true, &err, &prog) < 0)
		return 125;
	/* One table for both, until the exec: so the listener is here as soon as it is there. */
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0UL);
	if (pid == 0) {
		int fd = install(&prog);
		__atomic_store_n(listener, fd < 0 ? fd : fd + 1, __ATOMIC_RELEASE);
		if (fd < 0)
			_exit(125);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	int fd = 0;
	while (pid > 0 && !(fd = __atomic_load_n(listener, __ATOMIC_ACQUIRE)))
		sched_yield();
	if (fd > 0)
		serve(fd - 1);
	else
		fprintf(stderr, "floor: no call can be stopped here\n");
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 125;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
