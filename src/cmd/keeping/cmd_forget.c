/* stemma forget: take runs and files out of the record, for good. */
#include "base/vec.h"
#include "cmd/keeping/keeping.h"
#include "cmd/ui/notes_print.h"
#include "keep/builds.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

#define OPERANDS_MAX 10000

struct forget {
	struct cmd *c;
	const struct opts_forget *o;
	struct buf text; /* all strings; what is in the lists below is a place in it until the end */
	struct keep_file *files;
	size_t n_files, cap_files;
	struct str runs[OPERANDS_MAX];
	size_t n_runs;
	struct str *words;
	size_t n_words, cap_words;
	struct keep_whole *builds;
	size_t n_builds;
	bool old; /* some were forgotten before */
};

/* Appends s to the text of all. ret.p is the offset in w->text, until that is whole. */
static struct str append_text_offset(struct forget *w, struct str s)
{
	size_t at = w->text.n;
	buf_str(&w->text, s);
	return str_n((const char *)at, s.n);
}

/* While the text grew, s->p was an offset into it: makes it a pointer. The text must not change afterwards. */
static void resolve_text_offset(const struct forget *w, struct str *s)
{
	*s = s->n ? str_n(w->text.p + (size_t)s->p, s->n) : str_of("");
}

/* Adds a file to those that are to be forgotten. 0, -ENOMEM; f's texts are still the caller's then. */
static int append_forgotten_file(struct forget *w, struct keep_file f)
{
	if (!vec_has_room(w->files, w->n_files, w->cap_files))
		return -ENOMEM;
	w->files[w->n_files++] = f;
	return 0;
}

/* Adds a text to those that are to be forgotten. 0, -ENOMEM. */
static int add_word(struct forget *w, struct str s)
{
	if (!vec_has_room(w->words, w->n_words, w->cap_words))
		return -ENOMEM;
	w->words[w->n_words++] = append_text_offset(w, s);
	return 0;
}

/* What arguments call a file: its path, and the last part of it, which is what they say in its own directory. 0,
 * -ENOMEM. */
static int add_names(struct forget *w, struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	size_t at = slash ? (size_t)(slash - path.p) + 1 : 0;
	int r = add_word(w, path);
	return r == 0 && at && at < path.n ? add_word(w, str_n(path.p + at, path.n - at)) : r;
}

/* A file, and what was absent under the name it has. 0: the record does not have it; 1 or 0 else; -errno. */
static int choose_file(struct forget *w, store_id id)
{
	struct file_info f;
	struct buf line = {0};
	int r = store_file(w->c->store, id, &f);
	if (r <= 0)
		return r;
	fmt_name(&line, f.path);
	printf("file  %.25s  %llu version%s  %s\n", f.pub.text, (unsigned long long)f.versions, f.versions == 1 ? "" : "s",
	       buf_cstr(&line));
	buf_release(&line);
	r = add_names(w, f.path);
	struct str path = append_text_offset(w, f.path);
	if (r >= 0 && f.kind != TERM_kind_absent)
		r = append_forgotten_file(
		    w, (struct keep_file){.domain = append_text_offset(w, f.domain), .ino = f.ino, .gen = f.gen});
	return r < 0 ? r : append_forgotten_file(w, (struct keep_file){.absent = true, .path = path});
}

/* Chooses the files that a target names. All that have or had the name. A status, reported. */
static int take_files(struct forget *w, const char *text, const struct target *t)
{
	struct err err = {0};
	store_id *ids = NULL;
	size_t n = 0;
	uint64_t version;
	if (t->file.n)
		return report_usage(w->c, "a version cannot be forgotten, only a file with all its versions");
	int r = target_files(w->c->store, text, &err, &ids, &n, &version);
	if (r == 0) { /* by its id */
		ids = malloc(sizeof(*ids));
		n = 1;
		r = ids ? 1 : -ENOMEM;
		if (ids)
			*ids = t->file.file;
	}
	for (size_t i = 0; r > 0 && i < n; i++)
		r = choose_file(w, ids[i]) < 0 ? -EIO : 1;
	struct buf path = {0};
	target_path(text, &path);
	if (r > 0 && add_names(w, buf_view(&path)) < 0)
		r = -ENOMEM;
	buf_release(&path);
	free(ids);
	if (r < 0)
		report("cannot look up '%s'", text);
	return r < 0 ? STATUS_SELF : STATUS_OK;
}

/* There is room in w->runs. A status, reported. */
static int choose_run(struct forget *w, store_id id)
{
	struct run_info run;
	struct buf line = {0};
	if (store_run(w->c->store, id, &run) <= 0) {
		report("cannot look up the run");
		return STATUS_SELF;
	}
	fmt_time(&line, run.start, true);
	buf_printf(&line, "  ");
	fmt_argv(&line, &run.argv, true, 200);
	printf("run  %.*s  %s\n", (int)run.ulid.n, run.ulid.p, buf_cstr(&line));
	buf_release(&line);
	w->runs[w->n_runs++] = append_text_offset(w, run.ulid);
	return STATUS_OK;
}

/* Not recorded; perhaps not any more. Then what may have come back, or was left when forget was stopped, goes. A
 * status, reported. */
