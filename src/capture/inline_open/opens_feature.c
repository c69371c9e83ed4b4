/* The hooks by which opens without a stop are part of a run. */
#include "capture/inline_open/inline_open.h"
#include "capture/inline_open/opens_folders.h"
#include "capture/inline_open/opens_late.h"

/* Bars a process's opens from being made without a stop. Nothing if none are. */
static void opens_feature_bar(struct sup *s, pid_t tid)
{
	if (s->opens)
		opens_bar(s, tid);
}

/* Takes in the opens that were logged; tick: at regular times, with what is done only then. */
static void opens_feature_collect(struct sup *s, bool tick)
{
	if (s->opens && tick)
		opens_read_tick(s);
	else if (s->opens)
		opens_read(s);
}

/* Before a call is handled: what makes the known folders of a process wrong. */
static void opens_feature_handle(struct sup *s, struct proc *p, const struct trap *t)
{
	if (t->call == CALL_execve || t->call == CALL_execveat || t->call == CALL_exit)
		opens_see_page(s, p);
	else if (t->call == CALL_chdir && s->opens)
		opens_moves(s, p);
	else if (t->call == CALL_mount)
		opens_folders_forget(s->opens);
}

/* Is it a folder? f may be NULL. */
static bool is_folder(const struct file *f)
{
	return f && f->kind == TERM_kind_directory;
}

/* A folder was renamed or removed: known paths hold no more. */
static void opens_feature_changes(struct sup *s, const struct pending *d)
{
	if (is_folder(d->file) || is_folder(d->victim))
		opens_folders_forget(s->opens);
	opens_late_changes(s, d);
}

/* After a call: puts the code into a program that began, unless a killed recorder's is there. */
static void opens_feature_after(struct sup *s, struct proc *p, const struct trap *t)
{
	if (p->old_code)
		return;
	opens_after(s, p, t);
	if (s->inject_pid && s->inject_opens)
		s->inject = opens_inject;
}

/* A process ends: its last opens are read while they are there. */
static void opens_feature_over(struct sup *s, struct proc *p)
{
	if (p->logging)
		opens_read(s);
}

/* A process of a killed recorder: its code is let go, and what it hides is a gap. */
static void opens_feature_adopted(struct sup *s, struct proc *p)
{
	if (opens_disown(s, p))
		sup_gap(s, p, TERM_gap_lost, 0, "opens through the code of a killed recorder are not observed");
}

/* Whether any process logs opens. */
static bool opens_feature_busy(const struct sup *s)
{
	return s->opens;
}

const struct feature opens_feature = {.name = "opens",
                                      .bar = opens_feature_bar,
                                      .unbar = opens_unbar,
                                      .collect = opens_feature_collect,
                                      .passes = opens_full,
                                      .passed = opens_read_many,
                                      .handle = opens_feature_handle,
                                      .after = opens_feature_after,
                                      .confine = opens_confine,
                                      .changes = opens_feature_changes,
                                      .over = opens_feature_over,
                                      .end = opens_free,
                                      .adopted = opens_feature_adopted,
                                      .busy = opens_feature_busy};
