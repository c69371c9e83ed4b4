/* again.c - a build once more, from its record. */
#include "base/child.h"
#include "base/io.h"
#include "cc/args.h"
#include "cc/build.h"
#include "event/env.h"
#include "sandbox/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct again {
	struct store *s;
	struct err *err;
	int message_fd;
	char dir[PATH_MAX]; /* of our own: what is made on the way */
	unsigned made;
};

/* What stands in the way, in words. Always -ESTALE. */
static int stale(struct again *a, const char *what, const char *why)
{
	err_set(a->err, 0, "'%s' %s", what, why);
	return -ESTALE;
}

/* ---- the command, with another output ---- */

struct arguments {
	char **v;
	size_t n, room;
};

/* A copy. 0, -ENOMEM. */
static int append_command_argument(struct arguments *w, const char *text)
{
	if (w->n + 1 >= w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		char **v = realloc(w->v, room * sizeof(*v));
		if (!v)
			return -ENOMEM;
		w->v = v;
		w->room = room;
	}
	if (!(w->v[w->n] = strdup(text)))
		return -ENOMEM;
	w->v[++w->n] = NULL;
	return 0;
}

/* w itself stays. */
static void arguments_release(struct arguments *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
}

/* Whether s begins with head. */
static bool begins(const char *s, const char *head)
{
	return strncmp(s, head, strlen(head)) == 0;
}

/* Options that write files beside the output: so many arguments are to be left out. */
static size_t writes_beside(char *const *v)
{
	static const char *const alone[] = {"-MD", "-MMD", "-MP", "-MG", "-MV"};
	static const char *const valued[] = {"-MF", "-MT", "-MQ", "-MJ"};
	static const char *const heads[] = {"-save-temps", "-Wl,-Map", "-Wl,--Map",     "-Wl,--dependency-file",
	                                    "-fdump-",     "-Wp,-M",   "-fstack-usage", "-fcallgraph-info"};
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		if (strcmp(v[0], alone[i]) == 0)
			return 1;
	for (size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++)
		if (begins(v[0], valued[i]))
			return v[0][3] ? 1 : v[1] ? 2 : 1;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (begins(v[0], heads[i]))
			return 1;
	return 0;
}

/* The name that a compiler gives what it makes of the source. */
static bool makes_of(const char *source, const char *output)
{
	const char *s = strrchr(source, '/'), *o = strrchr(output, '/');
	s = s ? s + 1 : source;
	o = o ? o + 1 : output;
	const char *sd = strrchr(s, '.'), *od = strrchr(o, '.');
	return sd && od && sd - s == od - o && memcmp(s, o, (size_t)(sd - s)) == 0;
}

/* Does a word of the command, as it stood there, mean that path? */
static bool is_path(const struct build *b, const char *word, const char *path)
{
	size_t n = strlen(b->cwd);
	while (word[0] == '.' && word[1] == '/')
		word += 2;
	return word[0] == '/' ? strcmp(word, path) == 0
	                      : begins(path, b->cwd) && path[n] == '/' && strcmp(path + n + 1, word) == 0;
}

/* What was made again has another name now. */
struct renamed {
	const char *path;
	char to[PATH_MAX];
};

/* Fortran's: it writes .mod files. */
static bool makes_modules(const struct build *b)
{
	for (size_t i = 0; i < b->out.n; i++) {
		const char *dot = strrchr(b->out.v[i].path, '.');
		if (dot && (strcmp(dot, ".mod") == 0 || strcmp(dot, ".smod") == 0))
			return true;
	}
	return false;
}

/* The words of the recorded command that make `wanted`, as `out`. */
/* Appends two words. 0, -ENOMEM. */
static int append_option(struct arguments *ret, const char *option, const char *value)
{
	int rc = append_command_argument(ret, option);
	return rc == 0 ? append_command_argument(ret, value) : rc;
}

/* -J FOLDER, for modules: they are written into our folder, and still looked for in the recorded one. 0, -ENOMEM. */
static int append_module_folder(struct again *a, struct arguments *ret, const char *folder)
{
	int rc = append_option(ret, "-J", a->dir);
	return rc == 0 ? append_option(ret, "-I", folder) : rc;
}

/* A word that is neither an output nor left out: the file of that name that was made again, if it was. 0, -ENOMEM. */
static int append_word(struct arguments *ret, const struct build *b, const char *word, bool input,
                       const struct renamed *renamed, size_t nrenamed)
{
	for (size_t k = 0; input && k < nrenamed; k++)
		if (is_path(b, word, renamed[k].path))
			word = renamed[k].to;
	return append_command_argument(ret, word);
}

/* Input files among the arguments after the compiler. */
static size_t count_sources(const struct args *args)
{
	size_t n = 0;
	for (size_t i = args->compiler + 1; i < args->n; i++)
		n += args->input[i];
	return n;
}

