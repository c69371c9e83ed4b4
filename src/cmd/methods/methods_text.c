/* methods_text.c - the methods paragraph as plain text, or as Markdown with tables. */
#include "answer/entities.h"
#include "base/hash.h"
#include "cmd/methods/methods_view.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define COMMAND_MOST 400 /* bytes of a command; --format json has all of it */
#define LIST_MOST 60     /* steps, or inputs, that are listed */
#define DAY 10           /* 2026-11-28 */

const struct package *methods_step_package(const struct methods *m, const struct methods_step *step)
{
	const struct software_file *f = methods_step_file(m, step);
	return f && f->package != VEC_NONE ? &m->software.packages.v.v[f->package] : NULL;
}

/* ---- words ---- */

/* Appends a text as code. As code in Markdown: between more backticks than the text has in a row. In a table | is
 * escaped. As it is in plain text. */
static void put_code(struct methods_view *v, struct str s)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < s.n; i++) {
		run = s.p[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; v->markdown && i <= longest; i++)
		buf_char(&v->b, '`');
	if (v->markdown && longest)
		buf_char(&v->b, ' ');
	for (size_t i = 0; i < s.n; i++) {
		if (v->in_table && s.p[i] == '|')
			buf_char(&v->b, '\\');
		buf_char(&v->b, s.p[i]);
	}
	if (v->markdown && longest)
		buf_char(&v->b, ' ');
	for (size_t i = 0; v->markdown && i <= longest; i++)
		buf_char(&v->b, '`');
}

/* Appends a name as code, safe for a terminal. */
static void put_method_name(struct methods_view *v, struct str name)
{
	struct buf b = {0};
	fmt_name(&b, name);
	put_code(v, buf_view(&b));
	v->b.failed |= b.failed;
	buf_release(&b);
}

/* 2026-11-28, local time. */
static void put_day(struct methods_view *v, int64_t ns)
{
	size_t from = v->b.n;
	fmt_time(&v->b, ns, true);
	if (ns != TIME_NONE && ns != TIME_NEVER && v->b.n > from + DAY)
		v->b.n = from + DAY;
}

/* Between two sentences of a paragraph. */
static void put_gap(struct methods_view *v)
{
	if (v->b.n && v->b.p[v->b.n - 1] != '\n')
		buf_char(&v->b, ' ');
}

/* The head of a table with so many columns, of Markdown. */
static void open_table(struct methods_view *v, const char *head, unsigned columns)
{
	buf_printf(&v->b, "\n\n%s\n|", head);
	for (unsigned i = 0; i < columns; i++)
		buf_printf(&v->b, " --- |");
	buf_char(&v->b, '\n');
	v->in_table = true;
}

/* What is behind its last row: how many more there are. */
static void close_table(struct methods_view *v, size_t more, const char *what)
{
	v->in_table = false;
	if (more)
		buf_printf(&v->b, "\n%zu more %s%s are not listed.\n", more, what, str_plural(more));
	buf_char(&v->b, '\n');
}

/* Appends what separates things that are listed in a sentence. Before one of n things in a row: nothing, ", " or "
 * and ". */
static void put_comma(struct methods_view *v, size_t i, size_t n)
{
	buf_printf(&v->b, i == 0 ? "" : i + 1 == n ? " and " : ", ");
}

/* A package by manager, name and version; else why nothing is known. */
static void put_package(struct methods_view *v, const struct methods_step *step)
{
	const struct software *w = &v->m->software;
	const struct software_file *f = methods_step_file(v->m, step);
	const struct package *p = f && f->package != VEC_NONE ? &w->packages.v.v[f->package] : NULL;
	struct buf b = {0};
	if (p) {
		buf_printf(&b, "%s %s", p->name, p->version);
		put_method_name(v, buf_view(&b));
		buf_release(&b);
	} else
		buf_printf(&v->b, "version unknown: %s",
		           !f                             ? "the program's file is not recorded"
		           : f->state == SOFTWARE_CHANGED ? "the program's file is no longer as recorded"
		                                          : "no package has the program's file");
}

