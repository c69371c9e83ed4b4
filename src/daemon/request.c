#include "daemon/request.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* $STEMMA_NODE_SOCKET, else REQUEST_SOCKET. */
static const char *request_socket(void)
{
	const char *path = getenv("STEMMA_NODE_SOCKET");
	return path && *path ? path : REQUEST_SOCKET;
}

int request_reply(int sock, const char *text, size_t n, int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(char *)text, n < REPLY_MAX ? n : REPLY_MAX};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* A descriptor, -errno with a sentence. */
static int open_socket(struct err *err)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	const char *path = request_socket();
	if (strlen(path) >= sizeof(sun.sun_path))
		return err_set(err, ENAMETOOLONG, "cannot reach the daemon of this node at '%s'", path);
	memcpy(sun.sun_path, path, strlen(path) + 1);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return err_set(err, errno, "cannot make a socket");
	if (connect(sock, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
		int r = err_set(err, errno, "cannot reach the daemon of this node at '%s'", path);
		err_hint(err, "stemmad records a whole node; without it, record a command with: stemma run -- COMMAND");
		close(sock);
		return r;
	}
	return sock;
}

/* How many bytes, -errno. *ret_fd: what was sent along, -1. */
static int receive_reply(int sock, unsigned wait_ms, char *room, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {room, size};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int r;
	do
		r = poll(&p, 1, (int)wait_ms);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r < 0 ? -errno : -ETIMEDOUT;
	ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return n ? (int)n : -ECONNRESET;
}

/* Connects, asks, and waits for the answer, wait_ms at most. Its length, or -errno with a sentence. */
static int ask_once(const char *question, unsigned wait_ms, struct err *err, char *room, int *ret_fd)
{
	int sock = open_socket(err);
	if (sock < 0)
		return sock;
	int n = send(sock, question, strlen(question), MSG_NOSIGNAL) < 0 ? -errno : 0;
	/* A daemon that had no room for this one may have said so, and gone. */
	int got = receive_reply(sock, wait_ms, room, REPLY_MAX, ret_fd);
	if (got < 0)
		n = n ? n : got;
	else
		n = got;
	close(sock);
	return n < 0 ? err_set(err, -n, "the daemon of this node does not answer") : n;
}

/* Asks the daemon a question. As ask_once, but asks again while the daemon is busy: whoever has all the room is put
 * out after five seconds (control.h). Its length, or -errno with a sentence; -EBUSY: it was busy all the time. */
static int ask_patiently(const char *question, unsigned wait_ms, struct err *err, char *room, int *ret_fd)
{
	for (unsigned tries = 1; tries <= 40; tries++) {
		err_clear(err);
		int r = ask_once(question, wait_ms, err, room, ret_fd);
		/* It had no room for this one, and has closed with the question unread: its word is lost then. */
		if (r != -ECONNRESET && r != -EPIPE && !(r >= 4 && !memcmp(room, "busy", 4)))
			return r;
		struct timespec ts = {0, 50000000L * (tries < 8 ? tries : 8)};
		nanosleep(&ts, NULL);
	}
	return err_set(err, EBUSY, "the daemon of this node is busy: try again later");
}

int request_ask(const char *question, unsigned wait_ms, struct err *err, struct buf *ret, int *ret_fd)
{
	char *room = malloc(REPLY_MAX);
	int r = -ENOMEM, fd = -1;
	if (room)
		r = ask_patiently(question, wait_ms, err, room, &fd);
	if (r >= 2 && !memcmp(room, "ok", 2)) {
		size_t skip = r > 2 ? 3 : 2;
		buf_add(ret, room + skip, (size_t)r - skip);
		*ret_fd = fd;
		fd = -1;
		r = ret->failed ? -ENOMEM : 0;
	} else if (r >= 0) {
		const char *text = r > 3 ? room + 3 : "no answer";
		err_set(err, 0, "%.*s", r > 3 ? r - 3 : 9, text);
		r = -EACCES;
	}
	if (fd >= 0)
		close(fd);
	free(room);
	return r;
}
