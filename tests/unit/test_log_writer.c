/* The writer: what it accepted is in the log, whatever is done to the process and the disk. */
#include "log_common.h"

#include "base/io.h"
#include "event/log_format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char probe_path[PATH_MAX];

static void test_write_read(void **state)
{
	(void)state;
	struct log_writer *w = writer_on(in_dir("a.stl"));
	assert_true(log_writer_session(w) == SESSION);
	assert_int_equal(log_writer_pending(w), 0);
	add(w, 1, 2);
	assert_in_range(log_writer_pending(w), 4, 100);
	assert_int_equal(log_writer_flush(w), 0);
	assert_int_equal(log_writer_pending(w), 0);
	assert_int_equal(log_writer_flush(w), 0); /* nothing: no frame */
	add(w, 2, 20001);
	assert_in_range(log_writer_pending(w), 0, 4095);
	assert_int_equal(log_writer_lost(w), 0);
	assert_int_equal(log_writer_close(w), 0);
	struct tally t = {.max = 20001, .seen = calloc(1, 20001)};
	struct log_reader *r = reader_on(in_dir("a.stl"));
	struct log_frame_info f;
	uint64_t at = 0, seq = 1;
	for (uint32_t n = 0; log_reader_frame(r, &f) == 1; n++) {
		assert_int_equal(f.offset, at);
		assert_int_equal(f.number, n);
		assert_int_equal(f.seq, seq);
		assert_true(f.time == BASE + (int64_t)(seq * 1000));
		assert_in_range(f.end - f.offset, 57, 56 + 4096 + 200);
		at = f.end;
		seq += f.count;
	}
	assert_int_equal(seq, 20001);
	log_reader_seek(r, 0);
	read_all(r, &t);
	no_damage(r);
	assert_int_equal(t.events, 20000);
	for (uint64_t i = 1; i <= 20000; i++)
		assert_int_equal(t.seen[i], 1);
	free(t.seen);
	log_reader_close(r);
}

/* Sizes around every bound: the gathering, the varint of the length, the largest payload. */
static void test_sizes(void **state)
{
	(void)state;
	static const size_t sizes[] = {
	    121, 127, 128, 4000, 4096, 16384, 300000, LOG_PAYLOAD_MAX - 100, LOG_PAYLOAD_MAX - 40};
	struct log_writer *w = writer_on(in_dir("sizes.stl"));
	struct event ev;
	uint64_t seq = 0, kept;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		event_of(++seq, 0, &ev);
		assert_int_equal(log_writer_add(w, &ev), seq);
		event_of(++seq, sizes[i], &ev);
		assert_int_equal(log_writer_add(w, &ev), seq);
	}
	/* upwards until it does not fit any more */
	for (size_t n = LOG_PAYLOAD_MAX - 40;; n++) {
		event_of(seq + 1, n, &ev);
		kept = log_writer_add(w, &ev);
		if (!kept)
			break;
		assert_int_equal(kept, ++seq);
		assert_true(n < LOG_PAYLOAD_MAX);
	}
	assert_int_equal(log_writer_lost(w), 1);
	/* the gap takes the next number */
	event_of(seq + 2, 0, &ev);
	assert_int_equal(log_writer_add(w, &ev), seq + 2);
	event_of(seq + 3, 2 * LOG_PAYLOAD_MAX / 3, &ev);
	assert_int_equal(log_writer_add(w, &ev), seq + 3);
	assert_int_equal(log_writer_close(w), 0);
	struct tally t = {0};
	struct log_reader *r = reader_on(in_dir("sizes.stl"));
	read_all(r, &t);
	no_damage(r);
	assert_int_equal(t.events, seq + 2);
	assert_int_equal(t.gaps, 1);
	assert_int_equal(t.gap_lost, 1);
	log_reader_close(r);
}

