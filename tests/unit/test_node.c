/* test_node.c - rules for programs that are passed through, and overload control, against what doc/node.md says. */
#include "node/load.h"
#include "node/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ARGV(text) str_n(text, sizeof(text) - 1)

static enum rule_class class(const char *path, struct str argv) { return rules_class(NULL, str_of(path), argv, false); }

static void shells(void **state)
{
	(void)state;
	assert_int_equal(class("/bin/bash", ARGV("-bash\0")), RULE_told);
	assert_int_equal(class("/bin/bash", ARGV("bash\0-il\0")), RULE_told);
	assert_int_equal(class("/bin/bash", ARGV("bash\0--norc\0--login\0")), RULE_told);
	assert_int_equal(class("/bin/bash", ARGV("bash\0--rcfile\0-l\0")), RULE_pass);
	assert_int_equal(class("/bin/bash", ARGV("bash\0-l\0job.sh\0")), RULE_none);
	assert_int_equal(class("/bin/bash", ARGV("bash\0")), RULE_pass);
	assert_int_equal(class("/bin/bash", ARGV("bash\0--norc\0-i\0")), RULE_pass);
	assert_int_equal(class("/bin/bash", ARGV("bash\0-o\0pipefail\0")), RULE_pass);
	assert_int_equal(class("/bin/bash", ARGV("bash\0-c\0make\0")), RULE_none);
	assert_int_equal(class("/bin/bash", ARGV("bash\0-ec\0make\0")), RULE_none);
	assert_int_equal(class("/bin/bash", ARGV("bash\0job.sh\0")), RULE_none);
	assert_int_equal(class("/bin/bash", ARGV("bash\0-e\0job.sh\0")), RULE_none);
	assert_int_equal(class("/usr/bin/dash", ARGV("/bin/sh\0./run\0")), RULE_none);
	assert_int_equal(class("/usr/bin/busybox", ARGV("-sh\0")), RULE_told);
}

static void launchers(void **state)
{
	(void)state;
	assert_int_equal(class("/usr/sbin/sshd", ARGV("sshd: me@pts/1\0")), RULE_pass);
	assert_int_equal(class("/usr/lib/systemd/systemd", ARGV("/sbin/init\0")), RULE_pass);
	assert_int_equal(class("/opt/mpich/bin/hydra_pmi_proxy", ARGV("x\0")), RULE_pass);
	assert_int_equal(class("/usr/bin/prted", ARGV("x\0")), RULE_pass);
	assert_int_equal(class("/usr/sbin/slurmstepd", ARGV("slurmstepd: [77.batch]\0")), RULE_job);
	assert_int_equal(class("/usr/bin/sort", ARGV("sort\0")), RULE_none);
	assert_int_equal(class("/usr/bin/initdb", ARGV("initdb\0")), RULE_none);
	assert_int_equal(class("/usr/bin/srun", ARGV("srun\0./fit\0")), RULE_told);
	/* A job's script passes, an ordinary one does not; the program that a job starts is what is meant. */
	assert_int_equal(rules_class(NULL, str_of("/bin/bash"), ARGV("bash\0slurm_script\0"), true), RULE_told);
	assert_int_equal(rules_class(NULL, str_of("/home/me/a.out"), ARGV("a.out\0"), true), RULE_none);
	assert_int_equal(class("", ARGV("")), RULE_none);
}

static void rows(void **state)
{
	struct rules *r = rules_new();
	struct err err = {0};
	(void)state;
	assert_non_null(r);
	assert_int_equal(rules_add(r, "pass mylauncher*", &err), 0);
	assert_int_equal(rules_add(r, "keep sudo", &err), 0);
	assert_int_equal(rules_add(r, "told farm", &err), 0);
	assert_int_equal(rules_class(r, str_of("/x/farm"), ARGV("a\0"), false), RULE_told);
	assert_true(rules_add(r, "past x", &err) < 0);
	assert_true(rules_add(r, "pass ", &err) < 0);
	assert_true(rules_add(r, "pass *", &err) < 0);
	assert_int_equal(rules_class(r, str_of("/x/mylauncher-2"), ARGV("a\0"), false), RULE_pass);
	assert_int_equal(rules_class(r, str_of("/usr/bin/sudo"), ARGV("sudo\0"), false), RULE_none);
	assert_int_equal(rules_class(r, str_of("/usr/bin/su"), ARGV("su\0"), false), RULE_pass);
	rules_free(r);
	rules_free(NULL);
}

/* ---- overload ---- */

static unsigned steps(struct load *l, struct load_rates now, unsigned seconds)
{
	unsigned n = 0;
	const char *why;
	while (seconds--)
		n += load_tick(l, &now, &why);
	return n;
}

static void overload(void **state)
{
	struct load l = {.limit = {.events = 1000, .calls = 5000, .cpu = 0.02}};
	(void)state;
	/* A burst is no load. */
	assert_int_equal(steps(&l, (struct load_rates){.events = 9000}, LOAD_UP - 1), 0);
	assert_int_equal(steps(&l, (struct load_rates){.events = 10}, 1), 0);
	assert_int_equal(steps(&l, (struct load_rates){.events = 9000}, LOAD_UP - 1), 0);
	assert_int_equal(l.step, LOAD_ACCESS);
	/* Reads and writes cost nothing once they are not looked at: one step, and no more. */
	assert_int_equal(steps(&l, (struct load_rates){.calls = 6000}, 20), 1);
	assert_int_equal(l.step, LOAD_OPEN);
	/* At most of the limit it stays: it would swing. */
	assert_int_equal(steps(&l, (struct load_rates){.events = 700}, 100), 0);
	assert_int_equal(steps(&l, (struct load_rates){.events = 2000}, 100), 1);
	assert_int_equal(l.step, LOAD_PROCESSES);
	/* Back, one at a time. */
	assert_int_equal(steps(&l, (struct load_rates){.events = 10}, LOAD_DOWN), 1);
	assert_int_equal(l.step, LOAD_OPEN);
	assert_int_equal(steps(&l, (struct load_rates){.events = 10}, LOAD_DOWN - 1), 0);
	assert_int_equal(steps(&l, (struct load_rates){.events = 10}, 100), 1);
	assert_int_equal(l.step, LOAD_ACCESS);
	/* The daemon's own cost counts as any. */
	assert_int_equal(steps(&l, (struct load_rates){.cpu = 0.05}, LOAD_UP), 1);
	assert_string_equal(load_step_name(l.step), "open");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shells),
	    cmocka_unit_test(launchers),
	    cmocka_unit_test(rows),
	    cmocka_unit_test(overload),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
