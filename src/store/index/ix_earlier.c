/* ix_earlier.c - what earlier events of a session told, where only later ones are read: brought into the graph when
 * those refer to it. */
#include "graph/facts.h"
#include "store/index/ix_open.h"
#include "store/read.h"

#include <errno.h>

/* Adds a domain of the store to the graph; VEC_NONE: it failed, as x->open says. */
static uint32_t add_domain(struct ix *x, uint64_t row)
{
	const struct sdomain *d = store_domain(x->s, row);
	uint32_t word = d ? intern_add(&x->g.words, str_n(d->name, d->name_n)) : VEC_NONE;
	uint32_t at = word == VEC_NONE ? VEC_NONE : graph_domain(&x->g, word);
	if (at == VEC_NONE) {
		ix_open_failed(x, d ? -ENOMEM : -ENOTRECOVERABLE);
		return VEC_NONE;
	}
	x->g.domains.v[at].network |= d->network;
	if (!x->g.domains.v[at].type)
		x->g.domains.v[at].type = intern_add(&x->g.words, str_of(d->type));
	return at;
}

/* The file that is not there, by its path's row. */
static uint32_t add_absent(struct ix *x, uint64_t path)
{
	struct buf text = {0};
	store_path(x->s, path, &text);
	uint32_t node = text.failed ? VEC_NONE : paths_add(&x->g.paths, &x->g.words, buf_view(&text));
	buf_release(&text);
	uint32_t at = node == VEC_NONE ? VEC_NONE : graph_file(&x->g, VEC_NONE, 0, 0, node, NULL);
	if (at == VEC_NONE)
		ix_open_failed(x, -ENOMEM);
	return at;
}

/* Which file the row is of. What else the row says is joined later, as with every file that events speak of. */
static uint32_t add_file(struct ix *x, uint64_t row)
{
	uint32_t at = map_get(&x->open.files, row);
	if (at != VEC_NONE)
		return at;
	struct str pack, part[FILE_PARTS];
	struct pfile p = {0};
	struct pfile_brief brief = {0};
	int rc = block_row(x->s, &x->file_blocks, row, x->err, &pack);
	if (rc == 1)
		rc = pack_split(pack, FILE_PARTS, part) ? pfile_identity(part[FILE_INFO], &p) : -ENOTRECOVERABLE;
	else if (rc == 0)
		rc = -ENOTRECOVERABLE;
	if (rc == 0)
		rc = pfile_brief(part[FILE_INFO], &brief);
	if (rc < 0) {
		ix_open_failed(x, rc);
		return VEC_NONE;
	}
	uint32_t domain = p.domain ? add_domain(x, p.domain) : VEC_NONE;
	if (!p.domain)
		at = add_absent(x, p.path);
	else if (domain != VEC_NONE)
		at = graph_file(&x->g, domain, p.ino, p.gen, VEC_NONE, NULL);
	if (at == VEC_NONE || !map_set(&x->open.files, row, at))
		ix_open_failed(x, -ENOMEM);
	else if (x->g.files.v[at].kind_key.time == INT64_MAX) /* nothing told of it now, and that stands */
		x->g.files.v[at].kind = (uint8_t)brief.kind;
	return at;
}

/* The process of the row. */
static uint32_t add_process(struct ix *x, uint64_t row)
{
	uint32_t at = map_get(&x->open.processes, row);
	if (at != VEC_NONE)
		return at;
	struct str pack, part[PROCESS_PARTS];
	struct pproc p;
	int rc = block_row(x->s, &x->process_blocks, row, x->err, &pack);
	if (rc == 1 && pack_split(pack, PROCESS_PARTS, part)) {
		struct cur c = cur_of(part[PROCESS_INFO]);
		rc = pproc_get(x->s, &c, &p);
	} else if (rc >= 0) {
		rc = -ENOTRECOVERABLE;
	}
	if (rc < 0) {
		ix_open_failed(x, rc);
		return VEC_NONE;
	}
	uint32_t boot = intern_add(&x->g.words, store_interned(x->s, p.boot));
	uint64_t pidns = read_pidns(x->s, &p);
	at = boot == VEC_NONE ? VEC_NONE : graph_proc(&x->g, boot, pidns, p.pid, p.started, NULL);
	struct ix_pair *slot = at == VEC_NONE ? NULL : vec_add(&x->open.process_rows);
	if (!slot || !map_set(&x->open.processes, row, at) ||
	    !map_set(&x->open.rows_of_processes, at, (uint32_t)(x->open.process_rows.n - 1))) {
		ix_open_failed(x, -ENOMEM);
		return VEC_NONE;
	}
	*slot = (struct ix_pair){at, row};
	return at;
}

