/* fsck.c - the logs and the index, held against each other.
 *
 * The logs: each segment is read through, and what is no whole frame is told. The index: SQLite looks at its own pages,
 * then the graph is made again from the logs, as far as they are indexed, and compared line by line with what the rows
 * say: every version, edge and name, so that no edge can lead nowhere unnoticed. */
#include "graph/collect.h"
#include "graph/names.h"
#include "graph/resolve.h"
#include "store/adjacency/adjacency.h"
#include "store/counts.h"
#include "store/dump.h"
#include "store/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Differences beyond this many are counted, not told. */
#define TELL_MAX 20

struct fsck {
	struct store *s;
	struct err *err;
	void (*say)(void *arg, const char *line);
	void *arg;
	int findings;
	struct collect w;
};

static void report_finding(struct fsck *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Says it, in 8 KB at most, and counts it. */
static void report_finding(struct fsck *f, const char *fmt, ...)
{
	char line[8192];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	f->say(f->arg, line);
	f->findings++;
}

/* SQLite's own check: says up to 20 faults. 0, or -errno with a sentence. */
static int check_pages(struct fsck *f)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(f->s->db, "PRAGMA integrity_check(20)", -1, &st, NULL) != SQLITE_OK)
		return store_db_error(f->s, f->err, "cannot check the index");
	int rc;
	while ((rc = store_step(f->s, st, f->err)) == 1) {
		const char *line = (const char *)sqlite3_column_text(st, 0);
		if (line && strcmp(line, "ok"))
			report_finding(f, "index: %s", line);
	}
	sqlite3_finalize(st);
	return rc;
}

/* One finding for each sort of damage in a log. */
static void report_damage(struct fsck *f, const char *path, const struct log_damage *d)
{
	if (d->skipped)
		report_finding(f, "%s: %" PRIu64 " byte%s damaged", path, d->skipped, str_are(d->skipped));
	if (d->torn)
		report_finding(f, "%s: the last %" PRIu64 " byte%s an incomplete frame: a writer died or is still writing",
		               path, d->torn, str_are(d->torn));
	if (d->newer)
		report_finding(f, "%s: %" PRIu64 " block%s of a newer stemma", path, d->newer, str_are(d->newer));
}

struct segment {
	char *path; /* whole; NULL without memory */
	uint64_t done;
};
struct segments {
	struct segment *v;
	size_t n, cap;
};

/* The segments that the index knows. 0, -errno. out has copies of their paths. */
static int list_segments(struct fsck *f, struct segments *out)
{
	sqlite3_stmt *st = store_stmt(f->s, SQL_segment_all, f->err);
	if (!st)
		return -EIO;
	int rc;
	while ((rc = store_step(f->s, st, f->err)) == 1) {
		struct str path = column_str(st, 1);
		struct segment *s = vec_add(out);
		if (!s)
			break;
		*s = (struct segment){NULL, (uint64_t)sqlite3_column_int64(st, 2)};
		bool absolute = path.n && path.p[0] == '/';
		if (asprintf(&s->path, "%s%s%.*s", absolute ? "" : f->s->home, absolute ? "" : "/logs/", (int)path.n, path.p) <
		    0)
			s->path = NULL;
	}
	sqlite3_reset(st);
	return rc == 1 ? -ENOMEM : rc;
}

/* One segment: whole for its damage, as far as indexed for the graph. One that cannot be read is a finding. What is
 * wrong is a finding: 0. -ENOMEM, -errno. */
static int check_segment(struct fsck *f, const struct segment *s)
{
	struct collect whole = {0};
	struct err err = {0};
	uint32_t at, alone;
	if (!s->path || collect_path(&f->w, s->path, &at) < 0)
		return -ENOMEM;
	int rc = collect_path(&whole, s->path, &alone);
	if (rc == 0)
		rc = collect_scan(&whole, alone, 0, UINT64_MAX, &err, NULL);
	if (rc == 0) {
		report_damage(f, s->path, &whole.damage);
		rc = collect_scan(&f->w, at, 0, s->done, &err, NULL);
	}
	collect_release(&whole);
	if (rc < 0 && rc != -ENOMEM) {
		report_finding(f, "%s", err.text);
		rc = 0;
	}
	return rc;
}

/* Compares the index with the logs. 0, -errno. */
static int check_logs(struct fsck *f)
{
	struct segments v = {0};
	int rc = list_segments(f, &v);
	for (size_t i = 0; rc == 0 && i < v.n; i++)
		rc = check_segment(f, &v.v[i]);
	for (size_t i = 0; i < v.n; i++)
		free(v.v[i].path);
	vec_release(&v);
	return rc;
}

