/* h5.h - code inside programs that use HDF5: libstemma-hdf5.so stands before functions of its API, calls the real ones
 * and notes what they did with which object (doc/hdf5.md).
 *
 * Rules as in capture/preload/library/safe.h: no malloc, no stdio; errno and results are the real function's; no lock
 * is held while the real function runs; it survives fork (a child begins anew) and a kill. HDF5's error stack is the
 * program's: what we ask HDF5 ourselves is asked before the call, which empties the stack as it begins, or after one
 * that succeeded, with printing off and the stack emptied again.
 *
 * h5_real.c finds the real functions; h5_ask.c asks HDF5 what an identifier is; h5_files.c, h5_note.c and
 * h5_ids.c keep files, objects and identifiers, h5_memory.c has the memory for them, h5_parts.c their counters;
 * h5_move.c is what is noted of data and names; h5_calls.c, h5_links.c, h5_data.c are the functions. Nothing here
 * trusts an identifier that a program gives. */
#ifndef STEMMA_CAPTURE_HDF5_H5_H
#define STEMMA_CAPTURE_HDF5_H5_H

#include "capture/app/app_tape.h"
#include "capture/hdf5/h5_abi.h"
#include "capture/hdf5/h5_format.h"
#include "capture/hdf5/h5_words.h"

#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- the library behind (h5_real.c) ---- */

enum h5_fn {
#define FN(name) H5FN_##name,
#include "capture/hdf5/h5_names.def"
#undef FN
	H5FN_COUNT
};

/* One HDF5 in this process; there may be several, each with the modules that were bound to it. */
struct h5_lib {
	void *fn[H5FN_COUNT]; /* NULL: it does not have it */
	uintptr_t low, high;  /* where its code is: calls from there are its own */
	unsigned version;     /* major << 16 | minor << 8 | release; 0 not asked yet */
	bool known;           /* of a version that we know: what is done is noted */
	bool connected;       /* our connector tells of it instead (h5_gate.c) */
};
/* The HDF5 library that the caller at that address is bound to. NULL: there is none. */
struct h5_lib *h5_lib_of(const void *caller);
/* The HDF5 library that has the address. NULL: it is in no HDF5, or there are too many. */
struct h5_lib *h5_lib_at(const void *address);
/* Keeps HDF5 loaded: those that were found are not unloaded any more. Before a dlclose. */
void h5_lib_pin(void);
/* Asks for its version. */
void h5_lib_ask(struct h5_lib *l, unsigned ret_version[3]);
void h5_lib_write_version(const struct h5_lib *l, const unsigned version[3]);

/* ---- what is kept (h5_memory.c, h5_files.c, h5_note.c, h5_ids.c, h5_parts.c) ---- */

/* A file that is open, or was. */
struct h5_open {
	struct h5_open *next;
	const struct h5_lib *lib;
	unsigned long fileno; /* HDF5's number of it while it is open */
	uint64_t num;
	unsigned ids; /* file identifiers that lead to it */
	struct safe_stat st;
	bool unknown;           /* it is no file that could be told of */
	struct h5_names *names; /* of all its objects, once they were asked for */
	unsigned asked;         /* names of objects that were opened by a reference */
	unsigned visits;        /* walks through all of it */
	uint32_t npath;
	char path[];
};
/* An object that something was done with. */
struct h5_obj {
	struct h5_obj *next; /* in its hash chain */
	struct h5_open *file;
	struct h5_object *told; /* in the window; NULL: there was no room */
	uint64_t addr, num;
	const char *name; /* path in the file, "": it has none yet; of an attribute its own */
	uint16_t kind;
	/* Of a dataset or an attribute. */
	bool shaped;
	bool elsewhere; /* its data are in other datasets or files (virtual, external); known once it was shaped */
	uint32_t rank, class;
	uint64_t size, elements;
	hsize_t dims[4];   /* the first ones */
	hid_t fields_type; /* the type in memory that was used last, and its members, NUL-separated */
	uint32_t nfields;
	char fields[200];
	uint64_t followed[4]; /* hashes of paths that led to it, the latest ones; beside its own */
	unsigned nfollowed;
	uint64_t moved_from[8]; /* num of those whose values came into it as they were; 0: no more */
	struct h5_part_ref *parts[2];
	unsigned nparts[2];
};

