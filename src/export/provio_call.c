/* provio_call.c - kinds of calls: their acts in PROV-IO, and the functions of HDF5 that make them. */
#include "export/provio_call.h"

#include "event/event.h"

const struct provio_act_words provio_acts[PROVIO_ACTS] = {
    [PROVIO_CREATE] = {"Create", "wasCreatedBy"}, [PROVIO_OPEN] = {"Open", "wasOpenedBy"},
    [PROVIO_READ] = {"Read", "wasReadBy"},        [PROVIO_WRITE] = {"Write", "wasWrittenBy"},
    [PROVIO_FSYNC] = {"Fsync", "wasFlushedBy"},   [PROVIO_RENAME] = {"Rename", "wasModifiedBy"},
};

enum provio_act provio_act_of(unsigned api, bool write)
{
	switch (api) {
	case TERM_ioapi_create:
		return PROVIO_CREATE;
	case TERM_ioapi_h5open:
		return PROVIO_OPEN;
	case TERM_ioapi_flush:
		return PROVIO_FSYNC;
	case TERM_ioapi_rename:
	case TERM_ioapi_delete: /* of names, that is the nearest */
		return PROVIO_RENAME;
	default:
		return write ? PROVIO_WRITE : PROVIO_READ;
	}
}

/* By what the call is made on: a file, which its root group is, or an object of that kind. */
static const struct by_object {
	const char *file, *object[4]; /* group, dataset, attribute, datatype */
} created = {"H5Fcreate", {"H5Gcreate", "H5Dcreate", "H5Acreate", "H5Tcommit"}},
  opened = {"H5Fopen", {"H5Gopen", "H5Dopen", "H5Aopen", "H5Topen"}},
  flushed = {"H5Fflush", {"H5Gflush", "H5Dflush", "H5Aflush", "H5Tflush"}};

/* PROV-IO's name for a call on that kind of object. NULL: no name of its own. */
static const char *name_by_object(const struct by_object *of, const struct file_info *f)
{
	if (f->kind == TERM_kind_group && str_ends(f->path, str_of("//")))
		return of->file;
	return of->object[f->kind >= TERM_kind_group && f->kind <= TERM_kind_datatype ? f->kind - TERM_kind_group : 0];
}

const char *provio_call_name(const struct file_info *f, unsigned api, bool write)
{
	switch (api) {
	case TERM_ioapi_data:
		return write ? "H5Dwrite" : "H5Dread";
	case TERM_ioapi_attr:
		return write ? "H5Awrite" : "H5Aread";
	case TERM_ioapi_create:
		return name_by_object(&created, f);
	case TERM_ioapi_h5open:
		return name_by_object(&opened, f);
	case TERM_ioapi_flush:
		return name_by_object(&flushed, f);
	case TERM_ioapi_rename:
		return "H5Lmove";
	case TERM_ioapi_extent:
		return "H5Dset_extent";
	case TERM_ioapi_delete:
		return f->kind == TERM_kind_attribute ? "H5Adelete" : "H5Ldelete";
	default:
		return write ? "write" : "read";
	}
}
