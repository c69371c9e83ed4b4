/* stemma stat: input and output of a run, an execution or a file, by call, by execution, by file. */
#include "cmd/stat/stat_view.h"
#include "cmd/ui/js_print.h"
#include "keep/write.h"
#include "query/find/when.h"

/* What cannot be meant, and --at. A status, reported. */
static int check_stat_options(struct cmd *c, const struct opts_stat *o, struct stat_when *when)
{
	if (c->n_operands != 1)
		return report_usage(c, "stat needs one run, file or execution");
	if (o->json && o->tsv)
		return report_usage(c, "one of --json and --tsv");
	if (o->at && (o->tsv || o->sizes || o->times))
		return report_usage(c, "--at cannot be combined with --tsv, --sizes or --times");
	*when = (struct stat_when){.has_at = o->at != NULL};
	if (o->at && when_parse(o->at, keep_now(), &when->at) < 0)
		return report_usage(c, "--at: '%s' is not a time such as 2h or 2026-01-31T14:00", o->at);
	return STATUS_OK;
}

/* What --tsv has not printed row by row. The status, or -errno. */
static int print_stat(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o, struct stat_when *when)
{
	const char *of = c->operands[0];
	json_t *all = NULL;
	int r = 0;
	if (o->at) {
		stat_when_sort(when);
		r = o->json ? stat_at_json(c->store, when, &all) : stat_print_at(c, o, when, of);
	} else if (!o->tsv) {
		r = o->json ? stat_json(w, o->count, o->times ? when : NULL, &all) : stat_print(c, w, o, when, of);
	}
	if (r >= 0 && all)
		r = js_print(all, false);
	return r != 0 || !o->at || when->n ? r : STATUS_NOTHING;
}

/* What the tables of objects are followed by. 0 or -errno. */
static int print_objects(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o, const struct target *t)
{
	int r = t->kind == TARGET_RUN ? stat_print_parts(c, o, t->id) : 0;
	if (r >= 0 && !w->files.n)
		report("no HDF5 objects are recorded: use stemma run --hdf5 with programs that use HDF5 as a shared library");
	return r;
}

/* Counts and prints. The status, or -errno. */
static int count_and_print(struct cmd *c, const struct opts_stat *o, const struct target *t, struct stat_when *when)
{
	struct stat_sums w = {.source = cmd_source(c), .all = o->all, .objects = o->hdf5};
	w.most = o->json ? o->count : stat_lines(o);
	if (o->tsv)
		w.say = stat_tsv_row, w.arg = c;
	else if (o->at || o->times)
		w.say = stat_when_row, w.arg = when;
	if (o->tsv)
		stat_tsv_head();
	int r = store_view_begin(c->store, VIEW_PASS);
	r = r < 0 ? r : stat_count_target(&w, t);
	r = r < 0 ? r : print_stat(c, &w, o, when);
	if (r >= 0 && o->hdf5 && !o->tsv && !o->json && !o->at)
		r = print_objects(c, &w, o, t);
	store_view_end(c->store);
	stat_release(&w);
	return r;
}

/* Gives the exit status. */
int cmd_stat(struct cmd *c, const struct opts_stat *o)
{
	struct target t;
	struct stat_when when;
	int status = check_stat_options(c, o, &when);
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	status = cmd_target(c, c->operands[0], c->n_after_dashes > 0, &t);
	if (status != STATUS_OK)
		return status;
	int r = count_and_print(c, o, &t, &when);
	if (r < 0)
		cmd_report_unread(c->store, "add up the bytes and calls");
	stat_when_release(&when);
	return r < 0 ? STATUS_SELF : r;
}
