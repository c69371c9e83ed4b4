/* ix_open.c - sessions that have not ended yet: what has to be known so that an indexing goes on where the last one
 * stood (doc/format/store.md, "Open sessions").
 *
 * The table open_session keeps what the session has given numbers to, and its accesses without an end. Numbers that
 * follow one another share a row: a block of 64. An access that gets its end later is taken out of the rows that were
 * written and comes into the graph as a new one. */
#include "store/index/ix_open.h"
#include "graph/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_NUMBERS 64 /* in a row */

/* The rest, where it holds what it should; else the index is damaged, and x->open.rc says so. */
void ix_open_failed(struct ix *x, int rc)
{
	if (rc == -ENOMEM)
		ix_oom(x);
	else if (rc == -ENOTRECOVERABLE)
		err_set(x->err, 0, "the index is damaged: an open session");
	if (!x->open.rc)
		x->open.rc = rc;
}

/* The row of a block, into a slot; empty where there is none. 0 or -errno. */
static int open_block(struct ix *x, uint64_t session, enum open_kind kind, uint64_t block, struct ix_open_block **ret)
{
	struct ix_open_block *b = &x->open.block[hash_mix(block * 8 + kind, session) % OPEN_BLOCKS];
	*ret = b;
	if (b->loaded && b->session == session && b->kind == kind && b->block == block)
		return 0;
	sqlite3_stmt *st = store_stmt(x->s, SQL_open_get, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	sqlite3_bind_int64(st, 2, kind);
	sqlite3_bind_int64(st, 3, (int64_t)block);
	buf_reset(&b->pack);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1)
		buf_str(&b->pack, column_str(st, 0));
	sqlite3_reset(st);
	b->session = session;
	b->kind = (uint8_t)kind;
	b->block = block;
	b->loaded = rc >= 0 && !b->pack.failed;
	return rc < 0 ? rc : b->pack.failed ? -ENOMEM : 0;
}

/* One number of a block, and what is kept of it. */
struct open_entry {
	uint64_t number; /* in the block */
	struct str what;
};

/* Reads the next entry of what is kept of open sessions. 1, 0 at the end, -ENOTRECOVERABLE. */
static int next_entry(struct cur *c, struct open_entry *ret)
{
	if (!cur_more(c))
		return c->bad ? -ENOTRECOVERABLE : 0;
	ret->number = cur_u(c);
	ret->what = cur_str(c);
	return c->bad || ret->number >= BLOCK_NUMBERS ? -ENOTRECOVERABLE : 1;
}

/* What is kept of the number, valid until another block is read. 1, 0, -errno. */
int ix_open_find(struct ix *x, enum open_kind kind, uint64_t number, struct cur *ret)
{
	struct ix_open_block *b;
	struct open_entry e = {0};
	int rc = open_block(x, x->open.session, kind, number / BLOCK_NUMBERS, &b);
	if (rc < 0)
		return rc;
	struct cur c = cur_of(buf_view(&b->pack));
	while ((rc = next_entry(&c, &e)) == 1 && e.number != number % BLOCK_NUMBERS)
		;
	*ret = cur_of(e.what);
	return rc;
}

/* ---- what is kept ---- */

/* A state as the store has it: size and time of change. */
static void put_fp(struct buf *out, const struct gfp *fp)
{
	buf_varint(out, fp->size);
	buf_zigzag(out, fp->mtime);
}

/* An access as its own event told of it, and what events did since. */
static void put_access(const struct graph *g, const struct gaccess *a, struct buf *out)
{
	const uint32_t times = GACCESS_EXACT | GACCESS_EARLY;
	unsigned bits = (a->fps != VEC_NONE ? KEPT_FP : 0) | (a->fpe != VEC_NONE ? KEPT_FPE : 0) |
	                (a->flags & GACCESS_TOLD ? KEPT_TOLD : 0) | (a->flags & times ? KEPT_TIMES : 0) |
	                (a->sure ? KEPT_SURE : 0);
	const uint64_t plain[] = {bits, a->flags & KEPT_FLAGS, a->mode, a->via, a->api, a->part, a->evidence, a->count};
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		buf_varint(out, plain[i]);
	buf_zigzag(out, a->start);
	buf_zigzag(out, time_sub(a->end, a->start));
	buf_varint(out, a->bytes_read);
	buf_varint(out, a->bytes_written);
	if (bits & KEPT_FP)
		put_fp(out, &g->fps.v[a->fps]);
	if (bits & KEPT_FPE)
		put_fp(out, &g->fps.v[a->fpe]);
	if (bits & KEPT_TOLD) {
		buf_varint(out, g->more.v[a->more].session);
		buf_varint(out, g->more.v[a->more].seq);
	}
	if (bits & KEPT_TIMES) {
		buf_zigzag(out, g->more.v[a->more].first);
		buf_zigzag(out, g->more.v[a->more].last);
	}
}

