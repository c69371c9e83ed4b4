#include "monitor/watchdog.h"
#include "base/clock.h"
#include "base/os/procfs.h"
#include "monitor/oom.h"
#include "monitor/stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define MS 1000000LL
#define SHORTEST MS       /* between two looks, while something grows */
#define QUIET (5 * MS)    /* ... while nothing does */
#define QUIET_COST 50     /* 2 % of a processor, while nothing grows */
#define GROWTH_COST 4     /* a quarter of one, for the short time that something does */
#define CORES_WINDOW NS   /* over which processors in use are counted */
#define CORES_SLACK 20    /* a twentieth: the clock of one sample is not that of the next */
#define UNKNOWN_AFTER 3   /* samples without a figure: there is none */
#define KILL_PATIENCE 500 /* ms in one call: who makes others is not to be given time for it; the next one goes on */
#define NICE (-10)
#define KILL_AGAIN (2 * MS)
#define GIVE_UP 100 /* calls: a process that does not die of SIGKILL stands in the kernel */

enum state { WATCHING, TERMINATING, KILLING, OVER };

struct pace {
	int64_t last, time; /* value at the sample before, -1 none */
	bool grows;
};

struct watchdog {
	struct watchdog_options o;
	pthread_mutex_t lock; /* the sampler's thread calls, and whoever ends the run */
	struct monitor *monitor;
	enum state state;
	int64_t terminated; /* when SIGTERM was sent */
	int64_t cost;       /* CPU time that the thread used at the call before: a sample, and this */
	struct pace pace[LIMITS];
	bool exceeded[LIMITS];
	int64_t exceeded_peak[LIMITS];
	unsigned samples, unknown[LIMITS], kills;
	int64_t cores_since, cores_cpu; /* where the window began */
	struct oom oom;
	bool oom_reported, group_checked;
	long processors;
	int64_t memory_backstop;
	int64_t charged; /* when the group was last asked what of it is anonymous */
};

unsigned watchdog_wants(const struct limits *limits)
{
	unsigned parts = 0;
	if (limits->given[LIMIT_memory] || limits->given[LIMIT_swap])
		parts |= CGROUP_MEMORY;
	if (limits->given[LIMIT_threads])
		parts |= CGROUP_TASKS;
	return parts ? parts | CGROUP_KILL : 0;
}

/* A tenth and 1 more, INT64_MAX at most. */
static int64_t tenth_more(int64_t v)
{
	return v > INT64_MAX - v / 10 - 1 ? INT64_MAX : v + v / 10 + 1;
}

int watchdog_new(const struct watchdog_options *o, struct err *err, struct watchdog **ret)
{
	struct watchdog *w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, ENOMEM, "cannot watch limits");
	w->o = *o;
	pthread_mutex_init(&w->lock, NULL);
	w->processors = sysconf(_SC_NPROCESSORS_ONLN);
	w->memory_backstop = -1;
	for (int i = 0; i < LIMITS; i++)
		w->pace[i].last = -1;
	const struct limits *l = &w->o.limits;
	unsigned parts = o->cgroup ? cgroup_parts(o->cgroup) : 0;
	if (parts) {
		struct err why = {0};
		int64_t memory = l->given[LIMIT_memory] ? tenth_more(l->value[LIMIT_memory]) : -1;
		int64_t swap = l->given[LIMIT_swap] ? tenth_more(l->value[LIMIT_swap]) : -1;
		int64_t tasks = l->given[LIMIT_threads] ? tenth_more(l->value[LIMIT_threads]) : -1;
		if (!(parts & CGROUP_MEMORY))
			memory = swap = -1;
		if (!(parts & CGROUP_TASKS))
			tasks = -1;
		if (cgroup_backstop(o->cgroup, memory, swap, tasks, &why) == 0)
			w->memory_backstop = memory;
	}
	*ret = w;
	return 0;
}

/* NULL is no error. The control group stays. */
void watchdog_free(struct watchdog *w)
{
	free(w);
}

