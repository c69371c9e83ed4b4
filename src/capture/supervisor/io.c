/* Bytes, counts and times of each access, under --exact: every call that moves bytes is seen at its beginning, where
 * its descriptor is looked up, and at its end, where its result is. Budget: beside the two stops (25 µs) a statx a
 * descriptor and a walk over the process's live accesses; 200 bytes an access and kind of call. See doc/io.md. */
#include "capture/supervisor/channels/sockets.h"
#include "capture/supervisor/super.h"
#include "event/sizes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <linux/fs.h> cannot be used beside <sys/mount.h>'s relatives on every system. */
#define CLONE_WHOLE 0x40049409u
#define CLONE_RANGE 0x4020940du

struct io_sum {
	struct io_sum *next;
	unsigned api;
	bool write;
	uint64_t calls, failed, bytes, largest, spent, size[SIZE_CLASSES];
	int64_t first, last;
};

/* What the result of a call says: bytes; messages, whose lengths the kernel has put into an array; nothing but success,
 * and the bytes are known from its arguments; a connection. */
enum result { BYTES, MESSAGES, SUCCESS, DESCRIPTOR };

struct io_row {
	long nr;
	unsigned api;
	int from, to; /* arguments that are descriptors: read from, written to; -1 none */
	enum result result;
};

static const struct io_row rows[] = {
    {SYS_read, TERM_ioapi_read, 0, -1, BYTES},
    {SYS_write, TERM_ioapi_read, -1, 0, BYTES},
    {SYS_pread64, TERM_ioapi_pread, 0, -1, BYTES},
    {SYS_pwrite64, TERM_ioapi_pread, -1, 0, BYTES},
    {SYS_readv, TERM_ioapi_readv, 0, -1, BYTES},
    {SYS_writev, TERM_ioapi_readv, -1, 0, BYTES},
    {SYS_preadv, TERM_ioapi_preadv, 0, -1, BYTES},
    {SYS_pwritev, TERM_ioapi_preadv, -1, 0, BYTES},
    {SYS_preadv2, TERM_ioapi_preadv, 0, -1, BYTES},
    {SYS_pwritev2, TERM_ioapi_preadv, -1, 0, BYTES},
    {SYS_recvfrom, TERM_ioapi_recv, 0, -1, BYTES},
    {SYS_recvmsg, TERM_ioapi_recv, 0, -1, BYTES},
    {SYS_recvmmsg, TERM_ioapi_recv, 0, -1, MESSAGES},
    {SYS_sendto, TERM_ioapi_recv, -1, 0, BYTES},
    {SYS_sendmsg, TERM_ioapi_recv, -1, 0, BYTES},
    {SYS_sendmmsg, TERM_ioapi_recv, -1, 0, MESSAGES},
    {SYS_sendfile, TERM_ioapi_sendfile, 1, 0, BYTES},
    {SYS_splice, TERM_ioapi_splice, 0, 2, BYTES},
    {SYS_tee, TERM_ioapi_splice, 0, 1, BYTES},
    {SYS_vmsplice, TERM_ioapi_splice, 0, 0, BYTES}, /* which of the two, the descriptor says */
    {SYS_copy_file_range, TERM_ioapi_copy, 0, 2, BYTES},
    {SYS_ioctl, TERM_ioapi_clone, 2, 0, SUCCESS},
    {SYS_mmap, TERM_ioapi_mmap, 4, 4, SUCCESS},
    {SYS_accept, TERM_ioapi_other, -1, -1, DESCRIPTOR},
    {SYS_accept4, TERM_ioapi_other, -1, -1, DESCRIPTOR},
};

/* How a system call moves bytes between descriptors. NULL: it moves no bytes. */
static const struct io_row *find_io_call(int nr)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].nr == nr)
			return &rows[i];
	return NULL;
}

/* ---- which access a descriptor is ---- */

