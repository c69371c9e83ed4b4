/* races.h - names that change while somebody opens them.
 *
 * A call is stopped before it is made, and others go on meanwhile: between the stop of an open and the open itself
 * another process may unlink the name, or link or rename a file to it, and the other way round. What was seen at the
 * stop is then not what the kernel opens. The files that it may have been are recorded as possible, each; none of them
 * as sure. It costs nothing where no name is changing. Everything under the supervisor's lock. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_RACES_H
#define STEMMA_CAPTURE_SUPERVISOR_RACES_H

#include "capture/supervisor/super.h"

/* Thread k is stopped to open w in that mode, and f is there (NULL: nothing is). What is recorded of that was begun. */
void races_opened(struct sup *s, const struct task *k, struct file *f, struct where *w, unsigned mode);
/* d, which changes names, is about to be let go on: has somebody who opens one of them not come back yet? */
void races_changes(struct sup *s, const struct pending *d);
/* d has made f: so has who opens it and found nothing there. */
void races_made(struct sup *s, const struct pending *d, struct file *f);

#endif
