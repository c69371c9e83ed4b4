#include "capture/node_tracer/tracer_int.h"

#include "base/io.h"
#include "base/os/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMESPACE_AGE 200000000LL /* ns: to look at a container's mounts takes 50 to 100 us */
#define TEXT_MAX 65536            /* of a process's arguments or environment, when they are read from /proc */

void tracer_emit(struct tracer *t, struct tracer_event *ev)
{
	t->told++;
	t->each(t->arg, ev);
}

/* Sets what is known of the process; TRACER_UNKNOWN where that is not all. */
void tracer_emit_of(struct tracer *t, struct tracer_event *ev, const struct proc *proc)
{
	ev->ppid = proc->ppid;
	ev->start = proc->start;
	ev->nexec = proc->nexec;
	ev->uid = proc->uid;
	ev->gid = proc->gid;
	ev->cgroup = proc->cgroup;
	ev->mntns = proc->mntns;
	ev->pidns = proc->pidns;
	memcpy(ev->comm, proc->comm, sizeof(ev->comm));
	if (proc->unknown)
		ev->flags |= TRACER_UNKNOWN;
	(void)t;
}

/* count: how many; lo and hi: between when. */
void tracer_emit_lost(struct tracer *t, int what, uint64_t count, int64_t lo, int64_t hi, const char *text)
{
	struct tracer_event ev = {.kind = TRACER_LOST, .lo = lo, .hi = hi};
	ev.lost.what = what;
	ev.lost.count = count;
	ev.lost.text = text;
	tracer_emit(t, &ev);
}

/* What it is counted to: the session it was in, so far as that has processes. */
static void set_session_root(struct tracer *t, struct proc *proc)
{
	const struct proc *leader = proc->sid ? procs_find(t->procs, (pid_t)proc->sid) : NULL;
	const struct proc *parent = procs_find(t->procs, proc->ppid);
	proc->root = proc->sid ? (pid_t)proc->sid : parent ? parent->root : proc->pid;
	proc->root_uid = leader ? leader->uid : proc->uid;
}

/* Copies who the process is. Its argument h says when it started. */
static void take_who(struct proc *proc, const struct rec_head *h, const struct rec_who *w)
{
	proc->start = h->start;
	proc->ppid = (pid_t)w->ppid;
	proc->uid = w->uid;
	proc->gid = w->gid;
	proc->sid = w->sid;
	proc->cgroup = w->cgroup;
}

/* Mounts of another mount namespace are looked for when a program starts there: nobody says when they change, and to
 * wait for it would keep the namespace, and so the mounts, alive. */
static void look_at_namespace(struct tracer *t, const struct proc *proc)
{
	size_t i = 0;
	uint32_t ns = proc->mntns;
	int64_t now = tracer_now(t);
	if (!t->watch || !ns || ns == t->namespaces[0].ns)
		return;
	while (i < t->nnamespaces && t->namespaces[i].ns != ns)
		i++;
	if (i < t->nnamespaces && now - t->namespaces[i].when < NAMESPACE_AGE && now >= t->namespaces[i].when)
		return;
	/* By whom its mounts are looked for, by him they are reached from then on: by the first of those above, then, which
	 * most often lasts as long as the namespace. A short program may be gone already. */
	const struct proc *up[32];
	size_t n = 0;
	for (; proc && proc->mntns == ns && n < sizeof(up) / sizeof(up[0]); proc = procs_find(t->procs, proc->ppid))
		up[n++] = proc;
	while (n && (up[n - 1]->left || !watch_mounts_of(t->watch, up[n - 1]->pid, ns)))
		n--;
	if (!n)
		return;
	if (i == sizeof(t->namespaces) / sizeof(t->namespaces[0]))
		i = t->nnamespaces = 1;
	if (i == t->nnamespaces)
		t->nnamespaces++;
	t->namespaces[i].ns = ns;
	t->namespaces[i].when = now;
}

/* Where the kernel does not tell of users, a fork shows that its parent has another. */
static void look_at_parent(struct tracer *t, const struct rec_who *w, int64_t time)
{
	struct proc *parent = t->users < 0 ? procs_find(t->procs, (pid_t)w->ppid) : NULL;
	if (!parent || parent->left || parent->uid == w->uid)
		return;
	parent->uid = w->uid;
	struct tracer_event ev = {.kind = TRACER_USER, .lo = time, .hi = time, .until = time, .pid = parent->pid};
	tracer_emit_of(t, &ev, parent);
	tracer_emit(t, &ev);
}

