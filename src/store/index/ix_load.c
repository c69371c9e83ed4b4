/* ix_load.c - what the store knows already and the new facts touch: brought back into the graph. */
#include "store/index/index.h"
#include "store/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- processes ---- */

/* A fact of a session that stays, into the graph. 0, -errno with a sentence. */
static int restore_process_fact(struct ix *x, uint32_t proc, uint32_t session, const struct pproc_fact *f)
{
	uint64_t number = x->g.sessions.v[session].number;
	if (f->kind == PPROC_FORK) {
		struct gpfact *p = vec_add(&x->g.pfacts);
		if (!p)
			return ix_oom(x);
		*p = (struct gpfact){.proc = proc,
		                     .session = session,
		                     .key = {f->fork.time, number, f->fork.seq},
		                     .parent = VEC_NONE,
		                     .forked = f->fork.forked};
	} else if (f->kind == PPROC_EXEC) {
		uint32_t exec = graph_exec(&x->g, proc, (uint32_t)f->exec.n);
		struct gxfact *p = exec == VEC_NONE ? NULL : vec_add(&x->g.xfacts);
		if (!p)
			return ix_oom(x);
		*p = (struct gxfact){.exec = exec, .session = session, .key = {f->exec.time, number, f->exec.seq}};
	} else if (f->kind == PPROC_EXIT) {
		struct gexit *p = vec_add(&x->g.exits);
		if (!p)
			return ix_oom(x);
		*p = (struct gexit){.proc = proc, .session = session, .key = {f->exit.time, number, f->exit.seq}};
	}
	return 0;
}

/* The facts that decide when its executions began and ended, from the sessions that were not read again. 0, -errno with
 * a sentence. */
