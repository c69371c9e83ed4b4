/* prov.c - walks the store and makes PROV statements of it. */
#include "export/prov.h"

#include "base/hash.h"
#include "query/idset.h"
#include "query/system.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

const char *const prov_kind_name[PROV_KINDS] = {
    "agent",          "entity",        "activity",          "wasGeneratedBy",  "used",
    "wasDerivedFrom", "wasInformedBy", "wasAssociatedWith", "actedOnBehalfOf", "specializationOf"};
const struct attr_words attr_words[ATTR_COUNT] = {
#define ATTR(name, type, of, meaning) {#name, #name "Base64", TYPE_##type, of, meaning},
#include "export/attrs.def"
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

const char *prov_agent_class(const struct prov_statement *st)
{
	return strcmp(st->type, "User") == 0 ? "Person" : "SoftwareAgent";
}

struct prov_source {
	struct store *s;
	struct prov_select o;
	bool everything;
	struct idset versions, execs, files, runs;
	/* scratch of one statement */
	struct prov_statement st;
	struct buf subject, object, third, label, program;
	struct edges edges, more;
	store_id named_run; /* whose name stands in run_name: executions of a run stand together */
	struct buf run_name;
	int (*say)(void *arg, const struct prov_statement *st);
	void *arg;
};

struct store *prov_store(struct prov_source *p)
{
	return p->s;
}

const struct prov_select *prov_selection(const struct prov_source *p)
{
	return &p->o;
}

/* ---- one statement ---- */

static void begin(struct prov_source *p, enum prov_kind kind)
{
	struct prov_statement *st = &p->st;
	st->kind = kind;
	st->id = st->subject = st->object = st->third = st->label = str_of("");
	st->start = st->end = TIME_NONE;
	st->type = NULL;
	st->n = 0;
	st->what = st->other = 0;
}

static struct prov_value *value(struct prov_source *p, enum prov_attr attr)
{
	struct prov_value *v = &p->st.v[p->st.n++];
	v->attr = attr;
	return v;
}

static void put_text(struct prov_source *p, enum prov_attr attr, struct str s)
{
	if (s.n)
		value(p, attr)->text = s;
}

static void put_list(struct prov_source *p, enum prov_attr attr, const struct strlist *l)
{
	if (l->count)
		value(p, attr)->list = *l;
}

static void put_count(struct prov_source *p, enum prov_attr attr, uint64_t n)
{
	value(p, attr)->count = n;
}

static void put_time(struct prov_source *p, enum prov_attr attr, int64_t t)
{
	if (t != TIME_NONE && t != TIME_NEVER)
		value(p, attr)->time = t;
}

static int64_t known(int64_t t)
{
	return t == TIME_NEVER ? TIME_NONE : t;
}

static int say(struct prov_source *p)
{
	if (p->subject.failed || p->object.failed || p->third.failed || p->program.failed || p->run_name.failed)
		return -ENOMEM;
	return p->say(p->arg, &p->st);
}

/* An id made of a letter and a hash of words. */
static struct str hashed(struct buf *b, char letter, struct str x, struct str y)
{
	buf_reset(b);
	uint64_t h = hash_more(hash_more(1, x.p, x.n) + 1, y.p, y.n);
	buf_printf(b, "%c%016llx", letter, (unsigned long long)h);
	return str_n(buf_cstr(b), b->n);
}

static struct str named(struct buf *b, const char *text, unsigned part)
{
	buf_reset(b);
	buf_str(b, str_of(text));
	if (part)
		buf_printf(b, ".%u", part);
	return str_n(buf_cstr(b), b->n);
}

/* ---- the selection ---- */

bool prov_has_version(struct prov_source *p, store_id id)
{
	return p->everything || idset_has(&p->versions, id);
}

bool prov_has_exec(struct prov_source *p, store_id id)
{
	return p->everything || idset_has(&p->execs, id);
}

static bool within(const struct prov_select *o, int64_t start, int64_t end)
{
	return (o->until == TIME_NONE || start <= o->until) && (o->since == TIME_NONE || end >= o->since);
}

/* Is a version one of those that are exported, whatever it is for? */
static int is_exported(struct prov_source *p, const struct version_info *v, const struct file_info *f, uint16_t mode)
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

static bool follows(const struct prov_source *p, const struct edge *e)
{
	const struct lineage_options *o = &p->o.lineage;
	if (o->certain && !e->sure)
		return false;
	if (!o->all && e->via == TERM_via_sync)
		return false;
	return o->all || o->fork || e->sure || (e->via != TERM_via_fork && e->via != TERM_via_shm);
}

static int add_version(struct prov_source *p, const struct edge *e)
{
	struct version_info v;
	struct file_info f;
	int r = follows(p, e) ? store_version(p->s, e->to, &v) : 0;
	r = r > 0 ? store_file(p->s, v.file, &f) : r;
	r = r > 0 ? is_exported(p, &v, &f, e->mode) : r;
	return r > 0 ? idset_add(&p->versions, e->to) : r;
}

static int add_exec(struct prov_source *p, store_id id)
{
	struct exec_info x;
	int r = store_exec(p->s, id, &x);
	if (r <= 0 || !within(&p->o, x.start, x.end))
		return r < 0 ? r : 0;
	r = idset_add(&p->execs, id);
	for (int outputs = 0; r == 0 && outputs < 2; outputs++) {
		r = outputs ? store_outputs(p->s, id, &p->edges) : store_uses(p->s, id, &p->edges);
		for (size_t i = 0; r == 0 && i < p->edges.n; i++)
			r = add_version(p, &p->edges.v[i]);
	}
	return r;
}

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
			r = !within(&p->o, n->exec ? x.start : v.start, n->exec ? x.end : v.end)
			        ? 0
			        : idset_add(n->exec ? &p->execs : &p->versions, n->id);
	}
	lineage_release(&l);
	return r;
}

