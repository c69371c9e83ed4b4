/* info.c - what there is: runs, executions, files, versions. */
#include "store/counts.h"

#include "event/env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Strings gather in one buffer, which may move: they are remembered as places in it, and made into strings at the end.
 */
struct place {
	size_t at, n;
};
/* Its place in b, which stays where b moves; str_at reads it. */
static struct place append_placed_string(struct buf *b, struct str s)
{
	struct place p = {b->n, s.n};
	buf_str(b, s);
	return p;
}
/* Empty where there is none, or memory ran out. */
static struct str str_at(const struct buf *b, struct place p)
{
	return b->failed || !p.n ? str_of("") : str_n(b->p + p.at, p.n);
}
/* Writes the packed list out; its place and count. 0 or -errno. */
static int append_expanded_list(struct store *s, struct buf *b, struct str packed, struct place *ret, size_t *ret_count)
{
	size_t at = b->n;
	int rc = plist_expand(s, packed, b, ret_count);
	*ret = (struct place){at, b->n - at};
	return rc;
}
/* Empty if b has no memory. Points into b. */
static struct strlist list_at(const struct buf *b, struct place p, size_t count)
{
	return (struct strlist){.count = b->failed ? 0 : count, .raw = str_at(b, p)};
}

/* ---- runs ---- */

enum { RUN_IS = 1, RUN_BEGAN, RUN_ENDED };

struct run_view {
	bool began, ended;
	struct gkey_row began_key, command_key, ended_key; /* command_key: of the event that the command is from */
	int64_t first;
	uint64_t outer, cwd, user, group, uid, gid, session; /* dict; session: row of one that is the run's */
	struct str argv, hostinfo, labels;                   /* packed */
	uint64_t exec, ending, code, cpu, traps;
	struct ids sessions;
};

/* In the order in which what is told several times is judged. */
static bool is_earlier_key(const struct gkey_row *a, const struct gkey_row *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->session != b->session ? a->session < b->session : a->seq < b->seq;
}

/* What a fact says of the run's beginning: the earliest holds; of its command that of one with a folder. */
static void take_beginning(struct run_view *v, struct cur *b, struct gkey_row key, uint64_t session)
{
	struct run_view n = *v;
	n.outer = cur_u(b);
	n.cwd = cur_u(b);
	n.user = cur_u(b);
	n.group = cur_u(b);
	n.uid = cur_u(b);
	n.gid = cur_u(b);
	n.argv = cur_str(b);
	n.hostinfo = cur_str(b);
	n.labels = cur_str(b);
	n.session = session;
	n.began = true;
	n.command_key = key;
	if (!v->began || is_earlier_key(&key, &v->began_key))
		v->began_key = n.began_key = key;
	/* One without a folder is of a process that became another user's, and knew no more then. */
	bool earlier = is_earlier_key(&key, &v->command_key);
	if (!v->began || (v->cwd ? n.cwd && earlier : n.cwd || earlier))
		*v = n;
}

/* The earliest one that is told holds. */
static void take_end(struct run_view *v, struct cur *b, struct gkey_row key)
{
	struct run_view n = *v;
	n.exec = cur_u(b);
	n.ending = cur_u(b);
	n.code = cur_u(b);
	n.cpu = cur_u(b);
	n.traps = cur_u(b);
	n.ended = true;
	n.ended_key = key;
	if (!v->ended || is_earlier_key(&key, &v->ended_key))
		*v = n;
}

/* Not sorted: of a run there are few. */
static bool has_id(const struct ids *v, uint64_t id)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i] == id)
			return true;
	return false;
}

/* All that sessions told of the run, into v, whose lists are the caller's. 0 or -errno. */
static int view_of_run(struct store *s, struct str info, struct run_view *v)
{
	struct cur c = cur_of(info);
	struct pproc_section sec;
	int rc;
	v->first = TIME_NEVER;
	while ((rc = pproc_section_next(&c, &sec)) == 1) {
		const struct ssession *session = store_session(s, sec.session);
		struct cur b = cur_of(sec.body);
		if (!has_id(&v->sessions, sec.session) && ids_add(&v->sessions, sec.session) < 0)
			return -ENOMEM;
		while (cur_more(&b)) {
			uint64_t kind = cur_u(&b);
			struct gkey_row key = {time_add(s->base, cur_z(&b)), session ? session->number : 0, 0};
			if (key.time < v->first)
				v->first = key.time;
			if (kind == RUN_IS) {
				v->session = sec.session;
				continue;
			}
			key.seq = cur_u(&b);
			if (kind == RUN_BEGAN)
				take_beginning(v, &b, key, sec.session);
			else
				take_end(v, &b, key);
		}
		if (b.bad)
			return -ENOTRECOVERABLE;
	}
	return rc;
}

