/* netCDF's functions that open files, define variables and move their data. */
#include "capture/hdf5/h5_buffers.h"
#include "capture/hdf5/nc.h"

#include "capture/interpose/symbols.h"
#include "event/event.h"

#include <string.h>

#define CALLER __builtin_return_address(0)
/* Where no netCDF is found, whatever else has a function of that name. */
#define NCREAL(l, name, type) ((l) ? NCCALL(l, name, type) : (type)symbols_next_one(#name))
#define NC_EBADID (-33)
#define NC_FORMATX_NC3 1
#define NC_NAME_MAX 257 /* with the NUL */
#define NC_DIMS_MAX 1024
#define NC_ROOT 0 /* in the place of an address; a variable has its number + 1 */

enum { FILES_OPEN = 256 }; /* at a time; that others were used is a gap */

/* It has no functions: what files are known by. */
static struct h5_lib nc_as_h5 = {.known = true};

static struct nc_file {
	int id; /* netCDF's number of it, + 1; 0: free */
	struct h5_open *f;
} files[FILES_OPEN];
static uint64_t files_epoch; /* of a child of fork it is another one, and nothing of this holds */
static bool missed;          /* a file that is none of these was used, and that was said */

/* The file of netCDF's identifier nc; NULL: none is known. netCDF is not made for threads: who calls it from several
 * keeps them apart. */
static struct h5_open *file_of(int nc)
{
	if (__atomic_load_n(&files_epoch, __ATOMIC_RELAXED) != h5_epoch())
		return NULL;
	for (unsigned i = 0; i < FILES_OPEN; i++)
		if (__atomic_load_n(&files[i].id, __ATOMIC_ACQUIRE) == nc + 1)
			return files[i].f;
	return NULL;
}

/* Notes the file of netCDF's number nc. What was of before a fork is forgotten first. */
static void keep_file(int nc, struct h5_open *f)
{
	if (files_epoch != h5_epoch()) {
		memset(files, 0, sizeof(files));
		missed = false;
		files_epoch = h5_epoch();
	}
	for (unsigned i = 0; i < FILES_OPEN; i++)
		if (!files[i].id) {
			files[i].f = f;
			__atomic_store_n(&files[i].id, nc + 1, __ATOMIC_RELEASE);
			return;
		}
}

/* netCDF closed nc. Nothing if it is not known. */
static void forget_file(int nc)
{
	for (unsigned i = 0; i < FILES_OPEN && files_epoch == h5_epoch(); i++)
		if (files[i].id == nc + 1) {
			h5_file_closed(files[i].f);
			__atomic_store_n(&files[i].id, 0, __ATOMIC_RELEASE);
		}
}

/* Does netCDF keep the file by itself? HDF5 tells of the other kind. */
static bool is_classic(struct nc_lib *l, int nc)
{
	int (*format)(int, int *, int *) = NCCALL(l, nc_inq_format_extended, int (*)(int, int *, int *));
	int which = 0, mode = 0;
	return format && format(nc, &which, &mode) == 0 && which == NC_FORMATX_NC3;
}

/* A file that was opened or made. */
static void file_opened(struct nc_lib *l, int nc, const char *path, bool made, int64_t t)
{
	if (!path || !is_classic(l, nc))
		return;
	struct h5_open *f = h5_file_add(&nc_as_h5, (unsigned long)nc, path, made);
	struct h5_obj *root = f ? h5_object_add(f, NC_ROOT, TERM_kind_group, "/", 1, NULL, 0) : NULL;
	if (!root)
		return;
	__atomic_add_fetch(&f->ids, 1, __ATOMIC_RELAXED);
	keep_file(nc, f);
	h5_did(root, made ? H5_CREATE : H5_OPEN, true, t, h5_now());
	if (!made) /* it looks at the first bytes, and opens it again: one open each for those that the kernel saw */
		h5_did(root, H5_OPEN, true, t, t);
}

/* The variable; NULL: its file is not one of these. */
static struct h5_obj *variable_of(struct nc_lib *l, int nc, int var)
{
	int (*name_of)(int, int, char *) = NCCALL(l, nc_inq_varname, int (*)(int, int, char *));
	char path[NC_NAME_MAX + 1] = "/";
	struct h5_open *f = file_of(nc);
	if (!f && !missed && is_classic(l, nc)) {
		missed = true;
		h5_gap("a netCDF file was used that was open before a fork, or with many others");
	}
	if (!f || var < 0 || !name_of || name_of(nc, var, path + 1) != 0)
		return NULL;
	return h5_object_add(f, (uint64_t)var + 1, TERM_kind_dataset, path, strlen(path), NULL, 0);
}

/* ---- data ---- */

enum shape { SHAPE_var, SHAPE_var1, SHAPE_vara, SHAPE_vars, SHAPE_varm };

/* What a call moves. */
struct move {
	struct h5_obj *o; /* NULL: nothing is noted */
	bool write, whole;
	uint64_t elements, size, memory; /* of an element in the file, in memory; elements 0: not known */
	const void *p;                   /* NULL: in several pieces */
	int64_t t;
};

