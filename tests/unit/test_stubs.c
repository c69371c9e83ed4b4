/* The code that counts (inject/sites.h), run: each function here is a call wrapper whose site jumps to its stub, and
 * what the stub has written into the table is what the call has done. x86-64 only. */
#include "capture/inject/site_text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __x86_64__

#define FUNCTION 256 /* bytes of each wrapper; the first of the region's page */
#define PAGE 4096
enum { RDX = 2, RSI = 6, RDI = 7, R10 = 10 };

/* The wrappers' page, the code behind it, and two tables: all in reach of each other. */
static unsigned char *region;
static struct counted_table *table, *other;
static struct sites sites;
static struct stubs stubs;

static int setup(void **state)
{
	size_t code = (CODE_SIZE + PAGE - 1) / PAGE * PAGE, one = (sizeof(*table) + PAGE - 1) / PAGE * PAGE;
	(void)state;
	region = mmap(NULL, PAGE + code + 2 * one, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		return 1;
	table = (struct counted_table *)(region + PAGE + code);
	other = (struct counted_table *)(region + PAGE + code + one);
	memset(&sites, 0, sizeof(sites));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(region, (size_t)((unsigned char *)other - region) + (sizeof(*other) + PAGE - 1) / PAGE * PAGE);
}

/* ---- wrappers ---- */

static unsigned char *function(size_t i)
{
	return region + i * FUNCTION;
}

/* mov $nr,%eax; syscall; cmp $-4096,%rax; ret. Its site, which has the kind. */
static struct site *wrapper(int nr, unsigned kind, unsigned from, unsigned to)
{
	static const unsigned char call[] = {0x0f, 0x05, 0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff, 0xc3};
	unsigned char *f = function(sites.n);
	*f = 0xb8;
	memcpy(f + 1, &nr, 4);
	memcpy(f + LOAD_BYTES, call, sizeof(call));
	struct site *t = &sites.site[sites.n];
	*t = (struct site){.offset = sites.n * FUNCTION + LOAD_BYTES,
	                   .nr = nr,
	                   .kind = (uint8_t)kind,
	                   .from = (uint8_t)from,
	                   .to = (uint8_t)to,
	                   .taken = SITE_BYTES,
	                   .loaded = 1};
	memcpy(t->bytes, f + LOAD_BYTES, SITE_BYTES);
	sites.n++;
	return t;
}

static uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

/* All wrappers are there: makes the code and puts the jumps in. */
static void put_in(void)
{
	unsigned char *code = region + PAGE;
	assert_int_equal(stubs_make(&sites, address(region), address(code), address(table), &stubs), 0);
	memcpy(code, stubs.code, stubs.n);
	for (size_t i = 0; i < sites.n; i++) {
		unsigned char jump[SITE_BYTES];
		const struct site *t = &sites.site[i];
		stubs_jump(t, address(region), address(code), stubs.at[i], jump);
		memcpy(region + t->offset, jump, t->taken);
	}
}

/* Calls f as a wrapper is called that loads the number itself, with what a system call takes. */
static long call_at(const void *f, long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long rax = nr;
	__asm__ volatile(
	    "lea -128(%%rsp),%%rsp\n\tcall *%[f]\n\tlea 128(%%rsp),%%rsp" /* what may lie below the stack stays */
	    : "+a"(rax), "+D"(a), "+S"(b), "+d"(c), "+r"(r10), "+r"(r8), "+r"(r9)
	    : [f] "b"(f)
	    : "rcx", "r11", "memory", "cc");
	return rax;
}

static long made(size_t i, long a, long b, long c, long d, long e)
{
	return call_at(function(i), -1, a, b, c, d, e);
}

static const struct counted_row no_row;

static void counts(int fd, struct counted_row want)
{
	assert_memory_equal(&table->row[fd], &want, sizeof(want));
}

/* The latest entry, which is whole and by no thread. */
static const struct counted_entry *latest(unsigned kind, uint32_t number)
{
	const struct counted_entry *e = &table->entry[(table->pos - 1) % COUNTED_LOG];
	assert_int_equal(table->pos, number);
	assert_int_equal(e->seq, number);
	assert_int_equal(e->kind, kind);
	return e;
}

static int a_file(size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(fd >= 0 && ftruncate(fd, (off_t)n) == 0);
	return fd;
}

/* ---- what moves bytes ---- */

static void bytes_are_counted(void **state)
{
	(void)state;
	static char bytes[100];
	for (int single = 0; single < 2; single++) {
		int fd = a_file(70), out = a_file(0);
		memset(table, 0, sizeof(*table));
		sites.n = 0;
		wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE)->single = (uint8_t)single;
		wrapper(SYS_write, SITE_MOVE, SITE_NONE, RDI)->single = (uint8_t)single;
		wrapper(SYS_pread64, SITE_MOVE, RDI, SITE_NONE)->positional = 1;
		wrapper(SYS_pwrite64, SITE_MOVE, SITE_NONE, RDI)->positional = 1;
		wrapper(SYS_sendfile, SITE_MOVE, RSI, RDI)->positional = 1;
		put_in();
		assert_int_equal(made(0, fd, (long)bytes, 50, 0, 0), 50);
		assert_int_equal(made(0, fd, (long)bytes, 50, 0, 0), 20);
		assert_int_equal(made(0, fd, (long)bytes, 50, 0, 0), 0);
		counts(fd, (struct counted_row){.read_calls = 3, .read_bytes = 70});
		assert_int_equal(made(1, out, (long)bytes, 11, 0, 0), 11);
		assert_int_equal(made(3, out, (long)bytes, 7, 1, 0), 7);
		counts(out, (struct counted_row){
		                .write_calls = 1, .write_bytes = 11, .other_write_calls = 1, .other_write_bytes = 7});
		assert_int_equal(made(2, fd, (long)bytes, 9, 60, 0), 9);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(made(4, out, fd, 0, 30, 0), 30);
		counts(fd,
		       (struct counted_row){.read_calls = 3, .read_bytes = 70, .other_read_calls = 2, .other_read_bytes = 39});
		counts(out, (struct counted_row){
		                .write_calls = 1, .write_bytes = 11, .other_write_calls = 2, .other_write_bytes = 37});
		/* A failed one is none. */
		assert_int_equal(made(0, 1000, (long)bytes, 50, 0, 0), -EBADF);
		counts(1000, no_row);
		for (int i = 0; i <= COUNTED_FDS; i++)
			assert_int_equal(table->flying[i], 0);
		assert_int_equal(table->pos, 0);
		close(fd);
		close(out);
	}
}

