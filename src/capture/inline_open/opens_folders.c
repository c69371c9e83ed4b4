#include "capture/inline_open/opens_folders.h"
#include "base/fileid.h"
#include "capture/supervisor/paths/links.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOLDER_PATH 2048 /* there is room for a relative path behind it */

/* As struct stat has it. */
static struct opens_folder_row row_of(const struct statx *st)
{
	return (struct opens_folder_row){makedev(st->stx_dev_major, st->stx_dev_minor), st->stx_ino};
}

static bool is_row(const struct opens_folder_row *a, const struct opens_folder_row *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

static bool leads_to(const char *path, const struct opens_folder_row *row)
{
	struct statx st;
	if (fileid_statx_cached(AT_FDCWD, path[0] ? path : "/", AT_SYMLINK_NOFOLLOW, STATX_INO, &st) < 0)
		return false;
	const struct opens_folder_row is = row_of(&st);
	return is_row(&is, row);
}

/* The name of the folder that is p's descriptor fd; NULL: it has none by which it can be looked up later. */
static const char *name_of(const struct proc *p, int fd, struct opens_folder_row *ret)
{
	char link[64];
	struct statx st;
	const char *name = NULL;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", p->pid, fd);
	int dir = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	if (fileid_statx_cached(dir, "", AT_EMPTY_PATH, STATX_INO, &st) == 0 && !links_is_in_proc(&st))
		name = dirs_name(dir);
	close(dir);
	if (!name || name[0] != '/' || strlen(name) > FOLDER_PATH)
		return NULL;
	*ret = row_of(&st);
	return ret->ino && leads_to(name, ret) ? name : NULL;
}

void opens_folders_learn(struct sup *s, struct proc *p, int fd)
{
	struct logging *g = p->logging;
	struct opens_folder_row row;
	const char *name = sup_far(s) ? NULL : name_of(p, fd, &row);
	if (!name || (!g->folders && !(g->folders = calloc(OPENS_FOLDERS, sizeof(*g->folders)))))
		return;
	const unsigned at = row.ino % OPENS_FOLDERS;
	char *copy = strdup(name[1] ? name : "");
	if (!copy)
		return;
	free(g->folders[at].path);
	g->folders[at] = (struct opens_folder){.row = row, .path = copy};
	logging_slot(s->opens, g->slot)->folder[at] = row;
}

const char *opens_folders_name(struct opens_logs *l, struct logging *g, unsigned row)
{
	struct opens_folder *f = row && g->folders ? &g->folders[row - 1] : NULL;
	if (!f || !f->path)
		return NULL;
	if (f->looked == l->copies)
		return f->path;
	if (leads_to(f->path, &f->row)) {
		f->looked = l->copies;
		return f->path;
	}
	free(f->path);
	*f = (struct opens_folder){0};
	logging_slot(l, g->slot)->folder[row - 1] = (struct opens_folder_row){0};
	return NULL;
}

void opens_folders_forget(struct opens_logs *l)
{
	for (int i = 0; l && i < OPENS_SLOTS; i++)
		if (l->owner[i] && l->owner[i]->logging->folders)
			memset(logging_slot(l, i)->folder, 0, sizeof(logging_slot(l, i)->folder));
}

void opens_folders_free(struct logging *g)
{
	for (int i = 0; g->folders && i < OPENS_FOLDERS; i++)
		free(g->folders[i].path);
	free(g->folders);
	g->folders = NULL;
}
