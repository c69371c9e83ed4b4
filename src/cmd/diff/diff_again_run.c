#include "cmd/diff/diff_again_run.h"

#include "answer/fmt.h"
#include "base/child.h"
#include "base/io.h"
#include "sandbox/jail.h"
#include "trust/confine.h"
#include "trust/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child that could not begin says, through a pipe that exec closes. */
struct failure {
	int status;
	char text[512], hint[256];
};

/* ---- signals: the folder goes, and then so do we ---- */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDING = sizeof(ending) / sizeof(ending[0]) };
static struct sigaction was[N_ENDING];
static volatile sig_atomic_t stopped;
static volatile pid_t running;

/* A signal's handler: notes it, and hands it to the step that runs. Keeps errno. */
static void pass_signal_to_step(int sig)
{
	int e = errno;
	stopped = sig;
	if (running > 0 && sig != SIGINT) /* that one goes to all of the terminal's */
		child_signal(running, sig);
	errno = e;
}

void again_listen_begin(void)
{
	struct sigaction act = {.sa_handler = pass_signal_to_step};
	stopped = 0;
	for (int i = 0; i < N_ENDING; i++) {
		sigaction(ending[i], NULL, &was[i]);
		if (was[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &act, NULL);
	}
}

/* The signals do what they did before. */
void again_listen_end(void)
{
	for (int i = 0; i < N_ENDING; i++)
		sigaction(ending[i], &was[i], NULL);
}

/* Whether one came. */
bool again_is_stopped(void)
{
	return stopped != 0;
}

/* Nothing if none came; else it releases t and ends this process by the signal. */
void again_end_if_stopped(struct traced_again *t)
{
	if (!stopped)
		return;
	traced_again_release(t);
	raise(stopped);
}

/* ---- the folder ---- */

int again_job_folder(struct again_job *j)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX];
	static const char *const inner[] = {"kept", "A", "A/work", "A/trace", "B", "B/work", "B/trace", "tmp"};
	char *real = realpath(tmp && *tmp == '/' ? tmp : "/tmp", NULL);
	int n = real ? snprintf(path, sizeof(path), "%s/stemma-again.XXXXXX", real) : -1;
	free(real);
	if (n < 0 || n >= (int)sizeof(path) - 300 || !mkdtemp(path) || !(j->ret->folder = strdup(path))) {
		report("cannot make a folder to run in: %s", strerror(n < 0                          ? errno
		                                                      : n >= (int)sizeof(path) - 300 ? ENAMETOOLONG
		                                                                                     : errno));
		return STATUS_SELF;
	}
	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", j->ret->folder, inner[i]);
		if (mkdir(path, 0700) < 0) {
			report("cannot make '%s': %s", path, strerror(errno));
			return STATUS_SELF;
		}
	}
	return STATUS_OK;
}

char *again_job_path(const struct again_job *j, int side, const char *name)
{
	struct buf b = {0};
	buf_printf(&b, "%s/%c", j->ret->folder, "AB"[side]);
	if (j->round)
		buf_printf(&b, "%u", j->round);
	buf_printf(&b, "/%s", name);
	char *p = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return p;
}

int again_job_begin_round(struct again_job *j, int side, unsigned round)
{
	static const char *const inner[] = {"", "work", "trace"};
	j->round = round;
	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		char *path = again_job_path(j, side, inner[i]);
		int r = path ? mkdir(path, 0700) : -1;
		if (r < 0)
			report("cannot make '%s': %s", path ? path : "", strerror(path ? errno : ENOMEM));
		free(path);
		if (r < 0)
			return STATUS_SELF;
	}
	return STATUS_OK;
}

/* Empties b. 0, -ENOMEM. */
static int append_line_copy(char ***v, size_t *n, struct buf *b)
{
	char **more = realloc(*v, (*n + 1) * sizeof(**v));
	char *one = b->failed ? NULL : strdup(buf_cstr(b));
	if (more)
		*v = more;
	if (more && one)
		more[(*n)++] = one;
	else
		free(one);
	buf_release(b);
	return more && one ? 0 : -ENOMEM;
}

