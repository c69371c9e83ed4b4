/* p-hostile.c - programs that limit, stop or look at what is around them, and calls that fail in rare ways. What each
 * case finds out it prints: it must be the same with a recorder as without. */
#include "truth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* More opens than a program makes before the recorder gives it code. */
#define ENOUGH 150
/* Where that code is, in doc/opens.md: a fixed address. */
#define CODE_AT ((void *)0x2f7374650000ull)

static void say(const char *what, long n)
{
	char line[160];
	int k = snprintf(line, sizeof(line), "%s %ld\n", what, n);
	check(write(1, line, (size_t)k) == k);
}

static void nap(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void read_in(void)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	check(get(fd) == 9);
	must(close(fd));
}

/* What ordinary programs do: opens, names, a child with a program of its own. */
static void work(void)
{
	for (int i = 0; i < ENOUGH; i++)
		read_in();
	truth("read", in_dir("in"));
	int fd = (int)must(open(in_dir("w.tmp"), O_WRONLY | O_CREAT | O_TRUNC, 0644));
	put(fd, "work\n");
	must(close(fd));
	must(rename(in_dir("w.tmp"), in_dir("w")));
}

static void child_works(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/cat", "cat", in_dir("in2"), (char *)NULL);
		_exit(127);
	}
	must(pid);
	say("child", await(pid));
}

/* ---- limits ----------------------------------------------------------------------------------------------------- */

static void limit(int which, rlim_t n)
{
	struct rlimit r;
	must(getrlimit(which, &r));
	r.rlim_cur = n;
	must(setrlimit(which, &r));
}

static long fill(int *fds, long most)
{
	long n = 0;
	while (n < most && (fds[n] = open(in_dir("in"), O_RDONLY)) >= 0)
		n++;
	say("errno", errno);
	return n;
}

CASE(c_descriptors_8)
{
	int fds[16];
	limit(RLIMIT_NOFILE, 8);
	long n = fill(fds, 16);
	say("descriptors", n);
	while (n > 0)
		close(fds[--n]);
	work();
	child_works();
}

/* Not one less than there are without a recorder, whatever had been put into the program before. */
CASE(c_descriptors_all)
{
	static int fds[4096];
	limit(RLIMIT_NOFILE, 1024);
	work();
	for (int round = 0; round < 3; round++) {
		long n = fill(fds, 4096);
		say("descriptors", n);
		while (n > 0)
			close(fds[--n]);
	}
}

static long size_of_self(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	check(f != NULL && fscanf(f, "%ld", &pages) == 1);
	fclose(f);
	return pages;
}

CASE(c_address_space)
{
	limit(RLIMIT_AS, (rlim_t)size_of_self() * 4096 + (1 << 20));
	work();
	say("a large block", malloc(64 << 20) != NULL);
	say("errno", errno);
	work();
}

CASE(c_address_space_late)
{
	work();
	limit(RLIMIT_AS, (rlim_t)size_of_self() * 4096);
	say("a page more", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	work();
}

CASE(c_no_child)
{
	if (geteuid() == 0)
		skip("root may always start a process");
	limit(RLIMIT_NPROC, 0);
	say("fork", fork());
	say("errno", errno);
	work();
}

CASE(c_no_growth)
{
	must(sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL));
	limit(RLIMIT_FSIZE, 0);
	for (int i = 0; i < ENOUGH; i++)
		read_in();
	int fd = (int)must(open(in_dir("w"), O_WRONLY | O_CREAT, 0644));
	long n = write(fd, "x", 1);
	int e = errno;
	limit(RLIMIT_FSIZE, RLIM_INFINITY); /* for what is said */
	say("write", n);
	say("errno", e);
}

CASE(c_all_locked)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		skip("memory may not be locked here");
	work();
	child_works();
}

CASE(c_locked_late)
{
	work();
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		skip("memory may not be locked here");
	work();
}

/* ---- the recorder itself ----------------------------------------------------------------------------------------- */

static bool is_stemma(pid_t pid)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	int fd = open(path, O_RDONLY);
	if (fd >= 0) {
		check(read(fd, name, sizeof(name) - 1) >= 0);
		close(fd);
	}
	return !strncmp(name, "stemma", 6);
}

