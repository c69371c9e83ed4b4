#include "cmd/ui/notes_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run's or the file's name. 0, also where the record does not have it; -errno. */
static int note_about(struct store *s, const struct note_info *n, struct buf *b)
{
	struct run_info run;
	struct file_info f;
	int r = n->run ? store_run_told(s, n->run, &run) : store_file(s, n->file, &f);
	if (r > 0 && n->run)
		buf_str(b, fmt_run(run.ulid));
	else if (r > 0 && f.path.n)
		fmt_path(b, f.path);
	else if (r > 0)
		buf_printf(b, "%.25s", f.pub.text);
	return r < 0 ? r : 0;
}

int note_print(struct store *s, const struct note_info *n, bool about)
{
	struct buf b = {0};
	int r = about ? note_about(s, n, &b) : 0;
	if (n->file && n->version)
		buf_printf(&b, "@{%llu}", (unsigned long long)n->version);
	if (b.n)
		buf_printf(&b, "  ");
	fmt_time(&b, n->time, true);
	buf_char(&b, ' ');
	buf_char(&b, ' ');
	fmt_who(&b, n->user, n->host);
	/* Each line of the note safe for a terminal; the further ones below the first. */
	for (size_t at = 0; at <= n->text.n;) {
		const char *end = memchr(n->text.p + at, '\n', n->text.n - at);
		size_t to = end ? (size_t)(end - n->text.p) : n->text.n;
		if (at == 0 || to > at) {
			buf_printf(&b, at ? "\n             " : ": ");
			fmt_name(&b, str_n(n->text.p + at, to - at));
		}
		at = to + 1;
	}
	if (r == 0)
		printf(about ? "%s\n" : "note         %s\n", buf_cstr(&b));
	buf_release(&b);
	return r;
}

/* All notes on one thing. 0, -errno. */
int notes_print(struct store *s, enum notes_of of, store_id id)
{
	struct notes notes;
	int r = store_notes(s, of, id, &notes);
	for (size_t i = 0; i < notes.n && r == 0; i++)
		r = note_print(s, &notes.v[i], false);
	notes_release(&notes);
	return r;
}

/* ---- what was not seen ---- */

/* bits: 1 << TERM_gap_*; for each the first execution is kept. */
void gaps_add(struct gaps *g, store_id exec, uint64_t bits)
{
	for (; bits; bits &= bits - 1) {
		int i = __builtin_ctzll(bits);
		if (!g->reason[i].executions++)
			g->reason[i].first = exec;
	}
}

/* One line for each reason; nothing if all was seen. 0, -errno. */
int gaps_print(struct store *s, const struct gaps *g)
{
	struct buf b = {0};
	int r = 0;
	bool any = false;
	for (unsigned i = 0; i < 64 && r >= 0; i++) {
		uint64_t n = g->reason[i].executions;
		if (!n)
			continue;
		buf_reset(&b);
		if (!any)
			puts("gaps:");
		any = true;
		const char *meaning = term_meaning(SET_gap, i);
		buf_printf(&b, "  %s (", *meaning ? meaning : "something that requires a newer version of stemma");
		if (g->reason[i].first)
			r = exec_name(s, g->reason[i].first, true, 40, &b);
		else
			buf_printf(&b, "the run");
		if (n > 1)
			buf_printf(&b, " and %llu more", (unsigned long long)n - 1);
		buf_char(&b, ')');
		puts(buf_cstr(&b));
	}
	buf_release(&b);
	return r < 0 ? r : 0;
}
