/* ix_proc.c - the rows of processes: what was told of them, and the accesses of their executions. */
#include "store/index/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A fact of the new sessions, as part of a process. */
struct session_fact {
	uint32_t session;
	uint8_t kind; /* enum pproc_kind */
	bool to;      /* of a link: this is the other side */
	uint64_t seq;
	uint32_t index;
};

struct proc_writer {
	struct ix *x;
	uint32_t *head[6]; /* by process: first fact of a kind; 5: links as the other side */
	uint32_t *next[6];
	VEC(struct session_fact) facts;
	VEC(struct pacc) paccs;
	struct ids uses;
	struct buf info, acc, body, list;
	struct block_writer rows;
};

/* Its id in the store. */
static uint64_t execution_row_of(const struct ix *x, uint32_t exec)
{
	return exec_id(x->procs.v[x->g.execs.v[exec].proc], x->g.execs.v[exec].n);
}

/* ---- facts ---- */

/* The process that the i-th new fact of a kind is told of: 0 process facts, 1 execution facts, 2 exits, 3 links (who
 * began), 4 gaps, 5 links (the other side). VEC_NONE: a gap of the whole session. */
static uint32_t process_of_fact(const struct ix *x, unsigned kind, uint32_t i)
{
	switch (kind) {
	case 0:
		return x->g.pfacts.v[i].proc;
	case 1:
		return x->g.execs.v[x->g.xfacts.v[i].exec].proc;
	case 2:
		return x->g.exits.v[i].proc;
	case 3:
		return x->g.execs.v[x->g.links.v[i].from].proc;
	case 4:
		return x->g.gaps.v[i].exec == VEC_NONE ? VEC_NONE : x->g.execs.v[x->g.gaps.v[i].exec].proc;
	default:
		return x->g.execs.v[x->g.links.v[i].to].proc;
	}
}

/* Makes head and next: the facts of each kind as a chain for each process, in their order. 0 or -errno. */
static int chain_facts(struct proc_writer *w)
{
	struct ix *x = w->x;
	const size_t count[6] = {x->new_pfacts, x->new_xfacts, x->new_exits, x->new_links, x->new_gaps, x->new_links};
	for (unsigned k = 0; k < 6; k++) {
		w->head[k] = malloc((x->g.procs.n + 1) * sizeof(uint32_t));
		w->next[k] = malloc((count[k] + 1) * sizeof(uint32_t));
		if (!w->head[k] || !w->next[k])
			return ix_oom(x);
		for (size_t i = 0; i < x->g.procs.n; i++)
			w->head[k][i] = VEC_NONE;
		for (size_t i = count[k]; i-- > 0;) {
			uint32_t p = process_of_fact(x, k, (uint32_t)i);
			if (p == VEC_NONE)
				continue;
			w->next[k][i] = w->head[k][p];
			w->head[k][p] = (uint32_t)i;
		}
	}
	return 0;
}

