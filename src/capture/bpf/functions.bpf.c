/* Entries of chosen functions, in the processes of one run (doc/traces.md). Loaded for a run that asks for it, and gone
 * with it: nothing is pinned. Nothing waits: what finds no room is counted.
 *
 * The run's processes are those that descend from the one that started stemma: known by their numbers, which a fork
 * passes on before the child runs its first instruction. */
#include "kernel.h"

#include "functions_record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define SIGNAL_GROUP_EXIT 4

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct vm_area_struct {
	unsigned long vm_start, vm_end;
};
#pragma clang attribute pop

/* The registers of a program, as they are given to whoever looks at them: they never change. */
#if defined(__TARGET_ARCH_x86)
struct user_regs {
	unsigned long before[16], ip, cs, flags, sp;
};
#else
struct user_regs {
	unsigned long regs[31], sp, ip;
};
#endif

struct told_control control;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set before it is loaded */
} ring SEC(".maps");

/* Threads of the run, and the stack that each was on last. */
struct stack {
	__u64 low, high;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct stack);
} threads SEC(".maps");

/* A reader that looks often enough is not woken: that would cost the program more than its entry does. */
#define WAKE_BYTES (1u << 20)

static __always_inline void tell(void *record, __u64 size)
{
	__u64 waits = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	if (control.off)
		return;
	if (bpf_ringbuf_output(&ring, record, size, waits >= WAKE_BYTES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP) < 0)
		__sync_fetch_and_add(&control.lost, 1);
}

static long found_stack(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct stack *s = arg;
	s->low = BPF_CORE_READ(vma, vm_start);
	s->high = BPF_CORE_READ(vma, vm_end);
	return 0;
}

static __always_inline bool is_alternate(struct task_struct *task, __u64 sp)
{
	__u64 low = BPF_CORE_READ(task, sas_ss_sp), size = BPF_CORE_READ(task, sas_ss_size);
	return size && sp - low <= size;
}

SEC("uprobe")
int on_enter(struct user_regs *regs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	__u64 who = bpf_get_current_pid_tgid();
	struct told t = {.what = TOLD_ENTER, .tid = (__u32)who, .pid = who >> 32, .sp = regs->sp};
	struct stack *s = bpf_map_lookup_elem(&threads, &t.tid);
	if (!s) {
		__sync_fetch_and_add(&control.other, 1);
		return 0;
	}
	__sync_fetch_and_add(&control.told, 1);
	t.function = (__u32)bpf_get_attach_cookie(regs);
	if (is_alternate(task, t.sp)) {
		t.flags |= TOLD_ALTERNATE;
	} else if (t.sp < s->low || t.sp >= s->high) {
		struct stack now = {};
		bpf_find_vma(task, t.sp, found_stack, &now, 0);
		if (!now.high) {
			t.flags |= TOLD_UNKNOWN; /* another thread changes mappings right now */
		} else {
			bool same = now.high == s->high; /* it has grown */
			*s = now;
			if (!same) {
				struct told other = t;
				other.what = TOLD_STACK;
				other.sp = now.low;
				other.back = (__s64)now.high;
				tell(&other, sizeof(other));
			}
		}
	}
	__u64 back = 0;
#if defined(__TARGET_ARCH_x86)
	if (bpf_probe_read_user(&back, sizeof(back), (void *)t.sp) < 0)
		t.flags |= TOLD_UNREAD;
#else
	back = regs->regs[30];
#endif
	t.back = (__s64)(back - regs->ip);
	tell(&t, sizeof(t));
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0], *child = (struct task_struct *)ctx->args[1];
	struct told t = {.what = TOLD_FORK, .tid = BPF_CORE_READ(parent, pid), .pid = BPF_CORE_READ(parent, tgid)};
	__u32 tid = BPF_CORE_READ(child, pid);
	struct stack none = {};
	if (!bpf_map_lookup_elem(&threads, &t.tid))
		return 0;
	if (bpf_map_update_elem(&threads, &tid, &none, BPF_ANY) < 0)
		__sync_fetch_and_add(&control.beyond, 1);
	struct told_exec e = {.head = t, .started = BPF_CORE_READ(child, group_leader, start_boottime)};
	e.head.sp = tid;
	e.head.back = BPF_CORE_READ(child, tgid);
	tell(&e, __builtin_offsetof(struct told_exec, name));
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 old = (__u32)ctx->args[1];
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	struct told_exec e = {.head = {.what = TOLD_EXEC, .sp = old}};
	struct stack none = {};
	e.head.tid = BPF_CORE_READ(task, pid);
	e.head.pid = BPF_CORE_READ(task, tgid);
	/* A thread that is not the first takes the first one's number, whose end has taken that out. */
	if (!bpf_map_lookup_elem(&threads, &old))
		return 0;
	if (old != e.head.tid)
		bpf_map_delete_elem(&threads, &old);
	if (bpf_map_update_elem(&threads, &e.head.tid, &none, BPF_ANY) < 0)
		__sync_fetch_and_add(&control.beyond, 1);
	e.started = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_probe_read_kernel_str(e.name, sizeof(e.name), BPF_CORE_READ(bprm, filename));
	tell(&e, sizeof(e));
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct told t = {.what = TOLD_EXIT, .tid = BPF_CORE_READ(task, pid), .pid = BPF_CORE_READ(task, tgid)};
	if (bpf_map_delete_elem(&threads, &t.tid) < 0)
		return 0;
	bool group = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT;
	t.sp = (__u32)(group ? BPF_CORE_READ(signal, group_exit_code) : BPF_CORE_READ(task, exit_code));
	t.back = BPF_CORE_READ(signal, live.counter) == 0;
	t.flags = group;
	tell(&t, sizeof(t));
	return 0;
}

/* Run once by the reader, which is a child of the process that is about to start the command. */
SEC("raw_tp")
int begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	__u32 parent = BPF_CORE_READ(task, real_parent, tgid);
	struct stack none = {};
	return bpf_map_update_elem(&threads, &parent, &none, BPF_ANY) < 0;
}
