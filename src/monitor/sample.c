/* Looking at who is alive. Everything here is called with the monitor's lock. */
#include "base/clock.h"
#include "base/io.h"
#include "monitor/monitor_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PSS_NS_PER_BYTE 0.014 /* what a look at the shares costs: 14 ms a GB (measured) */
#define SHARES_FROM (8 << 20) /* bytes that must be in question */
#define CREDIT_NS 30000000    /* CPU time for shares: a twentieth of the first 600 ms, then 1 % */

int64_t monitor_now_ns(const struct monitor *m)
{
	return clock_now_ns(CLOCK_BOOTTIME) + m->offset;
}

/* ---- a control group's figures ---- */

/* Raises a figure to v. Negative: not known, and below all that is. */
static void raise_known(int64_t *to, int64_t v)
{
	if (v > *to)
		*to = v;
}

void monitor_group(struct monitor *m, int64_t anonymous, int64_t shared, int64_t charged_peak, int64_t tasks_peak)
{
	pthread_mutex_lock(&m->lock);
	raise_known(&m->group.anonymous, anonymous);
	raise_known(&m->group.shared, shared);
	if (anonymous >= 0 && shared >= 0)
		raise_known(&m->group.kept, anonymous + shared);
	raise_known(&m->group.charged, charged_peak);
	raise_known(&m->group.tasks, tasks_peak);
	pthread_mutex_unlock(&m->lock);
}

uint64_t monitor_refused(const struct monitor *m)
{
	return m->admit ? admit_refused(m->admit) : 0;
}

/* ---- sums of the kernel ---- */

/* tid 0: of the whole process. add: else it is subtracted. *ret_n: the bytes that this read took. false: not known. */
static bool own_io(pid_t tid, struct tree_io *io, bool add, size_t *ret_n)
{
	char name[64], text[512];
	struct procfs f;
	procfs_clear(&f);
	if (tid)
		snprintf(name, sizeof(name), "/proc/self/task/%d/io", tid);
	else
		snprintf(name, sizeof(name), "/proc/self/io");
	size_t n = io_text(name, text, sizeof(text));
	if (!n)
		return false;
	procfs_parse_io(text, &f);
	if (f.rchar == PROCFS_UNKNOWN)
		return false;
	const uint64_t sign = add ? 1 : UINT64_MAX; /* wraps to minus */
	io->rchar += sign * f.rchar;
	io->wchar += sign * f.wchar;
	io->syscr += sign * f.syscr;
	io->syscw += sign * f.syscw;
	io->read_bytes += sign * f.read_bytes;
	io->write_bytes += sign * f.write_bytes;
	*ret_n = n;
	return true;
}

struct threads {
	pid_t me;
	struct tree_io *io;
	bool ok;
};

/* Takes what this program's own threads moved out of the sum; one that ended meanwhile is none. */
static void subtract_thread(struct threads *t, pid_t tid)
{
	size_t n;
	if (tid != t->me)
		t->ok &= own_io(tid, t->io, false, &n) || errno == ENOENT || errno == ESRCH;
}

/* The bytes of a process hold those of the children that it waited for; its threads' do not. The difference is what the
 * children used, exactly, if no other thread of ours does anything meanwhile. false: it cannot be read. */
static bool read_waited_io(struct tree_io *ret)
{
	struct threads t = {.me = (pid_t)syscall(SYS_gettid), .io = ret, .ok = true};
	size_t n = 0, unused;
	memset(ret, 0, sizeof(*ret));
	DIR *d = opendir("/proc/self/task");
	if (!d)
		return false;
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			subtract_thread(&t, (pid_t)atoi(e->d_name));
	closedir(d);
	if (!t.ok || !own_io(t.me, ret, false, &n) || !own_io(0, ret, true, &unused))
		return false;
	ret->rchar -= n; /* of the read before the last */
	ret->syscr--;
	return true;
}

/* A recorder whose memory nobody may read (PR_SET_DUMPABLE) may not open these files of its own either, unless it is
 * root: they are opened while it can be read, some 50 us. */
static bool waited_io(struct tree_io *ret)
{
	if (read_waited_io(ret))
		return true;
	if (errno != EACCES || prctl(PR_GET_DUMPABLE) != 0)
		return false;
	prctl(PR_SET_DUMPABLE, 1);
	bool ok = read_waited_io(ret);
	prctl(PR_SET_DUMPABLE, 0);
	return ok;
}

