/* What each process runs, and whom what it does counts to (LPS IV.B.2): programs, users, runs. */
#include "event/env.h"
#include "node/node_int.h"
#include "redact/redact.h"

#include <stdio.h>
#include <stdlib.h>

void nproc_set_ids(struct nproc *p, const struct tracer_event *ev)
{
	if (!(ev->flags & TRACER_UNKNOWN)) {
		p->uid = ev->uid;
		p->gid = ev->gid;
	}
}

/* The words of a script's command line, as the script was called: the kernel puts its interpreter, and that one's
 * argument, before it. */
static struct str as_called(struct str list, struct str script)
{
	struct str rest = list;
	for (unsigned i = 0; i < 3 && rest.n; i++) {
		size_t length = strnlen(rest.p, rest.n);
		if (i && str_eq(str_n(rest.p, length), script))
			return rest;
		length += length < rest.n;
		rest = str_n(rest.p + length, rest.n - length);
	}
	return list;
}

/* A list of strings, packed as it came, filtered and redacted; malloc'ed. */
static char *pack_argv(struct str list, size_t *ret_n)
{
	struct buf b = {0};
	struct redact r = {0};
	for (size_t at = 0; at < list.n;) {
		size_t length = strnlen(list.p + at, list.n - at);
		redact_arg(&r, &b, str_n(list.p + at, length));
		buf_char(&b, '\0');
		at += length + 1;
	}
	*ret_n = b.failed ? 0 : b.n;
	if (b.failed)
		buf_release(&b);
	return b.p;
}

/* The allowed variables, one NUL behind each, redacted; *job: the job that they name. Both the caller's; NULL: there is
 * none, or no memory. */
static char *pack_env(struct str list, size_t *ret_n, char **job)
{
	struct buf b = {0};
	unsigned best = UINT32_MAX, rank;
	enum env_role role;
	for (size_t at = 0; at < list.n;) {
		struct str var = str_n(list.p + at, strnlen(list.p + at, list.n - at));
		const char *eq = memchr(var.p, '=', var.n);
		struct str name = str_n(var.p, eq ? (size_t)(eq - var.p) : 0);
		at += var.n + 1;
		if (!eq || !env_allowed(name))
			continue;
		redact_env(&b, var);
		buf_char(&b, '\0');
		if (env_role(name, &role, &rank) && role == ENV_ROLE_job && rank < best && var.n - name.n <= JOB_MAX) {
			best = rank;
			free(*job);
			*job = strndup(eq + 1, var.n - name.n - 1);
		}
	}
	*ret_n = b.failed ? 0 : b.n;
	if (b.failed)
		buf_release(&b);
	return b.p;
}

/* Finds the file of a program. NULL: it is not known, nor found at its path. */
static struct nfile *resolve_program(struct node *n, const struct tracer_fileid *id, struct str path)
{
	struct nfile *f = id->ino ? nfile_find(n, id) : nfile_at_path(n, path);
	if (f && f->gen)
		return f;
	struct node_found found = {.kind = 0};
	char name[4096];
	if (n->world.find_path && path.n && path.n < sizeof(name)) {
		memcpy(name, path.p, path.n);
		name[path.n] = '\0';
		n->world.find_path(n->world.arg, name, id->ino ? id : NULL, &found);
	}
	if (found.kind) {
		struct tracer_fileid all = {.dev = found.dev, .ino = found.ino, .gen = found.gen, .i_gen = id->i_gen};
		return nfile_found(n, &all, &found);
	}
	return id->ino ? nfile_met(n, id, NULL, TERM_kind_regular, path) : NULL;
}

