/* files_int.h - what files.c and accesses.c share. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_FILES_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_FILES_INT_H

#include "capture/supervisor/super.h"

/* Are both of what the record takes for one version? */
bool fingerprint_is_state(const struct fingerprint *fp, const struct fingerprint *known);
/* What f holds is about to be changed (needed: and what was there goes on in it) or removed; st: as it is. If somebody
 * keeps such files it is given to them: where it is needed, or somebody of the run could read it. w: the path. */
void file_keep(struct sup *s, struct file *f, const struct where *w, const struct statx *st, bool needed);
/* Tells who watches the run (s->observer) of a regular file. path NULL: as before; size -1: not known; mode: ACCESS_*
 * bits that begin; handed: by inheritance. */
void file_notify_observer(struct sup *s, const struct file *f, const char *path, int64_t size, unsigned mode,
                          bool handed);

/* The path that was looked for and absent, if one was; NULL. */
struct file *file_absent(const struct sup *s, const char *path);

#endif
