#include "cmd/bench/bench_show.h"

#include "cmd/bench/bench_row.h"
#include "cmd/ui/columns.h"
#include "query/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS_MAX 6 /* of what varies, in the table of --by-run; a terminal has room for no more */

/* ---- which runs ---- */

struct ids {
	store_id *v;
	size_t n;
};

/* Always 1, or -ENOMEM. */
static int append_run_once(struct ids *l, store_id id)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == id)
			return 1;
	store_id *v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	l->v = v;
	l->v[l->n++] = id;
	return 1;
}

/* The runs that wrote any version of the file, in the order of the versions. 0; -errno. Those that were there stay. */
static int writers(struct store *s, store_id file, struct ids *runs)
{
	struct version_info latest;
	struct edges e = {0};
	store_id version;
	int r = store_version_of(s, file, 0, &version);
	if (r > 0)
		r = store_version(s, version, &latest);
	uint64_t count = r > 0 ? latest.n : 0;
	for (uint64_t n = 1; r >= 0 && n <= count; n++) {
		struct exec_info x;
		r = store_version_of(s, file, n, &version);
		if (r > 0)
			r = store_gens(s, version, &e);
		for (size_t i = 0; r >= 0 && i < e.n; i++) {
			r = store_exec(s, e.v[i].to, &x);
			if (r > 0 && x.run)
				r = append_run_once(runs, x.run);
		}
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Adds the name of a file to the list, which ends with NULL. 0, -ENOMEM. */
static int append_file_name(struct bench_shown *x, const char *name)
{
	size_t n = 0;
	while (x->files && x->files[n])
		n++;
	char **v = realloc(x->files, (n + 2) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	x->files = v;
	v[n] = strdup(name);
	v[n + 1] = NULL;
	return v[n] ? 0 : -ENOMEM;
}

/* A run, a set of runs, or a file, whose writers are meant. 1; 0 or less with a sentence: -EINVAL: it is an execution;
 * -errno. */
static int find_named_runs(struct cmd *c, const char *text, bool only_file, struct bench_shown *x, struct ids *runs,
                           struct err *err)
{
	struct target t;
	size_t before = runs->n, n = 0;
	store_id *found = NULL;
	int r;
	bool set = !only_file && (!strncmp(text, "bench:", 6) || (strstr(text, "..") && access(text, F_OK) < 0));
	if (set) {
		r = witness_find(c->store, text, err, &found, &n);
		for (size_t i = 0; r > 0 && i < n; i++)
			r = append_run_once(runs, found[i]);
		free(found);
		return r;
	}
	r = target_any(c->store, text, only_file, err, &t);
	if (r <= 0)
		return r;
	if (t.kind == TARGET_EXEC)
		return (err_set(err, 0, "'%s' is an execution, neither a run nor a file", text), -EINVAL);
	if (t.kind == TARGET_RUN)
		return append_run_once(runs, t.id);
	r = writers(c->store, t.file.file, runs);
	if (r == 0 && runs->n == before)
		return err_set(err, 0, "no recorded run wrote '%s'", text), 0;
	if (r == 0)
		r = append_file_name(x, text);
	return r < 0 ? r : 1;
}

/* None named: the last benchmark. As find_named_runs. 1, 0, -errno with a sentence. */
static int find_operand_runs(struct cmd *c, struct bench_shown *x, struct ids *runs, struct err *err)
{
	int r = 1;
	for (int i = 1; r > 0 && i < c->n_operands; i++)
		r = find_named_runs(c, c->operands[i], i >= c->n_operands - c->n_after_dashes, x, runs, err);
	if (c->n_operands == 1)
		r = find_named_runs(c, "bench:", false, x, runs, err);
	return r;
}

/* ---- one run ---- */

double bench_show_cpu(struct store *s, store_id run, int64_t *ret_began)
{
	store_id *execs = NULL;
	size_t n = 0;
	uint64_t sum = 0;
	bool any = false;
	*ret_began = TIME_NONE;
	int r = store_run_execs(s, run, &execs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct exec_info e;
		r = store_exec(s, execs[i], &e);
		if (r > 0 && e.known & 1u << 1) {
			sum += e.cpu;
			any = true;
		}
		if (r > 0 && e.n && e.start != TIME_NONE && (*ret_began == TIME_NONE || e.start < *ret_began))
			*ret_began = e.start;
	}
	free(execs);
	return any ? (double)sum / 1e9 : NAN;
}

/* Appends the run, for which there is room. 0; -errno with a sentence. One that is not there is left out. */
static int load_shown_run(struct store *s, store_id id, const struct witness_options *o, struct bench_shown *x,
                          struct err *err)
{
	struct bench_show_run *run = &x->v[x->n], *r = run;
	struct run_info info;
	struct buf command = {0};
	int rc = store_run(s, id, &info);
	if (rc <= 0)
		return rc < 0 ? err_set(err, -rc, "cannot read the run") : 0;
	x->n++;
	fmt_argv(&command, &info.argv, false, 2000);
	r->ulid = strndup(info.ulid.p, info.ulid.n);
	r->host = strndup(info.host.p ? info.host.p : "", info.host.n);
	r->command = strdup(buf_cstr(&command));
	buf_release(&command);
	struct str word;
	r->argv = calloc(info.argv.count + 1, sizeof(*r->argv));
	for (size_t pos = 0; r->argv && r->argc < info.argv.count && strlist_next(&info.argv, &pos, &word); r->argc++)
		if (!(r->argv[r->argc] = strndup(word.p, word.n)))
			break;
	if (!r->argv || r->argc < info.argv.count)
		return err_set(err, ENOMEM, "cannot read the run");
	if (!r->ulid || !r->host || !r->command)
		return err_set(err, ENOMEM, "cannot read the run");
	r->start = info.start;
	r->ending = info.ending;
	r->code = info.code;
	int64_t began, end = info.end;
	r->cpu = bench_show_cpu(s, id, &began);
	began = began == TIME_NONE ? r->start : began;
	r->wall = end != TIME_NONE && began != TIME_NONE ? (double)(end - began) / 1e9 : NAN;
	return witness_runs(s, &id, 1, o, err, &r->w);
}

/* Order of qsort: by time, then by ULID. */
static int compare_by_start_and_ulid(const void *a, const void *b)
{
	const struct bench_show_run *x = a, *y = b;
	return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : strcmp(x->ulid, y->ulid);
}

/* Exited with status 0. A signal, and an end that is not known, are not. */
static bool ended_well(const struct bench_show_run *r)
{
	return r->ending == TERM_ending_exited && r->code == 0;
}

/* It may not be used afterwards. */
static void bench_show_release(struct bench_shown *x)
{
	for (size_t i = 0; i < x->n; i++) {
		free(x->v[i].ulid);
		free(x->v[i].command);
		free(x->v[i].host);
		for (size_t k = 0; k < x->v[i].argc; k++)
			free(x->v[i].argv[k]);
		free(x->v[i].argv);
		witness_release(&x->v[i].w);
	}
	free(x->v);
	for (size_t i = 0; x->files && x->files[i]; i++)
		free(x->files[i]);
	free(x->files);
	reach_release(&x->slices);
}

/* ---- what they have ---- */

/* Static. */
static const char *bench_show_part_word(enum bench_show_part p)
{
	static const char *const words[] = {"input", "program", "parameter", "result"};
	return words[p];
}

/* Part p of run i; x owns it. */
static const struct elements *elements_of_part(const struct bench_shown *x, size_t i, enum bench_show_part p)
{
	static const enum trust_part parts[] = {TRUST_INPUTS, TRUST_INVARIANTS, TRUST_PARAMETERS, TRUST_RESULTS};
	return &x->v[i].w.side.part[parts[p]];
}

/* Of the programs only binaries are shown. */
static bool is_element_of_part(enum bench_show_part p, const char *name)
{
	return p != SHOW_PROGRAMS || !strcmp(name, "binary") || !strncmp(name, "program.", 8);
}

const struct element *bench_show_find(const struct bench_shown *x, size_t i, enum bench_show_part p, const char *name)
{
	return elements_find(elements_of_part(x, i, p), str_of(name));
}

static int compare_element_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **bench_show_names(const struct bench_shown *x, enum bench_show_part p, size_t *ret_n)
{
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < x->n; i++)
		n += elements_of_part(x, i, p)->n;
	const char **v = calloc(n + 1, sizeof(*v));
	n = 0;
	for (size_t i = 0; v && i < x->n; i++)
		for (size_t k = 0; k < elements_of_part(x, i, p)->n; k++)
			if (is_element_of_part(p, elements_of_part(x, i, p)->v[k].name))
				v[n++] = elements_of_part(x, i, p)->v[k].name;
	if (v && n)
		qsort(v, n, sizeof(*v), compare_element_names);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(v[kept - 1], v[i]) != 0)
			v[kept++] = v[i];
	*ret_n = kept;
	return v;
}

/* Two that are not there agree; of those that are not known none does. */
static bool elements_agree(const struct element *a, const struct element *b)
{
	if (!a || !b || a->n != b->n || !a->unknown != !b->unknown)
		return a == b;
	for (size_t i = 0; i < a->n; i++)
		if (!value_same(a->value[i], b->value[i]))
			return false;
	/* Of two that are not known nobody can say that they are the same. */
	return !a->unknown;
}

/* Have all runs the same value of it? */
static bool bench_show_same(const struct bench_shown *x, enum bench_show_part p, const char *name)
{
	const struct element *first = bench_show_find(x, 0, p, name);
	for (size_t i = 0; i < x->n; i++)
		if (!elements_agree(first, bench_show_find(x, i, p, name)))
			return false;
	return first;
}

void bench_show_value(const struct element *e, struct buf *out)
{
	if (!e || (!e->n && !e->unknown)) {
		buf_char(out, '-');
		return;
	}
	if (!e->n) {
		buf_str(out, str_of("not known"));
		return;
	}
	for (size_t i = 0; i < e->n; i++) {
		struct str v = str_of(e->value[i]);
		bool digest = v.n > 24 && (str_starts(v, str_of("sha256:")) || str_starts(v, str_of("build-id:")));
		if (i)
			buf_str(out, str_of(", "));
		if (i == 3 && e->n > 4) {
			buf_printf(out, "… (%zu)", e->n);
			return;
		}
		fmt_name(out, digest ? str_n(v.p, 19) : v);
		buf_str(out, str_of(digest ? "…" : ""));
	}
}

void bench_show_values(const struct bench_shown *x, enum bench_show_part p, const char *name, struct buf *out)
{
	if (bench_show_same(x, p, name)) {
		bench_show_value(bench_show_find(x, 0, p, name), out);
		return;
	}
	unsigned shown = 0;
	for (size_t i = 0; i < x->n; i++) {
		const struct element *e = bench_show_find(x, i, p, name);
		size_t with = 0;
		bool first = true;
		for (size_t k = 0; k < x->n; k++)
			if (k == i || elements_agree(e, bench_show_find(x, k, p, name))) {
				first &= k >= i;
				with++;
			}
		if (!first)
			continue;
		if (shown++)
			buf_str(out, str_of(", "));
		if (shown == 6) {
			buf_str(out, str_of("…"));
			return;
		}
		bench_show_value(e, out);
		buf_printf(out, " (%zu run%s)", with, with == 1 ? "" : "s");
	}
}

void bench_show_title(const struct bench_shown *x, struct buf *out)
{
	size_t kinds = 0;
	for (size_t i = 0; i < x->n; i++) {
		bool first = true;
		for (size_t k = 0; k < i && first; k++)
			first = strcmp(x->v[k].command, x->v[i].command) != 0;
		kinds += first;
	}
	buf_printf(out, "%zu run%s of ", x->n, x->n == 1 ? "" : "s");
	if (kinds == 1)
		buf_str(out, str_of(x->v[0].command));
	else
		buf_printf(out, "%zu commands", kinds);
}

/* ---- the figures ---- */

/* Of the runs that succeeded, or of all of them. Without memory the row has no values. */
static void fill_shown_time_row(const struct bench_shown *x, bool cpu, struct bench_row *r)
{
	double *v = malloc((x->n + 1) * sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; v && i < x->n; i++)
		if (x->all || ended_well(&x->v[i]))
			v[n++] = cpu ? x->v[i].cpu : x->v[i].wall;
	bench_row_times(cpu ? "cpu time" : "wall time", v, n, r);
	free(v);
}

/* Values of all runs that count, one behind the other; values is released by the caller. */
static void result_row(const struct bench_shown *x, const char *name, struct elements *values, struct bench_row *r)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct element *e = bench_show_find(x, i, SHOW_RESULTS, name);
		for (size_t k = 0; e && k < e->n && (x->all || ended_well(&x->v[i])); k++)
			elements_add(values, str_of(name), str_of(e->value[k]));
	}
	static const struct element none = {.name = (char *)""};
	const struct element *e = elements_find(values, str_of(name));
	bench_row_values(e ? e : &none, x->counted, r);
	r->name = name;
	if (!e)
		r->text = "not known";
}

