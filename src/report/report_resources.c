/* report_resources.c - what a run used, and what it was held to. */
#include "answer/summaries.h"
#include "report/report_int.h"
#include "report/report_series.h"
#include "summary/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "memory=2147483648": its name, and the numbers behind it: "peak/limit" of one that was exceeded. */
static bool read_limit(struct str s, char name[64], double *ret_peak, double *ret_limit, const char **ret_unit)
{
	char text[160], *end;
	const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
	if (!eq || s.n >= sizeof(text) || (size_t)(eq - s.p) >= 64)
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	memcpy(name, text, (size_t)(eq - s.p));
	name[eq - s.p] = '\0';
	const struct limit_unit *unit = limit_unit_of(name);
	double scale = 1;
	for (unsigned i = 0; i < unit->decimals; i++)
		scale *= 10;
	*ret_unit = unit->unit;
	*ret_peak = strtod(text + (eq - s.p) + 1, &end) / scale;
	*ret_limit = *end == '/' ? strtod(end + 1, NULL) / scale : *ret_peak;
	return true;
}

/* A limit that cannot be read is left out. exceeded: with the peak. */
static void add_limits(const struct strlist *l, bool exceeded, json_t *list)
{
	struct str s;
	char name[64];
	double peak, limit;
	const char *unit;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		if (!read_limit(s, name, &peak, &limit, &unit))
			continue;
		json_t *one = json_object();
		js_text(one, "name", name);
		js_put(one, "limit", json_real(limit));
		js_text(one, "unit", unit);
		if (exceeded)
			js_put(one, "peak", json_real(peak));
		js_add(list, one);
	}
}

/* Never ends the walk. Always 0. */
static int add_limits_of(void *arg, const struct summary_info *s)
{
	add_limits(&s->limits, false, arg);
	add_limits(&s->beyond, true, arg);
	return 0;
}

/* The limits of all its tasks. 0 or -errno. */
static int write_limits(const struct report *r, struct buf *b)
{
	json_t *list = json_array();
	int rc = store_summaries(r->a->store, r->run, add_limits_of, list);
	char *text = rc == 0 ? json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	json_decref(list);
	if (rc == 0 && !text)
		rc = -ENOMEM;
	if (text)
		buf_str(b, str_of(text));
	free(text);
	return rc;
}

int report_resources(const struct report *r, struct err *err, struct buf *b)
{
	struct run_info run;
	int64_t n = 0;
	int rc = 0;
	buf_str(b, str_of("\"resources\":"));
	if (r->run)
		n = summaries_json(r->a, r->run, b);
	else
		buf_str(b, str_of("null"));
	buf_str(b, str_of(",\n\"limits\":"));
	if (n > 0)
		rc = write_limits(r, b);
	else
		buf_str(b, str_of("[]"));
	buf_str(b, str_of(",\n\"series\":"));
	if (rc < 0 || n < 0)
		return rc < 0 ? rc : (int)n;
	if (!r->q->series) {
		buf_str(b, str_of("null"));
		return 0;
	}
	rc = r->run ? store_run_told(r->a->store, r->run, &run) : 0;
	if (rc == 0)
		return err_set(err, EINVAL, "no run is known that '%s' could be of", r->q->series);
	return rc < 0 ? rc : report_series(r->q->series, run.start, err, b);
}