/* Is anything noted? */
static inline bool h5_on(const struct h5_lib *l)
{
	return l && l->known && app_tape_on();
}
/* The classes that are recorded. An object of another one may be known, as what an attribute belongs to, but is not
 * told of; but for a file's root group, which stands for the file. */
extern uint32_t h5_classes;
/* Are objects of one of these classes recorded here? */
static inline bool h5_wants(const struct h5_lib *l, uint32_t classes)
{
	return h5_on(l) && h5_classes & classes;
}
/* Notes which classes are left out. The same of a call through which data may go: where it is of none of these
 * classes, that is said, once in an image. */
bool h5_left_out(uint32_t classes);
/* Must calls that have to do with one of these classes be looked at, though they may not be recorded themselves? */
static inline bool h5_sees(const struct h5_lib *l, uint32_t classes)
{
	return h5_on(l) && (h5_classes & classes || h5_left_out(classes));
}
/* Is a copy recorded? Of H5Ocopy: each class that it may copy, and is not recorded, is said. */
static inline bool h5_copies(const struct h5_lib *l)
{
	uint32_t copied = H5_OBJECTS | H5_ATTRIBUTE;
	if (h5_on(l) && copied & ~h5_classes)
		h5_left_out(copied & ~h5_classes);
	return h5_wants(l, H5_OBJECTS);
}
/* Is a name recorded? Of a name that an object gets: where only links are not recorded, it may be its first. */
static inline bool h5_names(const struct h5_lib *l)
{
	return h5_wants(l, H5_OBJECTS) || h5_sees(l, H5_LINK);
}
/* Where durations are not recorded: H5_SOME_TIME, and no clock is looked at. */
extern bool h5_untimed;
int64_t h5_now(void);

/* The object behind an identifier; NULL: it is none, or cannot be told. Asks HDF5 where it is not known yet. */
struct h5_obj *h5_obj_of(struct h5_lib *l, hid_t id, unsigned kind);
/* The object of an identifier that was just given for a new object, which may be at the address of one that was
 * deleted. As h5_obj_of. */
struct h5_obj *h5_made_of(struct h5_lib *l, hid_t id, unsigned kind);
/* The object of an identifier that was made without a name, which HDF5 is not asked for. As h5_obj_of. */
struct h5_obj *h5_nameless_of(struct h5_lib *l, hid_t id, unsigned kind);
/* The object of an identifier that was opened by a reference or an address. As h5_obj_of. */
struct h5_obj *h5_referenced_of(struct h5_lib *l, hid_t id, unsigned kind);
/* The path of the object at an address of the file that id lies in: from a walk through all of it, the first time.
 * NULL: it has none, or HDF5 is too old for that. Not for objects that are younger than the walk. */
const char *h5_visited_name(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr);
/* A name of the file went, or became another: a walk before does not hold any more. */
void h5_forget_visit(struct h5_open *f);
/* The object that the identifier leads to, if it is known already; HDF5 is not asked. Else NULL. */
struct h5_obj *h5_known(hid_t id);
/* The object that an identifier leads to as a place for names, of any kind: a group, a dataset or a committed
 * datatype; of a file, its root group. */
struct h5_obj *h5_loc_of(struct h5_lib *l, hid_t id);
/* The object, no attribute, was made at that path just now: of what was at its address before, nothing holds. */
void h5_object_made(struct h5_obj *o, const char *path, size_t n);
/* Its path from now on; the name of an attribute stays. */
void h5_object_named(struct h5_obj *o, const char *path, size_t n);
/* What is known below a group that was at `old` is below `path` now. */
void h5_group_moved(const struct h5_obj *group, const char *old, size_t nold, const char *path, size_t n);
/* The attribute of that name of an object. */
struct h5_obj *h5_attribute_of(struct h5_obj *owner, const char *name);
/* The identifier is now that object's; is none's any more. h5_id_gone: the table closes up behind it. */
void h5_id_is(hid_t id, struct h5_obj *o);
void h5_id_gone(struct h5_lib *l, hid_t id);
/* A file was opened (made: emptied) under an identifier. */
void h5_file_opened(struct h5_lib *l, hid_t id, const char *name, bool made, int64_t began);
void h5_file_closed(struct h5_open *f);

