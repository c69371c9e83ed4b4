/* From what was seen to the summary: each figure with its method and its bounds (doc/monitor.md). */
#include "base/os/host.h"
#include "monitor/finish_int.h"
#include "redact/redact.h"
#include "summary/limit.h"
#include "summary/summary_redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a process that nobody waits for, what it uses after its last look is not seen: its end, and giving its memory
 * back.
 */
#define TAIL_NS 1000000
#define TAIL_NS_PER_BYTE 0.5
#define TICK_NS 10000000

/* Did nobody tell of each process? */
bool finish_is_blind(const struct monitor *m)
{
	return m->blind && !monitor_hears(m);
}

/* ... or of what each had used? */
static bool is_dim(const struct monitor *m)
{
	const char *why;
	return m->blind && !(monitor_hears(m) && procevents_measures(m->events, &why));
}

/* A process that was there before: what it and its descendants have used is known from the kernel's events? */
bool finish_is_heard(const struct monitor *m)
{
	return m->attached && m->past.known && !is_dim(m);
}

void finish_figure(struct ends *e, enum figure_name f, int64_t value, const char *method, bool complete)
{
	if (e->rc == 0)
		e->rc = summary_set(e->s, f, value, method, complete);
}

/* value is put between low and high. The first error stays in e->rc. */
void finish_bounds(struct ends *e, enum figure_name f, int64_t value, int64_t low, int64_t high, const char *method,
                   bool complete)
{
	if (value < low)
		value = low;
	if (high < value)
		high = value;
	if (e->rc != 0)
		return;
	if (low == high)
		finish_figure(e, f, value, method, complete);
	else
		e->rc = summary_set_bounds(e->s, f, value, low, high, method, complete);
}

/* why: in words. The first error stays in e->rc. */
void finish_absent(struct ends *e, enum figure_name f, const char *why)
{
	if (e->rc == 0)
		e->rc = summary_absent(e->s, f, why);
}

/* ---- time ---- */

/* The words for how it was measured, by whether ends were lost and processes still live. */
static const char *method_of(const struct ends *e, const char *plain, const char *lost, const char *living,
                             const char *both)
{
	bool l = e->m->tree.lost > 0, a = e->l.n > 0;
	return l && a ? both : l ? lost : a ? living : plain;
}

/* As much CPU time as may have gone by unseen, ns: at the ends of processes, and since the last look. */
static int64_t most_unseen(const struct ends *e)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	int64_t more = (int64_t)t->lost * TAIL_NS + (int64_t)((double)t->lost_resident * TAIL_NS_PER_BYTE);
	if (finish_is_heard(m))
		more = (int64_t)t->ended * TAIL_NS + (int64_t)((double)t->largest * TAIL_NS_PER_BYTE);
	else if (m->attached) /* as much as all processors can do since the last look */
		more = (m->end - m->seen_alive) * host_processors();
	if (e->l.waited)
		more += (int64_t)(2 * TICK_NS * e->l.n);
	return more;
}

/* Which part of the CPU time `value` was the user's and which the system's, ns. */
static void split_time(const struct ends *e, int64_t value, int64_t *ret_user, int64_t *ret_system)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	/* The kernel's split is an estimate, the sum is not. Where part of it comes in ticks, what is left over is shared
	 * out alike. */
	int64_t user = e->w.user + (int64_t)(t->lost_user + e->l.user);
	int64_t system = e->w.system + (int64_t)(t->lost_system + e->l.system), rest = value - user - system;
	if (m->attached) {
		user = (int64_t)(t->ended_user + e->l.user);
		system = (int64_t)(t->ended_system + e->l.system);
		rest = value - user - system;
	}
	if (rest > 0 && user + system > 0) {
		int64_t share = (int64_t)((double)rest * ((double)user / (double)(user + system)));
		user += share;
		system += rest - share;
	} else if (rest > 0) {
		user += rest;
	}
	*ret_user = user;
	*ret_system = system;
}

