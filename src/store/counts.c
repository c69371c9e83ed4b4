/* counts.c - how much a run did: its executions, what they used and made, and what nobody saw of them.
 *
 * All rows of the run are read once to count. What was counted is kept in the run's row, until an indexing changes one
 * of its processes, or one of its files goes to, or comes from, the machine's own. The indexer counts the runs that it
 * has just met; who asks for one that was not kept counts, and keeps that for the next. */
#include "store/counts.h"

#include "base/hash.h"
#include "base/os/system.h"

#include <errno.h>
#include <stdlib.h>

bool store_is_data(const struct touched_version *v, struct str path, const char *extra)
{
	if (v->kind != TERM_kind_regular || v->via == TERM_via_sync)
		return false;
	if (v->program && !v->observed && system_path(path, NULL) != SYSTEM_NO)
		return false;
	return system_path(path, extra) == SYSTEM_NO;
}

/* ---- versions that a run used and made, each once ---- */

enum { VIA = 7, PROGRAM = 8, THERE = 16, MADE_SHIFT = 8 }; /* bits of how it was used; the same above them, made */

struct touched {
	uint64_t version;
	uint32_t exec; /* its number in its process: while that is read */
	uint32_t bits;
};
struct tally {
	VEC(struct touched) v;   /* sorted up to `sorted`, each once */
	VEC(struct touched) one; /* of the process at hand */
	size_t sorted;
	struct ids sessions; /* rows of those that tell of its processes */
	struct run_counts n;
};

/* The smaller of two numbers. */
static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Of one way, used or made: by several executions it was a program where it was one to all of them, in one execution
 * where any access says so. */
static unsigned join_way(unsigned a, unsigned b, bool one_execution)
{
	if (!(a & THERE) || !(b & THERE))
		return a | b;
	unsigned program = one_execution ? (a | b) & PROGRAM : a & b & PROGRAM;
	return least(a & VIA, b & VIA) | program | THERE;
}

/* Joins how two touched a version, the use and the making apart. one_execution: both are of the same one. */
static uint32_t join_bits(uint32_t a, uint32_t b, bool one_execution)
{
	const uint32_t way = (1u << MADE_SHIFT) - 1;
	return join_way(a & way, b & way, one_execution) | join_way(a >> MADE_SHIFT, b >> MADE_SHIFT, one_execution)
	                                                       << MADE_SHIFT;
}

/* Order of qsort: by execution, then by version. */
static int compare_by_execution(const void *pa, const void *pb)
{
	const struct touched *a = pa, *b = pb;
	if (a->exec != b->exec)
		return a->exec < b->exec ? -1 : 1;
	return (a->version > b->version) - (a->version < b->version);
}

static int compare_by_version(const void *pa, const void *pb)
{
	const struct touched *a = pa, *b = pb;
	return (a->version > b->version) - (a->version < b->version);
}

/* Leaves each version of the run once. */
static void merge_versions(struct tally *t)
{
	size_t kept = 1;
	if (t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), compare_by_version);
	for (size_t i = 1; i < t->v.n; i++) {
		if (t->v.v[i].version == t->v.v[kept - 1].version)
			t->v.v[kept - 1].bits = join_bits(t->v.v[kept - 1].bits, t->v.v[i].bits, false);
		else
			t->v.v[kept++] = t->v.v[i];
	}
	t->v.n = t->v.n ? kept : 0;
	t->sorted = t->v.n;
}

/* The process's own, each version once an execution, to those of the run. 0, -ENOMEM. */
static int add_process_versions(struct tally *t)
{
	if (t->one.n > 1)
		qsort(t->one.v, t->one.n, sizeof(*t->one.v), compare_by_execution);
	for (size_t i = 0, k; i < t->one.n; i = k) {
		struct touched *p = vec_add(&t->v);
		if (!p)
			return -ENOMEM;
		*p = t->one.v[i];
		for (k = i + 1; k < t->one.n && !compare_by_execution(&t->one.v[i], &t->one.v[k]); k++)
			p->bits = join_bits(p->bits, t->one.v[k].bits, true);
	}
	/* It may be much that many executions use the same of: it is put together now and then. */
	if (t->v.n > 65536 && t->v.n / 2 > t->sorted)
		merge_versions(t);
	return 0;
}

