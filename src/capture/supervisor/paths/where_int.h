/* where_int.h - paths that are looked at by a descriptor of the directory that they begin in, or of that of their last
 * component. Internal to paths. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_WHERE_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_WHERE_INT_H

#include "capture/supervisor/super.h"

/* Where a path starts, in words of ours: /proc/PID/cwd, root or fd/N. */
void where_start_directory(const struct where *w, bool absolute, char *ret, size_t n);
/* Holds the directory that a relative path begins in. False: nothing is held. */
bool where_hold_start(struct rooted r, struct where *w);
/* Holds the folder of an absolute path that is one of many, if it is held anyway. */
void where_hold_in_turn(struct where *w);
/* Nothing is held any more: w goes by its words again. False: these are longer than a path may be, and what was held is
 * the directory that they begin in. */
bool where_let_go(struct where *w);
/* What is held is kept beyond the stop. */
void where_pin_held(struct where *w);
/* As where_look. False: it is to be looked at by its words. */
bool where_look_held(struct where *w, bool follow, struct statx *st, int *ret_rc);
/* The canonical name of what was found; malloc'ed, NULL: it is to be asked for. */
char *where_name_held(struct where *w, const struct statx *st);
/* That of the directory that is held; NULL: none is, or it cannot be told. Valid until the thread asks again. */
const char *where_held_dir(struct where *w);

#endif
