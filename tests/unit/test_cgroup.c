/* A control group of one's own: what is in it is counted, limited and killed, and what is left of one is taken away.
 * Where none can be made, that is the reason printed. */
#include "monitor/cgroup/cgroup.h"
#include "monitor/cgroup/cgroup_where.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1 << 20)

static struct cgroup *group;
static int *ready;

static int setup(void **state)
{
	static unsigned n;
	struct err err = {0};
	char name[64];
	(void)state;
	snprintf(name, sizeof(name), "test-%d-%u", getpid(), n++);
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	group = NULL;
	if (cgroup_make(name, CGROUP_ALL, &err, &group) < 0) {
		printf("no control group can be made: %s\n", err.text);
		assert_true(err.text[0]);
	}
	return ready == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	if (group) {
		cgroup_kill(group, 5000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		cgroup_remove(group);
		cgroup_close(group);
	}
	munmap(ready, 4096);
	return 0;
}

/* One task and no more: behind fork() the thread sanitizer starts a thread of its own, which the group would count. */
static pid_t fork_bare(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
}

/* A process inside that runs `body`. */
static pid_t inside(void (*body)(int arg), int arg)
{
	pid_t pid = fork_bare();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (cgroup_enter(group) < 0)
			_exit(99);
		body(arg);
		_exit(0);
	}
	return pid;
}

static void until(int n)
{
	for (int i = 0; i < 30000 && __atomic_load_n(ready, __ATOMIC_SEQ_CST) < n; i++)
		usleep(1000);
	assert_true(__atomic_load_n(ready, __ATOMIC_SEQ_CST) >= n);
}

static void linger(void)
{
	__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* Without the sanitizer's shadow of what is written, which is memory too. */
__attribute__((no_sanitize("thread"))) static void fill(int mib)
{
	char *p = mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; p != MAP_FAILED && i < (size_t)mib * MIB; i += 4096)
		p[i] = 1;
	linger();
}

static void family(int n)
{
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			setsid();
			signal(SIGTERM, SIG_IGN);
			linger();
		}
	linger();
}

static void forks(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork_bare();
		if (pid == 0) {
			for (;;)
				pause();
		}
		if (pid < 0) {
			*ready = errno == EAGAIN ? 1000 + i : -1;
			break;
		}
	}
	for (;;)
		pause();
}

/* Whether there is a group with these parts; else says why the test is skipped. */
static bool has_parts(const char *test, unsigned parts)
{
	if (group && cgroup_parts(group) & parts)
		return true;
	print_message("# skipped: %s: no cgroup can be made here that has what it needs\n", test);
	return false;
}

static void counted(void **state)
{
	(void)state;
	struct cgroup_usage u;
	if (!has_parts(__func__, CGROUP_MEMORY))
		skip();
	assert_true(cgroup_empty(group));
	inside(fill, 64);
	until(1);
	assert_false(cgroup_empty(group));
	cgroup_read(group, CGROUP_ALL, &u);
	/* The kernel keeps up to some pages a processor to itself. */
	assert_in_range(u.anonymous, 63 * MIB, 67 * MIB);
	assert_true(u.charged >= u.anonymous - 2 * MIB && u.charged_peak >= u.charged - 2 * MIB);
	assert_true(cgroup_charged(group) >= 63 * MIB);
	assert_int_equal(u.oom_kills, 0);
	if (cgroup_parts(group) & CGROUP_CPU)
		assert_true(u.cpu > 0);
	if (cgroup_parts(group) & CGROUP_TASKS)
		assert_int_equal(u.tasks, 1);
}

static void limited(void **state)
{
	(void)state;
	struct cgroup_usage u;
	struct err err = {0};
	int status;
	if (!has_parts(__func__, CGROUP_MEMORY))
		skip();
	assert_int_equal(cgroup_backstop(group, 32 * MIB, 0, -1, &err), 0);
	pid_t pid = inside(fill, 64);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cgroup_read(group, CGROUP_MEMORY, &u);
	assert_int_equal(u.oom_kills, 1);
	assert_in_range(u.charged_peak, 31 * MIB, 32 * MIB);
}

static void few_tasks(void **state)
{
	(void)state;
	struct cgroup_usage u;
	struct err err = {0};
	if (!has_parts(__func__, CGROUP_TASKS))
		skip();
	assert_int_equal(cgroup_backstop(group, -1, -1, 10, &err), 0);
	inside(forks, 100);
	until(1000);
	assert_int_equal(*ready, 1009); /* it, and nine children */
	cgroup_read(group, CGROUP_TASKS, &u);
	assert_int_equal(u.tasks, 10);
	assert_true(u.task_hits > 0);
}

static void killed(void **state)
{
	(void)state;
	pid_t *v;
	size_t n;
	int status;
	if (!has_parts(__func__, CGROUP_KILL))
		skip();
	pid_t pid = inside(family, 50);
	until(51);
	assert_int_equal(cgroup_pids(group, &v, &n), 0);
	assert_int_equal(n, 51);
	free(v);
	assert_int_equal(cgroup_remove(group), -EBUSY);
	assert_int_equal(cgroup_kill(group, 20000), 0);
	assert_true(cgroup_empty(group));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(cgroup_remove(group), 0);
	assert_int_equal(cgroup_remove(group), 0); /* and again */
}

/* What nobody has open is taken away by whoever makes the next; what somebody has is not. */
static void swept(void **state)
{
	(void)state;
	struct cgroup_where where[CGROUP_PLACES];
	struct cgroup *other;
	struct err err = {0};
	char path[4200] = "";
	if (!has_parts(__func__, CGROUP_MEMORY))
		skip();
	assert_int_equal(cgroup_make("test-left", CGROUP_MEMORY, &err, &other), 0);
	assert_int_equal(cgroup_where(where), 0);
	for (int i = 0; i < CGROUP_PLACES && !*path; i++) {
		if (where[i].dir)
			snprintf(path, sizeof(path), "%s/stemma-test-left", where[i].dir);
		if (*path && access(path, F_OK) < 0)
			*path = '\0';
	}
	cgroup_where_release(where);
	assert_true(*path);
	unsigned parts;
	assert_int_equal(cgroup_probe(&err, &parts), 0);
	assert_int_equal(access(path, F_OK), 0);
	cgroup_close(other);
	assert_int_equal(cgroup_probe(&err, &parts), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void batch_systems(void **state)
{
	(void)state;
	assert_string_equal(cgroup_batch("/slurm/uid_0/job_1/step_0"), "slurm");
	assert_string_equal(cgroup_batch("/system.slice/slurmstepd.scope/job_1"), "slurm");
	assert_string_equal(cgroup_batch("/htcondor/condor_1"), "htcondor");
	assert_string_equal(cgroup_batch("/pbs_jobs.service/jobid/1.a"), "pbs");
	assert_null(cgroup_batch("/"));
	assert_null(cgroup_batch("/user.slice/user-0.slice/session-1.scope"));
	assert_null(cgroup_batch("/home/sgerlach/oarlock"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(counted, setup, teardown),
	    cmocka_unit_test_setup_teardown(limited, setup, teardown),
	    cmocka_unit_test_setup_teardown(few_tasks, setup, teardown),
	    cmocka_unit_test_setup_teardown(killed, setup, teardown),
	    cmocka_unit_test_setup_teardown(swept, setup, teardown),
	    cmocka_unit_test(batch_systems),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
