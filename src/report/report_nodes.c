/* report_nodes.c - the tables of files, executions, runs and stages. */
#include "answer/peers.h"
#include "answer/show/show.h"
#include "query/fold.h"
#include "report/report_int.h"

#include <errno.h>
#include <string.h>

#define US 1000

/* ns as a time of the page. In us from the page's base; REPORT_UNKNOWN: it is not known. */
static int64_t report_time(const struct report *r, int64_t ns)
{
	if (ns == TIME_NONE || ns == TIME_NEVER)
		return REPORT_UNKNOWN;
	int64_t d = (int64_t)((uint64_t)ns - (uint64_t)r->base);
	return d / US - (d % US < 0);
}

int64_t report_span(int64_t from, int64_t to)
{
	if (to == TIME_NEVER)
		return -1;
	return from == TIME_NONE || to == TIME_NONE || to < from ? REPORT_UNKNOWN : (to - from) / US;
}

/* INT64_MAX at most. */
static int64_t known_number(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* ---- files ---- */

/* Folder and name apart, since many files share a folder. Without a slash there is no folder. */
static void fill_path(struct report *r, struct str path)
{
	struct report_table *t = &r->t[REPORT_FILE];
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	size_t dir = slash ? (size_t)(slash - path.p) : 0;
	if (slash)
		report_table_set(t, REPORT_file_dir, report_words_text(&r->words, str_n(path.p, dir)));
	struct str base = slash ? str_n(slash + 1, path.n - dir - 1) : path;
	report_table_set(t, REPORT_file_base, report_words_text_if(&r->words, base));
}

/* By the number of its node. -errno, or 0. */
static int fill_file_notes(struct report *r, const struct version_info *v, uint32_t number)
{
	char key[16];
	json_t *o = json_object();
	int rc = notes_json(r->a->store, o, NOTES_FILE, v->file, v->n);
	json_t *notes = json_object_get(o, "notes");
	if (notes) {
		snprintf(key, sizeof(key), "%u", number);
		json_object_set(r->node_notes, key, notes);
	}
	json_decref(o);
	return rc;
}

/* Fills in the row of a file. -ENOENT: it is not in the record; -errno, or 0. */
static int fill_file(struct report *r, const struct report_node *node)
{
	struct report_table *t = &r->t[REPORT_FILE];
	struct version_info v;
	struct file_info f;
	int rc = store_version(r->a->store, node->id, &v);
	if (rc > 0)
		rc = store_file(r->a->store, v.file, &f);
	if (rc <= 0)
		return rc < 0 ? rc : -ENOENT;
	report_table_add(t);
	fill_path(r, f.path);
	report_table_set(t, REPORT_file_n, known_number(v.n));
	report_table_set(t, REPORT_file_kind, known_number(f.kind));
	if (v.has_size)
		report_table_set(t, REPORT_file_size, known_number(v.size));
	report_table_set(t, REPORT_file_end, v.end == TIME_NEVER ? -1 : report_time(r, v.end));
	report_table_set(t, REPORT_file_mtime, report_time(r, v.mtime));
	report_table_set(t, REPORT_file_origin, v.origin);
	report_table_set(t, REPORT_file_current, version_is_current(&v, &f));
	if (f.kind != TERM_kind_absent) {
		report_table_set(t, REPORT_file_domain, report_words_text_if(&r->words, f.domain));
		report_table_set(t, REPORT_file_ino, known_number(f.ino));
		report_table_set(t, REPORT_file_gen, known_number(f.gen));
	}
	rc = fill_file_notes(r, &v, node->number);
	if (rc == 0)
		rc = peer_is_unobserved(r->a->store, &v, &f);
	if (rc > 0)
		report_table_set(t, REPORT_file_peer, 1);
	return rc < 0 ? rc : 0;
}

/* ---- executions ---- */

/* Empty ones are left out: the column has no value then. */
static void fill_texts(struct report *r, const struct exec_info *x)
{
	struct report_table *t = &r->t[REPORT_EXECUTION];
	if (x->argv.count)
		report_table_set(t, REPORT_execution_argv, report_words_list(&r->words, &x->argv));
	if (x->env.count)
		report_table_set(t, REPORT_execution_env, report_words_list(&r->words, &x->env));
	report_table_set(t, REPORT_execution_cwd, report_words_text_if(&r->words, x->cwd));
	report_table_set(t, REPORT_execution_group, report_words_text_if(&r->words, x->group));
	report_table_set(t, REPORT_execution_host, report_words_text_if(&r->words, x->host));
	report_table_set(t, REPORT_execution_job, report_words_text_if(&r->words, x->job));
	report_table_set(t, REPORT_execution_step, report_words_text_if(&r->words, x->step));
	report_table_set(t, REPORT_execution_rank, report_words_text_if(&r->words, x->rank));
	report_table_set(t, REPORT_execution_ranks, report_words_text_if(&r->words, x->ranks));
}

/* Only what is known. Times go from ns to us. */
static void fill_figures(struct report *r, const struct exec_info *x)
{
	/* bits of `known`, as the exit event has them */
	const struct {
		enum report_column column;
		uint64_t value;
		unsigned bit, unit;
	} figures[] = {
	    {REPORT_execution_cpu, x->cpu, 1, US},
	    {REPORT_execution_user_time, x->user_time, 2, US},
	    {REPORT_execution_system_time, x->system_time, 3, US},
	    {REPORT_execution_rss, x->rss, 4, 1},
	    {REPORT_execution_read, x->rchar, 5, 1},
	    {REPORT_execution_written, x->wchar_, 6, 1},
	    {REPORT_execution_storage_read, x->read_bytes, 7, 1},
	    {REPORT_execution_storage_written, x->write_bytes, 8, 1},
	};
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (x->known >> figures[i].bit & 1)
			report_table_set(&r->t[REPORT_EXECUTION], figures[i].column,
			                 known_number(figures[i].value / figures[i].unit));
}

/* Fills in which gaps an execution's record has. gaps: a set of TERM_gap_ bits; each set is in the page once.
 * -ENOMEM. */
static int fill_gaps(struct report *r, uint32_t place, uint64_t gaps)
{
	bool is_new = false;
	if (!gaps)
		return 0;
	if (!vec_has_room(r->gap_sets, r->n_gap_sets, r->cap_gap_sets))
		return -ENOMEM;
	uint32_t *at = idmap_add(&r->gaps_at, gaps, (uint32_t)r->n_gap_sets, &is_new);
	if (!at)
		return -ENOMEM;
	if (is_new)
		r->gap_sets[r->n_gap_sets++] = gaps;
	report_table_set(&r->t[REPORT_EXECUTION], REPORT_execution_gaps, *at);
	for (unsigned i = 0; i < 64; i++)
		if (gaps >> i & 1 && !r->gaps[i].executions++)
			r->gaps[i].first = place;
	return 0;
}

/* The place of a run in the table of runs, which it is added to. -errno. */
static int64_t place_of_run(struct report *r, store_id id)
{
	struct report_table *t = &r->t[REPORT_RUN];
	struct run_info run;
	bool is_new = false;
	uint32_t *at = idmap_add(&r->run_at, id, (uint32_t)t->rows, &is_new);
	if (!at)
		return -ENOMEM;
	if (!is_new)
		return *at;
	int rc = store_run_told(r->a->store, id, &run);
	if (rc < 0)
		return rc;
	report_table_add(t);
	if (rc > 0) {
		report_table_set(t, REPORT_run_id, report_words_text(&r->words, run.ulid));
		report_table_set(t, REPORT_run_argv, report_words_list(&r->words, &run.argv));
		report_table_set(t, REPORT_run_cwd, report_words_text_if(&r->words, run.cwd));
		report_table_set(t, REPORT_run_user, report_words_text_if(&r->words, run.user));
		report_table_set(t, REPORT_run_host, report_words_text_if(&r->words, run.host));
		report_table_set(t, REPORT_run_start, report_time(r, run.start));
		report_table_set(t, REPORT_run_span, run.end == TIME_NONE ? -1 : report_span(run.start, run.end));
		report_table_set(t, REPORT_run_ending, known_number(run.ending));
		report_table_set(t, REPORT_run_code, known_number(run.code));
	}
	return (int64_t)t->rows - 1;
}

/* A row of the stages where it is the first of its stage. 1 or 0 without a stage; -errno. */
static int fill_stage(struct report *r, store_id exec)
{
	struct report_table *t = &r->t[REPORT_STAGE];
	uint32_t number;
	bool is_new = false;
	int rc = stages_find(r->stages, exec, &number);
	if (rc <= 0)
		return rc;
	uint32_t *at = idmap_add(&r->stage_at, (uint64_t)number + 1, (uint32_t)t->rows, &is_new);
	if (!at)
		return -ENOMEM;
	report_table_set(&r->t[REPORT_EXECUTION], REPORT_execution_stage, *at);
	if (!is_new)
		return 0;
	const struct stage *s = stages_get(r->stages, number);
	report_table_add(t);
	report_table_set(t, REPORT_stage_kind, report_words_text(&r->words, str_of(stage_kind_name(s->kind))));
	if (s->engine != ENGINE_NONE)
		report_table_set(t, REPORT_stage_engine, report_words_text(&r->words, str_of(stage_engine_name(s->engine))));
	if (s->name)
		report_table_set(t, REPORT_stage_name, report_words_text(&r->words, str_of(s->name)));
	if (s->job)
		report_table_set(t, REPORT_stage_job, report_words_text(&r->words, str_of(s->job)));
	return 0;
}

/* The paths of its program and script. -errno, or 0. */
static int fill_programs(struct report *r, const struct exec_brief *x)
{
	const struct {
		enum report_column column;
		store_id file;
	} files[] = {{REPORT_execution_exe, x->exe}, {REPORT_execution_script, x->script}};
	struct file_info f;
	int rc = 0;
	for (size_t i = 0; i < 2 && rc >= 0; i++)
		if (files[i].file && (rc = store_file(r->a->store, files[i].file, &f)) > 0)
			report_table_set(&r->t[REPORT_EXECUTION], files[i].column, report_words_text_if(&r->words, f.path));
	return rc < 0 ? rc : 0;
}

/* To which execution it counts, and whether `show` would not list it: a fork, one that only starts others, or counts to
 * another one. */
static int fill_folding(struct report *r, store_id id, bool fork)
{
	store_id rep = 0;
	int rc = fold_representative(r->a->store, id, &rep);
	uint32_t as = rc > 0 && rep != id ? report_find_node(r, rep, true) : VEC_NONE;
	if (as != VEC_NONE)
		report_table_set(&r->t[REPORT_EXECUTION], REPORT_execution_as, r->nodes[as].number);
	if (rc >= 0)
		rc = fold_stands_alone(r->a->store, &r->folds, id);
	report_table_set(&r->t[REPORT_EXECUTION], REPORT_execution_minor, rc == 0 || fork);
	return rc < 0 ? rc : 0;
}

/* Fills in the user and the name of an execution. nameless: it has no arguments, and is named otherwise. -errno, or
 * 0. */
static int fill_names(struct report *r, store_id id, bool nameless)
{
	struct buf b = {0};
	int rc = exec_user(r->a->store, id, &b);
	report_table_set(&r->t[REPORT_EXECUTION], REPORT_execution_user, report_words_text_if(&r->words, buf_view(&b)));
	buf_reset(&b);
	if (rc == 0 && nameless) {
		rc = exec_name(r->a->store, id, true, 200, &b);
		report_table_set(&r->t[REPORT_EXECUTION], REPORT_execution_name, report_words_text_if(&r->words, buf_view(&b)));
	}
	r->words.failed |= b.failed;
	buf_release(&b);
	return rc;
}

/* Fills in the row of an execution. -ENOENT: it is not in the record; -errno, or 0. */
static int fill_execution(struct report *r, uint32_t place)
{
	struct report_table *t = &r->t[REPORT_EXECUTION];
	struct report_node *node = &r->nodes[place];
	struct exec_info x;
	int rc = store_exec(r->a->store, node->id, &x);
	if (rc <= 0)
		return rc < 0 ? rc : -ENOENT;
	node->start = x.start;
	report_table_add(t);
	fill_texts(r, &x);
	fill_figures(r, &x);
	report_table_set(t, REPORT_execution_pid, known_number(x.pid));
	report_table_set(t, REPORT_execution_image, known_number(x.n));
	report_table_set(t, REPORT_execution_start, report_time(r, x.start));
	report_table_set(t, REPORT_execution_span, report_span(x.start, x.end));
	report_table_set(t, REPORT_execution_ending, known_number(x.ending));
	report_table_set(t, REPORT_execution_code, known_number(x.code));
	uint32_t parent = x.parent ? report_find_node(r, x.parent, true) : VEC_NONE;
	if (parent != VEC_NONE)
		report_table_set(t, REPORT_execution_parent, r->nodes[parent].number);
	struct exec_brief brief = {.run = x.run, .exe = x.exe, .script = x.script};
	bool nameless = !x.argv.count, fork = !x.n;
	rc = fill_gaps(r, place, x.gaps);
	if (rc == 0 && brief.run) { /* from here on x's texts may be gone */
		int64_t run = place_of_run(r, brief.run);
		report_table_set(t, REPORT_execution_run, run < 0 ? REPORT_UNKNOWN : run);
		rc = run < 0 ? (int)run : 0;
	}
	if (rc == 0)
		rc = fill_programs(r, &brief);
	if (rc == 0)
		rc = fill_names(r, node->id, nameless);
	if (rc == 0)
		rc = fill_folding(r, node->id, fork);
	if (rc == 0)
		rc = fill_stage(r, node->id);
	return rc;
}

/* Times count from the first start: the numbers stay short. -errno, or 0. */
static int find_base(struct report *r)
{
	r->base = INT64_MAX;
	for (size_t i = 0; i < r->n_nodes; i++) {
		struct exec_info x;
		if (!r->nodes[i].exec)
			continue;
		int rc = store_exec(r->a->store, r->nodes[i].id, &x);
		if (rc < 0)
			return rc;
		if (rc > 0 && x.start != TIME_NONE && x.start < r->base)
			r->base = x.start;
	}
	if (r->base == INT64_MAX)
		r->base = 0;
	return 0;
}

int report_fill_nodes(struct report *r)
{
	int rc = find_base(r);
	for (size_t i = 0; i < r->n_nodes && rc == 0; i++) {
		uint32_t place = r->order[i];
		rc = r->nodes[place].exec ? fill_execution(r, place) : fill_file(r, &r->nodes[place]);
	}
	if (rc == 0 && r->run) {
		int64_t run = place_of_run(r, r->run);
		rc = run < 0 ? (int)run : 0;
	}
	return rc;
}
