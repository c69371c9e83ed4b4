/* print_items.c - what was used and made, line by line. */
#include "cmd/show/show_view.h"

#include <stdio.h>

#define FOLD 2 /* segments of memory, or sockets, that are told as their number */

/* Prints a line for a version that was used or made. exec: who used it, 0 several. 0 or -errno. */
static int item_line(struct cmd *c, const struct opts_show *o, store_id exec, const struct edge *e,
                     const struct version_info *v, struct file_info *f, bool used)
{
	struct buf b = {0}, note = {0}, since = {0};
	int r = version_name_opened(c->store, &b, v, f, exec);
	if (!e->sure)
		buf_printf(&b, " ?");
	version_note(&note, v, f, o->bytes);
	if (version_since(c->store, v, f, &since) < 0)
		buf_reset(&since);
	if (since.n)
		buf_printf(&note, "%s%s", note.n ? ", " : "", buf_cstr(&since));
	if (note.n)
		buf_printf(&b, "  (%s)", buf_cstr(&note));
	if (e->count > 1)
		buf_printf(&b, "  %llu times", (unsigned long long)e->count);
	if (e->has_bytes) {
		buf_printf(&b, used ? "  read " : "  wrote ");
		fmt_size(&b, e->bytes, o->bytes);
	}
	if (used && (e->reading == TERM_reading_read || e->reading == TERM_reading_mapped))
		buf_printf(&b, "  %s", term_name(SET_reading, e->reading));
	if (e->via != TERM_via_data)
		buf_printf(&b, "  via %s", term_name(SET_via, e->via));
	printf("  %s\n", buf_cstr(&b));
	buf_release(&b);
	buf_release(&note);
	buf_release(&since);
	return r;
}

/* Which lines a turn prints: what has a name still stands before what was removed since. */
enum turn { TURN_ALL, TURN_NAMED, TURN_GONE };

/* The line of one version, if it is of this turn: 1; 0: it is not, or is gone; -errno. */
static int print_item(struct cmd *c, const struct opts_show *o, store_id exec, const struct item *item, enum turn turn,
                      bool used)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(c->store, item->version, &v);
	if (r > 0)
		r = store_file(c->store, v.file, &f);
	if (r > 0 && turn != TURN_ALL && f.named != (turn == TURN_NAMED))
		return 0;
	if (r > 0) {
		int shown = item_line(c, o, exec, &item->e, &v, &f, used);
		r = shown < 0 ? shown : r;
	}
	return r;
}

/* How far a list has come. */
struct listing {
	uint64_t lines, more;
};

/* Prints items. Those of one sort, in that turn. *lines: how many lines there are, which SHOW_LINES bounds without
 * --all. 0, -errno. */
static int print_turn(struct cmd *c, const struct opts_show *o, const struct show_items *l, enum entity_sort sort,
                      enum turn turn, bool used, uint64_t *lines)
{
	int r = 0;
	for (size_t i = 0; i < l->items.n && r >= 0 && (*lines < SHOW_LINES || o->all); i++) {
		r = l->sorts[i] == sort ? print_item(c, o, l->exec, &l->items.v[i], turn, used) : 0;
		*lines += r > 0;
	}
	return r < 0 ? r : 0;
}

/* Prints versions of one sort: data, programs, libraries of the system ... 0, -errno. at->more: how many were not
 * shown. */
static int print_sort(struct cmd *c, const struct opts_show *o, const struct show_items *l, enum entity_sort sort,
                      bool used, struct listing *at)
{
	uint64_t before = at->lines;
	int r = print_turn(c, o, l, sort, used || o->all ? TURN_ALL : TURN_NAMED, used, &at->lines);
	if (r == 0 && !used && !o->all)
		r = print_turn(c, o, l, sort, TURN_GONE, used, &at->lines);
	at->more += l->of[sort] - (at->lines - before);
	return r;
}

/* How many of a sort are not listed. */
static void print_number(enum entity_sort sort, uint64_t n)
{
	struct buf b = {0};
	fmt_entity_count(&b, sort, n);
	printf("  %s (--all)\n", buf_cstr(&b));
	buf_release(&b);
}

int show_print_items(struct cmd *c, const struct opts_show *o, const char *title, const struct show_items *l, bool used,
                     bool of_run)
{
	struct listing at = {0};
	uint64_t unlisted = l->of[SHOW_UNLISTED], listed = 0;
	int r = 0;
	for (unsigned sort = 0; sort < ENTITY_SORTS; sort++)
		listed += l->of[sort];
	if (listed)
		printf("%s\n", title);
	for (unsigned sort = ENTITY_DATA; r >= 0 && sort < ENTITY_SORTS; sort++) {
		if (sort < ENTITY_SEGMENT || l->of[sort] < FOLD || o->all) {
			r = print_sort(c, o, l, sort, used, &at);
			continue;
		}
		print_number(sort, l->of[sort]);
		at.lines++;
	}
	if (r < 0)
		return r;
	if (at.more)
		printf("  and %llu more (--all)\n", (unsigned long long)at.more);
	if (unlisted)
		printf("%s%s%llu %s (--all)\n", at.lines ? "  + " : title, at.lines ? "" : ": ", (unsigned long long)unlisted,
		       of_run ? "system files, absent or pipes" : "system files or absent");
	return 0;
}
