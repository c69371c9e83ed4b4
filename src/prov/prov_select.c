/* prov_select.c - which executions, versions, files and runs are exported. */
#include "prov/prov_int.h"

#include "base/os/system.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

/* Belongs to p. */
struct store *prov_store(struct prov_source *p)
{
	return p->s;
}

/* Belongs to p. */
const struct prov_select *prov_selection(const struct prov_source *p)
{
	return &p->o;
}
bool prov_has_version(struct prov_source *p, store_id id)
{
	return p->everything || idset_has(&p->versions, id);
}

/* Whether the execution is in the selection. */
bool prov_has_exec(struct prov_source *p, store_id id)
{
	return p->everything || idset_has(&p->execs, id);
}

/* Whether some of it lies in the period; TIME_NONE is no bound. */
static bool is_within_period(const struct prov_select *o, int64_t start, int64_t end)
{
	return (o->until == TIME_NONE || start <= o->until) && (o->since == TIME_NONE || end >= o->since);
}

/* Is a version one of those that are exported, whatever it is for? */
int prov_is_exported(struct prov_source *p, const struct version_info *v, const struct file_info *f, uint16_t mode)
{
	if (p->o.lineage.all)
		return 1;
	if (f->kind == TERM_kind_absent || f->kind == TERM_kind_pseudo)
		return 0;
	enum system_class c = f->kind == TERM_kind_regular ? system_path(f->path, p->o.lineage.system_extra) : SYSTEM_NO;
	if (c == SYSTEM_YES || (c == SYSTEM_UNLESS_NAMED && mode & ACCESS_PROGRAM))
		return v->origin == ORIGIN_OBSERVED && c != SYSTEM_YES;
	return 1;
}

/* Whether an edge is followed, by the options. */
bool prov_follows(const struct prov_source *p, const struct edge *e)
{
	const struct lineage_options *o = &p->o.lineage;
	if (o->certain && !e->sure)
		return false;
	if (!o->all && e->via == TERM_via_sync)
		return false;
	return o->all || o->fork || e->sure || (e->via != TERM_via_fork && e->via != TERM_via_shm);
}

/* Into p->versions where the edge is followed and the version exported. -errno. */
static int add_version(struct prov_source *p, const struct edge *e)
{
	struct version_info v;
	struct file_info f;
	int r = prov_follows(p, e) ? store_version(p->s, e->to, &v) : 0;
	r = r > 0 ? store_file(p->s, v.file, &f) : r;
	r = r > 0 ? prov_is_exported(p, &v, &f, e->mode) : r;
	return r > 0 ? idset_add(&p->versions, e->to) : r;
}

/* Selects an execution, with what it read and wrote. 0 also where it is none, or outside the period. -errno. */
static int select_exec(struct prov_source *p, store_id id)
{
	struct exec_info x;
	int r = store_exec(p->s, id, &x);
	if (r <= 0 || !is_within_period(&p->o, x.start, x.end))
		return r < 0 ? r : 0;
	r = idset_add(&p->execs, id);
	for (int outputs = 0; r == 0 && outputs < 2; outputs++) {
		r = outputs ? store_outputs(p->s, id, &p->edges) : store_uses(p->s, id, &p->edges);
		for (size_t i = 0; r == 0 && i < p->edges.n; i++)
			r = add_version(p, &p->edges.v[i]);
	}
	return r;
}

/* Selects the lineage of the versions that were asked for. -errno, reported where the walk failed. */
static int add_lineage(struct prov_source *p, struct err *err)
{
	struct lineage l;
	int r = lineage_walk(p->s, p->o.versions, p->o.n_versions, &p->o.lineage, err, &l);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < l.n_nodes; i++) {
		struct exec_info x;
		struct version_info v;
		const struct lineage_node *n = &l.nodes[i];
		r = n->exec ? store_exec(p->s, n->id, &x) : store_version(p->s, n->id, &v);
		if (r > 0)
			r = !is_within_period(&p->o, n->exec ? x.start : v.start, n->exec ? x.end : v.end)
			        ? 0
			        : idset_add(n->exec ? &p->execs : &p->versions, n->id);
	}
	lineage_release(&l);
	return r;
}

