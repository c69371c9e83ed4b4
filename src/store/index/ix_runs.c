/* ix_runs.c - the rows of runs, sessions and segments. */
#include "store/index/index.h"
#include "store/read.h"

#include <errno.h>
#include <stdlib.h>

/* ---- runs ---- */

/* A run's column info is sections like a process's: session, then facts: RUN_IS (the session belongs to it), RUN_BEGAN,
 * RUN_ENDED. */
enum { RUN_IS = 1, RUN_BEGAN, RUN_ENDED };

struct run_row {
	uint64_t id;
	uint32_t word;
	bool is_new;
	struct buf old;           /* sections of sessions that were not read again */
	int64_t began;            /* TIME_NEVER not known */
	VEC(struct buf) sections; /* beside the new sessions that speak of it */
};

int ix_run_row(struct ix *x, uint32_t word, uint64_t *ret)
{
	*ret = 0;
	if (!word)
		return 0;
	uint32_t known = map_get(&x->run_words, word);
	if (known != VEC_NONE) {
		*ret = known;
		return 0;
	}
	sqlite3_stmt *st = store_stmt(x->s, SQL_run_by_ulid, x->err);
	if (!st)
		return -EIO;
	struct str ulid = intern_get(&x->g.words, word);
	sqlite3_bind_text(st, 1, ulid.p, (int)ulid.n, SQLITE_STATIC);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	if (rc < 0)
		return rc;
	if (!*ret) {
		*ret = x->next_run++;
		st = store_stmt(x->s, SQL_run_put, x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)*ret);
		sqlite3_bind_text(st, 2, ulid.p, (int)ulid.n, SQLITE_STATIC);
		sqlite3_bind_null(st, 3);
		sqlite3_bind_zeroblob(st, 4, 0);
		rc = store_run_stmt(x->s, st, x->err);
		if (rc < 0)
			return rc;
	}
	if (ids_add(&x->met_runs, *ret) < 0)
		return ix_oom(x);
	return map_set(&x->run_words, word, (uint32_t)*ret) ? 0 : ix_oom(x);
}

struct run_fact {
	uint32_t session, word;
	uint8_t kind;
	uint64_t seq;
	size_t index;
};

/* Order of qsort: facts of one run next to each other. */
static int fact_cmp(const void *pa, const void *pb)
{
	const struct run_fact *a = pa, *b = pb;
	if (a->word != b->word)
		return a->word < b->word ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Numbers of the index for words of the graph. 0 or -errno. */
static int append_interned_ids(struct ix *x, struct buf *out, const uint32_t *word, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t id;
		int rc = ix_interned(x, word[i], &id);
		if (rc < 0)
			return rc;
		buf_varint(out, id);
	}
	return 0;
}

/* word 0: an empty list. Uses x->b2. 0 or -errno. */
static int append_interned_list(struct ix *x, struct buf *out, uint32_t word)
{
	buf_reset(&x->b2);
	int rc = word ? ix_list(x, word, &x->b2) : 0;
	buf_varint(out, x->b2.n);
	buf_str(out, buf_view(&x->b2));
	return rc;
}

/* What a session told of a run. 0 or -errno. */
static int put_fact(struct ix *x, struct buf *out, const struct run_fact *f)
{
	const struct gsession *s = &x->g.sessions.v[f->session];
	int rc = 0;
	buf_varint(out, f->kind);
	if (f->kind == RUN_IS) {
		buf_zigzag(out, time_sub(s->began, x->s->base));
	} else if (f->kind == RUN_BEGAN) {
		const struct grun *r = &x->g.runs.v[f->index];
		const uint32_t words[] = {r->outer, r->cwd, r->user, r->group};
		buf_zigzag(out, time_sub(r->key.time, x->s->base));
		buf_varint(out, r->key.seq);
		rc = append_interned_ids(x, out, words, 4);
		buf_varint(out, r->uid);
		buf_varint(out, r->gid);
		if (rc == 0)
			rc = append_interned_list(x, out, r->argv);
		if (rc == 0)
			rc = append_interned_list(x, out, r->hostinfo);
		if (rc == 0)
			rc = append_interned_list(x, out, r->labels);
	} else {
		const struct grun_end *r = &x->g.run_ends.v[f->index];
		buf_zigzag(out, time_sub(r->key.time, x->s->base));
		buf_varint(out, r->key.seq);
		uint32_t e = r->exec;
		buf_varint(out, e == VEC_NONE ? 0 : exec_id(x->procs.v[x->g.execs.v[e].proc], x->g.execs.v[e].n));
		buf_varint(out, r->ending);
		buf_varint(out, r->code);
		buf_varint(out, r->cpu);
		buf_varint(out, r->traps);
	}
	return rc;
}

