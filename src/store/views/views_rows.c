/* views_rows.c - the lines of the documented tables, unit by unit. */
#include "store/views/views_int.h"

#include "store/views/views_line.h"
#include "summary/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Without a code where the ending is not known. */
static void line_set_ending(struct cursor *c, struct line *l, unsigned ending, unsigned code, uint64_t e, uint64_t n)
{
	line_set_cstr(c, l, ending, term_name(SET_ending, e));
	if (e != TERM_ending_unknown)
		line_set_int(l, code, (int64_t)n);
}

void views_runs(struct cursor *c)
{
	struct run_info r;
	struct line *l = lines_append(c);
	if (!l)
		return;
	line_set_id(l, C_run_id, c->unit);
	const uint64_t counts = 1u << C_run_executions | 1u << C_run_inputs | 1u << C_run_outputs;
	if (!(c->wanted & ~(uint64_t)1))
		return;
	int rc = store_run_info(c->s, c->unit, c->wanted & counts, &r);
	if (rc <= 0) {
		c->failed |= rc < 0;
		lines_drop_last(c);
		return;
	}
	if (r.start == TIME_NEVER) { /* a note or a summary tells of it, and no log */
		lines_drop_last(c);
		return;
	}
	line_set_text(c, l, C_run_ulid, r.ulid);
	if (r.outer.n)
		line_set_text(c, l, C_run_outer_run, r.outer);
	line_set_list(c, l, C_run_argv, &r.argv);
	line_set_text(c, l, C_run_cwd, r.cwd);
	line_set_text(c, l, C_run_user, r.user);
	line_set_text(c, l, C_run_user_group, r.group);
	line_set_text(c, l, C_run_host, r.host);
	line_set_text(c, l, C_run_mode, r.mode);
	line_set_time(l, C_run_began, r.start);
	line_set_time(l, C_run_ended, r.end);
	line_set_ending(c, l, C_run_ending, C_run_code, r.ending, r.code);
	line_set_int(l, C_run_executions, (int64_t)r.executions);
	line_set_int(l, C_run_inputs, (int64_t)r.inputs);
	line_set_int(l, C_run_outputs, (int64_t)r.outputs);
	line_set_int(l, C_run_recorder_cpu, (int64_t)r.recorder_cpu);
	line_set_int(l, C_run_traps, (int64_t)r.traps);
	line_set_list(c, l, C_run_labels, &r.labels);
}

/* Fills in the row of an execution. Nothing if it is not in the store. */
static void fill_execution(struct cursor *c, struct line *l, uint64_t id)
{
	struct exec_info x;
	if (store_exec(c->s, id, &x) != 1)
		return;
	line_set_cstr(c, l, C_execution_pub, x.pub.text);
	line_set_id(l, C_execution_run, x.run);
	line_set_id(l, C_execution_parent, x.parent);
	line_set_int(l, C_execution_pid, (int64_t)x.pid);
	line_set_int(l, C_execution_n, (int64_t)x.n);
	line_set_id(l, C_execution_exe, x.exe);
	line_set_id(l, C_execution_script, x.script);
	line_set_list(c, l, C_execution_argv, &x.argv);
	line_set_text(c, l, C_execution_cwd, x.cwd);
	line_set_text(c, l, C_execution_host, x.host);
	line_set_text(c, l, C_execution_user, x.user);
	line_set_text(c, l, C_execution_user_group, x.group);
	const struct str roles[] = {x.job, x.step, x.rank};
	for (unsigned i = 0; i < 3; i++)
		if (roles[i].n)
			line_set_text(c, l, C_execution_job + i, roles[i]);
	line_set_time(l, C_execution_began, x.start);
	line_set_time(l, C_execution_ended, x.end);
	line_set_ending(c, l, C_execution_ending, C_execution_code, x.ending, x.code);
	const uint64_t figures[] = {x.cpu,   x.user_time, x.system_time, x.rss,
	                            x.rchar, x.wchar_,    x.read_bytes,  x.write_bytes};
	for (unsigned i = 0; i < 8; i++)
		if (x.known >> (i + 1) & 1)
			line_set_int(l, C_execution_cpu + i, (int64_t)figures[i]);
}