/* The command of a step, its words as a shell takes them. */
static void put_command(struct methods_view *v, const struct methods_step *step)
{
	struct buf b = {0};
	const char *word;
	bool first = true;
	for (size_t pos = 0; (word = methods_next(&step->words, &pos)) && b.n <= COMMAND_MOST; first = false) {
		if (!first)
			buf_char(&b, ' ');
		bool differs = strstr(word, "\xe2\x80\xa6") != NULL;
		if (differs)
			fmt_name(&b, str_of(word));
		else
			fmt_arg(&b, str_of(word));
	}
	if (b.n > COMMAND_MOST)
		fmt_fit(&b, 0, COMMAND_MOST, true);
	for (size_t i = 0; i < b.n; i++) /* of a word with several lines */
		b.p[i] = b.p[i] == '\n' || b.p[i] == '\t' ? ' ' : b.p[i];
	put_code(v, buf_view(&b));
	if (step->times > 1)
		buf_printf(&v->b, " (%llu times)", (unsigned long long)step->times);
	v->b.failed |= b.failed;
	buf_release(&b);
}

/* path, size and digest. in_table: as cells. 0, -errno. */
static int put_file(struct methods_view *v, const struct methods_file *f, bool in_table)
{
	struct version_info version;
	struct file_info of;
	struct buf path = {0};
	char digest[DIGEST_TEXT];
	int r = store_version(v->c->store, f->version, &version);
	r = r > 0 ? store_file(v->c->store, version.file, &of) : r;
	if (r <= 0)
		return r < 0 ? r : -EIO;
	fmt_path(&path, of.path);
	put_code(v, buf_view(&path));
	buf_printf(&v->b, "%s", f->sure ? "" : "?");
	buf_printf(&v->b, in_table ? " | " : " (");
	if (version.has_size)
		buf_printf(&v->b, "%llu byte%s", (unsigned long long)version.size, str_plural(version.size));
	else
		buf_printf(&v->b, "size unknown");
	buf_printf(&v->b, in_table ? " | " : ", ");
	if (f->has_digest) {
		digest_text(&f->digest, digest);
		buf_printf(&v->b, "SHA-256 %s", strchr(digest, ':') + 1);
	} else {
		buf_printf(&v->b, "SHA-256 not recorded");
	}
	buf_printf(&v->b, in_table ? "" : ")");
	v->b.failed |= path.failed;
	buf_release(&path);
	return 0;
}

/* ---- sentences ---- */

/* How many of the steps are programs of the analysis, or else engines and shells. */
static size_t count_role(const struct methods *m, bool programs)
{
	size_t n = 0;
	for (size_t i = 0; i < m->steps.n; i++)
		n += (m->steps.v[i].role == METHODS_PROGRAM) == programs;
	return n;
}

/* Different programs among the steps that are such: by their file and name. VEC_NONE: no memory. */
static size_t count_programs(const struct methods *m)
{
	struct idmap seen = {0};
	bool failed = false, is_new;
	for (size_t i = 0; i < m->steps.n && !failed; i++) {
		const struct methods_step *step = &m->steps.v[i];
		uint64_t key = hash_more(hash_str(buf_view(&step->name)), &step->program, sizeof(step->program)) | 1;
		failed = step->role == METHODS_PROGRAM && !idmap_add(&seen, key, 1, &is_new);
	}
	size_t n = failed ? VEC_NONE : seen.n;
	idmap_release(&seen);
	return n;
}

/* How many of the inputs are scripts, or else data. */
static size_t count_inputs(const struct methods *m, bool scripts)
{
	size_t n = 0;
	for (size_t i = 0; i < m->inputs.n; i++)
		n += m->inputs.v[i].script == scripts;
	return n;
}

/* "out.json (29 bytes, ...) was made on 2026-11-28 from 1 input file with 3 programs." 0, -errno. */
static int write_first(struct methods_view *v)
{
	struct version_info version;
	size_t inputs = count_inputs(v->m, false), programs = count_programs(v->m);
	if (programs == VEC_NONE)
		return -ENOMEM;
	int r = put_file(v, &v->m->file, false);
	r = r < 0 ? r : store_version(v->c->store, v->m->file.version, &version);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	int64_t end = version.end != TIME_NEVER && version.end != TIME_NONE ? version.end : version.start;
	buf_printf(&v->b, " was made ");
	struct buf began = {0};
	fmt_time(&began, v->m->start, true);
	size_t at = v->b.n;
	put_day(v, end);
	bool same_day = began.n < DAY || memcmp(v->b.p + at, began.p, DAY) == 0;
	v->b.n = at;
	buf_printf(&v->b, same_day ? "on " : "from ");
	if (!same_day)
		put_day(v, v->m->start), buf_printf(&v->b, " to ");
	put_day(v, end);
	buf_printf(&v->b, " from %zu input file%s with %zu program%s.", inputs, str_plural(inputs), programs,
	           str_plural(programs));
	v->b.failed |= began.failed;
	buf_release(&began);
	return 0;
}