/* ---- text ---- */

/* A line with what the runs have for a name; the values are counted. */
static void print_common_element(struct bench_shown *x, enum bench_show_part p, const char *name)
{
	struct buf b = {0};
	const char *reach = p == SHOW_PARAMETERS ? reach_word(bench_reach(x, name)) : NULL;
	fmt_name(&b, str_of(name));
	buf_str(&b, str_of(": "));
	bench_show_values(x, p, name, &b);
	if (reach)
		buf_printf(&b, "  (%s reach the output)", reach);
	printf("%-9s  %s\n", bench_show_part_word(p), buf_cstr(&b));
	buf_release(&b);
}

/* What was run, and which files it wrote, if it is of those. */
static void print_show_title(const struct bench_shown *x)
{
	struct buf b = {0};
	bench_show_title(x, &b);
	for (size_t i = 0; x->files && x->files[i]; i++) {
		buf_str(&b, str_of(i ? ", " : " that wrote "));
		fmt_name(&b, str_of(x->files[i]));
	}
	printf("%s\n", buf_cstr(&b));
	buf_release(&b);
}

/* How many of the runs did not end well. */
static size_t failed(const struct bench_shown *x)
{
	size_t n = 0;
	for (size_t i = 0; i < x->n; i++)
		n += !ended_well(&x->v[i]);
	return n;
}

