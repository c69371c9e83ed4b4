/* Files, groups, committed datatypes, objects of any kind, and links. */
#include "capture/hdf5/vol/vol.h"

#include "event/event.h"

#include <string.h>

#define UNDER(v) ((v) ? (v)->under : NULL)
/* What was made or opened. */
static void *given(void *under, struct vol *at, H5I_type_t type, enum h5_few_op op, int64_t t, hid_t dxpl, void **req)
{
	struct vol *v = vol_wrap(under, at->id, type);
	vol_asked(req, at->id);
	if (v && t)
		vol_opened(v, op, t, dxpl);
	return v;
}

/* ns; 0 where nothing is to be noted. */
static int64_t begin_object_call(bool notes)
{
	return notes ? h5_now() : 0;
}

/* ---- files ---- */

/* HDF5's callback, as all in this file: passes the call on, and notes what it did. NULL: it failed. */
static void *file_create(const char *name, unsigned flags, hid_t make, hid_t access, hid_t dxpl, void **req)
{
	hid_t id, list = vol_access(access, &id);
	if (list < 0)
		return NULL;
	int64_t t = begin_object_call(vol_on());
	void *under = PASS_OBJ(H5(H5VLfile_create)(name, flags, make, list, dxpl, req));
	struct vol *v = vol_wrap(under, id, H5I_FILE);
	vol_access_close(list, !under);
	vol_asked(req, id);
	if (v && t)
		vol_file_opened(v, name, true, t, dxpl);
	return v;
}

/* Opens the file with the connector underneath and notes it. NULL if it failed. */
static void *file_open(const char *name, unsigned flags, hid_t access, hid_t dxpl, void **req)
{
	hid_t id, list = vol_access(access, &id);
	if (list < 0)
		return NULL;
	int64_t t = begin_object_call(vol_on());
	void *under = PASS_OBJ(H5(H5VLfile_open)(name, flags, list, dxpl, req));
	struct vol *v = vol_wrap(under, id, H5I_FILE);
	vol_access_close(list, !under);
	vol_asked(req, id);
	if (v && t)
		vol_file_opened(v, name, false, t, dxpl);
	return v;
}

/* A list that a program takes of a file to open others leads through us, too. */
static void lead_through(hid_t access, const struct vol *v)
{
	struct h5_quiet q;
	h5_hush(vol_lib, &q);
	hid_t self = H5(H5VLget_connector_id_by_name)(VOL_NAME);
	struct vol_info info = {.under = v->id};
	if (self >= 0) {
		H5(H5Pget_vol_info)(access, &info.info);
		H5(H5Pset_vol)(access, self, &info);
		if (info.info)
			H5(H5VLfree_connector_info)(v->id, info.info);
		H5(H5Idec_ref)(self);
	}
	h5_unhush(vol_lib, &q);
}

/* A list of access properties is made to lead through this connector again. */
static herr_t get_file(void *obj, H5VL_file_get_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLfile_get)(v->under, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	if (r >= 0 && args->op_type == H5VL_FILE_GET_FAPL && (!req || !*req))
		lead_through(args->args.get_fapl.fapl_id, v);
	return r;
}

/* Calls the connector below with the access list of the connector below in *place, which is as before at the end.
 * Negative: it failed. */
static herr_t call_by_name(hid_t access, hid_t *place, H5VL_file_specific_args_t *args, hid_t dxpl, void **req)
{
	hid_t id, list = vol_access(access, &id);
	if (list < 0)
		return -1;
	*place = list;
	herr_t r = PASS(H5(H5VLfile_specific)(NULL, id, args, dxpl, req));
	*place = access;
	vol_access_close(list, r < 0);
	vol_asked(req, id);
	return r;
}

