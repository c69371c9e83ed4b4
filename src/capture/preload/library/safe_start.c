/* Where a program begins and ends, and where a process does. */
#include "capture/preload/library/safe.h"
#include "event/env.h"

#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#define TEXT_MAX 131072 /* bytes of arguments and of variables that are told */

struct self *safe_self;
bool safe_quiet, safe_gone;
char safe_library[1024];
char safe_region_var[sizeof(SAFE_ENV) + 256];
__thread uint32_t safe_vforked __attribute__((tls_model("initial-exec")));

/* Of the process that this memory is from, for a child of it; and when it last began a fork. */
static uint32_t last_pid, last_image;
static int64_t last_fork;
static bool ended;

extern char **environ;
extern char __libc_single_threaded __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int on_exit(void (*f)(int, void *), void *arg) __attribute__((weak));
extern size_t __fpending(FILE *) __attribute__((weak)), __fbufsize(FILE *) __attribute__((weak));

static long fail_absent_wait(void)
{
	errno = ENOSYS;
	return -1;
}

void *safe_next(const char *name)
{
	void *f = symbols_next_one(name);
	return f ? f : (void *)(uintptr_t)fail_absent_wait;
}

void *safe_look_up(struct symbol *r)
{
	return r->f = safe_next(r->name);
}

__attribute__((visibility("hidden"))) extern struct symbol __start_safe_reals[], __stop_safe_reals[];

void *safe_early_mmap(void *at, size_t n, int prot, int flags, int fd, int64_t off)
{
	long r = raw6(SYS_mmap, (long)at, (long)n, prot, flags, fd, off);
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return MAP_FAILED;
	}
	return (void *)r;
}

static uint32_t new_image(uint32_t pid)
{
	uint32_t v = (uint32_t)((uint64_t)safe_now() >> 8) * 2654435761u ^ pid;
	return v ? v : 1;
}

static void begin_self(uint32_t pid)
{
	struct self *s = safe_self;
	s->image = new_image(pid);
	s->epoch = s->image;
	__atomic_store_n(&s->pid, pid, __ATOMIC_RELEASE);
	last_pid = pid;
	last_image = s->image;
	ended = false;
}

void safe_born(uint32_t parent, uint32_t image, bool vforked, int64_t when)
{
	struct safe_out o;
	safe_begin(&o, SAFE_BORN);
	o.e.a = parent;
	o.e.b = image;
	o.e.fd = vforked;
	struct safe_birth birth = {.since = when ? when : o.e.time};
	struct safe_stat ns;
	if (stat_path(AT_FDCWD, "/proc/thread-self/ns/pid", 0, &ns))
		birth.pidns = ns.ino;
	o.more = &birth;
	o.nmore = sizeof(birth);
	safe_emit(&o);
}

bool safe_on(void)
{
	struct self *s = safe_self;
	if (!s || safe_quiet || safe_gone)
		return false;
	if (__builtin_expect(__atomic_load_n(&s->pid, __ATOMIC_RELAXED) != 0, 1))
		return true;
	/* A child by fork: the kernel has emptied the page. It is the only thread yet. */
	int keep = errno;
	uint32_t parent = last_pid, image = last_image;
	begin_self((uint32_t)raw0(SYS_getpid));
	s->born = true;
	s->loaded = 0;
	safe_born(parent, image, false, last_fork);
	last_fork = 0;
	errno = keep;
	return true;
}

/* ---- filters ---- */

/* A filter may kill for any call that the program does not make itself. So nothing is asked of the kernel from here on,
 * and that is said before. Who confines itself may be about to do what it does not trust: that is not to see what other
 * programs say, so the region is let go. */
static bool gone_before;

bool safe_filter_begins(void)
{
	struct safe_out o;
	int keep = errno;
	if (!safe_self || safe_quiet)
		return false;
	gone_before = safe_gone;
	if (safe_on()) {
		entry_snapshots(false, -1);
		safe_begin(&o, SAFE_NOTE);
		o.e.a = SAFE_NOTE_FILTER;
		safe_emit(&o);
		safe_let_go();
	}
	safe_quiet = true;
	errno = keep;
	return true;
}

