#include "monitor/net.h"
#include "base/os/procfs.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPACES 16
#define SOCKETS 1024
#define ANCESTORS 64
#define FLAGS_COUNTED 2 /* SYN and FIN take a number each, which the kernel counts as bytes */

struct bytes {
	uint64_t received, sent;
};

/* A network namespace that is not ours. */
struct space {
	uint64_t ino;
	struct bytes first, last; /* at the first look, and at the last */
	bool shared;              /* processes of others are in it */
	bool cut;                 /* somebody in it ended unseen */
};

enum whose { NOT_KNOWN, OURS, OTHERS };

struct socket {
	uint64_t cookie; /* 0: none */
	uint32_t ino;
	unsigned char whose;
	bool here; /* in the last dump */
	struct bytes before, now;
};

struct net {
	bool (*ours)(void *arg, pid_t pid);
	void *arg;
	uint64_t ino; /* of our own namespace; 0 not known */
	struct bytes begin;
	bool begin_known;
	struct space space[SPACES];
	size_t nspaces;
	bool crowded; /* more namespaces or sockets than there is room for */
	bool met;     /* a process of the task has been in our own */
	bool hidden;  /* of one it could not be told */
	int diag;     /* netlink; -1: it does not work */
	uint32_t uid;
	struct socket *socket; /* a hash table of SOCKETS */
	size_t nsockets, nours;
	struct bytes ended; /* of ours that are gone */
	bool reported, incomplete;
	struct bytes sure, unsure; /* of calls */
	char why[2][160];
};

/* ---- devices ---- */

/* What all devices of its namespace but loopback have carried. pid 0: ours. False: it cannot be told. */
static bool devices(pid_t pid, struct bytes *ret)
{
	char name[48], *line = NULL;
	size_t room = 0;
	snprintf(name, sizeof(name), "/proc/%d/net/dev", pid ? pid : getpid());
	FILE *f = fopen(name, "re");
	bool any = false;
	*ret = (struct bytes){0};
	while (f && getline(&line, &room, f) > 0) {
		unsigned long long in, out;
		char *colon = strchr(line, ':'), *word = line + strspn(line, " ");
		if (!colon || sscanf(colon + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) != 2)
			continue;
		any = true;
		if (colon - word == 2 && !strncmp(word, "lo", 2))
			continue;
		ret->received += in;
		ret->sent += out;
	}
	free(line);
	if (f)
		fclose(f);
	return any;
}

/* The inode of the process's network namespace; 0: not to be had, errno says why. */
static uint64_t space_of(pid_t pid)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/ns/net", pid);
	return stat(name, &st) == 0 ? (uint64_t)st.st_ino : 0; /* errno says why */
}

/* The network namespace with that inode. NULL: not known yet. */
static struct space *space_by(struct net *n, uint64_t ino)
{
	for (size_t i = 0; i < n->nspaces; i++)
		if (n->space[i].ino == ino)
			return &n->space[i];
	return NULL;
}

/* Is it the task's, or a child of somebody who is? */
static bool is_process_of_net(const struct net *n, pid_t pid)
{
	for (int i = 0; i < ANCESTORS && pid > 1; i++) {
		struct procfs f;
		if (pid == getpid() || n->ours(n->arg, pid))
			return true;
		procfs_clear(&f);
		if (procfs_stat(pid, &f) < 0)
			return true; /* gone meanwhile */
		pid = f.ppid;
	}
	return false;
}

/* A whole look over /proc, once a namespace. */
static bool has_others(const struct net *n, uint64_t ino)
{
	bool found = false;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && !found && (e = readdir(d));) {
		pid_t pid = (pid_t)atoi(e->d_name);
		found = pid > 0 && space_of(pid) == ino && !is_process_of_net(n, pid);
	}
	if (d)
		closedir(d);
	return found;
}

/* Notes the network namespace of a process. False: it is gone. */
static bool look_at_space(struct net *n, pid_t pid)
{
	errno = 0;
	uint64_t ino = space_of(pid);
	n->hidden |= !n->ino || (!ino && (errno == EACCES || errno == EPERM)); /* else it is gone */
	if (!ino || !n->ino)
		return ino != 0;
	if (ino == n->ino) {
		n->met = true;
		return true;
	}
	struct space *s = space_by(n, ino);
	struct bytes now;
	bool known = devices(pid, &now);
	if (!s && n->nspaces == SPACES) {
		n->crowded = true;
		return true;
	}
	if (!s) {
		s = &n->space[n->nspaces++];
		*s = (struct space){.ino = ino, .first = now, .last = now, .cut = !known, .shared = has_others(n, ino)};
		return true;
	}
	/* A device that is taken away takes its counts with it. */
	s->cut |= !known || now.received < s->last.received || now.sent < s->last.sent;
	if (known)
		s->last = now;
	return true;
}