/* Prints all runs as one. Gives the exit status. */
static int together(struct bench_shown *x)
{
	struct bench_row r;
	print_show_title(x);
	bench_row_head();
	fill_shown_time_row(x, false, &r);
	bench_row_print(&r);
	fill_shown_time_row(x, true, &r);
	bench_row_print(&r);
	for (int p = SHOW_PARTS - 1; p >= 0; p--) {
		size_t n;
		const char **names = bench_show_names(x, (enum bench_show_part)p, &n);
		for (size_t i = 0; names && i < n; i++) {
			struct elements values = {0};
			if (p == SHOW_RESULTS)
				result_row(x, names[i], &values, &r);
			if (p == SHOW_RESULTS && (r.number || r.each))
				bench_row_print(&r);
			else
				print_common_element(x, (enum bench_show_part)p, names[i]);
			elements_release(&values);
		}
		free(names);
	}
	fflush(stdout);
	size_t bad = failed(x);
	if (bad)
		report("%zu of %zu runs failed%s", bad, x->n, x->all ? "" : ", and are not in the figures");
	return STATUS_OK;
}

/* What varies from run to run and has a column of its own, behind those that all tables have. */
#define COLUMNS_OWN 5
struct varied {
	const char *heads[COLUMNS_OWN + COLUMNS_MAX];
	char align[COLUMNS_OWN + 1 + COLUMNS_MAX];
	enum bench_show_part part[COLUMNS_MAX];
	size_t columns, more; /* more: for which there is no room */
	const char **names[SHOW_PARTS];
};

