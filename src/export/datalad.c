/* datalad.c - the record of `datalad run` for one run: the message of a commit, with the command and the files that it
 * really used and wrote, for `git commit -F -` and later `datalad rerun`.
 *
 * Paths are relative to the run's directory, as DataLad has them. What lies outside of the dataset (the nearest
 * directory above with .datalad or .git, else the run's own) is no input for DataLad; the message names it. Programs
 * and scripts of the dataset are extra inputs. Memory grows with the run (work.h). */
#include "base/utf8.h"
#include "export/export.h"
#include "export/jsonw.h"
#include "export/work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct record {
	struct texts_set inputs, extra, outputs, outside;
	struct buf root, cwd;
};

/* The dataset above cwd, as it is now. */
static void find_root(struct record *d)
{
	static const char *const marks[] = {".datalad", ".git"};
	struct buf path = {0};
	for (size_t n = d->cwd.n; n > 0; n--) {
		if (n < d->cwd.n && d->cwd.p[n] != '/')
			continue;
		for (int i = 0; i < 2; i++) {
			buf_reset(&path);
			buf_add(&path, d->cwd.p, n);
			buf_printf(&path, "/%s", marks[i]);
			if (access(buf_cstr(&path), F_OK) == 0) {
				buf_add(&d->root, d->cwd.p, n);
				buf_release(&path);
				return;
			}
		}
	}
	buf_str(&d->root, buf_view(&d->cwd));
	buf_release(&path);
}

/* dir without a slash at its end; dir itself is not below. */
static bool is_below_folder(struct str dir, struct str path)
{
	return path.n > dir.n && str_starts(path, dir) && path.p[dir.n] == '/';
}

/* Writes a path as seen from cwd, with ../ where the path lies elsewhere in the dataset. */
static void format_relative_path(struct str cwd, struct str path, struct buf *b)
{
	size_t same = 0;
	buf_reset(b);
	for (size_t i = 0; i <= cwd.n && i < path.n; i++) {
		if (i == cwd.n || cwd.p[i] == '/') {
			if (path.p[i] != '/')
				break;
			same = i;
		}
		if (i < cwd.n && cwd.p[i] != path.p[i])
			break;
	}
	for (size_t i = same; i < cwd.n; i++)
		if (cwd.p[i] == '/')
			buf_str(b, str_of("../"));
	buf_str(b, str_n(path.p + same + 1, path.n - same - 1));
}

/* Adds a file to the record of inputs and outputs. 0, also where it is none of the dataset; -errno. Files outside of
 * it are listed. */
static int add_file_to_record(struct prov_source *p, const struct work *w, const struct work_file *wf, struct record *d)
{
	struct version_info v;
	struct file_info f;
	struct store *s = prov_store(p);
	struct edges gens = {0};
	int r = wf->of_channel ? 0 : store_version(s, wf->version, &v);
	r = r > 0 ? store_file(s, v.file, &f) : r;
	if (r <= 0 || !f.path.n)
		return r;
	if (!wf->output) { /* what the run made itself is no input */
		r = store_gens(s, wf->version, &gens);
		bool own = false;
		for (size_t i = 0; r == 0 && i < gens.n; i++)
			own |= work_find(w, gens.v[i].to) != WORK_NONE;
		edges_release(&gens);
		if (r < 0 || own)
			return r;
	} else if (!f.named)
		return 0;
	if (!is_below_folder(buf_view(&d->root), f.path) || !utf8_is_valid(f.path))
		return texts_set_add(&d->outside, f.path, 0, 0);
	return texts_set_add(wf->output ? &d->outputs : wf->code ? &d->extra : &d->inputs, f.path, 0, 0);
}

/* Collects the files that the run read and wrote. 0, -errno. */
static int collect_record_files(struct prov_source *p, const struct work *w, struct record *d)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < w->n_files; i++)
		r = add_file_to_record(p, w, &w->files[i], d);
	texts_set_close(&d->inputs);
	texts_set_close(&d->extra);
	texts_set_close(&d->outputs);
	texts_set_close(&d->outside);
	return r < 0 ? r : d->root.failed ? -ENOMEM : 0;
}

/* DataLad puts its own values for {...} in commands and paths, and looks paths up as patterns. */
static void escape_for_datalad(struct str s, bool path, struct buf *b)
{
	buf_reset(b);
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '{' || c == '}')
			buf_char(b, c);
		if (path && (c == '*' || c == '?' || c == '['))
			buf_printf(b, "[%c]", c);
		else
			buf_char(b, c);
	}
}

/* One word alone is quoted, for datalad takes it for a line of the shell. */
static void write_record_command(struct jsonw *j, const struct run_info *run)
{
	struct buf text = {0}, quoted = {0};
	struct str word = str_of("");
	size_t i = 0, at = 0;
	if (run->argv.count == 1 && out_list_next(&run->argv, &i, &at, &word)) {
		shell_quote_argument(&quoted, word); /* alone it is a line for the shell */
		escape_for_datalad(buf_view(&quoted), false, &text);
		jsonw_text(j, "", buf_view(&text), NULL);
	} else {
		jsonw_open(j, '[');
		while (out_list_next(&run->argv, &i, &at, &word)) {
			escape_for_datalad(word, false, &text);
			jsonw_text(j, "", buf_view(&text), NULL);
		}
		jsonw_close(j, ']');
	}
	buf_release(&text);
	buf_release(&quoted);
}

