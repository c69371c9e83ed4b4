/* diff_build_match.c - two records of builds side by side. */
#include "answer/diff/diff_build_match.h"

#include "base/vec.h"
#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- flags ---- */

struct tokens {
	VEC(char *) t;
	struct arena bytes;
};

/* A copy of a, or of "a b" where b is not NULL. 0, -ENOMEM. */
static int token_add(struct tokens *k, const char *a, const char *b)
{
	size_t na = strlen(a), nb = b ? strlen(b) : 0;
	char **slot = vec_add(&k->t), *p = slot ? arena_take(&k->bytes, na + nb + 2) : NULL;
	if (!p) {
		k->t.n -= slot != NULL;
		return -ENOMEM;
	}
	memcpy(p, a, na + 1);
	if (b) {
		p[na] = ' ';
		memcpy(p + na + 1, b, nb + 1);
	}
	*slot = p;
	return 0;
}

static void release_flag_tokens(struct tokens *k)
{
	vec_release(&k->t);
	arena_release(&k->bytes);
}

/* v ends with NULL. */
static bool is_one_of_words(const char *word, const char *const *v)
{
	for (; *v; v++)
		if (strcmp(word, *v) == 0)
			return true;
	return false;
}

/* Flags that are followed by a value, and those of them that only say what files are called. */
static const char *const with_value[] = {"-I",         "-L",       "-l",       "-x",       "-isystem",  "-iquote",
                                         "-idirafter", "-include", "-imacros", "-Xlinker", "-Xclang",   "-Xassembler",
                                         "-T",         "-u",       "-z",       "--param",  "-isysroot", "-arch",
                                         "-target",    "-J",       "-e",       NULL};
static const char *const naming[] = {"-o", "-MF", "-MT", "-MQ", "-MJ", NULL};
static const char *const quiet[] = {"-c", "-MD", "-MMD", "-MP", "-M", "-MM", NULL};

/* Is the word an input of the build? By the last part of the name alone. */
static bool is_input(const struct build *b, const char *word)
{
	const char *last = str_base_name(str_of(word)).p;
	for (size_t i = 0; i < b->in.n; i++)
		if (strcmp(str_base_name(str_of(b->in.v[i].path)).p, last) == 0)
			return true;
	return false;
}

/* Collects the options of a build: all that is neither a name of a file nor a define. Nor where the output goes. 0,
 * -ENOMEM. */
static int collect_flags(const struct build *b, struct tokens *ret)
{
	int r = 0;
	for (size_t i = 1; r == 0 && b->args[0] && b->args[i]; i++) {
		const char *s = b->args[i], *next = b->args[i + 1];
		if (s[0] != '-' || !s[1]) {
			if (s[0] != '-' && !is_input(b, s))
				r = token_add(ret, s, NULL);
		} else if (s[1] == 'D' || s[1] == 'U') {
			i += !s[2] && next;
		} else if (is_one_of_words(s, naming)) {
			i += next != NULL;
		} else if (strncmp(s, "-o", 2) != 0 && !is_one_of_words(s, quiet)) {
			bool value = next && is_one_of_words(s, with_value);
			r = token_add(ret, s, value ? next : NULL);
			i += value;
		}
	}
	return r;
}

/* Collects the macros that a build defines, each as -DNAME=VALUE or -UNAME, however it was written. 0, -ENOMEM. */
static int defines_of(const struct build *b, struct tokens *ret)
{
	const char *name;
	bool undef;
	int r = 0;
	for (size_t pos = 0; r == 0 && (name = build_define(b, &pos, &undef));) {
		char head[3] = {'-', undef ? 'U' : 'D', '\0'};
		struct buf one = {0};
		buf_printf(&one, "%s%s", head, name);
		r = one.failed ? -ENOMEM : token_add(ret, buf_cstr(&one), NULL);
		buf_release(&one);
	}
	return r;
}