/* Sets the figures of time. When it began and ended, and how long and on how many processors it ran; what is not
 * sure is said to be incomplete. */
static void set_time_figures(struct ends *e)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	finish_figure(e, FIGURE_start, m->start, "clock", true);
	finish_figure(e, FIGURE_end, m->end, m->root_over ? "clock" : "clock, not yet ended", m->root_over);
	finish_figure(e, FIGURE_wall_time, m->end - m->start, "clock", m->root_over);

	bool heard = finish_is_heard(m), complete = e->l.unread == 0 && !(t->lost && is_dim(m)) && !t->failed;
	complete &= !m->attached || heard;
	int64_t value = e->w.user + e->w.system + (int64_t)(t->lost_cpu + e->l.cpu);
	int64_t seen = (int64_t)(t->ended_cpu + e->l.cpu - e->l.waited);
	if (heard) {
		value = seen + (int64_t)(m->past.cpu + m->past.waited);
	} else if (m->attached) {
		/* Nobody waits for it here: what it had when it was looked at last. */
		value = m->now.value[FIGURE_cpu_time] > seen ? m->now.value[FIGURE_cpu_time] : seen;
	}
	if (seen > value)
		value = seen;
	int64_t more = most_unseen(e);
	int64_t less = heard && m->past.waited ? 2 * TICK_NS : 0; /* what its children had before comes in ticks */
	more += less;
	const char *method = heard ? "process events"
	                     : m->attached
	                         ? "samples"
	                         : method_of(e, "wait4", "wait4, last look", "wait4, living", "wait4, last look, living");
	finish_bounds(e, FIGURE_cpu_time, value, value - less, value + more, method, complete);
	int64_t user, system;
	split_time(e, value, &user, &system);
	finish_figure(e, FIGURE_user_time, user, method, complete);
	finish_figure(e, FIGURE_system_time, system, method, complete);
	int64_t over = m->over > m->end ? m->over : m->end; /* the CPU time is of those too that outlived the command */
	if (over > m->start)
		finish_figure(e, FIGURE_cores, (int64_t)((double)value * 1000 / (double)(over - m->start) + 0.5), method,
		              complete);
	int64_t cores = m->now.peak[FIGURE_cores_peak];
	if (cores >= 0)
		finish_figure(e, FIGURE_cores_peak, cores, "samples", false);
	else
		finish_absent(e, FIGURE_cores_peak, "the command was too short for two samples");
}

/* ---- counts ---- */

/* How many processes, threads and open files there were, and whether some may be missing. */
static void set_process_figures(struct ends *e)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	uint64_t peak[SET_HEIGHTS];
	const char *method = finish_is_blind(m) ? "samples" : "process events";
	bool complete = !finish_is_blind(m) && !t->failed && !(m->attached && (m->past.children || !m->past.known));
	sets_peak(&t->sets, peak);
	/* When each was born is told to the tick; that there never were more is known. */
	if (m->admit && admit_most(m->admit) && peak[SET_COUNT] > admit_most(m->admit))
		peak[SET_COUNT] = admit_most(m->admit);
	finish_figure(e, FIGURE_processes_total, finish_int(t->total), method, complete);
	finish_figure(e, FIGURE_processes_concurrent_peak, finish_int(peak[SET_COUNT]), method, complete);
	int64_t threads = m->now.peak[FIGURE_threads_peak];
	if (threads < finish_int(t->threads_peak))
		threads = finish_int(t->threads_peak);
	if (m->group.tasks >= 1)
		finish_figure(e, FIGURE_threads_peak, m->group.tasks, "control group", true);
	else if (threads >= 1)
		finish_figure(e, FIGURE_threads_peak, threads, "samples", false);
	else
		finish_absent(e, FIGURE_threads_peak, "the command was too short for a sample");
	if (m->now.peak[FIGURE_open_files_peak] >= 0)
		finish_figure(e, FIGURE_open_files_peak, m->now.peak[FIGURE_open_files_peak], "samples", false);
	else
		finish_absent(e, FIGURE_open_files_peak, "not available in any sample (requires Linux 6.2)");
}

