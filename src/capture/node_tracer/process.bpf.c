/* Processes: fork, exec, exit, and who makes an io_uring. Loaded always. These tracepoints fire for processes only, so
 * reading and writing costs nothing. */
#include "capture/node_tracer/kernel.h"

#include "capture/node_tracer/record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL"; /* bpf_probe_read_* are offered to such programs only */

#define SIGNAL_GROUP_EXIT 4
#define PIDTYPE_SID 3
#define FMODE_READ 1
#define FMODE_WRITE 2

const volatile __u32 rings_of = 8; /* processors that share a ring */

struct rec_control control;

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Room to put a record together in, one a processor: tracepoints run with preemption off, and not in interrupts. */
struct scratch {
	/* Kept here, not in a register, so that the verifier need not follow each value it may have: with that it gave up.
	 */
	volatile __u32 end, n;
	volatile __u32 word; /* of the descriptors that are open, the next; what is left of the one before it */
	volatile __u64 open;
	char b[96 + 3 * 32768];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Figures of threads that are gone, of processes that are not. */
struct dead {
	__u64 cpu, user, system, rchar, wchar, read_bytes, write_bytes;
	__u32 minor, major, threads, part;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct dead);
} deads SEC(".maps");

/* The ring of this processor; NULL if there is none. */
static __always_inline void *ring_here(void)
{
	__u32 at = bpf_get_smp_processor_id() / (rings_of ? rings_of : 1);
	return bpf_map_lookup_elem(&rings, &at);
}

/* Counts a record that had no room. now: ns, for the gap that is told. */
static __always_inline void count_lost_record(__u64 now)
{
	__sync_fetch_and_add(&control.lost, 1);
	control.lost_last = now;
	if (!control.lost_first)
		control.lost_first = now;
}

/* Wakes the reader only when enough is waiting. Below 0: there is no room. */
static __always_inline long output_record(void *record, __u64 size, __u64 now)
{
	void *ring = ring_here();
	if (!ring)
		return -1;
	__u64 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	return bpf_ringbuf_output(ring, record, size, waiting >= control.wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* A record takes no more than a part of the room that is left: whoever executes programs with long arguments, one after
 * the other, leaves room for what others do. */
#define LARGE 4
/* Bytes that are free in this processor's ring. */
static __always_inline __u64 room_here(void)
{
	void *ring = ring_here();
	return ring ? bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) - bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) : 0;
}

/* Is it the daemon itself? */
static __always_inline bool passed_over(void)
{
	return bpf_get_current_pid_tgid() >> 32 == control.own;
}

/* ns since boot. Kernels before 5.5 have it under another name. */
static __always_inline __u64 task_start_time(struct task_struct *task)
{
	if (bpf_core_field_exists(task->start_boottime))
		return BPF_CORE_READ(task, start_boottime);
	return BPF_CORE_READ(task, real_start_time);
}

/* A u32 in older kernels. */
static __always_inline __u32 exec_id_of(struct task_struct *task)
{
	if (bpf_core_field_size(task->self_exec_id) == 4) {
		__u32 id = 0;
		bpf_core_read(&id, sizeof(id), &task->self_exec_id);
		return id;
	}
	return (__u32)BPF_CORE_READ(task, self_exec_id);
}

/* The start is that of the process, not of the thread. */
static __always_inline void fill_head(struct rec_head *h, __u16 kind, struct task_struct *task, __u64 now)
{
	h->kind = kind;
	h->flags = 0;
	h->pid = BPF_CORE_READ(task, tgid);
	h->time = now;
	h->start = task_start_time(BPF_CORE_READ(task, group_leader));
}

/* The ids are those outside of all namespaces. */
static __always_inline void who_of(struct rec_who *w, struct task_struct *task)
{
	w->ppid = BPF_CORE_READ(task, real_parent, tgid);
	w->uid = BPF_CORE_READ(task, cred, euid.val);
	w->gid = BPF_CORE_READ(task, cred, egid.val);
	w->sid = BPF_CORE_READ(task, signal, pids[PIDTYPE_SID], numbers[0].nr);
	w->cgroup = bpf_get_current_cgroup_id();
}

/* The pid namespace that the process itself is in: the deepest of those it has a number in. */
static __always_inline __u32 pidns_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid deepest = {};
	__u64 level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&deepest, sizeof(deepest),
	                      (char *)pid + __builtin_preserve_field_info(pid->numbers, 0) + level * sizeof(deepest));
	return BPF_CORE_READ(deepest.ns, ns.inum);
}

