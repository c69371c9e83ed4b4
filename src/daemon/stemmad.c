/* stemmad.c - the service of a node: tracer, aggregator, logs and sockets, wired together (doc/node.md).
 *
 * One thread and one loop. What takes long (bringing a store up to date) is done by a process of its own. */
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/node_tracer/helper.h"
#include "capture/node_tracer/tracer.h"
#include "daemon/accounts.h"
#include "daemon/answer.h"
#include "daemon/become.h"
#include "daemon/control.h"
#include "daemon/figures.h"
#include "daemon/grain.h"
#include "daemon/logs.h"
#include "daemon/request.h"
#include "daemon/service.h"
#include "daemon/settings.h"
#include "daemon/world.h"
#include "node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_TRACER = 1, AT_SIGNAL, AT_TIMER, AT_GRAIN, AT_HELPER, AT_CONTROL };

struct daemon {
	struct settings settings;
	struct rules *rules;
	struct helper *helper;
	struct tracer *tracer;
	struct node *node;
	struct logs *logs;
	struct control *control;
	struct grain *grain;
	struct figures *figures;
	struct load load;
	/* Users of whom openings and closes are not recorded, for most of what was too much came from them. */
	struct passed {
		uint32_t uid;
		unsigned quiet;      /* seconds */
		uint64_t rate;       /* events a second, when it began */
		uint64_t seen, said; /* events that were passed over: at the last look; told by a gap */
		int64_t since;       /* of what no gap tells yet */
	} passed[TRACER_PASS];
	unsigned n_passed;
	int64_t stepped; /* when the step was taken that is in force */
	int64_t helped;  /* the helper was there then */
	uint64_t asked;  /* ns of processor time that questions took, but for the events that were read meanwhile */
	struct answer_limits answers;
	int epoll, signals, timer, lock;
	uint64_t seconds;
	const char *config;
	struct texts {
		const char **v;
		size_t n;
	} ignore, mounts, options;
	bool ending, failing;
	bool lame; /* the helper is gone */
};

