/* late.h - libraries that most runs of the program never call, loaded when the first of their functions is called.
 *
 * A library that is linked costs each start its mapping, its relocations and the pages these touch, whether it is used
 * or not: doc/OVERHEAD.md has the figures. Here each function that is used has a stand-in of the same name and type,
 * which calls the library's; its callers know nothing of that. A program does not export them: the library's own calls
 * stay its own.
 *
 * A library that is not there can be no error of a function's own: the program says so and ends, as it would have at
 * its start. Who must not end later (`stemma run` once a command is running, the daemon) asks for it before: late_load.
 *
 * Any thread may call; nothing is ever unloaded. With -Dlate=false the libraries are linked, and there are no
 * stand-ins. */
#ifndef STEMMA_BASE_LATE_LATE_H
#define STEMMA_BASE_LATE_LATE_H

#include "base/err.h"

struct late {
	const char *soname;
	void *handle; /* NULL: not loaded */
	void (*ready)(void);
};
extern struct late late_sqlite, late_jansson, late_serd, late_pcre2, late_math;

/* Loads a library when it is first needed. 0, or -ENOENT with the loader's sentence. What is linked is there. */
int late_load(struct late *l, struct err *err);

/* Has ready called as soon as the library is loaded, before any other of its functions is; where it is linked, now. */
void late_when_loaded(struct late *l, void (*ready)(void));

/* The library's function of this name, kept in *at. Does not return if there is none. */
void *late_find(struct late *l, void **at, const char *name);

#define LATE(library, ret, name, params, args)                                                                         \
	ret name params                                                                                                    \
	{                                                                                                                  \
		static void *late_at;                                                                                          \
		void *late_f = __atomic_load_n(&late_at, __ATOMIC_ACQUIRE);                                                    \
		return ((__typeof__(&name))(late_f ? late_f : late_find(&library, &late_at, #name)))args;                      \
	}

#endif
