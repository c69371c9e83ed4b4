/* h5_ids.c - which object an identifier leads to: a table of those that are known, and asking HDF5 about the others.
 * What a forked child inherited is asked for again when it is used. */
#include "capture/hdf5/h5_state.h"

#include "event/event.h"

#include <string.h>
#include <sys/mman.h>

#define IDS_FIRST 1024

/* ---- those that are known ---- */

/* Its first slot in the table. */
static size_t hash_identifier(const struct h5_state *s, hid_t id)
{
	return (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & s->mask;
}

/* The object that an identifier of HDF5 leads to. NULL: the id is not known. */
static struct h5_obj *id_find(const struct h5_state *s, hid_t id)
{
	if (!s->ids)
		return NULL;
	for (size_t i = hash_identifier(s, id); s->ids[i].id; i = (i + 1) & s->mask)
		if (s->ids[i].id == id)
			return s->ids[i].obj;
	return NULL;
}

/* Sets the object of an identifier, over the one before. The table must have an empty slot. */
static void id_put(struct h5_state *s, hid_t id, struct h5_obj *o)
{
	size_t i = hash_identifier(s, id);
	while (s->ids[i].id && s->ids[i].id != id)
		i = (i + 1) & s->mask;
	s->nids += !s->ids[i].id;
	s->ids[i] = (struct h5_id_slot){id, o};
}

/* Makes the table of identifiers twice as large. False: no memory, and the table is as it was. */
static bool ids_grow(struct h5_state *s)
{
	size_t n = s->ids ? 2 * (s->mask + 1) : IDS_FIRST, had = s->mask + 1;
	struct h5_id_slot *old = s->ids, *v = h5_state_map(n * sizeof(*v));
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

/* The identifier is closed: forgets it. Nothing if it is not known. */
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

struct h5_obj *h5_known(hid_t id)
{
	struct h5_state *s = id > 0 ? h5_state_lock() : NULL;
	struct h5_obj *o = s ? id_find(s, id) : NULL;
	if (s)
		h5_state_unlock(s);
	return o;
}

/* ---- asking HDF5 ---- */

/* FOUND: it may be known. MADE: it was made just now, at a name. NAMELESS: it was made just now and has no name. Of
 * what has none, and of what was opened by its address or a reference, HDF5 would look for a name in the whole file. */
enum resolve { RESOLVE_FOUND, RESOLVE_MADE, RESOLVE_NAMELESS, RESOLVE_REFERENCED };
enum { ASKS = 8 }; /* so many names HDF5 is asked for in a file before the whole file is gone through */

/* The object's path; "" has a length of 0. */
static size_t id_path_of(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr, enum resolve how, char *room,
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
	const size_t n = id_path_of(l, id, f, addr, how, path, sizeof(path));
	o = h5_object_add(f, addr, kind, path, n, NULL, 0);
	if (!found)
		h5_object_made(o, path, n);
	return o;
}

/* Finds the attribute that an identifier leads to, of the object at addr. NULL: its name is not to be had, or longer
 * than H5_NAME_MAX. */
static struct h5_obj *resolve_attribute(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr)
{
	char path[H5_NAME_MAX + 1], attr[H5_NAME_MAX];
	ssize_t (*name)(hid_t, size_t, char *) = H5CALL(l, H5Aget_name, ssize_t(*)(hid_t, size_t, char *));
	const ssize_t got = name ? name(id, sizeof(attr), attr) : -1;
	if (got <= 0 || (size_t)got >= sizeof(attr))
		return NULL;
	return h5_object_add(f, addr, TERM_kind_attribute, path, h5_ask_name(l, id, path, sizeof(path)), attr, (size_t)got);
}

/* Finds the object of an identifier, by what HDF5 itself says of the identifier, which is known from then on. NULL:
 * nobody knows. */
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
