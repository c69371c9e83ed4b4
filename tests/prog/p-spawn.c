/* p-spawn.c - every way to make a process and to become another program. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What a started program does: makes the file it was told. */
CASE(c_make)
{
	make_file(in_dir(argv[0]));
}

static char **make_argv(const char *file)
{
	static __thread char *v[5];
	v[0] = (char *)"made";
	v[1] = (char *)"+make";
	v[2] = dir;
	v[3] = (char *)file;
	return v;
}

CASE(c_fork)
{
	pid_t pid = spawn();
	if (pid == 0) {
		make_file(in_dir("child"));
		leave(7);
	}
	make_file(in_dir("parent"));
	check(WEXITSTATUS(await(pid)) == 7);
}

CASE(c_fork_exec)
{
	pid_t pid = spawn();
	if (pid == 0) {
		make_file(in_dir("before"));
		become("+make", "after");
	}
	check(await(pid) == 0);
}

CASE(c_vfork)
{
	pid_t pid = vfork();
	must(pid);
	if (pid == 0) {
		execv(self_exe, make_argv("out"));
		_exit(99);
	}
	truth("fork", num(pid));
	check(await(pid) == 0);
	/* A vfork child that opens a file and goes. */
	pid = vfork();
	must(pid);
	if (pid == 0) {
		int fd = open(in_dir("in"), O_RDONLY);
		if (fd < 0)
			_exit(99);
		truth("read", in_dir("in"));
		truth("exit", "3");
		_exit(3);
	}
	truth("fork", num(pid));
	check(WEXITSTATUS(await(pid)) == 3);
}

CASE(c_clone3)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid < 0 && errno == ENOSYS)
		skip("the kernel has no clone3");
	must(pid);
	if (pid == 0) {
		make_file(in_dir("child"));
		become("+make", "after");
	}
	truth("fork", num(pid));
	check(await(pid) == 0);
	int pidfd = -1;
	struct clone_args b = {.flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
	pid = (pid_t)must(syscall(SYS_clone3, &b, sizeof(b)));
	if (pid == 0)
		must(execv(self_exe, make_argv("out")));
	truth("fork", num(pid));
	check(pidfd >= 0 && await(pid) == 0);
}

CASE(c_posix_spawn)
{
	pid_t pid;
	posix_spawn_file_actions_t fa;
	posix_spawn_file_actions_init(&fa);
	/* The opening is done by the child before it becomes the program. */
	check(posix_spawn_file_actions_addopen(&fa, 60, in_dir("in"), O_RDONLY, 0) == 0);
	check(posix_spawn_file_actions_adddup2(&fa, 1, 61) == 0);
	check(posix_spawn(&pid, self_exe, &fa, NULL, make_argv("out"), environ) == 0);
	truth("fork", num(pid));
	truth_of(pid, "read", in_dir("in"));
	check(await(pid) == 0);
	check(posix_spawn(&pid, in_dir("none"), NULL, NULL, make_argv("out"), environ) == ENOENT);
}

CASE(c_system)
{
	char cmd[9000];
	snprintf(cmd, sizeof(cmd), "'%s' +make '%s' one; '%s' +make '%s' two", self_exe, dir, self_exe, dir);
	check(system(cmd) == 0);
	must(chdir(dir));
	FILE *f = popen("cat in >&2", "r");
	check(f != NULL);
	truth("anyone-read", in_dir("in"));
	pclose(f);
}

static int clone_child(void *arg)
{
	make_file(in_dir(arg));
	return 0;
}

/* The child's parent is this process's own. */
CASE(c_clone_parent)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	int p[2];
	must(pipe(p));
	pid_t middle = spawn();
	if (middle == 0) {
		close(p[0]);
		must(clone(clone_child, stack + sizeof(stack), CLONE_PARENT | SIGCHLD, (void *)"child"));
		leave(0);
	}
	close(p[1]);
	int n = 0;
	while (wait(NULL) > 0)
		n++;
	check(n == 2);
}

/* Shares its memory, as a thread, but is a process. */
CASE(c_clone_vm)
{
	static char stack[1024 * 1024] __attribute__((aligned(16)));
	pid_t pid = (pid_t)must(clone(clone_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)"child"));
	truth("fork", num(pid));
	await(pid);
}