/* The parent, which is the recorder's worker where there is one, stands still for a while. Another parent is left
 * alone. */
CASE(c_parent_stopped)
{
	pid_t parent = getppid();
	if (is_stemma(parent))
		must(kill(parent, SIGSTOP));
	work();
	child_works();
}

/* The parent's threads are stopped by a tracer of the program's own. */
CASE(c_parent_traced)
{
	pid_t parent = getppid(), pid = (pid_t)must(fork());
	if (pid == 0) {
		if (is_stemma(parent) && ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0) {
			ptrace(PTRACE_INTERRUPT, parent, NULL, NULL);
			nap(700);
		}
		_exit(0); /* lets it go */
	}
	nap(50);
	work();
	say("child", await(pid));
	child_works();
}

/* Holds all threads of a process from outside, says so by the file "held", until there is a file "done". */
CASE(c_holds)
{
	pid_t tids[64], pid = (pid_t)atol(argv[0]);
	char path[64];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	check(d != NULL);
	for (struct dirent *e; (e = readdir(d)) && n < 64;)
		if (e->d_name[0] != '.')
			tids[n++] = (pid_t)atol(e->d_name);
	closedir(d);
	for (int i = 0; i < n; i++) {
		if (ptrace(PTRACE_SEIZE, tids[i], NULL, NULL) < 0)
			skip("it may not be traced from outside");
		must(ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL));
	}
	make_file(in_dir("held"));
	for (int i = 0; i < 1200 && access(in_dir("done"), F_OK) < 0; i++)
		nap(50);
	must(access(in_dir("done"), F_OK));
}

CASE(c_parent_killed)
{
	if (is_stemma(getppid()))
		kill(getppid(), SIGKILL);
	for (int i = 0; i < 5; i++) {
		work();
		child_works();
	}
}

/* ---- names and looks ----------------------------------------------------------------------------------------------
 */

static void *named(void *arg)
{
	must(prctl(PR_SET_NAME, arg));
	read_in();
	return NULL;
}

CASE(c_odd_names)
{
	static const char *const names[] = {") R 1 1 (", "\n\n)", "stemma-worker", "", "a) S 0 0 0 0 -1"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		must(prctl(PR_SET_NAME, names[i]));
		work();
		pthread_t t;
		must(-pthread_create(&t, NULL, named, (void *)names[i]));
		must(-pthread_join(t, NULL));
		child_works();
		pid_t pid = (pid_t)must(fork());
		if (pid == 0) {
			read_in();
			kill(getpid(), SIGKILL);
		}
		say("killed", await(pid));
	}
}

CASE(c_not_dumpable)
{
	must(prctl(PR_SET_DUMPABLE, 0));
	work();
	child_works();
	must(prctl(PR_SET_DUMPABLE, 1));
	work();
}

CASE(c_another_user)
{
	if (geteuid() != 0)
		skip("only root can become another user");
	must(chmod(dir, 0777));
	must(chmod(in_dir("in2"), 0644));
	work();
	must(setgid(65534));
	must(setuid(65534));
	must(unlink(in_dir("w")));
	work();
	child_works();
}

CASE(c_again)
{
	say("personality", personality(0xffffffff));
	work();
	child_works();
}

CASE(c_personality)
{
	must(personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC));
	become("+again", "x");
}

/* ---- memory ---------------------------------------------------------------------------------------------------------
 */