/* Those above share the last row. */
static void high_descriptors(void **state)
{
	(void)state;
	static char bytes[8];
	struct rlimit was, many = {COUNTED_FDS + 10, COUNTED_FDS + 10};
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	if (was.rlim_max < many.rlim_cur) {
		print_message("# skipped: high_descriptors: at most %llu files\n", (unsigned long long)was.rlim_max);
		skip();
	}
	many.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &many), 0);
	wrapper(SYS_write, SITE_MOVE, SITE_NONE, RDI);
	wrapper(SYS_close, SITE_CLOSE, SITE_NONE, SITE_NONE)->single = 1;
	wrapper(SYS_dup2, SITE_DUP2, SITE_NONE, SITE_NONE)->single = 1;
	wrapper(SYS_dup3, SITE_OPEN, SITE_NONE, SITE_NONE)->single = 1;
	put_in();
	int low = a_file(0);
	assert_int_equal(made(2, low, COUNTED_FDS, 0, 0, 0), COUNTED_FDS); /* no entry */
	assert_int_equal(table->pos, 0);
	assert_int_equal(made(2, low, COUNTED_FDS - 1, 0, 0, 0), COUNTED_FDS - 1);
	assert_int_equal(latest(SITE_DUP2, 1)->value, COUNTED_FDS - 1);
	assert_int_equal(dup2(low, COUNTED_FDS + 5), COUNTED_FDS + 5);
	for (int fd = COUNTED_FDS - 1; fd <= COUNTED_FDS + 5; fd += fd < COUNTED_FDS ? 1 : 5)
		assert_int_equal(made(0, fd, (long)bytes, 3, 0, 0), 3);
	counts(COUNTED_FDS - 1, (struct counted_row){.write_calls = 1, .write_bytes = 3});
	counts(COUNTED_FDS, (struct counted_row){.write_calls = 2, .write_bytes = 6});
	/* An open that gives one has an entry, without a row. */
	assert_int_equal(made(3, low, COUNTED_FDS + 5, 0, 0, 0), COUNTED_FDS + 5);
	const struct counted_entry *e = latest(SITE_OPEN, 2);
	assert_int_equal(e->value, COUNTED_FDS + 5);
	assert_memory_equal(&e->row, &no_row, sizeof(no_row));
	assert_int_equal(made(1, COUNTED_FDS, 0, 0, 0, 0), 0);
	assert_int_equal(made(1, COUNTED_FDS + 5, 0, 0, 0, 0), 0);
	assert_int_equal(table->pos, 2);
	assert_int_equal(made(1, COUNTED_FDS - 1, 0, 0, 0, 0), 0);
	assert_int_equal(latest(SITE_CLOSE, 3)->fd, COUNTED_FDS - 1);
	close(low);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

/* ---- what changes descriptors ---- */

static struct counted_row some_row(int fd)
{
	struct counted_row r = {1, 2, 3, 4, 5, 6, 7, 8};
	table->row[fd] = r;
	table->flying[fd] = 40 + (uint32_t)fd;
	return r;
}

static void has_row(const struct counted_entry *e, struct counted_row want)
{
	assert_memory_equal(&e->row, &want, sizeof(want));
}

