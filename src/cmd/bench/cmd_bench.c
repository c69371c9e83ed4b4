/* stemma bench: repeat a benchmark, keep its results, and say how sure they are. */
#include "base/ulid.h"
#include "cmd/bench/bench_history.h"
#include "cmd/bench/bench_once.h"
#include "cmd/bench/bench_plan.h"
#include "cmd/bench/bench_row.h"
#include "cmd/bench/bench_show.h"
#include "cmd/options.h"
#include "cmd/ui/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_FILE "stemma-bench.toml"
#define NOISE 0.05  /* of a processor: more than that taken by others is told */
#define SPREAD 0.05 /* of the median: quartiles further apart are told */

struct bench {
	struct cmd *c;
	const struct opts_bench *o;
	struct run_trust t;
	char id[ULID_LEN + 1];
	char *home, *index;
	char *no_home;
	const char **labels;
	const char *file; /* the benchmark file; NULL none */
	struct bench_plan plan;
	uint64_t runs, warmup;
	struct bench_once *once;
	size_t n;
	size_t counted;                  /* runs that the table is of */
	bool all;                        /* though they failed: none ended well */
	struct elements values, missing; /* of those */
	int stopped;                     /* by this signal; 0: not */
	int hopeless;                    /* the status that says that the command cannot be run; 0: it can */
	bool progress;
};

/* On the error output; nothing without a terminal. done: of b->runs. */
static void draw_progress_bar(const struct bench *b, uint64_t done, const char *what)
{
	enum { WIDTH = 30 };
	char bar[WIDTH + 1];
	uint64_t full = b->runs ? done * WIDTH / b->runs : 0;
	if (!b->progress)
		return;
	for (unsigned i = 0; i < WIDTH; i++)
		bar[i] = i < full ? '#' : '.';
	bar[WIDTH] = '\0';
	fprintf(stderr, "\r%s [%s] %llu/%llu\033[K", what, bar, (unsigned long long)done, (unsigned long long)b->runs);
	fflush(stderr);
}

/* Clears the bar's line. */
static void end_progress(const struct bench *b)
{
	if (b->progress)
		fprintf(stderr, "\r\033[K");
}

/* What a shell, and the recorder, answer where a command cannot be run: it will not be better next time. */
static bool cannot_run(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126);
}

/* Is there to be another one, after `done` of `all`? */
static bool goes_on(const struct bench *b, uint64_t done, uint64_t all)
{
	return done < all && !bench_stopped() && !b->hopeless;
}

/* Runs that are not recorded. 0 or -errno. */
static int warm_up(struct bench *b, struct err *err)
{
	int rc = 0;
	for (uint64_t i = 0; rc == 0 && goes_on(b, i, b->warmup); i++) {
		struct bench_once o;
		draw_progress_bar(b, 0, "warm-up");
		rc = bench_once(&b->t, b->home, b->index, b->no_home, b->labels, false, false, err, &o);
		b->hopeless = rc == 0 && cannot_run(o.status) ? WEXITSTATUS(o.status) : 0;
		bench_once_release(&o);
	}
	return rc;
}

/* The runs that count. 0 or -errno. */
static int run_repetitions(struct bench *b, struct err *err)
{
	for (uint64_t i = 0; goes_on(b, i, b->runs); i++) {
		struct bench_once *o = &b->once[b->n];
		draw_progress_bar(b, i, "running");
		int rc = bench_once(&b->t, b->home, b->index, b->no_home, b->labels, true, b->o->output, err, o);
		bench_plan_repetition(&b->plan, o);
		if (rc < 0 || bench_stopped()) {
			bench_once_release(o); /* what was cut off is no run of the benchmark */
			return rc;
		}
		b->n++;
		b->hopeless = cannot_run(o->status) ? WEXITSTATUS(o->status) : 0;
	}
	return 0;
}

/* Warms up and runs all repetitions. 0, also if the user stopped it (b->stopped); else the exit status, the error told.
 * */
