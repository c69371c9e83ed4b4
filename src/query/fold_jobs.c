#include "query/fold_jobs.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/os/system.h"
#include "query/fold.h"

#include <errno.h>
#include <stdlib.h>

#define ABOVE 64 /* forks and execs from a rank up to its launchers */

/* j is empty then. */
void fold_jobs_release(struct fold_jobs *j)
{
	free(j->v);
	idmap_release(&j->by_key);
	idmap_release(&j->rank_numbers);
	idmap_release(&j->ranks);
	idmap_release(&j->launchers);
	*j = (struct fold_jobs){0};
}

/* The digits that it begins with. */
static uint64_t rank_number(struct str rank)
{
	uint64_t n = 0;
	for (size_t i = 0; i < rank.n && rank.p[i] >= '0' && rank.p[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(rank.p[i] - '0');
	return n;
}

/* Notes that an execution is a rank of a job. *ret: the place of the job in j->v, from 1. Ranks of one command and
 * step are one job. -ENOMEM. */
static int join_job(struct fold_jobs *j, const struct exec_info *x, uint32_t *ret)
{
	uint64_t key = hash_mix(hash_mix(x->run, hash_str(x->step)), hash_mix(x->exe, hash_str(x->argv.raw)));
	uint64_t rank = rank_number(x->rank);
	bool is_new, is_new_rank;
	uint32_t *at = idmap_add(&j->by_key, key | 1, (uint32_t)j->n, &is_new);
	if (!at || (is_new && !vec_has_room(j->v, j->n, j->cap)))
		return -ENOMEM;
	if (is_new)
		j->v[j->n++] = (struct fold_job){.first = x->id, .first_rank = rank};
	struct fold_job *job = &j->v[*at];
	*ret = *at + 1;
	/* A command that one rank ran twice is two programs, and no two ranks. */
	if (!idmap_add(&j->rank_numbers, hash_mix(key, rank + 1) | 1, 1, &is_new_rank))
		return -ENOMEM;
	job->ranks += is_new_rank;
	if (rank < job->first_rank) {
		job->first = x->id;
		job->first_rank = rank;
	}
	return 0;
}

/* The launchers above a rank, up to what is neither a launcher nor a fork without exec. -errno, or 0. */
static int add_launchers(struct fold_jobs *j, struct store *s, store_id parent, uint32_t job)
{
	for (int i = 0; i < ABOVE && parent; i++) {
		struct exec_info x;
		enum fold_class class;
		bool is_new;
		store_id at = parent;
		int r = store_exec(s, at, &x);
		if (r <= 0)
			return r;
		parent = x.parent;
		bool fork = !x.n;
		r = fold_class(s, at, &class);
		if (r < 0 || class != FOLD_launcher)
			return r < 0 ? r : 0;
		if (!fork && !idmap_add(&j->launchers, at, job, &is_new))
			return -ENOMEM;
	}
	return 0;
}

int fold_jobs_add(struct fold_jobs *j, struct store *s, store_id exec)
{
	struct exec_info x;
	uint32_t job;
	bool is_new;
	int r = store_exec(s, exec, &x);
	if (r <= 0 || !x.n || !x.rank.n || idmap_find(&j->ranks, exec))
		return r < 0 ? r : 0;
	store_id parent = x.parent;
	r = join_job(j, &x, &job);
	if (r == 0 && !idmap_add(&j->ranks, exec, job, &is_new))
		r = -ENOMEM;
	return r == 0 ? add_launchers(j, s, parent, job) : r;
}

int fold_jobs_find(const struct fold_jobs *j, struct store *s, store_id exec, const struct fold_job **ret)
{
	if (!j->n)
		return 0;
	const uint32_t *job = idmap_find(&j->ranks, exec);
	if (!job)
		job = idmap_find(&j->launchers, exec);
	if (!job) { /* a fork of a launcher */
		struct exec_info x;
		int r = store_exec(s, exec, &x);
		if (r <= 0 || x.n || !x.parent)
			return r < 0 ? r : 0;
		job = idmap_find(&j->launchers, x.parent);
	}
	if (!job || j->v[*job - 1].ranks < 2)
		return 0;
	*ret = &j->v[*job - 1];
	return 1;
}

/* Can a version be between ranks and launchers alone? What nobody was seen writing may be from outside, but not what
 * came to a socket of the job's own: other nodes of the job speak to it; and not the launcher's FIFO for debuggers. */
static bool may_be_transport(const struct version_info *v, const struct file_info *f)
{
	if (f->kind == TERM_kind_regular)
		return !f->named && v->origin == ORIGIN_OBSERVED;
	if (f->kind == TERM_kind_fifo && system_path(f->path, NULL) == SYSTEM_YES)
		return true;
	return f->kind >= TERM_kind_fifo && f->kind <= TERM_kind_shm &&
	       (v->origin == ORIGIN_OBSERVED || f->kind == TERM_kind_socket);
}

int fold_jobs_private(const struct fold_jobs *j, struct store *s, store_id version, const struct fold_job *job)
{
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	int r = store_version(s, version, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r <= 0)
		return r;
	if (!may_be_transport(&v, &f))
		return 0;
	if (f.kind == TERM_kind_socket && str_starts(f.path, str_of("mpi:")))
		return 1; /* messages: also between ranks that are not in the view */
	bool served = v.origin == ORIGIN_OBSERVED || f.kind != TERM_kind_socket;
	for (int side = 0; side < 2 && r > 0; side++) {
		r = side ? store_readers(s, version, &e) : store_gens(s, version, &e);
		r = r < 0 ? r : 1;
		for (size_t i = 0; i < e.n && r > 0; i++) {
			const struct fold_job *of = NULL;
			r = fold_jobs_find(j, s, e.v[i].to, &of);
			r = r > 0 ? of == job : r;
			served |= !edge_is_client(&e.v[i]);
		}
	}
	edges_release(&e);
	return r > 0 ? served : r;
}
