#include "query/fold.h"

#include <ctype.h>
#include <errno.h>

#define ABOVE 64 /* forks and execs that are followed upwards */

static const struct {
	enum fold_class class;
	struct str name;
} table[] = {
#define FOLD(class, name) {FOLD_##class, {name, sizeof(name) - 1}},
#include "query/fold.def"
#undef FOLD
};

/* Without the version behind a program's name: gcc-12, clang-15.0, python3.11. */
static struct str without_version(struct str s)
{
	size_t n = s.n;
	while (n && (isdigit((unsigned char)s.p[n - 1]) || s.p[n - 1] == '.'))
		n--;
	return n && n < s.n && s.p[n - 1] == '-' ? str_n(s.p, n - 1) : s;
}

/* By the table, which names drivers without a version or a prefix like x86_64-linux-gnu-; FOLD_program: it is not
 * there. */
static enum fold_class find_fold_class(struct str name)
{
	struct str plain = without_version(name);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (str_eq(table[i].name, name))
			return table[i].class;
		if (table[i].class != FOLD_driver || !str_ends(plain, table[i].name))
			continue;
		if (plain.n == table[i].name.n || plain.p[plain.n - table[i].name.n - 1] == '-')
			return FOLD_driver;
	}
	return FOLD_program;
}

bool fold_is_shell(enum fold_class c)
{
	return c == FOLD_shell || c == FOLD_command;
}

bool fold_is_starter(enum fold_class c)
{
	return c == FOLD_command || c == FOLD_wrapper;
}

/* Was a shell given its commands as an argument? */
static bool has_commands(const struct strlist *argv)
{
	struct str arg;
	size_t pos = 0;
	if (!strlist_next(argv, &pos, &arg))
		return false;
	while (strlist_next(argv, &pos, &arg) && arg.n > 1 && (*arg.p == '-' || *arg.p == '+')) {
		if (*arg.p == '-' && arg.p[1] != '-' && memchr(arg.p, 'c', arg.n))
			return true;
	}
	return false;
}

/* The class of the name that the program was called by: one program of many names goes by that. m may be NULL. */
static enum fold_class class_by_call(struct fold_memo *m, const struct exec_brief *x, enum fold_class otherwise)
{
	struct str name;
	size_t pos = 0;
	if (!strlist_next(&x->argv, &pos, &name) || !name.n)
		return otherwise;
	name = str_base_name(name);
	if (*name.p == '-') /* a login shell */
		name = str_n(name.p + 1, name.n - 1);
	if (m && m->called.n && str_eq(buf_view(&m->called), name))
		return m->called_class;
	enum fold_class c = find_fold_class(name);
	if (m) {
		m->called_class = c;
		buf_reset(&m->called);
		buf_str(&m->called, name);
		if (m->called.failed)
			buf_reset(&m->called);
	}
	return c;
}

/* Is it a script that only chooses an interpreter, and becomes it? */
static bool is_shim(struct str path)
{
	static const char *const folders[] = {"/shims/", "/libexec/"};
	static const char *const managers[] = {"/.pyenv", "/.rbenv", "/.nodenv", "/.asdf", "/mise"};
	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++)
		for (size_t k = 0; k < sizeof(folders) / sizeof(folders[0]); k++) {
			size_t n = strlen(managers[i]);
			const char *at = path.n ? memmem(path.p, path.n, managers[i], n) : NULL;
			if (at && str_starts(str_n(at + n, (size_t)(path.p + path.n - at) - n), str_of(folders[k])))
				return true;
		}
	return false;
}

/* Does a shell run such a script, which it was given by name, as `env bash SCRIPT` does? */
static bool is_given_shim(const struct strlist *argv)
{
	struct str arg;
	size_t pos = 0;
	return strlist_next(argv, &pos, &arg) && strlist_next(argv, &pos, &arg) && is_shim(arg);
}

/* What the name of a file says of who runs it. */
struct program {
	enum fold_class class;
	bool shim;
};

/* Finds which program a file is, by the table fold.def. m may be NULL. *ret is {FOLD_program} where the record does
 * not have the file. 0 or -errno. */
static int load_program(struct store *s, struct fold_memo *m, store_id file, struct program *ret)
{
	enum { SHIM = 16 }; /* a bit above all classes */
	struct file_info f;
	bool is_new;
	uint32_t *known = m && file ? idmap_find(&m->programs, file) : NULL;
	if (known) {
		*ret = (struct program){(enum fold_class)(*known & (SHIM - 1)), *known & SHIM};
		return 0;
	}
	*ret = (struct program){FOLD_program, false};
	int r = file ? store_file(s, file, &f) : 0;
	if (r > 0)
		*ret = (struct program){find_fold_class(str_base_name(f.path)), is_shim(f.path)};
	if (r > 0 && m && !idmap_add(&m->programs, file, ret->class | (ret->shim ? SHIM : 0), &is_new))
		return -ENOMEM;
	return r < 0 ? r : 0;
}

