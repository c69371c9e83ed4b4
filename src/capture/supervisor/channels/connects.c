#include "capture/supervisor/channels/connects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HELD_MAX 64     /* copies at once: descriptors are needed for processes, too */
#define NETNS_COOKIE 71 /* SO_NETNS_COOKIE, Linux 5.14 */
#define LISTENS 10      /* TCP_LISTEN, as sock_diag has it for Unix sockets, too */
#define SYN_SENT 2
#define CLOSED 7

struct connecting {
	struct connecting *next;
	struct proc *proc;
	pid_t tid;
	int fd, copy; /* copy: -1 none is held */
	uint64_t ino; /* of the socket */
	uint64_t seq; /* the access */
};

enum outcome { OUTCOME_MADE, OUTCOME_FAILED, OUTCOME_GOES_ON, OUTCOME_UNKNOWN };

/* ---- who listens ---- */

/* The descriptor of a question to the kernel; -1 none. */
static int diag_ask(const void *question, size_t n)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd >= 0 && send(fd, question, n, 0) != (ssize_t)n) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Does somebody listen at a TCP address, as the kernel finds a listener? It says ENOENT, too, where it cannot tell. */
static bool inet_listens(const union address *u)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} req = {.h = {.nlmsg_len = sizeof(req), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
	         .r = {.sdiag_family = (uint8_t)u->sa.sa_family,
	               .sdiag_protocol = IPPROTO_TCP,
	               .idiag_states = ~0u,
	               .id = {.idiag_sport = u->in.sin_port, .idiag_cookie = {~0u, ~0u}}}};
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[1024];
	} got = {0};
	if (u->sa.sa_family == AF_INET)
		memcpy(req.r.id.idiag_src, &u->in.sin_addr, sizeof(u->in.sin_addr));
	else
		memcpy(req.r.id.idiag_src, &u->in6.sin6_addr, sizeof(u->in6.sin6_addr));
	int fd = diag_ask(&req, sizeof(req));
	ssize_t n = fd >= 0 ? recv(fd, &got, sizeof(got), MSG_DONTWAIT) : -1;
	if (fd >= 0)
		close(fd);
	return n < (ssize_t)(sizeof(got.h) + sizeof(got.e)) || got.h.nlmsg_type != NLMSG_ERROR || got.e.error != -ENOENT;
}

/* Can the kernel tell? It finds a listener of ours. */
static bool inet_tells(void)
{
	static int known; /* 1 it can, -1 it cannot */
	union address u = {.in = {.sin_family = AF_INET}};
	socklen_t n = sizeof(u.in);
	if (known)
		return known > 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	known = -1;
	u.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && bind(fd, &u.sa, n) == 0 && listen(fd, 1) == 0 && getsockname(fd, &u.sa, &n) == 0 &&
	    inet_listens(&u)) {
		close(fd);
		fd = -1;
		known = inet_listens(&u) ? -1 : 1;
	}
	if (fd >= 0)
		close(fd);
	return known > 0;
}

