#include "monitor/procevents.h"

#include <errno.h>
#include <linux/acct.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOM (8 << 20) /* bytes of the kernel for what was not taken yet; an event takes about 800 of them */
#define WAITING 4096   /* processes whose figures came and whose end did not yet; a power of two */
#define ANSWER_MS 10   /* it answers before the question returns, or never */

/* Of a process whose threads are ending. */
struct sum {
	pid_t pid;
	bool over; /* its last thread has ended */
	struct procfs f;
};

struct procevents {
	int events, stats; /* netlink; stats -1: none */
	const char *why;   /* no stats */
	bool overrun, newest;
	struct sum *sum;
	char room[16384];
	size_t at, n; /* of room, what is still to be taken */
};

/* Filters what the connector of processes sends. Only what is asked for is worth waking anybody: what else the
 * connector tells is dropped in the kernel. */
static void keep_out(int fd)
{
	enum { WHAT = NLMSG_LENGTH(sizeof(struct cn_msg)) + offsetof(struct proc_event, what) };
	/* Loads are in network order. */
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_NONE), 4, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_FORK), 3, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_EXEC), 2, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(PROC_EVENT_EXIT), 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

/* Opens a socket at which the kernel tells of events. -errno. It does not block. */
static int open_netlink(int protocol, unsigned groups)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol), room = ROOM;
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* ---- the connector ---- */

/* Asks the kernel to begin or end telling of processes. number: comes back in the acknowledgement. 0, -errno. */
static int set_listening(int fd, bool on, uint32_t number)
{
	struct {
		struct nlmsghdr h;
		struct cn_msg m;
		enum proc_cn_mcast_op op;
	} __attribute__((packed))
	req = {.h = {.nlmsg_len = sizeof(req), .nlmsg_type = NLMSG_DONE, .nlmsg_pid = 0},
	       .m = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = number, .len = sizeof(enum proc_cn_mcast_op)},
	       .op = on ? PROC_CN_MCAST_LISTEN : PROC_CN_MCAST_IGNORE};
	return send(fd, &req, sizeof(req), 0) == (ssize_t)sizeof(req) ? 0 : -errno;
}

/* The event of a message, which does not lie where one of its kind should. False: it is none. */
static bool event_of(const struct nlmsghdr *h, struct proc_event *ret)
{
	const struct cn_msg *m = NLMSG_DATA(h);
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->id.idx != CN_IDX_PROC || m->id.val != CN_VAL_PROC ||
	    h->nlmsg_len < NLMSG_LENGTH(sizeof(*m) + offsetof(struct proc_event, event_data) + 24))
		return false;
	size_t n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	*ret = (struct proc_event){0};
	memcpy(ret, m->data, n < sizeof(*ret) ? n : sizeof(*ret));
	return true;
}

/* The kernel has answered before the question returns, with an event of its own that has our number; or not at all,
 * where it does not tell us. Events of others come all the same, if somebody else listens: they prove nothing. */
static bool is_answered(struct procevents *e, uint32_t number)
{
	for (ssize_t n; (n = recv(e->events, e->room, sizeof(e->room), MSG_DONTWAIT)) > 0;) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)e->room;
		const struct cn_msg *m = NLMSG_DATA(h);
		struct proc_event ev;
		if (NLMSG_OK(h, (size_t)n) && event_of(h, &ev) && ev.what == PROC_EVENT_NONE && m->ack == number + 1)
			return ev.event_data.ack.err == 0;
	}
	return false;
}

/* ---- taskstats ---- */

struct genl {
	struct nlmsghdr h;
	struct genlmsghdr g;
	struct nlattr a;
	char text[48];
};