/* An event nobody can encode is counted, and a loss is told even when nothing follows it. */
static void test_lost_is_told(void **state)
{
	(void)state;
	struct log_writer *w = writer_on(in_dir("lost.stl"));
	struct event ev = {.kind = 999, .time = BASE};
	assert_int_equal(log_writer_add(w, &ev), 0);
	ev.time = BASE + 7;
	assert_int_equal(log_writer_add(w, &ev), 0);
	assert_int_equal(log_writer_lost(w), 2);
	assert_int_equal(log_writer_close(w), 0);
	struct log_reader *r = reader_on(in_dir("lost.stl"));
	struct log_frame_info f;
	uint64_t count = 0;
	while (log_reader_frame(r, &f) == 1)
		while (log_reader_event(r, &ev)) {
			assert_int_equal(ev.kind, EVENT_gap);
			assert_int_equal(ev.gap.reason, TERM_gap_lost);
			assert_true(ev.gap.text.n > 0);
			assert_true(ev.gap.from >= BASE && ev.time <= BASE + 7);
			count += ev.gap.count;
		}
	assert_int_equal(count, 2);
	log_reader_close(r);
}

/* The writer is killed. */

struct progress {
	_Atomic uint64_t accepted;
	_Atomic uint32_t stop;
};

/* Adds events until killed; every so often a large one. */
static _Noreturn void write_until_killed(struct log_writer *w, struct progress *p, unsigned flush_every)
{
	struct event ev;
	for (uint64_t i = 1;; i++) {
		event_of(i, i % 997 == 0 ? 50000 : 0, &ev);
		if (log_writer_add(w, &ev) != i)
			_exit(1);
		atomic_store(&p->accepted, i);
		if (flush_every && i % flush_every == 0)
			log_writer_flush(w);
	}
}

static void nap(long us)
{
	struct timespec t = {.tv_nsec = us * 1000};
	nanosleep(&t, NULL);
}

static void read_dir(const char *day, struct tally *t, unsigned *ret_files)
{
	unsigned files = 0;
	for (int roll = 0;; roll++) {
		char path[PATH_MAX];
		if (roll)
			snprintf(path, sizeof(path), "%s/home/logs/h/%s/0.%d.stl", dir, day, roll);
		else
			snprintf(path, sizeof(path), "%s/home/logs/h/%s/0.stl", dir, day);
		if (access(path, F_OK) < 0)
			break;
		struct log_reader *r = reader_on(path);
		read_all(r, t);
		assert_int_equal(log_reader_damage(r)->newer + log_reader_damage(r)->bad_events, 0);
		log_reader_close(r);
		files++;
	}
	*ret_files = files;
}

static void test_killed(void **state)
{
	(void)state;
	struct progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	unsigned seed = 5, rolled = 0;
	uint64_t most = 0;
	for (int round = 0; round < 120; round++) {
		struct log_writer *w;
		struct err err = {0};
		char day[32];
		snprintf(day, sizeof(day), "kill-%d", round);
		*p = (struct progress){0};
		log_writer_segment_max = round % 2 ? 20000 : LOG_SEGMENT_MAX;
		assert_int_equal(log_writer_open(in_dir("home"), "h", day, &err, &w), 0);
		pid_t pid = fork();
		if (pid == 0)
			write_until_killed(w, p, (unsigned)round % 5);
		while (round % 10 && atomic_load(&p->accepted) == 0)
			sched_yield();
		nap(rand_r(&seed) % 3000);
		int status;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(log_writer_takeover(w), 0);
		uint64_t accepted = atomic_load(&p->accepted);
		struct event note = {.kind = EVENT_note, .time = BASE, .note.text = str_of("taken over")};
		uint64_t next = log_writer_add(w, &note);
		/* besides the accepted ones there may be the one that was just being added */
		assert_in_range(next, accepted + 1, accepted + 2);
		assert_int_equal(log_writer_close(w), 0);
		struct tally t = {.max = next + 1, .seen = calloc(1, next + 1)};
		unsigned files;
		read_dir(day, &t, &files);
		for (uint64_t i = 1; i <= next; i++)
			if (t.seen[i] == 0)
				fail_msg("round %d: event %llu of %llu is lost", round, (unsigned long long)i,
				         (unsigned long long)accepted);
		free(t.seen);
		rolled += files > 1;
		if (accepted > most)
			most = accepted;
	}
	log_writer_segment_max = LOG_SEGMENT_MAX;
	munmap(p, sizeof(*p));
	assert_true(rolled > 0);
	assert_true(most > 100);
}

