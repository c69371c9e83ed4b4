#include "capture/hdf5/h5_buffers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define H5T_STRING 3
#define H5T_REFERENCE 7
#define H5T_VLEN 9

/* What a read put into memory, and which reads are behind a write. */
struct buffer {
	uintptr_t from;
	uint64_t n, hash, age;
	struct h5_obj *o;
};
enum { PIECES = 64 }; /* reads that a write may be made up of */

static struct {
	uint32_t lock, n;
	uint64_t epoch, age;
	int64_t credit; /* bytes that may still be hashed */
	bool closed;    /* nothing is kept any more */
	struct buffer v[BUFFERS];
} buffers = {.credit = BUFFER_CREDIT};

/* Takes the lock of the table of buffers. False: somebody else has it, for longer than a look takes. A forked child
 * begins anew. */
static bool lock_buffers(void)
{
	const uint64_t epoch = h5_epoch();
	if (__atomic_load_n(&buffers.epoch, __ATOMIC_RELAXED) != epoch) {
		__atomic_store_n(&buffers.n, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&buffers.epoch, epoch, __ATOMIC_RELAXED);
		__atomic_store_n(&buffers.lock, 0, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < 10000; i++)
		if (!__atomic_exchange_n(&buffers.lock, 1, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* By the thread that took the lock. */
static void unlock_buffers(void)
{
	__atomic_store_n(&buffers.lock, 0, __ATOMIC_RELEASE);
}

/* Has the table of buffers been closed for good? */
static bool are_closed(void)
{
	return __atomic_load_n(&buffers.closed, __ATOMIC_RELAXED);
}

/* Closes the table of buffers for good. Nothing is kept from now on: what is kept would be taken for what it is no
 * more. */
static void close_buffers(void)
{
	__atomic_store_n(&buffers.closed, true, __ATOMIC_RELAXED);
}

/* ---- how much memory ---- */

/* Bytes of an element in memory; 0: it points elsewhere, or is not known. */
static uint64_t element_bytes(struct h5_lib *l, hid_t type)
{
	size_t (*size)(hid_t) = H5CALL(l, H5Tget_size, size_t(*)(hid_t));
	int (*class)(hid_t) = H5CALL(l, H5Tget_class, int (*)(hid_t));
	htri_t (*has)(hid_t, int) = H5CALL(l, H5Tdetect_class, htri_t(*)(hid_t, int));
	htri_t (*points)(hid_t) = H5CALL(l, H5Tis_variable_str, htri_t(*)(hid_t));
	if (!size || !class || !has || !points)
		return 0;
	const int c = class(type);
	if (c == H5T_STRING ? points(type) != 0 : c < 0 || c == H5T_REFERENCE || c == H5T_VLEN)
		return 0;
	if (c > H5T_REFERENCE || c == H5T_COMPOUND) /* made up of others; an enumeration costs the same questions */
		for (int part = H5T_STRING; part <= H5T_VLEN; part++)
			if ((part == H5T_STRING || part == H5T_REFERENCE || part == H5T_VLEN) && has(type, part) != 0)
				return 0;
	return size(type);
}

/* Elements of a space of which all is selected; 0: only some are, or that is not known. */
static uint64_t whole_elements(struct h5_lib *l, hid_t space)
{
	hssize_t (*selected)(hid_t) = H5CALL(l, H5Sget_select_npoints, hssize_t(*)(hid_t)),
	         (*all)(hid_t) = H5CALL(l, H5Sget_simple_extent_npoints, hssize_t(*)(hid_t));
	const hssize_t n = selected && all ? selected(space) : 0;
	return n > 0 && all(space) == n ? (uint64_t)n : 0;
}

/* Elements in memory, where they are in one piece; 0: they are not. Without a space in memory that of the file says it.
 */
static uint64_t memory_elements(struct h5_lib *l, const struct h5_moved *m)
{
	hid_t (*space_of)(hid_t) = H5CALL(l, H5Dget_space, hid_t(*)(hid_t));
	herr_t (*close)(hid_t) = H5CALL(l, H5Sclose, herr_t(*)(hid_t));
	if (m->mem != H5S_ALL)
		return whole_elements(l, m->mem);
	if (m->space != H5S_ALL)
		return whole_elements(l, m->space);
	const hid_t space = space_of && close ? space_of(m->id) : -1;
	const uint64_t n = space >= 0 ? whole_elements(l, space) : 0;
	if (space >= 0)
		close(space);
	return n;
}

/* Bytes in memory; 0: in several pieces, or not known. */
static uint64_t memory_bytes(struct h5_lib *l, const struct h5_moved *m, uint64_t *ret_element)
{
	struct h5_quiet q;
	uint64_t bytes = 0;
	h5_hush(l, &q);
	const uint64_t n = memory_elements(l, m);
	*ret_element = n ? element_bytes(l, m->type) : 0;
	h5_unhush(l, &q);
	if (!*ret_element || __builtin_mul_overflow(n, *ret_element, &bytes))
		return 0;
	return bytes;
}

/* Can the processor read all of it? Memory of a device, and what is mapped no more, would end the program by a signal.
 * It costs a call; false also where the kernel cannot tell (before Linux 5.14), and then nothing is proved. */
static bool is_readable(const void *p, uint64_t n)
{
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
	static uintptr_t page;
	const int before = errno;
	if (!page)
		page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t from = (uintptr_t)p & ~(page - 1), end = (uintptr_t)p + n;
	const bool can = end > from && madvise((void *)from, end - from, MADV_POPULATE_READ) == 0;
	errno = before;
	return can;
}

/* Is it one value, over and over? */
static bool is_uniform(const void *p, uint64_t n, uint64_t element)
{
	return n <= element || memcmp(p, (const char *)p + element, n - element) == 0;
}

/* ---- reads ---- */

/* Do both regions of memory overlap? n: bytes from from on. */
static bool is_overlapping(const struct buffer *b, uintptr_t from, uint64_t n)
{
	return b->from < from + n && from < b->from + b->n;
}

/* Lets go of all that was where something else is now, or of the oldest. With the lock. */
static struct buffer *take_place(uintptr_t from, uint64_t n)
{
	uint32_t oldest = 0;
	for (uint32_t i = 0; i < buffers.n;)
		if (is_overlapping(&buffers.v[i], from, n))
			buffers.v[i] = buffers.v[--buffers.n];
		else
			i++;
	if (buffers.n < BUFFERS)
		return &buffers.v[buffers.n++];
	for (uint32_t i = 1; i < buffers.n; i++)
		if (buffers.v[i].age < buffers.v[oldest].age)
			oldest = i;
	return &buffers.v[oldest];
}

void h5_buffers_forget(void)
{
	if (are_closed() || !__atomic_load_n(&buffers.n, __ATOMIC_RELAXED))
		return;
	if (!lock_buffers()) {
		close_buffers();
		return;
	}
	buffers.n = 0;
	unlock_buffers();
}

/* After a read: notes that this memory holds o's data. */
void h5_memory_filled(struct h5_obj *o, const struct h5_memory *m)
{
	if (are_closed())
		return;
	if (!o || !o->told || !m->n || o->elsewhere) { /* where it went is not known */
		h5_buffers_forget();
		return;
	}
	const int64_t n = m->n < INT64_MAX / 2 ? (int64_t)m->n : INT64_MAX / 2;
	if (__atomic_sub_fetch(&buffers.credit, n, __ATOMIC_RELAXED) < 0) {
		close_buffers();
		return;
	}
	const bool proves = m->n >= BUFFER_LEAST && is_readable(m->p, m->n) && !is_uniform(m->p, m->n, m->element);
	const uint64_t hash = proves ? XXH3_64bits(m->p, m->n) : 0;
	if (!lock_buffers()) {
		close_buffers();
		return;
	}
	struct buffer *b = take_place((uintptr_t)m->p, m->n);
	if (proves)
		*b = (struct buffer){.from = (uintptr_t)m->p, .n = m->n, .hash = hash, .age = ++buffers.age, .o = o};
	else
		*b = buffers.v[--buffers.n];
	unlock_buffers();
}

void h5_buffer_filled(struct h5_lib *l, struct h5_obj *o, const struct h5_moved *m)
{
	struct h5_memory memory = {.p = m->p};
	if (are_closed())
		return;
	memory.n = o && o->told && !o->elsewhere && m->p ? memory_bytes(l, m, &memory.element) : 0;
	h5_memory_filled(o, &memory);
}

/* ---- writes ---- */

/* The reads that the memory is made up of, in order; 0: it is not, or of too many. With the lock. */
static unsigned find_pieces(uintptr_t from, uint64_t n, struct buffer *ret)
{
	unsigned found = 0;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < buffers.n; i++) {
		const struct buffer *b = &buffers.v[i];
		if (!is_overlapping(b, from, n))
			continue;
		if (b->from < from || b->from + b->n > from + n || found == PIECES)
			return 0;
		sum += b->n; /* none overlaps another one */
		ret[found++] = *b;
	}
	return sum == n ? found : 0;
}

/* Puts down, once, that values of the one came into the other. */
static void note_source(struct h5_obj *to, const struct h5_obj *from)
{
	const unsigned room = sizeof(to->moved_from) / sizeof(to->moved_from[0]);
	for (unsigned i = 0; i < room; i++) {
		uint64_t none = 0;
		if (__atomic_load_n(&to->moved_from[i], __ATOMIC_RELAXED) == from->num)
			return;
		if (!__atomic_compare_exchange_n(&to->moved_from[i], &none, from->num, false, __ATOMIC_RELAXED,
		                                 __ATOMIC_RELAXED)) {
			if (none == from->num)
				return;
			continue;
		}
		const struct h5_copy pair = {.to = to->num, .from = from->num};
		app_tape_put(&(struct app_entry){.kind = H5_MOVED},
		             &(struct app_words){.value = (const char *)&pair, .nvalue = sizeof(pair)});
		return;
	}
	__atomic_fetch_or(&to->told->flags, H5_MORE_SOURCES, __ATOMIC_RELAXED);
}

/* After a write: notes which objects' data this memory held, so that o was made of them. */
void h5_memory_written(struct h5_obj *o, const struct h5_memory *m)
{
	struct buffer piece[PIECES];
	if (!__atomic_load_n(&buffers.n, __ATOMIC_RELAXED) || are_closed() || !o || !o->told || m->n < BUFFER_LEAST ||
	    !lock_buffers())
		return;
	const unsigned pieces = find_pieces((uintptr_t)m->p, m->n, piece);
	unlock_buffers();
	for (unsigned i = 0; i < pieces; i++)
		if (!is_readable((const void *)piece[i].from, piece[i].n) ||
		    XXH3_64bits((const void *)piece[i].from, piece[i].n) != piece[i].hash)
			return;
	if (!pieces)
		return;
	__atomic_add_fetch(&buffers.credit, (int64_t)(m->n < 1u << 30 ? 4 * m->n : 4ull << 30), __ATOMIC_RELAXED);
	for (unsigned i = 0; i < pieces; i++)
		note_source(o, piece[i].o);
	__atomic_add_fetch(&o->told->moved, 1, __ATOMIC_RELAXED);
}

/* After a write through a buffer of the program. */
void h5_buffer_written(struct h5_lib *l, struct h5_obj *o, const struct h5_moved *m)
{
	struct h5_memory memory = {.p = m->p};
	if (!__atomic_load_n(&buffers.n, __ATOMIC_RELAXED) || are_closed() || !o || !o->told || o->elsewhere || !m->p)
		return;
	memory.n = memory_bytes(l, m, &memory.element);
	h5_memory_written(o, &memory);
}
