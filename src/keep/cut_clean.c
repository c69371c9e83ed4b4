/* cut_clean.c - events that stay, without what they tell of what goes: words in arguments, files, processes. */
#include "keep/cut_int.h"

#include "summary/summary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What a name of a file may go on with, bytes that are not ASCII too. */
static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c & 0x80;
}

/* A path counts wherever it stands; a name alone only as a whole, or behind the letter of an option (-oNAME). */
static bool mentions_word(struct str s, struct str word)
{
	bool path = memchr(word.p, '/', word.n) != NULL;
	for (size_t at = 0; s.n - at >= word.n;) {
		const char *p = memmem(s.p + at, s.n - at, word.p, word.n);
		if (!p || path)
			return p != NULL;
		size_t from = (size_t)(p - s.p), to = from + word.n;
		bool begins = !from || !(is_name_char(s.p[from - 1]) || s.p[from - 1] == '.') || (from == 2 && s.p[0] == '-');
		bool ends = to == s.n || !(is_name_char(s.p[to]) || s.p[to] == '/' ||
		                           (s.p[to] == '.' && to + 1 < s.n && is_name_char(s.p[to + 1])));
		if (begins && ends)
			return true;
		at = from + 1;
	}
	return false;
}

/* Whether one of the words that are to be forgotten is in s. */
static bool mentions_any_word(const struct cut *c, struct str s)
{
	for (size_t i = 0; i < c->o->n_words; i++)
		if (c->o->words[i].n && s.n >= c->o->words[i].n && mentions_word(s, c->o->words[i]))
			return true;
	return false;
}

/* The list with *** for each item that tells of the words; variables keep their names. It begins at *ret_first of
 * c->list, which may still move. 1 if there was one. 0: none; -ENOMEM, reported. */
static int cut_list(struct cut *c, struct strlist *l, size_t *ret_first)
{
	struct str s;
	bool any = false;
	for (size_t pos = 0; c->o->n_words && !any && strlist_next(l, &pos, &s);)
		any = mentions_any_word(c, s);
	if (!any)
		return 0;
	*ret_first = c->list.n;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		struct str *slot = vec_add(&c->list);
		if (!slot)
			return cut_no_memory(c);
		*slot = s;
		if (!mentions_any_word(c, s))
			continue;
		const char *eq = memchr(s.p, '=', s.n);
		size_t name = eq ? (size_t)(eq - s.p) + 1 : 0;
		if (mentions_any_word(c, str_n(s.p, name)))
			name = 0;
		char *p = arena_take(&c->arena, name + 3);
		if (!p)
			return cut_no_memory(c);
		for (size_t k = 0; k < name + 3; k++)
			p[k] = k < name ? s.p[k] : '*';
		*slot = str_n(p, name + 3);
	}
	return 1;
}

/* Puts *** in place of a text that tells of the words; what stands before a `=` in it stays. 1: it did, in new memory,
 * and the old is freed. 0: nothing. -ENOMEM. */
static int clean_text(const struct cut *c, char **text)
{
	if (!*text || !mentions_any_word(c, str_of(*text)))
		return 0;
	const char *eq = strchr(*text, '=');
	size_t name = eq ? (size_t)(eq - *text) + 1 : 0;
	char *p = malloc(name + 4);
	if (!p)
		return -ENOMEM;
	memcpy(p, *text, name);
	memcpy(p + name, "***", 4);
	if (mentions_any_word(c, str_n(p, name)))
		memcpy(p, "***", 4);
	free(*text);
	*text = p;
	return 1;
}

/* Puts *** in place of what tells of the words. 0 or more, or -ENOMEM. */
static int clean_summary_texts(const struct cut *c, struct summary *m)
{
	int rc = 0;
	for (size_t i = 0; rc >= 0 && m->argv && m->argv[i]; i++)
		rc = clean_text(c, &m->argv[i]);
	for (size_t i = 0; rc >= 0 && i < m->nlabel; i++)
		rc = clean_text(c, &m->label[i].value);
	for (size_t i = 0; rc >= 0 && i < m->nescaped; i++)
		rc = clean_text(c, &m->escaped[i]);
	return rc < 0 ? rc : clean_text(c, &m->cwd);
}

/* A summary without what tells of the words. 1 where something was taken out; one that is no summary goes whole. 0:
 * nothing; -ENOMEM, reported. */
static int cut_summary(struct cut *c, struct event_summary *e)
{
	struct summary m;
	struct buf out = {0};
	if (!c->o->n_words || !(mentions_any_word(c, e->text) || mentions_any_word(c, e->set)))
		return 0;
	if (mentions_any_word(c, e->set))
		e->set = str_of("***");
	if (summary_read(e->text.p, e->text.n, NULL, &m) < 0) {
		e->text = str_of("");
		return 1;
	}
	int rc = clean_summary_texts(c, &m);
	if (rc >= 0)
		rc = summary_json(&m, false, false, &out);
	char *p = rc >= 0 && !out.failed ? arena_take(&c->arena, out.n + 1) : NULL;
	if (p) {
		memcpy(p, out.p, out.n);
		e->text = str_n(p, out.n);
	}
	summary_release(&m);
	buf_release(&out);
	return p ? 1 : cut_no_memory(c);
}

/* ---- by kind of event ---- */