void node_take_program(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	p->class = nproc_class(n, p, ev);
	struct nprogram *now = calloc(1, sizeof(*now));
	if (!now) { /* what ran before is not said to run now */
		book_short(n, p->uid);
		nprogram_free(p->now);
		p->now = NULL;
		return;
	}
	struct nfile *exe = resolve_program(n, &ev->exec.exe, ev->exec.exe_path), *script = NULL;
	if (exe)
		exe->pins++;
	if (ev->exec.name.n && !str_eq(ev->exec.name, ev->exec.exe_path)) {
		/* A script, or another name of the program: the file says which. */
		char path[4096];
		struct tracer_fileid none = {0};
		bool relative = ev->exec.name.p[0] != '/' && ev->exec.cwd.n;
		int length = snprintf(path, sizeof(path), "%.*s%s%.*s", relative ? (int)ev->exec.cwd.n : 0, ev->exec.cwd.p,
		                      relative ? "/" : "", (int)ev->exec.name.n, ev->exec.name.p);
		if (length > 0 && (size_t)length < sizeof(path))
			script = resolve_program(n, &none, str_n(path, (size_t)length));
		if (script == exe)
			script = NULL;
	}
	if (script)
		script->pins++;
	nprogram_free(p->now);
	p->now = now;
	now->exe = exe;
	now->script = script;
	struct str argv = script ? as_called(ev->exec.argv, ev->exec.name) : ev->exec.argv;
	now->argv = pack_argv(argv, &now->argv_n);
	now->env = pack_env(ev->exec.env, &now->env_n, &p->job);
	now->cwd = strndup(ev->exec.cwd.p ? ev->exec.cwd.p : "", ev->exec.cwd.n);
	now->n = p->execn;
}

/* Accesses to the program and, if there is one, the script that it runs. */
static void use_programs(struct node *n, struct nproc *p, int64_t time)
{
	struct nfile *const f[] = {p->now ? p->now->exe : NULL, p->now ? p->now->script : NULL};
	for (size_t i = 0; i < 2; i++)
		if (f[i] && f[i]->kind == TERM_kind_regular)
			naccess_start(n, p, f[i], ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, TERM_api_exec, true, time, time);
}

/* Gives the run an id, unless it has one, and tells of it. */
static void begin_run(struct node *n, struct nproc *p, int64_t time)
{
	char user[256] = "", group[256] = "";
	size_t count = 0;
	if (!p->run[0] && n->world.run_id) {
		n->world.run_id(n->world.arg, p->run);
		p->run_root = p->run[0];
	}
	if (!p->run[0])
		return;
	if (n->world.names)
		n->world.names(n->world.arg, p->uid, p->gid, user, group, sizeof(user));
	struct str *room = p->now ? node_unpack_words(p->now->argv, p->now->argv_n, &count) : NULL;
	struct event ev = {.run = {.id = str_of(p->run),
	                           .argv = {.items = room, .count = count},
	                           .cwd = str_of(p->now ? p->now->cwd : NULL),
	                           .user = str_of(user),
	                           .group = str_of(group),
	                           .uid = p->uid,
	                           .gid = p->gid}};
	if (node_emit_proc(n, p))
		node_emit(n, p->book, p->num, EVENT_run, time, &ev);
	free(room);
}

/* What it goes on to do is of no run, or of another. */
static void leave_run(struct node *n, struct nproc *p, int64_t time)
{
	if (p->run_root && p->book) {
		struct event r = {.run_end = {.id = str_of(p->run), .ending = TERM_ending_unknown}};
		node_emit(n, p->book, p->num, EVENT_run_end, time, &r);
	}
	p->run[0] = '\0';
	p->run_root = p->became = false;
}

/* Says where arguments or the environment were cut or could not be read. */
static void emit_argument_gaps(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (ev->flags & TRACER_CUT)
		node_emit_gap(n, p, TERM_gap_limit, 1, ev->lo, ev->hi,
		              "arguments or environment were too long and are shortened");
	if (ev->flags & TRACER_UNREAD)
		node_emit_gap(n, p, TERM_gap_unreadable, 1, ev->lo, ev->hi, "arguments or environment could not be read");
}

/* What counted to p does so no more: p becomes another user's, and what these go on to do is not that user's to see. */
static void leave_alone(struct node *n, struct nproc *p)
{
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *c = n->procs[i]; c; c = c->next)
			if (c != p && c->state == FOLDED && c->rep == p)
				nproc_decide(n, c);
}