/* Bytes of an element of netCDF's type; 0: not known, or it has no fixed size. */
static uint64_t type_size(int type)
{
	static const uint8_t sizes[] = {
	    [1] = 1, [2] = 1, [3] = 2, [4] = 4, [5] = 4, [6] = 8, [7] = 1, [8] = 2, [9] = 4, [10] = 8, [11] = 8};
	return type > 0 && (size_t)type < sizeof(sizes) ? sizes[type] : 0;
}

/* Elements of a variable, or of a part of it. */
static uint64_t count_elements(struct nc_lib *l, int nc, int var, enum shape shape, const size_t *count)
{
	int (*dims_of)(int, int, int *) = NCCALL(l, nc_inq_varndims, int (*)(int, int, int *)),
	                             (*ids_of)(int, int, int *) = NCCALL(l, nc_inq_vardimid, int (*)(int, int, int *)),
	                             (*length)(int, int, size_t *) = NCCALL(l, nc_inq_dimlen, int (*)(int, int, size_t *));
	int n = 0, ids[NC_DIMS_MAX];
	uint64_t elements = 1;
	if (shape == SHAPE_var1)
		return 1;
	if (!dims_of || !ids_of || !length || dims_of(nc, var, &n) != 0 || n < 0 || n > NC_DIMS_MAX ||
	    (shape != SHAPE_var && !count && n))
		return 0;
	if (shape == SHAPE_var && ids_of(nc, var, ids) != 0)
		return 0;
	for (int i = 0; i < n; i++) {
		size_t along = shape == SHAPE_var ? 0 : count[i];
		if ((shape == SHAPE_var && length(nc, ids[i], &along) != 0) ||
		    __builtin_mul_overflow(elements, (uint64_t)along, &elements))
			return 0;
	}
	return elements;
}

/* Begins a read or write of a variable. m->write, p and memory are set before; m->o is NULL where it is not observed.
 * */
static void move_begin(struct nc_lib *l, int nc, int var, enum shape shape, const size_t *count, struct move *m)
{
	int (*type_of)(int, int, int *) = NCCALL(l, nc_inq_vartype, int (*)(int, int, int *));
	int type = 0;
	m->o = h5_wants(&nc_as_h5, H5_DATASET) ? variable_of(l, nc, var) : NULL;
	if (!m->o)
		return;
	m->elements = count_elements(l, nc, var, shape, count);
	m->size = type_of && type_of(nc, var, &type) == 0 ? type_size(type) : 0;
	m->memory = m->memory ? m->memory : m->size;
	m->t = h5_now();
	struct h5_object *told = m->o->told;
	if (told && m->write && shape == SHAPE_var && !told->row[0].begun && !told->row[1].begun)
		told->flags |= H5_WHOLE;
	h5_begin(m->o, m->write, m->t);
}

/* Ends what move_begin began; ok: the call succeeded. What is not known of the bytes is said to be unknown. */
static void move_end(const struct move *m, bool ok)
{
	if (!m->o)
		return;
	const bool known = m->elements && m->size;
	h5_end(m->o, m->write, ok, known ? m->elements * m->size : H5_BYTES_UNKNOWN, m->t, h5_now());
	if (!ok || !known || !m->p || !m->memory) {
		if (!m->write)
			h5_buffers_forget();
		return;
	}
	const struct h5_memory memory = {.p = m->p, .n = m->elements * m->memory, .element = m->memory};
	(m->write ? h5_memory_written : h5_memory_filled)(m->o, &memory);
}

#define ARGS_var (int nc, int var, void *p)
#define CALL_var (nc, var, p)
#define COUNT_var NULL
#define ARGS_var1 (int nc, int var, const size_t *at, void *p)
#define CALL_var1 (nc, var, at, p)
#define COUNT_var1 NULL
#define ARGS_vara (int nc, int var, const size_t *at, const size_t *count, void *p)
#define CALL_vara (nc, var, at, count, p)
#define COUNT_vara count
#define ARGS_vars (int nc, int var, const size_t *at, const size_t *count, const ptrdiff_t *step, void *p)
#define CALL_vars (nc, var, at, count, step, p)
#define COUNT_vars count
#define ARGS_varm                                                                                                      \
	(int nc, int var, const size_t *at, const size_t *count, const ptrdiff_t *step, const ptrdiff_t *map, void *p)
#define CALL_varm (nc, var, at, count, step, map, p)
#define COUNT_varm count
#define WRITE_get false
#define WRITE_put true

/* Calls that netCDF makes of itself within one are parts of that. */
static __thread bool nested;