/* Order of qsort: as the events lie in the sessions. */
static int compare_session_facts(const void *pa, const void *pb)
{
	const struct session_fact *a = pa, *b = pb;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Where in the logs the i-th new fact of a kind (see process_of_fact) stands. */
static const struct gkey *fact_key(const struct ix *x, unsigned k, uint32_t i, uint32_t *ret_session)
{
	switch (k) {
	case 0:
		*ret_session = x->g.pfacts.v[i].session;
		return &x->g.pfacts.v[i].key;
	case 1:
		*ret_session = x->g.xfacts.v[i].session;
		return &x->g.xfacts.v[i].key;
	case 2:
		*ret_session = x->g.exits.v[i].session;
		return &x->g.exits.v[i].key;
	case 4:
		*ret_session = x->g.gaps.v[i].session;
		return &x->g.gaps.v[i].key;
	default:
		*ret_session = x->g.links.v[i].session;
		return &x->g.links.v[i].key;
	}
}

/* Uses w->list; notes the run. 0, -errno with a sentence. */
static int fill_exec(struct proc_writer *w, const struct gxfact *f, struct pproc_exec *ret)
{
	struct ix *x = w->x;
	*ret = (struct pproc_exec){.n = x->g.execs.v[f->exec].n,
	                           .seq = f->key.seq,
	                           .time = f->key.time,
	                           .exe = f->exe == VEC_NONE ? 0 : x->files.v[f->exe].id,
	                           .script = f->script == VEC_NONE ? 0 : x->files.v[f->script].id,
	                           .uid = f->uid,
	                           .gid = f->gid};
	buf_reset(&w->list);
	int rc = ix_interned(x, f->cwd, &ret->cwd);
	if (rc == 0 && f->env) {
		rc = ix_list(x, f->env, &w->list);
		uint32_t word = rc == 0 ? intern_add(&x->g.words, buf_view(&w->list)) : VEC_NONE;
		rc = word == VEC_NONE ? ix_oom(x) : ix_interned(x, word, &ret->env);
		buf_reset(&w->list);
	}
	if (rc == 0)
		rc = ix_run_row(x, f->run, &ret->run);
	if (rc == 0 && f->argv)
		rc = ix_list(x, f->argv, &w->list);
	ret->argv = buf_view(&w->list);
	if (rc == 0 && ret->run)
		rc = ix_pairs_add(x, &x->run_list, ret->run, exec_process(execution_row_of(x, f->exec)));
	return rc;
}

/* Notes the run and the parent's child, for their lists. 0, -errno with a sentence. */
static int fill_fork(struct ix *x, const struct gpfact *f, struct pproc_fork *ret)
{
	*ret = (struct pproc_fork){.seq = f->key.seq,
	                           .time = f->key.time,
	                           .forked = f->forked,
	                           .parent = f->parent == VEC_NONE ? 0 : x->procs.v[f->parent]};
	int rc = ix_run_row(x, f->run, &ret->run);
	if (rc == 0 && ret->run)
		rc = ix_pairs_add(x, &x->run_list, ret->run, x->procs.v[f->proc]);
	if (rc == 0 && ret->parent)
		rc = ix_pairs_add(x, &x->child_list, ret->parent, x->procs.v[f->proc]);
	return rc;
}

/* The fact as it is stored, with numbers of the index. 0 or -errno. */
static int fill_fact(struct proc_writer *w, const struct session_fact *t, struct pproc_fact *ret)
{
	struct ix *x = w->x;
	ret->kind = t->kind;
	switch (ret->kind) {
	case PPROC_FORK:
		return fill_fork(x, &x->g.pfacts.v[t->index], &ret->fork);
	case PPROC_EXEC:
		return fill_exec(w, &x->g.xfacts.v[t->index], &ret->exec);
	case PPROC_EXIT: {
		const struct gexit *f = &x->g.exits.v[t->index];
		ret->exit = (struct pproc_exit){.seq = f->key.seq,
		                                .time = f->key.time,
		                                .ending = f->ending <= TERM_ending_signaled ? f->ending : TERM_ending_unknown,
		                                .code = f->code,
		                                .known = f->known & 0x1fe};
		for (unsigned i = 0; i < 8; i++)
			ret->exit.figure[i] = f->known >> (i + 1) & 1 ? f->figure[i] : 0;
		return 0;
	}
	case PPROC_LINK: {
		const struct glink *f = &x->g.links.v[t->index];
		ret->link = (struct pproc_link){.seq = f->key.seq,
		                                .time = f->key.time,
		                                .n = x->g.execs.v[t->to ? f->to : f->from].n,
		                                .other = execution_row_of(x, t->to ? f->from : f->to),
		                                .sure = f->sure,
		                                .via = f->via};
		return 0;
	}
	default: {
		const struct ggap *f = &x->g.gaps.v[t->index];
		ret->gap = (struct pproc_gap){.seq = f->key.seq,
		                              .time = f->key.time,
		                              .n = x->g.execs.v[f->exec].n,
		                              .reason = f->reason,
		                              .count = f->count,
		                              .from = f->from};
		return ix_interned(x, f->text, &ret->gap.text);
	}
	}
}

/* The sections of the sessions that were read now. 0, -ENOMEM, reported. */
static int new_sections(struct proc_writer *w, uint32_t proc)
{
	struct ix *x = w->x;
	w->facts.n = 0;
	bool sorted = true;
	for (unsigned k = 0; k < 6; k++)
		for (uint32_t i = w->head[k][proc]; i != VEC_NONE; i = w->next[k][i]) {
			struct session_fact *t = vec_add(&w->facts);
			if (!t)
				return ix_oom(x);
			*t = (struct session_fact){.kind = (uint8_t)(k == 5 ? PPROC_LINK : k + 1), .to = k == 5, .index = i};
			t->seq = fact_key(x, k == 5 ? 3 : k, i, &t->session)->seq;
			sorted = sorted && (w->facts.n < 2 || compare_session_facts(t - 1, t) <= 0);
		}
	if (!sorted)
		qsort(w->facts.v, w->facts.n, sizeof(*w->facts.v), compare_session_facts);
	for (size_t i = 0, k; i < w->facts.n; i = k) {
		buf_reset(&w->body);
		int64_t t = x->s->base;
		for (k = i; k < w->facts.n && w->facts.v[k].session == w->facts.v[i].session; k++) {
			struct pproc_fact f;
			int rc = fill_fact(w, &w->facts.v[k], &f);
			if (rc < 0)
				return rc;
			pproc_fact_put(&w->body, &t, &f);
		}
		buf_varint(&w->info, x->sessions.v[w->facts.v[i].session].id);
		buf_varint(&w->info, w->body.n);
		buf_str(&w->info, buf_view(&w->body));
		if (w->body.failed)
			return ix_oom(x);
	}
	return 0;
}

/* ---- accesses ---- */

/* What the graph has found for an access, packed; `bits` keeps how its end was known. 0, -ENOMEM, reported. */
static int pack_access(struct proc_writer *w, const struct gaccess *a, unsigned end, struct pacc *p)
{
	struct ix *x = w->x;
	uint64_t bits = 0;
	const struct gaccess *v = a;
	unsigned uses = v->nuse > 1 ? 2 : v->nuse;
	bits |= (uint64_t)(v->mode & 0xff) << LAYOUT_MODE | (uint64_t)v->via << LAYOUT_VIA | (uint64_t)v->api << LAYOUT_API;
	bits |= (uint64_t)v->evidence << LAYOUT_EVIDENCE | (uint64_t)v->sure << LAYOUT_SURE | (uint64_t)end << LAYOUT_END;
	bits |= (uint64_t)(v->fps != VEC_NONE) << LAYOUT_FPS | (uint64_t)(v->fpe != VEC_NONE) << LAYOUT_FPE;
	bits |= (uint64_t)(v->count != 1) << LAYOUT_COUNT;
	bits |= (uint64_t)((v->flags & GACCESS_READ_BYTES) != 0) << LAYOUT_READ_BYTES;
	bits |= (uint64_t)((v->flags & GACCESS_WRITTEN_BYTES) != 0) << LAYOUT_WRITTEN_BYTES;
	bits |= (uint64_t)(v->flags & 0xfff & ~GACCESS_UNTIL) << LAYOUT_FLAGS;
	bits |= (uint64_t)(v->gen != 0) << LAYOUT_GEN | (uint64_t)(v->gen ? v->gen_via : 0) << LAYOUT_GEN_VIA;
	bits |= (uint64_t)uses << LAYOUT_USES | (uint64_t)(uses == 1 ? v->use_via : 0) << LAYOUT_USE_VIA;
	bits |= (uint64_t)(v->file != v->self) << LAYOUT_OTHER;
	bits |= (uint64_t)((v->flags & GACCESS_TOLD) != 0) << LAYOUT_REPORTED;
	bits |= (uint64_t)((v->flags & GACCESS_TWIN) != 0) << LAYOUT_DUPLICATE;
	struct gspan span = gaccess_span(&x->g, v);
	bits |= (uint64_t)((v->flags & GACCESS_EXACT) != 0) << LAYOUT_EXACT;
	bits |= (uint64_t)(span.from != v->start || span.to != v->end) << LAYOUT_SPAN;
	bits |= (uint64_t)((v->flags & GACCESS_IO) != 0) << LAYOUT_IO;
	bits |= (uint64_t)((v->flags & GACCESS_EARLY) != 0) << LAYOUT_EARLY;
	bits |= (uint64_t)(v->part != 0) << LAYOUT_PART;
	*p = (struct pacc){.seq = v->seq,
	                   .bits = bits,
	                   .self = x->files.v[v->self].id,
	                   .file = x->files.v[v->file].id,
	                   .start = v->start,
	                   .end = v->end,
	                   .from = span.from,
	                   .to = span.to,
	                   .fps = v->fps == VEC_NONE ? 0 : x->fp_index.v[v->fps],
	                   .fpe = v->fpe == VEC_NONE ? 0 : x->fp_index.v[v->fpe],
	                   .count = v->count,
	                   .bytes_read = v->bytes_read,
	                   .bytes_written = v->bytes_written,
	                   .gen = v->gen,
	                   .part = v->part,
	                   .nuse = v->nuse,
	                   .use = v->use,
	                   .access = VEC_NONE};
	if (v->flags & GACCESS_TOLD) {
		p->as_session = x->g.more.v[v->more].session;
		p->as_seq = x->g.more.v[v->more].seq;
	}
	if (v->flags & (GACCESS_EXACT | GACCESS_EARLY)) {
		p->first = x->g.more.v[v->more].first;
		p->last = x->g.more.v[v->more].last;
	}
	if (uses == 2) {
		p->use = (uint32_t)w->uses.n;
		for (uint32_t k = 0; k < v->nuse; k++) {
			const struct guse *u = &x->g.uses.v[v->use + k];
			if (ids_add(&w->uses, (uint64_t)u->version << 3 | (u->via & 7)) < 0)
				return ix_oom(x);
		}
	}
	return 0;
}

/* How the access's end is stored: told, never, or with its execution. */
static unsigned end_kind(const struct gaccess *a)
{
	return a->flags & GACCESS_UNTIL ? END_GIVEN : a->end == TIME_NEVER ? END_NEVER : END_EXEC;
}

/* The new accesses of an execution, a section for each session. 0, -errno with a sentence. */
static int new_accesses(struct proc_writer *w, uint32_t exec)
{
	struct ix *x = w->x;
	const struct gexec *e = &x->g.execs.v[exec];
	for (uint32_t k = 0; k < e->naccess;) {
		uint32_t session = VEC_NONE;
		w->paccs.n = w->uses.n = 0;
		for (; k < e->naccess; k++) {
			const struct gaccess *a = &x->g.accesses.v[x->g.by_exec[e->first_access + k]];
			if (a->flags & GACCESS_OLD)
				continue;
			if (session != VEC_NONE && a->session != session)
				break;
			session = a->session;
			struct pacc *p = vec_add(&w->paccs);
			if (!p)
				return ix_oom(x);
			int rc = pack_access(w, a, end_kind(a), p);
			if (rc < 0)
				return rc;
		}
		if (session == VEC_NONE)
			break;
		int rc = pacc_put(x->s, &w->acc, x->sessions.v[session].id, e->n, w->paccs.v, w->paccs.n, &w->uses, x->err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* An access that was not looked at again, as it was; its execution's end may be known now. 0, -ENOMEM. */
static int keep_access(struct proc_writer *w, const struct ix_loaded *l, uint32_t exec, const struct pacc *was,
                       struct pacc *p)
{
	struct ix *x = w->x;
	*p = *was;
	if (l->touched && layout_get(was->bits, LAYOUT_END, 2) != END_GIVEN) {
		p->end = x->g.execs.v[exec].end;
		if (p->end <= p->start)
			p->end = time_add(p->start, p->start < INT64_MAX);
		p->to = p->end; /* what has a span of its own has an end of its own */
		unsigned end = p->end == TIME_NEVER ? END_NEVER : END_EXEC;
		p->bits = (p->bits & ~((uint64_t)3 << LAYOUT_END)) | (uint64_t)end << LAYOUT_END;
	}
	if (p->nuse <= 1)
		return 0;
	p->use = (uint32_t)w->uses.n;
	int rc = 0;
	for (uint32_t u = 0; rc == 0 && u < p->nuse; u++)
		rc = ids_add(&w->uses, x->old_uses.v[was->use + u]);
	return rc;
}

/* An access that was in the store: as it was found now, where it was looked at again. */
static int repack_access(struct proc_writer *w, const struct ix_loaded *l, uint32_t exec, const struct pacc *was)
{
	struct pacc *p = vec_add(&w->paccs);
	if (!p || exec == VEC_NONE)
		return ix_oom(w->x);
	if (was->access == VEC_NONE)
		return keep_access(w, l, exec, was, p);
	const struct gaccess *a = &w->x->g.accesses.v[was->access];
	unsigned end = layout_get(was->bits, LAYOUT_END, 2);
	return pack_access(w, a, l->touched && end != END_GIVEN ? end_kind(a) : end, p);
}

/* The sections that were there, with what was found anew. 0, -errno with a sentence. */
static int repack_old_accesses(struct proc_writer *w, struct ix_loaded *l)
{
	struct ix *x = w->x;
	int rc = 0;
	for (size_t k = 0; rc == 0 && k < l->sections.n; k++) {
		const struct ix_section *sec = &l->sections.v[k];
		if (sec->replaced)
			continue;
		uint32_t exec = graph_exec(&x->g, l->proc, sec->n);
		w->paccs.n = w->uses.n = 0;
		for (uint32_t i = sec->first; rc == 0 && i < sec->first + sec->count; i++)
			if (!x->paccs.v[i].reopened)
				rc = repack_access(w, l, exec, &x->paccs.v[i]);
		if (rc == 0 && w->paccs.n)
			rc = pacc_put(x->s, &w->acc, sec->session, sec->n, w->paccs.v, w->paccs.n, &w->uses, x->err);
	}
	return rc;
}

/* ---- rows ---- */

/* What the row begins with: boot, namespace, pid, start. 0 or -errno. */
static int pack_process_header(struct proc_writer *w, uint32_t proc)
{
	struct ix *x = w->x;
	const struct gproc *p = &x->g.procs.v[proc];
	struct pproc out = {.pid = p->pid, .started = p->started};
	char ns[24];
	snprintf(ns, sizeof(ns), "%llu", (unsigned long long)p->pidns);
	uint32_t word = intern_add(&x->g.words, str_of(ns));
	if (word == VEC_NONE)
		return ix_oom(x);
	int rc = ix_interned(x, word, &out.pidns);
	if (rc == 0)
		rc = ix_interned(x, p->boot, &out.boot);
	pproc_put(x->s, &w->info, &out);
	return rc;
}

/* Copies what the row has of sessions that are not read anew. 0 or -errno. */
static int old_sections(struct proc_writer *w, const struct ix_loaded *l)
{
	struct ix *x = w->x;
	struct cur c = cur_of(buf_view(&l->info));
	struct pproc p;
	struct pproc_section sec;
	int rc = pproc_get(x->s, &c, &p);
	while (rc == 0 && (rc = pproc_section_next(&c, &sec)) == 1) {
		rc = 0;
		if (ix_is_reloaded(x, sec.session))
			continue;
		buf_varint(&w->info, sec.session);
		buf_varint(&w->info, sec.body.n);
		buf_str(&w->info, sec.body);
	}
	return rc;
}

/* What sessions told of the process: its row's, and what is new. */
static int pack_process_info(struct proc_writer *w, uint32_t proc, const struct ix_loaded *l)
{
	int rc = pack_process_header(w, proc);
	if (rc == 0 && l)
		rc = old_sections(w, l);
	return rc < 0 ? rc : new_sections(w, proc);
}

/* Was it looked at again, and nothing else found? */
static bool is_unchanged(const struct ix_loaded *l, struct str accesses)
{
	struct id_hash now = ix_accesses_hash(accesses);
	return now.hi == l->accesses.hi && now.lo == l->accesses.lo;
}

/* The process's row: facts only where they changed. 0, or -errno with a sentence. */
static int write_process(struct proc_writer *w, uint32_t proc)
{
	struct ix *x = w->x;
	uint32_t at = x->loaded_of.v[proc];
	struct ix_loaded *l = at == VEC_NONE ? NULL : &x->loaded.v[at];
	bool facts = !l || l->touched;
	buf_reset(&w->info);
	buf_reset(&w->acc);
	int rc = 0;
	if (facts)
		rc = pack_process_info(w, proc, l);
	else
		buf_str(&w->info, buf_view(&l->info));
	if (rc == 0 && l)
		rc = repack_old_accesses(w, l);
	for (uint32_t e = x->g.procs.v[proc].first_exec; rc == 0 && e != VEC_NONE; e = x->g.execs.v[e].next) {
		rc = new_accesses(w, e);
		if (rc < 0 || !facts)
			continue;
		buf_reset(&w->list);
		rc = ix_add_key(x, KEY_EXEC, (uint32_t)(ix_exec_hash(x, e, &w->list).hi >> 32), execution_row_of(x, e));
		x->stats.new_executions += !l;
	}
	if (rc < 0)
		return rc;
	if (l && !facts && is_unchanged(l, buf_view(&w->acc)))
		return 0;
	if (l && (rc = ix_void_process(x, buf_view(&l->info))) < 0)
		return rc;
	const struct str part[PROCESS_PARTS] = {buf_view(&w->acc), buf_view(&w->info)};
	struct buf *out;
	if (w->info.failed || w->acc.failed)
		return ix_oom(x);
	rc = block_put(&w->rows, x->procs.v[proc], x->err, &out);
	if (rc == 0)
		pack_join(out, part, PROCESS_PARTS);
	return rc;
}

/* In the order of rows. 0, or -errno with a sentence. */
int ix_write_processes(struct ix *x)
{
	struct proc_writer w = {.x = x, .rows = {.s = x->s, .table = BLOCK_PROCESS, .fresh = x->fresh}};
	struct ix_pairs order = {0};
	int rc = chain_facts(&w);
	for (uint32_t i = 0; rc == 0 && i < x->g.procs.n; i++) {
		uint32_t at = x->loaded_of.v[i];
		if (at == VEC_NONE || x->loaded.v[at].changed)
			rc = ix_pairs_add(x, &order, x->procs.v[i], i);
	}
	ix_pairs_sort(&order);
	for (size_t i = 0; rc == 0 && i < order.n; i++)
		rc = write_process(&w, (uint32_t)order.v[i].b);
	if (rc == 0)
		rc = block_flush(&w.rows, x->err);
	block_writer_release(&w.rows);
	for (unsigned k = 0; k < 6; k++) {
		free(w.head[k]);
		free(w.next[k]);
	}
	free(order.v);
	vec_release(&w.facts);
	vec_release(&w.paccs);
	free(w.uses.v);
	buf_release(&w.info);
	buf_release(&w.acc);
	buf_release(&w.body);
	buf_release(&w.list);
	return rc;
}