/* The files and runs of what is selected. */
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

int prov_open(struct store *s, const struct prov_select *o, struct err *err, struct prov_source **ret)
{
	struct prov_source *p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, ENOMEM, "cannot export");
	p->s = s;
	p->o = *o;
	p->everything = !o->n_versions && !o->n_runs && !o->n_execs && o->since == TIME_NONE && o->until == TIME_NONE;
	int r = store_view_begin(s);
	if (r == 0 && !p->everything) {
		if (o->n_versions)
			r = add_lineage(p, err);
		for (size_t i = 0; r == 0 && i < o->n_runs; i++) {
			store_id *ids = NULL;
			size_t n = 0;
			r = store_run_execs(s, o->runs[i], &ids, &n);
			for (size_t k = 0; r == 0 && k < n; k++)
				r = add_exec(p, ids[k]);
			free(ids);
		}
		for (size_t i = 0; r == 0 && i < o->n_execs; i++)
			r = add_exec(p, o->execs[i]);
		if (!o->n_versions && !o->n_runs && !o->n_execs) { /* by time alone */
			sqlite3_stmt *st = NULL;
			if (sqlite3_prepare_v2(store_sqlite(s), "SELECT id FROM execution", -1, &st, NULL) != SQLITE_OK)
				r = -EIO;
			while (r == 0 && sqlite3_step(st) == SQLITE_ROW)
				r = add_exec(p, (store_id)sqlite3_column_int64(st, 0));
			sqlite3_finalize(st);
		}
		idset_close(&p->versions);
		idset_close(&p->execs);
		if (r == 0)
			r = add_owners(p);
	}
	if (r < 0) {
		prov_close(p);
		return err_set(err, -r, "cannot read the record");
	}
	*ret = p;
	return 0;
}

