#include "archive/requests.h"

#include "summary/summary.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MIB 1048576.0

typedef unsigned long long ull;

int request_by_name(const char *name)
{
	static const char *const names[REQUESTS] = {
#define REQUEST(name, meaning) #name,
#include "archive/requests.def"
	};
	for (int i = 0; i < REQUESTS; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

/* How many units v is, rounded up, 1 at least; 1e-9 above a whole number counts as that. */
static uint64_t round_up_units(double v, double unit)
{
	double n = ceil(v / unit - 1e-9), most = 9e18 / unit;
	return n < 1 ? 1 : (uint64_t)(n < most ? n : most);
}

struct amounts advice_amounts(const struct advice *a)
{
	const struct advised *of = a->of;
	struct amounts n = {0};
	if (of[ADVICE_memory].known)
		n.memory = round_up_units(of[ADVICE_memory].value, MIB) << 20;
	if (of[ADVICE_disk].known)
		n.disk = round_up_units(of[ADVICE_disk].value, MIB) << 20;
	if (of[ADVICE_wall].known)
		n.wall = round_up_units(of[ADVICE_wall].value, 60e9) * 60;
	if (of[ADVICE_cores].known)
		n.cores = round_up_units(of[ADVICE_cores].value - 100, 1000);
	return n;
}

/* Seconds rounded up to minutes. */
static ull whole_minutes(uint64_t s)
{
	return (s + 59) / 60;
}

/* Bytes rounded down to MiB. */
static ull whole_mib(uint64_t bytes)
{
	return bytes >> 20;
}

/* Appends the lines for a batch script. An amount of 0 is not known and left out. Memory and disk in bytes, the time in
 * seconds. */
static void write_slurm(const struct amounts *n, struct buf *b)
{
	if (n->memory)
		buf_printf(b, "#SBATCH --mem=%lluM\n", whole_mib(n->memory));
	if (n->cores)
		buf_printf(b, "#SBATCH --cpus-per-task=%llu\n", (ull)n->cores);
	if (n->wall) /* it counts in minutes */
		buf_printf(b, "#SBATCH --time=%llu:%02llu:00\n", whole_minutes(n->wall) / 60, whole_minutes(n->wall) % 60);
	if (n->disk)
		buf_printf(b, "#SBATCH --tmp=%lluM\n", whole_mib(n->disk));
}

/* Scratch space has no name there that all sites share. */
static void write_pbs(const struct amounts *n, struct buf *b)
{
	if (n->memory || n->cores) {
		buf_printf(b, "#PBS -l select=1");
		if (n->cores)
			buf_printf(b, ":ncpus=%llu", (ull)n->cores);
		if (n->memory)
			buf_printf(b, ":mem=%llumb", whole_mib(n->memory));
		buf_char(b, '\n');
	}
	if (n->wall)
		buf_printf(b, "#PBS -l walltime=%llu:%02llu:%02llu\n", (ull)n->wall / 3600, (ull)n->wall / 60 % 60,
		           (ull)n->wall % 60);
}

/* Writes the request in the syntax of HTCondor. As write_slurm, for a submit description. */
static void write_htcondor(const struct amounts *n, struct buf *b)
{
	if (n->memory)
		buf_printf(b, "request_memory = %lluMB\n", whole_mib(n->memory));
	if (n->cores)
		buf_printf(b, "request_cpus = %llu\n", (ull)n->cores);
	if (n->disk)
		buf_printf(b, "request_disk = %lluMB\n", whole_mib(n->disk));
	if (n->wall)
		buf_printf(b, "allowed_execute_duration = %llu\n", (ull)n->wall);
}

/* Writes the request in the syntax of Nextflow. As write_slurm, for a process of Nextflow. */
static void write_nextflow(const struct amounts *n, struct buf *b)
{
	if (n->memory)
		buf_printf(b, "memory '%llu MB'\n", whole_mib(n->memory));
	if (n->cores)
		buf_printf(b, "cpus %llu\n", (ull)n->cores);
	if (n->wall)
		buf_printf(b, "time '%llus'\n", (ull)n->wall);
	if (n->disk)
		buf_printf(b, "disk '%llu MB'\n", whole_mib(n->disk));
}

/* mem_mb and disk_mb are of 10^6 bytes there, runtime is in minutes. */
static void write_snakemake(const struct amounts *n, struct buf *b)
{
	const char *comma = "";
	if (n->cores)
		buf_printf(b, "threads: %llu\n", (ull)n->cores);
	if (!n->memory && !n->wall && !n->disk)
		return;
	buf_printf(b, "resources:\n");
	if (n->memory) {
		buf_printf(b, "    mem_mb=%llu", (ull)round_up_units((double)n->memory, 1e6));
		comma = ",\n";
	}
	if (n->wall) {
		buf_printf(b, "%s    runtime=%llu", comma, whole_minutes(n->wall));
		comma = ",\n";
	}
	if (n->disk)
		buf_printf(b, "%s    disk_mb=%llu", comma, (ull)round_up_units((double)n->disk, 1e6));
	buf_char(b, '\n');
}

/* "--limit ..." with what is known; nothing where nothing is. */
static void write_run_options(const struct advice *a, const struct amounts *n, struct buf *b)
{
	const char *comma = "--limit ";
	/* Bytes written are no footprint: a file may be written twice. */
	bool footprint = n->disk && a->of[ADVICE_disk].figure == FIGURE_disk_footprint_peak;
	if (n->memory) {
		buf_printf(b, "%smemory=%lluM", comma, whole_mib(n->memory));
		comma = ",";
	}
	if (n->wall) {
		buf_printf(b, "%swall=%llus", comma, (ull)n->wall);
		comma = ",";
	}
	if (footprint)
		buf_printf(b, "%sfootprint=%lluM", comma, whole_mib(n->disk));
	if (n->memory || n->wall || footprint)
		buf_char(b, '\n');
}

int request_write(enum request r, const struct advice *a, struct buf *ret)
{
	struct amounts n = advice_amounts(a);
	switch (r) {
	case REQUEST_slurm:
		write_slurm(&n, ret);
		break;
	case REQUEST_pbs:
		write_pbs(&n, ret);
		break;
	case REQUEST_htcondor:
		write_htcondor(&n, ret);
		break;
	case REQUEST_nextflow:
		write_nextflow(&n, ret);
		break;
	case REQUEST_snakemake:
		write_snakemake(&n, ret);
		break;
	case REQUEST_stemma:
		write_run_options(a, &n, ret);
		break;
	case REQUESTS:
		break;
	}
	return ret->failed ? -ENOMEM : 0;
}
