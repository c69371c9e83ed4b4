/* stemma rerun: what a run was made with is looked for and brought together elsewhere, it is run again, and what came
 * out is compared. Nothing is changed where the run was made. */
#include "base/hex.h"
#include "base/io.h"
#include "base/os/memfile.h"
#include "cc/build.h"
#include "cmd/bench/bench_once.h"
#include "cmd/diff/diff_view.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "sandbox/jail.h"
#include "trust/compare.h"
#include "trust/kept.h"
#include "trust/rerun.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_FILE "stemma-bench.toml"

struct again {
	struct cmd *c;
	const struct opts_rerun *o;
	store_id run, second;
	struct rerun plan;
	struct witness_options options;
	char *dir, *file, *home, *index;
	struct elements now;         /* invariants of the machine that are others now: name -> before, now */
	size_t missing;              /* files that are not to be had as they were */
	int status;                  /* of the command, as from waitpid */
	uint64_t ending[2], code[2]; /* of the recorded run and the second one */
	struct compare compared;
	struct diff diff;
	bool ran, has_diff;
	/* How it is confined: */
	struct jail jail;
	bool jailed;
	char *from, *tmp;     /* folders: where a received run's files are looked for, NULL none; for temporary files */
	char **env;           /* of the command */
	char *left_out;       /* names of variables of the record that it is not given */
	int messages;         /* of a received command, a file; -1 its messages go where ours go */
	volatile int *failed; /* shared with the command's process: it could not be confined */
};

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

static void machine(struct again *a)
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