void prov_close(struct prov_source *p)
{
	if (!p)
		return;
	store_view_end(p->s);
	idset_release(&p->versions);
	idset_release(&p->execs);
	idset_release(&p->files);
	idset_release(&p->runs);
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

/* Calls do_one for each of a set, or for each row of a table. */
static int each(struct prov_source *p, const struct idset *set, const char *sql,
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

/* ---- runs, executions, agents ---- */

static int say_associated(struct prov_source *p, struct str activity, struct str agent)
{
	begin(p, PROV_wasAssociatedWith);
	p->st.subject = activity;
	p->st.object = agent;
	return say(p);
}

static void run_label(struct prov_source *p, const struct strlist *argv)
{
	struct str s;
	size_t pos = 0;
	buf_reset(&p->label);
	while (p->label.n < 200 && strlist_next(argv, &pos, &s)) {
		if (p->label.n)
			buf_char(&p->label, ' ');
		buf_str(&p->label, s.n > 200 ? str_n(s.p, 200) : s);
	}
	p->st.label = buf_view(&p->label);
}

static int one_run(struct prov_source *p, store_id id, unsigned kinds)
{
	struct run_info x;
	int r = store_run(p->s, id, &x);
	if (r <= 0)
		return r;
	buf_reset(&p->subject);
	buf_printf(&p->subject, "r%.*s", (int)x.ulid.n, x.ulid.p);
	struct str name = str_n(buf_cstr(&p->subject), p->subject.n);
	/* Whoever is told of the run may ask for another one, which takes x's strings. */
	struct str user = x.user.n ? hashed(&p->third, 'u', x.user, x.host) : str_of("");
	if (kinds & PROV_BIT(PROV_activity)) {
		begin(p, PROV_activity);
		p->st.id = name;
		p->st.type = "Run";
		p->st.what = id;
		p->st.start = known(x.start);
		p->st.end = known(x.end);
		run_label(p, &x.argv);
		if (x.outer.n) {
			buf_reset(&p->object);
			buf_printf(&p->object, "r%.*s", (int)x.outer.n, x.outer.p);
			put_text(p, ATTR_outerRun, str_n(buf_cstr(&p->object), p->object.n));
		}
		put_list(p, ATTR_argv, &x.argv);
		put_text(p, ATTR_cwd, x.cwd);
		put_text(p, ATTR_user, x.user);
		put_text(p, ATTR_group, x.group);
		put_text(p, ATTR_host, x.host);
		put_list(p, ATTR_hostInfo, &x.hostinfo);
		put_list(p, ATTR_label, &x.labels);
		put_text(p, ATTR_mode, x.mode);
		if (x.ending == TERM_ending_exited)
			put_count(p, ATTR_exitStatus, x.code);
		if (x.ending == TERM_ending_signaled)
			put_count(p, ATTR_exitSignal, x.code);
		if ((r = say(p)) != 0)
			return r;
	}
	r = 0;
	if (kinds & PROV_BIT(PROV_wasAssociatedWith) && user.n)
		r = say_associated(p, name, user);
	return r;
}

static int file_name(struct prov_source *p, store_id file, struct buf *b, struct str *ret)
{
	struct file_info f;
	*ret = str_of("");
	int r = file ? store_file(p->s, file, &f) : 0;
	if (r > 0)
		*ret = named(b, f.pub.text, 0);
	return r < 0 ? r : 0;
}

/* The program that runs, as an agent: the script, else the executable. */
static int program_name(struct prov_source *p, const struct exec_info *x, struct str *ret)
{
	struct file_info f;
	store_id file = x->script ? x->script : x->exe;
	*ret = str_of("");
	int r = file ? store_file(p->s, file, &f) : 0;
	if (r > 0) {
		buf_reset(&p->program);
		buf_printf(&p->program, "p%s", f.pub.text + 1);
		*ret = str_n(buf_cstr(&p->program), p->program.n);
	}
	return r < 0 ? r : 0;
}

static void put_gaps(struct prov_source *p, uint64_t gaps, struct str words[64])
{
	size_t n = 0;
	for (unsigned i = 0; i < 64; i++)
		if (gaps >> i & 1)
			words[n++] = str_of(term_name(SET_gap, i));
	if (n)
		value(p, ATTR_completeness)->list = (struct strlist){.items = words, .count = n};
}

static int run_name(struct prov_source *p, store_id id, struct str *ret)
{
	struct run_info run;
	if (id != p->named_run) {
		int r = id ? store_run(p->s, id, &run) : 0;
		if (r < 0)
			return r;
		buf_reset(&p->run_name);
		if (r > 0)
			buf_printf(&p->run_name, "r%.*s", (int)run.ulid.n, run.ulid.p);
		p->named_run = id;
	}
	*ret = str_n(buf_cstr(&p->run_name), p->run_name.n);
	return 0;
}

static int say_execution(struct prov_source *p, const struct exec_info *x, struct str name)
{
	struct str run;
	struct str program, script, gaps[64];
	begin(p, PROV_activity);
	p->st.id = name;
	p->st.type = "Execution";
	p->st.what = x->id;
	p->st.other = x->run;
	p->st.start = known(x->start);
	p->st.end = known(x->end);
	run_label(p, &x->argv);
	int r = run_name(p, x->run, &run);
	if (r == 0)
		put_text(p, ATTR_run, run);
	put_list(p, ATTR_argv, &x->argv);
	put_text(p, ATTR_cwd, x->cwd);
	put_list(p, ATTR_environment, &x->env);
	put_text(p, ATTR_host, x->host);
	put_text(p, ATTR_user, x->user);
	put_text(p, ATTR_group, x->group);
	if (x->n) {
		put_count(p, ATTR_uid, x->uid);
		put_count(p, ATTR_gid, x->gid);
	}
	put_text(p, ATTR_boot, x->boot);
	put_count(p, ATTR_pidNamespace, x->pidns);
	put_count(p, ATTR_pid, x->pid);
	put_time(p, ATTR_processStarted, x->started);
	put_count(p, ATTR_execution, x->n);
	r = r < 0 ? r : file_name(p, x->exe, &p->object, &program);
	if (r == 0)
		put_text(p, ATTR_program, program);
	r = r < 0 ? r : file_name(p, x->script, &p->program, &script);
	if (r == 0)
		put_text(p, ATTR_script, script);
	put_text(p, ATTR_job, x->job);
	put_text(p, ATTR_step, x->step);
	put_text(p, ATTR_rank, x->rank);
	if (x->ending == TERM_ending_exited)
		put_count(p, ATTR_exitStatus, x->code);
	if (x->ending == TERM_ending_signaled)
		put_count(p, ATTR_exitSignal, x->code);
	const struct {
		enum prov_attr attr;
		uint64_t value;
	} figures[] = {{ATTR_cpuTime, x->cpu},
	               {ATTR_userTime, x->user_time},
	               {ATTR_systemTime, x->system_time},
	               {ATTR_memoryResidentPeak, x->rss},
	               {ATTR_bytesRead, x->rchar},
	               {ATTR_bytesWritten, x->wchar_},
	               {ATTR_storageRead, x->read_bytes},
	               {ATTR_storageWritten, x->write_bytes}};
	for (unsigned i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (x->known >> (i + 1) & 1)
			put_count(p, figures[i].attr, figures[i].value);
	put_gaps(p, x->gaps, gaps);
	return r < 0 ? r : say(p);
}

static void put_edge(struct prov_source *p, const struct edge *e)
{
	put_text(p, ATTR_certainty, str_of(e->sure ? "must" : "may"));
	put_text(p, ATTR_via, str_of(term_name(SET_via, e->via)));
	put_time(p, ATTR_from, e->lo);
	put_time(p, ATTR_until, e->hi);
}

static void put_access(struct prov_source *p, const struct edge *e)
{
	put_edge(p, e);
	put_text(p, ATTR_api, str_of(term_name(SET_api, e->api)));
	put_count(p, ATTR_accessMode,
	          e->mode & ~(unsigned)ACCESS_STATE); /* whether its state was looked at says nothing of it */
	if (e->count > 1)
		put_count(p, ATTR_count, e->count);
	if (e->has_bytes)
		put_count(p, ATTR_bytes, e->bytes);
}

/* Whether an edge's version is part of the document. */
static int edge_counts(struct prov_source *p, const struct edge *e, struct version_info *v)
{
	struct file_info f;
	if (!follows(p, e) || !prov_has_version(p, e->to))
		return 0;
	int r = store_version(p->s, e->to, v);
	if (r > 0 && p->everything && !p->o.lineage.all) {
		r = store_file(p->s, v->file, &f);
		r = r > 0 ? is_exported(p, v, &f, e->mode) : r;
	}
	return r;
}

/* A moment of an execution, where it is one. */
static int64_t inside(int64_t t, const struct exec_info *x)
{
	return t == TIME_NEVER || t < x->start || t > x->end ? TIME_NONE : t;
}

static int say_uses(struct prov_source *p, const struct exec_info *x, struct str name)
{
	struct version_info v;
	int r = store_uses(p->s, x->id, &p->edges);
	for (size_t i = 0; r == 0 && i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		if ((r = edge_counts(p, e, &v)) <= 0)
			continue;
		begin(p, PROV_used);
		p->st.subject = name;
		p->st.object = named(&p->object, v.pub.text, 0);
		p->st.what = x->id;
		p->st.other = v.id;
		p->st.start = inside(e->hi, x);
		put_access(p, e);
		r = say(p);
	}
	return r;
}

/* What it wrote, by whole versions: for formats that want an execution's outputs with it. */
static int say_outputs(struct prov_source *p, const struct exec_info *x, struct str name)
{
	struct version_info v;
	int r = store_outputs(p->s, x->id, &p->edges);
	for (size_t i = 0; r == 0 && i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		if ((r = edge_counts(p, e, &v)) <= 0)
			continue;
		begin(p, PROV_wasGeneratedBy);
		p->st.subject = named(&p->object, v.pub.text, 0);
		p->st.object = name;
		p->st.what = v.id;
		p->st.other = x->id;
		put_edge(p, e);
		r = say(p);
	}
	return r;
}

static int say_informed(struct prov_source *p, store_id id, struct str name)
{
	struct exec_info other;
	int r = store_informed(p->s, id, &p->edges);
	for (size_t i = 0; r == 0 && i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		/* The tree of processes is told whole; the rest as asked for. */
		if (p->o.lineage.certain ? !e->sure : e->via != TERM_via_fork && !follows(p, e))
			continue;
		if (!prov_has_exec(p, e->to) || (r = store_exec(p->s, e->to, &other)) <= 0)
			continue;
		begin(p, PROV_wasInformedBy);
		p->st.subject = name;
		p->st.object = named(&p->object, other.pub.text, 0);
		p->st.what = id;
		p->st.other = other.id;
		put_edge(p, e);
		r = say(p);
	}
	return r;
}

static int one_exec(struct prov_source *p, store_id id, unsigned kinds)
{
	struct exec_info x;
	struct str user, program;
	int r = store_exec(p->s, id, &x);
	if (r <= 0)
		return r;
	struct str name = named(&p->subject, x.pub.text, 0);
	r = 0;
	if (kinds & PROV_BIT(PROV_activity))
		r = say_execution(p, &x, name);
	if (r == 0 && kinds & (PROV_BIT(PROV_wasAssociatedWith) | PROV_BIT(PROV_actedOnBehalfOf))) {
		/* Another store_exec would take x's strings: they are used before. */
		user = x.user.n ? hashed(&p->third, 'u', x.user, x.host) : str_of("");
		r = program_name(p, &x, &program);
		if (r == 0 && user.n && kinds & PROV_BIT(PROV_wasAssociatedWith))
			r = say_associated(p, name, user);
		if (r == 0 && program.n && kinds & PROV_BIT(PROV_wasAssociatedWith))
			r = say_associated(p, name, program);
		if (r == 0 && program.n && user.n && kinds & PROV_BIT(PROV_actedOnBehalfOf)) {
			begin(p, PROV_actedOnBehalfOf);
			p->st.subject = program;
			p->st.object = user;
			p->st.third = name;
			r = say(p);
		}
	}
	if (r == 0 && kinds & PROV_BIT(PROV_used))
		r = say_uses(p, &x, name);
	if (r == 0 && kinds & PROV_OUTPUTS)
		r = say_outputs(p, &x, name);
	if (r == 0 && kinds & PROV_BIT(PROV_wasInformedBy))
		r = say_informed(p, id, name);
	return r;
}

/* What identifies a file, whatever its name. */
static void put_file(struct prov_source *p, const struct file_info *f)
{
	put_text(p, ATTR_path, f->path);
	put_text(p, ATTR_fileKind, str_of(term_name(SET_kind, f->kind)));
	if (f->kind != TERM_kind_absent) {
		put_text(p, ATTR_domain, f->domain);
		put_count(p, ATTR_inode, f->ino);
		put_count(p, ATTR_generation, f->gen);
		if (f->flags & 1)
			put_count(p, ATTR_network, 1);
	}
}

/* ---- agents: users and programs, each once ---- */

struct seen {
	uint64_t *v;
	size_t n, cap;
};

static bool seen_before(struct seen *s, uint64_t h, int *rc)
{
	size_t lo = 0, hi = s->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->v[mid] < h)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->n && s->v[lo] == h)
		return true;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		uint64_t *v = realloc(s->v, cap * sizeof(*v));
		if (!v) {
			*rc = -ENOMEM;
			return true;
		}
		s->v = v;
		s->cap = cap;
	}
	memmove(s->v + lo + 1, s->v + lo, (s->n - lo) * sizeof(*s->v));
	s->v[lo] = h;
	s->n++;
	return false;
}

