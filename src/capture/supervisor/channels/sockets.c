/* Sockets: which address a process spoke to, and which two ends belong together. */
#include "capture/supervisor/channels/sockets.h"
#include "capture/supervisor/channels/connects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* The name in a Unix socket's address of `got` bytes, as far as the kernel would take it: what a program gives may be
 * longer than any is, and need not end with a NUL. got: more than the family's. */
static void path_of_unix(const struct sockaddr_un *un, size_t got, char ret[sizeof(un->sun_path) + 1])
{
	size_t n = got - offsetof(struct sockaddr_un, sun_path);
	if (n > sizeof(un->sun_path))
		n = sizeof(un->sun_path);
	memcpy(ret, un->sun_path, n);
	ret[n] = '\0';
}

/* The channel of an address, used by p from then on. */
struct file *socket_use(struct sup *s, struct proc *p, pid_t tid, int fd, const union address *u, ssize_t got,
                        unsigned api, int64_t time)
{
	char text[INET6_ADDRSTRLEN], address[300], domain[100];
	struct file *f = NULL;
	bool local = true;
	switch (u->sa.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &u->in.sin_addr, text, sizeof(text));
		local = ntohl(u->in.sin_addr.s_addr) >> 24 == 127 || u->in.sin_addr.s_addr == INADDR_ANY;
		snprintf(address, sizeof(address), "inet:%s:%u", local ? "127.0.0.1" : text, ntohs(u->in.sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &u->in6.sin6_addr, text, sizeof(text));
		local = IN6_IS_ADDR_LOOPBACK(&u->in6.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&u->in6.sin6_addr);
		/* "localhost" over either family is the same listener as a rule; joining them can only add a `may`. */
		if (local)
			snprintf(address, sizeof(address), "inet:127.0.0.1:%u", ntohs(u->in6.sin6_port));
		else
			snprintf(address, sizeof(address), "inet:[%s]:%u", text, ntohs(u->in6.sin6_port));
		break;
	case AF_UNIX:
		if (got <= (ssize_t)sizeof(sa_family_t))
			return NULL; /* unnamed */
		if (u->un.sun_path[0]) {
			struct where w;
			struct statx st;
			char path[sizeof(u->un.sun_path) + 1];
			path_of_unix(&u->un, (size_t)got, path);
			int rc = where_path(proc_rooted(p), tid, AT_FDCWD, path, true, &w);
			if (rc == 0 && api == TERM_api_connect) {
				if (where_look(&w, true, &st) < 0) {
					where_release(&w);
					return NULL;
				}
			}
			/* By name: the socket's inode does not exist before bind returns. */
			char *name = rc == 0 ? where_name(&w) : NULL;
			where_release(&w);
			snprintf(address, sizeof(address), "unix:%.250s", name ? name : path);
			free(name);
		} else {
			snprintf(address, sizeof(address), "unix:@%.*s",
			         (int)((got < (ssize_t)sizeof(u->un) ? got : (ssize_t)sizeof(u->un)) - 3), u->un.sun_path + 1);
		}
		break;
	default:
		return NULL;
	}
	if (local)
		snprintf(domain, sizeof(domain), "boot:%s:net", host_boot_id());
	else
		snprintf(domain, sizeof(domain), "net");
	p->unix_peer |= u->sa.sa_family == AF_UNIX;
	f = file_address(s, TERM_kind_socket, domain, address);
	if (!f)
		return NULL;
	struct access *a = access_begin(s, p, f, ACCESS_READ | ACCESS_WRITE, TERM_via_socket, false, api, time, NULL);
	if (a)
		a->sockets++;
	if (a && api == TERM_api_connect && p->pidfd >= 0 && !s->preloads)
		connects_begin(s, a, tid, fd, u, got);
	if (s->exact)
		io_socket(s, p, fd, f);
	return f;
}

/* The address that the kernel gave a socket bound to port 0: read through a copy of the descriptor, held for the
 * moment. socket_bound: nothing where it cannot be read. */
void socket_bound(struct sup *s, struct proc *p, int fd, int64_t time)
{
	union address u = {0};
	socklen_t n = sizeof(u);
	int copy = (int)syscall(SYS_pidfd_getfd, p->pidfd, fd, 0);
	if (copy < 0)
		return;
	int rc = getsockname(copy, &u.sa, &n);
	close(copy);
	if (rc == 0)
		socket_use(s, p, p->pid, fd, &u, (ssize_t)n, TERM_api_bind, time);
}

/* IPv4's 127.*, IPv6's ::1, and the first written as the second. */
static bool is_loopback(const union address *u)
{
	if (u->sa.sa_family == AF_INET)
		return ntohl(u->in.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&u->in6.sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&u->in6.sin6_addr) && u->in6.sin6_addr.s6_addr[12] == 127);
}