/* ---- running ---- */

/* Puts the files that a step reads where it will look for them. An exit status; a failure was reported. */
static int place_files(const struct again_job *j, int side, const struct again_step *t)
{
	const struct again_side *s = &j->ret->plan.side[side];
	int status = STATUS_OK;
	for (size_t i = 0; status == STATUS_OK && i < t->n_files; i++) {
		const struct again_file *x = &s->files[t->files[i]];
		char *to = NULL, *work = x->f.below ? again_job_path(j, side, "work") : NULL;
		if (!x->f.below || !rerun_is_path(str_of(x->f.name), true))
			continue;
		if (!work || asprintf(&to, "%s/%s", work, x->f.name) < 0)
			to = NULL;
		char *slash = to ? strrchr(to, '/') : NULL;
		int rc = to ? 0 : -ENOMEM;
		if (slash) {
			*slash = '\0';
			rc = io_mkdirs(to, 0755);
			*slash = '/';
		}
		int fd = rc == 0 ? open(x->fetched ? x->fetched : x->f.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
		if (rc == 0 && fd < 0)
			rc = -errno;
		if (rc == 0 && unlink(to) < 0 && errno != ENOENT)
			rc = -errno;
		if (rc == 0)
			rc = kept_copy(fd, to, x->f.mode, NULL);
		if (fd >= 0)
			close(fd);
		if (rc < 0) {
			report("cannot copy '%s' to '%s': %s", x->f.name, work ? work : "", strerror(-rc));
			status = STATUS_SELF;
		}
		free(to);
		free(work);
	}
	return status;
}

/* In the step's own process: the environment of then, and what the recorder of the trace reads. trace: the folder it
 * goes to. */
static void set_step_environment(const struct again_job *j, const struct again_side *s, const struct again_step *t,
                                 const char *trace)
{
	struct buf b = {0};
	static const char *const ours[] = {"STEMMA_TRACE", "STEMMA_TRACE_MODE", "STEMMA_TRACE_PROGRAMS",
	                                   "STEMMA_TRACE_ZOOM", "STEMMA_TRACE_TURN"};
	extern char **environ;
	char **env = rerun_environment(t->env, true, NULL);
	if (env)
		environ = env; /* of a process that will exec */
	setenv("PWD", t->cwd, 1);
	buf_printf(&b, "%s/tmp", j->ret->folder);
	setenv("TMPDIR", buf_cstr(&b), 1);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	if (s->whole || t->pair != AGAIN_NONE) {
		setenv(ours[0], trace, 1);
		setenv(ours[1], j->full ? "full" : "lazy", 1);
		buf_reset(&b);
		char **programs = j->programs ? j->programs : j->ret->plan.programs;
		for (size_t i = 0; programs && programs[i]; i++)
			buf_printf(&b, "%s%s", i ? ":" : "", programs[i]);
		setenv(ours[2], buf_cstr(&b), 1);
		if (j->zoom)
			setenv(ours[3], j->zoom, 1);
		if (j->turn)
			setenv(ours[4], j->turn, 1);
	}
	buf_release(&b);
}

/* Is it the run's own command, which its mark covers? */
static bool is_the_command(const struct again_job *j, const struct again_side *s, const struct again_step *t)
{
	struct run_info info;
	struct str word;
	size_t i = 0;
	if (!s->whole || store_run(j->c->store, s->run, &info) != 1)
		return false;
	for (size_t pos = 0; strlist_next(&info.argv, &pos, &word); i++)
		if (!t->argv[i] || !str_is(word, t->argv[i]))
			return false;
	return !t->argv[i];
}

/* Beside the mounts: what can be opened for reading, and no sockets, signals or terminals of others. Single programs
 * are strictly confined, for nothing proves that each of them is as it was recorded; the run's command has its mark. 0,
 * -errno with a sentence. */
static int enter_jail(const struct again_job *j, const struct again_side *s, const struct again_step *t,
                      struct err *err)
{
	struct jail jail;
	int rc = jail_make(&jail, !is_the_command(j, s, t), err);
	for (size_t i = 0; rc == 0 && i < s->n_reads; i++)
		jail_may_find(&jail, s->reads[i]);
	if (rc == 0)
		rc = jail_may_write(&jail, j->ret->folder);
	if (rc == 0) /* what stands there now is a folder of ours */
		rc = jail_may_write(&jail, s->cwd);
	jail.apart = true;
	return rc == 0 ? jail_enter(&jail, err) : err_set(err, -rc, "cannot confine the command");
}

/* Where what goes to the terminal is written: a descriptor, or -1. Steps of a round write one behind the other. */
static int open_terminal(const struct again_job *j, int side, const char *name)
{
	char *path = j->keep_output ? again_job_path(j, side, name) : NULL;
	int fd = j->keep_output ? path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1 : open("/dev/null", O_WRONLY);
	free(path);
	return fd;
}

/* In the step's own process: enters the jail and runs the step. A failure goes to descriptor to as struct failure. */
static _Noreturn void exec_traced_step(const struct again_job *j, int side, const struct again_step *t,
                                       const char *trace, int to)
{
	const struct again_side *s = &j->ret->plan.side[side];
	struct failure f = {.status = STATUS_SELF};
	struct err err = {0};
	char *work = again_job_path(j, side, "work");
	again_listen_end();
	int rc = work ? confine_enter(s->cwd, j->ret->folder, work, &err) : -ENOMEM;
	if (rc == 0 && chdir(t->cwd) < 0)
		rc = err_set(&err, errno, "cannot change to the folder '%s'", t->cwd);
	if (rc == 0)
		rc = enter_jail(j, s, t, &err);
	int in = rc == 0 ? open(t->standard_input ? t->standard_input : "/dev/null", O_RDONLY | O_NOCTTY | O_NONBLOCK) : -1;
	int out = rc == 0 ? open_terminal(j, side, "output") : -1, errors = rc == 0 ? open_terminal(j, side, "errors") : -1;
	if (rc == 0 && (in < 0 || out < 0 || errors < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0))
		rc = err_set(&err, errno, "cannot open what it reads and writes");
	if (rc == 0) {
		if (in > 2)
			close(in);
		if (out > 2)
			close(out);
		if (errors > 2)
			close(errors);
		set_step_environment(j, s, t, trace);
		execv(strchr(t->argv[0], '/') ? t->argv[0] : t->program, t->argv);
		err_set(&err, errno, "cannot run '%s'", t->argv[0]);
	}
	snprintf(f.text, sizeof(f.text), "%s", err.text);
	snprintf(f.hint, sizeof(f.hint), "%s", err.hint);
	io_write(to, &f, sizeof(f), NULL);
	_exit(127);
}

/* The word for what ended a program: a signal or its status. */
static const char *ending_word(uint64_t ended)
{
	return ended == TERM_ending_signaled ? "signal" : "status";
}

/* Notes for the reader, in words, where a step that was run again ended otherwise than in the run, or a file that it
 * made there has another size or content now. 0, -errno. */
static int look_back(struct again_job *j, int side, const struct again_step *t, int status)
{
	const struct again_side *s = &j->ret->plan.side[side];
	uint64_t ended = WIFSIGNALED(status) ? TERM_ending_signaled : TERM_ending_exited;
	uint64_t code = WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : (uint64_t)WEXITSTATUS(status);
	size_t n = strlen(s->cwd);
	int r = 0;
	if (t->ending && (t->ending != ended || t->code != code)) {
		struct buf b = {0};
		buf_printf(&b, "%c: ", "AB"[side]);
		fmt_name(&b, str_of(t->shown));
		buf_printf(&b, " ended with %s %llu in the run, and with %s %llu when run again", ending_word(t->ending),
		           (unsigned long long)t->code, ending_word(ended), (unsigned long long)code);
		r = append_line_copy(&j->ret->note, &j->ret->n_notes, &b);
	}
	for (size_t i = 0; r == 0 && i < t->n_made; i++) {
		const struct again_made *m = &t->made[i];
		struct stat st;
		struct digest d;
		char text[DIGEST_TEXT];
		char *work = again_job_path(j, side, "work"), *path = NULL;
		if (strncmp(m->path, s->cwd, n) != 0 || m->path[n] != '/' || !m->has_size || !work ||
		    asprintf(&path, "%s%s", work, m->path + n) < 0) {
			free(work);
			continue;
		}
		bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode), same = there && (uint64_t)st.st_size == m->size;
		if (same && *m->digest && digest_file(NULL, AT_FDCWD, path, &d, NULL) == 0) {
			digest_text(&d, text);
			same = !strcmp(text, m->digest);
		}
		/* What the run itself removed or gave another name later is not looked for. */
		if (there && !same) {
			struct buf b = {0};
			buf_printf(&b, "%c: ", "AB"[side]);
			fmt_name(&b, str_of(m->path + n + 1));
			buf_printf(&b, " is different when made again");
			r = append_line_copy(&j->ret->note, &j->ret->n_notes, &b);
		}
		free(path);
		free(work);
	}
	return r;
}

