#include "query/fold.h"

#include <ctype.h>

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

/* The class of the name that the program was called by: one program of many names goes by that. */
static enum fold_class class_by_call(const struct exec_brief *x, enum fold_class otherwise)
{
	struct str name;
	size_t pos = 0;
	if (!strlist_next(&x->argv, &pos, &name) || !name.n)
		return otherwise;
	name = str_base_name(name);
	if (*name.p == '-') /* a login shell */
		name = str_n(name.p + 1, name.n - 1);
	return find_fold_class(name);
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

/* What the execution's program is in folding, by its script or its own name. 0 or -errno. */
static int load_fold_class(struct store *s, const struct exec_brief *x, enum fold_class *ret)
{
	struct str name = {0};
	struct file_info f;
	bool script = x->script != 0;
	int r = script ? store_file(s, x->script, &f) : 0;
	enum fold_class named = r > 0 ? find_fold_class(str_base_name(f.path)) : FOLD_program;
	if (named == FOLD_driver || named == FOLD_launcher) {
		*ret = named; /* as mpicc often is, and parallel */
		return 1;
	}
	if (r > 0 && is_shim(f.path)) {
		*ret = FOLD_wrapper;
		return 1;
	}
	r = r >= 0 && x->exe ? store_file(s, x->exe, &f) : r;
	if (r < 0)
		return r;
	if (r > 0)
		name = str_base_name(f.path);
	enum fold_class c = find_fold_class(name);
	if (c == FOLD_program && !script)
		c = class_by_call(x, c);
	if (c == FOLD_shell && !script)
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
	return load_fold_class(s, &x, ret);
}

int fold_representative(struct store *s, store_id exec, store_id *ret)
{
	store_id rep = 0, at = exec;
	bool fork = true; /* no exec was met yet */
	for (int i = 0; i < ABOVE && at; i++) {
		struct exec_brief x;
		enum fold_class c = FOLD_program;
		int r = store_exec_brief(s, at, &x);
		store_id parent = r > 0 ? x.parent : 0;
		if (r > 0 && x.n)
			r = load_fold_class(s, &x, &c);
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

/* Can a version of the file be between the parts of one program alone: a pipe, a socket without an address, a file that
 * has no name any more? */
static bool may_be_private(const struct file_info *f)
{
	if (f->kind == TERM_kind_socket)
		return !str_starts(f->path, str_of("inet:")) && !str_starts(f->path, str_of("unix:"));
	return f->kind == TERM_kind_pipe || (f->kind == TERM_kind_regular && !f->named);
}

/* The script that an execution, which is no fork, is the shim of: 1, 0, -errno. */
static int runs_shim(struct store *s, const struct exec_brief *x)
{
	struct file_info f;
	int r = x->n && x->script ? store_file(s, x->script, &f) : 0;
	return r > 0 ? is_shim(f.path) : r < 0 ? r : x->n && is_given_shim(&x->argv);
}

int fold_helps_shim(struct store *s, store_id exec)
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
		int shim = r > 0 ? runs_shim(s, &x) : r;
		if (shim > 0 && (r = store_exec(s, at, &above)) > 0)
			return above.pid != pid || above.started != started; /* else it is what the shim became */
		if (r <= 0 || shim < 0 || x.n)
			return r < 0 ? r : shim < 0 ? shim : 0;
		at = parent;
	}
	return r < 0 ? r : 0;
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
