#include "monitor/gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES 64
#define PROCESSES 128 /* of the task, on one device */
#define ROOM 1024     /* what one call may tell of */
#define LOOK_MS 500

/* As nvml.h has them (its stable interface; version 11 and later). */
typedef void *nvml_device;
enum { NVML_SUCCESS = 0, NVML_ENABLED = 1 };
struct nvml_process {
	unsigned pid;
	unsigned long long memory; /* UINT64_MAX: not known */
	unsigned gpu_instance, compute_instance;
};
struct nvml_utilization {
	unsigned pid;
	unsigned long long time;               /* us since 1970 */
	unsigned sm, memory, encoder, decoder; /* percent */
};
struct nvml_account {
	unsigned gpu, memory;                 /* percent */
	unsigned long long peak, time, start; /* bytes, ms, us */
	unsigned running, reserved[5];
};

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *n);
	int (*handle)(unsigned i, nvml_device *d);
	int (*compute)(nvml_device d, unsigned *n, struct nvml_process *p);
	int (*graphics)(nvml_device d, unsigned *n, struct nvml_process *p);
	int (*utilization)(nvml_device d, struct nvml_utilization *u, unsigned *n, unsigned long long since);
	int (*accounting)(nvml_device d, unsigned *mode);
	int (*account)(nvml_device d, unsigned pid, struct nvml_account *a);
};

struct tenant {
	pid_t pid;
	uint64_t peak;      /* bytes */
	uint64_t busy;      /* ns, from samples */
	uint64_t sampled;   /* us: the last sample's time */
	bool here, settled; /* at the last look; its account has been read */
	uint64_t memory;
};

struct device {
	nvml_device handle;
	bool used, accounts;
	unsigned long long since;
	struct tenant tenant[PROCESSES];
	size_t n;
};

struct gpu {
	char *library;
	bool (*ours)(void *arg, pid_t pid);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool up, stop, over;
	const char *absent;
	void *lib;
	struct nvml nvml;
	struct device *device;
	unsigned n;
	bool busy_known, untold;
	int64_t now; /* -1: nobody has looked */
	uint64_t peak;
};

bool gpu_here(const char **ret_why)
{
	static const char first[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO: the machine's own numbers */
	char space[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
	*ret_why = "there is no NVIDIA driver";
	if (access("/dev/nvidiactl", F_OK) < 0 && access("/proc/driver/nvidia/version", F_OK) < 0)
		return false;
	*ret_why = "the driver reports process ids of the host, not of this container";
	return n < 0 || strcmp(space, first) == 0;
}

/* ---- one look; the caller holds the lock ---- */

/* What is known of a process's use of a device. NULL: there are as many as the device has room for. */
static struct tenant *tenant_of(struct device *d, pid_t pid)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->tenant[i].pid == pid)
			return &d->tenant[i];
	if (d->n == PROCESSES)
		return NULL;
	d->tenant[d->n] = (struct tenant){.pid = pid};
	return &d->tenant[d->n++];
}

/* Samples which processes use a device, and its memory. list: NULL: this driver has none. Memory that the driver
 * does not tell counts as 0 (g->untold). */
static void sample_device_processes(struct gpu *g, struct device *d,
                                    int (*list)(nvml_device, unsigned *, struct nvml_process *))
{
	static struct nvml_process p[ROOM]; /* one thread, under the lock */
	unsigned n = ROOM;
	if (!list || list(d->handle, &n, p) != NVML_SUCCESS)
		return;
	for (unsigned i = 0; i < n && i < ROOM; i++) {
		if (!g->ours(g->arg, (pid_t)p[i].pid))
			continue;
		struct tenant *t = tenant_of(d, (pid_t)p[i].pid);
		d->used = true;
		if (!t)
			continue;
		g->untold |= p[i].memory == UINT64_MAX;
		uint64_t memory = p[i].memory == UINT64_MAX ? 0 : p[i].memory;
		if (!t->here || memory > t->memory)
			t->memory = memory; /* of several contexts the driver tells one sum */
		t->here = true;
		t->settled = false;
		if (memory > t->peak)
			t->peak = memory;
	}
}

