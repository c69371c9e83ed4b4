/* How the command's process becomes the command. Perhaps in memory that is not its own (vfork). */
#include "capture/launch/launch_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- descriptors between processes ---- */

/* Sends the listener's descriptor through a socket. fd: below 0: the word alone, which then says why. 0, -errno. */
static int send_listener(int sock, int fd, int word)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	struct iovec iov = {&word, sizeof(word)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		m.msg_control = &u;
		m.msg_controllen = sizeof(u);
		u.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ---- the command ---- */

/* No program of this name in PATH, whatever execvp says: it reports a folder that may not be searched as "permission
 * denied". False of a name with a slash. */
static bool is_nowhere_in_path(const char *name)
{
	char path[4096];
	if (strchr(name, '/'))
		return false;
	for (const char *d = getenv("PATH"); d && *d; d += strcspn(d, ":"), d += *d == ':') {
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(d, ":"), d, name);
		if (access(path, F_OK) == 0)
			return false;
	}
	return true;
}

/* In the command's process, before exec. Ends it with 126 if it cannot be confined. */
static void confine_command_once(const struct keeper *k)
{
	static bool done;
	if (!done && k->o->confine && k->o->confine(k->o->confine_arg) != 0)
		_exit(126);
	done = true;
}

/* Executes the command; on failure says why, and ends as a shell does: 127 not found, 126 else. */
_Noreturn void launch_become_command(const struct keeper *k)
{
	char *const *argv = k->o->argv;
	confine_command_once(k);
	for (int i = 0; i < 3; i++)
		if (k->closed[i])
			close(i);
	execvp(argv[0], argv);
	int e = errno == EACCES && is_nowhere_in_path(argv[0]) ? ENOENT : errno;
	dprintf(2, "stemma: cannot run '%s': %s\n", argv[0], strerror(e));
	_exit(e == ENOENT || e == ENOTDIR ? 127 : 126);
}

/* The filter that stops the calls: 0 where ptrace traces, else the descriptor of the listener. -errno. */
static int install_filter(struct keeper *k, const struct sock_fprog *prog)
{
	return k->trace ? trace_install(prog) : notify_install(prog);
}

/* The filter that stops its calls. Its listener (0 where there is none); or -errno. */
static int enter_filter(struct keeper *k, const struct sock_fprog *prog, int sock)
{
	char go = 0;
	/* With ptrace the tracer must be there before the filter is. */
	if (k->trace && (recv(sock, &go, 1, 0) != 1 || go != 'y'))
		return -ENOSYS;
	if (!prog)
		return k->sup->exact ? 0 : -ENOSYS;
	int fd = install_filter(k, prog);
	if (fd != -EACCES)
		return fd;
	/* Without privilege a filter needs no_new_privs; with privilege, set-id programs keep theirs. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return install_filter(k, prog);
}

/* In the command's process: installs the filter, sends its listener over both sockets, and executes the command. */
_Noreturn void launch_exec_command(struct keeper *k, const struct sock_fprog *prog, const int socks[2])
{
	sigaction(SIGXFSZ, &k->xfsz, NULL);
	sigprocmask(SIG_SETMASK, &k->before, NULL);
	int fd = enter_filter(k, prog, socks[1]);
	int nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		send_listener(socks[i], k->trace ? -1 : fd, fd >= 0 ? nnp : fd);
		close(socks[i]);
	}
	if (k->sup->observer && k->sup->observer->enter)
		k->sup->observer->enter(k->sup->observer->arg);
	/* What an exec closes is ours: whoever started us could not hand it on. Not there at all, it is not looked at when
	 * the exec stops. */
	for (int i = 3; i <= fd; i++)
		if (fcntl(i, F_GETFD) == FD_CLOEXEC)
			close(i);
	launch_become_command(k);
}
