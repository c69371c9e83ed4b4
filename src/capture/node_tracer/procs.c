#include "capture/node_tracer/procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROCS_MAX 131072

/* Open addressing over pointers, so that a proc stays where it is. */
struct procs {
	struct proc **at;
	size_t cap, n;
};

int procs_new(struct procs **ret)
{
	struct procs *p = calloc(1, sizeof(*p));
	if (p) {
		p->cap = 1024;
		p->at = calloc(p->cap, sizeof(*p->at));
	}
	if (!p || !p->at) {
		free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

/* NULL is no error. */
static void free_proc(struct proc *one)
{
	if (one)
		free(one->opened);
	free(one);
}

/* NULL is no error. */
void procs_free(struct procs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->cap; i++)
		free_proc(p->at[i]);
	free(p->at);
	free(p);
}

/* Where pid is, or would be. Pids are given out in turn, so their low bits are spread already. */
static size_t probe_slot(const struct procs *p, pid_t pid)
{
	size_t i = (size_t)pid & (p->cap - 1);
	while (p->at[i] && p->at[i]->pid != pid)
		i = (i + 1) & (p->cap - 1);
	return i;
}

/* NULL if it is not known. */
struct proc *procs_find(const struct procs *p, pid_t pid)
{
	return p->at[probe_slot(p, pid)];
}

/* Makes the table of processes twice as large. False: no memory, and p is as it was. */
static bool double_table(struct procs *p)
{
	struct procs bigger = {.cap = p->cap * 2};
	bigger.at = calloc(bigger.cap, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < p->cap; i++)
		if (p->at[i])
			bigger.at[probe_slot(&bigger, p->at[i]->pid)] = p->at[i];
	free(p->at);
	p->at = bigger.at;
	p->cap = bigger.cap;
	return true;
}

struct proc *procs_add(struct procs *p, pid_t pid)
{
	struct proc *one = procs_find(p, pid);
	if (!one) {
		if (p->n >= PROCS_MAX || (2 * p->n >= p->cap && !double_table(p)))
			return NULL;
		one = malloc(sizeof(*one));
		if (!one)
			return NULL;
		p->at[probe_slot(p, pid)] = one;
		one->pid = pid; /* probe_slot() looked for it */
		p->n++;
	} else
		free(one->opened);
	*one = (struct proc){.pid = pid};
	return one;
}

/* Frees it. Nothing where there is none. */
void procs_remove(struct procs *p, pid_t pid)
{
	size_t i = probe_slot(p, pid);
	if (!p->at[i])
		return;
	free_proc(p->at[i]);
	p->at[i] = NULL;
	p->n--;
	/* Those that follow may have been put there because this place was taken. */
	for (size_t j = (i + 1) & (p->cap - 1); p->at[j]; j = (j + 1) & (p->cap - 1)) {
		struct proc *moved = p->at[j];
		p->at[j] = NULL;
		p->at[probe_slot(p, moved->pid)] = moved;
	}
}

/* How many are known. */
size_t procs_count(const struct procs *p)
{
	return p->n;
}

void procs_each(const struct procs *p, void (*each)(void *arg, struct proc *proc), void *arg)
{
	for (size_t i = 0; i < p->cap; i++)
		if (p->at[i])
			each(arg, p->at[i]);
}

/* Bytes. */
size_t procs_memory(const struct procs *p)
{
	return sizeof(*p) + p->cap * sizeof(*p->at) + p->n * sizeof(struct proc);
}
