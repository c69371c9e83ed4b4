/* What an object of HDF5 is, asked of the connector under ours. */
#include "capture/hdf5/vol/vol.h"

#include "event/event.h"

#include <string.h>

/* Says "the object itself" to the library. */
static H5VL_loc_params_t self_of(const struct vol *v)
{
	return (H5VL_loc_params_t){.obj_type = v->type, .type = H5VL_OBJECT_BY_SELF};
}

/* Which file it is in, where in that, and of which type. False: the connector below cannot say. */
static bool ask_object(const struct vol *v, hid_t dxpl, unsigned long *ret_fileno, uint64_t *ret_addr, int *ret_type)
{
	H5VL_loc_params_t self = self_of(v);
	H5O_info2_t info;
	memset(&info, 0, sizeof(info));
	H5VL_object_get_args_t args = {.op_type = H5VL_OBJECT_GET_INFO,
	                               .args.get_info = {.fields = H5O_INFO_BASIC, .oinfo = &info}};
	if (H5(H5VLobject_get)(v->under, &self, v->id, &args, dxpl, NULL) < 0)
		return false;
	*ret_fileno = info.fileno;
	memcpy(ret_addr, &info.token, sizeof(*ret_addr));
	*ret_type = (int)info.type;
	return true;
}

/* Its path; the length, 0 where it has none. What does not fit is cut. */
static size_t ask_name(const struct vol *v, hid_t dxpl, char *room, size_t n)
{
	H5VL_loc_params_t self = self_of(v);
	size_t len = 0;
	H5VL_object_get_args_t args = {.op_type = H5VL_OBJECT_GET_NAME,
	                               .args.get_name = {.buf_size = n, .buf = room, .name_len = &len}};
	room[0] = '\0';
	if (H5(H5VLobject_get)(v->under, &self, v->id, &args, dxpl, NULL) < 0)
		len = 0;
	len = len < n ? len : n - 1;
	room[len] = '\0';
	return len;
}

/* Writes the attribute's name into room; gives its length. 0: it has none, or it does not fit with its NUL. */
static size_t ask_attribute(const struct vol *v, hid_t dxpl, char *room, size_t n)
{
	size_t len = 0;
	H5VL_attr_get_args_t args = {
	    .op_type = H5VL_ATTR_GET_NAME,
	    .args.get_name = {.loc_params = self_of(v), .buf_size = n, .buf = room, .attr_name_len = &len}};
	if (H5(H5VLattr_get)(v->under, v->id, &args, dxpl, NULL) < 0)
		return 0;
	return len < n ? len : 0;
}

/* The file with that number of HDF5. NULL: the file's name cannot be found out. */
static struct h5_open *find_or_add_vol_file(const struct vol *v, hid_t dxpl, unsigned long fileno)
{
	struct h5_open *f = h5_file_find(vol_lib, fileno);
	char name[H5_NAME_MAX];
	size_t len = 0;
	if (f)
		return f;
	H5VL_file_get_args_t args = {
	    .op_type = H5VL_FILE_GET_NAME,
	    .args.get_name = {.type = v->type, .buf_size = sizeof(name), .buf = name, .file_name_len = &len}};
	if (H5(H5VLfile_get)(v->under, v->id, &args, dxpl, NULL) < 0 || !len || len >= sizeof(name))
		return NULL;
	name[len] = '\0';
	return h5_file_add(vol_lib, fileno, name, false); /* opened by an external link, or before a fork */
}

/* Finds out which object a handle of the connector leads to. made: it was made just now, by that name. NULL: it
 * cannot be told. */
static struct h5_obj *resolve_vol_object(const struct vol *v, bool made, hid_t dxpl)
{
	static const unsigned kinds[] = {TERM_kind_group, TERM_kind_dataset, TERM_kind_datatype};
	char path[H5_NAME_MAX + 1], attr[H5_NAME_MAX];
	unsigned long fileno;
	uint64_t addr;
	int type;
	struct h5_obj *o = NULL;
	if (!ask_object(v, dxpl, &fileno, &addr, &type) || type < 0 || type > 2)
		return NULL;
	struct h5_open *f = find_or_add_vol_file(v, dxpl, fileno);
	if (!f)
		return NULL;
	size_t n = ask_name(v, dxpl, path, sizeof(path)), nattr = 0;
	if (v->type != H5I_ATTR) {
		o = h5_object_add(f, addr, kinds[type], path, n, NULL, 0);
		if (made)
			h5_object_made(o, path, n);
	} else if ((nattr = ask_attribute(v, dxpl, attr, sizeof(attr)))) {
		o = h5_object_add(f, addr, TERM_kind_attribute, path, n, attr, nattr);
	}
	return o;
}

