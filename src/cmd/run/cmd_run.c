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

/* Finds the word of an option's value. *ret: its place in words; it stays where value is NULL. 0; -1: it is none. */
static int parse_choice(const char *value, const char *const words[], int *ret)
{
	for (int i = 0; value && words[i]; i++)
		if (!strcmp(value, words[i])) {
			*ret = i;
			return 0;
		}
	return value ? -1 : 0;
}

/* After how many stops of a call's place code is put there; 0: never. setting: off, always, or auto. */
static unsigned inject_after(const char *setting)
{
	enum { STOPS = 100 }; /* as many cost what putting the code there does */
	return !strcmp(setting, "off") ? 0 : !strcmp(setting, "always") ? 1 : STOPS;
}

/* What is called when the command has ended must be there before it begins. A status, reported. */
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

enum digest_choice { DIGEST_OFF, DIGEST_LAZY, DIGEST_ON };

/* What the options, checked, say of how to record. */
struct run_choice {
	int mode, transport, granularity, level, digest; /* digest: enum digest_choice */
	bool exact;
	const char *hdf5;
};

/* What the options say of how to record. A status, reported. */
static int choose_capture(struct cmd *c, struct opts_run *o, struct run_choice *ret)
{
	static const char *const modes[] = {"complete", "safe", "tree", "off", NULL};
	static const char *const transports[] = {"auto", "notify", "trace", "proc", NULL};
	static const char *const levels[] = {"1", "2", "3", NULL};
	static const char *const granularities[] = {"open", "access", NULL};
	*ret = (struct run_choice){.mode = CAPTURE_COMPLETE, .transport = TRANSPORT_AUTO};
	if (parse_choice(o->capture, modes, &ret->mode) < 0)
		return report_usage(c, "capture mode '%s' is not one of complete, safe, tree, off", o->capture);
	if (!take_stacks(o))
		return report_usage(c, "--trace-stacks and --trace-calls name different programs: name them in one option");
	ret->exact = o->exact || o->trace_calls;
	if (o->level) {
		/* A setting is no more than a default; an option beside it is another wish. */
		if (o->capture != config_get(&c->config, CONFIG_capture) || o->exact)
			return report_usage(c, "--level cannot be combined with --capture or --exact");
		if (parse_choice(o->level, levels, &ret->level) < 0)
			return report_usage(c, "level '%s' is not one of 1, 2, 3", o->level);
		ret->mode = ret->level == 0 ? CAPTURE_OFF : ret->level == 1 ? CAPTURE_TREE : CAPTURE_COMPLETE;
	}
	if (parse_choice(o->transport, transports, &ret->transport) < 0)
		return report_usage(c, "transport '%s' is not one of auto, notify, trace, proc", o->transport);
	if (parse_choice(o->granularity, granularities, &ret->granularity) < 0)
		return report_usage(c, "granularity '%s' is not one of open, access", o->granularity);
	return STATUS_OK;
}

/* Do they go together? A status, reported. */
static int check_choice(struct cmd *c, const struct opts_run *o, const struct run_choice *k)
{
	const char *asks = o->exact ? "--exact" : o->trace_stacks ? "--trace-stacks" : "--trace-calls";
	if (k->exact && k->mode != CAPTURE_COMPLETE)
		return report_usage(c, "%s needs --capture=complete", asks);
	if (o->count && (k->mode == CAPTURE_TREE || k->mode == CAPTURE_OFF))
		return report_usage(c, "--count cannot be combined with --capture=%s", k->mode == CAPTURE_OFF ? "off" : "tree");
	if (o->count && k->mode == CAPTURE_COMPLETE && (k->transport == TRANSPORT_TRACE || k->transport == TRANSPORT_PROC))
		return report_usage(c, "--count cannot be combined with --transport=%s; --exact counts with ptrace",
		                    o->transport);
	if (k->exact && (k->transport == TRANSPORT_NOTIFY || k->transport == TRANSPORT_PROC))
		return report_usage(c, "%s needs ptrace and cannot be combined with --transport=%s", asks, o->transport);
	if (k->granularity && !k->exact && !o->count && k->level != 2)
		return report_usage(c, "--granularity=access needs --exact or --count");
	return STATUS_OK;
}

/* A status, reported. */
static int choose_digest(struct cmd *c, const struct opts_run *o, struct run_choice *k)
{
	static const char *const words[] = {"off", "lazy", "on", NULL};
	const char *word = !o->digest ? config_get(&c->config, CONFIG_digest) : *o->digest ? o->digest : "on";
	if (parse_choice(word, words, &k->digest) < 0)
		return report_usage(c, "--digest=%.100s is not one of off, lazy, on", word);
	return STATUS_OK;
}

/* A status, reported. */
static int check_labels_and_hdf5(struct cmd *c, const struct opts_run *o, struct run_choice *k)
{
	for (size_t i = 0; i < o->label.n; i++)
		if (!strchr(o->label.v[i], '='))
			return report_usage(c, "label '%s' is not KEY=VALUE", o->label.v[i]);
	k->hdf5 = !o->hdf5 ? config_get(&c->config, CONFIG_hdf5) : *o->hdf5 ? o->hdf5 : "on";
	if (!config_allows(CONFIG_hdf5, k->hdf5))
		return report_usage(c, "--hdf5=%.100s is not a list of: %s", k->hdf5, config_values(CONFIG_hdf5));
	return STATUS_OK;
}

/* What goes along with the command. */
struct companions {
	struct run_trust trust;
	struct run_trace trace;
	struct run_functions functions;
	struct run_monitor *monitor;
	bool trusting, tracing;
	bool later; /* digests, when all is over */
};