static __attribute__((format(printf, 1, 2))) void print_message(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("stemmad: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

static int print_error(const struct err *err)
{
	print_message("%s", err->text[0] ? err->text : "out of memory");
	if (err->hint[0])
		fprintf(stderr, "hint: %s\n", err->hint);
	return 125;
}

/* ---- settings ---- */

/* arg: counts them, or NULL. */
static void report_setting_slip(void *arg, const char *line)
{
	unsigned *n = arg;
	print_message("%s", line);
	if (n)
		++*n;
}

static void add_rule(void *arg, const char *row)
{
	struct daemon *d = arg;
	struct err err = {0};
	if (rules_add(d->rules, row, &err) < 0)
		print_message("%s", err.text);
}

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

static void release_setting_texts(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->v[i]);
	free(t->v);
	*t = (struct texts){0};
}

static int read_settings(struct daemon *d, bool again, struct err *err)
{
	struct settings s = {0};
	unsigned slips = 0;
	int r = settings_read(&s, d->config, report_setting_slip, &slips, err);
	if (r == 0 && again && slips) {
		err_set(err, 0, "%u line%s of the settings cannot be taken", slips, slips > 1 ? "s" : "");
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
		print_message("there is no group '%s', so nobody but root is asked for all users ('admins')", admins);
	return 0;
}

/* ---- the world ---- */

static uint64_t add_to_log(void *arg, uint32_t uid, const struct event *ev)
{
	struct daemon *d = arg;
	return logs_add(d->logs, uid, ev);
}

static void begin_log_part(void *arg, uint32_t uid)
{
	struct daemon *d = arg;
	node_part(d->node, uid, world_now());
}

static void begin_log_session(void *arg, uint32_t uid)
{
	struct daemon *d = arg;
	node_session(d->node, uid, world_now());
}

static void report_log_trouble(void *arg, uint32_t uid, const char *text)
{
	(void)arg;
	print_message("the log of user %u cannot be written: %s", uid, text);
}

static void handle_tracer_event(void *arg, const struct tracer_event *ev)
{
	struct daemon *d = arg;
	if (ev->kind == TRACER_WATCH && !ev->watch.watched)
		print_message("files of '%.*s' are not seen: %s", (int)ev->watch.mount.n, ev->watch.mount.p,
		              ev->watch.why ? ev->watch.why : "not watched");
	node_event(d->node, ev);
}

/* Without the helper no file could be told from another. What was told up to now is kept, and the daemon ends: the
 * right to have a new one was given up with all others. */
static void without_helper(struct daemon *d)
{
	int64_t now = world_now();
	print_message("the helper has ended, so nothing more can be recorded; the daemon has to be started again");
	node_gap(d->node, TERM_gap_recorder_died, 0, d->helped, now, "the daemon's helper ended");
	d->ending = d->lame = true;
}

static void drain_tracer(struct daemon *d)
{
	struct err err = {0};
	int64_t now = world_now();
	if (d->lame)
		return;
	int r = d->tracer ? tracer_drain(d->tracer, handle_tracer_event, d, &err) : 0;
	if (r < 0 && !d->failing)
		print_message("%s", err.text);
	d->failing = r < 0; /* said once, not a hundred times a second */
	if (helper_gone(d->helper))
		without_helper(d);
	else
		d->helped = now;
	node_settle(d->node, world_now());
}

/* ---- figures ---- */

/* Its own: programs and libraries are in memory once for all. fd: of its `statm`; closed. */
static uint64_t memory_in(int fd)
{
	char text[64] = "";
	unsigned long long size = 0, resident = 0, shared = 0;
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n > 0)
		sscanf(text, "%llu %llu %llu", &size, &resident, &shared);
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The helper opens its own: with hidepid it is not there for others. */
static uint64_t memory_of_helper(struct helper *h)
{
	int fd = -1;
	return helper_open(h, helper_pid(h), HELPER_STATM, &fd) < 0 ? 0 : memory_in(fd);
}

static uint64_t rusage_cpu_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000u;
}

static void figures_of(const struct daemon *d, struct figures_now *ret)
{
	struct figures_now f = {.time = world_now(), .step = d->load.step, .granted = grain_count(d->grain)};
	struct rusage u;
	tracer_stats(d->tracer, &f.tracer);
	node_stats(d->node, &f.node);
	getrusage(RUSAGE_SELF, &u);
	f.cpu = rusage_cpu_ns(&u);
	f.asked = d->asked;
	if (d->control)
		control_stats(d->control, &f.control);
	f.memory = memory_in(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) + memory_of_helper(d->helper);
	struct procfs p;
	procfs_clear(&p);
	if (procfs_cpu(helper_pid(d->helper), &p) == 0)
		f.cpu += p.cpu;
	f.log_lost = logs_lost(d->logs);
	f.log_bytes = logs_bytes(d->logs);
	f.log_events = logs_written(d->logs);
	f.log_removed = logs_removed(d->logs);
	*ret = f;
}

static void emit_passed_gaps(struct daemon *d, int64_t now)
{
	for (unsigned i = 0; i < d->n_passed; i++) {
		struct passed *p = &d->passed[i];
		uint64_t all = tracer_passed(d->tracer, p->uid);
		if (all > p->said)
			logs_gap(
			    d->logs, p->uid, TERM_gap_limit, all - p->said, p->since, now,
			    "this user's events were more than there is time for: openings and closes of files are not recorded");
		p->said = all;
		p->since = now;
	}
}

/* ---- what the socket asks ---- */

static void bring_up(void *arg)
{
	struct daemon *d = arg;
	drain_tracer(d);
	drain_tracer(d); /* what the first had to wait for */
	node_emit_all(d->node, world_now());
	emit_passed_gaps(d, world_now());
	logs_flush(d->logs, world_now());
	logs_emit_gaps(d->logs, world_now());
}

static void format_stats(void *arg, const char *operands, struct buf *out)
{
	struct daemon *d = arg;
	struct figures_now now;
	figures_of(d, &now);
	if (!strcmp(operands, "metrics"))
		figures_metrics(&now, out);
	else
		figures_table(d->figures, &now, 60, out);
}

static int change_granularity(void *arg, const char *operands, uint32_t uid, bool admin, struct buf *out,
                              struct err *err)
{
	struct daemon *d = arg;
	if (!strcmp(operands, "launcher")) {
		buf_printf(out, "%s", settings_text(&d->settings, SETTING_launcher));
		return 0;
	}
	return grain_ask(d->grain, operands, uid, admin, err);
}

static bool is_admin(void *arg, uint32_t uid, uint32_t gid)
{
	const struct daemon *d = arg;
	return world_is_member(uid, gid, settings_text(&d->settings, SETTING_admins));
}

/* ---- the state that is kept between two daemons ---- */

/* One daemon a node. */
static int lock_base(struct daemon *d, struct err *err)
{
	char path[4096];
	const char *base = settings_text(&d->settings, SETTING_base), *run = settings_text(&d->settings, SETTING_run);
	snprintf(path, sizeof(path), "%s/node", base);
	int r = io_mkdirs(path, 0700);
	if (r < 0)
		return err_set(err, -r, "cannot make '%s'", path);
	if (chmod(base, 0700) < 0)
		return err_set(err, errno, "cannot keep '%s' to itself", base);
	r = io_mkdirs(run, 0755);
	if (r < 0)
		return err_set(err, -r, "cannot make '%s'", run);
	snprintf(path, sizeof(path), "%s/node/lock", base);
	if (d->lock >= 0)
		close(d->lock); /* of a folder that is not there any more */
	d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock < 0)
		return err_set(err, errno, "cannot open '%s'", path);
	if (flock(d->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, 0, "another stemmad is recording to '%s'", base), -EBUSY;
	return 0;
}

static void state_path(const struct daemon *d, const char *tail, char *ret, size_t size)
{
	snprintf(ret, size, "%s/node/state%s", settings_text(&d->settings, SETTING_base), tail);
}

/* `when`: all that happened before then is on disk, so that a gap from there on tells of all that a kill takes. */
static void save_state(struct daemon *d, int64_t when, bool clean)
{
	char path[4096], new[4096];
	struct buf b = {0};
	state_path(d, "", path, sizeof(path));
	state_path(d, ".new", new, sizeof(new));
	buf_printf(&b, "stemmad 1 %lld %s\n", (long long)when, clean ? "clean" : "running");
	node_save(d->node, &b);
	int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 && errno == ENOENT) { /* somebody took the folder away */
		struct err err = {0};
		if (lock_base(d, &err) < 0)
			print_message("%s", err.text);
		fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	}
	bool ok = fd >= 0 && !b.failed && io_write(fd, b.p, b.n, NULL) == 0;
	if (fd >= 0)
		close(fd);
	if (!ok || rename(new, path) < 0)
		unlink(new); /* the next time; a gap then begins earlier than it was */
	buf_release(&b);
}

