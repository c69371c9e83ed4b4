/* The functions that make and open files and objects, and let them go. */
#include "capture/hdf5/h5.h"

#include "event/event.h"

#include <string.h>

#define CALLER __builtin_return_address(0)

/* ---- files ---- */

#define FILES(name, made, args, call)                                                                                  \
	EXPORT hid_t name args;                                                                                            \
	EXPORT hid_t name args                                                                                             \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		hid_t(*real) args = l ? H5CALL(l, name, hid_t(*) args) : NULL;                                                 \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		int64_t t = h5_on(l) ? h5_now() : 0;                                                                           \
		hid_t id = real call;                                                                                          \
		if (t && id >= 0 && file)                                                                                      \
			h5_file_opened(l, id, file, made, t);                                                                      \
		return id;                                                                                                     \
	}
FILES(H5Fcreate, true, (const char *file, unsigned flags, hid_t create, hid_t access), (file, flags, create, access))
FILES(H5Fopen, false, (const char *file, unsigned flags, hid_t access), (file, flags, access))
FILES(H5Fcreate_async, true, (H5_APP, const char *file, unsigned flags, hid_t create, hid_t access, hid_t es),
      (H5_AP, file, flags, create, access, es))
FILES(H5Fopen_async, false, (H5_APP, const char *file, unsigned flags, hid_t access, hid_t es),
      (H5_AP, file, flags, access, es))

#define REOPENS(name, args, call)                                                                                      \
	EXPORT hid_t name args;                                                                                            \
	EXPORT hid_t name args                                                                                             \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		hid_t(*real) args = l ? H5CALL(l, name, hid_t(*) args) : NULL;                                                 \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		int64_t t = h5_on(l) ? h5_now() : 0;                                                                           \
		hid_t id = real call;                                                                                          \
		if (t && id >= 0) {                                                                                            \
			struct h5_obj *o = h5_loc_of(l, id);                                                                       \
			if (o)                                                                                                     \
				__atomic_add_fetch(&o->file->ids, 1, __ATOMIC_RELAXED);                                                \
			h5_did(o, H5_OPEN, true, t, h5_now());                                                                     \
		}                                                                                                              \
		return id;                                                                                                     \
	}
REOPENS(H5Freopen, (hid_t old), (old))
REOPENS(H5Freopen_async, (H5_APP, hid_t old, hid_t es), (H5_AP, old, es))

#define CLOSES_FILE(name, args, call)                                                                                  \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		struct h5_obj *o = h5_on(l) ? h5_loc_of(l, id) : NULL;                                                         \
		h5_id_gone(l, id);                                                                                             \
		herr_t r = real call;                                                                                          \
		if (o)                                                                                                         \
			h5_file_closed(o->file);                                                                                   \
		return r;                                                                                                      \
	}
CLOSES_FILE(H5Fclose, (hid_t id), (id))
CLOSES_FILE(H5Fclose_async, (H5_APP, hid_t id, hid_t es), (H5_AP, id, es))

/* ---- identifiers that end ---- */

#define CLOSES(name, args, call)                                                                                       \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		h5_id_gone(l, id); /* if it does not go, it is asked for again */                                              \
		return real call;                                                                                              \
	}
CLOSES(H5Gclose, (hid_t id), (id))
CLOSES(H5Dclose, (hid_t id), (id))
CLOSES(H5Aclose, (hid_t id), (id))
CLOSES(H5Oclose, (hid_t id), (id))
CLOSES(H5Gclose_async, (H5_APP, hid_t id, hid_t es), (H5_AP, id, es))
CLOSES(H5Dclose_async, (H5_APP, hid_t id, hid_t es), (H5_AP, id, es))
CLOSES(H5Aclose_async, (H5_APP, hid_t id, hid_t es), (H5_AP, id, es))
CLOSES(H5Oclose_async, (H5_APP, hid_t id, hid_t es), (H5_AP, id, es))

/* Python closes everything so; files, too. */
EXPORT int H5Idec_ref(hid_t id);
/* In the place of HDF5's: an object whose last reference goes is gone. */
EXPORT int H5Idec_ref(hid_t id)
{
	struct h5_lib *l = h5_lib_of(CALLER);
	int (*real)(hid_t) = l ? H5CALL(l, H5Idec_ref, int (*)(hid_t)) : NULL;
	if (!real)
		return -1;
	struct h5_obj *o = h5_on(l) ? h5_known(id) : NULL;
	int left = real(id);
	if (o && left <= 0) {
		h5_id_gone(l, id);
		if (o->kind == TERM_kind_group && !strcmp(o->name, "/") && o->file->ids)
			h5_file_closed(o->file);
	}
	return left;
}

