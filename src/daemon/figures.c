#include "daemon/figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

struct figures {
	struct figures_now v[FIGURES_SAMPLES];
	uint64_t n; /* ever */
};

/* NULL without memory. Free with figures_free. */
struct figures *figures_new(void)
{
	return calloc(1, sizeof(struct figures));
}

/* NULL is no error. */
void figures_free(struct figures *f)
{
	free(f);
}

/* The oldest is overwritten. now is copied. */
void figures_add(struct figures *f, const struct figures_now *now)
{
	f->v[f->n++ % FIGURES_SAMPLES] = *now;
}

/* The sample so many before the last, or the oldest; NULL: there is none. */
static const struct figures_now *find_sample_before(const struct figures *f, uint64_t by)
{
	uint64_t most = f->n < FIGURES_SAMPLES ? f->n : FIGURES_SAMPLES;
	if (!most)
		return NULL;
	return &f->v[(f->n - 1 - (by < most ? by : most - 1)) % FIGURES_SAMPLES];
}

/* Returns how many events there were. All events of the tracer together. */
static uint64_t add_fired(const struct figures_now *s)
{
	return s->tracer.forks + s->tracer.execs + s->tracer.exits + s->tracer.files;
}

/* Per second; all 0 where no time has passed. */
static void rates_between(const struct figures_now *a, const struct figures_now *b, struct load_rates *ret)
{
	double s = (double)(b->time - a->time) / 1e9;
	*ret = (struct load_rates){.memory = (double)b->memory};
	if (s <= 0)
		return;
	ret->events = (double)(add_fired(b) - add_fired(a) - (b->tracer.files_passed - a->tracer.files_passed)) / s;
	ret->calls = (double)(b->tracer.calls - a->tracer.calls) / s;
	uint64_t own_a = a->cpu - a->asked, own_b = b->cpu - b->asked;
	ret->cpu = own_b > own_a ? (double)(own_b - own_a) / s / 1e9 : 0;
}

void figures_rates(const struct figures *f, unsigned seconds, struct load_rates *ret)
{
	const struct figures_now *a = find_sample_before(f, seconds), *b = find_sample_before(f, 0);
	*ret = (struct load_rates){0};
	if (a && b)
		rates_between(a, b, ret);
}

void figures_table(const struct figures *f, const struct figures_now *now, unsigned rows, struct buf *out)
{
	buf_printf(out, "granularity %s (%u asked for access)\n", load_step_name(now->step), now->granted);
	buf_printf(out,
	           "events      %" PRIu64 " (%" PRIu64 " forks, %" PRIu64 " execs, %" PRIu64 " exits, %" PRIu64
	           " of files)\n",
	           add_fired(now), now->tracer.forks, now->tracer.execs, now->tracer.exits, now->tracer.files);
	buf_printf(out, "calls       %" PRIu64 " counted, %" PRIu64 " not needed\n", now->tracer.calls,
	           now->tracer.calls_passed);
	buf_printf(out,
	           "lost        %" PRIu64 " of processes, %" PRIu64 " times of files, %" PRIu64 " byte counts, %" PRIu64
	           " by full tables, %" PRIu64 " not written\n",
	           now->tracer.lost_process, now->tracer.lost_file_times, now->tracer.lost_access, now->node.lost,
	           now->log_lost);
	buf_printf(out,
	           "processes   %" PRIu64 " live, %" PRIu64 " undecided, %" PRIu64 " representative, %" PRIu64
	           " folded so far\n",
	           now->node.live, now->node.undecided, now->node.representative, now->node.folded);
	buf_printf(out, "tables      %" PRIu64 " files, %" PRIu64 " accesses, %" PRIu64 " repeats counted\n",
	           now->node.files, now->node.accesses, now->node.repeats);
	buf_printf(out, "written     %" PRIu64 " events, logs and indexes of %.1f MiB, %.1f MiB removed\n", now->log_events,
	           (double)now->log_bytes / (1 << 20), (double)now->log_removed / (1 << 20));
	buf_printf(out, "ring        %" PRIu64 " of %" PRIu64 " bytes waiting\n", now->tracer.ring_bytes,
	           now->tracer.ring_size);
	buf_printf(out,
	           "questions   %" PRIu64 " (%" PRIu64 " refused), %" PRIu64 " answers (%" PRIu64
	           " abandoned), %.3f s and %.3f s of the daemon\n",
	           now->control.questions, now->control.busy, now->control.answers, now->control.abandoned,
	           (double)now->control.cpu / 1e9, (double)now->asked / 1e9);
	buf_printf(out, "daemon      %.3f s, %.1f MiB\n\n", (double)now->cpu / 1e9, (double)now->memory / (1 << 20));
	buf_printf(out, "%-8s %9s %10s %9s %9s %9s %6s %7s  %s\n", "TIME", "EVENTS/S", "CALLS/S", "PROCESSES", "UNDECIDED",
	           "REPRESENT", "CPU", "MEMORY", "STEP");
	for (unsigned i = 0; i < rows && i + 1 < f->n && i + 1 < FIGURES_SAMPLES; i++) {
		const struct figures_now *b = find_sample_before(f, i), *a = find_sample_before(f, i + 1);
		struct load_rates r;
		char when[16];
		time_t t = (time_t)(b->time / 1000000000);
		struct tm tm;
		gmtime_r(&t, &tm);
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
		rates_between(a, b, &r);
		buf_printf(out, "%-8s %9.0f %10.0f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %5.1f%% %6.1fM  %s\n", when, r.events,
		           r.calls, b->node.live, b->node.undecided, b->node.representative, 100 * r.cpu,
		           (double)b->memory / (1 << 20), load_step_name(b->step));
	}
}

