/* check_json.c - the JSON of `stemma check`. */
#include "answer/check/check_int.h"
#include "answer/entities.h"
#include "answer/stages/stage_view.h"

#include <errno.h>

/* A new object with the names of the stage's job. The caller owns it. */
static json_t *names_json(const struct check *c, uint32_t stage)
{
	json_t *o = json_object();
	stage_put_names(stages_get(c->st, stage), o);
	return o;
}

/* Appends to list the object of an undeclared input: stage, role, certainty, file, reader. 0; -EIO: the record lacks
 * the file or the reader; -errno. */
static int input_json(const struct check *c, const struct check_input *in, json_t *list)
{
	struct version_info v;
	struct file_info f;
	struct exec_info x;
	json_t *one = json_object(), *reader = NULL;
	js_put(one, "stage", names_json(c, in->stage));
	js_text(one, "role", in->script ? "script" : "data");
	js_text(one, "certainty", in->sure ? "must" : "may");
	int r = store_version(c->s, in->version, &v);
	if (r > 0)
		r = store_file(c->s, v.file, &f);
	if (r > 0)
		js_put(one, "entity", entity_json(&v, &f));
	if (r > 0)
		r = store_exec(c->s, in->reader, &x);
	if (r > 0)
		r = exec_json(c->s, &x, &reader) < 0 ? -ENOMEM : 1;
	js_put(one, "by", reader);
	js_add(list, one);
	return r < 0 ? r : r ? 0 : -EIO; /* the edge led to it */
}

int check_json(const struct check *c, store_id run, json_t **ret)
{
	struct run_info info;
	int r = store_run_told(c->s, run, &info);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	json_t *o = json_object(), *unknown = json_array(), *undeclared = json_array();
	js_num(o, "format", 1);
	js_str(o, "run", info.ulid);
	js_num(o, "jobs", c->n_jobs);
	js_bool(o, "clean", check_is_clean(c));
	js_gaps(o, "completeness", c->gaps);
	for (size_t i = 0; i < c->unknown.n; i++) {
		json_t *one = names_json(c, c->unknown.v[i].stage);
		js_text(one, "why", check_why_words(c->unknown.v[i].why));
		js_add(unknown, one);
	}
	for (size_t i = 0; i < c->inputs.n && r >= 0; i++)
		r = input_json(c, &c->inputs.v[i], undeclared);
	js_put(o, "unknown", unknown);
	js_put(o, "undeclared", undeclared);
	if (r < 0)
		json_decref(o);
	else
		*ret = o;
	return r < 0 ? r : 0;
}
