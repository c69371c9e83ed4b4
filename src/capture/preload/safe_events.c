/* Events of the library, told as events of the log: processes, programs, accesses, names. What comes here is what the
 * job's processes put into their memory, so no number of theirs is an index, and no process is believed about another
 * one but its own children. */
#include "capture/preload/safe_int.h"
#include "capture/supervisor/channels/sockets.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the events ---- */

/* Whose the event is; made if what began it was lost. */
static struct sproc *find_or_add_sproc(struct safe *f, const struct safe_event *e)
{
	struct sproc *p = sproc_by_image(f, e->pid, e->image);
	if (p || e->kind == SAFE_IMAGE || e->kind == SAFE_BORN)
		return p;
	p = sproc_add(f, e->pid, e->image, NULL, e->time, e->time, 0, 0);
	if (p)
		sup_gap(f->s, p->p, TERM_gap_lost, 0, "its start was lost");
	return p;
}

/* One that was found before its birth was told, and which this birth tells of. It may have had no turn yet, or be over
 * already and only wait for its parent: then the kernel has no program to name any more. */
static bool is_born_late(const struct safe *f, const struct sproc *p, int64_t forked, int64_t told)
{
	int64_t per = 1000000000 / f->s->hz, low = p->low + f->s->clock_offset, high = p->high + f->s->clock_offset;
	return p->alive && !p->ended && p->found && !p->image && (!p->intent.set || p->intent.seen) &&
	       high >= forked - 2 * per && low <= told + 2 * per;
}