/* The recorded command with `out` for its output, and `renamed` for inputs that were made again. 0; -ESTALE: a secret
 * was left out of it; -ENOMEM. */
static int compose_command(struct again *a, const struct build *b, const struct build_file *wanted, const char *out,
                           const struct renamed *renamed, size_t nrenamed, struct arguments *ret)
{
	struct args args;
	bool named = false;
	int rc = args_parse(b->args, &args);
	if (rc < 0)
		return rc;
	bool several = !args.links && count_sources(&args) > 1; /* each made an object of its own */
	for (size_t i = args.compiler; rc == 0 && i < args.n; i++) {
		char *const *v = &args.v[i];
		size_t skip = i > args.compiler ? writes_beside(v) : 0;
		if (skip) {
			i += skip - 1;
		} else if (strstr(v[0], "***")) {
			rc = stale(a, v[0], "stands in the command, and a secret was left out there");
		} else if (strcmp(v[0], "-o") == 0 && v[1]) {
			rc = append_option(ret, "-o", out);
			named = true;
			i++;
		} else if (strcmp(v[0], "-J") == 0 && v[1]) {
			rc = append_module_folder(a, ret, v[1]);
			i++;
		} else if (args.output && v[0] + 2 == args.output) { /* -oNAME */
			rc = append_option(ret, "-o", out);
			named = true;
		} else if (!several || !args.input[i] || makes_of(v[0], wanted->path)) {
			rc = append_word(ret, b, v[0], args.input[i], renamed, nrenamed);
		}
	}
	if (rc == 0 && !named)
		rc = append_option(ret, "-o", out);
	if (rc == 0 && makes_modules(b))
		rc = append_option(ret, "-J", a->dir);
	args_release(&args);
	return rc;
}

/* ---- running it ---- */

/* Whether "NAME=VALUE" makes the dynamic linker load something. */
static bool is_loader_variable(const char *variable)
{
	return env_loads(str_n(variable, strcspn(variable, "=")));
}

/* The recorded variables, and of those that compilers go by no others. What makes programs load or run something else
 * is the caller's, whatever the record says. */
static char **recorded_environment(const struct build *b)
{
	static const char *const rows[] = {
#define VAR(name) #name "=",
#define VARS(name) #name,
#include "cc/env.def"
	};
	size_t n = 0, k = 0;
	while (environ[n])
		n++;
	for (size_t i = 0; b->env[i]; i++)
		n++;
	char **v = calloc(n + 1, sizeof(*v));
	for (size_t i = 0; v && environ[i]; i++) {
		bool ours = begins(environ[i], "STEMMA_CC=");
		for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]) && !ours; j++)
			ours = begins(environ[i], rows[j]) && !is_loader_variable(environ[i]);
		if (!ours)
			v[k++] = environ[i];
	}
	for (size_t i = 0; v && b->env[i]; i++)
		if (!strstr(b->env[i], "***") && !is_loader_variable(b->env[i]))
			v[k++] = b->env[i];
	return v;
}

/* What it had as standard input: the source that no argument names. */
static const char *input_of(const struct build *b, char *const *argv)
{
	const char *path = "/dev/null";
	bool from_stdin = false;
	for (size_t i = 1; argv[i]; i++)
		from_stdin |= strcmp(argv[i], "-") == 0;
	for (size_t k = 0; from_stdin && k < b->in.n; k++) {
		bool named = b->in.v[k].role != TERM_role_source;
		for (size_t i = 1; argv[i] && !named; i++)
			named = is_path(b, argv[i], b->in.v[k].path);
		if (!named)
			path = b->in.v[k].path;
	}
	return path;
}

/* What the command may reach: the record names it, and nobody knows who wrote the record. Its output stays here unless
 * it has the bytes that are wanted. 0; -ENOTSUP: this kernel cannot confine it; -errno; with a sentence. */
static int confine_compiler(struct again *a, const struct build *b, struct jail *ret)
{
	char *real = realpath(a->dir, NULL);
	int rc = real ? jail_make(ret, true, a->err) : -errno;
	/* Without call filters it could reach sockets. */
	if (rc == 0 && (!(ret->layers & (JAIL_FILES | JAIL_NAMESPACES)) || !(ret->layers & JAIL_CALLS)))
		rc = err_set(a->err, ENOTSUP, "this kernel cannot confine '%s'", b->compiler);
	for (size_t i = 0; rc == 0 && i < b->in.n; i++)
		jail_may_read(ret, b->in.v[i].path);
	for (size_t i = 0; rc == 0 && i < b->tools.n; i++)
		jail_may_read(ret, b->tools.v[i].path);
	if (rc == 0)
		rc = jail_may_write(ret, real);
	free(real);
	return rc;
}

struct confined {
	struct again *a;
	const struct build *b;
	char *const *argv;
	char **env;
	struct jail jail;
};

