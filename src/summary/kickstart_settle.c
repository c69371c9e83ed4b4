#include "summary/kickstart_int.h"

#include <stdlib.h>
#include <sys/wait.h>

#define EXIT_STOP KICKSTART_METHOD " exit stop"

struct change {
	int64_t time, resident, virtual;
};

/* Order of qsort: by time; who comes before who goes. */
static int compare_changes_by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->resident < 0) - (y->resident < 0); /* who comes is there with who goes */
}

/* Sums of what anybody wrote may be more than 64 bits. */
static int64_t max_clamped(int64_t a, __int128 b)
{
	return b > INT64_MAX ? INT64_MAX : b > a ? (int64_t)b : a;
}

/* The most that processes alive together had in their peaks. Threads stand there as processes of their own, with the
 * memory of the whole, so the sum is a bound and no more. */
static void sum_concurrent_peaks(struct kickstart_reader *r)
{
	struct summary *s = r->s;
	struct change *c = calloc(2 * s->nprocess + 1, sizeof(*c));
	__int128 rss = 0, vm = 0;
	int64_t most_rss = 0, most_vm = 0, one_rss = 0, one_vm = 0;
	size_t n = 0;
	if (!c) {
		r->ok = false;
		return;
	}
	for (size_t i = 0; i < s->nprocess; i++) {
		const struct summary_process *p = &s->process[i];
		if (p->start < 0 || p->end < p->start || p->resident_peak < 0 || p->virtual_peak < 0)
			continue;
		c[n++] = (struct change){p->start, p->resident_peak, p->virtual_peak};
		c[n++] = (struct change){p->end, -p->resident_peak, -p->virtual_peak};
		one_rss = max_clamped(one_rss, p->resident_peak);
		one_vm = max_clamped(one_vm, p->virtual_peak);
	}
	qsort(c, n, sizeof(*c), compare_changes_by_time);
	for (size_t i = 0; i < n; i++) {
		rss += c[i].resident;
		vm += c[i].virtual;
		most_rss = max_clamped(most_rss, rss);
		most_vm = max_clamped(most_vm, vm);
	}
	free(c);
	if (!n)
		return;
	const struct figure *waited = &s->figure[FIGURE_memory_resident_peak];
	bool all = n == 2 * s->nprocess;
	if (waited->known)
		one_rss = max_clamped(one_rss, waited->value);
	most_rss = max_clamped(most_rss, one_rss);
	if (summary_set_bounds(s, FIGURE_memory_resident_peak, most_rss, one_rss, most_rss, EXIT_STOP, all) < 0 ||
	    summary_set_bounds(s, FIGURE_memory_virtual_peak, most_vm, one_vm, most_vm, EXIT_STOP, all) < 0)
		r->ok = false;
}

/* /proc/PID/io of a process holds what it waited for, too: that of the command, is the best there is, the
 * sum of all counts some twice. */
static void set_bytes_moved(struct kickstart_reader *r, enum figure_name f, size_t offset)
{
	struct summary *s = r->s;
	int64_t root = -1, largest = -1;
	__int128 sum = 0;
	for (size_t i = 0; i < s->nprocess; i++) {
		int64_t v = *(const int64_t *)((const char *)&s->process[i] + offset);
		if (v < 0)
			continue;
		sum += v;
		largest = max_clamped(largest, v);
		if (s->process[i].pid == r->pid || i == 0)
			root = v;
	}
	if (largest < 0)
		return;
	int rc = s->nprocess == 1
	             ? summary_set(s, f, root, EXIT_STOP, true)
	             : summary_set_bounds(s, f, max_clamped(largest, root), largest, max_clamped(0, sum), EXIT_STOP, true);
	r->ok = r->ok && rc == 0;
}

/* Without memory r->ok is false. */
static void set_kickstart_figure(struct kickstart_reader *r, enum figure_name f, int64_t value, bool complete)
{
	r->ok = r->ok && summary_set(r->s, f, value, KICKSTART_METHOD, complete) == 0;
}

/* What follows from start, duration and processor times; what does not fit is left out. */
static void set_times(struct kickstart_reader *r)
{
	struct summary *s = r->s;
	const struct figure *user = &s->figure[FIGURE_user_time], *system = &s->figure[FIGURE_system_time];
	int64_t sum;
	if (r->start >= 0)
		set_kickstart_figure(r, FIGURE_start, r->start, true);
	if (r->duration >= 0)
		set_kickstart_figure(r, FIGURE_wall_time, r->duration, true);
	if (r->start >= 0 && r->duration >= 0 && !__builtin_add_overflow(r->start, r->duration, &sum))
		set_kickstart_figure(r, FIGURE_end, sum, true);
	if (user->known && system->known && !__builtin_add_overflow(user->value, system->value, &sum)) {
		r->ok = r->ok && summary_set(s, FIGURE_cpu_time, sum, KICKSTART_METHOD " wait4", false) == 0;
		__int128 cores = r->duration > 0 ? (__int128)sum * 1000 / r->duration : 0;
		if (cores > 0 && cores < INT32_MAX)
			set_kickstart_figure(r, FIGURE_cores, (int64_t)cores, false);
	}
}

/* How it ended, by what wait told. */
static void set_exit(struct kickstart_reader *r)
{
	struct summary *s = r->s;
	if (r->raw < 0 || r->raw > 0xffff)
		return;
	if (WIFEXITED(r->raw)) {
		s->exit_type = EXIT_TYPE_NORMAL;
		s->exit_status = WEXITSTATUS(r->raw);
	} else if (WIFSIGNALED(r->raw)) {
		s->exit_type = EXIT_TYPE_SIGNAL;
		s->signal = WTERMSIG(r->raw);
	}
}

/* The program in front of its arguments; without it they are no command. */
static void put_program_first(struct kickstart_reader *r)
{
	struct summary *s = r->s;
	if (r->program && !s->argv)
		s->argv = calloc(2, sizeof(*s->argv));
	if (r->program && s->argv) {
		memmove(s->argv + 1, s->argv, (r->argc + 1) * sizeof(*s->argv));
		s->argv[0] = r->program;
		r->program = NULL;
		return;
	}
	for (size_t i = 0; i < r->argc; i++)
		free(s->argv[i]);
	free(s->argv);
	s->argv = NULL;
}

void kickstart_settle(struct kickstart_reader *r)
{
	struct summary *s = r->s;
	set_times(r);
	if (s->nprocess) {
		sum_concurrent_peaks(r);
		set_bytes_moved(r, FIGURE_bytes_read, offsetof(struct summary_process, bytes_read));
		set_bytes_moved(r, FIGURE_bytes_written, offsetof(struct summary_process, bytes_written));
	}
	set_exit(r);
	put_program_first(r);
	const char *why = r->mainjob ? "kickstart does not tell it" : "kickstart did not start the main job";
	for (int f = 0; f < FIGURES; f++)
		if (!s->figure[f].known && summary_absent(s, (enum figure_name)f, why) < 0)
			r->ok = false;
}