int read_session_rest(struct store *s, uint64_t session, struct buf *info, struct cur *ret, uint64_t *ret_run)
{
	sqlite3_stmt *st = store_stmt(s, SQL_session_get, NULL);
	if (!st)
		return -EIO;
	buf_reset(info);
	sqlite3_bind_int64(st, 1, (int64_t)session);
	int rc = store_step(s, st, NULL);
	if (rc == 1)
		buf_str(info, column_str(st, 1));
	sqlite3_reset(st);
	if (rc != 1)
		return rc;
	if (info->failed)
		return -ENOMEM;
	struct cur c = cur_of(buf_view(info));
	for (int i = 0; i < 3; i++) /* host boot pidns */
		cur_u(&c);
	*ret_run = cur_u(&c);
	for (int i = 0; i < 5; i++) /* tool mode last flags began */
		cur_u(&c);
	for (uint64_t n = cur_u(&c); n && !c.bad; n--) { /* places */
		cur_u(&c);
		cur_u(&c);
		cur_u(&c);
	}
	*ret = c;
	return c.bad ? -ENOTRECOVERABLE : 1;
}

struct pproc_gap read_session_gap(struct store *s, struct cur *c)
{
	struct pproc_gap g = {.reason = cur_u(c), .from = TIME_NONE};
	g.count = cur_u(c);
	g.time = time_add(s->base, cur_z(c));
	if (cur_u(c))
		g.from = time_sub(g.time, cur_z(c));
	g.text = cur_u(c);
	return g;
}

int read_session_gaps(struct store *s, uint64_t session, int (*say)(void *arg, uint64_t run, const struct pproc_gap *g),
                      void *arg)
{
	struct buf info = {0};
	struct cur c;
	uint64_t run;
	int rc = read_session_rest(s, session, &info, &c, &run);
	if (rc == 1) {
		rc = 0;
		for (uint64_t n = cur_u(&c); rc == 0 && n && !c.bad; n--) {
			struct pproc_gap g = read_session_gap(s, &c);
			rc = say(arg, run, &g);
		}
		rc = c.bad ? -ENOTRECOVERABLE : rc;
	}
	buf_release(&info);
	return rc;
}

/* Called for each gap of a run: adds its reason. arg: uint64_t, bits of gaps. */
static int add_reason(void *arg, uint64_t run, const struct pproc_gap *g)
{
	(void)run;
	*(uint64_t *)arg |= g->reason < 64 ? (uint64_t)1 << g->reason : 0;
	return 0;
}

/* Of the gaps of a whole session those that were while an execution lived, and with which accesses are missing. */
struct session_lack {
	int64_t start, end;
	uint64_t bits;
};

/* Called for each gap of a run: adds what it makes uncertain of an execution. arg: struct session_lack; only gaps of
 * a time in which the execution lived. */
static int add_lack(void *arg, uint64_t run, const struct pproc_gap *g)
{
	struct session_lack *w = arg;
	bool before = g->time != TIME_NONE && w->start != TIME_NONE && g->time < w->start;
	bool after = g->from != TIME_NONE && w->end != TIME_NONE && g->from > w->end;
	(void)run;
	if (g->reason < 64 && !before && !after)
		w->bits |= gaps_that_lack((uint64_t)1 << g->reason, GAP_MEANWHILE);
	return 0;
}

/* What is to be said of all that rests on the session. */
static uint64_t state_bits(const struct ssession *session)
{
	if (!session || session->damaged)
		return 1u << TERM_gap_damaged;
	return session->unended ? 1u << TERM_gap_unended : 0;
}

uint64_t read_session_state(struct store *s, uint64_t session)
{
	return state_bits(store_session(s, session));
}

/* What the session lacked while an execution lived. */
static uint64_t lack_bits(struct store *s, uint64_t row, int64_t start, int64_t end)
{
	const struct ssession *session = store_session(s, row);
	struct session_lack w = {.start = start, .end = end};
	if (session && session->gaps && read_session_gaps(s, row, add_lack, &w) < 0)
		w.bits |= 1u << TERM_gap_damaged;
	return w.bits;
}