struct agents {
	struct seen users, programs;
};

static int agents_of(struct prov_source *p, store_id id, struct agents *a)
{
	struct exec_info x;
	struct file_info f;
	int rc = 0, r = store_exec(p->s, id, &x);
	if (r <= 0)
		return r;
	if (x.user.n && !seen_before(&a->users, hash_more(hash_str(x.user), x.host.p, x.host.n), &rc)) {
		begin(p, PROV_agent);
		p->st.id = hashed(&p->subject, 'u', x.user, x.host);
		p->st.type = "User";
		buf_reset(&p->label);
		buf_printf(&p->label, "%.*s@%.*s", (int)x.user.n, x.user.p, (int)x.host.n, x.host.p);
		p->st.label = buf_view(&p->label);
		put_text(p, ATTR_user, x.user);
		put_text(p, ATTR_host, x.host);
		rc = say(p);
	}
	/* The program that acts, and the interpreter of a script: neither need be an entity of the document. */
	const store_id files[] = {x.script, x.exe};
	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		if (!files[i] || seen_before(&a->programs, files[i], &rc) || (r = store_file(p->s, files[i], &f)) <= 0)
			continue;
		begin(p, PROV_agent);
		buf_reset(&p->subject);
		buf_printf(&p->subject, "p%s", f.pub.text + 1);
		p->st.id = str_n(buf_cstr(&p->subject), p->subject.n);
		p->st.type = "Program";
		p->st.label = f.path;
		put_file(p, &f);
		rc = say(p);
	}
	return r < 0 ? r : rc;
}

