/* stemmad.c - the service of a node: tracer, aggregator, logs and sockets, wired together (doc/node.md).
 *
 * One thread and one loop. What takes long (bringing a store up to date) is done by a process of its own. */
#include "daemon/stemmad.h"

#include "daemon/accounts.h"
#include "daemon/become.h"
#include "daemon/request.h"
#include "daemon/service.h"
#include "daemon/world.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_TRACER = 1, AT_SIGNAL, AT_TIMER, AT_GRAIN, AT_HELPER, AT_CONTROL };

__attribute__((format(printf, 1, 2))) void stemmad_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("stemmad: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* Gives the exit status. */
static int print_error(const struct err *err)
{
	stemmad_say("%s", err->text[0] ? err->text : "out of memory");
	if (err->hint[0])
		fprintf(stderr, "hint: %s\n", err->hint);
	return 125;
}

/* ---- settings ---- */

/* Reports a line of the settings that is wrong. arg: counts them, or NULL. */
static void report_setting_slip(void *arg, const char *line)
{
	unsigned *n = arg;
	stemmad_say("%s", line);
	if (n)
		++*n;
}

/* A row that is no rule is told and left out. */
static void add_rule(void *arg, const char *row)
{
	struct stemmad *d = arg;
	struct err err = {0};
	if (rules_add(d->rules, row, &err) < 0)
		stemmad_say("%s", err.text);
}

/* Appends a text to a list; without memory it is left out. */
static void texts_append(void *arg, const char *item)
{
	struct texts *t = arg;
	const char **v = realloc(t->v, (t->n + 2) * sizeof(*v));
	char *copy = strdup(item);
	if (v)
		t->v = v;
	if (!v || !copy) {
		free(copy);
		return;
	}
	v[t->n++] = copy;
	v[t->n] = NULL;
}

/* Releases a list of texts of a setting. */
static void release_setting_texts(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->v[i]);
	free(t->v);
	*t = (struct texts){0};
}

/* Reads the file of settings, with the options of the command line before it. again: while it runs; one slip and the
 * old ones stay. 0, or -errno with a sentence. */
static int read_settings(struct stemmad *d, bool again, struct err *err)
{
	struct settings s = {0};
	unsigned slips = 0;
	int r = settings_read(&s, d->config, report_setting_slip, &slips, err);
	if (r == 0 && again && slips) {
		err_set(err, 0, "%u line%s of the settings %s invalid", slips, slips > 1 ? "s" : "", slips > 1 ? "are" : "is");
		r = -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < d->options.n; i++)
		r = settings_set(&s, d->options.v[i], err);
	if (r == 0 && again)
		r = settings_keep(&s, &d->settings, report_setting_slip, NULL);
	if (r < 0) {
		settings_release(&s);
		return r;
	}
	settings_release(&d->settings);
	d->settings = s;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double memory = settings_figure(&s, SETTING_max_memory);
	d->load.limit = (struct load_rates){.events = settings_figure(&s, SETTING_max_events),
	                                    .calls = settings_figure(&s, SETTING_max_calls),
	                                    .cpu = settings_figure(&s, SETTING_max_cpu),
	                                    .memory = memory > 0 ? memory : (double)(8 + cores) * (1 << 20)};
	d->answers = (struct answer_limits){.memory = (uint64_t)settings_figure(&s, SETTING_answer_memory),
	                                    .seconds = (uint64_t)(settings_figure(&s, SETTING_answer_time) / 1e9),
	                                    .floor = (uint64_t)settings_figure(&s, SETTING_min_free)};
	accounts_read(NULL);
	const char *admins = settings_text(&d->settings, SETTING_admins);
	if (*admins && !world_has_group(admins))
		stemmad_say("there is no group '%s' ('admins'): only root may query all users", admins);
	return 0;
}

/* ---- the world ---- */

