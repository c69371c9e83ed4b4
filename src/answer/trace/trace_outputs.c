#include "answer/trace/trace_outputs.h"

#include "answer/trace/trace_set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WRITTEN_KNOWN = 1 << 6 }; /* of exec_info.known */

/* o is empty then. */
void trace_outputs_release(struct trace_outputs *o)
{
	for (size_t i = 0; i < o->n_libraries; i++)
		free(o->libraries[i]);
	for (size_t i = 0; i < o->n_lines; i++)
		free(o->lines[i].name);
	free(o->lines);
	free(o->libraries);
	free(o->words);
	*o = (struct trace_outputs){0};
}

/* ---- files ---- */

/* The pair whose program is known to have made it; with one pair it is that one's, whoever it was. NULL: none. */
static struct trace_outputs *outputs_of_maker(struct trace_comparison *j, const struct diff_item *i)
{
	for (size_t k = 0; k < j->view.n; k++) {
		const struct trace_pair *p = &j->view.v[k];
		if ((i->exec_a && i->exec_a == p->side[0].exec) || (i->exec_b && i->exec_b == p->side[1].exec))
			return &j->view.v[k].outputs;
	}
	return j->view.n == 1 ? &j->view.v[0].outputs : NULL;
}

/* "not made" where there is no such version. ret_bytes: 0 also: not known. 0, -errno. */
static int append_size(struct store *s, store_id version, struct buf *b, int64_t *ret_bytes)
{
	struct version_info v;
	int r = version ? store_version(s, version, &v) : 0;
	if (r < 0)
		return r;
	*ret_bytes = r > 0 && v.has_size && v.size < INT64_MAX ? (int64_t)v.size : 0;
	if (r == 0)
		buf_printf(b, "not made");
	else if (v.has_size)
		buf_printf(b, "%llu byte%s", (unsigned long long)v.size, str_plural(v.size));
	else
		buf_printf(b, "of unknown size");
	return 0;
}

/* One more line of o->words. 0, -ENOMEM. */
static int append_words(struct trace_outputs *o, struct str name, int64_t more, struct buf *line)
{
	struct buf all = {0};
	struct trace_output_line *v = realloc(o->lines, (o->n_lines + 1) * sizeof(*v));
	if (v)
		o->lines = v;
	if (!v || !(v[o->n_lines].name = strndup(name.n ? name.p : "", name.n)))
		return -ENOMEM;
	v[o->n_lines++].more = more;
	if (o->words)
		buf_printf(&all, "%s\n", o->words);
	buf_str(&all, buf_view(line));
	if (all.failed || line->failed)
		return -ENOMEM;
	buf_cstr(&all);
	free(o->words);
	o->words = all.p;
	return 0;
}

/* What an item of a diff says of the outputs: sets o->differ and adds a line, or counts it in n_open where nobody
 * knows. 0, -errno. */
static int read_output_item(struct store *s, const struct diff_item *i, struct trace_outputs *o)
{
	struct buf b = {0};
	bool open = i->kind == DIFF_REWRITTEN && i->content == CONTENT_UNKNOWN;
	if (i->content == CONTENT_SAME || i->possible)
		return 0;
	if (open) {
		o->n_open++;
		return 0;
	}
	fmt_path(&b, i->subject);
	buf_printf(&b, ": ");
	int64_t bytes[2] = {0};
	int r = append_size(s, i->a, &b, &bytes[0]);
	buf_printf(&b, " | ");
	r = r < 0 ? r : append_size(s, i->b, &b, &bytes[1]);
	if (i->kind == DIFF_REWRITTEN)
		buf_printf(&b, ", different bytes");
	o->differ = true;
	r = r < 0 ? r : append_words(o, i->subject, bytes[1] - bytes[0], &b);
	buf_release(&b);
	return r;
}

/* ---- bytes ---- */

/* Bytes of the files that it made, without its traces. Adds to *ret; what has no known size does not count. 0, -errno.
 * */
