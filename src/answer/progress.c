#include "answer/progress.h"

#include "answer/entities.h"
#include "answer/live.h"
#include "base/fileid.h"
#include "base/os/procfs.h"
#include "base/vec.h"
#include "event/event.h"

#include <stdlib.h>

/* ---- processes ---- */

/* What processes use together; a figure that one of them does not tell is not known. */
struct usage {
	uint64_t processes, threads, resident, cpu, read, written;
	bool cut; /* there are more */
};

static void add_known(uint64_t *sum, uint64_t v)
{
	*sum = *sum == PROCFS_UNKNOWN || v == PROCFS_UNKNOWN ? PROCFS_UNKNOWN : *sum + v;
}

struct walk {
	struct usage *u;
	VEC(pid_t) left; /* to be looked at */
};

static void add_child(void *arg, pid_t child)
{
	struct walk *w = arg;
	if (w->left.n + w->u->processes >= PROGRESS_PROCESSES || !vec_room(&w->left, 1)) {
		w->u->cut = true;
		return;
	}
	w->left.v[w->left.n++] = child;
}

/* A process, and what it has waited for. One that has gone meanwhile counts for nothing. */
static void add_process(struct usage *u, pid_t pid)
{
	struct procfs p;
	procfs_clear(&p);
	if (procfs_stat(pid, &p) < 0 || p.state == 'Z')
		return;
	procfs_io(pid, false, &p);
	u->processes++;
	add_known(&u->threads, p.threads);
	add_known(&u->resident, p.resident);
	add_known(&u->cpu, p.user);
	add_known(&u->cpu, p.system);
	add_known(&u->cpu, p.waited_cpu);
	add_known(&u->read, p.io_whole ? p.rchar : PROCFS_UNKNOWN);
	add_known(&u->written, p.io_whole ? p.wchar : PROCFS_UNKNOWN);
}

/* All below the recorder. False: out of memory, or the kernel does not tell who is whose child. */
static bool walk_processes(pid_t recorder, struct usage *ret)
{
	struct walk w = {.u = ret};
	*ret = (struct usage){0};
	bool ok = procfs_children(recorder, false, add_child, &w) == 0;
	while (ok && w.left.n) {
		const pid_t pid = w.left.v[--w.left.n];
		add_process(ret, pid);
		procfs_children(pid, false, add_child, &w);
	}
	vec_release(&w.left);
	return ok;
}

/* The recorder of a run: the parent of its first program, if that is still the process that was recorded. 0: not found.
 */
static pid_t find_recorder(struct store *s, store_id first)
{
	const uint64_t tick = 20000000; /* ns: what /proc tells is this exact */
	struct exec_info x;
	struct procfs p;
	procfs_clear(&p);
	if (store_exec(s, first, &x) <= 0 || !str_is(x.boot, host_boot_id()) || procfs_stat((pid_t)x.pid, &p) < 0)
		return 0;
	const uint64_t started = (uint64_t)x.started;
	return p.started + tick > started && p.started < started + tick && p.ppid > 1 ? p.ppid : 0;
}

static void put_known(json_t *o, const char *key, uint64_t v)
{
	if (v != PROCFS_UNKNOWN)
		js_num(o, key, v);
}

static void put_usage(json_t *o, const struct usage *u)
{
	json_t *now = json_object();
	js_num(now, "processes", u->processes);
	put_known(now, "threads", u->threads);
	put_known(now, "memory_resident", u->resident);
	if (u->cpu != PROCFS_UNKNOWN)
		js_put(now, "cpu_time", js_real((double)(u->cpu / 1000000) / 1000));
	put_known(now, "bytes_read", u->read);
	put_known(now, "bytes_written", u->written);
	js_bool(now, "complete", !u->cut);
	js_put(o, "now", now);
}

/* ---- runs ---- */

/* What a run that goes on has done so far, and does now. 0 or -errno. */
static int add_going(const struct answer_source *a, store_id run, json_t *o)
{
	store_id *execs = NULL;
	size_t n = 0;
	uint64_t used = 0, made = 0;
	struct usage u;
	int rc = store_run_execs(a->store, run, &execs, &n);
	if (rc == 0)
		rc = store_run_data(a->store, run, a->system_extra, &used, &made);
	if (rc == 0) {
		js_num(o, "executions", n);
		js_num(o, "outputs", made);
		const pid_t recorder = n ? find_recorder(a->store, execs[0]) : 0;
		if (recorder && walk_processes(recorder, &u) && u.processes)
			put_usage(o, &u);
	}
	free(execs);
	return rc < 0 ? rc : 0;
}

/* 0 or -errno. */
static int add_run(const struct answer_source *a, store_id id, json_t *list)
{
	struct run_info run;
	int rc = store_run_told(a->store, id, &run);
	if (rc <= 0)
		return rc;
	json_t *o = json_object();
	js_str(o, "id", run.ulid);
	js_time(o, "start", run.start);
	js_time(o, "end", run.end);
	js_ending(o, "exit", run.ending, run.code);
	const enum recording state = live_recording(a->store, a->live, &run);
	js_text(o, "recording", live_word(state));
	rc = state == RECORDING_RUNNING ? add_going(a, id, o) : 0;
	js_add(list, o);
	return rc;
}

int progress_json(const struct answer_source *a, json_t **ret)
{
	store_id *ids = NULL;
	size_t n = 0;
	json_t *o = json_object(), *list = json_array();
	int rc = store_runs(a->store, PROGRESS_RUNS, &ids, &n);
	js_num(o, "format", 1);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = add_run(a, ids[i], list);
	js_put(o, "runs", list);
	free(ids);
	if (rc < 0)
		json_decref(o);
	else
		*ret = o;
	return rc < 0 ? rc : 0;
}
