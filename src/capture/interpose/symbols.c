#include "capture/interpose/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "capture/interpose/raw.h"

#define OBJECTS 4096 /* that are looked at for what a caller needs */
#define HIDDEN_VERSION 0x8000

/* Another C library than the GNU one does not have it. */
extern struct r_debug _r_debug __attribute__((weak));
#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object
#endif
/* Of the library that this is part of: by it its own object is known. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

struct tables {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Half) * versions; /* NULL: there are none */
	const uint32_t *gnu, *sysv;  /* one of them */
	const ElfW(Dyn) * dynamic;
};

/* ---- one object ---- */

/* The object's tables, whose addresses the linker may have relocated. False: it has no symbols, or no hash of them. */
static bool read_tables(uintptr_t base, const ElfW(Dyn) * dynamic, struct tables *ret)
{
	*ret = (struct tables){.base = base, .dynamic = dynamic};
	for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
		/* The linker has made addresses of them, but in what it cannot write to: the kernel's own object. */
		uintptr_t at = d->d_un.d_ptr < base ? d->d_un.d_ptr + base : d->d_un.d_ptr;
		switch (d->d_tag) {
		case DT_SYMTAB:
			ret->symbols = (const void *)at;
			break;
		case DT_STRTAB:
			ret->strings = (const void *)at;
			break;
		case DT_VERSYM:
			ret->versions = (const void *)at;
			break;
		case DT_GNU_HASH:
			ret->gnu = (const void *)at;
			break;
		case DT_HASH:
			ret->sysv = (const void *)at;
			break;
		default:
			break;
		}
	}
	return ret->symbols && ret->strings && (ret->gnu || ret->sysv);
}

/* As DT_GNU_HASH has it. */
static uint32_t hash_gnu(const char *name)
{
	uint32_t h = 5381;
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		h = h * 33 + *p;
	return h;
}