/* Appends the words with blanks between, but for those that taken says; taken may be NULL: all. */
static void join_tokens(const struct tokens *k, const bool *taken, struct buf *out)
{
	for (size_t i = 0; i < k->t.n; i++)
		if (!taken || !taken[i])
			buf_printf(out, "%s%s", out->n ? " " : "", k->t.v[i]);
}

/* What each has more of than the other; where that is nothing, another order is a difference too. 0, -ENOMEM, or what
 * `each` returned below 0. */
static int match_tokens(const struct tokens *a, const struct tokens *b, const char *part, build_part *each, void *arg)
{
	bool *in_a = calloc(a->t.n + 1, sizeof(*in_a)), *in_b = calloc(b->t.n + 1, sizeof(*in_b));
	bool ordered = a->t.n == b->t.n;
	size_t common = 0;
	int r = in_a && in_b ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < a->t.n; i++) {
		ordered = ordered && strcmp(a->t.v[i], b->t.v[i]) == 0;
		for (size_t k = 0; k < b->t.n && !in_a[i]; k++)
			if (!in_b[k] && strcmp(a->t.v[i], b->t.v[k]) == 0) {
				in_a[i] = in_b[k] = true;
				common++;
			}
	}
	if (r == 0 && !ordered) {
		bool moved = common == a->t.n && common == b->t.n;
		struct buf before = {0}, after = {0};
		join_tokens(a, moved ? NULL : in_a, &before);
		join_tokens(b, moved ? NULL : in_b, &after);
		r = before.failed || after.failed ? -ENOMEM
		                                  : each(arg, part, moved ? "order" : "", before.n ? buf_cstr(&before) : NULL,
		                                         after.n ? buf_cstr(&after) : NULL);
		buf_release(&before);
		buf_release(&after);
	}
	free(in_a);
	free(in_b);
	return r;
}

/* `of` takes from each command the words that are compared. As match_tokens. 0, or what each or match_tokens gives. */
static int match_words(const struct build *a, const struct build *b, int (*of)(const struct build *, struct tokens *),
                       const char *part, build_part *each, void *arg)
{
	struct tokens ta = {0}, tb = {0};
	int r = of(a, &ta);
	r = r < 0 ? r : of(b, &tb);
	r = r < 0 ? r : match_tokens(&ta, &tb, part, each, arg);
	release_flag_tokens(&ta);
	release_flag_tokens(&tb);
	return r;
}

/* ---- the rest of a command ---- */

/* Calls each where the texts differ, with NULL for an empty one. 0 if they are the same, else what each gives. */
static int match_text(const char *part, const char *a, const char *b, build_part *each, void *arg)
{
	return strcmp(a, b) == 0 ? 0 : each(arg, part, "", a[0] ? a : NULL, b[0] ? b : NULL);
}

/* Room is used only where there is a digest. */
static const char *digest_words(const struct build_file *f, char room[DIGEST_TEXT])
{
	if (!f->digested)
		return "not known";
	digest_text(&f->digest, room);
	return room;
}

/* Tells `each` of the tools (cc1, as, ld) that are not the same in both builds. The same compiler may run another
 * cc1, as or ld. Tools of the same path whose digests are known and differ. 0, or what `each` returned below 0. */
static int match_tools(const struct build *a, const struct build *b, build_part *each, void *arg)
{
	for (size_t i = 0; i < a->tools.n; i++)
		for (size_t k = 0; k < b->tools.n; k++) {
			const struct build_file *x = &a->tools.v[i], *y = &b->tools.v[k];
			char before[DIGEST_TEXT], after[DIGEST_TEXT];
			if (strcmp(x->path, y->path) != 0)
				continue;
			if (x->digested && y->digested && !digest_eq(&x->digest, &y->digest)) {
				int r = each(arg, "tool", y->path, digest_words(x, before), digest_words(y, after));
				if (r < 0)
					return r;
			}
			break;
		}
	return 0;
}

