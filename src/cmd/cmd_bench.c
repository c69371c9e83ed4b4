/* stemma bench: repeat a benchmark, keep its results, and say how sure they are. */
#include "base/ulid.h"
#include "cmd/bench_once.h"
#include "cmd/fmt.h"
#include "cmd/js.h"
#include "cmd/options.h"

#include <errno.h>
#include <math.h>
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
	uint64_t runs, warmup;
	struct bench_once *once;
	size_t n;
	struct elements values, missing; /* of all runs */
	bool progress;
};

static int double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Between the order statistics around (n - 1) q. v is sorted. */
static double quantile(const double *v, size_t n, double q)
{
	double at = (double)(n - 1) * q;
	size_t i = (size_t)at;
	return i + 1 < n ? v[i] + (v[i + 1] - v[i]) * (at - (double)i) : v[n - 1];
}

static void show_progress(const struct bench *b, uint64_t done, const char *what)
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

static void end_progress(const struct bench *b)
{
	if (b->progress)
		fprintf(stderr, "\r\033[K");
}

static int repeat(struct bench *b)
{
	struct err err = {0};
	int rc = 0;
	for (uint64_t i = 0; rc == 0 && i < b->warmup; i++) {
		struct bench_once o;
		show_progress(b, 0, "warm-up");
		rc = bench_once(&b->t, b->home, b->index, b->no_home, b->labels, false, false, &err, &o);
		bench_once_release(&o);
	}
	for (uint64_t i = 0; rc == 0 && i < b->runs; i++) {
		struct bench_once *o = &b->once[b->n];
		show_progress(b, i, "running");
		rc = bench_once(&b->t, b->home, b->index, b->no_home, b->labels, true, b->o->output, &err, o);
		if (rc < 0)
			break;
		b->n++;
		for (size_t k = 0; k < o->n_results; k++) {
			for (size_t e = 0; e < o->results[k].values.n; e++) {
				const struct element *x = &o->results[k].values.v[e];
				for (size_t v = 0; v < x->n; v++)
					elements_add(&b->values, str_of(x->name), str_of(x->value[v]));
			}
			for (size_t e = 0; e < o->results[k].missing.n; e++)
				elements_add(&b->missing, str_of(o->results[k].missing.v[e].name),
				             str_of(o->results[k].missing.v[e].value[0]));
		}
		/* A command that cannot be started is not tried ten times. */
		if (i == 0 && WIFEXITED(o->status) && (WEXITSTATUS(o->status) == 127 || WEXITSTATUS(o->status) == 126) &&
		    !o->cpu)
			break;
	}
	end_progress(b);
	return rc < 0 ? say_err(&err, rc == -EINTR ? 130 : STATUS_SELF) : 0;
}

/* ---- what came out ---- */

struct row {
	const char *name;
	bool number, time; /* time: in s */
	size_t n;
	bool same;
	const char *text; /* of one value */
	size_t each;      /* values a run, where that is a list; else 0 */
	double median, low, high, min, max;
};

static void settle_row(double *v, size_t n, struct row *r)
{
	qsort(v, n, sizeof(*v), double_cmp);
	r->number = true;
	r->n = n;
	r->median = quantile(v, n, 0.5);
	r->low = quantile(v, n, 0.25);
	r->high = quantile(v, n, 0.75);
	r->min = v[0];
	r->max = v[n - 1];
	r->same = v[0] == v[n - 1];
}

static bool row_of(const struct element *x, size_t runs, struct row *r)
{
	size_t each = runs && x->n % runs == 0 ? x->n / runs : 0;
	if (each > 1) { /* a list from each run */
		*r = (struct row){.name = x->name, .n = runs, .same = true, .each = each};
		for (size_t i = each; i < x->n; i++)
			r->same &= value_same(x->value[i], x->value[i % each]);
		return true;
	}
	double *v = malloc((x->n + 1) * sizeof(*v));
	bool numbers = v != NULL && x->n;
	*r = (struct row){.name = x->name, .n = x->n, .same = true, .text = x->n ? x->value[0] : ""};
	for (size_t i = 0; i < x->n; i++) {
		r->same &= value_same(x->value[i], x->value[0]);
		numbers = numbers && value_number(x->value[i], &v[i]);
	}
	if (numbers) {
		bool same = r->same;
		settle_row(v, x->n, r);
		r->same = same;
	}
	free(v);
	return true;
}

