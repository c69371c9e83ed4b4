/* What the tracer reports, event by event: what each process runs, and whom what it does counts to (LPS IV.B.2). */
#include "event/env.h"
#include "node/node_int.h"
#include "redact/redact.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { LATE_DRAINS = 3 }; /* a process's last closes come at most so many drains after its end */

/* ---- events ---- */

static int64_t realtime_of(const struct node *n, uint64_t start)
{
	return n->o.boot + (int64_t)start;
}

static void set_ids(struct nproc *p, const struct tracer_event *ev)
{
	if (!(ev->flags & TRACER_UNKNOWN)) {
		p->uid = ev->uid;
		p->gid = ev->gid;
	}
}

static void handle_exit(struct node *n, struct nproc *p, const struct tracer_event *ev);

static struct nproc *handle_fork(struct node *n, const struct tracer_event *ev)
{
	struct nproc *old = nproc_find(n, ev->pid, 0), *parent = ev->ppid ? nproc_find(n, ev->ppid, 0) : NULL;
	if (old && old->start == ev->start)
		return old;
	if (parent && !parent->alive)
		parent = NULL;
	if (old && old->alive) { /* its number is another's now, so its end was lost */
		const struct tracer_event end = {
		    .kind = TRACER_EXIT, .flags = TRACER_UNSEEN, .lo = ev->lo, .hi = ev->lo, .until = ev->lo};
		handle_exit(n, old, &end);
	}
	struct nproc *p = nproc_new(n, ev->pid, ev->start, ev->uid);
	if (!p)
		return NULL;
	p->forked = ev->lo;
	p->forked_hi = ev->hi;
	nproc_inherit(n, p, parent);
	p->nexec = ev->nexec;
	set_ids(p, ev);
	if (p->state == FOLDED && p->rep && p->rep->uid != p->uid)
		nproc_decide(n, p);
	/* One that is undecided may have pipes as any other; whose they are is decided with it. */
	p->maker_of_channels = parent ? nproc_ref(owner_of(parent) ? owner_of(parent) : parent) : NULL;
	n->stats.processes++;
	if (p->state == OWN)
		node_emit_proc(n, p);
	return p;
}

/* As the script was called: the kernel puts its interpreter, and that one's argument, before it. */
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