/* Bytes and calls, and what went to storage. Of processes that went unseen they are incomplete. */
static void set_io_figures(struct ends *e)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	static const char why[] = "not available from the kernel (/proc/PID/io)";
	static const enum figure_name names[] = {FIGURE_bytes_read,  FIGURE_bytes_written, FIGURE_read_calls,
	                                         FIGURE_write_calls, FIGURE_storage_read,  FIGURE_storage_written};
	const struct tree_io *w = &e->w.io, *l = &t->lost_io, *a = &e->l.io;
	const uint64_t values[] = {w->rchar + l->rchar + a->rchar,
	                           w->wchar + l->wchar + a->wchar,
	                           w->syscr + l->syscr + a->syscr,
	                           w->syscw + l->syscw + a->syscw,
	                           w->read_bytes + l->read_bytes + a->read_bytes,
	                           w->write_bytes + l->write_bytes + a->write_bytes};
	const char *method = method_of(e, "io of what was waited for", "io of what was waited for, last look",
	                               "io of what was waited for, living", "io of what was waited for, last look, living");
	bool complete = e->l.io_unread == 0 && !t->blind && !(t->lost && is_dim(m)) && !m->attached;
	const struct tree_io *s = &t->ended_io;
	const struct tree_io *b = &m->past.io;
	int64_t cut = m->blind ? (int64_t)m->cut_threads * PROCEVENTS_CUT : 0;
	const uint64_t sums[] = {s->rchar + b->rchar, s->wchar + b->wchar,           s->syscr + b->syscr,
	                         s->syscw + b->syscw, s->read_bytes + b->read_bytes, s->write_bytes + b->write_bytes};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int64_t v = finish_int(e->each ? sums[i] : values[i]);
		if (e->each) {
			finish_bounds(e, names[i], v, v, v + cut, m->blind ? "process events" : "last looks", true);
			continue;
		}
		if (m->attached)
			v = m->now.peak[names[i]];
		if (m->attached ? v >= 0 : e->w.io_known)
			finish_bounds(e, names[i], v, v, v + (t->lost ? cut : 0), m->attached ? "samples" : method, complete);
		else
			finish_absent(e, names[i], why);
	}
}

/* Page faults and switches. An attached process's are not known: nobody here waits for it. */
static void set_event_figures(struct ends *e)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	bool complete = e->l.unread == 0 && t->lost == 0;
	const char *method = e->l.n ? "wait4, living" : "wait4";
	static const enum figure_name names[] = {FIGURE_page_faults_minor, FIGURE_page_faults_major,
	                                         FIGURE_context_switches_voluntary, FIGURE_context_switches_involuntary};
	const uint64_t values[] = {e->w.minor + e->l.minor + t->lost_minor, e->w.major + e->l.major + t->lost_major,
	                           e->w.voluntary + e->l.voluntary, e->w.involuntary + e->l.involuntary};
	for (size_t i = 0; i < 4; i++)
		if (m->attached)
			finish_absent(e, names[i], "the process is not a child of stemma");
		else
			finish_figure(e, names[i], finish_int(values[i]), method, complete);
}

/* How much the folder held at most, by walks through it; else why that is not known. */
static void set_footprint_figures(struct ends *e)
{
	static const enum figure_name names[] = {FIGURE_disk_footprint_peak, FIGURE_files_peak, FIGURE_directories_peak};
	const struct monitor *m = e->m;
	struct footprint_sum now, peak;
	const char *why = "measured with --summary, --report and --watch only";
	bool known = m->footprint && footprint_now(m->footprint, &now, &peak, &why);
	for (size_t i = 0; i < 3; i++)
		if (known)
			finish_figure(e, names[i],
			              finish_int(i == 0   ? peak.bytes
			                         : i == 1 ? peak.files
			                                  : peak.directories),
			              "walks", false);
		else
			finish_absent(e, names[i], why ? why : "the command was too short to measure the folder");
}