/* Adds an event to a user's log. As logs_add. */
static uint64_t add_to_log(void *arg, uint32_t uid, const struct event *ev)
{
	struct stemmad *d = arg;
	return logs_add(d->logs, uid, ev);
}

/* ns of the daemon's clock. */
static void begin_log_part(void *arg, uint32_t uid)
{
	struct stemmad *d = arg;
	node_part(d->node, uid, world_now());
}

/* ns of the daemon's clock. */
static void begin_log_session(void *arg, uint32_t uid)
{
	struct stemmad *d = arg;
	node_session(d->node, uid, world_now());
}

/* Reports what is wrong with the log of a user. */
static void report_log_trouble(void *arg, uint32_t uid, const char *text)
{
	(void)arg;
	stemmad_say("the log of user %u: %s", uid, text);
}

/* Takes an event of the tracer. Also says which files cannot be observed. */
static void handle_tracer_event(void *arg, const struct tracer_event *ev)
{
	struct stemmad *d = arg;
	if (ev->kind == TRACER_WATCH && !ev->watch.watched)
		stemmad_say("files of '%.*s' are not observed: %s", (int)ev->watch.mount.n, ev->watch.mount.p,
		            ev->watch.why ? ev->watch.why : "not watched");
	node_event(d->node, ev);
}

/* Ends the daemon since its helper has ended. Without the helper no file could be told from another. What was told
 * up to now is kept, and the daemon ends: the right to have a new one was given up with all others. */
static void without_helper(struct stemmad *d)
{
	int64_t now = world_now();
	stemmad_say("the helper has ended and recording has stopped: restart the daemon");
	node_gap(d->node, TERM_gap_recorder_died, 0, d->helped, now, "the daemon's helper ended");
	d->ending = d->lame = true;
}

void stemmad_drain(struct stemmad *d)
{
	struct err err = {0};
	int64_t now = world_now();
	if (d->lame)
		return;
	int r = d->tracer ? tracer_drain(d->tracer, handle_tracer_event, d, &err) : 0;
	if (r < 0 && !d->failing)
		stemmad_say("%s", err.text);
	d->failing = r < 0; /* said once, not a hundred times a second */
	if (helper_gone(d->helper))
		without_helper(d);
	else
		d->helped = now;
	node_settle(d->node, world_now());
}

/* ---- what the socket asks ---- */

/* Writes what was seen to the logs. All that was seen is in the logs when it returns. */
static void bring_up(void *arg)
{
	struct stemmad *d = arg;
	stemmad_drain(d);
	stemmad_drain(d); /* what the first had to wait for */
	node_emit_all(d->node, world_now());
	stemmad_tell_passed(d, world_now());
	logs_flush(d->logs, world_now());
	logs_emit_gaps(d->logs, world_now());
}

/* Writes the daemon's figures. operands: "metrics", or anything else for the table. */
static void format_stats(void *arg, const char *operands, struct buf *out)
{
	struct stemmad *d = arg;
	struct figures_now now;
	stemmad_figures(d, &now);
	if (!strcmp(operands, "metrics"))
		figures_metrics(&now, out);
	else
		figures_table(d->figures, &now, 60, out);
}

/* Changes how exactly somebody is recorded. For control; out: the launcher, if that is asked for. 0; -errno with a
 * sentence. */
static int change_granularity(void *arg, const char *operands, uint32_t uid, bool admin, struct buf *out,
                              struct err *err)
{
	struct stemmad *d = arg;
	if (!strcmp(operands, "launcher")) {
		buf_printf(out, "%s", settings_text(&d->settings, SETTING_launcher));
		return 0;
	}
	return grain_ask(d->grain, operands, uid, admin, err);
}

/* Whether one of the administrators' group asks. */
static bool is_admin(void *arg, uint32_t uid, uint32_t gid)
{
	const struct stemmad *d = arg;
	return world_is_member(uid, gid, settings_text(&d->settings, SETTING_admins));
}

/* ---- each second, and what else happens ---- */

