/* links.h - paths that mean the process that follows them: /proc/self and what leads there by a symbolic link, as
 * /dev/stdin, /dev/fd/N, or a program's own link to such a place. Followed by the recorder they would lead to what the
 * recorder has. Internal to capture. Safe for threads; what is remembered, each remembers for itself.
 *
 * A path is followed here, link by link, only where it could be one of these: its last component is a link, what it
 * leads to is in /proc, or a link of its directory leads through a process. The last is asked of the kernel (openat2,
 * Linux 5.6; before, it is not noticed) once a directory, and remembered until links_forget: 20 ms at most. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_LINKS_H
#define STEMMA_CAPTURE_SUPERVISOR_LINKS_H

#include "base/fileid.h"

#include <stdbool.h>
#include <sys/types.h>

#define LINKS_PATH 4096

/* Translates a path that means the process that uses it. The same as `path` for a process whose thread is tid,
 * should it begin with what means the process. by_name: also what is a link to that wherever nobody has changed it,
 * as /dev/stdin. False: it does not, or there is no room. */
bool links_translate(const char *path, pid_t tid, bool by_name, char *ret, size_t n);
/* Looks at an absolute path on behalf of tid. skip: bytes at its beginning that are the recorder's own words
 * (/proc/PID/cwd). 0 or -errno as statx; *ret_other: `path` was replaced by one that means the same to the recorder;
 * *ret_direct: its last component is no link that was followed. */
int links_look(char path[LINKS_PATH], size_t skip, pid_t tid, bool follow, struct statx *ret, bool *ret_other,
               bool *ret_direct);
/* The canonical name of what such a path led to, by that of its directory, which is asked for once until links_forget:
 * of a file in a known directory no call is made, or one where a link led to the directory. malloc'ed; NULL: it is to
 * be asked for. */
char *links_name(const char *path, const struct statx *st);
/* The name behind one of the recorder's own descriptors; malloc'ed, NULL: it has none. */
char *links_fd_name(int fd);
/* Does what statx found lie in /proc? */
bool links_is_in_proc(const struct statx *st);
/* Names may have changed, of directories too (dirs.h); none of a directory. */
void links_forget(void);
void links_forget_paths(void);

#endif
