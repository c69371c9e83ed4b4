#include "base/clock.h"
#include "base/os/memfile.h"
#include "event/event.h"
#include "monitor/monitor_int.h"
#include "redact/redact.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK (256u << 10)
#define LARGE (16u << 20) /* a child of a process of that size is looked at soon: their pages are shared, or were */
#define SOON_NS 3000000
#define LAST_WALK_MS 300 /* the end of the run waits so long at most */

/* ---- the sampler ---- */

static void wait_until(struct monitor *m)
{
	while (!m->stop) {
		int64_t next = m->next;
		if (clock_now_ns(CLOCK_MONOTONIC) >= next)
			break;
		struct timespec ts = {.tv_sec = next / SECOND, .tv_nsec = next % SECOND};
		pthread_cond_timedwait(&m->wake, &m->lock, &ts);
	}
}

/* The thread: samples, hands over and tells the watcher until m->stop. Its pauses keep its own CPU time low. */
static void *sampler(void *arg)
{
	enum { SHORTEST = 1000000 };
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	while (!m->stop) {
		wait_until(m);
		if (m->stop)
			break;
		int64_t before = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
		monitor_sample(m);
		struct monitor_now now = m->now;
		pthread_mutex_unlock(&m->lock);
		memcpy(m->handover->now, now.value, sizeof(now.value)); /* torn at worst, and only to look at */
		memcpy(m->handover->most, now.peak, sizeof(now.peak));
		__atomic_store_n(&m->handover->sampled, 1, __ATOMIC_RELEASE);
		if (m->series)
			__atomic_store_n(&m->handover->series_failed, series_add(m->series, &now), __ATOMIC_RELEASE);
		int64_t wish = m->o.watcher ? m->o.watcher(m->o.watcher_arg, &now) : 0;
		pthread_mutex_lock(&m->lock);
		int64_t cost = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - before,
		        pause = monitor_pause(m, cost - m->shares_cost); /* shares have a budget of their own */
		m->spent += m->shares_cost;
		if (wish && wish < pause)
			pause = wish > SHORTEST ? wish : SHORTEST;
		m->next = clock_now_ns(CLOCK_MONOTONIC) + pause;
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* Starts the thread that takes samples. All signals are blocked in it. Without a thread m->sampling stays false. */
static void start_sampler(struct monitor *m)
{
	pthread_attr_t a;
	sigset_t all, before;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	m->sampling = pthread_create(&m->sampler, &a, sampler, m) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&a);
}

static void stop_sampler(struct monitor *m)
{
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
	if (m->sampling)
		pthread_join(m->sampler, NULL);
	m->sampling = false;
	monitor_listen_no_more(m);
}

/* ---- the observer ---- */

/* The processes of the task that are alive. *ret is to be freed. 0, -ENOMEM. */
static int living(void *arg, pid_t **ret, size_t *ret_n)
{
	/* Those that are known: to look for more makes the end of a short run dearer (see monitor_sample). */
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	pid_t *v = malloc((m->tree.nalive + 1) * sizeof(*v));
	for (size_t i = 0; v && i < m->tree.nalive; i++)
		v[i] = m->tree.alive[i]->pid;
	*ret = v;
	*ret_n = v ? m->tree.nalive : 0;
	pthread_mutex_unlock(&m->lock);
	return v ? 0 : -ENOMEM;
}

static void on_prepare(void *arg, bool reported)
{
	if (!reported)
		monitor_listen(arg);
}

static void on_started(void *arg, pid_t root, bool reported, const char *run, const char *user, int64_t now)
{
	struct monitor *m = arg;
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	m->offset = now - (ts.tv_sec * SECOND + ts.tv_nsec);
	m->run = run && *run ? strdup(run) : NULL;
	m->user = user ? strdup(user) : NULL;
	snprintf(m->handover->run, sizeof(m->handover->run), "%s", m->run ? m->run : "");
	snprintf(m->handover->user, sizeof(m->handover->user), "%s", user ? user : "");
	m->handover->start = now;
	monitor_begin(m, root, reported, now);
	if (m->o.thorough || m->o.watcher) /* nobody is to wait for the first look */
		monitor_lasts(m);
}

static bool is_process_of_task(void *arg, pid_t pid)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	bool is = tree_by_pid(&m->tree, pid) != NULL;
	for (size_t i = m->tree.nrecord; !is && i > 0; i--)
		is = m->tree.record[i - 1].pid == pid;
	pthread_mutex_unlock(&m->lock);
	return is;
}