/* A copy that the caller frees; NULL for NULL and without memory. */
static char *copy_or_null(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* Begins a program of a process: it speaks for itself from here on. What it has of its parent it has as of the fork.
 */
static void sproc_start_image(struct sproc *p, const struct sproc *parent, uint32_t image)
{
	sproc_intent_drop(p);
	p->image = image;
	p->lone = p->found = false;
	if (!parent)
		return;
	free(p->p->cwd);
	free(p->root);
	jobserver_release(&p->p->jobserver);
	p->p->cwd = copy_or_null(parent->p->cwd);
	p->root = copy_or_null(parent->root);
	p->ns = parent->ns;
	p->p->jobserver = jobserver_copy(&parent->p->jobserver);
	p->p->uid = parent->p->uid;
	p->p->gid = parent->p->gid;
}

/* A process was forked. Where its parent has something mapped to be written, it has, too. */
static void handle_born_event(struct safe *f, const struct safe_seen *x)
{
	struct safe_birth birth;
	memcpy(&birth, x->more, sizeof(birth));
	bool ours = !birth.pidns || birth.pidns == f->pidns;
	int64_t forked = x->e.time, told = x->e.time - f->s->clock_offset; /* the clock that birth.since is of */
	if (birth.since <= told && birth.since >= told - 60000000000)
		forked = birth.since + f->s->clock_offset;
	struct sproc *old = sproc_by_pid_of(f, x->e.pid, ours ? f->pidns : birth.pidns),
	             *parent = sproc_by_image(f, (uint32_t)x->e.a, (uint32_t)x->e.b);
	struct sproc *p;
	if (old && is_born_late(f, old, forked, x->e.time)) {
		sproc_start_image(p = old, parent, x->e.image);
	} else {
		if (old && old->alive)
			sproc_dead(f, old);
		p = sproc_add(f, x->e.pid, x->e.image, parent, x->e.time, forked, 0, birth.pidns);
	}
	if (!p || !parent || x->e.fd == 1)
		return;
	/* What the parent has mapped to write is mapped in the child too, with no descriptor to show for it. */
	struct access *next;
	for (struct access *a = parent->p->live; a; a = next) {
		next = a->proc_next;
		if (a->mapped) {
			p->p->nsince = 0;
			access_begin(f->s, p->p, a->file, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, TERM_via_descriptor, false,
			             TERM_api_mmap, forked, NULL);
		}
	}
}

/* A program began in a process: what it executed before has ended. */
static void handle_image_event(struct safe *f, const struct safe_seen *x)
{
	struct sup *s = f->s;
	uint64_t more[4];
	char room[2 * SAFE_ROOM];
	memcpy(more, x->more, sizeof(more));
	bool ours = !more[0] || more[0] == f->pidns;
	struct sproc *p = sproc_by_pid_of(f, x->e.pid, ours ? f->pidns : more[0]);
	/* Its start is not known, or not what it says. */
	int64_t per = 1000000000 / s->hz, now = x->e.time - s->clock_offset;
	uint64_t ticks = x->e.b <= (uint64_t)(now / per) ? x->e.b : 0;
	if (p && (!p->alive || (ticks && !sproc_began(f, p, ticks)))) {
		if (p->alive)
			sproc_dead(f, p);
		p = NULL;
	}
	int64_t time = p && p->intent.set && !p->intent.seen ? p->intent.time : x->e.time;
	if (!p) {
		struct sproc *parent = ours ? sproc_by_pid(f, (uint32_t)x->e.a) : NULL;
		int64_t forked = ticks ? (int64_t)ticks * per + s->clock_offset : x->e.time;
		p = sproc_add(f, x->e.pid, x->e.image, parent, x->e.time, forked, ticks, more[0]);
		if (!p)
			return;
	} else if (!p->ended) {
		sproc_begins(f, p);
		sproc_image_end(f, p, time, p->intent.proved);
	} else {
		p->ended = false; /* it was about to end, and did not */
		s->nprocs++;
	}
	buf_reset(&p->given);
	p->ngiven = 0;
	if (p->intent.set && !p->intent.seen) {
		buf_str(&p->given, buf_view(&p->intent.argv));
		p->ngiven = p->intent.argc;
	}
	sproc_intent_drop(p);
	p->image = x->e.image;
	p->lone = false;
	p->ns = more[1] && more[1] != s->mnt_ns ? more[1] : 0;
	bool other = x->stat[1].ino != s->root_ino || ((uint64_t)x->stat[1].major << 32 | x->stat[1].minor) != s->root_dev;
	if (!other || p->ns) {
		free(p->root);
		p->root = NULL;
	} else if (!p->root) {
		p->root = strdup("root:[?]:"); /* it was changed where nobody saw it */
	}
	if (other || p->ns || !p->ours)
		sup_gap(s, p->p, TERM_gap_namespace, 0, "paths or numbers of another namespace");
	p->begins.set = p->starts = true;
	p->begins.time = time;
	p->begins.exe = sproc_file(f, p, &x->stat[0], x->str[0]);
	p->begins.script = NULL;
	if (p->begins.exe) {
		struct fingerprint fp = safe_print(&x->stat[0]);
		p->begins.exe->pins++;
		file_state(s, p->begins.exe, &fp);
	}
	free(p->begins.cwd);
	p->begins.cwd = strdup(sproc_text(x->str[1], room, sizeof(room)));
	p->begins.uid = (uint32_t)more[2];
	p->begins.gid = (uint32_t)more[3];
	for (int i = 0; i < SAFE_LISTS; i++)
		text_reset(&p->list[i]);
}

/* Tells that a file got a name or lost it. op: TERM_nameop; old: the name before, or NULL. Nothing for a file
 * without a path. */
static void sproc_emit_name(struct safe *f, struct sproc *p, unsigned op, const struct file *file, const char *path,
                            const char *old, int64_t time)
{
	if (!path || !*path)
		return;
	struct event ev = {.name = {.op = op, .file = file->num, .path = str_of(path), .old = str_of(old)}};
	sup_event(f->s, EVENT_name, time, p->p, &ev);
}

/* ACCESS_ bits of the flags of open. */
static unsigned access_mode_of_flags(uint64_t flags)
{
	unsigned acc = (unsigned)flags & O_ACCMODE;
	return (acc == O_RDONLY || acc == O_RDWR ? ACCESS_READ : 0u) |
	       (acc == O_WRONLY || acc == O_RDWR ? ACCESS_WRITE : 0u);
}

/* Begins an access of a process of `--capture=safe`, of which all closes are seen. As access_begin. As access_begin,
 * of a process of which all closes are seen. */
static struct access *begin_sproc_access(struct safe *f, struct sproc *p, struct file *file, unsigned mode,
                                         unsigned via, bool sure, unsigned api, int64_t time,
                                         const struct fingerprint *before)
{
	p->p->nsince = 0; /* closes are seen: nothing is to be looked for */
	return access_begin(f->s, p->p, file, mode, via, sure, api, time, before);
}

/* The process opened a file. Folders are not told of. */
static void handle_open_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = sproc_file(f, p, &x->stat[0], x->str[0]);
	if (!file || file->kind == TERM_kind_directory || file->kind == TERM_kind_symlink)
		return;
	unsigned mode = access_mode_of_flags(x->e.a), flags = (unsigned)x->e.a;
	struct fingerprint after = safe_print(&x->stat[0]), before = safe_print(&x->stat[1]);
	bool created = x->e.b & SAFE_CREATED;
	if (flags & O_TRUNC)
		mode |= ACCESS_TRUNC | ACCESS_WRITE;
	if (flags & O_APPEND)
		mode |= ACCESS_APPEND;
	struct ident *i = ident_add(p, x->e.oid);
	if (file->kind == TERM_kind_pseudo) {
		if (mode & ACCESS_READ)
			begin_sproc_access(f, p, file, ACCESS_READ, TERM_via_data, true, TERM_api_open, x->e.time, NULL);
		return;
	}
	if (file->kind == TERM_kind_terminal) {
		struct access *a[2] = {NULL, NULL};
		for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
			if (mode & bit)
				a[bit == ACCESS_WRITE] = begin_sproc_access(f, p, file, bit, TERM_via_data, bit == (mode & 3),
				                                            TERM_api_open, x->e.time, NULL);
		ident_uses(p, i, a[0], a[1]);
		return;
	}
	if (created) {
		mode = (mode & ~ACCESS_TRUNC) | ACCESS_CREATE;
		if (!(x->e.b & SAFE_TMPFILE))
			sproc_emit_name(f, p, TERM_nameop_create, file, file->path, NULL, x->e.time);
	}
	const struct fingerprint *fp = file->kind != TERM_kind_regular || created ? NULL
	                               : flags & O_TRUNC                          ? (before.known ? &before : NULL)
	                                                                          : &after;
	struct access *a = begin_sproc_access(f, p, file, mode, TERM_via_data, true, TERM_api_open, x->e.time, fp);
	if (!a)
		return;
	/* What a truncating open left is what a later look is compared with. */
	if ((flags & O_TRUNC) || created)
		a->before = after;
	ident_uses(p, i, a->mode & ACCESS_READ ? a : NULL, a->mode & ACCESS_WRITE ? a : NULL);
}