/* Its messages are where standard error goes. For child_run: 0, or not where it cannot. */
static int enter_build_jail(void *arg)
{
	struct confined *x = arg;
	struct err err = {0};
	environ = x->env;
	if (chdir(x->b->cwd) < 0 || setenv("TMPDIR", x->a->dir, 1) < 0)
		return 1;
	if (jail_enter(&x->jail, &err) < 0) {
		dprintf(STDERR_FILENO, "stemma: %s\n", err.text);
		return 1;
	}
	/* Opened in there: the record names it. */
	int in = open(input_of(x->b, x->argv), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return in < 0 || dup2(in, STDIN_FILENO) < 0;
}

/* Runs the compiler as it was run, confined. 0; -ECANCELED: it failed; -errno; with a sentence. */
static int run_recorded_compiler(struct again *a, const struct build *b, char *const *argv)
{
	struct confined x = {a, b, argv, recorded_environment(b), {.ruleset = -1}};
	struct child c = {.argv = argv,
	                  .path = b->compiler,
	                  .out = a->message_fd,
	                  .err = a->message_fd,
	                  .before = enter_build_jail,
	                  .arg = &x};
	int rc = x.env ? confine_compiler(a, b, &x.jail) : -ENOMEM;
	if (rc == 0)
		rc = child_run(&c);
	if (rc < 0)
		err_set(a->err, -rc, "cannot run '%s'", b->compiler);
	jail_release(&x.jail);
	free(x.env);
	if (rc > 0) {
		err_set(a->err, 0, "'%s' failed", b->compiler);
		rc = -ECANCELED;
	}
	return rc;
}

/* ---- what it needs ---- */

static int make_recorded_file(struct again *a, const struct build *b, const struct build_file *wanted, const char *out,
                              unsigned depth);

/* The object again, from its own record. ret->to is the new file. 0; -ESTALE: it cannot be made; -ELOOP: too deep;
 * -errno. */
static int make_recorded_input(struct again *a, const struct build_file *f, unsigned depth, struct renamed *ret)
{
	struct build_list l = {0};
	int rc = depth < BUILD_AGAIN_DEPTH ? build_find_by(a->s, NULL, 0, &f->digest, a->err, &l) : -ELOOP;
	const char *slash = strrchr(f->path, '/');
	ret->path = f->path;
	if (rc == 0 && snprintf(ret->to, sizeof(ret->to), "%s/%u-%s", a->dir, a->made++, slash ? slash + 1 : f->path) >=
	                   (int)sizeof(ret->to))
		rc = -ENAMETOOLONG;
	if (rc == 0 && !l.n)
		rc = stale(a, f->path, "is not what it was, and there is no record of how it was made");
	if (rc == 0)
		rc = make_recorded_file(a, &l.v[0], f, ret->to, depth + 1);
	build_list_release(&l);
	return rc;
}

/* Tools must be the same; objects that are not are made again, and appended to *ret. 0; -ESTALE with a sentence;
 * -errno. */
static int check_inputs(struct again *a, const struct build *b, unsigned depth, struct renamed **ret, size_t *ret_n)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < b->tools.n; i++)
		if (build_match(NULL, &b->tools.v[i]) != BUILD_SAME)
			rc = stale(a, b->tools.v[i].path, "is not the program that it was");
	for (size_t i = 0; rc == 0 && i < b->in.n; i++) {
		const struct build_file *f = &b->in.v[i];
		enum build_match m = build_match(NULL, f);
		if (m == BUILD_SAME || f->role == TERM_role_response || f->role == TERM_role_cache)
			continue;
		if (f->role != TERM_role_object || !f->digested) {
			rc = stale(a, f->path, m == BUILD_MISSING ? "is not there any more" : "is not what it was");
			break;
		}
		struct renamed *v = realloc(*ret, (*ret_n + 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		*ret = v;
		rc = make_recorded_input(a, f, depth, &v[*ret_n]);
		*ret_n += rc == 0;
	}
	return rc;
}

/* Went something in that the record does not name? */
static bool lacks_inputs(const struct build *b)
{
	for (size_t i = 0; b->gaps[i]; i++)
		if (begins(b->gaps[i], "stdin") || begins(b->gaps[i], "stream") || begins(b->gaps[i], "arguments") ||
		    begins(b->gaps[i], "unwritten"))
			return true;
	return false;
}

/* Makes the file that the build once made into out. Different bytes are an error but for the last step. 0; -ESTALE with
 * a sentence; -ECANCELED; -errno. */
static int make_recorded_file(struct again *a, const struct build *b, const struct build_file *wanted, const char *out,
                              unsigned depth)
{
	struct renamed *renamed = NULL;
	struct arguments w = {0};
	struct digest d;
	size_t n = 0;
	int rc = 0;
	if (lacks_inputs(b))
		rc = stale(a, b->pub, "is a record that does not name all that went in");
	if (rc == 0 && (b->ending != TERM_ending_exited || b->code))
		rc = stale(a, b->pub, "is the record of a command that failed");
	if (rc == 0)
		rc = check_inputs(a, b, depth, &renamed, &n);
	if (rc == 0)
		rc = compose_command(a, b, wanted, out, renamed, n, &w);
	if (rc == 0)
		rc = run_recorded_compiler(a, b, w.v);
	if (rc == 0 && depth && (rc = digest_file(NULL, AT_FDCWD, out, &d, NULL)) == 0 && !digest_eq(&d, &wanted->digest))
		rc = stale(a, wanted->path, "came out with other bytes when it was made again");
	arguments_release(&w);
	free(renamed);
	return rc;
}

/* What the command was for: by its name the program, library or object; else the first. */
static const struct build_file *main_output(const struct build *b)
{
	struct args args;
	struct buf names = {0};
	const struct build_file *f = NULL;
	if (args_parse(b->args, &args) == 0) {
		size_t n = args_outputs(&args, &names);
		const char *p = buf_cstr(&names);
		for (; n && !f; n--, p += strlen(p) + 1)
			for (size_t i = 0; i < b->out.n && !f; i++)
				if (is_path(b, p, b->out.v[i].path))
					f = &b->out.v[i];
		buf_release(&names);
		args_release(&args);
	}
	return f ? f : b->out.n ? &b->out.v[0] : NULL;
}

/* Moves what was made out of the folder that the commands could write. Not a link, nor anything but a file. `to` must
 * not be there. 0; -EIO: it is no file; -errno. */
static int move_result_out(const char *from, const char *to)
{
	struct stat st;
	char room[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int out = in >= 0 && fstat(in, &st) == 0 && S_ISREG(st.st_mode)
	              ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777)
	              : -1;
	int rc = in < 0 ? -errno : out < 0 ? -EIO : 0;
	ssize_t n = 0;
	for (uint64_t at = 0; rc == 0 && (n = io_pread(in, room, sizeof(room), at)) > 0; at += (uint64_t)n)
		rc = io_write(out, room, (size_t)n, NULL);
	if (rc == 0 && n < 0)
		rc = (int)n;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) < 0 && rc == 0)
		rc = -errno;
	if (out >= 0 && rc < 0)
		unlink(to);
	return rc;
}