/* Is the process one of the task, and alive? For who has the lock. */
static bool is_alive(void *arg, pid_t pid)
{
	const struct monitor *m = arg;
	return pid == m->root || tree_by_pid(&m->tree, pid);
}

void monitor_begin(struct monitor *m, pid_t root, bool reported, int64_t start)
{
	pthread_mutex_lock(&m->lock);
	m->self = getpid();
	m->blind = !reported;
	m->root = root;
	m->start = start;
	m->wall_before = monitor_now_ns(m);
	apart_begin(&m->apart);
	if (m->blind)
		tree_born(&m->tree, root, 0, start, start, m->attached);
	if (m->o.thorough)
		counters_open(&m->counters, root);
	if (m->footprint)
		footprint_start(m->footprint, living, m);
	if (m->o.thorough)
		m->net = net_new(is_alive, m);
	if (gpu_here(&m->gpu_absent))
		m->gpu = gpu_new(GPU_LIBRARY, is_process_of_task, m);
	monitor_listen_on(m);
	m->next = clock_now_ns(CLOCK_MONOTONIC) + monitor_pause(m, 0);
	pthread_mutex_unlock(&m->lock);
}

void monitor_lasts(struct monitor *m)
{
	pthread_mutex_lock(&m->lock);
	if (!m->stop && !m->sampling)
		start_sampler(m);
	pthread_mutex_unlock(&m->lock);
}

static void on_lasts(void *arg)
{
	monitor_lasts(arg);
}

static int on_fork(void *arg, pid_t tid, unsigned tries)
{
	struct monitor *m = arg;
	int rc = admit_fork(m->admit, tid, tries);
	if (rc <= 0)
		return rc;
	pthread_mutex_lock(&m->lock);
	m->next = clock_now_ns(CLOCK_MONOTONIC); /* who watches is to hear of it */
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static void on_born(void *arg, pid_t pid, pid_t parent, int64_t from, int64_t until)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	monitor_hear(m);
	if (!monitor_hears(m) || !tree_by_pid(&m->tree, pid))
		tree_born(&m->tree, pid, parent, from, until, false);
	struct member *p = tree_by_pid(&m->tree, parent);
	if (p && p->height[SET_RESIDENT] >= LARGE && m->next > clock_now_ns(CLOCK_MONOTONIC) + SOON_NS) {
		m->next = clock_now_ns(CLOCK_MONOTONIC) + SOON_NS;
		pthread_cond_signal(&m->wake);
	}
	pthread_mutex_unlock(&m->lock);
}

static void on_leaving(void *arg, pid_t pid)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	tree_leaving(&m->tree, pid, monitor_now_ns(m));
	pthread_mutex_unlock(&m->lock);
}

static void on_group_exec(void *arg, pid_t pid, const char *exe)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	tree_exec(&m->tree, pid, exe);
	pthread_mutex_unlock(&m->lock);
}

static int note_escaped(struct monitor *m, const char *sentence)
{
	char **more = realloc(m->escaped, (m->nescaped + 1) * sizeof(*more)), *copy = strdup(sentence);
	int rc = more && copy ? 0 : -ENOMEM;
	if (more)
		m->escaped = more;
	if (rc == 0)
		more[m->nescaped++] = copy;
	else
		free(copy);
	return rc;
}