static void opened_and_closed(void **state)
{
	(void)state;
	for (int single = 0; single < 2; single++) {
		memset(table, 0, sizeof(*table));
		sites.n = 0;
		wrapper(SYS_openat, SITE_OPEN, SITE_NONE, SITE_NONE)->single = (uint8_t)single;
		wrapper(SYS_close, SITE_CLOSE, SITE_NONE, SITE_NONE)->single = (uint8_t)single;
		put_in();
		int fd = a_file(0);
		close(fd); /* the next open gets it */
		struct counted_row row = some_row(fd);
		assert_int_equal(made(0, AT_FDCWD, (long)"/dev/null", O_RDONLY | O_CLOEXEC, 0, 0), fd);
		const struct counted_entry *e = latest(SITE_OPEN, 1);
		assert_int_equal(e->value, fd);
		assert_int_equal(e->flying, 40 + fd);
		assert_int_equal(e->tid, 0);
		has_row(e, row);
		assert_int_equal(made(0, AT_FDCWD, (long)"/dev/none at all", O_RDONLY, 0, 0), -ENOENT);
		e = latest(SITE_OPEN, 2);
		assert_int_equal(e->value, -ENOENT);
		has_row(e, no_row);
		assert_int_equal(made(1, fd, 0, 0, 0, 0), 0);
		e = latest(SITE_CLOSE, 3);
		assert_int_equal(e->fd, fd);
		assert_int_equal(e->flying, 40 + fd);
		has_row(e, row);
		/* Where there are no threads, a close that fails is none; where there are, its entry is made before. */
		assert_int_equal(made(1, fd, 0, 0, 0, 0), -EBADF);
		assert_int_equal(table->pos, 3);
		table->threads = CLONE_THREAD;
		assert_int_equal(made(1, fd, 0, 0, 0, 0), -EBADF);
		assert_int_equal(table->pos, single ? 3 : 4);
		assert_int_equal(made(1, COUNTED_FDS, 0, 0, 0, 0), -EBADF);
		assert_int_equal(table->pos, single ? 3 : 4);
		/* Where it is called it goes on: nothing else was changed. */
		counts(fd, row);
	}
}

