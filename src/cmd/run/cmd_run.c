/* stemma run: run a command and record it. */
#include "base/late/late.h"
#include "capture/launch/run.h"
#include "cmd/cmd.h"
#include "cmd/run/run_functions.h"
#include "cmd/run/run_monitor.h"
#include "cmd/run/run_trace.h"
#include "cmd/run/run_trust.h"

#include <stdlib.h>
#include <string.h>

static int parse_choice(const char *value, const char *const words[], int *ret)
{
	for (int i = 0; value && words[i]; i++)
		if (!strcmp(value, words[i])) {
			*ret = i;
			return 0;
		}
	return value ? -1 : 0;
}

static unsigned inject_after(const char *setting)
{
	enum { STOPS = 100 }; /* as many cost what putting the code there does */
	return !strcmp(setting, "off") ? 0 : !strcmp(setting, "always") ? 1 : STOPS;
}

/* What is called when the command has ended must be there before it begins. */
static int load_before(bool summary, bool trust)
{
	struct err err = {0};
	if ((summary || trust) && late_load(&late_jansson, &err) < 0)
		return report_err(&err, STATUS_SELF);
	return trust && late_load(&late_sqlite, &err) < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* --trace-stacks is --trace-calls, with more of each. False: two lists of programs. */
static bool take_stacks(struct opts_run *o)
{
	if (!o->trace_stacks)
		return true;
	if (o->trace_calls && *o->trace_calls && *o->trace_stacks && strcmp(o->trace_calls, o->trace_stacks) != 0)
		return false;
	if (!o->trace_calls || !*o->trace_calls)
		o->trace_calls = o->trace_stacks;
	return true;
}

int cmd_run(struct cmd *c, const struct opts_run *given)
{
	struct opts_run with = *given;
	const struct opts_run *o = &with;
	static const char *const modes[] = {"complete", "safe", "tree", "off", NULL};
	static const char *const transports[] = {"auto", "notify", "trace", "proc", NULL};
	static const char *const levels[] = {"1", "2", "3", NULL};
	static const char *const granularities[] = {"open", "access", NULL};
	struct err err = {0};
	int granularity = 0, level = 0;
	int mode = CAPTURE_COMPLETE, transport = TRANSPORT_AUTO, status = 0;
	const char *note = NULL;
	char *home = NULL, *index = NULL;

	if (o->pid)
		return run_monitor_attach(c, o);
	if (c->n_operands == 0)
		return report_usage(c, "no command to run");
	if (parse_choice(o->capture, modes, &mode) < 0)
		return report_usage(c, "capture mode '%s' is not one of complete, safe, tree, off", o->capture);
	if (!take_stacks(&with))
		return report_usage(c, "--trace-stacks and --trace-calls name different programs: name them once");
	bool exact = o->exact || o->trace_calls;
	if (o->level) {
		/* A setting is no more than a default; an option beside it is another wish. */
		if (o->capture != config_get(&c->config, CONFIG_capture) || o->exact)
			return report_usage(c, "--level says what --capture and --exact say: not both");
		if (parse_choice(o->level, levels, &level) < 0)
			return report_usage(c, "level '%s' is not one of 1, 2, 3", o->level);
		mode = level == 0 ? CAPTURE_OFF : level == 1 ? CAPTURE_TREE : CAPTURE_COMPLETE;
	}
	if (parse_choice(o->transport, transports, &transport) < 0)
		return report_usage(c, "transport '%s' is not one of auto, notify, trace, proc", o->transport);
	if (parse_choice(o->granularity, granularities, &granularity) < 0)
		return report_usage(c, "granularity '%s' is not one of open, access", o->granularity);
	const char *asks = o->exact ? "--exact" : o->trace_stacks ? "--trace-stacks" : "--trace-calls";
	if (exact && mode != CAPTURE_COMPLETE)
		return report_usage(c, "%s needs --capture=complete", asks);
	if (o->count && (mode == CAPTURE_TREE || mode == CAPTURE_OFF))
		return report_usage(c, "--count needs files to be recorded: not --capture=%s",
		                    mode == CAPTURE_OFF ? "off" : "tree");
	if (o->count && mode == CAPTURE_COMPLETE && (transport == TRANSPORT_TRACE || transport == TRANSPORT_PROC))
		return report_usage(c, "--count needs user notification: not --transport=%s; --exact counts by ptrace",
		                    o->transport);
	if (exact && (transport == TRANSPORT_NOTIFY || transport == TRANSPORT_PROC))
		return report_usage(c, "%s needs ptrace: not --transport=%s", asks, o->transport);
	if (granularity && !exact && !o->count && level != 2)
		return report_usage(c, "--granularity=access needs --exact or --count");
	for (size_t i = 0; i < o->label.n; i++)
		if (!strchr(o->label.v[i], '='))
			return report_usage(c, "label '%s' is not KEY=VALUE", o->label.v[i]);
	const char *hdf5 = !o->hdf5 ? config_get(&c->config, CONFIG_hdf5) : *o->hdf5 ? o->hdf5 : "on";
	if (!config_allows(CONFIG_hdf5, hdf5))
		return report_usage(c, "--hdf5=%.100s is not made of: %s", hdf5, config_values(CONFIG_hdf5));
	/* A record that cannot be kept is said, but never keeps the command from running. */
	struct err where = {0};
	if (store_places(cmd_home(c), &where, &home, &index) < 0)
		home = NULL;
	struct run_options opts = {.argv = c->operands,
	                           .home = home,
	                           .no_home = where.text,
	                           .labels = (const char *const *)o->label.v,
	                           .mode = (enum capture_mode)mode,
	                           .transport = (enum capture_transport)transport,
	                           .inject = inject_after(config_get(&c->config, CONFIG_inject)),
	                           .count = o->count || (o->level && level == 2),
	                           .exact = exact,
	                           .hdf5 = strcmp(hdf5, "off") != 0 ? hdf5 : NULL,
	                           .xattr = o->xattr || !strcmp(config_get(&c->config, CONFIG_xattr), "on"),
	                           .mpi = o->mpi,
	                           .narrow = granularity == 1,
	                           .say = o->quiet ? NULL : report_line};
	struct run_trust trust = {.machine = o->machine,
	                          .digest = o->digest,
	                          .keep = o->keep_inputs,
	                          .quiet = o->quiet,
	                          .system_extra = config_get(&c->config, CONFIG_system),
	                          .argv = c->operands};
	bool trusting = o->machine || o->digest || o->keep_inputs || o->results;
	if (o->results && benchfile_load(o->results, &err, &trust.file) < 0) {
		benchfile_release(&trust.file);
		free(home);
		free(index);
		return report_err(&err, STATUS_USAGE);
	}
	if (trusting) {
		opts.place = &trust.place;
		run_trust_begin(&trust, home, index);
	}
	struct run_trace trace = {0};
	struct run_functions functions = {0};
	bool tracing = o->trace || o->trace_full || o->trace_program.n || o->trace_calls || o->trace_functions.n;
	struct run_monitor *monitor;
	int rc = run_monitor_open(c, o, &opts, &monitor);
	if (rc != STATUS_OK)
		goto out;
	if ((rc = load_before(opts.stay, trusting || tracing)) != STATUS_OK) {
		run_monitor_close(monitor);
		goto out;
	}
	if (tracing) {
		opts.place = &trust.place;
		run_trace_begin(&trace, o, home);
		opts.calls = o->trace_calls ? trace.folder : NULL;
		opts.calls_of = trace.calls_of ? trace.calls_of : "";
		opts.stacks = trace.stacks;
	}
	if (o->trace_functions.n && (rc = run_functions_begin(&functions, o, trace.folder)) != STATUS_OK) {
		trace.quiet = true; /* it was said */
		run_trace_finish(&trace, "");
		run_monitor_close(monitor);
		goto out;
	}
	rc = capture_run(&opts, &err, &status, &note);
	run_functions_end(&functions);
	if (tracing)
		run_trace_finish(&trace, rc < 0 ? "" : trust.place.run);
	if (rc < 0) {
		rc = report_err(&err, STATUS_SELF);
	} else {
		if (note && !o->quiet)
			report("%s", note);
		status = run_monitor_finish(monitor, status);
		if (trusting)
			run_trust_finish(&trust, NULL, 0);
	}
	run_monitor_close(monitor);
out:
	run_trust_release(&trust);
	benchfile_release(&trust.file);
	free(index);
	free(home);
	return rc ? rc : cmd_end_as(status);
}
