#include "cc/launch.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/os/memfile.h"
#include "capture/launch/run.h"
#include "capture/preload/preload_library.h"
#include "cc/build.h"
#include "cc/group.h"
#include "cc/record.h"
#include "cc/tape/tape.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- which program ---- */

/* Whether path is this very program. False also if it cannot be looked at. */
static bool is_ourselves(const char *path)
{
	struct stat a, b;
	return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Can the file be run? *ret_why: an errno where it is not; EACCES stays over others, as execvp has it. */
static bool is_executable(const char *path, int *ret_why)
{
	struct stat st;
	if (stat(path, &st) < 0) {
		*ret_why = *ret_why == EACCES ? EACCES : errno;
		return false;
	}
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0) {
		*ret_why = EACCES;
		return false;
	}
	return true;
}

/* Finds the compiler on PATH, stemma's own links of that name passed over. As execvp would. 0; -ELOOP: it is stemma
 * itself; -ENAMETOOLONG; -errno. *ret_passed_over: stemma stood in PATH before it. */
static int find_compiler(const char *name, char *ret, size_t n, bool *ret_passed_over)
{
	*ret_passed_over = false;
	int why = ENOENT;
	if (strchr(name, '/')) {
		if (!is_executable(name, &why))
			return -why;
		if (is_ourselves(name))
			return -ELOOP;
		return snprintf(ret, n, "%s", name) < (int)n ? 0 : -ENAMETOOLONG;
	}
	const char *path = getenv("PATH");
	for (const char *p = path ? path : "/bin:/usr/bin"; *name;) {
		size_t k = strcspn(p, ":");
		int len = snprintf(ret, n, "%.*s%s%s", (int)k, p, k ? "/" : "./", name);
		if (len > 0 && len < (int)n && is_executable(ret, &why)) {
			if (!is_ourselves(ret))
				return 0;
			*ret_passed_over = true;
		}
		if (!p[k])
			break;
		p += k + 1;
	}
	return -why;
}

/* Where the program `name` is, passing over ourselves and links to us. 0 with a path in ret, or -ENOENT. */
static int launch_find(const char *name, char *ret, size_t n)
{
	bool passed_over;
	return find_compiler(name, ret, n, &passed_over);
}

/* Is a wrapper above us that records this already? */
static bool launch_nested(void)
{
	const char *tape = getenv(TAPE_ENV);
	return tape && access(tape, W_OK) == 0;
}

/* ---- will the library go along? (what it asks of later programs by itself, cc/tape) ---- */

/* The program, or a script's interpreter: a dynamic one for this machine, of the C library that the library knows, and
 * of none of those that must come first. What cannot be told is tried. */
static bool takes_library(const char *path)
{
	enum { HEAD = 65536 };
	union {
		Elf64_Ehdr elf;
		char text[HEAD];
	} *head = malloc(sizeof(*head));
	char interpreter[256];
	bool ret = true;
	for (int links = 0; head && links < 4; links++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		ssize_t n = fd < 0 ? -1 : io_pread(fd, head->text, HEAD - 1, 0);
		if (fd >= 0)
			close(fd);
		if (n > 2 && head->text[0] == '#' && head->text[1] == '!') {
			head->text[n] = '\0';
			const char *p = head->text + 2 + strspn(head->text + 2, " \t");
			snprintf(interpreter, sizeof(interpreter), "%.*s", (int)strcspn(p, " \t\n"), p);
			path = interpreter;
			continue;
		}
		if (n < (ssize_t)sizeof(Elf64_Ehdr) || memcmp(head->text, ELFMAG, SELFMAG) != 0)
			break;
		Elf64_Ehdr self;
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		bool known = fd >= 0 && io_pread(fd, &self, sizeof(self), 0) == sizeof(self);
		if (fd >= 0)
			close(fd);
		ret = known && head->elf.e_ident[EI_CLASS] == self.e_ident[EI_CLASS] && head->elf.e_machine == self.e_machine &&
		      !memmem(head->text, (size_t)n, "/ld-musl", 8) && !memmem(head->text, (size_t)n, "libasan.so", 10) &&
		      !memmem(head->text, (size_t)n, "libclang_rt.asan", 16);
		break;
	}
	free(head);
	return ret;
}

/* ---- the tape ---- */

struct reel {
	int fd;
	struct tape *tape;
};