/* What is to be done each second. */
static void handle_second(struct stemmad *d)
{
	int64_t now = world_now();
	stemmad_drain(d);
	node_tick(d->node, now);
	logs_flush(d->logs, now);
	grain_tick(d->grain);
	control_tick(d->control);
	stemmad_look_at_load(d);
	if (d->seconds % 10 == 0) {
		logs_tend(d->logs, now);
		stemmad_tell_passed(d, now);
		stemmad_keep_state(d);
		stemmad_write_metrics(d);
	}
	if (d->seconds % 60 == 59) {
		struct err err = {0};
		tracer_totals(d->tracer, handle_tracer_event, d, &err);
	}
	d->seconds++;
	service_notify("WATCHDOG=1");
}

/* Settings with a mistake leave all as it is, and are told. */
static void reload_settings(struct stemmad *d)
{
	struct err err = {0};
	service_notify("RELOADING=1");
	bool read = read_settings(d, true, &err) == 0;
	if (!read)
		print_error(&err);
	logs_limits(d->logs, (uint64_t)settings_figure(&d->settings, SETTING_user_rate),
	            (uint64_t)settings_figure(&d->settings, SETTING_min_free));
	logs_again(d->logs, world_now());
	service_notify("READY=1");
	stemmad_say(read ? "settings were reread" : "settings are unchanged");
}

/* Handles signals. All signals that wait. */
static void handle_signal_fd(struct stemmad *d)
{
	struct signalfd_siginfo si;
	while (read(d->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGHUP) {
			reload_settings(d);
		} else if (si.ssi_signo == SIGCHLD) {
			struct rusage u;
			pid_t pid;
			int status;
			while ((pid = wait4(-1, &status, WNOHANG, &u)) > 0)
				control_reaped(d->control, pid, status, stemmad_cpu_of(&u));
		} else {
			d->ending = true;
		}
	}
}

/* CLOCK_THREAD_CPUTIME_ID, ns. */
static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What a question takes is the asker's affair and no reason to record less. The events that are read on its account are
 * not the question's. */
static void handle_control(struct stemmad *d, uint64_t n)
{
	struct tracer_stats before, after;
	uint64_t began = thread_cpu_ns();
	tracer_stats(d->tracer, &before);
	control_ready(d->control, n);
	tracer_stats(d->tracer, &after);
	uint64_t took = thread_cpu_ns() - began, read = after.cpu - before.cpu;
	d->asked += took > read ? took - read : 0;
}

/* Until d->ending. */
static void run_event_loop(struct stemmad *d)
{
	struct epoll_event ev[32];
	while (!d->ending) {
		int n = epoll_wait(d->epoll, ev, 32, -1);
		if (n < 0 && errno != EINTR)
			return;
		for (int i = 0; i < n; i++) {
			uint64_t at = ev[i].data.u64, times;
			if (at == AT_TRACER)
				stemmad_drain(d);
			else if (at == AT_SIGNAL)
				handle_signal_fd(d);
			else if (at == AT_TIMER && read(d->timer, &times, sizeof(times)) == sizeof(times))
				handle_second(d);
			else if (at == AT_GRAIN)
				grain_touched(d->grain);
			else if (at == AT_HELPER && !d->lame) /* it says nothing by itself but that it is gone */
				without_helper(d);
			else if (at >= AT_CONTROL)
				handle_control(d, at - AT_CONTROL);
		}
	}
}

/* ---- start and end ---- */

/* Waits for fd in the main loop. at: what epoll gives back of it. 0, -1 with errno. */
static int watch_input(struct stemmad *d, int fd, uint64_t at)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = at};
	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* The mode of a session event; says what does not work. */
static const char *describe_tracer_mode(const struct tracer_caps *caps)
{
	bool files = false;
	for (unsigned i = 0; i < caps->n; i++) {
		if (!strcmp(caps->cap[i].name, "files"))
			files = caps->cap[i].works;
		if (!caps->cap[i].works)
			stemmad_say("%s: %s", caps->cap[i].name, caps->cap[i].text);
	}
	return files ? "node/fanotify" : "node/processes";
}

