/* p-ring.c - `p-ring [WORD [ARGUMENT...]]...`: does in its folder what the words say, all through an io_uring, by raw
 * system calls.
 *
 *   flags N        of the ring that is made by the first word that needs one
 *   in FILE        opens it to read           out FILE     makes it, or empties it, to write
 *   add FILE       ... to write at its end    try FILE     opens it to read; that it is not there is no error
 *   read           from `in`, all of it       write        what was read, or "made\n", to `out`
 *   close          both                       cut          ftruncate of `out` to nothing
 *   mv A B  ln A B  sym A B  rm A  rmdir A  md A
 *   same           all submissions have the user data 0 from now on
 *   together N     the next N words are submitted at once, as a chain, and waited for once
 *   direct         `in` and `out` are opened into the ring's own table from now on
 *   registered     the ring is known to io_uring_enter by its number from now on
 *   how            opens are openat2 from now on
 *   fork           a child does the rest, through the same ring
 *   lie            before the ring is mapped, what the kernel has said of it is changed; submits one open that way
 *   pause          makes the file `paused`, and waits until there is one `go`
 *   noise N        N submissions that do nothing, without waiting for them one by one
 * Ends with 77 where there is no io_uring. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENTRIES = 64, NO_SQARRAY = 1 << 16, FTRUNCATE = 55, TABLE = 4, CHAIN = 16, LINK = 1 << 2, FIXED = 1 };

static struct io_uring_params params;
static int ring = -1, number = -1, in = -1, out = -1;
static unsigned *sq_tail, *sq_array, *cq_head, *cq_tail;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static unsigned together, waiting;
static int *opened[CHAIN]; /* where the results of the calls of a chain go */
static uint64_t said;
static int same, direct, how, lies;
static struct open_how hows[16];
static char text[4096] = "made\n";
static size_t length = 5;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *map(size_t n, off_t at)
{
	void *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, ring, at);
	if (m == MAP_FAILED)
		die("mmap");
	return m;
}

static void make_ring(void)
{
	if (ring >= 0)
		return;
	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
		exit(77);
	if (ring < 0)
		die("io_uring_setup");
	struct io_uring_params told = params;
	if (lies) {
		params.sq_off.tail = 1u << 20;
		params.sq_off.array = 1u << 21;
		params.cq_off.cqes = 1u << 22;
	}
	size_t n = told.sq_off.array + told.sq_entries * sizeof(unsigned);
	size_t c = told.cq_off.cqes + told.cq_entries * sizeof(struct io_uring_cqe);
	char *sq = map(n, IORING_OFF_SQ_RING), *cq = map(c, IORING_OFF_CQ_RING);
	sqes = map(told.sq_entries * sizeof(*sqes), IORING_OFF_SQES);
	sq_tail = (unsigned *)(sq + told.sq_off.tail);
	sq_array = params.flags & NO_SQARRAY ? NULL : (unsigned *)(sq + told.sq_off.array);
	cq_head = (unsigned *)(cq + told.cq_off.head);
	cq_tail = (unsigned *)(cq + told.cq_off.tail);
	cqes = (struct io_uring_cqe *)(cq + told.cq_off.cqes);
}

static struct io_uring_sqe *next_call(uint8_t op, int fd, const void *addr, unsigned len)
{
	make_ring();
	unsigned i = *sq_tail % ENTRIES;
	struct io_uring_sqe *q = &sqes[i];
	memset(q, 0, sizeof(*q));
	q->opcode = op;
	q->fd = fd;
	q->addr = (uintptr_t)addr;
	q->len = len;
	q->user_data = same ? 0 : ++said;
	if (sq_array)
		sq_array[i] = i;
	return q;
}

static void enter(unsigned submit, unsigned wait)
{
	unsigned flags = (wait ? IORING_ENTER_GETEVENTS : 0u) | (number >= 0 ? 1u << 4 : 0u);
	if (params.flags & IORING_SETUP_SQPOLL)
		flags |= IORING_ENTER_SQ_WAKEUP;
	long rc;
	do
		rc = syscall(SYS_io_uring_enter, number >= 0 ? number : ring, submit, wait, flags, NULL, 0);
	while (rc < 0 && errno == EINTR);
	if (rc < 0 || (rc != (long)submit && !(params.flags & IORING_SETUP_SQPOLL)))
		die("io_uring_enter");
}

/* The results of n calls; the last one's. What a chain has opened is known by then. */
static int results(unsigned n)
{
	int res = 0;
	for (unsigned i = 0; i < n; i++) {
		while (__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) == *cq_head)
			enter(0, 1);
		res = cqes[*cq_head % params.cq_entries].res;
		__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
		if (i < CHAIN && opened[i])
			*opened[i] = res;
	}
	memset(opened, 0, sizeof(opened));
	return res;
}

/* Submits it, alone or with those to come. Its result; 0 where that is not there yet. */
static int go(struct io_uring_sqe *q)
{
	waiting++;
	if (together && --together)
		q->flags |= LINK;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	if (together)
		return 0;
	unsigned n = waiting;
	waiting = 0;
	enter(n, n);
	return results(n);
}

static int want(const char *what, int res, int refused)
{
	if (res < 0 && res != refused) {
		errno = -res;
		die(what);
	}
	return res;
}

