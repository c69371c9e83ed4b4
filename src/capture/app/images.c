#include "capture/app/images.h"

#include <stdlib.h>

#define CHAINS 4096

struct image {
	int64_t time;
	uint64_t n;
};
struct known {
	struct known *by_pid, *by_num; /* next in each chain */
	uint64_t pid, num;
	int64_t started;
	struct image *v;
	size_t n, cap;
};
struct images {
	struct known *by_pid[CHAINS], *by_num[CHAINS];
};

/* NULL without memory. */
struct images *images_new(void)
{
	return calloc(1, sizeof(struct images));
}

/* Notes a process that began under its id and its number. Without memory it is left out. */
static void note_process(struct images *m, const struct event *ev)
{
	struct known *k = calloc(1, sizeof(*k));
	if (!k)
		return; /* then its words are of an execution that is not known, which is said */
	struct known **pid = &m->by_pid[ev->process.pid % CHAINS], **num = &m->by_num[ev->proc % CHAINS];
	k->pid = ev->process.pid;
	k->started = ev->process.started;
	k->num = ev->proc;
	k->by_pid = *pid;
	k->by_num = *num;
	*pid = *num = k;
}

/* A process that is not known, or no memory: it is not noted, as an image that is not known. */
static void note_exec(struct images *m, const struct event *ev)
{
	struct known *k = m->by_num[ev->proc % CHAINS];
	while (k && k->num != ev->proc)
		k = k->by_num;
	if (!k)
		return;
	if (k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 1;
		struct image *more = realloc(k->v, cap * sizeof(*more));
		if (!more)
			return;
		k->v = more;
		k->cap = cap;
	}
	k->v[k->n++] = (struct image){ev->time, ev->exec.n};
}

void images_note(struct images *m, const struct event *ev)
{
	if (ev->kind == EVENT_process)
		note_process(m, ev);
	else if (ev->kind == EVENT_exec)
		note_exec(m, ev);
}

bool images_find(const struct images *m, uint64_t pid, int64_t started, int64_t t, uint64_t *ret_n)
{
	const struct known *k = m ? m->by_pid[pid % CHAINS] : NULL;
	while (k && (k->pid != pid || k->started != started))
		k = k->by_pid;
	if (!k)
		return false;
	*ret_n = 0;
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].time <= t)
			*ret_n = k->v[i].n;
	return true;
}
