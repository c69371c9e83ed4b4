/* log_rescue.h - a segment that was removed while it was written. Internal to event.
 *
 * While the command runs nothing is made anew in place of a folder that was removed: what removes it may be the
 * command, which would find a folder where there is to be none. The segment lives on without a name as long as the
 * writer has it open, so its own part of it is copied when the session ends. */
#ifndef STEMMA_EVENT_LOG_RESCUE_H
#define STEMMA_EVENT_LOG_RESCUE_H

#include <stdbool.h>
#include <stdint.h>

/* Has the open file fd no name any more? */
bool log_rescue_needed(int fd);
/* Copies fd's bytes from `from` to the end of `folder`/`name`, which is made anew if the folder above `home` is still
 * there; if that cannot be, to a new file <session>.stl in "saved" below the user's folder in /var/tmp or /tmp.
 * home: the record's folder, above `folder`. *ret_path, to be freed: where it is now. 0 in its old place, 1 in the
 * other, -errno nowhere. */
int log_rescue(int fd, uint64_t from, uint64_t session, const char *home, const char *folder, const char *name,
               char **ret_path);

#endif
