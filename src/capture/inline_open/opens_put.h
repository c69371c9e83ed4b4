/* opens_put.h - puts the code that opens into a process. Internal to inline_open/. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_OPENS_PUT_H
#define STEMMA_CAPTURE_INLINE_OPEN_OPENS_PUT_H

#include "capture/inject/inject.h"

/* The code that opens, in private memory that the recorder alone has written; the log, which only this process and the
 * recorder have; and the stubs near the library. The log is mapped to be read first: a shared mapping that can be
 * written would be stopped, and nobody is there to answer. A forked child that has the code gets a log alone. 0;
 * -ESRCH: it is gone; -EIO; -errno. What could be undone is. */
int opens_put(pid_t pid, struct injection *g, const struct stubs *counted, const struct regs *was, int *signal,
              struct stubs *stubs);

#endif