/* No signal at its end: found only by waiting for it on purpose. */
CASE(c_clone_no_signal)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	pid_t pid = (pid_t)must(clone(clone_child, stack + sizeof(stack), 0, (void *)"child"));
	truth("fork", num(pid));
	check(waitpid(pid, NULL, 0) < 0 && errno == ECHILD);
	check(waitpid(pid, NULL, __WCLONE) == pid);
}

CASE(c_exec_chain)
{
	int n = argc ? atoi(argv[0]) : 0;
	static const char *const names[] = {"0", "1", "2", "3", "4", "5"};
	truth("exec-number", num(n + 1));
	if (n == 5)
		return;
	become("exec-chain", names[n + 1]);
}

CASE(c_exec_empty_env)
{
	char *none[] = {NULL};
	pid_t pid = spawn();
	if (pid == 0) {
		must(execve(self_exe, make_argv("out"), none));
	}
	check(await(pid) == 0);
	pid = spawn();
	if (pid == 0)
		must(execve(self_exe, make_argv("out2"), NULL));
	check(await(pid) == 0);
}

CASE(c_exec_failing)
{
	char *v[] = {(char *)"x", NULL};
	check(execv(in_dir("none"), v) < 0 && errno == ENOENT);
	check(execv(in_dir("in"), v) < 0 && errno == EACCES);
	check(execv(dir, v) < 0 && errno == EACCES);
	must(chmod(in_dir("in2"), 0755));
	check(execv(in_dir("in2"), v) < 0 && errno == ENOEXEC);
	check(syscall(SYS_execve, 8L, v, environ) < 0 && errno == EFAULT);
	truth("allow-gap", "unreadable");
	truth("exec-number", "1");
	make_file(in_dir("out"));
	become("+make", "after");
}

CASE(c_exec_relative)
{
	/* A copy of the program, started by a relative name from another directory. */
	must(symlink(self_exe, in_dir("prog")));
	must(chdir(in_dir("sub")));
	must(execv("../prog", make_argv("out")));
}

CASE(c_execveat)
{
	int d = (int)must(open(dir, O_PATH | O_DIRECTORY));
	must(symlink(self_exe, in_dir("prog")));
	pid_t pid = spawn();
	if (pid == 0)
		must(syscall(SYS_execveat, d, "prog", make_argv("one"), environ, 0));
	check(await(pid) == 0);
	check(syscall(SYS_execveat, d, "prog", make_argv("one"), environ, AT_SYMLINK_NOFOLLOW) < 0 && errno == ELOOP);
	int fd = (int)must(open(self_exe, O_PATH));
	pid = spawn();
	if (pid == 0)
		must(syscall(SYS_execveat, fd, "", make_argv("two"), environ, AT_EMPTY_PATH));
	check(await(pid) == 0);
}

CASE(c_fexecve)
{
	pid_t pid = spawn();
	if (pid == 0) {
		int fd = (int)must(open(self_exe, O_RDONLY | O_CLOEXEC));
		must(fexecve(fd, make_argv("one"), environ));
	}
	check(await(pid) == 0);
}

/* A program that is no file: copied into memory. */
CASE(c_fexecve_memfd)
{
	int m = (int)must(memfd_create("program", 0));
	int fd = (int)must(open(self_exe, O_RDONLY));
	truth("read", self_exe);
	char b[65536];
	ssize_t n;
	while ((n = must(read(fd, b, sizeof(b)))) > 0)
		check(write(m, b, (size_t)n) == n);
	pid_t pid = spawn();
	if (pid == 0)
		must(fexecve(m, make_argv("out"), environ));
	check(await(pid) == 0);
}

