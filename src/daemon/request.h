/* request.h - both sides of the daemon's socket: SOCK_SEQPACKET, one message each way.
 *
 * Asked: a word of words.def and its operands, separated by blanks, REQUEST_MAX bytes at most. Answered: "ok" or "no",
 * a blank, and text for a person; with the word `store` an open file beside it. */
#ifndef STEMMA_DAEMON_REQUEST_H
#define STEMMA_DAEMON_REQUEST_H

#include "base/buf.h"
#include "base/err.h"

#define REQUEST_MAX 4096
#define REPLY_MAX 65536
#define REQUEST_SOCKET "/run/stemma/socket"

/* Asks and waits for the answer, at most so many ms. 0: text in ret (and *ret_fd, or -1); -errno with a sentence, the
 * daemon's own where it said no (-EACCES). Asks again for a while where the daemon says that it is busy. */
int request_ask(const char *question, unsigned wait_ms, struct err *err, struct buf *ret, int *ret_fd);
/* One message with, where fd is not -1, an open file. 0 or -errno. Never waits. */
int request_reply(int sock, const char *text, size_t n, int fd);

#endif