static void time_row(const struct bench *b, bool cpu, struct row *r)
{
	double *v = malloc((b->n + 1) * sizeof(*v));
	*r = (struct row){.name = cpu ? "cpu time" : "wall time", .time = true};
	for (size_t i = 0; v && i < b->n; i++)
		v[i] = cpu ? b->once[i].cpu : b->once[i].wall;
	if (v && b->n)
		settle_row(v, b->n, r);
	free(v);
}

static size_t failures(const struct bench *b)
{
	size_t failed = 0;
	for (size_t i = 0; i < b->n; i++)
		failed += b->once[i].status != 0;
	return failed;
}

/* The worst of the runs. */
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

static void put_number(struct buf *b, const struct row *r, double v)
{
	if (r->time)
		fmt_duration(b, (uint64_t)(v * 1e9));
	else
		buf_printf(b, "%.6g", v);
}

static void print_row(const struct row *r)
{
	struct buf name = {0}, text = {0};
	fmt_name(&name, str_of(r->name));
	if (r->each) {
		printf("%-20s  %zu values a run%s\n", buf_cstr(&name), r->each,
		       r->same ? ", the same in all" : "  (they differ from run to run)");
	} else if (!r->number) {
		fmt_name(&text, str_of(r->text));
		printf("%-20s  %s%s\n", buf_cstr(&name), buf_cstr(&text), r->same ? "" : "  (differs from run to run)");
	} else {
		put_number(&text, r, r->median);
		printf("%-20s  %-12s", buf_cstr(&name), buf_cstr(&text));
		buf_reset(&text);
		if (r->same) {
			if (r->n > 1)
				buf_printf(&text, "the same %zu times", r->n);
			else
				buf_str(&text, str_of("once"));
		} else {
			put_number(&text, r, r->low);
			buf_str(&text, str_of(" … "));
			put_number(&text, r, r->high);
			buf_str(&text, str_of("  ("));
			put_number(&text, r, r->min);
			buf_str(&text, str_of(" … "));
			put_number(&text, r, r->max);
			buf_char(&text, ')');
		}
		printf("  %s\n", buf_cstr(&text));
	}
	buf_release(&name);
	buf_release(&text);
}

static void warn(const struct bench *b, const struct row *wall)
{
	size_t runs;
	double worst = noise(b, false, &runs);
	if (runs)
		say("the machine was noisy: in %zu of %zu runs others took more than %.0f %% of a processor, %.0f %% at worst",
		    runs, b->n, NOISE * 100, worst * 100);
	worst = noise(b, true, &runs);
	if (runs)
		say("a hypervisor took processors away in %zu of %zu runs, %.0f %% at worst", runs, b->n, worst * 100);
	if (wall->number && wall->n > 2 && wall->high - wall->low > SPREAD * wall->median)
		say("the times spread: half of the runs differ by more than %.0f %% of the median",
		    (wall->high - wall->low) / wall->median * 100);
	for (size_t i = 0; i < b->missing.n; i++)
		say("no value of '%s' in %zu of %zu runs: %s", b->missing.v[i].name, b->missing.v[i].n, b->n,
		    b->missing.v[i].value[0]);
	size_t bad = failures(b);
	if (bad)
		say("%zu of %zu runs failed", bad, b->n);
}

static void print_text(const struct bench *b)
{
	struct row r, wall;
	struct buf cmd = {0};
	for (size_t i = 0; b->t.argv[i]; i++) {
		if (i)
			buf_char(&cmd, ' ');
		fmt_arg(&cmd, str_of(b->t.argv[i]));
	}
	printf("bench:%s  %zu runs of %s\n", b->id + ULID_LEN - 8, b->n, buf_cstr(&cmd));
	printf("%-20s  %-12s  quartiles  (least … most)\n", "", "median");
	time_row(b, false, &wall);
	print_row(&wall);
	time_row(b, true, &r);
	print_row(&r);
	for (size_t i = 0; i < b->values.n; i++)
		if (row_of(&b->values.v[i], b->n, &r))
			print_row(&r);
	buf_release(&cmd);
	fflush(stdout);
	warn(b, &wall);
}