/* Sets v->o, NULL where it cannot be told, as of the epoch. Asks the library without observing that. */
static void find_vol_object(struct vol *v, bool made, uint64_t epoch, hid_t dxpl)
{
	struct h5_quiet q;
	h5_hush(vol_lib, &q);
	v->o = resolve_vol_object(v, made, dxpl);
	h5_unhush(vol_lib, &q);
	v->epoch = epoch;
}

struct h5_obj *vol_obj(struct vol *v, hid_t dxpl)
{
	if (!v)
		return NULL;
	uint64_t epoch = h5_epoch();
	if (v->epoch != epoch)
		find_vol_object(v, false, epoch, dxpl);
	return v->o;
}

struct place {
	const struct vol *v;
	const H5VL_loc_params_t *where;
	hid_t dxpl;
};

/* Asks the connector below about a link. args: filled with what it asks for. */
static bool get_link(const struct place *p, const char *name, H5VL_link_get_args_t *args)
{
	H5VL_loc_params_t where = *p->where;
	where.loc_data.loc_by_name.name = name;
	return H5(H5VLlink_get)(p->v->under, &where, p->v->id, args, p->dxpl, NULL) >= 0;
}

/* One of H5L_type_t; -1: there is no such link. */
static int get_link_type(void *at, const char *name)
{
	H5L_info2_t info;
	memset(&info, 0, sizeof(info));
	H5VL_link_get_args_t args = {.op_type = H5VL_LINK_GET_INFO, .args.get_info = {.linfo = &info}};
	return get_link(at, name, &args) ? (int)info.type : -1;
}

/* The target of a symbolic link, cut to n. */
static bool get_link_value(void *at, const char *name, char *room, size_t n)
{
	H5VL_link_get_args_t args = {.op_type = H5VL_LINK_GET_VAL, .args.get_val = {.buf_size = n, .buf = room}};
	return get_link(at, name, &args);
}

/* Does a link lead to another file? To follow it would open that. */
static bool external(const struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl)
{
	struct place at = {.v = v, .where = where, .dxpl = dxpl};
	struct h5_links links = {.type = get_link_type, .value = get_link_value, .at = &at};
	struct h5_quiet q;
	h5_hush(vol_lib, &q);
	bool out = h5_leads_out(&links, where->loc_data.loc_by_name.name);
	h5_unhush(vol_lib, &q);
	return out;
}

bool vol_soft(const struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl)
{
	struct place at = {.v = v, .where = where, .dxpl = dxpl};
	struct h5_quiet q;
	if (!v || where->type != H5VL_OBJECT_BY_NAME)
		return false;
	h5_hush(vol_lib, &q);
	const bool soft = get_link_type(&at, where->loc_data.loc_by_name.name) == H5L_TYPE_SOFT;
	h5_unhush(vol_lib, &q);
	return soft;
}

/* How an object is looked at: it may be known; it was made just now; what a dataset is like is asked, too. */
enum { LOOK = 0, LOOK_MADE = 1, LOOK_SHAPE = 2 };
/* The object that `where` leads to, without following links out of the file. NULL: nobody knows. */
static struct h5_obj *find_object_at(struct vol *v, const H5VL_loc_params_t *where, unsigned look, hid_t dxpl)
{
	H5I_type_t type = H5I_BADID;
	struct h5_obj *o = NULL;
	struct h5_quiet q;
	if (!v || where->type == H5VL_OBJECT_BY_SELF)
		return vol_obj(v, dxpl);
	if (where->type == H5VL_OBJECT_BY_NAME && external(v, where, dxpl))
		return NULL;
	h5_hush(vol_lib, &q);
	struct vol at = {
	    .under = H5(H5VLobject_open)(v->under, where, v->id, &type, dxpl, NULL), .id = v->id, .type = type};
	if (at.under) {
		o = resolve_vol_object(&at, look & LOOK_MADE, dxpl);
		if (look & LOOK_SHAPE && type == H5I_DATASET)
			vol_shape(&at, o, dxpl);
		if (type == H5I_GROUP)
			H5(H5VLgroup_close)(at.under, at.id, dxpl, NULL);
		else if (type == H5I_DATASET)
			H5(H5VLdataset_close)(at.under, at.id, dxpl, NULL);
		else if (type == H5I_DATATYPE)
			H5(H5VLdatatype_close)(at.under, at.id, dxpl, NULL);
	}
	h5_unhush(vol_lib, &q);
	return o;
}

struct h5_obj *vol_at(struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl)
{
	return find_object_at(v, where, LOOK, dxpl);
}

