/* p-ns.c - roots, mount, user and process namespaces: the record's paths stay those of the initial one. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		skip("user namespaces cannot be set up here");
	close(fd);
}

/* A mount namespace of its own; with `user`, or for an ordinary user, in a user namespace where it is root. */
static void enter(int flags, bool user)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];
	if (uid != 0 || user) {
		if (unshare(CLONE_NEWUSER | flags) < 0)
			skip("user namespaces are not allowed here");
		write_text("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		write_text("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "0 %u 1", gid);
		write_text("/proc/self/gid_map", map);
	} else if (unshare(flags) < 0) {
		skip("namespaces are not allowed here");
	}
	if (flags & CLONE_NEWNS && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		check(errno == EINVAL);
		skip("the root directory is no mount point, as in a chroot");
	}
	truth("allow-gap", "namespace");
	truth("allow-gap", "mounts");
}

static void read_as(const char *path, const char *truly)
{
	int fd = (int)must(open(path, O_RDONLY));
	get(fd);
	truth_fd("read", truly, fd);
	close(fd);
}

static void make_as(const char *path, const char *truly)
{
	int fd = (int)must(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
	put(fd, "x\n");
	truth_fd("create", truly, fd);
	truth_fd("write", truly, fd);
	close(fd);
}

static void in_root(void)
{
	must(chroot(dir));
	must(chdir("/"));
	truth("allow-gap", "namespace");
	read_as("/in", in_dir("in"));
	make_as("/sub/out", in_dir("sub/out"));
	make_as("/../../out", in_dir("out"));
	check(open("/none", O_RDONLY) < 0 && errno == ENOENT);
	truth("absent", in_dir("none"));
	must(symlink("/in", "/abs"));
	read_as("/abs", in_dir("in"));
	must(rename("/out", "/out2"));
	truth("rename", in_dir("out"), in_dir("out2"));
}

CASE(c_chroot)
{
	if (geteuid() == 0)
		in_root();
	else {
		enter(CLONE_NEWNS, true);
		in_root();
	}
}

CASE(c_chroot_user)
{
	enter(0, true);
	in_root();
}

/* Out of the root through a directory that was opened before. */
CASE(c_chroot_outside)
{
	if (geteuid() != 0)
		enter(CLONE_NEWNS, true);
	int d = (int)must(open(dir, O_RDONLY | O_DIRECTORY));
	must(chroot(in_dir("sub")));
	truth("allow-gap", "namespace");
	int fd = (int)must(openat(d, "in", O_RDONLY));
	truth_fd("read", in_dir("in"), fd);
	fd = (int)must(openat(d, "out", O_WRONLY | O_CREAT, 0644));
	truth_fd("create", in_dir("out"), fd);
	put(fd, "x");
	truth_fd("write", in_dir("out"), fd);
}

static void bind_mount(bool user)
{
	enter(CLONE_NEWNS, user);
	must(mkdir(in_dir("real"), 0755));
	must(mount(in_dir("real"), in_dir("sub"), NULL, MS_BIND, NULL));
	make_as(in_dir("sub/out"), in_dir("real/out"));
	must(chdir(in_dir("sub")));
	make_as("out2", in_dir("real/out2"));
	must(rename("out2", "out3"));
	truth("rename", in_dir("real/out2"), in_dir("real/out3"));
	check(open("none", O_RDONLY) < 0);
	/* A file mounted over a file. */
	must(mount(in_dir("in2"), in_dir("in"), NULL, MS_BIND, NULL));
	read_as(in_dir("in"), in_dir("in2"));
	must(umount(in_dir("in")));
	read_as(in_dir("in"), in_dir("in"));
}

CASE(c_bind)
{
	bind_mount(false);
}

CASE(c_bind_user)
{
	bind_mount(true);
}

/* A file system that the initial namespace does not have: the file is known, its path can not be said there. */
CASE(c_private_tmpfs)
{
	enter(CLONE_NEWNS, false);
	if (mount("none", in_dir("sub"), "tmpfs", 0, NULL) < 0)
		skip("tmpfs cannot be mounted here");
	make_as(in_dir("sub/out"), "-");
	int fd = (int)must(open(in_dir("sub/out"), O_RDONLY));
	truth_fd("read", "-", fd);
	truth("no-name", in_dir("sub/out"));
	read_as(in_dir("in"), in_dir("in"));
}

CASE(c_pivot)
{
	enter(CLONE_NEWNS, false);
	must(mount(dir, dir, NULL, MS_BIND, NULL));
	must(chdir(dir));
	must(syscall(SYS_pivot_root, ".", "sub"));
	must(chdir("/"));
	read_as("/in", in_dir("in"));
	make_as("/out", in_dir("out"));
}

/* Process 1 of its own world. */
CASE(c_pid)
{
	enter(CLONE_NEWPID, false);
	int up[2];
	must(pipe(up));
	pid_t pid = (pid_t)must(fork());
	if (pid == 0) {
		check(getpid() == 1);
		int fd = (int)must(open(in_dir("out"), O_WRONLY | O_CREAT, 0644));
		put(fd, "x");
		pid_t two = (pid_t)must(fork());
		if (two == 0) {
			must(open(in_dir("in"), O_RDONLY));
			_exit(3);
		}
		check(WEXITSTATUS(await(two)) == 3);
		_exit(4);
	}
	truth("fork", num(pid));
	truth_of(pid, "create", in_dir("out"));
	truth_of(pid, "write", in_dir("out"));
	truth("anyone-read", in_dir("in"));
	check(WEXITSTATUS(await(pid)) == 4);
	truth_of(pid, "exit", "4");
}

const struct tcase cases[] = {
    {"chroot", c_chroot},
    {"chroot-user", c_chroot_user},
    {"chroot-outside", c_chroot_outside},
    {"bind", c_bind},
    {"bind-user", c_bind_user},
    {"private-tmpfs", c_private_tmpfs},
    {"pivot", c_pivot},
    {"pid", c_pid},
    {0},
};