/* Begins what accompanies the command: limits, monitor, traces. All that must be there before the command begins. A
 * status, reported; then what began has ended. */
static int begin_companions(const struct opts_run *o, const char *home, struct run_options *opts, struct companions *w)
{
	int rc = load_before(opts->stay, w->trusting || w->tracing);
	if (rc != STATUS_OK)
		return rc;
	if (w->tracing) {
		opts->place = &w->trust.place;
		run_trace_begin(&w->trace, o, home);
		opts->calls = o->trace_calls ? w->trace.folder : NULL;
		opts->calls_of = w->trace.calls_of ? w->trace.calls_of : "";
		opts->stacks = w->trace.stacks;
	}
	if (o->trace_functions.n && (rc = run_functions_begin(&w->functions, o, w->trace.folder)) != STATUS_OK) {
		w->trace.quiet = true; /* it was said */
		run_trace_finish(&w->trace, "");
	}
	return rc;
}

/* Runs it. STATUS_OK, and how it ended; or the status to end with. */
static int run_with_companions(const struct opts_run *o, struct run_options *opts, struct companions *w,
                               int *ret_status)
{
	struct err err = {0};
	const char *note = NULL;
	int rc = capture_run(opts, &err, ret_status, &note);
	run_functions_end(&w->functions);
	if (w->tracing)
		run_trace_finish(&w->trace, rc < 0 ? "" : w->trust.place.run);
	if (rc < 0)
		return report_err(&err, STATUS_SELF);
	if (note && !o->quiet)
		report("%s", note);
	*ret_status = run_monitor_finish(w->monitor, *ret_status);
	if (w->trusting)
		run_trust_finish(&w->trust, NULL, 0);
	if (w->later)
		run_trust_later(&w->trust);
	return rc;
}

/* Records the command with what goes along: checks, limits, traces, a summary. index: of the record in home, NULL
 * where it cannot be told; both NULL where the record cannot be kept. */
static int record_command(struct cmd *c, const struct opts_run *o, enum digest_choice digest, struct run_options *opts,
                          const char *index, int *ret_status)
{
	struct err err = {0};
	struct companions w = {.trust = {.machine = o->machine,
	                                 .digest = digest == DIGEST_ON,
	                                 .keep = o->keep_inputs,
	                                 .quiet = o->quiet,
	                                 .system_extra = config_get(&c->config, CONFIG_system),
	                                 .argv = c->operands},
	                       .trusting = o->machine || digest == DIGEST_ON || o->keep_inputs || o->results,
	                       .later = digest == DIGEST_LAZY && !o->keep_inputs,
	                       .tracing = o->trace || o->trace_full || o->trace_program.n || o->trace_calls ||
	                                  o->trace_functions.n};
	if (o->results && benchfile_load(o->results, &err, &w.trust.file) < 0) {
		benchfile_release(&w.trust.file);
		return report_err(&err, STATUS_USAGE);
	}
	if (w.trusting || w.later) {
		opts->place = &w.trust.place;
		run_trust_begin(&w.trust, opts->home, index);
		opts->keeper = w.trust.early.folder ? &w.trust.early.keeper : NULL;
	}
	int rc = run_monitor_open(c, o, opts, &w.monitor);
	if (rc == STATUS_OK) {
		rc = begin_companions(o, opts->home, opts, &w);
		if (rc == STATUS_OK)
			rc = run_with_companions(o, opts, &w, ret_status);
		run_monitor_close(w.monitor);
	}
	run_trust_release(&w.trust);
	benchfile_release(&w.trust.file);
	return rc;
}

/* Gives the exit status: that of the command if there was no error of its own. */
int cmd_run(struct cmd *c, const struct opts_run *given)
{
	struct opts_run with = *given;
	const struct opts_run *o = &with;
	struct run_choice k;
	char *home = NULL, *index = NULL;
	int ended = 0;
	if (o->pid)
		return run_monitor_attach(c, o);
	if (c->n_operands == 0)
		return report_usage(c, "no command to run");
	int rc = choose_capture(c, &with, &k);
	if (rc == STATUS_OK)
		rc = check_choice(c, o, &k);
	if (rc == STATUS_OK)
		rc = check_labels_and_hdf5(c, o, &k);
	if (rc == STATUS_OK)
		rc = choose_digest(c, o, &k);
	if (rc != STATUS_OK)
		return rc;
	/* A record that cannot be kept is said, but never keeps the command from running. */
	struct err where = {0};
	if (store_places(cmd_home(c), &where, &home, NULL) < 0)
		home = NULL;
	else if (store_places(cmd_home(c), NULL, NULL, &index) < 0)
		index = NULL;
	struct run_options opts = {.argv = c->operands,
	                           .home = home,
	                           .no_home = where.text,
	                           .labels = (const char *const *)o->label.v,
	                           .mode = (enum capture_mode)k.mode,
	                           .transport = (enum capture_transport)k.transport,
	                           .inject = inject_after(config_get(&c->config, CONFIG_inject)),
	                           .count = o->count || (o->level && k.level == 2),
	                           .exact = k.exact,
	                           .hdf5 = strcmp(k.hdf5, "off") != 0 ? k.hdf5 : NULL,
	                           .xattr = o->xattr || !strcmp(config_get(&c->config, CONFIG_xattr), "on"),
	                           .unread_rings = !strcmp(config_get(&c->config, CONFIG_io_uring), "off"),
	                           .mpi = o->mpi,
	                           .autolog = o->autolog,
	                           .narrow = k.granularity == 1,
	                           .say = o->quiet ? NULL : report_line};
	rc = record_command(c, o, (enum digest_choice)k.digest, &opts, index, &ended);
	free(index);
	free(home);
	return rc ? report_lack(rc) : cmd_end_as(ended);
}
