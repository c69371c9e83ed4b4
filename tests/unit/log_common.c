#include "log_common.h"

#include "base/buf.h"
#include "base/io.h"
#include "event/log_format.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char dir[] = "/tmp/stemma-test-log.XXXXXX";

const char *in_dir(const char *name)
{
	static char path[4][PATH_MAX];
	static int which;
	char *p = path[which++ % 4];
	snprintf(p, PATH_MAX, "%s/%s", dir, name);
	return p;
}

void event_of(uint64_t i, size_t path_len, struct event *ret)
{
	static char path[LOG_PAYLOAD_MAX + 4096];
	*ret = (struct event){.time = BASE + (int64_t)(i * 1000), .proc = i % 7};
	if (path_len == 0 && i % 3 == 0) {
		ret->kind = EVENT_access;
		ret->access = (struct event_access){.file = i, .mode = ACCESS_READ, .sure = i & 1};
	} else if (path_len == 0 && i % 3 == 1) {
		ret->kind = EVENT_state;
		ret->state = (struct event_state){.file = i, .size = i * 4096, .mtime = ret->time - 5};
	} else {
		size_t n = path_len ? path_len : i * 31 % 120;
		memset(path, 'a' + (int)(i % 26), n);
		ret->kind = EVENT_file;
		ret->file = (struct event_file){.num = i, .kind = TERM_kind_regular, .ino = i << 20, .path = str_n(path, n)};
	}
}

static void check_event(const struct event *got, uint64_t i, size_t path_len)
{
	struct event want;
	struct buf a = {0}, b = {0};
	event_of(i, path_len, &want);
	assert_int_equal(event_encode(&a, &want, 0), 0);
	assert_int_equal(event_encode(&b, got, 0), 0);
	if (!str_eq(buf_view(&a), buf_view(&b)))
		fail_msg("event %llu is not what was written", (unsigned long long)i);
	buf_release(&a);
	buf_release(&b);
}

struct log_writer *writer_on(const char *path, int flags)
{
	struct log_writer *w;
	struct err err = {0};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0600);
	assert_true(fd >= 0);
	assert_int_equal(log_writer_fdopen(fd, SESSION, &err, &w), 0);
	return w;
}

void add(struct log_writer *w, uint64_t from, uint64_t to)
{
	struct event ev;
	for (uint64_t i = from; i < to; i++) {
		event_of(i, 0, &ev);
		assert_int_equal(log_writer_add(w, &ev), i);
	}
}

struct log_reader *reader_on(const char *path)
{
	struct log_reader *r;
	struct err err = {0};
	if (log_reader_open(path, &err, &r) < 0)
		fail_msg("%s", err.text);
	return r;
}

char *slurp(const char *path, size_t *ret_n)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	char *p = malloc((size_t)st.st_size + 1);
	assert_non_null(p);
	assert_int_equal(io_pread(fd, p, (size_t)st.st_size + 1, 0), st.st_size);
	close(fd);
	*ret_n = (size_t)st.st_size;
	return p;
}

void spill(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, p, n, NULL), 0);
	close(fd);
}

void read_all(struct log_reader *r, struct tally *t)
{
	struct log_frame_info f;
	struct event ev;
	int k;
	while ((k = log_reader_frame(r, &f)) == 1) {
		uint32_t n = 0;
		t->frames++;
		assert_true(f.session != 0);
		for (; log_reader_event(r, &ev); n++) {
			assert_true(ev.writer == f.session);
			assert_int_equal(ev.seq, f.seq + n);
			if (ev.kind == EVENT_gap) {
				t->gaps++;
				t->gap_lost += ev.gap.count;
				continue;
			}
			if (t->seen && ev.seq < t->max && t->seen[ev.seq] < UINT8_MAX)
				t->seen[ev.seq]++;
			if (ev.kind == EVENT_note)
				continue;
			check_event(&ev, ev.seq, ev.kind == EVENT_file && ev.file.path.n > 120 ? ev.file.path.n : 0);
			t->events++;
		}
		assert_int_equal(n, f.count);
	}
	assert_int_equal(k, 0);
}

void no_damage(struct log_reader *r)
{
	const struct log_damage *d = log_reader_damage(r);
	assert_int_equal(d->skipped, 0);
	assert_int_equal(d->torn, 0);
	assert_int_equal(d->newer, 0);
	assert_int_equal(d->bad_events, 0);
}

const char *rolled_path(const char *day, unsigned roll)
{
	static char path[PATH_MAX];
	if (roll)
		snprintf(path, sizeof(path), "%s/home/logs/h/%s/0.%u.stl", dir, day, roll);
	else
		snprintf(path, sizeof(path), "%s/home/logs/h/%s/0.stl", dir, day);
	return path;
}

void read_dir(const char *day, struct tally *t, unsigned *ret_files)
{
	unsigned files = 0;
	for (; access(rolled_path(day, files), F_OK) == 0; files++) {
		struct log_reader *r = reader_on(rolled_path(day, files));
		read_all(r, t);
		assert_int_equal(log_reader_damage(r)->newer + log_reader_damage(r)->bad_events, 0);
		log_reader_close(r);
	}
	*ret_files = files;
}

void in_child(void (*part)(void))
{
	fflush(stdout);
	fflush(stderr);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct CMUnitTest one[] = {{"in a child", (CMUnitTestFunction)(void (*)(void))part, NULL, NULL, NULL}};
		int null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO); /* the parent's report is the one */
		int failed = _cmocka_run_group_tests("child", one, 1, NULL, NULL);
		_exit(failed ? 1 : 0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

const char *own_mounts(void)
{
	if (geteuid() != 0)
		return "needs root";
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return strerror(errno);
	return NULL;
}

bool can_mount(const char *test)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		const char *why = own_mounts();
		if (why)
			print_message("# skipped: %s: %s\n", test, why);
		fflush(stdout);
		_exit(why != NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

struct log_writer *lease(const char *day)
{
	struct log_writer *w;
	struct err err = {0};
	if (log_writer_open(in_dir("home"), "h", day, &err, &w) < 0)
		fail_msg("%s", err.text);
	return w;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	remove(path);
	return 0;
}

int dir_make(void)
{
	umask(022);
	if (!mkdtemp(dir) || mkdir(in_dir("run"), 0700) < 0) {
		perror(dir);
		return 1;
	}
	setenv("XDG_RUNTIME_DIR", in_dir("run"), 1);
	return 0;
}

void dir_remove(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
