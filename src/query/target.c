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

/* Of the files a name led to, the one that has versions comes first. */
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

static bool found_has(const struct found *f, store_id id)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->ids[i] == id)
			return true;
	return false;
}

static int find_named_files(struct store *s, const char *name, struct found *ret);
static int look_up_deep(struct store *s, const char *name, unsigned *left, struct found *ret);

#define LINKS_MAX 32 /* followed in all, whatever circle they make */

/* Where the name, or the beginning of it, is a link to another file: what lies there. The file is sought where the link
 * says, and beside that in which the link is now. */
static int look_up_linked(struct store *s, store_id file, const char *head, struct str inner, unsigned *left,
                          struct found *ret)
{
	struct buf to = {0}, name = {0};
	int r = 0;
	for (size_t n = inner.n; r == 0 && n > 2; n--) {
		store_id ids[MAX_FILES];
		int64_t until;
		bool other;
		if (n < inner.n && inner.p[n] != '/' && inner.p[n] != '@')
			continue;
		int count = store_objects_by_name(s, file, str_n(inner.p, n), ids, MAX_FILES);
		for (int i = 0; r == 0 && i < count; i++) {
			r = store_link_target(s, ids[i], &to);
			if (r > 0)
				r = store_object_named_until(s, ids[i], str_n(inner.p, n), &until, &other);
			if (r <= 0 || until != TIME_NEVER) {
				r = r < 0 ? r : 0;
				continue;
			}
			const char *inside = strstr(buf_cstr(&to), "//");
			for (int beside = 0; r >= 0 && inside && *left && beside < 2; beside++) {
				const char *base = inside, *slash = strrchr(head, '/');
				while (base > to.p && base[-1] != '/')
					base--;
				buf_reset(&name);
				--*left;
				if (beside)
					buf_add(&name, head, slash ? (size_t)(slash - head) + 1 : 0);
				buf_printf(&name, "%s%.*s", beside ? base : to.p, (int)(inner.n - n), inner.p + n);
				r = name.failed ? -ENOMEM : look_up_deep(s, buf_cstr(&name), left, ret);
				if (r > 0)
					break;
			}
			if (r > 0)
				ret->linked = true;
		}
		r = count < 0 ? count : r;
	}
	buf_release(&to);
	buf_release(&name);
	return r;
}

/* Objects of that name in the files that the first part of it leads to. */
static int look_up_object(struct store *s, const char *name, size_t file, unsigned *left, struct found *ret)
{
	char *head = strndup(name, file);
	struct found *outer = malloc(sizeof(*outer));
	struct buf inner = {0};
	int r = head && outer ? find_named_files(s, head, outer) : -ENOMEM;
	target_inner_path(name + file, &inner);
	if (inner.failed)
		r = -ENOMEM;
	for (size_t i = 0; r > 0 && i < outer->n; i++) {
		int n = store_objects_by_name(s, outer->ids[i], buf_view(&inner), ret->ids + ret->n, MAX_FILES - ret->n);
		ret->n += n > 0 ? (size_t)n : 0;
		r = n < 0 ? n : r;
	}
	/* What is linked, or was here before a link took its name. */
	struct found *linked = r >= 0 && *left && store_has_objects(s) > 0 ? calloc(1, sizeof(*linked)) : NULL;
	int follows = 0;
	for (size_t i = 0; linked && follows == 0 && i < outer->n; i++)
		follows = look_up_linked(s, outer->ids[i], head, buf_view(&inner), left, linked);
	if (follows > 0)
		*ret = *linked;
	free(linked);
	if (follows) {
		r = follows;
		outer->n = 0;
		goto out;
	}
	if (r >= 0 && ret->n) {
		ret->on_disk = outer->on_disk;
		ret->by_identity = outer->by_identity;
		ret->now = outer->now;
	}
out:
	buf_release(&inner);
	free(outer);
	free(head);
	return r < 0 ? r : ret->n > 0;
}

/* All that the name leads to: the file that has it now first. 1, 0 or -errno. */
static int find_named_files(struct store *s, const char *name, struct found *ret)
{
	unsigned left = LINKS_MAX;
	return look_up_deep(s, name, &left, ret);
}