/* Finds an attribute in a message of the kernel. NULL: none of that type within n bytes. */
static const struct nlattr *find_attribute(const void *at, size_t n, int type)
{
	const char *p = at, *end = p + n;
	while (p + sizeof(struct nlattr) <= end) {
		const struct nlattr *a = (const struct nlattr *)p;
		if (a->nla_len < sizeof(*a) || p + a->nla_len > end)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		p += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

/* What follows the attribute's head, *ret_n bytes. */
static const void *payload(const struct nlattr *a, size_t *ret_n)
{
	*ret_n = a->nla_len - NLA_HDRLEN;
	return (const char *)a + NLA_HDRLEN;
}

/* Asks, and waits for the answer: its length, or -errno. */
static ssize_t query_netlink(int fd, uint16_t type, uint8_t command, uint8_t version, uint16_t attr, const char *text,
                             char *room, size_t n)
{
	size_t len = strlen(text) + 1;
	struct genl q = {.h = {.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
	                 .g = {.cmd = command, .version = version},
	                 .a = {.nla_type = attr, .nla_len = (uint16_t)(NLA_HDRLEN + len)}};
	memcpy(q.text, text, len);
	q.h.nlmsg_len = (uint32_t)(offsetof(struct genl, text) + NLA_ALIGN(len));
	if (send(fd, &q, q.h.nlmsg_len, 0) < 0)
		return -errno;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t got = poll(&p, 1, ANSWER_MS) == 1 ? recv(fd, room, n, 0) : -1;
	const struct nlmsghdr *h = (const struct nlmsghdr *)room;
	if (got <= 0 || !NLMSG_OK(h, (size_t)got))
		return -EIO;
	if (h->nlmsg_type == NLMSG_ERROR) {
		int code;
		memcpy(&code, NLMSG_DATA(h), sizeof(code));
		return code;
	}
	return got;
}

/* As the kernel wants it: the processors there may be. */
static bool processors(char *ret, size_t n)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
	bool ok = f && fgets(ret, (int)n, f);
	if (f)
		fclose(f);
	ret[ok ? strcspn(ret, "\n") : 0] = '\0';
	return ok;
}

/* Sets e->stats, or -1 and e->why. */
static void open_stats(struct procevents *e)
{
	char cpus[40];
	uint16_t family = 0;
	size_t n;
	int fd = open_netlink(NETLINK_GENERIC, 0);
	e->why = "the kernel has no taskstats";
	e->stats = fd;
	if (fd < 0 || !processors(cpus, sizeof(cpus)))
		goto none;
	ssize_t got = query_netlink(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
	                            e->room, sizeof(e->room));
	if (got <= (ssize_t)NLMSG_LENGTH(GENL_HDRLEN))
		goto none;
	const struct nlattr *a = find_attribute(e->room + NLMSG_LENGTH(GENL_HDRLEN),
	                                        (size_t)got - NLMSG_LENGTH(GENL_HDRLEN), CTRL_ATTR_FAMILY_ID);
	if (!a)
		goto none;
	memcpy(&family, payload(a, &n), sizeof(family));
	recv(fd, e->room, sizeof(e->room), 0); /* the acknowledgement behind it */
	got = query_netlink(fd, family, TASKSTATS_CMD_GET, TASKSTATS_GENL_VERSION, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
	                    cpus, e->room, sizeof(e->room));
	if (got >= 0) {
		e->why = NULL;
		return;
	}
	e->why = got == -EPERM || got == -EACCES ? "taskstats require CAP_NET_ADMIN" : e->why;
none:
	if (fd >= 0)
		close(fd);
	e->stats = -1;
}

/* The figures of the process, from zero on if it has none yet; another's that had the slot are gone. */
static struct sum *process_sum(struct procevents *e, pid_t pid)
{
	struct sum *s = &e->sum[(unsigned)pid & (WAITING - 1)];
	if (s->pid != pid) { /* whose place it was has ended long ago, or never tells */
		*s = (struct sum){.pid = pid};
		procfs_clear(&s->f);
	}
	return s;
}

/* Adds v to a sum. *to may be unknown: then it becomes v. */
static void add_to_sum(uint64_t *to, uint64_t v)
{
	*to = (*to == PROCFS_UNKNOWN ? 0 : *to) + v;
}

/* Raises a figure to v. *to may be unknown: then it becomes v. */
static void raise_to_known(uint64_t *to, uint64_t v)
{
	if (*to == PROCFS_UNKNOWN || v > *to)
		*to = v;
}

/* One thread's end. What it did is its own; memory is that of the process. Bytes and calls of reads and writes are told
 * in whole KiB, each cut off. */
static void take_stats(struct procevents *e, const void *p, size_t n)
{
	enum { WITH_TGID = 12, KIB = 1024, US = 1000 };
	struct taskstats t = {0};
	memcpy(&t, p, n < sizeof(t) ? n : sizeof(t));
	e->newest = t.version >= WITH_TGID;
	struct sum *s = process_sum(e, (pid_t)(e->newest ? t.ac_tgid : t.ac_pid));
	struct procfs *f = &s->f;
	uint64_t cpu = t.cpu_run_virtual_total, ticks = (t.ac_utime + t.ac_stime) * US;
	add_to_sum(&f->cpu, cpu ? cpu : ticks);
	add_to_sum(&f->user, t.ac_utime * US);
	add_to_sum(&f->system, t.ac_stime * US);
	add_to_sum(&f->minor, t.ac_minflt);
	add_to_sum(&f->major, t.ac_majflt);
	add_to_sum(&f->rchar, t.read_char);
	add_to_sum(&f->wchar, t.write_char);
	add_to_sum(&f->syscr, t.read_syscalls);
	add_to_sum(&f->syscw, t.write_syscalls);
	add_to_sum(&f->read_bytes, t.read_bytes);
	add_to_sum(&f->write_bytes, t.write_bytes);
	add_to_sum(&f->threads, 1);
	raise_to_known(&f->resident_peak, t.hiwater_rss * KIB);
	raise_to_known(&f->virtual_peak, t.hiwater_vm * KIB);
	f->io_whole = true;
	s->over |= !e->newest || (t.ac_flag & AGROUP);
}

/* Takes all that has come; lost messages set e->overrun. */
static void drain_stats(struct procevents *e)
{
	char room[4096];
	ssize_t got;
	while (e->stats >= 0 && ((got = recv(e->stats, room, sizeof(room), MSG_DONTWAIT)) > 0 || errno == ENOBUFS)) {
		if (got < 0) {
			e->overrun = true;
			continue;
		}
		size_t left = (size_t)got, n;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)room; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type < NLMSG_MIN_TYPE || h->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
				continue;
			const char *at = (const char *)h + NLMSG_LENGTH(GENL_HDRLEN);
			const struct nlattr *a =
			    find_attribute(at, h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), TASKSTATS_TYPE_AGGR_PID);
			const void *p = a ? payload(a, &n) : NULL;
			a = a ? find_attribute(p, n, TASKSTATS_TYPE_STATS) : NULL;
			if (!a)
				continue;
			p = payload(a, &n);
			take_stats(e, p, n);
		}
	}
}

