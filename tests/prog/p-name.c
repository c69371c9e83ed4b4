/* p-name.c - making, changing and removing names: rename, link, unlink, mkdir, O_TMPFILE. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif

static int call_renameat2(int olddir, const char *old, int newdir, const char *new, unsigned flags)
{
	return (int)syscall(SYS_renameat2, olddir, old, newdir, new, flags);
}

static const char *ino_at(const char *path)
{
	struct stat st;
	must(lstat(path, &st));
	static __thread char b[8][26];
	static __thread unsigned turn;
	char *s = b[turn++ % 8];
	s[0] = '#';
	strcpy(s + 1, num((long long)st.st_ino));
	return s;
}

static void read_file(const char *path)
{
	int fd = (int)must(open(path, O_RDONLY));
	get(fd);
	truth_fd("read", path, fd);
	close(fd);
}

/* ---- rename ---------------------------------------------------------------------------------------------------- */

CASE(c_rename)
{
	make_file(in_dir("a"));
	const char *ino = ino_at(in_dir("a"));
	must(rename(in_dir("a"), in_dir("b")));
	truth("rename", in_dir("a"), in_dir("b"), ino);
	read_file(in_dir("b"));
	truth("named", in_dir("b"), ino);
	truth("no-name", in_dir("a"));
}

/* A file the recorder has not met before. */
CASE(c_rename_unknown)
{
	const char *ino = ino_at(in_dir("in"));
	must(rename(in_dir("in"), in_dir("sub/in")));
	truth("rename", in_dir("in"), in_dir("sub/in"), ino);
}

CASE(c_renameat)
{
	int a = (int)must(open(in_dir("sub"), O_PATH | O_DIRECTORY));
	must(mkdir(in_dir("sub2"), 0755));
	int b = (int)must(open(in_dir("sub2"), O_RDONLY | O_DIRECTORY));
	make_file(in_dir("sub/x"));
	const char *ino = ino_at(in_dir("sub/x"));
	must(renameat(a, "x", b, "../sub2/y"));
	truth("rename", in_dir("sub/x"), in_dir("sub2/y"), ino);
	must(chdir(in_dir("sub2")));
	must(renameat(AT_FDCWD, "y", a, "z"));
	truth("rename", in_dir("sub2/y"), in_dir("sub/z"), ino);
}

/* "Write a temporary, rename it over": the commonest commit. */
CASE(c_rename_over)
{
	const char *was = ino_at(in_dir("in"));
	make_file(in_dir("in.tmp"));
	const char *ino = ino_at(in_dir("in.tmp"));
	must(rename(in_dir("in.tmp"), in_dir("in")));
	truth("rename", in_dir("in.tmp"), in_dir("in"), ino);
	truth("named", in_dir("in"), ino);
	truth("not-named", in_dir("in"), was);
}

/* The replaced file lives on in its holders' descriptors. */
CASE(c_rename_over_open)
{
	int r = (int)must(open(in_dir("in"), O_RDONLY));
	int w = (int)must(open(in_dir("in"), O_WRONLY | O_APPEND));
	const char *was = ino_of(r);
	make_file(in_dir("new"));
	const char *ino = ino_at(in_dir("new"));
	must(rename(in_dir("new"), in_dir("in")));
	truth("rename", in_dir("new"), in_dir("in"), ino);
	put(w, "to the old one\n");
	truth("write", in_dir("in"), was);
	get(r);
	truth("read", in_dir("in"), was);
	read_file(in_dir("in"));
	truth("not-named", in_dir("in"), was);
	truth("distinct", was, ino);
}

CASE(c_rename_noreplace)
{
	make_file(in_dir("a"));
	const char *ino = ino_at(in_dir("a"));
	check(call_renameat2(AT_FDCWD, in_dir("a"), AT_FDCWD, in_dir("in"), RENAME_NOREPLACE) < 0 && errno == EEXIST);
	truth("not-named", in_dir("in"), ino);
	must(call_renameat2(AT_FDCWD, in_dir("a"), AT_FDCWD, in_dir("b"), RENAME_NOREPLACE));
	truth("rename", in_dir("a"), in_dir("b"), ino);
}

