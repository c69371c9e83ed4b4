/* The functions that change names, and those that copy objects. */
#include "capture/hdf5/h5_copy.h"

#include "event/event.h"

#define CALLER __builtin_return_address(0)

/* An object that is moved takes the names of its attributes along: they are known from then on. */
static void attributes_of(struct h5_lib *l, hid_t id, struct h5_obj *o)
{
	char name[H5_NAME_MAX];
	struct h5_quiet q;
	hsize_t n = 0;
	h5_hush(l, &q);
	while (n < H5_ATTRIBUTES_MAX && h5_ask_attribute(l, id, n, name, sizeof(name)) && h5_attribute_of(o, name))
		n++;
	h5_unhush(l, &q);
	if (n == H5_ATTRIBUTES_MAX)
		h5_gap("an object with many attributes was moved: some of them keep the old name");
}

/* The object at a name, opened for as long as it takes to ask. */
enum look { LOOK, LOOK_MOVES };
/* Opens the object by its name, without following links out of the file, and closes it again. NULL: it cannot be
 * opened, or told. */
static struct h5_obj *open_and_note(struct h5_lib *l, hid_t loc, const char *name, enum look what)
{
	hid_t (*open)(hid_t, const char *, hid_t) = H5CALL(l, H5Oopen, hid_t(*)(hid_t, const char *, hid_t));
	herr_t (*close)(hid_t) = H5CALL(l, H5Oclose, herr_t(*)(hid_t));
	struct h5_quiet q;
	h5_hush(l, &q);
	hid_t id = open && close && name && *name && !h5_ask_external(l, loc, name) ? open(loc, name, 0) : -1;
	h5_unhush(l, &q);
	if (id < 0)
		return NULL;
	struct h5_obj *o = h5_loc_of(l, id);
	if (what == LOOK_MOVES && o && h5_classes & H5_ATTRIBUTE)
		attributes_of(l, id, o);
	h5_id_gone(l, id);
	close(id);
	return o;
}

/* The object of a name, opened only to look; NULL if it is not known. */
static struct h5_obj *at_name(struct h5_lib *l, hid_t loc, const char *name)
{
	return open_and_note(l, loc, name, LOOK);
}

/* Of an attribute that was opened so, HDF5 1.10 tells name and address of the place in place of its object's: the
 * object is asked for by itself. */
#define ATTRIBUTES_BY_NAME(name, notes, op, args, call)                                                                \
	EXPORT hid_t name args;                                                                                            \
	EXPORT hid_t name args                                                                                             \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		hid_t(*real) args = l ? H5CALL(l, name, hid_t(*) args) : NULL;                                                 \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		int64_t t = notes(l, H5_ATTRIBUTE) ? h5_now() : 0;                                                             \
		hid_t id = real call;                                                                                          \
		if (t && id >= 0) {                                                                                            \
			int64_t end = h5_now();                                                                                    \
			struct h5_obj *o = h5_attribute_of(at_name(l, loc, path), attr);                                           \
			h5_id_is(id, o);                                                                                           \
			if (op == H5_CREATE)                                                                                       \
				h5_attribute_made(o);                                                                                  \
			h5_did(o, op, true, t, end);                                                                               \
		}                                                                                                              \
		return id;                                                                                                     \
	}
ATTRIBUTES_BY_NAME(H5Aopen_by_name, h5_wants, H5_OPEN,
                   (hid_t loc, const char *path, const char *attr, hid_t a, hid_t b), (loc, path, attr, a, b))
ATTRIBUTES_BY_NAME(H5Acreate_by_name, h5_sees, H5_CREATE,
                   (hid_t loc, const char *path, const char *attr, hid_t type, hid_t space, hid_t a, hid_t b, hid_t c),
                   (loc, path, attr, type, space, a, b, c))

ATTRIBUTES_BY_NAME(H5Aopen_by_name_async, h5_wants, H5_OPEN,
                   (H5_APP, hid_t loc, const char *path, const char *attr, hid_t a, hid_t b, hid_t es),
                   (H5_AP, loc, path, attr, a, b, es))
ATTRIBUTES_BY_NAME(H5Acreate_by_name_async, h5_sees, H5_CREATE,
                   (H5_APP, hid_t loc, const char *path, const char *attr, hid_t type, hid_t space, hid_t a, hid_t b,
                    hid_t c, hid_t es),
                   (H5_AP, loc, path, attr, type, space, a, b, c, es))

/* Notes that the object o has got, lost or changed a name. op: TERM_nameop_link, _unlink or _rename. name at loc: the
 * new name, of an unlink the one that went; old at old_loc: the name before a rename, else NULL and 0. */
