/* What processes hold: their descriptor tables, whose accesses these are, and which of them are over. */
#include "base/fileid.h"
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/procs_int.h"
#include "capture/supervisor/shield/shield.h"
#include "capture/supervisor/super.h"
#include "capture/supervisor/table_apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Is it a pipe, a socket or another file whose bytes are gone when they are read? */
static bool is_stream_kind(const struct file *f)
{
	return f->kind != TERM_kind_regular && f->kind != TERM_kind_terminal;
}

/* A terminal is three descriptors to nearly every program there is: from the first it reads, to the second it writes,
 * and what is said on the third is no data (B14). */
static void hold_terminal(struct sup *s, struct proc *p, const struct held *h, int64_t time)
{
	unsigned mode = h->fd == 0 ? h->mode & ACCESS_READ : h->fd == 1 ? h->mode & ACCESS_WRITE : h->mode;
	unsigned via = h->fd == 2 ? TERM_via_sync : TERM_via_descriptor;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file == h->file && (a->via != TERM_via_sync || h->fd == 2))
			mode &= ~a->mode;
	for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
		if (mode & bit)
			access_begin(s, p, h->file, bit, via, false, TERM_api_inherit, time, NULL);
}

/* A fork is known to a tick of 10 ms, and may have been given what its parent opened within that: what the two share
 * was opened before the fork. The moment (ns) from which on p, which executed nothing, may have had it; `time` by the
 * fork. */
static int64_t shared_since(struct sup *s, const struct proc *p, const struct held *h, int64_t time)
{
	const struct proc *q = h->file->kind == TERM_kind_regular && !p->execn ? proc_parent(s, p) : NULL;
	int64_t opened = INT64_MAX;
	for (const struct access *a = q ? h->file->live : NULL; a; a = a->file_next)
		if (a->proc == q && (a->mode & h->mode) == h->mode && a->start < opened)
			opened = a->start;
	if (opened == INT64_MAX || opened <= time || syscall(SYS_kcmp, p->pid, q->pid, KCMP_FILE, h->fd, h->fd) != 0)
		return time;
	return opened;
}

/* An access of a descriptor that the process was found to have, from `time` on. */
static void hold_one(struct sup *s, struct proc *p, const struct held *h, int64_t time)
{
	/* A fork may have held it since its birth, whenever it is met: where that decides who moved bytes, it is taken to
	 * have. */
	if (h->file->witness && !p->execn && time > p->exec_start)
		time = p->exec_start;
	if (h->file->kind == TERM_kind_terminal) {
		hold_terminal(s, p, h, time);
		return;
	}
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file == h->file && (a->mode & h->mode) == h->mode)
			return;
	time = shared_since(s, p, h, time);
	if (p->pid == s->root && time == p->exec_start && p->execn <= 1) {
		h->file->outside = true;
		p->unix_peer |= h->file->kind == TERM_kind_socket;
	}
	const struct jobserver *j = &p->jobserver;
	bool sync = (h->file->kind == TERM_kind_pipe && j->pipe && h->file->ino == j->pipe) ||
	            (j->fifo && h->file->path && !strcmp(h->file->path, j->fifo));
	unsigned via = sync ? TERM_via_sync : h->file->kind == TERM_kind_socket ? TERM_via_socket : TERM_via_descriptor;
	/* A read-write descriptor is two accesses, so that each can be proved or dropped by itself. */
	for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
		if (h->mode & bit)
			access_begin(s, p, h->file, bit, via, h->given && bit == ACCESS_READ, TERM_api_inherit, time,
			             h->print.known ? &h->print : NULL);
}

struct proc *proc_parent(struct sup *s, const struct proc *p)
{
	struct proc *q = p->parent_num ? proc_by_pid(s, p->ppid) : NULL;
	return q && q->num == p->parent_num ? q : NULL;
}

/* How many bytes are in a pipe whose writing end nobody has any more; 0: somebody has it. The reader stands still
 * meanwhile, so that one more goes unnoticed. */
