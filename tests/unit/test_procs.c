/* The table of processes against a plain array: random comings and goings, with pids that fall on the same places. */
#include "capture/node_tracer/procs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PIDS 4000

static void count(void *arg, struct proc *proc)
{
	size_t *n = arg;
	assert_true(proc->pid > 0);
	(*n)++;
}

static void test_random(void **state)
{
	static struct proc *there[PIDS];
	struct procs *p;
	size_t n = 0, seen = 0;
	uint32_t x = 12345;
	(void)state;
	assert_int_equal(procs_new(&p), 0);
	for (int i = 0; i < 200000; i++) {
		x = x * 1103515245u + 12345u;
		unsigned k = (x >> 8) % PIDS;
		pid_t pid = (pid_t)(1 + k * (k % 3 ? 1 : 1024)); /* the multiples collide */
		k = 0;
		/* the index of a pid is its first */
		for (unsigned j = 0; j < PIDS; j++)
			if ((pid_t)(1 + j * (j % 3 ? 1 : 1024)) == pid) {
				k = j;
				break;
			}
		if (there[k])
			assert_ptr_equal(procs_find(p, pid), there[k]);
		else
			assert_null(procs_find(p, pid));
		if (!there[k] && (x & 0x80)) {
			there[k] = procs_add(p, pid);
			assert_non_null(there[k]);
			there[k]->start = (uint64_t)pid;
			n++;
		} else if (there[k]) {
			assert_int_equal(there[k]->start, pid);
			procs_remove(p, pid);
			there[k] = NULL;
			n--;
		}
		assert_int_equal(procs_count(p), n);
		if (i > 3000 && i % 1000)
			i += 20; /* the search above is what takes time */
	}
	procs_each(p, count, &seen);
	assert_int_equal(seen, n);
	procs_remove(p, 99999999);
	procs_free(p);
}

static void test_bounded(void **state)
{
	struct procs *p;
	size_t n = 0;
	(void)state;
	assert_int_equal(procs_new(&p), 0);
	for (pid_t pid = 1; pid <= 200000; pid++)
		n += procs_add(p, pid) != NULL;
	assert_int_equal(n, 131072);
	assert_int_equal(procs_count(p), n);
	assert_non_null(procs_find(p, 131072));
	assert_null(procs_find(p, 131073));
	procs_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