/* The files and runs of what is selected. Closes both sets. -errno. */
static int add_owners(struct prov_source *p)
{
	struct version_info v;
	struct exec_info x;
	int r = 0;
	for (size_t i = 0; r >= 0 && i < p->versions.n; i++)
		if ((r = store_version(p->s, p->versions.v[i], &v)) > 0)
			r = idset_add(&p->files, v.file);
	for (size_t i = 0; r >= 0 && i < p->execs.n; i++)
		if ((r = store_exec(p->s, p->execs.v[i], &x)) > 0 && x.run)
			r = idset_add(&p->runs, x.run);
	idset_close(&p->files);
	idset_close(&p->runs);
	return r < 0 ? r : 0;
}

/* Most records have few notes, or none: of all others nothing is to be looked up. 0, -errno. */
static int find_noted(struct prov_source *p)
{
	struct notes all;
	int r = store_notes(p->s, NOTES_ALL, 0, &all);
	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = idset_add(all.v[i].run ? &p->noted_runs : &p->noted_files, all.v[i].run ? all.v[i].run : all.v[i].file);
	notes_release(&all);
	idset_close(&p->noted_runs);
	idset_close(&p->noted_files);
	return r;
}

/* 0, -errno. Selects all executions of the run. */
static int select_run(struct prov_source *p, store_id run)
{
	store_id *ids = NULL;
	size_t n = 0;
	int r = store_run_execs(p->s, run, &ids, &n);
	for (size_t k = 0; r == 0 && k < n; k++)
		r = select_exec(p, ids[k]);
	free(ids);
	return r;
}

/* Where nothing but a time was asked for, all executions are looked at. 0, -errno. */
static int select_all_execs(struct prov_source *p)
{
	sqlite3_stmt *st = NULL;
	int r = 0;
	if (sqlite3_prepare_v2(store_sqlite(p->s), "SELECT id FROM execution", -1, &st, NULL) != SQLITE_OK)
		r = -EIO;
	while (r == 0 && sqlite3_step(st) == SQLITE_ROW)
		r = select_exec(p, (store_id)sqlite3_column_int64(st, 0));
	sqlite3_finalize(st);
	return r;
}

/* What was asked for, and what that belongs to. Closes all sets. -errno. */
static int select_asked(struct prov_source *p, struct err *err)
{
	const struct prov_select *o = &p->o;
	int r = o->n_versions ? add_lineage(p, err) : 0;
	for (size_t i = 0; r == 0 && i < o->n_runs; i++)
		r = select_run(p, o->runs[i]);
	for (size_t i = 0; r == 0 && i < o->n_execs; i++)
		r = select_exec(p, o->execs[i]);
	if (r == 0 && !o->n_versions && !o->n_runs && !o->n_execs)
		r = select_all_execs(p);
	idset_close(&p->versions);
	idset_close(&p->execs);
	if (r == 0)
		r = add_owners(p);
	return r < 0 ? r : prov_find_builds(p);
}

int prov_open(struct store *s, const struct prov_select *o, struct err *err, struct prov_source **ret)
{
	struct prov_source *p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, ENOMEM, "cannot export");
	p->s = s;
	p->o = *o;
	p->everything = !o->n_versions && !o->n_runs && !o->n_execs && o->since == TIME_NONE && o->until == TIME_NONE;
	int r = store_view_begin(s, o->n_versions ? VIEW_WALK : VIEW_PASS); /* a lineage, or one after the other */
	if (r == 0)
		r = find_noted(p);
	if (r == 0 && !p->everything)
		r = select_asked(p, err);
	if (r < 0) {
		prov_close(p);
		return err_set(err, -r, "cannot read the record");
	}
	*ret = p;
	return 0;
}

/* NULL is no error. The view of the store ends. */
void prov_close(struct prov_source *p)
{
	if (!p)
		return;
	store_view_end(p->s);
	idset_release(&p->versions);
	idset_release(&p->execs);
	idset_release(&p->files);
	idset_release(&p->runs);
	idset_release(&p->builds);
	idset_release(&p->noted_files);
	idset_release(&p->noted_runs);
	notes_release(&p->notes);
	map_release(&p->users);
	map_release(&p->programs);
	for (size_t i = 0; i < NOTE_PARTS; i++)
		buf_release(&p->note[i]);
	for (size_t i = 0; i < REPORTED_PARTS; i++)
		buf_release(&p->reported[i]);
	for (size_t i = 0; i < LOGGED_PARTS; i++)
		buf_release(&p->logged[i]);
	buf_release(&p->run_type);
	buf_release(&p->subject);
	buf_release(&p->object);
	buf_release(&p->third);
	buf_release(&p->label);
	buf_release(&p->program);
	buf_release(&p->run_name);
	edges_release(&p->edges);
	edges_release(&p->more);
	free(p);
}
