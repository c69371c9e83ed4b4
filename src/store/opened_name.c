/* opened_name.c - of a file with several names (hard links), the one by which an execution opened it: the name that the
 * log gave the file last before the access. The recorder tells the name anew where it is another one (doc/graph.md,
 * "Names"). */
#include "store/read.h"

#include <errno.h>
#include <stdlib.h>

/* Order of qsort: by file, then by time. */
static int compare_opens(const void *pa, const void *pb)
{
	const struct first_open *a = pa, *b = pb;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* What the execution opened, each file once, into the reader. 0 or -errno. */
static int list_opens(struct store *s, store_id exec)
{
	struct reader *r = store_reader(s);
	struct access_reader reader;
	struct pacc a;
	if (s->viewing && r->opened.exec == exec)
		return 0;
	r->opened.exec = 0;
	r->opened.v.n = 0;
	int rc = access_reader_begin(&reader, s, exec);
	while (rc == 1 && (rc = access_reader_next(&reader, &a)) == 1) {
		struct first_open *one = a.nuse ? vec_add(&r->opened.v) : NULL;
		if (a.nuse && !one)
			return -ENOMEM;
		if (one)
			*one = (struct first_open){a.self, reader.section.session, a.seq, a.start};
	}
	if (rc < 0)
		return rc;
	if (r->opened.v.n)
		qsort(r->opened.v.v, r->opened.v.n, sizeof(*r->opened.v.v), compare_opens);
	r->opened.exec = exec;
	return 0;
}

/* Finds when the execution opened a file first. NULL: the execution has not read it. */
static const struct first_open *find_open(const struct reader *r, store_id file)
{
	size_t lo = 0, hi = r->opened.v.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (r->opened.v.v[mid].file < file)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->opened.v.n && r->opened.v.v[lo].file == file ? &r->opened.v.v[lo] : NULL;
}

/* The last fact before the access that gives the file a name. */
struct last_told {
	const struct first_open *open;
	uint64_t seq, path; /* path: row, 0 none */
};

/* Looks for the last name of the open file before it was opened. What pname_fact_next gives at the end: 0, -errno. */
static int look_at_facts(struct store *s, struct cur c, uint64_t path, struct last_told *last)
{
	struct pname_fact f;
	int rc;
	while ((rc = pname_fact_next(s, &c, &f)) == 1)
		if (f.session == last->open->session && f.file == last->open->file && f.seq < last->open->seq &&
		    f.seq >= last->seq && !f.is_old && f.op != TERM_nameop_unlink && f.op != TERM_nameop_replace) {
			last->seq = f.seq;
			last->path = path;
		}
	return rc;
}

/* The facts of a path: those in its row, and those of the access's session beside it. 0 or -errno. */
static int look_at_path(struct store *s, uint64_t path, struct last_told *last)
{
	int64_t at;
	uint64_t flags = 0;
	sqlite3_stmt *st = store_stmt(s, SQL_path_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 2));
		flags = path_facts_begin(s, &c, &at);
		rc = look_at_facts(s, c, path, last);
	}
	sqlite3_reset(st);
	if (rc < 0 || !(flags & PPATH_SPILLED))
		return rc;
	st = store_stmt(s, SQL_path_fact_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)path);
	sqlite3_bind_int64(st, 2, (int64_t)last->open->session);
	rc = store_step(s, st, NULL);
	if (rc == 1)
		rc = look_at_facts(s, cur_of(column_str(st, 0)), path, last);
	sqlite3_reset(st);
	return rc;
}

/* A stretch of time in which the file had a name. */
struct stretch {
	store_id file;
	int64_t from, to;
};

/* Had the file the name at q->from? Then q is that stretch. */
static int find_stretch(void *arg, const struct pname *n)
{
	struct stretch *q = arg;
	if (n->file != q->file || n->from > q->from || n->to <= q->from)
		return 0;
	q->from = n->from;
	q->to = n->to;
	return 1;
}

/* Whether the name was the file's in some of the time. */
static int overlaps_stretch(void *arg, const struct pname *n)
{
	const struct stretch *q = arg;
	return n->file == q->file && n->from < q->to && q->from < n->to;
}

/* Did the file have the name `path` when it was opened, and at some time that and the name `shown`, both? 1; 2: and it
 * has `path` no more; 0; -errno. */
static int are_both_names(struct store *s, uint64_t path, uint64_t shown, const struct first_open *open)
{
	struct stretch q = {open->file, open->start, 0};
	int rc = read_names(s, path, find_stretch, &q, NULL);
	if (rc > 0)
		rc = read_names(s, shown, overlaps_stretch, &q, NULL);
	return rc > 0 && q.to != TIME_NEVER ? 2 : rc;
}

/* Finds the name by which an execution opened a file. paths: all names that the file ever had; shown: the row of the
 * one that it shows. As store_opened_name. */
static int find_opened_name(struct store *s, const struct ids *paths, uint64_t shown, const struct first_open *open,
                            struct buf *ret)
{
	struct last_told last = {.open = open};
	int rc = 0;
	for (size_t i = 0; i < paths->n && rc >= 0; i++)
		rc = look_at_path(s, paths->v[i], &last);
	if (rc < 0 || !last.path || last.path == shown)
		return rc < 0 ? rc : 0;
	rc = are_both_names(s, last.path, shown, open);
	if (rc > 0)
		store_path(s, last.path, ret);
	return ret->failed ? -ENOMEM : rc;
}

int store_name_at(struct store *s, store_id file, int64_t t, struct buf *ret)
{
	struct reader *r = store_reader(s);
	struct ids paths = {0};
	int rc = r ? read_stored_file(s, file, &r->file) : -ENOMEM, found = 0;
	for (size_t i = 0; rc > 0 && i < r->file.paths.n; i++)
		rc = ids_add(&paths, r->file.paths.v[i]) < 0 ? -ENOMEM : rc;
	for (size_t i = 0; rc > 0 && !found && i < paths.n; i++) {
		struct stretch q = {file, t, 0};
		found = read_names(s, paths.v[i], find_stretch, &q, NULL);
		if (found > 0)
			store_path(s, paths.v[i], ret);
	}
	free(paths.v);
	return rc < 0 ? rc : found < 0 ? found : ret->failed ? -ENOMEM : found;
}

int store_opened_name(struct store *s, store_id exec, store_id file, struct buf *ret)
{
	struct reader *r = store_reader(s);
	struct ids paths = {0};
	struct buf text = {0};
	uint64_t shown = 0;
	bool named;
	int rc = r ? read_stored_file(s, file, &r->file) : -ENOMEM;
	if (rc <= 0 || r->file.paths.n < 2 || r->file.kind != TERM_kind_regular)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < r->file.paths.n && rc >= 0; i++)
		rc = ids_add(&paths, r->file.paths.v[i]);
	if (rc >= 0)
		rc = read_file_path(s, &r->file, &text, &named);
	if (rc >= 0)
		rc = read_path_id(s, buf_view(&text), &shown);
	if (rc >= 0)
		rc = list_opens(s, exec);
	const struct first_open *open = rc < 0 ? NULL : find_open(r, file);
	if (open)
		rc = find_opened_name(s, &paths, shown, open, ret);
	free(paths.v);
	buf_release(&text);
	return open || rc < 0 ? rc : 0;
}