/* Appends a version to t->one as used or made (made) by exec, an execution's number in its process. via: TERM_via_*;
 * program: the access was made to run the file. 0, -ENOMEM. */
static int add_touched(struct tally *t, uint32_t exec, uint64_t version, unsigned via, bool program, bool made)
{
	struct touched *p = vec_add(&t->one);
	if (!p)
		return -ENOMEM;
	unsigned way = (via & VIA) | (program ? PROGRAM : 0) | THERE;
	*p = (struct touched){version, exec, way << (made ? MADE_SHIFT : 0)};
	return 0;
}

/* All versions that the access used or made. 0, -ENOMEM. */
static int add_access(struct tally *t, uint32_t exec, const struct pacc *a, const struct ids *many)
{
	bool program = layout_get(a->bits, LAYOUT_MODE, 8) & ACCESS_PROGRAM;
	int rc = 0;
	if (a->gen)
		rc = add_touched(t, exec, version_id(a->file, a->gen), layout_get(a->bits, LAYOUT_GEN_VIA, 3), program, true);
	for (uint32_t k = 0; rc == 0 && k < a->nuse; k++) {
		uint64_t use =
		    a->nuse == 1 ? (uint64_t)a->use << 3 | layout_get(a->bits, LAYOUT_USE_VIA, 3) : many->v[a->use + k];
		rc = add_touched(t, exec, version_id(a->file, use >> 3), use & VIA, program, false);
	}
	return rc;
}

/* All accesses of the process by executions of the run. 0, -errno. */
static int add_accesses(struct store *s, const struct process_view *v, struct str acc, struct tally *t)
{
	struct cur c = cur_of(acc);
	struct pacc_section sec;
	struct pacc a;
	int rc;
	t->one.n = 0;
	while ((rc = pacc_section_next(&c, &sec)) == 1) {
		const struct view_exec *e = view_exec(v, sec.n);
		struct pacc_reader r;
		if (!e || view_run(v, e) != t->n.run)
			continue;
		s->reader->uses.n = 0;
		pacc_begin(&r, s, &sec, &s->reader->uses);
		while ((rc = pacc_next(&r, &a)) == 1)
			if ((rc = add_access(t, sec.n, &a, &s->reader->uses)) < 0)
				break;
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : add_process_versions(t);
}

/* Counts the executions of the process that are of t's run, and what they touched. 0 or -errno. */
static int add_process(struct store *s, uint64_t process, struct tally *t)
{
	struct process_view *v = &s->reader->a;
	struct str part[PROCESS_PARTS];
	uint64_t before = t->n.executions;
	int rc = read_process(s, process, v);
	for (size_t i = 0; rc == 1 && i < v->execs.n; i++) {
		if (view_run(v, &v->execs.v[i]) != t->n.run)
			continue; /* the list may be older than the row */
		t->n.executions++;
		t->n.gaps |= read_lasting_gaps(s, v, &v->execs.v[i]);
	}
	if (rc != 1 || t->n.executions == before)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < v->sessions.n; i++)
		if (t->sessions.n && t->sessions.v[t->sessions.n - 1] == v->sessions.v[i])
			continue;
		else if (ids_add(&t->sessions, v->sessions.v[i]) < 0)
			return -ENOMEM;
	rc = read_process_row(s, process, part);
	return rc == 1 ? add_accesses(s, v, part[PROCESS_ACC], t) : rc;
}

/* ---- which of them are data ---- */

/* A file while its versions are looked at. */
struct looked_at {
	uint64_t file;
	struct pfile_brief brief;
	struct buf path;
};

