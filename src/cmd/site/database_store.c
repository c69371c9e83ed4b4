/* database_store.c - `stemma --store postgresql://...`: the record is in a database, and is read here as any other. */
#include "answer/fmt.h"
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

/* Says of which hosts an answer is, and how far what it is made of goes. */
static void tell_hosts(struct store *s)
{
	struct err err = {0};
	struct index_hosts h;
	struct buf first = {0}, last = {0};
	if (index_source_hosts(s, &err, &h) <= 0)
		return; /* nothing is known of it, or the question itself will fail */
	fmt_time(&first, h.first, false);
	fmt_time(&last, h.last, false);
	if (h.first == TIME_NONE)
		report("the answer is of %llu host%s", (unsigned long long)h.hosts, str_plural(h.hosts));
	else if (h.first == h.last)
		report("the answer is of %llu host%s, recorded until %s", (unsigned long long)h.hosts, str_plural(h.hosts),
		       buf_cstr(&last));
	else
		report("the answer is of %llu hosts, recorded until %s, and the last of them until %s",
		       (unsigned long long)h.hosts, buf_cstr(&first), buf_cstr(&last));
	if (h.open)
		report("%llu session%s in it %s no end yet: more may follow", (unsigned long long)h.open, str_plural(h.open),
		       h.open == 1 ? "has" : "have");
	buf_release(&first);
	buf_release(&last);
}

int cmd_database_store(struct cmd *c)
{
	struct err err = {0};
	int r = index_source_open(cmd_database(c), &err, &c->store);
	if (r == 0) {
		cmd_report_damage(c, 0);
		tell_hosts(c->store);
	}
	return r == 0 ? STATUS_OK : report_err(&err, r == -EACCES || r == -ENOENT ? STATUS_NOTHING : STATUS_SELF);
}