static int say_agents(struct prov_source *p)
{
	struct agents a = {{0}, {0}};
	int r = 0;
	if (!p->everything) {
		for (size_t i = 0; r == 0 && i < p->execs.n; i++)
			r = agents_of(p, p->execs.v[i], &a);
	} else {
		sqlite3_stmt *st = NULL;
		r = sqlite3_prepare_v2(store_sqlite(p->s), "SELECT id FROM execution", -1, &st, NULL) == SQLITE_OK ? 0 : -EIO;
		while (r == 0 && sqlite3_step(st) == SQLITE_ROW)
			r = agents_of(p, (store_id)sqlite3_column_int64(st, 0), &a);
		sqlite3_finalize(st);
	}
	free(a.users.v);
	free(a.programs.v);
	return r;
}

/* ---- files and their versions ---- */

struct one_version {
	struct version_info v;
	bool in;
	struct edges gens, derived; /* gens by the end of the writing */
	int64_t limit;              /* no generation after this */
};

static int gen_cmp(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	return a->lo != b->lo ? (a->lo < b->lo ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}

static int load_version(struct prov_source *p, const struct file_info *f, uint64_t n, int64_t limit,
                        struct one_version *o)
{
	store_id id = 0;
	int r = store_version_of(p->s, f->id, n, &id);
	o->in = false;
	if (r <= 0 || !prov_has_version(p, id))
		return r < 0 ? r : 0;
	r = store_version(p->s, id, &o->v);
	r = r > 0 && p->everything ? is_exported(p, &o->v, f, 0) : r;
	if (r <= 0)
		return r;
	o->in = true;
	o->limit = limit;
	if ((r = store_gens(p->s, id, &o->gens)) < 0 || (r = store_derived(p->s, id, &o->derived)) < 0 ||
	    (r = store_readers(p->s, id, &p->more)) < 0)
		return r;
	size_t kept = 0;
	for (size_t i = 0; i < o->gens.n; i++)
		if (follows(p, &o->gens.v[i]) && prov_has_exec(p, o->gens.v[i].to))
			o->gens.v[kept++] = o->gens.v[i];
	o->gens.n = kept;
	if (kept)
		qsort(o->gens.v, kept, sizeof(*o->gens.v), gen_cmp);
	for (size_t i = 0; i < p->more.n; i++)
		if (p->more.v[i].hi < o->limit)
			o->limit = p->more.v[i].hi;
	/* Within the file the limit comes down with the versions; a cache's version is another file's. */
	r = store_derivatives(p->s, id, &p->more);
	for (size_t i = 0; r >= 0 && i < p->more.n; i++) {
		struct version_info derived;
		r = store_version(p->s, p->more.v[i].to, &derived);
		if (r > 0 && derived.file != f->id && derived.start <= o->limit)
			o->limit = derived.start - 1;
	}
	return r < 0 ? r : 0;
}

/* The local name of the kth write, of n: the last is the version itself. */
static struct str part_name(struct buf *b, const struct one_version *o, size_t k)
{
	return named(b, o->v.pub.text, k + 1 < o->gens.n ? (unsigned)k + 1 : 0);
}

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
	put_text(p, ATTR_ident, str_n(buf_cstr(b), b->n));
}

