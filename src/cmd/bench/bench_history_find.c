/* bench_history_find.c - the benchmarks that are one benchmark's history: those that its benchmark file calls the same,
 * or that have the same command. */
#include "base/vec.h"
#include "cmd/bench/bench_history.h"
#include "cmd/bench/bench_show.h"
#include "cmd/ui/columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value of the run's label, to be freed; NULL: it has none, or no memory. */
static char *label_of(const struct run_info *run, const char *key)
{
	struct str label;
	size_t n = strlen(key);
	for (size_t pos = 0; strlist_next(&run->labels, &pos, &label);)
		if (label.n > n && !memcmp(label.p, key, n) && label.p[n] == '=')
			return strndup(label.p + n + 1, label.n - n - 1);
	return NULL;
}

/* By what runs belong to one benchmark: its name, or the command; malloc'ed. NULL: no memory. */
static char *run_title(const struct run_info *run)
{
	struct buf command = {0};
	char *name = label_of(run, "benchmark");
	if (name)
		return name;
	fmt_argv(&command, &run->argv, false, 2000);
	char *ret = command.failed ? NULL : strdup(buf_cstr(&command));
	buf_release(&command);
	return ret;
}

/* Finds or adds a benchmark by its id. NULL: no memory. */
static struct past_bench *bench_at(struct past *p, const char *id)
{
	for (size_t i = p->n; i-- > 0;)
		if (!strcmp(p->v[i].id, id))
			return &p->v[i];
	if (!vec_has_room(p->v, p->n, p->cap))
		return NULL;
	struct past_bench *b = &p->v[p->n];
	*b = (struct past_bench){.id = strdup(id), .start = TIME_NONE};
	if (!b->id)
		return NULL;
	p->n++;
	return b;
}

/* Adds a run to a benchmark. wall: seconds, NAN not known. 0, -ENOMEM. */
static int append_past_run(struct past_bench *b, const struct run_info *run, double wall)
{
	store_id *runs = realloc(b->runs, (b->n + 1) * sizeof(*runs));
	b->runs = runs ? runs : b->runs;
	double *times = realloc(b->wall, (b->n + 1) * sizeof(*times));
	b->wall = times ? times : b->wall;
	if (!runs || !times)
		return -ENOMEM;
	if (b->start == TIME_NONE)
		b->start = run->start;
	b->runs[b->n] = run->id;
	b->wall[b->n++] = wall;
	return 0;
}

/* The run, if it is one of the benchmark's and ended well. 0, also where it is none; -errno. */
static int take_past_run(struct store *s, store_id id, struct past *p)
{
	struct run_info run;
	int rc = store_run_told(s, id, &run);
	if (rc != 1 || run.ending != TERM_ending_exited || run.code)
		return rc < 0 ? rc : 0;
	char *bench = label_of(&run, "bench"), *title = bench ? run_title(&run) : NULL;
	rc = bench && !title ? -ENOMEM : 0;
	if (rc == 0 && title && !strcmp(title, p->title)) {
		int64_t began, start = run.start, end = run.end;
		bench_show_cpu(s, id, &began);
		began = began == TIME_NONE ? start : began;
		struct past_bench *b = bench_at(p, bench);
		double wall = end != TIME_NONE && began != TIME_NONE ? (double)(end - began) / 1e9 : NAN;
		rc = b ? append_past_run(b, &(struct run_info){.id = id, .start = start}, wall) : -ENOMEM;
	}
	free(bench);
	free(title);
	return rc;
}

/* Order of qsort: by time, then by id. */
static int compare_benches(const void *pa, const void *pb)
{
	const struct past_bench *a = pa, *b = pb;
	return a->start != b->start ? (a->start > b->start) - (a->start < b->start) : strcmp(a->id, b->id);
}

/* Releases what a benchmark owns. */
static void release_bench(struct past_bench *b)
{
	free(b->id);
	free(b->runs);
	free(b->wall);
	witness_release(&b->w);
}

/* The latest ones only, if there are too many. */
static void keep_latest(struct past *p)
{
	if (p->n <= CHANGES_GROUPS)
		return;
	size_t drop = p->n - CHANGES_GROUPS;
	report("of %zu benchmarks the latest %d are taken", p->n, CHANGES_GROUPS);
	for (size_t i = 0; i < drop; i++)
		release_bench(&p->v[i]);
	memmove(p->v, p->v + drop, CHANGES_GROUPS * sizeof(*p->v));
	p->n = CHANGES_GROUPS;
}

/* In order of time. 0, -errno. */
static int gather_past(struct store *s, struct past *p)
{
	store_id *all = NULL;
	size_t n = 0;
	int rc = store_runs(s, 0, &all, &n); /* the latest first */
	rc = rc < 0 ? rc : 0;
	for (size_t i = n; rc == 0 && i-- > 0;)
		rc = take_past_run(s, all[i], p);
	free(all);
	if (rc == 0 && p->n)
		qsort(p->v, p->n, sizeof(*p->v), compare_benches);
	return rc;
}

/* Reads what the runs of each benchmark had in common: programs, libraries, machine. 0; -errno with a sentence. */
static int read_witnesses(struct cmd *c, struct past *p, struct err *err)
{
	char *index = NULL;
	struct err ignored = {0};
	if (store_places(cmd_home(c), &ignored, NULL, &index) == 0 && strrchr(index, '/'))
		*strrchr(index, '/') = '\0';
	struct witness_options o = {.system_extra = config_get(&c->config, CONFIG_system),
	                            .cache = index ? digest_cache_open(index) : NULL};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->n; i++)
		rc = witness_runs(c->store, p->v[i].runs, p->v[i].n, &o, err, &p->v[i].w);
	digest_cache_close(o.cache);
	free(index);
	return rc;
}

int past_find(struct cmd *c, const char *word, struct past *ret)
{
	struct err err = {0};
	struct run_info run;
	store_id *ids = NULL;
	size_t n = 0;
	*ret = (struct past){0};
	int rc = strncmp(word, "bench:", 6) != 0 ? (err_set(&err, 0, "'%s' is not a benchmark: bench:ID", word), -EINVAL)
	                                         : witness_find(c->store, word, &err, &ids, &n);
	if (rc > 0)
		rc = store_run_told(c->store, ids[0], &run);
	if (rc > 0 && !(ret->title = run_title(&run)))
		rc = err_set(&err, ENOMEM, "cannot read the runs of the benchmark");
	free(ids);
	if (rc <= 0)
		return report_err(&err, rc == -EINVAL ? STATUS_USAGE : cmd_target_status(rc));
	rc = gather_past(c->store, ret);
	if (rc < 0)
		err_set(&err, -rc, "cannot read the earlier benchmarks");
	keep_latest(ret);
	if (rc == 0)
		rc = read_witnesses(c, ret, &err);
	return rc < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* p is empty then. */
void past_release(struct past *p)
{
	for (size_t i = 0; i < p->n; i++)
		release_bench(&p->v[i]);
	free(p->v);
	free(p->title);
	*p = (struct past){0};
}
