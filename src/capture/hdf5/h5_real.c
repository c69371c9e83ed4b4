/* Where the real functions are. A module's calls come to us because preloaded libraries stand in everybody's scope;
 * what they would have come to otherwise is the next definition in the global scope or, for a module that was loaded on
 * its own (a Python module with RTLD_LOCAL, a wheel with a renamed HDF5), the one in the module's own. So each caller's
 * module is looked at once, and may have its own HDF5. A HDF5 that was found stays loaded: its functions are kept.
 *
 * The linker's lock is not taken (inject/symbols.h): who holds it may wait for the thread that calls. There is no lock
 * of ours either, so that a signal handler or a child of fork can make the first call. */
#include "capture/hdf5/h5.h"
#include "capture/interpose/raw.h"
#include "capture/interpose/symbols.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#define LIBS 8
#define CALLERS 128

static const char *const names[] = {
#define FN(name) #name,
#include "capture/hdf5/h5_names.def"
#undef FN
};

struct pair {
	struct h5_lib outer, own; /* for calls from outside; for its own, which are none of the program's */
	bool pinned, asked;
	char file[4096];
	struct symbol found[H5FN_COUNT];
};
static struct pair *libs[LIBS]; /* filled from the front, never emptied */
static struct caller {
	uintptr_t low, high;
	struct h5_lib *lib; /* set last */
} callers[CALLERS];
static unsigned ncallers; /* that were begun, or more */

/* By its file name; not its high-level library, nor the recorder's own. */
static bool is_hdf5_library(const char *file)
{
	return strstr(file, "hdf5") && !strstr(file, "_hl") && !strstr(file, "stemma-hdf5");
}

/* Makes an empty table of the functions of HDF5 and of the calls that it makes of itself. NULL: no memory. Not
 * freed. */