/* An event that stays, as it will be: lists are those of it that may tell of the words, NULL at the end. */
struct cleaning {
	struct event e;
	struct strlist *lists[2];
	bool changed;
};

/* Takes a number out that is of something which goes. */
static void drop_reference(struct cleaning *k, const struct map *gone, uint64_t *number)
{
	if (*number && cut_map_has(gone, *number)) {
		*number = 0;
		k->changed = true;
	}
}

/* Puts *** in place of a text that tells of the words. */
static void hide_text(const struct cut *c, struct cleaning *k, struct str *text)
{
	if (mentions_any_word(c, *text)) {
		*text = str_of("***");
		k->changed = true;
	}
}

/* Else the run would be known by it. Always 0. */
static int clean_session(struct cut *c, struct cleaning *k)
{
	if (c->own != VEC_NONE) {
		k->e.session.run = str_of("");
		k->changed = true;
	}
	return 0;
}

/* Which lists of words are to be redacted, without which nothing is. 0. */
static int clean_run(struct cut *c, struct cleaning *k)
{
	(void)c;
	k->lists[0] = &k->e.run.argv;
	return 0;
}

/* Its parent is taken out if that is forgotten. Always 0. */
static int clean_process(struct cut *c, struct cleaning *k)
{
	drop_reference(k, &c->hidden, &k->e.process.parent);
	return 0;
}

/* Its group is taken out if that is forgotten. Always 0. */
static int clean_file(struct cut *c, struct cleaning *k)
{
	drop_reference(k, &c->files, &k->e.file.group);
	return 0;
}

/* Takes references to files that go out of it; argv and env are left to clean_lists. Always 0. */
static int clean_exec(struct cut *c, struct cleaning *k)
{
	drop_reference(k, &c->files, &k->e.exec.exe);
	drop_reference(k, &c->files, &k->e.exec.script);
	k->lists[0] = &k->e.exec.argv;
	k->lists[1] = &k->e.exec.env;
	return 0;
}

/* Its lists of texts are looked through afterwards. Always 0. */
static int clean_build(struct cut *c, struct cleaning *k)
{
	(void)c;
	k->lists[0] = &k->e.build.argv;
	k->lists[1] = &k->e.build.args;
	return 0;
}

/* Its lists of texts are looked through afterwards. Always 0. */
static int clean_plan(struct cut *c, struct cleaning *k)
{
	(void)c;
	k->lists[0] = &k->e.plan.argv;
	k->lists[1] = &k->e.plan.file;
	return 0;
}

/* Hides what mentions a forgotten word. Always 0. */
static int clean_app_word(struct cut *c, struct cleaning *k)
{
	hide_text(c, k, &k->e.app_word.name);
	hide_text(c, k, &k->e.app_word.value);
	return 0;
}

/* Hides what mentions a forgotten word. Always 0. */
static int clean_mpi_io(struct cut *c, struct cleaning *k)
{
	hide_text(c, k, &k->e.mpi_io.path);
	return 0;
}

/* Hides what mentions a forgotten word. Always 0. */
static int clean_build_file(struct cut *c, struct cleaning *k)
{
	hide_text(c, k, &k->e.build_file.path);
	return 0;
}

/* Takes what is to be forgotten out of a summary. 0, -errno. */
static int clean_summary(struct cut *c, struct cleaning *k)
{
	int rc = cut_summary(c, &k->e.summary);
	k->changed = rc > 0;
	return rc < 0 ? rc : 0;
}

/* Takes what tells of the words out of the event's lists. -ENOMEM, reported. k->changed is set where something was. */
static int clean_lists(struct cut *c, struct cleaning *k)
{
	size_t first[2];
	bool cut[2] = {false, false};
	c->list.n = 0;
	for (unsigned i = 0; i < 2 && k->lists[i]; i++) {
		int rc = cut_list(c, k->lists[i], &first[i]);
		if (rc < 0)
			return rc;
		cut[i] = rc > 0;
		k->changed |= cut[i];
	}
	for (unsigned i = 0; i < 2; i++) /* c->list moves no more */
		if (cut[i])
			*k->lists[i] = (struct strlist){.items = c->list.v + first[i], .count = k->lists[i]->count};
	return 0;
}

int cut_clean_event(struct cut *c, const struct event *ev)
{
	static int (*const cleaner[])(struct cut *, struct cleaning *) = {
	    [EVENT_session] = clean_session,   [EVENT_run] = clean_run,       [EVENT_process] = clean_process,
	    [EVENT_file] = clean_file,         [EVENT_exec] = clean_exec,     [EVENT_build] = clean_build,
	    [EVENT_app_word] = clean_app_word, [EVENT_mpi_io] = clean_mpi_io, [EVENT_build_file] = clean_build_file,
	    [EVENT_summary] = clean_summary,   [EVENT_plan] = clean_plan,
	};
	if (ev->kind >= sizeof(cleaner) / sizeof(*cleaner) || !cleaner[ev->kind])
		return 0;
	struct cleaning k = {.e = *ev};
	int rc = cleaner[ev->kind](c, &k);
	if (rc == 0)
		rc = clean_lists(c, &k);
	if (rc < 0 || !k.changed)
		return rc;
	c->stats.changed++;
	return edits_add(&c->edits, c->session, k.e.seq, &k.e) < 0 ? cut_no_memory(c) : 0;
}
