/* lineage_messages.c - a rank of MPI that told what it sent and got: the library's own sockets and shared memory carry
 * nothing else between ranks, so no walk goes through them (doc/graph.md, "Messages of MPI"). */
#include "query/lineage/lineage_int.h"

#include "query/fold.h"

#include <errno.h>
#include <string.h>

/* Beginnings of names of files that a library of MPI shares between ranks, below a folder for such files. */
static const char *const segments[] = {"/dev/shm/open_mpi.",   "/dev/shm/vader_segment.", "/dev/shm/sm_segment.",
                                       "/dev/shm/mpich_shar_", "/dev/shm/ucx_shm_posix_", "/dev/shm/psm2_shm."};
/* Parts of paths: folders of Open MPI's launcher, in the folder for temporary files. */
static const char *const folders[] = {"/ompi.", "/prrte.", "/pmix_dstor"};

static bool is_segment(struct str path)
{
	for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++)
		if (str_starts(path, str_of(segments[i])))
			return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (memmem(path.p, path.n, folders[i], strlen(folders[i])))
			return true;
	return false;
}

static bool has_messages(const struct edges *e)
{
	for (size_t k = 0; k < e->n; k++)
		if (e->v[k].api == TERM_api_mpi)
			return true;
	return false;
}

/* Is the execution a rank that told of all of its messages? Uses `room`. 1, 0, -errno. */
static int is_telling_rank(struct lineage_walk *w, store_id exec, struct edges *room)
{
	struct exec_info x;
	int r = store_exec(w->s, exec, &x);
	if (r <= 0 || !x.rank.n || x.gaps & 1u << TERM_gap_lost)
		return r < 0 ? r : 0; /* with a gap it did not tell all */
	r = store_uses(w->s, exec, room);
	if (r == 0 && !has_messages(room))
		r = store_outputs(w->s, exec, room);
	return r < 0 ? r : has_messages(room);
}

/* Is it a rank that told, or a launcher or a fork of one? 1, 0, -errno. */
static int is_of_job(struct lineage_walk *w, store_id exec, struct edges *room)
{
	enum fold_class class;
	struct exec_info x;
	int r = is_telling_rank(w, exec, room);
	if (r != 0)
		return r;
	r = store_exec(w->s, exec, &x);
	if (r > 0)
		r = fold_class(w->s, x.n || !x.parent ? exec : x.parent, &class);
	return r > 0 ? class == FOLD_launcher : r;
}

/* Does a socket or shared memory have at its ends ranks that told and their launchers alone? 1, 0, -errno. */
static int is_within_job(struct lineage_walk *w, store_id version)
{
	struct edges ends = {0}, room = {0};
	int r = 1;
	for (int side = 0; side < 2 && r > 0; side++) {
		r = side ? store_readers(w->s, version, &ends) : store_gens(w->s, version, &ends);
		r = r < 0 ? r : 1;
		for (size_t k = 0; k < ends.n && r > 0; k++)
			r = is_of_job(w, ends.v[k].to, &room);
	}
	edges_release(&ends);
	edges_release(&room);
	return r;
}

/* By its kind and name: may it be what carries messages? */
static bool is_candidate(const struct version_sort *v)
{
	return v->kind == TERM_kind_socket || v->kind == TERM_kind_shm ||
	       (v->kind == TERM_kind_regular && is_segment(v->path));
}

/* 1, 0, -errno. */
static int is_transport(struct lineage_walk *w, store_id version)
{
	struct version_sort v;
	int r = store_version_sort(w->s, version, &v);
	if (r <= 0 || !is_candidate(&v))
		return r < 0 ? r : 0;
	return v.kind == TERM_kind_regular ? 1 : is_within_job(w, version);
}

int lineage_message_in_time(struct lineage_walk *w, uint32_t i, int64_t t)
{
	struct edges made = {0};
	uint32_t node;
	int r = store_outputs(w->s, w->nodes[i].id, &made);
	bool any = false, in_time = false;
	for (size_t k = 0; k < made.n && r >= 0 && !in_time; k++) {
		struct version_info v;
		if (!lineage_find_node(w, made.v[k].to, false, &node))
			continue;
		any = true;
		r = store_version(w->s, made.v[k].to, &v);
		in_time = r > 0 && (v.mtime == TIME_NONE || v.mtime >= t);
	}
	edges_release(&made);
	return r < 0 ? r : !any || in_time;
}

int lineage_drop_transport(struct lineage_walk *w, uint32_t i, struct edges *got)
{
	struct edges room = {0};
	size_t n = 0;
	int r = w->o->all || !got->n ? 0 : is_telling_rank(w, w->nodes[i].id, &room);
	edges_release(&room);
	if (r <= 0)
		return r;
	for (size_t k = 0; k < got->n; k++) {
		const struct edge e = got->v[k];
		r = e.api == TERM_api_mpi ? 0 : is_transport(w, e.to);
		if (r > 0)
			r = lineage_record_omission(w, i, OMIT_transport);
		else if (r == 0)
			got->v[n++] = e;
		if (r < 0)
			return r;
	}
	got->n = n;
	return 0;
}

int lineage_drop_ranks(struct lineage_walk *w, uint32_t i, struct edges *got)
{
	struct edges room = {0};
	struct version_sort v;
	size_t n = 0;
	int r = w->o->all || !got->n ? 0 : store_version_sort(w->s, w->nodes[i].id, &v);
	if (r <= 0 || !is_candidate(&v))
		return r < 0 ? r : 0;
	r = is_transport(w, w->nodes[i].id);
	for (size_t k = 0; k < got->n && r > 0; k++) {
		const struct edge e = got->v[k];
		int tells = e.api == TERM_api_mpi ? 0 : is_telling_rank(w, e.to, &room);
		if (tells > 0)
			r = lineage_record_omission(w, i, OMIT_transport) < 0 ? -ENOMEM : r;
		else if (tells == 0)
			got->v[n++] = e;
		r = tells < 0 ? tells : r;
	}
	if (r > 0)
		got->n = n;
	edges_release(&room);
	return r < 0 ? r : 0;
}