static void note_renamed(struct h5_lib *l, struct h5_obj *o, unsigned op, hid_t loc, const char *name, hid_t old_loc,
                         const char *old)
{
	struct h5_obj *at = h5_loc_of(l, loc);
	if (op != TERM_nameop_link && at)
		h5_forget_visit(at->file);
	h5_renamed(o, op, at, name, old ? h5_loc_of(l, old_loc) : NULL, old);
}

/* Notes that the name at loc was made (op: TERM_nameop_link) or deleted (TERM_nameop_unlink) as a soft link: a soft
 * link is an object of its own, beside what it leads to. soft false: it is no soft link, and nothing is noted. */
static void note_soft(struct h5_lib *l, bool soft, unsigned op, hid_t loc, const char *name)
{
	if (soft)
		h5_soft_linked(h5_loc_of(l, loc), name, op);
}

/* Notes that a soft link was moved: `from` at from_loc is gone, and name at loc is there. soft: as of note_soft. */
static void note_soft_moved(struct h5_lib *l, bool soft, hid_t from_loc, const char *from, hid_t loc, const char *name)
{
	note_soft(l, soft, TERM_nameop_unlink, from_loc, from);
	note_soft(l, soft, TERM_nameop_link, loc, name);
}

/* H5L_SAME_LOC. */
static hid_t resolve_same_loc(hid_t loc, hid_t other)
{
	return loc == 0 ? other : loc;
}

#define CALLS(name, notes, args, call, before, after)                                                                  \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		bool on = notes;                                                                                               \
		struct h5_obj *o = NULL;                                                                                       \
		bool soft = false;                                                                                             \
		if (on) {                                                                                                      \
			before;                                                                                                    \
		}                                                                                                              \
		int64_t t = on ? h5_now() : 0;                                                                                 \
		herr_t r = real call;                                                                                          \
		if (on && r >= 0) {                                                                                            \
			after;                                                                                                     \
		}                                                                                                              \
		(void)o, (void)t, (void)soft;                                                                                  \
		return r;                                                                                                      \
	}

/* An object that was made without a name gets its name by H5Olink (so does Python): that is the object's own, any other
 * one is a link. */
static void note_linked(struct h5_lib *l, struct h5_obj *o, hid_t loc, const char *name)
{
	if (o && *o->name ? h5_sees(l, H5_LINK) : o != NULL)
		note_renamed(l, o, TERM_nameop_link, loc, name, 0, NULL);
}

CALLS(
    H5Lmove, h5_sees(l, H5_LINK), (hid_t a, const char *from, hid_t b, const char *to, hid_t c, hid_t d),
    (a, from, b, to, c, d),
    {
	    soft = h5_ask_soft(l, resolve_same_loc(a, b), from);
	    o = open_and_note(l, resolve_same_loc(a, b), from, LOOK_MOVES);
    },
    {
	    h5_did(o, H5_RENAME, true, t, h5_now());
	    note_renamed(l, o, TERM_nameop_rename, resolve_same_loc(b, a), to, resolve_same_loc(a, b), from);
	    note_soft_moved(l, soft, resolve_same_loc(a, b), from, resolve_same_loc(b, a), to);
    })
CALLS(H5Lcreate_hard, h5_sees(l, H5_LINK), (hid_t a, const char *from, hid_t b, const char *to, hid_t c, hid_t d),
      (a, from, b, to, c, d), o = at_name(l, resolve_same_loc(a, b), from),
      note_renamed(l, o, TERM_nameop_link, resolve_same_loc(b, a), to, 0, NULL))
CALLS(
    H5Lcopy, h5_sees(l, H5_LINK), (hid_t a, const char *from, hid_t b, const char *to, hid_t c, hid_t d),
    (a, from, b, to, c, d),
    {
	    soft = h5_ask_soft(l, resolve_same_loc(a, b), from);
	    o = at_name(l, resolve_same_loc(a, b), from);
    },
    {
	    note_renamed(l, o, TERM_nameop_link, resolve_same_loc(b, a), to, 0, NULL);
	    note_soft(l, soft, TERM_nameop_link, resolve_same_loc(b, a), to);
    })
CALLS(H5Olink, h5_names(l), (hid_t id, hid_t b, const char *to, hid_t c, hid_t d), (id, b, to, c, d),
      o = h5_loc_of(l, id), note_linked(l, o, b, to))
static void deleted(struct h5_lib *l, struct h5_obj *o, hid_t loc, const char *name, int64_t t)
{
	h5_did(o, H5_DELETE, true, t, h5_now());
	note_renamed(l, o, TERM_nameop_unlink, loc, name, 0, NULL);
	if (!o) /* perhaps a link to another file, which nobody followed */
		h5_linked_out(h5_loc_of(l, loc), name, TERM_nameop_unlink, NULL, "", "");
}

