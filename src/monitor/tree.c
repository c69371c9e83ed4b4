#include "monitor/tree.h"

#include "base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAST_FORK_NS 20000000 /* a process that lived so long before its exec may have touched memory of its own */

void tree_release(struct tree *t)
{
	for (size_t i = 0; i < t->nalive; i++) {
		free(t->alive[i]->exe);
		free(t->alive[i]);
	}
	free(t->alive);
	for (size_t i = 0; i < t->nrecord; i++)
		free(t->record[i].exe);
	free(t->record);
	sets_release(&t->sets);
	sets_release(&t->recent);
	/* The table of one that never had a member is not touched: four pages at the end of each run. */
	if (t->cap)
		memset(t->hash, 0, sizeof(t->hash));
	memset(&t->alive, 0, sizeof(*t) - offsetof(struct tree, alive));
}

/* The head of its chain. */
static struct member **hash_slot(struct tree *t, pid_t pid)
{
	return &t->hash[(unsigned)pid % TREE_HASH];
}

/* NULL: it is not in the tree. */
struct member *tree_by_pid(const struct tree *t, pid_t pid)
{
	for (struct member *m = t->hash[(unsigned)pid % TREE_HASH]; m; m = m->next)
		if (m->pid == pid)
			return m;
	return NULL;
}

/* Adds a process that began to the sets of all the time, and of that since the last look at everybody.
 */
static void begin_sets(struct tree *t, const struct member *m, int64_t start)
{
	t->failed |= sets_begin(&t->sets, m->id, start) < 0;
	t->failed |= sets_begin(&t->recent, m->id, start) < 0;
	sets_raise(&t->sets, m->id, m->height);
}

/* Notes the end of a process in the sets of those that were alive together. end: ns; the member is in the sets no
 * longer. */
static void end_sets(struct tree *t, const struct member *m, int64_t end)
{
	sets_end(&t->sets, m->id, end);
	sets_end(&t->recent, m->id, end);
}

struct member *tree_born(struct tree *t, pid_t pid, pid_t parent, int64_t from, int64_t until, bool found)
{
	enum { TICK_NS = 10000000 };
	struct member *m = tree_by_pid(t, pid), *p = tree_by_pid(t, parent);
	if (m && !found && m->found) { /* the sampler was first */
		m->found = false;
		return m;
	}
	if (m)
		tree_exiting(t, pid, NULL, -1, until); /* its end went by unseen, and its number was given again */
	if (!vec_has_room(t->alive, t->nalive, t->cap)) {
		t->failed = true;
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		t->failed = true;
		return NULL;
	}
	m->id = ++t->next_id;
	m->pid = pid;
	m->ppid = parent;
	m->parent = p ? p->id : 0;
	m->found = found;
	/* The kernel tells births to the clock tick. Two that followed each other within one did not live together. */
	m->born = m->start = until - from <= 2 * TICK_NS ? until : from + TICK_NS;
	m->height[SET_COUNT] = m->height[SET_THREADS] = m->threads_peak = 1;
	m->exe = p && p->exe ? strdup(p->exe) : NULL;
	m->ignores_children = p && p->ignores_children;
	procfs_clear(&m->last);
	m->next = *hash_slot(t, pid);
	*hash_slot(t, pid) = m;
	t->alive[t->nalive++] = m;
	t->total++;
	begin_sets(t, m, m->start);
	return m;
}

/* Raises a figure to v. v may be unknown: then nothing changes. */
static void raise_to(uint64_t *to, uint64_t v)
{
	if (v != PROCFS_UNKNOWN && v > *to)
		*to = v;
}

/* Sets a figure to v. v may be unknown: then nothing changes. */
static void tree_set_known(uint64_t *to, uint64_t v)
{
	if (v != PROCFS_UNKNOWN)
		*to = v;
}

/* Its high-water mark leaves out pages of the pool, of which only those that it has now are told: together it had no
 * more than the most of both, and no less than what it has of both now. */
static void raise_resident(struct tree *t, struct member *m, const struct procfs *f)
{
	uint64_t now = f->resident == PROCFS_UNKNOWN ? 0 : f->resident;
	raise_to(&m->mark, f->resident);
	raise_to(&m->mark, f->resident_peak);
	raise_to(&m->huge_peak, f->huge);
	raise_to(&m->height[SET_RESIDENT], m->mark + m->huge_peak);
	raise_to(&t->huge, m->huge_peak);
	raise_to(&t->largest, m->mark);
	if (f->huge != PROCFS_UNKNOWN)
		raise_to(&t->largest, f->huge + now);
	/* A mark that is where it was says nothing of the time since the last look. */
	uint64_t recent[SET_HEIGHTS] = {0}, have = m->last.resident == PROCFS_UNKNOWN ? 0 : m->last.resident;
	recent[SET_RESIDENT] = (m->mark > m->mark_before ? m->mark : have) + m->huge_peak;
	sets_raise(&t->recent, m->id, recent);
}

