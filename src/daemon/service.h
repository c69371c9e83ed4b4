/* service.h - what a service of systemd's does, without its library: tells that it is ready and alive, and gives up
 * what it does not need. */
#ifndef STEMMA_DAEMON_SERVICE_H
#define STEMMA_DAEMON_SERVICE_H

#include <linux/capability.h>
#include <stdint.h>

/* Older headers lack these. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* Sends a line to $NOTIFY_SOCKET; nothing where there is none. */
void service_notify(const char *line);
/* Keeps only the capabilities that are used after the start, and none for what is executed. With all: not even those.
 * 0 or -errno. */
int service_drop(int all);

#endif
