#include "archive/auto.h"

#include "archive/requests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNLIKE_FEW 20
/* A limit is half as much again as the most that is asked for, and no less than that: a busy machine is no fault of the
 * task. */
#define ROOM 1.5
#define LEAST_WALL (60 * 1e9)
#define LEAST_MEMORY (64.0 * 1048576)

/* Opens the store for questions about past tasks. index: brings it up to date; if that cannot be, what is indexed is
 * opened as it is. 0; -ENOENT: there is no record; -errno. */
static int open_indexed_store(const char *home, bool index, struct err *err, struct store **ret)
{
	int rc = store_open(home, STORE_READ, err, ret);
	if (!index || (rc < 0 && rc != -ENOENT)) /* logs without an index are asked for the first time */
		return rc;
	if (rc == 0)
		store_close(*ret);
	struct err again = {0};
	rc = store_open(home, STORE_WRITE, &again, ret);
	if (rc == 0 && (rc = store_index(*ret, NULL, &again, NULL)) < 0)
		store_close(*ret);
	if (rc == 0)
		return 0;
	return store_open(home, STORE_READ, err, ret); /* what is indexed is better than nothing */
}

int archive_limits(const char *home, char *const *argv, const char *system_extra, struct err *err, struct buf *ret,
                   size_t *ret_n)
{
	struct advice_options o = {.method = -1, .input = -1, .system_extra = system_extra};
	struct store *s;
	struct advice a;
	*ret_n = 0;
	int rc = open_indexed_store(home, true, err, &s);
	if (rc == -ENOENT) {
		err_clear(err);
		err_set(err, 0, "there is no record yet");
		return 0;
	}
	if (rc < 0)
		return rc;
	rc = advise_task(s, &o, argv, 0, err, &a);
	store_close(s);
	if (rc <= 0)
		return rc;
	*ret_n = a.tasks;
	if (a.tasks < ADVICE_FEW) {
		advice_release(&a);
		err_set(err, 0, "only %zu similar earlier run%s %s recorded; %d are needed", *ret_n, str_plural(*ret_n),
		        *ret_n == 1 ? "is" : "are", ADVICE_FEW);
		return 0;
	}
	for (int r = 0; r < ADVICE_RESOURCES; r++) {
		struct advised *of = &a.of[r];
		for (int m = 0; m < METHODS; m++)
			if (of->answered[m] && of->answer[m] > of->value)
				of->value = of->answer[m];
		of->value *= ROOM;
	}
	a.of[ADVICE_wall].value = fmax(a.of[ADVICE_wall].value, LEAST_WALL);
	a.of[ADVICE_memory].value = fmax(a.of[ADVICE_memory].value, LEAST_MEMORY);
	struct buf words = {0};
	rc = request_write(REQUEST_stemma, &a, &words);
	advice_release(&a);
	static const char option[] = "--limit ";
	if (rc == 0 && words.n > sizeof(option)) { /* and without the end of line */
		buf_add(ret, words.p + sizeof(option) - 1, words.n - sizeof(option));
		rc = ret->failed ? -ENOMEM : 1;
	} else if (rc == 0) {
		err_set(err, 0, "no similar earlier run has the figures that a limit needs");
	}
	buf_release(&words);
	return rc;
}

/* ---- unlike ---- */

static const unsigned char looked_at[] = {FIGURE_wall_time,    FIGURE_cpu_time,           FIGURE_memory_resident_peak,
                                          FIGURE_bytes_read,   FIGURE_bytes_written,      FIGURE_processes_total,
                                          FIGURE_threads_peak, FIGURE_disk_footprint_peak};
enum { LOOKED_AT = sizeof(looked_at) };

/* Appends an amount with its unit. v: nanoseconds, bytes or a number, as the figure's unit is. */
static void put_amount(struct buf *b, enum figure_name f, int64_t v)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double d = (double)v;
	size_t i = 0;
	if (strcmp(figure_unit(f), "s") == 0) {
		buf_printf(b, "%.3g s", d / 1e9);
	} else if (strcmp(figure_unit(f), "B") == 0) {
		for (; d >= 1024 && i + 1 < sizeof(units) / sizeof(*units); i++)
			d /= 1024;
		buf_printf(b, "%.*f %s", i ? 1 : 0, d, units[i]);
	} else {
		buf_printf(b, "%lld", (long long)v);
	}
}

