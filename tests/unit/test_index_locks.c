/* The POSIX locks of an index that a process has open: nothing that the process does with the index gives them up, for
 * without them another process that closes the index takes away the write-ahead log that is being read. */
#include "history.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many locks this process has on the file, as the kernel lists them. */
static int locks_on(const char *path)
{
	char line[256], kind[16], of[64];
	unsigned long long inode;
	struct stat st;
	int n = 0, pid;
	assert_int_equal(stat(path, &st), 0);
	FILE *f = fopen("/proc/locks", "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %15s %*s %*s %d %63s", kind, &pid, of) == 3 && strcmp(kind, "POSIX") == 0 &&
		    pid == getpid() && strrchr(of, ':') && sscanf(strrchr(of, ':') + 1, "%llu", &inode) == 1 &&
		    inode == st.st_ino)
			n++;
	fclose(f);
	return n;
}

static void make_record(void)
{
	struct history h;
	history_begin(&h, "01AAAAAAAAAAAAAAAAAAAAAAAA", "sort in", 0);
	history_end(&h, history_process(&h, 0));
}

static void checking_all_pages_keeps_them(void **state)
{
	struct err err = {0};
	(void)state;
	make_record();
	struct store *s = history_store();
	int before = locks_on(store_index_path(s));
	if (before < 0)
		skip();
	assert_true(before > 0);
	assert_int_equal(store_check_pages(s, &err), 0);
	assert_int_equal(locks_on(store_index_path(s)), before);
}

static void a_second_connection_keeps_them(void **state)
{
	struct err err = {0};
	struct store *second = NULL;
	(void)state;
	make_record();
	struct store *s = history_store();
	int before = locks_on(store_index_path(s));
	if (before < 0)
		skip();
	assert_true(before > 0);
	assert_int_equal(store_open(history_home, STORE_WRITE, &err, &second), 0);
	assert_true(locks_on(store_index_path(s)) >= before);
	store_close(second);
	assert_true(locks_on(store_index_path(s)) >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(checking_all_pages_keeps_them, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(a_second_connection_keeps_them, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
