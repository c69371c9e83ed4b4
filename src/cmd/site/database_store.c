/* database_store.c - `stemma --store postgresql://...`: the record is in a database, and is read here as any other. */
#include "cmd/cmd.h"
#include "site/index_source.h"

#include <errno.h>

const char *cmd_database(const struct cmd *c)
{
	return c->node ? NULL : index_source_url(cmd_home(c));
}

bool cmd_database_fits(const struct command *command)
{
	static const enum command_number fit[] = {
	    COMMAND_sparql, COMMAND_table,  COMMAND_best, /* and those without a record */
	    COMMAND_config, COMMAND_doctor, COMMAND_spec};
	for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++)
		if (command == &commands[fit[i]])
			return true;
	return cmd_node_fits(command);
}

int cmd_database_store(struct cmd *c)
{
	struct err err = {0};
	int r = index_source_open(cmd_database(c), &err, &c->store);
	if (r == 0)
		cmd_report_damage(c, 0);
	return r == 0 ? STATUS_OK : report_err(&err, r == -EACCES || r == -ENOENT ? STATUS_NOTHING : STATUS_SELF);
}