/* ---- TCP sockets of our own namespace ---- */

/* The slot of the socket, or the free one where it belongs. The table is never full. */
static struct socket *socket_slot(struct net *n, uint64_t cookie)
{
	size_t at = (size_t)(cookie * 0x9E3779B97F4A7C15u >> 32) % SOCKETS;
	while (n->socket[at].cookie && n->socket[at].cookie != cookie)
		at = (at + 1) % SOCKETS;
	return &n->socket[at];
}

/* Does it stay on this machine? */
static bool is_local_connection(const struct inet_diag_sockid *id, int family)
{
	size_t size = family == AF_INET ? 4 : 16;
	const unsigned char *to = (const unsigned char *)id->idiag_dst;
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}, loopback[16] = {[15] = 1};
	if (!memcmp(id->idiag_src, id->idiag_dst, size))
		return true;
	if (family == AF_INET6 && !memcmp(to, loopback, 16))
		return true;
	if (family == AF_INET6 && !memcmp(to, mapped, 12))
		to += 12;
	else if (family == AF_INET6)
		return false;
	return to[0] == 127;
}

/* The kernel counts SYN and FIN as bytes, too: v without them. */
static uint64_t less_flags(uint64_t v)
{
	return v > FLAGS_COUNTED ? v - FLAGS_COUNTED : 0;
}

/* Takes what the kernel says of a connection. begin: it was there before the task. True: it is not known yet whose
 * it is. */
static bool take_socket(struct net *n, const struct nlmsghdr *h, bool begin)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->idiag_uid != n->uid ||
	    is_local_connection(&m->id, m->idiag_family))
		return false;
	uint64_t cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	const char *at = (const char *)m + NLMSG_ALIGN(sizeof(*m)), *end = (const char *)h + h->nlmsg_len;
	struct tcp_info info = {0};
	bool known = false;
	while (at + sizeof(struct nlattr) <= end) {
		const struct nlattr *a = (const struct nlattr *)at;
		if (a->nla_len < sizeof(*a) || at + a->nla_len > end)
			break;
		size_t size = a->nla_len - sizeof(*a);
		if (a->nla_type == INET_DIAG_INFO) {
			memcpy(&info, at + sizeof(*a), size < sizeof(info) ? size : sizeof(info));
			known = size >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
		}
		at += NLA_ALIGN(a->nla_len);
	}
	if (!known || !cookie)
		return false;
	struct socket *s = socket_slot(n, cookie);
	if (!s->cookie) {
		if (n->nsockets >= SOCKETS / 4 * 3) {
			n->crowded = true;
			return false;
		}
		n->nsockets++;
		*s = (struct socket){.cookie = cookie};
		if (begin)
			s->before = (struct bytes){less_flags(info.tcpi_bytes_received), less_flags(info.tcpi_bytes_acked)};
	}
	s->here = true;
	if (m->idiag_inode)
		s->ino = m->idiag_inode;
	s->now.received = less_flags(info.tcpi_bytes_received);
	s->now.sent = less_flags(info.tcpi_bytes_acked);
	return s->whose == NOT_KNOWN && s->ino;
}

/* Asks the kernel about all connections of a family of addresses. True: there are some of which it is not known
 * whose they are. */
static bool dump(struct net *n, int family, bool begin)
{
	static char room[32768]; /* under the lock */
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 r;
	} req = {
	    .h = {.nlmsg_len = sizeof(req), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	    /* Neither those that listen nor those that only wait for their time to pass. */
	    .r = {.sdiag_family = (unsigned char)family,
	          .sdiag_protocol = IPPROTO_TCP,
	          .idiag_ext = 1u << (INET_DIAG_INFO - 1),
	          .idiag_states = ~(1u << 10 | 1u << 6)}};
	bool unknown = false;
	if (n->diag < 0 || send(n->diag, &req, sizeof(req), 0) != (ssize_t)sizeof(req))
		return false;
	for (;;) {
		ssize_t got = recv(n->diag, room, sizeof(room), 0);
		if (got <= 0)
			return unknown;
		size_t left = (size_t)got;
		for (struct nlmsghdr *h = (struct nlmsghdr *)room; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return unknown;
			if (h->nlmsg_type == NLMSG_ERROR) {
				close(n->diag);
				n->diag = -1;
				return unknown;
			}
			unknown |= h->nlmsg_type == SOCK_DIAG_BY_FAMILY && take_socket(n, h, begin);
		}
	}
}

