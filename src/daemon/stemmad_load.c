/* stemmad_load.c - what the daemon uses, and what it does when that is too much: it records less, of one user or of
 * all. */
#include "daemon/stemmad.h"

#include "base/io.h"
#include "base/os/procfs.h"
#include "daemon/world.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- figures ---- */

/* Its own: programs and libraries are in memory once for all. fd: of its `statm`; closed. */
static uint64_t memory_in(int fd)
{
	char text[64] = "";
	unsigned long long size = 0, resident = 0, shared = 0;
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n > 0)
		sscanf(text, "%llu %llu %llu", &size, &resident, &shared);
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The helper opens its own: with hidepid it is not there for others. */
static uint64_t memory_of_helper(struct helper *h)
{
	int fd = -1;
	return helper_open(h, helper_pid(h), HELPER_STATM, &fd) < 0 ? 0 : memory_in(fd);
}

/* User and system time together, ns. */
uint64_t stemmad_cpu_of(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000u;
}

void stemmad_figures(const struct stemmad *d, struct figures_now *ret)
{
	struct figures_now f = {.time = world_now(), .step = d->load.step, .granted = grain_count(d->grain)};
	struct rusage u;
	tracer_stats(d->tracer, &f.tracer);
	node_stats(d->node, &f.node);
	getrusage(RUSAGE_SELF, &u);
	f.cpu = stemmad_cpu_of(&u);
	f.asked = d->asked;
	if (d->control)
		control_stats(d->control, &f.control);
	f.memory = memory_in(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) + memory_of_helper(d->helper);
	struct procfs p;
	procfs_clear(&p);
	if (procfs_cpu(helper_pid(d->helper), &p) == 0)
		f.cpu += p.cpu;
	f.log_lost = logs_lost(d->logs);
	f.log_bytes = logs_bytes(d->logs);
	f.log_events = logs_written(d->logs);
	f.log_removed = logs_removed(d->logs);
	*ret = f;
}

void stemmad_tell_passed(struct stemmad *d, int64_t now)
{
	for (unsigned i = 0; i < d->n_passed; i++) {
		struct passed *p = &d->passed[i];
		uint64_t all = tracer_passed(d->tracer, p->uid);
		if (all > p->said)
			logs_gap(d->logs, p->uid, TERM_gap_limit, all - p->said, p->since, now,
			         "this user caused too many events: opens and closes of files are not recorded");
		p->said = all;
		p->since = now;
	}
}

/* ---- too much ---- */

/* The load has changed the granularity: sets it, tells of it, and of what caused it, and leaves a gap. */
static void take_step(struct stemmad *d, enum load_step before, const char *why)
{
	struct err err = {0};
	char text[200];
	int64_t now = world_now();
	bool down = d->load.step > before;
	snprintf(text, sizeof(text), "granularity %s to %s: %s", down ? "down" : "up", load_step_name(d->load.step), why);
	stemmad_say("%s", text);
	grain_suspend(d->grain, d->load.step != LOAD_ACCESS);
	if ((before == LOAD_PROCESSES) != (d->load.step == LOAD_PROCESSES) &&
	    tracer_files(d->tracer, d->load.step != LOAD_PROCESSES, &err) < 0)
		stemmad_say("%s", err.text);
	struct tracer_rate rates[3];
	size_t n = down ? tracer_rates(d->tracer, rates, 3) : 0;
	for (size_t i = 0; i < n; i++)
		stemmad_say("busiest: process %d of user %u and its descendants, %llu events in a second", rates[i].pid,
		            rates[i].uid, (unsigned long long)rates[i].events);
	node_gap(d->node, TERM_gap_limit, 0, down ? now : d->stepped, now, text);
	d->stepped = now;
}

void stemmad_write_metrics(const struct stemmad *d)
{
	const char *path = settings_text(&d->settings, SETTING_metrics);
	char new[4096];
	struct buf b = {0};
	struct figures_now now;
	if (!*path || snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return;
	stemmad_figures(d, &now);
	figures_metrics(&now, &b);
	int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0) {
		bool ok = io_write(fd, b.p, b.n, NULL) == 0;
		close(fd);
		if (!ok || rename(new, path) < 0)
			unlink(new);
	}
	buf_release(&b);
}

/* Where one user caused half of all that was too much or more, that one is recorded less, and not all. */
static bool pass_busiest(struct stemmad *d, uint32_t uid, uint64_t events, uint64_t all, const char *why)
{
	if (events < 1000 || events < all / 2 || d->n_passed == TRACER_PASS || !tracer_pass(d->tracer, uid, true))
		return false;
	d->passed[d->n_passed++] = (struct passed){.uid = uid, .rate = events, .since = world_now()};
	stemmad_say("%s: files of user %u are not recorded for now (%llu of %llu events in a second)", why, uid,
	            (unsigned long long)events, (unsigned long long)all);
	return true;
}

/* Below a quarter of what it was for half a minute. */
static void look_at_passed(struct stemmad *d)
{
	for (unsigned i = 0; i < d->n_passed;) {
		struct passed *p = &d->passed[i];
		uint64_t all = tracer_passed(d->tracer, p->uid);
		p->quiet = all - p->seen < p->rate / 4 ? p->quiet + 1 : 0;
		p->seen = all;
		if (p->quiet < LOAD_DOWN) {
			i++;
			continue;
		}
		stemmad_tell_passed(d, world_now());
		tracer_pass(d->tracer, p->uid, false);
		stemmad_say("files of user %u are recorded again", p->uid);
		*p = d->passed[--d->n_passed];
	}
}

void stemmad_look_at_load(struct stemmad *d)
{
	struct figures_now f;
	stemmad_figures(d, &f);
	figures_add(d->figures, &f);
	struct load_rates now, ten;
	const char *why = NULL;
	/* Free pages between others stay, and it would never be below half of its limit again. A millisecond, in a second
	 * in which there is memory to win. */
	if (f.memory > (uint64_t)(d->load.limit.memory / 2) && d->seconds % 5 == 0)
		malloc_trim(0);
	figures_rates(d->figures, 1, &now);
	figures_rates(d->figures, 10, &ten);
	/* Over ten seconds, and still. */
	now.cpu = now.cpu < ten.cpu ? now.cpu : ten.cpu;
	enum load_step before = d->load.step;
	uint32_t uid = 0;
	uint64_t events, all;
	bool some = node_busiest(d->node, &uid, &events, &all);
	look_at_passed(d);
	if (!load_tick(&d->load, &now, &why))
		return;
	bool down = d->load.step > before, access = before == LOAD_ACCESS && grain_count(d->grain);
	if (down && some && !access && pass_busiest(d, uid, events, all, why))
		d->load.step = before;
	else
		take_step(d, before, why);
}