/* A socket that was given an address counts to it, whatever its inode is. A full table forgets its oldest. */
void io_socket(struct sup *s, struct proc *p, int fd, const struct file *f)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", p->pid, fd);
	if (stat(name, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	uint64_t *slot = s->sockets[s->next_socket++ % SOCKETS];
	slot[0] = st.st_ino;
	slot[1] = f->num;
}

/* A connection that was accepted is of the address that was listened at. */
static void emit_accepted(struct sup *s, struct proc *p, int listening, int fd)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", p->pid, listening);
	if (stat(name, &st) < 0)
		return;
	for (unsigned i = 0; i < SOCKETS; i++)
		if (s->sockets[i][0] == st.st_ino)
			for (struct access *a = p->live; a; a = a->proc_next)
				if (a->file->num == s->sockets[i][1]) {
					io_socket(s, p, fd, a->file);
					return;
				}
}

/* The process's access of that socket, NULL. */
static struct access *of_socket(const struct sup *s, struct proc *p, uint64_t ino, unsigned mode)
{
	for (unsigned i = 0; i < SOCKETS; i++)
		if (s->sockets[i][0] == ino)
			for (struct access *a = p->live; a; a = a->proc_next)
				if (a->file->num == s->sockets[i][1] && (a->mode & mode))
					return a;
	return NULL;
}

/* The live access of p to f in that mode; NULL: none. sync: rather one that is no data. */
static struct access *live_access(const struct proc *p, const struct file *f, unsigned mode, bool sync)
{
	struct access *found = NULL;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file == f && (a->mode & mode) && (!found || (a->via == TERM_via_sync) == sync))
			found = a;
	return found;
}

/* Begins an access of a file that p has open, though nobody saw how. */
static struct access *begin_unseen_access(struct sup *s, struct proc *p, struct file *f, unsigned mode,
                                          const struct statx *st)
{
	const unsigned type = st->stx_mode & S_IFMT;
	struct fingerprint print = fingerprint_of(st);
	struct task *was = s->current;
	struct access *a;
	s->current = NULL; /* it is open already: no call is to come back first */
	if (type == S_IFREG && st->stx_nlink == 0 && p->tmpfile && mode == ACCESS_WRITE)
		a = access_begin(s, p, f, ACCESS_WRITE | ACCESS_CREATE, TERM_via_data, true, TERM_api_open, p->tmpfile, NULL);
	else
		a = access_begin(s, p, f, mode, type == S_IFSOCK ? TERM_via_socket : TERM_via_descriptor, false,
		                 TERM_api_inherit, sup_now(s), type == S_IFREG ? &print : NULL);
	s->current = was;
	return a;
}

/* Are bytes of such a file counted? */
static bool is_counted_type(const struct statx *st)
{
	const unsigned type = st->stx_mode & S_IFMT;
	return type == S_IFREG || type == S_IFIFO || type == S_IFSOCK || file_is_terminal(st);
}

/* The live access of p through its descriptor, begun now if it came unseen (SCM_RIGHTS, a pipe of its own). NULL: not a
 * file that is counted. */
static struct access *access_of(struct sup *s, struct proc *p, pid_t tid, int fd, unsigned mode, struct statx *ret)
{
	struct where w;
	if (fd < 0)
		return NULL;
	where_fd(tid, fd, &w);
	int rc = where_statx(&w, true, ret);
	if (rc < 0) {
		p->io_unseen |= rc != -ENOENT; /* else it is not open, and the call will say so */
		return NULL;
	}
	if (!is_counted_type(ret))
		return NULL;
	struct access *found = S_ISSOCK(ret->stx_mode) ? of_socket(s, p, ret->stx_ino, mode) : NULL;
	if (found)
		return found;
	struct file *f = file_get(s, &w, true, ret);
	p->io_unseen |= !f;
	if (!f || f->kind == TERM_kind_pseudo)
		return NULL;
	found = live_access(p, f, mode, fd == 2);
	if (!found)
		found = begin_unseen_access(s, p, f, mode, ret);
	p->io_unseen |= !found;
	return found;
}

/* ---- calls ---- */

/* May this descriptor be written to? */
static bool is_writable(pid_t tid, int fd)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", tid, fd);
	return lstat(name, &st) == 0 && (st.st_mode & S_IWUSR);
}