/* Is it an address of this machine? */
static bool is_own_address(const union address *u)
{
	union address own = *u;
	own.in.sin_port = 0; /* both families have it there */
	int fd = socket(u->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is = fd >= 0 && bind(fd, &own.sa, u->sa.sa_family == AF_INET ? sizeof(u->in) : sizeof(u->in6)) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

/* Does a message about Unix sockets tell of one by that abstract name? */
static bool tells_of_name(const struct nlmsghdr *h, const char *name, size_t n)
{
	const char *at = (const char *)h + NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
	const char *end = (const char *)h + h->nlmsg_len;
	while (at + sizeof(struct nlattr) <= end) {
		const struct nlattr *a = (const struct nlattr *)at;
		if (a->nla_len < sizeof(*a) || at + a->nla_len > end)
			break;
		if (a->nla_type == UNIX_DIAG_NAME && a->nla_len - sizeof(*a) == n && !memcmp(at + sizeof(*a), name, n))
			return true;
		at += NLA_ALIGN(a->nla_len);
	}
	return false;
}

/* Does somebody listen at an abstract name? True where that cannot be told. */
static bool unix_listens(const char *name, size_t n)
{
	enum { PARTS = 64 }; /* thousands of listeners */
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} req = {
	    .h = {.nlmsg_len = sizeof(req), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	    .r = {.sdiag_family = AF_UNIX, .udiag_states = 1u << LISTENS, .udiag_show = UDIAG_SHOW_NAME}};
	_Alignas(struct nlmsghdr) char room[16384];
	int fd = diag_ask(&req, sizeof(req));
	bool found = fd < 0, over = false;
	for (int part = 0; part < PARTS && !found && !over; part++) {
		ssize_t got = recv(fd, room, sizeof(room), MSG_DONTWAIT);
		size_t left = got > 0 ? (size_t)got : 0;
		found = got <= 0;
		for (struct nlmsghdr *h = (struct nlmsghdr *)room; !found && !over && NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left)) {
			over = h->nlmsg_type == NLMSG_DONE;
			found = h->nlmsg_type == NLMSG_ERROR || (!over && tells_of_name(h, name, n));
		}
	}
	if (fd >= 0)
		close(fd);
	return found || !over;
}

/* Will it be refused, as far as can be seen? */
static bool nobody_listens(const union address *u, size_t got)
{
	if (u->sa.sa_family == AF_UNIX) {
		const size_t at = offsetof(struct sockaddr_un, sun_path);
		return got > at && got <= sizeof(u->un) && !u->un.sun_path[0] && !unix_listens(u->un.sun_path, got - at);
	}
	return is_own_address(u) && inet_tells() && !inet_listens(u);
}

/* ---- what became of it ---- */

/* A descriptor of the process's socket, the caller's; -1: it is none, or cannot be had. */
static int socket_copy(const struct proc *p, int fd, uint64_t *ret_ino)
{
	struct stat st;
	int copy = (int)syscall(SYS_pidfd_getfd, p->pidfd, fd, 0);
	if (copy >= 0 && (fstat(copy, &st) < 0 || !S_ISSOCK(st.st_mode))) {
		close(copy);
		copy = -1;
	}
	if (copy >= 0)
		*ret_ino = st.st_ino;
	return copy;
}

/* An option (SOL_SOCKET) of a socket; -1: it cannot be told. */
static int socket_option(int fd, int option)
{
	int v = -1;
	socklen_t n = sizeof(v);
	return getsockopt(fd, SOL_SOCKET, option, &v, &n) == 0 ? v : -1;
}

/* Is the outcome of a connect known? Of one that makes connections, and may fail. */
static bool connects_for_sure(int fd)
{
	int domain = socket_option(fd, SO_DOMAIN), type = socket_option(fd, SO_TYPE);
	if (domain == AF_UNIX)
		return type == SOCK_STREAM || type == SOCK_SEQPACKET;
	return (domain == AF_INET || domain == AF_INET6) && socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

/* Has it the network that we have? */
static bool shares_network(int fd)
{
	uint64_t its = 0, ours = 0;
	socklen_t n = sizeof(its), m = sizeof(ours);
	int own = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool same = own >= 0 && getsockopt(fd, SOL_SOCKET, NETNS_COOKIE, &its, &n) == 0 &&
	            getsockopt(own, SOL_SOCKET, NETNS_COOKIE, &ours, &m) == 0 && its == ours;
	if (own >= 0)
		close(own);
	return same;
}

/* What became of a socket whose call has come back. SO_ERROR is not asked, since that takes the error from the
 * program. OUTCOME_GOES_ON: it is not decided yet. */
static enum outcome socket_outcome(int fd)
{
	struct sockaddr_storage peer;
	struct tcp_info info = {0};
	socklen_t n = sizeof(peer), m = sizeof(info);
	if (getpeername(fd, (struct sockaddr *)&peer, &n) == 0)
		return OUTCOME_MADE;
	if (errno != ENOTCONN)
		return OUTCOME_UNKNOWN;
	if (socket_option(fd, SO_DOMAIN) == AF_UNIX)
		return OUTCOME_FAILED;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &m) < 0 ||
	    m < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received))
		return OUTCOME_UNKNOWN;
	if (info.tcpi_state == SYN_SENT)
		return OUTCOME_GOES_ON;
	/* A connection that was reset is closed, too; but there its first byte had been answered. */
	bool was_open = info.tcpi_state != CLOSED || info.tcpi_bytes_acked || info.tcpi_bytes_received;
	return was_open ? OUTCOME_MADE : OUTCOME_FAILED;
}

