#include "capture/witness/witness_int.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define UNKNOWN UINT64_MAX
#define RUNS_SHARE 8     /* runs of a user take a quarter of its instances, two each */
#define FEW_INSTANCES 16 /* where a user has less, nothing is taken of it */
#define LISTENER_STACK 262144
#define HOLDERS 256 /* of one pipe: of more nothing is decided, for each begin and end goes through them */
#define ROUNDS 16   /* of one pipe: each costs as much as the first */

static const uint32_t masks[2] = {IN_ACCESS | IN_ONESHOT, IN_MODIFY | IN_ONESHOT};

/* ---- what there is of it ---- */

/* Takes what is to be read, and says whether the first of it is this event. */
static bool has_reported(int fd, uint32_t mask)
{
	_Alignas(struct inotify_event) char buffer[512];
	const struct inotify_event *v = (const struct inotify_event *)buffer;
	return read(fd, buffer, sizeof(buffer)) >= (ssize_t)sizeof(*v) && (v->mask & mask);
}

/* Reads and writes a byte: are both reported? */
static bool try_pipe(const int fd[2])
{
	char path[32], byte = 0;
	int pipe[2];
	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pipe[0]);
	bool good = inotify_add_watch(fd[WAY_READ], path, masks[WAY_READ]) >= 0 &&
	            inotify_add_watch(fd[WAY_WRITE], path, masks[WAY_WRITE]) >= 0 && write(pipe[1], &byte, 1) == 1 &&
	            has_reported(fd[WAY_WRITE], IN_MODIFY) && read(pipe[0], &byte, 1) == 1 &&
	            has_reported(fd[WAY_READ], IN_ACCESS);
	close(pipe[0]);
	close(pipe[1]);
	return good;
}

/* Two instances of inotify, for reading and writing, that were tried on a pipe. 0; -errno, and nothing is open. */
static int open_instances(int ret[2])
{
	int rc = 0;
	for (int way = 0; way < 2; way++) {
		ret[way] = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		rc = ret[way] < 0 ? -errno : rc;
	}
	if (rc == 0 && !try_pipe(ret))
		rc = -ENOTSUP;
	for (int way = 0; way < 2 && rc < 0; way++)
		if (ret[way] >= 0)
			close(ret[way]);
	return rc;
}

int witness_probe(void)
{
	int fd[2], rc = open_instances(fd);
	for (int way = 0; way < 2 && rc == 0; way++)
		close(fd[way]);
	return rc;
}

/* How many instances of inotify a user may have here; 0 if that cannot be read. */
static long max_instances(void)
{
	/* Of the first user namespace, and of this one. */
	static const char *const limits[] = {"/proc/sys/fs/inotify/max_user_instances",
	                                     "/proc/sys/user/max_inotify_instances"};
	long least = 0;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char text[32];
		long most = io_text(limits[i], text, sizeof(text)) ? strtol(text, NULL, 10) : 0;
		least = i && least < most ? least : most;
	}
	return least;
}

/* How many pipes are watched at a time: all runs of a user together take a quarter of its watches, and the worker keeps
 * most of its descriptors for processes. */
static unsigned max_pipes(void)
{
	char text[32];
	const unsigned long share = 4ul * 2 * 16; /* a quarter, two a pipe, some 16 runs */
	unsigned long most =
	    io_text("/proc/sys/fs/inotify/max_user_watches", text, sizeof(text)) ? strtoul(text, NULL, 10) / share : 0;
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 8 < most)
		most = files.rlim_cur / 8;
	return most < WITNESS_PIPES ? (unsigned)most : WITNESS_PIPES;
}

/* Inotify instances are few, and editors and jobs need them. So runs of one user share a number of places, each a name
 * that one socket can have. -1: none is free. */
static int take_place(void)
{
	long most = max_instances();
	int fd = most < FEW_INSTANCES ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (long i = 0; fd >= 0 && i < most / RUNS_SHARE; i++) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "stemma-inotify-%u-%ld", (unsigned)geteuid(), i);
		if (bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ==
		    0)
			return fd;
		if (errno != EADDRINUSE)
			break;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static void witness_listen(struct sup *s);

