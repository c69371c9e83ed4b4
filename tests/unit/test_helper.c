/* The daemon's helper: what it answers is what this process sees for itself; what makes no sense is refused. */
#include "capture/node_tracer/helper_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct helper *make(bool process)
{
	struct helper *h = NULL;
	struct err err = {0};
	assert_int_equal(process ? helper_start(&err, &h) : helper_direct(&h), 0);
	return h;
}

static uint64_t dev_of(const char *path)
{
	struct statx st;
	assert_int_equal(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &st), 0);
	return fileid_dev(&st);
}

static void looks(bool process)
{
	struct helper *h = make(process);
	char path[PATH_MAX], own[PATH_MAX];
	struct fileid id, mine;
	int r, fd;
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	assert_true(n > 0);
	own[n] = '\0';
	assert_int_equal(helper_link(h, getpid(), HELPER_EXE, 0, path, &r, &id), n);
	assert_string_equal(path, own);
	assert_int_equal(r, 0);
	assert_int_equal(fileid_get(AT_FDCWD, own, true, &mine), 0);
	assert_true(id.ino == mine.ino && id.gen == mine.gen && id.domain == mine.domain);
	assert_true(id.st.stx_size == mine.st.stx_size);
	assert_int_equal(helper_link(h, getpid(), HELPER_CWD, 0, path, NULL, NULL), strlen(getcwd(own, sizeof(own))));
	assert_string_equal(path, own);
	assert_int_equal(helper_open(h, getpid(), HELPER_STAT, &fd), 0);
	n = read(fd, path, sizeof(path) - 1);
	assert_true(n > 0);
	assert_int_equal(atoi(path), getpid());
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(helper_open(h, getpid(), HELPER_STATM, &fd), 0);
	n = read(fd, path, sizeof(path) - 1);
	assert_true(n > 0);
	assert_true(atoll(path) > 0); /* pages in all */
	close(fd);
	assert_int_equal(helper_find(h, "/proc/self/../../usr/./bin/..", path, &id), 0);
	assert_int_equal(fileid_get(AT_FDCWD, "/usr", true, &mine), 0);
	assert_string_equal(path, "/usr");
	assert_true(id.ino == mine.ino && id.gen == mine.gen);
	assert_int_equal(helper_find(h, "/no/such", path, &id), -ENOENT);
	int32_t pids[HELPER_PIDS];
	bool more = true, me = false;
	for (bool first = true; more; first = false) {
		int k = helper_pids(h, first, pids, &more);
		assert_in_range(k, 0, HELPER_PIDS);
		for (int i = 0; i < k; i++)
			me |= pids[i] == getpid();
	}
	assert_true(me);
	assert_false(helper_gone(h));
	helper_close(h);
}

static void test_looks(void **state)
{
	(void)state;
	looks(false);
	looks(true);
}

static void test_handles(void **state)
{
	(void)state;
	struct helper *h = make(true);
	char name[] = "/tmp/stemma-helper.XXXXXX", path[PATH_MAX], moved[64];
	struct helper_place place;
	struct helper_handle of[2] = {{0}};
	struct helper_state got[2];
	struct stat st;
	int fd = mkstemp(name), mount;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "four", 4), 4);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(helper_look(h, "/tmp", dev_of("/tmp") + 1, false, &place), -ENODEV);
	assert_int_equal(helper_look(h, name, dev_of("/tmp"), false, &place), -ENODEV);
	assert_int_equal(helper_look(h, "/tmp", dev_of("/tmp"), false, &place), 0);
	assert_true(place.dev == dev_of("/tmp") && place.slot < HELPER_PLACES);
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	if (name_to_handle_at(AT_FDCWD, name, &u.h, &mount, 0) < 0 || getuid() != 0) {
		unlink(name);
		close(fd);
		helper_close(h);
		print_message("# skipped: test_handles: handles are opened by root alone, on file systems that have them\n");
		skip();
	}
	of[0] = (struct helper_handle){.slot = place.slot, .bytes = u.h.handle_bytes, .type = u.h.handle_type};
	memcpy(of[0].p, u.h.f_handle, u.h.handle_bytes);
	of[1] = of[0];
	of[1].slot = (place.slot + 1) % HELPER_PLACES;
	assert_int_equal(helper_states(h, of, 2, got), 0);
	assert_int_equal(got[0].r, 0);
	assert_true(got[0].ino == st.st_ino && got[0].size == 4 && got[0].mode == st.st_mode);
	assert_true(got[0].mtime == st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec);
	assert_int_equal(got[1].r, -EPROTO); /* a file system that was not looked at */
	assert_int_equal(helper_handle_path(h, of, path), 0);
	assert_string_equal(path, name);
	snprintf(moved, sizeof(moved), "%s.moved", name);
	assert_int_equal(rename(name, moved), 0);
	assert_int_equal(helper_handle_path(h, of, path), 0);
	assert_string_equal(path, moved);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(helper_handle_path(h, of, path), -ESTALE); /* open still, but without a name */
	close(fd);
	helper_forget(h, place.slot);
	assert_int_equal(helper_states(h, of, 1, got), 0);
	assert_int_equal(got[0].r, -EPROTO);
	helper_close(h);
}