static uint64_t bytes_left(const struct proc *p, int fd)
{
	char name[48];
	int bytes = 0;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", p->pid, fd);
	struct pollfd pf = {.fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), .events = POLLIN};
	bool full = pf.fd >= 0 && poll(&pf, 1, 0) == 1 && (pf.revents & POLLIN) && (pf.revents & POLLHUP);
	if (full && ioctl(pf.fd, FIONREAD, &bytes) < 0)
		bytes = 0;
	if (pf.fd >= 0)
		close(pf.fd);
	return bytes > 0 ? (uint64_t)bytes : 0;
}

/* Since its exec; true where that cannot be told. */
static bool has_written(struct sup *s, struct proc *p)
{
	uint64_t w = proc_wchar(s, p);
	return w == UINT64_MAX || w != p->wchar_exec;
}

/* A pipe that nobody was seen writing to, and that nobody can write to any more: a here-document. A shell writes it
 * before it forks, or the fork does, which knows what the shell knew. A shell's fork surely did, where these bytes are
 * as many as all that it has written, and no other process has the pipe. Of one that is over there is a link. */
static bool fill_here_document(struct sup *s, struct proc *p, struct file *pipe, int64_t time, uint64_t bytes)
{
	struct proc *q = p;
	for (unsigned up = 0; up < 64 && q && !q->execn && !has_written(s, q); up++)
		q = proc_parent(s, q);
	if (!q)
		return false;
	if (q->exit_seen) { /* its end was told: no access comes after that */
		struct event ev = {.link = {.other = q->num, .via = TERM_via_descriptor}};
		sup_event(s, EVENT_link, time, p, &ev);
		return true;
	}
	bool own = q == p && p->redirects && !p->uncounted && !p->threads && !p->wchar_exec && !pipe->live && !pipe->left &&
	           proc_wchar(s, p) == bytes;
	struct access *a = access_begin(s, q, pipe, ACCESS_WRITE, TERM_via_descriptor, own, TERM_api_inherit,
	                                q == p ? p->exec_start : time, NULL);
	if (a)
		a->filled = own;
	return true;
}

void proc_nameless(struct sup *s, struct proc *p)
{
	struct held *held;
	size_t n = proc_walk(s, p, false, &held);
	for (size_t i = 0; i < n; i++) {
		struct file *f = held[i].file;
		if (f->kind == TERM_kind_regular && f->gone && !f->met && (held[i].mode & ACCESS_WRITE))
			access_begin(s, p, f, held[i].mode | ACCESS_CREATE, TERM_via_data, true, TERM_api_open, p->tmpfile, NULL);
	}
	held_free(held, n);
}

/* What q is found to hold, and may have held since it began. Where that decides who moved bytes, it is taken to have.
 */
static void hold_found(struct sup *s, struct proc *q, const struct held *h)
{
	bool watched = h->file->witness && feature_pipe_asks(s, h->file, q);
	hold_one(s, q, h, watched ? q->exec_start : sup_now(s));
	if (watched)
		feature_pipe_met(s, h->file, q);
}

/* A shell's child that starts others, and has not been stopped itself, may hold the pipe that they are given. */
static void meet_parent(struct sup *s, const struct proc *p, struct file *pipe)
{
	struct proc *q = proc_parent(s, p);
	struct held *held;
	if (!q || q->exit_seen || !feature_pipe_asks(s, pipe, q))
		return;
	size_t n = proc_walk(s, q, false, &held);
	for (size_t i = 0; i < n; i++)
		if (held[i].file == pipe)
			hold_one(s, q, &held[i], q->exec_start);
	held_free(held, n);
	feature_pipe_met(s, pipe, q);
}