/* Notes that the user has a log already. arg: the struct stemmad. The user has a log: see node_known. */
static void mark_user_known(void *arg, uint32_t uid)
{
	struct stemmad *d = arg;
	node_known(d->node, uid);
}

/* The rules and lists that the settings have, and room for figures. 0, -ENOMEM. */
static int take_settings(struct stemmad *d)
{
	const struct settings *s = &d->settings;
	d->rules = rules_new();
	d->figures = figures_new();
	if (!d->rules || !d->figures)
		return -ENOMEM;
	settings_list(s, SETTING_rule, add_rule, d);
	settings_list(s, SETTING_ignore, texts_append, &d->ignore);
	texts_append(&d->ignore, settings_text(s, SETTING_base));
	settings_list(s, SETTING_mount, texts_append, &d->mounts);
	return 0;
}

/* Starts the tracer. 0; -errno with a sentence. */
static int open_tracer(struct stemmad *d, struct err *err)
{
	const struct settings *s = &d->settings;
	struct tracer_options o = {.ring_kb = (unsigned)(settings_figure(s, SETTING_ring) / 1024),
	                           .ignore = d->ignore.v,
	                           .mounts = d->mounts.v,
	                           .helper = d->helper,
	                           .network = !strcmp(settings_text(s, SETTING_network), "yes")};
	return tracer_open(&o, &d->tracer, err);
}

/* Makes what pairs and folds the tracer's events. 0, -ENOMEM. */
static int make_node(struct stemmad *d)
{
	struct node_options o = {.keep_all = !strcmp(settings_text(&d->settings, SETTING_keep), "all"),
	                         .rules = d->rules,
	                         .boot = world_boot(),
	                         .answers = getpid()};
	struct node_world w = {.arg = d, .add = add_to_log};
	world_init(&w, d->helper);
	d->node = node_new(&o, &w);
	return d->node ? 0 : -ENOMEM;
}

/* Opens the users' logs. 0; -errno with a sentence. */
static int open_logs(struct stemmad *d, struct err *err)
{
	const struct settings *s = &d->settings;
	struct logs_options o = {.base = settings_text(s, SETTING_base),
	                         .mode = describe_tracer_mode(tracer_has(d->tracer)),
	                         .limits = {.total = (uint64_t)settings_figure(s, SETTING_max_size),
	                                    .user = (uint64_t)settings_figure(s, SETTING_user_size),
	                                    .max_age = (int64_t)settings_figure(s, SETTING_max_age)},
	                         .rate = (uint64_t)settings_figure(s, SETTING_user_rate),
	                         .floor = (uint64_t)settings_figure(s, SETTING_min_free)};
	struct logs_hooks hooks = {d, begin_log_part, begin_log_session, report_log_trouble};
	return logs_open(&o, &hooks, err, &d->logs);
}

/* Takes the processes that are there, and tells what the time since the daemon before was. began: before the tracer was
 * opened. */
static void take_up(struct stemmad *d, int64_t began)
{
	bool clean = false;
	int64_t last = stemmad_read_state(d, &clean);
	stemmad_drain(d);
	int64_t now = world_now();
	if (last) {
		shares_users(settings_text(&d->settings, SETTING_base), last, mark_user_known, d);
		node_gap(d->node, clean ? TERM_gap_lost : TERM_gap_recorder_died, 0, last, now,
		         clean ? "the daemon was not running" : "the daemon was killed, or the machine stopped");
	}
	logs_tend(d->logs, now);
	/* A kill from here on leaves an interval that the next one can tell of. */
	if (logs_flush(d->logs, now))
		stemmad_save_state(d, began, false);
}