static void remember_program(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	p->class = rules_class(n->o.rules, ev->exec.exe_path, ev->exec.argv, p->under == RULE_job);
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

static void use_programs(struct node *n, struct nproc *p, int64_t time)
{
	struct nfile *const f[] = {p->now ? p->now->exe : NULL, p->now ? p->now->script : NULL};
	for (size_t i = 0; i < 2; i++)
		if (f[i] && f[i]->kind == TERM_kind_regular)
			naccess_start(n, p, f[i], ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, TERM_api_exec, true, time, time);
}

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

static void emit_argument_gaps(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (ev->flags & TRACER_CUT)
		node_emit_gap(n, p, TERM_gap_limit, 1, ev->lo, ev->hi, "arguments or environment were too long to keep whole");
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

static void handle_exec(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	bool changed = ev->uid != p->uid;
	naccess_channels(n, p);
	/* What it did before counts to what it was. */
	struct rules const *rules = n->o.rules;
	enum rule_class class = rules_class(rules, ev->exec.exe_path, ev->exec.argv, p->under == RULE_job);
	if (p->state == UNDECIDED || (p->state == FOLDED && (is_passing_class(class) || class == RULE_own || changed)))
		nproc_decide(n, p);
	naccess_end_all(n, p, ev->lo, true);
	if (changed)
		leave_alone(n, p);
	p->uid_before = p->uid;
	set_ids(p, ev);
	p->execn++;
	p->nexec = ev->nexec;
	p->ran = true;
	p->exec_time = ev->lo;
	p->user_time = 0;
	if (p->state == FOLDED) { /* its program is read by whom it counts to */
		struct nfile *exe = resolve_program(n, &ev->exec.exe, ev->exec.exe_path);
		p->class = class;
		if (exe && exe->kind == TERM_kind_regular)
			naccess_start(n, p, exe, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, TERM_api_exec, true, ev->lo, ev->hi);
		return;
	}
	if (p->became && is_passing_class(class)) /* a session: what is started from it are runs of their own */
		leave_run(n, p, ev->lo);
	remember_program(n, p, ev);
	bool anew = !p->book || p->book->uid != p->uid || p->session != p->book->session;
	/* One that became another user's goes on there, with a name of its own for what is done; what only changed its user
	 * gives the run the name of what it executes next. */
	bool moved =
	    p->run[0] && (changed || p->became || (p->above && p->above->uid != p->uid)) && !is_passing_class(p->class);
	p->became = false;
	if (moved || (!p->run[0] && !is_passing_class(p->class))) {
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

/* It goes on as another user, with the same program: in the log of that one, as another execution. */
static void handle_user(struct node *n, struct nproc *p, const struct tracer_event *ev)
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

static void handle_alive(struct node *n, const struct tracer_event *ev)
{
	struct nproc *above = ev->ppid ? nproc_find(n, ev->ppid, 0) : NULL;
	struct nproc *p = nproc_find(n, ev->pid, ev->start);
	if (p || !ev->exec.exe_path.n) /* a thread of the kernel's */
		return;
	if (!(p = nproc_new(n, ev->pid, ev->start, ev->uid)))
		return;
	p->forked = p->forked_hi = realtime_of(n, ev->start);
	nproc_inherit(n, p, above);
	set_ids(p, ev);
	p->nexec = ev->nexec;
	p->ran = true;
	p->exec_time = p->forked;
	/* It was there before this daemon: which execution it is in is known if the one before has said so. */
	p->execn = 1000;
	for (size_t i = 0; i < n->n_saved; i++)
		if (n->saved[i].pid == p->pid && n->saved[i].start == p->start) {
			p->execn = n->saved[i].execn;
			memcpy(p->run, n->saved[i].run, sizeof(p->run));
		}
	enum rule_class class = rules_class(n->o.rules, ev->exec.exe_path, ev->exec.argv, p->under == RULE_job);
	if (p->state == UNDECIDED || (p->state == FOLDED && (is_passing_class(class) || (above && above->uid != p->uid))))
		nproc_set_own(n, p);
	remember_program(n, p, ev);
}

static void handle_exit(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (!p->alive)
		return;
	naccess_channels(n, p);
	p->exit_time = ev->hi;
	const struct tracer_usage *u = &ev->exit.usage;
	int status = ev->exit.status;
	if (p->state == OWN && node_emit_proc(n, p)) {
		bool unseen = ev->flags & TRACER_UNSEEN;
		unsigned ending = unseen                ? TERM_ending_unknown
		                  : WIFEXITED(status)   ? TERM_ending_exited
		                  : WIFSIGNALED(status) ? TERM_ending_signaled
		                                        : TERM_ending_unknown;
		int code = unseen ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		struct event e = {.exit = {.ending = ending,
		                           .code = (uint64_t)code,
		                           .cpu = u->cpu,
		                           .user = u->user,
		                           .system = u->system,
		                           .rss = u->rss,
		                           .rchar = u->rchar,
		                           .wchar = u->wchar,
		                           .read_bytes = u->read_bytes,
		                           .write_bytes = u->write_bytes,
		                           .known = unseen ? 0 : 0x1e | (u->io_known && u->whole ? 0x1e0u : 0u)}};
		node_emit(n, p->book, p->num, EVENT_exit, ev->hi, &e);
		p->book->procs -= p->book->procs > 0;
		if (p->run_root) {
			struct event r = {.run_end = {.id = str_of(p->run), .ending = ending, .code = (uint64_t)code}};
			node_emit(n, p->book, p->num, EVENT_run_end, ev->hi, &r);
		}
		n->n_rep--;
	}
	p->alive = false;
	p->drains = 0;
	p->dead_next = n->dead;
	n->dead = p;
	n->stats.live--;
}

/* ---- names ---- */

/* Names change in the order in which they are told, at a moment that fits. */
static int64_t name_time(struct node *n, const struct tracer_event *ev)
{
	int64_t t = ev->lo > n->named ? ev->lo : n->named + 1;
	if (t > ev->hi)
		t = ev->hi;
	if (t > n->named)
		n->named = t;
	return t;
}

static void handle_names(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	struct nproc *by = before_user(p, ev) ? NULL : p; /* the name alone is told to those who know the file */
	uint32_t ops = ev->file.ops;
	char path[4096];
	struct str name = ev->file.path;
	int64_t time = name_time(n, ev);
	if (!name.n || name.n >= sizeof(path) || name.p[0] != '/')
		return;
	memcpy(path, name.p, name.n);
	path[name.n] = '\0';
	if (ops & (TRACER_CREATED | TRACER_MOVED_TO)) {
		bool was = f->path && f->emitted;
		struct nfile *other = nfile_at_path(n, name);
		if (other && other != f)
			nfile_named(n, other, (struct str){0});
		if ((ops & TRACER_CREATED) && !was && !f->emitted) {
			f->maker = p->pid;
			f->maker_start = p->start;
			f->made = ev->lo;
		}
		nfile_named(n, f, name);
		node_emit_name(n, by, was ? TERM_nameop_link : TERM_nameop_create, f, path, NULL, time);
	}
	if (ops & (TRACER_DELETED | TRACER_MOVED_FROM)) {
		node_emit_name(n, by, TERM_nameop_unlink, f, path, NULL, time);
		if (f->path && str_eq(str_of(f->path), name))
			nfile_named(n, f, (struct str){0});
	}
}

static void handle_rename(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	char path[4096], old[4096];
	struct nfile *other = nfile_at_path(n, ev->file.path), *f = nfile_at_path(n, ev->file.old_path);
	if (ev->file.path.n >= sizeof(path) || ev->file.old_path.n >= sizeof(old))
		return;
	int64_t time = name_time(n, ev);
	unsigned kind = ev->file.directory ? TERM_kind_directory : 0;
	if (ev->file.id.ino)
		f = nfile_met(n, &ev->file.id, ev->file.domain, kind, (struct str){0});
	if (!f || !ev->file.path.n)
		return;
	memcpy(path, ev->file.path.p, ev->file.path.n);
	path[ev->file.path.n] = '\0';
	memcpy(old, ev->file.old_path.p ? ev->file.old_path.p : "", ev->file.old_path.n);
	old[ev->file.old_path.n] = '\0';
	if (other && other != f) {
		node_emit_name(n, before_user(p, ev) ? NULL : p, TERM_nameop_replace, other, path, NULL, time);
		nfile_named(n, other, (struct str){0});
	}
	/* Told by its old name where it is told now for the first time. */
	if (!f->path)
		nfile_named(n, f, ev->file.old_path);
	node_emit_name(n, before_user(p, ev) ? NULL : p, TERM_nameop_rename, f, path, old, time);
	nfile_named(n, f, ev->file.path);
	for (struct emitted *t = f->emitted; t; t = t->next)
		t->path = 0; /* the number is told again with the name, when it is used next */
	if (f->kind != TERM_kind_directory)
		return;
	size_t length = strlen(old);
	for (unsigned i = 0; i < HASH; i++)
		for (struct nfile *g = n->files[i]; g; g = g->next)
			if (g->path && !strncmp(g->path, old, length) && g->path[length] == '/') {
				char *moved = NULL;
				if (asprintf(&moved, "%s%s", path, g->path + length) >= 0)
					nfile_named(n, g, str_of(moved));
				free(moved);
			}
}

static void handle_file(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (ev->kind == TRACER_RENAME) {
		handle_rename(n, p, ev);
		return;
	}
	unsigned kind = ev->file.directory ? TERM_kind_directory : 0;
	bool new_name = ev->file.ops & (TRACER_CREATED | TRACER_MOVED_TO | TRACER_DELETED | TRACER_MOVED_FROM);
	struct nfile *f = NULL;
	if (ev->file.id.ino)
		f = nfile_met(n, &ev->file.id, ev->file.domain, kind, new_name ? (struct str){0} : ev->file.path);
	else if (ev->file.path.n)
		f = nfile_at_path(n, ev->file.path);
	if (!f)
		return;
	f->pins++;
	if (new_name)
		handle_names(n, p, ev, f);
	naccess_file(n, p, ev, f);
	f->pins--;
}

/* ---- what is missing ---- */

/* Every user of a live process is told, those too of whom nothing was to be told before. */
void node_gap(struct node *n, unsigned reason, uint64_t count, int64_t from, int64_t until, const char *text)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next) {
			struct book *b = p->alive ? book_of(n, p->uid) : NULL;
			if (b)
				b->live = true;
		}
	for (struct book *b = n->books; b; b = b->next) {
		struct event ev = {.gap = {.reason = reason, .count = count, .from = from, .text = str_of(text)}};
		if (b->live)
			node_emit(n, b, 0, EVENT_gap, until, &ev);
		b->live = false;
	}
}

void node_known(struct node *n, uint32_t uid)
{
	struct book *b = book_of(n, uid);
	if (b)
		b->live = true;
}

static void handle_lost(struct node *n, const struct tracer_event *ev)
{
	static const char *const text[] = {
	    [TRACER_LOST_PROCESS] = "of processes", [TRACER_LOST_FILE] = "of files", [TRACER_LOST_ACCESS] = "of bytes"};
	char line[200];
	snprintf(line, sizeof(line), "events %s: %s",
	         ev->lost.what <= TRACER_LOST_ACCESS && text[ev->lost.what] ? text[ev->lost.what] : "",
	         ev->lost.text ? ev->lost.text : "lost");
	node_gap(n, TERM_gap_lost, ev->lost.count, ev->lo, ev->hi, line);
}

/* Set back, it shows the same hours twice: what was read in the first of them and written in the second seems to have
 * been written before. A clock that is only slowed comes in steps of a millisecond, less than file times are exact to.
 */
static void handle_clock(struct node *n, const struct tracer_event *ev)
{
	const int64_t grain = 20000000;
	char line[200];
	n->o.boot += ev->clock.by;
	if (ev->clock.by > -grain)
		return;
	snprintf(line, sizeof(line), "the clock was set back by %lld ms: what came first in this time is not sure",
	         (long long)(-ev->clock.by / 1000000));
	node_gap(n, TERM_gap_unsettled, 0, ev->lo, ev->lo - ev->clock.by, line);
}

/* ---- the interface ---- */

struct node *node_new(const struct node_options *o, const struct node_world *w)
{
	struct node *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->o = *o;
	n->world = *w;
	if (!n->o.max_processes)
		n->o.max_processes = 16384;
	if (!n->o.max_files)
		n->o.max_files = 6144;
	if (!n->o.max_accesses)
		n->o.max_accesses = 16384;
	return n;
}

void node_free(struct node *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			while (p->accesses)
				naccess_free(n, p->accesses);
	for (unsigned i = 0; i < HASH; i++)
		while (n->procs[i])
			nproc_gone(n, n->procs[i]);
	nfiles_free(n);
	while (n->books) {
		struct book *next = n->books->next;
		free(n->books);
		n->books = next;
	}
	free(n->saved);
	free(n);
}

/* One that was not told of: something was lost, or it is an end that came very late. */
static struct nproc *nproc_unknown(struct node *n, const struct tracer_event *ev)
{
	if (!ev->pid || (ev->flags & (TRACER_LATE | TRACER_UNKNOWN)) || ev->kind == TRACER_EXIT || !ev->start)
		return NULL;
	struct nproc *p = handle_fork(n, ev);
	if (p && p->state == OWN)
		node_emit_gap(n, p, TERM_gap_lost, 0, ev->lo, ev->hi, "how it began was not seen");
	return p;
}

void node_event(struct node *n, const struct tracer_event *ev)
{
	n->stats.events++;
	if (ev->hi > n->now)
		n->now = ev->hi;
	switch (ev->kind) {
	case TRACER_LOST:
		handle_lost(n, ev);
		return;
	case TRACER_ALIVE:
		handle_alive(n, ev);
		return;
	case TRACER_FORK:
		handle_fork(n, ev);
		return;
	case TRACER_CLOCK:
		handle_clock(n, ev);
		return;
	case TRACER_WATCH:
		return;
	default:
		break;
	}
	struct nproc *p = nproc_find(n, ev->pid, ev->start);
	if (!p)
		p = nproc_unknown(n, ev);
	if (!p) {
		n->stats.strangers++;
		return;
	}
	struct nfile *f = NULL;
	switch (ev->kind) {
	case TRACER_EXEC:
		handle_exec(n, p, ev);
		break;
	case TRACER_USER:
		handle_user(n, p, ev);
		break;
	case TRACER_EXIT:
		handle_exit(n, p, ev);
		break;
	case TRACER_FDS:
		naccess_fds(n, p, ev);
		break;
	case TRACER_FILE:
	case TRACER_RENAME:
		if (p->payer)
			p->payer->events++;
		handle_file(n, p, ev);
		break;
	case TRACER_ACCESS:
		f = nfile_met(n, &ev->access.id, NULL, 0, (struct str){0});
		if (f)
			naccess_totals(n, p, ev, f);
		break;
	case TRACER_URING:
		if (owner_of(p))
			node_emit_gap(n, owner_of(p), TERM_gap_io_uring, 1, ev->lo, ev->hi, "");
		break;
	default:
		break;
	}
}

bool node_busiest(struct node *n, uint32_t *ret_uid, uint64_t *ret_events, uint64_t *ret_all)
{
	*ret_events = *ret_all = 0;
	for (struct book *b = n->books; b; b = b->next) {
		*ret_all += b->events;
		if (b->events > *ret_events) {
			*ret_events = b->events;
			*ret_uid = b->uid;
		}
		b->events = 0;
	}
	return *ret_events > 0;
}

void node_settle(struct node *n, int64_t now)
{
	n->now = now;
	struct nproc *keep = NULL, *next;
	for (struct nproc *p = n->dead; p; p = next) {
		next = p->dead_next;
		if (++p->drains >= LATE_DRAINS) {
			nproc_over(n, p);
			continue;
		}
		p->dead_next = keep;
		keep = p;
	}
	n->dead = keep;
	for (struct book *b = n->books; b; b = b->next) {
		if (!b->short_of_room)
			continue;
		struct event ev = {.gap = {.reason = TERM_gap_limit,
		                           .count = b->short_of_room,
		                           .from = n->short_since ? n->short_since : now,
		                           .text = str_of("the aggregator's tables had no more room for this user")}};
		node_emit(n, b, 0, EVENT_gap, now, &ev);
		b->short_of_room = 0;
	}
	n->short_since = now;
}

void node_tick(struct node *n, int64_t now)
{
	const int64_t open_long = 1000000000;
	n->now = now;
	naccess_finish_dormant(n, false);
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next) {
			bool held = false;
			for (struct naccess *a = p->accesses; a && !held; a = a->proc_next)
				held = !a->seq && a->lo + open_long < now;
			if (held)
				naccess_emit_held(n, p);
			naccess_guesses(n, p);
		}
}

void node_session(struct node *n, uint32_t uid, int64_t now)
{
	struct book *b = book_of(n, uid);
	if (!b)
		return;
	n->now = now;
	b->session++;
	b->next_file = b->next_proc = 0;
	memset(b->domains, 0, sizeof(b->domains));
	naccess_begin_session(n, b);
}

void node_part(struct node *n, uint32_t uid, int64_t now)
{
	struct book *b = book_of(n, uid);
	n->now = now;
	if (b)
		naccess_end_session(n, b, now);
}

void node_detach(struct node *n, int64_t now)
{
	node_emit_all(n, now);
	for (struct book *b = n->books; b; b = b->next)
		naccess_end_session(n, b, now);
}

void node_save(const struct node *n, struct buf *out)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next)
			if (p->alive)
				buf_printf(out, "%d %llu %llu %s\n", p->pid, (unsigned long long)p->start, (unsigned long long)p->execn,
				           p->run[0] ? p->run : "-");
}