/* k such that mean +- k sd of n values of a normal distribution holds 99 % of it with confidence 95 %: Howe's, with
 * Wilson and Hilferty's quantile of chi-square. */
static double tolerance_factor(size_t n)
{
	const double z_99 = 2.5758293, z_05 = -1.6448536;
	double k = (double)(n - 1), c = 2 / (9 * k), root = 1 - c + z_05 * sqrt(c);
	return z_99 * sqrt(k * (1 + 1 / (double)n) / (k * root * root * root));
}

/* Is a figure far from those of past tasks? By the logarithms of the complete figures of tasks that were not
 * stopped. False also where there are fewer than UNLIKE_FEW, or the value lies between those seen. *ret_min and
 * *ret_max are set only where *ret_n is not 0. */
static bool is_unlike(const struct history *h, size_t column, int64_t value, size_t *ret_n, int64_t *ret_min,
                      int64_t *ret_max)
{
	double mean = 0, m2 = 0;
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct history_figure *f = &h->v[i].figure[column];
		if (!f->known || !f->complete || (h->v[i].end != TASK_WHOLE && h->v[i].end != TASK_UNKNOWN))
			continue;
		double x = log((double)f->value + 1), d = x - mean;
		n++;
		mean += d / (double)n;
		m2 += d * (x - mean);
		*ret_min = n == 1 || f->value < *ret_min ? f->value : *ret_min;
		*ret_max = n == 1 || f->value > *ret_max ? f->value : *ret_max;
	}
	*ret_n = n;
	if (n < UNLIKE_FEW || (value >= *ret_min && value <= *ret_max))
		return false;
	double reach = tolerance_factor(n) * sqrt(m2 / (double)(n - 1));
	return fabs(log((double)value + 1) - mean) > reach;
}

/* The task itself may be indexed already. */
static void drop_run(struct history *h, uint64_t row)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].run != row)
			h->v[n++] = h->v[i];
	h->n = n;
}

/* The command as a packed list: release the bytes. */
static struct strlist pack_argv(char *const *argv, struct buf *bytes)
{
	struct strlist l = {0};
	for (; argv[l.count]; l.count++) {
		buf_varint(bytes, strlen(argv[l.count]));
		buf_str(bytes, str_of(argv[l.count]));
	}
	l.raw = buf_view(bytes);
	return l;
}

/* A sentence for each figure of the task that is unlike those of the history. How many there are. */
static int tell_unlike(const struct history *h, const struct summary *m, struct buf *ret)
{
	int found = 0;
	for (size_t i = 0; i < LOOKED_AT; i++) {
		enum figure_name f = (enum figure_name)looked_at[i];
		int64_t min = 0, max = 0;
		size_t n;
		if (!m->figure[f].known || !is_unlike(h, i, m->figure[f].value, &n, &min, &max))
			continue;
		buf_printf(ret, "%s%s is ", found++ ? "\n" : "", figure_key(f));
		put_amount(ret, f, m->figure[f].value);
		buf_printf(ret, "; %zu similar tasks had ", n);
		put_amount(ret, f, min);
		buf_printf(ret, " to ");
		put_amount(ret, f, max);
	}
	return found;
}

int archive_unlike(const char *home, const struct summary *m, struct buf *ret)
{
	struct advice_options o = {.method = -1, .input = -1};
	struct err ignored = {0};
	struct store *s;
	struct history h = {0};
	struct buf raw = {0};
	enum task_key key;
	char *like = NULL;
	if (m->exit_type != EXIT_TYPE_NORMAL || m->exit_status != 0 || !m->argv || !m->argv[0])
		return 0;
	int rc = open_indexed_store(home, false, &ignored, &s);
	if (rc < 0)
		return rc == -ENOENT || rc == -ESTALE ? 0 : rc;
	struct strlist argv = pack_argv(m->argv, &raw);
	rc = advise_history(s, &argv, &o, looked_at, LOOKED_AT, false, &ignored, &h, &key, &like);
	store_id self = 0;
	if (rc == 0 && m->run && store_find_run(s, m->run, &self) == 1)
		drop_run(&h, self);
	int found = rc == 0 ? tell_unlike(&h, m, ret) : 0;
	free(like);
	history_release(&h);
	buf_release(&raw);
	store_close(s);
	return rc < 0 ? rc : ret->failed ? -ENOMEM : found;
}