/* ---- objects ---- */

/* What an identifier that was just given leads to was made or opened. */
static void note_opened(struct h5_lib *l, hid_t id, unsigned kind, enum h5_few_op op, int64_t t)
{
	int64_t end = h5_now();
	struct h5_obj *o = op == H5_CREATE ? h5_made_of(l, id, kind) : h5_obj_of(l, id, kind);
	h5_did(o, op, true, t, end);
}

/* ... was made without a name: a link gives it one. */
static void note_nameless(struct h5_lib *l, hid_t id, unsigned kind, enum h5_few_op op, int64_t t)
{
	const int64_t end = h5_now();
	h5_did(h5_nameless_of(l, id, kind), op, true, t, end);
}

/* ... was opened by a reference or an address. */
static void note_referenced(struct h5_lib *l, hid_t id, unsigned kind, enum h5_few_op op, int64_t t)
{
	const int64_t end = h5_now();
	h5_did(h5_referenced_of(l, id, kind), op, true, t, end);
}

/* Notes an object that was opened at t by a path from loc, and, if links are observed, the links on the path. */
static void opened_at(struct h5_lib *l, hid_t id, unsigned kind, int64_t t, hid_t loc, const char *path)
{
	note_opened(l, id, kind, H5_OPEN, t);
	if (h5_classes & H5_LINK)
		h5_followed(h5_known(id), h5_loc_of(l, loc), path);
}

#define OPENS(name, kind, notes, op, args, call) OPENS_AS(note_opened, name, kind, notes, op, args, call)
#define OPENS_AS(note, name, kind, notes, op, args, call)                                                              \
	EXPORT hid_t name args;                                                                                            \
	EXPORT hid_t name args                                                                                             \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		hid_t(*real) args = l ? H5CALL(l, name, hid_t(*) args) : NULL;                                                 \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		int64_t t = notes ? h5_now() : 0;                                                                              \
		hid_t id = real call;                                                                                          \
		if (t && id >= 0)                                                                                              \
			note(l, id, kind, op, t);                                                                                  \
		return id;                                                                                                     \
	}

/* By a name, which may be a link's. */
#define OPENS_AT(name, kind, notes, args, call)                                                                        \
	EXPORT hid_t name args;                                                                                            \
	EXPORT hid_t name args                                                                                             \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		hid_t(*real) args = l ? H5CALL(l, name, hid_t(*) args) : NULL;                                                 \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		int64_t t = notes ? h5_now() : 0;                                                                              \
		hid_t id = real call;                                                                                          \
		if (t && id >= 0)                                                                                              \
			opened_at(l, id, kind, t, loc, path);                                                                      \
		return id;                                                                                                     \
	}

OPENS(H5Gcreate1, TERM_kind_group, h5_wants(l, H5_GROUP), H5_CREATE, (hid_t loc, const char *path, size_t hint),
      (loc, path, hint))
OPENS(H5Gcreate2, TERM_kind_group, h5_wants(l, H5_GROUP), H5_CREATE,
      (hid_t loc, const char *path, hid_t a, hid_t b, hid_t c), (loc, path, a, b, c))
OPENS_AS(note_nameless, H5Gcreate_anon, TERM_kind_group, h5_wants(l, H5_GROUP), H5_CREATE,
         (hid_t loc, hid_t a, hid_t b), (loc, a, b))
OPENS_AT(H5Gopen1, TERM_kind_group, h5_wants(l, H5_GROUP), (hid_t loc, const char *path), (loc, path))
OPENS_AT(H5Gopen2, TERM_kind_group, h5_wants(l, H5_GROUP), (hid_t loc, const char *path, hid_t a), (loc, path, a))
OPENS(H5Dcreate1, TERM_kind_dataset, h5_sees(l, H5_DATASET), H5_CREATE,
      (hid_t loc, const char *path, hid_t type, hid_t space, hid_t a), (loc, path, type, space, a))
OPENS(H5Dcreate2, TERM_kind_dataset, h5_sees(l, H5_DATASET), H5_CREATE,
      (hid_t loc, const char *path, hid_t type, hid_t space, hid_t a, hid_t b, hid_t c),
      (loc, path, type, space, a, b, c))
OPENS_AS(note_nameless, H5Dcreate_anon, TERM_kind_dataset, h5_sees(l, H5_DATASET), H5_CREATE,
         (hid_t loc, hid_t type, hid_t space, hid_t a, hid_t b), (loc, type, space, a, b))