/* What the execution's program is in folding, by its script or its own name. m may be NULL. 1 or -errno. */
static int load_fold_class(struct store *s, struct fold_memo *m, const struct exec_brief *x, enum fold_class *ret)
{
	struct program script, exe;
	int r = load_program(s, m, x->script, &script);
	if (r < 0)
		return r;
	if (script.class == FOLD_driver || script.class == FOLD_launcher) {
		*ret = script.class; /* as mpicc often is, and parallel */
		return 1;
	}
	if (script.shim) {
		*ret = FOLD_wrapper;
		return 1;
	}
	r = load_program(s, m, x->exe ? x->exe : x->script, &exe);
	if (r < 0)
		return r;
	enum fold_class c = exe.class;
	if (c == FOLD_program && !x->script)
		c = class_by_call(m, x, c);
	if (c == FOLD_shell && !x->script)
		c = has_commands(&x->argv) ? FOLD_command : is_given_shim(&x->argv) ? FOLD_wrapper : c;
	*ret = c;
	return 1;
}

int fold_class(struct store *s, store_id exec, enum fold_class *ret)
{
	struct exec_brief x;
	int r = 1;
	for (int i = 0; i < ABOVE; i++) {
		r = store_exec_brief(s, exec, &x);
		if (r <= 0)
			return r;
		if (x.n || !x.parent)
			break;
		exec = x.parent;
	}
	return load_fold_class(s, NULL, &x, ret);
}

int fold_representative_of(struct store *s, struct fold_memo *m, store_id exec, store_id *ret)
{
	store_id rep = 0, at = exec;
	bool fork = true; /* no exec was met yet */
	for (int i = 0; i < ABOVE && at; i++) {
		struct exec_brief x;
		enum fold_class c = FOLD_program;
		int r = store_exec_brief(s, at, &x);
		store_id parent = r > 0 ? x.parent : 0;
		if (r > 0 && x.n)
			r = load_fold_class(s, m, &x, &c);
		if (r < 0 || (r == 0 && at == exec))
			return r;
		if (c == FOLD_driver || (c == FOLD_program && fork && x.n))
			rep = at;
		else if (c != FOLD_program)
			break; /* what a shell starts is on its own, also below a driver that runs one */
		fork &= !x.n;
		at = parent;
	}
	*ret = rep ? rep : exec;
	return 1;
}

int fold_representative(struct store *s, store_id exec, store_id *ret)
{
	return fold_representative_of(s, NULL, exec, ret);
}

/* Can a version of the file be between the parts of one program alone: a pipe, a socket without an address, a file that
 * has no name any more? */
static bool may_be_private(const struct file_info *f)
{
	if (f->kind == TERM_kind_socket)
		return !str_starts(f->path, str_of("inet:")) && !str_starts(f->path, str_of("unix:"));
	return f->kind == TERM_kind_pipe || (f->kind == TERM_kind_regular && !f->named);
}

/* Is the execution, which is no fork, that of a shim's script? m may be NULL. 1, 0, -errno. */
static int runs_shim(struct store *s, struct fold_memo *m, const struct exec_brief *x)
{
	struct program script;
	int r = load_program(s, m, x->n ? x->script : 0, &script);
	return r < 0 ? r : script.shim || (x->n && is_given_shim(&x->argv));
}

/* Did a shim (pyenv's, rbenv's, ...) start the execution to find out which interpreter it is to become? 1, 0, -errno.
 */
static int fold_helps_shim(struct store *s, store_id exec)
{
	struct exec_info self, above;
	struct exec_brief x;
	int r = store_exec(s, exec, &self);
	uint64_t pid = self.pid;
	int64_t started = self.started;
	store_id at = r > 0 ? self.parent : 0;
	for (int i = 0; i < ABOVE && at && r > 0; i++) {
		r = store_exec_brief(s, at, &x);
		store_id parent = r > 0 ? x.parent : 0;
		int shim = r > 0 ? runs_shim(s, NULL, &x) : r;
		if (shim > 0 && (r = store_exec(s, at, &above)) > 0)
			return above.pid != pid || above.started != started; /* else it is what the shim became */
		if (r <= 0 || shim < 0 || x.n)
			return r < 0 ? r : shim < 0 ? shim : 0;
		at = parent;
	}
	return r < 0 ? r : 0;
}

/* ---- each of many ---- */

/* One step of a walk upwards. */
struct step {
	store_id exec;
	enum fold_class class;
	bool fork, shim;
};

/* Reads an execution and what is above it. 1: *ret is the execution, *ret_parent what is above it; 0: there is none;
 * -errno. */