/* The time in ns. */
static int64_t timeval_ns(const struct timeval *t)
{
	return t->tv_sec * SECOND + t->tv_usec * 1000LL;
}

/* Times in ns. io: bytes, too. */
void waited_now(struct waited *ret, bool io)
{
	struct rusage u;
	*ret = (struct waited){0};
	getrusage(RUSAGE_CHILDREN, &u);
	ret->user = timeval_ns(&u.ru_utime);
	ret->system = timeval_ns(&u.ru_stime);
	ret->minor = (uint64_t)u.ru_minflt;
	ret->major = (uint64_t)u.ru_majflt;
	ret->voluntary = (uint64_t)u.ru_nvcsw;
	ret->involuntary = (uint64_t)u.ru_nivcsw;
	ret->resident_peak = (uint64_t)u.ru_maxrss * 1024;
	ret->io_known = io && waited_io(&ret->io);
}

/* Sums over all that live now; what could not be read is counted. */
void living_now(struct monitor *m, struct living *ret)
{
	*ret = (struct living){0};
	for (size_t i = 0; i < m->tree.nalive; i++) {
		struct procfs f;
		uint64_t voluntary = 0, involuntary = 0;
		pid_t pid = m->tree.alive[i]->pid;
		procfs_clear(&f);
		ret->n++;
		if (procfs_stat(pid, &f) < 0 || procfs_cpu(pid, &f) < 0) {
			ret->unread++;
			continue;
		}
		ret->cpu += f.cpu + f.waited_cpu;
		ret->user += f.user;
		ret->system += f.system;
		ret->waited += f.waited_cpu;
		ret->minor += f.minor + f.waited_minor;
		ret->major += f.major + f.waited_major;
		if (procfs_switches(pid, &voluntary, &involuntary) == 0) {
			ret->voluntary += voluntary;
			ret->involuntary += involuntary;
		}
		if (procfs_io(pid, false, &f) < 0 || f.rchar == PROCFS_UNKNOWN) {
			ret->io_unread++;
			continue;
		}
		tree_add_io(&ret->io, &f);
	}
}

/* ---- who is there ---- */

struct discovery {
	struct monitor *m;
	pid_t parent;
	unsigned depth;
};

/* Takes a process that was found among those of the task. Adds the process, if it is not known, and those below it;
 * zombies are passed over. */
static void discovered(void *arg, pid_t pid)
{
	struct discovery *d = arg;
	struct monitor *m = d->m;
	if (!tree_by_pid(&m->tree, pid)) {
		struct procfs f;
		procfs_clear(&f);
		if (procfs_stat(pid, &f) < 0 || f.state == 'Z' || f.state == 'X')
			return;
		int64_t now = monitor_now_ns(m), from = (int64_t)f.started + m->offset;
		if (tree_is_ending(&m->tree, pid, from))
			return;
		struct member *p = tree_born(&m->tree, pid, d->parent, from < now ? from : now, now, true);
		if (p)
			p->started = f.started;
	}
	if (d->depth < 64) {
		struct discovery below = {m, pid, d->depth + 1};
		procfs_children(pid, false, discovered, &below);
	}
}

void monitor_discover(struct monitor *m)
{
	struct discovery d = {m, 0, 0};
	if (m->attached)
		discovered(&d, m->root);
	else /* the command, and who became ours when his parent ended: all the first thread's, and of the others nothing is
	        to be looked up there (worker.c, read_own) */
		m->children_unknown |= procfs_children(m->self, true, discovered, &d) == -ENOENT;
	/* What has left the tree that begins there, but was known. */
	for (size_t i = 0; m->attached && i < m->tree.nalive; i++) {
		struct discovery below = {m, m->tree.alive[i]->pid, 1};
		procfs_children(below.parent, false, discovered, &below);
	}
}

/* ---- shares ---- */

/* The sum of the shares is a lower bound only of what stood still while it was taken: where a process ended, was born
 * or gave memory back meanwhile, a page may have been counted by too large a share. A page that one of them came to
 * share meanwhile is counted too much by less than itself, so what they have grown by is taken off. resident: what they
 * seemed to have when they were looked at a moment ago. Returns the sum, 0: there is none. */