OPENS_AT(H5Dopen1, TERM_kind_dataset, h5_wants(l, H5_DATASET), (hid_t loc, const char *path), (loc, path))
OPENS_AT(H5Dopen2, TERM_kind_dataset, h5_wants(l, H5_DATASET), (hid_t loc, const char *path, hid_t a), (loc, path, a))
OPENS_AT(H5Topen1, TERM_kind_datatype, h5_wants(l, H5_DATATYPE), (hid_t loc, const char *path), (loc, path))
OPENS_AT(H5Topen2, TERM_kind_datatype, h5_wants(l, H5_DATATYPE), (hid_t loc, const char *path, hid_t a), (loc, path, a))
OPENS_AT(H5Oopen, TERM_kind_group, h5_wants(l, H5_OBJECTS), (hid_t loc, const char *path, hid_t a), (loc, path, a))
OPENS_AS(note_referenced, H5Oopen_by_addr, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN, (hid_t loc, haddr_t addr),
         (loc, addr))
OPENS(H5Oopen_by_idx, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
      (hid_t loc, const char *path, int index, int order, hsize_t n, hid_t a), (loc, path, index, order, n, a))
struct h5_token {
	unsigned char byte[16];
};
OPENS_AS(note_referenced, H5Oopen_by_token, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
         (hid_t loc, struct h5_token token), (loc, token))
OPENS_AS(note_referenced, H5Rdereference1, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
         (hid_t obj, int type, const void *ref), (obj, type, ref))
OPENS_AS(note_referenced, H5Rdereference2, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
         (hid_t obj, hid_t a, int type, const void *ref), (obj, a, type, ref))
OPENS_AS(note_referenced, H5Ropen_object, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
         (void *ref, hid_t a, hid_t b), (ref, a, b))
OPENS(H5Aopen_idx, TERM_kind_attribute, h5_wants(l, H5_ATTRIBUTE), H5_OPEN, (hid_t loc, unsigned n), (loc, n))
OPENS(H5Aopen_by_idx, TERM_kind_attribute, h5_wants(l, H5_ATTRIBUTE), H5_OPEN,
      (hid_t loc, const char *path, int index, int order, hsize_t n, hid_t a, hid_t b),
      (loc, path, index, order, n, a, b))

OPENS(H5Gcreate_async, TERM_kind_group, h5_wants(l, H5_GROUP), H5_CREATE,
      (H5_APP, hid_t loc, const char *path, hid_t a, hid_t b, hid_t c, hid_t es), (H5_AP, loc, path, a, b, c, es))
OPENS_AT(H5Gopen_async, TERM_kind_group, h5_wants(l, H5_GROUP),
         (H5_APP, hid_t loc, const char *path, hid_t a, hid_t es), (H5_AP, loc, path, a, es))
OPENS(H5Dcreate_async, TERM_kind_dataset, h5_sees(l, H5_DATASET), H5_CREATE,
      (H5_APP, hid_t loc, const char *path, hid_t type, hid_t space, hid_t a, hid_t b, hid_t c, hid_t es),
      (H5_AP, loc, path, type, space, a, b, c, es))
OPENS_AT(H5Dopen_async, TERM_kind_dataset, h5_wants(l, H5_DATASET),
         (H5_APP, hid_t loc, const char *path, hid_t a, hid_t es), (H5_AP, loc, path, a, es))
OPENS_AT(H5Topen_async, TERM_kind_datatype, h5_wants(l, H5_DATATYPE),
         (H5_APP, hid_t loc, const char *path, hid_t a, hid_t es), (H5_AP, loc, path, a, es))
OPENS_AT(H5Oopen_async, TERM_kind_group, h5_wants(l, H5_OBJECTS),
         (H5_APP, hid_t loc, const char *path, hid_t a, hid_t es), (H5_AP, loc, path, a, es))
OPENS(H5Oopen_by_idx_async, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
      (H5_APP, hid_t loc, const char *path, int index, int order, hsize_t n, hid_t a, hid_t es),
      (H5_AP, loc, path, index, order, n, a, es))
OPENS_AS(note_referenced, H5Ropen_object_async, TERM_kind_group, h5_wants(l, H5_OBJECTS), H5_OPEN,
         (H5_APP, void *ref, hid_t a, hid_t b, hid_t es), (H5_AP, ref, a, b, es))