/* The row's sections that stay; *began is lowered to the earliest time in them. 0, -errno with a sentence. */
static int old_run(struct ix *x, uint64_t id, struct buf *out, int64_t *began)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_run_get, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 1));
		struct pproc_section sec;
		while ((rc = pproc_section_next(&c, &sec)) == 1) {
			if (ix_is_reloaded(x, sec.session))
				continue;
			struct cur body = cur_of(sec.body);
			cur_u(&body); /* the first fact of a section always has a time */
			int64_t t = time_add(x->s->base, cur_z(&body));
			*began = t < *began ? t : *began;
			buf_varint(out, sec.session);
			buf_varint(out, sec.body.n);
			buf_str(out, sec.body);
		}
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* The earliest moment that a fact tells of its run. ns. */
static int64_t fact_time(const struct ix *x, const struct run_fact *f)
{
	if (f->kind == RUN_IS)
		return x->g.sessions.v[f->session].began;
	return f->kind == RUN_BEGAN ? x->g.runs.v[f->index].key.time : x->g.run_ends.v[f->index].key.time;
}

/* Writes the row of a run. v: all facts of one run, by session; sections of other sessions stay. 0, or -errno with a
 * sentence. */
static int write_run(struct ix *x, const struct run_fact *v, size_t n)
{
	struct buf info = {0}, body = {0};
	uint64_t id;
	int64_t began = TIME_NEVER;
	int rc = ix_run_row(x, v[0].word, &id);
	if (rc == 0)
		rc = old_run(x, id, &info, &began);
	for (size_t i = 0, k; rc == 0 && i < n; i = k) {
		buf_reset(&body);
		for (k = i; rc == 0 && k < n && v[k].session == v[i].session; k++)
			rc = put_fact(x, &body, &v[k]);
		buf_varint(&info, x->sessions.v[v[i].session].id);
		buf_varint(&info, body.n);
		buf_str(&info, buf_view(&body));
		for (size_t j = i; j < k; j++) {
			int64_t t = fact_time(x, &v[j]);
			began = t < began ? t : began;
		}
	}
	sqlite3_stmt *st = store_stmt(x->s, SQL_run_put, x->err);
	if (rc == 0 && (!st || info.failed || body.failed))
		rc = ix_oom(x);
	if (rc == 0) {
		struct str ulid = intern_get(&x->g.words, v[0].word);
		sqlite3_bind_int64(st, 1, (int64_t)id);
		sqlite3_bind_text(st, 2, ulid.p, (int)ulid.n, SQLITE_STATIC);
		sqlite3_bind_int64(st, 3, began);
		bind_str(st, 4, buf_view(&info));
		rc = store_run_stmt(x->s, st, x->err);
	}
	buf_release(&info);
	buf_release(&body);
	return rc;
}

/* A row for each run of which something is new: what is known of it is gathered from all its sessions. 0, -errno. */
static int ix_write_runs(struct ix *x)
{
	VEC(struct run_fact) v = {0};
	if (!vec_room(&v, x->n_new + x->g.runs.n + x->g.run_ends.n))
		return ix_oom(x);
	for (uint32_t i = 0; i < x->n_new; i++)
		if (!x->sessions.v[i].goes_on) /* else the run has it */
			v.v[v.n++] = (struct run_fact){i, x->g.sessions.v[i].run, RUN_IS, 0, i};
	for (size_t i = 0; i < x->g.runs.n; i++)
		v.v[v.n++] = (struct run_fact){x->g.runs.v[i].session, x->g.runs.v[i].id, RUN_BEGAN, x->g.runs.v[i].key.seq, i};
	for (size_t i = 0; i < x->g.run_ends.n; i++)
		v.v[v.n++] = (struct run_fact){x->g.run_ends.v[i].session, x->g.run_ends.v[i].id, RUN_ENDED,
		                               x->g.run_ends.v[i].key.seq, i};
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), fact_cmp);
	int rc = 0;
	for (size_t i = 0, k; rc == 0 && i < v.n; i = k) {
		for (k = i; k < v.n && v.v[k].word == v.v[i].word; k++)
			;
		if (v.v[i].word) /* a node's own log has no run */
			rc = write_run(x, v.v + i, k - i);
	}
	vec_release(&v);
	return rc;
}

