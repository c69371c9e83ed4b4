/* ix_counts.c - how much runs did: what is kept of it (store/counts.h) goes where it no longer holds, and the runs that
 * were met now are counted. */
#include "store/counts.h"
#include "store/index/index.h"

#include <errno.h>
#include <stdlib.h>

/* A run that goes on is counted by who asks, if it has more processes: it would be counted again with each question. */
#define OPEN_RUN_MAX 256

/* The run's counts do not hold any more. 0, -ENOMEM. */
static int void_run(struct ix *x, uint64_t run)
{
	return run && ids_add(&x->void_runs, run) < 0 ? ix_oom(x) : 0;
}

int ix_void_process(struct ix *x, struct str info)
{
	struct cur c = cur_of(info);
	struct pproc p;
	struct pproc_section sec;
	int rc = pproc_get(x->s, &c, &p);
	while (rc == 0 && (rc = pproc_section_next(&c, &sec)) == 1) {
		struct cur body = cur_of(sec.body);
		struct pproc_fact f;
		int64_t t = x->s->base;
		while ((rc = pproc_fact_next(&body, &t, &f)) == 1) {
			uint64_t run = f.kind == PPROC_FORK ? f.fork.run : f.kind == PPROC_EXEC ? f.exec.run : 0;
			if ((rc = void_run(x, run)) < 0)
				break;
		}
	}
	return rc;
}

int ix_void_readers(struct ix *x, uint64_t file, struct str rd, bool spilled, uint64_t versions)
{
	struct cur c = cur_of(rd);
	struct prd last = {0}, r;
	int rc;
	while ((rc = prd_next(&c, &last, &r)) == 1)
		if (ids_add(&x->void_processes, exec_process(r.exec)) < 0)
			return ix_oom(x);
	size_t from = x->void_processes.n;
	for (uint64_t n = 0; rc == 0 && spilled && n <= versions; n++)
		rc = lists_get(x->s, list_key(LIST_READER, version_id(file, n)), &x->void_processes);
	for (size_t i = from; i < x->void_processes.n; i++)
		x->void_processes.v[i] = exec_process(x->void_processes.v[i]);
	return rc;
}

/* The runs of processes that touched a file which is the machine's own now, or is no more. 0, -errno. */
static int void_runs_of_processes(struct ix *x)
{
	int rc = 0;
	ids_sort(&x->void_processes);
	for (size_t i = 0; rc >= 0 && i < x->void_processes.n; i++) {
		struct str part[PROCESS_PARTS];
		rc = read_process_row(x->s, x->void_processes.v[i], part);
		if (rc == 1)
			rc = ix_void_process(x, part[PROCESS_INFO]);
	}
	return rc < 0 ? rc : 0;
}

/* Is the run to be counted now? 0, -errno. */
static int is_worth_counting(struct ix *x, uint64_t run, bool *ret)
{
	struct run_info told;
	struct ids processes = {0};
	int rc = store_run_told(x->s, run, &told);
	*ret = rc == 1 && told.end != TIME_NONE;
	if (rc == 1 && !*ret) {
		rc = lists_get(x->s, list_key(LIST_RUN, run), &processes);
		*ret = processes.n <= OPEN_RUN_MAX;
		free(processes.v);
	}
	return rc < 0 ? rc : 0;
}

/* Counts runs that have ended or are small now; the counts of others do not hold, and who asks counts. 0, or -errno
 * with a sentence. */
static int count_new_runs(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->met_runs.n; i++) {
		bool now;
		rc = is_worth_counting(x, x->met_runs.v[i], &now);
		if (rc == 0)
			rc = now ? counts_index(x->s, x->met_runs.v[i], x->o->system_extra, x->err)
			         : counts_void(x->s, x->met_runs.v[i], x->err);
	}
	return rc;
}

int ix_count_runs(struct ix *x)
{
	/* What was kept of sessions and rows may be as they were. */
	x->s->sessions.n = 0;
	map_clear(&x->s->session_map);
	int rc = read_rows_begin(x->s, VIEW_PASS);
	if (rc == 0)
		rc = void_runs_of_processes(x);
	ids_sort(&x->void_sessions);
	if (rc == 0)
		rc = counts_resting_on(x->s, &x->void_sessions, &x->void_runs);
	ids_sort(&x->void_runs);
	for (size_t i = 0; rc == 0 && i < x->void_runs.n; i++)
		rc = counts_void(x->s, x->void_runs.v[i], x->err);
	if (rc == 0) {
		ids_sort(&x->met_runs);
		rc = count_new_runs(x);
	}
	read_rows_end(x->s);
	return rc == -ENOTRECOVERABLE ? err_set(x->err, 0, "the index is damaged: a run"), rc : rc;
}
