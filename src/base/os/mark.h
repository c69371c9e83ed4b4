/* mark.h - which runs this user recorded on this machine.
 *
 * A record may hold runs of others: imported ones, or logs that somebody copied into it, and those can say anything
 * about themselves. So `stemma run` marks what it records: the file `marks` in the record has a line for each run, with
 * its ULID and a keyed hash of what would be run again (command, folder, environment), of the user's number and of the
 * machine's id. The key is the user's: $XDG_STATE_HOME/stemma/key or ~/.local/state/stemma/key, made at the first run,
 * 0600, never in a record. A copied mark proves nothing elsewhere, and what was changed has none.
 *
 * Not marked: runs inside a run, runs without a home directory that can be written, and runs recorded before marks
 * were. They count as received.
 *
 * The hash is SipHash-2-4 (Aumasson and Bernstein, 2012) under two keys, 128 bits: no library is loaded for it. Cost:
 * 11 system calls and some 15 us a run. */
#ifndef STEMMA_BASE_OS_MARK_H
#define STEMMA_BASE_OS_MARK_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct mark_what {
	const char *run; /* ULID */
	struct str cwd;
	const struct str *argv; /* as recorded */
	size_t argc;
	const struct str *env; /* as recorded, in any order */
	size_t envc;
};

/* Appends the mark to the record at home. 0 or -errno. */
int mark_put(const char *home, const struct mark_what *w);
/* Has the record at home this mark? */
bool mark_has(const char *home, const struct mark_what *w);

#endif