/* The word of a run's row; 0 for none. */
static uint32_t add_run(struct ix *x, uint64_t row)
{
	if (!row)
		return 0;
	uint32_t word = VEC_NONE;
	sqlite3_stmt *st = store_stmt(x->s, SQL_run_get, x->err);
	if (!st) {
		ix_open_failed(x, -EIO);
		return 0;
	}
	sqlite3_bind_int64(st, 1, (int64_t)row);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1)
		word = intern_add(&x->g.words, column_str(st, 0));
	sqlite3_reset(st);
	if (word == VEC_NONE)
		ix_open_failed(x, rc == 1 ? -ENOMEM : rc < 0 ? rc : -ENOTRECOVERABLE);
	return word == VEC_NONE ? 0 : word;
}

/* Adds a process that an earlier part of the session numbered; VEC_NONE: it failed. */
static uint32_t add_numbered_process(struct ix *x, struct facts *f, struct cur *c)
{
	uint64_t row = cur_u(c), n = cur_u(c), run = cur_u(c);
	if (c->bad) {
		ix_open_failed(x, -ENOTRECOVERABLE);
		return VEC_NONE;
	}
	uint32_t proc = add_process(x, row);
	uint32_t exec = proc == VEC_NONE ? VEC_NONE : graph_exec(&x->g, proc, (uint32_t)n);
	struct facts_proc *slot = exec == VEC_NONE ? NULL : vec_add(&f->pnums);
	if (!slot) {
		ix_open_failed(x, -ENOMEM);
		return VEC_NONE;
	}
	*slot = (struct facts_proc){proc, exec, add_run(x, run)};
	return (uint32_t)(f->pnums.n - 1);
}

/* A fingerprint, as put_fp has it. VEC_NONE: no memory. */
static uint32_t add_fp(struct ix *x, struct cur *c)
{
	struct gfp *fp = vec_add(&x->g.fps);
	if (!fp) {
		ix_open_failed(x, -ENOMEM);
		return VEC_NONE;
	}
	fp->size = cur_u(c);
	fp->mtime = cur_z(c);
	return (uint32_t)(x->g.fps.n - 1);
}

/* Reads a kept access at c into *a; what else it tells goes into x->g.more. 0; -ENOTRECOVERABLE: it is damaged;
 * -ENOMEM. */
static int get_access(struct ix *x, struct cur *c, struct gaccess *a)
{
	uint64_t bits = cur_u(c);
	a->flags = cur_u(c) & KEPT_FLAGS;
	a->mode = (uint16_t)(cur_u(c) & 0xff);
	a->via = (uint8_t)(cur_u(c) & 7);
	a->api = (uint8_t)(cur_u(c) & 15);
	a->part = (uint32_t)cur_u(c);
	a->evidence = (uint8_t)(cur_u(c) & 3);
	a->count = (uint32_t)cur_u(c);
	a->start = cur_z(c);
	a->end = time_add(a->start, cur_z(c));
	a->bytes_read = cur_u(c);
	a->bytes_written = cur_u(c);
	a->sure = (bits & KEPT_SURE) != 0;
	a->fps = bits & KEPT_FP ? add_fp(x, c) : VEC_NONE;
	a->fpe = bits & KEPT_FPE ? add_fp(x, c) : VEC_NONE;
	a->more = VEC_NONE;
	if (bits & (KEPT_TOLD | KEPT_TIMES)) {
		struct gmore *m = vec_add(&x->g.more);
		if (!m)
			return -ENOMEM;
		*m = (struct gmore){.first = TIME_NONE, .last = TIME_NONE};
		if (bits & KEPT_TOLD) {
			m->session = cur_u(c);
			m->seq = cur_u(c);
		}
		if (bits & KEPT_TIMES) {
			m->first = cur_z(c);
			m->last = cur_z(c);
		}
		a->more = (uint32_t)(x->g.more.n - 1);
	}
	return c->bad ? -ENOTRECOVERABLE : 0;
}