/* The executions of the process at hand, into c->reader->ids. */
static bool process_execs(struct cursor *c)
{
	struct reader *r = c->reader;
	r->ids.n = 0;
	int rc = read_process(c->s, c->unit, &r->a);
	for (size_t i = 0; rc == 1 && i < r->a.execs.n; i++)
		if (ids_add(&r->ids, exec_id(c->unit, r->a.execs.v[i].n)) < 0)
			rc = -ENOMEM;
	c->failed |= rc < 0;
	return rc == 1;
}

void views_executions(struct cursor *c)
{
	if (!process_execs(c))
		return;
	for (size_t i = 0; i < c->reader->ids.n; i++) {
		struct line *l = lines_append(c);
		if (!l)
			return;
		line_set_id(l, C_execution_id, c->reader->ids.v[i]);
		if (c->wanted & ~(uint64_t)1)
			fill_execution(c, l, c->reader->ids.v[i]);
	}
}

void views_files(struct cursor *c)
{
	struct file_info f;
	int rc = store_file(c->s, c->unit, &f);
	struct line *l = rc == 1 ? lines_append(c) : NULL;
	c->failed |= rc < 0;
	if (!l)
		return;
	line_set_id(l, C_file_id, c->unit);
	line_set_cstr(c, l, C_file_pub, f.pub.text);
	line_set_cstr(c, l, C_file_kind, term_name(SET_kind, f.kind));
	if (f.path.n)
		line_set_text(c, l, C_file_path, f.path);
	line_set_int(l, C_file_named, f.named);
	line_set_text(c, l, C_file_domain, f.domain);
	line_set_int(l, C_file_ino, (int64_t)f.ino);
	line_set_int(l, C_file_gen, (int64_t)f.gen);
	line_set_int(l, C_file_versions, (int64_t)f.versions);
	line_set_int(l, C_file_network, f.flags & 1);
}

void views_versions(struct cursor *c)
{
	static const char *const origins[] = {"observed", "unobserved", "external"};
	struct reader *r = c->reader;
	int rc = read_stored_file(c->s, c->unit, &r->file);
	uint64_t n = rc == 1 ? r->file.nversion : 0;
	c->failed |= rc < 0;
	for (uint64_t k = 1; k <= n; k++) {
		struct version_info v;
		struct line *l = lines_append(c);
		if (!l)
			return;
		line_set_id(l, C_version_id, version_id(c->unit, k));
		if (!(c->wanted & ~(uint64_t)1))
			continue;
		if (store_version(c->s, version_id(c->unit, k), &v) != 1) {
			c->failed = true;
			return;
		}
		line_set_cstr(c, l, C_version_pub, v.pub.text);
		line_set_id(l, C_version_file, v.file);
		line_set_int(l, C_version_n, (int64_t)v.n);
		line_set_cstr(c, l, C_version_origin, origins[v.origin]);
		if (v.has_size)
			line_set_int(l, C_version_size, (int64_t)v.size);
		line_set_time(l, C_version_mtime, v.mtime);
		line_set_time(l, C_version_began, v.start);
		line_set_time(l, C_version_ended, v.end);
	}
}