/* Adds the process. Beyond the limit it is told as lost. */
static void emit_fork(struct tracer *t, const struct rec_fork *r, int64_t time)
{
	struct tracer_event ev = {.kind = TRACER_FORK, .lo = time, .hi = time, .until = time, .pid = (pid_t)r->head.pid};
	look_at_parent(t, &r->who, time);
	/* A pid that is used again: what it meant before is told to have ended first. */
	if (procs_find(t->procs, ev.pid))
		for (size_t i = 0; i < t->nleaving; i++)
			if (t->leaving[i].pid == ev.pid && !t->leaving[i].told) {
				tracer_emit_exit(t, (const struct rec_exit *)(const void *)(t->leaving_records.p + t->leaving[i].at),
				                 t->leaving[i].time);
				t->leaving[i].told = true;
			}
	struct proc *proc = procs_add(t->procs, ev.pid);
	if (!proc) {
		tracer_emit_lost(t, TRACER_LOST_PROCESS, 1, time, time, "more processes than the limit");
		return;
	}
	take_who(proc, &r->head, &r->who);
	proc->mntns = r->mntns;
	proc->pidns = r->pidns;
	proc->exec_id = r->exec_id;
	proc->born = time;
	memcpy(proc->comm, r->comm, sizeof(proc->comm));
	proc->comm[TRACER_COMM - 1] = '\0';
	set_session_root(t, proc);
	proc->events++;
	tracer_emit_of(t, &ev, proc);
	tracer_emit(t, &ev);
}