/* Appends what the path is called, last part first, each with a NUL. False if it had more parts. */
static __noinline bool append_path_parts(struct scratch *s, struct vfsmount *mnt, struct dentry *dentry)
{
	for (int i = 0; i < REC_PATH_PARTS; i++) {
		if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
			struct mount *m =
			    (struct mount *)((char *)mnt - __builtin_preserve_field_info(((struct mount *)0)->mnt, 0));
			struct mount *above = BPF_CORE_READ(m, mnt_parent);
			if (above == m)
				return true;
			dentry = BPF_CORE_READ(m, mnt_mountpoint);
			mnt = (struct vfsmount *)((char *)above + __builtin_preserve_field_info(((struct mount *)0)->mnt, 0));
			continue;
		}
		struct dentry *above = BPF_CORE_READ(dentry, d_parent);
		if (above == dentry)
			return true;
		long n =
		    bpf_probe_read_kernel_str(s->b + (s->end & 0x7fff), REC_PART_MAX + 1, BPF_CORE_READ(dentry, d_name.name));
		if (n > 0)
			s->end += n;
		dentry = above;
	}
	return false;
}

/* Where the lowest bit is set; not 0. Without a branch, or the kernel's check would follow both ways at each
 * descriptor. */
static __always_inline __u32 lowest_set_bit(__u64 bits)
{
	__u64 below = (bits & -bits) - 1; /* as many bits as are to be counted */
	below -= below >> 1 & 0x5555555555555555;
	below = (below & 0x3333333333333333) + (below >> 2 & 0x3333333333333333);
	below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return below * 0x0101010101010101 >> 56;
}

/* What the descriptors lead to: the first REC_FDS_MAX that are open, whatever their numbers. A shell keeps its script
 * at 255. */
static __always_inline void output_descriptors(struct task_struct *task, struct scratch *s, __u64 now, __u16 flags)
{
	enum { WORDS = 16 }; /* of 64 descriptors each */
	struct rec_fds *r = (struct rec_fds *)s->b;
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	__u32 max = BPF_CORE_READ(fdt, max_fds);
	struct file **fds = BPF_CORE_READ(fdt, fd);
	unsigned long *open = BPF_CORE_READ(fdt, open_fds);
	if (!fds || !open)
		return;
	fill_head(&r->head, REC_FDS, task, now);
	if (max > WORDS * 64) /* the table has grown, so one of these numbers was in use */
		flags |= REC_CUT_FDS;
	r->exec_id = exec_id_of(task);
	s->n = 0;
	s->word = 0;
	s->open = 0;
	for (__u32 i = 0; i < REC_FDS_MAX + WORDS; i++) {
		struct file *file = NULL;
		__u64 open_here = s->open;
		if (!open_here) {
			if (s->word >= WORDS || s->word * 64 >= max)
				break;
			bpf_probe_read_kernel(&open_here, sizeof(open_here), open + s->word++);
			s->open = open_here;
			continue;
		}
		__u32 fd = (s->word - 1) * 64 + lowest_set_bit(open_here);
		s->open = open_here & (open_here - 1);
		if (s->n >= REC_FDS_MAX) {
			flags |= REC_CUT_FDS;
			break;
		}
		bpf_probe_read_kernel(&file, sizeof(file), fds + fd);
		if (!file)
			continue;
		struct inode *inode = BPF_CORE_READ(file, f_inode);
		struct rec_fd *to = &r->fd[s->n & (REC_FDS_MAX - 1)];
		__u32 mode = BPF_CORE_READ(file, f_mode);
		to->fd = fd;
		to->mode = BPF_CORE_READ(inode, i_mode) & 0170000;
		to->opened = (mode & FMODE_READ ? 1 : 0) | (mode & FMODE_WRITE ? 2 : 0);
		to->dev = BPF_CORE_READ(inode, i_sb, s_dev);
		to->gen = BPF_CORE_READ(inode, i_generation);
		to->ino = BPF_CORE_READ(inode, i_ino);
		to->pos = BPF_CORE_READ(file, f_pos);
		s->n++;
	}
	r->head.flags = flags;
	r->n = s->n;
	__u64 size = sizeof(*r) + (__u64)(r->n & 127) * sizeof(struct rec_fd);
	if (r->n && output_record(r, size, now) < 0)
		count_lost_record(now);
}