/* An access of the process c->unit; sec: the execution and session that it is of. */
static void fill_access(struct cursor *c, struct line *l, const struct pacc_section *sec, const struct pacc *a)
{
	static const struct {
		unsigned bit;
		const char *name;
	} modes[] = {{ACCESS_READ, "read"},   {ACCESS_WRITE, "write"},    {ACCESS_CREATE, "create"},
	             {ACCESS_TRUNC, "trunc"}, {ACCESS_APPEND, "append"},  {ACCESS_MAPPED, "mapped"},
	             {ACCESS_STATE, "state"}, {ACCESS_PROGRAM, "program"}};
	char text[80];
	const struct ssession *session = store_session(c->s, sec->session);
	line_set_id(l, C_access_execution, exec_id(c->unit, sec->n));
	snprintf(text, sizeof(text), "%016" PRIx64, session ? session->number : 0);
	line_set_cstr(c, l, C_access_session, text);
	line_set_int(l, C_access_seq, (int64_t)a->seq);
	line_set_id(l, C_access_file, a->self);
	size_t n = 0;
	unsigned mode = layout_get(a->bits, LAYOUT_MODE, 8);
	text[0] = '\0';
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (mode & modes[i].bit)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", modes[i].name);
	line_set_cstr(c, l, C_access_mode, text);
	line_set_cstr(c, l, C_access_api, term_name(SET_api, layout_get(a->bits, LAYOUT_API, 4)));
	line_set_cstr(c, l, C_access_via, term_name(SET_via, layout_get(a->bits, LAYOUT_VIA, 3)));
	line_set_int(l, C_access_sure, layout_get(a->bits, LAYOUT_SURE, 1));
	if (mode & ACCESS_WRITE)
		line_set_cstr(c, l, C_access_evidence, term_name(SET_evidence, layout_get(a->bits, LAYOUT_EVIDENCE, 2)));
	line_set_time(l, C_access_began, a->start);
	line_set_time(l, C_access_ended, a->end);
	line_set_int(l, C_access_count, (int64_t)a->count);
	if (layout_get(a->bits, LAYOUT_READ_BYTES, 1))
		line_set_int(l, C_access_bytes_read, (int64_t)a->bytes_read);
	if (layout_get(a->bits, LAYOUT_WRITTEN_BYTES, 1))
		line_set_int(l, C_access_bytes_written, (int64_t)a->bytes_written);
	if (a->gen)
		line_set_id(l, C_access_generated, version_id(a->file, a->gen));
	line_set_int(l, C_access_uses, a->nuse);
	line_set_int(l, C_access_part, a->part);
	if (a->nuse == 1)
		line_set_id(l, C_access_used, version_id(a->file, a->use));
}

/* A line for each sort of calls of an access. */
static void append_io_lines(struct cursor *c, const struct pacc_section *sec, const struct pacc *a)
{
	char text[24];
	c->ios.n = 0;
	c->failed |= read_calls(c->s, c->unit, sec, a, &c->ios) < 0;
	for (size_t i = 0; i < c->ios.n; i++) {
		const struct io_info *io = &c->ios.v[i];
		struct line *l = lines_append(c);
		if (!l)
			return;
		line_set_id(l, C_io_execution, io->exec);
		snprintf(text, sizeof(text), "%016" PRIx64, io->session);
		line_set_cstr(c, l, C_io_session, text);
		line_set_int(l, C_io_seq, (int64_t)io->seq);
		line_set_id(l, C_io_file, io->file);
		line_set_id(l, C_io_generated, io->generated);
		line_set_id(l, C_io_used, io->used);
		line_set_cstr(c, l, C_io_api, term_name(SET_ioapi, io->api));
		line_set_cstr(c, l, C_io_direction, io->write ? "write" : "read");
		line_set_int(l, C_io_calls, (int64_t)io->calls);
		line_set_int(l, C_io_failed, (int64_t)io->failed);
		line_set_int(l, C_io_bytes, (int64_t)io->bytes);
		line_set_int(l, C_io_largest, (int64_t)io->largest);
		if (io->first != TIME_NONE || io->spent)
			line_set_int(l, C_io_spent, (int64_t)io->spent);
		line_set_time(l, C_io_first, io->first);
		line_set_time(l, C_io_last, io->last);
		for (unsigned k = 0; k < IO_SIZES; k++)
			line_set_int(l, C_io_size0 + k, (int64_t)io->size[k]);
	}
}

/* Of the views access and io. */
void views_accesses(struct cursor *c)
{
	struct str row[PROCESS_PARTS];
	struct buf copy = {0};
	int rc = read_process_row(c->s, c->unit, row);
	if (rc == 1)
		buf_str(&copy, row[PROCESS_ACC]);
	struct cur cur = cur_of(buf_view(&copy));
	struct pacc_section sec;
	while (rc == 1 && (rc = pacc_section_next(&cur, &sec)) == 1) {
		struct pacc_reader p;
		struct pacc a;
		c->reader->uses.n = 0;
		pacc_begin(&p, c->s, &sec, &c->reader->uses);
		while ((rc = pacc_next(&p, &a)) == 1) {
			if (c->view == VIEW_io) {
				append_io_lines(c, &sec, &a);
				continue;
			}
			struct line *l = lines_append(c);
			if (!l)
				break;
			fill_access(c, l, &sec, &a);
		}
		rc = rc < 0 ? rc : 1;
	}
	c->failed |= rc < 0 || copy.failed;
	buf_release(&copy);
}

