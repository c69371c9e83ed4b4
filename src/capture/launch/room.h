/* room.h - how many processes and threads may still be started here: by RLIMIT_NPROC, which counts all of the user's,
 * and by the pids.max of the control groups that this process is in.
 *
 * The recorder's own processes and threads (up to ten, with one more for each thing that is asked for) count as the
 * command's would. A command that has little room would miss them: where without stemma its last fork succeeds, it
 * would fail. So it is run without a recorder there. */
#ifndef STEMMA_CAPTURE_LAUNCH_ROOM_H
#define STEMMA_CAPTURE_LAUNCH_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Less than this is little: a sentence for the user, which says by what limit and how much is left. False: there is
 * enough, or nothing could be found out. Of what hidepid hides nothing is counted. Costs 1 us and four small files;
 * where RLIMIT_NPROC is not far above the number of all tasks of the machine, a file for each process more. */
bool room_is_little(char *ret, size_t size);

#endif
