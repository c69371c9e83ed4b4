#include "answer/found.h"

#include "query/find/select.h"
#include "query/idset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* By key, then time, number and id. Rows without a key stand equal in that. */
static int compare_found_rows(const void *pa, const void *pb)
{
	const struct found_row *a = pa, *b = pb;
	int c = a->key && b->key ? strcmp(a->key, b->key) : 0;
	if (c)
		return c;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->n != b->n ? (a->n < b->n ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

/* Adds to *ret the gaps of those that generated it, of the time in which they had it open. 0, -errno. */
static int add_gaps_of_makers(struct store *s, store_id version, uint64_t *ret)
{
	struct edges e = {0};
	int r = store_gens(s, version, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		uint64_t its;
		r = store_exec_gaps(s, e.v[i].to, e.v[i].lo, e.v[i].hi, &its);
		*ret |= r > 0 ? its : 0;
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Sets what the row is sorted by: files by path and version, runs and executions by start; and what a file is, without
 * `all`. 1, 0 gone, -errno. */
static int describe_found_row(struct store *s, enum expr_kind kind, bool all, struct found_row *row,
                              enum entity_sort *ret_sort)
{
	int r;
	*ret_sort = ENTITY_DATA;
	if (kind == EXPR_RUNS) {
		struct run_info run;
		r = store_run(s, row->id, &run);
		row->time = r > 0 ? run.start : 0;
		row->gaps = r > 0 ? run.gaps : 0;
	} else if (kind == EXPR_EXECS) {
		struct exec_info x;
		r = store_exec(s, row->id, &x);
		row->time = r > 0 ? x.start : 0;
		row->n = r > 0 ? x.n : 0;
		row->gaps = r > 0 ? x.gaps : 0;
	} else {
		struct version_info v;
		struct file_info f;
		r = store_version(s, row->id, &v);
		if (r > 0)
			r = store_file(s, v.file, &f);
		if (r > 0 && !all)
			*ret_sort = entity_sort(f.kind, f.path);
		if (r > 0) {
			row->key = strndup(f.path.n ? f.path.p : "", f.path.n);
			row->n = v.n;
			r = row->key ? add_gaps_of_makers(s, row->id, &row->gaps) : -ENOMEM;
			r = r < 0 ? r : 1;
		}
	}
	return r;
}

/* Rows for what is in `all`, sure where it is in `sure` too. What is left out is counted by its sort. 0, -errno. */
static int make_found_rows(struct store *s, const struct idset *all, const struct idset *sure, bool every,
                           struct found *f)
{
	int r = 0;
	f->rows = calloc(all->n + 1, sizeof(*f->rows));
	if (!f->rows)
		return -ENOMEM;
	for (size_t i = 0; i < all->n && r >= 0; i++) {
		struct found_row *row = &f->rows[f->n];
		*row = (struct found_row){.id = all->v[i], .sure = idset_has(sure, all->v[i])};
		enum entity_sort sort;
		r = describe_found_row(s, f->kind, every, row, &sort);
		bool left_out = sort == ENTITY_SEGMENT || sort == ENTITY_OWN;
		f->left_out[sort] += r > 0 && left_out;
		if (r > 0 && !left_out) {
			f->unended += row->gaps >> TERM_gap_unended & 1;
			f->n++;
		} else {
			free(row->key);
		}
	}
	if (f->n)
		qsort(f->rows, f->n, sizeof(*f->rows), compare_found_rows);
	return r < 0 ? r : 0;
}

/* Of several conditions that say the same once. 0, -ENOMEM. */
static int add_namesake(void *arg, const char *text, store_id version)
{
	struct found *f = arg;
	for (size_t i = 0; i < f->n_namesakes; i++)
		if (f->namesakes[i].version == version && strcmp(f->namesakes[i].text, text) == 0)
			return 0;
	struct found_namesake *more = realloc(f->namesakes, (f->n_namesakes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->namesakes = more;
	more[f->n_namesakes] = (struct found_namesake){.text = strdup(text), .version = version};
	if (!more[f->n_namesakes].text)
		return -ENOMEM;
	f->n_namesakes++;
	return 0;
}

int found_make(const struct answer_source *a, const struct expr *e, enum expr_kind kind, bool all, struct err *err,
               struct found *ret)
{
	struct found f = {.kind = kind};
	struct idset found = {0}, sure = {0};
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	struct select_options o = {.now = now.tv_sec * 1000000000ll + now.tv_nsec,
	                           .skew = a->skew,
	                           .system_extra = a->system_extra,
	                           .all = all,
	                           .ret_unseen = &f.unseen,
	                           .ret_forks = &f.forks,
	                           .namesake = add_namesake,
	                           .arg = &f};
	int r = select_eval(a->store, e, kind, &o, err, &found);
	o.sure = true;
	o.namesake = NULL;
	if (r == 0 && found.n)
		r = select_eval(a->store, e, kind, &o, err, &sure);
	bool viewing = r == 0 && store_view_begin(a->store, VIEW_WALK) == 0; /* many small questions */
	if (r == 0)
		r = make_found_rows(a->store, &found, &sure, all, &f);
	if (viewing)
		store_view_end(a->store);
	idset_release(&found);
	idset_release(&sure);
	if (r < 0)
		found_rows_release(&f);
	else
		*ret = f;
	return r < 0 ? r : 0;
}

/* f is empty then. */
void found_rows_release(struct found *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->rows[i].key);
	for (size_t i = 0; i < f->n_namesakes; i++)
		free(f->namesakes[i].text);
	free(f->namesakes);
	free(f->rows);
	*f = (struct found){0};
}

int found_row_json(const struct answer_source *a, const struct found *f, size_t i, json_t **ret)
{
	const struct found_row *row = &f->rows[i];
	json_t *one = NULL;
	int r;
	if (f->kind == EXPR_RUNS) {
		struct run_info run;
		r = store_run(a->store, row->id, &run);
		one = r > 0 ? run_json(a, &run) : NULL;
	} else if (f->kind == EXPR_EXECS) {
		struct exec_info x;
		r = store_exec(a->store, row->id, &x);
		if (r > 0)
			r = exec_json(a->store, &x, &one);
	} else {
		struct version_info v;
		struct file_info file;
		r = store_version(a->store, row->id, &v);
		if (r > 0)
			r = store_file(a->store, v.file, &file);
		one = r > 0 ? entity_json(&v, &file) : NULL;
	}
	if (!one)
		return r < 0 ? r : -EIO;
	js_text(one, "certainty", row->sure ? "must" : "may");
	if (!json_object_get(one, "completeness"))
		js_gaps(one, "completeness", row->gaps);
	*ret = one;
	return 0;
}

/* Puts `namesakes`: names of which only one file was meant, and which. 0, -errno. */
static int namesakes_json(struct store *s, const struct found *f, json_t *o)
{
	json_t *list = json_array();
	int r = 0;
	for (size_t i = 0; i < f->n_namesakes && r >= 0; i++) {
		struct version_info v;
		json_t *one = json_object();
		js_str(one, "name", str_of(f->namesakes[i].text));
		r = store_version(s, f->namesakes[i].version, &v);
		if (r > 0)
			js_pub(one, "version", &v.pub);
		js_add(list, one);
	}
	js_put(o, "namesakes", list);
	return r < 0 ? r : 0;
}

/* Rows from first up to last, which is not among them. *ret is the caller's, and is set where it is 0; -errno. `next`:
 * the id of the last row where others follow. */
static int rows_json(const struct answer_source *a, const struct found *f, size_t first, size_t last, json_t **ret)
{
	json_t *list = json_array(), *one;
	int r = 0;
	for (size_t i = first; i < last && r == 0; i++) {
		r = found_row_json(a, f, i, &one);
		if (r == 0)
			js_add(list, one);
	}
	if (r < 0) {
		json_decref(list);
		return r;
	}
	json_t *all = json_object();
	js_num(all, "format", 1);
	if (last > first && last < f->n)
		js_text(all, "next", json_string_value(json_object_get(json_array_get(list, last - first - 1), "id")));
	js_put(all, f->kind == EXPR_RUNS ? "runs" : f->kind == EXPR_EXECS ? "executions" : "entities", list);
	if (f->kind == EXPR_FILES)
		js_num(all, "left_out", f->left_out[ENTITY_SEGMENT] + f->left_out[ENTITY_OWN]);
	r = f->n_namesakes ? namesakes_json(a->store, f, all) : 0;
	if (r < 0)
		json_decref(all);
	else
		*ret = all;
	return r;
}

int found_json(const struct answer_source *a, const struct found *f, json_t **ret)
{
	return rows_json(a, f, 0, f->n, ret);
}

int found_page_json(const struct answer_source *a, const struct found *f, const char *after, uint64_t count,
                    json_t **ret)
{
	store_id id = 0;
	char kind = 0;
	size_t first = 0;
	int r = !after                 ? 0
	        : f->kind == EXPR_RUNS ? store_find_run(a->store, after, &id)
	                               : store_by_pubid(a->store, after, &kind, &id);
	if (r < 0 && r != -ENOTUNIQ)
		return r;
	const bool fits = f->kind == EXPR_RUNS || kind == (f->kind == EXPR_EXECS ? 'x' : 'v');
	for (size_t i = 0; r > 0 && fits && i < f->n && !first; i++)
		first = f->rows[i].id == id ? i + 1 : 0;
	if (after && !first)
		return -ESTALE;
	return rows_json(a, f, first, f->n - first < count ? f->n : first + (size_t)count, ret);
}