/* The process has a descriptor that it was handed. */
static void handle_held_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = sproc_file(f, p, &x->stat[0], x->str[0]);
	unsigned mode = access_mode_of_flags(x->e.a);
	if (!file || file->kind == TERM_kind_pseudo || file->kind == TERM_kind_directory)
		return;
	struct held h = {.file = file, .mode = mode, .fd = x->e.fd};
	if (file->kind == TERM_kind_regular)
		h.print = safe_print(&x->stat[0]);
	struct ident *i = ident_add(p, x->e.oid);
	p->p->nsince = 0;
	/* Make's tokens, if the program was handed them: descriptors are told one by one, so one end has to do here. */
	struct jobserver *j = &p->p->jobserver;
	if (p->starts && file->kind == TERM_kind_pipe &&
	    ((h.fd == j->fds[0] && mode == ACCESS_READ) || (h.fd == j->fds[1] && mode == ACCESS_WRITE)))
		j->pipe = file->ino;
	/* Since the program began; what it got later it has since then. */
	proc_hold_met(f->s, p->p, &h, 1, p->p->exec_start > x->e.time - 5000000 ? p->p->exec_start : x->e.time);
	bool sync = x->e.fd == 2 && file->kind == TERM_kind_terminal;
	ident_uses(p, i, mode & ACCESS_READ ? sproc_live(p, file, ACCESS_READ, sync) : NULL,
	           mode & ACCESS_WRITE ? sproc_live(p, file, ACCESS_WRITE, sync) : NULL);
}

