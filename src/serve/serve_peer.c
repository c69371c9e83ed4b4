#include "serve/serve_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

int serve_peer_open(void)
{
	return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

/* The kernel's answer about one connection; it is there when the question was taken. The user, -1: none. */
static int64_t read_answer(int diag)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	const ssize_t n = recv(diag, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -1;
	struct inet_diag_msg m;
	memcpy(&m, NLMSG_DATA(&answer.head), sizeof(m));
	return (int64_t)m.idiag_uid;
}

/* The socket whose own end is our other end. -1: not known. */
static int64_t tcp_uid(int diag, const struct sockaddr_in *own, const struct sockaddr_in *other)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 r;
	} ask = {
	    .head = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
	    .r = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
	};
	ask.r.id = (struct inet_diag_sockid){.idiag_sport = other->sin_port,
	                                     .idiag_dport = own->sin_port,
	                                     .idiag_src = {other->sin_addr.s_addr},
	                                     .idiag_dst = {own->sin_addr.s_addr},
	                                     .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
	while (recv(diag, &(char){0}, 1, MSG_DONTWAIT) >= 0)
		; /* what an earlier question left */
	return send(diag, &ask, sizeof(ask), MSG_DONTWAIT) == sizeof(ask) ? read_answer(diag) : -1;
}

int64_t serve_peer_uid(int diag, int fd)
{
	union {
		struct sockaddr a;
		struct sockaddr_in in;
		struct sockaddr_storage any;
	} own = {0}, other = {0};
	struct ucred u;
	socklen_t n = sizeof(own), k = sizeof(other), size = sizeof(u);
	if (getsockname(fd, &own.a, &n) < 0)
		return -1;
	if (own.a.sa_family == AF_UNIX)
		return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &size) < 0 ? -1 : (int64_t)u.uid;
	if (diag < 0 || own.a.sa_family != AF_INET || getpeername(fd, &other.a, &k) < 0)
		return -1;
	return tcp_uid(diag, &own.in, &other.in);
}
