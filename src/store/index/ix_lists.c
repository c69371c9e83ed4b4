/* ix_lists.c - lists of strings, packed: elements that are paths or come often are numbers. And fingerprints, which
 * every file counts for itself. */
#include "store/index/index.h"

#include <errno.h>

/* An element that this often occurs in one indexing is worth a row of its own. */
#define OFTEN 3

/* Steps through the strings of a list word (count and encoded strings). */
struct list_cursor {
	struct cur c;
	uint64_t left;
};
/* Begins to walk through a list. word: a list as facts_list interned it. */
static struct list_cursor list_cursor_of(const struct ix *x, uint32_t word)
{
	struct list_cursor l = {.c = cur_of(intern_get(&x->g.words, word))};
	l.left = l.c.p < l.c.end ? cur_u(&l.c) : 0;
	return l;
}
/* Takes the next element of a list. False at the end, and where the bytes are damaged. */
static bool list_next(struct list_cursor *l, struct str *ret)
{
	if (!l->left || l->c.p >= l->c.end)
		return false;
	l->left--;
	*ret = cur_str(&l->c);
	return !l->c.bad;
}

/* How often each element stands in lists: those that do so often are interned. 0, -ENOMEM. */
static int count_list(struct ix *x, uint32_t word)
{
	struct list_cursor l = list_cursor_of(x, word);
	struct str s;
	while (list_next(&l, &s)) {
		uint32_t w = intern_add(&x->g.words, s);
		if (w == VEC_NONE)
			return ix_oom(x);
		while (x->element_counts.n <= w) {
			uint32_t *p = vec_add(&x->element_counts);
			if (!p)
				return ix_oom(x);
			*p = 0;
		}
		x->element_counts.v[w]++;
	}
	return 0;
}

int ix_count_list_elements(struct ix *x)
{
	int rc = 0;
	uint32_t env = 0;
	for (size_t i = 0; rc == 0 && i < x->new_xfacts; i++) {
		const struct gxfact *f = &x->g.xfacts.v[i];
		rc = count_list(x, f->argv);
		if (rc == 0 && f->env != env) /* most have the same as the one before */
			rc = count_list(x, env = f->env);
	}
	return rc;
}

int ix_list(struct ix *x, uint32_t word, struct buf *out)
{
	struct list_cursor l = list_cursor_of(x, word);
	struct str s;
	buf_varint(out, l.left);
	while (list_next(&l, &s)) {
		uint32_t path = s.n && s.p[0] == '/' ? paths_find(&x->g.paths, &x->g.words, s) : VEC_NONE;
		uint32_t w = intern_find(&x->g.words, s);
		if (path != VEC_NONE && path < x->nodes.n && x->nodes.v[path].id) {
			buf_varint(out, x->nodes.v[path].id << 2 | 2);
		} else if (s.n > 2 && w != VEC_NONE && w < x->element_counts.n && x->element_counts.v[w] >= OFTEN) {
			uint64_t id;
			int rc = ix_interned(x, w, &id);
			if (rc < 0)
				return rc;
			buf_varint(out, id << 2 | 1);
		} else {
			buf_varint(out, (uint64_t)s.n << 2);
			buf_str(out, s);
		}
	}
	return out->failed ? ix_oom(x) : 0;
}

/* ---- fingerprints ---- */

/* Makes room for fingerprints and files. 0, -ENOMEM, reported. */
static int grow_fingerprint_tables(struct ix *x)
{
#define GROW(to, want, init)                                                                                           \
	if (x->to.n < (want) && !vec_room(&x->to, (want)-x->to.n))                                                         \
		return ix_oom(x);                                                                                              \
	while (x->to.n < (want))                                                                                           \
	x->to.v[x->to.n++] = init
	GROW(fp_index, x->g.fps.n, 0);
	GROW(fp_next, x->g.fps.n, VEC_NONE);
	GROW(fp_file, x->g.fps.n, VEC_NONE);
	GROW(fp_count, x->g.files.n, 0);
	GROW(fp_first, x->g.files.n, VEC_NONE);
	GROW(fp_last, x->g.files.n, VEC_NONE);
#undef GROW
	return 0;
}

