/* The functions that move data of datasets and attributes. */
#include "capture/hdf5/h5_buffers.h"

#include "event/event.h"

#define CALLER __builtin_return_address(0)

/* Begins a read or write: *ret_bytes how much will move, *ret_t when it began. NULL where the object is not known or
 * not wanted. */
static struct h5_obj *data_begin(struct h5_lib *l, hid_t id, hid_t type, hid_t space, bool write, uint64_t *ret_bytes,
                                 int64_t *ret_t)
{
	struct h5_obj *o = h5_obj_of(l, id, TERM_kind_dataset);
	h5_shape_of(l, o, id);
	*ret_bytes = h5_data_begin(l, o, type, space, write, ret_t);
	return o;
}

#define DATA(name, write, args, call, id, type, space, last)                                                           \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		if (!h5_sees(l, H5_DATASET))                                                                                   \
			return real call;                                                                                          \
		uint64_t bytes;                                                                                                \
		int64_t t;                                                                                                     \
		struct h5_obj *o = data_begin(l, id, type, space, write, &bytes, &t);                                          \
		herr_t r = real call;                                                                                          \
		h5_end(o, write, r >= 0, bytes, t, h5_now());                                                                  \
		last;                                                                                                          \
		return r;                                                                                                      \
	}

/* What memory holds after the call. */
static void data_moved(struct h5_lib *l, struct h5_obj *o, bool write, herr_t r, const struct h5_moved *m)
{
	if (r < 0 && !write)
		h5_buffers_forget();
	else if (r >= 0)
		(write ? h5_buffer_written : h5_buffer_filled)(l, o, m);
}
#define MOVED(write) data_moved(l, o, write, r, &(struct h5_moved){id, type, mem, space, buf})

DATA(H5Dread, false, (hid_t id, hid_t type, hid_t mem, hid_t space, hid_t plist, void *buf),
     (id, type, mem, space, plist, buf), id, type, space, MOVED(false))
DATA(H5Dwrite, true, (hid_t id, hid_t type, hid_t mem, hid_t space, hid_t plist, const void *buf),
     (id, type, mem, space, plist, buf), id, type, space, MOVED(true))

DATA(H5Dread_async, false, (H5_APP, hid_t id, hid_t type, hid_t mem, hid_t space, hid_t plist, void *buf, hid_t es),
     (H5_AP, id, type, mem, space, plist, buf, es), id, type, space, h5_buffers_forget())
DATA(H5Dwrite_async, true,
     (H5_APP, hid_t id, hid_t type, hid_t mem, hid_t space, hid_t plist, const void *buf, hid_t es),
     (H5_AP, id, type, mem, space, plist, buf, es), id, type, space, (void)0)

/* Several datasets in one call (1.14). Of more than these the bytes are not known, but where all of a dataset moves. */
#define SEVERAL 16

#define MULTI(name, write, args, call)                                                                                 \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		if (!h5_sees(l, H5_DATASET) || !id || !type || !space)                                                         \
			return real call;                                                                                          \
		uint64_t bytes[SEVERAL], more;                                                                                 \
		int64_t t = 0;                                                                                                 \
		for (size_t i = 0; i < n; i++)                                                                                 \
			data_begin(l, id[i], type[i], space[i], write, i < SEVERAL ? &bytes[i] : &more, &t);                       \
		herr_t r = real call;                                                                                          \
		int64_t end = h5_now();                                                                                        \
		if (!write)                                                                                                    \
			h5_buffers_forget();                                                                                       \
		for (size_t i = 0; i < n; i++) {                                                                               \
			struct h5_obj *o = h5_obj_of(l, id[i], TERM_kind_dataset);                                                 \
			more = o && !o->elsewhere && space[i] == H5S_ALL ? o->size * o->elements : H5_BYTES_UNKNOWN;               \
			/* What a call of several took is shared out. */                                                           \
			h5_end(o, write, r >= 0, i < SEVERAL ? bytes[i] : more, end - (end - t) / (int64_t)n, end);                \
		}                                                                                                              \
		return r;                                                                                                      \
	}
MULTI(H5Dread_multi, false, (size_t n, hid_t id[], hid_t type[], hid_t mem[], hid_t space[], hid_t plist, void *buf[]),
      (n, id, type, mem, space, plist, buf))
MULTI(H5Dwrite_multi, true,
      (size_t n, hid_t id[], hid_t type[], hid_t mem[], hid_t space[], hid_t plist, const void *buf[]),
      (n, id, type, mem, space, plist, buf))
MULTI(H5Dread_multi_async, false,
      (H5_APP, size_t n, hid_t id[], hid_t type[], hid_t mem[], hid_t space[], hid_t plist, void *buf[], hid_t es),
      (H5_AP, n, id, type, mem, space, plist, buf, es))
MULTI(H5Dwrite_multi_async, true,
      (H5_APP, size_t n, hid_t id[], hid_t type[], hid_t mem[], hid_t space[], hid_t plist, const void *buf[],
       hid_t es),
      (H5_AP, n, id, type, mem, space, plist, buf, es))

