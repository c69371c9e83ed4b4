#include "capture/seccomp/trap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than Debian 12's headers. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

static_assert(sizeof(struct seccomp_notif) <= sizeof(struct notify_slot), "the kernel writes into the slot");
static_assert(offsetof(struct seccomp_notif, data) == offsetof(struct notify_slot, data), "same layout");

int notify_install(const struct sock_fprog *prog)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, prog);
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, prog);
	return fd < 0 ? -errno : (int)fd;
}

int trace_install(const struct sock_fprog *prog)
{
	long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, prog);
	if (rc < 0 && (errno == ENOSYS || errno == EPERM)) /* older than 3.17, or refused: there is another way */
		rc = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prog);
	return rc < 0 ? -errno : 0;
}

void notify_tune(int listener)
{
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

bool notify_can_continue(int listener)
{
	/* Of no request: a kernel that knows the flag looks for the request first. */
	struct seccomp_notif_resp r = {.id = UINT64_MAX, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) < 0 && errno == ENOENT;
}

int notify_recv(int listener, struct notify_slot *slot, struct trap *ret)
{
	memset(slot, 0, sizeof(*slot)); /* the kernel insists */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, (struct seccomp_notif *)slot) < 0)
		return -errno;
	ret->id = slot->id;
	ret->tid = (pid_t)slot->pid;
	ret->nr = slot->data.nr;
	ret->ip = slot->data.ip;
	ret->call = trap_call(slot->data.arch, slot->data.nr, &ret->compat);
	memcpy(ret->args, slot->data.args, sizeof(ret->args));
	return 0;
}

/* Frees the slot, whether that succeeded or not. 0, -errno. */
static int send_notify_answer(int listener, struct notify_slot *slot, struct seccomp_notif_resp r)
{
	int rc = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) < 0 ? -errno : 0;
	__atomic_store_n(&slot->id, 0, __ATOMIC_RELEASE);
	return rc;
}

int notify_continue(int listener, struct notify_slot *slot)
{
	return send_notify_answer(listener, slot,
	                          (struct seccomp_notif_resp){.id = slot->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

int notify_refuse(int listener, struct notify_slot *slot, int error)
{
	return send_notify_answer(listener, slot, (struct seccomp_notif_resp){.id = slot->id, .error = -error});
}

int notify_give(int listener, const struct notify_slot *slot, int fd, int number)
{
	struct seccomp_notif_addfd a = {.id = slot->id,
	                                .flags = SECCOMP_ADDFD_FLAG_SETFD,
	                                .srcfd = (uint32_t)fd,
	                                .newfd = (uint32_t)number,
	                                .newfd_flags = O_CLOEXEC};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a) < 0 ? -errno : 0;
}

int notify_open_as(int listener, struct notify_slot *slot, int fd)
{
	struct seccomp_notif_addfd a = {
	    .id = slot->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd, .newfd_flags = O_CLOEXEC};
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a) < 0)
		return -errno;
	__atomic_store_n(&slot->id, 0, __ATOMIC_RELEASE);
	return 0;
}

bool notify_valid(int listener, const struct notify_slot *slot)
{
	uint64_t id = slot->id;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void notify_release(int listener, struct notify_page *page)
{
	for (int i = 0; i < NOTIFY_SLOTS; i++)
		if (__atomic_load_n(&page->slot[i].id, __ATOMIC_ACQUIRE))
			notify_continue(listener, &page->slot[i]);
	notify_release_parked(listener, page);
}

void notify_release_parked(int listener, struct notify_page *page)
{
	for (int i = 0; i < NOTIFY_PARKED; i++) {
		struct notify_slot put_off = {.id = __atomic_exchange_n(&page->parked[i], 0, __ATOMIC_ACQ_REL)};
		if (put_off.id)
			notify_continue(listener, &put_off);
	}
}

void notify_keep(int listener, struct notify_page *page, bool (*more)(void *arg), void *arg)
{
	notify_release(listener, page);
	struct notify_slot *slot = &page->slot[SLOT_KEEPER];
	struct trap t;
	while (more(arg)) {
		struct pollfd p = {.fd = listener, .events = POLLIN};
		int n = poll(&p, 1, 100);
		if (n > 0 && (p.revents & POLLIN)) {
			if (notify_recv(listener, slot, &t) == 0)
				notify_continue(listener, slot);
		} else if (n > 0 && (p.revents & (POLLHUP | POLLERR))) {
			return;
		}
	}
}
