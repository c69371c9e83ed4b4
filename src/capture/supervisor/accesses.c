/* Accesses: what is open, since when, and what shows that it was written. */
#include "base/fileid.h"
#include "base/io.h"
#include "capture/supervisor/channels/connects.h"
#include "capture/supervisor/files_int.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/paths/far.h"
#include "capture/supervisor/procs_int.h"
#include "capture/supervisor/super.h"
#include "event/access_ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Has the process written since then? By the process's total of written bytes; true where that cannot be read. */
static bool has_written_since(struct sup *s, struct proc *p, uint64_t before)
{
	uint64_t now = proc_wchar(s, p);
	return now == UINT64_MAX || now != before;
}

/* Has any of those who have the file open for writing, too, written anything since? */
static bool rivals_moved(struct sup *s, const struct access *a)
{
	for (int i = 0; i < RIVALS; i++)
		if (a->rival[i].proc && has_written_since(s, a->rival[i].proc, a->rival[i].wchar))
			return true;
	return false;
}

/* Once for each process; more than RIVALS, and the access is crowded: no silence of others proves anything. */
static void rival_add(struct sup *s, struct access *a, struct proc *other)
{
	int free = -1;
	for (int i = 0; i < RIVALS; i++) {
		if (a->rival[i].proc == other)
			return;
		if (!a->rival[i].proc && free < 0)
			free = i;
	}
	if (free < 0 || a->crowded) {
		a->crowded = true;
		return;
	}
	a->rival[free].proc = other;
	a->rival[free].wchar = proc_wchar(s, other);
}

/* Settles rivals: p's part in f is over: whoever had p as a rival learns now whether p wrote. */
static void rivals_resolve(struct sup *s, struct file *f, struct proc *p)
{
	for (struct access *a = f->live; a; a = a->file_next)
		for (int i = 0; i < RIVALS; i++)
			if (a->rival[i].proc == p) {
				a->crowded |= has_written_since(s, p, a->rival[i].wchar);
				a->rival[i].proc = NULL;
			}
}

/* Written by the process itself, through a descriptor or a mapping of its own: by one that it was given, others may
 * write too. */
static bool is_own_writing(const struct access *a)
{
	return (a->mode & ACCESS_WRITE) && a->via == TERM_via_data && a->file->kind == TERM_kind_regular;
}

/* Links an access into the lists of its file and its process. */
static void link_live_access(struct access *a)
{
	a->file->met = true;
	a->file_next = a->file->live;
	a->file_at = &a->file->live;
	if (a->file_next)
		a->file_next->file_at = &a->file_next;
	a->file->live = a;
	a->proc_next = a->proc->live;
	a->proc_at = &a->proc->live;
	if (a->proc_next)
		a->proc_next->proc_at = &a->proc_next;
	a->proc->live = a;
	a->proc->nlive++;
	a->own_writing = is_own_writing(a);
	a->proc->nwriting += a->own_writing;
}

/* Takes it out of both lists and frees it, and its file if that was only waiting for this. */
static void access_free(struct sup *s, struct access *a)
{
	struct file *f = a->file;
	*a->file_at = a->file_next;
	if (a->file_next)
		a->file_next->file_at = a->file_at;
	*a->proc_at = a->proc_next;
	if (a->proc_next)
		a->proc_next->proc_at = a->proc_at;
	a->proc->nlive--;
	a->proc->nwriting -= a->own_writing;
	io_free(a);
	free(a);
	f->left = true;
	file_drop(s, f);
}

int task_call(pid_t tid, enum call *ret)
{
	char name[64], line[64], *end;
	snprintf(name, sizeof(name), "/proc/%d/syscall", tid);
	if (!io_text(name, line, sizeof(line)))
		return -ESRCH;
	long nr = strtol(line, &end, 10);
	if (end == line || nr < 0)
		return -EAGAIN;
	*ret = trap_call_native((int)nr);
	return 0;
}

/* The call that begins the access was let go on; has it come back? While that cannot be told, the access is live. */
bool access_begun(struct sup *s, const struct access *a)
{
	if (a->proc->ring_files) /* a ring may have it, which nothing tells */
		return false;
	if (!a->tid)
		return true;
	struct task *t = task_known(s, a->tid);
	if (!t || t->proc != a->proc || t->stops != a->stop)
		return true;
	/* Waiting in a call that we do not stop shows that ours is over. */
	enum call call;
	return task_call(a->tid, &call) == 0 && call == CALL_none;
}

