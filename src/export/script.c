#include "export/script.h"

#include "base/hash.h"
#include "export/work.h"
#include "prov/out.h"

#include <ctype.h>
#include <inttypes.h>

/* The options of an interpreter that concern its script; each list is words between blanks. */
struct interpreter {
	const char *name;   /* without version */
	const char *text;   /* the script is the next argument; of one letter, it may be the last of several (-ne) */
	const char *module; /* the next argument names a module */
	const char *file;   /* the next argument is the script's file */
	const char *value;  /* the next argument is something else */
	bool names;         /* what is no option names a class, not a file */
};
static const struct interpreter interpreters[] = {
    {"python", " -c ", " -m ", "", " -W -X -Q --check-hash-based-pycs ", false},
    {"pypy", " -c ", " -m ", "", " -W -X ", false},
    {"Rscript", " -e ", "", "", "", false},
    {"R", " -e ", "", " -f ", " -g --gui --encoding -d --debugger ", false},
    {"sh", " -c ", "", "", " -o +o ", false},
    {"bash", " -c ", "", "", " -o +o -O +O --rcfile --init-file ", false},
    {"dash", " -c ", "", "", " -o +o ", false},
    {"ksh", " -c ", "", "", " -o +o ", false},
    {"zsh", " -c ", "", "", " -o +o ", false},
    {"fish", " -c --command ", "", "", " -C --init-command ", false},
    {"perl", " -e -E ", "", "", " -I ", false},
    {"ruby", " -e ", "", "", " -I -r -C ", false},
    {"lua", " -e ", "", "", " -l ", false},
    {"node", " -e -p --eval --print ", "", "", " -r --require --import --loader -C --conditions ", false},
    {"nodejs", " -e -p --eval --print ", "", "", " -r --require --import --loader -C --conditions ", false},
    {"julia", " -e -E --eval --print ", "", "", " -L --load -p --procs -t --threads -J --sysimage ", false},
    {"octave", " --eval ", "", "", " -p --path ", false},
    {"php", " -r ", "", " -f ", " -c -d ", false},
    {"java", "", " -m --module ", " -jar ",
     " -cp -classpath --class-path -p --module-path --add-modules --upgrade-module-path ", true},
};

/* Its last part. A slash at the end counts as part of that. */
static struct str path_end(struct str path)
{
	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/' && i < path.n)
			return str_n(path.p + i, path.n - i);
	return path;
}

/* Finds the interpreter of scripts by the program's name without version: python3.11 is python. NULL: none. */
static const struct interpreter *find_interpreter(struct str program)
{
	struct str name = path_end(program);
	while (name.n && (isdigit((unsigned char)name.p[name.n - 1]) || name.p[name.n - 1] == '.'))
		name.n--;
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters); i++)
		if (str_is(name, interpreters[i].name))
			return &interpreters[i];
	return NULL;
}

/* Is the word in the list? list: words with blanks between. */
static bool list_has(const char *list, struct str word)
{
	for (const char *at = list; word.n && *at; at++) {
		at += strspn(at, " ");
		size_t n = strcspn(at, " ");
		if (n == word.n && memcmp(at, word.p, n) == 0)
			return true;
		at += n ? n - 1 : 0;
		if (!n)
			break;
	}
	return false;
}

/* -ne is -n -e: letters of one option, the last of which takes the text. Java has whole words behind one dash. */
static bool takes_text(const struct interpreter *by, struct str option)
{
	if (list_has(by->text, option))
		return true;
	if (by->names || option.n < 3 || option.p[1] == '-')
		return false;
	for (size_t i = 1; i < option.n; i++)
		if (!isalpha((unsigned char)option.p[i]))
			return false;
	const char last[2] = {'-', option.p[option.n - 1]};
	return list_has(by->text, str_n(last, 2));
}

/* What an option says of the script; SCRIPT_NONE: nothing. *ret_value: the next argument belongs to it. What it does
 * not know takes no value. */
static enum script_kind read_option(const struct interpreter *by, struct str option, bool *ret_value)
{
	*ret_value = true;
	if (takes_text(by, option))
		return SCRIPT_TEXT;
	if (list_has(by->module, option))
		return SCRIPT_MODULE;
	if (list_has(by->file, option))
		return SCRIPT_FILE;
	*ret_value = list_has(by->value, option);
	return SCRIPT_NONE;
}