uint64_t read_lasting_gaps(struct store *s, const struct process_view *v, const struct view_exec *e)
{
	uint64_t bits = e->own_gaps;
	for (size_t i = 0; i < v->sessions.n; i++)
		bits |= lack_bits(s, v->sessions.v[i], e->start, e->end);
	return bits;
}

uint64_t read_gaps(struct store *s, const struct process_view *v, const struct view_exec *e)
{
	uint64_t bits = read_lasting_gaps(s, v, e);
	for (size_t i = 0; i < v->sessions.n; i++)
		bits |= read_session_state(s, v->sessions.v[i]);
	return bits;
}

int store_exec_gaps(struct store *s, store_id id, int64_t lo, int64_t hi, uint64_t *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process(s, exec_process(id), &r->a) : -ENOMEM;
	const struct view_exec *e = rc > 0 ? view_exec(&r->a, exec_n(id)) : NULL;
	*ret = 0;
	if (!e)
		return rc < 0 ? rc : 0;
	struct view_exec part = *e;
	part.start = lo > part.start ? lo : part.start;
	part.end = hi != TIME_NONE && (part.end == TIME_NONE || hi < part.end) ? hi : part.end;
	*ret = read_gaps(s, &r->a, &part);
	return 1;
}

int store_run(struct store *s, store_id id, struct run_info *ret)
{
	return store_run_info(s, id, true, ret);
}

int store_run_told(struct store *s, store_id id, struct run_info *ret)
{
	return store_run_info(s, id, false, ret);
}

/* The row of a run: its id as text, appended to *ulid (may be NULL), and column info into *info. 1, 0, -errno. */
static int read_run_row(struct store *s, store_id run, struct buf *ulid, struct buf *info)
{
	sqlite3_stmt *st = store_stmt(s, SQL_run_get, NULL);
	if (!st)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, (int64_t)run);
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		if (ulid)
			buf_str(ulid, column_str(st, 0));
		buf_str(info, column_str(st, 1));
	}
	sqlite3_reset(st);
	return rc;
}

int read_run_sessions(struct store *s, store_id run, struct ids *ret)
{
	struct run_view v = {0};
	struct buf info = {0};
	int rc = read_run_row(s, run, NULL, &info);
	if (rc == 1)
		rc = view_of_run(s, buf_view(&info), &v) < 0 ? -ENOTRECOVERABLE : 1;
	if (rc == 1)
		*ret = v.sessions;
	else
		free(v.sessions.v);
	buf_release(&info);
	return rc;
}

/* The gaps of all sessions that tell of the run, and what is to be said of what rests on them. */
static int add_session_reasons(struct store *s, const struct ids *sessions, uint64_t *gaps)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sessions->n; i++) {
		rc = read_session_gaps(s, sessions->v[i], add_reason, gaps);
		*gaps |= state_bits(store_session(s, sessions->v[i]));
	}
	return rc;
}

/* The lists that a run's beginning tells, appended to text. */
struct run_lists {
	struct place argv, hostinfo, labels;
	size_t nargv, nhost, nlabels;
};

static int append_run_lists(struct store *s, struct buf *text, const struct run_view *v, struct run_lists *ret)
{
	*ret = (struct run_lists){0};
	int rc = append_expanded_list(s, text, v->argv, &ret->argv, &ret->nargv);
	if (rc == 0)
		rc = append_expanded_list(s, text, v->hostinfo, &ret->hostinfo, &ret->nhost);
	if (rc == 0)
		rc = append_expanded_list(s, text, v->labels, &ret->labels, &ret->nlabels);
	return rc;
}