/* Which of the sockets it holds. */
static void claim_sockets(struct net *n, pid_t pid)
{
	char name[48], link[64];
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	DIR *d = opendir(name);
	for (struct dirent *e; d && (e = readdir(d));) {
		unsigned long ino;
		ssize_t len = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		if (sscanf(link, "socket:[%lu]", &ino) != 1)
			continue;
		for (size_t i = 0; i < SOCKETS; i++) {
			struct socket *s = &n->socket[i];
			if (s->cookie && s->here && s->ino == ino && s->whose != OURS) {
				s->whose = OURS;
				n->nours++;
			}
		}
	}
	if (d)
		closedir(d);
}

/* Removes the sockets that are closed from the table. Those that are gone make room; what ours had is kept. */
static void clear_gone(struct net *n)
{
	struct socket *old = n->socket;
	struct socket *fresh = calloc(SOCKETS, sizeof(*fresh));
	if (!fresh)
		return;
	n->socket = fresh;
	n->nsockets = 0;
	for (size_t i = 0; i < SOCKETS; i++) {
		struct socket *s = &old[i];
		if (!s->cookie)
			continue;
		if (s->here) {
			s->here = false;
			*socket_slot(n, s->cookie) = *s;
			n->nsockets++;
		} else if (s->whose == OURS) {
			n->ended.received += s->now.received - s->before.received;
			n->ended.sent += s->now.sent - s->before.sent;
			n->nours--;
		}
	}
	free(old);
}

/* Assigns new sockets to processes of the task, or to others. */
static void look_at_sockets(struct net *n, const pid_t *pids, size_t npids)
{
	if (n->nsockets)
		clear_gone(n);
	bool unknown = dump(n, AF_INET, false);
	unknown |= dump(n, AF_INET6, false);
	if (!unknown)
		return;
	for (size_t i = 0; i < npids; i++)
		claim_sockets(n, pids[i]);
	for (size_t i = 0; i < SOCKETS; i++)
		if (n->socket[i].cookie && n->socket[i].here && n->socket[i].ino && n->socket[i].whose == NOT_KNOWN)
			n->socket[i].whose = OTHERS;
}

/* ---- from outside ---- */

