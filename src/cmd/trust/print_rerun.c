/* print_rerun.c - what running again found. */
#include "cmd/diff/diff_view.h"
#include "cmd/trust/rerun_job.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "trust/rerun/consumed.h"

#include <stdlib.h>
#include <string.h>

/* The same kind of end, and the same status or signal. */
bool rerun_job_ended_alike(const struct rerun_job *a)
{
	return a->ending[0] == a->ending[1] && a->code[0] == a->code[1];
}

/* Its state in a word or two, static: one that the run itself took away is not kept. */
static const char *state_word(const struct rerun_file *x)
{
	return x->lost && rerun_lacks(x) ? "not kept" : rerun_state_name(x->state);
}

/* What is the matter with a file, behind the word for its state; "" nothing more is to be said. */
static void state_reason(const struct rerun_file *x, struct buf *b)
{
	if (x->lost && rerun_lacks(x))
		buf_printf(b, " as it was before: the run itself %s it", x->lost);
	else if (x->state == RERUN_CHANGED)
		buf_printf(b, ", by %s", x->how);
	else if (x->state == RERUN_UNKNOWN)
		buf_str(b, str_of(": it cannot be read, or the record has neither its digest nor its size"));
	else if (x->state == RERUN_REPLACED)
		buf_str(b, str_of(" by the run, and it is not certain that the run read it: not required"));
	else if (x->state == RERUN_ENGINE)
		buf_str(b, str_of(": a file in which the workflow system keeps its state"));
	else if (x->commit)
		buf_printf(b, ", commit %.12s", x->commit);
}

/* Do all outputs that differ differ in dates alone, and nothing else differs? */
static bool is_dates_alone(const struct rerun_job *a)
{
	size_t n = 0;
	for (size_t i = 0; i < a->compared.n; i++) {
		const struct compare_item *x = &a->compared.v[i];
		if (x->handed || x->verdict != COMPARE_DIFFERENT)
			continue;
		if (!x->dates)
			return false;
		n++;
	}
	return n && rerun_job_ended_alike(a);
}

/* An output outside of its folder that was not made this time: of a confined command, below a folder for temporary
 * files too. NULL none. */
static const char *refused_output(const struct rerun_job *a)
{
	for (size_t i = 0; a->jailed && i < a->compared.n; i++) {
		const struct compare_item *x = &a->compared.v[i];
		if (x->file && !x->handed && x->verdict == COMPARE_DIFFERENT && x->before && !x->after && *x->name == '/')
			return x->name;
	}
	return NULL;
}

/* What a confined command was refused is not recorded. One that fails now, and did not, may have been. */
static bool is_perhaps_refused(const struct rerun_job *a)
{
	return a->jailed && a->status && !rerun_job_ended_alike(a);
}

/* "writing of /home/me/.cache/x and of 3 other files outside of its folder" */
static void outside_text(const struct rerun_job *a, struct buf *b)
{
	size_t more = a->plan.n_outside ? a->plan.all_outside - 1 : 0;
	fmt_name(b, str_of(a->plan.n_outside ? a->plan.outside[0] : refused_output(a)));
	if (more)
		buf_printf(b, " and %zu other file%s", more, str_plural(more));
	buf_str(b, str_of(" outside of its folder"));
}

/* What was not as it was before the second run; else that only dates differ; else what the confinement refused; else
 * what the two records tell apart; else the machine. */
static void cause_text(const struct rerun_job *a, struct buf *b)
{
	if (!a->ran || a->compared.verdict != COMPARE_DIFFERENT)
		return;
	for (size_t i = 0; i < a->plan.n; i++) {
		const struct rerun_file *x = &a->plan.v[i];
		if (x->state != RERUN_DIFFERS && x->state != RERUN_GONE && x->state != RERUN_CHANGED)
			continue;
		fmt_name(b, str_of(x->name));
		buf_str(b, str_of(x->lost                     ? " is not as it was before the run"
		                  : x->state == RERUN_GONE    ? " no longer exists"
		                  : x->state == RERUN_CHANGED ? " has changed"
		                                              : " differs"));
		return;
	}
	if (is_dates_alone(a)) {
		buf_str(b, str_of("the date: the outputs differ only in dates and times"));
	} else if (a->jailed && (a->plan.n_outside || refused_output(a))) {
		buf_str(
		    b, str_of("perhaps the confinement, which refuses what the recorded run did: it wrote, moved or removed "));
		outside_text(a, b);
	} else if (a->has_diff && a->diff.first != SIZE_MAX) {
		struct diff_view v = {
		    .c = a->c, .s = a->c->store, .out = &a->c->out, .d = &a->diff, .words = {"the record", "the second run"}};
		diff_cause_text(&v, b);
	} else if (a->now.n) {
		buf_printf(b, "%s is different", a->now.v[0].name);
	} else if (is_perhaps_refused(a)) {
		buf_str(b, str_of("none was found: perhaps the command needs what the confinement refuses"));
	} else {
		buf_str(b, str_of("none was found: the command may not be deterministic"));
	}
}