int store_run_info(struct store *s, store_id id, bool counts, struct run_info *ret)
{
	struct reader *r = store_reader(s);
	if (!r)
		return -ENOMEM;
	struct buf *text = &r->run_text, info = {0};
	struct run_view v = {0};
	struct place ulid = {0}, outer, cwd, user, group, host, mode;
	struct run_lists lists;
	buf_reset(text);
	int rc = read_run_row(s, id, text, &info);
	ulid.n = text->n;
	if (rc != 1)
		goto out;
	rc = view_of_run(s, buf_view(&info), &v);
	if (rc < 0)
		goto out;
	const struct ssession *session = store_session(s, v.session);
	outer = append_placed_string(text, store_interned(s, v.outer));
	cwd = append_placed_string(text, store_interned(s, v.cwd));
	user = append_placed_string(text, store_interned(s, v.user));
	group = append_placed_string(text, store_interned(s, v.group));
	host = append_placed_string(text, store_interned(s, session ? session->host : 0));
	mode = append_placed_string(text, store_interned(s, session ? session->mode : 0));
	rc = append_run_lists(s, text, &v, &lists);
	struct run_counts n = {0};
	if (rc == 0 && counts)
		rc = counts_of_run(s, id, false, NULL, &n);
	if (rc == 0)
		rc = add_session_reasons(s, &v.sessions, &n.gaps);
	if (rc == 0 && text->failed)
		rc = -ENOMEM;
	if (rc < 0)
		goto out;
	*ret = (struct run_info){.id = id,
	                         .ulid = str_at(text, ulid),
	                         .outer = str_at(text, outer),
	                         .cwd = str_at(text, cwd),
	                         .user = str_at(text, user),
	                         .group = str_at(text, group),
	                         .host = str_at(text, host),
	                         .mode = str_at(text, mode),
	                         .argv = list_at(text, lists.argv, lists.nargv),
	                         .hostinfo = list_at(text, lists.hostinfo, lists.nhost),
	                         .labels = list_at(text, lists.labels, lists.nlabels),
	                         .start = v.began ? v.began_key.time : v.first,
	                         .end = v.ended ? v.ended_key.time : TIME_NONE,
	                         .ending = v.ending,
	                         .code = v.code,
	                         .inputs = n.inputs,
	                         .outputs = n.outputs,
	                         .executions = n.executions,
	                         .gaps = n.gaps,
	                         .recorder_cpu = v.cpu,
	                         .traps = v.traps};
	rc = 1;
out:
	free(v.sessions.v);
	buf_release(&info);
	return rc;
}

/* ---- executions ---- */

/* A name, or where it is not known the number. */
static struct place append_name_or_number(struct store *s, struct buf *text, uint64_t name, uint64_t number)
{
	char digits[24];
	if (name)
		return append_placed_string(text, store_interned(s, name));
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return append_placed_string(text, str_of(digits));
}

/* The run's user and group, where the execution has the same numbers. */
static void user_names(struct store *s, uint64_t run, const struct pproc_exec *f, struct buf *text, struct place *user,
                       struct place *group)
{
	struct run_user *u = &s->reader->user;
	if (!s->viewing || u->run != run) {
		struct run_view v = {0};
		struct buf info = {0};
		read_run_row(s, run, NULL, &info);
		bool known = view_of_run(s, buf_view(&info), &v) == 0 && v.began;
		*u = (struct run_user){run, known, v.uid, v.gid, v.user, v.group};
		free(v.sessions.v);
		buf_release(&info);
	}
	*user = append_name_or_number(s, text, u->known && u->uid == f->uid ? u->user : 0, f->uid);
	*group = append_name_or_number(s, text, u->known && u->gid == f->gid ? u->group : 0, f->gid);
}

/* Job, step, rank and their number from the environment (B11). */
static void find_environment_roles(const struct strlist *env, struct str ret[ENV_ROLES])
{
	unsigned best[ENV_ROLES];
	memset(best, 0xff, sizeof(best));
	struct str e;
	for (size_t pos = 0; strlist_next(env, &pos, &e);) {
		const char *eq = e.n ? memchr(e.p, '=', e.n) : NULL;
		enum env_role role;
		unsigned rank;
		if (!eq || !env_role(str_n(e.p, (size_t)(eq - e.p)), &role, &rank) || rank >= best[role])
			continue;
		best[role] = rank;
		ret[role] = str_n(eq + 1, e.n - (size_t)(eq + 1 - e.p));
	}
}

/* The execution of the process before this one, else who forked it; 0: none is known. */
static store_id parent_execution(struct store *s, struct reader *r, uint32_t n)
{
	const struct view_exec *self_now = view_exec(&r->a, n);
	if (self_now && self_now > r->a.execs.v)
		return exec_id(r->a.id, self_now[-1].n);
	const struct view_fork *first = NULL;
	for (size_t i = 0; i < r->a.forks.n; i++)
		if (r->a.forks.v[i].fact.parent && (!first || is_earlier_key(&r->a.forks.v[i].key, &first->key)))
			first = &r->a.forks.v[i];
	if (!first)
		return 0;
	bool self = first->fact.parent == r->a.id;
	if (!self && read_process(s, first->fact.parent, &r->b) != 1)
		return 0;
	return exec_id(first->fact.parent, view_exec_at(self ? &r->a : &r->b, first->fact.time)->n);
}

