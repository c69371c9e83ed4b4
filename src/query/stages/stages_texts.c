#include "query/stages/stages_texts.h"

#include "base/map.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>

#define NAME_MAX_N 200 /* bytes of a rule's name */
#define ABOVE 16       /* folders above a file that may be what the rule made */
#define FAILED 1000    /* failed jobs of a log that are looked at */
#define HEAD 4096      /* bytes of .command.run in which the name stands */

/* p itself may not be used afterwards. */
void stages_plan_release(struct stages_plan *p)
{
	buf_release(&p->text);
	free(p->jobs);
	idmap_release(&p->by_file);
}

/* ---- Snakemake's log ---- */

/* Without its line feed; *rest goes on behind it. */
static struct str next_line(struct str *rest)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct str line = str_n(rest->p, end ? (size_t)(end - rest->p) : rest->n);
	size_t used = line.n + (end != NULL);
	*rest = str_n(rest->p + used, rest->n - used);
	return line;
}

/* How many blanks the line begins with. */
static size_t blanks_before(struct str line)
{
	size_t n = 0;
	while (n < line.n && line.p[n] == ' ')
		n++;
	return n;
}

/* Letters, digits and "_-.", NAME_MAX_N at most. */
static bool is_rule_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!isalnum((unsigned char)s.p[i]) && !strchr("_-.", s.p[i]))
			return false;
	return s.n && s.n <= NAME_MAX_N && !memchr(s.p, '\0', s.n);
}

/* "rule sort:" */
static bool is_job_head(struct str line, struct str *ret_name)
{
	static const char *const words[] = {"rule ", "localrule ", "checkpoint ", "localcheckpoint "};
	size_t in = blanks_before(line);
	line = str_n(line.p + in, line.n - in);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct str word = str_of(words[i]);
		if (!str_starts(line, word) || line.p[line.n - 1] != ':')
			continue;
		*ret_name = str_n(line.p + word.n, line.n - word.n - 1);
		return is_rule_name(*ret_name);
	}
	return false;
}

/* A line of a job in the log; others are passed over. */
static void take_field(struct stages_job *j, struct str line)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {{"output: ", offsetof(struct stages_job, made[0])},
	              {"log: ", offsetof(struct stages_job, made[1])},
	              {"jobid: ", offsetof(struct stages_job, number)},
	              {"wildcards: ", offsetof(struct stages_job, wildcards)}};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct str name = str_of(fields[i].name);
		if (str_starts(line, name))
			*(struct str *)((char *)j + fields[i].offset) = str_n(line.p + name.n, line.n - name.n);
	}
}

/* "Error in rule sort:" */
static bool is_error_head(struct str line, struct str *ret_name)
{
	struct str word = str_of("Error in rule ");
	size_t in = blanks_before(line);
	line = str_n(line.p + in, line.n - in);
	if (!str_starts(line, word) || line.p[line.n - 1] != ':')
		return false;
	*ret_name = str_n(line.p + word.n, line.n - word.n - 1);
	return is_rule_name(*ret_name);
}

/* The lines below "shell:", up to the note that Snakemake puts behind them, or to what lies less far in. *rest goes on
 * behind them. */
static struct str take_command(struct str *rest, size_t in)
{
	struct str from = *rest, line;
	while (rest->n) {
		struct str before = *rest;
		line = next_line(rest);
		size_t blanks = blanks_before(line);
		bool note = str_starts(str_n(line.p + blanks, line.n - blanks), str_of("(one of the commands exited"));
		if (note || (blanks < line.n && blanks <= in)) {
			*rest = before;
			break;
		}
	}
	return str_n(from.p, (size_t)(rest->p - from.p));
}

/* The job of that name and number that the log named last; NULL none. */
static struct stages_job *find_planned(struct stages_plan *p, struct str name, struct str number)
{
	for (size_t i = p->n; i-- > 0;)
		if (str_eq(p->jobs[i].number, number) && str_eq(p->jobs[i].name, name))
			return &p->jobs[i];
	return NULL;
}

/* Marks the jobs that failed, FAILED of them at most: "Error in rule NAME:", and below it, farther in, "jobid: 3" and
 * perhaps "shell:" with the command. */
