/* dvc.c - dvc.yaml, the stages of DVC: a command with the files that it really used and wrote.
 *
 * A stage is a command that can be run again by itself. An execution that was given its files open, or had one end of a
 * pipe, cannot; what it did is its parent's, as in `sh -c 'sort a | uniq >b'`, where the stage is the sh. What such a
 * stage starts is part of it. A command that failed is no stage, and is said in a comment. An output is the last
 * version of a file that still has its name; DVC knows a path once, so a file that was written again by a later run is
 * that run's. What was changed in place is an output that DVC keeps (persist).
 *
 * Paths are relative to the run's directory where they are below it; dvc.yaml belongs into that of the first run, other
 * runs have wdir. Memory grows with the selection (work.h); DVC itself holds the file whole. */
#include "base/utf8.h"
#include "export/export.h"
#include "export/work.h"
#include "prov/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct stages {
	struct out *out;
	struct work w;
	struct store *s;
	struct texts_set outputs; /* paths, owned by the execution that wrote them last */
	struct member {
		size_t stage, exec; /* the stage is an execution, WORK_NONE none */
	} * members;            /* of each execution, then sorted by stage */
	size_t *top;            /* the same by execution; NULL: not known yet */
	bool *failed;           /* of each execution: it would be a stage, had it not failed */
	struct edges gens;
	struct buf base, cwd, text;
};

/* ---- YAML ---- */

/* What begins with these bytes is written otherwise. */
static const struct yaml_escape {
	const char *bytes, *instead;
} yaml_escapes[] = {
    {"${", "\\\\${"},            /* DVC's own */
    {"\xe2\x80\xa8", "\\u2028"}, /* ends of lines */
    {"\xe2\x80\xa9", "\\u2029"},
    {"\xef\xbb\xbf", "\\ufeff"},
    {"\xef\xbf\xbe", "\\ufffe"},
    {"\xef\xbf\xbf", "\\uffff"},
};

/* What is to stand in place of the beginning of s, and how long that is; NULL where it stands as it is. room: for what
 * is made. */
static const char *yaml_instead(struct str s, char room[8], size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)s.p;
	if (p[0] != '$' && p[0] < 0xc2) /* nearly all */
		return NULL;
	if (s.n >= 2 && p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) { /* control characters */
		snprintf(room, 8, "\\u00%02x", p[1]);
		*ret_n = 2;
		return room;
	}
	for (size_t i = 0; i < sizeof(yaml_escapes) / sizeof(*yaml_escapes); i++)
		if (str_starts(s, str_of(yaml_escapes[i].bytes))) {
			*ret_n = strlen(yaml_escapes[i].bytes);
			return yaml_escapes[i].instead;
		}
	return NULL;
}

/* A double-quoted YAML scalar: JSON's, with escapes also for what YAML 1.1 takes for ends of lines or not at all; and
 * without DVC's own ${...}. */
static void write_yaml_scalar(struct out *o, struct str s)
{
	size_t from = 0, n;
	char room[8];
	out_char(o, '"');
	for (size_t i = 0; i < s.n; i++) {
		const char *instead = yaml_instead(str_n(s.p + i, s.n - i), room, &n);
		if (!instead)
			continue;
		out_escaped(o, str_n(s.p + from, i - from), NULL);
		out_text(o, instead);
		from = i + n;
		i = from - 1;
	}
	out_escaped(o, str_n(s.p + from, s.n - from), NULL);
	out_char(o, '"');
}

/* Writes a text as a comment of YAML. In a comment nothing may end the line. */
static void write_yaml_comment(struct out *o, const char *words, struct str s)
{
	out_text(o, "    # ");
	out_text(o, words);
	write_yaml_scalar(o, s);
	out_char(o, '\n');
}

/* ---- which executions are stages ---- */

/* Reads a version and its file. 1, 0: it is not in the store, -errno. */
static int load_version_file(struct stages *t, store_id version, struct version_info *v, struct file_info *f)
{
	int r = store_version(t->s, version, v);
	return r > 0 ? store_file(t->s, v->file, f) : r;
}

/* Marks who wrote something that still has its name; where stages are known, whose output a path is: of those that
 * belong to one the writer that ended last. 0, -errno. */
