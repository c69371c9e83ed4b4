/* prov_files.c - files and their versions as statements. */
#include "graph/graph.h"
#include "prov/prov_int.h"

#include <errno.h>
#include <stdlib.h>

struct one_version {
	struct version_info v;
	bool in;
	struct edges gens, derived; /* gens by the end of the writing */
	int64_t limit;              /* no generation after this */
};

/* Order of qsort: by time. */
static int compare_generations(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	return a->lo != b->lo ? (a->lo < b->lo ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}

/* Takes out the generations that are not told, and sorts the others by the end of the writing. */
static void choose_generations(struct prov_source *p, struct edges *gens)
{
	size_t kept = 0;
	for (size_t i = 0; i < gens->n; i++)
		if (prov_follows(p, &gens->v[i]) && prov_has_exec(p, gens->v[i].to))
			gens->v[kept++] = gens->v[i];
	gens->n = kept;
	if (kept)
		qsort(gens->v, kept, sizeof(*gens->v), compare_generations);
}

/* A version was there before it was read, and before other files were derived from it: lowers o->limit to that. 0,
 * -errno. */
static int lower_limit(struct prov_source *p, const struct file_info *f, store_id id, struct one_version *o)
{
	int r = store_readers(p->s, id, &p->more);
	for (size_t i = 0; r >= 0 && i < p->more.n; i++)
		if (p->more.v[i].hi < o->limit)
			o->limit = p->more.v[i].hi;
	/* Within the file the limit comes down with the versions; a cache's version is another file's. */
	if (r >= 0)
		r = store_derivatives(p->s, id, &p->more);
	for (size_t i = 0; r >= 0 && i < p->more.n; i++) {
		struct version_info derived;
		r = store_version(p->s, p->more.v[i].to, &derived);
		if (r > 0 && derived.file != f->id && derived.start <= o->limit)
			o->limit = derived.start - 1;
	}
	return r < 0 ? r : 0;
}

/* o->in: it is exported, and o has it with its generations. limit: no later than that. -errno. */
static int load_version(struct prov_source *p, const struct file_info *f, uint64_t n, int64_t limit,
                        struct one_version *o)
{
	store_id id = 0;
	int r = store_version_of(p->s, f->id, n, &id);
	o->in = false;
	if (r <= 0 || !prov_has_version(p, id))
		return r < 0 ? r : 0;
	r = store_version(p->s, id, &o->v);
	r = r > 0 && p->everything ? prov_is_exported(p, &o->v, f, 0) : r;
	if (r <= 0)
		return r;
	o->in = true;
	o->limit = limit;
	if ((r = store_gens(p->s, id, &o->gens)) < 0 || (r = store_derived(p->s, id, &o->derived)) < 0)
		return r;
	choose_generations(p, &o->gens);
	return lower_limit(p, f, id, o);
}

/* The local name of the kth write, of n: the last is the version itself. */
static struct str part_name(struct buf *b, const struct one_version *o, size_t k)
{
	return prov_named(b, o->v.pub.text, k + 1 < o->gens.n ? (unsigned)k + 1 : 0);
}

/* What tells it from the other versions of its file, the same in every record: by the event that made it, or by size
 * and mtime. Uses b. */
static void put_ident(struct prov_source *p, const struct version_info *v, const struct file_info *f, struct buf *b)
{
	buf_reset(b);
	if (v->by_event)
		buf_printf(b, "%016llx.%llu", (unsigned long long)v->session, (unsigned long long)v->seq);
	else if (v->has_size && f->kind == TERM_kind_regular && v->mtime != TIME_NONE)
		buf_printf(b, "#%llu.%lld.%llu", (unsigned long long)v->size, (long long)v->mtime, (unsigned long long)v->k);
	else if (v->has_size && f->kind == TERM_kind_regular)
		buf_printf(b, "#%llu.-.%llu", (unsigned long long)v->size, (unsigned long long)v->k);
	else
		buf_printf(b, "#none.%llu", (unsigned long long)v->k);
	prov_put_text(p, ATTR_ident, str_n(buf_cstr(b), b->n));
}

/* Tells of a version, or of one of its writes. k: which of its writes; only the last one has size, times and notes.
 * What prov_emit gives. */
static int emit_version(struct prov_source *p, const struct one_version *o, const struct file_info *f, uint64_t outer,
                        size_t k)
{
	static const char *const origins[] = {
	    [ORIGIN_OBSERVED] = "observed", [ORIGIN_UNOBSERVED] = "unobserved", [ORIGIN_EXTERNAL] = "external"};
	const struct version_info *v = &o->v;
	bool last = k + 1 >= o->gens.n;
	prov_begin(p, PROV_entity);
	p->st.id = part_name(&p->subject, o, k);
	p->st.type = gkind_has_versions((unsigned)f->kind) || f->kind == TERM_kind_absent ? "Version" : "Stream";
	p->st.what = v->id;
	p->st.other = f->id;
	buf_reset(&p->label);
	if (f->path.n)
		buf_printf(&p->label, "%.*s@{%llu}", (int)f->path.n, f->path.p, (unsigned long long)v->n);
	else
		buf_str(&p->label, str_of(term_name(SET_kind, f->kind)));
	p->st.label = buf_view(&p->label);
	prov_put_file(p, f);
	prov_put_within(p, f, outer);
	prov_put_count(p, ATTR_versionNumber, v->n);
	if (!last) {
		prov_put_count(p, ATTR_part, k + 1);
		return prov_emit(p);
	}
	prov_put_text(p, ATTR_origin, str_of(origins[v->origin]));
	put_ident(p, v, f, &p->object);
	if (v->has_size)
		prov_put_count(p, ATTR_size, v->size);
	prov_put_time(p, ATTR_mtime, v->mtime);
	prov_put_time(p, ATTR_writeBegan, v->start);
	prov_put_time(p, ATTR_writeEnded, v->end);
	prov_put_notes(p, v->n);
	return prov_emit(p);
}

/* Part k of a version is a form of its file. What prov_emit gives. */
static int emit_specialization(struct prov_source *p, const struct one_version *o, const struct file_info *f, size_t k)
{
	prov_begin(p, PROV_specializationOf);
	p->st.subject = part_name(&p->subject, o, k);
	p->st.object = prov_named(&p->object, f->pub.text, 0);
	p->st.what = o->v.id;
	p->st.other = f->id;
	return prov_emit(p);
}

/* From the last to the first: *limit is what the next one has left of time. 0, -errno, or what the receiver gives. */
static int emit_generation(struct prov_source *p, const struct one_version *o, size_t k, int64_t *limit)
{
	const struct edge *e = &o->gens.v[k];
	struct exec_info x;
	int r = store_exec(p->s, e->to, &x);
	if (r <= 0)
		return r;
	int64_t t = e->hi < x.end ? e->hi : x.end;
	if (*limit < t)
		t = *limit;
	else if (t != TIME_NEVER)
		*limit = t;
	--*limit; /* also where the time is not said: what this was derived from is older still */
	t = t < e->lo ? TIME_NONE : prov_inside(t, &x);
	prov_begin(p, PROV_wasGeneratedBy);
	p->st.subject = part_name(&p->subject, o, k);
	p->st.object = prov_named(&p->object, x.pub.text, 0);
	p->st.what = o->v.id;
	p->st.other = x.id;
	p->st.start = t;
	prov_put_access(p, e);
	return prov_emit(p);
}

/* Its first write comes from other files, each further one from the one before. 0, -errno, or what the receiver gives.
 * */
static int emit_derivations(struct prov_source *p, const struct one_version *o, size_t k)
{
	struct version_info from;
	int r = 0;
	if (k) { /* within the chain */
		prov_begin(p, PROV_wasDerivedFrom);
		p->st.subject = part_name(&p->subject, o, k);
		p->st.object = part_name(&p->object, o, k - 1);
		p->st.what = p->st.other = o->v.id;
		prov_put_text(p, ATTR_certainty, str_of("must"));
		prov_put_text(p, ATTR_via, str_of("data"));
		return prov_emit(p);
	}
	for (size_t i = 0; r == 0 && i < o->derived.n; i++) {
		const struct edge *e = &o->derived.v[i];
		if ((r = prov_edge_counts(p, e, &from)) <= 0)
			continue;
		prov_begin(p, PROV_wasDerivedFrom);
		p->st.subject = part_name(&p->subject, o, 0);
		p->st.object = prov_named(&p->object, from.pub.text, 0);
		p->st.what = o->v.id;
		p->st.other = from.id;
		prov_put_edge(p, e);
		r = prov_emit(p);
	}
	return r;
}

/* Tells of a file. outer: of the file that it lies in, if any. As prov_emit. */
static int emit_file(struct prov_source *p, const struct file_info *f, uint64_t outer)
{
	prov_begin(p, PROV_entity);
	p->st.id = prov_named(&p->subject, f->pub.text, 0);
	p->st.type = "File";
	p->st.what = f->id;
	p->st.label = f->path;
	prov_put_file(p, f);
	prov_put_within(p, f, outer);
	prov_put_notes(p, 0);
	return prov_emit(p);
}

/* What is asked for of one version: of each of its writes, from the last to the first. Lowers o->limit. -errno, or the
 * result of emitting. */
static int emit_version_statements(struct prov_source *p, struct one_version *o, const struct file_info *f,
                                   uint64_t outer, unsigned kinds)
{
	int r = 0;
	for (size_t k = o->gens.n ? o->gens.n : 1; r == 0 && k-- > 0;) {
		if (kinds & PROV_BIT(PROV_entity))
			r = emit_version(p, o, f, outer, k);
		if (r == 0 && kinds & PROV_BIT(PROV_specializationOf))
			r = emit_specialization(p, o, f, k);
		if (r == 0 && o->gens.n && kinds & PROV_BIT(PROV_wasGeneratedBy))
			r = emit_generation(p, o, k, &o->limit);
		if (r == 0 && kinds & PROV_BIT(PROV_wasDerivedFrom))
			r = emit_derivations(p, o, k);
	}
	return r;
}

/* The file, and its versions from the last to the first. outer: the generation of the file that it lies in. Nothing
 * where no version is exported. -errno, or the result of emitting. */
static int emit_file_versions(struct prov_source *p, const struct file_info *f, uint64_t outer, unsigned kinds)
{
	struct one_version o = {.in = false};
	int64_t limit = TIME_NEVER;
	bool first = true;
	int r = kinds & PROV_BIT(PROV_entity) ? prov_load_notes(p, NOTES_FILE, f->id) : 0;
	for (uint64_t n = f->versions; r == 0 && n > 0; n--) {
		r = load_version(p, f, n, limit, &o);
		if (r != 0 || !o.in)
			continue;
		if (first && kinds & PROV_BIT(PROV_entity))
			r = emit_file(p, f, outer);
		first = false;
		if (r == 0)
			r = emit_version_statements(p, &o, f, outer, kinds);
		if (o.derived.n)
			limit = o.gens.n ? o.limit : o.limit - 1;
	}
	edges_release(&o.gens);
	edges_release(&o.derived);
	return r;
}

int prov_one_file(struct prov_source *p, store_id id, unsigned kinds)
{
	struct file_info f, file;
	struct buf path = {0}, domain = {0};
	uint64_t outer = 0;
	int r = store_file(p->s, id, &f);
	if (r <= 0)
		return r;
	/* The next store_file takes the strings. */
	buf_str(&path, f.path);
	buf_str(&domain, f.domain);
	f.path = buf_view(&path);
	f.domain = buf_view(&domain);
	r = path.failed || domain.failed ? -ENOMEM : 0;
	if (r == 0 && f.within && (r = store_file(p->s, f.within, &file)) > 0) {
		outer = file.gen;
		r = 0;
	}
	if (r == 0)
		r = emit_file_versions(p, &f, outer, kinds);
	buf_release(&path);
	buf_release(&domain);
	return r;
}
