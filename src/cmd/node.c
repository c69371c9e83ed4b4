/* node.c - `stemma --node`: the record is what the daemon of this node hands over, and is read here as any other. */
#include "cmd/cmd.h"
#include "daemon/request.h"

#include <errno.h>

bool cmd_node_fits(const struct command *command)
{
	static const enum command_number fit[] = {COMMAND_log,  COMMAND_show, COMMAND_lineage, COMMAND_why,    COMMAND_find,
	                                          COMMAND_stat, COMMAND_diff, COMMAND_report,  COMMAND_export, COMMAND_sql};
	for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++)
		if (command == &commands[fit[i]])
			return true;
	return false;
}

int cmd_node_store(struct cmd *c)
{
	enum { WAIT_MS = 600000 }; /* a first question may make the index of a year */
	struct err err = {0};
	struct buf text = {0};
	int fd = -1, r = request_ask("store", WAIT_MS, &err, &text, &fd);
	buf_release(&text);
	if (r < 0)
		return report_err(&err, r == -EACCES ? STATUS_NOTHING : STATUS_SELF);
	r = fd < 0 ? err_set(&err, 0, "the daemon of this node sent no answer"), -1 : store_open_fd(fd, &err, &c->store);
	if (r == 0)
		cmd_report_damage(c, 0);
	return r < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}
