/* prov_execs.c - runs, executions and agents as statements. */
#include "prov/prov_int.h"

#include "base/hash.h"

#include <errno.h>

/* ---- runs and executions ---- */

/* What prov_emit gives: -ENOMEM, or what the receiver gives. */
static int emit_association(struct prov_source *p, struct str activity, struct str agent)
{
	prov_begin(p, PROV_wasAssociatedWith);
	p->st.subject = activity;
	p->st.object = agent;
	return prov_emit(p);
}

/* The arguments as the label of the statement, cut after some 200 bytes. */
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

int prov_one_run(struct prov_source *p, store_id id, unsigned kinds)
{
	struct run_info x;
	int r = store_run(p->s, id, &x);
	if (r <= 0)
		return r;
	buf_reset(&p->subject);
	buf_printf(&p->subject, "r%.*s", (int)x.ulid.n, x.ulid.p);
	struct str name = str_n(buf_cstr(&p->subject), p->subject.n);
	/* Whoever is told of the run may ask for another one, which takes x's strings. */
	struct str user = x.user.n ? prov_hashed(&p->third, 'u', x.user, x.host) : str_of("");
	if (kinds & PROV_BIT(PROV_activity)) {
		if ((r = prov_load_notes(p, NOTES_RUN, id)) < 0)
			return r;
		prov_begin(p, PROV_activity);
		p->st.id = name;
		p->st.type = "Run";
		p->st.what = id;
		p->st.start = prov_known(x.start);
		p->st.end = prov_known(x.end);
		run_label(p, &x.argv);
		if (x.outer.n) {
			buf_reset(&p->object);
			buf_printf(&p->object, "r%.*s", (int)x.outer.n, x.outer.p);
			prov_put_text(p, ATTR_outerRun, str_n(buf_cstr(&p->object), p->object.n));
		}
		prov_put_list(p, ATTR_argv, &x.argv);
		prov_put_text(p, ATTR_cwd, x.cwd);
		prov_put_text(p, ATTR_user, x.user);
		prov_put_text(p, ATTR_group, x.group);
		prov_put_text(p, ATTR_host, x.host);
		prov_put_list(p, ATTR_hostInfo, &x.hostinfo);
		prov_put_list(p, ATTR_label, &x.labels);
		prov_put_text(p, ATTR_mode, x.mode);
		if (x.ending == TERM_ending_exited)
			prov_put_count(p, ATTR_exitStatus, x.code);
		if (x.ending == TERM_ending_signaled)
			prov_put_count(p, ATTR_exitSignal, x.code);
		prov_put_notes(p, 0);
		if ((r = prov_put_reported(p, id)) < 0 || (r = prov_emit(p)) != 0)
			return r;
	}
	r = 0;
	if (kinds & PROV_BIT(PROV_wasAssociatedWith) && user.n)
		r = emit_association(p, name, user);
	return r;
}

/* *ret in b; empty: no file. -errno. */
static int file_name(struct prov_source *p, store_id file, struct buf *b, struct str *ret)
{
	struct file_info f;
	*ret = str_of("");
	int r = file ? store_file(p->s, file, &f) : 0;
	if (r > 0)
		*ret = prov_named(b, f.pub.text, 0);
	return r < 0 ? r : 0;
}

/* The program that runs, as an agent: the script, else the executable. *ret in p->program; empty: not known. -errno. */
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

/* words must live until the statement is emitted. Nothing if there are no gaps. */
static void set_completeness(struct prov_source *p, uint64_t gaps, struct str words[64])
{
	size_t n = 0;
	for (unsigned i = 0; i < 64; i++)
		if (gaps >> i & 1)
			words[n++] = str_of(term_name(SET_gap, i));
	if (n)
		prov_value_of(p, ATTR_completeness)->list = (struct strlist){.items = words, .count = n};
}