/* Tells the monitor the limits, and begins to look for a lack of memory. */
void watchdog_attach(struct watchdog *w, struct monitor *m)
{
	w->monitor = m;
	for (int i = 0; i < LIMITS; i++)
		if (w->o.limits.given[i])
			monitor_limit(m, limit_key((enum limit_name)i), w->o.limits.value[i]);
	oom_begin(&w->oom);
}

/* Soft and hard; never raises one. A hard limit cannot be raised again without privilege. */
static void lower_rlimit(int resource, int64_t to)
{
	struct rlimit now;
	rlim_t v = (rlim_t)to;
	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return;
	if (now.rlim_max == RLIM_INFINITY || now.rlim_max > v)
		now.rlim_max = v;
	if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > v)
		now.rlim_cur = v;
	setrlimit((__rlimit_resource_t)resource, &now);
}

void watchdog_enter(const struct watchdog *w)
{
	const struct limits *l = &w->o.limits;
	if (!w->o.each_process)
		return;
	if (l->given[LIMIT_cpu])
		lower_rlimit(RLIMIT_CPU, l->value[LIMIT_cpu] / NS + (l->value[LIMIT_cpu] % NS != 0));
	if (l->given[LIMIT_virtual])
		lower_rlimit(RLIMIT_AS, l->value[LIMIT_virtual]);
	if (l->given[LIMIT_open_files])
		lower_rlimit(RLIMIT_NOFILE, l->value[LIMIT_open_files]);
}

/* ---- what is used ---- */

/* Memory that cannot be given back, of everybody in the group; -1: ask the monitor. What is charged is never less, and
 * is had for a microsecond. */
static int64_t group_memory(const struct watchdog *w)
{
	int64_t charged = w->memory_backstop < 0 ? -1 : cgroup_charged(w->o.cgroup);
	if (charged < 0)
		return -1;
	if (charged <= w->o.limits.value[LIMIT_memory])
		return charged;
	struct cgroup_usage u;
	cgroup_read(w->o.cgroup, CGROUP_MEMORY, &u);
	return u.anonymous < 0 || u.shared < 0 ? charged : u.anonymous + u.shared;
}

/* Processors in use over the last second or more, in thousandths; -1: not yet known. */
static int64_t cores(struct watchdog *w, const struct monitor_now *now)
{
	int64_t cpu = now->value[FIGURE_cpu_time], wall = now->time - w->cores_since;
	if (cpu < 0)
		return -1;
	if (!w->cores_since || wall < 0) {
		w->cores_since = now->time;
		w->cores_cpu = cpu;
		return 0;
	}
	if (wall < CORES_WINDOW)
		return 0;
	int64_t ret = (cpu - w->cores_cpu) / (wall / 1000);
	w->cores_since = now->time;
	w->cores_cpu = cpu;
	return ret;
}

/* How much of what a limit is about is used. Negative: not known. In the unit of the limit. */
static int64_t limited_usage(struct watchdog *w, const struct monitor_now *now, enum limit_name l)
{
	enum { TRIES = 3 }; /* processes come and go while they are looked at */
	int64_t v, group;
	switch (l) {
	case LIMIT_wall:
		return now->since;
	case LIMIT_cores:
		return cores(w, now);
	case LIMIT_memory:
		/* The group does not count pages of files that are mapped, nor the monitor what came between two looks. */
		group = group_memory(w);
		v = now->value[FIGURE_memory_resident_peak];
		if (group > w->o.limits.value[LIMIT_memory])
			return group > v ? group : v;
		/* Pages that processes share count in each of them: looked at closely before anybody is ended for it. */
		for (int i = 0; i < TRIES && now->living > 1 && v > w->o.limits.value[LIMIT_memory]; i++) {
			int64_t close = monitor_memory(w->monitor);
			v = close >= 0 ? close : v;
			i = close >= 0 ? TRIES : i;
		}
		return group > v ? group : v;
	default:
		return now->value[limit_figure(l)];
	}
}

/* Is a value over its limit? Of cores a little more than the limit is allowed, since samples are not exact. */
static bool exceeds_limit(enum limit_name l, int64_t v, int64_t limit)
{
	return v > (l == LIMIT_cores ? limit + limit / CORES_SLACK : limit);
}

