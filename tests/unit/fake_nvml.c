/* fake_nvml.c - a management library with two devices, for test_gpu: what is to be told stands in variables that the
 * test sets. */
#include <stddef.h>
#include <string.h>

struct process {
	unsigned pid;
	unsigned long long memory;
	unsigned a, b;
};
struct sample {
	unsigned pid;
	unsigned long long time;
	unsigned sm, memory, encoder, decoder;
};
struct account {
	unsigned gpu, memory;
	unsigned long long peak, time, start;
	unsigned running, reserved[5];
};

struct process fake_processes[2][4];
unsigned fake_nprocesses[2];
struct sample fake_samples[2][4];
unsigned fake_nsamples[2];
struct account fake_account;
static char devices[2];
unsigned fake_account_pid, fake_accounting, fake_broken;

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	return fake_broken ? 9 : 0;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d)
{
	*d = &devices[i];
	return 0;
}

static size_t number(void *d)
{
	return (size_t)((char *)d - devices);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *p);
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *p)
{
	size_t i = number(d);
	*n = fake_nprocesses[i];
	memcpy(p, fake_processes[i], *n * sizeof(*p));
	return 0;
}

int nvmlDeviceGetProcessUtilization(void *d, struct sample *u, unsigned *n, unsigned long long since);
int nvmlDeviceGetProcessUtilization(void *d, struct sample *u, unsigned *n, unsigned long long since)
{
	size_t i = number(d);
	*n = 0;
	for (unsigned k = 0; k < fake_nsamples[i]; k++) {
		struct sample s = fake_samples[i][k];
		s.time += since; /* they are told relative to the last look */
		u[(*n)++] = s;
	}
	fake_nsamples[i] = 0;
	return *n ? 0 : 6; /* not found */
}

int nvmlDeviceGetAccountingMode(void *d, unsigned *mode);
int nvmlDeviceGetAccountingMode(void *d, unsigned *mode)
{
	(void)d;
	*mode = fake_accounting;
	return 0;
}

int nvmlDeviceGetAccountingStats(void *d, unsigned pid, struct account *a);
int nvmlDeviceGetAccountingStats(void *d, unsigned pid, struct account *a)
{
	if (pid != fake_account_pid || number(d) != 0)
		return 6;
	*a = fake_account;
	return 0;
}