static int collect_outputs(struct stages *t)
{
	struct version_info v;
	struct file_info f;
	int r = 0;
	for (size_t i = 0; r >= 0 && i < t->w.n_execs; i++)
		for (size_t k = 0; r >= 0 && k < t->w.execs[i].n; k++) {
			const struct work_file *w = &t->w.files[t->w.execs[i].first + k];
			if (!w->output || w->of_channel || (t->top && t->top[i] == WORK_NONE))
				continue;
			r = load_version_file(t, w->version, &v, &f);
			if (r <= 0 || !f.named || !f.path.n)
				continue;
			t->w.execs[i].mark = true;
			if (t->top)
				r = texts_set_add(&t->outputs, f.path, w->until == TIME_NONE ? INT64_MAX : w->until, i);
		}
	texts_set_close(&t->outputs);
	return r < 0 ? r : 0;
}

/* Can it be run again by itself? */
static bool stands_alone(const struct work *w, const struct work_exec *x)
{
	if (!x->program)
		return false;
	for (size_t k = 0; k < x->n; k++) {
		const struct work_file *f = &w->files[x->first + k];
		if (f->stream || (f->given && !f->of_channel))
			return false;
	}
	return true;
}

/* t->top: of each execution the stage that it belongs to, WORK_NONE none; t->failed: what would be one had it not
 * failed. 0, -ENOMEM. */
static int find_stages(struct stages *t)
{
	struct work *w = &t->w;
	bool *stage = calloc(w->n_execs + 1, sizeof(*stage));
	t->failed = calloc(w->n_execs + 1, sizeof(*t->failed));
	t->top = malloc((w->n_execs + 1) * sizeof(*t->top));
	if (!stage || !t->failed || !t->top) {
		free(stage);
		return -ENOMEM;
	}
	for (size_t i = 0; i < w->n_execs; i++) {
		if (!w->execs[i].mark)
			continue;
		/* Up to the first that stands alone, else the highest that is a program at all. */
		size_t at = i, best = WORK_NONE;
		for (size_t steps = 0; at != WORK_NONE && steps <= w->n_execs; at = w->execs[at].parent, steps++) {
			best = w->execs[at].program ? at : best;
			if (stands_alone(w, &w->execs[at]))
				break;
		}
		if (best != WORK_NONE && w->execs[best].failed)
			t->failed[best] = true;
		else if (best != WORK_NONE)
			stage[best] = true;
	}
	for (size_t i = 0; i < w->n_execs; i++) {
		size_t at = i;
		t->top[i] = WORK_NONE;
		for (size_t steps = 0; at != WORK_NONE && steps <= w->n_execs; at = w->execs[at].parent, steps++)
			if (stage[at])
				t->top[i] = at;
	}
	free(stage);
	return 0;
}

/* ---- one stage ---- */

struct files {
	struct texts_set deps, outs, persist, odd;
};

static void stage_files_release(struct files *f)
{
	texts_set_release(&f->deps);
	texts_set_release(&f->outs);
	texts_set_release(&f->persist);
	texts_set_release(&f->odd);
}

/* Did the stage make the version itself? 1, 0, -errno. */
static int made_inside(struct stages *t, size_t stage, store_id version)
{
	int r = store_gens(t->s, version, &t->gens);
	for (size_t i = 0; r == 0 && i < t->gens.n; i++) {
		size_t by = work_find(&t->w, t->gens.v[i].to);
		if (by != WORK_NONE && t->top[by] == stage)
			return 1;
	}
	return r;
}

/* Adds a file to those that a stage reads or writes. 0, also where it has no name any more and a recorded program made
 * it, or is inside the stage alone; -errno. What came from outside was needed, also if it was replaced since. */