size_t vol_name_at(struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl, char *room, size_t n)
{
	const char *group = where->loc_data.loc_by_idx.name;
	size_t at = group ? strlen(group) : 0, len = 0;
	struct h5_quiet q;
	if (!v || where->type != H5VL_OBJECT_BY_IDX || !at || at + 2 > n)
		return 0;
	memcpy(room, group, at);
	room[at++] = '/';
	H5VL_link_get_args_t args = {.op_type = H5VL_LINK_GET_NAME,
	                             .args.get_name = {.name_size = n - at, .name = room + at, .name_len = &len}};
	h5_hush(vol_lib, &q);
	bool ok = H5(H5VLlink_get)(v->under, where, v->id, &args, dxpl, NULL) >= 0;
	h5_unhush(vol_lib, &q);
	return ok && len && len < n - at ? at + len : 0;
}

/* The name of the n-th attribute of the object at a name; false: there is none. */
static bool attribute_at(struct vol *v, const H5VL_loc_params_t *where, hsize_t n, hid_t dxpl, char *room, size_t size)
{
	size_t len = 0;
	H5VL_attr_get_args_t args = {
	    .op_type = H5VL_ATTR_GET_NAME,
	    .args.get_name = {.loc_params = {.obj_type = v->type,
	                                     .type = H5VL_OBJECT_BY_IDX,
	                                     .loc_data.loc_by_idx = {.name = where->loc_data.loc_by_name.name,
	                                                             .idx_type = H5_INDEX_NAME,
	                                                             .order = H5_ITER_INC,
	                                                             .n = n,
	                                                             .lapl_id = where->loc_data.loc_by_name.lapl_id}},
	                      .buf_size = size,
	                      .buf = room,
	                      .attr_name_len = &len}};
	return H5(H5VLattr_get)(v->under, v->id, &args, dxpl, NULL) >= 0 && len && len < size;
}

bool vol_copied(struct vol *from_at, const H5VL_loc_params_t *from_where, struct vol *to_at,
                const H5VL_loc_params_t *to_where, int64_t t, hid_t dxpl)
{
	char name[H5_NAME_MAX];
	struct h5_quiet q;
	hsize_t n = 0;
	const int64_t end = h5_now();
	struct h5_obj *from = find_object_at(from_at, from_where, LOOK_SHAPE, dxpl),
	              *to = find_object_at(to_at, to_where, LOOK_MADE | LOOK_SHAPE, dxpl);
	if (!from || !to || from->kind != to->kind)
		return false;
	h5_copied(from, to, t, end);
	if (!(h5_classes & H5_ATTRIBUTE))
		return to->kind != TERM_kind_group;
	h5_hush(vol_lib, &q);
	for (; n < H5_ATTRIBUTES_MAX && attribute_at(to_at, to_where, n, dxpl, name, sizeof(name)); n++) {
		struct h5_obj *a = h5_attribute_of(from, name), *b = h5_attribute_of(to, name);
		if (!a || !b)
			break;
		h5_attribute_made(b);
		h5_copied(a, b, t, end);
	}
	h5_unhush(vol_lib, &q);
	if (n == H5_ATTRIBUTES_MAX)
		h5_gap("an object was copied with many attributes: some of them are unknown");
	return to->kind != TERM_kind_group; /* what lies in it is not gone through */
}

void vol_attributes(struct vol *v, const H5VL_loc_params_t *where, struct h5_obj *o, hid_t dxpl)
{
	char name[H5_NAME_MAX];
	struct h5_quiet q;
	hsize_t n = 0;
	if (!v || !o || where->type != H5VL_OBJECT_BY_NAME || !(h5_classes & H5_ATTRIBUTE))
		return;
	h5_hush(vol_lib, &q);
	while (n < H5_ATTRIBUTES_MAX && attribute_at(v, where, n, dxpl, name, sizeof(name)) && h5_attribute_of(o, name))
		n++;
	h5_unhush(vol_lib, &q);
	if (n == H5_ATTRIBUTES_MAX)
		h5_gap("an object with many attributes was moved: some of them keep the old name");
}