/* Reads a file of a process; "" if it cannot. */
static size_t read_proc_file(struct tracer *t, pid_t pid, enum helper_file file, char *to, size_t room)
{
	int fd;
	if (helper_open(t->helper, pid, file, &fd) < 0)
		return 0;
	ssize_t n = io_read(fd, to, room);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

/* What is not known stays so. */
static bool read_proc_stat(struct tracer *t, pid_t pid, struct procfs *ret)
{
	char text[1024];
	procfs_clear(ret);
	text[read_proc_file(t, pid, HELPER_STAT, text, sizeof(text) - 1)] = '\0';
	return text[0] && procfs_parse_stat(text, ret) == 0;
}

/* Whether a process still runs what it ran: its start, and the end of its arguments are what was recorded. */
static bool is_still_running(struct tracer *t, pid_t pid, uint64_t start)
{
	struct procfs p;
	/* /proc has clock ticks */
	return read_proc_stat(t, pid, &p) && p.started / 10000000 == start / 10000000;
}

/* By the inode alone. Does pid run the program of that inode? False, too, if it cannot be looked at. */
static bool runs_program(struct tracer *t, pid_t pid, uint64_t ino)
{
	char path[PATH_MAX];
	struct fileid id; /* FUSE is not asked */
	int r;
	return helper_link(t->helper, pid, HELPER_EXE, 0, path, &r, &id) >= 0 && r == 0 && id.ino == ino;
}

/* What was too long for the ring, or not to be read, is asked of /proc, if the program is the same. */
static void complete_exec_texts(struct tracer *t, struct tracer_event *ev, const struct rec_exec *r, char **ret_args,
                                char **ret_env)
{
	bool args = r->args < r->args_all, env = r->env < r->env_all && !t->o.no_env;
	const struct proc *proc = procs_find(t->procs, ev->pid);
	if ((!args && !env) || !proc || !is_still_running(t, ev->pid, r->head.start) || !runs_program(t, ev->pid, r->ino))
		return;
	if (args && (*ret_args = malloc(TEXT_MAX))) {
		size_t n = read_proc_file(t, ev->pid, HELPER_CMDLINE, *ret_args, TEXT_MAX);
		if (n > ev->exec.argv.n && (ev->exec.argv.n == 0 || !memcmp(*ret_args, ev->exec.argv.p, ev->exec.argv.n)))
			ev->exec.argv = str_n(*ret_args, n);
	}
	if (env && (*ret_env = malloc(TEXT_MAX))) {
		size_t n = read_proc_file(t, ev->pid, HELPER_ENVIRON, *ret_env, TEXT_MAX);
		if (n > ev->exec.env.n)
			ev->exec.env = str_n(*ret_env, n);
	}
	/* It may have become another program between the looks. */
	if (!is_still_running(t, ev->pid, r->head.start) || !runs_program(t, ev->pid, r->ino)) {
		struct exec_strings s;
		exec_strings(r, &s);
		ev->exec.argv = s.args;
		ev->exec.env = s.env;
	}
}

/* The process that executed something, made if its fork was lost. NULL: no room. */
static struct proc *take_exec(struct tracer *t, const struct rec_exec *r, int64_t time)
{
	struct proc *proc = procs_find(t->procs, (pid_t)r->head.pid);
	if (!proc || proc->start != r->head.start) {
		proc = procs_add(t->procs, (pid_t)r->head.pid);
		if (!proc)
			return NULL;
		proc->exec_id = r->exec_id - 1;
	}
	take_who(proc, &r->head, &r->who);
	proc->mntns = r->mntns;
	proc->pidns = r->pidns;
	/* More than one where records were lost; of a process found in /proc the kernel's count is not known yet. */
	uint32_t more = r->exec_id - proc->exec_id;
	proc->nexec += proc->exec_id && more > 0 && more < 1000 ? more : 1;
	proc->exec_id = r->exec_id;
	proc->last_exec = time;
	proc->unknown = false;
	proc->events++;
	return proc;
}

/* What the kernel calls the process after it executed `name`. */
static void set_command(struct proc *proc, struct str name)
{
	const char *base = memrchr(name.p, '/', name.n);
	base = base ? base + 1 : name.p;
	size_t len = (size_t)(name.p + name.n - base);
	memset(proc->comm, 0, sizeof(proc->comm));
	memcpy(proc->comm, base, len < TRACER_COMM - 1 ? len : TRACER_COMM - 1);
}

/* The process is another program: its file, arguments and variables as far as they could be read, else from /proc.
 * Flags say what lacks. */
static void emit_exec(struct tracer *t, const struct rec_exec *r, int64_t time)
{
	struct tracer_event ev = {.kind = TRACER_EXEC, .lo = time, .hi = time, .until = time, .pid = (pid_t)r->head.pid};
	struct exec_strings s;
	struct proc *proc = take_exec(t, r, time);
	size_t n;
	if (!proc) {
		tracer_emit_lost(t, TRACER_LOST_PROCESS, 1, time, time, "more processes than the limit");
		return;
	}
	set_session_root(t, proc);
	exec_strings(r, &s);
	if (s.name.n)
		set_command(proc, s.name);
	tracer_emit_of(t, &ev, proc);
	ev.exec.exe = (struct tracer_fileid){
	    .dev = dev_of_kernel(r->dev), .ino = r->ino, .i_gen = r->gen, .mode = r->ino ? S_IFREG : 0};
	places_gen(t->places, &ev.exec.exe);
	if (r->head.flags & (REC_CUT_ARGS | REC_CUT_ENV | REC_CUT_PATH))
		ev.flags |= TRACER_CUT;
	if (r->head.flags & (REC_UNREAD | REC_NO_ROOM))
		ev.flags |= TRACER_UNREAD;
	if (s.exe.n && path_of_parts(s.exe, t->exe, sizeof(t->exe), &n))
		ev.exec.exe_path = str_n(t->exe, n);
	if (r->cwd || (!(r->head.flags & REC_NO_ROOM))) {
		if (path_of_parts(s.cwd, t->cwd, sizeof(t->cwd), &n))
			ev.exec.cwd = str_n(t->cwd, n);
	}
	ev.exec.name = s.name;
	ev.exec.argv = s.args;
	ev.exec.env = s.env;
	ev.exec.argv_bytes = r->args_all;
	ev.exec.env_bytes = r->env_all;
	char *args = NULL, *env = NULL;
	complete_exec_texts(t, &ev, r, &args, &env);
	if (ev.exec.argv.n >= r->args_all && (ev.exec.env.n >= r->env_all || t->o.no_env) &&
	    !(r->head.flags & REC_CUT_PATH))
		ev.flags &= ~(uint32_t)(TRACER_CUT | TRACER_UNREAD);
	tracer_emit(t, &ev);
	free(args);
	free(env);
	look_at_namespace(t, proc);
	if (t->access)
		access_turn(t->access);
}

/* Bytes and ns; the process stays known. */
void tracer_emit_exit(struct tracer *t, const struct rec_exit *r, int64_t time)
{
	struct tracer_event ev = {.kind = TRACER_EXIT, .lo = time, .hi = time, .until = time, .pid = (pid_t)r->head.pid};
	const struct proc *proc = procs_find(t->procs, ev.pid);
	if (proc && proc->start == r->head.start)
		tracer_emit_of(t, &ev, proc);
	else {
		ev.start = r->head.start;
		ev.flags |= TRACER_UNKNOWN;
	}
	if (r->head.flags & REC_UNSEEN)
		ev.flags |= TRACER_UNSEEN;
	static long page;
	if (!page)
		page = sysconf(_SC_PAGESIZE);
	ev.exit.status = r->status;
	ev.exit.threads = r->threads;
	ev.exit.usage = (struct tracer_usage){.cpu = r->cpu,
	                                      .user = r->user,
	                                      .system = r->system,
	                                      .rss = (uint64_t)r->rss * (uint64_t)page,
	                                      .rchar = r->rchar,
	                                      .wchar = r->wchar,
	                                      .read_bytes = r->read_bytes,
	                                      .write_bytes = r->write_bytes,
	                                      .minor = r->minor,
	                                      .major = r->major,
	                                      .io_known = (r->head.flags & REC_IO) != 0,
	                                      .whole = !(r->head.flags & REC_PART)};
	tracer_emit(t, &ev);
}

/* An exit waits for the closes that it causes. */
static void keep_exit(struct tracer *t, const struct rec_exit *r, int64_t time)
{
	if (t->nleaving == t->leaving_cap) {
		size_t cap = t->leaving_cap ? 2 * t->leaving_cap : 64;
		struct leaving *more = realloc(t->leaving, cap * sizeof(*more));
		if (!more) {
			tracer_emit_exit(t, r, time);
			return;
		}
		t->leaving = more;
		t->leaving_cap = cap;
	}
	size_t at = t->leaving_records.n;
	buf_add(&t->leaving_records, r, sizeof(*r));
	if (t->leaving_records.failed) {
		t->leaving_records.failed = false;
		tracer_emit_exit(t, r, time);
		return;
	}
	t->leaving[t->nleaving++] =
	    (struct leaving){.at = at, .size = sizeof(*r), .time = time, .pid = (pid_t)r->head.pid, .start = r->head.start};
	if (t->access)
		access_turn(t->access);
}

/* The files that a process has open; at_exit: when it ended. */
static void emit_descriptors(struct tracer *t, const struct rec_fds *r, int64_t time)
{
	struct tracer_event ev = {.kind = TRACER_FDS, .lo = time, .hi = time, .until = time, .pid = (pid_t)r->head.pid};
	struct tracer_fd fds[REC_FDS_MAX];
	const struct proc *proc = procs_find(t->procs, ev.pid);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct rec_fd *f = &r->fd[i];
		fds[i] =
		    (struct tracer_fd){.fd = f->fd,
		                       .opened = f->opened,
		                       .pos = f->pos,
		                       .file = {.dev = dev_of_kernel(f->dev), .ino = f->ino, .i_gen = f->gen, .mode = f->mode}};
		places_gen(t->places, &fds[i].file);
	}
	if (proc)
		tracer_emit_of(t, &ev, proc);
	else {
		ev.start = r->head.start;
		ev.flags |= TRACER_UNKNOWN;
	}
	ev.fds.at_exit = (r->head.flags & REC_AT_EXIT) != 0;
	ev.fds.cut = (r->head.flags & REC_CUT_FDS) != 0;
	ev.fds.fd = fds;
	ev.fds.n = r->n;
	tracer_emit(t, &ev);
}

