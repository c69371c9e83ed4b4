/* p-keep.c - what programs do that recorders have broken: each case must end, say and leave the same with a recorder as
 * without. Every kind of program (static, musl, position-dependent, with sanitizers) is made from this one file. */
#include "truth.h"

#ifndef KEEP_STATIC
#include <dlfcn.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void read_in(void)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	check(get(fd) == 9);
	truth_fd("read", in_dir("in"), fd);
	must(close(fd));
}

static void say_line(const char *text)
{
	put(1, text);
	put(1, "\n");
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

/* Ends by exit, where sanitizers look for what was not freed: with a tracer of their own. */
CASE(c_exit)
{
	char *freed = malloc(100);
	check(freed != NULL);
	read_in();
	free(freed);
	make_file(in_dir("out"));
	truth("exit", "0");
	truth("allow-gap", "traced");
	exit(0);
}

/* ---- threads and their cancellation ---------------------------------------------------------------------------- */

static int ready[2];

static void cleanup(void *name)
{
	make_file(in_dir(name));
}

static void *blocked_in_read(void *arg)
{
	int *p = arg;
	char b;
	pthread_cleanup_push(cleanup, (void *)"clean.read");
	put(ready[1], "r");
	check(read(p[0], &b, 1) < 0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *blocked_in_open(void *arg)
{
	pthread_cleanup_push(cleanup, (void *)"clean.open");
	put(ready[1], "r");
	open(arg, O_RDONLY);
	pthread_cleanup_pop(0);
	return NULL;
}

/* The cancellation meets the open while it is stopped, or just before or after it. */
static void *opens(void *arg)
{
	(void)arg;
	pthread_cleanup_push(cleanup, (void *)"clean.opens");
	put(ready[1], "r");
	for (;;) {
		int old;
		int fd = open(in_dir("in"), O_RDONLY);
		check(fd >= 0);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		get(fd);
		close(fd);
		pthread_setcancelstate(old, &old);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *at_any_moment(void *arg)
{
	int old;
	volatile unsigned long *n = arg;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	if (write(ready[1], "r", 1) != 1)
		return NULL;
	for (;;)
		++*n;
	return NULL;
}

static void cancelled(void *(*body)(void *), void *arg, long wait_ns)
{
	pthread_t t;
	void *result = NULL;
	check(pthread_create(&t, NULL, body, arg) == 0);
	get(ready[0]);
	nap(wait_ns);
	check(pthread_cancel(t) == 0);
	check(pthread_join(t, &result) == 0);
	check(result == PTHREAD_CANCELED);
}

CASE(c_cancel)
{
	int p[2];
	unsigned long turns = 0;
	must(pipe(ready));
	must(pipe(p));
	must(mkfifo(in_dir("fifo"), 0600));
	truth("maybe-read", in_dir("in"));
	truth("maybe-read", in_dir("fifo"));
	cancelled(blocked_in_read, p, 10000000);
	cancelled(blocked_in_open, (void *)in_dir("fifo"), 10000000);
	for (int i = 0; i < 20; i++)
		cancelled(opens, NULL, 50000L * i);
	cancelled(at_any_moment, &turns, 1000000);
	check(access(in_dir("clean.read"), F_OK) == 0 && access(in_dir("clean.open"), F_OK) == 0);
	make_file(in_dir("after"));
	say_line("all were cancelled");
}

static void *one_of_many(void *arg)
{
	char name[16];
	snprintf(name, sizeof(name), "t%ld", (long)arg);
	for (int i = 0; i < 20; i++)
		read_in();
	make_file(in_dir(name));
	return arg;
}

CASE(c_threads)
{
	pthread_t t[16];
	for (long i = 0; i < 16; i++)
		check(pthread_create(&t[i], NULL, one_of_many, (void *)i) == 0);
	for (long i = 0; i < 16; i++) {
		void *r;
		check(pthread_join(t[i], &r) == 0 && r == (void *)i);
	}
}

/* ---- signal handlers that read and write ------------------------------------------------------------------------ */

static volatile sig_atomic_t handled;
static char handler_out[PATH_MAX], handler_in[PATH_MAX];

static void handler(int sig)
{
	int e = errno;
	(void)sig;
	int in = open(handler_in, O_RDONLY);
	int out = open(handler_out, O_WRONLY | O_APPEND);
	char b[64];
	if (in < 0 || out < 0 || read(in, b, sizeof(b)) != 10 || write(out, b, 10) != 10)
		_exit(97);
	close(in);
	close(out);
	handled++;
	errno = e;
}

CASE(c_handler_io)
{
	snprintf(handler_in, sizeof(handler_in), "%s", in_dir("in2"));
	snprintf(handler_out, sizeof(handler_out), "%s", in_dir("log"));
	make_file(handler_out);
	truth("read", handler_in);
	struct sigaction restarts = {.sa_handler = handler, .sa_flags = SA_RESTART}, ends = {.sa_handler = handler};
	sigfillset(&restarts.sa_mask); /* one at a time: what they count is not counted at one stroke */
	sigfillset(&ends.sa_mask);
	must(sigaction(SIGALRM, &restarts, NULL));
	must(sigaction(SIGUSR1, &ends, NULL));
	must(setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL));
	int opened = 0;
	while (handled < 40) {
		int fd = open(in_dir("in"), O_RDONLY);
		check(fd >= 0);
		opened++;
		close(fd);
		if (opened % 50 == 0)
			must(raise(SIGUSR1));
	}
	must(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL));
	struct stat st;
	must(stat(handler_out, &st));
	check(st.st_size == 5 + 10 * handled);
	read_in();
	say_line("as many lines as signals");
	must(unlink(handler_out)); /* its length is the clock's */
	truth("unlink", handler_out);
}

/* ---- vfork, posix_spawn, exec ----------------------------------------------------------------------------------- */

CASE(c_write_20)
{
	put(20, "from the child\n");
	truth_fd("write", in_dir(argv[0]), 20);
}

/* What a child does to its descriptors between vfork and exec leaves the parent's alone. */
CASE(c_vfork_table)
{
	char *again[] = {(char *)"again", (char *)"+write-20", dir, (char *)"b", NULL};
	int fd = (int)must(open(in_dir("a"), O_WRONLY | O_CREAT | O_TRUNC, 0644));
	must(dup2(fd, 20));
	close(fd);
	for (int i = 0; i < 5; i++) {
		pid_t pid = vfork();
		check(pid >= 0);
		if (pid == 0) {
			int b = open(in_dir("b"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
			if (b < 0 || dup2(b, 20) < 0)
				_exit(96);
			close(b);
			execv(self_exe, again);
			_exit(95);
		}
		check(await(pid) == 0);
		put(20, "from the parent\n");
	}
	truth_fd("create", in_dir("a"), 20);
	truth_fd("write", in_dir("a"), 20);
	truth("not-written", in_dir("b"));
}

CASE(c_posix_spawn)
{
	extern char **environ;
	char *again[] = {(char *)"again", (char *)"+write-20", dir, (char *)"b", NULL};
	int fd = (int)must(open(in_dir("a"), O_WRONLY | O_CREAT | O_TRUNC, 0644));
	must(dup2(fd, 20));
	close(fd);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	check(posix_spawn_file_actions_init(&actions) == 0);
	check(posix_spawn_file_actions_addclose(&actions, 20) == 0);
	check(posix_spawn_file_actions_addopen(&actions, 20, in_dir("b"), O_WRONLY | O_CREAT | O_TRUNC, 0644) == 0);
	check(posix_spawn_file_actions_adddup2(&actions, 20, 21) == 0);
	check(posix_spawnattr_init(&attr) == 0);
	sigset_t none;
	sigemptyset(&none);
	check(posix_spawnattr_setsigmask(&attr, &none) == 0);
	check(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP) == 0);
	pid_t pid;
	check(posix_spawn(&pid, self_exe, &actions, &attr, again, environ) == 0);
	check(await(pid) == 0);
	put(20, "from the parent\n");
	truth_fd("write", in_dir("a"), 20);
	truth("not-written", in_dir("b"));
	check(posix_spawn(&pid, in_dir("none"), NULL, NULL, again, environ) == ENOENT);
}

CASE(c_show_env)
{
	extern char **environ;
	for (char **e = environ; e && *e; e++)
		say_line(*e);
	read_in();
	make_file(in_dir(argv[0]));
}

CASE(c_exec_env)
{
	char *none[] = {NULL};
	char *other[] = {(char *)"LD_PRELOAD=", (char *)"LD_LIBRARY_PATH=/nowhere", (char *)"A=1",
	                 (char *)"A=2",         (char *)"no equals sign",           NULL};
	char **envs[] = {none, NULL, other};
	static const char *const outs[] = {"e0", "e1", "e2"};
	for (int i = 0; i < 3; i++) {
		char *again[] = {(char *)"again", (char *)"+show-env", dir, (char *)outs[i], NULL};
		pid_t pid = spawn();
		if (pid == 0) {
			execve(self_exe, again, envs[i]);
			must(-1);
		}
		check(await(pid) == 0);
	}
}

/* ---- descriptors ------------------------------------------------------------------------------------------------ */

static void after_closing(const char *name)
{
	int in = open(in_dir("in"), O_RDONLY);
	if (in != 0)
		_exit(94);
	char b[64];
	int out = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (out != 1 || read(in, b, 9) != 9 || write(out, b, 9) != 9)
		_exit(93);
	_exit(0);
}

CASE(c_close_all)
{
	static const char *const outs[] = {"c0", "c1", "c2"};
	truth("maybe-read", in_dir("in2"));
	for (int i = 0; i < 40; i++)
		must(open(in_dir("in2"), O_RDONLY));
	struct rlimit l;
	must(getrlimit(RLIMIT_NOFILE, &l));
	for (int i = 0; i < 3; i++) {
		pid_t pid = spawn();
		if (pid == 0) {
			truth("read", in_dir("in"));
			truth("create", in_dir(outs[i]));
			truth("write", in_dir(outs[i]));
			if (i == 0) {
				if (syscall(SYS_close_range, 0, ~0U, 0) < 0)
					_exit(92);
			} else if (i == 1) { /* backwards, as some do, from far above what is open */
				for (int fd = 4095; fd >= 0; fd--)
					close(fd);
			} else {
				char path[64];
				for (int fd = 0; fd < 1024; fd++) { /* only what there is */
					snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
					struct stat st;
					if (lstat(path, &st) == 0)
						close(fd);
				}
			}
			after_closing(outs[i]);
		}
		check(await(pid) == 0);
	}
}

CASE(c_last_of_many)
{
	int fd = atoi(argv[0]);
	put(fd, "from far above\n");
	truth_fd("write", in_dir("far"), fd);
}

CASE(c_descriptors_5000)
{
	enum { MANY = 5000 };
	struct rlimit l;
	must(getrlimit(RLIMIT_NOFILE, &l));
	if (l.rlim_max != RLIM_INFINITY && l.rlim_max < MANY + 100)
		skip("no 5,000 descriptors are allowed");
	if (l.rlim_cur < MANY + 100) {
		l.rlim_cur = MANY + 100;
		must(setrlimit(RLIMIT_NOFILE, &l));
	}
	int last = -1;
	for (int i = 0; i < MANY; i++)
		last = (int)must(open(in_dir("in"), O_RDONLY));
	check(last >= MANY);
	check(get(last) == 9);
	truth_fd("read", in_dir("in"), last);
	int fd = (int)must(open(in_dir("far"), O_WRONLY | O_CREAT | O_TRUNC, 0644));
	truth_fd("create", in_dir("far"), fd);
	truth("maybe-write", in_dir("far"));
	for (int i = 0; i < 3; i++) {
		pid_t pid = spawn();
		if (pid == 0) {
			char *again[] = {(char *)"again", (char *)"+last-of-many", dir, (char *)num(fd), NULL};
			execv(self_exe, again);
			must(-1);
		}
		check(await(pid) == 0);
	}
}

/* ---- a tree of processes ---------------------------------------------------------------------------------------- */

CASE(c_forks_200_deep)
{
	enum { DEEP = 200 };
	int depth = 0;
	pid_t pid = 0;
	while (depth < DEEP && (pid = spawn()) == 0)
		depth++;
	if (pid == 0) {
		read_in();
		make_file(in_dir("deepest"));
		leave(7);
	}
	int status = await(pid);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	if (depth % 50 == 0) {
		char name[16];
		snprintf(name, sizeof(name), "d%d", depth);
		make_file(in_dir(name));
	}
	leave(depth ? 7 : 0);
}

static void wait_a_while(void)
{
	struct timespec ts = {0, 700000000};
	nanosleep(&ts, NULL);
}

/* A child that is there for 0.7 s before fork returns in it, as one that has no turn on a busy machine. */
CASE(c_fork_late)
{
	check(pthread_atfork(NULL, NULL, wait_a_while) == 0);
	pid_t pid = spawn();
	if (pid == 0) {
		read_in();
		make_file(in_dir("late"));
		leave(7);
	}
	int status = await(pid);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	make_file(in_dir("after"));
	leave(0);
}

/* Children that wait long before they begin, and are over at once when they do; nobody asks for them yet. */
CASE(c_forks_over)
{
	check(pthread_atfork(NULL, NULL, wait_a_while) == 0);
	for (int i = 0; i < 100; i++) {
		pid_t pid = spawn();
		if (pid == 0)
			leave(i);
		usleep(3000);
	}
	usleep(900000);
	int n = 0;
	while (wait(NULL) > 0)
		n++;
	check(n == 100);
	make_file(in_dir("after"));
	leave(0);
}

/* ---- filters of the program's own ------------------------------------------------------------------------------- */

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(what) BPF_STMT(BPF_RET | BPF_K, what)

static void install(const struct sock_filter *code, unsigned short n)
{
	struct sock_fprog prog = {n, (struct sock_filter *)code};
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		skip("no seccomp filters here");
}

/* Kills at any call that is not on a list of what the program itself makes. */
static void allow_only(void)
{
	static const int allowed[] = {SYS_read,        SYS_write,      SYS_close,  SYS_fstat,
	                              SYS_openat,      SYS_exit_group, SYS_getpid,
#ifdef SYS_open
	                              SYS_open,
#endif
#ifdef SYS_newfstatat
	                              SYS_newfstatat,
#endif
	                              SYS_rt_sigreturn};
	struct sock_filter code[64];
	unsigned short n = 0;
	code[n++] = (struct sock_filter)LOAD(arch);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] = (struct sock_filter)RET(SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
		code[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)RET(SECCOMP_RET_KILL_PROCESS);
	install(code, n);
}

CASE(c_filter_kills)
{
	pid_t pid = spawn();
	if (pid == 0) {
		allow_only();
		for (int i = 0; i < 100; i++)
			read_in();
		make_file(in_dir("out"));
		leave(3);
	}
	int status = await(pid);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	pid = spawn();
	if (pid == 0) {
		allow_only();
		read_in();
		truth("signal", num(SIGSYS));
		syscall(SYS_getppid);
		_exit(1);
	}
	status = await(pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* As sandboxes do: the call is turned into a signal, whose handler makes it in another way. */
static void broker(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_syscall != SYS_openat)
		_exit(91);
	handled++;
}

CASE(c_filter_traps)
{
	struct sock_filter code[] = {LOAD(nr),
	                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
	                             LOAD(args[2]),
	                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDWR | O_SYNC, 0, 1),
	                             RET(SECCOMP_RET_TRAP),
	                             RET(SECCOMP_RET_ALLOW)};
	must(sigaction(SIGSYS, &(struct sigaction){.sa_sigaction = broker, .sa_flags = SA_SIGINFO}, NULL));
	install(code, sizeof(code) / sizeof(*code));
	for (int i = 0; i < 10; i++) {
		syscall(SYS_openat, AT_FDCWD, in_dir("in2"), O_RDWR | O_SYNC);
		check(handled == i + 1);
		read_in();
	}
	truth("not-written", in_dir("in2"));
	make_file(in_dir("out"));
}

/* ---- libraries that come and go, another root ------------------------------------------------------------------- */

#ifndef KEEP_STATIC
CASE(c_dlopen)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s", self_exe);
	char *slash = strrchr(path, '/');
	check(slash != NULL);
	snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "keep-plugin.so");
	if (access(path, R_OK) < 0)
		skip("there is no plug-in beside the program");
	truth("read", in_dir("in"));
	truth("create", in_dir("begun"));
	truth("write", in_dir("begun"));
	truth("create", in_dir("ended"));
	truth("write", in_dir("ended"));
	must(chdir(dir));
	for (int i = 0; i < 5; i++) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!lib) {
			put(2, dlerror());
			_exit(90);
		}
		check(dlsym(RTLD_DEFAULT, "plugin_read") == NULL);
		int (*f)(void) = (int (*)(void))(intptr_t)dlsym(lib, "plugin_read");
		check(f != NULL);
		check(f() == 9);
		check(access("ended", F_OK) < 0);
		check(dlclose(lib) == 0);
		must(access("ended", F_OK));
		must(unlink("ended"));
		must(unlink("begun"));
	}
	truth("no-name", in_dir("ended"));
	truth("no-name", in_dir("begun"));
}
#endif