/* Tells and writes what there is, and then until when that is all. Not while more waits in the kernel than a drain
 * takes, or where the disk is full: then what the file says stays so. */
static void keep_state(struct daemon *d)
{
	enum { WAITING = 65536 };
	struct tracer_stats s;
	int64_t now = world_now();
	drain_tracer(d);
	drain_tracer(d); /* what the first had to wait for */
	node_emit_all(d->node, now);
	tracer_stats(d->tracer, &s);
	if (logs_flush(d->logs, now) && s.ring_bytes + s.queue_bytes < WAITING)
		save_state(d, node_emitted_until(d->node, now), false);
}

/* When the daemon before was last heard of; 0: there was none. */
static int64_t load_state(struct daemon *d, bool *ret_clean)
{
	char path[4096], word[16] = "";
	struct buf b = {0};
	struct stat st;
	long long time = 0;
	state_path(d, "", path, sizeof(path));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && buf_room(&b, (size_t)st.st_size + 1)) {
		ssize_t n = io_pread(fd, b.p, (size_t)st.st_size, 0);
		b.n = n > 0 ? (size_t)n : 0;
		const char *text = buf_cstr(&b), *line = strchr(text, '\n');
		if (sscanf(text, "stemmad 1 %lld %15s", &time, word) == 2 && line)
			node_load(d->node, str_n(line + 1, b.n - (size_t)(line + 1 - text)));
		else
			time = 0;
	}
	if (fd >= 0)
		close(fd);
	buf_release(&b);
	*ret_clean = !strcmp(word, "clean");
	return time;
}

/* ---- each second ---- */

