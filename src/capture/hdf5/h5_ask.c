/* What HDF5 says of an identifier. The structures that it fills are read by offset: H5O_info_t begins with the file's
 * number, the address and the type in all of 1.10, and the same with a token of 16 bytes in place of the address since
 * 1.12, whose first 8 are the address in files of HDF5's own format. */
#include "capture/hdf5/h5.h"

#include <errno.h>
#include <string.h>

#define H5O_INFO_BASIC 1u

/* A program may have a function of 1.6's kind for errors. Asked for it by the functions of the other kind, HDF5 fails,
 * and calls it. */
static bool is_old(struct h5_lib *l)
{
	herr_t (*is_new)(hid_t, unsigned *) = H5CALL(l, H5Eauto_is_v2, herr_t(*)(hid_t, unsigned *));
	unsigned v2 = 1;
	return is_new && is_new(0, &v2) >= 0 && !v2;
}

/* Sets or takes back HDF5's handler of errors. old: by the interface before 1.8. Nothing if the library lacks it. */
static void set_error_handler(struct h5_lib *l, bool old, h5_error_fn fn, void *data)
{
	herr_t (*set1)(h5_error_fn, void *) = H5CALL(l, H5Eset_auto1, herr_t(*)(h5_error_fn, void *));
	herr_t (*set2)(hid_t, h5_error_fn, void *) = H5CALL(l, H5Eset_auto2, herr_t(*)(hid_t, h5_error_fn, void *));
	if (old && set1)
		set1(fn, data);
	else if (!old && set2)
		set2(0, fn, data);
}

void h5_hush(struct h5_lib *l, struct h5_quiet *q)
{
	herr_t (*get1)(h5_error_fn *, void **) = H5CALL(l, H5Eget_auto1, herr_t(*)(h5_error_fn *, void **));
	herr_t (*get2)(hid_t, h5_error_fn *, void **) = H5CALL(l, H5Eget_auto2, herr_t(*)(hid_t, h5_error_fn *, void **));
	*q = (struct h5_quiet){.keep = errno, .old = is_old(l)};
	if ((q->old ? !get1 || get1(&q->fn, &q->data) < 0 : !get2 || get2(0, &q->fn, &q->data) < 0) || !q->fn)
		return;
	set_error_handler(l, q->old, NULL, NULL);
}

/* Undoes h5_hush: empties the error stack; errno is as it was. */
void h5_unhush(struct h5_lib *l, const struct h5_quiet *q)
{
	herr_t (*clear)(hid_t) = H5CALL(l, H5Eclear2, herr_t(*)(hid_t));
	if (clear)
		clear(0);
	if (q->fn)
		set_error_handler(l, q->old, q->fn, q->data);
	errno = q->keep;
}

bool h5_ask_object(struct h5_lib *l, hid_t id, unsigned long *ret_fileno, uint64_t *ret_addr, int *ret_type)
{
	union {
		char bytes[1024]; /* the largest known is 272 */
		struct {
			unsigned long fileno;
			uint64_t addr;
			int type;
		} old;
		struct {
			unsigned long fileno;
			unsigned char token[16];
			int type;
		} now;
	} u;
	memset(&u, 0, sizeof(u));
	if (l->fn[H5FN_H5Oget_info3]) {
		if (H5CALL(l, H5Oget_info3, herr_t(*)(hid_t, void *, unsigned))(id, &u, H5O_INFO_BASIC) < 0)
			return false;
		*ret_fileno = u.now.fileno;
		memcpy(ret_addr, u.now.token, sizeof(*ret_addr));
		*ret_type = u.now.type;
		return true;
	}
	herr_t r = -1;
	if (l->fn[H5FN_H5Oget_info2])
		r = H5CALL(l, H5Oget_info2, herr_t(*)(hid_t, void *, unsigned))(id, &u, H5O_INFO_BASIC);
	else if (l->fn[H5FN_H5Oget_info1])
		r = H5CALL(l, H5Oget_info1, herr_t(*)(hid_t, void *))(id, &u);
	else if (l->fn[H5FN_H5Oget_info])
		r = H5CALL(l, H5Oget_info, herr_t(*)(hid_t, void *))(id, &u);
	*ret_fileno = u.old.fileno;
	*ret_addr = u.old.addr;
	*ret_type = u.old.type;
	return r >= 0;
}

/* Ends a name that HDF5 has written into room[n]. got: as HDF5 gives a name's length, negative if it failed. The
 * length, cut to the room, with 0 behind it. */
static size_t end_answer_text(ssize_t got, char *room, size_t n)
{
	size_t len = got <= 0 ? 0 : (size_t)got < n ? (size_t)got : n - 1;
	room[len] = '\0';
	return len;
}

size_t h5_ask_name(struct h5_lib *l, hid_t id, char *room, size_t n)
{
	ssize_t (*get)(hid_t, char *, size_t) = H5CALL(l, H5Iget_name, ssize_t(*)(hid_t, char *, size_t));
	return end_answer_text(get ? get(id, room, n) : 0, room, n);
}