#define DEFINE(to, shape, type, bytes)                                                                                 \
	EXPORT int nc_##to##_##shape##type ARGS_##shape;                                                                   \
	EXPORT int nc_##to##_##shape##type ARGS_##shape                                                                    \
	{                                                                                                                  \
		struct nc_lib *l = nc_lib_of(CALLER);                                                                          \
		int(*real) ARGS_##shape = NCREAL(l, nc_##to##_##shape##type, int(*) ARGS_##shape);                             \
		if (!real)                                                                                                     \
			return NC_EBADID;                                                                                          \
		if (!l || nested || !h5_on(&nc_as_h5))                                                                         \
			return real CALL_##shape;                                                                                  \
		struct move m = {.write = WRITE_##to, .memory = (bytes), .p = SHAPE_##shape == SHAPE_varm ? NULL : p};         \
		move_begin(l, nc, var, SHAPE_##shape, COUNT_##shape, &m);                                                      \
		nested = true;                                                                                                 \
		const int r = real CALL_##shape;                                                                               \
		nested = false;                                                                                                \
		move_end(&m, r == 0);                                                                                          \
		return r;                                                                                                      \
	}
NC_TYPES(DEFINE, get, var)
NC_TYPES(DEFINE, get, var1)
NC_TYPES(DEFINE, get, vara)
NC_TYPES(DEFINE, get, vars)
NC_TYPES(DEFINE, get, varm)
NC_TYPES(DEFINE, put, var)
NC_TYPES(DEFINE, put, var1)
NC_TYPES(DEFINE, put, vara)
NC_TYPES(DEFINE, put, vars)
NC_TYPES(DEFINE, put, varm)

/* ---- files ---- */

#define OPENS(name, made, args, call)                                                                                  \
	EXPORT int name args;                                                                                              \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		struct nc_lib *l = nc_lib_of(CALLER);                                                                          \
		int(*real) args = NCREAL(l, name, int(*) args);                                                                \
		if (!real)                                                                                                     \
			return NC_EBADID;                                                                                          \
		const bool on = l && h5_on(&nc_as_h5);                                                                         \
		const int64_t t = on ? h5_now() : 0;                                                                           \
		const int r = real call;                                                                                       \
		if (on && r == 0 && id)                                                                                        \
			file_opened(l, *id, path, made, t);                                                                        \
		return r;                                                                                                      \
	}
OPENS(nc_open, false, (const char *path, int mode, int *id), (path, mode, id))
OPENS(nc__open, false, (const char *path, int mode, size_t *hint, int *id), (path, mode, hint, id))
OPENS(nc_create, true, (const char *path, int mode, int *id), (path, mode, id))
OPENS(nc__create, true, (const char *path, int mode, size_t size, size_t *hint, int *id), (path, mode, size, hint, id))

#define CLOSES(name)                                                                                                   \
	EXPORT int name(int nc);                                                                                           \
	EXPORT int name(int nc)                                                                                            \
	{                                                                                                                  \
		struct nc_lib *l = nc_lib_of(CALLER);                                                                          \
		int (*real)(int) = NCREAL(l, name, int (*)(int));                                                              \
		if (!real)                                                                                                     \
			return NC_EBADID;                                                                                          \
		const int r = real(nc);                                                                                        \
		if (l && r == 0)                                                                                               \
			forget_file(nc);                                                                                           \
		return r;                                                                                                      \
	}
CLOSES(nc_close)
CLOSES(nc_abort)

/* ---- variables ---- */

EXPORT int nc_def_var(int nc, const char *name, int type, int ndims, const int *dims, int *var);
/* In the place of netCDF's. */
EXPORT int nc_def_var(int nc, const char *name, int type, int ndims, const int *dims, int *var)
{
	int mine, *id = var ? var : &mine;
	struct nc_lib *l = nc_lib_of(CALLER);
	int (*real)(int, const char *, int, int, const int *, int *) =
	    NCREAL(l, nc_def_var, int (*)(int, const char *, int, int, const int *, int *));
	if (!real)
		return NC_EBADID;
	const bool on = l && h5_wants(&nc_as_h5, H5_DATASET);
	const int64_t t = on ? h5_now() : 0;
	const int r = real(nc, name, type, ndims, dims, id);
	if (on && r == 0)
		h5_did(variable_of(l, nc, *id), H5_CREATE, true, t, h5_now());
	return r;
}

EXPORT int nc_rename_var(int nc, int var, const char *name);
/* In the place of netCDF's. */
EXPORT int nc_rename_var(int nc, int var, const char *name)
{
	int (*real)(int, int, const char *);
	char old[H5_NAME_MAX];
	struct nc_lib *l = nc_lib_of(CALLER);
	real = NCREAL(l, nc_rename_var, int (*)(int, int, const char *));
	if (!real)
		return NC_EBADID;
	struct h5_obj *o = l && h5_wants(&nc_as_h5, H5_DATASET) ? variable_of(l, nc, var) : NULL;
	const size_t n = o ? strlen(o->name) : sizeof(old);
	if (n < sizeof(old))
		memcpy(old, o->name, n + 1);
	const int64_t t = o ? h5_now() : 0;
	const int r = real(nc, var, name);
	if (r != 0 || n >= sizeof(old))
		return r;
	struct h5_obj *root = h5_object_add(o->file, NC_ROOT, TERM_kind_group, "/", 1, NULL, 0);
	h5_did(o, H5_RENAME, true, t, h5_now());
	h5_renamed(o, TERM_nameop_rename, root, name, root, old);
	return r;
}