static void test_keeps_little(void **state)
{
	(void)state;
	int held = open("/dev/null", O_RDONLY); /* without FD_CLOEXEC */
	struct helper *h = make(true);
	char path[64], line[256];
	int fd;
	assert_int_equal(helper_open(h, getpid(), HELPER_STAT, &fd), 0); /* it is past its start */
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/status", helper_pid(h));
	FILE *f = fopen(path, "re");
	unsigned long long effective = ~0ull, bounding = ~0ull;
	int no_new = 0;
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "CapEff: %llx", &effective);
		sscanf(line, "CapBnd: %llx", &bounding);
		sscanf(line, "NoNewPrivs: %d", &no_new);
	}
	assert_non_null(f);
	fclose(f);
	assert_true(!(effective & ~0x280004ull)); /* SYS_ADMIN, DAC_READ_SEARCH, SYS_PTRACE */
	assert_int_equal(no_new, 1);
	if (getuid() == 0)
		assert_true(bounding == 0);
	snprintf(path, sizeof(path), "/proc/%d/fd", helper_pid(h));
	DIR *d = opendir(path);
	struct dirent *e;
	for (unsigned n = 0; d && (e = readdir(d)); n++)
		assert_true(e->d_name[0] == '.' || atoi(e->d_name) <= 3);
	if (d)
		closedir(d);
	else
		print_message("its descriptors were not looked at: that is not allowed here\n");
	close(held);
	/* Killed, it is gone for ever; nothing waits for it. */
	assert_int_equal(kill(helper_pid(h), SIGKILL), 0);
	struct helper_place place;
	int r = 0;
	for (int i = 0; i < 2; i++)
		r = helper_look(h, "/", dev_of("/"), false, &place);
	assert_int_equal(r, -ECONNRESET);
	assert_true(helper_gone(h));
	assert_int_equal(helper_open(h, getpid(), HELPER_STAT, &fd), -ECONNRESET);
	helper_close(h);
}

static int done(struct helper_work *w, const struct helper_question *q, size_t n)
{
	size_t size;
	int fd;
	const struct helper_answer *a = helper_work_do(w, q, n, &size, &fd);
	assert_in_range(size, HELPER_ANSWER_HEAD, sizeof(*a));
	if (fd >= 0)
		close(fd);
	return a->r;
}

static void test_refuses(void **state)
{
	(void)state;
	struct helper_work *w;
	static struct helper_question q;
	assert_int_equal(helper_work_new(&w), 0);
	for (size_t n = 0; n < HELPER_QUESTION_HEAD; n++)
		assert_int_equal(done(w, &q, n), -EPROTO);
	for (uint32_t op = 0; op < HELPER_OPS + 3; op++) {
		memset(&q, 0, sizeof(q));
		q.op = op;
		q.n = 1;
		size_t right = helper_size(op, 1);
		assert_true((right == 0) == (op == 0 || op >= HELPER_OPS));
		assert_int_equal(done(w, &q, right + 1), -EPROTO);
		assert_int_equal(done(w, &q, right ? right - 1 : sizeof(q)), -EPROTO);
	}
	memset(&q, 0, sizeof(q));
	q.op = HELPER_OP_STATES;
	q.n = HELPER_BATCH + 1;
	assert_int_equal(done(w, &q, sizeof(q)), -EPROTO);
	q.op = HELPER_OP_LOOK;
	q.number = dev_of("/");
	assert_int_equal(done(w, &q, helper_size(q.op, 0)), -EPROTO); /* no path */
	memset(q.path, '/', sizeof(q.path));
	assert_int_equal(done(w, &q, helper_size(q.op, 0)), -EPROTO); /* without an end */
	memset(q.path, 0, sizeof(q.path));
	q.path[0] = '/';
	q.n = 0;
	assert_int_equal(done(w, &q, helper_size(q.op, 0)), 0);
	/* Whoever asks can make nobody wait for a permission. */
	q.op = HELPER_OP_WATCH;
	q.number = 0;
	if (done(w, &q, helper_size(q.op, 0)) == 0) {
		q.op = HELPER_OP_MARK;
		q.slot = 0;
		static const uint64_t masks[] = {0, FAN_OPEN_PERM, FAN_OPEN | FAN_ACCESS_PERM, FAN_OPEN_EXEC_PERM, 1ull << 63};
		for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
			q.number = masks[i];
			assert_int_equal(done(w, &q, helper_size(q.op, 0)), -EPROTO);
		}
		q.slot = HELPER_PLACES;
		q.number = FAN_OPEN;
		assert_int_equal(done(w, &q, helper_size(q.op, 0)), -EPROTO);
	} else
		print_message("marks were not tried: fanotify is not allowed here\n");
	q.op = HELPER_OP_OPEN;
	q.slot = HELPER_FILES;
	q.pid = getpid();
	assert_int_equal(done(w, &q, helper_size(q.op, 0)), -EPROTO);
	q.slot = HELPER_STAT;
	q.pid = -1;
	assert_int_equal(done(w, &q, helper_size(q.op, 0)), -EPROTO);
	helper_work_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_looks), cmocka_unit_test(test_handles),
	                                   cmocka_unit_test(test_keeps_little), cmocka_unit_test(test_refuses)};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
