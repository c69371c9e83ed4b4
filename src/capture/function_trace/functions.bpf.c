/* Entries of chosen functions, in the processes of one run (doc/traces.md). Loaded for a run that asks for it, and gone
 * with it: nothing is pinned. Nothing waits: what finds no room is counted.
 *
 * The run's processes are those that descend from the one that started stemma: known by their numbers, which a fork
 * passes on before the child runs its first instruction. */
#include "capture/node_tracer/kernel.h"

#include "capture/function_trace/functions_record.h"

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

struct function_control control;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set before it is loaded */
} ring SEC(".maps");

/* A function that was entered: where on the stack it found its return address, and which. */
struct open {
	__u64 sp, back;
};
/* Threads of the run: the stack that each was on last, and what is open. Of deep recursion the innermost are known. */
#define OPEN 128
struct thread {
	__u64 low, high;
	__u32 n;
	__u32 alternate; /* so many of them, the innermost, are on the stack for signals */
	struct open open[OPEN];
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* 2 KB each */
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct thread none; /* as a thread begins */

/* A reader that looks often enough is not woken: that would cost the program more than its entry does. */
#define WAKE_BYTES (1u << 20)

/* Sends a record, and wakes the reader where enough waits. A record without room is counted in control.lost. */
static __always_inline void output_entry(void *record, __u64 size)
{
	__u64 waits = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	if (control.off)
		return;
	if (bpf_ringbuf_output(&ring, record, size, waits >= WAKE_BYTES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP) < 0)
		__sync_fetch_and_add(&control.lost, 1);
}

struct range {
	__u64 low, high;
};
/* The range of the area in which the stack lies. Always 0. */
static long found_stack(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct range *s = arg;
	s->low = BPF_CORE_READ(vma, vm_start);
	s->high = BPF_CORE_READ(vma, vm_end);
	return 0;
}

/* Whether sp lies in the thread's alternate signal stack. False if it has none. */
static __always_inline bool is_alternate(struct task_struct *task, __u64 sp)
{
	__u64 low = BPF_CORE_READ(task, sas_ss_sp), size = BPF_CORE_READ(task, sas_ss_size);
	return size && sp - low <= size;
}

/* Is what was entered there over? It is where its place on the stack is free, or has another return address by now. */
static __always_inline bool is_call_over(const struct open *o, __u64 at, bool compare)
{
	if (compare && o->sp <= at)
		return true;
#if defined(__TARGET_ARCH_x86)
	__u64 back = 0;
	if (bpf_probe_read_user(&back, sizeof(back), (void *)o->sp) == 0 && back != o->back)
		return true;
#endif
	return false;
}

/* Takes out what is over. What lies at `at` and below is free; alternate: that is on the stack for signals. Returns how
 * many are left. */
static __always_inline __u32 pop_over_calls(struct thread *t, __u64 at, bool alternate)
{
	__u32 n = t->n, other = t->alternate;
	if (!alternate) { /* the handler is over */
		n -= other <= n ? other : n;
		other = 0;
	}
	for (int i = 0; i < OPEN && n; i++) {
		if (!is_call_over(&t->open[(n - 1) & (OPEN - 1)], at, !alternate || other))
			break;
		n--;
		other -= other != 0;
	}
	t->n = n;
	t->alternate = other;
	return n;
}

#if defined(__TARGET_ARCH_x86)
/* mov $15, %rax; syscall: where a handler returns to. Above it lies what was interrupted: where its stack pointer is,
 * the kernel promises to programs. */
#define RETURN_FROM_HANDLER 0x0f0000000fc0c748ULL
#define INTERRUPTED_SP (8 + 160)
/* Whether the return address is the kernel's return from a handler; then *interrupted is the stack pointer that was
 * interrupted. */
static __always_inline bool is_handler(__u64 back, __u64 sp, __u64 *interrupted)
{
	__u64 code = 0;
	return bpf_probe_read_user(&code, sizeof(code), (void *)back) == 0 && code == RETURN_FROM_HANDLER &&
	       bpf_probe_read_user(interrupted, sizeof(*interrupted), (void *)(sp + INTERRUPTED_SP)) == 0;
}
#else
/* On other processors it is not known: never. */
static __always_inline bool is_handler(__u64 back, __u64 sp, __u64 *interrupted)
{
	return false;
}
#endif

/* Notes that a function was entered, after those that were left without a return. Gives its depth. sp, back: stack
 * pointer and return address. */
static __always_inline __u32 push_call(struct task_struct *task, struct thread *t, __u64 sp, __u64 back, bool alternate)
{
	__u64 interrupted;
	__u32 n = is_handler(back, sp, &interrupted) ? pop_over_calls(t, interrupted - 1, is_alternate(task, interrupted))
	                                             : pop_over_calls(t, sp, alternate);
	t->open[n & (OPEN - 1)] = (struct open){sp, back};
	t->n = n + 1;
	t->alternate += alternate;
	return n;
}

/* A chosen function is entered: one record, before it one where the thread is on another stack. Threads that are not
 * traced are passed over. */
SEC("uprobe")
int on_enter(struct user_regs *regs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	__u64 who = bpf_get_current_pid_tgid();
	struct function_record t = {.what = RECORD_ENTER, .tid = (__u32)who, .sp = regs->sp};
	struct thread *s = bpf_map_lookup_elem(&threads, &t.tid);
	if (!s) {
		__sync_fetch_and_add(&control.other, 1);
		return 0;
	}
	__sync_fetch_and_add(&control.told, 1);
	t.function = (__u32)bpf_get_attach_cookie(regs);
	if (is_alternate(task, t.sp)) {
		t.flags |= RECORD_ALTERNATE;
	} else if (t.sp < s->low || t.sp >= s->high) {
		struct range now = {};
		bpf_find_vma(task, t.sp, found_stack, &now, 0);
		if (!now.high) {
			t.flags |= RECORD_UNKNOWN; /* another thread changes mappings right now */
		} else {
			bool same = now.high == s->high; /* it has grown */
			s->low = now.low;
			s->high = now.high;
			if (!same) {
				struct function_record other = t;
				other.what = RECORD_STACK;
				other.sp = now.low;
				other.back = (__s64)now.high;
				output_entry(&other, sizeof(other));
			}
		}
	}
	__u64 back = 0;
#if defined(__TARGET_ARCH_x86)
	if (bpf_probe_read_user(&back, sizeof(back), (void *)t.sp) < 0)
		t.flags |= RECORD_UNREAD;
#else
	back = regs->regs[30];
#endif
	t.back = (__s64)(back - regs->ip);
	t.pid = push_call(task, s, t.sp, back, t.flags & RECORD_ALTERNATE);
	output_entry(&t, sizeof(t));
	return 0;
}

/* A child of a traced thread is traced, too. */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0], *child = (struct task_struct *)ctx->args[1];
	struct function_record t = {
	    .what = RECORD_FORK, .tid = BPF_CORE_READ(parent, pid), .pid = BPF_CORE_READ(parent, tgid)};
	__u32 tid = BPF_CORE_READ(child, pid);
	struct thread *maker = bpf_map_lookup_elem(&threads, &t.tid);
	if (!maker)
		return 0;
	/* A process goes on with what was open, a thread begins anew. */
	bool process = BPF_CORE_READ(child, tgid) == tid;
	if (bpf_map_update_elem(&threads, &tid, process ? maker : &none, BPF_ANY) < 0)
		__sync_fetch_and_add(&control.beyond, 1);
	struct function_exec_record e = {.head = t, .started = BPF_CORE_READ(child, group_leader, start_boottime)};
	e.head.sp = tid;
	e.head.back = BPF_CORE_READ(child, tgid);
	output_entry(&e, __builtin_offsetof(struct function_exec_record, name));
	return 0;
}

/* A traced process becomes another program; its other threads are over. */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 old = (__u32)ctx->args[1];
	struct linux_binprm *bprm = (struct linux_binprm *)ctx->args[2];
	struct function_exec_record e = {.head = {.what = RECORD_EXEC, .sp = old}};
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
	output_entry(&e, sizeof(e));
	return 0;
}

/* A traced thread ends. back: it was the last of its process; sp: the status. */
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct function_record t = {.what = RECORD_EXIT, .tid = BPF_CORE_READ(task, pid), .pid = BPF_CORE_READ(task, tgid)};
	if (bpf_map_delete_elem(&threads, &t.tid) < 0)
		return 0;
	bool group = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT;
	t.sp = (__u32)(group ? BPF_CORE_READ(signal, group_exit_code) : BPF_CORE_READ(task, exit_code));
	t.back = BPF_CORE_READ(signal, live.counter) == 0;
	t.flags = group;
	output_entry(&t, sizeof(t));
	return 0;
}

/* Run once by the reader, which is a child of the process that is about to start the command. */
SEC("raw_tp")
int begin_command(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
	__u32 parent = BPF_CORE_READ(task, real_parent, tgid);
	return bpf_map_update_elem(&threads, &parent, &none, BPF_ANY) < 0;
}