/* Who is alive now outlives the command. Not who has ended and whose end is about to be told. */
static void mark_orphans(struct monitor *m)
{
	for (size_t i = 0; i < m->tree.nalive; i++) {
		struct procfs f;
		procfs_clear(&f);
		m->tree.alive[i]->orphan = procfs_stat(m->tree.alive[i]->pid, &f) == 0 && f.state != 'Z' && f.state != 'X';
	}
}

static void report_orphan(struct monitor *m, const struct member *p, int status, int64_t now)
{
	enum { MOST = 20 };
	char line[600];
	if (!p || !p->orphan || ++m->orphans > MOST)
		return;
	bool killed = m->o.orphans == ORPHANS_KILL && status == SIGKILL;
	snprintf(line, sizeof(line),
	         killed ? "%s (pid %d) outlived the command, and was killed"
	                : "%s (pid %d) ended %.3f s later than the command",
	         p->exe ? p->exe : "a process", p->pid, (double)(now - m->end) / SECOND);
	note_escaped(m, line);
}

void monitor_orphan_ended(struct monitor *m, const struct member *p, int status)
{
	report_orphan(m, p, status, monitor_now_ns(m));
}

void monitor_ended(struct monitor *m, pid_t pid, const struct procfs *last, int status, int64_t now)
{
	report_orphan(m, tree_by_pid(&m->tree, pid), status, now);
	if (m->net)
		net_last(m->net, pid, last != NULL);
	if (m->net && status >= 0 && WIFSIGNALED(status))
		net_set_incomplete(m->net); /* the call that it was in does not tell what it has moved */
	apart_look(&m->apart, last ? last->shared : 0);
	tree_exiting(&m->tree, pid, last, status, now);
}

static void on_exiting(void *arg, pid_t pid, const struct procfs *last, int status, int64_t now)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	monitor_hear(m); /* if the kernel tells, it told more */
	monitor_ended(m, pid, last, status, now);
	pthread_mutex_unlock(&m->lock);
}

static void on_in_memory(void *arg, bool is)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	m->apart.told |= !is;
	m->apart.used |= is;
	apart_look(&m->apart, 0);
	pthread_mutex_unlock(&m->lock);
}

/* A stopped open waits for this: not for a look at everybody that goes on meanwhile. */
static void on_file(void *arg, uint64_t number, const char *path, int64_t size, unsigned mode, bool handed)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->files_lock);
	if (m->opened && number == 0)
		opened_set_reported(m->opened, !handed);
	else if (m->opened)
		opened_report(m->opened, number, path, size, mode & ACCESS_READ, mode & ACCESS_WRITE, handed);
	pthread_mutex_unlock(&m->files_lock);
}

static void on_moved(void *arg, bool sent, bool sure, uint64_t bytes)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	if (m->net && bytes == 0)
		net_set_reported(m->net);
	else if (m->net && bytes == UINT64_MAX)
		net_set_incomplete(m->net);
	else if (m->net)
		net_moved(m->net, sent, sure, bytes);
	pthread_mutex_unlock(&m->lock);
}

static void on_over(void *arg, pid_t pid, int status, const struct rusage *used, int64_t now)
{
	struct monitor *m = arg;
	pthread_mutex_lock(&m->lock);
	monitor_hear(m);
	report_orphan(m, tree_by_pid(&m->tree, pid), status, now);
	tree_over(&m->tree, pid, status, used, now);
	if (pid == m->root) {
		m->root_over = true;
		m->status = status;
		m->end = now;
		if (m->blind)
			monitor_discover(m);
		mark_orphans(m);
	}
	pthread_mutex_unlock(&m->lock);
}

