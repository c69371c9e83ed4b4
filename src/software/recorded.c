#include "software/recorded.h"

#include "base/fileid.h"

#include <errno.h>
#include <fcntl.h>

#define PATH_ROOM 4096

int recorded_digest(struct store *s, store_id run, const struct file_info *f, const struct version_info *v,
                    struct digest *ret)
{
	struct event_digest like = {.domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	struct reported_list l;
	bool own = false, differ = false, known = false;
	if (!v->has_size || v->mtime == TIME_NONE)
		return 0;
	int r = store_digests(s, &like, &l);
	for (size_t i = 0; r == 0 && i < l.n; i++) {
		const struct event_digest *d = &l.v[i].ev.digest;
		struct digest found;
		if (d->ino != f->ino || d->gen != f->gen || d->size != v->size || d->mtime != v->mtime ||
		    !str_eq(d->domain, f->domain) || !digest_parse(d->digest, &found))
			continue;
		bool mine = run && l.v[i].run == run;
		if (own && !mine)
			continue;
		if (mine && !own)
			differ = known = false;
		own |= mine;
		differ |= known && !digest_eq(&found, ret);
		known = true;
		*ret = found;
	}
	reported_list_release(&l);
	return r < 0 ? r : known && !differ;
}

/* The path with a NUL behind it. False: it is none that can be looked up. */
static bool copy_path(struct str path, char ret[PATH_ROOM])
{
	if (!path.n || path.n >= PATH_ROOM || path.p[0] != '/' || memchr(path.p, '\0', path.n))
		return false;
	memcpy(ret, path.p, path.n);
	ret[path.n] = '\0';
	return true;
}

/* Does the path lead to the file with the state of the version? */
static bool is_version(const char *path, const struct file_info *f, const struct version_info *v)
{
	struct fileid id;
	return fileid_get(AT_FDCWD, path, false, &id) == 0 && id.ino == f->ino && id.gen == f->gen &&
	       S_ISREG(id.st.stx_mode) && str_is(f->domain, id.domain->name ? id.domain->name : "") &&
	       id.st.stx_size == v->size && fileid_time(&id.st.stx_mtime) == v->mtime;
}

int recorded_lies_there(struct store *s, const struct file_info *f, const struct version_info *v)
{
	char path[PATH_ROOM];
	store_id latest;
	if (!v->has_size || v->mtime == TIME_NONE || !copy_path(f->path, path) || !is_version(path, f, v))
		return 0;
	int r = store_version_of(s, v->file, 0, &latest);
	return r <= 0 ? r : latest == v->id;
}

int recorded_digest_now(struct store *s, const struct file_info *f, const struct version_info *v, struct digest *ret)
{
	char path[PATH_ROOM];
	struct stat st;
	if (!copy_path(f->path, path))
		return 0;
	int r = recorded_lies_there(s, f, v);
	if (r <= 0)
		return r;
	return digest_file(NULL, AT_FDCWD, path, ret, &st) == 0 && st.st_ino == f->ino && (uint64_t)st.st_size == v->size &&
	       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == v->mtime && is_version(path, f, v);
}