CALLS(
    H5Ldelete, h5_sees(l, H5_LINK), (hid_t a, const char *name, hid_t c), (a, name, c),
    {
	    soft = h5_ask_soft(l, a, name);
	    o = at_name(l, a, name);
    },
    {
	    deleted(l, o, a, name, t);
	    note_soft(l, soft, TERM_nameop_unlink, a, name);
    })

/* What it leads to is not looked at: that would open the other file. */
CALLS(H5Lcreate_external, h5_wants(l, H5_LINK),
      (const char *file, const char *target, hid_t a, const char *name, hid_t b, hid_t c),
      (file, target, a, name, b, c), (void)0,
      h5_linked_out(h5_loc_of(l, a), name, TERM_nameop_link, NULL, file, target))

/* By its number in the group, in an order; the name is asked for while it is there. */
#define DELETES_NTH(fn, args, call)                                                                                    \
	EXPORT herr_t fn args;                                                                                             \
	EXPORT herr_t fn args                                                                                              \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, fn, herr_t(*) args) : NULL;                                                 \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		char name[H5_NAME_MAX];                                                                                        \
		bool on = h5_sees(l, H5_LINK) && h5_ask_link(l, loc, group, index, order, n, list, name, sizeof(name));        \
		const bool soft = on && h5_ask_soft(l, loc, name);                                                             \
		struct h5_obj *o = on ? at_name(l, loc, name) : NULL;                                                          \
		int64_t t = on ? h5_now() : 0;                                                                                 \
		herr_t r = real call;                                                                                          \
		if (on && r >= 0) {                                                                                            \
			deleted(l, o, loc, name, t);                                                                               \
			note_soft(l, soft, TERM_nameop_unlink, loc, name);                                                         \
		}                                                                                                              \
		return r;                                                                                                      \
	}
DELETES_NTH(H5Ldelete_by_idx, (hid_t loc, const char *group, int index, int order, hsize_t n, hid_t list),
            (loc, group, index, order, n, list))
DELETES_NTH(H5Ldelete_by_idx_async,
            (H5_APP, hid_t loc, const char *group, int index, int order, hsize_t n, hid_t list, hid_t es),
            (H5_AP, loc, group, index, order, n, list, es))

/* What a soft link leads to is known here, if that is there; else, and of an external link always, when it is followed.
 */
CALLS(H5Lcreate_soft, h5_wants(l, H5_LINK), (const char *target, hid_t a, const char *name, hid_t b, hid_t c),
      (target, a, name, b, c), (void)0, {
	      note_renamed(l, at_name(l, a, name), TERM_nameop_link, a, name, 0, NULL);
	      note_soft(l, true, TERM_nameop_link, a, name);
      })

/* The same before 1.8, which Python still deletes with. */
CALLS(
    H5Gunlink, h5_sees(l, H5_LINK), (hid_t a, const char *name), (a, name),
    {
	    soft = h5_ask_soft(l, a, name);
	    o = at_name(l, a, name);
    },
    {
	    h5_did(o, H5_DELETE, true, t, h5_now());
	    note_renamed(l, o, TERM_nameop_unlink, a, name, 0, NULL);
	    note_soft(l, soft, TERM_nameop_unlink, a, name);
    })
CALLS(
    H5Gmove, h5_sees(l, H5_LINK), (hid_t a, const char *from, const char *to), (a, from, to),
    {
	    soft = h5_ask_soft(l, a, from);
	    o = open_and_note(l, a, from, LOOK_MOVES);
    },
    {
	    h5_did(o, H5_RENAME, true, t, h5_now());
	    note_renamed(l, o, TERM_nameop_rename, a, to, a, from);
	    note_soft_moved(l, soft, a, from, a, to);
    })
CALLS(
    H5Gmove2, h5_sees(l, H5_LINK), (hid_t a, const char *from, hid_t b, const char *to), (a, from, b, to),
    {
	    soft = h5_ask_soft(l, resolve_same_loc(a, b), from);
	    o = open_and_note(l, resolve_same_loc(a, b), from, LOOK_MOVES);
    },
    {
	    h5_did(o, H5_RENAME, true, t, h5_now());
	    note_renamed(l, o, TERM_nameop_rename, resolve_same_loc(b, a), to, resolve_same_loc(a, b), from);
	    note_soft_moved(l, soft, resolve_same_loc(a, b), from, resolve_same_loc(b, a), to);
    })
