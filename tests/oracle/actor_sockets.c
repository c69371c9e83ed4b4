/* actor_sockets.c - the actor's commands for Unix sockets (actor.c) */
#include "actor.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void socket_set(const char *word, int fd, const char *name, const char *in, const char *out)
{
	struct end *e = actor_end(word);
	if (fd < 0)
		actor_fail(name);
	e->fd = fd;
	snprintf(e->in, sizeof(e->in), "s:%s:%s", name, in);
	snprintf(e->out, sizeof(e->out), "s:%s:%s", name, out);
}

void actor_sockets(char **w)
{
	int p[2];
	char name[32];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p))
		actor_fail("socketpair");
	snprintf(name, sizeof(name), "%d.%d.%s", (int)getpid(), p[0], actor_step);
	socket_set(w[1], p[0], name, "ba", "ab");
	socket_set(w[2], p[1], name, "ab", "ba");
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return a;
}

void actor_listen(char **w)
{
	struct sockaddr_un a = address(w[2]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) || listen(fd, 1))
		actor_fail(w[2]);
	socket_set(w[1], fd, w[2], "cs", "sc");
}

void actor_accept(char **w)
{
	*actor_end(w[2]) = *actor_end(w[1]);
	actor_end(w[2])->fd = accept4(actor_end(w[1])->fd, NULL, NULL, SOCK_CLOEXEC);
	if (actor_end(w[2])->fd < 0)
		actor_fail("accept");
}

void actor_connect(char **w)
{
	struct sockaddr_un a = address(w[2]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (void *)&a, sizeof(a)))
		actor_fail(w[2]);
	socket_set(w[1], fd, w[2], "sc", "cs");
}

void actor_fin(char **w)
{
	if (shutdown(actor_end(w[1])->fd, SHUT_WR))
		actor_fail("shutdown");
}

void actor_send_fd(char **w)
{
	char byte = 0;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &actor_end(w[2])->fd, sizeof(int));
	actor_truth("put %s", actor_end(w[1])->out);
	if (sendmsg(actor_end(w[1])->fd, &m, 0) != 1)
		actor_fail("sendmsg");
}

void actor_receive_fd(char **w)
{
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
	int fd;
	if (recvmsg(actor_end(w[1])->fd, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
		actor_fail("recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	actor_set(w[2], fd);
	actor_truth("got %s", actor_end(w[1])->in);
}

void actor_try_connect(char **w)
{
	struct sockaddr_un a = address(w[1]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (void *)&a, sizeof(a)))
		actor_fail("a connect that must fail");
	close(fd);
}