static void duplicates_and_pairs(void **state)
{
	(void)state;
	int fd = a_file(5000), both[2], unused;
	wrapper(SYS_dup, SITE_DUP, SITE_NONE, SITE_NONE);
	wrapper(SYS_dup2, SITE_DUP2, SITE_NONE, SITE_NONE);
	wrapper(SYS_pipe2, SITE_PIPE, RDI, SITE_NONE);
	wrapper(SYS_socketpair, SITE_PAIR, R10, SITE_NONE);
	wrapper(SYS_socket, SITE_MADE, SITE_NONE, SITE_NONE);
	wrapper(SYS_close_range, SITE_RANGE, SITE_NONE, SITE_NONE);
	wrapper(SYS_mmap, SITE_MAP, SITE_NONE, SITE_NONE);
	put_in();
	int got = (int)made(0, fd, 0, 0, 0, 0);
	const struct counted_entry *e = latest(SITE_DUP, 1);
	assert_true(got > fd && e->fd == fd && e->value == got);
	assert_int_equal(made(0, 1000, 0, 0, 0, 0), -EBADF);
	struct counted_row row = some_row(got);
	assert_int_equal(made(1, fd, got, 0, 0, 0), got);
	e = latest(SITE_DUP2, 2);
	assert_true(e->fd == fd && e->value == got && e->flying == 40 + (uint32_t)got);
	has_row(e, row);
	assert_int_equal(made(1, 1000, got, 0, 0, 0), -EBADF);
	assert_int_equal(table->pos, 2);
	close(got);

	assert_int_equal(made(2, (long)both, O_CLOEXEC, 0, 0, 0), 0);
	assert_memory_equal(&latest(SITE_PIPE, 3)->value, both, sizeof(both));
	close(both[0]);
	close(both[1]);
	assert_int_equal(made(2, 8, 0, 0, 0, 0), -EFAULT);
	assert_int_equal(made(3, 1 /* AF_UNIX */, 1 /* SOCK_STREAM */, 0, (long)both, 0), 0);
	assert_memory_equal(&latest(SITE_PAIR, 4)->value, both, sizeof(both));
	close(both[0]);
	close(both[1]);
	unused = (int)made(4, 1, 1, 0, 0, 0);
	assert_int_equal(latest(SITE_MADE, 5)->value, unused);
	close(unused);
	assert_int_equal(made(4, -1, 1, 0, 0, 0), -EAFNOSUPPORT);
	assert_int_equal(table->pos, 5);
	assert_int_equal(made(5, 1 << 20, 1 << 21, 0, 0, 0), 0);
	latest(SITE_RANGE, 6);
	assert_int_equal(made(5, 2, 1, 0, 0, 0), -EINVAL);

	void *p = (void *)call_at(function(6), -1, 0, 5000, PROT_READ, MAP_PRIVATE, fd);
	e = latest(SITE_MAP, 7);
	assert_true(e->fd == fd && e->value == 5000);
	munmap(p, 5000);
	p = (void *)call_at(function(6), -1, 0, 5000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	munmap(p, 5000);
	assert_int_equal(call_at(function(6), -1, 0, 5000, PROT_READ, MAP_PRIVATE, 1000), -EBADF);
	assert_int_equal(table->pos, 7);
	close(fd);
}

static void spliced(void **state)
{
	(void)state;
	int from[2], to[2];
	wrapper(SYS_splice, SITE_SPLICE, RDI, RDX);
	wrapper(SYS_tee, SITE_SPLICE, RDI, RSI);
	put_in();
	assert_int_equal(pipe2(from, O_CLOEXEC) | pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(write(from[1], "1234567", 7), 7);
	assert_int_equal(made(1, from[0], to[1], 5, 0, 0), 5);
	const struct counted_entry *e = latest(SITE_SPLICE, 1);
	assert_true(e->fd == from[0] && e->to == to[1] && e->value == 5);
	assert_int_equal(made(0, from[0], 0, to[1], 0, 6), 6);
	e = latest(SITE_SPLICE, 2);
	assert_true(e->fd == from[0] && e->to == to[1] && e->value == 6);
	assert_int_equal(made(0, 1000, 0, to[1], 0, 6), -EBADF);
	assert_int_equal(table->pos, 2);
	for (int i = 0; i < 2; i++) {
		close(from[i]);
		close(to[i]);
	}
}

/* ---- before a child ---- */

/* mov $nr,%eax; ret: the call itself is not made. */
static struct site *mark(int nr)
{
	struct site *t = wrapper(nr, SITE_MARK, SITE_NONE, SITE_NONE);
	t->offset -= LOAD_BYTES;
	t->taken = LOAD_BYTES;
	memcpy(t->bytes, region + t->offset, SITE_BYTES);
	region[t->offset + LOAD_BYTES] = 0xc3;
	return t;
}

static void marks(void **state)
{
	(void)state;
	uint64_t args[8] = {CLONE_VM};
	mark(SYS_vfork);
	mark(SYS_clone);
	mark(435);
	/* One whose number is loaded earlier, and whose bytes have something to do: mov %esi,%edi; nop... */
	struct site *before = mark(SYS_clone);
	static const unsigned char move[] = {0x48, 0x89, 0xf7, 0x66, 0x90};
	memcpy(region + before->offset, move, sizeof(move));
	memcpy(before->bytes, move, sizeof(move));
	before->before = 1;
	put_in();
	assert_int_equal(made(0, 7, 7, 0, 0, 0), SYS_vfork);
	assert_int_equal(latest(SITE_MARK, 1)->value, 0);
	assert_int_equal(made(1, CLONE_FILES, 0, 0, 0, 0), SYS_clone);
	assert_int_equal(latest(SITE_MARK, 2)->value, CLONE_FILES);
	assert_int_equal(made(2, (long)args, sizeof(args), 0, 0, 0), 435);
	assert_int_equal(latest(SITE_MARK, 3)->value, CLONE_VM);
	assert_int_equal(made(3, 0, CLONE_FS, 0, 0, 0), SYS_clone);
	assert_int_equal(latest(SITE_MARK, 4)->value, CLONE_FS);
	assert_int_equal(table->threads, 0);
	assert_int_equal(made(1, CLONE_VM | CLONE_THREAD, 0, 0, 0, 0), SYS_clone);
	assert_int_equal(latest(SITE_MARK, 5)->value, CLONE_VM | CLONE_THREAD);
	assert_int_equal(table->threads, CLONE_THREAD);
}

/* ---- who, where and how often ---- */

/* Where behind its pointer this thread's number stands; 0: it is not found. */
static uint32_t place_of_tid(void)
{
	for (uint32_t at = 64; at < 2048; at += 4) {
		uint32_t word;
		__asm__ volatile("movl %%fs:(%1),%0" : "=r"(word) : "r"((uint64_t)at));
		if (word == (uint32_t)gettid())
			return at;
	}
	return 0;
}

static void of_threads(void **state)
{
	(void)state;
	sites.tid = place_of_tid();
	assert_true(sites.tid > 0);
	wrapper(SYS_socket, SITE_MADE, SITE_NONE, SITE_NONE);
	wrapper(SYS_socket, SITE_MADE, SITE_NONE, SITE_NONE)->single = 1;
	put_in();
	for (int i = 0; i < 4; i++) {
		table->threads = i < 2 ? 0 : CLONE_THREAD;
		close((int)made((size_t)i % 2, 1, 1, 0, 0, 0));
		assert_int_equal(latest(SITE_MADE, 1 + (uint32_t)i)->tid, i == 2 ? gettid() : 0);
	}
}

/* A child that shares the memory uses its parent's rows and entries: those behind `delta`. */
static void another_table(void **state)
{
	(void)state;
	static char byte;
	int fd = a_file(10);
	wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE);
	wrapper(SYS_dup, SITE_DUP, SITE_NONE, SITE_NONE);
	wrapper(SYS_close, SITE_CLOSE, SITE_NONE, SITE_NONE);
	put_in();
	table->delta = address(other) - address(table);
	assert_int_equal(made(0, fd, (long)&byte, 1, 0, 0), 1);
	assert_int_equal(table->row[fd].read_calls, 0);
	assert_int_equal(other->row[fd].read_calls, 1);
	assert_int_equal(other->row[fd].read_bytes, 1);
	int got = (int)made(1, fd, 0, 0, 0, 0);
	other->flying[got] = 3;
	other->row[got].write_calls = 9;
	assert_int_equal(made(2, got, 0, 0, 0, 0), 0);
	assert_int_equal(table->pos, 2); /* counted where the code is */
	assert_int_equal(table->entry[0].seq, 0);
	assert_int_equal(other->entry[0].seq, 1);
	assert_int_equal(other->entry[0].value, got);
	assert_int_equal(other->entry[1].flying, 3);
	assert_int_equal(other->entry[1].row.write_calls, 9);
	close(fd);
}

static void the_ring_goes_round(void **state)
{
	(void)state;
	wrapper(SYS_close_range, SITE_RANGE, SITE_NONE, SITE_NONE);
	put_in();
	for (uint32_t i = 1; i <= COUNTED_LOG + 2; i++) {
		assert_int_equal(made(0, 1 << 20, 1 << 21, 0, 0, 0), 0);
		latest(SITE_RANGE, i);
	}
	assert_int_equal(table->entry[0].seq, COUNTED_LOG + 1);
	assert_int_equal(table->entry[2].seq, 3);
	table->pos = UINT32_MAX;
	assert_int_equal(made(0, 1 << 20, 1 << 21, 0, 0, 0), 0);
	assert_int_equal(table->pos, 0);
	assert_int_equal(table->entry[COUNTED_LOG - 1].seq, 0);
}

/* ---- stubs of any call ---- */

/* syscall(2): the number comes in eax. */
static void any_call(void **state)
{
	(void)state;
	static char bytes[10];
	static const unsigned kinds[] = {SITE_ANY, SITE_SOME};
	for (int some = 0; some < 2; some++) {
		int fd = a_file(10);
		memset(table, 0, sizeof(*table));
		sites.n = 0;
		wrapper(0, kinds[some], SITE_NONE, SITE_NONE);
		put_in();
		const void *call = function(0) + LOAD_BYTES;
		assert_int_equal(call_at(call, SYS_getpid, 0, 0, 0, 0, 0), getpid());
		assert_int_equal(call_at(call, SYS_read, fd, (long)bytes, 4, 0, 0), 4);
		counts(fd, (struct counted_row){.read_calls = 1, .read_bytes = 4});
		/* SOME, which is of standard I/O, does not look for these. */
		assert_int_equal(call_at(call, SYS_pwritev, fd, 0, 0, 0, 0), 0);
		assert_int_equal(call_at(call, SYS_pwrite64, fd, (long)bytes, 2, 0, 0), 2);
		assert_int_equal(table->row[fd].other_write_calls, some ? 0 : 2);
		int got = (int)call_at(call, SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0, 0, 0);
		const struct counted_entry *e = latest(SITE_DUP, 1);
		assert_true(e->fd == fd && e->value == got);
		assert_int_equal(call_at(call, SYS_fcntl, fd, F_GETFD, 0, 0, 0), FD_CLOEXEC);
		assert_int_equal(call_at(call, SYS_fcntl, 1000, F_DUPFD, 0, 0, 0), -EBADF);
		assert_int_equal(table->pos, 1);
		assert_int_equal(call_at(call, SYS_close, got, 0, 0, 0, 0), 0);
		assert_int_equal(latest(SITE_CLOSE, 2)->fd, got);
		got = (int)call_at(call, SYS_fcntl, fd, F_DUPFD, 0, 0, 0);
		assert_int_equal(latest(SITE_DUP, 3)->value, got);
		close(got);
		close(fd);
	}
}

/* A number that was guessed, and was another one. */
static void guessed(void **state)
{
	(void)state;
	static char bytes[10];
	int fd = a_file(10);
	wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE)->guessed = 1;
	put_in();
	assert_int_equal(made(0, fd, (long)bytes, 3, 0, 0), 3);
	assert_int_equal(call_at(function(0) + LOAD_BYTES, SYS_getpid, 0, 0, 0, 0, 0), getpid());
	assert_int_equal(call_at(function(0) + LOAD_BYTES, SYS_write, fd, (long)bytes, 3, 0, 0), 3);
	counts(fd, (struct counted_row){.read_calls = 1, .read_bytes = 3});
	/* Where the call is: behind the comparison. */
	assert_memory_equal(stubs.code + stubs.at[0], ((unsigned char[]){0x3d, 0, 0, 0, 0}), 5);
	assert_int_equal(stubs.call[0], stubs.at[0] + 11);
	close(fd);
}

