/* app_log_json.c - what programs of a run told of themselves. */
#include "answer/show/show.h"
#include "query/app_log.h"

/* What all have: when, who, in which activity. 0, -errno. app, thread and within are left out where they are 0 or not
 * known. */
static int put_common(const struct app_log *d, json_t *o, const struct reported_event *t, uint64_t app, uint64_t thread,
                      uint64_t within)
{
	const struct app_log_image *by = app_log_image_of(d, t, app);
	store_id exec;
	struct exec_info x;
	int rc = by ? app_log_exec(d, by, t->ev.time, &exec) : 0;
	js_time(o, "time", t->ev.time);
	if (rc == 1)
		rc = store_exec(d->s, exec, &x);
	if (rc == 1)
		js_pub(o, "execution", &x.pub);
	if (thread)
		js_num(o, "thread", thread);
	if (within)
		js_num(o, "within", within);
	return rc < 0 ? rc : 0;
}

/* What the programs said: settings, what they used and made, tags, and the type, whose last one counts. 0, -errno. */
static int words_json(const struct app_log *d, json_t *o)
{
	static const char *const keys[] = {[TERM_said_config] = "configuration",
	                                   [TERM_said_used] = "used",
	                                   [TERM_said_generated] = "generated",
	                                   [TERM_said_tag] = "tags"};
	json_t *lists[sizeof(keys) / sizeof(keys[0])] = {0};
	int rc = 0;
	for (size_t i = 0; i < d->words.n && rc == 0; i++) {
		const struct reported_event *t = &d->words.v[i];
		const struct event_app_word *word = &t->ev.app_word;
		if (!app_log_image_of(d, t, word->app))
			continue;
		if (word->said == TERM_said_type) {
			json_object_del(o, "type");
			js_str(o, "type", word->name);
		}
		if (word->said >= sizeof(keys) / sizeof(keys[0]) || !keys[word->said])
			continue;
		json_t *one = json_object();
		if (!lists[word->said])
			lists[word->said] = json_array();
		js_str(one, "name", word->name);
		if (word->said == TERM_said_config || word->said == TERM_said_tag)
			js_str(one, "value", word->value);
		js_str_if(one, "version", word->version);
		if (word->whole)
			js_num(one, "cut_from", word->whole);
		rc = put_common(d, one, t, word->app, word->thread, word->activity);
		js_add(lists[word->said], one);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (lists[i])
			js_put(o, keys[i], lists[i]);
	return rc;
}

/* Puts the metrics that programs logged. Without the member where nothing was said. 0, -errno. */
static int metrics_json(const struct app_log *d, json_t *o)
{
	json_t *list = d->metrics.n ? json_array() : NULL;
	int rc = 0;
	for (size_t i = 0; i < d->metrics.n && rc == 0; i++) {
		const struct reported_event *t = &d->metrics.v[i];
		const struct event_app_metric *m = &t->ev.app_metric;
		if (!app_log_image_of(d, t, m->app))
			continue;
		json_t *one = json_object();
		js_str(one, "name", m->name);
		js_float(one, "value", app_log_number(m));
		if (m->stepped)
			js_put(one, "step", json_integer(m->step));
		rc = put_common(d, one, t, m->app, m->thread, m->activity);
		js_add(list, one);
	}
	if (list)
		js_put(o, "metrics", list);
	return rc;
}

/* Adds "activities" to o only if there are some. 0, -errno. */
static int activities_json(const struct app_log *d, json_t *o)
{
	json_t *list = d->activities.n ? json_array() : NULL;
	int rc = 0;
	for (size_t i = 0; i < d->activities.n && rc == 0; i++) {
		const struct reported_event *t = &d->activities.v[i];
		const struct event_app_activity *a = &t->ev.app_activity;
		if (!app_log_image_of(d, t, a->app))
			continue;
		json_t *one = json_object();
		js_num(one, "n", a->n);
		js_str(one, "name", a->name);
		js_time(one, "end", a->until);
		rc = put_common(d, one, t, a->app, a->thread, a->activity);
		js_add(list, one);
	}
	if (list)
		js_put(o, "activities", list);
	return rc;
}

/* Puts what programs said of MPI. Without `ranks` and `mpi_io` where there are none. 0, -errno. */
static int mpi_json(const struct app_log *d, json_t *o)
{
	json_t *ranks = d->ranks.n ? json_array() : NULL, *ios = d->ios.n ? json_array() : NULL;
	int rc = 0;
	for (size_t i = 0; i < d->ranks.n && rc == 0; i++) {
		const struct event_mpi_rank *r = &d->ranks.v[i].ev.mpi_rank;
		if (!app_log_image_of(d, &d->ranks.v[i], r->app))
			continue;
		json_t *one = json_object();
		js_num(one, "rank", r->rank);
		js_num(one, "size", r->size);
		js_num(one, "thread_level", r->level);
		js_str_if(one, "library", r->library);
		rc = put_common(d, one, &d->ranks.v[i], r->app, 0, 0);
		js_add(ranks, one);
	}
	for (size_t i = 0; i < d->ios.n && rc == 0; i++) {
		const struct event_mpi_io *m = &d->ios.v[i].ev.mpi_io;
		if (!app_log_image_of(d, &d->ios.v[i], m->app))
			continue;
		json_t *one = json_object();
		js_str(one, "path", m->path);
		js_text(one, "operation", term_name(SET_mpiop, m->op));
		js_bool(one, "collective", m->collective);
		js_num(one, "ranks", m->ranks);
		js_num(one, "calls", m->calls);
		js_num(one, "failed", m->failed);
		js_num(one, "bytes_asked", m->bytes);
		js_big(one, "time_spent", m->spent);
		js_time(one, "first", m->first);
		js_time(one, "last", m->last);
		rc = put_common(d, one, &d->ios.v[i], m->app, 0, 0);
		js_add(ios, one);
	}
	if (ranks)
		js_put(o, "ranks", ranks);
	if (ios)
		js_put(o, "mpi_io", ios);
	return rc;
}

/* `annotations` only where there is something in it. 0, -errno. */
static int annotations_json(const struct app_log *d, json_t *o)
{
	json_t *a = json_object();
	uint64_t dropped = app_log_dropped(d);
	int rc = words_json(d, a);
	if (rc == 0)
		rc = metrics_json(d, a);
	if (rc == 0)
		rc = activities_json(d, a);
	if (dropped)
		js_num(a, "dropped", dropped);
	if (json_object_size(a))
		js_put(o, "annotations", a);
	else
		json_decref(a);
	return rc == 0 ? mpi_json(d, o) : rc;
}

int app_log_json(struct store *s, store_id run, json_t *o)
{
	struct app_log d;
	int rc = app_log_load(s, run, &d);
	if (rc == 0 && !app_log_is_empty(&d))
		rc = annotations_json(&d, o);
	app_log_release(&d);
	return rc;
}