/* The path in room, its length; 0: none, or room (n bytes) is too small. */
size_t h5_ask_file(struct h5_lib *l, hid_t id, char *room, size_t n)
{
	ssize_t (*get)(hid_t, char *, size_t) = H5CALL(l, H5Fget_name, ssize_t(*)(hid_t, char *, size_t));
	return end_answer_text(get ? get(id, room, n) : 0, room, n);
}

/* The name in room, its length; 0: none, or room (n bytes) is too small. */
size_t h5_ask_attribute(struct h5_lib *l, hid_t id, hsize_t nth, char *room, size_t n)
{
	ssize_t (*get)(hid_t, const char *, int, int, hsize_t, char *, size_t, hid_t) =
	    H5CALL(l, H5Aget_name_by_idx, ssize_t(*)(hid_t, const char *, int, int, hsize_t, char *, size_t, hid_t));
	ssize_t got = get ? get(id, ".", 0, 0, nth, room, n, 0) : 0; /* by name, going up */
	return got > 0 && (size_t)got < n ? (size_t)got : 0;
}

size_t h5_ask_link(struct h5_lib *l, hid_t loc, const char *group, int index, int order, hsize_t nth, hid_t list,
                   char *room, size_t n)
{
	ssize_t (*get)(hid_t, const char *, int, int, hsize_t, char *, size_t, hid_t) =
	    H5CALL(l, H5Lget_name_by_idx, ssize_t(*)(hid_t, const char *, int, int, hsize_t, char *, size_t, hid_t));
	size_t at = group ? strlen(group) : 0;
	struct h5_quiet q;
	if (!get || !at || at + 2 > n)
		return 0;
	memcpy(room, group, at);
	room[at++] = '/';
	h5_hush(l, &q);
	ssize_t got = get(loc, group, index, order, nth, room + at, n - at, list);
	h5_unhush(l, &q);
	return got > 0 && (size_t)got < n - at ? at + (size_t)got : 0;
}

/* HDF5 itself follows no more than 16. */
#define SOFT_LINKS_MAX 16

/* The path that a soft link stands for: what it says begins at the root, or in the group that it lies in. False: it is
 * not known, or too long. */
static bool soft_target(const struct h5_links *links, const char *name, char *room, size_t n)
{
	const char *end = name + strlen(name);
	while (end > name && end[-1] == '/')
		end--;
	while (end > name && end[-1] != '/')
		end--;
	size_t at = (size_t)(end - name);
	if (at + 2 > n)
		return false;
	memcpy(room, name, at);
	room[n - 1] = '\0';
	if (!links->value(links->at, name, room + at, n - at) || room[n - 1]) /* what is too long is cut, without an end */
		return false;
	if (room[at] == '/')
		memmove(room, room + at, strlen(room + at) + 1);
	return true;
}

/* The first link in a path that is none of a file's own, from an offset on: each beginning of the path is asked for,
 * the shortest first, for HDF5 follows what stands before the last name. Its type: 0 there is none, -1 the path leads
 * nowhere; *ret_end: where its name ends in the path. */
static int first_link(const struct h5_links *links, char *path, size_t from, size_t *ret_end)
{
	for (size_t at = from;; at++) {
		while (path[at] && path[at] != '/')
			at++;
		char keep = path[at];
		path[at] = '\0';
		int type = *path ? links->type(links->at, path) : 0; /* "": the root */
		path[at] = keep;
		*ret_end = at;
		if (type > 0 || !keep)
			return type;
	}
}

/* Whether a name leads into another file; true also where that cannot be told. */
bool h5_leads_out(const struct h5_links *links, const char *name)
{
	char room[2][H5_NAME_MAX], *path = room[0], *other = room[1];
	size_t len = strlen(name), end, from = len;
	if (len >= sizeof(room[0]))
		return true;
	memcpy(path, name, len + 1);
	/* What the program named it follows itself, up to the last link; what soft links say we alone would follow. */
	for (int n = 0; n <= SOFT_LINKS_MAX; n++) {
		int type = first_link(links, path, from, &end);
		if (type != 1)
			return type > 1;
		char keep = path[end];
		path[end] = '\0';
		bool known = soft_target(links, path, other, sizeof(room[0]));
		path[end] = keep;
		if (!known || strlen(other) + strlen(path + end) >= sizeof(room[0]))
			return true;
		strcat(other, path + end);
		char *swap = path;
		path = other, other = swap, from = 0;
	}
	return true;
}

struct place {
	struct h5_lib *l;
	hid_t loc;
};

/* The type of the link of that name (H5L_type_t). As h5_links' `type`: -1 also where HDF5 has no such function. */
static int ask_link_type(void *at, const char *name)
{
	const struct place *p = at;
	/* H5L_info_t begins with the type. */
	void *fn = p->l->fn[H5FN_H5Lget_info1] ? p->l->fn[H5FN_H5Lget_info1] : p->l->fn[H5FN_H5Lget_info];
	union {
		char bytes[256]; /* the largest known is 40 */
		int type;
	} u;
	memset(&u, 0, sizeof(u));
	herr_t (*get)(hid_t, const char *, void *, hid_t) = (herr_t(*)(hid_t, const char *, void *, hid_t))fn;
	return get && get(p->loc, name, &u, 0) >= 0 ? u.type : -1;
}