static void mark_failed(struct stages_plan *p)
{
	struct str rest = buf_view(&p->text), name, number;
	size_t seen = 0;
	while (rest.n && seen < FAILED) {
		struct str line = next_line(&rest), command = {0};
		size_t in = blanks_before(line);
		if (!is_error_head(line, &name))
			continue;
		number = (struct str){0};
		seen++;
		while (rest.n) {
			struct str before = rest, field = next_line(&rest);
			size_t blanks = blanks_before(field);
			if (blanks <= in || blanks == field.n) {
				rest = before;
				break;
			}
			field = str_n(field.p + blanks, field.n - blanks);
			if (str_starts(field, str_of("jobid: ")))
				number = str_n(field.p + 7, field.n - 7);
			else if (str_is(field, "shell:"))
				command = take_command(&rest, blanks);
		}
		struct stages_job *j = find_planned(p, name, number);
		if (j) {
			j->failed = true;
			j->command = command;
		}
		if (rest.n && blanks_before(rest) == 0 && *rest.p == '\n')
			next_line(&rest);
	}
}

/* But for blanks and line ends, are they the same? */
static bool is_same_command(struct str a, struct str b)
{
	size_t i = 0, k = 0;
	for (;;) {
		while (i < a.n && isspace((unsigned char)a.p[i]))
			i++;
		while (k < b.n && isspace((unsigned char)b.p[k]))
			k++;
		if (i == a.n || k == b.n)
			return i == a.n && k == b.n;
		if (a.p[i++] != b.p[k++])
			return false;
	}
}

struct stages_job *stages_plan_failed(struct stages_plan *p, struct str command)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->jobs[i].failed && p->jobs[i].stage == NOT_THERE && p->jobs[i].command.n &&
		    is_same_command(p->jobs[i].command, command))
			return &p->jobs[i];
	return NULL;
}

/* Of the whole path; ./ before it does not count. Never 0. */
static uint64_t path_hash(struct str folder, struct str path)
{
	uint64_t h = 1;
	bool whole = path.n && *path.p == '/';
	while (!whole && path.n > 2 && path.p[0] == '.' && path.p[1] == '/')
		path = str_n(path.p + 2, path.n - 2);
	for (int part = whole; part < 3; part++) {
		struct str s = whole || part == 2 ? path : part ? str_of("/") : folder;
		for (size_t i = 0; i < s.n; i++)
			h = hash_mix(h, (unsigned char)s.p[i]);
		if (whole)
			break;
	}
	return h | 1;
}

/* Each of "A, B (pipe), C" leads to the job. 0, -ENOMEM. */
static int add_made(struct stages_plan *p, struct str list, uint32_t job)
{
	while (list.n) {
		const char *comma = memmem(list.p, list.n, ", ", 2);
		struct str one = str_n(list.p, comma ? (size_t)(comma - list.p) : list.n);
		size_t used = comma ? one.n + 2 : one.n;
		list = str_n(list.p + used, list.n - used);
		const char *mark = one.n && one.p[one.n - 1] == ')' ? memmem(one.p, one.n, " (", 2) : NULL;
		if (mark)
			one.n = (size_t)(mark - one.p);
		bool is_new;
		if (one.n && !idmap_add(&p->by_file, path_hash(p->folder, one), job + 1, &is_new))
			return -ENOMEM;
	}
	return 0;
}

int stages_plan_parse(struct stages_plan *p)
{
	struct str rest = buf_view(&p->text), name;
	struct stages_job *at = NULL;
	size_t in = 0;
	while (rest.n) {
		struct str line = next_line(&rest);
		size_t blanks = blanks_before(line);
		if (is_job_head(line, &name)) {
			if (!vec_has_room(p->jobs, p->n, p->cap))
				return -ENOMEM;
			at = &p->jobs[p->n++];
			*at = (struct stages_job){.name = name, .stage = NOT_THERE};
			in = blanks;
		} else if (at && (blanks <= in || blanks == line.n)) {
			at = NULL;
		} else if (at) {
			take_field(at, str_n(line.p + blanks, line.n - blanks));
		}
	}
	mark_failed(p);
	for (uint32_t i = 0; i < p->n; i++)
		for (int k = 0; k < 2; k++)
			if (add_made(p, p->jobs[i].made[k], i) < 0)
				return -ENOMEM;
	return 0;
}

/* The job that a file, or a folder above it, was made for. */
struct stages_job *stages_plan_job(struct stages_plan *p, struct str path)
{
	for (int i = 0; i < ABOVE && path.n; i++) {
		const uint32_t *at = idmap_find(&p->by_file, path_hash((struct str){0}, path));
		if (at)
			return &p->jobs[*at - 1];
		path.n -= str_base_name(path).n;
		while (path.n && path.p[path.n - 1] == '/')
			path.n--;
	}
	return NULL;
}