/* What the loop waits for, but for the socket. 0; -errno with a sentence. */
static int open_loop(struct stemmad *d, struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < 4; i++)
		sigaddset(&set, ((const int[]){SIGTERM, SIGINT, SIGHUP, SIGCHLD})[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct itimerspec each_second = {{1, 0}, {1, 0}};
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->signals < 0 || d->timer < 0 || d->epoll < 0 || timerfd_settime(d->timer, 0, &each_second, NULL) < 0 ||
	    watch_input(d, tracer_fd(d->tracer), AT_TRACER) < 0 || watch_input(d, d->signals, AT_SIGNAL) < 0 ||
	    watch_input(d, d->timer, AT_TIMER) < 0 || watch_input(d, grain_fd(d->grain), AT_GRAIN) < 0 ||
	    watch_input(d, helper_fd(d->helper), AT_HELPER) < 0)
		return err_set(err, errno, "cannot wait for events");
	return 0;
}

/* Opens the socket at which users ask. 0; -errno with a sentence. */
static int open_socket(struct stemmad *d, struct err *err)
{
	const struct settings *s = &d->settings;
	char path[4096];
	snprintf(path, sizeof(path), "%s/socket", settings_text(s, SETTING_run));
	struct control_hooks hooks = {d, bring_up, format_stats, change_granularity, is_admin};
	return control_open(path, settings_text(s, SETTING_base), d->epoll, AT_CONTROL, &hooks, &d->answers, err,
	                    &d->control);
}

/* The order matters: who it is, then that it is alone, then the helper, which keeps what is given up at the end. 0,
 * -errno with a sentence. */
static int become_daemon(struct stemmad *d, struct err *err)
{
	int r = read_settings(d, false, err);
	const char *user = r == 0 ? settings_text(&d->settings, SETTING_user) : "";
	if (*user)
		r = become_user(user, settings_text(&d->settings, SETTING_base), settings_text(&d->settings, SETTING_run), err);
	if (r == 0)
		r = stemmad_lock(d, err);
	signal(SIGPIPE, SIG_IGN); /* the helper's, too */
	return r == 0 ? helper_start(err, &d->helper) : r;
}

/* Starts all parts of the daemon in the order in which each needs the ones before. 0, or -errno with a sentence. */
static int start_daemon(struct stemmad *d, struct err *err)
{
	int r = become_daemon(d, err);
	if (r == 0)
		r = take_settings(d);
	int64_t began = d->helped = world_now();
	if (r == 0)
		r = open_tracer(d, err);
	if (r == 0)
		r = make_node(d);
	if (r == 0)
		r = open_logs(d, err);
	if (r < 0)
		return r;
	take_up(d, began);
	r = grain_open(settings_text(&d->settings, SETTING_run), d->node, d->tracer, err, &d->grain);
	if (r == 0)
		r = open_loop(d, err);
	if (r == 0)
		r = open_socket(d, err);
	if (r == 0 && (r = service_drop(0)) < 0)
		err_set(err, -r, "cannot give up capabilities");
	return r;
}

/* Writes what is left, and frees all; also of one that did not start as far. */
static void stop_daemon(struct stemmad *d)
{
	service_notify("STOPPING=1");
	if (d->node && d->logs && d->tracer) {
		stemmad_drain(d);
		node_detach(d->node, world_now());
		logs_flush(d->logs, world_now());
		logs_emit_gaps(d->logs, world_now());
		int64_t now = world_now(), missed = logs_missed(d->logs); /* what no gap tells of is told by the next daemon */
		if (d->control && !d->lame)
			stemmad_save_state(d, missed < now ? missed : now, true);
	}
	control_close(d->control);
	grain_close(d->grain);
	logs_close(d->logs);
	if (d->tracer)
		tracer_close(d->tracer);
	helper_close(d->helper);
	node_free(d->node);
	figures_free(d->figures);
	rules_free(d->rules);
	settings_release(&d->settings);
	release_setting_texts(&d->ignore);
	release_setting_texts(&d->mounts);
	release_setting_texts(&d->options);
}

