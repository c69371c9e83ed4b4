/* Where netCDF's functions are, for each module that calls them: as h5_real.c, without a lock. A netCDF that was found
 * is kept; it is looked for by where a function of it lies, so that one that was loaded again is another one. */
#include "capture/hdf5/nc.h"
#include "capture/interpose/raw.h"
#include "capture/interpose/symbols.h"

#include <string.h>
#include <sys/mman.h>

#define LIBS 4
#define CALLERS 64

static const char *const names[] = {
#define FN(name) #name,
#define MOVES(to, shape, type, size) "nc_" #to "_" #shape #type,
#include "capture/hdf5/nc_names.def"
#undef FN
#undef MOVES
};

struct finding {
	struct nc_lib lib;
	struct symbol found[NCFN_COUNT];
};
static struct nc_lib *libs[LIBS]; /* filled from the front, never emptied */
static struct caller {
	uintptr_t low, high;
	struct nc_lib *lib; /* set last */
} callers[CALLERS];
static unsigned ncallers; /* that were begun, or more */

/* Is the file a netCDF library, by its file name; not those for other languages. */
static bool is_netcdf_library(const char *file)
{
	return strstr(file, "netcdf") && !strstr(file, "netcdff") && !strstr(file, "netcdf_c++") &&
	       !strstr(file, "netcdf-c++");
}

/* Keeps what was found, or gives what another thread was faster with; NULL: it is no netCDF, or there are too many. */
static struct nc_lib *keep_lib(struct finding *f, const struct symbol_object *o)
{
	const uintptr_t at = (uintptr_t)f->found[NCFN_nc_inq_libvers].f;
	if (at < o->low || at >= o->high) /* a module that was linked with it */
		return NULL;
	for (unsigned i = 0; i < NCFN_COUNT; i++)
		f->lib.fn[i] = f->found[i].f;
	f->lib.low = o->low;
	f->lib.high = o->high;
	for (unsigned i = 0; i < LIBS; i++) {
		struct nc_lib *there = NULL;
		if (__atomic_compare_exchange_n(&libs[i], &there, &f->lib, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return &f->lib;
		if (there->low == o->low && there->fn[NCFN_nc_inq_libvers] == f->lib.fn[NCFN_nc_inq_libvers])
			return there;
	}
	return NULL;
}

/* The library whose code holds the address; NULL if it is not known yet. */
static struct nc_lib *known_at(const void *address)
{
	struct nc_lib *l;
	for (unsigned i = 0; i < LIBS && (l = __atomic_load_n(&libs[i], __ATOMIC_ACQUIRE)); i++)
		if ((uintptr_t)address >= l->low && (uintptr_t)address < l->high)
			return l;
	return NULL;
}

/* The netCDF that the caller's calls would go to. */
static struct nc_lib *lib_of_caller(const void *caller)
{
	void *next = symbols_next_one("nc_inq_libvers");
	struct symbol_object o;
	struct nc_lib *l = next ? known_at(next) : NULL;
	if (l)
		return l;
	long at = raw6(SYS_mmap, 0, sizeof(struct finding), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return NULL;
	struct finding *f = (struct finding *)at;
	for (unsigned i = 0; i < NCFN_COUNT; i++)
		f->found[i].name = names[i];
	if (next ? symbols_at(next, f->found, NCFN_COUNT, &o)
	         : symbols_later(caller, "nc_inq_libvers", is_netcdf_library, f->found, NCFN_COUNT, &o))
		l = keep_lib(f, &o);
	if (!l || l != &f->lib)
		raw3(SYS_munmap, (long)f, sizeof(*f), 0);
	return l;
}

/* The netCDF library that the caller's module is bound to, and remembers it. NULL if there is none. */
static struct nc_lib *find_library(const void *caller)
{
	struct symbol_object module;
	struct nc_lib *l = lib_of_caller(caller);
	if (!l)
		return NULL;
	if (__atomic_load_n(&ncallers, __ATOMIC_RELAXED) < CALLERS && symbols_object(caller, &module)) {
		const unsigned n = __atomic_fetch_add(&ncallers, 1, __ATOMIC_ACQ_REL);
		if (n < CALLERS) {
			callers[n].low = module.low;
			callers[n].high = module.high;
			__atomic_store_n(&callers[n].lib, l, __ATOMIC_RELEASE);
		}
	}
	return l;
}

struct nc_lib *nc_lib_of(const void *caller)
{
	const uintptr_t at = (uintptr_t)caller;
	const unsigned n = __atomic_load_n(&ncallers, __ATOMIC_ACQUIRE);
	struct nc_lib *l = NULL;
	for (unsigned i = 0; i < n && i < CALLERS && !l; i++)
		if (at - callers[i].low < callers[i].high - callers[i].low)
			l = __atomic_load_n(&callers[i].lib, __ATOMIC_ACQUIRE);
	return l ? l : find_library(caller);
}