/* Reads what the counting asks of a file, unless f holds that file. 1, 0: it is not in the index, -errno. */
static int look_at_file(struct store *s, uint64_t file, struct looked_at *f)
{
	struct str row[FILE_PARTS];
	if (f->file == file)
		return 1;
	f->file = 0;
	int rc = read_file_row(s, file, row);
	if (rc <= 0)
		return rc;
	buf_reset(&f->path);
	rc = pfile_brief(row[FILE_INFO], &f->brief);
	if (rc == 0 && f->brief.kind == TERM_kind_regular)
		rc = read_brief_path(s, &f->brief, &f->path);
	f->file = file;
	return rc < 0 ? rc : 1;
}

/* Is the version data to a run that touched it this way? 1, 0, -errno. */
static int is_data(struct store *s, const struct looked_at *f, uint64_t version, unsigned way, const char *extra)
{
	struct touched_version i = {f->brief.kind, way & VIA, way & PROGRAM, true};
	if (f->brief.kind == TERM_kind_regular && i.program) { /* else who made it does not matter */
		struct pver *v = &s->reader->ver;
		int rc = read_version(s, version, v, NULL);
		if (rc <= 0)
			return rc;
		i.observed = pver_origin(v) == 0;
	}
	return store_is_data(&i, buf_view(&f->path), extra);
}

/* Inputs and outputs, each version once, and those of them that are data. 0 or -errno. */
static int count_versions(struct store *s, struct tally *t, const char *extra)
{
	struct looked_at f = {0};
	int rc = 0;
	merge_versions(t);
	for (size_t i = 0; rc >= 0 && i < t->v.n; i++) {
		const struct touched *p = &t->v.v[i];
		bool made = p->bits >> MADE_SHIFT & THERE;
		t->n.outputs += made;
		t->n.inputs += !made;
		rc = look_at_file(s, version_file(p->version), &f);
		if (rc == 1)
			rc = is_data(s, &f, p->version, made ? p->bits >> MADE_SHIFT : p->bits, extra);
		if (rc == 1 && made)
			t->n.data_made++;
		else if (rc == 1)
			t->n.data_used++;
	}
	buf_release(&f.path);
	return rc < 0 ? rc : 0;
}

/* ---- what is kept ---- */

/* 0: there are no prefixes beside ours. */
static uint64_t hash_of_extra(const char *extra)
{
	return extra && *extra ? hash_str(str_of(extra)) : 0;
}

/* Appends the counts as they are kept, with the sessions that they rest on. */
static void put_counts(struct buf *out, const struct run_counts *n, const struct ids *sessions)
{
	const uint64_t v[] = {n->extra, n->executions, n->inputs,    n->outputs,
	                      n->gaps,  n->data_used,  n->data_made, sessions->n};
	uint64_t last = 0;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		buf_varint(out, v[i]);
	for (size_t i = 0; i < sessions->n; last = sessions->v[i++])
		buf_varint(out, sessions->v[i] - last);
}

/* What the row keeps; what is to be said of the sessions is added, for it changes with what else the logs hold. */
static bool get_counts(struct store *s, struct str kept, struct run_counts *n)
{
	struct cur c = cur_of(kept);
	uint64_t session = 0, more, *const to[] = {&n->extra, &n->executions, &n->inputs,    &n->outputs,
	                                           &n->gaps,  &n->data_used,  &n->data_made, &more};
	if (!kept.n)
		return false;
	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++)
		*to[i] = cur_u(&c);
	for (; more && !c.bad; more--) {
		session += cur_u(&c);
		n->gaps |= read_session_state(s, session);
	}
	return !c.bad;
}

/* Reads the counts of a run that are kept in the index. 1: they are kept; 0, -errno. */
static int read_kept(struct store *s, store_id run, struct run_counts *ret)
{
	sqlite3_stmt *st = store_stmt(s, SQL_run_counts, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)run);
	struct buf kept = {0}; /* what is to be said of sessions is asked of the store, too */
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		buf_str(&kept, column_str(st, 0));
	sqlite3_reset(st);
	if (rc == 1)
		rc = kept.failed ? -ENOMEM : get_counts(s, buf_view(&kept), ret);
	buf_release(&kept);
	return rc;
}