static int repeat(struct bench *b)
{
	struct err err = {0};
	bench_plan_begin(&b->plan, &b->t, b->runs, b->warmup, b->file, b->index);
	bench_stop_begin();
	int rc = warm_up(b, &err);
	if (rc == 0)
		rc = run_repetitions(b, &err);
	bench_plan_end(&b->plan);
	b->stopped = bench_stop_end();
	end_progress(b);
	return rc < 0 && !b->stopped ? report_err(&err, STATUS_SELF) : 0;
}

/* The table is of the runs that ended well; where none did, of all. */
static void collect_values(struct bench *b)
{
	for (size_t i = 0; i < b->n; i++)
		b->counted += b->once[i].status == 0;
	b->all = !b->counted;
	b->counted = b->all ? b->n : b->counted;
	for (size_t i = 0; i < b->n; i++) {
		const struct bench_once *o = &b->once[i];
		for (size_t k = 0; k < o->n_results && (b->all || o->status == 0); k++) {
			for (size_t e = 0; e < o->results[k].values.n; e++) {
				const struct element *x = &o->results[k].values.v[e];
				for (size_t v = 0; v < x->n; v++)
					elements_add(&b->values, str_of(x->name), str_of(x->value[v]));
			}
			for (size_t e = 0; e < o->results[k].missing.n; e++)
				elements_add(&b->missing, str_of(o->results[k].missing.v[e].name),
				             str_of(o->results[k].missing.v[e].value[0]));
		}
	}
}

/* ---- what came out ---- */

/* Of the runs that succeeded, or of all of them. Without memory the row has no values. */
static void fill_time_row(const struct bench *b, bool cpu, struct bench_row *r)
{
	double *v = malloc((b->n + 1) * sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; v && i < b->n; i++)
		if (b->all || b->once[i].status == 0)
			v[n++] = cpu ? b->once[i].cpu : b->once[i].wall;
	bench_row_times(cpu ? "cpu time" : "wall time", v, n, r);
	free(v);
}

/* How many of the runs had another status than 0. */
static size_t failures(const struct bench *b)
{
	size_t failed = 0;
	for (size_t i = 0; i < b->n; i++)
		failed += b->once[i].status != 0;
	return failed;
}

/* How much other programs disturbed a run, as a share of its time: by processor time (stolen: by that of other
 * virtual machines). *ret_runs: in how many runs it was more than NOISE. The worst of the runs. */
static double noise(const struct bench *b, bool stolen, size_t *ret_runs)
{
	double worst = 0;
	*ret_runs = 0;
	for (size_t i = 0; i < b->n; i++) {
		double v = stolen ? b->once[i].stolen : b->once[i].others;
		*ret_runs += v > NOISE;
		worst = v > worst ? v : worst;
	}
	return worst;
}

/* On the error output: what makes the times doubtful, results that are missing, and failed runs. */
static void report_noise(const struct bench *b, const struct bench_row *wall)
{
	size_t runs;
	double worst = noise(b, false, &runs);
	if (runs)
		report("the machine was noisy: in %zu of %zu runs other processes used more than %.0f %% of a processor, at "
		       "most %.0f %%",
		       runs, b->n, NOISE * 100, worst * 100);
	worst = noise(b, true, &runs);
	if (runs)
		report("the hypervisor took processor time in %zu of %zu runs, at most %.0f %%", runs, b->n, worst * 100);
	if (wall->number && wall->n > 2 && wall->high - wall->low > SPREAD * wall->median)
		report("the times vary: half of the runs differ by more than %.0f %% of the median",
		       (wall->high - wall->low) / wall->median * 100);
	for (size_t i = 0; i < b->missing.n; i++)
		report("no value of '%s' in %zu of %zu runs: %s", b->missing.v[i].name, b->missing.v[i].n, b->counted,
		       b->missing.v[i].value[0]);
	size_t bad = failures(b);
	if (bad)
		report("%zu of %zu runs failed%s", bad, b->n, b->all ? "" : ", and are not in the table");
}