void accesses_settle(struct sup *s, struct proc *p)
{
	for (struct access *a = p->live; a; a = a->proc_next)
		a->settled = access_begun(s, a);
}

/* The file's fingerprint now, by its last known name. Unknown if another file has that name. */
static struct fingerprint print_now(const struct sup *s, const struct file *f)
{
	struct statx st;
	if (f->last_stop == s->epoch + 1)
		return f->last;
	if (!f->path || f->hidden ||
	    (f->far ? far_statx(f->dev, AT_FDCWD, f->path, AT_SYMLINK_NOFOLLOW, &st) != 0
	            : statx(AT_FDCWD, f->path, AT_SYMLINK_NOFOLLOW, FILEID_STATX, &st) < 0))
		return (struct fingerprint){0};
	if (st.stx_ino != f->ino || fileid_dev(&st) != f->dev)
		return (struct fingerprint){0};
	return fingerprint_of(&st);
}

/* Is a file that was changed after its times were asked for given another ctime, however soon it was? */
static bool file_has_fine_times(const struct file *f)
{
	static const char *const types[] = {"ext4", "xfs", "btrfs", "tmpfs"}; /* FS_MGTIME of Linux 6.13 */
	static int kernel;
	struct utsname name;
	int major = 0, minor = 0;
	if (!kernel)
		kernel = uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
		                 (major > 6 || (major == 6 && minor >= 13))
		             ? 1
		             : -1;
	for (size_t i = 0; kernel > 0 && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(f->domain->type, types[i]))
			return true;
	return false;
}

void accesses_look_at_written(struct sup *s, struct proc *p)
{
	enum { FEW = 4 }; /* each costs 1.5 us */
	unsigned left = p->nwriting <= FEW ? p->nwriting : 0;
	for (struct access *a = p->live; a && left; a = a->proc_next) {
		if (!a->own_writing)
			continue;
		left--;
		struct fingerprint now =
		    !a->mapped && file_has_fine_times(a->file) ? print_now(s, a->file) : (struct fingerprint){0};
		if (!now.known || now.ctime == a->seen_ctime)
			continue;
		a->seen_ctime = now.ctime;
		a->seen_at = sup_now(s);
	}
}

/* How much slack a file's times have: by how much a file time may be behind the clock that sup_stamp tells of. ns. */
static int64_t time_slack(const struct file *f)
{
	const int64_t tick = 20000000, minute = 60000000000;
	return !access_ending_has_clock(f->domain) ? minute : f->domain->mtime_step > tick ? f->domain->mtime_step : 0;
}

/* The moment after which the access wrote nothing, by the file's ctime at its end: no program can put that back. ns;
 * TIME_NONE or INT64_MAX: not known. */
static int64_t written_until(struct sup *s, const struct access *a, const struct fingerprint *after)
{
	int64_t bound = sup_passed(s, after->ctime + time_slack(a->file));
	return a->seen_at && a->seen_ctime == after->ctime && (bound == TIME_NONE || a->seen_at < bound) ? a->seen_at
	                                                                                                 : bound;
}

bool file_cannot_be_cloned(const struct file *f)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "tmpfs", "ramfs"};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(f->domain->type, types[i]))
			return true;
	return f->kind != TERM_kind_regular;
}

bool file_is_steady(const struct file *f, const struct fingerprint *fp, int64_t time)
{
	const int64_t moment = 100000000; /* more than a tick of any kernel */
	return f->kind == TERM_kind_regular && !f->unsteady && fp->known && access_ending_has_clock(f->domain) &&
	       fp->ctime + time_slack(f) + moment < time && !file_is_written(f);
}

struct asked_access {
	struct sup *s;
	const struct access *a;
};

/* arg: struct asked_access. Was nobody else there who could have written it? */
static bool is_access_alone(void *arg)
{
	const struct asked_access *q = arg;
	return !q->a->crowded && !rivals_moved(q->s, q->a);
}

/* arg: struct asked_access. Has the process written no byte at all since its exec? */
static bool is_access_silent(void *arg)
{
	const struct asked_access *q = arg;
	const struct proc *p = q->a->proc;
	uint64_t w = q->a->via == TERM_via_descriptor || q->a->timed ? proc_wchar(q->s, q->a->proc) : UINT64_MAX;
	return w != UINT64_MAX && w == p->wchar_exec;
}

