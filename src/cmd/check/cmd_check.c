/* stemma check: files that the jobs of a workflow read and that their rules do not declare. */
#include "answer/check/check.h"
#include "answer/entities.h"
#include "base/hash.h"
#include "base/io.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READER_MAX 100 /* bytes of a command line */

/* One line of the answer: a file of a rule, in however many jobs. */
struct told {
	const struct check_input *first;
	size_t jobs;
	bool sure;
};

/* In the style only where out is a terminal. */
static void print_styled(const struct screen *out, const struct buf *b, enum style s)
{
	printf("%s%.*s%s\n", style_on(out, s), (int)b->n, b->p ? b->p : "", style_off(out));
}

/* Belongs to c. */
static const char *rule_of(const struct check *c, uint32_t stage)
{
	const char *name = stages_get(c->st, stage)->name;
	return name ? name : "?";
}

/* *ret: a key of the rule and the file, never 0; 0 if the file is not known. Gives 1, 0, -errno. */
static int hash_told(const struct check *c, const struct check_input *in, uint64_t *ret)
{
	store_id file;
	int r = store_version_file(c->s, in->version, &file);
	*ret = r > 0 ? hash_more(hash_str(str_of(rule_of(c, in->stage))), &file, sizeof(file)) | 1 : 0;
	return r;
}

/* The lines: jobs of one rule that read one file are told together. 0 or -errno. */
static int fold(const struct check *c, struct told *told, size_t *ret_n)
{
	struct idmap at = {0};
	bool is_new;
	int r = 0;
	*ret_n = 0;
	for (size_t i = 0; i < c->inputs.n && r >= 0; i++) {
		uint64_t key;
		r = hash_told(c, &c->inputs.v[i], &key);
		uint32_t *place = r > 0 ? idmap_add(&at, key, (uint32_t)*ret_n, &is_new) : NULL;
		if (r > 0 && !place)
			r = -ENOMEM;
		if (r <= 0)
			continue;
		if (is_new)
			told[(*ret_n)++] = (struct told){.first = &c->inputs.v[i]};
		told[*place].jobs++;
		told[*place].sure |= c->inputs.v[i].sure;
	}
	idmap_release(&at);
	return r < 0 ? r : 0;
}

/* Prints a line like "  ? scale.txt@{1}  (script, read by cat, in 3 jobs)". 0, -errno. */
static int print_told(const struct check *c, const struct screen *out, const struct told *t)
{
	struct version_info v;
	struct file_info f;
	struct buf b = {0};
	int r = store_version(c->s, t->first->version, &v);
	if (r > 0)
		r = store_file(c->s, v.file, &f);
	buf_printf(&b, "  %s", t->sure ? "" : "? ");
	if (r > 0)
		version_name(&b, &v, &f);
	buf_printf(&b, "  (%sread by ", t->first->script ? "script, " : "");
	size_t from = b.n;
	r = r > 0 ? exec_name(c->s, t->first->reader, true, READER_MAX, &b) : r;
	if (r >= 0)
		fmt_copied_script(&b, from);
	if (t->jobs > 1)
		buf_printf(&b, ", in %zu jobs", t->jobs);
	buf_char(&b, ')');
	print_styled(out, &b, STYLE_FILE);
	buf_release(&b);
	return r < 0 ? r : 0;
}

/* A heading for each rule, and below it what its jobs read beyond what it declares. 0, negative. */
static int print_inputs(const struct check *c, const struct screen *out)
{
	struct told *told = calloc(c->inputs.n + 1, sizeof(*told));
	size_t n = 0;
	int r = told ? fold(c, told, &n) : -ENOMEM;
	for (size_t i = 0; i < n && r >= 0; i++) {
		const char *rule = rule_of(c, told[i].first->stage);
		bool before = false;
		for (size_t k = 0; k < i && !before; k++)
			before = strcmp(rule_of(c, told[k].first->stage), rule) == 0;
		if (before)
			continue;
		struct buf b = {0};
		buf_printf(&b, "%s ", stage_kind_name(stages_get(c->st, told[i].first->stage)->kind));
		fmt_name(&b, str_of(rule));
		print_styled(out, &b, STYLE_BOLD);
		buf_release(&b);
		for (size_t k = i; k < n && r >= 0; k++)
			if (strcmp(rule_of(c, told[k].first->stage), rule) == 0)
				r = print_told(c, out, &told[k]);
	}
	free(told);
	return r < 0 ? r : 0;
}

