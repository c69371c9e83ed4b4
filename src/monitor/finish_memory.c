/* The figures of memory: what all processes had together at one moment, and of which kind (doc/monitor.md). */
#include "base/os/host.h"
#include "monitor/finish_int.h"

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

/* No process was seen to have memory: it had ended before anybody looked. */
static void set_memory_unseen(struct ends *e, bool complete)
{
	static const char why[] = "the command had ended before anybody could look";
	const struct tree *t = &e->m->tree;
	if (t->at_most) /* it began with the recorder's memory */
		finish_bounds(e, FIGURE_memory_resident_peak, finish_int(t->at_most), 0,
		              finish_int(t->at_most + procfs_resident_slack()), "wait4", complete);
	else
		finish_absent(e, FIGURE_memory_resident_peak, why);
	finish_absent(e, FIGURE_memory_virtual_peak, why);
}

/* peak: of the sets of processes that were alive together. */
static void set_resident_peak(struct ends *e, uint64_t peak, uint64_t largest, bool complete)
{
	const struct monitor *m = e->m;
	const struct tree *t = &m->tree;
	uint64_t high = (peak > largest ? peak : largest) + t->unseen;
	uint64_t low = m->pss_peak > largest ? m->pss_peak : largest, slack = procfs_resident_slack(), value = high;
	/* The group counts each page once, but to the batches of each processor. */
	uint64_t batches = (uint64_t)host_processors() * 64 * 4096, grouped = (uint64_t)m->group.anonymous;
	bool by_group = grouped > batches && grouped - batches > low;
	if (by_group)
		low = grouped - batches < high ? grouped - batches : high;
	value -= t->doubtful < value ? t->doubtful : value;
	if (m->shares.resident)
		value = (uint64_t)((double)value * ((double)m->shares.pss / (double)m->shares.resident));
	value = value < low ? low : value > high ? high : value;
	bool one = high == largest + t->unseen;
	finish_bounds(e, FIGURE_memory_resident_peak, finish_int(value), finish_int(low > slack ? low - slack : 0),
	              finish_int(high + slack),
	              one && t->unseen     ? "high-water mark, wait4"
	              : one                ? "high-water mark"
	              : by_group           ? "high-water marks of processes alive together, control group"
	              : m->shares.resident ? "high-water marks of processes alive together, sampled shares"
	                                   : "high-water marks of processes alive together",
	              complete);
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
	double once = m->shares.resident ? (double)m->shares.pss / (double)m->shares.resident : 1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int64_t sum = m->now.peak[parts[i].figure];
		int64_t group = parts[i].figure == FIGURE_memory_anonymous_peak ? m->group.anonymous : 0;
		if (group > 0) /* each page once; no more than is charged altogether */
			finish_bounds(e, parts[i].figure, group,
			              finish_int(parts[i].alone) < group ? finish_int(parts[i].alone) : group,
			              m->group.charged > group ? m->group.charged : group, "control group when looked at", false);
		else if (sum >= 0)
			finish_bounds(e, parts[i].figure, (int64_t)((double)sum * once), finish_int(parts[i].alone), sum, "samples",
			              false);
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
			finish_absent(e, FIGURE_memory_virtual_peak, "killed before anybody could look");
	}
	set_memory_parts(e);
	if (m->now.peak[FIGURE_swap_peak] >= 0)
		finish_figure(e, FIGURE_swap_peak, m->now.peak[FIGURE_swap_peak], "samples", false);
	else
		finish_absent(e, FIGURE_swap_peak, too_short);
}
