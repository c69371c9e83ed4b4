/* What was done to objects: calls and bytes, shapes, which parts were read and written, names. */
#include "capture/hdf5/h5_state.h"

#include "event/event.h"

#include <string.h>

#define PARTS 16 /* of a dataset in one direction that are told apart; the rest is one box */

struct h5_part_ref {
	struct h5_part *told;
};

/* ---- counting ---- */

#define ADD(to, what) __atomic_fetch_add(&(to), (what), __ATOMIC_RELAXED)
#define PUT(to, what) __atomic_store_n(&(to), (what), __ATOMIC_RELAXED)
#define GET(from) __atomic_load_n(&(from), __ATOMIC_RELAXED)

void h5_begin(struct h5_obj *o, bool write, int64_t t)
{
	struct h5_row *r = o && o->told ? &o->told->row[write] : NULL;
	if (!r)
		return;
	if (!GET(r->first))
		PUT(r->first, t);
	PUT(r->last, t);
	ADD(r->begun, 1);
}

/* ok false: it failed. Times in ns; H5_BYTES_UNKNOWN makes the sum unknown. */
void h5_end(struct h5_obj *o, bool write, bool ok, uint64_t bytes, int64_t began, int64_t ended)
{
	struct h5_row *r = o && o->told ? &o->told->row[write] : NULL;
	if (!r)
		return;
	PUT(r->last, ended);
	ADD(r->spent, (uint64_t)(ended - began));
	if (ok && bytes == H5_BYTES_UNKNOWN) {
		__atomic_fetch_or(&o->told->flags, (uint16_t)(H5_UNSIZED << write), __ATOMIC_RELAXED);
		ADD(r->calls, 1);
	} else if (ok) {
		ADD(r->bytes, bytes);
		if (bytes > GET(r->largest))
			PUT(r->largest, bytes);
		ADD(r->calls, 1);
	} else {
		ADD(r->failed, 1);
	}
}

/* Counts a call of an operation of which there are few. Times in ns. */
void h5_did(struct h5_obj *o, enum h5_few_op op, bool ok, int64_t began, int64_t ended)
{
	struct h5_few *r = o && o->told ? &o->told->few[op] : NULL;
	if (!r)
		return;
	if (!GET(r->first))
		PUT(r->first, began);
	PUT(r->last, ended);
	ADD(r->spent, (uint64_t)(ended - began));
	if (ok)
		ADD(r->calls, 1);
	else
		ADD(r->failed, 1);
}

/* ---- parts ---- */

/* Notes the shape, dims and most of o->rank numbers. not ok: it cannot be told. */
void h5_shape_is(struct h5_obj *o, bool ok, const hsize_t *dims, const hsize_t *most)
{
	struct {
		struct h5_shape head;
		uint64_t dims[2 * H5_RANK_MAX];
	} t;
	o->shaped = true;
	if (!ok) {
		o->elements = o->size = 0;
		return;
	}
	t.head = (struct h5_shape){.object = o->num, .class = o->class, .rank = o->rank, .size = o->size};
	for (uint32_t i = 0; i < o->rank; i++) {
		if (i < sizeof(o->dims) / sizeof(o->dims[0]))
			o->dims[i] = dims[i];
		t.dims[i] = dims[i];
		t.dims[o->rank + i] = most[i];
	}
	app_tape_put(&(struct app_entry){.kind = H5_SHAPE},
	             &(struct app_words){.value = (const char *)&t, .nvalue = sizeof(t.head) + 16 * o->rank});
}

void h5_attribute_made(struct h5_obj *o)
{
	struct h5_state *s = o ? h5_state_lock() : NULL;
	if (!s)
		return;
	o->shaped = false;
	o->nparts[0] = o->nparts[1] = 0; /* what was told of parts stays told */
	h5_state_unlock(s);
}

/* A dataset that shrinks or grows is another: what it lost was written over, what it gained is fill values.
 * h5_extent_begin: the time, for the end. */
int64_t h5_extent_begin(struct h5_obj *o)
{
	struct h5_few *r = o && o->told ? &o->told->few[H5_EXTENT] : NULL;
	int64_t t = h5_now();
	if (r && !GET(r->first))
		PUT(r->first, t);
	if (r)
		PUT(r->last, t);
	return t;
}

/* After the call that changed the extent: the shape is asked for again. */
void h5_extent_end(struct h5_obj *o, bool ok, int64_t began)
{
	if (!o)
		return;
	o->shaped = false;
	h5_did(o, H5_EXTENT, ok, began, h5_now());
}

void h5_shape_of(struct h5_lib *l, struct h5_obj *o, hid_t id)
{
	hsize_t dims[H5_RANK_MAX], most[H5_RANK_MAX];
	struct h5_quiet q;
	if (!o || o->shaped)
		return;
	h5_hush(l, &q);
	const char *elsewhere = o->kind == TERM_kind_dataset ? h5_ask_elsewhere(l, id) : NULL;
	/* Asked for its shape, a virtual dataset takes the extent of its sources as they are now: the program, which has
	 * asked before, would read more than it has room for. So it is not asked for. */
	bool ok = !h5_is_virtual(elsewhere) && h5_ask_shape(l, id, o->kind == TERM_kind_attribute, o, dims, most);
	o->elsewhere = elsewhere != NULL;
	h5_unhush(l, &q);
	h5_shape_is(o, ok, dims, most);
	if (elsewhere)
		h5_gap(elsewhere);
}

