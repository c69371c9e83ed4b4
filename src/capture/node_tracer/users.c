#include "capture/node_tracer/users.h"

#include "capture/node_tracer/record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of linux/cn_proc.h, where it has it under this name. */
#define EVENT_UID 0x00000004u

struct message {
	struct nlmsghdr netlink;
	struct cn_msg connector;
	struct proc_event event;
} __attribute__((packed));

/* Lets through what tells of a user. The numbers of a filter are of the network's byte order. 0, -errno. */
static int keep_users_only(int fd)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct message, event.what)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(EVENT_UID), 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(f) / sizeof(f[0]), .filter = f};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

/* events 0: all, as kernels before 6.6 have it. */
static int set_listened_events(int fd, uint32_t events)
{
	struct {
		struct nlmsghdr netlink;
		struct cn_msg connector;
		uint32_t what, events;
	} __attribute__((packed)) m = {.what = PROC_CN_MCAST_LISTEN, .events = events};
	size_t data = events ? 8 : 4;
	m.netlink.nlmsg_len = (uint32_t)(sizeof(m.netlink) + sizeof(m.connector) + data);
	m.netlink.nlmsg_type = NLMSG_DONE;
	m.netlink.nlmsg_pid = 0;
	m.connector.id.idx = CN_IDX_PROC;
	m.connector.id.val = CN_VAL_PROC;
	m.connector.len = (uint16_t)data;
	return send(fd, &m, m.netlink.nlmsg_len, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int users_open(struct err *err, int *ret)
{
	struct sockaddr_nl at = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
	const int room = 1 << 20;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR), r;
	if (fd < 0)
		return err_set(err, errno, "the kernel does not report changes of the user id (process connector)");
	r = bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : keep_users_only(fd);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	/* A kernel that knows no choice of events refuses the longer request or takes it for the shorter one. */
	if (r == 0 && set_listened_events(fd, EVENT_UID) < 0)
		r = set_listened_events(fd, 0);
	if (r < 0) {
		close(fd);
		return err_set(err, -r, "the kernel does not report changes of the user id (process connector)");
	}
	*ret = fd;
	return 0;
}

int users_read(int fd, void (*each)(void *arg, const void *record, size_t size), void *arg, bool *ret_lost)
{
	enum { AT_ONCE = 4096 };
	union {
		struct message m;
		char room[256];
	} u;
	int n = 0;
	*ret_lost = false;
	while (n < AT_ONCE) {
		struct sockaddr_nl from;
		socklen_t size = sizeof(from);
		ssize_t got = recvfrom(fd, &u, sizeof(u), MSG_DONTWAIT, (struct sockaddr *)&from, &size);
		if (got < 0 && errno == ENOBUFS) {
			*ret_lost = true;
			continue;
		}
		if (got < 0)
			break;
		n++;
		struct proc_event event, *e = &event;
		memcpy(e, u.room + offsetof(struct message, event), sizeof(event));
		if (from.nl_pid != 0 ||
		    got < (ssize_t)(offsetof(struct message, event.event_data) + sizeof(e->event_data.id)) ||
		    u.m.connector.id.idx != CN_IDX_PROC || (uint32_t)e->what != EVENT_UID)
			continue;
		struct rec_user r = {
		    .head = {.kind = REC_USER, .pid = (rec32)e->event_data.id.process_tgid, .time = e->timestamp_ns},
		    .uid = e->event_data.id.r.ruid};
		/* Of its first thread, as a program changes them all; and to stay: who keeps the real user may go back. */
		if (e->event_data.id.process_pid == e->event_data.id.process_tgid &&
		    e->event_data.id.r.ruid == e->event_data.id.e.euid)
			each(arg, &r, sizeof(r));
	}
	return n;
}