/* The driver's samples, each of the time since the one before. */
static void look_busy(struct gpu *g, struct device *d)
{
	static struct nvml_utilization u[ROOM];
	unsigned n = ROOM;
	unsigned long long last = d->since;
	if (!g->nvml.utilization || g->nvml.utilization(d->handle, u, &n, d->since) != NVML_SUCCESS)
		return;
	g->busy_known = true;
	for (unsigned i = 0; i < n && i < ROOM; i++) {
		struct tenant *t = NULL;
		if (u[i].time > last)
			last = u[i].time;
		if (u[i].time <= d->since || !g->ours(g->arg, (pid_t)u[i].pid) || !(t = tenant_of(d, (pid_t)u[i].pid)))
			continue;
		uint64_t from = t->sampled > d->since ? t->sampled : d->since;
		unsigned percent = u[i].sm > 100 ? 100 : u[i].sm;
		if (u[i].time > from && from)
			t->busy += (u[i].time - from) * 10 * percent; /* us x percent = 10 ns */
		t->sampled = u[i].time;
		d->used |= percent > 0;
	}
	d->since = last;
}

/* Reads what processes have used of a device. Of those that are gone, what the driver's accounts say. */
static void read_ended_accounts(struct gpu *g, struct device *d, bool all)
{
	for (size_t i = 0; i < d->n; i++) {
		struct tenant *t = &d->tenant[i];
		struct nvml_account a = {0};
		if (t->settled || (t->here && !all) || !d->accounts || !g->nvml.account ||
		    g->nvml.account(d->handle, (unsigned)t->pid, &a) != NVML_SUCCESS)
			continue;
		t->settled = !t->here;
		if (a.peak != UINT64_MAX && a.peak > t->peak)
			t->peak = a.peak;
		uint64_t busy = a.gpu <= 100 ? a.time * 10000u * a.gpu : 0; /* ms x percent = 10 us */
		if (busy > t->busy) {
			t->busy = busy;
			g->busy_known = true;
		}
	}
}

/* Call with g->lock. last: accounts of those that still run count, too. */
static void sample_devices(struct gpu *g, bool last)
{
	uint64_t now = 0, ended = 0;
	for (unsigned i = 0; i < g->n; i++) {
		struct device *d = &g->device[i];
		for (size_t k = 0; k < d->n; k++)
			d->tenant[k].here = false;
		sample_device_processes(g, d, g->nvml.compute);
		sample_device_processes(g, d, g->nvml.graphics);
		look_busy(g, d);
		read_ended_accounts(g, d, last);
		for (size_t k = 0; k < d->n; k++) {
			now += d->tenant[k].here ? d->tenant[k].memory : 0;
			ended = d->tenant[k].peak > ended ? d->tenant[k].peak : ended;
		}
	}
	__atomic_store_n(&g->now, (int64_t)now, __ATOMIC_RELAXED);
	if (now > g->peak)
		g->peak = now;
	if (ended > g->peak) /* one process alone had as much */
		g->peak = ended;
}

/* ---- the thread ---- */

