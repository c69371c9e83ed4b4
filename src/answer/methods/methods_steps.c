#include "answer/entities.h"
#include "answer/methods/methods_int.h"
#include "base/hash.h"
#include "query/fold.h"
#include "query/stages/stages.h"

#include <errno.h>
#include <stdlib.h>

#define FILE_MARK "\x01" /* in a key, for a name of a file */

const char *const methods_role_name[METHODS_ROLES] = {
    [METHODS_PROGRAM] = "program", [METHODS_SHELL] = "shell", [METHODS_ENGINE] = "engine"};

/* Variables that change what programs compute, or in which order they print it. A name that ends with _ begins others.
 */
static const char *const variables[] = {"LANG",      "LC_",  "TZ",   "PYTHONHASHSEED",       "OMP_",
                                        "OPENBLAS_", "MKL_", "KMP_", "CUDA_VISIBLE_DEVICES", "ROCR_"};

const char *methods_next(const struct methods_texts *t, size_t *pos)
{
	if (*pos >= t->b.n)
		return NULL;
	const char *text = t->b.p + *pos;
	*pos += strlen(text) + 1;
	return text;
}

void methods_add_text(struct methods_texts *t, struct str s)
{
	buf_str(&t->b, str_n(s.p, s.n ? strnlen(s.p, s.n) : 0));
	buf_char(&t->b, '\0');
	t->n++;
}

const struct software_file *methods_step_file(const struct methods *m, const struct methods_step *step)
{
	const struct software_file *script = step->script == VEC_NONE ? NULL : &m->software.files.v[step->script];
	if (script && script->package != VEC_NONE)
		return script;
	return step->program == VEC_NONE ? NULL : &m->software.files.v[step->program];
}

void methods_step_release(struct methods_step *step)
{
	buf_release(&step->name);
	buf_release(&step->words.b);
	buf_release(&step->key.b);
	buf_release(&step->environment.b);
}

/* ---- which words are names of files ---- */

/* The last parts of the paths that an execution used or made, a NUL behind each. */
struct names {
	struct buf b;
};

/* Appends the last names of the regular files to which the edges lead. 0, -errno. */
static int add_names(struct store *s, const struct edges *e, struct names *ret)
{
	int r = 0;
	for (size_t i = 0; i < e->n && r >= 0; i++) {
		struct version_sort v;
		r = store_version_sort(s, e->v[i].to, &v);
		if (r <= 0 || v.kind != TERM_kind_regular || !v.path.n)
			continue;
		buf_str(&ret->b, str_base_name(v.path));
		buf_char(&ret->b, '\0');
	}
	return r < 0 ? r : ret->b.failed ? -ENOMEM : 0;
}

/* Finds the last names of all files that an execution read or wrote. 0, -errno. */
static int find_names(struct store *s, store_id exec, struct names *ret)
{
	struct edges e = {0};
	int r = store_uses(s, exec, &e);
	r = r < 0 ? r : add_names(s, &e, ret);
	r = r < 0 ? r : store_outputs(s, exec, &e);
	r = r < 0 ? r : add_names(s, &e, ret);
	edges_release(&e);
	return r;
}

/* Where in the word the name of a file begins; its length: it has none. --reference=FILE has it behind the sign. */
static size_t file_in_word(const struct names *names, struct str word)
{
	const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
	size_t from = equals ? (size_t)(equals + 1 - word.p) : 0;
	struct str base = str_base_name(str_n(word.p + from, word.n - from));
	for (size_t at = 0; base.n && at < names->b.n; at += strlen(names->b.p + at) + 1)
		if (str_is(base, names->b.p + at))
			return from;
	return word.n;
}

/* ---- one execution ---- */

/* Is it one of the variables that a methods section tells of? pair: NAME=VALUE. */
static bool is_variable(struct str pair)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		struct str name = str_of(variables[i]);
		bool prefix = name.p[name.n - 1] == '_';
		if (str_starts(pair, name) && (prefix || (pair.n > name.n && pair.p[name.n] == '=')))
			return true;
	}
	return false;
}

/* Fills words, key and environment from what was executed. */
static void fill_step(const struct exec_info *x, const struct names *names, struct methods_step *step)
{
	struct str s;
	size_t i = 0;
	for (size_t pos = 0; strlist_next(&x->argv, &pos, &s); i++) {
		struct str word = i ? s : str_base_name(s);
		size_t from = i ? file_in_word(names, word) : word.n;
		methods_add_text(&step->words, word);
		if (from < word.n) {
			buf_str(&step->key.b, str_n(word.p, from));
			methods_add_text(&step->key, str_of(FILE_MARK));
		} else {
			methods_add_text(&step->key, word);
		}
		if (!i)
			buf_str(&step->name, word);
	}
	for (size_t pos = 0; strlist_next(&x->env, &pos, &s);)
		if (is_variable(s))
			methods_add_text(&step->environment, s);
}

/* What an execution is for the reader: an engine, a shell that starts others, or a program of the analysis. 0,
 * -errno. */