/* "rule": "NAME" of JSON; within a string the first quote would have a backslash before it. */
struct str stages_metadata_rule(struct str text)
{
	static const char key[] = "\"rule\": \"";
	const char *end = text.p + text.n;
	for (const char *at = text.p; text.n && (at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1)); at++) {
		const char *name = at + sizeof(key) - 1, *quote = memchr(name, '"', (size_t)(end - name));
		struct str one = str_n(name, quote ? (size_t)(quote - name) : 0);
		if ((at == text.p || at[-1] != '\\') && is_rule_name(one))
			return one;
	}
	return (struct str){0};
}

/* ---- ninja's log: start, end, mtime, output, hash of the command ---- */

uint64_t stages_path_hash(uint64_t h, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		h = hash_mix(h, (unsigned char)s.p[i]);
	return h | 1;
}

/* Appends the path, with the folder before it if it is relative, and a NUL. folder must end with a slash. */
static void put_whole(struct buf *b, struct str folder, struct str path)
{
	if (path.n && *path.p != '/')
		buf_str(b, folder);
	buf_str(b, path);
	buf_char(b, '\0');
}

/* Outputs of one command follow each other and have its hash; the first one names it. 0, -ENOMEM. l keeps parts of
 * text, which must outlive it. */
int stages_ninja_parse(struct stages_ninja *l, struct str folder, struct str text)
{
	struct str first = {0}, hash = {0}, times = {0};
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		struct str line = str_n(text.p, end ? (size_t)(end - text.p) : text.n), field[5];
		size_t n = 0, used = line.n + (end != NULL);
		text = str_n(text.p + used, text.n - used);
		for (struct str rest = line; n < 5 && rest.n; n++) {
			const char *tab = memchr(rest.p, '\t', rest.n);
			field[n] = str_n(rest.p, tab ? (size_t)(tab - rest.p) : rest.n);
			rest = tab ? str_n(tab + 1, rest.n - field[n].n - 1) : (struct str){0};
		}
		if (n < 5 || !field[3].n || memchr(field[3].p, '\0', field[3].n))
			continue;
		struct str span = str_n(field[0].p, field[0].n + 1 + field[1].n);
		if (!str_eq(hash, field[4]) || !str_eq(times, span))
			first = field[3];
		hash = field[4];
		times = span;
		size_t at = l->text.n;
		put_whole(&l->text, folder, field[3]);
		put_whole(&l->text, folder, first);
		bool is_new;
		uint32_t *to = l->text.failed
		                   ? NULL
		                   : idmap_add(&l->at, stages_path_hash(1, str_of(l->text.p + at)), (uint32_t)at, &is_new);
		if (!to)
			return -ENOMEM;
		*to = (uint32_t)at; /* what was said last */
	}
	return 0;
}

const char *stages_ninja_first(const struct stages_ninja *l, struct str path)
{
	const uint32_t *at = idmap_find(&l->at, stages_path_hash(1, path));
	const char *known = at ? l->text.p + *at : NULL;
	return known && str_eq(str_of(known), path) ? known + strlen(known) + 1 : NULL;
}

/* l is empty then. */
void stages_ninja_release(struct stages_ninja *l)
{
	buf_release(&l->text);
	idmap_release(&l->at);
	*l = (struct stages_ninja){0};
}

/* ---- Nextflow's script ---- */

/* "# NEXTFLOW TASK: ALIGN (s1)", or in a newer one "### name: 'ALIGN (s1)'". */
struct str stages_task_name(struct str text)
{
	static const char *const words[] = {"\n# NEXTFLOW TASK: ", "\n### name: "};
	text.n = text.n > HEAD ? HEAD : text.n;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = memmem(text.p, text.n, words[i], strlen(words[i]));
		if (!at)
			continue;
		at += strlen(words[i]);
		const char *end = memchr(at, '\n', (size_t)(text.p + text.n - at));
		struct str name = str_n(at, end ? (size_t)(end - at) : 0);
		if (name.n > 1 && *name.p == '\'' && name.p[name.n - 1] == '\'')
			name = str_n(name.p + 1, name.n - 2);
		if (name.n && !memchr(name.p, '\0', name.n))
			return name;
	}
	return (struct str){0};
}
