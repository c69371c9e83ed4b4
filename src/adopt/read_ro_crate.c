/* read_ro_crate.c - the actions of a Process, Workflow or Provenance Run Crate (ro-crate-metadata.json): a CreateAction
 * has an instrument, objects (inputs) and results (outputs). What is only described, without an action, is no job. */
#include "adopt/readers.h"
#include "base/hash.h"
#include "base/map.h"

#include <errno.h>

struct crate {
	struct adopt_jobs *l;
	const char *folder;
	const json_t *graph;
	struct map by_id; /* hash of an @id -> its place in the graph */
};

/* Is the entity of that type? True also where "@type" is a list with type in it. False where o has none. */
static bool is_of_type(const json_t *o, const char *type)
{
	const json_t *t = json_object_get(o, "@type");
	if (json_is_string(t))
		return !strcmp(json_string_value(t), type);
	for (size_t i = 0; json_is_array(t) && i < json_array_size(t); i++) {
		const json_t *one = json_array_get(t, i);
		if (json_is_string(one) && !strcmp(json_string_value(one), type))
			return true;
	}
	return false;
}

/* The entity of the crate with that @id; NULL: none. */
static const json_t *thing(const struct crate *c, struct str id)
{
	uint32_t at = id.n ? map_get(&c->by_id, hash_str(id)) : VEC_NONE;
	const json_t *o = at == VEC_NONE ? NULL : json_array_get(c->graph, at);
	return o && str_eq(adopt_member(o, "@id"), id) ? o : NULL;
}

/* The i-th thing that a property refers to: one object, or an array of them. Nothing past the last. */
static struct str reference(const json_t *action, const char *property, size_t i)
{
	const json_t *v = json_object_get(action, property);
	if (json_is_array(v))
		v = json_array_get(v, i);
	else if (i)
		v = NULL;
	return json_is_object(v) ? adopt_member(v, "@id") : str_of("");
}

/* %20 and the like, as an @id may have them. id: relative to the crate's folder or absolute, with %xx; a %00 stays as
 * it is written. 0, -ENOMEM. */
static int add_crate_file(const struct crate *c, struct adopt_job *j, struct str id, bool output)
{
	struct buf path = {0};
	for (size_t i = 0; i < id.n; i++) {
		unsigned code = 0;
		int digits = 0;
		for (size_t k = i + 1; id.p[i] == '%' && k < id.n && k < i + 3; k++, digits++) {
			const char *hex = "0123456789abcdef", *at = strchr(hex, id.p[k] | 0x20);
			if (!at || !id.p[k])
				break;
			code = code * 16 + (unsigned)(at - hex);
		}
		if (digits == 2 && code) {
			buf_char(&path, (char)code);
			i += 2;
		} else {
			buf_char(&path, id.p[i]);
		}
	}
	int rc = path.failed ? -ENOMEM
	         : output    ? adopt_output(c->l, j, c->folder, buf_view(&path))
	                     : adopt_input(c->l, j, c->folder, buf_view(&path));
	buf_release(&path);
	return rc;
}

/* The property's things that are files become inputs or outputs; others, and those that the crate does not describe,
 * are passed over. 0, -ENOMEM. */
static int take_references(const struct crate *c, struct adopt_job *j, const json_t *action, const char *property,
                           bool output)
{
	struct str id;
	int rc = 0;
	for (size_t i = 0; rc == 0 && (id = reference(action, property, i)).n; i++) {
		const json_t *o = thing(c, id);
		if (o && (is_of_type(o, "File") || is_of_type(o, "MediaObject")))
			rc = add_crate_file(c, j, id, output);
	}
	return rc;
}

/* One job from a CreateAction. Its instrument, where that is a file of the crate, is an input too. 0, -ENOMEM. */
static int take_action(const struct crate *c, const json_t *action, const char *source)
{
	struct adopt_job *j = adopt_job_new(c->l, ADOPT_ro_crate, source);
	if (!j)
		return -ENOMEM;
	struct str by = reference(action, "instrument", 0);
	const json_t *instrument = thing(c, by);
	struct str name = instrument ? adopt_member(instrument, "name") : by;
	j->name = adopt_text(c->l, name.n ? name : by.n ? by : adopt_member(action, "name"));
	j->start = adopt_date(adopt_member(action, "startTime"));
	j->end = adopt_date(adopt_member(action, "endTime"));
	struct str status = reference(action, "actionStatus", 0);
	if (!status.n)
		status = adopt_member(action, "actionStatus");
	j->ended = str_ends(status, str_of("CompletedActionStatus")) || str_ends(status, str_of("FailedActionStatus"));
	j->code = str_ends(status, str_of("FailedActionStatus"));
	int rc = j->name ? 0 : -ENOMEM;
	if (rc == 0 && instrument && is_of_type(instrument, "File"))
		rc = add_crate_file(c, j, by, false); /* a script in the crate */
	if (rc == 0)
		rc = take_references(c, j, action, "object", false);
	return rc == 0 ? take_references(c, j, action, "result", true) : rc;
}

/* Of ro-crate-metadata.json. 0, also where that is none; -ENOMEM. */
int adopt_read_ro_crate(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf source = {0};
	int rc = 0;
	buf_printf(&source, "%s/%s", path, name);
	json_t *o = adopt_json(l, folder, name, buf_cstr(&source), &rc);
	struct crate c = {.l = l, .folder = path, .graph = json_object_get(o, "@graph")};
	if (o && !json_is_array(c.graph))
		rc = adopt_pass(l, buf_cstr(&source), "it has no @graph");
	size_t n = json_is_array(c.graph) ? json_array_size(c.graph) : 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct str id = adopt_member(json_array_get(c.graph, i), "@id");
		if (id.n && !map_set(&c.by_id, hash_str(id), (uint32_t)i))
			rc = -ENOMEM;
	}
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const json_t *action = json_array_get(c.graph, i);
		if (is_of_type(action, "CreateAction"))
			rc = take_action(&c, action, buf_cstr(&source));
	}
	l->sources[ADOPT_ro_crate] += n > 0;
	map_release(&c.by_id);
	json_decref(o);
	buf_release(&source);
	return rc;
}