/* A thread that takes each report at once, before the other holders go on with something else. It ends with the run. */
static void *listen_at_once(void *arg)
{
	struct sup *s = arg;
	struct pollfd wait[2];
	for (bool on = true; on;) {
		pthread_mutex_lock(&s->lock);
		s->visits++;
		on = s->witnesses;
		for (int way = 0; way < 2 && on; way++)
			wait[way] = (struct pollfd){.fd = s->witnesses->fd[way], .events = POLLIN};
		witness_listen(s);
		pthread_mutex_unlock(&s->lock);
		if (on && poll(wait, 2, -1) < 0 && errno != EINTR)
			break;
	}
	return NULL;
}

/* Begins to watch pipes: at the first pipe, tried once; where somebody can take the lock it starts the thread that
 * waits for reports. NULL: pipes are not watched. */
static struct witnesses *begin_witnesses(struct sup *s)
{
	if (s->witnesses || s->unwitnessed)
		return s->witnesses;
	s->unwitnessed = true; /* it is tried once */
	struct witnesses *all = calloc(1, sizeof(*all));
	if (!all || (all->slot = take_place()) < 0) {
		free(all);
		return NULL;
	}
	if (open_instances(all->fd) < 0) {
		close(all->slot);
		free(all);
		return NULL;
	}
	all->most = max_pipes();
	s->witnesses = all;
	if (!s->leave) /* nobody takes the lock (a tracer): what is reported waits for a stop */
		return all;
	pthread_t thread;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&small, LISTENER_STACK);
	pthread_create(&thread, &small, listen_at_once, s); /* without it so it does, too */
	pthread_attr_destroy(&small);
	return all;
}

/* ---- who is still ---- */

/* Its bytes that way, of its calls that are over. */
static uint64_t total_of(struct sup *s, struct proc *p, enum way way)
{
	uint64_t written = proc_wchar(s, p);
	return way == WAY_WRITE || written == UNKNOWN ? written : p->rchar;
}

/* Has the process a pipe open that is watched? */
static bool witness_concerns(const struct proc *p)
{
	for (const struct access *a = p->live; a; a = a->proc_next)
		if (a->file->witness)
			return true;
	return false;
}

/* What a call that a process waits in may do to a pipe: nothing, which holds of all that are not told here; read or
 * write by its first argument, a descriptor; move bytes by another one, or later. */
enum effect { EFFECT_NONE, EFFECT_READS, EFFECT_WRITES, EFFECT_OTHER };

/* What the call may have done to a pipe: read it, written it, either, or nothing. EFFECT_OTHER: either. */
static enum effect call_effect(long nr)
{
	static const short reads[] = {SYS_read,    SYS_pread64, SYS_readv,    SYS_preadv,
	                              SYS_preadv2, SYS_recvmsg, SYS_recvfrom, SYS_recvmmsg},
	                   writes[] = {SYS_write,    SYS_pwrite64, SYS_writev,   SYS_pwritev,
	                               SYS_pwritev2, SYS_sendmsg,  SYS_sendmmsg, SYS_sendto},
	                   others[] = {SYS_sendfile,       SYS_splice,         SYS_tee,
	                               SYS_vmsplice,       SYS_ioctl,          SYS_io_submit,
	                               SYS_io_uring_enter, SYS_io_uring_setup, SYS_io_getevents,
	                               SYS_copy_file_range};
	static const struct {
		enum effect effect;
		const short *calls;
		size_t n;
	} table[] = {{EFFECT_READS, reads, sizeof(reads) / sizeof(*reads)},
	             {EFFECT_WRITES, writes, sizeof(writes) / sizeof(*writes)},
	             {EFFECT_OTHER, others, sizeof(others) / sizeof(*others)}};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (size_t k = 0; k < table[i].n; k++)
			if (table[i].calls[k] == nr)
				return table[i].effect;
	return EFFECT_NONE;
}

/* Is p's descriptor something else than the pipe? */
static bool is_other_file(const struct proc *p, const struct file *pipe, const char *fd)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/fd/%lld", p->pid, strtoll(fd, NULL, 16));
	return stat(name, &st) == 0 && (st.st_ino != pipe->ino || !S_ISFIFO(st.st_mode));
}