uint64_t tree_together(const struct tree *t)
{
	uint64_t recent[SET_HEIGHTS];
	sets_peak(&t->recent, recent);
	return recent[SET_RESIDENT] > t->together ? recent[SET_RESIDENT] : t->together;
}

void tree_looked_at_all(struct tree *t, int64_t now)
{
	t->together = tree_together(t);
	sets_release(&t->recent);
	for (size_t i = 0; i < t->nalive; i++) {
		struct member *m = t->alive[i];
		m->mark_before = m->mark;
		t->failed |= sets_begin(&t->recent, m->id, now) < 0;
	}
}

void tree_looked(struct tree *t, struct member *m, const struct procfs *f)
{
	struct procfs *l = &m->last;
	if (f->state)
		l->state = f->state;
	if (f->ppid)
		l->ppid = f->ppid;
	const uint64_t *from = &f->user;
	static_assert(offsetof(struct procfs, user) < offsetof(struct procfs, huge), "figures lie together");
	uint64_t *to = &l->user;
	for (size_t i = 0; i <= (offsetof(struct procfs, huge) - offsetof(struct procfs, user)) / sizeof(uint64_t); i++)
		tree_set_known(&to[i], from[i]);
	if (f->rchar != PROCFS_UNKNOWN) {
		l->io_whole = f->io_whole;
		memcpy(&l->rchar, &f->rchar, 6 * sizeof(uint64_t));
	}
	m->ignores_children |= f->ignores_children;
	raise_resident(t, m, f);
	raise_to(&m->height[SET_VIRTUAL], f->virtual);
	raise_to(&m->height[SET_VIRTUAL], f->virtual_peak);
	raise_to(&m->height[SET_SWAP], f->swap);
	raise_to(&m->height[SET_THREADS], f->threads);
	raise_to(&m->resident_peak, m->height[SET_RESIDENT]);
	raise_to(&m->virtual_peak, m->height[SET_VIRTUAL]);
	raise_to(&m->threads_peak, m->height[SET_THREADS]);
	raise_to(&t->threads_peak, m->threads_peak);
	t->largest_known |= m->resident_peak > 0;
	sets_raise(&t->sets, m->id, m->height);
}

bool tree_is_guest(const struct tree *t, const struct member *m)
{
	enum { SAME_MEMORY = 1 }; /* KCMP_VM */
	const struct member *p = m->execed ? NULL : tree_by_pid(t, m->ppid);
	return p && p->id == m->parent && syscall(SYS_kcmp, m->pid, p->pid, SAME_MEMORY, 0, 0) == 0;
}

/* All its figures of memory are 0 then. */
void tree_without_memory(struct procfs *f)
{
	f->resident = f->resident_peak = f->anonymous = f->file = f->shared = f->swap = f->huge = 0;
	f->virtual = f->virtual_peak = 0;
}

void tree_leaving(struct tree *t, pid_t pid, int64_t now)
{
	struct member *m = tree_by_pid(t, pid);
	struct procfs f;
	if (!m || m->looked)
		return;
	procfs_clear(&f);
	if (now - m->born >= PAST_FORK_NS && !tree_is_guest(t, m)) {
		if (procfs_status(pid, &f) < 0)
			return;
		f.ignores_children = false;
		tree_looked(t, m, &f);
	} else if (!m->resident_peak) {
		return; /* nobody looked at it: it begins when it becomes its program */
	}
	/* The exec may yet fail; then it is counted from here on as if it had begun anew, which is not too much. */
	end_sets(t, m, now);
	memset(m->height, 0, sizeof(m->height));
	m->mark = m->mark_before = m->huge_peak = 0;
	m->last.resident = PROCFS_UNKNOWN;
	m->height[SET_COUNT] = m->height[SET_THREADS] = 1;
	m->born = now;
	begin_sets(t, m, now);
}

/* exe is copied, and may be NULL. Nothing if it is not in the tree. */
void tree_exec(struct tree *t, pid_t pid, const char *exe)
{
	struct member *m = tree_by_pid(t, pid);
	if (!m)
		return;
	free(m->exe);
	m->exe = exe ? strdup(exe) : NULL;
	m->execed = true;
}