/* Chunks as they are in the file: which elements is said by the offset, and the chunk's shape. */
static struct h5_obj *chunk_begin(struct h5_lib *l, hid_t id, bool write, int64_t *ret_t)
{
	struct h5_obj *o = h5_obj_of(l, id, TERM_kind_dataset);
	*ret_t = h5_now();
	h5_begin(o, write, *ret_t);
	return o;
}

EXPORT herr_t H5Dread_chunk(hid_t id, hid_t plist, const hsize_t *offset, uint32_t *filters, void *buf);
/* In the place of HDF5's. How many bytes it moves nobody knows. */
EXPORT herr_t H5Dread_chunk(hid_t id, hid_t plist, const hsize_t *offset, uint32_t *filters, void *buf)
{
	struct h5_lib *l = h5_lib_of(CALLER);
	herr_t (*real)(hid_t, hid_t, const hsize_t *, uint32_t *, void *) =
	    l ? H5CALL(l, H5Dread_chunk, herr_t(*)(hid_t, hid_t, const hsize_t *, uint32_t *, void *)) : NULL;
	if (!real)
		return -1;
	int64_t t = 0;
	struct h5_obj *o = h5_sees(l, H5_DATASET) ? chunk_begin(l, id, false, &t) : NULL;
	herr_t r = real(id, plist, offset, filters, buf);
	h5_buffers_forget();
	h5_end(o, false, r >= 0, H5_BYTES_UNKNOWN, t, o ? h5_now() : t);
	return r;
}

EXPORT herr_t H5Dwrite_chunk(hid_t id, hid_t plist, uint32_t filters, const hsize_t *offset, size_t n, const void *buf);
/* In the place of HDF5's. */
EXPORT herr_t H5Dwrite_chunk(hid_t id, hid_t plist, uint32_t filters, const hsize_t *offset, size_t n, const void *buf)
{
	struct h5_lib *l = h5_lib_of(CALLER);
	herr_t (*real)(hid_t, hid_t, uint32_t, const hsize_t *, size_t, const void *) =
	    l ? H5CALL(l, H5Dwrite_chunk, herr_t(*)(hid_t, hid_t, uint32_t, const hsize_t *, size_t, const void *)) : NULL;
	if (!real)
		return -1;
	int64_t t = 0;
	struct h5_obj *o = h5_sees(l, H5_DATASET) ? chunk_begin(l, id, true, &t) : NULL;
	herr_t r = real(id, plist, filters, offset, n, buf);
	h5_end(o, true, r >= 0, n, t, o ? h5_now() : t);
	return r;
}

#define EXTENT(name, args, call)                                                                                       \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		struct h5_obj *o = h5_sees(l, H5_DATASET) ? h5_obj_of(l, id, TERM_kind_dataset) : NULL;                        \
		int64_t t = o ? h5_extent_begin(o) : 0;                                                                        \
		herr_t r = real call;                                                                                          \
		h5_extent_end(o, r >= 0, t);                                                                                   \
		return r;                                                                                                      \
	}
EXTENT(H5Dset_extent, (hid_t id, const hsize_t *size), (id, size))
EXTENT(H5Dextend, (hid_t id, const hsize_t *size), (id, size))
EXTENT(H5Dset_extent_async, (H5_APP, hid_t id, const hsize_t *size, hid_t es), (H5_AP, id, size, es))

static struct h5_obj *attribute_begin(struct h5_lib *l, hid_t id, bool write, int64_t *ret_t)
{
	struct h5_obj *o = h5_obj_of(l, id, TERM_kind_attribute);
	if (o && o->kind != TERM_kind_attribute)
		o = NULL;
	h5_shape_of(l, o, id);
	h5_attribute_begin(o, write, ret_t);
	return o;
}

#define ATTRIBUTE(name, write, args, call)                                                                             \
	EXPORT herr_t name args;                                                                                           \
	EXPORT herr_t name args                                                                                            \
	{                                                                                                                  \
		struct h5_lib *l = h5_lib_of(CALLER);                                                                          \
		herr_t(*real) args = l ? H5CALL(l, name, herr_t(*) args) : NULL;                                               \
		if (!real)                                                                                                     \
			return -1;                                                                                                 \
		if (!h5_sees(l, H5_ATTRIBUTE))                                                                                 \
			return real call;                                                                                          \
		int64_t t;                                                                                                     \
		struct h5_obj *o = attribute_begin(l, id, write, &t);                                                          \
		herr_t r = real call;                                                                                          \
		h5_end(o, write, r >= 0, o ? o->size * o->elements : 0, t, h5_now());                                          \
		return r;                                                                                                      \
	}
ATTRIBUTE(H5Aread, false, (hid_t id, hid_t type, void *buf), (id, type, buf))
ATTRIBUTE(H5Awrite, true, (hid_t id, hid_t type, const void *buf), (id, type, buf))
ATTRIBUTE(H5Aread_async, false, (H5_APP, hid_t id, hid_t type, void *buf, hid_t es), (H5_AP, id, type, buf, es))
ATTRIBUTE(H5Awrite_async, true, (H5_APP, hid_t id, hid_t type, const void *buf, hid_t es), (H5_AP, id, type, buf, es))
