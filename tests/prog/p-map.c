/* p-map.c - data that moves without read or write: shared mappings, copies in the kernel. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 8192

static char *map(int fd, int prot, int flags)
{
	char *p = mmap(NULL, SIZE, prot, flags, fd, 0);
	check(p != MAP_FAILED);
	return p;
}

static int sized(const char *name)
{
	int fd = (int)must(open(in_dir(name), O_RDWR | O_CREAT, 0644));
	must(ftruncate(fd, SIZE));
	return fd;
}

CASE(c_shared)
{
	int fd = sized("out");
	truth_fd("create", in_dir("out"), fd);
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	truth_fd("mapped", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	close(fd);
	strcpy(p, "stored");
}

/* An existing file, its size unchanged, the descriptor closed and its number given to another before the first store.
 */
CASE(c_shared_existing)
{
	int fd = (int)must(open(in_dir("page"), O_RDWR));
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	truth_fd("mapped", in_dir("page"), fd);
	truth_fd("write", in_dir("page"), fd);
	close(fd);
	check(open(in_dir("in"), O_RDONLY) == fd);
	truth_fd("read", in_dir("in"), fd);
	p[100] = 'x';
	must(munmap(p, SIZE));
}

CASE(c_private)
{
	int fd = (int)must(open(in_dir("page"), O_RDWR));
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	truth_fd("may-read", in_dir("page"), fd);
	truth("no-write", in_dir("page"));
	close(fd);
	p[0] = 'x';
}

CASE(c_read_only)
{
	int fd = (int)must(open(in_dir("page"), O_RDONLY));
	char *p = map(fd, PROT_READ, MAP_SHARED);
	truth_fd("read", in_dir("page"), fd);
	truth("not-written", in_dir("page"));
	close(fd);
	put(1, p[0] ? "page\n" : "hole\n");
}

/* Mapped for reading, made writable later, when no descriptor is left. */
CASE(c_mprotect)
{
	int fd = (int)must(open(in_dir("page"), O_RDWR));
	char *p = map(fd, PROT_READ, MAP_SHARED);
	truth_fd("may-write", in_dir("page"), fd);
	close(fd);
	must(mprotect(p, SIZE, PROT_READ | PROT_WRITE));
	p[0] = 'x';
}

CASE(c_shared_child)
{
	int fd = sized("out");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	char *p = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	close(fd);
	pid_t pid = spawn();
	if (pid == 0) {
		p[0] = 'c';
		truth("may-write", in_dir("out"));
		leave(0);
	}
	check(await(pid) == 0);
}

CASE(c_fixed_and_moved)
{
	int fd = sized("out");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("mapped", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	char *p = map(-1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
	check(mmap(p, SIZE, PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == p);
	close(fd);
	p = mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	check(p != MAP_FAILED);
	p[1] = 'x';
}

CASE(c_shared_failing)
{
	int fd = (int)must(open(in_dir("page"), O_RDONLY));
	check(mmap(NULL, SIZE, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EACCES);
	check(mmap(NULL, SIZE, PROT_WRITE, MAP_SHARED, 1000, 0) == MAP_FAILED && errno == EBADF);
	truth_fd("read", in_dir("page"), fd);
	truth("not-written", in_dir("page"));
}

/* ---- copies in the kernel -------------------------------------------------------------------------------------- */

static int in, out;

static void open_both(void)
{
	in = (int)must(open(in_dir("page"), O_RDONLY));
	out = (int)must(open(in_dir("out"), O_WRONLY | O_CREAT, 0644));
	truth_fd("read", in_dir("page"), in);
	truth_fd("create", in_dir("out"), out);
	truth_fd("write", in_dir("out"), out);
}

CASE(c_sendfile)
{
	open_both();
	check(must(sendfile(out, in, NULL, SIZE)) > 0);
}

CASE(c_splice)
{
	int p[2];
	open_both();
	must(pipe(p));
	long n = must(splice(in, NULL, p[1], NULL, SIZE, 0));
	check(n > 0);
	check(splice(p[0], NULL, out, NULL, (size_t)n, 0) == n);
}

CASE(c_copy_file_range)
{
	open_both();
	if (copy_file_range(in, NULL, out, NULL, SIZE, 0) <= 0)
		skip("this file system has no copy_file_range");
}

CASE(c_copy_existing)
{
	int a = (int)must(open(in_dir("page"), O_RDONLY));
	int b = (int)must(open(in_dir("in"), O_WRONLY));
	truth_fd("read", in_dir("page"), a);
	truth_fd("write", in_dir("in"), b);
	if (copy_file_range(a, NULL, b, NULL, 4, 0) != 4)
		skip("this file system has no copy_file_range");
}

CASE(c_ficlone)
{
	open_both();
	if (ioctl(out, FICLONE, in) < 0)
		skip("this file system has no FICLONE");
}

const struct tcase cases[] = {
    {"shared", c_shared},
    {"shared-existing", c_shared_existing},
    {"private", c_private},
    {"read-only", c_read_only},
    {"mprotect", c_mprotect},
    {"shared-child", c_shared_child},
    {"fixed-and-moved", c_fixed_and_moved},
    {"shared-failing", c_shared_failing},
    {"sendfile", c_sendfile},
    {"splice", c_splice},
    {"copy-file-range", c_copy_file_range},
    {"copy-existing", c_copy_existing},
    {"ficlone", c_ficlone},
    {0},
};