/* *ret is valid until another run is asked for; empty: no run. -errno. */
static int load_run_name(struct prov_source *p, store_id id, struct str *ret)
{
	struct run_info run;
	if (id != p->named_run) {
		int r = id ? store_run_told(p->s, id, &run) : 0;
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

/* Tells of an execution. -errno, or the result of emitting. */
static int emit_execution(struct prov_source *p, const struct exec_info *x, struct str name)
{
	struct str run;
	struct str program, script, gaps[64];
	prov_begin(p, PROV_activity);
	p->st.id = name;
	p->st.type = "Execution";
	p->st.what = x->id;
	p->st.other = x->run;
	p->st.start = prov_known(x->start);
	p->st.end = prov_known(x->end);
	run_label(p, &x->argv);
	int r = load_run_name(p, x->run, &run);
	if (r == 0)
		prov_put_text(p, ATTR_run, run);
	prov_put_list(p, ATTR_argv, &x->argv);
	prov_put_text(p, ATTR_cwd, x->cwd);
	prov_put_list(p, ATTR_environment, &x->env);
	prov_put_text(p, ATTR_host, x->host);
	prov_put_text(p, ATTR_user, x->user);
	prov_put_text(p, ATTR_group, x->group);
	if (x->n) {
		prov_put_count(p, ATTR_uid, x->uid);
		prov_put_count(p, ATTR_gid, x->gid);
	}
	prov_put_text(p, ATTR_boot, x->boot);
	prov_put_count(p, ATTR_pidNamespace, x->pidns);
	prov_put_count(p, ATTR_pid, x->pid);
	if (x->started >= 0)
		prov_put_count(p, ATTR_processStarted, (uint64_t)x->started);
	prov_put_count(p, ATTR_execution, x->n);
	r = r < 0 ? r : file_name(p, x->exe, &p->object, &program);
	if (r == 0)
		prov_put_text(p, ATTR_program, program);
	r = r < 0 ? r : file_name(p, x->script, &p->program, &script);
	if (r == 0)
		prov_put_text(p, ATTR_script, script);
	prov_put_text(p, ATTR_job, x->job);
	prov_put_text(p, ATTR_step, x->step);
	prov_put_text(p, ATTR_rank, x->rank);
	if (x->ending == TERM_ending_exited)
		prov_put_count(p, ATTR_exitStatus, x->code);
	if (x->ending == TERM_ending_signaled)
		prov_put_count(p, ATTR_exitSignal, x->code);
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
			prov_put_count(p, figures[i].attr, figures[i].value);
	set_completeness(p, x->gaps, gaps);
	return r < 0 ? r : prov_emit(p);
}

/* Only of versions that are exported. 0, -errno, or what the receiver gives. */
static int emit_used(struct prov_source *p, const struct exec_info *x, struct str name)
{
	struct version_info v;
	int r = store_uses(p->s, x->id, &p->edges);
	for (size_t i = 0; r == 0 && i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		if ((r = prov_edge_counts(p, e, &v)) <= 0)
			continue;
		prov_begin(p, PROV_used);
		p->st.subject = name;
		p->st.object = prov_named(&p->object, v.pub.text, 0);
		p->st.what = x->id;
		p->st.other = v.id;
		p->st.start = prov_inside(e->hi, x);
		prov_put_access(p, e);
		r = prov_emit(p);
	}
	return r;
}

/* What it wrote, by whole versions: for formats that want an execution's outputs with it. 0, -errno, or what the
 * receiver gives. */
static int emit_outputs(struct prov_source *p, const struct exec_info *x, struct str name)
{
	struct version_info v;
	int r = store_outputs(p->s, x->id, &p->edges);
	for (size_t i = 0; r == 0 && i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		if ((r = prov_edge_counts(p, e, &v)) <= 0)
			continue;
		prov_begin(p, PROV_wasGeneratedBy);
		p->st.subject = prov_named(&p->object, v.pub.text, 0);
		p->st.object = name;
		p->st.what = v.id;
		p->st.other = x->id;
		prov_put_edge(p, e);
		r = prov_emit(p);
	}
	return r;
}

/* Forks always; others as the options ask. 0, -errno, or what the receiver gives. */
static int emit_informed(struct prov_source *p, store_id id, struct str name)
{
	struct exec_info other;
	int r = store_informed(p->s, id, &p->edges);
	for (size_t i = 0; r == 0 && i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		/* The tree of processes is told whole; the rest as asked for. */
		if (p->o.lineage.certain ? !e->sure : e->via != TERM_via_fork && !prov_follows(p, e))
			continue;
		if (!prov_has_exec(p, e->to) || (r = store_exec(p->s, e->to, &other)) <= 0)
			continue;
		prov_begin(p, PROV_wasInformedBy);
		p->st.subject = name;
		p->st.object = prov_named(&p->object, other.pub.text, 0);
		p->st.what = id;
		p->st.other = other.id;
		prov_put_edge(p, e);
		r = prov_emit(p);
	}
	return r;
}

/* Whose execution it was: a user's, by a program. 0, -errno, or what the receiver gives. */
static int emit_responsible(struct prov_source *p, const struct exec_info *x, struct str name, unsigned kinds)
{
	/* Another store_exec would take x's strings: they are used before. */
	struct str user = x->user.n ? prov_hashed(&p->third, 'u', x->user, x->host) : str_of(""), program;
	int r = program_name(p, x, &program);
	if (r == 0 && user.n && kinds & PROV_BIT(PROV_wasAssociatedWith))
		r = emit_association(p, name, user);
	if (r == 0 && program.n && kinds & PROV_BIT(PROV_wasAssociatedWith))
		r = emit_association(p, name, program);
	if (r == 0 && program.n && user.n && kinds & PROV_BIT(PROV_actedOnBehalfOf)) {
		prov_begin(p, PROV_actedOnBehalfOf);
		p->st.subject = program;
		p->st.object = user;
		p->st.third = name;
		r = prov_emit(p);
	}
	return r;
}

int prov_one_exec(struct prov_source *p, store_id id, unsigned kinds)
{
	struct exec_info x;
	int r = store_exec(p->s, id, &x);
	if (r <= 0)
		return r;
	struct str name = prov_named(&p->subject, x.pub.text, 0);
	r = 0;
	if (kinds & PROV_BIT(PROV_activity))
		r = emit_execution(p, &x, name);
	if (r == 0 && kinds & (PROV_BIT(PROV_wasAssociatedWith) | PROV_BIT(PROV_actedOnBehalfOf)))
		r = emit_responsible(p, &x, name, kinds);
	if (r == 0 && kinds & PROV_BIT(PROV_used))
		r = emit_used(p, &x, name);
	if (r == 0 && kinds & PROV_OUTPUTS)
		r = emit_outputs(p, &x, name);
	if (r == 0 && kinds & PROV_BIT(PROV_wasInformedBy))
		r = emit_informed(p, id, name);
	return r;
}

/* ---- agents: users and programs, each once ---- */

/* Notes that something was told. 1: it is new, 0, -ENOMEM. */
static int first_time(struct map *m, uint64_t key)
{
	if (map_get(m, key) != VEC_NONE)
		return 0;
	return map_set(m, key, 1) ? 1 : -ENOMEM;
}

int prov_emit_user(struct prov_source *p, struct str user, struct str host)
{
	int r = user.n ? first_time(&p->users, hash_more(hash_str(user), host.p, host.n)) : 0;
	if (r <= 0)
		return r;
	prov_begin(p, PROV_agent);
	p->st.id = prov_hashed(&p->subject, 'u', user, host);
	p->st.type = "User";
	buf_reset(&p->label);
	buf_printf(&p->label, "%.*s@%.*s", (int)user.n, user.p, (int)host.n, host.p);
	p->st.label = buf_view(&p->label);
	prov_put_text(p, ATTR_user, user);
	prov_put_text(p, ATTR_host, host);
	return prov_emit(p);
}

/* Users and programs of an execution, each once in the document. 0, or as prov_one_exec. */
static int agents_of(struct prov_source *p, store_id id, unsigned kinds)
{
	struct exec_info x;
	struct file_info f;
	(void)kinds;
	int r = store_exec(p->s, id, &x);
	if (r <= 0)
		return r;
	r = prov_emit_user(p, x.user, x.host);
	/* The program that acts, and the interpreter of a script: neither need be an entity of the document. */
	const store_id files[] = {x.script, x.exe};
	for (unsigned i = 0; r == 0 && i < 2; i++) {
		r = files[i] ? first_time(&p->programs, files[i]) : 0;
		if (r <= 0 || (r = store_file(p->s, files[i], &f)) <= 0)
			continue;
		prov_begin(p, PROV_agent);
		buf_reset(&p->subject);
		buf_printf(&p->subject, "p%s", f.pub.text + 1);
		p->st.id = str_n(buf_cstr(&p->subject), p->subject.n);
		p->st.type = "Program";
		p->st.what = files[i];
		p->st.label = f.path;
		prov_put_file(p, &f);
		r = prov_emit(p);
	}
	return r;
}

int prov_emit_agents(struct prov_source *p)
{
	map_clear(&p->users);
	map_clear(&p->programs);
	return prov_each(p, &p->execs, "SELECT id FROM execution", agents_of, 0);
}
