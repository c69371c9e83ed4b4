#include "site/clocks.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* When each state of a file was first there, by the clock of the host that surely made it, and when another host first
 * found it. A writer has had it at its opening at the earliest, a reader at its own. */
static const char pairs_sql[] =
    "SELECT m.host, r.host, min(r.at - m.at), count(*) FROM"
    " (SELECT v.file, v.size, v.mtime, x.host, min(e.lo) AS at FROM edge e JOIN version v ON v.id = e.from_id"
    "  JOIN execution x ON x.id = e.to_id WHERE e.type = 'wasGeneratedBy' AND e.certainty = 'must'"
    "  AND v.mtime IS NOT NULL AND e.lo IS NOT NULL GROUP BY 1, 2, 3, 4) m"
    " JOIN (SELECT v.file, v.size, v.mtime, x.host, min(a.began) AS at FROM access a JOIN version v ON v.id = a.used"
    "  JOIN execution x ON x.id = a.execution WHERE a.mode LIKE '%state%' AND v.mtime IS NOT NULL"
    "  AND a.began IS NOT NULL GROUP BY 1, 2, 3, 4) r"
    " ON r.file = m.file AND r.size = m.size AND r.mtime = m.mtime AND r.host <> m.host GROUP BY 1, 2 ORDER BY 1, 2";

/* p itself may not be used afterwards. */
void clocks_release(struct clock_pairs *p)
{
	for (size_t i = 0; i < p->list.n; i++) {
		free(p->list.v[i].a);
		free(p->list.v[i].b);
	}
	vec_release(&p->list);
}

/* The pair of two hosts, made where there is none; NULL without memory. */
static struct clock_pair *pair_of(struct clock_pairs *p, const char *a, const char *b)
{
	for (size_t i = 0; i < p->list.n; i++)
		if (!strcmp(p->list.v[i].a, a) && !strcmp(p->list.v[i].b, b))
			return &p->list.v[i];
	struct clock_pair *new = vec_add(&p->list);
	if (new) {
		*new = (struct clock_pair){.a = strdup(a), .b = strdup(b), .low = INT64_MIN, .high = INT64_MAX};
		if (!new->a || !new->b)
			new = NULL;
	}
	return new;
}

/* `reader` found `later` ns after, by the two clocks, what `writer` had: it was truly after. 0, -ENOMEM. */
static int note_pair(struct clock_pairs *p, const char *writer, const char *reader, int64_t later, uint64_t files)
{
	const bool ordered = strcmp(writer, reader) < 0;
	struct clock_pair *c = ordered ? pair_of(p, writer, reader) : pair_of(p, reader, writer);
	if (!c)
		return -ENOMEM;
	if (ordered)
		c->high = later;
	else
		c->low = later == INT64_MIN ? INT64_MAX : -later;
	c->files += files;
	return 0;
}

int clocks_read(struct sqlite3 *db, struct err *err, struct clock_pairs *ret)
{
	sqlite3_stmt *st = NULL;
	*ret = (struct clock_pairs){0};
	int code = sqlite3_prepare_v2(db, pairs_sql, -1, &st, NULL), rc = 0;
	while (code == SQLITE_OK && rc == 0 && (code = sqlite3_step(st)) == SQLITE_ROW) {
		const char *writer = (const char *)sqlite3_column_text(st, 0),
		           *reader = (const char *)sqlite3_column_text(st, 1);
		code = SQLITE_OK;
		if (writer && reader &&
		    note_pair(ret, writer, reader, sqlite3_column_int64(st, 2), (uint64_t)sqlite3_column_int64(st, 3)) < 0)
			rc = err_set(err, ENOMEM, "cannot compare clocks");
	}
	if (rc == 0 && code != SQLITE_DONE)
		rc = err_set(err, EIO, "cannot read the record: %s", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	if (rc < 0)
		clocks_release(ret);
	return rc;
}