/* ---- how soon it could be exceeded ---- */

/* The most that it can grow in a second, as far as machines of today go. */
static int64_t fastest(const struct watchdog *w, const struct monitor_now *now, enum limit_name l)
{
	int64_t threads = now->value[FIGURE_threads_peak];
	switch (l) {
	case LIMIT_wall:
		return NS;
	case LIMIT_cpu:
		return NS * (threads > 0 && threads < w->processors ? threads : w->processors);
	case LIMIT_swap:
		return 500LL << 20;
	case LIMIT_read:
	case LIMIT_written:
		return 4LL << 30;
	case LIMIT_virtual:
		return 16LL << 30;
	case LIMIT_processes:
	case LIMIT_threads:
	case LIMIT_files:
		return 5000;
	case LIMIT_open_files:
		return 50000;
	default:
		return 1LL << 30;
	}
}

/* ns until v may meet the limit, a second at most. *ret_grows is set where it is near. */
static int64_t time_to_next_check(struct watchdog *w, const struct monitor_now *now, enum limit_name l, int64_t v,
                                  bool *ret_grows)
{
	struct pace *p = &w->pace[l];
	int64_t limit = w->o.limits.value[l], rest = limit > v ? limit - v : 0, most = fastest(w, now, l);
	if (l == LIMIT_gpus)
		return NS;
	if (l == LIMIT_cores)
		return CORES_WINDOW / 4;
	if (p->last >= 0 && now->time > p->time) {
		double rate = (double)(v - p->last) * 1e9 / (double)(now->time - p->time);
		p->grows = rate > 0;
		if (rate > (double)most)
			most = rate > 9e18 ? INT64_MAX : (int64_t)rate;
		/* Half of what is left at this rate: growth is seldom even. */
		if (p->grows && (double)rest / rate < 2 * (double)QUIET / 1e9)
			*ret_grows = true;
	}
	p->last = v;
	p->time = now->time;
	double t = (double)rest / (double)most * 1e9;
	return t > (double)NS ? NS : (int64_t)t;
}

/* ---- the end ---- */

/* Tells the monitor once, and again when the peak has grown. */
static void report_exceeded(struct watchdog *w, enum limit_name l, int64_t peak)
{
	/* It is told again when it has come further. */
	if (w->exceeded[l] && peak <= w->exceeded_peak[l])
		return;
	w->exceeded[l] = true;
	w->exceeded_peak[l] = peak;
	monitor_exceeded(w->monitor, limit_key(l), peak, w->o.limits.value[l]);
}

/* Notes that processes of other users could not be killed, with one of them as an example. */
static void refused(struct watchdog *w, const struct stop_count *n)
{
	char text[160];
	snprintf(text, sizeof(text), "%zu process%s of another user could not be killed, for example pid %d", n->refused,
	         n->refused == 1 ? "" : "es", n->one_refused);
	monitor_escaped(w->monitor, text);
}

/* Read by other threads. */
static void enter_state(struct watchdog *w, enum state state)
{
	__atomic_store_n(&w->state, state, __ATOMIC_RELEASE);
}

/* Ends the task: asks it first, or kills it. hard: it is so far over already that there is no time for a grace. */
static void begin_termination(struct watchdog *w, int64_t now, bool hard)
{
	struct stop_count n;
	bool grace = w->o.grace > 0 && !hard;
	enter_state(w, grace ? TERMINATING : KILLING);
	w->terminated = now;
	if (grace)
		stop_signal(getpid(), SIGTERM, &n);
}

/* Kills all that is left; after GIVE_UP tries, or when none is, the state is OVER. */
static void slay(struct watchdog *w)
{
	struct stop_count n = {0};
	/* At one stroke, and then whoever had gone from the group. */
	if (w->o.cgroup)
		cgroup_kill(w->o.cgroup, KILL_PATIENCE);
	int rc = stop_kill(getpid(), KILL_PATIENCE, &n);
	w->kills++;
	if (rc == 0 || w->kills > GIVE_UP || rc == -ENOENT)
		enter_state(w, OVER);
	if (w->state == OVER && n.refused)
		refused(w, &n);
	else if (w->state == OVER && rc == -EAGAIN)
		monitor_escaped(w->monitor, "some processes could not be killed; ps lists them");
}

