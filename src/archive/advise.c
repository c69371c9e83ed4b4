#include "archive/advise.h"

#include "archive/inputs.h"
#include "summary/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column { COL_memory, COL_wall, COL_disk, COL_written, COL_cores, COL_cores_peak, COLUMNS };
static const unsigned char columns[COLUMNS] = {
    [COL_memory] = FIGURE_memory_resident_peak, [COL_wall] = FIGURE_wall_time, [COL_disk] = FIGURE_disk_footprint_peak,
    [COL_written] = FIGURE_bytes_written,       [COL_cores] = FIGURE_cores,    [COL_cores_peak] = FIGURE_cores_peak,
};

/* Static. */
const char *advice_name(enum advice_resource r)
{
	static const char *const words[ADVICE_RESOURCES] = {"memory", "wall", "disk", "cores"};
	return words[r];
}

/* ---- tasks like it ---- */

struct likeness {
	struct buf program, program_of;
};

/* 1, 0, -ENOMEM. Is m's program that of arg, a struct likeness? */
static int runs_same_program(void *arg, const struct summary_info *m)
{
	struct likeness *l = arg;
	buf_reset(&l->program_of);
	task_program(&m->argv, &l->program_of);
	return l->program_of.failed ? -ENOMEM : str_eq(buf_view(&l->program), buf_view(&l->program_of));
}

/* Keeps the tasks of the groups whose part'th value is that. */
static size_t count_like(struct history *h, unsigned part, const char *value, bool keep)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		const char *v = h->group[h->v[i].group];
		for (unsigned k = 0; k < part; k++)
			v += strlen(v) + 1;
		if (strcmp(v, value) != 0)
			continue;
		if (keep)
			h->v[n] = h->v[i];
		n++;
	}
	if (keep)
		h->n = n;
	return n;
}

int advise_history(struct store *s, const struct strlist *argv, const struct advice_options *o,
                   const unsigned char *figures, size_t n_figures, bool input, struct err *err, struct history *ret,
                   enum task_key *ret_key, char **ret_like)
{
	static const struct key by[] = {{.key = TASK_shape}, {.key = TASK_command}, {.key = TASK_program}};
	struct likeness like = {0};
	struct buf value[3] = {0};
	task_layout(argv, &value[0]);
	task_command(argv, &value[1]);
	task_program(argv, &value[2]);
	buf_str(&like.program, buf_view(&value[2]));
	struct history_options ho = {.figures = figures,
	                             .n_figures = n_figures,
	                             .where = o->where,
	                             .by = by,
	                             .n_by = 3,
	                             .input = input,
	                             .system_extra = o->system_extra,
	                             .only = runs_same_program,
	                             .arg = &like};
	int rc = history_load(s, &ho, err, ret);
	unsigned part = 0;
	while (rc == 0 && part < 2 && count_like(ret, part, buf_cstr(&value[part]), false) < ADVICE_FEW)
		part++;
	if (rc == 0) {
		count_like(ret, part, buf_cstr(&value[part]), true);
		*ret_key = by[part].key;
		*ret_like = strdup(buf_cstr(&value[part]));
		rc = *ret_like ? 0 : err_set(err, ENOMEM, "cannot read the summaries");
	}
	for (unsigned i = 0; i < 3; i++)
		buf_release(&value[i]);
	buf_release(&like.program);
	buf_release(&like.program_of);
	return rc;
}

/* ---- one resource ---- */

/* The first column that at least half of the tasks have whole, the second if neither. */
static enum column column_of(const struct history *h, enum advice_resource r)
{
	static const enum column choice[ADVICE_RESOURCES][2] = {[ADVICE_memory] = {COL_memory, COL_memory},
	                                                        [ADVICE_wall] = {COL_wall, COL_wall},
	                                                        [ADVICE_disk] = {COL_disk, COL_written},
	                                                        [ADVICE_cores] = {COL_cores, COL_cores}};
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++)
		n += h->v[i].figure[choice[r][0]].known && h->v[i].figure[choice[r][0]].complete;
	return choice[r][2 * n < h->n];
}

/* The method that was asked for, if it can answer; else the one that wastes least of those that fail seldom enough;
 * METHOD_maximum where nothing can be told. */