/* What a step is, with its package, as a line of a list, cells of a table or part of a sentence. */
static void put_step(struct methods_view *v, const struct methods_step *step)
{
	put_method_name(v, buf_view(&step->name));
	if (!step->sure)
		buf_char(&v->b, '?');
	buf_printf(&v->b, v->markdown ? " | " : " (");
	put_package(v, step);
	buf_printf(&v->b, v->markdown ? " | " : "): ");
	put_command(v, step);
}

/* The programs, in order. */
static void write_programs(struct methods_view *v)
{
	size_t n = 0, all = count_role(v->m, true);
	if (!all)
		return;
	if (v->markdown)
		open_table(v, "| program | package | command |", 3);
	else
		buf_printf(&v->b, " The programs were, in order: ");
	for (size_t i = 0; i < v->m->steps.n && n < LIST_MOST; i++) {
		if (v->m->steps.v[i].role != METHODS_PROGRAM)
			continue;
		buf_printf(&v->b, v->markdown ? "| " : n ? "; " : "");
		put_step(v, &v->m->steps.v[i]);
		buf_printf(&v->b, v->markdown ? " |\n" : "");
		n++;
	}
	if (v->markdown)
		close_table(v, all - n, "program");
	else if (all > n)
		buf_printf(&v->b, "; and %zu more", all - n);
	buf_printf(&v->b, v->markdown ? "" : ".");
}

/* Packages of modules. */
static void write_modules(struct methods_view *v)
{
	const size_t n = v->m->modules.n;
	if (!n)
		return;
	put_gap(v);
	buf_printf(&v->b, "They loaded modules of ");
	for (size_t i = 0; i < n; i++) {
		const struct package *p = &v->m->software.packages.v.v[v->m->modules.v[i]];
		struct buf b = {0};
		put_comma(v, i, n);
		buf_printf(&b, "%s %s", p->name, p->version);
		put_method_name(v, buf_view(&b));
		v->b.failed |= b.failed;
		buf_release(&b);
	}
	buf_char(&v->b, '.');
}

/* Writes the sentence about the users of the runs. Who started them. */
static void write_starters(struct methods_view *v)
{
	size_t n = 0, all = count_role(v->m, false);
	if (!all)
		return;
	put_gap(v);
	buf_printf(&v->b, "They were started by ");
	for (size_t i = 0; i < v->m->steps.n && n < LIST_MOST; i++) {
		const struct methods_step *step = &v->m->steps.v[i];
		if (step->role == METHODS_PROGRAM)
			continue;
		put_comma(v, n, all < LIST_MOST ? all : LIST_MOST + 1);
		put_method_name(v, buf_view(&step->name));
		buf_printf(&v->b, " (");
		put_package(v, step);
		buf_char(&v->b, ')');
		n++;
	}
	if (all > n)
		buf_printf(&v->b, " and %zu more", all - n);
	buf_char(&v->b, '.');
}

/* The value of key=value; NULL. */
static const char *value_of(const struct methods_texts *t, const char *key)
{
	const char *text;
	size_t n = strlen(key);
	for (size_t pos = 0; (text = methods_next(t, &pos));)
		if (strncmp(text, key, n) == 0 && text[n] == '=')
			return text + n + 1;
	return NULL;
}

/* Where they ran. */
static void write_machines(struct methods_view *v)
{
	static const struct {
		const char *key, *before, *behind;
	} parts[] = {{"cpu", "", ""}, {"machine", "", ""}, {"cores", "", " cores"}, {"kernel", "Linux ", ""}};
	for (size_t i = 0; i < v->m->machines.n; i++) {
		const struct methods_machine *one = &v->m->machines.v[i];
		const char *memory = value_of(&one->about, "memory");
		size_t said = 0;
		if (!i)
			put_gap(v);
		buf_printf(&v->b, i ? ", and on " : "They ran on ");
		put_method_name(v, one->host.n ? buf_view(&one->host) : str_of("an unknown host"));
		buf_printf(&v->b, " (");
		for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
			const char *value = value_of(&one->about, parts[k].key);
			if (!value)
				continue;
			buf_printf(&v->b, "%s%s", said++ ? ", " : "", parts[k].before);
			fmt_name(&v->b, str_of(value));
			buf_printf(&v->b, "%s", parts[k].behind);
		}
		if (memory && strtoull(memory, NULL, 10)) {
			buf_printf(&v->b, "%s", said++ ? ", " : "");
			fmt_size(&v->b, strtoull(memory, NULL, 10), false);
			buf_printf(&v->b, " of memory");
		}
		buf_printf(&v->b, "%s)", said ? "" : "the machine is not described in the record");
	}
	if (v->m->machines.n)
		buf_char(&v->b, '.');
}

