#include "trust/lazy.h"

#include "base/io.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool lazy_takes(const struct session_file *f, struct lazy_sum *sum)
{
	static const char network[] = "net:";
	if (!f->made || f->gone || f->system || !f->has_state || !*f->path || f->size > LAZY_FILE ||
	    !strncmp(f->domain, network, sizeof(network) - 1))
		return false;
	if (sum->files >= LAZY_FILES || sum->bytes + f->size > LAZY_ALL)
		return false;
	sum->files++;
	sum->bytes += f->size;
	return true;
}

bool lazy_in_batch_job(void)
{
	/* Of those without a variable of their own, one that is set in every job. */
	static const char *const variables[] = {"SLURM_JOB_ID",  "SLURM_JOBID",    "PBS_JOBID",   "LSB_JOBID",
	                                        "FLUX_JOB_ID",   "_CONDOR_JOB_AD", "SGE_TASK_ID", "OAR_JOB_ID",
	                                        "LOADL_STEP_ID", "COBALT_JOBID",   "PJM_JOBID",   NULL};
	static const char *const groups[] = {"slurm", "pbs", "lsf", "flux-", "condor", "sge", "oar", NULL};
	char group[4096];
	for (size_t i = 0; variables[i]; i++)
		if (getenv(variables[i]))
			return true;
	if (!io_text("/proc/self/cgroup", group, sizeof(group)))
		return false;
	for (char *save = NULL, *part = strtok_r(group, "/\n", &save); part; part = strtok_r(NULL, "/\n", &save))
		for (size_t i = 0; groups[i]; i++)
			if (str_starts(str_of(part), str_of(groups[i])))
				return true;
	return false;
}

int lazy_withdraw(void)
{
	const struct sched_param none = {0};
	const struct rlimit cpu = {LAZY_CPU, LAZY_CPU};
	if (setsid() < 0 || chdir("/") < 0 || syscall(SYS_close_range, 0u, ~0u, 0u) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (open("/dev/null", O_RDWR) < 0)
			return -errno;
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) < 0 ||
	    sched_setscheduler(0, SCHED_IDLE, &none) < 0 || setrlimit(RLIMIT_CPU, &cpu) < 0)
		return -errno;
	alarm(LAZY_WALL);
	return 0;
}