/* The memory that the compiler's programs write into. ret->fd is -1 where there is none to be had. */
static void reel_make(struct reel *ret)
{
	*ret = (struct reel){.fd = -1};
	/* Named so that an outer run knows it for what it is. */
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	sigaction(SIGXFSZ, &ignore, &before); /* a limit on the size of files holds for this one, too */
	int fd = memfile_sealed("stemma-cc", TAPE_SIZE);
	sigaction(SIGXFSZ, &before, NULL);
	fd = fd < 0 ? fd : io_above_std(fd);
	if (fd < 0)
		return;
	void *m = MAP_FAILED;
	/* The compiler's programs are the same user's; nobody else's are to see what it reads. */
	if (fchmod(fd, 0600) == 0)
		m = mmap(NULL, TAPE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED) {
		close(fd);
		return;
	}
	*ret = (struct reel){fd, m};
	ret->tape->magic = TAPE_MAGIC;
}

/* Releases a tape. It may not be used afterwards. */
static void reel_release(struct reel *r)
{
	if (r->tape)
		munmap(r->tape, TAPE_SIZE);
	if (r->fd >= 0)
		close(r->fd);
}

/* A copy of what is there now: somebody may still be writing. NULL: nothing, or no memory. */
static void *reel_copy(const struct reel *r, size_t *ret_n, uint64_t *ret_lost)
{
	const uint64_t most = TAPE_SIZE - sizeof(struct tape);
	uint64_t n = r->tape ? __atomic_load_n(&r->tape->used, __ATOMIC_ACQUIRE) : 0;
	*ret_lost = r->tape ? r->tape->lost : 0;
	*ret_n = (size_t)(n < most ? n : most);
	void *p = *ret_n ? malloc(*ret_n) : NULL;
	if (p)
		memcpy(p, r->tape + 1, *ret_n);
	return p;
}

/* The environment of the compiler. The strings of ours are in room. */
static char **env_with(const struct reel *r, const char *library, char *room, size_t n)
{
	size_t k = 0, used = 0;
	const char *old = NULL;
	for (char **v = environ; *v; v++)
		k++;
	char **env = malloc((k + 3) * sizeof(*env));
	if (!env)
		return NULL;
	k = 0;
	for (char **v = environ; *v; v++)
		if (strncmp(*v, "LD_PRELOAD=", 11) == 0)
			old = *v + 11;
		else if (strncmp(*v, TAPE_ENV "=", sizeof(TAPE_ENV)) != 0)
			env[k++] = *v;
	env[k++] = room;
	used = (size_t)snprintf(room, n, "LD_PRELOAD=%s%s%s", old ? old : "", old && *old ? ":" : "", library) + 1;
	if (used < n) {
		env[k++] = room + used;
		used += (size_t)snprintf(room + used, n - used, TAPE_ENV "=/proc/%d/fd/%d", (int)getpid(), r->fd) + 1;
	}
	env[k] = NULL;
	if (used < n)
		return env;
	free(env);
	return NULL;
}

/* ---- the note ---- */

struct note {
	unsigned char id[BUILD_NOTE_BYTES];
	char path[PATH_MAX]; /* of its source, which is linked with the rest; "" there is none */
};

/* A source for the assembler with a note of random bytes. n->path is "" where it cannot be made. */
static void note_make(struct note *n)
{
	struct buf text = {0};
	const char *tmp = getenv("TMPDIR"); /* as the compiler's own; a relative one could be taken for an option */
	bool fits = snprintf(n->path, sizeof(n->path), "%s/stemma-note-XXXXXX.s", tmp && *tmp == '/' ? tmp : "/tmp") <
	            (int)sizeof(n->path);
	int fd =
	    fits && getrandom(n->id, sizeof(n->id), 0) == (ssize_t)sizeof(n->id) ? mkostemps(n->path, 2, O_CLOEXEC) : -1;
	buf_printf(&text,
	           "\t.section .note.stemma,\"a\",%%note\n\t.balign 4\n\t.long %zu\n\t.long %d\n\t.long %d\n"
	           "\t.asciz \"%s\"\n\t.balign 4\n\t.byte ",
	           sizeof(BUILD_NOTE_OWNER), BUILD_NOTE_BYTES, BUILD_NOTE_TYPE, BUILD_NOTE_OWNER);
	for (unsigned i = 0; i < BUILD_NOTE_BYTES; i++)
		buf_printf(&text, "%s%u", i ? "," : "", n->id[i]);
	buf_printf(&text, "\n\t.section .note.GNU-stack,\"\",%%progbits\n");
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	sigaction(SIGXFSZ, &ignore, &before); /* a limit on the size of files holds for this one, too */
	if (fd < 0 || text.failed || io_write(fd, text.p, text.n, NULL) < 0) {
		if (fd >= 0)
			unlink(n->path);
		n->path[0] = '\0';
	}
	sigaction(SIGXFSZ, &before, NULL);
	if (fd >= 0)
		close(fd);
	buf_release(&text);
}

