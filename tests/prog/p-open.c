/* p-open.c - every way to open a file by name. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "in" and "in2" hold a line each and "page" 8192 bytes before any case begins; sub/ is an empty directory. */

static void open_read(int dirfd, const char *name, int flags, const char *truly)
{
	int fd = (int)must(openat(dirfd, name, flags | O_RDONLY));
	get(fd);
	truth_fd("read", truly, fd);
	close(fd);
}

static void open_create(int dirfd, const char *name, const char *truly)
{
	int fd = (int)must(openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	put(fd, "created\n");
	truth_fd("create", truly, fd);
	truth_fd("write", truly, fd);
	close(fd);
}

CASE(c_read)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	get(fd);
	truth_fd("read", in_dir("in"), fd);
	truth("not-written", in_dir("in"));
}

/* The call that newer libraries no longer make. */
CASE(c_open_call)
{
#ifdef SYS_open
	int fd = (int)must(syscall(SYS_open, in_dir("in"), O_RDONLY));
	get(fd);
	truth_fd("read", in_dir("in"), fd);
	fd = (int)must(syscall(SYS_open, in_dir("out"), O_WRONLY | O_CREAT, 0600));
	put(fd, "x");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
#else
	skip("this architecture has no open call");
#endif
}

CASE(c_create)
{
	make_file(in_dir("out"));
	truth("not-read", in_dir("out"));
}

CASE(c_creat)
{
	int fd = (int)must(creat(in_dir("out"), 0644));
	put(fd, "created\n");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
}

CASE(c_cwd)
{
	must(chdir(dir));
	open_read(AT_FDCWD, "in", 0, in_dir("in"));
	open_create(AT_FDCWD, "./sub/../out", in_dir("out"));
}

CASE(c_dirfd)
{
	int d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	must(chdir("/"));
	open_read(d, "../in", 0, in_dir("in"));
	open_create(d, "out", in_dir("sub/out"));
	open_read(d, in_dir("in2"), 0, in_dir("in2"));
	/* The number again, for another directory. */
	close(d);
	check(open(dir, O_PATH | O_DIRECTORY) == d);
	open_create(d, "out", in_dir("out"));
}

CASE(c_dirfd_moved)
{
	int d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	open_create(d, "before", in_dir("sub/before"));
	must(rename(in_dir("sub"), in_dir("moved")));
	truth("rename", in_dir("sub"), in_dir("moved"), ino_of(d));
	open_create(d, "after", in_dir("moved/after"));
	open_read(d, "before", 0, in_dir("moved/before"));
}

static int call_openat2(int dirfd, const char *path, int flags, int resolve)
{
	struct open_how how = {.flags = (unsigned)flags, .resolve = (unsigned)resolve};
	if (flags & O_CREAT)
		how.mode = 0644;
	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

CASE(c_openat2)
{
	int d = (int)must(open(dir, O_PATH | O_DIRECTORY));
	int fd = call_openat2(d, "in", O_RDONLY, RESOLVE_BENEATH);
	if (fd < 0 && errno == ENOSYS)
		skip("the kernel has no openat2");
	must(fd);
	get(fd);
	truth_fd("read", in_dir("in"), fd);
	fd = (int)must(call_openat2(d, "out", O_WRONLY | O_CREAT, 0));
	put(fd, "x");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	check(call_openat2(d, "../x", O_RDONLY, RESOLVE_BENEATH) < 0 && errno == EXDEV);
}

/* The directory is the root of this one call: "/in2" is DIR/in2, and ".." leads no higher. */
CASE(c_openat2_in_root)
{
	int d = (int)must(open(dir, O_PATH | O_DIRECTORY));
	int fd = call_openat2(d, "/../in2", O_RDONLY, RESOLVE_IN_ROOT);
	if (fd < 0 && errno == ENOSYS)
		skip("the kernel has no openat2");
	must(fd);
	get(fd);
	truth_fd("read", in_dir("in2"), fd);
	fd = (int)must(call_openat2(d, "/sub/out", O_WRONLY | O_CREAT, RESOLVE_IN_ROOT));
	put(fd, "x");
	truth_fd("create", in_dir("sub/out"), fd);
	truth_fd("write", in_dir("sub/out"), fd);
}

CASE(c_rdwr)
{
	int fd = (int)must(open(in_dir("in"), O_RDWR));
	get(fd);
	put(fd, "more\n");
	truth_fd("may-read", in_dir("in"), fd);
	truth_fd("write", in_dir("in"), fd);
}

/* Opened for writing, as a database is for a query: no version may come of it. */
CASE(c_rdwr_unwritten)
{
	int fd = (int)must(open(in_dir("in"), O_RDWR));
	get(fd);
	truth_fd("may-read", in_dir("in"), fd);
	truth("no-write", in_dir("in"));
	close(fd);
	fd = (int)must(open(in_dir("in2"), O_WRONLY));
	truth("no-write", in_dir("in2"));
}

CASE(c_rdwr_create)
{
	int fd = (int)must(open(in_dir("out"), O_RDWR | O_CREAT | O_EXCL, 0644));
	put(fd, "x");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	check(open(in_dir("out"), O_RDWR | O_CREAT | O_EXCL, 0644) < 0 && errno == EEXIST);
}

CASE(c_append)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY | O_APPEND));
	put(fd, "more\n");
	truth_fd("append", in_dir("in"), fd);
	truth_fd("write", in_dir("in"), fd);
	truth("not-create", in_dir("in"));
}