/* ---- sessions ---- */

/* The rows that the session told of, in the place of those that it told of before. Sorts v. 0, -errno. */
static int put_told_rows(struct ix *x, const struct ix_session *s, enum list_kind kind, struct ids *v)
{
	uint64_t key = list_key(kind, s->id);
	ids_sort(v);
	int rc = s->reloaded ? lists_clear(x->s, key, key + 1, x->err) : 0;
	return rc < 0 ? rc : lists_add(x->s, key, v->v, v->n, x->err);
}

/* Where the session's frames lie: one run of each segment. 0, -ENOMEM, reported. */
static int collect_frame_places(struct ix *x)
{
	for (size_t i = 0; i < x->w.frames.n; i++) {
		const struct collect_frame *f = &x->w.frames.v[i];
		uint32_t s = map_get(&x->g.session_map, f->session);
		if (s == VEC_NONE || s >= x->n_new)
			continue;
		struct ix_session *to = &x->sessions.v[s];
		uint64_t segment = x->segments.v[f->segment].id;
		struct ix_place *p = NULL;
		for (size_t k = 0; k < to->places.n && !p; k++)
			p = to->places.v[k].segment == segment ? &to->places.v[k] : NULL;
		if (!p) {
			if (!(p = vec_add(&to->places)))
				return ix_oom(x);
			*p = (struct ix_place){segment, f->offset, f->end};
		}
		p->from = f->offset < p->from ? f->offset : p->from;
		p->to = f->end > p->to ? f->end : p->to;
	}
	return 0;
}