/* The function of musl that makes every call in which a thread can be cancelled: number and arguments as a function has
 * them. What is put in its place is a jump to it. */
static void cancelled_calls(void **state)
{
	(void)state;
	static char bytes[10];
	static const unsigned char makes[] = {0x48, 0x89, 0xf8,             /* mov %rdi,%rax */
	                                      0x48, 0x89, 0xf7,             /* mov %rsi,%rdi */
	                                      0x48, 0x89, 0xd6,             /* mov %rdx,%rsi */
	                                      0x48, 0x89, 0xca,             /* mov %rcx,%rdx */
	                                      0x4d, 0x89, 0xc2,             /* mov %r8,%r10 */
	                                      0x4d, 0x89, 0xc8,             /* mov %r9,%r8 */
	                                      0x4c, 0x8b, 0x4c, 0x24, 0x08, /* mov 8(%rsp),%r9 */
	                                      0x0f, 0x05, 0xc3};
	struct site *t = wrapper(0, SITE_CANCEL, SITE_NONE, SITE_NONE);
	t->offset -= LOAD_BYTES;
	t->taken = 5;
	t->target = FUNCTION;
	memcpy(function(1), makes, sizeof(makes));
	put_in();
	typedef long (*any_function)(long nr, long a, long b, long c, long d, long e, long f);
	any_function f;
	void *at = function(0);
	memcpy(&f, &at, sizeof(f));
	int fd = a_file(10), both[2];
	assert_int_equal(f(SYS_getpid, 0, 0, 0, 0, 0, 0), getpid());
	assert_int_equal(f(SYS_read, fd, (long)bytes, 3, 0, 0, 0), 3);
	assert_int_equal(f(SYS_pread64, fd, (long)bytes, 4, 1, 0, 0), 4);
	assert_int_equal(f(SYS_write, fd, (long)bytes, 2, 0, 0, 0), 2);
	counts(fd, (struct counted_row){.read_calls = 1,
	                                .read_bytes = 3,
	                                .other_read_calls = 1,
	                                .other_read_bytes = 4,
	                                .write_calls = 1,
	                                .write_bytes = 2});
	assert_int_equal(pipe2(both, O_CLOEXEC), 0);
	assert_int_equal(write(both[1], "12345", 5), 5);
	int64_t end = 10;
	assert_int_equal(f(SYS_splice, both[0], 0, fd, (long)&end, 4, 0), 4); /* all six are handed on */
	const struct counted_entry *e = latest(SITE_SPLICE, 1);
	assert_true(e->fd == both[0] && e->to == fd && e->value == 4 && end == 14);
	int got = (int)f(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	assert_int_equal(latest(SITE_OPEN, 2)->value, got);
	assert_int_equal(f(SYS_close, got, 0, 0, 0, 0, 0), 0);
	assert_int_equal(latest(SITE_CLOSE, 3)->fd, got);
	/* Of an open that was made elsewhere. */
	struct counted_row row = some_row(fd);
	assert_int_equal(call_at(region + PAGE + stubs.logged[0], fd, 0, 0, 0, 0, 0), fd);
	e = latest(SITE_LOGGED, 4);
	assert_int_equal(e->value, fd);
	has_row(e, row);
	close(both[0]);
	close(both[1]);
	close(fd);
}

/* An open that was made and written down elsewhere goes on there, to have it in the log. */
static void logged_opens(void **state)
{
	(void)state;
	wrapper(SYS_openat, SITE_OPEN, SITE_NONE, SITE_NONE);
	wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE);
	put_in();
	struct counted_row row = some_row(9);
	const void *at = region + PAGE + stubs.logged[0];
	assert_int_equal(call_at(at, 9, 0, 0, 0, 0, 0), 9);
	const struct counted_entry *e = latest(SITE_LOGGED, 1);
	assert_int_equal(e->value, 9);
	has_row(e, row);
	assert_int_equal(call_at(at, -ENOENT, 0, 0, 0, 0, 0), -ENOENT);
	assert_int_equal(call_at(at, COUNTED_FDS, 0, 0, 0, 0, 0), COUNTED_FDS);
	assert_int_equal(table->pos, 1);
	assert_int_equal(call_at(at, COUNTED_FDS - 1, 0, 0, 0, 0, 0), COUNTED_FDS - 1);
	assert_int_equal(latest(SITE_LOGGED, 2)->value, COUNTED_FDS - 1);
	assert_int_equal(stubs.logged[1], 0);
}