/* A descriptor was closed, or is looked at at a program's end. */
static void handle_close_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct ident *i = ident_of(p, x->e.oid);
	if (!i)
		return;
	struct use *u = i->use[1];
	if (u) {
		u->shot = !(x->stat[0].flags & SAFE_HAS_NOT);
		u->print = safe_print(&x->stat[0]);
		u->flushes |= x->e.a == SAFE_FLUSHES;
		u->may_flush |= x->e.a == SAFE_MAY_FLUSH;
	}
	if (x->e.a != SAFE_CLOSED)
		return;
	if (i->refs > 1)
		i->refs--;
	else
		ident_end(f, p, i, x->e.time);
}

/* The process mapped a file. */
static void handle_map_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct ident *i = ident_of(p, x->e.oid);
	struct use *r = i ? i->use[0] : NULL;
	int64_t at = x->e.time - f->s->clock_offset;
	struct safe_row row = {
	    .api = TERM_ioapi_mmap, .calls = 1, .bytes = x->e.b, .largest = x->e.b, .first = at, .last = at};
	if (r && r->a) {
		r->loaded = true;
		use_add(f, r, &row);
	}
	if (!x->e.a || !i || !i->use[1] || !i->use[1]->a)
		return;
	i->use[1]->mapped = true;
	struct file *file = i->use[1]->a->file;
	struct fingerprint fp = safe_print(&x->stat[0]);
	unsigned via = file->kind == TERM_kind_regular ? TERM_via_data : TERM_via_shm;
	begin_sproc_access(f, p, file, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, via, true, TERM_api_mmap, x->e.time,
	                   file->kind == TERM_kind_regular && fp.known ? &fp : NULL);
}

/* A folder was renamed: gives the known files below it their new paths. Without memory one keeps its old path. */
static void rename_files_below(struct safe *f, const char *old, const char *new)
{
	size_t n = strlen(old);
	for (unsigned i = 0; i < HASH_SIZE; i++)
		for (struct file *g = f->s->files[i]; g; g = g->next)
			if (g->path && !strncmp(g->path, old, n) && g->path[n] == '/') {
				char *path;
				if (asprintf(&path, "%s%s", new, g->path + n) >= 0) {
					file_rename(f->s, g, path);
					free(path);
				}
			}
}

/* Emits the new name, and renames the file and, if it is a folder, all below it. */
static void handle_moved_file(struct safe *f, struct sproc *p, struct file *file, const char *old, const char *new,
                              int64_t time)
{
	sproc_emit_name(f, p, TERM_nameop_rename, file, new, old, time);
	file_rename(f->s, file, new);
	if (file->kind == TERM_kind_directory)
		rename_files_below(f, old, new);
}

/* A file got, changed or lost a name. Of an exchange three renames are told. */
static void handle_name_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	char a[2 * SAFE_ROOM], b[2 * SAFE_ROOM];
	int64_t time = x->e.time;
	struct safe_stat st = x->stat[0];
	/* Where they are two names of one file, after the call the second is there; before it, the first was. */
	struct statx now = safe_statx(&st);
	sproc_path(p, x->str[0], NULL, a, sizeof(a));
	sproc_path(p, x->str[1], x->str[1].n ? &now : NULL, b, sizeof(b));
	struct file *file = sproc_file(f, p, &st, x->str[0]);
	if (!file || !a[0])
		return;
	if (x->e.a == SAFE_MAKE) {
		sproc_emit_name(f, p, TERM_nameop_create, file, a, NULL, time);
		return;
	}
	file->pins++;
	struct file *victim = sproc_file(f, p, &x->stat[1], x->str[1]);
	if (victim)
		victim->pins++;
	if (victim == file && x->e.a != SAFE_UNLINK) {
		/* Two names of one file: nothing is done. */
	} else if (x->e.a == SAFE_EXCHANGE && victim) {
		char between[2 * SAFE_ROOM + 32];
		snprintf(between, sizeof(between), "%s/.stemma-exchange", a);
		handle_moved_file(f, p, file, a, between, time);
		handle_moved_file(f, p, victim, b, a, time);
		handle_moved_file(f, p, file, between, b, time);
	} else if (x->e.a == SAFE_RENAME || x->e.a == SAFE_EXCHANGE) {
		if (victim)
			sproc_emit_name(f, p, TERM_nameop_replace, victim, b, NULL, time);
		handle_moved_file(f, p, file, a, b, time);
	} else if (x->e.a == SAFE_LINK) {
		sproc_emit_name(f, p, TERM_nameop_link, file, b, NULL, time);
		if (!file->path) {
			file->gone = false;
			file_rename(f->s, file, b);
		} else {
			free(file->alias);
			file->alias = strdup(b);
		}
	} else if (x->e.a == SAFE_UNLINK) {
		sproc_emit_name(f, p, TERM_nameop_unlink, file, a, NULL, time);
		if (file->alias && file->path && !strcmp(file->path, a) && st.nlink > 1) {
			free(file->path);
			file->path = file->alias;
			file->alias = NULL;
		}
	}
	bool last = x->e.a == SAFE_UNLINK && (st.nlink <= 1 || S_ISDIR(st.mode));
	bool last_victim =
	    victim && victim != file && x->e.a == SAFE_RENAME && (x->stat[1].nlink <= 1 || S_ISDIR(x->stat[1].mode));
	file->pins--;
	if (last)
		file_gone(f->s, file);
	if (victim) {
		victim->pins--;
		if (last_victim)
			file_gone(f->s, victim);
	}
}