static int role_of(struct store *s, store_id exec, enum methods_role *ret)
{
	enum fold_class class = FOLD_program;
	enum stage_engine engine = ENGINE_NONE;
	int r = fold_class(s, exec, &class);
	r = r < 0 ? r : stages_engine(s, exec, &engine);
	*ret = engine != ENGINE_NONE && engine != ENGINE_JUPYTER                          ? METHODS_ENGINE
	       : fold_is_shell(class) || fold_is_starter(class) || class == FOLD_launcher ? METHODS_SHELL
	                                                                                  : METHODS_PROGRAM;
	return r < 0 ? r : 0;
}

/* The place of the file in the software; VEC_NONE. 0, -errno. */
static int place_of(struct store *s, const struct methods *m, store_id exec, store_id file, uint32_t *ret)
{
	store_id version;
	int r = software_version_used(s, exec, file, &version);
	const struct software_file *f = r < 0 ? NULL : software_of(&m->software, file, version);
	*ret = f ? (uint32_t)(f - m->software.files.v) : VEC_NONE;
	return r;
}

/* Makes a step of an execution. 1; 0: there is no such execution, or it is no program; -errno. ret is to be released
 * in any case. */
static int make_step(struct store *s, const struct methods *m, store_id exec, struct methods_step *ret)
{
	struct names names = {0};
	struct exec_info x;
	*ret = (struct methods_step){.exec = exec, .times = 1, .program = VEC_NONE, .script = VEC_NONE};
	int r = role_of(s, exec, &ret->role);
	r = r < 0 ? r : find_names(s, exec, &names);
	r = r < 0 ? r : store_exec(s, exec, &x);
	if (r > 0 && x.n) {
		store_id exe = x.exe, script = x.script;
		fill_step(&x, &names, ret);
		ret->start = x.start;
		ret->pub = x.pub;
		r = place_of(s, m, exec, exe, &ret->program);
		r = r < 0 ? r : place_of(s, m, exec, script, &ret->script);
		r = r < 0 ? r : 1;
		if (ret->name.failed || ret->words.b.failed || ret->key.b.failed || ret->environment.b.failed)
			r = -ENOMEM;
	} else if (r > 0) {
		r = 0;
	}
	buf_release(&names.b);
	return r;
}

/* ---- equal ones ---- */

/* Did both run the same program or script, with the same words and variables, so that they are one step? */
static bool is_same_step(const struct methods_step *a, const struct methods_step *b)
{
	return a->role == b->role && a->program == b->program && a->script == b->script &&
	       str_eq(buf_view(&a->key.b), buf_view(&b->key.b)) &&
	       str_eq(buf_view(&a->environment.b), buf_view(&b->environment.b));
}

/* What is shown of two words that name different files: what stands before the name, and the ending that both have. */
static void append_common(struct buf *b, const char *x, const char *y, size_t before)
{
	static const char dots[] = "\xe2\x80\xa6";
	const char *ending = strrchr(x, '.'), *other = strrchr(y, '.');
	bool same = ending && other && strcmp(ending, other) == 0 && !strchr(ending, '/');
	buf_add(b, x, before);
	buf_printf(b, "%s%s", dots, same ? ending : "");
}

/* Words in which they differ become what both have. b is to be thrown away afterwards. */
static void merge_words(struct methods_step *a, const struct methods_step *b)
{
	struct buf merged = {0};
	const char *x, *y, *key;
	size_t at_x = 0, at_y = 0, at_key = 0;
	while ((x = methods_next(&a->words, &at_x)) && (y = methods_next(&b->words, &at_y)) &&
	       (key = methods_next(&a->key, &at_key))) {
		size_t before = strcspn(key, FILE_MARK);
		if (strcmp(x, y) == 0)
			buf_str(&merged, str_of(x));
		else
			append_common(&merged, x, y, before < strlen(x) ? before : 0);
		buf_char(&merged, '\0');
	}
	buf_release(&a->words.b);
	a->words.b = merged;
}

int methods_add_step(struct store *s, struct methods *m, store_id exec, bool sure)
{
	struct methods_step step;
	int r = make_step(s, m, exec, &step);
	step.sure = sure;
	for (size_t i = 0; r > 0 && i < m->steps.n; i++) {
		struct methods_step *has = &m->steps.v[i];
		if (!is_same_step(has, &step))
			continue;
		merge_words(has, &step);
		has->times++;
		has->sure |= sure;
		if (step.start < has->start || (step.start == has->start && strcmp(step.pub.text, has->pub.text) < 0)) {
			has->start = step.start;
			has->exec = step.exec;
			has->pub = step.pub;
		}
		r = has->words.b.failed ? -ENOMEM : 0;
	}
	struct methods_step *to = r > 0 ? vec_add(&m->steps) : NULL;
	if (to) {
		*to = step;
		return 0;
	}
	methods_step_release(&step);
	return r > 0 ? -ENOMEM : r;
}

/* Order of qsort: by start. */
static int compare_steps(const void *a, const void *b)
{
	const struct methods_step *x = a, *y = b;
	return x->start != y->start ? (x->start < y->start ? -1 : 1) : strcmp(x->pub.text, y->pub.text);
}

void methods_order_steps(struct methods *m)
{
	if (m->steps.n)
		qsort(m->steps.v, m->steps.n, sizeof(*m->steps.v), compare_steps);
}