void safe_filter_ends(bool set)
{
	int keep = errno;
	if (set) {
		safe_env_leave();
	} else {
		safe_quiet = false;
		if (!gone_before)
			safe_regain();
	}
	errno = keep;
}

REAL_OF(prctl);
EXPORT int prctl(int what, ...)
{
	va_list ap;
	unsigned long a[4];
	va_start(ap, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	bool begins = what == PR_SET_SECCOMP && safe_filter_begins();
	int r = REAL(prctl)(what, a[0], a[1], a[2], a[3]);
	if (begins)
		safe_filter_ends(r == 0);
	return r;
}

/* ---- another user ---- */

void safe_leave(enum safe_note why)
{
	int keep = errno;
	struct safe_out o;
	if (!safe_on())
		return;
	if (!safe_vforked)
		entry_snapshots(false, -1);
	safe_begin(&o, SAFE_NOTE);
	o.e.a = why;
	safe_emit(&o);
	/* A vfork's child is on its parent's memory, which has the user that it had. */
	if (!safe_vforked)
		safe_let_go();
	errno = keep;
}

#define CHANGES_USER(name, args, call)                                                                                 \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int r = REAL(name) call;                                                                                       \
		if (r == 0 && safe_on() && !safe_same_user())                                                                  \
			safe_leave(SAFE_NOTE_USER);                                                                                \
		return r;                                                                                                      \
	}

CHANGES_USER(setuid, (uid_t uid), (uid))
CHANGES_USER(seteuid, (uid_t uid), (uid))
CHANGES_USER(setreuid, (uid_t ruid, uid_t euid), (ruid, euid))
CHANGES_USER(setresuid, (uid_t ruid, uid_t euid, uid_t suid), (ruid, euid, suid))

/* ---- fork ---- */

REAL_OF(fork);
EXPORT pid_t fork(void)
{
	if (safe_on())
		last_fork = safe_now();
	pid_t pid = REAL(fork)();
	if (pid == 0)
		safe_on();
	return pid;
}

/* In the child of a vfork, which runs on its parent's memory until it execs or ends; and in the parent after that. */
__attribute__((visibility("hidden"))) void safe_vfork_child(void);
__attribute__((visibility("hidden"))) void safe_vfork_parent(void);

void safe_vfork_child(void)
{
	if (!safe_self || !safe_self->pid || safe_quiet || safe_gone)
		return;
	uint32_t parent = safe_vforked ? safe_vforked : safe_self->pid;
	uint32_t image = safe_vforked ? safe_self->image ^ safe_vforked : safe_self->image;
	safe_vforked = (uint32_t)raw0(SYS_getpid);
	safe_born(parent, image, true, 0);
}

void safe_vfork_parent(void)
{
	if (!safe_self || !safe_vforked)
		return;
	uint32_t pid = (uint32_t)raw0(SYS_getpid);
	safe_vforked = pid == safe_self->pid ? 0 : pid;
	safe_exec_room_free(); /* the child's, which cannot give it back once it has become a program */
}

#if defined(__x86_64__)
/* It returns twice on one stack, so no frame may be left on it: the return address is kept in a register, as the C
 * library's own does. */
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "	.cfi_startproc\n"
        "	popq %rdi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	movl $58, %eax\n"
        "	syscall\n"
        "	pushq %rdi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rax\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	testq %rax, %rax\n"
        "	jz 1f\n"
        "	call safe_vfork_parent\n"
        "	popq %rax\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	testq %rax, %rax\n"
        "	js 2f\n"
        "	ret\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "1:	call safe_vfork_child\n"
        "	popq %rax\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	ret\n"
        "2:	negl %eax\n"
        "	pushq %rax\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	call __errno_location@PLT\n"
        "	popq %rdx\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	movl %edx, (%rax)\n"
        "	movq $-1, %rax\n"
        "	ret\n"
        "	.cfi_endproc\n"
        ".size vfork, .-vfork\n");

