/* submit_edges.c - submissions as edges of a walk. */
#include "query/submit/submit_int.h"

#include "base/hash.h"
#include "base/vec.h"
#include "event/event.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct known_submission {
	struct exec_info x; /* its texts are copies */
	char *copies[5];
};

struct member { /* of a job */
	store_id exec;
	int64_t start, end;
};

struct known_job {
	struct origin_of o;
	int64_t began; /* TIME_NEVER: not known */
	struct member *v;
	size_t n, cap;
	struct edges from; /* its submissions, */
	bool compared;     /* ... once they were looked for */
};

enum { NO, YES };

struct submit_edges {
	struct store *s;
	int64_t skew;
	bool gathered;
	struct known_submission *subs;
	size_t n_subs, cap_subs;
	struct known_job *jobs;
	size_t n_jobs, cap_jobs;
	struct idmap by_origin; /* hash of what is compared of it -> place in jobs */
	/* What was found of an environment, and of a name that programs were called by: YES or NO. */
	struct idmap of_job, submits;
};

/* 0 and *ret to be freed; -ENOMEM. Nothing is read yet. */
int submit_edges_new(struct store *s, int64_t skew, struct submit_edges **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->s = s;
	(*ret)->skew = skew;
	return 0;
}

/* NULL is no error. */
void submit_edges_free(struct submit_edges *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n_subs; i++)
		submit_release_copies(x->subs[i].copies);
	for (size_t i = 0; i < x->n_jobs; i++) {
		submit_origin_release(&x->jobs[i].o);
		free(x->jobs[i].v);
		edges_release(&x->jobs[i].from);
	}
	free(x->subs);
	free(x->jobs);
	idmap_release(&x->by_origin);
	idmap_release(&x->of_job);
	idmap_release(&x->submits);
	free(x);
}

/* Whether both name the same job. */
static bool same_origin(const struct origin_of *a, const struct origin_of *b)
{
	return a->system == b->system && a->uid == b->uid && !strcmp(a->job, b->job) && !strcmp(a->dir, b->dir) &&
	       !strcmp(a->host, b->host) && !strcmp(a->name, b->name) && !strcmp(a->user, b->user);
}

/* Never 0. */
static uint64_t hash_origin(const struct origin_of *o)
{
	uint64_t h = hash_more((uint64_t)(uintptr_t)o->system, &o->uid, sizeof(o->uid));
	const char *const texts[] = {o->job, o->dir, o->host, o->name, o->user};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		h = hash_more(h, texts[i], strlen(texts[i]));
	return h | 1;
}

/* The job of that origin, which is taken over. NULL: no memory. */
static struct known_job *job_of(struct submit_edges *x, struct origin_of *o)
{
	bool is_new = false;
	uint64_t key = hash_origin(o);
	uint32_t *at = idmap_find(&x->by_origin, key);
	if (at && same_origin(&x->jobs[*at].o, o)) {
		submit_origin_release(o);
		return &x->jobs[*at];
	}
	struct known_job *v = submit_grow(x->jobs, x->n_jobs, &x->cap_jobs, sizeof(*v));
	if (v)
		x->jobs = v;
	if (!v || !(at = idmap_add(&x->by_origin, key, (uint32_t)x->n_jobs, &is_new))) {
		submit_origin_release(o);
		return NULL;
	}
	*at = (uint32_t)x->n_jobs; /* two of one hash: the later ones come to the second, and the first stays as it is */
	v[x->n_jobs] = (struct known_job){.o = *o, .began = TIME_NEVER};
	return &v[x->n_jobs++];
}

/* A callback for each execution: keeps it if it submits or belongs to a job. -errno, or 0. */
static int collect_submission(void *arg, const struct exec_info *e)
{
	struct submit_edges *x = arg;
	struct origin_of o;
	if (submit_is_submitter(e)) {
		struct known_submission *v = submit_grow(x->subs, x->n_subs, &x->cap_subs, sizeof(*v));
		if (!v)
			return -ENOMEM;
		x->subs = v;
		v += x->n_subs++;
		*v = (struct known_submission){.x = *e};
		if (submit_own_texts(&v->x, v->copies) < 0)
			return -ENOMEM;
	}
	int r = submit_origin_load(e, &o);
	if (r <= 0)
		return r;
	struct known_job *j = job_of(x, &o);
	struct member *m = j ? submit_grow(j->v, j->n, &j->cap, sizeof(*m)) : NULL;
	if (!m)
		return -ENOMEM;
	j->v = m;
	m[j->n++] = (struct member){e->id, e->start, e->end};
	if (e->start != TIME_NONE && e->start < j->began)
		j->began = e->start;
	return 0;
}

/* All submissions of the record, once. 0 or -errno. */
static int collect_submissions(struct submit_edges *x)
{
	int r = x->gathered ? 0 : submit_each_exec(x->s, collect_submission, x);
	x->gathered = r == 0;
	return r;
}

/* May it have made the job, in time, too? */
static bool may_be(const struct submit_edges *x, const struct known_submission *sub, const struct known_job *j)
{
	bool late = j->began != TIME_NEVER && sub->x.start != TIME_NONE && sub->x.start - x->skew > j->began;
	return !late && submit_may_have(&sub->x, &j->o);
}