/* Threads are not told of. */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u64 now = bpf_ktime_get_ns();
	struct rec_fork r = {};
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0;
	__sync_fetch_and_add(&control.forks, 1);
	if (passed_over())
		return 0;
	fill_head(&r.head, REC_FORK, child, now);
	who_of(&r.who, child);
	BPF_CORE_READ_INTO(&r.comm, child, comm);
	r.mntns = BPF_CORE_READ(child, nsproxy, mnt_ns, ns.inum);
	r.pidns = pidns_of(child);
	r.exec_id = exec_id_of(child);
	if (output_record(&r, sizeof(r), now) < 0)
		count_lost_record(now);
	return 0;
}

/* One record with what could be read without waiting; flags say what was cut or not there. */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	__u16 flags = 0;
	__sync_fetch_and_add(&control.execs, 1);
	if (passed_over())
		return 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	if (!s) {
		count_lost_record(now);
		return 0;
	}
	struct rec_exec *r = (struct rec_exec *)s->b;
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct file *exe = BPF_CORE_READ(mm, exe_file);
	struct inode *inode = BPF_CORE_READ(exe, f_inode);
	fill_head(&r->head, REC_EXEC, task, now);
	who_of(&r->who, task);
	r->ino = BPF_CORE_READ(inode, i_ino);
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->gen = BPF_CORE_READ(inode, i_generation);
	r->mntns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	r->pidns = pidns_of(task);
	r->exec_id = exec_id_of(task);
	r->pad = 0;

	long n = bpf_probe_read_kernel_str(s->b + sizeof(*r), 4096, BPF_CORE_READ(bprm, filename));
	r->name = n > 0 ? n : 0;
	s->end = sizeof(*r) + r->name;
	__u32 from = s->end;
	if (!append_path_parts(s, BPF_CORE_READ(exe, f_path.mnt), BPF_CORE_READ(exe, f_path.dentry)))
		flags |= REC_CUT_PATH;
	r->exe = s->end - from;
	from = s->end;
	struct dentry *cwd = BPF_CORE_READ(task, fs, pwd.dentry);
	if (!append_path_parts(s, BPF_CORE_READ(task, fs, pwd.mnt), cwd))
		flags |= REC_CUT_PATH;
	if (!BPF_CORE_READ(cwd, d_hash.pprev) && BPF_CORE_READ(cwd, d_parent) != cwd)
		flags |= REC_CWD_GONE;
	r->cwd = s->end - from;

	/* The pages were written by the exec itself, a moment ago, so they are nearly always there. */
	__u64 at = BPF_CORE_READ(mm, arg_start), len = BPF_CORE_READ(mm, arg_end) - at;
	r->args_all = len;
	r->args = r->env = 0;
	if (len > REC_ARGS_MAX) {
		flags |= REC_CUT_ARGS;
		len = REC_ARGS_MAX;
	}
	if (bpf_probe_read_user(s->b + (s->end & 0x7fff), len & REC_ARGS_MAX, (void *)at) == 0) {
		r->args = len;
		s->end += len & REC_ARGS_MAX;
	} else
		flags |= REC_UNREAD;
	at = BPF_CORE_READ(mm, env_start);
	len = BPF_CORE_READ(mm, env_end) - at;
	r->env_all = len;
	if (!control.no_env && !(flags & REC_UNREAD)) {
		if (len > REC_ENV_MAX) {
			flags |= REC_CUT_ENV;
			len = REC_ENV_MAX;
		}
		if (bpf_probe_read_user(s->b + (s->end & 0xffff), len & REC_ENV_MAX, (void *)at) == 0) {
			r->env = len;
			s->end += len & REC_ENV_MAX;
		} else
			flags |= REC_UNREAD;
	}
	r->head.flags = flags;
	__u64 size = s->end;
	if (size > sizeof(s->b))
		size = sizeof(s->b);
	if (size * LARGE > room_here() || output_record(r, size, now) < 0) {
		r->head.flags = flags | REC_NO_ROOM | REC_UNREAD;
		r->name = r->exe = r->cwd = r->args = r->env = 0;
		if (output_record(r, sizeof(*r), now) < 0)
			count_lost_record(now);
		else
			__sync_fetch_and_add(&control.no_strings, 1);
	}
	output_descriptors(task, s, now, 0);
	return 0;
}