/* Does its one thread wait in a call that moves no bytes of the pipe that way? What it did before is in its totals
 * then. */
static bool waits_elsewhere(const struct proc *p, const struct file *pipe, enum way way)
{
	char name[48], line[256], *at;
	if (p->threads || !proc_has_one_thread(p))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/syscall", p->pid);
	if (!io_text(name, line, sizeof(line)))
		return false;
	long nr = strtol(line, &at, 10);
	const char *pc = strrchr(line, ' '); /* below 4 GiB: perhaps of the 32-bit interface, whose numbers are others */
	if (at == line || nr < 0 || !pc || !(strtoull(pc, NULL, 16) >> 32))
		return false;
	enum effect effect = call_effect(nr);
	if (effect == (way == WAY_READ ? EFFECT_READS : EFFECT_WRITES))
		return is_other_file(p, pipe, at);
	return effect != EFFECT_OTHER;
}

/* Is it still as it was: that what h's process had moved is what it has moved by now, and no call of it goes on. */
static bool is_still(struct sup *s, const struct holder *h, uint64_t since)
{
	struct proc *p = h->live->proc;
	p->wchar_stop = 0; /* it is to be read again */
	return since != UNKNOWN && !p->uncounted && waits_elsewhere(p, h->live->file, h->way) &&
	       total_of(s, p, h->way) == since;
}

/* ---- pipes ---- */

/* The pipe is not watched that way any longer. Its mark may belong to another pipe by now, and stays then. */
static void unwatch(struct witnesses *all, struct witness *w, enum way way)
{
	struct witness **slot = &all->of[way][(unsigned)w->watch[way] % WITNESS_SLOTS];
	if (!w->watch[way])
		return;
	if (*slot == w) {
		inotify_rm_watch(all->fd[way], w->watch[way]);
		*slot = NULL;
		all->waiting--;
	}
	w->watch[way] = 0;
}

/* The round that goes on, which way has; NULL none. */
static struct round *open_round(struct witness *w, enum way way)
{
	for (size_t i = w->rounds.n; i-- > 0;)
		if (w->rounds.v[i].way == way && !w->rounds.v[i].seen)
			return &w->rounds.v[i];
	return NULL;
}

/* Sets the watch. What the totals are is known before that. False: there is no room. */
static bool begin_round(struct sup *s, struct witness *w, enum way way)
{
	struct witnesses *all = s->witnesses;
	char path[48];
	struct round *r = w->rounds.n < ROUNDS ? vec_add(&w->rounds) : NULL;
	if (!r)
		return false;
	*r = (struct round){.way = way, .began = sup_now(s)};
	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->path);
	int number = inotify_add_watch(all->fd[way], path, masks[way]);
	struct witness **slot = number < 0 ? NULL : &all->of[way][(unsigned)number % WITNESS_SLOTS];
	if (!slot || *slot) {
		if (slot)
			inotify_rm_watch(all->fd[way], number);
		w->rounds.n--;
		return false;
	}
	*slot = w;
	w->watch[way] = number;
	all->waiting++;
	return true;
}

/* The pipe is watched no longer, and what was found of its holders is gone. */
static void free_witness(struct witnesses *all, struct witness *w)
{
	for (int way = 0; way < 2; way++)
		unwatch(all, w, (enum way)way);
	if (w->file)
		w->file->witness = NULL;
	struct witness **at = &all->first;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	all->npipes--;
	if (w->path >= 0)
		close(w->path);
	vec_release(&w->holders);
	vec_release(&w->rounds);
	free(w);
}

/* Takes an access into those that may have moved bytes that way; past HOLDERS the pipe is blind: no holder is told
 * apart. early: it began before the pipe was watched. */
