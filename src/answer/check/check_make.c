/* check_make.c - the database of GNU make, as make -p prints it: in its part "# Files" a line "TARGET: PREREQUISITES |
 * ORDER-ONLY" for each file. */
#include "answer/check/check_targets.h"
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define DEPTH_MOST 32
#define WORDS_MOST 100000 /* prerequisites of one target */

struct make {
	struct buf folder[DEPTH_MOST]; /* the folders that makes have entered */
	size_t depth;
	bool files, no_target;
	struct buf text; /* the paths of a rule, NUL-terminated */
	VEC(size_t) at;
	int (*each)(void *arg, const struct str *paths, size_t n);
	void *arg;
};

/* "make[1]: Entering directory '/x'" and Leaving. False: it is another line. */
static bool take_folder(struct make *m, struct str line)
{
	static const char enter[] = ": Entering directory '", leave[] = ": Leaving directory '";
	const char *at = line.n ? memmem(line.p, line.n, enter, sizeof(enter) - 1) : NULL;
	if (at && line.p[line.n - 1] == '\'') {
		at += sizeof(enter) - 1;
		if (m->depth + 1 < DEPTH_MOST) {
			buf_reset(&m->folder[++m->depth]);
			buf_str(&m->folder[m->depth], str_n(at, (size_t)(line.p + line.n - at) - 1));
		}
		m->files = false;
		return true;
	}
	if (!line.n || !memmem(line.p, line.n, leave, sizeof(leave) - 1))
		return false;
	m->depth -= m->depth > 0;
	m->files = false;
	return true;
}

/* Adds a path of the rule. 0, -ENOMEM. */
static int add_path(struct make *m, struct str word)
{
	size_t from = m->text.n, *slot;
	if (word.n >= PATH_MAX || m->at.n >= WORDS_MOST)
		return 0;
	if (*word.p != '/')
		path_append(&m->text, from, buf_view(&m->folder[m->depth]));
	path_append(&m->text, from, word);
	buf_char(&m->text, '\0');
	slot = vec_add(&m->at);
	if (slot)
		*slot = from;
	return slot && !m->text.failed ? 0 : -ENOMEM;
}

/* "TARGET: A B | C", "TARGET:: A". 0, what each returned, -ENOMEM. */
static int take_rule(struct make *m, struct str line)
{
	const char *colon = memmem(line.p, line.n, ": ", 2);
	struct str target = str_n(line.p, colon ? (size_t)(colon - line.p) : line.n), word;
	int rc = 0;
	if (!colon && line.p[line.n - 1] != ':')
		return 0;
	while (target.n && target.p[target.n - 1] == ':')
		target.n--;
	if (!target.n || memchr(target.p, '%', target.n) || memchr(target.p, '=', target.n))
		return 0;
	buf_reset(&m->text);
	m->at.n = 0;
	rc = add_path(m, target);
	for (size_t i = colon ? target.n : line.n; i < line.n && rc == 0; i += word.n) {
		while (i < line.n && strchr(" :|", line.p[i]))
			i++;
		for (word = str_n(line.p + i, 0); i + word.n < line.n && line.p[i + word.n] != ' '; word.n++)
			;
		rc = word.n ? add_path(m, word) : 0;
	}
	struct str *paths = rc == 0 ? calloc(m->at.n + 1, sizeof(*paths)) : NULL;
	if (!paths)
		return rc < 0 ? rc : -ENOMEM;
	for (size_t i = 0; i < m->at.n; i++)
		paths[i] = str_of(m->text.p + m->at.v[i]);
	rc = m->at.n ? m->each(m->arg, paths, m->at.n) : 0;
	free(paths);
	return rc;
}

/* One line of the database. 0, what each returned, -ENOMEM. */
static int take_line(struct make *m, struct str line)
{
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (!line.n || take_folder(m, line))
		return 0;
	if (*line.p == '#') {
		m->files |= str_is(line, "# Files");
		m->files &= !str_starts(line, str_of("# files hash-table stats"));
		m->no_target |= str_is(line, "# Not a target:");
		return 0;
	}
	if (*line.p == '\t' || *line.p == ' ') /* a recipe */
		return 0;
	bool skip = m->no_target || !m->files;
	m->no_target = false;
	return skip ? 0 : take_rule(m, line);
}

int check_make_each(struct str text, struct str folder, int (*each)(void *arg, const struct str *paths, size_t n),
                    void *arg)
{
	struct make m = {.each = each, .arg = arg};
	int rc = 0;
	buf_str(&m.folder[0], folder);
	for (size_t at = 0; at < text.n && rc == 0;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
		rc = take_line(&m, str_n(text.p + at, n));
		at += n + 1;
	}
	for (size_t i = 0; i < DEPTH_MOST; i++)
		buf_release(&m.folder[i]);
	buf_release(&m.text);
	vec_release(&m.at);
	return rc;
}