static int say_version(struct prov_source *p, const struct one_version *o, const struct file_info *f, size_t k)
{
	static const char *const origins[] = {
	    [ORIGIN_OBSERVED] = "observed", [ORIGIN_UNOBSERVED] = "unobserved", [ORIGIN_EXTERNAL] = "external"};
	const struct version_info *v = &o->v;
	bool last = k + 1 >= o->gens.n;
	begin(p, PROV_entity);
	p->st.id = part_name(&p->subject, o, k);
	p->st.type = f->kind == TERM_kind_regular || f->kind == TERM_kind_absent ? "Version" : "Stream";
	p->st.what = v->id;
	p->st.other = f->id;
	buf_reset(&p->label);
	if (f->path.n)
		buf_printf(&p->label, "%.*s@{%llu}", (int)f->path.n, f->path.p, (unsigned long long)v->n);
	else
		buf_str(&p->label, str_of(term_name(SET_kind, f->kind)));
	p->st.label = buf_view(&p->label);
	put_file(p, f);
	put_count(p, ATTR_versionNumber, v->n);
	if (!last) {
		put_count(p, ATTR_part, k + 1);
		return say(p);
	}
	put_text(p, ATTR_origin, str_of(origins[v->origin]));
	put_ident(p, v, f, &p->object);
	if (v->has_size)
		put_count(p, ATTR_size, v->size);
	put_time(p, ATTR_mtime, v->mtime);
	put_time(p, ATTR_writeBegan, v->start);
	put_time(p, ATTR_writeEnded, v->end);
	return say(p);
}

