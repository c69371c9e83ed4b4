/* Datasets and attributes. */
#include "capture/hdf5/vol/vol.h"

#include "event/event.h"

#include <stdlib.h>

#define FEW 8 /* datasets of one call that need no memory of their own */

/* ns; 0 where nothing is to be noted. */
static int64_t begin_data_call(bool notes)
{
	return notes ? h5_now() : 0;
}

/* ---- datasets ---- */

/* HDF5's callback, as all in this file: passes the call on, and notes what it did. NULL: it failed. */
static void *dataset_create(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t link, hid_t type,
                            hid_t space, hid_t make, hid_t access, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = begin_data_call(vol_sees(H5_DATASET));
	struct vol *d = vol_wrap(
	    PASS_OBJ(H5(H5VLdataset_create)(v->under, where, v->id, name, link, type, space, make, access, dxpl, req)),
	    v->id, H5I_DATASET);
	vol_asked(req, v->id);
	if (d && t)
		vol_opened(d, H5_CREATE, t, dxpl);
	return d;
}

/* A wrapped object that the library closes; NULL if it failed. Notes that it was opened, and by which path. */
static void *dataset_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t dxpl,
                          void **req)
{
	struct vol *v = obj;
	int64_t t = begin_data_call(vol_wants(H5_DATASET));
	struct vol *d =
	    vol_wrap(PASS_OBJ(H5(H5VLdataset_open)(v->under, where, v->id, name, access, dxpl, req)), v->id, H5I_DATASET);
	vol_asked(req, v->id);
	if (d && t) {
		vol_opened(d, H5_OPEN, t, dxpl);
		vol_followed(v, where, name, d, dxpl);
	}
	return d;
}

/* The datasets of a call, those under ours, and what moves of each. */
struct moving {
	size_t n;
	void **under;
	uint64_t *bytes;
	void *few_under[FEW];
	uint64_t few_bytes[FEW];
	int64_t t; /* 0: nothing is noted */
};

/* Begins the reading or writing of n datasets in one call. False: no memory. Release m in any case. t is 0 where
 * nothing is noted. */
static bool moving_begin(struct moving *m, size_t n, void *v[], hid_t type[], hid_t space[], hid_t dxpl, bool write)
{
	m->n = n;
	m->t = 0;
	m->under = n <= FEW ? m->few_under : malloc(n * sizeof(*m->under));
	m->bytes = n <= FEW ? m->few_bytes : calloc(n, sizeof(*m->bytes));
	if (!m->under || !m->bytes)
		return false;
	for (size_t i = 0; i < n; i++)
		m->under[i] = ((struct vol *)v[i])->under;
	bool notes = vol_sees(H5_DATASET);
	for (size_t i = 0; i < n && notes; i++) {
		struct h5_obj *o = vol_obj(v[i], dxpl);
		vol_shape(v[i], o, dxpl);
		m->bytes[i] = h5_data_begin(vol_lib, o, type[i], space[i], write, &m->t);
	}
	return true;
}

/* What a call of several took is shared out. */
static void moving_end(struct moving *m, void *v[], bool write, bool ok, struct vol *req, hid_t dxpl)
{
	struct vol_later *l = req && ok && m->t ? malloc(sizeof(*l) + m->n * sizeof(l->of[0])) : NULL;
	int64_t end = m->t && !l ? h5_now() : 0;
	if (l)
		*l = (struct vol_later){.epoch = h5_epoch(), .t = m->t, .write = write, .n = m->n};
	for (size_t i = 0; i < m->n && m->t; i++) {
		struct h5_obj *o = vol_obj(v[i], dxpl);
		if (l) {
			l->of[i].o = o;
			l->of[i].bytes = m->bytes[i];
		} else {
			h5_end(o, write, ok, m->bytes[i], end - (end - m->t) / (int64_t)m->n, end);
		}
	}
	if (l)
		req->later = l;
	if (m->under != m->few_under)
		free(m->under);
	if (m->bytes != m->few_bytes)
		free(m->bytes);
}

/* Reads n datasets in one call and notes what moved of each. Negative if it failed. */
static herr_t dataset_read(size_t n, void *v[], hid_t type[], hid_t mem[], hid_t space[], hid_t dxpl, void *buf[],
                           void **req)
{
	struct moving m;
	herr_t r = -1;
	if (moving_begin(&m, n, v, type, space, dxpl, false))
		r = n ? PASS(H5(H5VLdataset_read)(n, m.under, ((struct vol *)v[0])->id, type, mem, space, dxpl, buf, req)) : 0;
	struct vol *later = n ? vol_asked(req, ((struct vol *)v[0])->id) : NULL;
	moving_end(&m, v, false, r >= 0, later, dxpl);
	return r;
}

