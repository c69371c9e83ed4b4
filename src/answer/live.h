/* live.h - runs that go on now on this machine: by their standbys (capture/standby/standby.h), and by the lease that a
 * recorder holds as long as it lives (event/log_lease.h). */
#ifndef STEMMA_ANSWER_LIVE_H
#define STEMMA_ANSWER_LIVE_H

#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

struct store;
struct run_info;

/* The runs that were there at the first question. Empty when zeroed. */
struct live_runs {
	struct live_run *v;
	size_t n, cap;
	bool looked;
};

/* What became of a recording. Ended: it has its end. Running: its recorder, or its standby, is there. Cut off: its
 * recorder is there no more, and wrote no end. Unknown: it has no end, and whether it goes on shows only elsewhere: on
 * another host, to another user, in another pid namespace; or its command goes on and nobody is seen recording it. */
enum recording { RECORDING_ENDED, RECORDING_RUNNING, RECORDING_CUT_OFF, RECORDING_UNKNOWN };

/* Is the run recorded now? Of a run, as store_run or store_run_told has it. It is a row's look-up where the run has
 * no end, else nothing. l as for live_standby. What cannot be read makes it unknown. */
enum recording live_recording(struct store *s, struct live_runs *l, const struct run_info *run);
/* Its word in JSON: "ended", "running", "cut off", "unknown". */
const char *live_word(enum recording r);

/* The standby of the run, of any user; 0: none is seen, so the run is over, has begun just now, or is on another
 * machine; or l is NULL. The processes of the machine are looked through once, at the first call. */
pid_t live_standby(struct live_runs *l, struct str run);
void live_release(struct live_runs *l);

#endif