/* A file was cut or extended: a write of it, unless neither size nor times changed. */
static void handle_truncate_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = sproc_file(f, p, &x->stat[0], x->str[0]);
	struct fingerprint before = safe_print(&x->stat[1]), after = safe_print(&x->stat[0]);
	if (!file || file->kind != TERM_kind_regular ||
	    (before.size == after.size && before.mtime == after.mtime && before.ctime == after.ctime))
		return;
	file->pins++;
	struct access *a = begin_sproc_access(f, p, file, ACCESS_WRITE | (x->e.a == 0 ? ACCESS_TRUNC : 0u), TERM_via_data,
	                                      true, TERM_api_truncate, x->e.time, &before);
	if (a && a->start == x->e.time && a->count == 1) {
		file->last = after;
		file->last_stop = f->s->epoch + 1;
		access_end(f->s, a, x->e.time);
	}
	file->pins--;
}

/* The process connected, or listens. */
static void handle_socket_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	union address u = {0};
	size_t n = x->str[0].n < sizeof(u) ? x->str[0].n : sizeof(u);
	if (n < sizeof(sa_family_t))
		return;
	memcpy(&u, x->str[0].p, n);
	if (u.sa.sa_family == AF_UNIX && n > sizeof(sa_family_t) && u.un.sun_path[0] && x->str[1].n &&
	    x->str[1].n < sizeof(u.un.sun_path)) {
		memset(u.un.sun_path, 0, sizeof(u.un.sun_path));
		memcpy(u.un.sun_path, x->str[1].p, x->str[1].n);
		n = sizeof(sa_family_t) + x->str[1].n + 1;
	}
	if (u.sa.sa_family == AF_UNIX && n > sizeof(u.un))
		n = sizeof(u.un);
	p->p->nsince = 0;
	struct file *file = socket_use(f->s, p->p, getpid(), x->e.fd, &u, (ssize_t)n,
	                               x->e.a == 0 ? TERM_api_connect : TERM_api_bind, x->e.time);
	struct access *a = file ? sproc_live(p, file, ACCESS_READ | ACCESS_WRITE, false) : NULL;
	struct ident *i = a ? ident_add(p, x->e.oid) : NULL;
	ident_uses(p, i, a, a);
}

/* A segment was attached: an access as long as the process has it. */
static void handle_shm_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	char address[64], domain[100];
	snprintf(address, sizeof(address), "sysv:%d", (int)x->e.a);
	snprintf(domain, sizeof(domain), "boot:%s:ipc", host_boot_id());
	struct file *file = file_address(f->s, TERM_kind_shm, domain, address);
	if (file)
		begin_sproc_access(f, p, file, ACCESS_READ | (x->e.b & SHM_RDONLY ? 0u : ACCESS_WRITE), TERM_via_shm, true,
		                   TERM_api_shm, x->e.time, NULL);
}

