#include "answer/within.h"

#include "query/carried.h"
#include "query/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int within_of_version(struct store *s, store_id version, store_id *ret)
{
	struct objects o;
	int r = objects_begin(&o, s, OBJECTS_OBJECTS);
	if (r == 0)
		r = carried_by(&o, version, ret);
	objects_end(&o);
	return r;
}

/* By its first bytes: HDF5's signature, also behind a block of the user's, or that of a netCDF file. */
static bool holds_objects(const char *path)
{
	static const char hdf5[] = "\x89HDF\r\n\x1a\n";
	char head[8];
	bool is = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	for (off_t at = 0; fd >= 0 && !is && at <= 8192; at = at ? at * 2 : 512) {
		if (pread(fd, head, sizeof(head), at) != sizeof(head))
			break;
		is = memcmp(head, hdf5, sizeof(head)) == 0 || (!at && memcmp(head, "CDF", 3) == 0);
	}
	if (fd >= 0)
		close(fd);
	return is;
}

/* The name of the object at `inner` in the file that this version is a copy of, in ret. 0, -errno. */
static int find_same_object(struct objects *o, store_id version, struct str inner, struct buf *ret)
{
	struct carried_pair copy;
	struct file_info f;
	store_id file, object;
	int r = 1;
	for (int k = 0; r > 0 && !ret->n && k < CARRIED_COPIES; k++) {
		r = carried_whole_copy(o, version, &copy);
		if (r > 0)
			r = store_version_file(o->s, version = copy.from.to, &file);
		if (r > 0)
			r = store_objects_by_name(o->s, file, inner, &object, 1);
		if (r > 0 && (r = store_file(o->s, object, &f)) > 0)
			buf_str(ret, f.path);
		else if (r == 0)
			r = 1; /* that may be a copy, too */
	}
	return r < 0 ? r : ret->failed ? -ENOMEM : 0;
}

/* The file of FILE//PATH, where that holds objects and is recorded. 1, 0, -errno. */
static int find_file(struct store *s, const char *text, store_id *ret)
{
	struct file_target t;
	struct err ignored = {0};
	size_t n = target_object(text);
	char *file = n ? strndup(text, n) : NULL;
	int r = file && holds_objects(file) ? target_file(s, file, &ignored, &t) : n && !file ? -ENOMEM : 0;
	free(file);
	if (r > 0)
		*ret = t.file;
	return r == -ENOENT || r == -EISDIR ? 0 : r;
}

int within_of_name(struct store *s, const char *text, struct within_name *ret)
{
	struct objects o = {0};
	store_id file;
	*ret = (struct within_name){0};
	int r = find_file(s, text, &file);
	if (r <= 0)
		return r;
	target_path(text, &ret->path);
	const char *inner = ret->path.failed ? NULL : strstr(buf_cstr(&ret->path), "//");
	if (!inner)
		return ret->path.failed ? -ENOMEM : 0;
	r = objects_begin(&o, s, OBJECTS_OBJECTS);
	if (r == 0)
		r = carried_latest(&o, file, &ret->version);
	if (r > 0)
		r = find_same_object(&o, ret->version, str_of(inner), &ret->same) < 0 ? -EIO : 1;
	objects_end(&o);
	return r;
}

void within_name_release(struct within_name *n)
{
	buf_release(&n->path);
	buf_release(&n->same);
}
