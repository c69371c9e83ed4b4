/* The figures of memory: what all processes had together at one moment, and of which kind (doc/monitor.md). */
#include "base/os/host.h"
#include "monitor/finish_int.h"

#include <stdio.h>
#include <sys/resource.h>

static const char too_short[] = "the command was too short for a sample";

/* The high-water mark of the largest process, B; 0: nobody saw any. */
static uint64_t largest_process(const struct ends *e)
{
	uint64_t largest = e->m->tree.largest;
	struct rusage own;
	/* What began with this process's memory tells only by what is clearly more (as in tree.c). */
	if (getrusage(RUSAGE_SELF, &own) == 0 && e->w.resident_peak > (uint64_t)own.ru_maxrss * 1152 + (1 << 20) &&
	    e->w.resident_peak > largest)
		largest = e->w.resident_peak;
	return largest;
}

/* Sets the figures of memory where there was no sample. No process was seen to have memory: it had ended before
 * anybody looked. */
static void set_memory_unseen(struct ends *e, bool complete)
{
	static const char why[] = "the command ended before the first sample";
	const struct tree *t = &e->m->tree;
	if (t->at_most) /* it began with the recorder's memory */
		finish_bounds(e, FIGURE_memory_resident_peak, finish_int(t->at_most), 0,
		              finish_int(t->at_most + procfs_resident_slack()), "wait4", complete);
	else
		finish_absent(e, FIGURE_memory_resident_peak, why);
	finish_absent(e, FIGURE_memory_virtual_peak, why);
}

/* What is in no process (apart.h), at most. *ret_open: it was seen by looks, which may have missed the most; then it is
 * in what was charged to the control group, where there is one. */
static uint64_t most_apart(const struct ends *e, bool *ret_open)
{
	const struct monitor *m = e->m;
	const struct figure *written = &e->s->figure[FIGURE_bytes_written];
	uint64_t bytes = !written->known ? UINT64_MAX : written->high > 0 ? (uint64_t)written->high : 0;
	uint64_t most = apart_bound(&m->apart, bytes, m->alone.shared), charged = (uint64_t)m->group.charged;
	*ret_open = most >= APART_MUCH;
	return *ret_open && charged > most ? charged : most;
}

/* The most that was seen of it, or is likely. most: what is in no process, at most. */
static uint64_t probable_peak(const struct monitor *m, uint64_t most)
{
	uint64_t value = tree_together(&m->tree);
	value -= m->tree.doubtful < value ? m->tree.doubtful : value;
	if (m->shares.resident)
		value = (uint64_t)((double)value * ((double)m->shares.pss / (double)m->shares.resident));
	/* What had been mapped and lies in a file now is in the marks as well. */
	uint64_t apart = m->apart.told ? most : m->apart.held, both = m->alone.shared;
	both = both < apart ? both : apart;
	return value + apart - (both < value ? both : value);
}

/* Returns the least that the peak of all memory together was. Bytes. No more than that is known to have been there
 * at one moment. */
static uint64_t least_peak(const struct monitor *m, uint64_t largest, bool *ret_by_group)
{
	uint64_t low = m->pss_peak > largest ? m->pss_peak : largest;
	if (m->apart_low > low)
		low = m->apart_low;
	/* The group counts each page once, but to the batches of each processor. */
	uint64_t batches = (uint64_t)host_processors() * 64 * 4096, grouped = (uint64_t)m->group.kept;
	*ret_by_group = grouped > batches && grouped - batches > low;
	return *ret_by_group ? grouped - batches : low;
}

/* Sets the figure of the most memory that was resident at a time. peak: of the sets of processes that were alive
 * together. */
static void set_resident_peak(struct ends *e, uint64_t peak, uint64_t largest, bool complete)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	char method[200];
	bool by_group, open, one = peak <= largest;
	uint64_t apart = most_apart(e, &open), low = least_peak(m, largest, &by_group), slack = procfs_resident_slack();
	uint64_t high = (one ? largest : peak) + t->unseen + apart, value = probable_peak(m, apart);
	low = low < high ? low : high;
	value = value < low ? low : value > high ? high : value;
	const char *marks = one && t->unseen     ? "high-water mark, wait4"
	                    : one                ? "high-water mark"
	                    : by_group           ? "high-water marks of processes alive together, control group"
	                    : m->shares.resident ? "high-water marks of processes alive together, sampled shares"
	                                         : "high-water marks of processes alive together";
	snprintf(method, sizeof(method), "%s%s%s", marks, t->huge ? ", huge pages when looked at" : "",
	         !open              ? ""
	         : m->group.charged ? ", files in memory by the control group"
	                            : ", files in memory only when looked at");
	finish_bounds(e, FIGURE_memory_resident_peak, finish_int(value), finish_int(low > slack ? low - slack : 0),
	              finish_int(high + slack), method, complete && !t->huge && (!open || m->group.charged));
}

/* The kernel tells them of each process: in the sum a page that several share counts for each of them. */
static void set_memory_parts(struct ends *e)
{
	const struct monitor *m = e->m;
	const struct {
		enum figure_name figure;
		uint64_t alone;
	} parts[] = {{FIGURE_memory_anonymous_peak, m->alone.anonymous},
	             {FIGURE_memory_file_peak, m->alone.file},
	             {FIGURE_memory_shared_peak, m->alone.shared}};
	bool open;
	double once = m->shares.resident ? (double)m->shares.pss / (double)m->shares.resident : 1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int64_t sum = m->now.peak[parts[i].figure];
		bool files = parts[i].figure == FIGURE_memory_shared_peak;
		int64_t group = parts[i].figure == FIGURE_memory_anonymous_peak ? m->group.anonymous
		                : files                                         ? m->group.shared
		                                                                : 0;
		int64_t apart = files ? finish_int(most_apart(e, &open)) : 0;
		if (group > 0) /* each page once; no more than is charged altogether */
			finish_bounds(e, parts[i].figure, group,
			              finish_int(parts[i].alone) < group ? finish_int(parts[i].alone) : group,
			              m->group.charged > group ? m->group.charged : group, "control group when looked at", false);
		else if (sum >= 0)
			finish_bounds(e, parts[i].figure, (int64_t)((double)sum * once) + finish_int(files ? m->apart.held : 0),
			              finish_int(parts[i].alone), sum + apart, "samples", false);
		else
			finish_absent(e, parts[i].figure, too_short);
	}
}

void finish_memory(struct ends *e)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	uint64_t peak[SET_HEIGHTS], largest = largest_process(e);
	sets_peak(&t->sets, peak);
	bool complete = !t->failed && t->unmeasured == 0 && (!finish_is_blind(m) || t->total == 1);
	complete &= !m->attached || (finish_is_heard(m) && !m->past.children);
	if (largest == 0 && peak[SET_RESIDENT] == 0) {
		set_memory_unseen(e, complete);
	} else {
		set_resident_peak(e, peak[SET_RESIDENT], largest, complete);
		if (peak[SET_VIRTUAL])
			finish_figure(e, FIGURE_memory_virtual_peak, finish_int(peak[SET_VIRTUAL]),
			              "peaks of processes alive together", complete);
		else
			finish_absent(e, FIGURE_memory_virtual_peak, "killed before the first sample");
	}
	set_memory_parts(e);
	if (m->now.peak[FIGURE_swap_peak] >= 0)
		finish_figure(e, FIGURE_swap_peak, m->now.peak[FIGURE_swap_peak], "samples", false);
	else
		finish_absent(e, FIGURE_swap_peak, too_short);
}
