#include "query/target_int.h"

#include "base/fileid.h"
#include "query/objects.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES 256 /* of one name; more is a name like /tmp/x in years of use, and the latest are enough */

/* ---- files ---- */

/* Of the files a name led to, the one that has versions comes first. -errno, or 0. */
static int put_versioned_first(struct store *s, store_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct file_info f;
		int r = store_file(s, ids[i], &f);
		if (r < 0)
			return r;
		if (r > 0 && f.versions && f.kind != TERM_kind_absent) {
			store_id first = ids[i];
			memmove(ids + 1, ids, i * sizeof(*ids));
			ids[0] = first;
			return 0;
		}
	}
	return 0;
}

struct found {
	store_id ids[MAX_FILES];
	size_t n;
	struct fileid now; /* what has the name on disk */
	bool on_disk, by_identity;
	bool linked; /* by a link from another HDF5 file */
};

/* Was that id found already? */
static bool found_has(const struct found *f, store_id id)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->ids[i] == id)
			return true;
	return false;
}

static int find_named_files(struct store *s, const char *name, struct found *ret);
static int look_up_name(struct store *s, const char *name, unsigned *left, struct found *ret);

#define LINKS_MAX 32 /* followed in all, whatever circle they make */

/* Looks up what a link at `to` (FILE//OBJECT) leads to, and `rest` below it: the file where the link says, then beside
 * `head`, the file in which the link is. 1, also where too many were followed: then it leads to nothing; 0; -errno. */
static int follow_link(struct store *s, struct buf *to, const char *head, struct str rest, unsigned *left,
                       struct found *ret)
{
	const char *inside = strstr(buf_cstr(to), "//"), *base = inside, *slash = strrchr(head, '/');
	struct buf name = {0};
	int r = 1;
	while (base && base > to->p && base[-1] != '/')
		base--;
	for (int beside = 0; r >= 0 && inside && *left && beside < 2; beside++) {
		buf_reset(&name);
		--*left;
		if (beside)
			buf_add(&name, head, slash ? (size_t)(slash - head) + 1 : 0);
		buf_printf(&name, "%s%.*s", beside ? base : to->p, (int)rest.n, rest.p);
		r = name.failed ? -ENOMEM : look_up_name(s, buf_cstr(&name), left, ret);
		if (r > 0)
			break;
	}
	buf_release(&name);
	return r;
}

/* Of the objects that were ever named by the first n bytes of inner: follows those that are links and have that name
 * still. 1, 0, -errno. */
static int follow_links_at(struct store *s, store_id file, const char *head, struct str inner, size_t n, unsigned *left,
                           struct found *ret)
{
	struct buf to = {0};
	store_id ids[MAX_FILES];
	int count = store_objects_by_name(s, file, str_n(inner.p, n), ids, MAX_FILES), r = count < 0 ? count : 0;
	for (int i = 0; r == 0 && i < count; i++) {
		int64_t until;
		bool other;
		r = store_link_target(s, ids[i], &to);
		if (r > 0)
			r = store_object_named_until(s, ids[i], str_n(inner.p, n), &until, &other);
		if (r > 0)
			r = until == TIME_NEVER ? follow_link(s, &to, head, str_n(inner.p + n, inner.n - n), left, ret) : 0;
		ret->linked |= r > 0;
	}
	buf_release(&to);
	return r;
}

/* Where the name, or the beginning of it, is a link to another file: what lies there. The file is sought where the link
 * says, and beside that in which the link is now. 0, or what follow_links_at gives first. */
static int look_up_linked(struct store *s, store_id file, const char *head, struct str inner, unsigned *left,
                          struct found *ret)
{
	int r = 0;
	for (size_t n = inner.n; r == 0 && n > 2; n--)
		if (n == inner.n || inner.p[n] == '/' || inner.p[n] == '@')
			r = follow_links_at(s, file, head, inner, n, left, ret);
	return r;
}

/* Objects called inner in the files that were found, in ret. 0 or -errno. */
static int find_inner_objects(struct store *s, const struct found *outer, struct str inner, struct found *ret)
{
	for (size_t i = 0; i < outer->n; i++) {
		int n = store_objects_by_name(s, outer->ids[i], inner, ret->ids + ret->n, MAX_FILES - ret->n);
		if (n < 0)
			return n;
		ret->n += (size_t)n;
	}
	return 0;
}