int again_job_run_step(struct again_job *j, int side, size_t at)
{
	const struct again_side *s = &j->ret->plan.side[side];
	const struct again_step *t = &s->v[at];
	struct failure f = {0};
	struct buf b = {0};
	char name[40];
	int status = place_files(j, side, t), told[2];
	if (status != STATUS_OK)
		return status;
	snprintf(name, sizeof(name), "trace/%zu", s->whole || t->pair == AGAIN_NONE ? 0 : t->pair);
	char *trace = again_job_path(j, side, name), *work = again_job_path(j, side, "work"), *cwd = NULL;
	size_t n = strlen(s->cwd);
	if (!trace || !work || (mkdir(trace, 0700) < 0 && errno != EEXIST) || pipe2(told, O_CLOEXEC) < 0) {
		free(trace);
		free(work);
		report("cannot run '%s' again: %s", t->shown, strerror(errno));
		return STATUS_SELF;
	}
	/* A folder of the run that nothing stands in. */
	if (!strncmp(t->cwd, s->cwd, n) && t->cwd[n] == '/' && asprintf(&cwd, "%s%s", work, t->cwd + n) > 0)
		io_mkdirs(cwd, 0755);
	if (!j->round) {
		buf_printf(&b, "%c ", "AB"[side]);
		fmt_name(&b, str_of(t->shown));
		append_line_copy(&j->ret->shown, &j->ret->n_shown, &b);
	}
	fflush(NULL);
	pid_t pid = stopped ? -1 : fork();
	if (pid == 0)
		exec_traced_step(j, side, t, trace, told[1]);
	running = pid;
	close(told[1]);
	ssize_t got = pid > 0 ? read(told[0], &f, sizeof(f)) : -1;
	while (got < 0 && errno == EINTR && pid > 0)
		got = read(told[0], &f, sizeof(f));
	close(told[0]);
	int ended = 0;
	while (pid > 0 && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	running = 0;
	if (stopped || pid < 0) {
		status = STATUS_SELF;
	} else if (got == (ssize_t)sizeof(f)) {
		struct err err = {0};
		snprintf(err.text, sizeof(err.text), "%s", f.text);
		snprintf(err.hint, sizeof(err.hint), "%s", f.hint);
		status = report_err(&err, STATUS_SELF);
	} else if (!j->round && look_back(j, side, t, ended) < 0) {
		status = STATUS_SELF;
	}
	free(cwd);
	free(trace);
	free(work);
	return status;
}

/* Removes the folder with all that is in it, too; t is empty then. */
void traced_again_release(struct traced_again *t)
{
	if (t->folder)
		io_remove_all(t->folder);
	free(t->folder);
	for (size_t i = 0; i < t->n_notes; i++)
		free(t->note[i]);
	for (size_t i = 0; i < t->n_shown; i++)
		free(t->shown[i]);
	free(t->note);
	free(t->shown);
	again_release(&t->plan);
	*t = (struct traced_again){0};
}