/* Counts what the rows say. *kept: what is to be kept of that, appended. 0, -errno. */
static int count_run(struct store *s, store_id run, const char *extra, struct run_counts *ret, struct buf *kept)
{
	struct tally t = {.n = {.run = run, .extra = hash_of_extra(extra)}};
	struct ids processes = {0};
	int rc = lists_get(s, list_key(LIST_RUN, run), &processes);
	ids_sort(&processes);
	for (size_t i = 0; rc == 0 && i < processes.n; i++)
		rc = add_process(s, processes.v[i], &t);
	if (rc == 0)
		rc = count_versions(s, &t, extra);
	ids_sort(&t.sessions);
	put_counts(kept, &t.n, &t.sessions);
	for (size_t i = 0; i < t.sessions.n; i++)
		t.n.gaps |= read_session_state(s, t.sessions.v[i]);
	*ret = t.n;
	vec_release(&t.v);
	vec_release(&t.one);
	free(t.sessions.v);
	free(processes.v);
	return rc < 0 ? rc : kept->failed ? -ENOMEM : 0;
}

/* Writes them into the index. 0, or -errno with a sentence. */
static int put_kept(struct store *s, store_id run, struct str kept, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_run_count_put, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)run);
	bind_str(st, 2, kept);
	return store_run_stmt(s, st, err);
}

int counts_index(struct store *s, store_id run, const char *extra, struct err *err)
{
	struct run_counts n;
	struct buf kept = {0};
	int rc = store_reader(s) ? count_run(s, run, extra, &n, &kept) : -ENOMEM;
	if (rc == 0)
		rc = put_kept(s, run, buf_view(&kept), err);
	buf_release(&kept);
	return rc;
}

/* What is kept of the run does not hold any more. 0, -errno with a sentence. */
int counts_void(struct store *s, store_id run, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_run_count_void, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)run);
	return store_run_stmt(s, st, err);
}

/* Does what is kept rest on one of these sessions, which are sorted? Of what cannot be read, too. */
static bool rests_on(struct str kept, const struct ids *sessions)
{
	enum { BEFORE = 7 }; /* what put_counts writes before the sessions */
	struct cur c = cur_of(kept);
	uint64_t session = 0;
	size_t k = 0;
	for (int i = 0; i < BEFORE; i++)
		cur_u(&c);
	for (uint64_t more = cur_u(&c); more && !c.bad; more--) {
		session += cur_u(&c);
		while (k < sessions->n && sessions->v[k] < session)
			k++;
		if (k < sessions->n && sessions->v[k] == session)
			return true;
	}
	return c.bad;
}

int counts_resting_on(struct store *s, const struct ids *sessions, struct ids *ret)
{
	sqlite3_stmt *st = sessions->n ? store_stmt(s, SQL_run_counts_all, NULL) : NULL;
	int rc = st || !sessions->n ? 0 : -EIO;
	while (st && (rc = store_step(s, st, NULL)) == 1)
		if (rests_on(column_str(st, 1), sessions) && ids_add(ret, (uint64_t)sqlite3_column_int64(st, 0)) < 0) {
			rc = -ENOMEM;
			break;
		}
	if (st)
		sqlite3_reset(st);
	return rc;
}

int counts_check(struct store *s, store_id run)
{
	struct buf was = {0}, is = {0};
	struct run_counts n = {.run = run};
	sqlite3_stmt *st = store_reader(s) ? store_stmt(s, SQL_run_counts, NULL) : NULL;
	int rc = st ? 0 : -EIO;
	if (st) {
		sqlite3_bind_int64(st, 1, (int64_t)run);
		rc = store_step(s, st, NULL);
		if (rc == 1)
			buf_str(&was, column_str(st, 0));
		sqlite3_reset(st);
	}
	bool asked = rc == 1 && get_counts(s, buf_view(&was), &n) && !n.extra;
	if (asked)
		rc = count_run(s, run, NULL, &n, &is);
	if (rc >= 0)
		rc = was.failed ? -ENOMEM : !asked || str_eq(buf_view(&was), buf_view(&is));
	buf_release(&was);
	buf_release(&is);
	return rc;
}