static void take_step(struct daemon *d, enum load_step before, const char *why)
{
	struct err err = {0};
	char text[200];
	int64_t now = world_now();
	bool down = d->load.step > before;
	snprintf(text, sizeof(text), "granularity %s to %s: %s", down ? "down" : "up", load_step_name(d->load.step), why);
	print_message("%s", text);
	grain_suspend(d->grain, d->load.step != LOAD_ACCESS);
	if ((before == LOAD_PROCESSES) != (d->load.step == LOAD_PROCESSES) &&
	    tracer_files(d->tracer, d->load.step != LOAD_PROCESSES, &err) < 0)
		print_message("%s", err.text);
	struct tracer_rate rates[3];
	size_t n = down ? tracer_rates(d->tracer, rates, 3) : 0;
	for (size_t i = 0; i < n; i++)
		print_message("process %d of user %u and what it started: %llu events", rates[i].pid, rates[i].uid,
		              (unsigned long long)rates[i].events);
	node_gap(d->node, TERM_gap_limit, 0, down ? now : d->stepped, now, text);
	d->stepped = now;
}

static void write_metrics(const struct daemon *d)
{
	const char *path = settings_text(&d->settings, SETTING_metrics);
	char new[4096];
	struct buf b = {0};
	struct figures_now now;
	if (!*path || snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return;
	figures_of(d, &now);
	figures_metrics(&now, &b);
	int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0) {
		bool ok = io_write(fd, b.p, b.n, NULL) == 0;
		close(fd);
		if (!ok || rename(new, path) < 0)
			unlink(new);
	}
	buf_release(&b);
}

/* Where one user caused half of all that was too much or more, that one is recorded less, and not all. */
static bool pass_busiest(struct daemon *d, uint32_t uid, uint64_t events, uint64_t all, const char *why)
{
	if (events < 1000 || events < all / 2 || d->n_passed == TRACER_PASS || !tracer_pass(d->tracer, uid, true))
		return false;
	d->passed[d->n_passed++] = (struct passed){.uid = uid, .rate = events, .since = world_now()};
	print_message("%s: of user %u, who had %llu of %llu events in a second, openings and closes are not recorded", why,
	              uid, (unsigned long long)events, (unsigned long long)all);
	return true;
}

/* Below a quarter of what it was for half a minute. */
static void look_at_passed(struct daemon *d)
{
	for (unsigned i = 0; i < d->n_passed;) {
		struct passed *p = &d->passed[i];
		uint64_t all = tracer_passed(d->tracer, p->uid);
		p->quiet = all - p->seen < p->rate / 4 ? p->quiet + 1 : 0;
		p->seen = all;
		if (p->quiet < LOAD_DOWN) {
			i++;
			continue;
		}
		emit_passed_gaps(d, world_now());
		tracer_pass(d->tracer, p->uid, false);
		print_message("of user %u openings and closes are recorded again: quiet", p->uid);
		*p = d->passed[--d->n_passed];
	}
}

static void look_at_load(struct daemon *d)
{
	struct figures_now f;
	figures_of(d, &f);
	figures_add(d->figures, &f);
	struct load_rates now, ten;
	const char *why = NULL;
	/* Free pages between others stay, and it would never be below half of its limit again. A millisecond, in a second
	 * in which there is memory to win. */
	if (f.memory > (uint64_t)(d->load.limit.memory / 2) && d->seconds % 5 == 0)
		malloc_trim(0);
	figures_rates(d->figures, 1, &now);
	figures_rates(d->figures, 10, &ten);
	/* Over ten seconds, and still. */
	now.cpu = now.cpu < ten.cpu ? now.cpu : ten.cpu;
	enum load_step before = d->load.step;
	uint32_t uid = 0;
	uint64_t events, all;
	bool some = node_busiest(d->node, &uid, &events, &all);
	look_at_passed(d);
	if (!load_tick(&d->load, &now, &why))
		return;
	bool down = d->load.step > before, access = before == LOAD_ACCESS && grain_count(d->grain);
	if (down && some && !access && pass_busiest(d, uid, events, all, why))
		d->load.step = before;
	else
		take_step(d, before, why);
}