/* A line for each edge in c->edges. accessed: it has figures of accesses. */
static void append_edge_lines(struct cursor *c, uint64_t from, const char *type, bool accessed)
{
	for (size_t i = 0; i < c->edges.n; i++) {
		const struct edge *e = &c->edges.v[i];
		struct line *l = lines_append(c);
		if (!l)
			return;
		line_set_id(l, C_edge_from_id, from);
		line_set_cstr(c, l, C_edge_type, type);
		line_set_id(l, C_edge_to_id, e->to);
		line_set_cstr(c, l, C_edge_certainty, e->sure ? "must" : "may");
		line_set_cstr(c, l, C_edge_via, term_name(SET_via, e->via));
		line_set_time(l, C_edge_lo, e->lo);
		line_set_time(l, C_edge_hi, e->hi);
		if (strcmp(type, "used") == 0)
			line_set_cstr(c, l, C_edge_evidence, term_name(SET_reading, e->reading));
		if (accessed) {
			line_set_int(l, C_edge_count, (int64_t)e->count);
			line_set_cstr(c, l, C_edge_api, term_name(SET_api, e->api));
			line_set_int(l, C_edge_part, e->part);
		}
		if (e->has_bytes)
			line_set_int(l, C_edge_bytes, (int64_t)e->bytes);
	}
}

/* The edges that lead to a thing: the id may be a version's or an execution's. */
static void edges_to(struct cursor *c)
{
	static const struct {
		int (*ask)(struct store *s, store_id id, struct edges *e);
		const char *type;
		bool accessed;
	} ways[] = {{store_readers, "used", true},
	            {store_derivatives, "wasDerivedFrom", false},
	            {store_outputs, "wasGeneratedBy", true},
	            {store_informs, "wasInformedBy", false}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		size_t at = c->n_lines;
		c->failed |= ways[i].ask(c->s, c->to, &c->edges) < 0;
		append_edge_lines(c, c->to, ways[i].type, ways[i].accessed);
		for (; at < c->n_lines; at++) { /* told from the other end */
			struct line *l = line_at(c, at);
			struct cell from = l->v[C_edge_from_id];
			l->v[C_edge_from_id] = l->v[C_edge_to_id];
			l->v[C_edge_to_id] = from;
		}
	}
}

/* First those of executions, by process, then those of versions, by file. */
void views_edges(struct cursor *c)
{
	c->edges.parts = true;
	if (c->to) {
		edges_to(c);
		return;
	}
	if (c->phase == 0) {
		struct ids execs = {0};
		if (process_execs(c))
			for (size_t i = 0; i < c->reader->ids.n; i++)
				c->failed |= ids_add(&execs, c->reader->ids.v[i]) < 0;
		for (size_t i = 0; i < execs.n && !c->failed; i++) {
			c->failed |= store_uses(c->s, execs.v[i], &c->edges) < 0;
			append_edge_lines(c, execs.v[i], "used", true);
			c->failed |= store_informed(c->s, execs.v[i], &c->edges) < 0;
			append_edge_lines(c, execs.v[i], "wasInformedBy", false);
		}
		free(execs.v);
		return;
	}
	int rc = read_stored_file(c->s, c->unit, &c->reader->file);
	uint64_t n = rc == 1 ? c->reader->file.nversion : 0;
	for (uint64_t k = 1; k <= n && !c->failed; k++) {
		uint64_t id = version_id(c->unit, k);
		c->failed |= store_gens(c->s, id, &c->edges) < 0;
		append_edge_lines(c, id, "wasGeneratedBy", true);
		c->failed |= store_derived(c->s, id, &c->edges) < 0;
		append_edge_lines(c, id, "wasDerivedFrom", false);
	}
}

/* Appends a line; without memory none is appended. */
static void add_attribute(struct cursor *c, uint64_t id, const char *kind, const char *source, struct str name,
                          struct str value)
{
	struct line *l = lines_append(c);
	if (!l)
		return;
	line_set_id(l, C_attribute_id, id);
	line_set_cstr(c, l, C_attribute_kind, kind);
	line_set_cstr(c, l, C_attribute_source, source);
	line_set_text(c, l, C_attribute_name, name);
	line_set_text(c, l, C_attribute_value, value);
}

