/* sockets.h - sockets as channels: by their addresses, and by what a connected one is connected to (sockets.c). All
 * is called under the lock of the supervisor. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_CHANNELS_SOCKETS_H
#define STEMMA_CAPTURE_SUPERVISOR_CHANNELS_SOCKETS_H

#include "capture/supervisor/super.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The inode of the socket that a connected Unix socket is connected to, 0 if there is none. */
uint64_t socket_unix_peer(uint64_t ino);
/* Handles a stopped connect or bind. True if the address is to be read once bind has returned (port 0): socket_bound
 * does that. */
bool socket_trap(struct sup *s, struct proc *p, const struct trap *t);
/* A bind has returned: reads the address that the descriptor has now. time: ns. */
void socket_bound(struct sup *s, struct proc *p, int fd, int64_t time);
/* How far the process's socket goes, which has that inode. */
enum reach socket_reach(struct sup *s, const struct proc *p, int fd, uint64_t ino);
union address {
	struct sockaddr sa;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage room;
};
/* The channel of an address of `got` bytes, used by p from then on; NULL: none that is recorded. */
struct file *socket_use(struct sup *s, struct proc *p, pid_t tid, int fd, const union address *u, ssize_t got,
                        unsigned api, int64_t time);

#endif
