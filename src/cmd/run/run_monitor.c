#include "cmd/run/run_monitor.h"
#include "base/io.h"
#include "cmd/run/run_limits.h"
#include "cmd/ui/columns.h"
#include "summary/limit.h"
#include "summary/read_any.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHORTEST 1000000 /* ns between samples */

struct run_monitor {
	struct monitor *monitor;
	struct run_limits *limits; /* NULL none */
	enum summary_form form;
	char *summary; /* absolute path; NULL: not wanted */
	bool report, quiet;
	const char *series;
	bool shown;  /* a line of --progress is on the terminal */
	mode_t mode; /* of a file that is made */
};

/* The file that is meant, as an absolute path that links lead to no more; malloc'ed. */
static char *resolve_output_path(const char *name)
{
	char *real = realpath(name, NULL);
	if (real)
		return real;
	char *copy = strdup(name), *copy2 = strdup(name), *dir = copy ? realpath(dirname(copy), NULL) : NULL, *ret = NULL;
	if (dir && copy2 && asprintf(&ret, "%s/%s", strcmp(dir, "/") ? dir : "", basename(copy2)) < 0)
		ret = NULL;
	free(copy);
	free(copy2);
	free(dir);
	return ret;
}

/* Can it be written? Found out before the command starts, without touching what is there. 0, -errno with a sentence. */
static int check_writable(const char *path, const char *given, struct err *err)
{
	struct stat st;
	if (!path)
		return err_set(err, errno, "cannot write '%s'", given);
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return err_set(err, EISDIR, "cannot write '%s'", given);
		if (access(path, W_OK) < 0)
			return err_set(err, errno, "cannot write '%s'", given);
		if (!S_ISREG(st.st_mode))
			return 0;
	}
	/* What rights, quotas and file systems make of it is known when it is done. */
	char *temporary;
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	int fd = mkostemp(temporary, O_CLOEXEC), rc = fd < 0 ? err_set(err, errno, "cannot write '%s'", given) : 0;
	if (fd >= 0) {
		close(fd);
		unlink(temporary);
	}
	free(temporary);
	return rc;
}

/* Writes a text. Into what is no regular file: a pipe, a terminal. 0, -errno with a sentence. */
static int write_through(const char *path, const struct buf *text, struct err *err)
{
	FILE *f = fopen(path, "we");
	size_t done = f ? fwrite(text->p, 1, text->n, f) : 0;
	int bad = !f || fclose(f) != 0 || done != text->n;
	return bad ? err_set(err, errno, "cannot write '%s'", path) : 0;
}

/* The new file, beside the one whose place it takes. 0 or -errno. */
static int write_and_rename(char *temporary, const char *path, mode_t mode, const struct buf *text)
{
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = io_write(fd, text->p, text->n, NULL);
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(temporary, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(temporary);
	return rc;
}

/* Whole or not at all, but for what is no regular file. 0; -ENOMEM; -errno with a sentence. */
static int replace_file(const char *path, mode_t mode, const struct buf *text, struct err *err)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	char *temporary;
	if (there && !S_ISREG(st.st_mode))
		return write_through(path, text, err);
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	int rc = write_and_rename(temporary, path, there ? st.st_mode & 07777 : mode, text);
	free(temporary);
	return rc < 0 ? err_set(err, -rc, "cannot write '%s'", path) : 0;
}

/* Writes the summary of resources to its file. 0; -errno with a sentence. */
static int write_summary(const struct run_monitor *r, const struct summary *s, struct err *err)
{
	struct buf text = {0};
	int rc = summary_write_as(r->form, s, true, &text);
	if (rc < 0 || text.failed)
		rc = err_set(err, ENOMEM, "cannot write '%s'", r->summary);
	else
		rc = replace_file(r->summary, r->mode, &text, err);
	buf_release(&text);
	return rc;
}

/* Writes the summary in the worker, when the last process has ended that outlived the command. There is nobody to
 * say to that it failed. */
static void write_final_summary(void *arg, const struct summary *s)
{
	struct run_monitor *r = arg;
	if (r->summary)
		write_summary(r, s, NULL);
}

/* The line of --progress. It is taken away before anything else is written by us; what the command writes comes behind
 * it. */
