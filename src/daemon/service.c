#include "daemon/service.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

void service_notify(const char *line)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t n = path ? strlen(path) : 0;
	if (!n || n >= sizeof(sun.sun_path))
		return;
	memcpy(sun.sun_path, path, n);
	if (path[0] == '@')
		sun.sun_path[0] = '\0';
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return;
	sendto(sock, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&sun,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(sock);
}

int service_drop(int all)
{
	/* Programs are attached and detached as `access` is asked for. What else there is to look at the helper does. */
	static const int keep[] = {CAP_BPF, CAP_PERFMON};
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2], wants[2] = {0};
	if (syscall(SYS_capget, &h, has) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]) && !all; i++) {
		unsigned bit = 1u << (keep[i] % 32);
		wants[keep[i] / 32].permitted |= has[keep[i] / 32].permitted & bit;
		wants[keep[i] / 32].effective |= has[keep[i] / 32].permitted & bit;
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* What is executed is root's, and would have all again. */
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return syscall(SYS_capset, &h, wants) < 0 ? -errno : 0;
}
