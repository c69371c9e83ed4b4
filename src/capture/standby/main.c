/* syscall-standby: the third holder of a run's listener. It sleeps until every process of the recorder has died, and
 * then lets each stopped call go on, until nobody is left under the filter. It records nothing.
 *
 * A program of its own, so that what kills the recorder by its name does not meet it, and small, so that keeping it
 * costs little: no heap, no thread, no library of the project's. doc/capture.md has the contract with its starter,
 * capture/standby/standby.c. */
#include "capture/seccomp/trap.h"
#include "capture/standby/standby_fds.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct notify_page *page;

/* A signal's handler: asks the standby to end. */
static void on_stop_signal(int sig)
{
	(void)sig;
	__atomic_store_n(&page->stop, 1, __ATOMIC_RELEASE);
}

/* Lets the call of the slot go on unobserved, and empties the slot. */
static void let_go_on(struct notify_slot *slot)
{
	uint64_t id = __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE);
	if (!id)
		return;
	/* A call that has been answered already is not there any more: that is no error. */
	struct seccomp_notif_resp r = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	ioctl(STANDBY_LISTENER, SECCOMP_IOCTL_NOTIF_SEND, &r);
	__atomic_store_n(&slot->id, 0, __ATOMIC_RELEASE);
}

/* Answers stopped calls in place of the recorder that died. Returns when nobody is left under the filter. */
static void serve_as_standby(void)
{
	/* What the dead had received and not answered nobody can receive again. */
	for (int i = 0; i < NOTIFY_SLOTS; i++)
		let_go_on(&page->slot[i]);
	for (int i = 0; i < NOTIFY_PARKED; i++) {
		struct notify_slot put_off = {.id = __atomic_exchange_n(&page->parked[i], 0, __ATOMIC_ACQ_REL)};
		let_go_on(&put_off);
	}
	struct notify_slot *slot = &page->slot[SLOT_STANDBY];
	for (;;) {
		struct pollfd p = {.fd = STANDBY_LISTENER, .events = POLLIN};
		if (poll(&p, 1, -1) < 0)
			continue;
		if (p.revents & POLLIN) {
			memset(slot, 0, sizeof(*slot)); /* the kernel insists */
			if (ioctl(STANDBY_LISTENER, SECCOMP_IOCTL_NOTIF_RECV, (struct seccomp_notif *)slot) == 0)
				let_go_on(slot);
		} else if (p.revents) {
			return; /* nobody is left under the filter */
		}
	}
}

/* Waits until the worker and keeper are dead, then serves; 1: no page. */
int main(void)
{
	sigset_t stop;
	/* Who may trace this process could take the listener from it. */
	prctl(PR_SET_DUMPABLE, 0);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, STANDBY_PAGE, 0);
	if (page == MAP_FAILED)
		return 1;
	close(STANDBY_PAGE);
	signal(SIGTERM, on_stop_signal);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* all others stay blocked, as the starter had them */
	for (;;) {
		/* Of both only the hang-up is asked for: calls that stop do not wake this process. */
		struct pollfd p[2] = {{.fd = STANDBY_LISTENER}, {.fd = STANDBY_LIFE}};
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents)
			return 0;
		if (p[1].revents)
			break;
	}
	serve_as_standby();
	return 0;
}