/* Where files lie and how messages read says nothing of the program. */
static bool is_harmless_variable(const char *entry)
{
	static const char *const names[] = {"PATH=", "TMPDIR=", "LANG=", "LC_", NULL};
	for (const char *const *v = names; *v; v++)
		if (strncmp(entry, *v, strlen(*v)) == 0)
			return true;
	return false;
}

/* The value of a variable in the environment. entry: NAME=..., of which only the name counts. NULL: env has none of
 * the name. */
static const char *find_variable_value(char *const *env, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;
	for (; *env; env++)
		if (strncmp(*env, entry, n) == 0)
			return *env + n;
	return NULL;
}

/* Variables that change nothing are left out; one that only one side has is told with NULL on the other. 0, -ENOMEM, or
 * what `each` returned below 0. */
static int match_env(const struct build *a, const struct build *b, build_part *each, void *arg)
{
	int r = 0;
	for (int k = 0; k < 2; k++)
		for (char *const *e = k ? b->env : a->env; r == 0 && *e; e++) {
			const char *own = strchr(*e, '='), *other = find_variable_value(k ? a->env : b->env, *e);
			if (!own || is_harmless_variable(*e) || (other && (k || strcmp(own + 1, other) == 0)))
				continue;
			char *name = strndup(*e, (size_t)(own - *e));
			r = name ? each(arg, "environment", name, k ? NULL : own + 1, k ? own + 1 : other) : -ENOMEM;
			free(name);
		}
	return r;
}

int match_commands(const struct build *a, const struct build *b, build_part *each, void *arg)
{
	bool same = strcmp(a->compiler, b->compiler) == 0 && strcmp(a->version, b->version) == 0;
	int r = match_text("compiler", a->compiler, b->compiler, each, arg);
	r = r < 0 ? r : match_text("version", a->version, b->version, each, arg);
	r = r < 0 || !same ? r : match_tools(a, b, each, arg);
	r = r < 0 ? r : match_words(a, b, collect_flags, "flags", each, arg);
	r = r < 0 ? r : match_words(a, b, defines_of, "defines", each, arg);
	r = r < 0 ? r : match_text("target", a->target, b->target, each, arg);
	return r < 0 ? r : match_env(a, b, each, arg);
}

/* Appends the commit, and "with changes" only where that is known. Nothing where there is no commit. */
static void commit_words(const struct build *b, struct buf *out)
{
	buf_printf(out, "%s%s", b->commit, b->commit[0] && b->dirty > 0 ? " with changes" : "");
}

int match_places(const struct build *a, const struct build *b, build_part *each, void *arg)
{
	struct buf before = {0}, after = {0};
	commit_words(a, &before);
	commit_words(b, &after);
	int r =
	    before.failed || after.failed ? -ENOMEM : match_text("commit", buf_cstr(&before), buf_cstr(&after), each, arg);
	buf_release(&before);
	buf_release(&after);
	return r < 0 ? r : match_text("directory", a->cwd, b->cwd, each, arg);
}

/* ---- what went in ---- */

/* Order of qsort, so that the same file of both sides gets the same place. */
static int compare_by_path_and_digest(const void *pa, const void *pb)
{
	const struct build_file *a = *(const struct build_file *const *)pa, *b = *(const struct build_file *const *)pb;
	int c = strcmp(a->path, b->path);
	return c ? c : memcmp(&a->digest, &b->digest, sizeof(a->digest));
}

/* The files in order of path and digest, in a new array, to be freed; NULL: no memory. */
static const struct build_file **sorted(const struct build_sources *s)
{
	const struct build_file **v = calloc(s->n + 1, sizeof(*v));
	for (size_t i = 0; v && i < s->n; i++)
		v[i] = &s->v[i].file;
	if (v && s->n)
		qsort(v, s->n, sizeof(*v), compare_by_path_and_digest);
	return v;
}

/* Have both files the same digest? False also where one of them has no digest. */
static bool have_same_bytes(const struct build_file *a, const struct build_file *b)
{
	return a->digested && b->digested && digest_eq(&a->digest, &b->digest);
}