bool proc_meet(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time)
{
	bool walked = false, filled = false;
	for (size_t i = 0; i < n; i++) {
		struct file *f = h[i].file;
		struct proc *maker = f->kind == TERM_kind_regular && f->gone && !f->met ? p : NULL;
		for (unsigned up = 0; maker && (maker = proc_parent(s, maker)) && up < 64; up++)
			if (maker->tmpfile_tid && !maker->exit_seen)
				proc_nameless(s, maker);
		if (!is_stream_kind(f) || f->live) {
			if (f->kind == TERM_kind_pipe) {
				feature_pipe_arm(s, p, f, h[i].fd);
				meet_parent(s, p, f);
			}
			continue;
		}
		bool fresh = !f->met;
		/* Whoever made it is an ancestor, and may hold the other end without ever being stopped again (x=$(cat f) in a
		 * shell). What one had whose end was told, and who still gives back its memory, was looked at then. */
		struct proc *q = walked ? NULL : p;
		for (unsigned up = 0; q && (q = proc_parent(s, q)) && up < 64; up++) {
			struct held *theirs = NULL;
			size_t m = q->exit_seen ? 0 : proc_walk(s, q, false, &theirs);
			for (size_t k = 0; k < m; k++)
				if (is_stream_kind(theirs[k].file))
					hold_found(s, q, &theirs[k]);
			held_free(theirs, m);
		}
		walked = true;
		feature_pipe_arm(s, p, f, h[i].fd);
		uint64_t left = fresh && f->kind == TERM_kind_pipe && (h[i].mode & ACCESS_READ) && proc_parent(s, p)
		                    ? bytes_left(p, h[i].fd)
		                    : 0;
		if (left)
			filled |= fill_here_document(s, p, f, time, left);
	}
	return filled;
}

void proc_handed(struct proc *p, const struct held *h, size_t n)
{
	struct jobserver *j = &p->jobserver;
	const struct held *end[2] = {NULL, NULL};
	for (size_t i = 0; i < n; i++)
		for (int e = 0; e < 2; e++)
			if (h[i].fd == j->fds[e] && h[i].file->kind == TERM_kind_pipe &&
			    h[i].mode == (e ? ACCESS_WRITE : ACCESS_READ))
				end[e] = &h[i];
	j->pipe = end[0] && end[1] && end[0]->file == end[1]->file ? end[0]->file->ino : 0;
}

void proc_hold_met(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time)
{
	for (size_t i = 0; i < n; i++)
		hold_one(s, p, &h[i], time);
}

/* Notes that p has these open since time (ns); channels that are new tell who else had them. */
void proc_hold(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time)
{
	proc_meet(s, p, h, n, time);
	proc_hold_met(s, p, h, n, time);
}