CALLS(H5Glink, h5_sees(l, H5_LINK), (hid_t a, int type, const char *from, const char *to), (a, type, from, to), (void)0,
      {
	      note_renamed(l, at_name(l, a, to), TERM_nameop_link, a, to, 0, NULL);
	      note_soft(l, type == 1, TERM_nameop_link, a, to); /* H5G_LINK_SOFT */
      })
CALLS(H5Glink2, h5_sees(l, H5_LINK), (hid_t a, const char *from, int type, hid_t b, const char *to),
      (a, from, type, b, to), (void)0, {
	      note_renamed(l, at_name(l, resolve_same_loc(b, a), to), TERM_nameop_link, resolve_same_loc(b, a), to, 0,
	                   NULL);
	      note_soft(l, type == 1, TERM_nameop_link, resolve_same_loc(b, a), to);
      })

static void attribute_renamed(struct h5_obj *from, struct h5_obj *owner, const char *name, int64_t t)
{
	if (from)
		h5_copied(from, h5_attribute_of(owner, name), t, h5_now());
}

CALLS(H5Adelete, h5_wants(l, H5_ATTRIBUTE), (hid_t loc, const char *name), (loc, name),
      o = h5_attribute_of(h5_loc_of(l, loc), name), h5_did(o, H5_DELETE, true, t, h5_now()))
CALLS(H5Adelete_by_name, h5_wants(l, H5_ATTRIBUTE), (hid_t loc, const char *path, const char *name, hid_t a),
      (loc, path, name, a), o = h5_attribute_of(at_name(l, loc, path), name), h5_did(o, H5_DELETE, true, t, h5_now()))
CALLS(H5Arename, h5_sees(l, H5_ATTRIBUTE), (hid_t loc, const char *from, const char *to), (loc, from, to),
      o = h5_attribute_of(h5_loc_of(l, loc), from), attribute_renamed(o, h5_loc_of(l, loc), to, t))
CALLS(H5Arename_by_name, h5_sees(l, H5_ATTRIBUTE),
      (hid_t loc, const char *path, const char *from, const char *to, hid_t a), (loc, path, from, to, a),
      o = h5_attribute_of(at_name(l, loc, path), from), attribute_renamed(o, at_name(l, loc, path), to, t))

CALLS(H5Ocopy, h5_copies(l), (hid_t a, const char *from, hid_t b, const char *to, hid_t c, hid_t d),
      (a, from, b, to, c, d), (void)0, h5_note_copy(l, &(struct h5_copied_call){a, from, b, to, c, t}))

CALLS(H5Lcreate_hard_async, h5_sees(l, H5_LINK),
      (H5_APP, hid_t a, const char *from, hid_t b, const char *to, hid_t c, hid_t d, hid_t es),
      (H5_AP, a, from, b, to, c, d, es), o = at_name(l, resolve_same_loc(a, b), from),
      note_renamed(l, o, TERM_nameop_link, resolve_same_loc(b, a), to, 0, NULL))
CALLS(H5Lcreate_soft_async, h5_wants(l, H5_LINK),
      (H5_APP, const char *target, hid_t a, const char *name, hid_t b, hid_t c, hid_t es),
      (H5_AP, target, a, name, b, c, es), (void)0,
      note_renamed(l, at_name(l, a, name), TERM_nameop_link, a, name, 0, NULL))
CALLS(H5Ldelete_async, h5_sees(l, H5_LINK), (H5_APP, hid_t a, const char *name, hid_t c, hid_t es),
      (H5_AP, a, name, c, es), o = at_name(l, a, name), deleted(l, o, a, name, t))
CALLS(H5Arename_async, h5_sees(l, H5_ATTRIBUTE), (H5_APP, hid_t loc, const char *from, const char *to, hid_t es),
      (H5_AP, loc, from, to, es), o = h5_attribute_of(h5_loc_of(l, loc), from),
      attribute_renamed(o, h5_loc_of(l, loc), to, t))
CALLS(H5Arename_by_name_async, h5_sees(l, H5_ATTRIBUTE),
      (H5_APP, hid_t loc, const char *path, const char *from, const char *to, hid_t a, hid_t es),
      (H5_AP, loc, path, from, to, a, es), o = h5_attribute_of(at_name(l, loc, path), from),
      attribute_renamed(o, at_name(l, loc, path), to, t))
CALLS(H5Ocopy_async, h5_copies(l),
      (H5_APP, hid_t a, const char *from, hid_t b, const char *to, hid_t c, hid_t d, hid_t es),
      (H5_AP, a, from, b, to, c, d, es), (void)0, h5_note_copy(l, &(struct h5_copied_call){a, from, b, to, c, t}))