/* syscall(2) may be asked for a vfork as well: what is not looked at goes on to the real one without a frame of ours.
 */
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "	.cfi_startproc\n"
        "	movq safe_real_syscall(%rip), %rax\n"
        "	testq %rax, %rax\n"
        "	jz 1f\n"
        "	cmpq $512, %rdi\n"
        "	jae 2f\n"
        "	leaq safe_wanted_calls(%rip), %r11\n"
        "	cmpb $0, (%r11,%rdi)\n"
        "	jne 1f\n"
        "2:	jmp *%rax\n"
        "1:	jmp safe_syscall\n"
        "	.cfi_endproc\n"
        ".size syscall, .-syscall\n");
#endif

/* ---- waiting: how a child ended that was killed before anybody looked ---- */

static void emit_waited(pid_t pid, int status)
{
	int keep = errno;
	struct safe_out o;
	if (pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)) && safe_on()) {
		safe_begin(&o, SAFE_WAITED);
		o.e.a = (uint64_t)pid;
		o.e.b = (uint64_t)(unsigned)status;
		safe_emit(&o);
	}
	errno = keep;
}

#define WAITS(name, args, call)                                                                                        \
	REAL_OF(name);                                                                                                     \
	EXPORT pid_t name args                                                                                             \
	{                                                                                                                  \
		int own = 0;                                                                                                   \
		pid_t pid = REAL(name) call;                                                                                   \
		if (pid > 0 && status)                                                                                         \
			*status = own;                                                                                             \
		emit_waited(pid, own);                                                                                         \
		return pid;                                                                                                    \
	}

WAITS(wait, (int *status), (&own))
WAITS(waitpid, (pid_t which, int *status, int flags), (which, &own, flags))
WAITS(wait3, (int *status, int flags, struct rusage *ru), (&own, flags, ru))
WAITS(wait4, (pid_t which, int *status, int flags, struct rusage *ru), (which, &own, flags, ru))

/* ---- figures ---- */

static uint64_t safe_parse_figure(const char *text, const char *name)
{
	size_t n = text_len(name, 32);
	for (const char *p = text; *p; p++) {
		if ((p == text || p[-1] == '\n') && text_len(p, n) == n && !memcmp(p, name, n)) {
			uint64_t v = 0;
			for (p += n; *p >= '0' && *p <= '9'; p++)
				v = v * 10 + (uint64_t)(*p - '0');
			return v;
		}
	}
	return UINT64_MAX;
}

static long read_text_file(const char *path, char *ret, size_t n)
{
	long fd = raw6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got = fd < 0 ? -1 : raw3(SYS_read, fd, (long)ret, (long)n - 1);
	if (fd >= 0)
		raw1(SYS_close, fd);
	ret[got > 0 ? got : 0] = '\0';
	return got > 0 ? got : 0;
}

/* What the kernel has counted of this thread if there was never another one, for the process's file also has its
 * children's; else of the process. */
static long read_io_counters(char *ret, size_t n)
{
	bool single = &__libc_single_threaded && __libc_single_threaded;
	return read_text_file(single ? "/proc/thread-self/io" : "/proc/self/io", ret, n);
}

static void read_first_counters(void)
{
	char text[512];
	struct self *s = safe_self;
	long n = read_io_counters(text, sizeof(text));
	s->base[0] = safe_parse_figure(text, "rchar: ");
	s->base[1] = safe_parse_figure(text, "wchar: ");
	if (s->base[0] != UINT64_MAX)
		s->base[0] += (uint64_t)n;
}

/* Has the C library's stdio nothing left to write: stdout was never buffered, stderr holds no bytes? False, too, where
 * the library cannot be asked. */