/* Tells that a process has become another user's. That of an exec or a fork says so itself; what does not change
 * anything is not told. The group is not in it. */
static void emit_user(struct tracer *t, const struct rec_user *r, int64_t time)
{
	struct proc *proc = procs_find(t->procs, (pid_t)r->head.pid);
	if (!proc || proc->left || proc->uid == r->uid)
		return;
	proc->uid = r->uid;
	struct tracer_event ev = {.kind = TRACER_USER, .lo = time, .hi = time, .until = time, .pid = proc->pid};
	tracer_emit_of(t, &ev, proc);
	tracer_emit(t, &ev);
}

/* A kind that is not known is passed over. */
void tracer_emit_record(struct tracer *t, const void *record, size_t size, int64_t time)
{
	const struct rec_head *h = record;
	(void)size; /* sound, by record_is_sound() */
	switch (h->kind) {
	case REC_FORK:
		emit_fork(t, record, time);
		break;
	case REC_EXEC:
		emit_exec(t, record, time);
		break;
	case REC_EXIT:
		keep_exit(t, record, time);
		break;
	case REC_FDS:
		emit_descriptors(t, record, time);
		break;
	case REC_URING: {
		struct tracer_event ev = {.kind = TRACER_URING, .lo = time, .hi = time, .until = time, .pid = (pid_t)h->pid};
		const struct proc *proc = procs_find(t->procs, ev.pid);
		ev.start = h->start;
		if (proc)
			tracer_emit_of(t, &ev, proc);
		else
			ev.flags |= TRACER_UNKNOWN;
		tracer_emit(t, &ev);
		break;
	}
	case REC_USER:
		emit_user(t, record, time);
		break;
	default:
		break;
	}
}