static int load_old_process_facts(struct ix *x, struct ix_loaded *l, struct cur *c)
{
	struct pproc_section sec;
	int rc;
	while ((rc = pproc_section_next(c, &sec)) == 1) {
		if (ix_is_reloaded(x, sec.session))
			continue;
		uint32_t session;
		rc = ix_session_of(x, sec.session, &session);
		if (rc < 0)
			return rc;
		struct cur body = cur_of(sec.body);
		struct pproc_fact f;
		int64_t t = x->s->base;
		while ((rc = pproc_fact_next(&body, &t, &f)) == 1)
			if ((rc = restore_process_fact(x, l->proc, session, &f)) < 0)
				break;
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* An access whose end came now, or whose calls did, stands in the graph as a new one: what was found of it goes. */
static void note_reopened(struct ix *x, const struct ix_section *sec, struct pacc *a)
{
	uint32_t session = x->open.accesses.n ? map_get(&x->session_rows, sec->session) : VEC_NONE;
	a->reopened = session != VEC_NONE && ix_reopened(x, session, a->seq) != VEC_NONE;
}

/* Adds what the row has of each session, to be written again unless the session is read anew. 0 or -errno. */
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
		*slot = (struct ix_section){.session = sec.session,
		                            .n = sec.n,
		                            .first = (uint32_t)x->paccs.n,
		                            .replaced = ix_is_reloaded(x, sec.session)};
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
			note_reopened(x, slot, a);
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

struct id_hash ix_accesses_hash(struct str packed)
{
	const struct buf b = {(char *)packed.p, packed.n, packed.n, false};
	return identity_hash(&b);
}

/* The process's row: its info into l, its packed accesses into x->b1. -ENOTRECOVERABLE: there is none; -errno. */
static int load_process_row(struct ix *x, struct ix_loaded *l)
{
	struct str row, part[PROCESS_PARTS];
	buf_reset(&x->b1);
	int rc = block_row(x->s, &x->process_blocks, l->id, x->err, &row);
	if (rc < 0)
		return rc;
	if (rc == 0 || !pack_split(row, PROCESS_PARTS, part))
		return -ENOTRECOVERABLE;
	l->info = ix_keep(x, part[PROCESS_INFO]);
	buf_str(&x->b1, part[PROCESS_ACC]);
	l->accesses = ix_accesses_hash(part[PROCESS_ACC]);
	return l->info.failed || x->b1.failed ? ix_oom(x) : 0;
}

/* The process that the row tells of, in the graph, beside x->loaded.v[at]. 0, -ENOMEM, reported. */
static int restore_process(struct ix *x, const struct pproc *p, uint32_t at)
{
	struct ix_loaded *l = &x->loaded.v[at];
	uint32_t boot = intern_add(&x->g.words, store_interned(x->s, p->boot));
	uint64_t pidns = read_pidns(x->s, p);
	l->proc = boot == VEC_NONE ? VEC_NONE : graph_proc(&x->g, boot, pidns, p->pid, p->started, NULL);
	if (l->proc == VEC_NONE || ix_sync(x) < 0)
		return ix_oom(x);
	x->procs.v[l->proc] = l->id;
	x->loaded_of.v[l->proc] = at;
	return 0;
}

/* Reads the process's row, once. touched: its facts change, and not only its accesses. 0 or -errno. */
static int load_process(struct ix *x, uint64_t id, bool touched)
{
	if (map_get(&x->loaded_rows, id) != VEC_NONE)
		return 0;
	struct ix_loaded *l = vec_add(&x->loaded);
	uint32_t at = (uint32_t)(x->loaded.n - 1);
	if (!l || !map_set(&x->loaded_rows, id, at))
		return ix_oom(x);
	*l = (struct ix_loaded){.id = id, .touched = touched, .changed = touched};
	int rc = load_process_row(x, l);
	struct cur c = cur_of(buf_view(&l->info));
	struct pproc p;
	if (rc == 0)
		rc = pproc_get(x->s, &c, &p);
	if (rc == 0)
		rc = restore_process(x, &p, at);
	if (rc == 0 && touched)
		rc = load_old_process_facts(x, l, &c);
	if (rc == 0)
		rc = load_old_accesses(x, l, buf_view(&x->b1));
	if (rc == -ENOTRECOVERABLE)
		err_set(x->err, 0, "the index is damaged: process %llu", (unsigned long long)id);
	return rc;
}

/* The files of a touched process's accesses, with their rows: their old accesses may be others now. 0, -errno with a
 * sentence. */
static int touch_section_files(struct ix *x, const struct ix_section *sec)
{
	uint32_t session = sec->replaced ? map_get(&x->session_rows, sec->session) : VEC_NONE;
	for (uint32_t a = sec->first; a < sec->first + sec->count; a++) {
		uint32_t file, self;
		const struct pacc *p = &x->paccs.v[a];
		/* What stays as it is, its end too, changes nothing. */
		if (!sec->replaced && !p->reopened && layout_get(p->bits, LAYOUT_END, 2) == END_GIVEN)
			continue;
		int rc = ix_file_of(x, x->paccs.v[a].file, &file);
		if (rc == 0)
			rc = ix_file_of(x, x->paccs.v[a].self, &self);
		if (rc < 0)
			return rc;
		x->files.v[file].old_touched = true;
		x->files.v[file].slow |= session != VEC_NONE && x->sessions.v[session].holes;
	}
	return 0;
}

int ix_load_touched(struct ix *x)
{
	int rc = 0;
	size_t n = x->g.procs.n;
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (x->procs.v[i] < x->first_new_process)
			rc = load_process(x, x->procs.v[i], true);
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		for (size_t k = 0; rc == 0 && k < x->sessions.v[i].processes.n; k++)
			rc = load_process(x, x->sessions.v[i].processes.v[k], true);
	for (size_t i = 0; rc == 0 && i < x->loaded.n; i++)
		for (size_t k = 0; rc == 0 && k < x->loaded.v[i].sections.n; k++)
			rc = touch_section_files(x, &x->loaded.v[i].sections.v[k]);
	return rc;
}

/* ---- slow files ---- */

/* Loads the processes of all executions that read the file, once. 0 or -errno. */
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
			rc = load_process(x, exec_process(execs.v[i]), false);
	free(execs.v);
	return rc;
}

/* By the name of the path's last component. */
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

/* Did the process write what may be a cache? */
static bool has_caches(const struct ix *x, const struct ix_loaded *l)
{
	for (size_t k = 0; k < l->sections.n; k++) {
		const struct ix_section *sec = &l->sections.v[k];
		for (uint32_t a = sec->first; a < sec->first + sec->count; a++)
			if (writes_cache(&x->paccs.v[a]))
				return true;
	}
	return false;
}

/* Did the process use a source that is resolved again? 0, -errno. */
static int uses_slow_source(struct ix *x, const struct ix_loaded *l, bool *ret)
{
	*ret = false;
	for (size_t k = 0; k < l->sections.n && !*ret; k++) {
		const struct ix_section *sec = &l->sections.v[k];
		for (uint32_t a = sec->first; a < sec->first + sec->count && !*ret; a++) {
			uint32_t file = map_get(&x->file_rows, x->paccs.v[a].file);
			int rc = file != VEC_NONE && x->files.v[file].slow ? is_source(x, file, ret) : 0;
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* The caches that the process wrote are resolved again. *ret_more: some were not to be. 0, -errno with a sentence. */
static int slow_down_caches(struct ix *x, const struct ix_loaded *l, bool *ret_more)
{
	for (size_t k = 0; k < l->sections.n; k++) {
		const struct ix_section *sec = &l->sections.v[k];
		for (uint32_t a = sec->first; a < sec->first + sec->count; a++) {
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
	return 0;
}

/* Where an alias is resolved again, so is the file that its accesses count to: what was found of them is found anew. */
static void slow_down_groups(struct ix *x, const struct ix_loaded *l, bool *ret_more)
{
	for (size_t k = 0; k < l->sections.n; k++) {
		const struct ix_section *sec = &l->sections.v[k];
		for (uint32_t a = sec->first; a < sec->first + sec->count; a++) {
			const struct pacc *p = &x->paccs.v[a];
			uint32_t self = p->file != p->self ? map_get(&x->file_rows, p->self) : VEC_NONE, file;
			if (self == VEC_NONE || !x->files.v[self].slow || (file = map_get(&x->file_rows, p->file)) == VEC_NONE ||
			    x->files.v[file].slow)
				continue;
			x->files.v[file].slow = *ret_more = true;
			x->files.v[file].fast = false;
		}
	}
}

/* Cache files whose writers' uses may change are resolved again, too: their derivations follow from those. 0, -errno
 * with a sentence. *ret_more: more must be loaded. */
static int cascade(struct ix *x, bool *ret_more)
{
	int rc = 0;
	for (size_t i = 0; i < x->loaded.n; i++)
		slow_down_groups(x, &x->loaded.v[i], ret_more);
	for (size_t i = 0; rc == 0 && i < x->loaded.n; i++) {
		const struct ix_loaded *l = &x->loaded.v[i];
		bool changes = l->touched;
		if (!has_caches(x, l))
			continue;
		if (!changes)
			rc = uses_slow_source(x, l, &changes);
		if (rc == 0 && changes)
			rc = slow_down_caches(x, l, ret_more);
	}
	return rc;
}

/* The graph's number of the row's fingerprint, from 1; all of the row are loaded at the first. *ret VEC_NONE: it has
 * none. */
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

/* When its bytes moved, and the key that another log gave it. 0, -ENOMEM, reported. */
static int restore_more(struct ix *x, struct gaccess *a, const struct pacc *p, bool resolved)
{
	bool told = layout_get(p->bits, LAYOUT_REPORTED, 1), exact = layout_get(p->bits, LAYOUT_EXACT, 1);
	bool early = layout_get(p->bits, LAYOUT_EARLY, 1);
	if (!told && !exact && !early)
		return 0;
	struct gmore *m = vec_add(&x->g.more);
	if (!m)
		return ix_oom(x);
	*m = (struct gmore){p->as_session, p->as_seq, p->first, p->last};
	a->more = (uint32_t)(x->g.more.n - 1);
	a->flags |= (told ? GACCESS_TOLD : 0) | (exact ? GACCESS_EXACT : 0) | (early ? GACCESS_EARLY : 0);
	if (told && !resolved) /* else what is known of its key stands: not all with that key are here */
		x->g.files.v[a->self].flags |= GFILE_TOLD;
	return 0;
}

/* What was found of it: the version that it made and those that it used. 0, -ENOMEM, reported. */
static int restore_resolved(struct ix *x, struct gaccess *a, const struct pacc *p)
{
	a->gen = p->gen;
	a->gen_via = (uint8_t)layout_get(p->bits, LAYOUT_GEN_VIA, 3);
	a->nuse = p->nuse;
	a->use = p->use;
	a->use_via = (uint8_t)layout_get(p->bits, LAYOUT_USE_VIA, 3);
	if (p->nuse <= 1)
		return 0;
	a->use = (uint32_t)x->g.uses.n;
	for (uint32_t k = 0; k < p->nuse; k++) {
		struct guse *u = vec_add(&x->g.uses);
		if (!u)
			return ix_oom(x);
		uint64_t old = x->old_uses.v[p->use + k];
		*u = (struct guse){(uint32_t)(old >> 3), old & 7};
	}
	return 0;
}

/* Puts an old access into the graph. resolved: with what was found of it. 0, -errno with a sentence. */
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
	                      .part = p->part,
	                      .count = p->count < UINT32_MAX ? (uint32_t)p->count : UINT32_MAX,
	                      .bytes_read = p->bytes_read,
	                      .bytes_written = p->bytes_written,
	                      .mode = (uint16_t)layout_get(bits, LAYOUT_MODE, 8),
	                      .flags = (layout_get(bits, LAYOUT_FLAGS, 12) & ~(uint32_t)GACCESS_UNTIL) | GACCESS_OLD,
	                      .via = (uint8_t)layout_get(bits, LAYOUT_VIA, 3),
	                      .api = (uint8_t)layout_get(bits, LAYOUT_API, 4),
	                      .sure = (uint8_t)layout_get(bits, LAYOUT_SURE, 1),
	                      .evidence = (uint8_t)layout_get(bits, LAYOUT_EVIDENCE, 2)};
	a->flags |= GACCESS_ENDED | (layout_get(bits, LAYOUT_IO, 1) ? GACCESS_IO : 0) |
	            (layout_get(bits, LAYOUT_DUPLICATE, 1) ? GACCESS_TWIN : 0);
	if (!l->touched || layout_get(bits, LAYOUT_END, 2) == END_GIVEN)
		a->flags |= GACCESS_UNTIL; /* else its execution's end may be another now */
	if (!resolved)
		a->flags &= ~(uint32_t)(GACCESS_GEN_MUST | GACCESS_USE_MUST);
	rc = restore_more(x, a, p, resolved);
	if (rc == 0 && resolved)
		rc = restore_resolved(x, a, p);
	p->access = (uint32_t)(x->g.accesses.n - 1);
	return rc;
}

/* Puts the loaded accesses of files that are resolved anew, and of sources of caches, into the graph. 0 or -errno. */
static int link_all(struct ix *x)
{
	for (size_t i = 0; i < x->loaded.n; i++)
		for (size_t k = 0; k < x->loaded.v[i].sections.n; k++) {
			struct ix_section sec = x->loaded.v[i].sections.v[k];
			for (uint32_t a = sec.first; !sec.replaced && a < sec.first + sec.count; a++) {
				uint32_t file = map_get(&x->file_rows, x->paccs.v[a].file),
				         self = map_get(&x->file_rows, x->paccs.v[a].self);
				bool slow = (file != VEC_NONE && x->files.v[file].slow) || (self != VEC_NONE && x->files.v[self].slow);
				if (x->paccs.v[a].reopened || x->paccs.v[a].access != VEC_NONE ||
				    (!slow && (file == VEC_NONE || !x->files.v[file].source)))
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
			rc = cascade(x, &more);
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

/* Called for each name of a source: a file that had it may be what the cache was made from. arg: a struct
 * sources. 0 or -errno. */
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

/* The path of the source that a cache file's path stands for: __pycache__/NAME.TAG.pyc beside NAME.py. VEC_NONE where
 * nothing is known at it. */
static int find_source_path(struct ix *x, uint32_t node, uint32_t *ret)
{
	uint32_t word = intern_add(&x->g.words, str_of("__pycache__"));
	uint32_t p = x->g.paths.list.v[node].parent;
	*ret = VEC_NONE;
	while (p != VEC_NONE && x->g.paths.list.v[p].base != word)
		p = x->g.paths.list.v[p].parent;
	if (p == VEC_NONE || x->g.paths.list.v[p].parent == VEC_NONE)
		return 0;
	struct str base = intern_get(&x->g.words, x->g.paths.list.v[node].base);
	const char *dot = memchr(base.p, '.', base.n);
	struct buf name = {0};
	buf_add(&name, base.p, dot ? (size_t)(dot - base.p) : base.n);
	buf_str(&name, str_of(".py"));
	int rc = name.failed ? ix_oom(x) : ix_node_find(x, x->g.paths.list.v[p].parent, buf_view(&name), ret);
	buf_release(&name);
	return rc;
}

/* The files that the source's path ever named: in the store, and as found now. 0, -errno with a sentence. */
static int add_sources(struct ix *x, uint32_t cache, uint32_t node)
{
	struct sources s = {x, cache};
	uint32_t source;
	int rc = find_source_path(x, node, &source);
	if (rc < 0 || source == VEC_NONE)
		return rc;
	uint64_t row = x->nodes.v[source].id;
	size_t i = ix_pairs_from(x->named_paths.v, x->named_paths.n, row);
	for (; rc == 0 && i < x->named_paths.n && x->named_paths.v[i].a == row; i++) {
		struct pname n = {.file = x->files.v[x->named_paths.v[i].b].id};
		rc = append_cache_source(&s, &n);
	}
	uint32_t at = x->nodes.v[source].loaded;
	const struct ix_loaded_path *p = at == VEC_NONE ? NULL : &x->paths.v[at];
	if (rc < 0 || x->nodes.v[source].is_new || (p && (p->dirty || p->nname) && !p->appended))
		return rc; /* what was found now is all */
	rc = read_names(x->s, row, append_cache_source, &s, x->err);
	return rc < 0 ? rc : 0;
}

static int compare_cache_sources(const void *pa, const void *pb)
{
	const struct gcache *a = pa, *b = pb;
	if (a->cache != b->cache)
		return a->cache < b->cache ? -1 : 1;
	return (a->source > b->source) - (a->source < b->source);
}

/* The sources of a cache file, by all names that it has. 0, -errno with a sentence. */
static int add_cache(struct ix *x, uint32_t file)
{
	int rc = 0;
	uint32_t row = x->files.v[file].row;
	size_t n = row == VEC_NONE ? 0 : x->rows.v[row].f.paths.n;
	for (size_t k = 0; rc == 0 && k < n; k++) {
		uint32_t node;
		bool named = false;
		rc = ix_node_of(x, x->rows.v[row].f.paths.v[k], &node);
		if (rc == 0)
			rc = ix_names_file(x, node, file, &named);
		if (rc == 0 && named)
			rc = add_sources(x, file, node);
	}
	for (size_t k = ix_pairs_from(x->named.v, x->named.n, file); rc == 0 && k < x->named.n && x->named.v[k].a == file;
	     k++)
		rc = add_sources(x, file, map_get(&x->node_rows, x->named.v[k].b));
	return rc;
}

/* By cache and source, each once. */
static void sort_caches(struct graph *g)
{
	size_t kept = 1;
	if (!g->caches.n)
		return;
	qsort(g->caches.v, g->caches.n, sizeof(*g->caches.v), compare_cache_sources);
	for (size_t i = 1; i < g->caches.n; i++)
		if (compare_cache_sources(&g->caches.v[i], &g->caches.v[kept - 1]))
			g->caches.v[kept++] = g->caches.v[i];
	g->caches.n = kept;
}

int ix_add_caches(struct ix *x)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < x->files.n; i++)
		if ((x->g.files.v[i].flags & GFILE_CACHE) && (x->files.v[i].row == VEC_NONE || x->files.v[i].slow))
			rc = add_cache(x, i);
	if (rc == 0)
		sort_caches(&x->g);
	return rc;
}