/* What is the same in all is said once; what varies has a column. */
static void sort_elements(struct bench_shown *x, struct varied *v)
{
	static const enum bench_show_part order[] = {SHOW_PARAMETERS, SHOW_RESULTS, SHOW_INPUTS, SHOW_PROGRAMS};
	for (size_t k = 0; k < SHOW_PARTS; k++) {
		size_t n;
		enum bench_show_part p = order[k];
		v->names[p] = bench_show_names(x, p, &n);
		for (size_t i = 0; v->names[p] && i < n; i++) {
			if (bench_show_same(x, p, v->names[p][i])) {
				print_common_element(x, p, v->names[p][i]);
			} else if (v->columns < COLUMNS_MAX) {
				v->part[v->columns] = p;
				v->align[COLUMNS_OWN + v->columns] = p == SHOW_PARAMETERS || p == SHOW_RESULTS ? 'r' : 'l';
				v->heads[COLUMNS_OWN + v->columns++] = v->names[p][i];
			} else {
				v->more++;
			}
		}
	}
}

/* Adds a time to the table. seconds: NAN where it is not known. */
static void add_time_cell(struct table *t, double seconds, struct buf *b)
{
	buf_reset(b);
	if (isnan(seconds))
		buf_char(b, '?');
	else
		fmt_duration(b, (uint64_t)(seconds * 1e9));
	table_cell(t, buf_view(b));
}