/* The same by what lies behind identifiers. A file, by HDF5's number of it while it is open. h5_file_find: NULL: there
 * is none. It lives until its last identifier is closed. */
struct h5_open *h5_file_add(struct h5_lib *l, unsigned long fileno, const char *name, bool made);
/* Finds an open file by the number that HDF5 gives it. */
struct h5_open *h5_file_find(const struct h5_lib *l, unsigned long fileno);
/* Finds or adds an object of an open file, by its address. attr: name of an attribute of the object at addr, else
 * NULL. path: the object's path. */
struct h5_obj *h5_object_add(struct h5_open *f, uint64_t addr, unsigned kind, const char *path, size_t npath,
                             const char *attr, size_t nattr);
/* Another number in a forked child, to which no object that its parent had is of use. */
uint64_t h5_epoch(void);

#define H5_BYTES_UNKNOWN UINT64_MAX
/* Counting. `began` before a call that moves data makes it known though the call never comes back. h5_end: ns since the
 * epoch; a call of unknown bytes makes the sum unknown. h5_did: of the calls that are few. */
void h5_begin(struct h5_obj *o, bool write, int64_t t);
void h5_end(struct h5_obj *o, bool write, bool ok, uint64_t bytes, int64_t began, int64_t ended);
void h5_did(struct h5_obj *o, enum h5_few_op op, bool ok, int64_t began, int64_t ended);
/* Its extent is about to change: known though the call never comes back; the time at which it begins. */
/* An attribute may have been deleted and made again with another shape. */
void h5_attribute_made(struct h5_obj *o);
int64_t h5_extent_begin(struct h5_obj *o);
void h5_extent_end(struct h5_obj *o, bool ok, int64_t began);
/* A part of a dataset: all of it (space H5S_ALL), or what is selected in the space. Returns elements; 0 not known.
 * h5_name: nothing where the object is not told of, or the names are too long. */
uint64_t h5_part_of(struct h5_lib *l, struct h5_obj *o, bool write, hid_t space, const char *fields, uint32_t nfields,
                    bool *ret_whole);
void h5_name(const struct h5_obj *o, unsigned op, const char *path, size_t npath, const char *old, size_t nold);
void h5_gap(const char *what);
/* Asks for it, where that was not done yet; a dataset or an attribute by its identifier. h5_shape_is: not ok: it cannot
 * be told, and its bytes are not known. */
void h5_shape_of(struct h5_lib *l, struct h5_obj *o, hid_t id);
void h5_shape_is(struct h5_obj *o, bool ok, const hsize_t *dims, const hsize_t *most);

/* ---- data and names (h5_move.c) ---- */

/* Before the call. Returns bytes. */
uint64_t h5_data_begin(struct h5_lib *l, struct h5_obj *o, hid_t type, hid_t space, bool write, int64_t *ret_t);
void h5_attribute_begin(struct h5_obj *o, bool write, int64_t *ret_t);
/* A name at a place leads to the object; before it was another one. Without `old`: there was none. */
void h5_renamed(struct h5_obj *o, unsigned op, const struct h5_obj *loc, const char *name, const struct h5_obj *old_loc,
                const char *old);
/* A name at a place led to the object, which has another one: by a soft link. */
void h5_followed(struct h5_obj *o, const struct h5_obj *loc, const char *name);
/* A name at a place is a link to another file now: `other` and a path in it, or what the link says. unlink: no more. */
void h5_linked_out(const struct h5_obj *loc, const char *name, unsigned op, const struct h5_open *other,
                   const char *file, const char *path);
/* The name at a place is a soft link now, as an object of its own; unlink: no more. */
void h5_soft_linked(const struct h5_obj *loc, const char *name, unsigned op);
/* The one was made from the other. */
void h5_copied(struct h5_obj *from, struct h5_obj *to, int64_t t, int64_t end);
/* Does a copy take more along? Of H5Ocopy, by its list: does it copy objects that references lead to? They lie
 * elsewhere. */