/* Widens the part's box so that it holds from to to, both of p->rank numbers. */
static void widen_box(struct h5_part *p, const hsize_t *from, const hsize_t *to)
{
	uint64_t *box = (uint64_t *)(p + 1);
	for (uint32_t i = 0; i < p->rank; i++) {
		if (from[i] < box[2 * i])
			box[2 * i] = from[i];
		if (to[i] > box[2 * i + 1])
			box[2 * i + 1] = to[i];
	}
}

/* Bounds of each dimension, and the fields with a NUL behind each. */
static bool same_box(const struct h5_part *p, const hsize_t *from, const hsize_t *to, const char *fields, uint32_t n)
{
	const uint64_t *box = (const uint64_t *)(p + 1);
	for (uint32_t i = 0; i < p->rank; i++)
		if (box[2 * i] != from[i] || box[2 * i + 1] != to[i])
			return false;
	return p->nfields == n && !memcmp(box + 2 * p->rank, fields, n);
}

/* A part that was not met yet, on the tape; NULL: no room there. */
static struct h5_part *tell_part(const struct h5_obj *o, bool write, const hsize_t *from, const hsize_t *to,
                                 const char *fields, uint32_t nfields)
{
	struct h5_part *p = app_tape_reserve(H5_PART, (uint32_t)(sizeof(*p) + 16 * o->rank + nfields));
	if (!p)
		return NULL;
	*p = (struct h5_part){.object = o->num, .write = write, .rank = o->rank, .nfields = nfields};
	uint64_t *box = (uint64_t *)(p + 1);
	for (uint32_t i = 0; i < o->rank; i++) {
		box[2 * i] = from[i];
		box[2 * i + 1] = to[i];
	}
	memcpy(box + 2 * o->rank, fields, nfields);
	__atomic_store_n(&p->ready, 1, __ATOMIC_RELEASE);
	return p;
}

/* One more transfer of the part [from, to]. */
static void part_add(struct h5_obj *o, bool write, const hsize_t *from, const hsize_t *to, uint64_t elements,
                     const char *fields, uint32_t nfields)
{
	struct h5_state *s = o->told ? h5_state_lock() : NULL;
	struct h5_part *p = NULL;
	if (!s)
		return;
	if (!o->parts[write])
		o->parts[write] = h5_state_room(s, PARTS * sizeof(*o->parts[write]));
	struct h5_part_ref *v = o->parts[write];
	for (unsigned i = 0; v && i < o->nparts[write] && !p; i++)
		if (same_box(v[i].told, from, to, fields, nfields))
			p = v[i].told;
	if (v && !p && o->nparts[write] < PARTS) {
		p = tell_part(o, write, from, to, fields, nfields);
		if (p)
			v[o->nparts[write]++].told = p;
	} else if (v && !p) { /* the last box takes what is too much, and all members */
		p = v[PARTS - 1].told;
		widen_box(p, from, to);
		PUT(p->nfields, 0);
	}
	if (p) {
		ADD(p->calls, 1);
		ADD(p->elements, elements);
	}
	h5_state_unlock(s);
}

uint64_t h5_part_of(struct h5_lib *l, struct h5_obj *o, bool write, hid_t space, const char *fields, uint32_t nfields,
                    bool *ret_whole)
{
	hsize_t from[H5_RANK_MAX], to[H5_RANK_MAX];
	uint64_t n = o->elements;
	*ret_whole = space == H5S_ALL && n;
	if (space == H5S_ALL) {
		if (!o->elements || o->rank > sizeof(o->dims) / sizeof(o->dims[0]))
			return n;
		for (uint32_t i = 0; i < o->rank; i++) {
			from[i] = 0;
			to[i] = o->dims[i] - 1;
		}
	} else {
		hssize_t (*points)(hid_t) = H5CALL(l, H5Sget_select_npoints, hssize_t(*)(hid_t));
		herr_t (*bounds)(hid_t, hsize_t *, hsize_t *) =
		    H5CALL(l, H5Sget_select_bounds, herr_t(*)(hid_t, hsize_t *, hsize_t *));
		hssize_t got = points ? points(space) : -1;
		if (got <= 0)
			return 0;
		n = (uint64_t)got;
		*ret_whole = n == o->elements;
		if (!o->rank || !bounds || bounds(space, from, to) < 0)
			return n;
	}
	if (o->rank)
		part_add(o, write, from, to, n, fields, nfields);
	return n;
}

/* Tells of a name. Nothing where the object is not told of, or the names are too long. */
void h5_name(const struct h5_obj *o, unsigned op, const char *path, size_t npath, const char *old, size_t nold)
{
	char text[sizeof(struct h5_name) + 2 * (2 * H5_NAME_MAX + 2)];
	struct h5_name head = {.op = op, .npath = (uint32_t)npath, .nold = (uint32_t)nold};
	if (!o || !o->told || sizeof(head) + npath + nold > sizeof(text))
		return;
	head.file = o->file->num;
	head.addr = o->addr;
	head.kind = o->kind;
	memcpy(text, &head, sizeof(head));
	memcpy(text + sizeof(head), path, npath);
	memcpy(text + sizeof(head) + npath, old, nold);
	app_tape_put(&(struct app_entry){.kind = H5_NAME},
	             &(struct app_words){.value = text, .nvalue = sizeof(head) + npath + nold});
}
