/* h5_note.c - the objects of HDF5 files that a program did something with: a table by address, the names that they
 * have, and their entries on the tape. */
#include "capture/hdf5/h5_state.h"

#include "event/event.h"

#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define OBJECTS 4096 /* chains; a program with a million objects has chains of 250, in the order they were met */
#define OBJECTS_MORE (1u << 20)

/* Makes the table of objects larger, once. False only where there is no table at all. */
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

/* Attributes share their object's address; they go by name, too. */
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

/* Tells of an object on the tape, where its counters are, too. Without room nothing of it is told. */
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

/* Makes an object, in no chain yet. NULL: no memory. */
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

struct h5_obj *h5_object_named_at(struct h5_open *f, uint64_t addr, unsigned kind)
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

struct h5_obj *h5_attribute_of(struct h5_obj *owner, const char *name)
{
	if (!owner || !name || owner->kind == TERM_kind_attribute)
		return NULL;
	const char *path = __atomic_load_n(&owner->name, __ATOMIC_ACQUIRE);
	return h5_object_add(owner->file, owner->addr, TERM_kind_attribute, path, strlen(path), name, strlen(name));
}
