/* diff_json.c - a diff as JSON; the manual page names the fields. */
#include "answer/diff/diff_json.h"

#include <errno.h>

bool diff_matters(const struct diff *d)
{
	for (size_t i = 0; i < d->n_items; i++)
		if (d->items[i].category != DIFF_resources && d->items[i].category != DIFF_order)
			return true;
	return false;
}

/* The kind as JSON has it. */
static const char *kind_name(enum diff_kind k)
{
	static const char *const names[] = {"changed", "rewritten", "added", "removed"};
	return names[k];
}

/* null where id is 0 or the record does not have it. 0, -errno. */
static int put_version_json(const struct answer_source *a, json_t *o, const char *key, store_id id)
{
	struct version_info ver;
	struct file_info f;
	int r = id ? store_version(a->store, id, &ver) : 0;
	r = r > 0 ? store_file(a->store, ver.file, &f) : r;
	js_put(o, key, r > 0 ? entity_json(&ver, &f) : json_null());
	return r < 0 ? r : 0;
}

/* The public id; null where id is 0 or the record does not have it. 0, -errno. */
static int put_exec_pub(const struct answer_source *a, json_t *o, const char *key, store_id id)
{
	struct exec_info x;
	int r = id ? store_exec(a->store, id, &x) : 0;
	if (r > 0)
		js_pub(o, key, &x.pub);
	else
		js_put(o, key, json_null());
	return r < 0 ? r : 0;
}

/* Puts an execution. Without the member where the record does not have it. 0, -errno. */
static int put_exec_json(const struct answer_source *a, json_t *o, const char *key, store_id id)
{
	struct exec_info x;
	json_t *e = NULL;
	int r = store_exec(a->store, id, &x);
	if (r > 0)
		r = exec_json(a->store, &x, &e);
	if (e)
		js_put(o, key, e);
	return r < 0 ? r : 0;
}

/* Makes the object of a difference. *ret is the caller's, also where -errno is returned: then a part lacks. */
static int diff_item_json(const struct answer_source *a, const struct diff_item *i, json_t **ret)
{
	json_t *o = json_object();
	int r = 0;
	js_text(o, "rung", diff_category_words[i->category].name);
	js_text(o, "kind", kind_name(i->kind));
	js_str(o, "subject", i->subject);
	if (i->a || i->b) {
		r = put_version_json(a, o, "a", i->a);
		r = r < 0 ? r : put_version_json(a, o, "b", i->b);
		if (i->absent_before)
			js_bool(o, "looked_for_in_vain", true);
		if (i->possible)
			js_bool(o, "possible", true);
		if (r == 0 && i->changed_by)
			r = put_exec_json(a, o, "changed_by", i->changed_by);
		if (i->content)
			js_text(o, "content", i->content == CONTENT_SAME ? "same" : "differs");
		js_bool(o, "change_seen", !i->unseen);
		js_time(o, "changed_at", i->when);
		if (i->changes)
			js_num(o, "versions_apart", i->changes);
	} else if (i->category == DIFF_build || i->category == DIFF_lines) {
		js_str(o, "part", i->part);
		js_str_if(o, "name", i->name);
		js_put(o, "a", i->before.n ? js_string(i->before) : json_null());
		js_put(o, "b", i->after.n ? js_string(i->after) : json_null());
	} else if (i->category != DIFF_executions && i->category != DIFF_order) {
		if (i->kind == DIFF_ADDED)
			js_put(o, "a", json_null());
		else
			js_str(o, "a", i->before);
		if (i->kind == DIFF_REMOVED)
			js_put(o, "b", json_null());
		else
			js_str(o, "b", i->after);
	}
	js_num(o, "count", i->count);
	r = r < 0 ? r : put_exec_pub(a, o, "execution_a", i->exec_a);
	r = r < 0 ? r : put_exec_pub(a, o, "execution_b", i->exec_b);
	if (diff_category_words[i->category].cause) {
		js_bool(o, "rooted", i->rooted);
		if (i->reused)
			js_bool(o, "reused", true);
		js_num(o, "reaches", i->reaches);
		js_num(o, "reaches_differing", i->reaches_differing);
	}
	*ret = o;
	return r;
}

/* Makes the object of a side. *ret is the caller's, also where -errno is returned. What the record does not have is
 * an empty object with the counts. */
static int diff_side_json(const struct answer_source *a, const struct diff *d, int side, json_t **ret)
{
	const struct diff_side_info *i = &d->side[side];
	json_t *o = NULL;
	int r;
	if (i->what == DIFF_RUN) {
		struct run_info run;
		r = store_run(a->store, i->id, &run);
		o = r > 0 ? run_json(a, &run) : json_object();
	} else if (i->what == DIFF_EXEC) {
		struct exec_info x;
		r = store_exec(a->store, i->id, &x);
		if (r > 0)
			r = exec_json(a->store, &x, &o);
	} else {
		struct version_info ver;
		struct file_info f;
		r = store_version(a->store, i->id, &ver);
		r = r > 0 ? store_file(a->store, ver.file, &f) : r;
		o = r > 0 ? entity_json(&ver, &f) : json_object();
	}
	if (!o)
		o = json_object();
	js_num(o, "executions", i->executions);
	js_num(o, "unpaired", i->only);
	js_num(o, "outputs_named", i->outputs);
	js_gaps(o, "completeness", i->gaps);
	*ret = o;
	return r < 0 ? r : 0;
}

int diff_json(const struct answer_source *a, const struct diff *d, json_t **ret)
{
	json_t *o = json_object(), *categories = json_array(), *x = NULL;
	js_put(o, "format", json_integer(1));
	int r = 0;
	for (int side = 0; r == 0 && side < 2; side++) {
		r = diff_side_json(a, d, side, &x);
		js_put(o, side ? "b" : "a", x);
	}
	js_num(o, "paired", d->paired);
	js_num(o, "files_compared", d->files_compared);
	js_num(o, "files_same", d->same_files);
	js_bool(o, "differs", diff_matters(d));
	x = NULL;
	if (r == 0 && d->first != SIZE_MAX)
		r = diff_item_json(a, &d->items[d->first], &x);
	js_put(o, "first_cause", x ? x : json_null());
	for (size_t i = 0, category = 0; r == 0 && category < DIFF_CATEGORIES; category++) {
		json_t *one = json_object(), *list = json_array();
		js_text(one, "name", diff_category_words[category].name);
		js_text(one, "meaning", diff_category_words[category].meaning);
		for (; r == 0 && i < d->n_items && d->items[i].category == category; i++) {
			json_t *item = NULL;
			r = diff_item_json(a, &d->items[i], &item);
			js_add(list, item);
		}
		js_bool(one, "same", json_array_size(list) == 0);
		js_put(one, "differences", list);
		js_add(categories, one);
	}
	js_put(o, "rungs", categories);
	if (r < 0) {
		json_decref(o);
		return r;
	}
	*ret = o;
	return 0;
}