/* Adds an access that an earlier part of the session left open; VEC_NONE: it failed. */
static uint32_t add_access(struct ix *x, struct facts *f, uint64_t seq, struct cur *c)
{
	struct gaccess a = {.seq = seq, .session = f->session};
	uint64_t process = cur_u(c), n = cur_u(c), file = cur_u(c);
	int rc = get_access(x, c, &a);
	uint32_t proc = rc < 0 ? VEC_NONE : add_process(x, process), self = rc < 0 ? VEC_NONE : add_file(x, file);
	if (rc < 0)
		ix_open_failed(x, rc);
	if (proc == VEC_NONE || self == VEC_NONE || (a.exec = graph_exec(&x->g, proc, (uint32_t)n)) == VEC_NONE)
		return VEC_NONE;
	a.self = a.file = self;
	if (a.flags & GACCESS_TOLD)
		x->g.files.v[self].flags |= GFILE_TOLD;
	struct gaccess *slot = vec_add(&x->g.accesses);
	struct ix_reopened *r = slot ? vec_add(&x->open.accesses) : NULL;
	if (!r) {
		ix_open_failed(x, -ENOMEM);
		return VEC_NONE;
	}
	*slot = a;
	*r = (struct ix_reopened){f->session, (uint32_t)(x->g.accesses.n - 1), seq};
	return r->access;
}

/* Notes that something of the session is lacking: it is to be indexed as a whole. */
static void note_lacking(void *arg, const struct facts *f)
{
	struct ix *x = arg;
	if (ids_add(&x->open.lacking, x->g.sessions.v[f->session].number) < 0)
		ix_open_failed(x, -ENOMEM);
}

/* What an earlier part of the session numbered; VEC_NONE: nothing, or it failed. */
static uint32_t find_earlier(void *arg, struct facts *f, enum facts_kind kind, uint64_t number)
{
	static const enum open_kind kinds[] = {OPEN_DOMAIN, OPEN_FILE, OPEN_PROCESS, OPEN_ACCESS};
	struct ix *x = arg;
	struct cur c;
	if (kind == FACTS_ACCESS && number > x->open.since)
		return VEC_NONE;
	int rc = x->open.rc ? 0 : ix_open_find(x, kinds[kind], number, &c);
	if (rc == 0 && kind == FACTS_ACCESS)
		note_lacking(arg, f); /* its end was told already, and what its own event said is not kept */
	if (rc < 0)
		ix_open_failed(x, rc);
	if (rc <= 0)
		return VEC_NONE;
	switch (kind) {
	case FACTS_DOMAIN:
		return add_domain(x, cur_u(&c));
	case FACTS_FILE:
		return add_file(x, cur_u(&c));
	case FACTS_PROCESS:
		return add_numbered_process(x, f, &c);
	default:
		return add_access(x, f, number, &c);
	}
}

/* The row of a file of the graph, by what it is. 0: the store does not have it. */
static uint64_t stored_file(struct ix *x, uint32_t file)
{
	const struct gfile *g = &x->g.files.v[file];
	struct key_cursor c = {0};
	struct buf b = {0};
	size_t at, n;
	uint64_t found = 0;
	int rc = keys_find(x->s, &c, KEY_FILE, (uint32_t)(ix_file_hash(x, file, &b).hi >> 32), x->err, &at, &n);
	for (size_t i = at; rc == 0 && !found && i < at + n; i++) {
		struct str pack, part[FILE_PARTS];
		struct pfile p = {0};
		rc = block_row(x->s, &x->file_blocks, c.v.v[i].id, x->err, &pack);
		rc = rc < 0                                          ? rc
		     : rc == 1 && pack_split(pack, FILE_PARTS, part) ? pfile_identity(part[FILE_INFO], &p)
		                                                     : -ENOTRECOVERABLE;
		const struct sdomain *d = rc == 0 && p.domain ? store_domain(x->s, p.domain) : NULL;
		if (d && g->domain != VEC_NONE && p.ino == g->ino && p.gen == g->gen &&
		    str_eq(str_n(d->name, d->name_n), intern_get(&x->g.words, x->g.domains.v[g->domain].name)))
			found = c.v.v[i].id;
	}
	if (rc < 0)
		ix_open_failed(x, rc);
	key_cursor_release(&c);
	buf_release(&b);
	return found;
}

