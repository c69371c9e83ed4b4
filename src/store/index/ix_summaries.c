/* ix_summaries.c - the rows of summaries. They belong to a session, and go when it is read again.
 *
 * A row's pack: the parts that summaries.c reads, in its order. A text that is no summary, or one of a newer stemma,
 * gives no row and is counted with what the record does not know. */
#include "store/index/index.h"

#include "base/hash.h"
#include "summary/summary.h"

#include <errno.h>

/* Deletes the summaries of a session that is read anew. 0, -errno with a sentence. */
static int clear_session_summaries(struct ix *x, uint64_t session)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_summary_clear, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	return store_run_stmt(x->s, st, x->err);
}

/* A word of the dictionary: what many summaries share. */
static void append_interned(struct ix *x, struct buf *out, struct str s)
{
	uint32_t word = intern_add(&x->g.words, s);
	uint64_t id = 0;
	if (word == VEC_NONE || ix_interned(x, word, &id) < 0)
		out->failed = true;
	buf_varint(out, id);
}

/* Appends a text with its length. */
static void append_summary_string(struct buf *out, struct str s)
{
	buf_varint(out, s.n);
	buf_str(out, s);
}

/* A list as events have it: its strings are gathered in x->b2. */
static void list_begin(struct ix *x)
{
	buf_reset(&x->b2);
}
/* list_begin comes before, list_end after. */
static void list_add(struct ix *x, const char *text)
{
	append_summary_string(&x->b2, str_of(text));
}
/* Ends a list. n: elements since list_begin. Both use x->b2. */
static void list_end(struct ix *x, struct buf *out, size_t n)
{
	buf_varint(out, n);
	append_summary_string(out, buf_view(&x->b2));
	out->failed |= x->b2.failed;
}

/* A list of n texts. Uses x->b2. */
static void put_texts(struct ix *x, struct buf *out, char *const *v, size_t n)
{
	list_begin(x);
	for (size_t i = 0; i < n; i++)
		list_add(x, v[i]);
	list_end(x, out, n);
}

/* Is it a part of the description of a host, what differs from task to task. */
static bool varies(const struct summary_pair *p)
{
	return strcmp(p->key, "load") == 0 || strcmp(p->key, "job") == 0;
}

enum which { ALL, LASTING, VARYING };

/* How many there are. Uses x->b2 and x->b3; the caller ends the list. */
static size_t gather_pairs(struct ix *x, const struct summary_pair *v, size_t n, enum which which)
{
	size_t found = 0;
	list_begin(x);
	for (size_t i = 0; i < n; i++) {
		if (which != ALL && varies(&v[i]) != (which == VARYING))
			continue;
		found++;
		buf_reset(&x->b3);
		buf_printf(&x->b3, "%s=%s", v[i].key, v[i].value);
		x->b2.failed |= x->b3.failed;
		append_summary_string(&x->b2, buf_view(&x->b3));
	}
	return found;
}

/* Appends limits as name=limit, or name=peak/limit. */
static void put_limits(struct ix *x, struct buf *out, const struct summary_limit *v, size_t n, bool peak)
{
	list_begin(x);
	for (size_t i = 0; i < n; i++) {
		buf_reset(&x->b3);
		buf_printf(&x->b3, "%s=", v[i].name);
		if (peak)
			buf_printf(&x->b3, "%lld/", (long long)v[i].peak);
		buf_printf(&x->b3, "%lld", (long long)v[i].limit);
		x->b2.failed |= x->b3.failed;
		append_summary_string(&x->b2, buf_view(&x->b3));
	}
	list_end(x, out, n);
}

/* Those that are known, and those of which it is told why not. */
static void put_figures(struct ix *x, struct buf *out, const struct summary *m)
{
	unsigned n = 0;
	for (unsigned i = 0; i < FIGURES; i++)
		n += m->figure[i].known || m->figure[i].absent;
	buf_varint(out, n);
	for (unsigned i = 0; i < FIGURES; i++) {
		const struct figure *f = &m->figure[i];
		if (!f->known && !f->absent)
			continue;
		const char *note = f->known ? f->method : f->absent;
		buf_varint(out, i << 3 | (unsigned)f->known << 2 | (unsigned)(f->known && f->bounded) << 1 | f->complete);
		append_interned(x, out, str_of(note ? note : ""));
		if (f->known)
			buf_zigzag(out, f->value);
		if (f->known && f->bounded) {
			buf_varint(out, (uint64_t)f->value - (uint64_t)f->low);
			buf_varint(out, (uint64_t)f->high - (uint64_t)f->value);
		}
	}
}

/* One that cannot be read is counted, and passed over. 0, or -errno with a sentence. */
static int write_summary_row(struct ix *x, const struct gsummary *g)
{
	struct str text = intern_get(&x->g.words, g->text);
	struct summary m;
	struct buf out = {0};
	uint64_t run = 0;
	size_t argc = 0;
	if (summary_read(text.p, text.n, NULL, &m) < 0) {
		x->stats.unknown_refs++;
		return 0;
	}
	int rc = ix_run_row(x, g->run, &run);
	while (m.argv && m.argv[argc])
		argc++;
	buf_varint(&out, g->key.seq);
	buf_zigzag(&out, g->key.time);
	buf_varint(&out, hash_str(text));
	append_summary_string(&out, intern_get(&x->g.words, g->run));
	put_texts(x, &out, m.argv, argc);
	buf_varint(&out, m.exit_type);
	buf_zigzag(&out, m.exit_status);
	buf_zigzag(&out, m.signal);
	buf_varint(&out, m.oom);
	append_interned(x, &out, intern_get(&x->g.words, g->source));
	append_interned(x, &out, intern_get(&x->g.words, g->set));
	append_interned(x, &out, str_of(m.user ? m.user : ""));
	append_interned(x, &out, str_of(m.cwd ? m.cwd : ""));
	/* Of one host nearly all is the same: one word. */
	buf_varint(&out, gather_pairs(x, m.host, m.nhost, LASTING));
	append_interned(x, &out, buf_view(&x->b2));
	size_t n = gather_pairs(x, m.host, m.nhost, VARYING);
	list_end(x, &out, n);
	n = gather_pairs(x, m.label, m.nlabel, ALL);
	list_end(x, &out, n);
	put_limits(x, &out, m.limit, m.nlimit, false);
	put_limits(x, &out, m.exceeded, m.nexceeded, true);
	put_texts(x, &out, m.escaped, m.nescaped);
	put_figures(x, &out, &m);
	sqlite3_stmt *st = rc == 0 ? store_stmt(x->s, SQL_summary_put, x->err) : NULL;
	if (rc == 0 && (!st || out.failed || x->b2.failed))
		rc = ix_oom(x);
	if (rc == 0) {
		sqlite3_bind_int64(st, 1, (int64_t)x->sessions.v[g->session].id);
		sqlite3_bind_int64(st, 2, (int64_t)run);
		bind_str(st, 3, buf_view(&out));
		rc = store_run_stmt(x->s, st, x->err);
	}
	buf_release(&out);
	summary_release(&m);
	return rc;
}

int ix_write_summaries(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		if (x->sessions.v[i].reloaded)
			rc = clear_session_summaries(x, x->sessions.v[i].id);
	for (size_t i = 0; rc == 0 && i < x->g.summaries.n; i++)
		rc = write_summary_row(x, &x->g.summaries.v[i]);
	return rc;
}
