#include "answer/elsewhere.h"

#include "answer/fmt.h"

#include <errno.h>
#include <string.h>

#define WORDS_MAX 1000 /* of a command line that are looked at */

static const struct elsewhere {
	const char *name, *needs, *valued;
	unsigned before;
	const char *where;
} programs[] = {
#define ELSEWHERE(name, needs, valued, before, where) {name, needs, valued, before, where},
#include "answer/elsewhere.def"
};

/* What the program named so hands its work to; NULL: it is none of those. */
static const struct elsewhere *find_program(struct str path)
{
	struct str base = str_base_name(path);
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (str_is(base, programs[i].name))
			return &programs[i];
	return NULL;
}

/* Is the next word the value of this option? A long one has its own behind an =; of one without it nobody can tell. */
static int takes_next(const struct elsewhere *p, struct str option)
{
	if (option.n > 1 && option.p[1] == '-')
		return memchr(option.p, '=', option.n) ? 0 : -1;
	for (size_t i = 1; i < option.n; i++)
		if (strchr(p->valued, option.p[i]))
			return i + 1 == option.n;
	return 0;
}

/* The place of the command among the words; 0: it cannot be told, or there is none. */
static size_t find_command(const struct elsewhere *p, const struct strlist *argv)
{
	struct str s;
	size_t i = 0, operands = 0;
	bool value = false, options = true;
	for (size_t pos = 0; p->valued && i < WORDS_MAX && strlist_next(argv, &pos, &s); i++) {
		if (!i)
			continue;
		bool option = options && s.n > 1 && s.p[0] == '-';
		if (value) {
			value = false;
		} else if (option && str_is(s, "--")) {
			options = false;
		} else if (option) {
			int next = takes_next(p, s);
			if (next < 0)
				return 0;
			value = next;
		} else if (operands++ == p->before) {
			return i;
		}
	}
	return 0;
}

/* Does a word say that stemma runs there, or that nothing does? */
static bool is_word_of_no_work(struct str s)
{
	return str_is(str_base_name(s), "stemma") || str_starts(s, str_of("stemma ")) || str_is(s, "--help") ||
	       str_is(s, "--version") || str_is(s, "-V");
}

/* Has it others do work, and without stemma? */
static bool leaves(const struct elsewhere *p, const struct strlist *argv)
{
	bool needed = !*p->needs;
	struct str s;
	size_t i = 0;
	for (size_t pos = 0; strlist_next(argv, &pos, &s); i++) {
		if (i && is_word_of_no_work(s))
			return false;
		const char *at = i && s.n ? memmem(p->needs, strlen(p->needs), s.p, s.n) : NULL;
		needed |= at && at > p->needs && at[-1] == ' ' && at[s.n] == ' ';
	}
	return needed;
}

int elsewhere_line(const struct strlist *argv, const char **ret_name, struct buf *out)
{
	struct str s;
	size_t pos = 0, i = 0;
	const struct elsewhere *p = strlist_next(argv, &pos, &s) ? find_program(s) : NULL;
	if (!p || !leaves(p, argv))
		return 0;
	*ret_name = p->name;
	size_t command = find_command(p, argv);
	if (!command)
		buf_printf(out, "%s", p->where);
	for (pos = 0; command && strlist_next(argv, &pos, &s); i++) {
		buf_printf(out, "%s%s", i ? " " : p->name, i == command ? "stemma run -- " : "");
		if (i)
			fmt_arg(out, s);
	}
	return out->failed ? -ENOMEM : 1;
}
