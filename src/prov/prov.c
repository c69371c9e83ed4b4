/* prov.c - statements: how they are put together, and in which order they come. */
#include "prov/prov_int.h"

#include "base/hash.h"
#include "prov/out.h"

#include <errno.h>
#include <sqlite3.h>

const char *const prov_kind_name[PROV_KINDS] = {
    "agent",          "entity",        "activity",          "wasGeneratedBy",  "used",
    "wasDerivedFrom", "wasInformedBy", "wasAssociatedWith", "actedOnBehalfOf", "specializationOf"};
const struct attr_words attr_words[ATTR_COUNT] = {
#define ATTR(name, type, of, meaning) {#name, #name "Base64", TYPE_##type, of, meaning},
#include "prov/attrs.def"
#undef ATTR
};

const struct prov_roles prov_roles[PROV_KINDS] = {
    [PROV_wasGeneratedBy] = {"entity", "activity", NULL},
    [PROV_used] = {"activity", "entity", NULL},
    [PROV_wasDerivedFrom] = {"generatedEntity", "usedEntity", NULL},
    [PROV_wasInformedBy] = {"informed", "informant", NULL},
    [PROV_wasAssociatedWith] = {"activity", "agent", NULL},
    [PROV_actedOnBehalfOf] = {"delegate", "responsible", "activity"},
    [PROV_specializationOf] = {"specificEntity", "generalEntity", NULL},
};

/* "Person" or "SoftwareAgent". Static. */
const char *prov_agent_class(const struct prov_statement *st)
{
	return strcmp(st->type, "User") == 0 ? "Person" : "SoftwareAgent";
}

const struct prov_value *prov_find(const struct prov_statement *st, enum prov_attr attr)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].attr == attr)
			return &st->v[i];
	return NULL;
}

/* ---- one statement ---- */

/* Empties the one statement that p hands out. Values of the last one are void. */
void prov_begin(struct prov_source *p, enum prov_kind kind)
{
	struct prov_statement *st = &p->st;
	st->kind = kind;
	st->id = st->subject = st->object = st->third = st->label = str_of("");
	st->start = st->end = TIME_NONE;
	st->type = NULL;
	st->n = 0;
	st->what = st->other = 0;
}

struct prov_value *prov_value_of(struct prov_source *p, enum prov_attr attr)
{
	struct prov_value *v = &p->st.v[p->st.n++];
	v->attr = attr;
	return v;
}

void prov_put_text(struct prov_source *p, enum prov_attr attr, struct str s)
{
	if (s.n)
		prov_value_of(p, attr)->text = s;
}

/* Nothing for an empty list. l's items must live until prov_emit. */
void prov_put_list(struct prov_source *p, enum prov_attr attr, const struct strlist *l)
{
	if (l->count)
		prov_value_of(p, attr)->list = *l;
}

/* 0 is put as well. */
void prov_put_count(struct prov_source *p, enum prov_attr attr, uint64_t n)
{
	prov_value_of(p, attr)->count = n;
}

/* ns; nothing where it is not known. */
void prov_put_time(struct prov_source *p, enum prov_attr attr, int64_t t)
{
	if (t != TIME_NONE && t != TIME_NEVER)
		prov_value_of(p, attr)->time = t;
}

int64_t prov_known(int64_t t)
{
	return t == TIME_NEVER ? TIME_NONE : t;
}

/* Hands the statement that was made to the receiver. -ENOMEM, or what that gives. */
int prov_emit(struct prov_source *p)
{
	if (p->subject.failed || p->object.failed || p->third.failed || p->program.failed || p->run_name.failed)
		return -ENOMEM;
	for (size_t i = 0; i < NOTE_PARTS; i++)
		if (p->note[i].failed)
			return -ENOMEM;
	return p->emit(p->arg, &p->st);
}

struct str prov_hashed(struct buf *b, char letter, struct str x, struct str y)
{
	buf_reset(b);
	uint64_t h = hash_more(hash_more(1, x.p, x.n) + 1, y.p, y.n);
	buf_printf(b, "%c%016llx", letter, (unsigned long long)h);
	return str_n(buf_cstr(b), b->n);
}

/* The name in b, which is emptied first. part 0: of the whole. */
struct str prov_named(struct buf *b, const char *text, unsigned part)
{
	buf_reset(b);
	buf_str(b, str_of(text));
	if (part)
		buf_printf(b, ".%u", part);
	return str_n(buf_cstr(b), b->n);
}

/* ---- what several kinds have ---- */

void prov_put_file(struct prov_source *p, const struct file_info *f)
{
	prov_put_text(p, ATTR_path, f->path);
	prov_put_text(p, ATTR_fileKind, str_of(term_name(SET_kind, f->kind)));
	if (f->kind != TERM_kind_absent) {
		prov_put_text(p, ATTR_domain, f->domain);
		prov_put_count(p, ATTR_inode, f->ino);
		prov_put_count(p, ATTR_generation, f->gen);
		if (f->flags & 1)
			prov_put_count(p, ATTR_network, 1);
	}
}

void prov_put_within(struct prov_source *p, const struct file_info *f, uint64_t outer)
{
	if (f->within)
		prov_put_count(p, ATTR_withinGeneration, outer);
}