/* name=value strings. */
static void add_pairs(struct cursor *c, uint64_t id, const char *kind, const char *source, const struct strlist *list)
{
	struct str s;
	for (size_t pos = 0; strlist_next(list, &pos, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t n = eq ? (size_t)(eq - s.p) : s.n;
		add_attribute(c, id, kind, source, str_n(s.p, n), eq ? str_n(eq + 1, s.n - n - 1) : str_of(""));
	}
}

/* First those of runs, then those of executions. */
void views_attributes(struct cursor *c)
{
	if (c->phase == 0) {
		struct run_info r;
		int rc = store_run_info(c->s, c->unit, false, &r);
		c->failed |= rc < 0;
		if (rc == 1) {
			add_pairs(c, c->unit, "run", "label", &r.labels);
			add_pairs(c, c->unit, "run", "host", &r.hostinfo);
		}
		return;
	}
	struct ids execs = {0};
	if (process_execs(c))
		for (size_t i = 0; i < c->reader->ids.n; i++)
			c->failed |= ids_add(&execs, c->reader->ids.v[i]) < 0;
	for (size_t i = 0; i < execs.n; i++) {
		struct exec_info x;
		if (store_exec(c->s, execs.v[i], &x) == 1)
			add_pairs(c, execs.v[i], "execution", "environment", &x.env);
	}
	free(execs.v);
}

struct naming {
	struct cursor *c;
	struct buf path;
};

/* 0, -ENOMEM. A row of the view. arg: a struct naming. */
static int add_name(void *arg, const struct pname *n)
{
	struct naming *w = arg;
	struct line *l = lines_append(w->c);
	if (!l)
		return -ENOMEM;
	line_set_text(w->c, l, C_name_path, buf_view(&w->path));
	line_set_id(l, C_name_file, n->file);
	line_set_text(w->c, l, C_name_host, store_interned(w->c->s, n->host));
	line_set_time(l, C_name_began, n->from);
	line_set_time(l, C_name_ended, n->to);
	return 0;
}

/* A line for each name that the path was of. */
void views_names(struct cursor *c)
{
	struct naming w = {.c = c};
	store_path(c->s, c->unit, &w.path);
	c->failed |= read_names(c->s, c->unit, add_name, &w, NULL) < 0;
	buf_release(&w.path);
}

/* exec or run 0: not of one. Without a count the column is null. */
static void add_gap(struct cursor *c, uint64_t exec, uint64_t run, const struct pproc_gap *g)
{
	struct line *l = lines_append(c);
	if (!l)
		return;
	line_set_id(l, C_gap_execution, exec);
	line_set_id(l, C_gap_run, run);
	line_set_cstr(c, l, C_gap_reason, term_name(SET_gap, g->reason));
	if (g->count)
		line_set_int(l, C_gap_count, (int64_t)g->count);
	line_set_time(l, C_gap_began, g->from);
	line_set_time(l, C_gap_ended, g->time);
	line_set_text(c, l, C_gap_text, store_interned(c->s, g->text));
}

/* A visitor of gaps without an execution. Always 0. */
static int session_gap(void *arg, uint64_t run, const struct pproc_gap *g)
{
	add_gap(arg, 0, run, g);
	return 0;
}

/* First those of executions, then those of whole sessions. */
void views_gaps(struct cursor *c)
{
	if (c->phase == 1) {
		const struct ssession *session = store_session(c->s, c->unit);
		c->failed |= read_session_gaps(c->s, c->unit, session_gap, c) < 0;
		if (session && session->damaged)
			add_gap(c, 0, session->run,
			        &(struct pproc_gap){.reason = TERM_gap_damaged, .from = TIME_NONE, .time = TIME_NONE});
		else if (session && session->unended)
			add_gap(c, 0, session->run,
			        &(struct pproc_gap){.reason = TERM_gap_unended, .from = TIME_NONE, .time = TIME_NONE});
		return;
	}
	struct process_view *v = &c->reader->a;
	int rc = read_process(c->s, c->unit, v);
	c->failed |= rc < 0;
	for (size_t i = 0; rc == 1 && i < v->gaps.n; i++) {
		const struct view_exec *e = view_exec(v, (uint32_t)v->gaps.v[i].fact.n);
		add_gap(c, exec_id(c->unit, v->gaps.v[i].fact.n), e ? view_run(v, e) : 0, &v->gaps.v[i].fact);
	}
}

/* Of several summaries of one run the archive counts one (src/archive/history.c), and so do these views: what its own
 * recorder said last, else what was told of it first. */
struct rival {
	const struct summary_info *m;
	bool beaten;
};

/* Made by stemma itself for a whole run, and not read from elsewhere. */
static bool is_own_summary(const struct summary_info *m)
{
	return m->ulid.n && !m->source.n && !m->set.n;
}

/* By time, then by session and number. */
static bool is_before(const struct summary_info *a, const struct summary_info *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->session != b->session ? a->session < b->session : a->seq < b->seq;
}

/* A callback: r->beaten is set where the other summary of the run counts in its place. Always 0. */
static int meet_rival(void *arg, const struct summary_info *other)
{
	struct rival *r = arg;
	if (other->id == r->m->id)
		return 0;
	if (is_own_summary(other) != is_own_summary(r->m))
		r->beaten |= is_own_summary(other);
	else
		r->beaten |= is_own_summary(other) ? is_before(r->m, other) : is_before(other, r->m);
	return 0;
}

/* By another summary of the same run, which is preferred. c->failed: not known. */
static bool is_beaten(struct cursor *c, const struct summary_info *m)
{
	struct rival r = {.m = m};
	if (m->run)
		c->failed |= store_summaries(c->s, m->run, meet_rival, &r) < 0;
	return r.beaten;
}

/* A line for each of name=value; `name` is the column of the name, the next one that of the value. */
static void put_pairs(struct cursor *c, const struct reported_event *t, const struct strlist *l, struct str ulid,
                      unsigned name, unsigned value,
                      void (*more)(struct cursor *c, struct line *l, const struct reported_event *t, bool first),
                      bool first)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t n = eq ? (size_t)(eq - s.p) : s.n;
		struct line *line = lines_append(c);
		if (!line)
			return;
		line_set_id(line, 0, t->run);
		line_set_text(c, line, 1, ulid);
		line_set_text(c, line, name, str_n(s.p, n));
		line_set_text(c, line, value, eq ? str_n(eq + 1, s.n - n - 1) : str_of(""));
		more(c, line, t, first);
	}
}