static bool is_stdio_empty(void)
{
	return &__fbufsize && __fbufsize(stdout) == 0 && &__fpending && __fpending(stderr) == 0;
}

static void read_usage(struct safe_figures *ret)
{
	struct rusage ru;
	ret->user = ret->system = ret->rss = UINT64_MAX;
	if (raw3(SYS_getrusage, RUSAGE_SELF, (long)&ru, 0) == 0) {
		ret->user = (uint64_t)ru.ru_utime.tv_sec * 1000000000u + (uint64_t)ru.ru_utime.tv_usec * 1000u;
		ret->system = (uint64_t)ru.ru_stime.tv_sec * 1000000000u + (uint64_t)ru.ru_stime.tv_usec * 1000u;
		ret->rss = (uint64_t)ru.ru_maxrss * 1024;
	}
}

void safe_opening(void)
{
	char text[512];
	struct self *s = safe_self;
	if (s->opening || safe_vforked)
		return;
	s->opening = true;
	long n = read_io_counters(text, sizeof(text));
	uint64_t total = safe_parse_figure(text, "rchar: ");
	s->opened[0] = total == UINT64_MAX ? total : total + (uint64_t)n;
	s->opened[1] = s->moved[0];
	if (s->base[0] != UINT64_MAX)
		s->base[0] += (uint64_t)n;
}

/* Bytes that stdio still holds are written when nobody looks any more: nothing is proved then. */
void safe_figures(struct safe_figures *ret, uint64_t *ret_proved)
{
	char text[512];
	struct self *s = safe_self;
	long n = read_io_counters(text, sizeof(text));
	ret->rchar = safe_parse_figure(text, "rchar: ");
	ret->wchar = safe_parse_figure(text, "wchar: ");
	ret->read_bytes = safe_parse_figure(text, "read_bytes: ");
	ret->write_bytes = safe_parse_figure(text, "write_bytes: ");
	*ret_proved = 0;
	if (s->base[0] != UINT64_MAX && ret->rchar != UINT64_MAX && !s->uncounted) {
		*ret_proved |= ret->rchar - s->base[0] == s->moved[0] ? SAFE_PROVED_READ : 0;
		*ret_proved |=
		    ret->wchar - s->base[1] == s->moved[1] && !s->streams && is_stdio_empty() ? SAFE_PROVED_WRITE : 0;
		if (!s->opening || (s->opened[0] != UINT64_MAX && ret->rchar - s->opened[0] == s->moved[0] - s->opened[1]))
			*ret_proved |= SAFE_PROVED_OPENED;
	}
	if (s->opening)
		s->opened[0] += (uint64_t)n;
	struct safe_out o;
	safe_begin(&o, SAFE_SUMS);
	o.e.a = s->rows[0];
	o.e.b = s->rows[1];
	safe_emit(&o);
	if (s->base[0] != UINT64_MAX)
		s->base[0] += (uint64_t)n;
	read_usage(ret);
}

void safe_exit(int status)
{
	struct safe_out o;
	struct safe_figures f;
	uint64_t proved = 0;
	if (!safe_on() || (ended && !safe_vforked))
		return;
	if (safe_vforked) {
		read_usage(&f);
		f.rchar = f.wchar = f.read_bytes = f.write_bytes = UINT64_MAX;
		safe_begin(&o, SAFE_EXIT);
		o.e.a = (uint64_t)status & 0xff;
		o.more = &f;
		o.nmore = sizeof(f);
		safe_emit(&o);
		return;
	}
	ended = true;
	if (safe_self->born)
		entry_walk();
	else
		safe_libraries();
	int pending = &__fpending && __fpending(stdout) > 0 ? fileno(stdout) : -1;
	entry_snapshots(true, pending);
	safe_figures(&f, &proved);
	safe_begin(&o, SAFE_EXIT);
	o.e.a = (uint64_t)status & 0xff;
	o.e.b = proved;
	o.more = &f;
	o.nmore = sizeof(f);
	safe_emit(&o);
}

