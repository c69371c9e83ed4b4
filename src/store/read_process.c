/* read_process.c - a process's row, decoded and settled into its executions. */
#include "store/adjacency/adjacency.h"

#include <errno.h>

/* By time, then by session and number: as strcmp. */
static int gkey_row_cmp(const struct gkey_row *a, const struct gkey_row *b)
{
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* The view of execution n, added in order where it is not there. */
static struct view_exec *exec_slot(struct process_view *v, uint32_t n)
{
	size_t at = v->execs.n;
	while (at > 0 && v->execs.v[at - 1].n > n)
		at--;
	if (at > 0 && v->execs.v[at - 1].n == n)
		return &v->execs.v[at - 1];
	if (!vec_room(&v->execs, 1))
		return NULL;
	memmove(&v->execs.v[at + 1], &v->execs.v[at], (v->execs.n - at) * sizeof(*v->execs.v));
	v->execs.n++;
	v->execs.v[at] = (struct view_exec){.n = n};
	return &v->execs.v[at];
}

/* Adds a fact about a process. 0, -ENOMEM. Of several facts of one kind the first counts. */
static int add_process_fact(struct process_view *v, uint64_t session, uint64_t number, const struct pproc_fact *f)
{
	switch (f->kind) {
	case PPROC_FORK: {
		struct view_fork *p = vec_add(&v->forks);
		if (!p)
			return -ENOMEM;
		*p = (struct view_fork){{f->fork.time, number, f->fork.seq}, session, f->fork};
		return 0;
	}
	case PPROC_EXEC: {
		struct gkey_row key = {f->exec.time, number, f->exec.seq};
		struct view_exec *e = exec_slot(v, (uint32_t)f->exec.n);
		if (!e)
			return -ENOMEM;
		if (!e->reported || gkey_row_cmp(&key, &e->key) < 0)
			*e = (struct view_exec){.n = e->n, .reported = true, .key = key, .session = session, .fact = f->exec};
		return 0;
	}
	case PPROC_EXIT: {
		struct gkey_row key = {f->exit.time, number, f->exit.seq};
		if (!v->exited || gkey_row_cmp(&key, &v->exit_key) < 0) {
			v->exit = f->exit;
			v->exit_key = key;
			v->exited = true;
		}
		return 0;
	}
	case PPROC_LINK: {
		struct pproc_link *p = vec_add(&v->links);
		if (!p)
			return -ENOMEM;
		*p = f->link;
		return 0;
	}
	case PPROC_GAP: {
		struct view_gap *p = vec_add(&v->gaps);
		if (!p)
			return -ENOMEM;
		*p = (struct view_gap){session, f->gap};
		return 0;
	}
	}
	return 0;
}

/* Each begins with its exec, else with the first fork, and ends where the next one begins, or with the process. */
static void resolve_execution_times(struct process_view *v)
{
	const struct view_fork *first = NULL;
	for (size_t i = 0; i < v->forks.n; i++)
		if (!first || gkey_row_cmp(&v->forks.v[i].key, &first->key) < 0)
			first = &v->forks.v[i];
	for (size_t i = 0; i < v->execs.n; i++) {
		struct view_exec *e = &v->execs.v[i];
		if (e->reported)
			e->start = e->key.time;
		else if (first)
			e->start = first->fact.forked != TIME_NONE ? first->fact.forked : first->fact.time;
		else
			e->start = TIME_NONE;
		if (!e->reported && first)
			e->session = first->session;
	}
	for (size_t i = 0; i < v->execs.n; i++)
		v->execs.v[i].end = i + 1 < v->execs.n ? v->execs.v[i + 1].start : v->exited ? v->exit_key.time : TIME_NEVER;
}

/* Once for all executions: whoever asks for each of ten thousand would go through as many gaps each time. */
static void mark_gaps(struct process_view *v)
{
	for (size_t i = 0; i < v->gaps.n; i++) {
		const struct pproc_gap *g = &v->gaps.v[i].fact;
		const struct view_exec *e = g->n <= UINT32_MAX && g->reason < 64 ? view_exec(v, (uint32_t)g->n) : NULL;
		if (e)
			v->execs.v[e - v->execs.v].own_gaps |= (uint64_t)1 << g->reason;
	}
}

/* What one session told of the process. 0 or -errno. */
static int read_process_section(struct store *s, const struct pproc_section *sec, struct process_view *v)
{
	const struct ssession *session = store_session(s, sec->session);
	uint64_t number = session ? session->number : 0;
	bool again = v->sessions.n && v->sessions.v[v->sessions.n - 1] == sec->session; /* it was gone on with */
	struct cur body = cur_of(sec->body);
	struct pproc_fact f;
	int64_t t = s->base;
	int rc;
	uint64_t *told = again ? NULL : vec_add(&v->sessions);
	if (!again && !told)
		return -ENOMEM;
	if (told)
		*told = sec->session;
	while ((rc = pproc_fact_next(&body, &t, &f)) == 1)
		if ((rc = add_process_fact(v, sec->session, number, &f)) < 0)
			break;
	return rc;
}

int read_process(struct store *s, uint64_t id, struct process_view *v)
{
	struct str row[PROCESS_PARTS];
	if (s->viewing && v->id == id)
		return 1; /* it is there already */
	buf_reset(&v->info);
	v->execs.n = v->forks.n = v->links.n = v->gaps.n = v->sessions.n = 0;
	v->exited = v->told = false;
	v->id = 0;
	int rc = read_process_row(s, id, row);
	if (rc <= 0)
		return rc;
	buf_str(&v->info, row[PROCESS_INFO]);
	struct cur c = cur_of(buf_view(&v->info));
	rc = v->info.failed ? -ENOMEM : pproc_get(s, &c, &v->p);
	if (rc == 0 && !exec_slot(v, 0))
		rc = -ENOMEM;
	struct pproc_section sec;
	while (rc == 0 && (rc = pproc_section_next(&c, &sec)) == 1)
		rc = read_process_section(s, &sec, v);
	if (rc < 0)
		return rc;
	resolve_execution_times(v);
	mark_gaps(v);
	v->id = v->forks.n || v->execs.n > 1 || v->exited ? id : 0;
	/* A process that no session tells of any more (its frames came whole, and told of another) is not there. */
	return v->id != 0;
}

int read_process_edges(struct store *s, uint64_t id, struct process_view *v)
{
	int rc = adj_process(s, id, v);
	return rc ? rc : read_process(s, id, v);
}

const struct view_exec *view_exec(const struct process_view *v, uint32_t n)
{
	size_t lo = 0, hi = v->execs.n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (v->execs.v[mid].n < n)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->execs.n && v->execs.v[lo].n == n ? &v->execs.v[lo] : NULL;
}

const struct view_exec *view_exec_at(const struct process_view *v, int64_t t)
{
	const struct view_exec *best = NULL;
	for (size_t i = 0; i < v->execs.n; i++)
		if (v->execs.v[i].start <= t && (!best || v->execs.v[i].start >= best->start))
			best = &v->execs.v[i];
	return best ? best : &v->execs.v[0];
}

uint64_t view_run(const struct process_view *v, const struct view_exec *e)
{
	if (e->reported)
		return e->fact.run;
	const struct view_fork *first = NULL;
	for (size_t i = 0; i < v->forks.n; i++)
		if (!first || gkey_row_cmp(&v->forks.v[i].key, &first->key) < 0)
			first = &v->forks.v[i];
	return first ? first->fact.run : 0;
}
