/* rerun_run.c - a planned run, made again: confined, in a folder of its own. */
#include "base/io.h"
#include "base/os/memfile.h"
#include "cmd/bench/bench_once.h"
#include "cmd/trust/rerun_job.h"
#include "cmd/ui/columns.h"
#include "trust/rerun/rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a command that may be anybody's wrote to its standard error, in which nothing can steer a terminal. */
void rerun_job_messages(int fd)
{
	FILE *f = fd >= 0 ? fdopen(dup(fd), "r") : NULL;
	char line[1024];
	struct buf b = {0};
	enum { LINES = 200 };
	if (!f)
		return;
	rewind(f);
	int n = 0;
	for (; n < LINES && fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\n")] = '\0';
		buf_reset(&b);
		fmt_name(&b, str_of(line));
		fprintf(stderr, "| %s\n", buf_cstr(&b));
	}
	if (n == LINES && fgetc(f) != EOF)
		fprintf(stderr, "| ... and more\n");
	buf_release(&b);
	fclose(f);
}

/* Where what it prints is kept; -1 nowhere. 0 or a status. */
static int open_output(const struct rerun_job *a, int *ret)
{
	*ret = -1;
	if (!a->o->output)
		return 0;
	*ret = open(a->o->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	if (*ret >= 0)
		return 0;
	report("cannot write '%s': %s", a->o->output, strerror(errno));
	return STATUS_USAGE;
}

/* What it printed is shown, digested, and copied to `to`, -1 nowhere. */
static void take_printed(struct rerun_job *a, int fd, int to)
{
	struct digest d;
	char room[65536];
	ssize_t k = 0;
	rerun_job_messages(fd);
	if (digest_fd(NULL, fd, &d, NULL) == 0)
		digest_text(&d, a->printed);
	for (uint64_t at = 0; to >= 0 && (k = io_pread(fd, room, sizeof(room), at)) > 0; at += (uint64_t)k)
		if ((k = io_write(to, room, (size_t)k, NULL) < 0 ? -errno : k) < 0)
			break;
	if (k < 0)
		report("cannot write the whole output to '%s': %s", a->o->output, strerror(k < 0 ? (int)-k : EIO));
}

/* Confines the command that is run again, in the command's process. What it may reach is decided; from here on it is
 * so. 0; -1: it could not be confined, which was said there, and *a->failed is set. */
static int confine_rerun(void *arg)
{
	struct rerun_job *a = arg;
	struct err err = {0};
	extern char **environ;
	static const struct {
		const char *name;
		bool received;
	} own[] = {{"PWD", false}, {"TMPDIR", false}, {"HOME", true}};
	environ = a->env;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!own[i].received || !a->plan.own)
			setenv(own[i].name, i ? a->tmp : a->dir, 1);
	if (!a->plan.own && !getenv("PATH"))
		setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
	if (a->messages >= 0) {
		int null = open("/dev/null", O_RDONLY);
		if (null < 0 || dup2(null, 0) < 0 || dup2(a->messages, 2) < 0)
			err_set(&err, errno, "cannot redirect the input and messages of the command");
		if (null > 2)
			close(null);
		close(a->messages);
	}
	if (!*err.text && a->jailed)
		jail_enter(&a->jail, &err);
	if (!*err.text)
		return 0;
	*a->failed = 1;
	dprintf(2, "stemma: %s\n", err.text);
	return -1;
}

/* The folder for temporary files, and what is shared with the command's process. 0 or a status. */
static int make_temporary(struct rerun_job *a)
{
	const char *base = getenv("TMPDIR");
	char *path = NULL;
	a->failed = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->failed == MAP_FAILED ||
	    asprintf(&path, "%s/stemma-rerun-tmp.XXXXXX", base && *base == '/' ? base : "/tmp") < 0 || !mkdtemp(path) ||
	    !(a->tmp = realpath(path, NULL))) {
		free(path);
		report("cannot make a folder for temporary files: %s", strerror(errno));
		return STATUS_SELF;
	}
	free(path);
	return 0;
}

/* What cannot be confined here is said; without the layers that a received command needs it is not run. 0 or a status.
 */
static int check_layers(const struct rerun_job *a)
{
	int unused;
	unsigned layers = jail_layers(&unused);
	if (!a->plan.own && (layers & (JAIL_FILES | JAIL_CALLS)) != (JAIL_FILES | JAIL_CALLS)) {
		report("this kernel cannot confine the command: it has no %s",
		       layers & JAIL_FILES ? "seccomp filters" : "Landlock");
		report_hint("use --unconfined to run it without confinement, with access to everything you can access");
		return STATUS_SELF;
	}
	if (!(layers & JAIL_FILES))
		report("the command is partly confined: this kernel has no Landlock, so it can read everything you can read%s",
		       layers & JAIL_NAMESPACES ? "" : " and write everything you can write");
	else if (!(layers & JAIL_NAMESPACES))
		report("the command is partly confined: namespaces are not available, so it %s",
		       a->plan.own ? "can change modes, owners and times of your files"
		                   : "may fail where it changes modes, owners or times of its own files");
	return 0;
}

