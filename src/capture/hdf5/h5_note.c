/* Files, objects and identifiers. All of it lies in memory that the kernel empties in a forked child, which begins
 * anew: what it inherited is asked for again when it is used. A spin lock guards the tables, never over a call of HDF5.
 */
#include "capture/hdf5/h5_state.h"

#include "event/event.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(__x86_64__)
#define PAUSE __builtin_ia32_pause()
#else
#define PAUSE __asm__ volatile("yield")
#endif
#define OBJECTS 4096 /* chains; a program with a million objects has chains of 250, in the order they were met */
#define OBJECTS_MORE (1u << 20)
#define IDS_FIRST 1024
#define ARENA (256u << 10)

struct id_slot {
	hid_t id; /* 0: free */
	struct h5_obj *obj;
};
struct h5_state {
	uint32_t lock, pid;
	struct h5_open *files;
	struct h5_obj **objects; /* by hash */
	size_t nchains, nobjects;
	struct id_slot *ids;
	size_t nids, mask;
	char *arena;
	size_t left;
	uint64_t files_said, objects_said;
	uint64_t epoch;    /* 0: not asked for yet */
	uint32_t left_out; /* classes of which it was said */
};
static struct h5_state *state;
static bool no_wipe;
uint32_t h5_classes = H5_ALL;
bool h5_untimed;

extern char **environ;

__attribute__((constructor)) static void find_classes(void)
{
	static const char name[] = "STEMMA_HDF5=";
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, name, sizeof(name) - 1)) {
			h5_classes = h5_classes_of(*e + sizeof(name) - 1);
			h5_untimed = h5_has_word(*e + sizeof(name) - 1, H5_UNTIMED_WORD);
			return;
		}
}

int64_t h5_now(void)
{
	return h5_untimed ? H5_SOME_TIME : app_tape_now();
}

static void *h5_state_map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static struct h5_state *h5_state_get(void)
{
	struct h5_state *s = __atomic_load_n(&state, __ATOMIC_ACQUIRE), *none = NULL;
	if (!s) {
		if (!(s = h5_state_map(4096)))
			return NULL;
		no_wipe = madvise(s, 4096, MADV_WIPEONFORK) < 0;
		if (!__atomic_compare_exchange_n(&state, &none, s, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			munmap(s, 4096);
			s = none;
		}
	}
	if (__builtin_expect(no_wipe, 0) && s->pid != (uint32_t)getpid()) {
		memset(s, 0, sizeof(*s));
		s->pid = (uint32_t)getpid();
	}
	return s;
}

struct h5_state *h5_state_lock(void)
{
	struct h5_state *s = h5_state_get();
	while (s && __atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE))
		PAUSE;
	return s;
}

void h5_state_unlock(struct h5_state *s)
{
	__atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE);
}

void *h5_state_room(struct h5_state *s, size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (n > ARENA)
		return NULL;
	if (n > s->left) {
		if (!(s->arena = h5_state_map(ARENA))) {
			s->left = 0;
			return NULL;
		}
		s->left = ARENA;
	}
	void *p = s->arena;
	s->arena += n;
	s->left -= n;
	return p;
}

/* ---- telling ---- */

void h5_gap(const char *what)
{
	app_tape_put(&(struct app_entry){.kind = H5_GAP}, &(struct app_words){.value = what, .nvalue = strlen(what)});
}

/* In memory that a child does not inherit: what it does itself is said of it. */
bool h5_left_out(uint32_t classes)
{
	static const char *const what[H5_CLASSES] = {
	    "groups were used, which are not recorded, as asked for",
	    "data of datasets was used, which are not recorded, as asked for",
	    "data of attributes was used, which are not recorded, as asked for",
	    "committed datatypes were used, which are not recorded, as asked for",
	    "links were made, moved or deleted, which are not recorded, as asked for",
	};
	struct h5_state *s = h5_state_get();
	if (!s || (__atomic_load_n(&s->left_out, __ATOMIC_RELAXED) & classes) == classes)
		return false;
	uint32_t is_new = classes & ~__atomic_fetch_or(&s->left_out, classes, __ATOMIC_RELAXED);
	for (int i = 0; i < H5_CLASSES; i++)
		if (is_new & 1u << i)
			h5_gap(what[i]);
	return false;
}

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