/* The disk is full. */

/* Adds until events are lost, and then some; gives how many were kept and lost. */
static void overfill(struct log_writer *w, uint64_t *ret_kept, uint64_t *ret_lost)
{
	struct event ev;
	uint64_t kept = 0, lost = 0;
	while (lost < 1000) {
		event_of(kept + 1, 0, &ev);
		uint64_t seq = log_writer_add(w, &ev);
		if (seq) {
			assert_int_equal(seq, kept + 1);
			assert_int_equal(lost, 0); /* no room comes back by itself */
			kept++;
			assert_true(kept < 1000000);
		} else {
			lost++;
		}
	}
	assert_int_equal(log_writer_lost(w), lost);
	*ret_kept = kept;
	*ret_lost = lost;
}

/* After the disk has room again: all that was kept, then the gap, then what follows. */
static void check_overfilled(const char *path, uint64_t kept, uint64_t lost)
{
	struct tally t = {.max = kept + 101, .seen = calloc(1, kept + 101)};
	struct log_reader *r = reader_on(path);
	struct log_frame_info f;
	struct event ev;
	uint64_t last = 0;
	read_all(r, &t);
	no_damage(r); /* what was written of a frame was taken back */
	for (uint64_t i = 1; i <= kept + 99; i++)
		if (i != kept + 1)
			assert_int_equal(t.seen[i], 1);
	assert_int_equal(t.gaps, 1);
	assert_int_equal(t.gap_lost, lost);
	log_reader_seek(r, 0);
	while (log_reader_frame(r, &f) == 1)
		while (log_reader_event(r, &ev)) {
			assert_int_equal(ev.seq, last + 1);
			last = ev.seq;
			if (ev.kind != EVENT_gap)
				continue;
			assert_int_equal(ev.seq, kept + 1);
			assert_true(ev.gap.from == BASE + (int64_t)(kept + 1) * 1000);
			assert_true(ev.gap.text.n > 10);
		}
	log_reader_close(r);
	free(t.seen);
}

static void fill_up_and_free(const char *path, void (*make_room)(void))
{
	struct log_writer *w = writer_on(path);
	uint64_t kept, lost;
	overfill(w, &kept, &lost);
	assert_true(log_writer_pending(w) > LOG_PAYLOAD_MAX - 1000);
	assert_true(log_writer_flush(w) < 0);
	assert_true(log_writer_flush(w) < 0);
	make_room();
	/* written by the flush, or by the takeover of another process: the parent's view of the same memory */
	assert_int_equal(log_writer_takeover(w), 0);
	assert_int_equal(log_writer_flush(w), 0);
	assert_int_equal(log_writer_pending(w), 0);
	add(w, kept + 2, kept + 100);
	assert_int_equal(log_writer_lost(w), lost);
	assert_int_equal(log_writer_close(w), 0);
	check_overfilled(path, kept, lost);
}

/* Runs part() in a child, since it changes what cannot be changed back. Its assertions print and end it. */
static void in_child(void (*part)(void))
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

static struct rlimit file_limit;

static void lift_limit(void)
{
	file_limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &file_limit), 0);
}

static void limited(void)
{
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &file_limit), 0);
	file_limit.rlim_cur = 100 * 1000; /* no multiple of anything, so that a frame is written in part */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &file_limit), 0);
	fill_up_and_free(in_dir("limit.stl"), lift_limit);
}

static void test_file_limit(void **state)
{
	(void)state;
	in_child(limited);
}

static char full[PATH_MAX];

static void remove_ballast(void)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof(path), "%s/ballast", full);
	assert_int_equal(unlink(path), 0);
}

