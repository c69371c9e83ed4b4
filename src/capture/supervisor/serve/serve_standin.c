/* Where the server is held up: whether it is, who answers in its place, and what becomes of the calls that go by. */
#include "base/io.h"
#include "capture/supervisor/adopt.h"
#include "capture/supervisor/calls_logged.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/serve/serve.h"
#include "capture/supervisor/shield/shield.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a stop may take whose call sleeps in one place of the kernel, in ns; and, by ptrace, after it was too long
 * there once. On a machine with 60 programs a core a directory's lock was held for 300 ms by one that got no processor.
 */
#define PATIENCE 500000000
#define PATIENCE_AGAIN 20000000
#define MINUTE_NS 60000000000

/* ---- what goes by while the server is held up with the lock ---- */

/* What was let go on unseen, until the server is back: who, what, when, and of an open the path. */
struct raw {
	struct trap call;
	int64_t time;
	unsigned flags;
	char *path; /* absolute, as it is called where its process stands; NULL not known */
};

/* The arguments of an open by whatever call. False: it is none. */
static bool raw_open(const struct trap *t, int *ret_dir, uint64_t *ret_path, unsigned *ret_flags)
{
	const uint64_t *a = t->args;
	*ret_dir = AT_FDCWD;
	*ret_path = a[0];
	*ret_flags = (unsigned)a[1];
	if (t->call == CALL_open)
		return true;
	if (t->call == CALL_creat)
		*ret_flags = O_CREAT | O_WRONLY | O_TRUNC;
	if (t->call != CALL_openat)
		return t->call == CALL_creat;
	*ret_dir = (int)a[0];
	*ret_path = a[1];
	*ret_flags = (unsigned)a[2];
	return true;
}

/* The words of the path, behind the folder that they begin in. That is read as a link, so no file system is asked. */
static char *raw_path(const struct trap *t, int dir, uint64_t addr)
{
	char given[4096], start[64], folder[4096], *ret = NULL;
	if (remote_string(t->tid, addr, given, sizeof(given)) <= 0)
		return NULL;
	if (given[0] == '/')
		return strdup(given);
	if (dir == AT_FDCWD)
		snprintf(start, sizeof(start), "/proc/%d/cwd", t->tid);
	else
		snprintf(start, sizeof(start), "/proc/%d/fd/%d", t->tid, dir);
	ssize_t n = readlink(start, folder, sizeof(folder) - 1);
	if (n > 0 && folder[0] == '/') {
		folder[n] = '\0';
		if (asprintf(&ret, "%s/%s", n > 1 ? folder : "", given) < 0)
			return NULL;
	}
	return ret;
}

/* The stand-in's, while the server is away. */
static void raw_keep(struct worker *w, const struct trap *t)
{
	struct raw_calls *r = &w->raw;
	struct raw kept = {.call = *t, .time = serve_clock_ns()};
	int dir;
	uint64_t path;
	if (raw_open(t, &dir, &path, &kept.flags))
		kept.path = raw_path(t, dir, path);
	pthread_mutex_lock(&w->pool);
	struct raw *x = r->n < RAW_MAX && (r->v || (r->v = malloc(RAW_MAX * sizeof(*x)))) ? &r->v[r->n] : NULL;
	if (x) {
		*x = kept;
		r->n++;
	} else {
		free(kept.path);
		r->more++;
	}
	__atomic_store_n(&w->raw_waits, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&w->pool);
}

void serve_pass_unlooked(struct worker *w, struct notify_slot *slot, const struct trap *t)
{
	struct sup *s = &w->sup;
	if (s->shield)
		shield_note(s->shield, 0, t, true, false);
	raw_keep(w, t);
	notify_continue(s->listener, slot);
	__atomic_add_fetch(&s->passes, 1, __ATOMIC_RELEASE);
}

/* One of them, now. False: what it did cannot be told. */
static bool raw_one(struct sup *s, struct raw *x, int64_t time)
{
	struct task *k = task_of(s, x->call.tid);
	if (!k)
		return false;
	struct proc *p = k->proc;
	k->stops++;
	p->stale |= STALE_CWD | STALE_ROOT | STALE_CREDS;
	switch (x->call.call) {
	case CALL_open:
	case CALL_openat:
	case CALL_creat:
		return x->path && calls_open_possible(s, p, x->path, x->flags, time) == 0;
	case CALL_execve:
	case CALL_execveat:
		if (adopt_is_other(p))
			proc_became(s, p);
		return true;
	case CALL_exit: /* seen at its death */
	case CALL_sigaction:
	case CALL_chdir:
	case CALL_setuid:
		return true;
	default:
		return false;
	}
}