/* How sure it is, by which way, and between when. */
void prov_put_edge(struct prov_source *p, const struct edge *e)
{
	prov_put_text(p, ATTR_certainty, str_of(e->sure ? "must" : "may"));
	prov_put_text(p, ATTR_via, str_of(term_name(SET_via, e->via)));
	prov_put_time(p, ATTR_from, e->lo);
	prov_put_time(p, ATTR_until, e->hi);
}

/* As prov_put_edge, with calls and bytes where they are known. */
void prov_put_access(struct prov_source *p, const struct edge *e)
{
	prov_put_edge(p, e);
	prov_put_text(p, ATTR_api, str_of(term_name(SET_api, e->api)));
	prov_put_count(p, ATTR_accessMode,
	               e->mode & ~(unsigned)ACCESS_STATE); /* whether its state was looked at says nothing of it */
	if (e->count > 1)
		prov_put_count(p, ATTR_count, e->count);
	if (e->has_bytes)
		prov_put_count(p, ATTR_bytes, e->bytes);
}

int prov_edge_counts(struct prov_source *p, const struct edge *e, struct version_info *v)
{
	struct file_info f;
	if (!prov_follows(p, e) || !prov_has_version(p, e->to))
		return 0;
	int r = store_version(p->s, e->to, v);
	if (r > 0 && p->everything && !p->o.lineage.all) {
		r = store_file(p->s, v->file, &f);
		r = r > 0 ? prov_is_exported(p, v, &f, e->mode) : r;
	}
	return r;
}

int64_t prov_inside(int64_t t, const struct exec_info *x)
{
	return t == TIME_NEVER || t < x->start || t > x->end ? TIME_NONE : t;
}

/* ---- notes ---- */

int prov_load_notes(struct prov_source *p, enum notes_of of, store_id id)
{
	notes_release(&p->notes);
	return idset_has(of == NOTES_RUN ? &p->noted_runs : &p->noted_files, id) ? store_notes(p->s, of, id, &p->notes) : 0;
}

void prov_put_notes(struct prov_source *p, uint64_t version)
{
	static const enum prov_attr attrs[NOTE_PARTS] = {ATTR_note, ATTR_noteTime, ATTR_noteUser, ATTR_noteHost};
	struct buf moment = {0};
	struct out time = out_into(&moment);
	size_t n = 0;
	for (size_t i = 0; i < NOTE_PARTS; i++)
		buf_reset(&p->note[i]);
	for (size_t i = 0; i < p->notes.n; i++) {
		const struct note_info *x = &p->notes.v[i];
		if (x->version != version)
			continue;
		buf_reset(&moment);
		out_time(&time, x->time);
		const struct str parts[NOTE_PARTS] = {x->text, buf_view(&moment), x->user, x->host};
		for (size_t k = 0; k < NOTE_PARTS; k++) {
			buf_varint(&p->note[k], parts[k].n);
			buf_str(&p->note[k], parts[k]);
		}
		n++;
	}
	buf_release(&moment);
	for (size_t i = 0; n && i < NOTE_PARTS; i++)
		prov_put_list(p, attrs[i], &(struct strlist){.count = n, .raw = buf_view(&p->note[i])});
}

/* ---- the walk ---- */

int prov_each(struct prov_source *p, const struct idset *set, const char *sql,
              int (*do_one)(struct prov_source *p, store_id id, unsigned kinds), unsigned kinds)
{
	int r = 0;
	if (!p->everything) {
		for (size_t i = 0; r == 0 && i < set->n; i++)
			r = do_one(p, set->v[i], kinds);
		return r;
	}
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(store_sqlite(p->s), sql, -1, &st, NULL) != SQLITE_OK)
		return -EIO;
	int step;
	while (r == 0 && (step = sqlite3_step(st)) == SQLITE_ROW)
		r = do_one(p, (store_id)sqlite3_column_int64(st, 0), kinds);
	if (r == 0 && step != SQLITE_DONE)
		r = -EIO;
	sqlite3_finalize(st);
	return r;
}

int prov_walk(struct prov_source *p, unsigned kinds, int (*to)(void *arg, const struct prov_statement *st), void *arg)
{
	const unsigned of_files = PROV_BIT(PROV_entity) | PROV_BIT(PROV_specializationOf) | PROV_BIT(PROV_wasGeneratedBy) |
	                          PROV_BIT(PROV_wasDerivedFrom);
	const unsigned of_runs = PROV_BIT(PROV_activity) | PROV_BIT(PROV_wasAssociatedWith);
	const unsigned of_execs =
	    of_runs | PROV_BIT(PROV_actedOnBehalfOf) | PROV_BIT(PROV_used) | PROV_BIT(PROV_wasInformedBy) | PROV_OUTPUTS;
	int r = 0;
	p->emit = to;
	p->arg = arg;
	if (kinds & PROV_BIT(PROV_agent))
		r = prov_emit_agents(p);
	if (r == 0 && kinds & of_runs)
		r = prov_each(p, &p->runs, "SELECT id FROM run", prov_one_run, kinds);
	if (r == 0 && kinds & of_execs)
		r = prov_each(p, &p->execs, "SELECT id FROM execution", prov_one_exec, kinds);
	if (r == 0 && kinds & of_files)
		r = prov_each(p, &p->files, "SELECT id FROM file", prov_one_file, kinds);
	if (r == 0 && kinds & PROV_BUILDS)
		r = prov_each(p, &p->builds, "SELECT id FROM build", prov_one_build, kinds);
	return r;
}