/* Prints how both runs ended. Only if the endings differ, or both are failures. */
static void show_ending(const struct rerun_job *a)
{
	struct buf before = {0}, after = {0};
	fmt_ending(&before, a->ending[0], a->code[0]);
	fmt_ending(&after, a->ending[1], a->code[1]);
	if (!rerun_job_ended_alike(a))
		printf("the run ended with %s, and now with %s\n", buf_cstr(&before), buf_cstr(&after));
	else if (a->status)
		printf("the command failed as before (%s): equal outputs are those of a failed run\n", buf_cstr(&after));
	buf_release(&before);
	buf_release(&after);
}

/* The files that it needs, and what is otherwise than it was. */
static void print_conditions(const struct rerun_job *a)
{
	struct buf b = {0};
	size_t engine = 0;
	for (size_t i = 0; i < a->plan.n; i++) {
		const struct rerun_file *x = &a->plan.v[i];
		buf_reset(&b);
		if (x->state == RERUN_ENGINE && engine++)
			continue;
		fmt_name(&b, str_of(x->name));
		buf_printf(&b, ": %s", state_word(x));
		state_reason(x, &b);
		printf("%-9s  %s\n", x->program ? "program" : x->library ? "library" : "input", buf_cstr(&b));
	}
	if (engine > 1)
		printf("%-9s  %zu more files of the workflow system: not required\n", "input", engine - 1);
	if (a->left_out && *a->left_out) {
		buf_reset(&b);
		fmt_name(&b, str_of(a->left_out));
		printf("left out   %s: not set from the record, for security%s\n", buf_cstr(&b),
		       a->plan.own ? "; yours are used" : "");
	}
	if (a->plan.more_removed)
		printf("left out   files that the run moved, linked or removed after the first %d: not checked\n",
		       CONSUMED_MOST);
	for (size_t i = 0; i < a->now.n; i++) {
		buf_reset(&b);
		fmt_name(&b, str_of(a->now.v[i].value[0]));
		buf_str(&b, str_of(", now "));
		fmt_name(&b, str_of(a->now.v[i].value[1]));
		printf("machine    %s: %s\n", a->now.v[i].name, buf_cstr(&b));
	}
	buf_release(&b);
}

/* Prints the sizes of an output. Of which one side at least has no digest. */
static void print_sizes(const struct compare_item *x, struct buf *b)
{
	bool alike = x->verdict == COMPARE_ALIKE, before = !str_starts(str_of(x->before), str_of("sha256:"));
	if (alike)
		buf_printf(b, ": %s, as before; its earlier content is unknown", before ? x->before : x->after);
	else
		buf_printf(b, ", in its size: %s", before ? x->before : x->after);
}

/* What was compared, how, and the two values or sizes. */
static void print_compared_item(const struct compare_item *x)
{
	struct buf b = {0};
	fmt_name(&b, str_of(x->name));
	if (x->handed)
		buf_str(&b, str_of(": opened by the caller: not compared"));
	else
		buf_printf(&b, ": %s", compare_verdict_name(x->verdict));
	if (!x->file) {
		buf_str(&b, str_of(": "));
		fmt_name(&b, str_of(x->before ? x->before : "-"));
		buf_str(&b, str_of(", now "));
		fmt_name(&b, str_of(x->after ? x->after : "-"));
	} else if (!x->handed && (!x->before || !x->after)) {
		buf_str(&b, str_of(x->before ? ": not made this time" : ": not made in the record"));
	} else if (!x->handed && x->by == OUTPUT_BY_SIZE) {
		print_sizes(x, &b);
	} else if (x->dates) {
		buf_str(&b, str_of(", only in dates"));
	}
	printf("%-9s  %s\n", x->file ? "output" : "result", buf_cstr(&b));
	buf_release(&b);
}

