#include "trust/confine.h"

#include "base/io.h"
#include "sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Enters mount namespaces, and of the network and IPC where the kernel has them; the user in there is the same as
 * outside. Root loses CAP_SYS_ADMIN for what is executed then. 0, -errno. */
static int enter_namespaces(void)
{
	int rc = namespaces_enter(CLONE_NEWNS, CLONE_NEWNET | CLONE_NEWIPC);
	/* So that nobody makes it writable again. */
	if (rc == 0 && geteuid() == 0)
		prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
	return rc;
}

int confine_enter(const char *over, const char *own, const char *work, struct err *err)
{
	char below[PATH_MAX] = "";
	size_t n = strlen(over);
	int rc = enter_namespaces();
	if (rc < 0) {
		err_set(err, -rc, "cannot confine the command");
		err_hint(err, "this requires user namespaces or root");
		return rc;
	}
	/* What is bound over it would hide its own folder. */
	if (!strncmp(own, over, n) && own[n] == '/') {
		snprintf(below, sizeof(below), "%s%s", work, own + n);
		if ((rc = io_mkdirs(below, 0700)) < 0)
			return err_set(err, -rc, "cannot make '%s'", below);
	}
	int self = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[40];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", self);
	if (self < 0 || mount(work, over, "", MS_BIND, NULL) < 0 || mount(link, own, "", MS_BIND, NULL) < 0 ||
	    (rc = namespaces_set_readonly("/", true, true)) < 0 || (rc = namespaces_set_readonly(over, false, false)) < 0 ||
	    (rc = namespaces_set_readonly(own, false, false)) < 0) {
		rc = rc < 0 ? rc : -errno;
		return err_set(err, -rc, "cannot confine the command");
	}
	return 0;
}