CASE(c_trunc)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY | O_TRUNC));
	truth_fd("trunc", in_dir("in"), fd);
	truth_fd("write", in_dir("in"), fd);
	truth("not-create", in_dir("in"));
}

/* The same bytes over the old ones: neither size nor content tells. */
CASE(c_rewrite)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY));
	char b[16] = "";
	int r = (int)must(open(in_dir("in"), O_RDONLY));
	must(read(r, b, 4));
	put(fd, b);
	truth_fd("read", in_dir("in"), r);
	truth_fd("write", in_dir("in"), fd);
}

/* O_CREAT says nothing of whether the file was there. */
CASE(c_creat_existing)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY | O_CREAT, 0644));
	get(fd);
	truth_fd("read", in_dir("in"), fd);
	truth("not-create", in_dir("in"));
	truth("not-written", in_dir("in"));
	fd = (int)must(open(in_dir("in2"), O_WRONLY | O_CREAT, 0644));
	put(fd, "x");
	truth_fd("write", in_dir("in2"), fd);
	truth("not-create", in_dir("in2"));
	/* Created for reading. */
	fd = (int)must(open(in_dir("out"), O_RDONLY | O_CREAT, 0644));
	truth_fd("create", in_dir("out"), fd);
	truth_fd("read", in_dir("out"), fd);
}

CASE(c_absent)
{
	check(open(in_dir("nowhere"), O_RDONLY) < 0 && errno == ENOENT);
	truth("absent", in_dir("nowhere"));
	check(open(in_dir("no/where"), O_RDONLY) < 0 && errno == ENOENT);
	truth("absent", in_dir("no/where"));
	must(chdir(in_dir("sub")));
	check(open("../sub/none", O_RDONLY) < 0 && errno == ENOENT);
	truth("absent", in_dir("sub/none"));
}

/* Looked for, not there, then made and read. */
CASE(c_absent_then_made)
{
	check(open(in_dir("later"), O_RDONLY) < 0 && errno == ENOENT);
	truth("absent", in_dir("later"));
	make_file(in_dir("later"));
	open_read(AT_FDCWD, in_dir("later"), 0, in_dir("later"));
}

CASE(c_denied)
{
	if (geteuid() == 0)
		skip("root is denied nothing");
	must(chmod(in_dir("in"), 0));
	check(open(in_dir("in"), O_RDONLY) < 0 && errno == EACCES);
	truth("no-access", in_dir("in"));
	must(chmod(in_dir("sub"), 0));
	check(open(in_dir("sub/x"), O_RDONLY) < 0 && errno == EACCES);
	check(open(in_dir("sub/x"), O_WRONLY | O_CREAT, 0644) < 0 && errno == EACCES);
	truth("no-name", in_dir("sub/x"));
	must(chmod(in_dir("sub"), 0700));
}