/* ---- ends ---- */

/* Adds v to a figure. v may be unknown: then nothing changes. */
static void tree_add_known(uint64_t *to, uint64_t v)
{
	if (v != PROCFS_UNKNOWN)
		*to += v;
}

/* Figures that are not known add nothing. */
void tree_add_io(struct tree_io *to, const struct procfs *f)
{
	tree_add_known(&to->rchar, f->rchar);
	tree_add_known(&to->wchar, f->wchar);
	tree_add_known(&to->syscr, f->syscr);
	tree_add_known(&to->syscw, f->syscw);
	tree_add_known(&to->read_bytes, f->read_bytes);
	tree_add_known(&to->write_bytes, f->write_bytes);
}

/* Takes what was last seen of a member whose end nobody saw into the sums. */
static void add_lost_usage(struct tree *t, const struct member *m)
{
	const struct procfs *l = &m->last;
	t->lost++;
	tree_add_known(&t->lost_cpu, l->cpu);
	t->lost_cpu += m->ignores_children ? 0 : m->kids_cpu;
	t->lost_resident += m->resident_peak;
	tree_add_known(&t->lost_user, l->user);
	tree_add_known(&t->lost_system, l->system);
	tree_add_known(&t->lost_minor, l->minor);
	tree_add_known(&t->lost_major, l->major);
	tree_add_io(&t->lost_io, l);
}

/* Does the parent leave its children to nobody? That is read anew at its 1st, 2nd, 4th, ... child's end, for it costs
 * as much as all else that is done for a process. */
static bool is_lost(struct tree *t, struct member *parent)
{
	struct procfs f;
	unsigned n = ++parent->children_ended;
	if (parent->looked)
		return false;
	if ((n & (n - 1)) == 0) {
		procfs_clear(&f);
		if (procfs_status(parent->pid, &f) == 0)
			parent->ignores_children = f.ignores_children;
	}
	(void)t;
	return parent->ignores_children;
}

/* Appends the row of a process that ended to those of the summary. Only with t->keep_records; beyond TREE_RECORDS
 * and without memory it counts as left out. */
static void append_record(struct tree *t, const struct member *m, int status, int64_t end)
{
	if (!t->keep_records)
		return;
	if (t->nrecord == TREE_RECORDS) {
		t->left_out++;
		return;
	}
	if (!vec_has_room(t->record, t->nrecord, t->cap_record)) {
		t->left_out++;
		return;
	}
	t->record[t->nrecord++] = (struct tree_record){.pid = m->pid,
	                                               .ppid = m->ppid,
	                                               .exe = m->exe ? strdup(m->exe) : NULL,
	                                               .start = m->start,
	                                               .end = end,
	                                               .last = m->last,
	                                               .resident_peak = m->resident_peak,
	                                               .virtual_peak = m->virtual_peak,
	                                               .threads_peak = m->threads_peak,
	                                               .status = status};
}

/* m must be in the tree; it is freed. */
static void remove_member(struct tree *t, struct member *m)
{
	struct member **at = hash_slot(t, m->pid);
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	for (size_t i = t->nalive; i-- > 0;)
		if (t->alive[i] == m) {
			memmove(&t->alive[i], &t->alive[i + 1], (t->nalive - i - 1) * sizeof(t->alive[0]));
			t->nalive--;
			break;
		}
	free(m->exe);
	free(m);
}

bool tree_is_ending(const struct tree *t, pid_t pid, int64_t start)
{
	for (size_t i = 0; i < TREE_ENDING; i++)
		if (t->ending[i].pid == pid && start <= t->ending[i].end)
			return true;
	return false;
}

/* Has it waited for those children, before it ignored their ends? Told in clock ticks, one for each half. */
static bool has_waited(pid_t pid, struct member *m)
{
	enum { TICKS_NS = 20000000 };
	if (m->last.waited_cpu == PROCFS_UNKNOWN)
		procfs_stat(pid, &m->last);
	return m->last.waited_cpu != PROCFS_UNKNOWN && m->last.waited_cpu + TICKS_NS >= m->kids_cpu;
}

/* Is the child's peak of memory (used) clearly more than this process's own, which own gets? Only then is it the
 * child's: a process that vfork or fork made begins with its parent's memory, which counts in its peak. */