/* Flushes, reopens, asks whether files are equal. What is only asked for by a name has no object. */
static herr_t file_specific(void *obj, H5VL_file_specific_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj, *other = NULL;
	if (args->op_type == H5VL_FILE_IS_ACCESSIBLE)
		return call_by_name(args->args.is_accessible.fapl_id, &args->args.is_accessible.fapl_id, args, dxpl, req);
	if (args->op_type == H5VL_FILE_DELETE)
		return call_by_name(args->args.del.fapl_id, &args->args.del.fapl_id, args, dxpl, req);
	H5VL_file_specific_args_t mine = *args;
	if (args->op_type == H5VL_FILE_IS_EQUAL) {
		other = args->args.is_equal.obj2;
		mine.args.is_equal.obj2 = UNDER(other);
	}
	bool flush = args->op_type == H5VL_FILE_FLUSH, again = args->op_type == H5VL_FILE_REOPEN;
	struct h5_obj *o = vol_on() && (flush || again) ? vol_obj(v, dxpl) : NULL;
	int64_t t = begin_object_call(vol_on());
	herr_t r = PASS(H5(H5VLfile_specific)(v->under, v->id, &mine, dxpl, req));
	vol_asked(req, v->id);
	if (flush && t)
		h5_did(o, H5_FLUSH, r >= 0, t, h5_now());
	if (again && r >= 0) {
		struct vol *file = vol_wrap(*args->args.reopen.file, v->id, H5I_FILE);
		*args->args.reopen.file = file;
		if (file && o)
			__atomic_add_fetch(&o->file->ids, 1, __ATOMIC_RELAXED);
		if (file && t)
			vol_opened(file, H5_OPEN, t, dxpl);
	}
	return r;
}

/* The wrapper is freed if the library closed it; the file is noted as closed. */
static herr_t file_close(void *obj, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	struct h5_obj *o = vol_on() ? vol_obj(v, dxpl) : NULL;
	hid_t id = v->id;
	herr_t r = PASS(H5(H5VLfile_close)(v->under, id, dxpl, req));
	vol_asked(req, id);
	if (r >= 0)
		vol_free(v);
	if (o)
		h5_file_closed(o->file);
	return r;
}

/* ---- groups ---- */

/* Notes that it was made. NULL if it failed. */
static void *group_create(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t link, hid_t make,
                          hid_t access, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = begin_object_call(vol_wants(H5_GROUP));
	return given(PASS_OBJ(H5(H5VLgroup_create)(v->under, where, v->id, name, link, make, access, dxpl, req)), v,
	             H5I_GROUP, H5_CREATE, t, dxpl, req);
}

/* Notes that it was opened, and by which path. NULL if it failed. */
static void *group_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t dxpl,
                        void **req)
{
	struct vol *v = obj;
	int64_t t = begin_object_call(vol_wants(H5_GROUP));
	struct vol *g = given(PASS_OBJ(H5(H5VLgroup_open)(v->under, where, v->id, name, access, dxpl, req)), v, H5I_GROUP,
	                      H5_OPEN, t, dxpl, req);
	if (t)
		vol_followed(v, where, name, g, dxpl);
	return g;
}

/* Mounts a file's object underneath; notes a flush. */
static herr_t group_specific(void *obj, H5VL_group_specific_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	H5VL_group_specific_args_t mine = *args;
	if (args->op_type == H5VL_GROUP_MOUNT) {
		struct vol *child = args->args.mount.child_file;
		mine.args.mount.child_file = UNDER(child);
	}
	bool flush = vol_wants(H5_GROUP) && args->op_type == H5VL_GROUP_FLUSH;
	struct h5_obj *o = flush ? vol_obj(v, dxpl) : NULL;
	int64_t t = begin_object_call(flush);
	herr_t r = PASS(H5(H5VLgroup_specific)(v->under, v->id, &mine, dxpl, req));
	vol_asked(req, v->id);
	if (flush)
		h5_did(o, H5_FLUSH, r >= 0, t, h5_now());
	return r;
}

/* ---- committed datatypes ---- */

/* Notes that it was made. NULL if it failed. */
static void *datatype_commit(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t type, hid_t link,
                             hid_t make, hid_t access, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = begin_object_call(vol_wants(H5_DATATYPE));
	return given(PASS_OBJ(H5(H5VLdatatype_commit)(v->under, where, v->id, name, type, link, make, access, dxpl, req)),
	             v, H5I_DATATYPE, H5_CREATE, t, dxpl, req);
}

/* Notes that it was opened, and by which path. NULL if it failed. */
static void *datatype_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t dxpl,
                           void **req)
{
	struct vol *v = obj;
	int64_t t = begin_object_call(vol_wants(H5_DATATYPE));
	struct vol *type = given(PASS_OBJ(H5(H5VLdatatype_open)(v->under, where, v->id, name, access, dxpl, req)), v,
	                         H5I_DATATYPE, H5_OPEN, t, dxpl, req);
	if (t)
		vol_followed(v, where, name, type, dxpl);
	return type;
}

