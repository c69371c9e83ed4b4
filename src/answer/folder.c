#include "answer/folder.h"

#include "base/vec.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

/* f is empty then. */
void folder_release(struct folder *f)
{
	for (size_t i = 0; i < f->n_groups; i++) {
		struct folder_group *g = &f->groups[i];
		for (size_t k = 0; k < g->n_files; k++)
			buf_release(&g->files[k].path);
		buf_release(&g->programs);
		free(g->files);
		idmap_release(&g->seen);
		free(g->inputs);
		free(g->certain);
	}
	free(f->groups);
	*f = (struct folder){0};
}

/* Appends the kinds of command of the makers of n, in the order of why_order_makers, with commas or words between
 * them. 0, -errno. */
static int programs_text(struct store *s, const struct why *n, struct buf *b)
{
	uint32_t *order = calloc(n->n_makers + 1, sizeof(*order));
	int r = 0;
	if (!order)
		return -ENOMEM;
	why_order_makers(n, n->n_makers, order);
	for (size_t k = 0; k < n->n_makers && r >= 0; k++) {
		struct buf name = {0};
		buf_printf(b, "%s", n->n_direct == 1 ? why_word_between(n, order, k, n->n_makers) : k ? ", " : "");
		r = exec_name(s, n->reps[order[k]], true, 400, &name);
		if (r >= 0)
			buf_str(b, command_kind(buf_cstr(&name)));
		buf_release(&name);
	}
	free(order);
	return r < 0 ? r : b->failed ? -ENOMEM : 0;
}

/* The group of the same programs; a new one takes over *programs, which is empty then. NULL: no memory. */
static struct folder_group *find_group(struct folder *f, struct buf *programs)
{
	for (size_t i = 0; i < f->n_groups; i++)
		if (str_eq(buf_view(&f->groups[i].programs), buf_view(programs)))
			return &f->groups[i];
	if (!vec_has_room(f->groups, f->n_groups, f->cap_groups))
		return NULL;
	struct folder_group *g = &f->groups[f->n_groups++];
	*g = (struct folder_group){.programs = *programs, .sure = true};
	*programs = (struct buf){0};
	return g;
}

/* Was a version made, and its file is below the folder? That ends with a slash. 1, 0, -errno. */
static int is_inside(struct store *s, store_id version, struct str folder)
{
	struct version_sort v;
	int r = store_version_sort(s, version, &v);
	return r > 0 ? v.kind == TERM_kind_regular && v.origin == ORIGIN_OBSERVED && str_starts(v.path, folder) : r;
}

/* Data that lies outside of the folder, each once; certain if it is for one of the files. 0, -errno. */
static int add_group_inputs(struct store *s, const struct why *n, struct str folder, struct folder_group *g)
{
	int r = 0;
	for (size_t i = 0; i < n->n_inputs && r >= 0; i++) {
		uint32_t node = n->inputs[i];
		store_id id = n->l.nodes[node].id;
		bool is_new;
		if (n->sort[node] != ENTITY_DATA || n->role[node] != WHY_ROLE_data)
			continue;
		const uint32_t *known = idmap_find(&g->seen, id);
		if (known) {
			g->certain[*known] |= why_is_certain(n, i);
			continue;
		}
		r = is_inside(s, id, folder);
		if (r)
			continue;
		if (!vec_has_room(g->inputs, g->n_inputs, g->cap_inputs) ||
		    !vec_has_room(g->certain, g->n_inputs, g->cap_certain) ||
		    !idmap_add(&g->seen, id, (uint32_t)g->n_inputs, &is_new))
			return -ENOMEM;
		g->inputs[g->n_inputs] = id;
		g->certain[g->n_inputs++] = why_is_certain(n, i);
	}
	return r < 0 ? r : 0;
}

/* Adds a file to the group of those that the same programs made. n: why the version is there, with a maker. Takes
 * copies of all that it needs. 0, -errno. */