static uint64_t look_at_shares(struct monitor *m, uint64_t resident)
{
	struct tree *t = &m->tree;
	uint64_t sum = 0, after = 0, born = t->next_id, left = t->ended, slack = procfs_resident_slack() / 4;
	m->shares_due = true;
	for (size_t i = 0; i < t->nalive; i++) {
		uint64_t pss, anonymous;
		if (tree_is_guest(t, t->alive[i]))
			continue;
		if (procfs_pss(t->alive[i]->pid, &pss, &anonymous) < 0)
			return 0;
		sum += pss;
	}
	monitor_discover(m);
	if (born != t->next_id || left != t->ended)
		return 0;
	for (size_t i = 0; i < t->nalive; i++) {
		struct procfs f;
		procfs_clear(&f);
		uint64_t before = t->alive[i]->last.resident;
		if (before == PROCFS_UNKNOWN || tree_is_guest(t, t->alive[i]))
			continue;
		if (procfs_stat(t->alive[i]->pid, &f) < 0 || f.state == 'Z' || f.resident + slack + f.resident / 100 < before)
			return 0;
		after += f.resident > before ? f.resident : before;
	}
	uint64_t grown = after > resident ? after - resident : 0;
	m->shares_due = grown > resident / 50; /* they have not come to rest */
	uint64_t low = sum > grown ? sum - grown : 0;
	if (low > m->pss_peak)
		m->pss_peak = low;
	if (resident > m->shares.resident - m->shares.resident / 50)
		m->shares = (struct shares){.pss = sum, .resident = resident};
	m->shares_now = (struct shares){.pss = sum, .resident = resident};
	return low;
}

int64_t monitor_memory(struct monitor *m)
{
	pthread_mutex_lock(&m->lock);
	uint64_t resident = 0;
	for (size_t i = 0; i < m->tree.nalive; i++)
		if (m->tree.alive[i]->last.resident != PROCFS_UNKNOWN && !tree_is_guest(&m->tree, m->tree.alive[i]))
			resident += m->tree.alive[i]->last.resident;
	uint64_t low = look_at_shares(m, resident);
	pthread_mutex_unlock(&m->lock);
	return low ? (int64_t)low : -1;
}

/* Are the bounds so far apart that it is worth it, and can it be afforded? */
static bool wants_shares(const struct monitor *m, uint64_t resident, uint64_t largest)
{
	uint64_t seen = m->shares.resident;
	if (m->tree.nalive < 2 || resident < SHARES_FROM || resident - largest < largest / 20)
		return false;
	/* Where pages were shared they may be copied since, and nothing else shows it. */
	bool again = m->shares_due || seen > m->shares.pss + m->shares.pss / 10;
	if (again ? resident < seen - seen / 50 : resident < seen + seen / 50)
		return false;
	int64_t cost = (int64_t)((double)resident * PSS_NS_PER_BYTE), passed = monitor_now_ns(m) - m->start;
	int64_t credit = !m->o.thorough ? 0 : passed / 20 < CREDIT_NS ? passed / 20 : CREDIT_NS;
	return m->spent + cost < credit + passed / 100;
}

/* ---- a look at everybody ---- */

/* A process of the same number that began at another time is another one. */
static bool has_ended(const struct member *p, const struct procfs *f)
{
	return f->state == 'Z' || f->state == 'X' || (p->started && f->started != p->started);
}

/* Sets what it is now, and raises the peak. */
static void set_current_figure(struct monitor_now *w, enum figure_name f, uint64_t value)
{
	w->value[f] = (int64_t)value;
	if (w->value[f] > w->peak[f])
		w->peak[f] = w->value[f];
}

struct sums {
	uint64_t resident, largest, virtual, swap, threads, descriptors, anonymous, file, shared, cpu, huge;
	uint64_t one_shared, one_private; /* the most shared memory of one process; of anything else */
	bool grown;                       /* somebody has come to a new mark */
	struct tree_io io;
	bool descriptors_known;
};

/* Adds v to a sum. v may be unknown: then nothing changes. */
static void add_if_known(uint64_t *to, uint64_t v)
{
	if (v != PROCFS_UNKNOWN)
		*to += v;
}