CASE(c_exchange)
{
	make_file(in_dir("a"));
	const char *a = ino_at(in_dir("a"));
	const char *b = ino_at(in_dir("in"));
	read_file(in_dir("in"));
	if (call_renameat2(AT_FDCWD, in_dir("a"), AT_FDCWD, in_dir("in"), RENAME_EXCHANGE) < 0)
		skip("this file system cannot exchange names");
	truth("exchange", in_dir("a"), in_dir("in"));
	truth("named", in_dir("in"), a);
	truth("named", in_dir("a"), b);
	read_file(in_dir("in"));
	read_file(in_dir("a"));
}

CASE(c_exchange_dirs)
{
	must(mkdir(in_dir("d1"), 0755));
	must(mkdir(in_dir("d2"), 0755));
	make_file(in_dir("d1/f"));
	make_file(in_dir("d2/f"));
	make_file(in_dir("d2/g"));
	const char *f1 = ino_at(in_dir("d1/f"));
	const char *f2 = ino_at(in_dir("d2/f"));
	const char *g = ino_at(in_dir("d2/g"));
	if (call_renameat2(AT_FDCWD, in_dir("d1"), AT_FDCWD, in_dir("d2"), RENAME_EXCHANGE) < 0)
		skip("this file system cannot exchange names");
	truth("named", in_dir("d2/f"), f1);
	truth("named", in_dir("d1/f"), f2);
	truth("named", in_dir("d1/g"), g);
	truth("not-named", in_dir("d2/f"), f2);
}

CASE(c_rename_dir)
{
	must(mkdir(in_dir("sub/deep"), 0755));
	make_file(in_dir("sub/f"));
	make_file(in_dir("sub/deep/g"));
	make_file(in_dir("subway"));
	const char *f = ino_at(in_dir("sub/f"));
	const char *g = ino_at(in_dir("sub/deep/g"));
	const char *s = ino_at(in_dir("subway"));
	const char *d = ino_at(in_dir("sub"));
	must(rename(in_dir("sub"), in_dir("bus")));
	truth("rename", in_dir("sub"), in_dir("bus"), d);
	truth("named", in_dir("bus/f"), f);
	truth("named", in_dir("bus/deep/g"), g);
	truth("named", in_dir("subway"), s);
	truth("no-name", in_dir("sub/f"));
	read_file(in_dir("bus/deep/g"));
}

/* A symbolic link is renamed itself, not what it leads to; a trailing part of the path may be a link to a directory. */
CASE(c_rename_symlink)
{
	must(symlink("in", in_dir("sym")));
	const char *ino = ino_at(in_dir("sym"));
	must(rename(in_dir("sym"), in_dir("sym2")));
	truth("rename", in_dir("sym"), in_dir("sym2"), ino);
	truth("not-named", in_dir("sym2"), ino_at(in_dir("in")));
	must(symlink("sub", in_dir("symdir")));
	make_file(in_dir("a"));
	const char *a = ino_at(in_dir("a"));
	must(rename(in_dir("a"), in_dir("symdir/b")));
	truth("rename", in_dir("a"), in_dir("sub/b"), a);
	must(rename(in_dir("./symdir/../sub/b"), in_dir("symdir/../c")));
	truth("rename", in_dir("sub/b"), in_dir("c"), a);
}

CASE(c_rename_failing)
{
	make_file(in_dir("a"));
	const char *a = ino_at(in_dir("a"));
	check(rename(in_dir("nowhere"), in_dir("x")) < 0 && errno == ENOENT);
	check(rename(in_dir("a"), in_dir("no/x")) < 0 && errno == ENOENT);
	check(rename(in_dir("a"), in_dir("sub")) < 0 && errno == EISDIR);
	check(rename(in_dir("sub"), in_dir("sub/x")) < 0 && errno == EINVAL);
	/* Two names of one file: nothing happens, and that is success. */
	must(link(in_dir("a"), in_dir("b")));
	truth("link", in_dir("a"), in_dir("b"), a);
	must(rename(in_dir("a"), in_dir("b")));
	truth("named", in_dir("a"), a);
	truth("named", in_dir("b"), a);
	must(rename(in_dir("a"), in_dir("a")));
	truth("named", in_dir("a"), a);
}

/* ---- link, unlink ---------------------------------------------------------------------------------------------- */

CASE(c_link)
{
	make_file(in_dir("a"));
	const char *a = ino_at(in_dir("a"));
	must(link(in_dir("a"), in_dir("b")));
	truth("link", in_dir("a"), in_dir("b"), a);
	must(unlink(in_dir("a")));
	truth("unlink", in_dir("a"), a);
	truth("named", in_dir("b"), a);
	truth("no-name", in_dir("a"));
	int fd = (int)must(open(in_dir("b"), O_WRONLY | O_APPEND));
	put(fd, "x");
	truth_fd("write", in_dir("b"), fd);
}