/* What a file was like, in the form that events have. As events have it. */
static struct access_print access_print_of(const struct fingerprint *fp)
{
	return (struct access_print){fp->known, fp->size, fp->mtime, fp->ctime};
}

/* A TERM_evidence_*: what shows that the access wrote. after: the file's fingerprint now. */
static unsigned access_evidence(struct sup *s, const struct access *a, const struct fingerprint *after)
{
	const struct file *f = a->file;
	const bool regular = f->kind == TERM_kind_regular;
	struct asked_access q = {s, a};
	struct io_known io = io_known(s, a);
	/* That no byte was written proves nothing of a regular file, whose length it may have set. */
	const struct access_ending e = {.written = a->filled || (io.written && io.bytes_written) ? ACCESS_BYTES_SOME
	                                           : io.written && !regular                      ? ACCESS_BYTES_NONE
	                                                                                         : ACCESS_BYTES_UNKNOWN,
	                                .via = a->via,
	                                .regular = regular,
	                                .made = regular && (a->mode & (ACCESS_CREATE | ACCESS_TRUNC)),
	                                .timed = a->timed,
	                                .mapped = a->mapped,
	                                .appends = a->mode & ACCESS_APPEND,
	                                .unread = !f->read && a->via == TERM_via_descriptor,
	                                .before = access_print_of(&a->before),
	                                .after = access_print_of(after),
	                                .stamp = a->stamp,
	                                .slack = time_slack(f),
	                                .is_alone = is_access_alone,
	                                .is_silent = is_access_silent,
	                                .arg = &q};
	return access_ending_evidence(&e);
}

/* Has it only opened the file, for others? Its process has moved nothing meanwhile. */
static bool has_redirected(struct sup *s, const struct access *a)
{
	struct proc *p = a->proc;
	if (!a->redirected || p->threads || p->uncounted)
		return false;
	if (!p->exit_seen && !p->becoming) /* else what was read at its last stop is what counts */
		p->wchar_stop = 0;
	uint64_t written = proc_wchar(s, p);
	return written == a->base[1] && p->rchar == a->base[0];
}

void access_note_spent(struct sup *s, struct proc *shell)
{
	struct access *a = shell->live;
	struct statx st;
	while (a && !(a->redirected && !a->spent && (a->mode & (ACCESS_READ | ACCESS_WRITE)) == ACCESS_READ))
		a = a->proc_next;
	int fd = a && !s->far && shell->pidfd >= 0 ? (int)syscall(SYS_pidfd_getfd, shell->pidfd, 0, 0) : -1;
	if (fd < 0)
		return;
	bool end = far_descriptor(fd, "", AT_EMPTY_PATH, &st) == 0 && S_ISREG(st.stx_mode) &&
	           lseek(fd, 0, SEEK_CUR) == (off_t)st.stx_size;
	close(fd);
	for (; end && a; a = a->proc_next)
		if (a->file->ino == st.stx_ino && a->file->dev == fileid_dev(&st) && proc_waits_for_child(shell) &&
		    has_redirected(s, a)) {
			a->spent = true;
			a->spent_size = st.stx_size;
		}
}

/* Could its shell read nothing of it any more, whatever that read since? */
static bool is_spent(struct sup *s, const struct access *a)
{
	struct fingerprint now = a->spent ? print_now(s, a->file) : (struct fingerprint){0};
	return now.known && now.size == a->spent_size;
}

/* Tells that a process set the times of a file, in the form of an access. As an access: who set them, and both
 * fingerprints. */
static void emit_times_set(struct sup *s, struct file *f, struct proc *p, int64_t start,
                           const struct fingerprint *before, const struct fingerprint *now)
{
	if (!before->known || before->size != now->size || before->mtime == now->mtime)
		return;
	file_state(s, f, before);
	struct event ev = {.access = {.file = f->num, .mode = ACCESS_STATE, .via = TERM_via_data, .sure = 1}};
	uint64_t seq = sup_event(s, EVENT_access, start, p, &ev);
	file_state(s, f, now);
	struct event end = {.access_end = {.access = seq, .until = sup_now(s), .evidence = TERM_evidence_none, .state = 1}};
	sup_event(s, EVENT_access_end, sup_now(s), p, &end);
}

