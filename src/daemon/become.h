/* become.h - the daemon is a user of its own, not root: started as root, it hands its folders over and becomes that
 * user, with the capabilities that it and its helper need. One thread; before anything is opened. */
#ifndef STEMMA_DAEMON_BECOME_H
#define STEMMA_DAEMON_BECOME_H

#include "base/err.h"

#include <sys/types.h>

/* Gives up root's rights for those of a user. name: of a user, as getpwnam knows it. That it is already: nothing is
 * done. base and run are made where missing, and are that user's afterwards: what root recorded before, too. 0 or
 * -errno. */
int become_user(const char *name, const char *base, const char *run, struct err *err);

#endif