static int say_specialization(struct prov_source *p, const struct one_version *o, const struct file_info *f, size_t k)
{
	begin(p, PROV_specializationOf);
	p->st.subject = part_name(&p->subject, o, k);
	p->st.object = named(&p->object, f->pub.text, 0);
	p->st.what = o->v.id;
	p->st.other = f->id;
	return say(p);
}

/* From the last to the first: *limit is what the next one has left of time. */
static int say_generation(struct prov_source *p, const struct one_version *o, size_t k, int64_t *limit)
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
	t = t < e->lo ? TIME_NONE : inside(t, &x);
	begin(p, PROV_wasGeneratedBy);
	p->st.subject = part_name(&p->subject, o, k);
	p->st.object = named(&p->object, x.pub.text, 0);
	p->st.what = o->v.id;
	p->st.other = x.id;
	p->st.start = t;
	put_access(p, e);
	return say(p);
}

static int say_derivations(struct prov_source *p, const struct one_version *o, size_t k)
{
	struct version_info from;
	int r = 0;
	if (k) { /* within the chain */
		begin(p, PROV_wasDerivedFrom);
		p->st.subject = part_name(&p->subject, o, k);
		p->st.object = part_name(&p->object, o, k - 1);
		p->st.what = p->st.other = o->v.id;
		put_text(p, ATTR_certainty, str_of("must"));
		put_text(p, ATTR_via, str_of("data"));
		return say(p);
	}
	for (size_t i = 0; r == 0 && i < o->derived.n; i++) {
		const struct edge *e = &o->derived.v[i];
		if ((r = edge_counts(p, e, &from)) <= 0)
			continue;
		begin(p, PROV_wasDerivedFrom);
		p->st.subject = part_name(&p->subject, o, 0);
		p->st.object = named(&p->object, from.pub.text, 0);
		p->st.what = o->v.id;
		p->st.other = from.id;
		put_edge(p, e);
		r = say(p);
	}
	return r;
}