static json_t *row_json(const struct row *r)
{
	json_t *o = json_object();
	js_num(o, "n", r->n);
	js_bool(o, "same", r->same);
	if (r->number) {
		js_put(o, "median", json_real(r->median));
		js_put(o, "q1", json_real(r->low));
		js_put(o, "q3", json_real(r->high));
		js_put(o, "min", json_real(r->min));
		js_put(o, "max", json_real(r->max));
	} else if (r->each) {
		js_num(o, "values", r->each);
	} else {
		js_text(o, "value", r->text);
	}
	return o;
}

static int print_json(const struct bench *b)
{
	json_t *o = json_object(), *runs = json_array(), *results = json_object(), *missing = json_object();
	struct row r, wall;
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
	time_row(b, false, &wall);
	js_put(o, "wall_time", row_json(&wall));
	time_row(b, true, &r);
	js_put(o, "cpu_time", row_json(&r));
	for (size_t i = 0; i < b->values.n; i++)
		if (row_of(&b->values.v[i], b->n, &r))
			js_put(results, b->values.v[i].name, row_json(&r));
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
	return js_print(o, false);
}

/* ---- all ---- */

static int load_file(struct bench *b)
{
	struct err err = {0};
	const char *path = b->o->file ? b->o->file : access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE : NULL;
	int rc = path ? benchfile_load(path, &err, &b->t.file) : 0;
	if (rc < 0)
		return say_err(&err, STATUS_USAGE);
	if (b->t.file.n_results)
		return 0;
	/* Nothing is declared: what it prints is guessed at. */
	b->t.file.result = calloc(1, sizeof(*b->t.file.result));
	if (b->t.file.result && (b->t.file.result->from = strdup("stdout")))
		b->t.file.n_results = 1;
	return 0;
}

static int prepare(struct bench *b, char **label)
{
	const struct opts_bench *o = b->o;
	struct err err = {0};
	if (b->c->n_operands > 1)
		b->t.argv = b->c->operands + 1;
	else
		b->t.argv = b->t.file.command;
	if (!b->t.argv || !*b->t.argv)
		return say_usage(b->c, "no command to run");
	for (size_t i = 0; i < o->label.n; i++)
		if (!strchr(o->label.v[i], '='))
			return say_usage(b->c, "label '%s' is not KEY=VALUE", o->label.v[i]);
	b->runs = o->runs ? o->runs : b->t.file.runs ? b->t.file.runs : 10;
	b->warmup = o->warmup ? o->warmup : b->t.file.warmup;
	if (b->runs > 100000)
		return say_usage(b->c, "more than 100000 runs");
	b->once = calloc(b->runs, sizeof(*b->once));
	b->labels = calloc(o->label.n + 3, sizeof(*b->labels));
	if (!b->once || !b->labels || ulid_new(b->id) < 0 || asprintf(&label[0], "bench=%s", b->id) < 0)
		return say_err(&err, STATUS_SELF);
	size_t n = 0;
	b->labels[n++] = label[0];
	if (b->t.file.name && asprintf(&label[1], "benchmark=%s", b->t.file.name) > 0)
		b->labels[n++] = label[1];
	for (size_t i = 0; i < o->label.n; i++)
		b->labels[n++] = o->label.v[i];
	if (store_places(cmd_home(b->c), &err, &b->home, &b->index) < 0)
		b->no_home = strdup(err.text);
	return 0;
}

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
	if (c->n_operands == 0 || strcmp(c->operands[0], "run") != 0)
		return say_usage(c, "what is to be done: run");
	int rc = load_file(&b);
	if (rc == 0)
		rc = prepare(&b, label);
	if (rc == 0)
		rc = repeat(&b);
	if (rc == 0) {
		rc = o->json ? print_json(&b) : (print_text(&b), STATUS_OK);
		if (rc == STATUS_OK && failures(&b))
			rc = STATUS_NOTHING;
	}
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