/* Cycles and instructions, of the processor's own counters; why not, where there are none. */
static void set_counter_figures(struct ends *e)
{
	const struct counters *c = &e->m->counters;
	uint64_t cycles, instructions;
	if (counters_read(c, &cycles, &instructions)) {
		const char *method = c->user_only ? "perf_event, user mode" : "perf_event";
		finish_figure(e, FIGURE_cycles, finish_int(cycles), method, true);
		finish_figure(e, FIGURE_instructions, finish_int(instructions), method, true);
		return;
	}
	finish_absent(e, FIGURE_cycles, c->why ? c->why : "not available from the kernel");
	finish_absent(e, FIGURE_instructions, c->why ? c->why : "not available from the kernel");
}

/* What the processes used of graphics processors; else why that is not known. */
static void set_gpu_figures(struct ends *e)
{
	const struct gpu_figures *g = &e->m->gpu_figures;
	const char *why = !e->m->gpu ? e->m->gpu_absent : g->absent;
	if (why) {
		finish_absent(e, FIGURE_gpus, why);
		finish_absent(e, FIGURE_gpu_time, why);
		finish_absent(e, FIGURE_gpu_memory_peak, why);
		return;
	}
	const char *method = g->accounts ? "NVML, looks and accounts" : "NVML, looks";
	finish_figure(e, FIGURE_gpus, finish_int(g->devices), method, g->accounts);
	if (g->untold && g->memory_peak == 0)
		finish_absent(e, FIGURE_gpu_memory_peak, "the driver does not report the memory of processes");
	else
		finish_figure(e, FIGURE_gpu_memory_peak, finish_int(g->memory_peak), method, g->accounts && !g->untold);
	if (g->busy_known || g->devices == 0)
		finish_figure(e, FIGURE_gpu_time, finish_int(g->busy), method, g->accounts);
	else
		finish_absent(e, FIGURE_gpu_time, "the driver keeps no samples of processes");
}

/* A copy. Without memory it is left out. */
static void add_sentence(struct ends *e, const char *text)
{
	struct summary *s = e->s;
	char **more = realloc(s->escaped, (s->nescaped + 1) * sizeof(*more));
	if (more) {
		s->escaped = more;
		if ((more[s->nescaped] = strdup(text)))
			s->nescaped++;
	}
}

/* Bytes over the network and, with limits, for which connections those held. */
static void set_net_figures(struct ends *e)
{
	static const enum figure_name names[] = {FIGURE_bytes_received, FIGURE_bytes_sent};
	struct net_figure f[2];
	if (e->m->net)
		net_figures(e->m->net, finish_is_blind(e->m), &f[0], &f[1]);
	for (size_t i = 0; i < 2; i++) {
		if (!e->m->net)
			finish_absent(e, names[i], "measured with --summary, --report and limits only");
		else if (f[i].absent)
			finish_absent(e, names[i], f[i].absent);
		else if (f[i].bounded)
			finish_bounds(e, names[i], f[i].value, f[i].low, f[i].high, f[i].method, f[i].complete);
		else
			finish_figure(e, names[i], f[i].value, f[i].method, f[i].complete);
		for (size_t l = 0; e->m->net && f[i].lower && l < e->m->nlimit; l++)
			if (!strcmp(e->m->limit[l].name, i ? "sent" : "received"))
				add_sentence(e, i ? "the limit 'sent' was enforced for observed TCP connections only"
				                  : "the limit 'received' was enforced for observed TCP connections only");
	}
}

/* ---- who it was ---- */

