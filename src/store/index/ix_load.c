/* ix_load.c - what the store knows already and the new facts touch: brought back into the graph. */
#include "store/index/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_reloaded(struct ix *x, uint64_t session)
{
	uint32_t i = map_get(&x->session_rows, session);
	return i != VEC_NONE && i < x->n_new;
}

/* ---- processes ---- */

/* The facts that decide when its executions began and ended, from the sessions that were not read again. */
static int load_old_process_facts(struct ix *x, struct ix_loaded *l, struct cur *c)
{
	struct pproc_section sec;
	int rc;
	while ((rc = pproc_section_next(c, &sec)) == 1) {
		if (is_reloaded(x, sec.session))
			continue;
		uint32_t session;
		rc = ix_session_of(x, sec.session, &session);
		if (rc < 0)
			return rc;
		uint64_t number = x->g.sessions.v[session].number;
		struct cur body = cur_of(sec.body);
		struct pproc_fact f;
		int64_t t = x->s->base;
		while ((rc = pproc_fact_next(&body, &t, &f)) == 1) {
			if (f.kind == PPROC_FORK) {
				struct gpfact *p = vec_add(&x->g.pfacts);
				if (!p)
					return ix_oom(x);
				*p = (struct gpfact){.proc = l->proc,
				                     .session = session,
				                     .key = {f.fork.time, number, f.fork.seq},
				                     .parent = VEC_NONE,
				                     .forked = f.fork.forked};
			} else if (f.kind == PPROC_EXEC) {
				uint32_t exec = graph_exec(&x->g, l->proc, (uint32_t)f.exec.n);
				struct gxfact *p = exec == VEC_NONE ? NULL : vec_add(&x->g.xfacts);
				if (!p)
					return ix_oom(x);
				*p = (struct gxfact){.exec = exec, .session = session, .key = {f.exec.time, number, f.exec.seq}};
			} else if (f.kind == PPROC_EXIT) {
				struct gexit *p = vec_add(&x->g.exits);
				if (!p)
					return ix_oom(x);
				*p = (struct gexit){.proc = l->proc, .session = session, .key = {f.exit.time, number, f.exit.seq}};
			}
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int load_old_accesses(struct ix *x, struct ix_loaded *l, struct str acc)
{
	struct cur c = cur_of(acc);
	struct pacc_section sec;
	int rc;
	x->sections_read.n = 0;
	while ((rc = pacc_section_next(&c, &sec)) == 1) {
		struct ix_section *slot = vec_add(&x->sections_read);
		if (!slot)
			return ix_oom(x);
		*slot = (struct ix_section){
		    .session = sec.session, .n = sec.n, .first = (uint32_t)x->paccs.n, .replaced = is_reloaded(x, sec.session)};
		struct pacc_reader r;
		pacc_begin(&r, x->s, &sec, &x->old_uses);
		for (;;) {
			struct pacc *a = vec_add(&x->paccs);
			if (!a)
				return ix_oom(x);
			rc = pacc_next(&r, a);
			if (rc <= 0) {
				x->paccs.n--;
				break;
			}
			slot->count++;
		}
		if (rc < 0)
			return rc;
		if (!slot->replaced && graph_exec(&x->g, l->proc, sec.n) == VEC_NONE)
			return ix_oom(x);
	}
	size_t bytes = x->sections_read.n * sizeof(*x->sections_read.v);
	if (rc == 0 && bytes) {
		l->sections.v = arena_take(&x->arena, bytes);
		if (!l->sections.v)
			return ix_oom(x);
		memcpy(l->sections.v, x->sections_read.v, bytes);
		l->sections.n = x->sections_read.n;
	}
	return rc;
}

static int load_process(struct ix *x, uint64_t id, bool touched, uint32_t *ret)
{
	uint32_t at = map_get(&x->loaded_rows, id);
	if (ret)
		*ret = at;
	if (at != VEC_NONE)
		return 0;
	struct ix_loaded *l = vec_add(&x->loaded);
	if (!l || !map_set(&x->loaded_rows, id, (uint32_t)(x->loaded.n - 1)))
		return ix_oom(x);
	*l = (struct ix_loaded){.id = id, .touched = touched, .changed = touched};
	if (ret)
		*ret = (uint32_t)(x->loaded.n - 1);
	buf_reset(&x->b1);
	struct str row, part[PROCESS_PARTS];
	int rc = block_row(x->s, &x->process_blocks, id, x->err, &row);
	if (rc == 1)
		rc = pack_split(row, PROCESS_PARTS, part) ? 1 : -ENOTRECOVERABLE;
	if (rc == 1) {
		l->info = ix_keep(x, part[PROCESS_INFO]);
		buf_str(&x->b1, part[PROCESS_ACC]);
		rc = l->info.failed || x->b1.failed ? ix_oom(x) : 0;
	} else if (rc == 0) {
		rc = -ENOTRECOVERABLE;
	}
	struct cur c = cur_of(buf_view(&l->info));
	struct pproc p;
	if (rc == 0)
		rc = pproc_get(x->s, &c, &p);
	if (rc == 0) {
		uint32_t boot = intern_add(&x->g.words, store_interned(x->s, p.boot));
		char ns[24];
		struct str w = store_interned(x->s, p.pidns);
		snprintf(ns, sizeof(ns), "%.*s", (int)(w.n < 20 ? w.n : 20), w.p);
		l->proc = boot == VEC_NONE ? VEC_NONE : graph_proc(&x->g, boot, strtoull(ns, NULL, 10), p.pid, p.started, NULL);
		if (l->proc == VEC_NONE || ix_sync(x) < 0)
			return ix_oom(x);
		x->procs.v[l->proc] = id;
		x->loaded_of.v[l->proc] = (uint32_t)(x->loaded.n - 1);
		if (touched)
			rc = load_old_process_facts(x, l, &c);
	}
	if (rc == 0)
		rc = load_old_accesses(x, l, buf_view(&x->b1));
	if (rc == -ENOTRECOVERABLE)
		err_set(x->err, 0, "the index is damaged: process %llu", (unsigned long long)id);
	return rc;
}

int ix_load_touched(struct ix *x)
{
	int rc = 0;
	size_t n = x->g.procs.n;
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (x->procs.v[i] < x->first_new_process)
			rc = load_process(x, x->procs.v[i], true, NULL);
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		for (size_t k = 0; rc == 0 && k < x->sessions.v[i].processes.n; k++)
			rc = load_process(x, x->sessions.v[i].processes.v[k], true, NULL);
	for (size_t i = 0; rc == 0 && i < x->loaded.n; i++) {
		const struct ix_loaded *l = &x->loaded.v[i];
		for (size_t k = 0; rc == 0 && k < l->sections.n; k++) {
			const struct ix_section *sec = &l->sections.v[k];
			for (uint32_t a = sec->first; rc == 0 && a < sec->first + sec->count; a++) {
				uint32_t file, self;
				rc = ix_file_of(x, x->paccs.v[a].file, &file);
				if (rc == 0)
					rc = ix_file_of(x, x->paccs.v[a].self, &self);
				if (rc < 0)
					break;
				x->files.v[file].old_touched = true;
				uint32_t session = sec->replaced ? map_get(&x->session_rows, sec->session) : VEC_NONE;
				x->files.v[file].slow |= session != VEC_NONE && x->sessions.v[session].holes;
			}
		}
	}
	return rc;
}

/* ---- slow files ---- */

static int gather_file(struct ix *x, uint32_t file)
{
	struct ix_row *row = &x->rows.v[x->files.v[file].row];
	if (row->gathered)
		return 0;
	row->gathered = true;
	struct ids execs = {0};
	struct cur c = cur_of(buf_view(&row->rd));
	struct prd last = {0}, r;
	int rc;
	while ((rc = prd_next(&c, &last, &r)) == 1)
		if (ids_add(&execs, r.exec) < 0) {
			rc = ix_oom(x);
			break;
		}
	if (rc == 0 && (row->f.flags & PFILE_SPILLED))
		for (uint64_t n = 0; rc == 0 && n <= row->f.nversion; n++)
			rc = lists_get(x->s, list_key(LIST_READER, version_id(x->files.v[file].id, n)), &execs);
	ids_sort(&execs);
	for (size_t i = 0; rc == 0 && i < execs.n; i++)
		if (!i || exec_process(execs.v[i]) != exec_process(execs.v[i - 1]))
			rc = load_process(x, exec_process(execs.v[i]), false, NULL);
	free(execs.v);
	return rc;
}

static bool ends_py(const struct ix *x, uint32_t node)
{
	return str_ends(intern_get(&x->g.words, x->g.paths.list.v[node].base), str_of(".py"));
}

/* Whether some name of the file could be that of a cache's source. */
static int is_source(struct ix *x, uint32_t file, bool *ret)
{
	const struct ix_file *f = &x->files.v[file];
	*ret = false;
	size_t n = f->row == VEC_NONE ? 0 : x->rows.v[f->row].f.paths.n;
	for (size_t i = 0; i < n && !*ret; i++) {
		uint32_t node;
		int rc = ix_node_of(x, x->rows.v[x->files.v[file].row].f.paths.v[i], &node);
		if (rc < 0)
			return rc;
		*ret = ends_py(x, node);
	}
	for (size_t i = ix_pairs_from(x->named.v, x->named.n, file); i < x->named.n && x->named.v[i].a == file && !*ret;
	     i++)
		*ret = ends_py(x, map_get(&x->node_rows, x->named.v[i].b));
	return 0;
}

/* Whether an access wrote what may be a cache (one that is a lock file, too, is sync). */
static bool writes_cache(const struct pacc *p)
{
	unsigned via = layout_get(p->bits, LAYOUT_GEN_VIA, 3);
	return layout_get(p->bits, LAYOUT_GEN, 1) && (via == TERM_via_cache || via == TERM_via_sync);
}

/* Cache files whose writers' uses may change are resolved again, too: their derivations follow from those. */
static int cascade(struct ix *x, size_t from, bool *ret_more)
{
	for (size_t i = from; i < x->loaded.n; i++) {
		bool changes = x->loaded.v[i].touched, caches = false;
		for (size_t k = 0; k < x->loaded.v[i].sections.n; k++) {
			struct ix_section sec = x->loaded.v[i].sections.v[k];
			for (uint32_t a = sec.first; a < sec.first + sec.count; a++)
				caches |= writes_cache(&x->paccs.v[a]);
		}
		for (size_t k = 0; caches && !changes && k < x->loaded.v[i].sections.n; k++) {
			struct ix_section sec = x->loaded.v[i].sections.v[k];
			for (uint32_t a = sec.first; a < sec.first + sec.count && !changes; a++) {
				uint32_t file = map_get(&x->file_rows, x->paccs.v[a].file);
				int rc = file != VEC_NONE && x->files.v[file].slow ? is_source(x, file, &changes) : 0;
				if (rc < 0)
					return rc;
			}
		}
		for (size_t k = 0; caches && changes && k < x->loaded.v[i].sections.n; k++) {
			struct ix_section sec = x->loaded.v[i].sections.v[k];
			for (uint32_t a = sec.first; a < sec.first + sec.count; a++) {
				uint32_t file;
				if (!writes_cache(&x->paccs.v[a]))
					continue;
				int rc = ix_file_of(x, x->paccs.v[a].file, &file);
				if (rc < 0)
					return rc;
				if (!(x->g.files.v[file].flags & GFILE_CACHE))
					continue;
				*ret_more |= !x->files.v[file].slow;
				x->files.v[file].slow = true;
				x->files.v[file].fast = false;
			}
		}
	}
	return 0;
}

static int row_fps(struct ix *x, uint32_t file, uint32_t index, uint32_t *ret)
{
	*ret = VEC_NONE;
	if (!index || x->files.v[file].row == VEC_NONE)
		return 0;
	struct ix_row *row = &x->rows.v[x->files.v[file].row];
	if (index > row->f.fps.n)
		return -ENOTRECOVERABLE;
	if (row->first_fp == VEC_NONE) {
		row->first_fp = (uint32_t)x->g.fps.n;
		for (size_t i = 0; i < row->f.fps.n; i++) {
			struct gfp *fp = vec_add(&x->g.fps);
			if (!fp)
				return ix_oom(x);
			*fp = (struct gfp){row->f.fps.v[i].size, row->f.fps.v[i].mtime};
		}
	}
	*ret = row->first_fp + index - 1;
	return 0;
}

/* Puts an old access into the graph. */
static int restore_access(struct ix *x, const struct ix_loaded *l, const struct ix_section *sec, struct pacc *p,
                          bool resolved)
{
	uint32_t session, self, fps, fpe;
	int rc = ix_session_of(x, sec->session, &session);
	if (rc == 0)
		rc = ix_file_of(x, p->self, &self);
	if (rc == 0)
		rc = row_fps(x, self, p->fps, &fps);
	if (rc == 0)
		rc = row_fps(x, self, p->fpe, &fpe);
	if (rc < 0)
		return rc;
	uint32_t exec = graph_exec(&x->g, l->proc, sec->n);
	struct gaccess *a = exec == VEC_NONE ? NULL : vec_add(&x->g.accesses);
	if (!a)
		return ix_oom(x);
	uint64_t bits = p->bits;
	*a = (struct gaccess){.seq = p->seq,
	                      .start = p->start,
	                      .end = p->end,
	                      .session = session,
	                      .exec = exec,
	                      .self = self,
	                      .file = self,
	                      .fps = fps,
	                      .fpe = fpe,
	                      .more = VEC_NONE,
	                      .count = p->count < UINT32_MAX ? (uint32_t)p->count : UINT32_MAX,
	                      .bytes_read = p->bytes_read,
	                      .bytes_written = p->bytes_written,
	                      .mode = (uint16_t)layout_get(bits, LAYOUT_MODE, 8),
	                      .flags = (layout_get(bits, LAYOUT_FLAGS, 12) & ~(uint32_t)GACCESS_UNTIL) | GACCESS_OLD,
	                      .via = (uint8_t)layout_get(bits, LAYOUT_VIA, 3),
	                      .api = (uint8_t)layout_get(bits, LAYOUT_API, 4),
	                      .sure = (uint8_t)layout_get(bits, LAYOUT_SURE, 1),
	                      .evidence = (uint8_t)layout_get(bits, LAYOUT_EVIDENCE, 2)};
	a->flags |= GACCESS_ENDED;
	bool told = layout_get(bits, LAYOUT_REPORTED, 1), exact = layout_get(bits, LAYOUT_EXACT, 1);
	if (told || exact) {
		struct gmore *m = vec_add(&x->g.more);
		if (!m)
			return ix_oom(x);
		*m = (struct gmore){p->as_session, p->as_seq, p->first, p->last};
		a->more = (uint32_t)(x->g.more.n - 1);
		a->flags |= (told ? GACCESS_TOLD : 0) | (exact ? GACCESS_EXACT : 0);
		if (told && !resolved) /* else what is known of its key stands: not all with that key are here */
			x->g.files.v[self].flags |= GFILE_TOLD;
	}
	if (layout_get(bits, LAYOUT_IO, 1))
		a->flags |= GACCESS_IO;
	if (layout_get(bits, LAYOUT_DUPLICATE, 1))
		a->flags |= GACCESS_TWIN;
	if (!l->touched || layout_get(bits, LAYOUT_END, 2) == END_GIVEN)
		a->flags |= GACCESS_UNTIL; /* else its execution's end may be another now */
	if (!resolved) {
		a->flags &= ~(uint32_t)(GACCESS_GEN_MUST | GACCESS_USE_MUST);
	} else {
		a->gen = p->gen;
		a->gen_via = (uint8_t)layout_get(bits, LAYOUT_GEN_VIA, 3);
		a->nuse = p->nuse;
		a->use = p->use;
		a->use_via = (uint8_t)layout_get(bits, LAYOUT_USE_VIA, 3);
		if (p->nuse > 1) {
			a->use = (uint32_t)x->g.uses.n;
			for (uint32_t k = 0; k < p->nuse; k++) {
				struct guse *u = vec_add(&x->g.uses);
				if (!u)
					return ix_oom(x);
				uint64_t old = x->old_uses.v[p->use + k];
				*u = (struct guse){(uint32_t)(old >> 3), old & 7};
			}
		}
	}
	p->access = (uint32_t)(x->g.accesses.n - 1);
	return 0;
}

static int link_all(struct ix *x)
{
	for (size_t i = 0; i < x->loaded.n; i++)
		for (size_t k = 0; k < x->loaded.v[i].sections.n; k++) {
			struct ix_section sec = x->loaded.v[i].sections.v[k];
			for (uint32_t a = sec.first; !sec.replaced && a < sec.first + sec.count; a++) {
				uint32_t file = map_get(&x->file_rows, x->paccs.v[a].file),
				         self = map_get(&x->file_rows, x->paccs.v[a].self);
				bool slow = (file != VEC_NONE && x->files.v[file].slow) || (self != VEC_NONE && x->files.v[self].slow);
				if (x->paccs.v[a].access != VEC_NONE || (!slow && (file == VEC_NONE || !x->files.v[file].source)))
					continue;
				int rc = restore_access(x, &x->loaded.v[i], &sec, &x->paccs.v[a], !slow);
				if (rc < 0)
					return rc;
				x->loaded.v[i].changed |= slow;
			}
		}
	return 0;
}

int ix_load_slow(struct ix *x)
{
	int rc = 0;
	size_t checked = 0;
	for (bool more = true; rc == 0 && more;) {
		more = false;
		for (uint32_t i = 0; rc == 0 && i < x->files.n; i++)
			if (x->files.v[i].slow && x->files.v[i].row != VEC_NONE)
				rc = gather_file(x, i);
		if (rc == 0)
			rc = cascade(x, 0, &more);
		more |= checked != x->loaded.n;
		checked = x->loaded.n;
	}
	if (rc == 0)
		rc = ix_add_caches(x);
	return rc < 0 ? rc : link_all(x);
}

/* ---- caches (B14) ---- */

struct sources {
	struct ix *x;
	uint32_t cache;
};

static int append_cache_source(void *arg, const struct pname *n)
{
	struct sources *s = arg;
	uint32_t file;
	int rc = ix_file_of(s->x, n->file, &file);
	if (rc < 0)
		return rc;
	if (file == s->cache)
		return 0;
	s->x->files.v[file].source = true;
	struct gcache *c = vec_add(&s->x->g.caches);
	if (!c)
		return ix_oom(s->x);
	*c = (struct gcache){s->cache, file};
	return 0;
}

/* The files that the source's path ever named: in the store, and as found now. */
static int add_sources(struct ix *x, uint32_t cache, uint32_t node)
{
	uint32_t word = intern_add(&x->g.words, str_of("__pycache__"));
	uint32_t p = x->g.paths.list.v[node].parent, source;
	while (p != VEC_NONE && x->g.paths.list.v[p].base != word)
		p = x->g.paths.list.v[p].parent;
	if (p == VEC_NONE || x->g.paths.list.v[p].parent == VEC_NONE)
		return 0;
	struct str base = intern_get(&x->g.words, x->g.paths.list.v[node].base);
	const char *dot = memchr(base.p, '.', base.n);
	struct buf name = {0};
	buf_add(&name, base.p, dot ? (size_t)(dot - base.p) : base.n);
	buf_str(&name, str_of(".py"));
	int rc = name.failed ? ix_oom(x) : ix_node_find(x, x->g.paths.list.v[p].parent, buf_view(&name), &source);
	buf_release(&name);
	if (rc < 0 || source == VEC_NONE)
		return rc;
	struct sources s = {x, cache};
	uint64_t row = x->nodes.v[source].id;
	size_t i = ix_pairs_from(x->named_paths.v, x->named_paths.n, row);
	for (; rc == 0 && i < x->named_paths.n && x->named_paths.v[i].a == row; i++) {
		struct pname n = {.file = x->files.v[x->named_paths.v[i].b].id};
		rc = append_cache_source(&s, &n);
	}
	uint32_t at = x->nodes.v[source].loaded;
	if (rc < 0 || x->nodes.v[source].is_new || (at != VEC_NONE && (x->paths.v[at].dirty || x->paths.v[at].nname)))
		return rc; /* what was found now is all */
	sqlite3_stmt *st = store_stmt(x->s, SQL_path_get, x->err);
	if (!st)
		return -EIO;
	struct buf facts = {0}, names = {0};
	sqlite3_bind_int64(st, 1, (int64_t)row);
	rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		buf_str(&facts, column_str(st, 2));
		buf_str(&names, column_str(st, 3));
	}
	sqlite3_reset(st);
	if (rc == 1)
		rc = path_names(x->s, buf_view(&facts), buf_view(&names), append_cache_source, &s);
	buf_release(&facts);
	buf_release(&names);
	return rc < 0 ? rc : 0;
}

static int compare_cache_sources(const void *pa, const void *pb)
{
	const struct gcache *a = pa, *b = pb;
	if (a->cache != b->cache)
		return a->cache < b->cache ? -1 : 1;
	return (a->source > b->source) - (a->source < b->source);
}

int ix_add_caches(struct ix *x)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < x->files.n; i++) {
		if (!(x->g.files.v[i].flags & GFILE_CACHE) || (x->files.v[i].row != VEC_NONE && !x->files.v[i].slow))
			continue;
		for (size_t k = 0; rc == 0 && x->files.v[i].row != VEC_NONE && k < x->rows.v[x->files.v[i].row].f.paths.n;
		     k++) {
			uint32_t node;
			bool named = false;
			rc = ix_node_of(x, x->rows.v[x->files.v[i].row].f.paths.v[k], &node);
			if (rc == 0)
				rc = ix_names_file(x, node, i, &named);
			if (rc == 0 && named)
				rc = add_sources(x, i, node);
		}
		for (size_t k = ix_pairs_from(x->named.v, x->named.n, i); rc == 0 && k < x->named.n && x->named.v[k].a == i;
		     k++)
			rc = add_sources(x, i, map_get(&x->node_rows, x->named.v[k].b));
	}
	if (rc == 0 && x->g.caches.n) {
		qsort(x->g.caches.v, x->g.caches.n, sizeof(*x->g.caches.v), compare_cache_sources);
		size_t kept = 1;
		for (size_t i = 1; i < x->g.caches.n; i++)
			if (compare_cache_sources(&x->g.caches.v[i], &x->g.caches.v[kept - 1]))
				x->g.caches.v[kept++] = x->g.caches.v[i];
		x->g.caches.n = kept;
	}
	return rc;
}
