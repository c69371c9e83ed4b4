/* exec: what is about to be run, and, once the process stops again, whether it was. */
#include "base/fileid.h"
#include "capture/supervisor/calls.h"
#include "capture/supervisor/exec/exec_int.h"
#include "capture/supervisor/procs_int.h"
#include "redact/redact.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What an exec needs to know of a program: of its bytes, and whether it has capabilities. */
struct header {
	bool known, is_elf, is_elf32, has_caps;
	char *interpreter; /* malloc'ed */
};

/* ---- the program ---- */

/* What the first bytes of a program say, read once per file. */
static void read_header(struct header *f, const struct where *w)
{
	union {
		unsigned char raw[4096];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} h;
	*f = (struct header){.known = true};
	int fd = openat(w->dirfd, w->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return;
	ssize_t n = pread(fd, h.raw, sizeof(h) - 1, 0);
	f->has_caps = fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (n >= (ssize_t)sizeof(h.e64) && !memcmp(h.raw, ELFMAG, SELFMAG)) {
		f->is_elf = true;
		f->is_elf32 = h.raw[EI_CLASS] == ELFCLASS32;
		uint64_t phoff = f->is_elf32 ? h.e32.e_phoff : h.e64.e_phoff;
		unsigned phnum = f->is_elf32 ? h.e32.e_phnum : h.e64.e_phnum;
		size_t size = f->is_elf32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
		for (unsigned i = 0; i < phnum && i < 64; i++) {
			union {
				Elf64_Phdr p64;
				Elf32_Phdr p32;
			} ph;
			uint64_t at = phoff + i * size;
			if (at < (uint64_t)n && size <= (uint64_t)n - at)
				memcpy(&ph, h.raw + at, size); /* nearly always: they follow the header */
			else if (pread(fd, &ph, size, (off_t)at) != (ssize_t)size)
				break;
			if ((f->is_elf32 ? ph.p32.p_type : ph.p64.p_type) != PT_INTERP)
				continue;
			uint64_t off = f->is_elf32 ? ph.p32.p_offset : ph.p64.p_offset;
			char name[256];
			ssize_t k = pread(fd, name, sizeof(name) - 1, (off_t)off);
			if (k > 0) {
				name[k] = '\0';
				f->interpreter = strdup(name);
			}
			break;
		}
	} else if (n > 2 && h.raw[0] == '#' && h.raw[1] == '!') {
		h.raw[n] = '\0';
		char *p = (char *)h.raw + 2;
		p += strspn(p, " \t");
		p[strcspn(p, " \t\n\r")] = '\0';
		if (*p)
			f->interpreter = strdup(p);
	}
	close(fd);
}

/* Takes over h's interpreter. */
static void use_header(struct file *f, struct header *h)
{
	f->header_known = true;
	f->is_elf = h->is_elf;
	f->is_elf32 = h->is_elf32;
	f->has_caps = h->has_caps;
	free(f->interpreter);
	f->interpreter = h->interpreter;
	*h = (struct header){.known = false};
}

/* The file at w as a program; NULL if it cannot be one. h: its header, if that was read; taken over. */
static struct file *program_at(struct sup *s, struct where *w, const struct statx *st, struct header *h)
{
	if (!S_ISREG(st->stx_mode) || !(st->stx_mode & 0111))
		return NULL;
	struct file *f = file_get_opened(s, NULL, w, true, st);
	struct fingerprint fp = fingerprint_of(st);
	if (f && f->header_known && f->stated.known && (f->stated.mtime != fp.mtime || f->stated.size != fp.size)) {
		free(f->interpreter); /* it was written since */
		f->interpreter = NULL;
		f->header_known = f->is_elf = false;
	}
	if (f)
		file_state(s, f, &fp);
	if (f && !f->header_known) {
		if (!h->known)
			read_header(h, w);
		use_header(f, h);
	}
	return f;
}

/* The file of the program at that place. NULL: there is nothing, or no memory. */
static struct file *program_at_path(struct sup *s, struct where *w)
{
	struct statx st;
	struct header h = {.known = false};
	return where_statx(w, true, &st) < 0 ? NULL : program_at(s, w, &st, &h);
}

/* The program that was to be run does not exist: notes that it was asked for. */
static void emit_absent_program(struct sup *s, struct proc *p, struct where *w)
{
	char *name = w->given[0] == '/' && !w->foreign ? strdup(w->given) : where_name(w);
	struct file *f = name ? file_address(s, TERM_kind_absent, "", name) : NULL;
	if (f)
		access_begin(s, p, f, ACCESS_READ, TERM_via_data, true, TERM_api_exec, sup_now(s), NULL);
	free(name);
}

/* NULL is no error. Its files are not held any more. */
void exec_pending_free(struct exec_pending *e)
{
	if (!e)
		return;
	held_free(e->held, e->nheld);
	if (e->exe)
		e->exe->pins--;
	if (e->script)
		e->script->pins--;
	buf_release(&e->argv);
	buf_release(&e->env);
	free(e->cwd);
	jobserver_release(&e->jobserver);
	free(e);
}

/* What the call is given: the path, what is there, and where that is something the words. Outside of the lock. 0 or
 * -errno of the path; *ret_looked of what is there. */
static int exec_look(struct rooted r, bool far, const struct trap *t, struct where *ret, struct statx *ret_st,
                     int *ret_looked, struct header *ret_head, struct exec_pending *e)
{
	bool at = t->call == CALL_execveat;
	const uint64_t *arg = at ? t->args + 1 : t->args;
	int atfd = at ? (int)t->args[0] : AT_FDCWD;
	struct exec_ahead ahead;
	exec_read_ahead(t, arg[0], arg + 1, &ahead);
	int rc = ahead.path_whole ? where_path(r, t->tid, atfd, ahead.path, true, ret)
	                          : where_init(r, t->tid, atfd, arg[0], true, ret);
	if (at && rc == -ENOENT && (t->args[4] & AT_EMPTY_PATH)) {
		where_fd(t->tid, (int)t->args[0], ret);
		rc = 0;
	}
	if (rc < 0 || (*ret_looked = where_look(ret, true, ret_st)) < 0)
		return rc;
	if (far)
		where_hold(ret, true, ret_st, 0);
	if (ret->object >= 0 && S_ISREG(ret_st->stx_mode) && (ret_st->stx_mode & 0111))
		read_header(ret_head, ret);
	exec_read_words(t, arg + 1, &ahead, e);
	return rc;
}

/* A set-id program. Where its owner or group is nobody in the process's user namespace, the kernel leaves the bit
 * alone, whether or not somebody watches. */
static bool gives_privilege(const struct proc *p, const struct statx *st)
{
	bool set_id = (st->stx_mode & S_ISUID) || ((st->stx_mode & S_ISGID) && (st->stx_mode & S_IXGRP));
	return set_id && procfs_id_mapped(p->pid, "uid_map", st->stx_uid) &&
	       procfs_id_mapped(p->pid, "gid_map", st->stx_gid);
}

/* Has the shell p opened the file for who is to read it? p may be NULL. */
static bool is_redirected(const struct proc *p, const struct file *f)
{
	for (const struct access *a = p ? p->live : NULL; a; a = a->proc_next)
		if (a->file == f && a->redirected && (a->mode & ACCESS_READ))
			return true;
	return false;
}

/* A stop at exec: remembers what is about to run, which exec_settle decides. */
void exec_trap(struct sup *s, struct proc *p, const struct trap *t, bool first_stop)
{
	struct where w;
	struct statx st;
	struct left left;
	struct header head = {.known = false};
	struct exec_pending *e = calloc(1, sizeof(*e));
	struct rooted r = proc_rooted_near(s, p);
	where_none(&w);
	sup_leave(s, &left);
	int looked = -ENOENT, rc = e ? exec_look(r, sup_far(s), t, &w, &st, &looked, &head, e) : -ENOMEM;
	if (!sup_back(s, &left)) {
		where_release(&w);
		free(head.interpreter);
		exec_pending_free(e);
		return;
	}
	if (rc == -EPERM && !p->unreadable_said) {
		p->unreadable_said = true;
		sup_gap(s, p, TERM_gap_unreadable, 0, "its memory could not be read");
	}
	if (rc == 0 && looked == -ENOENT && !s->tree_only)
		emit_absent_program(s, p, &w);
	if (rc < 0 || looked < 0) {
		where_release(&w);
		free(head.interpreter);
		exec_pending_free(e);
		return;
	}
	struct file *first = program_at(s, &w, &st, &head), *exe = first;
	free(head.interpreter);
	bool set_id = gives_privilege(p, &st);
	where_release(&w);
	if (!first) {
		exec_pending_free(e);
		return;
	}
	if (s->observer && s->observer->leaving)
		s->observer->leaving(s->observer->arg, p->pid);
	first->pins++;
	for (int depth = 0; exe && !exe->is_elf && exe->interpreter && depth < 5; depth++) {
		struct where i;
		char name[4096];
		snprintf(name, sizeof(name), "%s", exe->interpreter);
		exe->pins++;
		struct file *next =
		    where_path(proc_rooted(p), t->tid, AT_FDCWD, name, true, &i) == 0 ? program_at_path(s, &i) : NULL;
		where_release(&i);
		exe->pins--;
		exe = next;
	}
	exec_pending_free(p->exec);
	e->time = sup_now(s);
	e->tid = t->tid;
	e->compat = t->compat;
	e->set_id = set_id;
	e->privilege_lost = s->nnp && ((set_id && st.stx_uid != s->euid) || (first->has_caps && s->euid != 0));
	e->exe = exe;
	e->script = first != exe ? first : NULL; /* pinned above, as one or the other */
	if (e->exe && e->script)
		e->exe->pins++;
	p->exec = e;
	char link[48];
	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	e->old_exe_ino = p->exe_ino;
	e->old_exe_dev = p->exe_dev;
	if (!p->exe_ino && fileid_statx_cached(AT_FDCWD, link, 0, STATX_INO, &st) == 0) {
		e->old_exe_ino = st.stx_ino;
		e->old_exe_dev = fileid_dev(&st);
	}
	if (exe && exe->ino == e->old_exe_ino && exe->dev == e->old_exe_dev)
		proc_random(p->pid, e->old_random);
	e->cwd = strdup(proc_cwd(s, p, t->tid));
	if (!s->tree_only) {
		feature_pipe_listen(s);
		feature_pipe_leaves(s, p);
		p->handed_error = 0;
		e->nheld = proc_walk(s, p, true, &e->held);
		for (size_t i = 0; i < e->nheld && p->redirects; i++)
			e->held[i].given = e->held[i].fd == 0 &&
			                   (is_redirected(p, e->held[i].file) || is_redirected(proc_parent(s, p), e->held[i].file));
		bool filled = proc_meet(s, p, e->held, e->nheld, e->time);
		/* A process that execs at its first stop has hardly written: 0 is right or, if it did write, only loses the
		 * proof that the new program did not. */
		e->wchar = !e->nheld ? UINT64_MAX : p->execn || !first_stop || filled ? proc_wchar(s, p) : 0;
		/* Of a shell's fork that has begun nothing, nothing ends. */
		e->moved = s->bytes || feature_pipe_concerns(s, p) || (p->redirects && p->live);
		e->moved_written = e->moved ? proc_wchar(s, p) : UINT64_MAX;
		e->moved_read = e->moved ? p->rchar : UINT64_MAX;
	}
}

/* Did the pending exec happen? 1 yes, 0 no, -1 not known yet. */
static int has_exec_happened(struct proc *p, struct exec_pending *e, pid_t tid)
{
	char link[48];
	struct statx st;
	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	if (fileid_statx_cached(AT_FDCWD, link, 0, STATX_INO, &st) < 0)
		return tid ? 1 : -1;
	bool same = st.stx_ino == e->old_exe_ino && fileid_dev(&st) == e->old_exe_dev;
	bool expected = e->exe && st.stx_ino == e->exe->ino && fileid_dev(&st) == e->exe->dev;
	if (!same)
		return 1; /* what was expected, or what binfmt_misc put in its place */
	unsigned char now[16];
	if (expected && proc_random(p->pid, now) && memcmp(now, e->old_random, sizeof(now)))
		return 1;
	return !tid || tid == e->tid ? 0 : -1;
}

struct str *exec_split(const struct buf *b, size_t count)
{
	struct str *v = calloc(count ? count : 1, sizeof(*v));
	size_t at = 0;
	for (size_t i = 0; v && i < count && at < b->n; i++) {
		v[i] = str_of(b->p + at);
		at += v[i].n + 1;
	}
	return v;
}

/* Begins the access by which an exec reads a program, or its interpreter. Nothing in runs of which only processes
 * are recorded. */
static void begin_exec_access(struct sup *s, struct proc *p, struct file *f, int64_t time)
{
	if (f && f->kind == TERM_kind_regular && !s->tree_only)
		access_begin(s, p, f, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, true, TERM_api_exec, time,
		             f->stated.known ? &f->stated : NULL);
}

/* The exec has succeeded: ends the accesses that it closes, and begins the new execution. sure: it is certain which
 * program it is. */
static void commit_exec(struct sup *s, struct proc *p, struct exec_pending *e, bool sure)
{
	if (e->moved && !p->threads) { /* the new one has moved bytes since */
		p->wchar = e->moved_written;
		p->rchar = e->moved_read;
		p->wchar_stop = s->epoch + 1;
	}
	feature_pipe_listen(s);
	p->becoming = true;
	proc_end_accesses(s, p, e->time);
	p->becoming = false;
	if (e->moved)
		p->wchar_stop = s->epoch; /* read again */
	feature_end(s, p);
	struct file *exe = e->exe;
	if (!exe || exe->is_elf == false) {
		/* Only the kernel knows what runs (binfmt_misc): ask. */
		struct where w;
		struct statx st;
		char link[48];
		snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
		if (where_path(proc_rooted(NULL), p->pid, AT_FDCWD, link, true, &w) == 0 && where_statx(&w, true, &st) == 0)
			exe = file_get(s, &w, true, &st);
	}
	p->exe_dev = exe ? exe->dev : 0;
	p->exe_ino = exe ? exe->ino : 0;
	p->redirects = exe && exe->path && proc_is_shell(exe->path);
	if (e->set_id)
		proc_refresh_creds(s, p);
	struct str *argv = exec_split(&e->argv, e->argc), *env = exec_split(&e->env, e->envc);
	struct event ev = {.exec = {.n = ++p->execn,
	                            .exe = exe ? exe->num : 0,
	                            .script = e->script ? e->script->num : 0,
	                            .argv = {.items = argv, .count = argv ? e->argc : 0},
	                            .cwd = str_of(e->cwd),
	                            .env = {.items = env, .count = env ? e->envc : 0},
	                            .uid = p->uid,
	                            .gid = p->gid,
	                            .run = str_of(p->run)}};
	p->exec_start = e->time;
	sup_event(s, EVENT_exec, e->time, p, &ev);
	sup_unread(s, p, p->handed_error, "its inherited descriptors could not be read");
	p->handed_error = 0;
	p->old_code = p->crowded = p->shares_memory = p->has_guest = false;
	p->ring_said = p->ring_files = false; /* no ring outlives an exec, as long as its program leaves it at that */
	known_note(s->known, p);
	if (s->observer && s->observer->exec)
		s->observer->exec(s->observer->arg, p->pid, exe ? exe->path : NULL);
	free(argv);
	free(env);
	if (!sure)
		sup_gap(s, p, TERM_gap_unsettled, 1, "whether the exec succeeded is unknown");
	if (e->privilege_lost)
		sup_gap(s, p, TERM_gap_privilege_lost, 0, "a set-user-ID program ran without its privilege");
	if (e->cut)
		sup_gap(s, p, TERM_gap_limit, 1, "the arguments were too long and are shortened");
	if (e->compat || (exe && exe->is_elf32))
		sup_gap(s, p, TERM_gap_abi32, 0, "a 32-bit program");
	feature_exec(s, p, exe);
	p->catches = p->catches_child = p->shielded = p->unshielded = false; /* no handler outlives an exec */
	jobserver_release(&p->jobserver);
	p->jobserver = e->jobserver;
	e->jobserver = JOBSERVER_NONE;
	begin_exec_access(s, p, exe, e->time);
	begin_exec_access(s, p, e->script, e->time);
	if (exe && exe->is_elf && exe->interpreter && !s->tree_only) {
		struct where w;
		char name[256];
		snprintf(name, sizeof(name), "%s", exe->interpreter);
		struct file *loader =
		    where_path(proc_rooted(p), p->pid, AT_FDCWD, name, true, &w) == 0 ? program_at_path(s, &w) : NULL;
		where_release(&w);
		begin_exec_access(s, p, loader, e->time);
	}
	p->wchar_exec = e->wchar;
	proc_handed(p, e->held, e->nheld);
	proc_hold_met(s, p, e->held, e->nheld, e->time);
}

void exec_unstarted(struct sup *s, struct proc *p)
{
	struct buf words = {0};
	size_t n = redact_argv(&words, s->argv);
	struct str *argv = exec_split(&words, n);
	struct event ev = {.exec = {.n = ++p->execn,
	                            .argv = {.items = argv, .count = argv ? n : 0},
	                            .cwd = str_of(proc_cwd(s, p, p->pid)),
	                            .uid = p->uid,
	                            .gid = p->gid,
	                            .run = str_of(p->run)}};
	p->exec_start = sup_now(s);
	sup_event(s, EVENT_exec, p->exec_start, p, &ev);
	free(argv);
	buf_release(&words);
}

void exec_settle(struct sup *s, struct proc *p, pid_t tid)
{
	struct exec_pending *e = p->exec;
	if (!e)
		return;
	int yes = has_exec_happened(p, e, tid);
	if (yes < 0 && tid)
		return;
	p->exec = NULL; /* handlers below must not come back here */
	if (yes)
		commit_exec(s, p, e, yes > 0);
	exec_pending_free(e);
}