/* The graph of the logs as it must be, as text. 0, or -errno with a sentence. */
static int from_logs(struct fsck *f, struct buf *out)
{
	struct graph g = {0};
	struct canon c = {0};
	int64_t lps = 0;
	int rc = store_meta_get(f->s, "skew", &g.skew, f->err);
	if (rc >= 0)
		rc = store_meta_get(f->s, "lps", &lps, f->err);
	g.lps = lps;
	struct ids tombstones = {0};
	if (rc >= 0)
		rc = tombstones_get(f->s, &tombstones);
	size_t dead = tombstones_filter(&tombstones, &f->w);
	free(tombstones.v);
	if (dead)
		report_finding(f, "%zu block%s of runs that were forgotten; to forget the runs again takes %s out", dead,
		               str_are(dead), dead == 1 ? "it" : "them");
	if (rc >= 0)
		rc = collect_feed(&f->w, &g, f->err);
	if (f->w.damage.bad_events)
		report_finding(f, "%" PRIu64 " block%s whole and of events that cannot be read", f->w.damage.bad_events,
		               str_are(f->w.damage.bad_events));
	if (rc == 0)
		rc = graph_finish(&g);
	if (rc == 0)
		rc = names_replay(&g);
	for (size_t i = 0; i < g.files.n; i++)
		g.files.v[i].flags |= GFILE_DIRTY;
	if (rc == 0)
		rc = graph_resolve(&g);
	if (rc == 0) {
		canon_graph(&c, &g);
		rc = canon_finish(&c, out);
	}
	canon_release(&c);
	graph_release(&g);
	return rc;
}

/* Without its line feed; *at moves past it. The caller sees to the end. */
static struct str next_dump_line(const struct buf *b, size_t *at)
{
	struct str rest = {b->p + *at, b->n - *at};
	const char *end = rest.n ? memchr(rest.p, '\n', rest.n) : NULL;
	struct str line = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
	*at += line.n + (end != NULL);
	return line;
}

/* How many lines, both dumps sorted, stand in one only; the first of them are told. */
static uint64_t report_differences(struct fsck *f, const struct buf *logs, const struct buf *index)
{
	size_t a = 0, b = 0;
	uint64_t wrong = 0;
	while (a < logs->n || b < index->n) {
		size_t na = a, nb = b;
		struct str la = a < logs->n ? next_dump_line(logs, &na) : str_of(""),
		           lb = b < index->n ? next_dump_line(index, &nb) : str_of("");
		int side = a >= logs->n ? 1 : b >= index->n ? -1 : str_cmp(la, lb);
		struct str line = side <= 0 ? la : lb;
		if (side && wrong++ < TELL_MAX)
			report_finding(f, "%s: %.*s", side < 0 ? "the index lacks" : "the logs do not say",
			               (int)(line.n < 4096 ? line.n : 4096), line.p);
		a = side <= 0 ? na : a;
		b = side >= 0 ? nb : b;
	}
	return wrong;
}

/* Says what differs, TELL_MAX lines of it, and what helps. */
static void compare_dumps(struct fsck *f, const struct buf *logs, const struct buf *index)
{
	uint64_t wrong = report_differences(f, logs, index);
	if (wrong > TELL_MAX)
		report_finding(f, "and %" PRIu64 " more differences", wrong - TELL_MAX);
	if (wrong)
		f->say(f->arg, "stemma index --rebuild makes the index again from the logs");
}

/* What is kept of how much each run did, against its rows. 0, -errno. */
static int check_counts(struct fsck *f)
{
	store_id *runs = NULL;
	size_t n = 0;
	int rc = store_runs(f->s, 0, &runs, &n);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		int right = counts_check(f->s, runs[i]);
		struct run_info info;
		if (right == 0 && store_run_told(f->s, runs[i], &info) == 1)
			report_finding(f, "the counts of the run %.*s are not what its rows say", (int)info.ulid.n, info.ulid.p);
		rc = right < 0 ? right : 0;
	}
	free(runs);
	return rc;
}

/* Always 0: the check goes on. */
static int report_adjacency(void *arg, enum block_table table, uint64_t id)
{
	report_finding(arg, "the edges of %s %" PRIu64 " that lie beside the index are not what its rows say",
	               table == BLOCK_FILE ? "file" : "process", id);
	return 0;
}

int store_check_counts(struct store *s, void (*say)(void *arg, const char *line), void *arg)
{
	struct fsck f = {.s = s, .say = say, .arg = arg};
	bool viewing = store_view_begin(s, VIEW_PASS) == 0;
	int rc = check_counts(&f);
	if (viewing)
		store_view_end(s);
	return rc < 0 ? rc : f.findings;
}

int store_fsck(struct store *s, void (*say)(void *arg, const char *line), void *arg, struct err *err)
{
	struct fsck f = {.s = s, .err = err, .say = say, .arg = arg};
	struct buf logs = {0}, index = {0};
	struct canon c = {0};
	bool viewing = store_view_begin(s, VIEW_PASS) == 0; /* one state of the index, whoever writes */
	int rc = check_pages(&f);
	if (rc == 0)
		rc = check_logs(&f);
	if (rc == 0)
		rc = from_logs(&f, &logs);
	if (rc == 0) {
		rc = store_canon(s, &c);
		if (rc == -ENOTRECOVERABLE || rc == -EIO) {
			report_finding(&f, "the index cannot be read through: some row is damaged");
			rc = 0;
		} else if (rc == 0) {
			rc = canon_finish(&c, &index);
			if (rc == 0)
				compare_dumps(&f, &logs, &index);
		}
	}
	if (rc == 0)
		rc = check_counts(&f);
	if (rc == 0)
		rc = adj_check(s, report_adjacency, &f);
	if (rc < 0)
		err_set(err, -rc, "cannot check the store");
	if (viewing)
		store_view_end(s);
	canon_release(&c);
	buf_release(&logs);
	buf_release(&index);
	collect_release(&f.w);
	return rc < 0 ? rc : f.findings;
}