/* Raises a figure to v. v may be unknown: then nothing changes. */
static void see_most(uint64_t *most, uint64_t v)
{
	if (v != PROCFS_UNKNOWN && v > *most)
		*most = v;
}

/* Nobody told of its exec. */
static void look_at_program(struct member *p)
{
	char name[48], path[4096];
	snprintf(name, sizeof(name), "/proc/%d/exe", p->pid);
	ssize_t n = readlink(name, path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = '\0';
		free(p->exe); /* whether it has become that, or its parent had, is not known */
		p->exe = strdup(path);
	}
}

/* A process of which nobody else will tell that it ended. last: what it had used; NULL: that cannot be seen any more.
 */
static void end_member(struct monitor *m, struct member *p, struct procfs *last, struct sums *s)
{
	int status = last ? last->exit_code : -1;
	if (last)
		procfs_cpu(p->pid, last);
	if (last && m->attached) { /* nobody here waits for it */
		add_if_known(&s->cpu, last->cpu);
		add_if_known(&s->cpu, last->waited_cpu);
		if (procfs_io(p->pid, false, last) == 0)
			tree_add_io(&s->io, last);
	}
	monitor_orphan_ended(m, p, status);
	tree_exiting(&m->tree, p->pid, last, status, monitor_now_ns(m));
}

/* What one process has now, to that of all. */
static void add_member(struct monitor *m, const struct procfs *l, struct sums *s)
{
	add_if_known(&s->resident, l->resident);
	if (l->resident != PROCFS_UNKNOWN && l->resident > s->largest)
		s->largest = l->resident;
	add_if_known(&s->virtual, l->virtual);
	add_if_known(&s->swap, l->swap);
	add_if_known(&s->threads, l->threads);
	add_if_known(&s->anonymous, l->anonymous);
	add_if_known(&s->file, l->file);
	add_if_known(&s->shared, l->shared);
	add_if_known(&s->huge, l->huge);
	see_most(&s->one_shared, l->shared);
	if (l->resident != PROCFS_UNKNOWN && l->shared != PROCFS_UNKNOWN && l->resident > l->shared)
		see_most(&s->one_private, l->resident - l->shared);
	see_most(&m->alone.anonymous, l->anonymous);
	see_most(&m->alone.file, l->file);
	see_most(&m->alone.shared, l->shared);
	add_if_known(&s->cpu, l->cpu);
	add_if_known(&s->cpu, l->waited_cpu);
	tree_add_io(&s->io, l);
}

/* The size of the folder is their number, since Linux 6.2. */
static void count_descriptors(pid_t pid, struct sums *s)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	if (stat(name, &st) == 0 && st.st_size > 0) {
		s->descriptors += (uint64_t)st.st_size;
		s->descriptors_known = true;
	}
}

/* Samples one process. False: it has ended. */
static bool sample_member(struct monitor *m, struct member *p, bool deep, struct sums *s)
{
	struct procfs f;
	procfs_clear(&f);
	bool guest = tree_is_guest(&m->tree, p); /* asked before and after: an exec may come between */
	int rc = procfs_stat(p->pid, &f);
	if (rc < 0 || has_ended(p, &f)) {
		/* The kernel tells; or whoever waits for it. */
		if (monitor_hears(m) || (!p->found && !m->events))
			return true;
		end_member(m, p, rc == 0 ? &f : NULL, s);
		return false;
	}
	if (!p->started)
		p->started = f.started;
	procfs_cpu(p->pid, &f);
	/* Its high-water mark and what it has swapped out: where much has changed, and now and then. */
	bool grown = p->last.resident == PROCFS_UNKNOWN || f.resident > p->last.resident + p->last.resident / 16;
	if (deep || grown)
		procfs_status(p->pid, &f);
	if (guest || tree_is_guest(&m->tree, p))
		tree_without_memory(&f);
	if (deep)
		procfs_io(p->pid, false, &f);
	if (deep && (m->blind || p->found))
		look_at_program(p);
	uint64_t mark = p->mark;
	tree_looked(&m->tree, p, &f);
	s->grown |= p->mark > mark + mark / 16;
	add_member(m, &p->last, s);
	if (deep)
		count_descriptors(p->pid, s);
	return true;
}

