/* cache.h - where a compiler cache that ran keeps its own files: they are no sources, and nobody's output. */
#ifndef STEMMA_CC_CACHE_H
#define STEMMA_CC_CACHE_H

#include "cc/observed.h"

#include <stdbool.h>

/* Absolute folders, malloc'ed. */
struct cache_dirs {
	char *v[16];
	size_t n;
};

/* Is the program of that name (its last component) a cache? */
bool cache_is(const char *program);

/* Finds where the caches of compilers keep their files. As the cache itself finds them: by the environment, else by
 * the configuration files that the tape says it read, else where they are by default. Nothing is looked for where no
 * cache ran. Never fails: a folder that is not found leaves the cache's books among the other files of the record. */
void cache_dirs_find(const struct observed *s, struct cache_dirs *ret);
void cache_dirs_release(struct cache_dirs *d);
/* Does the path, as the cache opened it, lie in one of them, or is it a configuration file of the cache? */
bool cache_dirs_have(const struct cache_dirs *d, const char *path);

#endif
