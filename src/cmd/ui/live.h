/* live.h - runs that go on now on this machine, by their standbys (capture/standby/standby.h). */
#ifndef STEMMA_CMD_UI_LIVE_H
#define STEMMA_CMD_UI_LIVE_H

#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

/* The standby of the run, of any user; 0: none is seen, so the run is over, has begun just now, or is on another
 * machine. The processes of the machine are looked through once, at the first call. */
pid_t live_standby(struct str run);

#endif