/* The target of a symbolic link, cut to n. */
static bool ask_link_value(void *at, const char *name, char *room, size_t n)
{
	const struct place *p = at;
	herr_t (*get)(hid_t, const char *, void *, size_t, hid_t) =
	    H5CALL(p->l, H5Lget_val, herr_t(*)(hid_t, const char *, void *, size_t, hid_t));
	return get && get(p->loc, name, room, n, 0) >= 0;
}

bool h5_ask_external(struct h5_lib *l, hid_t loc, const char *name)
{
	struct place at = {.l = l, .loc = loc};
	return h5_leads_out(&(struct h5_links){.type = ask_link_type, .value = ask_link_value, .at = &at}, name);
}

bool h5_ask_soft(struct h5_lib *l, hid_t loc, const char *name)
{
	struct place at = {.l = l, .loc = loc};
	struct h5_quiet q;
	h5_hush(l, &q);
	const bool soft = name && *name && ask_link_type(&at, name) == 1; /* H5L_TYPE_SOFT */
	h5_unhush(l, &q);
	return soft;
}

/* Asks for the shape and type of a dataset or attribute. False: it cannot be told. */
bool h5_ask_shape(struct h5_lib *l, hid_t id, bool attribute, struct h5_obj *o, hsize_t *ret_dims, hsize_t *ret_most)
{
	hid_t (*space_of)(hid_t) =
	    attribute ? H5CALL(l, H5Aget_space, hid_t(*)(hid_t)) : H5CALL(l, H5Dget_space, hid_t(*)(hid_t));
	hid_t (*type_of)(hid_t) =
	    attribute ? H5CALL(l, H5Aget_type, hid_t(*)(hid_t)) : H5CALL(l, H5Dget_type, hid_t(*)(hid_t));
	if (!space_of || !type_of)
		return false;
	hid_t space = space_of(id);
	return h5_ask_space(l, space, type_of(id), o, ret_dims, ret_most);
}

const char *h5_ask_elsewhere(struct h5_lib *l, hid_t id)
{
	haddr_t (*offset)(hid_t) = H5CALL(l, H5Dget_offset, haddr_t(*)(hid_t));
	hid_t (*made_with)(hid_t) = H5CALL(l, H5Dget_create_plist, hid_t(*)(hid_t));
	if (!made_with || (offset && offset(id) != (haddr_t)-1)) /* in one piece: none */
		return NULL;
	return h5_ask_layout(l, made_with(id));
}

const char *h5_ask_layout(struct h5_lib *l, hid_t list)
{
	int (*layout)(hid_t) = H5CALL(l, H5Pget_layout, int (*)(hid_t));
	int (*files)(hid_t) = H5CALL(l, H5Pget_external_count, int (*)(hid_t));
	herr_t (*dec)(hid_t) = H5CALL(l, H5Idec_ref, herr_t(*)(hid_t));
	const char *where = NULL;
	if (list >= 0 && layout && layout(list) == H5D_VIRTUAL)
		where = H5_IS_VIRTUAL;
	else if (list >= 0 && files && files(list) > 0)
		where = "a dataset was used whose data are in another file";
	if (list >= 0 && dec)
		dec(list);
	return where;
}

bool h5_ask_space(struct h5_lib *l, hid_t space, hid_t type, struct h5_obj *o, hsize_t *ret_dims, hsize_t *ret_most)
{
	int (*ndims)(hid_t) = H5CALL(l, H5Sget_simple_extent_ndims, int (*)(hid_t));
	int (*dims)(hid_t, hsize_t *, hsize_t *) =
	    H5CALL(l, H5Sget_simple_extent_dims, int (*)(hid_t, hsize_t *, hsize_t *));
	int (*class_of)(hid_t) = H5CALL(l, H5Tget_class, int (*)(hid_t));
	size_t (*size_of)(hid_t) = H5CALL(l, H5Tget_size, size_t(*)(hid_t));
	herr_t (*dec)(hid_t) = H5CALL(l, H5Idec_ref, herr_t(*)(hid_t));
	if (!ndims || !dims || !dec || !class_of || !size_of)
		return false;
	int rank = space >= 0 ? ndims(space) : -1;
	bool ok = rank >= 0 && rank <= H5_RANK_MAX && dims(space, ret_dims, ret_most) == rank && type >= 0;
	if (ok) {
		int class = class_of(type);
		o->class = class < 0 ? UINT32_MAX : (uint32_t) class;
		o->size = size_of(type);
		o->rank = (uint32_t)rank;
		o->elements = 1;
		for (int i = 0; i < rank; i++)
			o->elements *= ret_dims[i];
	}
	if (space >= 0)
		dec(space);
	if (type >= 0)
		dec(type);
	return ok;
}