/* The last state that an earlier part told of the file; VEC_NONE: none, or it failed. */
static uint32_t find_earlier_state(void *arg, struct facts *f, uint32_t file)
{
	struct ix *x = arg;
	struct cur c;
	(void)f;
	uint64_t row = x->open.rc ? 0 : stored_file(x, file);
	int rc = row ? ix_open_find(x, OPEN_STATE, row, &c) : 0;
	if (rc < 0)
		ix_open_failed(x, rc);
	return rc == 1 ? add_fp(x, &c) : VEC_NONE;
}

/* Does the section tell that the n-th program began? */
static bool tells_of_exec(struct ix *x, struct str section, uint32_t n)
{
	struct cur body = cur_of(section);
	struct pproc_fact fact;
	int64_t t = x->s->base;
	while (pproc_fact_next(&body, &t, &fact) == 1)
		if (fact.kind == PPROC_EXEC && fact.exec.n == n)
			return true;
	return false;
}

/* The execution if an earlier part told of it; VEC_NONE: not, or it failed. */
static uint32_t find_earlier_exec(void *arg, struct facts *f, uint32_t proc, uint32_t n)
{
	struct ix *x = arg;
	uint32_t at = map_get(&x->open.rows_of_processes, proc);
	struct str pack, part[PROCESS_PARTS];
	struct pproc p;
	struct pproc_section sec;
	bool told = false;
	if (at == VEC_NONE) { /* told of anew: what was told before is not at hand */
		note_lacking(arg, f);
		return VEC_NONE;
	}
	int rc = block_row(x->s, &x->process_blocks, x->open.process_rows.v[at].b, x->err, &pack);
	if (rc == 1 && pack_split(pack, PROCESS_PARTS, part)) {
		struct cur c = cur_of(part[PROCESS_INFO]);
		rc = pproc_get(x->s, &c, &p);
		while (rc == 0 && !told && pproc_section_next(&c, &sec) == 1)
			told = sec.session == x->open.session && tells_of_exec(x, sec.body, n);
	}
	if (rc < 0)
		ix_open_failed(x, rc);
	return told ? graph_exec(&x->g, proc, n) : VEC_NONE;
}
/* The session as its row has it, to go on with. 0 or -errno. */
static int restore_session(struct ix *x, struct facts *f, struct str info)
{
	struct gsession *g = &x->g.sessions.v[f->session];
	struct cur c = cur_of(info);
	uint64_t host = cur_u(&c), boot = cur_u(&c);
	g->pidns = cur_u(&c);
	uint64_t run = cur_u(&c), tool = cur_u(&c), mode = cur_u(&c), last = cur_u(&c);
	cur_u(&c); /* flags */
	g->began = time_add(x->s->base, cur_z(&c));
	if (c.bad)
		return -ENOTRECOVERABLE;
	uint32_t word[4];
	const uint64_t number[4] = {host, boot, tool, mode};
	for (int i = 0; i < 4; i++)
		if ((word[i] = intern_add(&x->g.words, store_interned(x->s, number[i]))) == VEC_NONE)
			return -ENOMEM;
	uint32_t at = graph_host(&x->g, word[0], word[1]);
	if (at == VEC_NONE)
		return -ENOMEM;
	g = &x->g.sessions.v[f->session];
	g->host = at;
	g->tool = word[2];
	g->mode = word[3];
	g->run = add_run(x, run);
	g->described = true;
	g->last = last;
	x->open.since = last;
	facts_go_on(f, last, &x->open.earlier);
	return x->open.rc;
}

int ix_open_session(void *arg, struct facts *f, uint64_t number)
{
	struct ix *x = arg;
	x->open.earlier = (struct facts_earlier){
	    .arg = x, .find = find_earlier, .state = find_earlier_state, .exec = find_earlier_exec, .lacks = note_lacking};
	if (f->session == VEC_NONE || !ix_goes_on(x, number))
		return 0;
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)number);
	buf_reset(&x->b3);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		x->open.session = (uint64_t)sqlite3_column_int64(st, 0);
		buf_str(&x->b3, column_str(st, 1));
	}
	sqlite3_reset(st);
	if (rc == 1)
		rc = x->b3.failed ? -ENOMEM : restore_session(x, f, buf_view(&x->b3));
	else if (rc == 0)
		rc = -ENOTRECOVERABLE;
	if (rc < 0)
		ix_open_failed(x, rc);
	return rc;
}
