/* The stopped calls: what is seen to before any of them, and which handler it goes to. A call is seen before it runs;
 * where its result matters it is kept as pending and settled from what the file system shows afterwards. */
#include "capture/supervisor/calls.h"
#include "capture/supervisor/channels/connects.h"
#include "capture/supervisor/channels/sockets.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/paths/far.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/ring/rings.h"
#include "capture/supervisor/shield/shield.h"
#include "capture/supervisor/table_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's struct, without the end. */
static void handle_sigaction_call(struct sup *s, struct proc *p, const struct trap *t)
{
	struct {
		uint64_t handler, flags;
	} act;
	struct left left;
	sup_leave(s, &left);
	bool read = remote_read(t->tid, t->args[1], &act, sizeof(act)) == sizeof(act);
	if (!sup_back(s, &left) || !read)
		return;
	if (act.handler == (uint64_t)(uintptr_t)SIG_DFL || act.handler == (uint64_t)(uintptr_t)SIG_IGN ||
	    (act.flags & SA_RESTART))
		return;
	if (t->args[0] == SIGCHLD)
		p->catches_child = true;
	else
		p->catches = true;
	proc_shield(s, p);
}

/* Is it a thread of this process, by the caller's numbers? */
static bool is_us(const struct trap *t, pid_t tid)
{
	char name[48];
	struct stat own, st;
	if (tgkill(getpid(), tid, 0) < 0)
		return false;
	snprintf(name, sizeof(name), "/proc/%d/ns/pid", t->tid);
	return stat("/proc/self/ns/pid", &own) == 0 && stat(name, &st) == 0 && st.st_ino == own.st_ino;
}

/* Another tracer wants it. Not us: who stops the recorder waits, at its own next stop, for itself. */
static void handle_ptrace_call(struct sup *s, const struct trap *t)
{
	if (is_us(t, (pid_t)t->args[1])) {
		s->refuse = EPERM;
		return;
	}
	struct task *k = task_known(s, (pid_t)t->args[1]);
	struct proc *p = k ? k->proc : proc_by_pid(s, (pid_t)t->args[1]);
	if (!p || !p->shielded)
		return;
	shield_release(s->shield, p->pid);
	p->shielded = false;
	p->unshielded = true;
}

/* Stops sharing memory with a process: it changes what it may do: from here on it shares no memory with the
 * recorder. */
static void stop_sharing_memory(struct sup *s, struct proc *p)
{
	p->confined = s->any_confined = true;
	feature_confine(s, p);
}

