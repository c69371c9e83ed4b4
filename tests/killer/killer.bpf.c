/* Counts the calls of a keeper and of its workers, and kills behind the k-th. Nothing is stopped: the signal is there
 * before the call returns to the program. */
#include "capture/node_tracer/kernel.h"

#include "../../tests/killer/control.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SIGKILL 9
#if defined(__TARGET_ARCH_x86)
#define NUMBER(regs) ((int)(regs)->orig_ax)
#else
#define NUMBER(regs) ((regs)->syscallno)
#endif
enum pid_type { PIDTYPE_PID, PIDTYPE_TGID };

char LICENSE[] SEC("license") = "GPL";

extern int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type, __u64 value) __ksym;
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;

struct killer_control control;

static __always_inline void kill_process(__u32 pid)
{
	if (!pid)
		return;
	struct task_struct *task = bpf_task_from_pid((__s32)pid);
	if (!task)
		return;
	bpf_send_signal_task(task, SIGKILL, PIDTYPE_TGID, 0);
	bpf_task_release(task);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(became, struct task_struct *task)
{
	if (control.pending && (__u32)task->tgid == control.pending) {
		control.pending = 0;
		control.keeper = (__u32)task->tgid;
	}
	return 0;
}

/* A process of the keeper that has the keeper's memory is a standby: it comes by vfork. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	if (!control.keeper || (__u32)parent->tgid != control.keeper || child->tgid == parent->tgid)
		return 0;
	if (child->mm == parent->mm) {
		control.standby = 1;
	} else if (!control.killed) {
		__u32 n = control.nworkers;
		if (n < KILLER_WORKERS) {
			control.workers[n] = (__u32)child->tgid;
			control.nworkers = n + 1;
		}
	}
	return 0;
}

static __always_inline bool is_worker(__u32 pid)
{
	for (__u32 i = 0; i < KILLER_WORKERS; i++)
		if (control.workers[i] == pid)
			return true;
	return false;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(returned, struct pt_regs *regs)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	if (!control.keeper || control.killed || (control.number >= 0 && control.number != NUMBER(regs)))
		return 0;
	bool by_keeper = pid == control.keeper, by_worker = !by_keeper && is_worker(pid);
	if (by_keeper)
		__sync_fetch_and_add(&control.calls_keeper, 1);
	else if (by_worker)
		__sync_fetch_and_add(&control.calls_worker, 1);
	if (!control.k || !((by_keeper && control.of_keeper) || (by_worker && control.of_worker)))
		return 0;
	__u64 n = (control.of_worker ? control.calls_worker : 0) + (control.of_keeper ? control.calls_keeper : 0);
	if (n < control.k)
		return 0;
	control.killed = 1; /* two threads at once kill the same twice */
	__u32 last = control.nworkers - 1;
	if (control.of_worker && last < KILLER_WORKERS)
		kill_process(control.workers[last]);
	if (control.of_keeper)
		kill_process(control.keeper);
	return 0;
}