/* Writes n datasets in one call and notes what moved of each. Negative if it failed. */
static herr_t dataset_write(size_t n, void *v[], hid_t type[], hid_t mem[], hid_t space[], hid_t dxpl,
                            const void *buf[], void **req)
{
	struct moving m;
	herr_t r = -1;
	if (moving_begin(&m, n, v, type, space, dxpl, true))
		r = n ? PASS(H5(H5VLdataset_write)(n, m.under, ((struct vol *)v[0])->id, type, mem, space, dxpl, buf, req)) : 0;
	struct vol *later = n ? vol_asked(req, ((struct vol *)v[0])->id) : NULL;
	moving_end(&m, v, true, r >= 0, later, dxpl);
	return r;
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t dataset_get(void *obj, H5VL_dataset_get_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLdataset_get)(v->under, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	return r;
}

/* A change of the extent and a flush are noted, all else is handed on. */
static herr_t dataset_specific(void *obj, H5VL_dataset_specific_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	bool extent = args->op_type == H5VL_DATASET_SET_EXTENT;
	bool notes = extent ? vol_sees(H5_DATASET) : args->op_type == H5VL_DATASET_FLUSH && vol_wants(H5_DATASET);
	struct h5_obj *o = notes ? vol_obj(v, dxpl) : NULL;
	hid_t id = v->id;
	int64_t t = extent && o ? h5_extent_begin(o) : begin_data_call(notes);
	herr_t r = PASS(H5(H5VLdataset_specific)(v->under, id, args, dxpl, req));
	vol_asked(req, id);
	if (extent)
		h5_extent_end(o, r >= 0, t);
	else if (o)
		h5_did(o, H5_FLUSH, r >= 0, t, h5_now());
	return r;
}

/* Chunks as they are in the file. */
static herr_t dataset_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	bool reads = args->op_type == H5VL_NATIVE_DATASET_CHUNK_READ,
	     writes = args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE;
	struct h5_obj *o = (reads || writes) && vol_sees(H5_DATASET) ? vol_obj(v, dxpl) : NULL;
	const H5VL_native_dataset_optional_args_t *native = args->args;
	int64_t t = begin_data_call(o != NULL);
	h5_begin(o, writes, t);
	herr_t r = PASS_UNLESS(args->op_type == H5VL_NATIVE_DATASET_CHUNK_ITER,
	                       H5(H5VLdataset_optional)(v->under, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	if (o)
		h5_end(o, writes, r >= 0, writes && native ? native->chunk_write.size : H5_BYTES_UNKNOWN, t, h5_now());
	return r;
}

/* The wrapper is freed if the library closed it. */
static herr_t dataset_close(void *obj, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	hid_t id = v->id;
	herr_t r = PASS(H5(H5VLdataset_close)(v->under, id, dxpl, req));
	vol_asked(req, id);
	if (r >= 0)
		vol_free(v);
	return r;
}

/* ---- attributes ---- */

/* Where the object is known, the attribute is by its name: nothing needs to be asked. */
static void *wrap_attribute(void *under, struct vol *at, const H5VL_loc_params_t *where, const char *name,
                            enum h5_few_op op, int64_t t, hid_t dxpl, void **req)
{
	struct vol *a = vol_wrap(under, at->id, H5I_ATTR);
	vol_asked(req, at->id);
	if (!a || !t)
		return a;
	int64_t end = h5_now();
	a->o = name ? vol_attribute(at, where, name, dxpl) : NULL;
	if (a->o)
		a->epoch = h5_epoch();
	if (op == H5_CREATE)
		h5_attribute_made(a->o);
	h5_did(vol_obj(a, dxpl), op, true, t, end);
	return a;
}

/* Notes that it was made. NULL if it failed. */
static void *attr_create(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t type, hid_t space,
                         hid_t make, hid_t access, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = begin_data_call(vol_sees(H5_ATTRIBUTE));
	return wrap_attribute(
	    PASS_OBJ(H5(H5VLattr_create)(v->under, where, v->id, name, type, space, make, access, dxpl, req)), v, where,
	    name, H5_CREATE, t, dxpl, req);
}

/* Notes that it was opened. NULL if it failed. */
static void *attr_open(void *obj, const H5VL_loc_params_t *where, const char *name, hid_t access, hid_t dxpl,
                       void **req)
{
	struct vol *v = obj;
	int64_t t = begin_data_call(vol_wants(H5_ATTRIBUTE));
	return wrap_attribute(PASS_OBJ(H5(H5VLattr_open)(v->under, where, v->id, name, access, dxpl, req)), v, where, name,
	                      H5_OPEN, t, dxpl, req);
}

/* Notes the begin of a read or write at *ret_t. NULL where it is not wanted, or no attribute. */
static struct h5_obj *attr_begin(struct vol *v, bool write, hid_t dxpl, int64_t *ret_t)
{
	struct h5_obj *o = vol_sees(H5_ATTRIBUTE) ? vol_obj(v, dxpl) : NULL;
	if (o && o->kind != TERM_kind_attribute)
		o = NULL;
	vol_shape(v, o, dxpl);
	if (o)
		h5_attribute_begin(o, write, ret_t);
	return o;
}

/* Ends what attr_begin began, or, with a request, when that is over. */
static void attr_end(struct h5_obj *o, bool write, bool ok, int64_t t, struct vol *req)
{
	struct vol_later *l = o && req && ok ? malloc(sizeof(*l) + sizeof(l->of[0])) : NULL;
	if (l) {
		*l = (struct vol_later){.epoch = h5_epoch(), .t = t, .write = write, .n = 1};
		l->of[0].o = o;
		l->of[0].bytes = o->size * o->elements;
		req->later = l;
	} else if (o)
		h5_end(o, write, ok, o->size * o->elements, t, h5_now());
}

/* Notes what moved. Negative if it failed. */
static herr_t attr_read(void *obj, hid_t type, void *buf, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = 0;
	struct h5_obj *o = attr_begin(v, false, dxpl, &t);
	herr_t r = PASS(H5(H5VLattr_read)(v->under, v->id, type, buf, dxpl, req));
	attr_end(o, false, r >= 0, t, vol_asked(req, v->id));
	return r;
}

/* Notes what moved. Negative if it failed. */
static herr_t attr_write(void *obj, hid_t type, const void *buf, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	int64_t t = 0;
	struct h5_obj *o = attr_begin(v, true, dxpl, &t);
	herr_t r = PASS(H5(H5VLattr_write)(v->under, v->id, type, buf, dxpl, req));
	attr_end(o, true, r >= 0, t, vol_asked(req, v->id));
	return r;
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t attr_get(void *obj, H5VL_attr_get_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	herr_t r = PASS(H5(H5VLattr_get)(v->under, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	return r;
}

/* An attribute is known by its name: under another it is another, made from the first. */
static herr_t attr_specific(void *obj, const H5VL_loc_params_t *where, H5VL_attr_specific_args_t *args, hid_t dxpl,
                            void **req)
{
	struct vol *v = obj;
	bool notes = args->op_type == H5VL_ATTR_RENAME && vol_sees(H5_ATTRIBUTE);
	bool deletes = args->op_type == H5VL_ATTR_DELETE && vol_wants(H5_ATTRIBUTE);
	struct h5_obj *owner = notes || deletes ? vol_at(v, where, dxpl) : NULL;
	struct h5_obj *from = owner && notes ? h5_attribute_of(owner, args->args.rename.old_name) : NULL;
	struct h5_obj *gone = owner && deletes ? h5_attribute_of(owner, args->args.del.name) : NULL;
	int64_t t = begin_data_call(notes || deletes);
	herr_t r =
	    PASS_UNLESS(args->op_type == H5VL_ATTR_ITER, H5(H5VLattr_specific)(v->under, where, v->id, args, dxpl, req));
	vol_asked(req, v->id);
	if (from && r >= 0)
		h5_copied(from, h5_attribute_of(owner, args->args.rename.new_name), t, h5_now());
	if (gone && r >= 0)
		h5_did(gone, H5_DELETE, true, t, h5_now());
	return r;
}

/* Handed to the connector under ours; nothing is noted. A request in *req becomes one of ours. */
static herr_t attr_optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	herr_t r = H5(H5VLattr_optional)(v->under, v->id, args, dxpl, req); /* it may be H5Aiterate1 */
	vol_asked(req, v->id);
	return r;
}

/* The wrapper is freed if the library closed it. */
static herr_t attr_close(void *obj, hid_t dxpl, void **req)
{
	struct vol *v = obj;
	hid_t id = v->id;
	herr_t r = PASS(H5(H5VLattr_close)(v->under, id, dxpl, req));
	vol_asked(req, id);
	if (r >= 0)
		vol_free(v);
	return r;
}

const H5VL_dataset_class_t vol_dataset = {dataset_create, dataset_open,     dataset_read,     dataset_write,
                                          dataset_get,    dataset_specific, dataset_optional, dataset_close};
const H5VL_attr_class_t vol_attr = {attr_create, attr_open,     attr_read,     attr_write,
                                    attr_get,    attr_specific, attr_optional, attr_close};