static void at_exit(int status, void *arg)
{
	(void)arg;
	safe_exit(status);
}

REAL_OF(_exit);
REAL_OF(_Exit);
REAL_OF(quick_exit);
EXPORT void _exit(int status)
{
	safe_exit(status);
	REAL(_exit)(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	safe_exit(status);
	REAL(_Exit)(status);
	__builtin_unreachable();
}

/* Its handlers run first, and say nothing more to stdio than before. */
EXPORT void quick_exit(int status)
{
	safe_exit(status);
	REAL(quick_exit)(status);
	__builtin_unreachable();
}

/* ---- the beginning of a program ---- */

/* Emits a string of the list (arguments, environment) in pieces of SAFE_STRING_MAX bytes, at least one. */
static void emit_text(enum safe_list list, const char *text)
{
	size_t n = strlen(text);
	do {
		struct safe_out o;
		size_t k = n < SAFE_STRING_MAX ? n : SAFE_STRING_MAX;
		safe_begin(&o, SAFE_TEXT);
		o.e.a = list;
		o.e.b = k == n;
		o.str[0] = text;
		o.len[0] = k;
		o.e.nstr = 1;
		safe_emit(&o);
		text += k;
		n -= k;
	} while (n);
}

static int emit_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct safe_out o;
	(void)size;
	(void)arg;
	if (!info->dlpi_name || info->dlpi_name[0] != '/' || !strcmp(info->dlpi_name, safe_library))
		return 0;
	safe_begin(&o, SAFE_LIBRARY);
	if (!stat_path(AT_FDCWD, info->dlpi_name, 0, &o.stat[0]))
		return 0;
	stat_gen(AT_FDCWD, info->dlpi_name, 0, &o.stat[0]);
	o.e.nstat = 1;
	struct words name;
	words_begin(&name);
	words_real(&name, AT_FDCWD, info->dlpi_name);
	safe_string(&o, name.p);
	if (name.n)
		safe_emit(&o);
	words_end(&name);
	return 0;
}