static void handle_second(struct daemon *d)
{
	int64_t now = world_now();
	drain_tracer(d);
	node_tick(d->node, now);
	logs_flush(d->logs, now);
	grain_tick(d->grain);
	control_tick(d->control);
	look_at_load(d);
	if (d->seconds % 10 == 0) {
		logs_tend(d->logs, now);
		emit_passed_gaps(d, now);
		keep_state(d);
		write_metrics(d);
	}
	if (d->seconds % 60 == 59) {
		struct err err = {0};
		tracer_totals(d->tracer, handle_tracer_event, d, &err);
	}
	d->seconds++;
	service_notify("WATCHDOG=1");
}

static void reload_settings(struct daemon *d)
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
	print_message(read ? "settings were read again" : "settings stay as they are");
}

static void handle_signal_fd(struct daemon *d)
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
				control_reaped(d->control, pid, status, rusage_cpu_ns(&u));
		} else {
			d->ending = true;
		}
	}
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What a question takes is the asker's affair and no reason to record less. The events that are read on its account are
 * not the question's. */
static void handle_control(struct daemon *d, uint64_t n)
{
	struct tracer_stats before, after;
	uint64_t began = thread_cpu_ns();
	tracer_stats(d->tracer, &before);
	control_ready(d->control, n);
	tracer_stats(d->tracer, &after);
	uint64_t took = thread_cpu_ns() - began, read = after.cpu - before.cpu;
	d->asked += took > read ? took - read : 0;
}

static void run_event_loop(struct daemon *d)
{
	struct epoll_event ev[32];
	while (!d->ending) {
		int n = epoll_wait(d->epoll, ev, 32, -1);
		if (n < 0 && errno != EINTR)
			return;
		for (int i = 0; i < n; i++) {
			uint64_t at = ev[i].data.u64, times;
			if (at == AT_TRACER)
				drain_tracer(d);
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

static int watch_input(struct daemon *d, int fd, uint64_t at)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = at};
	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &e);
}

static const char *describe_tracer_mode(const struct tracer_caps *caps)
{
	bool files = false;
	for (unsigned i = 0; i < caps->n; i++) {
		if (!strcmp(caps->cap[i].name, "files"))
			files = caps->cap[i].works;
		if (!caps->cap[i].works)
			print_message("%s: %s", caps->cap[i].name, caps->cap[i].text);
	}
	return files ? "node/fanotify" : "node/processes";
}

static void mark_user_known(void *arg, uint32_t uid)
{
	struct daemon *d = arg;
	node_known(d->node, uid);
}

static int start_daemon(struct daemon *d, struct err *err)
{
	int r = read_settings(d, false, err);
	const char *user = r == 0 ? settings_text(&d->settings, SETTING_user) : "";
	if (*user)
		r = become_user(user, settings_text(&d->settings, SETTING_base), settings_text(&d->settings, SETTING_run), err);
	if (r == 0)
		r = lock_base(d, err);
	signal(SIGPIPE, SIG_IGN); /* the helper's, too */
	if (r == 0)
		r = helper_start(err, &d->helper);
	if (r < 0)
		return r;
	const struct settings *s = &d->settings;
	d->rules = rules_new();
	d->figures = figures_new();
	if (!d->rules || !d->figures)
		return -ENOMEM;
	settings_list(s, SETTING_rule, add_rule, d);
	settings_list(s, SETTING_ignore, texts_append, &d->ignore);
	texts_append(&d->ignore, settings_text(s, SETTING_base));
	settings_list(s, SETTING_mount, texts_append, &d->mounts);
	struct tracer_options to = {.ring_kb = (unsigned)(settings_figure(s, SETTING_ring) / 1024),
	                            .ignore = d->ignore.v,
	                            .mounts = d->mounts.v,
	                            .helper = d->helper,
	                            .network = !strcmp(settings_text(s, SETTING_network), "yes")};
	int64_t began = d->helped = world_now();
	r = tracer_open(&to, &d->tracer, err);
	if (r < 0)
		return r;
	struct node_options no = {
	    .keep_all = !strcmp(settings_text(s, SETTING_keep), "all"), .rules = d->rules, .boot = world_boot()};
	struct node_world w = {.arg = d, .add = add_to_log};
	world_init(&w, d->helper);
	d->node = node_new(&no, &w);
	if (!d->node)
		return -ENOMEM;
	struct logs_options lo = {.base = settings_text(s, SETTING_base),
	                          .mode = describe_tracer_mode(tracer_has(d->tracer)),
	                          .limits = {.total = (uint64_t)settings_figure(s, SETTING_max_size),
	                                     .user = (uint64_t)settings_figure(s, SETTING_user_size),
	                                     .max_age = (int64_t)settings_figure(s, SETTING_max_age)},
	                          .rate = (uint64_t)settings_figure(s, SETTING_user_rate),
	                          .floor = (uint64_t)settings_figure(s, SETTING_min_free)};
	struct logs_hooks hooks = {d, begin_log_part, begin_log_session, report_log_trouble};
	r = logs_open(&lo, &hooks, err, &d->logs);
	if (r < 0)
		return r;
	bool clean = false;
	int64_t last = load_state(d, &clean);
	drain_tracer(d); /* the processes that are there */
	int64_t now = world_now();
	if (last) {
		shares_users(settings_text(s, SETTING_base), last, mark_user_known, d);
		node_gap(d->node, clean ? TERM_gap_lost : TERM_gap_recorder_died, 0, last, now,
		         clean ? "the daemon was not running" : "the daemon was killed, or the machine stopped");
	}
	logs_tend(d->logs, now);
	/* A kill from here on leaves an interval that the next one can tell of. */
	if (logs_flush(d->logs, now))
		save_state(d, began, false);
	r = grain_open(settings_text(s, SETTING_run), d->node, d->tracer, err, &d->grain);
	if (r < 0)
		return r;

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
	char path[4096];
	snprintf(path, sizeof(path), "%s/socket", settings_text(s, SETTING_run));
	struct control_hooks ch = {d, bring_up, format_stats, change_granularity, is_admin};
	r = control_open(path, settings_text(s, SETTING_base), d->epoll, AT_CONTROL, &ch, &d->answers, err, &d->control);
	if (r == 0 && (r = service_drop(0)) < 0)
		err_set(err, -r, "cannot give up capabilities");
	return r;
}

