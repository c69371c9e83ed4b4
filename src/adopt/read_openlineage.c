/* read_openlineage.c - OpenLineage's run events, as its file transport writes them: one event, an array of them, or one
 * a line. Events of one run are one job. Datasets that are files (namespace "file" or "file://...") are taken; tables
 * and buckets are not. */
#include "adopt/readers.h"
#include "base/hash.h"
#include "base/map.h"

#include <errno.h>

struct events {
	struct adopt_jobs *l;
	const char *folder, *source;
	struct map runs; /* hash of a run's id -> its job */
	uint64_t taken;
};

/* Files of the local file system alone are taken; other datasets are passed over. 0, -ENOMEM. */
static int take_datasets(struct events *e, struct adopt_job *j, const json_t *list, bool output)
{
	int rc = 0;
	for (size_t i = 0; json_is_array(list) && i < json_array_size(list) && rc == 0; i++) {
		const json_t *one = json_array_get(list, i);
		struct str space = adopt_member(one, "namespace"), name = adopt_member(one, "name");
		if (!str_is(space, "file") && !str_starts(space, str_of("file:")))
			continue;
		rc = output ? adopt_output(e->l, j, e->folder, name) : adopt_input(e->l, j, e->folder, name);
	}
	return rc;
}

/* Events of one run go into one job. 0 also where it is no run event; then e->taken stays as it was. -ENOMEM. */
static int take_event(struct events *e, const json_t *event)
{
	struct str run = adopt_member(json_object_get(event, "run"), "runId"), type = adopt_member(event, "eventType");
	const json_t *job = json_object_get(event, "job");
	if (!run.n || !json_is_object(job))
		return 0;
	uint64_t key = hash_str(run);
	uint32_t at = map_get(&e->runs, key);
	int rc = 0;
	if (at == VEC_NONE) {
		struct adopt_job *j = adopt_job_new(e->l, ADOPT_openlineage, e->source);
		at = (uint32_t)(e->l->v.n - 1);
		if (!j || !map_set(&e->runs, key, at) || !(j->name = adopt_text(e->l, adopt_member(job, "name"))))
			return -ENOMEM;
	}
	struct adopt_job *j = &e->l->v.v[at];
	int64_t time = adopt_date(adopt_member(event, "eventTime"));
	bool over = str_is(type, "COMPLETE") || str_is(type, "FAIL") || str_is(type, "ABORT");
	if (time != TIME_NONE && !over && (j->start == TIME_NONE || time < j->start))
		j->start = time;
	if (time != TIME_NONE && over)
		j->end = time;
	j->ended |= over && !str_is(type, "ABORT");
	j->code = over ? !str_is(type, "COMPLETE") : j->code;
	rc = take_datasets(e, j, json_object_get(event, "inputs"), false);
	if (rc == 0)
		rc = take_datasets(e, j, json_object_get(event, "outputs"), true);
	e->taken++;
	return rc;
}

/* One event, or an array of them. 0, -ENOMEM. */
static int take_document(struct events *e, const json_t *o)
{
	int rc = 0;
	if (!json_is_array(o))
		return take_event(e, o);
	for (size_t i = 0; i < json_array_size(o) && rc == 0; i++)
		rc = take_event(e, json_array_get(o, i));
	return rc;
}

/* One a line; what is no event is passed over, for other programs write to the same files. 0, -ENOMEM. */
static int take_lines(struct events *e, struct str text)
{
	int rc = 0;
	for (size_t at = 0; at < text.n && rc == 0;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
		json_error_t where;
		json_t *o = n > 1 ? json_loadb(text.p + at, n, 0, &where) : NULL;
		rc = o ? take_document(e, o) : 0;
		json_decref(o);
		at += n + 1;
	}
	return rc;
}

/* name: of a file of events. 0, also where it holds none; -ENOMEM. */
int adopt_read_openlineage(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	json_error_t where;
	buf_printf(&source, "%s/%s", path, name);
	int rc = adopt_file(folder, name, &text);
	struct str begin = str_n(text.p, text.n < 65536 ? text.n : 65536);
	bool events =
	    rc == 0 && begin.n && memmem(begin.p, begin.n, "\"eventTime\"", 11) && memmem(begin.p, begin.n, "\"runId\"", 7);
	if (events) {
		struct events e = {.l = l, .folder = path, .source = buf_cstr(&source)};
		json_t *o = json_loadb(text.p, text.n, 0, &where);
		rc = o ? take_document(&e, o) : take_lines(&e, buf_view(&text));
		if (rc == 0 && !e.taken)
			rc = adopt_pass(l, e.source, "it contains no run event");
		l->sources[ADOPT_openlineage] += e.taken > 0;
		json_decref(o);
		map_release(&e.runs);
	}
	buf_release(&text);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}