CASE(c_place_taken)
{
	char *at = mmap(CODE_AT, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(at == CODE_AT);
	memset(at, 0xcc, 1 << 20);
	work();
	long sum = 0;
	for (int i = 0; i < 1 << 20; i++)
		sum += at[i] == (char)0xcc;
	say("as it was", sum);
	child_works();
}

static char *stack;
static ucontext_t back, there;

static void on_little_stack(void)
{
	char name[64], other[64];
	memset(name, 0, sizeof(name));
	strncpy(name, "in", sizeof(name) - 1);
	strncpy(other, "moved", sizeof(other));
	for (int i = 0; i < ENOUGH; i++) {
		int fd = open(name, O_RDONLY);
		if (fd < 0 || read(fd, other, 8) != 8)
			_exit(90);
		close(fd);
	}
	strncpy(other, "moved", sizeof(other));
	if (rename(name, other) < 0 || rename(other, name) < 0)
		_exit(91);
}

/* A coroutine's stack, with nothing below it. */
CASE(c_little_stack)
{
	enum { SIZE = 4096 };
	must(chdir(dir));
	read_in();
	stack = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(stack != MAP_FAILED && mprotect(stack, 4096, PROT_NONE) == 0);
	must(getcontext(&there));
	there.uc_stack.ss_sp = stack + 4096;
	there.uc_stack.ss_size = SIZE;
	there.uc_link = &back;
	makecontext(&there, on_little_stack, 0);
	must(swapcontext(&back, &there));
	say("came back", 1);
}

static volatile sig_atomic_t handled;

static void handler(int s)
{
	(void)s;
	int e = errno;
	int fd = open(in_dir("in"), O_RDONLY);
	char b[16];
	if (fd < 0 || read(fd, b, 16) != 9)
		_exit(92);
	close(fd);
	handled++;
	errno = e;
}

CASE(c_other_stack)
{
	long size = sysconf(_SC_MINSIGSTKSZ) + 8192;
	stack_t s = {.ss_sp = malloc((size_t)size), .ss_size = (size_t)size};
	must(sigaltstack(&s, NULL));
	must(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler, .sa_flags = SA_ONSTACK}, NULL));
	for (int i = 0; i < 2 * ENOUGH; i++) {
		must(raise(SIGUSR1));
		read_in();
	}
	say("handled", handled);
}

/* ---- programs that cannot be started ------------------------------------------------------------------------------
 */

static void try_exec(const char *name)
{
	pid_t pid = (pid_t)must(vfork());
	if (pid == 0) {
		execl(in_dir(name), name, "x", (char *)NULL);
		_exit(errno == 0 ? 126 : errno);
	}
	int status = await(pid);
	say(name, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void put_script(const char *name, const char *text)
{
	int fd = (int)must(open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0755));
	put(fd, text);
	must(close(fd));
}

CASE(c_exec_odd)
{
	char text[PATH_MAX + 64];
	must(mkfifo(in_dir("fifo"), 0777));
	try_exec("fifo");
	try_exec("sub");
	try_exec("none");
	try_exec("in");
	put_script("empty", "");
	try_exec("empty");
	put_script("elf", "\177ELF\2\1\1");
	try_exec("elf");
	put_script("interpreter-none", "#!/nothing/at/all\n");
	try_exec("interpreter-none");
	snprintf(text, sizeof(text), "#!%s\n", in_dir("fifo"));
	put_script("interpreter-fifo", text);
	try_exec("interpreter-fifo");
	snprintf(text, sizeof(text), "#!%s\n", in_dir("sub"));
	put_script("interpreter-directory", text);
	try_exec("interpreter-directory");
	snprintf(text, sizeof(text), "#!%s\n", in_dir("own"));
	put_script("own", text);
	try_exec("own");
	put_script("no-newline", "#!/bin/true");
	try_exec("no-newline");
	put_script("blank", "#!   \n");
	try_exec("blank");
	put_script("null", "#!/dev/null\n");
	try_exec("null");
	/* Interpreters of interpreters: the kernel goes five deep. */
	put_script("n0", "#!/bin/true\n");
	for (int i = 1; i < 8; i++) {
		char name[8], to[8];
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(to, sizeof(to), "n%d", i - 1);
		snprintf(text, sizeof(text), "#!%s\n", in_dir(to));
		put_script(name, text);
		try_exec(name);
	}
	int fd = (int)must(open(in_dir("busy"), O_WRONLY | O_CREAT, 0755));
	put(fd, "#!/bin/true\n");
	try_exec("busy");
	must(close(fd));
	try_exec("busy");
	memset(text, 'x', 300);
	text[300] = 0;
	pid_t pid = (pid_t)must(vfork());
	if (pid == 0) {
		execl(text, text, (char *)NULL);
		_exit(errno);
	}
	say("long", WEXITSTATUS(await(pid)));
}

/* A FIFO that is executed, in vain, gets no reader by that. */
static _Atomic int over;

static void *wait_for_reader(void *arg)
{
	long readers = 0;
	while (!over) {
		int fd = open(arg, O_WRONLY | O_NONBLOCK);
		if (fd >= 0) {
			readers++;
			close(fd);
		}
	}
	return (void *)(intptr_t)readers;
}

CASE(c_exec_fifo)
{
	char path[PATH_MAX];
	void *readers;
	pthread_t t;
	snprintf(path, sizeof(path), "%s", in_dir("fifo"));
	must(mkfifo(path, 0777));
	must(-pthread_create(&t, NULL, wait_for_reader, path));
	struct stat st;
	volatile long failed = 0;
	for (volatile int i = 0; i < 200; i++) {
		pid_t pid = (pid_t)must(vfork());
		if (pid == 0) {
			execl(path, path, (char *)NULL);
			_exit(errno);
		}
		failed += WEXITSTATUS(await(pid)) == EACCES;
		must(stat(path, &st));
		failed += access(path, X_OK) == 0;
	}
	over = 1;
	must(-pthread_join(t, &readers));
	say("readers", (long)(intptr_t)readers);
	say("failed", failed);
}

static void copy(const char *from, const char *to)
{
	static char b[1 << 16];
	long n;
	int in = (int)must(open(from, O_RDONLY)), out = (int)must(open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755));
	while ((n = must(read(in, b, sizeof(b)))) > 0)
		check(write(out, b, (size_t)n) == n);
	must(close(in));
	must(close(out));
}

