/* Granularity access: first and last call, bytes and counts of each process and file, added up here. The program at the
 * end of system calls taxes every process of the node, so it is attached only while somebody asked, and leaves soon for
 * all others: a call that moved bytes, of a kind that does, of a marked process.
 *
 * A process is marked by the iterator when somebody is asked for, by its parent when it is made, and anew at an exec,
 * by when a job's process has been put in its group. */
#include "capture/node_tracer/kernel.h"

#include "capture/node_tracer/record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct rec_access_control control;

struct totals {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REC_TOTALS_MAX);
	__type(key, struct rec_total_key);
	__type(value, struct rec_total);
};
/* One is written to while the other is read and emptied, so that no entry is taken from under a program. */
struct totals totals0 SEC(".maps"), totals1 SEC(".maps");

/* A byte a pid: looking here costs every other process of the node 2 ns a call, the kernel's storage of tasks 60. */
struct pids {
	__u8 of[REC_PIDS];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pids);
} pids SEC(".maps");

struct asked {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
};
struct asked users SEC(".maps"), groups SEC(".maps"), trees SEC(".maps");

/* Linux 6.2: pointers that may be followed without a call for each. From 1.4 on libbpf declares it, and this beside it.
 */
#ifndef bpf_core_cast
extern void *bpf_rdonly_cast(void *obj, __u32 btf_id) __ksym __weak;
#endif

enum { READS = 1, WRITES = 2, COPIES_0_2 = 4, COPIES_1_0 = 8, MESSAGES = 16 };

/* By number of the call. Of those that move messages the result is not bytes. */
#define CALLS_MAX 512
static const volatile __u8 what[CALLS_MAX] = {
#if defined(__TARGET_ARCH_x86)
    [0] = READS,
    [1] = WRITES,
    [17] = READS,
    [18] = WRITES,
    [19] = READS,
    [20] = WRITES,
    [40] = COPIES_1_0,
    [44] = WRITES,
    [45] = READS,
    [46] = WRITES,
    [47] = READS,
    [275] = COPIES_0_2,
    [276] = COPIES_0_2,
    [278] = WRITES,
    [295] = READS,
    [296] = WRITES,
    [299] = READS | MESSAGES,
    [307] = WRITES | MESSAGES,
    [326] = COPIES_0_2,
    [327] = READS,
    [328] = WRITES,
#elif defined(__TARGET_ARCH_arm64)
    [63] = READS,
    [64] = WRITES,
    [65] = READS,
    [66] = WRITES,
    [67] = READS,
    [68] = WRITES,
    [69] = READS,
    [70] = WRITES,
    [71] = COPIES_1_0,
    [75] = WRITES,
    [76] = COPIES_0_2,
    [77] = COPIES_0_2,
    [206] = WRITES,
    [207] = READS,
    [211] = WRITES,
    [212] = READS,
    [243] = READS | MESSAGES,
    [269] = WRITES | MESSAGES,
    [285] = COPIES_0_2,
    [286] = READS,
    [287] = WRITES,
#endif
};

#if defined(__TARGET_ARCH_x86)
#define NUMBER(regs) ((__u32)(regs)->orig_ax)
#define ARG0(regs) ((__u32)(regs)->di)
#define ARG1(regs) ((__u32)(regs)->si)
#define ARG2(regs) ((__u32)(regs)->dx)
#define TS_COMPAT 2
#else
#define NUMBER(regs) ((__u32)(regs)->syscallno)
#define ARG0(regs) ((__u32)(regs)->orig_x0)
#define ARG1(regs) ((__u32)(regs)->regs[1])
#define ARG2(regs) ((__u32)(regs)->regs[2])
#define TS_COMPAT 0
#endif

/* Counts something that could not be counted for its file or process. now: ns, for the gap that is told. */
static __always_inline void count_lost_total(__u64 now)
{
	__sync_fetch_and_add(&control.lost, 1);
	control.lost_last = now;
	if (!control.lost_first)
		control.lost_first = now;
}

/* Adds one access of so many bytes. now: its time; first and last are not exact beside other processors. */
static __always_inline void add_to_side(struct rec_side *s, __u64 bytes, __u64 now)
{
	if (!s->count)
		s->first = now;
	s->last = now;
	__sync_fetch_and_add(&s->count, 1);
	__sync_fetch_and_add(&s->bytes, bytes);
}

/* The mark of a process: whether it belongs to whom is recorded. NULL: no page for such PIDs. */
static __always_inline __u8 *mark_of(__u32 pid)
{
	__u32 at = pid / REC_PIDS;
	struct pids *p = bpf_map_lookup_elem(&pids, &at);
	return p ? &p->of[pid % REC_PIDS] : NULL;
}