static void stop_daemon(struct daemon *d)
{
	service_notify("STOPPING=1");
	if (d->node && d->logs && d->tracer) {
		drain_tracer(d);
		node_detach(d->node, world_now());
		logs_flush(d->logs, world_now());
		logs_emit_gaps(d->logs, world_now());
		int64_t now = world_now(), missed = logs_missed(d->logs); /* what no gap tells of is told by the next daemon */
		if (d->control && !d->lame)
			save_state(d, missed < now ? missed : now, true);
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

static void print_daemon_usage(FILE *out)
{
	fputs("usage: stemmad [--config FILE] [--user NAME] [--keep=all] [-o KEY=VALUE]...\n"
	      "       stemmad --stats | --metrics\n"
	      "Records what all processes of this node do to files.\n\n"
	      "  --config FILE    settings, instead of " SETTINGS_FILE "\n"
	      "  --user NAME      become this user, and keep no more of root than recording needs\n"
	      "  --keep=all       keep every process, not the representative ones alone\n"
	      "  -o KEY=VALUE     a setting\n"
	      "  --stats          what the daemon that runs says of itself\n"
	      "  --metrics        the same as OpenMetrics text\n"
	      "  --version, --help\n",
	      out);
}

int main(int argc, char **argv)
{
	struct daemon d = {.epoll = -1, .signals = -1, .timer = -1, .lock = -1};
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
			d.config = argv[++i];
		} else if (!strcmp(argv[i], "--user") && i + 1 < argc) {
			char *option = NULL;
			if (asprintf(&option, "user=%s", argv[++i]) < 0)
				return print_error(&err);
			texts_append(&d.options, option);
			free(option);
		} else if (!strncmp(argv[i], "--keep=", 7)) {
			texts_append(&d.options, argv[i] + 2);
		} else if (!strcmp(argv[i], "-o") && i + 1 < argc) {
			texts_append(&d.options, argv[++i]);
		} else {
			print_daemon_usage(stderr);
			return 2;
		}
	}
	umask(022); /* what others may reach is made so; what they may not is made so, too */
	int r = start_daemon(&d, &err), status = 0;
	if (r < 0) {
		status = print_error(&err);
	} else {
		service_notify("READY=1");
		print_message("recording");
		run_event_loop(&d);
	}
	stop_daemon(&d);
	return d.lame ? 125 : status;
}