void file_times_set(struct sup *s, struct file *f, struct proc *p, int64_t start, const struct fingerprint *before,
                    const struct fingerprint *now)
{
	if (f->kind != TERM_kind_regular || !now->known)
		return;
	if (!f->last_write || f->seen_since || now->size != f->stated.size) {
		emit_times_set(s, f, p, start, before, now);
		return;
	}
	file_state(s, f, now);
	struct event ev = {
	    .access_end = {.access = f->last_write, .until = TIME_NONE, .evidence = f->last_evidence, .state = 1}};
	sup_event(s, EVENT_access_end, sup_now(s), NULL, &ev);
}

void access_end(struct sup *s, struct access *a, int64_t until)
{
	struct file *f = a->file;
	/* Nor is what gives it another length: written it was until its times had passed. */
	int64_t changed = s->exact || f->kind != TERM_kind_regular || !(a->mode & ACCESS_WRITE) ? INT64_MIN : INT64_MAX;
	feature_bytes_update(s, a->proc);
	struct event ev = {.access_end = {.access = a->seq, .until = until, .count = a->count > 1 ? a->count : 0}};
	if (a->mode & ACCESS_WRITE) {
		struct fingerprint after = f->kind == TERM_kind_regular ? print_now(s, f) : (struct fingerprint){0};
		ev.access_end.evidence = access_evidence(s, a, &after);
		if (ev.access_end.evidence != TERM_evidence_none) {
			f->last_write = a->seq;
			f->seen_since = false;
			f->last_evidence = (unsigned)ev.access_end.evidence;
		} else if (a->timed && after.known) {
			file_times_set(s, f, a->proc, a->start, &a->before, &after);
		}
		if (after.known) {
			file_state(s, f, &after);
			ev.access_end.state = 1;
			/* The last write was over when the clock of file times passed ctime. */
			int64_t bound = written_until(s, a, &after);
			if (access_ending_has_clock(f->domain)) {
				ev.access_end.until = access_ending_until(a->start, until, a->mapped ? TIME_NONE : bound);
				changed = changed == INT64_MAX ? bound : changed;
			}
		}
		rivals_resolve(s, f, a->proc);
	}
	struct io_known io = io_known(s, a);
	if (has_redirected(s, a)) { /* it moved no byte */
		ev.access_end.known |=
		    (a->mode & ACCESS_READ && !io.read ? 1u : 0u) | (a->mode & ACCESS_WRITE && !io.written ? 2u : 0u);
	}
	if (!io.read && !(ev.access_end.known & 1) && is_spent(s, a))
		ev.access_end.known |= 1;
	if (io.read) {
		ev.access_end.known |= 1;
		ev.access_end.bytes_read = io.bytes_read;
	}
	if (io.written) {
		ev.access_end.known |= 2;
		ev.access_end.bytes_written = io.bytes_written;
	}
	/* All that it did was counted, so it lasted no longer than that. */
	if (s->narrow && !a->altered && io.read == !!(a->mode & ACCESS_READ) && io.written == !!(a->mode & ACCESS_WRITE) &&
	    changed != INT64_MAX && (s->exact || file_cannot_be_cloned(f)) && !io.idle) {
		ev.access_end.exact = 1;
		ev.access_end.first = io.first;
		ev.access_end.last = io.last == TIME_NONE || io.last > changed ? io.last : changed;
	}
	if (a->failed) {
		ev.access_end.evidence = TERM_evidence_none;
		ev.access_end.known |= 1;
	}
	ev.access_end.known |= a->doubtful ? 8 : 0;
	feature_pipe_ends(s, a, &ev.access_end);
	io_emit(s, a);
	sup_event(s, EVENT_access_end, sup_now(s), a->proc, &ev);
	access_free(s, a);
}

/* May its process still have what a is of, by a descriptor or a mapping, where p opens the file with `mode`? What could
 * not be read could not be mapped either; and where p opens it to read, its own reading from now on is of the access
 * that begins now: whether it writes by a mapping is known from a->mapped. */
static bool may_hold(struct sup *s, const struct access *a, const struct proc *p, unsigned mode)
{
	const bool mapped = (a->mode & ACCESS_READ) && !(a->proc == p && (mode & ACCESS_READ));
	return a->mapped || mapped ? proc_holds(a->proc, a->file) : proc_has_open(s, a->proc, a->file);
}