/* The command goes into the group before its program, for which the kernel may take its time; where that failed, the
 * group holds nobody. */
static void check_group(struct watchdog *w, const struct monitor_now *now)
{
	struct procfs p;
	if (!w->o.cgroup || w->group_checked || now->root <= 0 || now->since < NS / 2)
		return;
	procfs_clear(&p);
	if (procfs_stat(now->root, &p) < 0 || p.state == 'Z' || p.state == 'X')
		return;
	w->group_checked = true;
	if (cgroup_empty(w->o.cgroup) && w->state == WATCHING) {
		w->o.cgroup = NULL;
		w->memory_backstop = -1;
		monitor_escaped(w->monitor, "the command has no control group of its own: the kernel enforces no limit");
	}
}

/* The kernel's backstop came first: memory grew from below the limit to 10 % over it between two samples. */
static void check_backstop(struct watchdog *w)
{
	struct cgroup_usage u;
	if (!w->o.cgroup)
		return;
	cgroup_read(w->o.cgroup, CGROUP_MEMORY | CGROUP_TASKS, &u);
	if (u.oom_kills > 0 && !w->oom_reported) {
		w->oom_reported = true;
		monitor_oom(w->monitor);
	}
	/* For our limit, or for one further up? */
	bool ours = w->memory_backstop >= 0 && (u.memory_hits > 0 || u.charged_peak >= w->memory_backstop / 100 * 99);
	if (u.oom_kills > 0 && ours && !w->exceeded[LIMIT_memory])
		report_exceeded(w, LIMIT_memory, u.charged_peak < 0 ? w->memory_backstop : u.charged_peak);
	if (u.task_hits > 0 && w->o.limits.given[LIMIT_threads] && !w->exceeded[LIMIT_threads])
		report_exceeded(w, LIMIT_threads,
		                u.tasks_peak > 0 ? u.tasks_peak : tenth_more(w->o.limits.value[LIMIT_threads]));
}

/* Where there is a group its figures are the summary's, too. What of the memory is anonymous is asked for when more is
 * charged than ever (5 us, against 30). */
static void report_group_usage(struct watchdog *w, bool last)
{
	struct cgroup_usage u;
	int64_t charged = w->o.cgroup ? cgroup_charged(w->o.cgroup) : -1;
	if (!w->o.cgroup || (!last && charged <= w->charged + w->charged / 50))
		return;
	w->charged = charged;
	cgroup_read(w->o.cgroup, CGROUP_MEMORY | CGROUP_TASKS, &u);
	monitor_group(w->monitor, u.anonymous, u.shared, u.charged_peak, u.tasks_peak);
}

/* Reports the limit if v is above it. Is it so much more that there is no time for a grace? */
static bool check_limit(struct watchdog *w, const struct monitor_now *now, enum limit_name l, int64_t v)
{
	int64_t limit = w->o.limits.value[l];
	/* One more was asked for. */
	if (l == LIMIT_processes && monitor_refused(w->monitor))
		report_exceeded(w, l, limit);
	if (!exceeds_limit(l, v, limit))
		return false;
	int64_t peak = l == LIMIT_memory ? v : now->peak[limit_figure(l)];
	report_exceeded(w, l, peak > v ? peak : v);
	/* CPU and wall time run on through the grace; so do bytes. What the machine may lack does not. */
	return v >= tenth_more(limit) && (l == LIMIT_memory || l == LIMIT_swap || l == LIMIT_processes ||
	                                  l == LIMIT_threads || l == LIMIT_footprint || l == LIMIT_files);
}