/* Gaps and notes come session by session, as they were read: the first of a session. */
static size_t first_gap(const struct ix *x, uint32_t session)
{
	size_t lo = 0, hi = x->new_gaps;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (x->g.gaps.v[mid].session < session)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Index of the session's first note, or where it would stand. */
static size_t first_note(const struct ix *x, uint32_t session)
{
	size_t lo = 0, hi = x->g.notes.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (x->g.notes.v[mid].session < session)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The gaps of the whole session; those of executions are with their processes. 0, -errno with a sentence. */
static int put_session_gaps(struct ix *x, uint32_t session, struct buf *out)
{
	int rc = 0;
	uint64_t n = 0;
	size_t first = first_gap(x, session), i;
	for (i = first; i < x->new_gaps && x->g.gaps.v[i].session == session; i++)
		n += x->g.gaps.v[i].exec == VEC_NONE;
	buf_varint(out, n + x->sessions.v[session].gaps.n);
	buf_str(out, buf_view(&x->sessions.v[session].gaps.pack));
	for (i = first; rc == 0 && i < x->new_gaps && x->g.gaps.v[i].session == session; i++) {
		const struct ggap *g = &x->g.gaps.v[i];
		if (g->exec != VEC_NONE)
			continue;
		buf_varint(out, g->reason);
		buf_varint(out, g->count);
		buf_zigzag(out, time_sub(g->key.time, x->s->base));
		buf_varint(out, g->from != TIME_NONE);
		if (g->from != TIME_NONE)
			buf_zigzag(out, time_sub(g->key.time, g->from));
		rc = append_interned_ids(x, out, &g->text, 1);
	}
	return rc;
}

/* Appends a note, and lists its session under what it is on. 0, -errno with a sentence. */
static int put_note(struct ix *x, uint64_t session_row, const struct gnote *g, struct buf *out)
{
	uint64_t run;
	int rc = ix_run_row(x, g->run, &run);
	uint64_t file = g->file == VEC_NONE ? 0 : x->files.v[g->file].id;
	const uint32_t words[] = {g->text, g->version, g->user};
	buf_zigzag(out, time_sub(g->key.time, x->s->base));
	buf_varint(out, g->key.seq);
	buf_varint(out, run);
	buf_varint(out, file);
	if (rc == 0)
		rc = append_interned_ids(x, out, words, 3);
	if (rc == 0)
		rc = ix_pairs_add(x, &x->note_list, NOTES_ALL, session_row);
	if (rc == 0 && run)
		rc = ix_pairs_add(x, &x->note_list, run << 2 | NOTES_RUN, session_row);
	if (rc == 0 && file)
		rc = ix_pairs_add(x, &x->note_list, file << 2 | NOTES_FILE, session_row);
	return rc;
}

/* Notes that the session tells, behind how many there are. 0, -errno with a sentence. */
static int put_session_notes(struct ix *x, uint32_t session, struct buf *out)
{
	size_t first = first_note(x, session), end = first;
	int rc = 0;
	while (end < x->g.notes.n && x->g.notes.v[end].session == session)
		end++;
	buf_varint(out, end - first + x->sessions.v[session].notes.n);
	buf_str(out, buf_view(&x->sessions.v[session].notes.pack));
	for (size_t i = first; rc == 0 && i < end; i++)
		rc = put_note(x, x->sessions.v[session].id, &x->g.notes.v[i], out);
	return rc;
}

/* Are there gaps of the session as a whole? */
static bool has_gaps(const struct ix *x, uint32_t session)
{
	if (x->sessions.v[session].gaps.n)
		return true;
	for (size_t i = first_gap(x, session); i < x->new_gaps && x->g.gaps.v[i].session == session; i++)
		if (x->g.gaps.v[i].exec == VEC_NONE)
			return true;
	return false;
}

/* Notes it where the session is in the index, with other gaps than these: what is counted of the runs of its processes
 * rests on them (counts.h). gaps: as put_session_gaps writes them. 0, -errno. */
static int note_other_gaps(struct ix *x, uint64_t session, struct str gaps)
{
	struct buf info = {0};
	struct cur c;
	uint64_t run;
	int rc = read_session_rest(x->s, session, &info, &c, &run);
	if (rc == 1) {
		const unsigned char *from = c.p;
		for (uint64_t n = cur_u(&c); n && !c.bad; n--)
			read_session_gap(x->s, &c);
		rc = c.bad ? -ENOTRECOVERABLE : 0;
		if (rc == 0 && !str_eq(gaps, str_n((const char *)from, (size_t)(c.p - from))) &&
		    ids_add(&x->void_sessions, session) < 0)
			rc = ix_oom(x);
	}
	buf_release(&info);
	return rc;
}

/* The row of new session i. 0, -errno with a sentence. */
static int write_session(struct ix *x, uint32_t i)
{
	const struct gsession *g = &x->g.sessions.v[i];
	struct ix_session *s = &x->sessions.v[i];
	const struct ghost *h = &x->g.hosts.v[g->host];
	struct buf info = {0};
	uint64_t run;
	const uint32_t host[] = {h->name, h->boot}, rest[] = {g->tool, g->mode};
	int rc = append_interned_ids(x, &info, host, 2);
	buf_varint(&info, g->pidns);
	if (rc == 0)
		rc = ix_run_row(x, g->run, &run);
	if (rc == 0) {
		buf_varint(&info, run);
		rc = append_interned_ids(x, &info, rest, 2);
	}
	buf_varint(&info, g->last);
	buf_varint(&info, (g->ended ? 1 : 0) | (g->holes ? 2 : 0) | (has_gaps(x, i) ? 4 : 0));
	buf_zigzag(&info, time_sub(g->began, x->s->base));
	buf_varint(&info, s->places.n);
	for (size_t k = 0; k < s->places.n; k++) {
		buf_varint(&info, s->places.v[k].segment);
		buf_varint(&info, s->places.v[k].from);
		buf_varint(&info, s->places.v[k].to - s->places.v[k].from);
	}
	const size_t gaps = info.n;
	if (rc == 0)
		rc = put_session_gaps(x, i, &info);
	if (rc == 0 && !info.failed)
		rc = note_other_gaps(x, s->id, str_n(info.p + gaps, info.n - gaps));
	if (rc == 0)
		rc = put_session_notes(x, i, &info);
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_put, x->err);
	if (rc == 0 && (!st || info.failed))
		rc = ix_oom(x);
	if (rc == 0) {
		sqlite3_bind_int64(st, 1, (int64_t)s->id);
		sqlite3_bind_int64(st, 2, (int64_t)g->number);
		bind_str(st, 3, buf_view(&info));
		rc = store_run_stmt(x->s, st, x->err);
	}
	buf_release(&info);
	if (rc == 0)
		rc = put_told_rows(x, s, LIST_TOLD_PROCESS, &s->processes);
	return rc < 0 ? rc : put_told_rows(x, s, LIST_TOLD_PATH, &s->paths);
}

/* What each session told of, so that it can be taken back when it is read again. 0, -errno. */
static int session_rows(struct ix *x)
{
	int rc = collect_frame_places(x);
	for (size_t i = 0; rc == 0 && i < x->new_pfacts; i++)
		rc = ids_add(&x->sessions.v[x->g.pfacts.v[i].session].processes, x->procs.v[x->g.pfacts.v[i].proc]);
	for (size_t i = 0; rc == 0 && i < x->reported_paths.n; i++)
		rc = ids_add(&x->sessions.v[x->reported_paths.v[i].a].paths, x->reported_paths.v[i].b);
	return rc;
}

/* Writes the rows of the new sessions. 0, -errno with a sentence. */
static int write_sessions(struct ix *x)
{
	int rc = session_rows(x);
	for (uint32_t i = 0; rc == 0 && i < x->n_new; i++)
		rc = write_session(x, i);
	return rc;
}

/* Only those that changed. 0, or -errno with a sentence. */
static int write_segments(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->segments.n; i++) {
		const struct ix_segment *s = &x->segments.v[i];
		if (!s->changed || (s->done == s->from && !s->is_new)) /* a new one may be damaged from its beginning on */
			continue;
		rc = ix_put_segment(x, s);
	}
	return rc;
}