/* Writes a list of paths as a member. but: those are left out, NULL none. */
static void put_paths(struct jsonw *j, const char *name, const struct record *d, const struct texts_set *t,
                      const struct texts_set *but)
{
	struct buf path = {0}, text = {0};
	jsonw_line(j, 1);
	jsonw_key(j, "", name);
	jsonw_open(j, '[');
	for (size_t i = 0; i < t->n; i++) {
		struct str s = texts_set_at(t, i);
		if (but && texts_set_find(but, s))
			continue;
		format_relative_path(buf_view(&d->cwd), s, &path);
		jsonw_line(j, 2);
		escape_for_datalad(buf_view(&path), true, &text);
		jsonw_text(j, "", buf_view(&text), NULL);
	}
	jsonw_close(j, ']');
	buf_release(&path);
	buf_release(&text);
}

/* Writes the message of a commit that datalad can run again. The first line is at most 60 bytes. */
static void write_datalad_record(struct out *out, const struct record *d, const struct run_info *run)
{
	struct jsonw j = {.out = out};
	struct buf text = {0};
	out_text(out, "[DATALAD RUNCMD] ");
	shell_quote_arguments(&text, &run->argv);
	/* The subject is one line, of a length that tools show. */
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < 0x20)
			text.p[i] = ' ';
	size_t n = text.n;
	if (n > 60)
		for (n = 57; n > 0 && utf8_is_middle(text.p[n]); n--)
			;
	out_shown(out, str_n(text.p, n));
	if (n < text.n)
		out_text(out, "...");
	out_text(out, "\n\n");
	for (size_t i = 0; i < d->outside.n; i++) {
		out_text(out, i ? "  " : "Outside of the dataset:\n  ");
		out_char(out, '"');
		out_escaped(out, texts_set_at(&d->outside, i), NULL);
		out_text(out, i + 1 < d->outside.n ? "\"\n" : "\"\n\n");
	}
	out_text(out, "=== Do not change lines below ===\n");
	jsonw_open(&j, '{');
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "chain");
	jsonw_open(&j, '[');
	jsonw_close(&j, ']');
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "cmd");
	write_record_command(&j, run);
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "dsid");
	jsonw_null(&j);
	jsonw_line(&j, 1);
	jsonw_key(&j, "", "exit");
	if (run->ending == TERM_ending_exited)
		jsonw_count(&j, run->code);
	else if (run->ending == TERM_ending_signaled)
		jsonw_count(&j, 128 + run->code);
	else
		jsonw_null(&j);
	put_paths(&j, "extra_inputs", d, &d->extra, &d->inputs);
	put_paths(&j, "inputs", d, &d->inputs, NULL);
	put_paths(&j, "outputs", d, &d->outputs, NULL);
	jsonw_line(&j, 1);
	struct str pwd = work_path_from(buf_view(&d->root), buf_view(&d->cwd));
	jsonw_pair(&j, "pwd", "", str_eq(pwd, buf_view(&d->cwd)) ? str_of(".") : pwd);
	out_char(out, '\n');
	jsonw_close(&j, '}');
	out_text(out, "\n^^^ Do not change lines above ^^^\n");
	jsonw_release(&j);
	buf_release(&text);
}

/* The one run of what was selected. 0; -EINVAL with a sentence: none, or several. */
static int find_single_run(const struct work *w, struct err *err, store_id *ret)
{
	*ret = 0;
	for (size_t i = 0; i < w->n_execs; i++) {
		if (*ret && w->execs[i].run != *ret) {
			err_set(err, 0, "datalad-run exports one run, but several were selected");
			err_hint(err, "stemma export --format datalad-run RUN; stemma log lists the runs");
			return -EINVAL;
		}
		*ret = w->execs[i].run;
	}
	if (!*ret) {
		err_set(err, 0, "no run was selected");
		return -EINVAL;
	}
	return 0;
}

/* One run; -EINVAL: none or several were selected. */
int export_datalad_run(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	struct work w;
	struct record d = {.inputs = {.n = 0}};
	struct run_info run;
	store_id id;
	(void)o;
	int r = work_collect(p, err, &w);
	if (r < 0)
		return r;
	r = find_single_run(&w, err, &id);
	if (r == 0 && (r = store_run(prov_store(p), id, &run)) > 0) {
		buf_str(&d.cwd, run.cwd);
		find_root(&d);
		r = collect_record_files(p, &w, &d);
		/* Its strings are still the store's: nothing else was asked about runs. */
		if (r == 0)
			write_datalad_record(out, &d, &run);
	}
	work_release(&w);
	texts_set_release(&d.inputs);
	texts_set_release(&d.extra);
	texts_set_release(&d.outputs);
	texts_set_release(&d.outside);
	buf_release(&d.root);
	buf_release(&d.cwd);
	return r < 0 && !out->error ? err_set(err, -r, "cannot read the record") : r;
}