/* Adds to the total of process and file. A file that is closed, or no room: counted as lost. Always 0. */
static __noinline int count_transfer(struct task_struct *task, __u32 fd, bool write, __u64 bytes)
{
	struct fdtable *fdt = task->files->fdt;
	struct file *file = NULL;
	struct rec_total_key key = {};
	__u16 mode;
	__u64 now = bpf_ktime_get_ns();
	if (fd >= fdt->max_fds || bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd) < 0 || !file) {
		count_lost_total(now); /* closed by another thread in the meantime */
		return 0;
	}
	if (bpf_rdonly_cast) {
		file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
		struct inode *inode = file->f_inode;
		key.ino = inode->i_ino;
		key.gen = inode->i_generation;
		key.dev = inode->i_sb->s_dev;
		mode = inode->i_mode;
	} else {
		struct inode *inode = BPF_CORE_READ(file, f_inode);
		key.ino = BPF_CORE_READ(inode, i_ino);
		key.gen = BPF_CORE_READ(inode, i_generation);
		key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
		mode = BPF_CORE_READ(inode, i_mode);
	}
	key.pid = task->tgid;
	key.exec_id = (__u32)task->self_exec_id;
	bool second = control.active & 1;
	struct rec_total *t = second ? bpf_map_lookup_elem(&totals1, &key) : bpf_map_lookup_elem(&totals0, &key);
	if (!t) {
		struct rec_total fresh = {.fd = fd, .mode = mode & 0170000};
		fresh.start = task->group_leader->start_boottime;
		fresh.uid = (__u32)bpf_get_current_uid_gid();
		long r = second ? bpf_map_update_elem(&totals1, &key, &fresh, BPF_NOEXIST)
		                : bpf_map_update_elem(&totals0, &key, &fresh, BPF_NOEXIST);
		if (r == 0)
			__sync_fetch_and_add(&control.filled[second], 1);
		t = second ? bpf_map_lookup_elem(&totals1, &key) : bpf_map_lookup_elem(&totals0, &key);
		if (!t) {
			count_lost_total(now);
			return 0;
		}
	}
	add_to_side(write ? &t->write : &t->read, bytes, now);
	return 0;
}

/* At each call's end: adds what moved data. Not of this daemon, nor of 32-bit programs, which are counted apart. */
SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	long ret = (long)ctx[1];
	if (ret <= 0)
		return 0;
	__u32 number = NUMBER(regs);
	if (number >= CALLS_MAX)
		return 0;
	__u8 w = what[number];
	if (!w)
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = task->tgid;
	if (!control.node) {
		__u8 *mark = mark_of(pid);
		if (!mark || !*mark)
			return 0;
	}
	if (TS_COMPAT && task->thread_info.status & TS_COMPAT) {
		__sync_fetch_and_add(&control.compat, 1);
		return 0;
	}
	if (pid == control.own)
		return 0;
	__u64 bytes = w & MESSAGES ? 0 : (__u64)ret;
	if (w & (COPIES_0_2 | COPIES_1_0)) {
		count_transfer(task, w & COPIES_0_2 ? ARG0(regs) : ARG1(regs), false, bytes);
		count_transfer(task, w & COPIES_0_2 ? ARG2(regs) : ARG0(regs), true, bytes);
	} else
		count_transfer(task, ARG0(regs), w & WRITES, bytes);
	return 0;
}

/* What a process's mark is to be. Groups hold for those below them too: 16 levels of them. */
static __always_inline __u8 mark_for(struct task_struct *task, __u8 tree)
{
	__u64 pid = BPF_CORE_READ(task, tgid);
	if (tree || bpf_map_lookup_elem(&trees, &pid))
		return REC_COUNTED | REC_IN_TREE;
	if (control.users) {
		__u64 uid = BPF_CORE_READ(task, cred, euid.val);
		if (bpf_map_lookup_elem(&users, &uid))
			return REC_COUNTED;
	}
	if (control.groups) {
		struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
		for (int i = 0; i < 16 && group; i++) {
			__u64 id = BPF_CORE_READ(group, kn, id);
			if (bpf_map_lookup_elem(&groups, &id))
				return REC_COUNTED;
			struct cgroup_subsys_state *above = BPF_CORE_READ(group, self.parent);
			group = above ? BPF_CORE_READ(above, cgroup) : NULL;
		}
	}
	return 0;
}

/* Over all that there are, when somebody is asked for or no longer: first with control.untree, then until nothing
 * changes, since a child may come before its parent. */
SEC("iter/task")
int on_each(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task || task->pid != task->tgid)
		return 0;
	__u8 *mark = mark_of(task->tgid), *above = mark_of(BPF_CORE_READ(task, real_parent, tgid)), is;
	if (!mark)
		return 0;
	is = mark_for(task, control.untree ? 0 : (*mark | (above ? *above : 0)) & REC_IN_TREE);
	if (is != *mark)
		control.changed = 1;
	*mark = is;
	return 0;
}

/* A new process is in the tree where its parent is. */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0], *child = (struct task_struct *)ctx->args[1];
	__u32 pid = BPF_CORE_READ(child, tgid);
	if (BPF_CORE_READ(child, pid) != pid)
		return 0;
	__u8 *from = mark_of(BPF_CORE_READ(parent, tgid)), *mark = mark_of(pid);
	if (mark)
		*mark = mark_for(child, from ? *from & REC_IN_TREE : 0);
	return 0;
}

/* A program began: whether its process is observed is decided again. Keeps that it is in a recorded tree. */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u8 *mark = mark_of(BPF_CORE_READ(task, tgid));
	if (mark)
		*mark = mark_for(task, *mark & REC_IN_TREE);
	return 0;
}