/* A path was asked for that does not exist. Paths that are not known from the root are passed over. */
static void handle_absent_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	char path[2 * SAFE_ROOM];
	sproc_path(p, x->str[0], NULL, path, sizeof(path));
	if (path[0] != '/' || !strncmp(path, "/.stemma/", 9))
		return;
	struct file *file = file_address(f->s, TERM_kind_absent, "", path);
	if (file)
		begin_sproc_access(f, p, file, ACCESS_READ, TERM_via_data, true, x->e.a ? TERM_api_exec : TERM_api_open,
		                   x->e.time, NULL);
}

/* A library is loaded; x->e.a of 1: it is the script. */
static void handle_library_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = sproc_file(f, p, &x->stat[0], x->str[0]);
	struct fingerprint fp = safe_print(&x->stat[0]);
	if (!file || file->kind != TERM_kind_regular)
		return;
	if (x->e.a == 1 && p->begins.set && !p->begins.script) {
		p->begins.script = file;
		file->pins++;
		file_state(f->s, file, &fp);
		return;
	}
	begin_sproc_access(f, p, file, ACCESS_READ, TERM_via_data, true, TERM_api_open, x->e.time, &fp);
}

/* A process was started with a program that has not said anything yet. */
static void handle_spawn_event(struct safe *f, struct sproc *parent, const struct safe_seen *x)
{
	uint32_t pid = (uint32_t)x->e.a;
	struct sproc *p = sproc_by_pid(f, pid);
	if (p && p->alive && !p->lone) {
		text_reset(&parent->list[SAFE_EXEC_ARG]);
		return; /* it has spoken for itself */
	}
	if (!p || !p->alive)
		p = sproc_add(f, pid, 0, parent, x->e.time, x->e.time, 0, 0);
	if (!p)
		return;
	sproc_intent(p, x);
	p->intent.proved = 0;
	sproc_intent_args(parent, p);
	sproc_intent_commit(f, p);
}

/* What the process said of itself: it set up io_uring, has another root or other mounts, or opened by handle. Each is a
 * gap. */
static void handle_note_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	if (x->e.a == SAFE_NOTE_URING && !p->p->uring) {
		p->p->uring = true;
		sup_gap(f->s, p->p, TERM_gap_io_uring, 0, "it set up io_uring, whose accesses are not observed");
	} else if (x->e.a == SAFE_NOTE_ROOT) {
		char *root = NULL;
		if (x->str[0].n && asprintf(&root, "%s%.*s", p->root ? p->root : "", (int)x->str[0].n, x->str[0].p) < 0)
			root = NULL;
		free(p->root);
		p->root = root && strcmp(root, "/") ? root : strdup(x->str[0].n ? "" : "root:[?]:");
		if (p->root != root)
			free(root);
		sup_gap(f->s, p->p, TERM_gap_namespace, 0, "paths of another root");
	} else if (x->e.a == SAFE_NOTE_MOUNTS) {
		if (x->e.b && x->e.b != f->s->mnt_ns && p->ns != x->e.b) {
			p->ns = x->e.b;
			sup_gap(f->s, p->p, TERM_gap_namespace, 0, "paths of another mount namespace");
		} else {
			sup_gap(f->s, p->p, TERM_gap_mounts, 1, "it mounted or unmounted a file system");
		}
	} else if (x->e.a == SAFE_NOTE_FILTER) {
		sup_gap(f->s, p->p, TERM_gap_lost, 0, "it installed a system call filter; what followed was not observed");
	} else if (x->e.a == SAFE_NOTE_USER) {
		sup_gap(f->s, p->p, TERM_gap_lost, 0, "it changed its user; what followed was not observed");
	} else if (x->e.a == SAFE_NOTE_CONFINED) {
		sup_gap(f->s, p->p, TERM_gap_lost, 0, "it confined itself; what followed was not observed");
	} else if (x->e.a == SAFE_NOTE_HANDLE) {
		sup_gap(f->s, p->p, TERM_gap_unsettled, 1, "opened a file by handle");
	}
}