/* Changes with each write to the index by another process. 0 or -errno. */
static int data_version(struct store *s, int64_t *ret)
{
	sqlite3_stmt *st = store_stmt(s, SQL_data_version, NULL);
	int rc = st ? store_step(s, st, NULL) : -EIO;
	if (rc == 1)
		*ret = sqlite3_column_int64(st, 0);
	if (st)
		sqlite3_reset(st);
	return rc == 1 ? 0 : rc < 0 ? rc : -EIO;
}

/* Is it of use to remember what was counted, to write it when the view is over? */
static bool can_keep(const struct store *s)
{
	return s->flags & STORE_WRITE && !s->handed && s->viewing;
}

/* Keeps the counts of a run. Keeps them in memory, for stores that cannot be written; all is forgotten when somebody
 * writes the index. */
static void remember(struct store *s, store_id run, struct str kept)
{
	struct counts_kept *k = &s->counted;
	int64_t version;
	if (!can_keep(s) || data_version(s, &version) < 0)
		return;
	if (k->runs.n && k->data_version != version)
		k->runs.n = k->bytes.n = 0;
	k->data_version = version;
	size_t before = k->bytes.n;
	buf_varint(&k->bytes, kept.n);
	buf_str(&k->bytes, kept);
	if (k->bytes.failed || ids_add(&k->runs, run) < 0)
		k->bytes.n = before;
}

/* Nobody waits for it: where another writes, or has written, it is counted again the next time. */
void counts_keep(struct store *s)
{
	struct counts_kept *k = &s->counted;
	struct cur c = cur_of(buf_view(&k->bytes));
	int64_t version;
	if (!k->runs.n)
		return;
	sqlite3_busy_timeout(s->db, 0);
	bool ok = !k->bytes.failed && sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
	if (ok) {
		ok = data_version(s, &version) == 0 && version == k->data_version;
		for (size_t i = 0; ok && i < k->runs.n; i++)
			ok = put_kept(s, k->runs.v[i], cur_str(&c), NULL) == 0;
		if (!ok || sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	}
	sqlite3_busy_timeout(s->db, STORE_PATIENCE_MS);
	k->runs.n = 0;
	buf_reset(&k->bytes);
}

/* ---- asking ---- */

/* What this handle has counted, or read, before. */
static struct run_counts *known_counts(struct reader *r, store_id run, uint64_t extra, bool data)
{
	for (size_t i = 0; i < r->counts.n; i++)
		if (r->counts.v[i].run == run && (!data || r->counts.v[i].extra == extra))
			return &r->counts.v[i];
	return NULL;
}

int counts_of_run(struct store *s, store_id run, bool data, const char *extra, struct run_counts *ret)
{
	struct reader *r = store_reader(s);
	struct run_counts n = {.run = run};
	uint64_t hash = hash_of_extra(extra);
	if (!r)
		return -ENOMEM;
	const struct run_counts *known = known_counts(r, run, hash, data);
	if (known) {
		*ret = *known;
		return 0;
	}
	int rc = read_kept(s, run, &n);
	if (rc == 1 && (!data || n.extra == hash)) {
		*ret = n;
		return 0;
	}
	if (rc < 0)
		return rc;
	bool view = store_view_begin(s, VIEW_PASS) == 0;
	struct buf kept = {0};
	rc = count_run(s, run, extra, &n, &kept);
	if (rc == 0)
		remember(s, run, buf_view(&kept));
	buf_release(&kept);
	if (view)
		store_view_end(s);
	struct run_counts *slot = rc == 0 ? vec_add(&store_reader(s)->counts) : NULL;
	if (slot)
		*slot = n;
	*ret = n;
	return rc;
}

int store_run_data(struct store *s, store_id run, const char *extra, uint64_t *ret_used, uint64_t *ret_made)
{
	struct run_counts n = {0};
	int rc = counts_of_run(s, run, true, extra, &n);
	*ret_used = n.data_used;
	*ret_made = n.data_made;
	return rc;
}
