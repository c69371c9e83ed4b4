/* Programs: what is about to run, whether this library can go along, and the environment that takes it there. */
#include "capture/preload/library/safe.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern char **environ;

#define PRELOAD "LD_PRELOAD="
#define ASAN "ASAN_OPTIONS="
#define ASAN_OFF "verify_asan_link_order=0"
#define ARGS_MAX 65536 /* bytes of arguments that are told */

enum fits {
	FITS,
	FITS_STATIC, /* it inherits the variables and has no use for them itself */
	FITS_NOT,    /* the dynamic linker would complain */
	FITS_ASAN,   /* it wants to be told that another library may come first */
};

/* All that an exec needs, in memory of its own: the stack may be a small one. A vfork's child cannot give it back when
 * it has become a program; its parent does, whose memory it is. */
struct going {
	size_t size;
	struct words path;
	enum fits fit;
	bool alone;  /* without us */
	bool script; /* what it was called with is not what it will be told */
	char found[4200];
	unsigned char head[256];
	char interpreter[256];
	Elf64_Phdr ph[24];
	Elf64_Dyn dyn[128];
	char name[64];
	char env[];
};

static __thread struct going *left_behind __attribute__((tls_model("initial-exec")));

/* Makes what an exec needs: memory for the new environment and for the program's head. env: bytes for its variables.
 * NULL: no memory. From a vforked child it is the parent's to give back. */
static struct going *going_new(size_t env)
{
	size_t size = sizeof(struct going) + env;
	struct going *g = raw_map(size);
	if (!g)
		return NULL;
	g->size = size;
	words_begin(&g->path);
	if (safe_vforked)
		left_behind = g;
	return g;
}

/* Unmaps g itself: it lies in a mapping of its own. */
static void going_free(struct going *g)
{
	if (left_behind == g)
		left_behind = NULL;
	words_end(&g->path);
	raw3(SYS_munmap, (long)g, (long)g->size, 0);
}

void safe_exec_room_free(void)
{
	if (left_behind)
		going_free(left_behind);
}

/* ---- what a program is ---- */

/* What it read counts as ours, not as the program's. As pread. */
static long read_program_at(int fd, void *to, size_t n, uint64_t at)
{
	long got = raw6(SYS_pread64, fd, (long)to, (long)n, (long)at, 0, 0);
	if (got > 0 && !safe_vforked) { /* the kernel counts it as the program's */
		safe_self->base[0] += (uint64_t)got;
		safe_self->opened[0] += (uint64_t)got;
	}
	return got;
}

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* Is word somewhere in s? word: up to 64 bytes. */
static bool has_substring(const char *s, const char *word)
{
	size_t n = text_len(word, 64);
	for (; *s; s++)
		if (!memcmp(s, word, text_len(s, n)) && text_len(s, n) == n)
			return true;
	return false;
}