/* ---- the way of programs with threads ---- */

/* A wrapper with a frame: sub $24,%rsp; call begin; mov $nr,%eax; syscall; add $24,%rsp; ret. begin: mov $1,%eax; ret,
 * in the function behind it. */
static void framed(int nr, unsigned first, unsigned last)
{
	static const unsigned char code[] = {0x48, 0x83, 0xec, 24,   0xe8, 0,    0,    0,    0,  0xb8, 0,
	                                     0,    0,    0,    0x0f, 0x05, 0x48, 0x83, 0xc4, 24, 0xc3};
	static const unsigned char begin[] = {0xb8, 1, 0, 0, 0, 0xc3};
	unsigned char *f = function(0);
	int32_t d = FUNCTION - 9;
	memcpy(f, code, sizeof(code));
	memcpy(f + 5, &d, 4);
	memcpy(f + 10, &nr, 4);
	memcpy(function(1), begin, sizeof(begin));
	sites.site[0] =
	    (struct site){.offset = 4, .kind = (uint8_t)first, .slot = 8, .taken = 5, .target = FUNCTION, .nr = nr};
	sites.site[1] = (struct site){.offset = 16, .kind = (uint8_t)last, .slot = 8, .frame = 24, .taken = 5, .nr = nr};
	sites.n = last == SITE_NONE ? 1 : 2;
}