CASE(c_failing)
{
	check(open(in_dir("in"), O_RDONLY | O_DIRECTORY) < 0 && errno == ENOTDIR);
	check(open(in_dir("in/x"), O_RDONLY) < 0 && errno == ENOTDIR);
	check(open(in_dir("sub"), O_WRONLY) < 0 && errno == EISDIR);
	check(open("", O_RDONLY) < 0 && errno == ENOENT);
	check(openat(1234, "in", O_RDONLY) < 0 && errno == EBADF);
	truth("no-access", in_dir("in"));
	struct rlimit lim = {64, 64}, old;
	must(getrlimit(RLIMIT_NOFILE, &old));
	lim.rlim_max = old.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &lim));
	int fd, n = 0;
	while ((fd = dup(0)) >= 0)
		n++;
	check(errno == EMFILE && n > 0);
	/* What only the kernel knows, no record does (doc/capture.md). */
	check(open(in_dir("in2"), O_RDONLY) < 0 && errno == EMFILE);
	truth("maybe-read", in_dir("in2"));
}

/* Bad pointers fail as they always do, and harm nothing. */
CASE(c_efault)
{
	check(syscall(SYS_openat, AT_FDCWD, (char *)NULL, O_RDONLY) < 0 && errno == EFAULT);
	check(syscall(SYS_openat, AT_FDCWD, (char *)1, O_RDONLY) < 0 && errno == EFAULT);
	truth("allow-gap", "unreadable");
	open_read(AT_FDCWD, in_dir("in"), 0, in_dir("in"));
}

/* The path ends just before a page that is not there. */
CASE(c_page_end)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 3 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(p != MAP_FAILED);
	must(munmap(p + 2 * page, (size_t)page));
	const char *path = in_dir("in");
	size_t n = strlen(path) + 1;
	memcpy(p + 2 * page - n, path, n);
	open_read(AT_FDCWD, p + 2 * page - n, 0, in_dir("in"));
	memcpy(p + page - n / 2, path, n);
	open_read(AT_FDCWD, p + page - n / 2, 0, in_dir("in"));
	/* No end at all before the hole. */
	memset(p + page, 'a', (size_t)page);
	check(syscall(SYS_openat, AT_FDCWD, p + page, O_RDONLY) < 0 && (errno == EFAULT || errno == ENAMETOOLONG));
	truth("allow-gap", "unreadable");
}

/* A handle, not an access. */
CASE(c_path_only)
{
	int fd = (int)must(open(in_dir("in"), O_PATH));
	check(read(fd, &fd, 1) < 0 && errno == EBADF);
	truth("no-access", in_dir("in"));
}

CASE(c_symlink)
{
	must(symlink("in", in_dir("sym")));
	truth("create", in_dir("sym"));
	open_read(AT_FDCWD, in_dir("sym"), 0, in_dir("in"));
	must(symlink("../sym", in_dir("sub/sym2")));
	open_read(AT_FDCWD, in_dir("sub/sym2"), 0, in_dir("in"));
	must(symlink("sub", in_dir("symdir")));
	open_create(AT_FDCWD, in_dir("symdir/out"), in_dir("sub/out"));
	open_read(AT_FDCWD, in_dir("symdir/../in2"), 0, in_dir("in2"));
	check(open(in_dir("sym"), O_RDONLY | O_NOFOLLOW) < 0 && errno == ELOOP);
}

/* Creating through a link that leads nowhere makes the file it names. */
CASE(c_symlink_dangling)
{
	must(symlink("sub/target", in_dir("sym")));
	check(open(in_dir("sym"), O_RDONLY) < 0 && errno == ENOENT);
	check(open(in_dir("sym"), O_WRONLY | O_CREAT | O_EXCL, 0644) < 0 && errno == EEXIST);
	open_create(AT_FDCWD, in_dir("sym"), in_dir("sub/target"));
}