/* Shows the processor time and how many cores are in use. cpu: ns in all. Rates are in thousandths of a core. */
static void show_cpu(struct monitor *m, int64_t cpu)
{
	enum { LEAST = 50000000 }; /* a rate over less time is of the clock's steps */
	struct monitor_now *w = &m->now;
	int64_t passed = w->time - m->wall_before;
	if (cpu > w->value[FIGURE_cpu_time]) /* who ended a moment ago may not have been waited for */
		set_current_figure(w, FIGURE_cpu_time, (uint64_t)cpu);
	cpu = w->value[FIGURE_cpu_time];
	if (w->since > 0)
		set_current_figure(w, FIGURE_cores, (uint64_t)(cpu / (w->since / 1000 + 1)));
	if (passed >= LEAST) {
		set_current_figure(w, FIGURE_cores_peak, (uint64_t)((cpu - m->cpu_before) / (passed / 1000)));
		m->cpu_before = cpu;
		m->wall_before = w->time;
	}
}

/* A total never falls: a smaller value is passed over. */
static void show_total(struct monitor_now *w, enum figure_name f, uint64_t v)
{
	if ((int64_t)v > w->value[f])
		set_current_figure(w, f, v);
}

/* Shows the bytes received and sent until now. Without memory nothing is shown. */
static void look_at_net(struct monitor *m)
{
	static const enum figure_name names[] = {FIGURE_bytes_received, FIGURE_bytes_sent};
	struct net_figure f[2];
	pid_t *pids = malloc((m->tree.nalive + 1) * sizeof(*pids));
	if (!pids)
		return;
	for (size_t i = 0; i < m->tree.nalive; i++)
		pids[i] = m->tree.alive[i]->pid;
	net_look(m->net, pids, m->tree.nalive);
	net_figures(m->net, m->blind && !monitor_hears(m), &f[0], &f[1]);
	for (size_t i = 0; i < 2; i++)
		if (!f[i].absent)
			show_total(&m->now, names[i], (uint64_t)(f[i].bounded ? f[i].low : f[i].value));
	free(pids);
}

/* Files in memory that the run's processes hold, as far as it can have made them; 0 where that is not much. */
static uint64_t look_apart(struct monitor *m, const struct sums *s)
{
	struct apart_held h = {0};
	apart_look(&m->apart, s->one_shared);
	if (!apart_asks(&m->apart))
		return 0;
	for (size_t i = 0; i < m->tree.nalive; i++)
		apart_held_add(&h, m->tree.alive[i]->pid);
	uint64_t held = apart_held_take(&m->apart, &h, s->shared);
	see_most(&m->apart_low, s->one_private + held);
	return held;
}

/* What all have in memory together: pages that several share once, as far as the shares are known. */
static void show_memory(struct monitor *m, const struct sums *s, uint64_t apart)
{
	struct monitor_now *w = &m->now;
	uint64_t resident = s->resident;
	if (m->tree.nalive > 1 && m->shares_now.resident)
		resident = (uint64_t)((double)resident * ((double)m->shares_now.pss / (double)m->shares_now.resident));
	resident = (resident > s->largest ? resident : s->largest) + s->huge;
	if (apart > s->shared)
		resident += apart - s->shared;
	set_current_figure(w, FIGURE_memory_resident_peak, resident);
	if ((int64_t)m->tree.largest > w->peak[FIGURE_memory_resident_peak])
		w->peak[FIGURE_memory_resident_peak] = (int64_t)m->tree.largest;
	set_current_figure(w, FIGURE_memory_virtual_peak, s->virtual);
	set_current_figure(w, FIGURE_swap_peak, s->swap);
	set_current_figure(w, FIGURE_memory_anonymous_peak, s->anonymous);
	set_current_figure(w, FIGURE_memory_file_peak, s->file);
	set_current_figure(w, FIGURE_memory_shared_peak, s->shared);
}

/* Shows the bytes read and written until now. Of those that ended and were waited for, those that live, and those
 * nobody waited for. */
