/* show_app_log.h - what programs told of themselves, as `show` prints it of a run. */
#ifndef STEMMA_CMD_SHOW_SHOW_APP_LOG_H
#define STEMMA_CMD_SHOW_SHOW_APP_LOG_H

#include "cmd/ui/js_print.h"

/* Prints it (o NULL), or puts it into the run's object: "annotations", "ranks", "mpi_io", each only where there is
 * something. Without all a list has at most 40 lines. 0 or -errno. */
int show_app_log(struct cmd *c, store_id run, bool all, json_t *o);

#endif