OPENS(H5Aopen_by_idx_async, TERM_kind_attribute, h5_wants(l, H5_ATTRIBUTE), H5_OPEN,
      (H5_APP, hid_t loc, const char *path, int index, int order, hsize_t n, hid_t a, hid_t b, hid_t es),
      (H5_AP, loc, path, index, order, n, a, b, es))

/* Where the object is known, the attribute is by its name: nothing needs to be asked of HDF5. */
#define ATTRIBUTES(name, notes, op, args, call)                                                                        \
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
			struct h5_obj *o = h5_attribute_of(h5_loc_of(l, loc), attr);                                               \
			h5_id_is(id, o);                                                                                           \
			if (op == H5_CREATE)                                                                                       \
				h5_attribute_made(o);                                                                                  \
			h5_did(o, op, true, t, end);                                                                               \
		}                                                                                                              \
		return id;                                                                                                     \
	}
ATTRIBUTES(H5Acreate1, h5_sees, H5_CREATE, (hid_t loc, const char *attr, hid_t type, hid_t space, hid_t a),
           (loc, attr, type, space, a))
ATTRIBUTES(H5Acreate2, h5_sees, H5_CREATE, (hid_t loc, const char *attr, hid_t type, hid_t space, hid_t a, hid_t b),
           (loc, attr, type, space, a, b))
ATTRIBUTES(H5Acreate_async, h5_sees, H5_CREATE,
           (H5_APP, hid_t loc, const char *attr, hid_t type, hid_t space, hid_t a, hid_t b, hid_t es),
           (H5_AP, loc, attr, type, space, a, b, es))
ATTRIBUTES(H5Aopen_async, h5_wants, H5_OPEN, (H5_APP, hid_t loc, const char *attr, hid_t a, hid_t es),
           (H5_AP, loc, attr, a, es))
ATTRIBUTES(H5Aopen, h5_wants, H5_OPEN, (hid_t loc, const char *attr, hid_t a), (loc, attr, a))
ATTRIBUTES(H5Aopen_name, h5_wants, H5_OPEN, (hid_t loc, const char *attr), (loc, attr))

/* A datatype becomes an object of a file. */
#define COMMITS(name, note, args, call)                                                                                \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		int64_t t = h5_wants(l, H5_DATATYPE) ? h5_now() : 0;                                                           \
		herr_t r = real call;                                                                                          \
		if (t && r >= 0) {                                                                                             \
			note(l, type, TERM_kind_datatype, H5_CREATE, t);                                                           \
			h5_id_gone(l, type); /* its end is not seen */                                                             \
		}                                                                                                              \
		return r;                                                                                                      \
	}
COMMITS(H5Tcommit1, note_opened, (hid_t loc, const char *path, hid_t type), (loc, path, type))
COMMITS(H5Tcommit2, note_opened, (hid_t loc, const char *path, hid_t type, hid_t a, hid_t b, hid_t c),
        (loc, path, type, a, b, c))
COMMITS(H5Tcommit_async, note_opened,
        (H5_APP, hid_t loc, const char *path, hid_t type, hid_t a, hid_t b, hid_t c, hid_t es),
        (H5_AP, loc, path, type, a, b, c, es))
COMMITS(H5Tcommit_anon, note_nameless, (hid_t loc, hid_t type, hid_t a, hid_t b), (loc, type, a, b))

#define FLUSHES(name, notes, args, call)                                                                               \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		if (!(notes))                                                                                                  \
			return real call;                                                                                          \
		struct h5_obj *o = h5_loc_of(l, id);                                                                           \
		int64_t t = h5_now();                                                                                          \
		herr_t r = real call;                                                                                          \
		h5_did(o, H5_FLUSH, r >= 0, t, h5_now());                                                                      \
		return r;                                                                                                      \
	}
FLUSHES(H5Fflush, h5_on(l), (hid_t id, int scope), (id, scope))
FLUSHES(H5Dflush, h5_wants(l, H5_DATASET), (hid_t id), (id))
FLUSHES(H5Gflush, h5_wants(l, H5_GROUP), (hid_t id), (id))
FLUSHES(H5Tflush, h5_wants(l, H5_DATATYPE), (hid_t id), (id))
FLUSHES(H5Oflush, h5_wants(l, H5_OBJECTS), (hid_t id), (id))
FLUSHES(H5Fflush_async, h5_on(l), (H5_APP, hid_t id, int scope, hid_t es), (H5_AP, id, scope, es))
FLUSHES(H5Oflush_async, h5_wants(l, H5_OBJECTS), (H5_APP, hid_t id, hid_t es), (H5_AP, id, es))