static int choose_method(const struct advice_options *o, struct advised *a)
{
	double retries = o->retries > 0 ? o->retries : 0.05, best = -1;
	size_t most = 0;
	if (o->method >= 0)
		return a->answered[o->method] ? o->method : METHOD_maximum;
	for (int m = 0; m < METHODS; m++)
		most = a->test[m].tasks > most ? a->test[m].tasks : most;
	int chosen = METHOD_maximum;
	for (int m = 0; m < METHODS; m++) {
		const struct backtest *b = &a->test[m];
		if (!a->answered[m] || b->tasks < ADVICE_FEW || 2 * b->tasks < most || !(b->allocated > 0) ||
		    (double)b->failed > retries * (double)b->tasks)
			continue;
		if (b->used / b->allocated > best) {
			best = b->used / b->allocated;
			chosen = m;
		}
	}
	return chosen;
}

/* Order of qsort: the least first. */
static int compare_doubles(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;
	return (a > b) - (a < b);
}

/* Sorts v. n is at least 1. */
static double median_of(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* What is known of the tasks' needs, in order of time. */
static size_t collect_needs(const struct history *h, enum advice_resource r, enum column c, bool failed_count,
                            double *needs, struct sizing_task *v, struct advised *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct task *t = &h->v[i];
		const struct history_figure *f = &t->figure[c], *wall = &t->figure[COL_wall];
		/* Between two samples there may have been more than over the whole time; a short task has no two. */
		const struct history_figure *peak = &t->figure[r == ADVICE_cores ? COL_cores_peak : c];
		if (!f->known) {
			ret->absent++;
			continue;
		}
		ret->bounded += f->bounded;
		bool censored = t->end == TASK_CUT || (t->end == TASK_FAILED && !failed_count) || !f->complete;
		double time = wall->known && wall->value > 0 ? (double)wall->value / 1e9 : 1e-9;
		v[n] = (struct sizing_task){.need = (double)(peak->known && peak->high > f->high ? peak->high : f->high),
		                            .time = r == ADVICE_wall ? 1 : time,
		                            .input = t->input >= 0 ? t->input : SIZING_NO_INPUT,
		                            .censored = censored};
		needs[n] = v[n].need;
		n++;
	}
	return n;
}

/* The task that needed most was stopped at a limit, and none that was not stopped needed as much. */
static bool most_was_cut(const struct sizing_task *v, size_t n)
{
	double most = 0, enough = 0;
	for (size_t i = 0; i < n; i++) {
		most = v[i].need > most ? v[i].need : most;
		enough = !v[i].censored && v[i].need > enough ? v[i].need : enough;
	}
	return enough < most;
}

/* Asks all methods for a task with that input (bytes; less than 0: not known), and chooses. 0, -ENOMEM. */
static int ask_all_methods(const struct advice_options *o, struct sizing *s, double input, struct advised *ret)
{
	int rc = sizing_fit(s);
	bool open = false;
	for (int m = 0; rc == 0 && m < METHODS; m++)
		ret->answered[m] = sizing_ask(s, (enum method)m, input, &ret->answer[m], &open);
	if (rc < 0)
		return rc;
	ret->censored = sizing_censored(s);
	ret->most = sizing_most(s);
	ret->line = sizing_line(s, &ret->offset, &ret->slope, &ret->r2);
	sizing_ask(s, METHOD_quantile, input, &ret->answer[METHOD_quantile], &open);
	ret->method = (enum method)choose_method(o, ret);
	ret->known = ret->answered[ret->method];
	ret->value = ret->answer[ret->method];
	ret->open = ret->method == METHOD_quantile && open;
	return 0;
}

/* One resource. failed_count: what failed tasks needed counts, too. ret->known is false where there are no tasks. 0,
 * -ENOMEM. */
static int advise_one(const struct history *h, enum advice_resource r, const struct advice_options *o,
                      bool failed_count, double input, struct advised *ret)
{
	enum column c = column_of(h, r);
	double q = o->quantile > 0 ? o->quantile : 0.99, *needs = calloc(h->n + 1, sizeof(*needs));
	struct sizing_task *v = calloc(h->n + 1, sizeof(*v));
	struct sizing *s = sizing_new(q);
	struct advice_options own = *o;
	int rc = needs && v && s ? 0 : -ENOMEM;
	ret->figure = columns[c];
	if (rc == 0)
		ret->tasks = collect_needs(h, r, c, failed_count, needs, v, ret);
	for (size_t i = 0; rc == 0 && i < ret->tasks; i++)
		rc = sizing_add(s, &v[i]);
	if (rc == 0 && r != ADVICE_cores && ret->tasks > ADVICE_FEW)
		rc = backtest_run(v, ret->tasks, ADVICE_FEW, q, ret->test);
	if (r == ADVICE_cores)
		own.method = METHOD_quantile;
	if (rc == 0 && ret->tasks) {
		ret->median = median_of(needs, ret->tasks);
		rc = ask_all_methods(&own, s, input, ret);
		/* Where who had the most was stopped there, a fifth more was never seen to be enough either. */
		if (ret->method == METHOD_maximum && most_was_cut(v, ret->tasks))
			ret->open = true;
	}
	sizing_free(s);
	free(needs);
	free(v);
	return rc;
}

