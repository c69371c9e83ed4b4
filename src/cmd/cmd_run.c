/* stemma run: run a command and record it. */
#include "capture/run/run.h"
#include "cmd/cmd.h"
#include "cmd/run_monitor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int one_of(const char *value, const char *const words[], int *ret)
{
	for (int i = 0; value && words[i]; i++)
		if (!strcmp(value, words[i])) {
			*ret = i;
			return 0;
		}
	return value ? -1 : 0;
}

/* Ends as the command ended; of a signal too, but without a core file of our own beside the command's. */
static int end_as(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigaction(WTERMSIG(status), &act, NULL);
	sigset_t all;
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static void say_line(const char *line)
{
	say("%s", line);
}

int cmd_run(struct cmd *c, const struct opts_run *o)
{
	static const char *const modes[] = {"complete", "tree", "off", NULL};
	static const char *const transports[] = {"auto", "notify", "trace", NULL};
	static const char *const granularities[] = {"open", "access", NULL};
	struct err err = {0};
	int granularity = 0;
	int mode = CAPTURE_COMPLETE, transport = TRANSPORT_AUTO, status = 0;
	const char *note = NULL;
	char *home = NULL;

	if (o->pid)
		return run_monitor_attach(c, o);
	if (c->n_operands == 0)
		return say_usage(c, "no command to run");
	if (one_of(o->capture, modes, &mode) < 0)
		return say_usage(c, "capture mode '%s' is not one of complete, tree, off", o->capture);
	if (one_of(o->transport, transports, &transport) < 0)
		return say_usage(c, "transport '%s' is not one of auto, notify, trace", o->transport);
	if (one_of(o->granularity, granularities, &granularity) < 0)
		return say_usage(c, "granularity '%s' is not one of open, access", o->granularity);
	if (o->exact && mode != CAPTURE_COMPLETE)
		return say_usage(c, "--exact needs --capture=complete");
	if (o->exact && transport == TRANSPORT_NOTIFY)
		return say_usage(c, "--exact needs ptrace: not --transport=notify");
	if (granularity && !o->exact)
		return say_usage(c, "--granularity=access needs --exact");
	for (size_t i = 0; i < o->label.n; i++)
		if (!strchr(o->label.v[i], '='))
			return say_usage(c, "label '%s' is not KEY=VALUE", o->label.v[i]);
	/* A record that cannot be kept is said, but never keeps the command from running. */
	struct err where = {0};
	if (store_places(cmd_home(c), &where, &home, NULL) < 0)
		home = NULL;
	struct run_options opts = {.argv = c->operands,
	                           .home = home,
	                           .no_home = where.text,
	                           .labels = (const char *const *)o->label.v,
	                           .mode = (enum capture_mode)mode,
	                           .transport = (enum capture_transport)transport,
	                           .count = o->count,
	                           .exact = o->exact,
	                           .narrow = granularity == 1,
	                           .say = o->quiet ? NULL : say_line};
	struct run_monitor *monitor;
	int rc = run_monitor_open(c, o, &opts, &monitor);
	if (rc != STATUS_OK)
		goto out;
	rc = capture_run(&opts, &err, &status, &note);
	if (rc < 0) {
		rc = say_err(&err, STATUS_SELF);
	} else {
		if (note && !o->quiet)
			say("%s", note);
		status = run_monitor_finish(monitor, status);
	}
	run_monitor_close(monitor);
out:
	free(home);
	return rc ? rc : end_as(status);
}