/* Before p begins an access of f: ends those, by anyone, that cannot be under way any more. */
void access_conflicts(struct sup *s, struct proc *p, struct file *f, unsigned mode)
{
	struct access *next;
	for (struct access *a = f->live; a; a = next) {
		next = a->file_next;
		if (!((a->mode | mode) & ACCESS_WRITE))
			continue;
		/* A writer that is read by itself, or a reader that writes: the same question. */
		if (!access_begun(s, a) || may_hold(s, a, p, mode))
			continue;
		if (a->redirected && a->proc == p) /* it ends when the next one begins (access_begin) */
			continue;
		/* It goes on with it, and what it has moved so far cannot be told apart. */
		if (feature_bytes_wait(s, a->proc) && a->proc == p && (a->mode & mode) == mode)
			continue;
		access_end(s, a, sup_now(s));
	}
}

/* After how many passed accesses descriptors are looked at. Who logs its opens has many, and opens them again: swept
 * too early, each time is an access of its own. */
static unsigned sweep_at(const struct proc *p)
{
	return p->logging ? 8 * SWEEP_AT : SWEEP_AT;
}

/* Is looking at descriptors put off? Of those who count, what was counted is not known while what they opened is
 * read. */
static bool sweeps_later(const struct sup *s, const struct proc *p)
{
	return s->reading_opens && p->counted;
}