/* The table of all figures, and then the remarks on noise. */
static void print_bench_text(const struct bench *b)
{
	struct bench_row r, wall;
	struct buf cmd = {0};
	for (size_t i = 0; b->t.argv[i]; i++) {
		if (i)
			buf_char(&cmd, ' ');
		fmt_arg(&cmd, str_of(b->t.argv[i]));
	}
	printf("bench:%s  %zu run%s of %s\n", b->id + ULID_LEN - 8, b->n, str_plural(b->n), buf_cstr(&cmd));
	bench_row_head();
	fill_time_row(b, false, &wall);
	bench_row_print(&wall);
	fill_time_row(b, true, &r);
	bench_row_print(&r);
	for (size_t i = 0; i < b->values.n; i++) {
		bench_row_values(&b->values.v[i], b->counted, &r);
		bench_row_print(&r);
	}
	buf_release(&cmd);
	fflush(stdout);
	report_noise(b, &wall);
}

/* Gives the exit status. Figures that are not known are null. */
static int print_bench_json(const struct bench *b)
{
	json_t *o = json_object(), *runs = json_array(), *results = json_object(), *missing = json_object();
	struct bench_row r, wall;
	js_num(o, "format", 1);
	js_text(o, "bench", b->id);
	for (size_t i = 0; i < b->n; i++) {
		const struct bench_once *x = &b->once[i];
		json_t *run = json_object();
		js_put(run, "id", *x->run ? json_string(x->run) : json_null());
		js_put(run, "wall_time", json_real(x->wall));
		js_put(run, "cpu_time", json_real(x->cpu));
		js_put(run, "others", x->others < 0 ? json_null() : json_real(x->others));
		js_put(run, "stolen", x->stolen < 0 ? json_null() : json_real(x->stolen));
		js_ending(run, "exit", WIFSIGNALED(x->status) ? TERM_ending_signaled : TERM_ending_exited,
		          (uint64_t)(WIFSIGNALED(x->status) ? WTERMSIG(x->status) : WEXITSTATUS(x->status)));
		js_add(runs, run);
	}
	js_put(o, "runs", runs);
	fill_time_row(b, false, &wall);
	js_put(o, "wall_time", bench_row_json(&wall));
	fill_time_row(b, true, &r);
	js_put(o, "cpu_time", bench_row_json(&r));
	for (size_t i = 0; i < b->values.n; i++) {
		bench_row_values(&b->values.v[i], b->counted, &r);
		js_put(results, b->values.v[i].name, bench_row_json(&r));
	}
	js_put(o, "results", results);
	for (size_t i = 0; i < b->missing.n; i++)
		js_text(missing, b->missing.v[i].name, b->missing.v[i].value[0]);
	js_put(o, "missing", missing);
	size_t noisy, stolen;
	noise(b, false, &noisy);
	noise(b, true, &stolen);
	js_num(o, "noisy", noisy);
	js_num(o, "stolen", stolen);
	js_num(o, "failed", failures(b));
	js_bool(o, "interrupted", b->stopped);
	return js_print(o, false);
}

/* ---- all ---- */

/* The file that was named, else DEFAULT_FILE, if it is there; without results what is printed is guessed at. 0, or a
 * status, reported. */
static int load_file(struct bench *b)
{
	struct err err = {0};
	const char *path = b->o->file ? b->o->file : access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE : NULL;
	int rc = path ? benchfile_load(path, &err, &b->t.file) : 0;
	if (rc < 0)
		return report_err(&err, STATUS_USAGE);
	b->file = path;
	if (b->t.file.n_results)
		return 0;
	/* Nothing is declared: what it prints is guessed at. */
	b->t.file.result = calloc(1, sizeof(*b->t.file.result));
	if (b->t.file.result && (b->t.file.result->from = strdup("stdout")))
		b->t.file.n_results = 1;
	return 0;
}

/* What is run, with which labels and how often, as the options and the file say. 0 or an exit status, which was said.
 */
static int choose_command(struct bench *b)
{
	const struct opts_bench *o = b->o;
	b->t.argv = b->c->n_operands > 1 ? b->c->operands + 1 : b->t.file.command;
	if (!b->t.argv || !*b->t.argv)
		return report_usage(b->c, "no command to run");
	for (size_t i = 0; i < o->label.n; i++)
		if (!strchr(o->label.v[i], '='))
			return report_usage(b->c, "label '%s' is not KEY=VALUE", o->label.v[i]);
	b->runs = o->runs ? o->runs : b->t.file.runs ? b->t.file.runs : 10;
	b->warmup = o->warmup ? o->warmup : b->t.file.warmup;
	return b->runs > 100000 ? report_usage(b->c, "more than 100000 runs") : 0;
}

