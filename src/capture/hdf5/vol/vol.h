/* vol.h - the connector for HDF5's virtual object layer (doc/hdf5.md): HDF5 1.14 calls it for everything that is done
 * with files and objects, it passes the call on to the connector under it, and notes what libstemma-hdf5.so would have
 * noted.
 *
 * It is linked with no HDF5: the functions are those of the HDF5 that loads it, of which a process has one (h5_gate.c).
 * Every object that HDF5 holds is a `struct vol` of ours around the one of the connector under it. Results and errors
 * are passed back as they are; what we ask ourselves is asked before a call, or after one that succeeded. Memory is
 * malloc's, as HDF5's own. */
#ifndef STEMMA_CAPTURE_HDF5_VOL_H
#define STEMMA_CAPTURE_HDF5_VOL_H

#include <hdf5.h>

#include <H5PLextern.h>
#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>
#include <H5VLnative.h>

#include "capture/hdf5/h5.h"

#define VOL_NAME "stemma"

/* HDF5's functions, by their names: H5(H5VLfile_open)(...). */
struct vol_table {
#define FN(name) __typeof__(&name) name;
#include "capture/hdf5/vol/vol_names.def"
#undef FN
};
extern struct vol_table vol_table;
#define H5(name) vol_table.name

/* What is put into a property list of file access: the connector under ours. NULL: HDF5's own. */
struct vol_info {
	hid_t under;
	void *info;
};
struct vol {
	void *under;
	hid_t id; /* of the connector that `under` is of */
	H5I_type_t type;
	struct h5_obj *o; /* what is known of it, in that epoch */
	uint64_t epoch;
	struct vol_later *later; /* of a request: what it moves */
};
/* Data that a connector under ours moves after its call came back: how that ended is known from the request. */
struct vol_later {
	uint64_t epoch;
	int64_t t;
	bool write;
	size_t n;
	struct {
		struct h5_obj *o;
		uint64_t bytes;
	} of[];
};

extern struct h5_lib *vol_lib;
/* Is anything noted? */
bool vol_on(void);
/* Are objects recorded of these classes (h5_wants, h5_sees)? */
bool vol_wants(uint32_t classes);
bool vol_sees(uint32_t classes);
/* An object of the connector under ours; NULL for NULL. The caller's until vol_free, which frees `later`, too. */
void *vol_wrap(void *under, hid_t id, H5I_type_t type);
void vol_free(struct vol *v);
/* A request of the connector under ours becomes one of ours. Returns it; NULL: there is none. */
struct vol *vol_asked(void **req, hid_t id);
/* What it moved has come to its end; once. */
void vol_settle(struct vol *req, bool ok);
/* The id of HDF5's own connector, registered the first time and kept: do not close it. Negative: HDF5 failed. */
hid_t vol_native(void);
/* The id of the connector under ours; HDF5's own for NULL. Not the caller's to close. */
hid_t vol_under_of(const struct vol_info *info);
/* A list of file access for the connector under ours, and from whom; close it by vol_access_close. */
hid_t vol_access(hid_t access, hid_t *ret_under);
void vol_access_close(hid_t access, bool failed);

/* A call that is passed on. HDF5 would tell of one that fails, by printing or by a function of the program's, as the
 * connector under ours fails, and again as the program's call does: of the first it is kept from it. Its error stack
 * stays. Not for what calls the program back, which would find itself without. vol_hush: what it has to be undone by is
 * in q. vol_unhush: failed: the error stack of the call is put back. */
struct vol_hush {
	H5E_auto2_t fn;
	H5E_auto1_t old; /* of 1.6's kind; one of both, or none */
	void *data;
};
void vol_hush(struct vol_hush *q);
/* Lets HDF5 print errors again, after vol_hush. */
void vol_unhush(const struct vol_hush *q, bool failed);
#define PASS_IF(call, failed)                                                                                          \
	({                                                                                                                 \
		struct vol_hush hush_;                                                                                         \
		vol_hush(&hush_);                                                                                              \
		__auto_type result_ = (call);                                                                                  \
		vol_unhush(&hush_, result_ failed);                                                                            \
		result_;                                                                                                       \
	})
#define PASS(call) PASS_IF(call, < 0)
#define PASS_UNLESS(calls_back, call) ((calls_back) ? (call) : PASS(call))
#define PASS_OBJ(call) PASS_IF(call, == NULL)

/* ---- noting (vol_note.c): all of them take NULL ---- */

/* The object that v stands for, found anew after each change of epoch; NULL: none. */
struct h5_obj *vol_obj(struct vol *v, hid_t dxpl);
/* The object at a place, opened for as long as it takes to ask where the place is a name. */
struct h5_obj *vol_at(struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl);
/* The object at the second place was made from t on as a copy of that at the first, and its attributes. false: more was
 * copied than that, or what they are could not be asked. */
bool vol_copied(struct vol *from_at, const H5VL_loc_params_t *from_where, struct vol *to_at,
                const H5VL_loc_params_t *to_where, int64_t t, hid_t dxpl);
/* The name that a place given by a number has: path of the group, '/' and name. 0: none, or too long. */
size_t vol_name_at(struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl, char *room, size_t n);
/* Is the link at a place, which is a name, a soft one? */
bool vol_soft(const struct vol *v, const H5VL_loc_params_t *where, hid_t dxpl);
/* An object that is moved takes the names of its attributes along: they are known from then on. vol_shape: asks once;
 * where its data lies in other files that is a gap. */
void vol_attributes(struct vol *v, const H5VL_loc_params_t *where, struct h5_obj *o, hid_t dxpl);
void vol_shape(struct vol *v, struct h5_obj *o, hid_t dxpl);
/* Notes an object: it was made or opened at that time. */
void vol_opened(struct vol *v, enum h5_few_op op, int64_t t, hid_t dxpl);
/* Notes a link: it was opened by a name, which may be a link's. vol_file_opened: t: when the call began. */
void vol_followed(struct vol *at, const H5VL_loc_params_t *where, const char *name, struct vol *v, hid_t dxpl);
void vol_file_opened(struct vol *v, const char *name, bool made, int64_t t, hid_t dxpl);
/* The attribute of that name of the object at a place; NULL where the place is a number. */
struct h5_obj *vol_attribute(struct vol *v, const H5VL_loc_params_t *where, const char *name, hid_t dxpl);

extern const H5VL_attr_class_t vol_attr;
extern const H5VL_dataset_class_t vol_dataset;
extern const H5VL_datatype_class_t vol_datatype;
extern const H5VL_file_class_t vol_file;
extern const H5VL_group_class_t vol_group;
extern const H5VL_link_class_t vol_link;
extern const H5VL_object_class_t vol_object;

#endif
