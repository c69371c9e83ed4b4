/* read_datalad.c - records of datalad run: JSON between two lines of signs in the message of a commit, as `git log` or
 * `git log --format=%B` prints them into a file (*.gitlog), and the same as a document in .datalad/runinfo, where
 * datalad run --sidecar puts it. stemma does not ask git: a repository may have commands in its configuration.
 *
 * Inputs and outputs are as they were declared. A pattern is no name, and is left out. Without --expand a record has
 * no times. */
#include "adopt/readers.h"

#include <errno.h>

static const char begin_mark[] = "=== Do not change lines below ===", end_mark[] = "^^^ Do not change lines above ^^^";

/* The paths of a list; patterns of the shell are passed over. 0, -ENOMEM. */
static int take_paths(struct adopt_jobs *l, struct adopt_job *j, const char *base, const json_t *list, bool out)
{
	int rc = 0;
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		const json_t *one = json_array_get(list, i);
		struct str path = json_is_string(one) ? str_n(json_string_value(one), json_string_length(one)) : str_n(NULL, 0);
		bool pattern =
		    path.n && (memchr(path.p, '*', path.n) || memchr(path.p, '?', path.n) || memchr(path.p, '[', path.n));
		if (path.n && !pattern)
			rc = out ? adopt_output(l, j, base, path) : adopt_input(l, j, base, path);
	}
	return rc;
}

/* One record, of the data set at path. *ret_n goes up if it is one. 0, -ENOMEM. */
static int take_record(struct adopt_jobs *l, const char *path, const char *source, const json_t *o, uint64_t *ret_n)
{
	const json_t *cmd = json_object_get(o, "cmd"), *code = json_object_get(o, "exit");
	struct str pwd = adopt_member(o, "pwd");
	struct buf base = {0};
	int rc = 0;
	if (!json_is_string(cmd) && !json_is_array(cmd))
		return 0;
	struct adopt_job *j = adopt_job_new(l, ADOPT_datalad, source);
	if (!j)
		return -ENOMEM;
	++*ret_n;
	buf_printf(&base, "%s/", path);
	if (pwd.n && *pwd.p == '/')
		buf_reset(&base);
	buf_str(&base, pwd);
	j->cwd = base.failed ? NULL : adopt_text(l, buf_view(&base));
	j->name = "run";
	j->ended = json_is_integer(code) && json_integer_value(code) >= 0 && json_integer_value(code) < 256;
	j->code = j->ended ? (int)json_integer_value(code) : 0;
	if (!j->cwd)
		rc = -ENOMEM;
	else if (json_is_string(cmd))
		rc = adopt_shell(l, j, str_n(json_string_value(cmd), json_string_length(cmd)));
	for (size_t i = 0; rc == 0 && i < json_array_size(cmd) && i < ADOPT_WORDS_MOST; i++) {
		const json_t *word = json_array_get(cmd, i);
		const char *text = json_is_string(word) ? adopt_text(l, str_of(json_string_value(word))) : "";
		const char **slot = text ? vec_add(&j->argv) : NULL;
		rc = slot ? 0 : -ENOMEM;
		if (slot)
			*slot = text;
	}
	/* Paths are relative to where the command ran. */
	rc = rc < 0 ? rc : take_paths(l, j, j->cwd, json_object_get(o, "inputs"), false);
	rc = rc < 0 ? rc : take_paths(l, j, j->cwd, json_object_get(o, "extra_inputs"), false);
	rc = rc < 0 ? rc : take_paths(l, j, j->cwd, json_object_get(o, "outputs"), true);
	buf_release(&base);
	return rc;
}

/* Messages of commits: the JSON between the marks of each. git indents them by four blanks, which JSON passes over. 0,
 * -ENOMEM. */
static int take_messages(struct adopt_jobs *l, const char *path, const char *source, struct str text, uint64_t *ret_n)
{
	int rc = 0;
	for (size_t at = 0; rc == 0 && at < text.n;) {
		const char *from = memmem(text.p + at, text.n - at, begin_mark, sizeof(begin_mark) - 1);
		if (!from)
			break;
		from += sizeof(begin_mark) - 1;
		size_t left = (size_t)(text.p + text.n - from);
		const char *to = memmem(from, left, end_mark, sizeof(end_mark) - 1);
		if (!to)
			break;
		json_error_t where;
		json_t *o = json_loadb(from, (size_t)(to - from), 0, &where);
		rc = o ? take_record(l, path, source, o, ret_n) : adopt_pass(l, source, where.text);
		json_decref(o);
		at = (size_t)(to - text.p);
	}
	return rc;
}

/* name: a file with messages of commits (*.gitlog). 0, -ENOMEM. */
int adopt_read_datalad(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	uint64_t n = 0;
	buf_printf(&source, "%s/%s", path, name);
	int rc = adopt_file(folder, name, &text);
	rc = rc < 0 ? rc : take_messages(l, path, buf_cstr(&source), buf_view(&text), &n);
	if (rc == 0 && !n)
		rc = adopt_pass(l, buf_cstr(&source), "it contains no record of datalad run");
	l->sources[ADOPT_datalad] += rc == 0 && n > 0;
	buf_release(&text);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}

/* name: a document in .datalad/runinfo; path: of that folder. 0, -ENOMEM. */
int adopt_read_datalad_sidecar(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	static const char below[] = "/.datalad/runinfo";
	struct buf source = {0}, top = {0}, text = {0};
	struct str at = str_of(path);
	uint64_t n = 0;
	if (!str_ends(at, str_of(below)))
		return 0;
	buf_printf(&source, "%s/%s", path, name);
	buf_str(&top, str_n(at.p, at.n - (sizeof(below) - 1)));
	int rc = adopt_file(folder, name, &text);
	for (size_t i = 0; rc == 0 && i < text.n;) { /* one a line */
		const char *end = memchr(text.p + i, '\n', text.n - i);
		size_t length = end ? (size_t)(end - text.p) - i : text.n - i;
		json_error_t where;
		json_t *o = length ? json_loadb(text.p + i, length, 0, &where) : NULL;
		rc = o        ? take_record(l, buf_cstr(&top), buf_cstr(&source), o, &n)
		     : length ? adopt_pass(l, buf_cstr(&source), where.text)
		              : 0;
		json_decref(o);
		i += length + 1;
	}
	l->sources[ADOPT_datalad] += rc == 0 && n > 0;
	buf_release(&source);
	buf_release(&top);
	buf_release(&text);
	return rc == -ENOMEM ? rc : 0;
}