/* Bytes of a clone; 0 for another ioctl. */
static uint64_t clone_of(struct task *k, const struct trap *t, int *ret_from)
{
	struct {
		int64_t from;
		uint64_t offset, length, to;
	} range;
	*ret_from = (int)t->args[2];
	if ((uint32_t)t->args[1] == CLONE_WHOLE)
		return UINT64_MAX; /* as long as the file is */
	if ((uint32_t)t->args[1] != CLONE_RANGE || remote_read(k->tid, t->args[2], &range, sizeof(range)) != sizeof(range))
		return 0;
	*ret_from = (int)range.from;
	return range.length ? range.length : UINT64_MAX;
}

/* A call changed the file that moves no bytes by itself (fallocate, ftruncate). */
static void mark_altered(struct sup *s, struct proc *p, struct task *k, int fd)
{
	struct statx st;
	struct access *a = access_of(s, p, k->tid, fd, ACCESS_WRITE, &st);
	if (a)
		a->altered = true;
}

/* What is only looked at is received again. */
static bool is_peek(const struct trap *t)
{
	int flags = t->nr == SYS_recvmsg                             ? (int)t->args[2]
	            : t->nr == SYS_recvfrom || t->nr == SYS_recvmmsg ? (int)t->args[3]
	                                                             : 0;
	return flags & MSG_PEEK;
}

/* What a call moves: between which descriptors (-1: none), how many bytes if that is known before (UINT64_MAX: as many
 * as the file has). */
struct move {
	int from, to;
	uint64_t bytes;
};

/* Takes a stopped mmap for a move of bytes from or to a file. False: it is not counted. */
static bool enter_mmap(struct sup *s, struct proc *p, struct task *k, const struct trap *t, struct move *m)
{
	if (t->args[3] & MAP_ANONYMOUS)
		return false;
	m->bytes = t->args[1];
	if (!(t->args[3] & MAP_SHARED))
		m->to = -1;
	if (m->to >= 0 && !(t->args[2] & PROT_WRITE)) { /* mprotect may make it writable */
		if (is_writable(k->tid, m->to))
			mark_altered(s, p, k, m->to);
		m->to = -1;
	}
	return true;
}

/* Finds what a call moves, by what is particular to some calls. False: this one moves nothing that is counted. */
static bool find_move(struct sup *s, struct proc *p, struct task *k, const struct trap *t, const struct io_row *r,
                      struct move *m)
{
	*m = (struct move){.from = r->from >= 0 ? (int)t->args[r->from] : -1, .to = r->to >= 0 ? (int)t->args[r->to] : -1};
	if (r->api == TERM_ioapi_clone)
		return (m->bytes = clone_of(k, t, &m->from)) != 0;
	if (r->api == TERM_ioapi_mmap)
		return enter_mmap(s, p, k, t, m);
	if (r->api == TERM_ioapi_splice && t->nr == SYS_vmsplice) {
		bool writes = is_writable(k->tid, m->to);
		m->from = writes ? -1 : m->from;
		m->to = writes ? m->to : -1;
	}
	return true;
}

/* One side of a move: its access, and how far the bytes go where that is a socket and somebody asks. */
static struct access *enter_side(struct sup *s, struct proc *p, struct task *k, int fd, bool write, bool peek,
                                 struct statx *ret)
{
	const bool wanted = s->observer && s->observer->moved;
	struct access *a = fd >= 0 ? access_of(s, p, k->tid, fd, write ? ACCESS_WRITE : ACCESS_READ, ret) : NULL;
	k->io_reach[write] =
	    wanted && fd >= 0 && S_ISSOCK(ret->stx_mode) && !peek ? socket_reach(s, p, fd, ret->stx_ino) : REACH_NOT;
	k->io_seq[write] = a ? a->seq : 0;
	return a;
}

