/* Processes under --capture=safe, their programs, and their ends. */
#include "base/io.h"
#include "capture/preload/safe_int.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- processes ---- */

struct sproc *sproc_by_pid(const struct safe *f, uint32_t pid)
{
	for (struct sproc *p = f->procs[pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid && p->ours)
			return p;
	return NULL; /* the latest stands first */
}

/* By its number in a namespace; NULL: not known. */
struct sproc *sproc_by_pid_of(const struct safe *f, uint32_t pid, uint64_t pidns)
{
	for (struct sproc *p = f->procs[pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid && p->pidns == pidns)
			return p;
	return NULL;
}

/* By its number and image; NULL: not known. */
struct sproc *sproc_by_image(const struct safe *f, uint32_t pid, uint32_t image)
{
	for (struct sproc *p = f->procs[pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid && p->image == image)
			return p;
	return NULL;
}

/* Clock ticks since boot. False: it is gone. */
static bool read_start(uint32_t pid, uint64_t *ret_ticks, uint32_t *ret_ppid)
{
	char name[48], text[1024];
	snprintf(name, sizeof(name), "/proc/%u/stat", pid);
	if (!io_text(name, text, sizeof(text)))
		return false;
	char *at = strrchr(text, ')'), state;
	unsigned long long start = 0;
	unsigned ppid = 0;
	if (!at || sscanf(at + 1, " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
	                  &ppid, &start) != 3)
		return false;
	*ret_ticks = start;
	*ret_ppid = ppid;
	return true;
}

bool sproc_began(const struct safe *f, const struct sproc *p, uint64_t ticks)
{
	int64_t per = 1000000000 / f->s->hz, started = (int64_t)ticks * per;
	return started >= p->low - 2 * per && started <= p->high + 2 * per;
}

bool sproc_is_still(const struct safe *f, const struct sproc *p)
{
	uint64_t ticks;
	uint32_t ppid;
	return p->ours && read_start(p->pid, &ticks, &ppid) && sproc_began(f, p, ticks);
}

struct sproc *sproc_add(struct safe *f, uint32_t pid, uint32_t image, struct sproc *parent, int64_t time,
                        int64_t forked, uint64_t ticks, uint64_t pidns)
{
	struct sup *s = f->s;
	struct sproc *n = calloc(1, sizeof(*n));
	struct proc *p = n ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		free(n);
		return NULL;
	}
	bool ours = !pidns || pidns == f->pidns;
	*n = (struct sproc){.p = p,
	                    .pid = pid,
	                    .image = image,
	                    .ours = ours,
	                    .pidns = ours ? f->pidns : pidns,
	                    .alive = true,
	                    .met = time,
	                    .status = -1};
	p->pid = (pid_t)pid;
	p->pidfd = ours ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	uint64_t now_ticks = 0;
	uint32_t ppid;
	if (p->pidfd >= 0 && read_start(pid, &now_ticks, &ppid)) {
		/* By its number alone it could be another, that came after it. */
		if (ticks && now_ticks != ticks) {
			close(p->pidfd);
			p->pidfd = -1;
		} else {
			ticks = now_ticks;
		}
	}
	s->few |= ours && p->pidfd < 0 && (errno == EMFILE || errno == ENFILE);
	uint64_t per = 1000000000u / (unsigned)s->hz;
	p->num = ++s->known->procs;
	p->started = ticks ? (int64_t)(ticks * per) : (forked - s->clock_offset) / (int64_t)per * (int64_t)per;
	/* Not known: after its parent began the fork, where that is known, and before it said anything. On a busy machine
	 * there may be 100 ms between. */
	n->low = ticks ? p->started : forked < time ? forked - s->clock_offset : 0;
	n->high = ticks ? p->started : time - s->clock_offset;
	p->seen = time;
	p->parent_num = parent ? parent->p->num : 0;
	p->ppid = parent ? parent->p->pid : 0;
	p->exec_start = forked;
	p->wchar_exec = UINT64_MAX;
	p->uncounted = p->pidfd < 0;
	p->uid = s->euid;
	p->gid = s->egid;
	p->jobserver = JOBSERVER_NONE;
	if (parent) {
		parent->p->forks = true;
		p->uid = parent->p->uid;
		p->gid = parent->p->gid;
		p->jobserver = jobserver_copy(&parent->p->jobserver);
		p->cwd = parent->p->cwd ? strdup(parent->p->cwd) : NULL;
		n->root = parent->root ? strdup(parent->root) : NULL;
		n->ns = parent->ns;
	}
	if (p->pidfd >= 0) {
		struct epoll_event ee = {.events = EPOLLIN, .data.ptr = n};
		epoll_ctl(f->epoll, EPOLL_CTL_ADD, p->pidfd, &ee);
	}
	n->next = f->procs[pid & (HASH_SIZE - 1)];
	f->procs[pid & (HASH_SIZE - 1)] = n;
	s->nprocs++;
	struct event ev = {
	    .process = {
	        .pid = pid, .started = p->started, .parent = p->parent_num, .forked = forked < time ? forked : time}};
	sup_event(s, EVENT_process, time, p, &ev);
	if (!parent && p->pid != s->root)
		sup_gap(s, p, TERM_gap_parent_unseen, 1, "its parent was not observed");
	return n;
}
/* ---- programs ---- */

/* Keeps the memory. */
void text_reset(struct text *t)
{
	buf_reset(&t->bytes);
	t->count = t->piece = 0;
	t->cut = false;
}

void text_add(struct text *t, struct str s, bool last)
{
	if (t->bytes.n > TEXT_KEPT) {
		t->cut = true;
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		buf_char(&t->bytes, s.p[i] ? s.p[i] : '?');
	if (!last)
		return;
	buf_char(&t->bytes, '\0');
	t->count++;
}

/* The list is all there is: a string whose last piece never came ends here. */
static void text_end(struct text *t)
{
	if (!t->bytes.n || !t->bytes.p[t->bytes.n - 1])
		return;
	buf_char(&t->bytes, '\0');
	t->count++;
	t->cut = true;
}

/* Notes that the process runs file: an access that reads. Nothing if it is no regular file. */
static void begin_program_access(struct safe *f, struct sproc *p, struct file *file, int64_t time)
{
	if (!file || file->kind != TERM_kind_regular)
		return;
	p->p->nsince = 0;
	access_begin(f->s, p->p, file, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, true, TERM_api_exec, time,
	             file->stated.known ? &file->stated : NULL);
}

/* Writes the exec and the reads of program and script. env: NULL: not known. */
static void exec_emit(struct safe *f, struct sproc *p, int64_t time, struct file *exe, struct file *script,
                      const struct buf *argv, size_t argc, const struct buf *env, size_t envc)
{
	struct sup *s = f->s;
	struct proc *q = p->p;
	struct str *a = exec_split(argv, argc), *v = env ? exec_split(env, envc) : NULL;
	struct event ev = {.exec = {.n = ++q->execn,
	                            .exe = exe ? exe->num : 0,
	                            .script = script ? script->num : 0,
	                            .argv = {.items = a, .count = a ? argc : 0},
	                            .cwd = str_of(q->cwd),
	                            .env = {.items = v, .count = v ? envc : 0},
	                            .uid = q->uid,
	                            .gid = q->gid}};
	q->exec_start = time;
	sup_event(s, EVENT_exec, time, q, &ev);
	feature_exec(s, q, exe);
	free(a);
	free(v);
	begin_program_access(f, p, exe, time);
	begin_program_access(f, p, script, time);
}

/* What it meant to run before an exec is void. */
void sproc_intent_drop(struct sproc *p)
{
	free(p->intent.path);
	buf_release(&p->intent.argv);
	p->intent = (struct intent){0};
}

/* A program that says what it is: all of that is here. */
void sproc_begins(struct safe *f, struct sproc *p)
{
	if (!p->begins.set)
		return;
	p->begins.set = false;
	bool given = p->begins.script && p->ngiven;
	text_end(&p->list[SAFE_ARG]);
	text_end(&p->list[SAFE_VAR]);
	struct buf argv = redact_strings(buf_view(given ? &p->given : &p->list[SAFE_ARG].bytes), false),
	           env = redact_strings(buf_view(&p->list[SAFE_VAR].bytes), true);
	free(p->p->cwd);
	p->p->cwd = p->begins.cwd;
	p->begins.cwd = NULL;
	p->p->uid = p->begins.uid;
	p->p->gid = p->begins.gid;
	jobserver_release(&p->p->jobserver);
	p->p->jobserver = jobserver_find(&env);
	exec_emit(f, p, p->begins.time, p->begins.exe, p->begins.script, &argv, given ? p->ngiven : p->list[SAFE_ARG].count,
	          &env, p->list[SAFE_VAR].count);
	sup_gap(f->s, p->p, TERM_gap_by_library, 0, NULL);
	if (p->list[SAFE_ARG].cut)
		sup_gap(f->s, p->p, TERM_gap_limit, 1, "the arguments were too long and are shortened");
	struct file *files[] = {p->begins.exe, p->begins.script};
	for (int i = 0; i < 2; i++)
		if (files[i])
			files[i]->pins--;
	buf_release(&argv);
	buf_release(&env);
	buf_reset(&p->given);
	p->ngiven = 0;
	for (int i = 0; i < SAFE_LISTS; i++)
		text_reset(&p->list[i]);
}

/* Whether it has a descriptor to ask by and did not end. */
static bool still_there(struct sproc *p)
{
	return p->p->pidfd >= 0 && p->alive;
}

/* What can be seen from here of a program that says nothing. */
static void walk_silent_process(struct safe *f, struct sproc *p, int64_t time)
{
	struct held *held;
	if (!still_there(p))
		return;
	size_t n = proc_walk(f->s, p->p, false, &held);
	p->p->nsince = 0;
	if (!p->p->jobserver.pipe)
		proc_handed(p->p, held, n);
	proc_hold_met(f->s, p->p, held, n, time);
	held_free(held, n);
}

/* An exec of a program that does not carry the library: it has happened, for all that can be told. */
void sproc_intent_commit(struct safe *f, struct sproc *p)
{
	if (!p->intent.set)
		return;
	p->found = false;
	if (p->intent.fork) { /* no exec, only a process that never said what it does */
		sup_gap(f->s, p->p, TERM_gap_without_library, 0, NULL);
		walk_silent_process(f, p, p->intent.time);
		sproc_intent_drop(p);
		return;
	}
	struct where w;
	struct statx st;
	struct file *exe = NULL;
	if (p->intent.path && where_path(proc_rooted(NULL), getpid(), AT_FDCWD, p->intent.path, true, &w) == 0) {
		if (where_statx(&w, true, &st) == 0 && S_ISREG(st.stx_mode) && (exe = file_get(f->s, &w, true, &st))) {
			struct fingerprint fp = fingerprint_of(&st);
			file_state(f->s, exe, &fp);
		}
		where_release(&w);
	}
	if (exe)
		exe->pins++;
	sproc_image_end(f, p, p->intent.time, p->intent.proved);
	struct buf argv = redact_strings(buf_view(&p->intent.argv), false);
	exec_emit(f, p, p->intent.time, exe, NULL, &argv, p->intent.argc, NULL, 0);
	sup_gap(f->s, p->p, TERM_gap_without_library, 0, NULL);
	buf_release(&argv);
	if (exe)
		exe->pins--;
	walk_silent_process(f, p, p->intent.time);
	p->lone = true;
	p->image = 0;
	sproc_intent_drop(p);
}

/* ---- ends ---- */

void sproc_end(struct safe *f, struct sproc *p, int64_t time, unsigned ending, unsigned code,
               const struct safe_figures *x, uint64_t proved)
{
	if (p->ended)
		return;
	sproc_begins(f, p);
	if (p->intent.set && !x)
		sproc_intent_commit(f, p);
	if (p->lone)
		walk_silent_process(f, p, p->p->exec_start);
	sproc_image_end(f, p, time, proved);
	struct event ev = {.exit = {.ending = ending, .code = code}};
	if (x) {
		const uint64_t none = UINT64_MAX;
		struct event_exit *e = &ev.exit;
		if (x->user != none && x->system != none) {
			e->user = x->user;
			e->system = x->system;
			e->cpu = x->user + x->system;
			e->known |= 1u << 1 | 1u << 2 | 1u << 3;
		}
		if (x->rss != none) {
			e->rss = x->rss;
			e->known |= 1u << 4;
		}
		if (x->rchar != none && x->wchar != none && x->read_bytes != none && x->write_bytes != none) {
			e->rchar = x->rchar;
			e->wchar = x->wchar;
			e->read_bytes = x->read_bytes;
			e->write_bytes = x->write_bytes;
			e->known |= 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8;
		}
	}
	sup_event(f->s, EVENT_exit, time, p->p, &ev);
	p->ended = true;
	p->end = time;
	f->s->nprocs--;
}

/* Takes it out of the table and frees it. */
void sproc_forget(struct safe *f, struct sproc *p)
{
	struct sproc **at = &f->procs[p->pid & (HASH_SIZE - 1)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->p->pidfd >= 0)
		close(p->p->pidfd);
	for (int i = 0; i < SAFE_LISTS; i++)
		buf_release(&p->list[i].bytes);
	buf_release(&p->given);
	sproc_intent_drop(p);
	free(p->root);
	free(p->begins.cwd);
	free(p->done);
	free(p->p->cwd);
	jobserver_release(&p->p->jobserver);
	free(p->p);
	free(p);
}

/* The kernel says that it is over, or another process has its number. */
void sproc_dead(struct safe *f, struct sproc *p)
{
	int status;
	int64_t now = sup_now(f->s);
	p->alive = false;
	p->p->uncounted = true; /* its totals cannot be read any more */
	if (p->ended) {
		sproc_chunks_back(f, p);
	} else if (p->status >= 0 || (p->p->pidfd >= 0 && proc_how_ended(p->p, &status))) {
		status = p->status >= 0 ? p->status : status;
		bool signaled = status & 0x7f;
		sproc_end(f, p, now, signaled ? TERM_ending_signaled : TERM_ending_exited,
		          signaled ? (unsigned)status & 0x7f : (unsigned)(status >> 8) & 0xff, NULL, 0);
	} else {
		sup_gap(f->s, p->p, TERM_gap_exit_unseen, 1, "its end was not observed");
		sproc_end(f, p, now, TERM_ending_unknown, 0, NULL, 0);
	}
	if (p->p->pidfd >= 0)
		close(p->p->pidfd);
	p->p->pidfd = -1;
}
void sproc_intent(struct sproc *p, const struct safe_seen *x)
{
	char path[2 * SAFE_ROOM];
	sproc_intent_drop(p);
	p->intent.set = true;
	p->intent.alone = x->e.a;
	p->intent.proved = x->e.b;
	p->intent.time = x->e.time;
	p->intent.path = strdup(sproc_text(x->str[0], path, sizeof(path)));
}

/* The arguments that `from` told become those of p's exec. */
void sproc_intent_args(struct sproc *from, struct sproc *p)
{
	text_end(&from->list[SAFE_EXEC_ARG]);
	buf_str(&p->intent.argv, buf_view(&from->list[SAFE_EXEC_ARG].bytes));
	p->intent.argc = from->list[SAFE_EXEC_ARG].count;
	text_reset(&from->list[SAFE_EXEC_ARG]);
}