static int read_load_count(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

void safe_libraries(void)
{
	unsigned long long adds = 0;
	/* The linker's lock could be another thread's, who waits for us, or be nobody's after a fork. */
	if (!(&__libc_single_threaded && __libc_single_threaded) && safe_self->loaded)
		return;
	dl_iterate_phdr(read_load_count, &adds);
	if (adds == safe_self->loaded)
		return;
	safe_self->loaded = adds;
	dl_iterate_phdr(emit_library, NULL);
}

static uint64_t start_ticks(void)
{
	char text[1024], *p = NULL;
	read_text_file("/proc/self/stat", text, sizeof(text));
	for (char *q = text; *q; q++)
		if (*q == ')')
			p = q + 1;
	for (int field = 2; p && *p; p++)
		if (*p == ' ' && ++field == 22) {
			uint64_t v = 0;
			for (p++; *p >= '0' && *p <= '9'; p++)
				v = v * 10 + (uint64_t)(*p - '0');
			return v;
		}
	return 0;
}

static void emit_image_start(int argc, char **argv)
{
	struct safe_out o;
	char exe[4096], cwd[4096];
	uint64_t more[4] = {0};
	safe_begin(&o, SAFE_IMAGE);
	o.e.a = (uint64_t)raw0(SYS_getppid);
	o.e.b = start_ticks();
	stat_path(AT_FDCWD, "/proc/self/exe", 0, &o.stat[0]);
	stat_gen(AT_FDCWD, "/proc/self/exe", 0, &o.stat[0]);
	stat_path(AT_FDCWD, "/", 0, &o.stat[1]);
	o.e.nstat = 2;
	struct safe_stat ns;
	if (stat_path(AT_FDCWD, "/proc/self/ns/pid", 0, &ns))
		more[0] = ns.ino;
	if (stat_path(AT_FDCWD, "/proc/self/ns/mnt", 0, &ns))
		more[1] = ns.ino;
	more[2] = (uint64_t)raw0(SYS_geteuid);
	more[3] = (uint64_t)raw0(SYS_getegid);
	o.more = more;
	o.nmore = sizeof(more);
	long n = raw6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)exe, sizeof(exe) - 1, 0, 0);
	exe[n > 0 ? n : 0] = '\0';
	n = raw3(SYS_getcwd, (long)cwd, sizeof(cwd), 0);
	cwd[n > 0 ? n : 0] = '\0';
	safe_string(&o, exe);
	safe_string(&o, cwd);
	safe_emit(&o);
	/* A script's arguments begin with its interpreter, which is not what was asked for. */
	const char *given = (const char *)getauxval(AT_EXECFN);
	int first = 0;
	if (given)
		for (int i = 1; i <= 10 && i < argc && !first; i++)
			if (!strcmp(argv[i], given))
				first = i;
	if (first) {
		struct safe_out s;
		struct words path;
		safe_begin(&s, SAFE_LIBRARY);
		s.e.a = 1; /* the script */
		s.e.nstat = 1;
		words_begin(&path);
		words_real(&path, AT_FDCWD, given);
		if (path.n && stat_path(AT_FDCWD, given, 0, &s.stat[0])) {
			stat_gen(AT_FDCWD, given, 0, &s.stat[0]);
			safe_string(&s, path.p);
			safe_emit(&s);
		}
		words_end(&path);
	}
	size_t sum = 0;
	for (int i = first; i < argc && sum < TEXT_MAX; sum += strlen(argv[i++]) + 1)
		emit_text(SAFE_ARG, argv[i]);
	sum = 0;
	for (char **v = environ; v && *v && sum < TEXT_MAX; v++) {
		const char *eq = strchr(*v, '=');
		if (!eq || !env_allowed(str_n(*v, (size_t)(eq - *v))))
			continue;
		emit_text(SAFE_VAR, *v);
		sum += strlen(*v) + 1;
	}
}

static bool set_library_path(void)
{
	const char *file = symbols_own_file();
	size_t n = file ? strlen(file) : sizeof(safe_library);
	if (n >= sizeof(safe_library))
		return false;
	memcpy(safe_library, file, n + 1);
	return true;
}

/* The dynamic linker gives it what main gets. */
__attribute__((constructor)) static void start_library(int argc, char **argv)
{
	const char *path = NULL;
	for (char **v = environ; v && *v; v++)
		if (!strncmp(*v, SAFE_ENV "=", sizeof(SAFE_ENV)))
			path = *v + sizeof(SAFE_ENV);
	size_t n = path ? strlen(path) : 0;
	int keep = errno;
	/* All of them now, whether there is a record or not. */
	symbols_next(__start_safe_reals, (size_t)(__stop_safe_reals - __start_safe_reals));
	for (struct symbol *r = __start_safe_reals; r < __stop_safe_reals; r++)
		if (!r->f)
			safe_look_up(r);
	/* Another C library than the one it was made for would not call back: then it only passes on. */
	if (!&gnu_get_libc_version || !&on_exit || !n || n > 200 || safe_self || !set_library_path() || !safe_map(path))
		return;
	memcpy(safe_region_var, SAFE_ENV "=", sizeof(SAFE_ENV));
	memcpy(safe_region_var + sizeof(SAFE_ENV), path, n + 1);
	long at = raw6(SYS_mmap, 0, SAFE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((at < 0 && at > -4096) || raw3(SYS_madvise, at, SAFE_PAGE, MADV_WIPEONFORK) < 0) {
		errno = keep;
		return;
	}
	safe_self = (struct self *)at;
	begin_self((uint32_t)raw0(SYS_getpid));
	emit_image_start(argc, argv);
	safe_libraries();
	entry_walk();
	struct safe_out o;
	safe_begin(&o, SAFE_READY);
	safe_emit(&o);
	read_first_counters();
	on_exit(at_exit, NULL);
	errno = keep;
}