/* As DT_HASH has it. */
static uint32_t hash_sysv(const char *name)
{
	uint32_t h = 0;
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		h = (h << 4) + *p;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

/* The address of a function with several implementations the object itself chooses. */
static void *resolve_ifunc(uintptr_t at)
{
#if defined(__aarch64__)
	struct {
		unsigned long size, hwcap, hwcap2;
	} more = {sizeof(more), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
	void *(*choose)(uint64_t, const void *) = (void *(*)(uint64_t, const void *))at;
	return choose(more.hwcap | 1ull << 62, &more);
#else
	void *(*choose)(void) = (void *(*)(void))at;
	return choose();
#endif
}

/* The address of symbol i. NULL if it is another symbol, not defined, not a function or object, or of a hidden
 * version. Runs an ifunc's resolver. */
static void *symbol_value_if_named(const struct tables *t, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[i];
	unsigned type = s->st_info & 15;
	if (s->st_shndx == SHN_UNDEF || !s->st_value || type == STT_TLS || type == STT_SECTION || type == STT_FILE ||
	    (t->versions && t->versions[i] & HIDDEN_VERSION) || strcmp(t->strings + s->st_name, name) != 0)
		return NULL;
	uintptr_t at = t->base + s->st_value;
	return type == STT_GNU_IFUNC ? resolve_ifunc(at) : (void *)at;
}

/* Looks a name up in one loaded object. gnu: the name's GNU hash. NULL: it is not defined there. */
static void *find_in(const struct tables *t, const char *name, uint32_t gnu)
{
	if (t->gnu) {
		uint32_t nbuckets = t->gnu[0], first = t->gnu[1], nwords = t->gnu[2], shift = t->gnu[3];
		const ElfW(Addr) *bloom = (const void *)(t->gnu + 4);
		const uint32_t *buckets = (const void *)(bloom + nwords), *chain = buckets + nbuckets;
		const unsigned bits = 8 * sizeof(bloom[0]);
		if (!nbuckets || !nwords)
			return NULL;
		ElfW(Addr) word = bloom[gnu / bits % nwords];
		if (!(word >> gnu % bits & word >> (gnu >> shift) % bits & 1))
			return NULL;
		for (uint32_t i = buckets[gnu % nbuckets]; i >= first; i++) {
			void *f = (chain[i - first] | 1) == (gnu | 1) ? symbol_value_if_named(t, i, name) : NULL;
			if (f)
				return f;
			if (chain[i - first] & 1)
				break;
		}
		return NULL;
	}
	uint32_t nbuckets = t->sysv[0];
	const uint32_t *buckets = t->sysv + 2, *chain = buckets + nbuckets;
	for (uint32_t i = nbuckets ? buckets[hash_sysv(name) % nbuckets] : 0; i; i = chain[i]) {
		void *f = symbol_value_if_named(t, i, name);
		if (f)
			return f;
	}
	return NULL;
}

/* Finds those that are not found yet. How many are still missing. */
static size_t find_all(const struct tables *t, struct symbol *v, size_t n)
{
	size_t missing = 0;
	for (size_t i = 0; i < n; i++) {
		if (!v[i].f)
			v[i].f = find_in(t, v[i].name, hash_gnu(v[i].name));
		missing += !v[i].f;
	}
	return missing;
}

/* ---- what the program began with ---- */

/* How many these are: as many as there are when this is asked first, by our constructor or before it. */
static unsigned count_first_objects(void)
{
	static unsigned known;
	unsigned n = __atomic_load_n(&known, __ATOMIC_RELAXED), none = 0;
#ifdef STEMMA_LOADED_LATE /* this library is none of them, perhaps, and nothing is known of what others are */
	return 0;
#endif
	if (n)
		return n;
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		n++;
	return __atomic_compare_exchange_n(&known, &none, n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? n : none;
}

/* Notes which objects were loaded first. Without a dynamic linker there are none. */
__attribute__((constructor)) static void count_now(void)
{
	if (&_r_debug)
		count_first_objects();
}

/* The entry of this library in the loader's list. NULL: not among the objects loaded at first. *ret_left: how many
 * of those are left, from it on. */
static const struct link_map *own_map(unsigned *ret_left)
{
	unsigned left = count_first_objects();
	const struct link_map *m = _r_debug.r_map;
	for (; m && left && m->l_ld != _DYNAMIC; left--)
		m = m->l_next;
	*ret_left = left;
	return left ? m : NULL;
}

bool symbols_next(struct symbol *v, size_t n)
{
	struct tables t;
	unsigned left;
	if (!&_r_debug || !_r_debug.r_map)
		return false;
	const struct link_map *m = own_map(&left);
	for (m = m ? m->l_next : NULL; m && --left; m = m->l_next)
		if (read_tables(m->l_addr, m->l_ld, &t) && !find_all(&t, v, n))
			break;
	return true;
}

void *symbols_next_one(const char *name)
{
	struct symbol s = {NULL, name};
	return symbols_next(&s, 1) ? s.f : dlsym(RTLD_NEXT, name);
}

const char *symbols_own_file(void)
{
	unsigned left;
	const struct link_map *m = &_r_debug && _r_debug.r_map ? own_map(&left) : NULL;
	return m && m->l_name && m->l_name[0] == '/' ? m->l_name : NULL;
}

/* ---- what came later ---- */

struct object {
	uintptr_t base, low, high;
	const ElfW(Dyn) * dynamic;
	const char *name;
};

/* Where it is loaded; low is above high where it has no segments. */
static struct object describe_object(const struct dl_phdr_info *info)
{
	struct object o = {info->dlpi_addr, UINTPTR_MAX, 0, NULL, info->dlpi_name ? info->dlpi_name : ""};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
		if (p->p_type == PT_DYNAMIC)
			o.dynamic = (const void *)from;
		if (p->p_type != PT_LOAD)
			continue;
		o.low = from < o.low ? from : o.low;
		o.high = to > o.high ? to : o.high;
	}
	return o;
}

struct search {
	uintptr_t at;
	struct object o;
};

/* Ends the search, by 1, at the object that s->at lies in; s->o is the last that was looked at. */
static int has_address(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	(void)size;
	s->o = describe_object(info);
	return s->at >= s->o.low && s->at < s->o.high;
}

/* Which loaded object an address belongs to. False: no loaded object is there. */
static bool object_at(const void *address, struct object *ret)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
	struct dl_find_object found;
	if (&_dl_find_object && _dl_find_object((void *)(uintptr_t)address, &found) == 0) {
		const struct link_map *m = found.dlfo_link_map;
		*ret = (struct object){m->l_addr, (uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end, m->l_ld,
		                       m->l_name ? m->l_name : ""};
		return true;
	}
#endif
	struct search s = {.at = (uintptr_t)address};
	bool is = dl_iterate_phdr(has_address, &s) != 0;
	*ret = s.o;
	return is;
}

bool symbols_object(const void *address, struct symbol_object *ret)
{
	struct object o;
	bool is = object_at(address, &o);
	if (is)
		*ret = (struct symbol_object){o.low, o.high, o.name};
	return is;
}

bool symbols_at(const void *address, struct symbol *v, size_t n, struct symbol_object *ret)
{
	struct object o;
	struct tables t;
	if (!object_at(address, &o) || !read_tables(o.base, o.dynamic, &t))
		return false;
	find_all(&t, v, n);
	*ret = (struct symbol_object){o.low, o.high, o.name};
	return true;
}

struct later {
	const void *caller;
	const char *name;
	bool (*fits)(const char *file);
	struct symbol *v;
	size_t n;
	struct symbol_object *ret;
	bool found;
	struct object *objects; /* all, in the linker's order */
	size_t nobjects;
	uint16_t *queue;
};

/* For dl_iterate_phdr; ends it at OBJECTS. */
static int gather_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct later *l = arg;
	(void)size;
	if (l->nobjects == OBJECTS)
		return 1;
	l->objects[l->nobjects++] = describe_object(info);
	return 0;
}

/* Points into path. */
static const char *object_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Is it what another object needs under that name? */
static bool is_object_named(const struct object *o, const char *needed)
{
	struct tables t;
	if (!strcmp(o->name, needed) || !strcmp(object_file_name(o->name), object_file_name(needed)))
		return true;
	if (!read_tables(o->base, o->dynamic, &t))
		return false;
	for (const ElfW(Dyn) *d = t.dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			return !strcmp(t.strings + d->d_un.d_val, needed);
	return false;
}

/* Does it define l->name? Not this library itself. */
static bool has_definition(const struct later *l, const struct object *o, struct tables *ret)
{
	return o->dynamic != _DYNAMIC && read_tables(o->base, o->dynamic, ret) && find_in(ret, l->name, hash_gnu(l->name));
}

/* Sets l->ret and l->v where it has l->name. Not of this library itself. */
static bool object_defines(struct later *l, const struct object *o)
{
	struct tables t;
	if (!has_definition(l, o, &t))
		return false;
	find_all(&t, l->v, l->n);
	*l->ret = (struct symbol_object){o->low, o->high, o->name};
	return true;
}

/* Does the linker write a symbol's address, and nothing else, for relocations of this type? */
static bool is_address_written(const ElfW(Rela) * r)
{
#if defined(__x86_64__)
	const unsigned type = ELF64_R_TYPE(r->r_info);
	return r->r_addend == 0 && (type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT || type == R_X86_64_64);
#elif defined(__aarch64__)
	const unsigned type = ELF64_R_TYPE(r->r_info);
	return r->r_addend == 0 && (type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_ABS64);
#else
	(void)r;
	return false;
#endif
}

/* The object, one of the first n in l->queue, that this relocation of t's object was bound to. Only by a symbol that
 * all of them define: by others it may have been bound past the one that is looked for. NULL: by this relocation it
 * cannot be told. */
static const struct object *bound_object(const struct later *l, size_t n, const struct tables *t, const ElfW(Rela) * r)
{
	const struct object *is = NULL;
	struct tables one;
	uintptr_t at;
	if (!ELF64_R_SYM(r->r_info) || !is_address_written(r))
		return NULL;
	memcpy(&at, (const void *)(t->base + r->r_offset), sizeof(at));
	for (size_t i = 0; i < n && !is; i++)
		if (at >= l->objects[l->queue[i]].low && at < l->objects[l->queue[i]].high)
			is = &l->objects[l->queue[i]];
	const char *name = t->strings + t->symbols[ELF64_R_SYM(r->r_info)].st_name;
	for (size_t i = 0; i < n && is; i++)
		if (!has_definition(l, &l->objects[l->queue[i]], &one) || !find_in(&one, name, hash_gnu(name)))
			is = NULL;
	return is;
}

/* Where several objects define it: the one that the caller's object was bound to. False: that cannot be told. */
static bool find_bound(struct later *l)
{
	const struct object *caller = NULL, *is = NULL;
	uintptr_t from[2] = {0}, size[2] = {0};
	struct tables t;
	size_t n = 0;
	for (size_t i = 0; i < l->nobjects; i++) {
		const struct object *o = &l->objects[i];
		if ((uintptr_t)l->caller >= o->low && (uintptr_t)l->caller < o->high)
			caller = o;
		if (has_definition(l, o, &t))
			l->queue[n++] = (uint16_t)i;
	}
	if (!caller || n < 2 || !read_tables(caller->base, caller->dynamic, &t))
		return false;
	for (const ElfW(Dyn) *d = t.dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RELA || d->d_tag == DT_JMPREL)
			from[d->d_tag == DT_JMPREL] = d->d_un.d_ptr < t.base ? d->d_un.d_ptr + t.base : d->d_un.d_ptr;
		if (d->d_tag == DT_RELASZ || d->d_tag == DT_PLTRELSZ)
			size[d->d_tag == DT_PLTRELSZ] = d->d_un.d_val;
	}
	for (unsigned k = 0; k < 2; k++) {
		const ElfW(Rela) *r = (const void *)from[k];
		for (size_t i = 0; r && i < size[k] / sizeof(*r) && !is; i++)
			is = bound_object(l, n, &t, &r[i]);
	}
	return is && object_defines(l, is);
}

/* The object that has the address, what it needs, what these need, and so on: each once. False: none of them defines
 * it. */
static bool find_needed(struct later *l, uintptr_t address)
{
	size_t n = 0;
	for (size_t i = 0; i < l->nobjects && !n; i++)
		if (address >= l->objects[i].low && address < l->objects[i].high)
			l->queue[n++] = (uint16_t)i;
	for (size_t at = 0; at < n; at++) {
		const struct object *o = &l->objects[l->queue[at]];
		struct tables t;
		if (object_defines(l, o))
			return true;
		if (!read_tables(o->base, o->dynamic, &t))
			continue;
		for (const ElfW(Dyn) *d = t.dynamic; d->d_tag != DT_NULL; d++) {
			if (d->d_tag != DT_NEEDED)
				continue;
			size_t i = 0, k = 0;
			while (i < l->nobjects && !is_object_named(&l->objects[i], t.strings + d->d_un.d_val))
				i++;
			while (k < n && l->queue[k] != i)
				k++;
			if (i < l->nobjects && k == n)
				l->queue[n++] = (uint16_t)i;
		}
	}
	return false;
}

/* What the program itself needs stands before what the caller's object needs. False: that is none, or not known. */
static bool find_needed_by_program(struct later *l)
{
	/* Only the program has no name; where the linker made a second list of objects, it is not in that. */
	return l->nobjects && !l->objects[0].name[0] && find_needed(l, l->objects[0].low);
}

/* Called for the first object, and only for that: what is found stays loaded as long as this does not return. l->found
 * says whether one defines it. Always 1. */
static int find_in_later_objects(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct later *l = arg;
	(void)info;
	(void)size;
	dl_iterate_phdr(gather_object, l);
	size_t first = 0, n = &_r_debug && _r_debug.r_map ? count_first_objects() : 0;
	while (first < l->nobjects && l->objects[first].dynamic != _DYNAMIC)
		first++;
	for (size_t i = first + 1; i < l->nobjects && i < n && !l->found; i++)
		l->found = object_defines(l, &l->objects[i]);
	l->found = l->found || find_bound(l) || find_needed_by_program(l) || find_needed(l, (uintptr_t)l->caller);
	for (size_t i = 0; i < l->nobjects && !l->found; i++)
		l->found = l->fits(object_file_name(l->objects[i].name)) && object_defines(l, &l->objects[i]);
	return 1;
}

bool symbols_later(const void *caller, const char *name, bool (*fits)(const char *file), struct symbol *v, size_t n,
                   struct symbol_object *ret)
{
	const size_t size = OBJECTS * (sizeof(struct object) + sizeof(uint16_t));
	struct later l = {.caller = caller, .name = name, .fits = fits, .v = v, .n = n, .ret = ret};
	/* The stack may be a small one. */
	long at = raw6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return false;
	l.objects = (struct object *)at;
	l.queue = (uint16_t *)(l.objects + OBJECTS);
	dl_iterate_phdr(find_in_later_objects, &l);
	raw3(SYS_munmap, at, (long)size, 0);
	return l.found;
}