/* Handles an event by its kind. Kinds that are not known are passed over: the process may say anything. */
static void handle_sproc_event(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct ident *i;
	switch (x->e.kind) {
	case SAFE_OPEN:
		handle_open_event(f, p, x);
		break;
	case SAFE_ABSENT:
		handle_absent_event(f, p, x);
		break;
	case SAFE_HELD:
		handle_held_event(f, p, x);
		break;
	case SAFE_READY:
		p->starts = false;
		break;
	case SAFE_LIBRARY:
		handle_library_event(f, p, x);
		break;
	case SAFE_DUP:
		if ((i = ident_of(p, x->e.oid)))
			i->refs++;
		break;
	case SAFE_CLOSE:
		handle_close_event(f, p, x);
		break;
	case SAFE_IO:
		if ((i = ident_of(p, x->e.oid))) {
			struct safe_row row;
			memcpy(&row, x->more, sizeof(row));
			if (i->use[row.write != 0]) {
				use_add(f, i->use[row.write != 0], &row);
				p->summed[row.write != 0] += row.bytes;
			}
		}
		break;
	case SAFE_MAP:
		handle_map_event(f, p, x);
		break;
	case SAFE_ALTER:
		if ((i = ident_of(p, x->e.oid)) && i->use[1])
			i->use[1]->altered = true;
		break;
	case SAFE_NAME:
		handle_name_event(f, p, x);
		break;
	case SAFE_TRUNCATE:
		handle_truncate_event(f, p, x);
		break;
	case SAFE_SOCKET:
		handle_socket_event(f, p, x);
		break;
	case SAFE_SHM:
		handle_shm_event(f, p, x);
		break;
	case SAFE_EXEC:
		sproc_intent(p, x);
		sproc_intent_args(p, p);
		break;
	case SAFE_EXEC_NOT:
		sproc_intent_drop(p);
		break;
	case SAFE_SPAWN:
		handle_spawn_event(f, p, x);
		break;
	case SAFE_PAIR: {
		uint64_t *slot = f->s->pairs[f->s->next_pair++ % PAIRS];
		slot[0] = x->e.a < x->e.b ? x->e.a : x->e.b;
		slot[1] = x->e.a < x->e.b ? x->e.b : x->e.a;
		break;
	}
	case SAFE_WAITED: {
		struct sproc *child = sproc_by_pid(f, (uint32_t)x->e.a);
		if (child && !child->ended && child->p->parent_num == p->p->num) {
			child->status = (int)(x->e.b & 0xffff);
			sproc_dead(f, child);
		}
		break;
	}
	case SAFE_SUMS:
		p->rows[0] = x->e.a;
		p->rows[1] = x->e.b;
		p->told = true;
		break;
	case SAFE_NOTE:
		handle_note_event(f, p, x);
		break;
	case SAFE_EXIT: {
		struct safe_figures figures;
		if (x->more)
			memcpy(&figures, x->more, sizeof(figures));
		sproc_intent_drop(p);
		sproc_end(f, p, x->e.time, TERM_ending_exited, (unsigned)x->e.a & 0xff, x->more ? &figures : NULL, x->e.b);
		break;
	}
	default:
		break;
	}
}

void safe_handle_event(struct safe *f, const struct safe_seen *seen)
{
	struct safe_seen copied = *seen, *x = &copied;
	struct sup *s = f->s;
	x->e.time += s->clock_offset;
	s->epoch++;
	s->traps++;
	s->current = NULL;
	if (x->e.kind == SAFE_BORN) {
		handle_born_event(f, x);
		return;
	}
	if (x->e.kind == SAFE_IMAGE) {
		handle_image_event(f, x);
		return;
	}
	struct sproc *p = find_or_add_sproc(f, &x->e);
	if (!p || (p->ended && x->e.kind != SAFE_EXEC))
		return;
	if (x->e.kind == SAFE_TEXT) {
		if (x->e.a < SAFE_LISTS)
			text_add(&p->list[x->e.a], x->str[0], x->e.b);
		return;
	}
	struct buf whole[2] = {{0}};
	for (int k = 0; k < 2; k++) {
		struct text *head = &p->list[SAFE_HEAD + k];
		if (!head->bytes.n)
			continue;
		buf_str(&whole[k], buf_view(&head->bytes));
		buf_str(&whole[k], x->str[k]);
		x->str[k] = buf_view(&whole[k]);
		text_reset(head);
	}
	if (!(x->e.kind == SAFE_LIBRARY && x->e.a == 1))
		sproc_begins(f, p);
	handle_sproc_event(f, p, x);
	buf_release(&whole[0]);
	buf_release(&whole[1]);
}