#include "cmd/run/stacks.h"

#include "base/buf.h"
#include "base/child.h"
#include "base/io.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside this program, or as it is installed. False: it is not there. */
static bool find_stacks_program(char *ret, size_t size)
{
	return io_own("../capture/call_trace/stacks/stemma-stacks", "../" STEMMA_LIBDIR "/stemma/stemma-stacks", ret, size);
}

/* Hands a descriptor to the child. In the child: the descriptor stays open over exec. 0, -1 with errno. */
static int pass_on(void *arg)
{
	return fcntl(*(int *)arg, F_SETFD, 0);
}

int stacks_begin(bool quiet)
{
	char path[4200], number[16];
	int pair[2];
	const char *why = NULL;
	if (!find_stacks_program(path, sizeof(path))) {
		why = "stemma was built without elfutils";
	} else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		why = strerror(errno);
	} else {
		char *argv[] = {path, (char *)"--serve", number, NULL};
		struct child c = {.argv = argv, .path = path, .before = pass_on, .arg = &pair[1]};
		snprintf(number, sizeof(number), "%d", pair[1]);
		if (child_run(&c) != 0) {
			why = "the program that unwinds stacks could not be started";
			close(pair[0]);
		}
		close(pair[1]);
	}
	if (why && !quiet)
		report("call stacks are not recorded: %s", why);
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
		char *argv[] = {path, (char *)"--name", (char *)folder, NULL};
		child_run(&(struct child){.argv = argv, .path = path, .out = fd});
		close(fd);
	}
	buf_release(&to);
}

const char *stacks_unstarted(int status)
{
	enum { UNLOADED = 127 }; /* of the dynamic linker */
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == UNLOADED
	           ? "a library that it needs is not installed"
	           : "its program does not start";
}

bool stacks_works(const char **ret_what)
{
	static char what[256];
	char path[4200];
	*ret_what = what;
	if (!find_stacks_program(path, sizeof(path))) {
		snprintf(what, sizeof(what), "built without it: elfutils (libdw) was missing");
		return false;
	}
	char *argv[] = {path, (char *)"--works", NULL};
	struct buf printed = {0};
	int status = child_read(&(struct child){.argv = argv, .path = path, .most = sizeof(what) - 1}, &printed);
	bool works = status == 0;
	const char *text = works ? buf_cstr(&printed) : stacks_unstarted(status);
	snprintf(what, sizeof(what), "%.*s", (int)strcspn(text, "\n"), text);
	buf_release(&printed);
	return works;
}