static int note_limit(struct monitor *m, struct summary_limit **v, size_t *n, const char *name, int64_t peak,
                      int64_t limit)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*v)[i].name, name)) {
			(*v)[i].peak = peak;
			pthread_mutex_unlock(&m->lock);
			return 0;
		}
	struct summary_limit *more = realloc(*v, (*n + 1) * sizeof(*more));
	char *copy = strdup(name);
	int rc = more && copy ? 0 : -ENOMEM;
	if (more)
		*v = more;
	if (rc == 0)
		more[(*n)++] = (struct summary_limit){copy, peak, limit};
	else
		free(copy);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static void on_lost(void *arg, int status, const struct rusage *used, int64_t now)
{
	struct monitor *m = arg;
	m->lost = true;
	m->lost_known = used != NULL;
	if (used)
		m->lost_used = *used;
	m->status = status;
	m->start = m->handover->start;
	m->end = now;
	for (unsigned i = 0; i < __atomic_load_n(&m->handover->nexceeded, __ATOMIC_ACQUIRE); i++)
		note_limit(m, &m->exceeded, &m->nexceeded, m->handover->exceeded[i].name, m->handover->exceeded[i].peak,
		           m->handover->exceeded[i].limit);
	m->root_over = m->all_over = true;
	m->run = *m->handover->run ? strdup(m->handover->run) : NULL;
	m->user = *m->handover->user ? strdup(m->handover->user) : NULL;
}

/* ---- the summary's way back ---- */

