#include "cc/build.h"

#include "base/strv.h"

#include <stdlib.h>

/* l itself stays, and may not be used again. */
static void build_files_release(struct build_files *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].path);
		free(l->v[i].detail);
	}
	free(l->v);
}

/* b is empty then. */
void build_release(struct build *b)
{
	build_files_release(&b->in);
	build_files_release(&b->out);
	build_files_release(&b->tools);
	strv_free(b->argv);
	strv_free(b->args);
	strv_free(b->env);
	strv_free(b->gaps);
	free(b->compiler);
	free(b->version);
	free(b->target);
	free(b->cwd);
	free(b->user);
	free(b->host);
	free(b->commit);
	free(b->package);
	*b = (struct build){0};
}

bool build_is_whole(const struct build *b)
{
	return b->argv && b->args && b->env && b->gaps && b->compiler && b->version && b->target && b->cwd && b->user &&
	       b->host && b->commit;
}

/* l is empty then. */
void build_list_release(struct build_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		build_release(&l->v[i]);
	free(l->v);
	*l = (struct build_list){0};
}

/* ---- for those who tell of builds ---- */

/* In hexadecimal. */
void build_format_id(const struct build_file *f, struct buf *out)
{
	buf_hex(out, f->id, f->nid);
}

const char *build_define(const struct build *b, size_t *pos, bool *ret_undef)
{
	size_t n = 0;
	while (b->args[n])
		n++;
	for (size_t i = *pos ? *pos : 1; i < n; i++) {
		const char *s = b->args[i];
		if (s[0] != '-' || (s[1] != 'D' && s[1] != 'U'))
			continue;
		*ret_undef = s[1] == 'U';
		bool glued = s[2] != '\0';
		*pos = i + (glued ? 1 : 2);
		if (glued)
			return s + 2;
		if (i + 1 < n)
			return b->args[i + 1];
	}
	*pos = n;
	return NULL;
}

const char *build_gap_meaning(const char *gap, const char **ret_of)
{
	static const struct {
		const char *word, *meaning;
	} rows[] = {
	    {"alone", "ran without the library that sees what is read"},
	    {"unseen", "was started, and said nothing of what it read"},
	    {"lost", "opens found no room or were cut off"},
	    {"cached", "the result is a cache's: what was read when it was made is in the record of then"},
	    {"stdin", "a source came through a pipe"},
	    {"stream", "is a pipe or the like: what came through it is not known"},
	    {"changed", "was written after the compiler had started: what it read may be another"},
	    {"unread", "was read, and could not be read afterwards"},
	    {"arguments", "arguments at the end were left out"},
	    {"unwritten", "files are missing: the log ends before them"},
	};
	size_t n = strcspn(gap, " ");
	*ret_of = gap[n] ? gap + n + 1 : "";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].word) == n && memcmp(gap, rows[i].word, n) == 0)
			return rows[i].meaning;
	return "something is missing";
}