/* Asks the copy, or the process's descriptor if that is the same socket still. */
static enum outcome connect_outcome(const struct connecting *c)
{
	uint64_t ino = 0;
	if (c->copy >= 0)
		return socket_outcome(c->copy);
	int fd = socket_copy(c->proc, c->fd, &ino);
	enum outcome o = fd >= 0 && ino == c->ino ? socket_outcome(fd) : OUTCOME_UNKNOWN;
	if (fd >= 0)
		close(fd);
	return o;
}

/* One connect of the access failed. If all did, there was none. */
static void take_back(struct sup *s, const struct connecting *c)
{
	struct access *a = c->proc->live;
	while (a && a->seq != c->seq)
		a = a->proc_next;
	if (!a || --a->sockets)
		return;
	a->failed = true;
	access_end(s, a, sup_now(s));
}

/* Closes the copy of the socket, of which there may only be so many. */
static void let_go(struct sup *s, struct connecting *c)
{
	if (c->copy >= 0) {
		close(c->copy);
		c->copy = -1;
		s->copies--;
	}
}

void connects_begin(struct sup *s, struct access *a, pid_t tid, int fd, const union address *u, ssize_t got)
{
	struct connecting *c = calloc(1, sizeof(*c));
	uint64_t ino = 0;
	int copy = c ? socket_copy(a->proc, fd, &ino) : -1;
	if (copy < 0 || !connects_for_sure(copy)) {
		if (copy >= 0)
			close(copy);
		free(c);
		return;
	}
	*c = (struct connecting){s->connecting, a->proc, tid, fd, copy, ino, a->seq};
	s->connecting = c;
	s->copies++;
	if (s->copies > HELD_MAX || !shares_network(copy) || !nobody_listens(u, (size_t)got))
		let_go(s, c);
}

/* Takes it out of the list: it is decided. */
static void decide(struct sup *s, struct connecting **at, enum outcome o)
{
	struct connecting *c = *at;
	let_go(s, c);
	*at = c->next;
	if (o == OUTCOME_FAILED)
		take_back(s, c);
	free(c);
}

void connects_back(struct sup *s, pid_t tid)
{
	for (struct connecting **at = &s->connecting; *at;) {
		struct connecting *c = *at;
		enum outcome o = c->tid == tid ? connect_outcome(c) : OUTCOME_GOES_ON;
		if (c->tid == tid)
			let_go(s, c);
		if (o == OUTCOME_GOES_ON)
			at = &c->next;
		else
			decide(s, at, o);
	}
}

void connects_end(struct sup *s, const struct proc *p)
{
	for (struct connecting **at = &s->connecting; *at;) {
		if ((*at)->proc == p)
			decide(s, at, connect_outcome(*at));
		else
			at = &(*at)->next;
	}
}

/* Is the thread back from its connect? Who waits in another call, or is no more, is back from the connect. Of who
 * runs that is not known: it may be on its way there. */
static bool is_back(const struct connecting *c)
{
	enum call call = CALL_connect;
	int rc = task_call(c->tid, &call);
	return rc == -ESRCH || (rc == 0 && call != CALL_connect);
}

void connects_tick(struct sup *s)
{
	for (struct connecting **at = s->copies ? &s->connecting : NULL; at && *at;) {
		struct connecting *c = *at;
		enum outcome o = c->copy >= 0 ? socket_outcome(c->copy) : OUTCOME_GOES_ON;
		if (o == OUTCOME_MADE || o == OUTCOME_UNKNOWN || (o == OUTCOME_FAILED && is_back(c))) {
			decide(s, at, o);
			continue;
		}
		if (o == OUTCOME_GOES_ON)
			let_go(s, c);
		at = &c->next;
	}
}