/* The caller frees it. NULL for NULL and without memory. */
static char *copy_or_null(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Deep copies, the caller's. A name without memory is NULL. -1: no memory at all. */
static int copy_limits(const struct summary_limit *from, size_t n, struct summary_limit **ret, size_t *ret_n)
{
	*ret = calloc(n + 1, sizeof(**ret));
	for (size_t i = 0; *ret && i < n; i++) {
		(*ret)[i] = from[i];
		(*ret)[i].name = strdup(from[i].name);
	}
	*ret_n = *ret ? n : 0;
	return *ret ? 0 : -1;
}

/* Fills in the row of a process. -1 for what is not known. r's strings are copied. */
static void fill_process_row(const struct tree_record *r, struct summary_process *ret)
{
	const struct procfs *l = &r->last;
	int64_t cpu = l->cpu == PROCFS_UNKNOWN ? -1 : (int64_t)l->cpu, user = -1, system = -1;
	if (l->user != PROCFS_UNKNOWN && l->system != PROCFS_UNKNOWN) {
		/* The split is in clock ticks, the sum exact. */
		double sum = (double)(l->user + l->system);
		user = cpu < 0 || sum == 0 ? (int64_t)l->user : (int64_t)((double)cpu * ((double)l->user / sum));
		system = cpu < 0 || sum == 0 ? (int64_t)l->system : cpu - user;
		if (cpu > 0 && sum == 0)
			user = cpu;
	} else if (cpu >= 0) { /* less than a tick: there is no split to read */
		user = cpu;
		system = 0;
	}
	*ret = (struct summary_process){
	    .pid = r->pid,
	    .ppid = r->ppid,
	    .exe = copy_or_null(r->exe),
	    .start = r->start,
	    .end = r->end,
	    .user_time = user,
	    .system_time = system,
	    .resident_peak = r->resident_peak ? finish_int(r->resident_peak) : -1,
	    .virtual_peak = r->virtual_peak ? finish_int(r->virtual_peak) : -1,
	    .bytes_read = l->rchar == PROCFS_UNKNOWN ? -1 : finish_int(l->rchar),
	    .bytes_written = l->wchar == PROCFS_UNKNOWN ? -1 : finish_int(l->wchar),
	    .threads_peak = r->threads_peak ? finish_int(r->threads_peak) : -1,
	    .status = r->status,
	};
}

/* Fills the summary's rows of processes. Those that ended, and those that still live (end and status -1). Without
 * memory none. */
static void fill_process_rows(struct ends *e)
{
	const struct tree *t = &e->m->tree;
	struct summary *s = e->s;
	size_t n = t->nrecord + (t->keep_records ? t->nalive : 0);
	s->process = calloc(n + 1, sizeof(*s->process));
	if (!s->process)
		return;
	for (size_t i = 0; i < t->nrecord; i++)
		fill_process_row(&t->record[i], &s->process[s->nprocess++]);
	for (size_t i = 0; t->keep_records && i < t->nalive; i++) {
		const struct member *p = t->alive[i];
		const struct tree_record r = {.pid = p->pid,
		                              .ppid = p->ppid,
		                              .exe = p->exe,
		                              .start = p->start,
		                              .end = -1,
		                              .last = p->last,
		                              .resident_peak = p->resident_peak,
		                              .virtual_peak = p->virtual_peak,
		                              .threads_peak = p->threads_peak,
		                              .status = -1};
		fill_process_row(&r, &s->process[s->nprocess++]);
	}
}

/* Sentences about who outlived the command, at most 20 by name. */
static void fill_escaped(struct ends *e)
{
	enum { MOST = 20 };
	const struct monitor *m = e->m;
	char line[600];
	for (size_t i = 0; i < m->nescaped; i++)
		add_sentence(e, m->escaped[i]);
	if (m->root_over && !m->all_over) {
		for (size_t i = 0; i < m->tree.nalive && i < MOST; i++) {
			const struct member *p = m->tree.alive[i];
			snprintf(line, sizeof(line),
			         "%s (pid %d) still runs; its resource use is counted up to the end of the command",
			         p->exe ? p->exe : "a process", p->pid);
			add_sentence(e, line);
		}
		if (m->tree.nalive > MOST) {
			snprintf(line, sizeof(line), "%zu more processes outlive the command", m->tree.nalive - MOST);
			add_sentence(e, line);
		}
	}
	if (m->orphans > m->nescaped) {
		snprintf(line, sizeof(line), "%zu more processes outlived the command", m->orphans - m->nescaped);
		add_sentence(e, line);
	}
	if (m->tree.left_out) {
		snprintf(line, sizeof(line), "the records of %llu more processes were left out",
		         (unsigned long long)m->tree.left_out);
		add_sentence(e, line);
	}
}

/* How far it came to a limit, or over it, by what is known now. */
static void limit_peak(const struct summary *s, struct summary_limit *l)
{
	int name = limit_by_name(l->name);
	const struct figure *f = name < 0 ? NULL : &s->figure[limit_figure((enum limit_name)name)];
	if (f && f->known && f->value > l->peak)
		l->peak = f->value;
}

/* "KEY=VALUE" without secrets; s->label must have room. Without "=" it is none. */
static void add_label(struct summary *s, const char *label)
{
	struct buf clean = {0};
	redact_env(&clean, str_of(label)); /* as the record has it */
	const char *text = buf_cstr(&clean), *eq = strchr(text, '=');
	if (eq) {
		s->label[s->nlabel].key = strndup(text, (size_t)(eq - text));
		s->label[s->nlabel++].value = strdup(eq + 1);
	}
	buf_release(&clean);
}

/* status and signal are -1 where there is none. */
static void fill_exit(const struct monitor *m, struct summary *s)
{
	s->exit_type = m->status < 0 ? EXIT_TYPE_UNKNOWN : WIFSIGNALED(m->status) ? EXIT_TYPE_SIGNAL : EXIT_TYPE_NORMAL;
	s->exit_status = m->status >= 0 && !WIFSIGNALED(m->status) ? WEXITSTATUS(m->status) : -1;
	s->signal = m->status >= 0 && WIFSIGNALED(m->status) ? WTERMSIG(m->status) : -1;
	if (m->nexceeded)
		s->exit_type = EXIT_TYPE_LIMIT;
}

/* What the task was: command, end, limits, host, labels. e->rc -1: no memory for the limits. */
static void fill_task(struct ends *e)
{
	const struct monitor *m = e->m;
	struct summary *s = e->s;
	s->run = copy_or_null(m->run);
	s->cwd = copy_or_null(m->cwd);
	s->user = copy_or_null(m->user);
	s->argv = calloc(m->argc + 1, sizeof(*s->argv));
	const char *at = m->argv;
	for (size_t i = 0; s->argv && i < m->argc; i++, at += strlen(at) + 1)
		s->argv[i] = strdup(at);
	fill_exit(m, s);
	s->oom = m->oom;
	if (copy_limits(m->limit, m->nlimit, &s->limit, &s->nlimit) < 0 ||
	    copy_limits(m->exceeded, m->nexceeded, &s->exceeded, &s->nexceeded) < 0)
		e->rc = -1;
	for (size_t i = 0; i < s->nlimit; i++)
		limit_peak(s, &s->limit[i]);
	for (size_t i = 0; i < s->nexceeded; i++)
		limit_peak(s, &s->exceeded[i]);
	s->host = calloc(m->nhost + 1, sizeof(*s->host));
	for (size_t i = 0; s->host && i < m->nhost; i++) {
		s->host[i] = (struct summary_pair){copy_or_null(m->host[i].key), copy_or_null(m->host[i].value)};
		s->nhost++;
	}
	s->label = calloc(m->o.nlabels + 1, sizeof(*s->label));
	for (size_t i = 0; s->label && i < m->o.nlabels; i++)
		add_label(s, m->o.labels[i]);
}

int monitor_summarise(struct monitor *m, struct summary *ret)
{
	struct ends e = {.m = m, .s = ret};
	summary_init(ret);
	living_now(m, &e.l);
	/* Under our eyes each process's bytes are exact; the kernel's events have whole KiB. */
	e.each = (m->attached ? finish_is_heard(m) : !m->blind) && m->tree.io_unknown == 0 && e.l.n == 0;
	waited_now(&e.w, !e.each);
	set_time_figures(&e);
	set_process_figures(&e);
	set_io_figures(&e);
	finish_memory(&e); /* goes by the bytes */
	set_event_figures(&e);
	set_footprint_figures(&e);
	set_counter_figures(&e);
	set_gpu_figures(&e);
	set_net_figures(&e);
	fill_process_rows(&e);
	pthread_mutex_lock(&m->files_lock);
	if (m->opened && e.rc == 0)
		e.rc = opened_summarize(m->opened, !finish_is_blind(m), ret);
	pthread_mutex_unlock(&m->files_lock);
	fill_escaped(&e);
	fill_task(&e);
	if (e.rc == 0 && summary_redact(ret, NULL) < 0)
		e.rc = -1;
	return e.rc;
}

/* ---- without the worker ---- */

/* What wait4 told of the command whose recorder was killed, where that is more than the last look showed. */
static void set_waited_figures(struct ends *e, bool looked)
{
	static const char own[] = "wait4 after the recorder was killed";
	const struct monitor *m = e->m;
	const struct handover *h = m->handover;
	const struct rusage *u = &m->lost_used;
	int64_t user = u->ru_utime.tv_sec * SECOND + u->ru_utime.tv_usec * 1000LL,
	        system = u->ru_stime.tv_sec * SECOND + u->ru_stime.tv_usec * 1000LL;
	/* Those that became orphans are not among what the command has waited for. */
	if (!(looked && h->most[FIGURE_cpu_time] > user + system)) {
		finish_figure(e, FIGURE_cpu_time, user + system, own, false);
		finish_figure(e, FIGURE_user_time, user, own, false);
		finish_figure(e, FIGURE_system_time, system, own, false);
		if (m->end > m->start)
			finish_figure(e, FIGURE_cores, (user + system) * 1000 / (m->end - m->start), own, false);
	}
	finish_figure(e, FIGURE_page_faults_minor, u->ru_minflt, own, false);
	finish_figure(e, FIGURE_page_faults_major, u->ru_majflt, own, false);
	finish_figure(e, FIGURE_context_switches_voluntary, u->ru_nvcsw, own, false);
	finish_figure(e, FIGURE_context_switches_involuntary, u->ru_nivcsw, own, false);
	/* The largest process; one that began with the recorder's memory tells nothing by less. */
	struct rusage mine;
	int64_t resident = (int64_t)u->ru_maxrss * 1024;
	if (getrusage(RUSAGE_SELF, &mine) == 0 && u->ru_maxrss > mine.ru_maxrss * 9 / 8 + 1024 &&
	    !(looked && h->most[FIGURE_memory_resident_peak] > resident))
		finish_figure(e, FIGURE_memory_resident_peak, resident, own, false);
}

/* What the process that started stemma has seen itself: the command's end. For all else what the last look showed,
 * which is less than the truth. -1: no memory, and nothing to release. */
int monitor_summarise_lost(const struct monitor *m, struct summary *ret)
{
	static const char why[] = "the recorder was killed", look[] = "last look before the recorder was killed";
	const struct handover *h = m->handover;
	struct ends e = {.m = (struct monitor *)(uintptr_t)m, .s = ret};
	summary_init(ret);
	bool looked = __atomic_load_n(&h->sampled, __ATOMIC_ACQUIRE);
	for (int f = 0; f < FIGURES; f++)
		if (looked && h->most[f] >= 0)
			finish_figure(&e, (enum figure_name)f, h->most[f], look, false);
		else
			finish_absent(&e, (enum figure_name)f, why);
	finish_figure(&e, FIGURE_start, m->start, "clock", true);
	finish_figure(&e, FIGURE_end, m->end, "clock", m->status >= 0);
	finish_figure(&e, FIGURE_wall_time, m->end - m->start, "clock", m->status >= 0);
	if (m->lost_known)
		set_waited_figures(&e, looked);
	fill_task(&e);
	add_sentence(&e, "the recorder was killed: later resource use is known only from the end of the command");
	if (e.rc == 0 && summary_redact(ret, NULL) < 0)
		e.rc = -1;
	if (e.rc < 0)
		summary_release(ret);
	return e.rc;
}
