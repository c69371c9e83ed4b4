/* reported.c - what was told of runs: the rows that ix_reported.c writes. */
#include "base/hash.h"
#include "graph/graph.h"
#include "store/read.h"

#include <errno.h>
#include <stdlib.h>

struct row {
	uint64_t session, seq, run, by;
	size_t at, n; /* in the bytes */
};
struct rows {
	VEC(struct row) v;
	struct buf bytes;
};

/* Copies what st holds of an event. 0, -ENOMEM. */
static int append_event_row(struct store *s, sqlite3_stmt *st, struct rows *rows)
{
	const struct ssession *session = store_session(s, (uint64_t)sqlite3_column_int64(st, 0));
	struct str text = column_str(st, 3);
	struct row *r = vec_add(&rows->v);
	if (!r)
		return -ENOMEM;
	*r = (struct row){.session = session ? session->number : 0,
	                  .seq = (uint64_t)sqlite3_column_int64(st, 1),
	                  .run = (uint64_t)sqlite3_column_int64(st, 2),
	                  .by = (uint64_t)sqlite3_column_int64(st, 4),
	                  .at = rows->bytes.n,
	                  .n = text.n};
	buf_str(&rows->bytes, text);
	return rows->bytes.failed ? -ENOMEM : 0;
}

/* Order of qsort: by time, then by session and number. */
static int compare_events_by_time(const void *pa, const void *pb)
{
	const struct reported_event *a = pa, *b = pb;
	if (a->ev.time != b->ev.time)
		return a->ev.time < b->ev.time ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->ev.seq > b->ev.seq) - (a->ev.seq < b->ev.seq);
}

/* By time. ret takes the bytes. 0, -ENOTRECOVERABLE, -ENOMEM; ret is to be released in any case. */
static int decode_event_rows(struct rows *rows, struct reported_list *ret)
{
	*ret = (struct reported_list){.v = calloc(rows->v.n + 1, sizeof(*ret->v)), .bytes = rows->bytes.p};
	rows->bytes = (struct buf){0};
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < rows->v.n; i++) {
		const struct row *r = &rows->v.v[i];
		struct reported_event *t = &ret->v[ret->n];
		const unsigned char *p = (const unsigned char *)ret->bytes + r->at;
		if (event_decode(&p, p + r->n, 0, &t->ev) < 0)
			return -ENOTRECOVERABLE;
		t->session = t->ev.writer = r->session;
		t->ev.seq = r->seq;
		t->run = r->run;
		bool of_file = t->ev.kind == EVENT_h5_object || t->ev.kind == EVENT_h5_part || t->ev.kind == EVENT_h5_copy;
		t->file = of_file ? r->by : 0;
		ret->n++;
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_events_by_time);
	return 0;
}

/* Collects the events that a statement selects. st: bound; it is reset. As decode_event_rows. */
static int collect_events(struct store *s, sqlite3_stmt *st, struct reported_list *ret)
{
	struct rows rows = {0};
	int rc;
	while ((rc = store_step(s, st, NULL)) == 1)
		if ((rc = append_event_row(s, st, &rows)) < 0)
			break;
	sqlite3_reset(st);
	if (rc == 0)
		rc = decode_event_rows(&rows, ret);
	vec_release(&rows.v);
	buf_release(&rows.bytes);
	return rc;
}

int store_reported(struct store *s, store_id run, uint64_t kind, struct reported_list *ret)
{
	*ret = (struct reported_list){0};
	sqlite3_stmt *st = store_stmt(s, run ? SQL_told_of_run : SQL_told_of_kind, NULL);
	if (!st)
		return -EIO;
	if (run)
		sqlite3_bind_int64(st, 1, (int64_t)run);
	sqlite3_bind_int64(st, run ? 2 : 1, (int64_t)kind);
	return collect_events(s, st, ret);
}

int store_digests(struct store *s, const struct event_digest *like, struct reported_list *ret)
{
	*ret = (struct reported_list){0};
	sqlite3_stmt *st = store_stmt(s, SQL_told_found, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)graph_digest_key(like));
	sqlite3_bind_int64(st, 2, EVENT_digest);
	return collect_events(s, st, ret);
}

uint64_t content_key(struct str digest)
{
	return hash_bytes(digest.p, digest.n);
}

int store_digests_of(struct store *s, struct str digest, struct reported_list *ret)
{
	*ret = (struct reported_list){0};
	sqlite3_stmt *st = store_stmt(s, SQL_told_of_content, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)content_key(digest));
	sqlite3_bind_int64(st, 2, EVENT_digest);
	int rc = collect_events(s, st, ret);
	size_t kept = 0;
	for (size_t i = 0; i < ret->n; i++)
		if (str_eq(ret->v[i].ev.digest.digest, digest))
			ret->v[kept++] = ret->v[i];
	ret->n = kept;
	return rc;
}

int read_reported(struct store *s, uint64_t id, struct reported_list *ret)
{
	*ret = (struct reported_list){0};
	sqlite3_stmt *st = store_stmt(s, SQL_told_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	return collect_events(s, st, ret);
}

int read_reported_by_seq(struct store *s, uint64_t session, uint64_t seq, struct reported_list *ret)
{
	*ret = (struct reported_list){0};
	sqlite3_stmt *st = store_stmt(s, SQL_told_of_seq, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	sqlite3_bind_int64(st, 2, (int64_t)seq);
	return collect_events(s, st, ret);
}

int store_reported_path(struct store *s, const struct reported_event *t, struct str *ret)
{
	struct file_info f;
	*ret = t->ev.kind == EVENT_h5_part ? t->ev.h5_part.path : t->ev.h5_object.path;
	int rc = t->file ? store_file(s, t->file, &f) : 0;
	if (rc > 0)
		*ret = f.path;
	return rc < 0 ? rc : 0;
}

/* l is empty then. */
void reported_list_release(struct reported_list *l)
{
	free(l->v);
	free(l->bytes);
	*l = (struct reported_list){0};
}