/* What the command may reach; a record of somebody else is confined strictly. 0, or a status, reported. */
static int open_jail(struct rerun_job *a)
{
	struct err err = {0};
	if (jail_make(&a->jail, !a->plan.own, &err) < 0)
		return report_err(&err, STATUS_SELF);
	a->jailed = true;
	for (size_t i = 0; i < a->plan.n_reads; i++)
		jail_may_find(&a->jail, a->plan.reads[i]);
	if (a->from)
		jail_may_read(&a->jail, a->from);
	int rc = jail_may_write(&a->jail, a->dir);
	if (rc == 0)
		rc = jail_may_write(&a->jail, a->tmp);
	return rc < 0 ? (err_set(&err, -rc, "cannot confine the command"), report_err(&err, STATUS_SELF)) : 0;
}

/* Which layers there are decides whether it is run at all. */
static int make_jail(struct rerun_job *a)
{
	int status = make_temporary(a);
	if (status)
		return status;
	a->env = rerun_environment(a->plan.env, a->plan.own, &a->left_out);
	if (!a->env || !a->left_out) {
		report("out of memory");
		return STATUS_SELF;
	}
	/* Not close-on-exec: what is so is closed in the command's process before confine_rerun() is called there. */
	if (!a->plan.own && ((a->messages = memfile_new("stemma-messages")) < 0 || fcntl(a->messages, F_SETFD, 0) < 0)) {
		report("cannot store the command's messages: %s", strerror(a->messages < 0 ? -a->messages : errno));
		return STATUS_SELF;
	}
	if (a->o->unconfined) {
		report("the command is not confined: it can access everything you can access");
		return 0;
	}
	status = check_layers(a);
	return status ? status : open_jail(a);
}

/* Words that lead into the old folder lead into the new one. */
static void move_words(struct rerun_job *a)
{
	size_t n = strlen(a->plan.cwd);
	for (size_t i = 0; a->plan.argv[i]; i++) {
		char *w = a->plan.argv[i], *own;
		if (n < 2 || strncmp(w, a->plan.cwd, n) != 0 || w[n] != '/')
			continue;
		if (asprintf(&own, "%s%s", a->dir, w + n) > 0) {
			free(w);
			a->plan.argv[i] = own;
		}
	}
}

/* Where its results are found. 0 or -errno with a sentence. */
static int load_extractors(const struct rerun_job *a, struct benchfile *file, struct err *err)
{
	int rc = a->file ? benchfile_load(a->file, err, file) : 0;
	if (rc < 0 || file->n_results)
		return rc;
	file->result = calloc(1, sizeof(*file->result)); /* as stemma bench does */
	if (file->result && (file->result->from = strdup("stdout")))
		file->n_results = 1;
	return 0;
}

/* Runs it once, in its folder; to: where what it prints goes, too. 0 or a status. */
static int run_in_folder(struct rerun_job *a, struct run_trust *t, const char *label, int to, char run[27])
{
	struct bench_once once;
	struct err err = {0};
	const char *labels[] = {label, NULL};
	if (chdir(a->dir) < 0) {
		report("cannot change to the folder '%s': %s", a->dir, strerror(errno));
		return STATUS_SELF;
	}
	int rc = bench_once(t, a->home, a->index, NULL, labels, true, false, &err, &once);
	rc = rc < 0 ? report_err(&err, STATUS_SELF) : *a->failed ? STATUS_SELF : 0;
	rerun_job_messages(a->messages);
	if (rc == 0 && once.has_printed)
		take_printed(a, once.printed, to);
	a->status = once.status;
	a->ran = rc == 0;
	memcpy(run, once.run, sizeof(once.run));
	bench_once_release(&once);
	return rc;
}

/* The record has it now. 0 or a status. */
static int find_second(struct rerun_job *a, const char *run)
{
	struct store_index_options o = {.skew = config_duration(&a->c->config, CONFIG_skew)};
	struct err err = {0};
	if (store_index(a->c->store, &o, &err, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	if (*run && store_find_run(a->c->store, run, &a->second) == 1)
		return 0;
	report("the new run was not recorded, so nothing can be compared");
	report_hint("stemma doctor reports what works on this machine");
	return STATUS_NOTHING;
}

int rerun_job_run(struct rerun_job *a)
{
	struct run_trust t = {.machine = true, .digest = true, .system_extra = a->options.system_extra};
	struct err err = {0};
	char *label = NULL, run[27] = "";
	int to = -1, status = 0;
	if (load_extractors(a, &t.file, &err) < 0 || asprintf(&label, "rerun=%s", a->plan.ulid) < 0)
		status = report_err(&err, STATUS_USAGE);
	if (status == 0)
		status = open_output(a, &to);
	if (status == 0)
		status = make_jail(a);
	if (status == 0) {
		move_words(a);
		t.confine = confine_rerun;
		t.confine_arg = a;
		t.received = !a->plan.own;
		t.argv = a->plan.argv;
		status = run_in_folder(a, &t, label, to, run);
	}
	if (to >= 0)
		close(to);
	free(label);
	benchfile_release(&t.file);
	return status ? status : find_second(a, run);
}
