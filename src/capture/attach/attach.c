#include "capture/attach/attach.h"

#include "capture/app/images.h"
#include "capture/attach/attach_copy.h"
#include "capture/supervisor/libraries.h"
#include "capture/supervisor/super.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct attach {
	struct attach_copies *copies;
	const char *const *names;
	pid_t tid; /* whose stop opens a library of a matching name; 0: nobody's */
	uint64_t dev, ino;
	char path[4096]; /* of it */
};

struct attach *attach_new(const char *library, const char *const *names, const char *const *symbols)
{
	struct attach *a = calloc(1, sizeof(*a));
	if (a && !(a->copies = attach_copies_new(library, symbols))) {
		free(a);
		return NULL;
	}
	if (a)
		a->names = names;
	return a;
}

/* By the name of its file. */
static bool is_name_wanted(const struct attach *a, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (strncmp(name, "lib", 3) != 0)
		return false;
	for (const char *const *n = a->names; *n; n++)
		if (strstr(name, *n))
			return true;
	return false;
}

/* The open being handled opens f: is it such a library? */
static void attach_opens(struct sup *s, struct proc *p, const struct file *f, const struct pending *d)
{
	struct attach *a = s->attach;
	(void)p;
	if (!a)
		return;
	a->tid = 0;
	if (!f || d || !s->current || f->kind != TERM_kind_regular || !f->path || f->path[0] != '/' || f->domain->network ||
	    strlen(f->path) >= sizeof(a->path) || !is_name_wanted(a, f->path))
		return;
	a->tid = s->current->tid;
	a->dev = f->dev;
	a->ino = f->ino;
	memcpy(a->path, f->path, strlen(f->path) + 1);
}

/* Does the dynamic linker open a library, as it always does? */
static bool is_open_by_linker(struct proc *p, const struct trap *t)
{
	return t->call == CALL_openat && (unsigned)t->args[2] == (O_RDONLY | O_CLOEXEC) && !t->compat &&
	       libraries_is_loader(p, t->ip);
}

enum had { HAS_FILE, HAS_COPY, HAS_NONE };

/* Has the process mapped the library, or its copy? HAS_FILE, too, where that cannot be told. */
static enum had find_mapped(const struct attach *a, struct proc *p)
{
	const struct file f = {.dev = a->dev, .ino = a->ino};
	struct file copy = {0};
	struct mapped *v;
	size_t n;
	enum had had = HAS_FILE;
	const bool made = attach_copies_identity(a->copies, a->dev, a->ino, &copy.dev, &copy.ino);
	if (!proc_maps(p, &v, &n))
		return HAS_FILE;
	if (!mapped_has(v, n, &f))
		had = made && mapped_has(v, n, &copy) ? HAS_COPY : HAS_NONE;
	free(v);
	return had;
}

/* May a process that has nothing of it yet be given what this recorder made? */
static bool is_ours(const struct sup *s, const struct proc *p)
{
	return !p->foreign && !p->own_creds && !p->confined && !p->old_code && !s->late;
}

/* Takes note of all processes that live now, with the execution that is current of each: nobody took notes before. */
static void note_living(struct sup *s)
{
	for (size_t i = 0; i < HASH_SIZE; i++)
		for (const struct proc *p = s->procs[i]; p; p = p->next) {
			const struct event begun = {
			    .kind = EVENT_process, .proc = p->num, .process = {.pid = (uint64_t)p->pid, .started = p->started}};
			const struct event became = {
			    .kind = EVENT_exec, .proc = p->num, .time = p->exec_start, .exec = {.n = p->execn}};
			images_note(s->images, &begun);
			if (p->execn)
				images_note(s->images, &became);
		}
}

/* The stop was handled: is it answered with a copy? Leaves the lock for the look at the file. */
static void attach_after(struct sup *s, struct proc *p, const struct trap *t)
{
	struct attach *a = s->attach;
	struct left left;
	char path[sizeof(a->path)];
	if (!a || a->tid != t->tid)
		return;
	a->tid = 0;
	if (s->inject_pid && s->inject_tid == t->tid)
		return; /* which answers the stop itself */
	if (!is_open_by_linker(p, t))
		return;
	const enum had had = find_mapped(a, p);
	/* Another inode would be another library to the linker: it would be loaded twice. */
	if (had == HAS_COPY)
		s->answer = attach_copies_again(a->copies, a->dev, a->ino);
	if (had != HAS_NONE || !is_ours(s, p))
		return;
	const uint64_t dev = a->dev, ino = a->ino;
	memcpy(path, a->path, sizeof(path));
	sup_leave(s, &left);
	int fd = attach_copies_get(a->copies, path, dev, ino);
	if (!sup_back(s, &left)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	/* From now on processes have something to tell. */
	if (fd >= 0 && !s->images && (s->images = images_new()))
		note_living(s);
	s->answer = fd < 0 ? -1 : fd;
}

const struct feature attach_feature = {.name = "attach", .opens = attach_opens, .after = attach_after};
