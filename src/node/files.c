/* The files that were met lately, by identity and by path. */
#include "base/hash.h"
#include "node/node_int.h"

#include <stdlib.h>
#include <sys/stat.h>

static unsigned hash_file_identity(uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino ^ dev << 40 ^ dev) * 0x9e3779b97f4a7c15u;
	return (unsigned)(h >> 52) & (HASH - 1);
}

/* The place of a path in the table. */
static unsigned path_slot(struct str path)
{
	return (unsigned)hash_str(path) & (HASH - 1);
}

/* It has no path then. */
static void remove_from_paths(struct node *n, struct nfile *f)
{
	if (!f->path)
		return;
	struct nfile **at = &n->paths[path_slot(str_of(f->path))];
	while (*at && *at != f)
		at = &(*at)->path_next;
	if (*at)
		*at = f->path_next;
	f->path_next = NULL;
	free(f->path);
	f->path = NULL;
}

void nfile_named(struct node *n, struct nfile *f, struct str path)
{
	if (f->path && str_is(path, f->path))
		return;
	char *copy = path.n ? strndup(path.p, path.n) : NULL;
	if (path.n && !copy) {
		n->stats.lost++;
		return;
	}
	remove_from_paths(n, f);
	f->path = copy;
	f->path_time = n->named ? n->named : n->now;
	if (copy) {
		struct nfile **slot = &n->paths[path_slot(path)];
		f->path_next = *slot;
		*slot = f;
	}
}

struct nfile *nfile_at_path(struct node *n, struct str path)
{
	for (struct nfile *f = n->paths[path_slot(path)]; f; f = f->path_next)
		if (!f->gone && str_is(path, f->path))
			return f;
	return NULL;
}

/* Takes it from the list by last use; it must be in it. */
static void unlink_from_list(struct node *n, struct nfile *f)
{
	*(f->newer ? &f->newer->older : &n->newest) = f->older;
	*(f->older ? &f->older->newer : &n->oldest) = f->newer;
	f->newer = f->older = NULL;
}

/* Puts it in front of the list by last use; it must not be in it. */
static void list_first(struct node *n, struct nfile *f)
{
	f->older = n->newest;
	if (n->newest)
		n->newest->newer = f;
	n->newest = f;
	if (!n->oldest)
		n->oldest = f;
}

/* Something was done to it: it is not the next one to go when room is made. It is put in front only then: each event
 * would touch its neighbours otherwise, which are in no cache. */
static void nfile_used(struct node *n, struct nfile *f)
{
	(void)n;
	f->used = true;
}

/* Takes a file out of the table in which it is found by its identity. Nothing if it is not in it. */
static void remove_from_hash(struct node *n, struct nfile *f)
{
	struct nfile **at = &n->files[hash_file_identity(f->dev, f->ino)];
	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
	f->next = NULL;
}

/* Another file has the inode now, so those that had it are met no more: where files come and go, one number would have
 * a chain of all of them. */
static void unhash_superseded(struct node *n, const struct tracer_fileid *id)
{
	struct nfile *next;
	for (struct nfile *f = n->files[hash_file_identity(id->dev, id->ino)]; f; f = next) {
		next = f->next;
		if (f->ino == id->ino && f->dev == id->dev && f->gen && id->gen && f->gen != id->gen)
			remove_from_hash(n, f);
	}
}

/* Only of a file that no access refers to. */
static void nfile_free(struct node *n, struct nfile *f)
{
	remove_from_hash(n, f);
	remove_from_paths(n, f);
	unlink_from_list(n, f);
	while (f->emitted) {
		struct emitted *next = f->emitted->next;
		free(f->emitted);
		f->emitted = next;
	}
	free(f);
	n->n_files--;
}

/* Frees all files; n->newest and oldest are none then. */
void nfiles_free(struct node *n)
{
	while (n->oldest)
		nfile_free(n, n->oldest);
}

/* Forgets one that was not used since it was looked at last, and that nothing points to; looks at a few only, so that
 * an event's cost is bounded: there is room for as many again until all have been looked at. What is forgotten gets a
 * new number when it comes back. */
