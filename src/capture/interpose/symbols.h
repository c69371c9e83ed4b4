/* symbols.h - the functions that a library of ours stands before, found without the dynamic linker's lock.
 *
 * dlsym, dlopen and dladdr take that lock. A program may hold it while it waits for a thread: dlopen runs constructors
 * under it, and a constructor may start a thread and join it. If that thread's call comes to us and we take the lock,
 * neither goes on. So the tables of the loaded objects are read here as the linker itself reads them.
 *
 * The objects that a program begins with are never unloaded and their list does not change: reading them takes no lock
 * at all (symbols_next). Objects that come later are looked at under the lock of dl_iterate_phdr, which the linker
 * holds for the change of its list only, never while code of the program runs (symbols_later).
 *
 * Any thread; after fork; from a signal handler; before the constructors. No malloc, no stdio, errno is kept. */
#ifndef STEMMA_CAPTURE_INTERPOSE_SYMBOLS_H
#define STEMMA_CAPTURE_INTERPOSE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
	void *f; /* NULL: not found yet */
	const char *name;
};

/* A loaded object. The name is the linker's, valid as long as the object. */
struct symbol_object {
	uintptr_t low, high; /* where it lies */
	const char *name;
};

/* Of the objects that the program began with: finds each of the n functions in the first that defines it behind the
 * library that this is part of. That is dlsym(RTLD_NEXT, name). False where the list of objects cannot be read (not the
 * GNU C library): then nothing was looked for. */
bool symbols_next(struct symbol *v, size_t n);
/* The address of the next definition of the name behind this library: by the loader's list, or by dlsym where that
 * cannot be read. NULL: there is none. */
void *symbols_next_one(const char *name);
/* The file of the library that this is part of, as an absolute path. NULL: that is not known. */
const char *symbols_own_file(void);

/* The object that has an address. False: none has. No lock is taken from glibc 2.35 on. */
bool symbols_object(const void *address, struct symbol_object *ret);
/* Finds all n functions in the object that has the address. */
bool symbols_at(const void *address, struct symbol *v, size_t n, struct symbol_object *ret);

/* Looks for `name`, as it is for code at `caller`: behind us among the objects that the program began with; where
 * several objects define it, in the one that the linker has bound the caller's object to, by other symbols that all of
 * them define; in the program and what it needs; in the caller's object and what that needs, in the linker's order; in
 * any other object that `fits` (by its file's name). Then finds all n functions in the object that defines it. False:
 * there is none.
 *
 * This is what the linker has bound the caller to, with two exceptions, where no other symbol of the caller's object is
 * bound by now: an object that was loaded with RTLD_GLOBAL stands behind those that the caller itself needs, not before
 * them; and RTLD_DEEPBIND is not seen. */
bool symbols_later(const void *caller, const char *name, bool (*fits)(const char *file), struct symbol *v, size_t n,
                   struct symbol_object *ret);

#endif
