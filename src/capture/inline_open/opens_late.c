#include "capture/inline_open/opens_late.h"

#include <stdlib.h>
#include <string.h>

/* Is there a log that some events were too late for? */
static bool is_any_late(const struct opens_logs *l)
{
	for (int i = 0; i < OPENS_SLOTS; i++) {
		const struct logging *g = l->owner[i] ? l->owner[i]->logging : NULL;
		if (g && g->late)
			return true;
		for (int k = 0; g && g->threads && k < OPENS_THREADS; k++)
			if (g->threads[k].late)
				return true;
	}
	return false;
}

/* Takes back one pin; the file, or NULL, may be freed by that. */
static void unpin(struct sup *s, struct file *f)
{
	if (f) {
		f->pins--;
		file_drop(s, f);
	}
}

void opens_late_forget(struct sup *s)
{
	struct opens_logs *l = s->opens;
	if (!l->nchanges || is_any_late(l))
		return;
	for (unsigned i = 0; i < l->nchanges; i++) {
		struct opens_change *c = &l->changes[i];
		free(c->name_a);
		free(c->name_b);
		unpin(s, c->file);
		unpin(s, c->victim);
	}
	l->nchanges = 0;
	l->changes_lost = false;
}

/* Can a path lead through it? */
static bool leads_on(const struct file *f)
{
	return f && (f->kind == TERM_kind_directory || f->kind == TERM_kind_symlink);
}

void opens_late_changes(struct sup *s, const struct pending *d)
{
	struct opens_logs *l = s->opens;
	if (!l || !is_any_late(l))
		return;
	if (l->nchanges == LATE_CHANGES) {
		l->changes_lost = true;
		return;
	}
	struct opens_change *c = &l->changes[l->nchanges++];
	*c = (struct opens_change){.tsc = logging_tsc_now(),
	                           .name_a = d->name_a ? strdup(d->name_a) : NULL,
	                           .name_b = d->name_b ? strdup(d->name_b) : NULL,
	                           .takes = d->op == PENDING_RENAME || d->op == PENDING_UNLINK,
	                           .leads_on = leads_on(d->file) || leads_on(d->victim),
	                           .file = d->file,
	                           .victim = d->victim};
	l->changes_lost |= !c->name_a || (d->b && !c->name_b);
	if (c->file)
		c->file->pins++;
	if (c->victim)
		c->victim->pins++;
}

/* The ways to say where an open's path led: as it was given, by its folder's real name, and the file's own. */
struct way {
	const char *full;
	char *name, *real;
};

/* Is the name one that the path has, as it was given, without links, or as the kernel calls what it leads to? */
static bool is_on_way(const struct way *w, const char *name)
{
	return name &&
	       (!strcmp(w->full, name) || (w->name && !strcmp(w->name, name)) || (w->real && !strcmp(w->real, name)));
}

/* What the path leads to now. False: nowhere, or it cannot be told. name and real of ret are the caller's in both
 * cases. */
static bool way_find(const struct opened *e, const char *full, struct way *ret)
{
	const bool follow = !(e->flags & O_NOFOLLOW);
	struct where w;
	struct statx st;
	*ret = (struct way){.full = full};
	if (where_path(proc_rooted(NULL), e->proc->pid, AT_FDCWD, full, follow, &w) < 0) {
		where_release(&w);
		return false;
	}
	ret->name = where_name(&w);
	if (where_look(&w, follow, &st) == 0)
		ret->real = where_real_of(&w, follow, &st);
	where_release(&w);
	return ret->name && ret->real;
}

/* Records that the process may have opened the file for reading. */
static void emit_possible_read(struct sup *s, const struct opened *e, struct file *f, int64_t time)
{
	if (f && f->kind == TERM_kind_regular)
		access_begin(s, e->proc, f, ACCESS_READ, TERM_via_data, false, TERM_api_open, time, NULL);
}

enum opens_late opens_late_settle(struct sup *s, const struct opened *e, const char *full, int64_t time)
{
	const struct opens_logs *l = s->opens;
	struct way w;
	bool found = way_find(e, full, &w), told = false, unknown = l->changes_lost;
	for (unsigned i = 0; i < l->nchanges && !unknown; i++) {
		const struct opens_change *c = &l->changes[i];
		if (c->tsc < e->tsc)
			continue;
		const bool a = is_on_way(&w, c->name_a), b = is_on_way(&w, c->name_b);
		/* Which way a path took through a folder or link that changed is not known any more. */
		unknown |= c->leads_on;
		if (a && c->takes)
			emit_possible_read(s, e, c->file, time);
		if (b)
			emit_possible_read(s, e, c->victim, time);
		told |= a || b;
	}
	free(w.name);
	free(w.real);
	if (unknown || (!found && !told))
		return OPENS_LATE_UNKNOWN;
	return told ? OPENS_LATE_TOLD : OPENS_LATE_NOT;
}

bool opens_late_known(struct sup *s, const struct opened *e, int64_t time)
{
	const struct opens_logs *l = s->opens;
	for (unsigned i = 0; i < l->nchanges; i++)
		for (int k = 0; k < 2; k++) {
			struct file *f = k ? l->changes[i].victim : l->changes[i].file;
			if (f && f->kind == TERM_kind_regular && f->dev == e->id.dev && f->ino == e->id.ino) {
				access_begin(s, e->proc, f, ACCESS_READ, TERM_via_data, true, TERM_api_open, time, NULL);
				return true;
			}
		}
	return false;
}