/* Does it need a library that must come first? */
static bool needs_asan(int fd, struct going *g, unsigned nph)
{
	const Elf64_Phdr *ph = g->ph;
	Elf64_Dyn *dyn = g->dyn;
	const Elf64_Phdr *dynamic = NULL;
	uint64_t strings = 0, at = 0;
	for (unsigned i = 0; i < nph; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
	long n = dynamic ? read_program_at(fd, dyn, sizeof(g->dyn), dynamic->p_offset) : 0;
	for (long i = 0; i < n / (long)sizeof(dyn[0]); i++)
		if (dyn[i].d_tag == DT_STRTAB)
			strings = dyn[i].d_un.d_ptr;
	for (unsigned i = 0; i < nph; i++)
		if (ph[i].p_type == PT_LOAD && strings >= ph[i].p_vaddr && strings - ph[i].p_vaddr < ph[i].p_filesz)
			at = strings - ph[i].p_vaddr + ph[i].p_offset;
	for (long i = 0; at && i < n / (long)sizeof(dyn[0]) && dyn[i].d_tag != DT_NULL; i++) {
		char *name = g->name;
		if (dyn[i].d_tag != DT_NEEDED)
			continue;
		long got = read_program_at(fd, name, sizeof(g->name) - 1, at + dyn[i].d_un.d_val);
		name[got > 0 ? got : 0] = '\0';
		if (has_substring(name, "libasan.so") || has_substring(name, "libclang_rt.asan"))
			return true;
	}
	return false;
}

/* Can the recording library be loaded into an ELF program? n: bytes in g->head. By its class, its interpreter and
 * whether it has the address sanitizer. */
static enum fits elf_fits(int fd, struct going *g, long n)
{
	Elf64_Ehdr e;
	Elf64_Phdr *ph = g->ph;
	bool interpreted = false;
	memcpy(&e, g->head, sizeof(e));
	if (n < (long)sizeof(e) || e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != MACHINE)
		return FITS_NOT;
	unsigned nph = e.e_phnum < 24 ? e.e_phnum : 24;
	if (e.e_phentsize != sizeof(ph[0]) ||
	    read_program_at(fd, ph, nph * sizeof(ph[0]), e.e_phoff) != (long)(nph * sizeof(ph[0])))
		return FITS_STATIC;
	for (unsigned i = 0; i < nph; i++)
		if (ph[i].p_type == PT_INTERP) {
			long k = read_program_at(fd, g->name, sizeof(g->name) - 1, ph[i].p_offset);
			g->name[k > 0 ? k : 0] = '\0';
			if (has_substring(g->name, "musl")) /* another C library */
				return FITS_NOT;
			interpreted = true;
		}
	return !interpreted ? FITS_STATIC : needs_asan(fd, g, nph) ? FITS_ASAN : FITS;
}

/* Can the library be loaded into the program? Of the program at this path; *ret_privileged: it is set-id, and the
 * dynamic linker will leave us out by itself. What cannot be looked at fits: then the exec fails, or the program is
 * run all the same. */
static enum fits check_program_fits(struct going *g, int dirfd, const char *path, int flags, bool *ret_privileged)
{
	unsigned char *head = g->head;
	char *script = g->interpreter;
	*ret_privileged = false;
	if (raw6(SYS_faccessat, AT_FDCWD, (long)safe_library, R_OK, 0, 0, 0) < 0)
		return FITS_NOT; /* another root */
	for (int depth = 0; depth < 5; depth++) {
		struct safe_stat st;
		bool by_fd = (flags & AT_EMPTY_PATH) && !*path;
		/* What cannot be run is not opened: a FIFO would have a reader by that, a file another time of its last read.
		 */
		if (!stat_path(dirfd, path, flags & AT_EMPTY_PATH, &st) || !S_ISREG(st.mode) || !(st.mode & 0111))
			return FITS;
		if (depth == 0)
			*ret_privileged = (st.mode & S_ISUID) || ((st.mode & S_ISGID) && (st.mode & S_IXGRP));
		long fd = by_fd ? raw3(SYS_fcntl, dirfd, F_DUPFD_CLOEXEC, 3)
		                : raw6(SYS_openat, dirfd, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0);
		if (fd < 0) /* it may be run without being read */
			return FITS;
		long n = read_program_at((int)fd, head, sizeof(g->head) - 1, 0);
		enum fits f = FITS;
		bool elf = n >= 4 && !memcmp(head, ELFMAG, SELFMAG);
		if (elf)
			f = elf_fits((int)fd, g, n);
		raw1(SYS_close, fd);
		if (elf || n < 3 || head[0] != '#' || head[1] != '!')
			return f;
		head[n] = '\0';
		unsigned char *p = head + 2;
		while (*p == ' ' || *p == '\t')
			p++;
		size_t k = 0;
		while (p[k] && p[k] != ' ' && p[k] != '\t' && p[k] != '\n' && k < sizeof(g->interpreter) - 1)
			k++;
		memcpy(script, p, k);
		script[k] = '\0';
		path = script;
		g->script = true;
		dirfd = AT_FDCWD;
		flags = 0;
	}
	return FITS;
}

/* Where execvp would find it; `file` itself if nowhere. */
static const char *search_executable(const char *file, char *ret, size_t n)
{
	const char *path = NULL;
	size_t len = text_len(file, n);
	for (const char *p = file; *p; p++)
		if (*p == '/')
			return file;
	for (char **v = environ; v && *v; v++)
		if (!memcmp(*v, "PATH=", text_len(*v, 5)) && text_len(*v, 5) == 5)
			path = *v + 5;
	for (const char *p = path ? path : "/bin:/usr/bin"; *p;) {
		size_t k = 0;
		while (p[k] && p[k] != ':')
			k++;
		if (k + len + 2 < n) {
			memcpy(ret, p, k);
			memcpy(ret + k, "/", 1);
			memcpy(ret + k + (k > 0), file, len + 1);
			if (raw6(SYS_faccessat, AT_FDCWD, (long)ret, X_OK, 0, 0, 0) == 0)
				return ret;
		}
		p += k + (p[k] == ':');
	}
	return file;
}

/* ---- the environment ---- */

/* Without the C library, which may not be ready. */
static bool begins_with_text(const char *s, const char *head)
{
	while (*head)
		if (*s++ != *head++)
			return false;
	return true;
}

/* Our place in a list of libraries: its beginning, and behind it; NULL: not there. */
static const char *find_library_in_list(const char *list, const char **ret_end)
{
	size_t n = text_len(safe_library, sizeof(safe_library));
	for (const char *p = list; *p;) {
		size_t k = 0;
		while (p[k] && p[k] != ':' && p[k] != ' ')
			k++;
		if (k == n && !memcmp(p, safe_library, n)) {
			*ret_end = p + k;
			return p;
		}
		p += k + (p[k] != '\0');
	}
	return NULL;
}

struct env {
	const char *preload, *region, *asan; /* as they are now; NULL none */
	size_t n;
};

/* How many there are, and which are ours. v may be NULL. */
static struct env env_look(char *const *v)
{
	struct env e = {0};
	for (; v && v[e.n]; e.n++) {
		if (begins_with_text(v[e.n], PRELOAD))
			e.preload = v[e.n];
		else if (begins_with_text(v[e.n], SAFE_ENV "="))
			e.region = v[e.n];
		else if (begins_with_text(v[e.n], ASAN))
			e.asan = v[e.n];
	}
	return e;
}

extern char safe_region_var[];

/* How much room the new environment takes, in bytes, for the array and the words that are changed in it. */
static size_t env_room(const struct env *e)
{
	size_t n = (e->n + 4) * sizeof(char *) + sizeof(safe_library) + 128;
	return n + (e->preload ? strlen(e->preload) : 0) + (e->asan ? strlen(e->asan) : 0);
}

/* Appends a text, with a 0 behind it, which is where it points to. */
static char *append_text(char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	p[n] = '\0';
	return p + n;
}

/* The environment for the new program: with what takes the recording library along, or without it (f); written into
 * `room`. What is there already stays as it is, and v itself is given back where nothing changes. */
static char *const *env_make(char *const *v, const struct env *e, enum fits f, void *room)
{
	char **out = room;
	char *text = (char *)(out + e->n + 4), *p = text;
	const char *end = NULL, *list = e->preload ? e->preload + sizeof(PRELOAD) - 1 : "",
	           *at = find_library_in_list(list, &end);
	bool with = f != FITS_NOT;
	if (with == (at != NULL) && (!with || e->region) && f != FITS_ASAN)
		return v; /* nothing to do: as nearly always */
	size_t n = 0;
	const char *preload = NULL, *asan = NULL;
	if (with && !at) {
		preload = p;
		p = append_text(append_text(p, PRELOAD, sizeof(PRELOAD) - 1), safe_library, strlen(safe_library));
		if (*list)
			p = append_text(append_text(p, ":", 1), list, strlen(list));
		p++;
	} else if (!with && at) {
		/* Without the separator before us, or else the one behind us. */
		const char *rest = *end ? end + 1 : end;
		size_t before = (size_t)(at - list);
		if (before && !*rest)
			before--;
		if (before || *rest) {
			preload = p;
			p = append_text(append_text(append_text(p, PRELOAD, sizeof(PRELOAD) - 1), list, before), rest,
			                strlen(rest)) +
			    1;
		}
	} else {
		preload = e->preload;
	}
	if (f == FITS_ASAN && !(e->asan && has_substring(e->asan, "verify_asan_link_order"))) {
		asan = p;
		p = append_text(append_text(p, ASAN, sizeof(ASAN) - 1), ASAN_OFF, sizeof(ASAN_OFF) - 1);
		if (e->asan && e->asan[sizeof(ASAN) - 1])
			p = append_text(append_text(p, ":", 1), e->asan + sizeof(ASAN) - 1, strlen(e->asan + sizeof(ASAN) - 1));
		p++;
	}
	for (size_t i = 0; i < e->n; i++)
		if (v[i] == e->preload) {
			if (preload)
				out[n++] = (char *)preload;
		} else {
			out[n++] = v[i] == e->asan && asan ? (char *)asan : v[i];
		}
	if (!e->preload && preload)
		out[n++] = (char *)preload;
	if (asan && !e->asan)
		out[n++] = (char *)asan;
	if (with && !e->region)
		out[n++] = safe_region_var;
	out[n] = NULL;
	return out;
}

/* Copies an environment without what takes us along. Behind a filter the next program is not to ask the kernel for
 * anything on our behalf: without the region it does not. */
static void env_without(char *const *v, char **out)
{
	size_t n = 0;
	for (; v && *v; v++)
		if (!begins_with_text(*v, SAFE_ENV "="))
			out[n++] = *v;
	out[n] = NULL;
}

void safe_env_leave(void)
{
	if (environ)
		env_without(environ, environ);
}

/* ---- what is told of it ---- */

/* Can the kernel read them? An exec with pointers that lead nowhere fails, and is not to end here. Asked for many at
 * once; true where that cannot be asked. */
static bool is_vector(char *const *v)
{
	enum { MANY = 32 };
	char *p[MANY], bytes[MANY];
	struct iovec here, there, each[MANY];
	while (v) {
		here = (struct iovec){p, sizeof(p)};
		there = (struct iovec){(void *)(uintptr_t)v, sizeof(p)};
		size_t page = SAFE_PAGE - ((uintptr_t)v & (SAFE_PAGE - 1));
		if (page < sizeof(p) && page >= sizeof(p[0])) /* the next one may not be there */
			here.iov_len = there.iov_len = page & ~(sizeof(p[0]) - 1);
		long got = safe_peeks(&here, &there, 1);
		if (got == -ENOSYS || got == -EPERM)
			return true;
		if (got < (long)sizeof(p[0]))
			return false;
		size_t n = 0, most = (size_t)got / sizeof(p[0]);
		for (; n < most && p[n]; n++)
			each[n] = (struct iovec){p[n], 1};
		here = (struct iovec){bytes, n};
		if (n && safe_peeks(&here, each, (long)n) != (long)n)
			return false;
		if (n < most)
			return true;
		v += n;
	}
	return true;
}

/* Whether s can be read as a text; false also while this process has no record. */
static bool is_text(const char *s)
{
	char byte;
	return safe_self && safe_peek(s, &byte, 1); /* without a record there is nothing to be told: the exec goes by */
}

/* Tells the arguments of an exec, in pieces, ARGS_MAX bytes at most. */
static void emit_exec_arguments(char *const *argv)
{
	size_t sum = 0;
	for (; argv && *argv && sum < ARGS_MAX; argv++) {
		const char *p = *argv;
		size_t n = strlen(p);
		do {
			struct safe_out o;
			size_t k = n < SAFE_STRING_MAX ? n : SAFE_STRING_MAX;
			safe_begin(&o, SAFE_TEXT);
			o.e.a = SAFE_EXEC_ARG;
			o.e.b = k == n;
			o.str[0] = p;
			o.len[0] = k;
			o.e.nstr = 1;
			safe_emit(&o);
			p += k;
			n -= k;
			sum += k;
		} while (n && sum < ARGS_MAX);
	}
}

/* Looks at the program before the exec: whether it can be preloaded (g->fit), and whether it goes on without the
 * library (g->alone). */
static void going_look(struct going *g, int dirfd, const char *path, int flags)
{
	bool privileged;
	g->fit = check_program_fits(g, dirfd, path, flags, &privileged);
	g->alone = privileged || g->fit == FITS_STATIC || g->fit == FITS_NOT || !safe_same_user();
	if ((flags & AT_EMPTY_PATH) && !*path)
		words_of_fd(&g->path, dirfd);
	else
		words_add_path(&g->path, dirfd, path);
}

/* Tells of an exec or spawn. The arguments go with it only where the new program will not tell them itself. pid: of
 * SPAWN. */
static void emit_going(const struct going *g, enum safe_kind kind, pid_t pid, char *const *argv, uint64_t proved)
{
	struct safe_out o;
	if (g->alone || g->script)
		emit_exec_arguments(argv);
	safe_begin(&o, kind);
	o.e.a = kind == SAFE_SPAWN ? (uint64_t)(unsigned)pid : g->alone;
	o.e.b = proved;
	safe_string(&o, g->path.p);
	safe_emit(&o);
}

/* Says what is about to be executed, with the figures of the program that ends by it. */
static void before_exec(const struct going *g, char *const *argv)
{
	uint64_t proved = 0;
	struct safe_figures f;
	if (!safe_vforked && !safe_self->born && (safe_self->moved[0] || safe_self->moved[1])) {
		safe_libraries();
		safe_figures(&f, &proved);
	}
	if (!safe_vforked && !safe_self->born)
		entry_snapshots(false, -1);
	emit_going(g, SAFE_EXEC, 0, argv, proved);
}

/* Says that it went on as before. errno stays. */
static void exec_failed(const char *path)
{
	struct safe_out o;
	int keep = errno;
	if (keep == ENOENT && *path) {
		safe_begin(&o, SAFE_ABSENT);
		o.e.a = 1;
		safe_string(&o, path);
		safe_emit(&o);
	}
	safe_begin(&o, SAFE_EXEC_NOT);
	safe_emit(&o);
	errno = keep;
}

/* Is the library here alone? Without the region, but free to ask the kernel: the library still takes itself out
 * where it would break a program. */
static bool safe_alone(void)
{
	return safe_self && safe_gone && !safe_quiet;
}

/* One exec, whichever way it is asked for; call: with the environment `env`; program may use g. */
#define EXECS(at, program, flags, argv, envp, call)                                                                    \
	do {                                                                                                               \
		char *const *env = (envp);                                                                                     \
		if (safe_quiet && env) {                                                                                       \
			char **less = __builtin_alloca((env_look(env).n + 1) * sizeof(*less));                                     \
			env_without(env, less);                                                                                    \
			env = less;                                                                                                \
		}                                                                                                              \
		bool tells = safe_on();                                                                                        \
		if ((!tells && !safe_alone()) || !is_vector(argv) || !is_vector(env))                                          \
			return call;                                                                                               \
		int keep = errno;                                                                                              \
		struct env look = env_look(env);                                                                               \
		struct going *g = going_new(env_room(&look));                                                                  \
		errno = keep;                                                                                                  \
		if (!g)                                                                                                        \
			return call;                                                                                               \
		going_look(g, at, program, flags);                                                                             \
		env = env_make(env, &look, g->fit, g->env);                                                                    \
		if (tells)                                                                                                     \
			before_exec(g, argv);                                                                                      \
		errno = keep;                                                                                                  \
		int r = call;                                                                                                  \
		if (tells)                                                                                                     \
			exec_failed(g->path.p);                                                                                    \
		keep = errno;                                                                                                  \
		going_free(g);                                                                                                 \
		errno = keep;                                                                                                  \
		return r;                                                                                                      \
	} while (0)

REAL_OF(execve);
REAL_OF(execvpe);
REAL_OF(fexecve);
REAL_OF(execveat);

/* As the C library's; tells of the exec before it. */
EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	if (!is_text(path))
		return REAL(execve)(path, argv, envp);
	EXECS(AT_FDCWD, path, 0, argv, envp, REAL(execve)(path, argv, env));
}

