/* What H5Ocopy copied, object by object: what lies in a group, and the attributes of each. The copy has the paths of
 * what it was made from, below its own, so they belong together in pairs. It is gone through when it has been made, and
 * of each object in it HDF5 is asked for the one at the same path below the original: what soft links led to, where
 * they were followed, stands there as well.
 *
 * Cost: one H5Ovisit, two opens for each object, a question for each attribute. At most COPY_MAX objects and COPY_BYTES
 * bytes of names: what is more is a gap. */
#include "capture/hdf5/h5_copy.h"

#include "event/event.h"

#include <string.h>
#include <sys/mman.h>

#define H5O_INFO_BASIC 1u
enum { COPY_MAX = 100000, COPY_BYTES = 16 << 20 };

/* Paths below the copy, NUL-terminated one behind the other. */
struct below {
	char *names;
	size_t n, count;
	bool more; /* there was no room for all */
};

/* HDF5's callback for each object below: keeps its name. b->more, and 1: there are more than are kept. */
static herr_t take_copy_path(hid_t id, const char *name, const void *info, void *arg)
{
	struct below *b = arg;
	const size_t len = strlen(name) + 1;
	(void)id, (void)info;
	if (!strcmp(name, "."))
		return 0;
	b->more = b->more || len > COPY_BYTES - b->n || b->count >= COPY_MAX;
	if (b->more)
		return 1;
	memcpy(b->names + b->n, name, len);
	b->n += len;
	b->count++;
	return 0;
}

typedef herr_t (*visit_fn)(hid_t, int, int, herr_t (*)(hid_t, const char *, const void *, void *), void *, unsigned);

/* All that lies below a group. false: that is not known. */
static bool find_below(struct h5_lib *l, hid_t group, struct below *ret)
{
	visit_fn all = l->fn[H5FN_H5Ovisit3] ? H5CALL(l, H5Ovisit3, visit_fn) : H5CALL(l, H5Ovisit2, visit_fn);
	void *room =
	    all ? mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
	        : MAP_FAILED;
	struct h5_quiet q;
	*ret = (struct below){0};
	if (room == MAP_FAILED)
		return false;
	ret->names = room;
	h5_hush(l, &q);
	const bool done = all(group, 0, 2, take_copy_path, ret, H5O_INFO_BASIC) >= 0; /* by name, in whatever order */
	h5_unhush(l, &q);
	return done && !ret->more;
}

/* names NULL: there is nothing to be released. */
static void release_below(struct below *b)
{
	if (b->names)
		munmap(b->names, COPY_BYTES);
}

/* Opens the object at a name; -1: it is not there, or in another file. */
static hid_t open_at(struct h5_lib *l, hid_t loc, const char *name)
{
	hid_t (*open)(hid_t, const char *, hid_t) = H5CALL(l, H5Oopen, hid_t(*)(hid_t, const char *, hid_t));
	struct h5_quiet q;
	h5_hush(l, &q);
	const hid_t id = open && name && *name && !h5_ask_external(l, loc, name) ? open(loc, name, 0) : -1;
	h5_unhush(l, &q);
	return id;
}

/* id < 0: there is nothing to close. */
static void close_at(struct h5_lib *l, hid_t id)
{
	herr_t (*close)(hid_t) = H5CALL(l, H5Oclose, herr_t(*)(hid_t));
	if (id < 0)
		return;
	h5_id_gone(l, id);
	if (close)
		close(id);
}

/* When the call began and ended. */
struct when {
	int64_t from, to;
};

/* The attributes of a copy, each with the one of the same name that the original has. */
static void note_attributes(struct h5_lib *l, hid_t copy, struct h5_obj *from, struct h5_obj *to, const struct when *w)
{
	char name[H5_NAME_MAX];
	struct h5_quiet q;
	hsize_t n = 0;
	h5_hush(l, &q);
	while (n < H5_ATTRIBUTES_MAX && h5_ask_attribute(l, copy, n, name, sizeof(name))) {
		struct h5_obj *a = h5_attribute_of(from, name), *b = h5_attribute_of(to, name);
		if (!a || !b)
			break;
		h5_attribute_made(b);
		h5_copied(a, b, w->from, w->to);
		n++;
	}
	h5_unhush(l, &q);
	if (n == H5_ATTRIBUTES_MAX)
		h5_gap("an object was copied with many attributes: some of them are unknown");
}

/* Two open objects, of which one is the copy of the other. false: what they are could not be asked. */
static bool note_pair(struct h5_lib *l, hid_t original, hid_t copy, const struct when *w)
{
	struct h5_obj *from = h5_loc_of(l, original), *to = h5_made_of(l, copy, TERM_kind_group);
	if (!from || !to || from->kind != to->kind)
		return false;
	if (from->kind == TERM_kind_dataset) {
		h5_shape_of(l, from, original);
		h5_shape_of(l, to, copy);
	}
	h5_copied(from, to, w->from, w->to);
	if (h5_classes & H5_ATTRIBUTE)
		note_attributes(l, copy, from, to, w);
	return true;
}

/* A copy whose original is not known: it was made, from whatever. */
static void note_made(struct h5_lib *l, hid_t copy, const struct when *w)
{
	struct h5_obj *to = h5_made_of(l, copy, TERM_kind_group);
	if (!to)
		return;
	if (to->kind == TERM_kind_dataset)
		h5_shape_of(l, to, copy);
	h5_did(to, H5_CREATE, true, w->from, w->to);
	h5_begin(to, true, w->from);
	h5_end(to, true, true, H5_BYTES_UNKNOWN, w->from, w->to);
}

/* What lies below two groups, by the paths that it has in the copy. False: not all could be noted. */
static bool note_below(struct h5_lib *l, hid_t original, hid_t copy, const struct when *w)
{
	struct below b;
	bool all = find_below(l, copy, &b);
	const char *name = b.names;
	for (size_t i = 0; i < b.count; i++, name += strlen(name) + 1) {
		const hid_t from = open_at(l, original, name), to = open_at(l, copy, name);
		const bool paired = from >= 0 && to >= 0 && note_pair(l, from, to, w);
		if (!paired && to >= 0)
			note_made(l, to, w);
		all = paired && all;
		close_at(l, from);
		close_at(l, to);
	}
	release_below(&b);
	return all;
}

void h5_note_copy(struct h5_lib *l, const struct h5_copied_call *c)
{
	const struct when w = {c->began, h5_now()};
	const hid_t from = open_at(l, c->loc, c->name), to = open_at(l, c->to_loc, c->to_name);
	bool all = from >= 0 && to >= 0 && note_pair(l, from, to, &w);
	const struct h5_obj *made = all ? h5_known(to) : NULL;
	if (made && made->kind == TERM_kind_group)
		all = note_below(l, from, to, &w);
	close_at(l, from);
	close_at(l, to);
	if (!all || h5_copies_more(l, c->list))
		h5_gap(H5_COPIED_MORE);
}