/* The row of run i. b: room. */
static void add_run_row(struct table *t, const struct bench_shown *x, size_t i, const struct varied *v, struct buf *b)
{
	const struct bench_show_run *r = &x->v[i];
	table_cell(t, fmt_run(str_of(r->ulid)));
	buf_reset(b);
	fmt_time(b, r->start, true);
	table_cell(t, buf_view(b));
	add_time_cell(t, r->wall, b);
	add_time_cell(t, r->cpu, b);
	buf_reset(b);
	fmt_ending(b, r->ending, r->code);
	table_cell(t, buf_view(b));
	for (size_t k = 0; k < v->columns; k++) {
		buf_reset(b);
		bench_show_value(bench_show_find(x, i, v->part[k], v->heads[COLUMNS_OWN + k]), b);
		table_cell(t, buf_view(b));
	}
}

/* Prints a line for each run with what varies between them. Gives the exit status. */
static int print_run_rows(const struct cmd *c, struct bench_shown *x)
{
	struct varied v = {.heads = {"RUN", "START", "WALL", "CPU", "EXIT"}, .align = "llrrl"};
	struct buf b = {0};
	print_show_title(x);
	sort_elements(x, &v);
	struct table t = {.heads = v.heads, .align = v.align, .n_columns = COLUMNS_OWN + v.columns};
	for (size_t i = 0; i < x->n; i++)
		add_run_row(&t, x, i, &v, &b);
	table_print(&t, &c->out, 0);
	fflush(stdout);
	if (v.more)
		report("%zu more values vary between runs: --json lists them", v.more);
	for (int p = 0; p < SHOW_PARTS; p++)
		free(v.names[p]);
	buf_release(&b);
	return STATUS_OK;
}

/* ---- JSON ---- */

/* The values of an element as a list. null: nothing is known of it. */
static json_t *element_json(const struct element *e)
{
	json_t *a = json_array();
	for (size_t i = 0; i < e->n; i++)
		js_add(a, js_string(str_of(e->value[i])));
	if (e->n || !e->unknown)
		return a;
	json_decref(a);
	return json_null();
}

/* The caller owns it. */
static json_t *shown_run_json(const struct bench_shown *x, size_t i)
{
	static const char *const keys[] = {"inputs", "programs", "parameters", "results"};
	const struct bench_show_run *run = &x->v[i];
	json_t *o = json_object();
	js_text(o, "id", run->ulid);
	js_text(o, "command", run->command);
	js_text(o, "host", run->host);
	js_time(o, "start", run->start);
	js_put(o, "wall_time", js_real(run->wall));
	js_put(o, "cpu_time", js_real(run->cpu));
	js_ending(o, "exit", run->ending, run->code);
	for (int p = 0; p < SHOW_PARTS; p++) {
		const struct elements *set = elements_of_part(x, i, (enum bench_show_part)p);
		json_t *part = json_object();
		for (size_t k = 0; k < set->n; k++)
			if (is_element_of_part((enum bench_show_part)p, set->v[k].name))
				js_put(part, set->v[k].name, element_json(&set->v[k]));
		js_put(o, keys[p], part);
	}
	return o;
}

/* The figures of each result, by name. */
static json_t *result_rows_json(const struct bench_shown *x)
{
	json_t *o = json_object();
	size_t n;
	const char **names = bench_show_names(x, SHOW_RESULTS, &n);
	for (size_t i = 0; names && i < n; i++) {
		struct elements values = {0};
		struct bench_row r;
		result_row(x, names[i], &values, &r);
		js_put(o, names[i], bench_row_json(&r));
		elements_release(&values);
	}
	free(names);
	return o;
}

