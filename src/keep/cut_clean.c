/* cut_clean.c - events that stay, without what they tell of what goes: words in arguments, files, processes. */
#include "keep/cut_int.h"

#include "summary/summary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

static bool mentions_any_word(const struct cut *c, struct str s)
{
	for (size_t i = 0; i < c->o->n_words; i++)
		if (c->o->words[i].n && s.n >= c->o->words[i].n && mentions_word(s, c->o->words[i]))
			return true;
	return false;
}

/* The list with *** for each item that tells of the words; variables keep their names. It begins at *ret_first of
 * c->list, which may still move. 1 if there was one. */
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

/* Puts *** in place of a text that tells of the words; what stands before a `=` in it stays. */
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

/* A summary without what tells of the words. 1 where something was taken out; one that is no summary goes whole. */
static int cut_summary(struct cut *c, struct event_summary *e)
{
	struct summary m;
	struct buf out = {0};
	int rc = 0;
	if (!c->o->n_words || !(mentions_any_word(c, e->text) || mentions_any_word(c, e->set)))
		return 0;
	if (mentions_any_word(c, e->set))
		e->set = str_of("***");
	if (summary_read(e->text.p, e->text.n, NULL, &m) < 0) {
		e->text = str_of("");
		return 1;
	}
	for (size_t i = 0; rc >= 0 && m.argv && m.argv[i]; i++)
		rc = clean_text(c, &m.argv[i]);
	for (size_t i = 0; rc >= 0 && i < m.nlabel; i++)
		rc = clean_text(c, &m.label[i].value);
	for (size_t i = 0; rc >= 0 && i < m.nescaped; i++)
		rc = clean_text(c, &m.escaped[i]);
	if (rc >= 0)
		rc = clean_text(c, &m.cwd);
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

int cut_clean_event(struct cut *c, const struct event *ev)
{
	struct event e = *ev;
	struct strlist *lists[2] = {NULL, NULL};
	size_t first[2] = {0};
	bool changed = false;
	c->list.n = 0;
	switch (e.kind) {
	case EVENT_session:
		/* Else the run would be known by it. */
		if (c->own != VEC_NONE) {
			e.session.run = str_of("");
			changed = true;
		}
		break;
	case EVENT_run:
		lists[0] = &e.run.argv;
		break;
	case EVENT_process:
		if (e.process.parent && cut_map_has(&c->hidden, e.process.parent)) {
			e.process.parent = 0;
			changed = true;
		}
		break;
	case EVENT_file:
		if (e.file.group && cut_map_has(&c->files, e.file.group)) {
			e.file.group = 0;
			changed = true;
		}
		break;
	case EVENT_exec:
		changed = cut_map_has(&c->files, e.exec.exe) || cut_map_has(&c->files, e.exec.script);
		e.exec.exe = cut_map_has(&c->files, e.exec.exe) ? 0 : e.exec.exe;
		e.exec.script = cut_map_has(&c->files, e.exec.script) ? 0 : e.exec.script;
		lists[0] = &e.exec.argv;
		lists[1] = &e.exec.env;
		break;
	case EVENT_build:
		lists[0] = &e.build.argv;
		lists[1] = &e.build.args;
		break;
	case EVENT_app_word:
		changed = mentions_any_word(c, e.app_word.name) || mentions_any_word(c, e.app_word.value);
		if (mentions_any_word(c, e.app_word.name))
			e.app_word.name = str_of("***");
		if (mentions_any_word(c, e.app_word.value))
			e.app_word.value = str_of("***");
		break;
	case EVENT_mpi_io:
		changed = mentions_any_word(c, e.mpi_io.path);
		if (changed)
			e.mpi_io.path = str_of("***");
		break;
	case EVENT_build_file:
		changed = mentions_any_word(c, e.build_file.path);
		if (changed)
			e.build_file.path = str_of("***");
		break;
	case EVENT_summary: {
		int rc = cut_summary(c, &e.summary);
		if (rc < 0)
			return rc;
		changed = rc > 0;
		break;
	}
	default:
		return 0;
	}
	for (unsigned i = 0; i < 2; i++) {
		int rc = lists[i] ? cut_list(c, lists[i], &first[i]) : 0;
		if (rc < 0)
			return rc;
		changed |= rc > 0;
		if (rc == 0)
			lists[i] = NULL;
	}
	for (unsigned i = 0; i < 2; i++)
		if (lists[i])
			*lists[i] = (struct strlist){.items = c->list.v + first[i], .count = lists[i]->count};
	if (!changed)
		return 0;
	c->stats.changed++;
	return edits_add(&c->edits, c->session, e.seq, &e) < 0 ? cut_no_memory(c) : 0;
}