struct script script_of(const struct strlist *argv)
{
	const struct script none = {SCRIPT_NONE, str_of(""), 1};
	struct str word;
	size_t i = 0, at = 0;
	if (!out_list_next(argv, &i, &at, &word))
		return (struct script){SCRIPT_NONE, str_of(""), 0};
	const struct interpreter *by = find_interpreter(word);
	enum script_kind wanted = by && by->names ? SCRIPT_MODULE : SCRIPT_FILE;
	bool skip = false, told = false, over = false;
	while (by && out_list_next(argv, &i, &at, &word)) {
		const bool option = !over && word.n > 1 && (word.p[0] == '-' || word.p[0] == '+');
		if (told)
			return (struct script){wanted, word, i};
		if (skip) {
			skip = false;
		} else if (option && str_is(word, "--")) {
			over = true;
		} else if (option) {
			enum script_kind kind = read_option(by, word, &skip);
			told = kind != SCRIPT_NONE;
			wanted = told ? kind : wanted;
			skip &= !told;
		} else if (str_is(word, "-")) {
			return none; /* its standard input */
		} else if (word.n) {
			return (struct script){wanted, word, i};
		}
	}
	return none;
}

/* ---- names ---- */

void script_path(struct str cwd, struct str name, struct buf *ret)
{
	const size_t from = ret->n;
	const struct str parts[] = {name.n && name.p[0] == '/' ? str_of("") : cwd, name};
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0, end; i < parts[k].n; i = end + 1) {
			for (end = i; end < parts[k].n && parts[k].p[end] != '/';)
				end++;
			struct str part = str_n(parts[k].p + i, end - i);
			if (!part.n || str_is(part, "."))
				continue;
			if (!str_is(part, "..")) {
				buf_char(ret, '/');
				buf_str(ret, part);
				continue;
			}
			while (ret->n > from && ret->p[--ret->n] != '/')
				;
		}
	if (ret->n == from)
		buf_char(ret, '/');
}

/* Where the machine's programs are: there the folder says nothing. */
static bool is_machine_folder(struct str path)
{
	static const char *const folders[] = {"/bin/",      "/sbin/",          "/usr/bin/",
	                                      "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"};
	struct str end = path_end(path);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (str_eq(str_n(path.p, path.n - end.n), str_of(folders[i])))
			return true;
	return false;
}

/* A file that is run: its whole path, but for the machine's own and what was looked for in PATH. */
static void put_program(struct str cwd, struct str name, bool looked_for, struct buf *ret)
{
	struct buf path = {0};
	if (looked_for && !memchr(name.p, '/', name.n)) {
		shell_quote_argument(ret, name);
		return;
	}
	if (cwd.n || (name.n && name.p[0] == '/'))
		script_path(cwd, name, &path);
	else
		buf_str(&path, name);
	struct str whole = buf_view(&path);
	shell_quote_argument(ret, looked_for && is_machine_folder(whole) ? path_end(whole) : whole);
	ret->failed |= path.failed;
	buf_release(&path);
}

/* The program, without version where it is an interpreter, and what it was told to run. */
static void put_subject(const struct strlist *argv, struct str cwd, const struct script *s, struct buf *ret)
{
	struct str program = str_of("");
	size_t i = 0, at = 0;
	out_list_next(argv, &i, &at, &program);
	if (s->kind == SCRIPT_FILE) {
		put_program(cwd, s->name, false, ret);
		return;
	}
	const struct interpreter *by = s->kind == SCRIPT_NONE ? NULL : find_interpreter(program);
	if (!by) {
		put_program(cwd, program, true, ret);
		return;
	}
	buf_printf(ret, "%s %s", by->name, s->kind == SCRIPT_TEXT ? "-c " : by->names ? "" : "-m ");
	shell_quote_argument(ret, s->name);
}

/* Appends the job's name, at most SCRIPT_JOB_MAX bytes and a hash. Nothing if it runs no program. */
void script_job_name(const struct strlist *argv, struct str cwd, struct buf *ret)
{
	const size_t from = ret->n;
	struct script s = script_of(argv);
	struct str word;
	if (!s.rest)
		return;
	put_subject(argv, cwd, &s, ret);
	for (size_t i = 0, at = 0; out_list_next(argv, &i, &at, &word);)
		if (i > s.rest) {
			buf_char(ret, ' ');
			shell_quote_argument(ret, word);
		}
	if (ret->failed || ret->n - from <= SCRIPT_JOB_MAX)
		return;
	const uint64_t whole = hash_bytes(ret->p + from, ret->n - from);
	ret->n = from + SCRIPT_JOB_MAX;
	while (ret->n > from && ((unsigned char)ret->p[ret->n] & 0xc0) == 0x80) /* not within a character */
		ret->n--;
	buf_printf(ret, "... %016" PRIx64, whole);
}
