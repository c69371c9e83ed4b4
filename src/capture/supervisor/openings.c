#include "capture/supervisor/openings.h"
#include "capture/supervisor/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS 64     /* held open at a time: the worker has need of descriptors for every process */
#define FOLDER_AFTER 8 /* questions: what opening it takes */

/* An open that was let go on and of which the kernel has not told. */
struct opening {
	struct opening *next;
	struct task *task;
	struct proc *proc;
	struct file *file; /* pinned */
	unsigned mode;
	bool sure;
	int64_t time;
	struct fingerprint before;
	uint64_t since; /* number of the last event before it */
};

struct openings {
	int fd;                            /* -errno: there is none */
	struct file *of[OPENINGS_WATCHES]; /* by the watch's number */
	uint64_t heard;                    /* events ever */
	uint64_t listened;                 /* the epoch, and 1, in which that was */
	struct opening *first;
};

/* Has the process one thread? As proc_has_one_thread, 2 us; of who is asked again and again by the folder held open,
 * which takes a fifth. False also where it cannot be told. */
static bool ask_for_one_thread(struct sup *s, struct proc *p)
{
	char name[48];
	struct stat st;
	if (p->task_asked < FOLDER_AFTER || (p->task_folder < 0 && s->task_folders >= FOLDERS)) {
		p->task_asked++;
		return proc_has_one_thread(p);
	}
	if (p->task_folder < 0) {
		snprintf(name, sizeof(name), "/proc/%d/task", p->pid);
		p->task_folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		s->task_folders += p->task_folder >= 0;
	}
	return fstat(p->task_folder, &st) == 0 && st.st_nlink == 3;
}

bool openings_has_one_thread(struct sup *s, struct proc *p)
{
	if (p->single_stop == s->epoch + 1)
		return true;
	if (!ask_for_one_thread(s, p))
		return false;
	p->single_stop = s->epoch + 1;
	return true;
}

bool openings_concern(struct sup *s, struct proc *p)
{
	if (p->shares_memory || p->crowded)
		return true;
	p->crowded = !openings_has_one_thread(s, p);
	return p->crowded;
}

void openings_gone(struct sup *s, struct proc *p)
{
	if (p->task_folder < 0)
		return;
	close(p->task_folder);
	s->task_folders--;
}

/* Tried once. False: there is no inotify. */
static bool begin_watching(struct sup *s)
{
	if (s->openings)
		return s->openings->fd >= 0;
	s->openings = calloc(1, sizeof(*s->openings));
	if (!s->openings)
		return false;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	s->openings->fd = fd < 0 ? -errno : fd;
	return fd >= 0;
}

/* By a number of inotify, the one file that may stand there. */
static struct file **watch_slot(struct openings *o, int watch)
{
	return &o->of[(unsigned)watch % OPENINGS_WATCHES];
}

/* The file's watch is given back. */
static void unwatch_file(struct openings *o, struct file *f)
{
	inotify_rm_watch(o->fd, f->watch);
	*watch_slot(o, f->watch) = NULL;
	f->watch = 0;
}

/* Is an open of that file going on, so that it is not known yet whether it succeeds? */
static bool has_opening_in_progress(const struct openings *o, const struct file *f)
{
	for (const struct opening *e = o->first; e; e = e->next)
		if (e->file == f)
			return true;
	return false;
}

/* Watches a file that is being opened, for changes meanwhile. False: f cannot be watched. */
static bool watch_file(struct openings *o, struct file *f, const struct where *w)
{
	char path[sizeof(w->path) + 32];
	if (f->watch)
		return true;
	if (w->object >= 0) /* its file system may keep us waiting */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", w->object);
	else if (w->dirfd == AT_FDCWD)
		snprintf(path, sizeof(path), "%s", w->path);
	else
		snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", w->dirfd, w->path);
	int number = inotify_add_watch(o->fd, path, IN_OPEN);
	if (number < 0)
		return false;
	struct file **slot = watch_slot(o, number);
	if (*slot && ((*slot)->watch == number || has_opening_in_progress(o, *slot))) {
		/* The path leads to another file by now, or all are in use. */
		if ((*slot)->watch != number)
			inotify_rm_watch(o->fd, number);
		return false;
	}
	if (*slot)
		unwatch_file(o, *slot);
	*slot = f;
	f->watch = number;
	return true;
}

/* Takes back the pin of its file, which may be freed by that. */
static void opening_free(struct sup *s, struct opening *e)
{
	e->task->opening = NULL;
	e->file->pins--;
	file_drop(s, e->file);
	free(e);
}

/* e must be in the list. It is not freed. */
static void remove_opening(struct openings *o, const struct opening *e)
{
	struct opening **at = &o->first;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
}

/* Others who write the same file were not met when it began: neither is sure of what it wrote. */
static void meet_writers(const struct opening *e)
{
	for (struct access *a = e->mode & ACCESS_WRITE ? e->file->live : NULL; a; a = a->file_next)
		if (a->proc != e->proc && (a->mode & ACCESS_WRITE))
			a->crowded = true;
}

