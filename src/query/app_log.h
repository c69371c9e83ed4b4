/* app_log.h - what programs told of themselves in a run, joined: who told it, what the configuration was in the end,
 * how each metric went.
 *
 * Memory: as reported.c's lists, some 200 bytes a word. Strings live as long as struct app_log. Time: 2 us a word. */
#ifndef STEMMA_QUERY_APP_LOG_H
#define STEMMA_QUERY_APP_LOG_H

#include "store/store.h"

struct app_log_image {
	const struct reported_event *app; /* with ev.app */
	size_t words;                     /* that it told */
};
struct app_log {
	struct store *s;
	struct reported_list apps, words, metrics, activities, ranks, ios;
	struct app_log_image *images; /* by session and seq; of an image that was told twice the later one */
	size_t n_images;
};

/* Of one run, or (run 0) of all. 0 or -errno. Release it in any case. */
int app_log_load(struct store *s, store_id run, struct app_log *ret);
void app_log_release(struct app_log *d);
/* Was nothing said? */
bool app_log_is_empty(const struct app_log *d);
/* How many words found no room. */
uint64_t app_log_dropped(const struct app_log *d);
/* Who told it; NULL: the same was told again. app: what the event says. */
const struct app_log_image *app_log_image_of(const struct app_log *d, const struct reported_event *t, uint64_t app);
/* The execution that told it: 1, 0 (not known), -errno. */
int app_log_exec(const struct app_log *d, const struct app_log_image *by, int64_t time, store_id *ret);
double app_log_number(const struct event_app_metric *m);

/* ---- a run's configuration and metrics, by name ---- */

struct app_log_config {
	struct str name, value, version;
	int64_t time;
	size_t values; /* different ones it had */
};
struct app_log_metric {
	struct str name;
	size_t n; /* times it was told */
	double first, last, least, most, sum;
	bool stepped;
	int64_t last_step, least_step, most_step;
};
struct app_log_run {
	store_id run;
	struct str type; /* "" none was told */
	struct app_log_config *configs;
	size_t n_configs;
	struct app_log_metric *metrics;
	size_t n_metrics;
};
/* Those of each run that said something, in order of run ids. Of what several of its processes told, what was told last
 * counts. Release with app_log_runs_free. 0 or -ENOMEM. */
int app_log_runs(const struct app_log *d, struct app_log_run **ret, size_t *ret_n);
void app_log_runs_free(struct app_log_run *v, size_t n);
/* The setting of that name. NULL: there is none. */
const struct app_log_config *app_log_config_of(const struct app_log_run *r, struct str name);
/* The metric of that name. NULL: there is none. */
const struct app_log_metric *app_log_metric_of(const struct app_log_run *r, struct str name);

#endif