/* v must be sorted. */
static bool has_number(const struct ids *v, uint64_t number)
{
	for (size_t lo = 0, hi = v->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		if (v->v[mid] == number)
			return true;
		if (v->v[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

bool ix_goes_on(const struct ix *x, uint64_t session)
{
	return has_number(&x->open.going_on, session);
}

/* Notes what a number means, for the next part of the session. 0, -ENOMEM. */
static int note_given(struct ix *x, uint32_t session, enum open_kind kind, uint64_t number, uint32_t index,
                      uint32_t exec, uint32_t run)
{
	struct ix_given *g = vec_add(&x->open.given);
	if (!g)
		return ix_oom(x);
	*g = (struct ix_given){
	    .session = session, .kind = (uint8_t)kind, .number = number, .index = index, .exec = exec, .run = run};
	return 0;
}

/* An access without an end, or to a stream: what was moved through that may be told after its end (doc/witness.md). Of
 * others no more is said, or the session is read whole. 0, -ENOMEM. */
static int note_access(struct ix *x, uint32_t session, uint64_t seq, uint32_t at)
{
	const struct gaccess *a = &x->g.accesses.v[at];
	struct buf *to = &x->open.accesses_kept;
	uint32_t from = (uint32_t)to->n;
	if (!(a->flags & GACCESS_ENDED) || gkind_is_stream(x->g.files.v[a->self].kind))
		put_access(&x->g, a, to);
	else if (seq > x->open.since)
		return 0; /* it was not kept before */
	if (to->failed || to->n > UINT32_MAX)
		return ix_oom(x);
	return note_given(x, session, OPEN_ACCESS, seq, at, from, (uint32_t)to->n - from);
}

/* What a number of that kind, given to the thing `at`, needs to be kept. 0, -ENOMEM. */
static int note_number(struct ix *x, const struct facts *f, enum open_kind kind, uint64_t number, uint32_t at)
{
	if (kind == OPEN_ACCESS)
		return note_access(x, f->session, number, at);
	if (kind == OPEN_PROCESS) {
		const struct facts_proc *p = &f->pnums.v[at];
		return note_given(x, f->session, kind, number, p->proc, p->exec, p->run);
	}
	return note_given(x, f->session, kind, number, at, 0, 0);
}

/* All numbers of a kind. 0, -ENOMEM. */
static int note_numbers(struct ix *x, const struct facts *f, enum open_kind kind, const struct dense *d)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < d->n; i++)
		if (d->v[i] != VEC_NONE)
			rc = note_number(x, f, kind, d->base + i, d->v[i]);
	for (size_t i = 0; rc == 0 && d->rest.n && i <= d->rest.mask; i++)
		if (d->rest.slot[i].val != VEC_NONE)
			rc = note_number(x, f, kind, d->rest.slot[i].key, d->rest.slot[i].val);
	return rc;
}

/* The files whose state this session told, of those that it spoke of now. first: those of x->open.given from there on.
 * 0, -ENOMEM. */
static int note_states(struct ix *x, const struct facts *f, size_t first)
{
	int rc = 0;
	for (size_t i = first, n = x->open.given.n; rc == 0 && i < n; i++) {
		struct ix_given g = x->open.given.v[i];
		const struct gfile *file = g.kind == OPEN_FILE ? &x->g.files.v[g.index] : NULL;
		if (file && file->state_session == f->session && file->state_fp != VEC_NONE)
			rc = note_given(x, f->session, OPEN_STATE, 0, g.index, file->state_fp, 0);
	}
	return rc;
}

/* Keeps what the numbers of a session mean if it goes on; of one that ended or has holes, nothing. 0, -errno. */
static int end_session(void *arg, struct facts *f)
{
	struct ix *x = arg;
	const struct gsession *s = f->session == VEC_NONE ? NULL : &x->g.sessions.v[f->session];
	if (x->open.rc < 0 || !s)
		return x->open.rc;
	if (!f->earlier)
		x->open.since = 0;
	if (s->ended || s->holes || s->missing || !s->described)
		return 0;
	const size_t first = x->open.given.n;
	int rc = note_given(x, f->session, OPEN_MARK, 0, 0, 0, 0);
	if (rc == 0)
		rc = note_numbers(x, f, OPEN_DOMAIN, &f->domains);
	if (rc == 0)
		rc = note_numbers(x, f, OPEN_FILE, &f->files);
	if (rc == 0)
		rc = note_numbers(x, f, OPEN_PROCESS, &f->procs);
	if (rc == 0)
		rc = note_numbers(x, f, OPEN_ACCESS, &f->accesses);
	return rc == 0 ? note_states(x, f, first) : rc;
}

void ix_open_begin(struct ix *x)
{
	x->open.sessions = (struct collect_sessions){.arg = x, .begin = ix_open_session, .end = end_session};
	x->w.sessions = &x->open.sessions;
}

/* By session, then by seq. */
static int compare_reopened(const void *pa, const void *pb)
{
	const struct ix_reopened *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

int ix_open_read(struct ix *x)
{
	if (x->open.accesses.n)
		qsort(x->open.accesses.v, x->open.accesses.n, sizeof(*x->open.accesses.v), compare_reopened);
	for (size_t i = 0; i < x->open.lacking.n; i++)
		if (ids_add(&x->parts->whole, x->open.lacking.v[i]) < 0)
			return ix_oom(x);
	ids_sort(&x->parts->whole);
	return x->open.lacking.n ? IX_WHOLE : 0;
}

uint32_t ix_reopened(const struct ix *x, uint32_t session, uint64_t seq)
{
	const struct ix_reopened key = {.session = session, .seq = seq}, *r = NULL;
	if (x->open.accesses.n)
		r = bsearch(&key, x->open.accesses.v, x->open.accesses.n, sizeof(key), compare_reopened);
	return r ? r->access : VEC_NONE;
}

bool ix_must_be_whole(const struct ix *x, uint64_t session)
{
	return has_number(&x->parts->whole, session);
}

int ix_can_go_on(struct ix *x, uint64_t session, uint64_t row, bool *ret)
{
	struct cur c;
	*ret = false;
	if (ix_must_be_whole(x, session))
		return 0;
	x->open.session = row;
	int rc = ix_open_find(x, OPEN_MARK, 0, &c);
	*ret = rc == 1;
	return rc < 0 ? rc : 0;
}

/* ---- writing ---- */

/* Writes an access that has no end yet, as add_access reads it; nothing where it need not be kept any more. */
static void put_kept_access(struct ix *x, const struct ix_given *g)
{
	const struct gaccess *a = &x->g.accesses.v[g->index];
	const struct gexec *e = &x->g.execs.v[a->exec];
	if (!g->run)
		return;
	buf_varint(&x->b1, x->procs.v[e->proc]);
	buf_varint(&x->b1, e->n);
	buf_varint(&x->b1, x->files.v[a->self].id);
	buf_add(&x->b1, x->open.accesses_kept.p + g->exec, g->run);
}

/* What is kept of the thing, into x->b1; empty: it is taken out. 0 or -errno. */
static int put_given(struct ix *x, const struct ix_given *g)
{
	uint64_t run = 0;
	int rc = 0;
	buf_reset(&x->b1);
	switch (g->kind) {
	case OPEN_MARK:
		buf_varint(&x->b1, 1);
		break;
	case OPEN_DOMAIN:
		buf_varint(&x->b1, x->domains.v[g->index]);
		break;
	case OPEN_FILE:
		buf_varint(&x->b1, x->files.v[g->index].id);
		break;
	case OPEN_PROCESS:
		rc = ix_run_row(x, g->run, &run);
		buf_varint(&x->b1, x->procs.v[g->index]);
		buf_varint(&x->b1, x->g.execs.v[g->exec].n);
		buf_varint(&x->b1, run);
		break;
	case OPEN_ACCESS:
		put_kept_access(x, g);
		break;
	default:
		put_fp(&x->b1, &x->g.fps.v[g->exec]);
	}
	return rc < 0 ? rc : x->b1.failed ? ix_oom(x) : 0;
}

/* Order of qsort: by session, kind and number. */
static int compare_given(const void *pa, const void *pb)
{
	const struct ix_given *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* A number and what it means, with its length. */
static void put_entry(struct buf *out, uint64_t number, struct str what)
{
	buf_varint(out, number);
	buf_varint(out, what.n);
	buf_str(out, what);
}

/* v[0..n), all of one block, joined with what the block had, into x->b2. 0 or -errno. */
static int join_block(struct ix *x, const struct ix_given *v, size_t n, struct str had)
{
	struct cur c = cur_of(had);
	struct open_entry e = {0};
	int more = next_entry(&c, &e), rc = 0;
	buf_reset(&x->b2);
	for (size_t i = 0; rc == 0 && more >= 0 && (i < n || more == 1);) {
		uint64_t next = i < n ? v[i].number % BLOCK_NUMBERS : BLOCK_NUMBERS;
		if (more == 1 && e.number <= next) {
			if (e.number < next)
				put_entry(&x->b2, e.number, e.what);
			more = next_entry(&c, &e);
			continue;
		}
		i++;
		if (i < n && v[i].number == v[i - 1].number) /* two numbers of one file: the same state */
			continue;
		rc = put_given(x, &v[i - 1]);
		if (rc == 0 && x->b1.n)
			put_entry(&x->b2, next, buf_view(&x->b1));
	}
	return rc < 0 ? rc : more < 0 ? more : x->b2.failed ? ix_oom(x) : 0;
}

/* v[0..n): all of one block. Written only where it is another one now. 0, or -errno with a sentence. */
static int write_block(struct ix *x, const struct ix_given *v, size_t n)
{
	uint64_t session = x->sessions.v[v->session].id, block = v->number / BLOCK_NUMBERS;
	struct str had = {0};
	if (x->sessions.v[v->session].goes_on) {
		struct ix_open_block *b;
		int rc = open_block(x, session, v->kind, block, &b);
		if (rc < 0)
			return rc;
		had = buf_view(&b->pack);
	}
	int rc = join_block(x, v, n, had);
	if (rc == -ENOTRECOVERABLE)
		err_set(x->err, 0, "the index is damaged: an open session");
	if (rc < 0 || str_eq(buf_view(&x->b2), had))
		return rc;
	sqlite3_stmt *st = store_stmt(x->s, x->b2.n ? SQL_open_put : SQL_open_remove, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	sqlite3_bind_int64(st, 2, v->kind);
	sqlite3_bind_int64(st, 3, (int64_t)block);
	if (x->b2.n)
		bind_str(st, 4, buf_view(&x->b2));
	return store_run_stmt(x->s, st, x->err);
}

/* Sessions of which nothing is to be kept, or all of it anew. 0, or -errno with a sentence. */
static int clear_sessions(struct ix *x)
{
	int rc = 0;
	size_t at = 0;
	for (uint32_t i = 0; rc == 0 && i < x->n_new; i++) {
		while (at < x->open.given.n && x->open.given.v[at].session < i)
			at++;
		bool kept = at < x->open.given.n && x->open.given.v[at].session == i;
		if (!x->sessions.v[i].reloaded && !(x->sessions.v[i].goes_on && !kept))
			continue;
		sqlite3_stmt *st = store_stmt(x->s, SQL_open_clear, x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)x->sessions.v[i].id);
		rc = store_run_stmt(x->s, st, x->err);
	}
	return rc;
}

int ix_write_open(struct ix *x)
{
	struct ix_given *v = x->open.given.v;
	size_t n = x->open.given.n;
	for (size_t i = 0; i < n; i++)
		if (v[i].kind == OPEN_STATE)
			v[i].number = x->files.v[v[i].index].id;
	if (n)
		qsort(v, n, sizeof(*v), compare_given);
	int rc = clear_sessions(x);
	for (size_t i = 0, k; rc == 0 && i < n; i = k) {
		for (k = i; k < n && v[k].session == v[i].session && v[k].kind == v[i].kind &&
		            v[k].number / BLOCK_NUMBERS == v[i].number / BLOCK_NUMBERS;
		     k++)
			;
		rc = write_block(x, &v[i], k - i);
	}
	return rc;
}

/* It may not be used afterwards. */
void ix_open_release(struct ix *x)
{
	for (size_t i = 0; i < OPEN_BLOCKS; i++)
		buf_release(&x->open.block[i].pack);
	map_release(&x->open.files);
	map_release(&x->open.processes);
	map_release(&x->open.rows_of_processes);
	vec_release(&x->open.process_rows);
	vec_release(&x->open.accesses);
	vec_release(&x->open.given);
	free(x->open.going_on.v);
	free(x->open.lacking.v);
	buf_release(&x->open.accesses_kept);
}