/* malloc'ed; NULL: no memory, or nobody knows where we are. */
static char *absolute_path(const char *path)
{
	if (path[0] == '/')
		return strdup(path);
	char *cwd = getcwd(NULL, 0), *full = NULL;
	if (!cwd || asprintf(&full, "%s/%s", cwd, path) < 0)
		full = NULL;
	free(cwd);
	return full;
}

/* 0 and *ret_same: the result is as recorded; -errno with a sentence. */
int build_again(struct store *s, const struct build *b, const char *out, int message_fd, struct err *err,
                bool *ret_same)
{
	struct again a = {.s = s, .err = err, .message_fd = message_fd};
	const char *tmp = getenv("TMPDIR");
	const struct build_file *wanted = main_output(b);
	struct digest d;
	if (b->origin != BUILD_RECORDED || !wanted) {
		err_set(err, 0, "there is no record of how it was built");
		return -ESTALE;
	}
	if (access(out, F_OK) == 0)
		return err_set(err, EEXIST, "cannot build '%s'", out);
	char *full = absolute_path(out); /* the command runs elsewhere */
	if (snprintf(a.dir, sizeof(a.dir), "%s/stemma-again-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp") >=
	    (int)sizeof(a.dir))
		a.dir[0] = '\0'; /* which mkdtemp refuses */
	if (!full || !mkdtemp(a.dir)) {
		free(full);
		return err_set(err, errno, "cannot build '%s'", out);
	}
	const char *name = strrchr(full, '/'); /* bytes may name the file that they are in */
	char made[PATH_MAX + NAME_MAX + 16];
	snprintf(made, sizeof(made), "%s/out", a.dir);
	int rc = mkdir(made, 0700) < 0 ? -errno : 0;
	snprintf(made, sizeof(made), "%s/out/%s", a.dir, name + 1);
	if (rc == 0)
		rc = make_recorded_file(&a, b, wanted, made, 0);
	if (rc == 0)
		rc = move_result_out(made, full);
	if (rc == 0)
		rc = digest_file(NULL, AT_FDCWD, full, &d, NULL);
	io_remove_all(a.dir);
	free(full);
	if (rc < 0) {
		err_set(err, rc == -ESTALE || rc == -ECANCELED ? 0 : -rc, "cannot build '%s'", out);
		return rc;
	}
	*ret_same = wanted->digested && digest_eq(&d, &wanted->digest);
	return 0;
}