/* Order of qsort. */
static int mapped_cmp(const void *pa, const void *pb)
{
	const struct mapped *a = pa, *b = pb;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

/* The files behind its descriptors, in order: malloc'ed. False when that cannot be told. */
static bool list_descriptor_files(struct sup *s, struct proc *p, struct mapped **ret, size_t *ret_n)
{
	struct procfs_fds fds;
	struct mapped few[NUMBERS_MAX];
	size_t n = 0, cap = 0;
	struct mapped *v = NULL;
	*ret = NULL;
	*ret_n = 0;
	if (proc_known_files(s, p, few, &n) && (v = malloc(sizeof(few)))) {
		memcpy(v, few, n * sizeof(*v));
		qsort(v, n, sizeof(*v), mapped_cmp);
		*ret = v;
		*ret_n = n;
		return true;
	}
	const struct listed *listed = table_listed(p, false, &n);
	if (listed && (v = malloc((n + 1) * sizeof(*v)))) {
		for (size_t i = 0; i < n; i++)
			v[i] = (struct mapped){fileid_dev(&listed[i].st), listed[i].st.stx_ino};
		qsort(v, n, sizeof(*v), mapped_cmp);
		*ret = v;
		*ret_n = n;
		return true;
	}
	n = 0;
	if (procfs_fds_open(p->pid, &fds) < 0)
		return false;
	bool ok = true, near = !s->far;
	struct numbers now = {0};
	for (const char *name; ok && (name = procfs_fds_next(&fds));) {
		struct statx st;
		if (fileid_statx_cached(fds.dir, name, 0, STATX_INO | STATX_TYPE, &st) < 0)
			continue;
		const int fd = atoi(name);
		near = near && now.n < NUMBERS_MAX && fd <= UINT16_MAX && descriptor_is_known_near(&st);
		if (near)
			now.fd[now.n++] = (uint16_t)fd;
		if (n % 64 == 0)
			sup_goes_on(s);
		if (n == cap) {
			cap = cap ? 2 * cap : 32;
			struct mapped *more = realloc(v, cap * sizeof(*v));
			ok = more != NULL;
			v = ok ? more : v;
		}
		if (ok)
			v[n++] = (struct mapped){fileid_dev(&st), st.stx_ino};
	}
	procfs_fds_close(&fds);
	if (ok && near)
		p->numbers = now;
	if (ok && n)
		qsort(v, n, sizeof(*v), mapped_cmp);
	*ret = v;
	*ret_n = n;
	return ok;
}

/* v must be sorted as mapped_cmp does. */
static bool descriptors_have(const struct mapped *v, size_t n, const struct file *f)
{
	const struct mapped key = {f->dev, f->ino};
	return n && bsearch(&key, v, n, sizeof(*v), mapped_cmp);
}

bool proc_has_open(struct sup *s, struct proc *p, const struct file *f)
{
	struct mapped *v;
	size_t n;
	bool has = !list_descriptor_files(s, p, &v, &n) || descriptors_have(v, n, f);
	free(v);
	return has;
}

/* The first of a and of what follows it that its process writes itself; *left: how many there are of these, of which
 * none is looked for when all were found. They are at the beginning, for the newest come first. */
static struct access *next_writing(struct access *a, unsigned *left)
{
	while (a && *left && !a->own_writing)
		a = a->proc_next;
	if (!a || !*left)
		return NULL;
	--*left;
	return a;
}

bool proc_writes_lately(const struct proc *p)
{
	enum { PASSED = 8 };
	unsigned left = p->nwriting;
	for (struct access *a = p->live; (a = next_writing(a, &left)); a = a->proc_next)
		if (a->looks < PASSED || (p->counted && !a->mapped))
			return true;
	return false;
}

/* So many files more were opened to be read: is any file that it writes to be looked at for that? */
static bool count_passed(struct proc *p, unsigned opens)
{
	unsigned left = p->nwriting;
	bool due = false;
	for (struct access *a = p->live; (a = next_writing(a, &left)); a = a->proc_next) {
		unsigned before = a->looks;
		a->looks += opens;
		due |= (before ^ a->looks) > before; /* past a power of two */
	}
	return due;
}

/* Which of them had begun by now; is any of them mapped? */
static bool settle_writing(struct sup *s, struct proc *p)
{
	unsigned left = p->nwriting;
	bool mapped = false;
	for (struct access *a = p->live; (a = next_writing(a, &left)); a = a->proc_next) {
		a->settled = access_begun(s, a);
		mapped |= a->mapped;
	}
	return mapped;
}

void proc_end_closed(struct sup *s, struct proc *p, unsigned opens)
{
	enum { SHARE = 32 }; /* descriptors looked at for each file opened, on average */
	p->opens += opens;
	if (p->opens < p->ndescs / SHARE || !count_passed(p, opens))
		return;
	bool mapped = settle_writing(s, p);
	struct mapped *v, *maps = NULL;
	size_t n, nmaps = 0;
	struct access *next;
	const bool known = list_descriptor_files(s, p, &v, &n);
	p->opens = 0;
	p->ndescs = n;
	/* A child goes on with a mapping that its parent has undone. */
	mapped = mapped && !p->forks && proc_maps(p, &maps, &nmaps);
	unsigned left = known && !feature_bytes_wait(s, p) ? p->nwriting : 0;
	for (struct access *a = p->live; (a = next_writing(a, &left)); a = next) {
		next = a->proc_next;
		bool open = a->mapped ? !mapped || mapped_has(maps, nmaps, a->file) : descriptors_have(v, n, a->file);
		if (a->settled && !open)
			access_end(s, a, sup_now(s));
	}
	free(v);
	free(maps);
}

/* Not zsh, ksh and busybox, which may map what they read. */
bool proc_is_shell(const char *path)
{
	static const char *const names[] = {"sh", "bash", "dash", "ash", "mksh"};
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(slash ? slash + 1 : path, names[i]))
			return true;
	return false;
}

void proc_end_redirected(struct sup *s, struct proc *p, int64_t until)
{
	struct mapped *v = NULL;
	size_t n = 0;
	bool any = false;
	struct access *next;
	for (const struct access *a = p->live; a; a = a->proc_next)
		any |= a->redirected;
	if (!any)
		return;
	accesses_settle(s, p);
	bool known = list_descriptor_files(s, p, &v, &n);
	for (struct access *a = known && !feature_bytes_wait(s, p) ? p->live : NULL; a; a = next) {
		next = a->proc_next;
		if (a->redirected && a->settled && !descriptors_have(v, n, a->file))
			access_end(s, a, until);
	}
	free(v);
}