static void moved_by_threads(void **state)
{
	(void)state;
	static char bytes[10];
	for (int write = 0; write < 2; write++) {
		int fd = a_file(10);
		memset(table, 0, sizeof(*table));
		framed(write ? SYS_pwrite64 : SYS_read, SITE_BEGIN, SITE_DONE);
		sites.site[1].from = write ? SITE_NONE : RDI;
		sites.site[1].to = write ? RDI : SITE_NONE;
		sites.site[1].positional = (uint8_t)write;
		put_in();
		table->flying[fd] = 5;
		assert_int_equal(made(0, fd, (long)bytes, 4, 0, 0), 4);
		counts(fd, write ? (struct counted_row){.other_write_calls = 1, .other_write_bytes = 4}
		                 : (struct counted_row){.read_calls = 1, .read_bytes = 4});
		assert_int_equal(made(0, 1000, (long)bytes, 4, 0, 0), -EBADF);
		counts(1000, no_row);
		assert_int_equal(table->flying[fd], 5);
		assert_int_equal(table->flying[1000], 0);
		/* While it is under way it is one more: without the end it stays so. */
		memcpy(region + 16, ((unsigned char[]){0x48, 0x83, 0xc4, 24, 0xc3}), 5);
		assert_int_equal(made(0, fd, (long)bytes, 4, 0, 0), 4);
		assert_int_equal(table->flying[fd], 6);
		close(fd);
	}
}

static void closed_and_opened_by_threads(void **state)
{
	(void)state;
	framed(SYS_close, SITE_SHUT, SITE_NONE);
	put_in();
	int fd = a_file(0);
	struct counted_row row = some_row(fd);
	assert_int_equal(made(0, fd, 0, 0, 0, 0), 0);
	const struct counted_entry *e = latest(SITE_CLOSE, 1);
	assert_int_equal(e->fd, fd);
	has_row(e, row);
	assert_int_equal(made(0, COUNTED_FDS, 0, 0, 0, 0), -EBADF);
	assert_int_equal(table->pos, 1);
	/* Behind an open, with its result in eax: jmp, which goes to a ret. */
	sites.n = 1;
	*function(1) = 0xc3;
	sites.site[0] = (struct site){.offset = 0, .kind = SITE_OPENED, .taken = 5, .target = FUNCTION};
	put_in();
	row = some_row(9);
	assert_int_equal(call_at(function(0), 9, 0, 0, 0, 0, 0), 9);
	e = latest(SITE_OPEN, 2);
	assert_int_equal(e->value, 9);
	has_row(e, row);
	/* An int. */
	assert_int_equal(call_at(function(0), 0xffffffffL, 0, 0, 0, 0, 0), -1);
	assert_int_equal(latest(SITE_OPEN, 3)->value, -1);
}

/* ---- bounds ---- */

static void too_far_or_too_much(void **state)
{
	(void)state;
	uint64_t base = address(region), code = base + PAGE, far = (uint64_t)1 << 31;
	wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE);
	assert_int_equal(stubs_make(&sites, base, code, address(table), &stubs), 0);
	assert_int_equal(stubs.at[0] % 16, 0);
	assert_true(stubs.at[0] >= 24 && stubs.after[0] > stubs.at[0] && stubs.after[0] < stubs.n);
	assert_int_equal(stubs.call[0], stubs.at[0]);
	/* What the wrapper has behind the call is done behind the count. */
	assert_memory_equal(stubs.code + stubs.after[0], sites.site[0].bytes + 2, SITE_BYTES - 2);
	assert_int_equal(stubs_make(&sites, base, base + far + PAGE, base + far + PAGE, &stubs), -ERANGE);
	assert_int_equal(stubs_make(&sites, base, code, code + far + PAGE, &stubs), -ERANGE);
	assert_int_equal(stubs_make(&sites, base, code, code - far - 2 * sizeof(*table), &stubs), -ERANGE);
	while (sites.n < SITES_MAX)
		wrapper(0, SITE_ANY, SITE_NONE, SITE_NONE)->offset = 0;
	assert_int_equal(stubs_make(&sites, base, code, address(table), &stubs), -ERANGE);
	assert_true(stubs.n <= STUBS_SIZE);
}

/* ---- once for all processes ---- */

