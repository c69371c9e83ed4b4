/* methods_json.c - {"format": 1, "file": {...}, "programs": [...], "modules": [...], "inputs": [...], "machines":
 * [...], "completeness": [...]}. */
#include "answer/entities.h"
#include "answer/methods/methods_int.h"

#include <errno.h>

/* Puts the digest, null where none is recorded. */
static void put_digest(json_t *o, const struct methods_file *f)
{
	char text[DIGEST_TEXT];
	if (f->has_digest)
		digest_text(&f->digest, text);
	js_put(o, "digest", f->has_digest ? json_string(text) : json_null());
}

/* Makes the object of one file, with its digest and package. 0, -errno; *ret is a new reference where it is 0. */
static int file_json(struct store *s, const struct methods_file *f, json_t **ret)
{
	struct version_info v;
	struct file_info of;
	int r = store_version(s, f->version, &v);
	r = r > 0 ? store_file(s, v.file, &of) : r;
	if (r <= 0)
		return r < 0 ? r : -EIO;
	*ret = entity_json(&v, &of);
	if (!*ret)
		return -ENOMEM;
	put_digest(*ret, f);
	return 0;
}

/* The texts as a list of strings. The caller owns it. */
static json_t *texts_json(const struct methods_texts *t)
{
	json_t *list = json_array();
	const char *text;
	for (size_t pos = 0; (text = methods_next(t, &pos));)
		js_add(list, js_string(str_of(text)));
	return list;
}

/* The texts, each KEY=VALUE, as an object. The caller owns it. */
static json_t *pairs_json(const struct methods_texts *t)
{
	json_t *o = json_object();
	const char *text;
	for (size_t pos = 0; (text = methods_next(t, &pos));) {
		const char *equals = strchr(text, '=');
		struct str key = str_n(text, equals ? (size_t)(equals - text) : strlen(text));
		json_t *name = js_string(key);
		if (name && equals)
			js_put(o, json_string_value(name), js_string(str_of(equals + 1)));
		json_decref(name);
	}
	return o;
}

/* The software package as an object. The caller owns it. */
static json_t *package_json(const struct package *p)
{
	json_t *one = json_object();
	js_text(one, "manager", package_manager_name[p->manager]);
	js_text(one, "name", p->name);
	js_text(one, "version", p->version);
	js_str_if(one, "architecture", str_of(p->arch));
	js_str_if(one, "source", str_of(p->source));
	js_str_if(one, "homepage", str_of(p->homepage));
	return one;
}

/* Puts the package that a program's file came from; null with the reason where it is not known. */
static void put_package(json_t *o, const struct software *w, const struct software_file *f)
{
	static const char *const why[] = {
	    [SOFTWARE_IN_PACKAGE] = NULL, [SOFTWARE_IN_NONE] = "no-package", [SOFTWARE_CHANGED] = "changed"};
	if (!f || f->state != SOFTWARE_IN_PACKAGE) {
		js_put(o, "package", json_null());
		js_text(o, "package_unknown", f ? why[f->state] : "not-recorded");
		return;
	}
	js_put(o, "package", package_json(&w->packages.v.v[f->package]));
}

/* One step as an object: its program, role, commands and environment. The caller owns it. */
static json_t *step_json(const struct methods *m, const struct methods_step *step)
{
	json_t *o = json_object();
	const struct software_file *f = step->program == VEC_NONE ? NULL : &m->software.files.v[step->program];
	js_pub(o, "execution", &step->pub);
	js_text(o, "role", methods_role_name[step->role]);
	js_str(o, "name", buf_view(&step->name));
	if (f)
		js_str(o, "program", str_of(f->path));
	if (step->script != VEC_NONE)
		js_str(o, "script", str_of(m->software.files.v[step->script].path));
	put_package(o, &m->software, methods_step_file(m, step));
	js_put(o, "command", texts_json(&step->words));
	js_put(o, "environment", pairs_json(&step->environment));
	js_num(o, "executions", step->times);
	js_time(o, "start", step->start);
	js_bool(o, "certain", step->sure);
	return o;
}

/* The machines on which the steps ran, as a list. The caller owns it. */
static json_t *machines_json(const struct methods *m)
{
	json_t *list = json_array();
	for (size_t i = 0; i < m->machines.n; i++) {
		json_t *o = json_object();
		js_str(o, "host", buf_view(&m->machines.v[i].host));
		js_put(o, "machine", pairs_json(&m->machines.v[i].about));
		js_add(list, o);
	}
	return list;
}

int methods_json(const struct answer_source *a, const struct methods *m, json_t **ret)
{
	json_t *all = json_object(), *steps = json_array(), *inputs = json_array(), *modules = json_array(), *one = NULL;
	int r = file_json(a->store, &m->file, &one);
	js_num(all, "format", 1);
	if (r == 0)
		js_put(all, "file", one);
	for (size_t i = 0; i < m->steps.n; i++)
		js_add(steps, step_json(m, &m->steps.v[i]));
	for (size_t i = 0; i < m->inputs.n && r == 0; i++) {
		r = file_json(a->store, &m->inputs.v[i], &one);
		if (r < 0)
			break;
		js_bool(one, "script", m->inputs.v[i].script);
		js_bool(one, "certain", m->inputs.v[i].sure);
		js_add(inputs, one);
	}
	for (size_t i = 0; i < m->modules.n; i++)
		js_add(modules, package_json(&m->software.packages.v.v[m->modules.v[i]]));
	js_put(all, "programs", steps);
	js_put(all, "modules", modules);
	js_put(all, "inputs", inputs);
	js_num(all, "unobserved_streams", m->streams);
	js_put(all, "machines", machines_json(m));
	js_gaps(all, "completeness", m->gaps);
	if (r < 0)
		json_decref(all);
	else
		*ret = all;
	return r;
}