static void print_progress_line(void *arg)
{
	struct run_monitor *r = arg;
	int64_t now[FIGURES];
	struct buf b = {0};
	if (!monitor_glance(r->monitor, now))
		return;
	buf_str(&b, str_of("\r\033[Kstemma: "));
	fmt_duration(&b, (uint64_t)now[FIGURE_wall_time]);
	buf_str(&b, str_of(", CPU "));
	fmt_duration(&b, now[FIGURE_cpu_time] > 0 ? (uint64_t)now[FIGURE_cpu_time] : 0);
	buf_str(&b, str_of(", memory "));
	fmt_size(&b, now[FIGURE_memory_resident_peak] > 0 ? (uint64_t)now[FIGURE_memory_resident_peak] : 0, false);
	buf_printf(&b, ", processes %lld", (long long)now[FIGURE_processes_concurrent_peak]);
	if (!b.failed)
		io_write(2, b.p, b.n, NULL);
	r->shown = true;
	buf_release(&b);
}

/* Takes the line of progress from the terminal. Nothing if no progress stands there. */
static void clear_progress(struct run_monitor *r)
{
	if (r->shown)
		io_write(2, "\r\033[K", 4, NULL);
	r->shown = false;
}

/* What the options, checked, say of the summary. */
struct summary_choice {
	enum run_orphans orphans;
	enum summary_form form;
	int64_t interval; /* ns, 0 not given */
};

/* A status, reported. */
static int choose_summary(struct cmd *c, const struct opts_run *o, struct summary_choice *ret)
{
	static const char *const policies[] = {"detach", "wait", "kill"};
	struct err err = {0};
	int policy = 0;
	*ret = (struct summary_choice){0};
	while (o->orphans && policy < 3 && strcmp(o->orphans, policies[policy]))
		policy++;
	if (policy == 3)
		return report_usage(c, "orphans '%s' is not one of detach, wait, kill", o->orphans);
	ret->orphans = (enum run_orphans)policy;
	int form = o->summary_format ? summary_form_by_name(o->summary_format) : SUMMARY_STEMMA;
	if (form < 0)
		return report_usage(c, "summary format '%s' is not one of stemma, resource-monitor, kickstart",
		                    o->summary_format);
	ret->form = (enum summary_form)form;
	if (o->summary_format && !o->summary)
		return report_usage(c, "--summary-format needs --summary");
	if (o->file && (!o->summary || form != SUMMARY_STEMMA))
		return report_usage(c, "--file requires --summary with --summary-format=stemma");
	if (o->interval && limits_parse_time(o->interval, &err, &ret->interval) < 0)
		return report_err(&err, STATUS_USAGE);
	if (o->interval && ret->interval < SHORTEST)
		return report_usage(c, "--interval %s is too short: the shortest is 1ms", o->interval);
	return STATUS_OK;
}

/* Should nobody live to write the summary, an older one must not pass for it. */
static void remove_older_summary(struct run_monitor *r)
{
	struct stat old;
	if (r->summary && stat(r->summary, &old) == 0 && S_ISREG(old.st_mode)) {
		r->mode = old.st_mode & 07777;
		unlink(r->summary);
	}
}

/* Prepares the monitor of the command's resources. limits: NULL where there are none; taken. */
static struct run_monitor *new_run_monitor(const struct opts_run *o, enum summary_form form, struct run_limits *limits)
{
	struct run_monitor *r = calloc(1, sizeof(*r));
	if (!r) {
		run_limits_close(limits);
		return NULL;
	}
	r->limits = limits;
	r->report = o->report;
	r->form = form;
	r->quiet = o->quiet;
	r->series = o->series;
	mode_t mask = umask(0);
	umask(mask);
	r->mode = 0666 & ~mask;
	r->summary = o->summary ? resolve_output_path(o->summary) : NULL;
	return r;
}