static void on_full_disk(void)
{
	char path[PATH_MAX + 16], block[4096] = {1};
	snprintf(full, sizeof(full), "%s", in_dir("full"));
	assert_int_equal(mkdir(full, 0700), 0);
	assert_int_equal(mount("tmpfs", full, "tmpfs", 0, "size=4m"), 0);
	snprintf(path, sizeof(path), "%s/ballast", full);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 800; i++) /* of 1024 */
		assert_int_equal(io_write(fd, block, sizeof(block), NULL), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/a.stl", full);
	fill_up_and_free(path, remove_ballast);
}

/* A mount namespace of our own, or why not. */
static const char *own_mounts(void)
{
	if (geteuid() != 0)
		return "needs root";
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return strerror(errno);
	return NULL;
}

static bool can_mount(const char *test)
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

static void full_disk(void)
{
	assert_null(own_mounts());
	on_full_disk();
}

static void test_full_disk(void **state)
{
	(void)state;
	if (!can_mount("test_full_disk"))
		skip();
	in_child(full_disk);
}

/* Slots. */

static struct log_writer *lease(const char *day)
{
	struct log_writer *w;
	struct err err = {0};
	if (log_writer_open(in_dir("home"), "h", day, &err, &w) < 0)
		fail_msg("%s", err.text);
	return w;
}

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

/* Many at once, each several times: never two on one slot, and no more slots than writers. */
static void test_slots_race(void **state)
{
	(void)state;
	pid_t pids[WRITERS];
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			for (int n = 0; n < 20; n++) {
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
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;
		waitpid(pids[i], &status, 0);
		assert_int_equal(status, 0);
	}
	char path[64];
	snprintf(path, sizeof(path), "home/logs/h/race/%d.stl", WRITERS);
	assert_int_equal(access(in_dir(path), F_OK), -1);
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
	for (unsigned i = 0; i < files; i++) {
		char path[64];
		struct stat st;
		snprintf(path, sizeof(path), i ? "home/logs/h/roll/0.%u.stl" : "home/logs/h/roll/0.stl", i);
		assert_int_equal(stat(in_dir(path), &st), 0);
		assert_in_range(st.st_size, 1, 10000);
	}
	/* the next lease of the slot goes on at the end, without another file */
	w = lease("roll");
	add(w, 1, 2);
	assert_int_equal(log_writer_close(w), 0);
	t = (struct tally){.seen = t.seen};
	read_dir("roll", &t, &again);
	assert_int_equal(again, files);
	assert_int_equal(t.events, 2001);
	free(t.seen);
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
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks-2", &err, &w), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(log_writer_close(w), 0);
	/* taken by somebody else */
	assert_int_equal(rename(own, "/var/tmp/aside"), 0);
	assert_int_equal(symlink("aside", own), 0);
	check_refused(in_dir("home"), "h", "locks", -ENOTDIR, own);
	assert_int_equal(unlink(own), 0);
	assert_int_equal(mkdir(own, 0700), 0);
	assert_int_equal(chown(own, 65534, 65534), 0);
	check_refused(in_dir("home"), "h", "locks", -EPERM, own);
	assert_int_equal(chown(own, geteuid(), getegid()), 0);
	assert_int_equal(chmod(own, 0770), 0);
	check_refused(in_dir("home"), "h", "locks", -EPERM, own);
	assert_int_equal(chmod(own, 0700), 0);
	assert_int_equal(log_writer_open(in_dir("home"), "h", "locks", &err, &w), 0);
	assert_int_equal(log_writer_close(w), 0);
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
	    cmocka_unit_test(test_write_read), cmocka_unit_test(test_sizes),      cmocka_unit_test(test_lost_is_told),
	    cmocka_unit_test(test_killed),     cmocka_unit_test(test_file_limit), cmocka_unit_test(test_full_disk),
	    cmocka_unit_test(test_slots),      cmocka_unit_test(test_home_alias), cmocka_unit_test(test_slots_race),
	    cmocka_unit_test(test_roll),       cmocka_unit_test(test_refused),    cmocka_unit_test(test_mounted),
	    cmocka_unit_test(test_warm),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	dir_remove();
	return failed;
}