/* Begins the access that the opening stands for. back: its call has come back; else it is still in it. */
static void emit_opening(struct sup *s, struct opening *e, bool sure, bool back)
{
	struct task *current = s->current;
	if (!e->mode)
		return;
	s->current = back ? NULL : e->task;
	meet_writers(e);
	struct access *a = access_begin(s, e->proc, e->file, e->mode, TERM_via_data, sure, TERM_api_open, e->time,
	                                e->before.known ? &e->before : NULL);
	for (const struct access *b = a ? e->file->live : NULL; b; b = b->file_next)
		a->crowded |= (e->mode & b->mode & ACCESS_WRITE) && b->proc != e->proc;
	s->current = current;
}

/* What the kernel has said since it was asked last. False: nothing. */
static bool read_notifications(struct openings *o)
{
	_Alignas(struct inotify_event) char buffer[4096];
	bool any = false;
	for (ssize_t n; (n = read(o->fd, buffer, sizeof(buffer))) > 0; any = true)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *v = (const struct inotify_event *)(buffer + at);
			struct file **slot = watch_slot(o, v->wd);
			bool known = *slot && (*slot)->watch == v->wd;
			at += (ssize_t)(sizeof(*v) + v->len);
			if (known && (v->mask & IN_OPEN))
				(*slot)->heard = ++o->heard;
			if (known && (v->mask & IN_IGNORED)) { /* the file is gone */
				(*slot)->watch = 0;
				*slot = NULL;
			}
		}
	return any;
}

void openings_listen(struct sup *s)
{
	struct openings *o = s->openings;
	if (!o || o->fd < 0)
		return;
	o->listened = s->epoch + 1;
	if (!read_notifications(o))
		return;
	for (struct opening **at = &o->first, *e; (e = *at);) {
		if (e->file->heard <= e->since) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		emit_opening(s, e, e->sure, false);
		opening_free(s, e);
	}
}

void openings_rest(struct sup *s)
{
	struct openings *o = s->openings;
	for (size_t i = 0; o && o->fd >= 0 && i < OPENINGS_WATCHES; i++)
		if (o->of[i] && !has_opening_in_progress(o, o->of[i]))
			unwatch_file(o, o->of[i]);
}

/* Has the process the file open in all of these modes? */
static bool has_access(const struct proc *p, const struct file *f, unsigned mode)
{
	for (const struct access *a = p->live; a && mode; a = a->proc_next)
		if (a->file == f)
			mode &= ~a->mode;
	return !mode;
}

/* Finds the file that was really opened: it was another file: one that it has open and of which nobody has told? */
static bool find_other(struct sup *s, const struct opening *e)
{
	bool found = false;
	struct held *held;
	size_t n = proc_walk(s, e->proc, false, &held);
	for (size_t i = 0; i < n; i++) {
		const struct held *h = &held[i];
		if (h->file->kind != TERM_kind_regular || has_access(e->proc, h->file, h->mode) ||
		    has_opening_in_progress(s->openings, h->file))
			continue;
		/* What it was before it was written is not known. */
		access_begin(s, e->proc, h->file, h->mode, TERM_via_data, true, TERM_api_open, e->time,
		             h->mode & ACCESS_WRITE ? NULL : &h->print);
		found = true;
	}
	held_free(held, n);
	return found;
}

void openings_back(struct sup *s, struct task *k)
{
	if (!s->openings->first)
		return;
	openings_listen(s);
	struct opening *e = k->opening;
	if (!e)
		return;
	remove_opening(s->openings, e);
	emit_opening(s, e, false, true);
	if (!find_other(s, e))
		sup_gap(s, e->proc, TERM_gap_unsettled, 1,
		        "which file it opened is unknown: its path was changed, or the call failed");
	opening_free(s, e);
}

/* Says once in the log that paths are not checked. */
static enum opening_how no_watches(struct sup *s, const struct proc *p)
{
	if (!s->openings_said)
		sup_gap(s, p, TERM_gap_unsettled, 0, "paths that others can write are not checked: there is no inotify");
	s->openings_said = true;
	return OPENING_PLAIN;
}

enum opening_how openings_begin(struct sup *s, struct proc *p, struct file *f, const struct where *w, unsigned mode,
                                bool sure, int64_t time, const struct fingerprint *before)
{
	if (!s->current || s->current->opening || !begin_watching(s))
		return no_watches(s, p);
	struct openings *o = s->openings;
	if (o->listened != s->epoch + 1)
		openings_listen(s);
	if (!watch_file(o, f, w))
		return errno == ENOSPC ? no_watches(s, p) : OPENING_UNSURE;
	struct opening *e = calloc(1, sizeof(*e));
	if (!e)
		return OPENING_UNSURE;
	*e = (struct opening){.next = o->first,
	                      .task = s->current,
	                      .proc = p,
	                      .file = f,
	                      .mode = mode,
	                      .sure = sure,
	                      .time = time,
	                      .before = *before,
	                      .since = o->heard};
	o->first = s->current->opening = e;
	file_pin(f);
	f->read |= (mode & ACCESS_READ) != 0;
	return OPENING_TOLD;
}

void openings_end(struct sup *s, const struct proc *p)
{
	struct openings *o = s->openings;
	if (!o || !o->first)
		return;
	openings_listen(s);
	for (struct opening **at = &o->first, *e; (e = *at);) {
		if (e->proc != p) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		emit_opening(s, e, false, true);
		opening_free(s, e);
	}
}

void openings_forget(struct sup *s, struct file *f)
{
	if (f->watch)
		unwatch_file(s->openings, f);
}