CASE(c_linkat)
{
	int d = (int)must(open(in_dir("sub"), O_PATH | O_DIRECTORY));
	must(symlink("in", in_dir("sym")));
	const char *in = ino_at(in_dir("in"));
	const char *sym = ino_at(in_dir("sym"));
	must(linkat(AT_FDCWD, in_dir("sym"), d, "follow", AT_SYMLINK_FOLLOW));
	truth("link", in_dir("in"), in_dir("sub/follow"), in);
	must(linkat(AT_FDCWD, in_dir("sym"), d, "nofollow", 0));
	truth("named", in_dir("sub/nofollow"), sym);
	must(chdir(dir));
	must(linkat(AT_FDCWD, "in", d, "../rel", 0));
	truth("link", in_dir("in"), in_dir("rel"), in);
	check(link(in_dir("in"), in_dir("rel")) < 0 && errno == EEXIST);
}

CASE(c_unlink_open)
{
	int fd = (int)must(open(in_dir("a"), O_RDWR | O_CREAT, 0644));
	truth_fd("create", in_dir("a"), fd);
	must(unlink(in_dir("a")));
	truth("unlink", in_dir("a"), ino_of(fd));
	put(fd, "after\n");
	truth_fd("write", in_dir("a"), fd);
	truth("no-name", in_dir("a"));
}

/* ext4 gives the inode number to the next file at once: the number alone is not the file. */
CASE(c_inode_reuse)
{
	char first[32];
	make_file(in_dir("a"));
	strcpy(first, ino_at(in_dir("a")));
	for (int i = 0; i < 50; i++) {
		must(unlink(in_dir("a")));
		truth("unlink", in_dir("a"), first);
		make_file(in_dir("a"));
		const char *now = ino_at(in_dir("a"));
		if (strcmp(now, first) == 0) {
			truth("two-files", in_dir("a"), first);
			return;
		}
		strcpy(first, now);
	}
	skip("this file system gives no inode number twice in a row");
}

CASE(c_unlinkat)
{
	int d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	make_file(in_dir("sub/f"));
	const char *f = ino_at(in_dir("sub/f"));
	must(unlinkat(d, "f", 0));
	truth("unlink", in_dir("sub/f"), f);
	must(mkdirat(d, "e", 0755));
	truth("create", in_dir("sub/e"));
	must(unlinkat(d, "e", AT_REMOVEDIR));
	truth("no-name", in_dir("sub/e"));
	check(unlinkat(d, "none", 0) < 0 && errno == ENOENT);
	/* The link goes, not what it names. */
	must(symlinkat("../in", d, "sym"));
	must(unlinkat(d, "sym", 0));
	truth("not-unlinked", in_dir("in"));
}

/* A file met only by its removal. */
CASE(c_unlink_unknown)
{
	const char *ino = ino_at(in_dir("in"));
	must(unlink(in_dir("in")));
	truth("unlink", in_dir("in"), ino);
}

CASE(c_dirs)
{
	must(mkdir(in_dir("d"), 0755));
	truth("create", in_dir("d"));
	must(mkdir(in_dir("d/e/"), 0755));
	make_file(in_dir("d/e/f"));
	check(rmdir(in_dir("d/e")) < 0 && errno == ENOTEMPTY);
	must(unlink(in_dir("d/e/f")));
	must(rmdir(in_dir("d/e")));
	must(rmdir(in_dir("d")));
	/* The same names again for others. */
	must(mkdir(in_dir("d"), 0755));
	must(mkdir(in_dir("d/e"), 0755));
	make_file(in_dir("d/e/f"));
	truth("named", in_dir("d/e/f"), ino_at(in_dir("d/e/f")));
	check(mkdir(in_dir("d"), 0755) < 0 && errno == EEXIST);
}

CASE(c_mknod)
{
	must(mkfifo(in_dir("fifo"), 0600));
	truth("create", in_dir("fifo"));
	must(mknod(in_dir("reg"), S_IFREG | 0644, 0));
	truth("create", in_dir("reg"));
	int fd = (int)must(open(in_dir("reg"), O_WRONLY));
	put(fd, "x");
	truth_fd("write", in_dir("reg"), fd);
	must(symlink("reg", in_dir("sym")));
	truth("create", in_dir("sym"));
}