/* Adds one thread's figures. */
static __always_inline void count_thread(struct dead *d, struct task_struct *task)
{
	d->cpu += BPF_CORE_READ(task, se.sum_exec_runtime);
	d->user += BPF_CORE_READ(task, utime);
	d->system += BPF_CORE_READ(task, stime);
	d->minor += BPF_CORE_READ(task, min_flt);
	d->major += BPF_CORE_READ(task, maj_flt);
	if (bpf_core_field_exists(task->ioac)) {
		d->rchar += BPF_CORE_READ(task, ioac.rchar);
		d->wchar += BPF_CORE_READ(task, ioac.wchar);
		d->read_bytes += BPF_CORE_READ(task, ioac.read_bytes);
		d->write_bytes += BPF_CORE_READ(task, ioac.write_bytes);
	}
	d->threads++;
}

/* Sets the sums in d to what the kernel counted for threads of the process that were gone before the tracer began. */
static __always_inline void count_before(struct dead *d, struct signal_struct *signal)
{
	d->cpu = BPF_CORE_READ(signal, sum_sched_runtime);
	d->user = BPF_CORE_READ(signal, utime);
	d->system = BPF_CORE_READ(signal, stime);
	d->minor = BPF_CORE_READ(signal, min_flt);
	d->major = BPF_CORE_READ(signal, maj_flt);
	if (bpf_core_field_exists(signal->ioac)) {
		d->rchar = BPF_CORE_READ(signal, ioac.rchar);
		d->wchar = BPF_CORE_READ(signal, ioac.wchar);
		d->read_bytes = BPF_CORE_READ(signal, ioac.read_bytes);
		d->write_bytes = BPF_CORE_READ(signal, ioac.write_bytes);
	}
}

/* Fires for each thread; the process ends with its last. The kernel adds up threads that are waited for by nobody only
 * later, each for itself, so that is done here. */
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	__u64 now = bpf_ktime_get_ns();
	__u32 pid = BPF_CORE_READ(task, tgid), cpu = bpf_get_smp_processor_id();
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	bool last = BPF_CORE_READ(signal, live.counter) == 0;
	struct dead none = {}, *d = bpf_map_lookup_elem(&deads, &pid);
	if (!d) {
		__u64 start = task_start_time(leader);
		if (start < control.opened) {
			count_before(&none, signal);
			none.part = !last;
		}
		/* Threads of its own may be among those that had no room. */
		if (start <= control.uncounted)
			none.part = 1;
		if (last)
			d = &none;
		else {
			bpf_map_update_elem(&deads, &pid, &none, BPF_NOEXIST);
			d = bpf_map_lookup_elem(&deads, &pid);
			if (!d) { /* 4,096 processes are losing threads at once: the sums of others lack theirs */
				if (start > control.uncounted)
					control.uncounted = start;
				return 0;
			}
		}
	}
	if (!last) {
		count_thread(d, task);
		return 0;
	}
	__sync_fetch_and_add(&control.exits, 1);
	if (!passed_over()) {
		struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
		if (s)
			output_descriptors(task, s, now, REC_AT_EXIT);
		struct rec_exit r = {};
		count_thread(d, task);
		fill_head(&r.head, REC_EXIT, task, now);
		if (bpf_core_field_exists(task->ioac))
			r.head.flags |= REC_IO;
		if (d->part)
			r.head.flags |= REC_PART;
		r.status = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT ? BPF_CORE_READ(signal, group_exit_code)
		                                                            : BPF_CORE_READ(leader, exit_code);
		r.threads = d->threads;
		r.rss = BPF_CORE_READ(signal, maxrss);
		r.minor = d->minor;
		r.major = d->major;
		r.cpu = d->cpu;
		r.user = d->user;
		r.system = d->system;
		r.rchar = d->rchar;
		r.wchar = d->wchar;
		r.read_bytes = d->read_bytes;
		r.write_bytes = d->write_bytes;
		if (output_record(&r, sizeof(r), now) < 0)
			count_lost_record(now);
	}
	if (d != &none)
		bpf_map_delete_elem(&deads, &pid);
	return 0;
}

/* A process sets up io_uring, whose calls the tracer does not see: it is counted, and told where the process is
 * observed. */
SEC("raw_tp/io_uring_create")
int on_uring(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 now = bpf_ktime_get_ns();
	struct rec_plain r = {};
	__sync_fetch_and_add(&control.urings, 1);
	if (passed_over())
		return 0;
	fill_head(&r.head, REC_URING, task, now);
	if (output_record(&r, sizeof(r), now) < 0)
		count_lost_record(now);
	return 0;
}