/* The program's file goes while it runs. */
CASE(c_exec_deleted)
{
	int from = (int)must(open(self_exe, O_RDONLY));
	int to = (int)must(open(in_dir("copy"), O_WRONLY | O_CREAT, 0755));
	truth("read", self_exe);
	truth_fd("create", in_dir("copy"), to);
	truth_fd("write", in_dir("copy"), to);
	char b[65536];
	ssize_t n;
	while ((n = must(read(from, b, sizeof(b)))) > 0)
		check(write(to, b, (size_t)n) == n);
	close(to);
	pid_t pid = spawn();
	if (pid == 0)
		must(execv(in_dir("copy"), (char *[]){(char *)"x", (char *)"+delete-self", dir, (char *)"out", NULL}));
	check(await(pid) == 0);
}

CASE(c_delete_self)
{
	truth("program", in_dir("copy"));
	must(unlink(in_dir("copy")));
	truth("unlink", in_dir("copy"));
	pid_t pid = spawn();
	if (pid == 0) {
		make_file(in_dir("out"));
		leave(0);
	}
	check(await(pid) == 0);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

static void *exec_thread(void *arg)
{
	(void)arg;
	must(execv(self_exe, make_argv("out")));
	return NULL;
}

static void *sleeper(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* Becomes a program in a thread that is not the first: the others vanish, and the process keeps its number. */
CASE(c_exec_thread)
{
	pthread_t t[4];
	for (int i = 0; i < 3; i++)
		check(pthread_create(&t[i], NULL, sleeper, NULL) == 0);
	check(pthread_create(&t[3], NULL, exec_thread, NULL) == 0);
	pthread_join(t[0], NULL);
}

static void *fork_thread(void *arg)
{
	pid_t pid = spawn();
	if (pid == 0)
		become("+make", arg);
	check(await(pid) == 0);
	return NULL;
}

CASE(c_fork_threads)
{
	pthread_t t[8];
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	for (int i = 0; i < 8; i++)
		check(pthread_create(&t[i], NULL, fork_thread, (void *)(size_t)names[i]) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static void *open_thread(void *arg)
{
	for (int i = 0; i < 100; i++) {
		char name[32];
		snprintf(name, sizeof(name), "sub/%s.%d", (const char *)arg, i);
		make_file(in_dir(name));
		check(open(in_dir("sub/none"), O_RDONLY) < 0 && errno == ENOENT);
	}
	return NULL;
}

CASE(c_open_threads)
{
	pthread_t t[8];
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	for (int i = 0; i < 8; i++)
		check(pthread_create(&t[i], NULL, open_thread, (void *)(size_t)names[i]) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

/* ---- many ------------------------------------------------------------------------------------------------------ */

CASE(c_many)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = spawn();
		if (pid == 0) {
			char name[32];
			snprintf(name, sizeof(name), "sub/%d", i);
			make_file(in_dir(name));
			leave(i % 256);
		}
	}
	int n = 0;
	while (wait(NULL) > 0)
		n++;
	check(n == 300);
}

/* Children that are over long before their parent asks. */
CASE(c_late_wait)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = spawn();
		if (pid == 0) {
			char name[32];
			snprintf(name, sizeof(name), "sub/%d", i);
			make_file(in_dir(name));
			leave(i);
		}
	}
	usleep(900000);
	int n = 0;
	while (wait(NULL) > 0)
		n++;
	check(n == 3);
}

CASE(c_deep)
{
	int depth = 60;
	while (depth--) {
		pid_t pid = spawn();
		if (pid) {
			int status = await(pid);
			leave(WEXITSTATUS(status));
		}
	}
	make_file(in_dir("bottom"));
	leave(5);
}

/* Parents that are gone before their children do anything. */
CASE(c_orphans)
{
	int p[2];
	must(pipe(p));
	pid_t pid = spawn();
	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			if (spawn() == 0) {
				usleep(20000);
				char name[16] = "o";
				make_file(in_dir(strcat(name, num(i))));
				leave(0);
			}
		leave(0);
	}
	close(p[1]);
	await(pid);
	char c;
	check(read(p[0], &c, 1) == 0); /* all have ended */
}

CASE(c_subreaper)
{
	must(prctl(PR_SET_CHILD_SUBREAPER, 1));
	pid_t pid = spawn();
	if (pid == 0) {
		pid_t two = spawn();
		if (two == 0) {
			usleep(20000);
			make_file(in_dir("out"));
			leave(4);
		}
		leave(0);
	}
	await(pid);
	int status;
	check(wait(&status) > 0 && WEXITSTATUS(status) == 4);
	check(wait(&status) < 0 && errno == ECHILD);
}

/* ---- scripts --------------------------------------------------------------------------------------------------- */

static void script(const char *name, const char *first, const char *rest)
{
	int fd = (int)must(open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0755));
	truth_fd("create", in_dir(name), fd);
	truth_fd("write", in_dir(name), fd);
	put(fd, "#!");
	put(fd, first);
	put(fd, "\n");
	put(fd, rest);
	close(fd);
}