/* A flush is noted, all else is handed on. */
static herr_t datatype_specific(void *obj, H5VL_datatype_specific_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	bool flush = vol_wants(H5_DATATYPE) && args->op_type == H5VL_DATATYPE_FLUSH;
	struct h5_obj *o = flush ? vol_obj(v, dxpl) : NULL;
	int64_t t = begin_object_call(flush);
	herr_t r = PASS(H5(H5VLdatatype_specific)(v->under, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	if (flush)
		h5_did(o, H5_FLUSH, r >= 0, t, h5_now());
	return r;
}

/* ---- the same for all kinds ---- */

#define GETS(kind)                                                                                                     \
	static herr_t kind##_get(void *obj, H5VL_##kind##_get_args_t *args, hid_t dxpl, void **req)                        \
	{                                                                                                                  \
		struct vol *v = obj;                                                                                           \
		herr_t r = PASS(H5(H5VL##kind##_get)(v->under, v->id, args, dxpl, req));                                       \
		vol_asked(req, v->id);                                                                                         \
		return r;                                                                                                      \
	}
/* They may be H5Giterate. */
#define OPTIONS(kind)                                                                                                  \
	static herr_t kind##_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)                       \
	{                                                                                                                  \
		struct vol *v = obj;                                                                                           \
		herr_t r = H5(H5VL##kind##_optional)(v->under, v->id, args, dxpl, req);                                        \
		vol_asked(req, v->id);                                                                                         \
		return r;                                                                                                      \
	}
#define CLOSES(kind)                                                                                                   \
	static herr_t kind##_close(void *obj, hid_t dxpl, void **req)                                                      \
	{                                                                                                                  \
		struct vol *v = obj;                                                                                           \
		hid_t id = v->id;                                                                                              \
		herr_t r = PASS(H5(H5VL##kind##_close)(v->under, id, dxpl, req));                                              \
		vol_asked(req, id);                                                                                            \
		if (r >= 0)                                                                                                    \
			vol_free(v);                                                                                               \
		return r;                                                                                                      \
	}
/* Opens an object of any kind, and notes that. Called by HDF5. */
OPTIONS(file)
GETS(group)
OPTIONS(group)
CLOSES(group)
GETS(datatype)
OPTIONS(datatype)
CLOSES(datatype)

/* ---- objects of any kind ---- */

static void *object_open(void *obj, const H5VL_loc_params_t *where, H5I_type_t *type, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = begin_object_call(vol_wants(H5_OBJECTS));
	void *under = PASS_OBJ(H5(H5VLobject_open)(v->under, where, v->id, type, dxpl, req));
	struct vol *o = given(under, v, under ? *type : H5I_BADID, H5_OPEN, t, dxpl, req);
	if (t)
		vol_followed(v, where, NULL, o, dxpl);
	return o;
}

/* Copies, and notes what was copied; a copy that cannot be told fully is noted as a gap. Negative if it failed. */
static herr_t object_copy(void *a, const H5VL_loc_params_t *where_a, const char *from, void *b,
                          const H5VL_loc_params_t *where_b, const char *to, hid_t copy, hid_t link, hid_t dxpl,
                          void **req)
{
	struct vol *va = a, *vb = b;
	H5VL_loc_params_t at = {.obj_type = where_a->obj_type,
	                        .type = H5VL_OBJECT_BY_NAME,
	                        .loc_data.loc_by_name = {.name = from, .lapl_id = H5P_DEFAULT}};
	H5VL_loc_params_t to_at = at;
	bool on = vol_on() && h5_copies(vol_lib);
	int64_t t = begin_object_call(on);
	herr_t r =
	    PASS(H5(H5VLobject_copy)(va->under, where_a, from, vb->under, where_b, to, va->id, copy, link, dxpl, req));
	vol_asked(req, va->id);
	if (on && r >= 0) {
		to_at.obj_type = where_b->obj_type;
		to_at.loc_data.loc_by_name.name = to;
		const bool known = where_a->type == H5VL_OBJECT_BY_SELF && where_b->type == H5VL_OBJECT_BY_SELF;
		if (!known || !vol_copied(va, &at, vb, &to_at, t, dxpl) || h5_copies_more(vol_lib, copy))
			h5_gap(H5_COPIED_MORE);
	}
	return r;
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t object_get(void *obj, const H5VL_loc_params_t *where, H5VL_object_get_args_t *args, hid_t dxpl,
                         void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLobject_get)(v->under, where, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	return r;
}

/* Notes a flush. A refresh may close and reopen the object, so that its identifier is kept before. */
static herr_t object_specific(void *obj, const H5VL_loc_params_t *where, H5VL_object_specific_args_t *args, hid_t dxpl,
                              void **req)
{
	struct vol *v = obj;
	bool flush = vol_wants(H5_OBJECTS) && args->op_type == H5VL_OBJECT_FLUSH;
	struct h5_obj *o = flush ? vol_obj(v, dxpl) : NULL;
	hid_t id = v->id; /* a refresh closes the object, and opens another */
	int64_t t = begin_object_call(flush);
	herr_t r =
	    PASS_UNLESS(args->op_type == H5VL_OBJECT_VISIT, H5(H5VLobject_specific)(v->under, where, id, args, dxpl, req));
	vol_asked(req, id);
	if (flush)
		h5_did(o, H5_FLUSH, r >= 0, t, h5_now());
	return r;
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t object_optional(void *obj, const H5VL_loc_params_t *where, H5VL_optional_args_t *args, hid_t dxpl,
                              void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLobject_optional)(v->under, where, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	return r;
}

/* ---- links ---- */

/* The name by which a call names an object. NULL where the place is not told by a name. */
static const char *location_name(const H5VL_loc_params_t *where)
{
	return where && where->type == H5VL_OBJECT_BY_NAME ? where->loc_data.loc_by_name.name : NULL;
}

/* What a link to another file says: a byte, file and path, each with NUL. */
static void linked_out(struct vol *v, const char *name, const char *says, size_t n, hid_t dxpl)
{
	const char *end = n > 1 ? memchr(says + 1, '\0', n - 1) : NULL;
	if (end && memchr(end + 1, '\0', n - (size_t)(end + 1 - says)))
		h5_linked_out(vol_obj(v, dxpl), name, TERM_nameop_link, NULL, says + 1, end + 1);
}

/* Makes the link and notes the new name, and where a soft or external one leads to. Negative if it failed. */
static herr_t link_create(H5VL_link_create_args_t *args, void *obj, const H5VL_loc_params_t *where, hid_t link,
                          hid_t access, hid_t dxpl, void **req)
{
	struct vol *v = obj, *to = NULL;
	H5VL_link_create_args_t mine = *args;
	struct h5_obj *o = NULL;
	if (args->op_type == H5VL_LINK_CREATE_HARD) {
		to = args->args.hard.curr_obj;
		mine.args.hard.curr_obj = UNDER(to);
		/* H5L_SAME_LOC: one of the two is not said. */
		o = vol_on() && h5_names(vol_lib) ? vol_at(to ? to : v, &args->args.hard.curr_loc_params, dxpl) : NULL;
	}
	hid_t id = v ? v->id : to ? to->id : vol_native();
	herr_t r = PASS(H5(H5VLlink_create)(&mine, UNDER(v), where, id, link, access, dxpl, req));
	vol_asked(req, id);
	if (r >= 0 && v && args->op_type == H5VL_LINK_CREATE_SOFT && location_name(where) && vol_wants(H5_LINK)) {
		h5_renamed(vol_at(v, where, dxpl), TERM_nameop_link, vol_obj(v, dxpl), location_name(where), NULL, NULL);
		h5_soft_linked(vol_obj(v, dxpl), location_name(where), TERM_nameop_link);
	}
	if (r >= 0 && v && args->op_type == H5VL_LINK_CREATE_UD && args->args.ud.type == H5L_TYPE_EXTERNAL &&
	    location_name(where) && vol_wants(H5_LINK))
		linked_out(v, location_name(where), args->args.ud.buf, args->args.ud.buf_size, dxpl);
	if (r >= 0 && o && (!*o->name || vol_sees(H5_LINK)))
		h5_renamed(o, TERM_nameop_link, vol_obj(v ? v : to, dxpl), location_name(where), NULL, NULL);
	return r;
}

/* A move, or a copy of a link. Names of attributes are asked for before the move. */
static herr_t link_moves(bool moves, void *a, const H5VL_loc_params_t *from, void *b, const H5VL_loc_params_t *to,
                         hid_t link, hid_t access, hid_t dxpl, void **req)
{
	struct vol *va = a, *vb = b, *at = va ? va : vb;
	bool on = vol_sees(H5_LINK);
	const bool soft = on && vol_soft(at, from, dxpl) && location_name(to);
	struct h5_obj *o = on ? vol_at(at, from, dxpl) : NULL;
	if (on && moves)
		vol_attributes(at, from, o, dxpl);
	hid_t id = at ? at->id : vol_native();
	int64_t t = begin_object_call(on);
	herr_t r = PASS(
	    (moves ? H5(H5VLlink_move) : H5(H5VLlink_copy))(UNDER(va), from, UNDER(vb), to, id, link, access, dxpl, req));
	vol_asked(req, id);
	if (r >= 0 && on && moves)
		h5_did(o, H5_RENAME, true, t, h5_now());
	if (r >= 0 && on)
		h5_renamed(o, moves ? TERM_nameop_rename : TERM_nameop_link, vol_obj(vb ? vb : va, dxpl), location_name(to),
		           vol_obj(at, dxpl), moves ? location_name(from) : NULL);
	if (r >= 0 && soft && moves)
		h5_soft_linked(vol_obj(at, dxpl), location_name(from), TERM_nameop_unlink);
	if (r >= 0 && soft)
		h5_soft_linked(vol_obj(vb ? vb : va, dxpl), location_name(to), TERM_nameop_link);
	return r;
}

/* Copies a link, and notes that. Called by HDF5. */
static herr_t link_copy(void *a, const H5VL_loc_params_t *from, void *b, const H5VL_loc_params_t *to, hid_t link,
                        hid_t access, hid_t dxpl, void **req)
{
	return link_moves(false, a, from, b, to, link, access, dxpl, req);
}

/* Moves a link, and notes that. Called by HDF5. */
static herr_t link_move(void *a, const H5VL_loc_params_t *from, void *b, const H5VL_loc_params_t *to, hid_t link,
                        hid_t access, hid_t dxpl, void **req)
{
	return link_moves(true, a, from, b, to, link, access, dxpl, req);
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t link_get(void *obj, const H5VL_loc_params_t *where, H5VL_link_get_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLlink_get)(v->under, where, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	return r;
}

/* A link that is deleted loses its name, and what it led to is asked for before. */
static herr_t link_specific(void *obj, const H5VL_loc_params_t *where, H5VL_link_specific_args_t *args, hid_t dxpl,
                            void **req)
{
	struct vol *v = obj;
	char room[H5_NAME_MAX];
	const char *name = args->op_type == H5VL_LINK_DELETE && vol_sees(H5_LINK) ? location_name(where) : NULL;
	H5VL_loc_params_t at = *where;
	if (args->op_type == H5VL_LINK_DELETE && where->type == H5VL_OBJECT_BY_IDX && vol_sees(H5_LINK) &&
	    vol_name_at(v, where, dxpl, room, sizeof(room))) {
		name = room;
		at.type = H5VL_OBJECT_BY_NAME;
		at.loc_data.loc_by_name.name = room;
		at.loc_data.loc_by_name.lapl_id = where->loc_data.loc_by_idx.lapl_id;
	}
	const bool soft = name && vol_soft(v, &at, dxpl);
	struct h5_obj *o = name ? vol_at(v, &at, dxpl) : NULL;
	int64_t t = name ? h5_now() : 0;
	herr_t r =
	    PASS_UNLESS(args->op_type == H5VL_LINK_ITER, H5(H5VLlink_specific)(v->under, where, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	if (name && r >= 0) {
		h5_did(o, H5_DELETE, true, t, h5_now());
		h5_renamed(o, TERM_nameop_unlink, vol_obj(v, dxpl), name, NULL, NULL);
		if (!o) /* perhaps a link to another file, which nobody followed */
			h5_linked_out(vol_obj(v, dxpl), name, TERM_nameop_unlink, NULL, "", "");
		if (soft)
			h5_soft_linked(vol_obj(v, dxpl), name, TERM_nameop_unlink);
	}
	return r;
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t link_optional(void *obj, const H5VL_loc_params_t *where, H5VL_optional_args_t *args, hid_t dxpl,
                            void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLlink_optional)(v->under, where, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	return r;
}

const H5VL_file_class_t vol_file = {file_create, file_open, get_file, file_specific, file_optional, file_close};
const H5VL_group_class_t vol_group = {group_create, group_open, group_get, group_specific, group_optional, group_close};
const H5VL_datatype_class_t vol_datatype = {datatype_commit,   datatype_open,     datatype_get,
                                            datatype_specific, datatype_optional, datatype_close};
const H5VL_link_class_t vol_link = {link_create, link_copy, link_move, link_get, link_specific, link_optional};
const H5VL_object_class_t vol_object = {object_open, object_copy, object_get, object_specific, object_optional};