/* What is done to directories counts where it changes names. */
bool notice_counts(const struct tracer *t, const struct notice *n)
{
	(void)t;
	return !(n->mask & FAN_ONDIR) || (n->mask & (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_RENAME));
}

/* directory/name into `to`. False: it does not fit. */
static bool join_directory(char *to, size_t room, struct str dir, struct str name, struct str *ret)
{
	if (dir.n + 1 + name.n + 1 > room)
		return false;
	size_t n = dir.n;
	memcpy(to, dir.p, n);
	if (!(n == 1 && to[0] == '/'))
		to[n++] = '/';
	if (name.n)
		memcpy(to + n, name.p, name.n);
	n += name.n;
	to[n] = '\0';
	*ret = str_n(to, n);
	return true;
}

/* The path of a name in a directory. False: it cannot be told, and *ret_why says why; the text stays. */
static bool place_name(struct tracer *t, struct place *at, const struct handle *dir, struct str name, char *to,
                       size_t room, struct tracer_fileid *ret_dir, struct str *ret, const char **ret_why)
{
	struct str path;
	places_id(t->places, at, dir, ret_dir);
	if (!places_dir(t->places, at, dir, &path, ret_why))
		return false;
	if (join_directory(to, room, path, name, ret))
		return true;
	*ret_why = "its path is too long";
	return false;
}

/* Is it one of the folders that are not watched, or below one? */
static bool is_ignored_path(const struct tracer *t, struct str path)
{
	for (size_t i = 0; i < t->nignore; i++) {
		struct str below = t->ignore[i];
		if (str_starts(path, below) && (path.n == below.n || path.p[below.n] == '/' || below.p[below.n - 1] == '/'))
			return true;
	}
	return false;
}

/* Its path now: by the folder and the name, else by the file alone. False: it has none, and ev says why. */
static bool name_notice(struct tracer *t, struct tracer_event *ev, const struct notice *n, struct place *at)
{
	bool named;
	if (n->dir.bytes && n->name.n && !str_is(n->name, ".")) {
		ev->file.name = n->name;
		named =
		    place_name(t, at, &n->dir, n->name, t->path, sizeof(t->path), &ev->file.dir, &ev->file.path, &ev->file.why);
	} else {
		named = n->object.bytes && places_path(t->places, at, &n->object, &ev->file.path, &ev->file.why);
	}
	if (!named) {
		ev->flags |= TRACER_NO_PATH;
		if (!ev->file.why)
			ev->file.why = "it has no name";
	}
	return named;
}

/* Finds the former name of a rename: the name that it had. */
static void name_before(struct tracer *t, struct tracer_event *ev, const struct notice *n, struct place *at)
{
	struct tracer_fileid from;
	const char *why;
	struct str old;
	if (place_name(t, at, &n->old_dir, n->old_name, t->old_path, sizeof(t->old_path), &from, &old, &why)) {
		ev->file.old_path = old;
		ev->file.old_dir = from;
	}
}