/* Both must be of the same family. Ports are not compared. */
static bool is_same_host(const union address *a, const union address *b)
{
	return a->sa.sa_family == AF_INET ? a->in.sin_addr.s_addr == b->in.sin_addr.s_addr
	                                  : IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
}

/* Looked at through a copy of the descriptor, held for the moment. One that has a peer keeps it; asked again after its
 * end it would not tell. REACH_UNKNOWN: it cannot be told, and is asked again. */
enum reach socket_reach(struct sup *s, const struct proc *p, int fd, uint64_t ino)
{
	union address own = {0}, peer = {0};
	socklen_t n = sizeof(own), m = sizeof(peer), size = sizeof(int);
	int domain = 0, copy;
	enum reach reach = REACH_UNKNOWN;
	unsigned slot = (unsigned)(ino % SOCKETS);
	if (s->reach[slot].ino == ino)
		return s->reach[slot].reach;
	if ((copy = (int)syscall(SYS_pidfd_getfd, p->pidfd, fd, 0)) < 0)
		return REACH_UNKNOWN;
	if (getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_INET && domain != AF_INET6)
		reach = REACH_NOT;
	else if (getsockname(copy, &own.sa, &n) == 0 && is_loopback(&own))
		reach = REACH_NOT;
	else if (getpeername(copy, &peer.sa, &m) == 0)
		reach = is_loopback(&peer) || is_same_host(&own, &peer) ? REACH_NOT : REACH_OUT;
	close(copy);
	if (reach != REACH_UNKNOWN) {
		s->reach[slot].ino = ino;
		s->reach[slot].reach = reach;
	}
	return reach;
}

/* Whoever keeps us waiting where the socket lies does it here, outside of the lock. */
static void await_path(struct rooted r, pid_t tid, const union address *u, size_t got)
{
	struct where w;
	struct statx st;
	char path[sizeof(u->un.sun_path) + 1];
	path_of_unix(&u->un, got, path);
	where_none(&w);
	if (path[0] && where_path(r, tid, AT_FDCWD, path, true, &w) == 0)
		where_look(&w, true, &st);
	where_release(&w);
}

bool socket_trap(struct sup *s, struct proc *p, const struct trap *t)
{
	union address u = {0};
	size_t n = t->args[2] < sizeof(u) ? (size_t)t->args[2] : sizeof(u);
	struct rooted r = proc_rooted(p);
	struct left left;
	sup_leave(s, &left);
	ssize_t got = n >= sizeof(sa_family_t) ? remote_read(t->tid, t->args[1], &u, n) : -EINVAL;
	if (got > (ssize_t)sizeof(sa_family_t) && u.sa.sa_family == AF_UNIX)
		await_path(r, t->tid, &u, (size_t)got);
	if (!sup_back(s, &left) || got < (ssize_t)sizeof(sa_family_t))
		return false;
	/* Both families have the port at the same place. */
	bool inet = u.sa.sa_family == AF_INET || u.sa.sa_family == AF_INET6;
	if (t->call == CALL_bind && inet && u.in.sin_port == 0)
		return true;
	socket_use(s, p, t->tid, (int)t->args[0], &u, got, t->call == CALL_connect ? TERM_api_connect : TERM_api_bind,
	           sup_now(s));
	return false;
}

uint64_t socket_unix_peer(uint64_t ino)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} req = {.h = {.nlmsg_len = sizeof(req), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
	         .r = {.sdiag_family = AF_UNIX,
	               .udiag_states = ~0u,
	               .udiag_ino = (uint32_t)ino,
	               .udiag_show = UDIAG_SHOW_PEER,
	               .udiag_cookie = {~0u, ~0u}}};
	char room[1024];
	uint64_t peer = 0;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n = fd >= 0 && send(fd, &req, sizeof(req), 0) == (ssize_t)sizeof(req)
	                ? recv(fd, room, sizeof(room), MSG_DONTWAIT)
	                : -1;
	if (fd >= 0)
		close(fd);
	struct nlmsghdr *h = (struct nlmsghdr *)room;
	if (n < (ssize_t)sizeof(*h) || !NLMSG_OK(h, (size_t)n) || h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	/* Attributes follow the fixed part. */
	char *at = (char *)NLMSG_DATA(h) + NLMSG_ALIGN(sizeof(struct unix_diag_msg)), *end = room + h->nlmsg_len;
	while (at + sizeof(struct nlattr) <= end) {
		struct nlattr *a = (struct nlattr *)at;
		if (a->nla_len < sizeof(*a) || at + a->nla_len > end)
			break;
		if (a->nla_type == UNIX_DIAG_PEER && a->nla_len >= sizeof(*a) + sizeof(uint32_t)) {
			uint32_t v;
			memcpy(&v, at + sizeof(*a), sizeof(v));
			peer = v;
		}
		at += NLA_ALIGN(a->nla_len);
	}
	return peer;
}