/* Job, step, rank and their number, "" where the environment does not say. */
static void fill_roles(struct exec_info *ret)
{
	struct str roles[ENV_ROLES];
	for (unsigned i = 0; i < ENV_ROLES; i++)
		roles[i] = str_of("");
	find_environment_roles(&ret->env, roles);
	ret->job = roles[ENV_ROLE_job];
	ret->step = roles[ENV_ROLE_step];
	ret->rank = roles[ENV_ROLE_rank];
	ret->ranks = roles[ENV_ROLE_ranks];
}

/* How the process ended, where execution n was its last. */
static void fill_ending(const struct process_view *v, uint32_t n, struct exec_info *ret)
{
	const struct pproc_exit *x = &v->exit;
	if (!v->exited || n != v->execs.v[v->execs.n - 1].n)
		return;
	ret->ending = x->ending;
	ret->code = x->code;
	ret->known = x->known;
	ret->cpu = x->figure[0];
	ret->user_time = x->figure[1];
	ret->system_time = x->figure[2];
	ret->rss = x->figure[3];
	ret->rchar = x->figure[4];
	ret->wchar_ = x->figure[5];
	ret->read_bytes = x->figure[6];
	ret->write_bytes = x->figure[7];
}

int store_exec(struct store *s, store_id id, struct exec_info *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process(s, exec_process(id), &r->a) : -ENOMEM;
	if (rc <= 0)
		return rc;
	const struct view_exec *e = view_exec(&r->a, exec_n(id));
	if (!e)
		return 0;
	struct buf *text = &r->exec_text;
	struct place argv = {0}, env = {0}, cwd, host, boot, user = {0}, group = {0};
	size_t nargv = 0, nenv = 0;
	buf_reset(text);
	uint64_t run = view_run(&r->a, e);
	const struct ssession *session = store_session(s, e->session);
	host = append_placed_string(text, store_interned(s, session ? session->host : 0));
	cwd = append_placed_string(text, store_interned(s, e->fact.cwd));
	boot = append_placed_string(text, store_interned(s, r->a.p.boot));
	rc = append_expanded_list(s, text, e->fact.argv, &argv, &nargv);
	if (rc == 0) {
		struct buf packed = {0};
		buf_str(&packed, store_interned(s, e->fact.env));
		rc = append_expanded_list(s, text, buf_view(&packed), &env, &nenv);
		buf_release(&packed);
	}
	if (rc == 0 && e->reported)
		user_names(s, run, &e->fact, text, &user, &group);
	struct id_hash h;
	store_id parent = rc == 0 ? parent_execution(s, r, e->n) : 0;
	if (rc == 0)
		rc = hash_of_exec(s, id, &h);
	if (rc == 0)
		rc = -ENOTRECOVERABLE;
	if (rc < 0 || text->failed)
		return rc < 0 ? rc : -ENOMEM;
	e = view_exec(&r->a, exec_n(id));
	*ret = (struct exec_info){.id = id,
	                          .run = run,
	                          .parent = parent,
	                          .pid = r->a.p.pid,
	                          .n = e->n,
	                          .boot = str_at(text, boot),
	                          .pidns = read_pidns(s, &r->a.p),
	                          .started = r->a.p.started,
	                          .exe = e->fact.exe,
	                          .script = e->fact.script,
	                          .argv = list_at(text, argv, nargv),
	                          .env = list_at(text, env, nenv),
	                          .cwd = str_at(text, cwd),
	                          .host = str_at(text, host),
	                          .user = str_at(text, user),
	                          .group = str_at(text, group),
	                          .uid = e->fact.uid,
	                          .gid = e->fact.gid,
	                          .start = e->start,
	                          .end = e->end,
	                          .gaps = read_gaps(s, &r->a, e)};
	identity_text('x', h, &ret->pub);
	fill_roles(ret);
	fill_ending(&r->a, e->n, ret);
	return 1;
}