/* What links in the files that were found lead to, by the name inner: in place of *ret. 1, 0, -errno. */
static int follow_outer_links(struct store *s, const struct found *outer, const char *head, struct str inner,
                              unsigned *left, struct found *ret)
{
	struct found *linked = *left && store_has_objects(s) > 0 ? calloc(1, sizeof(*linked)) : NULL;
	int r = 0;
	for (size_t i = 0; linked && r == 0 && i < outer->n; i++)
		r = look_up_linked(s, outer->ids[i], head, inner, left, linked);
	if (r > 0)
		*ret = *linked;
	free(linked);
	return r;
}

/* Objects of that name in the files that the first part of it leads to. 1, 0, -errno. *left: how many links may still
 * be followed. */
static int look_up_object(struct store *s, const char *name, size_t file, unsigned *left, struct found *ret)
{
	char *head = strndup(name, file);
	struct found *outer = malloc(sizeof(*outer));
	struct buf inner = {0};
	int r = head && outer ? find_named_files(s, head, outer) : -ENOMEM, follows = 0;
	target_inner_path(name + file, &inner);
	if (inner.failed)
		r = -ENOMEM;
	if (r > 0)
		r = find_inner_objects(s, outer, buf_view(&inner), ret);
	/* What is linked, or was here before a link took its name. */
	if (r >= 0)
		follows = follow_outer_links(s, outer, head, buf_view(&inner), left, ret);
	if (follows) {
		r = follows;
	} else if (r >= 0 && ret->n) {
		ret->on_disk = outer->on_disk;
		ret->by_identity = outer->by_identity;
		ret->now = outer->now;
	}
	buf_release(&inner);
	free(outer);
	free(head);
	return r < 0 ? r : ret->n > 0;
}

/* All that the name leads to: the file that has it now first. 1, 0 or -errno. */
static int find_named_files(struct store *s, const char *name, struct found *ret)
{
	unsigned left = LINKS_MAX;
	return look_up_name(s, name, &left, ret);
}

/* Adds the files that had the name's path, by the record, behind those found: with versions first. 0 or -errno. */
static int add_files_by_path(struct store *s, const char *name, struct found *ret)
{
	store_id named[MAX_FILES];
	struct buf path = {0};
	target_plain_path(name, &path);
	int n = path.failed ? -ENOMEM : store_files_by_path(s, buf_view(&path), named, MAX_FILES - 1);
	if (n == 0 && *name != '/') /* what was imported may be called otherwise: by an IRI, by a label */
		n = store_files_by_path(s, str_of(name), named, MAX_FILES - 1);
	buf_release(&path);
	if (n < 0)
		return n;
	if (put_versioned_first(s, named, (size_t)n) < 0)
		return -EIO;
	for (int i = 0; i < n; i++)
		if (!found_has(ret, named[i]) && ret->n < MAX_FILES)
			ret->ids[ret->n++] = named[i];
	return 0;
}

/* All that a name leads to, as find_named_files. A name of an object in a file (FILE//PLACE) may be one of links to
 * other files, each of which is looked up the same way: *left is how many may still be followed. 1, 0, -errno. *left:
 * how many links may still be followed. */
static int look_up_name(struct store *s, const char *name, unsigned *left, struct found *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!*name)
		return 0;
	store_id id = 0;
	size_t object = target_object(name);
	int r = object ? look_up_object(s, name, object, left, ret) : 0;
	if (r)
		return r;
	ret->on_disk = fileid_get(AT_FDCWD, name, true, &ret->now) == 0;
	if (ret->on_disk)
		r = store_file_by_identity(s, str_of(ret->now.domain->name), ret->now.ino, ret->now.gen, &id);
	if (r > 0)
		ret->ids[ret->n++] = id;
	if (r >= 0)
		r = add_files_by_path(s, name, ret);
	if (r < 0)
		return r;
	/* A file that is known only as a name (a directory, a link) gives way to one with versions. */
	struct file_info f;
	ret->by_identity = id && store_file(s, id, &f) > 0 && f.versions;
	if (!ret->by_identity && (r = put_versioned_first(s, ret->ids, ret->n)) < 0)
		return r;
	return ret->n > 0;
}

/* Finds a version or file by its public id. 1: the text is the public id of a version or a file; 0: it is none;
 * -errno. */
