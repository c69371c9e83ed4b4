#include "capture/launch/standstill.h"

#include "base/io.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 500000000 /* a stop and its end are milliseconds apart; twice that is not meant to end soon */
#define TICK_MS 20

/* 'T' stopped by a signal, 't' by a tracer, else something else; and how often it left a processor. */
static char read_thread_state(const struct control *c, pid_t worker, uint64_t *ret_switches)
{
	char name[64], text[4096];
	pid_t thread = __atomic_load_n(&c->server, __ATOMIC_ACQUIRE);
	/* Not below the worker's own folder: read_own of worker.c says why. */
	snprintf(name, sizeof(name), "/proc/%d/status", (int)(thread ? thread : worker));
	*ret_switches = 0;
	if (!io_text(name, text, sizeof(text)))
		return 0;
	static const char *const counts[] = {"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:"};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const char *count = strstr(text, counts[i]);
		*ret_switches += count ? strtoull(count + strlen(counts[i]), NULL, 10) : 0;
	}
	const char *state = strstr(text, "\nState:\t");
	return state ? state[8] : '\0';
}

/* CLOCK_MONOTONIC, ns. */
static int64_t standstill_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Has it a thread in one of these states, or in none of the others? */
static bool has_thread(pid_t worker, const char *in, const char *not_in)
{
	char name[320], text[512];
	snprintf(name, sizeof(name), "/proc/%d/task", worker);
	DIR *d = opendir(name);
	bool has = false;
	for (struct dirent *e; d && !has && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/%d/task/%s/stat", worker, e->d_name);
		io_text(name, text, sizeof(text));
		const char *end = strrchr(text, ')');
		char state = end && end[1] == ' ' ? end[2] : '\0'; /* none: it is gone by now */
		has = state && (in ? strchr(in, state) != NULL : strchr(not_in, state) == NULL);
	}
	if (d)
		closedir(d);
	return has;
}

bool standstill_works(pid_t worker)
{
	return has_thread(worker, "R", NULL);
}

void standstill_await_threads(pid_t worker)
{
	while (has_thread(worker, NULL, "DZX"))
		usleep(1000);
}

bool standstill_look(struct standstill *s, const struct control *c, pid_t worker)
{
	uint64_t switches;
	char state = read_thread_state(c, worker, &switches);
	if (state != 'T' && state != 't') {
		s->since = 0;
		return false;
	}
	if (!s->since || s->switches != switches) {
		*s = (struct standstill){.since = standstill_clock_ns(), .switches = switches};
		return false;
	}
	if (standstill_clock_ns() - s->since < PATIENCE_NS)
		return false;
	if (state == 't')
		return true;
	kill(worker, SIGCONT);
	s->since = 0;
	return false;
}

void standstill_serve(struct standstill *s, struct control *c, pid_t worker, int listener, void (*also)(void *arg),
                      void *arg)
{
	uint64_t switches;
	char state;
	/* What it had received and not answered; its own answer, later, finds nobody. */
	for (int i = 0; i < NOTIFY_SLOTS; i++) {
		struct notify_slot held = {.id = __atomic_load_n(&c->page.slot[i].id, __ATOMIC_ACQUIRE)};
		if (held.id)
			notify_continue(listener, &held);
	}
	for (int i = 0; i < NOTIFY_PARKED; i++) {
		struct notify_slot put_off = {.id = __atomic_load_n(&c->page.parked[i], __ATOMIC_ACQUIRE)};
		if (put_off.id)
			notify_continue(listener, &put_off);
	}
	while (((state = read_thread_state(c, worker, &switches)) == 't' || state == 'T') && switches == s->switches) {
		struct pollfd p = {.fd = listener, .events = POLLIN};
		struct notify_slot *slot = &c->page.slot[SLOT_KEEPER];
		struct trap t;
		also(arg);
		if (poll(&p, 1, TICK_MS) != 1)
			continue;
		if (!(p.revents & POLLIN))
			break; /* nobody is left */
		if (notify_recv(listener, slot, &t) == 0) {
			__atomic_add_fetch(&c->passed, 1, __ATOMIC_RELEASE);
			notify_continue(listener, slot);
		}
	}
	s->since = 0;
}
