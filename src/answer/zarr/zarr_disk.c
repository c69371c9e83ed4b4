/* zarr_disk.c - what lies in the folder of an array now. */
#include "answer/zarr/zarr.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "query/target.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

struct versions {
	store_id *v;
	size_t n, cap, other;
};

/* Adds the last version of a file, if it is a chunk of the array that lies in the box. 0 or -errno. */
static int add_file(struct zarr *z, struct store *s, uint32_t node, const struct zarr_box *box, const char *path,
                    struct versions *to)
{
	struct zarr_part p;
	struct file_target t;
	struct err err = {0};
	int r = zarr_part_of(z, str_of(path), &p);
	if (r <= 0 || !zarr_box_has(z, node, box, &p))
		return r < 0 ? r : 0;
	r = target_file(s, path, &err, &t);
	if (r == -ENOMEM || r == -EIO)
		return r;
	if (r <= 0 || !t.version || t.disk != DISK_SAME) {
		to->other++;
		return 0;
	}
	if (!vec_has_room(to->v, to->n, to->cap))
		return -ENOMEM;
	to->v[to->n++] = t.version;
	return 0;
}

int zarr_versions(struct zarr *z, uint32_t node, const struct zarr_box *box, store_id **ret, size_t *ret_n,
                  size_t *ret_other)
{
	struct versions to = {0};
	const struct str path = zarr_node_path(z, node);
	char *folder = strndup(path.p, path.n), *paths[] = {folder, NULL};
	FTS *fts = folder ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	size_t seen = 0;
	int r = fts ? 0 : -ENOMEM;
	for (FTSENT *e; r == 0 && (e = fts_read(fts));) {
		if (e->fts_info != FTS_F || !S_ISREG(e->fts_statp->st_mode))
			continue;
		if (++seen > ZARR_FILES)
			to.other++;
		else
			r = add_file(z, zarr_store(z), node, box, e->fts_path, &to);
	}
	if (fts)
		fts_close(fts);
	free(folder);
	if (r < 0)
		free(to.v);
	*ret = r < 0 ? NULL : to.v;
	*ret_n = r < 0 ? 0 : to.n;
	*ret_other = to.other;
	return r;
}

struct arrays {
	struct zarr_on_disk *v;
	size_t n, cap, left;
	struct idmap at; /* node + 1 -> place */
};

/* Finds or adds an array. *ret: the array's place in `to`, where it is added once. 0, -ENOMEM. */
static int add_array(struct arrays *to, uint32_t node, size_t *ret)
{
	bool is_new;
	const uint32_t *at = idmap_add(&to->at, (uint64_t)node + 1, (uint32_t)to->n, &is_new);
	if (!at || (is_new && !vec_has_room(to->v, to->n, to->cap)))
		return -ENOMEM;
	*ret = *at;
	if (is_new)
		to->v[to->n++] = (struct zarr_on_disk){.node = node};
	return 0;
}

/* Counts the chunks of arrays on disk. Beyond ZARR_FILES files are only counted, as left. 0, -errno. */
static int look_at_entry(struct zarr *z, const FTSENT *e, size_t *seen, struct arrays *to)
{
	struct zarr_part p;
	uint32_t node;
	size_t at;
	if (e->fts_info == FTS_D) {
		int r = zarr_node(z, str_of(e->fts_path), &node);
		return r > 0 && zarr_node_meta(z, node)->kind == ZARR_ARRAY ? add_array(to, node, &at) : r < 0 ? r : 0;
	}
	if (e->fts_info != FTS_F || !S_ISREG(e->fts_statp->st_mode))
		return 0;
	if (++*seen > ZARR_FILES) {
		to->left++;
		return 0;
	}
	int r = zarr_part_of(z, str_of(e->fts_path), &p);
	if (r <= 0 || !p.chunk || !p.inside)
		return r < 0 ? r : 0;
	r = add_array(to, p.node, &at);
	if (r == 0)
		to->v[at].chunks++;
	return r;
}

/* For fts. */
static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* *ret: malloc'ed, with the chunks of each on disk; *ret_left: files beyond the most that are looked at. 0, -errno. */
int zarr_arrays(struct zarr *z, uint32_t node, struct zarr_on_disk **ret, size_t *ret_n, size_t *ret_left)
{
	struct arrays to = {0};
	const struct str path = zarr_node_path(z, node);
	char *folder = strndup(path.p, path.n), *paths[] = {folder, NULL};
	FTS *fts = folder ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
	size_t seen = 0;
	int r = fts ? 0 : -ENOMEM;
	for (FTSENT *e; r == 0 && (e = fts_read(fts));)
		r = look_at_entry(z, e, &seen, &to);
	if (fts)
		fts_close(fts);
	free(folder);
	idmap_release(&to.at);
	if (r < 0)
		free(to.v);
	*ret = r < 0 ? NULL : to.v;
	*ret_n = r < 0 ? 0 : to.n;
	*ret_left = to.left;
	return r;
}