static int version_by_id(struct store *s, const char *text, struct file_target *ret)
{
	char kind;
	store_id id;
	struct version_info v;
	size_t n = strlen(text);
	if (n < 5 || n > 25 || (*text != 'v' && *text != 'f') || strspn(text + 1, "0123456789abcdef") != n - 1)
		return 0;
	int r = store_by_pubid(s, text, &kind, &id);
	if (r <= 0)
		return r == -ENOTUNIQ ? r : r < 0 ? r : 0;
	*ret = (struct file_target){.file = id};
	if (kind == 'v') {
		r = store_version(s, id, &v);
		if (r <= 0)
			return r;
		*ret = (struct file_target){.file = v.file, .version = id, .n = v.n};
		return 1;
	}
	r = store_version_of(s, id, 0, &ret->version);
	return r < 0 ? r : 1;
}

/* FILE//OBJECT, of a file that is there. */
static bool lies_in_file(const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	for (const char *p = name; (p = strstr(p, "//")) && (size_t)(p - name) < sizeof(path); p += 2) {
		memcpy(path, name, (size_t)(p - name));
		path[p - name] = '\0';
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

/* Of an object that is not recorded: the program that made its file, and did with objects what is not known. 1: err
 * says it; 0: nothing is known; -errno. */
static int report_unobserved(struct store *s, const char *name, struct err *err)
{
	size_t n = target_object(name);
	char *head = n ? strndup(name, n) : NULL;
	struct found *file = malloc(sizeof(*file));
	store_id exec = 0;
	struct exec_info x;
	struct str program = {0};
	size_t pos = 0;
	int r = head && file ? find_named_files(s, head, file) : n ? -ENOMEM : 0;
	if (r > 0)
		r = objects_unobserved_by(s, file->ids[0], &exec);
	if (r >= 0 && exec && (r = store_exec(s, exec, &x)) > 0 && strlist_next(&x.argv, &pos, &program)) {
		err_set(err, 0,
		        "HDF5 object '%.300s' is not recorded, only its file: the record of '%.*s', which made the file, lacks "
		        "HDF5 objects",
		        name, (int)(program.n < 100 ? program.n : 100), program.p);
		err_hint(err, "record the program with stemma run --hdf5");
	}
	free(file);
	free(head);
	return r < 0 ? r : program.n > 0;
}

/* Of an object that is not recorded, in a file of which others are. As report_unobserved. */
static int report_other_objects(struct store *s, const char *name, struct err *err)
{
	size_t n = target_object(name);
	char *head = n ? strndup(name, n) : NULL;
	struct found *file = malloc(sizeof(*file));
	store_id root;
	int r = head && file ? find_named_files(s, head, file) : n ? -ENOMEM : 0;
	if (r > 0)
		r = store_objects_by_name(s, file->ids[0], str_of("//"), &root, 1);
	if (r > 0) {
		err_set(err, 0, "nothing is recorded about '%.300s'; other objects of the file are recorded", name);
		err_hint(err, "stemma find --all 'path %.200s/?*' lists them", head);
	}
	free(file);
	free(head);
	return r < 0 ? r : r > 0;
}

/* Gives -errno, with the reason and what may be meant. */
static int not_recorded(struct store *s, const char *name, const struct found *f, struct err *err)
{
	if (f->on_disk && S_ISDIR(f->now.st.stx_mode)) {
		err_set(err, 0, "'%.400s' is a directory; only files have versions", name);
		err_hint(err, "stemma why '%.200s' answers for the files in it", name);
		return -EISDIR;
	}
	bool inside = !f->on_disk && lies_in_file(name);
	if (inside && strstr(name, "//.@"))
		err_set(err, 0, "nothing is recorded about '%.400s'; use stemma run --xattr to record extended attributes",
		        name);
	else if (inside && (report_unobserved(s, name, err) > 0 || report_other_objects(s, name, err) > 0))
		;
	else if (inside)
		err_set(err, 0,
		        "nothing is recorded about '%.400s', a part of a file; stemma run --hdf5 records parts of HDF5 and "
		        "netCDF files",
		        name);
	else {
		err_set(err, 0,
		        f->on_disk ? "nothing is recorded about '%.400s'"
		                   : "'%.400s' does not exist, and nothing is recorded about it",
		        name);
		if (f->on_disk)
			err_hint(err, "record the command that makes it: stemma run -- COMMAND");
	}
	return 0;
}

/* Finds `text`, splitting a version off it; name is the buffer for the split name. 1: *ret, *ret_name (the caller's)
 * and *ret_n are set; 0 or -errno: *ret_name is not. */
static int resolve_target(struct store *s, const char *text, struct err *err, struct found *ret, char **ret_name,
                          uint64_t *ret_n)
{
	uint64_t n;
	size_t len = target_split(text, &n);
	char *name = strndup(text, len);
	int r = name ? find_named_files(s, name, ret) : -ENOMEM;
	if (r == 0 && n) { /* a file may be called like this */
		struct found whole;
		r = find_named_files(s, text, &whole);
		if (r > 0) {
			*ret = whole;
			n = 0;
		}
	} else if (r == 0 && !ret->on_disk && (len = target_split_loosely(text, &n)) < strlen(text)) {
		free(name);
		name = strndup(text, len);
		r = name ? find_named_files(s, name, ret) : -ENOMEM;
	}
	if (r == 0)
		r = not_recorded(s, n ? name : text, ret, err);
	else if (r < 0 && r != -EISDIR)
		err_set(err, -r, "cannot look up '%.400s'", text);
	if (r > 0) {
		*ret_n = n;
		*ret_name = name;
	} else {
		free(name);
	}
	return r;
}

/* Of a file that is there, whether it is as version v says. */
static enum disk_state compare_with_disk(const struct found *f, const struct version_info *v, bool object)
{
	bool same_size = !v->has_size || v->size == f->now.st.stx_size;
	bool same_time = v->mtime == TIME_NONE || v->mtime == fileid_time(&f->now.st.stx_mtime);
	if (!S_ISREG(f->now.st.stx_mode) || (same_size && same_time))
		return DISK_SAME;
	return object ? DISK_AROUND : f->by_identity ? DISK_CHANGED : DISK_REPLACED;
}

/* Sets t->disk: is what lies there the latest version? 0 or -errno. */
static int compare_disk(struct store *s, const struct found *f, struct file_target *t)
{
	struct version_info v;
	store_id latest;
	if (!f->on_disk) {
		t->disk = DISK_GONE;
		return 0;
	}
	struct file_info info;
	int r = store_file(s, t->file, &info);
	bool object = r > 0 && info.within;
	if (object && info.kind == TERM_kind_xattr) /* of the file nothing follows for it */
		return 0;
	if (r >= 0)
		r = store_version_of(s, object ? info.within : t->file, 0, &latest);
	if (r > 0)
		r = store_version(s, latest, &v);
	if (r <= 0)
		return r;
	t->disk = compare_with_disk(f, &v, object);
	bool told = true;
	if (object && t->disk == DISK_SAME && (r = objects_are_reported(s, t->version, &told)) == 0 && !told)
		t->disk = DISK_AROUND;
	return r < 0 ? r : 0;
}

/* Of an object: whether it is still there, by the record; *ret_renamed: it is, and has that name no more. */
static int compare_deleted(struct store *s, const char *name, struct file_target *t, bool *ret_renamed)
{
	struct buf path = {0};
	size_t inside = t->n ? 0 : target_object(name);
	if (!inside)
		return 0;
	target_path(name, &path);
	const char *inner = path.failed ? NULL : strstr(buf_cstr(&path), "//");
	int r = path.failed ? -ENOMEM : inner ? deleted_object(s, t->file, str_of(inner), &t->deleted) : 0;
	if (r > 0) {
		t->disk = DISK_DELETED;
		t->version = t->deleted.version ? t->deleted.version : t->version;
	}
	int64_t until = TIME_NEVER;
	if (r == 0 && inner && (r = store_object_named_until(s, t->file, str_of(inner), &until, ret_renamed)) >= 0)
		*ret_renamed &= until != TIME_NEVER;
	buf_release(&path);
	return r < 0 ? r : 0;
}

/* Was the file ever called by the path? 1, 0, -errno. */
static int was_named(struct store *s, store_id file, struct str path)
{
	store_id named[MAX_FILES];
	int n = store_files_by_path(s, path, named, MAX_FILES);
	for (int i = 0; i < n; i++)
		if (named[i] == file)
			return 1;
	return n < 0 ? n : 0;
}

/* Is the file there by the path that it shows? */
static bool is_there(const struct file_info *f)
{
	struct fileid now;
	char path[PATH_MAX];
	if (f->path.n >= PATH_MAX)
		return false;
	memcpy(path, f->path.p, f->path.n);
	path[f->path.n] = '\0';
	return fileid_get(AT_FDCWD, path, true, &now) == 0 && now.ino == f->ino && now.gen == f->gen;
}

/* How the name stands to the path that the file shows. 0, -errno. */
static int compare_name(struct store *s, const struct found *f, const char *name, struct file_target *t)
{
	struct file_info info;
	struct buf path = {0};
	target_path(name, &path);
	t->name_n = strlen(name);
	int r = path.failed ? -ENOMEM : store_file(s, t->file, &info);
	if (r > 0 && !str_eq(info.path, buf_view(&path))) {
		int known = f->by_identity ? was_named(s, t->file, buf_view(&path)) : 0;
		t->name = known > 0 ? NAME_KNOWN : f->by_identity ? NAME_NEW : NAME_OLD;
		r = known < 0 ? known : r;
	}
	/* It went to the other name: is it there? */
	if (r > 0 && t->disk == DISK_GONE && t->name == NAME_OLD && is_there(&info))
		t->disk = DISK_SAME;
	buf_release(&path);
	return r < 0 ? r : 0;
}

/* Copies sentence and hint. */
static void copy_reason(const struct err *from, struct err *err)
{
	err_set(err, 0, "%s", from->text);
	if (from->hint[0])
		err_hint(err, "%s", from->hint);
}

/* Where the name leads to nothing: is text the id of a version or of a file? As target_file. */
static int target_by_id(struct store *s, const char *text, const struct err *not_found, struct err *err,
                        struct file_target *ret)
{
	int r = version_by_id(s, text, ret);
	if (r == 0)
		copy_reason(not_found, err);
	else if (r < 0)
		err_set(err, 0, r == -ENOTUNIQ ? "'%.100s' is ambiguous: several ids begin with it" : "cannot look up '%.100s'",
		        text);
	return r;
}

/* Reports that a file has no version of that number. -ENOENT, with the sentence. */
static int report_no_version(struct store *s, const struct found *f, const char *name, const struct file_target *t,
                             struct err *err)
{
	struct file_info info;
	uint64_t n = store_file(s, t->file, &info) > 0 ? info.versions : 0;
	err_set(err, 0, "'%.300s' has no version %llu; its versions are 1 to %llu", name, (unsigned long long)t->n,
	        (unsigned long long)n);
	if (f->n > 1)
		err_hint(err, "an earlier file with this name may have that version: stemma show '%.200s' lists them", name);
	return -ENOENT;
}

/* How what the record has of the file stands to what is there now. 1 or -errno. */
static int compare_target(struct store *s, const struct found *f, const char *name, struct file_target *t)
{
	bool renamed = false;
	int r = compare_disk(s, f, t);
	if (r >= 0)
		r = f->linked ? 0 : compare_deleted(s, name, t, &renamed);
	if (r >= 0)
		r = compare_name(s, f, name, t);
	if (r < 0)
		return r;
	if (f->linked)
		t->name = NAME_LINK;
	if (t->name != NAME_SHOWN && (renamed || t->disk == DISK_DELETED))
		t->name = renamed ? NAME_OLD : NAME_KNOWN;
	return 1;
}

/* The version that is meant of what was found. As target_file. 1; 0 or -errno with a sentence. */
static int choose_target(struct store *s, const struct found *f, const char *name, uint64_t n, struct err *err,
                         struct file_target *ret)
{
	struct file_target t = {.file = f->ids[0], .n = n};
	int r = store_version_of(s, t.file, t.n, &t.version);
	if (r == 0 && t.n)
		return report_no_version(s, f, name, &t, err);
	if (r == 0 && f->on_disk && S_ISDIR(f->now.st.stx_mode))
		return not_recorded(s, name, f, err);
	if (r >= 0)
		r = compare_target(s, f, name, &t);
	if (r > 0)
		*ret = t;
	return r;
}

int target_file(struct store *s, const char *text, struct err *err, struct file_target *ret)
{
	struct found *f = malloc(sizeof(*f));
	char *name = NULL;
	uint64_t n = 0;
	struct err first = {0};
	int r = f ? resolve_target(s, text, &first, f, &name, &n) : -ENOMEM;
	if (r == 0)
		r = target_by_id(s, text, &first, err, ret);
	else if (r < 0)
		copy_reason(&first, err);
	else
		r = choose_target(s, f, name, n, err, ret);
	free(name);
	free(f);
	return r;
}

int target_files(struct store *s, const char *text, struct err *err, store_id **ret, size_t *ret_count, uint64_t *ret_n)
{
	struct found *f = malloc(sizeof(*f));
	char *name = NULL;
	uint64_t n = 0;
	int r = f ? resolve_target(s, text, err, f, &name, &n) : -ENOMEM;
	if (r > 0) {
		/* A version is one of the file that has, or last had, the name. */
		size_t count = n ? 1 : f->n;
		store_id *ids = malloc(count * sizeof(*ids));
		r = ids ? 1 : -ENOMEM;
		if (ids) {
			memcpy(ids, f->ids, count * sizeof(*ids));
			*ret = ids;
			*ret_count = count;
			*ret_n = n;
		}
	}
	free(name);
	free(f);
	return r;
}

int target_namesakes(struct store *s, const char *text, store_id **ret, size_t *ret_count)
{
	struct found *f = malloc(sizeof(*f));
	struct err ignored = {0};
	char *name = NULL;
	uint64_t n = 0;
	*ret = NULL;
	*ret_count = 0;
	int r = f ? resolve_target(s, text, &ignored, f, &name, &n) : -ENOMEM;
	size_t others = r > 0 && n ? f->n : 1;
	store_id *ids = others > 1 ? malloc(others * sizeof(*ids)) : NULL;
	if (others > 1 && !ids)
		r = -ENOMEM;
	for (size_t i = 1; i < others && r >= 0; i++) {
		r = store_version_of(s, f->ids[i], n, &ids[*ret_count]);
		*ret_count += r > 0;
	}
	if (r < 0 || !*ret_count)
		free(ids);
	else
		*ret = ids;
	free(name);
	free(f);
	return r == -EISDIR || r >= 0 ? 0 : r;
}

/* ---- any ---- */

/* By its letters alone. */
static bool looks_like_run(const char *text)
{
	size_t n = strlen(text);
	if (*text == '@')
		return true;
	if (n < 4 || n > 26)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]))
			return false;
	return true;
}