/* Which versions the executions of the touched processes are known to have used. 0, -ENOMEM, reported. */
static int find_attached(struct ix *x)
{
	for (size_t i = 0; i < x->loaded.n; i++) {
		const struct ix_loaded *l = &x->loaded.v[i];
		for (size_t k = 0; l->touched && k < l->sections.n; k++)
			for (uint32_t a = l->sections.v[k].first; a < l->sections.v[k].first + l->sections.v[k].count; a++) {
				const struct pacc *p = &x->paccs.v[a];
				for (uint32_t u = 0; u < p->nuse || (!p->nuse && !u); u++) {
					uint64_t n = !p->nuse ? 0 : p->nuse == 1 ? p->use : x->old_uses.v[p->use + u] >> 3;
					int rc = ix_pairs_add(x, &x->attached, exec_id(l->id, l->sections.v[k].n), version_id(p->file, n));
					if (rc < 0)
						return rc;
				}
			}
	}
	ix_pairs_sort(&x->attached);
	return 0;
}

/* Writes lists: executions of runs, children, derived versions, notes. 0, -errno with a sentence. */
static int write_row_lists(struct ix *x)
{
	int rc = ix_pairs_write(x, &x->run_list, LIST_RUN);
	if (rc == 0)
		rc = ix_pairs_write(x, &x->child_list, LIST_CHILD);
	if (rc == 0)
		rc = ix_pairs_write(x, &x->derived_list, LIST_DERIVED);
	if (rc == 0)
		rc = ix_pairs_write(x, &x->note_list, LIST_NOTE);
	return rc;
}

/* Writes the keys by which things are found. 0, -errno with a sentence. */
static int write_keys(struct ix *x)
{
	enum keys_when when = x->parts->more ? KEYS_PART : x->continues ? KEYS_LAST_PART : KEYS_ALL;
	int rc = 0;
	for (unsigned k = 0; rc == 0 && k <= KEY_VERSION; k++)
		rc = keys_add(x->s, k, x->new_keys[k].v, x->new_keys[k].n, when, x->err);
	return rc;
}

int ix_write(struct ix *x)
{
	/* In this order: what is written gives numbers to words, runs and fingerprints that later rows refer to. */
	static int (*const step[])(struct ix *) = {
	    ix_new_nodes,       ix_count_list_elements, ix_fps,          find_attached,     ix_write_files,
	    ix_write_processes, ix_write_names,         ix_write_runs,   write_sessions,    ix_write_open,
	    ix_write_calls,     ix_write_summaries,     ix_write_builds, ix_write_reported, ix_write_damage,
	    write_segments,     write_row_lists,        write_keys,      ix_count_runs,
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof(step) / sizeof(*step); i++)
		rc = step[i](x);
	return rc;
}
