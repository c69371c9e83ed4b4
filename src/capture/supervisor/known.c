#include "capture/supervisor/known.h"

#include "capture/supervisor/super.h"

#include <string.h>

/* Its row, NULL for none. any_start: whenever it began, since numbers are used again. */
static struct known_proc *known_place(struct known *k, pid_t pid, int64_t started, bool any_start)
{
	for (unsigned i = 0; i < KNOWN_NEAR; i++) {
		struct known_proc *at = &k->v[((unsigned)pid + i) % KNOWN_MAX];
		if (pid > 0 && at->pid == pid && (any_start || at->started == started))
			return at;
	}
	return NULL;
}

struct known_proc *known_find(struct known *k, pid_t pid, int64_t started)
{
	return known_place(k, pid, started, false);
}

void known_note(struct known *k, const struct proc *p)
{
	struct known_proc *at = known_place(k, p->pid, p->started, true); /* its number may have been another's */
	for (unsigned i = 0; i < KNOWN_NEAR && !at; i++)
		if (!k->v[((unsigned)p->pid + i) % KNOWN_MAX].pid)
			at = &k->v[((unsigned)p->pid + i) % KNOWN_MAX];
	if (!at)
		return;
	if (at->started != p->started)
		__atomic_store_n(&at->pid, 0, __ATOMIC_RELEASE);
	at->started = p->started;
	at->num = p->num;
	at->execn = p->execn;
	at->exe_dev = p->exe_dev;
	at->exe_ino = p->exe_ino;
	memcpy(at->run, p->run, sizeof(at->run));
	at->run_root = p->run_root;
	__atomic_store_n(&at->pid, p->pid, __ATOMIC_RELEASE);
}

void known_forget(struct known *k, const struct proc *p)
{
	struct known_proc *at = known_find(k, p->pid, p->started);
	if (at)
		__atomic_store_n(&at->pid, 0, __ATOMIC_RELEASE);
}