/* Fills in columns of a property of the machine. first: it must not vary. */
static void property_more(struct cursor *c, struct line *l, const struct reported_event *t, bool first)
{
	line_set_cstr(c, l, C_property_moment, term_name(SET_moment, t->ev.machine.moment));
	line_set_cstr(c, l, C_property_type, first ? "invariant" : "variant");
}
/* What a parameter has beyond name and value. */
static void parameter_more(struct cursor *c, struct line *l, const struct reported_event *t, bool first)
{
	(void)first;
	line_set_cstr(c, l, C_property_moment, term_name(SET_moment, t->ev.machine.moment));
	line_set_cstr(c, l, C_property_type, "parameter");
}
/* What a result has beyond name and value. */
static void result_more(struct cursor *c, struct line *l, const struct reported_event *t, bool first)
{
	(void)first;
	line_set_text(c, l, C_result_source, t->ev.result.source);
}

/* A line for each property and parameter of an event of the machine. */
void views_properties(struct cursor *c)
{
	struct reported_list told;
	c->failed |= read_reported(c->s, c->unit, &told) < 0;
	if (told.n && told.v[0].ev.kind == EVENT_machine) {
		const struct event_machine *m = &told.v[0].ev.machine;
		put_pairs(c, told.v, &m->invariant, m->run, C_property_name, C_property_value, property_more, true);
		put_pairs(c, told.v, &m->variant, m->run, C_property_name, C_property_value, property_more, false);
		put_pairs(c, told.v, &m->parameter, m->run, C_property_name, C_property_value, parameter_more, false);
	}
	reported_list_release(&told);
}

