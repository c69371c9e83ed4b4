#include "cmd/ui/mend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN                                                                                                          \
	"STEMMA_MENDED"      /* set in the second process: a disk that damages what is written must not start a third */
#define AGAIN_MENDED "1" /* the index was made anew */
#define AGAIN_CUT "2"    /* a file was cut; the index may still have to be made anew */
#define UNWRITTEN '\xff' /* no text has this byte */

static char **arguments;
static bool second, after_cut;
static char **variables_after_cut; /* NULL: no memory for them */
static bool opening;               /* nothing was printed or changed yet */
static char held[1 << 20];         /* standard output's; its last byte is written when it is first full */
static const char *home;

void mend_begin(char **argv)
{
	const char *again = getenv(AGAIN);
	arguments = argv;
	second = again && strcmp(again, AGAIN_CUT) != 0;
	after_cut = again && !second;
	unsetenv(AGAIN);
}

/* Whether the output's buffer was written to the end at least once. */
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
		report_hint("check the disk of the record's index; stemma doctor prints its folder");
	} else if (store_drop(home, &err) < 0) {
		report_err(&err, STATUS_SELF);
	} else if (setenv(AGAIN, AGAIN_MENDED, 1) == 0) {
		report("the index was damaged; rebuilding it from the logs");
		execv("/proc/self/exe", arguments);
		report("the damaged index was removed, but stemma cannot restart itself: %s", strerror(errno));
		report_hint("repeat the command");
	}
	if (has_printed())
		store_drop(home, &err);
	_exit(STATUS_SELF);
}

/* Errors are passed over: there is nowhere to tell them. */
static void say_of_cut(const char *line)
{
	(void)!write(STDERR_FILENO, line, strlen(line));
}

/* SQLite maps the index and the file beside it that readers share. Who makes one of them shorter meanwhile ends this
 * process by SIGBUS; its answer is not whole. Only what a signal's handler may call is called. */
static void on_cut(int sig)
{
	sigset_t none;
	(void)sig;
	if ((opening || (home && !has_printed())) && !second && !after_cut && variables_after_cut) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execve("/proc/self/exe", arguments, variables_after_cut);
	}
	say_of_cut("stemma: a file of the index was made shorter while it was read: this answer is incomplete\n"
	           "  hint: ask again\n");
	_exit(STATUS_SELF);
}

void mend_watch_opening(void)
{
	static char again[] = AGAIN "=" AGAIN_CUT;
	size_t n = 0;
	while (environ && environ[n])
		n++;
	if ((variables_after_cut = calloc(n + 2, sizeof(*variables_after_cut)))) {
		for (size_t i = 0; i < n; i++)
			variables_after_cut[i] = environ[i];
		variables_after_cut[n] = again;
	}
	opening = !__fpending(stdout);
	sigaction(SIGBUS, &(struct sigaction){.sa_handler = on_cut}, NULL);
}

int mend_watch(struct cmd *c, struct err *err)
{
	static const enum command_number held_back[] = {COMMAND_why,  COMMAND_lineage, COMMAND_log,
	                                                COMMAND_show, COMMAND_find,    COMMAND_stat};
	opening = false;
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