/* Texts of ret are valid until the next call. 1, 0: there is none, -errno. */
int store_exec_brief(struct store *s, store_id id, struct exec_brief *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process(s, exec_process(id), &r->a) : -ENOMEM;
	const struct view_exec *e = rc == 1 ? view_exec(&r->a, exec_n(id)) : NULL;
	if (!e)
		return rc < 0 ? rc : 0;
	struct place argv;
	size_t n = 0;
	buf_reset(&r->brief_text);
	rc = append_expanded_list(s, &r->brief_text, e->fact.argv, &argv, &n);
	if (rc < 0 || r->brief_text.failed)
		return rc < 0 ? rc : -ENOMEM;
	*ret = (struct exec_brief){.run = view_run(&r->a, e),
	                           .parent = parent_execution(s, r, e->n),
	                           .exe = e->fact.exe,
	                           .script = e->fact.script,
	                           .n = e->n,
	                           .gaps = read_gaps(s, &r->a, e),
	                           .argv = list_at(&r->brief_text, argv, n)};
	return 1;
}

/* ---- files and versions ---- */

int store_file(struct store *s, store_id id, struct file_info *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_stored_file(s, id, &r->file) : -ENOMEM;
	if (rc <= 0)
		return rc;
	struct buf *text = &r->file_text;
	struct pfile *f = &r->file;
	const struct sdomain *d = f->domain ? store_domain(s, f->domain) : NULL;
	struct id_hash h;
	bool named;
	buf_reset(text);
	struct place domain = append_placed_string(text, d ? str_n(d->name, d->name_n) : str_of("")), path = {text->n, 0};
	rc = read_file_path(s, f, text, &named);
	path.n = text->n - path.at;
	if (rc == 0)
		rc = hash_of_file(s, id, f, &h);
	if (rc < 0 || text->failed)
		return rc < 0 ? rc : -ENOMEM;
	*ret = (struct file_info){.id = id,
	                          .kind = f->kind,
	                          .path = str_at(text, path),
	                          .named = named,
	                          .domain = str_at(text, domain),
	                          .ino = f->ino,
	                          .gen = f->gen,
	                          .versions = f->nversion,
	                          .flags = d && d->network,
	                          .within = f->within};
	identity_text('f', h, &ret->pub);
	return 1;
}

int store_version(struct store *s, store_id id, struct version_info *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_version(s, id, &r->ver, &r->file) : -ENOMEM;
	if (rc <= 0)
		return rc;
	const struct pver *v = &r->ver;
	const uint32_t print = pver_print(v);
	const struct pfp *fp = print && print <= r->file.fps.n ? &r->file.fps.v[print - 1] : NULL;
	buf_reset(&r->identity);
	identity_of_version(s, &r->file, v, &r->identity);
	*ret = (struct version_info){.id = id,
	                             .file = version_file(id),
	                             .n = version_n(id),
	                             .origin = pver_known_origin(v),
	                             .has_size = fp != NULL,
	                             .size = fp ? fp->size : 0,
	                             .mtime = fp ? fp->mtime : TIME_NONE,
	                             .start = v->start,
	                             .end = v->end,
	                             .by_event = !(v->flags >> PVER_UNOBSERVED & 1),
	                             .k = v->k};
	if (ret->by_event) {
		ret->session = pver_session(s, v);
		ret->seq = v->seq;
	}
	identity_text('v', identity_hash(&r->identity), &ret->pub);
	return 1;
}

int store_version_file(struct store *s, store_id id, store_id *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_version(s, id, &r->ver, NULL) : -ENOMEM;
	if (rc == 1)
		*ret = version_file(id);
	return rc;
}

/* Texts of ret are valid until the next call. 1, 0: there is none, -errno. */
int store_version_sort(struct store *s, store_id id, struct version_sort *ret)
{
	struct reader *r = store_reader(s);
	struct str row[FILE_PARTS];
	struct pfile_brief f;
	int rc = r ? read_version(s, id, &r->ver, NULL) : -ENOMEM;
	if (rc == 1)
		rc = read_file_row(s, version_file(id), row);
	if (rc <= 0)
		return rc;
	rc = pfile_brief(row[FILE_INFO], &f);
	buf_reset(&r->sort_text);
	if (rc == 0)
		rc = read_brief_path(s, &f, &r->sort_text);
	if (rc < 0)
		return rc;
	*ret = (struct version_sort){.file = version_file(id),
	                             .origin = pver_known_origin(&r->ver),
	                             .kind = f.kind,
	                             .path = buf_view(&r->sort_text),
	                             .within = f.within,
	                             .hollow = r->ver.flags >> PVER_HOLLOW & 1,
	                             .end = r->ver.end};
	return 1;
}