static int load_step(struct store *s, struct fold_memo *m, store_id exec, struct step *ret, store_id *ret_parent)
{
	struct exec_brief x;
	int r = store_exec_brief(s, exec, &x);
	if (r <= 0)
		return r;
	*ret = (struct step){.exec = exec, .class = FOLD_program, .fork = !x.n};
	*ret_parent = x.parent;
	if (ret->fork)
		return 1;
	r = load_fold_class(s, m, &x, &ret->class);
	int shim = r > 0 ? runs_shim(s, m, &x) : r;
	ret->shim = shim > 0;
	return shim < 0 ? shim : 1;
}

/* Steps from the lowest to the highest, and what was known of what is above them: adds them up, and remembers it of
 * those that can be above many. 1 or -ENOMEM. */
static int add_up_steps(struct fold_memo *m, const struct step *v, size_t n, struct fold_above *above)
{
	bool is_new;
	while (n--) {
		above->steps++;
		if (!above->driver && v[n].class == FOLD_driver)
			above->driver = v[n].exec;
		if (v[n].fork)
			continue;
		above->shim = v[n].shim ? v[n].exec : 0;
		struct fold_above *p = vec_add(&m->above);
		if (!p || !idmap_add(&m->places, v[n].exec, (uint32_t)m->above.n - 1, &is_new))
			return -ENOMEM;
		*p = *above;
	}
	return 1;
}

/* What is above, from `at` on. 1; 0: it is more than ABOVE executions; -errno. */
static int find_above(struct store *s, struct fold_memo *m, store_id at, struct fold_above *ret)
{
	struct step v[ABOVE];
	size_t n = 0;
	*ret = (struct fold_above){0};
	while (at && n < ABOVE) {
		const uint32_t *known = idmap_find(&m->places, at);
		if (known) {
			*ret = m->above.v[*known];
			at = 0;
			break;
		}
		int r = load_step(s, m, at, &v[n], &at);
		if (r < 0)
			return r;
		if (r == 0 || (v[n].class != FOLD_program && v[n].class != FOLD_driver)) {
			n += r > 0;
			at = 0;
			break;
		}
		n++;
	}
	if (at)
		return 0;
	int r = add_up_steps(m, v, n, ret);
	return r < 0 ? r : ret->steps < ABOVE;
}

/* Is the execution shown by itself? As fold_stands_alone, step by step. 1, 0, -errno. */
static int stands_alone_plainly(struct store *s, store_id exec)
{
	enum fold_class class;
	store_id rep;
	int r = fold_representative(s, exec, &rep);
	if (r > 0 && rep != exec)
		return 0;
	if (r > 0)
		r = fold_class(s, exec, &class);
	if (r <= 0 || fold_is_starter(class))
		return r < 0 ? r : 0;
	r = fold_helps_shim(s, exec);
	return r < 0 ? r : !r;
}

int fold_stands_alone(struct store *s, struct fold_memo *m, store_id exec)
{
	struct fold_above above;
	struct exec_brief x;
	enum fold_class class;
	int r = store_exec_brief(s, exec, &x);
	if (r <= 0)
		return r;
	store_id parent = x.parent;
	if (!x.n)
		return stands_alone_plainly(s, exec);
	r = load_fold_class(s, m, &x, &class);
	if (r < 0 || fold_is_starter(class))
		return r < 0 ? r : 0;
	r = find_above(s, m, parent, &above);
	if (r < 0)
		return r;
	if (r == 0 || above.shim)
		return stands_alone_plainly(s, exec);
	return !(above.driver && (class == FOLD_program || class == FOLD_driver));
}

void fold_memo_release(struct fold_memo *m)
{
	idmap_release(&m->programs);
	idmap_release(&m->places);
	vec_release(&m->above);
	buf_release(&m->called);
}

/* Had the file, which has no name any more, its last one still when rep had ended? Then it was left there, and somebody
 * else took it away. 1, 0, -errno. */
static int was_left(struct store *s, store_id file, store_id rep)
{
	struct exec_info x;
	struct file_info f;
	int r = store_exec(s, rep, &x);
	if (r <= 0 || x.end == TIME_NONE || x.end == TIME_NEVER)
		return r < 0 ? r : 0;
	int64_t end = x.end;
	r = store_file(s, file, &f);
	return r > 0 && f.kind == TERM_kind_regular ? store_named_at(s, file, f.path, end) : r < 0 ? r : 0;
}

int fold_private(struct store *s, store_id version, store_id rep)
{
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	int r = store_version(s, version, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r <= 0 || v.origin != ORIGIN_OBSERVED || !may_be_private(&f))
		return r < 0 ? r : 0;
	r = was_left(s, v.file, rep);
	if (r != 0)
		return r < 0 ? r : 0;
	r = 1;
	for (int side = 0; side < 2 && r > 0; side++) {
		r = side ? store_readers(s, version, &e) : store_gens(s, version, &e);
		r = r < 0 ? r : 1;
		for (size_t i = 0; i < e.n && r > 0; i++) {
			store_id other;
			r = fold_representative(s, e.v[i].to, &other);
			if (r > 0)
				r = other == rep;
		}
	}
	edges_release(&e);
	return r;
}