static int one_file(struct prov_source *p, store_id id, unsigned kinds)
{
	struct file_info f;
	struct one_version o = {.in = false};
	struct buf path = {0}, domain = {0};
	int64_t limit = TIME_NEVER;
	bool first = true;
	int r = store_file(p->s, id, &f);
	if (r <= 0)
		return r;
	/* The next store_file takes the strings. */
	buf_str(&path, f.path);
	buf_str(&domain, f.domain);
	f.path = buf_view(&path);
	f.domain = buf_view(&domain);
	r = path.failed || domain.failed ? -ENOMEM : 0;
	for (uint64_t n = f.versions; r == 0 && n > 0; n--) {
		r = load_version(p, &f, n, limit, &o);
		if (r != 0 || !o.in)
			continue;
		if (first && kinds & PROV_BIT(PROV_entity)) {
			begin(p, PROV_entity);
			p->st.id = named(&p->subject, f.pub.text, 0);
			p->st.type = "File";
			p->st.what = id;
			p->st.label = f.path;
			put_file(p, &f);
			r = say(p);
		}
		first = false;
		size_t parts = o.gens.n ? o.gens.n : 1;
		for (size_t k = parts; r == 0 && k-- > 0;) {
			if (kinds & PROV_BIT(PROV_entity))
				r = say_version(p, &o, &f, k);
			if (r == 0 && kinds & PROV_BIT(PROV_specializationOf))
				r = say_specialization(p, &o, &f, k);
			if (r == 0 && o.gens.n && kinds & PROV_BIT(PROV_wasGeneratedBy))
				r = say_generation(p, &o, k, &o.limit);
			if (r == 0 && kinds & PROV_BIT(PROV_wasDerivedFrom))
				r = say_derivations(p, &o, k);
		}
		if (o.derived.n)
			limit = o.gens.n ? o.limit : o.limit - 1;
	}
	edges_release(&o.gens);
	edges_release(&o.derived);
	buf_release(&path);
	buf_release(&domain);
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
	p->say = to;
	p->arg = arg;
	if (kinds & PROV_BIT(PROV_agent))
		r = say_agents(p);
	if (r == 0 && kinds & of_runs)
		r = each(p, &p->runs, "SELECT id FROM run", one_run, kinds);
	if (r == 0 && kinds & of_execs)
		r = each(p, &p->execs, "SELECT id FROM execution", one_exec, kinds);
	if (r == 0 && kinds & of_files)
		r = each(p, &p->files, "SELECT id FROM file", one_file, kinds);
	return r;
}