static void show_io(struct monitor *m, const struct waited *waited, const struct sums *s)
{
	struct monitor_now *w = &m->now;
	show_total(w, FIGURE_bytes_read, waited->io.rchar + s->io.rchar + m->tree.lost_io.rchar);
	show_total(w, FIGURE_bytes_written, waited->io.wchar + s->io.wchar + m->tree.lost_io.wchar);
	show_total(w, FIGURE_read_calls, waited->io.syscr + s->io.syscr + m->tree.lost_io.syscr);
	show_total(w, FIGURE_write_calls, waited->io.syscw + s->io.syscw + m->tree.lost_io.syscw);
	show_total(w, FIGURE_storage_read, waited->io.read_bytes + s->io.read_bytes + m->tree.lost_io.read_bytes);
	show_total(w, FIGURE_storage_written, waited->io.write_bytes + s->io.write_bytes + m->tree.lost_io.write_bytes);
}

/* Puts the footprint among the current figures, if it is measured and known. */
static void show_footprint(struct monitor *m)
{
	struct footprint_sum now, peak;
	const char *why;
	if (!m->footprint || !footprint_now(m->footprint, &now, &peak, &why))
		return;
	set_current_figure(&m->now, FIGURE_disk_footprint_peak, now.bytes);
	set_current_figure(&m->now, FIGURE_files_peak, now.files);
	set_current_figure(&m->now, FIGURE_directories_peak, now.directories);
}

void monitor_sample(struct monitor *m)
{
	enum { DEEP_EVERY = 4 };
	struct monitor_now *w = &m->now;
	struct sums s = {0};
	bool deep = m->o.thorough || m->o.interval || m->o.watcher || m->samples % DEEP_EVERY == 0;
	/* Their sum is wanted while they run; it costs the end of the run more than the reading (the kernel clears away
	 * what it kept of /proc/self/task: 1 ms). */
	bool with_io = m->o.watcher || m->o.series || m->attached;
	monitor_hear(m);
	if ((m->blind && !monitor_hears(m)) || deep)
		monitor_discover(m);
	w->time = monitor_now_ns(m);
	w->since = w->time - m->start;
	w->root = m->root_over ? 0 : m->root;
	w->ended = m->root_over;
	w->starting = m->samples == 0;
	for (size_t i = 0; i < m->tree.nalive;)
		if (sample_member(m, m->tree.alive[i], deep, &s))
			i++;
	m->shares_cost = 0;
	if (m->attached && tree_by_pid(&m->tree, m->root))
		m->seen_alive = w->time;
	if (wants_shares(m, s.resident, s.largest)) {
		int64_t before = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
		look_at_shares(m, s.resident);
		m->shares_cost = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	}
	struct waited waited;
	waited_now(&waited, deep && with_io);
	w->living = m->tree.nalive;
	show_memory(m, &s, look_apart(m, &s));
	set_current_figure(w, FIGURE_threads_peak, s.threads);
	set_current_figure(w, FIGURE_processes_concurrent_peak, m->tree.nalive);
	set_current_figure(w, FIGURE_processes_total, m->tree.total);
	set_current_figure(w, FIGURE_wall_time, (uint64_t)w->since);
	if (s.descriptors_known)
		set_current_figure(w, FIGURE_open_files_peak, s.descriptors);
	show_cpu(m, waited.user + waited.system + (int64_t)(s.cpu + m->tree.lost_cpu));
	if (deep && waited.io_known)
		show_io(m, &waited, &s);
	show_footprint(m);
	if (m->net)
		look_at_net(m);
	pthread_mutex_lock(&m->files_lock);
	for (size_t i = 0; m->opened && m->o.files && i < m->tree.nalive; i++)
		opened_look(m->opened, m->tree.alive[i]->pid);
	pthread_mutex_unlock(&m->files_lock);
	int64_t on_gpus = m->gpu ? gpu_memory(m->gpu) : -1;
	if (on_gpus >= 0)
		set_current_figure(w, FIGURE_gpu_memory_peak, (uint64_t)on_gpus);
	m->samples++;
	m->calm = s.grown && m->o.thorough && m->tree.nalive > 1 ? 0 : m->calm + 1;
	tree_looked_at_all(&m->tree, w->time);
	m->sampled = w->time;
}

int64_t monitor_pause(const struct monitor *m, int64_t cost)
{
	enum { FIRST_NS = 10000000, SHARE = 100 };
	if (m->o.interval)
		return m->o.interval;
	int64_t pause = m->calm < 7 ? (int64_t)FIRST_NS << m->calm : SECOND;
	return pause > SHARE * cost ? pause : SHARE * cost;
}