/* Calls the handler of a stopped call. first_stop: the process was not known before this stop. */
static void dispatch_call(struct sup *s, struct proc *p, const struct trap *t, bool first_stop)
{
	const uint64_t *a = t->args;
	struct open_how how = {0};
	struct left left;
	bool read;
	switch (t->call) {
	case CALL_execve:
	case CALL_execveat:
		if (!nested_by_exec(s, p, t))
			exec_trap(s, p, t, first_stop);
		break;
	case CALL_exit:
		proc_exit(s, p, TERM_ending_exited, (unsigned)a[0] & 0xff);
		break;
	case CALL_open:
		calls_handle_open(s, p, t, AT_FDCWD, a[0], (unsigned)a[1], 0);
		break;
	case CALL_openat:
		calls_handle_open(s, p, t, (int)a[0], a[1], (unsigned)a[2], 0);
		break;
	case CALL_openat2:
		sup_leave(s, &left);
		read = remote_read(t->tid, a[2], &how, sizeof(how)) == sizeof(how);
		if (sup_back(s, &left) && read)
			calls_handle_open(s, p, t, (int)a[0], a[1], (unsigned)how.flags, how.resolve);
		break;
	case CALL_creat:
		calls_handle_open(s, p, t, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, 0);
		break;
	case CALL_open_handle:
		sup_gap(s, p, TERM_gap_unsettled, 1, "opened a file by handle");
		break;
	case CALL_rename:
		calls_handle_rename(s, p, t, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
		break;
	case CALL_renameat:
		calls_handle_rename(s, p, t, (int)a[0], a[1], (int)a[2], a[3], 0);
		break;
	case CALL_renameat2:
		calls_handle_rename(s, p, t, (int)a[0], a[1], (int)a[2], a[3], (unsigned)a[4]);
		break;
	case CALL_link:
		calls_handle_link(s, p, t, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
		break;
	case CALL_linkat:
		calls_handle_link(s, p, t, (int)a[0], a[1], (int)a[2], a[3], (unsigned)a[4]);
		break;
	case CALL_unlink:
	case CALL_rmdir:
		calls_handle_unlink(s, p, t, AT_FDCWD, a[0]);
		break;
	case CALL_unlinkat:
		calls_handle_unlink(s, p, t, (int)a[0], a[1]);
		break;
	case CALL_symlink:
		calls_handle_make(s, p, t, AT_FDCWD, a[1]);
		break;
	case CALL_symlinkat:
		calls_handle_make(s, p, t, (int)a[1], a[2]);
		break;
	case CALL_mkdir:
	case CALL_mknod:
		calls_handle_make(s, p, t, AT_FDCWD, a[0]);
		break;
	case CALL_mkdirat:
	case CALL_mknodat:
		calls_handle_make(s, p, t, (int)a[0], a[1]);
		break;
	case CALL_truncate:
		calls_handle_truncate(s, p, t);
		break;
	case CALL_ftruncate:
		calls_handle_ftruncate(s, p, t);
		break;
	case CALL_times:
		calls_handle_times(s, p, t, (int)a[0], a[1], !(a[3] & AT_SYMLINK_NOFOLLOW));
		break;
	case CALL_times_at:
		calls_handle_times(s, p, t, (int)a[0], a[1], true);
		break;
	case CALL_times_path:
		calls_handle_times(s, p, t, AT_FDCWD, a[0], true);
		break;
	case CALL_chdir:
		p->moved = sup_now(s);
		p->stale |= STALE_CWD;
		break;
	case CALL_root:
		p->moved = sup_now(s);
		p->stale |= STALE_CWD | STALE_ROOT;
		p->fs_per_thread = true;
		stop_sharing_memory(s, p);
		break;
	case CALL_mount:
		sup_set_slow_fs(s, true); /* what is mounted from now on may be served by anybody */
		sup_gap(s, p, TERM_gap_mounts, 1, "it mounted or unmounted a file system");
		p->stale |= STALE_ROOT;
		/* A descriptor of ours keeps a file system from being unmounted. */
		sup_leave(s, &left);
		far_wait_all();
		sup_back(s, &left);
		break;
	case CALL_setuid:
		p->stale |= STALE_CREDS;
		if (!proc_keeps_creds(t))
			stop_sharing_memory(s, p);
		break;
	case CALL_confine:
	case CALL_forbid:
		stop_sharing_memory(s, p);
		break;
	case CALL_x32: /* whatever it does, it may open, and confine itself */
		if (!p->x32_said) {
			sup_gap(s, p, TERM_gap_abi32, 0, "it made calls of the x32 interface, which are not read");
			stop_sharing_memory(s, p);
		}
		p->x32_said = true;
		break;
	case CALL_connect:
	case CALL_bind:
		if (socket_trap(s, p, t)) {
			struct where none = {.hold = -1, .object = -1, .dirfd = AT_FDCWD, .tid = t->tid};
			struct pending *d = pending_add(s, p, t, PENDING_BIND, &none, NULL);
			if (d)
				d->fd = (int)a[0];
		}
		break;
	case CALL_memory:
		calls_note_memory(s);
		break;
	case CALL_shmat:
		calls_handle_shmat(s, p, t);
		break;
	case CALL_process_vm:
		calls_handle_process_vm(s, p, t);
		break;
	case CALL_aio:
		p->uncounted = p->io_unseen = true;
		break;
	case CALL_seccomp:
		if (a[0] <= SECCOMP_SET_MODE_FILTER)
			stop_sharing_memory(s, p);
		if (a[0] == SECCOMP_SET_MODE_FILTER && (a[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER))
			sup_gap(s, p, TERM_gap_limit, 1, "it requested its own notification listener, which is not possible");
		break;
	case CALL_splice:
		p->uncounted = true;
		break;
	case CALL_sigaction:
		handle_sigaction_call(s, p, t);
		break;
	case CALL_fork:
	case CALL_clone3:
		calls_handle_fork(s, p, t);
		break;
	case CALL_share:
		calls_handle_fork(s, p, t);
		if ((a[0] & (CLONE_VM | CLONE_VFORK)) == CLONE_VM && !s->gone)
			p->crowded = p->shares_memory = p->has_guest = true;
		break;
	case CALL_ptrace:
		handle_ptrace_call(s, t);
		break;
	case CALL_mmap:
		if (p->uring)
			rings_mapped(s, p, t);
		if (!s->gone)
			calls_handle_mmap(s, p, t);
		break;
	default:
		rings_trap(s, p, t);
	}
}

/* Is it one of the calls that rename, link or remove? */
static bool is_name_call(enum call c)
{
	return c >= CALL_rename && c <= CALL_rmdir;
}

/* Calls that move what pending ones wait to see: everything is settled before they run. */
static bool settles_all(enum call c)
{
	return is_name_call(c) || c == CALL_execve || c == CALL_execveat;
}

/* Calls after which a path that was opened before may be another's. */
static bool changes_meanings(enum call c)
{
	return (c >= CALL_rename && c <= CALL_renameat2) || (c >= CALL_unlink && c <= CALL_rmdir) || c == CALL_mount;
}

/* Calls that wait for others, and that a signal is meant to end. */
static bool can_block(enum call c)
{
	return (c >= CALL_open && c <= CALL_open_handle) || c == CALL_connect || c == CALL_settle || c == CALL_splice ||
	       c == CALL_ring_enter;
}

/* ---- the lock, while arguments are looked at ---- */

/* Gives the lock away; super.h says what that means. ret->task NULL: there is no lock here, or no stop, and nothing
 * changes. */
void sup_leave(struct sup *s, struct left *ret)
{
	struct task *k = s->current;
	ret->task = s->leave ? k : NULL;
	if (!ret->task)
		return;
	*ret = (struct left){k,         k->proc,      k->tid,         k->proc->pid, k->proc->num,
	                     s->visits, s->ring_call, s->ring_direct, k->last.call};
	s->current = NULL;
	s->ring_call = 0;
	s->leave(s);
}

/* Takes the lock again. False: the stop's process or thread has ended, and the handler returns at once. True: others
 * may have been served meanwhile. */
bool sup_back(struct sup *s, const struct left *l)
{
	if (!l->task)
		return true;
	bool waits = s->back(s);
	s->ring_call = l->ring_call;
	s->ring_direct = l->ring_direct;
	if (waits && s->visits == l->visits) {
		s->current = l->task;
		return true;
	}
	s->epoch++;
	s->refuse = 0;
	s->plain = false;
	s->gone = !waits || task_known(s, l->tid) != l->task || proc_by_pid(s, l->pid) != l->proc ||
	          l->task->proc != l->proc || l->proc->num != l->num;
	if (s->gone)
		return false;
	s->current = l->task;
	if (changes_meanings(l->call)) {
		feature_bar(s, l->tid);
		feature_collect(s, false);
	}
	return true;
}

/* What is about to be changed, or may be changing just now, is asked for anew: of directories only by what can give one
 * another name, for thousands of files may be taken away or renamed. Whether a rename does, its handler sees. */
static void forget_names(struct sup *s, const struct trap *t)
{
	const bool removes = t->call == CALL_rmdir || (t->call == CALL_unlinkat && (t->args[2] & AT_REMOVEDIR));
	if (removes || t->call == CALL_mount || pending_folders(s))
		links_forget();
	else if (is_name_call(t->call) || pending_names(s))
		links_forget_paths();
	/* What a file in memory holds goes with its name, and is looked at before. */
	if (s->in_memory && is_name_call(t->call))
		calls_note_memory(s);
}

/* What of a stop's handling looks through the table of who is stopped. Handlers are what a shell's child sets back
 * before its exec. False as of sup_back. */
static bool list_table_first(struct sup *s, struct proc *p, const struct trap *t)
{
	const bool exec = t->call == CALL_execve || t->call == CALL_execveat;
	const bool first = !p->walked && t->call != CALL_sigaction && t->call != CALL_ptrace;
	bool left = false;
	if (!exec && t->call != CALL_exit && !first)
		return true;
	bool back = table_list_apart(s, p, exec, &left);
	if (back && left)
		forget_names(s, t);
	return back;
}

/* Handles a stopped call. 0, or what the call is to fail with instead of being made (s->refuse). */
static int handle_trap(struct sup *s, const struct trap *t)
{
	s->answer = -1;
	s->traps++;
	where_looks("");
	if (changes_meanings(t->call))
		feature_bar(s, t->tid);
	feature_collect(s, false);
	s->epoch++;
	forget_names(s, t);
	struct task *k = task_of(s, t->tid);
	if (!k) {
		s->unlooked++;
		return 0;
	}
	struct proc *p = k->proc;
	if (s->openings)
		openings_back(s, k);
	k->stops++;
	k->last = *t;
	k->can_block = can_block(t->call);
	if (p->shielded)
		shield_note(s->shield, p->pid, t, k->can_block, false);
	s->current = k;
	s->gone = false;
	connects_back(s, t->tid);
	if (!list_table_first(s, p, t)) {
		feature_unbar(s);
		return 0;
	}
	if (s->pending) {
		if (s->ring_waits)
			rings_back(s);
		if (!pending_look(s, t->tid))
			return 0;
		pending_settle(s, p, t->tid, settles_all(t->call));
	}
	if (p->exec)
		exec_settle(s, p, t->tid);
	if (p->stale) {
		if (p->stale & STALE_CWD) {
			free(p->cwd);
			p->cwd = NULL;
		}
		if (p->stale & STALE_ROOT)
			proc_refresh_root(s, p);
		if (p->stale & STALE_CREDS)
			proc_refresh_creds(s, p);
		p->stale = 0;
	}
	/* Handlers are what a shell's child sets back before its exec: not yet a reason to look at its descriptors. */
	bool look = !p->walked && t->call != CALL_sigaction && t->call != CALL_ptrace, first_stop = !p->walked;
	bool exec = t->call == CALL_execve || t->call == CALL_execveat;
	if (look) {
		p->walked = true;
		/* What it has moved before it becomes another program is its own, where bytes are told. */
		const bool moved = exec && s->bytes && !p->execn && p->parent_num &&
		                   !(proc_moved_none(s, p, true) && proc_moved_none(s, p, false));
		first_stop = !moved;
		if ((!exec || moved) && !s->tree_only) {
			struct held *held;
			size_t n = proc_walk(s, p, false, &held);
			proc_hold(s, p, held, n, p->exec_start);
			held_free(held, n);
		}
	}
	if (p->tmpfile_tid == t->tid) {
		proc_nameless(s, p);
		p->tmpfile_tid = 0;
	}
	s->refuse = 0;
	s->plain = s->gone = false;
	feature_before(s, p, t);
	xattr_trap(s, p, t);
	if (!s->gone)
		feature_handle(s, p, t);
	if (!s->gone)
		dispatch_call(s, p, t, first_stop);
	if (s->gone) {
		feature_unbar(s);
		return 0;
	}
	feature_after(s, p, t);
	feature_unbar(s);
	if (s->gone)
		return 0;
	if (s->plain && s->current == k) {
		k->can_block = false;
		if (p->shielded)
			shield_note(s->shield, p->pid, t, false, false);
	}
	s->current = NULL;
	return s->refuse;
}

int sup_trap(struct sup *s, const struct trap *t)
{
	int refuse = handle_trap(s, t);
	table_drop();
	return refuse;
}