/* The labels of all its runs: the two that it makes itself, which are kept in label, and those that were given. False:
 * no memory, or no random bytes for the id. */
static bool make_labels(struct bench *b, char **label)
{
	const struct opts_bench *o = b->o;
	b->labels = calloc(o->label.n + 3, sizeof(*b->labels));
	if (!b->labels || ulid_new(b->id) < 0 || asprintf(&label[0], "bench=%s", b->id) < 0)
		return false;
	size_t n = 0;
	b->labels[n++] = label[0];
	if (b->t.file.name && asprintf(&label[1], "benchmark=%s", b->t.file.name) > 0)
		b->labels[n++] = label[1];
	for (size_t i = 0; i < o->label.n; i++)
		b->labels[n++] = o->label.v[i];
	return true;
}

/* Places, labels, the plan. label: two texts that b->labels points to, the caller's. 0, or a status, reported. */
static int prepare_bench(struct bench *b, char **label)
{
	struct err err = {0};
	int rc = choose_command(b);
	if (rc != 0)
		return rc;
	b->once = calloc(b->runs, sizeof(*b->once));
	if (!b->once || !make_labels(b, label))
		return report_err(&err, STATUS_SELF);
	if (store_places(cmd_home(b->c), &err, &b->home, &b->index) < 0)
		b->no_home = strdup(err.text);
	b->plan = (struct bench_plan){.home = b->home, .id = b->id, .witness = b->o->witness};
	return 0;
}

/* Prints what there is, and answers for it. 128 and the signal where it was stopped; STATUS_NOTHING where a run failed.
 * */
static int report_outcome(struct bench *b)
{
	int rc = STATUS_OK;
	collect_values(b);
	if (b->o->json)
		rc = print_bench_json(b);
	else if (b->n)
		print_bench_text(b);
	if (b->hopeless)
		report("the command cannot be run (status %d): it was not repeated", b->hopeless);
	if (b->stopped) {
		struct buf name = {0};
		fmt_ending(&name, TERM_ending_signaled, (uint64_t)b->stopped);
		report("stopped by %s after %zu of %llu runs", buf_cstr(&name), b->n, (unsigned long long)b->runs);
		buf_release(&name);
		return 128 + b->stopped;
	}
	return rc == STATUS_OK && (failures(b) || b->hopeless) ? STATUS_NOTHING : rc;
}

/* Gives the exit status: that of show and history, or of the runs. */
int cmd_bench(struct cmd *c, const struct opts_bench *o)
{
	struct bench b = {.c = c,
	                  .o = o,
	                  .t = {.machine = true,
	                        .digest = !o->no_digest,
	                        .keep = o->keep_inputs,
	                        .system_extra = config_get(&c->config, CONFIG_system)},
	                  .progress = isatty(STDERR_FILENO) && !o->json};
	char *label[2] = {NULL, NULL};
	const char *what = c->n_operands ? c->operands[0] : "";
	if (!strcmp(what, "show"))
		return bench_show(c, o);
	if (!strcmp(what, "history"))
		return bench_history(c, o);
	if (strcmp(what, "run") != 0)
		return report_usage(c, "use run, show or history");
	if (o->by_run || o->dot || o->no_index)
		return report_usage(c, "--by-run, --dot and --no-index go with show and history");
	int rc = load_file(&b);
	if (rc == 0)
		rc = prepare_bench(&b, label);
	if (rc == 0)
		rc = repeat(&b);
	if (rc == 0)
		rc = report_outcome(&b);
	for (size_t i = 0; i < b.n; i++)
		bench_once_release(&b.once[i]);
	elements_release(&b.values);
	elements_release(&b.missing);
	benchfile_release(&b.t.file);
	free(b.once);
	free(b.labels);
	free(label[0]);
	free(label[1]);
	free(b.home);
	free(b.index);
	free(b.no_home);
	return rc;
}