static void add_holder(struct sup *s, struct witness *w, struct access *a, enum way way, bool early)
{
	struct proc *p = a->proc;
	struct holder *h = w->holders.n < HOLDERS ? vec_add(&w->holders) : NULL;
	if (!h) {
		w->blind = true;
		return;
	}
	*h = (struct holder){.live = a,
	                     .seq = a->seq,
	                     .proc = p->num,
	                     .n = p->execn,
	                     .way = way,
	                     .start = a->start,
	                     .end = TIME_NEVER,
	                     .base = UNKNOWN,
	                     .early = early};
	if (early) {
		p->wchar_stop = 0;
		h->base = total_of(s, p, way);
		h->untouched = !p->uncounted && !p->threads && proc_moved_none(s, p, way == WAY_WRITE);
	} else if (a->start == p->exec_start) {
		/* From its beginning on: a new program's is what its process had written by then, a new process's is nothing.
		 */
		h->base = way == WAY_WRITE ? p->wchar_exec : p->execn || !p->parent_num ? UNKNOWN : 0;
	}
	h->mark = h->base;
}

/* One holder for each way that the access may move bytes. */
static void add_holders(struct sup *s, struct witness *w, struct access *a, bool early)
{
	if (a->via == TERM_via_sync)
		return;
	if (a->mode & ACCESS_READ)
		add_holder(s, w, a, WAY_READ, early);
	if (a->mode & ACCESS_WRITE)
		add_holder(s, w, a, WAY_WRITE, early);
}

/* A process from which p descends, or p, may have been given descriptors from outside, or have given some away. */
static bool speaks_outside(struct sup *s, const struct proc *p)
{
	unsigned up = 0;
	for (; p && up < 64 && !p->unix_peer; up++)
		p = proc_parent(s, p);
	return p;
}

/* p stands at a stop: how many bytes are in its pipe; -1: that cannot be told. */
static int bytes_in_pipe(const struct proc *p, int fd)
{
	int bytes = -1, copy = (int)syscall(SYS_pidfd_getfd, p->pidfd, fd, 0);
	if (copy < 0)
		return -1;
	if (ioctl(copy, FIONREAD, &bytes) < 0)
		bytes = -1;
	close(copy);
	return bytes;
}

/* The oldest that nobody is known to hold. Decides on it first. False: somebody holds all. */
static bool make_place(struct sup *s)
{
	struct witness *oldest = NULL;
	for (struct witness *w = s->witnesses->first; w; w = w->next)
		if (!w->file || !w->file->live)
			oldest = w;
	if (!oldest)
		return false;
	witness_decide(s, oldest);
	free_witness(s->witnesses, oldest);
	return true;
}

/* A pipe that was met: begins to watch it, if pipes are watched in this run and there is room, and takes in those who
 * have it open. */
static void witness_arm(struct sup *s, struct proc *p, struct file *f, int fd)
{
	char path[48];
	struct stat st;
	if (s->exact || s->scans || s->preloads || s->tree_only || s->adopted || f->kind != TERM_kind_pipe || f->witness ||
	    f->outside || !p->parent_num || speaks_outside(s, p))
		return;
	struct witnesses *all = begin_witnesses(s);
	if (!all || (all->npipes >= all->most && !make_place(s)))
		return;
	struct witness *w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->next = all->first;
	w->file = f;
	w->met = p->num;
	w->past = f->left;
	f->witness = all->first = w;
	all->npipes++;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", p->pid, fd);
	w->path = open(path, O_PATH | O_CLOEXEC);
	for (struct access *a = f->live; a; a = a->file_next)
		add_holders(s, w, a, true);
	if (w->path < 0 || fstat(w->path, &st) < 0 || st.st_ino != f->ino || !begin_round(s, w, WAY_READ) ||
	    !begin_round(s, w, WAY_WRITE)) {
		free_witness(all, w);
		return;
	}
	w->armed = sup_now(s);
	for (int way = 0; way < 2; way++)
		w->met_moved[way] = p->execn || p->uncounted || !proc_moved_none(s, p, way == WAY_WRITE);
	w->filled = bytes_in_pipe(p, fd) != 0;
}

/* As long as nobody has moved anything in a round, it may as well begin now: what h's process moved by now was before
 * it. */
static void mark_again(struct sup *s, struct witness *w, size_t i)
{
	struct holder *h = &w->holders.v[i];
	if (!h->live || !open_round(w, h->way))
		return;
	h->live->proc->wchar_stop = 0;
	uint64_t total = total_of(s, h->live->proc, h->way);
	witness_listen(s);
	if (open_round(w, w->holders.v[i].way))
		w->holders.v[i].mark = total;
}