/* ---- by the descriptor of a directory -------------------------------------------------------------------------- */

static void make_at(int d, const char *name, const char *path)
{
	int fd = (int)must(openat(d, name, O_WRONLY | O_CREAT | O_EXCL, 0644));
	put(fd, "by descriptor\n");
	truth_fd("create", in_dir(path), fd);
	truth_fd("write", in_dir(path), fd);
	close(fd);
}

static void read_at(int d, const char *name, const char *path)
{
	int fd = (int)must(openat(d, name, O_RDONLY));
	get(fd);
	truth_fd("read", in_dir(path), fd);
	close(fd);
}

/* The directory keeps its descriptor when it, or one above it, gets another name. */
CASE(c_dirfd_renamed)
{
	must(mkdir(in_dir("sub/d"), 0755));
	int d = (int)must(open(in_dir("sub/d"), O_RDONLY | O_DIRECTORY));
	must(chdir(in_dir("sub/d")));
	make_at(d, "a", "sub/d/a");
	make_at(AT_FDCWD, "b", "sub/d/b");
	must(rename(in_dir("sub/d"), in_dir("sub/e")));
	make_at(d, "c", "sub/e/c");
	make_at(AT_FDCWD, "f", "sub/e/f");
	must(rename(in_dir("sub"), in_dir("bus")));
	make_at(d, "g", "bus/e/g");
	make_at(AT_FDCWD, "h", "bus/e/h");
	read_at(d, "a", "bus/e/a");
	read_at(AT_FDCWD, "b", "bus/e/b");
	const char *ino = ino_at(in_dir("bus/e/a"));
	must(unlinkat(d, "a", 0));
	truth("unlink", in_dir("bus/e/a"), ino);
	ino = ino_at(in_dir("bus/e/b"));
	must(renameat(AT_FDCWD, "b", d, "i"));
	truth("rename", in_dir("bus/e/b"), in_dir("bus/e/i"), ino);
}

/* One that is removed may leave its inode to another. */
CASE(c_dirfd_reuse)
{
	for (int i = 0; i < 20; i++) {
		char d[16] = "sub/d", f[24];
		strcat(d, num(i));
		strcat(strcpy(f, d), "/f");
		must(mkdir(in_dir(d), 0755));
		int fd = (int)must(open(in_dir(d), O_RDONLY | O_DIRECTORY));
		make_at(fd, "f", f);
		const char *ino = ino_at(in_dir(f));
		must(unlinkat(fd, "f", 0));
		truth("unlink", in_dir(f), ino);
		close(fd);
		must(rmdir(in_dir(d)));
	}
}

/* What stands between the descriptor and the name: directories, links to directories, the directory above. */
CASE(c_dirfd_below)
{
	must(mkdir(in_dir("sub/deep"), 0755));
	must(symlink("deep", in_dir("sub/way")));
	must(symlink("../in", in_dir("sub/in")));
	must(symlink("deep/new", in_dir("sub/dangling")));
	int d = (int)must(open(in_dir("sub"), O_PATH | O_DIRECTORY));
	must(chdir(in_dir("sub")));
	make_at(d, "deep/a", "sub/deep/a");
	make_at(d, "way/b", "sub/deep/b");
	make_at(AT_FDCWD, "way/../deep/c", "sub/deep/c");
	make_at(AT_FDCWD, "./e", "sub/e");
	read_at(d, "way/a", "sub/deep/a");
	read_at(AT_FDCWD, "deep/b", "sub/deep/b");
	read_at(d, "in", "in");
	read_at(AT_FDCWD, "../in2", "in2");
	int fd = (int)must(openat(d, "dangling", O_WRONLY | O_CREAT, 0644));
	put(fd, "behind a link\n");
	truth_fd("write", in_dir("sub/deep/new"), fd);
	/* The link leads elsewhere from here on. */
	must(mkdir(in_dir("sub/deep2"), 0755));
	must(unlink(in_dir("sub/way")));
	must(symlink("deep2", in_dir("sub/way")));
	make_at(d, "way/a", "sub/deep2/a");
	check(openat(d, "none/x", O_RDONLY) < 0 && errno == ENOENT);
	truth("absent", in_dir("sub/none/x"));
	check(openat(d, "e/x", O_RDONLY) < 0 && errno == ENOTDIR);
}