/* The call, of row r, is about to move bytes. */
static void enter_move(struct sup *s, struct proc *p, struct task *k, const struct trap *t, const struct io_row *r)
{
	struct statx st = {0}, to = {0};
	struct move m;
	if (!find_move(s, p, k, t, r, &m))
		return;
	struct access *a = enter_side(s, p, k, m.from, false, is_peek(t), &st);
	k->io_bytes = m.bytes == UINT64_MAX ? st.stx_size : m.bytes;
	if (a && r->api == TERM_ioapi_mmap)
		a->loaded = true; /* whether the call succeeds or not: then nothing is claimed */
	enter_side(s, p, k, m.to, true, false, &to);
	bool far = k->io_reach[0] != REACH_NOT || k->io_reach[1] != REACH_NOT;
	if (!k->io_seq[0] && !k->io_seq[1] && !far && r->result != DESCRIPTOR)
		return;
	k->io = r;
	k->io_start = sup_now(s);
	memcpy(k->io_args, t->args, sizeof(k->io_args));
}

/* Bytes that it moves are in no row of the table. */
static bool is_uncounted(const struct trap *t)
{
	return t->compat || t->nr == SYS_io_submit || t->nr == SYS_io_uring_enter;
}

void io_enter(struct sup *s, const struct trap *t)
{
	struct task *k = task_of(s, t->tid);
	if (!k)
		return;
	struct proc *p = k->proc;
	k->io = NULL;
	s->epoch++;
	const bool length = t->nr == SYS_ftruncate || t->nr == SYS_fallocate, uncounted = is_uncounted(t);
	const struct io_row *r = uncounted || length ? NULL : find_io_call(t->nr);
	if (!r && !length && !uncounted)
		return;
	if (p->exec && t->call != CALL_execve && t->call != CALL_execveat)
		exec_settle(s, p, t->tid); /* a static program may read before it does anything that concerns names */
	p->io_unseen |= uncounted;
	if (length)
		mark_altered(s, p, k, (int)t->args[0]);
	/* Until it is the command it is not: what this process says to the recorder. */
	if (r && (p->pid != s->root || p->execn))
		enter_move(s, p, k, t, r);
}

/* Bytes of all messages of an array of struct mmsghdr. */
static uint64_t sum_messages(struct proc *p, pid_t tid, uint64_t addr, uint64_t n)
{
	enum { HEADER = 56, STRIDE = 64 };
	uint64_t sum = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t length;
		if (remote_read(tid, addr + i * STRIDE + HEADER, &length, sizeof(length)) != sizeof(length)) {
			p->io_unseen = true;
			break;
		}
		sum += length;
	}
	return sum;
}

/* A call of the access `seq`: bytes, or failed (rval below 0). ns. */
static void count_io_call(struct sup *s, struct proc *p, uint64_t seq, unsigned api, bool write, int64_t start,
                          int64_t rval, uint64_t bytes)
{
	struct access *a = p->live;
	while (a && a->seq != seq)
		a = a->proc_next;
	struct io_sum *sum = a ? a->io : NULL;
	while (sum && (sum->api != api || sum->write != write))
		sum = sum->next;
	if (a && !sum && (sum = calloc(1, sizeof(*sum)))) {
		*sum = (struct io_sum){.next = a->io, .api = api, .write = write, .first = start};
		a->io = sum;
	}
	if (!sum) {
		p->io_unseen = true; /* closed by another thread meanwhile; no memory */
		return;
	}
	int64_t now = sup_now(s);
	sum->last = now;
	sum->spent += now > start ? (uint64_t)(now - start) : 0;
	if (rval < 0) {
		sum->failed++;
		return;
	}
	sum->calls++;
	sum->bytes += bytes;
	if (bytes > sum->largest)
		sum->largest = bytes;
	sum->size[size_class(bytes)]++;
}

bool io_count(struct sup *s, struct access *a, unsigned api, bool write, uint64_t calls, uint64_t bytes, int64_t since,
              int64_t until)
{
	(void)s;
	struct io_sum *sum = a->io;
	while (sum && (sum->api != api || sum->write != write))
		sum = sum->next;
	if (!sum && (sum = calloc(1, sizeof(*sum)))) {
		*sum = (struct io_sum){.next = a->io, .api = api, .write = write, .first = TIME_NONE, .last = TIME_NONE};
		a->io = sum;
	}
	if (!sum)
		return false;
	sum->calls += calls;
	sum->bytes += bytes;
	if (until != TIME_NONE && calls) {
		if (sum->first == TIME_NONE)
			sum->first = since > a->start ? since : a->start;
		sum->last = until;
	}
	return true;
}