/* ---- files ---- */

static bool is_same_h5_file(const struct safe_stat *a, const struct safe_stat *b)
{
	return a->ino == b->ino && a->major == b->major && a->minor == b->minor && a->btime == b->btime;
}

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
		h5_gap("an HDF5 file that is none of the file system's, or several");
	else if (is_new)
		write_file_entry(f, name);
	return f;
}

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

uint64_t h5_epoch(void)
{
	struct h5_state *s = h5_state_lock();
	if (!s)
		return 0;
	if (!s->epoch)
		s->epoch = (uint64_t)app_tape_now();
	uint64_t epoch = s->epoch;
	h5_state_unlock(s);
	return epoch;
}

static struct h5_open *h5_file_find_or_add(struct h5_lib *l, hid_t id, unsigned long fileno)
{
	char name[H5_NAME_MAX];
	struct h5_open *f = h5_file_find(l, fileno);
	if (f || !h5_ask_file(l, id, name, sizeof(name)))
		return f;
	return h5_file_add(l, fileno, name, false); /* opened by an external link, or before a fork */
}

/* ---- identifiers ---- */

static size_t hash_identifier(const struct h5_state *s, hid_t id)
{
	return (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & s->mask;
}

static struct h5_obj *id_find(const struct h5_state *s, hid_t id)
{
	if (!s->ids)
		return NULL;
	for (size_t i = hash_identifier(s, id); s->ids[i].id; i = (i + 1) & s->mask)
		if (s->ids[i].id == id)
			return s->ids[i].obj;
	return NULL;
}

static void id_put(struct h5_state *s, hid_t id, struct h5_obj *o)
{
	size_t i = hash_identifier(s, id);
	while (s->ids[i].id && s->ids[i].id != id)
		i = (i + 1) & s->mask;
	s->nids += !s->ids[i].id;
	s->ids[i] = (struct id_slot){id, o};
}

static bool ids_grow(struct h5_state *s)
{
	size_t n = s->ids ? 2 * (s->mask + 1) : IDS_FIRST, had = s->mask + 1;
	struct id_slot *old = s->ids, *v = h5_state_map(n * sizeof(*v));
	if (!v)
		return false;
	s->ids = v;
	s->mask = n - 1;
	s->nids = 0;
	for (size_t i = 0; old && i < had; i++)
		if (old[i].id)
			id_put(s, old[i].id, old[i].obj);
	if (old)
		munmap(old, had * sizeof(*old));
	return true;
}

void h5_id_is(hid_t id, struct h5_obj *o)
{
	struct h5_state *s = id > 0 && o ? h5_state_lock() : NULL;
	if (!s)
		return;
	if ((s->ids && s->nids * 2 < s->mask) || ids_grow(s))
		id_put(s, id, o);
	h5_state_unlock(s);
}

void h5_id_gone(struct h5_lib *l, hid_t id)
{
	struct h5_state *s = h5_on(l) && id > 0 ? h5_state_lock() : NULL;
	size_t i, k;
	if (!s)
		return;
	if (s->ids) {
		for (i = hash_identifier(s, id); s->ids[i].id && s->ids[i].id != id; i = (i + 1) & s->mask)
			;
		if (s->ids[i].id) {
			/* Those behind it that were pushed on move up. */
			s->nids--;
			for (k = i;;) {
				s->ids[i].id = 0;
				size_t home;
				do {
					k = (k + 1) & s->mask;
					if (!s->ids[k].id)
						goto out;
					home = hash_identifier(s, s->ids[k].id);
				} while (i <= k ? i < home && home <= k : i < home || home <= k);
				s->ids[i] = s->ids[k];
				i = k;
			}
		}
	}
out:
	h5_state_unlock(s);
}

/* ---- objects ---- */

static bool objects_grow(struct h5_state *s)
{
	size_t n = s->objects ? OBJECTS_MORE : OBJECTS;
	if (s->nchains == n)
		return true;
	struct h5_obj **v = h5_state_map(n * sizeof(*v));
	if (!v)
		return s->objects != NULL;
	for (size_t i = 0; i < s->nchains; i++)
		for (struct h5_obj *o = s->objects[i], *next; o; o = next) {
			next = o->next;
			size_t h = (size_t)XXH3_64bits_withSeed(o->name, o->kind == TERM_kind_attribute ? strlen(o->name) : 0,
			                                        o->addr ^ o->file->num << 48 ^ o->kind) &
			           (n - 1);
			o->next = v[h];
			v[h] = o;
		}
	if (s->objects)
		munmap(s->objects, s->nchains * sizeof(*s->objects));
	s->objects = v;
	s->nchains = n;
	return true;
}

/* The old name stays where it is, for those who read it. */
static void name_is(struct h5_state *s, struct h5_obj *o, const char *path, size_t n)
{
	char *name = h5_state_room(s, n + 1);
	if (!name)
		return;
	memcpy(name, path, n);
	name[n] = '\0';
	__atomic_store_n(&o->name, name, __ATOMIC_RELEASE);
}

void h5_object_named(struct h5_obj *o, const char *path, size_t n)
{
	struct h5_state *s = o->kind == TERM_kind_attribute || n > H5_NAME_MAX ? NULL : h5_state_lock();
	if (!s)
		return;
	if (strlen(o->name) != n || memcmp(o->name, path, n))
		name_is(s, o, path, n);
	h5_state_unlock(s);
}

void h5_group_moved(const struct h5_obj *group, const char *old, size_t nold, const char *path, size_t n)
{
	char room_for[2 * H5_NAME_MAX + 2];
	struct h5_state *s = nold <= H5_NAME_MAX && n <= H5_NAME_MAX ? h5_state_lock() : NULL;
	for (size_t i = 0; s && i < s->nchains; i++)
		for (struct h5_obj *o = s->objects[i]; o; o = o->next) {
			if (o->file != group->file || o->kind == TERM_kind_attribute || strncmp(o->name, old, nold) != 0 ||
			    o->name[nold] != '/')
				continue;
			size_t rest = strlen(o->name + nold);
			memcpy(room_for, path, n);
			if (n + rest > H5_NAME_MAX)
				continue;
			memcpy(room_for + n, o->name + nold, rest);
			name_is(s, o, room_for, n + rest);
		}
	if (s)
		h5_state_unlock(s);
}

static_assert(H5_ATTRIBUTE == 1u << (TERM_kind_attribute - TERM_kind_group) &&
                  H5_DATATYPE == 1u << (TERM_kind_datatype - TERM_kind_group),
              "the order of kinds");

/* Are there chains to put one more object in? */
static bool objects_room(struct h5_state *s)
{
	bool crowded = s->nchains == OBJECTS && s->nobjects > 4 * OBJECTS;
	return (s->objects && !crowded) || objects_grow(s);
}

static bool is_same_object(const struct h5_obj *o, const struct h5_open *f, uint64_t addr, unsigned kind,
                           const char *attr, size_t nattr)
{
	return o->addr == addr && o->file == f && o->kind == kind &&
	       (kind != TERM_kind_attribute || (strlen(o->name) == nattr && !memcmp(o->name, attr, nattr)));
}

/* Is an object of this kind recorded? The group that is the file's root always is. */
static bool is_wanted(const struct h5_open *f, unsigned kind, bool root)
{
	return !f->unknown && ((root && kind == TERM_kind_group) || h5_classes & 1u << (kind - TERM_kind_group));
}

/* On the tape, where its counters are, too. Without room nothing of it is told. */
static void tell_object(struct h5_obj *o, const char *path, size_t npath, const char *attr, size_t nattr)
{
	struct h5_object *t = app_tape_reserve(H5_OBJECT, (uint32_t)(sizeof(*t) + npath + nattr));
	o->told = t;
	if (!t)
		return;
	t->kind = o->kind;
	t->num = o->num;
	t->file = o->file->num;
	t->addr = o->addr;
	t->nname = (uint32_t)npath;
	t->nattr = (uint32_t)nattr;
	memcpy((char *)(t + 1), path, npath);
	if (nattr)
		memcpy((char *)(t + 1) + npath, attr, nattr);
	__atomic_store_n(&t->ready, 1, __ATOMIC_RELEASE);
}

/* In no chain yet. NULL: no memory. */
static struct h5_obj *new_object(struct h5_state *s, struct h5_open *f, uint64_t addr, unsigned kind, const char *name,
                                 size_t n)
{
	struct h5_obj *o = h5_state_room(s, sizeof(*o) + n + 1);
	if (!o)
		return NULL;
	*o = (struct h5_obj){.file = f, .addr = addr, .num = ++s->objects_said, .kind = (uint16_t)kind};
	char *own = (char *)(o + 1);
	memcpy(own, name, n);
	own[n] = '\0';
	o->name = own;
	return o;
}

/* attr: name of an attribute of the object at addr, else NULL. path: the object's path. */
struct h5_obj *h5_object_add(struct h5_open *f, uint64_t addr, unsigned kind, const char *path, size_t npath,
                             const char *attr, size_t nattr)
{
	if (npath > H5_NAME_MAX || nattr > H5_NAME_MAX)
		return NULL;
	struct h5_state *s = h5_state_lock();
	if (!s)
		return NULL;
	struct h5_obj *o = NULL;
	if (!objects_room(s))
		goto out;
	size_t h = (size_t)XXH3_64bits_withSeed(attr, nattr, addr ^ f->num << 48 ^ kind) & (s->nchains - 1);
	o = s->objects[h];
	while (o && !is_same_object(o, f, addr, kind, attr, nattr))
		o = o->next;
	if (o) {
		if (!*o->name && npath) /* it was made without one, and linked later */
			name_is(s, o, path, npath);
		goto out;
	}
	o = new_object(s, f, addr, kind, attr ? attr : path, attr ? nattr : npath);
	if (!o)
		goto out;
	if (is_wanted(f, kind, npath == 1))
		tell_object(o, path, npath, attr, nattr);
	o->next = s->objects[h];
	s->objects[h] = o;
	s->nobjects++;
out:
	h5_state_unlock(s);
	return o;
}

/* HDF5 gives the address of an object that was deleted to one that is made later: nothing holds that was known of it.
 * A name that it has already was not told with it, and one that it gets by H5Olink is its own. */
void h5_object_made(struct h5_obj *o, const char *path, size_t n)
{
	if (!o)
		return;
	h5_attribute_made(o);
	o->nfields = 0;
	o->fields_type = 0;
	memset(o->followed, 0, sizeof(o->followed));
	if (n != strlen(o->name) || memcmp(o->name, path, n) != 0) {
		if (n)
			h5_name(o, TERM_nameop_link, path, n, "", 0);
		h5_object_named(o, path, n);
	}
}

/* The object at an address, if it is known by a name. */
static struct h5_obj *h5_object_named_at(struct h5_open *f, uint64_t addr, unsigned kind)
{
	struct h5_state *s = h5_state_lock();
	struct h5_obj *o = NULL;
	if (!s)
		return NULL;
	if (s->objects)
		o = s->objects[(size_t)XXH3_64bits_withSeed(NULL, 0, addr ^ f->num << 48 ^ kind) & (s->nchains - 1)];
	while (o && !is_same_object(o, f, addr, kind, NULL, 0))
		o = o->next;
	h5_state_unlock(s);
	return o && *o->name ? o : NULL;
}

/* FOUND: it may be known. MADE: it was made just now, at a name. NAMELESS: it was made just now and has no name. Of
 * what has none, and of what was opened by its address or a reference, HDF5 would look for a name in the whole file. */
enum resolve { RESOLVE_FOUND, RESOLVE_MADE, RESOLVE_NAMELESS, RESOLVE_REFERENCED };
enum { ASKS = 8 }; /* so many names HDF5 is asked for in a file before the whole file is gone through */

/* The object's path; "" has a length of 0. */
static size_t path_of(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr, enum resolve how, char *room,
                      size_t n)
{
	room[0] = '\0';
	if (how == RESOLVE_NAMELESS)
		return 0;
	const bool visits =
	    how == RESOLVE_REFERENCED && f->asked++ >= ASKS && (l->fn[H5FN_H5Ovisit3] || l->fn[H5FN_H5Ovisit2]);
	const char *name = visits ? h5_visited_name(l, id, f, addr) : NULL;
	const size_t len = name ? strlen(name) : 0;
	if (!name || len >= n)
		return h5_ask_name(l, id, room, n);
	memcpy(room, name, len + 1);
	return len;
}

/* An object that is no attribute. */
static struct h5_obj *resolve_object(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr, unsigned kind,
                                     enum resolve how)
{
	char path[H5_NAME_MAX + 1];
	const bool found = how == RESOLVE_FOUND || how == RESOLVE_REFERENCED;
	struct h5_obj *o = found ? h5_object_named_at(f, addr, kind) : NULL;
	if (o)
		return o;
	const size_t n = path_of(l, id, f, addr, how, path, sizeof(path));
	o = h5_object_add(f, addr, kind, path, n, NULL, 0);
	if (!found)
		h5_object_made(o, path, n);
	return o;
}

static struct h5_obj *resolve_attribute(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr)
{
	char path[H5_NAME_MAX + 1], attr[H5_NAME_MAX];
	ssize_t (*name)(hid_t, size_t, char *) = H5CALL(l, H5Aget_name, ssize_t(*)(hid_t, size_t, char *));
	const ssize_t got = name ? name(id, sizeof(attr), attr) : -1;
	if (got <= 0 || (size_t)got >= sizeof(attr))
		return NULL;
	return h5_object_add(f, addr, TERM_kind_attribute, path, h5_ask_name(l, id, path, sizeof(path)), attr, (size_t)got);
}

static struct h5_obj *resolve_identifier(struct h5_lib *l, hid_t id, unsigned kind, enum resolve how)
{
	static const unsigned kinds[] = {TERM_kind_group, TERM_kind_dataset, TERM_kind_datatype};
	unsigned long fileno;
	uint64_t addr;
	int type;
	struct h5_quiet q;
	struct h5_obj *o = NULL;
	h5_hush(l, &q);
	if (h5_ask_object(l, id, &fileno, &addr, &type) && type >= 0 && type < 3) {
		struct h5_open *f = h5_file_find_or_add(l, id, fileno);
		if (f)
			o = kind == TERM_kind_attribute ? resolve_attribute(l, id, f, addr)
			                                : resolve_object(l, id, f, addr, kinds[type], how);
	}
	h5_unhush(l, &q);
	if (o)
		h5_id_is(id, o);
	return o;
}

struct h5_obj *h5_known(hid_t id)
{
	struct h5_state *s = id > 0 ? h5_state_lock() : NULL;
	struct h5_obj *o = s ? id_find(s, id) : NULL;
	if (s)
		h5_state_unlock(s);
	return o;
}

struct h5_obj *h5_obj_of(struct h5_lib *l, hid_t id, unsigned kind)
{
	struct h5_state *s = id > 0 ? h5_state_lock() : NULL;
	if (!s)
		return NULL;
	struct h5_obj *o = id_find(s, id);
	h5_state_unlock(s);
	return o ? o : resolve_identifier(l, id, kind, RESOLVE_FOUND);
}

struct h5_obj *h5_made_of(struct h5_lib *l, hid_t id, unsigned kind)
{
	return id > 0 ? resolve_identifier(l, id, kind, RESOLVE_MADE) : NULL;
}

struct h5_obj *h5_referenced_of(struct h5_lib *l, hid_t id, unsigned kind)
{
	struct h5_obj *o = h5_known(id);
	return o || id <= 0 ? o : resolve_identifier(l, id, kind, RESOLVE_REFERENCED);
}

struct h5_obj *h5_nameless_of(struct h5_lib *l, hid_t id, unsigned kind)
{
	return id > 0 ? resolve_identifier(l, id, kind, RESOLVE_NAMELESS) : NULL;
}

struct h5_obj *h5_loc_of(struct h5_lib *l, hid_t id)
{
	return h5_obj_of(l, id, TERM_kind_group);
}

struct h5_obj *h5_attribute_of(struct h5_obj *owner, const char *name)
{
	if (!owner || !name || owner->kind == TERM_kind_attribute)
		return NULL;
	const char *path = __atomic_load_n(&owner->name, __ATOMIC_ACQUIRE);
	return h5_object_add(owner->file, owner->addr, TERM_kind_attribute, path, strlen(path), name, strlen(name));
}

/* ---- files that come and go ---- */

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

/* Its state when it is left is what tells whether somebody else wrote it before it is opened again. */
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