static int add_group_file(const struct answer_source *a, const struct why *n, const char *path, store_id version,
                          struct str folder, struct folder *f)
{
	struct buf programs = {0};
	struct version_info v;
	int r = programs_text(a->store, n, &programs);
	struct folder_group *g = r == 0 ? find_group(f, &programs) : NULL;
	buf_release(&programs);
	if (!g || !vec_has_room(g->files, g->n_files, g->cap_files))
		return r < 0 ? r : -ENOMEM;
	struct folder_file *file = &g->files[g->n_files++];
	*file = (struct folder_file){.version = version};
	buf_str(&file->path, str_of(path));
	r = store_version(a->store, version, &v);
	if (r > 0) {
		int64_t when = v.end != TIME_NEVER && v.end != TIME_NONE ? v.end : v.start;
		g->when = when > g->when || g->n_files == 1 ? when : g->when;
	}
	g->maker = n->l.nodes[n->makers[0]].id;
	g->gaps |= n->gaps;
	g->sure &= n->sure;
	return r < 0 ? r : add_group_inputs(a->store, n, folder, g);
}

/* A file that the record does not know, or that is not any more as recorded, only counts. 0; -errno, of which the
 * others are taken for "not known". */
static int add_folder_file(const struct answer_source *a, const char *path, unsigned flags, struct str folder,
                           struct folder *f)
{
	struct err err = {0};
	struct file_target t;
	struct why n = {0};
	int r = target_file(a->store, path, &err, &t);
	if (r == -ENOMEM || r == -EIO)
		return r;
	if (r <= 0 || !t.version) {
		f->unknown++;
		return 0;
	}
	r = why_find(a, t.version, flags, &n);
	if (r >= 0 && n.n_direct && t.disk == DISK_SAME)
		r = add_group_file(a, &n, path, t.version, folder, f);
	else if (r >= 0)
		f->unmade++;
	why_release(&n);
	return r < 0 ? r : 0;
}

/* For fts. */
static int compare_entries(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Order of qsort: the most files first, then by programs. */
static int compare_groups(const void *pa, const void *pb)
{
	const struct folder_group *a = pa, *b = pb;
	if (a->n_files != b->n_files)
		return a->n_files < b->n_files ? 1 : -1;
	return str_cmp(buf_view(&a->programs), buf_view(&b->programs));
}

/* Is the file meant, which lies at `path` and what is behind that? whole: path, absolute. -ENOMEM, else as only->wants;
 * 1 without that. */
static int is_wanted(const struct folder_filter *only, const char *whole, const char *path, const FTSENT *e)
{
	struct buf b = {0};
	if (!only)
		return 1;
	size_t n = strlen(path);
	buf_printf(&b, "%s/%s", whole, e->fts_path + n + (e->fts_path[n] == '/'));
	int r = b.failed ? -ENOMEM : only->wants(only->arg, buf_view(&b));
	buf_release(&b);
	return r;
}

int folder_find(const struct answer_source *a, const char *path, unsigned flags, const struct folder_filter *only,
                struct folder *ret)
{
	char *paths[] = {(char *)path, NULL}, *whole = realpath(path, NULL);
	struct buf folder = {0};
	*ret = (struct folder){0};
	FTS *fts = whole ? fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_entries) : NULL;
	int r = fts ? 0 : -errno;
	buf_printf(&folder, "%s/", whole ? whole : "");
	for (FTSENT *e; r == 0 && (e = fts_read(fts));) {
		ret->unread += e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS;
		if (e->fts_info != FTS_F || !S_ISREG(e->fts_statp->st_mode))
			continue;
		r = is_wanted(only, whole, path, e);
		if (r <= 0)
			continue;
		if (++ret->files > FOLDER_FILES)
			ret->left++;
		r = ret->files > FOLDER_FILES ? 0 : add_folder_file(a, e->fts_path, flags, buf_view(&folder), ret);
	}
	if (fts)
		fts_close(fts);
	free(whole);
	if (folder.failed)
		r = -ENOMEM;
	buf_release(&folder);
	if (ret->n_groups)
		qsort(ret->groups, ret->n_groups, sizeof(*ret->groups), compare_groups);
	return r;
}