/* Bytes that a call has moved, which came back with rval. */
static uint64_t bytes_of_result(struct task *k, const struct io_row *r, int64_t rval, bool ok)
{
	if (r->result == SUCCESS)
		return k->io_bytes;
	if (r->result == BYTES)
		return (uint64_t)rval;
	return ok ? sum_messages(k->proc, k->tid, k->io_args[1], (uint64_t)rval) : 0;
}

/* rval: as the kernel has it, -errno for an error. Nothing if the call moves no bytes. */
void io_leave(struct sup *s, pid_t tid, int64_t rval)
{
	enum { RESTART_FIRST = 512, RESTART_LAST = 516, ERRNO_LAST = 4095 };
	struct task *k = task_known(s, tid);
	const struct io_row *r = k ? k->io : NULL;
	if (!r)
		return;
	k->io = NULL;
	if (rval <= -RESTART_FIRST && rval >= -RESTART_LAST)
		return; /* a signal: it is about to be made again */
	const bool ok = rval >= 0 || rval < -ERRNO_LAST;
	if (r->result == DESCRIPTOR) {
		if (ok)
			emit_accepted(s, k->proc, (int)k->io_args[0], (int)rval);
		return;
	}
	const uint64_t bytes = bytes_of_result(k, r, rval, ok);
	for (int i = 0; i < 2; i++)
		if (k->io_reach[i] != REACH_NOT && ok && bytes)
			s->observer->moved(s->observer->arg, i == 1, k->io_reach[i] == REACH_OUT, bytes);
	for (int i = 0; i < 2; i++)
		if (k->io_seq[i])
			count_io_call(s, k->proc, k->io_seq[i], r->api, i == 1, k->io_start, ok ? 0 : -1, bytes);
}

/* ---- figures ---- */

/* What was not written is lost. */
void io_free(struct access *a)
{
	while (a->io) {
		struct io_sum *next = a->io->next;
		free(a->io);
		a->io = next;
	}
}

/* A thread is in a call on it that has not returned, and never will if it was killed there: half of it may be done. */
static bool is_cut_short(const struct access *a)
{
	for (const struct task *k = a->proc->tasks; k; k = k->sibling)
		if (k->io && (k->io_seq[0] == a->seq || k->io_seq[1] == a->seq))
			return true;
	return false;
}

/* Whose bytes the kernel's totals have; they have not what is sent and received through a socket. */
static bool is_stream_in_totals(const struct file *f)
{
	return f->kind == TERM_kind_pipe || f->kind == TERM_kind_fifo || f->kind == TERM_kind_terminal;
}

/* May its file have been written by a mapping? What can be read, too, can be mapped, and made writable then: was it?
 * Only injected code would tell. *ret_readable: it can be. */
static bool is_file_mapped(const struct access *a, bool *ret_readable)
{
	bool mapped = false;
	*ret_readable = false;
	for (const struct access *b = a->proc->live; b; b = b->proc_next)
		if (b->file == a->file && a->file->kind == TERM_kind_regular) {
			*ret_readable |= (b->mode & ACCESS_READ) && !(b->mode & ACCESS_PROGRAM);
			mapped |= b->loaded;
		}
	return mapped;
}

/* Would the totals show it if bytes had been moved that way? A file may have been read by a mapping that nobody saw, so
 * of those it is said of writing only. */
static bool shows_in_totals(const struct file *f, unsigned way)
{
	return f->kind == TERM_kind_regular ? way == ACCESS_WRITE && file_cannot_be_cloned(f) : is_stream_in_totals(f);
}

/* Is it shown that the access moved no byte? That no byte was moved one way is known where what was counted is all,
 * or the kernel has counted none at all. */