/* Variables of any step, each value once. */
static void write_environment(struct methods_view *v)
{
	struct methods_texts seen = {0};
	const char *text, *other;
	for (size_t i = 0; i < v->m->steps.n; i++)
		for (size_t pos = 0; (text = methods_next(&v->m->steps.v[i].environment, &pos));) {
			bool has = false;
			for (size_t at = 0; !has && (other = methods_next(&seen, &at));)
				has = strcmp(text, other) == 0;
			if (has)
				continue;
			if (!seen.n)
				put_gap(v);
			buf_printf(&v->b, seen.n ? ", " : "Their environment had ");
			put_method_name(v, str_of(text));
			buf_str(&seen.b, str_of(text));
			buf_char(&seen.b, '\0');
			seen.n++;
		}
	buf_printf(&v->b, seen.n ? "." : "");
	v->b.failed |= seen.b.failed;
	buf_release(&seen.b);
}

/* The inputs, or the scripts. 0, -errno. */
static int write_inputs(struct methods_view *v, bool scripts)
{
	size_t n = 0, all = count_inputs(v->m, scripts);
	const char *what = scripts ? "script" : "input";
	int r = 0;
	if (!all)
		return 0;
	if (v->markdown)
		open_table(v, scripts ? "| script | size | digest |" : "| input | size | digest |", 3);
	else
		buf_printf(&v->b, " The %s%s ", what, str_were(all));
	for (size_t i = 0; i < v->m->inputs.n && n < LIST_MOST && r >= 0; i++) {
		if (v->m->inputs.v[i].script != scripts)
			continue;
		if (v->markdown)
			buf_printf(&v->b, "| ");
		else
			put_comma(v, n, all < LIST_MOST ? all : LIST_MOST + 1);
		r = put_file(v, &v->m->inputs.v[i], v->markdown);
		buf_printf(&v->b, v->markdown ? " |\n" : "");
		n++;
	}
	if (v->markdown)
		close_table(v, all - n, what);
	else
		buf_printf(&v->b, all > n ? " and %zu more." : ".", all - n);
	return r;
}

/* What the reader must know of what is not known. */
static void write_doubts(struct methods_view *v)
{
	size_t unsure = 0, n = 0;
	for (size_t i = 0; i < v->m->inputs.n; i++)
		unsure += !v->m->inputs.v[i].sure;
	for (size_t i = 0; i < v->m->steps.n; i++)
		unsure += v->m->steps.v[i].role == METHODS_PROGRAM && !v->m->steps.v[i].sure;
	if (v->m->streams) {
		put_gap(v);
		buf_printf(&v->b, "Data may also have come from %zu socket%s or terminal%s whose other end was not observed.",
		           v->m->streams, str_plural(v->m->streams), str_plural(v->m->streams));
	}
	if (unsure) {
		put_gap(v);
		buf_printf(&v->b, "What is marked with ? may have contributed; stemma did not observe that it did.");
	}
	if (v->m->gaps)
		put_gap(v);
	for (unsigned i = 1; i < 64; i++)
		if (v->m->gaps >> i & 1)
			buf_printf(&v->b, "%s%s", n++ ? "; " : "The record is incomplete: ", term_meaning(SET_gap, i));
	buf_printf(&v->b, "%s", n ? "." : "");
	put_gap(v);
	buf_printf(&v->b, "Recorded with stemma.\n");
}

int methods_write_text(struct methods_view *v)
{
	int r = write_first(v);
	if (r < 0)
		return r;
	write_programs(v);
	write_modules(v);
	write_starters(v);
	write_machines(v);
	write_environment(v);
	r = write_inputs(v, false);
	r = r < 0 ? r : write_inputs(v, true);
	write_doubts(v);
	return r < 0 ? r : v->b.failed ? -ENOMEM : 0;
}