/* ---- all ---- */

/* *ret lies in raw, which is the caller's. 1; 0: the command is not recorded; -errno; both with a sentence. */
static int get_command(struct store *s, store_id run, struct buf *raw, struct strlist *ret, struct err *err)
{
	struct run_info r;
	int rc = store_run(s, run, &r);
	if (rc == 1 && !r.argv.count) {
		err_set(err, 0, "the run's command is not recorded");
		return 0;
	}
	if (rc != 1)
		return rc < 0 ? err_set(err, -rc, "cannot read the run") : err_set(err, ENOENT, "cannot read the run");
	buf_str(raw, r.argv.raw);
	*ret = (struct strlist){.count = r.argv.count, .raw = buf_view(raw)};
	return raw->failed ? err_set(err, ENOMEM, "cannot read the run") : 1;
}

/* Sets ret to the arguments as the log has lists. Its bytes are raw's: valid until raw changes. raw should be empty
 * before. */
static void encode_argv(char *const *argv, struct buf *raw, struct strlist *ret)
{
	size_t n = 0;
	for (; argv[n]; n++) {
		buf_varint(raw, strlen(argv[n]));
		buf_str(raw, str_of(argv[n]));
	}
	*ret = (struct strlist){.count = n, .raw = buf_view(raw)};
}

/* The history's input is that of the files named in commands where the command to come is all that is known: of it
 * nothing else can be looked at. *ret: bytes, less than 0 where they are not known. 0, -errno. */
static int find_input(struct store *s, const struct advice_options *o, char *const *argv, store_id run,
                      struct history *h, double *ret)
{
	double named;
	*ret = o->input;
	if (o->input >= 0)
		return 0;
	if (!argv) {
		struct input_cache *c = input_cache_new(o->system_extra);
		int rc = c ? input_of_run(s, c, run, ret, &named) : -ENOMEM;
		input_cache_free(c);
		return rc;
	}
	int rc = input_of_command(s, argv, &named);
	if (rc == 0 && named > 0) {
		*ret = named;
		for (size_t i = 0; i < h->n; i++)
			h->v[i].input = h->v[i].named;
	}
	return rc;
}

int advise_task(struct store *s, const struct advice_options *o, char *const *argv, store_id run, struct err *err,
                struct advice *ret)
{
	struct buf raw = {0};
	struct strlist command;
	struct history h = {0};
	size_t whole = 0;
	int rc = 1;
	*ret = (struct advice){.input = -1};
	if (argv)
		encode_argv(argv, &raw, &command);
	else
		rc = get_command(s, run, &raw, &command, err);
	if (rc > 0)
		rc = advise_history(s, &command, o, columns, COLUMNS, true, err, &h, &ret->key, &ret->like);
	else
		goto out;
	if (rc == 0 && !h.n) {
		err_set(err, 0, "no task like '%s' has been measured", ret->like);
		err_hint(err,
		         "measure a command with stemma run --summary FILE, or add summaries with stemma archive --submit");
		goto out;
	}
	if (rc == 0 && (rc = find_input(s, o, argv, run, &h, &ret->input)) < 0)
		err_set(err, -rc, "cannot read the record");
	for (size_t i = 0; rc == 0 && i < h.n; i++) {
		ret->cut += h.v[i].end == TASK_CUT;
		ret->failed += h.v[i].end == TASK_FAILED;
		whole += h.v[i].end == TASK_WHOLE || h.v[i].end == TASK_UNKNOWN;
		ret->with_input += h.v[i].input >= 0;
	}
	ret->tasks = h.n;
	if (rc == 0) {
		ret->first = h.v[0].start;
		ret->last = h.v[h.n - 1].start;
	}
	for (int r = 0; rc == 0 && r < ADVICE_RESOURCES; r++)
		if ((rc = advise_one(&h, (enum advice_resource)r, o, !whole, ret->input, &ret->of[r])) < 0)
			err_set(err, -rc, "cannot compute the request from the recorded tasks");
	rc = rc < 0 ? rc : 1;
out:
	history_release(&h);
	buf_release(&raw);
	if (rc <= 0)
		advice_release(ret);
	return rc;
}

/* Only what it holds itself. */
void advice_release(struct advice *a)
{
	free(a->like);
	a->like = NULL;
}
