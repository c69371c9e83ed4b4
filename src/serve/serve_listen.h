/* serve_listen.h - the socket that is listened at: of this machine only. */
#ifndef STEMMA_SERVE_SERVE_LISTEN_H
#define STEMMA_SERVE_SERVE_LISTEN_H

#include "base/err.h"

/* At 127.0.0.1; *port 0 becomes the one that was free. The descriptor or -errno. */
int serve_listen_tcp(unsigned *port, struct err *err);
/* At a path, where only the user and root can connect. A socket there that nobody listens at is replaced. The
 * descriptor or -errno. */
int serve_listen_unix(const char *path, struct err *err);

#endif
