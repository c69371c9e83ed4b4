/* h5_files.c - the HDF5 files of a program: which are open, which are the same ones as before, and in which state they
 * were left. */
#include "capture/hdf5/h5_state.h"

#include "event/event.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Identifies the file at path. False: there is no regular file. */
static bool stat_file(const char *path, struct safe_stat *ret)
{
	struct statx sx;
	if (!*path || statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &sx) < 0 || !S_ISREG(sx.stx_mode))
		return false;
	*ret = (struct safe_stat){.ino = sx.stx_ino,
	                          .size = sx.stx_size,
	                          .btime = sx.stx_btime.tv_sec * 1000000000LL + sx.stx_btime.tv_nsec,
	                          .mtime = sx.stx_mtime.tv_sec * 1000000000LL + sx.stx_mtime.tv_nsec,
	                          .ctime = sx.stx_ctime.tv_sec * 1000000000LL + sx.stx_ctime.tv_nsec,
	                          .major = sx.stx_dev_major,
	                          .minor = sx.stx_dev_minor,
	                          .mode = sx.stx_mode,
	                          .nlink = sx.stx_nlink,
	                          .flags = sx.stx_mask & STATX_BTIME ? SAFE_HAS_BTIME : 0,
	                          .uid = sx.stx_uid};
	return true;
}

/* The inode's generation, as base/fileid.c has it. */
static void stat_generation(const char *path, struct safe_stat *st)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u;
	int mount;
	u.h.handle_bytes = MAX_HANDLE_SZ;
	u.h.handle_type = 0;
	if (name_to_handle_at(AT_FDCWD, path, &u.h, &mount, AT_SYMLINK_FOLLOW) < 0)
		return;
	st->gen = XXH3_64bits_withSeed(u.h.f_handle, u.h.handle_bytes, (uint64_t)u.h.handle_type);
	st->flags |= SAFE_HAS_GEN;
}

/* Tells of the file by its path, made absolute. Nothing where that is too long. */
static void write_file_entry(struct h5_open *f, const char *path)
{
	char text[sizeof(struct h5_file) + 2 * H5_NAME_MAX];
	struct h5_file head = {.num = f->num, .st = f->st};
	size_t n = sizeof(head), len = strlen(path);
	memcpy(text, &head, sizeof(head));
	if (path[0] != '/') {
		if (!getcwd(text + n, H5_NAME_MAX))
			return;
		n += strlen(text + n);
		text[n++] = '/';
	}
	if (len >= H5_NAME_MAX)
		return;
	memcpy(text + n, path, len);
	app_tape_put(&(struct app_entry){.kind = H5_FILE}, &(struct app_words){.value = text, .nvalue = n + len});
}

/* By inode, device and time of birth, so that an inode used again is another file. */
static bool is_same_h5_file(const struct safe_stat *a, const struct safe_stat *b)
{
	return a->ino == b->ino && a->major == b->major && a->minor == b->minor && a->btime == b->btime;
}

/* Is it the same file in the same state? Also the size and the time of change. */
static bool same_state(const struct safe_stat *a, const struct safe_stat *b)
{
	return is_same_h5_file(a, b) && a->size == b->size && a->mtime == b->mtime;
}

/* Drivers of MPI-IO take names with the kind of file system before them. */
static const char *plain_name(const char *name)
{
	const char *colon = strchr(name, ':');
	struct stat st;
	return colon && colon > name && colon - name < 12 && stat(name, &st) < 0 && stat(colon + 1, &st) == 0 ? colon + 1
	                                                                                                      : name;
}

/* The file that has this state, or that is open and so may have another; NULL. */
static struct h5_open *find_same_file(struct h5_state *s, const struct safe_stat *st)
{
	for (struct h5_open *f = s->files; f; f = f->next)
		if (!f->unknown && is_same_h5_file(&f->st, st) && (f->ids || same_state(&f->st, st)))
			return f;
	return NULL;
}

/* Begins to know a file that was opened. name: as it was opened; known: st is what it is. NULL: no memory left. */
static struct h5_open *new_file(struct h5_state *s, const char *name, const struct safe_stat *st, bool known)
{
	struct h5_open *f = h5_state_room(s, sizeof(*f) + strlen(name) + 1);
	if (!f)
		return NULL;
	*f = (struct h5_open){.next = s->files, .st = *st, .unknown = !known, .num = ++s->files_said};
	f->npath = (uint32_t)strlen(name);
	memcpy(f->path, name, f->npath + 1);
	s->files = f;
	return f;
}

/* A file that is open now: that which was left as it is (the same accesses go on), or another. Without the lock. */
struct h5_open *h5_file_add(struct h5_lib *l, unsigned long fileno, const char *name, bool made)
{
	struct safe_stat st = {0};
	name = plain_name(name);
	bool known = stat_file(name, &st);
	if (known)
		stat_generation(name, &st);
	struct h5_state *s = h5_state_lock();
	struct h5_open *f = NULL;
	bool is_new = false;
	if (!s)
		return NULL;
	f = known && !made ? find_same_file(s, &st) : NULL;
	if (!f) {
		f = new_file(s, name, &st, known);
		is_new = f != NULL;
	}
	if (f) {
		f->lib = l;
		f->fileno = fileno;
		f->st = known ? st : f->st;
	}
	h5_state_unlock(s);
	if (is_new && f->unknown)
		h5_gap("an HDF5 file that is not one file of the file system");
	else if (is_new)
		write_file_entry(f, name);
	return f;
}

/* NULL: there is none. It lives until its last identifier is closed. */
struct h5_open *h5_file_find(const struct h5_lib *l, unsigned long fileno)
{
	struct h5_state *s = h5_state_lock();
	struct h5_open *f = s ? s->files : NULL;
	while (f && !(f->lib == l && f->fileno == fileno))
		f = f->next;
	if (s)
		h5_state_unlock(s);
	return f;
}

struct h5_open *h5_file_find_or_add(struct h5_lib *l, hid_t id, unsigned long fileno)
{
	char name[H5_NAME_MAX];
	struct h5_open *f = h5_file_find(l, fileno);
	if (f || !h5_ask_file(l, id, name, sizeof(name)))
		return f;
	return h5_file_add(l, fileno, name, false); /* opened by an external link, or before a fork */
}

void h5_file_opened(struct h5_lib *l, hid_t id, const char *name, bool made, int64_t began)
{
	unsigned long fileno;
	uint64_t addr;
	int type;
	struct h5_quiet q;
	h5_hush(l, &q);
	bool there = h5_ask_object(l, id, &fileno, &addr, &type);
	struct h5_open *f = there ? h5_file_add(l, fileno, name, made) : NULL;
	struct h5_obj *o = f ? h5_object_add(f, addr, TERM_kind_group, "/", 1, NULL, 0) : NULL;
	h5_unhush(l, &q);
	if (f)
		__atomic_add_fetch(&f->ids, 1, __ATOMIC_RELAXED);
	h5_id_is(id, o);
	h5_did(o, made ? H5_CREATE : H5_OPEN, true, began, h5_now());
}

/* Its state when it is left is what tells whether somebody else wrote it before it is opened again. h5_file_closed: one
 * identifier less; it keeps size and time as they are now. */
void h5_file_closed(struct h5_open *f)
{
	struct safe_stat st;
	if (f->ids)
		__atomic_sub_fetch(&f->ids, 1, __ATOMIC_RELAXED);
	if (!f->unknown && stat_file(f->path, &st) && is_same_h5_file(&st, &f->st)) {
		f->st.size = st.size;
		f->st.mtime = st.mtime;
	}
}
