/* Names of files: made, moved, removed; and what is done to the files that have them. */
#include "node/node_int.h"

#include <stdio.h>
#include <stdlib.h>

/* Names change in the order in which they are told, at a moment that fits. ns. */
static int64_t name_time(struct node *n, const struct tracer_event *ev)
{
	int64_t t = ev->lo > n->named ? ev->lo : n->named + 1;
	if (t > ev->hi)
		t = ev->hi;
	if (t > n->named)
		n->named = t;
	return t;
}

/* Copies a name. ret: room for it and a NUL. */
static void copy_name(struct str name, char *ret)
{
	memcpy(ret, name.p ? name.p : "", name.n);
	ret[name.n] = '\0';
}

/* The file has the event's name from now on. Had it one before? */
static bool take_new_name(struct node *n, const struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	bool was = f->path && f->emitted;
	struct nfile *other = nfile_at_path(n, ev->file.path);
	if (other && other != f)
		nfile_named(n, other, (struct str){0});
	if ((ev->file.ops & TRACER_CREATED) && !was && !f->emitted) {
		f->maker = p->pid;
		f->maker_start = p->start;
		f->made = ev->lo;
		f->born = 1 + n->losses;
	}
	nfile_named(n, f, ev->file.path);
	return was;
}

/* The file of the event got or lost the name that the event has: tells it, and keeps the names known. */
static void handle_names(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	struct nproc *by = before_user(p, ev) ? NULL : p; /* the name alone is told to those who know the file */
	uint32_t ops = ev->file.ops;
	char path[4096];
	struct str name = ev->file.path;
	int64_t time = name_time(n, ev);
	if (!name.n || name.n >= sizeof(path) || name.p[0] != '/')
		return;
	copy_name(name, path);
	if (ops & (TRACER_CREATED | TRACER_MOVED_TO)) {
		bool was = take_new_name(n, p, ev, f);
		node_emit_name(n, by, was ? TERM_nameop_link : TERM_nameop_create, f, path, NULL, time);
	}
	if (ops & (TRACER_DELETED | TRACER_MOVED_FROM)) {
		node_emit_name(n, by, TERM_nameop_unlink, f, path, NULL, time);
		if (f->path && str_eq(str_of(f->path), name))
			nfile_named(n, f, (struct str){0});
	}
}

/* Was the folder's name `old`, then what lies in it has other names, too. */
static void rename_below(struct node *n, const char *old, const char *path)
{
	size_t length = strlen(old);
	for (unsigned i = 0; i < HASH; i++)
		for (struct nfile *g = n->files[i]; g; g = g->next)
			if (g->path && !strncmp(g->path, old, length) && g->path[length] == '/') {
				char *moved = NULL;
				if (asprintf(&moved, "%s%s", path, g->path + length) >= 0)
					nfile_named(n, g, str_of(moved));
				free(moved);
			}
}

/* All that is known below a folder gets its new path, too. */
static void handle_rename(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	char path[4096], old[4096];
	struct nproc *by = before_user(p, ev) ? NULL : p; /* the name alone is told to those who know the file */
	struct nfile *other = nfile_at_path(n, ev->file.path), *f = nfile_at_path(n, ev->file.old_path);
	if (ev->file.path.n >= sizeof(path) || ev->file.old_path.n >= sizeof(old))
		return;
	int64_t time = name_time(n, ev);
	unsigned kind = ev->file.directory ? TERM_kind_directory : 0;
	if (ev->file.id.ino)
		f = nfile_met(n, &ev->file.id, ev->file.domain, kind, (struct str){0});
	if (!f || !ev->file.path.n)
		return;
	copy_name(ev->file.path, path);
	copy_name(ev->file.old_path, old);
	if (other && other != f) {
		node_emit_name(n, by, TERM_nameop_replace, other, path, NULL, time);
		nfile_named(n, other, (struct str){0});
	}
	/* Told by its old name where it is told now for the first time. */
	if (!f->path)
		nfile_named(n, f, ev->file.old_path);
	node_emit_name(n, by, TERM_nameop_rename, f, path, old, time);
	nfile_named(n, f, ev->file.path);
	for (struct emitted *t = f->emitted; t; t = t->next)
		t->path = 0; /* the number is told again with the name, when it is used next */
	if (f->kind == TERM_kind_directory)
		rename_below(n, old, path);
}

void node_take_file(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (ev->kind == TRACER_RENAME) {
		handle_rename(n, p, ev);
		return;
	}
	unsigned kind = ev->file.directory ? TERM_kind_directory : 0;
	bool new_name = ev->file.ops & (TRACER_CREATED | TRACER_MOVED_TO | TRACER_DELETED | TRACER_MOVED_FROM);
	struct nfile *f = NULL;
	if (ev->file.id.ino)
		f = nfile_met(n, &ev->file.id, ev->file.domain, kind, new_name ? (struct str){0} : ev->file.path);
	else if (ev->file.path.n)
		f = nfile_at_path(n, ev->file.path);
	if (!f)
		return;
	f->pins++;
	if (new_name)
		handle_names(n, p, ev, f);
	naccess_file(n, p, ev, f);
	f->pins--;
}