bool access_is_of_library(const struct file *f)
{
	static const char *const words[] = {"/ld.so.", ".so", "/locale/", "/gconv/"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (f->path && strstr(f->path, words[i]))
			return true;
	return false;
}

/* May its access be one of a shell that opens the file for another program? Then what the shell has moved by now is
 * noted, and shows at the end that it moved nothing itself. */
static bool may_redirect(const struct sup *s, const struct proc *p, const struct file *f, unsigned mode, unsigned via)
{
	return p->redirects && via == TERM_via_data && f->kind == TERM_kind_regular && !s->exact &&
	       (s->begun_with || (s->current && s->current->proc == p)) && !(mode & (ACCESS_MAPPED | ACCESS_PROGRAM)) &&
	       !(!(mode & ACCESS_WRITE) && access_is_of_library(f));
}

/* Ends the accesses of p whose descriptors and mappings are gone. */
static void proc_sweep(struct sup *s, struct proc *p);

struct access *access_begin(struct sup *s, struct proc *p, struct file *f, unsigned mode, unsigned via, bool sure,
                            unsigned api, int64_t time, const struct fingerprint *before)
{
	bool fresh = mode & (ACCESS_CREATE | ACCESS_TRUNC | ACCESS_MAPPED | ACCESS_PROGRAM);
	sure = sure && !s->late;
	for (struct access *a = f->live; a && !fresh; a = a->file_next)
		if (a->proc == p && (a->sure || !sure) && (a->via == TERM_via_sync) == (via == TERM_via_sync) &&
		    (a->mode & mode & (ACCESS_READ | ACCESS_WRITE)) == (mode & (ACCESS_READ | ACCESS_WRITE)) &&
		    (!before ||
		     (fingerprint_is_state(before, &f->stated) &&
		      (!a->before.known || fingerprint_is_state(before, &a->before))) ||
		     (a->mode & ACCESS_WRITE) || f->kind != TERM_kind_regular)) {
			a->count++;
			a->spent = false;
			/* Another thread may look before it is open again, or change its name. */
			if ((p->threads || f->kind == TERM_kind_regular || f->kind == TERM_kind_absent) && via == TERM_via_data &&
			    s->current && s->current->proc == p) {
				a->tid = s->current->tid;
				a->stop = s->current->stops;
			}
			return a;
		}
	const bool redirected = may_redirect(s, p, f, mode, via);
	if (redirected && !p->counted) { /* of who counts that is done before: no count may be read halfway */
		f->pins++;
		proc_end_redirected(s, p, time);
		f->pins--;
	}
	if (++p->nsince >= sweep_at(p) && !sweeps_later(s, p)) {
		f->pins++;
		proc_sweep(s, p);
		f->pins--;
	}
	struct access *a = calloc(1, sizeof(*a));
	if (!a) {
		sup_gap(s, p, TERM_gap_lost, 1, "out of memory");
		return NULL;
	}
	if (before && before->known && f->kind == TERM_kind_regular) {
		file_state(s, f, before);
		a->before = *before;
		mode |= ACCESS_STATE;
		f->seen_since |= (mode & ACCESS_READ) != 0; /* what only wrote, and did not, does not count */
	}
	struct event ev = {.access = {.file = f->num, .mode = mode, .via = via, .sure = sure, .api = api}};
	*a = (struct access){.file = f,
	                     .proc = p,
	                     .start = time,
	                     .stamp = sup_stamp(s, time),
	                     .mode = mode,
	                     .via = via,
	                     .count = 1,
	                     .before = a->before,
	                     .mapped = mode & ACCESS_MAPPED,
	                     .sure = sure,
	                     .tid = via == TERM_via_data && s->current ? s->current->tid : 0,
	                     .stop = s->current ? s->current->stops : 0};
	if (redirected) {
		a->base[1] = s->begun_with ? s->begun_with[1] : proc_wchar(s, p);
		a->base[0] = s->begun_with ? s->begun_with[0] : a->base[1] == UINT64_MAX ? UINT64_MAX : p->rchar;
		a->redirected = a->base[0] != UINT64_MAX;
	}
	a->seq = sup_event(s, EVENT_access, time, p, &ev);
	f->read |= (mode & ACCESS_READ) != 0;
	file_notify_observer(s, f, f->path, -1, mode, via == TERM_via_descriptor);
	if ((mode & ACCESS_WRITE) && f->kind == TERM_kind_regular)
		for (struct access *b = f->live; b; b = b->file_next)
			if (b->proc != p && (b->mode & ACCESS_WRITE)) {
				rival_add(s, a, b->proc);
				rival_add(s, b, p);
			}
	link_live_access(a);
	feature_pipe_begun(s, a);
	return a;
}

void proc_sweep_late(struct sup *s, struct proc *p)
{
	if (p->nsince >= sweep_at(p))
		proc_sweep(s, p);
}

/* Looks at what the process still holds open or mapped, and ends the accesses of all else. Where bytes are awaited,
 * none. */
static void proc_sweep(struct sup *s, struct proc *p)
{
	enum { WAITING = 4096 };
	p->nsince = 0;
	accesses_settle(s, p);
	struct held *held;
	size_t n = proc_walk(s, p, false, &held), nmaps;
	struct mapped *maps;
	bool sure = proc_maps(p, &maps, &nmaps), waits = feature_bytes_wait(s, p) && p->nlive < WAITING;
	struct access *next;
	bool sockets = false;
	for (size_t i = 0; i < n && !sockets; i++)
		sockets = held[i].file->kind == TERM_kind_socket;
	for (struct access *a = waits ? NULL : p->live; a; a = next) {
		next = a->proc_next;
		bool open = a->sockets && sockets; /* no descriptor tells which address it is of */
		if (a->file->kind == TERM_kind_pseudo || a->file->kind == TERM_kind_absent) {
			access_free(s, a);
			continue;
		}
		for (size_t i = 0; i < n && !open; i++)
			open = held[i].file == a->file;
		if (!open && sure && !mapped_has(maps, nmaps, a->file) && a->settled)
			access_end(s, a, sup_now(s));
	}
	held_free(held, n);
	free(maps);
}

/* Reads that were begun once and are ended by the process's own end need no event: the graph knows that end. */
static bool ends_silently(const struct sup *s, const struct access *a)
{
	bool counted = s->exact && a->file->kind != TERM_kind_absent && a->file->kind != TERM_kind_pseudo;
	counted |= s->bytes && (a->file->kind == TERM_kind_pipe || a->file->kind == TERM_kind_fifo ||
	                        a->file->kind == TERM_kind_terminal); /* it may have read nothing */
	return !(a->mode & ACCESS_WRITE) && a->count == 1 && !counted && !a->io && !a->file->witness && !a->redirected &&
	       !a->doubtful;
}

/* Ends all of p's accesses at that time (ns). */
void proc_end_accesses(struct sup *s, struct proc *p, int64_t until)
{
	openings_end(s, p);
	connects_end(s, p);
	feature_bytes_update(s, p);
	xattr_end(s, p);
	while (p->live) {
		if (ends_silently(s, p->live))
			access_free(s, p->live);
		else
			access_end(s, p->live, until);
	}
	p->nsince = 0;
}