/* Written, closed, executed, written again: nobody else holds it for writing, nobody else runs it. */
CASE(c_exec_new)
{
	for (int i = 0; i < 20; i++) {
		copy("/bin/true", in_dir("program"));
		try_exec("program");
	}
}

/* ---- who else has it open --------------------------------------------------------------------------------------- */

/* A lease is given only where nobody else has the file open. */
CASE(c_lease)
{
	long refused = 0, first = 0;
	for (int i = 0; i < 2 * ENOUGH; i++) {
		int fd = (int)must(open(in_dir("leased"), O_RDWR | O_CREAT, 0755));
		put(fd, "x");
		if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
			refused++;
			if (!first)
				first = errno;
		}
		if (i % 3 == 0)
			must(rename(in_dir("leased"), in_dir("other")));
		must(close(fd));
		read_in();
		fd = (int)must(open(in_dir("in"), O_RDONLY));
		refused += fcntl(fd, F_SETLEASE, F_WRLCK) < 0;
		must(close(fd));
	}
	if (refused == 4 * ENOUGH)
		skip("no leases here");
	say("refused", refused);
	say("errno", first);
}

/* Who looks at a directory sees what the program did, and nothing of the recorder's. */
CASE(c_watched)
{
	char b[65536] __attribute__((aligned(8)));
	int watch = (int)must(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
	must(inotify_add_watch(watch, dir, IN_ALL_EVENTS));
	for (int i = 0; i < 10; i++)
		read_in();
	make_file(in_dir("made"));
	must(rename(in_dir("made"), in_dir("moved")));
	must(link(in_dir("moved"), in_dir("linked")));
	must(unlink(in_dir("moved")));
	must(truncate(in_dir("page"), 5));
	must(symlink("in", in_dir("sym")));
	int fd = (int)must(open(in_dir("sym"), O_RDONLY));
	get(fd);
	must(close(fd));
	nap(60);
	long n;
	while ((n = read(watch, b, sizeof(b))) > 0) {
		for (char *p = b; p < b + n;) {
			struct inotify_event *e = (struct inotify_event *)p;
			char line[PATH_MAX];
			snprintf(line, sizeof(line), "%s %x", e->len ? e->name : "-", e->mask);
			say(line, 0);
			p += sizeof(*e) + e->len;
		}
	}
}

/* The time of the last read is that of a read. */
CASE(c_access_times)
{
	struct stat st;
	struct timespec old[2] = {{1000000000, 0}, {1100000000, 0}};
	const char *const files[] = {"in", "in2", "page", "x"};
	long moved = 0;
	for (unsigned i = 0; i < 4; i++)
		must(utimensat(AT_FDCWD, in_dir(files[i]), old, 0));
	put_script("script", "#!/bin/true\n");
	must(chmod(in_dir("script"), 0644)); /* its exec fails */
	must(utimensat(AT_FDCWD, in_dir("script"), old, 0));
	for (int round = 0; round < ENOUGH; round++) {
		for (unsigned i = 0; i < 4; i++) {
			must(close((int)must(open(in_dir(files[i]), O_RDONLY))));
			must(stat(in_dir(files[i]), &st));
			moved += st.st_atim.tv_sec != 1000000000;
		}
	}
	try_exec("script");
	must(stat(in_dir("script"), &st));
	say("of a failed exec", st.st_atim.tv_sec != 1000000000);
	must(rename(in_dir("in2"), in_dir("in3")));
	must(stat(in_dir("in3"), &st));
	moved += st.st_atim.tv_sec != 1000000000;
	say("moved", moved);
}

/* A file system that is used by nobody any more can be unmounted at once. */
CASE(c_unmount)
{
	if (unshare(CLONE_NEWNS) < 0)
		skip("only root can mount here");
	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	long busy = 0;
	for (int i = 0; i < 40; i++) {
		char at[PATH_MAX], name[PATH_MAX + 16];
		snprintf(at, sizeof(at), "%s", in_dir("sub"));
		must(mount("tmpfs", at, "tmpfs", 0, "size=1m"));
		must(chdir(at));
		int fd = (int)must(open("f", O_WRONLY | O_CREAT, 0755));
		put(fd, "#!/bin/true\n");
		must(close(fd));
		for (int k = 0; k < 20; k++)
			must(close((int)must(open("f", O_RDONLY))));
		must(rename("f", "g"));
		must(mkdir("d", 0755));
		snprintf(name, sizeof(name), "%s/g", at);
		pid_t pid = (pid_t)must(fork());
		if (pid == 0) {
			execl(name, name, (char *)NULL);
			_exit(127);
		}
		check(await(pid) == 0);
		must(chdir("d"));
		must(close((int)must(open("../g", O_RDONLY))));
		must(chdir("/"));
		busy += umount(at) < 0;
		if (busy && umount2(at, MNT_DETACH) < 0)
			break;
	}
	say("busy", busy);
}

CASE(c_deep_directory)
{
	char name[201], b[64];
	memset(name, 'd', 200);
	name[200] = 0;
	must(chdir(dir));
	for (int i = 0; i < 30; i++) {
		must(mkdir(name, 0755));
		must(chdir(name));
	}
	say("getcwd", getcwd(b, sizeof(b)) != NULL);
	for (int i = 0; i < ENOUGH; i++) {
		int fd = (int)must(open("f", O_RDWR | O_CREAT, 0644));
		must(close(fd));
		must(close((int)must(open("f", O_RDONLY))));
	}
	must(rename("f", "g"));
	must(unlink("g"));
	child_works();
	for (int i = 0; i < 30; i++) {
		must(chdir(".."));
		must(rmdir(name));
	}
}

/* ---- many ----------------------------------------------------------------------------------------------------------
 */

CASE(c_forks)
{
	long good = 0, n = argc > 0 ? atol(argv[0]) : 500;
	for (long i = 0; i < n; i++) {
		pid_t pid = (pid_t)must(fork());
		if (pid == 0)
			_exit((int)(i % 200));
		int status = await(pid);
		good += WIFEXITED(status) && WEXITSTATUS(status) == i % 200;
	}
	say("good", good == n);
	work();
}

static void *opens_and_ends(void *arg)
{
	(void)arg;
	read_in();
	return NULL;
}

/* Addresses that are longer than the kernel takes, full to the last byte: by name and without a file. */
CASE(c_long_addresses)
{
	union {
		struct sockaddr sa;
		struct sockaddr_storage room;
		unsigned char raw[128];
	} u;
	long refused = 0;
	memset(&u, 'A', sizeof(u));
	u.sa.sa_family = AF_UNIX;
	for (int abstract = 0; abstract < 2; abstract++) {
		u.raw[sizeof(u.sa.sa_family)] = abstract ? '\0' : 'A';
		for (socklen_t n = sizeof(struct sockaddr_un) - 2; n <= sizeof(u); n++) {
			int fd = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
			refused += connect(fd, &u.sa, n) < 0;
			refused += n > sizeof(struct sockaddr_un) && bind(fd, &u.sa, n) < 0;
			close(fd);
		}
	}
	say("refused", refused);
	work();
}

CASE(c_threads_come_and_go)
{
	for (int i = 0; i < 50; i++) {
		pthread_t t[4];
		for (int k = 0; k < 4; k++)
			must(-pthread_create(&t[k], NULL, opens_and_ends, NULL));
		for (int k = 0; k < 4; k++)
			must(-pthread_join(t[k], NULL));
	}
	work();
	say("threads", 200);
}

/* ---- the kernel's own sandbox ---------------------------------------------------------------------------------------
 */

CASE(c_strict)
{
	work();
	pid_t pid = (pid_t)must(fork());
	if (pid == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
			_exit(errno);
		char b;
		ssize_t n = read(0, &b, 1);
		n += write(1, "in the sandbox\n", 15);
		syscall(SYS_exit, n == 15 ? 42 : 43);
	}
	say("sandbox", await(pid));
	pid = (pid_t)must(fork());
	if (pid == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
			_exit(errno);
		open(in_dir("in"), O_RDONLY);
		syscall(SYS_exit, 44);
	}
	say("forbidden", await(pid));
}

#if defined(PR_SET_SYSCALL_USER_DISPATCH) && defined(__x86_64__)
static volatile char selector;
static volatile long dispatched;

static void on_dispatch(int s, siginfo_t *info, void *context)
{
	(void)s;
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;
	dispatched += info->si_syscall == SYS_openat || info->si_syscall == SYS_open;
	g[REG_RAX] = syscall(info->si_syscall, g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9]);
	if (g[REG_RAX] < 0)
		g[REG_RAX] = -errno;
}
#endif

