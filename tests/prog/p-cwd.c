/* p-cwd.c - relative names: which directory they are relative to, and who else changes it. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_here(const char *name, const char *truly)
{
	int fd = (int)must(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644));
	put(fd, "x\n");
	truth_fd("create", truly, fd);
	truth_fd("write", truly, fd);
	close(fd);
}

CASE(c_chdir)
{
	must(chdir(in_dir("sub")));
	make_here("a", in_dir("sub/a"));
	must(chdir(".."));
	make_here("a", in_dir("a"));
	check(chdir("nowhere") < 0 && errno == ENOENT);
	make_here("b", in_dir("b"));
	must(symlink("sub", "sym"));
	must(chdir("sym"));
	make_here("c", in_dir("sub/c"));
	must(chdir("/"));
	check(open("a", O_RDONLY) < 0);
}

CASE(c_fchdir)
{
	int d = (int)must(open(in_dir("sub"), O_RDONLY | O_DIRECTORY));
	int p = (int)must(open(dir, O_PATH | O_DIRECTORY));
	must(fchdir(d));
	make_here("a", in_dir("sub/a"));
	must(fchdir(p));
	make_here("a", in_dir("a"));
	check(fchdir((int)must(open("a", O_RDONLY))) < 0 && errno == ENOTDIR);
	truth("read", in_dir("a"));
	make_here("b", in_dir("b"));
}

CASE(c_renamed)
{
	must(chdir(in_dir("sub")));
	make_here("a", in_dir("sub/a"));
	must(rename(in_dir("sub"), in_dir("moved")));
	make_here("b", in_dir("moved/b"));
	must(mkdir(in_dir("up"), 0755));
	must(rename("../moved", "../up/again"));
	make_here("../c", in_dir("up/c"));
	make_here("d", in_dir("up/again/d"));
}

CASE(c_deleted)
{
	must(chdir(in_dir("sub")));
	must(rmdir(in_dir("sub")));
	check(open("x", O_WRONLY | O_CREAT, 0644) < 0 && errno == ENOENT);
	check(open("x", O_RDONLY) < 0 && errno == ENOENT);
	truth("no-name", in_dir("sub/x"));
	make_here(in_dir("a"), in_dir("a"));
	/* A program started from nowhere. */
	become("+after-deleted", NULL);
}

CASE(c_after_deleted)
{
	make_here(in_dir("b"), in_dir("b"));
	must(chdir(".."));
}

/* ---- threads with a directory of their own --------------------------------------------------------------------- */

static void *own_dir(void *arg)
{
	const char *sub = arg;
	must(unshare(CLONE_FS));
	must(chdir(in_dir(sub)));
	for (int i = 0; i < 50; i++) {
		char name[16] = "f", truly[64];
		strcat(name, num(i));
		snprintf(truly, sizeof(truly), "%s/%s", sub, name);
		make_here(name, in_dir(truly));
		if (i % 10 == 9) {
			must(chdir("../d1/.."));
			must(chdir(sub));
		}
	}
	return NULL;
}

CASE(c_unshare_threads)
{
	pthread_t t[3];
	static const char *const subs[] = {"d1", "d2", "d3"};
	for (int i = 0; i < 3; i++)
		must(mkdir(in_dir(subs[i]), 0755));
	must(chdir(in_dir("sub")));
	for (int i = 0; i < 3; i++)
		check(pthread_create(&t[i], NULL, own_dir, (void *)(size_t)subs[i]) == 0);
	for (int i = 0; i < 50; i++) {
		char name[16] = "m";
		strcat(name, num(i));
		char truly[32] = "sub/";
		make_here(name, in_dir(strcat(truly, name)));
	}
	for (int i = 0; i < 3; i++)
		check(pthread_join(t[i], NULL) == 0);
}

/* The opposite: a *process* that shares its parent's directory. */
static int sharing_child(void *arg)
{
	(void)arg;
	if (chdir(in_dir("sub")) < 0)
		_exit(1);
	_exit(0);
}

CASE(c_shared_process)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	must(chdir(dir));
	make_here("a", in_dir("a"));
	pid_t pid = (pid_t)must(clone(sharing_child, stack + sizeof(stack), CLONE_FS | SIGCHLD, NULL));
	truth("fork", num(pid));
	check(await(pid) == 0);
	make_here("a", in_dir("sub/a"));
}

/* A child's directory is its own. */
CASE(c_fork)
{
	must(chdir(dir));
	pid_t pid = spawn();
	if (pid == 0) {
		must(chdir("sub"));
		make_here("a", in_dir("sub/a"));
		leave(0);
	}
	check(await(pid) == 0);
	make_here("a", in_dir("a"));
}

const struct tcase cases[] = {
    {"chdir", c_chdir},
    {"fchdir", c_fchdir},
    {"renamed", c_renamed},
    {"deleted", c_deleted},
    {"+after-deleted", c_after_deleted},
    {"unshare-threads", c_unshare_threads},
    {"shared-process", c_shared_process},
    {"fork", c_fork},
    {0},
};