static int look_up_deep(struct store *s, const char *name, unsigned *left, struct found *ret)
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
	if (ret->on_disk) {
		r = store_file_by_identity(s, str_of(ret->now.domain->name), ret->now.ino, ret->now.gen, &id);
		if (r < 0)
			return r;
		if (r > 0)
			ret->ids[ret->n++] = id;
	}
	store_id named[MAX_FILES];
	struct buf path = {0};
	target_plain_path(name, &path);
	r = path.failed ? -ENOMEM : store_files_by_path(s, buf_view(&path), named, MAX_FILES - 1);
	if (r == 0 && *name != '/') /* what was imported may be called otherwise: by an IRI, by a label */
		r = store_files_by_path(s, str_of(name), named, MAX_FILES - 1);
	buf_release(&path);
	if (r < 0)
		return r;
	r = put_versioned_first(s, named, (size_t)r) < 0 ? -EIO : r;
	for (int i = 0; i < r; i++)
		if (!found_has(ret, named[i]) && ret->n < MAX_FILES)
			ret->ids[ret->n++] = named[i];
	if (r < 0)
		return r;
	/* A file that is known only as a name (a directory, a link) gives way to one with versions. */
	struct file_info f;
	ret->by_identity = id && store_file(s, id, &f) > 0 && f.versions;
	if (!ret->by_identity && (r = put_versioned_first(s, ret->ids, ret->n)) < 0)
		return r;
	return ret->n > 0;
}

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

/* Of an object that is not recorded: the program that made its file, and did with objects what is not known. */
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
	if (r >= 0 && exec && (r = store_exec(s, exec, &x)) > 0 && strlist_next(&x.argv, &pos, &program))
		err_set(
		    err, 0,
		    "nothing is recorded about '%.400s', only about its file: what '%.*s', which made that, did with objects "
		    "of HDF5 files is not known, or not all of it",
		    name, (int)(program.n < 100 ? program.n : 100), program.p);
	free(file);
	free(head);
	return r < 0 ? r : program.n > 0;
}

static int not_recorded(struct store *s, const char *name, const struct found *f, struct err *err)
{
	if (f->on_disk && S_ISDIR(f->now.st.stx_mode)) {
		err_set(err, 0, "'%.400s' is a directory; only files have a history", name);
		return -EISDIR;
	}
	bool inside = !f->on_disk && lies_in_file(name);
	if (inside && strstr(name, "//.@"))
		err_set(err, 0, "nothing is recorded about '%.400s', only about its file, if at all; stemma run --xattr does",
		        name);
	else if (inside && report_unobserved(s, name, err) > 0)
		;
	else if (inside)
		err_set(
		    err, 0,
		    "nothing is recorded about '%.400s', only about its file, if at all; stemma run --hdf5 records the objects "
		    "that a program names, if it has HDF5 as a shared library",
		    name);
	else
		err_set(err, 0,
		        f->on_disk ? "nothing is recorded about '%.400s'"
		                   : "'%.400s' is not there, and nothing is recorded about it",
		        name);
	return 0;
}

/* Finds `text`, splitting a version off it; name is the buffer for the split name. */
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
	bool same_size = !v.has_size || v.size == f->now.st.stx_size;
	bool same_time = v.mtime == TIME_NONE || v.mtime == fileid_time(&f->now.st.stx_mtime);
	if (!S_ISREG(f->now.st.stx_mode))
		t->disk = DISK_SAME;
	else if (!same_size || !same_time)
		t->disk = object ? DISK_AROUND : f->by_identity ? DISK_CHANGED : DISK_REPLACED;
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

