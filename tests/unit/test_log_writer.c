/* The writer: what it accepted is in the log, whatever is done to the process and the disk. */
#include "log_common.h"

#include "base/io.h"
#include "event/log_format.h"
#include "event/log_queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_write_read(void **state)
{
	(void)state;
	struct log_writer *w = writer_on(in_dir("a.stl"), 0);
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
	struct log_writer *w = writer_on(in_dir("sizes.stl"), 0);
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
	struct log_writer *w = writer_on(in_dir("lost.stl"), 0);
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
		if (round % 3 == 1)
			log_writer_behind(w);
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
		/* it goes on in the segment that the other one was at, or had just made */
		unsigned made = 0, at = 0;
		while (access(rolled_path(day, made), F_OK) == 0)
			made++;
		while (strcmp(log_writer_path(w), rolled_path(day, at)) != 0)
			assert_true(++at < made);
		assert_true(at + 2 >= made || round % 3 == 1); /* behind: it looks for that when it writes */
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

/* The same at every instruction of an add that also writes a frame. The writer is stepped through it; what the other
 * process would find, had it been killed there, is the shared memory and the segment's length at that moment. */

#define SNAP 8192 /* bytes of the shared memory: the states and more than one small frame */

/* Bytes that are gathered before. With so many an add writes a frame by itself; under a sanitizer that takes up to ten
 * times the instructions, three million, so a tenth of a frame is gathered there, and the writer asked to write it. */
#define FULL 4000
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GATHERED 400
#else
#define GATHERED FULL
#endif

struct moment {
	off_t size;
	char shared[SNAP];
};

static void check_moment(struct log_writer *w, uint64_t before, uint64_t *with, uint64_t *without)
{
	struct event note = {.kind = EVENT_note, .time = BASE, .note.text = str_of("taken over")};
	assert_int_equal(log_writer_takeover(w), 0);
	uint64_t next = log_writer_add(w, &note);
	assert_in_range(next, before + 1, before + 2);
	(*(next == before + 1 ? without : with))++;
	assert_int_equal(log_writer_flush(w), 0);
	struct tally t = {.max = next + 1, .seen = calloc(1, next + 1)};
	struct log_reader *r = reader_on(log_writer_path(w));
	read_all(r, &t);
	no_damage(r);
	for (uint64_t i = 1; i <= next; i++)
		if (t.seen[i] == 0)
			fail_msg("event %u is lost", (unsigned)i);
	log_reader_close(r);
	free(t.seen);
}

static void test_stepped(void **state)
{
	(void)state;
	struct log_writer *w = lease("stepped");
	char *shared = *(char **)w; /* the first member */
	struct moment *m = NULL;
	struct stat st;
	uint64_t before = 0, with = 0, without = 0;
	size_t n = 0, length;
	int status, fd = open(log_writer_path(w), O_WRONLY);
	assert_true(fd >= 0);
	if (GATHERED < FULL)
		print_message("# test_stepped: a small frame, for the steps of a sanitizer are many\n");
	while (log_writer_pending(w) < GATHERED) {
		add(w, before + 1, before + 2);
		before++;
	}
	pid_t pid = fork();
	if (pid == 0) {
		struct event ev;
		event_of(before + 1, 150, &ev);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		raise(SIGSTOP);
		log_writer_add(w, &ev);
		if (GATHERED < FULL)
			log_writer_flush(w);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status)) {
		print_message("# skipped: test_stepped: ptrace is not permitted\n");
		assert_int_equal(log_writer_close(w), 0);
		close(fd);
		skip();
	}
	do {
		assert_int_equal(fstat(fd, &st), 0);
		if (n == 0 || st.st_size != m[n - 1].size || memcmp(shared, m[n - 1].shared, SNAP) != 0) {
			m = realloc(m, (n + 1) * sizeof(*m));
			assert_non_null(m);
			m[n].size = st.st_size;
			memcpy(m[n++].shared, shared, SNAP);
		}
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
	} while (WSTOPSIG(status) == SIGTRAP);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(m[n - 1].size > m[0].size); /* the frame was written */
	char *segment = slurp(log_writer_path(w), &length);
	for (size_t i = 0; i < n; i++) {
		memcpy(shared, m[i].shared, SNAP);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, segment, (size_t)m[i].size, 0), m[i].size);
		check_moment(w, before, &with, &without);
	}
	assert_in_range(with, 2, n);
	assert_in_range(without, 2, n);
	assert_int_equal(log_writer_close(w), 0);
	close(fd);
	free(segment);
	free(m);
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

static void fill_up_and_free(const char *path, int flags, void (*make_room)(void))
{
	struct log_writer *w = writer_on(path, flags);
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
	fill_up_and_free(in_dir("limit.stl"), 0, lift_limit);
}

static void test_file_limit(void **state)
{
	(void)state;
	in_child(limited);
}

