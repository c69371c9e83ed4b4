#include "answer/zarr/zarr.h"

#include "answer/fmt.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/map.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "query/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct node {
	char *path;
	struct zarr_meta meta;
};

struct zarr {
	struct store *s;
	struct idmap at; /* hash of a folder's path -> place in nodes, with the folders that are nothing */
	VEC(struct node) nodes;
};

int zarr_new(struct store *s, struct zarr **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->s = s;
	return 0;
}

/* NULL is no error. */
void zarr_free(struct zarr *z)
{
	if (!z)
		return;
	for (size_t i = 0; i < z->nodes.n; i++)
		free(z->nodes.v[i].path);
	vec_release(&z->nodes);
	idmap_release(&z->at);
	free(z);
}

/* Belongs to z. */
struct store *zarr_store(const struct zarr *z)
{
	return z->s;
}

/* What is known of an array or group. It lives as long as z. */
const struct zarr_meta *zarr_node_meta(const struct zarr *z, uint32_t node)
{
	return &z->nodes.v[node].meta;
}

/* Its folder, absolute. It lives as long as z. */
struct str zarr_node_path(const struct zarr *z, uint32_t node)
{
	return str_of(z->nodes.v[node].path);
}

/* ---- folders ---- */

static const struct metadata {
	const char *name;
	unsigned version;
	enum zarr_kind kind;
} metadata[] = {{".zarray", 2, ZARR_ARRAY}, {"zarr.json", 3, ZARR_ARRAY}, {".zgroup", 2, ZARR_GROUP}};

