/* Where the log is: slots and their leases, rolling, refusals, and what a warm store sees of a run. */
#include "log_common.h"

#include "base/io.h"
#include "event/log_format.h"
#include "event/log_lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char probe_path[PATH_MAX];

static const char *base_of(const struct log_writer *w)
{
	return strrchr(log_writer_path(w), '/') + 1;
}

static void test_slots(void **state)
{
	(void)state;
	struct stat st;
	struct log_writer *a = lease("slots"), *b = lease("slots"), *c = lease("slots"), *other = lease("other");
	assert_string_equal(base_of(a), "0.stl");
	assert_string_equal(base_of(b), "1.stl");
	assert_string_equal(base_of(c), "2.stl");
	assert_string_equal(base_of(other), "0.stl");
	assert_true(log_writer_session(a) != log_writer_session(b));
	assert_int_equal(log_writer_close(other), 0);
	add(a, 1, 100);
	add(b, 1, 100);
	assert_int_equal(log_writer_close(b), 0);
	b = lease("slots");
	assert_string_equal(base_of(b), "1.stl");
	add(b, 1, 50);

	/* a process that inherited the writer keeps the lease */
	int go[2];
	assert_int_equal(pipe(go), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char x;
		close(go[1]);
		_exit(read(go[0], &x, 1) == 0 ? 0 : 1);
	}
	assert_int_equal(log_writer_close(a), 0);
	a = lease("slots");
	assert_string_equal(base_of(a), "3.stl");
	close(go[0]);
	close(go[1]);
	waitpid(pid, NULL, 0);
	assert_int_equal(log_writer_close(a), 0);
	a = lease("slots");
	assert_string_equal(base_of(a), "0.stl");

	assert_int_equal(stat(log_writer_path(a), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(in_dir("home/logs/h/slots"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(in_dir("home"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(log_writer_close(a), 0);
	assert_int_equal(log_writer_close(b), 0);
	assert_int_equal(log_writer_close(c), 0);
	assert_int_equal(log_writer_close(NULL), 0);

	struct tally t = {0};
	struct log_reader *r = reader_on(in_dir("home/logs/h/slots/1.stl"));
	read_all(r, &t);
	no_damage(r);
	assert_int_equal(t.events, 99 + 49);
	log_reader_close(r);
}

/* Other names of one home are one store. */
static void test_home_alias(void **state)
{
	(void)state;
	struct log_writer *a = lease("alias"), *b;
	struct err err = {0};
	assert_int_equal(symlink("home", in_dir("link")), 0);
	assert_int_equal(log_writer_open(in_dir("link"), "h", "alias", &err, &b), 0);
	assert_string_equal(base_of(b), "1.stl");
	assert_int_equal(log_writer_close(a), 0);
	assert_int_equal(log_writer_close(b), 0);
}

#define WRITERS 12

static _Noreturn void lease_often(void)
{
	for (int n = 0; n < 40; n++) {
		struct log_writer *w;
		struct err err = {0};
		if (log_writer_open(in_dir("home"), "h", "race", &err, &w) < 0)
			_exit(1);
		/* held alone: a lock of the segment itself, taken only here, says so */
		int fd = open(log_writer_path(w), O_RDONLY);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			_exit(2);
		sched_yield();
		close(fd);
		if (log_writer_close(w) < 0)
			_exit(3);
	}
	_exit(0);
}

/* Removes lock files that nobody holds, as old ones are removed, for ever. */
static _Noreturn void sweep_often(void)
{
	DIR *d = opendir(in_dir("run/stemma"));
	if (!d)
		_exit(1);
	for (;;) {
		struct dirent *e = readdir(d);
		if (!e) {
			rewinddir(d);
			continue;
		}
		int fd = openat(dirfd(d), e->d_name, O_RDWR);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
}

/* Many at once, each several times: never two on one slot, and no more slots than writers. */
static void test_slots_race(void **state)
{
	(void)state;
	pid_t pids[WRITERS], sweeper;
	int status;
	assert_int_equal(log_writer_close(lease("race")), 0);
	for (int sweep = 0; sweep < 2; sweep++) {
		sweeper = sweep ? fork() : -1;
		if (sweeper == 0)
			sweep_often();
		for (int i = 0; i < WRITERS; i++) {
			pids[i] = fork();
			if (pids[i] == 0)
				lease_often();
		}
		int failed = 0;
		for (int i = 0; i < WRITERS; i++) {
			waitpid(pids[i], &status, 0);
			failed |= status;
		}
		if (sweep) {
			kill(sweeper, SIGKILL);
			waitpid(sweeper, &status, 0);
			assert_true(WIFSIGNALED(status));
		}
		assert_int_equal(failed, 0);
		/* Who passes a slot by leaves one writer behind for good. A sweeper's lock looks like a writer's, and its next
		 * one may be met again further up: rarely, so there are by far not twice as many. */
		char path[64];
		snprintf(path, sizeof(path), "home/logs/h/race/%d.stl", sweep ? 2 * WRITERS : WRITERS);
		assert_int_equal(access(in_dir(path), F_OK), -1);
	}
}

static void test_roll(void **state)
{
	(void)state;
	log_writer_segment_max = 10000;
	struct log_writer *w = lease("roll");
	add(w, 1, 2001);
	assert_true(strcmp(base_of(w), "0.stl") != 0);
	assert_int_equal(log_writer_close(w), 0);
	struct tally t = {.max = 2001, .seen = calloc(1, 2001)};
	unsigned files, again;
	read_dir("roll", &t, &files);
	assert_true(files > 3);
	for (uint64_t i = 1; i <= 2000; i++)
		assert_int_equal(t.seen[i], 1);
	/* the next leases of the slot go on at the end */
	for (unsigned i = 0; i < 10; i++) {
		w = lease("roll");
		assert_true(access(rolled_path("roll", files + 1), F_OK) < 0);
		assert_true(strcmp(log_writer_path(w), rolled_path("roll", files)) == 0 ||
		            strcmp(log_writer_path(w), rolled_path("roll", files - 1)) == 0);
		add(w, 1, 2);
		assert_int_equal(log_writer_close(w), 0);
	}
	t = (struct tally){.seen = t.seen};
	read_dir("roll", &t, &again);
	assert_in_range(again, files, files + 1);
	assert_int_equal(t.events, 2000 + 10);
	free(t.seen);
	for (unsigned i = 0; i < again; i++) {
		struct stat st;
		assert_int_equal(stat(rolled_path("roll", i), &st), 0);
		assert_in_range(st.st_size, 1, 10000);
	}
	/* a frame larger than a segment is written all the same */
	w = lease("roll-large");
	struct event ev;
	event_of(1, 50000, &ev);
	assert_int_equal(log_writer_add(w, &ev), 1);
	event_of(2, 50000, &ev);
	assert_int_equal(log_writer_add(w, &ev), 2);
	assert_int_equal(log_writer_close(w), 0);
	t = (struct tally){0};
	read_dir("roll-large", &t, &files);
	assert_int_equal(t.events, 2);
	assert_int_equal(files, 2);
	log_writer_segment_max = LOG_SEGMENT_MAX;
}

/* What the user is told. */

static void check_refused(const char *home, const char *host, const char *day, int want, const char *part)
{
	struct log_writer *w = NULL;
	struct err err = {0};
	int r = log_writer_open(home, host, day, &err, &w);
	if (r != want || !strstr(err.text, part))
		fail_msg("%s %s %s: %d, %s", home, host, day, r, err.text);
	assert_null(w);
}

/* Without root's powers: a home without permission. */
static void unprivileged(void)
{
	if (geteuid() == 0) {
		assert_int_equal(chown(in_dir("locked"), 65534, 65534), 0);
		assert_int_equal(chown(in_dir("run2"), 65534, 65534), 0);
		assert_int_equal(setresgid(65534, 65534, 65534), 0);
		assert_int_equal(setresuid(65534, 65534, 65534), 0);
	}
	setenv("XDG_RUNTIME_DIR", in_dir("run2"), 1);
	struct err err = {0};
	struct log_writer *w;
	assert_int_equal(log_writer_open(in_dir("locked"), "h", "d", &err, &w), -EACCES);
	assert_non_null(strstr(err.text, "locked"));
	assert_non_null(strstr(err.text, "Permission denied"));
	assert_non_null(strstr(err.hint, "STEMMA_HOME"));
	/* writable once, so that the day is there; then nothing can be created any more, and nothing need be */
	assert_int_equal(chmod(in_dir("locked"), 0700), 0);
	assert_int_equal(log_writer_open(in_dir("locked"), "h", "d", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	assert_int_equal(chmod(in_dir("locked/logs/h/d"), 0500), 0);
	assert_int_equal(chmod(in_dir("locked/logs"), 0500), 0);
	assert_int_equal(chmod(in_dir("locked"), 0500), 0);
	assert_int_equal(log_writer_open(in_dir("locked"), "h", "d", &err, &w), 0);
	add(w, 1, 500);
	/* the segment itself */
	assert_int_equal(chmod(log_writer_path(w), 0400), 0);
	assert_int_equal(log_writer_close(w), 0);
	err_clear(&err);
	assert_int_equal(log_writer_open(in_dir("locked"), "h", "d", &err, &w), -EACCES);
	assert_non_null(strstr(err.text, "0.stl"));
	assert_int_equal(chmod(in_dir("locked"), 0700), 0);
	assert_int_equal(chmod(in_dir("locked/logs"), 0700), 0);
	assert_int_equal(chmod(in_dir("locked/logs/h/d"), 0700), 0);
}

static void test_refused(void **state)
{
	(void)state;
	spill(in_dir("file"), "x", 1);
	assert_int_equal(mkdir(in_dir("locked"), 0500), 0);
	assert_int_equal(mkdir(in_dir("run2"), 0700), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	in_child(unprivileged);
	assert_int_equal(chmod(dir, 0700), 0);
	check_refused(in_dir("file"), "h", "d", -ENOTDIR, "file");
	check_refused(in_dir("file/below"), "h", "d", -ENOTDIR, "below");
	check_refused(in_dir("home"), "h/x", "d", -EINVAL, "h/x");
	check_refused(in_dir("home"), "h", "..", -EINVAL, "..");
	check_refused(in_dir("home"), "", "d", -EINVAL, "host ''");
	/* what is not a segment where one should be */
	assert_int_equal(io_mkdirs(in_dir("home/logs/h/odd/0.stl"), 0700), 0);
	check_refused(in_dir("home"), "h", "odd", -EISDIR, "0.stl");
	assert_int_equal(rmdir(in_dir("home/logs/h/odd/0.stl")), 0);
	assert_int_equal(symlink("/dev/null", in_dir("home/logs/h/odd/0.stl")), 0);
	check_refused(in_dir("home"), "h", "odd", -ELOOP, "0.stl");
}

static void read_only(void)
{
	assert_null(own_mounts());
	assert_int_equal(mkdir(in_dir("ro"), 0700), 0);
	assert_int_equal(mount("tmpfs", in_dir("ro"), "tmpfs", 0, "size=1m"), 0);
	struct log_writer *w;
	struct err err = {0};
	assert_int_equal(log_writer_open(in_dir("ro"), "h", "d", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	assert_int_equal(mount("tmpfs", in_dir("ro"), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
	check_refused(in_dir("ro"), "h", "d", -EROFS, "Read-only");
	check_refused(in_dir("ro"), "h", "e", -EROFS, "Read-only");
	check_refused(in_dir("ro/sub"), "h", "d", -EROFS, "Read-only");
}

/* How many second places there are in /var/tmp, whosever. */
static int count_seconds(void)
{
	int n = 0;
	DIR *d = opendir("/var/tmp");
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strncmp(e->d_name, "stemma-", 7) == 0 && strchr(e->d_name, '.');
	closedir(d);
	return n;
}

/* What bears the name of our folder in /var/tmp is not used; two writers exclude each other all the same. */
static void check_elsewhere(const char *own)
{
	struct log_writer *a, *b;
	struct err err = {0};
	struct stat before, after;
	assert_int_equal(lstat(own, &before), 0);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "squatted", &err, &a), 0);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "squatted", &err, &b), 0);
	assert_string_equal(base_of(a), "0.stl");
	assert_string_equal(base_of(b), "1.stl");
	assert_int_equal(log_writer_close(a), 0);
	assert_int_equal(log_writer_close(b), 0);
	assert_int_equal(lstat(own, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void lock_dirs(void)
{
	char own[64];
	struct log_writer *w;
	struct err err = {0};
	snprintf(own, sizeof(own), "/var/tmp/stemma-%lu", (unsigned long)geteuid());
	assert_null(own_mounts());
	assert_int_equal(mount("tmpfs", "/var/tmp", "tmpfs", 0, "size=1m,mode=1777"), 0);
	/* a runtime directory that others can write is not used */
	assert_int_equal(mkdir(in_dir("open"), 0700), 0);
	assert_int_equal(chmod(in_dir("open"), 0777), 0);
	setenv("XDG_RUNTIME_DIR", in_dir("open"), 1);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(access(in_dir("open/stemma"), F_OK), -1);
	assert_int_equal(access(own, F_OK), 0);
	assert_int_equal(log_writer_close(w), 0);
	/* nor one that is not there, nor a relative one */
	setenv("XDG_RUNTIME_DIR", in_dir("nowhere"), 1);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	setenv("XDG_RUNTIME_DIR", ".", 1);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	/* lock files of days gone by are removed when a new one is made, fresh ones and other files stay */
	char path[PATH_MAX];
	const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
	snprintf(path, sizeof(path), "%s/locks/0123456789abcdef.0", own);
	spill(path, "", 0);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	/* ... once a day, for that is to look at all of them */
	char swept[PATH_MAX];
	snprintf(swept, sizeof(swept), "%s/locks/swept", own);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks-1", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(utimensat(AT_FDCWD, swept, old, 0), 0);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks-2", &err, &w), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(swept, F_OK), 0);
	assert_int_equal(log_writer_close(w), 0);
	/* taken by somebody else: a second place, always the same, with the same exclusion */
	assert_int_equal(rename(own, "/var/tmp/aside"), 0);
	assert_int_equal(symlink("aside", own), 0);
	check_elsewhere(own);
	assert_int_equal(access("/var/tmp/aside/locks/squatted", F_OK), -1);
	assert_int_equal(unlink(own), 0);
	assert_int_equal(symlink("/nowhere/at/all", own), 0);
	check_elsewhere(own);
	assert_int_equal(unlink(own), 0);
	spill(own, "", 0);
	check_elsewhere(own);
	assert_int_equal(unlink(own), 0);
	assert_int_equal(mkdir(own, 0700), 0);
	assert_int_equal(chown(own, 65534, 65534), 0);
	check_elsewhere(own);
	assert_int_equal(chown(own, geteuid(), getegid()), 0);
	assert_int_equal(chmod(own, 0770), 0);
	check_elsewhere(own);
	/* one that somebody else put where a second place would be is none */
	char second[PATH_MAX];
	snprintf(second, sizeof(second), "%s.AAAAAA", own);
	assert_int_equal(mkdir(second, 0700), 0);
	assert_int_equal(chown(second, 65534, 65534), 0);
	snprintf(path, sizeof(path), "%s.AAAAAB", own);
	assert_int_equal(symlink("aside", path), 0);
	check_elsewhere(own);
	assert_int_equal(count_seconds(), 3);
	/* who holds a slot there is met, also when the first place can be used again */
	int held[LOG_LEASE_PLACES];
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(chmod(own, 0700), 0);
	assert_int_equal(log_lease_hold(in_dir("home"), "h", "locks", 0, 0, held), -EWOULDBLOCK);
	assert_int_equal(log_writer_close(w), 0);
	assert_int_equal(log_lease_hold(in_dir("home"), "h", "locks", 0, 0, held), 0);
	for (int i = 0; i < LOG_LEASE_PLACES; i++)
		if (held[i] >= 0)
			close(held[i]);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
	/* a folder that others can write and that is not sticky: they could put their own in place of ours */
	assert_int_equal(mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m,mode=1777"), 0);
	assert_int_equal(mkdir("/tmp/home", 0700), 0);
	assert_int_equal(chmod("/var/tmp", 0777), 0);
	assert_int_equal(log_writer_open("/tmp/home", "h", "locks", &err, &w), 0);
	snprintf(own, sizeof(own), "/tmp/stemma-%lu", (unsigned long)geteuid());
	assert_int_equal(access(own, F_OK), 0);
	assert_int_equal(log_writer_close(w), 0);
	assert_int_equal(chmod("/tmp", 0777), 0);
	check_refused("/tmp/home", "h", "locks", -EPERM, "/var/tmp or /tmp");
}

static void test_mounted(void **state)
{
	(void)state;
	if (!can_mount("test_mounted"))
		skip();
	in_child(read_only);
	in_child(lock_dirs);
}

/* A run in a warm store creates, renames and removes nothing in it: strace watches a copy of this program. */

static int probe(const char *home)
{
	struct log_writer *w;
	struct event ev;
	if (log_writer_open(home, "h", "warm", NULL, &w) < 0)
		return 1;
	for (uint64_t i = 1; i < 1000; i++) {
		event_of(i, 0, &ev);
		if (log_writer_add(w, &ev) != i)
			return 1;
	}
	return log_writer_close(w) < 0;
}

static void test_warm(void **state)
{
	(void)state;
	char command[3 * PATH_MAX], line[2 * PATH_MAX];
	snprintf(command, sizeof(command), "strace -o /dev/null true 2>'%s'", in_dir("strace.err"));
	if (system(command) != 0) {
		print_message("# skipped: test_warm: strace is not there or may not trace\n");
		skip();
	}
	unsigned touched[2] = {0}, made[2] = {0};
	for (int warm = 0; warm < 2; warm++) {
		/* the leak checker does not work under ptrace */
		snprintf(command, sizeof(command), "ASAN_OPTIONS=detect_leaks=0 strace -f -o '%s' '%s' probe '%s' 2>'%s'",
		         in_dir("strace.out"), probe_path, in_dir("home"), in_dir("strace.err"));
		assert_int_equal(system(command), 0);
		FILE *f = fopen(in_dir("strace.out"), "r");
		assert_non_null(f);
		while (fgets(line, sizeof(line), f)) {
			/* by path, or by the day's descriptor */
			if (!strstr(line, in_dir("home")) && !strstr(line, ".stl\""))
				continue;
			touched[warm]++;
			made[warm] += strstr(line, "O_CREAT") || strstr(line, "mkdir") || strstr(line, "rename") ||
			              strstr(line, " link") || strstr(line, "symlink") || strstr(line, "O_TMPFILE") ||
			              strstr(line, "mknod");
		}
		fclose(f);
	}
	assert_true(made[0] > 0); /* cold: so they would be seen */
	assert_true(touched[1] > 0);
	assert_int_equal(made[1], 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "probe") == 0)
		return probe(argv[2]);
	if (readlink("/proc/self/exe", probe_path, sizeof(probe_path) - 1) < 0 || dir_make() != 0)
		return 1;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_slots), cmocka_unit_test(test_home_alias), cmocka_unit_test(test_slots_race),
	    cmocka_unit_test(test_roll),  cmocka_unit_test(test_refused),    cmocka_unit_test(test_mounted),
	    cmocka_unit_test(test_warm),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	dir_remove();
	return failed;
}