/* A directory that changed its name changed that of all below it. */
static void learn_directory(struct tracer *t, const struct tracer_event *ev, const struct notice *n, struct place *at,
                            bool named)
{
	bool rename = (n->mask & FAN_RENAME) != 0;
	if (n->mask & (FAN_RENAME | FAN_MOVED_FROM | FAN_MOVED_TO))
		places_renamed(t->places, ev->file.old_path, rename && named ? ev->file.path : (struct str){0});
	if (named && n->object.bytes && (n->mask & (FAN_RENAME | FAN_CREATE)))
		places_learn(t->places, at, &n->object, ev->file.path);
}

/* Identifies a file by its name: before Linux 5.17 what was made is known by its name only. False: it is not there.
 */
static bool identify_by_name(struct tracer *t, struct tracer_event *ev)
{
	struct fileid id;
	if (helper_find(t->helper, ev->file.path.p, NULL, &id) != 0)
		return false;
	ev->file.id = (struct tracer_fileid){
	    .dev = fileid_dev(&id.st), .ino = id.ino, .gen = id.gen, .mode = id.st.stx_mode & S_IFMT};
	return true;
}

/* Size and time of a file that was opened, made or closed by a writer. */
static void add_state(struct tracer *t, struct tracer_event *ev, const struct notice *n, struct place *at)
{
	struct place_state s;
	if (!(ev->file.ops & (TRACER_OPENED | TRACER_CLOSED_WRITE | TRACER_CREATED)))
		return;
	if (places_state(t->places, at, &n->object, (ev->file.ops & TRACER_CLOSED_WRITE) != 0, ev->hi, &s)) {
		ev->file.id.mode = s.id.mode;
		ev->file.have_state = s.id.mode == S_IFREG;
		ev->file.size = s.size;
		ev->file.mtime = s.mtime;
		ev->file.looked = s.looked + t->offset;
	}
}

void tracer_emit_notice(struct tracer *t, struct tracer_event *ev, const struct notice *n, const struct proc *proc)
{
	bool rename = (n->mask & FAN_RENAME) != 0;
	const struct handle *any = n->object.bytes ? &n->object : &n->dir;
	struct place *at = places_find(t->places, any->fsid);
	ev->kind = rename ? TRACER_RENAME : TRACER_FILE;
	ev->pid = n->pid;
	ev->file.ops = watch_ops(n->mask);
	ev->file.directory = (n->mask & FAN_ONDIR) != 0;
	if (rename)
		ev->file.ops |= TRACER_MOVED_FROM | TRACER_MOVED_TO;
	else if (ev->file.directory) /* its openings are no access to what it holds */
		ev->file.ops &= ~(uint32_t)(TRACER_OPENED | TRACER_CLOSED_READ | TRACER_CLOSED_WRITE);
	if (proc)
		tracer_emit_of(t, ev, proc);
	else
		ev->flags |= TRACER_UNKNOWN;
	if (!at) {
		ev->flags |= TRACER_NO_PATH | TRACER_NO_ID;
		ev->file.why = "its file system is not known";
		tracer_emit(t, ev);
		return;
	}
	ev->file.domain = at->domain;
	if (at->alias)
		ev->flags |= TRACER_ALIAS;
	bool have = n->object.bytes && places_id(t->places, at, &n->object, &ev->file.id);
	if (rename && n->old_dir.bytes)
		name_before(t, ev, n, at);
	bool named = name_notice(t, ev, n, at);
	if (ev->file.directory)
		learn_directory(t, ev, n, at, named);
	if (named && is_ignored_path(t, ev->file.path) &&
	    !(rename && ev->file.old_path.n && !is_ignored_path(t, ev->file.old_path)))
		return;
	if (!have && named && !(n->mask & (FAN_DELETE | FAN_MOVED_FROM)))
		have = identify_by_name(t, ev);
	if (!have)
		ev->flags |= TRACER_NO_ID;
	if (ev->file.directory)
		ev->file.id.mode = S_IFDIR;
	else if (have && n->object.bytes && !t->o.no_state)
		add_state(t, ev, n, at);
	tracer_emit(t, ev);
}

/* Numbers of a user or group line of /proc/PID/status: the second is the effective one. */
static uint32_t status_id(const char *text, const char *word)
{
	unsigned real, effective;
	const char *p = strstr(text, word);
	return p && sscanf(p + strlen(word), "%u %u", &real, &effective) == 2 ? effective : 0;
}