static int add_stage_file(struct stages *t, size_t stage, const struct work_file *w, struct files *to)
{
	struct version_info v;
	struct file_info f;
	int r = w->of_channel ? 0 : load_version_file(t, w->version, &v, &f);
	if (r <= 0 || !f.path.n || (!f.named && (w->output || v.origin != ORIGIN_EXTERNAL)))
		return r;
	if (!utf8_is_valid(f.path))
		return texts_set_add(&to->odd, f.path, 0, 0);
	const struct text_at *owned = texts_set_find(&t->outputs, f.path);
	bool out = owned && t->top[owned->owner] == stage;
	if (!f.named && owned && !out) /* a loop for DVC, which knows the path as what the other stage makes */
		return 0;
	if (w->output)
		return out ? texts_set_add(&to->outs, f.path, 0, 0) : 0;
	r = made_inside(t, stage, v.id);
	if (r == 0)
		r = texts_set_add(out ? &to->persist : &to->deps, f.path, 0, 0);
	return r < 0 ? r : 0;
}

/* Writes a list of paths in YAML. Nothing if there are none. persist may be NULL. */
static void write_path_list(struct stages *t, const char *name, const struct texts_set *paths,
                            const struct texts_set *persist)
{
	if (paths->n) {
		out_text(t->out, "    ");
		out_text(t->out, name);
		out_text(t->out, ":\n");
	}
	for (size_t i = 0; i < paths->n; i++) {
		struct str path = texts_set_at(paths, i);
		out_text(t->out, "      - ");
		write_yaml_scalar(t->out, work_path_from(buf_view(&t->cwd), path));
		if (persist && texts_set_find(persist, path))
			out_text(t->out, ":\n          persist: true");
		out_char(t->out, '\n');
	}
}

/* Letters, digits, - and _ of the program's name, and the beginning of the execution's id. */
static void write_stage_name(struct stages *t, const struct exec_info *x)
{
	struct str argv0 = str_of("");
	size_t i = 0, at = 0;
	out_list_next(&x->argv, &i, &at, &argv0);
	for (size_t k = argv0.n; k > 0; k--)
		if (argv0.p[k - 1] == '/') {
			argv0 = str_n(argv0.p + k, argv0.n - k);
			break;
		}
	for (size_t k = 0; k < argv0.n && k < 40; k++) {
		char c = argv0.p[k];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
		out_char(t->out, plain ? c : '_');
	}
	out_char(t->out, '-');
	out_bytes(t->out, x->pub.text + 1, 8);
}

/* What a reader should know of the stage: comments before its fields. */
static void write_stage_comments(struct stages *t, const struct work_exec *we, const struct files *f)
{
	bool given = false;
	for (size_t k = 0; k < we->n; k++)
		given |= t->w.files[we->first + k].given;
	if (given)
		out_text(t->out, "    # files that were open when it was started are not in the command\n");
	for (size_t i = 0; i < f->odd.n; i++)
		write_yaml_comment(t->out, "left out, not UTF-8: ", texts_set_at(&f->odd, i));
}

/* Where it runs, and its command, which changes to the folder where that was another one. */
static void write_stage_command(struct stages *t, const struct exec_info *x)
{
	struct str cwd = buf_view(&t->cwd);
	if (!str_eq(buf_view(&t->base), cwd)) {
		out_text(t->out, "    wdir: ");
		write_yaml_scalar(t->out, work_path_from(buf_view(&t->base), cwd));
		out_char(t->out, '\n');
	}
	buf_reset(&t->text);
	if (x->cwd.n && !str_eq(x->cwd, cwd)) {
		buf_str(&t->text, str_of("cd "));
		shell_quote_argument(&t->text, work_path_from(cwd, x->cwd));
		buf_str(&t->text, str_of(" && "));
	}
	shell_quote_arguments(&t->text, &x->argv);
	out_text(t->out, "    cmd: ");
	write_yaml_scalar(t->out, buf_view(&t->text));
	out_char(t->out, '\n');
}