bool h5_copies_more(struct h5_lib *l, hid_t list);
/* Why the data of a dataset lie elsewhere, where it is a virtual one: it is not asked for its shape (h5_parts.c). */
#define H5_IS_VIRTUAL "a virtual dataset was used: its data are in other datasets"
/* Is the dataset virtual: are its data in other datasets? */
static inline bool h5_is_virtual(const char *elsewhere)
{
	return elsewhere && strcmp(elsewhere, H5_IS_VIRTUAL) == 0;
}
#define H5_COPIED_MORE "the sources of some copied objects are unknown"

/* The asynchronous functions of 1.13 and later have these before what the others have, and an event set behind it.
 * HDF5's own connector has done what they ask for when they come back; with another one that works later, what it began
 * is noted as done. */
#define H5_APP const char *app_file, const char *app_func, unsigned app_line
#define H5_AP app_file, app_func, app_line

/* ---- asking (h5_ask.c) ---- */

/* Between these two, HDF5 prints nothing of what fails; behind them its error stack is empty. Only where it was empty,
 * or will be emptied. */
struct h5_quiet {
	h5_error_fn fn;
	void *data;
	int keep; /* errno */
	bool old; /* it is of 1.6's kind */
};
/* Makes HDF5 silent before it is asked for us: it prints nothing from here on. h5_unhush empties the error stack,
 * and errno is as it was. */
void h5_hush(struct h5_lib *l, struct h5_quiet *q);
void h5_unhush(struct h5_lib *l, const struct h5_quiet *q);

/* Which file, which address, which type (H5O_type_t: 0 group, 1 dataset, 2 datatype) an identifier leads to. */
bool h5_ask_object(struct h5_lib *l, hid_t id, unsigned long *ret_fileno, uint64_t *ret_addr, int *ret_type);
/* Its path in its file, as HDF5 has it; 0: it has none. */
size_t h5_ask_name(struct h5_lib *l, hid_t id, char *room, size_t n);
size_t h5_ask_file(struct h5_lib *l, hid_t id, char *room, size_t n);
/* The name of an object's n-th attribute; 0: there is none. */
#define H5_ATTRIBUTES_MAX 1000 /* that are asked for */
size_t h5_ask_attribute(struct h5_lib *l, hid_t id, hsize_t nth, char *room, size_t n);
/* Finds the shape of a dataset, by identifiers of space and type, which are closed. Sets class, size, rank and
 * elements of o. False: it cannot be told, or has more than H5_RANK_MAX dimensions. */
bool h5_ask_space(struct h5_lib *l, hid_t space, hid_t type, struct h5_obj *o, hsize_t *ret_dims, hsize_t *ret_most);
/* The name of the n-th link of a group at a place, with the group's before it; 0: there is none, or it is too long. */
size_t h5_ask_link(struct h5_lib *l, hid_t loc, const char *group, int index, int order, hsize_t nth, hid_t list,
                   char *room, size_t n);
/* Of a link by its name: 0 hard, 1 soft, 64 external, other numbers what users make, -1 none; what a soft one says,
 * whose last byte of room stays as it is unless that fills it. h5_leads_out: true, too, where that cannot be found out.
 * */
struct h5_links {
	int (*type)(void *at, const char *name);
	bool (*value)(void *at, const char *name, char *room, size_t n);
	void *at;
};
bool h5_leads_out(const struct h5_links *links, const char *name);
/* Does a link lead to another file, by itself or by the soft links that it stands for? To follow it would open that.
 * h5_ask_shape: of the object or attribute `id`; false: it cannot be told, or has more than H5_RANK_MAX dimensions. */
bool h5_ask_external(struct h5_lib *l, hid_t loc, const char *name);
/* Is the link at a name a soft one? */
bool h5_ask_soft(struct h5_lib *l, hid_t loc, const char *name);
bool h5_ask_shape(struct h5_lib *l, hid_t id, bool attribute, struct h5_obj *o, hsize_t *ret_dims, hsize_t *ret_most);
/* Do the data of a dataset lie in other datasets, or in files of their own? NULL: in its file; else the words of a gap.
 */
const char *h5_ask_elsewhere(struct h5_lib *l, hid_t id);
/* Where the data of a dataset lie that was made with that property list, which is closed: H5_IS_VIRTUAL, another
 * place, or NULL for the file itself. */
const char *h5_ask_layout(struct h5_lib *l, hid_t list);

#define H5CALL(l, name, type) ((type)(l)->fn[H5FN_##name])

#endif