static void open_file(const char *path, int flags, int *fd, int refused)
{
	const int slot = fd == &out;
	struct io_uring_sqe *q;
	if (how) {
		struct open_how *h = &hows[said % 16];
		*h = (struct open_how){.flags = (uint64_t)flags, .mode = flags & O_CREAT ? 0644 : 0};
		q = next_call(IORING_OP_OPENAT2, AT_FDCWD, path, sizeof(*h));
		q->off = (uintptr_t)h;
	} else {
		q = next_call(IORING_OP_OPENAT, AT_FDCWD, path, 0644);
		q->open_flags = (unsigned)flags;
	}
	if (direct)
		q->file_index = (unsigned)slot + 1;
	if (direct)
		*fd = slot;
	else if (waiting < CHAIN)
		opened[waiting] = fd;
	want(path, go(q), refused);
}

static struct io_uring_sqe *on_file(uint8_t op, int fd, const void *addr, size_t len)
{
	struct io_uring_sqe *q = next_call(op, fd, addr, (unsigned)len);
	q->flags |= direct ? FIXED : 0;
	q->off = (uint64_t)-1;
	return q;
}

static void two_paths(uint8_t op, const char *a, const char *b)
{
	struct io_uring_sqe *q = next_call(op, AT_FDCWD, a, (unsigned)AT_FDCWD);
	q->off = (uintptr_t)b;
	if (op == IORING_OP_SYMLINKAT)
		q->len = 0;
	want(a, go(q), 0);
}

static void register_files(void)
{
	int none[TABLE] = {-1, -1, -1, -1};
	make_ring();
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, none, TABLE) < 0)
		die("io_uring_register");
	direct = 1;
}

static void register_ring(void)
{
	struct io_uring_rsrc_update u = {.offset = -1u, .data = (uint64_t)ring};
	make_ring();
	u.data = (uint64_t)ring;
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_RING_FDS, &u, 1) < 0)
		exit(77);
	number = (int)u.offset;
}

static void go_on_in_child(void)
{
	int status;
	pid_t pid = fork();
	if (pid <= 0)
		return;
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* Until the test has done what it wants to do meanwhile. */
static void pause_for_test(void)
{
	const struct timespec moment = {.tv_nsec = 20000000};
	int fd = open("paused", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	while (access("go", F_OK) < 0)
		nanosleep(&moment, NULL);
}

/* Words without an argument. False: it is none. */
static int do_word(const char *w)
{
	if (!strcmp(w, "read"))
		length = (size_t)want(w, go(on_file(IORING_OP_READ, in, text, sizeof(text))), 0);
	else if (!strcmp(w, "write"))
		want(w, go(on_file(IORING_OP_WRITE, out, text, length)), 0);
	else if (!strcmp(w, "close")) {
		if (in >= 0)
			want(w, go(next_call(IORING_OP_CLOSE, in, NULL, 0)), 0);
		if (out >= 0)
			want(w, go(next_call(IORING_OP_CLOSE, out, NULL, 0)), 0);
		in = out = -1;
	} else if (!strcmp(w, "cut")) {
		struct io_uring_sqe *q = on_file(FTRUNCATE, out, NULL, 0);
		q->off = 0;
		if (want(w, go(q), -EINVAL) == -EINVAL)
			exit(77);
	} else if (!strcmp(w, "same"))
		same = 1;
	else if (!strcmp(w, "direct"))
		register_files();
	else if (!strcmp(w, "registered"))
		register_ring();
	else if (!strcmp(w, "how"))
		how = 1;
	else if (!strcmp(w, "lie"))
		lies = 1;
	else if (!strcmp(w, "fork"))
		go_on_in_child();
	else if (!strcmp(w, "pause"))
		pause_for_test();
	else
		return 0;
	return 1;
}

static void do_with(const char *w, const char *a)
{
	int none;
	if (!strcmp(w, "flags"))
		params.flags = (unsigned)strtoul(a, NULL, 0);
	else if (!strcmp(w, "in"))
		open_file(a, O_RDONLY, &in, 0);
	else if (!strcmp(w, "try"))
		open_file(a, O_RDONLY, &none, -ENOENT);
	else if (!strcmp(w, "out"))
		open_file(a, O_WRONLY | O_CREAT | O_TRUNC, &out, 0);
	else if (!strcmp(w, "add"))
		open_file(a, O_WRONLY | O_APPEND, &out, 0);
	else if (!strcmp(w, "rm") || !strcmp(w, "rmdir")) {
		struct io_uring_sqe *q = next_call(IORING_OP_UNLINKAT, AT_FDCWD, a, 0);
		q->unlink_flags = w[2] ? AT_REMOVEDIR : 0;
		want(a, go(q), 0);
	} else if (!strcmp(w, "md"))
		want(a, go(next_call(IORING_OP_MKDIRAT, AT_FDCWD, a, 0755)), 0);
	else if (!strcmp(w, "together"))
		together = (unsigned)atoi(a);
	else if (!strcmp(w, "noise"))
		for (int n = atoi(a); n > 0; n--)
			go(next_call(IORING_OP_NOP, -1, NULL, 0));
	else {
		fprintf(stderr, "p-ring: no such word: %s\n", w);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *w = argv[i];
		if (do_word(w))
			continue;
		if (i + 1 >= argc)
			return 2;
		if (!strcmp(w, "mv") || !strcmp(w, "ln") || !strcmp(w, "sym")) {
			if (i + 2 >= argc)
				return 2;
			two_paths(w[0] == 'm'   ? IORING_OP_RENAMEAT
			          : w[0] == 'l' ? IORING_OP_LINKAT
			                        : IORING_OP_SYMLINKAT,
			          argv[i + 1], argv[i + 2]);
			i += 2;
		} else {
			do_with(w, argv[++i]);
		}
	}
	return 0;
}