/* lo, hi: when, ns. 0, -ENOMEM. */
static int add_submission(struct edges *e, store_id to, bool sure, int64_t lo, int64_t hi)
{
	struct edge one = {.to = to, .sure = sure, .via = TERM_via_submit, .lo = lo, .hi = hi};
	return edges_add(e, &one);
}

/* Compares the job with all submissions, once: j->from are those that may be its own. 0, -ENOMEM. */
static int compare_job(struct submit_edges *x, struct known_job *j)
{
	int r = 0;
	for (size_t k = 0; !j->compared && r == 0 && k < x->n_subs; k++)
		if (may_be(x, &x->subs[k], j))
			r = add_submission(&j->from, x->subs[k].x.id, false, x->subs[k].x.start, x->subs[k].x.end);
	j->compared = true;
	return r;
}

/* The submissions that may be of the job with origin *o, which is taken over. -errno, or 0. */
static int add_possible_submissions(struct submit_edges *x, struct origin_of *o, struct edges *e)
{
	int r = collect_submissions(x);
	if (r < 0)
		return r;
	struct known_job *j = job_of(x, o);
	*o = (struct origin_of){0};
	r = j ? compare_job(x, j) : -ENOMEM;
	for (size_t k = 0; r == 0 && k < j->from.n; k++)
		r = edges_add(e, &j->from.v[k]);
	return r;
}

int submit_edges_is(struct submit_edges *x, store_id exec)
{
	struct exec_sort i;
	struct str called;
	bool is_new = true;
	int r = store_exec_sort(x->s, exec, &i);
	if (r <= 0 || !i.n)
		return r < 0 ? r : 0;
	uint32_t *known = i.command ? idmap_add(&x->submits, i.command, NO, &is_new) : NULL;
	if (!is_new)
		return *known == YES;
	if (i.command && !known)
		return -ENOMEM;
	r = store_command(x->s, &i, &called);
	if (r == 0 && submit_is_submitter_name(called))
		r = 1;
	if (known && r > 0)
		*known = YES;
	return r;
}

/* May the execution, by its environment, be of a job? Of the first of many with that environment all is read. 1, 0 or
 * -errno. */
static int may_be_of_job(struct submit_edges *x, store_id exec)
{
	struct exec_sort sort;
	struct exec_info i;
	struct str job;
	bool is_new;
	int r = store_exec_sort(x->s, exec, &sort);
	if (r <= 0 || !sort.env)
		return r < 0 ? r : 0;
	uint32_t *known = idmap_add(&x->of_job, sort.env, NO, &is_new);
	if (!known)
		return -ENOMEM;
	if (!is_new)
		return *known == YES;
	r = store_exec(x->s, exec, &i);
	if (r > 0 && submit_system_of(&i, &job))
		*known = YES;
	return r < 0 ? r : *known == YES;
}

/* Adds edges from a job's execution to who may have submitted it. 0 or -errno. */
static int edges_up(struct submit_edges *x, store_id exec, struct edges *e)
{
	struct exec_info i;
	struct origin_of o = {0};
	struct submissions by_descent = {0};
	int r = may_be_of_job(x, exec);
	if (r > 0)
		r = store_exec(x->s, exec, &i);
	if (r > 0)
		r = submit_origin_load(&i, &o);
	if (r <= 0)
		return r;
	r = submit_find_above(x->s, &o, exec, &by_descent);
	if (r == 0 && by_descent.n) {
		r = store_exec(x->s, by_descent.v[0].exec, &i);
		if (r > 0)
			r = add_submission(e, i.id, true, i.start, i.end);
	} else if (r == 0) {
		r = add_possible_submissions(x, &o, e);
	}
	submissions_release(&by_descent);
	submit_origin_release(&o);
	return r < 0 ? r : 0;
}

/* Adds edges from a submission to the jobs that it may have made. 0 or -errno. */
static int edges_down(struct submit_edges *x, store_id exec, struct edges *e)
{
	const struct known_submission *sub = NULL;
	int r = submit_edges_is(x, exec);
	if (r > 0)
		r = collect_submissions(x);
	else
		return r;
	for (size_t k = 0; !sub && k < x->n_subs; k++)
		if (x->subs[k].x.id == exec)
			sub = &x->subs[k];
	for (size_t k = 0; sub && r == 0 && k < x->n_jobs; k++) {
		const struct known_job *j = &x->jobs[k];
		bool may = may_be(x, sub, j);
		for (size_t m = 0; r == 0 && m < j->n; m++) {
			struct submissions by_descent = {0};
			r = submit_find_above(x->s, &j->o, j->v[m].exec, &by_descent);
			bool its = by_descent.n && by_descent.v[0].exec == exec;
			if (r == 0 && (its || (may && !by_descent.n)))
				r = add_submission(e, j->v[m].exec, its, j->v[m].start, j->v[m].end);
			submissions_release(&by_descent);
		}
	}
	return r;
}

int submit_edges_add(struct submit_edges *x, store_id exec, bool down, struct edges *e)
{
	return down ? edges_down(x, exec, e) : edges_up(x, exec, e);
}