/* ns until the next look, at the least: looking shall cost no more than a part of the time. cost: of this one. */
static int64_t shortest_wait(const struct watchdog *w, const struct monitor_now *now, int64_t cost, bool grows)
{
	int64_t least = cost * (grows ? GROWTH_COST : QUIET_COST);
	if (least < (grows ? SHORTEST : QUIET))
		least = grows ? SHORTEST : QUIET;
	if (least > NS)
		least = NS;
	/* A time is known beforehand. */
	if (w->o.limits.given[LIMIT_wall] && w->state == WATCHING) {
		int64_t rest = w->o.limits.value[LIMIT_wall] - now->since + SHORTEST;
		least = rest > SHORTEST && rest < least ? rest : least;
	}
	return least;
}

/* ns until the next look; 0: no wish. May end the task. */
static int64_t check_limits(struct watchdog *w, const struct monitor_now *now)
{
	int64_t next = NS, cost = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - w->cost;
	bool grows = false, stop = false, hard = false;
	if (w->state == OVER || !w->monitor)
		return 0;
	if (w->samples++ == 0) {
		cost = 0;
		/* This thread only: where hundreds want to run it must not be one of them. Root may. */
		setpriority(PRIO_PROCESS, 0, NICE);
	}
	check_group(w, now);
	check_backstop(w);
	report_group_usage(w, false);
	for (int i = 0; i < LIMITS; i++) {
		enum limit_name l = (enum limit_name)i;
		if (!w->o.limits.given[l])
			continue;
		int64_t v = limited_usage(w, now, l);
		if (v < 0) {
			w->unknown[l]++;
			continue;
		}
		w->unknown[l] = 0;
		hard |= check_limit(w, now, l, v);
		stop |= w->exceeded[l];
		int64_t t = time_to_next_check(w, now, l, v, &grows);
		next = t < next ? t : next;
	}
	if (stop && w->state == WATCHING)
		begin_termination(w, now->time, hard);
	if (w->state == TERMINATING) {
		int64_t left = w->o.grace - (now->time - w->terminated);
		if (left <= 0 || hard)
			enter_state(w, KILLING);
		else
			next = left < next ? left : next;
	}
	if (w->state == KILLING) {
		slay(w);
		w->cost = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
		return w->state == OVER ? 0 : KILL_AGAIN;
	}
	int64_t least = shortest_wait(w, now, cost, grows);
	w->cost = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	return next > least ? next : least;
}

/* ns until it wants to see the next sample; 0: no wish. */
int64_t watchdog_watch(void *arg, const struct monitor_now *now)
{
	struct watchdog *w = arg;
	pthread_mutex_lock(&w->lock);
	int64_t ret = check_limits(w, now);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

/* Asked while stops wait to be answered: it must not wait for a kill that is going on. */
bool watchdog_stay(void *arg)
{
	const struct watchdog *w = arg;
	enum state state = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);
	return state == TERMINATING || state == KILLING;
}

/* status: as wait gives it; last: the run is over. */
void watchdog_over(void *arg, int status, bool last)
{
	struct watchdog *w = arg;
	char text[200];
	pthread_mutex_lock(&w->lock);
	check_backstop(w);
	report_group_usage(w, true);
	/* A shell says of its last command what it died of. */
	bool killed = (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
	              (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL);
	if (killed && w->state == WATCHING && !w->oom_reported && (!w->o.cgroup || w->oom.local) && oom_rose(&w->oom)) {
		w->oom_reported = true;
		monitor_oom(w->monitor);
	}
	for (int i = 0; i < LIMITS; i++)
		if (w->unknown[i] >= UNKNOWN_AFTER) {
			w->unknown[i] = 0;
			snprintf(text, sizeof(text), "the limit '%s' was not enforced: it cannot be measured here",
			         limit_key((enum limit_name)i));
			monitor_escaped(w->monitor, text);
		}
	if (last && !w->exceeded[LIMIT_processes] && w->monitor && monitor_refused(w->monitor)) {
		snprintf(text, sizeof(text), "the limit 'processes' was reached: %llu forks were refused",
		         (unsigned long long)monitor_refused(w->monitor));
		monitor_escaped(w->monitor, text);
	}
	if (last) {
		enter_state(w, OVER);
		if (w->o.cgroup)
			cgroup_remove(w->o.cgroup);
		w->o.cgroup = NULL;
	}
	pthread_mutex_unlock(&w->lock);
}