/* Prints what the daemon that runs says. 0, or the status to end with. */
static int ask_stats(const char *operands)
{
	struct err err = {0};
	struct buf text = {0};
	char question[64];
	int fd = -1;
	snprintf(question, sizeof(question), "stats%s%s", *operands ? " " : "", operands);
	if (request_ask(question, 5000, &err, &text, &fd) < 0)
		return print_error(&err);
	if (fd >= 0)
		close(fd);
	fputs(buf_cstr(&text), stdout);
	buf_release(&text);
	return fflush(stdout) == 0 ? 0 : 125;
}

/* Prints the usage of stemmad. */
static void print_daemon_usage(FILE *out)
{
	static const char *const lines[] = {
	    "usage: stemmad [--config FILE] [--user NAME] [--keep=all] [-o KEY=VALUE]...",
	    "       stemmad --stats | --metrics",
	    "Records what all processes of this node do to files.",
	    "",
	    "  --config FILE    configuration file (default: " SETTINGS_FILE ")",
	    "  --user NAME      run as this user, with only the privileges that recording needs",
	    "  --keep=all       keep every process (default: representative ones)",
	    "  -o KEY=VALUE     override a setting",
	    "  --stats          print statistics of the running daemon",
	    "  --metrics        print the same as OpenMetrics text",
	    "  --version        print the version",
	    "  --help           print this help",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		fprintf(out, "%s\n", lines[i]);
}

/* Reads the command line. -1: it is to record; else it is done, with this status. */
static int read_arguments(struct stemmad *d, int argc, char **argv, struct err *err)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--stats") || !strcmp(argv[i], "--metrics"))
			return ask_stats(!strcmp(argv[i], "--stats") ? "" : "metrics");
		if (!strcmp(argv[i], "--version"))
			return puts("stemmad " STEMMA_VERSION) < 0;
		if (!strcmp(argv[i], "--help")) {
			print_daemon_usage(stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--config") && i + 1 < argc) {
			d->config = argv[++i];
		} else if (!strcmp(argv[i], "--user") && i + 1 < argc) {
			char *option = NULL;
			if (asprintf(&option, "user=%s", argv[++i]) < 0)
				return print_error(err);
			texts_append(&d->options, option);
			free(option);
		} else if (!strncmp(argv[i], "--keep=", 7)) {
			texts_append(&d->options, argv[i] + 2);
		} else if (!strcmp(argv[i], "-o") && i + 1 < argc) {
			texts_append(&d->options, argv[++i]);
		} else {
			print_daemon_usage(stderr);
			return 2;
		}
	}
	return -1;
}

/* Gives the exit status; with --answer it is the process that answers one user's question. */
int main(int argc, char **argv)
{
	struct stemmad d = {.epoll = -1, .signals = -1, .timer = -1, .lock = -1};
	struct err err = {0};
	/* What a burst took shall go back when it is over: by itself the limit of what is mapped on its own, and so given
	 * back at once, grows to the largest that was freed, and a second arena would never be trimmed. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 128 * 1024);
	mallopt(M_ARENA_MAX, 1);
	if (argc == 7 && !strcmp(argv[1], "--answer")) {
		const struct answer_limits limits = {strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10),
		                                     strtoull(argv[6], NULL, 10)};
		return service_drop(1) < 0 ? 125 : answer_store(argv[2], argv[3], &limits, 0);
	}
	int r = read_arguments(&d, argc, argv, &err), status = 0;
	if (r >= 0)
		return r;
	umask(022); /* what others may reach is made so; what they may not is made so, too */
	r = start_daemon(&d, &err);
	if (r < 0) {
		status = print_error(&err);
	} else {
		service_notify("READY=1");
		stemmad_say("recording");
		run_event_loop(&d);
	}
	stop_daemon(&d);
	return d.lame ? 125 : status;
}
