#include "cmd/ui/mend.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN                                                                                                          \
	"STEMMA_MENDED"      /* set in the second process: a disk that damages what is written must not start a third */
#define UNWRITTEN '\xff' /* no text has this byte */

static char **arguments;
static bool second;
static char held[1 << 20]; /* standard output's; its last byte is written when it is first full */
static const char *home;

void mend_begin(char **argv)
{
	arguments = argv;
	second = getenv(AGAIN) != NULL;
	unsetenv(AGAIN);
}

static bool has_printed(void)
{
	return held[sizeof(held) - 1] != UNWRITTEN;
}

/* Called in the middle of reading the index; does not return. */
static void restart_with_new_index(void)
{
	struct err err = {0};
	store_on_damage(NULL);
	if (has_printed()) {
		report("the index is damaged: this answer is incomplete");
		report_hint("the next command rebuilds the index");
	} else if (second) {
		report("the index is damaged although it has just been rebuilt");
	} else if (store_drop(home, &err) < 0) {
		report_err(&err, STATUS_SELF);
	} else if (setenv(AGAIN, "1", 1) == 0) {
		report("the index was damaged; rebuilding it from the logs");
		execv("/proc/self/exe", arguments);
		report("cannot start again: %s", strerror(errno));
	}
	if (has_printed())
		store_drop(home, &err);
	_exit(STATUS_SELF);
}

int mend_watch(struct cmd *c, struct err *err)
{
	static const enum command_number held_back[] = {COMMAND_why,  COMMAND_lineage, COMMAND_log,
	                                                COMMAND_show, COMMAND_find,    COMMAND_stat};
	for (size_t i = 0; i < sizeof(held_back) / sizeof(held_back[0]); i++)
		if (c->command == &commands[held_back[i]] && !__fpending(stdout)) {
			home = cmd_home(c);
			memset(held + sizeof(held) - 1, UNWRITTEN, 1);
			setvbuf(stdout, held, _IOFBF, sizeof(held));
			store_on_damage(restart_with_new_index);
			return 0;
		}
	return store_check_pages(c->store, err);
}

const char *mend_held(size_t *ret)
{
	*ret = home && !has_printed() ? __fpending(stdout) : 0;
	return held;
}

void mend_end(void)
{
	store_on_damage(NULL);
}