static bool is_shown_unmoved(struct sup *s, const struct access *a, unsigned way)
{
	struct proc *p = a->proc;
	bool readable = false, mapped = false;
	if (!(a->mode & way) || a->mapped || a->altered || p->uncounted || !shows_in_totals(a->file, way))
		return false;
	if (way == ACCESS_WRITE)
		mapped = is_file_mapped(a, &readable);
	if (!mapped && feature_bytes_none(s, a, way))
		return true;
	/* Of another thread's call that goes on the totals do not tell yet. */
	return !readable && !p->threads && proc_moved_none(s, p, way == ACCESS_WRITE);
}

/* Adds up what is kept by kind of call: bytes, and when the first and the last were moved. */
static void add_sums(const struct access *a, struct io_known *k)
{
	for (const struct io_sum *sum = a->io; sum; sum = sum->next) {
		if (sum->api == TERM_ioapi_mmap)
			continue;
		const bool timed = sum->calls && sum->first != TIME_NONE;
		if (timed && (k->first == TIME_NONE || sum->first < k->first))
			k->first = sum->first;
		if (timed && (k->last == TIME_NONE || sum->last > k->last))
			k->last = sum->last;
		*(sum->write ? &k->bytes_written : &k->bytes_read) += sum->bytes;
	}
}

/* Fills in what is known of an access's bytes. Without that every call was seen, bytes of 0 prove nothing. */
static void known_sums(struct sup *s, const struct access *a, struct io_known *k)
{
	add_sums(a, k);
	k->read = (a->mode & ACCESS_READ) && !a->loaded && !a->mapped;
	/* Altered in its length (ftruncate, as sort -o and split do): no bytes are no proof then that nothing was changed.
	 */
	k->written = (a->mode & ACCESS_WRITE) && !a->mapped && (!a->altered || k->bytes_written);
	if (!s->exact) { /* that there was none is known only where every call was seen */
		const unsigned partial = a->partial | feature_bytes_unsaid(s, a);
		k->read &= k->bytes_read > 0 && !(partial & ACCESS_READ);
		k->written &= k->bytes_written > 0 && !(partial & ACCESS_WRITE);
	}
}

/* What is known of the bytes that the access moved, and when; nothing where calls of the process may have been missed.
 */
struct io_known io_known(struct sup *s, const struct access *a)
{
	struct io_known k = {.first = TIME_NONE, .last = TIME_NONE};
	if (a->proc->io_unseen || (a->mode & ACCESS_PROGRAM) || is_cut_short(a))
		return k;
	if (s->exact || (a->io && feature_bytes_all(s, a->proc)))
		known_sums(s, a, &k);
	if (s->exact || !s->bytes)
		return k;
	if (!k.read && !k.bytes_read && is_shown_unmoved(s, a, ACCESS_READ))
		k.read = k.idle = true;
	if (!k.written && !k.bytes_written && is_shown_unmoved(s, a, ACCESS_WRITE))
		k.written = k.idle = true;
	return k;
}

void io_emit(struct sup *s, const struct access *a)
{
	if (!s->exact && a->io && !feature_bytes_all(s, a->proc))
		return;
	for (const struct io_sum *i = a->io; i; i = i->next) {
		struct event ev = {.io = {.access = a->seq,
		                          .api = i->api,
		                          .write = i->write,
		                          .calls = i->calls,
		                          .failed = i->failed,
		                          .bytes = i->bytes,
		                          .largest = i->largest,
		                          .spent = i->spent,
		                          .first = i->first,
		                          .last = i->last,
		                          .size0 = i->size[0],
		                          .size1 = i->size[1],
		                          .size2 = i->size[2],
		                          .size3 = i->size[3],
		                          .size4 = i->size[4],
		                          .size5 = i->size[5],
		                          .size6 = i->size[6],
		                          .size7 = i->size[7],
		                          .size8 = i->size[8],
		                          .size9 = i->size[9]}};
		sup_event(s, EVENT_io, sup_now(s), a->proc, &ev);
	}
}