/* A file that may be anybody's: no link, no FIFO, and not long. False: it cannot be read. */
static bool read_metadata(const char *path, struct buf *ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && io_read_rest(fd, ZARR_META_MAX, ret) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Was there a file of that path, by the record? Many look for one in vain. 1, 0, -errno. */
static int was_file(struct store *s, struct str path)
{
	store_id files[4];
	struct file_info f;
	int n = store_files_by_path(s, path, files, sizeof(files) / sizeof(files[0])), r = n < 0 ? n : 0;
	for (int i = 0; i < n && r == 0; i++) {
		r = store_file(s, files[i], &f);
		r = r > 0 ? f.kind == TERM_kind_regular : r;
	}
	return r;
}

/* What lies in the folder, now or by the record. 0 or -errno. */
static int load_node(struct store *s, const char *folder, struct zarr_meta *ret)
{
	struct buf path = {0}, text = {0};
	int r = 0;
	*ret = (struct zarr_meta){.kind = ZARR_NONE};
	for (size_t i = 0; i < sizeof(metadata) / sizeof(metadata[0]) && r == 0 && ret->kind == ZARR_NONE; i++) {
		buf_reset(&path);
		buf_reset(&text);
		buf_printf(&path, "%s/%s", folder, metadata[i].name);
		if (read_metadata(buf_cstr(&path), &text)) {
			r = zarr_meta_read(buf_view(&text), metadata[i].version, ret);
			r = r == -EINVAL ? 0 : r;
		} else if (access(buf_cstr(&path), F_OK) < 0 && errno == ENOENT) {
			r = was_file(s, buf_view(&path));
			if (r > 0)
				*ret = (struct zarr_meta){.kind = metadata[i].kind};
			r = r < 0 ? r : 0;
		}
		if (path.failed || text.failed)
			r = -ENOMEM;
	}
	buf_release(&path);
	buf_release(&text);
	return r;
}

/* The place of a folder in nodes, whatever it is. ZARR_NO: too many were looked at. 0 or -errno. */
static int find_folder(struct zarr *z, struct str folder, uint32_t *ret)
{
	bool is_new;
	*ret = ZARR_NO;
	if (!folder.n || folder.n >= PATH_MAX - 16 || memchr(folder.p, '\0', folder.n))
		return 0;
	const uint32_t *known = idmap_find(&z->at, hash_str(folder) | 1);
	if (known) {
		*ret = str_eq(str_of(z->nodes.v[*known].path), folder) ? *known : ZARR_NO;
		return 0;
	}
	if (z->nodes.n >= ZARR_FOLDERS)
		return 0;
	struct node *n = vec_add(&z->nodes);
	if (!n)
		return -ENOMEM;
	*n = (struct node){.path = strndup(folder.p, folder.n)};
	int r = n->path ? load_node(z->s, n->path, &n->meta) : -ENOMEM;
	*ret = (uint32_t)z->nodes.n - 1;
	return r < 0 ? r : idmap_add(&z->at, hash_str(folder) | 1, *ret, &is_new) ? 0 : -ENOMEM;
}

int zarr_node(struct zarr *z, struct str folder, uint32_t *ret)
{
	int r = find_folder(z, folder, ret);
	return r < 0 ? r : *ret != ZARR_NO && z->nodes.v[*ret].meta.kind != ZARR_NONE;
}

/* Without the slash; empty: the path has none. */
static struct str folder_of(struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return str_n(path.p, slash ? (size_t)(slash - path.p) : 0);
}

/* ---- files ---- */

/* Of either version of the format. */
static bool is_metadata_name(struct str base)
{
	return str_is(base, ".zarray") || str_is(base, "zarr.json") || str_is(base, ".zgroup") || str_is(base, ".zattrs") ||
	       str_is(base, ".zmetadata");
}

/* Can a chunk, or a folder of chunks, be called so? */
static bool is_chunk_word(struct str base)
{
	size_t i = base.n && *base.p == 'c';
	if (base.n == 1 && i)
		return true;
	for (; i < base.n; i++)
		if (base.p[i] != '.' && (base.p[i] < '0' || base.p[i] > '9'))
			return false;
	return base.n > 0;
}

int zarr_part_of(struct zarr *z, struct str path, struct zarr_part *ret)
{
	struct str base = str_base_name(path), folder = folder_of(path);
	*ret = (struct zarr_part){.node = ZARR_NO};
	if (is_metadata_name(base))
		return zarr_node(z, folder, &ret->node);
	for (unsigned up = 0; up <= ZARR_RANK_MAX && is_chunk_word(base) && folder.n; up++) {
		int r = zarr_node(z, folder, &ret->node);
		if (r < 0)
			return r;
		if (r > 0) {
			const struct zarr_meta *m = zarr_node_meta(z, ret->node);
			const struct str name = str_n(path.p + folder.n + 1, path.n - folder.n - 1);
			ret->chunk = true;
			ret->key = hash_mix(hash_str(name), ret->node) | 1;
			ret->inside = zarr_meta_index(m, name, ret->index);
			return m->kind == ZARR_ARRAY;
		}
		base = str_base_name(folder);
		folder = folder_of(folder);
	}
	return 0;
}

int zarr_part_of_version(struct zarr *z, store_id version, struct zarr_part *ret)
{
	struct version_sort v;
	int r = store_version_sort(z->s, version, &v);
	*ret = (struct zarr_part){.node = ZARR_NO};
	if (r <= 0 || v.kind != TERM_kind_regular || v.within)
		return r < 0 ? r : 0;
	char *path = strndup(v.path.p, v.path.n); /* the store's own is gone with the next question */
	r = path ? zarr_part_of(z, str_of(path), ret) : -ENOMEM;
	free(path);
	return r;
}

/* ---- names ---- */

/* The highest folder above a node that is a group, and all between them are. *ret: it, or folder itself. 0, -errno. */
static int find_top(struct zarr *z, struct str folder, struct str *ret)
{
	uint32_t node;
	int r = 1;
	*ret = folder;
	for (struct str up = folder_of(folder); up.n && (r = zarr_node(z, up, &node)) > 0; up = folder_of(up))
		*ret = str_n(folder.p, up.n);
	return r < 0 ? r : 0;
}

int zarr_text(struct zarr *z, uint32_t node, const struct zarr_count *n, struct buf *b)
{
	const struct str path = zarr_node_path(z, node);
	const uint64_t all = n->of ? n->of : zarr_meta_chunks(zarr_node_meta(z, node));
	struct str top;
	int r = find_top(z, path, &top);
	fmt_path(b, top);
	if (path.n > top.n) {
		buf_printf(b, "//");
		fmt_name(b, str_n(path.p + top.n + 1, path.n - top.n - 1));
	}
	if (n->selection)
		fmt_name(b, str_of(n->selection));
	if (!n->chunks)
		buf_printf(b, " (metadata)");
	else if (all && !n->outside)
		buf_printf(b, " (%llu of %llu chunk%s)", (unsigned long long)n->chunks, (unsigned long long)all,
		           str_plural(all));
	else
		buf_printf(b, " (%llu chunk%s)", (unsigned long long)n->chunks, str_plural(n->chunks));
	return r < 0 ? r : b->failed ? -ENOMEM : 0;
}

/* ---- what is asked for ---- */

/* One number of a selection; where there is none, `given`. False: it is none of this length, or too large. */
static bool read_bound(const char **at, uint64_t given, uint64_t most, uint64_t *ret)
{
	char *end;
	*ret = given;
	if (!isdigit((unsigned char)**at))
		return true;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return !errno && *ret <= most;
}

/* "0:10,3": of dimensions that are not named, all. */
static bool read_box(const char *at, const struct zarr_meta *m, struct zarr_box *ret)
{
	ret->any = true;
	memcpy(ret->to, m->shape, sizeof(ret->to));
	for (unsigned i = 0; *at != ']'; i++) {
		if (i >= m->rank || (i && *at++ != ','))
			return false;
		const char *first = at;
		if (!read_bound(&at, 0, m->shape[i], &ret->from[i]))
			return false;
		if (*at == ':') {
			at++;
			if (!read_bound(&at, m->shape[i], m->shape[i], &ret->to[i]))
				return false;
		} else if (at == first || ret->from[i] >= m->shape[i]) {
			return false;
		} else {
			ret->to[i] = ret->from[i] + 1;
		}
		if (ret->from[i] >= ret->to[i])
			return false;
	}
	return at[1] == '\0';
}

int zarr_target(struct zarr *z, const char *text, struct err *err, uint32_t *ret, struct zarr_box *ret_box)
{
	const size_t n = strlen(text);
	const char *bracket = n && text[n - 1] == ']' ? strrchr(text, '[') : NULL;
	struct buf path = {0};
	struct stat st;
	*ret_box = (struct zarr_box){.any = false};
	char *name = strndup(text, stat(text, &st) == 0 || !bracket ? n : (size_t)(bracket - text));
	if (name && strlen(name) == n)
		bracket = NULL;
	int r = name ? 0 : -ENOMEM;
	if (r == 0 && stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {
		target_path(name, &path);
		r = path.failed ? -ENOMEM : zarr_node(z, buf_view(&path), ret);
	}
	if (r > 0 && bracket && !read_box(bracket + 1, zarr_node_meta(z, *ret), ret_box)) {
		r = -EINVAL;
		err_set(err, 0, "'%.200s' is not a selection of this array: write [FROM:TO,...] within its shape", bracket);
	}
	free(name);
	buf_release(&path);
	return r;
}

uint64_t zarr_box_chunks(const struct zarr *z, uint32_t node, const struct zarr_box *box)
{
	const struct zarr_meta *m = zarr_node_meta(z, node);
	uint64_t n = 1;
	if (!box->any)
		return zarr_meta_chunks(m);
	for (unsigned i = 0; i < m->rank; i++)
		if (__builtin_mul_overflow(n, (box->to[i] - 1) / m->chunk[i] - box->from[i] / m->chunk[i] + 1, &n))
			return 0;
	return n;
}

bool zarr_box_has(const struct zarr *z, uint32_t node, const struct zarr_box *box, const struct zarr_part *p)
{
	const struct zarr_meta *m = zarr_node_meta(z, node);
	if (p->node != node || !p->chunk)
		return false;
	for (unsigned i = 0; box->any && i < m->rank; i++)
		if (!p->inside || p->index[i] < box->from[i] / m->chunk[i] || p->index[i] > (box->to[i] - 1) / m->chunk[i])
			return false;
	return true;
}
