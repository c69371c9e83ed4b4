#include "capture/inline_open/opens_folders.h"
#include "base/fileid.h"
#include "capture/supervisor/paths/links.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOLDER_PATH 2048 /* there is room for a relative path behind it */

/* The row of the table that injected code compares a folder with: device, as struct stat has it, and inode. As
 * struct stat has it. */
static struct opens_folder_row row_of(const struct statx *st)
{
	return (struct opens_folder_row){makedev(st->stx_dev_major, st->stx_dev_minor), st->stx_ino};
}

/* Whether both are of the same folder. */
static bool is_row(const struct opens_folder_row *a, const struct opens_folder_row *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

/* Is the path (empty: /) that folder now? */
static bool leads_to(const char *path, const struct opens_folder_row *row)
{
	struct statx st;
	if (fileid_statx_cached(AT_FDCWD, path[0] ? path : "/", 0, STATX_INO, &st) < 0)
		return false;
	const struct opens_folder_row is = row_of(&st);
	return is_row(&is, row);
}

/* The real name of a folder, by a path of ours; NULL: it has none by which it can be looked up later. */
static const char *real_name(const char *path, struct opens_folder_row *ret)
{
	struct statx st;
	const char *name = NULL;
	struct dir_id id = {0};
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	if (fileid_statx_cached(dir, "", AT_EMPTY_PATH, STATX_INO, &st) == 0 && !links_is_in_proc(&st))
		name = dirs_name(dir, &id);
	close(dir);
	if (!name || name[0] != '/' || strlen(name) > FOLDER_PATH)
		return NULL;
	*ret = row_of(&st);
	return ret->ino ? name : NULL;
}

/* Enters a folder into the table by which opens below it need not stop: the row, and its name, NULL where it is not
 * known. False: no memory. */
static bool know(struct logging *g, const struct opens_folder_row *row, const char *name)
{
	if (!g->folders && !(g->folders = calloc(OPENS_FOLDERS, sizeof(*g->folders))))
		return false;
	struct opens_folder *f = &g->folders[row->ino % OPENS_FOLDERS];
	free(f->path);
	*f = (struct opens_folder){.row = *row, .path = name ? strdup(name[1] ? name : "") : NULL};
	return f->path;
}

void opens_folders_learn(struct sup *s, struct proc *p, int fd)
{
	struct opens_folder_row row;
	char link[64];
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", p->pid, fd);
	const char *name = sup_far(s) ? NULL : real_name(link, &row);
	if (name && leads_to(name, &row) && know(p->logging, &row, name))
		logging_slot(s->opens, p->logging->slot)->folder[row.ino % OPENS_FOLDERS] = row;
}

void opens_folders_made(struct sup *s, struct proc *p, const struct opens_folder_row *row, const char *folder,
                        const char *path, unsigned flags)
{
	char full[PATH_MAX];
	const char *above = path[0] == '/' ? "" : folder ? folder : proc_cwd(s, p, p->pid);
	const bool fits =
	    snprintf(full, sizeof(full), "%s%s%s", above, path[0] == '/' ? "" : "/", path) < (int)sizeof(full);
	/* One word in a folder whose name is known, and no link. */
	const bool plain = folder && (flags & O_NOFOLLOW) && !strchr(path, '/') && path[0] != '.';
	struct opens_folder_row is = *row;
	const char *name = !fits ? NULL : plain ? full : real_name(full, &is);
	know(p->logging, row, name && strlen(name) <= FOLDER_PATH && is_row(&is, row) ? name : NULL);
}

bool opens_folders_noted(const struct sup *s, const struct logging *g)
{
	return !sup_far(s) && !g->astray && !g->cwd_in_proc;
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

/* It may be released twice. */
void opens_folders_free(struct logging *g)
{
	for (int i = 0; g->folders && i < OPENS_FOLDERS; i++)
		free(g->folders[i].path);
	free(g->folders);
	g->folders = NULL;
}