static pid_t run_script(const char *name)
{
	pid_t pid = spawn();
	if (pid == 0) {
		must(chdir(dir));
		char rel[64] = "./";
		must(execv(strcat(rel, name), (char *[]){(char *)"zero", (char *)"one", NULL}));
	}
	check(await(pid) == 0);
	return pid;
}

CASE(c_script)
{
	script("s.sh", "/bin/sh -e", "exec < in2\n");
	pid_t pid = run_script("s.sh");
	truth_of(pid, "script", in_dir("s.sh"), "/bin/sh", "zero", "one");
	truth_of(pid, "any-read", in_dir("in2"));
}

CASE(c_script_env)
{
	script("s.sh", "/usr/bin/env sh", "exec < in2\n");
	pid_t pid = run_script("s.sh");
	truth_of(pid, "script", in_dir("s.sh"), "/usr/bin/env", "zero", "one");
	truth_of(pid, "any-read", in_dir("s.sh"));
	truth_of(pid, "any-read", in_dir("in2"));
}

/* A script's interpreter may be a script. */
CASE(c_script_nested)
{
	char line[8200];
	script("inner", "/bin/sh", "exec < in2\n");
	snprintf(line, sizeof(line), "%s arg", in_dir("inner"));
	if (strlen(line) > 250)
		skip("the directory's name is too long for a script's first line");
	script("outer", line, "");
	pid_t pid = run_script("outer");
	truth_of(pid, "script", in_dir("outer"), "/bin/sh", "zero", "one");
	truth_of(pid, "any-read", in_dir("inner"));
	truth_of(pid, "any-read", in_dir("in2"));
}

/* No first line: the shell runs it itself. */
CASE(c_script_bare)
{
	int fd = (int)must(open(in_dir("bare"), O_WRONLY | O_CREAT, 0755));
	truth_fd("create", in_dir("bare"), fd);
	truth_fd("write", in_dir("bare"), fd);
	put(fd, ": < in2\n");
	close(fd);
	must(chdir(dir));
	pid_t pid = spawn();
	if (pid == 0)
		must(execl("/bin/sh", "sh", "-c", "./bare; exit 0", (char *)NULL));
	check(await(pid) == 0);
	truth("anyone-read", in_dir("bare"));
	truth("anyone-read", in_dir("in2"));
}

const struct tcase cases[] = {
    {"fork", c_fork},
    {"fork-exec", c_fork_exec},
    {"vfork", c_vfork},
    {"clone3", c_clone3},
    {"posix-spawn", c_posix_spawn},
    {"system", c_system},
    {"clone-parent", c_clone_parent},
    {"clone-vm", c_clone_vm},
    {"clone-no-signal", c_clone_no_signal},
    {"exec-chain", c_exec_chain},
    {"exec-empty-env", c_exec_empty_env},
    {"exec-failing", c_exec_failing},
    {"exec-relative", c_exec_relative},
    {"execveat", c_execveat},
    {"fexecve", c_fexecve},
    {"fexecve-memfd", c_fexecve_memfd},
    {"exec-deleted", c_exec_deleted},
    {"exec-thread", c_exec_thread},
    {"fork-threads", c_fork_threads},
    {"open-threads", c_open_threads},
    {"many", c_many},
    {"late-wait", c_late_wait},
    {"deep", c_deep},
    {"orphans", c_orphans},
    {"subreaper", c_subreaper},
    {"script", c_script},
    {"script-env", c_script_env},
    {"script-nested", c_script_nested},
    {"script-bare", c_script_bare},
    {"+make", c_make},
    {"+delete-self", c_delete_self},
    {0},
};