/* Of a file's state; of two that are alike it is the same. */
static uint32_t fp_hash(uint32_t file, const struct gfp *fp)
{
	return hash_fold(hash_mix(hash_mix(fp->size, (uint64_t)fp->mtime), file));
}

/* Gives g.fps[i] of the file the next index. */
static int append_fp(struct ix *x, uint32_t file, uint32_t i)
{
	x->fp_index.v[i] = ++x->fp_count.v[file];
	x->fp_file.v[i] = file;
	if (x->fp_last.v[file] == VEC_NONE)
		x->fp_first.v[file] = i;
	else
		x->fp_next.v[x->fp_last.v[file]] = i;
	x->fp_last.v[file] = i;
	return table_add(&x->fp_table, fp_hash(file, &x->g.fps.v[i]), i) ? 0 : ix_oom(x);
}

/* The list that the store has, before anything is added to it. 0, -ENOMEM, reported. */
static int old_fps(struct ix *x, uint32_t file)
{
	if (x->files.v[file].row == VEC_NONE || x->fp_count.v[file])
		return 0;
	struct ix_row *row = &x->rows.v[x->files.v[file].row];
	if (row->first_fp == VEC_NONE) {
		row->first_fp = (uint32_t)x->g.fps.n;
		for (size_t k = 0; k < row->f.fps.n; k++) {
			struct gfp *fp = vec_add(&x->g.fps);
			if (!fp)
				return ix_oom(x);
			*fp = (struct gfp){row->f.fps.v[k].size, row->f.fps.v[k].mtime};
		}
		if (grow_fingerprint_tables(x) < 0)
			return -ENOMEM;
	}
	int rc = 0;
	for (size_t k = 0; rc == 0 && k < row->f.fps.n; k++)
		rc = append_fp(x, file, row->first_fp + (uint32_t)k);
	return rc;
}

/* Finds a fingerprint: the same fingerprint of the same file, VEC_NONE for none. */
static uint32_t find_fp(const struct ix *x, uint32_t file, const struct gfp *fp)
{
	uint32_t i;
	for (size_t pos = TABLE_START; (i = table_next(&x->fp_table, fp_hash(file, fp), &pos)) != VEC_NONE;) {
		const struct gfp *o = &x->g.fps.v[i];
		if (x->fp_file.v[i] == file && o->size == fp->size && o->mtime == fp->mtime)
			return i;
	}
	return VEC_NONE;
}

/* The fingerprint gets its number in the file's row, the old one where it is there already. i VEC_NONE: nothing. 0 or
 * -errno. */
static int give_index(struct ix *x, uint32_t file, uint32_t i)
{
	if (i == VEC_NONE || x->fp_index.v[i])
		return 0;
	int rc = old_fps(x, file);
	if (rc < 0 || x->fp_index.v[i])
		return rc;
	uint32_t same = find_fp(x, file, &x->g.fps.v[i]);
	if (same == VEC_NONE)
		return append_fp(x, file, i);
	x->fp_index.v[i] = x->fp_index.v[same];
	return 0;
}

int ix_fps(struct ix *x)
{
	int rc = grow_fingerprint_tables(x);
	for (uint32_t i = 0; rc == 0 && i < x->files.n; i++)
		rc = old_fps(x, i);
	for (size_t i = 0; rc == 0 && i < x->g.accesses.n; i++) {
		uint32_t self = x->g.accesses.v[i].self;
		rc = give_index(x, self, x->g.accesses.v[i].fps);
		if (rc == 0)
			rc = give_index(x, self, x->g.accesses.v[i].fpe);
	}
	return rc;
}

int ix_fp_index(struct ix *x, uint32_t file, const struct gfp *fp, uint32_t *ret)
{
	uint32_t i = find_fp(x, file, fp);
	if (i == VEC_NONE)
		return err_set(x->err, EINVAL, "a version's fingerprint is not its file's");
	*ret = x->fp_index.v[i];
	return 0;
}