static bool is_more(const struct rusage *used, struct rusage *own)
{
	enum { MARGIN_KB = 1024 };
	return getrusage(RUSAGE_SELF, own) == 0 && used->ru_maxrss > own->ru_maxrss + own->ru_maxrss / 8 + MARGIN_KB;
}

/* Killed, it has no memory to look at any more. Of a child of ours the kernel tells the peak (that of those that it has
 * waited for too, where that is more), before it is waited for. */
static void peak_of_zombie(struct tree *t, struct member *m)
{
	siginfo_t si = {0};
	struct rusage used, own;
	if (syscall(SYS_waitid, P_PID, m->pid, &si, WEXITED | WNOHANG | WNOWAIT, &used) == 0 && si.si_pid == m->pid &&
	    is_more(&used, &own)) {
		struct procfs f;
		procfs_clear(&f);
		f.resident_peak = (uint64_t)used.ru_maxrss * 1024;
		tree_looked(t, m, &f);
	} else {
		t->unmeasured++;
	}
}

/* What m used goes to its parent p, who waits for it, or is lost with one who does not. */
static void pass_usage(struct tree *t, struct member *m, struct member *p)
{
	if (is_lost(t, p)) {
		if (!m->last.io_whole && procfs_io(m->pid, false, &m->last) < 0)
			t->blind = true;
		if (m->last.user == PROCFS_UNKNOWN)
			procfs_stat(m->pid, &m->last);
		add_lost_usage(t, m);
	} else {
		tree_add_known(&p->kids_cpu, m->last.cpu);
		p->kids_cpu += m->ignores_children ? 0 : m->kids_cpu;
	}
}

void tree_exiting(struct tree *t, pid_t pid, const struct procfs *last, int status, int64_t now)
{
	struct member *m = tree_by_pid(t, pid);
	if (!m)
		return;
	struct procfs own;
	if (last) {
		own = *last;
		if (tree_is_guest(t, m))
			tree_without_memory(&own);
		tree_looked(t, m, &own);
	}
	if (!last || last->resident_peak == PROCFS_UNKNOWN)
		peak_of_zombie(t, m);
	struct member *p = tree_by_pid(t, m->ppid);
	if (p && p->id == m->parent)
		pass_usage(t, m, p);
	if (m->ignores_children && m->kids_cpu && !has_waited(pid, m)) {
		/* It was found out late: those before are lost too. */
		t->lost++;
		t->lost_cpu += m->kids_cpu;
	}
	t->ending[t->next_ending].pid = pid;
	t->ending[t->next_ending].end = now;
	t->next_ending = (t->next_ending + 1) % TREE_ENDING;
	if (last && last->rchar != PROCFS_UNKNOWN)
		tree_add_io(&t->ended_io, last);
	else
		t->io_unknown++;
	tree_add_known(&t->ended_cpu, m->last.cpu);
	tree_add_known(&t->ended_user, m->last.user);
	tree_add_known(&t->ended_system, m->last.system);
	t->ended++;
	end_sets(t, m, now);
	append_record(t, m, status, now);
	remove_member(t, m);
}

void tree_over(struct tree *t, pid_t pid, int status, const struct rusage *used, int64_t now)
{
	struct member *m = tree_by_pid(t, pid);
	struct rusage own;
	uint64_t peak = (uint64_t)used->ru_maxrss * 1024;
	bool tells = is_more(used, &own);
	if (tells)
		raise_to(&t->largest, peak);
	t->largest_known |= tells;
	if (m) { /* nobody told of its end */
		struct procfs f;
		procfs_clear(&f);
		/* Of its children too, which it has waited for: the largest of them. */
		if (tells)
			f.resident_peak = peak;
		else if (m->resident_peak == 0 && peak > t->at_most)
			t->at_most = peak;
		else if (m->resident_peak && peak > m->resident_peak)
			t->unseen += peak - m->resident_peak; /* it may have grown since somebody looked, up to this */
		if (tells && t->total > 1 && peak > m->resident_peak)
			t->doubtful = peak - m->resident_peak;
		tree_looked(t, m, &f);
		if (m->resident_peak)
			f.resident_peak = m->mark;
		else if (t->at_most)
			f.resident_peak = 0; /* it is told as that */
		tree_exiting(t, pid, &f, status, now);
		return;
	}
	/* A number may have been given again: the last one that ended is meant. */
	for (size_t i = t->nrecord; i-- > 0 && i + 256 > t->nrecord;)
		if (t->record[i].pid == pid) {
			t->record[i].status = status;
			break;
		}
}
