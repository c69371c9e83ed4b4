/* The names of all objects of a file, learnt by going through it once. HDF5 looks for the name of an object that was
 * opened by a reference or an address in the whole file, each time: after a few of those it is cheaper to go through it
 * oneself.
 *
 * Cost: one H5Ovisit; memory: 16 bytes and its name for an object, at most 200,000 objects. What lies behind external
 * links is not looked at. */
#include "capture/hdf5/h5_state.h"

#include "event/event.h"

#include <string.h>
#include <sys/mman.h>

enum { NAMES_FIRST = 4096, NAMES_MAX = 200000 };
enum { VISITS = 4 }; /* of one file: what they learnt is never given back */
#define H5O_INFO_BASIC 1u

struct h5_named {
	uint64_t addr;
	const char *name; /* NULL: free */
};
struct h5_names {
	struct h5_named *v;
	size_t n, mask;
};

/* Zeroed; NULL: no memory. */
static struct h5_named *map_names(size_t n)
{
	void *p = mmap(NULL, n * sizeof(struct h5_named), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* The slot of the object, or the free one where it belongs. */
static struct h5_named *find_slot(const struct h5_names *t, uint64_t addr)
{
	size_t i = (size_t)(addr * 0x9e3779b97f4a7c15u >> 20) & t->mask;
	while (t->v[i].name && t->v[i].addr != addr)
		i = (i + 1) & t->mask;
	return &t->v[i];
}

/* Makes the table of names twice as large. False: no memory, and t is as it was. */
static bool grow_names(struct h5_names *t)
{
	struct h5_names more = {.mask = (t->mask + 1) * 2 - 1};
	if (!(more.v = map_names(more.mask + 1)))
		return false;
	for (size_t i = 0; i <= t->mask; i++)
		if (t->v[i].name)
			*find_slot(&more, t->v[i].addr) = t->v[i];
	munmap(t->v, (t->mask + 1) * sizeof(*t->v));
	t->v = more.v;
	t->mask = more.mask;
	return true;
}

/* With a slash before it, where it stays for good. NULL: no room, or too long. */
static const char *copy_name(const char *name)
{
	const size_t n = strlen(name);
	struct h5_state *s = n < H5_NAME_MAX ? h5_state_lock() : NULL;
	char *copy = s ? h5_state_room(s, n + 2) : NULL;
	if (s)
		h5_state_unlock(s);
	if (!copy)
		return NULL;
	copy[0] = '/';
	memcpy(copy + 1, name, n + 1);
	return copy;
}

/* Called by HDF5 for each object; info begins as h5_ask_object has it, and the address, or its token, is its second
 * word. */
static herr_t take_name(hid_t id, const char *name, const void *info, void *arg)
{
	struct h5_names *t = arg;
	uint64_t addr;
	(void)id;
	memcpy(&addr, (const char *)info + sizeof(unsigned long), sizeof(addr));
	if (!strcmp(name, ".") || t->n >= NAMES_MAX)
		return t->n >= NAMES_MAX;
	if (t->n * 2 > t->mask && !grow_names(t))
		return 1;
	struct h5_named *slot = find_slot(t, addr);
	const char *copy = slot->name ? NULL : copy_name(name);
	if (copy) {
		*slot = (struct h5_named){addr, copy};
		t->n++;
	}
	return 0;
}

typedef herr_t (*visit_fn)(hid_t, int, int, herr_t (*)(hid_t, const char *, const void *, void *), void *, unsigned);

/* All objects of the file that id is of, with one name each. NULL: this HDF5 has no such function, or no memory. */
static struct h5_names *visit(struct h5_lib *l, hid_t id)
{
	hid_t (*open)(hid_t, const char *, hid_t) = H5CALL(l, H5Oopen, hid_t(*)(hid_t, const char *, hid_t));
	herr_t (*close)(hid_t) = H5CALL(l, H5Oclose, herr_t(*)(hid_t));
	visit_fn all = l->fn[H5FN_H5Ovisit3] ? H5CALL(l, H5Ovisit3, visit_fn) : H5CALL(l, H5Ovisit2, visit_fn);
	struct h5_state *s = open && close && all ? h5_state_lock() : NULL;
	struct h5_names *t = s ? h5_state_room(s, sizeof(*t)) : NULL;
	if (s)
		h5_state_unlock(s);
	if (!t || !(t->v = map_names(NAMES_FIRST)))
		return NULL;
	t->n = 0;
	t->mask = NAMES_FIRST - 1;
	const hid_t root = open(id, "/", 0);
	if (root >= 0) {
		all(root, 0, 2, take_name, t, H5O_INFO_BASIC); /* by name, in whatever order */
		close(root);
	}
	return t;
}

void h5_forget_visit(struct h5_open *f)
{
	__atomic_store_n(&f->names, NULL, __ATOMIC_RELEASE); /* others may read it: it stays where it is */
}

const char *h5_visited_name(struct h5_lib *l, hid_t id, struct h5_open *f, uint64_t addr)
{
	struct h5_names *t = __atomic_load_n(&f->names, __ATOMIC_ACQUIRE);
	if (!t && f->visits < VISITS && (t = visit(l, id))) {
		f->visits++;
		__atomic_store_n(&f->names, t, __ATOMIC_RELEASE);
	}
	const char *name = t ? find_slot(t, addr)->name : NULL;
	return name;
}