/* As the C library's; tells of the exec before it. */
EXPORT int execv(const char *path, char *const argv[])
{
	if (!is_text(path))
		return REAL(execve)(path, argv, environ);
	EXECS(AT_FDCWD, path, 0, argv, environ, REAL(execve)(path, argv, env));
}

/* As the C library's, PATH included; tells of the exec before it. */
EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	if (!is_text(file))
		return REAL(execvpe)(file, argv, envp);
	EXECS(AT_FDCWD, search_executable(file, g->found, sizeof(g->found)), 0, argv, envp, REAL(execvpe)(file, argv, env));
}

/* As the C library's, PATH included; tells of the exec before it. */
EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* As the C library's; tells of the exec before it. */
EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	EXECS(fd, "", AT_EMPTY_PATH, argv, envp, REAL(fexecve)(fd, argv, env));
}

/* As the C library's; tells of the exec before it. */
EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	if (!is_text(path))
		return REAL(execveat)(fd, path, argv, envp, flags);
	EXECS(fd, path, flags, argv, envp, REAL(execveat)(fd, path, argv, env, flags));
}

#include "capture/interpose/exec_words.h"

#define SPAWNS(name, program)                                                                                          \
	REAL_OF(name);                                                                                                     \
	EXPORT int name(pid_t *restrict pid, const char *restrict file,                                                    \
	                const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,        \
	                char *const argv[restrict], char *const envp[restrict])                                            \
	{                                                                                                                  \
		char *const *env = envp;                                                                                       \
		pid_t own;                                                                                                     \
		int keep = errno;                                                                                              \
		struct env look = {0};                                                                                         \
		struct going *g = NULL;                                                                                        \
		bool tells = safe_on();                                                                                        \
		if ((tells || safe_alone()) && is_text(file) && is_vector(argv) && is_vector(env)) {                           \
			look = env_look(env ? env : environ);                                                                      \
			g = going_new(env_room(&look));                                                                            \
		}                                                                                                              \
		if (!g) {                                                                                                      \
			errno = keep;                                                                                              \
			return REAL(name)(pid, file, actions, attr, argv, envp);                                                   \
		}                                                                                                              \
		going_look(g, AT_FDCWD, program, 0);                                                                           \
		env = env_make(env ? env : environ, &look, g->fit, g->env);                                                    \
		errno = keep;                                                                                                  \
		int r = REAL(name)(&own, file, actions, attr, argv, env);                                                      \
		keep = errno;                                                                                                  \
		if (r == 0 && pid)                                                                                             \
			*pid = own;                                                                                                \
		if (r == 0 && tells && g->alone)                                                                               \
			emit_going(g, SAFE_SPAWN, own, argv, 0);                                                                   \
		going_free(g);                                                                                                 \
		errno = keep;                                                                                                  \
		return r;                                                                                                      \
	}

SPAWNS(posix_spawn, file)
SPAWNS(posix_spawnp, search_executable(file, g->found, sizeof(g->found)))
