/* stages_make.c - targets of make and ninja: what one recipe made, of which an argument says which file was meant. */
#include "base/map.h"
#include "base/os/engine_paths.h"
#include "query/stages/stages_int.h"

#include <errno.h>

/* How well an output fits to be the target. */
enum fit { FIT_MADE, FIT_NAMED, FIT_OPTION };

struct target {
	struct stage_run *r;
	struct buf path, cwd; /* of the best so far; where its recipe began */
	enum fit fit;
	store_id exec;
	struct buf args; /* of the execution: as absolute paths, with NUL behind each; a byte before each: its fit */
	struct stages_ninja log;
	uint32_t log_of;     /* the engine whose log that is */
	struct idmap stages; /* hash of engine and target -> stage + 1 */
};

/* ---- words of arguments ---- */

/* Whether a word of a command ends here; the end of the text, too. */
static bool ends_word(char c)
{
	return !c || strchr(" \t\n;|&<>()\"'`", c);
}

/* A word as a path without "." and "//". ".." stays: nothing made is called so in the record. */
static void add_word(struct buf *b, struct str cwd, struct str word, enum fit fit)
{
	buf_char(b, (char)('0' + fit));
	if (*word.p != '/')
		buf_str(b, cwd);
	for (size_t i = 0; i < word.n;) {
		size_t n = 0;
		while (i + n < word.n && word.p[i + n] != '/')
			n++;
		if (n && !(n == 1 && word.p[i] == '.')) {
			buf_char(b, '/');
			buf_str(b, str_n(word.p + i, n));
		}
		i += n + 1;
	}
	buf_char(b, '\0');
}

/* An argument may be the text of a shell: each of its words is one. */
static void add_words(struct buf *b, struct str cwd, struct str arg, bool *behind_o)
{
	for (size_t i = 0; i < arg.n;) {
		size_t n = 0;
		while (i + n < arg.n && !ends_word(arg.p[i + n]))
			n++;
		struct str word = str_n(arg.p + i, n);
		if (n && str_starts(word, str_of("-o")) && n > 2 && word.p[2] != '-')
			add_word(b, cwd, str_n(word.p + 2, n - 2), FIT_OPTION);
		else if (n)
			add_word(b, cwd, word, *behind_o ? FIT_OPTION : FIT_NAMED);
		if (n)
			*behind_o = str_is(word, "-o");
		if (i + n < arg.n && arg.p[i + n] == '>')
			*behind_o = true;
		i += n + 1;
	}
}

/* The arguments of an execution of the unit, as paths, into t->args. -errno, or 0. */
static int load_words(struct target *t, store_id exec)
{
	struct exec_info x;
	struct str arg;
	bool behind_o = false;
	buf_reset(&t->args);
	int r = store_exec(t->r->st->s, exec, &x);
	for (size_t pos = 0; r > 0 && strlist_next(&x.argv, &pos, &arg);)
		add_words(&t->args, x.cwd, arg, &behind_o);
	if (r > 0 && !t->cwd.n)
		buf_str(&t->cwd, x.cwd);
	return r < 0 ? r : t->args.failed || t->cwd.failed ? -ENOMEM : 0;
}

/* How well the path fits what the unit's commands say that they make. */
static enum fit fit_of(const struct target *t, struct str path)
{
	enum fit best = FIT_MADE;
	for (const char *p = t->args.p, *end = p + t->args.n; p < end;) {
		struct str word = str_of(p + 1);
		if (str_eq(word, path) && *p - '0' > (int)best)
			best = (enum fit)(*p - '0');
		p = word.p + word.n + 1;
	}
	return best;
}

/* ---- outputs of a recipe ---- */

/* arg: struct target; keeps the best of the outputs. 0 or -errno. */
static int take_output(void *arg, store_id exec, store_id version, struct str path)
{
	struct target *t = arg;
	struct version_sort v;
	struct file_info f;
	int r = store_version_sort(t->r->st->s, version, &v);
	if (r > 0)
		r = store_file(t->r->st->s, v.file, &f);
	(void)path; /* gone with the next question */
	if (r <= 0 || !f.named || engine_own_file(f.path))
		return r < 0 ? r : 0;
	if (t->exec != exec) {
		t->exec = exec;
		r = load_words(t, exec);
		if (r < 0)
			return r;
	}
	enum fit fit = fit_of(t, f.path);
	if (t->path.n && fit < t->fit)
		return 0; /* of two that fit alike the one that was made last: what came before is on the way to it */
	buf_reset(&t->path);
	buf_str(&t->path, f.path);
	t->fit = fit;
	return t->path.failed ? -ENOMEM : 0;
}

/* The arguments of the recipe's shell name the target, too, where a program below it does not: cat a b > c. -errno, or
 * 0. Uses t->path, t->cwd, t->args. */
