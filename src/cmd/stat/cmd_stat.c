/* stemma stat: input and output of a run, an execution or a file, by call, by execution, by file. */
#include "cmd/stat/stat_when.h"
#include "keep/write.h"
#include "query/target.h"
#include "query/when.h"

#include <errno.h>
#include <stdlib.h>

/* What nobody saw in the run of an execution may have been of this file, too. */
static int add_unobserved(struct stat_sums *w, store_id exec, struct idmap *runs)
{
	struct exec_info x;
	struct run_info info;
	bool is_new = false;
	int r = store_exec(w->c->store, exec, &x);
	if (r <= 0 || !x.run)
		return r;
	if (!idmap_add(runs, x.run, 0, &is_new))
		return -ENOMEM;
	r = is_new ? store_run(w->c->store, x.run, &info) : 0;
	if (r > 0)
		w->unseen |= stat_unobserved(info.gaps);
	return r;
}

/* All executions that read or made one of the versions. */
static int count_file(struct stat_sums *w, const struct file_target *t)
{
	struct store *s = w->c->store;
	struct file_info f;
	struct edges e = {0};
	struct idmap done = {0}, runs = {0};
	int r = store_file(s, t->file, &f);
	uint64_t first = t->n ? t->n : 1, last = t->n ? t->n : r > 0 ? f.versions : 0;
	w->file = t->file;
	for (uint64_t k = first; k <= last && r >= 0; k++) {
		store_id v = 0;
		r = store_version_of(s, t->file, k, &v);
		if (r > 0 && t->n)
			w->version = v;
		for (unsigned way = 0; way < STAT_WAYS && r >= 0 && v; way++) {
			r = way == STAT_READ ? store_readers(s, v, &e) : store_gens(s, v, &e);
			for (size_t i = 0; i < e.n && r >= 0; i++) {
				bool is_new = false;
				r = idmap_add(&done, e.v[i].to, 0, &is_new) ? 0 : -1;
				if (r >= 0 && is_new)
					r = add_unobserved(w, e.v[i].to, &runs);
				if (r >= 0 && is_new)
					r = stat_count(w, e.v[i].to);
			}
		}
	}
	edges_release(&e);
	idmap_release(&done);
	idmap_release(&runs);
	return r;
}

static int stat_count_run(struct stat_sums *w, store_id run)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct run_info info;
	int r = store_run(w->c->store, run, &info);
	w->unseen = r > 0 ? stat_unobserved(info.gaps) : 0;
	if (r >= 0)
		r = store_run_execs(w->c->store, run, &execs, &n);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = stat_count(w, execs[i]);
	free(execs);
	return r;
}

static int check_stat_options(struct cmd *c, const struct opts_stat *o, struct stat_when *when)
{
	if (c->n_operands != 1)
		return report_usage(c, "stat needs one run, file or execution");
	if (o->json && o->tsv)
		return report_usage(c, "one of --json and --tsv");
	if (o->at && (o->tsv || o->sizes || o->times))
		return report_usage(c, "--at stands without --tsv, --sizes and --times");
	*when = (struct stat_when){.has_at = o->at != NULL};
	if (o->at && when_parse(o->at, keep_now(), &when->at) < 0)
		return report_usage(c, "'%s' is no time", o->at);
	return STATUS_OK;
}

static int count_target(struct stat_sums *w, const struct target *t)
{
	switch (t->kind) {
	case TARGET_RUN:
		return stat_count_run(w, t->id);
	case TARGET_EXEC:
		return stat_count(w, t->id);
	default:
		return count_file(w, &t->file);
	}
}

/* What --tsv has not printed row by row. */
static int print_stat(struct stat_sums *w, const struct opts_stat *o, struct stat_when *when, int *ret_status)
{
	struct cmd *c = w->c;
	if (o->at)
		return *ret_status = stat_at(c, o, when, c->operands[0]);
	if (o->tsv)
		return 0;
	return o->json ? stat_json(w, o, when, ret_status) : stat_text(w, o, when, c->operands[0]);
}

int cmd_stat(struct cmd *c, const struct opts_stat *o)
{
	struct err err = {0};
	struct target t;
	struct stat_when when;
	int status = check_stat_options(c, o, &when);
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	int r = target_any(c->store, c->operands[0], c->n_after_dashes > 0, &err, &t);
	if (r <= 0)
		return report_err(&err, cmd_target_status(r));

	bool of_objects = o->hdf5 && !o->tsv && !o->json && !o->at;
	struct stat_sums w = {.c = c, .all = o->all, .objects = o->hdf5};
	if (o->tsv)
		w.say = stat_tsv_row, w.arg = c;
	else if (o->at || o->times)
		w.say = stat_when_row, w.arg = &when;
	if (o->tsv)
		stat_tsv_head();
	r = store_view_begin(c->store, VIEW_PASS);
	r = r < 0 ? r : count_target(&w, &t);
	r = r < 0 ? r : stat_finish(&w);
	if (r >= 0)
		r = print_stat(&w, o, &when, &status);
	if (r >= 0 && of_objects && t.kind == TARGET_RUN)
		r = stat_parts(c, o, t.id);
	store_view_end(c->store);
	if (r >= 0 && of_objects && !w.files.n)
		report("no objects of HDF5 files are recorded of it: stemma run --hdf5 does, of programs that have HDF5 as a "
		       "shared "
		       "library");
	if (r < 0) {
		report("cannot count");
		status = STATUS_SELF;
	}
	stat_when_release(&when);
	stat_release(&w);
	return status;
}