/* Somebody new may move bytes where others have before: the next to do so is to be known, too. */
static void watch_again(struct sup *s, struct witness *w, enum way way)
{
	for (size_t i = 0; i + 1 < w->holders.n && w->watch[way]; i++)
		if (w->holders.v[i].way == way)
			mark_again(s, w, i);
	if (w->watch[way] || w->rounds.n >= ROUNDS)
		return;
	for (size_t i = 0; i + 1 < w->holders.n; i++) {
		struct holder *h = &w->holders.v[i];
		if (h->way != way || !h->live)
			continue;
		h->live->proc->wchar_stop = 0;
		h->mark = total_of(s, h->live->proc, way);
	}
	begin_round(s, w, way);
}

/* Is this process one whose descriptors have not been looked at for this pipe? It counts as asked from then on. */
static bool witness_asks(struct file *f, const struct proc *q)
{
	struct witness *w = f->witness;
	bool known = !w || w->blind;
	for (size_t i = 0; !known && i < w->holders.n; i++)
		known = w->holders.v[i].proc == q->num;
	for (size_t i = 0; !known && i < WITNESS_ASKED; i++)
		known = w->asked[i] == q->num;
	if (!known)
		w->asked[w->nasked++ % WITNESS_ASKED] = q->num;
	return !known;
}

/* The process was met at the pipe: what its totals are is read anew for the round that is open. */
static void witness_met(struct sup *s, struct file *f, const struct proc *q)
{
	struct witness *w = f->witness;
	for (size_t i = 0; w && i < w->holders.n; i++)
		if (w->holders.v[i].proc == q->num)
			mark_again(s, w, i);
}

/* An access of a watched pipe began; its process is a holder from now on. */
static void witness_begin(struct sup *s, struct access *a)
{
	struct witness *w = a->file->witness;
	if (!w || w->blind)
		return;
	add_holders(s, w, a, false);
	const struct holder *h = w->holders.n ? &w->holders.v[w->holders.n - 1] : NULL;
	if (h && h->live == a && a->proc->execn && a->start == a->proc->exec_start)
		watch_again(s, w, h->way);
}

/* The file goes, what was found of its holders stays until the end, and is not trusted. */
static void witness_forget(struct file *f)
{
	if (!f->witness)
		return;
	f->witness->blind = true;
	f->witness->file = NULL;
	f->witness = NULL;
}

/* Ends the accesses of holders that have closed the pipe and moved nothing, such as a shell that waits for its
 * pipeline. They would else last as long as the shell. */
static void release_waiting(struct sup *s, struct witness *w)
{
	if (w->busy)
		return;
	w->busy = true;
	for (size_t i = 0; w->file && i < w->holders.n; i++) {
		struct holder *h = &w->holders.v[i];
		struct proc *p = h->live ? h->live->proc : NULL;
		if (!p || p->exit_seen || (s->current && s->current->proc == p) || !is_still(s, h, h->base) ||
		    proc_holds(p, w->file))
			continue;
		for (size_t k = 0; k < w->holders.n; k++) { /* both its accesses, by one look at its descriptors */
			const struct holder *other = &w->holders.v[k];
			if (other->live && other->live->proc == p && (k == i || is_still(s, other, other->base)))
				access_end(s, other->live, sup_now(s));
		}
	}
	w->busy = false;
}

/* An access ended: when, and whether its bytes are known by other means. */
static void witness_end(struct sup *s, struct access *a, const struct event_access_end *end)
{
	struct witness *w = a->file->witness;
	struct proc *p = a->proc;
	if (!w)
		return;
	for (size_t i = 0; i < w->holders.n; i++) {
		struct holder *h = &w->holders.v[i];
		if (h->live != a)
			continue;
		h->end = end->until == TIME_NONE ? sup_now(s) : end->until;
		/* Of a thread that is in a call still the totals do not tell yet, and one that never stopped is seen only now.
		 */
		h->uncounted = p->uncounted || p->threads || (p->exit_seen && p->single_stop != s->epoch + 1);
		h->settled = end->known & (h->way == WAY_READ ? 1 : 2);
		if (!p->exit_seen && !p->becoming) /* else what was read at its last stop is what counts */
			p->wchar_stop = 0;
		h->idle = h->base != UNKNOWN && !h->uncounted && total_of(s, p, h->way) == h->base;
		h->live = NULL;
		/* What it moved would have been reported by now. */
		struct round *r = p->exit_seen || p->becoming ? open_round(w, h->way) : NULL;
		if (r && i < 64)
			r->still |= (uint64_t)1 << i;
	}
}