static int look_at_unit(struct target *t, uint32_t u)
{
	struct stage_run *r = t->r;
	int ret = 0;
	buf_reset(&t->path);
	buf_reset(&t->cwd);
	t->exec = 0;
	for (uint32_t i = r->head[u]; i != NOT_THERE && ret == 0; i = r->next[i])
		ret = stages_outputs(r->st, r->x[i].id, take_output, t);
	for (uint32_t i = r->head[u]; i != NOT_THERE && ret == 0 && t->path.n && t->fit == FIT_MADE; i = r->next[i]) {
		ret = r->x[i].image ? load_words(t, r->x[i].id) : 0;
		t->fit = ret == 0 ? fit_of(t, buf_view(&t->path)) : t->fit;
	}
	return ret;
}

/* ---- ninja's log: start, end, mtime, output, hash of the command ---- */

struct log_at {
	struct target *t;
	store_id version;
	struct buf folder;
};

/* arg: struct log_at; keeps the version of the log, and its folder. Always 0: go on. */
static int ask_ninja_log(void *arg, store_id exec, store_id version, struct str path)
{
	struct log_at *a = arg;
	(void)exec;
	if (!str_is(str_base_name(path), ".ninja_log"))
		return 0;
	a->version = version;
	buf_reset(&a->folder);
	buf_str(&a->folder, str_n(path.p, path.n - strlen(".ninja_log")));
	return 0;
}

/* The log that the engine wrote, once for each. 0 or -errno. */
static int load_ninja_log(struct target *t, uint32_t e)
{
	struct log_at a = {.t = t};
	struct buf text = {0};
	if (t->log_of == e || t->r->x[e].engine != ENGINE_NINJA)
		return 0;
	t->log_of = e;
	stages_ninja_release(&t->log);
	int r = stages_outputs(t->r->st, t->r->x[e].id, ask_ninja_log, &a);
	if (r == 0 && a.version)
		r = stages_read(t->r->st, a.version, &text);
	if (r > 0)
		r = stages_ninja_parse(&t->log, buf_view(&a.folder), buf_view(&text));
	buf_release(&text);
	buf_release(&a.folder);
	return r;
}

/* The target of ninja's log instead of the output that was found; 1 it is there, 0 not. */
static int take_logged(struct target *t, uint32_t e)
{
	const char *first = t->log_of == e ? stages_ninja_first(&t->log, buf_view(&t->path)) : NULL;
	if (!first)
		return 0;
	buf_reset(&t->path);
	buf_str(&t->path, str_of(first));
	return 1;
}

/* ---- stages ---- */

/* The target's path below the working directory, as the recipe would call it. */
static struct str below_cwd(const struct target *t)
{
	struct str path = buf_view(&t->path), cwd = buf_view(&t->cwd);
	bool below = cwd.n > 1 && str_starts(path, cwd) && path.n > cwd.n + 1 && path.p[cwd.n] == '/';
	return below ? str_n(path.p + cwd.n + 1, path.n - cwd.n - 1) : path;
}

/* The unit is a stage by the target that it made. 0 or -errno. */
static int name_target(struct target *t, uint32_t u)
{
	struct stage_run *r = t->r;
	uint32_t e = r->x[u].under;
	bool is_new;
	int ret = load_ninja_log(t, e);
	if (ret == 0)
		ret = look_at_unit(t, u);
	if (ret < 0 || !t->path.n)
		return ret;
	bool logged = take_logged(t, e);
	uint32_t stage;
	uint32_t *at = idmap_add(&t->stages, stages_path_hash(hash_mix(1, r->x[e].id), buf_view(&t->path)), 0, &is_new);
	if (!at || t->path.failed)
		return -ENOMEM;
	if (is_new) {
		struct stage *g = stages_add(r->st, &stage);
		if (!g)
			return -ENOMEM;
		*at = stage + 1;
		*g = (struct stage){.kind = STAGE_TARGET,
		                    .engine = (enum stage_engine)r->x[e].engine,
		                    .named = logged               ? NAMED_LOG
		                             : t->fit == FIT_MADE ? NAMED_OUTPUT
		                                                  : NAMED_ARGUMENTS,
		                    .name = stages_keep(r->st, below_cwd(t)),
		                    .workflow = r->x[e].id};
	}
	return stages_join(r, u, *at - 1);
}

int stages_name_targets(struct stage_run *r)
{
	struct target t = {.r = r, .log_of = NOT_THERE};
	int ret = 0;
	for (uint32_t u = 0; u < r->n && ret == 0; u++)
		if (r->x[u].unit == u && r->x[u].under != NOT_THERE &&
		    (r->x[u].kind == ENGINE_MAKE || r->x[u].kind == ENGINE_NINJA))
			ret = name_target(&t, u);
	buf_release(&t.path);
	buf_release(&t.cwd);
	buf_release(&t.args);
	stages_ninja_release(&t.log);
	idmap_release(&t.stages);
	return ret;
}