/* The number of the process's namespace that the link leads to; 0: not known. */
static uint32_t namespace_of(struct tracer *t, pid_t pid, enum helper_link which)
{
	char to[PATH_MAX];
	unsigned n = 0;
	if (helper_link(t->helper, pid, which, 0, to, NULL, NULL) > 0)
		sscanf(strchr(to, '[') ? strchr(to, '[') : "", "[%u]", &n);
	return n;
}

struct proc *tracer_find_proc(struct tracer *t, pid_t pid)
{
	char text[4096];
	struct procfs p;
	if (pid <= 0 || !read_proc_stat(t, pid, &p))
		return NULL;
	size_t n = read_proc_file(t, pid, HELPER_STATUS, text, sizeof(text) - 1);
	text[n] = '\0';
	unsigned tgid = 0;
	const char *line = strstr(text, "\nTgid:");
	if (!line || sscanf(line, "\nTgid: %u", &tgid) != 1 || (pid_t)tgid != pid)
		return NULL;
	struct proc *proc = procs_add(t->procs, pid);
	if (!proc)
		return NULL;
	proc->ppid = p.ppid;
	proc->start = p.started;
	proc->uid = status_id(text, "\nUid:");
	proc->gid = status_id(text, "\nGid:");
	proc->mntns = namespace_of(t, pid, HELPER_MNT);
	proc->pidns = namespace_of(t, pid, HELPER_PIDNS);
	proc->sid = (uint32_t)getsid(pid) == (uint32_t)-1 ? 0 : (uint32_t)getsid(pid);
	proc->unknown = true;
	sscanf(text, "Name: %15[^\n]", proc->comm);
	set_session_root(t, proc);
	return proc;
}

/* Tells of a process that lives when the tracer begins, unless it is known already or the daemon's own. What cannot
 * be read is left out. */
static void emit_one_alive(struct tracer *t, pid_t pid, char *args, char *env)
{
	char path[PATH_MAX];
	struct fileid id;
	ssize_t n;
	int have = -1;
	if (pid == t->own || pid == t->own_helper || procs_find(t->procs, pid))
		return;
	struct proc *proc = tracer_find_proc(t, pid);
	if (!proc)
		return;
	proc->unknown = false;
	int64_t now = tracer_now(t);
	struct tracer_event ev = {.kind = TRACER_ALIVE, .lo = now, .hi = now, .until = now, .pid = pid};
	tracer_emit_of(t, &ev, proc);
	if ((n = helper_link(t->helper, pid, HELPER_EXE, 0, path, &have, &id)) > 0) {
		memcpy(t->exe, path, (size_t)n + 1);
		ev.exec.exe_path = str_n(t->exe, (size_t)n);
		if (have == 0)
			ev.exec.exe = (struct tracer_fileid){
			    .dev = fileid_dev(&id.st), .ino = id.ino, .gen = id.gen, .mode = id.st.stx_mode & S_IFMT};
	} else if (t->o.no_alive || proc->ppid == 2 || pid == 2)
		return; /* of the kernel */
	if ((n = helper_link(t->helper, pid, HELPER_CWD, 0, path, NULL, NULL)) > 0) {
		memcpy(t->cwd, path, (size_t)n + 1);
		ev.exec.cwd = str_n(t->cwd, (size_t)n);
	}
	ev.exec.argv = str_n(args, read_proc_file(t, pid, HELPER_CMDLINE, args, TEXT_MAX));
	ev.exec.env = str_n(env, t->o.no_env ? 0 : read_proc_file(t, pid, HELPER_ENVIRON, env, TEXT_MAX));
	ev.exec.argv_bytes = (uint32_t)ev.exec.argv.n;
	ev.exec.env_bytes = (uint32_t)ev.exec.env.n;
	if (!t->o.no_alive)
		tracer_emit(t, &ev);
	look_at_namespace(t, proc);
}

/* Tells of all that live now. */
void tracer_emit_alive(struct tracer *t)
{
	int32_t pids[HELPER_PIDS];
	char *args = malloc(TEXT_MAX), *env = malloc(TEXT_MAX);
	bool more = true;
	for (bool first = true; more && args && env; first = false) {
		int n = helper_pids(t->helper, first, pids, &more);
		for (int i = 0; i < n; i++)
			emit_one_alive(t, pids[i], args, env);
		more = more && n > 0;
	}
	free(args);
	free(env);
}