static void evict_unpinned(struct node *n)
{
	struct nfile *f = n->oldest;
	for (unsigned i = 0; f && i < 64; i++) {
		struct nfile *newer = f->newer;
		if (!f->pins && !f->used) {
			nfile_free(n, f);
			return;
		}
		f->used = false;
		if (n->newest != f) {
			unlink_from_list(n, f);
			list_first(n, f);
		}
		f = newer;
	}
}

struct nfile *nfile_find(struct node *n, const struct tracer_fileid *id)
{
	for (struct nfile *f = n->files[hash_file_identity(id->dev, id->ino)]; f; f = f->next)
		if (f->ino == id->ino && f->dev == id->dev && !(f->gen && id->gen && f->gen != id->gen) &&
		    !(f->i_gen && id->i_gen && f->i_gen != id->i_gen)) {
			if (!f->i_gen)
				f->i_gen = id->i_gen;
			nfile_used(n, f);
			return f;
		}
	return NULL;
}

/* Does the path begin so? */
static bool path_starts(struct str s, const char *with)
{
	return str_starts(s, str_of(with));
}

/* A TERM_kind_, by mode, path and file system. */
static unsigned kind_of_mode(const struct tracer_fileid *id, const struct fs_domain *d, struct str path)
{
	switch (id->mode & S_IFMT) {
	case S_IFDIR:
		return TERM_kind_directory;
	case S_IFLNK:
		return TERM_kind_symlink;
	case S_IFIFO:
		return path.n && path.p[0] == '/' ? TERM_kind_fifo : TERM_kind_pipe;
	case S_IFSOCK:
		return TERM_kind_socket;
	case S_IFCHR:
		if (path_starts(path, "/dev/pts/") || path_starts(path, "/dev/tty"))
			return TERM_kind_terminal;
		return TERM_kind_pseudo;
	case S_IFBLK:
		return TERM_kind_pseudo;
	default:
		if (path_starts(path, "/memfd:") || path_starts(path, "/SYSV"))
			return TERM_kind_shm;
		return d && d->pseudo ? TERM_kind_pseudo : TERM_kind_regular;
	}
}

struct nfile *nfile_met(struct node *n, const struct tracer_fileid *id, const struct fs_domain *domain, unsigned kind,
                        struct str path)
{
	struct nfile *f = id->ino ? nfile_find(n, id) : NULL;
	if (f) {
		if (id->gen && !f->gen) {
			/* It was told of without: from now on it is known for what it is. */
			f->gen = id->gen;
			for (struct emitted *t = f->emitted; t; t = t->next)
				t->session = 0;
		}
		if (path.n && path.p[0] == '/')
			nfile_named(n, f, path);
		return f;
	}
	if (!id->ino)
		return NULL;
	if (n->n_files >= n->o.max_files)
		evict_unpinned(n);
	if (n->n_files >= 2 * n->o.max_files || !(f = calloc(1, sizeof(*f)))) {
		n->stats.lost++;
		n->files_short++;
		return NULL;
	}
	unhash_superseded(n, id);
	unsigned slot = hash_file_identity(id->dev, id->ino);
	if (!domain && n->world.domain)
		domain = n->world.domain(n->world.arg, id->dev);
	*f = (struct nfile){.next = n->files[slot],
	                    .dev = id->dev,
	                    .ino = id->ino,
	                    .gen = id->gen,
	                    .i_gen = id->i_gen,
	                    .domain = domain,
	                    .kind = kind ? kind : kind_of_mode(id, domain, path)};
	n->files[slot] = f;
	n->n_files++;
	list_first(n, f);
	nfile_named(n, f, path);
	return f;
}

struct nfile *nfile_found(struct node *n, const struct tracer_fileid *id, const struct node_found *found)
{
	struct tracer_fileid all = *id;
	if (found->gen)
		all.gen = found->gen;
	struct nfile *f = nfile_met(n, &all, found->domain, found->kind, str_of(found->path));
	if (f && found->channel)
		f->channel = found->channel;
	return f;
}
