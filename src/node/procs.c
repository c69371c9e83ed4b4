/* The table of processes: who there is, and whom what each does counts to. */
#include "node/node_int.h"

#include <stdlib.h>
#include <string.h>

static unsigned hash_pid(pid_t pid)
{
	return (unsigned)pid & (HASH - 1);
}

enum rule_class nproc_class(const struct node *n, const struct nproc *p, const struct tracer_event *ev)
{
	if (p->answers)
		return RULE_pass;
	return rules_class(n->o.rules, ev->exec.exe_path, ev->exec.argv, p->under == RULE_job);
}

struct nproc *nproc_find(struct node *n, pid_t pid, uint64_t start)
{
	for (struct nproc *p = n->procs[hash_pid(pid)]; p; p = p->next)
		if (p->pid == pid && (!start || !p->start || p->start == start))
			return p;
	return NULL;
}

void nprogram_free(struct nprogram *now)
{
	if (!now)
		return;
	if (now->exe)
		now->exe->pins--;
	if (now->script)
		now->script->pins--;
	free(now->argv);
	free(now->env);
	free(now->cwd);
	free(now);
}

void nproc_unref(struct node *n, struct nproc *p)
{
	if (--p->refs)
		return;
	if (p->above)
		nproc_unref(n, p->above);
	if (p->rep && p->rep != p)
		nproc_unref(n, p->rep);
	if (p->maker_of_channels)
		nproc_unref(n, p->maker_of_channels);
	book_unpay(p);
	nprogram_free(p->now);
	free(p->job);
	free(p);
	n->n_procs--;
}

struct nproc *nproc_ref(struct nproc *p)
{
	if (p)
		p->refs++;
	return p;
}

struct nproc *nproc_new(struct node *n, pid_t pid, uint64_t start, uint32_t uid)
{
	struct book *payer = book_of(n, uid);
	bool may = book_may(payer ? payer->processes : 0, n->n_procs, n->o.max_processes);
	struct nproc *p = may ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		book_short(n, uid);
		return NULL;
	}
	p->uid = uid;
	book_paying(n, p);
	p->pid = pid;
	p->start = start;
	p->refs = 1;
	p->alive = true;
	p->next = n->procs[hash_pid(pid)];
	n->procs[hash_pid(pid)] = p;
	n->n_procs++;
	n->stats.live++;
	return p;
}

void nproc_set_own(struct node *n, struct nproc *p)
{
	if (p->state == UNDECIDED)
		n->n_held -= p->n_accesses;
	n->n_undecided -= p->state == UNDECIDED;
	if (p->rep && p->rep != p) {
		if (!p->above)
			p->above = nproc_ref(p->rep);
		nproc_unref(n, p->rep);
	}
	p->state = OWN;
	p->rep = p;
	n->n_rep++;
}

void nproc_decide(struct node *n, struct nproc *p)
{
	if (p->state == OWN)
		return;
	nproc_set_own(n, p);
	node_emit_proc(n, p);
	naccess_emit_held(n, p);
}

void nproc_inherit(struct node *n, struct nproc *p, struct nproc *above)
{
	p->under = above ? above->class : RULE_pass;
	p->class = above ? above->class : RULE_none;
	if (above) {
		p->uid = above->uid;
		p->gid = above->gid;
		p->counting = above->counting;
		/* What is started from a login shell, or from what starts ranks, is a run of its own, as that is. */
		if (!above->run_root || !is_passing_class(above->class))
			memcpy(p->run, above->run, sizeof(p->run));
		p->job = above->job ? strdup(above->job) : NULL;
	}
	struct nproc *kept = !above ? NULL : above->state == UNDECIDED ? above->above : above->rep;
	if (n->o.keep_all || !above) {
		p->above = nproc_ref(kept);
		p->state = OWN;
		p->rep = p;
		n->n_rep++;
	} else if (above->state == UNDECIDED || is_passing_class(above->class)) {
		p->above = nproc_ref(kept);
		p->state = UNDECIDED;
		n->n_undecided++;
	} else {
		p->state = FOLDED;
		p->rep = nproc_ref(kept);
		n->stats.folded++;
	}
}

void nproc_gone(struct node *n, struct nproc *p)
{
	struct nproc **at = &n->procs[hash_pid(p->pid)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->gone = true;
	/* The dead hold nobody, or a chain of forks would never be let go of. */
	struct nproc *held[] = {p->above, p->maker_of_channels};
	p->above = p->maker_of_channels = NULL;
	for (size_t i = 0; i < 2; i++)
		if (held[i])
			nproc_unref(n, held[i]);
	nproc_unref(n, p);
}

void nproc_over(struct node *n, struct nproc *p)
{
	if (p->state == UNDECIDED) { /* it never was anything but a part of who forked it */
		n->n_held -= p->n_accesses;
		n->n_undecided--;
		p->state = FOLDED;
		p->rep = p->above;
		p->above = NULL;
		n->stats.folded++;
	}
	naccess_end_all(n, p, p->exit_time, false);
	nproc_gone(n, p);
}
