#include "capture/launch/log_server.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 20000
#define PATIENCE_MS 2000

/* Is it dead, or gone? False also where that cannot be read. */
static bool has_killed_state(pid_t pid)
{
	char name[48], text[512];
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	errno = 0;
	if (!io_text(name, text, sizeof(text)))
		return errno == ENOENT || errno == ESRCH;
	const char *state = strrchr(text, ')');
	return state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
}

bool log_server_killed(pid_t pid, int held)
{
	/* In this order: while the pidfd can be signalled nobody else has the number. */
	return has_killed_state(pid) ||
	       (held >= 0 && syscall(SYS_pidfd_send_signal, held, 0, NULL, 0) < 0 && errno == ESRCH);
}

/* A process that has nothing of the user's open, nor the n descriptors of not_its. 0 in it. */
static pid_t fork_log_server(const int *not_its, size_t n)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	setsid();
	prctl(PR_SET_NAME, "stemma-log");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	/* Who sees by them that nobody is left to answer must see that. */
	for (size_t i = 0; i < n; i++)
		if (not_its[i] >= 0)
			close(not_its[i]);
	return 0;
}

pid_t log_server_start(struct sup *s, struct control *control, const int *not_its, size_t n)
{
	const pid_t keeper = getpid();
	log_writer_seal(s->log);
	pid_t pid = fork_log_server(not_its, n);
	if (pid != 0)
		return pid;
	for (bool last = false; !last;) {
		last = __atomic_load_n(&control->closing, __ATOMIC_ACQUIRE) || getppid() != keeper;
		log_writer_settle(s->log);
		if (!last)
			usleep(TICK_US);
	}
	if (!__atomic_load_n(&control->closing, __ATOMIC_ACQUIRE))
		worker_end_log(s, control);
	_exit(0);
}

bool log_server_await(pid_t server, struct sup *s, struct control *control, const int *not_its, size_t n)
{
	log_writer_seal(s->log);
	__atomic_store_n(&control->closing, 1, __ATOMIC_RELEASE);
	/* What tells of the end was said here: it is written by a process that has it, after the other one has ended. */
	int held = server > 0 ? (int)syscall(SYS_pidfd_open, server, 0) : -1;
	/* Where no process could be had the command's are gone by now, and leave room. */
	pid_t last = fork_log_server(not_its, n);
	for (int ms = 0; last < 0 && ms < PATIENCE_MS; ms++) {
		usleep(1000);
		last = fork_log_server(not_its, n);
	}
	if (last == 0) {
		while (server > 0 && !log_server_killed(server, held))
			usleep(1000);
		worker_end_log(s, control);
		_exit(0);
	}
	if (held >= 0)
		close(held);
	if (last < 0) {
		if (server > 0)
			waitpid(server, NULL, 0);
		worker_end_log(s, control);
		return true;
	}
	s->log = NULL;
	for (int ms = 0; waitpid(last, NULL, WNOHANG) == 0; ms++) {
		if (ms >= PATIENCE_MS)
			return false;
		usleep(1000);
	}
	if (server > 0)
		waitpid(server, NULL, WNOHANG);
	return true;
}
