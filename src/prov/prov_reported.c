/* prov_reported.c - what was told of runs, as values of theirs: results, what was to stay and what might change, what
 * their programs said of themselves. */
#include "prov/out.h"
#include "prov/prov_int.h"
#include "query/app_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const enum prov_attr reported_attr[REPORTED_PARTS] = {ATTR_result, ATTR_invariant, ATTR_variant, ATTR_parameter};

/* Appends the items as a decoded list has them, and counts them in *n. */
static void append_strings(struct buf *to, size_t *n, const struct strlist *l)
{
	struct str s;
	for (size_t i = 0, at = 0; out_list_next(l, &i, &at, &s); ++*n) {
		buf_varint(to, s.n);
		buf_str(to, s);
	}
}

/* NAME=VALUE, where there is a value. */
static void append_pair(struct buf *to, size_t *n, struct str name, struct str value, bool with_value)
{
	buf_varint(to, name.n + (with_value ? 1 + value.n : 0));
	buf_str(to, name);
	if (with_value) {
		buf_char(to, '=');
		buf_str(to, value);
	}
	++*n;
}

/* The shortest digits that give the same number; "nan" for none. */
static void append_last_metric(struct buf *to, size_t *n, const struct app_log_metric *f)
{
	char text[40];
	for (int digits = 15; digits <= 17; digits++) { /* as short as it can be and still be the same */
		snprintf(text, sizeof(text), "%.*g", digits, f->last);
		if (strtod(text, NULL) == f->last)
			break;
	}
	append_pair(to, n, f->name, str_of(f->last != f->last ? "nan" : text), true);
}

/* Beside the lists of p->logged. */
enum { LOG_CONFIG, LOG_VERSION, LOG_METRIC, LOG_TAG, LOG_USED, LOG_GENERATED };
static const enum prov_attr logged_attr[LOGGED_PARTS] = {
    [LOG_CONFIG] = ATTR_configuration, [LOG_VERSION] = ATTR_configurationVersion,
    [LOG_METRIC] = ATTR_metric,        [LOG_TAG] = ATTR_tag,
    [LOG_USED] = ATTR_saidUsed,        [LOG_GENERATED] = ATTR_saidGenerated};

/* What one of the run's programs told of itself: its type, settings and last figures. */
static void append_app_run(struct prov_source *p, const struct app_log_run *run, size_t n[LOGGED_PARTS])
{
	struct buf *to = p->logged;
	buf_str(&p->run_type, run->type);
	for (size_t k = 0; k < run->n_configs; k++) {
		const struct app_log_config *c = &run->configs[k];
		append_pair(&to[LOG_CONFIG], &n[LOG_CONFIG], c->name, c->value, true);
		if (c->version.n)
			append_pair(&to[LOG_VERSION], &n[LOG_VERSION], c->name, c->version, true);
	}
	for (size_t k = 0; k < run->n_metrics; k++)
		append_last_metric(&to[LOG_METRIC], &n[LOG_METRIC], &run->metrics[k]);
}

/* The list that a word goes to; -1 none. */
static int part_of_word(const struct event_app_word *w)
{
	switch (w->said) {
	case TERM_said_tag:
		return LOG_TAG;
	case TERM_said_used:
		return LOG_USED;
	case TERM_said_generated:
		return LOG_GENERATED;
	default:
		return -1;
	}
}

/* Attributes from the logs of applications in that run. -errno. */
static int set_app_lists(struct prov_source *p, store_id run)
{
	struct app_log d;
	struct app_log_run *runs = NULL;
	size_t n[LOGGED_PARTS] = {0}, n_runs = 0;
	struct buf *to = p->logged;
	int r = app_log_load(p->s, run, &d);
	for (size_t i = 0; i < LOGGED_PARTS; i++)
		buf_reset(&to[i]);
	buf_reset(&p->run_type);
	if (r == 0 && !app_log_is_empty(&d))
		r = app_log_runs(&d, &runs, &n_runs);
	for (size_t i = 0; i < n_runs; i++)
		append_app_run(p, &runs[i], n);
	for (size_t i = 0; r == 0 && i < d.words.n; i++) {
		const struct event_app_word *w = &d.words.v[i].ev.app_word;
		int part = part_of_word(w);
		if (part >= 0 && app_log_image_of(&d, &d.words.v[i], w->app))
			append_pair(&to[part], &n[part], w->name, w->value, part == LOG_TAG);
	}
	app_log_runs_free(runs, n_runs);
	app_log_release(&d);
	for (size_t i = 0; r == 0 && i < LOGGED_PARTS; i++) {
		r = to[i].failed ? -ENOMEM : 0;
		prov_put_list(p, logged_attr[i], &(struct strlist){.count = n[i], .raw = buf_view(&to[i])});
	}
	prov_put_text(p, ATTR_runType, buf_view(&p->run_type));
	return r;
}

int prov_put_reported(struct prov_source *p, store_id run)
{
	struct reported_list results, machine = {0};
	size_t n[REPORTED_PARTS] = {0};
	int r = store_reported(p->s, run, EVENT_result, &results);
	if (r == 0)
		r = store_reported(p->s, run, EVENT_machine, &machine);
	for (size_t i = 0; i < REPORTED_PARTS; i++)
		buf_reset(&p->reported[i]);
	for (size_t i = 0; r == 0 && i < results.n; i++)
		append_strings(&p->reported[0], &n[0], &results.v[i].ev.result.value);
	for (size_t i = 0; r == 0 && i < machine.n; i++) {
		const struct event_machine *m = &machine.v[i].ev.machine;
		append_strings(&p->reported[1], &n[1], &m->invariant);
		append_strings(&p->reported[2], &n[2], &m->variant);
		append_strings(&p->reported[3], &n[3], &m->parameter);
	}
	reported_list_release(&results);
	reported_list_release(&machine);
	for (size_t i = 0; r == 0 && i < REPORTED_PARTS; i++) {
		if (p->reported[i].failed)
			return -ENOMEM;
		prov_put_list(p, reported_attr[i], &(struct strlist){.count = n[i], .raw = buf_view(&p->reported[i])});
	}
	return r < 0 ? r : set_app_lists(p, run);
}