/* A line for each result of an event, and for each that is missing. */
void views_results(struct cursor *c)
{
	struct reported_list told;
	c->failed |= read_reported(c->s, c->unit, &told) < 0;
	if (told.n && told.v[0].ev.kind == EVENT_result) {
		const struct event_result *r = &told.v[0].ev.result;
		put_pairs(c, told.v, &r->value, r->run, C_result_name, C_result_value, result_more, false);
		put_pairs(c, told.v, &r->missing, r->run, C_result_name, C_result_missing, result_more, false);
	}
	reported_list_release(&told);
}

/* A callback: the row of a summary, if no other counts in its place. */
static int summary_line(void *arg, const struct summary_info *m)
{
	static const char *const types[] = {NULL, "normal", "signal", "limit"};
	struct cursor *c = arg;
	struct line *l = is_beaten(c, m) ? NULL : lines_append(c);
	char session[20];
	if (!l)
		return c->failed ? -ENOMEM : 0;
	snprintf(session, sizeof(session), "%016" PRIx64, m->session);
	line_set_id(l, C_summary_id, m->id);
	line_set_id(l, C_summary_run, m->run);
	line_set_text_if(c, l, C_summary_ulid, m->ulid);
	line_set_cstr(c, l, C_summary_session, session);
	line_set_int(l, C_summary_seq, (int64_t)m->seq);
	line_set_text_if(c, l, C_summary_source, m->source);
	line_set_text_if(c, l, C_summary_submitted, m->set);
	line_set_text_if(c, l, C_summary_user, m->user);
	line_set_text_if(c, l, C_summary_cwd, m->cwd);
	if (m->argv.count)
		line_set_list(c, l, C_summary_argv, &m->argv);
	line_set_list(c, l, C_summary_host, &m->host);
	line_set_list(c, l, C_summary_labels, &m->labels);
	if (m->exit_type && m->exit_type < sizeof(types) / sizeof(*types))
		line_set_cstr(c, l, C_summary_exit_type, types[m->exit_type]);
	if (m->status >= 0)
		line_set_int(l, C_summary_exit_status, m->status);
	if (m->signal >= 0)
		line_set_int(l, C_summary_signal, m->signal);
	line_set_int(l, C_summary_oom, m->oom);
	line_set_list(c, l, C_summary_exceeded, &m->beyond);
	for (unsigned i = 0; i < FIGURES; i++)
		if (m->figure[i].known)
			line_set_int(l, C_summary_exceeded + 1 + i, m->figure[i].value);
	return 0;
}

/* The line of one summary. */
void views_summaries(struct cursor *c)
{
	c->failed |= read_summary(c->s, c->unit, summary_line, c) < 0;
}

/* A callback: a row for each figure that it has, or says why not. */
static int figure_lines(void *arg, const struct summary_info *m)
{
	static const char *const name[FIGURES] = {
#define FIGURE(word, unit, decimals, meaning) #word,
#include "summary/figures.def"
	};
	static const char *const units[FIGURES] = {
#define FIGURE(word, unit, decimals, meaning) unit,
#include "summary/figures.def"
	};
	struct cursor *c = arg;
	for (unsigned i = 0; i < FIGURES && !is_beaten(c, m); i++) {
		const struct summary_figure *f = &m->figure[i];
		struct line *l = f->known || f->note ? lines_append(c) : NULL;
		if (!l && (f->known || f->note))
			return -ENOMEM;
		if (!l)
			continue;
		line_set_id(l, C_figure_summary, m->id);
		line_set_cstr(c, l, C_figure_name, name[i]);
		line_set_cstr(c, l, C_figure_unit, units[i]);
		line_set_text_if(c, l, f->known ? C_figure_method : C_figure_absent, store_summary_note(c->s, f->note));
		if (!f->known)
			continue;
		line_set_int(l, C_figure_value, f->value);
		line_set_int(l, C_figure_complete, f->complete);
		line_set_int(l, C_figure_low, f->low);
		line_set_int(l, C_figure_high, f->high);
	}
	return 0;
}

/* A line for each figure of one summary. */
void views_figures(struct cursor *c)
{
	c->failed |= read_summary(c->s, c->unit, figure_lines, c) < 0;
}