struct pairing {
	const struct build_file **a, **b, **partner; /* of a */
	size_t na, nb;
};

/* The folder does not count. */
static bool have_same_name(const struct build_file *a, const struct build_file *b)
{
	return str_eq(str_base_name(str_of(a->path)), str_base_name(str_of(b->path)));
}

/* Are the files of two builds to be compared with each other, by the rule of this pass? 0: path and bytes, 1: path,
 * 2: last name and bytes, 3: last name and role. */
static bool files_match(const struct build_file *a, const struct build_file *b, int pass)
{
	switch (pass) {
	case 0:
		return strcmp(a->path, b->path) == 0 && (have_same_bytes(a, b) || (!a->digested && !b->digested));
	case 1:
		return strcmp(a->path, b->path) == 0;
	case 2:
		return have_same_bytes(a, b) && have_same_name(a, b);
	default:
		return a->role == b->role && have_same_name(a, b);
	}
}

/* The first two passes go along the order of paths, so that they cost one walk. */
static void pair_build_files(struct pairing *p, int pass)
{
	size_t from = 0;
	for (size_t i = 0; i < p->na; i++) {
		if (p->partner[i])
			continue;
		while (pass < 2 && from < p->nb && (!p->b[from] || strcmp(p->b[from]->path, p->a[i]->path) < 0))
			from++;
		for (size_t k = from; k < p->nb; k++) {
			if (!p->b[k])
				continue;
			if (pass < 2 && strcmp(p->b[k]->path, p->a[i]->path) > 0)
				break;
			if (!files_match(p->a[i], p->b[k], pass))
				continue;
			p->partner[i] = p->b[k];
			p->b[k] = NULL;
			break;
		}
	}
}

/* One of a and b may be NULL: then it is only on the other side. Nothing is told where the bytes are the same, or size
 * and time where no digest is known. */
static int emit_file_change(const struct build_file *a, const struct build_file *b, build_part *each, void *arg)
{
	const struct build_file *f = b ? b : a;
	char before[DIGEST_TEXT], after[DIGEST_TEXT];
	if (a && b &&
	    (have_same_bytes(a, b) || (!a->digested && !b->digested && a->size == b->size && a->mtime == b->mtime)))
		return 0;
	return each(arg, term_name(SET_role, f->role), f->path, a ? digest_words(a, before) : NULL,
	            b ? digest_words(b, after) : NULL);
}

/* Sources first, then headers, ...: the order of the terms, where `other` is the last. 0, or what `each` returned below
 * 0. */
static int emit_role_changes(const struct pairing *p, unsigned role, build_part *each, void *arg)
{
	int r = 0;
	for (int changed = 1; changed >= 0; changed--) /* before what one side has only */
		for (size_t i = 0; r == 0 && i < p->na; i++)
			if (p->a[i]->role == role && (p->partner[i] != NULL) == changed)
				r = emit_file_change(p->a[i], p->partner[i], each, arg);
	for (size_t k = 0; r == 0 && k < p->nb; k++)
		if (p->b[k] && p->b[k]->role == role)
			r = emit_file_change(NULL, p->b[k], each, arg);
	return r;
}

int match_sources(const struct build_sources *a, const struct build_sources *b, build_part *each, void *arg)
{
	struct pairing p = {sorted(a), sorted(b), calloc(a->n + 1, sizeof(*p.partner)), a->n, b->n};
	int r = p.a && p.b && p.partner ? 0 : -ENOMEM;
	for (int pass = 0; r == 0 && pass < 4; pass++)
		pair_build_files(&p, pass);
	for (unsigned role = TERM_role_source; r == 0 && role <= TERM_role_cache; role++)
		if (role != TERM_role_tool && role != TERM_role_output)
			r = emit_role_changes(&p, role, each, arg);
	if (r == 0)
		r = emit_role_changes(&p, TERM_role_other, each, arg);
	free(p.a);
	free(p.b);
	free(p.partner);
	return r;
}