/* ---- one after the other ---- */

/* Takes an event of the kernel. False: it is nothing that anybody wants to know. */
static bool take_event(struct procevents *e, const struct proc_event *ev, struct procevent *ret)
{
	*ret = (struct procevent){.time = (int64_t)ev->timestamp_ns, .status = -1};
	procfs_clear(&ret->last);
	switch (ev->what) {
	case PROC_EVENT_FORK:
		ret->kind = PROCEVENT_BORN;
		ret->pid = ev->event_data.fork.child_tgid;
		ret->parent = ev->event_data.fork.parent_tgid;
		if (ev->event_data.fork.child_pid != ret->pid)
			return false; /* a thread */
		return true;
	case PROC_EVENT_EXEC:
		ret->kind = PROCEVENT_EXEC;
		ret->pid = ev->event_data.exec.process_tgid;
		return true;
	case PROC_EVENT_EXIT:
		break;
	default:
		return false;
	}
	ret->kind = PROCEVENT_ENDED;
	ret->pid = ev->event_data.exit.process_tgid;
	ret->status = (int)ev->event_data.exit.exit_code;
	if (e->stats < 0)
		return ev->event_data.exit.process_pid == ret->pid; /* the first thread, as a rule the last */
	drain_stats(e);                                         /* which are told before */
	struct sum *s = process_sum(e, ret->pid);
	if (!s->over && !e->overrun)
		return false; /* other threads go on */
	ret->measured = s->over;
	ret->last = s->f;
	s->pid = 0;
	return ret->measured || ev->event_data.exit.process_pid == ret->pid;
}

bool procevents_next(struct procevents *e, struct procevent *ret)
{
	for (;;) {
		while (e->at < e->n) {
			const struct nlmsghdr *h = (const struct nlmsghdr *)(e->room + e->at);
			size_t left = e->n - e->at;
			if (!NLMSG_OK(h, left))
				break;
			e->at += NLMSG_ALIGN(h->nlmsg_len);
			struct proc_event ev;
			if (event_of(h, &ev) && take_event(e, &ev, ret))
				return true;
		}
		e->at = e->n = 0;
		ssize_t got = recv(e->events, e->room, sizeof(e->room), MSG_DONTWAIT);
		if (got < 0 && errno == ENOBUFS) {
			e->overrun = true;
			continue;
		}
		if (got <= 0)
			return false;
		e->n = (size_t)got;
	}
}

int procevents_open(struct err *err, struct procevents **ret)
{
	struct procevents *e = calloc(1, sizeof(*e));
	struct stat own, first;
	if (e)
		e->sum = calloc(WAITING, sizeof(*e->sum));
	if (!e || !e->sum) {
		free(e);
		return err_set(err, ENOMEM, "cannot listen to process events");
	}
	e->stats = -1;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint32_t number = (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16;
	/* The numbers that are told are those of the initial namespace. */
	if (stat("/proc/self/ns/pid", &own) == 0 && stat("/proc/1/ns/pid", &first) == 0 && own.st_ino != first.st_ino) {
		procevents_close(e);
		return err_set(err, EPERM, "process events are not available in a container");
	}
	e->events = open_netlink(NETLINK_CONNECTOR, CN_IDX_PROC);
	int rc = e->events < 0 ? e->events : set_listening(e->events, true, number);
	if (rc == 0 && !is_answered(e, number))
		rc = -EPERM;
	if (rc < 0) {
		procevents_close(e);
		return err_set(err, -rc, "process events are not available");
	}
	keep_out(e->events);
	open_stats(e);
	*ret = e;
	return 0;
}

/* NULL is no error. */
void procevents_close(struct procevents *e)
{
	if (!e)
		return;
	if (e->events > 0) {
		set_listening(e->events, false, 0);
		close(e->events);
	}
	if (e->stats >= 0)
		close(e->stats);
	free(e->sum);
	free(e);
}

bool procevents_measures(const struct procevents *e, const char **ret_why)
{
	*ret_why = e->why;
	return e->stats >= 0;
}

bool procevents_overrun(const struct procevents *e)
{
	return e->overrun;
}

int procevents_fd(const struct procevents *e)
{
	return e->events;
}