static int sum_files(struct store *s, store_id exec, uint64_t *ret)
{
	struct edges e = {0};
	struct version_info v;
	struct file_info f;
	int r = store_outputs(s, exec, &e);
	for (size_t i = 0; r >= 0 && i < e.n; i++) {
		r = store_version(s, e.v[i].to, &v);
		if (r > 0)
			r = store_file(s, v.file, &f);
		bool counts = r > 0 && f.kind == TERM_kind_regular && v.has_size && !str_ends(f.path, str_of(".trace"));
		*ret += counts ? v.size : 0;
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Did it write to sockets or share memory? How many bytes that takes is a matter of timing. Pipes and files are not. 0,
 * -errno. */
static int is_talking(struct store *s, store_id exec, bool *ret)
{
	struct edges e = {0};
	struct version_info v;
	struct file_info f;
	int r = store_outputs(s, exec, &e);
	for (size_t i = 0; r >= 0 && i < e.n && !*ret; i++) {
		r = store_version(s, e.v[i].to, &v);
		if (r > 0)
			r = store_file(s, v.file, &f);
		*ret |= r > 0 && (f.kind == TERM_kind_socket || f.kind == TERM_kind_shm);
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* What both executions wrote in all, wherever to: of those with one thread, which talk to nobody. bytes_known is false
 * where it cannot be told. 0, -errno. */
static int compare_written(struct store *s, const struct trace_pair *p, struct trace_outputs *o)
{
	struct exec_info x[2];
	uint64_t bytes[2];
	bool talks = p->side[0].n_threads > 1 || p->side[1].n_threads > 1;
	for (int k = 0; k < 2; k++) {
		int r = is_talking(s, p->side[k].exec, &talks);
		r = r < 0 ? r : store_exec(s, p->side[k].exec, &x[k]);
		if (r < 0)
			return r;
		o->bytes_known = r > 0 && x[k].known & WRITTEN_KNOWN && (!k || o->bytes_known);
		bytes[k] = r > 0 ? x[k].wchar_ : 0;
	}
	o->bytes_known &= !talks;
	if (!o->bytes_known)
		return 0;
	o->bytes = bytes[0];
	if (bytes[0] == bytes[1])
		return 0;
	struct buf b = {0};
	o->differ = true;
	buf_printf(&b, "%llu | %llu bytes written in all", (unsigned long long)bytes[0], (unsigned long long)bytes[1]);
	int r = append_words(o, str_of(""), (int64_t)(bytes[1] - bytes[0]), &b);
	buf_release(&b);
	return r;
}

/* ---- libraries ---- */

static int compare_library_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is the library in the trace? By the name of its file, which links may lead to. */
static bool is_traced_library(const struct trace_side *side, struct str name)
{
	char real[PATH_MAX];
	for (uint32_t i = 0; i < side->n_libraries; i++) {
		const char *path = side->libraries[i].told.path, *ways[2] = {path, realpath(path, real)};
		for (int k = 0; k < 2; k++) {
			const char *slash = ways[k] ? strrchr(ways[k], '/') : NULL;
			if (slash && str_is(name, slash + 1))
				return true;
		}
	}
	return false;
}

/* Adds the name if it is a library's that is not traced itself; the loader's is none. 0, -ENOMEM. */
static int append_library(struct trace_outputs *o, const struct trace_side *side, struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	struct str name = slash ? str_n(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
	const char *so = name.n ? memmem(name.p, name.n, ".so", 3) : NULL;
	bool last = so && so + 3 == name.p + name.n;
	bool numbered = so && !last && so[3] == '.' && so + 4 < name.p + name.n && so[4] >= '0' && so[4] <= '9';
	if ((!last && !numbered) || str_starts(name, str_of("ld-linux")) || is_traced_library(side, name))
		return 0;
	char **v = realloc(o->libraries, (o->n_libraries + 1) * sizeof(*v));
	if (v)
		o->libraries = v;
	if (!v || !(v[o->n_libraries] = strndup(name.p, name.n)))
		return -ENOMEM;
	o->n_libraries++;
	return 0;
}

/* Libraries that the execution opened, by name, each once. 0, -errno. */
static int list_libraries(struct store *s, const struct trace_side *side, struct trace_outputs *o)
{
	struct edges e = {0};
	struct version_info v;
	struct file_info f;
	size_t n = 0;
	int r = store_uses(s, side->exec, &e);
	for (size_t i = 0; r >= 0 && i < e.n; i++) {
		r = store_version(s, e.v[i].to, &v);
		if (r > 0)
			r = store_file(s, v.file, &f);
		if (r > 0)
			r = append_library(o, side, f.path);
	}
	edges_release(&e);
	if (o->n_libraries)
		qsort(o->libraries, o->n_libraries, sizeof(*o->libraries), compare_library_names);
	for (size_t i = 0; i < o->n_libraries; i++)
		if (n && strcmp(o->libraries[n - 1], o->libraries[i]) == 0)
			free(o->libraries[i]);
		else
			o->libraries[n++] = o->libraries[i];
	o->n_libraries = n;
	return r < 0 ? r : 0;
}

/* ---- what they were given ---- */

/* What a run is given, and does not do. */
static bool is_given(enum diff_category c)
{
	return c == DIFF_inputs || c == DIFF_programs || c == DIFF_options || c == DIFF_configuration ||
	       c == DIFF_environment;
}

/* Notes that a file given to the program that made o differs. Nothing if no pair of traces is the maker. */
static void note_given(struct trace_comparison *j, const struct diff_item *i)
{
	struct trace_outputs *o = outputs_of_maker(j, i);
	if (o && i->content != CONTENT_SAME)
		o->given_differ = true;
}

/* ---- all of it ---- */

/* Of the threads of a process the first tells. */
static bool is_first_of_process(const struct trace_view *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (v->v[k].side[0].exec == v->v[i].side[0].exec && v->v[k].side[1].exec == v->v[i].side[1].exec)
			return false;
	return true;
}

int trace_outputs_read(struct store *s, const struct diff *d, struct trace_comparison *j, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r >= 0 && i < j->view.n; i++) {
		struct trace_pair *p = &j->view.v[i];
		p->outputs.known = p->side[0].exec && p->side[1].exec;
		if (!p->outputs.known)
			continue;
		r = list_libraries(s, &p->side[0], &p->outputs);
		if (r >= 0 && is_first_of_process(&j->view, i))
			r = compare_written(s, p, &p->outputs);
		if (r >= 0)
			r = sum_files(s, p->side[0].exec, &p->outputs.in_files);
	}
	for (size_t i = 0; r >= 0 && i < d->n_items; i++) {
		struct trace_outputs *o = d->items[i].category == DIFF_outputs ? outputs_of_maker(j, &d->items[i]) : NULL;
		if (is_given(d->items[i].category))
			note_given(j, &d->items[i]);
		if (d->items[i].category == DIFF_outputs)
			r = read_output_item(s, &d->items[i], o ? o : &j->view.outputs);
	}
	return r < 0 ? err_set(err, -r, "cannot read what the programs wrote") : 0;
}