static int take_forgotten(struct forget *w, const char *text, const struct err *why)
{
	struct keep_logs *logs;
	struct err err = {0};
	char ulid[27];
	int64_t when = 0;
	if (*text == '@' || keep_logs_open(store_home(w->c->store), &err, &logs) < 0)
		return report_err(why, STATUS_NOTHING);
	int r = keep_forgotten(logs, str_of(text), ulid, &when, &err);
	keep_logs_close(logs);
	if (r <= 0)
		return report_err(r < 0 ? &err : why, r < 0 && r != -ENOTUNIQ ? STATUS_SELF : STATUS_NOTHING);
	struct buf b = {0};
	fmt_time(&b, when, true);
	report("run %s was forgotten, %s", ulid, buf_cstr(&b));
	buf_release(&b);
	w->runs[w->n_runs++] = append_text_offset(w, str_of(ulid));
	w->old = true;
	return STATUS_OK;
}

/* A status, reported. w->text.failed: no memory. */
static int choose_operands(struct forget *w)
{
	struct cmd *c = w->c;
	int status = STATUS_OK;
	for (int i = 0; i < c->n_operands && status == STATUS_OK; i++) {
		struct err err = {0};
		struct target t;
		const char *text = c->operands[i];
		int r = target_any(c->store, text, i >= c->n_operands - c->n_after_dashes, &err, &t);
		if (r == 0)
			status = take_forgotten(w, text, &err);
		else if (r < 0)
			status = report_err(&err, cmd_target_status(r));
		else if (t.kind == TARGET_EXEC)
			status = report_usage(c, "a run or a file can be forgotten, not an execution");
		else
			status = t.kind == TARGET_RUN ? choose_run(w, t.id) : take_files(w, text, &t);
	}
	return status;
}

/* What was compiled in the runs goes with them. After settle. 0; -errno with a sentence. */
static int builds_of(struct forget *w, struct err *err)
{
	struct keep_build *v = NULL;
	size_t n = 0;
	int r = w->n_runs ? keep_builds(w->c->store, err, &v, &n) : 0;
	w->builds = r == 0 ? calloc(n + 1, sizeof(*w->builds)) : NULL;
	if (r == 0 && !w->builds)
		r = err_set(err, ENOMEM, "cannot forget");
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct run_info run;
		if (!v[i].run || store_run(w->c->store, v[i].run, &run) != 1)
			continue;
		for (size_t k = 0; k < w->n_runs; k++)
			if (str_eq(w->runs[k], run.ulid)) {
				w->builds[w->n_builds++] = (struct keep_whole){v[i].session, k};
				break;
			}
	}
	free(v);
	if (r == 0 && w->n_builds)
		printf("%zu build%s made in %s\n", w->n_builds, w->n_builds == 1 ? "" : "s", w->n_runs == 1 ? "it" : "them");
	return r;
}

/* Makes pointers of all offsets into the text. All of text is there now, so it does not move any more. */
static void resolve_text_offsets(struct forget *w)
{
	for (size_t i = 0; i < w->n_runs; i++)
		resolve_text_offset(w, &w->runs[i]);
	for (size_t i = 0; i < w->n_words; i++)
		resolve_text_offset(w, &w->words[i]);
	for (size_t i = 0; i < w->n_files; i++) {
		resolve_text_offset(w, &w->files[i].domain);
		resolve_text_offset(w, &w->files[i].path);
	}
}

/* Takes out what was chosen, or with --dry-run only counts. A status, reported. */
static int cut_chosen(struct forget *w)
{
	struct err err = {0};
	struct keep_logs *logs;
	struct keep_cut_stats stats = {0};
	resolve_text_offsets(w);
	if (builds_of(w, &err) < 0)
		return report_err(&err, STATUS_SELF);
	struct keep_cut_options cut = {.runs = w->runs,
	                               .n_runs = w->n_runs,
	                               .files = w->files,
	                               .n_files = w->n_files,
	                               .builds = w->builds,
	                               .n_builds = w->n_builds,
	                               .words = w->words,
	                               .n_words = w->o->redact_arguments ? w->n_words : 0,
	                               .dry_run = w->o->dry_run};
	if (keep_logs_open(store_home(w->c->store), &err, &logs) < 0)
		return report_err(&err, STATUS_SELF);
	int status = keeping_cut(w->c, logs, &cut, &stats);
	if (status == STATUS_OK && (stats.events || !w->old))
		keeping_print(&cut, &stats);
	return status;
}

/* Gives the exit status. */
int cmd_forget(struct cmd *c, const struct opts_forget *o)
{
	if (!c->n_operands)
		return report_usage(c, "forget needs a run or a file");
	if (c->n_operands > OPERANDS_MAX)
		return report_usage(c, "at most %d at once", OPERANDS_MAX);
	int status = cmd_store(c, false);
	if (status != STATUS_OK)
		return status;
	struct forget *w = calloc(1, sizeof(*w));
	if (!w) {
		report("out of memory");
		return STATUS_SELF;
	}
	w->c = c;
	w->o = o;
	status = choose_operands(w);
	if (status == STATUS_OK && w->text.failed) {
		report("out of memory");
		status = STATUS_SELF;
	}
	if (status == STATUS_OK)
		status = cut_chosen(w);
	buf_release(&w->text);
	free(w->files);
	free(w->words);
	free(w->builds);
	free(w);
	return status;
}