static void hand_over_summary(struct monitor *m, const struct buf *text, bool last)
{
	struct handover *h = m->handover;
	int which = last ? 1 : 0, fd = m->text_fd[which];
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text->p, text->n, 0) != (ssize_t)text->n)
		return;
	__atomic_store_n(&h->length[which], text->n, __ATOMIC_RELEASE);
	int state = HANDED_NONE;
	if (!last)
		__atomic_compare_exchange_n(&h->state, &state, HANDED_FIRST, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	else
		do
			state = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
		while ((state == HANDED_NONE || state == HANDED_FIRST) &&
		       !__atomic_compare_exchange_n(&h->state, &state, HANDED_LAST, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/* The first summary has been taken: waits, 5 s at most, until whoever took it is through with the user's file, and then
 * writes it anew in any case. Nothing if nobody took it. */
static void wait_and_publish(struct monitor *m, const struct summary *s)
{
	enum { PATIENCE_MS = 5000 };
	struct handover *h = m->handover;
	int state = __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
	if (!m->o.publish || (state != HANDED_TAKEN && state != HANDED_WRITTEN))
		return;
	for (int ms = 0; ms < PATIENCE_MS && __atomic_load_n(&h->state, __ATOMIC_ACQUIRE) != HANDED_WRITTEN; ms++)
		usleep(1000);
	m->o.publish(m->o.publish_arg, s);
}

static const char *on_ended(void *arg, int status, bool last, int64_t now, size_t *ret_n)
{
	struct monitor *m = arg;
	struct summary s;
	struct buf whole = {0};
	/* While nobody is left there is time for a last look at the disk. */
	if (last && m->footprint)
		footprint_last(m->footprint, LAST_WALK_MS);
	if (m->gpu)
		gpu_last(m->gpu, &m->gpu_figures);
	if (m->o.over)
		m->o.over(m->o.watcher_arg, status, last);
	/* It is not waited for: what a thread that ended has read would count as its process's children's. */
	pthread_mutex_lock(&m->lock);
	monitor_hear(m);
	m->stop |= last;
	if (!m->root_over) {
		m->root_over = true;
		m->status = status;
		m->end = now;
	}
	m->all_over = last;
	if (last && m->orphans > 0)
		m->over = now;
	buf_reset(&m->text);
	int rc = monitor_summarise(m, &s);
	if (rc == 0)
		rc = summary_json(&s, false, false, &m->text);
	if (rc == 0)
		rc = summary_json(&s, true, true, &whole);
	if (rc == 0)
		hand_over_summary(m, &whole, last);
	__atomic_store_n(&m->handover->limited, s.exit_type == EXIT_TYPE_LIMIT, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&m->lock);
	if (last)
		stop_sampler(m);
	if (rc == 0 && last)
		wait_and_publish(m, &s);
	summary_release(&s);
	buf_release(&whole);
	*ret_n = m->text.n;
	return rc == 0 ? m->text.p : NULL;
}

/* ---- making one ---- */

const struct run_observer *monitor_observer(struct monitor *m)
{
	return &m->observer;
}

static bool stay(void *arg)
{
	struct monitor *m = arg;
	return m->o.stay(m->o.watcher_arg);
}

static void waiting(void *arg)
{
	struct monitor *m = arg;
	m->o.waiting(m->o.waiting_arg);
}

static void enter_thread(void *arg)
{
	struct monitor *m = arg;
	m->o.enter(m->o.enter_arg);
}

int monitor_new(const struct monitor_options *o, struct err *err, struct monitor **ret)
{
	struct monitor *m = calloc(1, sizeof(*m));
	pthread_condattr_t ca;
	if (!m)
		return -ENOMEM;
	m->o = *o;
	m->status = -1;
	m->counters =
	    (struct counters){.cycles = -1, .instructions = -1, .why = "measured with --summary and --report only"};
	m->tree.keep_records = o->processes;
	m->admit = o->hold_processes > 0 ? admit_new(o->hold_processes) : NULL;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->files_lock, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&m->wake, &ca);
	for (int i = 0; i < FIGURES; i++)
		m->now.value[i] = m->now.peak[i] = -1;
	m->handover = mmap(NULL, sizeof(*m->handover), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++)
		m->text_fd[i] = memfile_new("stemma-summary");
	m->observer = (struct run_observer){.arg = m,
	                                    .enter = o->enter ? enter_thread : NULL,
	                                    .waiting = o->waiting ? waiting : NULL,
	                                    .prepare = on_prepare,
	                                    .started = on_started,
	                                    .lasts = on_lasts,
	                                    .forks = m->admit ? on_fork : NULL,
	                                    .born = on_born,
	                                    .leaving = on_leaving,
	                                    .exec = on_group_exec,
	                                    .exiting = on_exiting,
	                                    .moved = on_moved,
	                                    .file = o->processes ? on_file : NULL,
	                                    .in_memory = on_in_memory,
	                                    .over = on_over,
	                                    .lost = on_lost,
	                                    .ended = on_ended,
	                                    .stay = o->stay ? stay : NULL};
	struct buf words = {0};
	m->argc = redact_argv(&words, o->argv);
	buf_cstr(&words);
	m->argv = words.p;
	m->cwd = getcwd(NULL, 0);
	if (m->handover == MAP_FAILED || m->text_fd[0] < 0 || m->text_fd[1] < 0 || words.failed) {
		int rc = err_set(err, errno ? errno : ENOMEM, "cannot measure the command: no shared memory for its summary");
		m->handover = m->handover == MAP_FAILED ? NULL : m->handover;
		monitor_free(m);
		return rc;
	}
	if (o->processes)
		m->opened = opened_new();
	host_describe(&m->host, &m->nhost);
	int rc = o->series ? series_open(o->series, err, &m->series) : 0;
	if (rc == 0 && (o->footprint || o->watch))
		rc = footprint_new(m->cwd, o->watch, err, &m->footprint);
	if (rc < 0)
		monitor_free(m);
	else
		*ret = m;
	return rc;
}

static void free_limits(struct summary_limit *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].name);
	free(v);
}

void monitor_free(struct monitor *m)
{
	if (!m)
		return;
	tree_release(&m->tree);
	admit_free(m->admit);
	series_close(m->series);
	footprint_free(m->footprint);
	gpu_free(m->gpu);
	net_free(m->net);
	opened_free(m->opened);
	procevents_close(m->events);
	for (int i = 0; i < 2; i++)
		if (m->text_fd[i] >= 0)
			close(m->text_fd[i]);
	if (m->handover)
		munmap(m->handover, sizeof(*m->handover));
	for (size_t i = 0; i < m->nhost; i++) {
		free(m->host[i].key);
		free(m->host[i].value);
	}
	for (size_t i = 0; i < m->nescaped; i++)
		free(m->escaped[i]);
	free_limits(m->limit, m->nlimit);
	free_limits(m->exceeded, m->nexceeded);
	free(m->host);
	free(m->escaped);
	free(m->argv);
	free(m->cwd);
	free(m->run);
	free(m->user);
	buf_release(&m->text);
	free(m);
}