/* Is text a run's id, or a part of one? As target_any; *ret_final: nothing else is to be tried. 1, 0, -errno. */
static int find_target_run(struct store *s, const char *text, struct err *err, struct target *t, bool *ret_final)
{
	int r = store_find_run(s, text, &t->id);
	t->kind = TARGET_RUN;
	*ret_final = r == 0 && *text == '@' && access(text, F_OK) < 0;
	if (*ret_final)
		err_set(err, 0, "there is no run '%.100s'", text), err_hint(err, "stemma log lists the runs");
	return r;
}

/* Is text an execution's public id, or the beginning of one? 1, 0, -errno. */
static int find_target_exec(struct store *s, const char *text, struct target *t)
{
	char kind = 0;
	size_t n = strlen(text);
	if (*text != 'x' || n < 5 || n > 25)
		return 0;
	int r = store_by_pubid(s, text, &kind, &t->id);
	t->kind = TARGET_EXEC;
	return r > 0 && kind != 'x' ? 0 : r;
}

int target_any(struct store *s, const char *text, bool only_file, struct err *err, struct target *ret)
{
	struct target t = {.kind = TARGET_FILE};
	bool there = access(text, F_OK) == 0 || strchr(text, '/'), final = false;
	int r = 0;
	if (!only_file && (*text == '@' || (!there && looks_like_run(text))))
		r = find_target_run(s, text, err, &t, &final);
	if (final)
		return 0;
	if (r == 0 && !only_file && !there)
		r = find_target_exec(s, text, &t);
	if (r == -ENOTUNIQ)
		return err_set(err, 0, "'%.100s' is ambiguous: several ids begin or end with it", text),
		       err_hint(err, "type more of the id; stemma log --json prints whole ids"), r;
	if (r < 0)
		return err_set(err, -r, "cannot look up '%.100s'", text);
	if (r == 0) {
		t.kind = TARGET_FILE;
		t.id = 0;
		r = target_file(s, text, err, &t.file);
	}
	if (r > 0)
		*ret = t;
	return r;
}