/* How the name stands to the path that the file shows. */
static int compare_name(struct store *s, const struct found *f, const char *name, struct file_target *t)
{
	struct file_info info;
	struct buf path = {0};
	store_id named[MAX_FILES];
	target_path(name, &path);
	t->name_n = strlen(name);
	int r = path.failed ? -ENOMEM : store_file(s, t->file, &info);
	if (r > 0 && !str_eq(info.path, buf_view(&path))) {
		t->name = f->by_identity ? NAME_NEW : NAME_OLD;
		int n = f->by_identity ? store_files_by_path(s, buf_view(&path), named, MAX_FILES) : 0;
		for (int i = 0; i < n; i++)
			if (named[i] == t->file)
				t->name = NAME_KNOWN;
		r = n < 0 ? n : r;
	}
	if (r > 0 && t->disk == DISK_GONE && t->name == NAME_OLD && info.path.n < PATH_MAX) {
		/* It went to the other name: is it there? */
		struct fileid now;
		char other[PATH_MAX];
		memcpy(other, info.path.p, info.path.n);
		other[info.path.n] = '\0';
		if (fileid_get(AT_FDCWD, other, true, &now) == 0 && now.ino == info.ino && now.gen == info.gen)
			t->disk = DISK_SAME;
	}
	buf_release(&path);
	return r < 0 ? r : 0;
}

int target_file(struct store *s, const char *text, struct err *err, struct file_target *ret)
{
	struct found *f = malloc(sizeof(*f));
	char *name = NULL;
	struct file_target t = {0};
	struct err first = {0};
	bool renamed = false;
	int r = f ? resolve_target(s, text, &first, f, &name, &t.n) : -ENOMEM;
	if (r == 0) {
		r = version_by_id(s, text, ret);
		if (r == 0)
			err_set(err, 0, "%s", first.text);
		else if (r < 0)
			err_set(err, 0, r == -ENOTUNIQ ? "more than one id begins with '%.100s'" : "cannot look up '%.100s'", text);
		goto out;
	}
	if (r < 0) {
		err_set(err, 0, "%s", first.text);
		goto out;
	}
	t.file = f->ids[0];
	r = store_version_of(s, t.file, t.n, &t.version);
	if (r == 0 && t.n) {
		struct file_info info;
		uint64_t n = store_file(s, t.file, &info) > 0 ? info.versions : 0;
		err_set(err, 0, "'%.300s' has no version %llu; its versions are 1 to %llu", name, (unsigned long long)t.n,
		        (unsigned long long)n);
		if (f->n > 1)
			err_hint(err, "other files had the name before: stemma show lists them");
		r = -ENOENT;
	} else if (r == 0 && f->on_disk && S_ISDIR(f->now.st.stx_mode)) {
		r = not_recorded(s, name, f, err);
	} else if (r >= 0) {
		r = compare_disk(s, f, &t);
		if (r >= 0)
			r = f->linked ? 0 : compare_deleted(s, name, &t, &renamed);
		if (r >= 0)
			r = compare_name(s, f, name, &t);
		if (r >= 0 && f->linked)
			t.name = NAME_LINK;
		if (r >= 0 && t.name != NAME_SHOWN && (renamed || t.disk == DISK_DELETED))
			t.name = renamed ? NAME_OLD : NAME_KNOWN;
		if (r >= 0) {
			*ret = t;
			r = 1;
		}
	}
out:
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

/* ---- any ---- */

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

int target_any(struct store *s, const char *text, bool only_file, struct err *err, struct target *ret)
{
	struct target t = {.kind = TARGET_FILE};
	bool there = access(text, F_OK) == 0 || strchr(text, '/');
	int r = 0;
	if (!only_file && (*text == '@' || (!there && looks_like_run(text)))) {
		r = store_find_run(s, text, &t.id);
		t.kind = TARGET_RUN;
		if (r == 0 && *text == '@' && access(text, F_OK) < 0) {
			err_set(err, 0, "there is no run '%.100s'", text);
			return 0;
		}
	}
	if (r == 0 && !only_file && !there && *text == 'x' && strlen(text) >= 5 && strlen(text) <= 25) {
		char kind = 0;
		r = store_by_pubid(s, text, &kind, &t.id);
		t.kind = TARGET_EXEC;
		if (r > 0 && kind != 'x')
			r = 0;
	}
	if (r == -ENOTUNIQ)
		return err_set(err, 0, "more than one id begins or ends with '%.100s'", text), r;
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