/* A stage in YAML; the first one decides the folder that it is all of. 0 or less: -errno. */
static int put_stage(struct stages *t, size_t stage, const struct files *f)
{
	struct exec_info x;
	struct run_info run;
	const struct work_exec *we = &t->w.execs[stage];
	int r = we->run ? store_run(t->s, we->run, &run) : 0;
	if (r < 0)
		return r;
	buf_reset(&t->cwd);
	if (r > 0)
		buf_str(&t->cwd, run.cwd);
	if ((r = store_exec(t->s, we->id, &x)) <= 0)
		return r;
	bool first = !t->base.n;
	if (!t->cwd.n)
		buf_str(&t->cwd, x.cwd);
	if (first) {
		buf_str(&t->base, buf_view(&t->cwd));
		out_text(t->out, "# of the directory ");
		write_yaml_scalar(t->out, buf_view(&t->base));
		out_text(t->out, "\nstages:\n");
	}
	out_text(t->out, "  ");
	write_stage_name(t, &x);
	out_text(t->out, ":\n");
	write_stage_comments(t, we, f);
	write_stage_command(t, &x);
	write_path_list(t, "deps", &f->deps, NULL);
	write_path_list(t, "outs", &f->outs, &f->persist);
	return t->text.failed || t->base.failed || t->cwd.failed ? -ENOMEM : -t->out->error;
}

/* Order of qsort: by stage, then by execution. */
static int member_cmp(const void *pa, const void *pb)
{
	const struct member *a = pa, *b = pb;
	return a->stage != b->stage ? (a->stage > b->stage) - (a->stage < b->stage)
	                            : (a->exec > b->exec) - (a->exec < b->exec);
}

/* Stages that made nothing are left out. 0, -errno. */
static int put_stages(struct stages *t)
{
	size_t n = t->w.n_execs;
	int r = 0;
	t->members = malloc((n + 1) * sizeof(*t->members));
	if (!t->members)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		t->members[i] = (struct member){t->top[i], i};
	qsort(t->members, n, sizeof(*t->members), member_cmp);
	for (size_t i = 0, end; r == 0 && i < n && t->members[i].stage != WORK_NONE; i = end) {
		size_t stage = t->members[i].stage;
		struct files f = {.deps = {.n = 0}};
		for (end = i; end < n && t->members[end].stage == stage; end++) {
			const struct work_exec *x = &t->w.execs[t->members[end].exec];
			for (size_t k = 0; r >= 0 && k < x->n; k++)
				r = add_stage_file(t, stage, &t->w.files[x->first + k], &f);
		}
		texts_set_close(&f.deps);
		texts_set_close(&f.outs);
		texts_set_close(&f.persist);
		texts_set_close(&f.odd);
		r = r < 0 ? r : f.outs.n ? put_stage(t, stage, &f) : 0;
		stage_files_release(&f);
	}
	return r;
}

/* What is no stage because it failed. 0, -errno. */
static int put_failed(struct stages *t)
{
	struct exec_info x;
	int r = 0;
	for (size_t i = 0; r >= 0 && i < t->w.n_execs; i++) {
		if (!t->failed[i] || (r = store_exec(t->s, t->w.execs[i].id, &x)) <= 0)
			continue;
		buf_reset(&t->text);
		shell_quote_arguments(&t->text, &x.argv);
		char words[64];
		snprintf(words, sizeof(words),
		         "# left out, it ended %s %llu: ", x.ending == TERM_ending_signaled ? "by signal" : "with status",
		         (unsigned long long)x.code);
		out_text(t->out, words);
		write_yaml_scalar(t->out, buf_view(&t->text));
		out_char(t->out, '\n');
	}
	return r < 0 ? r : t->text.failed ? -ENOMEM : 0;
}

/* Writes stages of DVC (dvc.yaml). 0, -errno with a sentence. */
int export_dvc_stage(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct stages t = {.out = out, .s = prov_store(p)};
	(void)o;
	int r = work_collect(p, err, &t.w);
	if (r == 0)
		r = collect_outputs(&t);
	if (r == 0)
		r = find_stages(&t);
	if (r == 0)
		r = collect_outputs(&t);
	if (r == 0)
		r = put_stages(&t);
	if (r == 0 && !t.base.n)
		out_text(out, "stages: {}\n");
	if (r == 0)
		r = put_failed(&t);
	work_release(&t.w);
	texts_set_release(&t.outputs);
	edges_release(&t.gens);
	free(t.members);
	free(t.top);
	free(t.failed);
	buf_release(&t.base);
	buf_release(&t.cwd);
	buf_release(&t.text);
	return r < 0 && !out->error ? err_set(err, -r, "cannot read the record") : r;
}