static struct pair *pair_new(void)
{
	long at = raw6(SYS_mmap, 0, sizeof(struct pair), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pair *p = at < 0 && at > -4096 ? NULL : (struct pair *)at;
	for (unsigned i = 0; p && i < H5FN_COUNT; i++)
		p->found[i].name = names[i];
	return p;
}

/* Keeps the functions that of an HDF5 that was found, whose functions stand in p: p, or what another thread was
 * faster with. */
static struct pair *pair_keep(struct pair *p, const struct symbol_object *o)
{
	uintptr_t at = (uintptr_t)p->found[H5FN_H5get_libversion].f;
	struct pair *is = NULL;
	size_t n = strlen(o->name);
	/* A module that was linked with HDF5 is none. */
	if (at < o->low || at >= o->high || n >= sizeof(p->file))
		goto out;
	memcpy(p->file, o->name, n + 1);
	for (unsigned i = 0; i < H5FN_COUNT; i++)
		p->outer.fn[i] = p->found[i].f;
	p->outer.low = o->low;
	p->outer.high = o->high;
	p->own = p->outer;
	for (unsigned i = 0; i < LIBS && !is; i++) {
		struct pair *there = NULL;
		if (__atomic_compare_exchange_n(&libs[i], &there, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return p;
		if (there->outer.low == o->low)
			is = there;
	}
out:
	raw3(SYS_munmap, (long)p, sizeof(*p), 0);
	return is;
}

/* The HDF5 in whose code the address is, made known where it is new. NULL: none is there. */
static struct pair *pair_at(const void *address)
{
	uintptr_t at = (uintptr_t)address;
	struct symbol_object o;
	struct pair *p;
	for (unsigned i = 0; i < LIBS && (p = __atomic_load_n(&libs[i], __ATOMIC_ACQUIRE)); i++)
		if (at >= p->outer.low && at < p->outer.high)
			return p;
	if (!(p = pair_new()))
		return NULL;
	if (symbols_at(address, p->found, H5FN_COUNT, &o))
		return pair_keep(p, &o);
	raw3(SYS_munmap, (long)p, sizeof(*p), 0);
	return NULL;
}

struct h5_lib *h5_lib_at(const void *address)
{
	struct pair *p = pair_at(address);
	return p ? &p->outer : NULL;
}

/* Before something is unloaded, what was found is told to stay: the linker's lock is about to be the caller's anyway.
 */
void h5_lib_pin(void)
{
	struct pair *p;
	for (unsigned i = 0; i < LIBS && (p = __atomic_load_n(&libs[i], __ATOMIC_ACQUIRE)); i++)
		if (!__atomic_exchange_n(&p->pinned, true, __ATOMIC_ACQ_REL) && p->file[0] &&
		    !dlopen(p->file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
			dlerror(); /* the program is not to find it */
}

void h5_lib_ask(struct h5_lib *l, unsigned ret_version[3])
{
	herr_t (*get)(unsigned *, unsigned *, unsigned *) =
	    H5CALL(l, H5get_libversion, herr_t(*)(unsigned *, unsigned *, unsigned *));
	ret_version[0] = ret_version[1] = ret_version[2] = 0;
	if (!get || get(&ret_version[0], &ret_version[1], &ret_version[2]) < 0)
		ret_version[0] = 0;
}

/* Writes a version, such as 1.14.3. Returns its length; 36 bytes are enough. */
static size_t format_version(char *to, const unsigned v[3])
{
	size_t n = 0;
	for (int i = 0; i < 3; i++) {
		char digits[12];
		unsigned k = 0, d = v[i];
		do
			digits[k++] = (char)('0' + d % 10);
		while (d /= 10);
		while (k)
			to[n++] = digits[--k];
		to[n++] = i < 2 ? '.' : '\0';
	}
	return n - 1;
}

/* Writes the version to the tape. */
void h5_lib_write_version(const struct h5_lib *l, const unsigned v[3])
{
	char text[40];
	size_t n = format_version(text, v);
	app_tape_put(&(struct app_entry){.kind = H5_START, .id = l->version},
	             &(struct app_words){.value = text, .nvalue = n});
}

/* What is asked of it goes through the real function, and may make it set itself up, as the call to come would. */
static void ask_version(struct h5_lib *l)
{
	unsigned v[3];
	h5_lib_ask(l, v);
	if (v[0])
		l->version = v[0] << 16 | v[1] << 8 | (v[2] & 255);
	if (l->connected)
		return;
	/* 1.10 made identifiers 64 bits wide; these three are what the tests have. */
	l->known = v[0] == 1 && (v[1] == 10 || v[1] == 12 || v[1] == 14);
	char text[80] = "unknown version of HDF5: ";
	format_version(text + strlen(text), v);
	if (app_tape_on() && !l->known)
		h5_gap(text);
	if (app_tape_on() && l->known)
		h5_lib_write_version(l, v);
}

/* The HDF5 that the caller's calls would go to. NULL: there is none yet. */
static struct pair *pair_of_caller(const void *caller)
{
	void *f = symbols_next_one("H5get_libversion");
	struct symbol_object o;
	struct pair *p;
	if (f)
		return pair_at(f);
	if (!(p = pair_new()))
		return NULL;
	if (symbols_later(caller, "H5get_libversion", is_hdf5_library, p->found, H5FN_COUNT, &o))
		return pair_keep(p, &o);
	raw3(SYS_munmap, (long)p, sizeof(*p), 0);
	return NULL;
}

/* Finds which HDF5 library the code at caller calls. As pair_of_caller; `own` are calls that HDF5 makes of itself.
 * Remembers which it is for all of the caller's module. */
static struct h5_lib *find_library(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;
	struct symbol_object module;
	struct pair *p = pair_of_caller(caller);
	if (!p)
		return NULL;
	bool own = at >= p->outer.low && at < p->outer.high;
	struct h5_lib *it = own ? &p->own : &p->outer;
	if (__atomic_load_n(&ncallers, __ATOMIC_RELAXED) < CALLERS && symbols_object(caller, &module)) {
		unsigned n = __atomic_fetch_add(&ncallers, 1, __ATOMIC_ACQ_REL);
		if (n < CALLERS) {
			callers[n].low = module.low;
			callers[n].high = module.high;
			__atomic_store_n(&callers[n].lib, it, __ATOMIC_RELEASE);
		}
	}
	if (!own && !__atomic_exchange_n(&p->asked, true, __ATOMIC_ACQ_REL))
		ask_version(&p->outer);
	return it;
}

struct h5_lib *h5_lib_of(const void *caller)
{
	static struct caller *last;
	uintptr_t at = (uintptr_t)caller;
	struct caller *c = __atomic_load_n(&last, __ATOMIC_RELAXED);
	if (c && at - c->low < c->high - c->low)
		return c->lib;
	unsigned n = __atomic_load_n(&ncallers, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < n && i < CALLERS; i++) {
		struct h5_lib *l = __atomic_load_n(&callers[i].lib, __ATOMIC_ACQUIRE);
		if (l && at - callers[i].low < callers[i].high - callers[i].low) {
			__atomic_store_n(&last, &callers[i], __ATOMIC_RELAXED);
			return l;
		}
	}
	return find_library(caller);
}
