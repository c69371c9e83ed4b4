/* confine.h - a process that may change nothing but one folder: what is run again must not touch what it touched the
 * first time.
 *
 * By a mount namespace of its own: every file system is read-only there, and a folder stands in the place of another
 * one, so that absolute names lead into it, too. Without privilege it takes a user namespace. The network and System V
 * memory are its own, and empty, where the kernel gives them. Processes, terminals and devices stay reachable. */
#ifndef STEMMA_TRUST_CONFINE_H
#define STEMMA_TRUST_CONFINE_H

#include "base/err.h"

/* In a child that will exec: `work` stands in the place of `over`, a folder that is there; below `own`, which `work` is
 * in, it may write; all else is read-only. own is found under its own name afterwards. Paths are absolute and without
 * links. 0 or -errno with a sentence: then the process is to end. */
int confine_enter(const char *over, const char *own, const char *work, struct err *err);

#endif