struct net *net_new(bool (*ours)(void *arg, pid_t pid), void *arg)
{
	struct net *n = calloc(1, sizeof(*n));
	if (n)
		n->socket = calloc(SOCKETS, sizeof(*n->socket));
	if (!n || !n->socket) {
		free(n);
		return NULL;
	}
	n->ours = ours;
	n->arg = arg;
	n->uid = geteuid();
	n->ino = space_of(getpid());
	n->begin_known = devices(0, &n->begin);
	n->diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (n->diag >= 0) {
		/* The kernel answers within the call; should it not, it is given up. */
		struct timeval patience = {.tv_usec = 100000};
		setsockopt(n->diag, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		dump(n, AF_INET, true);
		dump(n, AF_INET6, true);
	}
	return n;
}

/* NULL is no error. */
void net_free(struct net *n)
{
	if (!n)
		return;
	if (n->diag >= 0)
		close(n->diag);
	free(n->socket);
	free(n);
}

void net_look(struct net *n, const pid_t *pids, size_t npids)
{
	if (n->reported)
		return;
	for (size_t i = 0; i < npids; i++)
		look_at_space(n, pids[i]);
	if (n->met)
		look_at_sockets(n, pids, npids);
}

void net_last(struct net *n, pid_t pid, bool looked)
{
	if (n->reported)
		return;
	if (looked && look_at_space(n, pid)) {
		if (n->nours)
			look_at_sockets(n, &pid, 1);
		return;
	}
	for (size_t i = 0; i < n->nspaces; i++)
		n->space[i].cut = true;
}

void net_set_reported(struct net *n)
{
	n->reported = true;
}

void net_moved(struct net *n, bool sent, bool sure, uint64_t bytes)
{
	struct bytes *b = sure ? &n->sure : &n->unsure;
	if (sent)
		b->sent += bytes;
	else
		b->received += bytes;
}

void net_set_incomplete(struct net *n)
{
	n->incomplete = true;
}

/* ---- figures ---- */

/* The bytes that were sent, or received. */
static uint64_t bytes_in_direction(const struct bytes *b, bool sent)
{
	return sent ? b->sent : b->received;
}

/* Counted by calls: what is sure is the lower bound, with what may be of the network the upper one. */
static void of_calls(const struct net *n, bool sent, struct net_figure *ret)
{
	uint64_t sure = bytes_in_direction(&n->sure, sent), unsure = bytes_in_direction(&n->unsure, sent);
	*ret = (struct net_figure){.method = "calls",
	                           .complete = !n->incomplete,
	                           .bounded = unsure > 0,
	                           .value = (int64_t)(sure + unsure),
	                           .low = (int64_t)sure,
	                           .high = (int64_t)(sure + unsure)};
}

/* Sets what was received and sent by the counters of network devices. ret->absent where others share the namespace.
 */
static void of_devices(const struct net *n, bool blind, bool sent, struct net_figure *ret)
{
	struct net_figure f = {.method = "devices of the task's own network namespace", .complete = !blind && !n->hidden};
	for (size_t i = 0; i < n->nspaces; i++) {
		const struct space *s = &n->space[i];
		uint64_t first = bytes_in_direction(&s->first, sent), last = bytes_in_direction(&s->last, sent);
		if (s->shared) {
			*ret = (struct net_figure){.absent = "other processes share the network namespace"};
			return;
		}
		/* It may have been there before the task. */
		f.high += (int64_t)last;
		f.low += (int64_t)(last > first ? last - first : 0);
		f.complete &= !s->cut;
	}
	f.complete &= !n->crowded && n->nours == 0 && !n->ended.received && !n->ended.sent;
	f.bounded = f.low != f.high;
	f.value = f.low;
	*ret = f;
}

/* Never more than the devices counted; ret->absent where that bounds nothing. */
static void of_sockets(struct net *n, bool blind, bool sent, struct net_figure *ret)
{
	struct bytes now;
	uint64_t low = bytes_in_direction(&n->ended, sent);
	for (size_t i = 0; i < SOCKETS; i++)
		if (n->socket[i].cookie && n->socket[i].whose == OURS)
			low += bytes_in_direction(&n->socket[i].now, sent) - bytes_in_direction(&n->socket[i].before, sent);
	bool known = n->begin_known && devices(0, &now) &&
	             bytes_in_direction(&now, sent) >= bytes_in_direction(&n->begin, sent) && !n->hidden && !blind;
	uint64_t high = known ? bytes_in_direction(&now, sent) - bytes_in_direction(&n->begin, sent) : 0;
	if (known && high <= low) {
		/* Nothing of it went by; or as much as what was seen, and both count a moment apart. */
		*ret = (struct net_figure){
		    .method = low ? "TCP sockets" : "network devices", .complete = true, .value = (int64_t)low};
		return;
	}
	if (low == 0 && known) {
		snprintf(n->why[sent], sizeof(n->why[sent]),
		         "no TCP connection of the task was observed; at most %llu B, the total of the network devices",
		         (unsigned long long)high);
		ret->absent = n->why[sent];
		return;
	}
	if (low == 0) {
		ret->absent = "processes were only sampled, and no TCP connection was seen";
		return;
	}
	*ret = (struct net_figure){.method = known ? "TCP sockets at samples, network devices as upper bound"
	                                           : "TCP sockets at samples",
	                           .lower = true,
	                           .bounded = known,
	                           .value = (int64_t)low,
	                           .low = (int64_t)low,
	                           .high = (int64_t)high};
}

void net_figures(struct net *n, bool blind, struct net_figure *ret_received, struct net_figure *ret_sent)
{
	for (int sent = 0; sent < 2; sent++) {
		struct net_figure f = {0};
		if (n->reported)
			of_calls(n, sent, &f);
		else if (n->nspaces)
			of_devices(n, blind, sent, &f);
		else
			of_sockets(n, blind, sent, &f);
		*(sent ? ret_sent : ret_received) = f;
	}
}