/* Removes the note's file, if one was made. */
static void note_remove(const struct note *n)
{
	if (n->path[0])
		unlink(n->path);
}

/* ---- running it ---- */

static volatile pid_t child;
static struct group_ear ear;

/* A signal's handler: hands it to the compiler if it was sent to this process alone. Keeps errno. */
static void pass_on(int sig, siginfo_t *si, void *context)
{
	int e = errno;
	(void)context;
	/* What a terminal sends it has got already; and so it has what somebody sent to the whole group. */
	if (child > 0 && si->si_code == SI_USER && !group_received(&ear, sig))
		child_signal(child, sig);
	errno = e;
}

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};
#define N_PASSED (sizeof(passed) / sizeof(passed[0]))

/* Starts and waits. Nothing but the two variables differs from what we were given. *ret_status as wait has it. 0;
 * -errno of the start. */
static int run_compiler(const char *path, char *const *argv, char *const *env, int *ret_status)
{
	struct sigaction before[N_PASSED], chld, act = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART},
	                                         dfl = {.sa_handler = SIG_DFL};
	sigset_t all, mask;
	volatile int failed = 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	sigaction(SIGCHLD, &dfl, &chld); /* ignored, it would take the status away */
	for (size_t i = 0; i < N_PASSED; i++)
		sigaction(passed[i], NULL, &before[i]);
	group_listen(&ear, passed, N_PASSED);
	pid_t pid = vfork();
	if (pid == 0) {
		sigaction(SIGCHLD, &chld, NULL);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		execvpe(path, argv, env);
		failed = errno;
		_exit(127);
	}
	child = pid;
	for (size_t i = 0; pid > 0 && i < N_PASSED; i++)
		if (before[i].sa_handler != SIG_IGN)
			sigaction(passed[i], &act, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	int rc = pid < 0 ? -errno : 0;
	while (pid > 0 && waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR) {
			rc = -errno;
			break;
		}
	child = 0;
	for (size_t i = 0; i < N_PASSED; i++)
		sigaction(passed[i], &before[i], NULL);
	group_end(&ear);
	return rc < 0 ? rc : -failed;
}

/* -why, always, with a sentence. */
static int report_cannot_run(struct err *err, const char *name, int why)
{
	if (why == ELOOP) {
		err_set(err, 0, "'%s' is stemma itself, not a compiler", name);
		return -ELOOP;
	}
	return err_set(err, why, "cannot run '%s'", name);
}

/* What cannot be recorded is not: the command has done its work. */
static void record_it(const struct launch *l, const struct args *a, const struct note *note,
                      const struct withspec *with, const char *path, const struct reel *reel, int64_t began, int status)
{
	char compiler[PATH_MAX];
	struct record r = {.home = l->home,
	                   .cache = l->cache,
	                   .argv = l->argv,
	                   .args = a,
	                   .compiler = compiler,
	                   .began = began,
	                   .ended = clock_now_ns(CLOCK_REALTIME),
	                   .status = status,
	                   .note = note->path[0] ? note->id : NULL,
	                   .note_path = note->path[0] ? note->path : NULL};
	if (with) {
		r.brought = withspec_folder(with);
		r.beside_read = withspec_read(with);
		r.beside = r.beside_read ? withspec_compiler() : NULL;
	}
	if (a->compiler == 0)
		r.compiler = path;
	else if (launch_find(a->v[a->compiler], compiler, sizeof(compiler)) < 0)
		snprintf(compiler, sizeof(compiler), "%s", a->v[a->compiler]);
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigaction(SIGXFSZ, &ignore, NULL); /* a limit on files is the compiler's: ours are written or not */
	sigaction(SIGPIPE, &ignore, NULL);
	void *tape = reel_copy(reel, &r.ntape, &r.lost);
	r.tape = tape;
	record_write(&r, NULL);
	free(tape);
}

/* Runs the compiler with what a specification brings along, and, where that fails, without: then the failure is the
 * command's own. As run_compiler. */