CASE(c_proc_fd)
{
	int fd = (int)must(open(in_dir("in"), O_PATH));
	char p[64] = "/proc/self/fd/";
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	int w = (int)must(open(p, O_WRONLY | O_APPEND));
	put(w, "x");
	truth_fd("write", in_dir("in"), w);
	strcpy(p, "/proc/thread-self/fd/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	strcpy(p, "/dev/fd/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
}

/* Opened again after its name has gone. */
CASE(c_proc_fd_deleted)
{
	make_file(in_dir("gone"));
	int fd = (int)must(open(in_dir("gone"), O_RDONLY));
	truth_fd("read", in_dir("gone"), fd);
	must(unlink(in_dir("gone")));
	truth("unlink", in_dir("gone"), ino_of(fd));
	char p[64] = "/proc/self/fd/";
	strcat(p, num(fd));
	int w = (int)must(open(p, O_WRONLY | O_TRUNC));
	put(w, "again");
	truth_fd("trunc", in_dir("gone"), w);
	truth_fd("write", in_dir("gone"), w);
	truth("no-name", in_dir("gone"));
	truth("no-name", in_dir("gone (deleted)"));
}

/* A link to what the process has; relative, by way of another, of a directory, of a name in other words. */
CASE(c_link_to_self)
{
	int fd = (int)must(open(in_dir("in"), O_PATH));
	char p[8192] = "/proc/self/fd/", up[8192] = "..";
	strcat(p, num(fd));
	must(symlink(p, in_dir("l1")));
	open_read(AT_FDCWD, in_dir("l1"), 0, in_dir("in"));
	must(symlink("l1", in_dir("l2")));
	open_read(AT_FDCWD, in_dir("l2"), 0, in_dir("in"));
	must(symlink("/dev/fd", in_dir("l3")));
	strcpy(p, in_dir("l3"));
	strcat(p, "/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	must(symlink("/proc/./self//fd", in_dir("l4")));
	strcpy(p, in_dir("l4"));
	strcat(p, "/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	for (const char *c = in_dir("sub"); *c; c++)
		if (*c == '/')
			strcat(up, "/..");
	strcat(up, "/proc/self/fd/");
	strcat(up, num(fd));
	must(symlink(up, in_dir("sub/l5")));
	open_read(AT_FDCWD, in_dir("sub/l5"), 0, in_dir("in"));
	must(chdir(in_dir("sub")));
	open_read(AT_FDCWD, "l5", 0, in_dir("in"));
	open_read(AT_FDCWD, "../l2", 0, in_dir("in"));
	strcpy(p, "../l4/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	strcpy(p, "//proc/../proc/self/fd/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	must(chdir("/"));
	strcpy(p, "proc/self/fd/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
	strcpy(p, "dev/fd/");
	strcat(p, num(fd));
	open_read(AT_FDCWD, p, 0, in_dir("in"));
}

/* The number is not one that the recorder has; or one that it has, too. */
CASE(c_link_to_standard)
{
	static const char *const std[] = {"/dev/stdin", "/dev/stdout", "/proc/self/fd/700"};
	struct stat st;
	int fd = (int)must(open(in_dir("in"), O_PATH)), two = (int)must(open(in_dir("in2"), O_PATH));
	int keep = (int)must(fcntl(1, F_DUPFD, 100));
	must(dup2(fd, 0));
	must(dup2(two, 1));
	must(dup2(two, 700));
	for (int i = 0; i < 3; i++) {
		char name[8] = "s0";
		if (lstat(std[i], &st) == 0 && S_ISREG(st.st_mode))
			continue; /* root's programs that write to it by a new file have taken it away */
		name[1] = (char)('0' + i);
		must(symlink(std[i], in_dir(name)));
		open_read(AT_FDCWD, in_dir(name), 0, in_dir(i ? "in2" : "in"));
	}
	must(dup2(keep, 1));
	int w = (int)must(open(in_dir("s0"), O_WRONLY | O_APPEND));
	put(w, "x");
	truth_fd("write", in_dir("in"), w);
	must(truncate(in_dir("s2"), 1));
	truth("write", in_dir("in2"));
}

/* Links of the directory, and a directory that becomes such a link. */
CASE(c_link_to_cwd)
{
	must(chdir(in_dir("sub")));
	must(symlink("/proc/self/cwd", in_dir("here")));
	make_file(in_dir("sub/mine"));
	open_read(AT_FDCWD, in_dir("here/mine"), 0, in_dir("sub/mine"));
	open_create(AT_FDCWD, in_dir("here/new"), in_dir("sub/new"));
	must(rename(in_dir("here/new"), in_dir("here/newer")));
	truth("rename", in_dir("sub/new"), in_dir("sub/newer"));
	must(unlink(in_dir("here/newer")));
	truth("unlink", in_dir("sub/newer"));
	must(mkdir(in_dir("turns"), 0755));
	make_file(in_dir("turns/mine"));
	int other = (int)must(open(in_dir("turns/mine"), O_RDONLY));
	truth_fd("read", in_dir("turns/mine"), other);
	must(rename(in_dir("turns"), in_dir("turned")));
	truth("rename", in_dir("turns"), in_dir("turned"));
	must(symlink("/proc/thread-self/cwd", in_dir("turns")));
	open_read(AT_FDCWD, in_dir("turns/mine"), 0, in_dir("sub/mine"));
	must(symlink("/proc/self", in_dir("self")));
	int fd = (int)must(open(in_dir("self/status"), O_RDONLY));
	get(fd);
	open_read(AT_FDCWD, in_dir("self/cwd/../in"), 0, in_dir("in"));
}

CASE(c_proc_cwd)
{
	must(chdir(in_dir("sub")));
	open_read(AT_FDCWD, "/proc/self/cwd/../in", 0, in_dir("in"));
	char p[8192] = "/proc/self/root";
	strcat(p, in_dir("in2"));
	open_read(AT_FDCWD, p, 0, in_dir("in2"));
}

CASE(c_devices)
{
	int fd = (int)must(open("/dev/null", O_RDWR));
	put(fd, "x");
	fd = (int)must(open("/dev/zero", O_RDONLY));
	get(fd);
	fd = (int)must(open("/proc/self/status", O_RDONLY));
	get(fd);
	truth("pseudo", "/dev/null");
	truth("pseudo", "/dev/zero");
}

CASE(c_high_fd)
{
	struct rlimit lim;
	must(getrlimit(RLIMIT_NOFILE, &lim));
	if (lim.rlim_max < 4096)
		skip("fewer than 4096 descriptors are allowed");
	lim.rlim_cur = 4096;
	must(setrlimit(RLIMIT_NOFILE, &lim));
	int d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	int high = (int)must(fcntl(d, F_DUPFD, 3000));
	close(d);
	for (int i = 0; i < 1500; i++)
		must(dup(0));
	int fd = (int)must(openat(high, "../out", O_WRONLY | O_CREAT, 0644));
	check(fd > 1000);
	put(fd, "x");
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	open_read(high, "../in", 0, in_dir("in"));
}

CASE(c_many)
{
	for (int i = 0; i < 3000; i++)
		open_read(AT_FDCWD, in_dir(i % 2 ? "in" : "in2"), 0, in_dir(i % 2 ? "in" : "in2"));
	/* After thousands of repetitions a new one must still be seen. */
	make_file(in_dir("last"));
}

CASE(c_many_files)
{
	for (int i = 0; i < 1000; i++) {
		char name[32] = "sub/f";
		strcat(name, num(i));
		make_file(in_dir(name));
	}
}

/* Path of nearly 4096 bytes, made component by component. */
CASE(c_long_path)
{
	char *path = malloc(16384);
	strcpy(path, dir);
	must(chdir(dir));
	while (strlen(path) < 4095 - 2 * 200 - 2) {
		char name[201];
		memset(name, 'd', 200);
		name[200] = 0;
		must(mkdir(name, 0755));
		must(chdir(name));
		strcat(path, "/");
		strcat(path, name);
	}
	/* The last component fills 4095 exactly. */
	size_t left = 4095 - strlen(path) - 1;
	while (left > 200) {
		char name[256];
		memset(name, 'e', 100);
		name[100] = 0;
		must(mkdir(name, 0755));
		must(chdir(name));
		strcat(path, "/");
		strcat(path, name);
		left = 4095 - strlen(path) - 1;
	}
	char *last = path + strlen(path);
	last[0] = '/';
	memset(last + 1, 'f', left);
	last[1 + left] = 0;
	check(strlen(path) == 4095);
	open_create(AT_FDCWD, path, path);
	open_read(AT_FDCWD, last + 1, 0, path);
}

/* Deeper than any absolute path can say; only relative names reach it. */
CASE(c_beyond_path_max)
{
	must(chdir(dir));
	for (int i = 0; i < 25; i++) {
		char name[201];
		memset(name, 'd', 200);
		name[200] = 0;
		must(mkdir(name, 0755));
		must(chdir(name));
	}
	int fd = (int)must(open("out", O_WRONLY | O_CREAT, 0644));
	put(fd, "x");
	truth_fd("create", "-", fd);
	truth_fd("write", "-", fd);
	truth("allow-gap", "limit");
	truth("unnamed", ino_of(fd));
	check(open("out/x", O_RDONLY) < 0 && errno == ENOTDIR);
	open_read(AT_FDCWD, in_dir("in"), 0, in_dir("in"));
}

CASE(c_odd_names)
{
	static const char *const names[] = {"a\nb",    "\xff\xfe", " ",  "tab\there",   "a b  c",
	                                    "\"q\"\\", "\x01\x7f", "--", "f (deleted)", "\xc3\xa9\xe2\x82\xac"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		open_create(AT_FDCWD, in_dir(names[i]), in_dir(names[i]));
	must(mkdir(in_dir("new\nline"), 0755));
	truth("create", in_dir("new\nline"));
	int d = (int)must(open(in_dir("new\nline"), O_RDONLY | O_DIRECTORY));
	open_create(d, "x\ny", in_dir("new\nline/x\ny"));
}

static int say_lib(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	char real[4096];
	if (info->dlpi_name[0] == '/' && realpath(info->dlpi_name, real))
		truth("read", real);
	return 0;
}

CASE(c_libs)
{
	dl_iterate_phdr(say_lib, NULL);
}

const struct tcase cases[] = {
    {"read", c_read},
    {"open-call", c_open_call},
    {"create", c_create},
    {"creat", c_creat},
    {"cwd", c_cwd},
    {"dirfd", c_dirfd},
    {"dirfd-moved", c_dirfd_moved},
    {"openat2", c_openat2},
    {"openat2-in-root", c_openat2_in_root},
    {"rdwr", c_rdwr},
    {"rdwr-unwritten", c_rdwr_unwritten},
    {"rdwr-create", c_rdwr_create},
    {"append", c_append},
    {"trunc", c_trunc},
    {"rewrite", c_rewrite},
    {"creat-existing", c_creat_existing},
    {"absent", c_absent},
    {"absent-then-made", c_absent_then_made},
    {"denied", c_denied},
    {"failing", c_failing},
    {"efault", c_efault},
    {"page-end", c_page_end},
    {"path-only", c_path_only},
    {"symlink", c_symlink},
    {"symlink-dangling", c_symlink_dangling},
    {"proc-fd", c_proc_fd},
    {"proc-fd-deleted", c_proc_fd_deleted},
    {"link-to-self", c_link_to_self},
    {"link-to-standard", c_link_to_standard},
    {"link-to-cwd", c_link_to_cwd},
    {"proc-cwd", c_proc_cwd},
    {"devices", c_devices},
    {"high-fd", c_high_fd},
    {"many", c_many},
    {"many-files", c_many_files},
    {"long-path", c_long_path},
    {"beyond-path-max", c_beyond_path_max},
    {"odd-names", c_odd_names},
    {"libs", c_libs},
    {0},
};