/* Stubs that were made for one place are those of another, where all lies as far apart. */
static void stubs_are_made_once(void **state)
{
	(void)state;
	const uint64_t base = address(region), code = base + PAGE, elsewhere = 0x123456000;
	wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE);
	wrapper(SYS_openat, SITE_OPEN, SITE_NONE, SITE_NONE);
	wrapper(SYS_close, SITE_CLOSE, SITE_NONE, SITE_NONE);
	const struct stubs *first = site_stubs(&sites, base, code, address(table));
	assert_non_null(first);
	const struct stubs *moved = site_stubs(&sites, base + elsewhere, code + elsewhere, address(table) + elsewhere);
	assert_ptr_equal(moved, first);
	assert_int_equal(stubs_make(&sites, base + elsewhere, code + elsewhere, address(table) + elsewhere, &stubs), 0);
	assert_int_equal(moved->n, stubs.n);
	assert_memory_equal(moved->code, stubs.code, stubs.n);
	assert_memory_equal(moved->at, stubs.at, sites.n * sizeof(stubs.at[0]));
	/* Other distances, other sites: others. */
	const struct stubs *farther = site_stubs(&sites, base, code + 16, address(table));
	assert_ptr_not_equal(farther, first);
	assert_int_equal(stubs_make(&sites, base, code + 16, address(table), &stubs), 0);
	assert_memory_equal(farther->code, stubs.code, stubs.n);
	sites.tid = 0x2d0;
	const struct stubs *threads = site_stubs(&sites, base, code, address(table));
	assert_int_equal(stubs_make(&sites, base, code, address(table), &stubs), 0);
	assert_int_equal(threads->n, stubs.n);
	assert_memory_equal(threads->code, stubs.code, stubs.n);
	assert_null(site_stubs(&sites, base, base + ((uint64_t)1 << 31) + PAGE, address(table)));
	/* More than are kept: the oldest is made anew, and is right. */
	for (unsigned i = 0; i < 16; i++)
		assert_non_null(site_stubs(&sites, base, code + 32 * (i + 1), address(table)));
	assert_memory_equal(site_stubs(&sites, base, code, address(table))->code, stubs.code, stubs.n);
}

/* The jumps of all sites, a page at a time, in the order in which they lie or in another. */
static void jumps_are_written_by_pages(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		wrapper(SYS_read, SITE_MOVE, RDI, SITE_NONE);
	for (int i = 0; i < 4; i++) {
		struct site t = sites.site[i];
		sites.site[i] = sites.site[7 - i];
		sites.site[7 - i] = t;
	}
	sites.site[8] = sites.site[0]; /* one that goes over the page's end */
	sites.site[8].offset = PAGE - 3;
	sites.n = 9;
	memcpy(region + PAGE - 3, sites.site[8].bytes, SITE_BYTES);
	const uint64_t base = address(region), code = base + 2 * PAGE;
	unsigned char was[2 * PAGE], is[2 * PAGE];
	bool changed;
	memcpy(was, region, sizeof(was));
	struct site_text *text = site_text_read(getpid(), &sites, base);
	assert_non_null(text);
	assert_true(site_text_is(text, NULL, 0));
	assert_int_equal(stubs_make(&sites, base, code, address(table), &stubs), 0);
	assert_false(site_text_is(text, &stubs, code));
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	assert_int_equal(site_text_jump(text, mem, &stubs, code, &changed), 0);
	assert_true(changed);
	memcpy(is, region, sizeof(is));
	for (size_t i = 0; i < sites.n; i++) {
		unsigned char jump[SITE_BYTES];
		stubs_jump(&sites.site[i], base, code, stubs.at[i], jump);
		memcpy(was + sites.site[i].offset, jump, sites.site[i].taken);
	}
	assert_memory_equal(is, was, sizeof(was)); /* those bytes and no others */
	site_text_free(text);
	text = site_text_read(getpid(), &sites, base);
	assert_true(site_text_is(text, &stubs, code));
	region[sites.site[3].offset + 1]++;
	site_text_free(text);
	text = site_text_read(getpid(), &sites, base);
	assert_false(site_text_is(text, &stubs, code));
	site_text_free(text);
	/* Nothing is there. */
	assert_null(site_text_read(getpid(), &sites, 0));
	close(mem);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(bytes_are_counted),
	                                   TEST(high_descriptors),
	                                   TEST(opened_and_closed),
	                                   TEST(duplicates_and_pairs),
	                                   TEST(spliced),
	                                   TEST(marks),
	                                   TEST(of_threads),
	                                   TEST(another_table),
	                                   TEST(the_ring_goes_round),
	                                   TEST(any_call),
	                                   TEST(guessed),
	                                   TEST(cancelled_calls),
	                                   TEST(logged_opens),
	                                   TEST(moved_by_threads),
	                                   TEST(closed_and_opened_by_threads),
	                                   TEST(too_far_or_too_much),
	                                   TEST(stubs_are_made_once),
	                                   TEST(jumps_are_written_by_pages)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("# SKIP: the code is of x86-64 alone");
	return 77;
}

#endif