void raw_resolve(struct worker *w)
{
	struct sup *s = &w->sup;
	struct raw_calls *r = &w->raw;
	if (!__atomic_load_n(&w->raw_waits, __ATOMIC_ACQUIRE) || __atomic_load_n(&w->standing_in, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&w->pool);
	size_t n = r->n;
	struct raw *v = r->v;
	uint64_t lost = r->more, went = n + r->more;
	*r = (struct raw_calls){0};
	__atomic_store_n(&w->raw_waits, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&w->pool);
	int64_t behind = sup_now(s) - serve_clock_ns();
	links_forget();
	for (size_t i = 0; i < n; i++) {
		s->epoch++;
		lost += !raw_one(s, &v[i], v[i].time + behind);
		free(v[i].path);
	}
	free(v);
	char text[160];
	snprintf(text, sizeof(text),
	         "%llu call%s went unobserved while a file system did not respond; %llu of them recorded as possible",
	         (unsigned long long)went, str_plural(went), (unsigned long long)(went - lost));
	sup_gap(s, NULL, TERM_gap_lost, lost, text);
}

/* ---- a server that is held up while it has the lock ---- */

bool serve_crowd(struct worker *w)
{
	struct sup *s = &w->sup;
	pthread_mutex_lock(&w->pool);
	bool crowded = w->crowded;
	pthread_mutex_unlock(&w->pool);
	for (struct pollfd p = {.fd = s->listener, .events = POLLIN};
	     crowded && poll(&p, 1, 0) == 1 && (p.revents & POLLIN);) {
		struct trap t;
		struct notify_slot *slot = &w->control->page.slot[SLOT_STAND_IN];
		if (__atomic_load_n(&w->standing_in, __ATOMIC_ACQUIRE))
			break;
		if (notify_recv(s->listener, slot, &t) == 0)
			serve_pass_unlooked(w, slot, &t);
	}
	return crowded;
}

/* Answers in the server's place while that is held up, with the lock: at something that is looked at not for the call's
 * own arguments. What passes here is kept, and recorded as possible later. The very call that the server is at may be
 * what the file system's daemon has to make: where a process of the run could be that, it is let go on, too; else after
 * a minute. */
static void *run_stand_in(void *arg)
{
	struct worker *w = arg;
	struct sup *s = &w->sup;
	struct notify_slot *slot = &w->control->page.slot[SLOT_STAND_IN];
	struct notify_slot held = {.id = __atomic_load_n(&w->holds, __ATOMIC_ACQUIRE)};
	int64_t began = serve_clock_ns();
	for (bool let = false; __atomic_load_n(&w->sup.since, __ATOMIC_ACQUIRE);) {
		struct pollfd p = {.fd = s->listener, .events = POLLIN};
		struct trap t;
		if (!let && (__atomic_load_n(&s->serves, __ATOMIC_ACQUIRE) || serve_clock_ns() - began >= MINUTE_NS)) {
			notify_continue(s->listener, &held);
			let = true;
			__atomic_add_fetch(&w->passed, 1, __ATOMIC_RELAXED);
		}
		if (poll(&p, 1, 1) == 1 && (p.revents & POLLIN) && notify_recv(s->listener, slot, &t) == 0) {
			serve_pass_unlooked(w, slot, &t);
		}
	}
	__atomic_store_n(&w->standing_in, 0, __ATOMIC_RELEASE);
	return NULL;
}

/* A file of the server's process in /proc, cut to n bytes; "" if it cannot be read. */
static void read_own(const struct worker *w, const char *name, char *ret, size_t n)
{
	char path[64];
	/* Not by /proc/self/task: while that thread ends, the kernel throws away what it kept of it there, and who waits
	 * for this process meanwhile walks the same folder, turning until that is done: 3 ms where the thread has to wait
	 * for a processor. */
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)__atomic_load_n(&w->server, __ATOMIC_ACQUIRE), name);
	io_text(path, ret, n);
}

/* Does the server's thread sleep? Not where it runs, or only waits for a processor or for another thread of ours that
 * does: on a busy machine that may be seconds. What cannot be read is 0 and "". */
static bool server_sleeps(const struct worker *w, struct stillness *ret)
{
	char text[4096];
	read_own(w, "status", text, sizeof(text));
	read_own(w, "wchan", ret->where, sizeof(ret->where));
	const char *state = strstr(text, "\nState:\t");
	static const char *const counts[] = {"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:"};
	ret->switches = 0;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const char *count = strstr(text, counts[i]);
		ret->switches += count ? strtoull(count + strlen(counts[i]), NULL, 10) : 0;
	}
	return (!state || state[8] == 'S' || state[8] == 'D') && strncmp(ret->where, "futex", 5) != 0;
}

/* The kernel's own locks, which somebody may hold who waits for a processor. */
static bool is_lock(const char *where)
{
	return !strncmp(where, "rwsem", 5) || strstr(where, "mutex") || !strncmp(where, "down", 4);
}

/* At one stop for longer than patience, and asleep in one place for the second half of it? The first time patience is
 * half a second; where in the kernel it happened, it happens again. */
bool worker_held_up(struct worker *w)
{
	struct stillness now = {.since = __atomic_load_n(&w->sup.since, __ATOMIC_ACQUIRE), .seen = serve_clock_ns()};
	const struct stillness *first = &w->still;
	if (!now.since || now.seen - now.since < PATIENCE_AGAIN / 2)
		return false;
	if (!server_sleeps(w, &now)) {
		w->still.since = 0;
		return false;
	}
	int64_t again = w->sup.leave ? PATIENCE : PATIENCE_AGAIN; /* else each look of a job's own file system takes that */
	int64_t patience = w->held_up && !strcmp(now.where, w->held_in) ? again : PATIENCE;
	if (first->since != now.since || first->switches != now.switches) {
		w->still = now;
		return false;
	}
	if (now.seen - now.since < patience || now.seen - first->seen < patience / 2)
		return false;
	if (!w->held_at[0] && !is_lock(now.where))
		where_looking(w->held_at);
	w->held_up += !is_lock(now.where);
	if (!is_lock(now.where))
		memcpy(w->held_in, now.where, sizeof(w->held_in));
	return true;
}

void serve_stand_in(struct worker *w)
{
	pthread_t t;
	if (__atomic_load_n(&w->standing_in, __ATOMIC_ACQUIRE) || !worker_held_up(w))
		return;
	__atomic_store_n(&w->standing_in, 1, __ATOMIC_RELEASE);
	if (pthread_create(&t, &w->attr, run_stand_in, w) == 0)
		pthread_detach(t);
	else
		__atomic_store_n(&w->standing_in, 0, __ATOMIC_RELEASE);
}
