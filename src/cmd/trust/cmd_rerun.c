/* stemma rerun: what a run was made with is looked for and brought together elsewhere, it is run again, and what came
 * out is compared. Nothing is changed where the run was made. */
#include "answer/diff/diff_content.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/os/memfile.h"
#include "base/strv.h"
#include "cc/build.h"
#include "cmd/diff/diff_view.h"
#include "cmd/trust/rerun_job.h"
#include "cmd/ui/columns.h"
#include "trust/kept.h"
#include "trust/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FILE "stemma-bench.toml"

/* ---- the machine ---- */

/* What should be the same for the same result; not how busy it is. */
static bool is_reason_counted(const char *name)
{
	static const char *const names[] = {"machine", "cpu.model", "kernel", "os", "libc", "aslr", "scheduler", NULL};
	for (size_t i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return true;
	return !strncmp(name, "env.LD_", 7) || !strncmp(name, "env.OMP_", 8) || !strcmp(name, "env.LANG") ||
	       !strncmp(name, "env.LC_", 7);
}

/* Puts into a->now what is another one now. */
static void compare_machine(struct rerun_job *a)
{
	struct witness w;
	struct machine m;
	struct err err = {0};
	if (witness_runs(a->c->store, &a->run, 1, &a->options, &err, &w) < 0)
		return;
	machine_read(&m);
	for (size_t i = 0; i < w.side.part[TRUST_INVARIANTS].n; i++) {
		const struct element *was = &w.side.part[TRUST_INVARIANTS].v[i];
		const struct element *is = elements_find(&m.invariant, str_of(was->name));
		if (!was->n || !is_reason_counted(was->name) || (is && is->n && !strcmp(is->value[0], was->value[0])))
			continue;
		elements_add(&a->now, str_of(was->name), str_of(was->value[0]));
		elements_add(&a->now, str_of(was->name), str_of(is && is->n ? is->value[0] : "-"));
	}
	machine_release(&m);
	witness_release(&w);
}

/* ---- files ---- */

/* An empty folder: made, or there already. a->dir is absolute. 0, or a status, reported. */
static int make_run_folder(struct rerun_job *a)
{
	const char *tmp = getenv("TMPDIR");
	if (!a->o->in) {
		if (asprintf(&a->dir, "%s/stemma-rerun.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp") < 0 || !mkdtemp(a->dir)) {
			report("cannot make a folder to run in below '%s': %s", tmp && *tmp == '/' ? tmp : "/tmp", strerror(errno));
			report_hint("use --in DIR, or set TMPDIR");
			return STATUS_SELF;
		}
		char *real = realpath(a->dir, NULL);
		if (!real) {
			report("cannot find '%s': %s", a->dir, strerror(errno));
			return STATUS_SELF;
		}
		free(a->dir);
		a->dir = real;
		return 0;
	}
	if (mkdir(a->o->in, 0777) < 0 && errno != EEXIST) {
		report("cannot make '%s': %s", a->o->in, strerror(errno));
		return STATUS_SELF;
	}
	DIR *d = opendir(a->o->in);
	bool empty = d != NULL;
	for (struct dirent *e; d && (e = readdir(d));)
		empty &= !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (!d) {
		report("cannot open the folder '%s': %s", a->o->in, strerror(errno));
		return STATUS_USAGE;
	}
	closedir(d);
	if (!empty) {
		report("'%s' is not an empty folder", a->o->in);
		report_hint("name a new folder with --in");
		return STATUS_USAGE;
	}
	a->dir = realpath(a->o->in, NULL);
	if (!a->dir)
		report("cannot find '%s': %s", a->o->in, strerror(errno));
	return a->dir ? 0 : STATUS_SELF;
}

/* Builds a program or library once more from its record. */
static void rebuild(struct rerun_job *a, struct rerun_file *x)
{
	struct build_list l = {0};
	struct err err = {0};
	struct digest d;
	unsigned char id[BUILD_ID_MAX];
	size_t nid = 0;
	char *out = NULL;
	bool same = false, digested = digest_parse(str_of(x->want), &d);
	if (!strncmp(x->want, "build-id:", 9)) {
		size_t n = strlen(x->want + 9) / 2;
		nid = n <= sizeof(id) && hex_parse(str_of(x->want + 9), id, n) ? n : 0;
	}
	if (!*x->want || build_find_by(a->c->store, id, nid, digested ? &d : NULL, &err, &l) < 0 || !l.n ||
	    asprintf(&out, "%s/%s", a->dir, x->name) < 0) {
		build_list_release(&l);
		return;
	}
	/* Not the terminal: the record of a build may have been imported. */
	int messages = memfile_new("stemma-messages");
	int rc = messages < 0 ? err_set(&err, -messages, "cannot store the messages of the compiler")
	                      : build_again(a->c->store, &l.v[0], out, messages, &err, &same);
	rerun_job_messages(messages);
	if (messages >= 0)
		close(messages);
	if (rc == 0 && same)
		x->state = RERUN_REBUILT;
	else if (rc == 0) /* another than was wanted */
		unlink(out);
	else
		report("'%s' cannot be built again: %s", x->name, err.text);
	free(out);
	build_list_release(&l);
}

/* Takes an input into the rerun as it is on the disk. With --force: as it is now. */
static void take_as_is(struct rerun_job *a, const struct rerun_file *x)
{
	char *to = NULL;
	struct stat st;
	bool there = x->state == RERUN_DIFFERS || (x->state == RERUN_GONE && x->lost);
	int fd = there ? open(x->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && asprintf(&to, "%s/%s", a->dir, x->name) > 0)
		kept_copy(fd, to, x->mode, NULL);
	if (fd >= 0)
		close(fd);
	free(to);
}

/* One file of the plan, in the new folder: built again, or with --force as it is now, where it is not what it was. */
static void bring_file(struct rerun_job *a, struct rerun_file *x)
{
	bool runs = !a->o->check;
	if (runs && a->plan.own && x->below && (x->program || x->library) &&
	    (x->state == RERUN_DIFFERS || x->state == RERUN_GONE))
		rebuild(a, x);
	bool lacks = rerun_lacks(x);
	a->missing += lacks;
	if (lacks && a->o->force && runs && x->below)
		take_as_is(a, x);
}

/* Looks for copies of missing inputs. With --check: which of the missing files are to be had from copies or git, as
 * they would be. Each is copied, and removed at once. 0, or a status, reported. */
static int look_for_copies(struct rerun_job *a)
{
	struct err err = {0};
	char *to = NULL;
	int rc = 0;
	for (size_t i = 0; rc == 0 && a->plan.own && i < a->plan.n; i++) {
		struct rerun_file *x = &a->plan.v[i];
		if (!rerun_lacks(x) || !x->below || !*x->want)
			continue;
		int status = a->dir ? 0 : make_run_folder(a);
		if (status)
			return status;
		if (asprintf(&to, "%s/copy", a->dir) < 0)
			return err_set(&err, ENOMEM, "cannot look for copies of inputs"), report_err(&err, STATUS_SELF);
		rc = rerun_bring(x, a->home, to);
		unlink(to);
		free(to);
	}
	return rc < 0 ? (err_set(&err, -rc, "cannot look for copies of inputs"), report_err(&err, STATUS_SELF)) : 0;
}

/* Fills the folder in which the command is run again. With --check no folder is filled. 0, or a status, reported. */
static int fill_run_folder(struct rerun_job *a)
{
	struct err err = {0};
	if (a->o->check && !a->o->in) {
		int status = look_for_copies(a);
		if (status)
			return status;
	}
	if (!a->o->check) {
		int status = make_run_folder(a);
		if (status)
			return status;
		if (rerun_fill(&a->plan, a->home, a->dir, &err) < 0)
			return report_err(&err, STATUS_SELF);
	}
	for (size_t i = 0; i < a->plan.n; i++)
		bring_file(a, &a->plan.v[i]);
	bool runs = !a->o->check && (!a->missing || a->o->force);
	if (runs && standins_make(&a->plan, a->plan.began, a->dir, &err, &a->standins) < 0)
		return report_err(&err, STATUS_SELF);
	return 0;
}

/* Sets a->compared; another exit status is a difference; then a->diff, if it can be made. 0, or a status, reported. */
static int compare_with_record(struct rerun_job *a)
{
	struct err err = {0};
	struct diff_content_source content = {.s = a->c->store, .cache = a->options.cache};
	struct diff_options o = {.system_extra = a->options.system_extra,
	                         .skew = config_duration(&a->c->config, CONFIG_skew),
	                         .content = diff_content_of,
	                         .content_arg = &content};
	if (compare_runs(a->c->store, a->run, a->second, &a->options, a->o->tolerance, a->printed, &err, &a->compared) < 0)
		return report_err(&err, STATUS_SELF);
	const store_id ids[2] = {a->run, a->second};
	for (int i = 0; i < 2; i++) {
		struct run_info r;
		if (store_run(a->c->store, ids[i], &r) != 1) {
			err_set(&err, EIO, "cannot read the exit status of the %s run from the index", i ? "second" : "recorded");
			return report_err(&err, STATUS_SELF);
		}
		a->ending[i] = r.ending;
		a->code[i] = r.code;
	}
	if (standins_opened(a->c->store, a->second, a->dir, &a->standins, &a->opened) < 0) {
		err_set(&err, ENOMEM, "cannot read the accesses of the second run from the index");
		return report_err(&err, STATUS_SELF);
	}
	/* That it ended otherwise is a difference, whatever it left. */
	if (!rerun_job_ended_alike(a))
		a->compared.verdict = COMPARE_DIFFERENT;
	err = (struct err){0};
	a->has_diff =
	    a->compared.verdict == COMPARE_DIFFERENT && diff_make(a->c->store, DIFF_RUN, ids, &o, &err, &a->diff) == 0;
	if (a->has_diff)
		diff_pass_over_rerun(&a->diff);
	return 0;
}

/* The run that is meant, and the folder that a received one's files are looked for in. 0 or a status. */
static int find_run(struct rerun_job *a)
{
	const char *word = a->c->operands[0];
	int rc = store_find_run(a->c->store, word, &a->run);
	if (rc != 1) {
		report(rc == -ENOTUNIQ ? "'%s' is ambiguous: several runs have this beginning or end of their id"
		                       : "there is no run '%s'",
		       word);
		report_hint(rc == -ENOTUNIQ ? "type more of the id; stemma log --json prints whole ids"
		                            : "stemma log lists the runs");
		return cmd_target_status(rc);
	}
	cmd_report_rerun(a->c, word, a->run);
	if (a->o->from && !(a->from = realpath(a->o->from, NULL))) {
		report("--from: cannot open the folder '%s': %s", a->o->from, strerror(errno));
		return STATUS_USAGE;
	}
	return 0;
}

/* Of a run that stemma rerun made: the run that it repeats, which may be the user's own. */
static void hint_repeated(const struct rerun_job *a)
{
	struct run_info r;
	if (store_run_told(a->c->store, a->run, &r) == 1 && run_rerun_of(&r).n) {
		const struct str of = fmt_run(run_rerun_of(&r));
		report_hint("stemma rerun made this run; it repeats %.*s, which may be yours: stemma rerun %.*s", (int)of.n,
		            of.p, (int)of.n, of.p);
	}
}

/* A record of others is run only if it is asked for. 0 or a status. */
static int check_own(struct rerun_job *a)
{
	if (a->from && a->plan.own)
		return report_usage(a->c, "--from is for received records only");
	if (a->plan.own || a->o->check)
		return 0;
	rerun_job_received(a);
	if (a->o->trust)
		return 0;
	report("stemma runs a received command only with --trust, because its author may be somebody else");
	hint_repeated(a);
	report_hint("with --trust it is confined; --from DIR names the folder with its files");
	return STATUS_USAGE;
}

/* What was a secret is not there to be given again. Always STATUS_NOTHING. */
static int report_redacted(const struct rerun_job *a)
{
	struct buf b = {0};
	for (size_t i = 0; a->plan.argv && a->plan.argv[i]; i++)
		if (strstr(a->plan.argv[i], "***")) {
			buf_printf(&b, "%sargument %zu, ", b.n ? "; " : "", i);
			fmt_name(&b, str_of(a->plan.argv[i]));
		}
	report("an argument of the run was redacted as a secret, so stemma cannot run it again: %s", buf_cstr(&b));
	report_hint("run the command yourself, and compare with stemma diff");
	buf_release(&b);
	return STATUS_NOTHING;
}

/* Prints what became of repeating the run. STATUS_NOTHING: it differs, failed, or with --check something is missing.
 */
static int print_job(const struct rerun_job *a)
{
	int status = STATUS_OK;
	if (a->o->json)
		status = rerun_job_json(a);
	else
		rerun_job_text(a);
	bool well = a->ran ? a->compared.verdict <= COMPARE_WITHIN && !a->status : !a->missing;
	return status == STATUS_OK && !well ? STATUS_NOTHING : status;
}

/* A status, reported. */
static int plan_and_rerun(struct rerun_job *a)
{
	struct err err = {0};
	int status = find_run(a);
	if (status)
		return status;
	if (rerun_plan(a->c->store, a->run, a->home, a->from, &a->options, &err, &a->plan) < 0)
		return report_err(&err, STATUS_SELF);
	status = check_own(a);
	if (status)
		return status;
	if (a->plan.redacted)
		return report_redacted(a);
	compare_machine(a);
	status = fill_run_folder(a);
	if (status == 0 && !a->o->check && (!a->missing || a->o->force)) {
		status = rerun_job_run(a);
		if (status == 0)
			status = compare_with_record(a);
	}
	return status ? status : print_job(a);
}

/* A folder of our own goes, unless it is to be looked into; this process leaves it for / first. a itself is the
 * caller's. */
static void job_release(struct rerun_job *a)
{
	if (a->ran && chdir("/") < 0)
		report("cannot change to '/' before '%s' is removed: %s", a->dir, strerror(errno));
	int rc = a->dir && !a->o->in && !(a->ran && a->o->keep) ? io_remove_all(a->dir) : 0;
	if (rc < 0)
		report("cannot remove all of '%s': %s", a->dir, strerror(-rc));
	if (a->tmp)
		io_remove_all(a->tmp);
	if (a->messages >= 0)
		close(a->messages);
	jail_release(&a->jail);
	if (a->has_diff)
		diff_release(&a->diff);
	compare_release(&a->compared);
	standins_release(&a->standins);
	strv_free(a->opened);
	digest_cache_close(a->options.cache);
	elements_release(&a->now);
	rerun_release(&a->plan);
	char *const texts[] = {a->dir, a->tmp, a->from, a->left_out, a->file, a->home, a->index};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free(texts[i]);
	free(a->env);
}

/* The benchmark file, found before we go elsewhere. 0 or a status. */
static int find_benchfile(struct rerun_job *a)
{
	const char *file = a->o->file ? a->o->file : access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE : NULL;
	a->file = file ? realpath(file, NULL) : NULL;
	return file && !a->file ? report_usage(a->c, "cannot open '%s': %s", file, strerror(errno)) : 0;
}

/* Gives the exit status. */
int cmd_rerun(struct cmd *c, const struct opts_rerun *o)
{
	struct rerun_job a = {.c = c, .o = o, .messages = -1, .jail = {.ruleset = -1}};
	struct err err = {0};
	double unused;
	if (c->n_operands != 1)
		return report_usage(c, "rerun needs one run");
	if (o->tolerance && !tolerance_read(o->tolerance, &unused, &unused))
		return report_usage(c, "the tolerance '%s' is neither a number nor a percentage", o->tolerance);
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	if (store_places(cmd_home(c), &err, &a.home, &a.index) < 0)
		return report_err(&err, STATUS_SELF);
	char *folder = strdup(a.index), *slash = folder ? strrchr(folder, '/') : NULL;
	if (slash)
		*slash = '\0';
	a.options = (struct witness_options){.system_extra = config_get(&c->config, CONFIG_system),
	                                     .cache = slash ? digest_cache_open(folder) : NULL};
	free(folder);
	status = find_benchfile(&a);
	if (status == 0)
		status = plan_and_rerun(&a);
	job_release(&a);
	return status;
}