/* Jobs that could not be checked: of each rule how many, and why. */
static void print_unknown(const struct check *c)
{
	printf("%zu job%s could not be checked:\n", c->unknown.n, str_plural(c->unknown.n));
	for (size_t i = 0; i < c->unknown.n; i++) {
		const struct check_unknown *x = &c->unknown.v[i];
		struct buf b = {0};
		size_t jobs = 0;
		bool before = false;
		for (size_t k = 0; k < c->unknown.n && !before; k++) {
			bool same =
			    c->unknown.v[k].why == x->why && !strcmp(rule_of(c, c->unknown.v[k].stage), rule_of(c, x->stage));
			before = same && k < i;
			jobs += same;
		}
		if (before)
			continue;
		fmt_name(&b, str_of(rule_of(c, x->stage)));
		printf("  %s %s", stage_kind_name(stages_get(c->st, x->stage)->kind), buf_cstr(&b));
		if (jobs > 1)
			printf(", %zu jobs", jobs);
		printf(": %s\n", check_why_words(x->why));
		buf_release(&b);
	}
}

/* Prints the undeclared inputs, then in one sentence how many jobs have some, which are unknown, and whether there
 * are gaps. 0, -errno. */
static int print_check(const struct check *c, const struct screen *out)
{
	int r = print_inputs(c, out);
	if (r < 0)
		return r;
	size_t known = c->n_jobs - c->unknown.n;
	if (!c->n_jobs) {
		printf("the run has no jobs of Snakemake and no targets of make or ninja, so there is nothing to check\n");
		report_hint("record a workflow, for example with stemma run -- make; stemma check RUN checks an earlier run");
	} else if (!c->inputs.n && known)
		printf("%zu of %zu jobs read only what their rules declare\n", known, c->n_jobs);
	else if (c->inputs.n)
		printf("%zu of %zu jobs read files that their rules do not declare\n", c->n_undeclared, c->n_jobs);
	if (c->unknown.n)
		print_unknown(c);
	if (c->gaps)
		printf("part of the run was not observed (see stemma show): a file that was read may be missing here\n");
	return 0;
}

#define DATABASE_MOST ((size_t)256 << 20) /* bytes: of a large build in many folders */

/* What make -p printed. 0, -errno; what is wrong was reported. */
static int read_database(const char *path, struct buf *ret)
{
	bool in = strcmp(path, "-") == 0;
	int r = in ? io_read_rest(0, DATABASE_MOST, ret) : io_read_file(path, DATABASE_MOST, ret);
	if (r < 0)
		report("cannot read the database of make from '%s': %s", in ? "standard input" : path, strerror(-r));
	return r;
}

/* Gives the exit status: STATUS_NOTHING if a job read what its rule does not declare. */
int cmd_check(struct cmd *c, const struct opts_check *o)
{
	struct target t;
	struct check found;
	json_t *json = NULL;
	if (c->n_operands > 1)
		return report_usage(c, "check takes one run");
	int status = cmd_store(c, o->no_index);
	if (status == STATUS_OK)
		status = cmd_target(c, c->n_operands ? c->operands[0] : "@", false, &t);
	if (status != STATUS_OK)
		return status;
	if (t.kind != TARGET_RUN)
		return report_usage(c, "'%s' is %s, not a run", c->operands[0],
		                    t.kind == TARGET_FILE ? "a file" : "an execution");
	struct buf database = {0};
	int r = o->make_database ? read_database(o->make_database, &database) : 0;
	if (r < 0)
		return buf_release(&database), STATUS_SELF;
	r = check_run(cmd_source(c), t.id, o->make_database ? &database : NULL, &found);
	buf_release(&database);
	if (r == 0)
		r = o->json ? check_json(&found, t.id, &json) : print_check(&found, &c->out);
	bool clean = r == 0 && check_is_clean(&found);
	if (r < 0) {
		status = cmd_report_unread(c->store, "check the run");
	} else {
		status = json ? js_print(json, false) : STATUS_OK;
	}
	check_release(&found);
	return status == STATUS_OK && !clean ? STATUS_NOTHING : status;
}