/* The process is about to end. Accesses of its pipes whose processes have moved nothing and hold the pipe no more end
 * now. */
static void witness_leave(struct sup *s, struct proc *p)
{
	struct witness *of[16];
	size_t n = 0;
	if (!s->witnesses)
		return;
	for (const struct access *a = p->live; a && n < sizeof(of) / sizeof(of[0]); a = a->proc_next)
		if (a->file->witness)
			of[n++] = a->file->witness;
	for (size_t i = 0; i < n; i++)
		release_waiting(s, of[i]);
}

/* Somebody has moved bytes since the round began, and the round ends. Who stood still meanwhile, by its totals, cannot
 * have been it. */
static void mark_idle_and_end_round(struct sup *s, struct witness *w, enum way way)
{
	struct round *r = w->blind ? NULL : open_round(w, way);
	if (!r)
		return;
	r->seen = sup_now(s);
	for (size_t i = 0; i < w->holders.n && i < 64; i++) {
		const struct holder *h = &w->holders.v[i];
		if (h->way == way && h->live && is_still(s, h, h->mark))
			r->still |= (uint64_t)1 << i;
	}
	release_waiting(s, w);
}

/* Reads all that inotify has to tell of this way; where some got lost all pipes are blind. */
static void take_reports(struct sup *s, enum way way)
{
	_Alignas(struct inotify_event) char buffer[4096];
	struct witnesses *all = s->witnesses;
	for (ssize_t n; (n = read(all->fd[way], buffer, sizeof(buffer))) > 0;)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *v = (const struct inotify_event *)(buffer + at);
			at += (ssize_t)(sizeof(*v) + v->len);
			if (v->mask & IN_Q_OVERFLOW)
				for (struct witness *w = all->first; w; w = w->next)
					w->blind = true;
			struct witness **slot = v->wd > 0 ? &all->of[way][(unsigned)v->wd % WITNESS_SLOTS] : NULL;
			struct witness *w = slot ? *slot : NULL;
			if (!w || w->watch[way] != v->wd)
				continue;
			if (v->mask & IN_IGNORED) { /* it fires once */
				*slot = NULL;
				w->watch[way] = 0;
				all->waiting--;
			} else if (v->mask & (IN_ACCESS | IN_MODIFY)) {
				mark_idle_and_end_round(s, w, way);
			}
		}
}

/* Reads reports, where pipes wait for any. */
static void witness_listen(struct sup *s)
{
	if (!s->witnesses || !s->witnesses->waiting)
		return;
	take_reports(s, WAY_READ);
	take_reports(s, WAY_WRITE);
}

/* Releases the watching of pipes: all of it; nothing is decided. */
static void witness_free(struct sup *s)
{
	struct witnesses *all = s->witnesses;
	while (all->first)
		free_witness(all, all->first);
	close(all->fd[0]);
	close(all->fd[1]);
	close(all->slot);
	free(all);
	s->witnesses = NULL;
}

/* At the end of the run: decides who moved the bytes of each pipe, and frees. */
static void witness_finish(struct sup *s)
{
	if (!s->witnesses)
		return;
	witness_listen(s);
	for (struct witness *w = s->witnesses->first; w; w = w->next)
		witness_decide(s, w);
	witness_free(s);
}

const struct feature witness_feature = {
    .name = "pipes",
    .pipes = &(const struct pipe_watcher){.arm = witness_arm,
                                          .asks = witness_asks,
                                          .met = witness_met,
                                          .begun = witness_begin,
                                          .ends = witness_end,
                                          .concerns = witness_concerns,
                                          .leaves = witness_leave,
                                          .listen = witness_listen,
                                          .finish = witness_finish,
                                          .forget = witness_forget},
};