/* It counts for itself from now on, or what it did before counts to what it was. */
static void decide_at_exec(struct node *n, struct nproc *p, enum rule_class class, bool changed)
{
	if (p->state == UNDECIDED || (p->state == FOLDED && (is_passing_class(class) || class == RULE_own || changed)))
		nproc_decide(n, p);
}

/* The program of one that counts to another is read by that one. */
static void read_program(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	struct nfile *exe = resolve_program(n, &ev->exec.exe, ev->exec.exe_path);
	if (exe && exe->kind == TERM_kind_regular)
		naccess_start(n, p, exe, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, TERM_api_exec, true, ev->lo, ev->hi);
}

/* Tells what it executes, with the run that it begins if it begins one. changed: it is another user's now. */
static void tell_exec(struct node *n, struct nproc *p, const struct tracer_event *ev, bool changed)
{
	bool anew = !p->book || p->book->uid != p->uid || p->session != p->book->session;
	bool passing = is_passing_class(p->class);
	/* One that became another user's goes on there, with a name of its own for what is done; what only changed its user
	 * gives the run the name of what it executes next. */
	bool moved = p->run[0] && (changed || p->became || (p->above && p->above->uid != p->uid));
	p->became = false;
	if ((moved || !p->run[0]) && (!passing || p->class == RULE_told)) {
		uint64_t execn = p->execn;
		p->execn = 0; /* its exec is told with the run that it begins */
		begin_run(n, p, ev->lo);
		p->execn = execn;
		anew = false;
	}
	if (anew)
		node_emit_proc(n, p);
	else if (node_emit_proc(n, p))
		node_emit_exec(n, p, ev->lo);
}

/* Ends what the old program had open, and begins the accesses of the new one. */
void node_take_exec(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	bool changed = ev->uid != p->uid;
	naccess_channels(n, p);
	enum rule_class class = nproc_class(n, p, ev);
	decide_at_exec(n, p, class, changed);
	naccess_end_all(n, p, ev->lo, true);
	if (changed)
		leave_alone(n, p);
	p->uid_before = p->uid;
	nproc_set_ids(p, ev);
	p->execn++;
	p->nexec = ev->nexec;
	p->ran = true;
	p->exec_time = ev->lo;
	p->user_time = 0;
	if (p->state == FOLDED) {
		p->class = class;
		read_program(n, p, ev);
		return;
	}
	/* What it becomes is told by itself, or what is started from it. */
	bool passed = p->run_root && is_passing_class(p->class);
	if ((p->became && is_passing_class(class)) || (passed && !is_passing_class(class)))
		leave_run(n, p, ev->lo);
	node_take_program(n, p, ev);
	tell_exec(n, p, ev, changed);
	emit_argument_gaps(n, p, ev);
	use_programs(n, p, ev->lo);
}

/* What is known of a program by whom it did not belong to when it was started: which file it is, and its name. Its
 * arguments, folder and environment are those of the user before. */
static void forget_secrets(struct nprogram *now)
{
	size_t first = now->argv_n ? strnlen(now->argv, now->argv_n) + 1 : 0;
	if (first && first < now->argv_n) {
		memset(now->argv + first, 0, now->argv_n - first);
		now->argv_n = first;
	}
	free(now->env);
	free(now->cwd);
	now->env = now->cwd = NULL;
	now->env_n = 0;
}

void node_take_user(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (!p->alive || p->uid == ev->uid)
		return;
	naccess_channels(n, p);
	nproc_decide(n, p); /* what it has done up to now is the user's before */
	naccess_end_all(n, p, ev->lo, true);
	leave_alone(n, p);
	p->uid_before = p->uid;
	p->uid = ev->uid;
	p->execn++;
	p->exec_time = p->user_time = ev->lo;
	if (p->now) {
		forget_secrets(p->now);
		p->now->n = p->execn;
	}
	leave_run(n, p, ev->lo); /* that of the user before */
	if (!is_passing_class(p->class)) {
		uint64_t execn = p->execn;
		p->execn = 0; /* its execution is told with the run that it begins */
		begin_run(n, p, ev->lo);
		p->execn = execn;
		p->became = p->run_root;
	}
	if (node_emit_proc(n, p) && p->now)
		node_emit_exec(n, p, ev->lo);
}
