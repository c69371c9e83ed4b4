#include "monitor/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A counter of the process and of those it starts from now on. -1: see errno. */
static int open_one(pid_t pid, uint64_t config, bool user_only)
{
	struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
	                            .size = sizeof(a),
	                            .config = config,
	                            .inherit = 1,
	                            .exclude_kernel = user_only,
	                            .exclude_hv = user_only,
	                            .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
	return (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void counters_open(struct counters *c, pid_t pid)
{
	*c = (struct counters){.cycles = -1, .instructions = -1};
	c->cycles = open_one(pid, PERF_COUNT_HW_CPU_CYCLES, false);
	if (c->cycles < 0 && (errno == EACCES || errno == EPERM)) {
		c->user_only = true;
		c->cycles = open_one(pid, PERF_COUNT_HW_CPU_CYCLES, true);
	}
	if (c->cycles < 0) {
		c->why = errno == EACCES || errno == EPERM ? "the kernel does not allow it (perf_event_paranoid)"
		                                           : "this machine has no such counter";
		return;
	}
	c->instructions = open_one(pid, PERF_COUNT_HW_INSTRUCTIONS, c->user_only);
}

/* Where there are more events than counters they take turns: what was counted stands for the whole time. */
static bool read_one(int fd, uint64_t *ret)
{
	uint64_t v[3];
	if (fd < 0 || read(fd, v, sizeof(v)) != (ssize_t)sizeof(v) || v[2] == 0)
		return false;
	*ret = v[1] == v[2] ? v[0] : (uint64_t)((double)v[0] * ((double)v[1] / (double)v[2]));
	return true;
}

bool counters_read(const struct counters *c, uint64_t *ret_cycles, uint64_t *ret_instructions)
{
	return read_one(c->cycles, ret_cycles) && read_one(c->instructions, ret_instructions);
}