/* Appends a metric. As OpenMetrics has it: the name of a counter ends in _total. */
static void print_metric(struct buf *out, const char *name, const char *type, const char *help, double value)
{
	bool counter = type[0] == 'c';
	buf_printf(out, "# TYPE stemma_%s %s\n# HELP stemma_%s %s\nstemma_%s%s %.17g\n", name, type, name, help, name,
	           counter ? "_total" : "", value);
}

/* OpenMetrics, to its "# EOF". */
void figures_metrics(const struct figures_now *s, struct buf *out)
{
	print_metric(out, "events", "counter", "Process and file events seen by the kernel probes.", (double)add_fired(s));
	print_metric(out, "calls", "counter", "Reads and writes counted.", (double)s->tracer.calls);
	print_metric(out, "lost_process_events", "counter", "Process events lost.", (double)s->tracer.lost_process);
	print_metric(out, "lost_file_times", "counter", "Occasions on which file events were lost.",
	             (double)s->tracer.lost_file_times);
	print_metric(out, "lost_room", "counter", "Events dropped because an internal table was full.",
	             (double)s->node.lost);
	print_metric(out, "lost_written", "counter", "Events that could not be written.", (double)s->log_lost);
	print_metric(out, "folded_processes", "counter", "Processes whose activity was recorded under another process.",
	             (double)s->node.folded);
	print_metric(out, "written_events", "counter", "Events written to logs.", (double)s->log_events);
	print_metric(out, "processes", "gauge", "Live processes.", (double)s->node.live);
	print_metric(out, "undecided_processes", "gauge", "Live processes that are not yet classified.",
	             (double)s->node.undecided);
	print_metric(out, "representative_processes", "gauge", "Live representative processes.",
	             (double)s->node.representative);
	print_metric(out, "granularity_step", "gauge", "Granularity: 0 access, 1 open, 2 processes only.", (double)s->step);
	print_metric(out, "granularity_requests", "gauge", "Active requests for the granularity access.",
	             (double)s->granted);
	print_metric(out, "ring_bytes", "gauge", "Bytes waiting in the kernel ring buffers.", (double)s->tracer.ring_bytes);
	print_metric(out, "log_bytes", "gauge", "Size of all logs and indexes.", (double)s->log_bytes);
	print_metric(out, "log_removed_bytes", "counter", "Bytes of logs removed.", (double)s->log_removed);
	print_metric(out, "cpu_seconds", "counter", "Processor time of the daemon.", (double)s->cpu / 1e9);
	print_metric(out, "questions", "counter", "Queries answered.", (double)s->control.questions);
	print_metric(out, "questions_busy", "counter", "Queries refused because the daemon was busy.",
	             (double)s->control.busy);
	print_metric(out, "answers_abandoned", "counter", "Queries whose client disconnected.",
	             (double)s->control.abandoned);
	print_metric(out, "answers_cpu_seconds", "counter", "Processor time of the processes that answer queries.",
	             (double)s->control.cpu / 1e9);
	print_metric(out, "memory_bytes", "gauge", "Memory of the daemon, including its kernel buffers.",
	             (double)s->memory);
	buf_printf(out, "# EOF\n");
}
