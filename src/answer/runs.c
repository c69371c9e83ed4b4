#include "answer/runs.h"

#include "answer/items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Is it a question to the node's daemon, recorded by that daemon as any other program? Nobody looks for it in the
 * answer, unless it made something. */
static bool run_is_question(const struct run_info *r)
{
	struct str program, option;
	size_t at = 0;
	if (r->mode.n < 5 || memcmp(r->mode.p, "node/", 5) != 0 || !strlist_next(&r->argv, &at, &program) ||
	    !strlist_next(&r->argv, &at, &option))
		return false;
	const char *slash = memrchr(program.p, '/', program.n);
	if (slash)
		program = str_n(slash + 1, program.n - (size_t)(slash + 1 - program.p));
	return str_is(program, "stemma") && str_is(option, "--node");
}

int run_with_notes_json(const struct answer_source *a, const struct run_info *r, json_t **ret)
{
	store_id id = r->id;
	json_t *one = run_json(a, r);
	if (!one)
		return -EIO;
	int rc = notes_json(a->store, one, NOTES_RUN, id, 0);
	if (rc < 0)
		json_decref(one);
	else
		*ret = one;
	return rc;
}

/* One of runs_each, which the parameters are those of: rc of each, 0 or -errno. */
static int each_one(const struct answer_source *a, store_id id, bool all, bool counts,
                    int (*each)(void *arg, const struct run_info *r, uint64_t used, uint64_t made), void *arg)
{
	struct run_info info;
	uint64_t used = 0, made = 0;
	int r = store_run(a->store, id, &info);
	if (r <= 0)
		return r;
	bool question = !all && run_is_question(&info);
	r = question || counts ? items_count(a, id, &used, &made) : 0;
	return r == 0 && !(question && !made) ? each(arg, &info, used, made) : r;
}

int runs_each(const struct answer_source *a, const struct idset *only, bool all, bool counts,
              int (*each)(void *arg, const struct run_info *r, uint64_t used, uint64_t made), void *arg)
{
	enum { FEW = 64 }; /* most ask for the last ones */
	store_id *ids = NULL;
	size_t n = 0;
	int r = store_runs(a->store, FEW, &ids, &n) < 0 ? -EIO : 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (i == FEW - 1) {
			free(ids);
			ids = NULL;
			n = 0;
			if (store_runs(a->store, UINT64_MAX, &ids, &n) < 0)
				return -EIO;
		}
		if (!only || idset_has(only, ids[i]))
			r = each_one(a, ids[i], all, counts, each, arg);
	}
	free(ids);
	return r;
}

struct runs_list {
	const struct answer_source *a;
	json_t *list;
	uint64_t most;
	bool more; /* of a page: there are more than that */
};

/* Called for each run; arg is a struct runs_list. Returns 1 to stop at l->most (0: all), 0, -errno. */
static int append_run(void *arg, const struct run_info *r, uint64_t used, uint64_t made)
{
	struct runs_list *l = arg;
	json_t *one;
	(void)used, (void)made;
	int rc = run_with_notes_json(l->a, r, &one);
	if (rc == 0)
		js_add(l->list, one);
	return rc < 0 ? rc : l->most && json_array_size(l->list) == l->most;
}

int runs_json(const struct answer_source *a, const struct idset *only, bool all, uint64_t count, json_t **ret)
{
	struct runs_list l = {.a = a, .list = json_array(), .most = count};
	int r = runs_each(a, only, all, false, append_run, &l);
	if (r < 0) {
		json_decref(l.list);
		return r;
	}
	*ret = json_object();
	js_num(*ret, "format", 1);
	js_put(*ret, "runs", l.list);
	return 0;
}

/* Appends a run to a page of the list. As append_run, but stops only when there is one more than l->most, which
 * l->more tells. */
static int append_to_page(void *arg, const struct run_info *r, uint64_t used, uint64_t made)
{
	struct runs_list *l = arg;
	l->more = json_array_size(l->list) == l->most;
	if (l->more)
		return 1;
	int rc = append_run(arg, r, used, made);
	return rc < 0 ? rc : 0;
}

/* Where in ids the page begins. 0, -ESTALE or -errno. */
static int find_page(struct store *s, const store_id *ids, size_t n, const char *after, size_t *ret)
{
	store_id id = 0;
	int r = after ? store_find_run(s, after, &id) : 0;
	*ret = 0;
	for (size_t i = 0; r > 0 && i < n && !*ret; i++)
		*ret = ids[i] == id ? i + 1 : 0;
	return r < 0 && r != -ENOTUNIQ ? r : after && !*ret ? -ESTALE : 0;
}

int runs_page_json(const struct answer_source *a, bool all, const char *after, uint64_t count, json_t **ret)
{
	struct runs_list l = {.a = a, .list = json_array(), .most = count};
	store_id *ids = NULL;
	size_t n = 0, first = 0;
	int r = store_runs(a->store, UINT64_MAX, &ids, &n) < 0 ? -EIO : find_page(a->store, ids, n, after, &first);
	for (size_t i = first; i < n && r == 0; i++)
		r = each_one(a, ids[i], all, false, append_to_page, &l);
	free(ids);
	if (r < 0) {
		json_decref(l.list);
		return r;
	}
	*ret = json_object();
	js_num(*ret, "format", 1);
	if (l.more) {
		const json_t *last = json_array_get(l.list, json_array_size(l.list) - 1);
		js_text(*ret, "next", json_string_value(json_object_get(last, "id")));
	}
	js_put(*ret, "runs", l.list);
	return 0;
}