void node_load(struct node *n, struct str text)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t length = end ? (size_t)(end - text.p) : text.n;
		char line[128];
		unsigned long long start, execn;
		struct saved s = {0};
		if (length < sizeof(line)) {
			memcpy(line, text.p, length);
			line[length] = '\0';
			if (sscanf(line, "%d %llu %llu %26s", &s.pid, &start, &execn, s.run) == 4) {
				struct saved *v = realloc(n->saved, (n->n_saved + 1) * sizeof(*v));
				if (!v)
					return;
				s.start = start;
				s.execn = execn;
				if (s.run[0] == '-')
					s.run[0] = '\0';
				n->saved = v;
				v[n->n_saved++] = s;
			}
		}
		text.p += length + (end != NULL);
		text.n -= length + (end != NULL);
	}
}

void node_of_job(const struct node *n, struct str job, uint32_t uid, bool any_user,
                 void (*each)(void *arg, pid_t pid, bool counting), void *arg)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next)
			if (p->alive && p->job && str_is(job, p->job) && (any_user || p->uid == uid))
				each(arg, p->pid, p->counting);
}

void node_counting(struct node *n, pid_t pid, bool on)
{
	struct nproc *p = nproc_find(n, pid, 0);
	if (p)
		p->counting = on;
}

void node_counting_all(struct node *n, bool everybody, uint32_t uid, bool on)
{
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			if (everybody || p->uid == uid)
				p->counting = on;
}

void node_emit_all(struct node *n, int64_t now)
{
	n->now = now;
	for (struct nproc *p = n->dead; p; p = n->dead) {
		n->dead = p->dead_next;
		nproc_over(n, p);
	}
	naccess_finish_dormant(n, true);
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			naccess_emit_held(n, p);
}

int64_t node_emitted_until(const struct node *n, int64_t now)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next)
			for (const struct naccess *a = p->accesses; a; a = a->proc_next)
				if (!a->seq && a->ended != TIME_NEVER && a->lo < now)
					now = a->lo;
	return now;
}

void node_stats(const struct node *n, struct node_stats *ret)
{
	*ret = n->stats;
	ret->undecided = n->n_undecided;
	ret->representative = n->n_rep;
	ret->files = n->n_files;
	ret->accesses = n->n_accesses;
}
