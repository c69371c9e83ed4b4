#include "capture/supervisor/races.h"

#include "capture/supervisor/files_int.h"

#include <stdlib.h>

/* What was recorded as sure may be of another file. What the process had opened before, it has. */
static void doubt(struct access *a)
{
	a->doubtful |= a->sure && a->count == 1;
}

/* Tells of a possible access: p may have opened f. That it emptied it is not taken for granted. */
static void may_have_opened(struct sup *s, struct proc *p, struct file *f, unsigned mode, int64_t time)
{
	mode &= ACCESS_READ | ACCESS_WRITE | ACCESS_APPEND;
	if (f->kind == TERM_kind_regular && mode && !p->exit_seen)
		access_begin(s, p, f, mode, TERM_via_data, false, TERM_api_open, time, NULL);
}

/* Does d change which file a name leads to? */
static bool gives_name(const struct pending *d)
{
	return d->op == PENDING_RENAME || d->op == PENDING_LINK;
}

/* Does the pending call take the file's name from it? */
static bool takes_name(const struct pending *d, const struct file *f)
{
	return (d->file == f && (d->op == PENDING_RENAME || d->op == PENDING_UNLINK)) || d->victim == f;
}

/* The file that has the name of f, which d takes away, when that is done. NULL: none. */
static struct file *successor(const struct pending *d, const struct file *f)
{
	return d->victim == f ? d->file : d->exchange ? d->victim : NULL;
}

/* The access that the thread's call at hand began, NULL. */
static struct access *opened_by(const struct task *k, const struct file *f)
{
	for (struct access *a = k->proc->live; a; a = a->proc_next)
		if (a->file == f && a->via == TERM_via_data && a->tid == k->tid && a->stop == k->stops)
			return a;
	return NULL;
}

void races_opened(struct sup *s, const struct task *k, struct file *f, struct where *w, unsigned mode)
{
	char *name = NULL;
	for (const struct pending *d = s->pending; d; d = d->next) {
		if (d->tid == k->tid)
			continue;
		if (f && takes_name(d, f)) {
			struct access *a = opened_by(k, f);
			struct file *other = successor(d, f);
			if (a)
				doubt(a);
			if (other)
				may_have_opened(s, k->proc, other, mode, sup_now(s));
		} else if (!f && gives_name(d) && d->name_b) {
			name = name ? name : where_name(w);
			if (name && !strcmp(name, d->name_b))
				may_have_opened(s, k->proc, d->file, mode, sup_now(s));
		}
	}
	free(name);
}

/* Is its thread on the way to the open still, as far as can be told? */
static bool is_under_way(struct sup *s, const struct access *a, const struct pending *d)
{
	return a->tid && a->tid != d->tid && a->via == TERM_via_data && !access_begun(s, a);
}

/* Who may have opened it: gathered first, for to begin an access may end others. */
struct racers {
	struct {
		struct proc *proc;
		unsigned mode;
		int64_t time;
	} v[16];
	unsigned n;
	bool more; /* than that */
};

/* Notes an access among those that may race; r->more where there is no room. */
static void gather(struct racers *r, const struct access *a, unsigned mode)
{
	if (r->n == sizeof(r->v) / sizeof(r->v[0])) {
		r->more = true;
		return;
	}
	r->v[r->n].proc = a->proc;
	r->v[r->n].mode = mode;
	r->v[r->n++].time = a->start;
}

/* Tells of possible accesses: each of them may have opened f instead. */
static void tell_racers(struct sup *s, const struct racers *r, struct file *f)
{
	for (unsigned i = 0; f && i < r->n; i++)
		may_have_opened(s, r->v[i].proc, f, r->v[i].mode, r->v[i].time);
	if (f && r->more)
		sup_gap(s, NULL, TERM_gap_lost, 1, "a name changed while many processes opened it");
}

/* f loses its name by d: opens of it that are under way may be of what comes after it. */
static void lose_name(struct sup *s, const struct pending *d, struct file *f)
{
	struct racers r = {.n = 0};
	for (struct access *a = f->live; a; a = a->file_next)
		if (is_under_way(s, a, d) && !proc_holds(a->proc, f)) {
			doubt(a);
			gather(&r, a, a->mode);
		}
	tell_racers(s, &r, successor(d, f));
}

/* Handles that a file gets a name: who looked for the name and found nothing. since: also who did that later,
 * whatever has become of it. */
static void get_name(struct sup *s, const struct pending *d, struct file *f, const char *name, int64_t since)
{
	struct racers r = {.n = 0};
	const struct file *absent = name ? file_absent(s, name) : NULL;
	for (const struct access *a = absent ? absent->live : NULL; a; a = a->file_next)
		if (a->proc != d->proc && (a->start >= since || is_under_way(s, a, d)))
			gather(&r, a, ACCESS_READ);
	tell_racers(s, &r, f);
}

void races_changes(struct sup *s, const struct pending *d)
{
	if (d->op == PENDING_RENAME || d->op == PENDING_UNLINK)
		lose_name(s, d, d->file);
	if (d->victim)
		lose_name(s, d, d->victim);
	if (gives_name(d))
		get_name(s, d, d->file, d->name_b, INT64_MAX);
}

void races_made(struct sup *s, const struct pending *d, struct file *f)
{
	get_name(s, d, f, d->name_a, d->time);
}