/* The room that is left at the end is not enough. */
static void limit_at_the_end(bool behind)
{
	static const rlim_t room[] = {0, 50, 5000, 100 * 1000, 500 * 1000};
	const char *path = in_dir("end.stl");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &file_limit), 0);
	for (size_t i = 0; i < sizeof(room) / sizeof(room[0]); i++) {
		struct log_writer *w = writer_on(path, O_TRUNC);
		uint64_t kept, lost;
		if (behind)
			log_writer_behind(w);
		file_limit.rlim_cur = 1;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &file_limit), 0);
		overfill(w, &kept, &lost);
		file_limit.rlim_cur = room[i];
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &file_limit), 0);
		assert_true(log_writer_close(w) < 0);

		struct log_reader *r = reader_on(path);
		struct tally t = {.max = kept + lost, .seen = calloc(kept + lost + 1, 1)};
		read_all(r, &t);
		no_damage(r);
		log_reader_close(r);
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		assert_true((rlim_t)st.st_size <= room[i]);
		if (room[i] < 1000) { /* less than a frame that holds something */
			assert_int_equal(t.events, 0);
		} else {
			/* All but what is told of, without a hole, and not much room is left over. */
			assert_int_equal(t.gaps, 1);
			assert_int_equal(t.events + t.gap_lost, kept + lost);
			for (uint64_t e = 1; e <= t.events; e++)
				assert_int_equal(t.seen[e], 1);
			assert_true((rlim_t)st.st_size > room[i] - 1000);
		}
		free(t.seen);
	}
}

static void limited_at_the_end(void)
{
	limit_at_the_end(false);
}

static void behind_at_the_end(void)
{
	limit_at_the_end(true);
}

static void test_limited_at_the_end(void **state)
{
	(void)state;
	in_child(limited_at_the_end);
	in_child(behind_at_the_end);
}

/* The disk stands still: a pipe that nobody reads, of one page. */

struct disk {
	int from, to; /* where it is read, and the file that it goes to */
	pthread_t reader;
};

