/* said.h - what programs told of themselves in a run, joined: who told it, what the configuration was in the end, how
 * each figure went.
 *
 * Memory: as told.h's lists, some 200 bytes a word. Strings live as long as struct said. Time: 2 us a word. */
#ifndef STEMMA_QUERY_SAID_H
#define STEMMA_QUERY_SAID_H

#include "store/store.h"

struct said_image {
	const struct told_event *app; /* with ev.app */
	size_t words;                 /* that it told */
};
struct said {
	struct store *s;
	struct told_list apps, words, metrics, activities, ranks, ios;
	struct said_image *images; /* by session and seq; of an image that was told twice the later one */
	size_t n_images;
};

/* Of one run, or (run 0) of all. 0 or -errno. Release it in any case. */
int said_load(struct store *s, store_id run, struct said *ret);
void said_release(struct said *d);
/* Was nothing said? */
bool said_nothing(const struct said *d);
/* Who told it; NULL: the same was told again. app: what the event says. */
const struct said_image *said_by(const struct said *d, const struct told_event *t, uint64_t app);
/* The execution that told it: 1, 0 (not known), -errno. */
int said_exec(const struct said *d, const struct said_image *by, int64_t time, store_id *ret);
double said_number(const struct event_app_metric *m);

/* ---- a run's configuration and figures, by name ---- */

struct said_config {
	struct str name, value, version;
	int64_t time;
	size_t values; /* different ones it had */
};
struct said_figure {
	struct str name;
	size_t n; /* times it was told */
	double first, last, least, most, sum;
	bool stepped;
	int64_t last_step, least_step, most_step;
};
struct said_run {
	store_id run;
	struct str type; /* "" none was told */
	struct said_config *configs;
	size_t n_configs;
	struct said_figure *figures;
	size_t n_figures;
};
/* Those of each run that said something, in order of run ids. Of what several of its processes told, what was told last
 * counts. Release with said_runs_free. 0 or -ENOMEM. */
int said_runs(const struct said *d, struct said_run **ret, size_t *ret_n);
void said_runs_free(struct said_run *v, size_t n);
/* NULL: there is none. */
const struct said_config *said_config_of(const struct said_run *r, struct str name);
const struct said_figure *said_figure_of(const struct said_run *r, struct str name);

#endif
