#include "cmd/run/run_limits.h"
#include "archive/auto.h"
#include "base/ulid.h"
#include "monitor/watchdog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_NS 10000000000LL

struct run_limits {
	struct watchdog_options o;
	struct watchdog *watchdog;
	bool quiet;
	char *home; /* whose history they came from (--limit auto); NULL: they were given */
	bool automatic;
};

/* "auto" alone or with more after a comma. */
static bool is_auto(const char *limits)
{
	return !strncmp(limits, "auto", 4) && (!limits[4] || limits[4] == ',');
}

/* What is given beside it: auto,wall=1h. */
static const char *behind_auto(const char *limits)
{
	return !is_auto(limits) ? limits : limits[4] ? limits + 5 : "";
}

/* --limit auto: what the history of the command says. None, where it says nothing: that keeps no command from running.
 */
static void from_history(struct cmd *c, const struct opts_run *o, struct limits *limits)
{
	struct err err = {0};
	struct buf text = {0};
	size_t n = 0;
	int rc = archive_limits(cmd_home(c), c->operands, config_get(&c->config, CONFIG_system), &err, &text, &n);
	if (rc > 0 && limits_parse(limits, buf_cstr(&text), &err) == 0) {
		if (!o->quiet)
			report("limits from %zu earlier runs of such commands: %s", n, buf_cstr(&text));
	} else if (!o->quiet) {
		report("no limits from history: %s", err.text);
	}
	buf_release(&text);
}

int run_limits_open(struct cmd *c, const struct opts_run *o, struct run_limits **ret)
{
	struct limits limits = {0}, given = {0};
	struct err err = {0};
	int64_t grace = GRACE_NS;
	*ret = NULL;
	if (o->limits_file && limits_read_file(&limits, o->limits_file, &err) < 0)
		return report_err(&err, STATUS_USAGE);
	bool automatic = false;
	for (size_t i = 0; i < o->limit.n; i++)
		automatic |= is_auto(o->limit.v[i]);
	if (automatic && !o->pid && c->n_operands)
		from_history(c, o, &limits);
	for (size_t i = 0; i < o->limit.n; i++)
		if (*behind_auto(o->limit.v[i]) && limits_parse(&given, behind_auto(o->limit.v[i]), &err) < 0)
			return report_err(&err, STATUS_USAGE);
	if (o->grace && limits_parse_time(o->grace, &err, &grace) < 0)
		return report_err(&err, STATUS_USAGE);
	limits_override(&limits, &given);
	if (!limits_any(&limits) && !automatic) {
		if (o->grace || o->rlimit)
			return report_usage(c, "%s needs --limit", o->grace ? "--grace" : "--rlimit");
		return STATUS_OK;
	}
	if (o->pid)
		return report_usage(c, "--limit cannot be combined with --pid");
	struct run_limits *l = calloc(1, sizeof(*l));
	if (!l)
		return report_err(&err, STATUS_SELF);
	l->o = (struct watchdog_options){.limits = limits, .grace = grace, .each_process = o->rlimit};
	l->quiet = o->quiet;
	l->automatic = automatic;
	l->home = cmd_home(c) ? strdup(cmd_home(c)) : NULL;
	*ret = l;
	return STATUS_OK;
}

/* Enters the command's control group, and sets the limits that a process has itself, in the command's process. */
static void enter_limits(void *arg)
{
	const struct run_limits *l = arg;
	if (l->o.cgroup)
		cgroup_enter(l->o.cgroup);
	watchdog_enter(l->watchdog);
}

int run_limits_prepare(struct run_limits *l, struct monitor_options *m)
{
	struct err err = {0}, why = {0};
	unsigned parts = watchdog_wants(&l->o.limits);
	char name[ULID_LEN + 1];
	if (parts && ulid_new(name) == 0)
		cgroup_make(name, parts, &why, &l->o.cgroup);
	if (watchdog_new(&l->o, &err, &l->watchdog) < 0)
		return report_err(&err, STATUS_SELF);
	/* A working folder of any size then, not only a small one. */
	static const char *const here[] = {".", NULL};
	if (!m->watch && (l->o.limits.given[LIMIT_footprint] || l->o.limits.given[LIMIT_files]))
		m->watch = here;
	m->hold_processes = l->o.limits.given[LIMIT_processes] ? l->o.limits.value[LIMIT_processes] : 0;
	m->watcher = watchdog_watch;
	m->over = watchdog_over;
	m->stay = watchdog_stay;
	m->watcher_arg = l->watchdog;
	m->enter = enter_limits;
	m->enter_arg = l;
	return STATUS_OK;
}

/* After both are made: the monitor gets the limits. */
void run_limits_attach(struct run_limits *l, struct monitor *m)
{
	watchdog_attach(l->watchdog, m);
}

/* A limit that is not known is passed over. what: who reached it. */
static void report_exceeded(const char *what, const struct summary_limit *l)
{
	struct buf peak = {0}, limit = {0};
	int name = limit_by_name(l->name);
	if (name < 0)
		return;
	limit_show(&peak, (enum limit_name)name, l->peak);
	limit_show(&limit, (enum limit_name)name, l->limit);
	report("%s: %s reached %s, the limit is %s%s", what, l->name, buf_cstr(&peak), buf_cstr(&limit),
	       l->peak <= l->limit ? ", and more were requested" : "");
	buf_release(&peak);
	buf_release(&limit);
}

void run_limits_say(const struct summary *s)
{
	for (size_t i = 0; i < s->nexceeded; i++)
		report_exceeded("the command was stopped", &s->exceeded[i]);
	/* Found at its end only. */
	for (size_t i = 0; i < s->nlimit && !s->nexceeded; i++)
		if (s->limit[i].peak > s->limit[i].limit)
			report_exceeded("the command ended before it could be stopped", &s->limit[i]);
	if (s->oom && !s->nexceeded)
		report("the kernel killed a process of the command because memory was short");
	for (size_t i = 0; i < s->nescaped; i++)
		if (!strncmp(s->escaped[i], "the limit '", 11) || strstr(s->escaped[i], "not in a control group") ||
		    strstr(s->escaped[i], "could not be stopped"))
			report("%s", s->escaped[i]);
}

void run_limits_unlike(const struct run_limits *l, const struct summary *s)
{
	struct buf text = {0};
	if (!l->automatic || l->quiet || archive_unlike(l->home, s, &text) <= 0) {
		buf_release(&text);
		return;
	}
	char *at = (char *)(uintptr_t)buf_cstr(&text);
	for (char *line, *rest = at; (line = strsep(&rest, "\n"));)
		if (*line)
			report("%s", line);
	buf_release(&text);
}

void run_limits_lost(void)
{
	report("the recorder was killed: after that stemma enforced no limits, only the kernel did");
}

void run_limits_close(struct run_limits *l)
{
	if (!l)
		return;
	watchdog_free(l->watchdog);
	free(l->home);
	/* Where processes outlive the command the worker does it, or the next run. */
	if (l->o.cgroup)
		cgroup_remove(l->o.cgroup);
	cgroup_close(l->o.cgroup);
	free(l);
}
