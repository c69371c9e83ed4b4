/* serve_peer.h - whose process is at the other end of a connection, by what the kernel says. */
#ifndef STEMMA_SERVE_SERVE_PEER_H
#define STEMMA_SERVE_SERVE_PEER_H

#include <stdint.h>

/* A descriptor for serve_peer_uid, or -1: TCP connections cannot be asked for. */
int serve_peer_open(void);
/* The user of the process that made the connection, by fd, our end: a Unix socket, or TCP within this machine. -1: it
 * is not known. About 10 us. */
int64_t serve_peer_uid(int diag, int fd);

#endif
