/* live.h - runs that go on now on this machine, by their standbys (capture/standby/standby.h). */
#ifndef STEMMA_ANSWER_LIVE_H
#define STEMMA_ANSWER_LIVE_H

#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

/* The runs that were there at the first question. Empty when zeroed. */
struct live_runs {
	struct live_run *v;
	size_t n, cap;
	bool looked;
};

/* The standby of the run, of any user; 0: none is seen, so the run is over, has begun just now, or is on another
 * machine; or l is NULL. The processes of the machine are looked through once, at the first call. */
pid_t live_standby(struct live_runs *l, struct str run);
void live_release(struct live_runs *l);

#endif