static struct log_writer *writer_on_pipe(struct disk *d)
{
	struct log_writer *w;
	struct err err = {0};
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
	assert_int_equal(log_writer_fdopen(ends[1], SESSION, &err, &w), 0);
	log_writer_behind(w);
	d->from = ends[0];
	d->to = open(in_dir("behind.stl"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(d->to >= 0);
	return w;
}

static void *read_pipe(void *arg)
{
	struct disk *d = arg;
	char block[4096];
	for (ssize_t n; (n = read(d->from, block, sizeof(block))) > 0;)
		if (io_write(d->to, block, (size_t)n, NULL) < 0)
			break;
	return NULL;
}

static void thaw(struct disk *d)
{
	assert_int_equal(pthread_create(&d->reader, NULL, read_pipe, d), 0);
}

/* After the last writer has closed. */
static void all_read(struct disk *d)
{
	pthread_join(d->reader, NULL);
	close(d->from);
	close(d->to);
}

/* Who adds does not wait for the disk, and everything is in the log when that goes on. */
static void test_behind(void **state)
{
	(void)state;
	struct disk d;
	struct log_writer *w = writer_on_pipe(&d);
	for (uint64_t i = 1; i <= 50000; i++) {
		add(w, i, i + 1);
		if (i % 1000 == 0)
			assert_int_equal(log_writer_flush(w), 0);
	}
	assert_true(log_writer_waiting(w) > 100000);
	assert_int_equal(log_writer_lost(w), 0);
	thaw(&d);
	assert_int_equal(log_writer_settle(w), 0);
	assert_int_equal(log_writer_waiting(w), 0);
	add(w, 50001, 50101); /* the next flush starts another thread */
	assert_int_equal(log_writer_flush(w), 0);
	assert_int_equal(log_writer_close(w), 0);
	all_read(&d);
	struct tally t = {.max = 50101, .seen = calloc(1, 50101)};
	struct log_reader *r = reader_on(in_dir("behind.stl"));
	read_all(r, &t);
	no_damage(r);
	assert_int_equal(t.events, 50100);
	assert_int_equal(t.gaps, 0);
	for (uint64_t i = 1; i <= 50100; i++)
		assert_int_equal(t.seen[i], 1);
	free(t.seen);
	log_reader_close(r);
}

static unsigned threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A process that is to leave the writing to another one starts no thread that takes frames from the queue, however many
 * there are. */
static void test_behind_quiet(void **state)
{
	(void)state;
	struct disk d;
	struct log_writer *w = writer_on_pipe(&d);
	const unsigned before = threads();
	log_writer_quiet(w, true);
	for (uint64_t i = 1; i <= 50000; i++) {
		add(w, i, i + 1);
		if (i % 1000 == 0)
			assert_int_equal(log_writer_flush(w), 0);
	}
	assert_true(log_writer_waiting(w) > 100000);
	assert_int_equal(threads(), before);
	/* The one that it forks writes. */
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const unsigned alone = threads(); /* a sanitizer's are among them */
		log_writer_quiet(w, false);
		_exit(log_writer_flush(w) < 0 || threads() <= alone);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	thaw(&d);
	assert_int_equal(log_writer_close(w), 0); /* by itself, where nobody else does */
	all_read(&d);
	struct tally t = {.max = 50001, .seen = calloc(1, 50001)};
	struct log_reader *r = reader_on(in_dir("behind.stl"));
	read_all(r, &t);
	assert_int_equal(t.gaps, 0);
	for (uint64_t i = 1; i <= 50000; i++)
		assert_true(t.seen[i] >= 1);
	free(t.seen);
	log_reader_close(r);
}

/* The writer is killed while the disk stands still: who takes over writes what it left, when the disk goes on. */
static void test_behind_killed(void **state)
{
	(void)state;
	struct progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	unsigned seed = 11;
	for (int round = 0; round < 20; round++) {
		struct disk d;
		struct log_writer *w = writer_on_pipe(&d);
		*p = (struct progress){0};
		pid_t pid = fork();
		if (pid == 0)
			write_until_killed(w, p, 1 + (unsigned)round % 5 * 20);
		while (atomic_load(&p->accepted) < 500)
			sched_yield();
		nap(rand_r(&seed) % 3000);
		int status;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		uint64_t accepted = atomic_load(&p->accepted);
		assert_int_equal(log_writer_takeover(w), 0); /* nor does this wait */
		struct event note = {.kind = EVENT_note, .time = BASE, .note.text = str_of("taken over")};
		uint64_t next = log_writer_add(w, &note);
		assert_in_range(next, accepted + 1, accepted + 2);
		thaw(&d);
		assert_int_equal(log_writer_close(w), 0);
		all_read(&d);
		struct tally t = {.max = next + 1, .seen = calloc(1, next + 1)};
		struct log_reader *r = reader_on(in_dir("behind.stl"));
		read_all(r, &t);
		for (uint64_t i = 1; i <= next; i++)
			if (t.seen[i] == 0)
				fail_msg("round %d: event %llu of %llu is lost", round, (unsigned long long)i,
				         (unsigned long long)accepted);
		log_reader_close(r);
		free(t.seen);
	}
	munmap(p, sizeof(*p));
}

/* A disk that stands still for longer than there is memory: what is lost is counted, and the rest is whole. */
static void test_behind_full(void **state)
{
	(void)state;
	struct disk d;
	struct log_writer *w = writer_on_pipe(&d);
	struct event ev;
	uint64_t kept = 0, lost = 0;
	unsigned seed = 3;
	char *noise = malloc(20001); /* what cannot be packed */
	while (lost < 100) {
		for (int i = 0; i < 20000; i++)
			noise[i] = (char)('!' + rand_r(&seed) % 90);
		noise[20000] = '\0';
		ev = (struct event){.kind = EVENT_note, .time = BASE + (int64_t)kept, .note.text = str_of(noise)};
		if (log_writer_add(w, &ev)) {
			kept++;
			assert_int_equal(lost, 0);
		} else {
			lost++;
		}
	}
	assert_true(kept * 20000 > LOG_QUEUE - LOG_PAYLOAD_MAX);
	assert_int_equal(log_writer_lost(w), lost);
	thaw(&d);
	assert_int_equal(log_writer_settle(w), 0);
	assert_int_equal(log_writer_flush(w), 0);
	uint64_t after = log_writer_add(w, &ev);
	assert_int_equal(after, kept + 2); /* the gap comes first */
	assert_int_equal(log_writer_close(w), 0);
	all_read(&d);
	struct tally t = {.max = after + 1, .seen = calloc(1, after + 1)};
	struct log_reader *r = reader_on(in_dir("behind.stl"));
	read_all(r, &t);
	no_damage(r);
	for (uint64_t i = 1; i <= after; i++)
		assert_int_equal(t.seen[i], i != kept + 1);
	assert_int_equal(t.gaps, 1);
	assert_int_equal(t.gap_lost, lost);
	free(t.seen);
	free(noise);
	log_reader_close(r);
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
	fill_up_and_free(path, O_APPEND, remove_ballast);
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

int main(void)
{
	if (dir_make() != 0)
		return 1;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_write_read),    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_lost_is_told),  cmocka_unit_test(test_killed),
	    cmocka_unit_test(test_stepped),       cmocka_unit_test(test_file_limit),
	    cmocka_unit_test(test_full_disk),     cmocka_unit_test(test_limited_at_the_end),
	    cmocka_unit_test(test_behind),        cmocka_unit_test(test_behind_quiet),
	    cmocka_unit_test(test_behind_killed), cmocka_unit_test(test_behind_full),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	dir_remove();
	return failed;
}