/* Nobody else has a part in a lock, not even for a moment longer. */
CASE(c_dirfd_lock)
{
	int d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	make_file(in_dir("sub/a"));
	must(flock(d, LOCK_EX));
	must(unlinkat(d, "a", 0));
	must(mkdirat(d, "b", 0755));
	close(d);
	d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	must(flock(d, LOCK_EX | LOCK_NB));
	truth("no-name", in_dir("sub/a"));
}

/* ---- O_TMPFILE ------------------------------------------------------------------------------------------------- */

static int tmpfile_in_dir(int flags)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | flags, 0644);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		skip("this file system has no O_TMPFILE");
	must(fd);
	put(fd, "unnamed\n");
	truth_fd("may-write", "-", fd);
	return fd;
}

CASE(c_tmpfile_proc)
{
	int fd = tmpfile_in_dir(0);
	char p[64] = "/proc/self/fd/";
	strcat(p, num(fd));
	must(linkat(AT_FDCWD, p, AT_FDCWD, in_dir("out"), AT_SYMLINK_FOLLOW));
	truth_fd("write", in_dir("out"), fd);
	truth("named", in_dir("out"), ino_of(fd));
}

CASE(c_tmpfile_empty)
{
	int fd = tmpfile_in_dir(0);
	int d = (int)must(open(in_dir("sub"), O_PATH | O_DIRECTORY));
	if (linkat(fd, "", d, "out", AT_EMPTY_PATH) < 0 && errno == ENOENT)
		skip("an ordinary user may not link a descriptor");
	truth_fd("write", in_dir("sub/out"), fd);
	truth("named", in_dir("sub/out"), ino_of(fd));
}

CASE(c_tmpfile_unnamed)
{
	int fd = tmpfile_in_dir(O_EXCL);
	truth("unnamed", ino_of(fd));
}

/* ---- truncate -------------------------------------------------------------------------------------------------- */

CASE(c_truncate)
{
	must(truncate(in_dir("in"), 3));
	truth("write", in_dir("in"), ino_at(in_dir("in")));
	must(truncate(in_dir("in2"), 5000));
	truth("write", in_dir("in2"), ino_at(in_dir("in2")));
	check(truncate(in_dir("none"), 0) < 0 && errno == ENOENT);
	must(symlink("in", in_dir("sym")));
	must(chdir(in_dir("sub")));
	must(truncate("../sym", 0));
}

CASE(c_ftruncate)
{
	int fd = (int)must(open(in_dir("in"), O_RDWR));
	must(ftruncate(fd, 2));
	truth_fd("write", in_dir("in"), fd);
	truth_fd("may-read", in_dir("in"), fd);
	fd = (int)must(open(in_dir("out"), O_WRONLY | O_CREAT, 0644));
	must(ftruncate(fd, 1 << 20));
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	fd = (int)must(open(in_dir("in2"), O_WRONLY));
	if (fallocate(fd, 0, 0, 100000) == 0)
		truth_fd("write", in_dir("in2"), fd);
}

const struct tcase cases[] = {
    {"rename", c_rename},
    {"dirfd-renamed", c_dirfd_renamed},
    {"dirfd-reuse", c_dirfd_reuse},
    {"dirfd-below", c_dirfd_below},
    {"dirfd-lock", c_dirfd_lock},
    {"rename-unknown", c_rename_unknown},
    {"renameat", c_renameat},
    {"rename-over", c_rename_over},
    {"rename-over-open", c_rename_over_open},
    {"rename-noreplace", c_rename_noreplace},
    {"exchange", c_exchange},
    {"exchange-dirs", c_exchange_dirs},
    {"rename-dir", c_rename_dir},
    {"rename-symlink", c_rename_symlink},
    {"rename-failing", c_rename_failing},
    {"link", c_link},
    {"linkat", c_linkat},
    {"unlink-open", c_unlink_open},
    {"inode-reuse", c_inode_reuse},
    {"unlinkat", c_unlinkat},
    {"unlink-unknown", c_unlink_unknown},
    {"dirs", c_dirs},
    {"mknod", c_mknod},
    {"tmpfile-proc", c_tmpfile_proc},
    {"tmpfile-empty", c_tmpfile_empty},
    {"tmpfile-unnamed", c_tmpfile_unnamed},
    {"truncate", c_truncate},
    {"ftruncate", c_ftruncate},
    {0},
};