/* An empty folder: made, or there already. */
static int make_run_folder(struct again *a)
{
	const char *tmp = getenv("TMPDIR");
	if (!a->o->in) {
		if (asprintf(&a->dir, "%s/stemma-rerun.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp") < 0 || !mkdtemp(a->dir)) {
			report("cannot make a folder to run in: %s", strerror(errno));
			return STATUS_SELF;
		}
		char *real = realpath(a->dir, NULL);
		if (!real)
			return STATUS_SELF;
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
	if (d)
		closedir(d);
	if (!empty) {
		report("'%s' is not an empty folder", a->o->in);
		return STATUS_USAGE;
	}
	a->dir = realpath(a->o->in, NULL);
	return a->dir ? 0 : STATUS_SELF;
}

/* What a command that may be anybody's wrote to its standard error, in which nothing can steer a terminal. */
static void show_messages(int fd)
{
	FILE *f = fd >= 0 ? fdopen(dup(fd), "r") : NULL;
	char line[1024];
	struct buf b = {0};
	enum { LINES = 200 };
	if (!f)
		return;
	rewind(f);
	for (int n = 0; n < LINES && fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\n")] = '\0';
		buf_reset(&b);
		fmt_name(&b, str_of(line));
		fprintf(stderr, "| %s\n", buf_cstr(&b));
	}
	buf_release(&b);
	fclose(f);
}

/* Builds a program or library once more from its record. */
static void rebuild(struct again *a, struct rerun_file *x)
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
	int rc = messages < 0 ? err_set(&err, -messages, "cannot keep the messages")
	                      : build_again(a->c->store, &l.v[0], out, messages, &err, &same);
	show_messages(messages);
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

/* With --force: as it is now. */
static void take_as_is(struct again *a, const struct rerun_file *x)
{
	char *to = NULL;
	struct stat st;
	int fd = x->state == RERUN_DIFFERS ? open(x->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && asprintf(&to, "%s/%s", a->dir, x->name) > 0)
		kept_copy(fd, to, x->mode);
	if (fd >= 0)
		close(fd);
	free(to);
}

static int fill_run_folder(struct again *a)
{
	struct err err = {0};
	if (!a->o->check) {
		int status = make_run_folder(a);
		if (status)
			return status;
		if (rerun_fill(&a->plan, a->home, a->dir, &err) < 0)
			return report_err(&err, STATUS_SELF);
	}
	for (size_t i = 0; i < a->plan.n; i++) {
		struct rerun_file *x = &a->plan.v[i];
		if (!a->o->check && a->plan.own && x->below && (x->program || x->library) &&
		    (x->state == RERUN_DIFFERS || x->state == RERUN_GONE))
			rebuild(a, x);
		bool lacks = rerun_lacks(x);
		a->missing += lacks;
		if (lacks && a->o->force && !a->o->check && x->below)
			take_as_is(a, x);
	}
	return 0;
}

/* ---- running ---- */

/* In the command's process. What it may reach is decided; from here on it is so. */
static int confine_rerun(void *arg)
{
	struct again *a = arg;
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
			err_set(&err, errno, "cannot confine the command");
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

/* Which layers there are decides whether it is run at all. */
static int make_jail(struct again *a)
{
	struct err err = {0};
	char tmp[] = "/tmp/stemma-rerun-tmp.XXXXXX";
	int unused;
	a->failed = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *base = getenv("TMPDIR");
	char *path = NULL;
	if (a->failed == MAP_FAILED || asprintf(&path, "%s/%s", base && *base == '/' ? base : "/tmp", tmp + 5) < 0 ||
	    !mkdtemp(path) || !(a->tmp = realpath(path, NULL))) {
		free(path);
		report("cannot make a folder for temporary files: %s", strerror(errno));
		return STATUS_SELF;
	}
	free(path);
	a->env = rerun_environment(a->plan.env, a->plan.own, &a->left_out);
	if (!a->env || !a->left_out)
		return STATUS_SELF;
	/* Not close-on-exec: what is so is closed in the command's process before confine_rerun() is called there. */
	if (!a->plan.own && ((a->messages = memfile_new("stemma-messages")) < 0 || fcntl(a->messages, F_SETFD, 0) < 0)) {
		report("cannot keep the command's messages: %s", strerror(a->messages < 0 ? -a->messages : errno));
		return STATUS_SELF;
	}
	if (a->o->unconfined) {
		report("the command is not confined: it can reach all that you can reach");
		return 0;
	}
	unsigned layers = jail_layers(&unused);
	if (!a->plan.own && (layers & (JAIL_FILES | JAIL_CALLS)) != (JAIL_FILES | JAIL_CALLS)) {
		report("this kernel cannot confine the command: it has no %s",
		       layers & JAIL_FILES ? "call filters" : "Landlock");
		report_hint("--unconfined runs it all the same; then it can reach all that you can reach");
		return STATUS_SELF;
	}
	if (!(layers & JAIL_FILES))
		report("the command is confined in part: this kernel has no Landlock, so it can read all that you can read%s",
		       layers & JAIL_NAMESPACES ? "" : " and write all that you can write");
	else if (!(layers & JAIL_NAMESPACES))
		report("the command is confined in part: it gets no namespaces here, so it %s",
		       a->plan.own ? "can change modes, owners and times of your files"
		                   : "cannot change modes, owners and times");
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

/* Words that lead into the old folder lead into the new one. */
static void move_words(struct again *a)
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

static int run_planned(struct again *a)
{
	struct run_trust t = {.machine = true, .digest = true, .system_extra = a->options.system_extra};
	struct bench_once once;
	struct err err = {0};
	char *label = NULL;
	int rc = a->file ? benchfile_load(a->file, &err, &t.file) : 0;
	if (rc == 0 && !t.file.n_results) { /* as stemma bench does */
		t.file.result = calloc(1, sizeof(*t.file.result));
		if (t.file.result && (t.file.result->from = strdup("stdout")))
			t.file.n_results = 1;
	}
	if (rc < 0 || asprintf(&label, "rerun=%s", a->plan.ulid) < 0) {
		benchfile_release(&t.file);
		return report_err(&err, STATUS_USAGE);
	}
	int status = make_jail(a);
	if (status) {
		free(label);
		benchfile_release(&t.file);
		return status;
	}
	t.confine = confine_rerun;
	t.confine_arg = a;
	t.received = !a->plan.own;
	move_words(a);
	if (chdir(a->dir) < 0) {
		report("cannot go to '%s': %s", a->dir, strerror(errno));
		rc = STATUS_SELF;
	} else {
		const char *labels[] = {label, NULL};
		t.argv = a->plan.argv;
		rc = bench_once(&t, a->home, a->index, NULL, labels, true, false, &err, &once);
		rc = rc < 0 ? report_err(&err, STATUS_SELF) : *a->failed ? STATUS_SELF : 0;
		show_messages(a->messages);
		a->status = once.status;
		a->ran = rc == 0;
	}
	free(label);
	benchfile_release(&t.file);
	if (rc)
		return rc;
	/* The record has it now. */
	struct store_index_options o = {.skew = config_duration(&a->c->config, CONFIG_skew)};
	if (store_index(a->c->store, &o, &err, NULL) < 0)
		rc = report_err(&err, STATUS_SELF);
	else if (!*once.run || store_find_run(a->c->store, once.run, &a->second) != 1) {
		report("the second run was not recorded, so nothing can be compared");
		rc = STATUS_NOTHING;
	}
	bench_once_release(&once);
	return rc;
}

static bool same_ending(const struct again *a)
{
	return a->ending[0] == a->ending[1] && a->code[0] == a->code[1];
}

/* That the folders are others is our doing. */
static bool is_our_doing(const struct diff_item *x)
{
	return (x->category == DIFF_machine && str_is(x->subject, "directory")) ||
	       (x->category == DIFF_environment && (str_is(x->subject, "TMPDIR") || str_is(x->subject, "PWD")));
}

static void pass_over_our_doing(struct diff *d)
{
	while (d->first < d->n_items && is_our_doing(&d->items[d->first]))
		do
			d->first++;
		while (d->first < d->n_items && !diff_category_words[d->items[d->first].category].cause);
	if (d->first >= d->n_items)
		d->first = SIZE_MAX;
}

static int compare_with_record(struct again *a)
{
	struct err err = {0};
	struct diff_options o = {.system_extra = a->options.system_extra,
	                         .skew = config_duration(&a->c->config, CONFIG_skew)};
	if (compare_runs(a->c->store, a->run, a->second, &a->options, a->o->tolerance, &err, &a->compared) < 0)
		return report_err(&err, STATUS_SELF);
	const store_id ids[2] = {a->run, a->second};
	for (int i = 0; i < 2; i++) {
		struct run_info r;
		if (store_run(a->c->store, ids[i], &r) != 1) {
			err_set(&err, EIO, "cannot read how the runs ended");
			return report_err(&err, STATUS_SELF);
		}
		a->ending[i] = r.ending;
		a->code[i] = r.code;
	}
	/* That it ended otherwise is a difference, whatever it left. */
	if (!same_ending(a))
		a->compared.verdict = COMPARE_DIFFERENT;
	err = (struct err){0};
	a->has_diff =
	    a->compared.verdict == COMPARE_DIFFERENT && diff_make(a->c->store, DIFF_RUN, ids, &o, &err, &a->diff) == 0;
	if (a->has_diff)
		pass_over_our_doing(&a->diff);
	return 0;
}

/* ---- showing ---- */

/* What was not as it was before the second run; else what the two records tell apart; else the machine. */
static void cause_text(const struct again *a, struct buf *b)
{
	if (!a->ran || a->compared.verdict != COMPARE_DIFFERENT)
		return;
	for (size_t i = 0; i < a->plan.n; i++) {
		const struct rerun_file *x = &a->plan.v[i];
		if (x->state != RERUN_DIFFERS && x->state != RERUN_GONE)
			continue;
		fmt_name(b, str_of(x->name));
		buf_str(b, str_of(x->state == RERUN_GONE ? " is not there any more" : " is not what it was"));
		return;
	}
	if (a->has_diff && a->diff.first != SIZE_MAX) {
		struct diff_view v = {
		    .c = a->c, .s = a->c->store, .out = &a->c->out, .d = &a->diff, .words = {"the record", "the second run"}};
		diff_cause_text(&v, b);
	} else if (a->now.n) {
		buf_printf(b, "%s is another one", a->now.v[0].name);
	} else {
		buf_str(b, str_of("none was found: it may not give the same twice"));
	}
}

static void show_ending(const struct again *a)
{
	struct buf before = {0}, after = {0};
	fmt_ending(&before, a->ending[0], a->code[0]);
	fmt_ending(&after, a->ending[1], a->code[1]);
	if (!same_ending(a))
		printf("the run ended with %s, and with %s now\n", buf_cstr(&before), buf_cstr(&after));
	else if (a->status)
		printf("the command failed as it had before (%s): what agrees is what a failure left\n", buf_cstr(&after));
	buf_release(&before);
	buf_release(&after);
}

/* The files that it needs, and what is otherwise than it was. */
static void print_conditions(const struct again *a)
{
	struct buf b = {0};
	for (size_t i = 0; i < a->plan.n; i++) {
		const struct rerun_file *x = &a->plan.v[i];
		buf_reset(&b);
		fmt_name(&b, str_of(x->name));
		printf("%-9s  %s: %s%s%.12s\n",
		       x->program   ? "program"
		       : x->library ? "library"
		                    : "input",
		       buf_cstr(&b), rerun_state_name(x->state), x->commit ? ", commit " : "", x->commit ? x->commit : "");
	}
	if (a->left_out && *a->left_out) {
		buf_reset(&b);
		fmt_name(&b, str_of(a->left_out));
		printf("left out   %s: such variables are never taken from a record%s\n", buf_cstr(&b),
		       a->plan.own ? "; your own hold" : "");
	}
	for (size_t i = 0; i < a->now.n; i++) {
		buf_reset(&b);
		fmt_name(&b, str_of(a->now.v[i].value[0]));
		buf_str(&b, str_of(", now "));
		fmt_name(&b, str_of(a->now.v[i].value[1]));
		printf("machine    %s: %s\n", a->now.v[i].name, buf_cstr(&b));
	}
	buf_release(&b);
}

static void print_compared_item(const struct compare_item *x)
{
	struct buf b = {0};
	fmt_name(&b, str_of(x->name));
	if (x->handed)
		buf_str(&b, str_of(": was the caller's, who handed it over open: not compared"));
	else
		buf_printf(&b, ": %s", compare_verdict_name(x->verdict));
	if (!x->file) {
		buf_str(&b, str_of(": "));
		fmt_name(&b, str_of(x->before ? x->before : "-"));
		buf_str(&b, str_of(", now "));
		fmt_name(&b, str_of(x->after ? x->after : "-"));
	} else if (!x->handed && (!x->before || !x->after)) {
		buf_str(&b, str_of(x->before ? ": not made this time" : ": not made in the record"));
	}
	printf("%-9s  %s\n", x->file ? "output" : "result", buf_cstr(&b));
	buf_release(&b);
}

static void print_rerun_verdict(const struct again *a)
{
	size_t compared = 0;
	for (size_t i = 0; i < a->compared.n; i++)
		compared += !a->compared.v[i].handed;
	if (compared)
		printf("%s: %zu result%s compared, in %s\n", compare_verdict_name(a->compared.verdict), compared,
		       compared == 1 ? " or output" : "s and outputs", a->dir);
	else if (a->compared.verdict == COMPARE_DIFFERENT)
		printf("different, in how it ended: there was nothing else to compare; it ran in %s\n", a->dir);
	else
		printf("cannot be judged: the record has neither results nor digests of outputs; it ran in %s\n", a->dir);
	if (!compared)
		report_hint("stemma run --digest records digests, stemma bench run results, too: such a run can be compared");
}

static void show_text(const struct again *a)
{
	print_conditions(a);
	if (!a->ran) {
		printf("%s\n", a->missing ? "it cannot be run as it was" : "it can be run as it was");
		return;
	}
	for (size_t i = 0; i < a->compared.n; i++)
		if (a->compared.v[i].verdict != COMPARE_IDENTICAL)
			print_compared_item(&a->compared.v[i]);
	show_ending(a);
	print_rerun_verdict(a);
	struct buf b = {0};
	cause_text(a, &b);
	if (b.n)
		printf("first cause: %s\n", buf_cstr(&b));
	buf_release(&b);
}

static int show_json(const struct again *a)
{
	json_t *o = json_object(), *files = json_array(), *machine = json_object(), *items = json_array();
	js_num(o, "format", 1);
	js_text(o, "run", a->plan.ulid);
	for (size_t i = 0; i < a->plan.n; i++) {
		const struct rerun_file *x = &a->plan.v[i];
		json_t *f = json_object();
		js_str(f, "name", str_of(x->name));
		js_text(f, "kind", x->program ? "program" : x->library ? "library" : "input");
		js_text(f, "state", rerun_state_name(x->state));
		if (x->commit)
			js_text(f, "commit", x->commit);
		js_add(files, f);
	}
	js_put(o, "files", files);
	for (size_t i = 0; i < a->now.n; i++) {
		json_t *v = json_array();
		js_add(v, js_string(str_of(a->now.v[i].value[0])));
		js_add(v, js_string(str_of(a->now.v[i].value[1])));
		js_put(machine, a->now.v[i].name, v);
	}
	js_put(o, "machine", machine);
	js_bool(o, "as_it_was", !a->missing);
	js_bool(o, "own", a->plan.own);
	if (a->ran) {
		js_bool(o, "confined", a->jailed);
		js_str(o, "left_out", str_of(a->left_out));
	}
	js_put(o, "directory", a->ran ? js_string(str_of(a->dir)) : json_null());
	js_put(o, "verdict", a->ran ? json_string(compare_verdict_name(a->compared.verdict)) : json_null());
	for (size_t i = 0; i < a->compared.n; i++) {
		const struct compare_item *x = &a->compared.v[i];
		json_t *f = json_object();
		js_str(f, "name", str_of(x->name));
		js_text(f, "kind", x->file ? "output" : "result");
		js_text(f, "verdict", compare_verdict_name(x->verdict));
		if (x->handed)
			js_bool(f, "handed", true);
		js_put(f, "before", x->before ? js_string(str_of(x->before)) : json_null());
		js_put(f, "after", x->after ? js_string(str_of(x->after)) : json_null());
		js_add(items, f);
	}
	js_put(o, "compared", items);
	if (a->ran) {
		js_ending(o, "exit_before", a->ending[0], a->code[0]);
		js_ending(o, "exit_after", a->ending[1], a->code[1]);
	}
	struct buf b = {0};
	cause_text(a, &b);
	js_put(o, "cause", b.n ? js_string(buf_view(&b)) : json_null());
	buf_release(&b);
	return js_print(o, false);
}

/* What would be run, and who says so. Names and texts are shown so that they cannot steer a terminal. */
static void show_received(const struct again *a)
{
	struct buf b = {0};
	buf_str(&b, str_of("this record is not your own: you did not make it on this machine; it names "));
	fmt_name(&b, str_of(*a->plan.user ? a->plan.user : "nobody"));
	buf_str(&b, str_of(" on "));
	fmt_name(&b, str_of(*a->plan.host ? a->plan.host : "an unknown host"));
	report("%s", buf_cstr(&b));
	for (size_t i = 0; a->plan.argv[i]; i++) {
		buf_reset(&b);
		fmt_name(&b, str_of(a->plan.argv[i]));
		fprintf(stderr, "%-12s %s\n", i ? "" : "command", buf_cstr(&b));
	}
	buf_reset(&b);
	fmt_name(&b, str_of(a->plan.cwd));
	fprintf(stderr, "%-12s %s\n", "folder", buf_cstr(&b));
	for (size_t i = 0; a->plan.env && a->plan.env[i]; i++) {
		char *one[] = {a->plan.env[i], NULL}, *out = NULL;
		char **taken = rerun_environment(one, false, &out);
		buf_reset(&b);
		fmt_name(&b, str_of(a->plan.env[i]));
		fprintf(stderr, "%-12s %s%s\n", "environment", buf_cstr(&b), taken && taken[0] ? "" : "  (left out)");
		free(taken);
		free(out);
	}
	buf_release(&b);
}

static int plan_and_rerun(struct again *a)
{
	struct err err = {0};
	int rc = store_find_run(a->c->store, a->c->operands[0], &a->run);
	if (rc != 1) {
		report(rc == -ENOTUNIQ ? "'%s' is the beginning or end of several runs' ids" : "there is no run '%s'",
		       a->c->operands[0]);
		return cmd_target_status(rc);
	}
	if (a->o->from && !(a->from = realpath(a->o->from, NULL))) {
		report("cannot look into '%s': %s", a->o->from, strerror(errno));
		return STATUS_USAGE;
	}
	if (rerun_plan(a->c->store, a->run, a->home, a->from, &a->options, &err, &a->plan) < 0)
		return report_err(&err, STATUS_SELF);
	if (a->from && a->plan.own)
		return report_usage(a->c, "--from is for records that are not your own");
	if (!a->plan.own && !a->o->check) {
		show_received(a);
		if (!a->o->trust) {
			report("it is not run: whoever wrote the record chose the command");
			report_hint("--trust runs it, confined; --from DIR says in which folder its files lie");
			return STATUS_USAGE;
		}
	}
	if (a->plan.redacted) {
		struct buf b = {0};
		for (size_t i = 0; a->plan.argv && a->plan.argv[i]; i++)
			if (strstr(a->plan.argv[i], "***")) {
				buf_printf(&b, "%s%zu, ", b.n ? ", " : "", i);
				fmt_name(&b, str_of(a->plan.argv[i]));
			}
		report("an argument of the run was a secret and is not in the record, so it cannot be run again: %s",
		       buf_cstr(&b));
		buf_release(&b);
		return STATUS_NOTHING;
	}
	machine(a);
	int status = fill_run_folder(a);
	if (status)
		return status;
	if (!a->o->check && (!a->missing || a->o->force)) {
		status = run_planned(a);
		if (status == 0)
			status = compare_with_record(a);
		if (status)
			return status;
	}
	if (a->o->json)
		status = show_json(a);
	else
		show_text(a);
	bool well = a->ran ? a->compared.verdict <= COMPARE_WITHIN && !a->status : !a->missing;
	return status == STATUS_OK && !well ? STATUS_NOTHING : status;
}

int cmd_rerun(struct cmd *c, const struct opts_rerun *o)
{
	struct again a = {.c = c, .o = o, .messages = -1, .jail = {.ruleset = -1}};
	struct err err = {0};
	double unused;
	if (c->n_operands != 1)
		return report_usage(c, "one run is wanted");
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
	/* Found before we go elsewhere. */
	const char *file = o->file ? o->file : access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE : NULL;
	a.file = file ? realpath(file, NULL) : NULL;
	if (file && !a.file)
		status = report_usage(c, "cannot open '%s': %s", file, strerror(errno));
	else
		status = plan_and_rerun(&a);
	if (a.dir && !o->in && !a.ran) /* a folder of our own that nobody will look into */
		io_remove_all(a.dir);
	if (a.tmp)
		io_remove_all(a.tmp);
	if (a.messages >= 0)
		close(a.messages);
	jail_release(&a.jail);
	if (a.has_diff)
		diff_release(&a.diff);
	compare_release(&a.compared);
	digest_cache_close(a.options.cache);
	elements_release(&a.now);
	rerun_release(&a.plan);
	free(folder);
	free(a.dir);
	free(a.tmp);
	free(a.from);
	free(a.env);
	free(a.left_out);
	free(a.file);
	free(a.home);
	free(a.index);
	return status;
}