/* As wine does: calls are looked at by the program itself, but those of one place. */
CASE(c_user_dispatch)
{
#if defined(PR_SET_SYSCALL_USER_DISPATCH) && defined(__x86_64__)
	work();
	must(sigaction(SIGSYS, &(struct sigaction){.sa_sigaction = on_dispatch, .sa_flags = SA_SIGINFO}, NULL));
	static char page[8192];
	/* The return from the handler is to be let through: it is done with the selector at "allow". */
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, page, sizeof(page), &selector) < 0)
		skip("no dispatch to the user");
	for (int i = 0; i < ENOUGH; i++) {
		selector = SYSCALL_DISPATCH_FILTER_BLOCK;
		int fd = open(in_dir("in"), O_RDONLY);
		selector = SYSCALL_DISPATCH_FILTER_ALLOW;
		check(fd >= 0 && get(fd) == 9);
		close(fd);
	}
	prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
	say("dispatched", dispatched);
#else
	skip("no dispatch to the user");
#endif
}

const struct tcase cases[] = {{"descriptors-8", c_descriptors_8},
                              {"descriptors-all", c_descriptors_all},
                              {"address-space", c_address_space},
                              {"address-space-late", c_address_space_late},
                              {"no-child", c_no_child},
                              {"no-growth", c_no_growth},
                              {"all-locked", c_all_locked},
                              {"locked-late", c_locked_late},
                              {"parent-stopped", c_parent_stopped},
                              {"parent-traced", c_parent_traced},
                              {"parent-killed", c_parent_killed},
                              {"odd-names", c_odd_names},
                              {"not-dumpable", c_not_dumpable},
                              {"another-user", c_another_user},
                              {"personality", c_personality},
                              {"place-taken", c_place_taken},
                              {"little-stack", c_little_stack},
                              {"other-stack", c_other_stack},
                              {"exec-odd", c_exec_odd},
                              {"exec-fifo", c_exec_fifo},
                              {"exec-new", c_exec_new},
                              {"lease", c_lease},
                              {"watched", c_watched},
                              {"access-times", c_access_times},
                              {"unmount", c_unmount},
                              {"deep-directory", c_deep_directory},
                              {"forks", c_forks},
                              {"long-addresses", c_long_addresses},
                              {"threads-come-and-go", c_threads_come_and_go},
                              {"strict", c_strict},
                              {"user-dispatch", c_user_dispatch},
                              {"+again", c_again},
                              {"+holds", c_holds},
                              {0}};