/* HDF5's own connector tells where a dataset lies that is in one piece, without a list made for it. */
static const char *lies_elsewhere(const struct vol *v, hid_t dxpl)
{
	haddr_t offset = HADDR_UNDEF;
	H5VL_native_dataset_optional_args_t native = {.get_offset = {.offset = &offset}};
	H5VL_optional_args_t of_offset = {.op_type = H5VL_NATIVE_DATASET_GET_OFFSET, .args = &native};
	H5VL_dataset_get_args_t of_list = {.op_type = H5VL_DATASET_GET_DCPL};
	if (v->id == vol_native() && H5(H5VLdataset_optional)(v->under, v->id, &of_offset, dxpl, NULL) >= 0 &&
	    offset != HADDR_UNDEF)
		return NULL;
	return H5(H5VLdataset_get)(v->under, v->id, &of_list, dxpl, NULL) >= 0
	           ? h5_ask_layout(vol_lib, of_list.args.get_dcpl.dcpl_id)
	           : NULL;
}

/* Asks for the shape, once. Data in other files is a gap. */
void vol_shape(struct vol *v, struct h5_obj *o, hid_t dxpl)
{
	hsize_t dims[H5_RANK_MAX], most[H5_RANK_MAX];
	hid_t space = -1, type = -1;
	const char *elsewhere = NULL;
	struct h5_quiet q;
	if (!o || o->shaped)
		return;
	h5_hush(vol_lib, &q);
	if (v->type == H5I_ATTR) {
		H5VL_attr_get_args_t of_space = {.op_type = H5VL_ATTR_GET_SPACE}, of_type = {.op_type = H5VL_ATTR_GET_TYPE};
		if (H5(H5VLattr_get)(v->under, v->id, &of_space, dxpl, NULL) >= 0)
			space = of_space.args.get_space.space_id;
		if (H5(H5VLattr_get)(v->under, v->id, &of_type, dxpl, NULL) >= 0)
			type = of_type.args.get_type.type_id;
	} else {
		H5VL_dataset_get_args_t of_space = {.op_type = H5VL_DATASET_GET_SPACE},
		                        of_type = {.op_type = H5VL_DATASET_GET_TYPE};
		elsewhere = lies_elsewhere(v, dxpl);
		o->elsewhere = elsewhere != NULL;
		/* A virtual dataset would take another extent than the program knows (h5_parts.c). */
		if (!h5_is_virtual(elsewhere) && H5(H5VLdataset_get)(v->under, v->id, &of_space, dxpl, NULL) >= 0)
			space = of_space.args.get_space.space_id;
		if (H5(H5VLdataset_get)(v->under, v->id, &of_type, dxpl, NULL) >= 0)
			type = of_type.args.get_type.type_id;
	}
	bool ok = h5_ask_space(vol_lib, space, type, o, dims, most);
	h5_unhush(vol_lib, &q);
	h5_shape_is(o, ok, dims, most);
	if (elsewhere)
		h5_gap(elsewhere);
}

void vol_opened(struct vol *v, enum h5_few_op op, int64_t t, hid_t dxpl)
{
	int64_t end = h5_now();
	find_vol_object(v, op == H5_CREATE, h5_epoch(), dxpl);
	h5_did(v->o, op, true, t, end);
}

void vol_followed(struct vol *at, const H5VL_loc_params_t *where, const char *name, struct vol *v, hid_t dxpl)
{
	if (!v || !(h5_classes & H5_LINK))
		return;
	if (where->type == H5VL_OBJECT_BY_NAME)
		name = where->loc_data.loc_by_name.name;
	else if (where->type != H5VL_OBJECT_BY_SELF)
		name = NULL;
	if (name)
		h5_followed(vol_obj(v, dxpl), vol_obj(at, dxpl), name);
}

/* t: when the call began; made: it was created. */
void vol_file_opened(struct vol *v, const char *name, bool made, int64_t t, hid_t dxpl)
{
	unsigned long fileno;
	uint64_t addr;
	int type;
	struct h5_quiet q;
	h5_hush(vol_lib, &q);
	bool there = ask_object(v, dxpl, &fileno, &addr, &type);
	struct h5_open *f = there ? h5_file_add(vol_lib, fileno, name, made) : NULL;
	v->o = f ? h5_object_add(f, addr, TERM_kind_group, "/", 1, NULL, 0) : NULL;
	h5_unhush(vol_lib, &q);
	v->epoch = h5_epoch();
	if (f)
		__atomic_add_fetch(&f->ids, 1, __ATOMIC_RELAXED);
	h5_did(v->o, made ? H5_CREATE : H5_OPEN, true, t, h5_now());
}

struct h5_obj *vol_attribute(struct vol *v, const H5VL_loc_params_t *where, const char *name, hid_t dxpl)
{
	/* Asked of the attribute, the path is that of the place that the name began at. */
	bool said = where->type == H5VL_OBJECT_BY_SELF || where->type == H5VL_OBJECT_BY_NAME;
	return said ? h5_attribute_of(vol_at(v, where, dxpl), name) : NULL;
}
