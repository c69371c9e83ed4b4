/* What is told of GPUs, by a library that tells what the test sets (fake_nvml.c): argument 1 of the program. */
#include "monitor/gpu.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *library;

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

/* The task's are 100 to 199. */
static bool ours(void *arg, pid_t pid)
{
	(void)arg;
	return pid >= 100 && pid < 200;
}

static void *var(const char *name)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(lib);
	void *at = dlsym(lib, name); /* stays loaded: it is the same library for gpu.c */
	assert_non_null(at);
	return at;
}

static void wait_up(struct gpu *g)
{
	struct gpu_figures f;
	for (int i = 0; i < 500; i++) {
		gpu_last(g, &f);
		if (!f.absent)
			return;
		usleep(10000);
	}
	fail_msg("the library did not come up: %s", f.absent);
}

static void memory_and_time(void **state)
{
	(void)state;
	struct process(*p)[4] = var("fake_processes");
	unsigned *n = var("fake_nprocesses"), *nsamples = var("fake_nsamples");
	struct sample(*u)[4] = var("fake_samples");
	*(unsigned *)var("fake_accounting") = 0;
	n[0] = n[1] = 0;
	struct gpu *g = gpu_new(library, ours, NULL);
	assert_non_null(g);
	wait_up(g);
	struct gpu_figures f;
	gpu_last(g, &f);
	assert_int_equal(f.devices, 0);
	assert_int_equal(f.memory_peak, 0);
	assert_false(f.accounts);
	/* Two of ours on two devices, and a stranger. */
	p[0][0] = (struct process){.pid = 101, .memory = 300};
	p[0][1] = (struct process){.pid = 7, .memory = 5000};
	p[1][0] = (struct process){.pid = 102, .memory = 50};
	n[0] = 2;
	n[1] = 1;
	u[0][0] = (struct sample){.pid = 101, .time = 200000, .sm = 50};
	u[0][1] = (struct sample){.pid = 7, .time = 200000, .sm = 100};
	u[0][2] = (struct sample){.pid = 101, .time = 300000, .sm = 100};
	nsamples[0] = 3;
	gpu_last(g, &f);
	assert_int_equal(f.devices, 2);
	assert_int_equal(f.memory_peak, 350);
	assert_true(f.busy_known);
	assert_int_equal(f.busy, 200000000);
	/* Less now: the peak stays. */
	p[0][0].memory = 10;
	n[1] = 0;
	gpu_last(g, &f);
	assert_int_equal(gpu_memory(g), 10);
	assert_int_equal(f.memory_peak, 350);
	assert_int_equal(f.busy, 200000000);
	assert_false(f.untold);
	/* Memory that the driver does not tell adds nothing, and that is said. */
	p[0][0].memory = UINT64_MAX;
	gpu_last(g, &f);
	assert_int_equal(f.memory_peak, 350);
	assert_true(f.untold);
	gpu_free(g);
}

static void accounts(void **state)
{
	(void)state;
	struct process(*p)[4] = var("fake_processes");
	unsigned *n = var("fake_nprocesses");
	n[0] = n[1] = 0;
	*(unsigned *)var("fake_accounting") = 1;
	*(unsigned *)var("fake_account_pid") = 150;
	*(struct account *)var("fake_account") = (struct account){.gpu = 40, .peak = 900, .time = 2000};
	struct gpu *g = gpu_new(library, ours, NULL);
	assert_non_null(g);
	wait_up(g);
	struct gpu_figures f;
	p[0][0] = (struct process){.pid = 150, .memory = 100};
	n[0] = 1;
	gpu_last(g, &f);
	n[0] = 0; /* it is over */
	gpu_last(g, &f);
	assert_true(f.accounts);
	assert_int_equal(f.memory_peak, 900);
	assert_int_equal(f.busy, 800000000);
	gpu_free(g);
}

static void wait_absent(struct gpu *g, const char *why)
{
	struct gpu_figures f;
	for (int i = 0; i < 500; i++) {
		gpu_last(g, &f);
		if (f.absent && !strcmp(f.absent, why))
			return;
		usleep(10000);
	}
	fail_msg("it says: %s", f.absent ? f.absent : "all is well");
}

static void absent(void **state)
{
	(void)state;
	*(unsigned *)var("fake_broken") = 1;
	struct gpu *g = gpu_new(library, ours, NULL);
	wait_absent(g, "NVIDIA's driver does not answer");
	gpu_free(g);
	*(unsigned *)var("fake_broken") = 0;
	g = gpu_new("libno-such-library.so.1", ours, NULL);
	wait_absent(g, "NVIDIA's management library is not installed");
	gpu_free(g);
	gpu_free(NULL);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	library = argv[1];
	const struct CMUnitTest tests[] = {cmocka_unit_test(memory_and_time), cmocka_unit_test(accounts),
	                                   cmocka_unit_test(absent)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