static int run_with(struct withspec *w, const char *path, char **argv, size_t n, char *const *env, int *ret_status)
{
	char *const *changed = withspec_argv(w);
	size_t k = 0, note = 0;
	while (changed[k])
		k++;
	/* What the note brought stands at the end. */
	if (n > 3 && strcmp(argv[n - 2], "assembler") == 0 && strncmp(argv[n - 1], "/tmp/stemma-note-", 17) == 0)
		note = 3;
	char **v = calloc(k + note + 1, sizeof(*v));
	if (!v)
		return run_compiler(path, argv, env, ret_status);
	memcpy(v, changed, k * sizeof(*v));
	memcpy(v + k, argv + n - note, note * sizeof(*v));
	v[0] = argv[0];
	int rc = run_compiler(path, v, env, ret_status);
	if (rc == 0 && *ret_status != 0 && withspec_less(w)) {
		memcpy(v, changed, k * sizeof(*v));
		v[0] = argv[0];
		rc = run_compiler(path, v, env, ret_status);
	}
	free(v);
	if (rc == 0 && *ret_status != 0)
		rc = run_compiler(path, argv, env, ret_status);
	return rc;
}

/* The words of a command in a list with room for three more; the words are not copied. NULL: no memory. */
static char **copy_command(char *const *command, size_t *ret_n)
{
	size_t n = 0;
	while (command[n])
		n++;
	char **argv = malloc((n + 4) * sizeof(*argv));
	if (argv)
		memcpy(argv, command, (n + 1) * sizeof(*argv));
	*ret_n = n;
	return argv;
}

/* Appends the note to the command line, behind all others, whatever language those are of. The number of words now.
 */
static size_t append_note(struct note *note, char **argv, size_t n)
{
	note_make(note);
	if (note->path[0]) {
		argv[n++] = (char *)"-x";
		argv[n++] = (char *)"assembler";
		argv[n++] = note->path;
		argv[n] = NULL;
	}
	return n;
}

/* Runs the compiler at path under watch, and records what it did if l->home asks for it. argv: n words of its command,
 * with room for three more. 0, or -errno: it was not run. */
static int watch_compiler(const struct launch *l, const struct args *a, struct withspec *with, const char *path,
                          char **argv, size_t n, int *ret_status)
{
	char library[PATH_MAX], *room = NULL, **env = NULL;
	struct reel reel = {.fd = -1};
	struct note note = {0};
	if (l->note && a->links)
		n = append_note(&note, argv, n);
	/* Without the library the arguments must do. */
	if (takes_library(path) && preload_library_path("../cc/tape", "libstemma-cc.so", library, sizeof(library)))
		reel_make(&reel);
	const char *old = getenv("LD_PRELOAD");
	size_t size = sizeof(library) + (old ? strlen(old) : 0) + 128;
	if (reel.tape && (room = malloc(size)))
		env = env_with(&reel, library, room, size);
	int64_t began = clock_now_ns(CLOCK_REALTIME);
	int rc = with && withspec_argv(with) ? run_with(with, path, argv, n, env ? env : environ, ret_status)
	                                     : run_compiler(path, argv, env ? env : environ, ret_status);
	if (rc == 0 && with)
		withspec_end(with, *ret_status, l->home, l->spec_err);
	if (rc >= 0 && l->home)
		record_it(l, a, &note, with, path, &reel, began, *ret_status);
	note_remove(&note);
	reel_release(&reel);
	free(env);
	free(room);
	return rc;
}

int launch_run(const struct launch *l, struct err *err, int *ret_status)
{
	char path[PATH_MAX];
	struct args a = {0};
	struct withspec *with = NULL;
	bool passed_over;
	int rc = find_compiler(l->argv[0], path, sizeof(path), &passed_over);
	if (rc < 0)
		return report_cannot_run(err, l->argv[0], -rc);
	size_t n;
	char **argv = copy_command(l->argv, &n);
	if (!argv)
		return err_set(err, ENOMEM, "cannot run '%s'", l->argv[0]);
	if (passed_over)
		argv[0] = path; /* its own name would lead it to a link of ours, and away from its files */
	bool parsed = (l->home || l->spec) && !launch_nested() && args_parse(l->argv, &a) == 0;
	bool records = parsed && l->home;
	if (parsed && a.makes && l->spec)
		withspec_begin(&a, l->spec, l->slice, l->spec_err, &with);
	if ((!records && !with) || !a.makes) {
		execvpe(path, argv, environ);
		rc = report_cannot_run(err, l->argv[0], errno);
		goto out;
	}
	rc = watch_compiler(l, &a, with, path, argv, n, ret_status);
	if (rc < 0)
		rc = report_cannot_run(err, l->argv[0], -rc);
out:
	withspec_free(with);
	args_release(&a);
	free(argv);
	return rc;
}
