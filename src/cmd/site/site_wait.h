/* site_wait.h - waiting between two looks, until a signal ends the command. */
#ifndef STEMMA_CMD_SITE_WAIT_H
#define STEMMA_CMD_SITE_WAIT_H

#include "cmd/cmd.h"

#include <stdbool.h>
#include <stdint.h>

/* From now on SIGINT, SIGTERM and SIGHUP end site_wait, and not the process. */
void site_wait_begin(void);
/* Waits so long. False: the command is to end. */
bool site_wait(int64_t ns);
/* An option's time; `otherwise` where it was not given. STATUS_OK, or the status to end with (and it was said). */
int site_interval(const struct cmd *c, const char *option, const char *text, int64_t otherwise, int64_t *ret);
/* An option's size; *ret stays where it was not given. STATUS_OK, or the status to end with (and it was said). */
int site_size(const struct cmd *c, const char *option, const char *text, uint64_t *ret);

#endif
