/* What is noted of data that moves and of names that change, by objects: the same whether the library stands before the
 * functions (h5_data.c, h5_links.c) or is a connector (vol). */
#include "capture/hdf5/h5.h"

#include "event/event.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Members of a compound type in memory: what of each element is moved. None: all, or too many to name. */
static void fields_of(struct h5_lib *l, struct h5_obj *o, hid_t type)
{
	int (*count)(hid_t) = H5CALL(l, H5Tget_nmembers, int (*)(hid_t));
	char *(*member)(hid_t, unsigned) = H5CALL(l, H5Tget_member_name, char *(*)(hid_t, unsigned));
	herr_t (*put_back)(void *) = H5CALL(l, H5free_memory, herr_t(*)(void *));
	if (o->class != H5T_COMPOUND || o->fields_type == type)
		return;
	o->fields_type = type;
	o->nfields = 0;
	int n = count && member && put_back ? count(type) : 0;
	uint32_t have = 0;
	for (int i = 0; i < n; i++) {
		char *name = member(type, (unsigned)i);
		size_t len = name ? strlen(name) + 1 : sizeof(o->fields);
		bool fits = have + len <= sizeof(o->fields);
		if (fits)
			memcpy(o->fields + have, name, len);
		have = fits ? have + (uint32_t)len : 0;
		if (name)
			put_back(name);
		if (!fits)
			return;
	}
	o->nfields = have;
}

/* What the call will move, before it is made. Its shape is known. */
uint64_t h5_data_begin(struct h5_lib *l, struct h5_obj *o, hid_t type, hid_t space, bool write, int64_t *ret_t)
{
	bool whole = false;
	uint64_t bytes = 0;
	if (o) {
		struct h5_quiet q;
		bool ask = space != H5S_ALL || o->class == H5T_COMPOUND;
		if (ask)
			h5_hush(l, &q);
		fields_of(l, o, type);
		bytes = o->size * h5_part_of(l, o, write, space, o->fields, o->class == H5T_COMPOUND ? o->nfields : 0, &whole);
		if (ask)
			h5_unhush(l, &q);
		if (o->elsewhere && !o->size) /* it was not asked for its shape and type */
			bytes = H5_BYTES_UNKNOWN;
		struct h5_object *t = o->told;
		if (t && write && whole && !t->row[0].begun && !t->row[1].begun && (o->class != H5T_COMPOUND || !o->nfields))
			t->flags |= H5_WHOLE;
	}
	*ret_t = h5_now();
	h5_begin(o, write, *ret_t);
	return bytes;
}

/* An attribute moves as a whole. */
void h5_attribute_begin(struct h5_obj *o, bool write, int64_t *ret_t)
{
	struct h5_object *t = o ? o->told : NULL;
	if (t && write && !t->row[0].begun && !t->row[1].begun)
		t->flags |= H5_WHOLE;
	*ret_t = h5_now();
	h5_begin(o, write, *ret_t);
}

#define PATH_ROOM (2 * H5_NAME_MAX + 2)

/* The path in the file that a name at a place leads to. */
static size_t join_object_path(const struct h5_obj *loc, const char *name, char *room)
{
	size_t n = 0, len = name ? strlen(name) : 0;
	if (!loc || !len || len > H5_NAME_MAX)
		return 0;
	const char *base = __atomic_load_n(&loc->name, __ATOMIC_ACQUIRE);
	size_t nbase = strlen(base);
	if (nbase > H5_NAME_MAX)
		return 0;
	if (name[0] != '/' && nbase > 1) {
		memcpy(room, base, nbase);
		n = nbase;
	}
	for (const char *p = name; *p;) {
		while (*p == '/')
			p++;
		size_t k = strcspn(p, "/");
		if (k && !(k == 1 && *p == '.')) {
			room[n++] = '/';
			memcpy(room + n, p, k);
			n += k;
		}
		p += k;
	}
	room[n] = '\0';
	return n;
}

void h5_renamed(struct h5_obj *o, unsigned op, const struct h5_obj *loc, const char *name, const struct h5_obj *old_loc,
                const char *old)
{
	char path[PATH_ROOM], was[PATH_ROOM];
	size_t n = join_object_path(loc, name, path), nold = old ? join_object_path(old_loc, old, was) : 0;
	if (!o || !n)
		return;
	h5_name(o, op, path, n, was, nold);
	/* What is made in it or of it from here on is named by it. */
	if (op == TERM_nameop_rename || (op == TERM_nameop_link && !*o->name))
		h5_object_named(o, path, n);
	if (op == TERM_nameop_rename && nold && o->kind == TERM_kind_group)
		h5_group_moved(o, was, nold, path, n);
}

