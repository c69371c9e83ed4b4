#include "cmd/run/stacks.h"

#include "base/buf.h"
#include "base/io.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool find_stacks_program(char *ret, size_t size)
{
	return io_own("../capture/call_trace/stacks/stemma-stacks", "../" STEMMA_LIBDIR "/stemma/stemma-stacks", ret, size);
}

/* Runs it, with this as its output, and waits. keep: a descriptor that it inherits, -1 none. Its exit status; -1. */
static int run_program(char *const *argv, int output, int keep)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(output >= 0 ? output : null, STDOUT_FILENO);
		if (keep >= 0)
			fcntl(keep, F_SETFD, 0);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int stacks_begin(bool quiet)
{
	char path[4200], number[16];
	int pair[2];
	const char *why = NULL;
	if (!find_stacks_program(path, sizeof(path))) {
		why = "stemma was built without it (elfutils)";
	} else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		why = strerror(errno);
	} else {
		char *argv[] = {path, (char *)"--serve", number, NULL};
		snprintf(number, sizeof(number), "%d", pair[1]);
		if (run_program(argv, -1, pair[1]) != 0) {
			why = "the unwinder could not be started";
			close(pair[0]);
		}
		close(pair[1]);
	}
	if (why && !quiet)
		report("no call stacks, only calls: %s", why);
	return why ? 0 : pair[0];
}

void stacks_name(const char *folder)
{
	char path[4200];
	struct buf to = {0};
	buf_printf(&to, "%s/" STACKS_NAMES, folder);
	int fd = find_stacks_program(path, sizeof(path)) && !to.failed
	             ? open(buf_cstr(&to), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
	             : -1;
	if (fd >= 0) {
		/* As far as it came: each line stands for itself. */
		run_program((char *[]){path, (char *)"--name", (char *)folder, NULL}, fd, -1);
		close(fd);
	}
	buf_release(&to);
}

bool stacks_works(const char **ret_what)
{
	static char what[256];
	char path[4200];
	int out[2];
	*ret_what = what;
	if (!find_stacks_program(path, sizeof(path))) {
		snprintf(what, sizeof(what), "built without it: elfutils (libdw) was missing");
		return false;
	}
	char *argv[] = {path, (char *)"--works", NULL};
	if (pipe2(out, O_CLOEXEC) < 0)
		return false;
	bool works = run_program(argv, out[1], -1) == 0;
	close(out[1]);
	ssize_t n = read(out[0], what, sizeof(what) - 1);
	close(out[0]);
	what[n > 0 ? n : 0] = '\0';
	what[strcspn(what, "\n")] = '\0';
	if (!works)
		snprintf(what, sizeof(what), "its program does not start");
	return works;
}
