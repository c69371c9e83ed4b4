/* table_load.h - the runs that `table` and `best` are about; what is wrong is reported. */
#ifndef STEMMA_CMD_TABLE_TABLE_LOAD_H
#define STEMMA_CMD_TABLE_TABLE_LOAD_H

#include "answer/table/over_runs.h"
#include "cmd/cmd.h"

#include <errno.h>

/* STATUS_OK, or what to end with (and it was said). Release ret in any case. */
static inline int table_load(struct cmd *c, const struct over_runs_question *q, struct over_runs *ret)
{
	struct err err = {0};
	const int rc = over_runs_load(cmd_source(c), q, &err, ret);
	if (rc == 0)
		return STATUS_OK;
	return report_err(&err, rc == -EINVAL ? STATUS_USAGE : rc == -ENOENT ? STATUS_NOTHING : STATUS_SELF);
}

#endif
