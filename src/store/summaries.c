/* summaries.c - what tasks used: the rows that ix_summaries.c writes. Figures are known by their number in
 * summary/figures.def: where that order changes, STORE_VERSION does. */
#include "store/read.h"

#include "summary/summary.h"

#include <errno.h>

/* Points into c's bytes. */
static struct strlist read_summary_list(struct cur *c)
{
	struct strlist l = {.count = cur_u(c)};
	l.raw = cur_str(c);
	return l;
}

/* Those that are not there are zero. */
static void get_figures(struct cur *c, struct summary_figure *ret)
{
	memset(ret, 0, FIGURES * sizeof(*ret));
	for (uint64_t n = cur_u(c); n && !c->bad; n--) {
		uint64_t head = cur_u(c);
		struct summary_figure f = {
		    .known = head >> 2 & 1, .bounded = head >> 1 & 1, .complete = head & 1, .note = cur_u(c)};
		if (f.known)
			f.low = f.high = f.value = cur_z(c);
		if (f.bounded) {
			f.low = (int64_t)((uint64_t)f.value - cur_u(c));
			f.high = (int64_t)((uint64_t)f.value + cur_u(c));
		}
		if (head >> 3 < FIGURES)
			ret[head >> 3] = f;
	}
}

/* Words are copied: the cache of words may give their room to others. */
static struct str copy_interned(struct store *s, uint64_t id, struct buf *b, size_t *at)
{
	struct str w = store_interned(s, id);
	*at = b->n;
	buf_str(b, w);
	return w;
}

/* The row, to each; what it returned, -ENOTRECOVERABLE, -ENOMEM. words: for its texts. */
static int decode_summary_row(struct store *s, sqlite3_stmt *st, struct buf *words,
                              int (*each)(void *arg, const struct summary_info *), void *arg)
{
	struct summary_figure figure[FIGURES];
	struct summary_info m = {
	    .id = (uint64_t)sqlite3_column_int64(st, 0), .run = (uint64_t)sqlite3_column_int64(st, 2), .figure = figure};
	struct cur c = cur_of(column_str(st, 3));
	const struct ssession *session = store_session(s, (uint64_t)sqlite3_column_int64(st, 1));
	struct str *const text[] = {&m.source, &m.set, &m.user, &m.cwd, &m.host.raw, &m.node};
	size_t at[6];
	m.session = session ? session->number : 0;
	m.seq = cur_u(&c);
	m.time = cur_z(&c);
	m.hash = cur_u(&c);
	m.ulid = cur_str(&c);
	m.argv = read_summary_list(&c);
	m.exit_type = (unsigned)cur_u(&c);
	m.status = (int)cur_z(&c);
	m.signal = (int)cur_z(&c);
	m.oom = cur_u(&c) != 0;
	buf_reset(words);
	for (unsigned i = 0; i < 5; i++) {
		if (i == 4)
			m.host.count = cur_u(&c);
		text[i]->n = copy_interned(s, cur_u(&c), words, &at[i]).n;
	}
	struct strlist varying = read_summary_list(&c);
	m.host.count += varying.count;
	m.host.raw.n += varying.raw.n;
	buf_str(words, varying.raw);
	text[5]->n = copy_interned(s, session && m.ulid.n && !m.source.n && !m.set.n ? session->host : 0, words, &at[5]).n;
	for (unsigned i = 0; i < 6; i++)
		text[i]->p = words->p ? words->p + at[i] : "";
	m.labels = read_summary_list(&c);
	m.limits = read_summary_list(&c);
	m.beyond = read_summary_list(&c);
	m.escaped = read_summary_list(&c);
	get_figures(&c, figure);
	if (words->failed)
		return -ENOMEM;
	return c.bad ? -ENOTRECOVERABLE : each(arg, &m);
}

int store_summaries(struct store *s, store_id run, int (*each)(void *arg, const struct summary_info *), void *arg)
{
	struct buf words = {0};
	sqlite3_stmt *st = store_stmt(s, run ? SQL_summary_of_run : SQL_summary_all, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)run);
	int rc;
	while ((rc = store_step(s, st, NULL)) == 1)
		if ((rc = decode_summary_row(s, st, &words, each, arg)) != 0)
			break;
	sqlite3_reset(st);
	buf_release(&words);
	return rc;
}

int read_summary(struct store *s, uint64_t id, int (*each)(void *arg, const struct summary_info *), void *arg)
{
	struct buf words = {0};
	sqlite3_stmt *st = store_stmt(s, SQL_summary_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		rc = decode_summary_row(s, st, &words, each, arg);
	sqlite3_reset(st);
	buf_release(&words);
	return rc;
}

struct str store_summary_note(struct store *s, uint64_t note)
{
	return store_interned(s, note);
}