/* ---- notes of who watches ---- */

int monitor_limit(struct monitor *m, const char *name, int64_t limit)
{
	return note_limit(m, &m->limit, &m->nlimit, name, -1, limit);
}

/* Told at once, too: whoever kills this process before it has summed up does not make another result of it. */
static void hand_limit(struct handover *h, const char *name, int64_t peak, int64_t limit)
{
	const unsigned most = sizeof(h->exceeded) / sizeof(h->exceeded[0]);
	unsigned i = 0;
	while (i < h->nexceeded && strcmp(h->exceeded[i].name, name))
		i++;
	if (i < most) {
		snprintf(h->exceeded[i].name, sizeof(h->exceeded[i].name), "%s", name);
		h->exceeded[i].limit = limit;
		__atomic_store_n(&h->exceeded[i].peak, peak, __ATOMIC_RELEASE);
	}
	if (i == h->nexceeded && i < most)
		__atomic_store_n(&h->nexceeded, i + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&h->limited, 1, __ATOMIC_RELEASE);
}

int monitor_exceeded(struct monitor *m, const char *name, int64_t peak, int64_t limit)
{
	hand_limit(m->handover, name, peak, limit);
	return note_limit(m, &m->exceeded, &m->nexceeded, name, peak, limit);
}

void monitor_oom(struct monitor *m)
{
	pthread_mutex_lock(&m->lock);
	m->oom = true;
	pthread_mutex_unlock(&m->lock);
}

int monitor_escaped(struct monitor *m, const char *sentence)
{
	pthread_mutex_lock(&m->lock);
	int rc = note_escaped(m, sentence);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

/* ---- back in the first process ---- */

int monitor_summary(struct monitor *m, struct err *err, struct summary *ret)
{
	struct handover *h = m->handover;
	int state = HANDED_FIRST;
	if (!__atomic_compare_exchange_n(&h->state, &state, HANDED_TAKEN, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
	    state == HANDED_NONE) {
		if (m->lost && m->start)
			return monitor_summarise_lost(m, ret);
		if (m->lost) {
			err_set(err, 0, "the recorder died before writing the summary");
			return -ENOENT;
		}
		/* As if this one had been taken and written: the worker writes the user's file, when it has come so far. */
		state = HANDED_NONE;
		if (!__atomic_compare_exchange_n(&h->state, &state, HANDED_WRITTEN, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return monitor_summary(m, err, ret); /* just now it has */
		err_set(err, 0, "the summary is not written yet: the recorder writes it when it can continue");
		return -ENOENT;
	}
	int which = state == HANDED_LAST;
	size_t n = __atomic_load_n(&h->length[which], __ATOMIC_ACQUIRE);
	char *text = malloc(n + 1);
	int rc = text ? 0 : -ENOMEM;
	if (rc == 0 && pread(m->text_fd[which], text, n, 0) != (ssize_t)n)
		rc = err_set(err, EIO, "cannot read the summary of the command");
	if (rc == 0)
		rc = summary_read(text, n, err, ret);
	free(text);
	return rc;
}

bool monitor_glance(const struct monitor *m, int64_t ret[FIGURES])
{
	if (!__atomic_load_n(&m->handover->sampled, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret, m->handover->now, sizeof(m->handover->now));
	return true;
}

void monitor_published(struct monitor *m)
{
	int state = HANDED_TAKEN;
	__atomic_compare_exchange_n(&m->handover->state, &state, HANDED_WRITTEN, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

int monitor_series_failed(const struct monitor *m)
{
	return __atomic_load_n(&m->handover->series_failed, __ATOMIC_ACQUIRE);
}

bool monitor_was_lost(const struct monitor *m)
{
	return m->lost;
}

bool monitor_was_limited(const struct monitor *m)
{
	return __atomic_load_n(&m->handover->limited, __ATOMIC_ACQUIRE);
}