/* Prints how outputs were compared, where that was not by recorded digests. */
static void print_by(const struct compare *c)
{
	static const char *const words[] = {
	    [OUTPUT_BY_BYTES] = "byte by byte with the files of the original run",
	    [OUTPUT_BY_PRINTED] = "standard output, with the file it was redirected to",
	    [OUTPUT_BY_SIZE] = "by size only, because the files have been changed or removed",
	};
	size_t n[sizeof(words) / sizeof(*words)] = {0};
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].file && !c->v[i].handed && c->v[i].by < sizeof(words) / sizeof(*words))
			n[c->v[i].by]++;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i] && n[i])
			printf("compared   %s: %zu\n", words[i], n[i]);
	if (c->engine)
		printf("left out   %zu file%s of the workflow system\n", c->engine, str_plural(c->engine));
}

/* Files that stood in for missing ones and were opened, and whether there were more than can be made. */
static void print_standins(const struct rerun_job *a)
{
	struct buf b = {0};
	for (size_t i = 0; a->opened && a->opened[i]; i++) {
		buf_reset(&b);
		fmt_name(&b, str_of(a->opened[i]));
		printf("stand-in   %s: was opened, unlike in the recorded run; this copy of the file has no content\n",
		       buf_cstr(&b));
	}
	if (a->standins.unsized)
		printf("stand-ins  %zu %s empty, because the record does not have the size of the file\n", a->standins.unsized,
		       a->standins.unsized == 1 ? "is" : "are");
	if (a->standins.more)
		printf("stand-ins  some files have none: at most %d are created, %d folders deep\n", STANDIN_MOST,
		       STANDIN_DEPTH);
	buf_release(&b);
}

/* Whether the folder of the rerun stays. */
static bool is_kept(const struct rerun_job *a)
{
	return a->o->in || a->o->keep;
}

/* The last line: the verdict, of how much, and where the files are. */
static void print_rerun_verdict(const struct rerun_job *a)
{
	size_t compared = compare_counted(&a->compared);
	const char *in = is_kept(a) ? ", in " : "", *dir = is_kept(a) ? a->dir : "";
	print_by(&a->compared);
	if (compared)
		printf("%s: %zu result%s compared%s%s\n", compare_verdict_name(a->compared.verdict), compared,
		       compared == 1 ? " or output" : "s and outputs", in, dir);
	else if (a->compared.verdict == COMPARE_DIFFERENT)
		printf("different exit status; there was nothing else to compare%s%s\n", is_kept(a) ? "; it ran in " : "", dir);
	else if (a->compared.verdict == COMPARE_ALIKE)
		printf("alike: same exit status, and neither run wrote files; what they printed was not compared, because the "
		       "record does not have what the first run printed\n");
	else
		printf("cannot be compared: the record has neither results nor digests of outputs%s%s\n",
		       is_kept(a) ? "; it ran in " : "", dir);
	fflush(stdout); /* the hint comes after the verdict, also where both go to one file */
	if (!compared || a->compared.verdict == COMPARE_ALIKE)
		report_hint("use stemma run --digest to record digests, or stemma bench run for results, too");
	else if (a->compared.verdict == COMPARE_DIFFERENT && !is_kept(a))
		report_hint("%s",
		            (a->jailed && a->plan.n_outside) || refused_output(a) || is_perhaps_refused(a)
		                ? "use --unconfined to run the command without confinement, or --keep to keep the new files"
		                : "use --keep to keep the new files, and compare them yourself");
}

/* Nothing was run: can it be, why not, and what can be done. */
static void print_possible(const struct rerun_job *a)
{
	struct buf b = {0};
	for (size_t i = 0; i < a->plan.n && !b.n; i++)
		if (a->plan.v[i].lost && rerun_lacks(&a->plan.v[i])) {
			buf_str(&b, str_of(": "));
			fmt_name(&b, str_of(a->plan.v[i].name));
			buf_str(&b, str_of(" as it was before the run is not kept"));
		}
	if (!a->missing) {
		printf("the run can be repeated as recorded\n");
	} else {
		printf("the run cannot be repeated as recorded%s\n", buf_cstr(&b));
		report_hint(
		    "--force runs it with the files as they are now; with stemma run --keep-inputs a later run keeps copies");
	}
	buf_release(&b);
}