/* What is not the same in all runs. */
static json_t *varied_json(const struct bench_shown *x)
{
	json_t *a = json_array();
	for (int p = 0; p < SHOW_PARTS; p++) {
		size_t n;
		const char **names = bench_show_names(x, (enum bench_show_part)p, &n);
		for (size_t i = 0; names && i < n; i++) {
			if (bench_show_same(x, (enum bench_show_part)p, names[i]))
				continue;
			json_t *one = json_object();
			js_text(one, "of", bench_show_part_word((enum bench_show_part)p));
			js_text(one, "name", names[i]);
			js_add(a, one);
		}
		free(names);
	}
	return a;
}

/* Prints it. Gives the exit status. */
static int as_json(struct bench_shown *x)
{
	json_t *o = json_object(), *runs = json_array();
	struct bench_row r;
	js_num(o, "format", 1);
	for (size_t i = 0; i < x->n; i++)
		js_add(runs, shown_run_json(x, i));
	js_put(o, "runs", runs);
	fill_shown_time_row(x, false, &r);
	js_put(o, "wall_time", bench_row_json(&r));
	fill_shown_time_row(x, true, &r);
	js_put(o, "cpu_time", bench_row_json(&r));
	js_put(o, "results", result_rows_json(x));
	js_put(o, "varied", varied_json(x));
	js_put(o, "reach", bench_reach_json(x));
	js_num(o, "failed", failed(x));
	return js_print(o, false);
}

/* ---- all ---- */

/* Reads the runs, in the order of their starts where they were found by a file, and counts those that ended well. 0 or
 * -errno. */
static int load_shown_runs(struct cmd *c, const struct ids *runs, struct bench_shown *x, struct err *err)
{
	char *index = NULL;
	if (store_places(cmd_home(c), err, NULL, &index) == 0 && strrchr(index, '/'))
		*strrchr(index, '/') = '\0';
	struct witness_options so = {.system_extra = config_get(&c->config, CONFIG_system),
	                             .cache = index ? digest_cache_open(index) : NULL};
	*err = (struct err){0};
	x->slices.home = store_home(c->store);
	x->v = calloc(runs->n + 1, sizeof(*x->v));
	int r = x->v ? 0 : err_set(err, ENOMEM, "cannot read the runs of the benchmark");
	for (size_t i = 0; r == 0 && i < runs->n; i++)
		r = load_shown_run(c->store, runs->v[i], &so, x, err);
	digest_cache_close(so.cache);
	free(index);
	if (x->files && r == 0) /* versions of a file that grew are in no order of their writers */
		qsort(x->v, x->n, sizeof(*x->v), compare_by_start_and_ulid);
	for (size_t i = 0; i < x->n; i++)
		x->counted += ended_well(&x->v[i]);
	x->all = !x->counted;
	x->counted = x->all ? x->n : x->counted;
	return r;
}

/* Prints a benchmark. As the options ask for it. The exit status. */
static int print_shown(struct cmd *c, const struct opts_bench *o, struct bench_shown *x)
{
	if (o->json)
		return as_json(x);
	if (!o->dot)
		return o->by_run ? print_run_rows(c, x) : together(x);
	bench_dot(x, o->by_run);
	return STATUS_OK;
}

/* Was an option given that is of making runs, and not of showing them? */
static bool has_run_options(const struct opts_bench *o)
{
	return o->runs || o->warmup || o->file || o->label.n || o->no_digest || o->keep_inputs || o->output || o->witness;
}

/* Gives the exit status. */
int bench_show(struct cmd *c, const struct opts_bench *o)
{
	struct err err = {0};
	struct bench_shown x = {0};
	struct ids runs = {0};
	if (has_run_options(o))
		return report_usage(c, "show takes --by-run, --dot, --json and --no-index only");
	if (o->json && o->dot)
		return report_usage(c, "--json or --dot, not both");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	int r = find_operand_runs(c, &x, &runs, &err);
	if (r <= 0)
		status = report_err(&err, r == -EINVAL ? STATUS_USAGE : cmd_target_status(r));
	else if (load_shown_runs(c, &runs, &x, &err) < 0 || !x.n)
		status = report_err(&err, STATUS_SELF);
	else
		status = print_shown(c, o, &x);
	bench_show_release(&x);
	free(runs.v);
	return status;
}