int run_monitor_open(struct cmd *c, const struct opts_run *o, struct run_options *run, struct run_monitor **ret)
{
	struct err err = {0};
	struct summary_choice k;
	*ret = NULL;
	int status = choose_summary(c, o, &k);
	if (status != STATUS_OK)
		return status;
	run->orphans = k.orphans;
	struct run_limits *limits;
	status = run_limits_open(c, o, &limits);
	if (status != STATUS_OK)
		return status;
	bool progress = o->progress && isatty(2);
	run->stay = o->summary || o->report || progress || o->series || o->watch.n || limits;
	if (!run->stay &&
	    (run->mode == CAPTURE_OFF || !run->home || !strcmp(config_get(&c->config, CONFIG_measure), "off")))
		return STATUS_OK;
	struct run_monitor *r = new_run_monitor(o, k.form, limits);
	if (!r) /* what nobody asked for is left out */
		return run->stay ? report_err(&err, STATUS_SELF) : STATUS_OK;
	if (o->summary && check_writable(r->summary, o->summary, &err) < 0) {
		run_monitor_close(r);
		return report_err(&err, STATUS_SELF);
	}
	struct monitor_options m = {.processes = o->summary,
	                            .files = o->file,
	                            .thorough = run->stay,
	                            .interval = k.interval,
	                            .series = o->series,
	                            .footprint = run->stay,
	                            .watch = o->watch.v,
	                            .orphans = run->orphans,
	                            .waiting = progress ? print_progress_line : NULL,
	                            .waiting_arg = r,
	                            .publish = write_final_summary,
	                            .publish_arg = r,
	                            .argv = c->operands,
	                            .labels = (const char *const *)o->label.v,
	                            .nlabels = o->label.n};
	if (limits && (status = run_limits_prepare(limits, &m)) != STATUS_OK) {
		run_monitor_close(r);
		return status;
	}
	if (monitor_new(&m, &err, &r->monitor) < 0) {
		run_monitor_close(r);
		return run->stay ? report_err(&err, STATUS_SELF) : STATUS_OK;
	}
	if (limits)
		run_limits_attach(limits, r->monitor);
	remove_older_summary(r);
	run->observer = monitor_observer(r->monitor);
	*ret = r;
	return STATUS_OK;
}

int run_monitor_finish(struct run_monitor *r, int status)
{
	struct summary s;
	struct err err = {0};
	if (!r)
		return status;
	clear_progress(r);
	if (monitor_series_failed(r->monitor) && !r->quiet) {
		err_set(&err, monitor_series_failed(r->monitor), "cannot write all of '%s'", r->series);
		report_err(&err, STATUS_SELF);
		err_clear(&err);
	}
	if (!r->summary && !r->report && !r->limits)
		return monitor_was_limited(r->monitor) ? 124 << 8 : status;
	if (monitor_summary(r->monitor, &err, &s) < 0) {
		if (!r->quiet)
			report_err(&err, STATUS_SELF);
		if (r->limits && monitor_was_lost(r->monitor))
			run_limits_lost();
		return monitor_was_limited(r->monitor) ? 124 << 8 : status;
	}
	if (monitor_was_lost(r->monitor) && !r->quiet && (r->summary || r->report))
		report("the recorder was killed: resource use is only partly known");
	if (monitor_was_lost(r->monitor) && r->limits)
		run_limits_lost();
	if (r->summary && write_summary(r, &s, &err) < 0)
		report_err(&err, STATUS_SELF);
	monitor_published(r->monitor);
	if (r->limits)
		run_limits_say(&s);
	if (r->limits)
		run_limits_unlike(r->limits, &s);
	if (r->report)
		run_report(&s, stderr);
	summary_release(&s);
	return monitor_was_limited(r->monitor) ? 124 << 8 : status;
}

int run_monitor_attach(struct cmd *c, const struct opts_run *o)
{
	struct run_options run = {0};
	struct run_monitor *r;
	struct err err = {0};
	if (c->n_operands)
		return report_usage(c, "--pid measures a running process and takes no command");
	if (o->exact || o->orphans)
		return report_usage(c, "--pid can be combined with --summary, --report, --series, --interval and --watch only");
	if (!o->summary && !o->report && !o->series)
		return report_usage(c, "--pid needs --summary, --report or --series");
	if (o->pid > INT32_MAX)
		return report_usage(c, "--pid %llu is not a process id", (unsigned long long)o->pid);
	int rc = run_monitor_open(c, o, &run, &r);
	if (rc != STATUS_OK)
		return rc;
	if (monitor_attach(r->monitor, (pid_t)o->pid, &err) < 0)
		rc = report_err(&err, STATUS_SELF);
	else
		run_monitor_finish(r, 0);
	run_monitor_close(r);
	return rc;
}

/* NULL is no error. */
void run_monitor_close(struct run_monitor *r)
{
	if (!r)
		return;
	monitor_free(r->monitor);
	run_limits_close(r->limits);
	free(r->summary);
	free(r);
}