void rerun_job_text(const struct rerun_job *a)
{
	print_conditions(a);
	if (!a->ran) {
		print_possible(a);
		return;
	}
	for (size_t i = 0; i < a->compared.n; i++)
		if (a->compared.v[i].verdict != COMPARE_IDENTICAL)
			print_compared_item(&a->compared.v[i]);
	show_ending(a);
	print_standins(a);
	print_rerun_verdict(a);
	struct buf b = {0};
	cause_text(a, &b);
	if (b.n)
		printf("first cause: %s\n", buf_cstr(&b));
	buf_release(&b);
}

/* The caller owns it. */
static json_t *files_json(const struct rerun *plan)
{
	json_t *files = json_array();
	for (size_t i = 0; i < plan->n; i++) {
		const struct rerun_file *x = &plan->v[i];
		json_t *f = json_object();
		js_str(f, "name", str_of(x->name));
		js_text(f, "kind", x->program ? "program" : x->library ? "library" : "input");
		js_text(f, "state", state_word(x));
		if (x->commit)
			js_text(f, "commit", x->commit);
		if (x->state == RERUN_CHANGED)
			js_text(f, "by", x->how);
		if (x->lost)
			js_text(f, "lost", x->lost);
		js_add(files, f);
	}
	return files;
}

/* What differs of the machine: an array of then and now for each. The caller owns it. */
static json_t *machine_json(const struct elements *now)
{
	json_t *machine = json_object();
	for (size_t i = 0; i < now->n; i++) {
		json_t *v = json_array();
		js_add(v, js_string(str_of(now->v[i].value[0])));
		js_add(v, js_string(str_of(now->v[i].value[1])));
		js_put(machine, now->v[i].name, v);
	}
	return machine;
}

/* The caller owns it. */
static json_t *compared_json(const struct compare *c)
{
	json_t *items = json_array();
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_item *x = &c->v[i];
		json_t *f = json_object();
		js_str(f, "name", str_of(x->name));
		js_text(f, "kind", x->file ? "output" : "result");
		js_text(f, "verdict", compare_verdict_name(x->verdict));
		if (x->file)
			js_text(f, "by", output_by_name(x->by));
		if (x->handed)
			js_bool(f, "handed", true);
		if (x->dates)
			js_bool(f, "only_dates", true);
		js_put(f, "before", x->before ? js_string(str_of(x->before)) : json_null());
		js_put(f, "after", x->after ? js_string(str_of(x->after)) : json_null());
		js_add(items, f);
	}
	return items;
}

/* Gives the exit status. */
int rerun_job_json(const struct rerun_job *a)
{
	json_t *o = json_object();
	struct buf b = {0};
	js_num(o, "format", 1);
	js_text(o, "run", a->plan.ulid);
	js_put(o, "files", files_json(&a->plan));
	js_put(o, "machine", machine_json(&a->now));
	js_bool(o, "as_it_was", !a->missing);
	js_bool(o, "own", a->plan.own);
	if (a->ran) {
		js_bool(o, "confined", a->jailed);
		js_str(o, "left_out", str_of(a->left_out));
	}
	json_t *outside = json_array();
	for (size_t i = 0; i < a->plan.n_outside; i++)
		js_add(outside, js_string(str_of(a->plan.outside[i])));
	js_put(o, "outside", outside);
	js_put(o, "directory", a->ran ? js_string(str_of(a->dir)) : json_null());
	if (a->ran) {
		json_t *opened = json_array();
		for (size_t i = 0; a->opened && a->opened[i]; i++)
			js_add(opened, js_string(str_of(a->opened[i])));
		js_bool(o, "kept", is_kept(a));
		js_num(o, "stand_ins", a->standins.all);
		js_bool(o, "left_behind", a->standins.more);
		js_put(o, "opened", opened);
		js_num(o, "engine_files", a->compared.engine);
	}
	js_put(o, "verdict", a->ran ? json_string(compare_verdict_name(a->compared.verdict)) : json_null());
	js_put(o, "compared", compared_json(&a->compared));
	if (a->ran) {
		js_ending(o, "exit_before", a->ending[0], a->code[0]);
		js_ending(o, "exit_after", a->ending[1], a->code[1]);
	}
	cause_text(a, &b);
	js_put(o, "cause", b.n ? js_string(buf_view(&b)) : json_null());
	buf_release(&b);
	return js_print(o, false);
}

/* What would be run, and who says so. Names and texts are shown so that they cannot steer a terminal. */
void rerun_job_received(const struct rerun_job *a)
{
	struct buf b = {0};
	buf_str(&b, str_of("this run was not recorded by you on this machine; its record names "));
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