/* Notes that a link was made or removed that leads to another file, or to a path. h: op and addr. */
static void put_link(const struct h5_obj *loc, const char *name, struct h5_name h, const char *file, const char *path)
{
	char text[sizeof(struct h5_name) + PATH_ROOM + PATH_ROOM];
	size_t n = join_object_path(loc, name, text + sizeof(h)), nfile = strlen(file), npath = strlen(path);
	if (!n || loc->file->unknown || nfile > H5_NAME_MAX || npath > H5_NAME_MAX)
		return;
	h.kind = TERM_kind_softlink;
	h.file = loc->file->num;
	h.npath = (uint32_t)n;
	char *p = text + sizeof(h) + n;
	memcpy(p, file, nfile);
	p += nfile;
	if (nfile) {
		memcpy(p, "//", 2);
		p += 2;
	}
	memcpy(p, path, npath);
	p += npath;
	h.nold = (uint32_t)(p - text - (ptrdiff_t)(sizeof(h) + n));
	memcpy(text, &h, sizeof(h));
	app_tape_put(&(struct app_entry){.kind = H5_NAME},
	             &(struct app_words){.value = text, .nvalue = (size_t)(p - text)});
}

void h5_soft_linked(const struct h5_obj *loc, const char *name, unsigned op)
{
	put_link(loc, name, (struct h5_name){.op = op, .addr = H5_LINK_SOFT}, "", "");
}

void h5_linked_out(const struct h5_obj *loc, const char *name, unsigned op, const struct h5_open *other,
                   const char *file, const char *path)
{
	put_link(loc, name, (struct h5_name){.op = op, .addr = other ? other->num : 0}, file, path);
}

void h5_followed(struct h5_obj *o, const struct h5_obj *loc, const char *name)
{
	char path[PATH_ROOM];
	bool is = o && loc && h5_classes & H5_LINK && o->kind != TERM_kind_attribute, here = is && loc->file == o->file;
	size_t n = is ? join_object_path(loc, name, path) : 0;
	if (!n || (here && !strcmp(__atomic_load_n(&o->name, __ATOMIC_ACQUIRE), path)))
		return;
	const unsigned room = sizeof(o->followed) / sizeof(o->followed[0]);
	uint64_t hash = XXH3_64bits(path, n);
	for (unsigned i = 0; i < room; i++)
		if (__atomic_load_n(&o->followed[i], __ATOMIC_RELAXED) == hash)
			return;
	unsigned at = __atomic_fetch_add(&o->nfollowed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&o->followed[at % room], hash, __ATOMIC_RELAXED);
	if (here)
		h5_name(o, TERM_nameop_link, path, n, "", 0);
	else
		h5_linked_out(loc, name, TERM_nameop_link, o->file, "", __atomic_load_n(&o->name, __ATOMIC_ACQUIRE));
}

/* An attribute is known by its name: under another it is another, made from the first. */
void h5_copied(struct h5_obj *from, struct h5_obj *to, int64_t t, int64_t end)
{
	h5_begin(from, false, t);
	h5_end(from, false, true, H5_BYTES_UNKNOWN, t, end);
	h5_did(to, H5_CREATE, true, t, end);
	h5_begin(to, true, t);
	h5_end(to, true, true, H5_BYTES_UNKNOWN, t, end);
	if (from && from->told && to && to->told) {
		const struct h5_copy pair = {.to = to->num, .from = from->num};
		app_tape_put(&(struct app_entry){.kind = H5_COPY},
		             &(struct app_words){.value = (const char *)&pair, .nvalue = sizeof(pair)});
	}
}

#define H5O_COPY_EXPAND_REFERENCE_FLAG 0x8u

bool h5_copies_more(struct h5_lib *l, hid_t list)
{
	herr_t (*get)(hid_t, unsigned *) = H5CALL(l, H5Pget_copy_object, herr_t(*)(hid_t, unsigned *));
	struct h5_quiet q;
	unsigned flags = 0;
	if (list == 0) /* H5P_DEFAULT */
		return false;
	h5_hush(l, &q);
	const bool known = get && get(list, &flags) >= 0;
	h5_unhush(l, &q);
	return !known || flags & H5O_COPY_EXPAND_REFERENCE_FLAG;
}