/* Loads NVIDIA's library. NULL, or why it cannot be used. */
static const char *load_nvml(struct gpu *g)
{
	g->lib = dlopen(g->library, RTLD_NOW | RTLD_LOCAL);
	if (!g->lib)
		return "NVIDIA's management library is not installed";
	struct nvml *v = &g->nvml;
	/* A function pointer from dlsym, by way of memory, as POSIX has it. */
	*(void **)&v->init = dlsym(g->lib, "nvmlInit_v2");
	*(void **)&v->shutdown = dlsym(g->lib, "nvmlShutdown");
	*(void **)&v->count = dlsym(g->lib, "nvmlDeviceGetCount_v2");
	*(void **)&v->handle = dlsym(g->lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&v->compute = dlsym(g->lib, "nvmlDeviceGetComputeRunningProcesses_v3");
	*(void **)&v->graphics = dlsym(g->lib, "nvmlDeviceGetGraphicsRunningProcesses_v3");
	*(void **)&v->utilization = dlsym(g->lib, "nvmlDeviceGetProcessUtilization");
	*(void **)&v->accounting = dlsym(g->lib, "nvmlDeviceGetAccountingMode");
	*(void **)&v->account = dlsym(g->lib, "nvmlDeviceGetAccountingStats");
	if (!v->init || !v->count || !v->handle || !v->compute)
		return "NVIDIA's management library is too old";
	if (v->init() != NVML_SUCCESS)
		return "NVIDIA's driver does not answer";
	return NULL;
}

/* Finds the devices of this machine. NULL, or why there are none. DEVICES at most. */
static const char *meet_devices(struct gpu *g)
{
	unsigned n = 0;
	if (g->nvml.count(&n) != NVML_SUCCESS || n == 0)
		return "there is no NVIDIA GPU";
	n = n > DEVICES ? DEVICES : n;
	g->device = calloc(n, sizeof(*g->device));
	if (!g->device)
		return "no memory";
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	for (unsigned i = 0; i < n; i++) {
		unsigned mode = 0;
		struct device *d = &g->device[g->n];
		if (g->nvml.handle(i, &d->handle) != NVML_SUCCESS)
			continue;
		d->since = (unsigned long long)ts.tv_sec * 1000000u + (unsigned long long)ts.tv_nsec / 1000;
		d->accounts =
		    g->nvml.accounting && g->nvml.accounting(d->handle, &mode) == NVML_SUCCESS && mode == NVML_ENABLED;
		g->n++;
	}
	return g->n ? NULL : "no permission to query NVIDIA's GPUs";
}

/* The thread: loads the library, then samples each LOOK_MS until g->stop. */
static void *sample_until_stopped(void *arg)
{
	struct gpu *g = arg;
	const char *why = load_nvml(g);
	pthread_mutex_lock(&g->lock);
	if (!why)
		why = meet_devices(g);
	g->absent = why;
	g->up = !why;
	while (g->up && !g->stop) {
		struct timespec until;
		sample_devices(g, false);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&g->wake, &g->lock, &until);
	}
	g->over = true;
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

struct gpu *gpu_new(const char *library, bool (*ours)(void *arg, pid_t pid), void *arg)
{
	struct gpu *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->ours = ours;
	g->arg = arg;
	g->now = -1;
	g->absent = "the command was too short: NVIDIA's library was still starting";
	g->library = strdup(library);
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->wake, NULL);
	if (!g->library || pthread_create(&g->thread, NULL, sample_until_stopped, g) != 0) {
		free(g->library);
		free(g);
		return NULL;
	}
	return g;
}

int64_t gpu_memory(struct gpu *g)
{
	return __atomic_load_n(&g->now, __ATOMIC_RELAXED); /* the caller may hold what `ours` takes */
}

void gpu_last(struct gpu *g, struct gpu_figures *ret)
{
	*ret = (struct gpu_figures){.accounts = true};
	pthread_mutex_lock(&g->lock);
	if (g->up)
		sample_devices(g, true);
	ret->absent = g->up ? NULL : g->absent;
	ret->memory_peak = g->peak;
	ret->busy_known = g->busy_known;
	ret->untold = g->untold;
	for (unsigned i = 0; i < g->n; i++) {
		const struct device *d = &g->device[i];
		ret->devices += d->used;
		ret->accounts &= d->accounts;
		for (size_t k = 0; k < d->n; k++)
			ret->busy += d->tenant[k].busy;
	}
	pthread_mutex_unlock(&g->lock);
}

void gpu_free(struct gpu *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->stop = true;
	bool up = g->up || g->over;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	if (!up) {
		pthread_detach(g->thread); /* it may be in the driver for long */
		return;
	}
	pthread_join(g->thread, NULL);
	if (g->up && g->nvml.shutdown)
		g->nvml.shutdown();
	if (g->lib)
		dlclose(g->lib);
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->wake);
	free(g->device);
	free(g->library);
	free(g);
}