CASE(c_chroot)
{
	if (geteuid() != 0)
		skip("only root can change the root");
	truth("create", in_dir("sub/out"));
	truth("write", in_dir("sub/out"));
	truth("rename", in_dir("in"), in_dir("sub/in"));
	truth("read", in_dir("sub/in"));
	must(chdir(dir));
	must(chroot("."));
	must(rename("/in", "/sub/in"));
	must(chroot("/sub"));
	must(chdir("/"));
	int in = (int)must(open("/in", O_RDONLY));
	int out = (int)must(open("/../out", O_WRONLY | O_CREAT | O_EXCL, 0644));
	char b[64];
	long n = must(read(in, b, sizeof(b)));
	check(n == 9 && write(out, b, 9) == 9);
}

/* ---- what is at its work when another program comes to look ----------------------------------------------------- */

/* Says "begun", waits for a line on standard input, goes on. */
CASE(c_attached)
{
	char b[64];
	for (int i = 0; i < 50; i++)
		read_in();
	make_file(in_dir("one"));
	int go = (int)must(open(in_dir("go"), O_RDONLY)); /* a FIFO */
	long n;
	while ((n = read(go, b, sizeof(b))) < 0 && errno == EINTR)
		;
	check(n > 0);
	for (int i = 0; i < 50; i++)
		read_in();
	make_file(in_dir("two"));
	say_line("to the end");
}

const struct tcase cases[] = {{"exit", c_exit},
                              {"cancel", c_cancel},
                              {"threads", c_threads},
                              {"handler-io", c_handler_io},
                              {"vfork-table", c_vfork_table},
                              {"posix-spawn", c_posix_spawn},
                              {"exec-env", c_exec_env},
                              {"close-all", c_close_all},
                              {"descriptors-5000", c_descriptors_5000},
                              {"forks-200-deep", c_forks_200_deep},
                              {"fork-late", c_fork_late},
                              {"forks-over", c_forks_over},
                              {"filter-kills", c_filter_kills},
                              {"filter-traps", c_filter_traps},
#ifndef KEEP_STATIC
                              {"dlopen", c_dlopen},
#endif
                              {"chroot", c_chroot},
                              {"+write-20", c_write_20},
                              {"+show-env", c_show_env},
                              {"+last-of-many", c_last_of_many},
                              {"+attached", c_attached},
                              {0}};
